// Tells which program was running when the process crashed: generated code that goes astray ends
// it.
#pragma once

#include <cstddef>
#include <string>

namespace vyre {

// While one of these lives, its text is printed on a crash, in whichever thread that happens, and
// saved in the folder that VYRE_FAILURES names, or in failures/.
class Running {
 public:
  explicit Running(std::string text);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::string text_;
  std::size_t slot_;
};

}  // namespace vyre
