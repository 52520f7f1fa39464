// Words of other languages, for diagnostics: foreign.def.
#pragma once

#include <string_view>

namespace vyre {

// What vyre has instead of a word of another language, or "".
constexpr std::string_view advice_for(std::string_view word) {
#define FOREIGN(foreign, advice) \
  if (word == foreign) return advice;
#include "vyre/text/foreign.def"
  return {};
}

}  // namespace vyre
