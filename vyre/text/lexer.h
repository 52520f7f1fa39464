// Splits a source into tokens. Comments are tokens too: the formatter keeps them, the parser skips
// them. What is not a token is reported and skipped, so a stray character costs one diagnostic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "vyre/base/diagnostics.h"
#include "vyre/ir/ops.h"

namespace vyre {

enum class Word : std::uint8_t {
  None,  // not reserved
  Type,
  Atomic,
#define WORD(name, text) name,
#include "vyre/text/words.def"
};

Word find_word(std::string_view text);
inline bool is_reserved(std::string_view text) { return find_word(text) != Word::None; }

// What a word that starts the declaration of a buffer says.
std::optional<BufferAccess> access_of(Word word);

// What vyre has instead of what other languages have: foreign.def.
struct Foreign {
  std::string_view text;    // empty where there is nothing
  std::string_view advice;  // empty with it
};
// Of a whole word.
std::string_view advice_for(std::string_view word);
// Of what a text begins with.
Foreign foreign_at(std::string_view text);

// For sets of words and of tokens.
template <class Enum>
constexpr bool is_one_of(Enum value, std::initializer_list<Enum> set) {
  return std::ranges::find(set, value) != set.end();
}

enum class Tok : std::uint8_t {
  End,
  Name,
  Number,
  String,
  Comment,
  Operator,  // Token::infix and Token::prefix say which
  Update,    // `+=` and the like: Token::update says which
#define TOKEN(name, text) name,
#include "vyre/text/words.def"
};

struct Token {
  Tok kind = Tok::End;
  Word word = Word::None;      // of a Name
  bool newline_before = true;  // the first token on its line
  bool after_error = false;    // its line has something before it that is not a token
  const OperationInfo* infix = nullptr;
  const OperationInfo* prefix = nullptr;
  const OperationInfo* update = nullptr;
  Span span;
};

// What some editors put at the beginning of a file; it is skipped.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class Lexer {
 public:
  Lexer(std::string_view text, Findings& findings) : text_(text), findings_(findings) {}

  Token next();
  Token next_but_comments() {
    Token token = next();
    while (token.kind == Tok::Comment) token = next();
    return token;
  }
  // One that looks ahead from here and reports nothing.
  Lexer probe() const {
    Lexer ahead = *this;
    ahead.set_quiet(true);
    return ahead;
  }
  void seek(std::uint32_t offset) { at_ = offset; }
  // Goes on at the beginning of a file of this text.
  void enter(std::string_view text, Span file) {
    text_ = text.substr(0, file.end);
    at_ = file.begin + (text_.substr(file.begin).starts_with(kByteOrderMark) ? 3 : 0);
    start_ = at_;
  }
  void set_quiet(bool quiet) { quiet_ = quiet; }  // in text that is skipped anyway
  std::size_t errors() const { return errors_; }  // how many were reported
  std::string_view text(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

 private:
  template <class Message, class... Arguments>
  void report(Span span, const Arguments&... arguments) {
    if (quiet_) return;
    ++errors_;
    findings_.report<Message>(span, arguments...);
  }
  void report_character(std::uint32_t begin);
  template <class Message>
  void report_control(std::uint32_t begin, std::uint32_t end);
  void scan_number();
  void scan_string(std::uint32_t begin);

  std::string_view text_;
  Findings& findings_;
  std::uint32_t at_ = 0;
  std::uint32_t start_ = 0;  // of the file
  std::size_t errors_ = 0;
  bool quiet_ = false;
};

}  // namespace vyre
