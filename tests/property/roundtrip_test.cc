// Whatever the generator makes survives text, wire and formatting unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/command.h"
#include "vyre/base/random.h"
#include "vyre/base/text.h"
#include "vyre/conform/generator.h"
#include "vyre/text/lexer.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

const std::uint64_t kModules = cases(500, 1'500);

GeneratorOptions options_of(std::uint64_t seed) {
  GeneratorOptions options;
  options.race_free = seed % 4 == 0;
  options.dense = seed % 8 < 4;
  if (seed % 16 == 1) options.statements = 120;
  if (seed % 16 == 2) options.depth = 8;
  if (seed % 16 == 3) options.programs = 3;
  return options;
}

std::string messages(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) all += render(diagnostic);
  return all;
}

// --- Text and wire -------------------------------------------------------------------------------

TEST(RoundTrip, Text) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const std::string text = print(module);
    const Result<Module> parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << messages(parsed.diagnostics()) << text;
    ASSERT_EQ(*parsed, module) << "seed " << seed << "\n" << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    ASSERT_EQ(digest(*parsed), digest(module));
    const Result<std::string> formatted = format({"", text});
    ASSERT_TRUE(formatted.ok());
    ASSERT_EQ(*formatted, text) << "seed " << seed;
  }
}

TEST(RoundTrip, Wire) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const Result<std::string> bytes = encode(module);
    ASSERT_TRUE(bytes.ok()) << "seed " << seed;
    const Result<Module> decoded = decode(*bytes);
    ASSERT_TRUE(decoded.ok()) << "seed " << seed << messages(decoded.diagnostics());
    ASSERT_EQ(*decoded, module) << "seed " << seed;
    const Result<std::string> again = encode(*decoded);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(*again, *bytes) << "seed " << seed;
    ASSERT_EQ(digest(*decoded), digest(module));
  }
}

// What a command prints when it is given the bytes on standard input.
std::string output_of(std::string_view verb, std::string_view input) {
  const std::string_view arguments[] = {verb, "-"};
  const CommandResult result = run_vyre(arguments, input);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(RoundTrip, EveryDumpLoadsAgain) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const std::string bytes = output_of("encode", print(module));
    ASSERT_EQ(bytes, *encode(module)) << "seed " << seed;
    const std::string text = output_of("decode", bytes);
    const Result<Loaded> loaded = load_module({"", text});
    ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics()) << text;
    ASSERT_EQ(loaded->module, module) << "seed " << seed;
  }
}

// --- Formatting ----------------------------------------------------------------------------------

std::string in_base(std::string digits_reversed, std::string_view prefix, Random& random) {
  std::string out(prefix);
  if (random.one_in(4)) out += random.one_in(2) ? "0" : "0_0";
  for (std::size_t i = digits_reversed.size(); i-- > 0;) {
    char digit = digits_reversed[i];
    if (random.one_in(2))
      digit = static_cast<char>(std::toupper(static_cast<unsigned char>(digit)));
    out += digit;
    if (i > 0 && random.one_in(8)) out += '_';
  }
  return out;
}

// Another spelling of a number that print() wrote.
std::string respelt(std::string_view number, bool takes_suffix, Random& random) {
  __extension__ using Wide = unsigned __int128;
  const bool hexadecimal = number.starts_with("0x");
  const std::size_t end = std::min(number.size(), number.find_first_of("ui"));
  std::string suffix(number.substr(end));
  Wide value = 0;
  for (char c : number.substr(hexadecimal ? 2 : 0, end - (hexadecimal ? 2 : 0))) {
    const unsigned digit = static_cast<unsigned>(is_digit(c) ? c - '0' : c - 'a' + 10);
    value = value * (hexadecimal ? 16 : 10) + digit;
  }
  const unsigned bases[] = {2, 10, 16};
  const unsigned base = random.pick(bases);
  std::string reversed;
  do {
    reversed += "0123456789abcdef"[static_cast<unsigned>(value % base)];
    value /= base;
  } while (value != 0);
  if (suffix.empty() && takes_suffix && random.one_in(4)) suffix = "u32";
  const std::string_view prefix = base == 2 ? "0b" : base == 16 ? "0x" : "";
  return in_base(reversed, prefix, random) + suffix;
}

// The same program in another layout: redundant parentheses, other literals, white space and
// comments between any two tokens. The comments are all different.
std::string mangle(const std::string& text, Random& random) {
  const std::uint32_t rates[] = {3, 40, 40, 400};
  const std::uint32_t rate = random.pick(rates);
  const Source source{"", text};
  const Parsed parsed = parse_source(source);
  std::map<std::uint32_t, int> opened, closed;
  std::set<std::uint32_t> values;
  for (const ItemPositions& item : parsed.positions) {
    for (const Span& use : item.uses) {
      values.insert(use.begin);
      // What a local without a value begins as is its type in the text, and `len` takes a name.
      const std::string_view written = std::string_view(text).substr(0, use.end);
      const bool is_type =
          text[use.begin] == ']' || find_type(written.substr(use.begin)).has_value();
      const bool is_measured = written.substr(0, use.begin).ends_with("len(");
      if (is_type || is_measured || !random.one_in(6)) continue;
      ++opened[use.begin];
      ++closed[use.end];
    }
  }
  constexpr std::string_view kSpaces[] = {" ", "  ", "\t", "\n", "\r\n", "\n\n", "\n \n\n"};
  constexpr std::string_view kTexts[] = {"plain", "größer → ∞", "}{)(\"", "// again", "\\ \\n"};
  std::string out;
  const auto gap = [&](bool needed) {
    if (needed || random.one_in(3)) out += random.pick(kSpaces);
    if (random.one_in(rate)) {
      out += "// " + std::to_string(out.size()) + ": ";
      out += random.pick(kTexts);
      if (random.one_in(4)) out += "  ";
      out += random.one_in(3) ? "\n\n" : "\n";
    }
  };
  Findings findings;
  Lexer lexer(text, findings);
  std::uint32_t last_end = 0;
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
    gap(token.span.begin > last_end);
    for (int i = opened[token.span.begin]; i > 0; --i) {
      out += '(';
      gap(false);
    }
    const std::string_view spelling = lexer.text(token.span);
    out += token.kind == Tok::Number ? respelt(spelling, values.contains(token.span.begin), random)
                                     : std::string(spelling);
    for (int i = closed[token.span.end]; i > 0; --i) {
      gap(false);
      out += ')';
    }
    last_end = token.span.end;
  }
  gap(true);
  return out;
}

std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// The comments of a text, sorted.
std::vector<std::string> comments_of(std::string_view text) {
  std::vector<std::string> all;
  Findings findings;
  Lexer lexer(text, findings);
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
    const std::string_view spelling = lexer.text(token.span);
    if (token.kind == Tok::Comment) all.emplace_back(trimmed(spelling));
  }
  std::ranges::sort(all);
  return all;
}

// What is inside brackets, in its order: all tokens and comments but commas.
std::vector<std::string> inside_brackets(std::string_view text) {
  std::vector<std::string> inside;
  Findings findings;
  Lexer lexer(text, findings);
  int depth = 0;
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
    if (is_one_of(token.kind, {Tok::RParen, Tok::RBracket})) --depth;
    const std::string_view spelling = lexer.text(token.span);
    if (depth > 0 && token.kind != Tok::Comma) {
      inside.emplace_back(trimmed(spelling));
    }
    if (is_one_of(token.kind, {Tok::LParen, Tok::LBracket})) ++depth;
  }
  return inside;
}

// The width of the longest line, without comments.
std::size_t widest_line(std::string_view text) {
  std::size_t widest = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view code = line.substr(0, line.find("//"));
    widest = std::max(widest, code.find_last_not_of(' ') + 1);
  }
  return widest;
}

// Formatting keeps what the parser makes of a text, valid or not, and settles at once.
void check_format(const std::string& text) {
  const Result<std::string> formatted = format({"", text});
  ASSERT_TRUE(formatted.ok()) << messages(formatted.diagnostics()) << text;
  const Parsed kept = parse_source({"", *formatted});
  ASSERT_TRUE(kept.syntax_ok) << *formatted;
  ASSERT_EQ(kept.module, parse_source({"", text}).module) << text << *formatted;
  ASSERT_EQ(inside_brackets(*formatted), inside_brackets(text)) << *formatted;
  ASSERT_EQ(comments_of(*formatted), comments_of(text)) << *formatted;
  const Result<std::string> again = format({"", *formatted});
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(*again, *formatted) << text;
}

TEST(Format, KeepsTheProgramAndEveryComment) {
  std::size_t comment_count = 0;
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    Random random(seed);
    const std::string mangled = mangle(print(module), random);
    const Result<Module> parsed = parse(mangled);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << "\n"
                             << messages(parsed.diagnostics()) << mangled;
    ASSERT_EQ(*parsed, module) << "seed " << seed << "\n" << mangled;
    check_format(mangled);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    comment_count += comments_of(mangled).size();
  }
  EXPECT_GT(comment_count, kModules);
}

// An expression of that many operands, with long names, deep brackets, lists in rows, comments.
std::string random_expression(std::uint32_t operands, Random& random) {
  constexpr std::string_view kAtoms[] = {"a",  "x1",          "0xffff",
                                         "12", "a_long_name", "0x9e3779b97f4a7c15u64"};
  constexpr std::string_view kInfix[] = {" + ", "-", "\n* ", "|", " && ", " << ", "^", " %\n"};
  constexpr std::string_view kSingle[] = {"(", "out[", "tile[a][", "- ~("};
  constexpr std::string_view kListed[] = {"u32(", "max(", "my.op.of_many(", "[", "[\n"};
  struct Open {
    std::string_view text;
    bool is_listed;
    std::uint32_t operands;
  };
  std::vector<Open> open;
  std::string out;
  const std::uint32_t rate = random.one_in(2) ? 20 : 1'000;  // of comments
  for (std::uint32_t i = 0; i < operands; ++i) {
    while (open.size() < 12 && random.one_in(3)) {
      const bool is_listed = random.one_in(2);
      const std::string_view text = is_listed ? random.pick(kListed) : random.pick(kSingle);
      open.push_back({text, is_listed, 1 + random.below(12)});
      out += text;
    }
    out += random.pick(kAtoms);
    if (random.one_in(rate)) out += random.one_in(2) ? " // ends a line\n" : "\n\n// alone\n";
    const bool is_last = i + 1 == operands;
    while (!open.empty() && (--open.back().operands == 0 || is_last)) {
      out += open.back().text.find('[') == std::string_view::npos ? ')' : ']';
      open.pop_back();
    }
    if (is_last) break;
    const bool next = !open.empty() && open.back().is_listed && random.one_in(2);
    out += !next ? random.pick(kInfix) : random.one_in(3) ? ",\n" : ", ";
    if (random.one_in(rate)) out += "// between\n";
  }
  return out;
}

TEST(Format, WrapsEveryExpression) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    Random random(seed);
    const std::uint32_t operands = 1 + random.below(random.one_in(20) ? 2'000 : 60);
    const std::string value = random_expression(operands, random);
    const std::string statements[] = {
        "let x = " + value, "out[" + value + "] = a", "if " + value + " { let y = a }",
        "for i in a.." + value + " {}", "atomic_add(out[0]," + value + ")"};
    const std::string text =
        "program p workgroup(64) {\nlet a = 1\n{ {" + random.pick(statements) + " } }\n}\n";
    check_format(text);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    EXPECT_LE(widest_line(*format({"", text})), 100u) << "seed " << seed << "\n"
                                                      << *format({"", text});
  }
}

}  // namespace
}  // namespace vyre
