#include "vyre/base/diagnostics.h"

#include <algorithm>

#include "vyre/base/json.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

struct CodeInfo {
  Code code;
  std::string_view name;
  std::string_view title;
};

constexpr CodeInfo kCodes[] = {
#define CODE(code, title) {Code::code, #code, title},
#include "vyre/base/diagnostics.def"
};

constexpr Code kAllCodes[] = {
#define CODE(code, title) Code::code,
#include "vyre/base/diagnostics.def"
};

std::string fill(std::string_view text, std::span<const std::string> arguments) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && is_digit(text[i + 1]) && text[i + 2] == '}') {
      out += arguments[static_cast<std::size_t>(text[i + 1] - '0')];
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// How many columns a text of one line takes.
std::uint32_t columns(std::string_view text) {
  return static_cast<std::uint32_t>(characters(text));
}

std::string_view family(Code code) {
  switch (name(code)[0]) {
    case 'V': return "vyre IR validation";
    case 'P': return "vyre text";
    case 'W': return "vyre wire";
    case 'D': return "vyre dispatch";
    case 'B': return "vyre backend";
    case 'R': return "vyre run";
    case 'U': return "vyre usage";
    case 'L': return "vyre warning";
    default: return "vyre";
  }
}

// Copies the line on which a span begins, or the part of a very long one around it.
void excerpt(Diagnostic& diagnostic, std::string_view text, Span span, std::size_t line_start) {
  constexpr std::size_t kBefore = 60;
  constexpr std::size_t kAfter = 100;
  std::size_t first = line_start;
  // A line may be very long, so only what can be shown of it is looked at.
  const std::string_view ahead = text.substr(span.begin, kAfter + 21);
  std::size_t last = span.begin + std::min(ahead.find_first_of("\r\n"), ahead.size());
  std::string_view lead, trail;
  if (span.begin - first > kBefore + 20) {
    first = span.begin - kBefore;
    lead = "…";
  }
  if (last - span.begin > kAfter + 20) {
    last = span.begin + kAfter;
    trail = "…";
  }
  while (first > line_start && is_continuation(text[first])) --first;
  while (last < text.size() && is_continuation(text[last])) ++last;

  diagnostic.excerpt = std::string(lead) + one_column_each(text.substr(first, last - first));
  diagnostic.excerpt += trail;
  const std::size_t end = std::clamp<std::size_t>(span.end, span.begin, last);
  diagnostic.caret_begin = columns(lead) + columns(text.substr(first, span.begin - first));
  diagnostic.caret_width = std::max(1u, columns(text.substr(span.begin, end - span.begin)));
}

}  // namespace

std::string argument_text(std::string_view text) { return shorten(text, 500); }

std::span<const Code> all_codes() { return kAllCodes; }
std::string_view name(Code code) { return kCodes[static_cast<std::size_t>(code)].name; }
std::string_view title(Code code) { return kCodes[static_cast<std::size_t>(code)].title; }

const Code* find_code(std::string_view name) {
  for (const CodeInfo& row : kCodes) {
    if (row.name == name) return &row.code;
  }
  return nullptr;
}

void locate(Diagnostic& diagnostic, const Source& source, LineCounter& lines, Span span) {
  const LineCounter::Place place = lines.at(span.begin);
  diagnostic.file = place.file;
  diagnostic.line = place.line;
  diagnostic.column = place.column;
  span.begin = std::min(span.begin, place.file_end);
  // What has no length is shown as one character.
  const LineCounter::Place end = LineCounter(lines).at(std::max(span.begin, span.end));
  diagnostic.end_line = end.line;
  diagnostic.end_column = end.column + (span.end > span.begin ? 0 : 1);
  excerpt(diagnostic, std::string_view(source.text).substr(0, place.file_end), span,
          place.line_start);
}

std::string text(const LineCounter::Place& place) {
  return shorten(place.file, place.file.size() * 4) + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column);
}

namespace {

// Fills in `{line}` in the problem and `{place}` in the notes.
void name_cause(Diagnostic& diagnostic, const LineCounter::Place& cause) {
  const auto fill_in = [](std::string& text, std::string_view mark, const std::string& value) {
    const std::size_t at = text.find(mark);
    if (at != text.npos) text.replace(at, mark.size(), value);
  };
  fill_in(diagnostic.problem, "{line}", std::to_string(cause.line));
  for (std::string& note : diagnostic.notes) fill_in(note, "{place}", text(cause));
}

}  // namespace

Diagnostic located(Diagnostic diagnostic, const Source& source, Span span) {
  LineCounter lines(source);
  locate(diagnostic, source, lines, span);
  return diagnostic;
}

std::vector<Diagnostic> Findings::located(const Source& source) && {
  std::ranges::sort(found_, {}, [](const Finding& f) { return std::pair(f.span.begin, f.number); });
  LineCounter lines(source);
  std::vector<Diagnostic> diagnostics;
  for (Finding& finding : found_) {
    if (finding.cause) name_cause(finding.diagnostic, LineCounter(source).at(finding.cause->begin));
    locate(finding.diagnostic, source, lines, finding.span);
    diagnostics.push_back(std::move(finding.diagnostic));
  }
  return diagnostics;
}

std::vector<Diagnostic> Findings::unlocated() && {
  std::vector<Diagnostic> diagnostics;
  for (Finding& finding : found_) diagnostics.push_back(std::move(finding.diagnostic));
  return diagnostics;
}

std::string Diagnostic::message() const {
  std::string sentence = specified.empty() ? problem + ". Fix: " + fix : specified;
  if (sentence.back() != '.' && sentence.back() != '?') sentence += '.';
  return std::string(family(code)) + ": " + sentence;
}

std::string render(const Diagnostic& diagnostic, bool colour) {
  const auto paint = [&](std::string_view style, std::string_view text) {
    return colour ? "\x1b[" + std::string(style) + "m" + std::string(text) + "\x1b[0m"
                  : std::string(text);
  };
  std::string out;
  if (!diagnostic.file.empty()) {
    std::string place = shorten(diagnostic.file, diagnostic.file.size() * 4) + ":";
    if (diagnostic.line > 0) {
      place += std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ":";
    }
    out += paint("1", place) + " ";
  }
  const std::string_view style = diagnostic.is_warning ? "1;33" : "1;31";
  out += paint(style, (diagnostic.is_warning ? "warning[" : "error[") +
                          std::string(name(diagnostic.code)) + "]:") +
         " " + diagnostic.problem + "\n";
  if (diagnostic.line > 0) {
    const std::string number = std::to_string(diagnostic.line);
    const std::string margin(number.size(), ' ');
    out += paint("34", number + " |") + " " + diagnostic.excerpt + "\n";
    out += paint("34", margin + " |") + " " + std::string(diagnostic.caret_begin, ' ') +
           paint(style, "^" + std::string(diagnostic.caret_width - 1, '~')) + "\n";
  } else if (!diagnostic.path.empty()) {
    out += paint("34", "in") + " " + diagnostic.path + "\n";
  }
  for (const std::string& note : diagnostic.notes) out += note + "\n";
  return out + paint("1;32", "fix:") + " " + diagnostic.fix + "\n";
}

Json json_list(std::span<const Diagnostic> diagnostics) {
  JsonList list;
  for (const Diagnostic& diagnostic : diagnostics) {
    JsonObject each;
    each.add("code", name(diagnostic.code)).add("file", diagnostic.file);
    each.add("line", diagnostic.line).add("column", diagnostic.column);
    each.add("end_line", diagnostic.end_line).add("end_column", diagnostic.end_column);
    each.add("problem", diagnostic.problem).add("fix", diagnostic.fix);
    each.add("message", diagnostic.message());
    if (!diagnostic.path.empty()) each.add("path", diagnostic.path);
    JsonList notes;
    for (const std::string& note : diagnostic.notes) notes.add(note);
    if (!diagnostic.notes.empty()) each.add("notes", notes);
    list.add(each);
  }
  return list;
}

std::string to_json(std::span<const Diagnostic> diagnostics) {
  return JsonObject().add("diagnostics", json_list(diagnostics)).line();
}

Diagnostic make_diagnostic(Code code, std::string_view problem, std::string_view fix,
                           std::string_view specified, std::span<const std::string> arguments) {
  Diagnostic diagnostic{};
  diagnostic.code = code;
  diagnostic.problem = fill(problem, arguments);
  diagnostic.fix = fill(fix, arguments);
  diagnostic.specified = fill(specified, arguments);
  return diagnostic;
}

}  // namespace vyre
