#include "vyre/prove/smt.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

std::string join(std::initializer_list<std::string_view> parts) {
  return "(" + vyre::join(parts, " ") + ")";
}

std::string number(unsigned width, std::uint64_t value) {
  return "(_ bv" + std::to_string(value) + " " + std::to_string(width) + ")";
}

std::string extract(unsigned high, unsigned low, const std::string& value) {
  return "((_ extract " + std::to_string(high) + " " + std::to_string(low) + ") " + value + ")";
}

std::string extended(bool is_signed, unsigned by, const std::string& value) {
  if (by == 0) return value;
  return std::string("((_ ") + (is_signed ? "sign_extend " : "zero_extend ") + std::to_string(by) +
         ") " + value + ")";
}

// The bits of `value`, lowest first.
std::vector<std::string> bits_of(unsigned width, const std::string& value) {
  std::vector<std::string> bits;
  for (unsigned i = 0; i < width; ++i) bits.push_back(extract(i, i, value));
  return bits;
}

// Adds numbers in pairs, pairs of pairs and so on.
std::string sum(std::vector<std::string> terms) {
  while (terms.size() > 1) {
    std::vector<std::string> sums;
    for (std::size_t i = 0; i + 1 < terms.size(); i += 2) {
      sums.push_back(join({"bvadd", terms[i], terms[i + 1]}));
    }
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return terms[0];
}

// A lane is whole words.
constexpr std::uint32_t words_of_lane(DataType type) { return lane_bits(type) / 32; }
static_assert(std::ranges::all_of(kTypeRows, [](const TypeInfo& row) {
  return !is_value_type(row.type) || words_of_lane(row.type) * row.lanes * 4 == row.bytes;
}));

}  // namespace

Symbol Symbol::lane(std::size_t i) const {
  Symbol part{DataType::U32, {lanes[i]}, {}};
  if (constant) part.constant = Bits{{constant->lanes[i]}};
  return part;
}

unsigned Formula::width(DataType type) const { return words_of_lane(type) * word_; }

std::string Formula::bit_of(const std::string& condition) const {
  return join({"ite", condition, number(word_, 1), number(word_, 0)});
}

std::string Formula::define(const std::string& term) {
  if (term.front() != '(' || term.starts_with("(_ bv")) return term;
  const auto [known, is_new] = defined_.emplace(term, "t" + std::to_string(defined_.size()));
  if (is_new) definitions_.push_back(known->second + " " + term);
  return known->second;
}

// Terms are bound by nested `let`: the solver then shares them before it looks at anything.
std::string Formula::question(const std::string& truth) const {
  std::string text = "(set-logic QF_BV)\n" + declarations_ + "(assert";
  for (const std::string& definition : definitions_) text += "\n(let ((" + definition + "))";
  return text + "\n" + truth + std::string(definitions_.size() + 1, ')') + "\n";
}

std::vector<std::string> lane_names(DataType type, const std::string& name) {
  if (!is_vector(type)) return {name};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < lane_count(type); ++i) names.push_back(name + "." + "xyzw"[i]);
  return names;
}

Symbol Formula::variable(DataType type, const std::string& name) {
  Symbol symbol{type, lane_names(type, name), {}};
  for (const std::string& lane : symbol.lanes) {
    declarations_ +=
        "(declare-const " + lane + " (_ BitVec " + std::to_string(width(type)) + "))\n";
    if (type == DataType::Bool) {
      declarations_ += "(assert (bvule " + lane + " " + number(word_, 1) + "))\n";
    }
  }
  return symbol;
}

Symbol Formula::constant(DataType type, const Bits& bits) {
  Symbol symbol{type, {}, bits};
  for (std::size_t end = words_of_lane(type); end <= words(type); end += words_of_lane(type)) {
    const unsigned digit = word_ % 4 == 0 ? 4 : 1;  // bits of one
    std::string lane = digit == 4 ? "#x" : "#b";
    for (std::size_t i = end; i-- > end - words_of_lane(type);) {
      for (unsigned at = word_; at > 0; at -= digit) {
        lane += "0123456789abcdef"[bits.lanes[i] >> (at - digit) & ((1u << digit) - 1)];
      }
    }
    symbol.lanes.push_back(std::move(lane));
  }
  return symbol;
}

std::string Formula::equal(const Symbol& a, const Symbol& b) {
  std::string all = "true";
  for (std::size_t i = 0; i < a.lanes.size(); ++i) {
    if (a.lanes[i] == b.lanes[i]) continue;
    all = both(all, define(join({"=", a.lanes[i], b.lanes[i]})));
  }
  return all;
}

std::string Formula::at_most(const Symbol& a, const Symbol& b) {
  const std::string_view test = has_sign(a.type) ? "bvsle" : "bvule";
  std::string all = "true";
  for (std::size_t i = 0; i < a.lanes.size(); ++i) {
    all = both(all, define(join({test, a.lanes[i], b.lanes[i]})));
  }
  return all;
}

std::string Formula::is_true(const Symbol& a) {
  if (a.constant) return *a.constant == Bits{} ? "false" : "true";
  return negated(equal(a, constant(a.type, {})));
}

std::string Formula::both(const std::string& a, const std::string& b) {
  if (a == "false" || b == "false") return "false";
  if (a == "true" || a == b) return b;
  return b == "true" ? a : define(join({"and", a, b}));
}

std::string Formula::either(const std::string& a, const std::string& b) {
  if (a == "true" || b == "true") return "true";
  if (a == "false" || a == b) return b;
  return b == "false" ? a : define(join({"or", a, b}));
}

std::string Formula::negated(const std::string& a) {
  if (a == "true") return "false";
  return a == "false" ? "true" : define(join({"not", a}));
}

Symbol Formula::select(const std::string& condition, const Symbol& yes, const Symbol& no) {
  if (condition == "true") return yes;
  if (condition == "false") return no;
  Symbol result{yes.type, {}, {}};
  for (std::size_t i = 0; i < yes.lanes.size(); ++i) {
    result.lanes.push_back(yes.lanes[i] == no.lanes[i]
                               ? yes.lanes[i]
                               : define(join({"ite", condition, yes.lanes[i], no.lanes[i]})));
  }
  if (yes.constant == no.constant) result.constant = yes.constant;
  return result;
}

// A test gives a word.
std::string Formula::apply_lane(Operation op, DataType type, const std::string& a,
                                const std::string& b) {
  const unsigned width = this->width(type);
  const bool is_signed = has_sign(type);
  std::string zero = number(width, 0);
  const std::string ones = join({"bvnot", zero});
  const auto test = [&](std::string_view on_unsigned, std::string_view on_signed) {
    return bit_of(join({is_signed ? on_signed : on_unsigned, a, b}));
  };
  const auto smaller = [&] { return join({is_signed ? "bvslt" : "bvult", a, b}); };
  // A count is a word; only its low bits count.
  const auto count = [&](const std::string& of) {
    return extended(false, width - word_, join({"bvand", of, number(word_, width - 1)}));
  };
  const auto rotated = [&](std::string_view there, std::string_view back) {
    return join({"bvor", join({there, a, count(b)}), join({back, a, count(join({"bvneg", b}))})});
  };
  // The exact result in one bit more, brought back into the range of the type.
  const auto clamped = [&](std::string_view exact_op) {
    const std::string exact = define(join({exact_op, extended(true, 1, a), extended(true, 1, b)}));
    const std::string least = number(width, std::uint64_t{1} << (width - 1));
    const std::string most = join({"bvnot", least});
    const std::string too_small = join({"bvslt", exact, extended(true, 1, least)});
    return join({"ite", join({"bvsgt", exact, extended(true, 1, most)}), most,
                 join({"ite", too_small, least, extract(width - 1, 0, exact)})});
  };
  // How many zeros stand before the first one of these bits.
  const auto zeros_before = [&](bool from_top) {
    std::vector<std::string> bits = bits_of(width, a);
    if (from_top) std::ranges::reverse(bits);
    std::string out = number(word_, width);
    for (unsigned i = width; i-- > 0;) {
      out = join({"ite", join({"=", bits[i], "#b1"}), number(word_, i), out});
    }
    return out;
  };

  switch (op) {
    case Operation::Negate: return join({"bvneg", a});
    case Operation::BitNot: return join({"bvnot", a});
    case Operation::LogicalNot: return bit_of(join({"=", a, zero}));
    case Operation::Popcount: {
      std::vector<std::string> terms;
      for (const std::string& bit : bits_of(width, a))
        terms.push_back(extended(false, word_ - 1, bit));
      return sum(std::move(terms));
    }
    case Operation::Clz: return zeros_before(true);
    case Operation::Ctz: return zeros_before(false);
    case Operation::ReverseBits: {
      std::string out = "(concat";
      for (const std::string& bit : bits_of(width, a)) out += " " + bit;
      return out + ")";
    }

    case Operation::Or:
      return bit_of(join({"or", join({"distinct", a, zero}), join({"distinct", b, zero})}));
    case Operation::And:
      return bit_of(join({"and", join({"distinct", a, zero}), join({"distinct", b, zero})}));
    case Operation::Eq: return bit_of(join({"=", a, b}));
    case Operation::Ne: return bit_of(join({"distinct", a, b}));
    case Operation::Lt: return test("bvult", "bvslt");
    case Operation::Gt: return test("bvugt", "bvsgt");
    case Operation::Le: return test("bvule", "bvsle");
    case Operation::Ge: return test("bvuge", "bvsge");
    case Operation::BitOr: return join({"bvor", a, b});
    case Operation::BitXor: return join({"bvxor", a, b});
    case Operation::BitAnd: return join({"bvand", a, b});
    case Operation::Shl: return join({"bvshl", a, count(b)});
    case Operation::Shr: return join({is_signed ? "bvashr" : "bvlshr", a, count(b)});
    case Operation::Add: return join({"bvadd", a, b});
    case Operation::Sub: return join({"bvsub", a, b});
    case Operation::Mul: return join({"bvmul", a, b});
    case Operation::Div:
      return join(
          {"ite", join({"=", b, zero}), zero, join({is_signed ? "bvsdiv" : "bvudiv", a, b})});
    case Operation::Mod:
      // x = 1 x + 0 where x is not zero, and 0 % 0 = 0 by definition: too much for the solver.
      if (a == b) return zero;
      return join(
          {"ite", join({"=", b, zero}), zero, join({is_signed ? "bvsrem" : "bvurem", a, b})});
    case Operation::Min: return join({"ite", smaller(), a, b});
    case Operation::Max: return join({"ite", smaller(), b, a});
    case Operation::AbsDiff:
      return join({"ite", smaller(), join({"bvsub", b, a}), join({"bvsub", a, b})});
    case Operation::MulHigh:
      return extract(2 * width - 1, width,
                     join({"bvmul", extended(false, width, a), extended(false, width, b)}));
    case Operation::AddSat: {
      if (is_signed) return clamped("bvadd");
      const std::string exact = define(join({"bvadd", a, b}));
      return join({"ite", join({"bvult", exact, a}), ones, exact});
    }
    case Operation::SubSat:
      if (is_signed) return clamped("bvsub");
      return join({"ite", join({"bvult", a, b}), zero, join({"bvsub", a, b})});
    case Operation::RotateLeft: return rotated("bvshl", "bvlshr");
    case Operation::RotateRight: return rotated("bvlshr", "bvshl");

#define FORM(name, ...) case Operation::name:
#include "vyre/ir/ops.def"
      break;  // not a function of operands alone
  }
  return zero;
}

Symbol Formula::apply(Operation op, const Symbol& a, const Symbol& b) {
  const DataType type = a.type;
  Symbol result{result_of(op, type), {}, {}};
  if (a.constant && b.constant && word_ == 32) {
    return constant(result.type, eval(op, type, *a.constant, *b.constant));
  }
  for (std::size_t i = 0; i < a.lanes.size(); ++i) {
    result.lanes.push_back(define(apply_lane(op, type, a.lanes[i], b.lanes[i])));
  }
  return result;
}

// A cast keeps the words that both types have.
Symbol Formula::cast(DataType target, const Symbol& value) {
  const DataType source = value.type;
  if (source == target) return value;
  if (value.constant && word_ == 32) {
    return constant(target, eval_cast(source, target, *value.constant));
  }
  if (target == DataType::Bool) return {target, {define(bit_of(is_true(value)))}, {}};
  std::vector<std::string> parts;
  for (const std::string& lane : value.lanes) {
    for (unsigned low = 0; low < width(source); low += word_) {
      parts.push_back(width(source) == word_ ? lane : extract(low + word_ - 1, low, lane));
    }
  }
  std::string fill = number(word_, 0);
  if (has_sign(source)) fill = join({"bvashr", parts[0], number(word_, word_ - 1)});
  if (is_vector(target)) fill = parts[0];
  parts.resize(std::max<std::size_t>(parts.size(), words(target)), fill);

  Symbol result{target, {}, {}};
  for (std::size_t at = 0; at < words(target); at += words_of_lane(target)) {
    std::string lane = parts[at];
    for (std::size_t i = 1; i < words_of_lane(target); ++i) {
      lane = join({"concat", parts[at + i], lane});
    }
    result.lanes.push_back(define(lane));
  }
  return result;
}

// --- Bodies -------------------------------------------------------------------------------------

// Executes all ways through a body at once. Where ways part, what they assign is chosen by the
// condition. A way that has returned or left its loop assigns nothing any more.
class OpFormula {
 public:
  OpFormula(Formula& formula, const Op& op, std::span<const Symbol> arguments,
            std::span<const BufferDecl> memory)
      : formula_(formula), op_(op), body_(op.body), memory_(memory) {
    for (const BufferDecl& buffer : memory) begin(buffer);
    state_.locals.resize(body_.locals.size());
    std::ranges::copy(arguments, state_.locals.begin());
    state_.result = formula_.constant(op.signature.output, {});
  }

  Result<Symbol> run() {
    block(StmtId{0u}, StmtId{body_.stmts.size()});
    if (failure_) return *failure_;
    return state_.result;
  }

 private:
  struct State {
    std::vector<std::vector<Symbol>> memory;
    std::vector<Symbol> locals;
    Symbol result;
    std::string returned = "false";
    std::string broken = "false";
  };

  // What memory holds at the start; of an array nothing that anybody sees.
  void begin(const BufferDecl& buffer) {
    const DataType type = loaded_type(buffer.element);
    std::vector<Symbol>& elements = state_.memory.emplace_back();
    for (std::uint32_t i = 0; i < buffer.count; ++i) {
      const bool is_table = buffer.access == BufferAccess::Constant;
      elements.push_back(formula_.constant(
          type, is_table ? load_element(buffer.element, buffer.contents.bytes(), i) : Bits{}));
    }
  }

  // The element of an index that is not a number is chosen among all.
  Symbol loaded(std::uint32_t buffer, const Symbol& index) {
    const std::vector<Symbol>& elements = state_.memory[buffer];
    Symbol result = formula_.constant(loaded_type(memory_[buffer].element), {});
    if (index.constant) {
      const std::uint32_t at = index.constant->lanes[0];
      return at < elements.size() ? elements[at] : result;
    }
    for (std::uint32_t i = 0; i < elements.size(); ++i) {
      step();
      result = formula_.select(is(index, i), elements[i], result);
    }
    return result;
  }

  void store(const Store& store) {
    std::vector<Symbol>& elements = state_.memory[store.buffer.index];
    const Symbol index = value(store.index);
    const Symbol stored = value(store.value);
    const std::string when = active();
    for (std::uint32_t i = 0; i < elements.size(); ++i) {
      if (index.constant && index.constant->lanes[0] != i) continue;
      step();
      const std::string here = index.constant ? when : formula_.both(when, is(index, i));
      elements[i] = formula_.select(here, stored, elements[i]);
    }
  }

  std::string is(const Symbol& index, std::uint32_t number) {
    return formula_.equal(index, formula_.constant(DataType::U32, {{number}}));
  }

  std::string active() { return formula_.negated(formula_.either(state_.returned, state_.broken)); }

  void fail(std::string_view why) {
    if (!failure_) failure_ = diagnose<message::no_formula>(op_.id, why);
  }

  void set(Symbol& to, const Symbol& value, bool is_new) {
    const std::string when = active();
    to = is_new || to.lanes.empty() ? value : formula_.select(when, value, to);
  }

  void block(StmtId first, StmtId end) {
    if (++depth_ > 2 * kMaxStmtDepth) fail("its statements nest too deeply");
    for (StmtId id = first; id < end && !failure_; id = next(body_, id)) {
      if (active() == "false") break;
      statement(id);
    }
    --depth_;
  }

  void step() {
    constexpr std::uint32_t kMostSteps = 20'000;
    if (++steps_ > kMostSteps) fail("it takes too many steps");
  }

  void statement(StmtId id) {
    step();
    const Stmt& stmt = body_[id];
    const StmtId inside{id.index + 1};
    values_.clear();
    visit(
        stmt, [&](const Let& let) { set(state_.locals[let.local.index], value(let.value), true); },
        [&](const Assign& assign) {
          set(state_.locals[assign.local.index], value(assign.value), false);
        },
        [&](const Return& leave) {
          set(state_.result, value(leave.value), false);
          state_.returned = formula_.either(state_.returned, active());
        },
        [&](const Break&) { state_.broken = formula_.either(state_.broken, active()); },
        [&](const Block& scope) { block(inside, scope.end); },
        [&](const If& branch) {
          const std::string condition = formula_.is_true(value(branch.condition));
          if (condition == "true") return block(inside, branch.else_begin);
          if (condition == "false") return block(branch.else_begin, branch.end);
          State before = state_;
          block(inside, branch.else_begin);
          State yes = std::exchange(state_, std::move(before));
          block(branch.else_begin, branch.end);
          merge(condition, yes);
        },
        [&](const For& loop) { rounds(id, loop); }, [&](const Store& to) { store(to); },
        Nothing<Atomic, Barrier, Collective, SetElement, Continue>());
  }

  // The state is that of the way on which the condition is false.
  void merge(const std::string& condition, State& yes) {
    const auto choose = [&](Symbol& no, const Symbol& other) {
      if (no.lanes.empty() || other.lanes.empty()) return;  // declared in one branch: gone
      no = formula_.select(condition, other, no);
    };
    for (std::size_t i = 0; i < state_.locals.size(); ++i) choose(state_.locals[i], yes.locals[i]);
    for (std::size_t i = 0; i < state_.memory.size(); ++i) {
      for (std::size_t k = 0; k < state_.memory[i].size(); ++k) {
        choose(state_.memory[i][k], yes.memory[i][k]);
      }
    }
    choose(state_.result, yes.result);
    const auto choose_truth = [&](const std::string& then, const std::string& otherwise) {
      if (then == otherwise) return then;
      return formula_.either(formula_.both(condition, then),
                             formula_.both(formula_.negated(condition), otherwise));
    };
    state_.returned = choose_truth(yes.returned, state_.returned);
    state_.broken = choose_truth(yes.broken, state_.broken);
  }

  void rounds(StmtId id, const For& loop) {
    const Symbol from = value(loop.from);
    const Symbol to = value(loop.to);
    if (!from.constant || !to.constant) return fail("it has a loop whose bounds are not constant");
    const std::string outside = state_.broken;
    for (std::uint32_t i = from.constant->lanes[0]; i < to.constant->lanes[0]; ++i) {
      if (failure_ || active() == "false") break;
      step();
      state_.locals[loop.variable.index] = formula_.constant(DataType::U32, {{i}});
      block(StmtId{id.index + 1}, loop.end);
    }
    state_.broken = outside;
  }

  // Operands precede their users; only those of this statement are computed.
  const Symbol& value(ExprId root) {
    std::set<ExprId> wanted;
    for_each_below(body_, std::array{root}, [&](ExprId id) { wanted.insert(id); });
    for (ExprId id : wanted) {
      if (!values_.contains(id.index)) values_[id.index] = compute(body_[id]);
    }
    return values_[root.index];
  }

  Symbol compute(const Expr& expr) {
    const std::span<const ExprId> ids = operands(body_, expr);
    const auto arg = [&](std::size_t i) -> const Symbol& { return values_[ids[i].index]; };
    switch (expr.op) {
      case Operation::Literal:
        return formula_.constant(type_of_detail(expr), literal_bits(body_, expr));
      case Operation::Local: return state_.locals[expr.imm];
      case Operation::Select: return formula_.select(formula_.is_true(arg(0)), arg(1), arg(2));
      case Operation::Cast: return formula_.cast(type_of_detail(expr), arg(0));
      case Operation::Vec2:
      case Operation::Vec4: {
        Symbol vector{
            expr.op == Operation::Vec2 ? DataType::Vec2U32 : DataType::Vec4U32, {}, Bits{}};
        for (std::size_t i = 0; i < ids.size(); ++i) {
          vector.lanes.push_back(arg(i).lanes[0]);
          if (arg(i).constant && vector.constant) {
            vector.constant->lanes[i] = arg(i).constant->lanes[0];
          } else {
            vector.constant.reset();
          }
        }
        return vector;
      }
      case Operation::Lane: return arg(0).lane(expr.detail);
      case Operation::Load: return loaded(expr.imm, arg(0));
      case Operation::Length:
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::NumWorkgroups:
#define WRITTEN(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        break;  // not in an op without calls
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        return formula_.apply(expr.op, arg(0), arg(ids.size() - 1));
    }
    fail("it calls another op");
    return formula_.constant(DataType::U32, {});
  }

  Formula& formula_;
  const Op& op_;
  const Body& body_;
  const std::span<const BufferDecl> memory_;
  State state_;
  std::unordered_map<std::uint32_t, Symbol> values_;  // of the current statement
  std::uint32_t steps_ = 0;
  std::uint32_t depth_ = 0;
  std::optional<Diagnostic> failure_;
};

Result<Symbol> Formula::apply(const Op& op, std::span<const Symbol> arguments,
                              std::span<const BufferDecl> memory) {
  return OpFormula(*this, op, arguments, memory).run();
}

}  // namespace vyre
