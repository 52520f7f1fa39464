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

// A program that is growing. What it computes ends in `out`, an element for each invocation.
struct Text {
  std::string head;
  std::string body;

  void add(std::string_view line) { body.append("  ").append(line).append("\n"); }
};

std::string number(std::uint64_t value) { return std::to_string(value); }
// One of some names, in turn.
std::string name(char stem, std::uint32_t i) { return stem + number(i); }

// Different ones, so that nothing is shared; `i` distinguishes them.
std::string step(std::uint32_t i) {
  constexpr std::string_view kOps[] = {"+", "^", "*", "-", "|"};
  const std::string to = name('x', i % 4);
  const std::string other = name('x', (i + 1) % 4);
  const std::string word = number(i * 2654435761u | 1u);
  return to + " = (" + to + " " + std::string(kOps[i % 5]) + " " + word + ") ^ (" + other + " >> " +
         number(i % 31 + 1) + ")";
}

void write_statements(Text& text, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) text.add(step(i));
}

void write_branches(Text& text, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    text.add("if x" + number(i % 4) + " & 3 == " + number(i % 5) + " {");
    text.add(step(i));
    text.add("} else {");
    text.add(step(i + 7));
    text.add("}");
  }
}

void write_loops(Text& text, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    text.add("for v in 0..(x" + number(i % 4) + " & 1) + " + number(i % 3) + " {");
    text.add(step(i));
    text.add("}");
  }
}

void write_chain(Text& text, std::uint32_t size) {
  text.add("let key = x0 % " + number(size + 1));
  for (std::uint32_t i = 0; i < size; ++i) {
    text.add((i == 0 ? "if key == " : "} else if key == ") + number(i) + " {");
    text.add(step(i));
  }
  text.add("}");
}

void write_nesting(Text& text, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    text.add(i % 2 == 0 ? "if x" + number(i % 4) + " & 7 != " + number(i % 8) + " {"
                        : "for v" + number(i) + " in 0..(x0 & 1) + 1 {");
    text.add(step(i));
  }
  for (std::uint32_t i = 0; i < size; ++i) text.add("}");
}

void write_depth(Text& text, std::uint32_t size) {
  std::string before;
  std::string after;
  for (std::uint32_t i = 0; i < size; ++i) {
    before += "(";
    after += (i % 3 == 0 ? " ^ " : i % 3 == 1 ? " + " : " * ") + number(i * 77777 | 1) + ")";
  }
  text.add("x0 = " + before + "x1" + after);
}

void write_locals(Text& text, std::uint32_t size, bool is_large_group) {
  constexpr std::string_view kTypes[] = {"u64", "u128", "vec4u32"};
  constexpr std::string_view kBuffers[] = {"b64", "b128", "b4"};
  const auto type = [&](std::uint32_t i) { return is_large_group ? 1 : i % 3; };
  for (std::uint32_t i = 0; i < 3; ++i) {
    text.head += "  read " + std::string(kBuffers[i]) + ": " + std::string(kTypes[i]) + "[]\n";
  }
  text.head += "  workgroup s: u128[" + std::string(is_large_group ? "1024" : "64") + "]\n";
  for (std::uint32_t i = 0; i < size; ++i) {
    text.add("let " + name('w', i) + " = " + std::string(kBuffers[type(i)]) + "[(n + " + number(i) +
             ") % 97]");
  }
  text.add("s[local_id.x] = u128(x0)");
  text.add("barrier");
  text.add("for v in 0..2 {");
  for (std::uint32_t i = 0; i < size; i += 2) {
    const std::uint32_t other = type(i) == 1 ? 0 : (i + 3) % size;
    const bool alike = other != 0 && type(other) == type(i);
    text.add(name('w', i) + " = " + name('w', i) + " + " +
             (type(i) == 1 ? "s[(local_id.x + v) % 64]" : name('w', alike ? other : i)));
  }
  text.add("barrier");
  text.add("s[local_id.x] = s[local_id.x] + u128(x1)");
  text.add("barrier");
  text.add("}");
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::string local = name('w', i);
    text.add("x2 = x2 * 31 ^ " + (type(i) == 2 ? local + ".x ^ " + local + ".w"
                                               : "u32(" + local + ") ^ u32(" + local + " >> 33)"));
  }
}

void write_divisions(Text& text, std::uint32_t size) {
  text.head += "  read b64: u64[]\n  read b128: u128[]\n  read b4: vec4u32[]\n";
  text.add("let p = b64[n]");
  text.add("let q = b128[n]");
  text.add("let r = b4[n]");
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::string at = "[(n + " + number(i) + ") % 89]";
    if (i % 4 == 0) text.add("p = (p / b64" + at + ") ^ b64[" + number(i % 97) + "]");
    if (i % 4 == 1) text.add("q = (q % b128" + at + ") ^ b128[" + number(i % 97) + "]");
    if (i % 4 == 2) text.add("r = mul_high(r, b4" + at + ") ^ b4[" + number(i % 97) + "]");
    if (i % 4 == 3) text.add("p = mul_high(p, b64" + at + ") ^ p");
  }
  text.add("x0 = u32(p) ^ u32(q) ^ u32(q >> 80) ^ r.y");
}

void write_buffers(Text& text, std::uint32_t size) {
  for (std::uint32_t i = 0; i < size; ++i) {
    text.head += "  read_write " + name('c', i) + ": u32[]\n";
    text.add(name('c', i) + "[n] = " + name('c', i) + "[n] + " + name('x', i % 4));
  }
}

void write_workgroup_memory(Text& text, std::uint32_t size) {
  text.head += "  workgroup s: u32[" + number(size) + "]\n";
  text.add("let own = local_id.x * " + number(std::max(1u, size / 64)));
  text.add("s[own] = x0");
  text.add("barrier");
  text.add("x1 = s[" + number(size - 1) + "] + s[(own + " + number(size / 64) + ") % " +
           number(size) + "]");
}

}  // namespace

std::span<const LargeShapeInfo> all_large_shapes() { return kLargeShapes; }

Case generate_large(LargeShape shape, std::uint32_t size) {
  Text text;
  for (std::uint32_t i = 0; i < 4; ++i) {
    text.add("let " + name('x', i) + " = a[n + " + number(i) + "]");
  }
  switch (shape) {
    case LargeShape::Statements: write_statements(text, size); break;
    case LargeShape::Branches: write_branches(text, size); break;
    case LargeShape::Loops: write_loops(text, size); break;
    case LargeShape::Chain: write_chain(text, size); break;
    case LargeShape::Nesting: write_nesting(text, size); break;
    case LargeShape::Depth: write_depth(text, size); break;
    case LargeShape::Locals: write_locals(text, size, false); break;
    case LargeShape::LargeGroup: write_locals(text, size, true); break;
    case LargeShape::Divisions: write_divisions(text, size); break;
    case LargeShape::Buffers: write_buffers(text, size); break;
    case LargeShape::WorkgroupMemory: write_workgroup_memory(text, size); break;
  }
  const std::uint32_t group = shape == LargeShape::LargeGroup ? 1024 : 64;
  const std::string whole = "program large workgroup(" + number(group) +
                            ") {\n  read a: u32[]\n  read_write out: u32[]\n" + text.head +
                            "  let n = invocation_id.x\n" + text.body +
                            "  out[n] = x0 ^ x1 ^ x2 ^ x3\n}\n";
  Case c;
  c.module = *parse(whole);
  c.grid = {shape == LargeShape::LargeGroup ? 1u : 2u, 1, 1};
  Random random(size);
  for (const BufferDecl& buffer : c.program().buffers) {
    std::vector<std::byte>& bytes = c.contents.emplace_back();
    if (buffer.access == BufferAccess::Workgroup) continue;
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
