#include "bench/cuda/kernels.h"

namespace bench {

std::unique_ptr<PtxRun> PtxRun::load(const vyre::Program& program, const vyre::PtxKernel& kernel,
                                     std::string& error) {
  std::unique_ptr<PtxRun> run(new PtxRun);
  if (kernel.has_table) {
    error = "more buffers than a kernel has parameters for";
    return nullptr;
  }
  run->shape_ = kernel.launch;
  run->block_ = kernel.block;
  run->shared_ = kernel.dynamic_shared;
  for (const vyre::BufferDecl& buffer : program.buffers) {
    if (!is_bound(buffer.access)) continue;
    run->strides_.push_back(vyre::stride(buffer.element));
  }
  const std::string text = vyre::ptx_header() + kernel.text;
  cudaError_t status =
      cudaLibraryLoadData(&run->library_, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == cudaSuccess) {
    status = cudaLibraryGetKernel(&run->kernel_, run->library_, kernel.entry.c_str());
  }
  if (status == cudaSuccess && run->shared_ > vyre::kPtxMaxStaticShared) {
    status = cudaFuncSetAttribute(run->kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(run->shared_));
  }
  if (status == cudaSuccess) return run;
  error = cudaGetErrorString(status);
  return nullptr;
}

PtxRun::~PtxRun() {
  if (library_ != nullptr) cudaLibraryUnload(library_);
}

cudaError_t PtxRun::launch(const std::vector<u32*>& buffers, const std::vector<u64>& bytes,
                           const vyre::Grid& grid) const {
  std::vector<u32> lengths(buffers.size());
  std::vector<const void*> arguments;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    lengths[i] = static_cast<u32>(bytes[i] / strides_[i]);
    arguments.push_back(&buffers[i]);
    arguments.push_back(&lengths[i]);
  }
  const u32 zero = 0;
  arguments.insert(arguments.end(), {&zero, &zero, &zero});
  const std::array<u64, 3> dispatched{grid[0], grid[1], grid[2]};
  const std::vector<u32> words = shape_.words(dispatched);
  for (const u32& word : words) arguments.push_back(&word);
  const std::array<u64, 3> all = shape_.grid(dispatched);
  const dim3 blocks(static_cast<u32>(all[0]), static_cast<u32>(all[1]), static_cast<u32>(all[2]));
  return cudaLaunchKernel(kernel_, blocks, dim3(block_[0], block_[1], block_[2]),
                          const_cast<void**>(arguments.data()), shared_, nullptr);
}

vyre::Result<vyre::PtxKernel> emit(const vyre::Lowered& variant, bool is_checked) {
  if (is_checked) return emit_ptx(variant);
  vyre::Lowered changed = variant;
  for (vyre::CheckedAccess& access : changed.bounds.accesses) {
    access.verdict = access.inner_verdict = vyre::CheckedAccess::Verdict::Proved;
  }
  for (vyre::AccessPlace& place : changed.places.all) place.checked = false;
  return emit_ptx(changed);
}

}  // namespace bench
