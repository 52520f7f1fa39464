#include "vyre/base/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "vyre/base/text.h"

namespace vyre {
namespace {

constexpr std::uint64_t kInitial[] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                      0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                      0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// Which word of the block each step of a round takes.
constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

// The four words that each step mixes: columns, then diagonals.
constexpr std::uint8_t kMixed[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14},
                                       {3, 7, 11, 15}, {0, 5, 10, 15}, {1, 6, 11, 12},
                                       {2, 7, 8, 13},  {3, 4, 9, 14}};

}  // namespace

Blake2b::Blake2b() {
  std::ranges::copy(kInitial, state_.begin());
  state_[0] ^= 0x01010020;  // a digest of 32 bytes, no key, no tree
}

void Blake2b::compress(const std::byte* block, bool is_last) {
  std::uint64_t message[16];
  std::memcpy(message, block, sizeof message);  // hosts are little-endian
  std::uint64_t v[16];
  std::ranges::copy(state_, v);
  std::ranges::copy(kInitial, v + 8);
  v[12] ^= total_;
  if (is_last) v[14] = ~v[14];
  for (std::size_t round = 0; round < 12; ++round) {
    const std::uint8_t* order = kOrder[round % 10];
    for (std::size_t i = 0; i < 8; ++i) {
      auto& [a, b, c, d] = kMixed[i];
      v[a] += v[b] + message[order[2 * i]];
      v[d] = std::rotr(v[d] ^ v[a], 32);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 24);
      v[a] += v[b] + message[order[2 * i + 1]];
      v[d] = std::rotr(v[d] ^ v[a], 16);
      v[c] += v[d];
      v[b] = std::rotr(v[b] ^ v[c], 63);
    }
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] ^= v[i] ^ v[i + 8];
}

void Blake2b::update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // The last block waits for finish().
    if (filled_ == block_.size()) {
      total_ += block_.size();
      compress(block_.data(), false);
      filled_ = 0;
    }
    const std::size_t taken = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), taken);
    filled_ += taken;
    bytes = bytes.subspan(taken);
  }
}

std::string Blake2b::finish() {
  std::ranges::fill(std::span(block_).subspan(filled_), std::byte{0});
  total_ += filled_;
  compress(block_.data(), true);
  unsigned char digest[32];
  std::memcpy(digest, state_.data(), sizeof digest);
  return hex_bytes(digest);
}

}  // namespace vyre
