// Large programs compile on every kind of vectors, and give the bytes of the interpreter; the
// largest that there are where VYRE_LONG is set. Small ones do, too, when they are compiled in
// pieces as large ones are.
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
      check_generated(900'000 + 100'000 * kind, is_long() ? 2'000 : kSanitized ? 3 : 25);
    }
    setenv("VYRE_CPU_PIECES", "20", 1);
    check_library(is_long() ? 1 : 97);
  });
  unsetenv("VYRE_CPU_PIECES");
}

// Nothing takes more of the caller's stack than it says.
TEST_F(Cpu, CompilesAndRunsOnASmallStack) {
  on_small_stack([&] {
    for (const auto& [shape, size] :
         {std::pair(LargeShape::Depth, 1000u), {LargeShape::Locals, 60u}, {LargeShape::Chain, 300u},
          {LargeShape::Divisions, 40u}, {LargeShape::LargeGroup, 3u}}) {
      EXPECT_EQ(difference(generate_large(shape, size)), "");
    }
  });
}

}  // namespace
}  // namespace vyre
