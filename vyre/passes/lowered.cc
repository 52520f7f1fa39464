#include "vyre/passes/lowered.h"

#include <string>
#include <unordered_map>

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
  for (const Stmt& stmt : body.stmts) {
    ExprId value;
    LocalId local;
    if (const Let* let = std::get_if<Let>(&stmt)) {
      local = let->local;
      value = let->value;
    } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
      local = assign->local;
      value = assign->value;
      locals[local.index].is_assigned = true;
    } else {
      local = declared(stmt);
    }
    if (!local.exists()) continue;
    const bool test = value.exists() && types[value] == DataType::U32 && is_test(value, local);
    locals[local.index].is_test = locals[local.index].is_test && test;
  }
  return locals;
}

}  // namespace

std::vector<std::uint32_t> lines_of(const Program& optimised, const Program& source,
                                    const std::vector<std::uint32_t>& source_lines) {
  if (source_lines.size() != source.body.stmts.size()) return {};
  // What a statement writes: a local, by its name, a buffer, or nothing that could be told.
  const auto written = [](const Program& program, const Stmt& stmt) -> std::string {
    const auto local = [&](LocalId id) { return "$" + program.body[id].name; };
    if (const Let* let = std::get_if<Let>(&stmt)) return local(let->local);
    if (const Assign* assign = std::get_if<Assign>(&stmt)) return local(assign->local);
    if (const For* loop = std::get_if<For>(&stmt)) return local(loop->variable);
    if (const Store* store = std::get_if<Store>(&stmt)) {
      return program.buffers[store->buffer.index].name;
    }
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      return program.buffers[atomic->buffer.index].name;
    }
    return std::holds_alternative<Barrier>(stmt) ? "barrier" : "";
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

Lowered lowered(Variant variant, std::vector<std::uint32_t> lines) {
  Lowered all{std::move(variant.program),
              std::move(variant.launch),
              std::move(variant.bounds),
              {},
              {},
              {},
              {},
              std::move(lines)};
  all.types = types_of(all.program.body, all.program.buffers, {}, {});
  all.places = find_places(all.program, all.bounds);
  all.products = find_products(all.program.body, all.types, all.places);
  all.locals = find_locals(all.program.body, all.types);
  return all;
}

Lowered lowered(Variant variant, const Linked& source) {
  std::vector<std::uint32_t> lines =
      lines_of(variant.program, source.program(), source.source().lines);
  return lowered(std::move(variant), std::move(lines));
}

}  // namespace vyre
