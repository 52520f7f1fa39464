#include "vyre/backends/cpu/kernel_writer.h"

#include <algorithm>

#include "vyre/ir/walk.h"

namespace vyre {
namespace {

using llvm::Compare;
using Value = Ir::Value;

// A thread has its own copy of buffers of up to so many elements.
constexpr std::uint64_t kMaxCopied = 2048;
// What a call of memset() or a division may take of the stack, and a call itself.
constexpr std::uint64_t kOutside = 1024;
constexpr std::uint64_t kOfACall = 64;
// Up to which size of the stack arrays are there.
constexpr std::uint64_t kMaxArrays = std::uint64_t{16} << 10;

std::uint64_t bytes_of(const BufferDecl& buffer) {
  return std::uint64_t{buffer.count} * stride(buffer.element);
}

}  // namespace

// --- Functions

void KernelWriter::write() { facts_.is_large ? write_large() : write_small(); }

std::vector<Ir::Type> KernelWriter::parameters() {
  return {ir_.pointer(), ir_.i64, ir_.i64, ir_.pointer()};
}

Value KernelWriter::declare_kernel() { return frame_.declare("vyre_kernel", parameters(), true); }

void KernelWriter::enter_kernel() {
  frame_.arguments = ir_.parameter(0);
  frame_.scratch = ir_.parameter(3);
  frame_.load_arguments();
}

// One function that has the parameters of the kernel, and each buffer, as they do not overlap; and
// the kernel, which calls it.
void KernelWriter::write_small() {
  const auto count = static_cast<unsigned>(facts_.given);
  frame_.make_buffers();
  std::vector<Ir::Type> types = parameters();
  types.resize(4 + count, ir_.pointer());
  const Value inner = frame_.declare("workgroups", types);
  ir_.attribute(inner, Ir::kFunction, "noinline");
  // Parameters are numbered from 1 here.
  ir_.attribute(inner, 1, "noalias");
  for (unsigned i = 4; i <= types.size(); ++i) ir_.attribute(inner, i, "noalias");
  const auto enter = [&] {
    enter_kernel();
    for (unsigned i = 0; i < count; ++i) {
      frame_.buffers[i].address = ir_.parameter(4 + i);
      frame_.buffers[i].length = ir_.load(ir_.i64, frame_.argument(2 * i + 1));
    }
  };
  ir_.define(inner, enter, [&] {
    make_workgroup_memory();
    make_private_memory();
    make_copies();
    write_groups(ir_.parameter(1), ir_.parameter(2));
    join_copies();
    if (facts_.target.triple.starts_with("x86_64")) {
      ir_.call("llvm.x86.sse.sfence", {}, {});
    }
  });
  const auto call = [&] {
    frame_.arguments = ir_.parameter(0);
    std::vector<Value> passed;
    for (unsigned i = 0; i < 4; ++i) passed.push_back(ir_.parameter(i));
    for (unsigned i = 0; i < count; ++i) {
      passed.push_back(ir_.load(ir_.pointer(), frame_.argument(2 * i)));
    }
    ir_.call_function(inner, passed);
  };
  ir_.define(declare_kernel(), [] {}, call);
}

// A function for each piece of the program and for each long operation, which get the memory of the
// thread, where everything is that several of them use. There is one version of the code, with
// every check.
void KernelWriter::write_large() {
  frame_.make_buffers();
  frame_.scratch_bytes = frame_.vector_at(Frame::kMask + 1);
  long_ops_.reserve_memory();
  workgroup_memory_.first = frame_.reserve(0);
  for_each_in_workgroup([&](BufferSlot& buffer, const BufferDecl& declared) {
    buffer.offset = frame_.reserve(bytes_of(declared));
  });
  workgroup_memory_.second = frame_.scratch_bytes - workgroup_memory_.first;
  make_private_memory();
  gang_.share_locals();
  const auto enter = [&] {
    enter_kernel();
    ir_.store(frame_.arguments, frame_.at(Frame::kArguments));
  };
  ir_.define(declare_kernel(), enter, [&] { write_groups(ir_.parameter(1), ir_.parameter(2)); });
  while (const std::optional<GangWriter::WaitingPiece> waiting = gang_.next_piece()) {
    const Piece& piece = facts_.pieces.all[waiting->piece];
    ir_.define(
        waiting->function, [&] { gang_.enter_piece(*waiting); },
        [&] {
          piece.is_collective ? write_region(piece.begin, piece.end) : gang_.write_piece(piece);
        });
  }
  long_ops_.write_functions();
}

std::uint64_t KernelWriter::stack_bytes() const {
  const std::map<std::string, std::uint64_t>& frames = ir_.frames();
  const auto frame_of = [&](const std::string& name) {
    const auto found = frames.find(name);
    return kOfACall + (found == frames.end() ? 0 : found->second);
  };
  if (!facts_.is_large) return frame_of("vyre_kernel") + frame_of("workgroups") + kOutside;
  std::uint64_t longest = 0;
  for (const auto& [name, function] : long_ops_.functions()) {
    longest = std::max(longest, frame_of(name));
  }
  // Those that are called come after those that call.
  const std::vector<Piece>& pieces = facts_.pieces.all;
  std::vector<std::uint64_t> inside(pieces.size());
  for (std::size_t i = pieces.size(); i-- > 1;) {
    std::uint64_t& outer = inside[pieces[i].parent];
    outer = std::max(outer, inside[i] + frame_of("piece" + std::to_string(i)));
  }
  return frame_of("vyre_kernel") + inside[0] + longest + kOutside;
}

// --- Memory

template <class Visit>
void KernelWriter::for_each_in_workgroup(Visit visit) {
  for (std::size_t i = 0; i < frame_.buffers.size(); ++i) {
    const BufferDecl& declared = facts_.program.buffers[i];
    if (declared.access == BufferAccess::Workgroup) visit(frame_.buffers[i], declared);
  }
}

// Of gangs with code of their own, on the stack: LLVM sees that nobody else looks at it.
void KernelWriter::make_workgroup_memory() {
  for_each_in_workgroup([&](BufferSlot& buffer, const BufferDecl& declared) {
    const std::uint64_t bytes = bytes_of(declared);
    buffer.length = ir_.wide(declared.count);
    buffer.is_local = facts_.can_unroll && frame_.take_stack(2 * bytes, Frame::kMaxStackBytes / 2);
    if (!buffer.is_local) buffer.address = frame_.at(frame_.reserve(bytes));
  });
}

// A vector for each part of each element, one after the other: of one gang, which the next one
// takes over, or of every gang of the workgroup. And what is known of tables.
void KernelWriter::make_private_memory() {
  for (std::size_t i = facts_.given; i < frame_.buffers.size(); ++i) {
    const BufferDecl& declared = facts_.program.buffers[i];
    BufferSlot& buffer = frame_.buffers[i];
    if (!facts_.is_large) buffer.length = ir_.wide(declared.count);
    if (declared.access == BufferAccess::Private) {
      const std::uint64_t gangs = facts_.kept[i] ? facts_.layout.gangs : 1;
      const std::uint64_t vectors = gangs * declared.count * part_count(declared.element);
      const Ir::Type vector = ir_.vector(moves_.part_type(declared.element));
      const std::uint64_t bytes = vectors * facts_.width * (part_bits(declared.element) / 8);
      const bool is_shared = facts_.is_large || !frame_.take_stack(bytes, kMaxArrays);
      buffer.own =
          frame_.make_slot(ir_.array(vector, vectors), bytes, declared.name.c_str(), is_shared);
      if (!facts_.is_large) buffer.address = frame_.address(buffer.own);
    } else if (!facts_.is_large) {
      buffer.address = buffer.table;
    }
  }
}

// Writes visit(i) for each element i of a buffer that has a copy.
template <class Visit>
void KernelWriter::for_each_copied(const BufferSlot& buffer, Visit visit) {
  ir_.only_if(buffer.has_copy, "copied", "not.copied",
              [&] { ir_.loop("copy", ir_.wide(0), buffer.length, visit); });
}

// Of a small buffer that is only updated each thread has a copy of its own, which joins the buffer
// at the end.
void KernelWriter::make_copies() {
  for (const auto& [id, op] : facts_.updated) {
    BufferSlot& buffer = frame_.buffers[id.index];
    buffer.copy = frame_.at(frame_.reserve(kMaxCopied * 4));
    buffer.has_copy = buffer.length <= kMaxCopied;
    const Value none = ir_.word(neutral(op, facts_.element(id)));
    for_each_copied(buffer, [&](Value i) { ir_.store(none, ir_.at(ir_.i32, buffer.copy, i), 4); });
  }
}

void KernelWriter::join_copies() {
  for (const auto& [id, op] : facts_.updated) {
    const BufferSlot& buffer = frame_.buffers[id.index];
    const DataType element = facts_.element(id);
    for_each_copied(buffer, [&](Value i) {
      const Value own = ir_.load(ir_.i32, ir_.at(ir_.i32, buffer.copy, i), 4);
      const Value changes = ir_.compare(Compare::Ne, own, neutral(op, element));
      ir_.only_if(changes, "changed", "next", [&] {
        gang_.update(op, element, false, ir_.at(ir_.i32, buffer.address, i), nullptr, own);
      });
    });
  }
}

// Workgroup memory begins as zeros. Each version of the code has its own on the stack: LLVM drops
// memory of which all is in registers, unless other code reads it.
void KernelWriter::clear_memory() {
  const auto clear = [&](Value from, std::uint64_t bytes) {
    ir_.call("llvm.memset", {ir_.pointer(), ir_.i64},
             {from, ir_.number(ir_.i8, 0), ir_.wide(bytes), ir_.zero(ir_.boolean)});
  };
  if (facts_.is_large) return clear(frame_.at(workgroup_memory_.first), workgroup_memory_.second);
  for_each_in_workgroup([&](BufferSlot& buffer, const BufferDecl& declared) {
    const std::uint64_t bytes = bytes_of(declared);
    if (buffer.is_local) {
      const Ir::Type line = ir_.vector(ir_.i32, Frame::kLine / 4);
      const std::uint64_t lines = (bytes + Frame::kLine - 1) / Frame::kLine;
      buffer.address = ir_.local(ir_.array(line, lines), declared.name.c_str());
    }
    clear(buffer.address, bytes);
  });
}

// --- Workgroups

// Those with the numbers [begin, end), x running fastest.
void KernelWriter::write_groups(Value begin, Value end) {
  const Value rows = begin / frame_.groups[0];
  const std::array<Value, 3> first = {begin % frame_.groups[0], rows % frame_.groups[1],
                                      rows / frame_.groups[1]};
  std::array<Value, 3> at{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at[axis] = ir_.variable("group", first[axis]);
  }
  ir_.loop("groups", begin, end, [&](Value) {
    std::array<Value, 3> now{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      now[axis] = ir_.load(ir_.i64, at[axis]);
      frame_.group[axis] = ir_.trunc(now[axis], 32);
      if (facts_.is_large) ir_.store(frame_.group[axis], frame_.at(Frame::kGroup + 4 * axis));
    }
    write_group();
    Value carry = ir_.ones(ir_.boolean);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const Value next = now[axis] + ir_.zext(carry, 64);
      const Value over = ir_.equal(next, frame_.groups[axis]);
      ir_.store(axis == 2 ? next : ir_.select(over, ir_.wide(0), next), at[axis]);
      carry = carry & over;
    }
  });
}

void KernelWriter::write_group() {
  group_end_ = ir_.block("group.end");
  gang_.reset_alive();
  const auto write_all = [&] {
    clear_memory();
    write_region(StmtId{0u}, StmtId{body_.stmts.size()});
    ir_.jump(group_end_);
  };
  // All of the workgroup without checks and with code for each gang, or all of it otherwise.
  const auto write_version = [&](Ir::Block block, const FastRow* whole) {
    ir_.go_on(block);
    whole_ = whole;
    gang_.forget_rows();
    gang_.forget_locals();
    write_all();
  };
  if (facts_.can_unroll) {
    const Ir::Block yes = ir_.block("fast");
    const Ir::Block no = ir_.block("slow");
    const auto [whole, is_unchecked] = find_all_unchecked();
    ir_.branch(is_unchecked, yes, no);
    write_version(yes, &whole);
    write_version(no, nullptr);
  } else {
    write_all();
  }
  ir_.go_on(group_end_);
}

// What is known where no invocation of the workgroup needs a check anywhere, and whether that is
// so.
std::pair<FastRow, Value> KernelWriter::find_all_unchecked() {
  const Value count = ir_.wide(facts_.layout.row_invocations);
  gang_.begin_row(ir_.wide(0));
  RowSpan lanes{ir_.wide(0), count};
  FastRow whole = find_unchecked(frame_, gang_, StmtId{0u}, StmtId{body_.stmts.size()},
                                 Extent::Workgroup, lanes);
  const Value begins = ir_.equal(lanes.from, 0);
  const Value all = begins & ir_.equal(lanes.to, count);
  // What was told of the first row is not true of others.
  whole.starts.clear();
  whole.slid.clear();
  whole.slides.clear();
  if (facts_.layout.rows > 1) whole.streamed.clear();
  return {std::move(whole), all};
}

// --- Statements of the whole workgroup

void KernelWriter::write_region(StmtId begin, StmtId end) {
  StmtId first = begin;
  const auto flush = [&](StmtId to) {
    if (first < to && !ir_.is_closed()) rows_.write(first, to, whole_);
  };
  for (StmtId id = begin, after; id < end; id = after) {
    const std::optional<std::uint32_t> piece = gang_.piece_at(id, true);
    after = piece ? facts_.pieces.all[*piece].end : next(body_, id);
    if (!piece && !facts_.is_collective(id)) continue;
    const bool combines = !piece && std::holds_alternative<Collective>(body_[id]);
    if (!combines || facts_.is_large) {
      flush(id);
      first = id;
    }
    if (combines && !ir_.is_closed()) {
      gang_.begin_collective(id);
      flush(after);
      gang_.end_collective(id);
    }
    first = after;
    if (ir_.is_closed()) return;
    if (piece) {
      call_piece(*piece);
      continue;
    }
    gang_.begin_statement(id);
    visit(
        body_[id], [&](const If& branch) { write_branch(id, branch); },
        [&](const For& loop) { write_loop(id, loop); },
        [&](const Block& block) {
          gang_.forget_rows();
          write_region(StmtId{id.index + 1}, block.end);
          gang_.forget_rows();
        },
        [&](const Break&) { leave(kBreak); }, [&](const Return&) { leave(kReturn); },
        Nothing<Barrier, Let, Assign, Store, Atomic, Collective, SetElement, Continue>());
  }
  flush(end);
}

void KernelWriter::write_branch(StmtId id, const If& branch) {
  const auto write_block = [&](StmtId begin, StmtId end) {
    gang_.forget_rows();
    write_region(begin, end);
  };
  ir_.if_else(
      gang_.test(branch.condition), {"then", "else", "end"},
      [&] { write_block(StmtId{id.index + 1}, branch.else_begin); },
      [&] { write_block(branch.else_begin, branch.end); });
  gang_.forget_rows();
}

void KernelWriter::write_loop(StmtId id, const For& loop) {
  gang_.forget_rows();
  const Value from = gang_.word(loop.from);
  const Value to = gang_.word(loop.to);
  GangWriter::Loop open{id, ir_.block("loop.end"), {}, nullptr, frame_.piece};
  gang_.write_loop(
      open, loop, from, [&](Value now) { return now < to; },
      [&] { write_region(StmtId{id.index + 1}, loop.end); });
  gang_.forget_rows();
}

// All invocations of the workgroup leave a loop or the program.
void KernelWriter::leave(Leave how) {
  const auto& loops = gang_.loops();
  if (how == kBreak && loops.back().function == frame_.piece) return ir_.jump(loops.back().exit);
  if (how == kReturn && frame_.piece == 0) return ir_.jump(group_end_);
  ir_.store(ir_.word(how), frame_.at(Frame::kLeaving));
  ir_.leave();
}

void KernelWriter::call_piece(std::uint32_t number) {
  const Piece& piece = facts_.pieces.all[number];
  bool may_leave = false;
  for (StmtId id = piece.begin; id < piece.end; ++id.index) {
    may_leave = may_leave ||
                (facts_.is_collective(id) && facts_.has<Break, Return>(id, StmtId{id.index + 1}));
  }
  if (may_leave) ir_.store(ir_.word(kStay), frame_.at(Frame::kLeaving));
  gang_.call_piece(number);
  if (!may_leave) return;
  const Value how = ir_.load(ir_.i32, frame_.at(Frame::kLeaving));
  ir_.only_if(ir_.not_zero(how), "left", "on", [&] {
    const auto& loops = gang_.loops();
    if (!loops.empty() && loops.back().function == frame_.piece) {
      ir_.only_if(ir_.equal(how, ir_.word(kBreak)), "broken", "returned", [&] {
        ir_.store(ir_.word(kStay), frame_.at(Frame::kLeaving));
        ir_.jump(loops.back().exit);
      });
    }
    // It goes on to leave the function that has the loop, or the workgroup.
    frame_.piece == 0 ? ir_.jump(group_end_) : ir_.leave();
  });
}

}  // namespace vyre
