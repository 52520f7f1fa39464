// Speed of the optimiser, beside what comes before it: parsing and validating the same text in the
// same process, interleaved.
//
//   bench_optimise [--runs N] [--examples FOLDER]
//
// Small programs are the examples and generated ones whose result has at most 1000 expressions:
// medians over programs, each the median of N runs (9 by default). Large ones are made of ordinary
// statements, up to the limit of a program. Limits, as the project sets them: 1 ms for a small
// program (median), 1 ms from text to optimised for 95 % of them, 1 us per resulting expression of
// a large one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "vyre/conform/generator.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/specialise.h"
#include "vyre/vyre.h"

namespace {

using namespace vyre;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}
double median(const std::vector<double>& values) { return percentile(values, 0.5); }

// The times of the parts for one program of a text, and the size of the result.
struct Times {
  double load = 0;
  double optimise = 0;
  double bounds = 0;
  std::size_t expressions = 0;
  std::size_t statements = 0;
};

std::vector<Times> measure(const std::string& text, int runs) {
  struct Runs {
    std::vector<double> load;
    std::vector<double> optimise;
    std::vector<double> bounds;
    Times times;
  };
  std::vector<Runs> programs;
  for (int run = 0; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    const Result<Loaded> loaded = load({"bench", text});
    const double load_time = seconds_since(begin);
    if (!loaded.ok()) return {};
    Registry registry;
    (void)registry.add(loaded->module);
    std::size_t k = 0;
    for (const Item& item : loaded->module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      const Result<Linked> linked = link(*program, registry);
      const Clock::time_point start = Clock::now();
      const Result<Program> result = optimise(*linked);
      const double optimise_time = seconds_since(start);
      if (!result.ok()) continue;
      const Clock::time_point middle = Clock::now();
      const Variant variant = general_variant(*result);
      const double bounds_time = seconds_since(middle);
      if (k == programs.size()) programs.emplace_back();
      Runs& own = programs[k++];
      own.load.push_back(load_time);
      own.optimise.push_back(optimise_time);
      own.bounds.push_back(bounds_time);
      own.times.expressions = result->body.exprs.size();
      own.times.statements = result->body.stmts.size();
    }
  }
  std::vector<Times> all;
  for (Runs& each : programs) {
    each.times.load = median(each.load);
    each.times.optimise = median(each.optimise);
    each.times.bounds = median(each.bounds);
    all.push_back(each.times);
  }
  return all;
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

}  // namespace

int main(int argc, char** argv) {
  int runs = 9;
  std::string folder = "examples";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--runs") == 0) runs = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--examples") == 0) folder = argv[i + 1];
  }

  std::vector<std::string> texts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".vyre") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    texts.push_back(text.str());
  }
  const std::size_t examples = texts.size();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    GeneratorOptions options;
    options.statements = 8 + static_cast<std::uint32_t>(seed % 40);
    texts.push_back(print(generate_case(seed, options).module));
  }
  std::vector<double> loads;
  std::vector<double> optimises;
  std::vector<double> bounds;
  std::vector<double> totals;
  std::vector<double> ratios;
  std::size_t beyond = 0;
  for (const std::string& text : texts) {
    for (const Times& times : measure(text, runs)) {
      if (times.expressions > 1000) {
        ++beyond;
        continue;
      }
      loads.push_back(times.load * 1e3);
      optimises.push_back(times.optimise * 1e3);
      bounds.push_back(times.bounds * 1e3);
      totals.push_back((times.load + times.optimise) * 1e3);
      ratios.push_back(times.optimise / times.load);
    }
  }
  std::printf(
      "%zu programs of at most 1000 expressions (%zu files of examples, 300 generated;"
      " %zu programs are larger)\n",
      totals.size(), examples, beyond);
  const auto row = [](const char* name, const std::vector<double>& values) {
    std::printf("  %-28s median %7.3f ms   p95 %7.3f ms\n", name, median(values),
                percentile(values, 0.95));
  };
  row("text to validated", loads);
  row("optimise", optimises);
  row("bounds of the result", bounds);
  row("text to optimised", totals);
  std::printf("  %-28s median %7.2f\n", "optimise / text to validated", median(ratios));

  std::printf("\nlarge programs\n");
  for (int statements : {1'000, 10'000, 80'000}) {
    const std::vector<Times> all = measure(large_source(statements), std::min(runs, 5));
    if (all.empty()) continue;
    const Times& times = all[0];
    std::printf(
        "  %6zu statements, %7zu expressions: optimise %8.2f ms, %5.0f ns per expression;"
        " text to validated %8.2f ms\n",
        times.statements, times.expressions, times.optimise * 1e3,
        times.optimise * 1e9 / static_cast<double>(times.expressions), times.load * 1e3);
  }
  return 0;
}
