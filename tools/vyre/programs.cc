// The verbs that take programs: check, fmt, encode, decode.
#include <algorithm>

#include "tools/vyre/command.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

bool names_stdin_twice(const Invocation& invocation) {
  return std::ranges::count(invocation.operands, "-") > 1;
}

void append(std::vector<Diagnostic>& all, std::span<const Diagnostic> more) {
  all.insert(all.end(), more.begin(), more.end());
}

Result<Loaded> load_file(std::string_view path, const Console& console) {
  Result<Source> source = read_input(path, console);
  if (!source.ok()) return source.diagnostics();
  return load_module(std::move(*source));
}

}  // namespace

int run_check(const Invocation& invocation, const Console& console) {
  if (names_stdin_twice(invocation)) {
    return report({{diagnose<message::stdin_twice>()}}, invocation.json(), console);
  }
  std::vector<Diagnostic> diagnostics;
  for (std::string_view path : invocation.operands) {
    append(diagnostics, load_file(path, console).diagnostics());
  }
  return report(diagnostics, invocation.json(), console);
}

int run_fmt(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const bool in_place = invocation.has("--in-place");
  const bool check = invocation.has("--check");
  const auto fail = [&](const Diagnostic& diagnostic) {
    return report({{diagnostic}}, json, console);
  };
  if (in_place && check) return fail(diagnose<message::conflict>("--in-place", "--check"));
  if (names_stdin_twice(invocation)) return fail(diagnose<message::stdin_twice>());
  if (!in_place && !check && invocation.operands.size() > 1) {
    return fail(diagnose<message::many_files>());
  }

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
    const std::string text = JsonObject().add("text", listing).line();
    console.print(text.substr(0, text.size() - 2) + "," + to_json(diagnostics).substr(1));
    return exit_status(diagnostics);
  }
  if (check) print_text(listing, json, console);
  if (!diagnostics.empty() || (in_place && json)) return report(diagnostics, json, console);
  return listing.empty() ? kFine : kWrongInput;
}

int run_encode(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const std::string_view output = invocation.value("--output");
  const bool to_stdout = !invocation.has("--output") || output == "-";
  if (to_stdout && (console.out_is_terminal || json)) {
    return report({{diagnose<message::wire_to_terminal>()}}, json, console);
  }
  if (!to_stdout) {
    const Result<void> writable = check_writable(output, inputs_of(invocation), console);
    if (!writable.ok()) return report(writable.diagnostics(), json, console);
  }
  const Result<Loaded> loaded = load_file(invocation.operands[0], console);
  if (!loaded.ok()) return report(loaded.diagnostics(), json, console);
  const Result<std::string> bytes = encode(loaded->module);
  if (!bytes.ok()) return report(bytes.diagnostics(), json, console);
  if (to_stdout) {
    console.print(*bytes);
    return kFine;
  }
  return report(write_file(output, *bytes).diagnostics(), json, console);
}

int run_decode(const Invocation& invocation, const Console& console) {
  Result<Source> source = read_input(invocation.operands[0], console);
  if (!source.ok()) return report(source.diagnostics(), invocation.json(), console);
  if (!is_wire(source->text)) {
    return report(decode(source->text, source->file).diagnostics(), invocation.json(), console);
  }
  const Result<Loaded> loaded = load_module(std::move(*source));
  if (!loaded.ok()) return report(loaded.diagnostics(), invocation.json(), console);
  return print_text(print(loaded->module), invocation.json(), console);
}

}  // namespace vyre
