// The runtime: what a dispatch checks before it runs and in which words, what it gives back,
// buffers that stay on a device, conventions, options of a run, and accesses out of bounds.
#include "vyre/runtime/dispatch.h"
#include "tests/support/command.h"
#include "tests/support/must.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <thread>

#include "vyre/backends/interp/device.h"
#include "vyre/base/text.h"
#include "vyre/interp/interp.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/script.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;

Words iota(std::size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 0);
  return words;
}

Linked program_of(const std::string& text) {
  const Result<Loaded> loaded = load_module({"test.vyre", text});
  if (!loaded.ok()) ADD_FAILURE() << render(loaded.diagnostics()[0]) << "\n" << text;
  return loaded.ok() ? program_at(*loaded, loaded->module.items.size() - 1) : Linked();
}

std::unique_ptr<Device> interpreter() { return must(open_device(*find_backend("interp"))); }

// A buffer on a device that has to have room for it.
DeviceBuffer upload(Device& device, const auto& contents) {
  return must(make_buffer(device, std::as_bytes(std::span(contents))));
}

Words download(const DeviceBuffer& buffer) {
  const std::vector<std::byte> bytes = must(read_buffer(buffer));
  Words words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

// Code, problem and fix, one diagnostic after the other.
using Reports = std::vector<std::array<std::string, 3>>;

Reports reports(const std::vector<Diagnostic>& diagnostics) {
  Reports all;
  for (const Diagnostic& diagnostic : diagnostics) {
    all.push_back({std::string(name(diagnostic.code)), diagnostic.problem, diagnostic.fix});
  }
  return all;
}

template <class T>
Reports reports(const Result<T>& result) {
  return reports(result.diagnostics());
}

// Forwards to the interpreter, counts what reaches the device, and has limits of its own.
class SpyDevice : public Device {
 public:
  SpyDevice() : inner_(interpreter()), limits(inner_->info()) { limits.name = "a spy"; }

  const DeviceInfo& info() const override { return limits; }
  Result<std::unique_ptr<Kernel>> load(const Artifact& artifact) override {
    ++loads;
    return inner_->load(artifact);
  }
  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes) override {
    ++allocations;
    allocated = bytes;
    return inner_->allocate(bytes);
  }
  Result<void> write(DeviceMemory& memory, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    return inner_->write(memory, offset, bytes);
  }
  Result<void> read(const DeviceMemory& memory, std::uint64_t offset,
                    std::span<std::byte> bytes) override {
    read_bytes += bytes.size();
    return inner_->read(memory, offset, bytes);
  }
  Result<std::vector<double>> run(std::span<const Launch> launches,
                                  const RunOptions& options) override {
    ++runs;
    return inner_->run(launches, options);
  }

 private:
  std::unique_ptr<Device> inner_;

 public:
  DeviceInfo limits;
  int loads = 0;
  int allocations = 0;
  std::uint64_t allocated = 0;  // bytes, the last time
  int runs = 0;
  std::size_t read_bytes = 0;
};

constexpr const char* kCopy = R"(program copy workgroup(4) {
  read       from: u32[2] @0
  read_write to: u32[2] @1
  workgroup  tile: u32[4]
  to[invocation_id.x] = from[invocation_id.x]
})";

// --- What a dispatch gives back -----------------------------------------------------------------

TEST(Dispatch, ReadWriteBuffersComeBackInTheOrderOfBindings) {
  const Words given = {7}, a = {1}, b = {2, 3}, c = {4};
  const Result<Outputs> outputs =
      dispatch(program_of(R"(program p workgroup(1) {
        read_write late: u32[] @9
        read       given: u32[] @4
        read_write early: u32[] @0
        workgroup  tile: u32[1]
        read_write middle: i32[] @5
        late[0] = given[0]
      })"),
               1, {{"middle", c}, {"late", a}, {"given", given}, {"early", b}});
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->buffers.size(), 3u);
  EXPECT_EQ(outputs->buffers[0].name, "early");
  EXPECT_EQ(outputs->buffers[1].name, "middle");
  EXPECT_EQ(outputs->buffers[1].element, DataType::I32);
  EXPECT_EQ(outputs->buffers[2].name, "late");
  EXPECT_EQ(*outputs->get<std::uint32_t>("early"), (Words{2, 3}));
  EXPECT_EQ(*outputs->get<std::uint32_t>("late"), Words{7});
  EXPECT_EQ(reports(outputs->get<std::uint32_t>("given")),
            (Reports{{"D001", "there is no read_write buffer `given` among the outputs",
                      "name one that there is: `early`, `middle`, `late`"}}));
  EXPECT_EQ(a, Words{1});
  EXPECT_GE(outputs->seconds, 0);
}

TEST(Dispatch, OutputsAreReadIntoMemoryOfTheHost) {
  const Words data = {1, 2, 3, 4, 5, 6};
  const Result<Outputs> outputs = dispatch(
      program_of("program p workgroup(1) { read_write data: u32[] }"), 1, {{"data", data}});
  ASSERT_TRUE(outputs.ok());
  std::array<std::uint64_t, 2> pairs{};
  ASSERT_TRUE(outputs->read("data", pairs, 1).ok());
  EXPECT_EQ(pairs[0], 3 + (std::uint64_t{4} << 32));
  EXPECT_EQ(pairs[1], 5 + (std::uint64_t{6} << 32));
  Words middle(4);
  ASSERT_TRUE(outputs->read("data", std::span(middle).subspan(1, 2), 2).ok());
  EXPECT_EQ(middle, (Words{0, 3, 4, 0}));
  const Reports beyond = {{"D002", "16 bytes at 16 are more than a buffer of 24 bytes has",
                           "read less, or from an earlier element"}};
  EXPECT_EQ(reports(outputs->read("data", pairs, 2)), beyond);
  EXPECT_EQ(reports(outputs->read("dat", pairs)).at(0)[0], "D001");
  EXPECT_EQ(reports(outputs->get<std::array<char, 5>>("data")),
            (Reports{{"D003", "a buffer of 24 bytes is not a whole number of elements of 5 bytes",
                      "read it as elements of another size"}}));
}

// Buffers of u8 and i16 are vectors of the host's, of any number of elements.
TEST(Dispatch, NarrowElementsAreNumbersOfTheHost) {
  const Linked program = program_of(R"(program p workgroup(4) {
    read       text: u8[]
    read_write sums: i16[]
    read_write last: u8[]
    let i = invocation_id.x
    sums[i] = sums[i] - i32(text[i])
    if i < len(text) { last[i] = text[len(text) - 1 - i] + 1 }
  })");
  const std::vector<std::uint8_t> text = {1, 200, 255}, last(3);
  const std::vector<std::int16_t> sums = {-7, 100, 32767, 5, -32768};
  for (const char* backend : {"interp", "cpu"}) {
    const Result<std::unique_ptr<Device>> device = open_device(backend);
    if (!device) continue;
    const Result<Outputs> outputs =
        dispatch(program, 2, {{"text", text}, {"sums", sums}, {"last", last}}, {device->get(), {}});
    ASSERT_TRUE(outputs.ok()) << render(outputs.diagnostics()[0]);
    EXPECT_EQ(*outputs->get<std::int16_t>("sums"),
              (std::vector<std::int16_t>{-8, -100, 32512, 5, -32768}));
    EXPECT_EQ(*outputs->get<std::uint8_t>("last"), (std::vector<std::uint8_t>{0, 201, 2}));
    std::array<std::int16_t, 2> part{};
    ASSERT_TRUE(outputs->read("sums", part, 1).ok());
    EXPECT_EQ(part, (std::array<std::int16_t, 2>{-100, 32512}));

    const Result<Pipeline> pipeline = make_pipeline(**device, program);
    ASSERT_TRUE(pipeline.ok());
    DeviceBuffer in = must(make_buffer(**device, text)), out = must(make_buffer(**device, sums)),
                 back = must(make_buffer(**device, last));
    ASSERT_TRUE(write_buffer(in, std::array<std::uint8_t, 1>{9}, 2).ok());
    const PipelineLaunch launches[] = {
        {&*pipeline, 2, {{"text", &in}, {"sums", &out}, {"last", &back}}}};
    ASSERT_TRUE(run_launches(**device, launches).ok());
    EXPECT_EQ(*read_buffer<std::uint8_t>(back), (std::vector<std::uint8_t>{10, 201, 2}));
    ASSERT_TRUE(read_buffer(out, part, 2).ok());
    EXPECT_EQ(part, (std::array<std::int16_t, 2>{32758, 5}));
  }
  const std::vector<std::uint8_t> odd(5);
  EXPECT_EQ(reports(dispatch(program, 1, {{"text", text}, {"sums", odd}, {"last", last}})).at(0)[0],
            "D003");
  EXPECT_EQ(reports(dispatch(program_of("program p workgroup(1) { read_write t: u8[4] }"), 1,
                             {{"t", text}}))
                .at(0)[0],
            "D002");
}

// The digest is what `vyre run` prints; run_test.cc has answers from elsewhere.
TEST(Dispatch, TheDigestCoversAllOutputs) {
  const std::string a = "abcd", b = "efgh";
  const Result<Outputs> outputs = dispatch(
      program_of("program p workgroup(1) { read_write b: u32[] @2 read_write a: bytes @0 }"), 1,
      {{"b", b}, {"a", a}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(digest(*outputs), "f3c718f594ba6fa0035f258225387f324feaef7768ece6dac1ccaa7d46d1e2aa");
}

TEST(Dispatch, OutputsSayWhatRanAndWhy) {
  const Linked program = program_of("program p workgroup(1) { read_write out: u32[] }");
  const Words out(1);
  const Result<Outputs> by_default = dispatch(program, 1, {{"out", out}});
  ASSERT_TRUE(by_default.ok());
  EXPECT_EQ(by_default->backend, default_backend().name);
  EXPECT_EQ(by_default->note.empty(), by_default->backend == "cpu");
  // An order is something to ask the interpreter for.
  DispatchOptions ordered;
  ordered.run.max_steps = 1000;
  const Result<Outputs> in_order = dispatch(program, 1, {{"out", out}}, ordered);
  ASSERT_TRUE(in_order.ok());
  EXPECT_EQ(in_order->backend, "interp");
  EXPECT_EQ(in_order->note, "");
  EXPECT_EQ(open_interp("why not")->info().note, "why not");
}

TEST(Dispatch, DevicesAreOpenedByName) {
  EXPECT_EQ((*open_device("interp"))->info().backend, "interp");
  EXPECT_EQ(reports(open_device("gpu")).at(0)[1],
            "backend `gpu` cannot run here: vyre knows none of this name");
  EXPECT_EQ(reports(open_device("interp", 1)).at(0)[0], reports(open_device("cpu", 7)).at(0)[0]);
  EXPECT_EQ((*open_device())->info().backend, default_backend().name);
}

TEST(Dispatch, RacesAreFoundFromHostBytes) {
  const std::string text = R"(program p workgroup(4) {
  read_write out: u32[]
  read       data: bytes
  out[0] = data[0] + local_id.x
}
op my.unused(x: u32) -> u32 { return x }
)";
  const Result<Loaded> loaded = load_module({"test.vyre", text});
  ASSERT_TRUE(loaded.ok());
  const Linked program = *link(*loaded, "p");
  const Words out(1);
  const std::string data = "abc";
  const Result<RaceReport> found = find_races(program, 1, {{"out", out}, {"data", data}});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->clean());
  const std::vector<Diagnostic> races = describe_races(*found, *loaded, "p");
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(name(races[0].code), "R001");
  EXPECT_EQ(races[0].line, 4u);
  EXPECT_EQ(out, Words(1));
  EXPECT_EQ(describe_races(*found, *loaded, "q").at(0).code, Code::U005);
  EXPECT_EQ(reports(find_races(program, 1, {{"out", out}})).at(0)[0], "D001");
  const Linked fine =
      program_of("program p workgroup(4) { read_write o: u32[] o[local_id.x] = 1 }");
  EXPECT_TRUE(find_races(fine, 1, {{"o", out}})->clean());
}

// A `bytes` buffer is its words: the last one is filled up with zeros, and is read back whole.
TEST(Dispatch, BytesArePaddedToWholeWords) {
  const Linked program = program_of(R"(program p workgroup(1) {
    read       text: bytes
    read_write data: bytes
    read_write out: u32[]
    out[0] = len(text)
    out[1] = text[1]
    out[2] = len(data)
    out[3] = data[0]
    if out[4] { data[0] = 0xaabbccdd }
  })");
  const std::string text = "hello";
  for (std::size_t size = 0; size <= 4; ++size) {
    const std::vector<std::byte> data(size, std::byte{0xee});
    for (const std::uint32_t stores : {0u, 1u}) {
      const Words out = {9, 9, 9, 9, stores};
      const Result<Outputs> outputs =
          dispatch(program, 1, {{"text", text}, {"data", data}, {"out", out}});
      ASSERT_TRUE(outputs.ok());
      const std::uint32_t word =
          static_cast<std::uint32_t>(std::uint64_t{0xeeeeeeee} & ((1ull << (8 * size)) - 1));
      const std::uint32_t words = size > 0 ? 1 : 0;
      EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{2, 'o', words, word, stores}));
      const Words after(words, stores != 0 ? 0xaabbccdd : word);
      EXPECT_EQ(*outputs->get<std::uint32_t>("data"), after) << size;
    }
  }
}

TEST(Dispatch, BoolWordsThatNobodyStoresToComeBackAsTheyWere) {
  const Words flags = {0, 1, 2, 0xffffffff, 5, 6};
  const Words out(5);
  const Result<Outputs> outputs = dispatch(program_of(R"(program p workgroup(4) {
        read_write flags: bool[]
        read_write out: u32[]
        out[local_id.x] = u32(flags[local_id.x])
        if local_id.x == 0 {
          flags[4] = flags[3]
          flags[5] = false
        }
      })"),
                                           1, {{"flags", flags}, {"out", out}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(*outputs->get<std::uint32_t>("flags"), (Words{0, 1, 2, 0xffffffff, 1, 0}));
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{0, 1, 1, 1, 0}));
}

TEST(Dispatch, EmptyBuffersOfEveryKind) {
  const Words none, out = {9, 9, 9, 9, 9};
  const Result<Outputs> outputs =
      dispatch(program_of(R"(program p workgroup(1) {
        read       a: vec4u32[]
        uniform    b: u64[]
        read_write c: u128[]
        read       d: bytes
        read_write out: u32[]
        out[0] = len(a)
        out[1] = len(b)
        out[2] = len(c)
        out[3] = len(d)
        out[4] = a[0].x + u32(b[0]) + u32(c[0]) + d[0]
        c[0] = 1u128
      })"),
               1, {{"a", none}, {"b", none}, {"c", none}, {"d", none}, {"out", out}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), Words(5));
  EXPECT_EQ(*outputs->get<std::uint32_t>("c"), Words{});
}

TEST(Dispatch, NothingRunsOnAnEmptyGrid) {
  const Words from = {1, 2}, to = {8, 9};
  for (const Grid& grid : {Grid{0}, Grid{1, 0}, Grid{1, 1, 0}, Grid{0, 0, 0}, Grid{5, 0, 7},
                           Grid{0xffffffff / 4, 0, 0xffffffff}}) {
    const Result<Outputs> outputs = dispatch(program_of(kCopy), grid, {{"from", from}, {"to", to}});
    ASSERT_TRUE(outputs.ok());
    EXPECT_EQ(*outputs->get<std::uint32_t>("to"), to);
  }
}

// A declared count is a minimum; `len` and the bounds are those of what is bound.
TEST(Dispatch, LengthFollowsTheBoundBuffer) {
  const Linked program = program_of(R"(program p workgroup(1) {
    read       a: u64[2]
    uniform    b: u32[2]
    read       c: bytes[2]
    read_write out: u32[4]
    out[0] = len(a)
    out[1] = len(b)
    out[2] = len(c)
    out[3] = len(out)
    out[5] = u32(a[2]) + b[4] + c[2]
  })");
  const Words a = {0, 0, 0, 0, 100, 0}, b = {0, 0, 0, 0, 20}, out(7);
  const std::string c("\0\0\0\0\0\0\0\0\3", 9);
  const Result<Outputs> outputs =
      dispatch(program, 1, {{"a", a}, {"b", b}, {"c", c}, {"out", out}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{3, 5, 3, 7, 0, 123, 0}));
}

// The ops of a file come along with its programs.
TEST(Dispatch, OpsComeWithTheProgram) {
  const Result<Loaded> loaded = load_module({"test.vyre", R"(
    op my.twice(a: u32) -> u32 { return a + a }
    program p workgroup(1) { read_write out: u32[] out[0] = my.twice(out[0]) })"});
  ASSERT_TRUE(loaded.ok());
  const Words out = {21};
  EXPECT_EQ(reports(link(std::get<Program>(loaded->module.items[1]))).at(0)[0], "V016");
  const Result<Linked> program = link(*loaded, "p");
  ASSERT_TRUE(program.ok());
  const Result<Outputs> outputs = dispatch(*program, 1, {{"out", out}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), Words{42});
}

// --- What is wrong with a dispatch --------------------------------------------------------------

TEST(Dispatch, EveryBufferIsBoundOnceAndNothingElse) {
  const Linked program = program_of(kCopy);
  const Words a = {1, 2}, b = {3, 4}, c = {5, 6};
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", a}})),
            (Reports{{"D001", "buffer `to` of program `copy` is not bound",
                      "pass its contents; a read_write buffer needs initial contents too"}}));
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", a}, {"to", b}, {"from", c}})),
            (Reports{{"D001", "buffer `from` is bound twice", "bind it once"}}));
  // The same memory again is one mistake, not two.
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", a}, {"to", b}, {"from", a}})),
            (Reports{{"D001", "buffer `from` is bound twice", "bind it once"}}));
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", a}, {"to", b}, {"too", c}})),
            (Reports{{"D001", "program `copy` has no buffer `too`",
                      "bind the buffers it has: `from`, `to`"}}));
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", a}, {"to", b}, {"tile", c}})),
            (Reports{{"D001", "`tile` is workgroup memory, which the host cannot bind",
                      "leave it out; it is zero when a workgroup starts"}}));
  EXPECT_EQ(reports(dispatch(program_of("program p workgroup(1) {\n}\n"), 1, {{"a", a}})),
            (Reports{{"D001", "program `p` has no buffer `a`", "bind the buffers it has: none"}}));
  // Everything that is wrong is said at once, in the order in which it is bound.
  EXPECT_EQ(reports(dispatch(program, {0x80000000}, {{"x", a}, {"tile", b}})),
            (Reports{{"D005",
                      "2147483648 workgroups of 4 invocations on the x axis are more than "
                      "2^32",
                      "use at most 1073741824 workgroups on that axis, or several dispatches"},
                     {"D001", "program `copy` has no buffer `x`",
                      "bind the buffers it has: `from`, `to`"},
                     {"D001", "`tile` is workgroup memory, which the host cannot bind",
                      "leave it out; it is zero when a workgroup starts"},
                     {"D001", "buffer `from` of program `copy` is not bound",
                      "pass its contents; a read_write buffer needs initial contents too"},
                     {"D001", "buffer `to` of program `copy` is not bound",
                      "pass its contents; a read_write buffer needs initial contents too"}}));
}

TEST(Dispatch, ABufferHasAtLeastTheDeclaredElements) {
  const Words none, one = {1}, two = {1, 2};
  const Linked program = program_of(kCopy);
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", one}, {"to", two}})),
            (Reports{{"D002", "buffer `from` has 1 element; it is declared with 2 elements",
                      "pass at least 2 elements (8 bytes)"}}));
  EXPECT_EQ(reports(dispatch(program, 1, {{"from", two}, {"to", none}})),
            (Reports{{"D002", "buffer `to` has 0 elements; it is declared with 2 elements",
                      "pass at least 2 elements (8 bytes)"}}));
  // Bytes count in words, padding included.
  const Linked bytes = program_of("program p workgroup(1) {\nread a: bytes[2]\n}\n");
  EXPECT_EQ(reports(dispatch(bytes, 1, {{"a", std::string("1234")}})),
            (Reports{{"D002", "buffer `a` has 1 word; it is declared with 2 words",
                      "pass at least 2 words (8 bytes)"}}));
  EXPECT_TRUE(dispatch(bytes, 1, {{"a", std::string("12345")}}).ok());
  // The largest count there is.
  const Linked huge = program_of("program p workgroup(1) {\nread a: vec4u32[0xffffffff]\n}\n");
  const BufferSize sizes[] = {{"a", std::uint64_t{0xffffffff} * 16 - 16}};
  EXPECT_EQ(reports(check_launch(huge, 1, sizes)),
            (Reports{{"D002",
                      "buffer `a` has 4294967294 elements; it is declared with 4294967295 "
                      "elements",
                      "pass at least 4294967295 elements (68719476720 bytes)"}}));
}

TEST(Dispatch, ABufferIsAWholeNumberOfElements) {
  struct Case {
    std::string type;
    std::uint64_t size;
  };
  for (const auto& [type, size] : {Case{"u32", 4}, Case{"i32", 4}, Case{"bool", 4}, Case{"u64", 8},
                                   Case{"vec2u32", 8}, Case{"u128", 16}, Case{"vec4u32", 16}}) {
    const Linked program = program_of("program p workgroup(1) {\nread a: " + type + "[]\n}\n");
    for (std::uint64_t bytes = 0; bytes <= 3 * size; ++bytes) {
      Reports expected;
      if (bytes % size != 0) {
        expected = {{"D003",
                     "buffer `a` has " + plural(bytes, "byte") +
                         ", which is not a multiple of the " + std::to_string(size) + " of one " +
                         type + " element",
                     "pass whole elements, all lanes of a vector"}};
      }
      const std::string data(bytes, 'x');
      EXPECT_EQ(reports(dispatch(program, 1, {{"a", data}})), expected);
    }
  }
}

TEST(Dispatch, AWrittenBufferDoesNotOverlapWithAnother) {
  const Linked program = program_of(R"(program p workgroup(1) {
    read       a: u32[]
    read       b: u32[]
    read_write c: u32[]
  })");
  Words memory(32);
  const auto run = [&](std::size_t a, std::size_t a_count, std::size_t b, std::size_t b_count,
                       std::size_t c, std::size_t c_count) {
    const std::span<std::uint32_t> all(memory);
    return reports(dispatch(program, 1,
                            {{"a", all.subspan(a, a_count)},
                             {"b", all.subspan(b, b_count)},
                             {"c", all.subspan(c, c_count)}}));
  };
  const auto overlap = [](const std::string& first, const std::string& second) {
    return std::array<std::string, 3>{
        "D004", "buffers `" + first + "` and `" + second + "` overlap in memory",
        "bind separate memory to each"};
  };
  EXPECT_EQ(run(0, 4, 4, 4, 8, 4), Reports{});  // adjacent
  EXPECT_EQ(run(8, 4, 4, 4, 0, 4), Reports{});  // in another order
  EXPECT_EQ(run(0, 4, 2, 0, 4, 4), Reports{});  // an empty one inside
  EXPECT_EQ(run(0, 0, 0, 0, 0, 0), Reports{});  // empty ones at one place
  EXPECT_EQ(run(0, 0, 0, 4, 4, 0), Reports{});  // empty ones at the ends
  EXPECT_EQ(run(0, 4, 0, 4, 8, 4), Reports{});  // two that are only read
  EXPECT_EQ(run(0, 4, 8, 4, 0, 4), (Reports{overlap("a", "c")}));
  EXPECT_EQ(run(0, 4, 8, 4, 3, 4), (Reports{overlap("a", "c")}));  // by one element
  EXPECT_EQ(run(8, 4, 16, 4, 4, 5), (Reports{overlap("c", "a")}));
  EXPECT_EQ(run(0, 12, 16, 4, 4, 4), (Reports{overlap("a", "c")}));  // contained
  EXPECT_EQ(run(4, 4, 16, 4, 0, 12), (Reports{overlap("c", "a")}));
  // The large one meets both that it contains.
  EXPECT_EQ(run(2, 2, 8, 2, 0, 16), (Reports{overlap("c", "a"), overlap("c", "b")}));
  // The one that reaches farthest meets it, not the one before it.
  EXPECT_EQ(run(0, 16, 2, 2, 8, 2), (Reports{overlap("a", "c")}));
}

TEST(Dispatch, InvocationIdsFitIn32Bits) {
  const auto check = [](const std::string& workgroup, const Grid& grid) {
    return reports(
        check_launch(program_of("program p workgroup(" + workgroup + ") {\n}\n"), grid, {}));
  };
  const auto overflow = [](const std::string& groups, const std::string& size,
                           const std::string& axis, const std::string& most) {
    return std::array<std::string, 3>{
        "D005",
        groups + " workgroups of " + size + " invocations on the " + axis +
            " axis are more than 2^32",
        "use at most " + most + " workgroups on that axis, or several dispatches"};
  };
  EXPECT_EQ(check("1", {0xffffffff, 0xffffffff, 0xffffffff}), Reports{});
  EXPECT_EQ(check("64, 32, 2", {1u << 26, 1u << 27, 1u << 31}), Reports{});  // each exactly 2^32
  EXPECT_EQ(check("64", {(1u << 26) + 1}), (Reports{overflow("67108865", "64", "x", "67108864")}));
  EXPECT_EQ(check("1, 65536", {1, 65536}), Reports{});
  EXPECT_EQ(check("1, 65536", {1, 65537}), (Reports{overflow("65537", "65536", "y", "65536")}));
  EXPECT_EQ(check("1, 1, 3", {1, 1, 1431655765}), Reports{});  // 2^32 - 1
  EXPECT_EQ(check("1, 1, 3", {1, 1, 1431655766}),
            (Reports{overflow("1431655766", "3", "z", "1431655765")}));
  EXPECT_EQ(check("2, 2, 2", {0xffffffff, 0, 0x80000001}),
            (Reports{overflow("4294967295", "2", "x", "2147483648"),
                     overflow("2147483649", "2", "z", "2147483648")}));
  // Nothing runs where another axis is 0, however large this one is.
  EXPECT_TRUE(dispatch(program_of("program p workgroup(64) {\n}\n"), {1u << 26, 0, 1}, {}).ok());
}

TEST(Dispatch, AUniformBufferIsAtMost64KiB) {
  const Linked program = program_of(R"(program p workgroup(1) {
    uniform    table: vec4u32[]
    read_write out: u32[]
    out[0] = table[4095].w
    out[1] = table[4096].w
  })");
  const Words out(2);
  const Words most(65536 / 4, 7);
  const Result<Outputs> outputs = dispatch(program, 1, {{"table", most}, {"out", out}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(*outputs->get<std::uint32_t>("out"), (Words{7, 0}));

  const Words more(65536 / 4 + 4, 7);
  EXPECT_EQ(reports(dispatch(program, 1, {{"table", more}, {"out", out}})),
            (Reports{{"D006", "uniform buffer `table` has 65552 bytes; 65536 is the limit",
                      "declare it `read`, or pass less"}}));
  // Padding counts.
  const Linked bytes = program_of("program p workgroup(1) {\nuniform a: bytes\n}\n");
  EXPECT_TRUE(dispatch(bytes, 1, {{"a", std::string(65533, 'x')}}).ok());
  EXPECT_EQ(reports(dispatch(bytes, 1, {{"a", std::string(65537, 'x')}})),
            (Reports{{"D006", "uniform buffer `a` has 65540 bytes; 65536 is the limit",
                      "declare it `read`, or pass less"}}));
}

TEST(Dispatch, ABufferHasFewerThan2To32Elements) {
  const auto check = [](const std::string& element, std::uint64_t bytes) {
    const BufferSize sizes[] = {{"a", bytes}};
    return reports(check_launch(
        program_of("program p workgroup(1) {\nread a: " + element + "\n}\n"), 1, sizes));
  };
  constexpr std::uint64_t kMost = 0xffffffff;
  const auto too_long = [](const std::string& count) {
    return Reports{{"D007", "buffer `a` has " + count + " elements; an index has 32 bits",
                    "split it over several buffers or dispatches"}};
  };
  EXPECT_EQ(check("u32[]", kMost * 4), Reports{});
  EXPECT_EQ(check("u32[]", (kMost + 1) * 4), too_long("4294967296"));
  EXPECT_EQ(check("u64[]", kMost * 8), Reports{});
  EXPECT_EQ(check("u64[]", (kMost + 1) * 8), too_long("4294967296"));
  EXPECT_EQ(check("vec4u32[]", kMost * 16), Reports{});
  EXPECT_EQ(check("vec4u32[]", (kMost + 1) * 16), too_long("4294967296"));
  EXPECT_EQ(check("bytes", kMost * 4), Reports{});
  EXPECT_EQ(check("bytes", kMost * 4 + 1), too_long("4294967296"));
  // Padding does not wrap around.
  EXPECT_EQ(check("bytes", ~std::uint64_t{0}), too_long("4611686018427387904"));
  EXPECT_EQ(check("bytes[1]", ~std::uint64_t{0} - 2), too_long("4611686018427387904"));
}

// --- What reaches a device ----------------------------------------------------------------------

TEST(Dispatch, WhatIsWrongNeverReachesTheDevice) {
  SpyDevice device;
  DispatchOptions options;
  options.device = &device;
  const Words from = {1, 2}, to = {3, 4};

  Program invalid = program_of(kCopy);
  invalid.workgroup_size[1] = 0;
  const Result<Linked> rejected = link(invalid);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(name(rejected.diagnostics()[0].code), "V003");

  const Linked program = program_of(kCopy);
  EXPECT_FALSE(dispatch(program, 1, {{"from", from}}, options).ok());
  EXPECT_FALSE(dispatch(program, 0xffffffff, {{"from", from}, {"to", to}}, options).ok());
  EXPECT_FALSE(dispatch(program, 1, {{"from", from}, {"to", from}}, options).ok());
  EXPECT_EQ(device.allocations + device.runs, 0);

  ASSERT_TRUE(dispatch(program, 1, {{"from", from}, {"to", to}}, options).ok());
  EXPECT_EQ(device.allocations, 2);
  EXPECT_EQ(device.runs, 1);
}

TEST(Dispatch, ASequenceRunsAgainAndAgain) {
  const Linked program = program_of(R"(program add workgroup(4) {
  read       from: u32[] @0
  read_write to: u32[] @1
  to[invocation_id.x] = to[invocation_id.x] + from[invocation_id.x]
})");
  for (const char* backend : {"interp", "cpu"}) {
    const Opened opened = find_backend(backend)->open(0);
    if (opened.device == nullptr) continue;
    Device& device = *opened.device;
    const Result<Pipeline> add = make_pipeline(device, program);
    ASSERT_TRUE(add.ok());
    DeviceBuffer a = upload(device, Words{1, 2, 3, 4});
    DeviceBuffer b = upload(device, Words{0, 0, 0, 1});
    const PipelineLaunch launches[] = {{&*add, 1, {{"from", &a}, {"to", &b}}},
                                       {&*add, 1, {{"from", &b}, {"to", &a}}}};
    Result<Sequence> sequence = record_launches(device, launches);
    ASSERT_TRUE(sequence.ok());
    EXPECT_EQ(&sequence->device(), &device);
    EXPECT_EQ(download(b), (Words{0, 0, 0, 1}));  // nothing has run
    for (int i = 0; i < 3; ++i) {
      const Result<RunTimes> times = sequence->run();
      ASSERT_TRUE(times.ok());
      ASSERT_EQ(times->each.size(), 2u);
      EXPECT_DOUBLE_EQ(times->seconds, times->each[0] + times->each[1]);
    }
    EXPECT_EQ(download(b), (Words{8, 16, 24, 37}));
    EXPECT_EQ(download(a), (Words{13, 26, 39, 60}));

    // All of it is checked when it is recorded; how it runs, when it does.
    const PipelineLaunch wrong[] = {launches[0], {&*add, 1, {{"from", &b}}}, {nullptr, 1, {}}};
    EXPECT_EQ(reports(record_launches(device, wrong)).size(), 2u);
    RunOptions options;
    options.max_steps = 1;
    const Result<RunTimes> bounded = sequence->run(options);
    ASSERT_FALSE(bounded.ok());
    const bool is_reference = find_backend(backend)->takes_orders;
    EXPECT_EQ(name(bounded.diagnostics()[0].code), is_reference ? "R004" : "B005");
  }
}

TEST(Dispatch, ADeviceThatIsNotThere) {
  EXPECT_TRUE(open_device(*find_backend("interp"), 0).ok());
  EXPECT_EQ(reports(open_device(*find_backend("interp"), 1)),
            (Reports{{"U005", "backend `interp` has no device 1",
                      "use a device number below 1; the first is 0"}}));
}

TEST(Dispatch, LimitsOfTheDevice) {
  SpyDevice device;
  device.limits.max_invocations = 100;
  device.limits.max_workgroup_size = {50, 40, 3};
  device.limits.max_workgroup_bytes = 64;
  const auto check = [&](const std::string& shape, const std::string& memory) {
    return reports(make_pipeline(
        device, program_of("program p workgroup(" + shape + ") {\n" + memory + "}\n")));
  };
  EXPECT_EQ(check("50, 2", ""), Reports{});
  EXPECT_EQ(check("10, 10", ""), Reports{});
  EXPECT_EQ(check("1, 1, 3", ""), Reports{});
  device.loads = 0;
  EXPECT_EQ(check("51", ""),
            (Reports{{"B001",
                      "a workgroup of `p` has 51 invocations on the x axis; a spy runs at most 50",
                      "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(check("1, 41", ""),
            (Reports{{"B001",
                      "a workgroup of `p` has 41 invocations on the y axis; a spy runs at most 40",
                      "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(
      check("1, 1, 4", ""),
      (Reports{{"B001", "a workgroup of `p` has 4 invocations on the z axis; a spy runs at most 3",
                "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(check("26, 4", ""),
            (Reports{{"B001", "a workgroup of `p` has 104 invocations; a spy runs at most 100",
                      "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(device.loads, 0);

  // Workgroup memory is counted together.
  EXPECT_EQ(check("1", "workgroup a: u64[7]\nworkgroup b: u32[2]\n"), Reports{});
  device.loads = 0;
  const Reports too_much = {{"B002", "`p` uses 68 bytes of workgroup memory; a spy has 64",
                             "use less per workgroup, or keep it in a read_write buffer"}};
  EXPECT_EQ(check("1", "workgroup a: u64[7]\nworkgroup b: u32[3]\n"), too_much);
  EXPECT_EQ(check("1", "workgroup a: vec4u32[0xffffffff]\nworkgroup b: u128[0xffffffff]\n"),
            (Reports{{"B002", "`p` uses 137438953440 bytes of workgroup memory; a spy has 64",
                      "use less per workgroup, or keep it in a read_write buffer"}}));
  EXPECT_EQ(device.loads, 0);
}

TEST(Dispatch, LimitsOfTheInterpreter) {
  const std::unique_ptr<Device> device = interpreter();
  const std::string name = device->info().name;
  const auto check = [&](const std::string& shape, const std::string& body) {
    return reports(make_pipeline(
        *device, program_of("program p workgroup(" + shape + ") {\n" + body + "}\n")));
  };
  EXPECT_EQ(check("65536", ""), Reports{});
  EXPECT_EQ(check("65537", ""),
            (Reports{{"B001",
                      "a workgroup of `p` has 65537 invocations on the x axis; " + name +
                          " runs at most 65536",
                      "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(check("256, 256, 2", ""),
            (Reports{{"B001",
                      "a workgroup of `p` has 131072 invocations; " + name + " runs at most 65536",
                      "use a smaller workgroup and more of them"}}));
  EXPECT_EQ(check("1", "workgroup a: u32[16777216]\n"), Reports{});
  EXPECT_EQ(
      check("1", "workgroup a: u32[16777217]\n"),
      (Reports{{"B002", "`p` uses 67108868 bytes of workgroup memory; " + name + " has 67108864",
                "use less per workgroup, or keep it in a read_write buffer"}}));
  // The locals of all invocations of a workgroup are kept at once.
  std::string locals;
  for (int i = 0; i < 512; ++i) locals += "let x" + std::to_string(i) + " = 0\n";
  EXPECT_EQ(check("65536", locals), Reports{});
  EXPECT_EQ(check("32768", locals + "let y = 0\n"), Reports{});
  EXPECT_EQ(
      check("65536", locals + "let y = 0\n"),
      (Reports{{"B002",
                "the locals of a workgroup of `p` take 537919488 bytes; " + name + " has 536870912",
                "use a smaller workgroup or fewer locals"}}));
  // All that a body may have fits where a GPU runs it.
  std::string arrays;
  for (int i = 0; i < 4; ++i) arrays += "let w" + std::to_string(i) + ": u32[4096]\n";
  EXPECT_EQ(check("1024", arrays + "let y = 0\n"), Reports{});
}

TEST(Dispatch, BackendsAreFoundByNameAndAlias) {
  ASSERT_NE(find_backend("interp"), nullptr);
  EXPECT_EQ(find_backend("cuda"), find_backend("ptx"));
  EXPECT_EQ(find_backend("vulkan"), find_backend("spirv"));
  EXPECT_EQ(find_backend("webgpu"), find_backend("wgsl"));
  EXPECT_EQ(find_backend("ptx")->name, "ptx");
  EXPECT_EQ(find_backend("opencl"), nullptr);
  EXPECT_EQ(find_backend(""), nullptr);
  EXPECT_TRUE(open_device().ok());
}

TEST(Dispatch, ABackendThatCannotRunSaysWhyAndListsThoseThatCan) {
  std::string those;
  for (const Backend& backend : all_backends()) {
    const Opened opened = backend.open(0);
    EXPECT_NE(opened.device == nullptr, opened.reason.empty()) << backend.name;
    if (opened.device == nullptr) continue;
    EXPECT_EQ(opened.device->info().backend, backend.name);
    those += (those.empty() ? "" : ", ") + std::string(backend.name);
  }
  EXPECT_EQ(those.substr(0, 6), "interp");
  Backend broken;
  broken.name = "broken";
  broken.open = [](std::uint32_t) { return Opened{nullptr, "there is no driver"}; };
  EXPECT_EQ(reports(open_device(broken)),
            (Reports{{"B003", "backend `broken` cannot run here: there is no driver",
                      "use one that can: " + those}}));
}

TEST(Dispatch, BuffersThatAreTooLargeAreRejectedWithoutAllocating) {
  SpyDevice device;
  device.limits.max_buffer_bytes = 1000;
  EXPECT_TRUE(make_buffer(device, 999).ok());
  EXPECT_EQ(device.allocated, 1000u);  // with room for padding
  EXPECT_TRUE(make_buffer(device, 1000).ok());
  EXPECT_EQ(device.allocated, 1000u);
  EXPECT_EQ(device.allocations, 2);
  for (const std::uint64_t bytes :
       {std::uint64_t{1001}, std::uint64_t{1} << 60, ~std::uint64_t{0} - 2, ~std::uint64_t{0}}) {
    EXPECT_EQ(reports(make_buffer(device, bytes)),
              (Reports{{"B004",
                        "a buffer of " + std::to_string(bytes) +
                            " bytes is too large for a spy, which takes up to 1000 in one",
                        "use smaller buffers, or another device"}}));
  }
  EXPECT_EQ(device.allocations, 2);

  const Words data(251), out(1);
  DispatchOptions options;
  options.device = &device;
  EXPECT_EQ(
      reports(dispatch(program_of(kCopy), 1, {{"from", data}, {"to", data}}, options)).at(0)[0],
      "D004");
  const Words from(251), to(2);
  EXPECT_EQ(
      reports(dispatch(program_of(kCopy), 1, {{"from", from}, {"to", to}}, options)),
      (Reports{{"B004",
                "a buffer of 1004 bytes is too large for a spy, which takes up to 1000 in one",
                "use smaller buffers, or another device"}}));
  EXPECT_EQ(device.runs, 0);

  // The interpreter has half of the machine's memory.
  const std::unique_ptr<Device> interp = interpreter();
  const std::uint64_t most = interp->info().max_buffer_bytes;
  EXPECT_EQ(
      reports(make_buffer(*interp, most + 1)),
      (Reports{{"B004",
                "a buffer of " + std::to_string(most + 1) + " bytes is too large for " +
                    interp->info().name + ", which takes up to " + std::to_string(most) + " in one",
                "use smaller buffers, or another device"}}));
}

TEST(Dispatch, OptionsThatABackendCannotFollow) {
  // A device of a backend that runs as it likes.
  const auto other = std::ranges::find(all_backends(), false, &Backend::takes_orders);
  ASSERT_NE(other, all_backends().end());
  SpyDevice device;
  device.limits.backend = other->name;
  const std::string backend(other->name);
  RunOptions options;
  options.threads = 3;
  EXPECT_TRUE(run_launches(device, {}, options).ok());
  options.schedule.kind = Schedule::Kind::Reverse;
  options.max_steps = 5;
  EXPECT_EQ(reports(run_launches(device, {}, options)),
            (Reports{{"B005", "backend `" + backend + "` cannot run in a chosen order",
                      "use `interp`, which can"},
                     {"B005", "backend `" + backend + "` cannot count steps",
                      "use `interp`, which can"}}));
}

// --- Buffers that stay on a device --------------------------------------------------------------

TEST(Dispatch, BuffersTakeTurnsAsInputAndOutput) {
  const std::unique_ptr<Device> device = interpreter();
  const Result<Pipeline> step = make_pipeline(*device, program_of(R"(program step workgroup(4) {
    read       from: u32[]
    read_write to: u32[]
    let i = invocation_id.x
    to[i] = from[i] * 3 + from[(i + 1) % len(from)]
  })"));
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step->program().name, "step");
  EXPECT_EQ(&step->device(), device.get());
  Words expected = iota(10);
  DeviceBuffer a = upload(*device, expected);
  DeviceBuffer b = upload(*device, Words(10));
  std::vector<PipelineLaunch> launches;
  DeviceBuffer* from = &a;
  DeviceBuffer* to = &b;
  for (int round = 0; round < 5; ++round) {
    launches.push_back({&*step, 3, {{"from", from}, {"to", to}}});
    std::swap(from, to);
    Words next(10);
    for (std::size_t i = 0; i < 10; ++i) next[i] = expected[i] * 3 + expected[(i + 1) % 10];
    expected = next;
  }
  const Result<std::vector<double>> seconds = run_launches(*device, launches);
  ASSERT_TRUE(seconds.ok());
  EXPECT_EQ(seconds->size(), 5u);
  EXPECT_EQ(download(b), expected);
  // No launches are fine too.
  EXPECT_EQ(run_launches(*device, {})->size(), 0u);
}

TEST(Dispatch, BuffersAreWrittenAndRead) {
  const std::unique_ptr<Device> device = interpreter();
  Result<DeviceBuffer> buffer = make_buffer(*device, 12);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->bytes(), 12u);
  EXPECT_EQ(download(*buffer), Words(3));
  const Words two = {5, 6}, four(4);
  ASSERT_TRUE(write_buffer(*buffer, std::as_bytes(std::span(two))).ok());
  EXPECT_EQ(download(*buffer), (Words{5, 6, 0}));
  EXPECT_EQ(reports(write_buffer(*buffer, std::as_bytes(std::span(four)))),
            (Reports{{"D002", "16 bytes do not fit a device buffer of 12",
                      "make a larger buffer, or write less"}}));
  EXPECT_EQ(download(*buffer), (Words{5, 6, 0}));
  EXPECT_TRUE(write_buffer(*buffer, Words()).ok());

  Result<DeviceBuffer> empty = make_buffer(*device, std::uint64_t{0});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(read_buffer(*empty)->size(), 0u);
  EXPECT_EQ(name(write_buffer(*empty, std::as_bytes(std::span(two))).diagnostics()[0].code),
            "D002");
}

TEST(Dispatch, PartsOfBuffersAreWrittenAndRead) {
  SpyDevice device;
  Result<DeviceBuffer> buffer = make_buffer(device, Words{1, 2, 3, 4, 5});
  ASSERT_TRUE(buffer.ok());
  Words two(2);
  ASSERT_TRUE(read_buffer(*buffer, two, 3).ok());
  EXPECT_EQ(two, (Words{4, 5}));
  EXPECT_EQ(device.read_bytes, 8u);  // and not all of it
  ASSERT_TRUE(write_buffer(*buffer, two, 1).ok());
  EXPECT_EQ(*read_buffer<std::uint32_t>(*buffer), (Words{1, 4, 5, 4, 5}));
  EXPECT_EQ(reports(read_buffer(*buffer, two, 4)),
            (Reports{{"D002", "8 bytes at 16 are more than a buffer of 20 bytes has",
                      "read less, or from an earlier element"}}));
  EXPECT_EQ(reports(write_buffer(*buffer, two, 4)),
            (Reports{{"D002", "8 bytes do not fit a device buffer of 4",
                      "make a larger buffer, or write less"}}));
  EXPECT_EQ(reports(write_buffer(*buffer, two, 40)).at(0)[0], "D002");
  EXPECT_EQ(reports(read_buffer<std::uint64_t>(*buffer)).at(0)[0], "D003");

  // The padding of a `bytes` buffer is zero again after a write up to its end.
  Result<DeviceBuffer> text = make_buffer(device, std::string("12345"));
  const Result<Pipeline> fill = make_pipeline(device, program_of(R"(program p workgroup(1) {
    read_write text: bytes
    read_write last: u32[]
    last[0] = text[1]
    text[1] = 0xffffffff
  })"));
  Result<DeviceBuffer> last = make_buffer(device, 4);
  const PipelineLaunch launch{&*fill, 1, {{"text", &*text}, {"last", &*last}}};
  ASSERT_TRUE(run_launches(device, {&launch, 1}).ok());
  ASSERT_TRUE(write_buffer(*text, std::string("9"), 4).ok());
  ASSERT_TRUE(run_launches(device, {&launch, 1}).ok());
  EXPECT_EQ(*read_buffer<std::uint32_t>(*last), Words{'9'});
}

TEST(Dispatch, OneBufferIsReadUnderTwoNames) {
  for (const char* backend : {"interp", "cpu"}) {
    const Result<std::unique_ptr<Device>> device = open_device(backend);
    if (!device) continue;
    const Result<Pipeline> add = make_pipeline(**device, program_of(R"(program p workgroup(1) {
      read       a: u32[]
      read       b: u32[]
      read_write c: u32[]
      c[0] = a[0] + b[1]
    })"));
    ASSERT_TRUE(add.ok());
    DeviceBuffer in = upload(**device, Words{1, 2}), out = upload(**device, Words{0});
    const PipelineLaunch launch{&*add, 1, {{"a", &in}, {"b", &in}, {"c", &out}}};
    ASSERT_TRUE(run_launches(**device, {&launch, 1}).ok());
    EXPECT_EQ(download(out), Words{3}) << backend;
  }
}

// A launch checks the sizes of device buffers as a dispatch checks those of the host.
TEST(Dispatch, DeviceBuffersAreCheckedBeforeTheFirstLaunch) {
  SpyDevice device;
  const Result<Pipeline> copy = make_pipeline(device, program_of(kCopy));
  ASSERT_TRUE(copy.ok());
  DeviceBuffer two = upload(device, Words{1, 2});
  DeviceBuffer also = upload(device, Words{3, 4});
  DeviceBuffer one = upload(device, Words{5});
  DeviceBuffer ragged = upload(device, std::string("123456789"));
  const auto check = [&](const Grid& grid, std::vector<BoundBuffer> buffers) {
    const PipelineLaunch good{&*copy, 1, {{"from", &two}, {"to", &also}}};
    const PipelineLaunch launches[] = {good, {&*copy, grid, std::move(buffers)}};
    return reports(run_launches(device, launches));
  };
  EXPECT_EQ(check(1, {{"from", &two}, {"to", &one}}),
            (Reports{{"D002", "buffer `to` has 1 element; it is declared with 2 elements",
                      "pass at least 2 elements (8 bytes)"}}));
  EXPECT_EQ(
      check(1, {{"from", &ragged}, {"to", &also}}),
      (Reports{{"D003",
                "buffer `from` has 9 bytes, which is not a multiple of the 4 of one u32 element",
                "pass whole elements, all lanes of a vector"}}));
  EXPECT_EQ(check(0x40000001, {{"from", &two}, {"to", &also}}).at(0)[0], "D005");
  EXPECT_EQ(check(1, {{"from", &two}}).at(0)[1], "buffer `to` of program `copy` is not bound");
  EXPECT_EQ(check(1, {{"from", &two}, {"to", &two}}),
            (Reports{{"D004", "buffers `from` and `to` overlap in memory",
                      "bind separate memory to each"}}));
  EXPECT_EQ(check(1, {{"from", &two}, {"to", &also}, {"to", &also}}),
            (Reports{{"D001", "buffer `to` is bound twice", "bind it once"}}));
  EXPECT_EQ(check(1, {{"from", &two}, {"to", nullptr}}).at(0),
            (std::array<std::string, 3>{"D009", "`to` got a buffer that no longer exists",
                                        "keep the buffer for as long as it is used"}));
  DeviceBuffer gone = upload(device, Words{5, 6});
  const DeviceBuffer elsewhere = std::move(gone);
  // NOLINTNEXTLINE(bugprone-use-after-move): this is the mistake
  EXPECT_EQ(check(1, {{"from", &two}, {"to", &gone}}).at(0)[0], "D009");
  const PipelineLaunch nothing[] = {{nullptr, 1, {}}};
  EXPECT_EQ(reports(run_launches(device, nothing)).at(0)[1], "a launch names no pipeline");
  EXPECT_EQ(device.runs, 0);
  EXPECT_EQ(download(also), (Words{3, 4}));
  EXPECT_EQ(check(1, {{"from", &two}, {"to", &also}}), Reports{});
}

TEST(Dispatch, BuffersAndPipelinesBelongToTheirDevice) {
  SpyDevice here;
  SpyDevice there;
  const Result<Pipeline> copy = make_pipeline(here, program_of(kCopy));
  const Result<Pipeline> foreign = make_pipeline(there, program_of(kCopy));
  ASSERT_TRUE(copy.ok() && foreign.ok());
  DeviceBuffer from = upload(here, Words{1, 2});
  DeviceBuffer to = upload(here, Words{3, 4});
  DeviceBuffer other = upload(there, Words{5, 6});
  const PipelineLaunch with_buffer[] = {{&*copy, 1, {{"from", &other}, {"to", &to}}}};
  EXPECT_EQ(reports(run_launches(here, with_buffer)),
            (Reports{{"D009", "buffer `from` belongs to another device than the pipeline",
                      "allocate it on the device that runs the pipeline"}}));
  const PipelineLaunch with_pipeline[] = {{&*foreign, 1, {{"from", &from}, {"to", &to}}}};
  EXPECT_EQ(reports(run_launches(here, with_pipeline)),
            (Reports{{"D009", "the pipeline of `copy` belongs to another device",
                      "run it on the device for which it was made"}}));
  EXPECT_EQ(here.runs + there.runs, 0);
}

// A device buffer whose size is no whole number of words is padded where it is bound as bytes.
TEST(Dispatch, DeviceBuffersBoundAsBytes) {
  const std::unique_ptr<Device> device = interpreter();
  const Result<Pipeline> pipeline = make_pipeline(*device, program_of(R"(program p workgroup(1) {
    read       text: bytes[2]
    read_write out: u32[]
    out[0] = len(text)
    out[1] = text[1]
    out[2] = text[2]
  })"));
  ASSERT_TRUE(pipeline.ok());
  DeviceBuffer text = upload(*device, std::string("hello"));
  DeviceBuffer out = upload(*device, Words{9, 9, 9});
  const PipelineLaunch launches[] = {{&*pipeline, 1, {{"text", &text}, {"out", &out}}}};
  ASSERT_TRUE(run_launches(*device, launches).ok());
  EXPECT_EQ(download(out), (Words{2, 'o', 0}));
}

// --- Conventions --------------------------------------------------------------------------------

Reports fit(const std::string& buffers, const Convention& convention) {
  const std::unique_ptr<Device> device = interpreter();
  PipelineOptions options;
  options.convention = convention;
  const Linked program = program_of("program p workgroup(1) {\n" + buffers + "}\n");
  const Reports found = reports(make_pipeline(*device, program, options));
  EXPECT_EQ(reports(check_convention(program, convention)), found);
  EXPECT_TRUE(make_pipeline(*device, program).ok());  // none by default
  return found;
}

const Convention kV1{Convention::V1{}};
Convention v2(std::uint32_t binding) { return {Convention::V2{binding}}; }

std::array<std::string, 3> unfit(const std::string& buffer, const std::string& version,
                                 const std::string& why) {
  return {"D008", "buffer `" + buffer + "` does not fit convention " + version + ": " + why,
          "bind one or more read buffers, then one read_write, then at most one uniform"};
}

std::array<std::string, 3> lacks(const std::string& version, const std::string& what) {
  return {"D008", "program `p` does not fit convention " + version + ": it has no " + what,
          "bind one or more read buffers, then one read_write, then at most one uniform"};
}

TEST(Dispatch, ConventionV1) {
  EXPECT_EQ(name_of(kV1), "V1");
  EXPECT_EQ(fit("read a: u32[]\nread_write b: u32[]\n", kV1), Reports{});
  EXPECT_EQ(fit("read a: u32[]\nread b: u64[]\nread c: bytes\nread_write d: u32[]\n", kV1),
            Reports{});
  EXPECT_EQ(fit("read a: u32[]\nread_write b: u32[]\nuniform c: u32[]\n", kV1), Reports{});
  EXPECT_EQ(
      fit("workgroup t: u32[4]\nread a: u32[]\nread_write b: u32[]\nworkgroup s: u32[4]\n", kV1),
      Reports{});
  // Bindings count, not the order of declarations.
  EXPECT_EQ(fit("uniform c: u32[] @7\nread_write b: u32[] @5\nread a: u32[] @2\n", kV1), Reports{});
  EXPECT_EQ(fit("read a: u32[] @1\nread_write b: u32[] @0\n", kV1),
            (Reports{unfit("a", "V1", "an input comes after the output or the parameters")}));
  EXPECT_EQ(fit("read a: u32[]\nread_write b: u32[]\nread c: u32[]\n", kV1),
            (Reports{unfit("c", "V1", "an input comes after the output or the parameters")}));
  EXPECT_EQ(fit("read a: u32[]\nuniform b: u32[]\nread_write c: u32[]\n", kV1),
            (Reports{unfit("c", "V1", "the output comes after the parameters")}));
  EXPECT_EQ(fit("read a: u32[]\nread_write b: u32[]\nread_write c: u32[]\n", kV1),
            (Reports{unfit("c", "V1", "there is a second output")}));
  EXPECT_EQ(fit("read a: u32[]\nread_write b: u32[]\nuniform c: u32[]\nuniform d: u32[]\n", kV1),
            (Reports{unfit("d", "V1", "there is a second uniform buffer")}));
  EXPECT_EQ(fit("read_write b: u32[]\n", kV1), (Reports{lacks("V1", "input")}));
  EXPECT_EQ(fit("read a: u32[]\n", kV1), (Reports{lacks("V1", "output")}));
  EXPECT_EQ(fit("uniform a: u32[]\n", kV1), (Reports{lacks("V1", "input"), lacks("V1", "output")}));
  EXPECT_EQ(fit("", kV1), (Reports{lacks("V1", "input"), lacks("V1", "output")}));
}

TEST(Dispatch, ConventionV2) {
  EXPECT_EQ(name_of(v2(3)), "V2");
  const std::string inputs_first =
      "read a: u32[] @0\nread_write b: u32[] @1\nuniform c: u32[] @2\nread table: u32[] @3\n";
  EXPECT_EQ(fit(inputs_first, v2(3)), Reports{});
  EXPECT_EQ(fit("read table: u32[] @0\nread a: u32[] @1\nread_write b: u32[] @2\n", v2(0)),
            Reports{});
  EXPECT_EQ(fit("read a: u32[] @0\nread table: u32[] @4\nread_write b: u32[] @9\n", v2(4)),
            Reports{});
  // The same program is no V1, and V2 only with the right binding.
  EXPECT_EQ(fit(inputs_first, kV1),
            (Reports{unfit("table", "V1", "an input comes after the output or the parameters")}));
  EXPECT_EQ(fit(inputs_first, v2(5)),
            (Reports{{"D008",
                      "program `p` does not fit convention V2: it has no lookup table at binding 5",
                      "declare it: `read table: u32[] @5`"},
                     unfit("table", "V2", "an input comes after the output or the parameters")}));
  // The table is not an input.
  EXPECT_EQ(fit("read table: u32[] @0\nread_write b: u32[] @1\n", v2(0)),
            (Reports{lacks("V2", "input")}));
  for (const std::string access : {"read_write", "uniform"}) {
    EXPECT_EQ(
        fit("read a: u32[] @0\nread_write b: u32[] @1\n" + access + " table: u32[] @2\n", v2(2)),
        (Reports{{"D008",
                  "buffer `table` does not fit convention V2: the lookup table is not a read "
                  "buffer",
                  "declare it `read`"}}));
  }
  // Workgroup memory has no binding, so it is never the table.
  EXPECT_EQ(fit("workgroup t: u32[4]\nread a: u32[] @1\nread_write b: u32[] @2\n", v2(0)).at(0)[1],
            "program `p` does not fit convention V2: it has no lookup table at binding 0");
}

// --- Options of a run ---------------------------------------------------------------------------

// Barriers, atomics, workgroup memory and loops; the bytes do not depend on the order.
constexpr const char* kMixed = R"(program mixed workgroup(8, 2) {
  read       seed: u32[]
  read_write sums: u32[]
  read_write out: vec4u32[]
  workgroup  tile: u32[16]

  let l = local_id.y * 8 + local_id.x
  let i = workgroup_id.x * 16 + l
  tile[l] = seed[i % len(seed)] * 0x9e3779b1
  barrier
  for k in 0..4 {
    let mixed = tile[l] ^ rotl(tile[l ^ (1 << k)], 7)
    barrier
    tile[l] = mixed
    barrier
  }
  atomic_add(sums[i % 3], tile[l])
  out[i] = vec4u32(tile[l], i, tile[15 - l], workgroup_id.x)
})";

Result<Outputs> run_mixed(const RunOptions& run, std::uint32_t groups = 12) {
  DispatchOptions options;
  const std::unique_ptr<Device> device = interpreter();
  options.device = device.get();
  options.run = run;
  const Words seed = iota(50), sums = {1, 2, 3}, out(std::size_t{groups} * 16 * 4);
  return dispatch(program_of(kMixed), groups, {{"seed", seed}, {"sums", sums}, {"out", out}},
                  options);
}

TEST(Dispatch, SchedulesAndThreadsGiveTheSameBytes) {
  RunOptions options;
  options.threads = 1;
  const Result<Outputs> one = run_mixed(options);
  ASSERT_TRUE(one.ok());
  EXPECT_NE(*one->get<std::uint32_t>("sums"), (Words{1, 2, 3}));
  const auto same = [&] {
    const Result<Outputs> other = run_mixed(options);
    ASSERT_TRUE(other.ok());
    for (const char* buffer : {"sums", "out"}) {
      EXPECT_EQ(*other->get<std::uint32_t>(buffer), *one->get<std::uint32_t>(buffer))
          << to_text(options.schedule) << ", " << options.threads << " threads";
    }
  };
  for (const unsigned threads : {0u, 2u, 3u, 8u, 64u}) {
    options.threads = threads;
    same();
  }
  for (const char* schedule :
       {"sequential", "reverse", "round-robin", "random", "random:1", "random:2"}) {
    options.schedule = *find_schedule(schedule);
    for (const unsigned threads : {0u, 1u, 4u}) {
      options.threads = threads;
      same();
    }
  }
}

// One statement too many is one too many, whatever the order, and the exact number is enough.
TEST(Dispatch, MaxStepsIsExact) {
  RunOptions options;
  const auto runs = [&](std::uint64_t steps) {
    options.max_steps = steps;
    const Result<Outputs> outputs = run_mixed(options, 2);
    if (!outputs.ok()) {
      EXPECT_EQ(reports(outputs),
                (Reports{{"R004", "the run was stopped after " + std::to_string(steps) + " steps",
                          "allow more steps (--max-steps), use a smaller grid, or look for a loop "
                          "that runs too long"}}));
    }
    return outputs.ok();
  };
  std::uint64_t enough = 1 << 20;
  ASSERT_TRUE(runs(enough));
  for (std::uint64_t half = enough / 2; half > 0; half /= 2) {
    if (runs(enough - half)) enough -= half;
  }
  // Each of the 32 invocations: three statements and a barrier, the loop with four times four
  // statements and the step to the next round, two statements behind it, and the end.
  EXPECT_EQ(enough, 32u * (4 + 1 + 4 * (4 + 1) + 2 + 1));
  for (const char* schedule : {"sequential", "reverse", "round-robin", "random:5"}) {
    options.schedule = *find_schedule(schedule);
    EXPECT_TRUE(runs(enough)) << schedule;
    EXPECT_FALSE(runs(enough - 1)) << schedule;
    EXPECT_FALSE(runs(1)) << schedule;
  }
  options = {};
  EXPECT_TRUE(runs(0));
}

TEST(Dispatch, ARunStopsOnRequest) {
  const Reports stopped = {
      {"R005", "the run was stopped on request", "start it again; its outputs are not complete"}};
  std::atomic<bool> stop = true;
  RunOptions options;
  options.stop = &stop;
  EXPECT_EQ(reports(run_mixed(options)), stopped);
  stop = false;
  EXPECT_TRUE(run_mixed(options).ok());
  options.progress = [&](double) { stop = true; };
  EXPECT_EQ(reports(run_mixed(options)), stopped);

  // From another thread, in the middle of one invocation.
  options.progress = {};
  for (const char* schedule : {"sequential", "random"}) {
    options.schedule = *find_schedule(schedule);
    stop = false;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = true;
    });
    DispatchOptions all;
    all.run = options;
    const Words out(1);
    EXPECT_EQ(reports(dispatch(program_of(R"(program p workgroup(1) {
                read_write out: u32[]
                for i in 0..0xffffffff { out[0] = i }
              })"),
                               4, {{"out", out}}, all)),
              stopped);
    other.join();
  }
}

TEST(Dispatch, ProgressGrowsUpToTheEnd) {
  for (const char* schedule : {"sequential", "reverse", "round-robin", "random", "mixed"}) {
    std::vector<double> done;
    RunOptions options;
    options.schedule = *find_schedule(schedule);
    options.threads = 1;
    options.progress = [&](double fraction) { done.push_back(fraction); };
    ASSERT_TRUE(run_mixed(options).ok());
    ASSERT_FALSE(done.empty());
    EXPECT_EQ(done[0], 0);
    EXPECT_EQ(done.back(), 1);
    EXPECT_TRUE(std::ranges::is_sorted(done));
  }
  // With threads it is one of them that reports.
  std::vector<double> done;
  RunOptions options;
  options.threads = 4;
  options.progress = [&](double fraction) { done.push_back(fraction); };
  ASSERT_TRUE(run_mixed(options, 1000).ok());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  for (const double fraction : done) EXPECT_TRUE(fraction >= 0 && fraction <= 1) << fraction;
}

// --- Out of bounds ------------------------------------------------------------------------------

// Buffers in one stretch of memory with guards around each, on which the interpreter itself runs.
class Arena {
 public:
  // Returns the number of the buffer; contents are bytes that differ from those of the guards.
  std::size_t add(std::size_t bytes) {
    offsets_.push_back(memory_.size() * 8 + kGuard);
    sizes_.push_back(bytes);
    memory_.resize(memory_.size() + (2 * kGuard + bytes + 7) / 8, kPattern);
    auto* begin = reinterpret_cast<std::uint8_t*>(memory_.data()) + offsets_.back();
    for (std::size_t i = 0; i < bytes; ++i) begin[i] = static_cast<std::uint8_t>(0x11 + i);
    return offsets_.size() - 1;
  }
  Memory buffer(std::size_t number) {
    return std::as_writable_bytes(std::span(memory_)).subspan(offsets_[number], sizes_[number]);
  }
  std::vector<Memory> buffers() {
    std::vector<Memory> all;
    for (std::size_t i = 0; i < offsets_.size(); ++i) all.push_back(buffer(i));
    return all;
  }
  void set(std::size_t number, const Words& words) {
    std::ranges::copy(std::as_bytes(std::span(words)), buffer(number).begin());
  }
  friend bool operator==(const Arena&, const Arena&) = default;

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::uint64_t kPattern = 0xa5a5a5a5a5a5a5a5;
  std::vector<std::uint64_t> memory_;
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> sizes_;
};

// Runs a program on it; the order makes no difference to one invocation.
void interpret_on(const std::string& text, Arena& arena) {
  const Script script = make_script(program_of(text));
  RunOptions options;
  options.schedule = *find_schedule("round-robin");
  Arena other = arena;
  ASSERT_TRUE(interpret(script, 1, arena.buffers()).ok());
  ASSERT_TRUE(interpret(script, 1, other.buffers(), options).ok());
  EXPECT_TRUE(arena == other) << text;
}

struct Element {
  std::string type;
  std::size_t bytes;
  std::string value;  // some value of it that is not zero
};

const Element kElements[] = {{"u32[]", 4, "0x77777777"},
                             {"i32[]", 4, "-2i32"},
                             {"bool[]", 4, "true"},
                             {"bytes", 4, "0x77777777"},
                             {"u64[]", 8, "0x7777777777777777u64"},
                             {"vec2u32[]", 8, "vec2u32(0x77777777)"},
                             {"u128[]", 16, "0x77777777777777777777777777777777u128"},
                             {"vec4u32[]", 16, "vec4u32(0x77777777)"}};

// Indices beyond a buffer of so many elements; the round numbers wrap around to its start or its
// inside when they are multiplied by the size of an element in 32 bits.
Words outside(std::uint32_t length) {
  return {length,     length + 1,        0x10000000,       0x20000000, 0x40000000,
          0x40000001, 0x80000000,        0x80000001,       0xc0000000, 0xfffffffe,
          0xffffffff, length | 1u << 28, length | 1u << 31};
}

TEST(OutOfBounds, LoadsGiveZero) {
  for (const Element& element : kElements) {
    const std::string loaded = element.type == "bytes" ? "u32[]" : element.type;
    for (const std::string access : {"read", "read_write", "uniform"}) {
      const std::string text = "program p workgroup(1) {\nread_write at: u32[]\n" + access +
                               " target: " + element.type + "\nread_write got: " + loaded +
                               "\ngot[1] = target[at[0]]\n}\n";
      for (const std::uint32_t length : {0u, 1u, 3u}) {
        const auto check = [&](std::uint32_t index) {
          Arena arena;
          arena.add(4);
          arena.add(length * element.bytes);
          arena.add(3 * element.bytes);
          arena.set(0, {index});
          Arena expected = arena;
          const Memory got = expected.buffer(2).subspan(element.bytes, element.bytes);
          if (index < length) {
            std::ranges::copy(expected.buffer(1).subspan(index * element.bytes, element.bytes),
                              got.begin());
            if (element.type == "bool[]") {
              std::ranges::fill(got, std::byte{0});
              got[0] = std::byte{1};
            }
          } else {
            std::ranges::fill(got, std::byte{0});
          }
          interpret_on(text, arena);
          EXPECT_TRUE(arena == expected) << text << "length " << length << ", index " << index;
        };
        for (std::uint32_t index = 0; index < length; ++index) check(index);
        for (const std::uint32_t index : outside(length)) check(index);
      }
    }
  }
}

TEST(OutOfBounds, StoresChangeNothing) {
  for (const Element& element : kElements) {
    const std::string text =
        "program p workgroup(1) {\nread_write at: u32[]\nread_write before: u32[]\n"
        "read_write target: " +
        element.type + "\nread_write behind: u32[]\ntarget[at[0]] = " + element.value + "\n}\n";
    for (const std::uint32_t length : {0u, 1u, 3u}) {
      const auto check = [&](std::uint32_t index) {
        Arena arena;
        arena.add(4);
        arena.add(16);
        arena.add(length * element.bytes);
        arena.add(16);
        arena.set(0, {index});
        Arena expected = arena;
        interpret_on(text, arena);
        if (index < length) {
          // Only this element differs, so the test would notice a store.
          EXPECT_FALSE(arena == expected) << text;
          std::ranges::copy(
              arena.buffer(2).subspan(index * element.bytes, element.bytes),
              expected.buffer(2).begin() + static_cast<std::ptrdiff_t>(index * element.bytes));
        }
        EXPECT_TRUE(arena == expected) << text << "length " << length << ", index " << index;
      };
      for (std::uint32_t index = 0; index < length; ++index) check(index);
      for (const std::uint32_t index : outside(length)) check(index);
    }
  }
}

TEST(OutOfBounds, AtomicsChangeNothingAndGiveZero) {
  struct Update {
    std::string name;
    std::string operands;  // that change the element
  };
  for (const auto& [operation, operands] :
       {Update{"atomic_add", "1"}, Update{"atomic_and", "1"}, Update{"atomic_or", "0x4000"},
        Update{"atomic_xor", "1"}, Update{"atomic_min", "1"}, Update{"atomic_max", "0x7fffffff"},
        Update{"atomic_exchange", "1"}, Update{"atomic_compare_exchange", "0x14131211, 1"}}) {
    for (const std::string type : {"u32", "i32"}) {
      std::string typed = operands;
      if (type == "i32") {
        typed.insert(typed.find(',') == std::string::npos ? typed.size() : typed.find(','), "i32");
        if (typed.find(',') != std::string::npos) typed += "i32";
      }
      const std::string text =
          "program p workgroup(1) {\nread_write at: u32[]\nread_write target: " + type +
          "[]\nread_write got: " + type + "[]\nlet old = " + operation + "(target[at[0]], " +
          typed + ")\ngot[1] = old\n" + operation + "(target[at[1]], " + typed + ")\n}\n";
      for (const std::uint32_t length : {0u, 1u, 3u}) {
        for (const std::uint32_t index : outside(length)) {
          Arena arena;
          arena.add(8);
          arena.add(std::size_t{length} * 4);
          arena.add(12);
          arena.set(0, {index, index});
          Arena expected = arena;
          Words got = {0x14131211, 0, 0x1c1b1a19};
          expected.set(2, got);
          interpret_on(text, arena);
          EXPECT_TRUE(arena == expected) << text << "length " << length << ", index " << index;
          if (length == 0) continue;
          // Element 0, by the second one of them, so that the test would notice an update.
          arena.set(0, {index, 0});
          interpret_on(text, arena);
          expected.set(0, {index, 0});
          EXPECT_FALSE(arena == expected) << text;
          std::ranges::copy(arena.buffer(1).first(4), expected.buffer(1).begin());
          EXPECT_TRUE(arena == expected) << text;
        }
      }
    }
  }
}

// Workgroup memory is seen through what the program copies out of it, with neighbours on both
// sides.
TEST(OutOfBounds, WorkgroupMemory) {
  for (const Element& element : kElements) {
    if (element.type == "bytes") continue;
    const std::string type = element.type.substr(0, element.type.size() - 2);
    const std::string text = "program p workgroup(1) {\nread_write at: u32[]\nread_write input: " +
                             type + "[]\nread_write got: " + type + "[]\nworkgroup low: " + type +
                             "[2]\nworkgroup tile: " + type + "[3]\nworkgroup high: " + type +
                             R"([2]
      for k in 0..2 {
        low[k] = input[k]
        high[k] = input[5 + k]
      }
      for k in 0..3 { tile[k] = input[2 + k] }
      got[7] = tile[at[0]]
      tile[at[0]] = )" + element.value +
                             R"(
      for k in 0..2 {
        got[k] = low[k]
        got[5 + k] = high[k]
      }
      for k in 0..3 { got[2 + k] = tile[k] }
    })";
    const auto check = [&](std::uint32_t index) {
      Arena arena;
      arena.add(4);
      arena.add(7 * element.bytes);
      arena.add(8 * element.bytes);
      for (const std::size_t workgroup : {3u, 4u, 5u}) EXPECT_EQ(arena.add(0), workgroup);
      arena.set(0, {index});
      Arena expected = arena;
      const Memory got = expected.buffer(2);
      if (type == "bool") {
        expected.set(2, {1, 1, 1, 1, 1, 1, 1, 0});
      } else {
        std::ranges::copy(expected.buffer(1), got.begin());
        std::ranges::fill(got.last(element.bytes), std::byte{0});
      }
      interpret_on(text, arena);
      if (index < 3 && type != "bool") {
        const Memory loaded =
            expected.buffer(1).subspan((2 + index) * element.bytes, element.bytes);
        std::ranges::copy(loaded, got.last(element.bytes).begin());
        EXPECT_FALSE(arena == expected) << text;
        const std::size_t at = (2 + index) * element.bytes;
        std::ranges::copy(arena.buffer(2).subspan(at, element.bytes), got.subspan(at).begin());
      } else if (index < 3) {
        expected.set(2, {1, 1, 1, 1, 1, 1, 1, 1});
      }
      EXPECT_TRUE(arena == expected) << text << "index " << index;
    };
    for (std::uint32_t index = 0; index < 3; ++index) check(index);
    for (const std::uint32_t index : outside(3)) check(index);
  }
}

// --- Examples -----------------------------------------------------------------------------------

TEST(Example, DispatchPrintsSquaresAndItsMistake) {
  EXPECT_EQ(output_of(kExampleDispatch),
            "1 4 9 16 25 \n"
            "digest 2b0aa794bd134d0014b26d373796c3fae83c93632c49fc0ef5694dce9fcd3957\n"
            "error[D001]: program `squares` has no buffer `dat`\n"
            "fix: bind the buffers it has: `data`\n"
            "error[D001]: buffer `data` of program `squares` is not bound\n"
            "fix: pass its contents; a read_write buffer needs initial contents too\n");
}

TEST(Example, ResidentPrintsRunningSums) {
  EXPECT_EQ(output_of(kExampleResident), "1 3 6 10 15 21 28 36 \n28 36\n");
}

}  // namespace
}  // namespace vyre
