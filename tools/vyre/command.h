// The command line as data: one row per verb, from which parsing, help and completion are derived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
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

  // For what people read while standard output takes bytes.
  Console beside() const { return {in, err, err, colour, err_is_terminal, err_is_terminal}; }
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
  // What to exit with, or what is wrong.
  using Run = Result<int>(const Invocation&, const Console&);

  std::string_view name;
  std::string_view usage;    // "check FILE…"
  std::string_view summary;  // in the list of verbs
  std::string_view operand;  // what an operand is called: "FILE", or empty
  std::size_t least_operands;
  std::size_t most_operands;
  std::span<const Option> options;
  Run* run;
};

Verb::Run run_run, run_race, run_bench, run_check, run_fmt, run_encode, run_decode, run_opt,
    run_ops, run_elementwise, run_explain, run_lower, run_cache, run_backends, run_demo,
    run_completion;

std::span<const Verb> all_verbs();
// What a verb does, with examples.
std::string help_of(const Verb& verb);

// What `vyre lower --to` can print.
inline constexpr std::string_view kForms = "llvm|asm|ptx|wgsl|wgsl-json|spirv|spirv-asm";

// How `vyre run` can show numbers.
inline constexpr std::string_view kNumberFormats = "auto|dec|hex|bin";

// Which ops a trace enters: those of the user's files, those of the library as well, or none.
inline constexpr std::string_view kTraceInto = "own|all|none";

// Runs `vyre` with these arguments (without the program's own name).
int run_command(std::span<const std::string_view> arguments, const Console& console);

// --- For verbs ----------------------------------------------------------------------------------

void append(std::vector<Diagnostic>& all, std::span<const Diagnostic> more);

int exit_status(std::span<const Diagnostic> diagnostics);

// Prints diagnostics, as text or JSON, and says what to exit with. Warnings come first, as text,
// and have a list of their own in JSON; they change nothing of the status.
int report(std::span<const Diagnostic> diagnostics, bool json, const Console& console,
           std::span<const Diagnostic> warnings = {});

// What value() gives for each, as a list.
template <class Value = std::identity>
JsonList json_list_of(const auto& all, Value value = {}) {
  JsonList list;
  for (const auto& each : all) list.add(std::invoke(value, each));
  return list;
}

// Prints a text, or {"text": …}.
int print_text(std::string_view text, bool json, const Console& console);

// A text of tools/vyre/help/.
std::string_view help_text(std::string_view name);
// A text with these replaced, one after the other: characters, or places such as @VERSION@.
std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<std::string_view, std::string>> values);

// For tables: how many characters a text has, and a text with at least two blanks after it.
std::size_t columns(std::string_view text);
std::string padded(std::string_view text, std::size_t width);

// What is before the first separator, and what follows it, if it is there: NAME=VALUE.
struct Halves {
  std::string_view name;
  std::optional<std::string_view> value;
};
Halves split_at(std::string_view text, char separator);
// All that is between separators; at least one part.
std::vector<std::string_view> parts_of(std::string_view text, char separator);

// For people: a path as it is, but for control characters.
inline std::string path_text(std::string_view path) { return shorten(path, path.size() * 4); }

// Each folder of -I that does not exist.
std::vector<Diagnostic> missing_folders(const Invocation& invocation);

// A file, or standard input for `-`; as a text, and as the module in it.
Result<Source> read_input(std::string_view path, const Console& console);
// The files that it uses are found in its folder and in those of -I.
Result<Loaded> load_file(std::string_view path, const Invocation& invocation,
                         const Console& console);

// The items that are programs: that of --program, or all of the first file where it is not given.
Result<std::vector<std::size_t>> chosen_programs(const Loaded& loaded,
                                                 const Invocation& invocation);

// The same, as bytes and with another limit; one byte more than the limit says that there is more.
Result<std::vector<std::byte>> read_bytes(std::string_view path, std::uint64_t limit,
                                          const Console& console);

// The files that a command reads: its operands, and `@PATH` of --in and --expect.
std::vector<std::string_view> inputs_of(const Invocation& invocation);

// Whether a file can be written, as far as one can know in advance; otherwise I002. U004 if it is
// one of the inputs, under any name.
Result<void> check_writable(std::string_view path, std::span<const std::string_view> inputs,
                            const Console& console);

// Replaces a file as a whole or not at all, also when it is interrupted.
Result<void> write_file(std::string_view path, std::string_view bytes);

}  // namespace vyre
