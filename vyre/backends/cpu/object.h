// Machine code in memory, from an ELF object as LLVM writes it. Nothing of LLVM is needed for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "vyre/backends/cpu/host_memory.h"

namespace vyre {

using CpuKernel = void (*)(const std::uint64_t* arguments, std::uint64_t begin, std::uint64_t end,
                           std::byte* scratch);

struct LoadedCode {
  CpuKernel kernel = nullptr;
  OwnedMemory memory;
};

// Null when it is not an object that can be loaded; then `reason` says why. Any bytes are safe to
// pass; code that is run must come from LLVM.
std::shared_ptr<const LoadedCode> load_object(std::string_view bytes, std::string& reason);

}  // namespace vyre
