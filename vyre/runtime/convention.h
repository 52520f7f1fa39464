// Conventions: how a host wires the buffers of a program. A host that names one for a pipeline gets
// an error that names the buffer when the program is not like that.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "vyre/base/diagnostics.h"
#include "vyre/ir/program.h"

namespace vyre {

// How a host wires a program's buffers; named when a pipeline is made, not part of the program.
struct Convention {
  // Input (read), output (read_write), params (uniform).
  struct V1 {
    friend bool operator==(V1, V1) = default;
  };
  // V1 plus a lookup table (read) at a binding of its own.
  struct V2 {
    std::uint32_t lookup_binding = 0;
    friend bool operator==(V2, V2) = default;
  };
  std::variant<V1, V2> version;

  friend bool operator==(const Convention&, const Convention&) = default;
};

std::string name_of(const Convention& convention);  // "V1"

// V1, in the order of bindings: one or more read buffers (inputs), one read_write (the output), at
// most one uniform (parameters). V2: the same besides a read buffer at the lookup binding.
std::vector<Diagnostic> check_convention(const Program& program, const Convention& convention);

}  // namespace vyre
