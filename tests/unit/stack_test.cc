// Nothing recurses over input: the deepest programs that are allowed, and deeper ones, go through
// everything on a thread with a small stack.
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/small_stack.h"
#include "vyre/backends/cpu/llvm.h"
#include "vyre/ir/program.h"

namespace vyre {
namespace {

std::string repeat(std::string_view part, std::size_t count) {
  std::string out;
  for (; count > 0; --count) out += part;
  return out;
}

std::string program(const std::string& body) {
  return "program p workgroup(1) {\n  read_write out: u32[]\n  let a = out[0]\n" + body + "\n}\n";
}

// What runs on each program, and is to end well.
void check(const std::string& text) {
  using Arguments = std::vector<std::string_view>;
  std::vector<Arguments> all{
      {"check", "-"},
      {"fmt", "-"},
      {"opt", "-"},
      {"lower", "-", "--to", "ptx"},
      {"run", "-", "--grid", "1", "--in", "out=zeros:4", "--backend", "interp"},
      {"race", "-", "--grid", "1", "--in", "out=zeros:4"}};
  std::string reason;
  if (llvm::load_llvm(reason) != nullptr) {
    all.push_back({"lower", "-", "--to", "asm", "--cpu", "avx2"});
  }
  for (const Arguments& arguments : all) {
    CommandResult result;
    on_small_stack([&] { result = run_vyre(arguments, text); });
    EXPECT_EQ(result.status, 0) << arguments[0] << "\n" << result.err.substr(0, 400);
  }
}

TEST(Stack, TakesNestedStatements) {
  for (const std::string_view opening : {"if out[0] < 5 {\n", "for k@ in 0..1 {\n", "{\n"}) {
    std::string text;
    for (std::uint32_t i = 1; i < kMaxStmtDepth; ++i) {
      std::string line(opening);
      if (const std::size_t at = line.find('@'); at != line.npos)
        line.replace(at, 1, std::to_string(i));
      text += line;
    }
    check(program(text + "out[0] = out[0] + 1\n" + repeat("}", kMaxStmtDepth - 1)));
  }
}

TEST(Stack, TakesChainsOfElseIf) {
  const std::size_t links = kSanitized ? 500 : 3000;
  std::string text = "if a == 0 { out[1] = 1 }\n";
  for (std::size_t i = 1; i < links; ++i) {
    text += "else if a == " + std::to_string(i) + " { out[1] = " + std::to_string(i) + " }\n";
  }
  check(program(text));
}

TEST(Stack, TakesNestedExpressions) {
  const std::size_t depth = kMaxExprDepth - 2;
  std::string right = "a";
  std::string left = "a";
  for (std::size_t i = 2; i < depth; ++i) {
    const std::string number = std::to_string(i);
    right = number + (i % 2 == 0 ? " - (" : " ^ (") + right + ")";
    left += i % 2 == 0 ? " - " + number : " + out[" + number + "]";
  }
  check(program("out[1] = " + right));
  check(program("out[1] = " + left));
  check(program("out[1] = " + repeat("out[", depth) + "0" + repeat("]", depth)));
  check(program("out[1] = " + repeat("~(1 - ", depth / 2) + "a" + repeat(")", depth / 2)));
  check(
      program("out[1] = " + repeat("select(a < 4, 1, ", depth - 2) + "a" + repeat(")", depth - 2)));
  check(program("out[1] = " + repeat("min(a, ", depth - 2) + "a" + repeat(")", depth - 2)));
}

// Ops with as many early returns as are still turned into branches, each in the last one of
// another.
TEST(Stack, TakesNestedCalls) {
  std::string text;
  for (std::uint32_t i = 0; i < kMaxCallDepth; ++i) {
    const std::string number = std::to_string(i);
    text += "op my.f" + number + "(a: u32) -> u32 {\n";
    if (i == 0) {
      text += "  let b = a + 1\n  return b\n}\n";
      continue;
    }
    // Calls add to the nesting of statements, which has its own limit.
    const std::size_t returns = i == 1 ? 7 : 1;
    for (std::size_t k = 0; k < returns; ++k) {
      text += "  if a == " + std::to_string(1000 * i + k) + " { return a + " + number + " }\n";
    }
    text += "  return my.f" + std::to_string(i - 1) + "(a + 1)\n}\n";
  }
  check(text + program("out[1] = my.f" + std::to_string(kMaxCallDepth - 1) + "(a)"));
}

TEST(Stack, TakesWhatNestsTooDeeply) {
  const std::size_t many = 100'000;
  for (const std::string& text :
       {repeat("(", many), repeat("{", many), program("out[1] = " + repeat("(", many)),
        program("out[1] = " + repeat("-", many)), program("out[1] = a" + repeat(".x", many)),
        program("out[1] = a" + repeat(" + 1", many)), program(repeat("if a {", many)),
        program(repeat("if a {} else ", many)), program("out[1] = " + repeat("my.f(", many))}) {
    CommandResult result;
    const std::vector<std::string_view> arguments = {"check", "-"};
    on_small_stack([&] { result = run_vyre(arguments, text); });
    EXPECT_EQ(result.status, 1) << text.substr(0, 100);
  }
}

}  // namespace
}  // namespace vyre
