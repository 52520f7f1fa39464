// Declarations, scopes, and the shape of the statement tree.
#include <algorithm>
#include <map>

#include "vyre/base/names.h"
#include "vyre/base/text.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

// A local is visible in the statements (from, to) of the preorder.
struct Scope {
  std::int64_t from = -1;
  std::int64_t to = 0;
};

void check_bindings(Context& context) {
  std::map<std::uint32_t, const BufferDecl*> first;  // by binding
  for (const BufferDecl& buffer : context.buffers) {
    if (is_bound(buffer.access)) first.try_emplace(buffer.binding, &buffer);
  }
  std::uint32_t free = 0;
  while (first.contains(free)) ++free;
  for (std::size_t i = 0; i < context.buffers.size(); ++i) {
    const BufferDecl& buffer = context.buffers[i];
    if (!is_bound(buffer.access) || first[buffer.binding] == &buffer) continue;
    context.report<message::duplicate_binding>({Place::Buffer, i}, first[buffer.binding]->name,
                                               buffer.name, buffer.binding, free);
  }
}

class Structure {
 public:
  explicit Structure(Context& context)
      : context_(context), body_(context.body), scopes_(context.body.locals.size()) {}

  void run() {
    for (const BufferDecl& buffer : context_.buffers) names_.number(buffer.name);
    buffer_names_ = names_.size();
    declare_parameters();
    walk();
    check_uses();
  }

 private:
  struct Frame : OpenBlock {
    bool ended = false;    // by `return` or `break`
    bool dead = false;     // what follows its `return` is reported already
    bool returns = false;  // its last statement always returns
    bool then_returns = false;
  };

  void declare_parameters() {
    loop_variables_.resize(body_.locals.size());
    if (context_.op == nullptr) return;
    for (std::uint32_t i = 0; i < context_.op->signature.inputs.size(); ++i) {
      declare(LocalId{i}, -1, static_cast<std::int64_t>(body_.stmts.size()), {Place::Parameter, i});
    }
  }

  void declare(LocalId local, std::int64_t from, std::int64_t to, Place place) {
    scopes_[local.index] = {from, to};
    const std::string& name = body_[local].name;
    const std::uint32_t number = names_.number(name);
    if (number >= current_.size()) current_.resize(number + 1);
    LocalId& current = current_[number];
    if (number < buffer_names_) {
      context_.report<message::local_hides_buffer>(place, name);
    } else if (current.exists() && scopes_[current.index].to > from) {
      context_.report<message::duplicate_local>(place, name);
      if (scopes_[current.index].to >= to) return;
    }
    current = local;
  }

  void walk() {
    const std::uint32_t count = static_cast<std::uint32_t>(body_.stmts.size());
    BlockStack<Frame> stack(body_);
    std::size_t loops = 0;
    const auto close = [&](const Frame& closed, Frame& now) {
      if (closed.is_loop) --loops;
      if (is_else_of(now, closed)) {
        now.then_returns = closed.returns;
      } else if (std::holds_alternative<Block>(body_.stmts[closed.owner])) {
        now.returns = closed.returns;
      } else {
        now.returns = closed.is_else && closed.then_returns && closed.returns;
      }
      now.returns |= now.dead;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
      stack.enter(i, close);
      const Stmt& stmt = body_.stmts[i];
      check_statement(i, stack.back(), loops);
      const bool is_loop = std::holds_alternative<For>(stmt);
      if (is_loop) ++loops;
      if (const LocalId local = declared(stmt); local.exists()) {
        loop_variables_[local.index] = is_loop;
        const std::uint32_t end = is_loop ? next(body_, StmtId{i}).index : stack.back().end;
        declare(local, i, end, {Place::Local, i});
      }
      stack.open(i);
    }
    stack.enter(count, close);
    if (context_.op != nullptr && !stack.back().returns) {
      context_.report<message::missing_return>(Place::End, shorten(context_.name));
    }
  }

  void check_statement(std::uint32_t i, Frame& block, std::size_t loops) {
    const Stmt& stmt = body_.stmts[i];
    if (block.ended) {
      const bool after_return = std::holds_alternative<Return>(body_.stmts[i - 1]);
      const bool after_break = std::holds_alternative<Break>(body_.stmts[i - 1]);
      context_.report<message::unreachable>({Place::Head, i}, after_return  ? "return"
                                                              : after_break ? "break"
                                                                            : "continue");
      block.ended = false;
      block.dead |= after_return;
    }
    block.returns = block.dead;
    visit(
        stmt,
        [&](const Break&) {
          block.ended = true;
          if (loops == 0) context_.report<message::break_outside>({Place::Head, i});
        },
        [&](const Continue&) {
          block.ended = true;
          if (loops == 0) context_.report<message::continue_outside>({Place::Head, i});
        },
        [&](const Return& result) {
          block.ended = block.returns = true;
          if (context_.program != nullptr && result.value.exists()) {
            context_.report<message::return_value>(context_.root(i, 0));
          } else if (context_.op != nullptr && !result.value.exists()) {
            context_.report<message::no_return_value>({Place::Head, i}, shorten(context_.name),
                                                      context_.op->signature.output);
          }
        },
        [&](const Barrier&) { refuse_in_op(i, "a barrier"); },
        [&](const Collective&) { refuse_in_op(i, "a collective"); },
        Nothing<Let, Assign, SetElement, Store, Atomic, If, For, Block>());
  }

  void refuse_in_op(std::uint32_t i, std::string_view what) {
    if (context_.op == nullptr) return;
    context_.report<message::effect_in_op>({Place::Head, i}, shorten(context_.name), what);
  }

  // Each expression is visible where all the locals in it are, which one forward loop finds. The
  // statements are walked as written only where something is not.
  void check_uses() {
    std::vector<Scope> visible_in(body_.exprs.size());
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      const Expr& expr = body_.exprs[i];
      Scope scope{-1, static_cast<std::int64_t>(body_.stmts.size())};
      if (expr.op == Operation::Local && expr.imm < scopes_.size()) scope = scopes_[expr.imm];
      for (ExprId operand : operands(body_, expr)) {
        scope.from = std::max(scope.from, visible_in[operand.index].from);
        scope.to = std::min(scope.to, visible_in[operand.index].to);
      }
      visible_in[i] = scope;
    }
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      const Roots ids = roots(body_.stmts[i]);
      std::uint32_t use = 0;
      for (ExprId root : ids) {
        const Scope scope = visible_in[root.index];
        if (scope.from < i && i < scope.to) {
          use += context_.sizes[root.index];
          continue;
        }
        for_each_use(body_, root, [&](ExprId id) {
          const Expr& expr = body_[id];
          if (expr.op == Operation::Local && expr.imm < scopes_.size() &&
              !visible(LocalId{expr.imm}, i)) {
            context_.report<message::local_out_of_scope>({Place::Use, i, use},
                                                         body_.locals[expr.imm].name);
          }
          ++use;
        });
      }
      const LocalId* local = local_of(body_.stmts[i]);
      if (local == nullptr || !local->exists() || declared(body_.stmts[i]).exists()) continue;
      const std::string& name = body_[*local].name;
      if (loop_variables_[local->index]) {
        context_.report<message::assigned_loop_variable>({Place::Local, i}, name);
      } else if (!visible(*local, i)) {
        context_.report<message::assigned_out_of_scope>({Place::Local, i}, name);
      }
    }
  }

  bool visible(LocalId local, std::uint32_t stmt) const {
    const Scope& scope = scopes_[local.index];
    return scope.from < stmt && stmt < scope.to;
  }

  Context& context_;
  const Body& body_;
  std::vector<Scope> scopes_;
  NameTable names_;
  std::uint32_t buffer_names_ = 0;    // the names below this are buffers
  std::vector<LocalId> current_;      // by name: the local that is visible the longest
  std::vector<bool> loop_variables_;  // by local
};

}  // namespace

void check_declarations(Context& context) {
  if (context.op != nullptr) {
    const OpSignature& signature = context.op->signature;
    const auto check = [&](const std::string& what, DataType type, Place place) {
      std::optional<Diagnostic> error = variable_error(what, type);
      if (error) context.add(*std::move(error), place);
    };
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const std::string what = "parameter `" + shorten(context.body.locals[i].name) + "`";
      check(what, signature.inputs[i], {Place::Parameter, i});
    }
    check("the result", signature.output, Place::Output);
    return;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (context.program->workgroup_size[axis] == 0) {
      context.report<message::empty_workgroup>(Place::WorkgroupSize, context.name,
                                               std::string(1, "xyz"[axis]));
    }
  }
  NameTable names;
  for (std::size_t i = 0; i < context.buffers.size(); ++i) {
    const BufferDecl& buffer = context.buffers[i];
    const std::uint32_t known = names.size();
    if (names.number(buffer.name) < known) {
      context.report<message::duplicate_buffer>({Place::Buffer, i}, buffer.name);
    }
    if (buffer.access == BufferAccess::Workgroup) {
      if (buffer.element == DataType::Bytes) {
        context.report<message::bytes_type>({Place::Buffer, i},
                                            "workgroup buffer `" + buffer.name + "`");
      } else if (buffer.count == 0) {
        context.report<message::workgroup_count>({Place::Buffer, i}, buffer.name, buffer.element);
      }
    }
    const std::uint64_t bytes = std::uint64_t{buffer.count} * stride(buffer.element);
    if (buffer.access == BufferAccess::Uniform && bytes > kMaxUniformBytes) {
      context.report<message::uniform_size>({Place::Buffer, i}, buffer.name, bytes);
    }
  }
  check_bindings(context);
}

void check_structure(Context& context) { Structure(context).run(); }

}  // namespace vyre
