#include "vyre/backends/ptx/collective.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <string>
#include <vector>

#include "vyre/ir/eval.h"
#include "vyre/ir/run.h"
#include "vyre/ir/typing.h"

namespace vyre {
namespace {

using Operand = PtxOperand;
using Kind = PtxOperand::Kind;

constexpr std::uint32_t kVector = 16;      // bytes that one instruction loads
constexpr std::uint32_t kTogether = 4096;  // bytes of those that have one barrier
constexpr std::uint32_t kFull = 0xffffffff;

Operand literal(std::uint64_t value) { return PtxCode::literal(value); }

std::uint32_t threads_of(const Program& program) {
  return static_cast<std::uint32_t>(invocations_of(program));
}
std::uint32_t warps_of(std::uint32_t threads) { return (threads + kPtxWarp - 1) / kPtxWarp; }

// Combining a value with itself changes nothing.
bool is_idempotent(Operation op) { return op != Operation::Add && op != Operation::BitXor; }

// As instructions call it.
std::string name_of(Operation op, DataType type) {
  const bool is_wide = ptx_kind(type) == Kind::Wide;
  const std::string number = is_wide ? "u64 " : has_sign(type) ? "s32 " : "u32 ";
  const std::string bits = is_wide ? "b64 " : "b32 ";
  if (op == Operation::Min) return "min." + number;
  if (op == Operation::Max) return "max." + number;
  if (op == Operation::BitAnd) return "and." + bits;
  if (op == Operation::BitOr) return "or." + bits;
  if (op == Operation::BitXor) return "xor." + bits;
  return "add." + number;
}

std::string_view bits_of(DataType type) { return ptx_kind(type) == Kind::Wide ? "b64" : "b32"; }

std::string_view suffix(DataType type) { return ptx_kind(type) == Kind::Wide ? "u64 " : "u32 "; }

}  // namespace

namespace {

// Bytes that the others see of the values of a collective.
std::uint32_t bytes_of(const CollectiveInfo& row, std::uint32_t threads, DataType type) {
  const std::uint32_t values = row.shape == CollectiveShape::Own ? threads : warps_of(threads);
  return (values * stride(type) + kVector - 1) / kVector * kVector;
}

}  // namespace

std::size_t count_together(const Program& program, const Types& types, StmtId first, StmtId end) {
  const Body& body = program.body;
  const std::uint32_t threads = threads_of(program);
  std::uint32_t bytes = 0;
  std::size_t count = 0;
  for (std::size_t i = first.index; i < end.index; ++i) {
    const Collective* one = std::get_if<Collective>(&body.stmts[i]);
    if (one == nullptr) break;
    bytes += bytes_of(info(one->op), threads, types[one->result]);
    const auto is_known = [&](ExprId id) {
      const Expr& expr = body[id];
      const auto gives = [&](std::size_t k) {
        return std::get<Collective>(body.stmts[k]).result.index == expr.imm;
      };
      if (!operands(body, expr).empty()) return false;
      return expr.op != Operation::Local ||
             std::ranges::none_of(std::views::iota(std::size_t{first.index}, i), gives);
    };
    const bool all_known =
        is_known(one->value) && (!one->invocation.exists() || is_known(one->invocation));
    if (count > 0 && (bytes > kTogether || !all_known)) break;
    ++count;
  }
  return count;
}

PtxScratch ptx_scratch(const Program& program) {
  PtxScratch scratch;
  const std::uint32_t threads = threads_of(program);
  if (threads <= kPtxWarp) return scratch;
  const Body& body = program.body;
  const Types types = types_of(body, program.buffers, {}, {});
  StmtId end{0u};  // of the loops that are open
  BlockStack<OpenBlock> stack(body);
  for (StmtId id{0u}; id.index < body.stmts.size();) {
    stack.enter(id.index);
    if (const For* loop = std::get_if<For>(&body[id])) end = std::max(end, loop->end);
    const std::size_t count = count_together(program, types, id, StmtId{stack.back().end});
    if (count == 0) stack.open(id.index);
    std::uint32_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& one = std::get<Collective>(body.stmts[id.index + i]);
      bytes += bytes_of(info(one.op), threads, types[one.result]);
    }
    scratch.area = std::max(scratch.area, bytes);
    if (count > 0) scratch.areas = scratch.areas == 0 && !(id < end) ? 1 : 2;
    id.index += static_cast<std::uint32_t>(std::max<std::size_t>(count, 1));
  }
  return scratch;
}

PtxCollectives::PtxCollectives(PtxCode& code, PtxOps& ops, const Program& program, Operand shared,
                               std::int64_t scratch_at)
    : code_(code),
      ops_(ops),
      threads_(threads_of(program)),
      warps_(warps_of(threads_)),
      rest_(threads_ % kPtxWarp),
      scratch_(ptx_scratch(program)),
      shared_(shared),
      scratch_at_(scratch_at) {
  const bool any = std::ranges::any_of(program.body.stmts, [](const Stmt& stmt) {
    return std::holds_alternative<Collective>(stmt);
  });
  if (!any || threads_ == 1) return;
  const auto& size = program.workgroup_size;
  thread_ = code_.define(Kind::Word, "mov.u32", ", %tid.x");
  std::uint32_t row = size[0];
  for (std::size_t axis = 1; axis < 3; row *= size[axis++]) {
    if (size[axis] == 1) continue;
    const std::string from = std::string(", %tid.") + "xyz"[axis];
    const Operand id = code_.define(Kind::Word, "mov.u32", from);
    thread_ = code_.word("mad.lo", "u32", {id, literal(row), thread_});
  }
  const std::uint64_t some = (std::uint64_t{1} << rest_) - 1;
  if (threads_ <= kPtxWarp) {
    lane_ = thread_;
    mask_ = literal(rest_ == 0 ? kFull : some);
    last_ = literal(threads_ - 1);
    return;
  }
  lane_ = code_.word("and", "b32", {thread_, literal(kPtxWarp - 1)});
  warp_ = code_.word("shr", "u32", {thread_, literal(5)});
  mask_ = literal(kFull);
  last_ = literal(kPtxWarp - 1);
  if (rest_ != 0) {
    const Operand short_one = code_.predicate("setp.eq", "u32", {warp_, literal(warps_ - 1)});
    mask_ = code_.word("selp", "b32", {literal(some), mask_, short_one});
    last_ = code_.word("selp", "b32", {literal(rest_ - 1), last_, short_one});
  }
  if (scratch_.areas < 2) return;
  turn_ = code_.named(Kind::Word, "turn", true);
  code_.put("mov.u32 ", turn_, ", 0");
}

std::vector<PtxValue> PtxCollectives::put(std::vector<PtxCollective> all) {
  for (PtxCollective& one : all) {
    if (shuffles(one.op)) one.given = hidden(one.given);
  }
  const bool shares = warps_ > 1;
  if (!shares) wait();
  PtxAddress area = shares ? next_area() : PtxAddress{};
  std::vector<Group> groups;
  for (std::size_t i = 0; i < all.size(); i += groups.back().all.size()) {
    const std::span<const PtxCollective> rest = std::span(all).subspan(i);
    const std::size_t count = count_alike(rest);
    groups.push_back(begin(rest.first(count), area));
    area.offset += std::int64_t{groups.back().bytes} * static_cast<std::int64_t>(count);
  }
  if (shares) wait();
  std::vector<PtxValue> results;
  for (const Group& group : groups) end(group, results);
  return results;
}

// For the whole workgroup; what its invocations wrote before is seen after it.
void PtxCollectives::wait() {
  if (threads_ == 1) return;
  if (threads_ > kPtxWarp) return code_.put("bar.sync 0");
  code_.put("bar.warp.sync ", mask_);
}

// --- Shared memory ------------------------------------------------------------------------------

PtxAddress PtxCollectives::next_area() {
  if (!turn_.exists()) return {shared_, scratch_at_};
  code_.put("xor.b32 ", turn_, ", ", turn_, ", ", scratch_.area);
  return {code_.word("add", "u32", {shared_, turn_}), scratch_at_};
}

PtxAddress PtxCollectives::slot(const PtxAddress& area, const Operand& number, DataType type) {
  const Operand shift = literal(ptx_kind(type) == Kind::Wide ? 3 : 2);
  const Operand bytes = code_.word("shl", "b32", {number, shift});
  return {code_.word("add", "u32", {area.base, bytes}), area.offset};
}

PtxOperand PtxCollectives::load(const PtxAddress& from, DataType type, const Operand& condition) {
  const Kind kind = ptx_kind(type);
  const Operand to = condition.exists() ? code_.unknown_zero(kind) : code_.fresh(kind);
  code_.put_if(condition, "ld.shared.", suffix(type), to, ", ", from);
  return to;
}

void PtxCollectives::store(const PtxAddress& to, const PtxValue& value, const Operand& condition) {
  const Operand from = code_.in_register(value.parts[0], ptx_kind(value.type));
  code_.put_if(condition, "st.shared.", suffix(value.type), to, ", ", from);
}

// --- Warps --------------------------------------------------------------------------------------

// The value of another lane, or the own one where there is none; `arrives`: a predicate, whether
// there is one.
PtxValue PtxCollectives::moved(std::string_view way, const PtxValue& value, const Operand& by,
                               const Operand& clamp, Operand* arrives) {
  const auto shuffle = [&](const Operand& from) {
    const Operand to = code_.fresh(Kind::Word);
    const Operand source = code_.in_register(from, Kind::Word);
    if (arrives == nullptr) {
      code_.put("shfl.sync.", way, ".b32 ", to, ", ", source, ", ", by, ", ", clamp, ", ", mask_);
      return to;
    }
    *arrives = code_.fresh(Kind::Predicate);
    code_.put("shfl.sync.", way, ".b32 ", to, "|", *arrives, ", ", source, ", ", by, ", ", clamp,
              ", ", mask_);
    return to;
  };
  PtxValue result{value.type, false, {}};
  if (ptx_kind(value.type) == Kind::Word) {
    result.parts[0] = shuffle(value.parts[0]);
    return result;
  }
  const PtxOps::Pair from = ops_.halves(value.parts[0]);
  const Operand low = shuffle(from.low);
  const Operand high = shuffle(from.high);
  result.parts[0] = code_.fresh(Kind::Wide);
  code_.put("mov.b64 ", result.parts[0], ", {", low, ", ", high, "}");
  return result;
}

PtxValue PtxCollectives::both(const PtxValue& a, const PtxValue& b) {
  return ops_.apply(op_, a, b, {});
}

// Both where the condition holds, otherwise the first.
PtxValue PtxCollectives::joined(const PtxValue& a, const PtxValue& b, const Operand& condition) {
  PtxValue result{a.type, false, {code_.fresh(ptx_kind(a.type))}};
  code_.move(result.parts[0], a.parts[0]);
  code_.put("@", condition, " ", name_of(op_, a.type), result.parts[0], ", ", result.parts[0], ", ",
            b.parts[0]);
  return result;
}

// Whether shuffles move what it is given, not shared memory.
bool PtxCollectives::shuffles(CollectiveOp op) const {
  const CollectiveShape shape = info(op).shape;
  if (threads_ == 1) return false;
  return warps_ == 1 || shape == CollectiveShape::All || shape == CollectiveShape::Before;
}

// The same value, of which ptxas knows nothing. Where a shuffle moves a number that ptxas knows, it
// makes wrong code of that number less another one (docs/backends/cuda.md).
PtxValue PtxCollectives::hidden(PtxValue value) {
  const Kind kind = ptx_kind(value.type);
  value.parts[0] =
      code_.make(kind, "xor", bits_of(value.type), {value.parts[0], code_.unknown_zero(kind)});
  return value;
}

// Of all lanes of a warp. Every lane has it where they are a power of two, otherwise the first.
PtxValue PtxCollectives::in_warp(PtxValue value) {
  const std::uint32_t lanes = std::min(threads_, kPtxWarp);
  const bool is_whole = std::has_single_bit(lanes) && (warps_ == 1 || rest_ == 0);
  for (std::uint32_t by = std::bit_ceil(lanes) / 2; by > 0; by /= 2) {
    if (is_whole) {
      value = both(value, moved("bfly", value, literal(by), literal(kPtxWarp - 1)));
    } else if (is_idempotent(op_)) {
      value = both(value, moved("down", value, literal(by), last_));
    } else {
      Operand arrives;
      const PtxValue other = moved("down", value, literal(by), last_, &arrives);
      value = joined(value, other, arrives);
    }
  }
  return value;
}

// --- Collectives --------------------------------------------------------------------------------

// How many from the first one on take the same steps: together they have a lane for each total of a
// warp.
std::size_t PtxCollectives::count_alike(std::span<const PtxCollective> all) const {
  const PtxCollective& first = all[0];
  if (info(first.op).chooses() || warps_ == 1 || rest_ != 0) return 1;
  const std::size_t most = kPtxWarp / std::bit_ceil(warps_);
  std::size_t count = 1;
  while (count < std::min(most, all.size()) && all[count].op == first.op &&
         all[count].given.type == first.given.type) {
    ++count;
  }
  return std::bit_floor(count);
}

PtxCollectives::Group PtxCollectives::begin(std::span<const PtxCollective> all,
                                            const PtxAddress& area) {
  const PtxCollective& one = all[0];
  const CollectiveInfo& row = info(one.op);
  const DataType type = one.given.type;
  op_ = row.operation;
  Group group{all, area, bytes_of(row, threads_, type), {}, {}, {}, {}};
  switch (row.shape) {
    case CollectiveShape::All:
      if (threads_ == 1) {
        group.own = {one.given};
      } else {
        group.own = {all.size() == 1 ? in_warp(one.given) : folded(all)};
        if (warps_ > 1) store_totals(group);
      }
      break;
    case CollectiveShape::Before:
      group.nothing = ops_.constant(type, collective_identity(one.op, type));
      for (std::size_t i = 0; threads_ > 1 && i < all.size(); ++i) {
        const std::int64_t offset =
            area.offset + std::int64_t{group.bytes} * static_cast<std::int64_t>(i);
        group.own.push_back(begin_scan(all[i].given, group.nothing, {area.base, offset}));
      }
      break;
    case CollectiveShape::One:
    case CollectiveShape::Own:
      group.number = code_.in_register(one.chosen, Kind::Word);
      group.exists = code_.predicate("setp.lt", "u32", {group.number, literal(threads_)});
      if (warps_ == 1) break;
      if (row.shape == CollectiveShape::Own) {
        store(slot(area, thread_, type), one.given, {});
        group.area = slot(area, group.number, type);
      } else {
        store(area, one.given, code_.predicate("setp.eq", "u32", {group.number, thread_}));
      }
      break;
  }
  return group;
}

void PtxCollectives::end(const Group& group, std::vector<PtxValue>& results) {
  const PtxCollective& one = group.all[0];
  const CollectiveInfo& row = info(one.op);
  const DataType type = one.given.type;
  op_ = row.operation;
  switch (row.shape) {
    case CollectiveShape::All:
      if (warps_ > 1) {
        const std::vector<PtxValue> sums = of_warps(group);
        results.insert(results.end(), sums.begin(), sums.end());
      } else if (std::has_single_bit(threads_)) {
        results.push_back(group.own[0]);
      } else {
        results.push_back(moved("idx", group.own[0], literal(0), literal(kPtxWarp - 1)));
      }
      return;
    case CollectiveShape::Before:
      if (threads_ == 1) {
        results.push_back(group.nothing);
      } else if (warps_ == 1) {
        results.push_back(group.own[0]);
      } else {
        const std::vector<PtxValue> before = of_warps(group);
        for (std::size_t i = 0; i < before.size(); ++i) {
          results.push_back(both(group.own[i], before[i]));
        }
      }
      return;
    case CollectiveShape::One:
    case CollectiveShape::Own: break;
  }
  if (warps_ > 1) return results.push_back({type, false, {load(group.area, type, group.exists)}});
  PtxValue result = one.given;
  if (threads_ > 1) result = moved("idx", result, group.number, literal(kPtxWarp - 1));
  result.parts[0] = code_.make(ptx_kind(type), "selp", bits_of(type),
                               {result.parts[0], code_.unknown_zero(ptx_kind(type)), group.exists});
  results.push_back(result);
}

// Several values of each lane, each of which becomes one of all lanes: half of the lanes go on with
// half of the values, until each has one. The lanes with the highest numbers have the last value.
PtxValue PtxCollectives::folded(std::span<const PtxCollective> all) {
  std::vector<PtxValue> values;
  for (const PtxCollective& one : all) values.push_back(one.given);
  const DataType type = values[0].type;
  const auto chosen = [&](const PtxValue& a, const PtxValue& b, const Operand& condition) {
    return PtxValue{
        type,
        false,
        {code_.make(ptx_kind(type), "selp", bits_of(type), {a.parts[0], b.parts[0], condition})}};
  };
  for (std::uint32_t by = kPtxWarp / 2; by > 0; by /= 2) {
    const std::size_t half = values.size() / 2;
    if (half > 0) {
      const Operand bit = code_.word("and", "b32", {lane_, literal(by)});
      const Operand is_upper = code_.predicate("setp.ne", "u32", {bit, literal(0)});
      for (std::size_t i = 0; i < half; ++i) {
        const PtxValue given = chosen(values[i], values[half + i], is_upper);
        const PtxValue kept = chosen(values[half + i], values[i], is_upper);
        values[i] = both(kept, moved("bfly", given, literal(by), literal(kPtxWarp - 1)));
      }
      values.resize(half);
    } else {
      values[0] = both(values[0], moved("bfly", values[0], literal(by), literal(kPtxWarp - 1)));
    }
  }
  return values[0];
}

// Of this warp, in all lanes or as folded() leaves them.
void PtxCollectives::store_totals(const Group& group) {
  const auto lanes = kPtxWarp / static_cast<std::uint32_t>(group.all.size());
  PtxAddress to = slot(group.area, warp_, group.own[0].type);
  Operand number = lane_;  // in the lanes of its total
  if (lanes < kPtxWarp) {
    number = code_.word("and", "b32", {lane_, literal(lanes - 1)});
    const Operand which = code_.word(
        "shr", "u32", {lane_, literal(static_cast<std::uint32_t>(std::countr_zero(lanes)))});
    to.base = code_.word("mad.lo", "u32", {which, literal(group.bytes), to.base});
  }
  store(to, group.own[0], code_.predicate("setp.eq", "u32", {number, literal(0)}));
}

// For each of the group what the totals of warps are together: of all, or of those before this one.
std::vector<PtxValue> PtxCollectives::of_warps(const Group& group) {
  const PtxCollective& one = group.all[0];
  const DataType type = one.given.type;
  const bool of_all = info(one.op).shape == CollectiveShape::All;
  if (rest_ != 0) return {before(group.area, of_all ? PtxValue{type, false, {}} : group.nothing)};
  const auto count = static_cast<std::uint32_t>(group.all.size());
  const std::uint32_t each = std::bit_ceil(warps_);
  const Operand number = code_.word("and", "b32", {lane_, literal(each - 1)});
  PtxAddress from = slot(group.area, number, type);
  if (count > 1) {
    const Operand lanes = code_.word(
        "shr", "u32", {lane_, literal(static_cast<std::uint32_t>(std::countr_zero(each)))});
    const Operand which = code_.word("and", "b32", {lanes, literal(count - 1)});
    from.base = code_.word("mad.lo", "u32", {which, literal(group.bytes), from.base});
  }
  Operand counts;
  if (!of_all) counts = code_.predicate("setp.lt", "u32", {number, warp_});
  if (of_all && each != warps_)
    counts = code_.predicate("setp.lt", "u32", {number, literal(warps_)});
  PtxValue sum{type, false, {code_.fresh(ptx_kind(type))}};
  if (counts.exists()) {
    code_.move(sum.parts[0], ops_.constant(type, collective_identity(one.op, type)).parts[0]);
  }
  code_.put_if(counts, "ld.shared.", suffix(type), sum.parts[0], ", ", from);
  for (std::uint32_t by = each / 2; by > 0; by /= 2) {
    sum = both(sum, moved("bfly", sum, literal(by), literal(kPtxWarp - 1)));
  }
  if (count == 1) return {sum};
  std::vector<PtxValue> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(moved("idx", sum, literal(i * each), literal(kPtxWarp - 1)));
  }
  return all;
}

// The same in a workgroup whose last warp lacks lanes: beginning with `nothing`, those of the warps
// before; or of all, where that is no value.
PtxValue PtxCollectives::before(const PtxAddress& totals, PtxValue nothing) {
  const DataType type = nothing.type;
  const bool of_all = !nothing.parts[0].exists();
  const std::uint32_t count = of_all ? warps_ : warps_ - 1;
  const std::uint32_t each = kVector / stride(type);
  PtxValue sum = nothing;
  for (std::uint32_t i = 0; i < count; i += each) {
    std::vector<Operand> parts;
    const std::uint32_t end = std::min(count - i, each);
    for (std::uint32_t k = 0; k < each; ++k) parts.push_back(code_.fresh(ptx_kind(type)));
    code_.put("ld.shared.v", each, ".", suffix(type), std::span<const Operand>(parts), ", ",
              PtxAddress{totals.base, totals.offset + std::int64_t{i} * stride(type)});
    for (std::uint32_t k = 0; k < end; ++k) {
      const PtxValue total{type, false, {parts[k]}};
      if (of_all) {
        sum = sum.parts[0].exists() ? both(sum, total) : total;
      } else {
        const Operand is_before = code_.predicate("setp.gt", "u32", {warp_, literal(i + k)});
        sum = joined(sum, total, is_before);
      }
    }
  }
  return sum;
}

// What the lanes before each have together; the last lane leaves what all of them have.
PtxValue PtxCollectives::begin_scan(const PtxValue& given, const PtxValue& nothing,
                                    const PtxAddress& area) {
  PtxValue all = given;
  for (std::uint32_t by = 1; by < std::min(threads_, kPtxWarp); by *= 2) {
    Operand arrives;
    const bool asks = !is_idempotent(op_);
    const PtxValue other = moved("up", all, literal(by), literal(0), asks ? &arrives : nullptr);
    all = asks ? joined(all, other, arrives) : both(all, other);
  }
  PtxValue own;
  if (op_ == Operation::Add) {
    own = ops_.apply(Operation::Sub, all, given, {});
  } else {
    Operand arrives;
    own = moved("up", all, literal(1), literal(0), &arrives);
    own.parts[0] = code_.make(ptx_kind(given.type), "selp", bits_of(given.type),
                              {own.parts[0], nothing.parts[0], arrives});
  }
  if (warps_ == 1) return own;
  const Operand is_last = code_.predicate("setp.eq", "u32", {lane_, literal(kPtxWarp - 1)});
  store(slot(area, warp_, given.type), all, is_last);
  return own;
}

}  // namespace vyre
