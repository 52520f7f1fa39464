// Whether every barrier stands where all invocations of a workgroup arrive together.
#include "vyre/ir/uniformity.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

bool is_barrier(const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); }

// Names the condition that control flow diverges at and the value behind it.
std::string reason(const Context& context, const Divergence& divergence) {
  const Body& body = context.body;
  const bool at_if = std::holds_alternative<If>(body[divergence.branch]);
  std::string value = "the result of an atomic, `";
  if (divergence.source.exists()) {
    value = "`" + print_expr(body, context.buffers, divergence.source, 40);
  } else {
    value += body[divergence.result].name;
  }
  return std::string(at_if ? "an `if`" : "a `for`") + " around or before it depends on " +
         shorten(value, 80) + "`";
}

}  // namespace

void check_uniformity(Context& context) {
  const std::vector<Stmt>& stmts = context.body.stmts;
  if (context.program == nullptr || std::ranges::none_of(stmts, is_barrier)) return;
  const Uniformity uniformity = uniformity_of(context.body, context.buffers);
  std::string why;
  std::uint32_t explained = Uniformity::kUniform;  // barriers of one stretch have one reason
  for (std::uint32_t i = 0; i < stmts.size(); ++i) {
    if (!is_barrier(stmts[i]) || uniformity[StmtId{i}]) continue;
    const std::uint32_t flow = uniformity.flows[i];
    if (flow != explained) why = reason(context, divergence_of(uniformity, StmtId{i}));
    explained = flow;
    context.report<message::divergent_barrier>(Place::head(i), why);
  }
}

}  // namespace vyre
