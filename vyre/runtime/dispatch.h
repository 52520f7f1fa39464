// Running programs from the host.
//
// dispatch() takes a program and host bytes and gives back the contents of every read_write buffer.
// For more than one run there are the parts it is made of: a Pipeline is a program loaded on a
// device, a DeviceBuffer keeps its contents there between runs, and run() launches pipelines one
// after the other. All that can be wrong with sizes, grids and bindings is found before anything
// runs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"

namespace vyre {

// --- One run from host bytes --------------------------------------------------------------------

// The contents of one buffer of a program, borrowed from the host: bytes, or a range of numbers.
struct HostBuffer {
  std::string_view name;
  std::span<const std::byte> bytes;

  HostBuffer(std::string_view buffer, std::span<const std::byte> contents)
      : name(buffer), bytes(contents) {}
  template <std::ranges::contiguous_range Range>
    requires std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>
  HostBuffer(std::string_view buffer, const Range& range)
      : name(buffer), bytes(std::as_bytes(std::span(range))) {}
};

// A read_write buffer after a run.
struct OutputBuffer {
  std::string name;
  DataType element = DataType::U32;
  std::vector<std::byte> bytes;
};

struct Outputs {
  std::vector<OutputBuffer> buffers;  // in the order of their bindings
  double seconds = 0;                 // of the run itself

  // The elements of one of them, as numbers of the type that the caller names; empty when there is
  // no such buffer.
  template <class Number>
  std::vector<Number> get(std::string_view name) const;
};

struct DispatchOptions {
  Device* device = nullptr;  // none: the default backend's, or one that runs in a chosen order
  const Registry* registry = nullptr;  // with the ops that the program calls; none: the library
  RunOptions run;
  const SourceLines* source = nullptr;  // for profilers; see source_lines()
};

Result<Outputs> dispatch(const Program& program, const Grid& grid,
                         std::span<const HostBuffer> buffers, const DispatchOptions& options = {});
Result<Outputs> dispatch(const Program& program, const Grid& grid,
                         std::initializer_list<HostBuffer> buffers,
                         const DispatchOptions& options = {});

// The read_write buffers of a program in the order of their bindings.
std::vector<BufferId> outputs_of(const Program& program);

// --- Programs and buffers that stay on a device -------------------------------------------------

struct PipelineOptions {
  const Registry* registry = nullptr;    // as above
  std::optional<Convention> convention;  // that the program must fit
  const SourceLines* source = nullptr;   // for profilers; see source_lines()
};

// A valid program that fits a device, loaded on it. The device outlives it.
class Pipeline {
 public:
  const Program& program() const { return program_; }
  Device& device() const { return *device_; }

 private:
  friend Result<Pipeline> make_pipeline(Device&, const Program&, const PipelineOptions&);
  friend Result<std::vector<Launch>> make_launches(Device&, std::span<const struct PipelineLaunch>);
  Pipeline(Device& device, Program program, std::unique_ptr<Kernel> kernel)
      : device_(&device), program_(std::move(program)), kernel_(std::move(kernel)) {}

  Device* device_;
  Program program_;
  std::unique_ptr<Kernel> kernel_;
};

Result<Pipeline> make_pipeline(Device& device, const Program& program,
                               const PipelineOptions& options = {});

// Memory on a device. The device outlives it. A `bytes` buffer sees it padded to whole words.
class DeviceBuffer {
 public:
  std::uint64_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }

 private:
  friend Result<DeviceBuffer> make_buffer(Device&, std::uint64_t);
  friend Result<DeviceBuffer> make_buffer(Device&, std::span<const std::byte>);
  friend Result<std::vector<std::byte>> read_buffer(const DeviceBuffer&);
  friend Result<bool> write_buffer(DeviceBuffer&, std::span<const std::byte>);
  friend Result<std::vector<Launch>> make_launches(Device&, std::span<const struct PipelineLaunch>);
  friend Result<Outputs> dispatch(const Program&, const Grid&, std::span<const HostBuffer>,
                                  const DispatchOptions&);
  DeviceBuffer(Device& device, std::unique_ptr<DeviceMemory> memory, std::uint64_t bytes)
      : device_(&device), memory_(std::move(memory)), bytes_(bytes) {}

  Device* device_;
  std::unique_ptr<DeviceMemory> memory_;
  std::uint64_t bytes_;
};

Result<DeviceBuffer> make_buffer(Device& device, std::uint64_t bytes);  // zeros
Result<DeviceBuffer> make_buffer(Device& device, std::span<const std::byte> contents);
Result<std::vector<std::byte>> read_buffer(const DeviceBuffer& buffer);
Result<bool> write_buffer(DeviceBuffer& buffer, std::span<const std::byte> contents);

struct BoundBuffer {
  std::string_view name;
  DeviceBuffer* buffer = nullptr;
};

struct PipelineLaunch {
  const Pipeline* pipeline = nullptr;
  Grid grid;
  std::vector<BoundBuffer> buffers;
};

// Runs them in order, each after the end of the one before; gives the seconds that each took. All
// of them are checked before the first one starts.
Result<std::vector<double>> run(Device& device, std::span<const PipelineLaunch> launches,
                                const RunOptions& options = {});

// Launches that were checked once, to run again and again; on a GPU that takes the host far less
// time than run(). The pipelines and buffers outlive it.
class Sequence {
 public:
  Result<RunTimes> run(const RunOptions& options = {});
  Device& device() const { return *device_; }

 private:
  friend Result<Sequence> record(Device&, std::span<const PipelineLaunch>);
  Sequence(Device& device, std::unique_ptr<Recording> recording)
      : device_(&device), recording_(std::move(recording)) {}

  Device* device_;
  std::unique_ptr<Recording> recording_;
};

Result<Sequence> record(Device& device, std::span<const PipelineLaunch> launches);

// --- Checks, for who runs programs by other means -----------------------------------------------

// What is wrong with running a program on a grid with buffers of these sizes. Bytes buffers need
// not be whole words: they are padded.
struct BufferSize {
  std::string_view name;
  std::uint64_t bytes = 0;
};
std::vector<Diagnostic> check_launch(const Program& program, const Grid& grid,
                                     std::span<const BufferSize> buffers);

// Launches as a device takes them, or all that is wrong with them.
Result<std::vector<Launch>> make_launches(Device& device, std::span<const PipelineLaunch> launches);

// What of a program is beyond the limits of a device.
std::vector<Diagnostic> check_limits(const Program& program, const DeviceInfo& device);

// --------------------------------------------------------------------------------------------------

template <class Number>
std::vector<Number> Outputs::get(std::string_view name) const {
  std::vector<Number> numbers;
  for (const OutputBuffer& buffer : buffers) {
    if (buffer.name != name) continue;
    numbers.resize(buffer.bytes.size() / sizeof(Number));
    if (numbers.empty()) continue;  // memcpy takes no null pointer
    std::memcpy(numbers.data(), buffer.bytes.data(), numbers.size() * sizeof(Number));
  }
  return numbers;
}

}  // namespace vyre
