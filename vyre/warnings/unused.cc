// What is declared and never used (L005), and results that are thrown away (L009).
#include "vyre/base/text.h"
#include "vyre/warnings/checks.h"

namespace vyre {
namespace {

// A name that says that nothing uses it.
bool is_quiet(std::string_view name) { return name.starts_with('_'); }

void check_buffers(const Context& item, std::vector<bool>& used) {
  for (const Expr& expr : item.body.exprs) {
    if (expr.op == Operation::Load || expr.op == Operation::Length) used[expr.imm] = true;
  }
  for (const Stmt& stmt : item.body.stmts) {
    std::visit(
        [&](const auto& s) {
          if constexpr (requires { s.buffer; }) used[s.buffer.index] = true;
        },
        stmt);
  }
}

// Whether a statement declares a local for what it gives besides its effect.
bool is_update(const Stmt& stmt) {
  const Atomic* atomic = std::get_if<Atomic>(&stmt);
  return atomic != nullptr && atomic->op != AtomicOp::Load;
}

// A loop says how often, with a variable that nothing need read.
bool is_loop(const Written& item, std::uint32_t stmt) {
  return std::holds_alternative<For>(item.context.body.stmts[stmt]) || item.head(stmt) == "for";
}

}  // namespace

void check_unused(const Written& item) {
  Context& context = item.context;
  const Body& body = context.body;
  std::vector<bool> read(body.locals.size());
  for (const Expr& expr : body.exprs) {
    if (expr.op == Operation::Local) read[expr.imm] = true;
  }
  const auto is_unused = [&](LocalId id) {
    return id.exists() && !read[id.index] && !is_quiet(body[id].name);
  };
  const std::size_t parameters = context.op == nullptr ? 0 : context.op->signature.inputs.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    if (!is_unused(LocalId{i})) continue;
    context.report<message::unused_parameter>({Place::Parameter, i}, shorten(body.locals[i].name));
  }
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Stmt& stmt = body.stmts[i];
    const LocalId local = declared(stmt);
    if (is_unused(local) && !is_loop(item, i)) {
      const std::string name = shorten(body[local].name);
      is_update(stmt) ? context.report<message::unused_result>({Place::Local, i}, name)
                      : context.report<message::unused_local>({Place::Local, i}, name);
    }
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic != nullptr && atomic->op == AtomicOp::Load && !atomic->result.exists()) {
      context.report<message::unused_value>({Place::Head, i}, info(atomic->op).text);
    }
  }
  if (body.stmts.empty()) return;  // not written yet
  std::vector<bool> used(context.buffers.size());
  check_buffers(context, used);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const std::string& name = context.buffers[i].name;
    if (used[i] || is_quiet(name)) continue;
    context.report<message::unused_buffer>({Place::Buffer, i}, shorten(name));
  }
}

}  // namespace vyre
