#include "vyre/base/siphash.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace vyre {
namespace {

// Of at most eight bytes, in the order of SipHash and of the machines that we know; where it is
// another one, the hashes are others too, and serve as well.
std::uint64_t word_at(const void* bytes, std::size_t count) {
  std::uint64_t word = 0;
  if (count != 0) std::memcpy(&word, bytes, count);  // of no bytes there may be no address
  return word;
}

struct State {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  std::uint64_t half() {
    rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

SipBytes siphash(const SipBytes& key, std::string_view text) {
  const std::uint64_t k0 = word_at(key.data(), 8);
  const std::uint64_t k1 = word_at(key.data() + 8, 8);
  State state{k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261,
              k1 ^ 0x7465646279746573};
  const std::uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) state.take(word_at(text.data(), 8));
  state.take(word_at(text.data(), text.size()) | length << 56);
  state.v2 ^= 0xee;
  const std::uint64_t low = state.half();
  state.v1 ^= 0xdd;
  const std::uint64_t high = state.half();
  SipBytes hash{};
  std::memcpy(hash.data(), &low, 8);
  std::memcpy(hash.data() + 8, &high, 8);
  return hash;
}

}  // namespace vyre
