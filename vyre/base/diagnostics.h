// Diagnostics are values: a stable code, what is wrong, what to do about it, and where. The codes
// and every sentence are rows of diagnostics.def.
#pragma once

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
  std::string problem;
  std::string fix;

  // With a source text: its file, the place in it, and the line it stands on (clipped when it is
  // very long) with the characters to underline.
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string excerpt;
  std::uint32_t caret_begin = 0;
  std::uint32_t caret_width = 0;

  // Without one: item, statement and expression, as in `program p: body[3].then[0]: a + b`.
  std::string path;

  std::optional<std::uint32_t> statement;  // that `path` names, where nothing else is meant

  // More that belongs to it, line by line: the two invocations of a race.
  std::vector<std::string> notes;

  // "vyre IR validation: <problem>. Fix: <fix>."
  std::string message() const;
};

// More errors than this in one file help nobody; the rest is counted, not kept.
inline constexpr std::size_t kMaxDiagnostics = 1000;

// What `vyre` prints: file, line, column, code, problem, the source line with its caret, the notes,
// the fix.
std::string render(const Diagnostic& diagnostic, bool colour = false);

// {"diagnostics":[{"code":…,"file":…,"line":…,"column":…,"problem":…,"fix":…},…]}
std::string to_json(std::span<const Diagnostic> diagnostics);

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
#define MESSAGE(code_, name_, problem_, fix_)             \
  struct name_ {                                          \
    static constexpr Code code = Code::code_;             \
    static constexpr std::string_view problem = problem_; \
    static constexpr std::string_view fix = fix_;         \
  };
#include "vyre/base/diagnostics.def"
}  // namespace message

Diagnostic make_diagnostic(Code code, std::string_view problem, std::string_view fix,
                           std::span<const std::string> arguments);

std::string argument_text(std::string_view text);  // cut where it is very long
template <std::integral Number>
std::string argument_text(Number number) {
  return std::to_string(number);
}

template <class Message, class... Arguments>
Diagnostic diagnose(const Arguments&... arguments) {
  constexpr int needed = placeholders(Message::problem) > placeholders(Message::fix)
                             ? placeholders(Message::problem)
                             : placeholders(Message::fix);
  static_assert(needed == static_cast<int>(sizeof...(Arguments)),
                "a message takes as many arguments as its row in diagnostics.def mentions");
  const std::array<std::string, sizeof...(Arguments)> texts = {argument_text(arguments)...};
  return make_diagnostic(Message::code, Message::problem, Message::fix, texts);
}

// --- Collecting them ----------------------------------------------------------------------------

// Diagnostics of one source as they are found, each with its span; line numbers are filled in at
// the end, in one pass over the text.
class Findings {
 public:
  template <class Message, class... Arguments>
  void report(Span span, const Arguments&... arguments) {
    if (!full()) add(diagnose<Message>(arguments...), span);
  }
  void add(Diagnostic diagnostic, Span span) {
    if (!full()) found_.push_back({std::move(diagnostic), span, found_.size()});
  }

  bool empty() const { return found_.empty(); }
  bool full() const { return found_.size() >= kMaxDiagnostics; }

  // All of them in the order of the source.
  std::vector<Diagnostic> located(const Source& source) &&;

 private:
  struct Finding {
    Diagnostic diagnostic;
    Span span;
    std::size_t order;
  };
  std::vector<Finding> found_;
};

}  // namespace vyre
