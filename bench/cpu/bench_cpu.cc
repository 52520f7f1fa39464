// The CPU backend beside C++ by two compilers, OpenCL on the same cores (pocl) and Halide: in one
// process, in turns, on as many threads, with the bytes of all of them compared first. Then what
// bounds checks cost, against code that has none.
//
//   bench_cpu [--runs N] [--only NAME] [--all]
//
// Tables of programs are compared with the same from a buffer of the host.
//
// Figures are medians of N runs (11 by default). A ratio above 1 says that vyre is faster; judge by
// the ratios, on a shared machine times mean little. --all lists every peer instead of the best
// ones. C++ peers know the sizes at compile time, vyre's programs read them.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/cpu/checks.h"
#include "bench/cpu/halide.h"
#include "bench/cpu/pocl.h"
#include "bench/cpu/workloads.h"
#include "bench/vyre_side.h"
#include "vyre/backends/pool.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace bench {
namespace {

using vyre::Grid;
using Buffers = std::vector<std::vector<u32>>;

struct Workload {
  std::string name;  // of the program too
  const char* unit;
  double amount;  // of units
  double bytes;   // that go through memory; 0: that is not what limits it
  Grid grid;
  Buffers buffers;    // before a run; the last one is written
  Grid few;           // a grid of a few thousand invocations
  bool adds = false;  // to what the last buffer holds
  // Another program that does the same, with a table that this one has in a buffer before the last.
  std::string other = {};
  std::vector<u32> table = {};
};

std::vector<u32> random_words(std::size_t count, u32 mask = 0xffffffff) {
  static std::mt19937 generator(1);
  std::vector<u32> words(count);
  for (u32& word : words) word = static_cast<u32>(generator()) & mask;
  return words;
}

std::vector<u32> crc_tables() {
  std::vector<u32> tables(2048);
  for (u32 byte = 0; byte < 256; ++byte) {
    u32 state = byte;
    for (std::size_t behind = 0; behind < 8; ++behind) {
      for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1) * 0xedb88320u;
      tables[(7 - behind) * 256 + byte] = state;
    }
  }
  return tables;
}

// Of the program, as it declares it: a host's buffer has the same bytes.
std::vector<u32> table_of(const std::string& program) {
  const auto program_of = [](const vyre::Linked& linked) { return get(optimise(linked)); };
  for (const vyre::BufferDecl& buffer : program_of(Loaded(program).program).buffers) {
    if (buffer.access != vyre::BufferAccess::Constant) continue;
    const std::span<const std::byte> bytes = buffer.contents.bytes();
    std::vector<u32> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }
  return {};
}

// Pairs of texts of 20 to 63 letters of a small alphabet, one after the other: their bytes, and
// where each begins.
std::pair<std::vector<u32>, std::vector<u32>> texts() {
  std::vector<u32> bounds{0};
  for (const u32 word : random_words(2 * kPairs)) bounds.push_back(bounds.back() + 20 + word % 44);
  return {random_words(bounds.back() / 4 + 1, 0x03030303), bounds};
}

std::vector<u32> dfa_table() {
  std::vector<u32> table = random_words(16 * 256, 0xf);
  for (u32& state : table) state *= 256;
  return table;
}

// One after the other: all of them together take much memory.
std::vector<std::function<Workload()>> workloads() {
  const auto zeros = [](std::size_t count) { return std::vector<u32>(count); };
  constexpr std::size_t kBlocks = 256 * std::size_t{kScanBlocks};
  constexpr u32 kSide = kMandelbrotSide;
  constexpr std::size_t kElements = std::size_t{kMatmulSide} * kMatmulSide;
  constexpr std::size_t kCells = std::size_t{kLifeColumns} * kLifeRows;
  const auto stream = [=](const char* name, unsigned operands, u32 size) -> Workload {
    Workload all{
        name, "byte", kStreamBytes, (operands + 1.0) * kStreamBytes, {kStreamBytes / size / 64},
        {},   {64}};
    for (unsigned i = 0; i < operands; ++i) all.buffers.push_back(random_words(kStreamBytes / 4));
    all.buffers.push_back(zeros(kStreamBytes / 4));
    return all;
  };
  return {
      [=]() -> Workload {
        return {"xor",
                "word",
                kXorWords,
                12.0 * kXorWords,
                {kXorWords / 64},
                {random_words(kXorWords), random_words(kXorWords), zeros(kXorWords)},
                {64}};
      },
      [=]() -> Workload {
        return {"philox",
                "word",
                4.0 * kPhiloxCounters,
                0,
                {kPhiloxCounters / 64},
                {{1, 2}, zeros(4 * std::size_t{kPhiloxCounters})},
                {64}};
      },
      [=]() -> Workload {
        return {"sha256",
                "block",
                kShaBlocks,
                0,
                {kShaBlocks / 64},
                {random_words(16 * std::size_t{kShaBlocks}), zeros(8 * std::size_t{kShaBlocks})},
                {16}};
      },
      [=]() -> Workload {
        return {"mandelbrot",
                "pixel",
                static_cast<double>(kSide) * kSide,
                0,
                {kSide / 64, kSide},
                {{static_cast<u32>(-2 * 8192), static_cast<u32>(-3 * 4096), 24},
                 {kSide},
                 zeros(std::size_t{kSide} * kSide)},
                {kSide / 64, 1}};
      },
      [=]() -> Workload {
        return {"dfa",
                "byte",
                1024.0 * kDfaRecords,
                0,
                {kDfaRecords / 64},
                {random_words(256 * std::size_t{kDfaRecords}), dfa_table(), zeros(kDfaRecords)},
                {2}};
      },
      [=]() -> Workload {
        return {"histogram",
                "word",
                kHistogramWords,
                4.0 * kHistogramWords,
                {kHistogramWords / 256},
                {random_words(kHistogramWords), zeros(256)},
                {64},
                true};
      },
      [=]() -> Workload {
        return {"scan",        "word",        kBlocks,
                8.0 * kBlocks, {kScanBlocks}, {random_words(kBlocks), zeros(kBlocks)},
                {64}};
      },
      [=]() -> Workload {
        return {"matmul",
                "product",
                static_cast<double>(kElements) * kMatmulSide,
                0,
                {kMatmulSide / 16, kMatmulSide / 16},
                {random_words(kElements), random_words(kElements), {kMatmulSide}, zeros(kElements)},
                {1, 1}};
      },
      [=]() -> Workload {
        return {"life",
                "cell",
                kCells,
                8.0 * kCells,
                {kLifeColumns / 64, kLifeRows / 4},
                {random_words(kCells, 1), {kLifeColumns, kLifeRows}, zeros(kCells)},
                {kLifeColumns / 64, 8}};
      },
      [=]() -> Workload {
        return {"crc32",
                "byte",
                1024.0 * kCrcBlocks,
                0,
                {kCrcBlocks / 64},
                {random_words(256 * std::size_t{kCrcBlocks}), crc_tables(), zeros(kCrcBlocks)},
                {2}};
      },
      [=]() { return stream("copy_u8", 1, 1); },
      [=]() { return stream("add_u8", 2, 1); },
      [=]() { return stream("add_i8", 2, 1); },
      [=]() { return stream("add_u16", 2, 2); },
      [=]() -> Workload {
        return {"sbox",
                "lookup",
                16.0 * kSboxBytes,
                0,
                {kSboxBytes / 64},
                {random_words(kSboxBytes / 4), zeros(kSboxBytes / 4)},
                {64},
                false,
                "sbox_buffer",
                table_of("sbox")};
      },
      [=]() -> Workload {
        return {"crc_bytes",
                "byte",
                1024.0 * kCrcBlocks,
                0,
                {kCrcBlocks / 64},
                {random_words(256 * std::size_t{kCrcBlocks}), zeros(kCrcBlocks)},
                {2},
                false,
                "crc_bytes_buffer",
                table_of("crc_bytes")};
      },
      [=]() -> Workload {
        return {"sum",         "word",        kBlocks,
                4.0 * kBlocks, {kScanBlocks}, {random_words(kBlocks), zeros(kScanBlocks)},
                {64}};
      },
      [=]() -> Workload {
        return {"scan_add",    "word",        kBlocks,
                8.0 * kBlocks, {kScanBlocks}, {random_words(kBlocks), zeros(kBlocks)},
                {64}};
      },
      [=]() -> Workload {
        auto [text, bounds] = texts();
        return {"levenshtein",
                "pair",
                kPairs,
                0,
                {kPairs / 64},
                {std::move(text), std::move(bounds), zeros(kPairs)},
                {4}};
      },
      [=]() -> Workload {
        return {"radix_sort",   "key",
                256.0 * kTiles, 0,
                {kTiles},       {random_words(256 * std::size_t{kTiles})},
                {16},           true};
      },
  };
}

// Memory as vyre's own: whole lines, and large pages where the system has them.
class Memory {
 public:
  explicit Memory(const std::vector<u32>& words) : size_(words.size()) {
    const std::size_t bytes = (size_ * 4 + kPage - 1) / kPage * kPage;
    words_ = static_cast<u32*>(std::aligned_alloc(kPage, bytes));
    madvise(words_, bytes, MADV_HUGEPAGE);
    fill(words);
  }
  ~Memory() { std::free(words_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  u32* words() { return words_; }
  std::vector<u32> copy() const { return {words_, words_ + size_}; }
  void fill(const std::vector<u32>& words) { std::memcpy(words_, words.data(), size_ * 4); }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  u32* words_;
  std::size_t size_;
};

double timed(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Somebody who does the work.
struct Runner {
  std::string kind;  // vyre, clang, gcc, pocl, halide
  std::string name;
  std::function<double()> run;  // the seconds it took
  std::function<void()> reset;  // what it writes
  std::function<std::vector<u32>()> output;
  std::vector<double> seconds = {};
};

std::vector<vyre::DeviceBuffer> on_device(vyre::Device& device, const Buffers& all) {
  std::vector<vyre::DeviceBuffer> buffers;
  for (const auto& words : all) {
    buffers.push_back(get(make_buffer(device, std::as_bytes(std::span(words)))));
  }
  return buffers;
}

std::vector<u32> words_of(const vyre::DeviceBuffer& buffer) {
  const std::vector<std::byte> bytes = get(read_buffer(buffer));
  std::vector<u32> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

struct Best {  // ratios: their time by vyre's; 0 where there is nothing to compare with
  double cpp = 0;
  double pocl = 0;
  double table = 0;  // in a buffer of the host
};

Best compare(vyre::Device& device, Pocl* pocl, const Workload& workload, int runs, bool all) {
  const std::vector<u32>& before = workload.buffers.back();
  const Loaded loaded(workload.name);
  Resident own(device, loaded, workload.grid, on_device(device, workload.buffers));
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<u32*> pointers;
  for (const auto& words : workload.buffers) {
    memory.push_back(std::make_unique<Memory>(words));
    pointers.push_back(memory.back()->words());
  }
  std::vector<Runner> runners;
  runners.push_back({"vyre", "", [&] { return own.run(); },
                     [&] { get(write_buffer(own.last(), std::as_bytes(std::span(before)))); },
                     [&] { return words_of(own.last()); }});
  const auto add = [&](const char* kind, const char* name, std::function<void()> work) {
    runners.push_back({kind, name, [work] { return timed(work); },
                       [&] { memory.back()->fill(before); },
                       [&] { return memory.back()->copy(); }});
  };
  for (const bool is_clang : {true, false}) {
    for (const Peer& peer : is_clang ? clang_peers() : gcc_peers()) {
      if (peer.workload != workload.name) continue;
      add(is_clang ? "clang" : "gcc", peer.name, [&pointers, peer] {
        vyre::Job job;
        job.count = peer.pieces;
        job.threads = vyre::worker_count();
        job.work = [&](std::uint64_t begin, std::uint64_t end) {
          peer.run(pointers.data(), static_cast<u32>(begin), static_cast<u32>(end));
        };
        job.stopped = [] { return false; };
        run_job(job);
      });
    }
  }
  std::unique_ptr<Loaded> other;
  std::unique_ptr<Resident> from_buffer;
  if (!workload.other.empty()) {
    Buffers buffers = workload.buffers;
    buffers.insert(buffers.end() - 1, workload.table);
    other = std::make_unique<Loaded>(workload.other);
    from_buffer =
        std::make_unique<Resident>(device, *other, workload.grid, on_device(device, buffers));
    runners.push_back({"buffer", "", [&] { return from_buffer->run(); }, [] {},
                       [&] { return words_of(from_buffer->last()); }});
  }
  if (workload.name == "xor") add("halide", "", [&] { halide_xor(pointers.data()); });
  if (workload.name == "life") add("halide", "", [&] { halide_life(pointers.data()); });
  std::vector<std::unique_ptr<PoclRun>> kernels;
  for (const PoclKernel& kernel : Pocl::kernels()) {
    if (pocl == nullptr || kernel.workload != workload.name) continue;
    std::string error;
    kernels.push_back(pocl->prepare(kernel, workload.buffers, error));
    PoclRun* run = kernels.back().get();
    if (run == nullptr) fail(error);
    runners.push_back({"pocl", kernel.name, [run] { return run->run(); },
                       [run, &before] { run->reset(before); }, [run] { return run->output(); }});
  }

  std::vector<u32> expected;
  for (const Runner& runner : runners) {
    runner.reset();
    runner.run();
    if (runner.kind == "vyre") {
      expected = runner.output();
    } else if (runner.output() != expected) {
      fail(workload.name + ": " + runner.kind + " " + runner.name + " writes other bytes");
    }
  }
  for (int i = 0; i < runs; ++i) {
    for (Runner& runner : runners) {
      // The first of two finds the caches and the threads as somebody else left them.
      for (const bool is_timed : {false, true}) {
        if (workload.adds) runner.reset();
        const double took = runner.run();
        if (is_timed) runner.seconds.push_back(took);
      }
    }
  }

  const double took = median(runners[0].seconds);
  const auto best = [&](std::string_view kind) {
    double least = 0;
    for (const Runner& runner : runners) {
      if (runner.kind != kind) continue;
      const double its = median(runner.seconds);
      if (least == 0 || its < least) least = its;
    }
    return least / took;
  };
  const double clang = best("clang");
  const double gcc = best("gcc");
  const double opencl = best("pocl");
  const double halide = best("halide");
  std::printf("%-11s %9.4f ns/%-8s", workload.name.c_str(), took / workload.amount * 1e9,
              workload.unit);
  workload.bytes > 0 ? std::printf("%6.1f GB/s", workload.bytes / took * 1e-9)
                     : std::printf("%11s", "");
  const double table = best("buffer");
  for (const double ratio : {clang, gcc, opencl, halide, table}) {
    ratio > 0 ? std::printf("  %6.2f", ratio) : std::printf("       -");
  }
  std::printf("\n");
  for (const Runner& runner : runners) {
    if (!all || runner.kind == "vyre") continue;
    const double its = median(runner.seconds);
    std::printf("  %-7s %-14s %9.4f  %6.2f\n", runner.kind.c_str(), runner.name.c_str(),
                its / workload.amount * 1e9, its / took);
  }
  std::fflush(stdout);
  return {std::min(clang, gcc), opencl, table};
}

int run(int runs, const std::string& only, bool all) {
  const std::unique_ptr<vyre::Device> device = get(open_device(*vyre::find_backend("cpu")));
  std::string error;
  const std::unique_ptr<Pocl> pocl = Pocl::open(error);
  std::printf("cpu: %s; pocl: %s; medians of %d runs\n\n", device->info().name.c_str(),
              pocl != nullptr ? pocl->device().c_str() : error.c_str(), runs);
  std::printf("%-11s %21s %11s  their time by vyre's: the best of\n", "", "vyre", "");
  std::printf("%-11s %21s %11s  %6s  %6s  %6s  %6s  %6s\n", "", "", "", "clang", "g++", "pocl",
              "Halide", "buffer");
  std::vector<Best> ratios;
  std::vector<std::string> costs;
  for (const auto& make : workloads()) {
    const Workload workload = make();
    if (!only.empty() && only != workload.name) continue;
    ratios.push_back(compare(*device, pocl.get(), workload, runs, all));
    const Loaded loaded(workload.name);
    const vyre::Linked& linked = loaded.program;
    const Checks checks = count_checks(linked, workload.buffers, workload.grid, workload.few, runs);
    char line[128];
    std::snprintf(line, sizeof line, "%-11s %10.0f %10.0f  %+6.2f %%  %6.2f\n",
                  workload.name.c_str(), checks.with, checks.without,
                  (checks.with / checks.without - 1) * 100, checks.time);
    costs.emplace_back(checks.error.empty() ? line : workload.name + ": " + checks.error + "\n");
  }
  const auto summarise = [&](const char* what, double Best::* of) {
    double sum = 0;
    double least = INFINITY;
    int count = 0;
    for (const Best& each : ratios) {
      if (each.*of == 0) continue;
      ++count;
      sum += std::log(each.*of);
      least = std::min(least, each.*of);
    }
    if (count > 0)
      std::printf("%s: geometric mean %.2f, least %.2f\n", what, std::exp(sum / count), least);
  };
  std::printf("\n");
  summarise("better C++", &Best::cpp);
  summarise("pocl", &Best::pocl);
  summarise("tables, beside the same in a host's buffer", &Best::table);
  std::printf(
      "\nbounds checks: instructions that a few workgroups run with and without them, and\n"
      "the time without them by that with them, for all\n");
  for (const std::string& line : costs) std::printf("%s", line.c_str());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  int runs = 11;
  std::string only;
  bool all = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--runs" && i + 1 < argc) runs = std::max(1, std::atoi(argv[++i]));
    if (option == "--only" && i + 1 < argc) only = argv[++i];
    if (option == "--all") all = true;
  }
  return bench::run(runs, only, all);
}
