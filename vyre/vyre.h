// vyre: the one header a user needs. What it includes is the public interface and is installed;
// other headers are not.
#pragma once

#include "vyre/backends/backend.h"     // IWYU pragma: export
#include "vyre/base/diagnostics.h"     // IWYU pragma: export
#include "vyre/base/result.h"          // IWYU pragma: export
#include "vyre/build/builder.h"        // IWYU pragma: export
#include "vyre/build/elementwise.h"    // IWYU pragma: export
#include "vyre/compile.h"              // IWYU pragma: export
#include "vyre/ir/program.h"           // IWYU pragma: export
#include "vyre/library/registry.h"     // IWYU pragma: export
#include "vyre/runtime/convention.h"   // IWYU pragma: export
#include "vyre/runtime/dispatch.h"     // IWYU pragma: export
#include "vyre/runtime/race_report.h"  // IWYU pragma: export
#include "vyre/text/parse.h"           // IWYU pragma: export
#include "vyre/text/print.h"           // IWYU pragma: export
#include "vyre/wire/wire.h"            // IWYU pragma: export
