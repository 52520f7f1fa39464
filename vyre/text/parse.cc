#include "vyre/text/parse.h"

#include "vyre/ir/eval.h"
#include "vyre/text/parse_statements.h"

namespace vyre {
namespace {

// Items: the last layer.
class Parser : StatementParser {
 public:
  using StatementParser::StatementParser;

  void parse_file() {
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

 private:
  void begin_item(Body& body) {
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

  void finish_item(Item item) {
    parsed_.module.items.push_back(std::move(item));
    parsed_.positions.push_back(std::move(positions_));
    parsed_.sound.push_back(item_sound_);
    parsed_.typed.push_back(item_typed_ && !stopped_);
  }

  // --- Programs ---

  // --- Items ---
  void parse_program() {
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

  bool parse_program_header(Program& program) {
    advance();
    std::string_view name;
    if (!parse_new_name(name, positions_.name, "a name for the program")) return false;
    program.name = name;
    if (!accept_word(Word::Workgroup)) {
      return fail_expected("`workgroup`",
                           "say how many invocations a workgroup has: `workgroup(64)`");
    }
    positions_.workgroup_size.begin = token_.span.begin;
    if (!expect(Tok::LParen, "write `workgroup(64)` or `workgroup(8, 8, 1)`")) return false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (axis > 0 && !accept(Tok::Comma)) break;
      if (!parse_count(program.workgroup_size[axis], "a number of invocations")) return false;
    }
    positions_.workgroup_size.end = token_.span.end;
    if (!expect(Tok::RParen, "a workgroup has at most three axes: `workgroup(8, 8, 1)`")) {
      return false;
    }
    const std::uint32_t brace = token_.span.begin;
    if (!expect(Tok::LBrace, "open the program's body")) return false;
    open_block(Branch::Body, 0, brace);
    return true;
  }

  // An access word, or a misspelt one before `name:`.
  bool at_buffer() {
    if (!at(Tok::Name) || access_of(token_.word)) return at(Tok::Name);
    Lexer probe = lexer_;
    probe.set_quiet(true);
    return (token_.word == Word::None || token_.word == Word::In) &&
           probe.next_but_comments().kind == Tok::Name &&
           probe.next_but_comments().kind == Tok::Colon;
  }

  bool parse_buffer(Program& program, std::vector<bool>& written) {
    positions_.heads.push_back(token_.span.begin);
    BufferDecl buffer;
    if (const std::optional<BufferAccess> access = access_of(token_.word)) {
      buffer.access = *access;
    } else {
      fail_expected("`read`, `read_write`, `uniform` or `workgroup`",
                    suggestion(spelling(), {"read", "read_write", "uniform", "workgroup"},
                               "say how the buffer is accessed"));
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

    if (!expect(Tok::Colon, "give the type of the elements, as in `read data: u32[]`") ||
        !parse_type(declared_buffer.element)) {
      return false;
    }
    const bool brackets_needed = declared_buffer.element != DataType::Bytes;
    if (at(Tok::LBracket) || brackets_needed) {
      if (!expect(Tok::LBracket, "write `u32[]`, or `u32[64]` for at least 64 elements")) {
        return false;
      }
      if (!at(Tok::RBracket) && !parse_count(declared_buffer.count, "a number of elements")) {
        return false;
      }
      if (!expect(Tok::RBracket, "close the bracket")) return false;
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

  bool parse_type(DataType& type) {
    if (is_planned_type(token_.word)) {
      return fail<message::planned_type>(token_.span, spelling());
    }
    if (!at_word(Word::Type)) {
      std::vector<std::string_view> types;
      for (const TypeInfo& row : all_types()) types.push_back(row.text);
      return fail_expected("a type",
                           suggestion(at(Tok::Name) ? spelling() : "", types,
                                      "the types are u32 i32 u64 u128 vec2u32 vec4u32 bool bytes"));
    }
    type = *find_type(spelling());
    advance();
    return true;
  }

  bool parse_count(std::uint32_t& value, std::string_view what) {
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

  // --- Ops ---

  void parse_op() {
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

  bool parse_op_header(Op& op) {
    advance();
    if (!parse_op_id(op.id, positions_.name)) return false;
    if (!expect(Tok::LParen, "list the parameters, as in `(a: u32, b: u32)`")) return false;
    while (!at(Tok::RParen)) {
      if (!op.signature.inputs.empty() && !accept(Tok::Comma) &&
          !fail_missing("`,` or `)`", "separate parameters by commas")) {
        return false;
      }
      std::string_view name;
      Span span;
      if (!parse_new_name(name, span, "a parameter")) return false;
      positions_.parameters.push_back(span);
      op.signature.inputs.push_back(DataType::Unknown);
      declare(name);
      if (!expect(Tok::Colon, "give the parameter's type, as in `a: u32`") ||
          !parse_type(op.signature.inputs.back())) {
        return false;
      }
    }
    advance();
    if (!expect(Tok::Arrow, "give the type of the result, as in `-> u32`")) return false;
    positions_.output = token_.span;
    if (!parse_type(op.signature.output)) return false;
    const std::uint32_t brace = token_.span.begin;
    if (!expect(Tok::LBrace, "open the op's body")) return false;
    open_block(Branch::Body, 0, brace);
    return true;
  }

  bool parse_op_id(std::string& id, Span& span) {
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

  bool parse_string(std::string& text) {
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

  bool parse_law(Op& op) {
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
      near.empty() ? complain<message::unknown_law>(span, shorten(spelling()), join(laws, " "))
                   : complain<message::misspelt_law>(span, spelling(), near);
    } else {
      law.kind = row->kind;
    }
    advance();
    if (accept(Tok::LParen)) {
      do {
        if (!parse_law_argument(law)) return false;
      } while (accept(Tok::Comma));
      if (!expect(Tok::RParen, "close the law's arguments")) return false;
    }
    if (row != nullptr) {
      op.laws.push_back(std::move(law));
      positions_.laws.push_back({span.begin, previous_.span.end});
    }
    return true;
  }

  bool parse_law_argument(Law& law) {
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
      if (!parse_type(type) || !expect(Tok::LParen, "such as `vec2u32(0, 1)`")) return false;
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
      if (!expect(Tok::RParen, "close the constant")) return false;
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
};

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
