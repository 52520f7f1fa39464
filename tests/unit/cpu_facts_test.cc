// What is found out about a program before code is written for it: facts that backends share, and
// those of the CPU backend, which need no LLVM.
#include "vyre/backends/cpu/facts.h"

#include <gtest/gtest.h>

#include <set>

#include "vyre/backends/cpu/target.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/regroup.h"
#include "vyre/text/print.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

Program parsed(const std::string& source) {
  const Result<Loaded> loaded = load_module({"test", source});
  if (!loaded.ok()) {
    ADD_FAILURE() << render(loaded.diagnostics()[0], false) << source;
    return {};
  }
  return std::get<Program>(loaded->module.items[0]);
}

std::vector<const Store*> stores_of(const Program& program) {
  std::vector<const Store*> all;
  for (const Stmt& stmt : program.body.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) all.push_back(store);
  }
  return all;
}

TEST(SharedFacts, IndicesThatDifferByNumbersHaveEqualTerms) {
  const Program program = parsed(R"(program p workgroup(64) {
  read_write out: u32[]
  let i = 4 * invocation_id.x
  let next = i + 3
  let moving = i
  moving = moving + 1
  out[i] = 0
  out[next - 1] = 0
  out[5 + i] = 0
  out[moving + 1] = 0
  out[7 - i] = 0
}
)");
  const std::vector<ExprId> bound = bound_values(program.body);
  std::vector<SplitIndex> all;
  for (const Store* store : stores_of(program)) {
    all.push_back(split_index(program.body, bound, store->index));
  }
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[1].terms, all[0].terms);
  EXPECT_EQ(all[1].offset - all[0].offset, 2u);
  EXPECT_EQ(all[2].terms, all[0].terms);
  EXPECT_EQ(all[2].offset - all[0].offset, 5u);
  EXPECT_NE(all[3].terms, all[0].terms);  // it is assigned
  EXPECT_NE(all[4].terms, all[0].terms);  // it is subtracted
  EXPECT_EQ(all[4].offset, 7u);
}

TEST(SharedFacts, BuffersThatAreOnlyUpdated) {
  const Program program = parsed(R"(program p workgroup(64) {
  read_write sums: u32[]
  read_write most: i32[]
  read_write two: u32[]
  read_write looked: u32[]
  read_write loaded: u32[]
  read_write swapped: u32[]
  let i = invocation_id.x
  atomic_add(sums[i], 1)
  atomic_add(sums[0], loaded[i])
  atomic_max(most[i], 2i32)
  atomic_add(two[i], 1)
  atomic_or(two[i], 1)
  let old = atomic_add(looked[i], 1)
  atomic_add(loaded[i], 1)
  atomic_exchange(swapped[i], old)
}
)");
  const std::map<BufferId, AtomicOp> expected{{BufferId{0u}, AtomicOp::Add},
                                              {BufferId{1u}, AtomicOp::Max}};
  EXPECT_EQ(only_updated(program), expected);
  EXPECT_EQ(neutral(AtomicOp::Max, DataType::I32), 0x80000000u);
  EXPECT_EQ(neutral(AtomicOp::Max, DataType::U32), 0u);
  EXPECT_EQ(neutral(AtomicOp::And, DataType::U32), 0xffffffffu);
}

TEST(SharedFacts, WorkgroupsOfAnotherSizeComputeTheirIds) {
  const Program program = parsed(R"(program p workgroup(8, 4) {
  read_write out: u32[]
  out[invocation_id.x] = local_id.x + workgroup_id.y
}
)");
  EXPECT_TRUE(has_free_workgroups(program));
  EXPECT_EQ(print(regrouped(program, {64, 1, 1})), R"(program p workgroup(64) {
  read_write out: u32[] @0

  out[invocation_id.x] = (invocation_id.x & 7) + (workgroup_id.y >> 2)
}
)");
  EXPECT_FALSE(has_free_workgroups(parsed("program p workgroup(8) {\n  barrier\n}\n")));
}

// A loop with barriers, in which gangs do other things.
class Facts : public testing::Test {
 protected:
  const Lowered lowered_ = lower(parsed(R"(program p workgroup(64, 2) {
  read       data: u32[]
  uniform    size: u32[1]
  read_write out: u32[]
  workgroup  cells: u32[128]
  let n = size[0]
  let i = local_id.x
  let kept = data[i]
  let sum = 0
  for round in 0..n {
    cells[i + round] = sum
    barrier
    for k in 0..n {
      if cells[k] == kept { break }
      sum = sum + k
    }
    for j in 0..n {
      sum = sum + data[i + 64 * j]
    }
    barrier
  }
  out[i] = sum
}
)"),
                                 lowering_for(*find_cpu_target("avx2")));
  const CpuFacts facts_{lowered_};

  LocalId local(std::string_view name) const {
    for (std::size_t i = 0; i < facts_.body.locals.size(); ++i) {
      if (facts_.body.locals[i].name == name) return LocalId{i};
    }
    ADD_FAILURE() << name;
    return {};
  }
  const LocalFacts& facts_of(std::string_view name) const {
    return facts_.locals[local(name).index];
  }
  ExprId index_of_load(BufferId buffer, std::size_t number) const {
    for (const Expr& expr : facts_.body.exprs) {
      if (expr.op == Operation::Load && expr.imm == buffer.index && number-- == 0) {
        return expr.args[0];
      }
    }
    ADD_FAILURE() << number;
    return {};
  }
};

TEST_F(Facts, RowsAreDealtToGangs) {
  EXPECT_EQ(facts_.layout.rows, 2u);
  EXPECT_EQ(facts_.layout.row_gangs, 64u / facts_.width);
  EXPECT_EQ(facts_.layout.gangs, 128u / facts_.width);
}

TEST_F(Facts, WhatHasBarriersRunsForTheWholeWorkgroup) {
  const StmtId outer = facts_of("round").declared;
  const StmtId inner = facts_of("k").declared;
  EXPECT_TRUE(facts_.has_barriers);
  EXPECT_TRUE(facts_.is_collective(outer));
  EXPECT_FALSE(facts_.is_collective(inner));
  EXPECT_EQ(facts_.owner(inner), outer);
  EXPECT_NE(facts_.segments[outer.index], facts_.segments[inner.index]);
}

TEST_F(Facts, LocalsThatLiveAcrossBarriers) {
  EXPECT_TRUE(facts_of("sum").crosses);
  EXPECT_TRUE(facts_of("sum").is_vector);
  EXPECT_TRUE(facts_of("kept").crosses);    // it differs from lane to lane
  EXPECT_FALSE(facts_of("i").crosses);      // it is computed again
  EXPECT_FALSE(facts_of("round").crosses);  // it is one value for all
  EXPECT_FALSE(facts_of("k").crosses);
}

TEST_F(Facts, ValuesThatCanBeToldBeforeARowBegins) {
  const BufferId data{0u};
  const ExprId in_loop = index_of_load(data, 1);  // i + 64 * j
  EXPECT_EQ(facts_.early(index_of_load(data, 0)), Early::Fixed);
  EXPECT_EQ(facts_.early(in_loop), Early::Counted);
  EXPECT_EQ(facts_.counting(in_loop), std::set<StmtId>{facts_of("j").declared});
  EXPECT_EQ(facts_.early(facts_.bound[local("n").index]), Early::Fixed);
}

TEST_F(Facts, SomeLanesLeaveALoopBeforeOthers) {
  const StmtId inner = facts_of("k").declared;
  EXPECT_TRUE(facts_.some_leave_loop(inner));
  EXPECT_FALSE(facts_.leaves(inner));
  EXPECT_FALSE(facts_.some_leave_loop(facts_of("round").declared));
}

}  // namespace
}  // namespace vyre
