#include "vyre/text/parse.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/text/foreign.h"
#include "vyre/text/parser.h"

namespace vyre {
namespace {

constexpr std::size_t kMaxSyntaxErrors = 100;

}  // namespace

// --- Tokens --------------------------------------------------------------------------------------

void Parser::advance() {
  previous_ = token_;
  const std::size_t before = lexer_.errors();
  token_ = lexer_.next_but_comments();
  if (lexer_.errors() != before) note_failure();
}

void Parser::note_failure() {
  failed_ = true;
  item_sound_ = false;
  parsed_.syntax_ok = false;
  if (++errors_ >= kMaxSyntaxErrors) stopped_ = true;
}

// Whether the current word starts an op id, where it means nothing else.
bool Parser::before_dot() const {
  Lexer probe = lexer_;
  probe.set_quiet(true);
  return probe.next_but_comments().kind == Tok::Dot;
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
  return accept(kind) || fail_missing(what, fix);
}

std::string Parser::found() const {
  if (at(Tok::End)) return "the end of the file";
  return "`" + shorten(spelling(), 40) + "`";
}

// Skips to where a statement may start again: a closing brace of the block, or a first token on a
// line outside of all brackets that were opened on the way.
void Parser::recover() {
  int depth = 0;
  lexer_.set_quiet(true);
  while (!at(Tok::End) && !stopped_) {
    bool done = false;
    switch (token_.kind) {
      case Tok::LParen:
      case Tok::LBracket:
      case Tok::LBrace: ++depth; break;
      case Tok::RBrace: done = depth <= 0; [[fallthrough]];
      case Tok::RParen:
      case Tok::RBracket: depth = std::max(0, depth - 1); break;
      case Tok::Name:
        done = at_item() ||
               (token_.newline_before && !token_.after_error && depth <= 0 && !at_word(Word::Else));
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
    if (done) break;
    advance();
  }
  lexer_.set_quiet(false);
}

// --- Items ---------------------------------------------------------------------------------------

void Parser::parse_file() {
  if (source_.text.size() > kMaxSourceBytes) {
    fail<message::source_too_large>({0, 0});
    return;
  }
  const std::size_t invalid = first_invalid_utf8(source_.text);
  if (invalid < source_.text.size()) {
    const std::uint32_t place = static_cast<std::uint32_t>(invalid);
    fail<message::invalid_utf8>({place, place + 1}, hex_byte(source_.text[invalid]));
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
      const std::string_view advice = advice_for(spelling());
      fail_expected("`program` or `op`",
                    at(Tok::RBrace)  ? "remove this brace: all blocks are closed"
                    : advice.empty() ? "start with `program name workgroup(64) { … }`"
                                     : advice);
      skip_to_item();
    }
  }
}

void Parser::skip_to_item() {
  lexer_.set_quiet(true);
  while (!at(Tok::End) && !stopped_ && !at_item()) advance();
  lexer_.set_quiet(false);
}

// A broken item ends where another one starts; only the first word of a line is taken as that.
bool Parser::at_item() const {
  return token_.newline_before && (at_word(Word::Program) || at_word(Word::Op));
}

void Parser::begin_item(Body& body) {
  item_sound_ = item_typed_ = true;
  body_ = &body;
  interner_.emplace(body);
  positions_ = {};
  positions_.heads.push_back(token_.span.begin);
  names_ = {};
  bindings_.clear();
  scope_.clear();
  open_.clear();
  suspect_.reset();
}

void Parser::finish_item(Item item) {
  parsed_.module.items.push_back(std::move(item));
  parsed_.positions.push_back(std::move(positions_));
  parsed_.sound.push_back(item_sound_);
  parsed_.typed.push_back(item_typed_ && !stopped_);
}

void Parser::parse_program() {
  Program program;
  begin_item(program.body);
  program_ = &program;
  if (!parse_program_header(program)) return skip_to_item();
  item_name_ = program.name;
  std::vector<bool> written;
  while (!stopped_) {
    const std::uint32_t begin = token_.span.begin;
    failed_ = false;
    if (at(Tok::Comma)) {
      fail_expected("a buffer or a statement", "remove it: declarations need no separator");
    } else if (!token_.after_error) {
      if (!at_buffer()) break;
      if (parse_buffer(program, written) && !failed_) continue;
    }
    recover();
    if (token_.span.begin == begin) break;  // the body ends here
  }
  number_bindings(program.buffers, written);
  item_typed_ = item_sound_;
  parse_body();
  finish_item(std::move(program));
}

bool Parser::parse_program_header(Program& program) {
  advance();
  std::string_view name;
  if (!parse_new_name(name, positions_.name, "a name for the program")) return false;
  program.name = name;
  if (!accept_word(Word::Workgroup)) {
    return fail_expected("`workgroup`",
                         "say how many invocations a workgroup has: `workgroup(64)`");
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

// An access word, or a misspelt one before `name:`.
bool Parser::at_buffer() {
  if (!at(Tok::Name) || token_.word == Word::Read || token_.word == Word::ReadWrite ||
      token_.word == Word::Uniform || token_.word == Word::Workgroup) {
    return at(Tok::Name);
  }
  Lexer probe = lexer_;
  probe.set_quiet(true);
  return (token_.word == Word::None || token_.word == Word::In) &&
         probe.next_but_comments().kind == Tok::Name &&
         probe.next_but_comments().kind == Tok::Colon;
}

bool Parser::parse_buffer(Program& program, std::vector<bool>& written) {
  positions_.heads.push_back(token_.span.begin);
  BufferDecl buffer;
  if (at_word(Word::ReadWrite)) {
    buffer.access = BufferAccess::ReadWrite;
  } else if (at_word(Word::Uniform)) {
    buffer.access = BufferAccess::Uniform;
  } else if (at_word(Word::Workgroup)) {
    buffer.access = BufferAccess::Workgroup;
  } else if (!at_word(Word::Read)) {
    const std::string_view near =
        nearest(spelling(), {"read", "read_write", "uniform", "workgroup"});
    fail_expected("`read`, `read_write`, `uniform` or `workgroup`",
                  near.empty() ? "say how the buffer is accessed"
                               : "did you mean `" + std::string(near) + "`?");
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
    return fail_expected("a type", near.empty()
                                       ? "the types are u32 i32 u64 u128 vec2u32 vec4u32 bool bytes"
                                       : "did you mean `" + std::string(near) + "`?");
  }
  type = *find_type(spelling());
  advance();
  return true;
}

bool Parser::parse_count(std::uint32_t& value, std::string_view what) {
  if (!at(Tok::Number)) return fail_missing(what, "write a plain number, such as 64");
  TypedBits literal;
  if (!read_literal(false, token_.span.begin, literal, true)) return false;
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
  if (!parse_op_header(op)) {
    // The op exists, so that calls of it are not errors as well.
    item_typed_ = false;
    op.signature.output = DataType::Unknown;
    if (!op.id.empty()) finish_item(std::move(op));
    return skip_to_item();
  }
  item_name_ = op.id;
  if (at(Tok::String)) {
    positions_.heads.push_back(token_.span.begin);
    if (!parse_string(op.description)) recover();
  }
  while (!stopped_ && at_word(Word::Law)) {
    failed_ = false;
    if (!parse_law(op)) recover();
  }
  item_typed_ = item_sound_;
  parse_body();
  finish_item(std::move(op));
}

bool Parser::parse_op_id(std::string& id, Span& span) {
  span = token_.span;
  id.clear();
  do {
    if (!at(Tok::Name)) return fail_expected("an op id", "ids look like `family.group.name`");
    if (!id.empty()) id += '.';
    id += spelling();
    if (id.size() > kMaxNameBytes) return fail<message::long_token>(span, id.size());
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
  const std::uint32_t begin = token_.span.begin;
  if (negative) advance();
  if (at(Tok::Number)) {
    if (!read_literal(negative, begin, literal)) return false;
    advance();
  } else if (negative) {
    return fail_expected("a number", "only numbers can be negative here");
  } else if ((at_word(Word::True) || at_word(Word::False)) && !before_dot()) {
    literal = {DataType::Bool, {{at_word(Word::True), 0, 0, 0}}};
    advance();
  } else if (at_word(Word::Type) && spelling() != "bytes" && !before_dot()) {
    // T(literal, …): one literal is cast, several are the lanes of a vector.
    const Span span = token_.span;
    DataType type;
    std::vector<TypedBits> lanes;
    if (!parse_type(type) || !expect(Tok::LParen, "`(`", "such as `vec2u32(0, 1)`")) return false;
    do {
      if (at_word(Word::True) || at_word(Word::False)) {
        lanes.push_back({DataType::Bool, {{at_word(Word::True), 0, 0, 0}}});
        advance();
        continue;
      }
      if (!at(Tok::Number)) return fail_expected("a number", "such as `vec2u32(0, 1)`");
      if (!read_literal(false, token_.span.begin, lanes.emplace_back())) return false;
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

// --- The whole --------------------------------------------------------------------------------

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
