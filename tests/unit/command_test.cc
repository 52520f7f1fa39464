// The command line: help, usage errors, exit codes, JSON, files that are written, completion.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/command.h"
#include "tools/vyre/command.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

constexpr std::string_view kGood =
    "program p workgroup(64) {\n  read_write out: u32[]\n\n  out[0] = 1\n}\n";
constexpr std::string_view kBad =
    "program p workgroup(64) {\n  read_write out: u32[]\n\n  out[0] = 1u64\n}\n";
constexpr std::string_view kUgly = "program p workgroup(64) {read_write out: u32[] out[0]=1}";

CommandResult run(std::vector<std::string_view> arguments, std::string_view input = {}) {
  return run_vyre(arguments, input);
}

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/vyre-command-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -r '" + folder_ + "'").c_str()), 0); }

  std::string file(const std::string& name, std::string_view text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string folder_;
};

// Exit status and codes of a run, from its JSON.
std::string codes_of(std::vector<std::string_view> arguments, std::string_view input = {}) {
  arguments.push_back("--json");
  const CommandResult result = run(arguments, input);
  EXPECT_EQ(result.err, "");
  std::string codes = std::to_string(result.status);
  const nlohmann::json printed = nlohmann::json::parse(result.out);
  for (const auto& diagnostic : printed.at("diagnostics")) {
    codes += " " + diagnostic.at("code").get<std::string>();
    EXPECT_FALSE(diagnostic.at("problem").get<std::string>().empty());
    EXPECT_FALSE(diagnostic.at("fix").get<std::string>().empty());
  }
  return codes;
}

TEST(Command, EveryVerbHasHelpWithAnExample) {
  const CommandResult overall = run({"--help"});
  EXPECT_EQ(overall.status, 0);
  for (const Verb& verb : all_verbs()) {
    EXPECT_NE(overall.out.find("  " + std::string(verb.name) + " "), std::string::npos);
    for (const CommandResult& help :
         {run({verb.name, "--help"}), run({verb.name, "-h"}), run({"help", verb.name})}) {
      EXPECT_EQ(help.status, 0);
      EXPECT_EQ(help.out.find("usage: vyre " + std::string(verb.name)), 0u);
      EXPECT_NE(help.out.find("vyre " + std::string(verb.name), 12), std::string::npos)
          << verb.name;
      for (const Option& option : verb.options) {
        EXPECT_NE(help.out.find(option.name), std::string::npos);
      }
    }
  }
  EXPECT_EQ(run({"--version"}).out, "vyre " + std::string(version()) + "\n");
}

TEST(Command, UsageErrorsHaveTheirCodes) {
  EXPECT_EQ(codes_of({}), "2 U001");
  EXPECT_EQ(run({}).status, 2);
  EXPECT_NE(run({}).err.find("error[U001]"), std::string::npos);
  EXPECT_EQ(codes_of({"chekc"}), "2 U001");
  EXPECT_NE(run({"chekc"}).err.find("did you mean `vyre check`?"), std::string::npos);
  EXPECT_EQ(codes_of({"zzz"}), "2 U001");
  EXPECT_EQ(codes_of({"check"}), "2 U003");
  EXPECT_EQ(codes_of({"check", "--jsno", "x"}), "2 U002");
  EXPECT_NE(run({"fmt", "--chekc", "x"}).err.find("did you mean `--check`?"), std::string::npos);
  EXPECT_NE(run({"encode", "a", "-o"}).err.find("error[U003]"), std::string::npos);
  EXPECT_EQ(codes_of({"decode", "a", "b"}), "2 U004");
  EXPECT_EQ(codes_of({"fmt", "--check=yes", "a"}), "2 U004");
  EXPECT_EQ(codes_of({"fmt", "-i", "-i", "a"}), "2 U004");
  EXPECT_EQ(codes_of({"fmt", "-i", "--check", "a"}), "2 U004");
  EXPECT_EQ(codes_of({"fmt", "a", "b"}), "2 U004");
  EXPECT_EQ(codes_of({"explain", "V999"}), "2 U005");
  EXPECT_EQ(codes_of({"ops", "no.such.op"}), "2 U005");
  EXPECT_EQ(codes_of({"ops", "popcout"}), "2 U005");
  EXPECT_EQ(codes_of({"completion", "tcsh"}), "2 U005");
  EXPECT_EQ(codes_of({"check", "-", "-"}), "2 U006");
  EXPECT_EQ(codes_of({"fmt", "-i", "-"}, kGood), "2 U006");
  EXPECT_EQ(codes_of({"encode", "-"}, kGood), "2 U006");
}

TEST_F(CommandTest, CheckSaysNothingWhenAllIsWell) {
  const std::string good = file("good.vyre", kGood);
  const std::string bad = file("bad.vyre", kBad);
  const CommandResult fine = run({"check", good, "-"}, kGood);
  EXPECT_EQ(fine.status, 0);
  EXPECT_EQ(fine.out + fine.err, "");
  EXPECT_EQ(run({"check", "--json", good}).out, "{\"diagnostics\":[]}\n");
  const CommandResult wrong = run({"check", good, bad});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err.find(bad + ":4:12: error[V028]: "), 0u);
  EXPECT_EQ(run({"check", "-"}, kBad).err.find("<stdin>:4:12: "), 0u);
  const nlohmann::json diagnostic =
      nlohmann::json::parse(run({"check", "--json", bad}).out)["diagnostics"][0];
  EXPECT_EQ(diagnostic["file"], bad);
  EXPECT_EQ(diagnostic["line"], 4);
  EXPECT_EQ(diagnostic["column"], 12);
  EXPECT_EQ(diagnostic["end_column"], 16);
  EXPECT_EQ(run({"check", "--", good}).status, 0);
}

TEST_F(CommandTest, MissingAndUnwritableFiles) {
  const std::string good = file("good.vyre", kGood);
  EXPECT_EQ(codes_of({"check", folder_ + "/none.vyre"}), "1 I001");
  EXPECT_EQ(codes_of({"check", folder_}), "1 I001");
  EXPECT_EQ(codes_of({"encode", good, "-o", folder_ + "/no/such/folder"}), "3 I002");
  EXPECT_EQ(codes_of({"encode", good, "-o", ""}), "3 I002");
  // All files are looked at, and the worst decides.
  EXPECT_EQ(codes_of({"check", folder_ + "/none.vyre", file("bad.vyre", kBad)}), "1 I001 V028");
}

TEST_F(CommandTest, FmtWritesInPlaceAndChecks) {
  const std::string ugly = file("ugly.vyre", kUgly);
  const std::string good = file("good.vyre", kGood);
  ASSERT_EQ(chmod(ugly.c_str(), 0640), 0);
  EXPECT_EQ(run({"fmt", ugly}).out, kGood);
  EXPECT_EQ(run({"fmt", "-"}, kUgly).out, kGood);
  EXPECT_EQ(nlohmann::json::parse(run({"fmt", "--json", ugly}).out)["text"], kGood);
  const CommandResult check = run({"fmt", "--check", good, ugly});
  EXPECT_EQ(check.status, 1);
  EXPECT_EQ(check.out, ugly + "\n");
  EXPECT_EQ(read_file(ugly), kUgly);

  const std::string link = folder_ + "/link.vyre";
  ASSERT_EQ(symlink(ugly.c_str(), link.c_str()), 0);
  EXPECT_EQ(run({"fmt", "-i", link, good}).status, 0);
  EXPECT_EQ(read_file(ugly), kGood);
  struct stat status{};
  ASSERT_EQ(lstat(link.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  ASSERT_EQ(stat(ugly.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(run({"fmt", "--check", good, ugly}).status, 0);

  // What cannot be formatted stays as it is.
  const std::string broken = file("broken.vyre", "program p {");
  EXPECT_EQ(run({"fmt", "-i", broken}).status, 1);
  EXPECT_EQ(read_file(broken), "program p {");
}

TEST_F(CommandTest, EncodeAndDecode) {
  const std::string good = file("good.vyre", kGood);
  const std::string wire = folder_ + "/good.vyrew";
  EXPECT_EQ(run({"encode", good, "-o", wire}).status, 0);
  EXPECT_TRUE(is_wire(read_file(wire)));
  EXPECT_EQ(run({"encode", "-"}, kGood).out, read_file(wire));
  const std::string text = print(*parse(kGood));
  EXPECT_EQ(run({"decode", wire}).out, text);
  EXPECT_EQ(run({"fmt", wire}).out, text);
  EXPECT_EQ(run({"check", wire}).status, 0);
  EXPECT_EQ(codes_of({"decode", good}), "1 W001");
  EXPECT_EQ(codes_of({"fmt", "-i", wire}), "2 U006");
  // Nothing is written for a program that is wrong.
  EXPECT_EQ(codes_of({"encode", file("bad.vyre", kBad), "-o", folder_ + "/bad.vyrew"}), "1 V028");
  EXPECT_NE(access((folder_ + "/bad.vyrew").c_str(), F_OK), 0);
}

TEST_F(CommandTest, NamesOfOutputsAreAsLongAsTheSystemAllows) {
  const std::string good = file("good.vyre", kGood);
  EXPECT_EQ(run({"encode", good, "-o", folder_ + "/" + std::string(255, 'x')}).status, 0);
  EXPECT_EQ(codes_of({"encode", good, "-o", folder_ + "/" + std::string(256, 'x')}), "3 I002");
}

TEST_F(CommandTest, AnOutputDoesNotReplaceAnInput) {
  const std::string good = file("good.vyre", kGood);
  ASSERT_EQ(symlink("good.vyre", (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(::link(good.c_str(), (folder_ + "/twin").c_str()), 0);
  for (const std::string& name : {std::string("good.vyre"), std::string("link"),
                                  std::string("twin"), std::string("./good.vyre")}) {
    const std::string output = folder_ + "/" + name;
    const CommandResult said = run({"encode", good, "-o", output});
    EXPECT_EQ(said.status, 2);
    EXPECT_EQ(said.err, output + ": error[U004]: the output would replace the input `" + good +
                            "`\nfix: name another file for the output\n");
    EXPECT_EQ(codes_of({"encode", folder_ + "/link", "-o", output}), "2 U004");
    EXPECT_EQ(
        codes_of({"run", good, "--grid", "1", "--in", "out=zeros:1", "--out", "out=" + output}),
        "2 U004");
    EXPECT_EQ(codes_of({"run", "-", "--grid", "1", "--in", "out=@" + good, "--out=out=" + output},
                       "program p workgroup(64) {\n  read_write out: bytes\n\n  out[0] = 1\n}\n"),
              "2 U004");
    EXPECT_EQ(codes_of({"bench", good, "--grid", "1", "--in", "out=zeros:1", "--svg", output}),
              "2 U004");
  }
  const std::string image = file("p.png", kGood);
  EXPECT_EQ(codes_of({"run", image, "--grid", "1", "--in", "out=zeros:1", "--image",
                      "out=" + image + ":1x1"}),
            "2 U004");
  std::FILE* in = std::fopen(good.c_str(), "r");
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  const std::string twin = folder_ + "/twin";
  const std::vector<std::string_view> words = {"encode", "-", "-o", twin};
  EXPECT_EQ(run_command(words, {in, nowhere, nowhere}), 2);
  std::fclose(in);
  std::fclose(nowhere);
  EXPECT_EQ(read_file(good), kGood);
  EXPECT_EQ(run({"encode", good, "-o", folder_ + "/other"}).status, 0);
  EXPECT_EQ(run({"encode", good, "-o", "/dev/null"}).status, 0);
}

TEST(Command, WireErrorsNameProgramAndStatement) {
  // A store of a wrong type, which no parser would let through with its text.
  Module module = *parse(kGood);
  Program& program = std::get<Program>(module.items[0]);
  program.buffers[0].element = DataType::U64;
  const CommandResult result = run({"check", "-"}, *encode(module));
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("<stdin>: error[V028]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("in program p: body[0]: 1\n"), std::string::npos) << result.err;
}

TEST(Command, OpsAndExplain) {
  EXPECT_NE(run({"ops"}).out.find("primitive.bitwise\n"), std::string::npos);
  EXPECT_NE(run({"ops", "rotl"}).out.find("rotl(a, b)"), std::string::npos);
  EXPECT_NE(run({"ops", "-"}).out.find("a - b"), std::string::npos);
  EXPECT_NE(run({"ops", "atomic_add"}).out.find("gives the value before"), std::string::npos);
  EXPECT_EQ(run({"ops", "primitive.bitwise.xor"}).out.find("op primitive.bitwise.xor(a: u32"), 0u);
  EXPECT_EQ(run({"explain", "v010"}).out.find("V010: "), 0u);
  EXPECT_NE(run({"explain"}).out.find("W004  "), std::string::npos);
}

TEST(Command, OpsAreFoundBestFirst) {
  EXPECT_EQ(run({"ops", "clamp"}).out.find("primitive.math.clamp(x: u32"), 0u);
  const std::string words = run({"ops", "set", "bits"}).out;
  EXPECT_EQ(words, run({"ops", "set bits"}).out);
  EXPECT_NE(words.find("primitive.bitwise.popcount("), std::string::npos) << words;
  EXPECT_EQ(run({"ops", "mulhi"}).out.find("mul_high(a, b)\n"), 0u);
}

TEST(Command, JsonHasFieldsNotText) {
  const auto json_of = [](std::initializer_list<std::string_view> words) {
    return nlohmann::json::parse(run(words).out);
  };
  const nlohmann::json gcd = json_of({"ops", "primitive.math.gcd", "--json"});
  ASSERT_EQ(gcd["ops"].size(), 1u);
  EXPECT_EQ(gcd["ops"][0]["id"], "primitive.math.gcd");
  EXPECT_EQ(gcd["ops"][0]["signature"], "(a: u32, b: u32) -> u32");
  EXPECT_FALSE(gcd["ops"][0]["examples"].empty());
  EXPECT_GT(json_of({"ops", "--json"})["ops"].size(), 800u);
  EXPECT_EQ(json_of({"ops", "rotl", "--json"})["operations"][0]["text"], "rotl(a, b)");
  EXPECT_EQ(json_of({"explain", "V010", "--json"})["code"], "V010");
  EXPECT_EQ(json_of({"explain", "--json"})["codes"][0]["code"], "V001");
  const nlohmann::json bounds =
      json_of({"opt", source_root() + "/examples/popcount_xor.vyre", "--explain-bounds", "--json"});
  const nlohmann::json& store = bounds["programs"][0]["accesses"][2];
  EXPECT_EQ(store["kind"], "store");
  EXPECT_EQ(store["buffer"], "out");
  EXPECT_EQ(store["verdict"], "proved");
  EXPECT_GT(store["line"], 1);
}

// What the specification words reaches tools as it is; people read the fix.
TEST(Command, SpecifiedMessagesStay) {
  const auto message = [](std::string_view statement) {
    const std::string text =
        "program p workgroup(1) {\n  read_write b: u32[]\n  b[0] = " + std::string(statement) +
        "\n}\nop my.f(x: u32) -> u32 { return b[x] }\n";
    const nlohmann::json found = nlohmann::json::parse(run({"check", "--json", "-"}, text).out);
    return found["diagnostics"][0]["message"].get<std::string>();
  };
  const auto ends = [](const std::string& text, std::string_view end) {
    return text.ends_with(end);
  };
  EXPECT_PRED2(ends, message("primitive.bitwise.xro(1, 2)"),
               "register an Op with id primitive.bitwise.xro before lowering.");
  EXPECT_PRED2(ends, message("mulhi(1, 2)"), "register an Op with id mulhi before lowering.");
  EXPECT_PRED2(ends, message("primitive.bitwise.xor(1)"),
               ". Fix: pass 2 arguments to primitive.bitwise.xor.");
  EXPECT_PRED2(ends, message("primitive.bitwise.xor(1, true)"),
               ". Fix: insert Cast { target: U32, value } or call an op with a Bool input.");
  EXPECT_PRED2(
      ends, message("bytes(1)"),
      ": cast to Bytes is unsupported in WGSL lowering. Fix: use buffer load/store directly "
      "for byte data.");
  EXPECT_PRED2(ends, message("1"),
               ". Fix: expose the required value as an argument or compose at Program level.");
}

TEST(Command, CompletionsKnowEveryVerbAndOption) {
  // The lines that offer the options of a verb: fish has one for each, the others one for all.
  const auto options_of = [](const std::string& script, const std::string& start) {
    std::string found;
    for (std::size_t at = script.find(start); at != script.npos; at = script.find(start, at + 1)) {
      found += script.substr(at, script.find('\n', at) - at) + "\n";
    }
    for (char& c : found) {
      if (std::string_view("()\"\n").find(c) != std::string_view::npos) c = ' ';
    }
    return found;
  };
  for (std::string_view shell : {"bash", "zsh", "fish"}) {
    const CommandResult script = run({"completion", shell});
    EXPECT_EQ(script.status, 0);
    const bool fish = shell == "fish";
    for (const Verb& verb : all_verbs()) {
      const std::string verb_name(verb.name);
      EXPECT_NE(script.out.find(verb_name), std::string::npos) << verb_name;
      const std::string options =
          options_of(script.out, fish ? "-n '__fish_seen_subcommand_from " + verb_name + "' -l "
                                      : "    " + verb_name + ") options=");
      for (const Option& option : verb.options) {
        const std::string name(option.name), letter(option.letter);
        EXPECT_NE(options.find(fish ? " -l " + name.substr(2) + " " : " " + name + " "),
                  std::string::npos)
            << shell << " " << verb_name << " " << name;
        if (letter.empty()) continue;
        EXPECT_NE(options.find(fish ? " -s " + letter.substr(1) + " " : " " + letter + " "),
                  std::string::npos)
            << shell << " " << verb_name << " " << letter;
      }
    }
  }
}

// In roff a `-` is written `\-`, and only a line of its own commands begins with a dot.
TEST(Command, TheManualPageHasEveryVerbAndOption) {
  const CommandResult page = run({"completion", "man"});
  EXPECT_EQ(page.status, 0);
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? "\\-" : std::string(1, c);
    return out;
  };
  for (const Verb& verb : all_verbs()) {
    EXPECT_NE(page.out.find("\n.SS vyre " + std::string(verb.name) + "\n"), std::string::npos);
    for (const Option& option : verb.options) {
      EXPECT_NE(page.out.find("\n.B " + escaped(option.name)), std::string::npos) << option.name;
    }
  }
  EXPECT_TRUE(std::ranges::all_of(page.out, [](char c) { return c > 0; })) << "ASCII";
  std::istringstream lines(page.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('.')) continue;
    const std::string command = line.substr(0, line.find(' '));
    EXPECT_TRUE(
        (std::set<std::string>{".TH", ".SH", ".SS", ".TP", ".B", ".nf", ".fi"}).contains(command))
        << line;
  }
}

TEST_F(CommandTest, BashCompletes) {
  file("vyre.bash", run({"completion", "bash"}).out);
  const auto complete = [&](const std::string& words, int index) {
    const std::string out = folder_ + "/out";
    const std::string script = "source " + folder_ + "/vyre.bash; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(index) +
                               "; _vyre; echo \"${COMPREPLY[*]}\"";
    EXPECT_EQ(std::system(("bash -c '" + script + "' > " + out).c_str()), 0);
    return read_file(out);
  };
  EXPECT_EQ(complete("vyre ch", 1), "check\n");
  EXPECT_EQ(complete("vyre fmt --in", 2), "--in-place\n");
  EXPECT_EQ(complete("vyre explain V01", 2), "V010 V011 V012 V013 V014 V015 V016 V017 V018 V019\n");
  EXPECT_EQ(complete("vyre ops primitive.math.gc", 2),
            complete("vyre elementwise primitive.math.gc", 2));
  EXPECT_EQ(complete("vyre ops primitive.math.cla", 2).find("primitive.math.clamp"), 0u);
  EXPECT_EQ(complete("vyre ops atomic_ad", 2), "atomic_add\n");
  EXPECT_EQ(complete("vyre elementwise atomic_ad", 2), "\n");
  EXPECT_EQ(complete("vyre lower k.vyre --to p", 4), "ptx\n");
  EXPECT_EQ(complete("vyre run k.vyre --backend in", 4), "interp\n");
  const std::string two =
      file("two.vyre", "program first workgroup(1) {\n}\nprogram second workgroup(1) {\n}\n");
  EXPECT_EQ(complete("vyre run " + two + " --program s", 4), "second\n");
}

TEST_F(CommandTest, SpirvIsWrittenToFilesAndPipes) {
  const std::string path = file("p.vyre", kGood);
  const std::string module = folder_ + "/p.spv";
  const CommandResult piped = run({"lower", path, "--to", "spirv"});
  EXPECT_EQ(piped.status, kFine) << piped.err;
  EXPECT_EQ(piped.out.substr(0, 8), std::string("\3\2#\7\0\3\1\0", 8));
  const CommandResult written = run({"lower", path, "--to", "spirv", "-o", module});
  EXPECT_EQ(std::pair(written.status, written.out), std::pair(int{kFine}, std::string()));
  EXPECT_EQ(read_file(module), piped.out);
  const CommandResult shown = run({"lower", path, "--to", "ptx", "-o", folder_ + "/p.ptx"});
  EXPECT_EQ(shown.out + shown.err, "");
  EXPECT_EQ(read_file(folder_ + "/p.ptx"), run({"lower", path, "--to", "ptx"}).out);

  const std::string_view to_terminal[] = {"lower", path, "--to", "spirv"};
  EXPECT_EQ(run_vyre(to_terminal, {}, true).status, kUsage);
  EXPECT_EQ(codes_of({"lower", path, "--to", "spirv"}), "2 U006");
  EXPECT_EQ(codes_of({"lower", path, "--to", "spirv", "-o", path}), "2 U004");
  EXPECT_EQ(codes_of({"lower", path, "--to", "spirv", "--gpu", "int32"}), "2 U005 U006");
  EXPECT_EQ(codes_of({"lower", path, "--to", "ptx", "--gpu", "int64"}), "2 U004");
  EXPECT_EQ(codes_of({"lower", path, "--to", "spirv-asm", "--cpu", "avx2"}), "2 U004");
  EXPECT_EQ(codes_of({"lower", path, "--to", "asm", "--lines"}), "2 U004");
  const std::string two =
      file("two.vyre", "program first workgroup(1) {\n}\nprogram second workgroup(1) {\n}\n");
  EXPECT_EQ(run({"lower", two, "--to", "spirv"}).status, kUsage);
  EXPECT_EQ(run({"lower", two, "--to", "spirv", "--program", "second"}).status, kFine);
}

TEST(Command, ColourIsForTerminals) {
  const Result<Module> wrong = parse("program p workgroup(1) { x = 1 }");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(render(wrong.diagnostics()[0], false).find('\x1b'), std::string::npos);
  EXPECT_NE(render(wrong.diagnostics()[0], true).find('\x1b'), std::string::npos);
  EXPECT_EQ(run({"check", "-"}, kBad).err.find('\x1b'), std::string::npos);
}

TEST(Example, BuilderPrintsItsProgramAndItsMistakes) {
  const std::string out = output_of(kExampleBuilder);
  const Module module = *parse(read_file(source_root() + "/examples/popcount_xor.vyre"));
  const Program& program = std::get<Program>(module.items[0]);
  EXPECT_EQ(out.find(print(program) + "digest " + digest(program) + "\n"), 0u) << out;
  for (const char* part : {"\n162 bits are set\n", "error[V006]", "error[V010]", "error[V028]"}) {
    EXPECT_NE(out.find(part), std::string::npos) << out;
  }
}

}  // namespace
}  // namespace vyre
