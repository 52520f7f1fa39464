#include "vyre/backends/interp/device.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "vyre/base/zeroed.h"
#include "vyre/interp/interp.h"
#include "vyre/interp/script.h"

namespace vyre {
namespace {

struct InterpKernel : Kernel {
  Script script;
};

struct HostMemory : DeviceMemory {
  ZeroedArray<std::byte> bytes;
};

// What the locals of the invocations of a workgroup may take together. Those of 1024, as many as a
// GPU has, fit with all the arrays that a body may have, of whose elements each takes a Bits.
constexpr std::uint64_t kMaxStateBytes = std::uint64_t{512} << 20;

std::string device_name() {
  return "reference interpreter on " +
         std::to_string(std::max(1u, std::thread::hardware_concurrency())) + " threads";
}

class InterpDevice : public Device {
 public:
  explicit InterpDevice(std::string note = {}) {
    info_.backend = "interp";
    info_.name = device_name();
    info_.max_invocations = 65536;
    info_.max_workgroup_size = {65536, 65536, 65536};
    info_.max_workgroup_bytes = std::uint64_t{64} << 20;
    info_.max_buffer_bytes = physical_memory() / 2;
    info_.note = std::move(note);
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    Result<Script> script = load_script(artifact.linked);
    if (!script) return script.diagnostics();
    auto kernel = std::make_unique<InterpKernel>();
    kernel->script = std::move(*script);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    auto memory = std::make_unique<HostMemory>();
    if (bytes > info_.max_buffer_bytes || !memory->bytes.allocate(bytes)) {
      return diagnose<message::out_of_memory>(bytes, info_.name);
    }
    return std::unique_ptr<DeviceMemory>(std::move(memory));
  }

  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    const auto to = static_cast<HostMemory&>(memory).bytes.span().subspan(offset);
    std::ranges::copy(bytes, to.begin());
    return {};
  }

  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    const auto from = static_cast<const HostMemory&>(memory).bytes.span();
    std::ranges::copy(from.subspan(offset, bytes.size()), bytes.begin());
    return {};
  }

  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    std::vector<double> seconds;
    for (const Launch& launch : launches) {
      std::vector<Memory> buffers;
      for (const LaunchBuffer& buffer : launch.buffers) {
        auto* memory = static_cast<HostMemory*>(buffer.memory);
        buffers.push_back(memory == nullptr ? Memory() : memory->bytes.span().first(buffer.bytes));
      }
      const Script& script = static_cast<const InterpKernel*>(launch.kernel)->script;
      const auto begin = std::chrono::steady_clock::now();
      const Result<RunStats> stats = interpret(script, launch.grid, buffers, options);
      if (!stats) return stats.diagnostics();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds.push_back(took.count());
    }
    return seconds;
  }

 private:
  DeviceInfo info_;
};

}  // namespace

Result<Script> load_script(const Linked& linked) {
  Script script = make_script(linked);
  const Program& program = linked.program();
  const std::uint64_t bytes = script.state_bytes() * invocations_of(program);
  if (bytes > kMaxStateBytes) {
    return diagnose<message::large_state>(program.name, bytes, device_name(), kMaxStateBytes);
  }
  return script;
}

Opened open_interp(std::uint32_t) { return {std::make_unique<InterpDevice>(), {}}; }

std::unique_ptr<Device> open_interp(std::string note) {
  return std::make_unique<InterpDevice>(std::move(note));
}

}  // namespace vyre
