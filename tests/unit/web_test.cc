// web/vyre-webgpu.mjs gives the bytes of the interpreter on the WebGPU of node, of Deno and of a
// browser. The scripts in tests/web/ run the cases that are written here.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/build.h"
#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tests/support/webgpu_fixture.h"
#include "tests/support/wgsl_by_hand.h"
#include "vyre/conform/generator.h"

namespace vyre {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::uint32_t>;

std::string base64(std::span<const std::byte> bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

// An artifact, as docs/backends/webgpu.md describes it.
Json artifact_of(const WgslKernel& kernel, const Program& program) {
  Json limits = Json::array();
  for (const LaunchShape::Limit& limit : kernel.call.launch.limits) {
    limits.push_back({{"axis", limit.axis}, {"distance", limit.distance}});
  }
  Json buffers = Json::array();
  for (const ShaderBinding& binding : kernel.call.buffers) {
    const BufferDecl& buffer = program.buffers[binding.buffer.index];
    buffers.push_back({{"name", buffer.name},
                       {"stride", stride(buffer.element)},
                       {"is_written", binding.is_written}});
  }
  return {{"name", program.name},
          {"text", kernel.text},
          {"size", kernel.call.launch.size},
          {"groups", kernel.call.launch.groups},
          {"limits", std::move(limits)},
          {"buffers", std::move(buffers)},
          {"tables", kernel.call.tables}};
}

Json case_of(const Linked& linked, const WgslKernel& kernel, const Grid& grid,
             const std::vector<HostBuffer>& buffers) {
  Json inputs = Json::object();
  for (const HostBuffer& buffer : buffers) inputs[std::string(buffer.name)] = base64(buffer.bytes);
  DispatchOptions options;
  options.device = &reference();
  Json expected = Json::object();
  for (const OutputBuffer& output : must(dispatch(linked, grid, buffers, options)).buffers) {
    const bool is_used = std::ranges::any_of(kernel.call.buffers, [&](const ShaderBinding& each) {
      return linked.program().buffers[each.buffer.index].name == output.name;
    });
    if (is_used) expected[output.name] = base64(output.bytes);
  }
  return {{"name", linked.program().name + " on " + ids_text(grid.axes)},
          {"artifact", artifact_of(kernel, linked.program())},
          {"grid", grid.axes},
          {"inputs", std::move(inputs)},
          {"expected", std::move(expected)}};
}

Json case_of(const std::string& text, const Grid& grid,
             const std::vector<std::pair<std::string, Words>>& buffers) {
  const Linked linked = linked_of(text);
  std::vector<HostBuffer> given;
  for (const auto& [name, words] : buffers) given.emplace_back(name, words);
  return case_of(linked, kernel_by_hand(linked), grid, given);
}

// A generated program, as it is emitted.
Json case_of(const Case& c) {
  const Linked linked = must(link(c));
  const WgslKernel kernel = must(emit_wgsl(must(lower(linked, *find_backend("wgsl")))));
  std::vector<HostBuffer> given;
  for (std::size_t i = 0; i < linked.program().buffers.size(); ++i) {
    const BufferDecl& buffer = linked.program().buffers[i];
    if (is_bound(buffer.access)) given.emplace_back(buffer.name, c.contents[i]);
  }
  return case_of(linked, kernel, c.grid, given);
}

Json refused(const std::string& name, const std::string& why) {
  const Linked linked = linked_of(one_buffer(name));
  const WgslKernel kernel = kernel_by_hand(linked);
  return {{"name", name},
          {"artifact", artifact_of(kernel, linked.program())},
          {"grid", {1}},
          {"inputs", {{"out", ""}}},
          {"refused", why}};
}

Words counting(std::size_t count) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i * 2654435761u);
  return words;
}

Json all_cases() {
  Json cases = Json::array();
  for (const std::size_t a : {0u, 1u, 64u, 300u}) {
    for (const std::size_t out : {0u, 1u, 63u, 64u, 65u, 300u}) {
      cases.push_back(case_of(kAdd, {2, 2}, {{"a", counting(a)}, {"out", counting(out)}}));
    }
  }
  for (const std::uint32_t count : {0u, 1u, 3u, 4u, 5u, 4u * 65'535 + 2}) {
    cases.push_back(case_of(kNumber, {count}, {{"out", Words(count + 3, 7)}}));
  }
  cases.push_back(case_of(kNumber, {4 * 65'535 * 2 + 9}, {{"out", Words(70'000)}}));
  cases.push_back(case_of(kNumber, {4 * 700 + 1}, {{"out", Words(2900)}}));
  cases.back()["most"] = 1;  // more dispatches than are submitted together
  Json look_up = case_of(kAdd, {1}, {{"a", {}}, {"out", Words(5)}});
  const Linked high = linked_of(one_buffer("look_up_high"));
  look_up["artifact"] = artifact_of(kernel_by_hand(high), high.program());
  const Words looked_up{100, 200, 300, 100, 200};
  look_up["expected"]["out"] = base64(std::as_bytes(std::span(looked_up)));
  look_up["inputs"].erase("a");
  cases.push_back(std::move(look_up));
  for (std::uint64_t seed = 0; seed < (is_long() ? 1000 : 30); ++seed) {
    cases.push_back(case_of(generate_case(seed, {.statements = 6, .dense = seed % 2 == 1})));
  }
  cases.push_back(refused("wrong", "wrong does not compile\n2:"));
  cases.push_back(refused("nameless", "main"));
  return cases;
}

class Web : public ::testing::Test {
 protected:
  // Runs a script on all cases, with what stands before them in the command.
  void check(const std::string& command, const char* driver) {
    const Json cases = all_cases();
    std::ofstream(folder_ / "cases.json") << cases;
    std::string whole = command + " " + (folder_ / "cases.json") + " 2>&1";
    if (!drivers_are_chosen() && access(driver, R_OK) == 0) {
      whole = std::string(kDriverVariable) + "=" + driver + " " + whole;
    }
    std::FILE* pipe = popen(whole.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said;
    for (int byte = 0; (byte = std::fgetc(pipe)) != EOF;) said += static_cast<char>(byte);
    const int status = WEXITSTATUS(pclose(pipe));
    if (status == 77) GTEST_SKIP() << "SKIPPED: " << said;
    EXPECT_EQ(status, 0) << whole << "\n" << said;
    EXPECT_NE(said.find(std::to_string(cases.size()) + " cases agree"), std::string::npos) << said;
  }

  // Where `./dev test` puts what it installs for these tests.
  static std::string installed(const std::string& path) {
    return source_root() + "/web/node_modules/" + path;
  }
  static bool exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }
  static bool has_node() { return std::system("node --version > /dev/null 2>&1") == 0; }

  const std::string scripts_ = source_root() + "/tests/web/";
  TempFolder folder_;
};

TEST_F(Web, NodeGivesTheSameBytes) {
  if (!has_node()) GTEST_SKIP() << "SKIPPED: there is no node";
  if (!exists(installed("webgpu"))) GTEST_SKIP() << "SKIPPED: npm's webgpu is not installed";
  check("node " + scripts_ + "run.mjs", kSoftwareDriver);
}

// Its WebGPU is not Dawn, and takes the software driver that Dawn does not.
TEST_F(Web, DenoGivesTheSameBytes) {
  const std::string deno = installed("@deno/linux-x64-glibc/deno");
  if (!exists(deno)) GTEST_SKIP() << "SKIPPED: npm's @deno/linux-x64-glibc is not installed";
  constexpr const char* kMesaDriver = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
  check(deno + " run --no-remote --allow-read --no-prompt " + scripts_ + "run.mjs",
        exists(kMesaDriver) ? kMesaDriver : kSoftwareDriver);
}

TEST_F(Web, ChromiumGivesTheSameBytes) {
  constexpr const char* kChromium = "/usr/bin/chromium";
  if (!exists(kChromium)) GTEST_SKIP() << "SKIPPED: there is no " << kChromium;
  if (!has_node()) GTEST_SKIP() << "SKIPPED: there is no node";
  if (!exists(installed("playwright-core"))) {
    GTEST_SKIP() << "SKIPPED: npm's playwright-core is not installed";
  }
  check("node " + scripts_ + "chromium.mjs " + kChromium, kSoftwareDriver);
}

}  // namespace
}  // namespace vyre
