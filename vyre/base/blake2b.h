// BLAKE2b-256 (RFC 7693) without a key: the digest of outputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace vyre {

class Blake2b {
 public:
  Blake2b();
  void update(std::span<const std::byte> bytes);
  std::string finish();  // 64 hexadecimal digits; nothing comes after it

 private:
  void compress(const std::byte* block, bool is_last);

  std::array<std::uint64_t, 8> state_;
  std::array<std::byte, 128> block_{};
  std::size_t filled_ = 0;   // bytes of the block
  std::uint64_t total_ = 0;  // bytes that were compressed
};

}  // namespace vyre
