// The editor files repeat the words of our tables, so each word is looked up in both. The TextMate
// grammar is run as an editor runs it: at each place the rule that matches first wins, the earlier
// one when two match there.
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 sees uninitialised reads in its own <regex> when sanitizers are on.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/ir/ops.h"
#include "vyre/ir/types.h"

namespace vyre {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(std::string(VYRE_ROOT "/") + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Rule {
  std::string scope;
  std::regex start;
  std::optional<std::regex> end;                // of a rule with `begin`
  std::vector<Rule> rules;                      // between the two
  std::map<std::size_t, std::string> captures;  // scopes of groups of `start`
};

std::vector<Rule> parse_rules(const nlohmann::json& patterns) {
  std::vector<Rule> rules;
  for (const nlohmann::json& pattern : patterns) {
    Rule& rule = rules.emplace_back();
    rule.scope = pattern.value("name", "");
    if (pattern.contains("begin")) {
      rule.start = pattern["begin"].get<std::string>();
      rule.end = pattern["end"].get<std::string>();
      rule.rules = parse_rules(pattern["patterns"]);
    } else {
      rule.start = pattern["match"].get<std::string>();
    }
    if (!pattern.contains("captures")) continue;
    for (const auto& [group, capture] : pattern["captures"].items()) {
      rule.captures[std::stoul(group)] = capture["name"].get<std::string>();
    }
  }
  return rules;
}

struct Token {
  std::string text;
  std::string scope;
  friend bool operator==(const Token&, const Token&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Token& token) {
    return out << '{' << token.text << ", " << token.scope << '}';
  }
};

// The pieces of a line that have a scope, from `at` to a match of `end` or to the end of the line;
// moves `at` there.
std::vector<Token> highlight(const std::vector<Rule>& rules, const std::optional<std::regex>& end,
                             const std::string& line, std::string::const_iterator& at) {
  std::vector<Token> tokens;
  while (true) {
    const Rule* rule = nullptr;
    std::smatch found;
    const auto try_first = [&](const std::regex& regex, const Rule* candidate) {
      std::smatch match;
      const auto flags = at == line.begin() ? std::regex_constants::match_default
                                            : std::regex_constants::match_prev_avail;
      if (std::regex_search(at, line.end(), match, regex, flags) &&
          (found.empty() || match[0].first < found[0].first)) {
        rule = candidate;
        found = match;
      }
    };
    if (end) try_first(*end, nullptr);
    for (const Rule& candidate : rules) try_first(candidate.start, &candidate);
    at = found.empty() ? line.end() : found[0].second;
    if (rule == nullptr) return tokens;

    if (rule->end)
      std::ranges::move(highlight(rule->rules, rule->end, line, at), back_inserter(tokens));
    if (!rule->scope.empty()) tokens.push_back({std::string(found[0].first, at), rule->scope});
    for (const auto& [group, scope] : rule->captures) {
      if (found[group].matched) tokens.push_back({found.str(group), scope});
    }
  }
}

class TextMate : public testing::Test {
 protected:
  std::vector<Token> tokens(const std::string& line) const {
    auto at = line.begin();
    return highlight(rules_, std::nullopt, line, at);
  }

  // The scope that `word` has in a line.
  std::string scope(std::string_view word, const std::string& line) const {
    for (const Token& token : tokens(line)) {
      if (token.text == word) return token.scope;
    }
    return "";
  }

 private:
  std::vector<Rule> rules_ = parse_rules(
      nlohmann::json::parse(read_file("editors/vscode/syntaxes/vyre.tmLanguage.json"))["patterns"]);
};

bool is_function(const OperationInfo& row) {
  return row.signature != Signature::Form && row.precedence == 0;
}

constexpr std::string_view kWords[] = {
#define WORD(name, text) text,
#include "vyre/text/words.def"
};

TEST_F(TextMate, KnowsEveryWord) {
  for (std::string_view word : kWords) {
    EXPECT_NE(scope(word, std::string(word) + " a"), "") << word;
  }
  for (const TypeInfo& row : all_types()) {
    EXPECT_EQ(scope(row.text, "read a: " + std::string(row.text) + "[]"), "storage.type.vyre")
        << row.text;
  }
  for (const AtomicInfo& row : all_atomics()) {
    EXPECT_EQ(scope(row.text, std::string(row.text) + "(a[i], 1)"), "support.function.atomic.vyre")
        << row.text;
  }
  for (const LawInfo& row : all_laws()) {
    EXPECT_EQ(scope(row.text, "law " + std::string(row.text)),
              "entity.other.attribute-name.law.vyre")
        << row.text;
  }
  for (const OperationInfo& row : all_operations()) {
    const std::string text(row.text);
    if (is_function(row)) {
      EXPECT_EQ(scope(text, "a = " + text + "(b)"), "support.function.vyre") << text;
      EXPECT_EQ(scope(text, "a = " + text + " + b"), "") << text << " is a local here";
    } else if (row.precedence != 0) {
      EXPECT_EQ(tokens("a " + text + " b"), (std::vector<Token>{{text, "keyword.operator.vyre"}}));
    }
  }
}

TEST_F(TextMate, KnowsTheRestOfTheGrammar) {
  using Tokens = std::vector<Token>;
  const std::string declaration = "keyword.declaration.vyre";
  const std::string name = "entity.name.function.vyre";
  const std::string integer = "constant.numeric.integer.vyre";
  const std::string floating = "constant.numeric.float.vyre";
  const std::string property = "variable.other.property.vyre";
  const std::string keyword_operator = "keyword.operator.vyre";
  const std::string wrong = "invalid.illegal.number.vyre";

  EXPECT_EQ(tokens("program read_all workgroup(64)"),
            (Tokens{{"program", declaration},
                    {"read_all", name},
                    {"workgroup", "storage.modifier.vyre"},
                    {"64", integer}}));
  EXPECT_EQ(tokens("op my.if(a: u32)"),
            (Tokens{{"op", declaration}, {"my.if", name}, {"u32", "storage.type.vyre"}}));
  EXPECT_EQ(tokens("law monotonic(non_increasing)"),
            (Tokens{{"law", declaration},
                    {"monotonic", "entity.other.attribute-name.law.vyre"},
                    {"non_increasing", "constant.language.vyre"}}));
  EXPECT_EQ(tokens("read lhs: bytes @12 // in"),
            (Tokens{{"read", "storage.modifier.vyre"},
                    {"bytes", "storage.type.vyre"},
                    {"@12", "constant.other.binding.vyre"},
                    {"// in", "comment.line.double-slash.vyre"}}));
  EXPECT_EQ(tokens(R"("a \" \\\q if" x)"),
            (Tokens{{R"(\")", "constant.character.escape.vyre"},
                    {R"(\\)", "constant.character.escape.vyre"},
                    {R"(\q)", "invalid.illegal.escape.vyre"},
                    {R"("a \" \\\q if")", "string.quoted.double.vyre"}}));
  EXPECT_EQ(tokens("primitive.bitwise.xor (v.x, b)"),
            (Tokens{{"primitive.bitwise.xor", "entity.name.function.op.vyre"}, {"x", property}}));
  EXPECT_EQ(tokens("local_id.z"),
            (Tokens{{"local_id", "variable.language.vyre"}, {"z", property}}));
  EXPECT_EQ(tokens("for k in 0..x {"), (Tokens{{"for", "keyword.control.vyre"},
                                               {"in", "keyword.control.vyre"},
                                               {"0", integer},
                                               {"..", keyword_operator}}));
  EXPECT_EQ(tokens(") -> bool"), (Tokens{{"->", keyword_operator}, {"bool", "storage.type.vyre"}}));
  for (const char* number :
       {"0", "1_000u64", "0xffF", "0xdead_beefu32", "0b1_0", "7i32", "9u128"}) {
    EXPECT_EQ(tokens(number), (Tokens{{number, integer}}));
  }
  for (const char* number : {"1.5", "1e9", "2.5e-3f32", "1_0.0bf16", "0x1.8p-3", "0x1p+4f16"}) {
    EXPECT_EQ(tokens(number), (Tokens{{number, floating}}));
  }
  for (const char* number : {"1_", "1__0", "0X1f", "0b2", "12u33", "0x"}) {
    EXPECT_EQ(tokens(number), (Tokens{{number, wrong}}));
  }
}

TEST(Vim, KnowsEveryWord) {
  std::map<std::string, std::set<std::string, std::less<>>> groups;
  std::set<std::string, std::less<>> all;
  std::istringstream file(read_file("editors/vim/syntax/vyre.vim"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string syn, keyword, group, word;
    words >> syn >> keyword >> group;
    if (syn != "syn" || keyword != "keyword") continue;
    while (words >> word) {
      groups[group].insert(word);
      all.insert(word);
    }
  }
  for (std::string_view word : kWords) EXPECT_TRUE(all.contains(word)) << word;
  for (const TypeInfo& row : all_types()) {
    EXPECT_TRUE(groups["vyreType"].contains(row.text)) << row.text;
  }
  for (const AtomicInfo& row : all_atomics()) {
    EXPECT_TRUE(groups["vyreAtomic"].contains(row.text)) << row.text;
  }
  for (const LawInfo& row : all_laws()) {
    EXPECT_TRUE(groups["vyreLaw"].contains(row.text)) << row.text;
  }
  for (const OperationInfo& row : all_operations()) {
    if (is_function(row)) {
      EXPECT_TRUE(groups["vyreFunction"].contains(row.text)) << row.text;
    }
  }
}

}  // namespace
}  // namespace vyre
