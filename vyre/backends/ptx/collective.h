// Collectives: by shuffles inside of a warp, and by shared memory across warps, with one barrier.
// The order of invocations is that of their threads.
#pragma once

#include <cstdint>
#include <string_view>

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

class PtxCollectives {
 public:
  // Writes what all of them need, at the beginning of a kernel. The scratch memory is so many bytes
  // from where shared memory begins.
  PtxCollectives(PtxCode& code, PtxOps& ops, const Program& program, PtxOperand shared,
                 std::int64_t scratch_at);

  // The result, for a value that is no predicate; `chosen` is the number of an invocation.
  PtxValue put(CollectiveOp op, const PtxValue& given, const PtxOperand& chosen);

 private:
  using Operand = PtxOperand;
  using Kind = PtxOperand::Kind;

  void wait();
  PtxAddress next_area();
  PtxAddress slot(const PtxAddress& area, const Operand& number, DataType type);
  PtxValue moved(std::string_view way, const PtxValue& value, const Operand& by,
                 const Operand& clamp, Operand* arrives = nullptr);
  PtxValue both(const PtxValue& a, const PtxValue& b);
  PtxValue joined(const PtxValue& a, const PtxValue& b, const Operand& condition);
  PtxValue in_warp(PtxValue value);
  PtxValue reduced(const PtxValue& given);
  PtxValue scanned(const PtxValue& given);
  PtxValue before(const PtxAddress& totals, PtxValue nothing);
  PtxValue passed(CollectiveShape shape, const PtxValue& given, const Operand& chosen);
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
