#include "vyre/passes/lowered.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "vyre/base/counters.h"
#include "vyre/passes/collectives.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

// A product of u32 whose low and high word are both wanted somewhere.
std::vector<bool> find_products(const Body& body, const Types& types, const Places& places) {
  std::vector<bool> found(body.exprs.size());
  std::unordered_map<std::uint64_t, std::uint32_t> lows;
  const auto pair = [](const Expr& expr) {
    return std::uint64_t{expr.args[0].index} << 32 | expr.args[1].index;
  };
  const auto is_of_words = [&](const Expr& expr) {
    return types[expr.args[0]] == DataType::U32 && places.stable[expr.args[0].index] &&
           places.stable[expr.args[1].index];
  };
  for (std::uint32_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    if (expr.op == Operation::Mul && is_of_words(expr)) lows[pair(expr)] = i;
  }
  for (std::uint32_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    if (expr.op != Operation::MulHigh || !is_of_words(expr)) continue;
    const auto low = lows.find(pair(expr));
    if (low == lows.end()) continue;
    found[i] = found[low->second] = true;
  }
  return found;
}

std::vector<Lowered::Local> find_locals(const Body& body, const Types& types) {
  std::vector<Lowered::Local> locals(body.locals.size());
  const auto is_bit = [&](ExprId id) {
    return body[id].op == Operation::Literal && body[id].imm <= 1;
  };
  const auto compares = [&](ExprId id) { return gives_truth(body[id].op); };
  // A local may also keep what it has.
  const auto is_test = [&](ExprId id, LocalId local) {
    const Expr& expr = body[id];
    if (expr.op != Operation::Select) return is_bit(id) || compares(id);
    const auto is_side = [&](ExprId side) {
      return compares(side) ||
             (body[side].op == Operation::Local && LocalId{body[side].imm} == local);
    };
    const ExprId yes = expr.args[1];
    const ExprId no = expr.args[2];
    return (is_side(yes) && (is_side(no) || is_bit(no))) || (is_bit(yes) && is_side(no));
  };
  const auto hold = [&](LocalId local, ExprId value) {
    const bool test = value.exists() && types[value] == DataType::U32 && is_test(value, local);
    if (local.exists() && !test) locals[local.index].is_test = false;
  };
  for (const Stmt& stmt : body.stmts) {
    visit(
        stmt,  //
        [&](const Let& let) { hold(let.local, let.value); },
        [&](const Assign& assign) {
          locals[assign.local.index].is_assigned = true;
          hold(assign.local, assign.value);
        },
        [&](const For& loop) { hold(loop.variable, {}); },
        [&](const Atomic& atomic) { hold(atomic.result, {}); },
        [&](const Collective& collective) { hold(collective.result, {}); },
        Nothing<Store, If, Block, Break, Return, Barrier, SetElement, Continue>{});
  }
  return locals;
}

// The lines that can be told: of statements that write what a single statement of the source
// writes. Nothing where the source has none.
std::vector<std::uint32_t> find_lines(const Program& optimised, const Program& source,
                                      const std::vector<std::uint32_t>& source_lines) {
  if (source_lines.size() != source.body.stmts.size()) return {};
  // What a statement writes: a local, by its name, a buffer, or nothing that could be told.
  const auto written = [](const Program& program, const Stmt& stmt) -> std::string {
    const auto local = [&](LocalId id) { return "$" + program.body[id].name; };
    const auto buffer = [&](BufferId id) { return program.buffers[id.index].name; };
    const auto nothing = [](const auto&) { return std::string(); };
    return visit(
        stmt, [&](const Let& let) { return local(let.local); },
        [&](const Assign& assign) { return local(assign.local); },
        [&](const For& loop) { return local(loop.variable); },
        [&](const Store& store) { return buffer(store.buffer); },
        [&](const Atomic& atomic) { return buffer(atomic.buffer); },
        [&](const Barrier&) { return std::string("barrier"); }, nothing);
  };
  std::unordered_map<std::string, std::vector<std::uint32_t>> places;
  for (std::size_t i = 0; i < source.body.stmts.size(); ++i) {
    places[written(source, source.body.stmts[i])].push_back(source_lines[i]);
  }
  std::unordered_map<std::string, std::uint32_t> counts;
  for (const Stmt& stmt : optimised.body.stmts) ++counts[written(optimised, stmt)];
  // The only one that writes it, or the one that has the same place among as many.
  std::vector<std::uint32_t> lines;
  std::unordered_map<std::string, std::uint32_t> next;
  for (const Stmt& stmt : optimised.body.stmts) {
    const std::string what = written(optimised, stmt);
    const auto found = what.empty() ? places.end() : places.find(what);
    const std::uint32_t number = next[what]++;
    if (found == places.end()) {
      lines.push_back(0);
    } else if (found->second.size() == 1) {
      lines.push_back(found->second[0]);
    } else {
      lines.push_back(found->second.size() == counts[what] ? found->second[number] : 0);
    }
  }
  return lines;
}

// The program as the target runs it, of which nothing is known yet.
Lowered fitted(const Program& program, const Target& target) {
  ++counters.lowerings;
  Shaped shaped = target.shape ? target.shape(program) : Shaped{program, plain_launch(program)};
  if (!target.zeroed_memory) {
    std::optional<Program> zeroed = zeros(shaped.program);
    if (zeroed) shaped.program = std::move(*zeroed);
    name_apart(shaped.program);
  }
  Lowered lowered;
  lowered.machine = target.machine;
  if (!target.capabilities.collectives) lowered.scratch = collective_bytes(shaped.program);
  lowered.program = replace_missing(shaped.program, target.capabilities);
  if (target.longest != 0) {
    std::optional<Program> shorter = shorten(lowered.program, target.longest);
    if (shorter) lowered.program = std::move(*shorter);
  }
  lowered.launch = std::move(shaped.launch);
  return lowered;
}

// All that is known besides the bounds and places.
void find_facts(Lowered& lowered, const Linked* source) {
  const Body& body = lowered.program.body;
  lowered.types = types_of(body, lowered.program.buffers, {}, {});
  lowered.shapes = shapes_of(lowered.program);
  lowered.products = find_products(body, lowered.types, lowered.places);
  lowered.locals = find_locals(body, lowered.types);
  if (source == nullptr) return;
  lowered.lines = find_lines(lowered.program, source->program(), source->source().lines);
}

// The same with all buffers of a program: some were not there when it was written.
DispatchFacts completed(const DispatchFacts& facts, const Program& program) {
  DispatchFacts all = facts;
  for (std::size_t i = all.lengths.size(); i < program.buffers.size(); ++i) {
    all.lengths.push_back(program.buffers[i].count);
  }
  all.uniforms.resize(program.buffers.size());
  return all;
}

// What is true of a dispatch, for a program that is launched in another shape.
DispatchFacts shaped(const DispatchFacts& facts, const Lowered& lowered) {
  DispatchFacts own = completed(facts, lowered.program);
  own.grid = lowered.launch.grid(facts.grid);
  if (lowered.launch.is_free) own.grid.fill(std::uint64_t{1} << 32);
  if (lowered.launch.uniform.exists()) {
    own.uniforms[lowered.launch.uniform.index] = lowered.launch.words(facts.grid);
  }
  return own;
}

// Finds the bounds, and turns their assumptions into ones about the dispatch. An assumption about a
// word of the launch's uniform becomes one about the number of workgroups: a smaller grid has
// smaller limits, so that fewer invocations run, and each accesses what it did.
void find_bounds(Lowered& lowered, const DispatchFacts& facts) {
  const DispatchFacts own = shaped(facts, lowered);
  lowered.bounds = bounds_of(lowered.program, &own, lowered.places);
  std::vector<Assumption> list;
  for (Assumption each : lowered.bounds.assumptions) {
    if (each.buffer.exists() && each.buffer == lowered.launch.uniform) {
      if (each.kind != Assumption::Kind::Word) continue;
      each = {Assumption::Kind::Groups, lowered.launch.limits[each.index].axis, {}, {}, 0, 0};
    }
    if (each.kind == Assumption::Kind::Groups) each.value = facts.grid[each.axis];
    if (std::ranges::find(list, each) == list.end()) list.push_back(each);
  }
  lowered.bounds.assumptions = std::move(list);
}

}  // namespace

std::optional<Diagnostic> refuse_memory(const std::string& program, std::uint64_t bytes,
                                        std::uint64_t scratch, std::string_view device,
                                        std::uint64_t most) {
  if (bytes <= most) return std::nullopt;
  if (scratch == 0) return diagnose<message::large_workgroup_memory>(program, bytes, device, most);
  return diagnose<message::large_collectives>(program, bytes, scratch, device, most);
}

bool Lowered::fits(const DispatchFacts& facts) const {
  return std::ranges::all_of(assumptions,
                             [&](const Assumption& each) { return holds(each, facts); });
}

Lowered lower(const Program& program, const Target& target, const Linked* source) {
  Lowered lowered = fitted(program, target);
  lowered.bounds = bounds_of(lowered.program, nullptr, lowered.places);
  find_facts(lowered, source);
  return lowered;
}

Lowered lower(const Program& program, const Target& target, const DispatchFacts& given,
              const Linked* source) {
  const DispatchFacts facts = completed(given, program);
  Lowered lowered = fitted(program, target);
  find_bounds(lowered, facts);
  lowered.assumptions = lowered.bounds.assumptions;
  const auto is_order = [](const Assumption& each) { return each.kind == Assumption::Kind::Order; };
  if (!std::ranges::all_of(lowered.assumptions, is_order)) {
    lowered = fitted(optimise(decide_for(program, facts)), target);
    find_bounds(lowered, facts);
    lowered.assumptions = assumptions_of(program, facts);
    for (const Assumption& each : lowered.bounds.assumptions) {
      const bool implied = std::ranges::any_of(lowered.assumptions, [&](const Assumption& other) {
        return other == each ||
               (each.kind == Assumption::Kind::AtLeast && other.kind == Assumption::Kind::Length &&
                other.buffer == each.buffer);
      });
      if (!implied) lowered.assumptions.push_back(each);
    }
  }
  find_facts(lowered, source);
  return lowered;
}

}  // namespace vyre
