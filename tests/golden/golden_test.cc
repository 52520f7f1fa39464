// The golden cases: each FOLDER/CASE.vyre or CASE.hex has beside it, in CASE.out, what `vyre` says
// about it. VYRE_UPDATE=1 rewrites the expectations.
//
// First lines `// run: ARGUMENTS` say how `vyre` is called, with %s for the file and %d for its
// folder; without them the call is `check %s`. What cases use is in folders `parts`. A .hex case is
// a wire file: bytes in hexadecimal, `#` starts a comment, and a line `seal` puts the right length
// and digest into the header.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/command.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"
#include "vyre/wire/format.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = source_root() + "/tests/golden";

std::vector<fs::path> files_with(std::initializer_list<std::string_view> extensions) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().string().find("/parts/") != std::string::npos) continue;  // cases use them
    const std::string extension = entry.path().extension();
    if (std::ranges::find(extensions, extension) != extensions.end()) found.push_back(entry);
  }
  std::ranges::sort(found);
  return found;
}

fs::path expectation_of(fs::path file) { return file.replace_extension(".out"); }

std::string bytes_of_hex(const std::string& text) {
  std::string bytes;
  bool sealed = false;
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    for (std::string_view word : split(line, ' ')) {
      if (word.empty()) continue;
      unsigned char byte = 0;
      const auto [end, error] = std::from_chars(word.begin(), word.end(), byte, 16);
      if (word == "seal") {
        sealed = true;
      } else if (error == std::errc() && end == word.end()) {
        bytes += static_cast<char>(byte);
      } else {
        ADD_FAILURE() << "not a byte: " << word;
      }
    }
  }
  if (!sealed) return bytes;
  const std::uint64_t digest = wire_checksum(std::string_view(bytes).substr(kWireHeaderBytes));
  store_word(bytes.data() + 16, static_cast<std::uint32_t>(bytes.size()));
  store_word(bytes.data() + 20, 0);
  store_word(bytes.data() + 24, static_cast<std::uint32_t>(digest));
  store_word(bytes.data() + 28, static_cast<std::uint32_t>(digest >> 32));
  return bytes;
}

// The arguments of each call.
std::vector<std::vector<std::string>> calls_of(std::string_view text, const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::string_view kDirective = "// run: ";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (text.starts_with(kDirective)) {
    const std::size_t end = text.find_first_of("\r\n");
    lines.push_back(text.substr(kDirective.size(), end - kDirective.size()));
    text.remove_prefix(std::min(text.size(), text.find('\n', end) + 1));
  }
  if (lines.empty()) lines = {"check %s"};
  std::vector<std::vector<std::string>> calls;
  for (std::string_view line : lines) {
    std::vector<std::string>& arguments = calls.emplace_back();
    for (std::string_view word : split(line, ' ')) {
      constexpr std::string_view kFolderMark = "%d";
      std::string& argument = arguments.emplace_back(word == "%s" ? path : std::string(word));
      const std::size_t at = argument.find(kFolderMark);
      if (at != argument.npos) {
        argument.replace(at, kFolderMark.size(), fs::path(path).parent_path().string());
      }
    }
  }
  return calls;
}

CommandResult run(const std::vector<std::string>& arguments) {
  return run_vyre(std::vector<std::string_view>(arguments.begin(), arguments.end()));
}

// The contents of a .out file. Paths in the folder of the case appear in it without their folders.
std::string describe(const CommandResult& result, const std::string& path) {
  std::string text = "exit " + std::to_string(result.status) + "\n";
  for (const auto& [title, part] : {std::pair("stdout", &result.out), {"stderr", &result.err}}) {
    if (part->empty()) continue;
    text += std::string("--- ") + title + "\n" + *part;
    if (!part->ends_with('\n')) text += "\n--- (without a new line at its end)\n";
  }
  const std::string folder = fs::path(path).parent_path().string() + "/";
  for (std::size_t at = text.find(folder); at != text.npos; at = text.find(folder, at)) {
    text.erase(at, folder.size());
  }
  return text;
}

struct Shown {
  std::string code;
  std::string problem;
  std::string fix;
};

// The diagnostics in the text of an expectation.
std::vector<Shown> diagnostics_in(std::string_view text) {
  std::vector<Shown> found;
  for (std::string_view line : split(text, '\n')) {
    const bool warns = line.find("warning[") != line.npos;
    const std::string_view mark = warns ? "warning[" : "error[";
    constexpr std::string_view kFix = "fix: ";
    const std::size_t at = line.find(mark);
    if (line.starts_with(kFix) && !found.empty()) {
      found.back().fix = line.substr(kFix.size());
    } else if (at != line.npos && line.substr(at).find("]: ") != line.npos) {
      found.push_back({std::string(line.substr(at + mark.size(), 4)),
                       std::string(line.substr(line.find("]: ", at) + 3)), ""});
    }
  }
  return found;
}

// Formatting again changes nothing, and the formatted text is the same program.
void check_formatted(const std::string& original, const std::string& formatted) {
  const Result<std::string> again = format({"formatted.vyre", formatted});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, formatted);
  const Result<Module> before = parse(original);
  const Result<Module> after = parse(formatted);
  ASSERT_EQ(before.ok(), after.ok());
  if (!before.ok()) return;
  EXPECT_EQ(digest(*before), digest(*after));
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, Case) {
  const fs::path& file = GetParam();
  const std::string text = read_file(file);
  std::string path = file;
  const bool is_wire = file.extension() == ".hex";
  const TempFolder folder;
  if (is_wire) {
    path = folder / (file.stem().string() + ".vyrew");
    ASSERT_TRUE(write_file(path, bytes_of_hex(text)).ok());
  }
  CommandResult result;
  std::string actual;
  for (const std::vector<std::string>& arguments : calls_of(is_wire ? "" : text, path)) {
    result = run(arguments);
    if (arguments == std::vector<std::string>{"fmt", path} && result.status == kFine) {
      check_formatted(text, result.out);
    }
    const bool needs_llvm = arguments[0] == "lower" && result.err.find("[B003]") != result.err.npos;
    if (needs_llvm && find_backend("cpu")->open(0).device == nullptr) {
      GTEST_SKIP() << "SKIPPED: " << result.err;
    }
    actual += describe(result, path);
  }
  const std::string expectation = expectation_of(file);
  if (updating()) {
    ASSERT_TRUE(write_file(expectation, actual).ok());
  } else {
    ASSERT_TRUE(fs::exists(expectation)) << "run with VYRE_UPDATE=1 to write it, and read it";
    EXPECT_EQ(actual, read_file(expectation));
  }

  const std::string group = file.parent_path().filename();
  EXPECT_TRUE(group != "valid" || result.status == kFine);
  // A case named after a code shows that one and no other.
  if (group != "codes") return;
  const std::vector<Shown> shown = diagnostics_in(actual);
  EXPECT_FALSE(shown.empty());
  for (const Shown& diagnostic : shown) {
    EXPECT_EQ(diagnostic.code, file.stem().string().substr(0, 4));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(files_with({".vyre", ".hex"})),
                         [](const testing::TestParamInfo<fs::path>& file) {
                           std::string name = file.param.parent_path().filename().string() + "_" +
                                              file.param.stem().string();
                           if (file.param.extension() == ".hex") name += "_wire";
                           return name;
                         });

TEST(GoldenFiles, EveryExpectationHasACase) {
  for (const fs::path& expectation : files_with({".out"})) {
    fs::path file = expectation;
    EXPECT_TRUE(fs::exists(file.replace_extension(".vyre")) ||
                fs::exists(file.replace_extension(".hex")))
        << expectation;
  }
}

// --- Every message has a case -------------------------------------------------------------------

struct Message {
  std::string_view code;
  std::string_view name;
  std::string_view problem;
  std::string_view fix;
};

constexpr Message kMessages[] = {
#define MESSAGE(code, name, problem, fix) {#code, #name, problem, fix},
#include "vyre/base/diagnostics.def"
};

// Messages that a file of a reasonable size cannot provoke, or no file at all.
constexpr std::string_view kLimit = "a limit; its input is generated, in tests/unit/limits_test.cc";
constexpr std::string_view kBuilder = "only C++ can provoke it, with the builder";
constexpr std::string_view kHost = "only C++ can provoke it; tests/unit/dispatch_test.cc";
constexpr std::string_view kMachine = "names the machine; tests/unit/run_test.cc";
constexpr std::string_view kCommand = "in tests/unit/command_test.cc";
constexpr std::string_view kUse = "in tests/unit/use_test.cc";
constexpr std::string_view kTerminal = "needs a terminal; tests/unit/run_test.cc";

const std::map<std::string_view, std::string_view> kWithoutCase = {
    {"unavailable_backend", "needs a machine without a device; tests/unit/dispatch_test.cc"},
    {"full_machine", "needs a machine without memory"},
    {"broken_signature", "needs a registry that holds a broken op, which only C++ can make"},
    {"statement_depth", kLimit},
    {"too_many_statements", kLimit},
    {"expression_depth", kLimit},
    {"expanded_constants", kLimit},
    {"too_long_text", kLimit},
    {"too_many_buffers", kLimit},
    {"long_name", kLimit},
    {"source_too_large", kLimit},
    {"long_token", kLimit},
    {"nesting", kLimit},
    {"too_large", kLimit},
    {"no_machine_code", kLimit},
    {"full_device", "needs a GPU whose memory others use"},
    {"large_buffer", "needs a device of WebGPU or Vulkan"},
    {"many_buffers", "needs a device of WebGPU or Vulkan"},
    {"wrong_call", "needs a mistake of ours"},
    {"failed_device", "needs a GPU that fails"},
    {"slow_kernel", "needs a GPU that fails"},
    {"constant_range", kBuilder},
    {"foreign_value", kBuilder},
    {"unclosed_block", kBuilder},
    {"nothing_to_close", kBuilder},
    {"late_parameter", kBuilder},
    {"too_many_axes", kBuilder},
    {"bad_description", kBuilder},
    {"empty_value", kBuilder},
    {"no_type", kBuilder},
    {"unbound_buffer", kHost},
    {"bound_twice", kHost},
    {"no_such_buffer", kHost},
    {"bound_workgroup_buffer", kHost},
    {"long_write", kHost},
    {"long_read", kHost},
    {"ragged_read", kHost},
    {"no_such_output", kHost},
    {"overlapping_buffers", kHost},
    {"long_buffer", "takes more memory than a test should"},
    {"convention_buffer", kHost},
    {"convention_missing", kHost},
    {"foreign_buffer", kHost},
    {"foreign_pipeline", kHost},
    {"no_buffer", kHost},
    {"no_pipeline", kHost},
    {"large_state", kMachine},
    {"table_size", "needs a large file; tests/unit/limits_test.cc"},
    {"different_tables", "no text says it; tests/unit/limits_test.cc"},
    {"empty_chain", "only C++ can provoke it; tests/unit/elementwise_test.cc"},
    {"no_solver", "needs a machine without z3; tests/property/laws_test.cc"},
    {"no_disassembler", "needs a machine without spirv-dis; tests/unit/spirv_test.cc"},
    {"no_formula", "is the reason in law_unproved"},
    {"divergence", "no valid program diverges"},
    {"disagreement", "needs runs that differ; tests/unit/run_test.cc"},
    {"interrupted", "needs an interrupt; tests/unit/run_test.cc"},
    {"no_verb", kCommand},
    {"unknown_verb", kCommand},
    {"misspelt_verb", kCommand},
    {"unknown_option", kCommand},
    {"misspelt_option", kCommand},
    {"missing_value", kCommand},
    {"extra_operand", kCommand},
    {"unwanted_value", kCommand},
    {"repeated_option", kCommand},
    {"written_input", kCommand},
    {"many_files", kCommand},
    {"no_finder", kUse},
    {"too_many_files", kUse},
    {"used_too_large", kUse},
    {"used_wire", kUse},
    {"use_link", kUse},
    {"unknown_code", kCommand},
    {"unknown_shell", kCommand},
    {"wire_in_place", kCommand},
    {"stdin_in_place", kCommand},
    {"wire_to_terminal", kCommand},
    {"module_to_terminal", kCommand},
    {"bytes_to_terminal", kTerminal},
    {"unwritable", kCommand},
};

// Whether a text is a template with something in place of {0}, {1}, …
bool fits(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.size() >= 3 && pattern[0] == '{' && is_digit(pattern[1]) && pattern[2] == '}') {
    for (std::size_t skip = 0; skip <= text.size(); ++skip) {
      if (fits(text.substr(skip), pattern.substr(3))) return true;
    }
    return false;
  }
  return !text.empty() && text[0] == pattern[0] && fits(text.substr(1), pattern.substr(1));
}

TEST(GoldenFiles, EveryMessageHasACase) {
  if (updating()) GTEST_SKIP() << "the expectations are being rewritten";
  std::vector<Shown> shown;
  for (const fs::path& file : files_with({".out"})) {
    const std::string group = file.parent_path().filename();
    if (group == "check" || group == "fmt" || group == "uniformity" || group == "valid") continue;
    for (Shown& diagnostic : diagnostics_in(read_file(file))) shown.push_back(diagnostic);
  }
  std::set<std::string_view> names;
  for (const Message& message : kMessages) {
    names.insert(message.name);
    const bool has_case = std::ranges::any_of(shown, [&](const Shown& diagnostic) {
      return diagnostic.code == message.code && fits(diagnostic.problem, message.problem) &&
             fits(diagnostic.fix, message.fix);
    });
    EXPECT_NE(has_case, kWithoutCase.contains(message.name))
        << message.code << " " << message.name << (has_case ? " has a case now" : " has no case");
  }
  for (const auto& [name, reason] : kWithoutCase) EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace vyre
