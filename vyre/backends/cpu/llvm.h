// LLVM 19, loaded when it is first needed. Its C interface keeps its names without their prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vyre::llvm {

using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Type = struct OpaqueType*;
using Value = struct OpaqueValue*;
using Block = struct OpaqueBlock*;
using Metadata = struct OpaqueMetadata*;
using Builder = struct OpaqueBuilder*;
using Attribute = struct OpaqueAttribute*;
using Target = struct OpaqueTarget*;
using TargetMachine = struct OpaqueTargetMachine*;
using TargetData = struct OpaqueTargetData*;
using MemoryBuffer = struct OpaqueMemoryBuffer*;
using PassOptions = struct OpaquePassOptions*;
using Error = struct OpaqueError*;
using Diagnostic = struct OpaqueDiagnostic*;
using DiagnosticHandler = void (*)(Diagnostic, void*);
using FatalErrorHandler = void (*)(const char*);

struct Api {
#define FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
#include "vyre/backends/cpu/llvm.def"
  std::string version;
};

// Null when it cannot be loaded; then `reason` says why and what to install.
const Api* load_llvm(std::string& reason);
// Whether it seems to be here: without loading it, where that can be told.
bool finds_llvm(std::string& reason);

// Enumerators of the interface.
inline constexpr int kVectorType = 13;
enum class Compare : int { Eq = 32, Ne, Ugt, Uge, Ult, Ule, Sgt, Sge, Slt, Sle };
enum class Rmw : int { Exchange, Add, Sub, And, Nand, Or, Xor, Max, Min, UMax, UMin };
inline constexpr int kRelaxed = 2;  // orders of memory
inline constexpr int kSequential = 7;
inline constexpr int kInternal = 8;  // linkage
inline constexpr int kError = 0;     // of diagnostics
inline constexpr int kPrivate = 9;
inline constexpr int kAssembly = 0;  // files
inline constexpr int kObject = 1;
inline constexpr int kPic = 2;  // relocations

}  // namespace vyre::llvm
