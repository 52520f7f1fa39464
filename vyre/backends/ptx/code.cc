#include "vyre/backends/ptx/code.h"

#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

struct Memory {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<PtxProgram>> programs;  // by digest
};
Memory& memory() {
  static Memory& all = *new Memory;
  return all;
}
constexpr std::size_t kMaxKept = 256;

}  // namespace

Result<const PtxKernel*> PtxProgram::kernel_of(const Variant& variant) {
  const std::lock_guard lock(mutex_);
  auto known = kernels_.find(&variant);
  if (known == kernels_.end()) {
    known = kernels_
                .emplace(&variant, emit_ptx(variant.program, variant.bounds, {},
                                            ptx_lines(variant.program, program_, source_.lines)))
                .first;
    if (known->second) known->second->file = source_.file;
  }
  if (!known->second) return known->second.diagnostics();
  return &*known->second;
}

Result<std::shared_ptr<PtxProgram>> ptx_program(const Linked& linked) {
  const Result<Program> inlined = inline_calls(linked);
  if (!inlined) return inlined.diagnostics();
  std::string key = digest(*inlined);
  key += linked.source.file;
  for (const std::uint32_t line : linked.source.lines) key += " " + std::to_string(line);
  {
    const std::lock_guard lock(memory().mutex);
    const auto known = memory().programs.find(key);
    if (known != memory().programs.end()) return known->second;
  }
  const Result<Program> program = optimise(linked);
  if (!program) return program.diagnostics();
  auto made = std::make_shared<PtxProgram>(linked, *program);
  const std::lock_guard lock(memory().mutex);
  if (memory().programs.size() >= kMaxKept) memory().programs.clear();
  return memory().programs.emplace(key, std::move(made)).first->second;
}

std::string ptx_module(const PtxKernel& kernel) {
  return ptx_header(kernel.file) + "\n" + kernel.text;
}

}  // namespace vyre
