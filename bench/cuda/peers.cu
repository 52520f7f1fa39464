// Kernels as people write them by hand for one GPU: of the algorithms of bench/programs, and of
// better ones where these are known. Sizes are arguments; uniforms are arguments by value.
#include <cuda_runtime.h>

#include "bench/cuda/peers.h"

namespace bench {
namespace {

__device__ __forceinline__ u32 thread_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

constexpr u32 blocks_of(u64 threads, u32 size) {
  return static_cast<u32>((threads + size - 1) / size);
}

const uint4* vectors(const u32* words) { return reinterpret_cast<const uint4*>(words); }
uint4* vectors(u32* words) { return reinterpret_cast<uint4*>(words); }
u64* wide(u32* words) { return reinterpret_cast<u64*>(words); }

// --- Copy and comparison

__global__ void copy_vectors(const uint4* __restrict__ from, uint4* __restrict__ to, u32 n) {
  const u32 i = thread_id();
  if (i < n) to[i] = from[i];
}

__global__ void compare_words(const u32* __restrict__ a, const u32* __restrict__ b, u64 n,
                              unsigned long long* count) {
  const u64 stride = u64{gridDim.x} * blockDim.x;
  u32 own = 0;
  for (u64 i = thread_id(); i < n; i += stride) own += a[i] != b[i];
  if (own != 0) atomicAdd(count, own);
}

// --- xor

__global__ void xor_word(const u32* __restrict__ left, const u32* __restrict__ right,
                         u32* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i < n) out[i] = left[i] ^ right[i];
}
void launch_xor_word(u32* const* b) {
  xor_word<<<blocks_of(kXorWords, 256), 256>>>(b[0], b[1], b[2], kXorWords);
}

__global__ void xor_vector(const uint4* __restrict__ left, const uint4* __restrict__ right,
                           uint4* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  const uint4 l = left[i];
  const uint4 r = right[i];
  out[i] = make_uint4(l.x ^ r.x, l.y ^ r.y, l.z ^ r.z, l.w ^ r.w);
}
void launch_xor_vector(u32* const* b) {
  xor_vector<<<blocks_of(kXorWords / 4, 256), 256>>>(vectors(b[0]), vectors(b[1]), vectors(b[2]),
                                                     kXorWords / 4);
}

// --- philox

__global__ void philox(u32 k0, u32 k1, uint4* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  uint4 c = make_uint4(i, 0, 0, 0);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 first = u64{c.x} * 0xd2511f53u;
    const u64 second = u64{c.z} * 0xcd9e8d57u;
    c = make_uint4(static_cast<u32>(second >> 32) ^ c.y ^ k0, static_cast<u32>(second),
                   static_cast<u32>(first >> 32) ^ c.w ^ k1, static_cast<u32>(first));
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  out[i] = c;
}
void launch_philox(u32* const* b) {
  philox<<<blocks_of(kPhiloxCounters, 256), 256>>>(kPhiloxKey[0], kPhiloxKey[1], vectors(b[1]),
                                                   kPhiloxCounters);
}

// --- sha256

__device__ __forceinline__ u32 rotr(u32 x, u32 by) { return __funnelshift_r(x, x, by); }

__global__ void sha256(const uint4* __restrict__ blocks, uint4* __restrict__ digests, u32 n) {
  constexpr u32 kRounds[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  constexpr u32 kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const u32 i = thread_id();
  if (i >= n) return;
  u32 w[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint4 four = blocks[i * 4 + k];
    w[k * 4] = four.x;
    w[k * 4 + 1] = four.y;
    w[k * 4 + 2] = four.z;
    w[k * 4 + 3] = four.w;
  }
  u32 s[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) s[k] = kStart[k];
#pragma unroll
  for (int k = 0; k < 64; ++k) {
    if (k >= 16) {
      const u32 w15 = w[(k + 1) & 15];
      const u32 w2 = w[(k + 14) & 15];
      w[k & 15] += (rotr(w15, 7) ^ rotr(w15, 18) ^ w15 >> 3) + w[(k + 9) & 15] +
                   (rotr(w2, 17) ^ rotr(w2, 19) ^ w2 >> 10);
    }
    const u32 t1 = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) +
                   ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRounds[k] + w[k & 15];
    const u32 t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) +
                   ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    s[7] = s[6];
    s[6] = s[5];
    s[5] = s[4];
    s[4] = s[3] + t1;
    s[3] = s[2];
    s[2] = s[1];
    s[1] = s[0];
    s[0] = t1 + t2;
  }
  digests[i * 2] =
      make_uint4(kStart[0] + s[0], kStart[1] + s[1], kStart[2] + s[2], kStart[3] + s[3]);
  digests[i * 2 + 1] =
      make_uint4(kStart[4] + s[4], kStart[5] + s[5], kStart[6] + s[6], kStart[7] + s[7]);
}
void launch_sha256(u32* const* b) {
  sha256<<<blocks_of(kShaBlocks, 256), 256>>>(vectors(b[0]), vectors(b[1]), kShaBlocks);
}

// --- mandelbrot

// Wraps around, as the program's numbers do.
__device__ __forceinline__ int product(int a, int b) {
  return static_cast<int>(static_cast<u32>(a) * static_cast<u32>(b));
}

__device__ __forceinline__ u32 escape(int cr, int ci) {
  int zr = 0;
  int zi = 0;
  u32 count = 0;
  for (; count < 256; ++count) {
    const int rr = product(zr, zr) >> 13;
    const int ii = product(zi, zi) >> 13;
    if (rr + ii > 0x8000) break;
    zi = (product(zr, zi) >> 12) + ci;
    zr = rr - ii + cr;
  }
  return count;
}

__global__ void mandelbrot_row(int left, int top, int step, u32 columns, u32* __restrict__ steps) {
  const u32 x = thread_id();
  const u32 y = blockIdx.y;
  if (x >= columns) return;
  steps[y * columns + x] =
      escape(left + static_cast<int>(x) * step, top + static_cast<int>(y) * step);
}
void launch_mandelbrot_row(u32* const* b) {
  mandelbrot_row<<<dim3(kMandelbrotSide / 64, kMandelbrotSide), 64>>>(
      kMandelbrotView[0], kMandelbrotView[1], kMandelbrotView[2], kMandelbrotSide, b[2]);
}

// A warp has a patch of 8 x 4 pixels, which leave more nearly together.
__global__ void mandelbrot_patch(int left, int top, int step, u32 columns,
                                 u32* __restrict__ steps) {
  const u32 lane = threadIdx.x & 31;
  const u32 warp = threadIdx.x >> 5;
  const u32 x = blockIdx.x * 16 + (warp & 1) * 8 + (lane & 7);
  const u32 y = blockIdx.y * 16 + (warp >> 1) * 4 + (lane >> 3);
  steps[y * columns + x] =
      escape(left + static_cast<int>(x) * step, top + static_cast<int>(y) * step);
}
void launch_mandelbrot_patch(u32* const* b) {
  mandelbrot_patch<<<dim3(kMandelbrotSide / 16, kMandelbrotSide / 16), 256>>>(
      kMandelbrotView[0], kMandelbrotView[1], kMandelbrotView[2], kMandelbrotSide, b[2]);
}

// --- dfa

__device__ __forceinline__ void dfa_word(const u32* __restrict__ table, u32 word, u32& state,
                                         u32& count) {
#pragma unroll
  for (int byte = 0; byte < 4; ++byte) {
    state = __ldg(&table[state + (word >> byte * 8 & 0xff)]);
    count += state == 0xf00;
  }
}

__global__ void dfa_words(const u32* __restrict__ text, const u32* __restrict__ table,
                          u32* __restrict__ accepted, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  u32 state = 0;
  u32 count = 0;
  for (u32 k = 0; k < 256; ++k) dfa_word(table, text[i * 256 + k], state, count);
  accepted[i] = count;
}
void launch_dfa_words(u32* const* b) {
  dfa_words<<<blocks_of(kDfaRecords, 256), 256>>>(b[0], b[1], b[2], kDfaRecords);
}

__global__ void dfa_vectors(const uint4* __restrict__ text, const u32* __restrict__ table,
                            u32* __restrict__ accepted, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  u32 state = 0;
  u32 count = 0;
  for (u32 k = 0; k < 64; ++k) {
    const uint4 four = text[i * 64 + k];
    dfa_word(table, four.x, state, count);
    dfa_word(table, four.y, state, count);
    dfa_word(table, four.z, state, count);
    dfa_word(table, four.w, state, count);
  }
  accepted[i] = count;
}
void launch_dfa_vectors(u32* const* b) {
  dfa_vectors<<<blocks_of(kDfaRecords, 256), 256>>>(vectors(b[0]), b[1], b[2], kDfaRecords);
}

// The table as bytes in shared memory.
__global__ void dfa_shared(const uint4* __restrict__ text, const u32* __restrict__ table,
                           u32* __restrict__ accepted, u32 n) {
  __shared__ unsigned char next[16 * 256];
  for (u32 k = threadIdx.x; k < 16 * 256; k += blockDim.x) {
    next[k] = static_cast<unsigned char>(table[k] >> 8);
  }
  __syncthreads();
  const u32 i = thread_id();
  if (i >= n) return;
  u32 state = 0;
  u32 count = 0;
  for (u32 k = 0; k < 64; ++k) {
    const uint4 four = text[i * 64 + k];
    const u32 words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int byte = 0; byte < 16; ++byte) {
      state = next[state << 8 | (words[byte / 4] >> byte % 4 * 8 & 0xff)];
      count += state == 0xf;
    }
  }
  accepted[i] = count;
}
void launch_dfa_shared(u32* const* b) {
  dfa_shared<<<blocks_of(kDfaRecords, 512), 512>>>(vectors(b[0]), b[1], b[2], kDfaRecords);
}

// --- histogram

__global__ void histogram_global(const u32* __restrict__ data, u32* bins, u32 n) {
  const u32 i = thread_id();
  if (i < n) atomicAdd(&bins[data[i] & 0xff], 1);
}
void launch_histogram_global(u32* const* b) {
  histogram_global<<<blocks_of(kHistogramWords, 256), 256>>>(b[0], b[1], kHistogramWords);
}

// Each block counts in bins of its own.
__global__ void histogram_shared(const uint4* __restrict__ data, u32* bins, u32 n) {
  __shared__ u32 own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (u32 i = thread_id(); i < n; i += gridDim.x * blockDim.x) {
    const uint4 four = data[i];
    atomicAdd(&own[four.x & 0xff], 1);
    atomicAdd(&own[four.y & 0xff], 1);
    atomicAdd(&own[four.z & 0xff], 1);
    atomicAdd(&own[four.w & 0xff], 1);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
void launch_histogram_shared(u32* const* b) {
  histogram_shared<<<132 * 8, 256>>>(vectors(b[0]), b[1], kHistogramWords / 4);
}

// --- scan

__global__ void scan_barriers(const u32* __restrict__ data, u32* __restrict__ sums) {
  __shared__ u32 cells[256];
  const u32 lane = threadIdx.x;
  u32 sum = data[thread_id()];
#pragma unroll
  for (u32 reach = 1; reach < 256; reach *= 2) {
    cells[lane] = sum;
    __syncthreads();
    if (lane >= reach) sum += cells[lane - reach];
    __syncthreads();
  }
  sums[thread_id()] = sum;
}
void launch_scan_barriers(u32* const* b) { scan_barriers<<<kScanBlocks, 256>>>(b[0], b[1]); }

// Two sets of cells in turns need half of the barriers.
__global__ void scan_turns(const u32* __restrict__ data, u32* __restrict__ sums) {
  __shared__ u32 cells[2][256];
  const u32 lane = threadIdx.x;
  u32 sum = data[thread_id()];
#pragma unroll
  for (u32 step = 0; step < 8; ++step) {
    cells[step & 1][lane] = sum;
    __syncthreads();
    if (lane >= 1u << step) sum += cells[step & 1][lane - (1u << step)];
  }
  sums[thread_id()] = sum;
}
void launch_scan_turns(u32* const* b) { scan_turns<<<kScanBlocks, 256>>>(b[0], b[1]); }

__device__ __forceinline__ u32 warp_sums(u32 value, u32 lane) {
#pragma unroll
  for (u32 reach = 1; reach < 32; reach *= 2) {
    const u32 other = __shfl_up_sync(0xffffffff, value, reach);
    if (lane >= reach) value += other;
  }
  return value;
}

// A warp has a block of 256: two vectors for each lane, and no barrier.
__global__ void scan_warps(const uint4* __restrict__ data, uint4* __restrict__ sums) {
  const u32 lane = threadIdx.x & 31;
  const u32 first = (thread_id() >> 5) * 64 + lane;
  uint4 a = data[first];
  uint4 b = data[first + 32];
  a.y += a.x;
  a.z += a.y;
  a.w += a.z;
  b.y += b.x;
  b.z += b.y;
  b.w += b.z;
  const u32 up_to_a = warp_sums(a.w, lane);
  const u32 up_to_b = warp_sums(b.w, lane) + __shfl_sync(0xffffffff, up_to_a, 31);
  const u32 before_a = up_to_a - a.w;
  const u32 before_b = up_to_b - b.w;
  sums[first] = make_uint4(a.x + before_a, a.y + before_a, a.z + before_a, a.w + before_a);
  sums[first + 32] = make_uint4(b.x + before_b, b.y + before_b, b.z + before_b, b.w + before_b);
}
void launch_scan_warps(u32* const* b) {
  scan_warps<<<kScanBlocks / 8, 256>>>(vectors(b[0]), vectors(b[1]));
}

// --- matmul

__global__ void matmul_tile(const u32* __restrict__ left, const u32* __restrict__ right,
                            u32* __restrict__ product, u32 n) {
  __shared__ u32 left_tile[16][16];
  __shared__ u32 right_tile[16][16];
  const u32 x = threadIdx.x;
  const u32 y = threadIdx.y;
  const u32 column = blockIdx.x * 16 + x;
  const u32 row = blockIdx.y * 16 + y;
  u32 sum = 0;
  for (u32 tile = 0; tile < n; tile += 16) {
    left_tile[y][x] = left[row * n + tile + x];
    right_tile[y][x] = right[(tile + y) * n + column];
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 16; ++k) sum += left_tile[y][k] * right_tile[k][x];
    __syncthreads();
  }
  product[row * n + column] = sum;
}
void launch_matmul_tile(u32* const* b) {
  matmul_tile<<<dim3(kMatmulSide / 16, kMatmulSide / 16), dim3(16, 16)>>>(b[0], b[1], b[3],
                                                                          kMatmulSide);
}

// A block has 128 x 128 results, a thread 8 x 8 of them in four squares; the next tiles come from
// memory while these are multiplied.
__global__ void __launch_bounds__(256, 2)
    matmul_registers(const u32* __restrict__ left, const u32* __restrict__ right,
                     u32* __restrict__ product, u32 n) {
  constexpr u32 kDepth = 16;
  __shared__ __align__(16) u32 left_tile[kDepth][132];  // turned; 4 more against bank conflicts
  __shared__ __align__(16) u32 right_tile[kDepth][128];
  const u32 t = threadIdx.x;
  const u32 tx = t % 16;
  const u32 ty = t / 16;
  const u32 left_row = t / 4;
  const u32 left_column = t % 4 * 4;
  const u32 right_row = t / 32;
  const u32 right_column = t % 32 * 4;
  const u32* left_from = left + (blockIdx.y * 128 + left_row) * n + left_column;
  const u32* right_from = right + right_row * n + blockIdx.x * 128 + right_column;

  uint4 next_left[2];
  uint4 next_right[2];
  const auto fetch = [&](u32 depth) {
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      next_left[half] = *reinterpret_cast<const uint4*>(left_from + half * 64 * n + depth);
      next_right[half] = *reinterpret_cast<const uint4*>(right_from + (depth + half * 8) * n);
    }
  };
  u32 sums[8][8] = {};
  fetch(0);
  for (u32 depth = 0; depth < n; depth += kDepth) {
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      left_tile[left_column][left_row + half * 64] = next_left[half].x;
      left_tile[left_column + 1][left_row + half * 64] = next_left[half].y;
      left_tile[left_column + 2][left_row + half * 64] = next_left[half].z;
      left_tile[left_column + 3][left_row + half * 64] = next_left[half].w;
      *reinterpret_cast<uint4*>(&right_tile[right_row + half * 8][right_column]) = next_right[half];
    }
    __syncthreads();
    if (depth + kDepth < n) fetch(depth + kDepth);
#pragma unroll
    for (u32 k = 0; k < kDepth; ++k) {
      const uint4 l0 = *reinterpret_cast<const uint4*>(&left_tile[k][ty * 4]);
      const uint4 l1 = *reinterpret_cast<const uint4*>(&left_tile[k][64 + ty * 4]);
      const uint4 r0 = *reinterpret_cast<const uint4*>(&right_tile[k][tx * 4]);
      const uint4 r1 = *reinterpret_cast<const uint4*>(&right_tile[k][64 + tx * 4]);
      const u32 l[8] = {l0.x, l0.y, l0.z, l0.w, l1.x, l1.y, l1.z, l1.w};
      const u32 r[8] = {r0.x, r0.y, r0.z, r0.w, r1.x, r1.y, r1.z, r1.w};
#pragma unroll
      for (u32 y = 0; y < 8; ++y) {
#pragma unroll
        for (u32 x = 0; x < 8; ++x) sums[y][x] += l[y] * r[x];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (u32 y = 0; y < 8; ++y) {
    const u32 row = blockIdx.y * 128 + (y / 4) * 64 + ty * 4 + y % 4;
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      const u32* four = &sums[y][half * 4];
      *reinterpret_cast<uint4*>(product + row * n + blockIdx.x * 128 + half * 64 + tx * 4) =
          make_uint4(four[0], four[1], four[2], four[3]);
    }
  }
}
void launch_matmul_registers(u32* const* b) {
  matmul_registers<<<dim3(kMatmulSide / 128, kMatmulSide / 128), 256>>>(b[0], b[1], b[3],
                                                                        kMatmulSide);
}

// --- life

__global__ void life_cell(const u32* __restrict__ board, u32 columns, u32 rows,
                          u32* __restrict__ next) {
  const u32 x = thread_id();
  const u32 y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  u32 around = 0;
#pragma unroll
  for (u32 dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (u32 dx = 0; dx < 3; ++dx) {
      const u32 row = y + dy - 1;
      const u32 column = x + dx - 1;
      if (row < rows && column < columns) around += board[row * columns + column];
    }
  }
  next[y * columns + x] = around == 3 || (around == 4 && board[y * columns + x] == 1);
}
void launch_life_cell(u32* const* b) {
  life_cell<<<dim3(kLifeColumns / 64, kLifeRows / 4), dim3(64, 4)>>>(b[0], kLifeColumns, kLifeRows,
                                                                     b[2]);
}

// A thread has four columns and eight rows. It asks for all that it needs from memory first; what
// is left and right of its columns comes from its neighbours, at the ends of a warp from memory
// too.
__global__ void life_strip(const u32* __restrict__ board, u32 columns, u32 rows,
                           u32* __restrict__ next) {
  const u32 lane = threadIdx.x;
  const u32 x = thread_id() * 4;
  const u32 first = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
  const bool has_edge = lane == 0 ? x > 0 : lane == 31 && x + 4 < columns;
  const u32 beside = lane == 0 ? x - 1 : x + 4;
  uint4 cells[10];
  u32 edge[10];
#pragma unroll
  for (u32 k = 0; k < 10; ++k) {
    const u32 y = first + k - 1;
    cells[k] = {};
    edge[k] = 0;
    if (y < rows) cells[k] = *reinterpret_cast<const uint4*>(board + y * columns + x);
    if (y < rows && has_edge) edge[k] = board[y * columns + beside];
  }
  uint4 sums[10];  // of three in a row
#pragma unroll
  for (u32 k = 0; k < 10; ++k) {
    const uint4 c = cells[k];
    const u32 before = __shfl_up_sync(0xffffffff, c.w, 1);
    const u32 behind = __shfl_down_sync(0xffffffff, c.x, 1);
    const u32 left = lane == 0 ? edge[k] : before;
    const u32 right = lane == 31 ? edge[k] : behind;
    sums[k] = make_uint4(left + c.x + c.y, c.x + c.y + c.z, c.y + c.z + c.w, c.z + c.w + right);
  }
  const auto lives = [](u32 around, u32 cell) -> u32 {
    return around == 3 || (around == 4 && cell == 1);
  };
#pragma unroll
  for (u32 k = 1; k < 9; ++k) {
    *reinterpret_cast<uint4*>(next + (first + k - 1) * columns + x) =
        make_uint4(lives(sums[k - 1].x + sums[k].x + sums[k + 1].x, cells[k].x),
                   lives(sums[k - 1].y + sums[k].y + sums[k + 1].y, cells[k].y),
                   lives(sums[k - 1].z + sums[k].z + sums[k + 1].z, cells[k].z),
                   lives(sums[k - 1].w + sums[k].w + sums[k + 1].w, cells[k].w));
  }
}
void launch_life_strip(u32* const* b) {
  life_strip<<<dim3(kLifeColumns / 128, kLifeRows / 64), dim3(32, 8)>>>(b[0], kLifeColumns,
                                                                        kLifeRows, b[2]);
}

// --- crc32

template <class Table>
__device__ __forceinline__ u32 crc_pair(const Table& table, u32 state, u32 first, u32 second) {
  const u32 x = state ^ first;
  const u32 y = second;
  return table(x & 0xff) ^ table(256 + (x >> 8 & 0xff)) ^ table(512 + (x >> 16 & 0xff)) ^
         table(768 + (x >> 24)) ^ table(1024 + (y & 0xff)) ^ table(1280 + (y >> 8 & 0xff)) ^
         table(1536 + (y >> 16 & 0xff)) ^ table(1792 + (y >> 24));
}

__global__ void crc32_words(const u32* __restrict__ data, const u32* __restrict__ tables,
                            u32* __restrict__ crcs, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  const auto table = [=](u32 index) { return __ldg(&tables[index]); };
  u32 state = 0xffffffff;
  for (u32 k = 0; k < 256; k += 2) {
    state = crc_pair(table, state, data[i * 256 + k], data[i * 256 + k + 1]);
  }
  crcs[i] = ~state;
}
void launch_crc32_words(u32* const* b) {
  crc32_words<<<blocks_of(kCrcBlocks, 256), 256>>>(b[0], b[1], b[2], kCrcBlocks);
}

template <class Table>
__device__ __forceinline__ u32 crc_vectors(const Table& table, const uint4* __restrict__ from) {
  u32 state = 0xffffffff;
  for (u32 k = 0; k < 64; ++k) {
    const uint4 four = from[k];
    state = crc_pair(table, state, four.x, four.y);
    state = crc_pair(table, state, four.z, four.w);
  }
  return ~state;
}

__global__ void crc32_vectors(const uint4* __restrict__ data, const u32* __restrict__ tables,
                              u32* __restrict__ crcs, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  crcs[i] = crc_vectors([=](u32 index) { return __ldg(&tables[index]); }, data + i * 64);
}
void launch_crc32_vectors(u32* const* b) {
  crc32_vectors<<<blocks_of(kCrcBlocks, 256), 256>>>(vectors(b[0]), b[1], b[2], kCrcBlocks);
}

__global__ void crc32_shared(const uint4* __restrict__ data, const u32* __restrict__ tables,
                             u32* __restrict__ crcs, u32 n) {
  __shared__ u32 own[2048];
  for (u32 k = threadIdx.x; k < 2048; k += blockDim.x) own[k] = tables[k];
  __syncthreads();
  const u32 i = thread_id();
  if (i >= n) return;
  crcs[i] = crc_vectors([&](u32 index) { return own[index]; }, data + i * 64);
}
void launch_crc32_shared(u32* const* b) {
  crc32_shared<<<blocks_of(kCrcBlocks, 512), 512>>>(vectors(b[0]), b[1], b[2], kCrcBlocks);
}

// --- keccak

__device__ __forceinline__ u64 rotl(u64 x, u32 by) { return x << by | x >> (64 - by); }

__constant__ const u64 kKeccakRounds[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// `kFolded`: what theta adds to a lane are two words, which one instruction for three does; their
// sum for all lanes of a column would take one more.
template <bool kFolded>
__device__ __forceinline__ void keccak_round(u64 (&a)[25], u64 constant) {
  u64 c[5];
  u64 b[25];
#pragma unroll
  for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
  // Lane by lane along the path of rho and pi: each goes where the next one comes from.
  constexpr int kPath[24] = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                             15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};
  constexpr int kTurn[24] = {1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                             27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};
  u64 d[5];
#pragma unroll
  for (int x = 0; x < 5; ++x) {
    d[x] = rotl(c[(x + 1) % 5], 1);
    if (!kFolded) d[x] ^= c[(x + 4) % 5];
  }
  const auto theta = [&](int lane) {
    return kFolded ? a[lane] ^ c[(lane + 4) % 5] ^ d[lane % 5] : a[lane] ^ d[lane % 5];
  };
  b[0] = theta(0);
  int from = 1;
#pragma unroll
  for (int k = 0; k < 24; ++k) {
    b[kPath[k]] = rotl(theta(from), kTurn[k]);
    from = kPath[k];
  }
#pragma unroll
  for (int y = 0; y < 25; y += 5) {
#pragma unroll
    for (int x = 0; x < 5; ++x) a[y + x] = b[y + x] ^ (~b[y + (x + 1) % 5] & b[y + (x + 2) % 5]);
  }
  a[0] ^= constant;
}

template <bool kFolded, int kUnroll>
__global__ void keccak(const u64* __restrict__ before, u64* __restrict__ after, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  u64 a[25];
#pragma unroll
  for (u32 k = 0; k < 25; ++k) a[k] = before[k * n + i];
#pragma unroll kUnroll
  for (int round = 0; round < 24; ++round) {
    keccak_round<kFolded>(a, kKeccakRounds[round]);
  }
#pragma unroll
  for (u32 k = 0; k < 25; ++k) after[k * n + i] = a[k];
}
template <bool kFolded, int kUnroll>
void launch_keccak(u32* const* b) {
  keccak<kFolded, kUnroll>
      <<<blocks_of(kKeccakStates, 128), 128>>>(wide(b[0]), wide(b[2]), kKeccakStates);
}

// --- Streams of narrow elements

void launch_copy_vectors(u32* const* b) { launch_copy(b[0], b[1], kStreamBytes); }

template <class T>
__global__ void add_element(const T* __restrict__ left, const T* __restrict__ right,
                            T* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i < n) out[i] = static_cast<T>(left[i] + right[i]);
}
template <class T>
void launch_add_element(u32* const* b) {
  constexpr u32 kCount = kStreamBytes / sizeof(T);
  add_element<<<blocks_of(kCount, 256), 256>>>(reinterpret_cast<const T*>(b[0]),
                                               reinterpret_cast<const T*>(b[1]),
                                               reinterpret_cast<T*>(b[2]), kCount);
}

template <bool kBytes>
__global__ void add_vector(const uint4* __restrict__ left, const uint4* __restrict__ right,
                           uint4* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  const uint4 l = left[i];
  const uint4 r = right[i];
  const auto add = [](u32 a, u32 b) { return kBytes ? __vadd4(a, b) : __vadd2(a, b); };
  out[i] = make_uint4(add(l.x, r.x), add(l.y, r.y), add(l.z, r.z), add(l.w, r.w));
}
template <bool kBytes>
void launch_add_vector(u32* const* b) {
  constexpr u32 kCount = kStreamBytes / 16;
  add_vector<kBytes>
      <<<blocks_of(kCount, 256), 256>>>(vectors(b[0]), vectors(b[1]), vectors(b[2]), kCount);
}

// --- sbox

__device__ const unsigned char kSbox[256] = {
    0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76,
    0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0,
    0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15,
    0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75,
    0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84,
    0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf,
    0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8,
    0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2,
    0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73,
    0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb,
    0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79,
    0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08,
    0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a,
    0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e,
    0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf,
    0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16};

// Sixteen bytes for each thread.
template <class Table>
__device__ __forceinline__ void sbox_bytes(const Table& table, const uint4* from, uint4* to) {
  const uint4 four = *from;
  const u32 words[4] = {four.x, four.y, four.z, four.w};
  u32 out[4] = {};
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    u32 x = words[k / 4] >> k % 4 * 8 & 0xff;
#pragma unroll
    for (u32 round = 0; round < 16; ++round) x = table[x ^ round];
    out[k / 4] |= x << k % 4 * 8;
  }
  *to = make_uint4(out[0], out[1], out[2], out[3]);
}

__global__ void sbox_global(const uint4* __restrict__ data, uint4* __restrict__ out, u32 n) {
  const u32 i = thread_id();
  if (i < n) sbox_bytes(kSbox, data + i, out + i);
}
void launch_sbox_global(u32* const* b) {
  constexpr u32 kCount = kSboxBytes / 16;
  sbox_global<<<blocks_of(kCount, 256), 256>>>(vectors(b[0]), vectors(b[1]), kCount);
}

__global__ void sbox_shared(const uint4* __restrict__ data, uint4* __restrict__ out, u32 n) {
  __shared__ unsigned char own[256];
  own[threadIdx.x] = kSbox[threadIdx.x];
  __syncthreads();
  const u32 i = thread_id();
  if (i < n) sbox_bytes(own, data + i, out + i);
}
void launch_sbox_shared(u32* const* b) {
  constexpr u32 kCount = kSboxBytes / 16;
  sbox_shared<<<blocks_of(kCount, 256), 256>>>(vectors(b[0]), vectors(b[1]), kCount);
}

// --- crc_bytes

__device__ u32 kCrcTable[256];
__global__ void fill_crc_table() {
  u32 state = threadIdx.x;
  for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1) * 0xedb88320u;
  kCrcTable[threadIdx.x] = state;
}
void prepare_crc_table() {
  static const bool once = [] {
    fill_crc_table<<<1, 256>>>();
    return true;
  }();
  static_cast<void>(once);
}

template <class Table>
__device__ __forceinline__ u32 crc_bytes(const Table& table, const uint4* __restrict__ from) {
  u32 state = 0xffffffff;
  for (u32 k = 0; k < 64; ++k) {
    const uint4 four = from[k];
    const u32 words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int byte = 0; byte < 16; ++byte) {
      state = state >> 8 ^ table((state ^ words[byte / 4] >> byte % 4 * 8) & 0xff);
    }
  }
  return ~state;
}

__global__ void crc_bytes_global(const uint4* __restrict__ data, u32* __restrict__ crcs, u32 n) {
  const u32 i = thread_id();
  if (i >= n) return;
  crcs[i] = crc_bytes([](u32 index) { return __ldg(&kCrcTable[index]); }, data + i * 64);
}
void launch_crc_bytes_global(u32* const* b) {
  prepare_crc_table();
  crc_bytes_global<<<blocks_of(kCrcBlocks, 256), 256>>>(vectors(b[0]), b[1], kCrcBlocks);
}

__global__ void crc_bytes_shared(const uint4* __restrict__ data, u32* __restrict__ crcs, u32 n) {
  __shared__ u32 own[256];
  own[threadIdx.x] = kCrcTable[threadIdx.x];
  __syncthreads();
  const u32 i = thread_id();
  if (i >= n) return;
  crcs[i] = crc_bytes([&](u32 index) { return own[index]; }, data + i * 64);
}
void launch_crc_bytes_shared(u32* const* b) {
  prepare_crc_table();
  crc_bytes_shared<<<blocks_of(kCrcBlocks, 256), 256>>>(vectors(b[0]), b[1], kCrcBlocks);
}

// --- sum

__device__ __forceinline__ u32 warp_sum(u32 value) {
#pragma unroll
  for (u32 by = 16; by > 0; by /= 2) value += __shfl_down_sync(0xffffffff, value, by);
  return value;
}

// A block for each 256 words: warps add theirs, the first warp adds the warps'.
template <bool kReduce>
__global__ void sum_block(const u32* __restrict__ data, u32* __restrict__ sums) {
  __shared__ u32 own[8];
  const auto add = [](u32 x) { return kReduce ? __reduce_add_sync(0xffffffff, x) : warp_sum(x); };
  const u32 lane = threadIdx.x & 31;
  const u32 sum = add(data[thread_id()]);
  if (lane == 0) own[threadIdx.x >> 5] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const u32 all = add(lane < 8 ? own[lane] : 0);
  if (lane == 0) sums[blockIdx.x] = all;
}
template <bool kReduce>
void launch_sum_block(u32* const* b) {
  sum_block<kReduce><<<kScanBlocks, 256>>>(b[0], b[1]);
}

// A warp for each 256 words: two vectors for each lane, and no barrier.
__global__ void sum_warps(const uint4* __restrict__ data, u32* __restrict__ sums) {
  const u32 warp = thread_id() >> 5;
  const u32 lane = threadIdx.x & 31;
  const uint4 a = data[warp * 64 + lane];
  const uint4 b = data[warp * 64 + 32 + lane];
  const u32 sum = __reduce_add_sync(0xffffffff, a.x + a.y + a.z + a.w + (b.x + b.y + b.z + b.w));
  if (lane == 0) sums[warp] = sum;
}
void launch_sum_warps(u32* const* b) { sum_warps<<<kScanBlocks / 8, 256>>>(vectors(b[0]), b[1]); }

// --- scan_add

// Warps add up theirs, and each thread what the warps before have.
__global__ void scan_shuffles(const u32* __restrict__ data, u32* __restrict__ sums) {
  __shared__ u32 own[8];
  const u32 lane = threadIdx.x & 31;
  const u32 warp = threadIdx.x >> 5;
  u32 sum = warp_sums(data[thread_id()], lane);
  if (lane == 31) own[warp] = sum;
  __syncthreads();
#pragma unroll
  for (u32 i = 0; i < 7; ++i) {
    if (i < warp) sum += own[i];
  }
  sums[thread_id()] = sum;
}
void launch_scan_shuffles(u32* const* b) { scan_shuffles<<<kScanBlocks, 256>>>(b[0], b[1]); }

constexpr Peer kPeers[] = {
    {"xor", "word", true, launch_xor_word},
    {"xor", "vector", false, launch_xor_vector},
    {"philox", "vector", true, launch_philox},
    {"sha256", "unrolled", true, launch_sha256},
    {"mandelbrot", "row", true, launch_mandelbrot_row},
    {"mandelbrot", "patch", false, launch_mandelbrot_patch},
    {"dfa", "words", true, launch_dfa_words},
    {"dfa", "vectors", true, launch_dfa_vectors},
    {"dfa", "shared", false, launch_dfa_shared},
    {"histogram", "global", true, launch_histogram_global},
    {"histogram", "shared", false, launch_histogram_shared},
    {"scan", "barriers", true, launch_scan_barriers},
    {"scan", "turns", true, launch_scan_turns},
    {"scan", "warps", false, launch_scan_warps},
    {"matmul", "tile", true, launch_matmul_tile},
    {"matmul", "registers", false, launch_matmul_registers},
    {"life", "cell", true, launch_life_cell},
    {"life", "strip", false, launch_life_strip},
    {"crc32", "words", true, launch_crc32_words},
    {"crc32", "vectors", true, launch_crc32_vectors},
    {"crc32", "shared", false, launch_crc32_shared},
    {"copy_u8", "vectors", true, launch_copy_vectors},
    {"add_u8", "element", true, launch_add_element<unsigned char>},
    {"add_u8", "vectors", true, launch_add_vector<true>},
    {"add_i8", "element", true, launch_add_element<signed char>},
    {"add_i8", "vectors", true, launch_add_vector<true>},
    {"add_u16", "element", true, launch_add_element<unsigned short>},
    {"add_u16", "vectors", true, launch_add_vector<false>},
    {"sbox", "global", true, launch_sbox_global},
    {"sbox", "shared", false, launch_sbox_shared},
    {"crc_bytes", "global", true, launch_crc_bytes_global},
    {"crc_bytes", "shared", false, launch_crc_bytes_shared},
    {"sum", "shuffles", true, launch_sum_block<false>},
    {"sum", "reduce", true, launch_sum_block<true>},
    {"sum", "warps", false, launch_sum_warps},
    {"scan_add", "shuffles", true, launch_scan_shuffles},
    {"scan_add", "warps", false, launch_scan_warps},
    {"keccak", "rolled", true, launch_keccak<false, 1>},
    {"keccak", "unrolled", true, launch_keccak<false, 24>},
    {"keccak", "folded", false, launch_keccak<true, 1>},
};

}  // namespace

std::span<const Peer> peers() { return kPeers; }

void launch_copy(const u32* from, u32* to, u64 bytes) {
  const u32 count = static_cast<u32>(bytes / 16);
  copy_vectors<<<blocks_of(count, 256), 256>>>(vectors(from), vectors(to), count);
}

u64 count_differences(const u32* a, const u32* b, u64 words, u64* count) {
  u64 result = 0;
  cudaMemset(count, 0, sizeof result);
  compare_words<<<132 * 8, 256>>>(a, b, words, reinterpret_cast<unsigned long long*>(count));
  if (cudaMemcpy(&result, count, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess)
    return words;
  return result;
}

}  // namespace bench
