#include <algorithm>
#include <bit>
#include <cstring>

#include "vyre/backends/cpu/gang_writer.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using Value = Ir::Value;
using Kind = Shape::Kind;

// What rounds of a loop add to an index for each of them, as far as its terms tell.
std::uint32_t step_of(const Body& body, const Terms& terms, LocalId variable) {
  std::uint32_t step = 1;
  for (const auto& [term, minus] : terms) {
    const Expr& expr = body[term];
    if (expr.op != Operation::Mul && expr.op != Operation::Shl) continue;
    const Expr& counter = body[expr.args[0]];
    const Expr& by = body[expr.args[1]];
    if (counter.op != Operation::Local || counter.imm != variable.index) continue;
    if (by.op == Operation::Literal) step = expr.op == Operation::Mul ? by.imm : 1u << by.imm % 32;
  }
  return std::max(step, 1u);
}

// A table of up to this number of vectors is permuted.
constexpr std::size_t kMaxPermuted = 4;

// The values of a table, and zeros after them.
std::vector<std::uint32_t> words_of(const BufferDecl& table, std::size_t count) {
  const std::span<const std::byte> bytes = table.contents.bytes();
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < bytes.size() / stride(table.element); ++i) {
    words[i] = load_element(table.element, bytes, i).lanes[0];
  }
  return words;
}

}  // namespace

// --- Addresses

// Of an element that all lanes access; elsewhere where it is out of bounds.
Value GangWriter::element_pointer(const BufferSlot& buffer, DataType element, Value index,
                                  bool inside, Value elsewhere) {
  const Value pointer = frame_.element_address(buffer, element, index);
  return inside ? pointer : ir_.select(frame_.in_bounds(index, buffer), pointer, elsewhere);
}

// Of the element of the first lane.
Value GangWriter::row_address(BufferId id, ExprId index, bool may_wrap) {
  const BufferSlot& buffer = frame_.buffer(id);
  const DataType element = facts_.element(id);
  const FastRow::Start* start = found_in(fast_->starts, index);
  if (start == nullptr) return frame_.element_address(buffer, element, word(index), may_wrap);
  const std::int64_t bytes = stride(element);
  const Value row = ir_.at(ir_.i8, buffer.address, start->at * bytes);
  const std::int64_t step = bytes * facts_.shapes[index].stride * width_;
  const Value gang = ir_.at(ir_.i8, row, gang_in_row_ * step);
  return ir_.at(ir_.i8, gang, bytes * start->offset);
}

// The record of an access, where all of it is in bounds.
const Records::Place* GangWriter::in_record(ExprId load) const {
  if (!is_fast() || !facts_.layout.in_rows) return nullptr;
  const Records::Place* place = facts_.records.find(at_, load);
  if (place == nullptr) return nullptr;
  // What is proved is so for lanes that are on.
  const auto& members = facts_.records.all[place->record].members;
  const bool inside = std::ranges::all_of(members, [&](const auto& member) {
    return fast_->in_bounds.contains(member) ||
           (!mask_ && facts_.bounds.is_proved(member.first, member.second));
  });
  return inside ? place : nullptr;
}

// Of the first element of the first lane's record.
Value GangWriter::record_address(BufferId buffer, ExprId index, const Records::Place& place) {
  return ir_.at(ir_.i8, row_address(buffer, index, false), -std::int64_t{place.offset} * 4);
}

// Where each lane walks along a stretch of its own, the CPU does not see what comes next: the
// stretches of the next gang, a line of each at a time.
void GangWriter::prefetch(BufferId buffer, ExprId index) {
  const DataType element = facts_.element(buffer);
  const std::int64_t distance = std::int64_t{facts_.shapes[index].stride} * stride(element);
  const std::set<StmtId> counting = facts_.counting(index);
  if (distance < 2 * Frame::kLine || counting.size() != 1 || loops_.empty()) return;
  const StmtId id = loops_.back().id;
  if (*counting.begin() != id || facts_.owner(at_) != id) return;
  // Loads side by side share a line.
  const SplitIndex split = split_index(body_, facts_.bound, index);
  if (!fetched_.insert({id, split.terms}).second) return;
  const LocalId variable = std::get<For>(body_[id]).variable;
  const std::uint32_t step = step_of(body_, split.terms, variable);
  const std::uint32_t rounds = std::bit_floor(std::max(Frame::kLine / stride(element) / step, 1u));
  const Value round = homes_[variable.index].value.parts[0];
  const Value in_line = round & (rounds - 1);
  ir_.only_if(ir_.equal(in_line, 0), "ahead", "behind", [&] {
    const Value own = frame_.element_address(frame_.buffer(buffer), element, word(index));
    for (unsigned lane = 0; lane < width_; ++lane) {
      const std::int64_t ahead = distance * (width_ + lane);
      ir_.call("llvm.prefetch",
               {ir_.at(ir_.i8, own, ahead), ir_.word(0), ir_.word(2), ir_.word(1)});
    }
  });
  ++time_;
}

// --- Loads

Lanes GangWriter::load(ExprId id, const Expr& expr) {
  const BufferId buffer{expr.imm};
  frame_.buffer(buffer);
  if (facts_.is_private(buffer)) return load_own(id, buffer, expr.args[0]);
  const bool is_one = is_one_index(expr.args[0]) || at_entry_;
  Lanes loaded = is_one ? load_one(id, buffer, expr.args[0]) : load_all(id, buffer, expr.args[0]);
  // What another thread may write at the same time is one value from here on, whichever it is.
  const bool settles = facts_.access(buffer) == BufferAccess::ReadWrite;
  for (std::size_t i = 0; settles && i < part_count(loaded.type); ++i) {
    loaded.parts[i] = ir_.freeze(loaded.parts[i]);
  }
  return moves_.from_memory(facts_.element(buffer), loaded);
}

// One element for all lanes.
Lanes GangWriter::load_one(ExprId id, BufferId buffer, ExprId index) {
  const DataType element = facts_.element(buffer);
  const bool inside = !at_entry_ && is_inside(id);
  const BufferSlot& from = frame_.buffer(buffer);
  return moves_.load_element(element,
                             element_pointer(from, element, word(index), inside, frame_.zeros));
}

Lanes GangWriter::load_all(ExprId id, BufferId buffer, ExprId index) {
  const DataType element = facts_.element(buffer);
  if (const Records::Place* place = in_record(id)) return load_member(buffer, index, *place);
  const bool is_linear = facts_.kind(index) == Kind::Linear;
  if (is_fast() && is_linear && facts_.early(index) == Early::Counted) {
    prefetch(buffer, index);
  }
  const Value all = words(index);
  Value mask = mask_;
  if (!is_inside(id)) mask = moves_.with(mask, frame_.in_bounds(all, frame_.buffer(buffer)));
  if (const FastRow::Slid* slid = found_in(fast_->slid, {index, buffer})) {
    return load_slid(loaded_type(element), *slid);
  }
  const bool is_row = facts_.is_unit_row(index);
  if (is_row) {
    if (const Value row = known_.row(buffer, word(index), mask)) {
      return {loaded_type(element), {row}};
    }
  }
  const BufferSlot& from = frame_.buffer(buffer);
  if (is_row && !long_ops_.is_called(element, false, is_row, mask)) {
    return moves_.load_row(element, row_address(buffer, index, mask != nullptr), mask);
  }
  if (facts_.access(buffer) == BufferAccess::Constant) return look_up(buffer, id, index, mask);
  // Those at a distance that is known, in or out of a mask, where none wraps around.
  if (goes_one_by_one(element) && is_linear && is_assumed(id)) {
    const Value first = row_address(buffer, index, false);
    const std::int64_t distance = std::int64_t{facts_.shapes[index].stride} * stride(element);
    return moves_.load_each(element,
                            [&](unsigned lane) { return ir_.at(ir_.i8, first, distance * lane); });
  }
  return gather(element, from, all, mask, facts_.is_short(buffer));
}

// A member of a record that is loaded as a whole.
Lanes GangWriter::load_member(BufferId buffer, ExprId index, const Records::Place& place) {
  std::vector<Value>& parts = record_parts_[place.record];
  if (parts.empty()) {
    const Value pointer = record_address(buffer, index, place);
    for (std::uint32_t i = 0; i < facts_.records.all[place.record].size; ++i) {
      const Value from = ir_.at(ir_.i8, pointer, std::uint64_t{i} * width_ * 4);
      parts.push_back(ir_.load(ir_.vector(ir_.i32), from, 4));
    }
    parts = moves_.deinterleave(parts);
  }
  return {loaded_type(facts_.element(buffer)), {parts[place.offset]}};
}

// Lanes of the vectors that the gangs before and after this one load, too.
Lanes GangWriter::load_slid(DataType type, const FastRow::Slid& slid) {
  const FastRow::Slide& slide = fast_->slides[slid.slide];
  const Value now = ir_.load(ir_.vector(ir_.i32), slide.now);
  if (slid.by == 0) return {type, {now}};
  const Value last = ir_.load(ir_.vector(ir_.i32), slide.last);
  return {type,
          {slid.by > 0 ? moves_.window(now, slide.next, slid.by)
                       : moves_.window(last, now, width_ + slid.by)}};
}

// Whether lanes are loaded one by one. That is more code, too: only where it is hot. For narrow
// elements there are no other gathers, but in a large program a function has them.
bool GangWriter::goes_one_by_one(DataType element) const {
  const CpuTarget& target = facts_.target;
  return !target.gathers || is_narrow(element) ||
         (target.slow_gathers && is_fast() && !loops_.empty());
}

// Lanes whose index is out of bounds are off.
Lanes GangWriter::gather(DataType element, const BufferSlot& buffer, Value index, Value mask,
                         bool is_short) {
  if (long_ops_.is_called(element, false, false, mask)) {
    return long_ops_.gather(element, buffer.address, index, mask);
  }
  if (goes_one_by_one(element)) return gather_one_by_one(element, buffer, index, mask);
  return moves_.gather(element, buffer.address, index, mask, is_short);
}

void GangWriter::scatter(DataType element, Value address, Value index, Value mask,
                         const Lanes& given, bool is_short) {
  if (long_ops_.is_called(element, true, false, mask)) {
    return long_ops_.scatter(element, address, index, mask, given);
  }
  moves_.scatter(element, address, index, mask, given, is_short);
}

Lanes GangWriter::gather_one_by_one(DataType element, const BufferSlot& buffer, Value all,
                                    Value mask) {
  Value base = buffer.address;
  if (mask) {
    all = ir_.select(mask, all, 0);
    base = ir_.select(ir_.equal(buffer.length, 0), frame_.zeros, base);
  }
  const Value pairs = ir_.bits(all, ir_.vector(ir_.i64, width_ / 2));
  Value pair;
  Lanes lanes = moves_.load_each(element, [&](unsigned lane) {
    Value at;
    if (facts_.target.is_scalar) {
      at = ir_.zext(ir_.lane(all, lane), 64);
    } else {
      // Two at a time out of the vector; LLVM would take each.
      if (lane % 2 == 0) pair = ir_.opaque(ir_.lane(pairs, lane / 2));
      const Value low = pair & 0xffffffff;
      at = ir_.opaque(lane % 2 == 0 ? low : pair >> 32);
    }
    return ir_.at(ir_.i8, base, at * stride(element));
  });
  if (!mask) return lanes;
  return ops_.select(ops_.bit(mask), lanes, ops_.zero(lanes.type));
}

// --- Tables

// An element of a table for each lane.
Lanes GangWriter::look_up(BufferId id, ExprId load, ExprId index, Value mask) {
  const BufferSlot& table = frame_.buffer(id);
  const DataType element = facts_.element(id);
  const Value all = words(index);
  const Value inside = is_inside(load) ? nullptr : frame_.in_bounds(all, table);
  std::optional<Lanes> found = permuted_bytes(facts_.program.buffers[id.index], all);
  if (!found) found = permuted(id, all);
  if (found) {
    if (inside) found->parts[0] = ir_.select(inside, found->parts[0], 0);
    return *found;
  }
  if (!is_narrow(element) || !facts_.target.gathers) {
    return gather(element, table, all, mask, facts_.is_short(id));
  }
  return moves_.gather_narrow(element, table.address, all, mask);
}

// Of a small table, whose words are in vectors that the CPU permutes.
std::optional<Lanes> GangWriter::permuted(BufferId id, Value index) {
  const BufferDecl& table = facts_.program.buffers[id.index];
  const DataType type = loaded_type(table.element);
  const unsigned lanes = facts_.target.bits / 32;
  const std::size_t vectors = (table.count + lanes - 1) / lanes;
  const bool fits = vectors <= kMaxPermuted && facts_.target.gathers && width_ % lanes == 0;
  if (!fits || part_count(type) != 1 || part_bits(type) != 32 || facts_.target.is_scalar) {
    return std::nullopt;
  }
  const std::vector<std::uint32_t> all = words_of(table, vectors * lanes);
  std::vector<Value> parts;
  for (std::size_t i = 0; i < vectors; ++i) {
    parts.push_back(ir_.vector_of(std::span(all).subspan(i * lanes, lanes)));
  }
  return Lanes{type, {moves_.permuted(parts, index)}};
}

// The same where the CPU permutes bytes.
std::optional<Lanes> GangWriter::permuted_bytes(const BufferDecl& table, Value index) {
  constexpr std::size_t kBytes = 64;  // of a vector
  if (!permutes_bytes(facts_.target) || stride(table.element) != 1 || table.count > kByteTable) {
    return std::nullopt;
  }
  const std::size_t vectors = std::bit_ceil((table.count + kBytes - 1) / kBytes);
  std::vector<std::uint32_t> words(vectors * kBytes / 4);
  const std::span<const std::byte> bytes = table.contents.bytes();
  std::memcpy(words.data(), bytes.data(), bytes.size());
  std::vector<Value> parts;
  for (std::size_t i = 0; i < vectors; ++i) {
    const Value part = ir_.vector_of(std::span(words).subspan(i * kBytes / 4, kBytes / 4));
    parts.push_back(ir_.bits(part, ir_.vector(ir_.i8, kBytes)));
  }
  return moves_.permuted_bytes(table.element, parts, index);
}

// --- Stores

void GangWriter::store(const Store& store) {
  const BufferSlot& buffer = frame_.buffer(store.buffer);
  const DataType element = facts_.element(store.buffer);
  Lanes given = ops_.whole(value(store.value));
  if (facts_.is_private(store.buffer)) return store_own(store, ops_.splat(given));
  const bool is_row = facts_.is_unit_row(store.index);
  if (!is_row) known_.forget(store.buffer);
  if (facts_.is_scalar(store.index)) return store_one(store, given);
  given = ops_.splat(given);
  if (const Records::Place* place = in_record({}); place != nullptr && !mask_) {
    return store_member(store, *place, given.parts[0]);
  }
  const Value all = words(store.index);
  Value mask = mask_;
  if (!is_inside({})) mask = moves_.with(mask, frame_.in_bounds(all, buffer));
  if (is_row && !long_ops_.is_called(element, true, is_row, mask)) {
    return store_row(store, mask, given);
  }
  scatter(element, buffer.address, all, mask, given, facts_.is_short(store.buffer));
}

// One element. Of several lanes that write it, any may be the last.
void GangWriter::store_one(const Store& store, Lanes given) {
  const DataType element = facts_.element(store.buffer);
  const Value pointer = element_pointer(frame_.buffer(store.buffer), element, word(store.index),
                                        is_inside({}), frame_.sink);
  if (ops_.is_vector(given)) {
    Value lane = ir_.word(0);
    if (mask_) {
      const Value bits = ir_.bits(mask_, ir_.integer(width_));
      lane = ir_.call("llvm.cttz", {bits, ir_.ones(ir_.boolean)});
    }
    for (std::size_t i = 0; i < part_count(loaded_type(element)); ++i) {
      given.parts[i] = ir_.lane(given.parts[i], lane);
    }
  }
  moves_.store_element(element, pointer, given);
}

// The last member stores the record as a whole.
void GangWriter::store_member(const Store& store, const Records::Place& place, Value given) {
  const Record& record = facts_.records.all[place.record];
  std::vector<Value>& parts = record_parts_[place.record];
  parts.resize(record.size);
  parts[place.offset] = given;
  if (at_ < record.last) return;
  const Value pointer = record_address(store.buffer, store.index, place);
  store_vectors(moves_.interleave(parts), pointer, store.buffer);
}

void GangWriter::store_row(const Store& store, Value mask, const Lanes& given) {
  const DataType element = facts_.element(store.buffer);
  const bool is_unrolled = fast_->extent == Extent::Workgroup;
  if (is_unrolled && facts_.access(store.buffer) == BufferAccess::Workgroup) {
    const bool is_word = stride(element) == 4 && element != DataType::Bool;
    is_word ? known_.know(store.buffer, word(store.index), mask, given.parts[0])
            : known_.forget(store.buffer);
  }
  const Value pointer = row_address(store.buffer, store.index, mask != nullptr);
  if (mask) return moves_.store_row(element, pointer, mask, given);
  store_vectors(moves_.interleave(moves_.cut(element, given)), pointer, store.buffer);
}

// Vectors side by side, past the caches where that was found to be right for the row. Those of
// several rows or gangs that are written together wait for the end: a load after them from the
// same place in another page would, too.
void GangWriter::store_vectors(const std::vector<Value>& rows, Value pointer, BufferId buffer) {
  Waiting one{rows, pointer, buffer, nullptr};
  if (const Value* pass = found_in(fast_->streamed, at_)) one.pass = *pass;
  if (stores_wait_ && one.pass && conditions_ == 0) {
    waiting_.push_back(one);
  } else {
    put_rows({one});
  }
}

void GangWriter::put_rows(const std::vector<Waiting>& stores) {
  if (stores.empty()) return;
  const auto put = [&](bool streamed) {
    for (const Waiting& each : stores) {
      Value to = each.pointer;
      const unsigned align = streamed ? facts_.streamed_bytes(each.buffer)
                                      : std::min(4u, stride(facts_.element(each.buffer)));
      for (const Value row : each.rows) {
        const Value stored = ir_.store(row, to, align);
        if (streamed) ir_.mark_nontemporal(stored);
        to = ir_.at(ir_.type(row), to, 1);
      }
    }
  };
  Value pass;
  for (const Waiting& each : stores) {
    pass = !pass || !each.pass ? each.pass : pass & each.pass;
  }
  if (!pass) return put(false);
  ir_.if_else(pass, {"streamed", "stored", "behind"}, [&] { put(true); }, [&] { put(false); });
}

}  // namespace vyre
