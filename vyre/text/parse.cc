#include "vyre/text/parse.h"

#include <map>
#include <numeric>
#include <set>

#include "vyre/text/parse_statements.h"

namespace vyre {
namespace {

// Items: the last layer.
class Parser : StatementParser {
 public:
  Parser(const Source& source, Parsed& parsed, const FindSignature& find)
      : StatementParser(source, parsed, find_), others_(find) {}

  void parse_all(const FileUses& uses) {
    if (source_.text.size() > kMaxSourceBytes) {
      fail<message::source_too_large>({0, 0});
      return;
    }
    uses_of_files_ = &uses;
    for_each_file(uses, [&](Source::File file) { parse_file(file); });
    if (source_.used.empty()) return;
    sort_items();
    rename_tables();
  }

  std::vector<Use> uses(Source::File file) {
    enter(file);
    parse_uses();
    return std::move(uses_);
  }

 private:
  void enter(Source::File file) {
    lexer_.enter(source_.text, file.text);
    token_ = previous_ = {};
    advance();
  }

  // Used ones first; only the first one where nothing says which files there are.
  template <class Do>
  void for_each_file(const FileUses& uses, Do parse_one) {
    if (uses.order.empty()) return parse_one(source_.file_at(0));
    for (const std::uint32_t file : uses.order) {
      constants_.enter(file, uses.of_file[file]);
      parse_one(source_.file_at(file));
    }
  }

  void parse_file(Source::File file) {
    const std::string_view text =
        std::string_view(source_.text).substr(file.text.begin, file.text.end - file.text.begin);
    const std::size_t invalid = first_invalid_utf8(text);
    if (invalid < text.size()) {
      const std::uint32_t place = file.text.begin + static_cast<std::uint32_t>(invalid);
      failed_ = false;
      fail<message::invalid_utf8>({place, place + 1}, hex_byte(text[invalid]));
      return;
    }
    enter(file);
    parse_uses();
    while (!at(Tok::End) && !stopped_) {
      failed_ = false;
      if (at_use()) {
        fail<message::late_use>(token_.span);
        parse_uses();
      } else if (at_const()) {
        parse_const();
      } else if (at_word(Word::Program)) {
        parse_program();
      } else if (at_word(Word::Op)) {
        parse_op();
      } else {
        const std::string_view advice =
            spelling() == "mod" ? advice_for("import") : foreign_here(token_.span.begin).advice;
        at(Tok::RBrace)  ? fail_here<message::extra_brace>()
        : advice.empty() ? fail_here<message::no_item>()
                         : fail_here<message::foreign_item>(advice);
        skip_to_item();
      }
    }
  }

  // --- Files ---

  // A name elsewhere.
  bool at_use() const {
    return at(Tok::Name) && spelling() == "use" &&
           lexer_.probe().next_but_comments().kind == Tok::String;
  }

  void parse_uses() {
    while (at_use() && !stopped_) {
      parsed_.heads.push_back(token_.span.begin);
      advance();
      failed_ = false;
      Use use{{}, token_.span};
      if (parse_string(use.path)) {
        uses_.push_back(std::move(use));
      } else {
        advance();
      }
    }
  }

  // In the order of the text, as files are parsed in another one.
  void sort_items() {
    std::vector<std::size_t> order(parsed_.module.items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return parsed_.positions[i].heads[0]; });
    const auto sort = [&](auto& all) {
      std::remove_reference_t<decltype(all)> sorted(all.size());
      for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = std::move(all[order[i]]);
      all = std::move(sorted);
    };
    sort(parsed_.module.items);
    sort(parsed_.positions);
    sort(parsed_.sound);
    sort(parsed_.typed);
  }

  // Files may have different tables of one name. A module is one text when it is printed, so a
  // later one gets the first name that is free: `k_2`.
  void rename_tables() {
    std::set<std::string> names;
    std::vector<ConstTable*> tables;
    for (Item& item : parsed_.module.items) {
      Body& body = body_of(item);
      for (ConstTable& table : body.tables) tables.push_back(&table);
      for (const auto& local : body.locals) names.insert(local.name);
      if (const Program* program = std::get_if<Program>(&item)) {
        for (const BufferDecl& buffer : program->buffers) names.insert(buffer.name);
      }
    }
    for (const ConstTable* table : tables) names.insert(table->name);
    std::map<std::string, std::vector<ConstTable>> versions;  // by the name that is written
    for (ConstTable* table : tables) {
      std::vector<ConstTable>& known = versions[table->name];
      const auto version = std::ranges::find_if(known, [&](const ConstTable& other) {
        return other.element == table->element && other.contents == table->contents;
      });
      if (version != known.end()) {
        table->name = version->name;
        continue;
      }
      const std::string name = table->name;
      for (std::size_t number = known.size() + 1; number > 1 && names.contains(table->name);
           ++number) {
        table->name = name + "_" + std::to_string(number);
      }
      names.insert(table->name);
      known.push_back(*table);
    }
  }

  // --- Items ---

  void begin_item(Body& body) {
    item_sound_ = item_typed_ = true;
    begin_values(body);
    positions_ = {};
    positions_.heads.push_back(token_.span.begin);
    names_ = {};
    bindings_.clear();
    scope_.clear();
    open_.clear();
    suspect_.reset();
    rounds_ = 0;
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

  // `const NAME = e` or `const NAME: T = e`; a table where e is a list.
  void parse_const() {
    parsed_.heads.push_back(token_.span.begin);
    advance();
    std::string_view name;
    Span span;
    item_sound_ = true;
    item_name_ = "a constant";
    positions_ = {};
    DataType type = DataType::Unknown;
    const bool parsed = parse_new_name(name, span, "a name for the constant") &&
                        (!accept(Tok::Colon) || parse_variable_type(type)) &&
                        expect<message::constant_value>(Tok::Assign);
    Constant constant;
    const bool made = parsed && (at(Tok::LBracket) ? parse_table(name, type, constant)
                                                   : parse_named(name, type, constant));
    if (!made) {
      const ConstantScope scope(*this);
      constant = unknown_constant();
    }
    if (is_reserved(name)) complain<message::reserved_name>(span, name);
    constant.name = name;
    constant.span = span;
    const Constant* const before = constants_.own(name);
    if (before != nullptr) {
      Diagnostic twice = diagnose<message::duplicate_item>(shorten(name));
      twice.notes = {"  the first one is at {place}"};
      parsed_.findings.add(std::move(twice), span, before->span);
    } else if (!name.empty()) {
      constants_.add(std::move(constant));
    }
    if (failed_) skip_to_item();
  }

  // In place of one that is wrong, which is reported where it is declared.
  Constant unknown_constant() const {
    return {{}, {}, {}, interner_->local({}), DataType::Unknown, 1};
  }

  // Whether a constant may have the type that is stated, and has it. Reports what is wrong.
  bool check_stated_type(std::string_view name, DataType stated, DataType given) {
    if (const auto error = variable_error("constant `" + shorten(name) + "`", stated)) {
      parsed_.findings.add(*error, name_span(name));
      return false;
    }
    if (stated == given) return true;
    complain<message::stated_type>(name_span(name), shorten(name), stated, given);
    return false;
  }
  // Of a name that is a view of the source.
  Span name_span(std::string_view name) const {
    const auto begin = static_cast<std::uint32_t>(name.data() - source_.text.data());
    return {begin, begin + static_cast<std::uint32_t>(name.size())};
  }

  // The expression of a constant, which may stay without a type.
  bool parse_named(std::string_view name, DataType type, Constant& constant) {
    const ConstantScope scope(*this);
    Value value;
    if (!parse_value(value)) return false;
    if (type != DataType::Unknown) settle(value, type);
    drop_dead_uses(value.first_use);
    const std::size_t uses = positions_.uses.size() - value.first_use;
    constant = {{}, {}, {}, value.id, value.type, static_cast<std::uint32_t>(uses)};
    if (is_bare(value.type)) return true;
    const std::optional<TypedBits> bits = folded(value);
    return bits && bits->type != DataType::Unknown &&
           (type == DataType::Unknown || check_stated_type(name, type, value.type));
  }

  // The elements of a table, in the type of those that have one.
  bool parse_table(std::string_view name, DataType type, Constant& constant) {
    const ConstantScope scope(*this);
    advance();
    std::vector<Value> elements;
    while (!at(Tok::RBracket)) {
      if (!parse_value(elements.emplace_back())) return false;
      if (elements.size() > kMaxTableCount) {
        return fail<message::table_size>(name_span(name), shorten(name));
      }
      if (!accept(Tok::Comma)) break;
    }
    if (!expect<message::table_end>(Tok::RBracket)) return false;
    DataType element = element_type(type);
    for (const Value& each : elements) {
      if (is_array(each.type)) {
        complain<message::nested_array>(each.span);
        return false;
      }
      if (element == DataType::Unknown && !is_bare(each.type)) element = each.type;
    }
    if (element == DataType::Unknown) element = DataType::U32;
    if (const auto error = table_error(shorten(name), element, elements.size())) {
      parsed_.findings.add(*error, name_span(name));
      return false;
    }
    std::vector<std::byte> bytes;
    for (Value& each : elements) {
      if (!add_element(each, element, bytes)) return false;
    }
    const auto count = static_cast<std::uint32_t>(elements.size());
    if (is_array(type) && count != element_count(type)) {
      complain<message::table_count>(name_span(name), shorten(name), count, element_count(type));
    } else if (type != DataType::Unknown && !is_array(type)) {
      return check_stated_type(name, type, array_type(loaded_type(element), count));
    }
    constant.table = ConstTable{std::string(name), element, Contents(std::move(bytes))};
    constant.uses = 1;
    return true;
  }

  bool add_element(Value& value, DataType element, std::vector<std::byte>& bytes) {
    const bool is_number = is_bare(value.type);
    settle(value, loaded_type(element));
    drop_dead_uses(value.first_use);
    const std::optional<TypedBits> bits = folded(value);
    if (!bits || bits->type == DataType::Unknown) return false;
    const auto lanes = std::as_bytes(std::span(bits->bits.lanes));
    bytes.insert(bytes.end(), lanes.begin(), lanes.begin() + stride(element));
    if (bits->type == loaded_type(element) && kept_by(element, bits->bits) == bits->bits) {
      return true;
    }
    is_number ? complain_range(value.span, lexer_.text(value.span), element)
              : complain<message::table_element>(value.span, text(element));
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
    finish_values(0);
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
    output_ = op.signature.output;
    own_.emplace(op.id, op.signature);
    parse_body();
    finish_values(op.signature.inputs.size());
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
      const LocalId local = declare(name, DataType::Unknown);
      if (!expect<message::parameter_colon>(Tok::Colon) ||
          !parse_variable_type(op.signature.inputs.back())) {
        return false;
      }
      locals_[local.index].type = op.signature.inputs.back();
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
        if (!parse_law_argument(law, value_type(law, op.signature))) return false;
      } while (accept(Tok::Comma));
      if (!expect<message::law_end>(Tok::RParen)) return false;
    }
    if (row != nullptr) {
      op.laws.push_back(std::move(law));
      positions_.laws.push_back({span.begin, previous_.span.end});
    }
    return true;
  }

  // The type of a value that a law names.
  static DataType value_type(const Law& law, const OpSignature& signature) {
    const bool is_binary = signature.inputs.size() == 2;
    if (is_binary && law.kind == LawKind::LeftIdentity) return signature.inputs[0];
    if (is_binary && law.kind == LawKind::RightIdentity) return signature.inputs[1];
    return signature.output;
  }

  bool parse_law_argument(Law& law, DataType type) {
    // A word is a direction or an op, where it is no constant and no function.
    const bool is_word = at(Tok::Name) && token_.word == Word::None;
    const bool is_value = is_word ? constants_.find(spelling()) != nullptr || at_call()
                                  : at_constant() && spelling() != "bytes";
    if (!is_value || before_dot()) return parse_word_argument(law);
    TypedBits value;
    if (!parse_constant(value, type)) return false;
    const DataType given = value.type == DataType::Unknown ? type : value.type;
    law.arguments.emplace_back(TypedBits{given, value.bits});
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

  // --- Signatures ---

  // Of an op of the file, which may come later, or of another one.
  const OpSignature* find(std::string_view id) {
    if (const auto own = own_.find(id); own != own_.end()) return &own->second;
    // One that is there and here has one signature, or is V039.
    if (const OpSignature* other = others_ ? others_(id) : nullptr) return other;
    if (std::exchange(has_scanned_, true)) return nullptr;
    Parsed ignored;
    Parser headers(source_, ignored, others_);
    headers.has_scanned_ = true;
    headers.for_each_file(*uses_of_files_, [&](Source::File file) { headers.scan(file); });
    own_.merge(headers.own_);
    const auto own = own_.find(id);
    return own != own_.end() ? &own->second : nullptr;
  }

  // Reads constants and the headers of ops, and skips all bodies.
  void scan(Source::File file) {
    enter(file);
    while (!at(Tok::End) && !stopped_) {
      if (at_const()) {
        parse_const();
        continue;
      }
      Op op;
      begin_item(op.body);
      int depth = 0;
      if (!at_word(Word::Op)) {
        advance();
      } else if (parse_op_header(op)) {
        own_.emplace(op.id, op.signature);
        depth = 1;
      }
      const auto at_next = [&] {
        return depth == 0 && (at_const() || at_word(Word::Op) || at_word(Word::Program));
      };
      for (; !at(Tok::End) && !at_item() && !at_next(); advance()) {
        depth += at(Tok::LBrace) - at(Tok::RBrace);
      }
    }
  }

  std::map<std::string, OpSignature, std::less<>> own_;  // of the ops of the file, as far as known
  bool has_scanned_ = false;                             // all of them
  const FindSignature& others_;
  const FindSignature find_ = [this](std::string_view id) { return find(id); };
  const FileUses* uses_of_files_ = nullptr;
  std::vector<Use> uses_;  // of the file at hand
};

}  // namespace

Parsed parse_source(const Source& source, const FindSignature& find, const FileUses& uses) {
  Parsed parsed;
  Parser(source, parsed, find).parse_all(uses);
  return parsed;
}

std::vector<Use> uses_of(const Source& source, Source::File file) {
  Parsed parsed;
  const FindSignature none;
  return Parser(source, parsed, none).uses(file);
}

Result<Module> parse(std::string_view text, std::string_view file, const FindSignature& find) {
  const Source source{std::string(file), std::string(text)};
  Parsed parsed = parse_source(source, find);
  if (parsed.findings.empty()) return std::move(parsed.module);
  return std::move(parsed.findings).located(source);
}

}  // namespace vyre
