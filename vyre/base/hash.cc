#include "vyre/base/hash.h"

#include <random>

namespace vyre {

std::uint64_t hash_seed() {
  static const std::uint64_t seed = std::random_device{}();
  return seed;
}

}  // namespace vyre
