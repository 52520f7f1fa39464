#include <algorithm>
#include <span>

#include "vyre/ir/program.h"
#include "vyre/text/lexer.h"
#include "vyre/text/print.h"
#include "vyre/text/wrap.h"

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
    for (std::size_t begin = 0, end = 0; begin < tokens_.size(); begin = end) {
      for (end = begin + 1; end < tokens_.size() && !tokens_[end].starts_line;) ++end;
      start_line(begin);
      write_line(begin, end);
    }
    return std::move(out_);
  }

 private:
  struct Entry {
    Span span;
    std::uint32_t first_comment;  // of those between the token before and this one
    Tok kind;
    Word word;
    std::uint8_t precedence;  // of an infix operator
    bool starts_line;
    bool started_line;  // in the text
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
    std::vector<Comment> held;
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
      // A comment that trails the brace before `else` ends the block there. Others before `else`
      // and `if` start the block that follows.
      if (else_after && group < comments_.size() && comments_[group].trails) {
        comments_[group++].trails = false;
        tokens_.back().starts_line = true;
      }
      const auto between = comments_.begin() + static_cast<std::ptrdiff_t>(group);
      const bool is_head = else_after || (after_else && token.word == Word::If);
      if (is_head) {
        held.insert(held.end(), between, comments_.end());
        comments_.erase(between, comments_.end());
      } else if (token.kind == Tok::LBrace) {
        comments_.insert(between, held.begin(), held.end());
        held.clear();
      }
      const int precedence = token.infix != nullptr ? token.infix->precedence : 0;
      tokens_.push_back({token.span, static_cast<std::uint32_t>(group), token.kind, token.word,
                         static_cast<std::uint8_t>(precedence), starts,
                         newlines > 0 || comments_.size() > group, newlines > 1});
      // Comments before the brace of a block, or before a comma, come after it.
      const bool passes = is_one_of(token.kind, {Tok::LBrace, Tok::Comma});
      if (starts || !passes) group = comments_.size();
      if (token.kind == Tok::End) break;
    }
  }

  // Ends the line before, and writes all that comes before the first token of this one.
  void start_line(std::size_t i) {
    const Entry& token = tokens_[i];
    std::span<const Comment> comments = comments_before(i);
    if (!comments.empty() && comments.front().trails) comments = write_trailing(comments);
    if (i > 0) {
      out_ += '\n';
      fresh_ = tokens_[i - 1].kind == Tok::LBrace;
      if (fresh_) ++depth_;
    }
    // A blank line between items, and between the buffers and the statements. Constants and files
    // that are used may be close together.
    const bool is_item = depth_ == 0 && token.kind == Tok::Name;
    const bool is_line = is_item && !is_one_of(token.word, {Word::Program, Word::Op});
    const bool after_buffers = after_buffers_ && token.kind != Tok::RBrace && !is_buffer(i);
    bool blank = (is_item && !(is_line && after_line_)) || after_buffers;
    for (const Comment& comment : comments) {
      own_line(comment, indent(), blank || comment.blank_before);
      blank = false;
    }
    if (token.kind == Tok::RBrace) {
      --depth_;
    } else if (token.kind != Tok::End) {
      write_blank(blank || token.blank_before);
    }
    after_buffers_ = is_buffer(i);
    after_line_ = is_line;
  }

  // Writes the tokens from `begin` to `end`: a statement up to its brace, or a brace with what
  // follows it.
  void write_line(std::size_t begin, std::size_t end) {
    if (tokens_[begin].kind == Tok::End) return;
    pieces_.clear();
    for (std::size_t i = begin; i < end; ++i) pieces_.push_back(piece(i, i == begin));
    const std::span<const Gap> gaps = wrapper_.wrap(pieces_, indent());
    out_.append(indent(), ' ');
    for (std::size_t i = begin; i < end; ++i) {
      if (!gaps.empty() && gaps[i - begin].breaks) {
        break_line(i, gaps[i - begin]);
      } else if (pieces_[i - begin].spaced) {
        out_ += ' ';
      }
      out_ += spelling(tokens_[i].span);
      if (is_buffer(i))
        out_.append(pieces_[i - begin].width - spelling(tokens_[i].span).size(), ' ');
    }
  }

  LinePart piece(std::size_t i, bool is_first) const {
    const Entry& token = tokens_[i];
    const bool after_operand = !is_first && ends_operand(i - 1);
    LinePart::Kind kind = LinePart::Kind::Plain;
    if (token.kind == Tok::LParen || token.kind == Tok::LBracket) {
      const bool is_list = token.kind == Tok::LBracket && !after_operand;
      kind = is_list ? LinePart::Kind::OpenList : LinePart::Kind::Open;
    } else if (closes(i)) {
      kind = LinePart::Kind::Close;
    } else if (token.kind == Tok::Comma) {
      kind = LinePart::Kind::Comma;
    } else if (token.kind == Tok::DotDot || (token.kind == Tok::Operator && after_operand)) {
      kind = LinePart::Kind::Infix;
    }
    const auto width = static_cast<std::uint32_t>(spelling(token.span).size());
    return {std::max<std::uint32_t>(width, token.access_width),
            kind,
            token.precedence,
            !is_first && spaced(i),
            !is_first && !comments_before(i).empty(),
            token.started_line};
  }

  // Starts another line inside a statement.
  void break_line(std::size_t i, const Gap& gap) {
    std::span<const Comment> comments = comments_before(i);
    if (!comments.empty() && comments.front().trails) comments = write_trailing(comments);
    out_ += '\n';
    fresh_ = is_one_of(tokens_[i - 1].kind, {Tok::LParen, Tok::LBracket});
    for (const Comment& comment : comments) {
      own_line(comment, gap.comment_indent, comment.blank_before);
    }
    write_blank(gap.keeps_blank && tokens_[i].blank_before && !closes(i));
    out_.append(gap.indent, ' ');
  }

  std::span<const Comment> write_trailing(std::span<const Comment> comments) {
    out_ += "  ";
    out_ += comments.front().text;
    return comments.subspan(1);
  }
  void own_line(const Comment& comment, std::size_t indent, bool blank) {
    write_blank(blank);
    out_.append(indent, ' ');
    out_ += comment.text;
    out_ += '\n';
  }
  // Not at the start of a block.
  void write_blank(bool blank) {
    if (blank && !fresh_) out_ += '\n';
    fresh_ = false;
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
           (is_one_of(token.word,
                      {Word::If, Word::In, Word::Return, Word::Else, Word::Let, Word::For}) ||
            is_contextual(i));
  }

  // A word that means something only where a name cannot be.
  bool is_contextual(std::size_t i) const {
    const std::string_view word = spelling(tokens_[i].span);
    const Tok after = i + 1 < tokens_.size() ? tokens_[i + 1].kind : Tok::End;
    if (word == "while") return tokens_[i].starts_line && after != Tok::LBracket;
    if (word == "reversed") return i > 0 && tokens_[i - 1].word == Word::In && after == Tok::LParen;
    if (word != "step" || i == 0 || tokens_[i].starts_line) return false;
    const Entry& before = tokens_[i - 1];
    return is_one_of(before.kind, {Tok::Number, Tok::RParen, Tok::RBracket}) ||
           (before.kind == Tok::Name && before.word == Word::None);
  }

  bool closes(std::size_t i) const {
    return is_one_of(tokens_[i].kind, {Tok::RParen, Tok::RBracket});
  }
  bool is_buffer(std::size_t i) const { return tokens_[i].access_width > 0; }

  // Valid programs are not deeper.
  std::uint32_t indent() const { return 2 * std::min(depth_, kMaxStmtDepth); }

  std::string_view text_;
  const std::vector<std::uint32_t>& line_starts_;
  std::vector<Entry> tokens_;
  std::vector<Comment> comments_;
  Wrapper wrapper_;
  std::vector<LinePart> pieces_;  // of a line
  std::string out_;
  std::uint32_t depth_ = 0;
  bool fresh_ = true;           // nothing comes before on this level
  bool after_buffers_ = false;  // the line before declares a buffer
  bool after_line_ = false;     // the line before is a constant, or names a file that is used
};

}  // namespace

std::string layout(std::string_view text, const std::vector<std::uint32_t>& line_starts) {
  return Layout(text, line_starts).run();
}

}  // namespace vyre
