#include "vyre/backends/cpu/unchecked.h"

#include <algorithm>
#include <ranges>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/range.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

// How many conditions a gang may have to meet for the code without checks.
constexpr std::size_t kMaxConditions = 32;
// How far below zero an index of the first invocation of a row may be.
constexpr std::int32_t kMaxBelow = 1 << 20;

bool is_comparison(Operation op) {
  return op == Operation::Eq || op == Operation::Ne || op == Operation::Lt || op == Operation::Gt ||
         op == Operation::Le || op == Operation::Ge;
}

// Whether nothing else accesses the buffer of a store, and rows of it are whole.
bool may_stream(const CpuFacts& facts, StmtId id, const Store& store) {
  if (!is_bound(facts.access(store.buffer)) || facts.streamed_bytes(store.buffer) == 0)
    return false;
  if (facts.kind(store.index) != Kind::Linear) return false;
  const Records::Place* place = facts.records.find(id, {});
  if (facts.shapes[store.index].stride != 1 && place == nullptr) return false;
  return std::ranges::all_of(facts.bounds.accesses, [&](const CheckedAccess& other) {
    if (other.buffer != store.buffer || (other.stmt == id && !other.load.exists())) return true;
    const Records::Place* its = facts.records.find(other.stmt, other.load);
    return its != nullptr && place != nullptr && its->record == place->record;
  });
}

// Values are those of the row's first lane; sums have 64 bits, so that nothing wraps around unseen.
class Finder {
 public:
  Finder(Frame& frame, GangWriter& gang, StmtId begin, StmtId end, Extent extent, RowSpan& lanes)
      : frame_(frame), gang_(gang), begin_(begin), end_(end), extent_(extent), lanes_(lanes) {
    fast_.extent = extent;
  }

  FastRow find() {
    gang_.begin_entry(begin_);
    // Tests first: they decide what runs at all.
    find_tests();
    for (const CheckedAccess& access : facts_.bounds.accesses) {
      if (access.stmt >= begin_ && access.stmt < end_) visit(access);
    }
    for (const auto& [buffer, most] : tables_) {
      only_if(length(buffer) > most);
    }
    for (const auto& [key, stretch] : stretches_) keep_stretch(key.second, stretch);
    find_streamed();
    gang_.end_entry();
    return std::move(fast_);
  }

 private:
  // A comparison with the operand first that changes along the row, or else from row to row; the
  // other one does not.
  struct Test {
    Operation op;
    ExprId a;
    ExprId b;
    bool is_linear;  // a changes along the row

    bool is_equality() const { return op == Operation::Eq || op == Operation::Ne; }
    bool is_below() const { return op == Operation::Lt || op == Operation::Le; }
  };
  // Accesses of a buffer that differ by numbers.
  struct Stretch {
    Value start;  // of the first one that is found
    std::uint32_t offset = 0;
    std::int64_t stride = 0;
    std::int64_t least = 0;  // places from there
    std::int64_t most = 0;
    std::map<ExprId, std::int64_t> loads = {};  // and their places
  };

  Value length(BufferId buffer) { return frame_.buffers[buffer.index].length; }
  Value number(ExprId id) { return ir_.zext(gang_.word(id), 64); }
  Early early(ExprId id) const { return facts_.early(id, extent_); }

  void only_if(Value condition) {
    lanes_.to = ir_.select(condition, lanes_.to, 0);
    ++count_;
  }

  // What is a little below 2^32 in the first lane counts up to 0 from below.
  Value start_of(ExprId id) {
    const Value word = gang_.word(id);
    const Value is_below = word >= -kMaxBelow;
    const Value below = ir_.sext(word, 64);
    return ir_.select(is_below, below, ir_.zext(word, 64));
  }

  // Lanes whose value is in [from, to).
  void keep_from(Value start, std::int64_t stride, Ir::Operand from, Value to) {
    const Value first = start - from;
    const Value size = to - from;
    const std::int64_t step = std::abs(stride);
    const auto rounded_up = [&](Value of) {
      const Value positive = ir_.call("llvm.smax", {of, ir_.wide(0)});
      return stride == 1 ? positive : (positive + (step - 1)) / step;
    };
    if (stride > 0) {
      lanes_.from = ir_.umax(lanes_.from, rounded_up(ir_.wide(0) - first));
      lanes_.to = ir_.umin(lanes_.to, rounded_up(size - first));
    } else {
      const Value past = first + 1;
      lanes_.from = ir_.umax(lanes_.from, rounded_up(past - size));
      lanes_.to = ir_.umin(lanes_.to, rounded_up(past));
    }
    ++count_;
  }
  Value keep(ExprId id, Ir::Operand from, Value to) {
    const Value start = start_of(id);
    keep_from(start, facts_.shapes[id].stride, from, to);
    return start;
  }

  // --- Tests

  void find_tests() {
    std::vector<ExprId> all;
    for (StmtId id = begin_; id < end_; ++id.index) {
      for (ExprId root : roots(body_[id])) all.push_back(root);
    }
    for_each_below(body_, all, [&](ExprId id) {
      if (count_ >= kMaxConditions) return;
      if (const std::optional<Test> test = test_of(body_[id])) expect(id, *test);
    });
  }

  std::optional<Test> test_of(const Expr& expr) const {
    if (!is_comparison(expr.op)) return std::nullopt;
    ExprId a = expr.args[0];
    ExprId b = expr.args[1];
    if (facts_.types[a] != DataType::U32 || early(a) != Early::Fixed || early(b) != Early::Fixed) {
      return std::nullopt;
    }
    const bool is_swapped = facts_.kind(b) > facts_.kind(a) ||
                            (facts_.kind(a) == facts_.kind(b) && facts_.depends_on_place(b));
    if (is_swapped) std::swap(a, b);
    const bool is_linear = facts_.kind(a) == Kind::Linear;
    const bool b_changes = is_linear ? !facts_.is_scalar(b)
                                     : !facts_.depends_on_place(a) || facts_.depends_on_place(b);
    if (b_changes) return std::nullopt;
    // With code for each gang it is known what local ids are.
    if (extent_ == Extent::Workgroup && body_[b].op == Operation::Literal) return std::nullopt;
    return Test{is_swapped ? swapped(expr.op) : expr.op, a, b, is_linear};
  }

  // What it is for most: below ends, not at a certain place, and on the longer side of a literal.
  bool is_mostly(const Test& test) const {
    if (test.is_equality()) return test.op == Operation::Ne;
    if (body_[test.b].op != Operation::Literal) return test.is_below();
    const bool is_far = std::uint64_t{body_[test.b].imm} * 2 >= facts_.layout.row_invocations;
    return test.is_below() == is_far;
  }

  void expect(ExprId id, const Test& test) {
    const bool most = is_mostly(test);
    fast_.outcomes[id] = most;
    constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
    const Value bound = number(test.b);
    if (!test.is_linear) {
      const Value holds = gang_.test(test.op, test.a, test.b);
      only_if(most ? holds : ~holds);
    } else if (test.is_equality()) {
      const Value after = number(test.a) >= bound;
      const Value from = ir_.select(after, bound + 1, 0);
      keep(test.a, from, ir_.select(after, ir_.wide(kAll), bound));
    } else {
      // As a limit that is above what is smaller.
      const bool or_equal = test.op == Operation::Le || test.op == Operation::Gt;
      const Value limit = or_equal ? bound + 1 : bound;
      if (test.is_below() == most) {
        fast_.starts[test.a] = {keep(test.a, 0, limit), 0};
      } else {
        keep(test.a, limit, ir_.wide(kAll));
      }
    }
  }

  // --- Accesses

  void visit(const CheckedAccess& access) {
    const ExprId index = access.index;
    if (count_ >= kMaxConditions) return;
    // Lanes have memory of their own: a check of it costs no more than a mask.
    if (facts_.is_private(access.buffer) && !facts_.is_scalar(index)) return;
    if (early(index) == Early::No) {
      // Whatever it depends on, ranges may know where it ends.
      if (!ends_early(facts_.program, access)) return;
      std::uint64_t& most = tables_[access.buffer];
      most = std::max(most, access.most);
      fast_.in_bounds.insert({access.stmt, access.load});
      return;
    }
    // What is proved may still be told to start in the row, which makes its addresses simple.
    const bool is_row = facts_.kind(index) == Kind::Linear && early(index) == Early::Fixed &&
                        is_bound(facts_.access(access.buffer));
    if (access.verdict == CheckedAccess::Verdict::Proved && !is_row) return;
    const std::set<StmtId> loops = facts_.counting(index, extent_);
    if (!facts_.is_scalar(index) && loops.empty()) {
      add_to_stretch(access);
      return;
    }
    fast_.in_bounds.insert({access.stmt, access.load});
    if (!known_.insert({index, access.buffer}).second) return;
    const Value left = length(access.buffer) - reach(index, loops);
    if (facts_.is_scalar(index)) {
      only_if(ir_.compare(Compare::Slt, number(index), left));
    } else {
      keep(index, 0, left);
    }
  }

  void add_to_stretch(const CheckedAccess& access) {
    const ExprId index = access.index;
    const SplitIndex split = split_index(body_, facts_.bound, index);
    const auto [found, is_first] = stretches_.try_emplace({split.terms, access.buffer});
    Stretch& stretch = found->second;
    if (is_first) {
      stretch = {start_of(index), split.offset, facts_.shapes[index].stride};
      ++count_;
    }
    // No buffer is so long that it could be another multiple of 2^32 away.
    const std::int64_t place = static_cast<std::int32_t>(split.offset - stretch.offset);
    if (std::abs(place) >= kMaxBelow) return;
    fast_.in_bounds.insert({access.stmt, access.load});
    stretch.least = std::min(stretch.least, place);
    stretch.most = std::max(stretch.most, place);
    fast_.starts[index] = {stretch.start, place};
    if (access.load.exists() && facts_.has_constant_words(access.buffer)) {
      stretch.loads[index] = place;
    }
  }

  // How far an index goes in the rounds of loops: it grows by the same in each of them.
  Value reach(ExprId index, const std::set<StmtId>& loops) {
    for (StmtId loop : loops) gang_.begin_round_of(loop, 0);
    const Value first = gang_.word(index);
    Value all = ir_.wide(0);
    for (StmtId loop : loops) {
      Value rounds = ir_.wide(facts_.layout.rows);
      if (loop.exists()) {
        const For& counted = std::get<For>(body_[loop]);
        const Value to = number(counted.to);
        rounds = ir_.difference(to, number(counted.from));
      }
      gang_.begin_round_of(loop, 1);
      const Value step = ir_.zext(gang_.word(index) - first, 64);
      const Value whole = step * ir_.difference(rounds, 1);
      all = all + ir_.umin(whole, std::uint64_t{1} << 40);
      gang_.begin_round_of(loop, 0);
    }
    return all;
  }

  // Loads of rows that overlap are made of the vectors of three gangs, one of which is new in each.
  void keep_stretch(BufferId buffer, const Stretch& stretch) {
    const std::int64_t width = facts_.width;
    std::int64_t around = 0;
    std::int64_t middle = 0;
    if (stretch.stride == 1 && stretch.loads.size() > 1) {
      const auto [least, most] = std::ranges::minmax(std::views::values(stretch.loads));
      middle = (least + most) / 2;
      if (least < most && most - least < width) around = width;
    }
    keep_from(stretch.start, stretch.stride, std::max(-stretch.least, around - middle),
              length(buffer) - std::max(stretch.most, middle + around));
    if (around == 0) return;
    for (const auto& [index, place] : stretch.loads) {
      fast_.slid[{index, buffer}] = {fast_.slides.size(), place - middle};
    }
    fast_.slides.push_back({buffer, stretch.start + middle});
  }

  // Gangs follow each other at a distance that keeps the alignment.
  void find_streamed() {
    for (StmtId id = begin_; id < end_; ++id.index) {
      const Store* store = std::get_if<Store>(&body_[id]);
      if (store == nullptr || early(store->index) != Early::Fixed) continue;
      if (!may_stream(facts_, id, *store)) continue;
      const Records::Place* place = facts_.records.find(id, {});
      const Value own = gang_.word(store->index);
      const Value first = place == nullptr ? own : own - place->offset;
      const BufferSlot& buffer = frame_.buffers[store->buffer.index];
      const DataType element = facts_.element(store->buffer);
      const Value address = ir_.address(frame_.element_address(buffer, element, first));
      const Value rest = address & (facts_.streamed_bytes(store->buffer) - 1);
      fast_.streamed[id] = frame_.streams & ir_.equal(rest, 0);
    }
  }

  Frame& frame_;
  GangWriter& gang_;
  const CpuFacts& facts_ = frame_.facts;
  const Body& body_ = facts_.body;
  Ir& ir_ = frame_.ir;
  const StmtId begin_;
  const StmtId end_;
  const Extent extent_;
  RowSpan& lanes_;
  std::size_t count_ = 0;  // of conditions
  FastRow fast_;
  std::map<std::pair<Terms, BufferId>, Stretch> stretches_;
  std::set<std::pair<ExprId, BufferId>> known_;
  std::map<BufferId, std::uint64_t> tables_;  // and the last element that is looked up
};

}  // namespace

FastRow find_unchecked(Frame& frame, GangWriter& gang, StmtId begin, StmtId end, Extent extent,
                       RowSpan& lanes) {
  return Finder(frame, gang, begin, end, extent, lanes).find();
}

}  // namespace vyre
