// Large programs compile on every kind of vectors, and give the bytes of the interpreter. Their
// sizes are larger where VYRE_LONG is set.
#include "tests/support/cpu_fixture.h"
#include "vyre/conform/large.h"

namespace vyre {
namespace {

struct Size {
  LargeShape shape;
  std::uint32_t usual;
  std::uint32_t sanitized;
  std::uint32_t longer;
};

constexpr Size kSizes[] = {
    {LargeShape::Statements, 1'000, 200, 5'000},
    {LargeShape::Branches, 80, 20, 300},
    {LargeShape::Loops, 80, 20, 300},
    {LargeShape::Chain, 40, 20, 100},
    {LargeShape::Nesting, 63, 20, 63},
    {LargeShape::Depth, 500, 100, 1000},
    {LargeShape::Locals, 20, 10, 60},
    {LargeShape::LargeGroup, 3, 3, 5},
    {LargeShape::Divisions, 8, 4, 60},
    {LargeShape::Buffers, 40, 20, 300},
    {LargeShape::WorkgroupMemory, 1 << 20, 10'000, 1 << 20},
};

class CpuLarge : public Cpu, public ::testing::WithParamInterface<Size> {};

TEST_P(CpuLarge, ProgramsGiveTheSameBytes) {
  const Size& sizes = GetParam();
  const Case c = generate_large(sizes.shape, is_long()    ? sizes.longer
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

}  // namespace
}  // namespace vyre
