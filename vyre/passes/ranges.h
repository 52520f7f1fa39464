// What is known about values at each statement: intervals and bits (range.h), and which value is
// less than which. Guards, loops, masks and early returns say so; arithmetic that may wrap around
// says nothing beyond what holds after wrapping.
//
// The analysis follows the statements in order, with a value graph. What a load from memory that
// others write gives is a new value in every statement: a fact about it holds only there, and for
// the local that a `let` binds it to.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "vyre/ir/program.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/range.h"
#include "vyre/passes/values.h"

namespace vyre {

// What the host knows of a dispatch.
struct DispatchFacts {
  std::array<std::uint64_t, 3> grid{};               // workgroups on each axis
  std::vector<std::uint32_t> lengths;                // per buffer
  std::vector<std::vector<std::uint32_t>> uniforms;  // per buffer: its words, if it is a uniform

  friend bool operator==(const DispatchFacts&, const DispatchFacts&) = default;
};

class Ranges {
 public:
  // With facts, what is found holds only for dispatches of which they are true.
  explicit Ranges(const Program& program, const DispatchFacts* facts = nullptr);
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  // Goes on to a statement; never back.
  void go_to(StmtId stmt);

  // The value of an expression of the statement, and what is known of it.
  ExprId value(ExprId expr);
  Range range(ExprId value);
  const Range& base(ExprId value) {  // wherever it is
    if (bases_.size() < nodes_.exprs.size()) find_bases();
    return bases_[value.index];
  }
  DataType type(ExprId value) const { return make_.type(value); }

  // The words of uniforms that were taken from the facts so far, each once.
  const std::set<std::pair<BufferId, std::uint32_t>>& words() const { return words_; }

  // Whether a + offset < b is certain, as numbers that do not wrap around; both are u32.
  struct Reason {
    StmtId guard;  // the branch or loop that says so; none where the ranges do
    std::vector<std::pair<BufferId, BufferId>>
        orders;  // lengths a <= b that it takes from the host
  };
  std::optional<Reason> less(ExprId a, std::int64_t offset, ExprId b,
                             const DispatchFacts* orders = nullptr);
  ExprId length(BufferId buffer) { return make_.make(Operation::Length, 0, buffer.index, {}); }

  // As long as it lives, what the condition says is known too.
  class Assumed {
   public:
    Assumed(Ranges& ranges, ExprId condition)
        : ranges_(ranges), facts_(ranges.known_.size()), refined_(ranges.undo_.size()) {
      ranges.assume(condition, true, {});
    }
    ~Assumed() { ranges_.undo(facts_, refined_); }
    Assumed(const Assumed&) = delete;
    Assumed& operator=(const Assumed&) = delete;

   private:
    Ranges& ranges_;
    const std::size_t facts_;
    const std::size_t refined_;
  };

 private:
  struct Fact {
    ExprId a;
    ExprId b;
    bool strict;  // a < b, otherwise a <= b
    StmtId guard;
  };
  struct Refined {
    ExprId value;
    std::optional<Range> before;
    std::uint64_t leaves_before = 0;  // refined_leaves_
  };
  struct Frame : OpenBlock {
    std::size_t facts = 0;
    std::size_t refined = 0;
    std::size_t assigned = 0;  // assigned_
    bool ended = false;        // a `return` or `break` was its last statement
    bool then_ended = false;   // of an `else`: so it was with the block before it
    bool is_coarse = false;    // what is assigned inside is not known when it ends
  };
  // What more is known of a value here.
  struct Here {
    std::optional<Range> refined;
    std::uint64_t context = 0;  // for which `range` was computed
    Range range;
  };

  void begin_block(Frame& frame);
  void end_block(const Frame& closed, Frame& now);
  void forget_assigned(StmtId first, StmtId end);
  void forget(LocalId local);
  bool is_coarse();
  void leave_statement(StmtId stmt);
  ExprId unknown(DataType type, const Range& range);
  void find_bases();
  template <class Operand>
  Range computed(ExprId value, Operand operand);
  std::optional<std::uint64_t> remainder_below(const Expr& difference);
  void assume(ExprId condition, bool holds, StmtId guard);
  void compare(Operation comparison, ExprId a, ExprId b, StmtId guard);
  Here& here(ExprId value);
  void narrow(ExprId value, const Range& range);
  void undo(std::size_t facts, std::size_t refined);
  std::int64_t most(ExprId value) { return static_cast<std::int64_t>(range(value).hi); }
  std::int64_t least(ExprId value) { return static_cast<std::int64_t>(range(value).lo); }
  bool prove(ExprId a, std::int64_t offset, ExprId b, unsigned depth, Reason& reason);
  bool prove_by_facts(ExprId a, std::int64_t offset, ExprId b, unsigned depth, Reason& reason);

  const Program& program_;
  const Body& body_;
  const DispatchFacts* facts_;
  const DispatchFacts* orders_ = nullptr;
  ValueGraph graph_;
  const Body& nodes_ = graph_.nodes;
  Simplifier& make_ = graph_.make;
  std::vector<ValueGraph::Held>& locals_ = graph_.locals;
  std::vector<Range> unknowns_;  // per local of the graph
  std::set<std::pair<BufferId, std::uint32_t>> words_;
  std::vector<Range> bases_;           // per value
  std::vector<std::uint64_t> leaves_;  // per value: a bit for each leaf that it is made of
  std::uint64_t refined_leaves_ = 0;   // of all that more is known of here
  std::vector<Refined> undo_;
  std::vector<std::uint32_t> here_;  // per value: where in heres_ it is; 0: nowhere
  std::vector<Here> heres_{{}};
  std::vector<Fact> known_;
  std::uint64_t context_ = 1;
  unsigned steps_ = 0;
  BlockStack<Frame> stack_;
  std::vector<ExprId> conditions_;    // of the open branches
  std::vector<LocalId> assigned_;     // in the coarse blocks that are open
  std::optional<bool> nests_deeply_;  // where somebody has asked
  std::uint32_t at_ = 0;              // statements before this one are done
  bool begun_ = false;
};

}  // namespace vyre
