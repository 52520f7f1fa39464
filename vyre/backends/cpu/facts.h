// What is known of a program before any of its code is written: tables beside the program, which
// never change and know nothing of LLVM.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "vyre/backends/cpu/emit.h"
#include "vyre/backends/cpu/pieces.h"
#include "vyre/backends/cpu/records.h"
#include "vyre/ir/typing.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/regroup.h"

namespace vyre {

// How the invocations of a workgroup are dealt to gangs.
struct GangLayout {
  bool in_rows = true;  // a gang has invocations of one row only
  std::uint64_t rows = 1;
  std::uint64_t row_invocations = 1;
  std::uint64_t row_gangs = 1;
  std::uint64_t gangs = 1;  // of the workgroup
};

// When the value of an index or a test can be told.
enum class Early : std::uint8_t {
  No,       // where it is evaluated
  Fixed,    // before the first statement, and it stays the same
  Counted,  // before the first statement: it grows by the same in each round of some loops
};
// Before the statements of which invocations: those of a row, or the whole workgroup. For the
// latter the number of the row is a counter, too.
enum class Extent : std::uint8_t { Row, Workgroup };

// How invocations leave a statement early.
struct Leaving {
  bool returns = false;
  bool breaks = false;  // out of a loop around it
  // Some of those that run it leave it so while others stay.
  bool some_return = false;
  bool some_break = false;
  bool some_leave_loop = false;  // a loop, by its own `break` or by `return`
};

struct LocalFacts {
  StmtId declared;
  bool crosses = false;              // barriers: each gang has its own
  bool is_shared = false;            // by several functions of a large program
  bool is_vector = false;            // its memory has a value for each lane
  bool is_one = false;               // for the whole workgroup: what a collective gave all of it
  std::vector<std::uint32_t> reads;  // the statements that mention it, in order
};

struct CpuFacts {
  using Kind = Shape::Kind;

  explicit CpuFacts(const Lowered& lowered);

  const Program& program;
  const Body& body;
  const Bounds& bounds;
  const CpuTarget target;  // with the lanes that the program runs in
  const unsigned width;
  const Shapes& shapes;
  const Types& types;
  const bool is_limited;  // there may be fewer invocations than places
  const bool is_large;    // and written in pieces
  const Records records;
  const std::vector<ExprId>& bound;            // of locals: the values that they always have
  const std::map<BufferId, AtomicOp> updated;  // buffers that are only updated
  const std::size_t given;  // buffers that the program declares; arrays and tables come after them
  GangLayout layout;
  bool has_barriers = false;
  bool returns_far = false;  // some return between barriers, and others go on to the next one
  bool can_unroll = false;   // into code for each gang
  Pieces pieces;             // of a large program
  // Of statements.
  std::vector<StmtId> owners;           // what each is directly inside of; none: at the top
  std::vector<bool> collective;         // run for the whole workgroup at once
  std::vector<std::uint32_t> segments;  // between which barriers
  std::vector<Leaving> leaving;
  std::vector<LocalFacts> locals;
  std::vector<bool> kept;  // by buffer: private memory that lives across barriers

  Kind kind(ExprId id) const {
    const Kind known = shapes[id].kind;
    return layout.in_rows || known == Kind::Uniform ? known : Kind::Irregular;
  }
  bool is_scalar(ExprId id) const { return kind(id) == Kind::Uniform || kind(id) == Kind::Row; }
  bool is_regular(ExprId id) const { return kind(id) != Kind::Irregular; }
  // Whether lanes have neighbouring elements.
  bool is_unit_row(ExprId index) const {
    return kind(index) == Kind::Linear && shapes[index].stride == 1;
  }
  DataType element(BufferId buffer) const { return program.buffers[buffer.index].element; }
  // Whether it is known to have at most 2^31 elements.
  bool is_short(BufferId buffer) const {
    const std::uint32_t count = program.buffers[buffer.index].count;
    return count != 0 && count <= 1u << 31;
  }
  BufferAccess access(BufferId buffer) const { return program.buffers[buffer.index].access; }
  bool is_private(BufferId buffer) const { return access(buffer) == BufferAccess::Private; }

  // What a store that passes the caches writes at once, at a multiple of it; 0: no store does.
  std::uint32_t streamed_bytes(BufferId buffer) const {
    const std::uint32_t row = width * stride(element(buffer));
    constexpr std::uint32_t kLeast = 16;
    return row < kLeast ? 0 : std::min<std::uint32_t>(row, target.bits / 8);
  }

  // Words that nobody writes: whichever gang loads them, they are the same.
  bool has_constant_words(BufferId buffer) const {
    return !is_written(access(buffer)) && stride(element(buffer)) == 4 &&
           element(buffer) != DataType::Bool;
  }

  StmtId owner(StmtId id) const { return owners[id.index]; }
  StmtId loop_around(StmtId id) const;
  bool is_collective(StmtId id) const { return collective[id.index]; }
  // Whether there is a statement of a kind in [begin, end).
  template <class... Kinds>
  bool has(StmtId begin, StmtId end) const {
    for (StmtId id = begin; id < end; ++id.index) {
      if ((std::holds_alternative<Kinds>(body[id]) || ...)) return true;
    }
    return false;
  }
  // Whether a statement with blocks may run for some of the invocations that arrive at it.
  bool splits(StmtId id) const;
  bool leaves(StmtId id) const { return leaving[id.index].returns || leaving[id.index].breaks; }
  // Whether some of the invocations leave a statement while others stay; or a loop itself.
  bool some_leave(StmtId id) const {
    return leaving[id.index].some_return || leaving[id.index].some_break;
  }
  bool some_leave_loop(StmtId loop) const { return leaving[loop.index].some_leave_loop; }
  // Whether a lane that is off at an assignment may want the value that the local had.
  bool must_blend(LocalId local, StmtId at) const;

  Early early(ExprId id, Extent extent = Extent::Row) const {
    return early_[static_cast<std::size_t>(extent)][id.index];
  }
  // The loops whose counters a value depends on, in their order; none: the rows.
  std::set<StmtId> counting(ExprId id, Extent extent = Extent::Row) const;
  // Whether a value that can be told early is another one in other rows and workgroups.
  bool depends_on_place(ExprId id) const;

 private:
  void find_layout();
  void find_collective();
  void number_segments(StmtId begin, StmtId end, std::uint32_t& segment);
  void find_leaving();
  void find_locals();
  std::vector<Early> find_early(Extent extent) const;
  Early early_of(ExprId id, Extent extent, const std::vector<Early>& known) const;
  void find_crossing();
  void find_kept();
  template <class Visit>
  void for_each_source(ExprId id, Visit visit) const;

  std::array<std::vector<Early>, 2> early_;
};

}  // namespace vyre
