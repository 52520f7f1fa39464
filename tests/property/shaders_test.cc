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
};

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

INSTANTIATE_TEST_SUITE_P(Devices, Shaders, ::testing::Values("wgsl", "spirv"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace vyre
