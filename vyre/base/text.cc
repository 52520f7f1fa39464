#include "vyre/base/text.h"

#include <algorithm>
#include <cstring>

namespace vyre {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

// The length of the UTF-8 sequence at `at`, or 0 when it is not valid.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead < 0xf0) {
    const bool overlong = lead == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xf0 && lead < 0xf5) {
    const bool overlong = lead == 0xf0 && byte(1) < 0x90;
    const bool beyond = lead == 0xf4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// Edits (insert, delete, replace, swap neighbours) that turn a into b, or more than `limit`.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) && std::ranges::all_of(text, is_name_char);
}

bool is_op_id(std::string_view text) {
  bool at_start = true;
  bool dotted = false;
  for (char c : text) {
    if (c == '.') {
      if (at_start) return false;
      at_start = dotted = true;
    } else {
      const bool lower = is_name_char(c) && !(c >= 'A' && c <= 'Z');
      if (!lower || (at_start && is_digit(c))) return false;
      at_start = false;
    }
  }
  return dotted && !at_start;
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    while (at + 8 <= text.size()) {
      std::memcpy(&word, text.data() + at, 8);
      if ((word & 0x8080808080808080) != 0) break;
      at += 8;
    }
    if (at == text.size()) break;
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const char c = text[at];
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out + '"';
}

std::string shorten(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() >= limit) return out + "…";
    const std::size_t length = utf8_length(text, at);
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (length == 0 || c < 0x20 || c == 0x7f) {
      out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string shown(std::string_view text) { return text.empty() ? "(empty)" : shorten(text); }

std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kMaxCandidates = 4096;
  constexpr std::size_t kMaxLength = 64;
  std::string_view best;
  std::size_t best_shared = 0;
  std::size_t limit = std::min<std::size_t>(3, (name.size() + 1) / 3);
  if (name.size() > kMaxLength || limit == 0) return best;
  for (std::size_t i = 0; i < std::min(kMaxCandidates, candidates.size()); ++i) {
    const std::string_view candidate = candidates[i];
    if (candidate.size() > kMaxLength) continue;
    const std::size_t edits = distance(name, candidate, limit);
    if (edits > limit || edits == 0) continue;
    // Among equally near ones, the one that starts and ends most alike.
    const auto prefix = std::ranges::mismatch(name, candidate).in1 - name.begin();
    const auto suffix =
        std::mismatch(name.rbegin(), name.rend(), candidate.rbegin(), candidate.rend()).first -
        name.rbegin();
    const std::size_t shared = static_cast<std::size_t>(prefix + suffix);
    if (edits == limit && !best.empty() && shared <= best_shared) continue;
    best = candidate;
    best_shared = shared;
    limit = edits;
  }
  return best;
}

}  // namespace vyre
