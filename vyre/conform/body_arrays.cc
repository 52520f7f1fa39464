// Values that are arrays, and elements of them: of locals, tables, lists, and results of ops.
#include <algorithm>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMaxList = 16;    // elements that are written out
constexpr std::uint32_t kMaxLocal = 512;  // elements

}  // namespace

DataType random_array(Random& random, std::uint32_t most) {
  const std::vector<DataType> types = value_types();
  const DataType element = random.pick(types);
  const std::uint32_t choice = random.below(8);
  std::uint32_t count = 1 + random.below(choice < 5 ? 8 : 64);
  if (choice == 7 && random.one_in(4)) count = 1 + random.below(most);
  return array_type(element, std::min(count, most));
}

// In bounds, just past the end, far away, or any number.
ExprId BodyGenerator::element_index(std::uint32_t count, std::uint32_t depth, bool uniform) {
  const std::uint32_t choice = random_.below(10);
  if (choice < 3) return number(random_.below(count));
  if (choice == 3) return number(random_.one_in(2) ? count : 0xffffffff);
  const ExprId any = expr(DataType::U32, depth, uniform);
  if (choice == 4) return any;
  if (choice == 5)
    return binary(Operation::Add, number(count), binary(Operation::BitAnd, any, number(3)));
  if (choice == 6) return binary(Operation::BitAnd, any, number(7));
  return binary(Operation::Mod, any, number(count));
}

// Elements that are written out; of a long array the same ones again.
ExprId BodyGenerator::list(DataType type, std::uint32_t depth, bool uniform) {
  const std::uint32_t count = element_count(type);
  std::vector<ExprId> elements;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool again = i >= kMaxList || spent();
    elements.push_back(again && i > 0 ? elements[i % std::min(i, kMaxList)]
                                      : expr(element_type(type), depth / 2, uniform));
  }
  array_bytes_ += array_bytes(type);
  spend(count, count);
  return interner_.array(elements);
}

// A local, a table, the result of an op, or a list.
ExprId BodyGenerator::array(DataType type, std::uint32_t depth, bool uniform) {
  std::vector<ExprId> known;
  for (const Visible& candidate : visible_) {
    const bool fits = candidate.type == type && (candidate.uniform || !uniform);
    if (fits) known.push_back(interner_.local(candidate.local));
  }
  for (const ConstTable& table : tables_) {
    const bool fits = table.type() == type && table.count() <= kMaxArrayCount;
    if (fits) known.push_back(interner_.table(table));
  }
  spend(1, element_count(type));
  array_bytes_ += array_bytes(type);  // it may be copied
  const std::uint32_t choice = random_.below(4);
  if (!known.empty() && choice < 2) return random_.pick(known);
  if (depth > 0 && choice == 2) {
    const auto call = affordable_call([&](DataType output) { return output == type; });
    if (call) return apply({Operation::Call, 0, *call}, depth - 1, uniform);
  }
  return list(type, depth, uniform);
}

// An element of an array whose elements have this type, or as a u32 the length of one.
ExprId BodyGenerator::element(DataType type, std::uint32_t depth, bool uniform) {
  std::vector<Visible> locals;
  for (const Visible& candidate : visible_) {
    const bool fits = is_array(candidate.type) && element_type(candidate.type) == type;
    if (fits && (candidate.uniform || !uniform)) locals.push_back(candidate);
  }
  std::vector<ConstTable> tables = tables_;
  std::erase_if(tables, [&](const ConstTable& t) { return loaded_type(t.element) != type; });
  const std::uint32_t choice = random_.below(8);
  ExprId from;
  std::uint32_t count = 0;
  const auto is_fit = [&](DataType output) {
    return is_array(output) && element_type(output) == type;
  };
  const auto call = affordable_call(is_fit);
  const bool measures = type == DataType::U32 && random_.one_in(10);  // text has names there
  if (!locals.empty() && choice < 5) {
    const Visible& local = random_.pick(locals);
    from = interner_.local(local.local);
    count = element_count(local.type);
    if (measures) return make(Operation::Count, {&from, 1});
  } else if (!tables.empty() && choice < 7) {
    const ConstTable& table = random_.pick(tables);
    from = interner_.table(table);
    count = table.count();
    if (measures) return make(Operation::Count, {&from, 1});
  } else if (call && depth > 0 && random_.one_in(2)) {
    count = element_count(callables_[*call].signature.output);
    from = apply({Operation::Call, 0, *call}, depth - 1, uniform);
  } else if (const DataType few = array_type(type, 1 + random_.below(6)); has_room(few)) {
    count = element_count(few);
    from = list(few, depth, uniform);
  } else {
    return leaf(type, uniform);
  }
  const ExprId at = element_index(count, depth, uniform);
  return binary(Operation::Element, from, at);
}

// A value to which a few elements contribute, of a short array all.
ExprId BodyGenerator::sampled(const Visible& array) {
  constexpr std::uint32_t kFew = 4;
  const std::uint32_t count = element_count(array.type);
  ExprId sum;
  for (std::uint32_t i = 0; i < std::min(count, kFew); ++i) {
    const std::uint32_t at = count <= kFew ? i : random_.below(count);
    const ExprId each = binary(Operation::Element, interner_.local(array.local), number(at));
    sum = sum.exists() ? binary(Operation::BitXor, sum, each) : each;
  }
  return sum;
}

ExprId BodyGenerator::value_of(const Visible& local) {
  return is_array(local.type) ? sampled(local) : interner_.local(local.local);
}

void BodyGenerator::let_array(Flow flow) {
  // Of a table or of what an op gives, of one that there is, or any.
  std::vector<DataType> known;
  for (const ConstTable& table : tables_) {
    if (table.count() <= 256) known.push_back(table.type());
  }
  for (const Callable& callee : callables_) {
    if (is_array(callee.signature.output)) known.push_back(callee.signature.output);
    for (DataType input : callee.signature.inputs) {
      if (is_array(input)) known.push_back(input);
    }
  }
  for (const Visible& local : visible_) {
    if (is_array(local.type)) known.push_back(local.type);
  }
  DataType type = random_array(random_, is_op() ? 64 : kMaxLocal);
  if (!known.empty() && random_.one_in(2)) type = random_.pick(known);
  if (!has_room(type)) return let(flow);
  const bool uniform = flow.uniform && random_.one_in(2);
  const bool zeros = random_.one_in(3);
  const ExprId value = zeros ? interner_.zero(type) : array(type, options_.depth, uniform);
  array_bytes_ += array_bytes(type);
  spend(1, element_count(type));
  add(Let{declare(type, true, uniform), value});
}

void BodyGenerator::set_element(Flow flow) {
  std::vector<Visible> targets;
  for (const Visible& candidate : visible_) {
    const bool fits = candidate.assignable && (flow.uniform || !candidate.uniform);
    if (fits && is_array(candidate.type)) targets.push_back(candidate);
  }
  if (targets.empty()) return let_array(flow);
  const Visible target = random_.pick(targets);
  const std::uint32_t depth = options_.depth / 2;
  const ExprId at = element_index(element_count(target.type), depth, target.uniform);
  const ExprId value = expr(element_type(target.type), target.uniform);
  if (!random_.one_in(3)) return set_element(target, at, value);
  add(SetElement{target.local, at, value});
}

// The value goes into what the element was.
void BodyGenerator::set_element(const Visible& array, ExprId at, ExprId value) {
  const ExprId before = binary(Operation::Element, interner_.local(array.local), at);
  add(SetElement{array.local, at, binary(Operation::BitXor, before, value)});
}

// Gives each array from `first` on that is longer than sampled() sees a local to which all its
// elements contribute, where that is affordable.
void BodyGenerator::sum_up(std::size_t first) {
  for (std::size_t i = first, end = visible_.size(); i < end; ++i) {
    const Visible array = visible_[i];
    if (!is_array(array.type)) continue;
    const std::uint32_t count = element_count(array.type);
    if (work_ + std::uint64_t{count} * 8 * rounds_ > max_work_) continue;
    const DataType type = element_type(array.type);
    const LocalId sum = declare(type, false, false);
    add(Let{sum, interner_.zero(type)});
    add_for(number(0), number(count), count, false, [&](LocalId at) {
      const ExprId each =
          binary(Operation::Element, interner_.local(array.local), interner_.local(at));
      // Three times as much each time, so that the order of the elements matters, too.
      const ExprId once = interner_.local(sum);
      const ExprId before = type == DataType::Bool
                                ? once
                                : binary(Operation::Add, once, binary(Operation::Add, once, once));
      add(Assign{
          sum, binary(type == DataType::Bool ? Operation::BitXor : Operation::Add, before, each)});
    });
  }
}

}  // namespace vyre
