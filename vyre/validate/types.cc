// What types expressions have, whether operands fit, and which buffers may be stored to and updated
// atomically, with what.
//
// Expressions are checked once each, in one forward loop over the arena, statement by statement so
// that a local's type is known before it is used. Errors are kept by expression; only when there
// are some is the body walked as written, to report each at every place where it is used.
#include <optional>

#include "vyre/base/text.h"
#include "vyre/ir/uniformity.h"
#include "vyre/text/print.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

struct ExprError {
  ExprId id;
  int operand;  // which operand is to blame, or kWhole
  Diagnostic diagnostic;
};

class TypeCheck {
 public:
  explicit TypeCheck(Context& context) : context_(context), body_(context.body) {}

  void run() {
    context_.types.exprs.assign(body_.exprs.size(), DataType::Unknown);
    context_.types.locals.assign(body_.locals.size(), DataType::Unknown);
    if (context_.op != nullptr) {
      const auto& inputs = context_.op->signature.inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        context_.types.locals[i] = is_variable_type(inputs[i]) ? inputs[i] : DataType::Unknown;
      }
    }
    // In canonical numbering a statement's new expressions follow those of the statements before.
    std::uint32_t checked = 0;
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      for (ExprId root : roots(body_.stmts[i])) {
        for (; checked <= root.index; ++checked)
          context_.types.exprs[checked] = type_of(ExprId{checked});
      }
      check_statement(i);
    }
    report_errors();
  }

 private:
  DataType type_of(ExprId id) {
    const std::span<const ExprId> args = operands(body_, body_[id]);
    if (context_.spelt != nullptr && !is_form(body_[id].op)) {
      Operation& op = context_.spelt->exprs[id.index].op;
      op = resolve(op, type(args[0]));
    }
    const Expr& expr = body_[id];
    if (expr.op == Operation::Local) {
      return expr.imm < body_.locals.size() ? context_.types.locals[expr.imm] : DataType::Unknown;
    }
    if (expr.op == Operation::Call) return type_of_call(id, expr, args);
    if (expr.op == Operation::Table) return body_.tables[expr.imm].type();
    if (expr.op == Operation::Load) {
      const BufferDecl& buffer = context_.buffers[expr.imm];
      const DataType index = type(args[0]);
      if (index != DataType::U32 && index != DataType::Unknown) {
        blame<message::index_type>(id, 0, buffer.name, index);
      }
      return loaded_type(buffer.element);
    }
    if (const std::string_view name = id_name(expr.op); !name.empty() && context_.op != nullptr) {
      blame<message::id_in_op>(id, kWhole, context_.name, name);
    }
    return checked_type(
        expr, [&](std::size_t i) { return type(args[i]); },
        [&](int operand, auto make) {
          if (!full()) errors_.push_back({id, operand, make()});
        });
  }

  DataType type_of_call(ExprId id, const Expr& call, std::span<const ExprId> args) {
    const std::string_view callee_id = body_.callees[call.imm];
    const Callee& callee = context_.callees[callee_id];
    if (callee.op == nullptr) {
      if (full()) return DataType::Unknown;
      std::vector<DataType> types;
      for (ExprId arg : args) types.push_back(type(arg));
      errors_.push_back({id, kWhole, unknown_callee(context_, callee_id, types)});
      return DataType::Unknown;
    }
    if (!full()) {
      if (std::optional<Diagnostic> error = level_error(context_, callee_id)) {
        errors_.push_back({id, kWhole, std::move(*error)});
      }
    }
    if (!callee.valid_signature) {
      // An op of this module has been reported where it is defined.
      if (!callee.in_module) blame<message::broken_signature>(id, kWhole, shorten(callee_id));
      return DataType::Unknown;
    }
    const OpSignature& signature = callee.op->signature;
    if (args.size() != signature.inputs.size()) {
      blame<message::argument_count>(id, kWhole, callee_id,
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
  std::string converted(ExprId arg, DataType got, DataType wanted) const {
    if (!cast_exists(got, wanted)) return "pass a value of type " + std::string(text(wanted));
    const Expr& expr = body_[arg];
    const bool same_number = expr.op == Operation::Literal && got == DataType::U32 &&
                             (wanted == DataType::U64 || wanted == DataType::U128 ||
                              (wanted == DataType::I32 && expr.imm <= 0x7fffffff));
    if (same_number) return "write `" + print_literal({wanted, literal_bits(body_, expr)}) + "`";
    const std::string written = print_expr(body_, context_.buffers, arg, 40);
    return "write `" + std::string(text(wanted)) + "(" + shorten(written) + ")`";
  }

  // Root `k` of a statement has the wanted type; otherwise the last argument says which it has.
  template <class Message, class... Arguments>
  void require(std::uint32_t stmt, std::size_t k, DataType wanted, const Arguments&... arguments) {
    const DataType got = type(roots(body_.stmts[stmt]).ids[k]);
    if (got == wanted || got == DataType::Unknown || wanted == DataType::Unknown) return;
    context_.report<Message>(context_.root(stmt, k), arguments..., got);
  }

  // The same of a value that becomes that of something with a name; other messages for arrays,
  // which are not cast, and for the inverse of a bool.
  template <class Message, class OfArray, class OfNot>
  void require_kept(std::uint32_t stmt, std::size_t k, DataType wanted, const std::string& name) {
    const ExprId id = roots(body_.stmts[stmt]).ids[k];
    const Expr& value = body_[id];
    if (is_array(wanted) || is_array(type(id))) {
      require<OfArray>(stmt, k, wanted, name, wanted);
    } else if (wanted == DataType::Bool && value.op == Operation::LogicalNot &&
               type(value.args[0]) == DataType::Bool) {
      std::string truth = shorten(print_expr(body_, context_.buffers, value.args[0], 40));
      if (!is_form(body_[value.args[0]].op)) truth = "(" + truth + ")";
      context_.report<OfNot>(context_.root(stmt, k), name, wanted, type(id), truth);
    } else {
      require<Message>(stmt, k, wanted, name, wanted);
    }
  }
  void require_stored(std::uint32_t stmt, DataType wanted, const std::string& name) {
    require_kept<message::stored_type, message::stored_array, message::stored_not>(stmt, 1, wanted,
                                                                                   name);
  }

  // What types decide in a statement, and which buffers it may store to and update.
  void check_statement(std::uint32_t i) {
    visit(
        body_.stmts[i],
        [&](const Let& let) {
          DataType& own = context_.types.locals[let.local.index];
          own = type(let.value);
          const std::string what = "local `" + shorten(body_[let.local].name) + "`";
          if (std::optional<Diagnostic> error = variable_error(what, own)) {
            context_.add(*std::move(error), {Place::Local, i});
            own = DataType::Unknown;
          }
        },
        [&](const Assign& assign) {
          if (!assign.local.exists()) return;
          const DataType target = context_.types[assign.local];
          require_kept<message::assigned_type, message::assigned_array, message::assigned_not>(
              i, 0, target, body_[assign.local].name);
        },
        [&](const Store& store) {
          if (!store.buffer.exists()) return;
          const BufferDecl& buffer = context_.buffers[store.buffer.index];
          const DataType element = loaded_type(buffer.element);
          require<message::index_type>(i, 0, DataType::U32, buffer.name);
          if (!is_written(buffer.access)) {
            context_.report<message::store_to_read_only>({Place::Accessed, i}, buffer.name,
                                                         text(buffer.access));
          }
          require_stored(i, element, buffer.name);
        },
        [&](const Atomic& atomic) {
          if (!atomic.buffer.exists()) return;
          const BufferDecl& buffer = context_.buffers[atomic.buffer.index];
          if (atomic.result.exists()) {
            context_.types.locals[atomic.result.index] = loaded_type(buffer.element);
          }
          require<message::index_type>(i, 0, DataType::U32, buffer.name);
          if (buffer.access != BufferAccess::ReadWrite) {
            context_.report<message::atomic_access>({Place::Accessed, i}, buffer.name,
                                                    text(buffer.access));
          }
          if (buffer.element == DataType::Unknown) return;
          if (!contains(type_sets::Word, buffer.element)) {
            context_.report<message::atomic_element>({Place::Accessed, i}, buffer.name,
                                                     buffer.element);
            return;
          }
          for (std::size_t k = 1; k < roots(body_.stmts[i]).count; ++k) {
            require<message::atomic_operand>(i, k, buffer.element, buffer.name, buffer.element);
          }
        },
        [&](const If& branch) {
          const DataType condition = type(branch.condition);
          if (condition == DataType::Unknown || contains(type_sets::Truth, condition)) return;
          context_.add(condition_error(condition), context_.root(i, 0));
        },
        [&](const For& loop) {
          context_.types.locals[loop.variable.index] = DataType::U32;
          require<message::loop_bound>(i, 0, DataType::U32, "lower");
          require<message::loop_bound>(i, 1, DataType::U32, "upper");
        },
        [&](const Return& result) {
          if (context_.op == nullptr || !result.value.exists()) return;
          const DataType wanted = context_.op->signature.output;
          if (!is_variable_type(wanted)) return;
          require<message::returned_type>(i, 0, wanted, shorten(context_.name), wanted);
        },
        [&](const SetElement& set) {
          if (!set.local.exists()) return;
          const DataType array = context_.types[set.local];
          const std::string& name = body_[set.local].name;
          require<message::element_index>(i, 0, DataType::U32);
          if (array == DataType::Unknown) return;
          if (!is_array(array)) {
            context_.report<message::indexed_local>({Place::Local, i}, name, array);
          } else {
            require_stored(i, element_type(array), name);
          }
        },
        [&](const Collective& collective) {
          const CollectiveInfo& row = info(collective.op);
          const DataType value = type(collective.value);
          if (collective.result.exists()) context_.types.locals[collective.result.index] = value;
          if (value != DataType::Unknown && !contains(type_sets::Combined, value)) {
            context_.add(operand_error(row.text, value, type_sets::Combined), context_.root(i, 0));
          }
          if (row.chooses()) require<message::collective_number>(i, 1, DataType::U32, row.text);
        },
        Nothing<Block, Break, Barrier, Continue>());
  }

  // Walks the body as written and reports each wrong expression wherever it stands.
  void report_errors() {
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
                {Place::Use, i, error.operand == kWhole ? use : operand_places[error.operand]});
          }
          places.resize(places.size() - count);
          places.push_back(use++);
        });
        places.clear();
      }
    }
  }

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

}  // namespace

void check_types(Context& context) { TypeCheck(context).run(); }

}  // namespace vyre
