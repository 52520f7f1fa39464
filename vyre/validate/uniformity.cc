// Whether every barrier stands where all invocations of a workgroup arrive together.
//
// Not being uniform spreads along edges: from operands to expressions, from values to locals, from
// conditions to the control flow under them, from control flow to the locals assigned in it. So the
// answer is what can be reached from the sources of divergence (ids of invocations, loads from
// memory that others write) in a graph whose nodes are expressions, locals and stretches of control
// flow. That is linear, needs no iteration, and does not depend on the workgroup size.
#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

using Node = std::uint32_t;
constexpr Node kNowhere = 0xffffffff;

struct FlowFrame : OpenBlock {
  Node flow = 0;           // of the statements to come in this block
  Node flow_at_start = 0;  // what makes this one divergent makes the whole block so
  Node exit = kNowhere;    // divergent when a `return` inside is; exists when there is one
};

class Uniformity {
 public:
  explicit Uniformity(Context& context)
      : context_(context),
        body_(context.body),
        locals_(static_cast<Node>(body_.exprs.size())),
        nodes_(locals_ + static_cast<Node>(body_.locals.size())) {}

  void run() {
    connect_exprs();
    connect_statements();
    spread();
    std::string why;
    Node explained = kNowhere;  // barriers of one stretch have one reason
    for (const auto& [stmt, flow] : barriers_) {
      if (cause_[flow] == kNowhere) continue;
      if (flow != explained) why = reason(flow);
      explained = flow;
      context_.report<message::divergent_barrier>(Place::head(stmt), why);
    }
  }

 private:
  struct Edge {
    Node from;
    Node to;
  };

  void connect(Node from, Node to) { edges_.push_back({from, to}); }
  Node new_flow(std::uint32_t stmt) {
    flow_owner_.push_back(stmt);
    return nodes_++;
  }
  Node local_node(std::uint32_t local) const { return locals_ + local; }
  void connect_exprs();
  void connect_statements();
  void add_exit(FlowFrame& frame, Node flow);
  void spread();
  std::string reason(Node flow) const;

  Context& context_;
  const Body& body_;
  const Node locals_;
  Node nodes_;
  std::vector<std::uint32_t> flow_owner_;  // the statement that a flow node belongs to
  std::vector<Edge> edges_;
  std::vector<Node> sources_;
  std::vector<std::pair<std::uint32_t, Node>> barriers_;
  std::vector<Node> cause_;  // by node: whence it became divergent; itself for a source
};

void Uniformity::connect_exprs() {
  for (Node i = 0; i < body_.exprs.size(); ++i) {
    const Expr& expr = body_.exprs[i];
    for (ExprId operand : operands(body_, expr)) connect(operand.index, i);
    if (expr.op == Operation::Local && expr.imm < body_.locals.size()) {
      connect(local_node(expr.imm), i);
    }
    bool divergent = expr.op == Operation::InvocationId || expr.op == Operation::LocalId;
    if (expr.op == Operation::Load) {
      const BufferAccess access = context_.buffers[expr.imm].access;
      divergent = access == BufferAccess::ReadWrite || access == BufferAccess::Workgroup;
    }
    if (divergent) sources_.push_back(i);
  }
}

// A divergent `return` leaves fewer invocations for everything behind it.
void Uniformity::add_exit(FlowFrame& frame, Node flow) {
  if (frame.exit == kNowhere) frame.exit = new_flow(frame.owner);
  connect(flow, frame.exit);
}

void Uniformity::connect_statements() {
  const std::uint32_t count = static_cast<std::uint32_t>(body_.stmts.size());
  BlockStack<FlowFrame> stack(body_);
  stack.back().flow = new_flow(0);
  const auto close = [&](const FlowFrame& closed, FlowFrame& now) {
    const bool else_follows = now.is_else && now.owner == closed.owner && !closed.is_else;
    if (else_follows) {
      now.flow = new_flow(closed.owner);
      const FlowFrame& around = stack.frames()[stack.frames().size() - 2];
      connect(around.flow, now.flow);
      connect(std::get<If>(body_.stmts[closed.owner]).condition.index, now.flow);
      if (closed.exit != kNowhere) add_exit(now, closed.exit);
      return;
    }
    if (closed.exit == kNowhere) return;
    // Behind a statement that may return, a new stretch of control flow begins.
    if (closed.is_loop) connect(closed.exit, closed.flow_at_start);
    add_exit(now, closed.exit);
    const Node behind = new_flow(closed.owner);
    connect(now.flow, behind);
    connect(closed.exit, behind);
    now.flow = behind;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    stack.enter(i, close);
    const Stmt& stmt = body_.stmts[i];
    const Node flow = stack.back().flow;
    if (const Let* let = std::get_if<Let>(&stmt)) {
      connect(let->value.index, local_node(let->local.index));
      connect(flow, local_node(let->local.index));
    } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
      if (!assign->local.exists()) continue;
      connect(assign->value.index, local_node(assign->local.index));
      connect(flow, local_node(assign->local.index));
    } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      if (atomic->result.exists()) sources_.push_back(local_node(atomic->result.index));
    } else if (std::holds_alternative<Barrier>(stmt)) {
      barriers_.emplace_back(i, flow);
    } else if (std::holds_alternative<Return>(stmt)) {
      add_exit(stack.back(), flow);
    } else if (std::holds_alternative<Break>(stmt)) {
      const auto& frames = stack.frames();
      for (std::size_t k = frames.size(); k-- > 0;) {
        if (!frames[k].is_loop) continue;
        connect(flow, frames[k].flow_at_start);
        break;
      }
    } else if (FlowFrame* inner = stack.open(i)) {
      inner->flow = inner->flow_at_start = new_flow(i);
      connect(flow, inner->flow);
      if (const If* branch = std::get_if<If>(&stmt)) {
        connect(branch->condition.index, inner->flow);
      } else if (const For* loop = std::get_if<For>(&stmt)) {
        connect(loop->from.index, inner->flow);
        connect(loop->to.index, inner->flow);
        connect(inner->flow, local_node(loop->variable.index));
      }
    }
  }
  stack.enter(count, close);
}

// Breadth first from the sources, so that a reason is a short chain.
void Uniformity::spread() {
  std::vector<std::uint32_t> first(nodes_ + 1, 0);
  for (const Edge& edge : edges_) ++first[edge.from + 1];
  for (Node i = 0; i < nodes_; ++i) first[i + 1] += first[i];
  std::vector<Node> targets(edges_.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const Edge& edge : edges_) targets[next[edge.from]++] = edge.to;

  cause_.assign(nodes_, kNowhere);
  std::vector<Node> queue;
  for (Node source : sources_) {
    cause_[source] = source;
    queue.push_back(source);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const Node from = queue[at];
    for (std::uint32_t e = first[from]; e < first[from + 1]; ++e) {
      if (cause_[targets[e]] != kNowhere) continue;
      cause_[targets[e]] = from;
      queue.push_back(targets[e]);
    }
  }
}

// Names the condition that control flow diverges at and the value behind it.
std::string Uniformity::reason(Node flow) const {
  const Node first_flow = locals_ + static_cast<Node>(body_.locals.size());
  Node at = flow;
  Node flow_cause = kNowhere;  // the last flow node before a value
  while (cause_[at] != at) {
    if (at >= first_flow) flow_cause = at;
    if (at >= first_flow && cause_[at] < first_flow) break;
    at = cause_[at];
  }
  Node source = at;
  while (cause_[source] != source) source = cause_[source];
  const Stmt& owner = body_.stmts[flow_owner_[flow_cause - first_flow]];
  const std::string_view what = std::holds_alternative<If>(owner) ? "an `if`" : "a `for`";
  std::string value = "the result of an atomic, `";
  if (source < locals_) {
    value = "`" + print_expr(body_, context_.buffers, ExprId{source}, 40);
  } else {
    value += body_.locals[source - locals_].name;
  }
  return std::string(what) + " around or before it depends on " + shorten(value, 80) + "`";
}

}  // namespace

void check_uniformity(Context& context) {
  const bool has_barrier = std::ranges::any_of(
      context.body.stmts, [](const Stmt& stmt) { return std::holds_alternative<Barrier>(stmt); });
  if (has_barrier && context.program != nullptr) Uniformity(context).run();
}

}  // namespace vyre
