// The CPU backend gives the bytes of the interpreter: examples, library ops, edge values of every
// operation, and generated programs, on every kind of vectors that this machine has.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "tests/support/cpu_fixture.h"
#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/device.h"
#include "vyre/backends/cpu/object.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/pool.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/conform/reducer.h"
#include "vyre/library/library.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

TEST_F(Cpu, GeneratedProgramsGiveTheSameBytes) {
  const std::uint64_t count = check_generated(0, cases(ahead().empty() ? 400 : 2'000, 100'000));
  EXPECT_GE(compared_, count * 9 / 10);  // of the rest the interpreter would take too long
}

TEST_F(Cpu, GeneratedProgramsGiveTheSameBytesWithOtherVectors) {
  const CpuTarget own = *host_target();
  for (std::string_view name : cpu_targets()) {
    if (!runs_here(name) || *find_cpu_target(name) == own) continue;
    setenv("VYRE_CPU", std::string(name).c_str(), 1);
    SCOPED_TRACE(name);
    check_generated(50'000, cases(60, 10'000));
  }
}

TEST_F(Cpu, LibraryOpsGiveTheSameBytes) {
  check_library(every());
  EXPECT_GE(compared_, 800 / every());
}

// Also near the size from which on memory comes from elsewhere.
TEST_F(Cpu, BuffersOfAnySizeAreMadeAndGivenBack) {
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  for (const std::uint64_t bytes :
       {std::uint64_t{4}, kPage - 1024, kPage - 64, kPage - 4, kPage, kPage + 4, 3 * kPage - 4}) {
    const Result<DeviceBuffer> buffer = make_buffer(*device_, bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(*read_buffer(*buffer), std::vector<std::byte>(bytes));
  }
}

TEST_F(Cpu, RunsOnSeveralThreadsAtOnce) {
  const Case c = generate_case(3);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        if (!difference(c).empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(compared_, 20u);
}

TEST(CpuPool, DoesAllOfAJobOnceAlsoFromInside) {
  std::vector<std::atomic<int>> done(10'000);
  Job job;
  job.count = done.size();
  job.piece = 7;
  job.threads = 4;
  job.work = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) ++done[i];
    Job inner;
    inner.count = 10;
    inner.threads = 4;
    inner.work = [](std::uint64_t, std::uint64_t) {};
    run_job(inner);
  };
  run_job(job);
  for (const std::atomic<int>& each : done) ASSERT_EQ(each, 1);
}

// Any bytes, and code with any byte changed, load or do not; nothing is run.
TEST_F(Cpu, DamagedObjectsAreRefusedOrLoaded) {
  const Result<Linked> linked = link(generate_case(1).program(), [] {
    Registry registry;
    (void)registry.add(generate_case(1).module);
    return registry;
  }());
  ASSERT_TRUE(linked.ok());
  const Result<Artifact> artifact = compile(*linked, *find_backend("cpu"), ahead());
  ASSERT_TRUE(artifact.ok());
  if (only_compiles()) return;
  const auto program = std::static_pointer_cast<const CpuProgram>(artifact->code);
  std::string reason;
  EXPECT_NE(load_object(program->object, reason), nullptr) << reason;
  Random random(5);
  for (std::uint64_t i = 0; i < cases(20'000, 20'000); ++i) {
    std::string damaged = program->object;
    const std::uint64_t changes = 1 + random.below(3);
    // Most of it is code; what matters is at both ends.
    for (std::uint64_t k = 0; k < changes; ++k) {
      const std::uint64_t near = random.below(2048);
      const std::uint64_t at = random.below(2) == 0 ? near : damaged.size() - 1 - near;
      damaged[at % damaged.size()] = static_cast<char>(random.next());
    }
    if (random.one_in(4)) damaged.resize(random.next() % damaged.size());
    (void)load_object(damaged, reason);
    (void)unpack_cpu(damaged);
  }
  const auto back = std::static_pointer_cast<const CpuProgram>(unpack_cpu(program->pack()));
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->object, program->object);
  EXPECT_EQ(back->scratch_bytes, program->scratch_bytes);
}

// Which runs in `./dev test --aarch64`.
TEST_F(Cpu, CompilesAheadForOtherMachines) {
  const std::string file = source_root() + "/examples/popcount_xor.vyre";
  const auto fill = [&] {
    return run_vyre(std::vector<std::string_view>{"cache", file, "--cpu", "aarch64"});
  };
  const CommandResult result = fill();
  EXPECT_EQ(result.out, "Compiled 1 program for aarch64 into " + folder_ + "/code\n") << result.err;
  EXPECT_EQ(cache_stats().files, 1u);
  setenv("VYRE_CACHE", "/dev/null", 1);
  EXPECT_NE(fill().err.find("error[I002]: cannot write the file: the cache does not keep it"),
            std::string::npos);
}

TEST_F(Cpu, ObjectsForOtherMachinesAreRefused) {
  const Case c = generate_case(1);
  const Result<Linked> linked = link(c);
  ASSERT_TRUE(linked.ok());
  const Result<Artifact> other =
      compile(*linked, *find_backend("cpu"), runs_here("aarch64") ? "x86-64" : "aarch64");
  ASSERT_TRUE(other.ok());
  std::string reason;
  EXPECT_EQ(static_cast<const CpuProgram&>(*other->code).load(reason), nullptr);
  EXPECT_EQ(reason, "it is for another machine");
}

TEST_F(Cpu, WritesCodeForOtherMachines) {
  for (std::uint64_t seed = 0; seed < cases(20, 20); ++seed) {
    const Case c = generate_case(seed);
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok());
    const Result<Lowered> lowered = lower(*linked, *find_backend("cpu"), "aarch64");
    ASSERT_TRUE(lowered.ok());
    const Result<std::string> text = show_cpu(*lowered, CpuText::Assembly);
    ASSERT_TRUE(text.ok()) << render(text.diagnostics()[0]);
    EXPECT_NE(text->find("vyre_kernel:"), std::string::npos);
  }
}

}  // namespace
}  // namespace vyre
