// Whatever the command is given, it answers with a code, a fix and the right exit status, after a
// bounded amount of work.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tools/vyre/command.h"
#include "vyre/base/random.h"
#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Codes = std::vector<std::string>;
using Arguments = std::vector<std::string_view>;

struct Answer {
  int status;
  Codes codes;
};

Arguments with_json(Arguments arguments) {
  arguments.insert(arguments.begin() + 1, "--json");
  return arguments;
}

// What a verb answers with --json.
Answer brief_answer(const Arguments& arguments, std::string_view input = {}) {
  // Processor time, of which others that use the machine take none away.
  const std::clock_t start = std::clock();
  const CommandResult json = run_vyre(with_json(arguments), input);
  EXPECT_LT(std::clock() - start, (kSanitized ? 120 : 20) * CLOCKS_PER_SEC);
  EXPECT_LT(json.out.size(), std::size_t{4} << 20);
  Answer result{json.status, {}};
  const nlohmann::json object = nlohmann::json::parse(json.out, nullptr, false);
  EXPECT_FALSE(object.is_discarded()) << json.out.substr(0, 400);
  if (object.is_discarded() || !object.contains("diagnostics")) return result;
  for (const nlohmann::json& diagnostic : object["diagnostics"]) {
    const std::string code = diagnostic["code"];
    EXPECT_FALSE(diagnostic["problem"].get<std::string>().empty()) << code;
    EXPECT_FALSE(diagnostic["fix"].get<std::string>().empty()) << code;
    if (code[0] == 'P' || code[0] == 'V') {
      EXPECT_GT(diagnostic["line"].get<int>(), 0) << code;
      EXPECT_GT(diagnostic["column"].get<int>(), 0) << code;
      EXPECT_EQ(diagnostic["file"].get<std::string>(), "<stdin>") << code;
    }
    result.codes.push_back(code);
  }
  return result;
}

// The same, and people are told no less than programs.
Answer answer(const Arguments& arguments, std::string_view input = {}) {
  const Answer result = brief_answer(arguments, input);
  const CommandResult plain = run_vyre(arguments, input);
  EXPECT_EQ(plain.status, result.status);
  for (const std::string& code : result.codes) {
    EXPECT_NE(plain.err.find("error[" + code + "]"), std::string::npos) << code;
    EXPECT_NE(plain.err.find("fix: "), std::string::npos) << code;
  }
  return result;
}

// The first code of what `check` says about a text that is wrong.
std::string first_code(std::string_view text) {
  const Answer result = answer({"check", "-"}, text);
  EXPECT_EQ(result.status, kWrongInput);
  return result.codes.empty() ? "" : result.codes[0];
}

// A folder of its own that goes when the test ends.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "vyre_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(std::string_view name, std::string_view text = "") const {
    const std::string path = path_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr std::string_view kGood = "program p workgroup(1) {}\n";

// --- Texts ---------------------------------------------------------------------------------------

TEST(BadInput, RandomBytes) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random.below(400), '\0');
    const bool ascii = round % 2 == 0;
    for (char& c : bytes) c = static_cast<char>(ascii ? 32 + random.below(95) : random.below(256));
    for (const char* verb : {"check", "fmt", "decode"}) {
      const CommandResult result = run_vyre(Arguments{verb, "-"}, bytes);
      if (bytes.empty()) continue;
      EXPECT_EQ(result.status, kWrongInput) << verb;
      EXPECT_NE(result.err.find("fix: "), std::string::npos) << verb;
    }
  }
}

// Tokens in any order, which get further than bytes do.
TEST(BadInput, RandomTokens) {
  constexpr std::string_view kTokens[] = {"program",
                                          "op",
                                          "p",
                                          "workgroup",
                                          "(",
                                          "1",
                                          ")",
                                          "{",
                                          "}",
                                          "read",
                                          "x",
                                          ":",
                                          "u32",
                                          "[",
                                          "]",
                                          "@",
                                          "0",
                                          "let",
                                          "=",
                                          "if",
                                          "else",
                                          "for",
                                          "in",
                                          "..",
                                          "return",
                                          "->",
                                          ".",
                                          ",",
                                          "+",
                                          "-",
                                          "<",
                                          "min",
                                          "len",
                                          "break",
                                          "law",
                                          "\"s\"",
                                          "barrier",
                                          "atomic_add",
                                          "select",
                                          "true",
                                          "invocation_id",
                                          "// c\n",
                                          "\n"};
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    std::string text = round % 2 == 0 ? "program p workgroup(1) { read x: u32[]\n" : "";
    for (std::uint32_t count = random.below(60); count > 0; --count) {
      text += random.pick(kTokens);
      text += ' ';
    }
    for (const char* verb : {"check", "fmt"}) {
      const CommandResult result = run_vyre(Arguments{verb, "-"}, text);
      EXPECT_LE(result.status, kWrongInput) << text;
      EXPECT_EQ(result.status == kWrongInput, result.err.find("fix: ") != std::string::npos)
          << verb << ": " << text;
    }
  }
}

// Inputs of a megabyte or two whose parts all have to do with each other: quadratic work on any of
// them would take minutes.
TEST(BadInput, NothingIsQuadratic) {
  const auto repeat = [](int count, auto part) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part(std::to_string(i), i);
    return text;
  };
  const auto program = [](const std::string& body) {
    return "program p workgroup(1) {\nread_write o: u32[]\n" + body + "}\n";
  };
  const auto says = [](std::string_view code, const std::string& text) {
    const Answer result = brief_answer({"check", "-"}, text);
    ASSERT_FALSE(result.codes.empty());
    for (const std::string& found : result.codes) EXPECT_EQ(found, code);
  };
  says("V024", program(repeat(20000, [](auto n, int) { return "let v" + n + " = w" + n + "\n"; })));
  says("V005", program(repeat(20000, [](auto n, int) { return "o[0] = b" + n + "[0]\n"; })));
  says("V016", program(repeat(20000, [](auto n, int) { return "o[0] = a.b" + n + "(1)\n"; })));
  says("V017", repeat(20000, [](auto n, int i) {
         return "op a.b" + n + "(x: u32) -> u32 { return a.b" + std::to_string((i + 1) % 20000) +
                "(x) + a.b" + std::to_string(i / 2) + "(x) }\n";
       }));
  says("V010",
       program("let v0 = local_id.x\n" +
               repeat(30000,
                      [](auto n, int i) {
                        return "let v" + std::to_string(i + 1) + " = v" + n + "\n";
                      }) +
               "if v30000 {\n" + repeat(30000, [](auto, int) { return "barrier\n"; }) + "}\n"));
}

// Nor is the layout of one statement, whose indentation is limited too.
TEST(BadInput, LongStatementsAreLaidOutInLinearTime) {
  const auto repeat = [](std::string_view part, std::size_t size) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  const std::size_t size = 1'000'000;
  const auto deep = [&](std::string_view opening, std::string_view closing) {
    std::string value;
    for (int i = 0; i < 4000; ++i) value += opening;
    value += "a";
    for (int i = 0; i < 4000; ++i) value += closing;
    return "a" + repeat("\nlet x = " + value, size / 4);
  };
  for (const std::string& value :
       {"a" + repeat(" + a", size), "a" + repeat(" * a | a + a << 2", size),
        "my.op(" + repeat("a + 1,", size) + "a)", "my.op(" + repeat("a // c\n,// d\n", size) + "a)",
        "[" + repeat("[\na, 1],", size) + "a]", "a" + repeat("[a]", size), deep("(a+", ")"),
        deep("my.op(1, ", ")"), deep("[\n1, ", "]"), deep("-", "")}) {
    const Result<std::string> formatted =
        format({"", "program p workgroup(1) {\nlet a = 1\nlet x = " + value + "\n}\n"});
    ASSERT_TRUE(formatted.ok()) << value.substr(0, 60);
    EXPECT_LT(formatted->size(), 40 * value.size()) << value.substr(0, 60);
  }
}

// A misspelt name is compared with those that there are, which may be very many.
TEST(BadInput, ManyNamesToSuggest) {
  const auto many = [](std::size_t count, auto line) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += line(std::to_string(100'000 + i));
    return text;
  };
  const auto says = [](std::string_view code, const std::string& text) {
    const Answer result = brief_answer({"check", "-"}, text);
    EXPECT_EQ(result.status, kWrongInput) << code;
    EXPECT_EQ(result.codes, Codes(1000, std::string(code)));
  };
  const std::string alike(50, 'a');
  says("V024", "program p workgroup(1) {\n" + many(40'000, [&](auto n) {
                 return "let " + alike + n + " = 1\n";
               }) + many(5'000, [&](auto n) {
                 return "let b" + n + " = " + alike + "b" + n + "\n";
               }) + "}\n");
  says("V016", many(50'000, [](auto n) {
         return "op my.f" + n + "() -> u32 { return my.g" + n + "() }\n";
       }));
  says("V041", many(50'000, [](auto n) {
         return "op my.f" + n + "(a: u32) -> u32 { law inverse_of(my.g" + n + ") return a }\n";
       }));
}

// A long name that a short wire file mentions often would make an enormous text.
TEST(BadInput, LongNamesMentionedOften) {
  Module module = *parse("program p workgroup(1) { read a: u32[] let x = 0 }");
  Program& p = std::get<Program>(module.items[0]);
  p.body.locals[0].name = std::string(kMaxNameBytes, 'x');
  Interner interner(p.body);
  const Let let = std::get<Let>(p.body.stmts[0]);
  const ExprId self = interner.local(let.local);
  for (int i = 0; i < 150; ++i) p.body.stmts.emplace_back(Assign{let.local, self});
  const CommandResult result = run_vyre(Arguments{"decode", "-"}, *encode(module));
  EXPECT_EQ(result.status, kWrongInput);
  EXPECT_NE(result.err.find("error[V037]"), std::string::npos);

  // Nor do messages repeat such a name in full.
  p.body.stmts.resize(1);
  p.buffers[0].name = std::string(kMaxNameBytes, 'b');
  for (int i = 0; i < 100; ++i)
    p.body.stmts.emplace_back(Store{BufferId{0u}, let.value, let.value});
  EXPECT_LT(run_vyre(Arguments{"check", "-"}, *encode(module)).err.size(), 1u << 20);
}

TEST(BadInput, MegabytesOfOneThing) {
  // The slow build takes no more than goes beyond every limit.
  const std::size_t size = kSanitized ? 2'000'000 : 10'000'000;
  const auto much = [size](std::string_view part) {
    std::string text;
    text.reserve(size + part.size());
    while (text.size() < size) text += part;
    return text;
  };
  const auto says = [](std::string_view code, const std::string& text) {
    const Answer result = brief_answer({"check", "-"}, text);
    EXPECT_EQ(result.status, code.empty() ? kFine : kWrongInput) << text.substr(0, 60);
    EXPECT_EQ(std::ranges::count(result.codes, code) > 0, !code.empty())
        << code << ": " << text.substr(0, 60);
  };
  says("P006", much("("));
  says("P006", much("{"));
  says("P006", much("["));
  says("P006", much("-"));
  says("P007", much("a"));
  says("P006", much("\""));
  says("P002", much(";"));
  says("P006", much("program "));
  says("", much("\n"));
  says("", much("// c\n"));

  const std::string in_program = "program p workgroup(1) { let a = 1 ";
  const std::string in_value = in_program + "let b = ";
  says("V019", in_program + much("{"));
  says("P009", in_value + much("("));
  says("P009", in_value + much("-"));
  says("P009", in_value + much("min("));
  says("V005", in_value + much("none["));
  says("P009", in_value + much("a["));
  says("P009", in_value + much("["));
  says("V037", in_value + "[" + much("a,"));
  says("V047", "const t = [" + much("1, ") + "1] program p workgroup(1) { let a = t[0] }");
  says("V037", "const c = 1 + 1 " + in_value + "c" + much("+c"));
  std::string doubled = "const c0 = 1";
  for (int i = 1; i < 40; ++i) {
    const std::string before = " c" + std::to_string(i - 1);
    doubled += "\nconst c" + std::to_string(i) + " =" + before + " +" + before;
  }
  says("V037", doubled + "\n");
  says("P006", in_value + much("a."));
  says("P009", in_value + "a" + much(".x"));
  says("P004", in_value + much("1"));
  says("V037", in_value + "a" + much(" + a"));
  says("P006", in_program + much("let "));
  says("V019", in_program + much("if a { } else "));
  says("P006", "op my.op(" + much("a: u32, "));
  says("P007", "op my" + much(".a") + "() -> u32 { return 1 }");
  says("P005", "op my.op() -> u32 { \"" + much("\\n"));
}

TEST(BadInput, NamesBeyondTheLimit) {
  const std::string name((std::size_t{1} << 20) + 1, 'a');
  EXPECT_EQ(first_code("program " + name + " workgroup(1) { }"), "P007");
  EXPECT_EQ(first_code("program p workgroup(1) { let " + name + " = 1 }"), "P007");
  EXPECT_EQ(first_code("program p workgroup(1) { let a = " + name + " }"), "P007");
  EXPECT_EQ(first_code("program p workgroup(1) { let a = " + name + "(1) }"), "P007");
  EXPECT_EQ(first_code("program p workgroup(1) { let a = my." + name + "(1) }"), "P007");
}

TEST(BadInput, NumbersOutOfRange) {
  const std::string huge(100'000, '9');
  for (const std::string& number : {std::string("4294967296"), huge}) {
    EXPECT_EQ(first_code("program p workgroup(" + number + ") { }"), "P004");
    EXPECT_EQ(first_code("program p workgroup(1, 1, " + number + ") { }"), "P004");
    EXPECT_EQ(first_code("program p workgroup(1) { read a: u32[" + number + "] }"), "P004");
    EXPECT_EQ(first_code("program p workgroup(1) { read a: u32[] @" + number + " }"), "P004");
    EXPECT_EQ(first_code("program p workgroup(1) { let a = " + number + " }"), "P004");
    EXPECT_EQ(
        first_code("op my.op(a: u32, b: u32) -> u32 { law identity(" + number + ") return a }"),
        "P004");
    EXPECT_EQ(first_code("program p workgroup(1) { let a = -" + number + "i32 }"), "P004");
  }
  EXPECT_EQ(first_code("program p workgroup(1) { let a = " + huge + "u128 }"), "P004");
  EXPECT_EQ(first_code("program p workgroup(-1) { }"), "P006");
  EXPECT_EQ(first_code("program p workgroup(0) { }"), "V003");
  EXPECT_EQ(first_code("program p workgroup(1) { uniform a: u128[4097] }"), "V036");
}

TEST(BadInput, InvalidUtf8) {
  for (const char* bad :
       {"\x80", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xc3"}) {
    const std::string byte(bad);
    EXPECT_EQ(first_code(byte), "P001");
    EXPECT_EQ(first_code("// a comment " + byte + "\n"), "P001");
    EXPECT_EQ(first_code("op my.op() -> u32 { \"" + byte + "\" return 1 }"), "P001");
    EXPECT_EQ(first_code("program p" + byte + " workgroup(1) { }"), "P001");
    EXPECT_EQ(first_code("program p workgroup(1) { let a" + byte + " = 1 }"), "P001");
    EXPECT_EQ(first_code(std::string(kGood) + byte), "P001");
  }
  EXPECT_EQ(first_code("program p workgroup(1) { let ä = 1 }"), "P002");
  const Answer place = answer({"check", "-"}, "\n\n  \xff");
  EXPECT_EQ(place.codes, Codes{"P001"});
  const CommandResult shown = run_vyre(Arguments{"check", "-"}, "\n\n  \xff");
  EXPECT_TRUE(shown.err.starts_with("<stdin>:3:3: error[P001]")) << shown.err;
}

TEST(BadInput, NulBytes) {
  const std::string nul(1, '\0');
  EXPECT_EQ(first_code(nul), "P002");
  EXPECT_EQ(first_code("program p" + nul + " workgroup(1) { }"), "P002");
  EXPECT_EQ(first_code(std::string(kGood) + nul), "P002");
  EXPECT_EQ(first_code(std::string(1000, '\0')), "P002");
}

TEST(BadInput, DamagedWireFiles) {
  const std::string bytes = run_vyre(Arguments{"encode", "-"}, kGood).out;
  ASSERT_EQ(answer({"check", "-"}, bytes).status, kFine);
  Random random(3);
  for (std::size_t size = 8; size < bytes.size(); ++size) {
    for (const char* verb : {"check", "decode"}) {
      const Answer cut = answer({verb, "-"}, bytes.substr(0, size));
      EXPECT_EQ(cut.status, kWrongInput);
      EXPECT_EQ(cut.codes.at(0)[0], 'W') << size;
    }
  }
  for (int round = 0; round < 100; ++round) {
    std::string damaged = bytes;
    const std::uint32_t at = 8 + random.below(static_cast<std::uint32_t>(bytes.size() - 8));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    EXPECT_EQ(answer({"decode", "-"}, damaged).status, kWrongInput);
  }
  EXPECT_EQ(answer({"decode", "-"}, kGood).codes, Codes{"W001"});
  EXPECT_EQ(answer({"decode", "-"}, bytes + "x").status, kWrongInput);
}

// --- Arguments -----------------------------------------------------------------------------------

TEST(BadArguments, AreUsageErrors) {
  const auto usage = [](const Arguments& arguments, std::string_view code) {
    const Answer result = answer(arguments, kGood);
    EXPECT_EQ(result.status, kUsage) << arguments[0];
    EXPECT_EQ(result.codes, Codes{std::string(code)}) << arguments[0];
  };
  EXPECT_EQ(run_vyre({}).status, kUsage);
  usage({"frobnicate"}, "U001");
  usage({""}, "U001");
  usage({"chekc", "-"}, "U001");
  usage({std::string_view("\xff\0", 2)}, "U001");
  usage({"help", "nothing"}, "U001");
  for (const Verb& verb : all_verbs()) {
    usage({verb.name, "--frobnicate"}, "U002");
    usage({verb.name, "-z"}, "U002");
    usage({verb.name, "--json=yes"}, "U004");
    if (verb.least_operands > 0) usage({verb.name}, "U003");
    if (verb.most_operands == 1) usage({verb.name, "-", "-"}, "U004");
  }
  usage({"check", "-", "-"}, "U006");
  usage({"fmt", "--check", "-", "-"}, "U006");
  usage({"fmt", "-i", "-"}, "U006");
  usage({"fmt", "-i", "--check", "-"}, "U004");
  usage({"fmt", "a", "b"}, "U004");
  usage({"fmt", "-i", "-i", "-"}, "U004");
  usage({"explain", "V999"}, "U005");
  usage({"ops", "no.such.op"}, "U005");
  usage({"completion", "tcsh"}, "U005");
  EXPECT_EQ(run_vyre(Arguments{"encode", "-", "-o"}, kGood).status, kUsage);
  EXPECT_EQ(run_vyre(Arguments{"check", "--json", "--json", "-"}, kGood).status, kUsage);
}

TEST(BadArguments, FilesThatCannotBeRead) {
  const Folder folder;
  for (const std::string& path : {folder.path() + "/missing", folder.path(), std::string(""),
                                  folder.path() + "/" + std::string(5000, 'a')}) {
    for (const char* verb : {"check", "fmt", "decode"}) {
      const Answer result = answer({verb, "--", path});
      EXPECT_EQ(result.status, kWrongInput) << verb << " " << path;
      EXPECT_EQ(result.codes, Codes{"I001"}) << verb << " " << path;
    }
  }
  if (geteuid() == 0) return;  // who may read everything
  const std::string secret = folder.file("secret", kGood);
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  EXPECT_EQ(answer({"check", secret}).codes, Codes{"I001"});
}

TEST(BadArguments, FilesThatCannotBeWritten) {
  const Folder folder;
  const std::string good = folder.file("good.vyre", kGood);
  const std::string nowhere = folder.path() + "/missing/out";
  for (const std::string& path : {nowhere, folder.path()}) {
    const Answer result = answer({"encode", good, "-o", path});
    EXPECT_EQ(result.status, kEnvironment) << path;
    EXPECT_EQ(result.codes, Codes{"I002"}) << path;
  }
  if (access("/dev/full", W_OK) == 0) {
    EXPECT_EQ(answer({"encode", good, "-o", "/dev/full"}).codes, Codes{"I002"});
  }
  // An input that is wrong writes nothing.
  const std::string bad = folder.file("bad.vyre", "program");
  const std::string out = folder.path() + "/out";
  EXPECT_EQ(run_vyre(Arguments{"encode", bad, "-o", out}).status, kWrongInput);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(BadArguments, OneBadFileDoesNotHideAnother) {
  const Folder folder;
  const std::string one = folder.file("one.vyre", "program");
  const std::string two = folder.file("two.vyre", "op");
  const std::string good = folder.file("good.vyre", kGood);
  const CommandResult result = run_vyre(Arguments{"check", one, good, folder.path() + "/no", two});
  EXPECT_EQ(result.status, kWrongInput);
  for (const char* part : {"one.vyre:1:", "two.vyre:1:", "error[I001]"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(result.err.find("good.vyre"), std::string::npos);
}

}  // namespace
}  // namespace vyre
