// Large programs compile on every kind of vectors, and give the bytes of the interpreter; the
// largest that there are where VYRE_LONG is set. Small ones do, too, when they are compiled in
// pieces as large ones are.
#include <numeric>

#include "tests/support/cpu_fixture.h"
#include "tests/support/small_stack.h"
#include "vyre/conform/large.h"

namespace vyre {
namespace {

struct Size {
  LargeShape shape;
  std::uint32_t usual;
  std::uint32_t sanitized;
};

constexpr Size kSizes[] = {
    {LargeShape::Statements, 10'000, 1'000},
    {LargeShape::Branches, 300, 100},
    {LargeShape::Loops, 200, 50},
    {LargeShape::Chain, 400, 100},
    {LargeShape::Nesting, 63, 20},
    {LargeShape::Depth, 1000, 500},
    {LargeShape::Locals, 60, 20},
    {LargeShape::LargeGroup, 5, 3},
    {LargeShape::Divisions, 60, 20},
    {LargeShape::Buffers, 300, 100},
    {LargeShape::WorkgroupMemory, 1 << 20, 10'000},
};

class CpuLarge : public Cpu, public ::testing::WithParamInterface<Size> {};

TEST_P(CpuLarge, ProgramsGiveTheSameBytes) {
  const Size& sizes = GetParam();
  const std::uint32_t most = all_large_shapes()[static_cast<std::size_t>(sizes.shape)].most;
  const Case c = generate_large(sizes.shape, is_long()    ? most
                                             : kSanitized ? sizes.sanitized
                                                          : sizes.usual);
  if (is_long()) max_steps_ = 0;
  for_each_kind([&](std::uint64_t, const std::string&) {
    const std::uint64_t before = compared_;
    EXPECT_EQ(difference(c), "");
    EXPECT_EQ(compared_, before + 1) << "the interpreter gave up";
  });
}

INSTANTIATE_TEST_SUITE_P(, CpuLarge, ::testing::ValuesIn(kSizes), [](const auto& each) {
  std::string name;
  for (char c : all_large_shapes()[static_cast<std::size_t>(each.param.shape)].name) {
    if (c != ' ') name += c;
  }
  return name;
});

// In pieces of any size, so that every statement is at a border somewhere.
TEST_F(Cpu, ProgramsInPiecesGiveTheSameBytes) {
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    for (const char* size : {"20", "70", "300"}) {
      SCOPED_TRACE(size);
      setenv("VYRE_CPU_PIECES", size, 1);
      check_generated(900'000 + 100'000 * kind, cases(16, 2'000));
    }
    setenv("VYRE_CPU_PIECES", "20", 1);
    check_library(is_long() ? 1 : 97);
    unsetenv("VYRE_CPU_PIECES");
  });
}

// What reached the compiler in pieces and came out wrong: leaving loops that have barriers, rows
// that share what they load, and divisors of which LLVM knows some lanes.
constexpr std::string_view kInPieces[] = {
    R"(program leaves workgroup(64) {
  read       a: u32[]
  read_write out: u32[]
  workgroup  w: u32[64]

  let l = local_id.x
  let s = a[invocation_id.x]
  for k in 0..a[1] + 4 {
    for r in 0..a[2] + 4 {
      w[l] = s
      barrier
      s = s * 3 + w[(l + r) % 64]
      barrier
      if r == a[1] + 1 {
        break
      }
      s = s * 7 + w[(l + k + 9) % 64]
      barrier
      if k == workgroup_id.x * 2 + 1 {
        return
      }
      w[l] = s + 1
      barrier
    }
    s = s ^ w[63 - l]
    barrier
    w[l] = s
    barrier
    if k == a[2] {
      break
    }
    out[invocation_id.x + k * 128] = s
  }
  out[invocation_id.x] = s + w[63 - l]
})",
    R"(program stencil workgroup(8, 8) {
  read       a: u32[]
  read_write out: u32[]

  let cell = invocation_id.y * 16 + invocation_id.x
  let v = u128(a[cell] + a[cell + 16] + a[cell + 32])
  v = v / u128(a[cell + 1] + 1) * u128(a[cell + 41] + 77777)
  v = v / u128(a[cell + 2] + 1) * u128(a[cell + 42] + 77777)
  out[cell] = u32(v)
})",
    R"(program divides workgroup(1, 1, 2) {
  read       a: bool[]
  read_write out: u64[]
  workgroup  w: u32[1]

  out[workgroup_id.x * 2 + local_id.z] = 1u64 / (~0u64 / u64(local_id.z) / u64(a[1]))
})"};

TEST_F(Cpu, ProgramsThatWereWrongInPiecesGiveTheSameBytes) {
  for (std::string_view text : kInPieces) {
    const Result<Loaded> loaded = load_module({"pieces.vyre", std::string(text)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
    Case c;
    c.module = loaded->module;
    c.grid = {2, 1, 1};
    for (const BufferDecl& buffer : c.program().buffers) {
      const bool is_shared = buffer.access == BufferAccess::Workgroup;
      std::vector<std::uint32_t> words(is_shared ? 0 : 256);
      std::iota(words.begin(), words.end(), 0u);
      const auto bytes = std::as_bytes(std::span(words));
      c.contents.emplace_back(bytes.begin(), bytes.end());
    }
    for (const char* size : {"0", "20", "50", "100", "200", "400"}) {
      setenv("VYRE_CPU_PIECES", size, 1);
      const std::uint64_t before = compared_;
      EXPECT_EQ(difference(c), "") << size << text;
      EXPECT_EQ(compared_, before + 1);
    }
    unsetenv("VYRE_CPU_PIECES");
  }
}

// Nothing takes more of the caller's stack than it says.
TEST_F(Cpu, CompilesAndRunsOnASmallStack) {
  on_small_stack([&] {
    for (const auto& [shape, size] : {std::pair(LargeShape::Depth, 1000u),
                                      {LargeShape::Locals, 60u},
                                      {LargeShape::Chain, 300u},
                                      {LargeShape::Divisions, 40u},
                                      {LargeShape::LargeGroup, 3u}}) {
      EXPECT_EQ(difference(generate_large(shape, size)), "");
    }
    EXPECT_EQ(compared_, 5u);
  });
}

}  // namespace
}  // namespace vyre
