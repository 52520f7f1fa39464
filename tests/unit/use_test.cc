// Programs of several files: which files are found and which are refused, in what order, and that
// nothing else can tell that there are several.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/command.h"
#include "vyre/vyre.h"
#include "vyre/vyre_c.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

std::string op(std::string_view id, std::string_view body = "return 1") {
  return "op " + std::string(id) + "() -> u32 { " + std::string(body) + " }\n";
}

std::string program(std::string_view name, std::string_view value) {
  return "program " + std::string(name) +
         " workgroup(1) {\n  read_write out: u32[]\n  out[0] = " + std::string(value) + "\n}\n";
}

std::string use(std::string_view path) { return "use \"" + std::string(path) + "\"\n"; }

// Each as "main.vyre:1:5 P012".
std::vector<std::string> places(std::span<const Diagnostic> diagnostics) {
  std::vector<std::string> all;
  for (const Diagnostic& each : diagnostics) {
    all.push_back(each.file + ":" + std::to_string(each.line) + ":" + std::to_string(each.column) +
                  " " + std::string(name(each.code)));
  }
  return all;
}
using Places = std::vector<std::string>;

// The first one is loaded.
Result<Loaded> load(std::vector<Source> files) {
  Source first = files.front();
  return load_module(std::move(first), {}, find_among(std::move(files)));
}

Places wrong(std::vector<Source> files) {
  const Result<Loaded> loaded = load(std::move(files));
  return places(loaded.diagnostics());
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const Item& item : module.items) {
    const Op* op = std::get_if<Op>(&item);
    names.push_back(op != nullptr ? op->id : std::get<Program>(item).name);
  }
  return names;
}
using Names = std::vector<std::string>;

// --- In memory ----------------------------------------------------------------------------------

TEST(Use, ItemsOfTheFirstFileComeFirst) {
  const Result<Loaded> loaded =
      load({{"a.vyre", use("b.vyre") + use("c.vyre") + op("my.a") + program("p", "my.d()")},
            {"b.vyre", use("d.vyre") + op("my.b")},
            {"c.vyre", use("d.vyre") + op("my.c")},
            {"d.vyre", op("my.d") + program("q", "2")}});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
  EXPECT_EQ(names_of(loaded->module), (Names{"my.a", "p", "my.b", "my.d", "q", "my.c"}));
  EXPECT_EQ(loaded->own_items, 2u);
  EXPECT_EQ(loaded->file_of(1), "a.vyre");
  EXPECT_EQ(loaded->file_of(3), "d.vyre");
  EXPECT_EQ(*find_program(*loaded), 1u);
  EXPECT_EQ(*find_program(*loaded, "q"), 4u);
  EXPECT_EQ(names_of(own_module(*loaded)), (Names{"my.a", "p", "my.d"}));
  // It is the program that one file says.
  const Result<Loaded> whole = load_module({"w", op("my.a") + program("p", "my.d()") + op("my.d")});
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(digest(own_module(*loaded)), digest(whole->module));
}

TEST(Use, CirclesAndDiamondsAreHarmless) {
  const Result<Loaded> loaded =
      load({{"a.vyre", use("a.vyre") + use("b.vyre") + use("b.vyre") + op("my.a", "return my.c()")},
            {"b.vyre", use("c.vyre") + op("my.b")},
            {"c.vyre", use("./a.vyre") + use("x/../b.vyre") + op("my.c", "return my.b()")}});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
  EXPECT_EQ(names_of(loaded->module), (Names{"my.a", "my.b", "my.c"}));
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + op("my.a", "return my.b()")},
                   {"b.vyre", use("a.vyre") + op("my.b", "return my.a()")}}),
            (Places{"b.vyre:2:27 V017"}));
}

TEST(Use, ConstantsAreSeenByThoseWhoUseTheirFile) {
  const std::string k = "const k = [1]\n";
  const std::string first = program("p", "k[0]");
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + first}, {"b.vyre", k}}), Places());
  // Not through another file, nor by a file that is used.
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + first}, {"b.vyre", use("c.vyre")}, {"c.vyre", k}}),
            (Places{"a.vyre:4:12 V005"}));
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + k}, {"b.vyre", op("my.b", "return k[0]")}}),
            (Places{"b.vyre:1:27 V020"}));
  // Own ones hide others, also where two others have the name.
  const Result<Loaded> hidden =
      load({{"a.vyre", use("b.vyre") + use("c.vyre") + "const k = [3]\n" + first +
                           program("q", "my.b() + my.c()")},
            {"b.vyre", k + op("my.b", "return k[0]")},
            {"c.vyre", "const k = [2]\nconst k_2 = [3]\n" + op("my.c", "return k[0] + k_2[0]")}});
  ASSERT_TRUE(hidden.ok()) << render(hidden.diagnostics()[0]);
  // As one text they have different names, and the text means the same.
  const std::string text = print(own_module(*hidden));
  const Result<Loaded> again = load_module({"text", text});
  ASSERT_TRUE(again.ok()) << text << render(again.diagnostics()[0]);
  EXPECT_EQ(print(again->module), text);
  EXPECT_NE(text.find("const k_3: u32[1] = [1]"), text.npos) << text;
  const Result<Linked> q = link(*again, "q");
  const std::vector<std::uint32_t> zero = {0};
  const Result<Outputs> outputs = dispatch(*q, 1, {{"out", zero}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs->get<std::uint32_t>("out"))[0], 6u);
}

TEST(Use, NamesTheRightFile) {
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + op("my.a", "return x")},
                   {"b.vyre", "\xef\xbb\xbf" + use("c.vyre") + "\n" + op("my.b", "return y")},
                   {"c.vyre", "// no line feed at the end\nop my.c() -> u32 { return 1"}}),
            (Places{"a.vyre:2:27 V024", "b.vyre:3:27 V024", "c.vyre:2:18 P011"}));
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre")}, {"b.vyre", "// caf\xe9"}}),
            (Places{"b.vyre:1:7 P001"}));
  EXPECT_EQ(
      wrong(
          {{"lib/a.vyre", use("b.vyre") + use("../c.vyre")}, {"lib/b.vyre", "x"}, {"c.vyre", "y"}}),
      (Places{"lib/b.vyre:1:1 P006", "c.vyre:1:1 P006"}));
  const Result<Loaded> twice = load(
      {{"a.vyre", use("b.vyre") + op("my.a")}, {"b.vyre", op("my.b") + op("my.a", "return 2")}});
  ASSERT_EQ(places(twice.diagnostics()), (Places{"b.vyre:2:4 V039"}));
  EXPECT_EQ(twice.diagnostics()[0].notes, (Names{"  the first one is at a.vyre:2:4"}));
}

TEST(Use, SaysWhyAFileIsNotUsed) {
  const Result<std::string> wire = encode(load({{"w", op("my.w")}})->module);
  EXPECT_EQ(wrong({{"a.vyre", "\n " + use("w.vyrew") + op("my.a", "return nothing")},
                   {"w.vyrew", *wire}}),
            (Places{"a.vyre:2:6 P012"}));
  EXPECT_EQ(wrong({{"a.vyre", use("b.vyre") + use("c.vyre")}, {"b.vyre", use("d.vyre")}}),
            (Places{"a.vyre:2:5 I001", "b.vyre:1:5 I001"}));
  const Result<Loaded> alone = load_module({"a.vyre", use("b.vyre")});
  EXPECT_EQ(places(alone.diagnostics()), (Places{"a.vyre:1:5 P012"}));
  // The name where it means nothing else.
  EXPECT_TRUE(load_module({"a.vyre",
                           "program use workgroup(1) {\n read_write x: u32[]\n"
                           " let use = 1\n x[use] = use }\n"})
                  .ok());
  EXPECT_EQ(wrong({{"a.vyre", "use b\n"}}), (Places{"a.vyre:1:1 P006"}));
  EXPECT_EQ(wrong({{"a.vyre", "use \"b\\q\"\n"}}), (Places{"a.vyre:1:7 P005"}));
  EXPECT_EQ(wrong({{"a.vyre", "#include \"b.vyre\"\n"}}), (Places{"a.vyre:1:1 P002"}));
}

TEST(Use, ManyFiles) {
  const auto chain = [](std::size_t count) {
    std::vector<Source> files;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      files.push_back(
          {number, use(std::to_string(i + 1 == count ? 0 : i + 1)) + op("my.o" + number)});
    }
    return files;
  };
  const Result<Loaded> most = load(chain(kMaxFiles));
  ASSERT_TRUE(most.ok()) << render(most.diagnostics()[0]);
  EXPECT_EQ(most->module.items.size(), kMaxFiles);
  EXPECT_EQ(wrong(chain(kMaxFiles + 1)), (Places{"4095:1:5 P012"}));
}

// The limit is that of the sum: one byte decides whether the text is looked at, which is no UTF-8.
TEST(Use, LargeFiles) {
  const std::string first = use("b.vyre");
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}}) {
    const Result<Loaded> loaded =
        load_module({"a.vyre", first}, {}, [&](std::string_view, std::string_view) {
          return Source{"b.vyre", std::string(kMaxSourceBytes - first.size() - 1 + more, '\xff')};
        });
    EXPECT_EQ(places(loaded.diagnostics()),
              (Places{more == 0 ? "b.vyre:1:1 P001" : "a.vyre:1:5 P012"}));
  }
}

TEST(Use, FromC) {
  const std::string a = use("b.vyre") + program("p", "my.b()");
  const std::string b = op("my.b") + op("my.unused");
  const vyre_file files[] = {{"lib/a.vyre", a.data(), a.size()},
                             {"lib/b.vyre", b.data(), b.size()}};
  vyre_module* module = nullptr;
  vyre_diagnostics* why = nullptr;
  ASSERT_EQ(vyre_load_files(files, 2, &module, &why), VYRE_OK);
  EXPECT_EQ(vyre_module_program_count(module), 1u);
  char* text = nullptr;
  ASSERT_EQ(vyre_module_print(module, &text), VYRE_OK);
  EXPECT_EQ(std::string(text).find("my.unused"), std::string::npos);
  EXPECT_TRUE(load_module({"text", text}).ok());
  vyre_free(text);
  vyre_module_free(module);
  ASSERT_EQ(vyre_load_files(files, 1, &module, &why), VYRE_ERROR);
  vyre_diagnostic first;
  ASSERT_EQ(vyre_diagnostics_get(why, 0, &first), VYRE_OK);
  EXPECT_EQ(std::string(first.file) + ":" + std::to_string(first.line), "lib/a.vyre:1");
  vyre_diagnostics_free(why);
  EXPECT_EQ(vyre_load_files(files, 0, &module, nullptr), VYRE_MISUSE);
  EXPECT_EQ(vyre_load_files(nullptr, 1, &module, nullptr), VYRE_MISUSE);
  ASSERT_EQ(vyre_load(a.data(), a.size(), "a.vyre", &module, nullptr), VYRE_ERROR);
}

// --- On disk ------------------------------------------------------------------------------------

// A folder with `main/` for the first file and `other/`, which it must not read.
class UseFiles : public testing::Test {
 protected:
  UseFiles() {
    put("main/b.vyre", op("my.b"));
    put("main/lib/c.vyre", op("my.c"));
    put("other/secret.vyre", op("my.secret"));
  }

  void put(const std::string& file, const std::string& text) const {
    fs::create_directories(fs::path(folder_ / file).parent_path());
    ASSERT_TRUE(write_file(folder_ / file, text).ok());
  }

  // What `vyre check` says about the uses of the first file: its codes.
  std::string check(const std::string& uses, const std::vector<std::string>& options = {}) const {
    put("main/a.vyre", uses + op("my.a"));
    const std::string path = folder_ / "main/a.vyre";
    std::vector<std::string_view> words = {"check", "--json", path};
    words.insert(words.end(), options.begin(), options.end());
    const CommandResult result = run_vyre(words);
    std::string found;
    const nlohmann::json printed = nlohmann::json::parse(result.out);
    for (const nlohmann::json& each : printed["diagnostics"]) {
      found += (found.empty() ? "" : " ") + each["code"].get<std::string>();
    }
    EXPECT_EQ(result.status, found.empty() ? kFine : kWrongInput);
    return found;
  }

  TempFolder folder_;
};

TEST_F(UseFiles, OnlyItsFolderIsRead) {
  EXPECT_EQ(check(use("b.vyre") + use("lib/c.vyre") + use("lib/../b.vyre")), "");
  EXPECT_EQ(check(use(folder_ / "main/b.vyre")), "I004");
  EXPECT_EQ(check(use("../other/secret.vyre")), "I004");
  EXPECT_EQ(check(use("../other/nothing.vyre")), "I004");  // as if it were there
  EXPECT_EQ(check(use("../main/b.vyre")), "");
  EXPECT_EQ(check(use("lib/../../other/secret.vyre")), "I004");
  EXPECT_EQ(check(use("lib")) + check(use("")) + check(use(".")), "I001I001I001");
  EXPECT_EQ(check(use("none.vyre")), "I001");
  EXPECT_EQ(check(use("b.vyre/none.vyre")), "I001");
  EXPECT_EQ(check(use(std::string(5000, 'x'))), "I001");
  EXPECT_EQ(check(use("-")), "I001");  // not standard input
  put("main/lib/up.vyre", use("../b.vyre") + use("../../other/secret.vyre"));
  EXPECT_EQ(check(use("lib/up.vyre")), "I004");
}

TEST_F(UseFiles, LinksThatLeaveAreRefused) {
  const std::string other = folder_ / "other";
  fs::create_symlink("../other/secret.vyre", folder_ / "main/link.vyre");
  fs::create_directory_symlink("../other", folder_ / "main/folder");
  fs::create_symlink("b.vyre", folder_ / "main/inside.vyre");
  fs::create_symlink("loop.vyre", folder_ / "main/loop.vyre");
  fs::create_symlink("none.vyre", folder_ / "main/dangling.vyre");
  EXPECT_EQ(check(use("link.vyre")), "I004");
  EXPECT_EQ(check(use("folder/secret.vyre")), "I004");
  EXPECT_EQ(check(use("link.vyre") + use("folder/secret.vyre"), {"-I", other}), "");
  EXPECT_EQ(check(use("loop.vyre")), "I001");
  EXPECT_EQ(check(use("dangling.vyre")), "I001");
  // A file is read once, whatever it is called.
  EXPECT_EQ(check(use("b.vyre") + use("inside.vyre")), "");
  fs::create_symlink("a.vyre", folder_ / "main/again.vyre");
  EXPECT_EQ(check(use("again.vyre")), "");
  ASSERT_EQ(mkfifo((folder_ / "main/pipe").c_str(), 0600), 0);
  EXPECT_EQ(check(use("pipe")), "I001");
}

TEST_F(UseFiles, FoldersAreSearchedInOrder) {
  const std::string other = folder_ / "other";
  EXPECT_EQ(check(use("secret.vyre")), "I001");
  EXPECT_EQ(check(use("secret.vyre"), {"-I", other}), "");
  EXPECT_EQ(check(use("../other/secret.vyre"), {"-I", other}), "");
  EXPECT_EQ(check(use("secret.vyre"), {"--include", folder_ / "main/lib", "-I" + other}), "");
  EXPECT_EQ(check(use("../elsewhere.vyre"), {"-I", other}), "I004");
  // The file's own folder comes first.
  put("other/b.vyre", "wrong");
  EXPECT_EQ(check(use("b.vyre"), {"-I", other}), "");
  put("other/uses.vyre", use("b.vyre"));
  EXPECT_EQ(check(use("uses.vyre"), {"-I", other}), "P006");
}

TEST_F(UseFiles, StandardInputIsInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "main");
  EXPECT_EQ(run_vyre({{"check", "-"}}, use("b.vyre") + use("lib/c.vyre")).err, "");
  EXPECT_NE(
      run_vyre({{"check", "-"}}, use("../other/secret.vyre")).err.find("<stdin>:1:5: error[I004]"),
      std::string::npos);
  fs::current_path(before);
}

TEST_F(UseFiles, EncodeWritesWhatTheFileNeeds) {
  put("main/p.vyre", use("b.vyre") + use("lib/c.vyre") + program("p", "my.c()"));
  const std::string wire = folder_ / "p.vyrew";
  ASSERT_EQ(run_vyre({{"encode", folder_ / "main/p.vyre", "-o", wire}}).status, kFine);
  const std::string text = run_vyre({{"decode", wire}}).out;
  EXPECT_NE(text.find("op my.c"), text.npos);
  EXPECT_EQ(text.find("op my.b"), text.npos);
  const auto run = [&](const std::string& file) {
    return run_vyre({{"run", file, "--grid", "1", "--in", "out=zeros:1"}}).out;
  };
  EXPECT_EQ(run(wire), run(folder_ / "main/p.vyre"));
}

TEST_F(UseFiles, AThousandFiles) {
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    put("main/many/" + number + ".vyre",
        use(std::to_string((i + 1) % 1000) + ".vyre") + op("my.m" + number));
    all += use("many/" + number + ".vyre");
  }
  EXPECT_EQ(check(all), "");
}

}  // namespace
}  // namespace vyre
