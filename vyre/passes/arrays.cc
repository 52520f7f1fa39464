// Makes locals of arrays whose indices are all known: of private memory of which every access names
// its element by a number. Elements that nobody loads get none. An access out of bounds loads zero
// and stores nothing, so such a store goes, also from memory that stays.
#include <algorithm>
#include <map>

#include "vyre/passes/draft.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

constexpr std::size_t kMaxLocals = 1024;  // of a program

class Arrays {
 public:
  explicit Arrays(const Program& program)
      : program_(program), body_(program.body), known_(program.buffers.size()) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      known_[i] = program.buffers[i].access == BufferAccess::Private;
    }
    find();
  }
  bool finds_any() const { return any_; }

  Program write() {
    Draft draft(program_, kFold, Draft::Expressions::None);
    for (auto& [place, local] : locals_) {
      const BufferDecl& memory = program_.buffers[place.first];
      local = draft.declare(memory.name + "_" + std::to_string(place.second), memory.element);
      draft.add(Let{local, zero_of(draft, memory.element)});
    }
    Writer writer{*this, draft, std::vector<ExprId>(body_.exprs.size())};
    rewrite(draft, writer);
    return std::move(draft).finish();
  }

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;  // a buffer, and an index

  void find() {
    std::vector<Place> loaded;
    const auto use = [&](BufferId buffer, ExprId index) {
      if (body_[index].op != Operation::Literal) known_[buffer.index] = false;
    };
    // What no statement mentions is not there: bodies are canonical.
    for (const Expr& expr : body_.exprs) {
      if (expr.op != Operation::Load || !known_[expr.imm]) continue;
      use(BufferId{expr.imm}, expr.args[0]);
      loaded.emplace_back(expr.imm, body_[expr.args[0]].imm);
    }
    std::ranges::sort(loaded);
    loaded.erase(std::ranges::unique(loaded).begin(), loaded.end());
    std::vector<bool> is_used(known_.size());
    for (const Stmt& stmt : body_.stmts) {
      const Store* store = std::get_if<Store>(&stmt);
      if (store != nullptr && is_outside(*store)) any_ = true;
      if (store == nullptr || !known_[store->buffer.index]) continue;
      use(store->buffer, store->index);
      is_used[store->buffer.index] = true;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const auto indices = std::ranges::equal_range(loaded, i, {}, &Place::first);
      known_[i] = known_[i] && count + indices.size() <= kMaxLocals;
      if (!known_[i]) continue;
      count += indices.size();
      any_ = any_ || is_used[i] || !indices.empty();
      for (const Place& place : indices) {
        if (place.second < program_.buffers[i].count) locals_[place] = {};
      }
    }
  }

  static ExprId zero_of(Draft& draft, DataType type) { return draft.make().constant(type, {}); }

  struct Writer {
    Arrays& plan;
    Draft& draft;
    std::vector<ExprId> memo;

    ExprId copied(ExprId root) {
      return copy_expr(draft, root, memo,
                       [&](ExprId, const Expr& expr, std::span<const ExprId>) -> ExprId {
                         if (expr.op != Operation::Load || !plan.known_[expr.imm]) return {};
                         const LocalId local = plan.local_of(BufferId{expr.imm}, expr.args[0]);
                         if (local.exists()) return draft.make().local(local);
                         return zero_of(draft, plan.program_.buffers[expr.imm].element);
                       });
    }
    Keep statement(StmtId, const Stmt& source) {
      const Store* store = std::get_if<Store>(&source);
      if (store != nullptr && plan.is_outside(*store)) return Keep::Nothing;
      if (store != nullptr && plan.known_[store->buffer.index]) {
        const LocalId local = plan.local_of(store->buffer, store->index);
        if (local.exists()) draft.add(Assign{local, copied(store->value)});
        return Keep::Nothing;
      }
      return put_or_fold(draft, with_roots(source, [&](ExprId root) { return copied(root); }));
    }
  };

  // Whether a store is out of bounds for certain; the host says where its memory ends.
  bool is_outside(const Store& store) const {
    const BufferDecl& buffer = program_.buffers[store.buffer.index];
    const Expr& index = body_[store.index];
    return !is_bound(buffer.access) && index.op == Operation::Literal && index.imm >= buffer.count;
  }

  LocalId local_of(BufferId buffer, ExprId index) const {
    const auto found = locals_.find({buffer.index, body_[index].imm});
    return found == locals_.end() ? LocalId{} : found->second;
  }

  const Program& program_;
  const Body& body_;
  std::vector<bool> known_;          // by buffer: all indices are
  std::map<Place, LocalId> locals_;  // of the elements that are loaded
  bool any_ = false;
};

}  // namespace

std::optional<Program> arrays(const Program& program) {
  Arrays pass(program);
  if (!pass.finds_any()) return std::nullopt;
  return pass.write();
}

void drop_unused_memory(Program& program) {
  std::vector<bool> is_used(program.buffers.size());
  for_each_buffer(program.body, [&](std::uint32_t buffer) { is_used[buffer] = true; });
  std::vector<BufferDecl> kept;
  std::vector<std::uint32_t> numbers(program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    BufferDecl& buffer = program.buffers[i];
    if (is_added(buffer.access) && !is_used[i]) continue;
    numbers[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(buffer));
  }
  program.buffers = std::move(kept);
  for_each_buffer(program.body, [&](std::uint32_t& buffer) { buffer = numbers[buffer]; });
}

}  // namespace vyre
