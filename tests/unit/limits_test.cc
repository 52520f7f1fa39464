// Every limit: what is exactly at it passes, one more gets its code and nothing else. From text,
// and from memory and wire, where sharing makes small things large.
#include <gtest/gtest.h>

#include "vyre/ir/intern.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using namespace types;

using Codes = std::vector<std::string>;

Codes codes_of(const std::vector<Diagnostic>& diagnostics) {
  Codes codes;
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_FALSE(diagnostic.fix.empty());
    EXPECT_LT(render(diagnostic).size(), 4096u);
    codes.emplace_back(name(diagnostic.code));
  }
  return codes;
}

Codes text_codes(std::string text) {
  const Result<Loaded> loaded = load_module({"test", std::move(text)});
  return codes_of(loaded.diagnostics());
}

// Of a module, and of what the wire makes of it.
Codes module_codes(const Module& module) {
  const Codes codes = codes_of(validate(module));
  const Result<std::string> bytes = encode(module);
  EXPECT_TRUE(bytes.ok());
  if (bytes.ok()) {
    const Result<Loaded> loaded = load_module({"test", *bytes});
    EXPECT_EQ(codes_of(loaded.diagnostics()), codes);
  }
  return codes;
}

std::string repeat(std::string_view part, std::size_t count) {
  std::string out;
  out.reserve(part.size() * count);
  for (; count > 0; --count) out += part;
  return out;
}

std::string program(const std::string& body) { return "program p workgroup(1) {\n" + body + "}\n"; }

// --- Tables --------------------------------------------------------------------------------------

TEST(Limits, Tables) {
  const auto table = [](const std::string& type, std::size_t count) {
    return text_codes("const t: " + type + "[" + std::to_string(count) + "] = [" +
                      repeat("1" + (type == "u8" ? "" : type) + ", ", count) + "]\n" + program(""));
  };
  EXPECT_EQ(table("u8", 65'536), Codes());
  EXPECT_EQ(table("u8", 65'537), (Codes{"V047", "V047"}));  // the type and the elements
  EXPECT_EQ(table("u32", 65'536), Codes());
  EXPECT_EQ(table("u64", 32'768), Codes());
  EXPECT_EQ(table("u64", 32'769), Codes{"V047"});
  EXPECT_EQ(table("u128", 16'384), Codes());
  EXPECT_EQ(table("u128", 16'385), Codes{"V047"});
}

TEST(Limits, TablesOfOneName) {
  const auto op = [](const std::string& id, const std::string& elements) {
    const Result<Module> module =
        parse("const k = [" + elements + "]\nop " + id + "(i: u32) -> u32 { return k[i] }");
    EXPECT_TRUE(module.ok());
    return module->items.at(0);
  };
  EXPECT_EQ(module_codes({{op("my.a", "1, 2"), op("my.b", "1, 2")}}), Codes());
  EXPECT_EQ(module_codes({{op("my.a", "1, 2"), op("my.b", "1, 3")}}), Codes{"V048"});
}

// --- Depth ---------------------------------------------------------------------------------------

TEST(Limits, Calls) {
  const auto chain = [](int length) {
    std::string text = "op my.c1() -> u32 { return 1 }\n";
    for (int i = 2; i <= length; ++i) {
      text += "op my.c" + std::to_string(i) + "() -> u32 { return my.c" + std::to_string(i - 1) +
              "() }\n";
    }
    return text + program("let a = my.c" + std::to_string(length) + "()\n");
  };
  EXPECT_EQ(text_codes(chain(32)), Codes());
  EXPECT_EQ(text_codes(chain(33)), Codes{"V017"});
  EXPECT_EQ(text_codes(chain(40)), Codes{"V017"});
  EXPECT_EQ(module_codes(*parse(chain(32))), Codes());
  EXPECT_EQ(module_codes(*parse(chain(33))), Codes{"V017"});
}

TEST(Limits, NestedStatements) {
  // The innermost statement is one level deeper than the last brace.
  for (std::string_view open : {"{ ", "if true { ", "if true { } else { { ", "for # in 0..1 { "}) {
    const bool two_levels = open.find("else") != open.npos;
    const auto nest = [&](std::size_t levels) {
      std::string text;
      std::size_t depth = 1;
      for (; depth < levels; depth += two_levels ? 2 : 1) {
        std::string head(open);
        if (const auto at = head.find('#'); at != head.npos) {
          head.replace(at, 1, "k" + std::to_string(depth));
        }
        text += head;
      }
      EXPECT_EQ(depth, levels);
      return program(text + "let a = 1 " +
                     repeat("} ", (levels - 1) / (two_levels ? 2 : 1) * (two_levels ? 2 : 1)));
    };
    const std::size_t most = two_levels ? 63 : 64;
    EXPECT_EQ(text_codes(nest(most)), Codes()) << open;
    EXPECT_EQ(text_codes(nest(most + (two_levels ? 2 : 1))), Codes{"V018"}) << open;
    EXPECT_EQ(module_codes(*parse(nest(most))), Codes()) << open;
    EXPECT_EQ(module_codes(*parse(nest(most + (two_levels ? 2 : 1)))), Codes{"V018"}) << open;
  }
  EXPECT_EQ(text_codes(program(repeat("{", 90000) + repeat("}", 90000))), Codes{"V018"});
}

TEST(Limits, ElseIfChainsAreFlat) {
  const std::string chain = program("let a = invocation_id.x\nif a == 0 { } " +
                                    repeat("else if a == 1 { } ", 10000) + "else { a = 2 }\n");
  EXPECT_EQ(text_codes(chain), Codes());
  const Result<Module> module = parse(chain);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module_codes(*module), Codes());
  const std::string text = print(*module);
  EXPECT_EQ(*parse(text), *module);
  EXPECT_EQ(*format({"", text}), text);
}

TEST(Limits, NestedExpressions) {
  const std::string head = "let a = invocation_id.x\n";
  const auto deep = [&](std::size_t levels) {
    return std::vector<std::string>{
        program(head + "let b = " + repeat("-", levels - 1) + "a\n"),
        program(head + "let b = a" + repeat(" + a", levels - 1) + "\n"),
        program(head + "let b = " + repeat("a + (", levels - 1) + "a" + repeat(")", levels - 1) +
                "\n"),
        program(head + "let b = " + repeat("min(", levels - 1) + "a" + repeat(", a)", levels - 1) +
                "\n"),
        program(head + "let b = " + repeat("u32(", levels - 1) + "a" + repeat(")", levels - 1) +
                "\n"),
        program("read data: u32[]\n" + head + "let b = " + repeat("data[", levels - 1) + "a" +
                repeat("]", levels - 1) + "\n"),
    };
  };
  for (const std::string& text : deep(1024)) {
    EXPECT_EQ(text_codes(text), Codes());
    EXPECT_EQ(module_codes(*parse(text)), Codes());
  }
  for (const std::string& text : deep(1025)) {
    EXPECT_EQ(text_codes(text), Codes{"V037"});
    EXPECT_EQ(module_codes(*parse(text)), Codes{"V037"});
  }
}

TEST(Limits, Parentheses) {
  const auto nest = [](std::size_t depth) {
    return program("let a = " + repeat("(", depth) + "1" + repeat(")", depth) + "\n");
  };
  EXPECT_EQ(text_codes(nest(8192)), Codes());
  EXPECT_EQ(text_codes(nest(8193)), Codes{"P009"});
}

// --- Numbers -------------------------------------------------------------------------------------

TEST(Limits, Expressions) {
  // An expression of n ones has 2n - 1 parts.
  const auto ones = [](std::size_t count) { return "a = 1" + repeat("+1", count - 1) + "\n"; };
  const std::string most = "let a = 0\n" + repeat(ones(1024), 488) + ones(532);
  EXPECT_EQ(text_codes(program(most)), Codes());
  EXPECT_EQ(text_codes(program(most + "a = 0\n")), Codes{"V037"});
}

// A value of 2^k - 1 parts takes k statements' worth of room.
TEST(Limits, SharedExpressions) {
  const auto make = [](std::vector<int> sizes) {
    Builder b("p", {1});
    for (int k : sizes) {
      Value value = b.invocation_id(0);
      for (int i = 1; i < k; ++i) value = value + value;
      b.let(value);
    }
    return b.finish();
  };
  const std::vector<int> most = {19, 18, 17, 16, 14, 9, 6, 3};  // 1 000 000 together
  const Result<Linked> at_limit = make(most);
  ASSERT_TRUE(at_limit.ok());
  EXPECT_EQ(module_codes({{*at_limit}}), Codes());
  std::vector<int> more = most;
  more.push_back(1);
  EXPECT_EQ(codes_of(make(more).diagnostics()), Codes{"V037"});
  EXPECT_EQ(codes_of(make({1000}).diagnostics()), Codes{"V037"});

  // The same through the wire, which finish() does not reach.
  Body body;
  Interner interner(body);
  ExprId value = interner.make(Operation::InvocationId, 0, 0, {});
  for (int i = 0; i < 1000; ++i) {
    const ExprId twice[] = {value, value};
    value = interner.make(Operation::Add, 0, 0, twice);
  }
  body.locals.push_back({"a"});
  body.stmts.push_back(Let{LocalId{0u}, value});
  EXPECT_EQ(module_codes({{Program{"p", {1, 1, 1}, {}, canonical(body)}}}), Codes{"V037"});
}

TEST(Limits, Statements) {
  const std::string most = "let a = 0\n" + repeat("a = 1\n", 99'999);
  EXPECT_EQ(text_codes(program(most)), Codes());
  EXPECT_EQ(text_codes(program(most + "a = 1\n")), Codes{"V019"});
  Program barriers{"p", {1, 1, 1}, {}, {}};
  barriers.body.stmts.assign(100'000, Barrier{});
  EXPECT_EQ(module_codes({{barriers}}), Codes());
  barriers.body.stmts.push_back(Barrier{});
  EXPECT_EQ(module_codes({{barriers}}), Codes{"V019"});
}

TEST(Limits, Buffers) {
  const auto buffers = [](std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) text += "read b" + std::to_string(i) + ": u32[]\n";
    return program(text);
  };
  EXPECT_EQ(text_codes(buffers(16'384)), Codes());
  EXPECT_EQ(text_codes(buffers(16'385)), Codes{"V038"});
  Program many{"p", {1, 1, 1}, {}, {}};
  for (std::uint32_t i = 0; i < 16'384; ++i) {
    many.buffers.push_back(
        BufferDecl::storage("b" + std::to_string(i), i, BufferAccess::ReadOnly, DataType::U32));
  }
  EXPECT_EQ(module_codes({{many}}), Codes());
  many.buffers.push_back(BufferDecl::workgroup("b", DataType::U32, 1));
  EXPECT_EQ(module_codes({{many}}), Codes{"V038"});
}

// --- Sizes ---------------------------------------------------------------------------------------

TEST(Limits, Names) {
  const std::string longest(std::size_t{1} << 20, 'a');
  const std::string longer = longest + "a";
  const auto in_text = [](const std::string& name, const std::string& id) {
    return std::vector<std::string>{
        "program " + name + " workgroup(1) { }",
        program("read " + name + ": u32[]\n"),
        program("let " + name + " = 1\n"),
        program("for " + name + " in 0..1 { }\n"),
        "op my.op(" + name + ": u32) -> u32 { return 1 }",
        "op " + id + "() -> u32 { return 1 }",
    };
  };
  const std::string dotted = "b." + longest.substr(2);
  for (const std::string& text : in_text(longest, dotted)) EXPECT_EQ(text_codes(text), Codes());
  for (const std::string& text : in_text(longer, dotted + "aa")) {
    EXPECT_EQ(text_codes(text), Codes{"P007"}) << text.substr(0, 30);
  }

  const auto built = [](const std::string& program_name, const std::string& buffer,
                        const std::string& local, const std::string& variable) {
    Builder b(program_name, {1});
    b.read<u32>(buffer);
    b.let(local, 1);
    b.for_(variable, 0, 1, [](Value) {});
    return codes_of(b.finish().diagnostics());
  };
  EXPECT_EQ(built(longest, "b", "c", "d"), Codes());
  EXPECT_EQ(built(longer, "b", "c", "d"), Codes{"V040"});
  EXPECT_EQ(built("p", longer, "c", "d"), Codes{"V040"});
  EXPECT_EQ(built("p", "b", longer, "d"), Codes{"V040"});
  EXPECT_EQ(built("p", "b", "c", longer), Codes{"V040"});
  OpBuilder op(dotted + "a", DataType::U32);
  op.return_(1);
  EXPECT_EQ(codes_of(op.finish().diagnostics()), Codes{"V040"});
}

TEST(Limits, EncodedBytes) {
  Op op = std::get<Op>(parse("op my.op() -> u32 { return 1 }")->items[0]);
  const std::size_t header_and_frame = 32 + 8;
  const std::size_t rest = encode({{op}})->size() - header_and_frame;
  op.description.assign(kMaxEncodedBytes - rest, 'x');
  const Result<std::string> most = encode({{op}});
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(most->size() - header_and_frame, kMaxEncodedBytes);
  const Result<Loaded> loaded = load_module({"test", *most});
  EXPECT_EQ(codes_of(loaded.diagnostics()), Codes());
  op.description += 'x';
  EXPECT_EQ(codes_of(encode({{op}}).diagnostics()), Codes{"W009"});
}

}  // namespace
}  // namespace vyre
