// The CUDA device gives the bytes of the interpreter: examples, library ops and generated programs;
// and what only a GPU has: grids that take several launches, large workgroup memory, copies of all
// sizes, graphs. Without a GPU only the reasons are tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "tests/support/differential.h"
#include "tests/support/drivers.h"
#include "tests/support/families.h"
#include "tests/support/lowered.h"
#include "tests/support/ptx_fixture.h"
#include "vyre/backends/cache.h"
#include "vyre/backends/ptx/code.h"
#include "vyre/backends/ptx/device.h"
#include "vyre/backends/ptx/gpu.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::uint32_t>;

Linked program_of(const std::string& text) {
  const Result<Loaded> loaded = load_module({"test.vyre", text});
  if (!loaded.ok()) ADD_FAILURE() << render(loaded.diagnostics()[0]) << "\n" << text;
  return loaded.ok() ? program_at(*loaded, loaded->module.items.size() - 1) : Linked();
}

Words words_of(const Result<std::vector<std::byte>>& bytes) {
  if (!bytes.ok()) ADD_FAILURE() << render(bytes.diagnostics()[0]);
  Words words(bytes.ok() ? bytes->size() / 4 : 0);
  if (!words.empty()) std::memcpy(words.data(), bytes->data(), words.size() * 4);
  return words;
}

// --- Without a GPU ------------------------------------------------------------------------------

TEST(CudaDriver, SaysWhyThereIsNone) {
  const Opened opened = open_cuda(0);
  if (opened.device != nullptr) GTEST_SKIP() << "there is a GPU";
  EXPECT_NE(opened.reason, "");
  const Result<std::unique_ptr<Device>> device = open_device(*find_backend("cuda"));
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(name(device.diagnostics()[0].code), "B003");
  EXPECT_NE(device.diagnostics()[0].problem.find(opened.reason), std::string::npos);
}

// What `vyre backends` says of it, with this file as the driver.
std::string said_with(const std::string& library) {
  const std::string folder = ::testing::TempDir() + "vyre_driver_" + std::to_string(getpid());
  fs::create_directories(folder);
  if (!library.empty()) fs::create_symlink(library, folder + "/libcuda.so.1");
  const std::string said = backends_with("LD_LIBRARY_PATH=" + folder);
  fs::remove_all(folder);
  for (const std::string_view line : split(said, '\n')) {
    if (line.starts_with("  ptx ")) return std::string(line) + "\n";
  }
  return {};
}

TEST(CudaDriver, ALibraryThatIsNoDriverIsRefused) {
  for (const char* other : {"/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib64/libm.so.6"}) {
    if (access(other, R_OK) != 0) continue;
    const std::string said = said_with(other);
    EXPECT_NE(said.find("has no cuDriverGetVersion (install NVIDIA driver"), std::string::npos)
        << said;
    return;
  }
  GTEST_SKIP() << "no library is where it is looked for";
}

TEST(CudaDriver, AStubIsRefused) {
  const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (access(stub, R_OK) != 0) GTEST_SKIP() << "there is no " << stub;
  const std::string said = said_with(stub);
  EXPECT_NE(said.find("is a stub"), std::string::npos) << said;
}

TEST(CudaDriver, ProgramsAreEmittedWithoutAGpu) {
  const Linked program = program_of(
      "program p workgroup(64) {\n  read_write out: u32[]\n"
      "  out[invocation_id.x] = 1\n}\n");
  const Result<std::shared_ptr<const PtxProgram>> made = ptx_program(program);
  ASSERT_TRUE(made.ok());
  EXPECT_NE((*(*made)->general())->text.find(".visible .entry vyre_p("), std::string::npos);
}

// --- With one -----------------------------------------------------------------------------------

class Cuda : public Differential {
 protected:
  void SetUp() override { open("ptx"); }

  // Makes machine code of the kernels that a case needs, by the toolkit's assembler: the driver's
  // takes ten times as long.
  void assemble(const CudaGpu& gpu, const std::string& ptxas, std::uint64_t number, const Case& c) {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return;
    const Result<std::shared_ptr<const PtxProgram>> program = ptx_program(*linked);
    if (!program.ok()) return;
    const std::vector<std::span<const std::byte>> contents(c.contents.begin(), c.contents.end());
    const Result<const PtxKernel*> kernel =
        (*program)->choose(facts_of(c.program(), c.grid, contents));
    if (!kernel.ok()) return;
    const std::string text = ptx_module(**kernel);
    const std::string path = folder_ + "_" + std::to_string(number);
    std::ofstream(path + ".ptx") << text;
    const std::string command = ptxas + " -arch=sm_" + std::to_string(gpu.sm) + " -o " + path +
                                ".cubin " + path + ".ptx > /dev/null 2>&1";
    if (std::system(command.c_str()) == 0) {
      write_cache(gpu.cache_key(text), read_file(path + ".cubin"));
    }
    fs::remove(path + ".ptx");
    fs::remove(path + ".cubin");
  }

  Words run_once(const Linked& program, const Grid& grid, std::span<const HostBuffer> buffers,
                 std::string_view output) {
    DispatchOptions options;
    options.device = device_.get();
    const Result<Outputs> outputs = dispatch(program, grid, buffers, options);
    if (!outputs.ok()) ADD_FAILURE() << render(outputs.diagnostics()[0]);
    return outputs.ok() ? *outputs->get<std::uint32_t>(output) : Words{};
  }
};

// Code by the driver and by the toolkit's assembler, which is not the same.
TEST_F(Cuda, GeneratedProgramsGiveTheSameBytes) {
  const std::string ptxas = find_ptxas();
  std::string reason;
  const CudaGpu* gpu = find_gpu(*cuda::load_cuda(reason), 0, reason);
  ASSERT_NE(gpu, nullptr) << reason;
  const std::uint64_t count = check_generated(
      0, is_long() ? 100'000 : 1'000,
      [&](std::uint64_t seed, const Case& c) {
        if (!ptxas.empty() && seed % 10 != 0) assemble(*gpu, ptxas, seed, c);
      },
      true);
  EXPECT_GE(compared_, count * 3 / 4);
}

TEST_F(Cuda, CollectivesOfAllWorkgroups) {
  const auto sizes = workgroup_sizes(1);
  check_cases(
      0, sizes.size(), [&](std::uint64_t i) { return collectives_case(sizes[i], i); }, true);
}

TEST_F(Cuda, CollectivesSideBySide) {
  check_cases(0, is_long() ? 20'000 : 300, neighbours_case, true);
}

TEST_F(Cuda, TablesAreLookedUp) { check_cases(0, is_long() ? 2'000 : 100, table_case); }

TEST_F(Cuda, NarrowElementsLeaveTheirNeighboursAlone) {
  check_cases(0, is_long() ? 10'000 : 300, narrow_case, true);
}

// Programs as they are for targets without wide numbers.
class CudaLowered : public LoweredOn<Cuda> {};

TEST_F(CudaLowered, GeneratedProgramsGiveTheSameBytes) {
  check_generated(220'000, is_long() ? 10'000 : 200, {}, true);
}

TEST_F(CudaLowered, LibraryOpsGiveTheSameBytes) { check_library(is_long() ? 1 : 10); }

TEST_F(Cuda, LibraryOpsGiveTheSameBytes) {
  check_library(1);
  EXPECT_GE(compared_, 800u);
}

// Programs that race for what they are given here have no bytes to compare.
TEST_F(Cuda, ExamplesGiveTheSameBytes) {
  for (const std::string& path : program_files({"examples", "bench/programs"})) {
    const Result<Loaded> loaded = load_module({path, read_file(path)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
    for (const Item& item : loaded->module.items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Random random(seed);
        Case c;
        for (const Item& other : loaded->module.items) {
          if (std::holds_alternative<Op>(other)) c.module.items.push_back(other);
        }
        c.module.items.emplace_back(*program);
        c.grid = {1 + random.below(5), 1 + random.below(3), 1};
        for (const BufferDecl& buffer : program->buffers) {
          const std::uint64_t length = buffer.access == BufferAccess::Workgroup ? 0
                                       : buffer.count != 0                      ? buffer.count
                                                           : random.below(2000);
          std::vector<std::byte> bytes(length * stride(buffer.element));
          for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
            const auto word =
                static_cast<std::uint32_t>(seed % 2 == 0 ? random.below(64) : random.next());
            std::memcpy(bytes.data() + i, &word, 4);
          }
          c.contents.push_back(std::move(bytes));
        }
        if (!is_clean(c)) continue;
        EXPECT_EQ(difference(c), "") << path << " " << program->name << " " << seed;
      }
    }
  }
  EXPECT_GE(compared_, 20u);
}

TEST_F(Cuda, RunsOnSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t k = 0; k < 10; ++k) {
        if (!difference(generate_case(i % 2 + 2 * k)).empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Each workgroup counts itself in two places: where its id says, and in all.
TEST_F(Cuda, GridsTakeAsManyLaunchesAsTheyNeed) {
  const Linked program = program_of(R"(program count workgroup(1) {
  read_write out: u32[] @0
  let id = workgroup_id.x + 7 * workgroup_id.y + 11 * workgroup_id.z
  atomic_add(out[0], 1)
  atomic_add(out[1 + id % 1000], 1)
})");
  for (const Grid& grid : {Grid{1, 65535, 1}, Grid{1, 65536, 1}, Grid{3, 65537, 2},
                           Grid{2, 3, 65537}, Grid{1, 131071, 3}, Grid{1, 70000, 70}}) {
    Words expected(1001);
    for (std::uint32_t z = 0; z < grid[2]; ++z) {
      for (std::uint32_t y = 0; y < grid[1]; ++y) {
        for (std::uint32_t x = 0; x < grid[0]; ++x) {
          ++expected[0];
          ++expected[1 + (x + 7 * y + 11 * z) % 1000];
        }
      }
    }
    const Words zeros(1001);
    const HostBuffer buffers[] = {{"out", zeros}};
    EXPECT_EQ(run_once(program, grid, buffers, "out"), expected)
        << grid[0] << "," << grid[1] << "," << grid[2];
  }
}

// A barrier keeps workgroups in blocks of their own: there are more than one launch takes.
TEST_F(Cuda, VeryLongGridsReachTheirEnd) {
  if (!is_long()) GTEST_SKIP() << "takes seconds; set VYRE_LONG";
  const Linked program = program_of(R"(program ends workgroup(1) {
  read_write out: u32[] @0
  barrier
  if workgroup_id.x % 268435456 == 5 {
    atomic_add(out[workgroup_id.x / 268435456], 1)
  }
  if workgroup_id.x == 4294967294 {
    out[16] = 1
  }
})");
  const Words zeros(17);
  const HostBuffer buffers[] = {{"out", zeros}};
  EXPECT_EQ(run_once(program, {0xffffffff, 1, 1}, buffers, "out"), Words(17, 1));
}

TEST_F(Cuda, WorkgroupMemoryUpToTheLimit) {
  for (const std::uint64_t bytes : {std::uint64_t{48} << 10, (std::uint64_t{48} << 10) + 4,
                                    std::uint64_t{64} << 10, device_->info().max_workgroup_bytes}) {
    const std::string count = std::to_string(bytes / 4);
    const Linked program = program_of(
        "program p workgroup(256) {\n  read_write out: u32[] @0\n"
        "  workgroup tile: u32[" +
        count +
        "]\n"
        "  tile[" +
        count +
        " - 1 - local_id.x] = invocation_id.x\n"
        "  barrier\n"
        "  out[invocation_id.x] = tile[" +
        count + " - 256 + local_id.x] + tile[local_id.x + 1000]\n}\n");
    const Words zeros(512);
    const HostBuffer buffers[] = {{"out", zeros}};
    Words expected;
    for (std::uint32_t i = 0; i < 512; ++i) expected.push_back(i / 256 * 256 + 255 - i % 256);
    EXPECT_EQ(run_once(program, {2, 1, 1}, buffers, "out"), expected) << bytes;
  }
  const Linked larger =
      program_of("program p workgroup(1) {\n  read_write out: u32[] @0\n  workgroup tile: u32[" +
                 std::to_string(device_->info().max_workgroup_bytes / 4 + 1) +
                 "]\n  tile[out[0]] = 1\n  barrier\n  out[0] = tile[5]\n}\n");
  const Result<Pipeline> refused = make_pipeline(*device_, larger);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(name(refused.diagnostics()[0].code), "B002");
}

// More than kernels have parameters for.
TEST_F(Cuda, ProgramsWithManyBuffers) {
  for (const int count : {1, 199, 200, 201, 300}) {
    std::string text = "program p workgroup(4) {\n";
    std::string body = "  let i = invocation_id.x\n";
    std::vector<Words> contents;
    std::vector<std::string> names;
    Words expected(4);
    for (int k = 0; k < count; ++k) {
      names.push_back("b" + std::to_string(k));
      const bool is_last = k + 1 == count;
      text += std::string(is_last ? "  read_write " : "  read ") + names.back() + ": u32[] @" +
              std::to_string(k) + "\n";
      const auto number = static_cast<std::uint32_t>(k);
      contents.push_back(Words(is_last ? 4 : 1 + number % 4, number));
      body += is_last ? "  b" + std::to_string(k) + "[i] = sum\n" : "";
      if (is_last) continue;
      body += (k == 0 ? "  let sum = b0[i]\n" : "  sum = sum + b" + std::to_string(k) + "[i]\n");
      for (std::uint32_t i = 0; i < contents.back().size(); ++i) expected[i] += number;
    }
    if (count == 1) body = "  b0[invocation_id.x] = 0\n";
    std::vector<HostBuffer> buffers;
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      buffers.emplace_back(names[at], contents[at]);
    }
    EXPECT_EQ(run_once(program_of(text + body + "}\n"), {1, 1, 1}, buffers, names.back()), expected)
        << count;
  }
}

TEST_F(Cuda, BuffersOfAllSizesBeginAsZerosAndKeepWhatIsWritten) {
  constexpr std::uint64_t kStaged = std::uint64_t{4} << 20;
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{65536}, kStaged - 4, kStaged, kStaged + 4,
        9 * kStaged + 12, 40 * kStaged + 1}) {
    for (int round = 0; round < 2; ++round) {  // what the first leaves behind is not seen
      Result<DeviceBuffer> buffer = make_buffer(*device_, bytes);
      ASSERT_TRUE(buffer.ok());
      Result<std::vector<std::byte>> found = read_buffer(*buffer);
      ASSERT_TRUE(found.ok());
      ASSERT_TRUE(*found == std::vector<std::byte>(bytes)) << bytes;
      std::vector<std::byte> contents(bytes);
      Random random(bytes + 1);
      for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = random.next();
        std::memcpy(contents.data() + i, &word, 8);
      }
      ASSERT_TRUE(write_buffer(*buffer, contents).ok());
      const std::vector<std::byte> kept = contents;
      std::ranges::fill(contents, std::byte{0x77});  // nobody looks at it any more
      found = read_buffer(*buffer);
      ASSERT_TRUE(found.ok());
      ASSERT_TRUE(*found == kept) << bytes;
    }
  }
}

TEST_F(Cuda, NoMemoryIsADiagnosticAndTheDeviceGoesOn) {
  std::vector<DeviceBuffer> all;
  std::vector<Diagnostic> wrong;
  while (wrong.empty() && all.size() < 100) {
    Result<DeviceBuffer> next = make_buffer(*device_, device_->info().max_buffer_bytes / 8 * 3);
    wrong = next.diagnostics();
    if (next.ok()) all.push_back(std::move(*next));
  }
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(name(wrong[0].code), "B004");
  all.clear();
  EXPECT_TRUE(make_buffer(*device_, device_->info().max_buffer_bytes / 4).ok());
  EXPECT_EQ(difference(generate_case(1)), "");
}

constexpr const char* kAdd = R"(program add workgroup(64) {
  read       from: u32[] @0
  read_write to: u32[] @1
  to[invocation_id.x] = to[invocation_id.x] + from[invocation_id.x]
})";

TEST_F(Cuda, SequencesRunAgainAndAgain) {
  const Result<Pipeline> add = make_pipeline(*device_, program_of(kAdd));
  ASSERT_TRUE(add.ok());
  const Words one(1000, 1);
  const Words none(1000);
  Result<DeviceBuffer> a = make_buffer(*device_, std::as_bytes(std::span(one)));
  Result<DeviceBuffer> b = make_buffer(*device_, std::as_bytes(std::span(none)));
  ASSERT_TRUE(a.ok() && b.ok());
  std::vector<PipelineLaunch> launches;
  for (int i = 0; i < 3; ++i) {
    launches.push_back({&*add, 16, {{"from", &*a}, {"to", &*b}}});
    launches.push_back({&*add, 16, {{"from", &*b}, {"to", &*a}}});
  }
  Result<Sequence> sequence = record_launches(*device_, launches);
  ASSERT_TRUE(sequence.ok());
  EXPECT_EQ(words_of(read_buffer(*b)), none);  // nothing has run
  std::uint32_t x = 1;
  std::uint32_t y = 0;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 3; ++k) {
      y += x;
      x += y;
    }
    if (i % 2 == 0) {
      const Result<RunTimes> times = sequence->run();
      ASSERT_TRUE(times.ok());
      EXPECT_GT(times->seconds, 0);
    } else {
      const Result<std::vector<double>> seconds = run_launches(*device_, launches);
      ASSERT_TRUE(seconds.ok());
      EXPECT_EQ(seconds->size(), launches.size());
    }
    EXPECT_EQ(words_of(read_buffer(*a)), Words(1000, x));
    EXPECT_EQ(words_of(read_buffer(*b)), Words(1000, y));
  }
  const Result<Sequence> nothing = record_launches(*device_, {});
  ASSERT_TRUE(nothing.ok());
  launches.assign(1, {&*add, {0, 1, 1}, {{"from", &*a}, {"to", &*b}}});
  Result<Sequence> empty = record_launches(*device_, launches);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->run().ok());
  EXPECT_EQ(words_of(read_buffer(*b)), Words(1000, y));
}

// Code is made for what uniforms hold and how long buffers are, and these change.
TEST_F(Cuda, WhatIsKnownOfALaunchIsWhatIsTrueThen) {
  const Result<Pipeline> scale = make_pipeline(*device_, program_of(R"(
program scale workgroup(64) {
  uniform    by: u32[]
  read_write out: u32[]
  for i in 0..by[1] {
    out[invocation_id.x + i] = out[invocation_id.x + i] * by[0] + 1
  }
})"));
  const Result<Pipeline> add = make_pipeline(*device_, program_of(kAdd));
  const Words start(64, 5);
  const Words three{3, 1};
  Result<DeviceBuffer> by = make_buffer(*device_, std::as_bytes(std::span(three)));
  Result<DeviceBuffer> out = make_buffer(*device_, std::as_bytes(std::span(start)));
  ASSERT_TRUE(scale.ok() && add.ok() && by.ok() && out.ok());
  const PipelineLaunch scaled{&*scale, 1, {{"by", &*by}, {"out", &*out}}};
  std::uint32_t now = 5 * 3 + 1;
  const auto expect = [&](const Result<std::vector<double>>& done) {
    ASSERT_TRUE(done.ok()) << render(done.diagnostics()[0]);
    EXPECT_EQ(words_of(read_buffer(*out)), Words(64, now));
  };
  expect(run_launches(*device_, {&scaled, 1}));
  const auto write = [&](std::uint32_t value) {
    const Words words{value, 1};
    ASSERT_TRUE(write_buffer(*by, std::as_bytes(std::span(words))).ok());
  };
  // The host writes it.
  write(7);
  now = now * 7 + 1;
  expect(run_launches(*device_, {&scaled, 1}));
  // A launch before it in the same run writes it, and then the host again.
  const Words more{10, 0};
  Result<DeviceBuffer> from = make_buffer(*device_, std::as_bytes(std::span(more)));
  ASSERT_TRUE(from.ok());
  const PipelineLaunch both[] = {{&*add, 1, {{"from", &*from}, {"to", &*by}}}, scaled};
  now = now * 17 + 1;
  expect(run_launches(*device_, both));
  now = now * 17 + 1;
  expect(run_launches(*device_, {&scaled, 1}));
  write(2);
  now = now * 2 + 1;
  expect(run_launches(*device_, {&scaled, 1}));
  // What was recorded finds what is there when it runs.
  Result<Sequence> sequence = record_launches(*device_, {&scaled, 1});
  ASSERT_TRUE(sequence.ok());
  for (const std::uint32_t value : {11u, 4u}) {
    write(value);
    now = now * value + 1;
    ASSERT_TRUE(sequence->run().ok());
    EXPECT_EQ(words_of(read_buffer(*out)), Words(64, now));
  }
  // Another buffer, and another grid.
  Result<DeviceBuffer> less = make_buffer(*device_, std::as_bytes(std::span(start).first(50)));
  ASSERT_TRUE(less.ok());
  for (const std::uint32_t grid : {1u, 3u, 1u}) {
    const PipelineLaunch other{&*scale, grid, {{"by", &*by}, {"out", &*less}}};
    ASSERT_TRUE(run_launches(*device_, {&other, 1}).ok());
  }
  EXPECT_EQ(words_of(read_buffer(*less)), Words(50, ((5 * 4 + 1) * 4 + 1) * 4 + 1));
  // More kinds of launches in one run than are remembered.
  std::vector<PipelineLaunch> many;
  for (std::uint32_t grid = 1; grid <= 40; ++grid) {
    many.push_back({&*scale, grid, {{"by", &*by}, {"out", &*out}}});
    now = now * 4 + 1;
  }
  expect(run_launches(*device_, many));
}

TEST_F(Cuda, StopsBeforeALaunch) {
  const Result<Pipeline> add = make_pipeline(*device_, program_of(kAdd));
  Result<DeviceBuffer> a = make_buffer(*device_, 64);
  Result<DeviceBuffer> b = make_buffer(*device_, 64);
  ASSERT_TRUE(add.ok() && a.ok() && b.ok());
  const PipelineLaunch launch{&*add, 1, {{"from", &*a}, {"to", &*b}}};
  const std::atomic<bool> stop = true;
  RunOptions options;
  options.stop = &stop;
  const Result<std::vector<double>> stopped = run_launches(*device_, {&launch, 1}, options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.diagnostics()[0].code, diagnose<message::interrupted>().code);
  EXPECT_TRUE(run_launches(*device_, {&launch, 1}).ok());
}

// Another process finds it, which is to say: somebody who looks at the disk. What is damaged is
// made again.
TEST_F(Cuda, CodeIsKeptOnDisk) {
  const Linked program = program_of(
      "program kept workgroup(64) {\n  read_write out: u32[]\n"
      "  out[invocation_id.x] = invocation_id.x * 77\n}\n");
  const Result<std::shared_ptr<const PtxProgram>> made = ptx_program(program);
  ASSERT_TRUE(made.ok());
  std::string reason;
  CudaGpu* gpu = find_gpu(*cuda::load_cuda(reason), 0, reason);
  ASSERT_TRUE(gpu != nullptr && gpu->start().ok());
  const auto entered = gpu->enter();
  const PtxKernel& kernel = **(*made)->general();
  EXPECT_EQ(kernel.file, "");
  ASSERT_TRUE(gpu->load(kernel, "kept").ok());
  const std::optional<std::string> kept = read_cache(gpu->cache_key(ptx_module(kernel)));
  ASSERT_TRUE(kept);
  cuda::Module module = nullptr;
  ASSERT_EQ(gpu->api.ModuleLoadData(&module, kept->data()), cuda::kSuccess);
  cuda::Function function = nullptr;
  EXPECT_EQ(gpu->api.ModuleGetFunction(&function, module, "vyre_kept"), cuda::kSuccess);
  gpu->api.ModuleUnload(module);

  // With the lines that profilers show.
  Linked with_source = program;
  with_source.set_source({"kept.vyre", {3}});
  const Result<std::shared_ptr<const PtxProgram>> lined = ptx_program(with_source);
  ASSERT_TRUE(lined.ok());
  const PtxKernel& with_lines = **(*lined)->general();
  ASSERT_TRUE(gpu->load(with_lines, "kept").ok());
  const std::optional<std::string> image = read_cache(gpu->cache_key(ptx_module(with_lines)));
  ASSERT_TRUE(image);
  EXPECT_NE(image->find(".debug_line"), std::string::npos);
  EXPECT_NE(image->find("kept.vyre"), std::string::npos);

  Program other = program;
  other.name = "damaged";
  const Result<std::shared_ptr<const PtxProgram>> again = ptx_program(Linked::trust(other, {}));
  ASSERT_TRUE(again.ok());
  const PtxKernel& damaged = **(*again)->general();
  write_cache(gpu->cache_key(ptx_module(damaged)), "not machine code");
  EXPECT_TRUE(gpu->load(damaged, "damaged").ok());
}

}  // namespace
}  // namespace vyre
