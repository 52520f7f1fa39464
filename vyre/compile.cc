#include "vyre/compile.h"

#include <algorithm>
#include <functional>
#include <set>

#include "vyre/text/parse.h"
#include "vyre/validate/validate.h"
#include "vyre/wire/wire.h"

namespace vyre {

std::string_view version() { return VYRE_VERSION; }

Result<Loaded> load(Source source, const Registry& registry) {
  if (is_wire(source.text)) {
    Result<Module> module = decode(source.text, source.file);
    if (!module.ok()) return module.diagnostics();
    std::vector<Diagnostic> diagnostics = validate(*module, registry);
    for (Diagnostic& diagnostic : diagnostics) diagnostic.file = source.file;
    if (!diagnostics.empty()) return diagnostics;
    return Loaded{std::move(*module), std::move(source), {}};
  }
  Parsed parsed = parse_source(source);
  validate(source, parsed, registry);
  if (!parsed.findings.empty()) return std::move(parsed.findings).located(source);
  return Loaded{std::move(parsed.module), std::move(source), std::move(parsed.positions)};
}

namespace {

// Depth first, so that an op comes behind those it calls. This recurses at most kMaxCallDepth deep:
// calls nest no deeper (V017).
std::vector<Op> ops_called_by(const Body& body, const Registry& registry) {
  std::vector<Op> ops;
  std::set<std::string_view> seen;
  const std::function<void(const Body&)> follow = [&](const Body& caller) {
    for (const std::string& id : caller.callees) {
      if (!seen.insert(id).second) continue;
      const Op& op = *registry.find(id);
      follow(op.body);
      ops.push_back(op);
    }
  };
  follow(body);
  return ops;
}

}  // namespace

namespace {

std::vector<std::uint32_t> line_starts(const std::string& text) {
  std::vector<std::uint32_t> starts{0};
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  return starts;
}

SourceLines lines_of(const Loaded& loaded, std::size_t item,
                     const std::vector<std::uint32_t>& starts) {
  SourceLines source{loaded.source.file, {}};
  for (const ItemPositions::Statement& statement : loaded.positions[item].statements) {
    const auto line = std::ranges::upper_bound(starts, statement.begin) - starts.begin();
    source.lines.push_back(static_cast<std::uint32_t>(line));
  }
  return source;
}

}  // namespace

SourceLines source_lines(const Loaded& loaded, std::size_t item) {
  if (loaded.positions.empty()) return {};
  return lines_of(loaded, item, line_starts(loaded.source.text));
}

std::vector<SourceLines> source_lines(const Loaded& loaded) {
  const std::vector<std::uint32_t> starts = line_starts(loaded.source.text);
  std::vector<SourceLines> all(loaded.module.items.size());
  for (std::size_t i = 0; i < loaded.positions.size(); ++i) all[i] = lines_of(loaded, i, starts);
  return all;
}

Result<Linked> link(const Program& program, const Registry& registry) {
  if (std::vector<Diagnostic> wrong = validate(program, registry); !wrong.empty()) return wrong;
  return Linked{program, ops_called_by(program.body, registry)};
}

Linked link(const Op& op, const Registry& registry) {
  Linked linked{{}, ops_called_by(op.body, registry)};
  linked.ops.push_back(op);
  return linked;
}

}  // namespace vyre
