// The workloads of bench/programs in OpenCL C. The plain kernels have the shape of the vyre
// program; the others are written for a CPU: more work for each work item, with vectors of 16 words
// or several streams at a time. Products of int wrap, so they are made in uint.

// Stores 16 words, aligned, past the caches where the compiler can.
#if __has_builtin(__builtin_nontemporal_store)
#define STREAM(to, value) __builtin_nontemporal_store((value), (__global uint16*)(to))
#else
#define STREAM(to, value) (*(__global uint16*)(to) = (value))
#endif

// --- xor
__kernel void xor_plain(__global const uint* restrict left, __global const uint* restrict right,
                        __global uint* restrict out) {
  const size_t i = get_global_id(0);
  out[i] = left[i] ^ right[i];
}

// 1024 words for each work item.
__kernel void xor_vectors(__global const uint16* restrict left,
                          __global const uint16* restrict right, __global uint16* restrict out) {
  const size_t begin = get_global_id(0) * 64;
  for (size_t i = begin; i < begin + 64; ++i) STREAM(&out[i], left[i] ^ right[i]);
}

// --- Vectors of 16 words
static inline uint16 interleave_low(uint16 a, uint16 b) {
  uint16 result;
  result.even = a.lo;
  result.odd = b.lo;
  return result;
}
static inline uint16 interleave_high(uint16 a, uint16 b) {
  uint16 result;
  result.even = a.hi;
  result.odd = b.hi;
  return result;
}

// To go from 2 * half rows, where row r has word r of 16 records, to the records one after the
// other: log2(2 * half) of these. Each rotates the bits of (row, column) by one. There are no loops
// here because pocl would take the rows through memory.
#define PAIR(to, from, half, i)                              \
  to[2 * (i)] = interleave_low(from[i], from[(i) + (half)]); \
  to[2 * (i) + 1] = interleave_high(from[i], from[(i) + (half)])
#define STAGE4(to, from) \
  PAIR(to, from, 2, 0);  \
  PAIR(to, from, 2, 1)
#define STAGE8(to, from) \
  PAIR(to, from, 4, 0);  \
  PAIR(to, from, 4, 1);  \
  PAIR(to, from, 4, 2);  \
  PAIR(to, from, 4, 3)
#define STAGE16(to, from) \
  PAIR(to, from, 8, 0);   \
  PAIR(to, from, 8, 1);   \
  PAIR(to, from, 8, 2);   \
  PAIR(to, from, 8, 3);   \
  PAIR(to, from, 8, 4);   \
  PAIR(to, from, 8, 5);   \
  PAIR(to, from, 8, 6);   \
  PAIR(to, from, 8, 7)

static inline uint16 mul_high16(uint16 a, uint b) {
  return convert_uint16(convert_ulong16(a) * (ulong)b >> 32);
}

// --- philox
__kernel void philox_plain(__constant uint* key, __global uint4* restrict out) {
  const uint i = get_global_id(0);
  uint x = i;
  uint y = 0;
  uint z = 0;
  uint w = 0;
  uint k0 = key[0];
  uint k1 = key[1];
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint high0 = mul_hi(x, 0xd2511f53u);
    const uint high1 = mul_hi(z, 0xcd9e8d57u);
    const uint low0 = x * 0xd2511f53u;
    const uint low1 = z * 0xcd9e8d57u;
    x = high1 ^ y ^ k0;
    y = low1;
    z = high0 ^ w ^ k1;
    w = low0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  out[i] = (uint4)(x, y, z, w);
}

// 16 counters for each work item.
__kernel void philox_vectors(__constant uint* key, __global uint16* restrict out) {
  const uint i = get_global_id(0);
  uint16 x = i * 16 + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  uint16 y = 0;
  uint16 z = 0;
  uint16 w = 0;
  uint k0 = key[0];
  uint k1 = key[1];
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint16 high0 = mul_high16(x, 0xd2511f53u);
    const uint16 high1 = mul_high16(z, 0xcd9e8d57u);
    const uint16 low0 = x * 0xd2511f53u;
    const uint16 low1 = z * 0xcd9e8d57u;
    x = high1 ^ y ^ k0;
    y = low1;
    z = high0 ^ w ^ k1;
    w = low0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  const uint16 rows[4] = {x, y, z, w};
  uint16 half_way[4];
  STAGE4(half_way, rows);
  __global uint16* records = out + i * 4;
  STAGE4(records, half_way);
}

// --- sha256
#define ROTR(x, n) ((x) >> (n) | (x) << (32 - (n)))
#define ROUND(a, b, c, d, e, f, g, h, k, w)                                      \
  h += (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + (g ^ (e & (f ^ g))) + (k) + w; \
  d += h;                                                                        \
  h += (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) | (c & (a | b)))
#define NEXT(w16, w15, w7, w2) \
  w16 += (ROTR(w15, 7) ^ ROTR(w15, 18) ^ w15 >> 3) + w7 + (ROTR(w2, 17) ^ ROTR(w2, 19) ^ w2 >> 10)
#define ROUNDS(k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15) \
  ROUND(a, b, c, d, e, f, g, h, k0, w0);                                             \
  ROUND(h, a, b, c, d, e, f, g, k1, w1);                                             \
  ROUND(g, h, a, b, c, d, e, f, k2, w2);                                             \
  ROUND(f, g, h, a, b, c, d, e, k3, w3);                                             \
  ROUND(e, f, g, h, a, b, c, d, k4, w4);                                             \
  ROUND(d, e, f, g, h, a, b, c, k5, w5);                                             \
  ROUND(c, d, e, f, g, h, a, b, k6, w6);                                             \
  ROUND(b, c, d, e, f, g, h, a, k7, w7);                                             \
  ROUND(a, b, c, d, e, f, g, h, k8, w8);                                             \
  ROUND(h, a, b, c, d, e, f, g, k9, w9);                                             \
  ROUND(g, h, a, b, c, d, e, f, k10, w10);                                           \
  ROUND(f, g, h, a, b, c, d, e, k11, w11);                                           \
  ROUND(e, f, g, h, a, b, c, d, k12, w12);                                           \
  ROUND(d, e, f, g, h, a, b, c, k13, w13);                                           \
  ROUND(c, d, e, f, g, h, a, b, k14, w14);                                           \
  ROUND(b, c, d, e, f, g, h, a, k15, w15)
#define SCHEDULE           \
  NEXT(w0, w1, w9, w14);   \
  NEXT(w1, w2, w10, w15);  \
  NEXT(w2, w3, w11, w0);   \
  NEXT(w3, w4, w12, w1);   \
  NEXT(w4, w5, w13, w2);   \
  NEXT(w5, w6, w14, w3);   \
  NEXT(w6, w7, w15, w4);   \
  NEXT(w7, w8, w0, w5);    \
  NEXT(w8, w9, w1, w6);    \
  NEXT(w9, w10, w2, w7);   \
  NEXT(w10, w11, w3, w8);  \
  NEXT(w11, w12, w4, w9);  \
  NEXT(w12, w13, w5, w10); \
  NEXT(w13, w14, w6, w11); \
  NEXT(w14, w15, w7, w12); \
  NEXT(w15, w0, w8, w13)
// From the words w to the digest, where T is the type of both.
#define COMPRESS(T, w, digest)                                                              \
  T w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7]; \
  T w8 = w[8], w9 = w[9], w10 = w[10], w11 = w[11];                                         \
  T w12 = w[12], w13 = w[13], w14 = w[14], w15 = w[15];                                     \
  T a = 0x6a09e667u, b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;                     \
  T e = 0x510e527fu, f = 0x9b05688cu, g = 0x1f83d9abu, h = 0x5be0cd19u;                     \
  ROUNDS(0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u,      \
         0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,      \
         0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u);                               \
  SCHEDULE;                                                                                 \
  ROUNDS(0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau,      \
         0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,      \
         0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u);                               \
  SCHEDULE;                                                                                 \
  ROUNDS(0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu,      \
         0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u,      \
         0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u);                               \
  SCHEDULE;                                                                                 \
  ROUNDS(0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au,      \
         0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,      \
         0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u);                               \
  digest[0] = 0x6a09e667u + a;                                                              \
  digest[1] = 0xbb67ae85u + b;                                                              \
  digest[2] = 0x3c6ef372u + c;                                                              \
  digest[3] = 0xa54ff53au + d;                                                              \
  digest[4] = 0x510e527fu + e;                                                              \
  digest[5] = 0x9b05688cu + f;                                                              \
  digest[6] = 0x1f83d9abu + g;                                                              \
  digest[7] = 0x5be0cd19u + h

__kernel void sha256_plain(__global const uint* restrict blocks, __global uint* restrict digests) {
  const size_t i = get_global_id(0);
  __global const uint* block = blocks + i * 16;
  __global uint* digest = digests + i * 8;
  COMPRESS(uint, block, digest);
}

// 16 blocks for each work item.
__kernel void sha256_vectors(__global const uint16* restrict blocks,
                             __global uint16* restrict digests) {
  const size_t i = get_global_id(0);
  __global const uint16* from = blocks + i * 16;
  uint16 rows[16];
  uint16 half_way[16];
  STAGE16(rows, from);  // of 16 x 16 words: a transposition
  STAGE16(half_way, rows);
  STAGE16(rows, half_way);
  STAGE16(half_way, rows);
  COMPRESS(uint16, half_way, rows);
  STAGE8(half_way, rows);
  STAGE8(rows, half_way);
  __global uint16* records = digests + i * 8;
  STAGE8(records, rows);
}

// --- mandelbrot
__kernel void mandelbrot_plain(__constant int* view, __constant uint* columns,
                               __global uint* restrict steps) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  const int cr = view[0] + (int)x * view[2];
  const int ci = view[1] + (int)y * view[2];
  int zr = 0;
  int zi = 0;
  uint count = 0;
  for (int step = 0; step < 256; ++step) {
    const int rr = (int)((uint)zr * (uint)zr) >> 13;
    const int ii = (int)((uint)zi * (uint)zi) >> 13;
    if (rr + ii > 0x8000) break;
    zi = ((int)((uint)zr * (uint)zi) >> 12) + ci;
    zr = rr - ii + cr;
    ++count;
  }
  steps[y * columns[0] + x] = count;
}

// 64 pixels of a row for each work item, in four vectors: each waits for its own products.
__kernel void mandelbrot_vectors(__constant int* view, __constant uint* columns,
                                 __global uint16* restrict steps) {
  const uint x = get_global_id(0) * 64;
  const uint y = get_global_id(1);
  const int ci = view[1] + (int)y * view[2];
  int16 cr[4];
  int16 zr[4];
  int16 zi[4];
  int16 live[4];   // -1 or 0
  int16 count[4];  // below zero
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    cr[k] = view[0] + ((int)x + 16 * k + lanes) * view[2];
    zr[k] = 0;
    zi[k] = 0;
    live[k] = -1;
    count[k] = 0;
  }
  for (int step = 0; step < 256; ++step) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const uint16 r = as_uint16(zr[k]);
      const uint16 i = as_uint16(zi[k]);
      const int16 rr = as_int16(r * r) >> 13;
      const int16 ii = as_int16(i * i) >> 13;
      live[k] &= rr + ii <= 0x8000;
      count[k] += live[k];
      zi[k] = (as_int16(r * i) >> 12) + ci;
      zr[k] = rr - ii + cr[k];
    }
    if (!any(live[0] | live[1] | live[2] | live[3])) break;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) steps[(y * columns[0] + x) / 16 + k] = as_uint16(-count[k]);
}

// --- dfa
__kernel void dfa_plain(__global const uint* restrict text, __global const uint* restrict table,
                        __global uint* restrict accepted) {
  const size_t i = get_global_id(0);
  uint state = 0;
  uint count = 0;
  for (int k = 0; k < 256; ++k) {
    const uint word = text[i * 256 + k];
    state = table[state + (word & 0xff)];
    count += state == 0xf00;
    state = table[state + (word >> 8 & 0xff)];
    count += state == 0xf00;
    state = table[state + (word >> 16 & 0xff)];
    count += state == 0xf00;
    state = table[state + (word >> 24)];
    count += state == 0xf00;
  }
  accepted[i] = count;
}

// Eight records for each work item: eight chains of loads at a time. With the table in local memory
// pocl makes single loads of them; the gathers that it makes otherwise are slower.
__kernel void dfa_streams(__global const uint* restrict text, __global const uint* restrict table,
                          __global uint* restrict accepted) {
  __local uint own[4096];
  event_t copied = async_work_group_copy(own, table, 4096, 0);
  wait_group_events(1, &copied);
  const size_t i = get_global_id(0) * 8;
  uint state[8];
  uint count[8];
#pragma unroll
  for (int s = 0; s < 8; ++s) {
    state[s] = 0;
    count[s] = 0;
  }
  for (int k = 0; k < 256; ++k) {
    uint word[8];
#pragma unroll
    for (int s = 0; s < 8; ++s) word[s] = text[(i + s) * 256 + k];
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
#pragma unroll
      for (int s = 0; s < 8; ++s) {
        state[s] = own[state[s] + (word[s] >> 8 * byte & 0xff)];
        count[s] += state[s] == 0xf00;
      }
    }
  }
#pragma unroll
  for (int s = 0; s < 8; ++s) accepted[i + s] = count[s];
}

// --- histogram
__kernel void histogram_plain(__global const uint* restrict data, __global uint* restrict bins) {
  atomic_inc(&bins[data[get_global_id(0)] & 0xff]);
}

// A workgroup of 256 counts 64 Ki words in memory of its own.
__kernel void histogram_local(__global const uint* restrict data, __global uint* restrict bins) {
  __local uint own[256];
  const size_t lane = get_local_id(0);
  own[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const uint* piece = data + get_group_id(0) * 65536;
  for (int k = 0; k < 256; ++k) atomic_inc(&own[piece[k * 256 + lane] & 0xff]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[lane], own[lane]);
}

// A work item counts 64 Ki words in four tables of its own, so that equal words in sequence do not
// wait for each other.
__kernel void histogram_private(__global const uint4* restrict data, __global uint* restrict bins) {
  uint own[4][256];
  for (int bin = 0; bin < 256; ++bin) own[0][bin] = own[1][bin] = own[2][bin] = own[3][bin] = 0;
  __global const uint4* piece = data + get_global_id(0) * 16384;
  for (int k = 0; k < 16384; ++k) {
    const uint4 low = piece[k] & 0xff;
    ++own[0][low.x];
    ++own[1][low.y];
    ++own[2][low.z];
    ++own[3][low.w];
  }
  for (int bin = 0; bin < 256; ++bin) {
    atomic_add(&bins[bin], own[0][bin] + own[1][bin] + own[2][bin] + own[3][bin]);
  }
}

// --- scan
__kernel void scan_plain(__global const uint* restrict data, __global uint* restrict sums) {
  __local uint cells[256];
  const size_t lane = get_local_id(0);
  uint sum = data[get_global_id(0)];
  for (uint reach = 1; reach < 256; reach *= 2) {
    cells[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane >= reach) sum += cells[lane - reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  sums[get_global_id(0)] = sum;
}

// A block for each work item.
__kernel void scan_serial(__global const uint* restrict data, __global uint* restrict sums) {
  const size_t begin = get_global_id(0) * 256;
  uint sum = 0;
#pragma unroll 16
  for (size_t i = begin; i < begin + 256; ++i) {
    sum += data[i];
    sums[i] = sum;
  }
}

// --- matmul
__kernel void matmul_plain(__global const uint* restrict left, __global const uint* restrict right,
                           __constant uint* size, __global uint* restrict product) {
  __local uint left_tile[16][16];
  __local uint right_tile[16][16];
  const uint n = size[0];
  const uint x = get_local_id(0);
  const uint y = get_local_id(1);
  const uint column = get_global_id(0);
  const uint row = get_global_id(1);
  uint sum = 0;
  for (uint tile = 0; tile < n; tile += 16) {
    left_tile[y][x] = left[row * n + tile + x];
    right_tile[y][x] = right[(tile + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += left_tile[y][k] * right_tile[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  product[row * n + column] = sum;
}

// 8 rows and 32 columns of the product for each work item, in registers.
__kernel void matmul_vectors(__global const uint* restrict left,
                             __global const uint16* restrict right, __constant uint* size,
                             __global uint16* restrict product) {
  const uint n = size[0];
  const uint column = get_global_id(0) * 2;  // in vectors
  const uint row = get_global_id(1) * 8;
  uint16 sums[8][2];
#pragma unroll
  for (int y = 0; y < 8; ++y) sums[y][0] = sums[y][1] = 0;
  for (uint k = 0; k < n; ++k) {
    const uint16 right0 = right[k * (n / 16) + column];
    const uint16 right1 = right[k * (n / 16) + column + 1];
#pragma unroll
    for (int y = 0; y < 8; ++y) {
      const uint16 factor = left[(row + y) * n + k];
      sums[y][0] += factor * right0;
      sums[y][1] += factor * right1;
    }
  }
#pragma unroll
  for (int y = 0; y < 8; ++y) {
    product[(row + y) * (n / 16) + column] = sums[y][0];
    product[(row + y) * (n / 16) + column + 1] = sums[y][1];
  }
}

// --- life
__kernel void life_plain(__global const uint* restrict board, __constant uint* size,
                         __global uint* restrict next) {
  const uint columns = size[0];
  const uint rows = size[1];
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  uint around = 0;
#pragma unroll
  for (uint dy = 0; dy < 3; ++dy) {
#pragma unroll
    for (uint dx = 0; dx < 3; ++dx) {
      const uint row = y + dy - 1;
      const uint column = x + dx - 1;
      if (row < rows && column < columns) around += board[row * columns + column];
    }
  }
  const uint alive = board[y * columns + x];
  next[y * columns + x] = around == 3 || (around == 4 && alive == 1);
}

// A row for each work item, 16 cells at a time: the sums of columns first, then of three columns.
static inline uint16 life_columns(__global const uint* above, __global const uint* here,
                                  __global const uint* below, uint16 above_mask, uint16 below_mask,
                                  uint x) {
  return (vload16(0, above + x) & above_mask) + vload16(0, here + x) +
         (vload16(0, below + x) & below_mask);
}
static inline uint16 life_rule(uint16 around, uint16 alive) {
  return as_uint16(around == 3 || (around == 4 && alive == 1)) & 1;
}
// The columns to the left and to the right of those of b and a.
#define LEFT(a, b) (uint16)((a).sf, (b).s0123, (b).s456789ab, (b).scd, (b).se)
#define RIGHT(a, b) (uint16)((a).s1234, (a).s56789abc, (a).sde, (a).sf, (b).s0)
#define COLUMNS(x) life_columns(above, here, below, above_mask, below_mask, x)
__kernel void life_vectors(__global const uint* restrict board, __constant uint* size,
                           __global uint* restrict next) {
  const uint columns = size[0];
  const uint y = get_global_id(0);
  __global const uint* here = board + y * columns;
  __global uint* out = next + y * columns;
  // In place of a row outside of the board: this one, with a mask that leaves nothing of it.
  __global const uint* above = y > 0 ? here - columns : here;
  __global const uint* below = y + 1 < size[1] ? here + columns : here;
  const uint16 above_mask = y > 0 ? 0xffffffffu : 0;
  const uint16 below_mask = y + 1 < size[1] ? 0xffffffffu : 0;
  uint16 before = 0;
  uint16 sum = COLUMNS(0);
  for (uint x = 0; x < columns - 16; x += 16) {
    const uint16 after = COLUMNS(x + 16);
    STREAM(out + x, life_rule(LEFT(before, sum) + sum + RIGHT(sum, after), vload16(0, here + x)));
    before = sum;
    sum = after;
  }
  const uint16 around = LEFT(before, sum) + sum + RIGHT(sum, (uint16)0);
  STREAM(out + columns - 16, life_rule(around, vload16(0, here + columns - 16)));
}

// --- crc32
__kernel void crc32_plain(__global const uint* restrict data, __global const uint* restrict tables,
                          __global uint* restrict crcs) {
  const size_t i = get_global_id(0);
  uint state = 0xffffffffu;
  for (int k = 0; k < 256; k += 2) {
    const uint x = state ^ data[i * 256 + k];
    const uint y = data[i * 256 + k + 1];
    state = tables[x & 0xff] ^ tables[256 + (x >> 8 & 0xff)] ^ tables[512 + (x >> 16 & 0xff)] ^
            tables[768 + (x >> 24)] ^ tables[1024 + (y & 0xff)] ^ tables[1280 + (y >> 8 & 0xff)] ^
            tables[1536 + (y >> 16 & 0xff)] ^ tables[1792 + (y >> 24)];
  }
  crcs[i] = ~state;
}

// Four blocks for each work item.
__kernel void crc32_streams(__global const uint* restrict data,
                            __global const uint* restrict tables, __global uint* restrict crcs) {
  __local uint own[2048];
  event_t copied = async_work_group_copy(own, tables, 2048, 0);
  wait_group_events(1, &copied);
  const size_t i = get_global_id(0) * 4;
  uint state[4];
#pragma unroll
  for (int s = 0; s < 4; ++s) state[s] = 0xffffffffu;
  for (int k = 0; k < 256; k += 2) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const uint x = state[s] ^ data[(i + s) * 256 + k];
      const uint y = data[(i + s) * 256 + k + 1];
      state[s] = own[x & 0xff] ^ own[256 + (x >> 8 & 0xff)] ^ own[512 + (x >> 16 & 0xff)] ^
                 own[768 + (x >> 24)] ^ own[1024 + (y & 0xff)] ^ own[1280 + (y >> 8 & 0xff)] ^
                 own[1536 + (y >> 16 & 0xff)] ^ own[1792 + (y >> 24)];
    }
  }
#pragma unroll
  for (int s = 0; s < 4; ++s) crcs[i + s] = ~state[s];
}
