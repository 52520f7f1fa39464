// Operations and op bodies as formulas over bit vectors, in SMT-LIB text. Written from the meaning
// of the operations and not from eval.cc, so that a proof says something about both.
//
// A formula is a list of terms with names. Equal ones are written once, and what has only constants
// in it is computed, so that loops with constant bounds unroll.
//
// All of it also has a meaning where a word is narrower than 32 bits and every type as much
// narrower as that: what is too much for the solver in full width is proved on words of a few bits.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"

namespace vyre {

// A value of a type: one bit vector, or one of a word for each lane of a vector. A bool is a word
// that is 0 or 1.
struct Symbol {
  DataType type = DataType::U32;
  std::vector<std::string> lanes;
  std::optional<Bits> constant;

  // One lane of a vector, as a u32.
  Symbol lane(std::size_t i) const;
};

// The names of the bit vectors of a variable: itself, or one for each lane of a vector.
std::vector<std::string> lane_names(DataType type, const std::string& name);

class Formula {
 public:
  explicit Formula(unsigned word_bits = 32) : word_(word_bits) {}

  unsigned width(DataType type) const;  // of a lane
  // Anything of that type.
  Symbol variable(DataType type, const std::string& name);
  Symbol constant(DataType type, const Bits& bits);

  Symbol apply(Operation op, const Symbol& a, const Symbol& b);
  Symbol apply(Operation op, const Symbol& a) { return apply(op, a, a); }
  Symbol cast(DataType target, const Symbol& value);
  Symbol select(const std::string& condition, const Symbol& yes, const Symbol& no);

  // Truths, which are SMT-LIB terms; "true" and "false" are known.
  std::string equal(const Symbol& a, const Symbol& b);
  std::string at_most(const Symbol& a, const Symbol& b);  // in every lane
  std::string is_true(const Symbol& a);                   // not zero
  std::string both(const std::string& a, const std::string& b);
  std::string either(const std::string& a, const std::string& b);
  std::string negated(const std::string& a);

  // The result of an op without calls, whose arrays and tables are `memory`. Fails where a loop's
  // bounds are not constant or the body takes too many steps.
  Result<Symbol> apply(const Op& op, std::span<const Symbol> arguments,
                       std::span<const BufferDecl> memory = {});

  // SMT-LIB that asks whether there are values for which `truth` holds, but for `(check-sat)`.
  std::string question(const std::string& truth) const;

 private:
  std::string define(const std::string& term);
  std::string bit_of(const std::string& condition) const;
  std::string apply_lane(Operation op, DataType type, const std::string& a, const std::string& b);

  const unsigned word_;
  std::string declarations_;
  std::vector<std::string> definitions_;                  // "t7 (bvadd a b)"
  std::unordered_map<std::string, std::string> defined_;  // the name of each term
};

}  // namespace vyre
