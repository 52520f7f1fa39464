// Reads a module from bytes that may be anything. Every count is compared with the bytes that are
// left before something is allocated for it, nothing recurses, and the work is linear. It accepts
// only what encode() writes, so that a module has one encoding.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"
#include "vyre/wire/format.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

// Finds a record that is written twice in a table. The seed differs from run to run, so that nobody
// can prepare a file whose records all meet in one slot.
class Records {
 public:
  Records(const char* table, std::size_t count)
      : table_(table),
        slots_(std::bit_ceil(count + count / 2 + 2)),
        shift_(64 - std::countr_zero(slots_.size())) {
    static const std::uint64_t seed = std::random_device{}();
    seed_ = seed;
  }

  // The slots of a large table are far away: an entry waits here while its slot is fetched.
  void add(const char* record, std::size_t size) {
    const std::uint64_t hash = XXH3_64bits_withSeed(record, size, seed_);
    __builtin_prefetch(&slots_[hash >> shift_]);
    insert(std::exchange(waiting_[added_++ % waiting_.size()], {hash, record, size}));
  }

  // A record that is equal to an earlier one, or null.
  const char* duplicate() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      insert(std::exchange(waiting_[added_++ % waiting_.size()], {}));
    }
    return duplicate_;
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    const char* record = nullptr;
    std::size_t size = 0;
  };

  // A slot holds the low half of the hash and the offset of the record in the table, plus one. No
  // record is the beginning of another one, so it is enough to compare `size` bytes; they are there
  // behind the other record too, because it comes earlier.
  void insert(const Entry& entry) {
    if (entry.record == nullptr) return;
    const auto offset = static_cast<std::uint32_t>(entry.record - table_);
    const std::uint64_t mark = entry.hash << 32 | (offset + 1);
    std::size_t at = entry.hash >> shift_;
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      if ((slots_[at] ^ mark) >> 32 != 0) continue;
      const char* other = table_ + static_cast<std::uint32_t>(slots_[at]) - 1;
      if (std::memcmp(other, entry.record, entry.size) == 0) {
        duplicate_ = entry.record;
        return;
      }
    }
    slots_[at] = mark;
  }

  const char* table_;
  std::vector<std::uint64_t> slots_;
  int shift_;
  std::uint64_t seed_;
  std::array<Entry, 16> waiting_{};
  std::size_t added_ = 0;
  const char* duplicate_ = nullptr;
};

// Checks that expressions are numbered in the order of their first visit. When that holds, what
// has been visited at any moment is a prefix of the table, and what a visit of `id` adds to it is
// the range [first[id], id]. So each root splits off a range, and then, from the last expression
// to the first, the operands of each must split its range up to itself.
struct Visits {
  std::vector<std::uint32_t> first;
  std::uint32_t visited = 0;

  void visit(std::uint32_t id) {
    if (id < visited) return;
    first[id] = visited;
    visited = id + 1;
  }
};

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
        for (std::size_t i = 0; i < value_words(value.type); ++i) value.bits.lanes[i] = word();
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
    const std::uint32_t locals = count("the locals", 4);
    if (ok() && locals < parameters) {
      return fail<message::bad_reference>("parameter", locals, at_ - 4, locals);
    }
    body.locals.reserve(locals);
    for (std::uint32_t i = 0; ok() && i < locals; ++i) body.locals.push_back({std::string(text())});

    const std::uint32_t constants = count("the constants", 16);
    const std::size_t first_constant = at_;
    body.constants.reserve(constants);
    Records constant_records(bytes_.data() + at_, constants);
    for (std::uint32_t i = 0; ok() && i < constants; ++i) {
      constant_records.add(bytes_.data() + at_, 16);
      for (std::uint32_t& lane : body.constants.emplace_back().lanes) lane = word();
    }
    check_unique(constant_records, "a constant that is written twice");

    const std::uint32_t callees = count("the callees", 4);
    const std::size_t first_callee = at_;
    body.callees.reserve(callees);
    Records callee_records(bytes_.data() + at_, callees);
    for (std::uint32_t i = 0; ok() && i < callees; ++i) {
      const std::size_t at = at_;
      body.callees.emplace_back(text());
      callee_records.add(bytes_.data() + at, at_ - at);
    }
    check_unique(callee_records, "a callee that is written twice");

    const std::uint32_t exprs = count("the expressions", 4);
    const std::size_t first_expr = at_;
    body.exprs.reserve(exprs);
    Records expr_records(bytes_.data() + at_, exprs);
    next_constant_ = next_callee_ = 0;
    for (std::uint32_t i = 0; ok() && i < exprs; ++i) {
      const std::size_t at = at_;
      expression(body, buffers);
      expr_records.add(bytes_.data() + at, at_ - at);
    }
    check_unique(expr_records, "an expression that is written twice");
    if (next_constant_ != constants) {
      fail_form("a constant without use", first_constant + 16 * std::size_t{next_constant_});
    }
    if (next_callee_ != callees) fail_form("callees without use", first_callee);

    statements(body, buffers, parameters);
    check_numbering(body, first_expr);
  }

  void check_unique(Records& records, std::string_view what) {
    const char* duplicate = records.duplicate();
    if (duplicate != nullptr) fail_form(what, static_cast<std::size_t>(duplicate - bytes_.data()));
  }

  // Constants and callees are numbered in the order in which expressions use them.
  std::uint32_t in_order(std::uint32_t index, std::uint32_t& next, std::string_view what) {
    if (index > next) fail_form(what, at_ - 4);
    if (index == next) ++next;
    return index;
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
      case ExprShape::kCallee:
        expr.imm = in_order(reference("callee", body.callees.size()), next_callee_,
                            "a callee out of order");
        break;
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
    const std::uint32_t index = in_order(reference("constant", body.constants.size()),
                                         next_constant_, "a constant out of order");
    for (std::size_t i = value_words(type); ok() && i < 4; ++i) {
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
    visits_.first.resize(body.exprs.size());
    visits_.visited = 0;
    next_local_ = parameters;
    ends_.assign(1, count);
    for (std::uint32_t i = 0; ok() && i < count; ++i) {
      while (ends_.back() == i) ends_.pop_back();
      statement(body, buffers, i + 1);
    }
    if (!ok()) return;
    if (next_local_ != body.locals.size()) fail_form("a local without declaration", at_);
    if (visits_.visited != body.exprs.size()) fail_form("an expression without use", at_);
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

  ExprId root(const Body& body) {
    const ExprId id{reference("expression", body.exprs.size())};
    if (ok()) visits_.visit(id.index);
    return id;
  }

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

  void check_numbering(const Body& body, std::size_t first_expr) {
    if (!ok()) return;
    for (std::uint32_t id = static_cast<std::uint32_t>(body.exprs.size()); id-- > 0;) {
      visits_.visited = visits_.first[id];
      for (ExprId operand : operands(body, body.exprs[id])) visits_.visit(operand.index);
      if (visits_.visited != id) {
        return fail_form("an expression out of order", expr_offset(body, first_expr, id));
      }
    }
  }

  static std::size_t expr_offset(const Body& body, std::size_t first_expr, std::uint32_t id) {
    std::size_t at = first_expr;
    for (const Expr& expr : std::span(body.exprs).first(id)) {
      const ExprShape& shape = kExprShapes[static_cast<std::size_t>(expr.op)];
      at +=
          4 * (1 + (shape.imm != ExprShape::kNoImm) + shape.counted + operands(body, expr).size());
    }
    return at;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t end_;  // of the item at hand
  std::string_view inside_;
  std::optional<Diagnostic> problem_;

  // Of the body at hand.
  std::uint32_t next_constant_ = 0;
  std::uint32_t next_callee_ = 0;
  std::uint32_t next_local_ = 0;
  std::vector<std::uint32_t> ends_;  // of the blocks around the next statement, innermost last
  Visits visits_;
};

}  // namespace

bool is_wire(std::string_view bytes) { return bytes.starts_with(kWireMagic.substr(0, 5)); }

Result<Module> decode(std::string_view bytes, std::string_view file) {
  return Decoder(bytes).module(file);
}

}  // namespace vyre
