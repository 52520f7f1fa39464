// What runs as shaders gives the interpreter's bytes, through Vulkan and through WebGPU, on the
// devices that this machine has.
#include <gtest/gtest.h>

#include "tests/support/build.h"
#include "tests/support/differential.h"
#include "tests/support/drivers.h"
#include "tests/support/families.h"

namespace vyre {
namespace {

class Shaders : public Differential, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    std::optional<DawnDriver> driver;
    if (GetParam() == std::string_view("wgsl")) driver.emplace();
    open(GetParam());
  }
  std::string difference(const Case& c) override;
};

// Software devices have small limits, which generated programs may exceed.
std::string Shaders::difference(const Case& c) {
  const std::string wrong = Differential::difference(c);
  const bool is_limit =
      wrong.find("error[B001]") != wrong.npos || wrong.find("error[B002]") != wrong.npos;
  return is_limit ? std::string() : wrong;
}

std::uint64_t many(std::uint64_t usual) {
  return is_long() ? 10 * usual : kSanitized ? (usual + 4) / 5 : usual;
}

TEST_P(Shaders, GeneratedProgramsGiveTheSameBytes) { check_generated(0, many(100)); }

TEST_P(Shaders, LibraryOpsGiveTheSameBytes) { check_library(is_long() ? 1 : 30 * every()); }

TEST_P(Shaders, CollectivesOfAllWorkgroups) {
  const auto sizes = workgroup_sizes(is_long() ? 1 : 50);
  check_cases(0, sizes.size(), [&](std::uint64_t i) { return collectives_case(sizes[i], i); });
}

TEST_P(Shaders, CollectivesSideBySide) { check_cases(0, many(20), neighbours_case); }

TEST_P(Shaders, NarrowElementsLeaveTheirNeighboursAlone) { check_cases(0, many(30), narrow_case); }

TEST_P(Shaders, TablesAreLookedUp) { check_cases(0, many(20), table_case); }

// Programs that once were wrong on one of the devices.
TEST_P(Shaders, ProgramsThatOnceWereWrong) {
  for (
      const char* text : {
          "program p workgroup(1) {\n  read_write r: i32[] @1\n  r[0] = min(r[0xffffffff], -7i32)\n}\n",
          "program p workgroup(1) {\n  read_write r: i32[] @1\n  r[0] = max(r[0xffffffff], -7i32)\n}\n",
          "program p workgroup(1) {\n  read_write r: u8[] @1\n  r[0x80000000] = 5\n}\n",
          "program p workgroup(1) {\n  read_write r: u32[] @1\n  let x = atomic_load(r[0x20000000])\n"
          "  r[0] = x + 1\n}\n",
          "program p workgroup(1) {\n  read a: u32[5] @0\n  read_write r: u32[] @1\n"
          "  r[0] = select(a[4], a[1] > a[2], a[2] < a[3])\n}\n",
          "program p workgroup(1) {\n  read_write storage: u32[] @0\n  storage[0] += 3\n}\n",
      }) {
    Random random(1);
    const Case c = case_of(text, {1, 1, 1}, random, [](const BufferDecl&) { return 5u; });
    EXPECT_EQ(difference(c), "") << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Shaders, ::testing::Values("wgsl", "spirv"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace vyre
