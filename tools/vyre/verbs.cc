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

constexpr Option kOptOptions[] = {
    {"--pass", "", "NAME", "run only these passes, in this order, after `inline`", true},
    {"--print-after", "", "NAME|all", "print the program after a pass, or after each of them"},
    {"--without", "", "NAME[,NAME]…", "lower it for a target that lacks these"},
    {"--explain-bounds", "", "", "for each access: does it need a check, and why not"},
    {"--program", "", "NAME", "only this program of the file"},
    {"--grid", "", "X[,Y[,Z]]", "specialise it for a dispatch of this many workgroups"},
    {"--in", "", "NAME=DATA", "and of these buffers, given as for `vyre run`", true},
    kJson,
};

constexpr Option kLowerOptions[] = {
    {"--to", "", "llvm|asm|ptx", "what to print"},
    {"--program", "", "NAME", "which program of the file"},
    {"--cpu", "", "TARGET", "for a machine other than this one; not for ptx"},
    kJson,
};

constexpr Option kCacheOptions[] = {
    {"--clear", "", "", "delete all compiled programs"},
    {"--cpu", "", "TARGET", "compile for a machine other than this one"},
    kJson,
};

constexpr Option kFile = {"--file", "", "FILE",
                          "a file with more ops than the library has; - is standard input"};

constexpr Option kOpsOptions[] = {
    {"--prove", "", "", "prove the laws of an op, or of all ops of a file"},
    kFile,
    {"--markdown", "", "", "the whole reference as a Markdown page"},
    kJson,
};

constexpr Option kElementwiseOptions[] = {kFile, kJson};

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
constexpr Option kLines = {"--lines", "", "",
                           "keep the line numbers of the file in GPU code, for profilers"};

// Of `vyre run` and `vyre race`.
constexpr Option kRunOptions[] = {
    kProgram,
    kGrid,
    kIn,
    {"--out", "", "NAME[=PATH]",
     "print only this buffer, or write its bytes to a file; - is standard output", true},
    {"--image", "", "NAME[=FILE.png]:WxH[:rgba8|gray8]",
     "draw a buffer in the terminal, or write it as a PNG", true},
    {"--backend", "", "NAME|all",
     "what to run on, see `vyre backends`; all compares every backend that can run"},
    kDevice,
    {"--repeat", "", "N", "run N times, compare the bytes, and print the times"},
    {"--schedule", "", "ORDER", "sequential, reverse, round-robin, random[:SEED] or mixed[:SEED]"},
    kThreads,
    {"--max-steps", "", "N", "stop after N statements, as in 1_000_000 or 1e9"},
    {"--trace", "", "X,Y,Z[..X,Y,Z]",
     "show what one invocation does, or where two of them diverge"},
    {"--trace-all", "", "", "do not shorten a trace to 10000 statements"},
    kLines,
    kJson,
};

constexpr Option kBenchOptions[] = {
    kProgram,
    kGrid,
    kIn,
    {"--backend", "", "LIST", "names separated by commas, see `vyre backends`; or all"},
    kDevice,
    {"--runs", "", "N", "how often each is timed; the default is 11"},
    {"--seconds", "", "S", "stop timing a backend after S seconds of runs; the default is 5"},
    kThreads,
    {"--svg", "", "FILE", "also draw the bars as a picture; - is standard output"},
    kLines,
    kJson,
};

constexpr Verb kVerbs[] = {
    {"run", "run FILE --grid X[,Y[,Z]] --in NAME=DATA… [OPTIONS]",
     "run a program and show what it computes",
     "Runs a program on a grid of workgroups and prints its read_write buffers and a digest of all\n"
     "of them, which is the same on every machine and backend. Every buffer needs its contents,\n"
     "read_write buffers too. DATA is one of:\n"
     "\n"
     "  1,2,0xff          numbers of the element type; a vector is its lanes, `bytes` is its bytes;\n"
     "                    true and false for bool; nothing for an empty buffer\n"
     "  zeros:N           N elements, all zero (N words of `bytes`)\n"
     "  fill:VALUE:N      N elements, every lane (every byte of `bytes`) VALUE\n"
     "  iota:N            0, 1, 2, …\n"
     "  random:N[:SEED]   random values, the same on every machine\n"
     "  text:STRING       the bytes of a text\n"
     "  @PATH             the bytes of a file, little-endian; @- is standard input\n"
     "\n"
     "  vyre run kernel.vyre --grid 4 --in data=iota:256 --in out=zeros:256\n"
     "  vyre run kernel.vyre --grid 1 --in text=@book.txt --in out=zeros:8 --out out=digest.bin\n"
     "  vyre run life.vyre --grid 4,4 --in board=random:1024 --in size=32,32 \\\n"
     "    --in next=zeros:1024 --image next:32x32\n"
     "  vyre run kernel.vyre --grid 4 --in out=zeros:256 --trace 3,0,0\n"
     "  vyre run kernel.vyre --grid 4 --in out=zeros:256 --trace 3,0,0..4,0,0\n"
     "  vyre run kernel.vyre --grid 4 --in out=zeros:256 --backend all --repeat 10 --json\n"
     "\n"
     "An rgba8 image takes four bytes per pixel: red, green, blue, opacity. A gray8 image takes one\n"
     "element (one byte of `bytes`) per pixel; 255 and above is white, and so is true. By default,\n"
     "bool, u64, u128, and bytes with one byte per pixel are gray8, all others rgba8. Schedules, step\n"
     "limits and traces need the backend `interp`.\n",
     "FILE", 1, 1, kRunOptions, run_run},
    {"race", "race FILE --grid X[,Y[,Z]] --in NAME=DATA… [OPTIONS]",
     "find data races and results that depend on the order",
     "Runs a program like `vyre run` and reports every pair of accesses that race for an element\n"
     "(R001), whether or not this run went wrong: the invocations, the lines, and a fix. Then compares\n"
     "the results of at least ten orders of invocations (R002). Exits with 1 if it finds anything.\n"
     "\n"
     "Takes the options of `vyre run`, so that one command line serves both, but writes and draws\n"
     "nothing. With --schedule it uses that order only.\n"
     "\n"
     "  vyre race kernel.vyre --grid 4 --in data=iota:256 --in out=zeros:256\n"
     "  vyre explain R001                 what a race is\n",
     "FILE", 1, 1, kRunOptions, run_race},
    {"bench", "bench FILE --grid X[,Y[,Z]] --in NAME=DATA… [OPTIONS]",
     "time a program on several backends, side by side",
     "Runs a program once on each backend and compares the bytes: wrong results get no times. Then\n"
     "runs it on each backend in turn, repeatedly. Buffers stay on the device and keep what the run\n"
     "before left in them; copies and compilation do not count.\n"
     "\n"
     "  runs      how many runs were timed; a backend stops after --seconds, and if its first run\n"
     "            takes longer than that, that run is the only one\n"
     "  median    of the times\n"
     "  spread    interquartile range of the times, in percent of the median\n"
     "  GB/s      10^9 bytes per second; every buffer counts once, however often it is accessed\n"
     "  G inv/s   10^9 invocations per second\n"
     "  ratio     the median divided by that of the first backend: 2 takes twice as long\n"
     "\n"
     "The bars below the table show speed: the longest is the fastest. Without --backend, every\n"
     "backend that has a device here is timed, the default one first; `interp`, the reference, may\n"
     "take long. `interp,all` puts `interp` first. A backend of `all` that cannot run this program is\n"
     "left out, with the reason; a backend that you name has to run it.\n"
     "\n"
     "  vyre bench examples/popcount_xor.vyre --grid 4096 --in lhs=iota:262144 \\\n"
     "    --in rhs=random:262144 --in out=zeros:262144\n"
     "  vyre bench kernel.vyre --grid 4096 --in data=iota:262144 --in out=zeros:262144 \\\n"
     "    --backend cpu,ptx --runs 101 --svg times.svg\n",
     "FILE", 1, 1, kBenchOptions, run_bench},
    {"check", "check FILE…", "parse and validate programs",
     "Parses and validates text or wire files. Prints nothing if they are valid; otherwise prints\n"
     "every independent error with its place and a fix, and exits with 1.\n"
     "\n"
     "  vyre check kernel.vyre            check one file\n"
     "  vyre check *.vyre                 check many\n"
     "  cat kernel.vyre | vyre check -    check standard input\n"
     "  vyre check --json kernel.vyre     for editors and CI\n",
     "FILE", 1, kAnyNumber, kOnlyJson, run_check},
    {"fmt", "fmt [-i | --check] FILE…", "format programs in the canonical layout",
     "Prints a file in the canonical layout. Comments, single blank lines, parentheses and the\n"
     "spelling of literals are kept; the program never changes.\n"
     "\n"
     "  vyre fmt kernel.vyre              print it formatted\n"
     "  vyre fmt -i *.vyre                rewrite files in place\n"
     "  vyre fmt --check *.vyre           for CI: list the files that are not formatted\n",
     "FILE", 1, kAnyNumber, kFmtOptions, run_fmt},
    {"encode", "encode FILE -o OUT", "write a program in the binary wire format",
     "Validates a file and writes it in the wire format: binary, with a digest, one encoding per\n"
     "program, fast to read. docs/wire-format.md describes every byte.\n"
     "\n"
     "  vyre encode kernel.vyre -o kernel.vyrew\n"
     "  vyre encode kernel.vyre | vyre decode -\n",
     "FILE", 1, 1, kEncodeOptions, run_encode},
    {"decode", "decode FILE", "print a wire file as text",
     "Validates a wire file and prints it as canonical text.\n"
     "\n"
     "  vyre decode kernel.vyrew\n",
     "FILE", 1, 1, kOnlyJson, run_decode},
    {"opt",
     "opt FILE [--pass NAME]… [--print-after NAME|all] [--without NAME,…] [--explain-bounds]",
     "expand calls and optimise, print the text",
     "Prints the programs of a file as backends get them: calls expanded, and optimised. They compute\n"
     "the same bytes. With a dispatch it prints the variant for that dispatch, and what it assumes.\n"
     "\n"
     "Passes, in order; the first one that may still find something runs next:\n"
     "  inline      expand the calls of ops\n"
     "  unroll      write short loops out\n"
     "  share       bind what is wanted more than once, once, outside of loops\n"
     "  forward     remember what memory holds\n"
     "  decide      replace what ranges decide\n"
     "  branches    turn cheap branches into selections\n"
     "  strength    share, and divide and multiply by constants more cheaply\n"
     "by name, those for GPUs in their order, and two that `share` includes:\n"
     "  partly      write a few rounds of long loops out\n"
     "  merge       make large workgroups of small ones\n"
     "  coarsen     run invocations of four workgroups at once\n"
     "  predicate   load under conditions instead of branching\n"
     "  gather      gather atomics on few elements in workgroup memory\n"
     "  zeros       make workgroup memory zero where that shows\n"
     "  fold        compute what is constant\n"
     "  algebra     apply the rules\n"
     "\n"
     "`--without` replaces what a target lacks after all passes, as it is done for backends:\n"
     "  u64, u128         the type; its values become two halves, its elements vectors\n"
     "  u128_divide       on u128 `/` and `%`\n"
     "  u128_rest         on u128 all but those and `+ - * & | ^ ~ << >> == <`, select and casts\n"
     "  rotate, mul_high, abs_diff, saturate, signed_saturate\n"
     "\n"
     "  vyre opt kernel.vyre\n"
     "  vyre opt kernel.vyre --print-after all\n"
     "  vyre opt kernel.vyre --without u64,mul_high\n"
     "  vyre opt kernel.vyre --explain-bounds\n"
     "  vyre opt kernel.vyre --explain-bounds --grid 4 --in data=iota:256 --in out=zeros:256\n"
     "  vyre opt kernel.vyre | vyre run - --grid 4 --in data=iota:256 --in out=zeros:256\n",
     "FILE", 1, 1, kOptOptions, run_opt},
    {"ops", "ops [WORD…] [--prove] [--file FILE]", "list, search, explain and prove operations",
     "Without an operand lists the built-in operations and the families of the standard library.\n"
     "With the name of an operation, an op or a family shows it: meaning, types, laws, body, body\n"
     "without calls, examples. Other words search ids and descriptions, best matches first.\n"
     "\n"
     "  vyre ops                            list everything\n"
     "  vyre ops rotl                       a built-in function; operators too: vyre ops '>>'\n"
     "  vyre ops primitive.math             the ops of a family\n"
     "  vyre ops primitive.math.gcd         one op\n"
     "  vyre ops common divisor             search\n"
     "  vyre ops --prove primitive.math.min prove its laws for all values, with z3\n"
     "  vyre ops --prove --file mine.vyre   prove the laws of all ops of a file\n",
     "WORD", 0, kAnyNumber, kOpsOptions, run_ops},
    {"elementwise", "elementwise ID… [--file FILE]",
     "print the array program of an op, or of a chain of ops",
     "Prints the program that applies an op to arrays: a buffer for each input, in order, then the\n"
     "output. Several ops become one program without buffers between them: the result of each is the\n"
     "first input of the next.\n"
     "\n"
     "  vyre elementwise primitive.math.gcd\n"
     "  vyre elementwise primitive.bitwise.xor primitive.bitwise.popcount | vyre opt -\n"
     "  vyre elementwise primitive.math.gcd | vyre run - --grid 1 --in a=iota:64 --in b=random:64 \\\n"
     "    --in out=zeros:64\n",
     "ID", 1, kAnyNumber, kElementwiseOptions, run_elementwise},
    {"explain", "explain [CODE]", "teach what a diagnostic means",
     "Shows the page of a diagnostic code: what the rule is, why it exists, a program that breaks\n"
     "it and one that keeps it. Without an operand lists all codes.\n"
     "\n"
     "  vyre explain V010\n",
     "CODE", 0, 1, kReferenceOptions, run_explain},
    {"lower", "lower FILE --to llvm|asm|ptx [--program NAME] [--cpu TARGET]",
     "print what a backend makes of a program",
     "Prints the code that runs: the LLVM IR that the CPU backend gives to the code generator, the\n"
     "assembly, or the PTX for NVIDIA GPUs (the kernel that fits every dispatch). LLVM IR and\n"
     "assembly are for this machine unless --cpu names another:\n"
     "\n"
     "  avx512, avx2, sse4.2, x86-64, aarch64\n"
     "\n"
     "  vyre lower kernel.vyre --to asm\n"
     "  vyre lower kernel.vyre --to llvm --cpu avx2\n"
     "  vyre lower kernel.vyre --to ptx\n",
     "FILE", 1, 1, kLowerOptions, run_lower},
    {"cache", "cache [FILE… [--cpu TARGET]] [--clear]",
     "show, fill or empty the cache of compiled programs",
     "Compiled programs are kept in $VYRE_CACHE, $XDG_CACHE_HOME/vyre or ~/.cache/vyre, so that each\n"
     "is compiled once. Without operands prints the folder, the number of programs and their size.\n"
     "The limit is 256 MiB; the least recently used go first. The folder can be deleted at any time.\n"
     "A folder that another user owns or can write to is not used; this command says why.\n"
     "\n"
     "With files compiles their programs ahead of time, for this machine or the one that --cpu names.\n"
     "A machine of that kind with a copy of the folder and the same version of vyre runs them without\n"
     "LLVM:\n"
     "\n"
     "  avx512, avx2, sse4.2, x86-64, aarch64\n"
     "\n"
     "  vyre cache\n"
     "  vyre cache --clear\n"
     "  VYRE_CACHE=for-arm vyre cache kernel.vyre --cpu aarch64\n",
     "FILE", 0, kAnyNumber, kCacheOptions, run_cache},
    {"backends", "backends", "list what programs can run on",
     "Lists the backends and their devices, and says why a backend cannot run here.\n"
     "\n"
     "  vyre backends\n"
     "  vyre backends --json\n",
     "", 0, 0, kOnlyJson, run_backends},
    {"demo", "demo", "see vyre at work, in less than a minute",
     "Draws a picture, computes a hash on every backend that can run here, finds a race and shows\n"
     "its fix, and prints the commands that do the same. Needs no files.\n"
     "\n"
     "  vyre demo\n",
     "", 0, 0, kOnlyJson, run_demo},
    {"completion", "completion bash|zsh|fish|man",
     "print a shell completion script, or the manual page",
     "Prints completion for a shell, or the manual page. An installation has all of them.\n"
     "\n"
     "  source <(vyre completion bash)                    for this shell\n"
     "  vyre completion zsh > ~/.zfunc/_vyre              permanently, with ~/.zfunc in fpath\n"
     "  vyre completion fish > ~/.config/fish/completions/vyre.fish\n"
     "  vyre completion man | man -l -\n",
     "SHELL", 1, 1, kOnlyJson, run_completion},
};

}  // namespace

std::span<const Verb> all_verbs() { return kVerbs; }

}  // namespace vyre
