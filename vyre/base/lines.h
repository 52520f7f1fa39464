// Lines and columns of offsets in a text.
#pragma once

#include <cstdint>
#include <string_view>

namespace vyre {

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
