// `vyre completion`: scripts for shells and the manual page, from the table of verbs.
#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/library/registry.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

std::string words_of(const Verb& verb) {
  std::string words;
  for (const Option& option : verb.options) {
    words += std::string(option.name) + " ";
    if (!option.letter.empty()) words += std::string(option.letter) + " ";
  }
  return words + "--help";
}

// What completes an operand: words, or "" for file names.
std::string operands_of(const Verb& verb) {
  std::string words;
  if (verb.operand == "CODE") {
    for (Code code : all_codes()) words += std::string(name(code)) + " ";
  } else if (verb.operand == "WORD" || verb.operand == "ID") {
    if (verb.operand == "WORD") {
      for (const OperationInfo& row : all_operations()) {
        if (!is_form(row.op) && row.precedence == 0) words += std::string(row.text) + " ";
      }
      for (const AtomicInfo& row : all_atomics()) words += std::string(row.text) + " ";
    }
    for (std::string_view id : Registry().ids()) words += std::string(id) + " ";
  } else if (verb.operand == "SHELL") {
    words = "bash zsh fish man ";
  }
  return words;
}

// The options whose values are known, each with them. Those of --program are in the file that the
// line names, and are looked up by the scripts.
std::vector<std::pair<std::string_view, std::string>> values() {
  std::string backends = "all";
  for (const Backend& backend : all_backends()) backends += " " + std::string(backend.name);
  std::string targets;
  for (std::string_view target : cpu_targets()) targets += std::string(target) + " ";
  std::string passes;
  for (const Pass& pass : all_passes()) passes += std::string(pass.name) + " ";
  return {{"--backend", backends},
          {"--to", "llvm asm ptx"},
          {"--cpu", targets},
          {"--pass", passes},
          {"--print-after", passes + "all"},
          {"--schedule", "sequential reverse round-robin random mixed"}};
}

std::string verb_names() {
  std::string names;
  for (const Verb& verb : all_verbs()) names += std::string(verb.name) + " ";
  return names;
}

std::string value_cases(std::string_view begin, std::string_view middle, std::string_view end) {
  std::string out;
  for (const auto& [option, words] : values()) {
    out +=
        std::string(begin) + std::string(option) + std::string(middle) + words + std::string(end);
  }
  return out;
}

std::string bash() {
  std::string out =
      "# bash completion for vyre: source <(vyre completion bash)\n"
      "_vyre() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local options= operands= values=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"" +
      verb_names() +
      "help --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const Verb& verb : all_verbs()) {
    out += "    " + std::string(verb.name) + ") options=\"" + words_of(verb) + "\" operands=\"" +
           operands_of(verb) + "\" ;;\n";
  }
  return out + "    help) operands=\"" + verb_names() +
         "\" ;;\n"
         "  esac\n"
         "  case $before in\n" +
         value_cases("    ", ") values=\"", "\" ;;\n") +
         "    --program) values=$(sed -n 's/^program  *\\([A-Za-z0-9_]*\\).*/\\1/p' -- "
         "\"${COMP_WORDS[@]:2}\" 2>/dev/null) ;;\n"
         "  esac\n"
         "  if [ -n \"$values\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
         "  elif [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "  elif [ -n \"$operands\" ]; then\n"
         "    COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
         "  else\n"
         "    local IFS=$'\\n'\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _vyre vyre\n";
}

std::string zsh() {
  std::string out =
      "#compdef vyre\n"
      "# zsh completion for vyre: vyre completion zsh > ~/.zfunc/_vyre\n"
      "_vyre() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a verbs=(\n";
  for (const Verb& verb : all_verbs()) {
    out += "      '" + std::string(verb.name) + ":" + std::string(verb.summary) + "'\n";
  }
  out +=
      "    )\n"
      "    _describe command verbs\n"
      "    return\n"
      "  fi\n"
      "  local -a options operands values\n"
      "  case $words[2] in\n";
  for (const Verb& verb : all_verbs()) {
    out += "    " + std::string(verb.name) + ") options=(" + words_of(verb) + ") operands=(" +
           operands_of(verb) + ") ;;\n";
  }
  return out + "    help) operands=(" + verb_names() +
         ") ;;\n"
         "  esac\n"
         "  case $words[CURRENT-1] in\n" +
         value_cases("    ", ") values=(", ") ;;\n") +
         "    --program) values=(${(f)\"$(sed -n 's/^program  *\\([A-Za-z0-9_]*\\).*/\\1/p' -- "
         "$words[3,-1] 2>/dev/null)\"}) ;;\n"
         "  esac\n"
         "  if (( $#values )); then\n"
         "    compadd -- $values\n"
         "  elif [[ $PREFIX == -* ]]; then\n"
         "    compadd -- $options\n"
         "  elif (( $#operands )); then\n"
         "    compadd -- $operands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_vyre \"$@\"\n";
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
    const std::string operands = operands_of(verb);
    if (!operands.empty()) out += after + "-f -a " + quoted(operands) + "\n";
  }
  return out;
}

// --- The manual page
// ------------------------------------------------------------------------------

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
  std::string out = ".TH VYRE 1 \"\" \"vyre " + std::string(version()) +
                    "\" \"User Commands\"\n"
                    ".SH NAME\nvyre \\- GPU compute with the same bytes on every machine\n"
                    ".SH SYNOPSIS\n.nf\n";
  for (const Verb& verb : all_verbs()) out += "vyre " + roff(verb.usage) + "\n";
  out += ".fi\n.SH COMMANDS\n";
  for (const Verb& verb : all_verbs()) {
    out += ".SS vyre " + roff(verb.name) + "\n.nf\n" + roff(verb.help) + ".fi\n";
    for (const Option& option : verb.options) {
      out += ".TP\n.B " + roff(option.name);
      if (!option.letter.empty()) out += ", " + roff(option.letter);
      if (!option.value.empty()) out += " " + roff(option.value);
      out += "\n" + roff(option.help) + "\n";
    }
  }
  return out +
         ".SH EXIT STATUS\n"
         ".TP\n.B 0\nall is well\n"
         ".TP\n.B 1\na program is wrong, races, or is not formatted\n"
         ".TP\n.B 2\nthe command line is wrong\n"
         ".TP\n.B 3\nthe environment is: a file cannot be written, a backend cannot run\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B VYRE_CACHE\nthe folder of compiled programs and of proofs\n"
         ".TP\n.B VYRE_CPU\nthe kind of vectors that the CPU backend uses, such as avx2\n"
         ".TP\n.B VYRE_GUARD\nend or begin: an access that goes astray crashes\n"
         ".TP\n.B VYRE_SOLVER\nthe solver for proofs, instead of z3\n";
}

}  // namespace

int run_completion(const Invocation& invocation, const Console& console) {
  const std::string_view shell = invocation.operands[0];
  if (shell == "bash") return print_text(bash(), invocation.json(), console);
  if (shell == "zsh") return print_text(zsh(), invocation.json(), console);
  if (shell == "fish") return print_text(fish(), invocation.json(), console);
  if (shell == "man") return print_text(manual(), invocation.json(), console);
  return report({{diagnose<message::unknown_shell>(shorten(shell))}}, invocation.json(), console);
}

}  // namespace vyre
