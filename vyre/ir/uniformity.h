// Which values are the same in a whole workgroup, and which statements all of its invocations run
// together: a table beside the body. The validator needs it for barriers, backends for what they
// keep once per workgroup.
//
// Not being uniform spreads along edges: from operands to expressions, from values to locals, from
// conditions to the control flow under them, from control flow to the locals assigned in it. So the
// answer is what can be reached from the sources of divergence (ids of invocations, loads from
// memory that others write, results of atomics) in a graph whose nodes are expressions, locals and
// stretches of control flow. That is linear, needs no iteration, and does not depend on the
// workgroup size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

struct Uniformity {
  static constexpr std::uint32_t kUniform = 0xffffffff;

  // The nodes are the expressions, then the locals and buffers, whose contents matter where each
  // invocation has its own, then the stretches of control flow. By node:
  // the one that made it divergent, on a shortest way from a source; itself for a source; or
  // kUniform.
  std::vector<std::uint32_t> causes;
  std::uint32_t first_local = 0;
  std::uint32_t first_flow = 0;
  std::vector<std::uint32_t> flows;   // by statement: the node of the stretch that it stands in
  std::vector<std::uint32_t> owners;  // by stretch: the statement that it begins in or after

  // All invocations of a workgroup that evaluate it have the same value.
  bool operator[](ExprId id) const { return causes[id.index] == kUniform; }
  bool operator[](LocalId id) const { return causes[first_local + id.index] == kUniform; }
  // All invocations of a workgroup run it, or none does. Of a compound statement: they arrive at
  // it; what is inside is for its own statements to say.
  bool operator[](StmtId id) const { return causes[flows[id.index]] == kUniform; }
};

// Whether invocations write it: two that load the same element need not get the same value.
inline bool is_written(BufferAccess access) {
  return access == BufferAccess::ReadWrite || access == BufferAccess::Workgroup ||
         access == BufferAccess::Private;
}

// Of a program's body. Names in it may be unresolved; everything else is in order.
Uniformity uniformity_of(const Body& body, std::span<const BufferDecl> buffers);

// Why a statement is not uniform: where control flow diverges, and the value that makes it do so.
struct Divergence {
  StmtId branch;  // an `if` or a `for`
  ExprId source;  // none when the source is the result of an atomic
  LocalId result;
};
Divergence divergence_of(const Uniformity& uniformity, StmtId stmt);

}  // namespace vyre
