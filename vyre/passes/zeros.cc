// Workgroup memory begins as zeros. Where a workgroup could see that, its invocations write the
// zeros first, in stretches that one instruction stores, and wait for each other; for devices whose
// memory begins as anything. Memory that nobody reads before the workgroup has written all of it,
// each invocation the element of its own number, is left alone.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "vyre/passes/affine.h"
#include "vyre/passes/formulas.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

constexpr std::uint32_t kBytes = 16;      // that one instruction stores
constexpr std::uint32_t kWrittenOut = 4;  // of those instructions for each invocation
constexpr int kMaxTerms = 16;
constexpr std::uint32_t kNever = 0xffffffff;

// --- What need not begin as zeros ---------------------------------------------------------------

// A sum of the local ids, each times a factor, and a number; nothing for anything else.
using Factors = std::array<std::uint32_t, 4>;
std::optional<Factors> factors_of(const Body& body, const std::vector<ExprId>& bound, ExprId id,
                                  int depth = 0) {
  const Expr& expr = body[id];
  if (depth > kMaxTerms) return std::nullopt;
  const auto of = [&](ExprId arg) { return factors_of(body, bound, arg, depth + 1); };
  const auto scaled = [](std::optional<Factors> a, std::uint32_t factor) {
    for (std::size_t i = 0; a && i < 4; ++i) (*a)[i] *= factor;
    return a;
  };
  const auto literal = [&](ExprId arg) { return body[arg].op == Operation::Literal; };
  if (expr.op == Operation::Literal) return Factors{0, 0, 0, expr.imm};
  if (expr.op == Operation::LocalId) {
    Factors own{};
    own[expr.detail] = 1;
    return own;
  }
  if (expr.op == Operation::Local && bound[expr.imm].exists()) return of(bound[expr.imm]);
  if (expr.op == Operation::Add) {
    std::optional<Factors> a = of(expr.args[0]);
    const std::optional<Factors> b = of(expr.args[1]);
    if (!a || !b) return std::nullopt;
    for (std::size_t i = 0; i < 4; ++i) (*a)[i] += (*b)[i];
    return a;
  }
  if (expr.op == Operation::Mul && literal(expr.args[1])) {
    return scaled(of(expr.args[0]), body[expr.args[1]].imm);
  }
  if (expr.op == Operation::Shl && literal(expr.args[1])) {
    return scaled(of(expr.args[0]), std::uint32_t{1} << (body[expr.args[1]].imm & 31));
  }
  return std::nullopt;
}

// The statements that access a buffer: the first one, the last one, the first that loads.
struct Uses {
  std::uint32_t first = kNever;
  std::uint32_t last = 0;
  std::uint32_t load = kNever;
};

std::vector<Uses> uses_of(const Program& program) {
  const Body& body = program.body;
  std::vector<Uses> uses(program.buffers.size());
  const auto use = [&](BufferId buffer, std::uint32_t at, bool loads) {
    Uses& own = uses[buffer.index];
    own.first = std::min(own.first, at);
    own.last = std::max(own.last, at);
    if (loads) own.load = std::min(own.load, at);
  };
  const std::vector<bool> loads = spread(body, [&](const Expr& expr) {
    return expr.op == Operation::Load &&
           program.buffers[expr.imm].access == BufferAccess::Workgroup;
  });
  Mentions mentions(body);
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    mentions.visit(StmtId{i}, [&](ExprId at) {
      const Expr& expr = body[at];
      if (loads[at.index] && expr.op == Operation::Load) use(BufferId{expr.imm}, i, true);
      return loads[at.index];
    });
    visit(
        body.stmts[i], [&](const Store& store) { use(store.buffer, i, false); },
        [&](const Atomic& atomic) { use(atomic.buffer, i, atomic.result.exists()); },
        Nothing<Let, Assign, If, For, Block, Break, Return, Barrier>{});
  }
  return uses;
}

// By buffer: workgroup memory of which somebody could see that it did not begin as zeros.
std::vector<bool> find_seen(const Program& program) {
  const Body& body = program.body;
  const std::vector<Uses> uses = uses_of(program);
  const std::vector<ExprId> bound = bound_values(body);
  // By statement the block that it is in, and the end of that; and the barriers of each block.
  using BlockId = std::pair<std::uint32_t, bool>;  // the owner, and whether it is an `else`
  std::vector<BlockId> blocks(body.stmts.size());
  std::vector<std::uint32_t> ends(body.stmts.size());
  std::map<BlockId, std::vector<std::uint32_t>> barriers;
  BlockStack<OpenBlock> stack(body);
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i);
    const bool is_inside = stack.frames().size() > 1;
    blocks[i] = {is_inside ? stack.back().owner : kNever, stack.back().is_else};
    ends[i] = stack.back().end;
    if (std::holds_alternative<Barrier>(body.stmts[i])) barriers[blocks[i]].push_back(i);
    stack.open(i);
  }
  const auto& size = program.workgroup_size;
  const auto is_filled = [&](std::size_t i) {
    const Uses& use = uses[i];
    const Store* store = std::get_if<Store>(&body.stmts[use.first]);
    if (program.buffers[i].count > std::uint64_t{size[0]} * size[1] * size[2] || store == nullptr ||
        store->buffer.index != i || use.load <= use.first || use.last >= ends[use.first]) {
      return false;
    }
    const std::optional<Factors> index = factors_of(body, bound, store->index);
    const auto is_own = [&](std::size_t axis, std::uint32_t factor) {
      return size[axis] == 1 || (*index)[axis] == factor;
    };
    if (!index || !is_own(0, 1) || !is_own(1, size[0]) || !is_own(2, size[0] * size[1]) ||
        (*index)[3] != 0) {
      return false;
    }
    // A barrier after it in its block says that all invocations run both.
    const std::vector<std::uint32_t>& waits = barriers[blocks[use.first]];
    const auto next = std::ranges::upper_bound(waits, use.first);
    return use.load == kNever || (next != waits.end() && *next < use.load);
  };
  std::vector<bool> seen(program.buffers.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = program.buffers[i].access == BufferAccess::Workgroup && uses[i].load != kNever &&
              !is_filled(i);
  }
  return seen;
}

// --- Writing zeros ------------------------------------------------------------------------------

class Zeros {
 public:
  explicit Zeros(Draft& draft) : f_{draft}, thread_(f_.bind("thread", f_.thread())) {
    const auto& size = draft.from().workgroup_size;
    threads_ = size[0] * size[1] * size[2];
  }

  void write(BufferId id) {
    const BufferDecl& buffer = f_.draft.from().buffers[id.index];
    const std::uint32_t width = kBytes / stride(buffer.element);
    const std::uint32_t chunks = buffer.count / width;
    if (chunks > kWrittenOut * threads_) {
      const LocalId round = f_.draft.declare("round", DataType::U32);
      f_.draft.open(For{round, f_.number(0), f_.number((chunks + threads_ - 1) / threads_), {}});
      const ExprId number = f_.sum(f_.times(f_.make.local(round), threads_), thread_);
      const ExprId at = f_.bind("at", f_.times(number, width));
      const ExprId exists = chunks % threads_ == 0 ? ExprId{} : is_below(at, chunks * width);
      for (std::uint32_t i = 0; i < width; ++i) store(id, exists, f_.sum(at, i));
      f_.draft.close();
    } else {
      for (std::uint32_t done = 0; done < chunks; done += threads_) {
        const std::uint32_t left = chunks - done;
        const ExprId first = first_of(width);
        ExprId exists;
        if (left < threads_) {
          ExprId& known = exists_[{width, left}];
          if (!known.exists()) known = is_below(first, left * width);
          exists = known;
        }
        for (std::uint32_t i = 0; i < width; ++i) {
          store(id, exists, f_.sum(first, done * width + i));
        }
      }
    }
    const std::uint32_t rest = buffer.count - chunks * width;
    if (rest == 0) return;
    store(id, is_below(thread_, rest), f_.sum(thread_, chunks * width));
  }

 private:
  ExprId is_below(ExprId a, std::uint32_t end) {
    return f_.bind("exists", f_.make.make(Operation::Lt, {a, f_.number(end)}));
  }
  // The first element that an invocation writes, of so many at a time.
  ExprId first_of(std::uint32_t width) {
    ExprId& first = firsts_[width];
    if (!first.exists()) first = f_.bind("at", f_.times(thread_, width));
    return first;
  }
  void store(BufferId id, ExprId condition, ExprId index) {
    const DataType type = loaded_type(f_.draft.from().buffers[id.index].element);
    const ExprId at = condition.exists() ? f_.when(condition, index) : index;
    f_.draft.add(Store{id, at, f_.make.constant(type, {})});
  }

  Formulas f_;
  const ExprId thread_;
  std::uint32_t threads_ = 0;
  std::map<std::uint32_t, ExprId> firsts_;                            // by width
  std::map<std::pair<std::uint32_t, std::uint32_t>, ExprId> exists_;  // by width and end
};

}  // namespace

std::optional<Program> zeros(const Program& program) {
  const std::vector<bool> seen = find_seen(program);
  if (std::ranges::find(seen, true) == seen.end()) return std::nullopt;
  Draft draft(program, kFold | kAlgebra);
  Zeros pass(draft);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) pass.write(BufferId{i});
  }
  draft.add(Barrier{});
  CopyStatements same{draft};
  rewrite(draft, same);
  return std::move(draft).finish();
}

}  // namespace vyre
