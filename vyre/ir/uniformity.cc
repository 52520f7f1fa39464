#include "vyre/ir/uniformity.h"

#include <algorithm>
#include <utility>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Node = std::uint32_t;
constexpr Node kNowhere = 0xffffffff;

struct FlowFrame : OpenBlock {
  Node flow = 0;           // of the statements to come in this block
  Node flow_at_start = 0;  // what makes this one divergent makes the whole block so
  Node exit = kNowhere;    // divergent when a `return` inside is; exists when there is one
};

class Graph {
 public:
  Graph(const Body& body, std::span<const BufferDecl> buffers) : body_(body), buffers_(buffers) {
    result_.first_local = static_cast<Node>(body.exprs.size());
    first_buffer_ = result_.first_local + static_cast<Node>(body.locals.size());
    result_.first_flow = first_buffer_ + static_cast<Node>(buffers.size());
    nodes_ = result_.first_flow;
  }

  Uniformity run() {
    connect_exprs();
    connect_statements();
    spread();
    return std::move(result_);
  }

 private:
  struct Edge {
    Node from;
    Node to;
  };

  void connect(Node from, Node to) { edges_.push_back({from, to}); }
  Node new_flow(std::uint32_t stmt) {
    result_.owners.push_back(stmt);
    return nodes_++;
  }
  Node local_node(std::uint32_t local) const { return result_.first_local + local; }
  void connect_exprs() {
    for (Node i = 0; i < body_.exprs.size(); ++i) {
      const Expr& expr = body_.exprs[i];
      for (ExprId operand : operands(body_, expr)) connect(operand.index, i);
      if (expr.op == Operation::Local && expr.imm < body_.locals.size()) {
        connect(local_node(expr.imm), i);
      }
      const bool is_id = expr.op == Operation::InvocationId || expr.op == Operation::LocalId;
      const bool loads = expr.op == Operation::Load;
      const bool is_own = loads && buffers_[expr.imm].access == BufferAccess::Private;
      if (is_own) connect(first_buffer_ + expr.imm, i);
      if (is_id || (loads && !is_own && is_written(buffers_[expr.imm].access))) {
        sources_.push_back(i);
      }
    }
  }

  void connect_statements() {
    const std::uint32_t count = static_cast<std::uint32_t>(body_.stmts.size());
    BlockStack<FlowFrame> stack(body_);
    stack.back().flow = new_flow(0);
    const auto close = [&](const FlowFrame& closed, FlowFrame& now) {
      if (is_else_of(now, closed)) {
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
      const Node after = new_flow(closed.owner);
      connect(now.flow, after);
      connect(closed.exit, after);
      now.flow = after;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      stack.enter(i, close);
      const Stmt& stmt = body_.stmts[i];
      const Node flow = stack.back().flow;
      result_.flows.push_back(flow);
      const auto assign = [&](LocalId local, ExprId value) {
        if (!local.exists()) return;
        connect(value.index, local_node(local.index));
        connect(flow, local_node(local.index));
      };
      const auto open = [&] {
        FlowFrame& inner = *stack.open(i);
        inner.flow = inner.flow_at_start = new_flow(i);
        connect(flow, inner.flow);
        return inner.flow;
      };
      visit(
          stmt, [&](const Let& let) { assign(let.local, let.value); },
          [&](const Assign& set) { assign(set.local, set.value); },
          [&](const Atomic& atomic) {
            if (atomic.result.exists()) sources_.push_back(local_node(atomic.result.index));
          },
          [&](const Return&) { add_exit(stack.back(), flow); },
          [&](const Break&) { leave_round(stack.frames(), flow); },
          [&](const Continue&) { leave_round(stack.frames(), flow); },
          [&](const SetElement& set) {
            assign(set.local, set.value);
            assign(set.local, set.index);
          },
          [&](const Collective& collective) {
            if (info(collective.op).is_uniform() || !collective.result.exists()) return;
            sources_.push_back(local_node(collective.result.index));
          },
          [&](const Block&) { open(); },
          [&](const If& branch) { connect(branch.condition.index, open()); },
          [&](const For& loop) {
            const Node inner = open();
            connect(loop.from.index, inner);
            connect(loop.to.index, inner);
            connect(inner, local_node(loop.variable.index));
          },
          [&](const Store& store) {
            if (!store.buffer.exists()) return;
            const Node buffer = first_buffer_ + store.buffer.index;
            for (Node from : {store.index.index, store.value.index, flow}) connect(from, buffer);
          },
          Nothing<Barrier>());
    }
    stack.enter(count, close);
  }

  // Where some invocations end a round, or all rounds, they diverge in the whole loop.
  void leave_round(std::vector<FlowFrame>& frames, Node flow) {
    auto loop = std::ranges::find_if(frames.rbegin(), frames.rend(), &OpenBlock::is_loop);
    if (loop != frames.rend()) connect(flow, loop->flow_at_start);
  }

  // A divergent `return` leaves fewer invocations for everything after it.
  void add_exit(FlowFrame& frame, Node flow) {
    if (frame.exit == kNowhere) frame.exit = new_flow(frame.owner);
    connect(flow, frame.exit);
  }

  // Breadth first from the sources, so that a reason is a short chain.
  void spread() {
    std::vector<std::uint32_t> first(nodes_ + 1, 0);
    for (const Edge& edge : edges_) ++first[edge.from + 1];
    for (Node i = 0; i < nodes_; ++i) first[i + 1] += first[i];
    std::vector<Node> targets(edges_.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (const Edge& edge : edges_) targets[next[edge.from]++] = edge.to;

    std::vector<Node>& causes = result_.causes;
    causes.assign(nodes_, Uniformity::kUniform);
    std::vector<Node> queue;
    for (Node source : sources_) {
      causes[source] = source;
      queue.push_back(source);
    }
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const Node from = queue[at];
      for (std::uint32_t e = first[from]; e < first[from + 1]; ++e) {
        if (causes[targets[e]] != Uniformity::kUniform) continue;
        causes[targets[e]] = from;
        queue.push_back(targets[e]);
      }
    }
  }

  const Body& body_;
  const std::span<const BufferDecl> buffers_;
  Uniformity result_;
  Node first_buffer_ = 0;
  Node nodes_ = 0;
  std::vector<Edge> edges_;
  std::vector<Node> sources_;
};

}  // namespace

Uniformity uniformity_of(const Body& body, std::span<const BufferDecl> buffers) {
  return Graph(body, buffers).run();
}

Divergence divergence_of(const Uniformity& uniformity, StmtId stmt) {
  const std::vector<Node>& causes = uniformity.causes;
  Node flow = uniformity.flows[stmt.index];
  while (causes[flow] >= uniformity.first_flow) flow = causes[flow];
  Node source = causes[flow];
  while (causes[source] != source) source = causes[source];
  Divergence divergence;
  divergence.branch = StmtId{uniformity.owners[flow - uniformity.first_flow]};
  if (source < uniformity.first_local) {
    divergence.source = ExprId{source};
  } else {
    divergence.result = LocalId{source - uniformity.first_local};
  }
  return divergence;
}

}  // namespace vyre
