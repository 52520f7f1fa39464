#include "vyre/backends/ptx/ops.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>
#include <utility>

namespace vyre {
namespace {

using Kind = PtxOperand::Kind;

constexpr std::size_t kLongName = 40;  // of a register; more would not be read

// How the registers of a kind begin, and what instructions call the kind.
struct Spelling {
  Kind kind;
  std::string_view prefix;
  std::string_view type;
};
constexpr Spelling kSpellings[] = {
    {Kind::Word, "%r", "b32"}, {Kind::Wide, "%d", "b64"}, {Kind::Predicate, "%p", "pred"}};

constexpr std::size_t number_of(Kind kind) {
  return static_cast<std::size_t>(kind) - static_cast<std::size_t>(Kind::Word);
}
const Spelling& spelling(Kind kind) { return kSpellings[number_of(kind)]; }

PtxOperand literal(std::uint64_t value) { return PtxCode::literal(value); }
const PtxOperand kZero = literal(0);
const PtxOperand kOne = literal(1);

// How instructions call the numbers of a type: as they are, and as bits.
std::string_view own(DataType type) {
  return ptx_kind(type) == Kind::Wide ? "u64" : has_sign(type) ? "s32" : "u32";
}
std::string_view bits(DataType type) { return spelling(ptx_kind(type)).type; }

constexpr std::pair<Operation, std::string_view> kComparisons[] = {
    {Operation::Eq, "setp.eq"}, {Operation::Ne, "setp.ne"}, {Operation::Lt, "setp.lt"},
    {Operation::Gt, "setp.gt"}, {Operation::Le, "setp.le"}, {Operation::Ge, "setp.ge"},
};

bool is_logical(Operation op) {
  return op == Operation::And || op == Operation::Or || op == Operation::LogicalNot;
}

// Of two that are 0 or 1, what can be computed with predicates.
bool is_on_tests(Operation op) {
  return op == Operation::BitAnd || op == Operation::BitOr || op == Operation::BitXor ||
         op == Operation::Eq || op == Operation::Ne;
}

bool is_bit(const PtxValue& value) {
  return value.is_test ||
         (value.type == DataType::U32 && value.parts[0].is_literal() && value.parts[0].value <= 1);
}

}  // namespace

// --- Code ---------------------------------------------------------------------------------------

PtxOperand PtxCode::fresh(Kind kind) { return {kind, counts_[number_of(kind)]++}; }

PtxOperand PtxCode::unknown_zero(Kind kind) {
  const Operand zero = fresh(kind);
  put(kind == Kind::Wide ? "ld.const.u64 " : "ld.const.u32 ", zero, ", [_zero]");
  return zero;
}

std::string PtxCode::unique(std::string_view name) {
  std::string text(name.substr(0, kLongName));
  std::uint32_t& wanted = taken_[text];
  if (++wanted == 1) return text;
  for (;; ++wanted) {
    std::string other = text + "_" + std::to_string(wanted);
    if (taken_.try_emplace(other, 1).second) return other;
  }
}

PtxOperand PtxCode::named(Kind kind, std::string_view name, bool is_mutable) {
  names_.push_back({"$" + unique(name), kind, is_mutable});
  return {Kind::Named, names_.size() - 1};
}

PtxOperand PtxCode::symbol(std::string_view name) {
  names_.push_back({std::string(name), Kind::Nothing, false});
  return {Kind::Named, names_.size() - 1};
}

void PtxCode::append(const Operand& operand) {
  switch (operand.kind) {
    case Kind::Nothing: break;
    case Kind::Word:
    case Kind::Wide:
    case Kind::Predicate:
      text_ += spelling(operand.kind).prefix;
      append(operand.value);
      break;
    case Kind::Named: text_ += names_[operand.value].text; break;
    case Kind::Literal:
      // As programs are printed.
      if (operand.value < 65536) return append(operand.value);
      char digits[16];
      text_ += "0x";
      text_.append(digits, std::to_chars(digits, std::end(digits), operand.value, 16).ptr);
      break;
  }
}

void PtxCode::append(std::uint64_t number) {
  char digits[20];
  text_.append(digits, std::to_chars(digits, std::end(digits), number).ptr);
}

void PtxCode::append(const PtxAddress& address) {
  text_ += '[';
  append(address.base);
  if (address.offset != 0) text_ += "+" + std::to_string(address.offset);
  text_ += ']';
}

void PtxCode::append(std::span<const Operand> list) {
  if (list.size() == 1) return append(list[0]);
  for (std::size_t i = 0; i < list.size(); ++i) {
    text_ += i == 0 ? "{" : ", ";
    append(list[i]);
  }
  text_ += '}';
}

// The new register that an instruction makes.
PtxOperand PtxCode::define_here(Kind kind) {
  const Operand result = fresh(kind);
  text_ += ' ';
  const std::size_t at = text_.size();
  append(result);
  last_ = {result, at, text_.size() - at};
  return result;
}

PtxOperand PtxCode::make(Kind kind, std::string_view op, std::string_view type,
                         std::initializer_list<Operand> sources) {
  text_ += '\t';
  text_ += op;
  text_ += '.';
  text_ += type;
  const Operand result = define_here(kind);
  for (const Operand& source : sources) {
    text_ += ", ";
    append(source);
  }
  text_ += ";\n";
  return result;
}

Kind PtxCode::kind_of(const Operand& operand) const {
  return operand.kind == Kind::Named ? names_[operand.value].kind : operand.kind;
}

void PtxCode::move(const Operand& to, const Operand& from, const Operand& condition) {
  if (to == from) return;
  put_if(condition, "mov.", spelling(kind_of(to)).type, " ", to, ", ", from);
}

void PtxCode::move_last(const Operand& to, const Operand& from) {
  if (last_.result != from || !from.exists()) return move(to, from);
  text_.replace(last_.at, last_.size, names_[to.value].text);
  last_ = {};
}

PtxOperand PtxCode::in_register(const Operand& operand, Kind kind) {
  return operand.is_literal() ? make(kind, "mov", spelling(kind).type, {operand}) : operand;
}

void PtxCode::put_label(std::string_view what, std::uint32_t label) {
  last_ = {};
  text_ += what;
  append(label);
  text_ += ":\n";
}

void PtxCode::raw(std::string_view text) { text_ += text; }

std::string PtxCode::declarations() const {
  std::string out;
  for (const Spelling& each : kSpellings) {
    const std::uint64_t count = counts_[number_of(each.kind)];
    if (count == 0) continue;
    out += "\t.reg ." + std::string(each.type) + " " + std::string(each.prefix) + "<" +
           std::to_string(count) + ">;\n";
  }
  constexpr std::size_t kPerLine = 8;
  for (const Spelling& each : kSpellings) {
    std::size_t count = 0;
    for (const Name& name : names_) {
      if (name.kind != each.kind) continue;
      if (count > 0) out += count % kPerLine == 0 ? ";\n" : ",";
      if (count % kPerLine == 0) out += "\t.reg ." + std::string(each.type);
      out += " " + name.text;
      ++count;
    }
    if (count > 0) out += ";\n";
  }
  return out;
}

// --- Values -------------------------------------------------------------------------------------

std::string_view ptx_atomic(AtomicOp op, DataType element) {
  const bool is_signed = has_sign(element);
  switch (op) {
    case AtomicOp::Add: return "add.u32 ";
    case AtomicOp::And: return "and.b32 ";
    case AtomicOp::Or: return "or.b32 ";
    case AtomicOp::Xor: return "xor.b32 ";
    case AtomicOp::Min: return is_signed ? "min.s32 " : "min.u32 ";
    case AtomicOp::Max: return is_signed ? "max.s32 " : "max.u32 ";
    case AtomicOp::Exchange: return "exch.b32 ";
    case AtomicOp::CompareExchange: return "cas.b32 ";
    case AtomicOp::Load:
    case AtomicOp::Store: return "u32 ";
  }
  return {};
}

PtxValue PtxOps::constant(DataType type, const Bits& value) {
  const auto& words = value.lanes;
  if (type == DataType::Bool) return {type, true, {literal(words[0])}};
  if (ptx_kind(type) == Kind::Wide) {
    return {type,
            false,
            {literal(words[0] | std::uint64_t{words[1]} << 32),
             literal(words[2] | std::uint64_t{words[3]} << 32)}};
  }
  return {
      type, false, {literal(words[0]), literal(words[1]), literal(words[2]), literal(words[3])}};
}

PtxValue PtxOps::whole(const PtxValue& value) {
  if (!value.is_test) return value;
  const Operand& bit = value.parts[0];
  return {value.type, false, {bit.is_literal() ? bit : either(Kind::Word, bit, kOne, kZero)}};
}

// One of two values. Where ptxas knows that a selp gives a number or 0, it makes wrong code of an
// `or` of two such that is tested beside something else; so it does not get to know the 0.
PtxOperand PtxOps::either(Kind kind, Operand condition, Operand yes, Operand no) {
  if (yes.is_literal() && no.is_literal()) {
    if (yes.is(0)) yes = code_.unknown_zero(kind);
    if (no.is(0)) no = code_.unknown_zero(kind);
  }
  return code_.make(kind, "selp", spelling(kind).type, {yes, no, condition});
}

PtxOperand PtxOps::truth(const PtxValue& value) {
  const Operand& part = value.parts[0];
  if (value.is_test) return code_.in_register(part, Kind::Predicate);
  if (part.is_literal()) return code_.in_register(literal(part.value != 0), Kind::Predicate);
  const bool is_wide = ptx_kind(value.type) == Kind::Wide;
  return code_.predicate("setp.ne", is_wide ? "u64" : "u32", {part, kZero});
}

PtxOps::Pair PtxOps::halves(Operand wide) {
  if (wide.is_literal()) return {literal(wide.value & 0xffffffff), literal(wide.value >> 32)};
  const Pair pair{code_.fresh(Kind::Word), code_.fresh(Kind::Word)};
  code_.put("mov.b64 {", pair.low, ", ", pair.high, "}, ", wide);
  return pair;
}

PtxOperand PtxOps::joined(Operand low, Operand high) {
  if (low.is_literal() && high.is_literal()) return literal(low.value | high.value << 32);
  if (high.is(0)) return code_.wide("cvt.u64", "u32", {low});
  low = code_.in_register(low, Kind::Word);
  high = code_.in_register(high, Kind::Word);
  const Operand wide = code_.fresh(Kind::Wide);
  code_.put("mov.b64 ", wide, ", {", low, ", ", high, "}");
  return wide;
}

PtxOperand PtxOps::narrow(DataType element, Operand word, std::uint32_t byte) {
  const std::uint32_t bytes = stride(element);
  // A byte of the word, its sign eight times, or a byte of 0.
  const std::uint32_t rest = has_sign(element) ? 8 | (byte + bytes - 1) : 4;
  std::uint32_t selector = 0;
  for (std::uint32_t i = 0; i < 4; ++i) selector |= (i < bytes ? byte + i : rest) << (4 * i);
  return code_.word("prmt", "b32", {word, kZero, literal(selector)});
}

PtxOperand PtxOps::word_of(DataType element, std::span<const Operand> elements) {
  constexpr std::uint32_t kBytePair = 0x0040;
  constexpr std::uint32_t kHalfPair = 0x5410;
  const std::uint32_t width = 8 * stride(element);
  if (std::ranges::all_of(elements, &Operand::is_literal)) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      word |= (elements[i].value & ((1u << width) - 1)) << (width * i);
    }
    return literal(word);
  }
  std::vector<Operand> parts(elements.begin(), elements.end());
  for (Operand& part : parts) part = code_.in_register(part, Kind::Word);
  for (std::uint32_t each = width; parts.size() > 1; each *= 2) {
    const Operand selector = literal(each == 8 ? kBytePair : kHalfPair);
    for (std::size_t i = 0; 2 * i < parts.size(); ++i) {
      parts[i] = code_.word("prmt", "b32", {parts[2 * i], parts[2 * i + 1], selector});
    }
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

// Between words and u64, and between u64 and u128; the others are lowered.
PtxValue PtxOps::cast(DataType target, const PtxValue& value) {
  if (value.type == target) return value;
  const bool keeps_test = target == DataType::Bool || target == DataType::U32;
  if (value.is_test && keeps_test) return {target, true, value.parts};
  const PtxValue from = whole(value);
  const Operand& first = from.parts[0];
  if (target == DataType::Bool) return {target, true, {truth(from)}};
  if (ptx_kind(target) == ptx_kind(value.type)) return {target, false, {first, kZero}};
  if (ptx_kind(target) == Kind::Word) return {target, false, {halves(first).low}};
  const Operand sign =
      has_sign(value.type) ? code_.word("shr", "s32", {first, literal(31)}) : kZero;
  return {target, false, {joined(first, sign)}};
}

PtxValue PtxOps::select(const PtxValue& condition, const PtxValue& yes, const PtxValue& no) {
  if (condition.parts[0].is_literal()) return condition.parts[0].value != 0 ? yes : no;
  const Operand chooses = truth(condition);
  if (is_bit(yes) && is_bit(no) && (yes.is_test || no.is_test)) {
    // Not as (c and yes) or (not c and no), nor on words: ptxas joins those with a wrong table
    // where `no` depends on c (docs/backends/cuda.md).
    const Operand other = truth(no);
    const Operand differs = code_.predicate("xor", "pred", {truth(yes), other});
    const Operand changes = code_.predicate("and", "pred", {chooses, differs});
    return {yes.type, true, {code_.predicate("xor", "pred", {other, changes})}};
  }
  const PtxValue a = whole(yes);
  const PtxValue b = whole(no);
  PtxValue result{yes.type, false, {}};
  const Kind kind = ptx_kind(yes.type);
  for (std::size_t i = 0; i < ptx_parts(yes.type); ++i) {
    result.parts[i] = either(kind, chooses, a.parts[i], b.parts[i]);
  }
  return result;
}

// --- Operations ---------------------------------------------------------------------------------

PtxValue PtxOps::apply(Operation op, const PtxValue& a, const PtxValue& b,
                       const Places::Divisor& divisor) {
  const bool on_tests = is_on_tests(op) && is_bit(a) && is_bit(b) && (a.is_test || b.is_test);
  if (a.type == DataType::Bool || is_logical(op) || on_tests) return of_tests(op, a, b);
  const PtxValue x = whole(a);
  const PtxValue y = arity(op) == 1 ? PtxValue{} : whole(b);
  if (a.type == DataType::U128) {
    return of_pairs(op, {x.parts[0], x.parts[1]}, {y.parts[0], y.parts[1]});
  }
  if (gives_truth(op) && !is_vector(a.type)) {
    return {DataType::U32, true, {compare(op, a.type, x.parts[0], y.parts[0])}};
  }
  const DataType each = is_vector(a.type) ? DataType::U32 : a.type;
  PtxValue result{result_of(op, a.type), false, {}};
  for (std::size_t i = 0; i < ptx_parts(a.type); ++i) {
    result.parts[i] = number(op, each, x.parts[i], y.parts[i], divisor);
  }
  return result;
}

PtxValue PtxOps::of_tests(Operation op, const PtxValue& a, const PtxValue& b) {
  PtxValue result{result_of(op, a.type), true, {}};
  const Operand x = truth(a);
  if (op == Operation::LogicalNot) {
    result.parts[0] = code_.predicate("not", "pred", {x});
    return result;
  }
  const Operand y = truth(b);
  const bool is_and = op == Operation::And || op == Operation::BitAnd;
  const bool is_or = op == Operation::Or || op == Operation::BitOr;
  result.parts[0] = code_.predicate(is_and ? "and" : is_or ? "or" : "xor", "pred", {x, y});
  if (op == Operation::Eq) {
    result.parts[0] = code_.predicate("not", "pred", {result.parts[0]});
  }
  return result;
}

PtxOperand PtxOps::compare(Operation op, DataType type, Operand a, Operand b) {
  const auto* found =
      std::ranges::find(kComparisons, op, &std::pair<Operation, std::string_view>::first);
  return code_.predicate(found->second, own(type), {a, b});
}

// A count is taken modulo the width; instructions would clamp it.
PtxOperand PtxOps::masked(Operand count, std::uint32_t width) {
  const Operand mask = literal(width - 1);
  if (count.is_literal()) return literal(count.value & mask.value);
  return code_.word("and", "b32", {count, mask});
}

// Of 32 bits. Where ptxas sees a number negated in one of two `max` or `min` in a row, it makes one
// instruction of both and forgets the sign.
PtxOperand PtxOps::negated(Operand a) {
  return code_.word("add", "u32", {code_.word("not", "b32", {a}), kOne});
}

// On one number of u32, i32 or u64.
PtxOperand PtxOps::number(Operation op, DataType type, Operand a, Operand b,
                          const Places::Divisor& divisor) {
  const Kind kind = ptx_kind(type);
  const bool wide = kind == Kind::Wide;
  const std::uint32_t width = wide ? 64 : 32;
  const auto make = [&](std::string_view name, std::string_view of, auto... sources) {
    return code_.make(kind, name, of, {sources...});
  };
  switch (op) {
    case Operation::Negate: return wide ? make("neg", "s64", a) : negated(a);
    case Operation::BitNot: return make("not", bits(type), a);
    case Operation::Popcount: return code_.word("popc", bits(type), {a});
    case Operation::Clz: return code_.word("clz", bits(type), {a});
    case Operation::Ctz: return code_.word("clz", bits(type), {make("brev", bits(type), a)});
    case Operation::ReverseBits: return make("brev", bits(type), a);
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge: return either(Kind::Word, compare(op, type, a, b), kOne, kZero);
    case Operation::BitOr: return make("or", bits(type), a, b);
    case Operation::BitXor: return make("xor", bits(type), a, b);
    case Operation::BitAnd: return make("and", bits(type), a, b);
    case Operation::Shl: return make("shl", bits(type), a, masked(b, width));
    case Operation::Shr: return make("shr", own(type), a, masked(b, width));
    case Operation::Add: return make("add", own(type), a, b);
    case Operation::Sub: return !wide && a.is(0) ? negated(b) : make("sub", own(type), a, b);
    case Operation::Mul:
      return !wide && b.is(0xffffffff) ? negated(a) : make("mul.lo", own(type), a, b);
    case Operation::Div:
    case Operation::Mod: return quotient(op, type, a, b, divisor);
    case Operation::Min: return make("min", own(type), a, b);
    case Operation::Max: return make("max", own(type), a, b);
    case Operation::MulHigh:
      if (wide) return make("mul.hi", "u64", a, b);
      // There is mul.hi.u32. Where ptxas sees a u64 taken from what that gives, it makes code that
      // is wrong for a u64 whose low word is 0.
      return halves(code_.wide("mul.wide", "u32", {a, b})).high;
    case Operation::RotateLeft:
    case Operation::RotateRight:
      if (wide) return rotated(op, a, b);
      // This one takes the count modulo 32.
      return make(op == Operation::RotateLeft ? "shf.l.wrap" : "shf.r.wrap", "b32", a, a, b);
    case Operation::AbsDiff:
    case Operation::AddSat:
    case Operation::SubSat:  // lowered
    case Operation::And:
    case Operation::Or:
    case Operation::LogicalNot: break;  // on tests alone
#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // not a function of operands alone
  }
  return {};
}

// Instructions do not promise anything for a divisor of 0, nor for MIN / -1.
PtxOperand PtxOps::quotient(Operation op, DataType type, Operand a, Operand b,
                            const Places::Divisor& divisor) {
  const bool is_division = op == Operation::Div;
  if (b.is(0)) return kZero;
  const bool not_zero = b.is_literal() || divisor.not_zero;
  if (has_sign(type)) {
    const bool not_minus_one = b.is_literal() ? !b.is(0xffffffff) : divisor.not_minus_one;
    const Operand plain_one = code_.word(is_division ? "div" : "rem", "s32", {a, b});
    if (not_zero && not_minus_one) return plain_one;
    // For both of them the quotient is the product, and the remainder 0.
    const Operand next = code_.word("add", "s32", {b, kOne});
    const Operand special = code_.predicate("setp.le", "u32", {next, kOne});
    const Operand instead = is_division ? code_.word("mul.lo", "s32", {a, b}) : kZero;
    return code_.word("selp", "b32", {instead, plain_one, special});
  }
  const Operand raw = type == DataType::U64
                          ? wide_quotient(op, a, b)
                          : code_.word(is_division ? "div" : "rem", "u32", {a, b});
  if (not_zero) return raw;
  const Operand by_zero = code_.predicate("setp.eq", own(type), {b, kZero});
  return code_.make(ptx_kind(type), "selp", bits(type), {kZero, raw, by_zero});
}

// Numbers of 64 bits are mostly small, and dividing those of 32 bits is several times faster.
PtxOperand PtxOps::wide_quotient(Operation op, Operand a, Operand b) {
  const std::string_view name = op == Operation::Div ? "div" : "rem";
  const std::uint32_t label = code_.label();
  const Operand either = code_.wide("or", "b64", {a, b});
  const Operand high = code_.wide("shr", "u64", {either, literal(32)});
  const Operand is_small = code_.predicate("setp.eq", "u64", {high, kZero});
  const Operand result = code_.fresh(Kind::Wide);
  code_.put("@", is_small, " bra small", label);
  code_.put(name, ".u64 ", result, ", ", a, ", ", b);
  code_.put("bra divided", label);
  code_.put_label("small", label);
  const Operand x = halves(a).low;
  const Operand y = halves(b).low;
  const Operand low = code_.word(name, "u32", {x, y});
  code_.put("cvt.u64.u32 ", result, ", ", low);
  code_.put_label("divided", label);
  return result;
}

PtxOperand PtxOps::rotated(Operation op, Operand a, Operand count) {
  Pair from = halves(a);
  if (count.is_literal()) {
    if (count.value & 32) std::swap(from.low, from.high);
    count = literal(count.value & 31);
    if (count.value == 0) return joined(from.low, from.high);
  } else {
    const Operand swaps =
        code_.predicate("setp.ne", "u32", {code_.word("and", "b32", {count, literal(32)}), kZero});
    from = {code_.word("selp", "b32", {from.high, from.low, swaps}),
            code_.word("selp", "b32", {from.low, from.high, swaps})};
  }
  // What moves out of one half moves into the other: up, or down.
  const bool left = op == Operation::RotateLeft;
  if (left) std::swap(from.low, from.high);
  const std::string_view shift = left ? "shf.l.wrap" : "shf.r.wrap";
  const Operand low = code_.word(shift, "b32", {from.low, from.high, count});
  return joined(low, code_.word(shift, "b32", {from.high, from.low, count}));
}

// --- u128 ---------------------------------------------------------------------------------------

// One half of a number, by less than 64. No instruction gets a count of 64 or more: ptxas does not
// always clamp those that it knows.
PtxOperand PtxOps::moved(bool left, Operand half, Operand count) {
  if (count.is(0)) return half;
  return code_.wide(left ? "shl" : "shr", left ? "b64" : "u64", {half, count});
}

// The same, with what comes into it from the other half.
PtxOperand PtxOps::moved_half(bool left, Operand own_half, Operand other, Operand count) {
  if (count.is(0)) return own_half;
  const Operand kept = moved(left, own_half, count);
  Operand rest;
  if (count.is_literal()) {
    rest = moved(!left, other, literal(64 - count.value));
  } else {
    const Operand less = code_.word("sub", "u32", {literal(63), count});
    rest = moved(!left, moved(!left, other, kOne), less);
  }
  return code_.wide("or", "b64", {kept, rest});
}

PtxOps::Pair PtxOps::shifted(Operation op, Pair a, Operand count) {
  const bool left = op == Operation::Shl;
  const Operand near = left ? a.low : a.high;  // what moves into the other half
  const Operand far = left ? a.high : a.low;
  const Operand c = masked(count, 64);
  const Operand remaining = moved(left, near, c);
  Operand into = remaining;
  Operand left_over = kZero;
  if (!count.is_literal()) {
    const Operand jumps =
        code_.predicate("setp.ne", "u32", {code_.word("and", "b32", {count, literal(64)}), kZero});
    into = code_.wide("selp", "b64", {remaining, moved_half(left, far, near, c), jumps});
    left_over = code_.wide("selp", "b64", {kZero, remaining, jumps});
  } else if ((count.value & 64) == 0) {
    into = moved_half(left, far, near, c);
    left_over = remaining;
  }
  return left ? Pair{left_over, into} : Pair{into, left_over};
}

// What lowering leaves of u128.
PtxValue PtxOps::of_pairs(Operation op, const Pair& a, const Pair& b) {
  const auto value = [](const Pair& pair) {
    return PtxValue{DataType::U128, false, {pair.low, pair.high}};
  };
  if (op == Operation::Shl || op == Operation::Shr) return value(shifted(op, a, b.low));
  if (op == Operation::BitOr) {
    // Halves are put together by this.
    const auto any = [&](Operand left, Operand right) {
      if (left.is(0)) return right;
      return right.is(0) ? left : code_.wide("or", "b64", {left, right});
    };
    const Operand low = any(a.low, b.low);
    return value({low, any(a.high, b.high)});
  }
  assert(op == Operation::Add || op == Operation::Sub);
  const bool adds = op == Operation::Add;
  const Operand low = code_.wide(adds ? "add.cc" : "sub.cc", "u64", {a.low, b.low});
  return value({low, code_.wide(adds ? "addc" : "subc", "u64", {a.high, b.high})});
}

}  // namespace vyre
