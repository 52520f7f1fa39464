// Speed and memory of text, wire, validator and inliner, each beside a peer in the same process:
// nlohmann-json parsing a JSON document of the same size, a parser that many people know the feel
// of.
//
//   bench_foundation [--runs N] [--callgrind]
//
// Times are medians of N interleaved runs (31 by default) with the best run beside them; a busy
// machine moves medians, so judge by the best and by the ratio. --callgrind counts instructions per
// byte of input with valgrind, which does not depend on the machine's load.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "vyre/passes/inline.h"
#include "vyre/vyre.h"

namespace {

using vyre::Module;

// --- Inputs --------------------------------------------------------------------------------------

// Calls of ops of one expression, of several statements, and of ops that call ops.
std::string calls_source(int calls) {
  constexpr const char* kOps[] = {"primitive.bitwise.xor(x, i)", "primitive.math.gcd(x, i)",
                                  "primitive.bitwise.morton2_encode(x, i)",
                                  "primitive.math.avg_floor(x, i + 1)", "hash.fnv1a(x, i)"};
  std::string out = "program calls workgroup(64) {\n  read_write out: u32[]\n\n";
  out += "  let i = invocation_id.x\n  let x = out[i]\n";
  for (int k = 0; k < calls; ++k) out += std::string("  x = ") + kOps[k % 5] + "\n";
  return out + "  out[i] = x\n}\n";
}

// Ordinary code: comments, several programs, all kinds of statements, names of usual length.
std::string ordinary_source(std::size_t bytes) {
  std::string out;
  for (int k = 0; out.size() < bytes; ++k) {
    const std::string n = std::to_string(k);
    out += "// Mixes the words of a row and counts how often each bucket is hit.\n";
    out += "program mix_rows_" + n + " workgroup(64) {\n";
    out += "  read       words:   u32[] @0\n";
    out += "  read_write digests: u32[] @1\n";
    out += "  read_write counts:  u32[256] @2\n";
    out += "  uniform    params:  u32[4] @3\n\n";
    out += "  let row = invocation_id.x\n";
    out += "  if row >= len(digests) {\n    return\n  }\n";
    out += "  let width = params[0]\n";
    out += "  let hash = 0x811c9dc5 + " + n + "\n";
    out += "  for column in 0..width {\n";
    out += "    let word = words[row * width + column]\n";
    out += "    hash = (hash ^ (word & 0xff)) * 0x01000193\n";
    out += "    hash = (hash ^ ((word >> 8) & 0xff)) * 0x01000193\n";
    out += "    hash = rotl(hash, 13) + select(word > hash, word, ~hash)\n";
    out += "    if hash % 977 == " + n + " {\n      break\n    }\n  }\n";
    out += "  // Fold the upper half in.\n";
    out += "  let folded = (hash >> 16) ^ (hash & 0xffff)\n";
    out += "  digests[row] = folded\n";
    out += "  atomic_add(counts[folded & 255], 1)\n}\n\n";
  }
  return out;
}

// One program with as many statements as a program may have.
std::string statements_source() {
  std::string out =
      "program many workgroup(64) {\n  read_write out: u32[]\n  let i = invocation_id.x\n";
  for (int k = 1; k < 100000 - 1; k += 2) {
    const std::string n = std::to_string(k);
    out += "  let v" + n + " = (i + " + n + ") * 31 ^ i\n";
    out += "  out[i + " + n + "] = v" + n + "\n";
  }
  return out + "}\n";
}

// The shortest statements, the worst case for memory per byte of source.
std::string dense_source() {
  std::string out = "program d workgroup(1) {\nlet a=0\nlet b=1\n";
  for (int k = 0; k < 99990; k += 2) out += "a=a+b b=b^a\n";
  out += "}\n";
  std::string all;
  for (int k = 0; k < 4; ++k) {
    std::string copy = out;
    copy.insert(9, std::to_string(k));
    all += copy;
  }
  return all;
}

std::string json_peer(std::size_t bytes) {
  nlohmann::json document = nlohmann::json::array();
  for (int k = 0; static_cast<std::size_t>(k) * 110 < bytes; ++k) {
    document.push_back({{"name", "mix_rows_" + std::to_string(k)},
                        {"workgroup", {64, 1, 1}},
                        {"op", "store"},
                        {"index", {{"op", "add"}, {"a", k}, {"b", 0x811c9dc5}}}});
  }
  return document.dump(1);
}

// --- Measuring -----------------------------------------------------------------------------------

struct Task {
  std::string name;
  std::size_t bytes;
  std::function<void()> run;
  std::vector<double> seconds{};
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// All tasks once per round, so that what disturbs the machine disturbs all of them.
void measure(std::vector<Task>& tasks, int runs) {
  for (int round = 0; round < runs; ++round) {
    for (Task& task : tasks) {
      const auto start = std::chrono::steady_clock::now();
      task.run();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      task.seconds.push_back(time.count());
    }
  }
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench: %s\n", what);
  std::exit(1);
}

struct Child {
  double seconds;
  long peak_kib;
};

// Runs a command with its output thrown away. The peak counts what this process has in memory when
// it forks, so it is only meaningful from a process that has little.
Child run_child(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  require(
      wait4(child, &status, 0, &usage) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
      "a child process failed");
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return {time.count(), usage.ru_maxrss};
}

// The peak memory of a command, measured by a fresh copy of this program.
long peak_kib(const char* self, const std::vector<std::string>& arguments) {
  std::string command = "'" + std::string(self) + "' --peak";
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  long peak = 0;
  require(pipe != nullptr && std::fscanf(pipe, "%ld", &peak) == 1 && pclose(pipe) == 0,
          "measuring memory failed");
  return peak;
}

// Instructions that a run of the command takes, or 0 without valgrind.
double instructions(const std::vector<std::string>& arguments, const std::string& folder) {
  const std::string log = folder + "/callgrind.log";
  std::string command =
      "valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file=" + log;
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  if (std::system((command + " > /dev/null 2>&1").c_str()) != 0) return 0;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find("Collected :");
    if (at != std::string::npos) return std::stod(line.substr(at + 11));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "--peak") {
    std::printf("%ld\n", run_child({argv + 2, argv + argc}).peak_kib);
    return 0;
  }
  int runs = 31;
  bool callgrind = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--callgrind") {
      callgrind = true;
    } else if (argument == "--runs" && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else {
      std::printf("usage: bench_foundation [--runs N] [--callgrind]\n");
      return argument == "--help" ? 0 : 2;
    }
  }

  const std::string ordinary = ordinary_source(4 << 20);
  const std::string statements = statements_source();
  const std::string dense = dense_source();
  const std::string json = json_peer(4 << 20);
  const vyre::Result<vyre::Loaded> loaded = vyre::load_module({"ordinary", ordinary});
  require(loaded.ok(), "the ordinary source is not valid");
  require(vyre::load_module({"statements", statements}).ok(), "the long program is not valid");
  require(vyre::load_module({"dense", dense}).ok(), "the dense source is not valid");
  const std::string wire = *vyre::encode(loaded->module);
  require(wire.size() > 1 << 20, "the wire input is below 1 MB");

  const std::string calls = calls_source(10'000);
  const vyre::Result<vyre::Loaded> caller = vyre::load_module({"calls", calls});
  require(caller.ok(), "the source with calls is not valid");
  const vyre::Program& calling = std::get<vyre::Program>(caller->module.items[0]);

  const auto load_text = [](const std::string& text) {
    return [&text] { require(vyre::load_module({"", text}).ok(), "load failed"); };
  };
  std::vector<Task> tasks = {
      {"nlohmann-json parse (peer)", json.size(),
       [&] { require(nlohmann::json::parse(json).is_array(), "json failed"); }},
      {"parse + validate, ordinary code", ordinary.size(), load_text(ordinary)},
      {"parse + validate, 100000 statements", statements.size(), load_text(statements)},
      {"parse + validate, shortest statements", dense.size(), load_text(dense)},
      {"fmt, ordinary code", ordinary.size(),
       [&] { require(vyre::format({"", ordinary}).ok(), "format failed"); }},
      {"print, ordinary code", ordinary.size(),
       [&] { require(!vyre::print(loaded->module).empty(), "print failed"); }},
      {"encode, to wire bytes", wire.size(),
       [&] { require(vyre::encode(loaded->module).ok(), "encode failed"); }},
      {"decode, from wire bytes", wire.size(),
       [&] { require(vyre::decode(wire).ok(), "decode failed"); }},
      {"resolve + inline, 10000 calls", calls.size(),
       [&] {
         const vyre::Result<vyre::Linked> linked = vyre::link(calling);
         require(linked.ok() && vyre::inline_calls(*linked).ok(), "inline failed");
       }},
  };
  measure(tasks, runs);
  const double peer = static_cast<double>(json.size()) / median(tasks[0].seconds);
  std::printf("%-40s %8s %12s %12s %10s %8s\n", "", "MB", "median MB/s", "best MB/s", "median ms",
              "x peer");
  for (const Task& task : tasks) {
    const double bytes = static_cast<double>(task.bytes);
    const double middle = median(task.seconds);
    const double best = *std::ranges::min_element(task.seconds);
    std::printf("%-40s %8.2f %12.1f %12.1f %10.1f %8.2f\n", task.name.c_str(), bytes / 1e6,
                bytes / middle / 1e6, bytes / best / 1e6, middle * 1e3, bytes / middle / peer);
  }

  // The command itself: start, memory, instructions.
  char folder[] = "/tmp/vyre-bench-XXXXXX";
  require(mkdtemp(folder) != nullptr, "no temporary folder");
  const auto write = [&](const std::string& name, const std::string& bytes) {
    const std::string path = std::string(folder) + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  };
  const std::string small =
      write("small.vyre", ordinary.substr(0, ordinary.find("program mix_rows_1 ")));
  std::vector<Task> starts = {
      {"vyre check, small file", 0, [&] { run_child({VYRE_COMMAND, "check", small}); }},
      {"/bin/true (peer)", 0, [&] { run_child({"/bin/true"}); }},
  };
  measure(starts, runs);
  std::printf("\n%-40s %12s %12s\n", "from process start", "median ms", "best ms");
  for (const Task& task : starts) {
    std::printf("%-40s %12.2f %12.2f\n", task.name.c_str(), median(task.seconds) * 1e3,
                *std::ranges::min_element(task.seconds) * 1e3);
  }

  const long empty = peak_kib(argv[0], {VYRE_COMMAND, "--version"});
  std::printf("\n%-40s %12s %14s\n", "peak memory of vyre check", "KiB above", "x source size");
  struct Input {
    const char* name;
    const std::string& text;
    const char* verb;
  };
  const Input inputs[] = {{"ordinary", ordinary, "check"},
                          {"statements", statements, "check"},
                          {"dense", dense, "check"},
                          {"wire", wire, "check"}};
  for (const Input& input : inputs) {
    const std::string path = write(input.name, input.text);
    const long peak = peak_kib(argv[0], {VYRE_COMMAND, input.verb, path}) - empty;
    std::printf("%-40s %12ld %14.1f\n", input.name, peak,
                static_cast<double>(peak) * 1024 / static_cast<double>(input.text.size()));
  }

  if (callgrind) {
    std::printf("\n%-40s %20s\n", "instructions (callgrind)", "per byte of input");
    const double idle = instructions({VYRE_COMMAND, "--version"}, folder);
    if (idle == 0) std::printf("valgrind is not here; install it for this figure\n");
    for (const Input& input : inputs) {
      const std::string path = write(input.name, input.text);
      const double count = instructions({VYRE_COMMAND, input.verb, path}, folder) - idle;
      if (idle != 0) {
        std::printf("%-40s %20.1f\n", input.name, count / static_cast<double>(input.text.size()));
      }
    }
  }
  const std::string remove = "rm -r '" + std::string(folder) + "'";
  return std::system(remove.c_str());
}
