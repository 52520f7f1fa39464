// A large program as functions: one for each of its pieces and one for each long operation. Each
// gets the memory of the thread, where everything is that several of them use. There is one version
// of the code, which checks every access.
#include <algorithm>
#include <bit>

#include "vyre/backends/cpu/emitter.h"
#include "vyre/ir/ops.h"
#include "vyre/ir/walk.h"

namespace vyre {

using llvm::Compare;
using Value = Ir::Value;

namespace {

// What a call of memset() or a division may take of the stack, and a call itself.
constexpr std::uint64_t kOutside = 1024;
constexpr std::uint64_t kOfACall = 64;

}  // namespace

// --- Memory

// Memory of the thread, aligned for any vector that it holds.
std::uint64_t CpuEmitter::reserve(std::uint64_t bytes) {
  const std::uint64_t align = std::min(kScratchAlign, std::bit_ceil(bytes));
  const std::uint64_t offset = (scratch_bytes_ + align - 1) / align * align;
  scratch_bytes_ = offset + bytes;
  return offset;
}

CpuEmitter::Slot CpuEmitter::make_slot(Ir::Type type, std::uint64_t bytes, const char* name,
                                       bool is_shared) {
  if (is_shared) return {nullptr, function_, true, reserve(bytes)};
  return {ir_.local(type, name), function_, false, 0};
}

Value CpuEmitter::address(Slot& slot) {
  if (slot.address == nullptr || (slot.is_shared && slot.function != function_)) {
    slot.address = ir_.in_entry([&] { return frame(slot.offset); });
    slot.function = function_;
  }
  return slot.address;
}

// --- Masks

// Memory for a mask, which is the present one at first.
CpuEmitter::Slot CpuEmitter::make_mask(const char* name) {
  Slot slot = make_slot(ir_.vector(ir_.boolean), std::uint64_t{width_} * 4, name, is_large_);
  put_mask(slot, full_mask());
  return slot;
}

// In the memory of the thread, a mask is words where the CPU has no registers for masks: LLVM would
// pack and unpack it bit by bit.
Value CpuEmitter::get_mask(Slot& slot) {
  if (!slot.is_shared || has_masks(target_)) {
    return ir_.load(ir_.vector(ir_.boolean), address(slot));
  }
  return mask_of(ir_.load(ir_.vector(ir_.i32), address(slot), 4));
}

// Of words, which are all ones or zero.
Value CpuEmitter::mask_of(Value words) {
  return ir_.compare(Compare::Slt, words, ir_.zero(ir_.type(words)));
}

void CpuEmitter::put_mask(Slot& slot, Value mask) {
  const bool is_words = slot.is_shared && !has_masks(target_);
  ir_.store(is_words ? ir_.sext(mask, 32) : mask, address(slot), is_words ? 4 : 0);
}

void CpuEmitter::turn_off(Slot& slot, Value lanes) {
  put_mask(slot, ir_.both(get_mask(slot), ir_.invert(lanes)));
}

CpuEmitter::Buffer& CpuEmitter::buffer_at(std::size_t index) {
  Buffer& buffer = buffers_[index];
  if (!is_large_ || (buffer.address != nullptr && buffer.function == function_)) return buffer;
  buffer.function = function_;
  const BufferDecl& declared = program_.buffers[index];
  if (declared.access == BufferAccess::Workgroup) {
    buffer.length = ir_.wide(declared.count);
    buffer.address = ir_.in_entry([&] { return frame(buffer.offset); });
    return buffer;
  }
  buffer.address = ir_.in_entry([&] { return ir_.load(ir_.pointer(), argument(2 * index)); });
  buffer.length = ir_.in_entry([&] { return ir_.load(ir_.i64, argument(2 * index + 1)); });
  return buffer;
}

void CpuEmitter::save_gang() {
  ir_.store(row_, frame(kRow));
  ir_.store(gang_in_row_, frame(kGangInRow));
  ir_.store(gang_, frame(kGang));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ir_.store(first_[axis], frame(vector_at(axis)), 4);
  }
}

// --- Functions

// What a function finds in the memory of the thread.
void CpuEmitter::begin_function(Value function, std::uint32_t number) {
  function_ = number;
  ++time_;
  ir_.begin(function);
  scratch_ = ir_.parameter(0);
  arguments_ = ir_.load(ir_.pointer(), frame(kArguments));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    group_[axis] = ir_.load(ir_.i32, frame(kGroup + 4 * axis));
  }
  load_arguments();
}

void CpuEmitter::load_arguments() {
  const std::size_t count = program_.buffers.size();
  const auto number = [&](std::size_t i) { return ir_.load(ir_.i64, argument(2 * count + i)); };
  groups_ = {number(0), number(1), number(2)};
  limits_ = {number(3), number(4)};
  row_size_ = number(5);
  stop_ = ir_.load(ir_.pointer(), argument(2 * count + 7));
  sink_ = ir_.local(ir_.vector(ir_.i64, 2), "sink");
}

Value CpuEmitter::declare_function(const std::string& name) {
  std::array<Ir::Type, 1> parameters{ir_.pointer()};
  const Value function = ir_.declare(name.c_str(), parameters, false);
  set_attributes(function);
  return function;
}

void CpuEmitter::call_function(Value function) {
  std::array<Ir::Type, 1> parameters{ir_.pointer()};
  Value memory = scratch_;
  ir_.api().BuildCall2(ir_.builder(), ir_.api().FunctionType(ir_.nothing, parameters.data(), 1, 0),
                       function, &memory, 1, "");
}

void CpuEmitter::write_large() {
  pieces_ = find_pieces(program_, target_, shapes_, types_, on_top_);
  functions_.resize(pieces_.all.size());
  buffers_.resize(program_.buffers.size());
  scratch_bytes_ = vector_at(kMask + 1);
  operands_ = reserve(std::uint64_t{12} * width_ * 8);
  workgroup_memory_.first = reserve(0);
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Workgroup) continue;
    buffers_[i].offset = reserve(std::uint64_t{buffer.count} * stride(buffer.element));
  }
  workgroup_memory_.second = scratch_bytes_ - workgroup_memory_.first;
  share_places();

  make_zeros();
  std::array<Ir::Type, 4> parameters{ir_.pointer(), ir_.i64, ir_.i64, ir_.pointer()};
  functions_[0] = ir_.declare("vyre_kernel", parameters, true);
  set_attributes(functions_[0]);
  ir_.begin(functions_[0]);
  arguments_ = ir_.parameter(0);
  scratch_ = ir_.parameter(3);
  ir_.store(arguments_, frame(kArguments));
  load_arguments();
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  write_groups(ir_.parameter(1), ir_.parameter(2));
  ir_.leave();
  ir_.begin_at(start);
  while (!waiting_pieces_.empty()) {
    const WaitingPiece waiting = std::move(waiting_pieces_.back());
    waiting_pieces_.pop_back();
    write_piece(waiting);
  }
  for (const auto& [operation, function] : operations_) write_operation(operation, function);
  for (const auto& [access, function] : accesses_) {
    write_access(access.first, access.second, function);
  }
}

void CpuEmitter::write_piece(const WaitingPiece& waiting) {
  const Piece& piece = pieces_.all[waiting.piece];
  begin_function(functions_[waiting.piece], waiting.piece);
  loops_ = waiting.loops;
  alive_ = waiting.alive;
  mask_ = nullptr;
  first_mask_ = nullptr;
  gang_ = nullptr;
  if (!piece.is_on_top) {
    row_ = ir_.load(ir_.i64, frame(kRow));
    gang_in_row_ = ir_.load(ir_.i64, frame(kGangInRow));
    gang_ = ir_.load(ir_.i64, frame(kGang));
    const Ir::Type ids = in_rows_ ? ir_.i32 : ir_.vector(ir_.i32);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      first_[axis] = ir_.load(ids, frame(vector_at(axis)), 4);
    }
    mask_ = mask_of(ir_.load(ir_.vector(ir_.i32), frame(vector_at(kMask)), 4));
  }
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  if (piece.is_on_top) {
    write_region(piece.begin, piece.end);
  } else {
    gang_end_ = ir_.block("end");
    statements(piece.begin, piece.end, gang_end_);
    ir_.go_on(gang_end_);
  }
  ir_.leave();
  ir_.begin_at(start);
}

std::optional<std::uint32_t> CpuEmitter::piece_at(StmtId id, bool is_on_top) const {
  if (!is_large_) return std::nullopt;
  return pieces_.find(function_, id, is_on_top);
}

// It is written when what calls it is.
void CpuEmitter::call_piece(std::uint32_t number) {
  if (functions_[number] == nullptr) {
    functions_[number] = declare_function("piece" + std::to_string(number));
    waiting_pieces_.push_back({number, loops_, alive_});
  }
  call_function(functions_[number]);
  ++time_;
  const Piece& piece = pieces_.all[number];
  const auto begin = body_.stmts.begin() + piece.begin.index;
  const auto end = body_.stmts.begin() + piece.end.index;
  const bool loops =
      std::any_of(begin, end, [](const Stmt& stmt) { return std::holds_alternative<For>(stmt); });
  if (!loops) return;
  // A loop in it may have ended because the run shall end.
  const Ir::Block stop = ir_.block("stop");
  const Ir::Block on = ir_.block("on");
  const Value asked = ir_.load(ir_.i8, stop_);
  ir_.api().SetVolatile(asked, 1);
  ir_.branch(ir_.not_zero(asked), stop, on);
  ir_.go_on(stop);
  ir_.leave();
  ir_.go_on(on);
}

// Lanes that leave in there are off from here on.
void CpuEmitter::call_gang_piece(std::uint32_t number) {
  const bool begins_gangs = function_ == 0 || pieces_.all[function_].is_on_top;
  if (begins_gangs) save_gang();
  const Value mask = ir_.sext(full_mask(), 32);
  ir_.store(mask, frame(vector_at(kMask)), 4);
  call_piece(number);
  const Piece& piece = pieces_.all[number];
  for (StmtId id = piece.begin; id < piece.end; id = next(body_, id)) {
    if (leaves(id)) return drop_those_that_left();
  }
}

// All invocations of the workgroup leave a loop or the program.
void CpuEmitter::leave_region(Leave how) {
  if (how == kBreak && loops_.back().function == function_) return ir_.jump(loops_.back().exit);
  if (how == kReturn && function_ == 0) return ir_.jump(group_end_);
  ir_.store(ir_.word(how), frame(kLeaving));
  ir_.leave();
}

void CpuEmitter::call_region_piece(std::uint32_t number) {
  const Piece& piece = pieces_.all[number];
  bool may_leave = false;
  for (StmtId id = piece.begin; id < piece.end; ++id.index) {
    may_leave = may_leave || (is_on_top(id) && (std::holds_alternative<Break>(body_[id]) ||
                                                std::holds_alternative<Return>(body_[id])));
  }
  if (may_leave) ir_.store(ir_.word(kStay), frame(kLeaving));
  call_piece(number);
  if (!may_leave) return;
  const Value how = ir_.load(ir_.i32, frame(kLeaving));
  const Ir::Block on = ir_.block("on");
  const Ir::Block left = ir_.block("left");
  ir_.branch(ir_.equal_zero(how), on, left);
  ir_.go_on(left);
  if (!loops_.empty() && loops_.back().function == function_) {
    const Ir::Block broken = ir_.block("broken");
    const Ir::Block returned = ir_.block("returned");
    ir_.branch(ir_.compare(Compare::Eq, how, ir_.word(kBreak)), broken, returned);
    ir_.go_on(broken);
    ir_.store(ir_.word(kStay), frame(kLeaving));
    ir_.jump(loops_.back().exit);
    ir_.go_on(returned);
  }
  // It goes on to leave the function that has the loop, or the workgroup.
  function_ == 0 ? ir_.jump(group_end_) : ir_.leave();
  ir_.go_on(on);
}

// --- Operations

// Long ones on vectors are calls.
Lanes CpuEmitter::apply(Operation op, const Lanes& a, const Lanes& b) {
  const bool vectors = ops_.is_vector(a) || ops_.is_vector(b);
  const bool by_constant = b.exists() && ir_.is_constant(b.parts[0]);
  if (!is_large_ || !vectors || !is_long(op, a.type, by_constant, target_)) {
    return ops_.apply(op, a, b);
  }
  Value& function = operations_[{op, a.type, b.type}];
  if (function == nullptr) {
    function = declare_function("operation" + std::to_string(operations_.size()));
  }
  put_operand(0, ops_.splat(ops_.whole(a)));
  put_operand(1, ops_.splat(ops_.whole(b)));
  call_function(function);
  return get_operand(2, result_of(op, a.type));
}

Value CpuEmitter::operand(std::size_t number, std::size_t part) {
  return frame(operands_ + (4 * number + part) * width_ * 8);
}

void CpuEmitter::put_operand(std::size_t number, const Lanes& lanes) {
  for (std::size_t i = 0; i < part_count(lanes.type); ++i) {
    ir_.store(lanes.parts[i], operand(number, i), 8);
  }
}

Lanes CpuEmitter::get_operand(std::size_t number, DataType type) {
  Lanes lanes{type, false, {}};
  for (std::size_t i = 0; i < part_count(type); ++i) {
    lanes.parts[i] = ir_.load(ir_.vector(part_type(type)), operand(number, i), 8);
  }
  return lanes;
}

void CpuEmitter::write_operation(const OperationKey& key, Value function) {
  const auto& [op, a, b] = key;
  ir_.begin(function);
  scratch_ = ir_.parameter(0);
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  put_operand(2, ops_.whole(ops_.apply(op, get_operand(0, a), get_operand(1, b))));
  ir_.leave();
  ir_.begin_at(start);
}

// Long accesses of all lanes are calls, too.
bool CpuEmitter::is_called(DataType element, bool is_store, bool is_row) const {
  return is_large_ && is_long_access(element, is_store, is_row, target_);
}

void CpuEmitter::call_access(DataType element, bool is_store, Value address, Value index,
                             Value mask) {
  Value& function = accesses_[{element, is_store}];
  if (function == nullptr) {
    function = declare_function("access" + std::to_string(accesses_.size()));
  }
  const Value on = mask == nullptr ? ir_.ones(ir_.vector(ir_.i32)) : ir_.sext(mask, 32);
  put_operand(1, {DataType::Vec2U32, false, {index, on}});
  ir_.store(address, operand(2));
  call_function(function);
}

Lanes CpuEmitter::call_gather(DataType element, Value address, Value index, Value mask) {
  call_access(element, false, address, index, mask);
  return get_operand(0, loaded_type(element));
}

void CpuEmitter::call_scatter(DataType element, Value address, Value index, Value mask,
                              const Lanes& value) {
  put_operand(0, value);
  call_access(element, true, address, index, mask);
}

void CpuEmitter::write_access(DataType element, bool is_store, Value function) {
  ir_.begin(function);
  scratch_ = ir_.parameter(0);
  const Ir::Block start = ir_.block("start");
  ir_.go_on(start);
  const Lanes where = get_operand(1, DataType::Vec2U32);
  const Value mask = mask_of(where.parts[1]);
  const Value address = ir_.load(ir_.pointer(), operand(2));
  if (is_store) {
    scatter(element, address, where.parts[0], mask, get_operand(0, loaded_type(element)));
  } else {
    put_operand(0, gather(element, address, where.parts[0], mask));
  }
  ir_.leave();
  ir_.begin_at(start);
}

// What the code takes of the stack, at most; known when it is compiled.
std::uint64_t CpuEmitter::stack_bytes() const {
  const std::map<std::string, std::uint64_t>& frames = ir_.frames();
  const auto frame_of = [&](const std::string& name) {
    const auto found = frames.find(name);
    return kOfACall + (found == frames.end() ? 0 : found->second);
  };
  if (!is_large_) return frame_of("vyre_kernel") + frame_of("workgroups") + kOutside;
  std::uint64_t longest = 0;
  for (std::size_t i = 1; i <= operations_.size(); ++i) {
    longest = std::max(longest, frame_of("operation" + std::to_string(i)));
  }
  for (std::size_t i = 1; i <= accesses_.size(); ++i) {
    longest = std::max(longest, frame_of("access" + std::to_string(i)));
  }
  // Those that are called come after those that call.
  std::vector<std::uint64_t> inside(pieces_.all.size());
  for (std::size_t i = pieces_.all.size(); i-- > 1;) {
    std::uint64_t& outer = inside[pieces_.all[i].parent];
    outer = std::max(outer, inside[i] + frame_of("piece" + std::to_string(i)));
  }
  return frame_of("vyre_kernel") + inside[0] + longest + kOutside;
}

}  // namespace vyre
