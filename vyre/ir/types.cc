#include "vyre/ir/types.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace vyre {
namespace {

using enum DataType;

static_assert(std::ranges::is_sorted(kTypeRows, std::less(), &TypeInfo::type));

}  // namespace

std::optional<DataType> find_type(std::string_view text) {
  for (const TypeInfo& row : kTypeRows) {
    if (row.text == text) return row.type;
  }
  return std::nullopt;
}

std::optional<DataType> type_of_tag(std::uint32_t tag) {
  if (tag >= kTypeTags || kTypesByTag[tag].type == Unknown) return std::nullopt;
  return static_cast<DataType>(tag);
}

std::string list_of(TypeSet set) {
  std::vector<std::string_view> texts;
  for (const TypeInfo& row : kTypeRows) {
    if (contains(set, row.type)) texts.push_back(row.text);
  }
  std::string list;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) list += i + 1 == texts.size() ? " or " : ", ";
    list += texts[i];
  }
  return list;
}

TypeSet cast_targets(DataType source) {
  switch (source) {
    case Unknown: return 0;
    case U64:
    case Vec2U32: return type_set(U32, I32, Bool, U64, U128, Vec2U32);
    case U32:
    case I32:
    case Vec4U32:
    case Bool:
    case U128: return type_set(U32, I32, Bool, U64, U128, Vec2U32, Vec4U32);
    case Bytes: return type_set(Bytes);
    case U8:
    case U16:
    case I8:
    case I16: return 0;
  }
  return 0;  // of an array
}

std::string tables::argument_text(DataType type) {
  if (!is_array(type)) return std::string(text(type));
  return std::string(text(element_type(type))) + "[" + std::to_string(element_count(type)) + "]";
}

void number_bindings(std::vector<BufferDecl>& buffers, const std::vector<bool>& bound) {
  std::vector<std::uint32_t> taken;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (bound[i]) taken.push_back(buffers[i].binding);
  }
  std::ranges::sort(taken);
  std::uint32_t free = 0;
  auto next_taken = taken.begin();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (bound[i] || !is_bound(buffers[i].access)) continue;
    for (; next_taken != taken.end() && *next_taken <= free; ++next_taken) {
      if (*next_taken == free) ++free;
    }
    buffers[i].binding = free++;
  }
}

std::uint32_t OpSignature::min_input_bytes() const {
  return std::accumulate(inputs.begin(), inputs.end(), 0u,
                         [](std::uint32_t sum, DataType type) { return sum + min_bytes(type); });
}

}  // namespace vyre
