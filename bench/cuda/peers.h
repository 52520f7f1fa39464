// What bench_cuda runs beside vyre: the same work in CUDA C++, on the same buffers.
#pragma once

#include <cstdint>
#include <span>

namespace bench {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// --- Sizes: what goes through memory is far beyond an L2 of 60 MiB
inline constexpr u32 kXorWords = 256 << 20;
inline constexpr u32 kPhiloxCounters = 64 << 20;
inline constexpr u32 kPhiloxKey[2] = {1, 2};
inline constexpr u32 kShaBlocks = 16 << 20;
inline constexpr u32 kMandelbrotSide = 8192;
inline constexpr int kMandelbrotView[3] = {-2 * 8192, -3 * 4096, 3};
inline constexpr u32 kDfaRecords = 1 << 20;
inline constexpr u32 kHistogramWords = 64 << 20;
inline constexpr u32 kScanBlocks = 1 << 20;
inline constexpr u32 kMatmulSide = 4096;
inline constexpr u32 kLifeColumns = 16384;
inline constexpr u32 kLifeRows = 16384;
inline constexpr u32 kCrcBlocks = 1 << 20;
inline constexpr u32 kKeccakStates = 4 << 20;
inline constexpr u32 kStreamBytes = 1u << 30;
inline constexpr u32 kSboxBytes = 256 << 20;

struct Peer {
  const char* program;
  const char* name;
  bool is_same;  // the algorithm of the program; otherwise a better one, or better memory for it
  // Starts it on the default stream. `buffers` are those of the program in the GPU's memory, in the
  // order of declaration, without workgroup memory.
  void (*launch)(u32* const* buffers);
};
std::span<const Peer> peers();

// Copies whole vectors of 16 bytes.
void launch_copy(const u32* from, u32* to, u64 bytes);

// In how many words two buffers differ; `count` is eight bytes in the GPU's memory.
u64 count_differences(const u32* a, const u32* b, u64 words, u64* count);

}  // namespace bench
