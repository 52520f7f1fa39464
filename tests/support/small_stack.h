// A thread with a small stack, as embedders of the library may have.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "tests/support/command.h"

namespace vyre {

// Frames are larger with sanitizers.
inline constexpr std::size_t kStackBytes = std::size_t{kSanitized ? 1024 : 256} << 10;

inline void on_small_stack(std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  const auto start = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace vyre
