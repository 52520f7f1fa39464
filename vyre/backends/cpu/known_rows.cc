#include "vyre/backends/cpu/known_rows.h"

namespace vyre {

using Value = Ir::Value;

void KnownRows::know(BufferId buffer, Value start, Value mask, Value row) {
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (!word) return forget(buffer);
  std::map<std::int64_t, Value>& rows = rows_[buffer];
  const auto first = static_cast<std::int32_t>(*word);
  const std::int64_t width = ir_.width();
  if (mask) {
    const auto old = rows.find(first);
    row = old == rows.end() ? nullptr : ir_.select(mask, row, old->second);
  }
  std::erase_if(rows, [&](const auto& each) {
    return each.first > first - width && each.first < first + width;
  });
  if (row) rows[first] = row;
}

Value KnownRows::row(BufferId buffer, Value start, Value mask) {
  const auto known = rows_.find(buffer);
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (known == rows_.end() || !word) return nullptr;
  const std::int64_t first = static_cast<std::int32_t>(*word);
  const std::int64_t width = ir_.width();
  const auto row_at = [&](std::int64_t at) {
    const auto found = known->second.find(at);
    if (found != known->second.end()) return found->second;
    // There is nothing below 0.
    return at == -width ? ir_.zero(ir_.vector(ir_.i32)) : nullptr;
  };
  Value row = row_at(first);
  const auto after = known->second.lower_bound(first);
  if (!row && after != known->second.end() && after->first < first + width) {
    const Value before = row_at(after->first - width);
    if (!before) return nullptr;
    row = moves_.window(before, after->second, first + width - after->first);
  }
  if (!row || !mask) return row;
  return ir_.select(mask, row, 0);
}

}  // namespace vyre
