#include "vyre/base/diagnostics.h"

#include <algorithm>

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

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::uint32_t characters(std::string_view text) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
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

  diagnostic.excerpt = text.substr(first, last - first);
  for (std::size_t bad = first_invalid_utf8(diagnostic.excerpt); bad < diagnostic.excerpt.size();
       bad = first_invalid_utf8(diagnostic.excerpt)) {
    diagnostic.excerpt[bad] = '?';
  }
  // Control characters, tabs included, take one column each.
  for (std::size_t at = first_control(diagnostic.excerpt); at < diagnostic.excerpt.size();
       at = first_control(diagnostic.excerpt)) {
    const bool takes_two = static_cast<unsigned char>(diagnostic.excerpt[at]) >= 0x80;
    diagnostic.excerpt.replace(at, takes_two ? 2 : 1, " ");
  }
  std::ranges::replace(diagnostic.excerpt, '\t', ' ');
  diagnostic.excerpt.insert(0, lead);
  diagnostic.excerpt += trail;
  const std::size_t end = std::clamp<std::size_t>(span.end, span.begin, last);
  diagnostic.caret_begin = characters(lead) + characters(text.substr(first, span.begin - first));
  diagnostic.caret_width = std::max(1u, characters(text.substr(span.begin, end - span.begin)));
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

std::vector<Diagnostic> Findings::located(const Source& source) && {
  const std::string_view text = source.text;
  std::ranges::sort(found_, {}, [](const Finding& f) { return std::pair(f.span.begin, f.order); });
  std::vector<Diagnostic> diagnostics;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::size_t line_start = 0;
  std::size_t counted = 0;  // how far lines and columns are counted
  for (Finding& finding : found_) {
    Span span = finding.span;
    span.begin = std::min(span.begin, static_cast<std::uint32_t>(text.size()));
    const std::string_view between = text.substr(counted, span.begin - counted);
    if (const std::size_t newline = between.rfind('\n'); newline != std::string_view::npos) {
      line += static_cast<std::uint32_t>(std::ranges::count(between, '\n'));
      line_start = counted + newline + 1;
      column = 1 + characters(between.substr(newline + 1));
    } else {
      column += characters(between);
    }
    counted = span.begin;
    Diagnostic& diagnostic = finding.diagnostic;
    diagnostic.file = source.file;
    diagnostic.line = line;
    diagnostic.column = column;
    excerpt(diagnostic, text, span, line_start);
    diagnostics.push_back(std::move(diagnostic));
  }
  return diagnostics;
}

std::string Diagnostic::message() const {
  std::string action = fix;
  if (!action.empty() && action.back() != '.' && action.back() != '?') action += '.';
  return std::string(family(code)) + ": " + problem + ". Fix: " + action;
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
  out += paint("1;31", "error[" + std::string(name(diagnostic.code)) + "]:") + " " +
         diagnostic.problem + "\n";
  if (diagnostic.line > 0) {
    const std::string number = std::to_string(diagnostic.line);
    const std::string margin(number.size(), ' ');
    out += paint("34", number + " |") + " " + diagnostic.excerpt + "\n";
    out += paint("34", margin + " |") + " " + std::string(diagnostic.caret_begin, ' ') +
           paint("1;31", "^" + std::string(diagnostic.caret_width - 1, '~')) + "\n";
  } else if (!diagnostic.path.empty()) {
    out += paint("34", "in") + " " + diagnostic.path + "\n";
  }
  for (const std::string& note : diagnostic.notes) out += note + "\n";
  return out + paint("1;32", "fix:") + " " + diagnostic.fix + "\n";
}

std::string to_json(std::span<const Diagnostic> diagnostics) {
  std::string out = "{\"diagnostics\":[";
  for (const Diagnostic& diagnostic : diagnostics) {
    if (out.back() == '}') out += ',';
    out += "{\"code\":" + json_quote(name(diagnostic.code));
    out += ",\"file\":" + json_quote(diagnostic.file);
    out += ",\"line\":" + std::to_string(diagnostic.line);
    out += ",\"column\":" + std::to_string(diagnostic.column);
    out += ",\"problem\":" + json_quote(diagnostic.problem);
    out += ",\"fix\":" + json_quote(diagnostic.fix);
    if (!diagnostic.path.empty()) out += ",\"path\":" + json_quote(diagnostic.path);
    if (!diagnostic.notes.empty()) {
      out += ",\"notes\":[";
      for (const std::string& note : diagnostic.notes) {
        if (&note != diagnostic.notes.data()) out += ',';
        out += json_quote(note);
      }
      out += ']';
    }
    out += '}';
  }
  return out + "]}\n";
}

Diagnostic make_diagnostic(Code code, std::string_view problem, std::string_view fix,
                           std::span<const std::string> arguments) {
  Diagnostic diagnostic{};
  diagnostic.code = code;
  diagnostic.problem = fill(problem, arguments);
  diagnostic.fix = fill(fix, arguments);
  return diagnostic;
}

}  // namespace vyre
