// The value of a result that a test cannot go on without.
#pragma once

#include <stdexcept>

#include "vyre/base/result.h"

namespace vyre {

// Where there is none, GoogleTest reports the exception and goes on with the next test.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(render(result.diagnostics()[0]));
  return std::move(*result);
}

}  // namespace vyre
