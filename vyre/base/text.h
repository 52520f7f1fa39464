// Small facts about text: UTF-8, quoting, nearness of names.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vyre {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

inline constexpr std::size_t kMaxNameBytes = std::size_t{1} << 20;

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);

// Two or more parts [a-z_][a-z0-9_]* with dots between them.
bool is_op_id(std::string_view text);

// The offset of the first byte that is not part of valid UTF-8, or text.size().
std::size_t first_invalid_utf8(std::string_view text);

// The offset of the first control character (C0 but tab and line feed, DEL, C1) of valid UTF-8, or
// text.size(). A terminal may do anything when it gets one.
std::size_t first_control(std::string_view text);

__extension__ using Wide = unsigned __int128;

// Hexadecimal digits, at least `digits` of them.
std::string hex(Wide number, std::size_t digits = 1);
// "1b": a byte for a message.
inline std::string hex_byte(char byte) { return hex(static_cast<unsigned char>(byte), 2); }
// Two digits for each byte.
std::string hex_bytes(std::span<const unsigned char> bytes);

// Whether it goes on with a character of UTF-8 that has begun, and how many begin in a text.
inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
std::size_t characters(std::string_view text);

// The texts of some parts, with `separator` between them.
template <class Text = std::identity>
std::string join(const auto& parts, std::string_view separator, Text text = {}) {
  std::string out;
  bool is_first = true;
  for (const auto& part : parts) {
    if (!std::exchange(is_first, false)) out += separator;
    out += std::invoke(text, part);
  }
  return out;
}

// A JSON string, quotes included. Invalid UTF-8 becomes U+FFFD. Control characters and those that
// change the direction of text are escapes.
std::string json_quote(std::string_view text);

// For a line that carets point into: a blank for each tab and control character, ? for each invalid
// byte, U+FFFD for each character that changes the direction of text.
std::string one_column_each(std::string_view text);

// For messages: at most `limit` bytes, cut at a character and marked with an ellipsis. Control
// characters, those that change the direction of text, and invalid bytes are written as escapes.
std::string shorten(std::string_view text, std::size_t limit = 60);

// The same for something that may be empty, which between quotes would not show.
std::string shown(std::string_view text);

// "1 argument", "2 arguments"
std::string plural(std::size_t count, std::string_view noun);

// More candidates than these are not looked at.
inline constexpr std::size_t kMaxCandidates = 4096;

// The candidate a misspelt name most likely meant, or "" when none is near. Looks at a bounded
// number of candidates, so that it never costs more than the error is worth.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace vyre
