// The interpreter as a backend: its artifact is the program itself, its device is the host.
#pragma once

#include "vyre/backends/backend.h"
#include "vyre/interp/script.h"

namespace vyre {

Opened open_interp(std::uint32_t device);
// With the reason why it runs instead of another one.
std::unique_ptr<Device> open_interp(std::string note);

// The program as the interpreter runs it, if there is room for its locals.
Result<Script> load_script(const Linked& linked);

}  // namespace vyre
