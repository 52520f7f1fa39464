// Shrinks a case that shows something to a small one that still shows it.
//
// The reducer drops statements, takes compound statements apart, replaces expressions by operands
// and constants, drops what nothing mentions, and shrinks grid, workgroup and contents, as long as
// the predicate holds. It tries only valid programs in canonical form, and none that is larger than
// the last one that held. It knows nothing of races: without a barrier, or in a smaller workgroup,
// a program may have some that it did not have before. A predicate for which that matters checks
// it.
#pragma once

#include <cstdint>
#include <functional>

#include "vyre/conform/case.h"

namespace vyre {

struct ReduceLimits {
  std::uint32_t tries = 20'000;  // calls of the predicate
};

// `still_fails` holds for `failing`. Ends when no single step leads on, or the tries are used up.
Case reduce(Case failing, const std::function<bool(const Case&)>& still_fails,
            const ReduceLimits& limits = {});

}  // namespace vyre
