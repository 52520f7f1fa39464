#include "vyre/ir/walk.h"

#include <algorithm>
#include <cstring>

namespace vyre {

bool is_else_if(const Body& body, const If& parent) {
  return parent.else_begin < parent.end && std::holds_alternative<If>(body[parent.else_begin]) &&
         next(body, parent.else_begin) == parent.end;
}

std::optional<StmtId> too_deep(const Body& body) {
  BlockStack<OpenBlock> stack(body);
  std::size_t chained = 0;  // open blocks that are no level of their own
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i, [&](const OpenBlock& closed, const OpenBlock& now) {
      if (closed.is_chained) --chained;
      if (now.is_chained && is_else_of(now, closed)) ++chained;
    });
    if (stack.frames().size() - chained > kMaxStmtDepth) return StmtId{i};
    stack.open(i);
  }
  return {};
}

std::string path_of(const Body& body, StmtId stmt) {
  struct Frame : OpenBlock {
    std::uint32_t count = 0;
  };
  BlockStack<Frame> stack(body);
  for (std::uint32_t i = 0;;) {
    stack.enter(i);
    if (i == stmt.index) break;
    ++stack.back().count;
    const std::uint32_t after = next(body, StmtId{i}).index;
    const bool is_inside = stmt.index < after;
    if (is_inside) stack.open(i);
    i = is_inside ? i + 1 : after;
  }
  std::string path = "body[";
  std::size_t links = 0;  // of a chain of `else if`, which is written as one
  for (std::size_t depth = 0; depth < stack.frames().size(); ++depth) {
    const Frame& frame = stack.frames()[depth];
    if (frame.is_chained) {
      if (++links == 1) path += ".else_if[";
      continue;
    }
    if (links > 0) path += std::to_string(links - 1) + "]";
    links = 0;
    if (depth > 0) {
      const bool in_if = std::holds_alternative<If>(body.stmts[frame.owner]);
      path += frame.is_else ? ".else[" : in_if ? ".then[" : ".body[";
    }
    // Where a block is open, the statement that owns it has been counted already.
    const bool innermost = depth + 1 == stack.frames().size();
    path += std::to_string(frame.count - (innermost ? 0 : 1)) + "]";
  }
  if (links > 0) path += std::to_string(links - 1) + "]";
  return path;
}

Bits load_element(DataType element, std::span<const std::byte> bytes, std::size_t index) {
  Bits bits;
  std::memcpy(bits.lanes.data(), bytes.data() + index * stride(element), stride(element));
  std::uint32_t& first = bits.lanes[0];
  if (element == DataType::Bool) first = first != 0;
  if (element == DataType::I8) first = static_cast<std::uint32_t>(static_cast<std::int8_t>(first));
  if (element == DataType::I16) {
    first = static_cast<std::uint32_t>(static_cast<std::int16_t>(first));
  }
  return bits;
}

WrittenOut written_out(const Body& body) {
  WrittenOut written;
  written.sizes.assign(body.exprs.size(), 1);
  written.depths.assign(body.exprs.size(), 1);
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    std::uint32_t& size = written.sizes[i];
    for (ExprId arg : operands(body, body.exprs[i])) {
      size = std::min(kMaxExprs + 1, size + written.sizes[arg.index]);
      written.depths[i] = std::max(written.depths[i], written.depths[arg.index] + 1);
    }
  }
  for (const Stmt& stmt : body.stmts) {
    for (ExprId root : roots(stmt)) written.total += written.sizes[root.index];
  }
  return written;
}

bool is_value(const TypedBits& value) {
  const std::size_t count = words(value.type);
  for (std::size_t i = count; i < value.bits.lanes.size(); ++i) {
    if (value.bits.lanes[i] != 0) return false;
  }
  return count > 0 && (value.type != DataType::Bool || value.bits.lanes[0] <= 1);
}

}  // namespace vyre
