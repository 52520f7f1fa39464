#include "tests/support/build.h"

#include <cstdlib>

namespace vyre {

const bool kSanitized = sizeof VYRE_SANITIZE > 1;

const char* const kSourceRoot = VYRE_ROOT;
const char* const kCommand = VYRE_COMMAND;
const char* const kExampleBuilder = VYRE_EXAMPLE_BUILDER;
const char* const kExampleDispatch = VYRE_EXAMPLE_DISPATCH;
const char* const kExampleDispatchC = VYRE_EXAMPLE_DISPATCH_C;
const char* const kExampleResident = VYRE_EXAMPLE_RESIDENT;

bool is_long() {
  static const bool is_set = std::getenv("VYRE_LONG") != nullptr;
  return is_set;
}

}  // namespace vyre
