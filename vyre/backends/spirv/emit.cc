#include "vyre/backends/spirv/emit.h"

#include "vyre/backends/shader_writer.h"
#include "vyre/backends/spirv/speller.h"

namespace vyre {

Result<SpirvKernel> emit_spirv(const Lowered& lowered, std::string_view file) {
  SpirvSpeller speller(file);
  SpirvKernel kernel;
  kernel.call = write_shader(lowered, speller);
  kernel.words = speller.words();
  return kernel;
}

}  // namespace vyre
