// How compile time grows with the length of the text: families of programs (growth_families.h) that
// repeat one thing more and more often, through each stage of compiling.
//
//   bench_growth [--family NAME]… [--stage NAME]… [--each] [--quick]
//
//   --family NAME  only families whose name contains NAME
//   --stage NAME   only this stage
//   --each         also each operation of the table with each type, about 170 families more
//   --quick        fewer and shorter texts; what it prints is less certain
//
// Stages, each timed alone:
//   check   text to validated programs
//   opt     calls expanded and programs optimised
//   ptx     optimised programs to PTX
//   avx512  optimised programs to machine code by LLVM, without the cache; also avx2
// and `whole`: text to machine code for avx512, or for avx2 where that takes longer.
//
// A family's text has about 10, 20, 40, 80 and 160 KB, for machine code 20, 80 and 320 KB. For
// each length the CPU time of the process is taken a few times, and the least counts: other
// processes make it longer, nothing makes it shorter. The exponent is the slope of log(time) over
// log(bytes) that fits the last three lengths best: 1 is linear, 2 quadratic. The time for a single
// repetition is subtracted first, as it is the same for all lengths. For machine code the last two
// lengths count, and nothing is subtracted: a short program is compiled as one function, with more
// effort, and a long one is not. The time for 20 KB comes after the exponent. `!` marks exponents
// above 1.2, and `whole` above 2 s. A dash is what there is nothing to say about: a stage that was
// not asked for, or that has an error in its programs.
//
// Each family and stage runs in a process of its own, which ends once a text has taken longer than
// kLongest; one that does not come back is killed after kKilled seconds, which is shown as `>`
// that. `failed` is a text that the stage does not take though it takes shorter ones.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench/growth_families.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace {

using namespace vyre;

constexpr double kLongest = 4;
constexpr unsigned kKilled = 60;
constexpr int kRounds = 15;
constexpr double kEnough = 0.7;  // seconds, after which no other round begins
constexpr double kMostExponent = 1.2;
constexpr double kMostSeconds = 2;
constexpr std::size_t kShown = 20'000;  // bytes for which the time is printed

constexpr const char* kStages[] = {"check", "opt", "ptx", "avx512", "avx2"};
constexpr std::size_t kStageCount = std::size(kStages);
bool is_machine_code(std::size_t stage) { return stage >= 3; }

// On a CPU, by all threads of this process: what others do does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Point {
  std::size_t bytes = 0;
  double seconds = 0;  // of the stage
  double whole = 0;    // with all that comes before
};

// One stage for one text, once. Negative seconds when it fails.
Point run_stage(const std::string& text, std::size_t stage) {
  Point point{text.size()};
  const double begin = cpu_seconds();
  const Result<Loaded> loaded = load_module({"bench.vyre", text});
  point.whole = cpu_seconds() - begin;
  if (stage == 0) {
    point.seconds = point.whole;
    return point;
  }
  point.seconds = -1;
  Registry registry;
  if (!loaded || !registry.add(loaded->module)) return point;
  const std::vector<SourceLines> source = source_lines(*loaded);
  double seconds = 0;
  for (std::size_t i = 0; i < loaded->module.items.size(); ++i) {
    const Program* program = std::get_if<Program>(&loaded->module.items[i]);
    if (program == nullptr) continue;
    const double start = cpu_seconds();
    const Result<Linked> linked = link(*program, registry);
    if (!linked) return point;
    double middle = cpu_seconds();
    if (stage == 1) {
      if (!optimise(*linked)) return point;
    } else if (stage == 2) {
      const Result<Program> optimised = optimise(*linked);
      if (!optimised) return point;
      middle = cpu_seconds();
      Linked with_lines = *linked;
      with_lines.set_source(source[i]);
      if (!emit_ptx(lower(*optimised, ptx_target(), &with_lines))) return point;
    } else {
      std::string reason;
      const llvm::Api* api = llvm::load_llvm(reason);
      const std::optional<CpuTarget> target = find_cpu_target(kStages[stage]);
      if (api == nullptr || !target) return point;
      Result<Program> optimised = optimise(*linked);
      if (!optimised) return point;
      const Lowered lowered = lower(*optimised, lowering_for(*target));
      middle = cpu_seconds();
      if (!emit_cpu(*api, lowered)) return point;
    }
    const double end = cpu_seconds();
    seconds += end - middle;
    point.whole += end - start;
  }
  point.seconds = seconds;
  return point;
}

// The shortest text of a family with so many bytes.
std::string text_of(const GrowthFamily& family, std::size_t bytes) {
  int low = 0;
  int high = 1;
  while (family.text(high).size() < bytes) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (family.text(middle).size() < bytes ? low : high) = middle;
  }
  return family.text(high);
}

std::vector<std::size_t> lengths(std::size_t stage, bool is_quick) {
  if (is_machine_code(stage)) {
    return is_quick ? std::vector<std::size_t>{20'000, 80'000}
                    : std::vector<std::size_t>{20'000, 80'000, 320'000};
  }
  std::vector<std::size_t> all{10'000, 20'000, 40'000, 80'000, 160'000};
  if (is_quick) all.resize(3);
  return all;
}

// What is known of a family and stage: the time for one repetition first.
struct Growth {
  std::vector<Point> points;
  std::string trouble;  // why there are no more
};

Growth measure_apart(const GrowthFamily& family, std::size_t stage, bool is_quick) {
  int ends[2];
  Growth growth;
  if (pipe(ends) != 0) return growth;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // Not a limit on CPU time: with one, Linux counts that in steps of 4 ms.
    alarm(kKilled);
    // Memory is kept, as asking the system for it anew each time takes long where there is much.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const auto tell = [&](const Point& point) {
      return write(ends[1], &point, sizeof point) == ssize_t{sizeof point};
    };
    std::vector<std::string> texts{family.text(1)};
    for (std::size_t bytes : lengths(stage, is_quick)) texts.push_back(text_of(family, bytes));
    // One length after the other, again and again: the machine may be slower for a while.
    const double begin = cpu_seconds();
    for (int round = 0; round < kRounds && (round == 0 || cpu_seconds() - begin < kEnough);
         ++round) {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const Point point = run_stage(texts[i], stage);
        if (!tell(point)) _exit(1);
        if (point.seconds < 0 || point.seconds > kLongest) texts.resize(i + 1);
      }
    }
    _exit(0);
  }
  close(ends[1]);
  Point point;
  while (read(ends[0], &point, sizeof point) == ssize_t{sizeof point}) {
    if (point.seconds < 0) {
      growth.trouble = "failed";
      continue;
    }
    const auto known = std::ranges::find(growth.points, point.bytes, &Point::bytes);
    if (known == growth.points.end()) {
      growth.points.push_back(point);
    } else {
      known->seconds = std::min(known->seconds, point.seconds);
      known->whole = std::min(known->whole, point.whole);
    }
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    growth.trouble = signal == SIGALRM ? ">" + std::to_string(kKilled) + " s"
                                       : "signal " + std::to_string(signal);
  } else if (WEXITSTATUS(status) != 0) {
    growth.trouble = "ended";
  }
  return growth;
}

// Nothing where there are not two lengths; 0 where the longest text takes too little to
// tell.
std::optional<double> exponent(const std::vector<Point>& points, std::size_t stage) {
  if (points.size() < 3) return {};
  if (points.back().seconds - points[0].seconds < 5e-4) return 0;
  const std::size_t count =
      std::min<std::size_t>(is_machine_code(stage) ? 2 : 3, points.size() - 1);
  // What does not grow, where that is the same for all lengths.
  const Point same = is_machine_code(stage) ? Point{} : points[0];
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = points.size() - count; i < points.size(); ++i) {
    const double log_bytes =
        std::log(static_cast<double>(points[i].bytes - std::min(points[i].bytes - 1, same.bytes)));
    const double log_time = std::log(std::max(points[i].seconds - same.seconds, 1e-7));
    x += log_bytes;
    y += log_time;
    xx += log_bytes * log_bytes;
    xy += log_bytes * log_time;
  }
  const auto n = static_cast<double>(count);
  return (n * xy - x * y) / (n * xx - x * x);
}

const Point* shown_point(const Growth& growth) {
  const auto found =
      std::ranges::find_if(growth.points, [](const Point& point) { return point.bytes >= kShown; });
  return found == growth.points.end() || found->bytes > 2 * kShown ? nullptr : &*found;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 1 ? "%.1f ms" : "%.2f s",
                seconds < 1 ? seconds * 1e3 : seconds);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_quick = false;
  std::vector<GrowthFamily> families = growth_families();
  std::vector<std::string> names;
  std::vector<std::string> stages;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      is_quick = true;
    } else if (argument == "--each") {
      for (GrowthFamily& family : operation_families()) families.push_back(std::move(family));
    } else if (argument == "--family" && i + 1 < argc) {
      names.emplace_back(argv[++i]);
    } else if (argument == "--stage" && i + 1 < argc &&
               std::ranges::find(kStages, std::string_view(argv[i + 1])) != std::end(kStages)) {
      stages.emplace_back(argv[++i]);
    } else {
      std::fprintf(stderr,
                   "usage: bench_growth [--family NAME]... [--stage check|opt|ptx|avx512|avx2]... "
                   "[--each] [--quick]\n");
      return argument == "--help" ? 0 : 2;
    }
  }
  const auto is_wanted = [](const std::vector<std::string>& wanted, const std::string& name) {
    return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& part) {
             return name.find(part) != std::string::npos;
           });
  };
  // What is made once in a process is made here, before the measurements start.
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    (void)run_stage(families[0].text(1), stage);
  }

  std::printf("%-26s", "exponent, time for 20 KB");
  for (const char* stage : kStages) std::printf(" %15s", stage);
  std::printf(" %11s\n", "whole");
  std::size_t count = 0;
  std::size_t beyond[kStageCount]{};
  std::size_t slow = 0;
  std::size_t failures = 0;
  double slowest = 0;
  std::string slowest_name;
  for (const GrowthFamily& family : families) {
    if (!is_wanted(names, family.name)) continue;
    ++count;
    std::string row;
    double whole = 0;
    bool is_whole_known = true;
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
      std::string cell = "-";
      if (is_wanted(stages, kStages[stage])) {
        if (isatty(STDERR_FILENO) != 0) {
          std::fprintf(stderr, "\r\033[K%s: %s", family.name.c_str(), kStages[stage]);
        }
        const Growth growth = measure_apart(family, stage, is_quick);
        const Point* shown = shown_point(growth);
        char text[64] = "-";
        if (const std::optional<double> slope = exponent(growth.points, stage)) {
          const bool is_beyond = *slope > kMostExponent;
          if (is_beyond) ++beyond[stage];
          std::snprintf(text, sizeof text, "%.2f%s", *slope, is_beyond ? "!" : " ");
        }
        cell = text;
        if (shown != nullptr) cell += " " + seconds_text(shown->seconds);
        if (!growth.points.empty() && !growth.trouble.empty()) {
          cell += " " + growth.trouble;
          ++failures;
        }
        if (is_machine_code(stage)) {
          if (shown != nullptr) {
            whole = std::max(whole, shown->whole);
          } else if (growth.points.size() > 1 || growth.trouble.starts_with('>')) {
            is_whole_known = false;
            whole = std::max(whole, kLongest);
          }
        }
      }
      row += std::string(cell.size() < 16 ? 16 - cell.size() : 1, ' ') + cell;
    }
    std::string cell = whole == 0 ? "-" : (is_whole_known ? "" : ">") + seconds_text(whole);
    if (whole > kMostSeconds) {
      ++slow;
      cell += "!";
    } else {
      cell += " ";
    }
    if (whole > slowest) {
      slowest = whole;
      slowest_name = family.name;
    }
    if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K");
    std::printf("%-26s%s%12s\n", family.name.c_str(), row.c_str(), cell.c_str());
    std::fflush(stdout);
  }
  if (count == 0) {
    std::fprintf(stderr, "no family has such a name; without --family all are shown\n");
    return 2;
  }
  std::printf("%zu families; exponents above %.1f:", count, kMostExponent);
  for (std::size_t stage = 0; stage < kStageCount; ++stage) {
    std::printf(" %s %zu%s", kStages[stage], beyond[stage], stage + 1 < kStageCount ? "," : "");
  }
  std::printf("; failed or killed: %zu; 20 KB to machine code in more than %.0f s: %zu", failures,
              kMostSeconds, slow);
  if (slowest > 0) {
    std::printf(" (the slowest: %s, %s)", slowest_name.c_str(), seconds_text(slowest).c_str());
  }
  std::printf("\n");
  return 0;
}
