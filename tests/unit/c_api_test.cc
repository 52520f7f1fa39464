// The C interface: that it gives what the C++ one gives, owns what it says, and survives misuse.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/command.h"
#include "vyre/vyre.h"
#include "vyre/vyre_c.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;

// Frees a handle at the end of its scope.
template <class T, void (*release)(T*)>
struct Handle {
  T* handle = nullptr;
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { release(handle); }
  operator T*() const { return handle; }
  // For a function to fill; what was there before goes.
  T** operator&() {
    release(handle);
    handle = nullptr;
    return &handle;
  }
};
using Why = Handle<vyre_diagnostics, vyre_diagnostics_free>;
using CModule = Handle<vyre_module, vyre_module_free>;
using CDevice = Handle<vyre_device, vyre_device_free>;
using CPipeline = Handle<vyre_pipeline, vyre_pipeline_free>;
using CBuffer = Handle<vyre_buffer, vyre_buffer_free>;
using COutputs = Handle<vyre_outputs, vyre_outputs_free>;
using CBackends = Handle<vyre_backends, vyre_backends_free>;

constexpr std::string_view kText = R"(// Two programs and an op.
op my.twice(a: u32) -> u32 { return a + a }
program twice workgroup(4, 2) {
  read_write out: u32[] @3
  read       data: u32[2] @1
  uniform    scale: vec4u32[] @7
  workgroup  tile: u64[8]
  read_write text: bytes @0
  let i = invocation_id.x + 4 * invocation_id.y
  out[i] = my.twice(data[i]) * (scale[0].x + 1)
  if i == 0 { text[0] = text[0] + 1 }
}
program step workgroup(1) {
  read_write data: u32[]
  let i = invocation_id.x + 2 * (invocation_id.y + 3 * invocation_id.z)
  data[i] = data[i] * 3 + 1
}
)";

constexpr std::string_view kBroken = R"(program p workgroup(64) {
  read data: u32[]
  data[0] = x
})";

vyre_status load_text(std::string_view text, CModule& module) {
  Why why;
  const vyre_status status = vyre_load(text.data(), text.size(), "test.vyre", &module, &why);
  EXPECT_EQ(status, VYRE_OK) << vyre_diagnostics_text(why);
  return status;
}

std::string first_code(const vyre_diagnostics* why) {
  vyre_diagnostic first;
  return vyre_diagnostics_get(why, 0, &first) == VYRE_OK ? first.code : "";
}

constexpr uint32_t kGrid[3] = {1, 1, 1};

TEST(CApi, Version) {
  EXPECT_EQ(vyre_c_version(), static_cast<uint32_t>(VYRE_C_VERSION));
  EXPECT_EQ(vyre_version(), version());
}

// --- Modules and diagnostics --------------------------------------------------------------------

TEST(CApi, LoadsTextAndWire) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  EXPECT_EQ(vyre_module_program_count(module), 2u);
  EXPECT_STREQ(vyre_program_name(vyre_module_program(module, 0)), "twice");
  EXPECT_STREQ(vyre_program_name(vyre_module_program(module, 1)), "step");
  EXPECT_EQ(vyre_module_program(module, 2), nullptr);
  EXPECT_EQ(vyre_module_find_program(module, "step"), vyre_module_program(module, 1));
  EXPECT_EQ(vyre_module_find_program(module, "steps"), nullptr);

  char* text = nullptr;
  ASSERT_EQ(vyre_module_print(module, &text), VYRE_OK);
  const Result<Loaded> loaded = load_module({"test.vyre", std::string(kText)});
  EXPECT_EQ(text, print(loaded->module));
  vyre_free(text);

  void* bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(vyre_module_encode(module, &bytes, &size, nullptr), VYRE_OK);
  EXPECT_EQ(std::string(static_cast<char*>(bytes), size), *encode(loaded->module));
  CModule decoded;
  EXPECT_EQ(vyre_load(bytes, size, "test.vyreb", &decoded, nullptr), VYRE_OK);
  EXPECT_STREQ(vyre_program_name(vyre_module_program(decoded, 1)), "step");
  EXPECT_EQ(vyre_validate(bytes, size, nullptr, nullptr), VYRE_OK);

  // A damaged wire file is no text.
  static_cast<char*>(bytes)[size - 1] ^= 1;
  Why why;
  EXPECT_EQ(vyre_validate(bytes, size, "test.vyreb", &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "W004");
  vyre_free(bytes);
}

TEST(CApi, AModuleMayBeEmpty) {
  CModule module;
  EXPECT_EQ(vyre_load(nullptr, 0, nullptr, &module, nullptr), VYRE_OK);
  EXPECT_NE(module.handle, nullptr);
  EXPECT_EQ(vyre_module_program_count(module), 0u);
  EXPECT_EQ(vyre_module_program(module, 0), nullptr);
}

TEST(CApi, DiagnosticsSayWhatAndWhere) {
  const Result<Loaded> loaded = load_module({"test.vyre", std::string(kBroken)});
  ASSERT_FALSE(loaded.ok());
  CModule module;
  Why why;
  ASSERT_EQ(vyre_load(kBroken.data(), kBroken.size(), "test.vyre", &module, &why), VYRE_ERROR);
  EXPECT_EQ(module.handle, nullptr);
  ASSERT_EQ(vyre_diagnostics_count(why), loaded.diagnostics().size());
  std::string all;
  for (size_t i = 0; i < loaded.diagnostics().size(); ++i) {
    const Diagnostic& expected = loaded.diagnostics()[i];
    vyre_diagnostic found;
    ASSERT_EQ(vyre_diagnostics_get(why, i, &found), VYRE_OK);
    EXPECT_EQ(found.code, name(expected.code));
    EXPECT_EQ(found.problem, expected.problem);
    EXPECT_EQ(found.fix, expected.fix);
    EXPECT_STREQ(found.file, "test.vyre");
    EXPECT_EQ(found.line, 3u);
    EXPECT_EQ(found.column, expected.column);
    EXPECT_STREQ(found.path, "");
    EXPECT_EQ(found.text, render(expected));
    all += render(expected);
  }
  EXPECT_EQ(vyre_diagnostics_text(why), all);
  EXPECT_EQ(vyre_diagnostics_json(why), to_json(loaded.diagnostics()));
  vyre_diagnostic beyond;
  EXPECT_EQ(vyre_diagnostics_get(why, loaded.diagnostics().size(), &beyond), VYRE_MISUSE);

  // Without a name, without a wish to know, and only the verdict.
  EXPECT_EQ(vyre_load(kBroken.data(), kBroken.size(), nullptr, &module, &why), VYRE_ERROR);
  vyre_diagnostic found;
  ASSERT_EQ(vyre_diagnostics_get(why, 0, &found), VYRE_OK);
  EXPECT_STREQ(found.file, "");
  EXPECT_EQ(vyre_load(kBroken.data(), kBroken.size(), nullptr, &module, nullptr), VYRE_ERROR);
  EXPECT_EQ(vyre_validate(kBroken.data(), kBroken.size(), "a", &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "V006");
  // Success leaves no diagnostics of the time before.
  vyre_diagnostics* stale = reinterpret_cast<vyre_diagnostics*>(&module);
  EXPECT_EQ(vyre_validate(kText.data(), kText.size(), "a", &stale), VYRE_OK);
  EXPECT_EQ(stale, nullptr);
}

TEST(CApi, ProgramsDescribeTheirBuffers) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  const vyre_program* program = vyre_module_find_program(module, "twice");
  uint32_t size[3];
  ASSERT_EQ(vyre_program_workgroup_size(program, size), VYRE_OK);
  EXPECT_EQ(Words(size, size + 3), (Words{4, 2, 1}));
  ASSERT_EQ(vyre_program_buffer_count(program), 5u);
  const auto check = [&](size_t index, const char* name, vyre_access access, const char* element,
                         uint32_t stride, uint32_t count, uint32_t binding) {
    vyre_buffer_decl buffer;
    ASSERT_EQ(vyre_program_buffer(program, index, &buffer), VYRE_OK);
    EXPECT_STREQ(buffer.name, name);
    EXPECT_EQ(buffer.access, access);
    EXPECT_STREQ(buffer.element, element);
    EXPECT_EQ(buffer.stride, stride);
    EXPECT_EQ(buffer.count, count);
    EXPECT_EQ(buffer.binding, binding);
  };
  check(0, "out", VYRE_READ_WRITE, "u32", 4, 0, 3);
  check(1, "data", VYRE_READ, "u32", 4, 2, 1);
  check(2, "scale", VYRE_UNIFORM, "vec4u32", 16, 0, 7);
  check(3, "tile", VYRE_WORKGROUP, "u64", 8, 8, 0);
  check(4, "text", VYRE_READ_WRITE, "bytes", 4, 0, 0);
  vyre_buffer_decl buffer;
  EXPECT_EQ(vyre_program_buffer(program, 5, &buffer), VYRE_MISUSE);
}

// --- Devices ------------------------------------------------------------------------------------

TEST(CApi, BackendsAreListedWithTheReasonWhyTheyCannotRun) {
  CBackends backends;
  ASSERT_EQ(vyre_backends_list(&backends), VYRE_OK);
  ASSERT_EQ(vyre_backends_count(backends), all_backends().size());
  for (size_t i = 0; i < all_backends().size(); ++i) {
    vyre_backend backend;
    ASSERT_EQ(vyre_backends_get(backends, i, &backend), VYRE_OK);
    EXPECT_EQ(backend.name, all_backends()[i].name);
    EXPECT_EQ(backend.alias, all_backends()[i].alias);
    EXPECT_EQ(backend.summary, all_backends()[i].summary);
    EXPECT_EQ(backend.available == 0, *backend.device == '\0');
    EXPECT_EQ(backend.available != 0, *backend.reason == '\0');
    EXPECT_EQ(backend.available != 0, backend.devices > 0);

    CDevice device;
    Why why;
    const vyre_status status = vyre_device_open(backend.name, 0, &device, &why);
    EXPECT_EQ(status, backend.available != 0 ? VYRE_OK : VYRE_ERROR);
    vyre_device_info info;
    if (status == VYRE_OK) {
      ASSERT_EQ(vyre_device_get_info(device, &info), VYRE_OK);
      EXPECT_STREQ(info.backend, backend.name);
      EXPECT_STREQ(info.name, backend.device);
    } else {
      EXPECT_EQ(device.handle, nullptr);
      EXPECT_EQ(first_code(why), "B003");
      EXPECT_NE(std::strstr(vyre_diagnostics_text(why), backend.reason), nullptr);
    }
  }
  vyre_backend beyond;
  EXPECT_EQ(vyre_backends_get(backends, all_backends().size(), &beyond), VYRE_MISUSE);
}

TEST(CApi, DevicesHaveLimits) {
  CDevice device;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &device, nullptr), VYRE_OK);
  vyre_device_info info;
  ASSERT_EQ(vyre_device_get_info(device, &info), VYRE_OK);
  const DeviceInfo expected = (*open_device())->info();
  EXPECT_EQ(info.name, expected.name);
  EXPECT_EQ(info.max_invocations, expected.max_invocations);
  EXPECT_TRUE(std::ranges::equal(info.max_workgroup_size, expected.max_workgroup_size));
  EXPECT_EQ(info.max_workgroup_bytes, expected.max_workgroup_bytes);
  EXPECT_EQ(info.max_buffer_bytes, expected.max_buffer_bytes);
  EXPECT_EQ(info.note, expected.note);
  // There is no second one of it, by whatever name.
  for (const char* backend : {"interp", static_cast<const char*>(nullptr)}) {
    Why why;
    EXPECT_EQ(vyre_device_open(backend, 1, &device, &why), VYRE_ERROR);
    EXPECT_EQ(first_code(why), "U005");
  }
}

TEST(CApi, AnUnknownBackendIsNamed) {
  CDevice device;
  Why why;
  EXPECT_EQ(vyre_device_open("abacus", 0, &device, &why), VYRE_ERROR);
  vyre_diagnostic found;
  ASSERT_EQ(vyre_diagnostics_get(why, 0, &found), VYRE_OK);
  EXPECT_STREQ(found.code, "B003");
  EXPECT_STREQ(found.problem, "backend `abacus` cannot run here: vyre knows none of this name");
  EXPECT_EQ(std::string(found.fix).find("use one that can: interp"), 0u);
}

// --- Dispatch -----------------------------------------------------------------------------------

TEST(CApi, DispatchGivesResultsAndOutputs) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  const Words data = {1, 2, 3, 4, 5, 6, 7, 8}, scale = {9, 0, 0, 0};
  Words out(9, 77);
  char before[] = "ab", after[] = "..!";
  vyre_host_buffer buffers[] = {{"data", data.data(), 32, nullptr},
                                {"out", out.data(), 36, out.data()},
                                {"scale", scale.data(), 16, nullptr},
                                {"text", before, 2, after}};
  CDevice device;
  ASSERT_EQ(vyre_device_open("interp", 0, &device, nullptr), VYRE_OK);
  COutputs outputs;
  Why why;
  ASSERT_EQ(vyre_dispatch(vyre_module_program(module, 0), device, kGrid, buffers, 4, nullptr,
                          &outputs, &why),
            VYRE_OK)
      << vyre_diagnostics_text(why);
  EXPECT_EQ(why.handle, nullptr);
  const Words expected = {20, 40, 60, 80, 100, 120, 140, 160, 77};
  EXPECT_EQ(out, expected);
  EXPECT_STREQ(before, "ab");
  EXPECT_STREQ(after, "bb!");  // not the padding

  ASSERT_EQ(vyre_outputs_count(outputs), 2u);
  vyre_output output;
  ASSERT_EQ(vyre_outputs_get(outputs, 0, &output), VYRE_OK);
  EXPECT_STREQ(output.name, "text");
  EXPECT_STREQ(output.element, "bytes");
  EXPECT_EQ(std::string(static_cast<const char*>(output.contents), output.size),
            std::string("bb\0\0", 4));
  ASSERT_EQ(vyre_outputs_get(outputs, 1, &output), VYRE_OK);
  EXPECT_STREQ(output.name, "out");
  EXPECT_STREQ(output.element, "u32");
  ASSERT_EQ(output.size, 36u);
  EXPECT_EQ(std::memcmp(output.contents, expected.data(), 36), 0);
  EXPECT_EQ(vyre_outputs_get(outputs, 2, &output), VYRE_MISUSE);
  EXPECT_GE(vyre_outputs_seconds(outputs), 0);
  EXPECT_STREQ(vyre_outputs_backend(outputs), "interp");
  EXPECT_STREQ(vyre_outputs_note(outputs), "");
  ASSERT_EQ(vyre_outputs_find(outputs, "text", &output, &why), VYRE_OK);
  EXPECT_EQ(output.size, 4u);
  EXPECT_EQ(vyre_outputs_find(outputs, "data", &output, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D001");
  Outputs same;
  same.buffers = {{"text", DataType::Bytes, std::vector<std::byte>(4)},
                  {"out", DataType::U32, std::vector<std::byte>(36)}};
  std::memcpy(same.buffers[0].bytes.data(), "bb", 2);
  std::memcpy(same.buffers[1].bytes.data(), expected.data(), 36);
  char digest_text[65];
  ASSERT_EQ(vyre_outputs_digest(outputs, digest_text), VYRE_OK);
  EXPECT_EQ(digest_text, digest(same));

  // What is wrong is said, and results stay as they are.
  buffers[3].result = nullptr;
  EXPECT_EQ(vyre_dispatch(vyre_module_program(module, 0), nullptr, kGrid, buffers, 3, nullptr,
                          &outputs, &why),
            VYRE_ERROR);
  EXPECT_EQ(outputs.handle, nullptr);
  EXPECT_EQ(first_code(why), "D001");
  EXPECT_EQ(out, expected);
  // A name that the program does not have is its mistake, not the caller's.
  buffers[3] = {"texts", before, 2, after};
  EXPECT_EQ(vyre_dispatch(vyre_module_program(module, 0), nullptr, kGrid, buffers, 4, nullptr,
                          nullptr, &why),
            VYRE_ERROR);
  EXPECT_EQ(vyre_diagnostics_count(why), 2u);
  EXPECT_STREQ(after, "bb!");
}

TEST(CApi, NarrowElementsAreNumbersOfTheHost) {
  CModule module;
  ASSERT_EQ(load_text("program p workgroup(4) { read text: u8[] read_write out: i16[] "
                      "out[local_id.x] = -i32(text[local_id.x]) }",
                      module),
            VYRE_OK);
  const vyre_program* program = vyre_module_program(module, 0);
  vyre_buffer_decl buffer;
  ASSERT_EQ(vyre_program_buffer(program, 0, &buffer), VYRE_OK);
  EXPECT_STREQ(buffer.element, "u8");
  EXPECT_EQ(buffer.stride, 1u);
  ASSERT_EQ(vyre_program_buffer(program, 1, &buffer), VYRE_OK);
  EXPECT_STREQ(buffer.element, "i16");
  EXPECT_EQ(buffer.stride, 2u);
  const uint8_t text[3] = {1, 200, 255};
  int16_t out[3] = {7, 7, 7};
  vyre_host_buffer buffers[] = {{"text", text, 3, nullptr}, {"out", out, 6, out}};
  Why why;
  ASSERT_EQ(vyre_dispatch(program, nullptr, kGrid, buffers, 2, nullptr, nullptr, &why), VYRE_OK)
      << vyre_diagnostics_text(why);
  EXPECT_EQ(std::vector(out, out + 3), (std::vector<int16_t>{-1, -200, -255}));
  buffers[1].size = 5;
  EXPECT_EQ(vyre_dispatch(program, nullptr, kGrid, buffers, 2, nullptr, nullptr, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D003");
}

TEST(CApi, EmptyBuffersAndGrids) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  const vyre_program* step = vyre_module_find_program(module, "step");
  uint32_t word = 5;
  vyre_host_buffer buffer = {"data", nullptr, 0, &word};
  EXPECT_EQ(vyre_dispatch(step, nullptr, kGrid, &buffer, 1, nullptr, nullptr, nullptr), VYRE_OK);
  EXPECT_EQ(word, 5u);
  Words words(30, 5);
  buffer = {"data", words.data(), 120, words.data()};
  const uint32_t nothing[3] = {1, 0, 1};
  EXPECT_EQ(vyre_dispatch(step, nullptr, nothing, &buffer, 1, nullptr, nullptr, nullptr), VYRE_OK);
  EXPECT_EQ(words, Words(30, 5));
  const uint32_t axes[3] = {2, 3, 5};
  EXPECT_EQ(vyre_dispatch(step, nullptr, axes, &buffer, 1, nullptr, nullptr, nullptr), VYRE_OK);
  EXPECT_EQ(words, Words(30, 16));
}

TEST(CApi, OptionsOfARun) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  const vyre_program* step = vyre_module_find_program(module, "step");
  uint32_t word = 0;
  const vyre_host_buffer buffer = {"data", &word, 4, &word};
  const uint32_t grid[3] = {3, 1, 1};
  Why why;
  vyre_run_options options = {};
  const auto run = [&] {
    word = 0;
    return vyre_dispatch(step, nullptr, grid, &buffer, 1, &options, nullptr, &why);
  };
  EXPECT_EQ(run(), VYRE_OK);
  for (const char* schedule : {"sequential", "reverse", "round-robin", "random", "random:7"}) {
    options.schedule = schedule;
    EXPECT_EQ(run(), VYRE_OK) << schedule;
    EXPECT_EQ(word, 1u) << schedule;
  }
  options.schedule = "backwards";
  EXPECT_EQ(run(), VYRE_ERROR);
  vyre_diagnostic found;
  ASSERT_EQ(vyre_diagnostics_get(why, 0, &found), VYRE_OK);
  EXPECT_STREQ(found.code, "U005");
  EXPECT_STREQ(found.problem, "there is no schedule `backwards`");

  options = {};
  options.max_steps = 9;  // a binding, a store and the end of each invocation
  EXPECT_EQ(run(), VYRE_OK);
  options.max_steps = 8;
  EXPECT_EQ(run(), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "R004");
  EXPECT_EQ(word, 0u);

  options = {};
  options.threads = 1;
  std::vector<double> done;
  options.context = &done;
  options.progress = [](double fraction, void* context) {
    static_cast<std::vector<double>*>(context)->push_back(fraction);
    return 0;
  };
  EXPECT_EQ(run(), VYRE_OK);
  ASSERT_FALSE(done.empty());
  EXPECT_EQ(done.back(), 1);
  options.progress = [](double, void*) { return 1; };
  EXPECT_EQ(run(), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "R005");
  EXPECT_EQ(word, 0u);
}

// --- Buffers on a device ------------------------------------------------------------------------

TEST(CApi, SequencesOfLaunchesOnBuffersOfTheDevice) {
  CDevice device;
  ASSERT_EQ(vyre_device_open("interp", 0, &device, nullptr), VYRE_OK);
  CPipeline pipeline;
  Why why;
  {
    CModule module;  // goes before the pipeline does
    ASSERT_EQ(load_text(kText, module), VYRE_OK);
    ASSERT_EQ(
        vyre_pipeline_make(device, vyre_module_find_program(module, "step"), 0, 0, &pipeline, &why),
        VYRE_OK);
  }
  const uint32_t one = 1;
  CBuffer a;
  CBuffer b;
  ASSERT_EQ(vyre_buffer_make(device, &one, 4, &a, &why), VYRE_OK);
  ASSERT_EQ(vyre_buffer_make(device, nullptr, 8, &b, &why), VYRE_OK);
  EXPECT_EQ(vyre_buffer_size(a), 4u);
  EXPECT_EQ(vyre_buffer_size(b), 8u);
  const vyre_binding to_a = {"data", a};
  const vyre_binding to_b = {"data", b};
  const vyre_launch launches[] = {{pipeline, {1, 1, 1}, &to_a, 1},
                                  {pipeline, {2, 1, 1}, &to_b, 1},
                                  {pipeline, {1, 1, 1}, &to_a, 1}};
  double seconds[3] = {-1, -1, -1};
  ASSERT_EQ(vyre_run(device, launches, 3, nullptr, seconds, &why), VYRE_OK);
  for (const double each : seconds) EXPECT_GE(each, 0);
  uint32_t words[2] = {99, 99};
  ASSERT_EQ(vyre_buffer_read(a, 0, words, 4, &why), VYRE_OK);
  EXPECT_EQ(words[0], 13u);
  EXPECT_EQ(words[1], 99u);
  ASSERT_EQ(vyre_buffer_read(b, 0, words, 8, &why), VYRE_OK);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 1u);
  ASSERT_EQ(vyre_buffer_read(b, 0, words, 0, &why), VYRE_OK);

  const uint32_t other[3] = {7, 8, 9};
  ASSERT_EQ(vyre_buffer_write(b, 0, other, 4, &why), VYRE_OK);
  EXPECT_EQ(vyre_buffer_write(b, 0, other, 12, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D002");
  EXPECT_EQ(vyre_buffer_read(b, 0, words, 12, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D002");
  EXPECT_EQ(vyre_buffer_read(b, 8, words, 4, &why), VYRE_ERROR);
  ASSERT_EQ(vyre_buffer_write(b, 4, other + 2, 4, &why), VYRE_OK);
  words[1] = 99;
  ASSERT_EQ(vyre_buffer_read(b, 4, words, 4, &why), VYRE_OK);
  EXPECT_EQ(words[0], 9u);
  EXPECT_EQ(words[1], 99u);
  const uint32_t before = 1;
  ASSERT_EQ(vyre_buffer_write(b, 4, &before, 4, &why), VYRE_OK);
  ASSERT_EQ(vyre_run(device, launches, 3, nullptr, nullptr, &why), VYRE_OK);
  ASSERT_EQ(vyre_buffer_read(b, 0, words, 8, &why), VYRE_OK);
  EXPECT_EQ(words[0], 22u);
  EXPECT_EQ(words[1], 4u);

  // The last launch is wrong, so none runs.
  const vyre_binding unknown = {"dat", b};
  const vyre_launch wrong[] = {launches[0], {pipeline, {1, 1, 1}, &unknown, 1}};
  EXPECT_EQ(vyre_run(device, wrong, 2, nullptr, nullptr, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D001");
  ASSERT_EQ(vyre_buffer_read(a, 0, words, 4, nullptr), VYRE_OK);
  EXPECT_EQ(words[0], 121u);
  vyre_run_options options = {};
  options.max_steps = 1;
  EXPECT_EQ(vyre_run(device, launches, 3, &options, nullptr, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "R004");
  options.schedule = "?";
  EXPECT_EQ(vyre_run(device, launches, 3, &options, nullptr, &why), VYRE_ERROR);
  EXPECT_EQ(vyre_run(device, nullptr, 0, nullptr, nullptr, &why), VYRE_OK);

  // Another device's.
  CDevice foreign;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &foreign, nullptr), VYRE_OK);
  EXPECT_EQ(vyre_run(foreign, launches, 3, nullptr, nullptr, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D009");
  // More than there is.
  EXPECT_EQ(vyre_buffer_make(device, nullptr, SIZE_MAX, &a, &why), VYRE_ERROR);
  EXPECT_EQ(a.handle, nullptr);
  EXPECT_EQ(first_code(why), "B004");
}

TEST(CApi, ASequenceKeepsWhatItUses) {
  Handle<vyre_sequence, vyre_sequence_free> sequence;
  CDevice device;
  CBuffer buffer;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &device, nullptr), VYRE_OK);
  const uint32_t one = 1;
  ASSERT_EQ(vyre_buffer_make(device, &one, 4, &buffer, nullptr), VYRE_OK);
  {
    CModule module;
    CPipeline pipeline;
    ASSERT_EQ(load_text(kText, module), VYRE_OK);
    ASSERT_EQ(vyre_pipeline_make(device, vyre_module_program(module, 1), 0, 0, &pipeline, nullptr),
              VYRE_OK);
    const vyre_binding data = {"data", buffer}, unknown = {"dat", buffer};
    const vyre_launch launches[] = {{pipeline, {1, 1, 1}, &data, 1},
                                    {pipeline, {1, 1, 1}, &data, 1}};
    Why why;
    const vyre_launch wrong = {pipeline, {1, 1, 1}, &unknown, 1};
    EXPECT_EQ(vyre_sequence_record(device, &wrong, 1, &sequence, &why), VYRE_ERROR);
    EXPECT_EQ(first_code(why), "D001");
    ASSERT_EQ(vyre_sequence_record(device, launches, 2, &sequence, nullptr), VYRE_OK);
  }
  double seconds = -1;
  ASSERT_EQ(vyre_sequence_run(sequence, nullptr, &seconds, nullptr), VYRE_OK);
  EXPECT_GE(seconds, 0);
  ASSERT_EQ(vyre_sequence_run(sequence, nullptr, nullptr, nullptr), VYRE_OK);
  uint32_t word = 0;
  ASSERT_EQ(vyre_buffer_read(buffer, 0, &word, 4, nullptr), VYRE_OK);
  EXPECT_EQ(word, 121u);  // 1, 4, 13, 40, 121
}

TEST(CApi, RacesAreFoundWithTheirPlace) {
  CModule module;
  ASSERT_EQ(load_text("op my.one(x: u32) -> u32 { return 1 }\n"
                      "program racy workgroup(4) {\n"
                      "  read_write out: u32[]\n"
                      "  out[0] = local_id.x + my.one(0)\n"
                      "}\n"
                      "program fine workgroup(4) {\n"
                      "  read_write out: u32[]\n"
                      "  out[local_id.x] = 1\n"
                      "}\n",
                      module),
            VYRE_OK);
  const vyre_program* racy = vyre_module_find_program(module, "racy");
  Words out(4);
  const vyre_host_buffer data = {"out", out.data(), 16, nullptr};
  Why races;
  ASSERT_EQ(vyre_find_races(racy, kGrid, &data, 1, nullptr, &races, nullptr), VYRE_OK);
  vyre_diagnostic found;
  ASSERT_EQ(vyre_diagnostics_get(races, 0, &found), VYRE_OK);
  EXPECT_STREQ(found.code, "R001");
  EXPECT_EQ(found.line, 4u);
  EXPECT_EQ(out, Words(4));
  vyre_run_options options = {};
  options.schedule = "reverse";
  ASSERT_EQ(vyre_find_races(racy, kGrid, &data, 1, &options, &races, nullptr), VYRE_OK);
  EXPECT_EQ(vyre_diagnostics_count(races), 1u);
  ASSERT_EQ(vyre_find_races(vyre_module_find_program(module, "fine"), kGrid, &data, 1, nullptr,
                            &races, nullptr),
            VYRE_OK);
  EXPECT_EQ(races.handle, nullptr);
  Why why;
  EXPECT_EQ(vyre_find_races(racy, kGrid, nullptr, 0, nullptr, &races, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D001");
  EXPECT_EQ(races.handle, nullptr);
}

TEST(CApi, ThingsOnADeviceKeepIt) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  vyre_device* device = nullptr;
  CPipeline pipeline;
  CBuffer buffer;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &device, nullptr), VYRE_OK);
  ASSERT_EQ(vyre_pipeline_make(device, vyre_module_program(module, 1), 0, 0, &pipeline, nullptr),
            VYRE_OK);
  ASSERT_EQ(vyre_buffer_make(device, nullptr, 4, &buffer, nullptr), VYRE_OK);
  vyre_device_free(device);
  uint32_t word = 9;
  EXPECT_EQ(vyre_buffer_write(buffer, 0, &word, 4, nullptr), VYRE_OK);
  word = 0;
  EXPECT_EQ(vyre_buffer_read(buffer, 0, &word, 4, nullptr), VYRE_OK);
  EXPECT_EQ(word, 9u);
}

TEST(CApi, PipelinesFitTheirConvention) {
  CModule module;
  ASSERT_EQ(load_text("program p workgroup(1) { read a: u32[] read_write b: u32[] read c: u32[] }",
                      module),
            VYRE_OK);
  const vyre_program* program = vyre_module_program(module, 0);
  CDevice device;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &device, nullptr), VYRE_OK);
  CPipeline pipeline;
  Why why;
  EXPECT_EQ(vyre_pipeline_make(device, program, 0, 0, &pipeline, &why), VYRE_OK);
  EXPECT_EQ(vyre_pipeline_make(device, program, 1, 0, &pipeline, &why), VYRE_ERROR);
  EXPECT_EQ(pipeline.handle, nullptr);
  EXPECT_EQ(first_code(why), "D008");
  EXPECT_EQ(vyre_pipeline_make(device, program, 2, 0, &pipeline, &why), VYRE_ERROR);
  EXPECT_EQ(first_code(why), "D008");
  EXPECT_EQ(vyre_pipeline_make(device, program, 2, 2, &pipeline, &why), VYRE_OK);
  EXPECT_EQ(vyre_pipeline_make(device, program, 3, 0, &pipeline, &why), VYRE_MISUSE);
  EXPECT_EQ(why.handle, nullptr);
}

// --- Misuse -------------------------------------------------------------------------------------

TEST(CApi, NullIsNeverFatal) {
  vyre_diagnostics_free(nullptr);
  vyre_module_free(nullptr);
  vyre_backends_free(nullptr);
  vyre_device_free(nullptr);
  vyre_outputs_free(nullptr);
  vyre_pipeline_free(nullptr);
  vyre_buffer_free(nullptr);
  vyre_sequence_free(nullptr);
  vyre_free(nullptr);

  EXPECT_EQ(vyre_diagnostics_count(nullptr), 0u);
  EXPECT_STREQ(vyre_diagnostics_text(nullptr), "");
  EXPECT_STREQ(vyre_diagnostics_json(nullptr), "");
  EXPECT_EQ(vyre_module_program_count(nullptr), 0u);
  EXPECT_EQ(vyre_module_program(nullptr, 0), nullptr);
  EXPECT_EQ(vyre_module_find_program(nullptr, "p"), nullptr);
  EXPECT_STREQ(vyre_program_name(nullptr), "");
  EXPECT_EQ(vyre_program_buffer_count(nullptr), 0u);
  EXPECT_EQ(vyre_backends_count(nullptr), 0u);
  EXPECT_EQ(vyre_outputs_count(nullptr), 0u);
  EXPECT_EQ(vyre_outputs_seconds(nullptr), 0);
  EXPECT_STREQ(vyre_outputs_backend(nullptr), "");
  EXPECT_STREQ(vyre_outputs_note(nullptr), "");
  EXPECT_EQ(vyre_buffer_size(nullptr), 0u);
}

TEST(CApi, ArgumentsThatAreMissingAreMisuse) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  const vyre_program* step = vyre_module_find_program(module, "step");
  CDevice device;
  ASSERT_EQ(vyre_device_open(nullptr, 0, &device, nullptr), VYRE_OK);
  CPipeline pipeline;
  ASSERT_EQ(vyre_pipeline_make(device, step, 0, 0, &pipeline, nullptr), VYRE_OK);
  CBuffer buffer;
  ASSERT_EQ(vyre_buffer_make(device, nullptr, 4, &buffer, nullptr), VYRE_OK);
  CBackends backends;
  ASSERT_EQ(vyre_backends_list(&backends), VYRE_OK);
  uint32_t word = 3;
  vyre_host_buffer data = {"data", &word, 4, &word};
  COutputs outputs;
  ASSERT_EQ(vyre_dispatch(step, device, kGrid, &data, 1, nullptr, &outputs, nullptr), VYRE_OK);
  Why broken;
  ASSERT_EQ(vyre_validate("x", 1, nullptr, &broken), VYRE_ERROR);

  vyre_diagnostic diagnostic;
  EXPECT_EQ(vyre_diagnostics_get(nullptr, 0, &diagnostic), VYRE_MISUSE);
  EXPECT_EQ(vyre_diagnostics_get(broken, 0, nullptr), VYRE_MISUSE);

  // Results are cleared even then.
  vyre_diagnostics* why = broken;
  vyre_module* cleared = module;
  EXPECT_EQ(vyre_load(nullptr, 1, "", &cleared, &why), VYRE_MISUSE);
  EXPECT_EQ(why, nullptr);
  EXPECT_EQ(cleared, nullptr);
  EXPECT_EQ(vyre_load("", 0, "", nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_validate(nullptr, 1, "", &why), VYRE_MISUSE);

  char* text = nullptr;
  void* bytes = nullptr;
  size_t size = 0;
  EXPECT_EQ(vyre_module_print(nullptr, &text), VYRE_MISUSE);
  EXPECT_EQ(vyre_module_print(module, nullptr), VYRE_MISUSE);
  EXPECT_EQ(vyre_module_encode(nullptr, &bytes, &size, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_module_encode(module, nullptr, &size, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_module_encode(module, &bytes, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(vyre_module_find_program(module, nullptr), nullptr);

  uint32_t axes[3];
  vyre_buffer_decl decl;
  EXPECT_EQ(vyre_program_workgroup_size(nullptr, axes), VYRE_MISUSE);
  EXPECT_EQ(vyre_program_workgroup_size(step, nullptr), VYRE_MISUSE);
  EXPECT_EQ(vyre_program_buffer(nullptr, 0, &decl), VYRE_MISUSE);
  EXPECT_EQ(vyre_program_buffer(step, 0, nullptr), VYRE_MISUSE);

  vyre_backend backend;
  vyre_device_info info;
  EXPECT_EQ(vyre_backends_list(nullptr), VYRE_MISUSE);
  EXPECT_EQ(vyre_backends_get(nullptr, 0, &backend), VYRE_MISUSE);
  EXPECT_EQ(vyre_backends_get(backends, 0, nullptr), VYRE_MISUSE);
  EXPECT_EQ(vyre_device_open("interp", 0, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_device_get_info(nullptr, &info), VYRE_MISUSE);
  EXPECT_EQ(vyre_device_get_info(device, nullptr), VYRE_MISUSE);

  vyre_outputs* none = outputs;
  EXPECT_EQ(vyre_dispatch(nullptr, device, kGrid, &data, 1, nullptr, &none, &why), VYRE_MISUSE);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(vyre_dispatch(step, device, nullptr, &data, 1, nullptr, &none, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_dispatch(step, device, kGrid, nullptr, 1, nullptr, &none, &why), VYRE_MISUSE);
  for (const vyre_host_buffer& wrong : {vyre_host_buffer{nullptr, &word, 4, nullptr},
                                        vyre_host_buffer{"data", nullptr, 4, &word}}) {
    EXPECT_EQ(vyre_dispatch(step, device, kGrid, &wrong, 1, nullptr, &none, &why), VYRE_MISUSE);
  }
  vyre_output output;
  EXPECT_EQ(vyre_outputs_get(nullptr, 0, &output), VYRE_MISUSE);
  EXPECT_EQ(vyre_outputs_get(outputs, 0, nullptr), VYRE_MISUSE);
  char digest[65];
  EXPECT_EQ(vyre_outputs_find(nullptr, "data", &output, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_outputs_find(outputs, nullptr, &output, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_outputs_find(outputs, "data", nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_outputs_digest(nullptr, digest), VYRE_MISUSE);
  EXPECT_EQ(vyre_outputs_digest(outputs, nullptr), VYRE_MISUSE);
  // Only a read_write buffer has a result.
  const Words eight(8);
  Words result(8);
  const vyre_host_buffer with_result[] = {{"out", nullptr, 0, nullptr},
                                          {"data", eight.data(), 32, result.data()},
                                          {"scale", nullptr, 0, nullptr},
                                          {"text", nullptr, 0, nullptr}};
  EXPECT_EQ(vyre_dispatch(vyre_module_program(module, 0), device, kGrid, with_result, 4, nullptr,
                          nullptr, &why),
            VYRE_MISUSE);

  vyre_pipeline* no_pipeline = pipeline;
  EXPECT_EQ(vyre_pipeline_make(nullptr, step, 0, 0, &no_pipeline, &why), VYRE_MISUSE);
  EXPECT_EQ(no_pipeline, nullptr);
  EXPECT_EQ(vyre_pipeline_make(device, nullptr, 0, 0, &no_pipeline, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_pipeline_make(device, step, 0, 0, nullptr, &why), VYRE_MISUSE);
  vyre_buffer* no_buffer = buffer;
  EXPECT_EQ(vyre_buffer_make(nullptr, &word, 4, &no_buffer, &why), VYRE_MISUSE);
  EXPECT_EQ(no_buffer, nullptr);
  EXPECT_EQ(vyre_buffer_make(device, &word, 4, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_buffer_write(nullptr, 0, &word, 4, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_buffer_write(buffer, 0, nullptr, 4, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_buffer_read(nullptr, 0, &word, 4, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_buffer_read(buffer, 0, nullptr, 4, &why), VYRE_MISUSE);

  const vyre_binding nameless = {nullptr, buffer}, empty = {"data", nullptr};
  EXPECT_EQ(vyre_run(nullptr, nullptr, 0, nullptr, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_run(device, nullptr, 1, nullptr, nullptr, &why), VYRE_MISUSE);
  for (const vyre_launch& wrong :
       {vyre_launch{nullptr, {1, 1, 1}, nullptr, 0}, vyre_launch{pipeline, {1, 1, 1}, nullptr, 1},
        vyre_launch{pipeline, {1, 1, 1}, &nameless, 1},
        vyre_launch{pipeline, {1, 1, 1}, &empty, 1}}) {
    EXPECT_EQ(vyre_run(device, &wrong, 1, nullptr, nullptr, &why), VYRE_MISUSE);
    vyre_sequence* sequence = nullptr;
    EXPECT_EQ(vyre_sequence_record(device, &wrong, 1, &sequence, &why), VYRE_MISUSE);
  }
  vyre_sequence* sequence = nullptr;
  EXPECT_EQ(vyre_sequence_record(nullptr, nullptr, 0, &sequence, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_sequence_record(device, nullptr, 0, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_sequence_run(nullptr, nullptr, nullptr, &why), VYRE_MISUSE);

  vyre_diagnostics* races = broken;
  EXPECT_EQ(vyre_find_races(nullptr, kGrid, &data, 1, nullptr, &races, &why), VYRE_MISUSE);
  EXPECT_EQ(races, nullptr);
  EXPECT_EQ(vyre_find_races(step, nullptr, &data, 1, nullptr, &races, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_find_races(step, kGrid, nullptr, 1, nullptr, &races, &why), VYRE_MISUSE);
  EXPECT_EQ(vyre_find_races(step, kGrid, &data, 1, nullptr, nullptr, &why), VYRE_MISUSE);
  EXPECT_EQ(word, 10u);  // of the one dispatch that was right
  EXPECT_EQ(why, nullptr);
}

// --- Threads and C ------------------------------------------------------------------------------

TEST(CApi, AModuleIsUsedByManyThreads) {
  CModule module;
  ASSERT_EQ(load_text(kText, module), VYRE_OK);
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int& mine : good) {
    threads.emplace_back([&module, &mine] {
      for (uint32_t i = 0; i < 20; ++i) {
        uint32_t word = i;
        const vyre_host_buffer data = {"data", &word, 4, &word};
        const vyre_status status = vyre_dispatch(vyre_module_program(module, 1), nullptr, kGrid,
                                                 &data, 1, nullptr, nullptr, nullptr);
        if (status == VYRE_OK && word == 3 * i + 1) ++mine;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 20));
}

TEST(Example, CPrintsSquaresAndTheMistakesOfAProgram) {
  EXPECT_EQ(output_of(kExampleDispatchC),
            "1 4 9 16 25 \n"
            "1 16 81 256 625 \n"
            "broken.vyre:5:3: error[V006]: store to `data`, which is a read buffer\n"
            "5 |   data[i] = data[i] * data[j]\n"
            "  |   ^~~~\n"
            "fix: declare it `read_write data`, or store to another buffer\n"
            "broken.vyre:5:28: error[V024]: `j` is not declared\n"
            "5 |   data[i] = data[i] * data[j]\n"
            "  |                            ^\n"
            "fix: declare it first, as in `let j = 0`\n");
}

}  // namespace
}  // namespace vyre
