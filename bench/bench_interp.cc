// Speed of the interpreter on one core, beside the same computation written in C++ and run in the
// same process, interleaved; how much the race detector slows it down; what a second core gives.
//
//   bench_interp [--runs N]
//
// An evaluation is one expression computed once; literals do not count. Figures are medians of N
// runs (11 by default); on a busy machine judge by the ratios.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "vyre/interp/interp.h"
#include "vyre/interp/race.h"
#include "vyre/interp/script.h"
#include "vyre/vyre.h"

namespace {

using vyre::Grid;
using u32 = std::uint32_t;

struct Kernel {
  std::string name;
  std::string source;
  Grid grid;
  std::vector<std::vector<u32>> buffers;  // one for each buffer, workgroup memory included
  std::function<void(std::vector<std::vector<u32>>&)> peer;
};

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<u32> iota(std::size_t count) {
  std::vector<u32> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<u32>(i) * 2654435761u;
  return values;
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  all.push_back({"arithmetic",
                 R"(
program arithmetic workgroup(64) {
  read_write out: u32[]

  let i = invocation_id.x
  let a = i * 747796405 + 1
  for round in 0..256 {
    a = a ^ a << 13
    a = a ^ a >> 17
    a = (a ^ a << 5) + round
  }
  out[i] = a
}
)",
                 {64},
                 {std::vector<u32>(4096)},
                 [](auto& buffers) {
                   for (u32 i = 0; i < 4096; ++i) {
                     u32 a = i * 747796405u + 1;
                     for (u32 round = 0; round < 256; ++round) {
                       a ^= a << 13;
                       a ^= a >> 17;
                       a = (a ^ a << 5) + round;
                     }
                     buffers[0][i] = a;
                   }
                 }});
  all.push_back({"memory",
                 R"(
program memory workgroup(64) {
  read       a: u32[]
  read       b: u32[]
  read_write out: u32[]

  let i = invocation_id.x
  if i < len(out) {
    out[i] = a[i] * 3 + b[i]
  }
}
)",
                 {8192},
                 {iota(1 << 19), iota(1 << 19), std::vector<u32>(1 << 19)},
                 [](auto& buffers) {
                   for (std::size_t i = 0; i < buffers[2].size(); ++i) {
                     buffers[2][i] = buffers[0][i] * 3 + buffers[1][i];
                   }
                 }});
  all.push_back({"barriers",
                 R"(
program barriers workgroup(64) {
  read       data: u32[]
  read_write sums: u32[]
  workgroup  cells: u32[64]

  let lane = local_id.x
  cells[lane] = data[invocation_id.x]
  for step in 0..6 {
    barrier
    if lane < 32 >> step {
      cells[lane] = cells[lane] + cells[lane + (32 >> step)]
    }
  }
  if lane == 0 {
    sums[workgroup_id.x] = cells[0]
  }
}
)",
                 {2048},
                 {iota(1 << 17), std::vector<u32>(2048), {}},
                 [](auto& buffers) {
                   for (std::size_t group = 0; group < 2048; ++group) {
                     u32 sum = 0;
                     for (std::size_t i = 0; i < 64; ++i) sum += buffers[0][group * 64 + i];
                     buffers[1][group] = sum;
                   }
                 }});
  all.push_back({"atomics",
                 R"(
program atomics workgroup(64) {
  read       data: u32[]
  read_write counts: u32[256]

  atomic_add(counts[data[invocation_id.x] >> 24], 1)
}
)",
                 {8192},
                 {iota(1 << 19), std::vector<u32>(256)},
                 [](auto& buffers) {
                   for (u32 value : buffers[0]) ++buffers[1][value >> 24];
                 }});
  all.push_back({"wide",
                 R"(
program wide workgroup(64) {
  read_write out: u64[]

  let i = invocation_id.x
  let a = u64(i) + 1u64
  for round in 0..128 {
    a = a * 6364136223846793005u64 + 1442695040888963407u64
    a = a ^ a >> 33
  }
  out[i] = a
}
)",
                 {64},
                 {std::vector<u32>(8192)},
                 [](auto& buffers) {
                   for (std::size_t i = 0; i < 4096; ++i) {
                     std::uint64_t a = i + 1;
                     for (int round = 0; round < 128; ++round) {
                       a = a * 6364136223846793005u + 1442695040888963407u;
                       a ^= a >> 33;
                     }
                     std::memcpy(&buffers[0][2 * i], &a, 8);
                   }
                 }});
  return all;
}

void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

void measure(const Kernel& kernel, std::size_t runs) {
  const vyre::Result<vyre::Loaded> loaded = vyre::load_module({kernel.name, kernel.source});
  if (!loaded) fail(render(loaded.diagnostics()[0]));
  const auto& program = std::get<vyre::Program>(loaded->module.items[0]);
  const vyre::Script script = vyre::make_script(*vyre::link(program));

  std::vector<std::vector<u32>> ours = kernel.buffers;
  std::vector<std::vector<u32>> theirs = kernel.buffers;
  std::vector<vyre::Memory> memory;
  for (auto& buffer : ours) memory.push_back(std::as_writable_bytes(std::span(buffer)));

  vyre::RunOptions one;
  one.threads = 1;
  std::uint64_t evaluations = 0;
  std::vector<double> plain, detecting, threaded, peer;
  for (std::size_t i = 0; i < runs; ++i) {
    ours = kernel.buffers;
    theirs = kernel.buffers;
    memory.clear();
    for (auto& buffer : ours) memory.push_back(std::as_writable_bytes(std::span(buffer)));
    peer.push_back(seconds([&] { kernel.peer(theirs); }));
    plain.push_back(
        seconds([&] { evaluations = interpret(script, kernel.grid, memory, one)->evaluations; }));
    if (ours != theirs) fail(kernel.name + ": the interpreter and the C++ peer differ");
    detecting.push_back(seconds([&] {
      const auto racy = racy_elements(script, kernel.grid, memory, one);
      for (const auto& elements : *racy) {
        if (!elements.empty()) fail(kernel.name + ": races");
      }
    }));
    threaded.push_back(seconds([&] { (void)interpret(script, kernel.grid, memory, {}); }));
  }
  const double took = median(plain);
  std::printf("%-11s %9.1f %11.1f %12.2f %14.2f\n", kernel.name.c_str(),
              static_cast<double>(evaluations) / took / 1e6, took / median(peer),
              median(detecting) / took, took / median(threaded));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t runs = 11;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      runs = std::max<std::size_t>(1, std::strtoul(argv[++i], nullptr, 10));
    }
  }
  std::printf("one core, medians of %zu runs; `all cores` uses %u\n\n", runs,
              std::thread::hardware_concurrency());
  std::printf("%-11s %9s %11s %12s %14s\n", "", "million", "times slower", "race check,",
              "all cores,");
  std::printf("%-11s %9s %11s %12s %14s\n", "program", "evals/s", "than C++", "times slower",
              "times faster");
  for (const Kernel& kernel : kernels()) measure(kernel, runs);
}
