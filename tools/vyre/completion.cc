// `vyre completion`: scripts for shells and the manual page, from the table of verbs.
#include <functional>
#include <set>

#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/library/registry.h"
#include "vyre/passes/lower.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

// Each with a blank after it.
template <class Text = std::identity>
std::string words(const auto& all, Text text = {}) {
  return join(all, " ", text) + " ";
}

std::string option_words(const Verb& verb) {
  std::string out;
  for (const Option& option : verb.options) {
    out += std::string(option.name) + " ";
    if (!option.letter.empty()) out += std::string(option.letter) + " ";
  }
  return out + "--help";
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
    out += words(all_atomics(), &AtomicInfo::text);
    out += words(all_collectives(), &CollectiveInfo::text) + "select len ";
  }
  if (verb.operand == "WORD" || verb.operand == "ID") out += words(Registry().ids());
  return out;
}

// The values of options, where these are known.
std::vector<std::pair<std::string_view, std::string>> known_values() {
  const std::string passes = words(all_passes(), &Pass::name);
  const auto choices = [](std::string_view all) { return words(parts_of(all, '|')); };
  return {{"--backend", "all " + words(all_backends(), &Backend::name)},
          {"--to", choices(kForms)},
          {"--format", choices(kNumberFormats)},
          {"--trace-into", choices(kTraceInto)},
          {"--cpu", words(cpu_targets())},
          {"--gpu", "int64 "},
          {"--pass", passes},
          {"--print-after", passes + "all "},
          {"--without", words(all_capabilities(), &CapabilityInfo::name)},
          {"--schedule", "sequential reverse round-robin random mixed "},
          {"--deny", "warnings "}};
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
  for (const auto& [option, known] : known_values()) {
    values += "    " + std::string(option) + ") values=" + in(known) + " ;;\n";
  }
  std::set<std::string_view> files;  // options that take the name of one
  for (const Verb& verb : all_verbs()) {
    for (const Option& option : verb.options) {
      if (option.value == "FILE" || option.value == "DIR")
        files.insert({option.name, option.letter});
    }
  }
  files.erase("");
  return replaced(help_text(shell), {{"@VERBS@", words(all_verbs(), &Verb::name)},
                                     {"@FILES@", join(files, "|")},
                                     {"@OPTIONS@", options},
                                     {"@SUMMARIES@", summaries},
                                     {"@VALUES@", values}});
}

std::string fish() {
  const auto quoted = [](std::string_view text) {
    return "'" + replaced(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'";
  };
  const auto values = known_values();
  std::string out;
  for (const Verb& verb : all_verbs()) {
    out += "complete -c vyre -n __fish_use_subcommand -f -a " + std::string(verb.name) + " -d " +
           quoted(verb.summary) + "\n";
    const std::string after =
        "complete -c vyre -n '__fish_seen_subcommand_from " + std::string(verb.name) + "' ";
    for (const Option& option : verb.options) {
      out += after + "-l " + std::string(option.name.substr(2));
      if (!option.letter.empty()) out += " -s " + std::string(option.letter.substr(1));
      const auto known =
          std::ranges::find(values, option.name, [](const auto& each) { return each.first; });
      if (option.name == "--program") {
        out += " -x -a '(__vyre_programs)'";
      } else if (known != values.end()) {
        out += " -x -a " + quoted(known->second);
      } else if (!option.value.empty()) {
        out += " -r";
      }
      out += " -d " + quoted(option.help) + "\n";
    }
    const std::string operands = operand_words(verb);
    if (!operands.empty()) out += after + "-f -a " + quoted(operands) + "\n";
  }
  return replaced(help_text("fish"), {{"@COMMANDS@", out}});
}

// Text as roff takes it, which is ASCII; a line that begins with a dot would be a command.
std::string roff(std::string_view text) {
  return replaced("\n" + std::string(text),
                  {{"\\", "\\e"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}, {"-", "\\-"}, {"…", "..."}})
      .substr(1);
}

std::string manual() {
  std::string usages, commands;
  for (const Verb& verb : all_verbs()) {
    usages += "vyre " + roff(verb.usage) + "\n";
    commands += ".SS vyre " + roff(verb.name) + "\n.nf\n" + roff(help_of(verb)) + ".fi\n";
    for (const Option& option : verb.options) {
      commands += ".TP\n.B " + roff(option.name);
      if (!option.letter.empty()) commands += ", " + roff(option.letter);
      if (!option.value.empty()) commands += " " + roff(option.value);
      commands += "\n" + roff(option.help) + "\n";
    }
  }
  return replaced(
      help_text("man"),
      {{"@VERSION@", std::string(version())}, {"@USAGES@", usages}, {"@COMMANDS@", commands}});
}

}  // namespace

Result<int> run_completion(const Invocation& invocation, const Console& console) {
  const std::string_view shell = invocation.operands[0];
  std::string text;
  if (shell == "bash") text = script(shell, '"', '"');
  if (shell == "zsh") text = script(shell, '(', ')');
  if (shell == "fish") text = fish();
  if (shell == "man") text = manual();
  if (text.empty()) return diagnose<message::unknown_shell>(shorten(shell));
  return print_text(text, invocation.json(), console);
}

}  // namespace vyre
