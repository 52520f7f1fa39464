// `vyre completion`: scripts for bash and zsh, from the table of verbs.
#include "tools/vyre/command.h"
#include "vyre/base/text.h"
#include "vyre/library/registry.h"

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
  } else if (verb.operand == "ID") {
    for (const OperationInfo& row : all_operations()) {
      if (!is_form(row.op) && row.precedence == 0) words += std::string(row.text) + " ";
    }
    for (const AtomicInfo& row : all_atomics()) words += std::string(row.text) + " ";
    for (const Op* op : Registry().all()) words += op->id + " ";
  } else if (verb.operand == "SHELL") {
    words = "bash zsh ";
  }
  return words;
}

std::string verb_names() {
  std::string names;
  for (const Verb& verb : all_verbs()) names += std::string(verb.name) + " ";
  return names;
}

std::string bash() {
  std::string out =
      "# bash completion for vyre: source <(vyre completion bash)\n"
      "_vyre() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} options= operands=\n"
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
         "  if [[ $word == -* ]]; then\n"
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
      "  local -a options operands\n"
      "  case $words[2] in\n";
  for (const Verb& verb : all_verbs()) {
    out += "    " + std::string(verb.name) + ") options=(" + words_of(verb) + ") operands=(" +
           operands_of(verb) + ") ;;\n";
  }
  return out + "    help) operands=(" + verb_names() +
         ") ;;\n"
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then\n"
         "    compadd -- $options\n"
         "  elif (( $#operands )); then\n"
         "    compadd -- $operands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_vyre \"$@\"\n";
}

}  // namespace

int run_completion(const Invocation& invocation, const Console& console) {
  const std::string_view shell = invocation.operands[0];
  if (shell == "bash") return print_text(bash(), invocation.json(), console);
  if (shell == "zsh") return print_text(zsh(), invocation.json(), console);
  return report({{diagnose<message::unknown_shell>(shorten(shell))}}, invocation.json(), console);
}

}  // namespace vyre
