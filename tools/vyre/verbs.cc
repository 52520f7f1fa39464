// The table of verbs.
#include <limits>

#include "tools/vyre/command.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

constexpr Option kJson = {"--json", "", "", "print the result as JSON"};

constexpr Option kOnlyJson[] = {kJson};

constexpr Option kDeny = {"--deny", "", "warnings", "make warnings errors"};

constexpr Option kInclude = {"--include", "-I", "DIR",
                             "find files that others use in this folder, too", true};

constexpr Option kCheckOptions[] = {kInclude, kDeny, kJson};

constexpr Option kFmtOptions[] = {
    {"--in-place", "-i", "", "rewrite the files instead of printing"},
    {"--check", "", "", "write nothing; name the files that would change and exit with 1"},
    kJson,
};

constexpr Option kEncodeOptions[] = {
    {"--output", "-o", "FILE", "where to write; - is standard output"},
    kInclude,
    kJson,
};

// Of all verbs with a dispatch.
constexpr Option kOver = {"--over", "", "N[,N[,N]]",
                          "instead of --grid: as many workgroups as N invocations need"};

constexpr Option kOptOptions[] = {
    {"--pass", "", "NAME", "run only these passes, in this order, after `inline`", true},
    {"--print-after", "", "NAME|all", "print the program after a pass, or after each of them"},
    {"--without", "", "NAME[,NAME]…", "lower it for a target that lacks these"},
    {"--explain-bounds", "", "", "for each access: does it need a check, and why not"},
    {"--program", "", "NAME", "only this program of the file"},
    {"--grid", "", "X[,Y[,Z]]", "specialise it for a dispatch of this many workgroups"},
    kOver,
    {"--in", "", "NAME=DATA", "and of these buffers, given as for `vyre run`", true},
    kInclude,
    kJson,
};

constexpr Option kLines = {"--lines", "", "",
                           "keep the line numbers of the file in GPU code, for profilers"};

constexpr Option kLowerOptions[] = {
    {"--to", "", kForms, "what to print"},
    {"--program", "", "NAME", "which program of the file"},
    {"--cpu", "", "TARGET", "for a machine other than this one; of llvm and asm"},
    {"--gpu", "", "int64", "for devices that have this; of spirv"},
    kLines,
    {"--output", "-o", "FILE", "where to write; - is standard output"},
    kInclude,
    kJson,
};

constexpr Option kCacheOptions[] = {
    {"--clear", "", "", "delete all compiled programs"},
    {"--cpu", "", "TARGET", "compile for a machine other than this one"},
    kInclude,
    kJson,
};

constexpr Option kFile = {"--file", "", "FILE",
                          "a file with more ops than the library has; - is standard input"};

constexpr Option kOpsOptions[] = {
    {"--prove", "", "", "prove the laws of an op, or of all ops of a file"}, kFile, kInclude,
    {"--markdown", "", "", "the whole reference as a Markdown page"},        kJson,
};

constexpr Option kElementwiseOptions[] = {kFile, kInclude, kJson};

constexpr Option kReferenceOptions[] = {
    {"--markdown", "", "", "the whole reference as a Markdown page"},
    kJson,
};

// Shared by `vyre run`, `vyre race` and `vyre bench`.
constexpr Option kProgram = {"--program", "", "NAME", "which program of the file to run"};
constexpr Option kGrid = {"--grid", "", "X[,Y[,Z]]", "the number of workgroups on each axis"};
constexpr Option kIn = {"--in", "", "NAME=DATA", "the contents of a buffer; once for each buffer",
                        true};
constexpr Option kThreads = {"--threads", "", "N",
                             "use at most N threads; the default is one per core"};
constexpr Option kDevice = {"--device", "", "N", "which of the backend's devices, from 0"};

// Of `vyre run` and `vyre race`.
constexpr Option kRunOptions[] = {
    kProgram,
    kGrid,
    kOver,
    kIn,
    {"--out", "", "NAME[=PATH]",
     "print only this buffer, or write its bytes to a file, as an array to FILE.npy; - is "
     "standard output",
     true},
    {"--format", "", kNumberFormats, "how to show numbers; the default is auto"},
    {"--image", "", "NAME[=FILE.png]:WxH[:rgba8|gray8]",
     "draw a buffer in the terminal, or write it as a PNG", true},
    {"--backend", "", "NAME|all",
     "what to run on, see `vyre backends`; all compares every backend that can run"},
    kDevice,
    {"--expect", "", "NAME=DATA|DIGEST|FILE",
     "exit with 1 unless a buffer has these contents, or all outputs this digest", true},
    {"--repeat", "", "N", "run N times, compare the bytes, and print the times"},
    {"--schedule", "", "ORDER", "sequential, reverse, round-robin, random[:SEED] or mixed[:SEED]"},
    kThreads,
    {"--max-steps", "", "N", "stop after N statements, as in 1_000_000 or 1e9"},
    {"--trace", "", "X,Y,Z[..X,Y,Z]",
     "show what one invocation does, or where two of them diverge"},
    {"--trace-into", "", kTraceInto,
     "which ops a trace enters: those of your files, as it does without this, also those of the "
     "library, or none"},
    {"--trace-all", "", "", "do not shorten a trace to 10000 statements"},
    {"--strict", "", "", "an access that is out of bounds is an error; on `interp`"},
    kDeny,
    kLines,
    kInclude,
    kJson,
};

constexpr Option kBenchOptions[] = {
    kProgram,
    kGrid,
    kOver,
    kIn,
    {"--backend", "", "LIST", "names separated by commas, see `vyre backends`; or all"},
    kDevice,
    {"--runs", "", "N", "how often each is timed; the default is 11"},
    {"--seconds", "", "S", "stop timing a backend after S seconds of runs; the default is 5"},
    kThreads,
    {"--svg", "", "FILE", "also draw the bars as a picture; - is standard output"},
    kLines,
    kInclude,
    kJson,
};

constexpr Verb kVerbs[] = {
    {"run", "run FILE --grid X[,Y[,Z]]|--over N --in NAME=DATA… [OPTIONS]",
     "run a program and show what it computes", "FILE", 1, 1, kRunOptions, run_run},
    {"race", "race FILE --grid X[,Y[,Z]]|--over N --in NAME=DATA… [OPTIONS]",
     "find data races and results that depend on the order", "FILE", 1, 1, kRunOptions, run_race},
    {"bench", "bench FILE --grid X[,Y[,Z]]|--over N --in NAME=DATA… [OPTIONS]",
     "time a program on several backends, side by side", "FILE", 1, 1, kBenchOptions, run_bench},
    {"check", "check FILE…", "parse and validate programs", "FILE", 1, kAnyNumber, kCheckOptions,
     run_check},
    {"fmt", "fmt [-i | --check] FILE…", "format programs in the canonical layout", "FILE", 1,
     kAnyNumber, kFmtOptions, run_fmt},
    {"encode", "encode FILE -o OUT", "write a program in the binary wire format", "FILE", 1, 1,
     kEncodeOptions, run_encode},
    {"decode", "decode FILE", "print a wire file as text", "FILE", 1, 1, kOnlyJson, run_decode},
    {"opt",
     "opt FILE [--pass NAME]… [--print-after NAME|all] [--without NAME,…] [--explain-bounds]",
     "expand calls and optimise, print the text", "FILE", 1, 1, kOptOptions, run_opt},
    {"ops", "ops [WORD…] [--prove] [--file FILE]", "list, search, explain and prove operations",
     "WORD", 0, kAnyNumber, kOpsOptions, run_ops},
    {"elementwise", "elementwise ID… [--file FILE]",
     "print the array program of an op, or of a chain of ops", "ID", 1, kAnyNumber,
     kElementwiseOptions, run_elementwise},
    {"explain", "explain [CODE]", "teach what a diagnostic means", "CODE", 0, 1, kReferenceOptions,
     run_explain},
    {"lower", "lower FILE --to FORM [--program NAME] [--cpu TARGET]",
     "print what a backend makes of a program", "FILE", 1, 1, kLowerOptions, run_lower},
    {"cache", "cache [FILE… [--cpu TARGET]] [--clear]",
     "show, fill or empty the cache of compiled programs", "FILE", 0, kAnyNumber, kCacheOptions,
     run_cache},
    {"backends", "backends", "list what programs can run on", "", 0, 0, kOnlyJson, run_backends},
    {"demo", "demo", "see vyre at work, in less than a minute", "", 0, 0, kOnlyJson, run_demo},
    {"completion", "completion bash|zsh|fish|man",
     "print a shell completion script, or the manual page", "SHELL", 1, 1, kOnlyJson,
     run_completion},
};

}  // namespace

std::span<const Verb> all_verbs() { return kVerbs; }

std::string help_of(const Verb& verb) {
  std::string passes, named;
  for (const Pass& pass : all_passes()) {
    (pass.by_name() ? named : passes) +=
        "  " + padded(pass.name, 12) + std::string(pass.summary) + "\n";
  }
  return replaced(
      help_text(verb.name),
      {{"@PASSES@", passes}, {"@NAMED_PASSES@", named}, {"@TARGETS@", join(cpu_targets(), ", ")}});
}

}  // namespace vyre
