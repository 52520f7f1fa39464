// What the tests tell Vulkan before anything asks for it: that the validation layers look on, and,
// unless the environment chooses a driver, that it is lavapipe, which is the same everywhere.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace vyre {
namespace {

const bool kIsTold = [] {
  setenv("VYRE_VULKAN_VALIDATE", "1", 0);
  setenv("XDG_RUNTIME_DIR", "/tmp", 0);  // or Mesa says that it is missing
  if (std::getenv("VK_ICD_FILENAMES") != nullptr || std::getenv("VK_DRIVER_FILES") != nullptr) {
    return true;
  }
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/share/vulkan/icd.d", none)) {
    if (!entry.path().filename().string().starts_with("lvp_icd.")) continue;
    setenv("VK_ICD_FILENAMES", entry.path().c_str(), 0);
  }
  return true;
}();

}  // namespace
}  // namespace vyre
