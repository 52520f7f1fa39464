// One pass over the tokens, without recursion: open blocks and open brackets are explicit stacks, so
// no input can overflow the call stack. Expressions are interned in the order in which they are
// parsed, which is the canonical numbering.
#include "vyre/text/parse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "vyre/base/names.h"
#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/text/lexer.h"

namespace vyre {
namespace {

constexpr std::size_t kMaxNesting = 8192;
constexpr std::size_t kMaxSyntaxErrors = 100;
constexpr int kComparisonPrecedence = 3;

__extension__ using Wide = unsigned __int128;

std::string count_of(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

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
  bool parse_buffer(Program& program, std::vector<bool>& written);
  void number_bindings(Program& program, const std::vector<bool>& written);
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
  void parse_body();
  bool parse_statement();
  bool parse_let();
  bool parse_return();
  bool parse_if();
  bool parse_for();
  bool parse_name_statement();
  bool parse_atomic(LocalId result);
  void open_block(Branch branch, std::uint32_t owner, std::uint32_t brace);
  void close_block();
  void end_if(std::uint32_t owner);
  void begin_statement() {
    statement_ = {token_.span.begin, static_cast<std::uint32_t>(positions_.uses.size())};
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
  bool parse_lanes();
  bool parse_number(bool negative, std::uint32_t begin);
  bool read_literal(bool negative, TypedBits& literal);
  bool close_bracket();
  void finish_call(const OpenExpr& open, Span span);
  void reduce(int precedence);
  bool push_frame(OpenExpr open);
  void push(ExprId id, Span span);
  void push_wrong(Span span) { push(interner_->local(LocalId{}), span); }
  ExprId wrong_value(Span span);
  BufferId resolve_buffer(Span name);

  std::vector<std::string_view> visible_locals() const;

  const Source& source_;
  Parsed& parsed_;
  Lexer lexer_;
  Token token_;
  Token previous_;
  bool failed_ = false;      // in the current statement
  bool item_sound_ = true;   // no syntax error in this item so far
  bool stopped_ = false;     // a limit was passed; nothing more is read
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
  };
  std::vector<Binding> bindings_;  // by number of the name
  struct Hidden {
    std::uint32_t name;
    LocalId before;
  };
  std::vector<Hidden> scope_;
  std::vector<Open> open_;
  std::vector<OpenExpr> frames_;
  std::vector<Value> values_;
  std::vector<ExprId> args_;

  Binding& binding(std::string_view name) {
    const std::uint32_t number = names_.number(name);
    if (number >= bindings_.size()) bindings_.resize(number + 1);
    return bindings_[number];
  }
};

// --- Tokens --------------------------------------------------------------------------------------

void Parser::advance() {
  previous_ = token_;
  const std::size_t before = parsed_.findings.size();
  do {
    token_ = lexer_.next();
  } while (token_.kind == Tok::Comment);
  if (parsed_.findings.size() != before) note_failure();
}

void Parser::note_failure() {
  failed_ = true;
  item_sound_ = false;
  parsed_.syntax_ok = false;
  if (++errors_ >= kMaxSyntaxErrors) stopped_ = true;
}

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

bool Parser::accept_word(Word word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

bool Parser::expect(Tok kind, std::string_view what, std::string_view fix) {
  return accept(kind) || fail_expected(what, fix);
}

std::string Parser::found() const {
  if (at(Tok::End)) return "the end of the file";
  return "`" + shorten(spelling(), 40) + "`";
}

// Skips to where a statement may start again: a closing brace of the block, or a first token on a
// line outside of all brackets that were opened on the way.
void Parser::recover() {
  int depth = 0;
  while (!at(Tok::End) && !stopped_) {
    switch (token_.kind) {
      case Tok::LParen:
      case Tok::LBracket:
      case Tok::LBrace: ++depth; break;
      case Tok::RBrace:
        if (depth <= 0) return;
        [[fallthrough]];
      case Tok::RParen:
      case Tok::RBracket: depth = std::max(0, depth - 1); break;
      case Tok::Name:
        if (token_.newline_before && depth <= 0) return;
        if (at_item()) return;
        break;
      case Tok::End:
      case Tok::Number:
      case Tok::String:
      case Tok::Comment:
      case Tok::Comma:
      case Tok::Colon:
      case Tok::At:
      case Tok::Dot:
      case Tok::DotDot:
      case Tok::Arrow:
      case Tok::Assign:
      case Tok::Operator: break;
    }
    advance();
  }
}

// --- Items ---------------------------------------------------------------------------------------

void Parser::parse_file() {
  if (source_.text.size() > kMaxSourceBytes) {
    fail<message::source_too_large>({0, 0});
    return;
  }
  const std::size_t invalid = first_invalid_utf8(source_.text);
  if (invalid < source_.text.size()) {
    constexpr std::string_view hex = "0123456789abcdef";
    const unsigned char byte = static_cast<unsigned char>(source_.text[invalid]);
    const std::uint32_t place = static_cast<std::uint32_t>(invalid);
    fail<message::invalid_utf8>({place, place + 1}, std::string{hex[byte >> 4], hex[byte & 15]});
    return;
  }
  if (source_.text.starts_with("\xef\xbb\xbf")) lexer_.seek(3);
  advance();
  while (!at(Tok::End) && !stopped_) {
    failed_ = false;
    if (at_word(Word::Program)) {
      parse_program();
    } else if (at_word(Word::Op)) {
      parse_op();
    } else {
      fail_expected("`program` or `op`", "start with `program name workgroup(64) { … }`");
      skip_to_item();
    }
  }
}

void Parser::skip_to_item() {
  while (!at(Tok::End) && !stopped_ && !at_item()) advance();
}

// A broken item ends where another one starts; only the first word of a line is taken as that.
bool Parser::at_item() const {
  return token_.newline_before && (at_word(Word::Program) || at_word(Word::Op));
}

void Parser::begin_item(Body& body) {
  item_sound_ = true;
  body_ = &body;
  interner_.emplace(body);
  positions_ = {};
  positions_.heads.push_back(token_.span.begin);
  names_ = {};
  bindings_.clear();
  scope_.clear();
  open_.clear();
}

void Parser::finish_item(Item item) {
  parsed_.module.items.push_back(std::move(item));
  parsed_.positions.push_back(std::move(positions_));
  parsed_.sound.push_back(item_sound_);
}

void Parser::parse_program() {
  Program program;
  begin_item(program.body);
  program_ = &program;
  if (!parse_program_header(program)) return skip_to_item();
  item_name_ = program.name;
  std::vector<bool> written;
  while (!stopped_ && (at_word(Word::Read) || at_word(Word::ReadWrite) || at_word(Word::Uniform) ||
                       at_word(Word::Workgroup))) {
    failed_ = false;
    if (!parse_buffer(program, written)) recover();
  }
  number_bindings(program, written);
  parse_body();
  finish_item(std::move(program));
}

bool Parser::parse_program_header(Program& program) {
  advance();
  std::string_view name;
  if (!parse_new_name(name, positions_.name, "a name for the program")) return false;
  program.name = name;
  if (!accept_word(Word::Workgroup)) {
    return fail_expected("`workgroup`", "say how many invocations a workgroup has: `workgroup(64)`");
  }
  positions_.workgroup_size.begin = token_.span.begin;
  if (!expect(Tok::LParen, "`(`", "write `workgroup(64)` or `workgroup(8, 8, 1)`")) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis > 0 && !accept(Tok::Comma)) break;
    if (!parse_count(program.workgroup_size[axis], "a number of invocations")) return false;
  }
  positions_.workgroup_size.end = token_.span.end;
  if (!expect(Tok::RParen, "`)`", "a workgroup has at most three axes: `workgroup(8, 8, 1)`")) {
    return false;
  }
  const std::uint32_t brace = token_.span.begin;
  if (!expect(Tok::LBrace, "`{`", "open the program's body")) return false;
  open_block(Branch::Body, 0, brace);
  return true;
}

bool Parser::parse_buffer(Program& program, std::vector<bool>& written) {
  positions_.heads.push_back(token_.span.begin);
  BufferDecl buffer;
  switch (token_.word) {
    case Word::ReadWrite: buffer.access = BufferAccess::ReadWrite; break;
    case Word::Uniform: buffer.access = BufferAccess::Uniform; break;
    case Word::Workgroup: buffer.access = BufferAccess::Workgroup; break;
    default: buffer.access = BufferAccess::ReadOnly; break;
  }
  advance();
  std::string_view name;
  Span span;
  if (!parse_new_name(name, span, "a name for the buffer")) return false;
  buffer.name = name;
  // Known from here on, also when its type turns out to be wrong.
  binding(name).buffer = BufferId{program.buffers.size()};
  if (program.buffers.size() > kMaxBuffers) {
    parsed_.findings.report<message::too_many_buffers>(span, program.name);
    stop();
    return false;
  }
  program.buffers.push_back(buffer);
  positions_.buffers.push_back(span);
  written.push_back(false);
  BufferDecl& declared_buffer = program.buffers.back();

  if (!expect(Tok::Colon, "`:`", "give the type of the elements, as in `read data: u32[]`") ||
      !parse_type(declared_buffer.element)) {
    return false;
  }
  const bool brackets_needed = declared_buffer.element != DataType::Bytes;
  if (at(Tok::LBracket) || brackets_needed) {
    if (!expect(Tok::LBracket, "`[`", "write `u32[]`, or `u32[64]` for at least 64 elements")) {
      return false;
    }
    if (!at(Tok::RBracket) && !parse_count(declared_buffer.count, "a number of elements")) {
      return false;
    }
    if (!expect(Tok::RBracket, "`]`", "close the bracket")) return false;
  }
  if (at(Tok::At) && declared_buffer.access == BufferAccess::Workgroup) {
    return fail_expected("no binding", "remove it: workgroup memory has no binding");
  }
  if (accept(Tok::At)) {
    written.back() = true;
    if (!parse_count(declared_buffer.binding, "a binding number")) return false;
  }
  return true;
}

// A binding left out takes the next number that is written nowhere.
void Parser::number_bindings(Program& program, const std::vector<bool>& written) {
  std::vector<std::uint32_t> taken;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) taken.push_back(program.buffers[i].binding);
  }
  std::ranges::sort(taken);
  std::uint32_t free = 0;
  auto next_taken = taken.begin();
  for (std::size_t i = 0; i < written.size(); ++i) {
    BufferDecl& buffer = program.buffers[i];
    if (written[i] || buffer.access == BufferAccess::Workgroup) continue;
    for (; next_taken != taken.end() && *next_taken <= free; ++next_taken) {
      if (*next_taken == free) ++free;
    }
    buffer.binding = free++;
  }
}

bool Parser::parse_new_name(std::string_view& name, Span& span, std::string_view what) {
  if (!at(Tok::Name)) {
    return fail_expected(what, "names are letters, digits and _, not starting with a digit");
  }
  name = spelling();
  span = token_.span;
  if (name.size() > kMaxNameBytes) return false;
  advance();
  return true;
}

bool Parser::parse_type(DataType& type) {
  if (at_word(Word::F32) || at_word(Word::F16) || at_word(Word::Bf16) || at_word(Word::Tensor)) {
    return fail<message::planned_type>(token_.span, spelling());
  }
  if (!at_word(Word::Type)) {
    std::vector<std::string_view> types;
    for (const TypeInfo& row : all_types()) types.push_back(row.text);
    const std::string_view near = at(Tok::Name) ? nearest(spelling(), types) : "";
    return fail_expected("a type", near.empty() ? "the types are u32 i32 u64 u128 vec2u32 vec4u32 bool bytes"
                                                : "did you mean `" + std::string(near) + "`?");
  }
  type = *find_type(spelling());
  advance();
  return true;
}

bool Parser::parse_count(std::uint32_t& value, std::string_view what) {
  if (!at(Tok::Number)) return fail_expected(what, "write a plain number, such as 64");
  TypedBits literal;
  if (!read_literal(false, literal)) return false;
  if (literal.type != DataType::U32) {
    return fail_expected(what, "write the number without a suffix");
  }
  value = literal.bits.lanes[0];
  advance();
  return true;
}

// --- Ops -----------------------------------------------------------------------------------------

void Parser::parse_op() {
  Op op;
  begin_item(op.body);
  program_ = nullptr;
  if (!parse_op_header(op)) return skip_to_item();
  item_name_ = op.id;
  if (at(Tok::String)) {
    positions_.heads.push_back(token_.span.begin);
    if (!parse_string(op.description)) recover();
  }
  while (!stopped_ && at_word(Word::Law)) {
    failed_ = false;
    if (!parse_law(op)) recover();
  }
  parse_body();
  finish_item(std::move(op));
}

bool Parser::parse_op_id(std::string& id, Span& span) {
  span = token_.span;
  id.clear();
  do {
    if (!at(Tok::Name)) return fail_expected("an op id", "ids look like `family.group.name`");
    if (id.size() + spelling().size() > kMaxNameBytes) {
      return fail<message::long_token>(span, id.size() + spelling().size());
    }
    if (!id.empty()) id += '.';
    id += spelling();
    span.end = token_.span.end;
    advance();
  } while (accept(Tok::Dot));
  return true;
}

bool Parser::parse_op_header(Op& op) {
  advance();
  if (!parse_op_id(op.id, positions_.name)) return false;
  if (!expect(Tok::LParen, "`(`", "list the parameters, as in `(a: u32, b: u32)`")) return false;
  while (!at(Tok::RParen)) {
    if (!op.signature.inputs.empty() &&
        !expect(Tok::Comma, "`,` or `)`", "separate parameters by commas")) {
      return false;
    }
    std::string_view name;
    Span span;
    if (!parse_new_name(name, span, "a parameter")) return false;
    positions_.parameters.push_back(span);
    op.signature.inputs.push_back(DataType::Unknown);
    declare(name);
    if (!expect(Tok::Colon, "`:`", "give the parameter's type, as in `a: u32`") ||
        !parse_type(op.signature.inputs.back())) {
      return false;
    }
  }
  advance();
  if (!expect(Tok::Arrow, "`->`", "give the type of the result, as in `-> u32`")) return false;
  positions_.output = token_.span;
  if (!parse_type(op.signature.output)) return false;
  const std::uint32_t brace = token_.span.begin;
  if (!expect(Tok::LBrace, "`{`", "open the op's body")) return false;
  open_block(Branch::Body, 0, brace);
  return true;
}

bool Parser::parse_string(std::string& text) {
  const std::uint32_t begin = token_.span.begin;
  std::string_view inside = spelling();
  inside = inside.substr(1, inside.size() - (inside.size() > 1 && inside.back() == '"' ? 2 : 1));
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      text += inside[i];
      continue;
    }
    const char escaped = ++i < inside.size() ? inside[i] : ' ';
    switch (escaped) {
      case '"': text += '"'; break;
      case '\\': text += '\\'; break;
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      default: {
        const std::uint32_t place = begin + static_cast<std::uint32_t>(i);
        return fail<message::unknown_escape>({place, place + 2}, shorten(inside.substr(i, 1)));
      }
    }
  }
  advance();
  return true;
}

bool Parser::parse_law(Op& op) {
  positions_.heads.push_back(token_.span.begin);
  advance();
  Law law;
  const Span span = token_.span;
  if (!at(Tok::Name)) return fail_expected("a law", "such as `law commutative`");
  const LawInfo* row = find_law(spelling());
  if (row == nullptr) {
    std::vector<std::string_view> laws;
    for (const LawInfo& known : all_laws()) laws.push_back(known.text);
    const std::string_view near = nearest(spelling(), laws);
    if (!near.empty()) {
      complain<message::misspelt_law>(span, spelling(), near);
    } else {
      std::string list;
      for (std::string_view known : laws) list += (list.empty() ? "" : " ") + std::string(known);
      complain<message::unknown_law>(span, shorten(spelling()), list);
    }
  } else {
    law.kind = row->kind;
  }
  advance();
  if (accept(Tok::LParen)) {
    do {
      if (!parse_law_argument(law)) return false;
    } while (accept(Tok::Comma));
    if (!expect(Tok::RParen, "`)`", "close the law's arguments")) return false;
  }
  if (row != nullptr) {
    op.laws.push_back(std::move(law));
    positions_.laws.push_back({span.begin, previous_.span.end});
  }
  return true;
}

bool Parser::parse_law_argument(Law& law) {
  TypedBits literal;
  const bool negative = token_.prefix != nullptr && token_.prefix->op == Operation::Negate;
  if (negative) advance();
  if (at(Tok::Number)) {
    if (!read_literal(negative, literal)) return false;
    advance();
  } else if (negative) {
    return fail_expected("a number", "only numbers can be negative here");
  } else if (at_word(Word::True) || at_word(Word::False)) {
    literal = {DataType::Bool, {{at_word(Word::True), 0, 0, 0}}};
    advance();
  } else if (at_word(Word::Type) && spelling() != "bytes") {
    // T(literal, …): one literal is cast, several are the lanes of a vector.
    const Span span = token_.span;
    DataType type;
    std::vector<TypedBits> lanes;
    if (!parse_type(type) || !expect(Tok::LParen, "`(`", "such as `vec2u32(0, 1)`")) return false;
    do {
      if (!at(Tok::Number)) return fail_expected("a number", "such as `vec2u32(0, 1)`");
      if (!read_literal(false, lanes.emplace_back())) return false;
      advance();
    } while (accept(Tok::Comma));
    if (!expect(Tok::RParen, "`)`", "close the constant")) return false;
    const bool all_u32 = std::ranges::all_of(
        lanes, [](const TypedBits& lane) { return lane.type == DataType::U32; });
    literal.type = type;
    if (lanes.size() == 1 && cast_exists(lanes[0].type, type)) {
      literal.bits = eval_cast(lanes[0].type, type, lanes[0].bits);
    } else if (lanes.size() == info(type).lanes && is_vector(type) && all_u32) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        literal.bits.lanes[i] = lanes[i].bits.lanes[0];
      }
    } else {
      complain<message::law_constant>({span.begin, previous_.span.end}, text(type));
    }
  } else {
    std::string id;
    Span span;
    if (!at(Tok::Name)) return fail_expected("a law's argument", "a number, an op id or a word");
    if (!parse_op_id(id, span)) return false;
    if (id == "non_decreasing") {
      law.arguments.emplace_back(Direction::NonDecreasing);
    } else if (id == "non_increasing") {
      law.arguments.emplace_back(Direction::NonIncreasing);
    } else {
      law.arguments.emplace_back(std::move(id));
    }
    return true;
  }
  law.arguments.emplace_back(literal);
  return true;
}

// --- Statements ----------------------------------------------------------------------------------

LocalId Parser::declare(std::string_view name) {
  const LocalId local{body_->locals.size()};
  body_->locals.push_back({std::string(name)});
  const std::uint32_t number = names_.number(name);
  if (number >= bindings_.size()) bindings_.resize(number + 1);
  scope_.push_back({number, bindings_[number].local});
  bindings_[number].local = local;
  return local;
}

// Adds the statement that begin_statement() began.
std::uint32_t Parser::add_statement(Stmt stmt) {
  const std::uint32_t id = static_cast<std::uint32_t>(body_->stmts.size());
  body_->stmts.push_back(stmt);
  positions_.statements.push_back(statement_);
  if (body_->stmts.size() > kMaxStmts && !stopped_) {
    parsed_.findings.report<message::too_many_statements>(
        {statement_.begin, statement_.begin + 1}, item_name_);
    stop();
  }
  return id;
}

void Parser::open_block(Branch branch, std::uint32_t owner, std::uint32_t brace) {
  open_.push_back({branch, owner, brace, static_cast<std::uint32_t>(scope_.size())});
}

// Ends the innermost block at the current statement and its names with it.
void Parser::close_block() {
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
          close_block();
        }
      } else if (expect(Tok::LBrace, "`{` or `if`", "open the else branch")) {
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
void Parser::end_if(std::uint32_t owner) {
  const StmtId end{body_->stmts.size()};
  std::get<If>(body_->stmts[owner]).end = end;
  while (!open_.empty() && open_.back().branch == Branch::ElseIf) {
    std::get<If>(body_->stmts[open_.back().owner]).end = end;
    open_.pop_back();
  }
}

void Parser::parse_body() {
  while (!open_.empty() && !stopped_) {
    failed_ = false;
    if (at(Tok::End) || at_item()) {
      const std::uint32_t brace = open_.back().brace;
      const std::string what = "`" + shorten(item_name_) + "`";
      if (at(Tok::End)) {
        fail<message::unclosed>({brace, brace + 1}, what, "}");
      } else {
        fail<message::unclosed_item>({brace, brace + 1}, what, spelling());
      }
      open_.clear();
    } else if (at(Tok::RBrace)) {
      positions_.end = token_.span.begin;
      advance();
      close_block();
    } else {
      const std::uint32_t begin = token_.span.begin;
      if (!parse_statement()) {
        frames_.clear();
        values_.clear();
        if (token_.span.begin == begin) advance();
        recover();
      }
    }
  }
}

bool Parser::parse_statement() {
  begin_statement();
  if (at(Tok::LBrace)) {
    const std::uint32_t brace = token_.span.begin;
    advance();
    open_block(Branch::Block, add_statement(Block{}), brace);
    return true;
  }
  if (at(Tok::Name)) {
    switch (token_.word) {
      case Word::Let: return parse_let();
      case Word::If: return parse_if();
      case Word::For: return parse_for();
      case Word::Return: return parse_return();
      case Word::Atomic: return parse_atomic({});
      case Word::None: return parse_name_statement();
      case Word::Break:
        advance();
        add_statement(Break{});
        return true;
      case Word::Barrier:
        advance();
        add_statement(Barrier{});
        return true;
      case Word::Read:
      case Word::ReadWrite:
      case Word::Uniform:
      case Word::Workgroup:
        return fail_expected("a statement",
                             program_ != nullptr
                                 ? "declare buffers at the top of the program, before statements"
                                 : "ops have no buffers; pass values as parameters");
      case Word::Law: return fail_expected("a statement", "declare laws before the first statement");
      case Word::Else: return fail_expected("a statement", "`else` belongs right behind an if's `}`");
      default: break;
    }
  }
  return fail_expected("a statement",
                       "statements start with let, if, for, break, return, barrier, an atomic, "
                       "`{` or the name that is assigned");
}

bool Parser::parse_let() {
  advance();
  std::string_view name;
  Span span;
  if (!parse_new_name(name, span, "a name")) return false;
  if (!expect(Tok::Assign, "`=`", "a local gets its value at once: `let x = 0`")) {
    declare(name);
    return false;
  }
  if (at_word(Word::Atomic)) {
    const bool parsed = parse_atomic(LocalId{body_->locals.size()});
    declare(name);
    return parsed;
  }
  ExprId value;
  const bool parsed = parse_expr(value);
  // The name is known only behind its value, and also when the value is wrong.
  const LocalId local = declare(name);
  if (!parsed) return false;
  add_statement(Let{local, value});
  return true;
}

bool Parser::parse_return() {
  advance();
  // In a program `return` takes no value, so what follows is a value only where it cannot be the
  // next statement.
  const bool value_like = at(Tok::Number) || at(Tok::LParen) || token_.prefix != nullptr ||
                          (at(Tok::Name) && (token_.word == Word::None || token_.word == Word::Type ||
                                             token_.word == Word::Select || token_.word == Word::Len ||
                                             token_.word == Word::True || token_.word == Word::False ||
                                             token_.word == Word::IdInvocation ||
                                             token_.word == Word::IdWorkgroup ||
                                             token_.word == Word::IdLocal));
  const bool wanted = program_ == nullptr ? value_like : value_like && !token_.newline_before;
  ExprId value;
  if (wanted && !parse_expr(value)) return false;
  add_statement(Return{value});
  return true;
}

bool Parser::parse_if() {
  begin_statement();
  advance();
  ExprId condition;
  if (!parse_expr(condition)) return false;
  const std::uint32_t brace = token_.span.begin;
  if (!expect(Tok::LBrace, "`{`", "open the branch; conditions need no parentheses")) return false;
  const std::uint32_t id = add_statement(If{condition, {}, {}});
  open_block(Branch::Then, id, brace);
  return true;
}

bool Parser::parse_for() {
  advance();
  std::string_view name;
  Span span;
  For loop;
  if (!parse_new_name(name, span, "a loop variable")) return false;
  if (!accept_word(Word::In)) return fail_expected("`in`", "write `for k in 0..n { … }`");
  if (!parse_expr(loop.from) ||
      !expect(Tok::DotDot, "`..`", "give a range, as in `for k in 0..n`; the end is exclusive") ||
      !parse_expr(loop.to)) {
    return false;
  }
  const std::uint32_t brace = token_.span.begin;
  if (!expect(Tok::LBrace, "`{`", "open the loop's body")) return false;
  // The variable belongs to the body's scope.
  loop.variable = LocalId{body_->locals.size()};
  const std::uint32_t id = add_statement(loop);
  open_block(Branch::Loop, id, brace);
  declare(name);
  return true;
}

// `x = e` or `buf[i] = e`.
bool Parser::parse_name_statement() {
  const Span name = token_.span;
  const std::string_view word = spelling();
  advance();
  if (accept(Tok::Assign)) {
    if (at_word(Word::Atomic)) {
      return fail_expected("an expression", "bind the atomic's result by `let` first");
    }
    Assign assign;
    if (!parse_expr(assign.value)) return false;
    const Binding target = binding(word);
    assign.local = target.local;
    if (!assign.local.exists()) {
      if (target.buffer.exists()) {
        complain<message::assigned_buffer>(name, word);
      } else if (const std::string_view near = nearest(word, visible_locals()); !near.empty()) {
        complain<message::assigned_misspelt>(name, word, near);
      } else {
        complain<message::assigned_unknown>(name, shorten(word));
      }
    }
    add_statement(assign);
    return true;
  }
  if (accept(Tok::LBracket)) {
    Store store;
    store.buffer = resolve_buffer(name);
    if (!parse_expr(store.index) || !expect(Tok::RBracket, "`]`", "close the index") ||
        !expect(Tok::Assign, "`=`", "store a value: `buffer[i] = value`") ||
        !parse_expr(store.value)) {
      return false;
    }
    add_statement(store);
    return true;
  }
  if (at(Tok::LParen) || at(Tok::Dot)) {
    return fail_expected("`=` or `[`", "a call is a value: bind it, as in `let x = …(…)`");
  }
  return fail_expected("`=` or `[`", "assign a local (`x = 1`) or store to a buffer (`b[i] = 1`)");
}

bool Parser::parse_atomic(LocalId result) {
  const Span name = token_.span;
  const AtomicInfo& row = *find_atomic(spelling());
  advance();
  if (!expect(Tok::LParen, "`(`", "write `atomic_add(buffer[i], value)`")) return false;
  if (!at(Tok::Name)) return fail_expected("a buffer", "write `atomic_add(buffer[i], value)`");
  const Span buffer = token_.span;
  advance();
  Atomic atomic;
  atomic.op = row.op;
  atomic.result = result;
  if (!expect(Tok::LBracket, "`[`", "name an element, as in `buffer[i]`") ||
      !parse_expr(atomic.index) || !expect(Tok::RBracket, "`]`", "close the index")) {
    return false;
  }
  std::array<ExprId, 2> values;
  int count = 0;
  while (accept(Tok::Comma)) {
    if (!parse_expr(values[static_cast<std::size_t>(std::min(count, 1))])) return false;
    ++count;
  }
  if (!expect(Tok::RParen, "`)`", "close the atomic")) return false;
  if (program_ == nullptr) {
    complain<message::effect_in_op>(name, item_name_, "an atomic");
  } else if (count != row.operands) {
    complain<message::argument_count>(
        name, row.text, count_of(static_cast<std::size_t>(row.operands) + 1, "argument"),
        count_of(static_cast<std::size_t>(count) + 1, "argument"));
  } else {
    atomic.buffer = resolve_buffer(buffer);
    atomic.value = values[static_cast<std::size_t>(count - 1)];
    if (count == 2) atomic.expected = values[0];
    add_statement(atomic);
    return true;
  }
  // Reported; what stays is its result, as a local of unknown type, or an empty block.
  positions_.uses.resize(statement_.first_use);
  if (!result.exists()) {
    add_statement(Block{StmtId{body_->stmts.size() + 1}});
  } else {
    add_statement(Let{result, wrong_value(name)});
  }
  return true;
}

// --- Expressions ---------------------------------------------------------------------------------

void Parser::push(ExprId id, Span span) {
  values_.push_back({id, span});
  positions_.uses.push_back(span);
  if (positions_.uses.size() > kMaxExprs && !stopped_) {
    parsed_.findings.report<message::too_many_expressions>(span, item_name_);
    stop();
  }
}

// A value that cannot be made stands in as a local that does not exist.
ExprId Parser::wrong_value(Span span) {
  positions_.uses.push_back(span);
  return interner_->local(LocalId{});
}

bool Parser::push_frame(OpenExpr open) {
  if (frames_.size() >= kMaxNesting) {
    fail<message::nesting>({open.begin, open.begin + 1});
    stop();
    return false;
  }
  open.operands = static_cast<std::uint32_t>(values_.size());
  open.uses = static_cast<std::uint32_t>(positions_.uses.size());
  frames_.push_back(open);
  return true;
}

// Applies the operators on top of the stack that bind at least as tightly as `precedence`.
void Parser::reduce(int precedence) {
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

// One expression, up to the token that cannot continue it.
bool Parser::parse_expr(ExprId& result) {
  frames_.clear();
  values_.clear();
  while (true) {
    bool complete = false;
    if (!parse_operand(complete)) return false;
    if (!complete) continue;
    // Behind an operand: lanes, closing brackets, then an operator or the end.
    while (true) {
      if (stopped_ || !parse_lanes()) return false;
      if (token_.infix != nullptr) {
        const OperationInfo* op = token_.infix;
        reduce(op->precedence + (op->precedence == kComparisonPrecedence ? 1 : 0));
        if (op->precedence == kComparisonPrecedence && !frames_.empty() &&
            frames_.back().kind == Frame::Infix &&
            frames_.back().op->precedence == kComparisonPrecedence) {
          return fail<message::chained_comparison>(token_.span, op->text);
        }
        if (!push_frame({Frame::Infix, op, {}, {}, token_.span.begin, 0, 0, {}})) return false;
        advance();
        break;
      }
      reduce(0);
      if (frames_.empty()) {
        result = values_.back().id;
        return true;
      }
      const OpenExpr& open = frames_.back();
      const bool takes_list = open.kind != Frame::Paren && open.kind != Frame::Index;
      if (at(Tok::Comma) && takes_list) {
        advance();
        break;
      }
      if (at(open.kind == Frame::Index ? Tok::RBracket : Tok::RParen)) {
        if (!close_bracket()) return false;
        continue;
      }
      if (at(Tok::End)) {
        return fail<message::unclosed>({open.begin, open.begin + 1}, "an expression",
                                       open.kind == Frame::Index ? "]" : ")");
      }
      return fail_expected(open.kind == Frame::Index ? "an operator or `]`"
                           : takes_list              ? "an operator, `,` or `)`"
                                                     : "an operator or `)`",
                           "close the bracket, or write an operator between the operands");
    }
  }
}

// Parses what stands where an operand is expected: a complete operand, or the opening of one.
bool Parser::parse_operand(bool& complete) {
  const Span span = token_.span;
  if (token_.prefix != nullptr) {
    const OperationInfo* op = token_.prefix;
    advance();
    // A minus sign right before an i32 literal belongs to it.
    if (op->op == Operation::Negate && at(Tok::Number) && spelling().ends_with("i32")) {
      complete = true;
      return parse_number(true, span.begin);
    }
    return push_frame({Frame::Prefix, op, {}, {}, span.begin, 0, 0, {}});
  }
  if (at(Tok::LParen)) {
    advance();
    return push_frame({Frame::Paren, nullptr, {}, {}, span.begin, 0, 0, {}});
  }
  if (at(Tok::Number)) {
    complete = true;
    return parse_number(false, span.begin);
  }
  if (at(Tok::Name)) return parse_name_operand(complete);
  // A call without arguments closes right away.
  if (at(Tok::RParen) && !frames_.empty() && frames_.back().kind != Frame::Paren &&
      values_.size() == frames_.back().operands && previous_.kind == Tok::LParen) {
    complete = true;
    return close_bracket();
  }
  return fail_expected("an expression", "write a value here: a literal, a name, a load or a call");
}

bool Parser::parse_name_operand(bool& complete) {
  const Token name = token_;
  const std::string_view word = spelling();
  advance();
  // A dotted chain before `(` is a call, whatever its words mean elsewhere.
  if (at(Tok::Dot)) {
    Findings scratch;
    Lexer probe(source_.text, scratch);
    probe.seek(token_.span.end);
    Token ahead{};
    ahead.kind = Tok::Dot;
    const auto next_token = [&] {
      do ahead = probe.next();
      while (ahead.kind == Tok::Comment);
    };
    Span id{name.span.begin, name.span.end};
    std::string text(word);
    while (ahead.kind == Tok::Dot) {
      next_token();
      if (ahead.kind != Tok::Name) break;
      id.end = ahead.span.end;
      text += '.';
      text += lexer_.text(ahead.span);
      next_token();
    }
    if (ahead.kind == Tok::LParen) {
      while (token_.span.begin != ahead.span.begin) advance();
      if (text.size() > kMaxNameBytes) return fail<message::long_token>(id, text.size());
      advance();
      return push_frame({Frame::Call, nullptr, {}, {}, id.begin, 0, 0, id});
    }
    if (name.word == Word::None && !binding(word).local.exists() &&
        !binding(word).buffer.exists() && ahead.kind != Tok::DotDot && text.size() > word.size() + 2) {
      complain<message::op_as_value>(id, shorten(text));
      while (token_.span.end != id.end) advance();
      advance();
      push_wrong(id);
      complete = true;
      return true;
    }
  }
  switch (name.word) {
    case Word::None: break;
    case Word::True:
    case Word::False: {
      complete = true;
      push(interner_->literal(DataType::Bool, {{name.word == Word::True, 0, 0, 0}}), name.span);
      return true;
    }
    case Word::IdInvocation:
    case Word::IdWorkgroup:
    case Word::IdLocal: {
      if (!expect(Tok::Dot, "`.`", "name the axis, as in `invocation_id.x`")) return false;
      if (!at(Tok::Name)) return fail_expected("an axis", "use .x, .y or .z");
      const std::string_view axis = spelling();
      const Span span{name.span.begin, token_.span.end};
      const std::size_t number = axis.size() == 1 ? std::string_view("xyz").find(axis[0])
                                                  : std::string_view::npos;
      advance();
      complete = true;
      if (number == std::string_view::npos) {
        complain<message::unknown_axis>(span, word, shorten(axis));
        push_wrong(span);
        return true;
      }
      const Operation op = name.word == Word::IdInvocation  ? Operation::InvocationId
                           : name.word == Word::IdWorkgroup ? Operation::WorkgroupId
                                                            : Operation::LocalId;
      push(interner_->make(op, static_cast<std::uint8_t>(number), 0, {}), span);
      return true;
    }
    case Word::Len: {
      if (!expect(Tok::LParen, "`(`", "write `len(buffer)`")) return false;
      if (!at(Tok::Name)) return fail_expected("a buffer", "write `len(buffer)`");
      const BufferId buffer = resolve_buffer(token_.span);
      advance();
      if (!expect(Tok::RParen, "`)`", "len takes the name of one buffer")) return false;
      complete = true;
      const Span span{name.span.begin, previous_.span.end};
      if (buffer.exists()) {
        push(interner_->length(buffer), span);
      } else {
        push_wrong(span);
      }
      return true;
    }
    case Word::Select:
      if (!expect(Tok::LParen, "`(`", "write `select(condition, a, b)`")) return false;
      return push_frame({Frame::Select, nullptr, {}, {}, name.span.begin, 0, 0, name.span});
    case Word::Type:
      if (!expect(Tok::LParen, "`(`", "a type is a function: write a cast as `u32(x)`")) return false;
      return push_frame({Frame::Type, nullptr, *find_type(word), {}, name.span.begin, 0, 0, name.span});
    case Word::F32:
    case Word::F16:
    case Word::Bf16:
    case Word::Tensor: return fail<message::planned_type>(name.span, word);
    case Word::Nan:
    case Word::Inf: return fail<message::planned_literal>(name.span, word);
    case Word::Atomic:
      return fail<message::expected>(name.span, "an expression", "`" + std::string(word) + "`",
                                     "an atomic has an effect: bind its result by `let` first");
    default:
      return fail<message::expected>(name.span, "an expression", "`" + std::string(word) + "`",
                                     "this word is reserved; write a value here");
  }
  if (accept(Tok::LParen)) {
    if (const OperationInfo* op = find_function(word)) {
      return push_frame({Frame::Function, op, {}, {}, name.span.begin, 0, 0, name.span});
    }
    return push_frame({Frame::Call, nullptr, {}, {}, name.span.begin, 0, 0, name.span});
  }
  if (accept(Tok::LBracket)) {
    const BufferId buffer = resolve_buffer(name.span);
    return push_frame({Frame::Index, nullptr, {}, buffer, name.span.begin, 0, 0, name.span});
  }
  complete = true;
  const Binding found = binding(word);
  if (found.local.exists()) {
    push(interner_->local(found.local), name.span);
    return true;
  }
  if (found.buffer.exists()) {
    if (program_->buffers[found.buffer.index].element == DataType::Bytes) {
      complain<message::bytes_value>(name.span, word);
    } else {
      complain<message::buffer_as_value>(name.span, word);
    }
  } else if (const std::string_view near = nearest(word, visible_locals()); !near.empty()) {
    complain<message::misspelt_local>(name.span, word, near);
  } else {
    complain<message::unknown_local>(name.span, shorten(word));
  }
  push_wrong(name.span);
  return true;
}

bool Parser::parse_lanes() {
  while (at(Tok::Dot)) {
    advance();
    const std::size_t lane = at(Tok::Name) && spelling().size() == 1
                                 ? std::string_view("xyzw").find(spelling()[0])
                                 : std::string_view::npos;
    if (lane == std::string_view::npos) {
      return fail_expected("a lane", "the lanes of a vector are .x .y .z .w");
    }
    const Value value = values_.back();
    values_.pop_back();
    push(interner_->make(Operation::Lane, static_cast<std::uint8_t>(lane), 0, {&value.id, 1}),
         {value.span.begin, token_.span.end});
    advance();
  }
  return true;
}

bool Parser::parse_number(bool negative, std::uint32_t begin) {
  TypedBits literal;
  if (!read_literal(negative, literal)) return false;
  push(interner_->literal(literal.type, literal.bits), {begin, token_.span.end});
  advance();
  return true;
}

// The value of the current Number token, which it does not consume.
bool Parser::read_literal(bool negative, TypedBits& literal) {
  const std::string_view whole = spelling();
  std::string_view digits = whole;
  unsigned base = 10;
  if (digits.starts_with("0x")) base = 16;
  if (digits.starts_with("0b")) base = 2;
  if (base != 10) digits.remove_prefix(2);

  const auto digit_value = [](char c) -> unsigned {
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 99;
  };
  Wide value = 0;
  bool overflow = false;
  std::size_t length = 0;
  bool well_formed = true;
  for (; length < digits.size(); ++length) {
    const char c = digits[length];
    if (c == '_') {
      const bool between = length > 0 && length + 1 < digits.size() &&
                           digit_value(digits[length - 1]) < base &&
                           digit_value(digits[length + 1]) < base;
      well_formed &= between;
      continue;
    }
    const unsigned digit = digit_value(c);
    if (digit >= base) break;
    overflow |= value > (~Wide{0} - digit) / base;
    value = value * base + digit;
  }
  const std::string_view suffix = digits.substr(length);
  const bool is_float =
      (base == 10 && (whole.find('.') != std::string_view::npos || suffix.starts_with("e") ||
                      suffix.starts_with("E"))) ||
      (base == 16 && (whole.find('.') != std::string_view::npos || suffix.starts_with("p"))) ||
      suffix == "f32" || suffix == "f16" || suffix == "bf16";
  if (is_float) return fail<message::planned_literal>(token_.span, shorten(whole, 40));
  literal.type = DataType::U32;
  if (length == 0 || !well_formed) return fail<message::bad_number>(token_.span, shorten(whole, 40));
  if (!suffix.empty()) {
    const std::optional<DataType> type = find_type(suffix);
    const TypeSet suffixes =
        type_set(DataType::U32, DataType::I32, DataType::U64, DataType::U128);
    if (!type || !contains(suffixes, *type)) {
      return fail<message::bad_suffix>(token_.span, shorten(whole, 40), shorten(suffix, 20));
    }
    literal.type = *type;
  }
  const bool is_signed = literal.type == DataType::I32;
  const unsigned width = info(literal.type).width;
  const Wide limit = is_signed ? (Wide{1} << 31) - (negative ? 0 : 1)
                               : ~Wide{0} >> (128 - width);
  if (overflow || value > limit) {
    const std::string_view advice =
        literal.type == DataType::U32   ? "write a suffix for a wider type: u64 or u128"
        : literal.type == DataType::U64 ? "write the suffix u128, or a smaller number"
        : is_signed                     ? "i32 goes from -2147483648i32 to 2147483647i32"
                                        : "u128 ends at 2^128 - 1";
    return fail<message::literal_range>(token_.span, shorten(whole, 50), text(literal.type), advice);
  }
  if (negative) value = Wide{0} - value;
  for (std::size_t lane = 0; lane < width / 32; ++lane) {
    literal.bits.lanes[lane] = static_cast<std::uint32_t>(value >> (32 * lane));
  }
  return true;
}

// Completes the innermost bracket at its closing token.
bool Parser::close_bracket() {
  const OpenExpr open = frames_.back();
  frames_.pop_back();
  const Span span{open.begin, token_.span.end};
  advance();
  switch (open.kind) {
    case Frame::Prefix:
    case Frame::Infix: break;
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
    case Frame::Function:
    case Frame::Select:
    case Frame::Type:
    case Frame::Call: finish_call(open, span); break;
  }
  return true;
}

void Parser::finish_call(const OpenExpr& open, Span span) {
  args_.clear();
  for (std::size_t i = open.operands; i < values_.size(); ++i) args_.push_back(values_[i].id);
  values_.resize(open.operands);
  const std::size_t count = args_.size();
  const std::string_view name = lexer_.text(open.name);

  ExprId id;
  std::string expected;
  if (open.kind == Frame::Function) {
    const std::size_t arity = static_cast<std::size_t>(open.op->arity);
    if (count == arity) id = interner_->make(open.op->op, 0, 0, args_);
    expected = count_of(arity, "argument");
  } else if (open.kind == Frame::Select) {
    if (count == 3) id = interner_->make(Operation::Select, 0, 0, args_);
    expected = "3 arguments";
  } else if (open.kind == Frame::Type) {
    if (count == 1) {
      id = interner_->make(Operation::Cast, static_cast<std::uint8_t>(open.type), 0, args_);
    } else if (count == 2 && open.type == DataType::Vec2U32) {
      id = interner_->make(Operation::Vec2, 0, 0, args_);
    } else if (count == 4 && open.type == DataType::Vec4U32) {
      id = interner_->make(Operation::Vec4, 0, 0, args_);
    }
    expected = is_vector(open.type) ? "1 or " + count_of(info(open.type).lanes, "argument")
                                    : "1 argument";
  } else {
    std::string callee;
    for (char c : name) {
      if (is_name_char(c) || c == '.') callee += c;
    }
    id = interner_->call(callee, args_);
  }
  if (id.exists()) {
    push(id, span);
    return;
  }
  complain<message::argument_count>(open.name, name, expected, count_of(count, "argument"));
  positions_.uses.resize(open.uses);
  push_wrong(span);
}

BufferId Parser::resolve_buffer(Span span) {
  const std::string_view name = lexer_.text(span);
  const Binding found = binding(name);
  if (program_ == nullptr) {
    complain<message::buffer_in_op>(span, item_name_, shorten(name));
  } else if (found.buffer.exists()) {
    return found.buffer;
  } else if (found.local.exists()) {
    complain<message::local_as_buffer>(span, name);
  } else {
    std::vector<std::string_view> buffers;
    for (const BufferDecl& buffer : program_->buffers) buffers.push_back(buffer.name);
    const std::string_view near = nearest(name, buffers);
    if (near.empty()) {
      complain<message::unknown_buffer>(span, shorten(name));
    } else {
      complain<message::misspelt_buffer>(span, name, near);
    }
  }
  return {};
}

std::vector<std::string_view> Parser::visible_locals() const {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < bindings_.size(); ++i) {
    if (bindings_[i].local.exists()) names.push_back(names_.name(i));
  }
  return names;
}

}  // namespace

Parsed parse_source(const Source& source) {
  Parsed parsed;
  Parser(source, parsed).parse_file();
  return parsed;
}

Result<Module> parse(std::string_view text, std::string_view file) {
  const Source source{std::string(file), std::string(text)};
  Parsed parsed = parse_source(source);
  if (parsed.findings.empty()) return std::move(parsed.module);
  return std::move(parsed.findings).located(source);
}

}  // namespace vyre
