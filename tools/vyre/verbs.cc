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
    {"--pass", "", "NAME", "run only these passes, in this order, behind `inline`", true},
    {"--print-after", "", "NAME|all",
     "print what a pass leaves, or each of them, instead of the end"},
    {"--explain-bounds", "", "", "tell for each access whether it needs a check, and why not"},
    {"--program", "", "NAME", "only this program of the file"},
    {"--grid", "", "X[,Y[,Z]]", "specialise it for a dispatch of so many workgroups"},
    {"--in", "", "NAME=DATA", "and with these buffers, as `vyre run` takes them", true},
    kJson,
};

constexpr Option kLowerOptions[] = {
    {"--to", "", "llvm|asm|ptx", "what to print"},
    {"--program", "", "NAME", "which program of the file"},
    {"--cpu", "", "TARGET", "for another machine than this; not for ptx"},
    kJson,
};

constexpr Option kCacheOptions[] = {
    {"--clear", "", "", "delete all of it"},
    {"--stats", "", "", "tell where it is, and how large"},
    {"--cpu", "", "TARGET", "compile for another machine than this"},
    kJson,
};

constexpr Option kFile = {"--file", "", "FILE",
                          "a file with ops, besides the library; - is standard input"};

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

// What `vyre run`, `vyre race` and `vyre bench` share.
constexpr Option kProgram = {"--program", "", "NAME", "which program of the file to run"};
constexpr Option kGrid = {"--grid", "", "X[,Y[,Z]]", "how many workgroups to run on each axis"};
constexpr Option kIn = {"--in", "", "NAME=DATA", "the contents of a buffer; for each buffer once",
                        true};
constexpr Option kThreads = {"--threads", "", "N",
                             "at most so many; as many as there are cores when left out"};
constexpr Option kDevice = {"--device", "", "N", "which of the backend's devices, from 0"};
constexpr Option kLines = {"--lines", "", "",
                           "let the code on a GPU carry the lines of the file, for profilers"};

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
    {"--repeat", "", "N", "run N times, compare the bytes, and tell the times"},
    {"--schedule", "", "ORDER", "sequential, reverse, round-robin, random[:SEED] or mixed[:SEED]"},
    kThreads,
    {"--max-steps", "", "N", "give up after so many statements, as in 1_000_000 or 1e9"},
    {"--trace", "", "X,Y,Z[..X,Y,Z]", "show what one invocation does, or where two of them part"},
    {"--trace-all", "", "", "also the part of a trace beyond 10000 statements"},
    kLines,
    kJson,
};

constexpr Option kBenchOptions[] = {
    kProgram,
    kGrid,
    kIn,
    {"--backend", "", "LIST", "names with commas between them, see `vyre backends`; or all"},
    kDevice,
    {"--runs", "", "N", "how often each is timed; 11 when left out"},
    {"--seconds", "", "S", "stop a backend whose runs have taken so long; 5 when left out"},
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
     "  1,2,0xff          numbers of the element's type; lanes of vectors one after the other,\n"
     "                    true and false, bytes of `bytes`; nothing is an empty buffer\n"
     "  zeros:N           N elements (words of `bytes`)\n"
     "  iota:N            0, 1, 2, …\n"
     "  random:N[:SEED]   the same on every machine\n"
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
     "A picture in rgba8 takes four bytes per pixel: red, green, blue, opacity. One in gray8 takes\n"
     "an element (a byte of `bytes`); 255 and more is white, and so is true. Unless you say which,\n"
     "bool, u64, u128 and bytes with one per pixel are gray8, all others rgba8. Orders, steps and\n"
     "traces run on the backend `interp`.\n",
     "FILE", 1, 1, kRunOptions, run_run},
    {"race", "race FILE --grid X[,Y[,Z]] --in NAME=DATA… [OPTIONS]",
     "find data races and results that depend on the order",
     "Runs a program like `vyre run` and reports every pair of places in it that race for an element\n"
     "(R001), whether or not this run went wrong: who they are, where they stand, and what helps.\n"
     "Then compares the results of ten and more orders of invocations (R002). Exits with 1 when it\n"
     "finds something.\n"
     "\n"
     "Takes the options of `vyre run`, so that one line serves both; nothing is written or drawn.\n"
     "With --schedule it looks in that order only.\n"
     "\n"
     "  vyre race kernel.vyre --grid 4 --in data=iota:256 --in out=zeros:256\n"
     "  vyre explain R001                 what a race is\n",
     "FILE", 1, 1, kRunOptions, run_race},
    {"bench", "bench FILE --grid X[,Y[,Z]] --in NAME=DATA… [OPTIONS]",
     "time a program on several backends, side by side",
     "Runs a program, given as for `vyre run`, once on each backend and compares the bytes: times of\n"
     "wrong results are not shown. Then it runs on all of them in turn, and again. Buffers stay on\n"
     "the device and keep what the run before left in them; copies and compilation do not count.\n"
     "\n"
     "  runs      how many were timed; a backend stops early after --seconds, and where the first\n"
     "            run takes longer than that, it is the one\n"
     "  median    of the times\n"
     "  spread    from the first quartile of the times to the third, in percent of the median\n"
     "  GB/s      the bytes of all buffers, each counted once however often it is accessed, in\n"
     "            10^9 per second\n"
     "  G inv/s   invocations, in 10^9 per second\n"
     "  ratio     of the median to that of the first backend: 2 takes twice as long\n"
     "\n"
     "Below that stand bars, the longest of which is the fastest. Unless --backend says otherwise,\n"
     "all that can run here are timed, the default first; `interp`, the reference, may take long.\n"
     "`interp,all` puts another one first. A backend of `all` that cannot run is left out, with the\n"
     "reason; one that is named has to run.\n"
     "\n"
     "  vyre bench examples/popcount_xor.vyre --grid 4096 --in lhs=iota:262144 \\\n"
     "    --in rhs=random:262144 --in out=zeros:262144\n"
     "  vyre bench kernel.vyre --grid 4096 --in data=iota:262144 --in out=zeros:262144 \\\n"
     "    --backend cpu,ptx --runs 101 --svg times.svg\n",
     "FILE", 1, 1, kBenchOptions, run_bench},
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
    {"opt", "opt FILE [--pass NAME]… [--print-after NAME|all] [--explain-bounds]",
     "expand calls and optimise, print the text",
     "Prints the programs of a file as backends get them: without calls, and optimised. The bytes that\n"
     "they compute are the same. With a dispatch it prints the variant for it, and what that assumes.\n"
     "\n"
     "passes, which run in this order; from `forward` to `dead_code`, and `unroll`, again until\n"
     "nothing changes or eight times:\n"
     "  inline      expand the calls of ops\n"
     "  unroll      write short loops out\n"
     "  share       bind what is wanted more than once, once, outside of loops\n"
     "  forward     remember what memory holds\n"
     "  decide      replace what ranges decide\n"
     "  branches    turn cheap branches into selections\n"
     "  strength    share, and divide and multiply by constants more cheaply\n"
     "  dead_code   drop what nobody can notice\n"
     "by name, one for GPUs, and two that `share` includes:\n"
     "  partly      write a few rounds of long loops out\n"
     "  fold        compute what is constant\n"
     "  algebra     apply the rules\n"
     "\n"
     "  vyre opt kernel.vyre\n"
     "  vyre opt kernel.vyre --print-after all\n"
     "  vyre opt kernel.vyre --explain-bounds\n"
     "  vyre opt kernel.vyre --explain-bounds --grid 4 --in data=iota:256 --in out=zeros:256\n"
     "  vyre opt kernel.vyre | vyre run - --grid 4 --in data=iota:256 --in out=zeros:256\n",
     "FILE", 1, 1, kOptOptions, run_opt},
    {"ops", "ops [NAME] [--prove] [--file FILE]", "list, search, explain and prove operations",
     "Without an operand lists the built-in operations and the families of the standard library.\n"
     "With one it shows an operation, an op, all ops of a family, or those whose id or description\n"
     "has the word: what they mean, their types and laws, the body, the body without calls, examples.\n"
     "\n"
     "  vyre ops                            what there is\n"
     "  vyre ops rotl                       a built-in function; operators too: vyre ops '>>'\n"
     "  vyre ops primitive.math             the ops of a family\n"
     "  vyre ops primitive.math.gcd         one op\n"
     "  vyre ops divisor                    search\n"
     "  vyre ops --prove primitive.math.min prove its laws for all values, with z3\n"
     "  vyre ops --prove --file mine.vyre   the laws of all ops of a file\n",
     "NAME", 0, 1, kOpsOptions, run_ops},
    {"elementwise", "elementwise ID… [--file FILE]",
     "print the array program of an op, or of a chain of ops",
     "Prints the program that applies an op to arrays: a buffer for each input, in their order, and\n"
     "the output behind them. Of several ops it makes one program without buffers between them: the\n"
     "result of each is the first input of the next.\n"
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
     "Prints the code that runs: LLVM IR as the CPU backend hands it to the code generator, the\n"
     "assembly, or PTX for NVIDIA GPUs, which is the kernel that is right for every dispatch. The\n"
     "first two are for this machine unless --cpu names another:\n"
     "\n"
     "  avx512, avx2, sse4.2, x86-64, aarch64\n"
     "\n"
     "  vyre lower kernel.vyre --to asm\n"
     "  vyre lower kernel.vyre --to llvm --cpu avx2\n"
     "  vyre lower kernel.vyre --to ptx\n",
     "FILE", 1, 1, kLowerOptions, run_lower},
    {"cache", "cache [FILE… [--cpu TARGET]] [--clear]",
     "show, fill or empty the cache of compiled programs",
     "Compiled programs are kept in $VYRE_CACHE, $XDG_CACHE_HOME/vyre or ~/.cache/vyre, so that they\n"
     "are compiled once. Without an option tells where, how many and how large they are; at most\n"
     "256 MiB, those that were not used for long go first. It can be deleted at any time. A folder\n"
     "that somebody else owns or can write to is not used; this tells why.\n"
     "\n"
     "With files it compiles their programs ahead, for this machine or for the one that --cpu names.\n"
     "A machine of that kind with a copy of the folder, and the same version of vyre, runs them\n"
     "without LLVM:\n"
     "\n"
     "  avx512, avx2, sse4.2, x86-64, aarch64\n"
     "\n"
     "  vyre cache\n"
     "  vyre cache --clear\n"
     "  VYRE_CACHE=for-arm vyre cache kernel.vyre --cpu aarch64\n",
     "FILE", 0, kAnyNumber, kCacheOptions, run_cache},
    {"backends", "backends", "list what programs can run on",
     "Lists the backends, whether they can run here and why not, and their devices.\n"
     "\n"
     "  vyre backends\n"
     "  vyre backends --json\n",
     "", 0, 0, kOnlyJson, run_backends},
    {"demo", "demo", "see vyre at work, in less than a minute",
     "Draws a picture, computes a hash on every backend that can run here, finds a race and shows\n"
     "its fix, and tells the commands that do the same. Needs no files.\n"
     "\n"
     "  vyre demo\n",
     "", 0, 0, kOnlyJson, run_demo},
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
