#include "vyre/text/print.h"

#include <algorithm>
#include <span>

#include "vyre/text/lexer.h"

namespace vyre {
namespace {

struct Comment {
  std::string_view text;
  bool trails;        // on the line of the token before it
  bool blank_before;  // after an empty line
};

class Layout {
 public:
  Layout(std::string_view text, const std::vector<std::uint32_t>& line_starts)
      : text_(text), line_starts_(line_starts) {}

  std::string run() {
    read_tokens();
    for (std::size_t i = 0; i < tokens_.size(); ++i) place(i);
    return std::move(out_);
  }

 private:
  struct Entry {
    Span span;
    std::uint32_t first_comment;  // of those between the token before and this one
    Tok kind;
    Word word;
    bool starts_line;
    bool blank_before;
    std::uint8_t access_width = 0;  // of a buffer declaration: the column its name is aligned to
  };

  std::string_view spelling(Span span) const {
    return text_.substr(span.begin, span.end - span.begin);
  }
  std::span<const Comment> comments_before(std::size_t i) const {
    const std::size_t end =
        i + 1 < tokens_.size() ? tokens_[i + 1].first_comment : comments_.size();
    return {comments_.data() + tokens_[i].first_comment, comments_.data() + end};
  }

  void read_tokens() {
    Findings scratch;
    Lexer lexer(text_, scratch);
    if (text_.starts_with("\xef\xbb\xbf")) lexer.seek(3);
    auto next_start = line_starts_.begin();
    std::size_t group = 0;  // where the comments before the next token start
    std::uint32_t end = 0;  // of the token or comment before
    std::vector<std::size_t> buffers;
    const auto align = [&] {
      std::uint32_t width = 0;
      for (std::size_t i : buffers) {
        width = std::max(width, tokens_[i].span.end - tokens_[i].span.begin);
      }
      for (std::size_t i : buffers) tokens_[i].access_width = static_cast<std::uint8_t>(width);
      buffers.clear();
    };
    while (true) {
      const Token token = lexer.next();
      const auto newlines = std::count(text_.begin() + end, text_.begin() + token.span.begin, '\n');
      end = token.span.end;
      if (token.kind == Tok::Comment) {
        std::string_view comment = spelling(token.span);
        comment = comment.substr(0, comment.find_last_not_of(" \t\r") + 1);
        comments_.push_back({comment, newlines == 0 && !tokens_.empty(), newlines > 1});
        continue;
      }
      const bool listed = next_start != line_starts_.end() && *next_start == token.span.begin;
      if (listed) ++next_start;
      const Tok before = tokens_.empty() ? Tok::End : tokens_.back().kind;
      const bool after_else =
          before == Tok::Name && tokens_.back().word == Word::Else && !tokens_.back().starts_line;
      const bool else_after = token.word == Word::Else && before == Tok::RBrace;
      const bool empty_block =
          token.kind == Tok::RBrace && before == Tok::LBrace && comments_.size() == group;
      const bool starts = (listed && !after_else) || token.kind == Tok::End ||
                          (before == Tok::RBrace && !else_after) ||
                          (token.kind == Tok::RBrace && !empty_block);
      if (listed && access_of(token.word)) {
        buffers.push_back(tokens_.size());
      } else if (starts) {
        align();
      }
      tokens_.push_back({token.span, static_cast<std::uint32_t>(group), token.kind, token.word,
                         starts, newlines > 1});
      group = comments_.size();
      if (token.kind == Tok::End) break;
    }
  }

  void place(std::size_t i) {
    const Entry& token = tokens_[i];
    const std::span<const Comment> comments = comments_before(i);
    if (!token.starts_line) {
      // Comments inside a line go above it. In `} else {` one that trails the first brace ends the
      // block there, others start the block that follows.
      for (const Comment& comment : comments) {
        const bool after_brace = line_[2 * depth_] == '}';
        if (after_brace && comment.trails && deferred_.empty() && tokens_[i - 1].starts_line) {
          out_ += indent() + "  " + std::string(comment.text) + "\n";
        } else if (after_brace) {
          deferred_.push_back(comment);
        } else {
          own_line(comment, false);
        }
      }
      if (i > 0 && spaced(i)) line_ += ' ';
      line_ += spelling(token.span);
    } else {
      auto comment = comments.begin();
      if (comment != comments.end() && comment->trails) {
        if (deferred_.empty()) {
          line_ += "  ";
          line_ += comment->text;
        } else {
          deferred_.push_back(*comment);
        }
        ++comment;
      }
      const bool opened = i > 0 && tokens_[i - 1].kind == Tok::LBrace;
      flush();
      if (opened) {
        ++depth_;
        fresh_block_ = true;
      }
      for (const Comment& late : deferred_) own_line(late, false);
      deferred_.clear();

      // A blank line between items, and between the buffers and the statements.
      const bool item = depth_ == 0 && token.kind == Tok::Name;
      const bool after_buffers = after_buffers_ && token.kind != Tok::RBrace && !is_buffer(i);
      bool blank = item || after_buffers;
      for (; comment != comments.end(); ++comment) {
        own_line(*comment, blank || comment->blank_before);
        blank = false;
      }
      if (token.kind == Tok::End) return;
      if (token.kind == Tok::RBrace) {
        --depth_;
      } else if ((blank || token.blank_before) && !fresh_block_) {
        out_ += '\n';
      }
      fresh_block_ = false;
      after_buffers_ = is_buffer(i);
      line_ = indent();
      line_ += spelling(token.span);
      if (is_buffer(i)) line_.append(token.access_width - spelling(token.span).size(), ' ');
    }
  }

  // Whether a space separates token i from the one before it on its line.
  bool spaced(std::size_t i) const {
    const Tok left = tokens_[i - 1].kind;
    const Tok right = tokens_[i].kind;
    if (is_one_of(right, {Tok::RParen, Tok::RBracket, Tok::RBrace, Tok::Comma, Tok::Colon, Tok::Dot,
                          Tok::DotDot})) {
      return false;
    }
    // An index, not a list.
    if (right == Tok::LBracket && ends_operand(i - 1)) return false;
    if (right == Tok::LParen && left == Tok::Name) return is_keyword(i - 1);
    // An operator is a prefix unless it follows an operand.
    if (left == Tok::Operator) return i >= 2 && !tokens_[i - 1].starts_line && ends_operand(i - 2);
    return !is_one_of(left, {Tok::LParen, Tok::LBracket, Tok::Dot, Tok::DotDot, Tok::At});
  }

  bool ends_operand(std::size_t i) const {
    const Tok kind = tokens_[i].kind;
    return is_one_of(kind, {Tok::Number, Tok::RParen, Tok::RBracket}) ||
           (kind == Tok::Name && !is_keyword(i));
  }

  // A word that is neither a name nor part of an op id.
  bool is_keyword(std::size_t i) const {
    const Entry& token = tokens_[i];
    const bool in_id = (i > 0 && tokens_[i - 1].kind == Tok::Dot) ||
                       (i + 1 < tokens_.size() && tokens_[i + 1].kind == Tok::Dot);
    return token.kind == Tok::Name && !in_id &&
           is_one_of(token.word,
                     {Word::If, Word::In, Word::Return, Word::Else, Word::Let, Word::For});
  }

  bool is_buffer(std::size_t i) const { return tokens_[i].access_width > 0; }
  void own_line(const Comment& comment, bool blank) {
    if (blank && !fresh_block_) out_ += '\n';
    fresh_block_ = false;
    out_ += indent();
    out_ += comment.text;
    out_ += '\n';
  }

  void flush() {
    if (line_.empty()) return;
    out_ += line_;
    out_ += '\n';
    line_.clear();
  }

  std::string indent() const { return std::string(2 * depth_, ' '); }

  std::string_view text_;
  const std::vector<std::uint32_t>& line_starts_;
  std::vector<Entry> tokens_;
  std::vector<Comment> comments_;
  std::string out_;
  std::string line_;
  std::vector<Comment> deferred_;  // between `}` and `else {`; moved to after the brace
  std::size_t depth_ = 0;
  bool fresh_block_ = true;     // the current block is empty so far
  bool after_buffers_ = false;  // the line before declares a buffer
};

}  // namespace

std::string layout(std::string_view text, const std::vector<std::uint32_t>& line_starts) {
  return Layout(text, line_starts).run();
}

}  // namespace vyre
