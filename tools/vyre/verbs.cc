// The table of verbs.
#include <limits>

#include "tools/vyre/command.h"

namespace vyre {
namespace {

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

constexpr Option kJson = {"--json", "", "", "print the result as JSON"};

constexpr Option kOnlyJson[] = {kJson};

constexpr Option kFmtOptions[] = {
    {"--in-place", "-i", "", "rewrite the files instead of printing"},
    {"--check", "", "", "write nothing; name the files that would change and exit with 1"},
    kJson,
};

constexpr Option kEncodeOptions[] = {
    {"--output", "-o", "FILE", "where to write; - is standard output"},
    kJson,
};

constexpr Option kReferenceOptions[] = {
    {"--markdown", "", "", "the whole reference as a Markdown page"},
    kJson,
};

constexpr Verb kVerbs[] = {
    {"check", "check FILE…", "parse and validate programs",
     "Parses and validates text or wire files. Prints nothing when all is well; otherwise every\n"
     "independent error with its place and a fix, and exits with 1.\n"
     "\n"
     "  vyre check kernel.vyre            check one file\n"
     "  vyre check *.vyre                 check many\n"
     "  cat kernel.vyre | vyre check -    check standard input\n"
     "  vyre check --json kernel.vyre     for editors and CI\n",
     "FILE", 1, kAnyNumber, kOnlyJson, run_check},
    {"fmt", "fmt [-i | --check] FILE…", "lay programs out in the one canonical way",
     "Prints a file in the canonical layout. Comments, single blank lines, parentheses and the\n"
     "spelling of literals stay; the program never changes.\n"
     "\n"
     "  vyre fmt kernel.vyre              print it formatted\n"
     "  vyre fmt -i *.vyre                rewrite files in place\n"
     "  vyre fmt --check *.vyre           for CI: name what is not formatted\n",
     "FILE", 1, kAnyNumber, kFmtOptions, run_fmt},
    {"encode", "encode FILE -o OUT", "write a program in the binary wire format",
     "Validates a file and writes it in the wire format: compact, with a digest, one encoding per\n"
     "program. docs/wire-format.md describes every byte.\n"
     "\n"
     "  vyre encode kernel.vyre -o kernel.vyrew\n"
     "  vyre encode kernel.vyre | vyre decode -\n",
     "FILE", 1, 1, kEncodeOptions, run_encode},
    {"decode", "decode FILE", "print a wire file as text",
     "Validates a wire file and prints it as canonical text.\n"
     "\n"
     "  vyre decode kernel.vyrew\n",
     "FILE", 1, 1, kOnlyJson, run_decode},
    {"ops", "ops [ID]", "list the operations, or explain one",
     "Without an operand lists the built-in operations and the standard library. With one it\n"
     "shows what the operation means, its types and its laws.\n"
     "\n"
     "  vyre ops                          all of them\n"
     "  vyre ops rotl                     one built-in function; operators too: vyre ops '>>'\n"
     "  vyre ops primitive.bitwise.xor    one op of the library, with its body\n",
     "ID", 0, 1, kReferenceOptions, run_ops},
    {"explain", "explain [CODE]", "teach what a diagnostic means",
     "Shows the page of a diagnostic code: what the rule is, why it exists, a program that breaks\n"
     "it and one that keeps it. Without an operand lists all codes.\n"
     "\n"
     "  vyre explain V010\n",
     "CODE", 0, 1, kReferenceOptions, run_explain},
    {"completion", "completion bash|zsh", "print a shell completion script",
     "Prints completion for a shell.\n"
     "\n"
     "  source <(vyre completion bash)                    now\n"
     "  vyre completion zsh > ~/.zfunc/_vyre              for good, with ~/.zfunc in fpath\n",
     "SHELL", 1, 1, kOnlyJson, run_completion},
};

}  // namespace

std::span<const Verb> all_verbs() { return kVerbs; }

}  // namespace vyre
