// Replaces what a target does not have by what it has: the last step before a program is emitted.
//
// The rows of lower.def say what becomes of an operation. They are written as ops in the text
// format; the pass puts calls of them in the place of operations, and the inliner expands those.
//
// A type that is missing is replaced by its halves: a u64 by two u32, a u128 by two u64. A local
// becomes two locals. An element of a buffer becomes a vec2u32 or a vec4u32, whose stride is the
// same, so that bytes, lengths and what is out of bounds stay what they were; it is loaded and
// stored as a whole. Atomics need nothing: their elements have 32 bits.
//
// Collectives become workgroup memory and barriers (collectives.h), before types are split.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

// What a target has. lower.def says what each of them means.
struct Capabilities {
#define CAPABILITY(name, meaning) bool name = true;
#include "vyre/passes/lower.def"

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

struct CapabilityInfo {
  std::string_view name;
  std::string_view meaning;
  bool Capabilities::* member;
};
std::span<const CapabilityInfo> all_capabilities();
const CapabilityInfo* find_capability(std::string_view name);

// A program without calls. The result gives the same bytes, and may be larger than a program that
// is written may be. Passes that apply rules make operations that a target may not have, so none of
// them comes after this.
Program replace_missing(const Program& program, const Capabilities& target);

// --- The table ----------------------------------------------------------------------------------

// A row for one type.
struct LowerRow {
  bool Capabilities::* capability = nullptr;  // where it is missing the row is used
  Operation op = Operation::Cast;
  DataType type = DataType::U32;      // of the first operand
  DataType target = DataType::U32;    // of a cast
  DataType wide = DataType::Unknown;  // whose halves the row is about; Unknown: no halves
  // The ops that give the result: its halves, or all of it. An operand of the wide type is two
  // parameters.
  std::shared_ptr<const Op> low;
  std::shared_ptr<const Op> high;
};
std::span<const LowerRow> all_lower_rows();
// The same where words have `word_bits` bits and types are as much narrower: for proofs.
std::vector<LowerRow> read_lower_rows(unsigned word_bits);

// The halves of a u64 or u128, and the vector that takes its place in buffers; Unknown for others.
DataType half_of(DataType type);
DataType words_of(DataType type);

}  // namespace vyre
