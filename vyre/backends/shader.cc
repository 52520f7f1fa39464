#include "vyre/backends/shader.h"

#include "vyre/backends/variants.h"

namespace vyre {

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
