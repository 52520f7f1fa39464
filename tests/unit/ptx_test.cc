// The PTX that programs become has the shapes that speed depends on.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/support/build.h"
#include "tests/support/command.h"
#include "tests/support/families.h"
#include "tests/support/must.h"
#include "tests/support/ptx_fixture.h"
#include "vyre/conform/generator.h"

namespace vyre {
namespace {

// A program with three buffers and this body.
std::string with_body(const std::string& body, const std::string& workgroup = "256") {
  return "program p workgroup(" + workgroup +
         ") {\n"
         "  read       a: u32[] @0\n"
         "  read       table: u32[256] @1\n"
         "  read_write out: u32[] @2\n" +
         body + "\n}\n";
}

std::string with_cells(std::uint32_t count, const std::string& body) {
  return "program p workgroup(64) {\n  read_write out: u32[] @0\n  workgroup cells: u32[" +
         std::to_string(count) + "]\n" + body + "\n}\n";
}

constexpr std::size_t kCopies = 4;  // of a body with few loads, in each thread

// Also where the optimiser leaves a program as it is written, as it does with a long chain.
TEST(Ptx, WorkgroupMemoryAlwaysBeginsAsZeros) {
  std::string chain = "  let x = 0\n  if out[0] == 0 { x = 1 }";
  for (int i = 1; i < 400; ++i) {
    const std::string number = std::to_string(i);
    chain += " else if out[0] == " + number + " { x = " + number + " }";
  }
  const std::string code = ptx_of(with_cells(64, chain + "\n  out[local_id.x] = cells[x]"));
  EXPECT_LT(code.find("st.shared"), code.find("bar.sync 0")) << code.substr(0, 2000);
  EXPECT_LT(code.find("bar.sync 0"), code.find("ld.shared")) << code.substr(0, 2000);
}

TEST(Ptx, WhatIsProvedIsNotChecked) {
  const std::string guarded = ptx_of(with_body(R"(
  let i = invocation_id.x
  if i < len(out) {
    out[i] = table[i & 0xff]
  })"));
  // The guard of each copy, and whether it has a workgroup.
  EXPECT_EQ(count_of(guarded, "setp"), kCopies + kCopies - 1) << guarded;
  EXPECT_EQ(count_of(guarded, "and.pred"), kCopies - 1) << guarded;
  const std::string open =
      ptx_of(with_body("  out[invocation_id.x] = table[a[invocation_id.x] & 0x1ff]"));
  EXPECT_EQ(count_of(open, "\n\t@%p[0-9]+ ld.global.nc.u32"), 2 * kCopies) << open;
  EXPECT_EQ(count_of(open, "\n\t@%p[0-9]+ st.global.u32"), kCopies) << open;
  EXPECT_EQ(count_of(open, R"(ld\.const\.u32 %r[0-9]+, \[_zero\];\n\t@)"), 2 * kCopies) << open;
}

TEST(Ptx, OnlyWhatNobodyWritesIsLoadedAsSuch) {
  const std::string code = ptx_of(with_body("  out[invocation_id.x] = a[0] + out[1]"));
  EXPECT_EQ(count_of(code, "ld.global.nc"), 1u) << code;
  EXPECT_EQ(count_of(code, "ld.global.u32"), kCopies) << code;
}

// ptxas makes wrong code of these, as a GPU shows, and of the last what it may.
TEST(Ptx, WhatTheAssemblerGetsWrongIsNotThere) {
  // Two `max` in a row of which one has a negated operand.
  const std::string negated = ptx_of(with_body(R"(
  let x = i32(a[invocation_id.x])
  out[invocation_id.x] = u32(max(max(i32(table[1]), -x), i32(table[2]))) + (0 - a[7]))"));
  EXPECT_EQ(count_of(negated, R"(neg\.s32|sub\.[su]32 %r[0-9]+, 0,)"), 0u) << negated;
  EXPECT_GE(count_of(negated, "not\\.b32"), kCopies) << negated;
  // `or` of numbers that comparisons chose, which is tested.
  const std::string chosen = ptx_of(with_body(R"(
  let x = a[invocation_id.x]
  let v = vec2u32(x, x) > vec2u32(5, 9)
  out[invocation_id.x] = u32(bool(v) && bool(x)) ^ v.x ^ select(x < 4, 2, 0))"));
  EXPECT_EQ(count_of(chosen, R"(selp\.b32 %r[0-9]+, [0-9]+, [0-9]+,)"), 0u) << chosen;
  EXPECT_GE(count_of(chosen, R"(selp\.b32 %r[0-9]+, [12], %)"), 3u) << chosen;
  // The same of the halves of a u64.
  const std::string halves = ptx_of(with_body(R"(
  let x = a[invocation_id.x]
  let wide = select(bool(x), 0u64, 0xab0176d168586693u64)
  out[invocation_id.x] = u32(bool(wide) ^ bool(x & 1)))"));
  EXPECT_EQ(count_of(halves, R"(selp\.b64 %d[0-9]+, (0, 0x|0x[0-9a-f]+, 0))"), 0u) << halves;
  EXPECT_EQ(count_of(halves, "or\\.b32"), 0u) << halves;
  EXPECT_GE(count_of(halves, "setp\\.ne\\.u64"), kCopies) << halves;
  // A u64 that is taken from the high word of a product.
  const std::string high = ptx_of(with_body(R"(
  let x = vec2u32(a[invocation_id.x], a[7])
  out[invocation_id.x] = u32(u64(mul_high(x.x, table[1])) - u64(x) >> 32))"));
  EXPECT_EQ(count_of(high, "mul\\.hi"), 0u) << high;
  EXPECT_GE(count_of(high, "mul\\.wide"), kCopies) << high;
  // Loads under conditions into registers without a value.
  const std::string loads = ptx_of(with_body(R"(
  if invocation_id.x < 7 { out[invocation_id.x] = table[3] })"));
  EXPECT_EQ(count_of(loads, "ld.global"),
            count_of(loads, R"(ld\.const\.u32 %r[0-9]+, \[_zero\];\n\t@[%$]\S+ ld)"))
      << loads;
  // A choice between tests, as (c and yes) or (not c and no).
  const std::string chooses = ptx_of(with_body(R"(
  let s = bool(a[invocation_id.x])
  let t = bool(a[7])
  out[invocation_id.x] = u32(select(s, t, s | t)))"));
  EXPECT_GE(count_of(chooses, "xor\\.pred"), 2 * kCopies) << chooses;
}

TEST(Ptx, NeighboursShareAnAddress) {
  const std::string code = ptx_of(with_body(R"(
  let i = invocation_id.x * 3
  if i < 1000 && len(a) > 2000 {
    out[invocation_id.x] = a[i] + a[i + 1] + a[i + 2]
  })"));
  // One for each copy's elements, and one for what all copies store, at constant distances.
  EXPECT_EQ(count_of(code, "add.u64"), kCopies + 1) << code;
  EXPECT_EQ(count_of(code, R"(ld.global.nc.u32 %r[0-9]+, \[%d[0-9]+\+8\])"), kCopies) << code;
  // Where it may wrap around there are two.
  const std::string wraps = ptx_of(with_body(R"(
  let i = invocation_id.x * 3
  out[invocation_id.x] = a[i] + a[i + 1])"));
  EXPECT_EQ(count_of(wraps, "add.u64"), 2 * kCopies + 1) << wraps;
}

TEST(Ptx, AlignedNeighboursMoveTogether) {
  const auto body = [](const char* index) {
    return with_body(std::string("  let i = ") + index + R"(
  if i < 1000 && len(a) > 2000 && len(out) > 2000 {
    let x = a[i + 1]
    let y = a[i]
    out[i + 3] = x ^ y
    out[i] = x
    out[i + 2] = a[i + 3]
    out[i + 1] = a[i + 2] + y
  })");
  };
  const std::string four = ptx_of(body("invocation_id.x * 4"));
  EXPECT_EQ(count_of(four, "ld.global.nc.v4.u32"), 1u) << four;
  EXPECT_EQ(count_of(four, "st.global.v4.u32"), 1u) << four;
  EXPECT_EQ(count_of(four, "(ld|st).global[.nc]*.u32"), 0u) << four;
  const std::string two = ptx_of(body("invocation_id.x * 6"));
  EXPECT_EQ(count_of(two, "ld.global.nc.v2.u32"), 2u) << two;
  EXPECT_EQ(count_of(two, "st.global.v2.u32"), 2u) << two;
  const std::string one = ptx_of(body("invocation_id.x * 3"));
  EXPECT_EQ(count_of(one, "[.]v[24]"), 0u) << one;
}

TEST(Ptx, StoresDoNotWaitForWhatCouldSeeThem) {
  const auto body =
      [](const char* between) {
        return ptx_of(with_body(std::string(R"(
  let i = invocation_id.x * 2
  if i < 4000 && len(out) > 8000 {
    out[i] = 1)") + between + R"(
    out[i + 1] = 2
  })"));
      };
  EXPECT_EQ(count_of(body(""), "st.global.v2"), 1u);
  EXPECT_EQ(count_of(body("\n    out[i + 7] = a[0]"), "st.global.v2"), kCopies);
  EXPECT_EQ(count_of(body("\n    out[a[i]] = 7"), "st.global.v2"), 0u);
  EXPECT_EQ(count_of(body("\n    atomic_add(out[i], out[a[0]])"), "st.global.v2"), 0u);
  EXPECT_EQ(count_of(body("\n    out[900 + i] = out[a[1]]"), "st.global.v2"), 0u);
  EXPECT_EQ(count_of(body("\n    if a[3] == 7 {\n return\n }"), "st.global.v2"), 0u);
}

TEST(Ptx, OperationsThatHaveAnInstructionTakeOne) {
  const std::string rotates = ptx_of(with_body("  out[0] = rotl(a[0], a[1]) ^ rotr(a[0], 7)"));
  EXPECT_EQ(count_of(rotates, "shf.l.wrap.b32"), 1u) << rotates;
  EXPECT_EQ(count_of(rotates, "shf.[lr].wrap.b32"), 2u) << rotates;
  EXPECT_EQ(count_of(rotates, "shl.b32|shr.u32 %r[0-9]+, %r[0-9]+, 7"), 0u) << rotates;
  const std::string swapped = ptx_of(with_body(R"(
  let x = a[0]
  out[0] = x >> 24 | x >> 8 & 0xff00 | x << 8 & 0xff0000 | x << 24)"));
  EXPECT_EQ(count_of(swapped, "prmt.b32 %r[0-9]+, [%$]\\w+, 0, 291;"), 1u) << swapped;
  EXPECT_EQ(count_of(swapped, "and.b32|or.b32"), 0u) << swapped;
}

TEST(Ptx, ProductsThatAreWantedWholeAreMultipliedOnce) {
  const std::string code = ptx_of(with_body(R"(
  let x = a[0]
  let high = mul_high(x, 0xd2511f53)
  out[0] = x * 0xd2511f53
  out[1] = high
  out[2] = high + 1)"));
  EXPECT_EQ(count_of(code, "mul.wide.u32"), 1u) << code;
  EXPECT_EQ(count_of(code, "mul.(lo|hi).u32"), 0u) << code;
}

// Counts are a u32, too, but no truth.
TEST(Ptx, CountsAreNoPredicates) {
  for (const char* count : {"clz", "ctz", "popcount"}) {
    const std::string code = ptx_of(with_body(std::string("  let x = 0\n  if a[1] {\n    x = ") +
                                              count + "(a[0])\n  }\n  out[0] = x"));
    EXPECT_EQ(count_of(code, "mov.pred"), 0u) << code;
  }
}

TEST(Ptx, TestsStayPredicates) {
  const std::string code = ptx_of(with_body(R"(
  let i = invocation_id.x
  let both = a[i] < 7 && a[i] != table[3] || !bool(a[i] & 4)
  let flag = 0
  for k in 0..a[1] {
    flag = a[k] == 9
    if flag || both {
      out[k] = i
    }
  })"));
  EXPECT_EQ(count_of(code, "selp"), 0u) << code;
  EXPECT_EQ(count_of(ptx_of(with_body("  out[0] = a[0] < 7")), "selp.b32"), 1u);
}

TEST(Ptx, AtomicsWithoutAResultAskForNone) {
  const std::string code = ptx_of(with_body(R"(
  atomic_add(out[a[0]], 1)
  let old = atomic_max(out[a[1]], 7)
  out[5] = old
  atomic_exchange(out[6], 7))"));
  EXPECT_EQ(count_of(code, "@%p[0-9]+ red.global.add.u32 "), 1u) << code;
  EXPECT_EQ(count_of(code, "@%p[0-9]+ atom.global.max.u32 %r[0-9]+, "), 1u) << code;
  EXPECT_EQ(count_of(code, "atom.global.exch.b32 "), 1u) << code;
}

// --- Blocks -------------------------------------------------------------------------------------

// Threads of a block, its workgroups along x and y, invocations of a thread at once and in turn.
struct Shape {
  std::array<std::uint32_t, 3> block;
  std::uint32_t groups = 1;
  std::uint32_t rows = 1;
  std::uint32_t copies = 1;
  std::uint32_t steps = 1;
  friend bool operator==(const Shape&, const Shape&) = default;
};
Shape shape_of(const PtxKernel& kernel) {
  const LaunchShape& launch = kernel.launch;
  return {kernel.block, launch.groups[0], launch.groups[1], launch.copies, launch.steps};
}
Shape shape_of(const std::string& workgroup, const std::string& more = "") {
  return shape_of(
      must(ptx_kernel(with_body("  out[invocation_id.x] = local_id.x\n" + more, workgroup))));
}

TEST(Ptx, SmallWorkgroupsShareABlock) {
  EXPECT_EQ(shape_of("64"), (Shape{{256, 1, 1}, 4}));
  EXPECT_EQ(shape_of("1"), (Shape{{256, 1, 1}, 256}));
  EXPECT_EQ(shape_of("8, 8"), (Shape{{32, 8, 1}, 4}));
  EXPECT_EQ(shape_of("4, 4, 2"), (Shape{{32, 4, 2}, 8}));
  EXPECT_EQ(shape_of("48"), (Shape{{192, 1, 1}, 4}));  // whole warps
  EXPECT_EQ(shape_of("7"), (Shape{{224, 1, 1}, 32}));
  EXPECT_EQ(shape_of("129"), (Shape{{129, 1, 1}, 1}));
  EXPECT_EQ(shape_of("256"), (Shape{{256, 1, 1}, 1}));
  EXPECT_EQ(shape_of("64", "  barrier\n"), (Shape{{64, 1, 1}, 1}));
}

// The first word is the last id, the others what an id has to be below for another to exist.
TEST(Ptx, LaunchesHaveABlockForEveryWorkgroupAndSayWhereTheyEnd) {
  using Grid3 = std::array<std::uint64_t, 3>;
  const LaunchShape shape{{64, 1, 1}, {4, 1, 1}, 1, 1, {{0, 0}, {0, 256}, {1, 2}}, {}};
  EXPECT_EQ(shape.grid({0, 1, 1}), (Grid3{0, 1, 1}));
  EXPECT_EQ(shape.grid({4, 7, 3}), (Grid3{1, 7, 3}));
  EXPECT_EQ(shape.grid({5, 1, 1}), (Grid3{2, 1, 1}));
  EXPECT_EQ(shape.words({5, 1, 1}), (std::vector<std::uint32_t>{319, 64, 0}));
  EXPECT_EQ(shape.words({3, 3, 1}), (std::vector<std::uint32_t>{191, 0, 1}));
  EXPECT_EQ(shape.words({std::uint64_t{1} << 26, 1, 1})[0], 0xffffffffu);
}

TEST(Ptx, ThreadsWithoutAWorkgroupEnd) {
  const std::string merged = ptx_of(with_body("  out[invocation_id.x] = local_id.x", "64"));
  EXPECT_EQ(count_of(merged, "@%p0 ret"), 1u) << merged;
  EXPECT_EQ(count_of(merged, "[.]reqntid 256, 1, 1"), 1u) << merged;
  const std::string alone = ptx_of(with_body("  out[invocation_id.x] = local_id.x", "256"));
  EXPECT_EQ(count_of(alone, "@%p0 ret"), 0u) << alone;
}

// --- Several workgroups in a thread -------------------------------------------------------------

TEST(Ptx, ShortBodiesHaveFourWorkgroupsInAThreadAndLoadFirst) {
  const Result<PtxKernel> kernel = ptx_kernel(with_body(R"(
  let i = invocation_id.x
  if i < len(out) {
    out[i] = a[i] ^ a[i + 1]
  })",
                                                        "64"));
  EXPECT_EQ(shape_of(*kernel), (Shape{{256, 1, 1}, 16, 1, 4}));
  EXPECT_EQ(count_of(kernel->text, "add.u32 \\$invocation_x_[234], \\$invocation_x, (256|512|768)"),
            kCopies - 1);
  const std::size_t last_load = kernel->text.rfind("ld.global.nc");
  EXPECT_LT(last_load, kernel->text.find("st.global")) << kernel->text;
  EXPECT_EQ(count_of(kernel->text, "bra"), 0u) << kernel->text;
}

TEST(Ptx, WhatIsTheSameForAllWorkgroupsIsComputedOnce) {
  const std::string code = ptx_of(with_body(R"(
  let scale = table[7] * table[9]
  out[invocation_id.x] = a[invocation_id.x] * scale)"));
  EXPECT_EQ(count_of(code, "ld.global.nc.u32 %r[0-9]+, \\[\\$table"), 2u) << code;
  EXPECT_EQ(count_of(code, "mul.lo.u32"), 1 + 1 + kCopies) << code;  // one for the id
}

TEST(Ptx, LongBodiesAndLoopsHaveOneWorkgroupInAThread) {
  const auto copies = [](const std::string& body) {
    return ptx_kernel(with_body(body))->launch.copies;
  };
  EXPECT_EQ(copies("  out[invocation_id.x] = a[invocation_id.x]"), kCopies);
  EXPECT_EQ(copies("  out[invocation_id.x] = 7"), 1u);  // nothing to wait for
  EXPECT_EQ(copies("  let sum = 0\n  for k in 0..len(a) {\n    sum = sum + a[k]\n  }\n"
                   "  out[invocation_id.x] = sum"),
            1u);
  EXPECT_EQ(copies("  let i = invocation_id.x\n  out[i] = a[i] + a[i + 3] * a[i + 7] - a[i + 9]"),
            1u);
}

TEST(Ptx, BlocksThatOnlyLoadTakeNoBranch) {
  const std::string code = ptx_of(with_body(R"(
  let i = invocation_id.x
  let sum = 0
  for k in 0..7 {
    if k + i < 1000 {
      sum = sum + table[(i + k * 3) & 0xff]
    }
  }
  out[i] = sum)"));
  EXPECT_EQ(count_of(code, "bra end"), 0u) << code;
  EXPECT_GE(count_of(code, "\n\t@[%$]\\S+ ld.global.nc.u32"), 1u) << code;
  // The block may change what its condition was made of.
  const std::string changes = ptx_of(with_body(R"(
  let i = invocation_id.x
  let sum = 0
  let more = i < 7
  for k in 0..a[0] {
    if more {
      more = i + k < 1000
      sum = sum + table[(i + k) & 0xff]
    }
  }
  out[i] = sum)"));
  EXPECT_EQ(count_of(changes, "mov.pred \\$taken, \\$more"), 1u) << changes;
}

TEST(Ptx, SeveralWorkgroupsWaitAtOneBarrier) {
  const std::string rows = R"(program p workgroup(16, 16) {
  read       a: u32[] @0
  read_write out: u32[] @1
  workgroup  own: u32[256]
  workgroup  same: u32[256]
  let at = local_id.y * 16 + local_id.x
  own[at] = a[invocation_id.y * 64 + local_id.x]
  same[at] = a[invocation_id.x + 64 * local_id.y]
  barrier
  out[invocation_id.y * 64 + invocation_id.x] = own[255 - at] + same[255 - at]
})";
  const Result<PtxKernel> kernel = ptx_kernel(rows);
  EXPECT_EQ(shape_of(*kernel), (Shape{{16, 16, 1}, 1, 4, 4}));
  EXPECT_EQ(count_of(kernel->text, "bar.sync 0"), 1u) << kernel->text;
  // Of what all four hold there is one.
  EXPECT_EQ(count_of(kernel->text, "shared_memory\\[5120\\]"), 1u) << kernel->text;
  EXPECT_EQ(count_of(kernel->text, "st.shared"), kCopies + 1) << kernel->text;
  EXPECT_EQ(count_of(kernel->text, "ld.shared"), kCopies + 1) << kernel->text;
  // A copy that has no workgroup must not go where its numbers say.
  const std::string beyond = ptx_of(with_cells(64, R"(
  cells[local_id.x] = out[0]
  barrier
  if local_id.x < 7 {
    out[invocation_id.x] = cells[workgroup_id.x & 63] + cells[local_id.x]
  })"));
  EXPECT_EQ(count_of(beyond, "\n\t@[%$]\\S+ ld.shared"), kCopies - 1) << beyond;
  EXPECT_EQ(count_of(beyond, "\n\tld.shared"), kCopies + 1) << beyond;
  // Where the way to a barrier is not the same for all, each has a block.
  const std::string parted = with_cells(64, R"(
  if workgroup_id.x < 7 {
    barrier
  }
  out[invocation_id.x] = cells[out[invocation_id.x] & 63])");
  EXPECT_EQ(ptx_kernel(parted)->launch.copies, 1u);
}

TEST(Ptx, FewElementsAreUpdatedInMemoryOfTheBlock) {
  const auto kernel = [](const std::string& update, const char* type = "u32") {
    return *ptx_kernel(std::string("program p workgroup(256) {\n  read data: u32[] @0\n"
                                   "  read_write bins: ") +
                       type + "[] @1\n  let x = data[invocation_id.x]\n" + update + "\n}\n");
  };
  const PtxKernel add = kernel("  atomic_add(bins[x & 0xff], 1)");
  EXPECT_EQ(shape_of(add), (Shape{{256, 1, 1}, 64, 1, 4, 16}));
  EXPECT_EQ(count_of(add.text, "red.shared.add.u32"), kCopies) << add.text;
  EXPECT_EQ(count_of(add.text, "red.global.add.u32"), 1u) << add.text;
  EXPECT_EQ(count_of(add.text, "bar.sync 0"), 2u) << add.text;
  const PtxKernel least = kernel("  atomic_min(bins[x & 0xff], i32(x))", "i32");
  EXPECT_EQ(count_of(least.text, "mov.b32 %r[0-9]+, 0x7fffffff"), 1u) << least.text;
  // Too many, or the old value is wanted, or others access it.
  for (const char* other : {"  atomic_add(bins[x & 0xffff], 1)",
                            "  let old = atomic_add(bins[x & 0xff], 1)\n  "
                            "atomic_add(bins[old & 0xff], 1)",
                            "  atomic_add(bins[x & 0xff], bins[0])",
                            "  atomic_add(bins[x & 0xff], 1)\n  atomic_max(bins[x & 0xff], 1)"}) {
    const PtxKernel global = kernel(other);
    EXPECT_EQ(global.launch.steps, 1u) << global.text;
    EXPECT_EQ(count_of(global.text, "[.]shared"), 0u) << global.text;
  }
}

TEST(Ptx, ArraysWithKnownIndicesAreRegisters) {
  const auto of_example = [](const std::string& name) {
    return ptx_of(read_file(source_root() + "/examples/" + name + ".vyre"));
  };
  for (const char* name : {"sha256", "chacha20", "aes128_ctr"}) {
    const std::string text = of_example(name);
    EXPECT_EQ(count_of(text, "\\.local"), 0u) << name;
    EXPECT_GT(count_of(text, "shf.l.wrap|xor.b32"), 100u) << name;
  }
  EXPECT_GT(count_of(of_example("levenshtein"), "ld\\.local"), 0u);
}

TEST(Ptx, CollectivesSideBySideWaitOnce) {
  const auto waits = [](const std::string& body) {
    return count_of(ptx_of("program p workgroup(64) {\n  read_write out: u32[] @0\n  workgroup "
                           "own: u32[64]\n  let i = local_id.x\n" +
                           body + "\n}\n"),
                    "bar.sync 0");
  };
  // Of four workgroups that a thread has.
  EXPECT_EQ(waits("let a = workgroup_add(out[i])\nout[i] = a"), 1u);
  EXPECT_EQ(waits("let a = workgroup_add(i)\nlet b = workgroup_scan_min(i)\nout[i] = a + b"), 1u);
  EXPECT_EQ(waits("let a = workgroup_add(i)\nlet b = workgroup_add(a)\nout[i] = b"), 2u);
  EXPECT_EQ(waits("let a = workgroup_add(i)\nlet b = workgroup_broadcast(i, a)\nout[i] = b"), 2u);
  // What others wrote before the first of them.
  EXPECT_EQ(waits("own[i] = i\nlet a = workgroup_add(i)\nlet b = workgroup_add(own[63 - i])\n"
                  "out[i] = a + b"),
            2u);
}

TEST(Ptx, CollectivesOfDifferentBlocksDoNotWaitTogether) {
  const auto waits = [](const std::string& body) {
    const std::string text = ptx_of(
        "program p workgroup(512) {\n  read_write out: u32[] @0\n  uniform n: "
        "u32[1] @1\n  let i = local_id.x\n" +
        body + "\nout[i] = b\n}\n");
    std::smatch end;
    EXPECT_TRUE(std::regex_search(text, end, std::regex("\n(end|done)[0-9]+:\n"))) << text;
    return count_of(end.suffix(), "bar.sync 0");
  };
  EXPECT_EQ(waits("if n[0] < 7 { let a = workgroup_max(i) }\nlet b = workgroup_add(i)"), 1u);
  EXPECT_EQ(waits("if n[0] < 7 {} else { let a = workgroup_max(i) }\nlet b = workgroup_add(i)"),
            1u);
  EXPECT_EQ(waits("for k in 0..n[0] { let a = workgroup_max(i) }\nlet b = workgroup_add(i)"), 1u);
}

TEST(Ptx, EveryJumpOfGeneratedProgramsHasItsLabel) {
  const std::uint64_t count = is_long() ? 20'000 : kSanitized ? 50 : 300;
  std::uint64_t jumps = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Case c = seed % 3 == 0 ? neighbours_case(seed) : generate_case(seed, {.dense = true});
    const Result<Linked> linked = link(c);
    ASSERT_TRUE(linked.ok()) << seed;
    const auto program = ptx_program(*linked);
    if (!program.ok()) continue;  // it has more workgroup memory than a GPU
    const Result<const PtxKernel*> kernel = (*program)->general();
    ASSERT_TRUE(kernel.ok()) << seed;
    std::multiset<std::string> labels;
    std::set<std::string> targets;
    std::istringstream text((*kernel)->text);
    for (std::string line; std::getline(text, line);) {
      const std::size_t jump = line.find(" bra ");
      if (jump != line.npos) targets.insert(line.substr(jump + 5, line.size() - jump - 6));
      if (line.ends_with(':')) labels.insert(line.substr(0, line.size() - 1));
    }
    jumps += targets.size();
    for (const std::string& target : targets) {
      EXPECT_EQ(labels.count(target), 1u) << target << " of seed " << seed;
    }
  }
  EXPECT_GT(jumps, count);
}

TEST(Ptx, WorkgroupsThatAreTooLargeAreRefused) {
  EXPECT_FALSE(ptx_kernel(with_body("", "1025")).ok());
  EXPECT_FALSE(ptx_kernel(with_body("", "65536, 65536, 65536")).ok());
  EXPECT_FALSE(ptx_kernel(with_body("", "1, 1, 65")).ok());
  EXPECT_TRUE(ptx_kernel(with_body("", "16, 1, 64")).ok());
}

// --- Workgroup memory ---------------------------------------------------------------------------

TEST(Ptx, WorkgroupMemoryBeginsAsZeros) {
  const char* body = "  out[invocation_id.x] = cells[out[0]]";
  const std::string small = ptx_of(with_cells(256, body));
  EXPECT_EQ(count_of(small, "st.shared.v4.u32"), 1u) << small;
  EXPECT_EQ(count_of(small, "bar.sync 0"), 1u) << small;
  EXPECT_EQ(count_of(small, "[.]shared .align 16 .b8 shared_memory\\[1024\\]"), 1u) << small;
  const std::string odd = ptx_of(with_cells(300, body));
  EXPECT_EQ(count_of(odd, "\tst.shared.v4.u32"), 1u) << odd;
  EXPECT_EQ(count_of(odd, "@\\$exists st.shared.v4.u32"), 1u) << odd;
  const std::string large = ptx_of(with_cells(8192, body));
  EXPECT_EQ(count_of(large, "bra loop"), 1u) << large;
}

TEST(Ptx, WorkgroupMemoryThatIsWrittenFirstNeedsNoZeros) {
  const auto zeros = [](std::uint32_t count, const std::string& body) {
    return count_of(ptx_of(with_cells(count, body)), "st.shared.v4.u32") > 0 ? 1u : 0u;
  };
  const std::string store = "  cells[local_id.x] = invocation_id.x\n";
  const std::string load = "  out[invocation_id.x] = cells[63 - local_id.x]\n";
  EXPECT_EQ(zeros(64, store + "  barrier\n" + load), 0u);
  EXPECT_EQ(zeros(63, store + "  barrier\n" + load), 0u);
  EXPECT_EQ(zeros(65, store + "  barrier\n" + load), 1u);
  EXPECT_EQ(zeros(64, store + load), 1u);
  EXPECT_EQ(zeros(64, store + load + "  barrier\n"), 1u);
  EXPECT_EQ(zeros(64, load + "  barrier\n" + store), 1u);
  EXPECT_EQ(zeros(64, "  cells[local_id.x ^ 1] = 7\n  barrier\n" + load), 1u);
  EXPECT_EQ(zeros(64, "  cells[local_id.x + 1] = 7\n  barrier\n" + load), 1u);
  // Not by all of them, or not each time.
  EXPECT_EQ(zeros(64, "  if out[0] == 1 {\n  " + store + "  }\n  barrier\n" + load), 1u);
  EXPECT_EQ(zeros(64, "  for k in 0..len(out) {\n  " + store + "  barrier\n  }\n" + load), 1u);
  EXPECT_EQ(zeros(64, "  for k in 0..len(out) {\n  " + store + "  barrier\n  " + load +
                          "  barrier\n  }\n"),
            0u);
  EXPECT_EQ(zeros(64, store + "  if len(out) > 7 {\n  barrier\n }\n" + load), 1u);
}

TEST(Ptx, LargeWorkgroupMemoryIsAskedForByTheHost) {
  const char* body = "  out[invocation_id.x] = cells[out[0]]";
  EXPECT_EQ(ptx_kernel(with_cells(12 * 1024, body))->dynamic_shared, 0u);
  const Result<PtxKernel> large = ptx_kernel(with_cells(12 * 1024 + 1, body));
  EXPECT_EQ(large->dynamic_shared, 48u * 1024 + 16);
  EXPECT_FALSE(ptx_kernel(with_cells(227 * 256 + 1, body)).ok());
  EXPECT_FALSE(ptx_kernel(with_cells(0x80000000, body)).ok());
  EXPECT_EQ(count_of(large->text, "^// bytes of shared memory to ask for at a launch: 49168\n"),
            1u);
  EXPECT_EQ(count_of(large->text, "\n[.]extern .shared .align 16 .b8 vyre_p_shared\\[\\];"), 1u);
}

// --- Text ---------------------------------------------------------------------------------------

TEST(Ptx, LinesAndNamesOfTheProgramAreInTheCode) {
  const std::string code = ptx_of(with_body(R"(
  let total = 0
  for round in 0..a[0] {
    total = total * 31 + a[round]
  }
  out[invocation_id.x] = total)"));
  EXPECT_EQ(count_of(code, "[.]loc 1 7 0\n\t// for round in"), 1u) << code;
  EXPECT_EQ(count_of(code, "[.]loc 1 10 0\n\t// out\\[invocation_id.x\\] = total"), 1u) << code;
  EXPECT_GE(count_of(code, "\\$total"), 3u) << code;
  EXPECT_GE(count_of(code, "\\$round"), 3u) << code;
  EXPECT_EQ(ptx_header("a\"b.vyre"), ptx_header("") + ".file 1 \"a?b.vyre\"\n");
}

TEST(Ptx, ManyBuffersAreInATable) {
  const auto buffers = [](std::size_t count) {
    std::string text = "program p workgroup(64) {\n";
    for (std::size_t i = 0; i < count; ++i)
      text += "  read_write b" + std::to_string(i) + ": u32[]\n";
    return ptx_kernel(text + "  b1[0] = b" + std::to_string(count - 1) + "[1]\n}\n");
  };
  EXPECT_FALSE(buffers(kPtxMaxDirect)->has_table);
  const Result<PtxKernel> many = buffers(kPtxMaxDirect + 1);
  EXPECT_TRUE(many->has_table);
  EXPECT_EQ(count_of(many->text, "\t[.]param"), 1 + 3 + many->launch.limits.size());
}

}  // namespace
}  // namespace vyre
