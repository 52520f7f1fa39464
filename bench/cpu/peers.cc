// The workloads of bench/programs in C++. Compiled by clang as clang_peers and by g++ as gcc_peers.
//
// Each workload has a plain form, which leaves vectors to the compiler, and the best form of the
// same algorithm that we know, mostly for AVX-512. Sizes are constants here, which the programs do
// not have. Buffers begin at whole cache lines.
#include "bench/cpu/workloads.h"

#if !defined(__clang__)
// g++ 12 warns of its own intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <utility>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define BENCH_AVX512 1
#else
#define BENCH_AVX512 0
#endif

namespace bench {
namespace {

using i32 = std::int32_t;
using i8 = std::int8_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u64 = std::uint64_t;

// `stream` stores past the cache: for outputs that are larger than it and not read here.
#if BENCH_AVX512
using Vector = __m512i;
Vector load(const u32* from) { return _mm512_load_si512(from); }
void store(u32* to, Vector value) { _mm512_store_si512(to, value); }
void stream(u32* to, Vector value) { _mm512_stream_si512(reinterpret_cast<Vector*>(to), value); }
Vector splat(u32 value) { return _mm512_set1_epi32(static_cast<int>(value)); }
Vector xor3(Vector a, Vector b, Vector c) { return _mm512_ternarylogic_epi32(a, b, c, 0x96); }
#else
using Vector = __m256i;
Vector load(const u32* from) { return _mm256_load_si256(reinterpret_cast<const Vector*>(from)); }
void stream(u32* to, Vector value) { _mm256_stream_si256(reinterpret_cast<Vector*>(to), value); }
#endif
typedef u32 Words __attribute__((vector_size(sizeof(Vector)), may_alias));
constexpr u32 kLanes = sizeof(Vector) / sizeof(u32);

// Keeps a value in a general register: clang makes vectors of interleaved streams otherwise, and
// spends its time on moving them to and fro.
[[gnu::always_inline]] inline void keep_scalar(u64& value) { asm("" : "+r"(value)); }

// --- xor

constexpr u32 kXorPiece = 1 << 17;

void xor_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32* __restrict left = buffers[0];
  const u32* __restrict right = buffers[1];
  u32* __restrict out = buffers[2];
  for (u32 i = begin * kXorPiece; i < end * kXorPiece; ++i) out[i] = left[i] ^ right[i];
}

void xor_nt(u32* const* buffers, u32 begin, u32 end) {
  for (u32 i = begin * kXorPiece; i < end * kXorPiece; i += kLanes) {
    stream(buffers[2] + i, load(buffers[0] + i) ^ load(buffers[1] + i));
  }
  _mm_sfence();
}

// --- philox

constexpr u32 kPhiloxPiece = 1 << 15;

void philox_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32 key0 = buffers[0][0];
  const u32 key1 = buffers[0][1];
  u32* __restrict out = buffers[1];
  for (u32 i = begin * kPhiloxPiece; i < end * kPhiloxPiece; ++i) {
    u32 x = i;
    u32 y = 0;
    u32 z = 0;
    u32 w = 0;
    for (u32 round = 0; round < 10; ++round) {
      const u64 product0 = u64{x} * 0xd2511f53;
      const u64 product1 = u64{z} * 0xcd9e8d57;
      x = static_cast<u32>(product1 >> 32) ^ y ^ (key0 + round * 0x9e3779b9);
      y = static_cast<u32>(product1);
      z = static_cast<u32>(product0 >> 32) ^ w ^ (key1 + round * 0xbb67ae85);
      w = static_cast<u32>(product0);
    }
    out[i * 4] = x;
    out[i * 4 + 1] = y;
    out[i * 4 + 2] = z;
    out[i * 4 + 3] = w;
  }
}

#if BENCH_AVX512
// Four vectors of eight counters, each in the low half of 64 bits: so a product takes one
// instruction, and what the high halves hold never matters.
void philox_nt(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kVectors = 4;
  const Vector factor0 = splat(0xd2511f53);
  const Vector factor1 = splat(0xcd9e8d57);
  Vector keys0[10];
  Vector keys1[10];
  for (u32 round = 0; round < 10; ++round) {
    keys0[round] = splat(buffers[0][0] + round * 0x9e3779b9);
    keys1[round] = splat(buffers[0][1] + round * 0xbb67ae85);
  }
  // The even lanes and the odd ones are what the shuffles at the end put together.
  const Vector lanes = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  for (u32 i = begin * kPhiloxPiece; i < end * kPhiloxPiece; i += 8 * kVectors) {
    Vector x[kVectors];
    Vector y[kVectors];
    Vector z[kVectors];
    Vector w[kVectors];
    // The first round, in which all but x are zero.
    for (u32 j = 0; j < kVectors; ++j) {
      w[j] = _mm512_mul_epu32(_mm512_add_epi32(lanes, splat(i + 8 * j)), factor0);
      z[j] = _mm512_srli_epi64(w[j], 32) ^ keys1[0];
      y[j] = _mm512_setzero_si512();
      x[j] = keys0[0];
    }
#pragma GCC unroll 9
    for (u32 round = 1; round < 10; ++round) {
      for (u32 j = 0; j < kVectors; ++j) {
        const Vector product0 = _mm512_mul_epu32(x[j], factor0);
        const Vector product1 = _mm512_mul_epu32(z[j], factor1);
        x[j] = xor3(_mm512_srli_epi64(product1, 32), y[j], keys0[round]);
        y[j] = product1;
        z[j] = xor3(_mm512_srli_epi64(product0, 32), w[j], keys1[round]);
        w[j] = product0;
      }
    }
    for (u32 j = 0; j < kVectors; ++j) {
      const Vector xy = _mm512_mask_shuffle_epi32(x[j], 0xaaaa, y[j], _MM_PERM_CCAA);
      const Vector zw = _mm512_mask_shuffle_epi32(z[j], 0xaaaa, w[j], _MM_PERM_CCAA);
      u32* to = buffers[1] + (i + 8 * j) * 4;
      stream(to, _mm512_unpacklo_epi64(xy, zw));
      stream(to + 16, _mm512_unpackhi_epi64(xy, zw));
    }
  }
  _mm_sfence();
}
#endif

// --- sha256

constexpr u32 kShaPiece = 1 << 12;

constexpr u32 kShaStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
alignas(64) constexpr u32 kShaRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

template <class T>
T rotr(T value, int count) {
  return value >> count | value << (32 - count);
}

u32 majority(u32 a, u32 b, u32 c) { return (a & b) | (c & (a | b)); }
#if BENCH_AVX512
// Neither compiler makes one instruction of it.
Words majority(Words a, Words b, Words c) {
  return reinterpret_cast<Words>(_mm512_ternarylogic_epi32(
      reinterpret_cast<Vector>(a), reinterpret_cast<Vector>(b), reinterpret_cast<Vector>(c), 0xe8));
}
#endif

// Turns the sixteen words of a block into its digest, which is in the first eight then. T is u32 or
// a vector of the words of as many blocks.
template <class T>
[[gnu::always_inline]] inline void sha256_compress(T (&w)[16]) {
  T s[8];
  for (u32 k = 0; k < 8; ++k) s[k] = T{} + kShaStart[k];
#pragma GCC unroll 64
  for (u32 i = 0; i < 64; ++i) {
    T& word = w[i & 15];
    if (i >= 16) {
      const T w15 = w[(i + 1) & 15];
      const T w2 = w[(i + 14) & 15];
      const T s0 = rotr(w15, 7) ^ rotr(w15, 18) ^ w15 >> 3;
      const T s1 = rotr(w2, 17) ^ rotr(w2, 19) ^ w2 >> 10;
      word = (word + s0) + (w[(i + 9) & 15] + s1);
    }
    // The names of the eight move on, not their values.
    const auto at = [&](u32 k) -> T& { return s[(k - i) & 7]; };
    const T a = at(0);
    const T e = at(4);
    const T g = at(6);
    const T sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    const T sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    const T choice = g ^ (e & (at(5) ^ g));
    const T t1 = (at(7) + (word + kShaRounds[i])) + (choice + sum1);
    at(3) += t1;
    at(7) = t1 + (sum0 + majority(a, at(1), at(2)));
  }
  for (u32 k = 0; k < 8; ++k) w[k] = s[k] + kShaStart[k];
}

void sha256_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32* __restrict blocks = buffers[0];
  u32* __restrict digests = buffers[1];
  for (u32 i = begin * kShaPiece; i < end * kShaPiece; ++i) {
    u32 w[16];
    for (u32 k = 0; k < 16; ++k) w[k] = blocks[i * 16 + k];
    sha256_compress(w);
    for (u32 k = 0; k < 8; ++k) digests[i * 8 + k] = w[k];
  }
}

#if BENCH_AVX512
// Transposes the 4 x 4 words in each 128 bits of four vectors.
void transpose_words(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Vector low0 = _mm512_unpacklo_epi32(a, b);
  const Vector high0 = _mm512_unpackhi_epi32(a, b);
  const Vector low1 = _mm512_unpacklo_epi32(c, d);
  const Vector high1 = _mm512_unpackhi_epi32(c, d);
  a = _mm512_unpacklo_epi64(low0, low1);
  b = _mm512_unpackhi_epi64(low0, low1);
  c = _mm512_unpacklo_epi64(high0, high1);
  d = _mm512_unpackhi_epi64(high0, high1);
}

// Transposes four vectors as 4 x 4 parts of 128 bits.
void transpose_parts(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Vector even0 = _mm512_shuffle_i32x4(a, b, 0x88);
  const Vector odd0 = _mm512_shuffle_i32x4(a, b, 0xdd);
  const Vector even1 = _mm512_shuffle_i32x4(c, d, 0x88);
  const Vector odd1 = _mm512_shuffle_i32x4(c, d, 0xdd);
  a = _mm512_shuffle_i32x4(even0, even1, 0x88);
  b = _mm512_shuffle_i32x4(odd0, odd1, 0x88);
  c = _mm512_shuffle_i32x4(even0, even1, 0xdd);
  d = _mm512_shuffle_i32x4(odd0, odd1, 0xdd);
}

// Sixteen blocks at a time, each in a lane.
void sha256_blocked(u32* const* buffers, u32 begin, u32 end) {
  for (u32 i = begin * kShaPiece; i < end * kShaPiece; i += 16) {
    Vector w[16];
    for (u32 k = 0; k < 16; ++k) w[k] = load(buffers[0] + (i + k) * 16);
    for (u32 k = 0; k < 16; k += 4) transpose_words(w[k], w[k + 1], w[k + 2], w[k + 3]);
    for (u32 k = 0; k < 4; ++k) transpose_parts(w[k], w[k + 4], w[k + 8], w[k + 12]);
    Words words[16];
    for (u32 k = 0; k < 16; ++k) words[k] = reinterpret_cast<Words>(w[k]);
    sha256_compress(words);
    for (u32 k = 0; k < 8; ++k) w[k] = reinterpret_cast<Vector>(words[k]);
    transpose_words(w[0], w[1], w[2], w[3]);
    transpose_words(w[4], w[5], w[6], w[7]);
    transpose_parts(w[0], w[4], w[1], w[5]);
    transpose_parts(w[2], w[6], w[3], w[7]);
    u32* to = buffers[1] + i * 8;
    for (const u32 k : {0u, 2u, 4u, 6u, 1u, 3u, 5u, 7u}) {
      store(to, w[k]);
      to += 16;
    }
  }
}
#endif

#if defined(__SHA__)
// The instructions for it, with four blocks in flight.
void sha256_instructions(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kStreams = 4;
  const auto words = [](u32 a, u32 b, u32 c, u32 d) {
    return _mm_set_epi32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c),
                         static_cast<int>(d));
  };
  const __m128i abef = words(kShaStart[0], kShaStart[1], kShaStart[4], kShaStart[5]);
  const __m128i cdgh = words(kShaStart[2], kShaStart[3], kShaStart[6], kShaStart[7]);
  const auto* rounds = reinterpret_cast<const __m128i*>(kShaRounds);
  for (u32 i = begin * kShaPiece; i < end * kShaPiece; i += kStreams) {
    const auto* blocks = reinterpret_cast<const __m128i*>(buffers[0] + i * 16);
    auto* digests = reinterpret_cast<__m128i*>(buffers[1] + i * 8);
    __m128i w[kStreams][4];
    __m128i s0[kStreams];
    __m128i s1[kStreams];
    for (u32 j = 0; j < kStreams; ++j) {
      for (u32 k = 0; k < 4; ++k) w[j][k] = _mm_load_si128(blocks + j * 4 + k);
      s0[j] = abef;
      s1[j] = cdgh;
    }
#pragma GCC unroll 16
    for (u32 k = 0; k < 16; ++k) {
      for (u32 j = 0; j < kStreams; ++j) {
        __m128i& words4 = w[j][k & 3];
        if (k >= 4) {
          const __m128i last = w[j][(k + 3) & 3];
          const __m128i w7 = _mm_alignr_epi8(last, w[j][(k + 2) & 3], 4);
          const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(words4, w[j][(k + 1) & 3]), w7);
          words4 = _mm_sha256msg2_epu32(sum, last);
        }
        const __m128i kw = _mm_add_epi32(words4, _mm_load_si128(rounds + k));
        s1[j] = _mm_sha256rnds2_epu32(s1[j], s0[j], kw);
        s0[j] = _mm_sha256rnds2_epu32(s0[j], s1[j], _mm_shuffle_epi32(kw, 0x0e));
      }
    }
    for (u32 j = 0; j < kStreams; ++j) {
      const __m128i feba = _mm_add_epi32(s0[j], abef);
      const __m128i hgdc = _mm_add_epi32(s1[j], cdgh);
      const __m128i badc = _mm_unpackhi_epi64(feba, hgdc);
      const __m128i fehg = _mm_unpacklo_epi64(feba, hgdc);
      _mm_store_si128(digests + j * 2, _mm_shuffle_epi32(badc, 0xb1));
      _mm_store_si128(digests + j * 2 + 1, _mm_shuffle_epi32(fehg, 0xb1));
    }
  }
}
#endif

// --- mandelbrot

constexpr u32 kMandelbrotPiece = 8;  // rows

void mandelbrot_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32 left = buffers[0][0];
  const u32 top = buffers[0][1];
  const u32 distance = buffers[0][2];
  for (u32 y = begin * kMandelbrotPiece; y < end * kMandelbrotPiece; ++y) {
    for (u32 x = 0; x < kMandelbrotSide; ++x) {
      const u32 cr = left + x * distance;
      const u32 ci = top + y * distance;
      u32 zr = 0;
      u32 zi = 0;
      u32 count = 0;
      // Multiplied as u32, which wraps, and shifted as i32.
      for (; count < 256; ++count) {
        const i32 rr = static_cast<i32>(zr * zr) >> 13;
        const i32 ii = static_cast<i32>(zi * zi) >> 13;
        if (rr + ii > 0x8000) break;
        zi = static_cast<u32>(static_cast<i32>(zr * zi) >> 12) + ci;
        zr = static_cast<u32>(rr - ii) + cr;
      }
      buffers[2][y * kMandelbrotSide + x] = count;
    }
  }
}

#if BENCH_AVX512
// Tiles of 8 x 8 points, which leave the loop at closer times than 64 in a row do; two rows in a
// vector. Points that have left go on to be computed, only their counts stop.
void mandelbrot_tiles(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kVectors = 4;
  const u32 left = buffers[0][0];
  const u32 top = buffers[0][1];
  const Vector distance = splat(buffers[0][2]);
  const Vector columns = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
  const Vector rows = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const auto place = [&](Vector lanes, u32 first, u32 origin) {
    const Vector index = _mm512_add_epi32(lanes, splat(first));
    return _mm512_add_epi32(splat(origin), _mm512_mullo_epi32(index, distance));
  };
  for (u32 y = begin * kMandelbrotPiece; y < end * kMandelbrotPiece; y += 2 * kVectors) {
    for (u32 x = 0; x < kMandelbrotSide; x += 8) {
      const Vector cr = place(columns, x, left);
      Vector ci[kVectors];
      Vector zr[kVectors];
      Vector zi[kVectors];
      Vector count[kVectors];
      __mmask16 live[kVectors];
      for (u32 j = 0; j < kVectors; ++j) {
        ci[j] = place(rows, y + 2 * j, top);
        zr[j] = zi[j] = count[j] = _mm512_setzero_si512();
        live[j] = 0xffff;
      }
      for (u32 step = 0; step < 256; step += 2) {
        // It is enough to look every second time whether somebody is left.
        for (u32 half = 0; half < 2; ++half) {
          for (u32 j = 0; j < kVectors; ++j) {
            const Vector rr = _mm512_srai_epi32(_mm512_mullo_epi32(zr[j], zr[j]), 13);
            const Vector ii = _mm512_srai_epi32(_mm512_mullo_epi32(zi[j], zi[j]), 13);
            const Vector ri = _mm512_srai_epi32(_mm512_mullo_epi32(zr[j], zi[j]), 12);
            live[j] =
                _mm512_mask_cmple_epi32_mask(live[j], _mm512_add_epi32(rr, ii), splat(0x8000));
            zi[j] = _mm512_add_epi32(ri, ci[j]);
            zr[j] = _mm512_add_epi32(_mm512_sub_epi32(rr, ii), cr);
            count[j] = _mm512_mask_add_epi32(count[j], live[j], count[j], splat(1));
          }
        }
        const __mmask16 first = _kor_mask16(live[0], live[1]);
        if (_kortestz_mask16_u8(first, _kor_mask16(live[2], live[3]))) break;
      }
      for (u32 j = 0; j < kVectors; ++j) {
        u32* to = buffers[2] + (y + 2 * j) * kMandelbrotSide + x;
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(count[j]));
        _mm256_store_si256(reinterpret_cast<__m256i*>(to + kMandelbrotSide),
                           _mm512_extracti64x4_epi64(count[j], 1));
      }
    }
  }
}
#endif

// --- dfa

constexpr u32 kDfaPiece = 256;

void dfa_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32* table = buffers[1];
  for (u32 i = begin * kDfaPiece; i < end * kDfaPiece; ++i) {
    u32 state = 0;
    u32 count = 0;
    for (u32 k = 0; k < 256; ++k) {
      const u32 word = buffers[0][i * 256 + k];
      for (u32 shift = 0; shift < 32; shift += 8) {
        state = table[state + (word >> shift & 0xff)];
        count += state == 0xf00;
      }
    }
    buffers[2][i] = count;
  }
}

// Eight records in turns, byte by byte. The states are kept and counted later, in vectors. Records
// are too short for the processor to see them coming: the next eight are asked for in time (past
// the end of the last piece this does nothing).
void dfa_streams(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kStreams = 8;
  constexpr u32 kPart = 256;
  const u32* __restrict table = buffers[1];
  for (u32 i = begin * kDfaPiece; i < end * kDfaPiece; i += kStreams) {
    const auto* text = reinterpret_cast<const unsigned char*>(buffers[0] + i * 256);
    u64 state[kStreams] = {};
    u32 count[kStreams] = {};
    for (u32 part = 0; part < 1024; part += kPart) {
      alignas(64) u16 states[kStreams][kPart];
      for (u32 k = 0; k < kPart; ++k) {
        const unsigned char* at = text + part + k;
        if (k % 64 == 0) {
          for (u32 j = 0; j < kStreams; ++j) {
            _mm_prefetch(at + (kStreams + j) * 1024, _MM_HINT_T0);
          }
        }
#pragma GCC unroll 8
        for (u32 j = 0; j < kStreams; ++j) {
          state[j] = table[state[j] + at[j * 1024]];
          keep_scalar(state[j]);
          states[j][k] = static_cast<u16>(state[j]);
        }
      }
      for (u32 j = 0; j < kStreams; ++j) {
        u16 sum = 0;
        for (const u16 one : states[j]) sum = static_cast<u16>(sum + (one == 0xf00));
        count[j] += sum;
      }
    }
    for (u32 j = 0; j < kStreams; ++j) buffers[2][i + j] = count[j];
  }
}

// --- histogram

constexpr u32 kHistogramPiece = 1 << 18;

// Counts in tables of its own, which take turns so that equal words in a row do not wait for each
// other.
template <u32 kTables>
void histogram_tables(u32* const* buffers, u32 begin, u32 end) {
  u32 tables[kTables][256] = {};
  const u32* data = buffers[0];
  for (u32 i = begin * kHistogramPiece; i < end * kHistogramPiece; i += kTables) {
#pragma GCC unroll 4
    for (u32 j = 0; j < kTables; ++j) ++tables[j][data[i + j] & 0xff];
  }
  for (u32 k = 0; k < 256; ++k) {
    u32 sum = 0;
    for (u32 j = 0; j < kTables; ++j) sum += tables[j][k];
    __atomic_fetch_add(buffers[1] + k, sum, __ATOMIC_RELAXED);
  }
}

// --- scan

constexpr u32 kScanPiece = 512;

void scan_plain(u32* const* buffers, u32 begin, u32 end) {
  for (u32 block = begin * kScanPiece; block < end * kScanPiece; ++block) {
    const u32* __restrict data = buffers[0] + block * 256;
    u32* __restrict sums = buffers[1] + block * 256;
    u32 sum = 0;
    for (u32 k = 0; k < 256; ++k) sums[k] = sum += data[k];
  }
}

#if BENCH_AVX512
// The sums in each vector by shifts; what comes before it is one addition behind.
void scan_nt(u32* const* buffers, u32 begin, u32 end) {
  const Vector zero = _mm512_setzero_si512();
  for (u32 block = begin * kScanPiece; block < end * kScanPiece; ++block) {
    Vector before = zero;
    for (u32 k = 0; k < 256; k += 16) {
      Vector sum = load(buffers[0] + block * 256 + k);
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 15));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 14));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 12));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 8));
      stream(buffers[1] + block * 256 + k, _mm512_add_epi32(sum, before));
      before = _mm512_add_epi32(before, _mm512_permutexvar_epi32(splat(15), sum));
    }
  }
  _mm_sfence();
}
#endif

// --- matmul

constexpr u32 kMatmulPiece = 16;  // rows of the plain form

void matmul_plain(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 n = kMatmulSide;
  for (u32 row = begin * kMatmulPiece; row < end * kMatmulPiece; ++row) {
    u32* __restrict sums = buffers[3] + row * n;
    std::fill_n(sums, n, 0);
    for (u32 k = 0; k < n; ++k) {
      const u32 factor = buffers[0][row * n + k];
      const u32* __restrict right = buffers[1] + k * n;
      for (u32 column = 0; column < n; ++column) sums[column] += factor * right[column];
    }
  }
}

constexpr u32 kTileColumns = 2 * kLanes;  // and of a piece

// Tiles of two vectors in each of 8 rows (4 where there are 16 registers) stay in registers. The
// columns of the right matrix are copied first: as they are they would share a few cache sets.
void matmul_tiles(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 n = kMatmulSide;
  constexpr u32 kRows = BENCH_AVX512 ? 8 : 4;
  for (u32 first = begin * kTileColumns; first < end * kTileColumns; first += kTileColumns) {
    Words right[n][2];
    for (u32 k = 0; k < n; ++k) {
      const auto* from = reinterpret_cast<const Words*>(buffers[1] + k * n + first);
      right[k][0] = from[0];
      right[k][1] = from[1];
    }
    for (u32 row = 0; row < n; row += kRows) {
      const u32* left = buffers[0] + row * n;
      Words sums[kRows][2] = {};
      for (u32 k = 0; k < n; ++k) {
#pragma GCC unroll 8
        for (u32 i = 0; i < kRows; ++i) {
          sums[i][0] += right[k][0] * left[i * n + k];
          sums[i][1] += right[k][1] * left[i * n + k];
        }
      }
      for (u32 i = 0; i < kRows; ++i) {
        auto* to = reinterpret_cast<Words*>(buffers[3] + (row + i) * n + first);
        to[0] = sums[i][0];
        to[1] = sums[i][1];
      }
    }
  }
}

// --- life

constexpr u32 kLifePiece = 64;  // rows
alignas(64) constexpr u32 kDeadRow[kLifeColumns] = {};

void life_plain(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 n = kLifeColumns;
  for (u32 y = begin * kLifePiece; y < end * kLifePiece; ++y) {
    const u32* __restrict here = buffers[0] + y * n;
    const u32* __restrict above = y == 0 ? kDeadRow : here - n;
    const u32* __restrict below = y == kLifeRows - 1 ? kDeadRow : here + n;
    u32* __restrict next = buffers[2] + y * n;
    const auto column = [&](u32 x) { return above[x] + here[x] + below[x]; };
    const auto step = [&](u32 x, u32 around) {
      return u32{around == 3} | (u32{around == 4} & here[x]);
    };
    next[0] = step(0, column(0) + column(1));
    for (u32 x = 1; x < n - 1; ++x) next[x] = step(x, column(x - 1) + column(x) + column(x + 1));
    next[n - 1] = step(n - 1, column(n - 2) + column(n - 1));
  }
}

#if BENCH_AVX512
// Four rows at a time, which read six. The columns' sums are computed once, and shifted.
void life_nt(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 n = kLifeColumns;
  constexpr u32 kRows = 4;
  for (u32 y = begin * kLifePiece; y < end * kLifePiece; y += kRows) {
    const u32* here = buffers[0] + y * n;
    const u32* above = y == 0 ? kDeadRow : here - n;
    const u32* below = y + kRows == kLifeRows ? kDeadRow : here + kRows * n;
    Vector before[kRows];
    Vector sum[kRows];
    Vector after[kRows];
    Vector cell[kRows];
    Vector cell_after[kRows];
    const auto read = [&](u32 x) {
      Vector row[kRows + 2];
      row[0] = load(above + x);
      for (u32 i = 0; i < kRows; ++i) row[i + 1] = load(here + i * n + x);
      row[kRows + 1] = load(below + x);
      for (u32 i = 0; i < kRows; ++i) {
        after[i] = _mm512_add_epi32(_mm512_add_epi32(row[i], row[i + 1]), row[i + 2]);
        cell_after[i] = row[i + 1];
      }
    };
    for (Vector& one : sum) one = _mm512_setzero_si512();
    read(0);
    for (u32 x = 0; x < n; x += 16) {
      for (u32 i = 0; i < kRows; ++i) {
        before[i] = sum[i];
        sum[i] = after[i];
        cell[i] = cell_after[i];
        after[i] = _mm512_setzero_si512();
      }
      if (x + 16 < n) read(x + 16);
      for (u32 i = 0; i < kRows; ++i) {
        const Vector sides = _mm512_add_epi32(_mm512_alignr_epi32(sum[i], before[i], 15),
                                              _mm512_alignr_epi32(after[i], sum[i], 1));
        const Vector others = _mm512_add_epi32(sides, _mm512_sub_epi32(sum[i], cell[i]));
        // Three others, or two and the cell itself.
        const __mmask16 alive = _mm512_cmpeq_epi32_mask(others | cell[i], splat(3));
        stream(buffers[2] + (y + i) * n + x, _mm512_maskz_mov_epi32(alive, splat(1)));
      }
    }
  }
  _mm_sfence();
}
#endif

// --- crc32

constexpr u32 kCrcPiece = 256;

void crc32_plain(u32* const* buffers, u32 begin, u32 end) {
  const u32* tables = buffers[1];
  for (u32 i = begin * kCrcPiece; i < end * kCrcPiece; ++i) {
    u32 state = 0xffffffff;
    for (u32 k = 0; k < 256; k += 2) {
      const u32 x = state ^ buffers[0][i * 256 + k];
      const u32 y = buffers[0][i * 256 + k + 1];
      state = tables[x & 0xff] ^ tables[256 + (x >> 8 & 0xff)] ^ tables[512 + (x >> 16 & 0xff)] ^
              tables[768 + (x >> 24)] ^ tables[1024 + (y & 0xff)] ^ tables[1280 + (y >> 8 & 0xff)] ^
              tables[1536 + (y >> 16 & 0xff)] ^ tables[1792 + (y >> 24)];
    }
    buffers[2][i] = ~state;
  }
}

// Four blocks in turns; the next four are asked for in time as in dfa_streams.
void crc32_streams(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kStreams = 4;
  u32 tables[8][256];  // its own, at constant distances
  std::copy_n(buffers[1], 8 * 256, tables[0]);
  for (u32 i = begin * kCrcPiece; i < end * kCrcPiece; i += kStreams) {
    const u32* data = buffers[0] + i * 256;
    u64 state[kStreams];
    std::fill_n(state, kStreams, 0xffffffff);
    for (u32 k = 0; k < 256; k += 2) {
      if (k % 16 == 0) {
        for (u32 j = 0; j < kStreams; ++j) {
          _mm_prefetch(data + (kStreams + j) * 256 + k, _MM_HINT_T0);
        }
      }
#pragma GCC unroll 4
      for (u32 j = 0; j < kStreams; ++j) {
        u64 x;
        __builtin_memcpy(&x, data + j * 256 + k, sizeof x);
        x ^= state[j];
        u32 sum = 0;
#pragma GCC unroll 8
        for (u32 byte = 0; byte < 8; ++byte) sum ^= tables[byte][x >> (8 * byte) & 0xff];
        state[j] = sum;
        keep_scalar(state[j]);
      }
    }
    for (u32 j = 0; j < kStreams; ++j) buffers[2][i + j] = ~static_cast<u32>(state[j]);
  }
}

// --- Streams of narrow elements

constexpr u32 kStreamPiece = 1 << 19;  // bytes

template <class T>
T* piece_of(u32* buffer, u32 piece) {
  return reinterpret_cast<T*>(reinterpret_cast<u8*>(buffer) + piece * kStreamPiece);
}

void copy_plain(u32* const* buffers, u32 begin, u32 end) {
  for (u32 piece = begin; piece < end; ++piece) {
    std::copy_n(piece_of<u8>(buffers[0], piece), kStreamPiece, piece_of<u8>(buffers[1], piece));
  }
}

void copy_nt(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kWords = kStreamPiece / 4;
  for (u32 i = begin * kWords; i < end * kWords; i += kLanes) {
    stream(buffers[1] + i, load(buffers[0] + i));
  }
  _mm_sfence();
}

template <class T>
void add_plain(u32* const* buffers, u32 begin, u32 end) {
  for (u32 piece = begin; piece < end; ++piece) {
    const T* __restrict left = piece_of<T>(buffers[0], piece);
    const T* __restrict right = piece_of<T>(buffers[1], piece);
    T* __restrict out = piece_of<T>(buffers[2], piece);
    for (u32 i = 0; i < kStreamPiece / sizeof(T); ++i) out[i] = static_cast<T>(left[i] + right[i]);
  }
}

template <class T>
void add_nt(u32* const* buffers, u32 begin, u32 end) {
  typedef T Elements __attribute__((vector_size(sizeof(Vector)), may_alias));
  constexpr u32 kWords = kStreamPiece / 4;
  for (u32 i = begin * kWords; i < end * kWords; i += kLanes) {
    const auto left = reinterpret_cast<Elements>(load(buffers[0] + i));
    const auto right = reinterpret_cast<Elements>(load(buffers[1] + i));
    stream(buffers[2] + i, reinterpret_cast<Vector>(left + right));
  }
  _mm_sfence();
}

// --- sbox

constexpr u32 kSboxPiece = 1 << 14;  // bytes

alignas(64) constexpr u8 kSbox[256] = {
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

void sbox_plain(u32* const* buffers, u32 begin, u32 end) {
  const auto* data = reinterpret_cast<const u8*>(buffers[0]);
  auto* out = reinterpret_cast<u8*>(buffers[1]);
  for (u32 i = begin * kSboxPiece; i < end * kSboxPiece; ++i) {
    u8 x = data[i];
    for (u32 round = 0; round < 16; ++round) x = kSbox[x ^ round];
    out[i] = x;
  }
}

#if BENCH_AVX512
// The words of the table that begin with the bytes, 16 at a time, in four chains.
void sbox_gathers(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kChains = 4;
  const auto* data = reinterpret_cast<const u8*>(buffers[0]);
  auto* out = reinterpret_cast<u8*>(buffers[1]);
  alignas(64) u8 table[256 + 4] = {};
  std::copy_n(kSbox, 256, table);
  for (u32 i = begin * kSboxPiece; i < end * kSboxPiece; i += 16 * kChains) {
    Vector x[kChains];
    for (u32 j = 0; j < kChains; ++j) {
      x[j] =
          _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(data + i + 16 * j)));
    }
    for (u32 round = 0; round < 16; ++round) {
      for (u32 j = 0; j < kChains; ++j) {
        x[j] = _mm512_i32gather_epi32(_mm512_xor_si512(x[j], splat(round)), table, 1) & splat(0xff);
      }
    }
    for (u32 j = 0; j < kChains; ++j) {
      _mm_store_si128(reinterpret_cast<__m128i*>(out + i + 16 * j), _mm512_cvtepi32_epi8(x[j]));
    }
  }
}
#endif

#if defined(__AVX512VBMI__)
// The table in four registers.
void sbox_permutes(u32* const* buffers, u32 begin, u32 end) {
  Vector table[4];
  for (u32 k = 0; k < 4; ++k) table[k] = _mm512_load_si512(kSbox + 64 * k);
  constexpr u32 kWords = kSboxPiece / 4;
  for (u32 i = begin * kWords; i < end * kWords; i += 16) {
    Vector x = load(buffers[0] + i);
    for (u32 round = 0; round < 16; ++round) {
      x = _mm512_xor_si512(x, _mm512_set1_epi8(static_cast<char>(round)));
      const Vector low = _mm512_permutex2var_epi8(table[0], x, table[1]);
      const Vector high = _mm512_permutex2var_epi8(table[2], x, table[3]);
      x = _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
    }
    store(buffers[1] + i, x);
  }
}
#endif

// --- crc_bytes

constexpr auto kCrcTable = [] {
  struct Table {
    u32 words[256];
  } table{};
  for (u32 byte = 0; byte < 256; ++byte) {
    u32 state = byte;
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1) * 0xedb88320u;
    table.words[byte] = state;
  }
  return table;
}();

u32 crc_step(u32 state, u32 byte) { return state >> 8 ^ kCrcTable.words[(state ^ byte) & 0xff]; }

void crc_bytes_plain(u32* const* buffers, u32 begin, u32 end) {
  for (u32 i = begin * kCrcPiece; i < end * kCrcPiece; ++i) {
    u32 state = 0xffffffff;
    for (u32 k = 0; k < 256; ++k) {
      const u32 word = buffers[0][i * 256 + k];
      for (u32 shift = 0; shift < 32; shift += 8) state = crc_step(state, word >> shift);
    }
    buffers[1][i] = ~state;
  }
}

// Eight blocks in turns, as in dfa_streams.
void crc_bytes_streams(u32* const* buffers, u32 begin, u32 end) {
  constexpr u32 kStreams = 8;
  for (u32 i = begin * kCrcPiece; i < end * kCrcPiece; i += kStreams) {
    const u32* data = buffers[0] + i * 256;
    u64 state[kStreams];
    std::fill_n(state, kStreams, 0xffffffff);
    for (u32 k = 0; k < 256; ++k) {
      if (k % 16 == 0) {
        for (u32 j = 0; j < kStreams; ++j) {
          _mm_prefetch(data + (kStreams + j) * 256 + k, _MM_HINT_T0);
        }
      }
#pragma GCC unroll 4
      for (u32 shift = 0; shift < 32; shift += 8) {
#pragma GCC unroll 8
        for (u32 j = 0; j < kStreams; ++j) {
          state[j] = crc_step(static_cast<u32>(state[j]), data[j * 256 + k] >> shift);
          keep_scalar(state[j]);
        }
      }
    }
    for (u32 j = 0; j < kStreams; ++j) buffers[1][i + j] = ~static_cast<u32>(state[j]);
  }
}

// --- sum

void sum_plain(u32* const* buffers, u32 begin, u32 end) {
  for (u32 block = begin * kScanPiece; block < end * kScanPiece; ++block) {
    u32 sum = 0;
    for (u32 k = 0; k < 256; ++k) sum += buffers[0][block * 256 + k];
    buffers[1][block] = sum;
  }
}

// --- levenshtein

constexpr u32 kPairPiece = 512;

void levenshtein_plain(u32* const* buffers, u32 begin, u32 end) {
  const auto* text = reinterpret_cast<const u8*>(buffers[0]);
  for (u32 pair = begin * kPairPiece; pair < end * kPairPiece; ++pair) {
    const u32* bounds = buffers[1] + pair * 2;
    const u32 length = bounds[2] - bounds[1];
    u32 row[65];
    for (u32 j = 0; j <= length; ++j) row[j] = j;
    for (u32 i = bounds[0]; i < bounds[1]; ++i) {
      u32 diagonal = row[0];
      row[0] = i - bounds[0] + 1;
      for (u32 j = 0; j < length; ++j) {
        const u32 replaced = diagonal + u32{text[bounds[1] + j] != text[i]};
        diagonal = row[j + 1];
        row[j + 1] = std::min(replaced, std::min(row[j], diagonal) + 1);
      }
    }
    buffers[2][pair] = row[length];
  }
}

// --- radix_sort

constexpr u32 kTilePiece = 64;

// Byte after byte from the lowest.
void radix_sort_bytes(u32* const* buffers, u32 begin, u32 end) {
  for (u32 tile = begin * kTilePiece; tile < end * kTilePiece; ++tile) {
    u32* keys = buffers[0] + tile * 256;
    u32 other[256];
    for (u32 shift = 0; shift < 32; shift += 8) {
      u32 at[256] = {};
      for (u32 i = 0; i < 256; ++i) ++at[keys[i] >> shift & 0xff];
      u32 before = 0;
      for (u32& count : at) before += std::exchange(count, before);
      for (u32 i = 0; i < 256; ++i) other[at[keys[i] >> shift & 0xff]++] = keys[i];
      std::copy_n(other, 256, keys);
    }
  }
}

void radix_sort_library(u32* const* buffers, u32 begin, u32 end) {
  for (u32 tile = begin * kTilePiece; tile < end * kTilePiece; ++tile) {
    std::sort(buffers[0] + tile * 256, buffers[0] + tile * 256 + 256);
  }
}

constexpr Peer kPeers[] = {
    {"xor", "plain", kXorWords / kXorPiece, xor_plain},
    {"xor", "nt", kXorWords / kXorPiece, xor_nt},
    {"philox", "plain", kPhiloxCounters / kPhiloxPiece, philox_plain},
    {"sha256", "plain", kShaBlocks / kShaPiece, sha256_plain},
#if defined(__SHA__)
    {"sha256", "instructions", kShaBlocks / kShaPiece, sha256_instructions},
#endif
    {"mandelbrot", "plain", kMandelbrotSide / kMandelbrotPiece, mandelbrot_plain},
    {"dfa", "plain", kDfaRecords / kDfaPiece, dfa_plain},
    {"dfa", "streams", kDfaRecords / kDfaPiece, dfa_streams},
    {"histogram", "plain", kHistogramWords / kHistogramPiece, histogram_tables<1>},
    {"histogram", "tables", kHistogramWords / kHistogramPiece, histogram_tables<4>},
    {"scan", "plain", kScanBlocks / kScanPiece, scan_plain},
    {"matmul", "plain", kMatmulSide / kMatmulPiece, matmul_plain},
    {"matmul", "tiles", kMatmulSide / kTileColumns, matmul_tiles},
    {"life", "plain", kLifeRows / kLifePiece, life_plain},
    {"crc32", "plain", kCrcBlocks / kCrcPiece, crc32_plain},
    {"crc32", "streams", kCrcBlocks / kCrcPiece, crc32_streams},
    {"copy_u8", "plain", kStreamBytes / kStreamPiece, copy_plain},
    {"copy_u8", "nt", kStreamBytes / kStreamPiece, copy_nt},
    {"add_u8", "plain", kStreamBytes / kStreamPiece, add_plain<u8>},
    {"add_u8", "nt", kStreamBytes / kStreamPiece, add_nt<u8>},
    {"add_i8", "plain", kStreamBytes / kStreamPiece, add_plain<i8>},
    {"add_i8", "nt", kStreamBytes / kStreamPiece, add_nt<i8>},
    {"add_u16", "plain", kStreamBytes / kStreamPiece, add_plain<u16>},
    {"add_u16", "nt", kStreamBytes / kStreamPiece, add_nt<u16>},
    {"sbox", "plain", kSboxBytes / kSboxPiece, sbox_plain},
    {"crc_bytes", "plain", kCrcBlocks / kCrcPiece, crc_bytes_plain},
    {"crc_bytes", "streams", kCrcBlocks / kCrcPiece, crc_bytes_streams},
    {"sum", "plain", kScanBlocks / kScanPiece, sum_plain},
    {"scan_add", "plain", kScanBlocks / kScanPiece, scan_plain},
    {"levenshtein", "plain", kPairs / kPairPiece, levenshtein_plain},
    {"radix_sort", "bytes", kTiles / kTilePiece, radix_sort_bytes},
    {"radix_sort", "library", kTiles / kTilePiece, radix_sort_library},
#if BENCH_AVX512
    {"philox", "nt", kPhiloxCounters / kPhiloxPiece, philox_nt},
    {"sha256", "blocked", kShaBlocks / kShaPiece, sha256_blocked},
    {"mandelbrot", "tiles", kMandelbrotSide / kMandelbrotPiece, mandelbrot_tiles},
    {"scan", "nt", kScanBlocks / kScanPiece, scan_nt},
    {"scan_add", "nt", kScanBlocks / kScanPiece, scan_nt},
    {"sbox", "gathers", kSboxBytes / kSboxPiece, sbox_gathers},
    {"life", "nt", kLifeRows / kLifePiece, life_nt},
#endif
#if defined(__AVX512VBMI__)
    {"sbox", "permutes", kSboxBytes / kSboxPiece, sbox_permutes},
#endif
};

}  // namespace

std::span<const Peer> PEERS() { return kPeers; }

}  // namespace bench
