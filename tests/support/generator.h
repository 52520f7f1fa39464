// Random modules for tests: valid by construction, in canonical form, quick to run, and the same
// for a seed on every machine and with every compiler. Operations, types and atomics come from
// their tables, so a new row is generated without a change here.
#pragma once

#include <cstdint>

#include "vyre/ir/program.h"

namespace vyre {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  bool one_in(std::uint32_t chances) { return below(chances) == 0; }

  const auto& pick(const auto& range) {
    return range[below(static_cast<std::uint32_t>(std::size(range)))];
  }
  void shuffle(auto& range) {
    for (std::size_t i = range.size(); i > 1; --i) {
      std::swap(range[i - 1], range[below(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::uint64_t state_;
};

struct GeneratorOptions {
  std::uint32_t programs = 1;
  std::uint32_t ops = 3;
  std::uint32_t statements = 20;  // of a program, about; an op has half as many
  std::uint32_t depth = 4;        // of an expression
  std::uint32_t buffers = 8;      // at most, besides one of each access

  // No two invocations meet in an element, and the results do not depend on their order, as long
  // as the grid is one workgroup high and deep: an invocation stores to its own element, memory
  // that others write is read behind a barrier, and an element that is updated atomically is
  // updated by one commutative operation whose result nobody looks at.
  bool race_free = false;
};

Module generate(std::uint64_t seed, const GeneratorOptions& options = {});

}  // namespace vyre
