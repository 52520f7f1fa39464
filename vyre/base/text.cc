#include "vyre/base/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace vyre {
namespace {

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

// Whether the character at `at` is a control character. Those of C1 take two bytes.
bool is_control(std::string_view text, std::size_t at) {
  const unsigned char c = static_cast<unsigned char>(text[at]);
  if (c != 0xc2) return c < 0x20 || c == 0x7f;
  return at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

// Whether the character at `at` changes the direction of the text around it, so that a line would
// show in another order than it has.
bool is_bidi(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at, 3);
  if (rest.starts_with("\xd8\x9c")) return true;  // U+061C
  if (rest.size() < 3 || rest[0] != '\xe2') return false;
  const unsigned last = static_cast<unsigned char>(rest[2]);
  // U+200E, U+200F, U+202A to U+202E; U+2066 to U+2069.
  if (rest[1] == '\x80') return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
  return rest[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

// nearest() looks at names up to this long, and at near ones: a pair of them costs little.
constexpr std::size_t kMaxLength = 64;
constexpr std::size_t kMaxEdits = 3;

// Edits (insert, delete, replace, swap neighbours) that turn a into b, or more than `limit`. Only
// what `limit` edits can reach is computed: the cells near the diagonal, until all are too far.
std::size_t distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t same_start =
      static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  a.remove_prefix(same_start);
  b.remove_prefix(same_start);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::array<std::array<std::uint8_t, kMaxLength + 1>, 3> rows;
  const std::uint8_t far = static_cast<std::uint8_t>(limit + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    rows[0][j] = static_cast<std::uint8_t>(std::min<std::size_t>(j, far));
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const auto& before = rows[(i + 1) % 3];
    const auto& above = rows[(i + 2) % 3];
    auto& row = rows[i % 3];
    const std::size_t first = i > limit ? i - limit : 1;
    const std::size_t last = std::min(b.size(), i + limit);
    row[first - 1] = first == 1 ? static_cast<std::uint8_t>(std::min<std::size_t>(i, far)) : far;
    std::uint8_t least = row[first - 1];
    for (std::size_t j = first; j <= last; ++j) {
      // The cell above the last one is outside of the row above.
      const int down = j < i + limit || i == 1 ? above[j] : far;
      int edits = std::min({down + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        edits = std::min(edits, before[j - 2] + 1);
      }
      row[j] = static_cast<std::uint8_t>(std::min<int>(edits, far));
      least = std::min(least, row[j]);
    }
    // Nothing comes back from here: also a swap, which skips this row, passes a cell of it.
    if (least == far) return far;
  }
  return rows[a.size() % 3][b.size()];
}

// Which characters a name has. An edit adds one and takes one at most.
std::uint64_t letters(std::string_view name) {
  std::uint64_t set = 0;
  for (char c : name) set |= std::uint64_t{1} << (static_cast<unsigned char>(c) % 64);
  return set;
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

std::size_t first_control(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (!is_control(text, at) || text[at] == '\t' || text[at] == '\n')) ++at;
  return at;
}

std::string hex(Wide number, std::size_t digits) {
  std::string out;
  for (; number != 0 || out.size() < digits; number >>= 4) {
    out += "0123456789abcdef"[static_cast<unsigned>(number & 15)];
  }
  std::ranges::reverse(out);
  return out;
}

std::string hex_bytes(std::span<const unsigned char> bytes) {
  std::string digits;
  for (unsigned char byte : bytes) digits += hex(byte, 2);
  return digits;
}

std::size_t characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
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
    } else if (is_control(text, at) || is_bidi(text, at)) {
      // Of one to three bytes: six bits in each after the first, which has the rest.
      unsigned value = static_cast<unsigned char>(c) & (length == 1 ? 0x7f : 0x3f >> (length - 1));
      for (std::size_t i = 1; i < length; ++i) {
        value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
      }
      out += "\\u" + hex(value, 4);
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out + '"';
}

std::string one_column_each(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      out += '?';
    } else if (is_control(text, at)) {
      out += ' ';
    } else {
      out += is_bidi(text, at) ? "\xef\xbf\xbd" : text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() >= limit) return out + "…";
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || is_control(text, at) || is_bidi(text, at)) {
      for (char c : text.substr(at, std::max<std::size_t>(1, length))) out += "\\x" + hex_byte(c);
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
  std::string_view best;
  std::size_t best_shared = 0;
  std::size_t limit = std::min<std::size_t>(kMaxEdits, (name.size() + 1) / 3);
  if (name.size() > kMaxLength || limit == 0) return best;
  const std::uint64_t wanted = letters(name);
  for (std::size_t i = 0; i < std::min(kMaxCandidates, candidates.size()); ++i) {
    const std::string_view candidate = candidates[i];
    if (candidate.size() > kMaxLength) continue;
    if (std::popcount(wanted ^ letters(candidate)) > 2 * static_cast<int>(limit)) continue;
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
