// How a host calls a shader: what SPIR-V and WGSL kernels have in common.
//
// All bindings are in group (descriptor set) 0:
//   0      a uniform buffer of words, the parameters:
//            3  the number of the first workgroup of the launch on each axis
//            3  the workgroups of the dispatch on each axis
//               the words of `launch`
//               the length in elements of each buffer of `buffers`
//   1      read-only storage with the words of `tables`, if there are any
//   2 + i  storage, buffer i of `buffers`
// A binding covers whole stretches of kShaderBytes, also that of an empty buffer. The entry point
// is `main`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vyre/backends/backend.h"
#include "vyre/passes/launch.h"

namespace vyre {

inline constexpr std::uint64_t kShaderBytes = 256;
constexpr std::uint64_t whole_shader_bytes(std::uint64_t bytes) {
  return bytes == 0 ? kShaderBytes : (bytes + kShaderBytes - 1) / kShaderBytes * kShaderBytes;
}
inline constexpr std::uint32_t kShaderParameters = 0;  // bindings
inline constexpr std::uint32_t kShaderTables = 1;
inline constexpr std::uint32_t kShaderBuffers = 2;

struct ShaderBinding {
  BufferId buffer;  // of the program
  bool is_written = false;
};

struct ShaderCall {
  LaunchShape launch;
  std::array<std::uint32_t, 3> block{1, 1, 1};  // invocations of a workgroup
  std::vector<ShaderBinding> buffers;           // those that the shader uses
  std::vector<std::uint32_t> tables;
  std::uint64_t workgroup_bytes = 0;  // of memory that a workgroup shares
  std::uint64_t scratch = 0;          // and how many of those collectives take
};

// What a device that binds this many buffers has against a shader, if anything.
std::optional<Diagnostic> refused_shader(const ShaderCall& call, const std::string& program,
                                         const DeviceInfo& device, std::uint64_t most_buffers);

// The parameters of a launch that begins at workgroup 0. Of a part of one, words 0 to 2 are others.
std::vector<std::uint32_t> shader_parameters(const ShaderCall& call, const Program& program,
                                             const Launch& launch);

}  // namespace vyre
