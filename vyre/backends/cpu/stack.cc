#include "vyre/backends/cpu/stack.h"

#include <sys/mman.h>
#include <unistd.h>

namespace vyre {
namespace {

// Registers that a call may change are listed; those that it keeps hold the caller's stack.
#if defined(__x86_64__)
__attribute__((noinline)) void call_on(std::byte* top, CpuKernel kernel,
                                       const std::uint64_t* arguments, std::uint64_t begin,
                                       std::uint64_t end, std::byte* scratch) {
  asm volatile(
      "movq %%rsp, %%r12\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[kernel]\n\t"
      "movq %%r12, %%rsp"
      : "+D"(arguments), "+S"(begin), "+d"(end), "+c"(scratch)
      : [top] "r"(top), [kernel] "r"(kernel)
      : "r12", "rax", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
        "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
        "k7",
#endif
        "cc", "memory");
}
#elif defined(__aarch64__)
__attribute__((noinline)) void call_on(std::byte* top, CpuKernel kernel,
                                       const std::uint64_t* arguments, std::uint64_t begin,
                                       std::uint64_t end, std::byte* scratch) {
  register const std::uint64_t* x0 asm("x0") = arguments;
  register std::uint64_t x1 asm("x1") = begin;
  register std::uint64_t x2 asm("x2") = end;
  register std::byte* x3 asm("x3") = scratch;
  asm volatile(
      "mov x20, sp\n\t"
      "mov sp, %[top]\n\t"
      "blr %[kernel]\n\t"
      "mov sp, x20"
      : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
      : [top] "r"(top), [kernel] "r"(kernel)
      : "x20", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10",
        "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
        "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}
#else
void call_on(std::byte*, CpuKernel kernel, const std::uint64_t* arguments, std::uint64_t begin,
             std::uint64_t end, std::byte* scratch) {
  kernel(arguments, begin, end, scratch);
}
#endif

}  // namespace

OwnStack::~OwnStack() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

bool OwnStack::reserve(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t size = (bytes + page - 1) / page * page + page;
  if (size <= size_) return true;
  if (memory_ != nullptr) munmap(memory_, size_);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) != 0) {
    munmap(memory, size);
    memory = MAP_FAILED;
  }
  memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  size_ = memory_ == nullptr ? 0 : size;
  return memory_ != nullptr;
}

bool OwnStack::call(std::uint64_t bytes, CpuKernel kernel, const std::uint64_t* arguments,
                    std::uint64_t begin, std::uint64_t end, std::byte* scratch) {
  // A signal that arrives meanwhile is handled there too.
  constexpr std::uint64_t kForSignals = 64 << 10;
  if (!reserve(bytes + kForSignals)) return false;
  call_on(memory_ + size_, kernel, arguments, begin, end, scratch);
  return true;
}

}  // namespace vyre
