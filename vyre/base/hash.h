// Mixing for hash tables inside one process. The seed differs from run to run, so that nobody can
// prepare an input whose entries all collide. What leaves the process (digests) is defined in
// wire/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace vyre {

std::uint64_t hash_seed();

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

inline std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = hash_seed() + text.size();
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = mix(hash, word);
    text.remove_prefix(8);
  }
  std::uint64_t tail = 0;
  for (char c : text) tail = (tail << 8) | static_cast<unsigned char>(c);
  return mix(hash, tail);
}

}  // namespace vyre
