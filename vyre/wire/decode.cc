// Reads a module from bytes that may be anything. Every count is compared with the bytes that are
// left before something is allocated for it, nothing recurses, and the work is linear. It accepts
// only what encode() writes, so that a module has one encoding.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/wire/format.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

// After a failure every word reads as zero and every count as none; the loops also stop.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes), end_(bytes.size()) {}

  Result<Module> module(std::string_view file) {
    Module module;
    const std::uint32_t items = header();
    constexpr std::size_t kLeastItem = 48;  // every text and table empty
    module.items.reserve(std::min<std::size_t>(items, left() / kLeastItem));
    for (std::uint32_t i = 0; ok() && i < items; ++i) item(module, i);
    if (ok() && left() > 0) fail<message::trailing_bytes>(left());
    if (ok()) return module;
    problem_->file = file;
    return *std::move(problem_);
  }

 private:
  // --- Reading ----------------------------------------------------------------------------------

  bool ok() const { return !problem_; }
  std::size_t left() const { return end_ - at_; }

  template <class Message, class... Arguments>
  void fail(const Arguments&... arguments) {
    if (ok()) problem_ = diagnose<Message>(arguments...);
    end_ = at_;
  }
  void fail_truncated() { fail<message::truncated>(end_, inside_); }
  void fail_form(std::string_view what, std::size_t at) { fail<message::not_canonical>(what, at); }

  std::uint32_t word() {
    if (left() < 4) {
      fail_truncated();
      return 0;
    }
    at_ += 4;
    return load_word(bytes_.data() + at_ - 4);
  }

  std::uint64_t double_word() {
    const std::uint64_t low = word();
    return low | std::uint64_t{word()} << 32;
  }

  // A count of records that take at least `least` bytes each.
  std::uint32_t count(std::string_view inside, std::size_t least) {
    inside_ = inside;
    const std::uint32_t count = word();
    if (count <= left() / least) return count;
    fail_truncated();
    return 0;
  }

  // An index into a table of `size` entries.
  std::uint32_t reference(std::string_view what, std::size_t size) {
    const std::uint32_t index = word();
    if (index < size) return index;
    fail<message::bad_reference>(what, index, at_ - 4, size);
    return 0;
  }

  std::string_view text() {
    const std::size_t size = word();
    if (size > left() || padded(size) > left()) {
      fail_truncated();
      return {};
    }
    const std::string_view text = bytes_.substr(at_, size);
    if (const std::size_t bad = first_invalid_utf8(text); bad < size) {
      fail<message::bad_text>("text", at_ + bad);
      return {};
    }
    if (const std::size_t bad = first_control(text); bad < size) {
      fail<message::control_in_text>(at_ + bad, hex_byte(text[bad]));
      return {};
    }
    const std::string_view padding = bytes_.substr(at_ + size, padded(size) - size);
    if (padding.find_first_not_of('\0') != padding.npos) {
      fail_form("padding that is not zero", at_ + size);
      return {};
    }
    at_ += padded(size);
    return text;
  }

  // A word that is a tag and nothing else.
  template <class Enum>
  Enum tag(std::string_view what, std::optional<Enum> (*of_tag)(std::uint32_t), Enum otherwise) {
    const std::uint32_t tag = word();
    if (const std::optional<Enum> known = of_tag(tag)) return *known;
    fail<message::bad_tag>(what, tag, at_ - 4);
    return otherwise;
  }

  DataType type() { return tag("type", type_of_tag, DataType::U32); }

  // --- The file and its items -------------------------------------------------------------------

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

  void item(Module& module, std::uint32_t number) {
    inside_ = "an item";
    const std::uint32_t kind = word();
    const std::size_t size = word();
    if (size > left()) return fail_truncated();
    if (size > kMaxEncodedBytes) {
      return fail<message::too_large>("item " + std::to_string(number), size);
    }
    const std::size_t file_end = end_;
    const std::size_t begin = at_;
    end_ = begin + size;
    if (kind == static_cast<std::uint32_t>(ItemTag::Program)) {
      read(std::get<Program>(module.items.emplace_back(std::in_place_type<Program>)));
    } else if (kind == static_cast<std::uint32_t>(ItemTag::Op)) {
      read(std::get<Op>(module.items.emplace_back(std::in_place_type<Op>)));
    } else {
      return fail<message::bad_tag>("item", kind, begin - 8);
    }
    if (left() > 0) return fail_form("an item that is longer than its fields", at_);
    if (ok()) end_ = file_end;
  }

  void read(Program& program) {
    inside_ = "a program";
    program.name = text();
    for (std::uint32_t& size : program.workgroup_size) size = word();
    const std::uint32_t buffers = count("the buffers", 20);
    program.buffers.reserve(buffers);
    for (std::uint32_t i = 0; ok() && i < buffers; ++i) {
      BufferDecl& buffer = program.buffers.emplace_back();
      buffer.name = text();
      buffer.access = tag("access", access_of_tag, BufferAccess::ReadOnly);
      buffer.element = type();
      buffer.binding = word();
      buffer.count = word();
      if (buffer.access == BufferAccess::Workgroup && buffer.binding != 0) {
        fail_form("a binding of a workgroup buffer", at_ - 8);
      }
    }
    read(program.body, buffers, 0);
  }

  void read(Op& op) {
    inside_ = "an op";
    op.id = text();
    op.description = text();
    const std::uint32_t inputs = count("the inputs", 4);
    op.signature.inputs.reserve(inputs);
    for (std::uint32_t i = 0; ok() && i < inputs; ++i) op.signature.inputs.push_back(type());
    op.signature.output = type();
    const std::uint32_t laws = count("the laws", 4);
    op.laws.reserve(laws);
    for (std::uint32_t i = 0; ok() && i < laws; ++i) read(op.laws.emplace_back());
    read(op.body, 0, inputs);
  }

  void read(Law& law) {
    law.kind = tag("law", law_of_tag, LawKind::Commutative);
    law.arguments.reserve(info(law.kind).arguments.size());
    for (char kind : info(law.kind).arguments) {
      if (kind == 'o') {
        law.arguments.emplace_back(std::string(text()));
      } else if (kind == 'd') {
        law.arguments.emplace_back(tag("direction", direction_of_tag, Direction::NonDecreasing));
      } else {
        const std::size_t at = at_;
        TypedBits value{kind == 'b' ? DataType::Bool : type(), {}};
        for (std::size_t i = 0; i < words(value.type); ++i) value.bits.lanes[i] = word();
        if (value.type == DataType::Bytes) fail_form("a value of type bytes", at);
        if (value.type == DataType::Bool) check_bool(value.bits.lanes[0]);
        law.arguments.emplace_back(value);
      }
    }
  }

  static std::optional<BufferAccess> access_of_tag(std::uint32_t tag) {
    if (tag < 1 || tag > static_cast<std::uint32_t>(BufferAccess::Workgroup)) return {};
    return static_cast<BufferAccess>(tag);
  }

  static std::optional<Direction> direction_of_tag(std::uint32_t tag) {
    if (tag < 1 || tag > static_cast<std::uint32_t>(Direction::NonIncreasing)) return {};
    return static_cast<Direction>(tag);
  }

  // The word just read.
  void check_bool(std::uint32_t word) {
    if (word > 1) fail_form("a bool that is neither 0 nor 1", at_ - 4);
  }

  // --- Bodies -----------------------------------------------------------------------------------

  void read(Body& body, std::uint32_t buffers, std::uint32_t parameters) {
    const std::size_t begin = at_;
    const std::uint32_t locals = count("the locals", 4);
    if (ok() && locals < parameters) {
      return fail<message::bad_reference>("parameter", locals, at_ - 4, locals);
    }
    body.locals.reserve(locals);
    for (std::uint32_t i = 0; ok() && i < locals; ++i) body.locals.push_back({std::string(text())});

    const std::uint32_t constants = count("the constants", 16);
    body.constants.reserve(constants);
    for (std::uint32_t i = 0; ok() && i < constants; ++i) {
      for (std::uint32_t& lane : body.constants.emplace_back().lanes) lane = word();
    }

    const std::uint32_t callees = count("the callees", 4);
    body.callees.reserve(callees);
    for (std::uint32_t i = 0; ok() && i < callees; ++i) body.callees.emplace_back(text());

    const std::uint32_t exprs = count("the expressions", 4);
    body.exprs.reserve(exprs);
    for (std::uint32_t i = 0; ok() && i < exprs; ++i) expression(body, buffers);

    statements(body, buffers, parameters);
    if (ok() && canonical(body, parameters) != body) {
      fail_form("a body that is not in canonical form", begin);
    }
  }

  void expression(Body& body, std::uint32_t buffers) {
    const std::size_t at = at_;
    const std::uint32_t head = word();
    const ExprShape shape = kExprShapes[head & 0xff];
    if (!shape.known) return fail<message::bad_tag>("operation", head & 0xff, at);
    if (head >> 16 != 0) return fail_form("bits that are reserved", at);
    Expr expr;
    expr.op = static_cast<Operation>(head & 0xff);
    expr.detail = static_cast<std::uint8_t>(head >> 8);

    switch (shape.detail) {
      case ExprShape::kNoDetail:
        if (expr.detail != 0) return fail_form("a detail of an operation without", at);
        break;
      case ExprShape::kType:
        if (!type_of_tag(expr.detail)) return fail<message::bad_tag>("type", expr.detail, at + 1);
        break;
      case ExprShape::kAxis:
        if (expr.detail > 2) return fail<message::bad_tag>("axis", expr.detail, at + 1);
        break;
      case ExprShape::kLane:
        if (expr.detail > 3) return fail<message::bad_tag>("lane", expr.detail, at + 1);
        break;
    }
    switch (shape.imm) {
      case ExprShape::kNoImm: break;
      case ExprShape::kLiteral: expr.imm = literal(body, type_of_detail(expr)); break;
      case ExprShape::kLocal: expr.imm = reference("local", body.locals.size()); break;
      case ExprShape::kBuffer: expr.imm = reference("buffer", buffers); break;
      case ExprShape::kCallee: expr.imm = reference("callee", body.callees.size()); break;
    }

    const std::size_t self = body.exprs.size();
    if (has_operand_list(expr.op)) {
      const std::uint32_t operands = shape.counted ? count(inside_, 4) : shape.operands;
      expr.args[0] = ExprId{body.operands.size()};
      expr.args[1] = ExprId{operands};
      for (std::uint32_t i = 0; ok() && i < operands; ++i) {
        body.operands.push_back(ExprId{reference("operand", self)});
      }
    } else {
      for (std::size_t i = 0; i < shape.operands; ++i) {
        expr.args[i] = ExprId{reference("operand", self)};
      }
    }
    body.exprs.push_back(expr);
  }

  // The immediate of a literal: its bits, or where they stand.
  std::uint32_t literal(const Body& body, DataType type) {
    if (is_vector(type) || type == DataType::Bytes) {
      fail_form("a literal of a type without literals", at_ - 4);
      return 0;
    }
    if (!is_wide(type)) {
      const std::uint32_t bits = word();
      if (type == DataType::Bool) check_bool(bits);
      return bits;
    }
    const std::uint32_t index = reference("constant", body.constants.size());
    for (std::size_t i = words(type); ok() && i < 4; ++i) {
      if (body.constants[index].lanes[i] != 0) {
        fail_form("a literal with more bits than its type", at_ - 4);
      }
    }
    return index;
  }

  // --- Statements -------------------------------------------------------------------------------

  void statements(Body& body, std::uint32_t buffers, std::uint32_t parameters) {
    const std::uint32_t count = this->count("the statements", 4);
    body.stmts.reserve(count);
    next_local_ = parameters;
    ends_.assign(1, count);
    for (std::uint32_t i = 0; ok() && i < count; ++i) {
      while (ends_.back() == i) ends_.pop_back();
      statement(body, buffers, i + 1);
    }
    if (!ok()) return;
    if (next_local_ != body.locals.size()) fail_form("a local without declaration", at_);
  }

  // `next` is the number of the statement that follows.
  void statement(Body& body, std::uint32_t buffers, std::uint32_t next) {
    const std::size_t at = at_;
    const std::uint32_t head = word();
    const auto kind = static_cast<StatementTag>(head & 0xff);
    const std::uint32_t detail = head >> 8 & 0xff;
    if (kind < kStatementTags[0] || kind > kStatementTags[std::size(kStatementTags) - 1]) {
      return fail<message::bad_tag>("statement", head & 0xff, at);
    }
    if (head >> 16 != 0 || (detail != 0 && kind != StatementTag::Atomic)) {
      return fail_form("bits that are reserved", at);
    }
    switch (kind) {
      case StatementTag::Let: {
        const LocalId local = declared_local(body);
        body.stmts.push_back(Let{local, root(body)});
        return;
      }
      case StatementTag::Assign: {
        const LocalId local{reference("local", body.locals.size())};
        body.stmts.push_back(Assign{local, root(body)});
        return;
      }
      case StatementTag::Store: {
        const BufferId buffer{reference("buffer", buffers)};
        const ExprId index = root(body);
        body.stmts.push_back(Store{buffer, index, root(body)});
        return;
      }
      case StatementTag::Atomic: {
        const std::optional<AtomicOp> op = atomic_of_tag(detail);
        if (!op) return fail<message::bad_tag>("atomic", detail, at + 1);
        Atomic atomic;
        atomic.op = *op;
        if (!is_none()) atomic.result = declared_local(body);
        atomic.buffer = BufferId{reference("buffer", buffers)};
        atomic.index = root(body);
        if (info(*op).operands == 2) atomic.expected = root(body);
        atomic.value = root(body);
        body.stmts.push_back(atomic);
        return;
      }
      case StatementTag::If: {
        const ExprId condition = root(body);
        const StmtId else_begin = block_end(next);
        const StmtId end = block_end(else_begin.index);
        ends_.insert(ends_.end(), {end.index, else_begin.index});
        body.stmts.push_back(If{condition, else_begin, end});
        return;
      }
      case StatementTag::For: {
        const LocalId variable = declared_local(body);
        const ExprId from = root(body);
        const ExprId to = root(body);
        const StmtId end = block_end(next);
        ends_.push_back(end.index);
        body.stmts.push_back(For{variable, from, to, end});
        return;
      }
      case StatementTag::Block: {
        const StmtId end = block_end(next);
        ends_.push_back(end.index);
        body.stmts.push_back(Block{end});
        return;
      }
      case StatementTag::Break: body.stmts.push_back(Break{}); return;
      case StatementTag::Return:
        body.stmts.push_back(is_none() ? Return{} : Return{root(body)});
        return;
      case StatementTag::Barrier: body.stmts.push_back(Barrier{}); return;
    }
  }

  // Skips the word that stands for nothing, if it is next.
  bool is_none() {
    if (left() < 4 || load_word(bytes_.data() + at_) != kWireNone) return false;
    at_ += 4;
    return true;
  }

  ExprId root(const Body& body) { return ExprId{reference("expression", body.exprs.size())}; }

  // Checked here and not only with the whole body, of which a local that many statements declare
  // would make a large copy.
  LocalId declared_local(const Body& body) {
    const LocalId id{reference("local", body.locals.size())};
    if (ok() && id.index != next_local_++) fail_form("a local out of order", at_ - 4);
    return id;
  }

  // The end of a block that begins with statement `begin`; it ends inside the one around it.
  StmtId block_end(std::uint32_t begin) {
    const std::uint32_t limit = ends_.back();
    const StmtId end{reference("block end", limit + std::size_t{1})};
    if (ok() && end.index < begin) {
      fail<message::bad_reference>("block end", end.index, at_ - 4, limit);
    }
    return end;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t end_;  // of the item at hand
  std::string_view inside_;
  std::optional<Diagnostic> problem_;

  // Of the body at hand.
  std::uint32_t next_local_ = 0;
  std::vector<std::uint32_t> ends_;  // of the blocks around the next statement, innermost last
};

}  // namespace

bool is_wire(std::string_view bytes) { return bytes.starts_with(kWireMagic.substr(0, 5)); }

Result<Module> decode(std::string_view bytes, std::string_view file) {
  return Decoder(bytes).module(file);
}

}  // namespace vyre
