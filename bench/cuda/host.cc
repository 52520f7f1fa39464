#include "bench/cuda/host.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {
namespace {

u32 crc_byte(u32 state) {
  for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1) * 0xedb88320u;
  return state;
}

u32 byte_of(const std::vector<u32>& words, u64 index) {
  return words[index / 4] >> index % 4 * 8 & 0xff;
}

std::array<u32, 4> philox(u32 counter, u32 k0, u32 k1) {
  std::array<u32, 4> c{counter, 0, 0, 0};
  for (int round = 0; round < 10; ++round) {
    const u64 first = u64{c[0]} * 0xd2511f53;
    const u64 second = u64{c[2]} * 0xcd9e8d57;
    c = {static_cast<u32>(second >> 32) ^ c[1] ^ k0, static_cast<u32>(second),
         static_cast<u32>(first >> 32) ^ c[3] ^ k1, static_cast<u32>(first)};
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return c;
}

// The first 32 bits behind the point of the cube roots (third) or square roots of the primes: the
// constants of SHA-256.
std::vector<u32> root_bits(std::size_t count, bool third) {
  std::vector<u32> bits;
  for (u32 number = 2; bits.size() < count; ++number) {
    bool prime = true;
    for (u32 by = 2; by * by <= number; ++by) prime = prime && number % by != 0;
    if (!prime) continue;
    // The largest r with r^3 <= number * 2^96 (r^2 <= number * 2^64), bit by bit.
    __extension__ typedef unsigned __int128 Wide;
    u64 root = 0;
    for (u64 bit = u64{1} << 36; bit > 0; bit >>= 1) {
      const u64 r = root | bit;
      // r^3 by 2^96 as r^2 * r: r has up to 36 bits, and the product up to 108.
      const bool fits =
          third ? Wide{r} * r * r <= Wide{number} << 96 : Wide{r} * r <= Wide{number} << 64;
      if (fits) root = r;
    }
    bits.push_back(static_cast<u32>(root));
  }
  return bits;
}

std::array<u32, 8> sha256(const u32* block) {
  static const std::vector<u32> rounds = root_bits(64, true);
  static const std::vector<u32> start = root_bits(8, false);
  std::array<u32, 64> w{};
  for (std::size_t k = 0; k < 64; ++k) {
    if (k < 16) {
      w[k] = block[k];
      continue;
    }
    const u32 a = w[k - 15];
    const u32 b = w[k - 2];
    w[k] = w[k - 16] + w[k - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::array<u32, 8> s{};
  for (std::size_t k = 0; k < 8; ++k) s[k] = start[k];
  for (std::size_t k = 0; k < 64; ++k) {
    const auto [a, b, c, d, e, f, g, h] = s;
    const u32 t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                   ((e & f) ^ (~e & g)) + rounds[k] + w[k];
    const u32 t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    s = {t1 + t2, a, b, c, d + t1, e, f, g};
  }
  for (std::size_t k = 0; k < 8; ++k) s[k] += start[k];
  return s;
}

u32 mandelbrot(int left, int top, int step, u32 x, u32 y) {
  const auto product = [](int a, int b) {
    return static_cast<int>(static_cast<u32>(a) * static_cast<u32>(b));
  };
  const int cr = left + static_cast<int>(x) * step;
  const int ci = top + static_cast<int>(y) * step;
  int zr = 0;
  int zi = 0;
  for (u32 count = 0; count < 256; ++count) {
    const int rr = product(zr, zr) >> 13;
    const int ii = product(zi, zi) >> 13;
    if (rr + ii > 0x8000) return count;
    zi = (product(zr, zi) >> 12) + ci;
    zr = rr - ii + cr;
  }
  return 256;
}

// As in FIPS 202: steps theta, rho, pi, chi and iota on a square of 5 x 5 lanes.
using Lanes = std::array<std::array<u64, 5>, 5>;  // [x][y]

void keccak(Lanes& a, const std::vector<u32>& constants) {
  for (std::size_t round = 0; round < 24; ++round) {
    std::array<u64, 5> c{};
    for (std::size_t x = 0; x < 5; ++x) {
      for (std::size_t y = 0; y < 5; ++y) c[x] ^= a[x][y];
    }
    for (std::size_t x = 0; x < 5; ++x) {
      for (std::size_t y = 0; y < 5; ++y) a[x][y] ^= c[(x + 4) % 5] ^ std::rotl(c[(x + 1) % 5], 1);
    }
    std::size_t x = 1;
    std::size_t y = 0;
    for (int t = 0; t < 24; ++t) {
      a[x][y] = std::rotl(a[x][y], (t + 1) * (t + 2) / 2 % 64);
      const std::size_t next = (2 * x + 3 * y) % 5;
      x = y;
      y = next;
    }
    const Lanes turned = a;
    for (x = 0; x < 5; ++x) {
      for (y = 0; y < 5; ++y) a[x][y] = turned[(x + 3 * y) % 5][x];
    }
    const Lanes b = a;
    for (x = 0; x < 5; ++x) {
      for (y = 0; y < 5; ++y) a[x][y] = b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y]);
    }
    a[0][0] ^= constants[2 * round] | u64{constants[2 * round + 1]} << 32;
  }
}

u32 keccak_word(const Buffers& inputs, u64 index) {
  const u64 element = index / 2;
  const u64 states = inputs[0].size() / 50;
  const u64 state = element % states;
  Lanes a;
  for (std::size_t k = 0; k < 25; ++k) {
    std::memcpy(&a[k % 5][k / 5], &inputs[0][2 * (k * states + state)], 8);
  }
  keccak(a, inputs[1]);
  const u64 lane = element / states;
  return static_cast<u32>(a[lane % 5][lane / 5] >> index % 2 * 32);
}

u32 dfa(const Buffers& inputs, u64 record) {
  u32 state = 0;
  u32 count = 0;
  for (u64 k = 0; k < 1024; ++k) {
    state = inputs[1][state + byte_of(inputs[0], record * 1024 + k)];
    count += state == 0xf00;
  }
  return count;
}

u32 crc(const std::vector<u32>& data, u64 block) {
  u32 state = 0xffffffff;
  for (u64 k = 0; k < 1024; ++k) {
    const u32 low = (state ^ byte_of(data, block * 1024 + k)) & 0xff;
    state = state >> 8 ^ crc_byte(low);
  }
  return ~state;
}

u32 life(const std::vector<u32>& board, u64 cell) {
  const long columns = kLifeColumns;
  const long x = static_cast<long>(cell) % columns;
  const long y = static_cast<long>(cell) / columns;
  u32 neighbours = 0;
  for (long row = y - 1; row <= y + 1; ++row) {
    for (long column = x - 1; column <= x + 1; ++column) {
      if (row < 0 || row >= kLifeRows || column < 0 || column >= columns) continue;
      if (row == y && column == x) continue;
      neighbours += board[static_cast<u64>(row * columns + column)];
    }
  }
  return neighbours == 3 || (neighbours == 2 && board[cell] == 1);
}

// Of AES: the inverse in the field of 256 elements, and an affine map.
u32 sbox(u32 x) {
  u32 inverse = x;  // x to the power of 254
  const auto times = [](u32 a, u32 b) {
    u32 product = 0;
    for (; b != 0; b >>= 1, a = (a << 1 ^ (a >> 7) * 0x11b) & 0x1ff) product ^= (b & 1) * a;
    return product;
  };
  for (int i = 0; i < 6; ++i) inverse = times(times(inverse, inverse), x);
  inverse = times(inverse, inverse);
  u32 mapped = 0x63;
  for (int turn = 0; turn < 5; ++turn) mapped ^= (inverse << turn | inverse >> (8 - turn)) & 0xff;
  return mapped;
}

// The same for each of several elements in a word.
template <class Each>
u32 each_of(u32 bits, Each each) {
  u32 all = 0;
  for (u32 at = 0; at < 32; at += bits) all |= (each(at) & (bits == 16 ? 0xffff : 0xff)) << at;
  return all;
}

u32 word(std::string_view program, const Buffers& inputs, u64 index) {
  const std::vector<u32>& data = inputs[0];
  if (program == "xor") return data[index] ^ inputs[1][index];
  if (program == "philox") {
    return philox(static_cast<u32>(index / 4), data[0], data[1])[index % 4];
  }
  if (program == "sha256") return sha256(&data[index / 8 * 16])[index % 8];
  if (program == "mandelbrot") {
    const u64 columns = inputs[1][0];
    return mandelbrot(static_cast<int>(data[0]), static_cast<int>(data[1]),
                      static_cast<int>(data[2]), static_cast<u32>(index % columns),
                      static_cast<u32>(index / columns));
  }
  if (program == "dfa") return dfa(inputs, index);
  if (program == "copy_u8") return data[index];
  if (program == "add_u8" || program == "add_i8" || program == "add_u16") {
    return each_of(program == "add_u16" ? 16 : 8,
                   [&](u32 at) { return (data[index] >> at) + (inputs[1][index] >> at); });
  }
  if (program == "sbox") {
    return each_of(8, [&](u32 at) {
      u32 x = data[index] >> at & 0xff;
      for (u32 round = 0; round < 16; ++round) x = sbox(x ^ round);
      return x;
    });
  }
  if (program == "sum") {
    u32 sum = 0;
    for (u64 k = 0; k < 256; ++k) sum += data[index * 256 + k];
    return sum;
  }
  if (program == "scan" || program == "scan_add") {
    u32 sum = 0;
    for (u64 k = index / 256 * 256; k <= index; ++k) sum += data[k];
    return sum;
  }
  if (program == "matmul") {
    const u64 n = inputs[2][0];
    u32 sum = 0;
    for (u64 k = 0; k < n; ++k) sum += data[index / n * n + k] * inputs[1][k * n + index % n];
    return sum;
  }
  if (program == "life") return life(data, index);
  if (program == "crc32" || program == "crc_bytes") return crc(data, index);
  if (program == "keccak") return keccak_word(inputs, index);
  std::abort();
}

}  // namespace

std::vector<u32> crc_tables() {
  std::vector<u32> tables(8 * 256);
  for (u32 byte = 0; byte < 256; ++byte) {
    u32 state = byte;
    for (std::size_t behind = 0; behind < 8; ++behind) {
      state = crc_byte(state & 0xff) ^ state >> 8;
      tables[(7 - behind) * 256 + byte] = state;
    }
  }
  return tables;
}

std::vector<u32> sbox_words() {
  std::vector<u32> words(64);
  for (u32 i = 0; i < 256; ++i) words[i / 4] |= sbox(i) << i % 4 * 8;
  return words;
}

// By the shift register of FIPS 202.
std::vector<u32> keccak_constants() {
  std::vector<u32> words;
  u32 bits = 1;
  for (int round = 0; round < 24; ++round) {
    u64 constant = 0;
    for (int j = 0; j < 7; ++j) {
      constant |= u64{bits & 1} << ((1 << j) - 1);
      bits = bits << 1 ^ (bits >> 7) * 0x171;
    }
    words.push_back(static_cast<u32>(constant));
    words.push_back(static_cast<u32>(constant >> 32));
  }
  return words;
}

std::vector<u32> abc_block() {
  std::vector<u32> block(16);
  block[0] = 0x61626380;
  block[15] = 24;
  return block;
}

std::vector<std::pair<u64, u32>> sample_words(std::string_view program, const Buffers& inputs,
                                              u64 size) {
  std::vector<std::pair<u64, u32>> samples;
  if (program == "histogram") {
    std::vector<u32> bins(256);
    for (const u32 value : inputs[0]) ++bins[value & 0xff];
    for (u64 bin = 0; bin < 256; ++bin) samples.emplace_back(bin, bins[bin]);
    return samples;
  }
  for (u64 k = 0; k < 256; ++k) {
    const u64 index = k < 64 ? k : k < 128 ? size - 1 - (k - 64) : k * 0x9e3779b97f4a7c15 % size;
    samples.emplace_back(index, word(program, inputs, index));
  }
  // What the standards say of inputs that stand first: "abc", zeros, zeros.
  if (program == "sha256") samples.insert(samples.end(), {{0, 0xba7816bf}, {7, 0xf20015ad}});
  if (program == "crc32" || program == "crc_bytes") samples.emplace_back(0, 0xefb5af2e);
  if (program == "keccak") samples.insert(samples.end(), {{0, 0x40e1dde7}, {1, 0xf1258f79}});
  // Philox has a known answer for a key of zeros, which says that the samples here are right.
  if (program == "philox" &&
      philox(0, 0, 0) != std::array<u32, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}) {
    samples.emplace_back(0, ~samples[0].second);
  }
  return samples;
}

}  // namespace bench
