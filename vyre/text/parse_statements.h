// Statements and the blocks they open.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "vyre/ir/typing.h"
#include "vyre/text/parse_expressions.h"

namespace vyre {

class StatementParser : protected ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

 protected:
  // Round: a loop whose variable the parser made; Around: the block around it.
  enum class Branch : std::uint8_t { Body, Then, Else, ElseIf, Loop, Round, Around, Block };
  struct Open {
    Branch branch;
    std::uint32_t owner;  // the compound statement
    std::uint32_t brace;  // offset of the opening brace
    std::uint32_t scope;  // size of scope_ outside
  };

  void parse_body() {
    in_body_ = true;
    while (!open_.empty() && !stopped_) {
      failed_ = false;
      if (at(Tok::End) || at_item()) {
        report_unclosed();
        positions_.end = previous_.span.begin;
        while (!open_.empty()) close_block();
      } else if (at(Tok::RBrace)) {
        suspect_unclosed();
        positions_.end = token_.span.begin;
        advance();
        close_block();
      } else {
        const std::uint32_t begin = token_.span.begin;
        // What follows a character that starts no token was reported with it.
        const bool parsed = !token_.after_error && parse_statement();
        if (!parsed && token_.span.begin == begin) advance();
        if (!parsed || failed_) recover_from(begin);
      }
    }
    in_body_ = false;
  }

  // Recovers from an error in what begins there. It may have declared the names in it.
  void recover_from(std::uint32_t begin) {
    recover();
    Lexer skipped = lexer_.probe();
    skipped.seek(begin);
    for (Token each = skipped.next_but_comments(); each.span.begin < token_.span.begin;
         each = skipped.next_but_comments()) {
      if (each.kind == Tok::Name) binding(lexer_.text(each.span)).reported = true;
    }
  }

  bool parse_new_name(std::string_view& name, Span& span, std::string_view what) {
    if (!at(Tok::Name)) return fail_here<message::new_name>(what);
    name = spelling();
    span = token_.span;
    if (name.size() > kMaxNameBytes) return false;
    advance();
    return true;
  }

  bool parse_type(DataType& type) {
    if (is_planned_type(token_.word)) {
      return fail<message::planned_type>(token_.span, spelling());
    }
    if (const auto known = at(Tok::Name) ? find_type(spelling()) : std::nullopt) {
      type = *known;
      advance();
      return true;
    }
    const std::string_view advice = foreign_here(token_.span.begin).advice;
    if (!advice.empty()) return fail_here<message::foreign_type>(advice);
    std::vector<std::string_view> types;
    for (const TypeInfo& row : all_types()) types.push_back(row.text);
    const std::string_view near = nearest(at(Tok::Name) ? spelling() : "", types);
    return near.empty() ? fail_here<message::unknown_type>()
                        : fail_here<message::misspelt_type>(near);
  }

  // Of a parameter, a result or a local: an array has its count in brackets.
  bool parse_variable_type(DataType& type) {
    const Span span = token_.span;
    if (!parse_type(type)) return false;
    if (!accept(Tok::LBracket)) return true;
    std::uint32_t count = 0;
    if (!parse_count(count, "a number of elements")) return false;
    if (!expect<message::buffer_end>(Tok::RBracket)) return false;
    if (at(Tok::LBracket)) return fail<message::nested_array>({span.begin, token_.span.end});
    if (count == 0 || count > kMaxTableCount) {
      complain<message::array_length>({span.begin, previous_.span.end}, count);
      count = 1;
    }
    type = array_type(type, count);
    return true;
  }

  bool parse_count(std::uint32_t& value, std::string_view what) {
    if (!at_constant() || (token_.prefix != nullptr && token_.infix != nullptr)) {
      return fail_missing<message::plain_number>(what);
    }
    const Span span = token_.span;
    TypedBits number;
    if (!parse_constant(number, DataType::U32)) return false;
    value = number.bits.lanes[0];
    if (number.type == DataType::Unknown) value = 1;  // it was reported
    if (is_one_of(number.type, {DataType::U32, DataType::Unknown})) return true;
    return fail<message::suffixed_number>(span, quoted(lexer_.text(span)), what);
  }

  LocalId declare(std::string_view name, DataType type) {
    const LocalId local = add_local(std::string(name), type);
    const std::uint32_t number = number_of(name);
    Binding& known = bindings_[number];
    scope_.push_back({number, known.local});
    known.local = local;
    known.was_local = true;
    return local;
  }

  void open_block(Branch branch, std::uint32_t owner, std::uint32_t brace) {
    open_.push_back({branch, owner, brace, static_cast<std::uint32_t>(scope_.size())});
  }

  struct Hidden {
    std::uint32_t name;
    LocalId before;
  };
  std::vector<Hidden> scope_;
  std::vector<Open> open_;
  std::uint32_t rounds_ = 0;         // how many loops with hidden locals are open
  DataType output_ = DataType::U32;  // of the op at hand
  // The brace of a block that is probably not closed, and where the indentation says so.
  struct Suspect {
    std::uint32_t brace;
    std::uint32_t misfit;
  };
  std::optional<Suspect> suspect_;
  bool item_typed_ = true;  // its parameters and result are known

 private:
  // How far the line of a place is indented; nothing where that is too far away to look.
  std::optional<std::size_t> indentation(std::uint32_t at) const {
    constexpr std::size_t kLookedAt = 200;  // a line may be very long
    const std::string_view before =
        std::string_view(source_.text)
            .substr(at > kLookedAt ? at - kLookedAt : 0, std::min<std::size_t>(at, kLookedAt));
    const std::size_t newline = before.rfind('\n');
    if (newline == before.npos && at > kLookedAt) return std::nullopt;
    const std::string_view line = before.substr(newline == before.npos ? 0 : newline + 1);
    return std::min(line.find_first_not_of(" \t"), line.size());
  }

  // A brace that starts its line and is indented less than the line that opens its block closes
  // another one: people forget a brace more often than they misplace one.
  void suspect_unclosed() {
    if (suspect_ || !token_.newline_before) return;
    const std::uint32_t brace = open_.back().brace;
    const std::optional<std::size_t> opened = indentation(brace);
    const std::optional<std::size_t> closed = indentation(token_.span.begin);
    if (!opened || !closed || *closed >= *opened) return;
    suspect_ = {brace, token_.span.begin};
    const std::string_view text = source_.text;
    for (std::size_t line = text.find('\n', brace); line < token_.span.begin;
         line = text.find('\n', line + 1)) {
      const std::size_t first = text.find_first_not_of(" \t\r", line + 1);
      if (text[first] == '\n' || text.substr(first).starts_with("//")) continue;
      if (first - line - 1 > *opened) continue;
      suspect_->misfit = static_cast<std::uint32_t>(first);
      return;
    }
  }

  // At the end of the file or of the item.
  void report_unclosed() {
    const std::uint32_t brace = open_.back().brace;
    const std::string what =
        brace == open_[0].brace ? "`" + shorten(item_name_) + "`" : "this block";
    if (suspect_) {
      const Span opening{suspect_->brace, suspect_->brace + 1};
      parsed_.findings.add(diagnose<message::missing_brace>("in line {line}"),
                           {suspect_->misfit, suspect_->misfit + 1}, opening);
      note_failure();
    } else if (at(Tok::End)) {
      fail<message::unclosed>({brace, brace + 1}, what, "}");
    } else {
      fail<message::unclosed_item>({brace, brace + 1}, what, spelling());
    }
  }

  // Ends the innermost block at the current statement and its names with it.
  void close_block() {
    const Open block = open_.back();
    open_.pop_back();
    while (scope_.size() > block.scope) {
      bindings_[scope_.back().name].local = scope_.back().before;
      scope_.pop_back();
    }
    const StmtId end{body_->stmts.size()};
    switch (block.branch) {
      case Branch::Body: break;
      case Branch::Loop: std::get<For>(body_->stmts[block.owner]).end = end; break;
      case Branch::Round:
        std::get<For>(body_->stmts[block.owner]).end = end;
        --rounds_;
        if (open_.back().branch == Branch::Around) close_block();
        break;
      case Branch::Around:
      case Branch::Block: std::get<Block>(body_->stmts[block.owner]).end = end; break;
      case Branch::Then: {
        If& branch = std::get<If>(body_->stmts[block.owner]);
        branch.else_begin = branch.end = end;
        if (!at_word(Word::Else)) {
          end_if(block.owner);
          break;
        }
        advance();
        const std::uint32_t brace = token_.span.begin;
        if (at_word(Word::If)) {
          open_block(Branch::ElseIf, block.owner, brace);
          if (!parse_if()) {
            recover();
            open_.pop_back();
            end_if(block.owner);
          }
        } else if (accept(Tok::LBrace) || fail_missing<message::else_block>()) {
          open_block(Branch::Else, block.owner, brace);
        } else {
          end_if(block.owner);
          recover();
        }
        break;
      }
      case Branch::Else:
      case Branch::ElseIf: end_if(block.owner); break;
    }
  }

  // Ends an `if`, and with it the chain of `else if` that it is the last link of.
  void end_if(std::uint32_t owner) {
    const StmtId end{body_->stmts.size()};
    std::get<If>(body_->stmts[owner]).end = end;
    while (!open_.empty() && open_.back().branch == Branch::ElseIf) {
      std::get<If>(body_->stmts[open_.back().owner]).end = end;
      open_.pop_back();
    }
  }

  bool parse_statement() {
    begin_statement();
    if (at(Tok::LBrace)) {
      const std::uint32_t brace = token_.span.begin;
      advance();
      open_block(Branch::Block, add_statement(Block{}), brace);
      return true;
    }
    if (at(Tok::Name)) {
      const Word word = token_.word;
      if (word == Word::Let) return parse_let();
      if (word == Word::If) return parse_if();
      if (word == Word::For) return parse_for();
      if (word == Word::Return) return parse_return();
      if (find_atomic(spelling()) != nullptr && (word == Word::Atomic || at_call())) {
        return parse_atomic({});
      }
      if (word == Word::None) return parse_name_statement();
      if (accept_word(Word::Break)) return add_statement(Break{}), true;
      if (accept_word(Word::Barrier)) {
        add_statement(Barrier{});
        return !at(Tok::LParen) || fail_here<message::barrier_call>();
      }
      if (access_of(word)) {
        // After a broken declaration it is in its place.
        if (!item_sound_ && body_->stmts.empty()) return false;
        return program_ != nullptr ? fail_here<message::late_buffer>()
                                   : fail_here<message::buffer_of_op>();
      }
      if (word == Word::Law) return fail_here<message::late_law>();
      if (word == Word::Type) return fail_here<message::typed_declaration>();
      if (word == Word::Else) return item_sound_ && fail_here<message::else_alone>();
    }
    return fail_here<message::no_statement>();
  }

  // `let x = e`, `let x: T = e`, `let x: T`; e may be an atomic or a collective.
  bool parse_let() {
    advance();
    std::string_view name;
    if (!parse_new_name(name, statement_.local, "a name")) return false;
    std::optional<DataType> stated;
    if (accept(Tok::Colon) && !parse_variable_type(stated.emplace())) {
      declare(name, DataType::Unknown);
      return false;
    }
    if (stated && !at(Tok::Assign)) {
      const ExprId zero = push_zero(*stated);
      add_statement(Let{declare(name, *stated), zero});
      return true;
    }
    if (!accept(Tok::Assign)) {
      fail_missing<message::local_value>();
      declare(name, DataType::Unknown);
      return false;
    }
    const DataType wanted = stated.value_or(DataType::U32);
    const LocalId result{body_->locals.size()};
    if (const std::optional<bool> parsed = parse_result(result, wanted)) {
      declare(name, parsed_type_);
      if (*parsed && stated) check_stated(name, *stated);
      return *parsed;
    }
    ExprId value;
    const bool parsed = parse_expr(value, wanted);
    // The name is known only after its value, and also when the value is wrong.
    const LocalId local = declare(name, parsed ? parsed_type_ : DataType::Unknown);
    if (!parsed) return false;
    if (stated) check_stated(name, *stated);
    add_statement(Let{local, value});
    return true;
  }

  void check_stated(std::string_view name, DataType stated) {
    if (const auto error = variable_error("`" + shorten(name) + "`", stated)) {
      parsed_.findings.add(*error, statement_.local);
      return;
    }
    if (parsed_type_ == stated || parsed_type_ == DataType::Unknown) return;
    complain<message::stated_type>(statement_.local, shorten(name), stated, parsed_type_);
  }

  // An atomic or a collective whose result is this local, which is not declared yet; nothing where
  // something else follows.
  std::optional<bool> parse_result(LocalId result, DataType wanted) {
    if (!at_call()) return {};
    const CollectiveInfo* collective = find_collective(spelling());
    if (collective == nullptr && find_atomic(spelling()) == nullptr) return {};
    const bool parsed = collective != nullptr ? parse_collective(*collective, result, wanted)
                                              : parse_atomic(result);
    return parsed && token_.infix != nullptr ? fail_here<message::computed_atomic>() : parsed;
  }

  // What a local begins as that has a type and no value.
  ExprId push_zero(DataType type) {
    const ExprId zero = interner_->zero(type);
    for_each_use(*body_, zero, [&](ExprId) { positions_.uses.push_back(previous_.span); });
    return zero;
  }

  bool parse_collective(const CollectiveInfo& row, LocalId result, DataType wanted) {
    const Span name = token_.span;
    advance();
    advance();
    Collective collective;
    collective.op = row.op;
    collective.result = result;
    if (!parse_expr(collective.value, wanted)) return false;
    const DataType type = parsed_type_;
    std::size_t count = 1;
    for (; accept(Tok::Comma); ++count) {
      if (!parse_expr(collective.invocation)) return false;
    }
    if (!expect<message::collective_end>(Tok::RParen)) return false;
    parsed_type_ = type;
    const std::size_t arguments = row.chooses() ? 2 : 1;
    if (count == arguments) {
      add_statement(collective);
      return true;
    }
    complain<message::argument_count>(name, row.text, plural(arguments, "argument"),
                                      plural(count, "argument"));
    positions_.uses.resize(statement_.first_use);
    add_statement(Let{result, wrong_value(name).id});
    return true;
  }

  bool parse_return() {
    advance();
    // In a program `return` takes no value, so what follows is a value only where it cannot be the
    // next statement.
    const bool value_like =
        at(Tok::Number) || at(Tok::LParen) || at(Tok::LBracket) || token_.prefix != nullptr ||
        (at(Tok::Name) && (is_one_of(token_.word, {Word::None, Word::Type, Word::Select, Word::Len,
                                                   Word::True, Word::False, Word::IdInvocation,
                                                   Word::IdWorkgroup, Word::IdLocal}) ||
                           before_dot()));
    const bool wanted = program_ == nullptr ? value_like : value_like && !token_.newline_before;
    ExprId value;
    if (wanted && !parse_expr(value, output_)) return false;
    add_statement(Return{value});
    return true;
  }

  bool parse_if() {
    begin_statement();
    advance();
    ExprId condition;
    if (!parse_expr(condition)) return false;
    const std::uint32_t brace = token_.span.begin;
    if (at(Tok::Assign)) return fail_missing<message::assigning_condition>();
    if (!expect<message::if_block>(Tok::LBrace)) return false;
    open_block(Branch::Then, add_statement(If{condition, {}, {}}), brace);
    return true;
  }

  // `for k in a..b`, `for k in a..b step s`, `for k in reversed a..b`.
  bool parse_for() {
    advance();
    std::string_view name;
    For loop;
    if (at(Tok::LParen)) return fail_here<message::c_style_for>();
    if (!parse_new_name(name, statement_.local, "a loop variable")) return false;
    if (!accept_word(Word::In)) return fail_here<message::for_in>();
    const bool is_reversed = at_reversed();
    if (is_reversed) advance();
    if (!parse_expr(loop.from)) return false;
    const DataType from_type = parsed_type_;
    const auto second_use = static_cast<std::uint32_t>(positions_.uses.size());
    if (!expect<message::for_range>(Tok::DotDot) || !parse_expr(loop.to)) return false;
    const DataType to_type = parsed_type_;
    std::uint32_t step = 1;
    if (at(Tok::Name) && spelling() == "step") {
      if (is_reversed) return fail_here<message::reversed_step>();
      advance();
      const bool is_negative = at(Tok::Operator) && spelling() == "-";
      if (is_negative) return fail_here<message::negative_step>();
      const Span span = token_.span;
      if (!parse_count(step, "a step")) return false;
      if (step == 0) complain<message::wrong_step>(span, step);
    }
    const std::uint32_t brace = token_.span.begin;
    if (!expect<message::for_block>(Tok::LBrace)) return false;
    if (step > 1 || is_reversed) {
      check_bound("lower", from_type, statement_.first_use, loop.from);
      check_bound("upper", to_type, second_use, loop.to);
      open_rounds(loop, step, second_use, brace, name);
      return true;
    }
    // The variable belongs to the body's scope.
    loop.variable = LocalId{body_->locals.size()};
    open_block(Branch::Loop, add_statement(loop), brace);
    declare(name, DataType::U32);
    return true;
  }

  // Before the parser computes with a bound, which has uses from `first_use` on.
  void check_bound(std::string_view which, DataType type, std::uint32_t first_use, ExprId& bound) {
    if (type == DataType::U32 || type == DataType::Unknown) return;
    complain<message::loop_bound>(positions_.uses[first_use], which, type);
    bound = interner_->local({});
  }

  // Whether `reversed` is the word and not a name.
  bool at_reversed() {
    if (!at(Tok::Name) || spelling() != "reversed" || is_bound("reversed") ||
        constants_.find("reversed") != nullptr) {
      return false;
    }
    const Tok next = lexer_.probe().next_but_comments().kind;
    return next != Tok::DotDot && next != Tok::Dot;
  }

  // The name of a local that the parser makes, with the number of such loops around it.
  std::string hidden(std::string_view name) const {
    return "__" + std::string(name) + std::to_string(rounds_);
  }
  LocalId add_hidden_let(std::string_view name, const Value& value) {
    const LocalId local = add_local(hidden(name), DataType::U32);
    statement_.first_use = value.first_use;
    add_statement(Let{local, value.id});
    return local;
  }

  // Loops over a range in steps or backwards count rounds: see docs/text-format.md. The uses of
  // both bounds are there, those of the second one from `second_use` on.
  void open_rounds(const For& range, std::uint32_t step, std::uint32_t second_use,
                   std::uint32_t brace, std::string_view name) {
    const Span head = statement_.head;
    const Span variable = statement_.local;
    const Value begin{range.from, head, DataType::U32, statement_.first_use, 0};
    Value end{range.to, head, DataType::U32, second_use, 0};
    open_block(Branch::Around, add_statement(Block{}), brace);
    const LocalId from = add_hidden_let("from", begin);
    if (step > 1) end = apply(Operation::SubSat, end, local_value(from, head), head);
    const LocalId to = add_hidden_let(step > 1 ? "span" : "to", end);

    statement_.first_use = static_cast<std::uint32_t>(positions_.uses.size());
    For rounds;
    if (step > 1) {
      // As many as the span has whole steps, and one more for the rest of it.
      rounds.from = number_value(0, head).id;
      Value whole = local_value(to, head);
      whole = apply(Operation::Div, whole, number_value(step, head), head);
      Value rest = local_value(to, head);
      rest = apply(Operation::Mod, rest, number_value(step, head), head);
      rest = apply(Operation::Ne, rest, number_value(0, head), head);
      rounds.to = apply(Operation::Add, whole, rest, head).id;
    } else {
      rounds.from = local_value(from, head).id;
      rounds.to = local_value(to, head).id;
    }
    rounds.variable = add_local(hidden("round"), DataType::U32);
    open_block(Branch::Round, add_statement(rounds), brace);
    ++rounds_;

    Value index;
    if (step > 1) {
      index = local_value(from, head);
      Value far = local_value(rounds.variable, head);
      far = apply(Operation::Mul, far, number_value(step, head), head);
      index = apply(Operation::Add, index, far, head);
    } else {
      index = apply(Operation::Sub, local_value(to, head), number_value(1, head), head);
      Value far = local_value(rounds.variable, head);
      far = apply(Operation::Sub, far, local_value(from, head), head);
      index = apply(Operation::Sub, index, far, head);
    }
    statement_.first_use = index.first_use;
    statement_.local = variable;
    const LocalId local = declare(name, DataType::U32);
    locals_[local.index].is_fixed = true;
    add_statement(Let{local, index.id});
  }

  // `while c { … }`: a loop over all numbers that it leaves where c does not hold.
  bool parse_while() {
    const Span head = statement_.head;
    advance();
    For loop;
    loop.from = number_value(0, head).id;
    loop.to = number_value(~0u, head).id;
    statement_.local = head;  // of the variable that has no name here
    const ItemPositions::Statement whole = statement_;
    const auto condition_use = static_cast<std::uint32_t>(positions_.uses.size());
    Value condition;
    if (!parse_value(condition)) return false;
    settle(condition);
    drop_dead_uses(condition.first_use);
    const std::uint32_t brace = token_.span.begin;
    if (at(Tok::Assign)) return fail_missing<message::assigning_condition>();
    if (!expect<message::while_block>(Tok::LBrace)) return false;
    if (condition.type != DataType::Unknown && !contains(type_sets::Truth, condition.type)) {
      parsed_.findings.add(condition_error(condition.type), condition.span);
      condition.id = interner_->local({});
    }
    condition = apply(Operation::LogicalNot, condition, condition.span);

    statement_ = whole;
    loop.variable = add_local(hidden("round"), DataType::U32);
    open_block(Branch::Round, add_statement(loop), brace);
    ++rounds_;
    statement_.first_use = condition_use;
    const std::uint32_t owner = add_statement(If{condition.id, {}, {}});
    statement_.first_use = static_cast<std::uint32_t>(positions_.uses.size());
    add_statement(Break{});
    If& leave = std::get<If>(body_->stmts[owner]);
    leave.else_begin = leave.end = StmtId{body_->stmts.size()};
    return true;
  }

  // The index and the closing bracket of an element.
  bool parse_element(Span buffer, ExprId& index) {
    statement_.buffer = buffer;
    if (!parse_expr(index) || !expect<message::index_end>(Tok::RBracket)) return false;
    statement_.element_end = previous_.span.end;
    return true;
  }

  // `x = e`, `buf[i] = e`, `w[i] = e`, the same with `+=` and the like; `continue`, `while`.
  bool parse_name_statement() {
    const Token first = token_;
    const Span name = token_.span;
    const std::string_view word = spelling();
    const Tok next = lexer_.probe().next_but_comments().kind;
    const bool is_target =
        next == Tok::Assign || next == Tok::Update || (next == Tok::LBracket && is_bound(word));
    if (word == "while" && !is_target) return parse_while();
    advance();
    if (at(Tok::Assign) || at(Tok::Update)) return parse_assign(name);
    if (word == "continue" && !is_target) return add_statement(Continue{}), true;
    if (accept(Tok::LBracket)) {
      return binding(word).local.exists() ? parse_set_element(name) : parse_store(name);
    }
    return fail_unknown_statement(first);
  }

  bool parse_assign(Span name) {
    const std::string_view word = lexer_.text(name);
    const Binding target = binding(word);
    const OperationInfo* const update = token_.update;
    advance();
    statement_.local = name;
    if (update == nullptr && at_call()) {
      if (find_collective(spelling()) != nullptr || find_atomic(spelling()) != nullptr) {
        return parse_assigned_result(name, target.local);
      }
    }
    Assign assign{target.local, {}};
    Value old;
    if (update != nullptr) old = local_value(target.local, name);
    if (!parse_new_value(update, old, type_of(target.local), assign.value)) return false;
    check_assigned(name);
    add_statement(assign);
    return true;
  }

  // Whether the name is that of a local that may be assigned.
  void check_assigned(Span name) {
    const std::string_view word = lexer_.text(name);
    const Binding target = binding(word);
    if (!target.local.exists()) {
      target.buffer.exists() ? complain<message::assigned_buffer>(name, word)
                             : complain_unknown(name, true);
    } else if (locals_[target.local.index].is_fixed) {
      complain<message::assigned_loop_variable>(name, word);
    }
  }

  // `x = atomic_add(…)`: binds the result to a local of its own first.
  bool parse_assigned_result(Span name, LocalId local) {
    const ItemPositions::Statement whole = statement_;
    const std::uint32_t block = add_statement(Block{});
    const LocalId result = LocalId{body_->locals.size()};
    const bool parsed = *parse_result(result, type_of(local));
    add_local(std::string(kResultName), parsed ? parsed_type_ : DataType::Unknown);
    check_assigned(name);
    statement_ = whole;
    const Value value = local_value(result, name);
    statement_.first_use = value.first_use;
    if (parsed) add_statement(Assign{local, value.id});
    std::get<Block>(body_->stmts[block]).end = StmtId{body_->stmts.size()};
    return parsed;
  }

  // What is assigned or stored, after `=` or `+=` and the like, where `old` is updated.
  bool parse_new_value(const OperationInfo* update, Value old, DataType type, ExprId& result) {
    if (update == nullptr) return parse_expr(result, type);
    Value value;
    if (!parse_value(value)) return false;
    const Value updated = apply(update->op, old, value, {old.span.begin, previous_.span.end});
    drop_dead_uses(old.first_use);
    result = updated.id;
    return true;
  }

  // `buf[i] = e`, after the bracket.
  bool parse_store(Span name) {
    Store store;
    store.buffer = resolve_buffer(name);
    const auto first = static_cast<std::uint32_t>(positions_.uses.size());
    if (!parse_element(name, store.index)) return false;
    const DataType type = store.buffer.exists()
                              ? loaded_type(program_->buffers[store.buffer.index].element)
                              : DataType::Unknown;
    const OperationInfo* const update = token_.update;
    if (!accept(Tok::Assign) && !accept(Tok::Update)) return fail_stored();
    Value old;
    if (update != nullptr) {
      const Span element{name.begin, statement_.element_end};
      const Value index = index_again(store.index, first);
      old = store.buffer.exists()
                ? made_of({&index, 1}, interner_->load(store.buffer, index.id), element, type)
                : wrong_value(element);
    }
    if (!parse_new_value(update, old, type, store.value)) return false;
    add_statement(store);
    return true;
  }

  // After an element that is to be changed.
  bool fail_stored() {
    if (at(Tok::Dot)) return fail_here<message::stored_lane>();
    if (at(Tok::LBracket)) return fail<message::nested_array>(token_.span);
    return fail_missing<message::stored_value>();
  }

  // `w[i] = e` of an array, after the bracket.
  bool parse_set_element(Span name) {
    SetElement set;
    set.local = binding(lexer_.text(name)).local;
    statement_.local = name;
    const auto first = static_cast<std::uint32_t>(positions_.uses.size());
    if (!parse_element(name, set.index)) return false;
    const DataType type = element_type(type_of(set.local));
    const OperationInfo* const update = token_.update;
    if (!accept(Tok::Assign) && !accept(Tok::Update)) return fail_stored();
    Value old;
    if (update != nullptr) {
      std::array<Value, 2> parts;
      const auto uses = static_cast<std::uint32_t>(positions_.uses.size());
      parts[0] = local_value(set.local, name);
      parts[1] = index_again(set.index, first, uses);
      const ExprId id = interner_->element(parts[0].id, parts[1].id);
      old = made_of(parts, id, {name.begin, statement_.element_end}, type);
    }
    if (!parse_new_value(update, old, type, set.value)) return false;
    check_assigned(name);
    add_statement(set);
    return true;
  }

  // The value of an index that has uses from `first` on, up to `last`, used once more.
  Value index_again(ExprId index, std::uint32_t first, std::optional<std::uint32_t> last = {}) {
    const auto end = last.value_or(static_cast<std::uint32_t>(positions_.uses.size()));
    const Value value{index,
                      {},
                      DataType::U32,
                      static_cast<std::uint32_t>(positions_.uses.size()),
                      static_cast<std::uint32_t>(body_->exprs.size())};
    for (std::uint32_t use = first; use < end; ++use) add_use(Span(positions_.uses[use]));
    return value;
  }

  // A statement that starts with a name but is not an assignment: most likely something from
  // another language.
  bool fail_unknown_statement(Token name) {
    const std::string_view word = lexer_.text(name.span);
    const std::string_view advice = foreign_here(name.span.begin).advice;
    if (!advice.empty() && !is_bound(word)) {
      return fail<message::foreign_statement>(name.span, quoted(word), advice);
    }
    if (token_.infix != nullptr) return fail_here<message::compound_assignment>();
    if (at(Tok::Dot) && binding(word).local.exists()) return fail_here<message::assigned_lane>();
    if (at(Tok::LParen) || at(Tok::Dot)) {
      return word == "binding" || word == "location" ? fail_here<message::binding_attribute>()
                                                     : fail_here<message::call_statement>();
    }
    const std::string_view near = nearest(word, {"let", "if", "for", "while", "break", "continue",
                                                 "return", "barrier", "else", "switch"});
    if (near == "else") return fail<message::else_alone>(name.span, quoted(word));
    if (const std::string_view other = advice_for(near); !other.empty()) {
      return fail<message::foreign_statement>(name.span, quoted(word), other);
    }
    if (!near.empty()) return fail<message::misspelt_statement>(name.span, quoted(word), near);
    if (at(Tok::Name) && !token_.newline_before) {
      return fail<message::typed_declaration>(name.span, quoted(word));
    }
    return fail_missing<message::name_statement>();
  }

  bool parse_atomic(LocalId result) {
    const Span name = token_.span;
    const AtomicInfo& row = *find_atomic(spelling());
    advance();
    if (!expect<message::atomic_bracket>(Tok::LParen)) return false;
    if (!at(Tok::Name)) return fail_here<message::atomic_buffer>();
    const Span buffer = token_.span;
    advance();
    Atomic atomic;
    atomic.op = row.op;
    atomic.result = result;
    if (!expect<message::atomic_index>(Tok::LBracket) || !parse_element(buffer, atomic.index)) {
      return false;
    }
    const BufferId known = program_ != nullptr ? binding(lexer_.text(buffer)).buffer : BufferId{};
    const DataType type =
        known.exists() ? program_->buffers[known.index].element : DataType::Unknown;
    std::array<ExprId, 2> values;
    int count = 0;
    while (accept(Tok::Comma)) {
      if (!parse_expr(values[static_cast<std::size_t>(std::min(count, 1))], type)) return false;
      ++count;
    }
    parsed_type_ = type;
    if (!expect<message::atomic_end>(Tok::RParen)) return false;
    if (program_ == nullptr) {
      complain<message::effect_in_op>(name, item_name_, "an atomic");
    } else if (count != row.operands) {
      complain<message::argument_count>(
          name, row.text, plural(static_cast<std::size_t>(row.operands) + 1, "argument"),
          plural(static_cast<std::size_t>(count) + 1, "argument"));
    } else {
      atomic.buffer = resolve_buffer(buffer);
      if (count > 0) atomic.value = values[static_cast<std::size_t>(count - 1)];
      if (count == 2) atomic.expected = values[0];
      if (result.exists() && row.op == AtomicOp::Store) {
        complain<message::store_result>(name);
      }
      add_statement(atomic);
      return true;
    }
    // Reported; what stays is its result, as a local of unknown type, or an empty block.
    positions_.uses.resize(statement_.first_use);
    if (!result.exists()) {
      add_statement(Block{StmtId{body_->stmts.size() + 1}});
    } else {
      add_statement(Let{result, wrong_value(name).id});
    }
    return true;
  }

  void begin_statement() {
    const auto uses = static_cast<std::uint32_t>(positions_.uses.size());
    statement_ = {token_.span, uses, {}, {}, 0};
  }

  // Adds the statement that begin_statement() began.
  std::uint32_t add_statement(Stmt stmt) {
    const std::uint32_t id = static_cast<std::uint32_t>(body_->stmts.size());
    body_->stmts.push_back(stmt);
    positions_.statements.push_back(statement_);
    if (body_->stmts.size() > kMaxStmts) {
      const std::uint32_t head = statement_.head.begin;
      stop<message::too_many_statements>({head, head + 1}, item_name_);
    }
    return id;
  }

  ItemPositions::Statement statement_{};  // the one being parsed
};

}  // namespace vyre
