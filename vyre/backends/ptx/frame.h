// How a kernel is called, and what it finds when it begins: its parameters, the ids of a thread and
// workgroup memory, in registers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/ptx/ops.h"

namespace vyre {

struct PtxFrame {
  struct Memory {
    PtxOperand address;  // of a buffer in the GPU's memory
    PtxOperand length;
    bool is_used = false;
    bool needs_length = false;
    std::int64_t shared_at = 0;  // of workgroup memory: bytes from where that begins
  };
  std::vector<Memory> memory;  // by buffer
  PtxOperand shared;           // where workgroup memory begins
  std::array<PtxOperand, 3> invocation;
  std::array<PtxOperand, 3> workgroup;
  std::array<PtxOperand, 3> local;
  std::vector<PtxOperand> words;  // of the launch's uniform
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

  PtxCode& code_;
  const Lowered& lowered_;
  const Program& program_;
  std::string entry_;
  std::string parameters_;
  bool has_table_ = false;
  std::uint32_t shared_bytes_ = 0;
};

}  // namespace vyre
