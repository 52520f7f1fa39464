// A source text under its file's name, and places in it. Offsets are 32 bits wide, so a source is
// at most kMaxSourceBytes long; the parser checks that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// Counts on from the place it was asked for last, so a list of places in the order of the text is
// one pass over it; for an earlier place it starts again.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}

  struct Place {
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // in characters
    std::uint32_t line_start = 0;
  };
  Place at(std::uint32_t offset);

 private:
  std::string_view text_;
  Place place_;
  std::uint32_t counted_ = 0;
};

}  // namespace vyre
