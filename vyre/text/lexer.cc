#include "vyre/text/lexer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "vyre/base/text.h"

namespace vyre {
namespace {

// The tokens that are spelt in one way and the operators of ops.def, by their first character,
// those of two characters first.
class SpellingTable {
 public:
  SpellingTable() {
    for (std::size_t length : {std::size_t{2}, std::size_t{1}}) {
#define TOKEN(name, text) insert(length, {text, Tok::name, nullptr});
#include "vyre/text/words.def"
      for (const OperationInfo& row : all_operations()) {
        if (row.precedence != 0) insert(length, {row.text, Tok::Operator, &row});
      }
    }
  }

  // Makes `token` the longest one that starts with `c` and may go on with `following`; false when
  // there is none.
  bool match(char c, char following, Token& token) const {
    const unsigned char first = static_cast<unsigned char>(c);
    if (first >= by_first_.size()) return false;
    for (const Spelling& each : by_first_[first]) {
      const std::uint32_t length = static_cast<std::uint32_t>(each.text.size());
      if (length == 0 || (length == 2 && following != each.text[1])) continue;
      if (token.kind != Tok::End && token.span.end - token.span.begin != length) break;
      token.kind = each.kind;
      token.span.end = token.span.begin + length;
      if (each.op != nullptr) (each.op->arity == 1 ? token.prefix : token.infix) = each.op;
    }
    return token.kind != Tok::End;
  }

 private:
  struct Spelling {
    std::string_view text;
    Tok kind = Tok::End;
    const OperationInfo* op = nullptr;
  };

  void insert(std::size_t length, Spelling spelling) {
    if (spelling.text.size() != length) return;
    auto& row = by_first_[static_cast<unsigned char>(spelling.text[0])];
    *std::ranges::find(row, std::string_view(), &Spelling::text) = spelling;
  }

  std::array<std::array<Spelling, 4>, 128> by_first_{};
};

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

Word find_word(std::string_view text) {
  static const auto words = [] {
    std::unordered_map<std::string_view, Word> all = {
#define WORD(name, text) {text, Word::name},
#include "vyre/text/words.def"
    };
    for (const TypeInfo& type : all_types()) {
      if (!is_narrow(type.type)) all.emplace(type.text, Word::Type);
    }
    // Later ones are words only before a bracket, so that they may be names elsewhere.
    for (const AtomicInfo& atomic : all_atomics()) {
      if (atomic.op < AtomicOp::Load) all.emplace(atomic.text, Word::Atomic);
    }
    return all;
  }();
  const auto found = words.find(text);
  return found == words.end() ? Word::None : found->second;
}

std::optional<BufferAccess> access_of(Word word) {
  if (word == Word::Read) return BufferAccess::ReadOnly;
  if (word == Word::ReadWrite) return BufferAccess::ReadWrite;
  if (word == Word::Uniform) return BufferAccess::Uniform;
  if (word == Word::Workgroup) return BufferAccess::Workgroup;
  return {};
}

std::string_view advice_for(std::string_view word) {
  const Foreign found = foreign_at(word);
  return found.text == word ? found.advice : std::string_view();
}

Foreign foreign_at(std::string_view text) {
  struct Row {
    std::string_view advice;
    std::vector<std::string_view> texts;
  };
  static const Row rows[] = {
#define FOREIGN(advice, ...) {advice, {__VA_ARGS__}},
#include "vyre/text/foreign.def"
  };
  Foreign longest;
  for (const Row& row : rows) {
    for (std::string_view each : row.texts) {
      if (each.size() <= longest.text.size() || !text.starts_with(each)) continue;
      const bool goes_on =
          is_name_char(each.back()) && each.size() < text.size() && is_name_char(text[each.size()]);
      if (!goes_on) longest = {each, row.advice};
    }
  }
  return longest;
}

Token Lexer::next() {
  static const SpellingTable spellings;
  const std::uint32_t size = static_cast<std::uint32_t>(text_.size());
  Token token;
  token.newline_before = at_ == start_;
  while (true) {
    while (at_ < size &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      if (text_[at_++] != '\n') continue;
      token.newline_before = true;
      token.after_error = false;
    }
    const std::uint32_t begin = at_;
    token.span = {begin, begin};
    if (begin == size) return token;

    const char c = text_[begin];
    const char following = begin + 1 < size ? text_[begin + 1] : '\0';
    if (is_name_start(c)) {
      while (at_ < size && is_name_char(text_[at_])) ++at_;
      token.kind = Tok::Name;
      if (at_ - begin > kMaxNameBytes) {
        report<message::long_token>({begin, begin + 1}, at_ - begin);
      }
      token.word = find_word(text({begin, at_}));
    } else if (is_digit(c)) {
      scan_number();
      token.kind = Tok::Number;
    } else if (c == '"') {
      scan_string(begin);
      token.kind = Tok::String;
    } else if (c == '/' && following == '/') {
      at_ = static_cast<std::uint32_t>(std::min<std::size_t>(text_.find('\n', at_), size));
      report_control<message::control_in_comment>(begin, at_ - (text_[at_ - 1] == '\r' ? 1 : 0));
      token.kind = Tok::Comment;
    } else if (c == '/' && following == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? size : static_cast<std::uint32_t>(end) + 2;
      report<message::block_comment>({begin, begin + 2});
      continue;
    } else if (spellings.match(c, following, token)) {
      at_ = token.span.end;
      if (token.infix != nullptr && token.infix->precedence > kComparisonPrecedence && at_ < size &&
          text_[at_] == '=') {
        ++at_;
        token.kind = Tok::Update;
        token.update = token.infix;
        token.infix = token.prefix = nullptr;
      }
    } else {
      token.after_error |= c != ';';
      report_character(begin);
      continue;
    }
    token.span.end = at_;
    return token;
  }
}

// A character, or a run of bytes beyond ASCII, that no token starts with; with what belongs to it
// in another language.
void Lexer::report_character(std::uint32_t begin) {
  ++at_;
  while (at_ < text_.size() && static_cast<unsigned char>(text_[at_ - 1]) >= 0x80 &&
         static_cast<unsigned char>(text_[at_]) >= 0x80) {
    ++at_;
  }
  const Span span{begin, at_};
  const std::string shown = shorten(text(span), 24);
  const std::string_view rest = text_.substr(begin);
  if (shown == ";") {
    constexpr std::uint32_t kLookedAt = 100;
    const std::uint32_t from = begin > kLookedAt ? begin - kLookedAt : 0;
    const std::string_view before = text({from, begin});
    const std::size_t bracket = before.find_last_of("[]\n");
    const bool in_array = bracket < before.size() && before[bracket] == '[';
    in_array ? report<message::repeated_element>(span) : report<message::separator>(span);
  } else if (shown == "#") {
    const auto [text, advice] = foreign_at(rest);
    if (text.empty()) return report<message::hash_comment>(span);
    at_ = begin + static_cast<std::uint32_t>(text.size());
    report<message::foreign_symbol>({begin, at_}, text, advice);
    at_ = static_cast<std::uint32_t>(std::min<std::size_t>(text_.find('\n', at_), text_.size()));
  } else if (shown == "?") {
    report<message::ternary>(span);
  } else if (rest.size() > 2 && shown == "'" && rest[2] == '\'' && rest[1] >= ' ') {
    at_ = begin + 3;
    report<message::character_literal>({begin, at_}, rest.substr(0, 3), static_cast<int>(rest[1]));
  } else {
    report<message::unexpected_character>(span, shown);
  }
}

// A terminal that shows the text would do something else.
template <class Message>
void Lexer::report_control(std::uint32_t begin, std::uint32_t end) {
  const std::string_view inside = text({begin, end});
  const std::size_t bad = first_control(inside);
  if (bad == inside.size()) return;
  const std::uint32_t at = begin + static_cast<std::uint32_t>(bad);
  report<Message>({at, at + 1}, hex_byte(inside[bad]));
}

// Everything that belongs to a number, also where it is malformed; its value is the parser's job.
void Lexer::scan_number() {
  const std::uint32_t begin = at_;
  const auto peek = [&](std::uint32_t ahead) {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  };
  const bool hexadecimal = peek(0) == '0' && peek(1) == 'x';
  while (true) {
    while (is_name_char(peek(0))) ++at_;
    const char last = text_[at_ - 1];
    const bool exponent = hexadecimal ? last == 'p' || last == 'P' : last == 'e' || last == 'E';
    if (exponent && (peek(0) == '+' || peek(0) == '-') && is_digit(peek(1))) {
      at_ += 2;
    } else if (peek(0) == '.' && (hexadecimal ? is_hex_digit(peek(1)) : is_digit(peek(1))) &&
               text({begin, at_}).find('.') == std::string_view::npos) {
      at_ += 2;
    } else {
      return;
    }
  }
}

// To the closing quote, or to the end of the line.
void Lexer::scan_string(std::uint32_t begin) {
  ++at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    at_ += text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n' ? 2 : 1;
  }
  if (at_ < text_.size() && text_[at_] == '"') {
    ++at_;
    report_control<message::control_in_string>(begin, at_);
  } else {
    report<message::unclosed_string>({begin, at_});
  }
}

}  // namespace vyre
