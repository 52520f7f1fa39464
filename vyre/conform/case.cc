#include "vyre/conform/case.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "vyre/library/registry.h"
#include "vyre/text/print.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  }
  return word;
}

std::string hexadecimal(const Bits& bits) {
  std::string digits;
  for (std::uint32_t i = 32; i-- > 0;) {
    const std::uint32_t digit = bits.lanes[i / 8] >> (i % 8 * 4) & 15;
    if (digit != 0 || !digits.empty() || i == 0) digits += "0123456789abcdef"[digit];
  }
  return "0x" + digits;
}

std::string number_text(const Bits& bits) {
  const bool small =
      bits.lanes[0] < 65536 && bits.lanes[1] == 0 && bits.lanes[2] == 0 && bits.lanes[3] == 0;
  return small ? std::to_string(bits.lanes[0]) : hexadecimal(bits);
}

// The elements as a list: bytes, lanes, or whole numbers.
std::string list_text(DataType element, std::span<const std::byte> bytes) {
  const std::size_t each = element == DataType::Bytes ? 1 : lane_bits(element) / 8;
  std::string list;
  for (std::size_t at = 0; at + each <= bytes.size(); at += each) {
    Bits bits;
    if (each == 1) bits.lanes[0] = std::to_integer<std::uint32_t>(bytes[at]);
    for (std::size_t i = 0; i < each / 4; ++i) bits.lanes[i] = word_at(bytes, at + 4 * i);
    if (at > 0) list += ',';
    list += has_sign(element) ? std::to_string(static_cast<std::int32_t>(bits.lanes[0]))
                              : number_text(bits);
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
  const Registry library;
  std::vector<DataType> results;
  for (const std::string& id : body.callees) {
    const auto defines = [&](const Item& other) {
      const Op* op = std::get_if<Op>(&other);
      return op != nullptr && op->id == id;
    };
    const auto found = std::ranges::find_if(module.items, defines);
    const Op* op = found == module.items.end() ? library.find(id) : &std::get<Op>(*found);
    results.push_back(op->signature.output);
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
  std::string text = "// vyre run " + std::string(file) + " --grid " + std::to_string(c.grid[0]) +
                     "," + std::to_string(c.grid[1]) + "," + std::to_string(c.grid[2]);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    if (buffer.access == BufferAccess::Workgroup) continue;
    text += " --in " + buffer.name + "=" + list_text(buffer.element, c.contents[i]);
  }
  return text + "\n\n" + print(c.module);
}

}  // namespace vyre
