#include "tests/support/drivers.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/build.h"
#include "tests/support/command.h"

namespace vyre {
namespace {

constexpr const char* kVariable = "VK_ICD_FILENAMES";
constexpr const char* kSwiftShader = "/usr/lib/chromium/vk_swiftshader_icd.json";

void choose_lavapipe() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d", none)) {
    if (!entry.path().filename().string().starts_with("lvp_icd.")) continue;
    setenv(kVariable, entry.path().c_str(), 1);
  }
}

// Before anything asks for Vulkan. The validation layers look on.
const bool kIsTold = [] {
  setenv("VYRE_VULKAN_VALIDATE", "1", 0);
  setenv("XDG_RUNTIME_DIR", "/tmp", 0);  // or Mesa says that it is missing
  if (!drivers_are_chosen()) choose_lavapipe();
  // They stay loaded, so that the leak sanitizer can name them.
  if (kSanitized) {
    for (const char* driver : {"libvulkan_lvp.so", "/usr/lib/chromium/libvk_swiftshader.so"}) {
      dlopen(driver, RTLD_NOW | RTLD_NODELETE);
    }
  }
  return true;
}();

}  // namespace

// As it was before anything here changed it.
bool drivers_are_chosen() {
  static const bool chosen =
      std::getenv(kVariable) != nullptr || std::getenv("VK_DRIVER_FILES") != nullptr;
  return chosen;
}

// Drivers that were unloaded again leave memory behind, and no suppression can name them then.
std::string backends_with(const std::string& variables) {
  return output_of("ASAN_OPTIONS=detect_leaks=0 " + variables + " " + command_path() +
                   " backends 2>&1");
}

DawnDriver::DawnDriver() {
  if (!drivers_are_chosen() && access(kSwiftShader, R_OK) == 0) setenv(kVariable, kSwiftShader, 1);
}

DawnDriver::~DawnDriver() {
  if (drivers_are_chosen()) return;
  unsetenv(kVariable);
  choose_lavapipe();
}

}  // namespace vyre
