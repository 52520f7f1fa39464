// What the documents say is true: every diagnostic code has a page whose examples behave as the
// page claims, generated documents are up to date, the wire format's page lists every tag, programs
// in the documents are valid, commands print what is shown below them, and links lead somewhere.
// VYRE_UPDATE=1 rewrites generated documents and the output of commands.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/command.h"
#include "vyre/vyre.h"
#include "vyre/warnings/warnings.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = fs::absolute(source_root()).string() + "/";

// What `vyre` prints, which is expected to be fine.
std::string output_of(std::initializer_list<std::string_view> arguments) {
  const CommandResult result = run_vyre(std::vector<std::string_view>(arguments));
  EXPECT_EQ(result.status, kFine) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

// A fenced block of a Markdown page and the heading it stands under.
struct Fence {
  std::string heading;
  std::string kind;  // what follows the opening fence
  std::string text;
};

std::vector<Fence> fences_in(const std::string& markdown) {
  std::vector<Fence> fences;
  std::string heading;
  bool inside = false;
  for (std::string_view line : split(markdown, '\n')) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) fences.push_back({heading, std::string(line.substr(3)), ""});
    } else if (inside) {
      fences.back().text += std::string(line) + "\n";
    } else if (line.starts_with("## ")) {
      heading = line.substr(3);
    }
  }
  EXPECT_FALSE(inside) << "a fence is not closed";
  return fences;
}

// The codes of everything that is wrong with a program, or of its warnings where these count.
std::vector<std::string_view> codes_in(const std::string& program, bool with_warnings = false) {
  const Result<Loaded> loaded = load_module({"example.vyre", program});
  std::vector<std::string_view> codes;
  for (const Diagnostic& diagnostic : loaded.diagnostics()) {
    codes.push_back(name(diagnostic.code));
  }
  if (!loaded.ok() || !with_warnings) return codes;
  for (const Diagnostic& warning : warnings_of(*loaded)) codes.push_back(name(warning.code));
  return codes;
}

TEST(Docs, EveryCodeHasAPage) {
  for (Code code : all_codes()) {
    const std::string page = output_of({"explain", name(code)});
    const std::string heading = std::string(name(code)) + ": " + std::string(title(code)) + "\n\n";
    EXPECT_TRUE(page.starts_with(heading)) << page;
    EXPECT_GT(page.size(), heading.size() + 80) << "the page of " << name(code) << " is empty";
  }
}

TEST(Docs, EveryPageHasACode) {
  for (const auto& file : fs::directory_iterator(kRoot + "tools/vyre/pages")) {
    const std::string text = read_file(file.path());
    for (std::string_view line : split(text, '\n')) {
      if (!line.starts_with("## ")) continue;
      EXPECT_NE(find_code(line.substr(3)), nullptr) << line;
    }
  }
}

// A folder in which somebody follows a document: the examples are there, files are added as the
// document shows them, and commands run in it.
class Desk {
 public:
  Desk() : before_(fs::current_path()) {
    fs::create_directory_symlink(kRoot + "examples", folder_ / "examples");
    fs::current_path(folder_.path());
  }
  ~Desk() { fs::current_path(before_); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void put(const std::string& file, const std::string& text) const {
    EXPECT_TRUE(write_file(folder_ / file, text).ok());
  }

  // `line` is "vyre", a verb and its arguments, with single spaces between them; after ` | `
  // is another one, which reads what the first prints.
  CommandResult run(std::string_view line, std::string_view input = {}) const {
    constexpr std::string_view kPipe = " | ";
    const std::size_t pipe = line.find(kPipe);
    std::vector<std::string_view> words = split(line.substr(0, pipe), ' ');
    EXPECT_EQ(words[0], "vyre") << line;
    words.erase(words.begin());
    CommandResult result = run_vyre(words, input);
    if (pipe == line.npos) return result;
    return run(line.substr(pipe + kPipe.size()), result.out);
  }

 private:
  fs::path before_;
  TempFolder folder_;
};

// The codes of what goes wrong when a program is run as the comment in its first line says.
std::vector<std::string> codes_of_run(const std::string& program) {
  constexpr std::string_view kComment = "// ";
  if (!program.starts_with("// vyre ")) {
    ADD_FAILURE() << "no command in the first line of\n" << program;
    return {};
  }
  const Desk desk;
  desk.put("kernel.vyre", program);
  const std::string line = program.substr(kComment.size(), program.find('\n') - kComment.size());
  const CommandResult result = desk.run(line);
  std::vector<std::string> codes;
  const std::regex mark("error\\[([A-Z][0-9]+)\\]: ");
  for (std::sregex_iterator at(result.err.begin(), result.err.end(), mark), end; at != end; ++at) {
    codes.push_back((*at)[1]);
  }
  EXPECT_EQ(result.status == kFine, codes.empty()) << result.err;
  return codes;
}

// V and P codes are about programs as such; D, B and R codes show when a program runs.
TEST(Docs, ExamplesOfPagesDoWhatTheyClaim) {
  std::size_t wrong = 0, right = 0;
  for (const Fence& fence : fences_in(output_of({"explain", "--markdown"}))) {
    const std::string_view code = std::string_view(fence.heading).substr(0, 4);
    std::vector<std::string> codes;
    if (fence.kind.starts_with("vyre")) {
      // What is right does not even warn.
      const bool with_warnings = code[0] == 'L' || fence.kind == "vyre right";
      for (std::string_view found : codes_in(fence.text, with_warnings)) codes.emplace_back(found);
      if (codes.empty() && std::string_view("DBR").find(code[0]) != std::string_view::npos) {
        codes = codes_of_run(fence.text);
      }
    }
    if (fence.kind == "vyre wrong") {
      ++wrong;
      EXPECT_FALSE(codes.empty()) << fence.heading << "\n" << fence.text;
      for (const std::string& found : codes) EXPECT_EQ(found, code) << fence.text;
    } else if (fence.kind == "vyre right") {
      ++right;
      EXPECT_TRUE(codes.empty()) << fence.heading << ": " << codes[0] << "\n" << fence.text;
    } else {
      const std::set<std::string> others = {"sh", "cpp", "python", "text"};
      EXPECT_TRUE(others.contains(fence.kind)) << fence.kind;
    }
  }
  EXPECT_GT(wrong, 40u);
  EXPECT_GE(right, wrong);
}

TEST(Docs, GeneratedDocumentsAreUpToDate) {
  const std::pair<std::string, std::string> documents[] = {
      {"docs/ops.md", output_of({"ops", "--markdown"})},
      {"docs/diagnostics.md", output_of({"explain", "--markdown"})},
  };
  for (const auto& [path, text] : documents) {
    if (updating()) {
      EXPECT_TRUE(write_file(kRoot + path, text).ok());
    } else {
      EXPECT_TRUE(read_file(kRoot + path) == text)
          << path << " is out of date: ./dev test --update";
    }
  }
}

TEST(Docs, WireFormatListsEveryTag) {
  struct Row {
    int tag;
    std::string_view name;
  };
  const Row rows[] = {
#define FORM(name, tag, ...) {tag, #name},
#define OPERATION(name, tag) {tag, #name},
#define ATOMIC(name, text, tag, ...) {tag, text},
#define STATEMENT(name, tag, meaning) {tag, #name},
#include "vyre/ir/ops.def"
#define TYPE(name, text, tag, ...) {tag, text},
#include "vyre/ir/types.def"
#define LAW(name, text, tag, ...) {tag, text},
#include "vyre/ir/laws.def"
  };
  const std::string page = read_file(kRoot + "docs/wire-format.md");
  for (const Row& row : rows) {
    const std::string cells =
        "\n| " + std::to_string(row.tag) + " | " + std::string(row.name) + " |";
    EXPECT_NE(page.find(cells), page.npos) << "no row with" << cells;
  }
}

std::vector<fs::path> documents() {
  std::vector<fs::path> pages = {kRoot + "README.md", kRoot + "CONTRIBUTING.md",
                                 kRoot + "CHANGELOG.md"};
  for (const auto& file : fs::directory_iterator(kRoot + "docs")) {
    if (file.path().extension() == ".md") pages.push_back(file.path());
  }
  return pages;
}

TEST(Docs, ProgramsInDocumentsAreValid) {
  std::size_t programs = 0;
  for (const fs::path& page : documents()) {
    for (const Fence& fence : fences_in(read_file(page))) {
      const auto starts = [&](std::string_view word) { return fence.text.starts_with(word); };
      const bool whole = starts("program ") || starts("op ") || starts("//");
      if (!fence.kind.starts_with("vyre") || fence.kind == "vyre wrong" || !whole) continue;
      ++programs;
      const std::vector<std::string_view> codes = codes_in(fence.text);
      EXPECT_TRUE(codes.empty()) << page << ": " << codes[0] << "\n" << fence.text;
    }
  }
  EXPECT_GT(programs, 40u);
}

// --- Commands and what they print ---------------------------------------------------------------

// Whether a text is a pattern in which `…` stands for any text.
bool matches(std::string_view text, std::string_view pattern) {
  constexpr std::string_view kAny = "…";
  bool first = true;
  for (;;) {
    const std::size_t end = pattern.find(kAny);
    const std::string_view part = pattern.substr(0, end);
    if (end == pattern.npos) return first ? text == part : text.ends_with(part);
    const std::size_t at = first ? (text.starts_with(part) ? 0 : text.npos) : text.find(part);
    if (at == text.npos) return false;
    text.remove_prefix(at + part.size());
    pattern.remove_prefix(end + kAny.size());
    first = false;
  }
}

// Follows a document: a program is saved in a file of its name, and a line `$ vyre …` in a block is
// run. Gives the document with what was really printed.
std::string followed(const fs::path& page, std::size_t& commands) {
  const Desk desk;
  const std::string document = read_file(page);
  const std::regex program_name("(^|\n)program (\\w+) ");
  std::string out;
  std::string program;  // that is being shown
  std::string command;  // whose output is being shown
  std::string shown;
  bool inside = false;
  const auto compare = [&] {
    if (command.empty()) return;
    // A blank line before the next command separates the two.
    const bool parted = inside && shown.ends_with("\n\n");
    if (parted) shown.pop_back();
    const CommandResult result = desk.run(command);
    const std::string printed = result.out + result.err;
    const bool same = matches(printed, shown);
    EXPECT_TRUE(same || updating()) << page << ": " << command << "\nprints\n" << printed;
    out += (same ? shown : printed) + (parted ? "\n" : "");
    command.clear();
    shown.clear();
    ++commands;
  };
  for (std::string_view line : split(document, '\n')) {
    const bool is_fence = line.starts_with("```");
    const bool is_command = inside && line.starts_with("$ ");
    if (is_fence) inside = !inside;
    if (is_fence || is_command) compare();
    if (is_command) command = line.substr(2);
    std::smatch name;
    const bool is_file = !program.starts_with("$ ");  // and not what a command prints
    if (is_fence && !inside && is_file && std::regex_search(program, name, program_name)) {
      desk.put(name[2].str() + ".vyre", program);
    }
    if (is_fence) program.clear();
    const std::string text = std::string(line) + "\n";
    (command.empty() || is_command ? out : shown) += text;
    if (inside && !is_fence) program += text;
  }
  out.pop_back();  // what the last part got is no line end
  return out;
}

TEST(Docs, CommandsPrintWhatIsShown) {
  std::size_t commands = 0;
  for (const fs::path& page : documents()) {
    const std::string text = followed(page, commands);
    if (updating()) {
      EXPECT_TRUE(write_file(page.string(), text).ok());
    }
  }
  EXPECT_GT(commands, 20u);
}

TEST(Docs, CommandLineIsDescribed) {
  const std::string page = read_file(kRoot + "docs/text-format.md");
  for (const Verb& verb : all_verbs()) {
    EXPECT_NE(page.find("| `vyre " + std::string(verb.name)), page.npos) << verb.name;
    for (const Option& option : verb.options) {
      const std::regex mention("[` ]" + std::string(option.name) + "[^-a-z]");
      EXPECT_TRUE(std::regex_search(page, mention)) << verb.name << " " << option.name;
    }
  }
}

// --- C and C++ -----------------------------------------------------------------------------------

// The lines of a text without their indentation and without blank ones.
std::string bare_lines(std::string_view text) {
  std::string lines = "\n";
  for (std::string_view line : split(text, '\n')) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != line.npos) lines += std::string(line.substr(begin)) + "\n";
  }
  return lines;
}

// The tests compile the examples and run them, so what is an excerpt of one works.
TEST(Docs, CodeIsFromExamples) {
  std::string examples;
  for (const auto& file : fs::directory_iterator(kRoot + "examples")) {
    const std::string extension = file.path().extension();
    if (extension == ".cc" || extension == ".c") examples += bare_lines(read_file(file.path()));
  }
  std::size_t excerpts = 0;
  for (const char* page : {"README.md", "docs/guide.md"}) {
    for (const Fence& fence : fences_in(read_file(kRoot + page))) {
      if (fence.kind != "cpp" && fence.kind != "c") continue;
      ++excerpts;
      EXPECT_NE(examples.find(bare_lines(fence.text)), examples.npos) << page << "\n" << fence.text;
    }
  }
  EXPECT_GE(excerpts, 3u);
}

// --- Links ---------------------------------------------------------------------------------------

// The anchors of a page's headings, made as GitHub makes them.
std::set<std::string> anchors_in(const std::string& markdown) {
  std::set<std::string> anchors;
  for (std::string_view line : split(markdown, '\n')) {
    if (!line.starts_with("#")) continue;
    line.remove_prefix(line.find_first_not_of("# "));
    std::string anchor;
    for (char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ') {
        anchor += '-';
      } else if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(std::tolower(byte));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Docs, LinksLeadSomewhere) {
  const std::regex link("\\]\\(([^)#]*)(#[^)]*)?\\)");
  std::size_t links = 0;
  for (const fs::path& page : documents()) {
    const std::string text = read_file(page);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string to = (*at)[1];
      const std::string anchor = (*at)[2];
      if (to.starts_with("http") || to.find(' ') != to.npos) continue;
      ++links;
      const fs::path target = to.empty() ? page : page.parent_path() / to;
      EXPECT_TRUE(fs::exists(target)) << page << ": " << to;
      if (anchor.empty() || !fs::exists(target)) continue;
      EXPECT_TRUE(anchors_in(read_file(target)).contains(anchor.substr(1)))
          << page << ": " << to << anchor;
    }
  }
  EXPECT_GT(links, 40u);
}

}  // namespace
}  // namespace vyre
