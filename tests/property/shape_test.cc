// Shape passes change nothing but how a program is launched: generated programs, and templates that
// the passes are for, give the same bytes before and after each of them and after all, in grids
// whose last workgroups are not full.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/differential.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/run.h"
#include "vyre/passes/collectives.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Bytes = std::vector<std::vector<std::byte>>;

constexpr const char* kShapes[] = {"merge", "coarsen", "predicate", "gather"};

// A GPU that has less than most.
constexpr GpuLimits kSmall{
    .invocations = 128, .memory = 512, .atomics = false, .collectives = false};

// What of it a program takes besides what it took before; nothing when all is well.
std::string beyond_small(const Program& program, const Program& before) {
  const auto bytes = [](const Program& of) { return workgroup_bytes(of) + collective_bytes(of); };
  if (invocations_of(program) > std::max<std::uint64_t>(128, invocations_of(before))) {
    return "a large workgroup:\n" + print(program);
  }
  if (bytes(program) > std::max<std::uint64_t>(512, bytes(before))) {
    return "much workgroup memory:\n" + print(program);
  }
  for (const Stmt& stmt : program.body.stmts) {
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr) continue;
    if (program.buffers[atomic->buffer.index].access == BufferAccess::Workgroup) {
      return "atomics on workgroup memory:\n" + print(program);
    }
  }
  return {};
}

// The outputs of a program in the dispatch of a case; none when it takes too long.
std::optional<Bytes> run(const Shaped& shaped, const Case& c) {
  const std::array<std::uint64_t, 3> dispatched{c.grid[0], c.grid[1], c.grid[2]};
  const std::vector<std::uint32_t> words = shaped.launch.words(dispatched);
  std::vector<HostBuffer> buffers;
  for (std::size_t i = 0; i < shaped.program.buffers.size(); ++i) {
    const BufferDecl& buffer = shaped.program.buffers[i];
    if (!is_bound(buffer.access)) continue;
    if (BufferId{i} == shaped.launch.uniform) {
      buffers.emplace_back(buffer.name, std::as_bytes(std::span(words)));
    } else {
      buffers.emplace_back(buffer.name, c.contents[i]);
    }
  }
  Grid grid;
  const std::array<std::uint64_t, 3> own = shaped.launch.grid(dispatched);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid.axes[axis] = static_cast<std::uint32_t>(own[axis]);
  }
  DispatchOptions options;
  options.device = &reference();
  options.run.threads = 1;
  options.run.max_steps = 3'000'000;
  const Result<Outputs> outputs = dispatch(Linked::trust(shaped.program), grid, buffers, options);
  if (!outputs.ok()) {
    EXPECT_EQ(outputs.diagnostics()[0].code, Code::R004) << render(outputs.diagnostics()[0]);
    return {};
  }
  Bytes bytes;
  for (const OutputBuffer& buffer : outputs->buffers) bytes.push_back(buffer.bytes);
  return bytes;
}

class ShapePasses : public ::testing::Test {
 protected:
  // What is wrong after one of the passes, or all in a row; nothing when all is well.
  std::string wrong_with(const Case& c) {
    const Result<Linked> linked = link(c);
    if (!linked.ok()) return {};
    Result<Program> inlined = inline_calls(*linked);
    if (!inlined.ok()) return {};
    // Backends say how many workgroups the host has asked for, however many there are in the end.
    for (Expr& expr : inlined->body.exprs) {
      if (expr.op != Operation::NumWorkgroups) continue;
      expr = {.detail = static_cast<std::uint8_t>(DataType::U32), .imm = c.grid[expr.detail]};
    }
    inlined->body = canonical(inlined->body);
    const Shaped plain{*inlined, plain_launch(*inlined)};
    const std::optional<Bytes> expected = run(plain, c);
    if (!expected) return {};
    const auto compare = [&](const Shaped& shaped, std::string_view after) -> std::string {
      if (const std::optional<Bytes> found = run(shaped, c); !found || *found == *expected)
        return {};
      return "other bytes after " + std::string(after) + ":\n" + print(shaped.program);
    };
    for (const char* name : kShapes) {
      if (std::optional<Shaped> shaped = apply(plain, name)) {
        ++changed_[name];
        if (std::string wrong = compare(*shaped, name); !wrong.empty()) return wrong;
      }
    }
    Shaped last = plain;
    for (const char* name : kShapes) {
      if (std::optional<Shaped> shaped = apply(last, name)) last = std::move(*shaped);
    }
    if (std::string wrong = compare(last, "all"); !wrong.empty()) return wrong;
    const Program optimised = optimise(*inlined);
    if (std::string wrong = compare(shape_for_gpu(optimised, {}), "optimising and all");
        !wrong.empty()) {
      return wrong;
    }
    const Shaped small = shape_for_gpu(optimised, kSmall);
    ++changed_[small.launch.groups[0] > 1 ? "small" : "plain"];
    if (const std::string wrong = beyond_small(small.program, optimised); !wrong.empty()) {
      return wrong;
    }
    return compare(small, "all for a small GPU");
  }
  static std::optional<Shaped> apply(const Shaped& from, const char* name) {
    const Pass& pass = *find_pass(name);
    if (pass.shape != nullptr) return pass.shape(from, {});
    std::optional<Program> program = pass.run(from.program);
    if (!program) return {};
    return Shaped{std::move(*program), from.launch};
  }

  std::map<std::string, std::size_t> changed_;
};

TEST_F(ShapePasses, LeaveTheBytesOfGeneratedProgramsAsTheyAre) {
  const std::uint64_t count = cases(600, 20'000);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    GeneratorOptions options;
    options.statements = 3 + static_cast<std::uint32_t>(seed % 14);
    const Case c = generate_case(seed, options);
    const std::string wrong = wrong_with(c);
    if (wrong.empty()) continue;
    const Case small = reduce(c, [&](const Case& smaller) { return !wrong_with(smaller).empty(); },
                              {.tries = 1000});
    FAIL() << "seed " << seed << "\n" << to_text(small) << "\n" << wrong_with(small);
  }
  // All of them have workgroup memory, and few can be coarsened: more than the slow build makes.
  EXPECT_GT(changed_["predicate"], 0u);
  if (!kSanitized) EXPECT_GT(changed_["coarsen"], 0u);
}

// The workgroup memory is given by the host instead, full of ones.
TEST_F(ShapePasses, ZerosAreWrittenToEveryElement) {
  for (const char* type : {"u8", "i16", "u32", "u64", "u128"}) {
    for (const char* size : {"1", "3", "2, 2", "64"}) {
      for (std::uint32_t count = 1; count < 40; ++count) {
        const std::string text = std::string("program p workgroup(") + size +
                                 ") {\nread_write out: u32[1] @0\nworkgroup own: " + type + "[" +
                                 std::to_string(count) +
                                 "]\nfor k in 0..len(own) { out[0] = out[0] | u32(own[k]) }\n}";
        const Result<Loaded> loaded = load_module({"test", text});
        ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
        const std::optional<Program> written =
            find_pass("zeros")->run(std::get<Program>(loaded->module.items[0]));
        ASSERT_TRUE(written.has_value()) << text;
        Program given = *written;
        given.buffers[1].access = BufferAccess::ReadWrite;
        given.buffers[1].binding = 1;
        const std::vector<std::byte> ones(stride(given.buffers[1].element) * count, std::byte{255});
        const std::vector<std::byte> zero(4);
        DispatchOptions options;
        options.device = &reference();
        const Result<Outputs> outputs =
            dispatch(Linked::trust(given), Grid(1), {{"out", zero}, {"own", ones}}, options);
        ASSERT_TRUE(outputs.ok()) << render(outputs.diagnostics()[0]);
        EXPECT_EQ(outputs->buffers[0].bytes, zero) << print(given);
      }
    }
  }
}

TEST_F(ShapePasses, LeaveTheBytesOfWhatTheyAreForAsTheyAre) {
  const std::string stream = R"(
  let i = invocation_id.x
  if i < 100 { out[i] = a[i] ^ a[i + 1] } else { out[i] = 7 })";
  const std::string ids = R"(
  let at = workgroup_id.x * 100 + local_id.x + invocation_id.y
  out[invocation_id.x + invocation_id.y * 512] = at * 3 + a[at])";
  const std::string rows = R"(
  let at = local_id.y * 4 + local_id.x
  own[at] = a[invocation_id.y * 8 + local_id.x]
  same[at] = a[invocation_id.x + 8 * local_id.y]
  barrier
  if at < 9 { out[invocation_id.y * 512 + invocation_id.x] = own[15 - at] + same[at ^ 1] })";
  const std::string counts = R"(
  let x = a[invocation_id.x]
  if x == 3 { return }
  atomic_OP(out[x & 0xf], TYPE(x)))";
  const std::string few = R"(
  let sum = 0
  for k in 0..7 { if k + invocation_id.x < 50 { sum = sum * 3 + a[invocation_id.x + k * 3] } }
  out[invocation_id.x] = sum)";
  struct Template {
    const char* workgroup;
    std::string memory;
    std::string body;
  };
  std::vector<Template> all{{"7", "", stream},
                            {"64", "", stream},
                            {"256", "", stream},
                            {"1", "", ids},
                            {"5, 3", "", ids},
                            {"48", "", ids},
                            {"4, 4", "workgroup own: u32[16]\nworkgroup same: u32[16]\n", rows},
                            {"64", "", few}};
  for (const char* op : {"add", "min", "max", "and", "or", "xor"}) {
    for (const char* type : {"u32", "i32"}) {
      std::string body = counts;
      body.replace(body.find("OP"), 2, op);
      body.replace(body.find("TYPE"), 4, type);
      all.push_back({"64", type, body});
      all.push_back({"200", type, body});
    }
  }
  Random random(7);
  for (const Template& each : all) {
    const bool updates_out = each.memory == "u32" || each.memory == "i32";
    const std::string text =
        "program p workgroup(" + std::string(each.workgroup) +
        ") {\nread a: u32[]\nread_write out: " + (updates_out ? each.memory : "u32") + "[]\n" +
        (updates_out ? "" : each.memory) + each.body + "\n}\n";
    const Result<Loaded> loaded = load_module({"test", text});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]) << text;
    for (const std::uint32_t groups : {1u, 3u, 5u, 70u}) {
      Case c{loaded->module, {groups, 1 + groups % 4, 1}, {}};
      for (std::size_t i = 0; i < c.program().buffers.size(); ++i) {
        std::vector<std::uint32_t> words(
            c.program().buffers[i].access == BufferAccess::Workgroup ? 0 : 2000 + groups * 20);
        for (std::uint32_t& word : words) word = random.word();
        const auto bytes = std::as_bytes(std::span(words));
        c.contents.emplace_back(bytes.begin(), bytes.end());
      }
      EXPECT_EQ(wrong_with(c), "") << text;
    }
  }
  EXPECT_GE(changed_["merge"], 16u);
  EXPECT_GE(changed_["coarsen"], 16u);
  EXPECT_GE(changed_["predicate"], 4u);
  EXPECT_GE(changed_["gather"], 64u);
  EXPECT_GE(changed_["small"], 16u);
}

// What is not there is not taken, and not more than is.
TEST(ShapeLimits, Hold) {
  const auto program = [](const std::string& size, const std::string& memory,
                          const std::string& body) {
    const Result<Loaded> loaded =
        load_module({"test", "program p workgroup(" + size + ") {\nread a: u32[]\n" +
                                 "read_write out: u32[]\n" + memory + body + "\n}\n"});
    EXPECT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]);
    const Program plain = std::get<Program>(loaded->module.items[0]);
    return Shaped{plain, plain_launch(plain)};
  };
  const Shaped stream = program("32", "", "out[invocation_id.x] = a[invocation_id.x]");
  EXPECT_EQ(merge(stream, {.invocations = 256})->program.workgroup_size[0], 256u);
  EXPECT_EQ(merge(stream, {.invocations = 128})->program.workgroup_size[0], 128u);
  EXPECT_EQ(merge(stream, {.invocations = 63}), std::nullopt);

  const Shaped counts = program("64", "", "atomic_add(out[a[invocation_id.x] & 255], 1)");
  EXPECT_NE(gather(counts, {.memory = 1024}), std::nullopt);
  EXPECT_EQ(gather(counts, {.memory = 1023}), std::nullopt);
  EXPECT_EQ(gather(counts, {.atomics = false}), std::nullopt);

  const Shaped rows = program("64", "workgroup own: u32[64]\n",
                              "own[local_id.x] = a[invocation_id.x]\nbarrier\n"
                              "out[invocation_id.x] = own[63 - local_id.x]");
  EXPECT_NE(coarsen(rows, {.memory = 1024}), std::nullopt);
  EXPECT_EQ(coarsen(rows, {.memory = 1023}), std::nullopt);

  // Four of them, of 256 bytes each.
  const Shaped sums = program("64", "",
                              "let s = workgroup_add(a[invocation_id.x])\n"
                              "out[invocation_id.x] = s");
  EXPECT_NE(coarsen(sums, {.memory = 0}), std::nullopt);
  EXPECT_NE(coarsen(sums, {.memory = 1024, .collectives = false}), std::nullopt);
  EXPECT_EQ(coarsen(sums, {.memory = 1023, .collectives = false}), std::nullopt);
}

}  // namespace
}  // namespace vyre
