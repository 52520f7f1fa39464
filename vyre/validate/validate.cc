#include "vyre/validate/validate.h"

#include <functional>
#include <set>
#include <unordered_map>

#include "vyre/base/counters.h"
#include "vyre/base/text.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

void check_item(Context& context) {
  check_declarations(context);
  if (!check_limits(context)) return;
  check_types(context);
  check_structure(context);
  check_laws(context);
  check_uniformity(context);
  check_tables(context);
}

// Ids are defined once in the module, and agree with the registry.
void check_definition(Context& context,
                      std::unordered_map<std::string_view, const Context*>& seen) {
  const auto [first, fresh] = seen.emplace(context.name, &context);
  if (!fresh) {
    context.report_twice(*first->second);
  } else if (context.op != nullptr) {
    const Op* known = context.callees.registry.find(context.name);
    if (known != nullptr && !same_function(*known, *context.op)) {
      context.report<message::registered_op>(Place::Name, shorten(context.name));
    }
  }
}

// `parsed`: the text that the module comes from, if it comes from one.
void check_items(const Module& module, const Registry& registry, Findings& findings,
                 Parsed* parsed) {
  ++counters.validations;
  const Callees callees = resolve_callees(module, registry);
  std::unordered_map<std::string_view, const Context*> seen;
  std::vector<Context> contexts;
  contexts.reserve(module.items.size());
  for (std::size_t i = 0; i < module.items.size(); ++i) {
    Context& context = contexts.emplace_back(module.items[i], callees, findings,
                                             parsed != nullptr ? &parsed->positions[i] : nullptr);
    if (parsed != nullptr) context.spelt = &body_of(parsed->module.items[i]);
    check_definition(context, seen);
    if (parsed == nullptr || parsed->sound[i]) {
      check_item(context);
    } else if (parsed->typed[i] && check_limits(context)) {
      // A statement that cannot be read hides nothing but itself: its local has an unknown type.
      check_types(context);
    }
  }
  if (findings.empty()) check_arrays(contexts, callees);
}

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

std::vector<Diagnostic> validate(const Module& module, const Registry& registry) {
  Findings findings;
  check_items(module, registry, findings, nullptr);
  return std::move(findings).unlocated();
}

std::vector<Diagnostic> validate(const Program& program, const Registry& registry) {
  return validate(Module{{program}}, registry);
}

void validate(Parsed& parsed, const Registry& registry) {
  check_items(parsed.module, registry, parsed.findings, &parsed);
}

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
