// What may be done with memory at a point of the program, and at which index.
#include <algorithm>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {

std::size_t result_buffer(std::span<const BufferDecl> buffers) {
  const auto found = std::ranges::find(buffers, BufferAccess::ReadWrite, &BufferDecl::access);
  return static_cast<std::size_t>(found - buffers.begin());
}

namespace {

// As many elements as fill 32 bits of addresses; half as many of the smallest.
std::uint32_t wrapping_distance(DataType element) {
  return std::uint32_t{0x80000000} / std::max(1u, stride(element) / 2);
}

}  // namespace

BodyGenerator::Phase BodyGenerator::random_phase(std::uint32_t i) {
  Phase phase;
  const std::uint32_t choice = random_.below(12);
  phase.owner = random_.one_in(2)   ? Owner::Itself
                : random_.one_in(2) ? Owner::Across
                                    : Owner::Further;
  phase.mode = choice < 8 ? Mode::Own : Mode::Still;
  // Several workgroups have several leaders.
  const bool storage = buffer(i).access == BufferAccess::ReadWrite;
  const bool one_leader = !storage || shape_.groups() == 1 || !regions_[i].whole;
  if (choice == 10 && one_leader) phase.mode = Mode::Single;
  const bool shared = choice == 11 || (choice < 4 && random_.one_in(2));
  if (shared && takes_atomics(buffer(i))) {
    phase.mode = Mode::Update;
    const auto commutes = [](AtomicOp op) {
      return info(op).order != AtomicOrder::Own || op == AtomicOp::Store || op == AtomicOp::Load;
    };
    do {
      phase.update = random_.pick(all_atomics()).op;
    } while (!commutes(phase.update));
    phase.stored = random_.word();
  }
  if (!options_.race_free) phase.mode = Mode::Free;
  return phase;
}

void BodyGenerator::plan_memory() {
  for (std::uint32_t i = 0; i < buffers_->size(); ++i) {
    const bool exclusive = buffer(i).access == BufferAccess::Workgroup || shape_.groups() == 1;
    Region region;
    const bool is_result = i == result_buffer(*buffers_);
    const bool may_switch = exclusive || random_.one_in(2);
    region.switches = barriers_ && is_writable(i) && !is_result && may_switch;
    region.whole = exclusive || !region.switches;
    region.slots = random_.one_in(2) ? 1 : 1 + random_.below(4);
    region.strided = random_.one_in(2);
    region.by_group = random_.one_in(3);
    regions_.push_back(region);
    phases_.push_back(random_phase(i));
    if (is_result && options_.race_free) phases_[i].mode = Mode::Own;
  }
  leader_ = random_.below(shape_.group());
}

// Whether an access inside the buffer's bounds is allowed here.
bool BodyGenerator::allows(std::uint32_t i, Use use) const {
  if (!is_writable(i)) return use == Use::Read;
  switch (phases_[i].mode) {
    case Mode::Free:
    case Mode::Own: return true;
    case Mode::Still: return use == Use::Read;
    case Mode::Update: return use == Use::Update;
    case Mode::Single: return by_leader_;
    case Mode::Closed: return false;
  }
  return false;
}

ExprId BodyGenerator::index(std::uint32_t i, Use use, std::uint32_t depth, bool uniform) {
  const bool stray = random_.one_in(10);
  if (stray || !allows(i, use)) return outside(i, depth, uniform);
  if (!is_writable(i)) return anywhere(i, depth, uniform);
  return allowed(i, depth);
}

ExprId BodyGenerator::allowed(std::uint32_t i, std::uint32_t depth) {
  if (phases_[i].mode == Mode::Own) return own(i, depth);
  return regions_[i].whole ? anywhere(i, depth, false) : of_group(i, depth);
}

// Near the invocation, inside the buffer, near its start, or any number.
ExprId BodyGenerator::anywhere(std::uint32_t i, std::uint32_t depth, bool uniform) {
  const std::uint32_t choice = random_.below(7);
  if (choice == 0) return number(random_.below(8));
  if (choice == 1) {
    const Operation which = random_.one_in(2) ? Operation::LocalId : Operation::InvocationId;
    return id(uniform ? Operation::WorkgroupId : which, random_.below(3));
  }
  if (choice == 2 && !uniform) {
    const bool workgroup = buffer(i).access == BufferAccess::Workgroup;
    const ExprId row =
        linear(ids(workgroup ? Operation::LocalId : Operation::InvocationId), shape_.size);
    if (random_.one_in(2)) return row;
    const Operation shift = random_.one_in(2) ? Operation::Add : Operation::Sub;
    return binary(shift, row, number(random_.below(40)));
  }
  const ExprId any = expr(DataType::U32, depth, uniform);
  if (choice == 3) return any;
  if (choice == 4) return binary(Operation::BitAnd, any, number(15));
  return binary(Operation::Mod, any, length(i));
}

// Just past the end, so far that the offset in bytes does not fit in 32 bits, or rows.
ExprId BodyGenerator::outside(std::uint32_t i, std::uint32_t depth, bool uniform) {
  const std::uint32_t wraps = wrapping_distance(buffer(i).element);
  const std::uint32_t choice = random_.below(uniform ? 6 : 8);
  if (choice >= 6) return far_row(i);
  if (choice == 0) return length(i);
  if (choice == 1) return number(0xffffffff);
  if (choice == 2) return number(wraps);
  const ExprId any = expr(DataType::U32, depth, uniform);
  if (choice == 3) return binary(Operation::BitOr, any, number(wraps));
  const ExprId few = binary(Operation::BitAnd, any, number(7));
  if (choice == 4) return binary(Operation::Add, few, number(wraps));
  return binary(Operation::Add, length(i), few);
}

// An element for each invocation, all far past the end, or below zero, which is as far away.
ExprId BodyGenerator::far_row(std::uint32_t i) {
  const std::uint32_t wraps = wrapping_distance(buffer(i).element);
  // Further than any buffer is long, and than would come around to where it is.
  const std::array<std::uint32_t, 5> distances = {0x10000, wraps, 0x7fffffff, 0x80000000,
                                                  0xfff00000};
  const std::uint32_t distance = random_.pick(distances);
  const std::uint32_t axis = random_.one_in(4) ? random_.below(3) : 0;
  const bool local = random_.one_in(3);
  const std::uint32_t places = shape_.size[axis] * (local ? 1 : shape_.grid[axis]);
  const ExprId at = id(local ? Operation::LocalId : Operation::InvocationId, axis);
  const std::uint32_t choice = random_.below(4);
  if (choice == 0) return binary(Operation::Add, at, number(distance));
  if (choice == 1) return binary(Operation::Sub, number(distance), at);
  if (choice == 2) return binary(Operation::Sub, at, number(places + random_.below(64)));
  const ExprId apart = binary(Operation::Mul, at, number(2 + random_.below(15)));
  return binary(Operation::Add, apart, number(distance));
}

// The axes in one number. The coordinate on an axis with one place is zero.
ExprId BodyGenerator::linear(const Coordinates& at, const Ids& extents) {
  ExprId sum;
  for (std::size_t axis = 3; axis-- > 0;) {
    if (extents[axis] == 1 && (axis > 0 || sum.exists())) continue;
    if (sum.exists()) sum = binary(Operation::Mul, sum, number(extents[axis]));
    sum = sum.exists() ? binary(Operation::Add, sum, at[axis]) : at[axis];
  }
  return sum;
}

// An element of the invocation with these coordinates in its workgroup.
ExprId BodyGenerator::place(std::uint32_t i, const Coordinates& local, bool is_own,
                            std::uint32_t depth) {
  const Region& region = regions_[i];
  std::uint32_t places = shape_.group();
  ExprId at;
  if (buffer(i).access == BufferAccess::Workgroup) {
    at = linear(local, shape_.size);
  } else if (region.by_group) {
    places = shape_.invocations();
    const ExprId group = linear(ids(Operation::WorkgroupId), shape_.grid);
    const ExprId first = binary(Operation::Mul, group, number(shape_.group()));
    at = binary(Operation::Add, first, linear(local, shape_.size));
  } else {
    places = shape_.invocations();
    Coordinates global = ids(Operation::InvocationId);
    Ids extents{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint32_t size = shape_.size[axis];
      extents[axis] = shape_.grid[axis] * size;
      if (is_own || size == 1) continue;
      const ExprId group = id(Operation::WorkgroupId, axis);
      const ExprId first = binary(Operation::Mul, group, number(size));
      global[axis] = binary(Operation::Add, first, local[axis]);
    }
    at = linear(global, extents);
  }
  if (region.slots == 1) return at;
  ExprId slot = number(random_.below(region.slots));
  if (random_.one_in(2)) {
    slot = binary(Operation::Mod, expr(DataType::U32, depth, false), number(region.slots));
  }
  if (region.strided) {
    return binary(Operation::Add, binary(Operation::Mul, slot, number(places)), at);
  }
  return binary(Operation::Add, binary(Operation::Mul, at, number(region.slots)), slot);
}

ExprId BodyGenerator::own(std::uint32_t i, std::uint32_t depth) {
  const Owner owner = phases_[i].owner;
  const Coordinates local = moved([&](ExprId at, std::uint32_t size) {
    switch (owner) {
      case Owner::Itself: break;
      case Owner::Across: return binary(Operation::Sub, number(size - 1), at);
      case Owner::Further: return further(at, size / 2, size);
    }
    return at;
  });
  return place(i, local, owner == Owner::Itself, depth);
}

// An element of any invocation of the workgroup.
ExprId BodyGenerator::of_group(std::uint32_t i, std::uint32_t depth) {
  const Coordinates local = moved([&](ExprId at, std::uint32_t size) {
    const std::uint32_t choice = random_.below(4);
    if (choice == 0) return number(random_.below(size));
    if (choice == 1) {
      return binary(Operation::Mod, expr(DataType::U32, depth, false), number(size));
    }
    return choice == 2 ? further(at, 1, size) : at;
  });
  return place(i, local, false, depth);
}

}  // namespace vyre
