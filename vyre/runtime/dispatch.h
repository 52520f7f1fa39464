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
#include "vyre/runtime/convention.h"

namespace vyre {

// Numbers side by side in the memory of the host, such as a std::vector<std::uint32_t>.
template <class Range>
concept HostNumbers = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                      std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

// --- One run from host bytes --------------------------------------------------------------------

// The contents of one buffer of a program, borrowed from the host: bytes, or a range of numbers.
struct HostBuffer {
  std::string_view name;
  std::span<const std::byte> bytes;

  HostBuffer(std::string_view buffer, std::span<const std::byte> contents)
      : name(buffer), bytes(contents) {}
  template <HostNumbers Range>
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
  std::string backend;                // that ran it
  std::string note;                   // why it was the interpreter, where nobody asked for that

  // One of them; D001 where there is none of that name.
  Result<const OutputBuffer*> find(std::string_view name) const;
  // Its elements, as numbers of the type that the caller names.
  template <class Number>
  Result<std::vector<Number>> get(std::string_view name) const;
  // Copies as many of them as `into` has, from number `first` on.
  template <HostNumbers Range>
  Result<void> read(std::string_view name, Range&& into, std::uint64_t first = 0) const;
};

// BLAKE2b-256 of all of them, one after the other, as 64 hexadecimal digits: what `vyre run`
// prints.
std::string digest(const Outputs& outputs);

struct DispatchOptions {
  Device* device = nullptr;  // none: the default backend's, or one that runs in a chosen order
  RunOptions run;
};

Result<Outputs> dispatch(const Linked& linked, const Grid& grid,
                         std::span<const HostBuffer> buffers, const DispatchOptions& options = {});
Result<Outputs> dispatch(const Linked& linked, const Grid& grid,
                         std::initializer_list<HostBuffer> buffers,
                         const DispatchOptions& options = {});

// The read_write buffers of a program in the order of their bindings.
std::vector<BufferId> outputs_of(const Program& program);

// --- Programs and buffers that stay on a device -------------------------------------------------

struct PipelineOptions {
  std::optional<Convention> convention;  // that the program must fit
};

// A valid program that fits a device, loaded on it. The device outlives it.
class Pipeline {
 public:
  const Program& program() const { return linked_.program(); }
  Device& device() const { return *device_; }
  const Kernel* kernel() const { return kernel_.get(); }  // null after a move

 private:
  friend Result<Pipeline> make_pipeline(Device&, const Linked&, const PipelineOptions&);
  Pipeline(Device& device, Linked linked, std::unique_ptr<Kernel> kernel)
      : device_(&device), linked_(std::move(linked)), kernel_(std::move(kernel)) {}

  Device* device_;
  Linked linked_;
  std::unique_ptr<Kernel> kernel_;
};

Result<Pipeline> make_pipeline(Device& device, const Linked& linked,
                               const PipelineOptions& options = {});

// Memory on a device. The device outlives it. A `bytes` buffer sees it padded to whole words.
class DeviceBuffer {
 public:
  std::uint64_t bytes() const { return bytes_; }
  Device& device() const { return *device_; }
  DeviceMemory* memory() const { return memory_.get(); }  // null after a move

 private:
  friend Result<DeviceBuffer> make_buffer(Device&, std::uint64_t);
  DeviceBuffer(Device& device, std::unique_ptr<DeviceMemory> memory, std::uint64_t bytes)
      : device_(&device), memory_(std::move(memory)), bytes_(bytes) {}

  Device* device_;
  std::unique_ptr<DeviceMemory> memory_;
  std::uint64_t bytes_;
};

Result<DeviceBuffer> make_buffer(Device& device, std::uint64_t bytes);  // zeros
Result<DeviceBuffer> make_buffer(Device& device, std::span<const std::byte> contents);
// `offset` counts bytes.
Result<void> read_bytes(const DeviceBuffer& buffer, std::uint64_t offset,
                        std::span<std::byte> into);
Result<void> write_bytes(DeviceBuffer& buffer, std::uint64_t offset,
                         std::span<const std::byte> contents);

// The same with numbers of the host's; `first` counts those, too.
template <HostNumbers Range>
Result<DeviceBuffer> make_buffer(Device& device, const Range& contents);
template <HostNumbers Range>
Result<void> read_buffer(const DeviceBuffer& buffer, Range&& into, std::uint64_t first = 0);
template <HostNumbers Range>
Result<void> write_buffer(DeviceBuffer& buffer, const Range& contents, std::uint64_t first = 0);
// All of it: `read_buffer<std::uint32_t>(buffer)`.
template <class Number = std::byte>
Result<std::vector<Number>> read_buffer(const DeviceBuffer& buffer);

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
Result<std::vector<double>> run_launches(Device& device, std::span<const PipelineLaunch> launches,
                                         const RunOptions& options = {});

// Launches that were checked once, to run again and again; on a GPU that takes the host far less
// time than run(). The pipelines and buffers outlive it.
class Sequence {
 public:
  Result<RunTimes> run(const RunOptions& options = {});
  Device& device() const { return *device_; }

 private:
  friend Result<Sequence> record_launches(Device&, std::span<const PipelineLaunch>);
  Sequence(Device& device, std::unique_ptr<Recording> recording)
      : device_(&device), recording_(std::move(recording)) {}

  Device* device_;
  std::unique_ptr<Recording> recording_;
};

Result<Sequence> record_launches(Device& device, std::span<const PipelineLaunch> launches);

// --- Checks, for those who run programs by other means ------------------------------------------

// What is wrong with running a program on a grid with buffers of these sizes. Bytes buffers need
// not be whole words: they are padded.
struct BufferSize {
  std::string_view name;
  std::uint64_t bytes = 0;
};
std::vector<Diagnostic> check_launch(const Program& program, const Grid& grid,
                                     std::span<const BufferSize> buffers);

// What of a program is beyond the limits of a device.
std::vector<Diagnostic> check_limits(const Program& program, const DeviceInfo& device);

// For messages: "`a`, `b`", the buffers that a host binds, or only those that it gets back.
std::string buffer_names(const Program& program, bool only_outputs = false);

// --------------------------------------------------------------------------------------------------

// How many numbers of a size are in a buffer, or D003.
Result<std::size_t> count_numbers(std::uint64_t bytes, std::size_t each);
// D002 where a part is not inside a buffer of so many bytes.
Result<void> check_part(std::uint64_t buffer, std::uint64_t offset, std::uint64_t bytes);

template <class Number>
Result<std::vector<Number>> Outputs::get(std::string_view name) const {
  const Result<const OutputBuffer*> buffer = find(name);
  if (!buffer) return buffer.diagnostics();
  const Result<std::size_t> count = count_numbers((*buffer)->bytes.size(), sizeof(Number));
  if (!count) return count.diagnostics();
  std::vector<Number> numbers(*count);
  if (*count > 0) std::memcpy(numbers.data(), (*buffer)->bytes.data(), *count * sizeof(Number));
  return numbers;
}

template <HostNumbers Range>
Result<void> Outputs::read(std::string_view name, Range&& into, std::uint64_t first) const {
  const Result<const OutputBuffer*> buffer = find(name);
  if (!buffer) return buffer.diagnostics();
  const auto bytes = std::as_writable_bytes(std::span(into));
  const std::uint64_t offset = first * sizeof(std::ranges::range_value_t<Range>);
  Result<void> inside = check_part((*buffer)->bytes.size(), offset, bytes.size());
  if (inside && !bytes.empty()) {
    std::memcpy(bytes.data(), (*buffer)->bytes.data() + offset, bytes.size());
  }
  return inside;
}

template <HostNumbers Range>
Result<DeviceBuffer> make_buffer(Device& device, const Range& contents) {
  return make_buffer(device, std::span<const std::byte>(std::as_bytes(std::span(contents))));
}

template <HostNumbers Range>
Result<void> read_buffer(const DeviceBuffer& buffer, Range&& into, std::uint64_t first) {
  return read_bytes(buffer, first * sizeof(std::ranges::range_value_t<Range>),
                    std::as_writable_bytes(std::span(into)));
}

template <HostNumbers Range>
Result<void> write_buffer(DeviceBuffer& buffer, const Range& contents, std::uint64_t first) {
  return write_bytes(buffer, first * sizeof(std::ranges::range_value_t<Range>),
                     std::as_bytes(std::span(contents)));
}

template <class Number>
Result<std::vector<Number>> read_buffer(const DeviceBuffer& buffer) {
  const Result<std::size_t> count = count_numbers(buffer.bytes(), sizeof(Number));
  if (!count) return count.diagnostics();
  std::vector<Number> numbers(*count);
  if (const Result<void> done = read_buffer(buffer, numbers); !done) return done.diagnostics();
  return numbers;
}

}  // namespace vyre
