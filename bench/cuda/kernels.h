// A program's PTX, launched without vyre's device: for what its bounds checks cost, beside code
// without any, which exists only here.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda/peers.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/ir/run.h"
#include "vyre/passes/lowered.h"

namespace bench {

class PtxRun {
 public:
  // Null and an error where the driver does not take it.
  static std::unique_ptr<PtxRun> load(const vyre::Program& program, const vyre::PtxKernel& kernel,
                                      std::string& error);
  ~PtxRun();
  PtxRun(const PtxRun&) = delete;
  PtxRun& operator=(const PtxRun&) = delete;

  // On the default stream. Buffers and their bytes as they are declared, without workgroup memory.
  cudaError_t launch(const std::vector<u32*>& buffers, const std::vector<u64>& bytes,
                     const vyre::Grid& grid) const;

 private:
  PtxRun() = default;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  vyre::LaunchShape shape_;
  std::array<u32, 3> block_{};
  std::uint32_t shared_ = 0;
  std::vector<std::uint64_t> strides_;  // bytes of an element, by buffer
};

// The kernel of a variant with the checks that it needs, or with none.
vyre::Result<vyre::PtxKernel> emit(const vyre::Lowered& variant, bool is_checked);

}  // namespace bench
