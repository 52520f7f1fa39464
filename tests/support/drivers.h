// Which drivers tests run on: those that the environment chooses, or else software that is the same
// everywhere, lavapipe for Vulkan and SwiftShader of Debian's chromium for Dawn, which refuses the
// other one.
#pragma once

#include <string>

namespace vyre {

// What `vyre backends` says with these variables.
std::string backends_with(const std::string& variables);

// Whether the environment chooses.
bool drivers_are_chosen();

// While it lives, what asks for drivers of Vulkan finds Dawn's.
class DawnDriver {
 public:
  DawnDriver();
  ~DawnDriver();
  DawnDriver(const DawnDriver&) = delete;
  DawnDriver& operator=(const DawnDriver&) = delete;
};

}  // namespace vyre
