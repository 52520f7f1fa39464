// How a program that shape passes have changed is launched. Such a program does the work of several
// workgroups of the program that it was made from in each of its own, so it is dispatched with a
// smaller grid; what it cannot know from that, where the work ends, it reads from a uniform buffer
// of its own, the last one that a host binds.
//
// A program with its launch gives the bytes of the program that it was made from. Everything that
// runs programs can run it: bind `words()`, dispatch `grid()`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "vyre/ir/program.h"

namespace vyre {

struct LaunchShape {
  // A word of the uniform. With `last` the highest invocation id of the dispatch on an axis: `last`
  // itself where the distance is 0; otherwise i < word says that i + distance <= last.
  struct Limit {
    std::uint32_t axis = 0;
    std::uint32_t distance = 0;
    friend bool operator==(const Limit&, const Limit&) = default;
  };

  std::array<std::uint32_t, 3> size{1, 1, 1};    // of the workgroups that the dispatch counts
  std::array<std::uint32_t, 3> groups{1, 1, 1};  // of those in each workgroup, on each axis
  std::uint32_t copies = 1;                      // invocations that each runs at once
  std::uint32_t steps = 1;                       // and how often it does that
  std::vector<Limit> limits;
  BufferId uniform;  // with a word for each limit; none where there are no limits
  // Of shape_for_cpu(): how many invocations run side by side, and whether in vectors.
  std::uint32_t lanes = 1;
  bool in_vectors = true;
  // Also of that: the dispatcher chooses the length of workgroups along x, a multiple of the lanes,
  // and leaves out what is beyond the dispatch along x and y; grid() says nothing then.
  bool is_free = false;

  // The grid of the program, for that of a dispatch.
  std::array<std::uint64_t, 3> grid(const std::array<std::uint64_t, 3>& dispatched) const {
    std::array<std::uint64_t, 3> all{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      all[axis] = (dispatched[axis] + groups[axis] - 1) / groups[axis];
    }
    return all;
  }
  // What the uniform holds.
  std::vector<std::uint32_t> words(const std::array<std::uint64_t, 3>& dispatched) const;

  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

struct Shaped {
  Program program;
  LaunchShape launch;
};

// Of a program as it is.
LaunchShape plain_launch(const Program& program);

// What shape passes may take of a GPU. Programs that take more as they are written stay as they
// are.
struct GpuLimits {
  std::uint32_t invocations = 256;  // of a workgroup
  // Bytes of workgroup memory. The more a workgroup takes, the fewer run side by side.
  std::uint32_t memory = 24 << 10;
  bool atomics = true;      // on workgroup memory
  bool collectives = true;  // as the capability says; otherwise they take memory, too
};

// The shape passes, each in the file of its name. Nothing where it does not pay or cannot be.
std::optional<Shaped> merge(const Shaped& from, const GpuLimits& limits);
std::optional<Shaped> coarsen(const Shaped& from, const GpuLimits& limits);
std::optional<Shaped> gather(const Shaped& from, const GpuLimits& limits);

// An optimised program as GPUs run it, whatever facts of a dispatch were put into it before: a few
// rounds of long loops at a time, and the shape passes. pass.cc has the list.
Shaped shape_for_gpu(const Program& program, const GpuLimits& limits);

// An optimised program as a CPU runs it (lanes.cc). It has more lanes than a vector holds where one
// waits for itself most of the time, and registers hold all that several need; they are not in
// vectors where it mostly looks up in tables, which these are slow at. Without barriers and
// workgroup memory its workgroups are made long along x, so that they fit the lanes.
struct LaneLimits {
  std::uint32_t width = 8;       // lanes of a vector
  std::uint32_t registers = 16;  // for vectors
  bool fast_gathers = true;      // faster than a load for each lane
  bool byte_tables = false;      // of kByteTable elements are permuted in registers
};
inline constexpr std::uint32_t kByteTable = 256;
Shaped shape_for_cpu(const Program& program, const LaneLimits& limits);
inline constexpr std::uint32_t kMaxLanes = 64;  // a power of two, as all numbers of lanes are

// What the workgroup memory of a program takes.
std::uint64_t workgroup_bytes(const Program& program);

// For shape passes: the program with one more buffer, under a name that no other has, and a uniform
// for limits if it has none yet.
BufferId add_buffer(Program& program, BufferDecl buffer);
std::uint32_t add_limit(Shaped& shaped, const LaunchShape::Limit& limit);

// Whether a statement is what merge() puts first: it ends invocations that the dispatch does not
// have.
bool is_end(const Shaped& shaped, StmtId id);

}  // namespace vyre
