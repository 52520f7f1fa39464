#include "vyre/backends/wgsl/emit.h"

#include <utility>

#include "vyre/backends/shader_writer.h"
#include "vyre/backends/wgsl/speller.h"

namespace vyre {

Result<WgslKernel> emit_wgsl(const Lowered& lowered) {
  WgslSpeller speller;
  WgslKernel kernel;
  kernel.call = write_shader(lowered, speller);
  kernel.call.workgroup_bytes += 4 * speller.own_words();
  kernel.text = speller.text();
  return kernel;
}

}  // namespace vyre
