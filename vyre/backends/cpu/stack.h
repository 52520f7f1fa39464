// Calls on a stack of our own: code that keeps many values at once takes more than the stack of the
// thread that asks for a dispatch may have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vyre/backends/cpu/object.h"

namespace vyre {

// The most that code takes of its caller's stack.
inline constexpr std::uint64_t kMaxCallerStack = 48 << 10;

// Of one thread, as large as it was needed so far.
class OwnStack {
 public:
  OwnStack() = default;
  ~OwnStack();
  OwnStack(const OwnStack&) = delete;
  OwnStack& operator=(const OwnStack&) = delete;

  // Calls the kernel, which takes so much of the stack; gives whether there is memory for it.
  bool call(std::uint64_t bytes, CpuKernel kernel, const std::uint64_t* arguments,
            std::uint64_t begin, std::uint64_t end, std::byte* scratch);

 private:
  bool reserve(std::uint64_t bytes);

  std::byte* memory_ = nullptr;  // the first page of it cannot be accessed
  std::size_t size_ = 0;
};

}  // namespace vyre
