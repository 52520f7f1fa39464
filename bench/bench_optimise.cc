// Our own time from validated text to what a backend takes: linking, the optimiser, and the bounds
// of the result. Parsing and validating the same text stands beside it, and nothing of a backend is
// in it.
//
//   bench_optimise [--runs N] [--root FOLDER] [--callgrind]
//
// SHA-256, all of it unrolled, is timed alone. Small programs are the examples, array
// programs of all library ops, and 1000 generated ones. Large ones are made of ordinary statements,
// up to the limit of a program. Each time is the median of N runs (9 by default), after one that
// does not count. --callgrind also counts instructions with valgrind, which no load disturbs.
//
// Limits, as the project sets them: 5 ms for SHA-256, 1 ms for 95 % of the small programs, 1 us per
// resulting expression of a large one.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/conform/generator.h"
#include "vyre/passes/lowered.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

// What is measured, under a name that callgrind finds.
extern "C" [[gnu::noinline]] std::size_t bench_optimise_counted(const vyre::Linked& linked) {
  vyre::Result<vyre::Program> program = vyre::optimise(linked);
  if (!program.ok()) return 0;
  const vyre::Lowered variant = lower(*program, {});
  return variant.program.body.exprs.size();
}

namespace {

using namespace vyre;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The times of one program.
struct Times {
  double load = 0;  // parsing and validating, of the whole text
  double link = 0;
  double optimise = 0;
  double bounds = 0;
  double ours = 0;
  std::size_t expressions = 0;
  std::size_t statements = 0;
};

std::vector<Times> measure(const std::string& text, int runs) {
  std::vector<std::vector<Times>> programs;
  for (int run = -1; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    const Result<Loaded> loaded = load_module({"bench", text});
    const double load_time = milliseconds_since(begin);
    if (!loaded.ok()) return {};
    Registry registry;
    (void)registry.add(loaded->module);
    std::size_t k = 0;
    for (const Item& item : loaded->module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      Times times;
      times.load = load_time;
      const Clock::time_point start = Clock::now();
      const Result<Linked> linked = link(*program, registry);
      times.link = milliseconds_since(start);
      if (!linked.ok()) continue;
      const Clock::time_point linked_at = Clock::now();
      const Result<Program> result = optimise(*linked);
      times.optimise = milliseconds_since(linked_at);
      if (!result.ok()) continue;
      const Clock::time_point optimised_at = Clock::now();
      const Lowered variant = lower(*result, {});
      times.bounds = milliseconds_since(optimised_at);
      times.ours = milliseconds_since(start);
      times.expressions = result->body.exprs.size();
      times.statements = result->body.stmts.size();
      if (k == programs.size()) programs.emplace_back();
      if (run >= 0) programs[k].push_back(times);
      ++k;
    }
  }
  std::vector<Times> all;
  for (const std::vector<Times>& each : programs) {
    const auto median = [&](double Times::* field) {
      std::vector<double> values;
      for (const Times& times : each) values.push_back(times.*field);
      return percentile(std::move(values), 0.5);
    };
    Times times = each[0];
    for (double Times::* field :
         {&Times::load, &Times::link, &Times::optimise, &Times::bounds, &Times::ours}) {
      times.*field = median(field);
    }
    all.push_back(times);
  }
  return all;
}

// --- Programs ------------------------------------------------------------------------------------

std::vector<std::string> small_sources(const std::filesystem::path& root) {
  std::vector<std::string> texts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root / "examples", error)) {
    if (entry.path().extension() == ".vyre") texts.push_back(text_of(entry.path()));
  }
  std::ranges::sort(texts);
  const Registry registry;
  for (const Op* op : registry.all()) {
    if (const Result<Program> program = elementwise(*op)) texts.push_back(print(*program));
  }
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    GeneratorOptions options;
    options.statements = 8 + static_cast<std::uint32_t>(seed % 40);
    texts.push_back(print(generate_case(seed, options).module));
  }
  return texts;
}

// With its rounds written out, and with loops that `unroll` writes out.
std::vector<std::string> sha256_sources(const std::filesystem::path& root) {
  return {text_of(root / "bench/programs/sha256.vyre"), text_of(root / "examples/sha256.vyre")};
}

std::string large_source(int statements) {
  std::string out =
      "program large workgroup(64) {\n  read words: u32[]\n  read_write out: u32[]\n"
      "  let i = invocation_id.x\n  if i >= len(out) {\n    return\n  }\n  let x = words[i]\n";
  for (int k = 0; k < statements; ++k) {
    const std::string n = std::to_string(k);
    switch (k % 5) {
      case 0: out += "  let v" + n + " = x * " + n + " + words[i + " + n + "]\n"; break;
      case 1: out += "  x = x ^ v" + std::to_string(k - 1) + " >> 7\n"; break;
      case 2: out += "  if x < " + n + " {\n    x = x + " + n + "\n  }\n"; break;
      case 3: out += "  out[i * 7 + " + n + "] = x % " + std::to_string(k % 97 + 3) + "\n"; break;
      default: out += "  x = rotl(x, 5) + out[x & 1023]\n"; break;
    }
  }
  return out + "  out[i] = x\n}\n";
}

// --- Counting instructions -----------------------------------------------------------------------

// Runs each program once; what happens the first time in a process comes before, uncounted.
void run_once(const std::vector<std::string>& texts) {
  bool warm = false;
  for (const std::string& text : texts) {
    const Result<Loaded> loaded = load_module({"bench", text});
    if (!loaded.ok()) continue;
    Registry registry;
    (void)registry.add(loaded->module);
    for (const Item& item : loaded->module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      const Result<Linked> linked = link(*program, registry);
      if (!linked.ok()) continue;
      if (!std::exchange(warm, true)) (void)optimise(*linked);
      bench_optimise_counted(*linked);
    }
  }
}

// Of a run of this command with --once, in the function that is counted; 0 without valgrind.
double instructions(const std::string& what, const std::string& root) {
  char log[] = "/tmp/bench_optimise.XXXXXX";
  const int file = mkstemp(log);
  if (file < 0) return 0;
  close(file);
  std::string command =
      "valgrind --tool=callgrind --callgrind-out-file=/dev/null"
      " --toggle-collect=bench_optimise_counted --log-file=" +
      std::string(log);
  command += " '" + std::filesystem::read_symlink("/proc/self/exe").string() + "'";
  command += " --root '" + root + "' --once " + what + " > /dev/null 2>&1";
  double count = 0;
  if (std::system(command.c_str()) == 0) {
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t at = line.find("Collected :");
      if (at != std::string::npos) count = std::stod(line.substr(at + 11));
    }
  }
  std::filesystem::remove(log);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 9;
  std::string root = ".";
  std::string_view once;
  bool callgrind = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--callgrind") {
      callgrind = true;
    } else if (argument == "--runs" && has_value) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else if (argument == "--root" && has_value) {
      root = argv[++i];
    } else if (argument == "--once" && has_value) {  // what --callgrind runs
      once = argv[++i];
    } else if (argument != "--quick") {  // which `./dev bench` gives to all
      std::printf("usage: bench_optimise [--runs N] [--root FOLDER] [--callgrind]\n");
      return argument == "--help" ? 0 : 2;
    }
  }
  if (!once.empty()) {
    run_once(once == "sha256" ? sha256_sources(root) : small_sources(root));
    return 0;
  }

  std::printf("SHA-256, with its rounds written out and with loops\n");
  for (const std::string& text : sha256_sources(root)) {
    const std::vector<Times> all = measure(text, runs);
    if (all.empty()) {
      std::printf("no SHA-256 in %s; --root names the folder of the sources\n", root.c_str());
      return 1;
    }
    std::printf(
        "  validated to lowered %7.3f ms: link %.3f, optimise %.3f, bounds %.3f; text to validated"
        " %.3f ms; %zu expressions\n",
        all[0].ours, all[0].link, all[0].optimise, all[0].bounds, all[0].load, all[0].expressions);
  }

  const std::vector<std::string> texts = small_sources(root);
  std::vector<Times> all;
  for (const std::string& text : texts) {
    for (const Times& times : measure(text, runs)) all.push_back(times);
  }
  std::printf("\n%zu small programs: examples, library ops, 1000 generated\n", all.size());
  const auto row = [&](const char* name, double Times::* field) {
    std::vector<double> values;
    for (const Times& times : all) values.push_back(times.*field);
    std::printf("  %-28s median %7.3f ms   p95 %7.3f ms   most %7.3f ms\n", name,
                percentile(values, 0.5), percentile(values, 0.95), percentile(values, 1));
  };
  row("text to validated", &Times::load);
  row("link", &Times::link);
  row("optimise", &Times::optimise);
  row("bounds", &Times::bounds);
  row("validated to lowered", &Times::ours);

  std::printf("\nlarge programs\n");
  for (int statements : {1'000, 10'000, 80'000}) {
    for (const Times& times : measure(large_source(statements), std::min(runs, 5))) {
      std::printf(
          "  %6zu statements, %7zu expressions: optimise %8.2f ms, %5.0f ns per expression;"
          " text to validated %8.2f ms\n",
          times.statements, times.expressions, times.optimise,
          times.optimise * 1e6 / static_cast<double>(times.expressions), times.load);
    }
  }

  if (callgrind) {
    std::printf("\ninstructions of optimise and bounds (callgrind)\n");
    for (const std::string what : {"sha256", "small"}) {
      const double count = instructions(what, root);
      if (count == 0) {
        std::printf("  valgrind is not here; install it for this figure\n");
        break;
      }
      std::printf("  %-28s %9.1f million\n", what.c_str(), count / 1e6);
    }
  }
  return 0;
}
