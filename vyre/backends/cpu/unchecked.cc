#include "vyre/backends/cpu/emitter.h"

#include <algorithm>
#include <ranges>

#include "vyre/backends/cpu/gangs.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

// How many conditions a gang may have to meet for the code without checks.
constexpr std::size_t kMaxConditions = 32;
// How far below zero an index of the first invocation of a row may be.
constexpr std::uint32_t kMaxBelow = 1 << 20;

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
}

}  // namespace

// The lanes of a row that need no checks from `begin` to `end`: their accesses to rows are in
// bounds, and tests of rows come out as they mostly do. Notes what may be assumed then. Values are
// those of the row's first lane; sums have 64 bits, so that nothing wraps around unseen.
CpuEmitter::Span CpuEmitter::unchecked(StmtId begin, StmtId end, Span lanes) {
  std::size_t count = 0;
  assumed_.clear();
  starts_.clear();
  std::ranges::fill(outcomes_, std::int8_t{-1});
  at_entry_ = true;
  first_[0] = ir_.word(0);
  begin_statement(begin);
  const auto number = [&](ExprId id) { return ir_.zext(ops_.whole(scalar(id)).parts[0], 64); };
  const auto at_least_zero = [&](Value of) { return ir_.call("llvm.smax", {of, ir_.wide(0)}); };
  const auto only_if = [&](Value condition) {
    lanes.to = ir_.select(condition, lanes.to, ir_.wide(0));
    ++count;
  };
  // Lanes whose value is in [from, to).
  const auto keep_from = [&](Value start, std::int64_t stride, Value from, Value to) {
    const Value first = ir_.sub(start, from);
    const Value size = ir_.sub(to, from);
    const Value step = ir_.wide(static_cast<std::uint64_t>(std::abs(stride)));
    const auto rounded_up = [&](Value of) {
      const Value positive = at_least_zero(of);
      return stride == 1 ? positive : ir_.udiv(ir_.add(positive, ir_.sub(step, ir_.wide(1))), step);
    };
    if (stride > 0) {
      lanes.from = ir_.call("llvm.umax", {lanes.from, rounded_up(ir_.sub(ir_.wide(0), first))});
      lanes.to = ir_.call("llvm.umin", {lanes.to, rounded_up(ir_.sub(size, first))});
    } else {
      const Value past = ir_.add(first, ir_.wide(1));
      lanes.from = ir_.call("llvm.umax", {lanes.from, rounded_up(ir_.sub(past, size))});
      lanes.to = ir_.call("llvm.umin", {lanes.to, rounded_up(past)});
    }
    ++count;
  };
  // What is a little below 2^32 in the first lane counts up to 0 from below.
  const auto start_of = [&](ExprId id) {
    const Value word = ops_.whole(scalar(id)).parts[0];
    const Value below = ir_.compare(Compare::Uge, word, ir_.word(std::uint32_t{0} - kMaxBelow));
    return ir_.select(below, ir_.sext(word, 64), ir_.zext(word, 64));
  };
  const auto keep = [&](ExprId id, Value from, Value to) {
    const Value start = start_of(id);
    keep_from(start, shapes_[id].stride, from, to);
    return start;
  };
  const Value all = ir_.wide(std::uint64_t{1} << 32);

  // Tests first: they decide what runs at all.
  std::vector<bool> mentioned(body_.exprs.size());
  std::vector<ExprId> work;
  for (StmtId id = begin; id < end; ++id.index) {
    for (ExprId root : roots(body_[id])) work.push_back(root);
  }
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    if (mentioned[id.index]) continue;
    mentioned[id.index] = true;
    const Expr& expr = body_[id];
    for (ExprId arg : operands(body_, expr)) work.push_back(arg);
    if (!is_comparison(expr.op) || count >= kMaxConditions) continue;
    ExprId a = expr.args[0];
    ExprId b = expr.args[1];
    if (types_[a] != DataType::U32 || early(a) != Early::Fixed || early(b) != Early::Fixed) {
      continue;
    }
    // The one that changes along the row, or else from row to row, beside one that does not.
    const bool swapped = kind(b) > kind(a) || (kind(a) == kind(b) && depends_on_place(b));
    if (swapped) std::swap(a, b);
    const bool linear = kind(a) == Kind::Linear;
    if (linear ? !is_scalar(b) : !depends_on_place(a) || depends_on_place(b)) continue;
    // With code for each gang it is known what local ids are.
    if (is_whole_ && body_[b].op == Operation::Literal) continue;
    Operation op = expr.op;
    if (swapped && op == Operation::Lt)
      op = Operation::Gt;
    else if (swapped && op == Operation::Gt)
      op = Operation::Lt;
    else if (swapped && op == Operation::Le)
      op = Operation::Ge;
    else if (swapped && op == Operation::Ge)
      op = Operation::Le;
    // What it is for most: below ends, not at a certain place, and on the longer side of a literal.
    const bool equality = op == Operation::Eq || op == Operation::Ne;
    const bool below = op == Operation::Lt || op == Operation::Le;
    bool most = equality ? op == Operation::Ne : below;
    if (!equality && body_[b].op == Operation::Literal) {
      most = below == (std::uint64_t{body_[b].imm} * 2 >= row_invocations_);
    }
    outcomes_[id.index] = most ? 1 : 0;
    const Value bound = number(b);
    if (!linear) {
      const Lanes holds = ops_.apply(op, scalar(a), scalar(b));
      only_if(most ? ops_.truth(holds) : ir_.invert(ops_.truth(holds)));
    } else if (equality) {
      const Value behind = ir_.compare(Compare::Uge, number(a), bound);
      keep(a, ir_.select(behind, ir_.add(bound, ir_.wide(1)), ir_.wide(0)),
           ir_.select(behind, all, bound));
    } else {
      // As a limit that is above what is smaller.
      const bool or_equal = op == Operation::Le || op == Operation::Gt;
      const Value limit = or_equal ? ir_.add(bound, ir_.wide(1)) : bound;
      if (below == most) {
        starts_[a] = {keep(a, ir_.wide(0), limit), 0};
      } else {
        keep(a, limit, all);
      }
    }
  }

  // Accesses that a number tells apart.
  struct Stretch {
    Value start = nullptr;  // of the first one that is found
    std::uint32_t offset = 0;
    std::int64_t stride = 0;
    std::int64_t least = 0;  // places behind it
    std::int64_t most = 0;
    std::map<ExprId, std::int64_t> loads = {};  // and how far they are behind it
  };
  std::map<std::pair<Terms, BufferId>, Stretch> stretches;
  std::set<std::pair<ExprId, BufferId>> known;
  std::set<BufferId> gathered;
  std::map<BufferId, std::uint64_t> tables;  // and the last element that is looked up
  for (const CheckedAccess& access : bounds_.accesses) {
    if (access.stmt < begin || access.stmt >= end) continue;
    const Value length = buffers_[access.buffer.index].length;
    if (!is_scalar(access.index) && gathered.insert(access.buffer).second) {
      only_if(ir_.compare(Compare::Ule, length, ir_.wide(std::uint64_t{1} << 31)));
    }
    if (count >= kMaxConditions) continue;
    const ExprId index = access.index;
    if (early(index) == Early::No) {
      // Whatever it depends on, ranges may know where it ends.
      if (ends_early(program_, access)) {
        std::uint64_t& most = tables[access.buffer];
        most = std::max(most, access.most);
        assumed_.insert({access.stmt, access.load});
      }
      continue;
    }
    // What is proved may still be told to start in the row, which makes its addresses simple.
    const bool is_row = kind(index) == Kind::Linear && early(index) == Early::Fixed &&
                        program_.buffers[access.buffer.index].access != BufferAccess::Workgroup;
    if (access.verdict == CheckedAccess::Verdict::Proved && !is_row) continue;
    const std::set<StmtId> loops = counting(index);
    if (!is_scalar(index) && loops.empty()) {
      const Split split = split_index(body_, bound_, index);
      const auto [found, is_first] = stretches.try_emplace({split.terms, access.buffer});
      Stretch& stretch = found->second;
      if (is_first) {
        stretch = {start_of(index), split.offset, shapes_[index].stride};
        ++count;
      }
      const std::int64_t behind = static_cast<std::int32_t>(split.offset - stretch.offset);
      if (std::abs(behind) >= kMaxBelow) continue;
      assumed_.insert({access.stmt, access.load});
      stretch.least = std::min(stretch.least, behind);
      stretch.most = std::max(stretch.most, behind);
      // No buffer is so long that it could be behind by another multiple of 2^32.
      starts_[index] = {stretch.start, behind};
      if (access.load.exists() && may_slide(access.buffer)) stretch.loads[index] = behind;
      continue;
    }
    assumed_.insert({access.stmt, access.load});
    if (!known.insert({index, access.buffer}).second) continue;
    // How far the index goes in the rounds of loops: it grows by the same in each of them.
    const auto count_from = [&](StmtId loop, std::uint32_t rounds) {
      ++time_;
      if (!loop.exists()) {
        first_[1] = ir_.word(rounds);
        return;
      }
      const For& counted = std::get<For>(body_[loop]);
      const Value from = ops_.whole(scalar(counted.from)).parts[0];
      places_[counted.variable.index].value = {
          DataType::U32, false, {ir_.add(from, ir_.word(rounds))}};
      ++time_;
    };
    for (StmtId loop : loops) count_from(loop, 0);
    const Value first = ops_.whole(scalar(index)).parts[0];
    Value reach = ir_.wide(0);
    for (StmtId loop : loops) {
      Value rounds = ir_.wide(rows_);
      if (loop.exists()) {
        const For& counted = std::get<For>(body_[loop]);
        rounds = ir_.call("llvm.usub.sat", {number(counted.to), number(counted.from)});
      }
      count_from(loop, 1);
      const Value step = ir_.zext(ir_.sub(ops_.whole(scalar(index)).parts[0], first), 64);
      const Value others = ir_.call("llvm.usub.sat", {rounds, ir_.wide(1)});
      const Value whole = ir_.mul(step, others);
      reach = ir_.add(reach, ir_.call("llvm.umin", {whole, ir_.wide(std::uint64_t{1} << 40)}));
      count_from(loop, 0);
    }
    const Value left = ir_.sub(length, reach);
    if (is_scalar(index)) {
      only_if(ir_.compare(Compare::Slt, number(index), left));
    } else {
      keep(index, ir_.wide(0), left);
    }
  }
  for (const auto& [buffer, most] : tables) {
    only_if(ir_.compare(Compare::Ugt, buffers_[buffer.index].length, ir_.wide(most)));
  }
  // Rows that overlap are made of the vectors of three gangs, one of which is new in each.
  slides_.clear();
  sliding_.clear();
  const auto signed_number = [&](std::int64_t of) {
    return ir_.wide(static_cast<std::uint64_t>(of));
  };
  for (const auto& [key, stretch] : stretches) {
    std::int64_t reach = 0;
    std::int64_t middle = 0;
    if (stretch.stride == 1 && stretch.loads.size() > 1) {
      const auto [least, most] = std::ranges::minmax(std::views::values(stretch.loads));
      middle = (least + most) / 2;
      if (least < most && most - least < width_) reach = width_;
    }
    const Value length = buffers_[key.second.index].length;
    keep_from(stretch.start, stretch.stride,
              signed_number(std::max(-stretch.least, reach - middle)),
              ir_.sub(length, signed_number(std::max(stretch.most, middle + reach))));
    if (reach == 0) continue;
    for (const auto& [index, place] : stretch.loads) {
      sliding_[{index, key.second}] = {slides_.size(), place - middle};
    }
    slides_.push_back({key.second, ir_.add(stretch.start, signed_number(middle))});
  }
  // Gangs follow each other at a distance that keeps the alignment.
  streamed_.clear();
  for (StmtId id = begin; id < end; ++id.index) {
    const Store* store = std::get_if<Store>(&body_[id]);
    if (store == nullptr || !may_stream(id, *store)) continue;
    const Records::Place* place = records_.find(id, {});
    const Value own = ops_.whole(scalar(store->index)).parts[0];
    const Value first = place == nullptr ? own : ir_.sub(own, ir_.word(place->offset));
    const Buffer& buffer = buffers_[store->buffer.index];
    const DataType element = program_.buffers[store->buffer.index].element;
    const Value address = ir_.address(address_of(buffer, element, first, false));
    const Value rest = ir_.both(address, ir_.wide(target_.bits / 8 - 1));
    streamed_[id] = ir_.both(streams_, ir_.equal_zero(rest));
  }
  at_entry_ = false;
  ++time_;
  return lanes;
}

}  // namespace vyre
