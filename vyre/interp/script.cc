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
    place_arrays();
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      if (body_.exprs[i].op == Operation::Literal) {
        script_.values[i] = literal_bits(body_, body_.exprs[i]);
      }
    }
    listed_.assign(body_.exprs.size(), 0);

    BlockStack<Frame> stack(body_);
    const auto closing = [&](const Frame& block, Frame& now) { close(block, now); };
    const auto end = static_cast<std::uint32_t>(body_.stmts.size());
    for (std::uint32_t i = 0; i < end; ++i) {
      stack.enter(i, closing);
      const bool has_step = !std::holds_alternative<Block>(body_.stmts[i]);
      if (has_step) statement(i, stack.frames());
      Frame* opened = stack.open(i);
      if (opened != nullptr && has_step) opened->jumps.push_back(here() - 1);
    }
    stack.enter(end, closing);
    add({.stmt = end});
    return std::move(script_);
  }

 private:
  struct Frame : OpenBlock {
    std::vector<std::uint32_t> jumps;  // the steps that jump to its end; of a loop Enter is first
    std::vector<std::uint32_t> continues;  // of a loop: the steps that jump to its next round
  };

  void place_arrays() {
    script_.local_arrays.resize(body_.locals.size());
    script_.value_arrays.resize(body_.exprs.size());
    using Home = ArrayPlace::Home;
    std::vector<ArrayPlace> tables;
    for (const ConstTable& table : body_.tables) {
      tables.push_back(
          {Home::Tables, static_cast<std::uint32_t>(script_.tables.size()), table.count()});
      for (std::uint32_t k = 0; k < table.count(); ++k) {
        script_.tables.push_back(load_element(table.element, table.contents.bytes(), k));
      }
    }
    for (std::size_t i = 0; i < body_.locals.size(); ++i) {
      const std::uint32_t count = element_count(types_.locals[i]);
      script_.local_arrays[i] = {Home::Locals, script_.locals, count};
      script_.locals += count;
    }
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      const std::uint32_t count = element_count(types_.exprs[i]);
      const Expr& expr = body_.exprs[i];
      if (count == 0) continue;
      if (expr.op == Operation::Local) {
        script_.value_arrays[i] = script_.local_arrays[expr.imm];
      } else if (expr.op == Operation::Table) {
        script_.value_arrays[i] = tables[expr.imm];
      } else {
        const auto first = static_cast<std::uint32_t>(script_.values.size());
        script_.value_arrays[i] = {Home::Values, first, count};
        script_.values.resize(first + count);
      }
    }
  }

  void statement(std::uint32_t i, std::vector<Frame>& frames) {
    using Kind = Step::Kind;
    Step step = visit(
        body_.stmts[i],
        [](const Let& let) {
          return Step{.kind = Kind::Set, .local = let.local, .value = let.value};
        },
        [](const Assign& assign) {
          return Step{.kind = Kind::Set, .local = assign.local, .value = assign.value};
        },
        [](const Store& store) {
          return Step{.kind = Kind::Store,
                      .buffer = store.buffer,
                      .index = store.index,
                      .value = store.value};
        },
        [](const Atomic& atomic) {
          return Step{.kind = Kind::Atomic,
                      .atomic = atomic.op,
                      .local = atomic.result,
                      .buffer = atomic.buffer,
                      .index = atomic.index,
                      .expected = atomic.expected,
                      .value = atomic.value};
        },
        [](const If& branch) { return Step{.kind = Kind::Branch, .value = branch.condition}; },
        [&](const For& loop) {
          return Step{.kind = Kind::Enter,
                      .local = loop.variable,
                      .limit = script_.locals++,
                      .value = loop.to,
                      .from = loop.from};
        },
        [&](const Break&) {
          loop_of(frames).jumps.push_back(here());
          return Step{.kind = Kind::Jump};
        },
        [&](const Continue&) {
          loop_of(frames).continues.push_back(here());
          return Step{.kind = Kind::Jump};
        },
        [](const SetElement& set) {
          return Step{
              .kind = Kind::SetElement, .local = set.local, .index = set.index, .value = set.value};
        },
        [&](const Collective& collective) {
          return Step{.kind = Kind::Collective,
                      .collective = collective.op,
                      .type = types_[collective.value],
                      .local = collective.result,
                      .value = collective.value,
                      .from = collective.invocation};
        },
        [](const Return& result) { return Step{.kind = Kind::Return, .value = result.value}; },
        [](const Barrier&) { return Step{.kind = Kind::Barrier}; },
        [](const Block&) { return Step{}; });
    step.stmt = i;
    evaluate(i, step);
    add(step);
  }

  static Frame& loop_of(std::vector<Frame>& frames) {
    return *std::ranges::find_if(frames.rbegin(), frames.rend(), &OpenBlock::is_loop);
  }

  // `now` is the block that is open after it.
  void close(const Frame& block, Frame& now) {
    if (block.is_loop) {
      for (std::uint32_t jump : block.continues) script_.steps[jump].target = here();
      Step again = script_.steps[block.jumps[0]];
      again.kind = Step::Kind::Again;
      again.first = again.last = 0;
      again.target = block.jumps[0] + 1;
      add(again);
    } else if (is_else_of(now, block)) {
      now.jumps.push_back(here());
      add({.kind = Step::Kind::Jump, .stmt = block.owner});
    }
    for (std::uint32_t jump : block.jumps) script_.steps[jump].target = here();
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
  void add(const Step& step) { script_.steps.push_back(step); }

  const Body& body_;
  const Types& types_;
  const OpIndex& ops_;
  BodyScript script_;
  std::vector<std::uint32_t> listed_;  // per expression: the statement that listed it last, plus 1
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
  script.has_barrier = std::ranges::any_of(program.body.stmts, [](const Stmt& s) {
    return std::holds_alternative<Barrier>(s) || std::holds_alternative<Collective>(s);
  });
  return script;
}

}  // namespace vyre
