#include "tools/vyre/request.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "tools/vyre/interrupt.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// The invocations on each axis that --over asks for, or 1; nothing where it is not given.
Result<std::optional<Ids>> read_over(const Invocation& invocation) {
  constexpr std::string_view kOver = "--over";
  if (!invocation.has(kOver)) return std::optional<Ids>();
  if (invocation.has("--grid")) return diagnose<message::conflict>("--grid", kOver);
  const std::string_view text = invocation.value(kOver);
  const std::vector<std::string_view> parts = parts_of(text, ',');
  Ids ids{1, 1, 1};
  if (parts.size() > ids.size()) return diagnose<message::bad_count>(kOver, shown(text));
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const Result<std::uint64_t> count = read_count(kOver, parts[axis], 0, kMost);
    if (!count) return count.diagnostics();
    ids[axis] = static_cast<std::uint32_t>(*count);
  }
  return std::optional(ids);
}

// As many workgroups as these invocations need.
Grid grid_over(const Ids& invocations, const Program& program) {
  Grid grid;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t size = program.workgroup_size[axis];
    grid.axes[axis] = invocations[axis] / size + (invocations[axis] % size != 0 ? 1 : 0);
  }
  return grid;
}

Result<Grid> read_grid(const Invocation& invocation) {
  if (invocation.has("--over")) return Grid();
  if (!invocation.has("--grid")) return diagnose<message::missing_grid>(invocation.verb.name);
  const std::string_view text = invocation.value("--grid");
  const std::optional<Grid> grid = read_ids(text, 1);
  if (!grid) return diagnose<message::bad_grid>(shown(text));
  return *grid;
}

// How many zeros a read_write buffer starts as without --in: as many as it declares, or one for
// each invocation of --over. Nothing where neither is known.
std::optional<Wide> default_count(const BufferDecl& buffer, const std::optional<Ids>& over) {
  if (buffer.access != BufferAccess::ReadWrite) return {};
  if (buffer.count != 0) return buffer.count;
  if (!over) return {};
  return Wide{(*over)[0]} * (*over)[1] * (*over)[2];
}

// Fills in the contents from the values of --in.
std::vector<Diagnostic> read_contents(const Invocation& invocation, const Console& console,
                                      const std::optional<Ids>& over, Request& request) {
  const Program& program = request.program();
  std::vector<Diagnostic> wrong;
  std::vector<bool> given(program.buffers.size());
  std::uint64_t budget = memory_budget();
  request.contents.resize(program.buffers.size());
  for (std::string_view text : invocation.values("--in")) {
    const auto [name, data] = split_at(text, '=');
    const auto buffer = std::ranges::find(program.buffers, name, &BufferDecl::name);
    if (buffer == program.buffers.end()) {
      wrong.push_back(
          diagnose<message::unknown_input>(program.name, shown(name), buffer_names(program)));
      continue;
    }
    const auto index = static_cast<std::size_t>(buffer - program.buffers.begin());
    if (!data) {
      wrong.push_back(diagnose<message::bad_contents>(name));
    } else if (buffer->access == BufferAccess::Workgroup) {
      wrong.push_back(diagnose<message::workgroup_contents>(name));
    } else if (given[index]) {
      wrong.push_back(diagnose<message::repeated_buffer>("--in", name));
    } else {
      Result<Bytes> bytes = read_data(*buffer, *data, budget, console);
      append(wrong, bytes.diagnostics());
      if (bytes.ok()) request.contents[index] = std::move(*bytes);
    }
    given[index] = true;
  }
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    if (given[i] || buffer.access == BufferAccess::Workgroup) continue;
    if (const std::optional<Wide> count = default_count(buffer, over)) {
      Result<Bytes> zeros = read_data(buffer, "zeros:" + decimal(*count), budget, console);
      append(wrong, zeros.diagnostics());
      if (zeros.ok()) request.contents[i] = std::move(*zeros);
      continue;
    }
    const std::string_view form = buffer.access == BufferAccess::ReadWrite ? "zeros:" : "iota:";
    wrong.push_back(diagnose<message::missing_contents>(
        buffer.name, std::string(form) + std::to_string(buffer.count != 0 ? buffer.count : 64)));
  }
  return wrong;
}

Result<RunOptions> read_options(const Invocation& invocation) {
  RunOptions options;
  options.stop = &interrupted();
  std::vector<Diagnostic> wrong;
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  append(wrong, read_option(invocation, "--max-steps", kAny, options.max_steps));
  append(wrong, read_option(invocation, "--threads", 1024, options.threads));
  if (invocation.has("--schedule")) {
    const std::string_view name = invocation.value("--schedule");
    const std::optional<Schedule> schedule = find_schedule(name);
    if (!schedule) wrong.push_back(diagnose<message::unknown_schedule>(shown(name)));
    options.schedule = schedule.value_or(Schedule{});
  }
  if (!wrong.empty()) return wrong;
  return options;
}

// Standard input can be the file or the contents of one buffer.
bool names_stdin_twice(const Invocation& invocation) {
  std::ptrdiff_t times = std::ranges::count(invocation.operands, "-");
  for (std::string_view option : {"--in", "--expect"}) {
    for (std::string_view text : invocation.values(option)) {
      if (split_at(text, '=').value == "@-" || text == "-") ++times;
    }
  }
  return times > 1;
}

}  // namespace

std::vector<HostBuffer> Request::host_buffers() const {
  std::vector<HostBuffer> buffers;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const BufferDecl& buffer = program().buffers[i];
    if (buffer.access != BufferAccess::Workgroup) buffers.emplace_back(buffer.name, contents[i]);
  }
  return buffers;
}

Result<Request> read_request(const Invocation& invocation, const Console& console) {
  Request request;
  std::vector<Diagnostic> wrong;
  const Result<Grid> grid = read_grid(invocation);
  append(wrong, grid.diagnostics());
  const Result<std::optional<Ids>> over = read_over(invocation);
  append(wrong, over.diagnostics());
  Result<RunOptions> options = read_options(invocation);
  append(wrong, options.diagnostics());
  if (names_stdin_twice(invocation)) wrong.push_back(diagnose<message::stdin_twice>());
  if (!wrong.empty()) return wrong;
  request.grid = *grid;
  request.options = std::move(*options);

  Result<Loaded> loaded = load_file(invocation.operands[0], invocation, console);
  if (!loaded.ok()) return loaded.diagnostics();
  request.loaded = std::move(*loaded);
  const Result<std::size_t> item = find_program(request.loaded, invocation.value("--program"));
  if (!item.ok()) return item.diagnostics();
  request.item = *item;
  request.linked = program_at(request.loaded, *item);
  if (*over) request.grid = grid_over(**over, request.program());
  if (invocation.has("--lines")) {
    SourceLines lines = source_lines(request.loaded)[*item];
    std::error_code unknown;
    const auto path = std::filesystem::absolute(lines.file, unknown);
    if (!unknown) lines.file = path.string();
    request.linked.set_source(std::move(lines));
  }

  wrong = read_contents(invocation, console, *over, request);
  if (!wrong.empty()) return wrong;
  std::vector<BufferSize> sizes;
  for (const HostBuffer& buffer : request.host_buffers()) {
    sizes.push_back({buffer.name, buffer.bytes.size()});
  }
  wrong = check_launch(request.program(), request.grid, sizes);
  if (!wrong.empty()) return wrong;
  return request;
}

Wide invocations_of(const Request& request) {
  Wide invocations = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    invocations *= Wide{request.grid[i]} * request.program().workgroup_size[i];
  }
  return invocations;
}

Result<BufferId> find_output(const Program& program, std::string_view name) {
  for (BufferId id : outputs_of(program)) {
    if (program.buffers[id.index].name == name) return id;
  }
  return diagnose<message::not_an_output>(program.name, shown(name), buffer_names(program, true));
}

Outputs take_outputs(const Program& program, std::vector<Bytes> contents) {
  Outputs outputs;
  for (BufferId id : outputs_of(program)) {
    const BufferDecl& buffer = program.buffers[id.index];
    outputs.buffers.push_back({buffer.name, buffer.element, std::move(contents[id.index])});
  }
  return outputs;
}

std::vector<Memory> memory_of(std::vector<Bytes>& contents) {
  return {contents.begin(), contents.end()};
}

}  // namespace vyre
