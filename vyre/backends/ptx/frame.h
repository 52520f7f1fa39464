// How a kernel is called, and what it finds when it begins: its parameters, the ids of a thread and
// its memory, in registers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/ptx/ops.h"

namespace vyre {

// Where a buffer is. All but the GPU's memory has addresses of 32 bits.
enum class PtxSpace : std::uint8_t { Global, Shared, Local, Const };

struct PtxFrame {
  struct Memory {
    PtxSpace space = PtxSpace::Global;
    PtxOperand address;  // where it begins; of workgroup memory, where all of that does
    PtxOperand length;
    bool is_used = false;
    bool needs_length = false;
    std::int64_t at = 0;  // bytes from there
  };
  std::vector<Memory> memory;   // by buffer
  PtxOperand shared;            // where workgroup memory begins
  std::int64_t scratch_at = 0;  // bytes from there to what collectives use
  std::array<PtxOperand, 3> invocation;
  std::array<PtxOperand, 3> workgroup;
  std::array<PtxOperand, 3> local;
  std::vector<PtxOperand> words;   // of the launch's uniform
  std::array<PtxOperand, 3> grid;  // workgroups of the dispatch

  // Writes the instructions that a kernel begins with.
  PtxFrame(PtxCode& code, const Lowered& lowered, std::string_view entry);
  // The kernel, once all of its instructions are written.
  PtxKernel kernel() const;

 private:
  bool counts_workgroups() const;  // whether the program asks how many the dispatch has
  void find_memory();
  void put_parameters();
  void put_ids();
  void put_shared();
  void put_arrays();
  void put_tables();
  std::string symbol(std::string_view what, std::size_t buffer) const;

  PtxCode& code_;
  const Lowered& lowered_;
  const Program& program_;
  std::string entry_;
  std::string parameters_;
  bool has_table_ = false;
  std::uint32_t shared_bytes_ = 0;
  std::string arrays_;  // declarations in the kernel
  std::string tables_;  // and before it
};

}  // namespace vyre
