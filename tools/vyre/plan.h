// What is to be done with a program that runs: where, how often, and where its outputs go.
#pragma once

#include "tools/vyre/image.h"
#include "tools/vyre/request.h"
#include "tools/vyre/trace.h"

namespace vyre {

struct Outlet {
  std::string_view name;  // of the buffer
  std::string_view path;  // empty: printed
};

// What a buffer has to be after the run; or all of them, by their digest, where `name` is empty.
struct Expectation {
  std::string_view name;
  std::string_view digest;
  Bytes bytes;
};

// One of a backend's devices.
struct Choice {
  const Backend* backend = nullptr;
  std::uint32_t device = 0;
  bool named = true;  // it has to run; the others of `all` may be left out
};

struct Plan {
  std::vector<Outlet> outlets;
  std::vector<ImageRequest> images;
  std::vector<Expectation> expected;
  NumberFormat format = NumberFormat::Automatic;
  std::vector<Choice> choices;
  std::optional<TraceRequest> trace;
  std::string fallback;  // why the interpreter runs it without being chosen, or empty
  std::uint64_t repeat = 1;
  bool all = false;         // backends
  bool strict = false;      // an access that is out of bounds is an error
  bool raw_stdout = false;  // the bytes of a buffer go to standard output
};

// All that is wrong with what is asked for, or a plan that can be followed.
Result<Plan> read_plan(const Invocation& invocation, const Console& console,
                       const Request& request);

// Where the outputs of a run are not what --expect says.
std::vector<Diagnostic> surprises(const Outputs& outputs, const Plan& plan);

// Puts the value of --device, if it is given, where a backend has several; U005 where no backend
// has that one.
std::vector<Diagnostic> choose_device(const Invocation& invocation, std::span<Choice> choices);

// The backend of that name or alias.
Result<const Backend*> named_backend(std::string_view name);

}  // namespace vyre
