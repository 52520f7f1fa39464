#include "vyre/runtime/dispatch.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "vyre/backends/interp/device.h"
#include "vyre/base/blake2b.h"
#include "vyre/base/counters.h"
#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/runtime/convention.h"

namespace vyre {
namespace {

constexpr std::string_view kAxes[] = {"x", "y", "z"};

bool is_bound(const BufferDecl& buffer) { return is_bound(buffer.access); }

// What a program sees of a buffer: a Bytes buffer is padded to whole words.
std::uint64_t padded(const BufferDecl& buffer, std::uint64_t bytes) {
  return buffer.element == DataType::Bytes ? (bytes + 3) / 4 * 4 : bytes;
}

std::string quoted(const std::vector<std::string_view>& names) {
  if (names.empty()) return "none";
  return shorten("`" + join(names, "`, `") + "`", 200);
}

void check_size(const BufferDecl& buffer, std::uint64_t bytes, std::vector<Diagnostic>& wrong) {
  const std::uint64_t each = stride(buffer.element);
  const std::uint64_t least = each * buffer.count;
  if (buffer.element != DataType::Bytes && bytes % each != 0) {
    wrong.push_back(diagnose<message::ragged_buffer>(buffer.name, plural(bytes, "byte"), each,
                                                     text(buffer.element)));
  } else if (bytes > each * 0xffffffff) {
    // First of all, so that padding does not wrap around.
    const std::uint64_t length = bytes / each + (bytes % each != 0 ? 1 : 0);
    wrong.push_back(diagnose<message::long_buffer>(buffer.name, length));
  } else if (bytes = padded(buffer, bytes); bytes < least) {
    const std::string_view noun = buffer.element == DataType::Bytes ? "word" : "element";
    wrong.push_back(diagnose<message::short_buffer>(buffer.name, plural(bytes / each, noun),
                                                    plural(buffer.count, noun),
                                                    plural(least, "byte")));
  } else if (buffer.access == BufferAccess::Uniform && bytes > kMaxUniformBytes) {
    wrong.push_back(diagnose<message::large_uniform>(buffer.name, bytes));
  }
}

// A buffer that is given for a run: its size, and the range of addresses [begin, end) where it is.
struct Given {
  std::string_view name;
  std::uint64_t bytes;
  std::uintptr_t begin;
  std::uintptr_t end;
  bool written = false;
};
// Reports those that overlap with one that is written.
void check_overlap(std::vector<Given> ranges, std::vector<Diagnostic>& wrong) {
  std::erase_if(ranges, [](const Given& range) { return range.begin == range.end; });
  std::ranges::sort(ranges, {},
                    [](const Given& range) { return std::pair(range.begin, range.name); });
  // Of those before, the ones that reach farthest.
  const Given* any = nullptr;
  const Given* written = nullptr;
  for (const Given& range : ranges) {
    const Given* other = range.written ? any : written;
    // A buffer that is bound twice has been reported as that.
    if (other != nullptr && range.begin < other->end && range.name != other->name) {
      wrong.push_back(diagnose<message::overlapping_buffers>(other->name, range.name));
    }
    if (any == nullptr || range.end > any->end) any = &range;
    if (range.written && (written == nullptr || range.end > written->end)) written = &range;
  }
}

void append(std::vector<Diagnostic>& wrong, const std::vector<Diagnostic>& more) {
  wrong.insert(wrong.end(), more.begin(), more.end());
}

// All that is wrong with running a program on buffers that are somewhere in memory.
void check_given(const Program& program, const Grid& grid, std::vector<Given> buffers,
                 std::vector<Diagnostic>& wrong) {
  std::set<std::string_view> written;
  for (BufferId id : outputs_of(program)) written.insert(program.buffers[id.index].name);
  std::vector<BufferSize> sizes;
  for (Given& buffer : buffers) {
    buffer.written = written.contains(buffer.name);
    sizes.push_back({buffer.name, buffer.bytes});
  }
  append(wrong, check_launch(program, grid, sizes));
  check_overlap(std::move(buffers), wrong);
}

std::vector<Diagnostic> check_options(const DeviceInfo& device, const RunOptions& options) {
  const Backend* backend = find_backend(device.backend);
  if (backend == nullptr || backend->takes_orders) return {};
  std::vector<Diagnostic> wrong;
  if (options.schedule != Schedule{}) {
    wrong.push_back(diagnose<message::unsupported_option>(device.backend, "run in a chosen order"));
  }
  if (options.max_steps != 0) {
    wrong.push_back(diagnose<message::unsupported_option>(device.backend, "count steps"));
  }
  return wrong;
}

// Whether only the interpreter can run so.
bool is_ordered(const RunOptions& options) {
  return options.schedule != Schedule{} || options.max_steps != 0;
}

// A launch that was found right, as a device takes it.
Launch bind(const PipelineLaunch& launch) {
  Launch bound{launch.pipeline->kernel(), {}, launch.grid};
  for (const BufferDecl& buffer : launch.pipeline->program().buffers) {
    LaunchBuffer& view = bound.buffers.emplace_back();
    if (!is_bound(buffer)) continue;
    const DeviceBuffer& given =
        *std::ranges::find(launch.buffers, buffer.name, &BoundBuffer::name)->buffer;
    view = {given.memory(), padded(buffer, given.bytes())};
  }
  return bound;
}

// Launches as a device takes them, or all that is wrong with them.
Result<std::vector<Launch>> make_launches(Device& device,
                                          std::span<const PipelineLaunch> launches) {
  std::vector<Diagnostic> wrong;
  std::vector<Launch> ready;
  for (const PipelineLaunch& launch : launches) {
    if (launch.pipeline == nullptr || launch.pipeline->kernel() == nullptr) {
      wrong.push_back(diagnose<message::no_pipeline>());
      continue;
    }
    const Program& program = launch.pipeline->program();
    std::vector<Given> given;
    for (const auto& [name, buffer] : launch.buffers) {
      if (buffer == nullptr || buffer->memory() == nullptr) {
        wrong.push_back(diagnose<message::no_buffer>(shorten(name)));
        continue;
      }
      if (&buffer->device() != &device) {
        wrong.push_back(diagnose<message::foreign_buffer>(shorten(name)));
      }
      const auto address = reinterpret_cast<std::uintptr_t>(buffer->memory());
      given.push_back({name, buffer->bytes(), address, address + 1});
    }
    if (&launch.pipeline->device() != &device) {
      wrong.push_back(diagnose<message::foreign_pipeline>(program.name));
    }
    check_given(program, launch.grid, std::move(given), wrong);
    if (wrong.empty()) ready.push_back(bind(launch));
  }
  if (!wrong.empty()) return wrong;
  return ready;
}

}  // namespace

std::string buffer_names(const Program& program, bool only_outputs) {
  std::vector<std::string_view> names;
  for (const BufferDecl& buffer : program.buffers) {
    const bool is_listed =
        only_outputs ? buffer.access == BufferAccess::ReadWrite : is_bound(buffer);
    if (is_listed) names.push_back(buffer.name);
  }
  return quoted(names);
}

std::vector<BufferId> outputs_of(const Program& program) {
  std::vector<BufferId> ids;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].access == BufferAccess::ReadWrite) ids.emplace_back(i);
  }
  std::ranges::sort(ids, {}, [&](BufferId id) { return program.buffers[id.index].binding; });
  return ids;
}

std::vector<Diagnostic> check_launch(const Program& program, const Grid& grid,
                                     std::span<const BufferSize> buffers) {
  ++counters.launch_checks;
  std::vector<Diagnostic> wrong;
  constexpr std::uint64_t kIds = std::uint64_t{1} << 32;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t size = program.workgroup_size[axis];
    if (grid[axis] * size > kIds) {
      wrong.push_back(diagnose<message::grid_overflow>(grid[axis], size, kAxes[axis], kIds / size));
    }
  }
  std::map<std::string_view, const BufferDecl*> declared;
  for (const BufferDecl& buffer : program.buffers) declared.emplace(buffer.name, &buffer);
  std::set<std::string_view> bound;
  for (const BufferSize& given : buffers) {
    const auto found = declared.find(given.name);
    if (found == declared.end()) {
      wrong.push_back(diagnose<message::no_such_buffer>(shorten(given.name), program.name,
                                                        buffer_names(program)));
    } else if (!is_bound(*found->second)) {
      wrong.push_back(diagnose<message::bound_workgroup_buffer>(given.name));
    } else if (!bound.insert(given.name).second) {
      wrong.push_back(diagnose<message::bound_twice>(given.name));
    } else {
      check_size(*found->second, given.bytes, wrong);
    }
  }
  for (const BufferDecl& buffer : program.buffers) {
    if (is_bound(buffer) && !bound.contains(buffer.name)) {
      wrong.push_back(diagnose<message::unbound_buffer>(buffer.name, program.name));
    }
  }
  return wrong;
}

std::vector<Diagnostic> check_limits(const Program& program, const DeviceInfo& device) {
  std::vector<Diagnostic> wrong;
  std::uint64_t invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t size = program.workgroup_size[axis];
    if (size > device.max_workgroup_size[axis]) {
      wrong.push_back(diagnose<message::large_axis>(program.name, size, kAxes[axis], device.name,
                                                    device.max_workgroup_size[axis]));
      return wrong;
    }
    invocations *= size;
  }
  if (invocations > device.max_invocations) {
    wrong.push_back(diagnose<message::large_workgroup>(program.name, invocations, device.name,
                                                       device.max_invocations));
  }
  std::uint64_t bytes = 0;
  for (const BufferDecl& buffer : program.buffers) {
    if (!is_bound(buffer)) bytes += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  if (bytes > device.max_workgroup_bytes) {
    wrong.push_back(diagnose<message::large_workgroup_memory>(program.name, bytes, device.name,
                                                              device.max_workgroup_bytes));
  }
  return wrong;
}

Result<Pipeline> make_pipeline(Device& device, const Linked& linked,
                               const PipelineOptions& options) {
  std::vector<Diagnostic> wrong = check_limits(linked.program(), device.info());
  const Backend* backend = find_backend(device.info().backend);
  if (backend == nullptr) {
    return diagnose<message::unavailable_backend>(device.info().backend, "it is not in this build",
                                                  default_backend().name);
  }
  if (options.convention) append(wrong, check_convention(linked.program(), *options.convention));
  if (!wrong.empty()) return wrong;
  const Result<Artifact> artifact = compile(linked, *backend, device.info().kind);
  if (!artifact) return artifact.diagnostics();
  Result<std::unique_ptr<Kernel>> kernel = device.load(*artifact);
  if (!kernel) return kernel.diagnostics();
  return Pipeline(device, linked, std::move(*kernel));
}

Result<DeviceBuffer> make_buffer(Device& device, std::uint64_t bytes) {
  const std::uint64_t most = device.info().max_buffer_bytes;
  if (bytes > most) {
    return diagnose<message::large_buffer>(bytes, device.info().name, most);
  }
  // With room for the padding of a Bytes buffer.
  Result<std::unique_ptr<DeviceMemory>> memory = device.allocate((bytes + 3) / 4 * 4);
  if (!memory) return memory.diagnostics();
  return DeviceBuffer(device, std::move(*memory), bytes);
}

Result<DeviceBuffer> make_buffer(Device& device, std::span<const std::byte> contents) {
  Result<DeviceBuffer> buffer = make_buffer(device, contents.size());
  if (!buffer) return buffer;
  const Result<void> written = write_bytes(*buffer, 0, contents);
  if (!written) return written.diagnostics();
  return buffer;
}

Result<void> read_bytes(const DeviceBuffer& buffer, std::uint64_t offset,
                        std::span<std::byte> into) {
  if (buffer.memory() == nullptr) return diagnose<message::no_buffer>("read_buffer()");
  if (Result<void> part = check_part(buffer.bytes(), offset, into.size()); !part) return part;
  return buffer.device().read(*buffer.memory(), offset, into);
}

Result<void> write_bytes(DeviceBuffer& buffer, std::uint64_t offset,
                         std::span<const std::byte> contents) {
  if (buffer.memory() == nullptr) return diagnose<message::no_buffer>("write_buffer()");
  const std::uint64_t size = buffer.bytes();
  const std::uint64_t room = size - std::min(offset, size);
  if (offset > size || contents.size() > room) {
    return diagnose<message::long_write>(contents.size(), room);
  }
  const std::uint64_t padding = (4 - size % 4) % 4;
  if (contents.size() < room || padding == 0) {
    return buffer.device().write(*buffer.memory(), offset, contents);
  }
  // A program may have written to the padding, which has to be zero again.
  std::vector<std::byte> whole(contents.begin(), contents.end());
  whole.resize(contents.size() + padding);
  return buffer.device().write(*buffer.memory(), offset, whole);
}

Result<std::size_t> count_numbers(std::uint64_t bytes, std::size_t each) {
  if (bytes % each != 0) return diagnose<message::ragged_read>(bytes, each);
  return static_cast<std::size_t>(bytes / each);
}

Result<void> check_part(std::uint64_t buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= buffer && bytes <= buffer - offset) return {};
  return diagnose<message::long_read>(bytes, offset, buffer);
}

Result<const OutputBuffer*> Outputs::find(std::string_view name) const {
  const auto found = std::ranges::find(buffers, name, &OutputBuffer::name);
  if (found != buffers.end()) return &*found;
  std::vector<std::string_view> names;
  for (const OutputBuffer& buffer : buffers) names.push_back(buffer.name);
  return diagnose<message::no_such_output>(shorten(name), quoted(names));
}

std::string digest(const Outputs& outputs) {
  Blake2b hash;
  for (const OutputBuffer& buffer : outputs.buffers) hash.update(buffer.bytes);
  return hash.finish();
}

Result<std::vector<double>> run_launches(Device& device, std::span<const PipelineLaunch> launches,
                                         const RunOptions& options) {
  std::vector<Diagnostic> wrong = check_options(device.info(), options);
  const Result<std::vector<Launch>> ready = make_launches(device, launches);
  append(wrong, ready.diagnostics());
  if (!wrong.empty()) return wrong;
  return device.run(*ready, options);
}

Result<Sequence> record_launches(Device& device, std::span<const PipelineLaunch> launches) {
  const Result<std::vector<Launch>> ready = make_launches(device, launches);
  if (!ready) return ready.diagnostics();
  Result<std::unique_ptr<Recording>> recording = device.record(*ready);
  if (!recording) return recording.diagnostics();
  return Sequence(device, std::move(*recording));
}

Result<RunTimes> Sequence::run(const RunOptions& options) {
  const std::vector<Diagnostic> wrong = check_options(device_->info(), options);
  if (!wrong.empty()) return wrong;
  return recording_->run(options);
}

Result<Outputs> dispatch(const Linked& linked, const Grid& grid,
                         std::span<const HostBuffer> buffers, const DispatchOptions& options) {
  const Program& program = linked.program();
  std::unique_ptr<Device> opened;
  Device* device = options.device;
  if (device == nullptr) {
    Result<std::unique_ptr<Device>> own =
        is_ordered(options.run) ? open_device("interp") : open_device();
    if (!own) return own.diagnostics();
    opened = std::move(*own);
    device = opened.get();
  }
  Result<Pipeline> pipeline = make_pipeline(*device, linked);
  // What the default cannot do the reference can.
  if (!pipeline && options.device == nullptr && reference_can(pipeline.diagnostics()[0])) {
    opened = open_interp(pipeline.diagnostics()[0].problem);
    device = opened.get();
    pipeline = make_pipeline(*device, linked);
  }
  if (!pipeline) return pipeline.diagnostics();

  std::vector<Given> given;
  for (const auto& [name, bytes] : buffers) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    given.push_back({name, bytes.size(), begin, begin + bytes.size()});
  }
  std::vector<Diagnostic> wrong = check_options(device->info(), options.run);
  check_given(program, grid, std::move(given), wrong);
  if (!wrong.empty()) return wrong;

  PipelineLaunch launch{&*pipeline, grid, {}};
  std::vector<DeviceBuffer> memory;
  memory.reserve(buffers.size());
  for (const HostBuffer& buffer : buffers) {
    Result<DeviceBuffer> made = make_buffer(*device, buffer.bytes);
    if (!made) return made.diagnostics();
    memory.push_back(std::move(*made));
    launch.buffers.push_back({buffer.name, &memory.back()});
  }
  const Launch bound = bind(launch);
  const Result<std::vector<double>> seconds = device->run({&bound, 1}, options.run);
  if (!seconds) return seconds.diagnostics();

  Outputs outputs;
  outputs.seconds = (*seconds)[0];
  outputs.backend = device->info().backend;
  outputs.note = device->info().note;
  for (BufferId id : outputs_of(program)) {
    const BufferDecl& buffer = program.buffers[id.index];
    const LaunchBuffer& view = bound.buffers[id.index];
    OutputBuffer& output = outputs.buffers.emplace_back(buffer.name, buffer.element);
    output.bytes.resize(view.bytes);
    const Result<void> done = device->read(*view.memory, 0, output.bytes);
    if (!done) return done.diagnostics();
  }
  return outputs;
}

Result<Outputs> dispatch(const Linked& linked, const Grid& grid,
                         std::initializer_list<HostBuffer> buffers,
                         const DispatchOptions& options) {
  return dispatch(linked, grid, std::span(buffers.begin(), buffers.size()), options);
}

}  // namespace vyre
