// Either a value or the reasons why there is none.
#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "vyre/base/diagnostics.h"

namespace vyre {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Diagnostic diagnostic) { diagnostics_.push_back(std::move(diagnostic)); }
  Result(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
    assert(!diagnostics_.empty());
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  // By value, so that `for (x : *f())` and `for (d : f().diagnostics())` iterate over what lives.
  T operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  const std::vector<Diagnostic>& diagnostics() const& { return diagnostics_; }
  std::vector<Diagnostic> diagnostics() && { return std::move(diagnostics_); }

 private:
  std::optional<T> value_;
  std::vector<Diagnostic> diagnostics_;
};

// Nothing, or the reasons why something was not done: `return {}` says that it was.
template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
 public:
  using Result<std::monostate>::Result;
  Result() : Result<std::monostate>(std::monostate()) {}
};

}  // namespace vyre
