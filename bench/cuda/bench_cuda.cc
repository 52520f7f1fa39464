// The CUDA backend beside CUDA C++ by nvcc, on one GPU: in one process, in turns, timed by events,
// with all bytes of all of them compared first, and samples with what the host computes. Then what
// bounds checks cost, against code that has none.
//
//   bench_cuda [--runs N] [--only NAME] [--all] [--json]
//
// Figures are medians of N runs (15 by default). A ratio above 1 says that vyre is faster. `same`
// is the fastest peer with the algorithm of the program, `best` the fastest one of all. The limit
// of a workload is what takes longest of all that it cannot do without: moving its bytes, as fast
// as the faster of two copies of this run, or instructions that only one kind of unit has, at the
// highest clock. Tables of programs are also compared with the same from a buffer of the host: the
// variant `buffer`. --all lists every peer and variant.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda/host.h"
#include "bench/cuda/kernels.h"
#include "bench/cuda/peers.h"
#include "bench/vyre_side.h"
#include "vyre/backends/variants.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace bench {
namespace {

using vyre::Grid;

// Instructions per clock of a multiprocessor from sm_80 on: any, and those of one kind.
struct Unit {
  const char* name;
  double per_clock;
};
constexpr Unit kIssue{"issue", 128};
constexpr Unit kLogic{"logic", 64};        // and, or, xor of three; shifts; comparisons
constexpr Unit kMultiply{"mul", 64};       // 32 bits of a product and a sum
constexpr Unit kMultiplyWide{"mulw", 32};  // 64 bits

struct Workload {
  std::string name;
  std::string program;
  const char* unit;  // what is counted, or empty: bytes
  double amount;     // of units
  double bytes;      // that it moves at least
  Unit busy;         // units that it needs most, and how many of their instructions
  double instructions;
  Grid grid;
  Buffers inputs;     // in the order of declaration, without the last buffer
  u64 output_words;   // of the last one, which is written, and zero before
  bool adds = false;  // to what it holds
  // Another program that does the same, with a table that this one has in a buffer before the last.
  std::string other = {};
  std::vector<u32> table = {};
};

// The same words every time.
std::vector<u32> random_words(std::size_t count, u32 mask = 0xffffffff) {
  static u32 seed = 0;
  const u32 from = ++seed * 0x9e3779b9;
  std::vector<u32> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    u32 x = static_cast<u32>(i) * 0x85ebca6b + from;
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    words[i] = (x ^ x >> 16) & mask;
  }
  return words;
}

// Nine of ten words with the same low byte.
std::vector<u32> skewed_words(std::size_t count) {
  std::vector<u32> words = random_words(count);
  for (u32& word : words) {
    if (word >> 8 < 0xe66666) word = (word & ~0xffu) | 7;
  }
  return words;
}

std::vector<u32> dfa_table() {
  std::vector<u32> table = random_words(16 * 256, 0xf);
  for (u32& state : table) state *= 256;
  return table;
}

// One after the other: all of them together take much memory.
std::vector<std::function<Workload()>> workloads() {
  constexpr double kPixels = double{kMandelbrotSide} * kMandelbrotSide;
  constexpr u64 kScanWords = 256 * u64{kScanBlocks};
  constexpr u64 kElements = u64{kMatmulSide} * kMatmulSide;
  constexpr u64 kCells = u64{kLifeColumns} * kLifeRows;
  const auto stream = [](const char* name, u32 operands, u32 size) -> Workload {
    Workload all{name,
                 name,
                 "",
                 0,
                 (operands + 1.0) * kStreamBytes,
                 kIssue,
                 0,
                 {kStreamBytes / size / 64},
                 {},
                 kStreamBytes / 4};
    for (u32 i = 0; i < operands; ++i) all.inputs.push_back(random_words(kStreamBytes / 4));
    return all;
  };
  const auto histogram = [](const char* name, std::vector<u32> data) -> Workload {
    return {name,
            "histogram",
            "word",
            kHistogramWords,
            4.0 * kHistogramWords,
            kIssue,
            0,
            {kHistogramWords / 256},
            {std::move(data)},
            256,
            true};
  };
  return {
      []() -> Workload {
        return {"xor",
                "xor",
                "",
                0,
                12.0 * kXorWords,
                kIssue,
                0,
                {kXorWords / 64},
                {random_words(kXorWords), random_words(kXorWords)},
                kXorWords};
      },
      []() -> Workload {
        // Ten rounds with two products.
        return {"philox",
                "philox",
                "",
                0,
                16.0 * kPhiloxCounters,
                kMultiplyWide,
                20.0 * kPhiloxCounters,
                {kPhiloxCounters / 64},
                {{kPhiloxKey[0], kPhiloxKey[1]}},
                4 * u64{kPhiloxCounters}};
      },
      []() -> Workload {
        // Six rotations and four functions of three words in each of 64 rounds, four rotations, two
        // shifts and two functions for each of 48 words.
        Workload sha{"sha256",
                     "sha256",
                     "hash",
                     kShaBlocks,
                     96.0 * kShaBlocks,
                     kLogic,
                     (64.0 * 10 + 48 * 8) * kShaBlocks,
                     {kShaBlocks / 64},
                     {random_words(16 * u64{kShaBlocks})},
                     8 * u64{kShaBlocks}};
        std::ranges::copy(abc_block(), sha.inputs[0].begin());
        return sha;
      },
      []() -> Workload {
        // Three products, three shifts, three sums and a comparison for each step; the steps are
        // known after a run.
        const auto* view = kMandelbrotView;
        return {"mandelbrot",
                "mandelbrot",
                "step",
                0,
                4 * kPixels,
                kIssue,
                10,
                {kMandelbrotSide / 64, kMandelbrotSide},
                {{static_cast<u32>(view[0]), static_cast<u32>(view[1]), static_cast<u32>(view[2])},
                 {kMandelbrotSide}},
                u64{kMandelbrotSide} * kMandelbrotSide};
      },
      []() -> Workload {
        return {"dfa",
                "dfa",
                "",
                0,
                1024.0 * kDfaRecords,
                kIssue,
                0,
                {kDfaRecords / 64},
                {random_words(256 * u64{kDfaRecords}), dfa_table()},
                kDfaRecords};
      },
      [=]() { return histogram("histogram", random_words(kHistogramWords)); },
      [=]() { return histogram("hist-skewed", skewed_words(kHistogramWords)); },
      []() -> Workload {
        return {"scan",    "scan",           "",
                0,         8.0 * kScanWords, kIssue,
                0,         {kScanBlocks},    {random_words(kScanWords)},
                kScanWords};
      },
      []() -> Workload {
        return {"matmul",
                "matmul",
                "product",
                double{kElements} * kMatmulSide,
                12.0 * kElements,
                kMultiply,
                double{kElements} * kMatmulSide,
                {kMatmulSide / 16, kMatmulSide / 16},
                {random_words(kElements), random_words(kElements), {kMatmulSide}},
                kElements};
      },
      []() -> Workload {
        return {"life",
                "life",
                "",
                0,
                8.0 * kCells,
                kIssue,
                0,
                {kLifeColumns / 64, kLifeRows / 4},
                {random_words(kCells, 1), {kLifeColumns, kLifeRows}},
                kCells};
      },
      []() -> Workload {
        Workload crc{"crc32",
                     "crc32",
                     "",
                     0,
                     1024.0 * kCrcBlocks,
                     kIssue,
                     0,
                     {kCrcBlocks / 64},
                     {random_words(256 * u64{kCrcBlocks}), crc_tables()},
                     kCrcBlocks};
        std::fill_n(crc.inputs[0].begin(), 256, 0);
        return crc;
      },
      [=]() { return stream("copy_u8", 1, 1); },
      [=]() { return stream("add_u8", 2, 1); },
      [=]() { return stream("add_i8", 2, 1); },
      [=]() { return stream("add_u16", 2, 2); },
      []() -> Workload {
        return {"sbox",
                "sbox",
                "lookup",
                16.0 * kSboxBytes,
                2.0 * kSboxBytes,
                kIssue,
                0,
                {kSboxBytes / 64},
                {random_words(kSboxBytes / 4)},
                kSboxBytes / 4,
                false,
                "sbox_buffer",
                sbox_words()};
      },
      []() -> Workload {
        const std::vector<u32> tables = crc_tables();
        Workload crc{"crc_bytes",
                     "crc_bytes",
                     "",
                     0,
                     1024.0 * kCrcBlocks,
                     kIssue,
                     0,
                     {kCrcBlocks / 64},
                     {random_words(256 * u64{kCrcBlocks})},
                     kCrcBlocks,
                     false,
                     "crc_bytes_buffer",
                     {tables.end() - 256, tables.end()}};
        std::fill_n(crc.inputs[0].begin(), 256, 0);
        return crc;
      },
      []() -> Workload {
        return {"sum",
                "sum",
                "",
                0,
                4.0 * kScanWords,
                kIssue,
                0,
                {kScanBlocks},
                {random_words(kScanWords)},
                kScanBlocks};
      },
      []() -> Workload {
        return {"scan_add", "scan_add",       "",
                0,          8.0 * kScanWords, kIssue,
                0,          {kScanBlocks},    {random_words(kScanWords)},
                kScanWords};
      },
      []() -> Workload {
        // In each of 24 rounds, in halves of 32 bits: functions of three words, two for each of 5
        // columns, one for each of 25 lanes to add them and one for chi; 5 + 24 rotations.
        Workload keccak{"keccak",
                        "keccak",
                        "state",
                        kKeccakStates,
                        400.0 * kKeccakStates,
                        kLogic,
                        24.0 * 2 * (10 + 25 + 25 + 5 + 24) * kKeccakStates,
                        {kKeccakStates / 64},
                        {random_words(50 * u64{kKeccakStates}), keccak_constants()},
                        50 * u64{kKeccakStates}};
        for (u64 lane = 0; lane < 25; ++lane) {
          std::fill_n(keccak.inputs[0].begin() + static_cast<long>(lane * kKeccakStates * 2), 2, 0);
        }
        return keccak;
      },
  };
}

void check(cudaError_t status, const std::string& what) {
  if (status != cudaSuccess) fail(what + ": " + cudaGetErrorString(status));
}

// The GPU's memory for peers.
class Memory {
 public:
  explicit Memory(u64 bytes) : bytes_(bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }
  explicit Memory(const std::vector<u32>& words) : Memory(words.size() * 4) {
    fill(std::as_bytes(std::span(words)));
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void fill(std::span<const std::byte> bytes) {
    check(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "upload");
  }
  void fill(int byte) { check(cudaMemset(data_, byte, bytes_), "cudaMemset"); }
  u32* words() const { return static_cast<u32*>(data_); }
  u64 bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  u64 bytes_;
};

constexpr std::size_t kLaunches = 2;

// The seconds that the GPU takes for what a call starts on the default stream. It is started twice,
// and the second one counts: the first one may wait for the host.
class Clock {
 public:
  Clock() {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~Clock() {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  template <class Start>
  double time(const std::string& what, const Start& start) {
    for (const cudaEvent_t event : events_) {
      start();
      check(cudaGetLastError(), what);
      check(cudaEventRecord(event), what);
    }
    check(cudaEventSynchronize(events_[1]), what);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), what);
    return milliseconds * 1e-3;
  }

 private:
  std::array<cudaEvent_t, kLaunches> events_{};
};

struct Machine {
  std::string name;
  double processors = 0;
  double clock = 0;         // Hz, the highest
  double memcpy_speed = 0;  // bytes read and written, per second
  double kernel_speed = 0;
  double copy_speed() const { return std::max(memcpy_speed, kernel_speed); }
};

Machine measure(int runs) {
  Machine machine;
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  machine.name = properties.name;
  machine.processors = properties.multiProcessorCount;
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "clock rate");
  machine.clock = kilohertz * 1e3;
  constexpr u64 kBytes = u64{1} << 30;
  const Memory from(kBytes);
  const Memory to(kBytes);
  Clock clock;
  std::vector<double> by_driver;
  std::vector<double> by_kernel;
  for (int i = 0; i <= runs; ++i) {
    const double driver = clock.time("cudaMemcpy", [&] {
      cudaMemcpyAsync(to.words(), from.words(), kBytes, cudaMemcpyDeviceToDevice);
    });
    const double kernel =
        clock.time("copy", [&] { launch_copy(from.words(), to.words(), kBytes); });
    if (i == 0) continue;  // a warm-up
    by_driver.push_back(driver);
    by_kernel.push_back(kernel);
  }
  machine.memcpy_speed = 2.0 * kBytes / median(by_driver);
  machine.kernel_speed = 2.0 * kBytes / median(by_kernel);
  return machine;
}

std::vector<vyre::DeviceBuffer> on_device(vyre::Device& device, const Workload& workload) {
  std::vector<vyre::DeviceBuffer> buffers;
  for (const auto& words : workload.inputs) {
    buffers.push_back(get(make_buffer(device, std::as_bytes(std::span(words)))));
  }
  buffers.push_back(get(make_buffer(device, workload.output_words * 4)));
  return buffers;
}

// What vyre's device knows of a dispatch.
vyre::DispatchFacts facts_of(const vyre::Program& program, const Workload& workload) {
  vyre::DispatchFacts facts;
  for (std::size_t axis = 0; axis < 3; ++axis) facts.grid[axis] = workload.grid[axis];
  std::size_t next = 0;
  for (const vyre::BufferDecl& buffer : program.buffers) {
    std::vector<u32>& uniform = facts.uniforms.emplace_back();
    if (!is_bound(buffer.access)) {
      facts.lengths.push_back(buffer.count);
      continue;
    }
    const bool is_output = next == workload.inputs.size();
    const u64 words = is_output ? workload.output_words : workload.inputs[next].size();
    if (buffer.access == vyre::BufferAccess::Uniform) uniform = workload.inputs[next];
    facts.lengths.push_back(static_cast<u32>(words * 4 / vyre::stride(buffer.element)));
    ++next;
  }
  return facts;
}

// Somebody who does the work.
struct Runner {
  std::string name;
  bool is_peer = false;
  bool is_same = false;         // a peer with the algorithm of the program
  std::function<double()> run;  // the seconds it took
  std::vector<double> seconds = {};
  double took = 0;  // their median
};

struct Row {
  std::string name;
  std::string unit;
  double seconds = 0;  // of vyre
  double rate = 0;     // units per second
  double share = 0;    // of the limit
  std::string limit;
  const Runner* same = nullptr;
  const Runner* best = nullptr;
  double general = 0;  // what checks add, as a part of the time without them
  double special = 0;
  double table = 0;  // the time from a host's buffer by that from the program's table
  std::vector<Runner> runners;

  double ratio(const Runner& peer) const { return peer.took / seconds; }
};

// What vyre's device chooses from, with and without checks; kernels of the same text are one.
class Variants {
 public:
  Variants(const Loaded& loaded, const Workload& workload) {
    const vyre::Linked& linked = loaded.program;
    const vyre::Program program = get(optimise(linked));
    vyre::Variants all(linked, program, vyre::ptx_target(), lower(program, vyre::ptx_target()));
    const vyre::Lowered& general = all.general();
    const vyre::Lowered& special = all.choose(facts_of(program, workload));
    add("general", emit(general, true), loaded.program);
    add("general, no checks", emit(general, false), loaded.program);
    add("special", emit(special, true), loaded.program);
    add("special, no checks", emit(special, false), loaded.program);
  }
  const std::map<std::string, std::unique_ptr<PtxRun>>& kernels() const { return kernels_; }
  const std::string& text(const std::string& name) const { return texts_.at(name); }

 private:
  void add(const std::string& name, vyre::Result<vyre::PtxKernel> emitted,
           const vyre::Program& program) {
    const vyre::PtxKernel kernel = get(std::move(emitted));
    texts_[name] = kernel.text;
    std::string error;
    std::unique_ptr<PtxRun>& run = kernels_[kernel.text];
    if (run == nullptr) run = PtxRun::load(program, kernel, error);
    if (run == nullptr) fail(program.name + ", " + name + ": " + error);
  }
  std::map<std::string, std::string> texts_;                // by name
  std::map<std::string, std::unique_ptr<PtxRun>> kernels_;  // by text
};

Row compare(vyre::Device& device, const Machine& machine, Workload& workload, int runs) {
  const Loaded loaded(workload.program);
  Resident own(device, loaded, workload.grid, on_device(device, workload));
  const Variants variants(loaded, workload);

  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<u32*> pointers;
  std::vector<u64> bytes;
  const auto add_memory = [&](std::unique_ptr<Memory> added) {
    pointers.push_back(added->words());
    bytes.push_back(added->bytes());
    memory.push_back(std::move(added));
  };
  for (const auto& words : workload.inputs) add_memory(std::make_unique<Memory>(words));
  add_memory(std::make_unique<Memory>(workload.output_words * 4));
  Memory& output = *memory.back();

  Clock clock;
  Row row;
  row.name = workload.name;
  row.runners.push_back({"vyre", false, false, [&] { return own.run(kLaunches); }});
  for (const auto& [text, kernel] : variants.kernels()) {
    row.runners.push_back({text, false, false, [&, run = kernel.get()] {
                             return clock.time(workload.name, [&] {
                               check(run->launch(pointers, bytes, workload.grid), workload.name);
                             });
                           }});
  }
  std::unique_ptr<Loaded> other;
  std::unique_ptr<Resident> from_buffer;
  if (!workload.other.empty()) {
    Workload same = workload;
    same.inputs.push_back(workload.table);
    other = std::make_unique<Loaded>(workload.other);
    from_buffer =
        std::make_unique<Resident>(device, *other, workload.grid, on_device(device, same));
    row.runners.push_back({"buffer", false, false, [&] { return from_buffer->run(kLaunches); }});
  }
  for (const Peer& peer : peers()) {
    if (peer.program != workload.program) continue;
    row.runners.push_back({peer.name, true, peer.is_same, [&, launch = peer.launch] {
                             return clock.time(workload.name, [&] { launch(pointers.data()); });
                           }});
  }

  // All bytes, and samples by the host.
  Memory expected(workload.output_words * 4);
  const Memory count(u64{8});
  for (const Runner& runner : row.runners) {
    output.fill(workload.adds ? 0 : 0xa5);
    runner.run();
    if (&runner == &row.runners.front()) {
      const std::vector<std::byte> written = get(read_buffer(own.last()));
      expected.fill(written);
      for (const auto& [at, word] :
           sample_words(workload.program, workload.inputs, workload.output_words)) {
        u32 found = 0;
        std::memcpy(&found, &written[at * 4], 4);
        if (found != (workload.adds ? kLaunches * word : word)) {
          fail(workload.name + ": word " + std::to_string(at) + " is " + std::to_string(found) +
               ", the host says " + std::to_string(word));
        }
      }
      if (workload.program == "mandelbrot") {
        for (u64 i = 0; i < workload.output_words; ++i) {
          u32 steps = 0;
          std::memcpy(&steps, &written[i * 4], 4);
          workload.amount += steps;
        }
        workload.instructions *= workload.amount;
      }
      continue;
    }
    if (runner.name == "buffer") {
      output.fill(get(read_buffer(from_buffer->last())));
    }
    const u64 different = count_differences(output.words(), expected.words(), workload.output_words,
                                            reinterpret_cast<u64*>(count.words()));
    if (different != 0) {
      fail(workload.name + ": " + (runner.is_peer ? runner.name : "a variant") + " differs in " +
           std::to_string(different) + " words");
    }
  }
  workload.inputs.clear();

  for (int i = 0; i < runs; ++i) {
    for (Runner& runner : row.runners) runner.seconds.push_back(runner.run());
  }
  for (Runner& runner : row.runners) runner.took = median(runner.seconds);

  row.seconds = row.runners[0].took;
  for (const Runner& runner : row.runners) {
    if (!runner.is_peer) continue;
    if (row.best == nullptr || runner.took < row.best->took) row.best = &runner;
    if (!runner.is_same) continue;
    if (row.same == nullptr || runner.took < row.same->took) row.same = &runner;
  }
  const auto took = [&](const std::string& variant) {
    return std::ranges::find(row.runners, variants.text(variant), &Runner::name)->took;
  };
  row.general = took("general") / took("general, no checks") - 1;
  row.special = took("special") / took("special, no checks") - 1;
  const auto buffer = std::ranges::find(row.runners, "buffer", &Runner::name);
  if (buffer != row.runners.end()) row.table = row.ratio(*buffer);
  // From here on variants go by their names.
  std::vector<std::string> names(row.runners.size());
  for (const char* name : {"general", "general, no checks", "special", "special, no checks"}) {
    const auto at = std::ranges::find(row.runners, variants.text(name), &Runner::name);
    std::string& all = names[static_cast<std::size_t>(at - row.runners.begin())];
    all += (all.empty() ? "" : " = ") + std::string(name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) row.runners[i].name = names[i];
  }
  const double copying = workload.bytes / machine.copy_speed();
  const double working =
      workload.instructions / (workload.busy.per_clock * machine.processors * machine.clock);
  row.limit = copying > working ? "copy" : workload.busy.name;
  row.share = std::max(copying, working) / row.seconds;
  const bool counts_bytes = *workload.unit == 0;
  row.unit = counts_bytes ? "GB/s" : std::string("G") + workload.unit + "/s";
  row.rate = (counts_bytes ? workload.bytes : workload.amount) / row.seconds;
  return row;
}

void print_row(const Row& row, bool all) {
  std::printf("%-11s %9.4f %9.2f %-10s %6.1f %% %-5s %6.3f %-10s %6.3f %-10s %+6.1f %% %+6.1f %%\n",
              row.name.c_str(), row.seconds * 1e3, row.rate * 1e-9, row.unit.c_str(),
              row.share * 100, row.limit.c_str(), row.ratio(*row.same), row.same->name.c_str(),
              row.ratio(*row.best), row.best->name.c_str(), row.general * 100, row.special * 100);
  for (const Runner& runner : row.runners) {
    if (!all || &runner == &row.runners.front()) continue;
    std::printf("  %9s %9.4f %6.3f  %s\n", runner.is_peer ? "peer" : "variant", runner.took * 1e3,
                row.ratio(runner), runner.name.c_str());
  }
  std::fflush(stdout);
}

void print_json(const Machine& machine, const std::vector<Row>& rows, int runs) {
  std::printf("{\"device\": \"%s\", \"runs\": %d, \"memcpy\": %.4g, \"copy_kernel\": %.4g, ",
              machine.name.c_str(), runs, machine.memcpy_speed, machine.kernel_speed);
  std::printf("\"workloads\": [");
  for (const Row& row : rows) {
    std::printf("%s\n  {\"name\": \"%s\", \"seconds\": %.6g, \"rate\": %.6g, \"unit\": \"%s\", ",
                &row == rows.data() ? "" : ",", row.name.c_str(), row.seconds, row.rate * 1e-9,
                row.unit.c_str());
    std::printf("\"limit\": \"%s\", \"share\": %.4f, ", row.limit.c_str(), row.share);
    std::printf("\"checks_general\": %.4f, \"checks_special\": %.4f, \"others\": [", row.general,
                row.special);
    for (std::size_t i = 1; i < row.runners.size(); ++i) {
      const Runner& runner = row.runners[i];
      std::printf("%s{\"name\": \"%s\", \"kind\": \"%s\", \"seconds\": %.6g, \"ratio\": %.4f}",
                  i == 1 ? "" : ", ", runner.name.c_str(),
                  !runner.is_peer  ? "variant"
                  : runner.is_same ? "same"
                                   : "better",
                  runner.took, row.ratio(runner));
    }
    std::printf("]}");
  }
  std::printf("\n]}\n");
}

int run(int runs, const std::string& only, bool all, bool json) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device: %s\n", cudaGetErrorString(status));
    return 0;
  }
  const std::unique_ptr<vyre::Device> device = get(open_device(*vyre::find_backend("ptx")));
  const Machine machine = measure(runs);
  if (!json) {
    std::printf(
        "%s, %.0f multiprocessors at %.0f MHz; copies: %.0f GB/s by cudaMemcpy, %.0f GB/s "
        "by a kernel; medians of %d runs\n\n",
        machine.name.c_str(), machine.processors, machine.clock * 1e-6, machine.memcpy_speed * 1e-9,
        machine.kernel_speed * 1e-9, runs);
    std::printf("%-11s %9s %20s %14s   their time by vyre's %14s checks add\n", "", "vyre", "", "",
                "");
    std::printf("%-11s %9s %20s %14s %6s %-10s %6s %-10s %8s %8s\n", "", "ms", "", "of the limit",
                "", "same", "", "best", "general", "special");
  }
  std::vector<Row> rows;
  for (const auto& make : workloads()) {
    Workload workload = make();
    if (!only.empty() && only != workload.name) continue;
    rows.push_back(compare(*device, machine, workload, runs));
    if (!json) print_row(rows.back(), all);
  }
  if (rows.empty()) fail("no workload is called " + only);
  if (json) {
    print_json(machine, rows, runs);
    return 0;
  }
  double sum = 0;
  double least = INFINITY;
  double most_checks = 0;
  for (const Row& row : rows) {
    sum += std::log(row.ratio(*row.same));
    least = std::min(least, row.ratio(*row.same));
    most_checks = std::max(most_checks, row.special);
  }
  std::printf("\nsame algorithm: geometric mean %.3f (goal 1), least %.3f (goal 0.95)\n",
              std::exp(sum / static_cast<double>(rows.size())), least);
  if (rows[0].name == "xor") {
    std::printf("stream: %.1f %% of the copy (goal 92)\n", rows[0].share * 100);
  }
  for (const Row& row : rows) {
    if (row.table == 0) continue;
    std::printf("table of %s: %.3f of the time from a host's buffer (goal 1)\n", row.name.c_str(),
                1 / row.table);
  }
  std::printf("checks: %.1f %% at most where sizes are known (goal 2)\n", most_checks * 100);
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  int runs = 15;
  std::string only;
  bool all = false;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--runs" && i + 1 < argc) {
      runs = std::max(1, std::atoi(argv[++i]));
    } else if (option == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (option == "--all") {
      all = true;
    } else if (option == "--json") {
      json = true;
    } else {
      std::fprintf(stderr, "usage: bench_cuda [--runs N] [--only NAME] [--all] [--json]\n");
      return 2;
    }
  }
  return bench::run(runs, only, all, json);
}
