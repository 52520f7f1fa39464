#include "vyre/warnings/plain.h"

#include <map>

#include "vyre/ir/intern.h"

namespace vyre {
namespace {

class Writer {
 public:
  explicit Writer(const Context& item)
      : item_(item), from_(item.body), interner_(plain_.program.body, from_.exprs.size()) {
    Program& program = plain_.program;
    if (item.program != nullptr) {
      program.workgroup_size = item.program->workgroup_size;
      program.buffers = item.program->buffers;
    }
    program.body.locals = from_.locals;
  }

  Plain write() {
    if (item_.op != nullptr) add_parameters();
    for (std::size_t i = 0; i < from_.exprs.size(); ++i) plain_.exprs.push_back(copy(ExprId{i}));
    for (const Stmt& stmt : from_.stmts) plain_.program.body.stmts.push_back(copy(stmt));
    return std::move(plain_);
  }

 private:
  // Memory of one invocation.
  BufferId memory(DataType element, std::uint32_t count) {
    plain_.program.buffers.push_back({"", 0, BufferAccess::Private, element, count});
    return BufferId{plain_.program.buffers.size() - 1};
  }
  // A value of which nothing is known, not even whether it is that of another call: an element of
  // its own.
  ExprId unknown(DataType type) {
    const auto [found, is_new] = unknowns_.try_emplace(type);
    if (is_new) found->second = memory(type, 0xffffffff);
    return interner_.load(found->second, number(unknown_count_++));
  }
  ExprId number(std::uint32_t value) { return interner_.literal(DataType::U32, {{value}}); }

  // Where the elements of an array are.
  BufferId array_of(ExprId id) {
    const Expr& expr = from_[id];
    if (expr.op == Operation::Local) return array_of(LocalId{expr.imm});
    const auto [found, is_new] = arrays_.try_emplace(id);
    if (!is_new) return found->second;
    const DataType type = item_.types[id];
    found->second = memory(element_type(type), element_count(type));
    if (expr.op == Operation::Table) {
      const ConstTable& table = from_.tables[expr.imm];
      BufferDecl& buffer = plain_.program.buffers.back();
      buffer.access = BufferAccess::Constant;
      buffer.element = table.element;
      buffer.contents = table.contents;
    }
    return found->second;
  }
  BufferId array_of(LocalId id) {
    const auto [found, is_new] = local_arrays_.try_emplace(id);
    const DataType type = item_.types[id];
    if (is_new) found->second = memory(element_type(type), element_count(type));
    return found->second;
  }

  void add_parameters() {
    std::uint32_t local = 0;
    for (DataType type : item_.op->signature.inputs) {
      const ExprId value = is_array(type) ? number(0) : unknown(type);
      plain_.program.body.stmts.push_back(Let{LocalId{local++}, value});
    }
    plain_.first = local;
  }

  ExprId copy(ExprId id) {
    const Expr& expr = from_[id];
    const DataType type = item_.types[id];
    if (expr.op == Operation::Element) {
      return interner_.load(array_of(expr.args[0]), plain_[expr.args[1]]);
    }
    if (expr.op == Operation::Count) return number(element_count(item_.types[expr.args[0]]));
    if (is_array(type)) return {};
    if (expr.op == Operation::Call) return unknown(type);
    if (expr.op == Operation::Literal) {
      return interner_.literal(type, literal_bits(from_, expr));
    }
    args_.clear();
    for (ExprId arg : operands(from_, expr)) args_.push_back(plain_[arg]);
    return interner_.make(expr.op, expr.detail, expr.imm, args_);
  }

  Stmt copy(const Stmt& written) {
    const auto moved = [&](StmtId id) { return plain_.at(id.index); };
    // An array is in its memory, and what the local holds does not matter.
    const auto value = [&](ExprId id) { return plain_[id].exists() ? plain_[id] : number(0); };
    const auto with_roots = [&](auto stmt) -> Stmt {
      Stmt copied = stmt;
      for_each_root(copied, [&](ExprId& root) {
        if (root.exists()) root = value(root);
      });
      return copied;
    };
    return visit(
        written, [&](const Let& s) { return with_roots(s); },
        [&](const Assign& s) { return with_roots(s); },
        [&](const Store& s) { return with_roots(s); },
        [&](const Atomic& s) { return with_roots(s); },
        [&](const Collective& s) { return with_roots(s); },
        [&](const If& s) -> Stmt {
          return If{value(s.condition), moved(s.else_begin), moved(s.end)};
        },
        [&](const For& s) -> Stmt {
          return For{s.variable, value(s.from), value(s.to), moved(s.end)};
        },
        [&](const Block& s) -> Stmt { return Block{moved(s.end)}; },
        [&](const Break&) -> Stmt { return Break{}; },
        [&](const Return&) -> Stmt { return Return{}; },
        [&](const Barrier&) -> Stmt { return Barrier{}; },
        [&](const SetElement& s) -> Stmt {
          return Store{array_of(s.local), value(s.index), value(s.value)};
        },
        // What is known after a loop does not depend on where its rounds end.
        [&](const Continue&) -> Stmt { return Break{}; });
  }

  const Context& item_;
  const Body& from_;
  Plain plain_;
  Interner interner_;
  std::map<DataType, BufferId> unknowns_;
  std::uint32_t unknown_count_ = 0;
  std::map<ExprId, BufferId> arrays_;
  std::map<LocalId, BufferId> local_arrays_;
  std::vector<ExprId> args_;
};

}  // namespace

Plain plain(const Context& item) { return Writer(item).write(); }

}  // namespace vyre
