// What tables are called, and how much memory the arrays of programs and ops take: of each body,
// and of all that it calls, where each call as it is written has memory of its own.
#include <algorithm>
#include <unordered_map>

#include "vyre/base/text.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

constexpr std::uint64_t kLots = std::uint64_t{1} << 60;  // totals stay below

std::uint64_t bytes_of(DataType type) {
  return is_array(type) ? std::uint64_t{element_count(type)} * stride(element_type(type)) : 0;
}

class ArrayMemory {
 public:
  explicit ArrayMemory(const Callees& callees) : callees_(callees) {
    std::vector<const Callee*> ops;
    for (const auto& [id, callee] : callees.by_id) ops.push_back(&callee);
    std::ranges::sort(ops, {}, &Callee::level);  // what an op calls comes before it
    for (const Callee* callee : ops) {
      const Op& op = *callee->op;
      totals_[op.id] = std::min(kLots, bytes_of(op.signature.output) +
                                           own(op.body, {}, op.signature.inputs) + called(op.body));
    }
  }

  // Of the locals and parameters of a body.
  std::uint64_t own(const Body& body, std::span<const BufferDecl> buffers,
                    std::span<const DataType> inputs) const {
    std::vector<DataType> results;
    for (const std::string& id : body.callees) results.push_back(callees_[id].op->signature.output);
    const bool is_plain =
        std::ranges::none_of(
            body.exprs,
            [](const Expr& expr) { return expr.op != Operation::Call && is_written(expr.op); }) &&
        std::ranges::none_of(inputs, &is_array) && std::ranges::none_of(results, &is_array);
    // What a builder could not make is a local that does not exist; it has been reported.
    const bool is_broken = std::ranges::any_of(body.exprs, [&](const Expr& expr) {
      return expr.op == Operation::Local && expr.imm >= body.locals.size();
    });
    if (is_plain || is_broken) return 0;
    std::uint64_t bytes = 0;
    for (DataType type : types_of(body, buffers, inputs, results).locals) bytes += bytes_of(type);
    return bytes;
  }

  // Of all that a body calls.
  std::uint64_t called(const Body& body) const {
    std::vector<std::uint64_t> each;
    for (const std::string& id : body.callees) each.push_back(totals_.at(id));
    if (std::ranges::all_of(each, [](std::uint64_t bytes) { return bytes == 0; })) return 0;
    std::uint64_t bytes = 0;
    for (const Stmt& stmt : body.stmts) {
      for (ExprId root : roots(stmt)) {
        for_each_use(body, root, [&](ExprId id) {
          if (body[id].op == Operation::Call) bytes = std::min(kLots, bytes + each[body[id].imm]);
        });
      }
    }
    return bytes;
  }

  // The calls that take most.
  std::string chain(const Body& body) const {
    std::vector<std::string> ids;
    for (const Body* at = &body; ids.size() < kMaxCallDepth && !at->callees.empty();) {
      const std::string& most = *std::ranges::max_element(
          at->callees, {}, [&](const std::string& id) { return totals_.at(id); });
      if (totals_.at(most) == 0) break;
      ids.push_back(shorten(most));
      at = &callees_[most].op->body;
    }
    return shorten(join(ids, " → "), 400);
  }

 private:
  const Callees& callees_;
  std::unordered_map<std::string_view, std::uint64_t> totals_;  // by op
};

}  // namespace

void check_tables(Context& context) {
  std::unordered_map<std::string_view, const ConstTable*> tables;
  for (const ConstTable& table : context.body.tables) {
    if (!tables.emplace(table.name, &table).second) {
      context.report<message::different_tables>(Place::Name, shorten(table.name));
    }
  }
  if (tables.empty()) return;
  const auto check = [&](const std::string& name, Place place) {
    if (!tables.contains(name)) return;
    context.report<message::hidden_table>(place, shorten(name));
  };
  for (std::size_t i = 0; i < context.buffers.size(); ++i) {
    check(context.buffers[i].name, {Place::Buffer, i});
  }
  for (std::size_t i = 0; context.op != nullptr && i < context.op->signature.inputs.size(); ++i) {
    check(context.body.locals[i].name, {Place::Parameter, i});
  }
  for (std::uint32_t i = 0; i < context.body.stmts.size(); ++i) {
    const LocalId local = declared(context.body.stmts[i]);
    if (local.exists()) check(context.body[local].name, {Place::Local, i});
  }
}

void check_arrays(std::span<Context> contexts, const Callees& callees) {
  const ArrayMemory memory(callees);
  std::unordered_map<std::string_view, const ConstTable*> tables;
  for (Context& context : contexts) {
    const Body& body = context.body;
    const std::uint64_t own =
        memory.own(body, context.buffers,
                   context.op != nullptr ? std::span(context.op->signature.inputs)
                                         : std::span<const DataType>());
    const std::string name = shorten(context.name);
    if (own > kMaxBodyArrays) context.report<message::body_arrays>(Place::Name, name, own);
    if (own + memory.called(body) > kMaxArrayMemory) {
      context.report<message::inlined_arrays>(Place::Name, name, memory.chain(body));
    }
    for (const ConstTable& table : body.tables) {
      const auto [known, fresh] = tables.emplace(table.name, &table);
      if (fresh || *known->second == table) continue;
      context.report<message::different_tables>(Place::Name, shorten(table.name));
    }
  }
}

}  // namespace vyre
