#include "vyre/backends/spirv/emit.h"

#include "vyre/backends/shader_writer.h"
#include "vyre/backends/spirv/speller.h"

namespace vyre {

Result<SpirvKernel> emit_spirv(const Lowered& lowered, std::string_view file) {
  SpirvSpeller speller(file);
  SpirvKernel kernel;
  kernel.call = write_shader(lowered, speller);
  if (!speller.fits()) {
    return diagnose<message::no_machine_code>(lowered.program.name,
                                              "it is larger than modules in SPIR-V may be");
  }
  kernel.words = speller.words();
  return kernel;
}

}  // namespace vyre
