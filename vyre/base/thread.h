// A thread that may not start: where the system has no more of them, std::thread ends a program
// without exceptions.
#pragma once

#include <pthread.h>

#include <cassert>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace vyre {

class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Gives whether `work` runs on a thread of its own. `stack_bytes` of 0: as large as usual.
  bool start(std::function<void()> work, std::size_t stack_bytes = 0) {
    assert(!runs_);
    auto owned = std::make_unique<std::function<void()>>(std::move(work));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    const auto run = [](void* given) -> void* {
      const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(given));
      (*mine)();
      return nullptr;
    };
    runs_ = pthread_create(&thread_, &attributes, run, owned.get()) == 0;
    if (runs_) (void)owned.release();
    pthread_attr_destroy(&attributes);
    return runs_;
  }
  bool joinable() const { return runs_; }
  void join() {
    if (std::exchange(runs_, false)) pthread_join(thread_, nullptr);
  }
  void detach() {
    if (std::exchange(runs_, false)) pthread_detach(thread_);
  }

 private:
  pthread_t thread_{};
  bool runs_ = false;
};

}  // namespace vyre
