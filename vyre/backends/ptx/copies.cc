#include "vyre/backends/ptx/copies.h"

#include <algorithm>

#include "vyre/backends/ptx/target.h"
#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::uint32_t kCopies = 4;       // enough loads under way; eight gain nothing
constexpr std::size_t kStreamExprs = 128;  // beyond it computing hides the loads
constexpr std::size_t kWaitingExprs = 256;
constexpr std::uint32_t kShortIf = 4;  // statements
constexpr std::uint32_t kMaxBins = 4096;
constexpr std::uint32_t kSharedBytes = 24 << 10;  // of all copies; more leaves room for few blocks

bool is_workgroup(const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }

class Finder {
 public:
  Finder(const Program& program, std::size_t axis) : program_(program), body_(program.body) {
    copies_.count = kCopies;
    copies_.axis = axis;
    copies_.exprs.resize(body_.exprs.size());
    copies_.locals.resize(body_.locals.size());
    copies_.buffers.resize(program.buffers.size());
    copies_.stmts.resize(body_.stmts.size());
    apart_.resize(body_.exprs.size());
  }

  // Nothing where the copies cannot go together.
  PtxCopies find() {
    do {
      changed_ = false;
      find_exprs();
      find_stmts();
    } while (changed_);
    if (!possible_) return {};
    return std::move(copies_);
  }

 private:
  void set(std::vector<bool>& table, std::size_t at, bool differs) {
    if (!differs || table[at]) return;
    table[at] = true;
    changed_ = true;
  }

  void find_exprs() {
    for (std::size_t i = 0; i < body_.exprs.size(); ++i) {
      const Expr& expr = body_.exprs[i];
      bool differs = apart_[i];
      for (ExprId arg : operands(body_, expr)) differs = differs || copies_.exprs[arg.index];
      if (expr.op == Operation::InvocationId || expr.op == Operation::WorkgroupId) {
        differs = expr.detail == copies_.axis;
      }
      if (expr.op == Operation::Local) differs = copies_.locals[expr.imm];
      if (expr.op == Operation::Load) {
        const BufferDecl& buffer = program_.buffers[expr.imm];
        differs = differs ||
                  (is_workgroup(buffer) ? copies_.buffers[expr.imm] : is_written(buffer.access));
      }
      set(copies_.exprs, i, differs);
    }
  }

  void find_stmts() {
    struct Frame : OpenBlock {
      bool parts = false;  // not all copies run it
    };
    BlockStack<Frame> stack(body_);
    for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
      stack.enter(i, [&](const Frame& closed, Frame& now) {
        if (now.owner == closed.owner && now.is_else) now.parts = closed.parts;
      });
      const bool parts = stack.back().parts;
      const Stmt& stmt = body_.stmts[i];
      bool differs = parts;
      for (ExprId root : roots(stmt)) differs = differs || copies_.exprs[root.index];
      if (parts) {
        for (ExprId root : roots(stmt)) keep_loads_apart(root);
      }
      if (const Let* let = std::get_if<Let>(&stmt)) {
        set(copies_.locals, let->local.index, copies_.exprs[let->value.index]);
      } else if (const Assign* assign = std::get_if<Assign>(&stmt)) {
        set(copies_.locals, assign->local.index, differs);
      } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
        if (atomic->result.exists()) set(copies_.locals, atomic->result.index, true);
      } else if (const Store* store = std::get_if<Store>(&stmt)) {
        if (is_workgroup(program_.buffers[store->buffer.index])) {
          set(copies_.buffers, store->buffer.index, differs);
        }
      } else if (std::holds_alternative<If>(stmt)) {
        set(copies_.stmts, i, differs);
      } else if (differs && !std::holds_alternative<Block>(stmt)) {
        possible_ = false;  // loops, and what leaves them, and barriers
      }
      if (Frame* opened = stack.open(i)) {
        opened->parts = parts || (std::holds_alternative<If>(stmt) && copies_.stmts[i]);
      }
    }
  }

  // What is loaded under a condition of one copy.
  void keep_loads_apart(ExprId root) {
    std::vector<bool> mentioned(root.index + 1);
    mentioned[root.index] = true;
    for (std::uint32_t i = root.index + 1; i-- > 0;) {
      if (!mentioned[i]) continue;
      set(apart_, i, body_.exprs[i].op == Operation::Load);
      for (ExprId arg : operands(body_, body_.exprs[i])) mentioned[arg.index] = true;
    }
  }

  const Program& program_;
  const Body& body_;
  PtxCopies copies_;
  std::vector<bool> apart_;
  bool changed_ = false;
  bool possible_ = true;
};

// Loads that each copy makes for itself.
std::size_t own_loads(const Program& program, const PtxCopies& copies) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < program.body.exprs.size(); ++i) {
    count += program.body.exprs[i].op == Operation::Load && copies.exprs[i] ? 1 : 0;
  }
  return count;
}

// By statement: an `if` of a block that does little but load, so that it need not wait for the
// loads before it.
std::vector<bool> short_ifs(const Program& program) {
  const Body& body = program.body;
  std::vector<bool> found(body.stmts.size());
  std::vector<bool> loads(body.exprs.size());  // by expression: whether there is one in it
  for (std::size_t i = 0; i < body.exprs.size(); ++i) {
    const Expr& expr = body.exprs[i];
    loads[i] = expr.op == Operation::Load && !is_written(program.buffers[expr.imm].access);
    for (ExprId arg : operands(body, expr)) loads[i] = loads[i] || loads[arg.index];
  }
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    const If* branch = std::get_if<If>(&body.stmts[i]);
    if (branch == nullptr || branch->else_begin < branch->end) continue;
    if (branch->end.index - i - 1 > kShortIf) continue;
    bool is_short = true;
    bool has_load = false;
    for (std::uint32_t k = i + 1; k < branch->end.index; ++k) {
      const Stmt& stmt = body.stmts[k];
      is_short =
          is_short && (std::holds_alternative<Let>(stmt) || std::holds_alternative<Assign>(stmt));
      for (ExprId root : roots(stmt)) has_load = has_load || loads[root.index];
    }
    found[i] = is_short && has_load;
  }
  return found;
}

// What an update with it changes nothing.
std::uint32_t nothing(AtomicOp op, bool is_signed) {
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Or:
    case AtomicOp::Xor: return 0;
    case AtomicOp::And: return 0xffffffff;
    case AtomicOp::Min: return is_signed ? 0x7fffffff : 0xffffffff;
    case AtomicOp::Max: return is_signed ? 0x80000000 : 0;
    case AtomicOp::Exchange:
    case AtomicOp::CompareExchange: break;  // do not commute
  }
  return 0;
}

// Nothing where one workgroup in a thread is better.
PtxCopies find_several(const Program& program) {
  const Body& body = program.body;
  const auto any = [&]<class T>(T) {
    return std::ranges::any_of(body.stmts,
                               [](const Stmt& stmt) { return std::holds_alternative<T>(stmt); });
  };
  const bool waits = any(Barrier{});
  std::uint64_t shared = 0;
  for (const BufferDecl& buffer : program.buffers) {
    if (is_workgroup(buffer)) shared += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  // Without barriers a loop has time to hide its loads, or none.
  if (!waits && (shared > 0 || any(For{}))) return {};
  if (body.exprs.size() > (waits ? kWaitingExprs : kStreamExprs)) return {};
  if (shared * kCopies > kSharedBytes) return {};
  PtxCopies best = Finder(program, 0).find();
  if (waits && program.workgroup_size[1] > 1) {
    PtxCopies rows = Finder(program, 1).find();
    if (rows.count > 1 &&
        (best.count == 1 || own_loads(program, rows) <= own_loads(program, best))) {
      best = std::move(rows);
    }
  }
  if (best.count == 1) return best;
  const std::size_t loads = own_loads(program, best);
  if (loads == 0 || (!waits && loads >= kCopies)) return {};
  return best;
}

}  // namespace

PtxCopies find_copies(const Program& program) {
  PtxCopies copies = find_several(program);
  if (copies.count == 1) copies.stmts = short_ifs(program);
  return copies;
}

std::vector<PtxBins> find_bins(const Program& program, const Bounds& bounds) {
  if (!ptx_is_free(program)) return {};
  std::vector<PtxBins> found(program.buffers.size());
  std::vector<bool> other(program.buffers.size());
  for (const CheckedAccess& access : bounds.accesses) {
    const std::size_t i = access.buffer.index;
    PtxBins& bins = found[i];
    const Atomic* atomic = std::get_if<Atomic>(&program.body[access.stmt]);
    if (access.load.exists() || atomic == nullptr || atomic->result.exists() ||
        info(atomic->op).order != AtomicOrder::Any || access.most >= kMaxBins ||
        (bins.count > 0 && bins.op != atomic->op)) {
      other[i] = true;
      continue;
    }
    const bool is_signed = program.buffers[i].element == DataType::I32;
    const auto count = std::max(bins.count, static_cast<std::uint32_t>(access.most) + 1);
    bins = {access.buffer, atomic->op, count, nothing(atomic->op, is_signed)};
  }
  std::vector<PtxBins> all;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (other[i] || found[i].count == 0 || count + found[i].count > kMaxBins) continue;
    count += found[i].count;
    all.push_back(found[i]);
  }
  return all;
}

}  // namespace vyre
