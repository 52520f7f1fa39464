// Writes the kernel of a program: its functions, the loop over workgroups, and what all invocations
// of a workgroup do together. row_writer.h and gang_writer.h write what is inside.
#pragma once

#include <utility>

#include "vyre/backends/cpu/row_writer.h"

namespace vyre {

class KernelWriter {
 public:
  using Value = Ir::Value;

  KernelWriter(const llvm::Api& api, const CpuFacts& facts)
      : facts_(facts), ir_(api, facts.width, facts.program.name.c_str()) {}

  void write();
  Ir& ir() { return ir_; }
  // That a thread needs.
  std::uint64_t scratch_bytes() const { return frame_.scratch_bytes; }
  // What the code takes of the stack, at most; known when it is compiled.
  std::uint64_t stack_bytes() const;

 private:
  // How all invocations leave a function early.
  enum Leave : std::uint32_t { kStay, kBreak, kReturn };

  // The functions.
  void write_small();
  void write_large();
  std::vector<Ir::Type> parameters();
  Value declare_kernel();
  void enter_kernel();
  // Calls visit(slot, declaration) for each buffer of workgroup memory.
  template <class Visit>
  void for_each_in_workgroup(Visit visit);
  void make_workgroup_memory();
  void make_private_memory();
  void make_copies();
  template <class Visit>
  void for_each_copied(const BufferSlot& buffer, Visit visit);
  void join_copies();

  // A workgroup.
  void write_groups(Value begin, Value end);
  void write_group();
  void clear_memory();
  std::pair<FastRow, Value> find_all_unchecked();

  // Statements that run for the whole workgroup, and between them those that gangs run.
  void write_region(StmtId begin, StmtId end);
  void write_branch(StmtId id, const If& branch);
  void write_loop(StmtId id, const For& loop);
  void call_piece(std::uint32_t number);
  void leave(Leave how);

  const CpuFacts& facts_;
  const Body& body_ = facts_.body;
  Ir ir_;
  Ops ops_{ir_, facts_.target};
  Moves moves_{ir_, facts_.target};
  Frame frame_{ir_, facts_};
  LongOps long_ops_{frame_, ops_, moves_};
  GangWriter gang_{frame_, ops_, moves_, long_ops_};
  RowWriter rows_{frame_, gang_};
  std::pair<std::uint64_t, std::uint64_t> workgroup_memory_;  // of a large program: where, its size
  const FastRow* whole_ = nullptr;  // where gangs have code of their own: what is known
  Ir::Block group_end_ = nullptr;
};

}  // namespace vyre
