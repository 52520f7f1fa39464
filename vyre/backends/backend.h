// What a backend is: it turns a linked program into an artifact without needing a device, and opens
// a device that loads artifacts, owns memory and runs launches. All else, such as dispatching from
// host bytes and checking sizes, is written once on top of this, in runtime/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/interp/interp.h"
#include "vyre/ir/program.h"

namespace vyre {

struct Artifact {
  Linked linked;
  std::string code;  // text or binary for the device; nothing for the interpreter
};

// A loaded artifact, and memory, on one device.
class Kernel {
 public:
  virtual ~Kernel() = default;
};
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
};

// What a launch sees of a memory: its first bytes, whole elements of the buffer.
struct LaunchBuffer {
  DeviceMemory* memory = nullptr;  // none for workgroup memory
  std::uint64_t bytes = 0;
};

struct Launch {
  const Kernel* kernel = nullptr;
  std::vector<LaunchBuffer> buffers;  // in the order in which the program declares them
  Grid grid;
};

struct DeviceInfo {
  std::string backend;
  std::string name;                   // of the device, for people
  std::uint64_t max_invocations = 0;  // in a workgroup
  std::array<std::uint32_t, 3> max_workgroup_size{};
  std::uint64_t max_workgroup_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
};

// How long launches took.
struct RunTimes {
  double seconds = 0;        // all of them together
  std::vector<double> each;  // where the device knows that too
};

// Launches that were checked once, to run again and again.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual Result<RunTimes> run(const RunOptions& options) = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) = 0;
  // At least so many bytes, all zero.
  virtual Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) = 0;
  virtual Result<bool> write(DeviceMemory& memory, std::span<const std::byte> bytes) = 0;
  virtual Result<bool> read(const DeviceMemory& memory, std::span<std::byte> bytes) = 0;
  // One after the other; the seconds that each took.
  virtual Result<std::vector<double>> run(std::span<const Launch> launches,
                                          const RunOptions& options) = 0;
  // The device, kernels and memory outlive it. Unless a device has something better, run() again.
  virtual Result<std::unique_ptr<Recording>> record(std::span<const Launch> launches);
};

// A device, or why there is none.
struct Opened {
  std::unique_ptr<Device> device;
  std::string reason;
  std::uint32_t devices = 1;  // how many the backend has here, if it can run
};

struct Backend {
  std::string_view name;
  std::string_view alias;  // another name for it, or empty
  std::string_view summary;
  int conventions = 0;        // the newest version of Convention that it takes
  bool takes_orders = false;  // runs in a chosen schedule and within a number of steps
  Result<Artifact> (*emit)(const Linked& linked) = nullptr;  // null: not in this build
  Opened (*open)(std::uint32_t device) = nullptr;            // the first one is 0
};

// All that vyre knows, also those that cannot run here.
std::span<const Backend> all_backends();
const Backend* find_backend(std::string_view name);  // or alias
const Backend& default_backend();
// Whether `interp` can do what another backend has refused so.
bool reference_can(const Diagnostic& refusal);

// One of the backend's devices; where it cannot run, B003 with the reason and those that can.
Result<std::unique_ptr<Device>> open_device(const Backend& backend = default_backend(),
                                            std::uint32_t device = 0);

}  // namespace vyre
