// Written as text, which is how people and other programs make large ones.
#include "vyre/conform/large.h"

#include <string>

#include "vyre/base/random.h"
#include "vyre/text/parse.h"

namespace vyre {
namespace {

constexpr LargeShapeInfo kLargeShapes[] = {
    {LargeShape::Statements, "statements", 99'000},
    {LargeShape::Branches, "branches", 33'000},
    {LargeShape::Loops, "loops", 49'000},
    {LargeShape::Chain, "chain", 49'000},
    {LargeShape::Nesting, "nesting", 63},
    {LargeShape::Depth, "depth", 1000},
    {LargeShape::Locals, "locals", 15'000},
    {LargeShape::LargeGroup, "large group", 2'000},
    {LargeShape::Divisions, "divisions", 60'000},
    {LargeShape::Buffers, "buffers", 16'000},
    {LargeShape::WorkgroupMemory, "workgroup memory", 1 << 20},
};

std::string text_of(std::string_view part) { return std::string(part); }
std::string text_of(std::uint64_t number) { return std::to_string(number); }

// Strings and numbers, one after the other.
std::string concat(const auto&... parts) { return (text_of(parts) + ...); }

// A program that is growing. What it computes ends in `out`, an element for each invocation.
struct Large {
  std::string head;
  std::string body;

  void declare(const auto&... parts) { head += concat("  ", parts..., "\n"); }
  void add(const auto&... parts) { body += concat("  ", parts..., "\n"); }
};

// Different ones, so that nothing is shared; `i` distinguishes them.
std::string step(std::uint32_t i) {
  constexpr std::string_view kOps[] = {"+", "^", "*", "-", "|"};
  const std::uint32_t to = i % 4;
  return concat("x", to, " = (x", to, " ", kOps[i % 5], " ", i * 2654435761u | 1u, ") ^ (x",
                (i + 1) % 4, " >> ", i % 31 + 1, ")");
}

void write_statements(Large& out, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) out.add(step(i));
}

void write_branches(Large& out, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    out.add("if x", i % 4, " & 3 == ", i % 5, " {");
    out.add(step(i));
    out.add("} else {");
    out.add(step(i + 7));
    out.add("}");
  }
}

void write_loops(Large& out, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    out.add("for v in 0..(x", i % 4, " & 1) + ", i % 3, " {");
    out.add(step(i));
    out.add("}");
  }
}

void write_chain(Large& out, std::uint32_t size) {
  out.add("let key = x0 % ", size + 1);
  for (std::uint32_t i = 0; i < size; ++i) {
    out.add(i == 0 ? "if key == " : "} else if key == ", i, " {");
    out.add(step(i));
  }
  out.add("}");
}

void write_nesting(Large& out, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i % 2 == 0) {
      out.add("if x", i % 4, " & 7 != ", i % 8, " {");
    } else {
      out.add("for v", i, " in 0..(x0 & 1) + 1 {");
    }
    out.add(step(i));
  }
  for (std::uint32_t i = 0; i < size; ++i) out.add("}");
}

void write_depth(Large& out, std::uint32_t size) {
  constexpr std::string_view kOps[] = {" ^ ", " + ", " * "};
  std::string after;
  for (std::uint32_t i = 0; i < size; ++i) after += concat(kOps[i % 3], i * 77777 | 1, ")");
  out.add("x0 = ", std::string(size, '('), "x1", after);
}

void write_locals(Large& out, std::uint32_t size, bool is_large_group) {
  constexpr std::string_view kTypes[] = {"u64", "u128", "vec4u32"};
  constexpr std::string_view kBuffers[] = {"b64", "b128", "b4"};
  const auto type = [&](std::uint32_t i) { return is_large_group ? 1 : i % 3; };
  for (std::uint32_t i = 0; i < 3; ++i) out.declare("read ", kBuffers[i], ": ", kTypes[i], "[]");
  out.declare("workgroup s: u128[", is_large_group ? 1024u : 64u, "]");
  for (std::uint32_t i = 0; i < size; ++i) {
    out.add("let w", i, " = ", kBuffers[type(i)], "[(n + ", i, ") % 97]");
  }
  out.add("s[local_id.x] = u128(x0)");
  out.add("barrier");
  out.add("for v in 0..2 {");
  for (std::uint32_t i = 0; i < size; i += 2) {
    const std::uint32_t other = (i + 3) % size;
    if (type(i) == 1) {
      out.add("w", i, " = w", i, " + s[(local_id.x + v) % 64]");
    } else {
      out.add("w", i, " = w", i, " + w", other != 0 && type(other) == type(i) ? other : i);
    }
  }
  out.add("barrier");
  out.add("s[local_id.x] = s[local_id.x] + u128(x1)");
  out.add("barrier");
  out.add("}");
  for (std::uint32_t i = 0; i < size; ++i) {
    if (type(i) == 2) {
      out.add("x2 = x2 * 31 ^ w", i, ".x ^ w", i, ".w");
    } else {
      out.add("x2 = x2 * 31 ^ u32(w", i, ") ^ u32(w", i, " >> 33)");
    }
  }
}

void write_divisions(Large& out, std::uint32_t size) {
  out.declare("read b64: u64[]");
  out.declare("read b128: u128[]");
  out.declare("read b4: vec4u32[]");
  out.add("let p = b64[n]");
  out.add("let q = b128[n]");
  out.add("let r = b4[n]");
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::string at = concat("[(n + ", i, ") % 89]");
    if (i % 4 == 0) out.add("p = (p / b64", at, ") ^ b64[", i % 97, "]");
    if (i % 4 == 1) out.add("q = (q % b128", at, ") ^ b128[", i % 97, "]");
    if (i % 4 == 2) out.add("r = mul_high(r, b4", at, ") ^ b4[", i % 97, "]");
    if (i % 4 == 3) out.add("p = mul_high(p, b64", at, ") ^ p");
  }
  out.add("x0 = u32(p) ^ u32(q) ^ u32(q >> 80) ^ r.y");
}

void write_buffers(Large& out, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    out.declare("read_write c", i, ": u32[]");
    out.add("c", i, "[n] = c", i, "[n] + x", i % 4);
  }
}

void write_workgroup_memory(Large& out, std::uint32_t size) {
  out.declare("workgroup s: u32[", size, "]");
  out.add("let own = local_id.x * ", std::max(1u, size / 64));
  out.add("s[own] = x0");
  out.add("barrier");
  out.add("x1 = s[", size - 1, "] + s[(own + ", size / 64, ") % ", size, "]");
}

}  // namespace

std::span<const LargeShapeInfo> all_large_shapes() { return kLargeShapes; }

Case generate_large(LargeShape shape, std::uint32_t size) {
  Large out;
  for (std::uint32_t i = 0; i < 4; ++i) out.add("let x", i, " = a[n + ", i, "]");
  switch (shape) {
    case LargeShape::Statements: write_statements(out, size); break;
    case LargeShape::Branches: write_branches(out, size); break;
    case LargeShape::Loops: write_loops(out, size); break;
    case LargeShape::Chain: write_chain(out, size); break;
    case LargeShape::Nesting: write_nesting(out, size); break;
    case LargeShape::Depth: write_depth(out, size); break;
    case LargeShape::Locals: write_locals(out, size, false); break;
    case LargeShape::LargeGroup: write_locals(out, size, true); break;
    case LargeShape::Divisions: write_divisions(out, size); break;
    case LargeShape::Buffers: write_buffers(out, size); break;
    case LargeShape::WorkgroupMemory: write_workgroup_memory(out, size); break;
  }
  const std::uint32_t group = shape == LargeShape::LargeGroup ? 1024 : 64;
  Case c;
  c.module = *parse(concat(
      "program large workgroup(", group, ") {\n  read a: u32[]\n  read_write out: u32[]\n",
      out.head, "  let n = invocation_id.x\n", out.body, "  out[n] = x0 ^ x1 ^ x2 ^ x3\n}\n"));
  c.grid = {shape == LargeShape::LargeGroup ? 1u : 2u, 1, 1};
  Random random(size);
  for (const BufferDecl& buffer : c.program().buffers) {
    std::vector<std::byte>& bytes = c.contents.emplace_back();
    if (!is_bound(buffer.access)) continue;
    // Many buffers are short ones; then most invocations are out of bounds.
    const std::uint32_t elements = buffer.name[0] == 'c'   ? 5
                                   : buffer.name[0] == 'b' ? 97
                                                           : 2 * group;
    bytes.resize(std::size_t{elements} * stride(buffer.element));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.word());
  }
  return c;
}

}  // namespace vyre
