// Expressions, by operator precedence with an explicit stack; also literals and the names in them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vyre/base/names.h"
#include "vyre/text/parse_values.h"

namespace vyre {

class ExpressionParser : protected ValueParser {
 public:
  ExpressionParser(const Source& source, Parsed& parsed, const FindSignature& find)
      : ValueParser(source, parsed), find_signature_(find) {}

 protected:
  struct Binding {
    LocalId local;
    BufferId buffer;
    bool was_local = false;  // declared by now, in this scope or another one
    bool reported = false;   // as unknown: once is enough
  };

  // One expression, up to the token that cannot continue it. Numbers in it that have no type take
  // `wanted`, or U32 where that is none of numbers.
  bool parse_expr(ExprId& result, DataType wanted = DataType::U32) {
    Value value;
    if (!parse_value(value)) return false;
    settle(value, wanted);
    drop_dead_uses(value.first_use);
    result = value.id;
    parsed_type_ = value.type;
    return true;
  }

  // The same, which may stay bare.
  bool parse_value(Value& result) {
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
          result = values_.back();
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

  // An expression of constants where the grammar has a number, as it is evaluated.
  bool parse_constant(TypedBits& result, DataType wanted) {
    const ConstantScope scope(*this);
    has_excess_ = false;
    Value value;
    if (!parse_value(value)) return false;
    settle(value, wanted);
    drop_dead_uses(value.first_use);
    const std::optional<TypedBits> bits = folded(value);
    const bool is_wrong = !bits || has_excess_;
    result = is_wrong ? TypedBits{DataType::Unknown, {}} : *bits;
    return true;
  }
  // A word before `(`.
  bool at_call() const {
    return at(Tok::Name) && lexer_.probe().next_but_comments().kind == Tok::LParen;
  }
  // Whether the current token may start one.
  bool at_constant() const {
    return at(Tok::Number) || at(Tok::LParen) || token_.prefix != nullptr ||
           (at(Tok::Name) && is_one_of(token_.word, {Word::None, Word::Len, Word::Type,
                                                     Word::Select, Word::True, Word::False}));
  }

  // The number at hand, which it does not consume, and the type that its suffix says, or kBare.
  bool read_number(Wide& number, DataType& type) {
    const std::string_view whole = spelling();
    const unsigned base = whole.starts_with("0x") ? 16 : whole.starts_with("0b") ? 2 : 10;
    const Digits digits = read_digits(whole.substr(base == 10 ? 0 : 2), base);
    const std::string_view suffix = digits.suffix;
    const bool has_exponent =
        base == 10 ? suffix.starts_with('e') || suffix.starts_with('E') : suffix.starts_with('p');
    const bool is_float = (base != 2 && (has_exponent || whole.find('.') != whole.npos)) ||
                          suffix == "f32" || suffix == "f16" || suffix == "bf16";
    if (is_float) return fail<message::planned_literal>(token_.span, shorten(whole, 40));
    const std::string_view prefix = advice_for("0" + std::string(suffix.substr(0, 1)));
    if (!prefix.empty() && whole.starts_with('0')) {
      return fail<message::foreign_number>(token_.span, shorten(whole, 40), prefix);
    }
    if (!digits.well_formed) {
      return fail<message::bad_number>(token_.span, shorten(whole, 40));
    }
    number = digits.value;
    type = kBare;
    if (!suffix.empty()) {
      const std::string_view advice = advice_for("1" + std::string(suffix));
      if (!advice.empty()) {
        return fail<message::foreign_number>(token_.span, shorten(whole, 40), advice);
      }
      const std::optional<DataType> known = find_type(suffix);
      if (!known || !contains(type_sets::Scalar, *known)) {
        return fail<message::bad_suffix>(token_.span, shorten(whole, 40), shorten(suffix, 20));
      }
      type = *known;
    }
    if (digits.overflow) {
      complain_range(token_.span, whole, type == kBare ? DataType::U128 : type);
      number = 0;
    }
    return true;
  }

  BufferId resolve_buffer(Span span) {
    const std::string_view name = lexer_.text(span);
    const Binding found = binding(name);
    if (!is_bound(name) && complain_withheld(span)) return {};
    if (!found.buffer.exists() && constants_.find(name) != nullptr) {
      complain<message::assigned_constant>(span, shorten(name));
      return {};
    }
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

  // Whether a name that means nothing here is a constant of other files.
  bool complain_withheld(Span span) {
    const std::string_view name = lexer_.text(span);
    if (!item_sound_ || parsed_.findings.full()) return false;
    if (const std::vector<std::uint32_t> files = constants_.files_with(name); files.size() > 1) {
      complain<message::ambiguous_constant>(span, shorten(name), source_.file_at(files[0]).name,
                                            source_.file_at(files[1]).name);
      return true;
    }
    for (const std::uint32_t file : constants_.later_files()) {
      if (!defines(file, name)) continue;
      complain<message::circular_constant>(span, shorten(name), source_.file_at(file).name);
      return true;
    }
    if (constants_.find(name) == nullptr && defines(constants_.file(), name)) {
      complain<message::late_constant>(span, shorten(name));
      return true;
    }
    return false;
  }
  // Whether a file has a constant of this name, be it further down.
  bool defines(std::uint32_t file, std::string_view name) {
    const auto [names, fresh] = later_constants_.try_emplace(file);
    if (!fresh) return names->second.contains(name);
    Lexer lexer = lexer_.probe();
    lexer.enter(source_.text, source_.file_at(file).text);
    bool after_const = false;
    for (Token token = lexer.next_but_comments(); token.kind != Tok::End;
         token = lexer.next_but_comments()) {
      const std::string_view word = lexer.text(token.span);
      if (after_const && token.kind == Tok::Name) names->second.insert(word);
      after_const = word == "const";
    }
    return names->second.contains(name);
  }

  // A name that is not a local here. Reported once per name.
  void complain_unknown(Span span, bool assigned) {
    const std::string_view word = lexer_.text(span);
    Binding& known = binding(word);
    if (known.reported || parsed_.findings.full()) return;
    known.reported = true;
    if (complain_withheld(span)) return;
    if (assigned && constants_.find(word) != nullptr) {
      return complain<message::assigned_constant>(span, shorten(word));
    }
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

  const OpSignature* signature_of(const std::string& id) const {
    return find_signature_ ? find_signature_(id) : nullptr;
  }

  const Program* program_ = nullptr;          // null in an op
  DataType parsed_type_ = DataType::Unknown;  // of the last expression
  NameTable names_;
  std::vector<Binding> bindings_;  // by number of the name

 private:
  std::map<std::uint32_t, std::set<std::string_view>> later_constants_;  // by file

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
        return push_call(std::move(chain.text), chain.span);
      }
      const std::string_view word = lexer_.text(name.span);
      if (name.word == Word::None && chain.text.size() > word.size() + 2 &&
          chain.after.kind != Tok::DotDot && !is_bound(word)) {
        complain<message::op_as_value>(chain.span, shorten(chain.text));
        while (token_.span.end != chain.span.end) advance();
        advance();
        push(wrong_value(chain.span));
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
      return push_call(std::string(word), name);
    }
    const Binding found = in_constant() ? Binding{} : binding(word);
    if (found.local.exists()) {
      push(local_value(found.local, name));
      return true;
    }
    if (!found.buffer.exists()) {
      if (const Constant* constant = constants_.find(word)) {
        Value value;
        if (!constant_value(*constant, name, value)) return false;
        push(value);
        return true;
      }
    }
    if (in_constant()) return wrong_constant(name);
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
    push(wrong_value(name));
    return true;
  }

  bool push_call(std::string id, Span name) {
    if (in_constant()) {
      complain<message::not_constant>(name, id);
      // What is in the brackets is read all the same.
    }
    if (!push_frame({Frame::Call, name.begin, name})) return false;
    ids_.push_back(std::move(id));
    return true;
  }

  // Something that is no constant, in an expression of constants.
  bool wrong_constant(Span span) {
    if (!complain_withheld(span)) complain<message::not_constant>(span, shorten(lexer_.text(span)));
    push(wrong_value(span));
    return true;
  }

  // What a reserved word starts, after it.
  bool parse_reserved(const Token& name) {
    const Span span = name.span;
    const std::string_view word = lexer_.text(span);
    if (is_one_of(name.word, {Word::True, Word::False})) {
      const Bits truth{{name.word == Word::True, 0, 0, 0}};
      push(value(interner_->literal(DataType::Bool, truth), span, DataType::Bool));
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
    const std::string_view word = lexer_.text(name);
    const Binding found = in_constant() ? Binding{} : binding(word);
    advance();
    if (!expect<message::len_end>(Tok::RParen)) return false;
    const Span span{len.begin, previous_.span.end};
    const Constant* constant = found.buffer.exists() ? nullptr : constants_.find(word);
    if (found.local.exists() || constant != nullptr) {
      Value array;
      if (found.local.exists()) {
        array = local_value(found.local, name);
      } else if (!constant_value(*constant, name, array)) {
        return false;
      }
      settle(array);
      const ExprId id = interner_->make(Operation::Count, 0, 0, {&array.id, 1});
      push(made_of(std::span(&array, 1), id, span, DataType::U32));
      return true;
    }
    if (in_constant()) return wrong_constant(name);
    const BufferId buffer = resolve_buffer(name);
    push(buffer.exists() ? value(interner_->length(buffer), span, DataType::U32)
                         : wrong_value(span));
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
      push(wrong_value(span));
    } else if (in_constant()) {
      return wrong_constant(span);
    } else {
      push(value(interner_->make(op, static_cast<std::uint8_t>(number), 0, {}), span,
                 DataType::U32));
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
      Value vector = popped();
      settle(vector);
      const ExprId id =
          interner_->make(Operation::Lane, static_cast<std::uint8_t>(lane), 0, {&vector.id, 1});
      push(made_of(std::span(&vector, 1), id, {vector.span.begin, token_.span.end}, DataType::U32));
      advance();
    }
    return true;
  }

  // `negative`: after a minus sign, which begins there and belongs to the number.
  bool parse_number(bool negative, std::uint32_t begin) {
    Wide number;
    DataType type;
    if (!read_number(number, type)) return false;
    const Span span{begin, token_.span.end};
    if (type == kBare) {
      push(bare_value(number, span));
    } else {
      if (!has_number(type, number, negative)) {
        complain_range(span, (negative ? "-" : "") + std::string(spelling()), type);
      }
      const Bits bits = bits_of(negative ? Wide{0} - number : number, type);
      push(value(interner_->literal(type, bits), span, type));
    }
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
        std::array<Value, 2> parts;
        parts[1] = popped();
        parts[0] = popped();
        if (in_constant() && parts[0].type != DataType::Unknown) {
          complain<message::not_constant>(span, shorten(lexer_.text(span)));
        }
        for (Value& part : parts) settle(part);
        push(made_of(parts, interner_->element(parts[0].id, parts[1].id), span,
                     element_type(parts[0].type)));
        break;
      }
      case Frame::Paren: values_.back().span = span; break;
      case Frame::Index: {
        Value index = popped();
        settle(index);
        if (open.buffer.exists()) {
          const DataType type = loaded_type(program_->buffers[open.buffer.index].element);
          push(made_of(std::span(&index, 1), interner_->load(open.buffer, index.id), span, type));
        } else {
          positions_.uses.resize(open.uses);
          push(wrong_value(span));
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
    const std::span<Value> args = std::span(values_).subspan(open.operands);
    const std::size_t count = args.size();
    std::optional<Value> made;
    std::string expected;
    if (open.kind == Frame::Function) {
      const std::size_t arity = static_cast<std::size_t>(open.op->arity);
      if (count == arity) made = apply(*open.op, args, span);
      expected = plural(arity, "argument");
    } else if (open.kind == Frame::Array) {
      made = array_of(args, span);
    } else if (open.kind == Frame::Type) {
      const bool is_vector_of_lanes = is_vector(open.type) && count == lane_count(open.type);
      const Operation op = !is_vector_of_lanes ? Operation::Cast
                           : count == 2        ? Operation::Vec2
                                               : Operation::Vec4;
      if (count == 1 || is_vector_of_lanes) {
        const auto detail = is_vector_of_lanes ? 0 : static_cast<std::uint8_t>(open.type);
        const std::span<const ExprId> ids = settled(args, {});
        made = made_of(args, interner_->make(op, static_cast<std::uint8_t>(detail), 0, ids), span,
                       open.type);
      }
      expected =
          is_vector(open.type) ? "1 or " + plural(info(open.type).lanes, "argument") : "1 argument";
    } else {
      const std::string id = std::move(ids_.back());
      ids_.pop_back();
      const OpSignature* signature = signature_of(id);
      const std::span<const ExprId> ids =
          settled(args, signature != nullptr ? signature->inputs : std::span<const DataType>{});
      made = made_of(args, in_constant() ? interner_->local({}) : interner_->call(id, ids), span,
                     signature != nullptr ? signature->output : DataType::Unknown);
    }
    values_.resize(open.operands);
    if (made) {
      push(*made);
      return;
    }
    complain<message::argument_count>(open.name, lexer_.text(open.name), expected,
                                      plural(count, "argument"));
    positions_.uses.resize(open.uses);
    push(wrong_value(span));
  }

  // Of values that take these types; U32 is wanted where there is none.
  std::span<const ExprId> settled(std::span<Value> values, std::span<const DataType> wanted) {
    args_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      settle(values[i], i < wanted.size() ? wanted[i] : DataType::U32);
      args_.push_back(values[i].id);
    }
    return args_;
  }

  // Applies the operators on top of the stack that bind at least as tightly as `precedence`.
  void reduce(int precedence) {
    while (!frames_.empty()) {
      const OpenExpr& open = frames_.back();
      if (open.kind != Frame::Prefix && open.kind != Frame::Infix) return;
      if (open.op->precedence < precedence) return;
      const Value right = popped();
      if (open.kind == Frame::Prefix) {
        push(apply(open.op->op, right, {open.begin, right.span.end}));
      } else {
        const Value left = popped();
        push(apply(open.op->op, left, right, {left.span.begin, right.span.end}));
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

  void push(const Value& value) { values_.push_back(value); }
  Value popped() {
    const Value value = values_.back();
    values_.pop_back();
    return value;
  }

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

  const FindSignature& find_signature_;
  std::vector<OpenExpr> frames_;
  std::vector<Value> values_;
  std::vector<std::string> ids_;  // of the open calls
  std::vector<ExprId> args_;
};

}  // namespace vyre
