// The Vulkan device runs shaders that are written by hand: what is bound where, grids in parts,
// memory, copies, sequences, errors. All of it on lavapipe unless the environment names another
// driver, and under the validation layers. Without them or a device only the reasons are tested.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "tests/support/drivers.h"
#include "tests/support/spirv_assembly.h"
#include "vyre/backends/cache.h"
#include "vyre/backends/spirv/batch.h"
#include "vyre/backends/spirv/code.h"
#include "vyre/backends/spirv/device.h"
#include "vyre/backends/spirv/gpu.h"
#include "vyre/base/random.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;

// --- Without a device ---------------------------------------------------------------------------

// What `vyre backends` says of it, in an environment of its own.
std::string said_with(const std::string& environment) {
  const std::string said = backends_with(environment);
  for (const std::string_view line : split(said, '\n')) {
    if (line.starts_with("  spirv ")) return std::string(line);
  }
  return {};
}

TEST(VulkanLoader, SaysWhyThereIsNoDevice) {
  if (open_vulkan(0).reason.find("libvulkan") != std::string::npos) GTEST_SKIP() << "no loader";
  const std::string none = said_with("VK_ICD_FILENAMES=/nowhere VK_DRIVER_FILES=/nowhere");
  EXPECT_NE(none.find("there is no Vulkan driver (install the driver of the GPU"),
            std::string::npos)
      << none;
  const std::string layers =
      said_with("VYRE_VULKAN_VALIDATE=1 VK_LAYER_PATH=/nowhere XDG_DATA_DIRS=/nowhere");
  EXPECT_NE(layers.find("the validation layer is not installed"), std::string::npos) << layers;
}

TEST(VulkanLoader, ALibraryThatIsNoLoaderIsRefused) {
  for (const char* other : {"/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib64/libm.so.6"}) {
    if (access(other, R_OK) != 0) continue;
    const std::string folder = ::testing::TempDir() + "vyre_loader_" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(other, folder + "/libvulkan.so.1");
    const std::string said = said_with("LD_LIBRARY_PATH=" + folder);
    std::filesystem::remove_all(folder);
    EXPECT_NE(said.find("has no vkGetInstanceProcAddr (install"), std::string::npos) << said;
    return;
  }
  GTEST_SKIP() << "no library is where it is looked for";
}

// --- With one -----------------------------------------------------------------------------------

// Shaders by the names of their programs.
struct HandWritten {
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> tables;
};
std::map<std::string, HandWritten>& shaders() {
  static auto& all = *new std::map<std::string, HandWritten>;
  return all;
}

Result<SpirvKernel> look_up(const Lowered& lowered, const SourceLines&) {
  const Program& program = lowered.program;
  SpirvKernel kernel{{lowered.launch, program.workgroup_size, {}, shaders()[program.name].tables},
                     shaders()[program.name].words};
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const bool is_written = program.buffers[i].access == BufferAccess::ReadWrite;
    if (is_bound(program.buffers[i].access))
      kernel.call.buffers.push_back({BufferId(i), is_written});
  }
  return kernel;
}

const Emitter kLookUp = {
    [](std::string_view) -> Result<Target> { return Target{"by hand", {}}; },
    [](std::unique_ptr<Variants> variants) -> Result<std::shared_ptr<const EmittedCode>> {
      return std::shared_ptr<const EmittedCode>(
          std::make_shared<const SpirvProgram>(std::move(variants), look_up));
    }};

constexpr const char* kXor = R"(
%p0 = OpAccessChain %pointer %b0 %u0 %i
%p1 = OpAccessChain %pointer %b1 %u0 %i
%p2 = OpAccessChain %pointer %b2 %u0 %i
%v0 = OpLoad %uint %p0
%v1 = OpLoad %uint %p1
%v2 = OpBitwiseXor %uint %v0 %v1
OpStore %p2 %v2
)";

// to[i] = to[i] + from[i]
constexpr const char* kAdd = R"(
%p0 = OpAccessChain %pointer %b0 %u0 %i
%p1 = OpAccessChain %pointer %b1 %u0 %i
%v0 = OpLoad %uint %p0
%v1 = OpLoad %uint %p1
%v2 = OpIAdd %uint %v0 %v1
OpStore %p1 %v2
)";

class Vulkan : public ::testing::Test {
 protected:
  void SetUp() override {
    Opened opened = open_vulkan(0);
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    device_ = std::move(opened.device);
    std::string reason;
    gpu_ = &find_gpu(*vulkan::load_vulkan(reason), 0);
    ASSERT_TRUE(gpu_->start().ok());
    if (assemble_spirv(spirv_shader(1, "", 1)).empty()) {
      device_ = nullptr;
      GTEST_SKIP() << "there is no spirv-as (on Debian: apt install spirv-tools)";
    }
  }
  void TearDown() override { EXPECT_EQ(vulkan::take_complaint(), ""); }

  // Of a program with so many buffers of words, the last one written.
  std::unique_ptr<Kernel> load(const std::string& name, std::size_t buffers,
                               const HandWritten& shader, std::uint32_t size = 64) {
    shaders()[name] = shader;
    std::string text = "program " + name + " workgroup(" + std::to_string(size) + ") {\n";
    for (std::size_t i = 0; i < buffers; ++i) {
      const bool is_last = i + 1 == buffers;
      text +=
          std::string(is_last ? "  read_write b" : "  read b") + std::to_string(i) + ": u32[]\n";
    }
    text += "  b" + std::to_string(buffers - 1) + "[invocation_id.x] = 1\n}\n";
    const Result<Loaded> loaded = load_module({"hand.vyre", text});
    if (!loaded.ok()) ADD_FAILURE() << render(loaded.diagnostics()[0]);
    const Backend backend{"spirv", "vulkan", "", false, open_vulkan, &kLookUp};
    const Result<Artifact> artifact = compile(program_at(*loaded, 0), backend);
    if (!artifact.ok()) ADD_FAILURE() << render(artifact.diagnostics()[0]);
    Result<std::unique_ptr<Kernel>> kernel = device_->load(*artifact);
    if (!kernel.ok()) ADD_FAILURE() << render(kernel.diagnostics()[0]);
    return std::move(*kernel);
  }
  std::unique_ptr<Kernel> assemble(const std::string& name, std::size_t buffers,
                                   const std::string& body, std::uint32_t size = 64) {
    return load(name, buffers, {assemble_spirv(spirv_shader(buffers, body, size)), {}}, size);
  }

  LaunchBuffer make(const Words& words) {
    const std::uint64_t bytes = words.size() * 4;
    Result<std::unique_ptr<DeviceMemory>> memory = device_->allocate(bytes);
    if (!memory.ok()) ADD_FAILURE() << render(memory.diagnostics()[0]);
    const Result<void> done = device_->write(**memory, 0, std::as_bytes(std::span(words)));
    if (!done.ok()) ADD_FAILURE() << render(done.diagnostics()[0]);
    memory_.push_back(std::move(*memory));
    return {memory_.back().get(), bytes};
  }
  Words read(const LaunchBuffer& buffer) {
    Words words(buffer.bytes / 4);
    const Result<void> done =
        device_->read(*buffer.memory, 0, std::as_writable_bytes(std::span(words)));
    if (!done.ok()) ADD_FAILURE() << render(done.diagnostics()[0]);
    return words;
  }
  void run(const Launch& launch) {
    const Result<std::vector<double>> seconds = device_->run({&launch, 1}, {});
    ASSERT_TRUE(seconds.ok()) << render(seconds.diagnostics()[0]);
    EXPECT_EQ(seconds->size(), 1u);
    EXPECT_GE((*seconds)[0], 0);
  }

  std::unique_ptr<Device> device_;
  VulkanGpu* gpu_ = nullptr;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
};

Words numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Words words(count);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random.next());
  return words;
}

TEST_F(Vulkan, BuffersOfAllLengthsAreBoundWhereTheyBelong) {
  const auto kernel = assemble("xor_words", 3, kXor);
  for (const std::size_t length : {0u, 1u, 63u, 64u, 65u, 1000u, 100'000u}) {
    const Words a = numbers(length, 1);
    const Words b = numbers(length, 2);
    Words expected(length);
    std::ranges::transform(a, b, expected.begin(), std::bit_xor());
    const LaunchBuffer out = make(Words(length));
    run({kernel.get(), {make(a), make(b), out}, Grid{static_cast<std::uint32_t>(length / 64 + 1)}});
    EXPECT_EQ(read(out), expected) << length;
  }
}

// Each workgroup counts itself in two places: where its id says, and in all.
TEST_F(Vulkan, GridsTakeAsManyLaunchesAsTheyNeed) {
  const auto kernel = assemble("count", 1, R"(
%y7 = OpIMul %uint %y %u7
%z5 = OpIMul %uint %z %u5
%xy = OpIAdd %uint %x %y7
%sum = OpIAdd %uint %xy %z5
%last = OpISub %uint %n0 %u1
%rest = OpUMod %uint %sum %last
%at = OpIAdd %uint %rest %u1
%p0 = OpAccessChain %pointer %b0 %u0 %u0
%p1 = OpAccessChain %pointer %b0 %u0 %at
%old0 = OpAtomicIAdd %uint %p0 %u1 %u0 %u1
%old1 = OpAtomicIAdd %uint %p1 %u1 %u0 %u1
)",
                               1);
  constexpr std::uint32_t kCount = 100'000;
  for (const Grid& grid :
       {Grid{1, 65535, 1}, Grid{1, 65536, 1}, Grid{3, 65537, 2}, Grid{70000, 3, 1},
        Grid{1, 2, 65537}, Grid{65536, 1, 1}, Grid{0, 5, 1}}) {
    Words expected(kCount + 1);
    for (std::uint32_t z = 0; z < grid[2]; ++z) {
      for (std::uint32_t y = 0; y < grid[1]; ++y) {
        for (std::uint32_t x = 0; x < grid[0]; ++x) {
          ++expected[0];
          ++expected[1 + (x + 7 * y + 5 * z) % kCount];
        }
      }
    }
    const LaunchBuffer out = make(Words(kCount + 1));
    run({kernel.get(), {out}, grid});
    EXPECT_EQ(read(out), expected) << grid[0] << "," << grid[1] << "," << grid[2];
  }
}

// More than a batch has room for, each after the one before.
TEST_F(Vulkan, ManyLaunchesInOneRun) {
  const auto kernel = assemble("add_words", 2, kAdd);
  const LaunchBuffer a = make(Words(100, 1));
  const LaunchBuffer b = make(Words(100, 0));
  std::vector<Launch> launches;
  std::uint32_t x = 1;
  std::uint32_t y = 0;
  for (int i = 0; i < 3000; ++i) {
    launches.push_back({kernel.get(), {a, b}, Grid{2}});
    launches.push_back({kernel.get(), {b, a}, Grid{2}});
    y += x;
    x += y;
  }
  const Result<std::vector<double>> seconds = device_->run(launches, {});
  ASSERT_TRUE(seconds.ok()) << render(seconds.diagnostics()[0]);
  EXPECT_EQ(seconds->size(), launches.size());
  EXPECT_GT(std::accumulate(seconds->begin(), seconds->end(), 0.0), 0);
  EXPECT_EQ(read(a), Words(100, x));
  EXPECT_EQ(read(b), Words(100, y));
}

TEST_F(Vulkan, SequencesRunAgainAndAgain) {
  const auto kernel = assemble("add_words", 2, kAdd);
  const LaunchBuffer a = make(Words(1000, 1));
  const LaunchBuffer b = make(Words(1000, 0));
  // As many as a batch has room for, and more.
  for (const int count : {3, 2100}) {
    std::vector<Launch> launches;
    for (int i = 0; i < count; ++i) {
      launches.push_back({kernel.get(), {a, b}, Grid{16}});
      launches.push_back({kernel.get(), {b, a}, Grid{16}});
    }
    Words before = read(a);
    Words after = read(b);
    Result<std::unique_ptr<Recording>> recording = device_->record(launches);
    ASSERT_TRUE(recording.ok()) << render(recording.diagnostics()[0]);
    EXPECT_EQ(read(b), after);  // nothing has run
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < count; ++i) {
        after[0] += before[0];
        before[0] += after[0];
      }
      const Result<RunTimes> times = (*recording)->run({});
      ASSERT_TRUE(times.ok()) << render(times.diagnostics()[0]);
      EXPECT_GT(times->seconds, 0);
      EXPECT_EQ(read(a), Words(1000, before[0]));
      EXPECT_EQ(read(b), Words(1000, after[0]));
    }
  }
  const Launch nothing{kernel.get(), {a, b}, Grid{0, 1, 1}};
  Result<std::unique_ptr<Recording>> empty = device_->record({&nothing, 1});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->run({}).ok());
}

TEST_F(Vulkan, TablesAreBoundBeforeTheBuffers) {
  const std::string body = R"(
%p0 = OpAccessChain %pointer %b0 %u0 %i
%p1 = OpAccessChain %pointer %table %u0 %i
%v1 = OpLoad %uint %p1
OpStore %p0 %v1
)";
  const std::vector<std::uint32_t> words = assemble_spirv(spirv_shader(1, body, 64, true));
  const Words first = numbers(64, 5);
  const Words second = numbers(64, 6);
  const auto one = load("one_table", 1, {words, first});
  const auto other = load("other_table", 1, {words, second});
  for (const auto& [kernel, expected] :
       {std::pair(one.get(), first), std::pair(other.get(), second)}) {
    const LaunchBuffer out = make(Words(64));
    run({kernel, {out}, Grid{1}});
    EXPECT_EQ(read(out), expected);
  }
}

TEST_F(Vulkan, BuffersBeginAsZerosAndKeepWhatIsWritten) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{4}, 3 * kMiB + 8, 4 * kMiB, 65 * kMiB, 100 * kMiB}) {
    for (int round = 0; round < 2; ++round) {  // what the first leaves behind is not seen
      const Result<std::unique_ptr<DeviceMemory>> memory = device_->allocate(bytes);
      ASSERT_TRUE(memory.ok()) << render(memory.diagnostics()[0]);
      const LaunchBuffer buffer{memory->get(), bytes};
      ASSERT_EQ(read(buffer), Words(bytes / 4)) << bytes;
      const Words contents = numbers(bytes / 4, bytes + 1);
      ASSERT_TRUE(device_->write(**memory, 0, std::as_bytes(std::span(contents))).ok());
      ASSERT_TRUE(read(buffer) == contents) << bytes;
    }
  }
}

// As on a GPU of its own, whose memory the host does not see.
TEST_F(Vulkan, MemoryThatTheHostDoesNotSeeIsCopiedInChunks) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, (std::size_t{3} << 20) + 5,
                                  (std::size_t{70} << 20) + 3}) {
    Result<VulkanPiece> piece = gpu_->allocate(bytes + 100);
    ASSERT_TRUE(piece.ok());
    ASSERT_GE(piece->bytes, bytes + 100);
    piece->host = nullptr;
    std::vector<std::byte> contents(bytes);
    Random random(bytes);
    for (std::byte& byte : contents) byte = static_cast<std::byte>(random.next());
    ASSERT_TRUE(gpu_->write(*piece, 77, contents).ok());
    std::vector<std::byte> found(bytes + 77);
    ASSERT_TRUE(gpu_->read(*piece, 0, found).ok());
    EXPECT_EQ(std::ranges::count(std::span(found).first(77), std::byte{0}), 77);
    EXPECT_TRUE(std::ranges::equal(std::span(found).subspan(77), contents)) << bytes;
    ASSERT_TRUE(gpu_->clear(*piece).ok());
    ASSERT_TRUE(gpu_->read(*piece, 77, std::span(found).subspan(77)).ok());
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(found, std::byte{0})), found.size());
    gpu_->free(*piece);
  }
}

// Pieces never overlap, and what is given back is used again: all of it fits into little memory.
TEST_F(Vulkan, FreedMemoryIsUsedAgain) {
  std::map<std::pair<VkBuffer, std::uint64_t>, VulkanPiece> taken;
  std::set<const void*> blocks;
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() > 100 || (!taken.empty() && random.below(3) == 0)) {
      const auto given_back =
          std::next(taken.begin(), random.below(static_cast<std::uint32_t>(taken.size())));
      gpu_->host_memory().free(given_back->second);
      taken.erase(given_back);
      continue;
    }
    VulkanPiece piece;
    ASSERT_EQ(gpu_->host_memory().allocate(random.below(100'000), piece), VK_SUCCESS);
    EXPECT_EQ(piece.offset % 256, 0u);
    blocks.insert(piece.block);
    const auto next = taken.upper_bound({piece.buffer, piece.offset});
    if (next != taken.end() && next->first.first == piece.buffer) {
      ASSERT_LE(piece.offset + piece.bytes, next->second.offset);
    }
    if (next != taken.begin() && std::prev(next)->first.first == piece.buffer) {
      ASSERT_LE(std::prev(next)->second.offset + std::prev(next)->second.bytes, piece.offset);
    }
    taken.emplace(std::pair(piece.buffer, piece.offset), piece);
  }
  for (const auto& [where, piece] : taken) gpu_->host_memory().free(piece);
  EXPECT_LE(blocks.size(), 5u);  // 4 + 8 + 16 MiB hold all that there is at a time
}

TEST_F(Vulkan, BuffersBeyondTheRangeOfBindingsAreRefused) {
  const std::uint64_t most = device_->info().max_buffer_bytes;
  const Result<DeviceBuffer> refused = make_buffer(*device_, most + 1);
  ASSERT_FALSE(refused.ok());
  const Diagnostic& why = refused.diagnostics()[0];
  EXPECT_EQ(name(why.code), "B004");
  EXPECT_NE(why.problem.find(std::to_string(most)), std::string::npos) << why.problem;
}

// --- What a device refuses ----------------------------------------------------------------------

TEST_F(Vulkan, AKernelBeyondTheLimitsIsRefused) {
  SpirvKernel kernel{{}, assemble_spirv(spirv_shader(1, "", 1))};
  kernel.call.buffers.resize(std::size_t{1} << 21);
  Result<std::shared_ptr<const VulkanCode>> code = gpu_->load(kernel, "many");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(name(code.diagnostics()[0].code), "B005");
  EXPECT_NE(code.diagnostics()[0].problem.find("`many` uses 2097152 buffers"), std::string::npos)
      << code.diagnostics()[0].problem;
  kernel.call.buffers.resize(1);
  kernel.call.block = {1u << 20, 1, 1};
  code = gpu_->load(kernel, "large");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(name(code.diagnostics()[0].code), "B001");
}

// The call fails with what the layer says, and the device goes on.
TEST_F(Vulkan, WhatTheValidationLayerFindsIsAnError) {
  std::string body = kXor;
  body.replace(body.find("OpBitwiseXor %uint"), 18, "OpBitwiseXor %bool");
  const auto wrong = assemble("not_spirv", 3, body);
  const LaunchBuffer a = make(Words(64, 3));
  const LaunchBuffer b = make(Words(64, 5));
  const LaunchBuffer out = make(Words(64));
  const Launch launch{wrong.get(), {a, b, out}, Grid{1}};
  const Result<std::vector<double>> seconds = device_->run({&launch, 1}, {});
  ASSERT_FALSE(seconds.ok());
  EXPECT_EQ(name(seconds.diagnostics()[0].code), "B007");
  EXPECT_NE(seconds.diagnostics()[0].problem.find("SPIR-V module not valid"), std::string::npos)
      << seconds.diagnostics()[0].problem;
  const auto right = assemble("xor_words", 3, kXor);
  run({right.get(), {a, b, out}, Grid{1}});
  EXPECT_EQ(read(out), Words(64, 3 ^ 5));
}

// --- Interruption, threads, the disk ------------------------------------------------------------

// v = v * 5 + 1, b0[0] times
constexpr const char* kLong = R"(
%p0 = OpAccessChain %pointer %b0 %u0 %u0
%p1 = OpAccessChain %pointer %b1 %u0 %i
%rounds = OpLoad %uint %p0
OpBranch %head
%head = OpLabel
%k = OpPhi %uint %u0 %inside %k1 %again
%v = OpPhi %uint %i %inside %v2 %again
OpLoopMerge %end %again None
OpBranch %test
%test = OpLabel
%goes_on = OpULessThan %bool %k %rounds
OpBranchConditional %goes_on %work %end
%work = OpLabel
%v1 = OpIMul %uint %v %u5
%v2 = OpIAdd %uint %v1 %u1
OpBranch %again
%again = OpLabel
%k1 = OpIAdd %uint %k %u1
OpBranch %head
%end = OpLabel
OpStore %p1 %v
)";

TEST_F(Vulkan, StopsWaitingAndGoesOnLater) {
  constexpr std::uint32_t kRounds = 60'000;  // lavapipe ends loops after 65535 of them
  constexpr std::uint32_t kGroups = 4'000;
  const auto slow = assemble("slow", 2, kLong, 1);
  const auto add = assemble("add_words", 2, kAdd);
  LaunchBuffer rounds = make(Words(1, kRounds));
  LaunchBuffer out = make(Words(kGroups));
  const Launch launch{slow.get(), {rounds, out}, Grid{kGroups}};
  Result<std::unique_ptr<Recording>> recording = device_->record({&launch, 1});
  ASSERT_TRUE(recording.ok());
  for (const bool is_recorded : {false, true}) {
    std::atomic<bool> stop = false;
    RunOptions options;
    options.stop = &stop;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = true;
    });
    const std::vector<Diagnostic> wrong = is_recorded
                                              ? (*recording)->run(options).diagnostics()
                                              : device_->run({&launch, 1}, options).diagnostics();
    other.join();
    ASSERT_EQ(wrong.size(), 1u) << "it was over too soon";
    EXPECT_EQ(name(wrong[0].code), "R005");
    // Nothing is launched when it is known before.
    EXPECT_FALSE(device_->run({&launch, 1}, options).ok());
    EXPECT_FALSE((*recording)->run(options).ok());
  }
  // What is given back now is not used again while the kernels may still write to it.
  recording = std::unique_ptr<Recording>();
  memory_.clear();
  const Result<std::unique_ptr<DeviceMemory>> fresh = device_->allocate(4 * kGroups);
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(read({fresh->get(), 4 * kGroups}), Words(kGroups));
  const LaunchBuffer a = make(Words(1000, 1));
  const LaunchBuffer b = make(Words(1000, 2));
  run({add.get(), {a, b}, Grid{16}});
  EXPECT_EQ(read(b), Words(1000, 3));
  EXPECT_EQ(read(a), Words(1000, 1));
}

TEST_F(Vulkan, RunsOnSeveralThreadsAtOnce) {
  const auto kernel = assemble("xor_words", 3, kXor);
  std::vector<std::array<LaunchBuffer, 3>> buffers;
  for (std::uint32_t i = 0; i < 4; ++i) {
    buffers.push_back({make(numbers(5000, i)), make(Words(5000, i)), make(Words(5000))});
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const auto& [a, b, out] = buffers[i];
      const Launch launch{kernel.get(), {a, b, out}, Grid{79}};
      Words found(5000);
      for (std::uint32_t k = 0; k < 50; ++k) {
        const Words other(5000, k);
        const bool done =
            device_->write(*b.memory, 0, std::as_bytes(std::span(other))).ok() &&
            device_->run({&launch, 1}, {}).ok() &&
            device_->read(*out.memory, 0, std::as_writable_bytes(std::span(found))).ok();
        Words expected = numbers(5000, i);
        for (std::uint32_t& word : expected) word ^= k;
        if (!done || found != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// What the driver made is found again; what is damaged is made again.
TEST_F(Vulkan, PipelinesAreKeptOnDisk) {
  const char* before = std::getenv("VYRE_CACHE");
  const std::string kept_in = before != nullptr ? before : "";
  const std::string folder = ::testing::TempDir() + "vyre_pipelines_" + std::to_string(getpid());
  setenv("VYRE_CACHE", folder.c_str(), 1);
  SpirvKernel kernel{{}, assemble_spirv(spirv_shader(3, kXor, 32))};
  kernel.call.buffers.resize(3);
  const std::string key = gpu_->cache_key(kernel.words);
  EXPECT_FALSE(read_cache(key));
  EXPECT_TRUE(gpu_->load(kernel, "kept").ok());
  const std::optional<std::string> kept = read_cache(key);
  ASSERT_TRUE(kept);
  ASSERT_GE(kept->size(), sizeof(VkPipelineCacheHeaderVersionOne));
  for (const std::string& damaged : {std::string("not a cache"), *kept + std::string(100, 'x')}) {
    kernel.words = assemble_spirv(spirv_shader(3, kXor, damaged.size() < 20 ? 16 : 8));
    write_cache(gpu_->cache_key(kernel.words), damaged);
    EXPECT_TRUE(gpu_->load(kernel, "damaged").ok());
  }
  std::filesystem::remove_all(folder);
  kept_in.empty() ? unsetenv("VYRE_CACHE") : setenv("VYRE_CACHE", kept_in.c_str(), 1);
}

}  // namespace
}  // namespace vyre
