// Diagnostics are values: a stable code, what is wrong, what to do about it, and where. The codes
// and every sentence are rows of diagnostics.def.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/source.h"

namespace vyre {

class Json;

enum class Code : std::uint8_t {
#define CODE(code, title) code,
#include "vyre/base/diagnostics.def"
};

std::span<const Code> all_codes();
std::string_view name(Code code);   // "V010"
std::string_view title(Code code);  // what the rule is, in a line
const Code* find_code(std::string_view name);

struct Diagnostic {
  Code code;
  bool is_warning = false;  // what it is about is valid all the same
  std::string problem;
  std::string fix;

  // Problem and fix in the words of the specification, for tools; empty where it has none.
  std::string specified;

  // With a source text: its file, the place in it, and its line (clipped when it is very long) with
  // the characters to underline.
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;  // where it ends, that is, after its last character
  std::uint32_t end_column = 0;
  std::string excerpt;
  std::uint32_t caret_begin = 0;
  std::uint32_t caret_width = 0;

  // Without one: item, statement and expression, as in `program p: body[3].then[0]: a + b`.
  std::string path;

  std::optional<std::uint32_t> statement;  // the one that `path` names, if it names only that

  // More about it, line by line: the two invocations of a race.
  std::vector<std::string> notes;

  // For tools: "vyre IR validation: <problem>. Fix: <fix>.", where the specification words some of
  // them and text for people is allowed to improve.
  std::string message() const;
};

// More errors than this in one file help nobody.
inline constexpr std::size_t kMaxDiagnostics = 1000;

// What `vyre` prints: file, line, column, code, problem, the source line with its caret, the notes,
// the fix.
std::string render(const Diagnostic& diagnostic, bool colour = false);

// {"diagnostics":[{"code":…,"file":…,"line":…,"column":…,"end_line":…,"end_column":…,
// "problem":…,"fix":…,"message":…},…]}. What it is about ends before `end_column`.
std::string to_json(std::span<const Diagnostic> diagnostics);
Json json_list(std::span<const Diagnostic> diagnostics);  // only the array in it

// --- Making one from a row of diagnostics.def ---------------------------------------------------

// The sentences are templates with {0}, {1}, …; the number of arguments is checked at compile time.
constexpr int placeholders(std::string_view text) {
  int count = 0;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}') {
      count = count > text[i + 1] - '0' + 1 ? count : text[i + 1] - '0' + 1;
    }
  }
  return count;
}

namespace message {
#define SPECIFIED(code_, name_, problem_, fix_, specified_)   \
  struct name_ {                                              \
    static constexpr Code code = Code::code_;                 \
    static constexpr std::string_view problem = problem_;     \
    static constexpr std::string_view fix = fix_;             \
    static constexpr std::string_view specified = specified_; \
  };
#define MESSAGE(code_, name_, problem_, fix_) SPECIFIED(code_, name_, problem_, fix_, "")
#include "vyre/base/diagnostics.def"
}  // namespace message

Diagnostic make_diagnostic(Code code, std::string_view problem, std::string_view fix,
                           std::string_view specified, std::span<const std::string> arguments);

std::string argument_text(std::string_view text);  // cut where it is very long
template <std::integral Number>
std::string argument_text(Number number) {
  return std::to_string(number);
}

template <class Message, class... Arguments>
Diagnostic diagnose(const Arguments&... arguments) {
  constexpr int needed = std::max({placeholders(Message::problem), placeholders(Message::fix),
                                   placeholders(Message::specified)});
  static_assert(needed == static_cast<int>(sizeof...(Arguments)),
                "a message takes as many arguments as its row in diagnostics.def mentions");
  const std::array<std::string, sizeof...(Arguments)> texts = {argument_text(arguments)...};
  return make_diagnostic(Message::code, Message::problem, Message::fix, Message::specified, texts);
}

// --- Collecting them ----------------------------------------------------------------------------

// Says where in a source it is about: line, column and an excerpt.
void locate(Diagnostic& diagnostic, const Source& source, LineCounter& lines, Span span);
Diagnostic located(Diagnostic diagnostic, const Source& source, Span span);
// "a.vyre:7:3".
std::string text(const LineCounter::Place& place);

// Diagnostics as they are found. Those of a source have spans; line numbers are filled in at the
// end, in one pass over the text.
class Findings {
 public:
  template <class Message, class... Arguments>
  void report(Span span, const Arguments&... arguments) {
    if (!full()) add(diagnose<Message>(arguments...), span);
  }
  // `{line}` in the problem becomes the line of `cause`, `{place}` in a note its file and place.
  void add(Diagnostic diagnostic, Span span = {}, std::optional<Span> cause = {}) {
    if (!full()) found_.push_back({std::move(diagnostic), span, cause, found_.size()});
  }

  bool empty() const { return found_.empty(); }
  bool full() const { return found_.size() >= kMaxDiagnostics; }

  // All of them in the order of the source.
  std::vector<Diagnostic> located(const Source& source) &&;
  // Of no source: in the order in which they were found.
  std::vector<Diagnostic> unlocated() &&;

 private:
  struct Finding {
    Diagnostic diagnostic;
    Span span;
    std::optional<Span> cause;
    std::size_t number = 0;  // in the order in which they were found
  };
  std::vector<Finding> found_;
};

}  // namespace vyre
