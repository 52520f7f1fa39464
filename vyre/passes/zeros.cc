// Workgroup memory begins as zeros. Where a workgroup could see that, its invocations write the
// zeros first, in stretches that one instruction stores, and wait for each other; for devices whose
// memory begins as anything. Memory that nobody reads before the workgroup has written all of it,
// each invocation the element of its own number, is left alone.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "vyre/ir/eval.h"
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

// The value of a sum of local ids, each times a number, in one invocation; nothing for anything
// else.
std::optional<std::uint32_t> value_of(const Body& body, const std::vector<ExprId>& bound, ExprId id,
                                      const std::array<std::uint32_t, 3>& local_id, int depth = 0) {
  const Expr& expr = body[id];
  if (depth > kMaxTerms) return std::nullopt;
  const auto of = [&](ExprId arg) { return value_of(body, bound, arg, local_id, depth + 1); };
  if (expr.op == Operation::Literal) return expr.imm;
  if (expr.op == Operation::LocalId) return local_id[expr.detail];
  if (expr.op == Operation::Local && bound[expr.imm].exists()) return of(bound[expr.imm]);
  const bool scales = expr.op == Operation::Mul || expr.op == Operation::Shl;
  if (expr.op != Operation::Add && !scales) return std::nullopt;
  if (scales && body[expr.args[1]].op != Operation::Literal) return std::nullopt;
  const auto a = of(expr.args[0]);
  const auto b = of(expr.args[1]);
  if (!a || !b) return std::nullopt;
  return eval(expr.op, DataType::U32, {{*a}}, {{*b}}).lanes[0];
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
        Nothing<Let, Assign, If, For, Block, Break, Return, Barrier, Collective, SetElement,
                Continue>{});
  }
  return uses;
}

// By statement: the end of the block that it is in.
std::vector<StmtId> ends_of_blocks(const Body& body) {
  std::vector<StmtId> ends;
  BlockStack<OpenBlock> stack(body);
  for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
    stack.enter(i);
    ends.emplace_back(stack.back().end);
    stack.open(i);
  }
  return ends;
}

// Whether an index is the number of the invocation in its workgroup. Such sums are what they are
// for the first invocation, and how they grow along each axis.
bool is_own_number(const Program& program, ExprId index) {
  const auto& size = program.workgroup_size;
  const std::vector<ExprId> bound = bound_values(program.body);
  const auto is = [&](const std::array<std::uint32_t, 3>& local_id, std::uint32_t number) {
    return value_of(program.body, bound, index, local_id) == number;
  };
  return is({0, 0, 0}, 0) && (size[0] == 1 || is({1, 0, 0}, 1)) &&
         (size[1] == 1 || is({0, 1, 0}, size[0])) &&
         (size[2] == 1 || is({0, 0, 1}, size[0] * size[1]));
}

// By buffer: workgroup memory of which somebody could see that it did not begin as zeros.
std::vector<bool> find_seen(const Program& program) {
  const Body& body = program.body;
  const std::vector<Uses> uses = uses_of(program);
  const std::vector<StmtId> ends = ends_of_blocks(body);
  const auto is_filled = [&](std::size_t i) {
    const Uses& use = uses[i];
    const Store* store = std::get_if<Store>(&body.stmts[use.first]);
    const StmtId end = ends[use.first];
    if (program.buffers[i].count > invocations_of(program) || store == nullptr ||
        store->buffer.index != i || use.load <= use.first || use.last >= end.index ||
        !is_own_number(program, store->index)) {
      return false;
    }
    // A barrier after it in its block says that all invocations run both.
    StmtId wait{use.first};
    while (wait < end && !waits(body[wait])) wait = next(body, wait);
    return wait < end && wait.index < use.load;
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
  explicit Zeros(Draft& draft)
      : f_{draft}, thread_(f_.bind("thread", f_.thread())), threads_(f_.threads()) {}

  void write(BufferId id) {
    const BufferDecl& buffer = f_.draft.from().buffers[id.index];
    const std::uint32_t width = kBytes / stride(buffer.element);
    const std::uint32_t chunks = buffer.count / width;
    const auto stretch = [&](ExprId exists, ExprId first, std::uint32_t more) {
      for (std::uint32_t i = 0; i < width; ++i) store(id, exists, f_.sum(first, more + i));
    };
    if (chunks > kWrittenOut * threads_) {
      const ExprId round = f_.open_loop("round", (chunks + threads_ - 1) / threads_);
      const ExprId number = f_.sum(f_.times(round, threads_), thread_);
      const ExprId at = f_.bind("at", f_.times(number, width));
      stretch(chunks % threads_ == 0 ? ExprId{} : is_below(at, chunks * width), at, 0);
      f_.draft.close();
    } else {
      for (std::uint32_t done = 0; done < chunks; done += threads_) {
        const ExprId first = first_of(width);
        stretch(exists(first, width, chunks - done), first, done * width);
      }
    }
    for (std::uint32_t done = chunks * width; done < buffer.count; done += threads_) {
      store(id, exists(thread_, 1, buffer.count - done), f_.sum(thread_, done));
    }
  }

 private:
  ExprId is_below(ExprId a, std::uint32_t end) {
    return f_.bind("exists", f_.less(a, f_.number(end)));
  }
  // The first element that an invocation writes, with `width` at a time, and whether it is there
  // where that many invocations have something left to write; none: it is.
  ExprId first_of(std::uint32_t width) {
    ExprId& first = firsts_[width];
    if (!first.exists()) first = f_.bind("at", f_.times(thread_, width));
    return first;
  }
  ExprId exists(ExprId first, std::uint32_t width, std::uint32_t left) {
    if (left >= threads_) return {};
    ExprId& known = exists_[{width, left}];
    if (!known.exists()) known = is_below(first, left * width);
    return known;
  }
  void store(BufferId id, ExprId condition, ExprId index) {
    const DataType type = loaded_type(f_.draft.from().buffers[id.index].element);
    f_.draft.add(Store{id, f_.when(condition, index), f_.make.constant(type, {})});
  }

  Formulas f_;
  const ExprId thread_;
  const std::uint32_t threads_;
  std::map<std::uint32_t, ExprId> firsts_;                            // by width
  std::map<std::pair<std::uint32_t, std::uint32_t>, ExprId> exists_;  // by width and number
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
