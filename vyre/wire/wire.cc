// The format is described once: Format lists the fields of each part in their order, and a Writer
// or a Reader goes over them.
//
// The Writer relies on the canonical numbering of what it is given; the only things it finds wrong
// are texts, laws and sizes that the format cannot express. The Reader takes bytes that may be
// anything. It compares every count with the bytes that are left before it allocates something for
// it, nothing recurses, and the work is linear. It accepts only what the Writer writes, so that a
// module has one encoding.
#include "vyre/wire/wire.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/wire/format.h"

namespace vyre {
namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

template <class Enum>
using OfTag = std::optional<Enum> (*)(std::uint32_t tag);

template <class Enum, Enum kLast>
std::optional<Enum> up_to(std::uint32_t tag) {
  if (tag < 1 || tag > static_cast<std::uint32_t>(kLast)) return {};
  return static_cast<Enum>(tag);
}

// What a text that begins at byte `at` must not have: only UTF-8 without control characters is
// written.
std::optional<Diagnostic> text_problem(std::string_view text, std::size_t at) {
  if (const std::size_t bad = first_invalid_utf8(text); bad < text.size()) {
    return diagnose<message::bad_text>("text", at + bad);
  }
  if (const std::size_t bad = first_control(text); bad < text.size()) {
    return diagnose<message::control_in_text>(at + bad, hex_byte(text[bad]));
  }
  return {};
}

// --- Two directions -----------------------------------------------------------------------------

class Writer {
 public:
  static constexpr bool kReads = false;

  std::string bytes;
  std::optional<Diagnostic> problem;  // the first one

  bool ok() const { return true; }
  std::size_t at() const { return bytes.size(); }

  template <class Message, class... Arguments>
  void fail(const Arguments&... arguments) {
    if (!problem) problem = diagnose<Message>(arguments...);
  }
  void require(bool, std::string_view, std::size_t) {}
  void set_inside(std::string_view) {}

  void word(std::size_t value) {
    char little_endian[4];
    store_word(little_endian, static_cast<std::uint32_t>(value));
    bytes.append(little_endian, 4);
  }
  void reference(std::string_view, std::uint32_t index, [[maybe_unused]] std::size_t size) {
    assert(index < size);
    word(index);
  }
  template <class Tag>
  bool is_some(Id<Tag> id) {
    if (!id.exists()) word(kWireNone);
    return id.exists();
  }
  void text(std::string_view text) {
    word(text.size());
    if (!problem) problem = text_problem(text, at());
    bytes.append(text);
    bytes.resize(padded(bytes.size()));
  }
  void table(const ConstTable& table) {
    const std::vector<std::byte>& all = table.contents.bytes();
    word(all.size());
    bytes.append(reinterpret_cast<const char*>(all.data()), all.size());
    bytes.resize(padded(bytes.size()));
  }
  template <class Enum>
  void tag(std::string_view, Enum value, OfTag<Enum>) {
    word(static_cast<std::uint32_t>(value));
  }
  template <class Enum>
  bool head(std::string_view, Enum value, OfTag<Enum>, std::uint8_t detail) {
    word(static_cast<std::uint32_t>(value) | std::uint32_t{detail} << 8);
    return true;
  }
  std::size_t count(std::string_view, std::size_t, std::size_t size) {
    word(size);
    return size;
  }
  template <class T>
  void each(const std::vector<T>& list, std::size_t, auto fields) {
    for (const T& entry : list) fields(entry);
  }
};

// After a failure every word reads as zero and every count as none; the loops also stop.
class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(std::string_view bytes) : bytes_(bytes), end_(bytes.size()) {}

  std::optional<Diagnostic> problem;

  bool ok() const { return !problem; }
  std::size_t at() const { return at_; }
  std::size_t left() const { return end_ - at_; }

  template <class Message, class... Arguments>
  void fail(const Arguments&... arguments) {
    if (ok()) stop(diagnose<Message>(arguments...));
  }
  void stop(Diagnostic diagnostic) {
    problem = std::move(diagnostic);
    end_ = at_;
  }
  void fail_truncated() { fail<message::truncated>(end_, inside_); }
  // Otherwise the bytes that end `back` before here are not what the Writer writes.
  void require(bool holds, std::string_view what, std::size_t back) {
    if (!holds) fail<message::not_canonical>(what, at_ - back);
  }
  void set_inside(std::string_view inside) { inside_ = inside; }

  std::uint32_t word() {
    if (left() < 4) {
      fail_truncated();
      return 0;
    }
    at_ += 4;
    return load_word(bytes_.data() + at_ - 4);
  }
  void word(std::uint32_t& value) { value = word(); }
  std::uint64_t double_word() {
    const std::uint64_t low = word();
    return low | std::uint64_t{word()} << 32;
  }
  // An index into a table of `size` entries.
  void reference(std::string_view what, std::uint32_t& index, std::size_t size) {
    index = word();
    if (index < size) return;
    fail<message::bad_reference>(what, index, at_ - 4, size);
    index = 0;
  }
  // Skips the word that stands for nothing, if it is next.
  template <class Tag>
  bool is_some(Id<Tag>&) {
    if (left() < 4 || load_word(bytes_.data() + at_) != kWireNone) return true;
    at_ += 4;
    return false;
  }
  void text(std::string& out) {
    const std::size_t size = word();
    if (size > left() || padded(size) > left()) return fail_truncated();
    const std::string_view text = bytes_.substr(at_, size);
    if (std::optional<Diagnostic> wrong = text_problem(text, at_)) return stop(*std::move(wrong));
    skip_padded(size);
    out = text;
  }
  // The elements of a table whose name and type have been read.
  void table(ConstTable& table) {
    const std::size_t size = word();
    if (size > left() || padded(size) > left()) return fail_truncated();
    const auto* begin = reinterpret_cast<const std::byte*>(bytes_.data() + at_);
    const std::size_t each = stride(table.element);
    require(size > 0 && size % each == 0, "a table without elements, or with a part of one", 4);
    require(size <= kMaxTableBytes && size / each <= kMaxTableCount, "a table that is too large",
            4);
    if (!ok()) return;
    skip_padded(size);
    if (ok()) table.contents = Contents({begin, begin + size});
  }
  // A word that is a tag and nothing else.
  template <class Enum>
  void tag(std::string_view what, Enum& value, OfTag<Enum> of_tag) {
    const std::uint32_t tag = word();
    const std::optional<Enum> known = of_tag(tag);
    if (!known) return fail<message::bad_tag>(what, tag, at_ - 4);
    value = *known;
  }
  // A word that begins a record: a tag and what its second byte says.
  template <class Enum>
  bool head(std::string_view what, Enum& value, OfTag<Enum> of_tag, std::uint8_t& detail) {
    const std::uint32_t head = word();
    const std::optional<Enum> known = of_tag(head & 0xff);
    if (!known) fail<message::bad_tag>(what, head & 0xff, at_ - 4);
    require(head >> 16 == 0, "bits that are reserved", 4);
    value = known.value_or(value);
    detail = static_cast<std::uint8_t>(head >> 8);
    return ok();
  }
  // A count of records that take at least `least` bytes each.
  std::size_t count(std::string_view inside, std::size_t least, std::size_t) {
    if (!inside.empty()) inside_ = inside;
    const std::uint32_t count = word();
    if (count <= left() / least) return count;
    fail_truncated();
    return 0;
  }
  template <class T>
  void each(std::vector<T>& list, std::size_t count, auto fields) {
    list.reserve(count);
    for (std::size_t i = 0; ok() && i < count; ++i) fields(list.emplace_back());
  }

  // Returns the number of items.
  std::uint32_t header() {
    inside_ = "the header";
    const std::string_view start = bytes_.substr(0, kWireMagic.size());
    if (start.empty() || !kWireMagic.starts_with(start)) fail<message::bad_magic>();
    if (start.size() < kWireMagic.size()) fail_truncated();
    if (!ok()) return 0;
    at_ = kWireMagic.size();
    const std::uint32_t version = word();
    if (ok() && version != kWireVersion) fail<message::bad_version>(version, kWireVersion);
    const std::uint32_t items = word();
    const std::uint64_t size = double_word();
    const std::uint64_t checksum = double_word();
    if (!ok()) return 0;
    inside_ = "the items";
    if (size > bytes_.size()) fail_truncated();
    if (size < bytes_.size()) fail<message::trailing_bytes>(bytes_.size() - size);
    if (ok() && checksum != wire_checksum(bytes_.substr(at_))) fail<message::bad_digest>();
    return ok() ? items : 0;
  }

  // Calls fields() with the end of the item as the end of all.
  void item(std::size_t size, auto fields) {
    const std::size_t file_end = end_;
    end_ = at_ + size;
    fields();
    require(left() == 0, "an item that is longer than its fields", 0);
    if (ok()) end_ = file_end;
  }

 private:
  void skip_padded(std::size_t size) {
    const std::string_view padding = bytes_.substr(at_ + size, padded(size) - size);
    at_ += padded(size);
    require(padding.find_first_not_of('\0') == padding.npos, "padding that is not zero",
            padding.size());
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t end_;  // of the item at hand
  std::string_view inside_;
};

// --- The format ---------------------------------------------------------------------------------

// The kinds of a law's arguments are not written: its tag implies them.
LawArgument blank_argument(char kind) {
  if (kind == 'o') return std::string();
  if (kind == 'd') return Direction::NonDecreasing;
  return TypedBits{kind == 'b' ? DataType::Bool : DataType::U32, {}};
}

bool has_its_arguments(const Law& law) {
  return std::ranges::equal(
      law.arguments, info(law.kind).arguments, [](const LawArgument& argument, char kind) {
        if (argument.index() != blank_argument(kind).index()) return false;
        const TypedBits* value = std::get_if<TypedBits>(&argument);
        return value == nullptr ||
               (is_value(*value) && (kind != 'b' || value->type == DataType::Bool));
      });
}

Stmt blank_statement(StatementTag kind) {
  switch (kind) {
#define STATEMENT(name, tag, meaning) \
  case StatementTag::name: return name{};
#include "vyre/ir/ops.def"
  }
  return Barrier{};
}

template <class Wire>
class Format {
 public:
  // What is read is changed.
  template <class T>
  using Part = std::conditional_t<Wire::kReads, T, const T>;

  Format(Wire& wire, bool has_tables) : wire_(wire), has_tables_(has_tables) {}

  void fields(Part<Program>& program) {
    wire_.set_inside("a program");
    wire_.text(program.name);
    for (auto& size : program.workgroup_size) wire_.word(size);
    list("the buffers", 20, program.buffers, [&](Part<BufferDecl>& buffer) {
      wire_.text(buffer.name);
      wire_.tag("access", buffer.access, &up_to<BufferAccess, BufferAccess::Workgroup>);
      type(buffer.element);
      wire_.word(buffer.binding);
      wire_.word(buffer.count);
      wire_.require(buffer.access != BufferAccess::Workgroup || buffer.binding == 0,
                    "a binding of a workgroup buffer", 8);
    });
    fields(program.body, program.buffers.size(), 0);
  }

  void fields(Part<Op>& op) {
    wire_.set_inside("an op");
    wire_.text(op.id);
    wire_.text(op.description);
    list("the inputs", 4, op.signature.inputs,
         [&](Part<DataType>& input) { variable_type(input); });
    variable_type(op.signature.output);
    list("the laws", 4, op.laws, [&](Part<Law>& law) { fields(law); });
    fields(op.body, 0, op.signature.inputs.size());
  }

 private:
  template <class List>
  void list(std::string_view inside, std::size_t least, List& entries, auto entry) {
    wire_.each(entries, wire_.count(inside, least, entries.size()), entry);
  }
  void type(Part<DataType>& type) { wire_.tag("type", type, &type_of_tag); }

  // The type of a parameter or result: an array is a tag of its own, the elements' type and count.
  void variable_type(DataType& type) { variable_type_of(type); }
  void variable_type(const DataType& type) { variable_type_of(type); }
  void variable_type_of(auto& type) {
    std::uint32_t element = static_cast<std::uint32_t>(element_type(type));
    std::uint32_t count = element_count(type);
    std::uint32_t tag = count != 0 ? kWireArray : element;
    wire_.word(tag);
    if (tag == kWireArray) {
      wire_.word(element);
    } else {
      element = tag;
    }
    if (!type_of_tag(element)) {
      return wire_.template fail<message::bad_tag>("type", element, wire_.at() - 4);
    }
    if (tag == kWireArray) {
      wire_.word(count);
      wire_.require(count - 1 < kMaxTableCount, "an array without elements, or with too many", 4);
    }
    if constexpr (Wire::kReads) {
      type = array_type(static_cast<DataType>(element), tag == kWireArray ? count : 0);
    }
  }

  void fields(Part<Law>& law) {
    if constexpr (!Wire::kReads) {
      if (!has_its_arguments(law)) {
        wire_.template fail<message::not_canonical>("a law with arguments that it does not take",
                                                    wire_.at());
        return;
      }
    }
    wire_.tag("law", law.kind, &law_of_tag);
    const std::string_view kinds = info(law.kind).arguments;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if constexpr (Wire::kReads) law.arguments.push_back(blank_argument(kinds[i]));
      std::visit(Overloaded{[&](Part<std::string>& id) { wire_.text(id); },
                            [&](Part<Direction>& direction) {
                              wire_.tag("direction", direction,
                                        &up_to<Direction, Direction::NonIncreasing>);
                            },
                            [&](Part<TypedBits>& value) {
                              if (kinds[i] != 'b') type(value.type);
                              for (std::size_t k = 0; k < words(value.type); ++k) {
                                wire_.word(value.bits.lanes[k]);
                              }
                              wire_.require(value.type != DataType::Bytes, "a value of type bytes",
                                            4);
                              if (value.type == DataType::Bool) check_bool(value.bits.lanes[0]);
                            }},
                 law.arguments[i]);
    }
  }

  // The word that comes last.
  void check_bool(std::uint32_t word) {
    wire_.require(word <= 1, "a bool that is neither 0 nor 1", 4);
  }

  void fields(Part<Body>& body, std::size_t buffers, std::size_t parameters) {
    body_ = &body;
    buffers_ = buffers;
    const std::size_t begin = wire_.at();
    const std::size_t locals = wire_.count("the locals", 4, body.locals.size());
    if (locals < parameters) {
      wire_.template fail<message::bad_reference>("parameter", locals, wire_.at() - 4, locals);
    }
    wire_.each(body.locals, locals, [&](Part<Local>& local) { wire_.text(local.name); });
    list("the constants", 16, body.constants, [&](Part<Bits>& bits) {
      for (auto& lane : bits.lanes) wire_.word(lane);
    });
    if (has_tables_) {
      list("the tables", 12, body.tables, [&](Part<ConstTable>& table) { fields(table); });
      wire_.require(!body.tables.empty(), "an item that says that it has tables", 4);
    }
    list("the callees", 4, body.callees, [&](Part<std::string>& id) { wire_.text(id); });
    list("the expressions", 4, body.exprs, [&](Part<Expr>& expr) { fields(expr); });

    const std::size_t statements = wire_.count("the statements", 4, body.stmts.size());
    next_local_ = static_cast<std::uint32_t>(parameters);
    ends_.assign(1, static_cast<std::uint32_t>(statements));
    wire_.each(body.stmts, statements, [&](Part<Stmt>& stmt) { fields(stmt); });
    if (!wire_.ok()) return;
    wire_.require(next_local_ == body.locals.size(), "a local without declaration", 0);
    if constexpr (Wire::kReads) {
      wire_.require(canonical(body, static_cast<std::uint32_t>(parameters)) == body,
                    "a body that is not in canonical form", wire_.at() - begin);
    }
  }

  void fields(Part<ConstTable>& table) {
    wire_.text(table.name);
    type(table.element);
    wire_.require(table.element != DataType::Bytes, "a table of bytes", 4);
    if (!wire_.ok()) return;
    wire_.table(table);
    if constexpr (Wire::kReads) {
      if (table.element != DataType::Bool) return;
      const auto* words = reinterpret_cast<const char*>(table.contents.bytes().data());
      for (std::size_t i = 0; wire_.ok() && i < table.contents.bytes().size(); i += 4) {
        wire_.require(load_word(words + i) <= 1, "a bool that is neither 0 nor 1",
                      table.contents.bytes().size() - i);
      }
    }
  }

  void fields(Part<Expr>& expr) {
    if (!wire_.head("operation", expr.op, &operation_of_tag, expr.detail)) return;
    const auto bad_detail = [&](std::string_view what) {
      wire_.template fail<message::bad_tag>(what, expr.detail, wire_.at() - 3);
    };
    const auto no_detail = [&] {
      wire_.require(expr.detail == 0, "a detail of an operation without", 4);
    };
    switch (expr.op) {
      case Operation::Literal:
      case Operation::Cast:
        if (!type_of_tag(expr.detail)) return bad_detail("type");
        if (expr.op == Operation::Literal) literal(expr);
        break;
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::NumWorkgroups:
        if (expr.detail > 2) return bad_detail("axis");
        break;
      case Operation::Lane:
        if (expr.detail > 3) return bad_detail("lane");
        break;
      case Operation::Local:
        no_detail();
        wire_.reference("local", expr.imm, body_->locals.size());
        break;
      case Operation::Load:
      case Operation::Length:
        no_detail();
        wire_.reference("buffer", expr.imm, buffers_);
        break;
      case Operation::Call:
        no_detail();
        wire_.reference("callee", expr.imm, body_->callees.size());
        break;
      case Operation::Table:
        no_detail();
        wire_.reference("table", expr.imm, body_->tables.size());
        break;
      case Operation::Zeros: {
        no_detail();
        auto type = static_cast<DataType>(expr.imm);
        variable_type(type);
        wire_.require(is_array(type), "zeros that are not an array", 4);
        if constexpr (Wire::kReads) expr.imm = static_cast<std::uint32_t>(type);
        break;
      }
      case Operation::Array:
      case Operation::Element:
      case Operation::Count:
      case Operation::Select:
      case Operation::Vec2:
      case Operation::Vec4:
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
        no_detail();
        break;
    }
    auto* args = expr.args.data();
    std::size_t count = operands(*body_, expr).size();
    if (has_operand_list(expr.op)) {
      if (expr.op != Operation::Vec4) count = wire_.count({}, 4, count);
      wire_.require(expr.op != Operation::Array || count > 0, "an array without elements", 4);
      if constexpr (Wire::kReads) {
        if (expr.op == Operation::Vec4) count = 4;
        expr.args[0] = ExprId{body_->operands.size()};
        expr.args[1] = ExprId{count};
        body_->operands.resize(body_->operands.size() + count);
      }
      args = body_->operands.data() + expr.args[0].index;
    }
    const auto self = static_cast<std::size_t>(&expr - body_->exprs.data());
    for (std::size_t i = 0; i < count; ++i) wire_.reference("operand", args[i].index, self);
  }

  // The immediate of a literal: its bits, or where they are.
  void literal(Part<Expr>& expr) {
    const DataType type = type_of_detail(expr);
    wire_.require(!is_vector(type) && type != DataType::Bytes,
                  "a literal of a type without literals", 4);
    if (!is_wide(type)) {
      wire_.word(expr.imm);
      if (type == DataType::Bool) check_bool(expr.imm);
      return;
    }
    wire_.reference("constant", expr.imm, body_->constants.size());
    for (std::size_t i = words(type); wire_.ok() && i < 4; ++i) {
      wire_.require(body_->constants[expr.imm].lanes[i] == 0,
                    "a literal with more bits than its type", 4);
    }
  }

  // --- Statements ---

  void fields(Part<Stmt>& stmt) {
    const auto number = static_cast<std::uint32_t>(&stmt - body_->stmts.data());
    while (ends_.back() == number) ends_.pop_back();
    after_ = number + 1;
    auto kind = static_cast<StatementTag>(stmt.index() + 1);
    std::uint8_t detail = std::visit(
        [](const auto& s) -> std::uint8_t {
          if constexpr (requires { s.op; }) return static_cast<std::uint8_t>(s.op);
          return 0;
        },
        stmt);
    if (!wire_.head("statement", kind, &up_to<StatementTag, StatementTag::Collective>, detail)) {
      return;
    }
    if constexpr (Wire::kReads) {
      stmt = blank_statement(kind);
      const auto set = [&](std::string_view what, auto& op, auto known) {
        if (!known) return wire_.template fail<message::bad_tag>(what, detail, wire_.at() - 3);
        op = *known;
      };
      if (Atomic* atomic = std::get_if<Atomic>(&stmt)) {
        set("atomic", atomic->op, atomic_of_tag(detail));
      } else if (Collective* collective = std::get_if<Collective>(&stmt)) {
        set("collective", collective->op, collective_of_tag(detail));
      } else {
        wire_.require(detail == 0, "bits that are reserved", 4);
      }
    }
    std::visit([&](auto& each) { fields(each); }, stmt);
  }

  void fields(Part<Let>& let) {
    declaration(let.local);
    value(let.value);
  }
  void fields(Part<Assign>& assign) {
    wire_.reference("local", assign.local.index, body_->locals.size());
    value(assign.value);
  }
  void fields(Part<Store>& store) {
    buffer(store.buffer);
    value(store.index);
    value(store.value);
  }
  void fields(Part<Atomic>& atomic) {
    if (wire_.is_some(atomic.result)) declaration(atomic.result);
    buffer(atomic.buffer);
    value(atomic.index);
    if (info(atomic.op).operands == 2) value(atomic.expected);
    if (info(atomic.op).operands > 0) value(atomic.value);
    wire_.require(atomic.op != AtomicOp::Store || !atomic.result.exists(),
                  "a result of atomic_store", 16);
  }
  void fields(Part<SetElement>& set) {
    wire_.reference("local", set.local.index, body_->locals.size());
    value(set.index);
    value(set.value);
  }
  void fields(Part<Collective>& collective) {
    declaration(collective.result);
    value(collective.value);
    if (info(collective.op).chooses()) value(collective.invocation);
  }
  void fields(Part<If>& branch) {
    value(branch.condition);
    block_end(branch.else_begin, after_);
    block_end(branch.end, branch.else_begin.index);
    ends_.insert(ends_.end(), {branch.end.index, branch.else_begin.index});
  }
  void fields(Part<For>& loop) {
    declaration(loop.variable);
    value(loop.from);
    value(loop.to);
    block_end(loop.end, after_);
    ends_.push_back(loop.end.index);
  }
  void fields(Part<Block>& block) {
    block_end(block.end, after_);
    ends_.push_back(block.end.index);
  }
  void fields(Part<Return>& result) {
    if (wire_.is_some(result.value)) value(result.value);
  }
  void fields(const Break&) {}
  void fields(const Continue&) {}
  void fields(const Barrier&) {}

  void value(Part<ExprId>& id) { wire_.reference("expression", id.index, body_->exprs.size()); }
  void buffer(Part<BufferId>& id) { wire_.reference("buffer", id.index, buffers_); }

  // Checked here and not only with the whole body, of which a local that many statements declare
  // would make a large copy.
  void declaration(Part<LocalId>& id) {
    wire_.reference("local", id.index, body_->locals.size());
    wire_.require(id.index == next_local_++, "a local out of order", 4);
  }

  // The end of a block that begins with statement `begin`; it ends inside the one around it.
  void block_end(Part<StmtId>& id, std::uint32_t begin) {
    const std::uint32_t limit = ends_.back();
    wire_.reference("block end", id.index, limit + std::size_t{1});
    if (id.index < begin) {
      wire_.template fail<message::bad_reference>("block end", id.index, wire_.at() - 4, limit);
    }
  }

  Wire& wire_;
  const bool has_tables_;
  // Of the body at hand.
  Part<Body>* body_ = nullptr;
  std::size_t buffers_ = 0;
  std::uint32_t next_local_ = 0;
  std::uint32_t after_ = 0;          // the number of the statement that follows
  std::vector<std::uint32_t> ends_;  // of the blocks around it, innermost last
};

void write(Writer& writer, ItemTag plain, ItemTag with_tables, std::string_view name,
           const auto& item) {
  const bool has_tables = !item.body.tables.empty();
  writer.word(static_cast<std::size_t>(has_tables ? with_tables : plain));
  writer.word(0);  // the length, once it is known
  const std::size_t begin = writer.at();
  Format<Writer>(writer, has_tables).fields(item);
  const std::size_t size = writer.at() - begin;
  store_word(writer.bytes.data() + begin - 4, static_cast<std::uint32_t>(size));
  if (size > kMaxEncodedBytes) writer.fail<message::too_large>(shorten(name), size);
}
void write(Writer& writer, const Program& program) {
  write(writer, ItemTag::Program, ItemTag::ProgramWithTables, program.name, program);
}
void write(Writer& writer, const Op& op) {
  write(writer, ItemTag::Op, ItemTag::OpWithTables, op.id, op);
}
void write(Writer& writer, const Module& module) {
  for (const Item& item : module.items) {
    std::visit([&](const auto& each) { write(writer, each); }, item);
  }
}

void write(Writer& writer, const Linked::Ops& ops) {
  for (const auto& op : ops) write(writer, *op);
}

void read(Reader& reader, Module& module) {
  reader.set_inside("an item");
  const std::uint32_t kind = reader.word();
  const std::size_t size = reader.word();
  if (size > reader.left()) return reader.fail_truncated();
  if (size > kMaxEncodedBytes) {
    return reader.fail<message::too_large>("item " + std::to_string(module.items.size()), size);
  }
  const std::optional<ItemTag> known = up_to<ItemTag, ItemTag::OpWithTables>(kind);
  if (!known) return reader.fail<message::bad_tag>("item", kind, reader.at() - 8);
  Item& item = module.items.emplace_back();
  if (*known == ItemTag::Op || *known == ItemTag::OpWithTables) item = Op();
  const bool has_tables = *known == ItemTag::ProgramWithTables || *known == ItemTag::OpWithTables;
  const auto fields = [&](auto& each) { Format<Reader>(reader, has_tables).fields(each); };
  reader.item(size, [&] { std::visit(fields, item); });
}

// The XXH3-128 of what was written.
std::string digest_of(const auto&... parts) {
  Writer writer;
  (write(writer, parts), ...);
  const XXH128_hash_t hash = XXH3_128bits(writer.bytes.data(), writer.bytes.size());
  return hex(hash.high64, 16) + hex(hash.low64, 16);
}

}  // namespace

bool is_wire(std::string_view bytes) { return bytes.starts_with(kWireMagic.substr(0, 5)); }

std::uint64_t wire_checksum(std::string_view items) { return XXH64(items.data(), items.size(), 0); }

Result<std::string> encode(const Module& module) {
  Writer items;
  write(items, module);
  if (items.problem) return *std::move(items.problem);
  const std::uint64_t size = kWireHeaderBytes + items.bytes.size();
  const std::uint64_t checksum = wire_checksum(items.bytes);
  Writer file;
  file.bytes = kWireMagic;
  for (std::size_t word : {std::size_t{kWireVersion}, module.items.size()}) file.word(word);
  for (std::uint64_t number : {size, checksum}) {
    file.word(number);
    file.word(number >> 32);
  }
  return file.bytes + items.bytes;
}

Result<Module> decode(std::string_view bytes, std::string_view file) {
  Reader reader(bytes);
  Module module;
  const std::uint32_t items = reader.header();
  constexpr std::size_t kLeastItem = 48;  // every text and table empty
  module.items.reserve(std::min<std::size_t>(items, reader.left() / kLeastItem));
  while (reader.ok() && module.items.size() < items) read(reader, module);
  if (reader.ok() && reader.left() > 0) reader.fail<message::trailing_bytes>(reader.left());
  if (reader.ok()) return module;
  reader.problem->file = file;
  return *std::move(reader.problem);
}

std::string digest(const Module& module) { return digest_of(module); }
std::string digest(const Program& program) { return digest_of(program); }
std::string digest_with_ops(const Linked& linked) {
  return digest_of(linked.program(), linked.ops());
}

}  // namespace vyre
