#include "vyre/backends/cpu/frame.h"

#include <algorithm>
#include <bit>

namespace vyre {

using Value = Ir::Value;

// --- Functions

Value Frame::declare(const std::string& name, std::vector<Ir::Type> parameters, bool is_exported) {
  const CpuTarget& target = facts.target;
  const Value function = ir.declare(name.c_str(), parameters, is_exported);
  ir.attribute(function, "target-cpu", target.name);
  ir.attribute(function, "target-features", target.features);
  ir.attribute(function, "prefer-vector-width", std::to_string(target.bits));
  ir.attribute(function, "min-legal-vector-width", std::to_string(target.bits));
  ir.attribute(function, "warn-stack-size", "0");  // LLVM tells what each takes
  ir.attribute(function, Ir::kFunction, "nounwind");
  return function;
}

void Frame::load_arguments() {
  const auto get = [&](CpuArgument which, Ir::Type type) {
    return ir.load(type, argument(argument_at(facts.given, which)));
  };
  groups = {get(CpuArgument::GroupsX, ir.i64), get(CpuArgument::GroupsY, ir.i64),
            get(CpuArgument::GroupsZ, ir.i64)};
  limits = {get(CpuArgument::InvocationsX, ir.i64), get(CpuArgument::InvocationsY, ir.i64)};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto which =
        static_cast<CpuArgument>(static_cast<std::size_t>(CpuArgument::GridX) + axis);
    grid[axis] = ir.trunc(get(which, ir.i64), 32);
  }
  row_size = get(CpuArgument::RowSize, ir.i64);
  if (!facts.is_large) streams = ir.not_zero(get(CpuArgument::Streams, ir.i64));
  stop_ = get(CpuArgument::Stop, ir.pointer());
  sink = ir.local(ir.vector(ir.i64, 2), "sink");
}

void Frame::enter_piece(std::uint32_t number) {
  piece = number;
  scratch = ir.parameter(0);
  arguments = ir.load(ir.pointer(), at(kArguments));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    group[axis] = ir.load(ir.i32, at(kGroup + 4 * axis));
  }
  load_arguments();
  // What is known of memory was in another function.
  addresses_.clear();
  for (BufferSlot& buffer : buffers) buffer.address = nullptr;
}

void Frame::leave_if_stopped() {
  const Value asked = ir.load(ir.i8, stop_);
  ir.set_volatile(asked);
  ir.only_if(ir.not_zero(asked), "stop", "on", [&] { ir.leave(); });
}

// --- Memory

// After a table there are bytes that gathers of words from its end may load, too.
void Frame::make_buffers() {
  for (const BufferDecl& declared : facts.program.buffers) {
    BufferSlot& buffer = buffers.emplace_back();
    if (declared.access != BufferAccess::Constant) continue;
    std::vector<std::byte> bytes = declared.contents.bytes();
    bytes.resize((bytes.size() + 4 + kLine - 1) / kLine * kLine);
    buffer.table = ir.constant_memory(bytes, kLine, declared.name.c_str());
  }
}

std::uint64_t Frame::reserve(std::uint64_t bytes) {
  const std::uint64_t align = std::min(kScratchAlign, std::bit_ceil(bytes));
  const std::uint64_t offset = (scratch_bytes + align - 1) / align * align;
  scratch_bytes = offset + bytes;
  return offset;
}

Slot Frame::make_slot(Ir::Type type, std::uint64_t bytes, const char* name, bool is_shared) {
  if (is_shared) return {nullptr, true, reserve(bytes)};
  return {ir.local(type, name)};
}

Value Frame::address(const Slot& slot) {
  if (!slot.is_shared) return slot.address;
  Value& address = addresses_[slot.offset];
  if (!address) address = ir.in_entry([&] { return at(slot.offset); });
  return address;
}

BufferSlot& Frame::buffer(BufferId id) {
  BufferSlot& buffer = buffers[id.index];
  if (!facts.is_large || buffer.address) return buffer;
  const BufferDecl& declared = facts.program.buffers[id.index];
  const std::size_t i = 2 * std::size_t{id.index};
  switch (declared.access) {
    case BufferAccess::ReadOnly:
    case BufferAccess::ReadWrite:
    case BufferAccess::Uniform:
      buffer.address = ir.in_entry([&] { return ir.load(ir.pointer(), argument(i)); });
      buffer.length = ir.in_entry([&] { return ir.load(ir.i64, argument(i + 1)); });
      break;
    case BufferAccess::Workgroup:
      buffer.address = ir.in_entry([&] { return at(buffer.offset); });
      buffer.length = ir.wide(declared.count);
      break;
    case BufferAccess::Private:
      buffer.address = address(buffer.own);
      buffer.length = ir.wide(declared.count);
      break;
    case BufferAccess::Constant:
      buffer.address = buffer.table;
      buffer.length = ir.wide(declared.count);
      break;
  }
  return buffer;
}

// An index that wraps around is meant to be below zero; no buffer is so long that both ends matter.
Value Frame::element_address(const BufferSlot& buffer, DataType element, Value index,
                             bool may_wrap) {
  Value offset = ir.zext(index, 64);
  if (may_wrap) {
    const Value wraps = index > (std::uint32_t{0} - facts.width);
    offset = ir.select(wraps, ir.sext(index, 64), offset);
  }
  return ir.at(ir.i8, buffer.address, offset * stride(element));
}

// Lengths are below 2^32.
Value Frame::in_bounds(Value index, const BufferSlot& buffer) {
  const Value length = ir.trunc(buffer.length, 32);
  return index < (ir.is_vector(index) ? ir.splat(length) : length);
}

}  // namespace vyre
