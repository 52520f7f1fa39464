#include "vyre/text/parse.h"

#include <deque>

#include "vyre/ir/eval.h"
#include "vyre/ir/walk.h"
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
      if (at_const()) {
        parse_const();
      } else if (at_word(Word::Program)) {
        parse_program();
      } else if (at_word(Word::Op)) {
        parse_op();
      } else {
        const std::string_view advice = foreign_here(token_.span.begin).advice;
        at(Tok::RBrace)  ? fail_here<message::extra_brace>()
        : advice.empty() ? fail_here<message::no_item>()
                         : fail_here<message::foreign_item>(advice);
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
    for (const ConstTable& table : tables_) binding(table.name).table = &table;
  }

  void finish_item(Item item) {
    parsed_.module.items.push_back(std::move(item));
    parsed_.positions.push_back(std::move(positions_));
    parsed_.sound.push_back(item_sound_);
    parsed_.typed.push_back(item_typed_ && !stopped_);
  }

  // The brace that opens an item's body.
  template <class Message>
  bool open_body() {
    const std::uint32_t brace = token_.span.begin;
    if (!expect<Message>(Tok::LBrace)) return false;
    open_block(Branch::Body, 0, brace);
    return true;
  }

  // --- Constants ---

  bool at_const() const {
    return at(Tok::Name) && spelling() == "const" &&
           lexer_.probe().next_but_comments().kind == Tok::Name;
  }

  // A table: `const NAME = […]`, or with its type before the `=`.
  void parse_const() {
    parsed_.heads.push_back(token_.span.begin);
    advance();
    std::string_view name;
    Span span;
    item_sound_ = true;
    DataType type = DataType::Unknown;
    if (!parse_new_name(name, span, "a name for the constant") ||
        (accept(Tok::Colon) && !parse_variable_type(type)) ||
        !expect<message::constant_value>(Tok::Assign) || !parse_table(name, span, type)) {
      skip_to_item();
    }
  }

  // One element of a table; where its type is still Unknown, the literal has it.
  bool parse_table_element(DataType element, TypedBits& literal) {
    const std::uint32_t begin = token_.span.begin;
    const bool negative = token_.prefix != nullptr && token_.prefix->op == Operation::Negate;
    if (negative) advance();
    if (at(Tok::Number)) {
      const DataType bare = element == DataType::Unknown ? DataType::U32 : element;
      if (!read_literal(negative, begin, literal, false, bare)) return false;
      advance();
    } else if (at_truth() && !negative) {
      if (!parse_constant(false, begin, literal)) return false;
    } else if (!at_word(Word::Type) || negative || !parse_typed_constant(literal)) {
      return fail_here<message::table_literal>();
    }
    if (element == DataType::Unknown || literal.type == element) return true;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(literal.bits.lanes));
    if (literal.type == loaded_type(element) && load_element(element, bytes, 0) == literal.bits) {
      return true;
    }
    return fail<message::table_element>({begin, previous_.span.end}, text(element));
  }

  bool parse_table(std::string_view name, Span span, DataType type) {
    if (!expect<message::constant_value>(Tok::LBracket)) return false;
    DataType element = element_type(type);
    std::vector<std::byte> bytes;
    std::uint32_t count = 0;
    do {
      if (at(Tok::RBracket)) break;
      TypedBits literal;
      if (!parse_table_element(element, literal)) return false;
      if (element == DataType::Unknown) element = literal.type;
      const auto* lanes = reinterpret_cast<const std::byte*>(literal.bits.lanes.data());
      bytes.insert(bytes.end(), lanes, lanes + stride(element));
      if (++count > kMaxTableCount || bytes.size() > kMaxTableBytes) {
        return fail<message::table_size>(span, shorten(name));
      }
    } while (accept(Tok::Comma));
    if (!expect<message::table_end>(Tok::RBracket)) return false;
    if (count == 0) return fail<message::empty_table>(span, shorten(name));
    if (is_array(type) && count != element_count(type)) {
      complain<message::table_count>(span, shorten(name), count, element_count(type));
    }
    if (std::ranges::find(tables_, name, &ConstTable::name) != tables_.end()) {
      return fail<message::duplicate_item>(span, shorten(name));
    }
    tables_.push_back({std::string(name), element, Contents(std::move(bytes))});
    return true;
  }

  // --- Programs ---

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
        fail_here<message::separated_buffers>();
      } else if (!token_.after_error) {
        if (!at_buffer()) break;
        if (parse_buffer(program, written) && !failed_) continue;
      }
      recover_from(begin);
      if (token_.span.begin == begin) break;  // the body ends here
    }
    number_bindings(program.buffers, written);
    parse_body();
    finish_item(std::move(program));
  }

  bool parse_program_header(Program& program) {
    advance();
    std::string_view name;
    if (!parse_new_name(name, positions_.name, "a name for the program")) return false;
    program.name = name;
    if (!accept_word(Word::Workgroup)) return fail_here<message::no_workgroup>();
    positions_.workgroup_size.begin = token_.span.begin;
    if (!expect<message::workgroup_bracket>(Tok::LParen)) return false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (axis > 0 && !accept(Tok::Comma)) break;
      if (!parse_count(program.workgroup_size[axis], "a number of invocations")) return false;
    }
    positions_.workgroup_size.end = token_.span.end;
    return expect<message::workgroup_end>(Tok::RParen) && open_body<message::program_body>();
  }

  // An access word, or a misspelt one before `name:`.
  bool at_buffer() {
    if (!at(Tok::Name) || access_of(token_.word)) return at(Tok::Name);
    Lexer probe = lexer_.probe();
    return (token_.word == Word::None || token_.word == Word::In) &&
           probe.next_but_comments().kind == Tok::Name &&
           probe.next_but_comments().kind == Tok::Colon;
  }

  bool parse_buffer(Program& program, std::vector<bool>& written) {
    positions_.heads.push_back(token_.span.begin);
    BufferDecl buffer{"", 0, BufferAccess::ReadWrite, DataType::Unknown};
    if (const std::optional<BufferAccess> access = access_of(token_.word)) {
      buffer.access = *access;
    } else {
      const std::string_view near =
          nearest(spelling(), {std::begin(kAccessTexts), std::end(kAccessTexts)});
      near.empty() ? fail_here<message::no_access>() : fail_here<message::misspelt_access>(near);
    }
    advance();
    std::string_view name;
    Span span;
    if (!parse_new_name(name, span, "a name for the buffer")) return false;
    buffer.name = name;
    // Known from here on, also when its type turns out to be wrong.
    binding(name).buffer = BufferId{program.buffers.size()};
    if (program.buffers.size() > kMaxBuffers) {
      return stop<message::too_many_buffers>(span, program.name);
    }
    program.buffers.push_back(buffer);
    positions_.buffers.push_back(span);
    written.push_back(false);
    BufferDecl& declared_buffer = program.buffers.back();

    if (!expect<message::buffer_colon>(Tok::Colon) || !parse_type(declared_buffer.element)) {
      return false;
    }
    const bool brackets_needed = declared_buffer.element != DataType::Bytes;
    if (at(Tok::LBracket) || brackets_needed) {
      if (!expect<message::buffer_bracket>(Tok::LBracket)) return false;
      if (!at(Tok::RBracket) && !parse_count(declared_buffer.count, "a number of elements")) {
        return false;
      }
      if (!expect<message::buffer_end>(Tok::RBracket)) return false;
    }
    if (at(Tok::At) && declared_buffer.access == BufferAccess::Workgroup) {
      return fail_here<message::workgroup_binding>();
    }
    if (accept(Tok::At)) {
      written.back() = true;
      if (!parse_count(declared_buffer.binding, "a binding number")) return false;
    }
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
      if (failed_) op.description.clear();
    }
    while (!stopped_ && at_word(Word::Law)) {
      failed_ = false;
      if (!parse_law(op)) recover();
    }
    parse_body();
    finish_item(std::move(op));
  }

  bool parse_op_header(Op& op) {
    advance();
    if (!parse_op_id(op.id, positions_.name)) return false;
    if (!expect<message::op_parameters>(Tok::LParen)) return false;
    while (!at(Tok::RParen)) {
      if (!op.signature.inputs.empty() && !accept(Tok::Comma) &&
          !fail_missing<message::parameter_separator>()) {
        return false;
      }
      std::string_view name;
      Span span;
      if (!parse_new_name(name, span, "a parameter")) return false;
      positions_.parameters.push_back(span);
      op.signature.inputs.push_back(DataType::Unknown);
      declare(name);
      if (!expect<message::parameter_colon>(Tok::Colon) ||
          !parse_variable_type(op.signature.inputs.back())) {
        return false;
      }
    }
    advance();
    if (!expect<message::op_output>(Tok::Arrow)) return false;
    positions_.output = token_.span;
    if (!parse_variable_type(op.signature.output)) return false;
    return open_body<message::op_body>();
  }

  bool parse_op_id(std::string& id, Span& span) {
    span = token_.span;
    id.clear();
    do {
      if (!at(Tok::Name)) return fail_here<message::op_id>();
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
    if (!at(Tok::Name)) return fail_here<message::law_name>();
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
      if (!expect<message::law_end>(Tok::RParen)) return false;
    }
    if (row != nullptr) {
      op.laws.push_back(std::move(law));
      positions_.laws.push_back({span.begin, previous_.span.end});
    }
    return true;
  }

  bool parse_law_argument(Law& law) {
    const std::uint32_t begin = token_.span.begin;
    const bool negative = token_.prefix != nullptr && token_.prefix->op == Operation::Negate;
    if (negative) advance();
    if (negative && !at(Tok::Number)) return fail_here<message::negative_argument>();
    TypedBits literal;
    if (at(Tok::Number) || (at_truth() && !before_dot())) {
      if (!parse_constant(negative, begin, literal)) return false;
    } else if (at_word(Word::Type) && spelling() != "bytes" && !before_dot()) {
      if (!parse_typed_constant(literal)) return false;
    } else {
      return parse_word_argument(law);
    }
    law.arguments.emplace_back(literal);
    return true;
  }

  bool at_truth() const { return at_word(Word::True) || at_word(Word::False); }

  // A number whose sign has been read, or true or false.
  bool parse_constant(bool negative, std::uint32_t begin, TypedBits& literal) {
    if (at(Tok::Number)) {
      if (!read_literal(negative, begin, literal)) return false;
    } else {
      literal = {DataType::Bool, {{at_word(Word::True), 0, 0, 0}}};
    }
    advance();
    return true;
  }

  // T(literal, …): one literal is cast, several are the lanes of a vector.
  bool parse_typed_constant(TypedBits& literal) {
    const std::uint32_t begin = token_.span.begin;
    if (!parse_type(literal.type) || !expect<message::constant_bracket>(Tok::LParen)) return false;
    std::vector<TypedBits> lanes;
    do {
      if (!at(Tok::Number) && !at_truth()) return fail_here<message::constant_lane>();
      if (!parse_constant(false, token_.span.begin, lanes.emplace_back())) return false;
    } while (accept(Tok::Comma));
    if (!expect<message::constant_end>(Tok::RParen)) return false;
    const DataType type = literal.type;
    const bool all_u32 = std::ranges::all_of(
        lanes, [](const TypedBits& lane) { return lane.type == DataType::U32; });
    if (lanes.size() == 1 && cast_exists(lanes[0].type, type)) {
      literal.bits = eval_cast(lanes[0].type, type, lanes[0].bits);
    } else if (lanes.size() == info(type).lanes && is_vector(type) && all_u32) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        literal.bits.lanes[i] = lanes[i].bits.lanes[0];
      }
    } else {
      complain<message::law_constant>({begin, previous_.span.end}, text(type));
    }
    return true;
  }

  // A direction, or the id of an op.
  bool parse_word_argument(Law& law) {
    if (!at(Tok::Name)) return fail_here<message::law_argument>();
    std::string id;
    Span span;
    if (!parse_op_id(id, span)) return false;
    for (Direction direction : {Direction::NonDecreasing, Direction::NonIncreasing}) {
      if (id != text(direction)) continue;
      law.arguments.emplace_back(direction);
      return true;
    }
    law.arguments.emplace_back(std::move(id));
    return true;
  }

  std::deque<ConstTable> tables_;  // of the file so far
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
