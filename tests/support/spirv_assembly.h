// Shaders that are written by hand, in SPIR-V's assembly, for tests of the device alone: what it
// runs here is what vyre/backends/shader.h says, and nothing that an emitter made of it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace vyre {

// The words of a module, by the assembler of SPIRV-Tools; empty where there is none.
inline std::vector<std::uint32_t> assemble_spirv(const std::string& text) {
  const std::string path = ::testing::TempDir() + "vyre_" + std::to_string(getpid()) + ".spv";
  std::ofstream(path + "asm") << text;
  const std::string command =
      "spirv-as --target-env spv1.3 -o " + path + " " + path + "asm > /dev/null 2>&1";
  std::vector<std::uint32_t> words;
  if (std::system(command.c_str()) == 0) {
    const std::string bytes = read_file(path);
    words.resize(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
  }
  std::filesystem::remove(path);
  std::filesystem::remove(path + "asm");
  return words;
}

// A shader with so many buffers of words, b0 and so on, and with tables where asked for. `body` is
// for invocations below the length of the last buffer and may use:
//   %uint, %pointer             the type of words, and of pointers to those in buffers
//   %u0, %u1, at least to %u7   numbers
//   %x, %y, %z                  the workgroup's number in the dispatch
//   %i                          the invocation's number along x
//   %n0, %n1 and so on          the lengths of the buffers
//   %b0, %b1 and so on, %table  the variables
//   %done                       the label to go to in the end
inline std::string spirv_shader(std::size_t buffers, const std::string& body, std::uint32_t size,
                                bool has_table = false) {
  const auto number = [](std::size_t i) { return std::to_string(i); };
  std::string text = R"(OpCapability Shader
OpExtension "SPV_KHR_storage_buffer_storage_class"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %group %local
OpExecutionMode %main LocalSize )" +
                     number(size) + R"( 1 1
OpDecorate %group BuiltIn WorkgroupId
OpDecorate %local BuiltIn LocalInvocationId
OpDecorate %Parameters Block
OpDecorate %parameters DescriptorSet 0
OpDecorate %parameters Binding 0
OpDecorate %Words ArrayStride 4
OpDecorate %Buffer Block
OpMemberDecorate %Buffer 0 Offset 0
)";
  for (std::size_t i = 0; i < 6 + buffers; ++i) {
    text += "OpMemberDecorate %Parameters " + number(i) + " Offset " + number(4 * i) + "\n";
  }
  std::vector<std::pair<std::string, std::size_t>> variables;
  if (has_table) variables.emplace_back("%table", 1);
  for (std::size_t i = 0; i < buffers; ++i) variables.emplace_back("%b" + number(i), 2 + i);
  for (const auto& [name, binding] : variables) {
    text += "OpDecorate " + name + " DescriptorSet 0\n";
    text += "OpDecorate " + name + " Binding " + number(binding) + "\n";
  }
  text += R"(%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%vector = OpTypeVector %uint 3
%input = OpTypePointer Input %vector
%group = OpVariable %input Input
%local = OpVariable %input Input
%size = OpConstant %uint )" +
          number(size) + "\n";
  for (std::size_t i = 0; i < 8 + buffers; ++i) {
    text += "%u" + number(i) + " = OpConstant %uint " + number(i) + "\n";
  }
  text += "%Parameters = OpTypeStruct";
  for (std::size_t i = 0; i < 6 + buffers; ++i) text += " %uint";
  text += R"(
%Uniform = OpTypePointer Uniform %Parameters
%word = OpTypePointer Uniform %uint
%parameters = OpVariable %Uniform Uniform
%Words = OpTypeRuntimeArray %uint
%Buffer = OpTypeStruct %Words
%Storage = OpTypePointer StorageBuffer %Buffer
%pointer = OpTypePointer StorageBuffer %uint
)";
  for (const auto& [name, binding] : variables) {
    text += name + " = OpVariable %Storage StorageBuffer\n";
  }
  text += R"(%main = OpFunction %void None %function
%begin = OpLabel
%groups = OpLoad %vector %group
%locals = OpLoad %vector %local
)";
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string axis(1, "xyz"[i]);
    text += "%first_" + axis + "_at = OpAccessChain %word %parameters %u" + number(i) + "\n";
    text += "%first_" + axis + " = OpLoad %uint %first_" + axis + "_at\n";
    text += "%group_" + axis + " = OpCompositeExtract %uint %groups " + number(i) + "\n";
    text += "%" + axis + " = OpIAdd %uint %first_" + axis + " %group_" + axis + "\n";
  }
  for (std::size_t i = 0; i < buffers; ++i) {
    const std::string n = "%n" + number(i);
    text += n + "_at = OpAccessChain %word %parameters %u" + number(6 + i) + "\n" + n +
            " = OpLoad %uint " + n + "_at\n";
  }
  return text + R"(%before = OpIMul %uint %x %size
%within = OpCompositeExtract %uint %locals 0
%i = OpIAdd %uint %before %within
%is_inside = OpULessThan %bool %i %n)" +
         number(buffers - 1) + R"(
OpSelectionMerge %done None
OpBranchConditional %is_inside %inside %done
%inside = OpLabel
)" + body +
         R"(OpBranch %done
%done = OpLabel
OpReturn
OpFunctionEnd
)";
}

}  // namespace vyre
