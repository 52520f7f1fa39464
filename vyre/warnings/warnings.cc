#include "vyre/warnings/warnings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "vyre/text/lexer.h"
#include "vyre/warnings/checks.h"

namespace vyre {
namespace {

Types types_in(const Context& item) {
  std::vector<DataType> results;
  for (const std::string& id : item.body.callees) {
    results.push_back(item.callees[id].op->signature.output);
  }
  std::span<const DataType> inputs;
  if (item.op != nullptr) inputs = item.op->signature.inputs;
  return types_of(item.body, item.buffers, inputs, results);
}

// The codes that a comment silences: `// allow L004: reason`, several with commas between them.
std::set<std::string_view> codes_in(std::string_view comment) {
  constexpr std::string_view kBlanks = " \t";
  constexpr std::string_view kAllow = "allow ";
  comment.remove_prefix(std::min(comment.find_first_not_of("/ \t"), comment.size()));
  if (!comment.starts_with(kAllow)) return {};
  comment = comment.substr(kAllow.size());
  comment = comment.substr(0, comment.find(':'));
  std::set<std::string_view> codes;
  while (!comment.empty()) {
    std::string_view code = comment.substr(0, comment.find(','));
    comment.remove_prefix(std::min(code.size() + 1, comment.size()));
    code.remove_prefix(std::min(code.find_first_not_of(kBlanks), code.size()));
    codes.insert(code.substr(0, code.find_first_of(kBlanks)));
  }
  return codes;
}

using Line = std::pair<std::string_view, std::uint32_t>;  // its file and number
using Allowed = std::map<Line, std::set<std::string_view>>;

// By line, what is silenced there.
Allowed allowed_in(const Source& source) {
  Allowed allowed;
  Findings none;
  Lexer lexer(source.text, none);
  LineCounter lines(source);
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
    if (token.kind != Tok::Comment) continue;
    std::set<std::string_view> codes = codes_in(lexer.text(token.span));
    if (codes.empty()) continue;
    const LineCounter::Place place = lines.at(token.span.begin);
    allowed[{place.file, place.line}].merge(codes);
  }
  return allowed;
}

// Keeps one warning of a code at a place: `w[9] += 1` has its index twice. A number that does not
// fit is not also one without a sign.
void drop_repeated(std::vector<Diagnostic>& found) {
  std::set<std::tuple<Code, std::string, std::uint32_t, std::uint32_t, std::string>> seen;
  std::erase_if(found, [&](const Diagnostic& each) {
    const auto key = [&](Code code) {
      return std::tuple(code, each.file, each.line, each.column, each.path);
    };
    if (each.code == Code::L006 && seen.contains(key(Code::L010))) return true;
    return !seen.insert(key(each.code)).second;
  });
}

void check_item(const Loaded& loaded, const Callees& callees, std::size_t item,
                Findings& findings) {
  const ItemPositions* positions = loaded.positions.empty() ? nullptr : &loaded.positions[item];
  Context context(loaded.module.items[item], callees, findings, positions);
  context.sizes = written_out(context.body).sizes;
  context.types = types_in(context);
  const Written written{context, positions == nullptr ? nullptr : &loaded.source, positions};
  check_ranges(written);
  check_unused(written);
  check_spelling(written);
  check_stores(written);
}

}  // namespace

std::vector<Diagnostic> warnings_of(const Loaded& loaded, std::span<const std::size_t> items) {
  Findings findings;
  const Callees callees = resolve_callees(loaded.module, loaded.registry);
  for (const std::size_t item : items) check_item(loaded, callees, item, findings);
  if (findings.empty()) return {};

  std::vector<Diagnostic> found = loaded.positions.empty()
                                      ? std::move(findings).unlocated()
                                      : std::move(findings).located(loaded.source);
  drop_repeated(found);
  Allowed allowed;
  if (!loaded.positions.empty()) allowed = allowed_in(loaded.source);
  std::erase_if(found, [&](const Diagnostic& each) {
    const auto line = allowed.find({each.file, each.line});
    return line != allowed.end() && line->second.contains(name(each.code));
  });
  for (Diagnostic& each : found) {
    each.is_warning = true;
    if (each.file.empty()) each.file = loaded.source.file;
  }
  return found;
}

std::vector<Diagnostic> warnings_of(const Loaded& loaded) {
  std::vector<std::size_t> items(loaded.module.items.size());
  std::iota(items.begin(), items.end(), std::size_t{0});
  return warnings_of(loaded, items);
}

std::vector<std::size_t> items_of(const Loaded& loaded, const Linked& linked, std::size_t program) {
  std::set<std::string_view> called;
  for (const auto& op : linked.ops()) called.insert(op->id);
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < loaded.module.items.size(); ++i) {
    const Op* op = std::get_if<Op>(&loaded.module.items[i]);
    if (i == program || (op != nullptr && called.contains(op->id))) items.push_back(i);
  }
  return items;
}

}  // namespace vyre
