// The verbs that take programs: check, fmt, encode, decode.
#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "tools/vyre/command.h"
#include "tools/vyre/warn.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"
#include "vyre/warnings/warnings.h"

namespace vyre {
namespace {

bool names_stdin_twice(const Invocation& invocation) {
  return std::ranges::count(invocation.operands, "-") > 1;
}

// What several files say about one that they all use is said once.
void drop_repeated(std::vector<Diagnostic>& diagnostics) {
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t, Code, std::string>> seen;
  std::erase_if(diagnostics, [&](const Diagnostic& each) {
    const std::string file = std::filesystem::path(each.file).lexically_normal().string();
    return each.line > 0 &&
           !seen.emplace(file, each.line, each.column, each.code, each.problem).second;
  });
}

}  // namespace

Result<int> run_check(const Invocation& invocation, const Console& console) {
  if (names_stdin_twice(invocation)) return diagnose<message::stdin_twice>();
  const Result<bool> denies = denies_warnings(invocation);
  if (!denies) return denies.diagnostics();
  std::vector<Diagnostic> diagnostics, warnings;
  for (std::string_view path : invocation.operands) {
    const Result<Loaded> loaded = load_file(path, invocation, console);
    append(diagnostics, loaded.diagnostics());
    if (!loaded) continue;
    append(*denies ? diagnostics : warnings, as_denied(warnings_of(*loaded), *denies));
  }
  drop_repeated(diagnostics);
  drop_repeated(warnings);
  return report(diagnostics, invocation.json(), console, warnings);
}

Result<int> run_fmt(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const bool in_place = invocation.has("--in-place");
  const bool check = invocation.has("--check");
  if (in_place && check) return diagnose<message::conflict>("--in-place", "--check");
  if (names_stdin_twice(invocation)) return diagnose<message::stdin_twice>();
  const bool prints = !in_place && !check;
  if (prints && invocation.operands.size() > 1) return diagnose<message::many_files>();

  std::vector<Diagnostic> diagnostics;
  std::string listing;
  for (std::string_view path : invocation.operands) {
    Result<Source> source = read_input(path, console);
    if (!source.ok()) {
      append(diagnostics, source.diagnostics());
      continue;
    }
    if (is_wire(source->text)) {
      if (in_place) {
        diagnostics.push_back(diagnose<message::wire_in_place>(path));
        continue;
      }
      Result<Loaded> loaded = load_module(std::move(*source));
      append(diagnostics, loaded.diagnostics());
      if (loaded.ok() && !check) print_text(print(loaded->module), json, console);
      continue;
    }
    const Result<std::string> formatted = format(*source);
    if (!formatted.ok()) {
      append(diagnostics, formatted.diagnostics());
    } else if (check) {
      if (*formatted != source->text) listing += path_text(source->file) + "\n";
    } else if (!in_place) {
      print_text(*formatted, json, console);
    } else if (path == "-") {
      diagnostics.push_back(diagnose<message::stdin_in_place>());
    } else if (*formatted != source->text) {
      append(diagnostics, write_file(path, *formatted).diagnostics());
    }
  }
  if (check && json && !diagnostics.empty()) {
    JsonObject both;
    both.add("text", listing).add("diagnostics", json_list(diagnostics));
    console.print(both.line());
    return exit_status(diagnostics);
  }
  if (check) print_text(listing, json, console);
  if (!diagnostics.empty() || (in_place && json)) return report(diagnostics, json, console);
  return listing.empty() ? kFine : kWrongInput;
}

Result<int> run_encode(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const std::string_view output = invocation.value("--output");
  const bool to_stdout = !invocation.has("--output") || output == "-";
  if (to_stdout && (console.out_is_terminal || json)) {
    return diagnose<message::wire_to_terminal>();
  }
  if (!to_stdout) {
    const Result<void> writable = check_writable(output, inputs_of(invocation), console);
    if (!writable.ok()) return writable.diagnostics();
  }
  const Result<Loaded> loaded = load_file(invocation.operands[0], invocation, console);
  if (!loaded.ok()) return loaded.diagnostics();
  const Result<std::string> bytes = encode(own_module(*loaded));
  if (!bytes.ok()) return bytes.diagnostics();
  if (to_stdout) {
    console.print(*bytes);
    return kFine;
  }
  return report(write_file(output, *bytes).diagnostics(), json, console);
}

Result<int> run_decode(const Invocation& invocation, const Console& console) {
  Result<Source> source = read_input(invocation.operands[0], console);
  if (!source.ok()) return source.diagnostics();
  if (!is_wire(source->text)) {
    return decode(source->text, source->file).diagnostics();
  }
  const Result<Loaded> loaded = load_module(std::move(*source));
  if (!loaded.ok()) return loaded.diagnostics();
  return print_text(print(loaded->module), invocation.json(), console);
}

}  // namespace vyre
