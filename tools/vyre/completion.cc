// `vyre completion`: scripts for shells and the manual page, from the table of verbs.
#include <functional>

#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/library/registry.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

template <class Range, class Text>
std::string words(const Range& all, Text text) {
  return listed(all, text, " ") + " ";
}

std::string option_words(const Verb& verb) {
  return listed(
             verb.options,
             [](const Option& each) {
               return std::string(each.name) +
                      (each.letter.empty() ? "" : " " + std::string(each.letter));
             },
             " ") +
         " --help";
}

// What completes an operand: words, or "" for file names.
std::string operand_words(const Verb& verb) {
  if (verb.operand == "CODE") return words(all_codes(), [](Code code) { return name(code); });
  if (verb.operand == "SHELL") return "bash zsh fish man ";
  std::string out;
  if (verb.operand == "WORD") {
    for (const OperationInfo& row : all_operations()) {
      if (!is_form(row.op) && row.precedence == 0) out += std::string(row.text) + " ";
    }
    out += words(all_atomics(), [](const AtomicInfo& row) { return row.text; });
  }
  if (verb.operand == "WORD" || verb.operand == "ID")
    out += words(Registry().ids(), std::identity());
  return out;
}

std::string verb_words() {
  return words(all_verbs(), [](const Verb& verb) { return verb.name; });
}

// A script with the options and operands of each verb, and the values of options where these are
// known; those of --program are in the file that the line names, and are looked up by the script.
std::string script(std::string_view shell, char open, char close) {
  const auto in = [&](std::string_view text) { return open + std::string(text) + close; };
  std::string options, summaries, values;
  for (const Verb& verb : all_verbs()) {
    options += "    " + std::string(verb.name) + ") options=" + in(option_words(verb)) +
               " operands=" + in(operand_words(verb)) + " ;;\n";
    summaries += "      '" + std::string(verb.name) + ":" + std::string(verb.summary) + "'\n";
  }
  const std::string passes = words(all_passes(), [](const Pass& pass) { return pass.name; });
  const std::string backends =
      "all " + listed(all_backends(), [](const Backend& backend) { return backend.name; }, " ");
  const std::pair<std::string_view, std::string> kKnown[] = {
      {"--backend", backends},
      {"--to", "llvm asm ptx"},
      {"--cpu", words(cpu_targets(), std::identity())},
      {"--pass", passes},
      {"--print-after", passes + "all"},
      {"--schedule", "sequential reverse round-robin random mixed"}};
  for (const auto& [option, known] : kKnown) {
    values += "    " + std::string(option) + ") values=" + in(known) + " ;;\n";
  }
  return filled(help_text(shell), {{"@VERBS@", verb_words()},
                                   {"@OPTIONS@", options},
                                   {"@SUMMARIES@", summaries},
                                   {"@VALUES@", values}});
}

std::string fish() {
  const auto quoted = [](std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') out += '\\';
      out += c;
    }
    return out + "'";
  };
  std::string out =
      "# fish completion for vyre: vyre completion fish > ~/.config/fish/completions/vyre.fish\n";
  for (const Verb& verb : all_verbs()) {
    out += "complete -c vyre -n __fish_use_subcommand -f -a " + std::string(verb.name) + " -d " +
           quoted(verb.summary) + "\n";
    const std::string after =
        "complete -c vyre -n '__fish_seen_subcommand_from " + std::string(verb.name) + "' ";
    for (const Option& option : verb.options) {
      // As words and not as options with -l, so that all shells show the same.
      out += after + "-a " + std::string(option.name) + " -d " + quoted(option.help) + "\n";
    }
    const std::string operands = operand_words(verb);
    if (!operands.empty()) out += after + "-f -a " + quoted(operands) + "\n";
  }
  return out;
}

// Text as roff takes it, which is ASCII; a line that begins with a dot would be a command.
std::string roff(std::string_view text) {
  constexpr std::string_view kDots = "…";
  std::string out;
  bool at_begin = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kDots)) {
      out += "...";
      i += kDots.size() - 1;
      continue;
    }
    const char c = text[i];
    if (at_begin && (c == '.' || c == '\'')) out += "\\&";
    at_begin = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else {
      out += c == '-' ? "\\-" : std::string(1, c);
    }
  }
  return out;
}

std::string manual() {
  std::string usages, commands;
  for (const Verb& verb : all_verbs()) {
    usages += "vyre " + roff(verb.usage) + "\n";
    commands += ".SS vyre " + roff(verb.name) + "\n.nf\n" + roff(help_text(verb.name)) + ".fi\n";
    for (const Option& option : verb.options) {
      commands += ".TP\n.B " + roff(option.name);
      if (!option.letter.empty()) commands += ", " + roff(option.letter);
      if (!option.value.empty()) commands += " " + roff(option.value);
      commands += "\n" + roff(option.help) + "\n";
    }
  }
  return filled(
      help_text("man"),
      {{"@VERSION@", std::string(version())}, {"@USAGES@", usages}, {"@COMMANDS@", commands}});
}

}  // namespace

Result<int> run_completion(const Invocation& invocation, const Console& console) {
  const std::string_view shell = invocation.operands[0];
  if (shell == "bash") return print_text(script("bash", '"', '"'), invocation.json(), console);
  if (shell == "zsh") return print_text(script("zsh", '(', ')'), invocation.json(), console);
  if (shell == "fish") return print_text(fish(), invocation.json(), console);
  if (shell == "man") return print_text(manual(), invocation.json(), console);
  return diagnose<message::unknown_shell>(shorten(shell));
}

}  // namespace vyre
