// Writes a module as bytes. It relies on the canonical numbering of what it is given; the only
// things it finds wrong are texts, laws and sizes that the format cannot express.
#include <cassert>
#include <optional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"
#include "vyre/wire/format.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

class Encoder {
 public:
  std::string bytes;
  std::optional<Diagnostic> problem;  // the first one

  void item(const Program& program) {
    const std::size_t begin = begin_item(ItemTag::Program);
    text(program.name);
    for (std::uint32_t size : program.workgroup_size) word(size);
    word(program.buffers.size());
    for (const BufferDecl& buffer : program.buffers) {
      text(buffer.name);
      tag(buffer.access);
      tag(buffer.element);
      word(buffer.binding);
      word(buffer.count);
    }
    write(program.body, program.buffers.size());
    end_item(begin, program.name);
  }

  void item(const Op& op) {
    const std::size_t begin = begin_item(ItemTag::Op);
    text(op.id);
    text(op.description);
    word(op.signature.inputs.size());
    for (DataType type : op.signature.inputs) tag(type);
    tag(op.signature.output);
    word(op.laws.size());
    for (const Law& law : op.laws) write(law);
    write(op.body, 0);
    end_item(begin, op.id);
  }

 private:
  // --- Words ------------------------------------------------------------------------------------

  void word(std::size_t value) {
    char little_endian[4];
    store_word(little_endian, static_cast<std::uint32_t>(value));
    bytes.append(little_endian, 4);
  }

  template <class Enum>
  void tag(Enum value, std::uint32_t detail = 0) {
    word(static_cast<std::uint32_t>(value) | detail << 8);
  }

  void text(std::string_view text) {
    word(text.size());
    if (const std::size_t bad = first_invalid_utf8(text); bad < text.size()) {
      fail(diagnose<message::bad_text>("text", bytes.size() + bad));
    } else if (const std::size_t control = first_control(text); control < text.size()) {
      fail(diagnose<message::control_in_text>(bytes.size() + control, hex_byte(text[control])));
    }
    bytes.append(text);
    bytes.resize(padded(bytes.size()));
  }

  template <class Tag>
  void reference(Id<Tag> id, [[maybe_unused]] std::size_t table_size) {
    assert(id.index < table_size);
    word(id.index);
  }

  void fail(Diagnostic diagnostic) {
    if (!problem) problem = std::move(diagnostic);
  }

  // --- Items ------------------------------------------------------------------------------------

  std::size_t begin_item(ItemTag kind) {
    tag(kind);
    word(0);  // the length, once it is known
    return bytes.size();
  }

  void end_item(std::size_t begin, std::string_view name) {
    const std::size_t size = bytes.size() - begin;
    store_word(bytes.data() + begin - 4, static_cast<std::uint32_t>(size));
    if (size > kMaxEncodedBytes) fail(diagnose<message::too_large>(shorten(name), size));
  }

  // The kinds of a law's arguments are not written: its tag implies them.
  void write(const Law& law) {
    const std::size_t at = bytes.size();
    tag(law.kind);
    std::string kinds;
    for (const LawArgument& argument : law.arguments) {
      if (const TypedBits* value = std::get_if<TypedBits>(&argument)) {
        const bool is_flag = info(law.kind).arguments == "b" && value->type == DataType::Bool;
        if (!is_flag) tag(value->type);
        for (std::size_t i = 0; i < words(value->type); ++i) word(value->bits.lanes[i]);
        kinds += !is_value(*value) ? '?' : is_flag ? 'b' : 'v';
      } else if (const std::string* id = std::get_if<std::string>(&argument)) {
        text(*id);
        kinds += 'o';
      } else {
        tag(std::get<Direction>(argument));
        kinds += 'd';
      }
    }
    if (kinds != info(law.kind).arguments) {
      fail(diagnose<message::not_canonical>("a law with arguments that it does not take", at));
    }
  }

  // --- Bodies -----------------------------------------------------------------------------------

  void write(const Body& body, std::size_t buffers) {
    body_ = &body;
    buffers_ = buffers;
    word(body.locals.size());
    for (const Local& local : body.locals) text(local.name);
    word(body.constants.size());
    for (const Bits& bits : body.constants) {
      for (std::uint32_t lane : bits.lanes) word(lane);
    }
    word(body.callees.size());
    for (const std::string& id : body.callees) text(id);
    word(body.exprs.size());
    for (const Expr& expr : body.exprs) write(expr);
    word(body.stmts.size());
    for (const Stmt& stmt : body.stmts) {
      std::visit([&](const auto& s) { fields(kStatementTags[stmt.index()], s); }, stmt);
    }
  }

  void write(const Expr& expr) {
    const ExprShape& shape = kExprShapes[static_cast<std::size_t>(expr.op)];
    const std::span<const ExprId> args = operands(*body_, expr);
    tag(expr.op, expr.detail);
    if (shape.imm != ExprShape::kNoImm) word(expr.imm);
    if (shape.counted) word(args.size());
    for (ExprId arg : args) reference(arg, static_cast<std::size_t>(&expr - body_->exprs.data()));
  }

  void value(ExprId id) { reference(id, body_->exprs.size()); }
  void local(LocalId id) { reference(id, body_->locals.size()); }
  void buffer(BufferId id) { reference(id, buffers_); }
  void block_end(StmtId id) { reference(id, body_->stmts.size() + 1); }

  void fields(StatementTag kind, const Let& let) {
    tag(kind);
    local(let.local);
    value(let.value);
  }
  void fields(StatementTag kind, const Assign& assign) {
    tag(kind);
    local(assign.local);
    value(assign.value);
  }
  void fields(StatementTag kind, const Store& store) {
    tag(kind);
    buffer(store.buffer);
    value(store.index);
    value(store.value);
  }
  void fields(StatementTag kind, const Atomic& atomic) {
    tag(kind, static_cast<std::uint32_t>(atomic.op));
    if (atomic.result.exists()) {
      local(atomic.result);
    } else {
      word(kWireNone);
    }
    buffer(atomic.buffer);
    value(atomic.index);
    assert(atomic.expected.exists() == (info(atomic.op).operands == 2));
    if (atomic.expected.exists()) value(atomic.expected);
    value(atomic.value);
  }
  void fields(StatementTag kind, const If& branch) {
    tag(kind);
    value(branch.condition);
    block_end(branch.else_begin);
    block_end(branch.end);
  }
  void fields(StatementTag kind, const For& loop) {
    tag(kind);
    local(loop.variable);
    value(loop.from);
    value(loop.to);
    block_end(loop.end);
  }
  void fields(StatementTag kind, const Block& block) {
    tag(kind);
    block_end(block.end);
  }
  void fields(StatementTag kind, const Break&) { tag(kind); }
  void fields(StatementTag kind, const Return& result) {
    tag(kind);
    if (result.value.exists()) {
      value(result.value);
    } else {
      word(kWireNone);
    }
  }
  void fields(StatementTag kind, const Barrier&) { tag(kind); }

  const Body* body_ = nullptr;
  std::size_t buffers_ = 0;
};

std::string hex_digest(std::string_view items) {
  const XXH128_hash_t hash = XXH3_128bits(items.data(), items.size());
  std::string digits;
  for (int i = 31; i >= 0; --i) {
    const std::uint64_t half = i >= 16 ? hash.high64 : hash.low64;
    digits += "0123456789abcdef"[half >> i % 16 * 4 & 15];
  }
  return digits;
}

}  // namespace

std::uint64_t wire_checksum(std::string_view items) { return XXH64(items.data(), items.size(), 0); }

Result<std::string> encode(const Module& module) {
  Encoder encoder;
  encoder.bytes.resize(kWireHeaderBytes);
  for (const Item& item : module.items) {
    std::visit([&](const auto& i) { encoder.item(i); }, item);
  }
  if (encoder.problem) return *std::move(encoder.problem);

  std::string& bytes = encoder.bytes;
  const std::uint64_t size = bytes.size();
  const std::uint64_t checksum = wire_checksum(std::string_view(bytes).substr(kWireHeaderBytes));
  kWireMagic.copy(bytes.data(), kWireMagic.size());
  store_word(bytes.data() + 8, kWireVersion);
  store_word(bytes.data() + 12, static_cast<std::uint32_t>(module.items.size()));
  store_word(bytes.data() + 16, static_cast<std::uint32_t>(size));
  store_word(bytes.data() + 20, static_cast<std::uint32_t>(size >> 32));
  store_word(bytes.data() + 24, static_cast<std::uint32_t>(checksum));
  store_word(bytes.data() + 28, static_cast<std::uint32_t>(checksum >> 32));
  return std::move(bytes);
}

std::string digest(const Module& module) {
  Encoder encoder;
  for (const Item& item : module.items) {
    std::visit([&](const auto& i) { encoder.item(i); }, item);
  }
  return hex_digest(encoder.bytes);
}

std::string digest_with_ops(const Linked& linked) {
  Encoder encoder;
  encoder.item(linked.program());
  for (const auto& op : linked.ops()) encoder.item(*op);
  return hex_digest(encoder.bytes);
}

std::string digest(const Program& program) {
  Encoder encoder;
  encoder.item(program);
  return hex_digest(encoder.bytes);
}

}  // namespace vyre
