// What the text format says, where a pair of texts shows it best: literals, precedence, default
// bindings, names and reserved words.
#include <gtest/gtest.h>

#include <algorithm>

#include "vyre/compile.h"
#include "vyre/ir/walk.h"
#include "vyre/text/lexer.h"
#include "vyre/text/parse.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

using Codes = std::vector<std::string>;

Codes codes_of(const std::string& text) {
  Codes codes;
  const Result<Loaded> loaded = load_module({"test", text});
  for (const Diagnostic& diagnostic : loaded.diagnostics()) {
    EXPECT_GT(diagnostic.line, 0u) << text;
    EXPECT_GT(diagnostic.column, 0u) << text;
    EXPECT_FALSE(diagnostic.fix.empty()) << text;
    codes.emplace_back(name(diagnostic.code));
  }
  return codes;
}

// A program that binds the expression; the locals and buffers are there for it to use.
std::string around(std::string_view expr) {
  return "program p workgroup(1) {\n"
         "  read data: u32[]\n"
         "  let a = data[0] let b = data[1] let c = data[2] let d = data[3]\n"
         "  let v = vec4u32(a, b, c, d)\n"
         "  let n = i32(a)\n"
         "  let result = " +
         std::string(expr) + "\n}\n";
}

Module parsed(const std::string& text) {
  Result<Module> module = parse(text, "test");
  EXPECT_TRUE(module.ok()) << text << (module.ok() ? "" : render(module.diagnostics()[0]));
  return module.ok() ? *module : Module{};
}

Module of(std::string_view expr) { return parsed(around(expr)); }

Codes codes_in(std::string_view expr) { return codes_of(around(expr)); }

// The last line of what print() makes of it, without `let result = `.
std::string printed(std::string_view expr) {
  const std::string text = print(of(expr));
  const std::string_view head = "let result = ";
  const std::size_t begin = text.find(head) + head.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// The literal that an expression is.
TypedBits literal(std::string_view expr) {
  const Module module = of(expr);
  if (module.items.empty()) return {};
  const Body& body = body_of(module.items[0]);
  const Expr& value = body[std::get<Let>(body.stmts.back()).value];
  EXPECT_EQ(value.op, Operation::Literal) << expr;
  return {type_of_detail(value), literal_bits(body, value)};
}

TypedBits bits(DataType type, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0,
               std::uint32_t d = 0) {
  return {type, {{a, b, c, d}}};
}

// --- Literals ------------------------------------------------------------------------------------

TEST(Literals, HaveASuffixOrAreU32) {
  EXPECT_EQ(literal("7"), bits(DataType::U32, 7));
  EXPECT_EQ(literal("7u32"), bits(DataType::U32, 7));
  EXPECT_EQ(literal("7i32"), bits(DataType::I32, 7));
  EXPECT_EQ(literal("7u64"), bits(DataType::U64, 7));
  EXPECT_EQ(literal("7u128"), bits(DataType::U128, 7));
  EXPECT_EQ(literal("true"), bits(DataType::Bool, 1));
  EXPECT_EQ(literal("false"), bits(DataType::Bool, 0));
}

TEST(Literals, HaveThreeBasesAndUnderscores) {
  EXPECT_EQ(literal("1_000_000"), bits(DataType::U32, 1000000));
  EXPECT_EQ(literal("0xFf_00"), bits(DataType::U32, 0xff00));
  EXPECT_EQ(literal("0b1010_0101u64"), bits(DataType::U64, 0xa5));
  EXPECT_EQ(literal("007"), bits(DataType::U32, 7));
  EXPECT_EQ(literal("0x0123456789abcdeffedcba9876543210u128"),
            bits(DataType::U128, 0x76543210, 0xfedcba98, 0x89abcdef, 0x01234567));
  EXPECT_EQ(literal("340282366920938463463374607431768211455u128"),
            bits(DataType::U128, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff));
  // Every hexadecimal digit belongs to the number.
  EXPECT_EQ(literal("0xbf1"), bits(DataType::U32, 0xbf1));
  for (const char* bad : {"0X1", "0B1", "1_", "0x_1", "0x1_", "1__0", "1_u32", "0x", "0b", "0b2",
                          "1u8", "1x", "0x1g", "7I32", "1u16"}) {
    EXPECT_EQ(codes_in(bad), Codes{"P003"}) << bad;
  }
}

TEST(Literals, StayInRange) {
  for (const char* good :
       {"4294967295", "0xffffffff", "2147483647i32", "-2147483648i32", "- 2147483648i32",
        "18446744073709551615u64", "0xffffffffffffffffffffffffffffffffu128"}) {
    EXPECT_EQ(codes_in(good), Codes()) << good;
  }
  for (const char* bad :
       {"4294967296", "0x1_0000_0000", "2147483648i32", "-2147483649i32", "18446744073709551616u64",
        "0x10000000000000000u64", "340282366920938463463374607431768211456u128",
        "0b111111111111111111111111111111111", "1000000000000000000000000000000000000000000"}) {
    EXPECT_EQ(codes_in(bad), Codes{"P004"}) << bad;
  }
}

TEST(Literals, AMinusBelongsToAnI32Literal) {
  EXPECT_EQ(literal("-5i32"), bits(DataType::I32, 0xfffffffb));
  EXPECT_EQ(literal("- 5i32"), bits(DataType::I32, 0xfffffffb));
  EXPECT_EQ(literal("- // five\n 5i32"), bits(DataType::I32, 0xfffffffb));
  EXPECT_EQ(literal("-2147483648i32"), bits(DataType::I32, 0x80000000));
  EXPECT_EQ(literal("-0i32"), bits(DataType::I32, 0));
  // Elsewhere it is an operation.
  EXPECT_EQ(printed("-1"), "-1");
  EXPECT_EQ(of("-1"), of("-(1)"));
  EXPECT_EQ(printed("-(1i32)"), "-(1i32)");
  EXPECT_NE(of("-(1i32)"), of("-1i32"));
  EXPECT_EQ(printed("- -1i32"), "-(-1i32)");
  EXPECT_EQ(of("--1i32"), of("-(-1i32)"));
  EXPECT_EQ(printed("n-1i32"), "n - 1i32");
  EXPECT_EQ(of("n - 1i32"), of("(n) - (1i32)"));
  EXPECT_EQ(printed("n - -1i32"), "n - -1i32");
  EXPECT_EQ(printed("~-(1i32)"), "~-(1i32)");
  EXPECT_EQ(printed("-7u64"), "-7u64");
}

TEST(Literals, PrintInDecimalBelow65536) {
  EXPECT_EQ(printed("0xffff"), "65535");
  EXPECT_EQ(printed("65536"), "0x10000");
  EXPECT_EQ(printed("0b11i32"), "3i32");
  EXPECT_EQ(printed("-65536i32"), "-0x10000i32");
  EXPECT_EQ(printed("5u32"), "5");
}

TEST(Literals, FloatsAreForALaterVersion) {
  for (const char* planned : {"1.0", "0.5f32", "1e9", "1E+9", "2.5e-3", "0x1p4", "0x1.8p-3", "1f32",
                              "1f16", "1bf16", "nan", "inf", "f32(a)", "bf16(a)", "f16(a)"}) {
    EXPECT_EQ(codes_in(planned), Codes{"P010"}) << planned;
  }
  for (const char* type : {"f32", "f16", "bf16", "tensor"}) {
    const std::string name(type);
    EXPECT_EQ(codes_of("program p workgroup(1) { read x: " + name + "[] }"), Codes{"P010"});
    EXPECT_EQ(codes_of("op my.op(a: " + name + ") -> u32 { return 1 }"), Codes{"P010"});
    EXPECT_EQ(codes_of("op my.op(a: u32) -> " + name + " { return 1 }"), Codes{"P010"});
  }
  // A range is no float.
  EXPECT_EQ(codes_of("program p workgroup(1) { for k in 1..2 { } for m in 0x1..0x2 { } }"),
            Codes());
}

// --- Operators -----------------------------------------------------------------------------------

// All pairs of infix operators without parentheses mean what their precedences say.
TEST(Precedence, IsThatOfTheTable) {
  for (const OperationInfo& first : all_operations()) {
    for (const OperationInfo& second : all_operations()) {
      if (first.arity != 2 || first.precedence == 0) continue;
      if (second.arity != 2 || second.precedence == 0) continue;
      const std::string one = " " + std::string(first.text) + " ";
      const std::string two = " " + std::string(second.text) + " ";
      const std::string plain = "a" + one + "b" + two + "c";
      const std::string left = "(a" + one + "b)" + two + "c";
      const std::string right = "a" + one + "(b" + two + "c)";
      if (first.precedence == second.precedence &&
          first.precedence == info(Operation::Eq).precedence) {
        EXPECT_EQ(codes_in(plain), Codes{"P008"}) << plain;
        EXPECT_EQ(printed(left), left);
        EXPECT_EQ(printed(right), right);
        continue;
      }
      const bool left_first = first.precedence >= second.precedence;
      EXPECT_EQ(of(plain), of(left_first ? left : right)) << plain;
      EXPECT_NE(of(plain), of(left_first ? right : left)) << plain;
      // Only the parentheses that change something are printed.
      EXPECT_EQ(printed(left), left_first ? plain : left);
      EXPECT_EQ(printed(right), left_first ? right : plain);
    }
  }
}

TEST(Precedence, IsThatOfTheSpecification) {
  EXPECT_EQ(of("a || b && c == d | a ^ b & c << d + a * b"),
            of("a || (b && (c == (d | (a ^ (b & (c << (d + (a * b))))))))"));
  EXPECT_EQ(of("a * b + c << d & a ^ b | c == d && a || b"),
            of("((((((((a * b) + c) << d) & a) ^ b) | c) == d) && a) || b"));
  EXPECT_EQ(of("a & b == 0"), of("(a & b) == 0"));
  EXPECT_EQ(of("a - b - c"), of("(a - b) - c"));
  EXPECT_EQ(of("a / b % c * d"), of("((a / b) % c) * d"));
  EXPECT_EQ(of("a >> b << c"), of("(a >> b) << c"));
}

TEST(Precedence, PrefixThenLanes) {
  EXPECT_EQ(of("-a * b"), of("(-a) * b"));
  EXPECT_EQ(of("a * -b"), of("a * (-b)"));
  EXPECT_EQ(of("!a == b"), of("(!a) == b"));
  EXPECT_EQ(of("-v.x"), of("-(v.x)"));
  EXPECT_NE(of("-v.x"), of("(-v).x"));
  EXPECT_EQ(printed("(-v).x"), "(-v).x");
  EXPECT_EQ(of("~-!a"), of("~(-(!a))"));
  EXPECT_EQ(of("(v + v).w"), of("((v + v)).w"));
  EXPECT_EQ(printed("vec2u32(v).y"), "vec2u32(v).y");
}

TEST(Comparisons, DoNotChain) {
  EXPECT_EQ(codes_in("a < b < c"), Codes{"P008"});
  EXPECT_EQ(codes_in("a == b != c"), Codes{"P008"});
  EXPECT_EQ(codes_in("a < b + c < d"), Codes{"P008"});
  EXPECT_EQ(codes_in("(a < b) < c"), Codes());
  EXPECT_EQ(codes_in("a < (b < c)"), Codes());
  EXPECT_EQ(codes_in("a < b && c < d"), Codes());
  EXPECT_EQ(codes_in("min(a < b, c) < d"), Codes());
}

// --- Declarations --------------------------------------------------------------------------------

std::vector<std::uint32_t> bindings(const std::string& buffers) {
  const Module module = parsed("program p workgroup(1) {" + buffers + "}");
  std::vector<std::uint32_t> numbers;
  for (const BufferDecl& buffer : std::get<Program>(module.items[0]).buffers) {
    numbers.push_back(buffer.binding);
  }
  return numbers;
}

TEST(Bindings, TakeTheNextNumberThatIsWrittenNowhere) {
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(bindings("read a: u32[] read b: u32[] uniform c: u32[]"), (Numbers{0, 1, 2}));
  EXPECT_EQ(bindings("read a: u32[] read b: u32[] @0 read c: u32[]"), (Numbers{1, 0, 2}));
  EXPECT_EQ(bindings("read a: u32[] @1 read b: u32[] read c: u32[]"), (Numbers{1, 0, 2}));
  EXPECT_EQ(bindings("read a: u32[] read b: u32[] read c: u32[] @1 read d: u32[] @0"),
            (Numbers{2, 3, 1, 0}));
  EXPECT_EQ(bindings("read a: u32[] workgroup w: u32[4] read b: u32[]"), (Numbers{0, 0, 1}));
  EXPECT_EQ(bindings("read a: u32[] @4294967295 read b: u32[]"), (Numbers{4294967295, 0}));
}

TEST(Declarations, LeaveOutWhatIsObvious) {
  EXPECT_EQ(parsed("program p workgroup(64) { }"), parsed("program p workgroup(64, 1, 1) { }"));
  EXPECT_EQ(parsed("program p workgroup(8, 2) { }"), parsed("program p workgroup(8, 2, 1) { }"));
  EXPECT_EQ(print(parsed("program p workgroup(64, 1, 1) { }")), "program p workgroup(64) {}\n");
  EXPECT_EQ(print(parsed("program p workgroup(1, 1, 2) { }")), "program p workgroup(1, 1, 2) {}\n");
  EXPECT_EQ(parsed("program p workgroup(1) { read x: bytes @0 }"),
            parsed("program p workgroup(1) { read x: bytes[0] @0 }"));
  EXPECT_EQ(codes_of("program p workgroup(1, 2, 3, 4) { }"), Codes{"P006"});
  EXPECT_EQ(codes_of("program p workgroup() { }"), Codes{"P006"});
  EXPECT_EQ(codes_of("program p workgroup(1i32) { }"), Codes{"P006"});
  EXPECT_EQ(codes_of(""), Codes());
  EXPECT_EQ(codes_of("\xef\xbb\xbf// a byte order mark\r\nprogram p workgroup(1) {\r\n}\r\n"),
            Codes());
  EXPECT_EQ(codes_of("program p workgroup(1) {} \xef\xbb\xbf"), Codes{"P002"});
}

TEST(ElseIf, IsElseWithAnIf) {
  const auto in = [](std::string_view statement) {
    return parsed("program p workgroup(1) { let a = invocation_id.x " + std::string(statement) +
                  "}");
  };
  const Module chained = in("if a { } else if a == 1 { let b = 1 } else { let c = 2 }");
  EXPECT_EQ(chained, in("if a { } else { if a == 1 { let b = 1 } else { let c = 2 } }"));
  EXPECT_NE(print(chained).find("} else if a == 1 {"), std::string::npos);
  EXPECT_NE(chained, in("if a { } else { if a == 1 { let b = 1 } else { let c = 2 } let d = 3 }"));
  EXPECT_NE(chained, in("if a { } else { { if a == 1 { let b = 1 } else { let c = 2 } } }"));
  EXPECT_EQ(in("if a { let b = 1 } else { }"), in("if a { let b = 1 }"));
}

TEST(WhiteSpace, EndsNoStatement) {
  EXPECT_EQ(parsed("program p workgroup(1){let a=1 let b=a+2 a=b*a}"),
            parsed("program p\nworkgroup\n(1)\n{\nlet\na\n=\n1\nlet b = a\n+\n2 a =\tb *\r\na\n}"));
  EXPECT_EQ(codes_of("program p workgroup(1) { let a = 1; }"), Codes{"P002"});
}

// --- Strings -------------------------------------------------------------------------------------

TEST(Strings, KnowFourEscapes) {
  const auto description = [](std::string_view literal) {
    const Module module = parsed("op my.op() -> u32 { " + std::string(literal) + " return 1 }");
    EXPECT_EQ(parsed(print(module)), module);
    return std::get<Op>(module.items[0]).description;
  };
  EXPECT_EQ(description(R"("\" \\ \n \t")"), "\" \\ \n \t");
  EXPECT_EQ(description(R"("// no comment")"), "// no comment");
  EXPECT_EQ(description("\"größer → ∞\""), "größer → ∞");
  EXPECT_EQ(description(R"("")"), "");
  for (const char* bad : {R"("\r")", R"("\x41")", R"("\0")", R"("\)", "\"\n\"", "\"", "\"\\\n\""}) {
    EXPECT_EQ(codes_of("op my.op() -> u32 { " + std::string(bad) + "\n return 1 }")[0], "P005")
        << bad;
  }
}

// --- Names ---------------------------------------------------------------------------------------

std::vector<std::string> reserved_words() {
  std::vector<std::string> words = {
#define WORD(name, text) text,
#include "vyre/text/words.def"
  };
  for (const TypeInfo& row : all_types()) {
    if (!is_narrow(row.type)) words.emplace_back(row.text);
  }
  for (const AtomicInfo& row : all_atomics()) {
    if (row.op < AtomicOp::Load) words.emplace_back(row.text);
  }
  return words;
}

// Words that came later mean something only where a name cannot stand.
std::vector<std::string> contextual_words() {
  std::vector<std::string> words = {"u8",           "u16",   "i8",  "i16",  "atomic_load",
                                    "atomic_store", "const", "use", "step", "num_workgroups",
                                    "reversed",     "while", "job", "run",  "over",
                                    "continue"};
  for (const CollectiveInfo& row : all_collectives()) words.emplace_back(row.text);
  return words;
}

TEST(Names, AreNotReservedWords) {
  const std::vector<std::string> words = reserved_words();
  for (const char* listed : {"program",      "op",
                             "if",           "else",
                             "for",          "in",
                             "let",          "break",
                             "return",       "barrier",
                             "read",         "read_write",
                             "uniform",      "workgroup",
                             "law",          "true",
                             "false",        "len",
                             "select",       "nan",
                             "inf",          "u32",
                             "vec4u32",      "bytes",
                             "bool",         "f32",
                             "f16",          "bf16",
                             "tensor",       "invocation_id",
                             "workgroup_id", "local_id",
                             "atomic_add",   "atomic_compare_exchange"}) {
    EXPECT_TRUE(std::ranges::count(words, listed) == 1) << listed;
  }
  for (const std::string& word : words) {
    EXPECT_EQ(codes_of("program " + word + " workgroup(1) { }"), Codes{"V040"}) << word;
    EXPECT_EQ(codes_of("program p workgroup(1) { read " + word + ": u32[] }"), Codes{"V040"});
    EXPECT_EQ(codes_of("program p workgroup(1) { let " + word + " = 1 }"), Codes{"V040"}) << word;
    EXPECT_EQ(codes_of("program p workgroup(1) { for " + word + " in 0..1 { } }"), Codes{"V040"});
    EXPECT_EQ(codes_of("op my.op(" + word + ": u32) -> u32 { return 1 }"), Codes{"V040"}) << word;
  }
}

TEST(Names, MayBeWordsThatCameLater) {
  for (const std::string& word : contextual_words()) {
    const auto body = [&](const std::string& text) {
      return codes_of("program p workgroup(1) { " + text + " }");
    };
    EXPECT_EQ(codes_of("program " + word + " workgroup(1) { }"), Codes()) << word;
    EXPECT_EQ(body("read_write " + word + ": u32[] " + word + "[1] = " + word + "[2] + len(" +
                   word + ")"),
              Codes())
        << word;
    EXPECT_EQ(body("workgroup " + word + ": u32[4] " + word + "[1] = 2"), Codes()) << word;
    EXPECT_EQ(body("read_write " + word + ": u32[] let old = atomic_add(" + word + "[1], 1)"),
              Codes())
        << word;
    EXPECT_EQ(body("let " + word + " = 1 " + word + " = " + word + " + 2 let z = " + word), Codes())
        << word;
    EXPECT_EQ(body("let " + word + " = vec2u32(1) let z = " + word + ".x"), Codes()) << word;
    EXPECT_EQ(body("for " + word + " in 0..3 { let z = " + word + " }"), Codes()) << word;
    EXPECT_EQ(body("let " + word + " = 3 if " + word + " { } for i in 0.." + word + " { }"),
              Codes())
        << word;
    EXPECT_EQ(codes_of("op my.op(" + word + ": u32) -> u32 { return " + word + " }"), Codes())
        << word;
  }
}

TEST(Names, MayBeThoseOfFunctionsAndLaws) {
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op) || row.precedence != 0) continue;
    const std::string name(row.text);
    const std::string arguments = row.arity == 1 ? "(" + name + ")" : "(" + name + ", 1)";
    EXPECT_EQ(codes_of("program p workgroup(1) { let " + name + " = 1 let b = " + name + arguments +
                       " + " + name + " }"),
              Codes())
        << name;
  }
  EXPECT_EQ(codes_of("program commutative workgroup(1) { let x = 1 let y = x let __z = y }"),
            Codes());
  EXPECT_EQ(codes_of("program p workgroup(1) { let lettuce = 1 let iff = 2 let u33 = 3 }"),
            Codes());
}

TEST(Names, OfOpsMayHaveAnyWordAsAPart) {
  std::vector<std::string> words = reserved_words();
  for (const std::string& word : contextual_words()) words.push_back(word);
  for (const std::string& word : words) {
    for (const std::string& id :
         {"my." + word, word + ".my", word + "." + word, "my." + word + ".x"}) {
      const std::string op = "op " + id + "(a: u32) -> u32 { return a }\n";
      EXPECT_EQ(codes_of(op), Codes()) << id;
      EXPECT_EQ(codes_of(op + "program p workgroup(1) { read_write out: u32[] let a = " + id +
                         "(1)\n a = " + id + "(2) out[" + id + "(3)] = " + id + "(4) if " + id +
                         "(5) { } for k in " + id + "(6).." + id + "(7) { } }"),
                Codes())
          << id;
      EXPECT_EQ(codes_of(op + "op other.op() -> u32 { return " + id + "(1) }"), Codes()) << id;
    }
  }
  EXPECT_EQ(of("primitive.bitwise.xor(a, b)"), of("primitive // here\n . bitwise\n.xor (a, b)"));
}

TEST(Names, OfLanesAndCallsDiffer) {
  EXPECT_EQ(codes_in("v.x + v.y.z"), Codes{"V026"});  // a lane has no lanes
  EXPECT_EQ(codes_in("v.xy"), Codes{"P006"});
  EXPECT_EQ(codes_in("v.x(a)"), Codes{"V016"});
  EXPECT_EQ(codes_in("invocation_id.w"), Codes{"V007"});
}

TEST(Return, TakesAValueInAnOpOnly) {
  EXPECT_EQ(codes_of("program p workgroup(1) { return }"), Codes());
  EXPECT_EQ(codes_of("program p workgroup(1) { return 1 }"), Codes{"V042"});
  EXPECT_EQ(codes_of("program p workgroup(1) { if true { return } }"), Codes());
  EXPECT_EQ(codes_of("op my.op() -> u32 { return }"), Codes{"V042"});
  EXPECT_EQ(codes_of("op my.op() -> u32 { return\n1 }"), Codes());
}

}  // namespace
}  // namespace vyre
