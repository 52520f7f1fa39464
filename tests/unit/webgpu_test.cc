// The WebGPU device runs WGSL that was written by hand: what it binds, grids that take several
// dispatches, buffers of all lengths, and what happens on a bad day.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/support/command.h"
#include "tests/support/must.h"
#include "tests/support/webgpu_fixture.h"
#include "tests/support/wgsl_by_hand.h"
#include "vyre/backends/wgsl/gpu.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;

class WebGpuDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    Opened opened = open_test_webgpu();
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    device_ = std::move(opened.device);
  }

  std::unique_ptr<Kernel> kernel_of(const std::string& text) {
    const Linked linked = linked_of(text);
    return must(device_->load({linked, "wgsl", "", wgsl_by_hand(linked)}));
  }

  std::unique_ptr<DeviceMemory> memory_of(const Words& words) {
    std::unique_ptr<DeviceMemory> memory = must(device_->allocate(4 * words.size()));
    const Result<void> done = device_->write(*memory, 0, std::as_bytes(std::span(words)));
    EXPECT_TRUE(done.ok());
    return memory;
  }

  Words words_of(const DeviceMemory& memory, std::size_t count) {
    Words words(count);
    const Result<void> done = device_->read(memory, 0, std::as_writable_bytes(std::span(words)));
    EXPECT_TRUE(done.ok()) << render(done.diagnostics()[0]);
    return words;
  }

  // What `add` leaves in the output, on the device and by the interpreter.
  std::pair<Words, Words> add(const Words& a, const Words& out, const Grid& grid) {
    const std::unique_ptr<Kernel> kernel = kernel_of(kAdd);
    const std::unique_ptr<DeviceMemory> given = memory_of(a);
    const std::unique_ptr<DeviceMemory> taken = memory_of(out);
    const Launch launch{
        kernel.get(), {{given.get(), 4 * a.size()}, {taken.get(), 4 * out.size()}}, grid};
    const std::vector<double> seconds = must(device_->run({&launch, 1}, {}));
    EXPECT_EQ(seconds.size(), 1u);
    DispatchOptions options;
    options.device = &reference();
    const Outputs expected = must(
        dispatch(linked_of(kAdd), grid, {HostBuffer("a", a), HostBuffer("out", out)}, options));
    return {words_of(*taken, out.size()), *expected.get<std::uint32_t>("out")};
  }

  Diagnostic failure_of(const std::string& text, const RunOptions& options = {}) {
    const std::unique_ptr<Kernel> kernel = kernel_of(text);
    const std::unique_ptr<DeviceMemory> out = memory_of(Words(64));
    const Launch launch{kernel.get(), {{out.get(), 256}}, {}};
    const Result<std::vector<double>> done = device_->run({&launch, 1}, options);
    EXPECT_FALSE(done.ok());
    return done.ok() ? Diagnostic{} : done.diagnostics()[0];
  }

  std::unique_ptr<Device> device_;
};

Words counting(std::size_t count, std::uint32_t first = 0) {
  Words words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

TEST_F(WebGpuDevices, RunsWhatIsWrittenByHand) {
  EXPECT_NE(device_->info().name, "");
  EXPECT_GE(device_->info().max_invocations, 128u);
  const auto [found, expected] = add(counting(1000, 7), counting(1000, 3), {16});
  EXPECT_EQ(found, expected);
}

TEST_F(WebGpuDevices, LengthsAreExactAlsoOfEmptyBuffers) {
  for (const std::size_t a : {0u, 1u, 63u, 64u, 65u}) {
    for (const std::size_t out : {0u, 1u, 63u, 64u, 65u, 129u}) {
      const auto [found, expected] = add(counting(a, 5), counting(out, 9), {3});
      EXPECT_EQ(found, expected) << a << " " << out;
    }
  }
}

TEST_F(WebGpuDevices, ALaunchSeesNoMoreOfAMemoryThanItIsGiven) {
  const std::unique_ptr<Kernel> kernel = kernel_of(kAdd);
  const std::unique_ptr<DeviceMemory> a = memory_of(Words(500, 1));
  const std::unique_ptr<DeviceMemory> out = memory_of(Words(500));
  const Launch launch{kernel.get(), {{a.get(), 40}, {out.get(), 400}}, {8}};
  must(device_->run({&launch, 1}, {}));
  Words expected(500);
  for (std::uint32_t i = 0; i < 100; ++i) expected[i] = i + i / 64 + (i < 10 ? 1 : 0);
  EXPECT_EQ(words_of(*out, 500), expected);
}

TEST_F(WebGpuDevices, GridsTakeSeveralDispatches) {
  const Grid grids[] = {{65'537}, {1, 65'536}, {0, 5}};  // an axis takes 65535 at once
  for (const Grid& grid : grids) {
    const std::size_t count = 64 * std::size_t{grid[0]} * grid[1] * grid[2];
    const auto [found, expected] = add(Words(count, 3), Words(count, 2), grid);
    EXPECT_TRUE(found == expected) << grid[0] << " " << grid[1] << " " << grid[2];
  }
}

// More than the queue takes at once.
TEST_F(WebGpuDevices, AGridMayTakeThousandsOfDispatches) {
  std::string reason;
  WebGpu& gpu = *find_webgpu(reason);
  const GridStep most = std::exchange(gpu.max_grid, GridStep{1, 1, 3});
  const auto [found, expected] = add(Words(280'000, 3), Words(280'000, 2), {11, 19, 20});
  gpu.max_grid = most;
  EXPECT_TRUE(found == expected);
}

TEST_F(WebGpuDevices, LaunchesRunInOrderAndEachIsTimed) {
  const std::unique_ptr<Kernel> kernel = kernel_of(kAdd);
  const std::unique_ptr<DeviceMemory> one = memory_of(Words(64, 1));
  const std::unique_ptr<DeviceMemory> other = memory_of(Words(64, 1));
  std::vector<Launch> launches;  // more than a clock measures
  for (int i = 0; i < 300; ++i) {
    const LaunchBuffer first{one.get(), 256};
    const LaunchBuffer second{other.get(), 256};
    launches.push_back(
        {kernel.get(), i % 2 == 0 ? std::vector{first, second} : std::vector{second, first}, {}});
  }
  const std::vector<double> seconds = must(device_->run(launches, {}));
  EXPECT_EQ(seconds.size(), launches.size());
  EXPECT_GT(std::accumulate(seconds.begin(), seconds.end(), 0.0), 0);
  Words a(64, 1), b(64, 1);
  for (int i = 0; i < 300; ++i) {
    for (std::uint32_t k = 0; k < 64; ++k) (i % 2 == 0 ? b : a)[k] += (i % 2 == 0 ? a : b)[k] + k;
  }
  EXPECT_EQ(words_of(*one, 64), a);
  EXPECT_EQ(words_of(*other, 64), b);
}

TEST_F(WebGpuDevices, TablesBelongToTheirKernelAlsoWhereTheTextIsTheSame) {
  for (const auto& [name, expected] : {std::pair{"look_up_low", Words{1, 2, 3, 1}},
                                       std::pair{"look_up_high", Words{100, 200, 300, 100}}}) {
    const std::unique_ptr<Kernel> kernel = kernel_of(one_buffer(name));
    const std::unique_ptr<DeviceMemory> out = memory_of(Words(4));
    const Launch launch{kernel.get(), {{out.get(), 16}}, {}};
    must(device_->run({&launch, 1}, {}));
    EXPECT_EQ(words_of(*out, 4), expected);
  }
}

TEST_F(WebGpuDevices, BytesAreWrittenAndReadAnywhere) {
  std::string expected(1000, '\0');
  const std::unique_ptr<DeviceMemory> memory = must(device_->allocate(expected.size()));
  unsigned value = 1;
  for (const std::size_t offset : {0u, 1u, 2u, 3u, 4u, 7u, 255u, 256u, 600u, 996u, 999u}) {
    for (const std::size_t size : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 31u, 64u, 257u}) {
      if (offset + size > expected.size()) continue;
      for (std::size_t i = 0; i < size; ++i) expected[offset + i] = static_cast<char>(value++);
      const auto bytes = std::as_bytes(std::span(expected).subspan(offset, size));
      ASSERT_TRUE(device_->write(*memory, offset, bytes).ok());
      std::string found(expected.size() - offset, 'x');
      ASSERT_TRUE(device_->read(*memory, offset, std::as_writable_bytes(std::span(found))).ok());
      ASSERT_EQ(found, expected.substr(offset)) << offset << " " << size;
    }
  }
}

TEST_F(WebGpuDevices, LargeCopiesGoInPieces) {
  const std::size_t count = (std::size_t{150} << 20) / 4 + 3;
  const Words words = counting(count);
  const std::unique_ptr<DeviceMemory> memory = memory_of(words);
  EXPECT_TRUE(words_of(*memory, count) == words);
}

TEST_F(WebGpuDevices, SeveralThreadsUseADevice) {
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < 10; ++i) {
        const auto [found, expected] = add(counting(1000, number), counting(1000), {16});
        EXPECT_EQ(found, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// --- Bad days -----------------------------------------------------------------------------------

TEST_F(WebGpuDevices, WhatTheCompilerRefusesIsShownWithItsPlace) {
  const Diagnostic refused = failure_of(one_buffer("wrong"));
  EXPECT_EQ(refused.code, Code::B005);
  EXPECT_NE(refused.problem.find("line 2, column 14: "), std::string::npos) << refused.problem;
  const Diagnostic missing = failure_of(one_buffer("nameless"));
  EXPECT_EQ(missing.code, Code::B005);
  EXPECT_NE(missing.problem.find("main"), std::string::npos) << missing.problem;
  const auto [found, expected] = add(Words(10, 1), Words(10, 1), {});
  EXPECT_EQ(found, expected);
}

TEST_F(WebGpuDevices, MoreBuffersThanADeviceBindsAreRefused) {
  std::string text = "program many workgroup(64) {\n";
  for (int i = 0; i < 2000; ++i) text += "  read b" + std::to_string(i) + ": u32[]\n";
  text += "  read_write out: u32[]\n  out[0] = 0\n}";
  const std::unique_ptr<Kernel> kernel = kernel_of(text);
  const std::unique_ptr<DeviceMemory> memory = memory_of(Words(64));
  const Launch launch{kernel.get(), std::vector<LaunchBuffer>(2001, {memory.get(), 256}), {}};
  const Result<std::vector<double>> done = device_->run({&launch, 1}, {});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.diagnostics()[0].code, Code::B005);
  EXPECT_TRUE(done.diagnostics()[0].problem.starts_with("`many` uses 2001 buffers; "));
}

TEST_F(WebGpuDevices, ABufferThatCannotBeBoundIsRefusedWithTheLimit) {
  const DeviceInfo& info = device_->info();
  const Result<DeviceBuffer> made = make_buffer(*device_, info.max_buffer_bytes + 1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.diagnostics()[0].code, Code::B004);
  const std::string limit = info.buffer_limit + " is " + std::to_string(info.max_buffer_bytes);
  EXPECT_NE(made.diagnostics()[0].problem.find(limit), std::string::npos)
      << made.diagnostics()[0].problem;
}

TEST_F(WebGpuDevices, WithoutMemoryADeviceSaysSoAndGoesOn) {
  std::vector<std::unique_ptr<DeviceMemory>> all;
  Result<std::unique_ptr<DeviceMemory>> next = device_->allocate(100);
  for (int i = 0; i < 1000 && next.ok(); ++i) {
    all.push_back(std::move(*next));
    next = device_->allocate(device_->info().max_buffer_bytes);
  }
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.diagnostics()[0].code, Code::B004) << render(next.diagnostics()[0]);
  all.clear();
  const auto [found, expected] = add(Words(10, 1), Words(10, 1), {});
  EXPECT_EQ(found, expected);
}

TEST_F(WebGpuDevices, ARunIsStopped) {
  const std::atomic<bool> now = true;
  RunOptions options;
  options.stop = &now;
  EXPECT_EQ(failure_of(one_buffer("look_up_low"), options).code, Code::R005);

  std::atomic<bool> later = false;
  options.stop = &later;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    later = true;
  });
  EXPECT_EQ(failure_of(one_buffer("slow"), options).code, Code::R005);
  other.join();
}

// What it had is lost; the next one that is opened works.
TEST_F(WebGpuDevices, ALostDeviceSaysSoAndAnotherIsOpened) {
  std::string reason;
  WebGpu& gpu = *find_webgpu(reason);
  const std::unique_ptr<Kernel> kernel = kernel_of(one_buffer("look_up_low"));
  const std::unique_ptr<DeviceMemory> memory = memory_of(Words(64, 7));
  Dl_info image{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(gpu.api.CreateInstance), &image), 0);
  void* library = dlopen(image.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  using Lose = void (*)(webgpu::Gpu, std::uint32_t, webgpu::Text);
  const auto lose = reinterpret_cast<Lose>(dlsym(library, "wgpuDeviceForceLoss"));
  ASSERT_NE(lose, nullptr);
  lose(gpu.device(), 1, std::string_view("the test wants it"));
  Words words(64);
  const Result<void> read = device_->read(*memory, 0, std::as_writable_bytes(std::span(words)));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.diagnostics()[0].code, Code::B007);
  EXPECT_NE(read.diagnostics()[0].problem.find("the test wants it"), std::string::npos)
      << read.diagnostics()[0].problem;
  EXPECT_FALSE(device_->write(*memory, 0, std::as_bytes(std::span(words))).ok());
  EXPECT_FALSE(device_->allocate(100).ok());
  const Launch launch{kernel.get(), {{memory.get(), 256}}, {}};
  const Result<std::vector<double>> run = device_->run({&launch, 1}, {});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.diagnostics()[0].code, Code::B007);

  device_ = open_test_webgpu().device;
  ASSERT_NE(device_, nullptr);
  const auto [found, expected] = add(Words(10, 1), Words(10, 1), {});
  EXPECT_EQ(found, expected);
}

// --- Without a device ---------------------------------------------------------------------------

// What `vyre backends` says of it with these variables.
std::string said_with(const std::string& variables) {
  const std::string said = backends_with(variables);
  for (const std::string_view line : split(said, '\n')) {
    if (line.starts_with("  wgsl ")) return std::string(line);
  }
  return said;
}

TEST(WebGpuLibrary, AnotherLibraryIsRefused) {
  const std::string missing = said_with("VYRE_WEBGPU=/no/library.so");
  EXPECT_NE(missing.find("VYRE_WEBGPU names what cannot be loaded: /no/library.so"),
            std::string::npos)
      << missing;
  for (const char* other : {"/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib64/libm.so.6"}) {
    if (access(other, R_OK) != 0) continue;
    const std::string said = said_with("VYRE_WEBGPU=" + std::string(other));
    EXPECT_NE(said.find("libm.so.6 has no wgpuGetInstanceCapabilities (install"), std::string::npos)
        << said;
    return;
  }
  GTEST_SKIP() << "no library is where it is looked for";
}

// Dawn would open its backend that computes nothing.
TEST(WebGpuLibrary, WithoutADriverThereIsNoDevice) {
  if (open_test_webgpu().device == nullptr) GTEST_SKIP() << "SKIPPED: " << open_webgpu(0).reason;
  const std::string said = said_with("VK_ICD_FILENAMES=/no/driver.json");
  EXPECT_NE(said.find(" no    Dawn finds no GPU with a Vulkan driver"), std::string::npos) << said;
  EXPECT_NE(said.find("VK_ICD_FILENAMES=/usr/lib/chromium/vk_swiftshader_icd.json"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace vyre
