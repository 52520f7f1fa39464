#include "vyre/backends/cpu/emitter.h"

#include <algorithm>
#include <bit>
#include <ranges>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;
using Kind = Shape::Kind;

bool commutes(const Atomic& atomic) {
  return atomic.op != AtomicOp::Exchange && atomic.op != AtomicOp::CompareExchange;
}

}  // namespace

// What a load gives from what memory holds: a bool is 0 or 1.
Lanes CpuEmitter::from_memory(DataType element, Lanes loaded) {
  loaded.type = loaded_type(element);
  if (element != DataType::Bool) return loaded;
  return {DataType::Bool, true, {ir_.not_zero(loaded.parts[0])}};
}

// Of element `index`, a scalar. Where the first lane of a row may be below zero, what wraps around
// is meant to be there; no buffer is so long that both ends matter.
Value CpuEmitter::address_of(const Buffer& buffer, DataType element, Value index, bool may_wrap) {
  Value offset = ir_.zext(index, 64);
  if (may_wrap) {
    const Value wraps = ir_.compare(Compare::Ugt, index, ir_.word(std::uint32_t{0} - width_));
    offset = ir_.select(wraps, ir_.sext(index, 64), offset);
  }
  return ir_.at(ir_.i8, buffer.address, ir_.mul(offset, ir_.wide(stride(element))));
}

// Of the element of the first lane.
Value CpuEmitter::row_address(const Buffer& buffer, DataType element, ExprId index, bool may_wrap) {
  const auto start = starts_.find(index);
  if (!fast_ || start == starts_.end()) {
    return address_of(buffer, element, ops_.whole(scalar(index)).parts[0], may_wrap);
  }
  const auto bytes = [&](std::int64_t elements) {
    return ir_.wide(static_cast<std::uint64_t>(elements * stride(element)));
  };
  const Value row = ir_.at(ir_.i8, buffer.address, ir_.mul(start->second.at, bytes(1)));
  const Value step = bytes(std::int64_t{shapes_[index].stride} * width_);
  const Value gang = ir_.at(ir_.i8, row, ir_.mul(gang_in_row_, step));
  return ir_.at(ir_.i8, gang, bytes(start->second.behind));
}

// The mask of one of the vectors that hold elements of several parts side by side.
Value CpuEmitter::part_mask(Value mask, std::size_t parts, std::size_t row) {
  if (parts == 1) return mask;
  std::vector<unsigned> lanes;
  for (std::size_t i = 0; i < width_; ++i) {
    lanes.push_back(static_cast<unsigned>((row * width_ + i) / parts));
  }
  return ir_.shuffle(mask, mask, lanes);
}

// A mask of whose lanes LLVM knows nothing. Where masks are vectors, LLVM 19 may take a half of a
// masked load that it knows to be off for one that is on (docs/backends/cpu.md).
Value CpuEmitter::unknown(Value mask) {
  if (!is_avx2(target_)) return mask;
  return mask_of(ir_.exclusive(ir_.sext(mask, 32), ir_.splat(ir_.hidden(ir_.i32, 0))));
}

Lanes CpuEmitter::load_row(DataType element, Value pointer, Value mask) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const Ir::Type whole = ir_.vector(part_type(type));
  const unsigned align = part_bits(type) / 8;
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts; ++i) {
    const Value from = ir_.at(whole, pointer, ir_.wide(i));
    std::array<Ir::Type, 2> named{whole, ir_.pointer()};
    rows.push_back(mask == nullptr
                       ? ir_.load(whole, from, align)
                       : ir_.call("llvm.masked.load", named,
                                  {from, ir_.word(align), unknown(part_mask(mask, parts, i)),
                                   ir_.zero(whole)}));
  }
  Lanes lanes{type, false, {}};
  std::ranges::copy(deinterleave(rows), lanes.parts.begin());
  return lanes;
}

void CpuEmitter::store_row(DataType element, Value pointer, Value mask, const Lanes& value) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const auto end = value.parts.begin() + static_cast<std::ptrdiff_t>(parts);
  const std::vector<Value> rows = interleave({value.parts.begin(), end});
  if (mask == nullptr) return store_rows(rows, pointer);
  const Ir::Type whole = ir_.vector(part_type(type));
  for (std::size_t i = 0; i < parts; ++i) {
    std::array<Ir::Type, 2> named{whole, ir_.pointer()};
    ir_.call("llvm.masked.store", named,
             {rows[i], ir_.at(whole, pointer, ir_.wide(i)), ir_.word(part_bits(type) / 8),
              unknown(part_mask(mask, parts, i))});
  }
}

// The addresses of a part of any elements. From the middle of all that an index can reach, it is a
// signed number, which the CPU's own gathers take. Without checks buffers are shorter than that.
Value CpuEmitter::pointers(Value address, DataType element, Value index, std::size_t part) {
  const DataType type = loaded_type(element);
  const std::size_t parts = part_count(type);
  const std::uint64_t middle = fast_ ? 0 : std::uint64_t{1} << 31;
  const Value base =
      ir_.at(ir_.i8, address, ir_.wide(middle * stride(element) + part * part_bits(type) / 8));
  if (middle != 0) index = ir_.exclusive(index, ir_.splat_number(ir_.i32, middle));
  Value offset = ir_.sext(index, 64);
  if (parts > 1) offset = ir_.mul(offset, ir_.splat_number(ir_.i64, parts));
  return ir_.at(part_type(type), base, offset);
}

bool CpuEmitter::may_slide(BufferId buffer) const {
  const DataType element = program_.buffers[buffer.index].element;
  return !is_written(program_.buffers[buffer.index].access) && stride(element) == 4 &&
         element != DataType::Bool;
}

Value CpuEmitter::slide_row(const Slide& slide, Value gang) {
  const Value element = ir_.add(slide.start, ir_.mul(gang, ir_.wide(width_)));
  const Value pointer = ir_.at(ir_.i32, buffers_[slide.buffer.index].address, element);
  return ir_.load(ir_.vector(ir_.i32), pointer, 4);
}

// Before the first gang without checks.
void CpuEmitter::begin_slides(Value gang) {
  for (Slide& slide : slides_) {
    slide.last = ir_.local(ir_.vector(ir_.i32), "last");
    slide.now = ir_.local(ir_.vector(ir_.i32), "now");
    ir_.store(slide_row(slide, ir_.sub(gang, ir_.wide(1))), slide.last);
    ir_.store(slide_row(slide, gang), slide.now);
  }
}

// In front of a gang, and behind it.
void CpuEmitter::load_slides(Value gang) {
  for (Slide& slide : slides_) slide.next = slide_row(slide, ir_.add(gang, ir_.wide(1)));
}
void CpuEmitter::go_on_with_slides() {
  for (const Slide& slide : slides_) {
    ir_.store(ir_.load(ir_.vector(ir_.i32), slide.now), slide.last);
    ir_.store(slide.next, slide.now);
  }
}

// Which lanes are on, where that is known.
std::optional<std::uint64_t> CpuEmitter::constant_lanes(Value mask) {
  std::uint64_t bits = 0;
  if (mask == nullptr || !ir_.is_constant(mask)) return std::nullopt;
  for (unsigned lane = 0; lane < width_; ++lane) {
    const Value element = ir_.api().GetAggregateElement(mask, lane);
    const std::optional<std::uint64_t> bit = ir_.constant(element);
    if (!bit) return std::nullopt;
    bits |= *bit << lane;
  }
  return bits;
}

// What a row of workgroup memory holds, where that is known: the row itself, or parts of two.
Value CpuEmitter::known_row(BufferId buffer, Value start, Value mask) {
  const auto known = rows_known_.find(buffer);
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (known == rows_known_.end() || !word) return nullptr;
  const std::int64_t first = static_cast<std::int32_t>(*word);
  const std::int64_t width = width_;
  const auto row_at = [&](std::int64_t at) {
    const auto found = known->second.find(at);
    if (found != known->second.end()) return found->second;
    // There is nothing below 0.
    return at == -width ? ir_.zero(ir_.vector(ir_.i32)) : nullptr;
  };
  Value row = row_at(first);
  const auto after = known->second.lower_bound(first);
  if (row == nullptr && after != known->second.end() && after->first < first + width) {
    const Value before = row_at(after->first - width);
    if (before == nullptr) return nullptr;
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) {
      from.push_back(static_cast<unsigned>(first + width - after->first) + i);
    }
    row = ir_.shuffle(before, after->second, from);
  }
  if (row == nullptr || mask == nullptr) return row;
  return ir_.select(mask, row, ir_.zero(ir_.type(row)));
}

void CpuEmitter::know_row(BufferId buffer, Value start, Value mask, Value row) {
  if (!is_unrolled_ || program_.buffers[buffer.index].access != BufferAccess::Workgroup) return;
  const std::optional<std::uint64_t> word = ir_.constant(start);
  if (!word) return forget(buffer);
  std::map<std::int64_t, Value>& rows = rows_known_[buffer];
  const auto first = static_cast<std::int32_t>(*word);
  if (mask != nullptr) {
    const auto old = rows.find(first);
    row = old == rows.end() ? nullptr : ir_.select(mask, row, old->second);
  }
  std::erase_if(rows, [&](const auto& each) {
    return each.first > first - std::int64_t{width_} && each.first < first + std::int64_t{width_};
  });
  if (row != nullptr) rows[first] = row;
}

// Where an element of workgroup memory was copied from, if that still holds it: what nobody reads
// there is not written either.
Value CpuEmitter::origin(BufferId buffer, Value index) {
  const auto known = rows_known_.find(buffer);
  const std::optional<std::uint64_t> word = ir_.constant(index);
  if (known == rows_known_.end() || !word) return nullptr;
  const std::int64_t at = static_cast<std::int32_t>(*word);
  const auto after = known->second.upper_bound(at);
  if (after == known->second.begin()) return nullptr;
  const auto [start, row] = *std::prev(after);
  const auto from = origins_.find(row);
  if (from == origins_.end() || at - start >= std::int64_t{width_}) return nullptr;
  return ir_.at(ir_.i32, from->second, ir_.wide(static_cast<std::uint64_t>(at - start)));
}

// Of elements that stand side by side, n in each lane, the vectors of the first, the second, ...
std::vector<Value> CpuEmitter::deinterleave(const std::vector<Value>& rows) {
  if (rows.size() == 1) return rows;
  std::array<std::vector<Value>, 2> halves;
  for (unsigned odd = 0; odd < 2; ++odd) {
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) from.push_back(2 * i + odd);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      halves[odd].push_back(ir_.shuffle(rows[i], rows[i + 1], from));
    }
    halves[odd] = deinterleave(halves[odd]);
  }
  std::vector<Value> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) parts.push_back(halves[i % 2][i / 2]);
  return parts;
}

// And back.
std::vector<Value> CpuEmitter::interleave(const std::vector<Value>& parts) {
  if (parts.size() == 1) return parts;
  std::array<std::vector<Value>, 2> halves;
  for (std::size_t i = 0; i < parts.size(); ++i) halves[i % 2].push_back(parts[i]);
  for (std::vector<Value>& half : halves) half = interleave(half);
  std::vector<Value> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<unsigned> from;
    for (unsigned lane = 0; lane < width_; ++lane) {
      from.push_back((static_cast<unsigned>(i % 2) * width_ + lane) / 2 + lane % 2 * width_);
    }
    rows.push_back(ir_.shuffle(halves[0][i / 2], halves[1][i / 2], from));
  }
  return rows;
}

// The record of an access, where all of it is in bounds.
const Records::Place* CpuEmitter::in_record(StmtId stmt, ExprId load) const {
  const Records::Place* place = fast_ && in_rows_ ? records_.find(stmt, load) : nullptr;
  if (place == nullptr) return nullptr;
  // What is proved is so for lanes that are on.
  const bool inside = std::ranges::all_of(records_.all[place->record].members, [&](auto& member) {
    return assumed_.contains(member) ||
           (mask_ == nullptr && bounds_.is_proved(member.first, member.second));
  });
  return inside ? place : nullptr;
}

// What another thread may write at the same time is one value from here on, whichever it is.
Lanes CpuEmitter::settled(const Expr& load, Lanes loaded) {
  if (program_.buffers[load.imm].access != BufferAccess::ReadWrite) return loaded;
  for (std::size_t i = 0; i < part_count(loaded.type); ++i) {
    loaded.parts[i] = ir_.freeze(loaded.parts[i]);
  }
  return loaded;
}

// Where each lane walks along a stretch of its own, the CPU does not see what comes next: the
// stretches of the next gang, a line of each at a time.
void CpuEmitter::prefetch(const Buffer& buffer, DataType element, ExprId index) {
  const std::int64_t distance = std::int64_t{shapes_[index].stride} * stride(element);
  const std::set<StmtId> loops = counting(index);
  if (distance < 2 * kLine || loops.size() != 1 || loops_.empty()) return;
  if (*loops.begin() != loops_.back().id || owner(at_) != loops_.back().id) return;
  const For& loop = std::get<For>(body_[loops_.back().id]);
  // Loads side by side share a line.
  const Split split = split_index(body_, bound_, index);
  if (!fetched_.insert({loops_.back().id, split.terms}).second) return;
  std::uint32_t step = 1;
  for (const auto& [term, minus] : split.terms) {
    const Expr& expr = body_[term];
    if (expr.op != Operation::Mul && expr.op != Operation::Shl) continue;
    const Expr& by = body_[expr.args[1]];
    const Expr& counter = body_[expr.args[0]];
    if (counter.op != Operation::Local || counter.imm != loop.variable.index) continue;
    if (by.op == Operation::Literal) step = expr.op == Operation::Mul ? by.imm : 1u << by.imm % 32;
  }
  const std::uint32_t rounds =
      std::bit_floor(std::max(kLine / stride(element) / std::max(step, 1u), 1u));
  const Value round = places_[loop.variable.index].value.parts[0];
  const Value in_line = ir_.both(round, ir_.word(rounds - 1));
  const Ir::Block look = ir_.block("ahead");
  const Ir::Block behind = ir_.block("behind");
  ir_.branch(ir_.equal_zero(in_line), look, behind);
  ir_.go_on(look);
  const Value own = address_of(buffer, element, ops_.whole(scalar(index)).parts[0], false);
  std::array<Ir::Type, 1> named{ir_.pointer()};
  for (unsigned lane = 0; lane < width_; ++lane) {
    const std::int64_t ahead = distance * (width_ + lane);
    ir_.call("llvm.prefetch", named,
             {ir_.at(ir_.i8, own, ir_.wide(static_cast<std::uint64_t>(ahead))), ir_.word(0),
              ir_.word(2), ir_.word(1)});
  }
  ir_.jump(behind);
  ir_.go_on(behind);
  ++time_;
}

// One lane after the other. Lanes whose index is out of bounds are off.
Lanes CpuEmitter::gather_one_by_one(DataType element, const Buffer& buffer, ExprId index,
                                    bool inside, Value mask) {
  const DataType type = loaded_type(element);
  // Those at a distance that is known, in or out of a mask, where none wraps around.
  const bool at_steps = inside && kind(index) == Kind::Linear;
  Value first = nullptr;
  Value all = nullptr;
  Value pairs = nullptr;
  Value base = buffer.address;
  if (at_steps) {
    first = row_address(buffer, element, index, false);
    mask = nullptr;
  } else {
    all = ops_.splat(ops_.whole(value(index))).parts[0];
    if (mask != nullptr) {
      all = ir_.select(mask, all, ir_.zero(ir_.type(all)));
      base = ir_.select(ir_.equal_zero(buffer.length), zeros_, base);
    }
    pairs = ir_.bits(all, ir_.vector(ir_.i64, width_ / 2));
  }
  Lanes lanes{type, false, {}};
  for (std::size_t part = 0; part < part_count(type); ++part) {
    lanes.parts[part] = ir_.api().GetPoison(ir_.vector(part_type(type)));
  }
  Value pair = nullptr;
  for (unsigned lane = 0; lane < width_; ++lane) {
    Value pointer = first;
    if (at_steps) {
      const std::int64_t distance = std::int64_t{shapes_[index].stride} * stride(element) * lane;
      pointer = ir_.at(ir_.i8, first, ir_.wide(static_cast<std::uint64_t>(distance)));
    } else {
      Value at = nullptr;
      if (target_.is_scalar) {
        at = ir_.zext(ir_.lane(all, lane), 64);
      } else {
        // Two at a time out of the vector; LLVM would take each.
        if (lane % 2 == 0) pair = ir_.opaque(ir_.lane(pairs, lane / 2));
        const Value low = ir_.both(pair, ir_.wide(0xffffffff));
        at = ir_.opaque(lane % 2 == 0 ? low : ir_.lshr(pair, ir_.wide(32)));
      }
      pointer = ir_.at(ir_.i8, base, ir_.mul(at, ir_.wide(stride(element))));
    }
    for (std::size_t part = 0; part < part_count(type); ++part) {
      const Value loaded = ir_.load(
          part_type(type), ir_.at(part_type(type), pointer, ir_.wide(part)), part_bits(type) / 8);
      lanes.parts[part] = ir_.with_lane(lanes.parts[part], ir_.word(lane), loaded);
    }
  }
  for (std::size_t part = 0; part < part_count(type) && mask != nullptr; ++part) {
    lanes.parts[part] = ir_.select(mask, lanes.parts[part], ir_.zero(ir_.type(lanes.parts[part])));
  }
  return lanes;
}

Lanes CpuEmitter::load(ExprId id, const Expr& expr) {
  const Buffer& buffer = buffer_at(expr.imm);
  const DataType element = program_.buffers[expr.imm].element;
  const DataType type = loaded_type(element);
  const ExprId index = expr.args[0];
  const bool inside = !at_entry_ && is_inside(id);
  if (is_scalar(index) || at_entry_) {
    const Value at = ops_.whole(scalar(index)).parts[0];
    Value pointer = inside ? origin(BufferId{expr.imm}, at) : nullptr;
    if (pointer == nullptr) pointer = address_of(buffer, element, at, false);
    if (!inside) {
      pointer = ir_.select(in_bounds(at, buffer), pointer, zeros_);
    }
    Lanes lanes{type, false, {}};
    for (std::size_t i = 0; i < part_count(type); ++i) {
      lanes.parts[i] = ir_.load(part_type(type), ir_.at(part_type(type), pointer, ir_.wide(i)),
                                part_bits(type) / 8);
    }
    return from_memory(element, settled(expr, lanes));
  }
  if (const Records::Place* place = in_record(at_, id)) {
    std::vector<Value>& parts = moved_[place->record];
    if (parts.empty()) {
      const Value pointer = ir_.at(ir_.i8, row_address(buffer, element, index, false),
                                   ir_.wide(std::uint64_t{0} - place->offset * 4));
      for (std::uint32_t i = 0; i < records_.all[place->record].size; ++i) {
        const Value from = ir_.at(ir_.i8, pointer, ir_.wide(std::uint64_t{i} * width_ * 4));
        parts.push_back(ir_.load(ir_.vector(ir_.i32), from, 4));
      }
      parts = deinterleave(parts);
    }
    return {type, false, {parts[place->offset]}};
  }
  if (fast_ && kind(index) == Kind::Linear && early(index) == Early::Counted) {
    prefetch(buffer, element, index);
  }
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(index))).parts[0];
  if (!inside) mask = with(mask, in_bounds(all, buffer));
  if (const auto slid = sliding_.find({index, BufferId{expr.imm}});
      fast_ && slid != sliding_.end()) {
    const Slide& slide = slides_[slid->second.first];
    const std::int64_t by = slid->second.second;
    const Value now = ir_.load(ir_.vector(ir_.i32), slide.now);
    if (by == 0) return {type, false, {now}};
    std::vector<unsigned> from;
    for (unsigned i = 0; i < width_; ++i) {
      from.push_back(static_cast<unsigned>(by > 0 ? by : width_ + by) + i);
    }
    const Value last = ir_.load(ir_.vector(ir_.i32), slide.last);
    return {
        type, false, {by > 0 ? ir_.shuffle(now, slide.next, from) : ir_.shuffle(last, now, from)}};
  }
  if (kind(index) == Kind::Linear && shapes_[index].stride == 1) {
    if (const Value row = known_row(BufferId{expr.imm}, ops_.whole(scalar(index)).parts[0], mask)) {
      return {type, false, {row}};
    }
    if (is_called(element, false, true) && mask != nullptr) {
      return from_memory(element, settled(expr, call_gather(element, buffer.address, all, mask)));
    }
    const Value pointer = row_address(buffer, element, index, mask != nullptr);
    const Lanes row = load_row(element, pointer, mask);
    if (mask == nullptr && may_slide(BufferId{expr.imm})) origins_[row.parts[0]] = pointer;
    return from_memory(element, settled(expr, row));
  }
  if (is_called(element, false, false)) {
    return from_memory(element, settled(expr, call_gather(element, buffer.address, all, mask)));
  }
  // One by one it is more code, too: only where it is hot.
  if (!target_.gathers || (target_.slow_gathers && fast_ && !loops_.empty())) {
    const bool in_row = fast_ && assumed_.contains({at_, id});
    return from_memory(element,
                       settled(expr, gather_one_by_one(element, buffer, index, in_row, mask)));
  }
  return from_memory(element, settled(expr, gather(element, buffer.address, all, mask)));
}

Lanes CpuEmitter::gather(DataType element, Value address, Value index, Value mask) {
  const Value on = mask == nullptr ? ir_.ones(ir_.vector(ir_.boolean)) : unknown(mask);
  const DataType type = loaded_type(element);
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    const Ir::Type part = ir_.vector(part_type(type));
    std::array<Ir::Type, 2> named{part, ir_.vector(ir_.pointer())};
    lanes.parts[i] = ir_.call(
        "llvm.masked.gather", named,
        {pointers(address, element, index, i), ir_.word(part_bits(type) / 8), on, ir_.zero(part)});
  }
  return lanes;
}

// Vectors side by side, past the caches where that was found to be right for the row. Those of
// several rows or gangs that are written together wait for the end: a load behind them from the
// same place in another page would, too.
void CpuEmitter::store_rows(const std::vector<Value>& rows, Value pointer) {
  const auto found = streamed_.find(at_);
  const bool may_pass = fast_ && found != streamed_.end();
  const Waiting one{rows, pointer, may_pass ? found->second : nullptr};
  if (is_gathering_ && may_pass && conditions_ == 0) {
    waiting_.push_back(one);
  } else {
    put_rows({one});
  }
}

void CpuEmitter::put_rows(const std::vector<Waiting>& stores) {
  if (stores.empty()) return;
  const auto put = [&](bool streamed) {
    for (const Waiting& each : stores) {
      Value to = each.pointer;
      for (const Value row : each.rows) {
        const Value stored = ir_.store(row, to, streamed ? target_.bits / 8 : 4);
        if (streamed) ir_.mark_nontemporal(stored);
        to = ir_.at(ir_.type(row), to, ir_.wide(1));
      }
    }
  };
  Value pass = nullptr;
  for (const Waiting& each : stores) {
    pass = pass == nullptr || each.pass == nullptr ? each.pass : ir_.both(pass, each.pass);
  }
  if (pass == nullptr) {
    put(false);
  } else {
    const Ir::Block yes = ir_.block("streamed");
    const Ir::Block no = ir_.block("stored");
    const Ir::Block behind = ir_.block("behind");
    ir_.branch(pass, yes, no);
    ir_.go_on(yes);
    put(true);
    ir_.jump(behind);
    ir_.go_on(no);
    put(false);
    ir_.jump(behind);
    ir_.go_on(behind);
  }
}

// Whether the statement alone writes its buffer, in whole rows, and nobody reads it.
bool CpuEmitter::may_stream(StmtId id, const Store& store) {
  if (program_.buffers[store.buffer.index].access == BufferAccess::Workgroup) return false;
  if (kind(store.index) != Kind::Linear || early(store.index) != Early::Fixed) return false;
  const Records::Place* place = records_.find(id, {});
  if (shapes_[store.index].stride != 1 && place == nullptr) return false;
  const bool is_read = std::ranges::any_of(body_.exprs, [&](const Expr& expr) {
    return expr.op == Operation::Load && expr.imm == store.buffer.index;
  });
  if (is_read) return false;
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    if (const Atomic* atomic = std::get_if<Atomic>(&body_.stmts[i])) {
      if (atomic->buffer == store.buffer) return false;
    }
    const Store* other = std::get_if<Store>(&body_.stmts[i]);
    if (other == nullptr || other->buffer != store.buffer || StmtId{i} == id) continue;
    const Records::Place* its = records_.find(StmtId{i}, {});
    if (its == nullptr || place == nullptr || its->record != place->record) return false;
  }
  return true;
}

void CpuEmitter::store(const Store& store) {
  const Buffer& buffer = buffer_at(store.buffer.index);
  const DataType element = program_.buffers[store.buffer.index].element;
  const DataType type = loaded_type(element);
  const bool inside = is_inside({});
  Lanes given = ops_.whole(value(store.value));
  if (is_scalar(store.index)) {
    forget(store.buffer);
    const Value at = ops_.whole(scalar(store.index)).parts[0];
    Value pointer = address_of(buffer, element, at, false);
    if (!inside) {
      pointer = ir_.select(in_bounds(at, buffer), pointer, sink_);
    }
    // Of several that write one element, any may be the last.
    if (ops_.is_vector(given)) {
      Value lane = ir_.word(0);
      if (mask_ != nullptr) {
        const Value bits = ir_.bits(mask_, ir_.integer(width_));
        lane = ir_.call("llvm.cttz", {bits, ir_.ones(ir_.boolean)});
      }
      for (std::size_t i = 0; i < part_count(type); ++i) {
        given.parts[i] = ir_.lane(given.parts[i], lane);
      }
    }
    for (std::size_t i = 0; i < part_count(type); ++i) {
      ir_.store(given.parts[i], ir_.at(part_type(type), pointer, ir_.wide(i)), part_bits(type) / 8);
    }
    return;
  }
  given = ops_.splat(given);
  if (const Records::Place* place = in_record(at_, {}); place != nullptr && mask_ == nullptr) {
    const Record& record = records_.all[place->record];
    std::vector<Value>& parts = moved_[place->record];
    parts.resize(record.size);
    parts[place->offset] = given.parts[0];
    forget(store.buffer);
    if (at_ < record.last) return;
    const Value pointer = ir_.at(ir_.i8, row_address(buffer, element, store.index, false),
                                 ir_.wide(std::uint64_t{0} - place->offset * 4));
    return store_rows(interleave(parts), pointer);
  }
  Value mask = mask_;
  const Value all = ops_.splat(ops_.whole(value(store.index))).parts[0];
  if (!inside) mask = with(mask, in_bounds(all, buffer));
  const bool is_row = kind(store.index) == Kind::Linear && shapes_[store.index].stride == 1;
  if (is_called(element, true, is_row) && (mask != nullptr || !is_row)) {
    forget(store.buffer);
    return call_scatter(element, buffer.address, all, mask, given);
  }
  if (is_row) {
    if (part_count(type) == 1 && part_bits(type) == 32 && element != DataType::Bool) {
      know_row(store.buffer, ops_.whole(scalar(store.index)).parts[0], mask, given.parts[0]);
    } else {
      forget(store.buffer);
    }
    store_row(element, row_address(buffer, element, store.index, mask != nullptr), mask, given);
    return;
  }
  forget(store.buffer);
  scatter(element, buffer.address, all, mask, given);
}

void CpuEmitter::scatter(DataType element, Value address, Value index, Value mask,
                         const Lanes& value) {
  const Value on = mask == nullptr ? ir_.ones(ir_.vector(ir_.boolean)) : unknown(mask);
  const DataType type = loaded_type(element);
  for (std::size_t i = 0; i < part_count(type); ++i) {
    std::array<Ir::Type, 2> named{ir_.type(value.parts[i]), ir_.vector(ir_.pointer())};
    ir_.call(
        "llvm.masked.scatter", named,
        {value.parts[i], pointers(address, element, index, i), ir_.word(part_bits(type) / 8), on});
  }
}

// What changes nothing in an update that commutes.
std::uint32_t CpuEmitter::neutral(const Atomic& atomic) const {
  const bool is_signed = program_.buffers[atomic.buffer.index].element == DataType::I32;
  switch (atomic.op) {
    case AtomicOp::And: return 0xffffffff;
    case AtomicOp::Min: return is_signed ? 0x7fffffff : 0xffffffff;
    case AtomicOp::Max: return is_signed ? 0x80000000 : 0;
    default: return 0;
  }
}

// One update of one element; gives what it held. `is_own`: no other thread sees it.
Value CpuEmitter::update(const Atomic& atomic, bool is_own, Value pointer, Value expected,
                         Value value) {
  const bool is_signed = program_.buffers[atomic.buffer.index].element == DataType::I32;
  const llvm::Api& api = ir_.api();
  if (is_own) {
    const Value old = ir_.load(ir_.i32, pointer, 4);
    const auto pick = [&](Compare less) {
      return ir_.select(ir_.compare(less, old, value), old, value);
    };
    Value now = value;
    switch (atomic.op) {
      case AtomicOp::Add: now = ir_.add(old, value); break;
      case AtomicOp::And: now = ir_.both(old, value); break;
      case AtomicOp::Or: now = ir_.either(old, value); break;
      case AtomicOp::Xor: now = ir_.exclusive(old, value); break;
      case AtomicOp::Min: now = pick(is_signed ? Compare::Slt : Compare::Ult); break;
      case AtomicOp::Max: now = pick(is_signed ? Compare::Sgt : Compare::Ugt); break;
      case AtomicOp::Exchange: break;
      case AtomicOp::CompareExchange:
        now = ir_.select(ir_.compare(Compare::Eq, old, expected), value, old);
        break;
    }
    ir_.store(now, pointer, 4);
    return old;
  }
  llvm::Rmw op = llvm::Rmw::Add;
  switch (atomic.op) {
    case AtomicOp::Add: op = llvm::Rmw::Add; break;
    case AtomicOp::And: op = llvm::Rmw::And; break;
    case AtomicOp::Or: op = llvm::Rmw::Or; break;
    case AtomicOp::Xor: op = llvm::Rmw::Xor; break;
    case AtomicOp::Min: op = is_signed ? llvm::Rmw::Min : llvm::Rmw::UMin; break;
    case AtomicOp::Max: op = is_signed ? llvm::Rmw::Max : llvm::Rmw::UMax; break;
    case AtomicOp::Exchange: op = llvm::Rmw::Exchange; break;
    case AtomicOp::CompareExchange: {
      const Value both = api.BuildAtomicCmpXchg(ir_.builder(), pointer, expected, value,
                                                llvm::kSequential, llvm::kSequential, 0);
      return api.BuildExtractValue(ir_.builder(), both, 0, "");
    }
  }
  return api.BuildAtomicRMW(ir_.builder(), static_cast<int>(op), pointer, value, llvm::kSequential,
                            0);
}

// All lanes update one element at once.
void CpuEmitter::update_together(const Atomic& atomic, bool is_own) {
  const Buffer& buffer = buffer_at(atomic.buffer.index);
  const DataType element = program_.buffers[atomic.buffer.index].element;
  const bool is_signed = element == DataType::I32;
  std::string_view reduction = "llvm.vector.reduce.add";
  switch (atomic.op) {
    case AtomicOp::And: reduction = "llvm.vector.reduce.and"; break;
    case AtomicOp::Or: reduction = "llvm.vector.reduce.or"; break;
    case AtomicOp::Xor: reduction = "llvm.vector.reduce.xor"; break;
    case AtomicOp::Min:
      reduction = is_signed ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.umin";
      break;
    case AtomicOp::Max:
      reduction = is_signed ? "llvm.vector.reduce.smax" : "llvm.vector.reduce.umax";
      break;
    default: break;
  }
  Value given = ops_.splat(ops_.whole(value(atomic.value))).parts[0];
  if (mask_ != nullptr) {
    given = ir_.select(mask_, given, ir_.splat_number(ir_.i32, neutral(atomic)));
  }
  const Value index = ops_.whole(scalar(atomic.index)).parts[0];
  Value pointer = address_of(buffer, element, index, false);
  if (!is_inside({})) pointer = ir_.select(in_bounds(index, buffer), pointer, sink_);
  update(atomic, is_own, pointer, nullptr, ir_.call(reduction, {given}));
}

// Whether a value takes few operations on loads of rows, all of which are in bounds.
bool CpuEmitter::is_cheap(StmtId stmt, ExprId id, unsigned depth) const {
  if (is_scalar(id)) return true;
  const Expr& expr = body_[id];
  if (depth == 0 || types_[id] != DataType::U32) return false;
  if (expr.op == Operation::Local) {
    const Place& place = places_[expr.imm];
    return place.bound.exists() && segments_[place.declared.index] == segments_[stmt.index] &&
           is_cheap(place.declared, place.bound, depth - 1);
  }
  if (expr.op == Operation::Load) {
    return !is_written(program_.buffers[expr.imm].access) && starts_.contains(expr.args[0]) &&
           shapes_[expr.args[0]].stride == 1 && assumed_.contains({stmt, id});
  }
  switch (expr.op) {
    case Operation::Shr:
    case Operation::BitAnd:
    case Operation::Add: break;
    default: return false;
  }
  return std::ranges::all_of(operands(body_, expr),
                             [&](ExprId arg) { return is_cheap(stmt, arg, depth - 1); });
}

// Such a value in one lane.
Lanes CpuEmitter::of_lane(ExprId id, unsigned lane) {
  if (is_scalar(id)) return scalar(id);
  const Expr& expr = body_[id];
  if (expr.op == Operation::Local) return of_lane(places_[expr.imm].bound, lane);
  if (expr.op == Operation::Load) {
    const DataType element = program_.buffers[expr.imm].element;
    const Value row = row_address(buffer_at(expr.imm), element, expr.args[0], false);
    return {DataType::U32, false, {ir_.load(ir_.i32, ir_.at(ir_.i32, row, ir_.wide(lane)), 4)}};
  }
  return ops_.apply(expr.op, of_lane(expr.args[0], lane), of_lane(expr.args[1], lane));
}

// One lane after the other, those that are on and in bounds; gives what they found.
Value CpuEmitter::update_each(const Atomic& atomic, bool is_own) {
  const Buffer& buffer = buffer_at(atomic.buffer.index);
  const DataType element = program_.buffers[atomic.buffer.index].element;
  const Value index = ops_.splat(ops_.whole(value(atomic.index))).parts[0];
  const Value given = ops_.splat(ops_.whole(value(atomic.value))).parts[0];
  const Value expected =
      atomic.expected.exists() ? ops_.splat(ops_.whole(value(atomic.expected))).parts[0] : given;
  const Ir::Type whole = ir_.vector(ir_.i32);
  const bool inside = is_inside({});
  if (is_own && mask_ == nullptr && inside && !atomic.result.exists()) {
    // Each lane's index by itself, or through memory, is faster than from lane to lane.
    const bool by_itself = fast_ && is_cheap(at_, atomic.index, 4);
    const Value indices = by_itself ? nullptr : ir_.local(whole, "indices");
    if (!by_itself) ir_.api().SetVolatile(ir_.store(index, indices), 1);
    for (unsigned lane = 0; lane < width_; ++lane) {
      Value at;
      if (by_itself) {
        at = ops_.whole(of_lane(atomic.index, lane)).parts[0];
      } else {
        at = ir_.load(ir_.i32, ir_.at(ir_.i32, indices, ir_.wide(lane)), 4);
        ir_.api().SetVolatile(at, 1);
      }
      update(atomic, true, address_of(buffer, element, at, false), ir_.lane(expected, lane),
             ir_.lane(given, lane));
    }
    return nullptr;
  }
  Value mask = full_mask();
  if (!inside) mask = ir_.both(mask, in_bounds(index, buffer));
  const Value results = atomic.result.exists() ? ir_.local(whole, "old") : nullptr;
  if (results != nullptr) ir_.store(ir_.zero(whole), results);
  const Value bits = to_bits(mask);
  const Ir::Block before = ir_.here();
  const Ir::Block head = ir_.block("lanes");
  const Ir::Block lane_begin = ir_.block("lane");
  const Ir::Block behind = ir_.block("lanes.end");
  ir_.jump(head);
  ir_.go_on(head);
  const Value left = ir_.phi(ir_.i64, {{bits, before}});
  ir_.branch(ir_.not_zero(left), lane_begin, behind);
  ir_.go_on(lane_begin);
  const Value lane = ir_.call("llvm.cttz", {left, ir_.ones(ir_.boolean)});
  const Value pointer = address_of(buffer, element, ir_.lane(index, lane), false);
  const Value old =
      update(atomic, is_own, pointer, ir_.lane(expected, lane), ir_.lane(given, lane));
  if (results != nullptr) {
    ir_.store(ir_.with_lane(ir_.load(whole, results), lane, old), results);
  }
  Value rest = ir_.both(left, ir_.sub(left, ir_.wide(1)));
  Ir::Block end = ir_.here();
  ir_.jump(head);
  ir_.api().AddIncoming(left, &rest, &end, 1);
  ir_.go_on(behind);
  return results == nullptr ? nullptr : ir_.load(whole, results);
}

void CpuEmitter::atomic(const Atomic& atomic) {
  Buffer& buffer = buffer_at(atomic.buffer.index);
  const auto updates = [&](bool is_own) {
    if (commutes(atomic) && !atomic.result.exists() && is_scalar(atomic.index)) {
      update_together(atomic, is_own);
      return;
    }
    const Value found = update_each(atomic, is_own);
    if (found != nullptr)
      give(places_[atomic.result.index], {types_[atomic.result], false, {found}});
  };
  if (buffer.copy == nullptr) return updates(false);
  const Ir::Block own = ir_.block("own");
  const Ir::Block shared = ir_.block("shared");
  const Ir::Block behind = ir_.block("updated");
  ir_.branch(buffer.has_copy, own, shared);
  ir_.go_on(own);
  std::swap(buffer.address, buffer.copy);
  updates(true);
  std::swap(buffer.address, buffer.copy);
  ir_.jump(behind);
  ir_.go_on(shared);
  ++time_;
  updates(false);
  ir_.jump(behind);
  ir_.go_on(behind);
  ++time_;
}

// Of a small buffer that is only updated, in ways that commute and that nobody looks at, each
// thread has a copy of its own, which joins the buffer at the end. Gives an update for each of
// them.
std::map<BufferId, Atomic> CpuEmitter::find_copied() const {
  std::map<BufferId, Atomic> copied;
  std::set<BufferId> others;
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::Load) others.insert(BufferId{expr.imm});
  }
  for (const Stmt& stmt : body_.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) others.insert(store->buffer);
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr) continue;
    const auto known = copied.emplace(atomic->buffer, *atomic).first;
    if (!commutes(*atomic) || atomic->result.exists() || known->second.op != atomic->op) {
      others.insert(atomic->buffer);
    }
  }
  for (BufferId other : others) copied.erase(other);
  return copied;
}

}  // namespace vyre
