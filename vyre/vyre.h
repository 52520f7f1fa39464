// vyre: the one header a user needs.
#pragma once

#include "vyre/backends/backend.h"    // IWYU pragma: export
#include "vyre/base/diagnostics.h"    // IWYU pragma: export
#include "vyre/base/result.h"         // IWYU pragma: export
#include "vyre/build/builder.h"       // IWYU pragma: export
#include "vyre/build/elementwise.h"   // IWYU pragma: export
#include "vyre/compile.h"             // IWYU pragma: export
#include "vyre/interp/race.h"         // IWYU pragma: export
#include "vyre/ir/eval.h"             // IWYU pragma: export
#include "vyre/ir/program.h"          // IWYU pragma: export
#include "vyre/library/registry.h"    // IWYU pragma: export
#include "vyre/passes/pass.h"         // IWYU pragma: export
#include "vyre/prove/prove.h"         // IWYU pragma: export
#include "vyre/runtime/convention.h"  // IWYU pragma: export
#include "vyre/runtime/dispatch.h"    // IWYU pragma: export
#include "vyre/text/parse.h"          // IWYU pragma: export
#include "vyre/text/print.h"          // IWYU pragma: export
#include "vyre/validate/validate.h"   // IWYU pragma: export
#include "vyre/wire/wire.h"           // IWYU pragma: export
