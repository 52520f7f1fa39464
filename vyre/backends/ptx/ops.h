// PTX instructions, and the operations of programs made of them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/passes/places.h"

namespace vyre {

// What an instruction works on: a register or a number.
struct PtxOperand {
  enum class Kind : std::uint8_t {
    Nothing,
    Word,  // registers of 32 bits, of 64 bits, and predicates, by number
    Wide,
    Predicate,
    Named,  // a register or symbol with a name, by its index
    Literal,
  };
  Kind kind = Kind::Nothing;
  std::uint64_t value = 0;

  bool exists() const { return kind != Kind::Nothing; }
  bool is_literal() const { return kind == Kind::Literal; }
  bool is(std::uint64_t number) const { return is_literal() && value == number; }
  friend bool operator==(const PtxOperand&, const PtxOperand&) = default;
};

// A place in memory, in bytes from a register.
struct PtxAddress {
  PtxOperand base;
  std::int64_t offset = 0;
};

// The text of a kernel's body, and the registers in it. Those that go by numbers keep what the
// instruction that makes them gives, wherever it is in the text before; those with names that are
// mutable do not.
class PtxCode {
 public:
  using Operand = PtxOperand;
  using Kind = PtxOperand::Kind;

  static Operand literal(std::uint64_t value) { return {Kind::Literal, value}; }
  Operand fresh(Kind kind);
  // A register with a 0 of which ptxas knows nothing (docs/backends/cuda.md).
  Operand unknown_zero(Kind kind);
  // A register for somebody's name; `is_mutable` when it is written more than once.
  Operand named(Kind kind, std::string_view name, bool is_mutable);
  // What is declared elsewhere, such as a parameter.
  Operand symbol(std::string_view name);
  // A name that nothing else in the kernel has.
  std::string unique(std::string_view name);
  std::uint32_t label() { return labels_++; }

  bool is_mutable(const Operand& operand) const {
    return operand.kind == Kind::Named && names_[operand.value].is_mutable;
  }

  // `op.type result, sources...` with a new register for the result.
  Operand make(Kind kind, std::string_view op, std::string_view type,
               std::initializer_list<Operand> sources);
  Operand word(std::string_view op, std::string_view type, std::initializer_list<Operand> sources) {
    return make(Kind::Word, op, type, sources);
  }
  Operand wide(std::string_view op, std::string_view type, std::initializer_list<Operand> sources) {
    return make(Kind::Wide, op, type, sources);
  }
  Operand predicate(std::string_view op, std::string_view type,
                    std::initializer_list<Operand> sources) {
    return make(Kind::Predicate, op, type, sources);
  }
  void move(const Operand& to, const Operand& from, const Operand& condition = {});
  // Moves a value to a register with a name. Where the last instruction made it, that writes there
  // at once, and the old register is nowhere.
  void move_last(const Operand& to, const Operand& from);
  // In a register, which some places need.
  Operand in_register(const Operand& operand, Kind kind);

  // `before result after...` with a new register.
  template <class... Pieces>
  Operand define(Kind kind, std::string_view before, const Pieces&... after) {
    text_ += '\t';
    text_ += before;
    const Operand result = define_here(kind);
    (append(after), ...);
    text_ += ";\n";
    return result;
  }
  // An instruction, piece by piece.
  template <class... Pieces>
  void put(const Pieces&... pieces) {
    last_ = {};
    text_ += '\t';
    (append(pieces), ...);
    text_ += ";\n";
  }
  template <class... Pieces>
  void put_if(const Operand& predicate, const Pieces&... pieces) {
    predicate.exists() ? put("@", predicate, " ", pieces...) : put(pieces...);
  }
  void put_label(std::string_view what, std::uint32_t label);
  void raw(std::string_view text);  // lines that are no instructions

  std::string declarations() const;  // of the registers
  const std::string& text() const { return text_; }

 private:
  struct Name {
    std::string text;
    Kind kind;
    bool is_mutable;
  };
  void append(std::string_view piece) { text_ += piece; }
  void append(std::uint64_t number);
  void append(std::uint32_t number) { append(std::uint64_t{number}); }
  void append(const PtxAddress& address);
  void append(const Operand& operand);
  void append(std::span<const Operand> list);  // one, or several in braces
  Operand define_here(Kind kind);
  Kind kind_of(const Operand& operand) const;

  std::string text_;
  std::array<std::uint64_t, 3> counts_{};
  std::vector<Name> names_;
  std::unordered_map<std::string, std::uint32_t> taken_;  // how often each name was wanted
  std::uint32_t labels_ = 0;
  struct Last {
    Operand result;
    std::size_t at = 0;  // where it stands in the text
    std::size_t size = 0;
  };
  Last last_;  // instruction
};

// A value of a program.
struct PtxValue {
  DataType type = DataType::U32;
  bool is_test = false;  // as a predicate: every bool, and a u32 that a comparison gave
  std::array<PtxOperand, 4> parts{};

  static PtxValue word(const PtxOperand& part) { return {DataType::U32, false, {part}}; }
};

// How many registers a type has, and of which kind; of a bool, in memory.
inline PtxOperand::Kind ptx_kind(DataType type) {
  const bool is_wide = type == DataType::U64 || type == DataType::U128;
  return is_wide ? PtxOperand::Kind::Wide : PtxOperand::Kind::Word;
}
inline std::uint32_t ptx_parts(DataType type) {
  return words(type) / (ptx_kind(type) == PtxOperand::Kind::Wide ? 2 : 1);
}

// As instructions name it.
std::string_view ptx_atomic(AtomicOp op, DataType element);

class PtxOps {
 public:
  explicit PtxOps(PtxCode& code) : code_(code) {}

  // With the meaning of eval(); a unary operation ignores `b`. `divisor` says what `b` never is.
  PtxValue apply(Operation op, const PtxValue& a, const PtxValue& b,
                 const Places::Divisor& divisor);
  PtxValue cast(DataType target, const PtxValue& value);
  PtxValue select(const PtxValue& condition, const PtxValue& yes, const PtxValue& no);
  PtxValue constant(DataType type, const Bits& value);

  // Not as a predicate, where it is one; and as a predicate.
  PtxValue whole(const PtxValue& value);
  PtxOperand truth(const PtxValue& value);

  struct Pair {
    PtxOperand low;
    PtxOperand high;
  };
  Pair halves(PtxOperand wide);

  // An element of a narrow type in a word, from its first byte on; and a word of such elements, the
  // first one lowest.
  PtxOperand narrow(DataType element, PtxOperand word, std::uint32_t byte);
  PtxOperand word_of(DataType element, std::span<const PtxOperand> elements);

 private:
  using Operand = PtxOperand;
  Operand number(Operation op, DataType type, Operand a, Operand b, const Places::Divisor& divisor);
  Operand negated(Operand a);
  Operand compare(Operation op, DataType type, Operand a, Operand b);
  Operand quotient(Operation op, DataType type, Operand a, Operand b,
                   const Places::Divisor& divisor);
  Operand wide_quotient(Operation op, Operand a, Operand b);
  Operand rotated(Operation op, Operand a, Operand count);
  PtxValue of_tests(Operation op, const PtxValue& a, const PtxValue& b);
  PtxValue of_pairs(Operation op, const Pair& a, const Pair& b);
  Operand either(Operand::Kind kind, Operand condition, Operand yes, Operand no);
  Operand moved(bool left, Operand half, Operand count);
  Operand moved_half(bool left, Operand own_half, Operand other, Operand count);
  Pair shifted(Operation op, Pair a, Operand count);
  Operand masked(Operand count, std::uint32_t width);
  Operand joined(Operand low, Operand high);

  PtxCode& code_;
};

}  // namespace vyre
