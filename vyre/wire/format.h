// The constants of docs/wire-format.md. All numbers are little-endian words of 32 bits, on every
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vyre {

// No UTF-8 text starts with the first byte, and the last three do not survive a conversion of line
// ends in either direction.
inline constexpr std::string_view kWireMagic = "\xb6VYRE\r\n\n";

inline constexpr std::size_t kWireHeaderBytes = 32;
inline constexpr std::uint32_t kWireNone = 0xffffffff;
inline constexpr std::uint32_t kWireArray = 17;  // among the tags of types

inline std::uint32_t load_word(const char* at) {
  const auto byte = [&](int i) { return std::uint32_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

inline void store_word(char* at, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(word >> 8 * i & 0xff);
}

// The XXH64 of what follows the header.
std::uint64_t wire_checksum(std::string_view items);

enum class ItemTag : std::uint8_t { Program = 1, Op = 2, ProgramWithTables = 3, OpWithTables = 4 };

enum class StatementTag : std::uint8_t {
#define STATEMENT(name, tag, meaning) name = tag,
#include "vyre/ir/ops.def"
};

}  // namespace vyre
