// A source text and places in it. It is one file, and the files that this one uses: their texts
// come one after the other, with a line feed between two, so that a place is an offset, whichever
// file it is in. Offsets are 32 bits wide, so a source is at most kMaxSourceBytes long; load()
// checks that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vyre {

inline constexpr std::size_t kMaxSourceBytes = std::size_t{256} << 20;

// The bytes [begin, end) of a source.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(Span, Span) = default;
};

struct Source {
  std::string file;  // the name of the first one
  std::string text;  // of all of them
  struct Used {
    std::string file;
    std::uint32_t begin;  // where its text does
  };
  std::vector<Used> used = {};  // the files after the first

  // One of the files: its number, 0 for the first, its name, and where its text is.
  struct File {
    std::size_t number;
    std::string_view name;
    Span text;
  };
  std::size_t file_count() const { return 1 + used.size(); }
  File file_at(std::size_t number) const;
  File file_of(std::uint32_t offset) const;
};

// Counts on from the place it was asked for last, so a list of places in the order of the text is
// one pass over it; for an earlier place it starts again, and so it does in another file.
class LineCounter {
 public:
  explicit LineCounter(const Source& source);

  struct Place {
    std::string_view file;
    std::uint32_t line = 1;
    std::uint32_t column = 1;  // in characters
    std::uint32_t line_start = 0;
    std::uint32_t file_end = 0;
  };
  Place at(std::uint32_t offset);

 private:
  void enter(const Source::File& file);

  const Source* source_;
  Place place_;
  std::uint32_t file_begin_ = 0;
  std::uint32_t counted_ = 0;
};

}  // namespace vyre
