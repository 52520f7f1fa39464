// Collectives: by shuffles inside of a warp, and by shared memory across warps, with one barrier
// for all that stand side by side. The order of invocations is that of their threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vyre/backends/ptx/ops.h"
#include "vyre/ir/program.h"

namespace vyre {

inline constexpr std::uint32_t kPtxWarp = 32;  // threads

// Shared memory of a block for the collectives of a program. Where several run one after another
// they take turns with two areas: what one of them leaves is read until the next one waits.
struct PtxScratch {
  std::uint32_t area = 0;  // bytes
  std::uint32_t areas = 0;
  std::uint32_t bytes() const { return area * areas; }
};
PtxScratch ptx_scratch(const Program& program);

// How many from this one on, in a block that ends at `end`, have one barrier: what they take is
// known before the first of them.
std::size_t count_together(const Program& program, const Types& types, StmtId first, StmtId end);

struct PtxCollective {
  CollectiveOp op;
  PtxValue given;          // no predicate
  PtxOperand chosen = {};  // the number of an invocation
};

class PtxCollectives {
 public:
  // Writes what all of them need, at the beginning of a kernel. The scratch memory begins
  // `scratch_at` bytes after shared memory does.
  PtxCollectives(PtxCode& code, PtxOps& ops, const Program& program, PtxOperand shared,
                 std::int64_t scratch_at);

  // The results of those that have one barrier.
  std::vector<PtxValue> put(std::vector<PtxCollective> all);

 private:
  using Operand = PtxOperand;
  using Kind = PtxOperand::Kind;

  // Those that take the same steps, with what is known before the barrier.
  struct Group {
    std::span<const PtxCollective> all;
    PtxAddress area;
    std::uint32_t bytes = 0;  // of each, in the area
    std::vector<PtxValue> own;
    PtxValue nothing;
    Operand number;
    Operand exists;
  };
  std::size_t count_alike(std::span<const PtxCollective> all) const;
  Group begin(std::span<const PtxCollective> all, const PtxAddress& area);
  void end(const Group& group, std::vector<PtxValue>& results);
  void wait();
  PtxAddress next_area();
  PtxAddress slot(const PtxAddress& area, const Operand& number, DataType type);
  PtxValue moved(std::string_view way, const PtxValue& value, const Operand& by,
                 const Operand& clamp, Operand* arrives = nullptr);
  bool shuffles(CollectiveOp op) const;
  PtxValue hidden(PtxValue value);
  PtxValue both(const PtxValue& a, const PtxValue& b);
  PtxValue joined(const PtxValue& a, const PtxValue& b, const Operand& condition);
  PtxValue in_warp(PtxValue value);
  PtxValue folded(std::span<const PtxCollective> all);
  void store_totals(const Group& group);
  std::vector<PtxValue> of_warps(const Group& group);
  PtxValue begin_scan(const PtxValue& given, const PtxValue& nothing, const PtxAddress& area);
  PtxValue before(const PtxAddress& totals, PtxValue nothing);
  Operand load(const PtxAddress& from, DataType type, const Operand& condition);
  void store(const PtxAddress& to, const PtxValue& value, const Operand& condition);

  PtxCode& code_;
  PtxOps& ops_;
  const std::uint32_t threads_;
  const std::uint32_t warps_;
  const std::uint32_t rest_;  // threads of the last warp, where it is not full
  const PtxScratch scratch_;
  const Operand shared_;
  const std::int64_t scratch_at_;
  Operation op_ = Operation::Add;  // of the collective that is being written
  Operand thread_;                 // its number in the block
  Operand lane_;
  Operand warp_;
  Operand mask_;  // the threads of the warp
  Operand last_;  // the last lane of the warp
  Operand turn_;  // where the area of the last collective begins; none: there is one area
};

}  // namespace vyre
