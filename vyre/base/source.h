// A source text under its file's name, and places in it. Offsets are 32 bits wide, so a source is
// at most kMaxSourceBytes long; the parser checks that.
#pragma once

#include <cstdint>
#include <string>

namespace vyre {

inline constexpr std::size_t kMaxSourceBytes = std::size_t{256} << 20;

// The bytes [begin, end) of a source.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(Span, Span) = default;
};

struct Source {
  std::string file;
  std::string text;
};

}  // namespace vyre
