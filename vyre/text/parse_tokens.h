// The first layer of the parser: the token at hand, errors, and where to go on after one.
//
// The parser makes one pass over the tokens, without recursion: open blocks and open brackets are
// explicit stacks, so no input can overflow the call stack.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/text.h"
#include "vyre/text/lexer.h"
#include "vyre/text/parse.h"

namespace vyre {

class TokenParser {
 public:
  TokenParser(const Source& source, Parsed& parsed)
      : source_(source), parsed_(parsed), lexer_(source.text, parsed.findings) {}

 protected:
  // --- Tokens ---
  void advance() {
    previous_ = token_;
    const std::size_t before = lexer_.errors();
    token_ = lexer_.next_but_comments();
    if (lexer_.errors() != before) note_failure();
  }
  bool at(Tok kind) const { return token_.kind == kind; }
  bool at_word(Word word) const { return token_.kind == Tok::Name && token_.word == word; }
  // Whether the current word starts an op id, where it means nothing else.
  bool before_dot() const { return lexer_.probe().next_but_comments().kind == Tok::Dot; }
  bool accept(Tok kind) {
    if (!at(kind)) return false;
    advance();
    return true;
  }
  bool accept_word(Word word) {
    if (!at_word(word)) return false;
    advance();
    return true;
  }
  template <class Message>
  bool expect(Tok kind) {
    return accept(kind) || fail_missing<Message>();
  }
  static bool is_planned_type(Word word) {
    return is_one_of(word, {Word::F32, Word::F16, Word::Bf16, Word::Tensor});
  }
  std::string_view spelling() const { return lexer_.text(token_.span); }
  static std::string quoted(std::string_view word) { return "`" + shorten(word, 40) + "`"; }
  std::string found() const { return at(Tok::End) ? "the end of the file" : quoted(spelling()); }

  // --- Errors ---

  // A syntax error: the first one in a statement is reported, the item is not validated.
  template <class Message, class... Arguments>
  bool fail(Span span, const Arguments&... arguments) {
    if (!failed_) parsed_.findings.report<Message>(span, arguments...);
    note_failure();
    return false;
  }
  // The current token is not one that the grammar allows here.
  template <class Message, class... Arguments>
  bool fail_here(const Arguments&... arguments) {
    if (in_body_ && fail_foreign(2)) return false;
    return fail<Message>(token_.span, found(), arguments...);
  }
  // Fails if the current token, or the one before it, begins a symbol of another language that has
  // at least `least` characters.
  bool fail_foreign(std::size_t least) {
    for (const std::uint32_t begin : {previous_.span.begin, token_.span.begin}) {
      const std::string_view symbol = foreign_here(begin).text;
      if (symbol.size() < least) continue;
      const bool is_word = is_name_char(symbol.front()) && is_name_char(symbol.back());
      std::uint32_t end = begin + static_cast<std::uint32_t>(symbol.size());
      if (is_word || end + symbol.ends_with(' ') <= token_.span.begin) continue;
      end = symbol == "\"" ? token_.span.end : end - symbol.ends_with(' ');
      const Span span{begin, end};
      fail<message::foreign_here>(span, shorten(lexer_.text(span)), foreign_here(begin).advice);
      return true;
    }
    return false;
  }
  Foreign foreign_here(std::uint32_t begin) const {
    return foreign_at(std::string_view(source_.text).substr(begin));
  }
  // Something is missing before the current token; on the line before, when that one has ended.
  template <class Message, class... Arguments>
  bool fail_missing(const Arguments&... arguments) {
    if (!token_.newline_before && !at(Tok::End)) return fail_here<Message>(arguments...);
    const std::uint32_t end = previous_.span.end;
    const std::string_view where = at(Tok::End) ? "the end of the file" : "the end of the line";
    return fail<Message>({end, end}, where, arguments...);
  }
  // An error that leaves the syntax intact.
  template <class Message, class... Arguments>
  void complain(Span span, const Arguments&... arguments) {
    parsed_.findings.report<Message>(span, arguments...);
  }
  void note_failure() {
    failed_ = true;
    item_sound_ = false;
    parsed_.syntax_ok = false;
    if (++errors_ >= kMaxSyntaxErrors) stopped_ = true;
  }

  // A limit was passed: nothing more is read.
  template <class Message>
  bool stop(Span span, std::string_view item) {
    if (!stopped_) parsed_.findings.report<Message>(span, item);
    note_failure();
    stopped_ = true;
    return false;
  }

  // Skips to where a statement may start again: a closing brace of the block, or a first token on a
  // line outside of all brackets that were opened on the way.
  void recover() {
    lexer_.set_quiet(true);
    for (int depth = 0; !at(Tok::End) && !stopped_; advance()) {
      const bool opens = at(Tok::LParen) || at(Tok::LBracket) || at(Tok::LBrace);
      const bool closes = at(Tok::RParen) || at(Tok::RBracket) || at(Tok::RBrace);
      const bool is_first = at(Tok::Name) && token_.newline_before && !token_.after_error;
      if (at_item() || (depth == 0 && (at(Tok::RBrace) || (is_first && !at_word(Word::Else))))) {
        break;
      }
      depth = std::max(0, depth + opens - closes);
    }
    lexer_.set_quiet(false);
  }

  void skip_to_item() {
    lexer_.set_quiet(true);
    while (!at(Tok::End) && !stopped_ && !at_item() && !(token_.newline_before && at_const())) {
      advance();
    }
    lexer_.set_quiet(false);
  }

  bool at_const() const {
    return at(Tok::Name) && spelling() == "const" &&
           lexer_.probe().next_but_comments().kind == Tok::Name;
  }

  // A broken item ends where another one starts; only the first word of a line is taken as that.
  bool at_item() const {
    return token_.newline_before && (at_word(Word::Program) || at_word(Word::Op)) && !before_dot();
  }

  const Source& source_;
  Parsed& parsed_;
  Lexer lexer_;
  Token token_;
  Token previous_;
  bool failed_ = false;     // in the current statement
  bool item_sound_ = true;  // no syntax error in this item so far
  bool in_body_ = false;    // among statements
  bool stopped_ = false;    // a limit was passed; nothing more is read

 private:
  static constexpr std::size_t kMaxSyntaxErrors = 100;
  std::size_t errors_ = 0;
};

}  // namespace vyre
