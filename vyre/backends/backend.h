// What a backend is: it emits code without needing a device, and opens a device that loads code,
// owns memory and runs launches. It calls no passes: compile() gives it a program that is ready to
// be emitted. All else, such as dispatching from host bytes and checking sizes, is written once on
// top of this, in runtime/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/ir/run.h"

namespace vyre {

struct Target;   // passes/lowered.h
class Variants;  // backends/variants.h

// What a backend emitted for a program.
class EmittedCode {
 public:
  virtual ~EmittedCode() = default;
  // As bytes for the disk; empty: it is not kept there.
  virtual std::string pack() const { return {}; }
};

// What a device loads. `code` is null for the interpreter, which runs the program itself.
struct Artifact {
  Linked linked;
  std::string backend = {};
  std::string key = {};  // equal keys, equal code
  std::shared_ptr<const EmittedCode> code = {};
};

// A loaded artifact, and memory, on one device.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

// What a small memory holds, as long as only the host has written to it: launches that read it as a
// uniform can then have code for just these words. Large memory is never known.
class KnownWords {
 public:
  const std::vector<std::uint32_t>* words() const { return words_ ? &*words_ : nullptr; }
  void reset(std::uint64_t bytes);  // zeros
  // To memory of this size, at a byte of it.
  void write(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size);
  void forget() { words_.reset(); }
  static constexpr std::uint64_t kMax = 4096;  // bytes

 private:
  std::optional<std::vector<std::uint32_t>> words_;
};

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  KnownWords known;  // of devices that choose code by it
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
  std::string name;       // of the device, for people
  std::string kind = {};  // of machine that code for it is made for, as emitters know it
  std::uint64_t max_invocations = 0;  // in a workgroup
  std::array<std::uint32_t, 3> max_workgroup_size{};
  std::uint64_t max_workgroup_bytes = 0;
  std::uint64_t max_buffer_bytes = 0;
  std::string buffer_limit = {};  // what its interface calls that; empty: it is all the memory
  // Why the interpreter runs instead of a faster backend that nobody chose otherwise; mostly empty.
  std::string note;
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
  // At least this many bytes, all zero.
  virtual Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) = 0;
  // `offset` counts bytes.
  virtual Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                             std::span<const std::byte> bytes) = 0;
  virtual Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                            std::span<std::byte> bytes) = 0;
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

// How a backend makes code.
struct Emitter {
  // What code for a kind of machine is made for. An empty kind is this machine.
  Result<Target> (*target)(std::string_view kind) = nullptr;
  // Of a program that was lowered for that target.
  Result<std::shared_ptr<const EmittedCode>> (*emit)(std::unique_ptr<Variants> variants) = nullptr;
  // What pack() gave; null where the bytes are something else. A backend that packs nothing has no
  // such function.
  std::shared_ptr<const EmittedCode> (*unpack)(std::string_view bytes) = nullptr;
  // Called on another thread while the program is optimised: loads what emit() will need.
  void (*prepare)() = nullptr;
};

struct Backend {
  std::string_view name;
  std::string_view alias;  // another name for it, or empty
  std::string_view summary;
  bool takes_orders = false;  // runs in a chosen schedule and within a number of steps
  Opened (*open)(std::uint32_t device) = nullptr;  // the first one is 0
  const Emitter* emitter = nullptr;  // null: it runs programs as they are, or is not in this build
};

// All that vyre knows, also those that cannot run here.
std::span<const Backend> all_backends();
const Backend* find_backend(std::string_view name);  // or alias
const Backend& default_backend();
// Whether `interp` can run what another backend refused with this diagnostic.
bool reference_can(const Diagnostic& refusal);

// One of the backend's devices; where it cannot run, B003 with the reason and those that can.
Result<std::unique_ptr<Device>> open_device(const Backend& backend, std::uint32_t device = 0);
// By the name of the backend, or its alias; `open_device("cuda", 1)`.
Result<std::unique_ptr<Device>> open_device(std::string_view backend, std::uint32_t device = 0);
// The fastest one for all programs: `cpu`, or the interpreter with a note that says why.
Result<std::unique_ptr<Device>> open_device();

}  // namespace vyre
