// A thread with a small stack, as embedders of the library may have.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/command.h"
#include "vyre/base/thread.h"

namespace vyre {

// Frames are larger with sanitizers.
inline constexpr std::size_t kStackBytes = std::size_t{kSanitized ? 1024 : 256} << 10;

inline void on_small_stack(std::function<void()> work) {
  Thread thread;
  ASSERT_TRUE(thread.start(std::move(work), kStackBytes));
  thread.join();
}

}  // namespace vyre
