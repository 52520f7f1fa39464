#include "vyre/compile.h"

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

Result<Linked> link(const Program& program, const Registry& registry) {
  if (std::vector<Diagnostic> wrong = validate(program, registry); !wrong.empty()) return wrong;
  // Depth first, so that an op comes behind those it calls. Calls neither recurse nor nest deeply:
  // that has been validated.
  Linked linked{program, {}};
  std::set<std::string_view> seen;
  const std::function<void(const Body&)> follow = [&](const Body& body) {
    for (const std::string& id : body.callees) {
      if (!seen.insert(id).second) continue;
      const Op& op = *registry.find(id);
      follow(op.body);
      linked.ops.push_back(op);
    }
  };
  follow(program.body);
  return linked;
}

}  // namespace vyre
