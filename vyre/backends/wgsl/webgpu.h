// WebGPU's C interface as Dawn has it since the spring of 2025, loaded when it is first needed. Its
// types keep their names without their prefix, as far as a device that computes needs them; no
// header of it is installed anywhere. Structs have the layout of the library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace vyre::webgpu {

using Bool = std::uint32_t;
using Status = std::uint32_t;
#define HANDLE(name, full) using name = struct Opaque##name*;
#include "vyre/backends/wgsl/webgpu.def"

// Enumerators of the interface.
inline constexpr Status kSuccess = 1;   // of everything that has a status
inline constexpr Status kTimedOut = 2;  // of waiting
inline constexpr std::uint32_t kNullBackend = 1;
inline constexpr std::uint32_t kHighPerformance = 2;
inline constexpr std::uint32_t kCore = 2;         // feature level
inline constexpr std::uint32_t kWaitOnly = 1;     // how callbacks are called: by waiting for them
inline constexpr std::uint32_t kSpontaneous = 3;  // or at any time
inline constexpr std::uint32_t kShaderText = 2;   // kinds of chained structs
inline constexpr std::uint32_t kDawnInstance = 0x50006;
inline constexpr std::uint32_t kToggles = 0x5000a;
inline constexpr std::uint32_t kTimestamps = 3;  // features
inline constexpr std::uint32_t kSynchronized = 0x50004;
inline constexpr std::uint32_t kTimestampQuery = 2;
inline constexpr std::uint32_t kOutOfMemory = 3;  // kind of error
inline constexpr std::uint32_t kIsError = 1;      // kind of a message of the compiler
inline constexpr std::uint32_t kUndefined = ~0u;  // query
inline constexpr std::uint64_t kMapRead = 1;      // what buffers are for
inline constexpr std::uint64_t kCopySource = 4;
inline constexpr std::uint64_t kCopyTarget = 8;
inline constexpr std::uint64_t kUniform = 0x40;
inline constexpr std::uint64_t kStorage = 0x80;
inline constexpr std::uint64_t kResolve = 0x200;
inline constexpr std::uint64_t kComputeStage = 4;
inline constexpr std::uint32_t kUniformBinding = 2;
inline constexpr std::uint32_t kStorageBinding = 3;
inline constexpr std::uint32_t kReadOnlyBinding = 4;

struct Text {
  const char* data = nullptr;
  std::size_t size = ~std::size_t{0};  // without data: none

  Text() = default;
  Text(std::string_view text) : data(text.data()), size(text.size()) {}
  std::string_view view() const {
    return data == nullptr ? std::string_view() : std::string_view(data, size);
  }
};

struct Chained {
  const Chained* next = nullptr;
  std::uint32_t kind = 0;
};

// What every description of an object begins with.
struct Described {
  const Chained* next = nullptr;
  Text label;
};

template <class Item>
struct List {
  std::size_t count = 0;
  const Item* items = nullptr;

  List() = default;
  List(const std::vector<Item>& all) : count(all.size()), items(all.data()) {}
};

struct Future {
  std::uint64_t id = 0;
};

struct FutureWait {
  Future future;
  Bool is_done = 0;
};

// What is called when something has ended, with two pointers of the caller.
template <class Function>
struct Callback {
  const Chained* next = nullptr;
  std::uint32_t mode = kWaitOnly;
  Function call = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};

struct InstanceCapabilities {
  const Chained* next = nullptr;
  Bool has_timed_waits = 0;
  std::size_t most_timed_waits = 0;
};

struct InstanceDescriptor {
  const Chained* next = nullptr;
  InstanceCapabilities capabilities;
};

// What Dawn would write to the standard error output. Chained to an InstanceDescriptor; a class
// with a base in the library, so that the count stands right after `kind`.
struct DawnInstance {
  const Chained* next = nullptr;
  std::uint32_t kind = kDawnInstance;
  std::uint32_t path_count = 0;
  const char* const* paths = nullptr;
  void* platform = nullptr;
  std::uint32_t validation = 2;  // none of the Vulkan driver
  bool is_captured = false;
  struct {
    const Chained* next = nullptr;
    void (*call)(std::uint32_t, Text, void*, void*) = nullptr;
    void* first = nullptr;
    void* second = nullptr;
  } logging;
};

struct AdapterOptions {
  const Chained* next = nullptr;
  std::uint32_t feature_level = kCore;
  std::uint32_t power_preference = kHighPerformance;
  Bool is_fallback = 0;
  std::uint32_t backend = 0;
  void* surface = nullptr;
};

struct AdapterInfo {
  Chained* next = nullptr;
  Text vendor;
  Text architecture;
  Text device;
  Text description;
  std::uint32_t backend = 0;
  std::uint32_t kind = 0;
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t min_subgroup = 0;
  std::uint32_t max_subgroup = 0;
};

struct Limits {
  Chained* next = nullptr;
  std::uint32_t textures[4];
  std::uint32_t bind_groups[3];
  std::uint32_t dynamic_buffers[2];
  std::uint32_t textures_and_samplers[2];
  std::uint32_t max_storage_buffers;  // of a shader
  std::uint32_t max_storage_textures;
  std::uint32_t max_uniform_buffers;
  std::uint64_t max_uniform_binding;
  std::uint64_t max_storage_binding;
  std::uint32_t uniform_alignment;
  std::uint32_t storage_alignment;
  std::uint32_t max_vertex_buffers;
  std::uint64_t max_buffer;
  std::uint32_t drawing[5];
  std::uint32_t max_workgroup_storage;
  std::uint32_t max_invocations;
  std::uint32_t max_workgroup_size[3];
  std::uint32_t max_workgroups;  // on each axis
  std::uint32_t max_immediate;
  std::uint32_t other_stages[4];
};

struct Toggles {
  Chained chain{nullptr, kToggles};
  List<const char*> enabled;
  List<const char*> disabled;
};

// Of a device that is lost, with the reason, and of an error that is in no error scope, with its
// kind.
using DeviceFunction = void (*)(const Gpu*, std::uint32_t, Text, void*, void*);

struct ErrorCallback {
  const Chained* next = nullptr;
  DeviceFunction call = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};

struct DeviceDescriptor : Described {
  List<std::uint32_t> features;
  const Limits* limits = nullptr;
  Described queue;
  Callback<DeviceFunction> lost;
  ErrorCallback wrong;
};

struct BufferDescriptor : Described {
  std::uint64_t usage = 0;
  std::uint64_t size = 0;
  Bool is_mapped = 0;
};

struct BindGroupLayoutEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  std::uint64_t stages = kComputeStage;
  std::uint32_t array_size = 0;
  struct {
    const Chained* next = nullptr;
    std::uint32_t kind = 0;
    Bool has_dynamic_offset = 0;
    std::uint64_t min_size = 0;
  } buffer;
  struct {
    const Chained* next = nullptr;
    std::uint32_t kind = 0;
  } sampler;
  struct {
    const Chained* next = nullptr;
    std::uint32_t values[3] = {};
  } texture, storage_texture;
};

struct BindGroupLayoutDescriptor : Described {
  List<BindGroupLayoutEntry> entries;
};

struct BindGroupEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  Buffer buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  void* sampler = nullptr;
  void* texture = nullptr;
};

struct BindGroupDescriptor : Described {
  BindGroupLayout layout = nullptr;
  List<BindGroupEntry> entries;
};

struct PipelineLayoutDescriptor : Described {
  List<BindGroupLayout> groups;
  std::uint32_t immediate_size = 0;
};

struct ShaderText {
  Chained chain{nullptr, kShaderText};
  Text text;
};

struct PipelineDescriptor : Described {
  PipelineLayout layout = nullptr;
  struct {
    const Chained* next = nullptr;
    ShaderModule module = nullptr;
    Text entry;
    std::size_t constant_count = 0;
    const void* constants = nullptr;
  } compute;
};

struct QuerySetDescriptor : Described {
  std::uint32_t kind = kTimestampQuery;
  std::uint32_t count = 0;
};

struct PassTimestamps {
  const Chained* next = nullptr;
  QuerySet set = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct PassDescriptor : Described {
  const PassTimestamps* timestamps = nullptr;
};

struct CompilationMessage {
  const Chained* next = nullptr;
  Text text;
  std::uint32_t kind = 0;
  std::uint64_t line = 0;    // from 1
  std::uint64_t column = 0;  // from 1
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct CompilationInfo {
  const Chained* next = nullptr;
  List<CompilationMessage> messages;
};

using AdapterCallback = Callback<void (*)(Status, Adapter, Text, void*, void*)>;
using DeviceCallback = Callback<void (*)(Status, Gpu, Text, void*, void*)>;
using CompilationCallback = Callback<void (*)(Status, const CompilationInfo*, void*, void*)>;
using EndCallback = Callback<void (*)(Status, Text, void*, void*)>;  // of a mapping, of work
using PipelineCallback = Callback<void (*)(Status, Pipeline, Text, void*, void*)>;

struct Api {
#define FUNCTION(result, name, parameters) result(*name) parameters = nullptr;
#define HANDLE(name, full) void (*full##Release)(name) = nullptr;
#include "vyre/backends/wgsl/webgpu.def"
};

// Null when it cannot be loaded or is another interface; then `reason` says why and what helps.
const Api* load_webgpu(std::string& reason);
// What was loaded.
const Api& loaded_webgpu();

template <auto release>
struct Releaser {
  template <class Opaque>
  void operator()(Opaque* handle) const {
    (loaded_webgpu().*release)(handle);
  }
};
template <class Handle, auto release>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<release>>;

#define HANDLE(name, full) using Owned##name = Owned<name, &Api::full##Release>;
#include "vyre/backends/wgsl/webgpu.def"

}  // namespace vyre::webgpu
