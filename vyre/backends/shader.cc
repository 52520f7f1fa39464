#include "vyre/backends/shader.h"

#include "vyre/backends/variants.h"
#include "vyre/passes/lowered.h"

namespace vyre {

std::optional<Diagnostic> refused_shader(const ShaderCall& call, const std::string& program,
                                         const DeviceInfo& device, std::uint64_t most_buffers) {
  std::uint64_t invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    invocations *= call.block[axis];
    if (call.block[axis] <= device.max_workgroup_size[axis]) continue;
    return diagnose<message::large_axis>(program, call.block[axis], std::string(1, "xyz"[axis]),
                                         device.name, device.max_workgroup_size[axis]);
  }
  if (invocations > device.max_invocations) {
    return diagnose<message::large_workgroup>(program, invocations, device.name,
                                              device.max_invocations);
  }
  const std::uint64_t bound = call.buffers.size() + (call.tables.empty() ? 0 : 1);
  if (bound > most_buffers) {
    return diagnose<message::many_buffers>(program, bound, device.name, most_buffers);
  }
  return refuse_memory(program, call.workgroup_bytes, call.scratch, device.name,
                       device.max_workgroup_bytes);
}

std::vector<std::uint32_t> shader_parameters(const ShaderCall& call, const Program& program,
                                             const Launch& launch) {
  const auto& grid = launch.grid.axes;
  std::vector<std::uint32_t> words(3);
  words.insert(words.end(), grid.begin(), grid.end());
  const std::vector<std::uint32_t> limits = call.launch.words({grid[0], grid[1], grid[2]});
  words.insert(words.end(), limits.begin(), limits.end());
  for (const ShaderBinding& binding : call.buffers) {
    const std::size_t i = binding.buffer.index;
    words.push_back(length_of(program.buffers[i], launch.buffers[i].bytes));
  }
  return words;
}

}  // namespace vyre
