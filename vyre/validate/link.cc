#include "vyre/validate/link.h"

#include <functional>
#include <set>

#include "vyre/validate/validate.h"

namespace vyre {
namespace {

// Depth first, so that an op comes after those that it calls. This recurses at most kMaxCallDepth
// deep: calls nest no deeper (V017).
Linked::Ops ops_called_by(const Body& body, const Registry& registry) {
  Linked::Ops ops;
  std::set<std::string_view> seen;
  const std::function<void(const Body&)> follow = [&](const Body& caller) {
    for (const std::string& id : caller.callees) {
      if (!seen.insert(id).second) continue;
      std::shared_ptr<const Op> op = registry.share(id);
      follow(op->body);
      ops.push_back(std::move(op));
    }
  };
  follow(body);
  return ops;
}

}  // namespace

Result<Linked> link(Program program, const Registry& registry) {
  if (std::vector<Diagnostic> wrong = validate(program, registry); !wrong.empty()) return wrong;
  return link_valid(std::move(program), registry);
}

Linked link_valid(Program program, const Registry& registry) {
  Linked::Ops ops = ops_called_by(program.body, registry);
  return Linked::trust(std::move(program), std::move(ops));
}

Linked link(const Op& op, const Registry& registry) {
  Linked::Ops ops = ops_called_by(op.body, registry);
  ops.push_back(std::make_shared<const Op>(op));
  return Linked::trust({}, std::move(ops));
}

}  // namespace vyre
