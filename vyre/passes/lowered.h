// The last stage before code: an optimised program becomes what an emitter is given, a program in
// the shape in which its target runs it, with all that is known of it. It is computed once, here;
// an emitter analyses nothing.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/bounds.h"
#include "vyre/passes/launch.h"
#include "vyre/passes/lower.h"
#include "vyre/passes/places.h"

namespace vyre {

// What a program is lowered for. A backend states it.
struct Target {
  std::string name;           // all that code depends on besides the program: a part of its key
  Capabilities capabilities;  // what it lacks is replaced
  std::function<Shaped(const Program&)> shape = {};  // how it runs programs; none: as they are
  bool zeroed_memory = true;  // workgroup memory begins as zeros; otherwise they are written
  std::uint32_t longest = 0;  // about how many expressions a statement may have; 0: any number
  bool has_lines = false;     // code mentions the lines of the source
  std::any machine = {};      // what the backend knows of it, for its emitter
};

struct Lowered {
  Program program;
  LaunchShape launch;
  std::uint64_t scratch = 0;  // bytes of its workgroup memory that collectives take
  Bounds bounds;
  std::vector<Assumption> assumptions;  // of the dispatch; none: it is right for every one
  Types types;
  Shapes shapes;               // how values change from one invocation to the next
  Places places;               // of the accesses, in the order of the bounds
  std::vector<bool> products;  // by expression: of u32, of which both halves are wanted
  struct Local {
    bool is_assigned = false;  // after it was declared
    bool is_test = true;       // a u32 that only ever holds what comparisons give
  };
  std::vector<Local> locals;
  std::vector<std::uint32_t> lines;  // by statement: where it comes from, or 0; none: not known
  std::any machine;                  // of the target

  bool fits(const DispatchFacts& facts) const;
  // How many accesses of an invocation are compared with a length.
  std::size_t checked() const { return (bounds.checked() + launch.copies - 1) / launch.copies; }
};

// B002 where a program takes more workgroup memory than a device has; `scratch` of it is for
// collectives.
std::optional<Diagnostic> refuse_memory(const std::string& program, std::uint64_t bytes,
                                        std::uint64_t scratch, std::string_view device,
                                        std::uint64_t most);

// An optimised program without calls, right for every dispatch. `source` is what it was made from.
Lowered lower(const Program& program, const Target& target, const Linked* source = nullptr);

// Right for a dispatch of which the facts are true, and others like it. Where the order of lengths
// proves all that the facts can prove, that is all it assumes; otherwise grid, lengths and uniforms
// are put into the program, and it is optimised again.
Lowered lower(const Program& program, const Target& target, const DispatchFacts& facts,
              const Linked* source = nullptr);

}  // namespace vyre
