// Machine code of programs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "vyre/backends/backend.h"
#include "vyre/backends/cpu/emit.h"
#include "vyre/backends/cpu/object.h"
#include "vyre/ir/program.h"

namespace vyre {

// All that running a program takes.
struct CpuProgram : EmittedCode, CpuCode {
  explicit CpuProgram(CpuCode code) : CpuCode(std::move(code)) {}

  std::string pack() const override;
  // In memory, ready to be called; null where that fails, for the reason given. Any object is
  // loaded once.
  std::shared_ptr<const LoadedCode> load(std::string& reason) const;

 private:
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const LoadedCode> loaded_;
};

// What pack() gave; null where the bytes are something else.
std::shared_ptr<const EmittedCode> unpack_cpu(std::string_view bytes);

extern const Emitter kCpuEmitter;

// What LLVM is given and makes, for people.
Result<std::string> show_cpu(const Lowered& lowered, CpuText what);

}  // namespace vyre
