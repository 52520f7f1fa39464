// A thread with a small stack, as embedders of the library may have.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/command.h"
#include "vyre/base/thread.h"

namespace vyre {

// Frames are larger with sanitizers.
inline const std::size_t kStackBytes = std::size_t{kSanitized ? 1024u : 256u} << 10;

inline void on_small_stack(std::function<void()> work) {
  Thread thread;
  ASSERT_TRUE(thread.start(std::move(work), kStackBytes));
  thread.join();
}

}  // namespace vyre
