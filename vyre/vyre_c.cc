// The C interface on top of the C++ one. A handle is a struct that holds the C++ value; each
// function checks its arguments, calls its C++ counterpart, and turns a Result into a status.
#include "vyre/vyre_c.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/compile.h"
#include "vyre/runtime/dispatch.h"
#include "vyre/runtime/race_report.h"
#include "vyre/text/print.h"
#include "vyre/wire/wire.h"

struct vyre_diagnostics {
  std::vector<vyre::Diagnostic> all;
  std::vector<std::string> texts;  // of each
  std::string text;
  std::string json;
};

struct vyre_program {
  vyre::Linked linked;
  const vyre_module* module;
};

struct vyre_module {
  vyre::Loaded loaded;
  std::vector<vyre_program> programs;
};

struct vyre_backends {
  struct Row {
    const vyre::Backend* backend;
    std::uint32_t devices;
    std::string device;
    std::string reason;
  };
  std::vector<Row> rows;
};

// What is made on a device keeps it, so that handles can be freed in any order.
struct vyre_device {
  std::shared_ptr<vyre::Device> device;
};

struct vyre_pipeline {
  std::shared_ptr<vyre::Device> device;
  std::shared_ptr<vyre::Pipeline> pipeline;  // goes before its device
};

struct vyre_buffer {
  std::shared_ptr<vyre::Device> device;
  std::shared_ptr<vyre::DeviceBuffer> buffer;
};

struct vyre_sequence {
  std::shared_ptr<vyre::Device> device;
  std::vector<std::shared_ptr<vyre::Pipeline>> pipelines;
  std::vector<std::shared_ptr<vyre::DeviceBuffer>> buffers;
  std::optional<vyre::Sequence> sequence;
};

struct vyre_outputs {
  vyre::Outputs outputs;
};

namespace {

// The texts of tables are literals, so a zero byte follows them.
const char* c_text(std::string_view literal) { return literal.data(); }

// For a caller who may not want to know.
void give(std::vector<vyre::Diagnostic> diagnostics, vyre_diagnostics** to) {
  if (to == nullptr) return;
  auto found = std::make_unique<vyre_diagnostics>();
  found->all = std::move(diagnostics);
  found->json = vyre::to_json(found->all);
  for (const vyre::Diagnostic& diagnostic : found->all) {
    found->text += found->texts.emplace_back(vyre::render(diagnostic));
  }
  *to = found.release();
}

vyre_status fail(std::vector<vyre::Diagnostic> diagnostics, vyre_diagnostics** why) {
  give(std::move(diagnostics), why);
  return VYRE_ERROR;
}

// What is made of a value, or why there is none.
template <class T, class Use>
vyre_status finish(vyre::Result<T> result, vyre_diagnostics** why, Use use) {
  if (!result) return fail(result.diagnostics(), why);
  use(*result);
  return VYRE_OK;
}
vyre_status finish(const vyre::Result<void>& result, vyre_diagnostics** why) {
  return result ? VYRE_OK : fail(result.diagnostics(), why);
}

// Sets results to what they are when there are none.
template <class... Handle>
void clear(Handle**... results) {
  ((results != nullptr ? void(*results = nullptr) : void()), ...);
}

void* copy_of(std::string_view text) {
  auto* copy = static_cast<char*>(::operator new(text.size() + 1));
  *std::ranges::copy(text, copy).out = '\0';
  return copy;
}

template <class T>
std::shared_ptr<T> shared(T&& value) {
  return std::make_shared<T>(std::move(value));
}

std::span<const std::byte> bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

vyre::Grid grid_of(const uint32_t grid[3]) { return {grid[0], grid[1], grid[2]}; }

std::string text_of(const void* data, std::size_t size) {
  return {size == 0 ? "" : static_cast<const char*>(data), size};
}

vyre::Result<vyre::Loaded> load_bytes(const void* data, std::size_t size, const char* file) {
  return vyre::load_module({file == nullptr ? "" : file, text_of(data, size)});
}

vyre_status finish_module(vyre::Result<vyre::Loaded> loaded, vyre_module** module,
                          vyre_diagnostics** why) {
  return finish(std::move(loaded), why, [&](vyre::Loaded& from) {
    auto* made = *module = new vyre_module{std::move(from), {}};
    for (std::size_t i = 0; i < made->loaded.module.items.size(); ++i) {
      if (!std::holds_alternative<vyre::Program>(made->loaded.module.items[i])) continue;
      made->programs.push_back({program_at(made->loaded, i), made});
    }
  });
}

// Gives run() the options as the runtime takes them: a Result of what it gives, or U005.
template <class Run>
auto with_options(const vyre_run_options* from, Run run) -> decltype(run(vyre::RunOptions())) {
  vyre::RunOptions options;
  if (from == nullptr) return run(options);
  if (from->schedule != nullptr) {
    const std::optional<vyre::Schedule> schedule = vyre::find_schedule(from->schedule);
    if (!schedule) return vyre::diagnose<vyre::message::unknown_schedule>(from->schedule);
    options.schedule = *schedule;
  }
  options.max_steps = from->max_steps;
  options.threads = from->threads;
  std::atomic<bool> stop = false;  // set when the host's function wants an end
  options.stop = &stop;
  if (from->progress != nullptr) {
    options.progress = [from, &stop](double done) {
      if (from->progress(done, from->context) != 0) stop = true;
    };
  }
  return run(options);
}

// False where a pointer is missing.
bool read_buffers(const vyre_host_buffer* buffers, std::size_t count,
                  std::vector<vyre::HostBuffer>& bound) {
  if (buffers == nullptr && count > 0) return false;
  for (const vyre_host_buffer& buffer : std::span(buffers, count)) {
    if (buffer.name == nullptr || (buffer.contents == nullptr && buffer.size > 0)) return false;
    bound.emplace_back(buffer.name, bytes_of(buffer.contents, buffer.size));
  }
  return true;
}

bool read_launches(const vyre_launch* launches, std::size_t count,
                   std::vector<vyre::PipelineLaunch>& ready) {
  if (launches == nullptr && count > 0) return false;
  for (const vyre_launch& launch : std::span(launches, count)) {
    if (launch.pipeline == nullptr || (launch.bindings == nullptr && launch.binding_count > 0)) {
      return false;
    }
    auto& [pipeline, grid, buffers] = ready.emplace_back();
    pipeline = launch.pipeline->pipeline.get();
    grid = grid_of(launch.grid);
    for (const vyre_binding& binding : std::span(launch.bindings, launch.binding_count)) {
      if (binding.name == nullptr || binding.buffer == nullptr) return false;
      buffers.push_back({binding.name, binding.buffer->buffer.get()});
    }
  }
  return true;
}

vyre_access access_of(vyre::BufferAccess access) {
  switch (access) {
    case vyre::BufferAccess::ReadOnly: return VYRE_READ;
    case vyre::BufferAccess::ReadWrite: return VYRE_READ_WRITE;
    case vyre::BufferAccess::Uniform: return VYRE_UNIFORM;
    case vyre::BufferAccess::Workgroup:
    case vyre::BufferAccess::Private:
    case vyre::BufferAccess::Constant: return VYRE_WORKGROUP;
  }
  return VYRE_READ;
}

vyre_output output_of(const vyre::OutputBuffer& from) {
  return {from.name.c_str(), c_text(text(from.element)), from.bytes.data(), from.bytes.size()};
}

}  // namespace

extern "C" {

uint32_t vyre_c_version(void) { return VYRE_C_VERSION; }
const char* vyre_version(void) { return c_text(vyre::version()); }

// --- Diagnostics --------------------------------------------------------------------------------

size_t vyre_diagnostics_count(const vyre_diagnostics* all) { return all ? all->all.size() : 0; }

vyre_status vyre_diagnostics_get(const vyre_diagnostics* diagnostics, size_t index,
                                 vyre_diagnostic* diagnostic) {
  if (diagnostic == nullptr || index >= vyre_diagnostics_count(diagnostics)) return VYRE_MISUSE;
  const vyre::Diagnostic& from = diagnostics->all[index];
  *diagnostic = {c_text(name(from.code)),
                 from.problem.c_str(),
                 from.fix.c_str(),
                 from.file.c_str(),
                 from.line,
                 from.column,
                 from.path.c_str(),
                 diagnostics->texts[index].c_str()};
  return VYRE_OK;
}

const char* vyre_diagnostics_text(const vyre_diagnostics* all) {
  return all ? all->text.c_str() : "";
}
const char* vyre_diagnostics_json(const vyre_diagnostics* all) {
  return all ? all->json.c_str() : "";
}
void vyre_diagnostics_free(vyre_diagnostics* diagnostics) { delete diagnostics; }

// --- Modules and programs -----------------------------------------------------------------------

vyre_status vyre_load(const void* data, size_t size, const char* file, vyre_module** module,
                      vyre_diagnostics** why) {
  clear(module, why);
  if (module == nullptr || (data == nullptr && size > 0)) return VYRE_MISUSE;
  return finish_module(load_bytes(data, size, file), module, why);
}

vyre_status vyre_load_files(const vyre_file* files, size_t count, vyre_module** module,
                            vyre_diagnostics** why) {
  clear(module, why);
  if (module == nullptr || files == nullptr || count == 0) return VYRE_MISUSE;
  std::vector<vyre::Source> sources;
  for (const vyre_file& file : std::span(files, count)) {
    if (file.name == nullptr || (file.data == nullptr && file.size > 0)) return VYRE_MISUSE;
    sources.push_back({file.name, text_of(file.data, file.size)});
  }
  vyre::Source first = sources.front();
  return finish_module(
      vyre::load_module(std::move(first), {}, vyre::find_among(std::move(sources))), module, why);
}

vyre_status vyre_validate(const void* data, size_t size, const char* file, vyre_diagnostics** why) {
  clear(why);
  if (data == nullptr && size > 0) return VYRE_MISUSE;
  return finish(load_bytes(data, size, file), why, [](const vyre::Loaded&) {});
}

void vyre_module_free(vyre_module* module) { delete module; }

vyre_status vyre_module_print(const vyre_module* module, char** text) {
  clear(text);
  if (module == nullptr || text == nullptr) return VYRE_MISUSE;
  *text = static_cast<char*>(copy_of(print(own_module(module->loaded))));
  return VYRE_OK;
}

vyre_status vyre_module_encode(const vyre_module* module, void** bytes, size_t* size,
                               vyre_diagnostics** why) {
  clear(bytes, why);
  if (module == nullptr || bytes == nullptr || size == nullptr) return VYRE_MISUSE;
  *size = 0;
  return finish(encode(own_module(module->loaded)), why, [&](const std::string& encoded) {
    *bytes = copy_of(encoded);
    *size = encoded.size();
  });
}

void vyre_free(void* memory) { ::operator delete(memory); }

size_t vyre_module_program_count(const vyre_module* module) {
  return module ? module->programs.size() : 0;
}

const vyre_program* vyre_module_program(const vyre_module* module, size_t index) {
  return index < vyre_module_program_count(module) ? &module->programs[index] : nullptr;
}

const vyre_program* vyre_module_find_program(const vyre_module* module, const char* name) {
  if (module == nullptr || name == nullptr) return nullptr;
  for (const vyre_program& program : module->programs) {
    if (program.linked.program().name == name) return &program;
  }
  return nullptr;
}

const char* vyre_program_name(const vyre_program* program) {
  return program ? program->linked.program().name.c_str() : "";
}

vyre_status vyre_program_workgroup_size(const vyre_program* program, uint32_t size[3]) {
  if (program == nullptr || size == nullptr) return VYRE_MISUSE;
  std::ranges::copy(program->linked.program().workgroup_size, size);
  return VYRE_OK;
}

size_t vyre_program_buffer_count(const vyre_program* program) {
  return program == nullptr ? 0 : program->linked.program().buffers.size();
}

vyre_status vyre_program_buffer(const vyre_program* program, size_t index,
                                vyre_buffer_decl* buffer) {
  if (buffer == nullptr || index >= vyre_program_buffer_count(program)) return VYRE_MISUSE;
  const vyre::BufferDecl& from = program->linked.program().buffers[index];
  *buffer = {from.name.c_str(),
             access_of(from.access),
             c_text(text(from.element)),
             vyre::stride(from.element),
             from.count,
             from.binding};
  return VYRE_OK;
}

// --- Devices ------------------------------------------------------------------------------------

vyre_status vyre_backends_list(vyre_backends** backends) {
  if (backends == nullptr) return VYRE_MISUSE;
  *backends = new vyre_backends;
  for (const vyre::Backend& backend : vyre::all_backends()) {
    const vyre::Opened opened = backend.open(0);
    (*backends)->rows.push_back({&backend, opened.device ? opened.devices : 0,
                                 opened.device ? opened.device->info().name : "", opened.reason});
  }
  return VYRE_OK;
}

size_t vyre_backends_count(const vyre_backends* all) { return all ? all->rows.size() : 0; }

vyre_status vyre_backends_get(const vyre_backends* backends, size_t index, vyre_backend* backend) {
  if (backend == nullptr || index >= vyre_backends_count(backends)) return VYRE_MISUSE;
  const vyre_backends::Row& row = backends->rows[index];
  *backend = {c_text(row.backend->name),
              c_text(row.backend->alias),
              c_text(row.backend->summary),
              !row.device.empty(),
              row.devices,
              row.device.c_str(),
              row.reason.c_str()};
  return VYRE_OK;
}

void vyre_backends_free(vyre_backends* backends) { delete backends; }

vyre_status vyre_device_open(const char* backend, uint32_t index, vyre_device** device,
                             vyre_diagnostics** why) {
  clear(device, why);
  if (device == nullptr) return VYRE_MISUSE;
  return finish(backend != nullptr ? vyre::open_device(backend, index)
                : index > 0        ? vyre::open_device(vyre::default_backend(), index)
                                   : vyre::open_device(),
                why, [&](auto& opened) { *device = new vyre_device{std::move(opened)}; });
}

void vyre_device_free(vyre_device* device) { delete device; }

vyre_status vyre_device_get_info(const vyre_device* device, vyre_device_info* info) {
  if (device == nullptr || info == nullptr) return VYRE_MISUSE;
  const vyre::DeviceInfo& from = device->device->info();
  *info = {from.backend.c_str(),     from.name.c_str(),     from.max_invocations, {},
           from.max_workgroup_bytes, from.max_buffer_bytes, from.note.c_str()};
  std::ranges::copy(from.max_workgroup_size, info->max_workgroup_size);
  return VYRE_OK;
}

// --- Running from host memory -------------------------------------------------------------------

vyre_status vyre_dispatch(const vyre_program* program, vyre_device* device, const uint32_t grid[3],
                          const vyre_host_buffer* buffers, size_t buffer_count,
                          const vyre_run_options* options, vyre_outputs** outputs,
                          vyre_diagnostics** why) {
  clear(outputs, why);
  std::vector<vyre::HostBuffer> bound;
  if (program == nullptr || grid == nullptr || !read_buffers(buffers, buffer_count, bound)) {
    return VYRE_MISUSE;
  }
  const std::span given(buffers, buffer_count);
  for (const vyre_host_buffer& buffer : given) {
    const auto& declared = program->linked.program().buffers;
    const auto found = std::ranges::find(declared, buffer.name, &vyre::BufferDecl::name);
    if (buffer.result != nullptr && found != declared.end() &&
        found->access != vyre::BufferAccess::ReadWrite) {
      return VYRE_MISUSE;
    }
  }
  vyre::Device* const runs_on = device == nullptr ? nullptr : device->device.get();
  const auto run = [&](const vyre::RunOptions& run_options) {
    return vyre::dispatch(program->linked, grid_of(grid), bound, {runs_on, run_options});
  };
  return finish(with_options(options, run), why, [&](vyre::Outputs& done) {
    for (const vyre_host_buffer& buffer : given) {
      if (buffer.result == nullptr || buffer.size == 0) continue;
      std::memcpy(buffer.result, (*done.find(buffer.name))->bytes.data(), buffer.size);
    }
    if (outputs != nullptr) *outputs = new vyre_outputs{std::move(done)};
  });
}

size_t vyre_outputs_count(const vyre_outputs* all) { return all ? all->outputs.buffers.size() : 0; }

vyre_status vyre_outputs_get(const vyre_outputs* outputs, size_t index, vyre_output* output) {
  if (output == nullptr || index >= vyre_outputs_count(outputs)) return VYRE_MISUSE;
  *output = output_of(outputs->outputs.buffers[index]);
  return VYRE_OK;
}

vyre_status vyre_outputs_find(const vyre_outputs* outputs, const char* name, vyre_output* output,
                              vyre_diagnostics** why) {
  clear(why);
  if (outputs == nullptr || name == nullptr || output == nullptr) return VYRE_MISUSE;
  return finish(outputs->outputs.find(name), why,
                [&](const vyre::OutputBuffer* found) { *output = output_of(*found); });
}

vyre_status vyre_outputs_digest(const vyre_outputs* outputs, char digest[65]) {
  if (outputs == nullptr || digest == nullptr) return VYRE_MISUSE;
  std::strcpy(digest, vyre::digest(outputs->outputs).c_str());
  return VYRE_OK;
}

double vyre_outputs_seconds(const vyre_outputs* all) { return all ? all->outputs.seconds : 0; }
const char* vyre_outputs_backend(const vyre_outputs* all) {
  return all ? all->outputs.backend.c_str() : "";
}
const char* vyre_outputs_note(const vyre_outputs* all) {
  return all ? all->outputs.note.c_str() : "";
}
void vyre_outputs_free(vyre_outputs* outputs) { delete outputs; }

vyre_status vyre_find_races(const vyre_program* program, const uint32_t grid[3],
                            const vyre_host_buffer* buffers, size_t buffer_count,
                            const vyre_run_options* options, vyre_diagnostics** races,
                            vyre_diagnostics** why) {
  clear(races, why);
  std::vector<vyre::HostBuffer> bound;
  if (program == nullptr || grid == nullptr || races == nullptr ||
      !read_buffers(buffers, buffer_count, bound)) {
    return VYRE_MISUSE;
  }
  const bool in_one_order = options != nullptr && options->schedule != nullptr;
  const auto run = [&](const vyre::RunOptions& run_options) {
    const std::span schedules(&run_options.schedule, in_one_order ? 1 : 0);
    return vyre::find_races(program->linked, grid_of(grid), bound, run_options, schedules);
  };
  return finish(with_options(options, run), why, [&](const vyre::RaceReport& found) {
    if (found.clean()) return;
    give(describe_races(found, program->module->loaded, program->linked.program().name), races);
  });
}

// --- Programs and buffers that stay on a device -------------------------------------------------

vyre_status vyre_pipeline_make(vyre_device* device, const vyre_program* program,
                               uint32_t convention, uint32_t lookup_binding,
                               vyre_pipeline** pipeline, vyre_diagnostics** why) {
  clear(pipeline, why);
  if (device == nullptr || program == nullptr || pipeline == nullptr || convention > 2) {
    return VYRE_MISUSE;
  }
  vyre::PipelineOptions options;
  if (convention == 1) options.convention = {vyre::Convention::V1{}};
  if (convention == 2) options.convention = {vyre::Convention::V2{lookup_binding}};
  return finish(make_pipeline(*device->device, program->linked, options), why, [&](auto& made) {
    *pipeline = new vyre_pipeline{device->device, shared(std::move(made))};
  });
}

void vyre_pipeline_free(vyre_pipeline* pipeline) { delete pipeline; }

vyre_status vyre_buffer_make(vyre_device* device, const void* contents, size_t size,
                             vyre_buffer** buffer, vyre_diagnostics** why) {
  clear(buffer, why);
  if (device == nullptr || buffer == nullptr) return VYRE_MISUSE;
  return finish(
      contents == nullptr ? make_buffer(*device->device, size)
                          : make_buffer(*device->device, bytes_of(contents, size)),
      why, [&](auto& made) { *buffer = new vyre_buffer{device->device, shared(std::move(made))}; });
}

size_t vyre_buffer_size(const vyre_buffer* buffer) { return buffer ? buffer->buffer->bytes() : 0; }

vyre_status vyre_buffer_write(vyre_buffer* buffer, size_t offset, const void* contents, size_t size,
                              vyre_diagnostics** why) {
  clear(why);
  if (buffer == nullptr || (contents == nullptr && size > 0)) return VYRE_MISUSE;
  return finish(write_bytes(*buffer->buffer, offset, bytes_of(contents, size)), why);
}

vyre_status vyre_buffer_read(const vyre_buffer* buffer, size_t offset, void* into, size_t size,
                             vyre_diagnostics** why) {
  clear(why);
  if (buffer == nullptr || (into == nullptr && size > 0)) return VYRE_MISUSE;
  return finish(read_bytes(*buffer->buffer, offset, {static_cast<std::byte*>(into), size}), why);
}

void vyre_buffer_free(vyre_buffer* buffer) { delete buffer; }

vyre_status vyre_run(vyre_device* device, const vyre_launch* launches, size_t launch_count,
                     const vyre_run_options* options, double* seconds, vyre_diagnostics** why) {
  clear(why);
  std::vector<vyre::PipelineLaunch> ready;
  if (device == nullptr || !read_launches(launches, launch_count, ready)) return VYRE_MISUSE;
  const auto run = [&](const vyre::RunOptions& run_options) {
    return vyre::run_launches(*device->device, ready, run_options);
  };
  return finish(with_options(options, run), why, [&](const std::vector<double>& took) {
    if (seconds != nullptr) std::ranges::copy(took, seconds);
  });
}

vyre_status vyre_sequence_record(vyre_device* device, const vyre_launch* launches,
                                 size_t launch_count, vyre_sequence** sequence,
                                 vyre_diagnostics** why) {
  clear(sequence, why);
  std::vector<vyre::PipelineLaunch> ready;
  if (device == nullptr || sequence == nullptr || !read_launches(launches, launch_count, ready)) {
    return VYRE_MISUSE;
  }
  return finish(record_launches(*device->device, ready), why, [&](vyre::Sequence& recorded) {
    *sequence = new vyre_sequence{device->device, {}, {}, std::move(recorded)};
    for (const vyre_launch& launch : std::span(launches, launch_count)) {
      (*sequence)->pipelines.push_back(launch.pipeline->pipeline);
      for (const vyre_binding& binding : std::span(launch.bindings, launch.binding_count)) {
        (*sequence)->buffers.push_back(binding.buffer->buffer);
      }
    }
  });
}

vyre_status vyre_sequence_run(vyre_sequence* sequence, const vyre_run_options* options,
                              double* seconds, vyre_diagnostics** why) {
  clear(why);
  if (sequence == nullptr) return VYRE_MISUSE;
  const auto run = [&](const vyre::RunOptions& run_options) {
    return sequence->sequence->run(run_options);
  };
  return finish(with_options(options, run), why, [&](const vyre::RunTimes& took) {
    if (seconds != nullptr) *seconds = took.seconds;
  });
}

void vyre_sequence_free(vyre_sequence* sequence) { delete sequence; }

}  // extern "C"
