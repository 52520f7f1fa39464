// The editor files repeat the words of our tables, so each word is looked up in both. The TextMate
// grammar is run as an editor runs it: at each place the rule that matches first wins, the earlier
// one when two match there.
#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command.h"
#include "vyre/ir/ops.h"
#include "vyre/ir/types.h"

namespace vyre {
namespace {

// The patterns keep to what POSIX has in common with the editors: with <regex> this file would take
// twice as long to compile.
class Regex {
 public:
  using Match = std::array<regmatch_t, 8>;

  Regex() = default;
  explicit Regex(const std::string& pattern) : compiled_(new regex_t, free_compiled) {
    EXPECT_EQ(regcomp(compiled_.get(), pattern.c_str(), REG_EXTENDED), 0) << pattern;
  }

  bool exists() const { return compiled_ != nullptr; }

  // The first match that begins at `from` or later.
  bool search(const std::string& line, regoff_t from, Match& match) const {
    match[0] = {from, static_cast<regoff_t>(line.size())};
    return regexec(compiled_.get(), line.c_str(), match.size(), match.data(), REG_STARTEND) == 0;
  }

 private:
  static void free_compiled(regex_t* compiled) {
    regfree(compiled);
    delete compiled;
  }

  std::shared_ptr<regex_t> compiled_;
};

struct Rule {
  std::string scope;
  Regex start;
  Regex end;                                    // of a rule with `begin`
  std::vector<Rule> rules;                      // between the two
  std::map<std::size_t, std::string> captures;  // scopes of groups of `start`
};

std::vector<Rule> parse_rules(const nlohmann::json& patterns) {
  std::vector<Rule> rules;
  for (const nlohmann::json& pattern : patterns) {
    Rule& rule = rules.emplace_back();
    rule.scope = pattern.value("name", "");
    rule.start = Regex(pattern.value("match", pattern.value("begin", "")));
    if (pattern.contains("end")) {
      rule.end = Regex(pattern["end"].get<std::string>());
      rule.rules = parse_rules(pattern["patterns"]);
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

std::string piece(const std::string& line, regoff_t begin, regoff_t end) {
  return line.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// The pieces of a line that have a scope, from `at` to a match of `end` or to the end of the line;
// moves `at` there.
std::vector<Token> highlight(const std::vector<Rule>& rules, const Regex& end,
                             const std::string& line, regoff_t& at) {
  std::vector<Token> tokens;
  while (true) {
    const Rule* rule = nullptr;
    Regex::Match found{};
    bool any = end.exists() && end.search(line, at, found);
    for (const Rule& candidate : rules) {
      Regex::Match match{};
      if (candidate.start.search(line, at, match) && (!any || match[0].rm_so < found[0].rm_so)) {
        any = true;
        rule = &candidate;
        found = match;
      }
    }
    if (any) at = found[0].rm_eo;
    if (rule == nullptr) return tokens;

    if (rule->end.exists()) {
      std::ranges::move(highlight(rule->rules, rule->end, line, at), std::back_inserter(tokens));
    }
    if (!rule->scope.empty()) tokens.push_back({piece(line, found[0].rm_so, at), rule->scope});
    for (const auto& [group, scope] : rule->captures) {
      const regmatch_t& match = found.at(group);
      if (match.rm_so >= 0) tokens.push_back({piece(line, match.rm_so, match.rm_eo), scope});
    }
  }
}

class TextMate : public testing::Test {
 protected:
  std::vector<Token> tokens(const std::string& line) const {
    regoff_t at = 0;
    return highlight(rules_, Regex(), line, at);
  }

  // The scope that `word` has in a line.
  std::string scope(std::string_view word, const std::string& line) const {
    for (const Token& token : tokens(line)) {
      if (token.text == word) return token.scope;
    }
    return "";
  }

 private:
  std::vector<Rule> rules_ = parse_rules(nlohmann::json::parse(
      read_file(source_root() + "/editors/vscode/syntaxes/vyre.tmLanguage.json"))["patterns"]);
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
  for (const CollectiveInfo& row : all_collectives()) {
    EXPECT_EQ(scope(row.text, "let s = " + std::string(row.text) + " (a)"),
              "support.function.collective.vyre")
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

// Words that came later may be names too.
TEST_F(TextMate, KnowsWhereAWordMayBeAName) {
  const std::string repeat = "keyword.control.vyre";
  EXPECT_EQ(scope("continue", "if a { continue }"), repeat);
  EXPECT_EQ(scope("continue", "  continue"), repeat);
  EXPECT_EQ(tokens("continue  // with the next"),
            (std::vector<Token>{{"continue", repeat},
                                {"// with the next", "comment.line.double-slash.vyre"}}));
  EXPECT_EQ(scope("const", "const k = 1"), "keyword.declaration.vyre");
  EXPECT_EQ(scope("use", "use \"a.vyre\""), "keyword.declaration.vyre");
  EXPECT_EQ(scope("u8", "const t: u8[2] = [1, 2]"), "storage.type.vyre");
  EXPECT_EQ(scope("num_workgroups", "a = num_workgroups.z"), "variable.language.vyre");
  EXPECT_EQ(scope("z", "a = num_workgroups.z"), "variable.other.property.vyre");
  EXPECT_EQ(scope("while", "while !done {"), repeat);
  EXPECT_EQ(scope("true", "{ while true {"), "constant.language.vyre");
  EXPECT_EQ(scope("while", "while (a || b) && c {"), repeat);
  EXPECT_EQ(tokens("in reversed 0..n step 4 {"),
            (std::vector<Token>{{"in", repeat},
                                {"reversed", repeat},
                                {"0", "constant.numeric.integer.vyre"},
                                {"..", "keyword.operator.vyre"},
                                {"step", repeat},
                                {"4", "constant.numeric.integer.vyre"}}));
  EXPECT_EQ(scope("step", "for step in 0..n {"), "");
  EXPECT_EQ(tokens("use \"a.vyre\""),
            (std::vector<Token>{{"use", "keyword.declaration.vyre"},
                                {"\"a.vyre\"", "string.quoted.double.vyre"}}));
  for (const std::string word : {"continue", "const", "num_workgroups", "u8", "i16", "atomic_load",
                                 "workgroup_add", "while", "step", "reversed", "use"}) {
    for (const std::string& line : {"let " + word + " = 1", word + " = a", "a = " + word + " + 1",
                                    "read " + word + ": u32[]", word + "[i] = a"}) {
      EXPECT_EQ(scope(word, line), "") << line;
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
  const std::string text = read_file(source_root() + "/editors/vim/syntax/vyre.vim");
  std::istringstream file(text);
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
  for (const CollectiveInfo& row : all_collectives()) {
    EXPECT_TRUE(groups["vyreCollective"].contains(row.text)) << row.text;
  }
  // Each with what has to follow it: elsewhere it may be a name.
  for (const std::string word : {"continue", "const", "num_workgroups", "while", "step", "use"}) {
    EXPECT_FALSE(all.contains(word)) << word;
    EXPECT_NE(text.find("\\<" + word + "\\ze"), std::string::npos) << word;
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
