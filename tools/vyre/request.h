// What a run is asked for: the program, the grid, the contents of its buffers and how to run it,
// from the arguments that `vyre run`, `vyre race` and `vyre bench` share.
#pragma once

#include "tools/vyre/data.h"
#include "vyre/compile.h"

namespace vyre {

struct Request {
  Loaded loaded;
  std::size_t item = 0;  // the program, among the module's items
  Linked linked;         // that program, with its source for --lines
  Grid grid;
  std::vector<Bytes> contents;  // per buffer of the program; nothing for workgroup memory
  RunOptions options;

  const Program& program() const { return linked.program(); }
  std::vector<HostBuffer> host_buffers() const;
};

// All that is wrong with the arguments, or a launch that has been checked.
Result<Request> read_request(const Invocation& invocation, const Console& console);

// How many there are on the whole grid.
Wide invocations_of(const Request& request);

// The read_write buffer of that name, or why there is none.
Result<BufferId> find_output(const Program& program, std::string_view name);

// The contents of a program's read_write buffers, after a run on this memory.
Outputs take_outputs(const Program& program, std::vector<Bytes> contents);

// As the interpreter takes buffers; `contents` stay where they are.
std::vector<Memory> memory_of(std::vector<Bytes>& contents);

}  // namespace vyre
