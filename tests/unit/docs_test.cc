// What the documents say is true: every diagnostic code has a page whose examples behave as the
// page claims, generated documents are up to date (VYRE_UPDATE=1 rewrites them), the wire format's
// page lists every tag, and programs in the documents are valid.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/command.h"
#include "tools/vyre/command.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

const std::string kRoot = source_root() + "/";

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

// The codes of everything that is wrong with a program.
std::vector<std::string_view> codes_in(const std::string& program) {
  const Result<Loaded> loaded = load({"example.vyre", program});
  std::vector<std::string_view> codes;
  for (const Diagnostic& diagnostic : loaded.diagnostics()) {
    codes.push_back(name(diagnostic.code));
  }
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
  for (const auto& file : std::filesystem::directory_iterator(kRoot + "tools/vyre/pages")) {
    const std::string text = read_file(file.path());
    for (std::string_view line : split(text, '\n')) {
      if (!line.starts_with("## ")) continue;
      EXPECT_NE(find_code(line.substr(3)), nullptr) << line;
    }
  }
}

TEST(Docs, ExamplesOfPagesDoWhatTheyClaim) {
  std::size_t wrong = 0, right = 0;
  for (const Fence& fence : fences_in(output_of({"explain", "--markdown"}))) {
    const std::vector<std::string_view> codes = codes_in(fence.text);
    const std::string_view code = std::string_view(fence.heading).substr(0, 4);
    if (fence.kind == "vyre wrong") {
      ++wrong;
      EXPECT_FALSE(codes.empty()) << fence.heading << "\n" << fence.text;
      for (std::string_view found : codes) EXPECT_EQ(found, code) << fence.text;
    } else if (fence.kind == "vyre right") {
      ++right;
      EXPECT_TRUE(codes.empty()) << fence.heading << ": " << codes[0] << "\n" << fence.text;
    } else {
      EXPECT_TRUE(fence.kind == "sh" || fence.kind == "cpp" || fence.kind == "text") << fence.kind;
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
#define FORM(name, tag, arity, meaning) {tag, #name},
#define UNARY(name, text, tag, types, signature, laws, meaning) {tag, #name},
#define BINARY(name, text, precedence, tag, types, signature, laws, meaning) {tag, #name},
#define ATOMIC(name, text, tag, operands, meaning) {tag, text},
#define STATEMENT(name, tag, meaning) {tag, #name},
#include "vyre/ir/ops.def"
#define TYPE(name, text, tag, bytes, lanes, width) {tag, text},
#include "vyre/ir/types.def"
#define LAW(name, text, tag, arguments, meaning) {tag, text},
#include "vyre/ir/laws.def"
  };
  const std::string page = read_file(kRoot + "docs/wire-format.md");
  for (const Row& row : rows) {
    const std::string cells =
        "\n| " + std::to_string(row.tag) + " | " + std::string(row.name) + " |";
    EXPECT_NE(page.find(cells), page.npos) << "no row with" << cells;
  }
}

TEST(Docs, ProgramsInDocumentsAreValid) {
  std::vector<std::filesystem::path> pages = {kRoot + "README.md"};
  for (const auto& file : std::filesystem::directory_iterator(kRoot + "docs")) {
    if (file.path().extension() == ".md") pages.push_back(file.path());
  }
  std::size_t programs = 0;
  for (const std::filesystem::path& page : pages) {
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

}  // namespace
}  // namespace vyre
