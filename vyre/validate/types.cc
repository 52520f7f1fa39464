// What types expressions have, and whether operands fit.
//
// Expressions are checked once each, in one forward loop over the arena, statement by statement so
// that a local's type is known before it is used. Errors are kept by expression; only when there
// are some is the body walked as written, to report each at every place where it is used.
#include <optional>

#include "vyre/base/text.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

constexpr int kSelf = -1;

struct ExprError {
  ExprId id;
  int operand;  // which operand is to blame, or kSelf
  Diagnostic diagnostic;
};

class TypeCheck {
 public:
  explicit TypeCheck(Context& context) : context_(context), body_(context.body) {}

  void run();

 private:
  void check_expr(ExprId id);
  DataType type_of(ExprId id, const Expr& expr);
  DataType type_of_select(ExprId id, std::span<const ExprId> args);
  DataType type_of_cast(ExprId id, DataType target, ExprId arg);
  DataType type_of_lane(ExprId id, std::uint32_t lane, ExprId arg);
  DataType type_of_call(ExprId id, const Expr& call, std::span<const ExprId> args);
  DataType type_of_operation(ExprId id, const OperationInfo& row, std::span<const ExprId> args);
  std::string converted(ExprId arg, DataType got, DataType wanted) const;
  void check_lanes(ExprId id, DataType vector, std::span<const ExprId> args);
  void check_statement(std::uint32_t i);
  void report_errors();

  template <class Message, class... Arguments>
  void blame(ExprId id, int operand, const Arguments&... arguments) {
    if (!full()) errors_.push_back({id, operand, diagnose<Message>(arguments...)});
  }
  bool full() const { return errors_.size() >= kMaxDiagnostics || context_.full(); }
  DataType type(ExprId id) const { return context_.types[id]; }

  Context& context_;
  const Body& body_;
  std::vector<ExprError> errors_;
};

void TypeCheck::run() {
  context_.types.exprs.assign(body_.exprs.size(), DataType::Unknown);
  context_.types.locals.assign(body_.locals.size(), DataType::Unknown);
  if (context_.op != nullptr) {
    const auto& inputs = context_.op->signature.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      context_.types.locals[i] = inputs[i] == DataType::Bytes ? DataType::Unknown : inputs[i];
    }
  }
  // In canonical numbering a statement's new expressions follow those of the statements before.
  std::uint32_t checked = 0;
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    for (ExprId root : roots(body_.stmts[i])) {
      for (; checked <= root.index; ++checked) check_expr(ExprId{checked});
    }
    check_statement(i);
  }
  report_errors();
}

void TypeCheck::check_expr(ExprId id) { context_.types.exprs[id.index] = type_of(id, body_[id]); }

DataType TypeCheck::type_of(ExprId id, const Expr& expr) {
  const std::span<const ExprId> args = operands(body_, expr);
  switch (expr.op) {
    case Operation::Literal: return type_of_detail(expr);
    case Operation::Local:
      return expr.imm < body_.locals.size() ? context_.types.locals[expr.imm] : DataType::Unknown;
    case Operation::Load: {
      const BufferDecl& buffer = context_.buffers[expr.imm];
      const DataType index = type(args[0]);
      if (index != DataType::U32 && index != DataType::Unknown) {
        blame<message::index_type>(id, 0, buffer.name, index);
      }
      return loaded_type(buffer.element);
    }
    case Operation::Length: return DataType::U32;
    case Operation::InvocationId:
    case Operation::WorkgroupId:
    case Operation::LocalId:
      if (context_.op != nullptr) {
        const std::string_view what = expr.op == Operation::InvocationId  ? "invocation_id"
                                      : expr.op == Operation::WorkgroupId ? "workgroup_id"
                                                                          : "local_id";
        blame<message::id_in_op>(id, kSelf, context_.name, what);
      }
      return DataType::U32;
    case Operation::Select: return type_of_select(id, args);
    case Operation::Cast: return type_of_cast(id, type_of_detail(expr), args[0]);
    case Operation::Vec2: check_lanes(id, DataType::Vec2U32, args); return DataType::Vec2U32;
    case Operation::Vec4: check_lanes(id, DataType::Vec4U32, args); return DataType::Vec4U32;
    case Operation::Lane: return type_of_lane(id, expr.detail, args[0]);
    case Operation::Call: return type_of_call(id, expr, args);
#define OPERATION(name, tag) case Operation::name:
#include "vyre/ir/ops.def"
      return type_of_operation(id, info(expr.op), args);
  }
  return DataType::Unknown;
}

DataType TypeCheck::type_of_select(ExprId id, std::span<const ExprId> args) {
  const DataType condition = type(args[0]);
  if (condition != DataType::Unknown && !contains(type_sets::Truth, condition)) {
    if (!full()) errors_.push_back({id, 0, condition_error(condition)});
  }
  const DataType a = type(args[1]);
  const DataType b = type(args[2]);
  if (a == DataType::Unknown || b == DataType::Unknown) return DataType::Unknown;
  if (a == b) return a;
  blame<message::select_sides>(id, kSelf, a, b);
  return DataType::Unknown;
}

DataType TypeCheck::type_of_cast(ExprId id, DataType target, ExprId arg) {
  if (target == DataType::Bytes) {
    blame<message::cast_to_bytes>(id, kSelf);
    return DataType::Unknown;
  }
  const DataType source = type(arg);
  if (source != DataType::Unknown && !cast_exists(source, target)) {
    blame<message::unsupported_cast>(id, kSelf, source, target, list_of(cast_targets(source)));
  }
  return target;
}

void TypeCheck::check_lanes(ExprId id, DataType vector, std::span<const ExprId> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const DataType lane = type(args[i]);
    if (lane != DataType::U32 && lane != DataType::Unknown) {
      blame<message::lane_operand>(id, static_cast<int>(i), vector, lane);
    }
  }
}

DataType TypeCheck::type_of_lane(ExprId id, std::uint32_t lane, ExprId arg) {
  const DataType vector = type(arg);
  if (vector == DataType::Unknown) return DataType::U32;
  if (!is_vector(vector) || lane >= info(vector).lanes) {
    blame<message::missing_lane>(id, kSelf, vector, std::string(1, "xyzw"[lane]),
                                 vector == DataType::Vec2U32 ? "its lanes are .x and .y"
                                 : cast_exists(vector, DataType::Vec4U32)
                                     ? "only vectors have lanes; cast it: `vec4u32(…)`"
                                     : "only vectors have lanes; cast it: `vec2u32(…)`");
  }
  return DataType::U32;
}

DataType TypeCheck::type_of_call(ExprId id, const Expr& call, std::span<const ExprId> args) {
  const std::string_view callee_id = body_.callees[call.imm];
  const Callee& callee = context_.callees[callee_id];
  if (callee.op == nullptr) {
    if (!full()) errors_.push_back({id, kSelf, unknown_callee(context_, callee_id)});
    return DataType::Unknown;
  }
  if (!full()) {
    if (std::optional<Diagnostic> error = level_error(context_, callee_id)) {
      errors_.push_back({id, kSelf, std::move(*error)});
    }
  }
  if (!callee.valid_signature) {
    // An op of this module has been reported where it is defined.
    if (!callee.in_module) blame<message::broken_signature>(id, kSelf, shorten(callee_id));
    return DataType::Unknown;
  }
  const OpSignature& signature = callee.op->signature;
  if (args.size() != signature.inputs.size()) {
    blame<message::argument_count>(id, kSelf, callee_id,
                                   plural(signature.inputs.size(), "argument"),
                                   plural(args.size(), "argument"));
    return signature.output;
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const DataType got = type(args[i]);
    const DataType wanted = signature.inputs[i];
    if (got != wanted && got != DataType::Unknown) {
      blame<message::argument_type>(id, static_cast<int>(i), i + 1, callee_id, got, wanted,
                                    converted(args[i], got, wanted), info(wanted).name,
                                    info(got).name);
    }
  }
  return signature.output;
}

// How to write an argument so that it has the wanted type.
std::string TypeCheck::converted(ExprId arg, DataType got, DataType wanted) const {
  if (!cast_exists(got, wanted)) return "pass a value of type " + std::string(text(wanted));
  const Expr& expr = body_[arg];
  const bool same_number = expr.op == Operation::Literal && got == DataType::U32 &&
                           (wanted == DataType::U64 || wanted == DataType::U128 ||
                            (wanted == DataType::I32 && expr.imm <= 0x7fffffff));
  if (same_number) return "write `" + print_literal({wanted, literal_bits(body_, expr)}) + "`";
  const std::string written = print_expr(body_, context_.buffers, arg, 40);
  return "write `" + std::string(text(wanted)) + "(" + shorten(written) + ")`";
}

DataType TypeCheck::type_of_operation(ExprId id, const OperationInfo& row,
                                      std::span<const ExprId> args) {
  const DataType first = type(args[0]);
  if (first == DataType::Unknown) return DataType::Unknown;
  if (const Operation other = resolve(row.op, first); other != row.op && context_.spelt) {
    context_.spelt->exprs[id.index].op = other;
    return type_of_operation(id, info(other), args);
  }
  if (!contains(row.types, first)) {
    blame<message::operand_type>(id, 0, row.text, first, list_of(row.types));
    return DataType::Unknown;
  }
  if (row.arity == 2) {
    const DataType second = type(args[1]);
    const DataType wanted = second_operand(row.op, first);
    if (second == DataType::Unknown) return DataType::Unknown;
    if (second != wanted) {
      if (row.signature == Signature::Shift) {
        blame<message::shift_count>(id, 1, row.text, first, second, wanted);
      } else {
        blame<message::operand_types>(id, kSelf, row.text, first, second);
      }
      return DataType::Unknown;
    }
  }
  return result_of(row.op, first);
}

// The parts of a statement that only types decide.
void TypeCheck::check_statement(std::uint32_t i) {
  const auto fits = [&](ExprId value, DataType wanted) {
    const DataType got = type(value);
    return got == wanted || got == DataType::Unknown || wanted == DataType::Unknown;
  };
  visit(
      body_.stmts[i],
      [&](const Let& let) { context_.types.locals[let.local.index] = type(let.value); },
      [&](const Assign& assign) {
        if (!assign.local.exists()) return;
        const DataType target = context_.types[assign.local];
        if (fits(assign.value, target)) return;
        context_.report<message::assigned_type>(context_.root(i, 0), body_[assign.local].name,
                                                target, type(assign.value));
      },
      [&](const If& branch) {
        const DataType condition = type(branch.condition);
        if (condition == DataType::Unknown || contains(type_sets::Truth, condition)) return;
        context_.add(condition_error(condition), context_.root(i, 0));
      },
      [&](const For& loop) {
        context_.types.locals[loop.variable.index] = DataType::U32;
        const ExprId bounds[] = {loop.from, loop.to};
        for (std::size_t k = 0; k < 2; ++k) {
          if (fits(bounds[k], DataType::U32)) continue;
          context_.report<message::loop_bound>(context_.root(i, k), k == 0 ? "lower" : "upper",
                                               type(bounds[k]));
        }
      },
      [&](const Atomic& atomic) {
        if (!atomic.result.exists() || !atomic.buffer.exists()) return;
        context_.types.locals[atomic.result.index] =
            loaded_type(context_.buffers[atomic.buffer.index].element);
      },
      [&](const Return& result) {
        if (context_.op == nullptr || !result.value.exists()) return;
        const DataType wanted = context_.op->signature.output;
        if (wanted == DataType::Bytes || fits(result.value, wanted)) return;
        context_.report<message::returned_type>(context_.root(i, 0), shorten(context_.name), wanted,
                                                type(result.value));
      },
      Nothing<Store, Block, Break, Barrier>());
}

// Walks the body as written and reports each wrong expression wherever it stands.
void TypeCheck::report_errors() {
  if (errors_.empty()) return;
  std::vector<std::uint32_t> first_error(body_.exprs.size(), 0);  // index + 1
  for (std::size_t e = errors_.size(); e-- > 0;) {
    first_error[errors_[e].id.index] = static_cast<std::uint32_t>(e + 1);
  }
  std::vector<std::uint32_t> places;  // of operands whose user is still to come
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    std::uint32_t use = 0;
    for (ExprId root : roots(body_.stmts[i])) {
      for_each_use(body_, root, [&](ExprId id) {
        const std::size_t count = operands(body_, body_[id]).size();
        const std::uint32_t* operand_places = places.data() + places.size() - count;
        for (std::size_t e = first_error[id.index]; e != 0 && e <= errors_.size(); ++e) {
          const ExprError& error = errors_[e - 1];
          if (error.id != id) break;
          context_.add(
              error.diagnostic,
              Place::at_use(i, error.operand == kSelf ? use : operand_places[error.operand]));
        }
        places.resize(places.size() - count);
        places.push_back(use++);
      });
      places.clear();
    }
  }
}

}  // namespace

Diagnostic condition_error(DataType type) {
  if (is_vector(type)) return diagnose<message::vector_condition>(type);
  return diagnose<message::condition_type>(type, text(type));
}

void check_types(Context& context) { TypeCheck(context).run(); }

}  // namespace vyre
