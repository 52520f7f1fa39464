#include "vyre/interp/script.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using OpIndex = std::map<std::string_view, std::uint32_t>;

// Makes the steps of one body. A jump forward gets its target when the block that it leaves ends.
class ScriptMaker {
 public:
  ScriptMaker(const Body& body, const Types& types, const OpIndex& ops)
      : body_(body), types_(types), ops_(ops) {}

  BodyScript make() {
    script_.locals = static_cast<std::uint32_t>(body_.locals.size());
    script_.operands = body_.operands;
    script_.values.resize(body_.exprs.size());
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      if (body_.exprs[i].op == Operation::Literal) {
        script_.values[i] = literal_bits(body_, body_.exprs[i]);
      }
    }
    listed_.assign(body_.exprs.size(), 0);
    branch_of_.assign(body_.stmts.size(), 0);

    BlockStack<Frame> stack(body_);
    const auto closing = [&](const Frame& block, Frame&) { close(block); };
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, closing);
      statement(i, stack.frames());
      const std::uint32_t head = here() - 1;
      if (Frame* opened = stack.open(i); opened != nullptr && opened->is_loop) opened->head = head;
    }
    stack.enter(static_cast<std::uint32_t>(body_.stmts.size()), closing);
    Step end;
    end.stmt = static_cast<std::uint32_t>(body_.stmts.size());
    add(end);
    return std::move(script_);
  }

 private:
  struct Frame : OpenBlock {
    std::uint32_t head = 0;             // of a loop: its Enter step
    std::vector<std::uint32_t> breaks;  // of a loop: jumps to after it
  };

  void statement(std::uint32_t i, std::vector<Frame>& frames) {
    Step step;
    step.stmt = i;
    const Stmt& stmt = body_.stmts[i];
    if (std::holds_alternative<Block>(stmt)) return;
    evaluate(i, step);
    const auto set = [&](LocalId local, ExprId value) {
      step.kind = Step::Kind::Set;
      step.local = local;
      step.value = value;
    };
    visit(
        stmt, [&](const Let& let) { set(let.local, let.value); },
        [&](const Assign& assign) { set(assign.local, assign.value); },
        [&](const Store& store) {
          step.kind = Step::Kind::Store;
          step.buffer = store.buffer;
          step.index = store.index;
          step.value = store.value;
        },
        [&](const Atomic& atomic) {
          step.kind = Step::Kind::Atomic;
          step.atomic = atomic.op;
          step.local = atomic.result;
          step.buffer = atomic.buffer;
          step.index = atomic.index;
          step.expected = atomic.expected;
          step.value = atomic.value;
        },
        [&](const If& branch) {
          step.kind = Step::Kind::Branch;
          step.value = branch.condition;
          branch_of_[i] = here();
        },
        [&](const For& loop) {
          step.kind = Step::Kind::Enter;
          step.local = loop.variable;
          step.limit = script_.locals++;
          step.from = loop.from;
          step.value = loop.to;
        },
        [&](const Break&) {
          step.kind = Step::Kind::Jump;
          auto loop = std::ranges::find_if(frames.rbegin(), frames.rend(), &OpenBlock::is_loop);
          loop->breaks.push_back(here());
        },
        [&](const Return& result) {
          step.kind = Step::Kind::Return;
          step.value = result.value;
        },
        [&](const Barrier&) { step.kind = Step::Kind::Barrier; }, Nothing<Block>());
    add(step);
  }

  void close(const Frame& block) {
    const Stmt& owner = body_.stmts[block.owner];
    if (block.is_loop) {
      Step again = script_.steps[block.head];
      again.kind = Step::Kind::Again;
      again.first = again.last = 0;
      again.target = block.head + 1;
      add(again);
      script_.steps[block.head].target = here();
      for (std::uint32_t jump : block.breaks) script_.steps[jump].target = here();
    } else if (const If* branch = std::get_if<If>(&owner)) {
      Step& waiting = script_.steps[branch_of_[block.owner]];
      if (block.is_else || branch->else_begin == branch->end) {
        waiting.target = here();
      } else {
        // The then block ends by jumping over the else block.
        const std::uint32_t jump = here();
        Step over;
        over.kind = Step::Kind::Jump;
        over.stmt = block.owner;
        waiting.target = jump + 1;
        branch_of_[block.owner] = jump;
        add(over);
      }
    }
  }

  // Lists what a statement evaluates. Ids ascend from operands to users, so sorting is enough.
  void evaluate(std::uint32_t i, Step& step) {
    std::vector<ExprId> waiting;
    std::vector<ExprId> found;
    for (ExprId root : roots(body_.stmts[i])) waiting.push_back(root);
    while (!waiting.empty()) {
      const ExprId id = waiting.back();
      waiting.pop_back();
      if (listed_[id.index] == i + 1 || body_[id].op == Operation::Literal) continue;
      listed_[id.index] = i + 1;
      found.push_back(id);
      for (ExprId arg : operands(body_, body_[id])) waiting.push_back(arg);
    }
    std::ranges::sort(found);
    step.first = static_cast<std::uint32_t>(script_.nodes.size());
    for (ExprId id : found) script_.nodes.push_back(node_of(id));
    step.last = static_cast<std::uint32_t>(script_.nodes.size());
  }

  Node node_of(ExprId id) const {
    const Expr& expr = body_[id];
    Node node{expr.op, expr.detail, DataType::Unknown, id.index, expr.imm, expr.args};
    const std::span<const ExprId> args = operands(body_, expr);
    if (!args.empty()) node.type = types_[args[0]];
    if (expr.op == Operation::Call) node.imm = ops_.at(body_.callees[expr.imm]);
    return node;
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(script_.steps.size()); }
  Step& add(Step step) { return script_.steps.emplace_back(step); }

  const Body& body_;
  const Types& types_;
  const OpIndex& ops_;
  BodyScript script_;
  std::vector<std::uint32_t> listed_;  // per expression: the statement that listed it last, plus 1
  std::vector<std::uint32_t> branch_of_;  // per `if`: the step to be told where its else begins
};

}  // namespace

Script make_script(const Linked& linked) {
  OpIndex index;
  for (std::size_t i = 0; i < linked.ops().size(); ++i) {
    index.emplace(linked.ops()[i]->id, static_cast<std::uint32_t>(i));
  }
  const auto body_script = [&](const Body& body, std::span<const BufferDecl> buffers,
                               std::span<const DataType> inputs) {
    std::vector<DataType> results;
    for (const std::string& id : body.callees) {
      results.push_back(linked.ops()[index.at(id)]->signature.output);
    }
    return ScriptMaker(body, types_of(body, buffers, inputs, results), index).make();
  };
  const Program& program = linked.program();
  Script script{linked, body_script(program.body, program.buffers, {}), {}};
  for (const auto& op : linked.ops()) {
    script.ops.push_back(body_script(op->body, {}, op->signature.inputs));
  }
  script.has_barrier = std::ranges::any_of(
      program.body.stmts, [](const Stmt& s) { return std::holds_alternative<Barrier>(s); });
  return script;
}

}  // namespace vyre
