#include "tools/vyre/command.h"

#include <algorithm>

#include "help.h"
#include "tools/vyre/interrupt.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

std::string overall_help() {
  std::string commands;
  for (const Verb& verb : all_verbs()) {
    std::string name(verb.name);
    name.resize(12, ' ');
    commands += "  " + name + std::string(verb.summary) + "\n";
  }
  return replaced(help_text("vyre"), {{"@COMMANDS@", commands}});
}

std::string usage_of(const Verb& verb) {
  std::string out =
      "usage: vyre " + std::string(verb.usage) + "\n\n" + help_of(verb) + "\noptions:\n";
  const auto row = [&](std::string_view letter, std::string_view name, std::string_view value,
                       std::string_view help) {
    std::string left = letter.empty() ? "    " : std::string(letter) + ", ";
    left += std::string(name) + (value.empty() ? "" : " " + std::string(value));
    // Help that does not fit beside its option goes below it.
    constexpr std::size_t kColumn = 22;
    const bool fits = left.size() + 2 <= kColumn;
    left += fits ? std::string(kColumn - left.size(), ' ') : "\n" + std::string(kColumn + 2, ' ');
    out += "  " + left + std::string(help) + "\n";
  };
  for (const Option& option : verb.options) {
    row(option.letter, option.name, option.value, option.help);
  }
  row("-h", "--help", "", "show this");
  return out;
}

Diagnostic unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb& verb : all_verbs()) names.push_back(verb.name);
  const std::string_view near = nearest(name, names);
  if (near.empty()) return diagnose<message::unknown_verb>(shorten(name));
  return diagnose<message::misspelt_verb>(shorten(name), near);
}

Diagnostic unknown_option(const Verb& verb, std::string_view name) {
  std::vector<std::string_view> names{"--help"};
  for (const Option& option : verb.options) names.push_back(option.name);
  const std::string_view near = nearest(name, names);
  if (near.empty()) return diagnose<message::unknown_option>(verb.name, shorten(name));
  return diagnose<message::misspelt_option>(verb.name, shorten(name), near);
}

// Sorts the arguments after the verb into options and operands. `--name value`, `--name=value`,
// `-n value`; everything after `--` is an operand.
Result<Invocation> parse_arguments(const Verb& verb, std::span<const std::string_view> arguments) {
  Invocation invocation{verb, {}, {}};
  bool options_end = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (options_end || argument == "-" || !argument.starts_with('-')) {
      invocation.operands.push_back(argument);
      continue;
    }
    if (argument == "--") {
      options_end = true;
      continue;
    }
    // A value may follow `--name=` or `-n` directly.
    const bool is_long = argument.starts_with("--");
    const std::size_t equals = is_long               ? argument.find('=')
                               : argument.size() > 2 ? 1
                                                     : argument.npos;
    const std::string_view name = is_long ? argument.substr(0, equals) : argument.substr(0, 2);
    const auto option = std::ranges::find_if(verb.options, [&](const Option& candidate) {
      return candidate.name == name || (!candidate.letter.empty() && candidate.letter == name);
    });
    if (option == verb.options.end()) return unknown_option(verb, name);
    if (!option->repeatable && invocation.has(option->name)) {
      return diagnose<message::repeated_option>(option->name);
    }
    std::string_view value;
    if (option->value.empty()) {
      if (equals != argument.npos) return diagnose<message::unwanted_value>(option->name);
    } else if (equals != argument.npos) {
      value = argument.substr(equals + 1);
    } else if (++i < arguments.size()) {
      value = arguments[i];
    } else {
      return diagnose<message::missing_value>(option->name, option->value);
    }
    invocation.options.push_back({&*option, value});
  }
  if (invocation.operands.size() < verb.least_operands) {
    return diagnose<message::missing_operand>(verb.name, verb.operand, verb.usage);
  }
  if (invocation.operands.size() > verb.most_operands) {
    return diagnose<message::extra_operand>(
        verb.name, shorten(invocation.operands[verb.most_operands]), verb.usage);
  }
  return invocation;
}

}  // namespace

bool Invocation::has(std::string_view name) const { return !values(name).empty(); }

std::string_view Invocation::value(std::string_view name) const {
  const std::vector<std::string_view> all = values(name);
  return all.empty() ? std::string_view() : all.front();
}

std::vector<std::string_view> Invocation::values(std::string_view name) const {
  std::vector<std::string_view> all;
  for (const Given& given : options) {
    if (given.option->name == name) all.push_back(given.value);
  }
  return all;
}

int run_command(std::span<const std::string_view> arguments, const Console& console) {
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  if (arguments.empty()) return report({{diagnose<message::no_verb>()}}, json, console);
  const std::string_view first = arguments[0];
  const bool alone = arguments.size() == 1 + static_cast<std::size_t>(json);
  if ((first == "--version" || first == "-V") && alone) {
    return print_text("vyre " VYRE_VERSION "\n", json, console);
  }
  if (first == "--help" || first == "-h" || (first == "help" && arguments.size() == 1)) {
    return print_text(overall_help(), json, console);
  }
  const bool asks_help = first == "help";
  const std::string_view name = asks_help ? arguments[1] : first;
  const auto verb = std::ranges::find(all_verbs(), name, &Verb::name);
  if (verb == all_verbs().end()) return report({{unknown_verb(name)}}, json, console);
  arguments = arguments.subspan(1);
  const auto options_end = std::ranges::find(arguments, "--");
  if (asks_help || std::find(arguments.begin(), options_end, "--help") != options_end ||
      std::find(arguments.begin(), options_end, "-h") != options_end) {
    return print_text(usage_of(*verb), json, console);
  }
  const Result<Invocation> invocation = parse_arguments(*verb, arguments);
  if (!invocation.ok()) return report(invocation.diagnostics(), json, console);
  const std::vector<Diagnostic> missing = missing_folders(*invocation);
  if (!missing.empty()) return report(missing, json, console);
  const Result<int> status = verb->run(*invocation, console);
  return status.ok() ? *status : report(status.diagnostics(), json, console);
}

std::string_view help_text(std::string_view name) {
  return std::ranges::find(embedded::help, name, [](const auto& each) { return each.first; })
      ->second;
}

std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string out(text);
  for (const auto& [place, value] : values) {
    for (std::size_t at = 0; (at = out.find(place, at)) != out.npos; at += value.size()) {
      out.replace(at, place.size(), value);
    }
  }
  return out;
}

Halves split_at(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (Halves halves = split_at(text, separator);; halves = split_at(*halves.value, separator)) {
    parts.push_back(halves.name);
    if (!halves.value) return parts;
  }
}

std::size_t columns(std::string_view text) { return characters(text); }

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size() + 2), ' ');
  return out;
}

void append(std::vector<Diagnostic>& all, std::span<const Diagnostic> more) {
  all.insert(all.end(), more.begin(), more.end());
}

int exit_status(std::span<const Diagnostic> diagnostics) {
  const auto status_of = [](Code code) -> int {
    const char family = name(code)[0];
    if (family == 'U') return kUsage;
    if (family == 'B' || code == Code::I002) return kEnvironment;
    return code == Code::R005 ? interrupted_status() : kWrongInput;
  };
  int status = kFine;
  for (const Diagnostic& diagnostic : diagnostics) {
    status = std::max(status, status_of(diagnostic.code));
  }
  return status;
}

int report(std::span<const Diagnostic> diagnostics, bool json, const Console& console,
           std::span<const Diagnostic> warnings) {
  const int status = exit_status(diagnostics);
  if (status == interrupted_status()) forget_farewell();
  if (json) {
    JsonObject out;
    out.add("diagnostics", json_list(diagnostics));
    if (!warnings.empty()) out.add("warnings", json_list(warnings));
    console.print(out.line());
    return status;
  }
  bool is_first = true;
  for (const std::span<const Diagnostic> list : {warnings, diagnostics}) {
    for (const Diagnostic& diagnostic : list) {
      if (!std::exchange(is_first, false)) console.print_error("\n");
      console.print_error(render(diagnostic, console.colour));
    }
  }
  if (diagnostics.size() >= kMaxDiagnostics) {
    console.print_error("\nthere may be more errors; these are the first " +
                        std::to_string(diagnostics.size()) + "\n");
  }
  return status;
}

int print_text(std::string_view text, bool json, const Console& console) {
  if (json) {
    console.print(JsonObject().add("text", text).line());
  } else {
    console.print(text);
  }
  return kFine;
}

}  // namespace vyre
