// Following invocations of a run, for `vyre run --trace`.
#pragma once

#include "tools/vyre/request.h"
#include "vyre/base/json.h"

namespace vyre {

// X,Y,Z or X,Y,Z..X,Y,Z
struct TraceRequest {
  Ids first{};
  std::optional<Ids> second;
  bool all = false;                                   // also of a very long trace
  enum class Into : std::uint8_t { Own, All, None };  // in the order of kTraceInto
  Into into = Into::Own;
  bool json = false;  // instead of text
};
Result<TraceRequest> read_trace_request(const Invocation& invocation, const Request& request);

struct Traced {
  Outputs outputs;
  std::string text;                 // what happened
  JsonObject json;                  // the same: "trace":[…]
  std::vector<Diagnostic> failure;  // of a run that ended early; there are no outputs then
};
Result<Traced> run_traced(const TraceRequest& what, const Request& request);

}  // namespace vyre
