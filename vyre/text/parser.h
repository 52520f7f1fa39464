// The parser's state and its parts: items in parse.cc, statements in parse_statements.cc,
// expressions in parse_expressions.cc.
//
// One pass over the tokens, without recursion: open blocks and open brackets are explicit stacks,
// so no input can overflow the call stack. Expressions are interned in the order in which they are
// parsed, which is the canonical numbering.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/names.h"
#include "vyre/ir/intern.h"
#include "vyre/text/lexer.h"
#include "vyre/text/parse.h"

namespace vyre {

class Parser {
 public:
  Parser(const Source& source, Parsed& parsed)
      : source_(source), parsed_(parsed), lexer_(source.text, parsed.findings) {}

  void parse_file();

 private:
  // --- Tokens ---
  void advance();
  bool at(Tok kind) const { return token_.kind == kind; }
  bool at_word(Word word) const { return token_.kind == Tok::Name && token_.word == word; }
  bool before_dot() const;
  bool accept(Tok kind);
  bool accept_word(Word word);
  bool expect(Tok kind, std::string_view what, std::string_view fix);
  std::string_view spelling() const { return lexer_.text(token_.span); }
  std::string found() const;

  // --- Errors ---
  // A syntax error: the first one in a statement is reported, the item is not validated.
  template <class Message, class... Arguments>
  bool fail(Span span, const Arguments&... arguments) {
    if (!failed_) parsed_.findings.report<Message>(span, arguments...);
    note_failure();
    return false;
  }
  bool fail_expected(std::string_view what, std::string_view fix) {
    return fail<message::expected>(token_.span, what, found(), fix);
  }
  // Something is missing before the current token; on the line before, when that one has ended.
  bool fail_missing(std::string_view what, std::string_view fix) {
    if (!token_.newline_before && !at(Tok::End)) return fail_expected(what, fix);
    const std::uint32_t end = previous_.span.end;
    const std::string_view where = at(Tok::End) ? "the end of the file" : "the end of the line";
    return fail<message::expected>({end, end}, what, where, fix);
  }
  // An error that leaves the syntax intact. What follows a syntax error may be its consequence.
  template <class Message, class... Arguments>
  void complain(Span span, const Arguments&... arguments) {
    if (item_sound_) parsed_.findings.report<Message>(span, arguments...);
  }
  void note_failure();
  void stop() {
    note_failure();
    stopped_ = true;
  }
  void recover();
  void skip_to_item();
  bool at_item() const;

  // --- Items ---
  void parse_program();
  bool parse_program_header(Program& program);
  bool at_buffer();
  bool parse_buffer(Program& program, std::vector<bool>& written);
  void parse_op();
  bool parse_op_header(Op& op);
  bool parse_law(Op& op);
  bool parse_law_argument(Law& law);
  bool parse_op_id(std::string& id, Span& span);
  bool parse_string(std::string& text);
  bool parse_type(DataType& type);
  bool parse_count(std::uint32_t& value, std::string_view what);
  bool parse_new_name(std::string_view& name, Span& span, std::string_view what);
  void begin_item(Body& body);
  void finish_item(Item item);

  // --- Statements ---
  enum class Branch : std::uint8_t { Body, Then, Else, ElseIf, Loop, Block };
  struct Open {
    Branch branch;
    std::uint32_t owner;  // the compound statement
    std::uint32_t brace;  // offset of the opening brace
    std::uint32_t scope;  // size of scope_ outside
  };
  void suspect_unclosed();
  void parse_body();
  bool parse_statement();
  bool parse_let();
  bool parse_return();
  bool parse_if();
  bool parse_for();
  bool parse_name_statement();
  bool fail_unknown_statement(Token name);
  bool parse_atomic(LocalId result);
  bool parse_element(Span buffer, ExprId& index);
  void open_block(Branch branch, std::uint32_t owner, std::uint32_t brace);
  void close_block();
  void end_if(std::uint32_t owner);
  void begin_statement() {
    const auto uses = static_cast<std::uint32_t>(positions_.uses.size());
    statement_ = {token_.span, uses, {}, {}, 0};
  }
  std::uint32_t add_statement(Stmt stmt);
  LocalId declare(std::string_view name);

  // --- Expressions ---
  enum class Frame : std::uint8_t { Prefix, Infix, Paren, Index, Function, Select, Type, Call };
  struct OpenExpr {
    Frame kind;
    const OperationInfo* op = nullptr;  // Prefix, Infix, Function
    DataType type = DataType::Unknown;  // Type
    BufferId buffer;                    // Index
    std::uint32_t begin = 0;
    std::uint32_t operands = 0;  // size of values_ outside
    std::uint32_t uses = 0;      // size of the uses outside
    Span name;                   // what is called
  };
  struct Value {
    ExprId id;
    Span span;
  };
  bool parse_expr(ExprId& result);
  bool parse_operand(bool& complete);
  bool parse_name_operand(bool& complete);
  std::string joined(Span id) const;
  bool at_statement() const;
  bool parse_lanes();
  bool parse_number(bool negative, std::uint32_t begin);
  bool read_literal(bool negative, std::uint32_t begin, TypedBits& literal, bool count = false);
  bool close_bracket();
  void finish_call(const OpenExpr& open, Span span);
  void reduce(int precedence);
  bool push_frame(OpenExpr open);
  void push(ExprId id, Span span);
  void push_wrong(Span span) { push(interner_->local(LocalId{}), span); }
  ExprId wrong_value(Span span);
  BufferId resolve_buffer(Span name);
  void complain_unknown(Span span, bool assigned);

  std::vector<std::string_view> visible_locals() const;

  const Source& source_;
  Parsed& parsed_;
  Lexer lexer_;
  Token token_;
  Token previous_;
  bool failed_ = false;     // in the current statement
  bool item_sound_ = true;  // no syntax error in this item so far
  bool item_typed_ = true;  // none in its declarations, and every block is closed
  bool stopped_ = false;    // a limit was passed; nothing more is read
  std::size_t errors_ = 0;

  // The item being parsed.
  Body* body_ = nullptr;
  const Program* program_ = nullptr;  // null in an op
  std::string_view item_name_;
  std::optional<Interner> interner_;
  ItemPositions positions_;
  ItemPositions::Statement statement_{};  // the one being parsed
  NameTable names_;
  struct Binding {
    LocalId local;
    BufferId buffer;
    bool was_local = false;  // declared by now, in this scope or another one
    bool reported = false;   // as unknown: once is enough
  };
  std::vector<Binding> bindings_;  // by number of the name
  struct Hidden {
    std::uint32_t name;
    LocalId before;
  };
  std::vector<Hidden> scope_;
  std::vector<Open> open_;
  std::optional<std::uint32_t> suspect_;  // the brace of a block that is probably not closed
  std::vector<OpenExpr> frames_;
  std::vector<Value> values_;
  std::vector<ExprId> args_;

  Binding& binding(std::string_view name) {
    const std::uint32_t number = names_.number(name);
    if (number >= bindings_.size()) bindings_.resize(number + 1);
    return bindings_[number];
  }
};

}  // namespace vyre
