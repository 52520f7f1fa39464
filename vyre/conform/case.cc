#include "vyre/conform/case.h"

#include <cstring>
#include <span>

#include "vyre/base/text.h"
#include "vyre/library/registry.h"
#include "vyre/text/print.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

// The elements as a list: bytes, lanes, or whole numbers.
std::string list_text(DataType element, std::span<const std::byte> bytes) {
  const std::size_t each = element == DataType::Bytes ? 1 : lane_bits(element) / 8;
  std::string list;
  for (std::size_t at = 0; at + each <= bytes.size(); at += each) {
    Wide number = 0;
    std::memcpy(&number, &bytes[at], each);
    if (at > 0) list += ',';
    if (has_sign(element)) {
      const Bits bits = load_element(element, bytes, at / each);
      list += std::to_string(static_cast<std::int32_t>(bits.lanes[0]));
    } else {
      list += number < 65536 ? std::to_string(static_cast<unsigned>(number)) : "0x" + hex(number);
    }
  }
  return list;
}

}  // namespace

Result<Linked> link(const Case& c) {
  Registry registry;
  const Result<void> added = registry.add(c.module);
  if (!added) return added.diagnostics();
  return link(c.program(), registry);
}

std::uint32_t length_of(const Case& c, std::size_t buffer) {
  const BufferDecl& decl = c.program().buffers[buffer];
  if (decl.access == BufferAccess::Workgroup) return decl.count;
  const std::size_t each = stride(decl.element);
  return static_cast<std::uint32_t>((c.contents[buffer].size() + each - 1) / each);
}

Types types_of(const Module& module, const Item& item) {
  const Body& body = body_of(item);
  Registry registry;
  (void)registry.add(module);
  std::vector<DataType> results;
  for (const std::string& id : body.callees) {
    results.push_back(registry.find(id)->signature.output);
  }
  if (const Op* op = std::get_if<Op>(&item)) {
    return types_of(body, {}, op->signature.inputs, results);
  }
  return types_of(body, std::get<Program>(item).buffers, {}, results);
}

const std::vector<const Op*>& plain_library() {
  static const std::vector<const Op*> plain = [] {
    std::vector<const Op*> ops = Registry().all();
    std::erase_if(
        ops, [](const Op* op) { return op->body.stmts.size() > 1 || !op->body.callees.empty(); });
    return ops;
  }();
  return plain;
}

std::string to_text(const Case& c, std::string_view file) {
  const Program& program = c.program();
  const auto number = [](std::uint32_t extent) { return std::to_string(extent); };
  std::string text = "// vyre run " + std::string(file) + " --grid " + join(c.grid, ",", number);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    if (!is_bound(buffer.access)) continue;
    text += " --in " + buffer.name + "=" + list_text(buffer.element, c.contents[i]);
  }
  return text + "\n\n" + print(c.module);
}

}  // namespace vyre
