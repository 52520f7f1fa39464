// Random programs: valid by construction, in canonical form, quick to run, and the same for a seed
// on every machine and with every compiler. Operations, types, casts and atomics come from their
// tables, so a new row is generated without a change here; the tests name what turns up.
#pragma once

#include <cstdint>

#include "vyre/conform/case.h"

namespace vyre {

struct GeneratorOptions {
  std::uint32_t programs = 1;  // of a module; a case has one
  std::uint32_t ops = 2;
  std::uint32_t statements = 16;     // of a program, about; an op has half as many
  std::uint32_t depth = 3;           // of an expression
  std::uint32_t buffers = 3;         // at most, besides one or two of each access
  std::uint32_t invocations = 1024;  // of a run, at most; mostly there are up to 256
  std::uint32_t work = 200'000;      // expressions that a run evaluates, about, at most

  // Arrays, tables, narrow elements and collectives wherever they may be; otherwise they are as
  // many as other things.
  bool dense = false;

  // No two invocations race, and no byte of the result depends on the order in which they run or
  // update memory. Otherwise any invocation accesses any element.
  bool race_free = true;
};

Case generate_case(std::uint64_t seed, const GeneratorOptions& options = {});

// The programs and ops in any order, without grids and contents.
Module generate(std::uint64_t seed, const GeneratorOptions& options = {});

}  // namespace vyre
