// Whether all invocations of a workgroup reach every barrier together.
#include "vyre/ir/uniformity.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

// How a message calls what all invocations take part in.
std::string name_of(const Stmt& stmt) {
  const Collective* collective = std::get_if<Collective>(&stmt);
  return collective == nullptr ? "barrier" : "`" + std::string(info(collective->op).text) + "`";
}

// The result of an atomic or a collective, by the name that the user gave it: that of the local it
// is assigned to, where the text is `x = atomic_add(…)`.
std::string result_text(const Body& body, LocalId result) {
  const auto made = std::ranges::find(body.stmts, result, declared);
  const Atomic* atomic = std::get_if<Atomic>(&*made);
  const std::string_view op =
      atomic != nullptr ? info(atomic->op).text : info(std::get<Collective>(*made).op).text;
  LocalId named = result;
  if (body[result].name == kResultName && std::next(made) != body.stmts.end()) {
    if (const Assign* assign = std::get_if<Assign>(&*std::next(made))) named = assign->local;
  }
  return "the result of `" + std::string(op) + "`, `" + body[named].name;
}

// Names the branch at which control flow diverges and the value that makes it diverge.
std::string reason(const Context& context, const Divergence& divergence) {
  const Body& body = context.body;
  const bool at_if = std::holds_alternative<If>(body[divergence.branch]);
  const std::string_view word = context.is_while(divergence.branch) ? "while"
                                : at_if                             ? "if"
                                                                    : "for";
  const std::string value = divergence.source.exists()
                                ? "`" + print_expr(body, context.buffers, divergence.source, 40)
                                : result_text(body, divergence.result);
  return "the `" + std::string(word) + "` " + context.where(divergence.branch) + " depends on " +
         shorten(value, 80) + "`";
}

// All invocations take the value of the same one.
void check_broadcast(Context& context, const Uniformity& uniformity, std::uint32_t i) {
  const Collective* collective = std::get_if<Collective>(&context.body.stmts[i]);
  if (collective == nullptr || info(collective->op).shape != CollectiveShape::One) return;
  if (!collective->invocation.exists() || uniformity[collective->invocation]) return;
  const std::string written = print_expr(context.body, context.buffers, collective->invocation, 40);
  context.report<message::divergent_broadcast>(context.root(i, 1), info(collective->op).text,
                                               shorten(written));
}

}  // namespace

void check_uniformity(Context& context) {
  const std::vector<Stmt>& stmts = context.body.stmts;
  if (context.program == nullptr || std::ranges::none_of(stmts, waits)) return;
  const Uniformity uniformity = uniformity_of(context.body, context.buffers);
  // One branch may make many barriers wrong: it is one mistake, reported at the first of them.
  std::vector<bool> reported(stmts.size());
  std::uint32_t explained = Uniformity::kUniform;  // barriers of one stretch have one cause
  for (std::uint32_t i = 0; i < stmts.size() && !context.full(); ++i) {
    if (!waits(stmts[i])) continue;
    check_broadcast(context, uniformity, i);
    if (uniformity[StmtId{i}]) continue;
    const std::uint32_t flow = uniformity.flows[i];
    if (flow == explained) continue;
    explained = flow;
    const Divergence divergence = divergence_of(uniformity, StmtId{i});
    if (reported[divergence.branch.index]) continue;
    reported[divergence.branch.index] = true;
    context.add(
        diagnose<message::divergent_barrier>(name_of(stmts[i]), reason(context, divergence)),
        {Place::Head, i}, Place(Place::Head, divergence.branch.index));
  }
}

}  // namespace vyre
