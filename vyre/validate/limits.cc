// Sizes: how many statements, expressions and buffers, how deeply they nest, how long names are;
// what names and descriptions contain.
#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/text/lexer.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

void check_name(Context& context, std::string_view name, Place place) {
  if (name.size() > kMaxNameBytes) {
    context.report<message::long_name>(place, name.size());
  } else if (!is_identifier(name)) {
    context.report<message::not_identifier>(place, shorten(name));
  } else if (is_reserved(name)) {
    context.report<message::reserved_name>(place, name);
  }
}

// The readers of texts refuse these; a builder or a tool may put anything there.
void check_description(Context& context) {
  const std::string_view text = context.op->description;
  const std::size_t invalid = first_invalid_utf8(text);
  const std::size_t bad = first_control(text.substr(0, invalid));
  if (bad == text.size()) return;
  const std::string_view what = bad == invalid ? "a byte that is not UTF-8" : "a control character";
  context.report<message::bad_description>(Place::Name, shorten(context.name), what,
                                           hex_byte(text[bad]));
}

void check_names(Context& context) {
  if (context.program != nullptr) {
    check_name(context, context.name, Place::Name);
  } else if (context.name.size() > kMaxNameBytes) {
    context.report<message::long_name>(Place::Name, context.name.size());
  } else if (!is_op_id(context.name)) {
    context.report<message::bad_op_id>(Place::Name, shorten(context.name));
  }
  for (std::size_t i = 0; i < context.buffers.size(); ++i) {
    check_name(context, context.buffers[i].name, {Place::Buffer, i});
  }
  for (const ConstTable& table : context.body.tables) check_name(context, table.name, Place::Name);
  if (context.op != nullptr) {
    check_description(context);
    for (std::size_t i = 0; i < context.op->signature.inputs.size(); ++i) {
      check_name(context, context.body.locals[i].name, {Place::Parameter, i});
    }
  }
  for (std::uint32_t i = 0; i < context.body.stmts.size(); ++i) {
    const LocalId local = declared(context.body.stmts[i]);
    if (local.exists()) check_name(context, context.body[local].name, {Place::Local, i});
  }
}

std::uint64_t name_bytes(const Context& context, const Expr& expr) {
  const Body& body = context.body;
  if (expr.op == Operation::Local && expr.imm < body.locals.size()) {
    return body.locals[expr.imm].name.size();
  }
  if (expr.op == Operation::Load || expr.op == Operation::Length) {
    return context.buffers[expr.imm].name.size();
  }
  if (expr.op == Operation::Table) return body.tables[expr.imm].name.size();
  return expr.op == Operation::Call ? body.callees[expr.imm].size() : 0;
}

std::uint64_t name_bytes(const Context& context, const Stmt& stmt) {
  std::uint64_t bytes = 0;
  std::visit(
      [&](const auto& s) {
        if constexpr (requires { s.local; }) {
          if (s.local.exists()) bytes += context.body[s.local].name.size();
        }
        if constexpr (requires { s.buffer; }) {
          if (s.buffer.exists()) bytes += context.buffers[s.buffer.index].name.size();
        }
      },
      stmt);
  return bytes;
}

}  // namespace

bool check_limits(Context& context) {
  const Body& body = context.body;
  check_names(context);
  if (context.buffers.size() > kMaxBuffers) {
    context.report<message::too_many_buffers>({Place::Buffer, kMaxBuffers}, shorten(context.name));
  }
  if (body.stmts.size() > kMaxStmts) {
    context.report<message::too_many_statements>({Place::Head, kMaxStmts}, shorten(context.name));
    return false;
  }
  if (const std::optional<StmtId> deep = too_deep(body)) {
    context.report<message::statement_depth>({Place::Head, deep->index});
  }

  WrittenOut written = written_out(body);
  context.sizes = std::move(written.sizes);
  // Bytes of names as written out: a short program may mention a long name very often.
  constexpr std::uint64_t kTooManyBytes = kMaxSourceBytes + 1;
  std::vector<std::uint64_t> bytes(body.exprs.size());
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    bytes[i] = name_bytes(context, body.exprs[i]);
    for (ExprId operand : operands(body, body.exprs[i])) {
      bytes[i] = std::min(kTooManyBytes, bytes[i] + bytes[operand.index]);
    }
  }
  std::uint64_t total_bytes = 0;
  for (const Stmt& stmt : body.stmts) {
    total_bytes += name_bytes(context, stmt);
    for (ExprId root : roots(stmt)) total_bytes += bytes[root.index];
  }
  if (total_bytes > kMaxSourceBytes) {
    context.report<message::too_long_text>(Place::Name, shorten(context.name));
    return false;
  }
  if (written.total > kMaxExprs) {
    context.report<message::too_many_expressions>(Place::Name, shorten(context.name));
    return false;
  }
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const Roots ids = roots(body.stmts[i]);
    for (std::size_t k = 0; k < ids.count; ++k) {
      const std::uint32_t depth = written.depths[ids.ids[k].index];
      if (depth > kMaxExprDepth) {
        context.report<message::expression_depth>(context.root(i, k), depth);
      }
    }
  }
  return true;
}

}  // namespace vyre
