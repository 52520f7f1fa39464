// The CUDA driver, loaded when it is first needed. Its interface keeps its names without their
// prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vyre::cuda {

using Status = int;
using Gpu = int;
using Pointer = std::uint64_t;  // into the memory of a GPU
using Context = struct OpaqueContext*;
using Pool = struct OpaquePool*;
using Linker = struct OpaqueLinker*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Graph = struct OpaqueGraph*;
using ReadyGraph = struct OpaqueReadyGraph*;

struct Api {
#define FUNCTION(name, symbol, parameters) Status(*name) parameters = nullptr;
#include "vyre/backends/ptx/cuda.def"
  int version = 0;     // of CUDA: 12040 is 12.4
  std::string driver;  // its own version, where the system tells
  int gpus = 0;
};

// Null when it cannot be loaded, is too old or sees no GPU; then `reason` says why and what helps.
const Api* load_cuda(std::string& reason);

// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
std::string describe(const Api& api, Status status);

// The context is the calling thread's for as long as this lives.
class Entered {
 public:
  Entered(const Api& api, Context context)
      : api_(api), is_done_(api.CtxPushCurrent(context) == 0) {}
  ~Entered() {
    Context context = nullptr;
    if (is_done_) api_.CtxPopCurrent(&context);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const Api& api_;
  bool is_done_;
};

// Enumerators of the interface.
inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kStubLibrary = 34;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kNotReady = 600;
inline constexpr Status kLaunchTimeout = 702;
inline constexpr Status kDriverMismatch = 803;
// Attributes of a GPU.
inline constexpr int kMaxThreads = 1;
inline constexpr int kMaxBlockX = 2;  // and y, z
inline constexpr int kMaxGridX = 5;   // and y, z
inline constexpr int kMajor = 75;
inline constexpr int kMinor = 76;
inline constexpr int kMaxShared = 97;
inline constexpr int kHasPools = 115;
// Of a pointer, a pool and a function.
inline constexpr int kMemoryType = 2;
inline constexpr int kReleaseThreshold = 4;
inline constexpr int kRegisters = 4;
inline constexpr int kDynamicShared = 8;
// Of a linker.
inline constexpr int kErrorLog = 5;
inline constexpr int kErrorLogBytes = 6;
inline constexpr int kLineInfo = 13;
inline constexpr int kPtx = 1;
// Of streams, events, captures and launches.
inline constexpr unsigned kNonBlocking = 1;
inline constexpr unsigned kNoTiming = 2;
inline constexpr int kOfThisThread = 1;
inline void* const kParameters = reinterpret_cast<void*>(1);
inline void* const kParameterBytes = reinterpret_cast<void*>(2);

}  // namespace vyre::cuda
