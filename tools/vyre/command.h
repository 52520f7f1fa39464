// The command line as data: one row per verb, from which parsing, help and completion are derived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/json.h"
#include "vyre/base/result.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"

namespace vyre {

// After a signal it is 128 and its number; see interrupt.h.
enum Exit : int { kFine = 0, kWrongInput = 1, kUsage = 2, kEnvironment = 3 };

// Where a command reads and writes; tests pass files in memory.
struct Console {
  std::FILE* in;
  std::FILE* out;
  std::FILE* err;
  bool colour = false;  // on `err`
  bool out_is_terminal = false;
  bool err_is_terminal = false;

  void print(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), out); }
  void print_error(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), err); }
};

struct Option {
  std::string_view name;    // "--in-place"
  std::string_view letter;  // "-i", or empty
  std::string_view value;   // what its value is called, or empty
  std::string_view help;
  bool repeatable = false;
};

struct Verb;

struct Invocation {
  const Verb& verb;
  std::vector<std::string_view> operands;
  struct Given {
    const Option* option;
    std::string_view value;
  };
  std::vector<Given> options;

  bool has(std::string_view name) const;
  std::string_view value(std::string_view name) const;                // empty when it is not given
  std::vector<std::string_view> values(std::string_view name) const;  // of a repeatable option
  bool json() const { return has("--json"); }
};

struct Verb {
  std::string_view name;
  std::string_view usage;    // "check FILE…"
  std::string_view summary;  // in the list of verbs
  std::string_view operand;  // what an operand is called: "FILE", or empty
  std::size_t least_operands;
  std::size_t most_operands;
  std::span<const Option> options;
  Result<int> (*run)(const Invocation&, const Console&);  // what to exit with, or what is wrong
};

std::span<const Verb> all_verbs();

// Runs `vyre` with these arguments (without the program's own name).
int run_command(std::span<const std::string_view> arguments, const Console& console);

// --- For verbs ----------------------------------------------------------------------------------

void append(std::vector<Diagnostic>& all, std::span<const Diagnostic> more);

int exit_status(std::span<const Diagnostic> diagnostics);

// Prints diagnostics, as text or JSON, and says what to exit with.
int report(std::span<const Diagnostic> diagnostics, bool json, const Console& console);

// Prints a text, or {"text": …}.
int print_text(std::string_view text, bool json, const Console& console);

// A text of tools/vyre/help/: of a verb a paragraph and examples.
std::string_view help_text(std::string_view name);
// One with its places, which are @NAMES@, filled in.
std::string filled(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string>> values);

// For tables: how many characters a text has, and a text with at least two blanks behind it.
std::size_t columns(std::string_view text);
std::string padded(std::string_view text, std::size_t width);

// What text() gives for each, with something between them.
template <class Range, class Text>
std::string listed(const Range& all, Text text, std::string_view between = ", ") {
  std::string out;
  for (const auto& each : all) {
    if (!out.empty()) out += between;
    out += text(each);
  }
  return out;
}

// For people: a path as it is, but for control characters.
inline std::string path_text(std::string_view path) { return shorten(path, path.size() * 4); }

// A file, or standard input for `-`; as a text, and as the module in it.
Result<Source> read_input(std::string_view path, const Console& console);
Result<Loaded> load_file(std::string_view path, const Console& console);

// The items that are programs: that of --program, or all where it is not given.
Result<std::vector<std::size_t>> chosen_programs(const Loaded& loaded,
                                                 const Invocation& invocation);

// The same, as bytes and with another limit; one byte more than the limit says that there is more.
Result<std::vector<std::byte>> read_bytes(std::string_view path, std::uint64_t limit,
                                          const Console& console);

// The files that a command reads: its operands, and `@PATH` of --in.
std::vector<std::string_view> inputs_of(const Invocation& invocation);

// Whether a file can be written, as far as one can know in advance; otherwise I002. U004 if it is
// one of the inputs, under any name.
Result<void> check_writable(std::string_view path, std::span<const std::string_view> inputs,
                            const Console& console);

// Replaces a file as a whole or not at all, also when it is interrupted.
Result<void> write_file(std::string_view path, std::string_view bytes);

Result<int> run_check(const Invocation& invocation, const Console& console);
Result<int> run_fmt(const Invocation& invocation, const Console& console);
Result<int> run_encode(const Invocation& invocation, const Console& console);
Result<int> run_decode(const Invocation& invocation, const Console& console);
Result<int> run_ops(const Invocation& invocation, const Console& console);
Result<int> run_explain(const Invocation& invocation, const Console& console);
Result<int> run_completion(const Invocation& invocation, const Console& console);
Result<int> run_elementwise(const Invocation& invocation, const Console& console);
Result<int> run_opt(const Invocation& invocation, const Console& console);
Result<int> run_run(const Invocation& invocation, const Console& console);
Result<int> run_bench(const Invocation& invocation, const Console& console);
Result<int> run_race(const Invocation& invocation, const Console& console);
Result<int> run_backends(const Invocation& invocation, const Console& console);
Result<int> run_lower(const Invocation& invocation, const Console& console);
Result<int> run_cache(const Invocation& invocation, const Console& console);
Result<int> run_demo(const Invocation& invocation, const Console& console);

}  // namespace vyre
