// Values as the parser reads them: their types, numbers that take the type that is wanted of them,
// and named constants.
//
// A number without a suffix, and what operations make of such numbers, is bare: it has no type
// until something wants one of it. Until then it is in a body of its own, which also has what
// constants stand for; settle() copies it into the body of the item.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vyre/ir/eval.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/text/parse_constants.h"
#include "vyre/text/parse_tokens.h"

namespace vyre {

class ValueParser : protected TokenParser {
 public:
  using TokenParser::TokenParser;

 protected:
  static constexpr DataType kBare = static_cast<DataType>(0xff);  // no type yet
  static bool is_bare(DataType type) { return element_type(type) == kBare; }

  struct Value {
    ExprId id;  // in bare_ while the type is bare, otherwise in the body of the item
    Span span;
    DataType type = DataType::Unknown;
    std::uint32_t first_use = 0;  // where its uses begin
    std::uint32_t before = 0;     // how many expressions the item had before it
  };

  // What a name of the file level stands for: a table, or an expression of bare_.
  struct Constant {
    std::string name;
    Span span;
    std::optional<ConstTable> table;
    ExprId id;
    DataType type = DataType::Unknown;
    std::uint32_t uses = 0;  // how many it has as written out
  };

  // --- The item at hand ---

  void begin_values(Body& body) {
    body_ = &body;
    item_interner_.emplace(body);
    interner_ = &*item_interner_;
    locals_.clear();
    in_order_ = true;
  }

  // In canonical numbering, where a number was settled after what follows it.
  void finish_values(std::size_t parameters) {
    if (!in_order_ && item_sound_ && !stopped_) {
      *body_ = canonical(*body_, static_cast<std::uint32_t>(parameters), true);
    }
  }

  // A local and what the parser knows about it.
  struct KnownLocal {
    DataType type = DataType::Unknown;
    bool is_fixed = false;  // the variable of a loop, which is not assigned
  };
  LocalId add_local(std::string name, DataType type) {
    body_->locals.push_back({std::move(name)});
    locals_.push_back({type});
    return LocalId{body_->locals.size() - 1};
  }
  DataType type_of(LocalId local) const {
    return local.exists() ? locals_[local.index].type : DataType::Unknown;
  }

  // --- Making values ---

  Value value(ExprId id, Span span, DataType type) {
    const auto first = static_cast<std::uint32_t>(positions_.uses.size());
    add_use(span);
    return {id, span, type, first, static_cast<std::uint32_t>(body_->exprs.size())};
  }
  Value local_value(LocalId local, Span span) {
    return value(interner_->local(local), span, type_of(local));
  }
  Value number_value(std::uint32_t number, Span span) {
    return value(interner_->literal(DataType::U32, {{number, 0, 0, 0}}), span, DataType::U32);
  }
  // A number without a suffix.
  Value bare_value(Wide number, Span span) {
    numbers_.push_back(number);
    const auto index = static_cast<std::uint32_t>(numbers_.size() - 1);
    return value(bare_interner_.make(Operation::Literal, kPlain, index, {}), span, kBare);
  }
  // Instead of one that cannot be made: a local that does not exist.
  Value wrong_value(Span span) { return value(interner_->local({}), span, DataType::Unknown); }

  // What is made of values that were read before, the first of them first.
  Value made_of(std::span<const Value> parts, ExprId id, Span span, DataType type) {
    const auto before = static_cast<std::uint32_t>(body_->exprs.size());
    Value made{id, span, type, static_cast<std::uint32_t>(positions_.uses.size()), before};
    if (!parts.empty()) {
      made.first_use = parts[0].first_use;
      made.before = parts[0].before;
    }
    add_use(span);
    return made;
  }

  // An operation on as many operands as it takes. Its result is bare where those are that have to
  // be of one type: the sides of a select, what is shifted, both operands of most others.
  Value apply(const OperationInfo& op, std::span<Value> args, Span span) {
    const bool is_select = op.op == Operation::Select;
    const std::span<Value> alike = is_select                          ? args.subspan(1)
                                   : op.signature == Signature::Shift ? args.first(1)
                                                                      : args;
    const auto typed = std::ranges::find_if_not(alike, is_bare, &Value::type);
    DataType type = typed != alike.end() ? typed->type : kBare;
    const bool is_number =
        std::ranges::all_of(alike, [](const Value& side) { return side.type == kBare; });
    if (type == kBare && (op.signature == Signature::Test || !is_number)) type = DataType::U32;
    for (Value& arg : args) {
      const bool is_alike = &arg >= alike.data() && &arg < alike.data() + alike.size();
      if (!is_alike || type != kBare) settle(arg, is_alike ? type : DataType::U32);
    }
    std::array<ExprId, 3> ids;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::size_t end = i + 1 < args.size() ? args[i + 1].first_use : positions_.uses.size();
      ids[i] = type == kBare ? bare_part(args[i], end - args[i].first_use) : args[i].id;
    }
    if (type == kBare && op.op == Operation::Negate) ids[0] = under_minus(ids[0]);
    Interner& interner = type == kBare ? bare_interner_ : *interner_;
    const ExprId id = interner.make(op.op, 0, 0, std::span(ids).first(args.size()));
    return made_of(args, id, span, is_select || type == kBare ? type : result_of(op.op, type));
  }
  Value apply(Operation op, Value a, Span span) { return apply(info(op), std::span(&a, 1), span); }
  Value apply(Operation op, Value a, Value b, Span span) {
    std::array<Value, 2> args{a, b};
    return apply(info(op), args, span);
  }

  // An array of these elements, which are of one type. Bare where all of them are.
  Value array_of(std::span<Value> elements, Span span) {
    const auto typed = std::ranges::find_if_not(elements, is_bare, &Value::type);
    const bool is_number =
        std::ranges::all_of(elements, [](const Value& element) { return element.type == kBare; });
    const DataType type = is_number ? kBare : typed != elements.end() ? typed->type : DataType::U32;
    elements_.clear();
    for (Value& element : elements) {
      if (!is_number) settle(element, type);
      elements_.push_back(element.id);
    }
    Interner& interner = is_number ? bare_interner_ : *interner_;
    const auto count = static_cast<std::uint32_t>(elements.size());
    return made_of(
        elements, interner.array(elements_), span,
        type == DataType::Unknown || is_array(type) ? DataType::Unknown : array_type(type, count));
  }

  // Gives a bare value a type: the one that is wanted, where it is one of numbers. The elements of
  // an array take that of the elements.
  void settle(Value& bare, DataType wanted = DataType::U32) {
    if (!is_bare(bare.type)) return;
    const bool is_list = is_array(bare.type);
    DataType number = is_list == is_array(wanted) ? element_type(wanted) : DataType::U32;
    const bool is_known = number != DataType::Unknown || parsed_.findings.empty();
    if (!contains(type_sets::Scalar, number)) number = DataType::U32;
    in_order_ &= in_constant() || body_->exprs.size() == bare.before;
    bare.id = copied(bare, number, is_known);
    bare.type = is_list ? array_type(number, element_count(bare.type)) : number;
  }

  // --- Constants ---

  // Whether the expression at hand is that of a constant: it sees constants only.
  bool in_constant() const { return body_ == &bare_; }

  // While there is one, the expressions that are parsed are those of constants.
  class ConstantScope {
   public:
    explicit ConstantScope(ValueParser& parser)
        : parser_(parser),
          body_(std::exchange(parser.body_, &parser.bare_)),
          interner_(std::exchange(parser.interner_, &parser.bare_interner_)),
          uses_(parser.positions_.uses.size()) {}
    ~ConstantScope() {
      parser_.body_ = body_;
      parser_.interner_ = interner_;
      parser_.positions_.uses.resize(uses_);
    }
    ConstantScope(const ConstantScope&) = delete;
    ConstantScope& operator=(const ConstantScope&) = delete;

   private:
    ValueParser& parser_;
    Body* body_;
    Interner* interner_;
    std::size_t uses_;
  };

  // What a constant stands for, as if it were written here in parentheses.
  bool constant_value(const Constant& constant, Span span, Value& result) {
    if (constant.table) {
      result = value(interner_->table(*constant.table), span, constant.table->type());
      return true;
    }
    expanded_ += constant.uses - 1;
    if (expanded_ > kMaxExpanded) return stop<message::expanded_constants>(span, item_name_);
    result = {constant.id, span, constant.type, static_cast<std::uint32_t>(positions_.uses.size()),
              static_cast<std::uint32_t>(body_->exprs.size())};
    for (std::uint32_t i = 0; i < constant.uses; ++i) add_use(span);
    if (!is_bare(constant.type) && !in_constant()) result.id = copied(result, DataType::U32, true);
    return true;
  }

  // The value of an expression of constants, or nothing where that is wrong, which is reported.
  std::optional<TypedBits> folded(const Value& constant) {
    std::vector<TypedBits> stack;
    std::uint32_t use = constant.first_use;
    std::optional<Diagnostic> problem;
    Span place;
    for_each_use(bare_, constant.id, [&](ExprId id) {
      const std::uint32_t at = use++;
      if (problem) return;
      const Expr& expr = bare_[id];
      const std::size_t count = operands(bare_, expr).size();
      const std::span<const TypedBits> args = std::span(stack).last(count);
      const DataType type = checked_type(
          expr, [&](std::size_t i) { return args[i].type; },
          [&](int, auto make) {
            problem = make();
            place = positions_.uses[at];
          });
      const bool is_wrong = problem || std::ranges::any_of(args, [](const TypedBits& arg) {
                              return arg.type == DataType::Unknown;
                            });
      const TypedBits result =
          is_wrong ? TypedBits{DataType::Unknown, {}} : evaluated(expr, args, type);
      stack.resize(stack.size() - count);
      stack.push_back(result);
    });
    if (!problem) return stack.back();
    if (item_sound_) parsed_.findings.add(*problem, place);
    return {};
  }

  // --- Uses ---

  void add_use(Span span) {
    positions_.uses.push_back(span);
    if (positions_.uses.size() > kMaxExprs) stop<message::too_many_expressions>(span, item_name_);
  }

  // A number that took its minus sign in has one use, not two.
  void drop_dead_uses(std::size_t from) {
    if (!std::exchange(has_dead_uses_, false)) return;
    auto& uses = positions_.uses;
    uses.erase(std::remove(uses.begin() + static_cast<std::ptrdiff_t>(from), uses.end(), kDead),
               uses.end());
  }

  // Whether a type has this number, or its negation.
  static bool has_number(DataType type, Wide number, bool is_negative) {
    const unsigned width = info(type).width;
    return number <= (has_sign(type) ? (Wide{1} << (width - 1)) - (is_negative ? 0 : 1)
                                     : ~Wide{0} >> (128 - width));
  }
  void complain_range(Span span, std::string_view number, DataType type) {
    has_excess_ = true;
    const std::string_view advice =
        type == DataType::U32
            ? "u32 ends at 4294967295; for a wider type, write the suffix u64 or u128"
        : type == DataType::U64 ? "write the suffix u128, or a smaller number"
        : is_narrow(type)       ? "use a number that an element can hold"
        : has_sign(type)        ? "i32 goes from -2147483648i32 to 2147483647i32"
                                : "u128 ends at 2^128 - 1";
    complain<message::literal_range>(span, shorten(number, 50), text(type), advice);
  }
  static Bits bits_of(Wide number, DataType type) {
    Bits bits;
    for (std::size_t lane = 0; lane < words(type); ++lane) {
      bits.lanes[lane] = static_cast<std::uint32_t>(number >> (32 * lane));
    }
    return bits;
  }

  bool has_excess_ = false;  // a number is out of range
  Body* body_ = nullptr;     // of the item at hand, or bare_
  Interner* interner_ = nullptr;
  std::string_view item_name_;
  ItemPositions positions_;
  std::vector<KnownLocal> locals_;  // of the item
  FileConstants<Constant> constants_;

 private:
  // What `detail` of a bare literal says: whether it is right after a minus sign, which belongs to
  // it once its type is signed.
  static constexpr std::uint8_t kPlain = 0xfe, kUnderMinus = 0xff;
  static constexpr Span kDead{~0u, ~0u};

  ExprId under_minus(ExprId id) {
    const Expr literal = bare_[id];
    if (literal.op != Operation::Literal) return id;
    return bare_interner_.make(Operation::Literal, kUnderMinus, literal.imm, {});
  }

  // A part of a bare value. One that has a type is kept aside, under the number of its place.
  ExprId bare_part(const Value& part, std::size_t uses) {
    if (is_bare(part.type) || in_constant()) return part.id;
    parts_.push_back({part.id, static_cast<std::uint32_t>(uses)});
    return bare_interner_.make(Operation::Local, 0, static_cast<std::uint32_t>(parts_.size() - 1),
                               {});
  }

  // Of an expression of bare_, in the body of the item, with its numbers of this type.
  ExprId copied(const Value& root, DataType number, bool is_known) {
    copies_.clear();
    std::uint32_t use = root.first_use;
    for_each_use(bare_, root.id, [&](ExprId id) {
      const Expr expr = bare_[id];
      if (expr.op == Operation::Local && expr.imm < parts_.size()) {
        copies_.push_back(parts_[expr.imm].id);
        use += parts_[expr.imm].uses;
        return;
      }
      const std::span<const ExprId> before = operands(bare_, expr);
      const std::size_t count = before.size();
      const bool has_sign_inside = expr.op == Operation::Negate && vyre::has_sign(number) &&
                                   is_bare_literal(bare_[before[0]]);
      const ExprId copy =
          has_sign_inside ? copies_.back()
                          : copy_of(expr, number, is_known, use, std::span(copies_).last(count));
      if (has_sign_inside) {
        positions_.uses[use - 1] = kDead;
        has_dead_uses_ = true;
      }
      copies_.resize(copies_.size() - count);
      copies_.push_back(copy);
      ++use;
    });
    return copies_.back();
  }
  static bool is_bare_literal(const Expr& expr) {
    return expr.op == Operation::Literal && expr.detail >= kPlain;
  }

  ExprId copy_of(const Expr& expr, DataType number, bool is_known, std::uint32_t use,
                 std::span<const ExprId> args) {
    if (is_bare_literal(expr)) {
      const bool is_negative = expr.detail == kUnderMinus && vyre::has_sign(number);
      const Wide magnitude = numbers_[expr.imm];
      const Span span = positions_.uses[use];
      if (is_known && !has_number(number, magnitude, is_negative)) {
        complain_range(span, (is_negative ? "-" : "") + std::string(lexer_.text(span)), number);
      }
      return interner_->literal(number,
                                bits_of(is_negative ? Wide{0} - magnitude : magnitude, number));
    }
    if (expr.op == Operation::Literal) {
      return interner_->literal(type_of_detail(expr), literal_bits(bare_, expr));
    }
    if (expr.op == Operation::Table) {
      const ConstTable table = bare_.tables[expr.imm];
      return interner_->table(table);
    }
    return interner_->make(expr.op, expr.detail, expr.imm, args);
  }

  TypedBits evaluated(const Expr& expr, std::span<const TypedBits> args, DataType type) const {
    TypedBits result{type, {}};
    switch (expr.op) {
      case Operation::Literal: result.bits = literal_bits(bare_, expr); break;
      case Operation::Cast: result.bits = eval_cast(args[0].type, type, args[0].bits); break;
      case Operation::Select:
        result.bits = (args[0].bits == Bits{} ? args[2] : args[1]).bits;
        break;
      case Operation::Vec2:
      case Operation::Vec4:
        for (std::size_t i = 0; i < args.size(); ++i) {
          result.bits.lanes[i] = args[i].bits.lanes[0];
        }
        break;
      case Operation::Lane: result.bits.lanes[0] = args[0].bits.lanes[expr.detail]; break;
      case Operation::Table: result.type = bare_.tables[expr.imm].type(); break;
      case Operation::Count: result.bits.lanes[0] = element_count(args[0].type); break;
      case Operation::Local:
      case Operation::Load:
      case Operation::Length:
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::NumWorkgroups:
      case Operation::Call:
      case Operation::Element:
      case Operation::Array:
      case Operation::Zeros: result.type = DataType::Unknown; break;
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        result.bits = eval(resolve(expr.op, args[0].type), args[0].type, args[0].bits,
                           args.size() == 2 ? args[1].bits : Bits{});
    }
    return result;
  }

  // What all uses of the constants of a program add to its text.
  static constexpr std::uint64_t kMaxExpanded = 16 * kMaxExprs;

  struct Part {
    ExprId id;
    std::uint32_t uses;
  };

  std::optional<Interner> item_interner_;
  bool in_order_ = true;  // the numbering is canonical so far
  bool has_dead_uses_ = false;

  Body bare_;
  Interner bare_interner_{bare_, 0, true};
  std::vector<Wide> numbers_;  // of bare literals
  std::vector<Part> parts_;    // of bare values, with types
  std::vector<ExprId> copies_;
  std::vector<ExprId> elements_;
  std::uint64_t expanded_ = 0;  // what constants added to the text, written out
};

}  // namespace vyre
