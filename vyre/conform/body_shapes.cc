// What has been hard on compilers: more locals than there are registers, wide divisions, and long
// chains of tests.
#include <algorithm>
#include <utility>

#include "vyre/conform/body_generator.h"

namespace vyre {

// Locals that live to the end of the program, across all its barriers and loops.
void BodyGenerator::crowd() {
  constexpr std::array kWide = {DataType::U64, DataType::U64, DataType::U128, DataType::Vec4U32,
                                DataType::U32};
  // Each is folded into the result, which takes about as much.
  constexpr std::uint64_t kWork = 24;
  const std::uint64_t most = (max_work_ - std::min(work_, max_work_)) / kWork;
  const std::uint64_t locals = std::min<std::uint64_t>(20 + random_.below(41), most);
  for (std::uint64_t i = 0; i < locals; ++i) {
    const DataType type = random_.pick(kWide);
    const bool uniform = random_.one_in(6);
    const ExprId value = expr(type, 1, uniform);
    body_.stmts.push_back(Let{declare(type, true, uniform), value});
  }
  if (barriers_) barrier();
}

// What division makes a case of: 0, 1, powers of two, the largest numbers; or any.
ExprId BodyGenerator::divisor(DataType type) {
  if (random_.one_in(2)) return leaf(type, false);
  const bool few = random_.one_in(2);
  if (!is_vector(type)) {
    if (few) return interner_.literal(type, {{random_.below(3)}});
    return literal(type);
  }
  std::vector<ExprId> lanes;
  for (std::uint8_t i = 0; i < info(type).lanes; ++i) {
    lanes.push_back(few ? number(random_.below(3)) : literal(DataType::U32));
  }
  return make(type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4, lanes);
}

// A wide number is divided a few times, under a test or in a loop.
void BodyGenerator::divisions(Flow flow) {
  constexpr std::array kWide = {DataType::U64, DataType::U64, DataType::Vec4U32, DataType::Vec2U32,
                                DataType::U128};
  constexpr std::array kOps = {Operation::Div, Operation::Mod, Operation::MulHigh};
  const DataType type = random_.pick(kWide);
  const ExprId first = expr(type, 1, false);
  const LocalId value = declare(type, true, false);
  body_.stmts.push_back(Let{value, first});
  const bool in_loop = random_.one_in(2);
  const std::uint32_t rounds = 1 + random_.below(3);
  const ExprId test = in_loop ? ExprId{} : condition(false);
  const StmtId at = here();
  const std::size_t outer = visible_.size();
  LocalId round;
  if (in_loop) {
    round = declare(DataType::U32, false, flow.uniform);
    body_.stmts.push_back(For{});
    rounds_ *= rounds;
  } else {
    body_.stmts.push_back(If{});
  }
  for (std::uint32_t i = 1 + random_.below(3); i > 0; --i) {
    Operation op = random_.pick(kOps);
    if (!contains(info(op).types, type)) op = Operation::Div;
    const ExprId by = divisor(type);
    const ExprId quotient = binary(op, interner_.local(value), by);
    body_.stmts.push_back(Assign{value, binary(Operation::BitXor, quotient, leaf(type, false))});
  }
  visible_.resize(outer);
  if (in_loop) {
    rounds_ /= rounds;
    body_.stmts[at.index] = For{round, number(0), number(rounds), here()};
  } else {
    body_.stmts[at.index] = If{test, here(), here()};
  }
}

// Ten to forty tests of a number, the first of which that holds decides.
void BodyGenerator::chain(Flow flow) {
  flow.uniform = flow.uniform && random_.one_in(2);
  flow.conditional = true;
  const ExprId any = expr(DataType::U32, 1, flow.uniform);
  const std::uint32_t links = 10 + random_.below(31);
  const ExprId few = binary(Operation::BitAnd, any, number(63));
  const LocalId key = declare(DataType::U32, false, flow.uniform);
  body_.stmts.push_back(Let{key, few});
  std::vector<std::pair<StmtId, If>> branches;
  const std::size_t outer = visible_.size();
  for (std::uint32_t i = 0; i < links; ++i) {
    const Operation test = random_.one_in(4) ? Operation::Lt : Operation::Eq;
    branches.emplace_back(here(), If{binary(test, interner_.local(key), number(i)), {}, {}});
    body_.stmts.push_back(If{});
    assign(flow);
    visible_.resize(outer);
    branches.back().second.else_begin = here();
  }
  for (auto& [at, branch] : branches) {
    branch.end = here();
    body_.stmts[at.index] = branch;
  }
}

}  // namespace vyre
