// Expressions, by operator precedence with an explicit stack; also literals and the names in them.
// They are interned in the order in which they are parsed, which is the canonical numbering.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vyre/base/names.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/text/parse_tokens.h"

namespace vyre {

class ExpressionParser : protected TokenParser {
 public:
  using TokenParser::TokenParser;

 protected:
  struct Binding {
    LocalId local;
    BufferId buffer;
    const ConstTable* table = nullptr;
    bool was_local = false;  // declared by now, in this scope or another one
    bool reported = false;   // as unknown: once is enough
  };

  // One expression, up to the token that cannot continue it.
  bool parse_expr(ExprId& result) {
    frames_.clear();
    values_.clear();
    ids_.clear();
    while (true) {
      const std::size_t around = frames_.size();
      if (!parse_operand()) return false;
      if (frames_.size() > around) continue;
      // After an operand: lanes, closing brackets, then an operator or the end.
      while (true) {
        if (stopped_ || !parse_lanes()) return false;
        if (at(Tok::LBracket)) {
          if (!push_frame({Frame::Element, values_.back().span.begin})) return false;
          --frames_.back().operands;
          advance();
          break;
        }
        if (token_.infix != nullptr) {
          const OperationInfo* op = token_.infix;
          reduce(op->precedence + (op->precedence == kComparisonPrecedence ? 1 : 0));
          if (op->precedence == kComparisonPrecedence && !frames_.empty() &&
              frames_.back().kind == Frame::Infix &&
              frames_.back().op->precedence == kComparisonPrecedence) {
            return fail<message::chained_comparison>(token_.span, op->text);
          }
          if (!push_frame({Frame::Infix, token_.span.begin, {}, op})) return false;
          advance();
          break;
        }
        reduce(0);
        if (frames_.empty()) {
          result = values_.back().id;
          return true;
        }
        const OpenExpr& open = frames_.back();
        const bool is_index = open.kind == Frame::Index || open.kind == Frame::Element;
        const bool is_square = is_index || open.kind == Frame::Array;
        const bool takes_list = open.kind != Frame::Paren && !is_index;
        if (at(Tok::Comma) && takes_list) {
          advance();
          break;
        }
        if (at(is_square ? Tok::RBracket : Tok::RParen)) {
          if (!close_bracket()) return false;
          continue;
        }
        const std::string closing = is_square ? "]" : ")";
        if (at(Tok::End)) {
          return fail<message::unclosed>({open.begin, open.begin + 1}, "an expression", closing);
        }
        const std::string list = takes_list ? "an operator, `,` or `" : "an operator or `";
        return fail_missing<message::operator_or_bracket>(list + closing + "`");
      }
    }
  }

  // The value of the current Number token, which it does not consume. `begin` is the place of its
  // minus sign, if it has one; without a suffix its type is `bare`.
  bool read_literal(bool negative, std::uint32_t begin, TypedBits& literal, bool count = false,
                    DataType bare = DataType::U32) {
    const std::string_view whole = spelling();
    const unsigned base = whole.starts_with("0x") ? 16 : whole.starts_with("0b") ? 2 : 10;
    Digits digits = read_digits(whole.substr(base == 10 ? 0 : 2), base);
    const std::string_view suffix = digits.suffix;
    const bool has_exponent =
        base == 10 ? suffix.starts_with('e') || suffix.starts_with('E') : suffix.starts_with('p');
    const bool is_float = (base != 2 && (has_exponent || whole.find('.') != whole.npos)) ||
                          suffix == "f32" || suffix == "f16" || suffix == "bf16";
    if (is_float) return fail<message::planned_literal>(token_.span, shorten(whole, 40));
    literal.type = bare;
    const std::string_view prefix = advice_for("0" + std::string(suffix.substr(0, 1)));
    if (!prefix.empty() && whole.starts_with('0')) {
      return fail<message::foreign_number>(token_.span, shorten(whole, 40), prefix);
    }
    if (!digits.well_formed) {
      return fail<message::bad_number>(token_.span, shorten(whole, 40));
    }
    if (!suffix.empty()) {
      const std::string_view advice = advice_for("1" + std::string(suffix));
      if (!advice.empty()) {
        return fail<message::foreign_number>(token_.span, shorten(whole, 40), advice);
      }
      const std::optional<DataType> type = find_type(suffix);
      if (!type || !contains(type_sets::Scalar, *type)) {
        return fail<message::bad_suffix>(token_.span, shorten(whole, 40), shorten(suffix, 20));
      }
      literal.type = *type;
    }
    const bool is_signed = has_sign(literal.type);
    const unsigned width = info(literal.type).width;
    const Wide limit =
        is_signed ? (Wide{1} << (width - 1)) - (negative ? 0 : 1) : ~Wide{0} >> (128 - width);
    if (digits.overflow || digits.value > limit) {
      const std::string_view advice =
          count                           ? "use a number up to 4294967295"
          : literal.type == DataType::U32 ? "write a suffix for a wider type: u64 or u128"
          : literal.type == DataType::U64 ? "write the suffix u128, or a smaller number"
          : is_narrow(literal.type)       ? "use a number that an element can hold"
          : is_signed                     ? "i32 goes from -2147483648i32 to 2147483647i32"
                                          : "u128 ends at 2^128 - 1";
      return fail<message::literal_range>({begin, token_.span.end},
                                          (negative ? "-" : "") + shorten(whole, 50),
                                          text(literal.type), advice);
    }
    if (negative) digits.value = Wide{0} - digits.value;
    for (std::size_t lane = 0; lane < words(literal.type); ++lane) {
      literal.bits.lanes[lane] = static_cast<std::uint32_t>(digits.value >> (32 * lane));
    }
    return true;
  }

  // Instead of a value that cannot be made: a local that does not exist.
  ExprId wrong_value(Span span) {
    positions_.uses.push_back(span);
    return interner_->local(LocalId{});
  }

  BufferId resolve_buffer(Span span) {
    const std::string_view name = lexer_.text(span);
    const Binding found = binding(name);
    if (program_ == nullptr) {
      complain<message::buffer_in_op>(span, item_name_, shorten(name));
    } else if (found.buffer.exists()) {
      return found.buffer;
    } else if (found.local.exists()) {
      complain<message::local_as_buffer>(span, name);
    } else if (!found.reported && !parsed_.findings.full()) {
      binding(name).reported = true;
      std::vector<std::string_view> buffers;
      for (const BufferDecl& buffer : program_->buffers) buffers.push_back(buffer.name);
      const std::string_view near = nearest(name, buffers);
      near.empty() ? complain<message::unknown_buffer>(span, shorten(name))
                   : complain<message::misspelt_buffer>(span, name, near);
    }
    return {};
  }

  // A name that is not a local here. Reported once per name.
  void complain_unknown(Span span, bool assigned) {
    const std::string_view word = lexer_.text(span);
    Binding& known = binding(word);
    if (known.reported || parsed_.findings.full()) return;
    known.reported = true;
    std::vector<std::string_view> names = visible_locals();
    if (!assigned) names.insert(names.end(), {"invocation_id", "workgroup_id", "local_id"});
    const std::string_view near = nearest(word, names);
    const std::string_view advice = assigned ? "" : foreign_here(span.begin).advice;
    if (known.was_local) {
      assigned ? complain<message::assigned_out_of_scope>(span, shorten(word))
               : complain<message::local_out_of_scope>(span, shorten(word));
    } else if (!advice.empty()) {
      complain<message::foreign_name>(span, word, advice);
      failed_ = true;  // what goes with it is foreign, too
    } else if (!near.empty()) {
      assigned ? complain<message::assigned_misspelt>(span, word, near)
               : complain<message::misspelt_local>(span, word, near);
    } else {
      assigned ? complain<message::assigned_unknown>(span, shorten(word))
               : complain<message::unknown_local>(span, shorten(word));
    }
  }

  std::uint32_t number_of(std::string_view name) {
    const std::uint32_t number = names_.number(name);
    if (number >= bindings_.size()) bindings_.resize(number + 1);
    return number;
  }
  Binding& binding(std::string_view name) { return bindings_[number_of(name)]; }
  bool is_bound(std::string_view name) {
    const Binding& known = binding(name);
    return known.local.exists() || known.buffer.exists();
  }

  Body* body_ = nullptr;              // of the item at hand
  const Program* program_ = nullptr;  // null in an op
  std::string_view item_name_;
  std::optional<Interner> interner_;
  ItemPositions positions_;
  NameTable names_;
  std::vector<Binding> bindings_;  // by number of the name

 private:
  static constexpr std::size_t kMaxNesting = 8192;

  // Index: into a buffer; Element: of the array before it.
  enum class Frame : std::uint8_t {
    Prefix,
    Infix,
    Paren,
    Index,
    Element,
    Array,
    Function,
    Type,
    Call,
  };
  struct OpenExpr {
    Frame kind;
    std::uint32_t begin = 0;
    Span name = {};                     // what is called
    const OperationInfo* op = nullptr;  // Prefix, Infix, Function
    DataType type = DataType::Unknown;  // Type
    BufferId buffer = {};               // Index
    std::uint32_t operands = 0;         // size of values_ outside
    std::uint32_t uses = 0;             // size of the uses outside
  };
  struct Value {
    ExprId id;
    Span span;
  };

  // A number without its prefix.
  struct Digits {
    Wide value = 0;
    bool overflow = false;
    bool well_formed = true;  // there are some, and each _ is between two of them
    std::string_view suffix;  // what follows them
  };
  static Digits read_digits(std::string_view text, unsigned base) {
    const auto digit_at = [&](std::size_t i) -> unsigned {
      if (i >= text.size()) return 99;
      const char lower = static_cast<char>(text[i] | 32);
      if (is_digit(text[i])) return static_cast<unsigned>(text[i] - '0');
      return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a') + 10 : 99;
    };
    Digits digits;
    std::size_t length = 0;
    for (; length < text.size(); ++length) {
      const unsigned digit = digit_at(length);
      if (text[length] == '_') {
        // Before the first character there is none: the number wraps.
        digits.well_formed &= digit_at(length - 1) < base && digit_at(length + 1) < base;
        continue;
      }
      if (digit >= base) break;
      digits.overflow |= __builtin_mul_overflow(digits.value, base, &digits.value);
      digits.overflow |= __builtin_add_overflow(digits.value, digit, &digits.value);
    }
    digits.well_formed &= length > 0;
    digits.suffix = text.substr(length);
    return digits;
  }

  // Parses a complete operand, or the opening of one: then there is another frame.
  bool parse_operand() {
    const Span span = token_.span;
    if (token_.prefix != nullptr) {
      const OperationInfo* op = token_.prefix;
      advance();
      // A minus sign right before an i32 literal belongs to it.
      if (op->op == Operation::Negate && at(Tok::Number) && spelling().ends_with("i32")) {
        return parse_number(true, span.begin);
      }
      return push_frame({Frame::Prefix, span.begin, {}, op});
    }
    if (at(Tok::LParen)) {
      advance();
      return push_frame({Frame::Paren, span.begin});
    }
    if (at(Tok::LBracket)) {
      advance();
      return push_frame({Frame::Array, span.begin});
    }
    if (at(Tok::Number)) return parse_number(false, span.begin);
    if (at(Tok::Name) && !at_statement()) return parse_name_operand();
    // A call without arguments closes right away.
    if (at(Tok::RParen) && !frames_.empty() && frames_.back().kind != Frame::Paren &&
        values_.size() == frames_.back().operands && previous_.kind == Tok::LParen) {
      return close_bracket();
    }
    if (!token_.newline_before && fail_foreign(1)) return false;
    const bool inclusive = at(Tok::Assign) && previous_.kind == Tok::DotDot;
    return inclusive ? fail_missing<message::inclusive_range>()
                     : fail_missing<message::no_expression>();
  }

  // Whether the current word starts a statement: where an expression is missing, it is not
  // consumed. The first part of an op id does not start one.
  bool at_statement() const {
    const Word word = token_.word;
    const bool starts = is_one_of(word, {Word::Let, Word::If, Word::For, Word::Break, Word::Return,
                                         Word::Barrier, Word::Else, Word::Program, Word::Op});
    return starts && !before_dot();
  }

  // Words with dots between them, and the token that follows.
  struct Chain {
    Span span;
    std::string text;
    Token after;
  };
  // From a word before the current token, which is a dot.
  Chain read_chain(Span first) const {
    Lexer probe = lexer_.probe();
    Chain chain{first, std::string(lexer_.text(first)), token_};
    while (chain.after.kind == Tok::Dot) {
      chain.after = probe.next_but_comments();
      if (chain.after.kind != Tok::Name) break;
      chain.span.end = chain.after.span.end;
      chain.text += '.';
      chain.text += lexer_.text(chain.after.span);
      chain.after = probe.next_but_comments();
    }
    return chain;
  }

  bool parse_name_operand() {
    const Token name = token_;
    advance();
    if (at(Tok::Dot)) {
      // A dotted chain before `(` is a call, even if its words are reserved.
      Chain chain = read_chain(name.span);
      if (chain.after.kind == Tok::LParen) {
        while (token_.span.begin != chain.after.span.begin) advance();
        if (chain.text.size() > kMaxNameBytes) {
          return fail<message::long_token>(chain.span, chain.text.size());
        }
        advance();
        ids_.push_back(std::move(chain.text));
        return push_frame({Frame::Call, chain.span.begin, chain.span});
      }
      const std::string_view word = lexer_.text(name.span);
      if (name.word == Word::None && chain.text.size() > word.size() + 2 &&
          chain.after.kind != Tok::DotDot && !is_bound(word)) {
        complain<message::op_as_value>(chain.span, shorten(chain.text));
        while (token_.span.end != chain.span.end) advance();
        advance();
        push_wrong(chain.span);
        return true;
      }
    }
    return name.word == Word::None ? parse_plain_name(name.span) : parse_reserved(name);
  }

  // A name that is no op id, after it.
  bool parse_plain_name(Span name) {
    const std::string_view word = lexer_.text(name);
    if (accept(Tok::LParen)) {
      if (const OperationInfo* op = find_function(word)) {
        return push_frame({Frame::Function, name.begin, name, op});
      }
      const bool of_pointer = token_.infix != nullptr && token_.infix->op == Operation::BitAnd;
      if (const auto advice = advice_for(word); of_pointer && !advice.empty()) {
        return fail<message::foreign_function>(name, word, advice);
      }
      if (find_atomic(word) != nullptr) return fail<message::atomic_as_value>(name, quoted(word));
      if (find_collective(word) != nullptr) {
        return fail<message::collective_as_value>(name, quoted(word));
      }
      ids_.emplace_back(word);
      return push_frame({Frame::Call, name.begin, name});
    }
    const Binding found = binding(word);
    if (found.local.exists()) {
      push(interner_->local(found.local), name);
      return true;
    }
    if (found.table != nullptr) {
      push(interner_->table(*found.table), name);
      return true;
    }
    if (accept(Tok::LBracket)) {
      const BufferId buffer = resolve_buffer(name);
      return push_frame({Frame::Index, name.begin, name, nullptr, {}, buffer});
    }
    if (word == "num_workgroups" && at(Tok::Dot)) {
      return parse_id(Operation::NumWorkgroups, name);
    }
    if (!found.buffer.exists()) {
      complain_unknown(name, false);
    } else if (program_->buffers[found.buffer.index].element == DataType::Bytes) {
      complain<message::bytes_value>(name, word);
    } else {
      complain<message::buffer_as_value>(name, word);
    }
    push_wrong(name);
    return true;
  }

  // What a reserved word starts, after it.
  bool parse_reserved(const Token& name) {
    const Span span = name.span;
    const std::string_view word = lexer_.text(span);
    if (is_one_of(name.word, {Word::True, Word::False})) {
      push(interner_->literal(DataType::Bool, {{name.word == Word::True, 0, 0, 0}}), span);
      return true;
    }
    if (name.word == Word::IdInvocation) return parse_id(Operation::InvocationId, span);
    if (name.word == Word::IdWorkgroup) return parse_id(Operation::WorkgroupId, span);
    if (name.word == Word::IdLocal) return parse_id(Operation::LocalId, span);
    if (name.word == Word::Len) return parse_length(span);
    if (name.word == Word::Select) {
      return expect<message::select_bracket>(Tok::LParen) &&
             push_frame({Frame::Function, span.begin, span, &info(Operation::Select)});
    }
    if (name.word == Word::Type) {
      return expect<message::cast_bracket>(Tok::LParen) &&
             push_frame({Frame::Type, span.begin, span, nullptr, *find_type(word)});
    }
    if (is_one_of(name.word, {Word::Nan, Word::Inf})) {
      return fail<message::planned_literal>(span, word);
    }
    if (is_planned_type(name.word)) return fail<message::planned_type>(span, word);
    return name.word == Word::Atomic ? fail<message::atomic_as_value>(span, quoted(word))
                                     : fail<message::reserved_as_value>(span, quoted(word));
  }

  bool parse_length(Span len) {
    if (!expect<message::len_bracket>(Tok::LParen)) return false;
    if (!at(Tok::Name)) return fail_here<message::len_buffer>();
    const Span name = token_.span;
    const Binding found = binding(lexer_.text(name));
    advance();
    if (!expect<message::len_end>(Tok::RParen)) return false;
    const Span span{len.begin, previous_.span.end};
    if (found.local.exists() || found.table != nullptr) {
      push(found.local.exists() ? interner_->local(found.local) : interner_->table(*found.table),
           name);
      const Value array = values_.back();
      values_.pop_back();
      push(interner_->make(Operation::Count, 0, 0, {&array.id, 1}), span);
      return true;
    }
    const BufferId buffer = resolve_buffer(name);
    push(buffer.exists() ? interner_->length(buffer) : interner_->local({}), span);
    return true;
  }

  // The axis of an id.
  bool parse_id(Operation op, Span name) {
    if (!expect<message::id_dot>(Tok::Dot)) return false;
    if (!at(Tok::Name)) return fail_here<message::id_axis>();
    const Span span{name.begin, token_.span.end};
    const std::string_view axis = spelling();
    const std::size_t number = letter_number("xyz", axis);
    advance();
    if (number == axis.npos) {
      complain<message::unknown_axis>(span, lexer_.text(name), shorten(axis));
      push_wrong(span);
    } else {
      push(interner_->make(op, static_cast<std::uint8_t>(number), 0, {}), span);
    }
    return true;
  }

  static std::size_t letter_number(std::string_view letters, std::string_view letter) {
    return letter.size() == 1 ? letters.find(letter[0]) : letters.npos;
  }

  bool parse_lanes() {
    for (std::size_t lanes = 0; at(Tok::Dot); ++lanes) {
      // No value has lanes of lanes, so this is a mistake; an expression for each would take much
      // more memory than the text.
      if (lanes >= kMaxNesting) return stop_nesting(token_.span);
      const Token number = previous_;
      advance();
      const std::size_t lane = at(Tok::Name) ? letter_number("xyzw", spelling()) : spelling().npos;
      if (lane == std::string_view::npos) {
        if (number.kind == Tok::Number) {
          return fail<message::planned_literal>({number.span.begin, number.span.end + 1},
                                                lexer_.text(number.span));
        }
        if (!at(Tok::Name) || lexer_.probe().next_but_comments().kind != Tok::LParen) {
          return fail_missing<message::lane_name>();
        }
        const std::string_view advice = advice_for(spelling());
        return fail_here<message::method_call>(
            advice.empty() ? "write `" + shorten(spelling(), 40) + "(…)`" : std::string(advice));
      }
      const Value value = values_.back();
      values_.pop_back();
      push(interner_->make(Operation::Lane, static_cast<std::uint8_t>(lane), 0, {&value.id, 1}),
           {value.span.begin, token_.span.end});
      advance();
    }
    return true;
  }

  bool parse_number(bool negative, std::uint32_t begin) {
    TypedBits literal;
    if (!read_literal(negative, begin, literal)) return false;
    push(interner_->literal(literal.type, literal.bits), {begin, token_.span.end});
    advance();
    return true;
  }

  // Completes the innermost bracket at its closing token.
  bool close_bracket() {
    const OpenExpr open = frames_.back();
    frames_.pop_back();
    const Span span{open.begin, token_.span.end};
    advance();
    switch (open.kind) {
      case Frame::Prefix:
      case Frame::Infix: break;
      case Frame::Element: {
        const Value index = values_.back();
        values_.pop_back();
        const Value array = values_.back();
        values_.pop_back();
        push(interner_->element(array.id, index.id), span);
        break;
      }
      case Frame::Paren: values_.back().span = span; break;
      case Frame::Index: {
        const Value index = values_.back();
        values_.pop_back();
        if (open.buffer.exists()) {
          push(interner_->load(open.buffer, index.id), span);
        } else {
          positions_.uses.resize(open.uses);
          push_wrong(span);
        }
        break;
      }
      case Frame::Array:
      case Frame::Function:
      case Frame::Type:
      case Frame::Call: finish_call(open, span); break;
    }
    return true;
  }

  void finish_call(const OpenExpr& open, Span span) {
    args_.clear();
    for (std::size_t i = open.operands; i < values_.size(); ++i) args_.push_back(values_[i].id);
    values_.resize(open.operands);
    const std::size_t count = args_.size();
    ExprId id;
    std::string expected;
    if (open.kind == Frame::Function) {
      const std::size_t arity = static_cast<std::size_t>(open.op->arity);
      if (count == arity) id = interner_->make(open.op->op, 0, 0, args_);
      expected = plural(arity, "argument");
    } else if (open.kind == Frame::Array) {
      id = interner_->array(args_);
    } else if (open.kind == Frame::Type) {
      if (count == 1) {
        id = interner_->make(Operation::Cast, static_cast<std::uint8_t>(open.type), 0, args_);
      } else if (count == 2 && open.type == DataType::Vec2U32) {
        id = interner_->make(Operation::Vec2, 0, 0, args_);
      } else if (count == 4 && open.type == DataType::Vec4U32) {
        id = interner_->make(Operation::Vec4, 0, 0, args_);
      }
      expected =
          is_vector(open.type) ? "1 or " + plural(info(open.type).lanes, "argument") : "1 argument";
    } else {
      id = interner_->call(ids_.back(), args_);
      ids_.pop_back();
    }
    if (id.exists()) {
      push(id, span);
      return;
    }
    complain<message::argument_count>(open.name, lexer_.text(open.name), expected,
                                      plural(count, "argument"));
    positions_.uses.resize(open.uses);
    push_wrong(span);
  }

  // Applies the operators on top of the stack that bind at least as tightly as `precedence`.
  void reduce(int precedence) {
    while (!frames_.empty()) {
      const OpenExpr& open = frames_.back();
      if (open.kind != Frame::Prefix && open.kind != Frame::Infix) return;
      if (open.op->precedence < precedence) return;
      const Value right = values_.back();
      values_.pop_back();
      if (open.kind == Frame::Prefix) {
        const ExprId id = interner_->make(open.op->op, 0, 0, {&right.id, 1});
        push(id, {open.begin, right.span.end});
      } else {
        const Value left = values_.back();
        values_.pop_back();
        const ExprId args[] = {left.id, right.id};
        push(interner_->make(open.op->op, 0, 0, args), {left.span.begin, right.span.end});
      }
      frames_.pop_back();
    }
  }

  bool stop_nesting(Span span) {
    stopped_ = true;
    return fail<message::nesting>(span);
  }

  bool push_frame(OpenExpr open) {
    if (frames_.size() >= kMaxNesting) return stop_nesting({open.begin, open.begin + 1});
    open.operands = static_cast<std::uint32_t>(values_.size());
    open.uses = static_cast<std::uint32_t>(positions_.uses.size());
    frames_.push_back(open);
    return true;
  }

  void push(ExprId id, Span span) {
    values_.push_back({id, span});
    positions_.uses.push_back(span);
    if (positions_.uses.size() > kMaxExprs) stop<message::too_many_expressions>(span, item_name_);
  }
  void push_wrong(Span span) { push(interner_->local({}), span); }

  // For a suggestion: not all where there are very many.
  std::vector<std::string_view> visible_locals() const {
    constexpr std::size_t kLookedAt = 16 * kMaxCandidates;
    std::vector<std::string_view> names;
    const std::size_t end = std::min(bindings_.size(), kLookedAt);
    for (std::uint32_t i = 0; i < end && names.size() < kMaxCandidates; ++i) {
      if (bindings_[i].local.exists()) names.push_back(names_.name(i));
    }
    return names;
  }

  std::vector<OpenExpr> frames_;
  std::vector<Value> values_;
  std::vector<std::string> ids_;  // of the open calls
  std::vector<ExprId> args_;
};

}  // namespace vyre
