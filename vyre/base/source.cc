#include "vyre/base/source.h"

#include <algorithm>

#include "vyre/base/text.h"

namespace vyre {

Source::File Source::file_at(std::size_t number) const {
  const std::uint32_t end = number < used.size() ? used[number].begin - 1  // before the line feed
                                                 : static_cast<std::uint32_t>(text.size());
  if (number == 0) return {0, file, {0, end}};
  return {number, used[number - 1].file, {used[number - 1].begin, end}};
}

Source::File Source::file_of(std::uint32_t offset) const {
  const auto after = std::ranges::upper_bound(used, offset, {}, &Used::begin);
  return file_at(static_cast<std::size_t>(after - used.begin()));
}

LineCounter::LineCounter(const Source& source) : source_(&source) { enter(source.file_at(0)); }

void LineCounter::enter(const Source::File& file) {
  place_ = {file.name, 1, 1, file.text.begin, file.text.end};
  file_begin_ = counted_ = file.text.begin;
}

LineCounter::Place LineCounter::at(std::uint32_t offset) {
  const bool is_inside = file_begin_ <= offset && offset <= place_.file_end;
  if (!is_inside || offset < counted_) enter(source_->file_of(offset));
  offset = std::min(offset, place_.file_end);
  const std::string_view between =
      std::string_view(source_->text).substr(counted_, offset - counted_);
  if (const std::size_t newline = between.rfind('\n'); newline != std::string_view::npos) {
    place_.line += static_cast<std::uint32_t>(std::ranges::count(between, '\n'));
    place_.line_start = counted_ + static_cast<std::uint32_t>(newline) + 1;
    place_.column = 1 + static_cast<std::uint32_t>(characters(between.substr(newline + 1)));
  } else {
    place_.column += static_cast<std::uint32_t>(characters(between));
  }
  counted_ = offset;
  return place_;
}

}  // namespace vyre
