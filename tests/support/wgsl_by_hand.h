// Kernels in WGSL that were written by hand, each with the program that it is the code of: for
// tests of what runs WGSL, whatever writes it.
#pragma once

#include <memory>
#include <string>

#include "tests/support/must.h"
#include "vyre/backends/wgsl/code.h"
#include "vyre/vyre.h"

namespace vyre {

// out[i] += a[i] + i, and the number of the workgroup; one invocation for each.
inline constexpr const char* kAdd = R"(program add workgroup(64) {
  read       a: u32[]
  read_write out: u32[]
  let y = workgroup_id.y + num_workgroups.y * workgroup_id.z
  let i = invocation_id.x + 64 * num_workgroups.x * y
  out[i] = out[i] + a[i] + i + workgroup_id.x
})";

inline constexpr const char* kAddWgsl = R"(
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(2) var<storage, read> a: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) part_id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let workgroup_id = part_id + parameters[0].xyz;
  let num_workgroups = vec3<u32>(parameters[0].w, parameters[1].xy);
  let lengths = parameters[1].zw;
  let y = workgroup_id.y + num_workgroups.y * workgroup_id.z;
  let i = 64u * workgroup_id.x + local + 64u * num_workgroups.x * y;
  if i < lengths.y {
    let added = select(0u, a[min(i, max(lengths.x, 1u) - 1u)], i < lengths.x);
    out[i] += added + i + workgroup_id.x;
  }
})";

// out[i] = the number of the workgroup, as a shape pass would make it: four workgroups of one
// invocation in each that is dispatched, of which the last may not exist.
inline constexpr const char* kNumber = R"(program number workgroup(1) {
  read_write out: u32[]
  out[workgroup_id.x] = workgroup_id.x
})";

inline constexpr const char* kNumberWgsl = R"(
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) part_id: vec3<u32>) {
  let i = part_id.x + 4u * parameters[0].x;
  let last = parameters[1].z;
  let length = parameters[1].w;
  if i <= last && i < length { out[i] = i; }
})";

// out[i] = a table at i; another table for each program.
inline constexpr const char* kLookUpWgsl = R"(
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if id.x < parameters[1].z { out[id.x] = table[id.x % 3u]; }
})";

// Runs for about a second.
inline constexpr const char* kSlowWgsl = R"(
@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, 2>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var x = id.x;
  for (var i = 0u; i < 2000000u; i++) { x = x * 1664525u + out[x % 64u]; }
  out[id.x % 64u] = x;
})";

// A program with one buffer that is written, for kernels that are known by its name.
inline std::string one_buffer(const std::string& name) {
  return "program " + name +
         " workgroup(64) {\n  read_write out: u32[]\n  out[invocation_id.x] = 1\n}";
}

inline Linked linked_of(const std::string& text) {
  const Loaded loaded = must(load_module({"test.vyre", text}));
  return program_at(loaded, 0);
}

// What the hand has written, by the name of the program.
inline Result<WgslKernel> write_by_hand(const Lowered& lowered, const SourceLines& = {}) {
  const std::string& name = lowered.program.name;
  WgslKernel kernel;
  kernel.call.launch = lowered.launch;
  kernel.call.block = lowered.program.workgroup_size;
  for (std::size_t i = 0; i < lowered.program.buffers.size(); ++i) {
    const bool is_written = lowered.program.buffers[i].access == BufferAccess::ReadWrite;
    kernel.call.buffers.push_back({BufferId(i), is_written});
  }
  if (name == "number") {
    kernel.call.launch.groups = {4, 1, 1};
    kernel.call.launch.limits = {{0, 0}};
    kernel.call.block = {4, 1, 1};
  }
  if (name == "look_up_low") kernel.call.tables = {1, 2, 3};
  if (name == "look_up_high") kernel.call.tables = {100, 200, 300};
  if (name == "add") kernel.text = kAddWgsl;
  if (name == "number") kernel.text = kNumberWgsl;
  if (name == "slow") kernel.text = kSlowWgsl;
  if (name.starts_with("look_up")) kernel.text = kLookUpWgsl;
  if (name == "wrong") kernel.text = "fn main() {\n  let x = 1 +;\n}";
  if (name == "nameless") kernel.text = "@compute @workgroup_size(1) fn other() {}";
  return kernel;
}

inline const Target& target_by_hand() {
  static const Target target{.name = "by hand", .capabilities = {}};
  return target;
}

inline WgslKernel kernel_by_hand(const Linked& linked) {
  return must(write_by_hand(lower(linked.program(), target_by_hand())));
}

inline std::shared_ptr<const WgslProgram> wgsl_by_hand(const Linked& linked) {
  auto variants = std::make_unique<Variants>(linked, linked.program(), target_by_hand(),
                                             lower(linked.program(), target_by_hand()));
  return std::make_shared<WgslProgram>(std::move(variants), write_by_hand);
}

}  // namespace vyre
