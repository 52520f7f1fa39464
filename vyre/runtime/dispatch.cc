#include "vyre/runtime/dispatch.h"

#include <algorithm>
#include <functional>
#include <map>

#include "vyre/base/text.h"
#include "vyre/compile.h"
#include "vyre/runtime/convention.h"

namespace vyre {
namespace {

constexpr std::string_view kAxes[] = {"x", "y", "z"};

bool is_bound(const BufferDecl& buffer) { return buffer.access != BufferAccess::Workgroup; }

// What a program sees of a buffer: a Bytes buffer is padded to whole words.
std::uint64_t padded(const BufferDecl& buffer, std::uint64_t bytes) {
  return buffer.element == DataType::Bytes ? (bytes + 3) / 4 * 4 : bytes;
}

std::string names_of(const Program& program) {
  std::string names;
  for (const BufferDecl& buffer : program.buffers) {
    if (is_bound(buffer)) names += (names.empty() ? "`" : ", `") + buffer.name + "`";
  }
  return names.empty() ? "none" : shorten(names, 200);
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

// Buffers that share memory, each given as the range of addresses [begin, end).
struct Occupied {
  std::string_view name;
  std::uintptr_t begin;
  std::uintptr_t end;
};
void check_overlap(std::vector<Occupied> ranges, std::vector<Diagnostic>& wrong) {
  std::erase_if(ranges, [](const Occupied& range) { return range.begin == range.end; });
  std::ranges::sort(ranges, {},
                    [](const Occupied& range) { return std::pair(range.begin, range.name); });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    // The one that reaches farthest comes next to each that it covers.
    // A buffer that is bound twice has been reported as that.
    if (ranges[i].begin < ranges[i - 1].end) {
      if (ranges[i].name != ranges[i - 1].name) {
        wrong.push_back(diagnose<message::overlapping_buffers>(ranges[i - 1].name, ranges[i].name));
      }
      if (ranges[i].end < ranges[i - 1].end) std::swap(ranges[i], ranges[i - 1]);
    }
  }
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

// What runs so, where nobody says on what.
const Backend& backend_for(const RunOptions& options) {
  const bool ordered = options.schedule != Schedule{} || options.max_steps != 0;
  return ordered && !default_backend().takes_orders ? *find_backend("interp") : default_backend();
}

const Registry& library() {
  static const Registry registry;
  return registry;
}

}  // namespace

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
  std::map<std::string_view, bool> bound;
  for (const BufferSize& given : buffers) {
    const auto found = declared.find(given.name);
    if (found == declared.end()) {
      wrong.push_back(
          diagnose<message::no_such_buffer>(shorten(given.name), program.name, names_of(program)));
    } else if (!is_bound(*found->second)) {
      wrong.push_back(diagnose<message::bound_workgroup_buffer>(given.name));
    } else if (!bound.emplace(given.name, true).second) {
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

Result<Pipeline> make_pipeline(Device& device, const Program& program,
                               const PipelineOptions& options) {
  Result<Linked> linked =
      link(program, options.registry != nullptr ? *options.registry : library());
  if (!linked) return linked.diagnostics();
  if (options.source != nullptr) linked->source = *options.source;
  std::vector<Diagnostic> wrong = check_limits(program, device.info());
  const Backend* backend = find_backend(device.info().backend);
  if (backend == nullptr || backend->emit == nullptr) {
    return diagnose<message::unavailable_backend>(device.info().backend, "it is not in this build",
                                                  default_backend().name);
  }
  if (options.convention) {
    std::vector<Diagnostic> unfit = check_convention(program, *options.convention);
    wrong.insert(wrong.end(), unfit.begin(), unfit.end());
    if (backend->conventions < static_cast<int>(options.convention->version.index()) + 1) {
      wrong.push_back(diagnose<message::unsupported_option>(
          backend->name, "take convention " + name_of(*options.convention)));
    }
  }
  if (!wrong.empty()) return wrong;
  const Result<Artifact> artifact = backend->emit(*linked);
  if (!artifact) return artifact.diagnostics();
  Result<std::unique_ptr<Kernel>> kernel = device.load(*artifact);
  if (!kernel) return kernel.diagnostics();
  return Pipeline(device, program, std::move(*kernel));
}

Result<DeviceBuffer> make_buffer(Device& device, std::uint64_t bytes) {
  if (bytes > device.info().max_buffer_bytes) {
    return diagnose<message::out_of_memory>(bytes, device.info().name);
  }
  // With room for the padding of a Bytes buffer.
  Result<std::unique_ptr<DeviceMemory>> memory = device.allocate((bytes + 3) / 4 * 4);
  if (!memory) return memory.diagnostics();
  return DeviceBuffer(device, std::move(*memory), bytes);
}

Result<DeviceBuffer> make_buffer(Device& device, std::span<const std::byte> contents) {
  Result<DeviceBuffer> buffer = make_buffer(device, contents.size());
  if (!buffer) return buffer;
  if (const Result<bool> written = write_buffer(*buffer, contents); !written) {
    return written.diagnostics();
  }
  return buffer;
}

Result<std::vector<std::byte>> read_buffer(const DeviceBuffer& buffer) {
  if (buffer.memory_ == nullptr) return diagnose<message::no_buffer>("read_buffer()");
  std::vector<std::byte> bytes(buffer.bytes_);
  if (const Result<bool> done = buffer.device_->read(*buffer.memory_, bytes); !done) {
    return done.diagnostics();
  }
  return bytes;
}

Result<bool> write_buffer(DeviceBuffer& buffer, std::span<const std::byte> contents) {
  if (buffer.memory_ == nullptr) return diagnose<message::no_buffer>("write_buffer()");
  if (contents.size() > buffer.bytes_) {
    return diagnose<message::long_write>(contents.size(), buffer.bytes_);
  }
  if (contents.size() < buffer.bytes_ || contents.size() % 4 == 0) {
    return buffer.device_->write(*buffer.memory_, contents);
  }
  // A program may have written to the padding, which has to be zero again.
  std::vector<std::byte> whole(contents.begin(), contents.end());
  whole.resize((contents.size() + 3) / 4 * 4);
  return buffer.device_->write(*buffer.memory_, whole);
}

Result<std::vector<Launch>> make_launches(Device& device,
                                          std::span<const PipelineLaunch> launches) {
  std::vector<Diagnostic> wrong;
  std::vector<Launch> ready;
  for (const PipelineLaunch& launch : launches) {
    if (launch.pipeline == nullptr || launch.pipeline->kernel_ == nullptr) {
      wrong.push_back(diagnose<message::no_pipeline>());
      continue;
    }
    std::vector<BufferSize> sizes;
    std::map<std::string_view, DeviceBuffer*> bound;
    std::vector<Occupied> occupied;
    for (const BoundBuffer& buffer : launch.buffers) {
      if (buffer.buffer == nullptr || buffer.buffer->memory_ == nullptr) {
        wrong.push_back(diagnose<message::no_buffer>(shorten(buffer.name)));
        continue;
      }
      if (&buffer.buffer->device() != &device) {
        wrong.push_back(diagnose<message::foreign_buffer>(shorten(buffer.name)));
      }
      sizes.push_back({buffer.name, buffer.buffer->bytes()});
      bound.emplace(buffer.name, buffer.buffer);
      const auto address = reinterpret_cast<std::uintptr_t>(buffer.buffer->memory_.get());
      occupied.push_back({buffer.name, address, address + 1});
    }
    const Program& program = launch.pipeline->program();
    if (&launch.pipeline->device() != &device) {
      wrong.push_back(diagnose<message::foreign_pipeline>(program.name));
    }
    for (Diagnostic& found : check_launch(program, launch.grid, sizes)) {
      wrong.push_back(std::move(found));
    }
    check_overlap(std::move(occupied), wrong);
    if (!wrong.empty()) continue;

    Launch& next = ready.emplace_back(Launch{launch.pipeline->kernel_.get(), {}, launch.grid});
    for (const BufferDecl& buffer : program.buffers) {
      LaunchBuffer& view = next.buffers.emplace_back();
      if (!is_bound(buffer)) continue;
      const DeviceBuffer& memory = *bound.at(buffer.name);
      view = {memory.memory_.get(), padded(buffer, memory.bytes_)};
    }
  }
  if (!wrong.empty()) return wrong;
  return ready;
}

Result<std::vector<double>> run(Device& device, std::span<const PipelineLaunch> launches,
                                const RunOptions& options) {
  std::vector<Diagnostic> wrong = check_options(device.info(), options);
  const Result<std::vector<Launch>> ready = make_launches(device, launches);
  wrong.insert(wrong.end(), ready.diagnostics().begin(), ready.diagnostics().end());
  if (!wrong.empty()) return wrong;
  return device.run(*ready, options);
}

Result<Sequence> record(Device& device, std::span<const PipelineLaunch> launches) {
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

Result<Outputs> dispatch(const Program& program, const Grid& grid,
                         std::span<const HostBuffer> buffers, const DispatchOptions& options) {
  std::unique_ptr<Device> opened;
  Device* device = options.device;
  if (device == nullptr) {
    Result<std::unique_ptr<Device>> own = open_device(backend_for(options.run));
    if (!own) return own.diagnostics();
    opened = std::move(*own);
    device = opened.get();
  }
  Result<Pipeline> pipeline =
      make_pipeline(*device, program, {options.registry, {}, options.source});
  // What the default cannot do the reference can.
  if (!pipeline && options.device == nullptr && reference_can(pipeline.diagnostics()[0])) {
    opened = std::move(*open_device(*find_backend("interp")));
    device = opened.get();
    pipeline = make_pipeline(*device, program, {options.registry, {}, options.source});
  }
  if (!pipeline) return pipeline.diagnostics();

  std::vector<BufferSize> sizes;
  std::vector<Occupied> occupied;
  for (const HostBuffer& buffer : buffers) {
    sizes.push_back({buffer.name, buffer.bytes.size()});
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer.bytes.data());
    occupied.push_back({buffer.name, begin, begin + buffer.bytes.size()});
  }
  std::vector<Diagnostic> wrong = check_launch(program, grid, sizes);
  check_overlap(std::move(occupied), wrong);
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
  const Result<std::vector<double>> seconds = run(*device, {&launch, 1}, options.run);
  if (!seconds) return seconds.diagnostics();

  Outputs outputs;
  outputs.seconds = (*seconds)[0];
  for (BufferId id : outputs_of(program)) {
    const BufferDecl& buffer = program.buffers[id.index];
    const auto bound = std::ranges::find(launch.buffers, buffer.name, &BoundBuffer::name);
    OutputBuffer& output = outputs.buffers.emplace_back(buffer.name, buffer.element);
    output.bytes.resize(padded(buffer, bound->buffer->bytes()));
    const Result<bool> done = device->read(*bound->buffer->memory_, output.bytes);
    if (!done) return done.diagnostics();
  }
  return outputs;
}

Result<Outputs> dispatch(const Program& program, const Grid& grid,
                         std::initializer_list<HostBuffer> buffers,
                         const DispatchOptions& options) {
  return dispatch(program, grid, std::span(buffers.begin(), buffers.size()), options);
}

}  // namespace vyre
