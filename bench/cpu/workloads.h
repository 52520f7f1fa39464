// What bench_cpu runs: each workload is a program in bench/programs, and peers that compute the
// same bytes from the same buffers.
#pragma once

#include <cstdint>
#include <span>

namespace bench {

using u32 = std::uint32_t;

// --- Sizes
inline constexpr u32 kXorWords = 16 << 20;
inline constexpr u32 kPhiloxCounters = 4 << 20;
inline constexpr u32 kShaBlocks = 512 << 10;
inline constexpr u32 kMandelbrotSide = 1024;
inline constexpr u32 kDfaRecords = 16 << 10;
inline constexpr u32 kHistogramWords = 16 << 20;
inline constexpr u32 kScanBlocks = 64 << 10;
inline constexpr u32 kMatmulSide = 512;
inline constexpr u32 kLifeColumns = 4096;
inline constexpr u32 kLifeRows = 2048;
inline constexpr u32 kCrcBlocks = 16 << 10;
inline constexpr u32 kStreamBytes = 256 << 20;  // beyond all caches
inline constexpr u32 kSboxBytes = 4 << 20;
inline constexpr u32 kPairs = 64 << 10;  // of texts that are compared
inline constexpr u32 kTiles = 16 << 10;  // that are sorted

// Runs the pieces [begin, end) of a workload. `buffers` are those of the program, in the order of
// declaration, without workgroup memory.
using Work = void (*)(u32* const* buffers, u32 begin, u32 end);

struct Peer {
  const char* workload;
  const char* name;
  u32 pieces;  // that it cuts the work into
  Work run;
};

// The same source by two compilers.
std::span<const Peer> clang_peers();
std::span<const Peer> gcc_peers();

}  // namespace bench
