// `vyre run`, `vyre race`, `vyre backends` and `vyre demo`, beyond what golden cases can show:
// contents against generators of the test's own, digests against published answers, pictures
// decoded again, files, traces of wire files, interrupts of a real process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <png.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/command.h"
#include "tools/vyre/data.h"
#include "tools/vyre/image.h"
#include "tools/vyre/interrupt.h"
#include "tools/vyre/progress.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

CommandResult run(std::vector<std::string> arguments, std::string_view input = {},
                  bool terminal = false) {
  return run_vyre(std::vector<std::string_view>(arguments.begin(), arguments.end()), input,
                  terminal);
}

// A program that leaves its one buffer as it is.
std::string keeps(const std::string& type) {
  return "program keeps workgroup(1) {\n  read_write out: " + type + "\n\n  return\n}\n";
}

// What `vyre run` makes of contents, as JSON.
json contents(const std::string& type, const std::string& data) {
  const CommandResult result =
      run({"run", "-", "--grid", "1", "--in", "out=" + data, "--json"}, keeps(type));
  EXPECT_EQ(result.status, 0) << result.out;
  return json::parse(result.out).at("buffers").at("out");
}

std::string digest_of_text(const std::string& type, const std::string& data) {
  const CommandResult result =
      run({"run", "-", "--grid", "1", "--in", "out=" + data, "--json"}, keeps(type));
  return json::parse(result.out).at("digest");
}

// Exit status and codes.
std::string codes_of(std::vector<std::string> arguments, std::string_view input) {
  arguments.emplace_back("--json");
  const CommandResult result = run(std::move(arguments), input);
  std::string codes = std::to_string(result.status);
  const json printed = json::parse(result.out);
  for (const json& diagnostic : printed.at("diagnostics")) {
    codes += " " + diagnostic.at("code").get<std::string>();
  }
  return codes;
}

class RunTest : public testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view text) {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  TempFolder folder_;
};

// --- Contents -----------------------------------------------------------------------------------

TEST(RunData, ListsOfEveryType) {
  EXPECT_EQ(contents("u32[]", "1,2,0xff,0b11,4294967295"),
            (json{{"type", "u32"}, {"data", {1, 2, 255, 3, 4294967295}}}));
  EXPECT_EQ(contents("i32[]", "-1,-2147483648,2147483647"),
            (json{{"type", "i32"}, {"data", {-1, -2147483648LL, 2147483647}}}));
  EXPECT_EQ(contents("u64[]", "18446744073709551615")["data"], (json{"18446744073709551615"}));
  EXPECT_EQ(contents("u128[]", "0x80000000000000000000000000000000")["data"],
            (json{"170141183460469231731687303715884105728"}));
  EXPECT_EQ(contents("vec2u32[]", "1,2,3,4")["data"], (json{{1, 2}, {3, 4}}));
  EXPECT_EQ(contents("vec4u32[]", "1,2,3,4")["data"], json::array({{1, 2, 3, 4}}));
  EXPECT_EQ(contents("bool[]", "true,false,1,0")["data"], (json{1, 0, 1, 0}));
  EXPECT_EQ(contents("bytes", "1,2,3,4,5")["data"], (json{0x04030201, 5}));
  EXPECT_EQ(contents("u32[]", "")["data"], json::array());
}

TEST(RunData, ZerosAndIota) {
  EXPECT_EQ(contents("u64[]", "zeros:2")["data"], (json{"0", "0"}));
  EXPECT_EQ(contents("u32[]", "zeros:0")["data"], json::array());
  EXPECT_EQ(contents("i32[]", "iota:3")["data"], (json{0, 1, 2}));
  EXPECT_EQ(contents("u128[]", "iota:3")["data"], (json{"0", "1", "2"}));
  EXPECT_EQ(contents("vec4u32[]", "iota:2")["data"], (json{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(contents("bool[]", "iota:3")["data"], (json{0, 1, 0}));
  EXPECT_EQ(contents("bytes", "iota:3")["data"], (json{0, 1, 2}));
  EXPECT_EQ(contents("u32[]", "iota:1e3")["data"].size(), 1000u);
}

// The words of SplitMix64, written down once more.
std::vector<std::uint32_t> random_words(std::uint64_t seed, std::size_t count) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t i = 1; words.size() < count; ++i) {
    std::uint64_t x = seed + i * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    x ^= x >> 31;
    words.push_back(static_cast<std::uint32_t>(x));
    words.push_back(static_cast<std::uint32_t>(x >> 32));
  }
  words.resize(count);
  return words;
}

TEST(RunData, RandomIsSplitMix64) {
  // The generator's published first output for the seed 1234567.
  EXPECT_EQ(contents("u64[]", "random:1:1234567")["data"], (json{"6457827717110365317"}));
  EXPECT_EQ(contents("u32[]", "random:7")["data"], json(random_words(0, 7)));
  EXPECT_EQ(contents("u32[]", "random:4:99")["data"], json(random_words(99, 4)));
  EXPECT_EQ(contents("bytes", "random:3:5")["data"], json(random_words(5, 3)));
  const std::vector<std::uint32_t> words = random_words(3, 8);
  EXPECT_EQ(
      contents("vec4u32[]", "random:2:3")["data"],
      (json{{words[0], words[1], words[2], words[3]}, {words[4], words[5], words[6], words[7]}}));
  json bits = json::array();
  for (std::uint32_t word : random_words(0, 20)) bits.push_back(word & 1);
  EXPECT_EQ(contents("bool[]", "random:20")["data"], bits);
}

TEST(RunData, Text) {
  EXPECT_EQ(contents("bytes", "text:abcde")["data"], (json{0x64636261, 0x65}));
  EXPECT_EQ(contents("bytes", "text:")["data"], json::array());
  EXPECT_EQ(contents("bytes", "text:a,b:c=d")["data"].size(), 2u);
  EXPECT_EQ(contents("u32[]", "text:é  ")["data"], (json{0x2020a9c3}));
  EXPECT_EQ(codes_of({"run", "-", "--grid", "1", "--in", "out=text:abc"}, keeps("u32[]")),
            "1 D003");
}

TEST_F(RunTest, FilesAndStandardInputAsContents) {
  const std::string program = file("keeps.vyre", keeps("u32[]"));
  const std::string bytes("\x01\x00\x00\x80\xff\xff\xff\xff", 8);
  const std::string data = file("data.bin", bytes);
  for (const CommandResult& result :
       {run({"run", program, "--grid", "1", "--json", "--in", "out=@" + data}),
        run({"run", program, "--grid", "1", "--json", "--in", "out=@-"}, bytes)}) {
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_EQ(json::parse(result.out)["buffers"]["out"]["data"], (json{0x80000001, 0xffffffff}));
  }
  EXPECT_EQ(codes_of({"run", program, "--grid", "1", "--in", "out=@" + path("none")}, ""),
            "1 I001");
  EXPECT_EQ(codes_of({"run", program, "--grid", "1", "--in", "out=@" + folder_.path()}, ""),
            "1 I001");
  EXPECT_EQ(codes_of({"run", "-", "--grid", "1", "--in", "out=@-"}, keeps("u32[]")), "2 U006");
  file("ragged.bin", "abc");
  EXPECT_EQ(codes_of({"run", program, "--grid", "1", "--in", "out=@" + path("ragged.bin")}, ""),
            "1 D003");
}

TEST_F(RunTest, MoreThanTheMachineHasIsNotEvenTried) {
  const std::string program = file("keeps.vyre", keeps("vec4u32[]"));
  const std::vector<std::string> arguments = {"run", program, "--grid", "1", "--in"};
  for (const std::string form : {"zeros:1e15", "iota:1e15", "random:18446744073709551615:1"}) {
    std::vector<std::string> with = arguments;
    with.push_back("out=" + form);
    EXPECT_EQ(codes_of(with, ""), "3 B004") << form;
  }
  // A file of which nothing exists but its size.
  const int descriptor = open(path("large").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(descriptor, 0);
  const int grown = ftruncate(descriptor, off_t{1} << 42);
  close(descriptor);
  if (grown != 0) GTEST_SKIP() << "the file system has no such files";
  std::vector<std::string> with = arguments;
  with.push_back("out=@" + path("large"));
  EXPECT_EQ(codes_of(with, ""), "3 B004");
}

TEST(RunData, Counts) {
  EXPECT_EQ(*read_count("n", "1_000", 0, 1000), 1000u);
  EXPECT_EQ(*read_count("n", "3e4", 0, 30000), 30000u);
  EXPECT_EQ(*read_count("n", "0e99999999999999999999", 0, 9), 0u);
  EXPECT_EQ(*read_count("n", "0x1e", 0, 99), 30u);
  EXPECT_EQ(*read_count("n", "18446744073709551615", 0, ~std::uint64_t{0}), ~std::uint64_t{0});
  for (const char* wrong :
       {"", "-1", "+1", " 1", "1 ", "1.5", "1e", "e3", "1e-3", "1e400", "18446744073709551616",
        "340282366920938463463374607431768211456", "0x", "0X1", "1_", "ten"}) {
    EXPECT_FALSE(read_count("n", wrong, 0, ~std::uint64_t{0}).ok()) << wrong;
  }
  EXPECT_FALSE(read_count("n", "0", 1, 5).ok());
  EXPECT_FALSE(read_count("n", "6", 1, 5).ok());
}

// --- Results ------------------------------------------------------------------------------------

TEST(RunJson, IsWhatTheContractSays) {
  const CommandResult result =
      run({"run", "-", "--grid", "3,2", "--json", "--in", "out=7"},
          "program keeps workgroup(1) {\n  read_write out: u32[]\n\n  out[0] = out[0]\n}\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out, "{\"program\":\"keeps\",\"backend\":\"" +
                            std::string(default_backend().name) +
                            "\",\"grid\":[3,2,1],\"buffers\":{\"out\":"
                            "{\"type\":\"u32\",\"data\":[7]}},\"digest\":"
                            "\"" +
                            digest_of_text("u32[]", "7") + "\"}\n");
}

TEST(RunJson, AllBackends) {
  const std::vector<std::string> arguments = {"run",  "-",     "--grid",    "1",
                                              "--in", "out=7", "--backend", "all"};
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const json all = json::parse(run(with_json, keeps("u32[]")).out);
  EXPECT_EQ(all["agree"], true);
  const json backends = json::parse(run({"backends", "--json"}).out)["backends"];
  std::vector<std::string> can_run, ran;
  for (const json& backend : backends) {
    if (backend["available"]) can_run.push_back(backend["name"]);
  }
  for (const json& result : all["results"]) {
    ran.push_back(result["backend"]);
    EXPECT_EQ(result["buffers"]["out"]["data"], json{7});
    EXPECT_EQ(result["digest"], all["results"][0]["digest"]);
  }
  EXPECT_EQ(ran, can_run);
  const CommandResult text = run(arguments, keeps("u32[]"));
  EXPECT_EQ(text.status, 0);
  for (const std::string& name : can_run) {
    EXPECT_NE(text.out.find(name), std::string::npos) << text.out;
  }
}

TEST(RunJson, Backends) {
  const CommandResult result = run({"backends", "--json"});
  EXPECT_EQ(result.status, 0);
  const json backends = json::parse(result.out).at("backends");
  EXPECT_EQ(backends.size(), all_backends().size());
  for (const json& backend : backends) {
    EXPECT_EQ(backend.size(), 6u);
    EXPECT_EQ(backend.at("available"), backend.at("reason").is_null());
    EXPECT_NE(backend.at("available"), backend.at("device").is_null());
    EXPECT_NE(backend.at("available"), backend.at("devices").empty());
    EXPECT_EQ(backend.at("limits").size(), backend.at("devices").size());
  }
  EXPECT_EQ(backends[0]["limits"][0]["buffer_bytes"], reference().info().max_buffer_bytes);
  EXPECT_EQ(backends[0]["name"], "interp");
  EXPECT_EQ(backends[0]["available"], true);
  EXPECT_NE(run({"backends"}).out.find("interp"), std::string::npos);
}

TEST(RunDigest, IsBlake2b256) {
  // hashlib.blake2b(…, digest_size=32) of nothing, of "abcd", and of the bytes 0 to 255 four times.
  EXPECT_EQ(digest_of_text("u32[]", ""),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(digest_of_text("u32[]", "text:abcd"),
            "9cc3912a042827e45983ed53df3c759f4574added1d07c6d0c7fe0bc3ecf9c42");
  std::string list;
  for (int i = 0; i < 1024; ++i) list += (i > 0 ? "," : "") + std::to_string(i % 256);
  EXPECT_EQ(digest_of_text("bytes", list),
            "f1551feeb252c7e60bb362205bd1ac2f70b145260a91d41e8c5d0a187549a5f2");
}

TEST(RunDigest, CoversReadWriteBuffersInBindingOrder) {
  const std::string program =
      "program three workgroup(1) {\n  read_write b: u32[] @2\n  read other: u32[] @1\n"
      "  read_write a: bytes @0\n\n  return\n}\n";
  const CommandResult result = run({"run", "-", "--grid", "1", "--in", "a=text:abcd", "--in",
                                    "other=5", "--in", "b=text:efgh", "--out", "b", "--json"},
                                   program);
  const json printed = json::parse(result.out);
  // b2sum -l 256 of "abcdefgh"
  EXPECT_EQ(printed["digest"], "f3c718f594ba6fa0035f258225387f324feaef7768ece6dac1ccaa7d46d1e2aa");
  EXPECT_EQ(printed["buffers"].size(), 1u);
}

TEST_F(RunTest, OutWritesRawBytes) {
  const std::string program = file("keeps.vyre", keeps("u32[]"));
  const std::string out = path("out.bin");
  const CommandResult result =
      run({"run", program, "--grid", "1", "--in", "out=0x64636261,0x80", "--out", "out=" + out});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(read_file(out), std::string("abcd\x80\0\0\0", 8));
  EXPECT_EQ(result.out.find("digest "), 0u) << result.out;  // and nothing else

  // Standard output may be the file; what people read is then elsewhere.
  const CommandResult piped =
      run({"run", program, "--grid", "1", "--in", "out=0x64636261", "--out", "out=-"});
  EXPECT_EQ(piped.out, "abcd");
  EXPECT_NE(piped.err.find("digest "), std::string::npos);
  const CommandResult terminal =
      run({"run", program, "--grid", "1", "--in", "out=0x64636261", "--out", "out=-"}, "", true);
  EXPECT_EQ(terminal.status, 2);
  EXPECT_NE(terminal.err.find("U006"), std::string::npos);
}

TEST_F(RunTest, NothingIsWrittenWhenSomethingIsWrong) {
  const std::string program = file("long.vyre",
                                   "program long workgroup(1) {\n  read_write out: u32[]\n\n"
                                   "  for i in 0..100000 {\n    out[0] = i\n  }\n}\n");
  const std::vector<std::string> arguments = {
      "run", program, "--grid", "1", "--in", "out=zeros:1", "--out", "out=" + path("out.bin")};
  std::vector<std::string> bounded = arguments;
  bounded.insert(bounded.end(), {"--max-steps", "5000"});
  EXPECT_EQ(codes_of(bounded, ""), "1 R004");
  std::vector<std::string> drawn = arguments;
  drawn.insert(drawn.end(), {"--image", "out=" + path("out.png") + ":2x2"});
  EXPECT_EQ(codes_of(drawn, ""), "2 U007");
  EXPECT_EQ(files(), 1u);
  std::vector<std::string> elsewhere = arguments;
  elsewhere.back() = "out=" + path("no/such/folder");
  EXPECT_EQ(codes_of(elsewhere, ""), "3 I002");
  EXPECT_EQ(run(arguments).status, 0);
  EXPECT_EQ(files(), 2u);
}

TEST(Run, RepeatComparesAndTellsTimes) {
  const CommandResult result =
      run({"run", "-", "--grid", "1", "--in", "out=7", "--repeat", "5"}, keeps("u32[]"));
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.err.find(std::string(default_backend().name) +
                            ": 5 runs gave the same bytes; fastest "),
            std::string::npos)
      << result.err;
}

TEST(Run, DifferencesNameTheFirstElement) {
  const auto outputs = [](std::vector<std::uint32_t> a, std::vector<std::uint64_t> b) {
    const std::span<const std::byte> a_bytes = std::as_bytes(std::span(a));
    const std::span<const std::byte> b_bytes = std::as_bytes(std::span(b));
    Outputs made;
    made.buffers = {{"a", DataType::I32, {a_bytes.begin(), a_bytes.end()}},
                    {"b", DataType::Vec2U32, {b_bytes.begin(), b_bytes.end()}}};
    return made;
  };
  EXPECT_EQ(difference(outputs({1, 2}, {3}), outputs({1, 2}, {3})), "");
  EXPECT_EQ(difference(outputs({}, {}), outputs({}, {})), "");
  EXPECT_EQ(difference(outputs({1, 2}, {3}), outputs({1, 0xffffffff}, {4})), "a[1]: 2 and -1");
  EXPECT_EQ(difference(outputs({1, 2}, {3, 5}), outputs({1, 2}, {3, 5 + (1ull << 32)})),
            "b[1]: (5, 0) and (5, 1)");
}

TEST(Run, LimitsOfTheInterpreter) {
  const auto code = [](const std::string& head, const std::string& verb) {
    return codes_of({verb, "-", "--grid", "1", "--in", "out=zeros:1"},
                    "program p workgroup(" + head + "\n\n  out[0] = 1\n}\n");
  };
  for (const std::string verb : {"run", "race"}) {
    EXPECT_EQ(code("1024, 65) {\n  read_write out: u32[]", verb), "3 B001");
    EXPECT_EQ(code("1) {\n  read_write out: u32[]\n  workgroup cells: u128[4194305]", verb),
              "3 B002");
  }
  EXPECT_EQ(codes_of({"run", "-", "--grid", "1", "--in", "out=zeros:1", "--trace", "0"},
                     "program p workgroup(1024, 65) {\n  read_write out: u32[]\n}\n"),
            "3 B001");
}

// --- Pictures -----------------------------------------------------------------------------------

struct Decoded {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  bool colour = false;
  std::vector<int> rgba;
};

Decoded decode_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << image.message;
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = PNG_FORMAT_RGBA;
  std::vector<png_byte> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  return {image.width, image.height, colour, {pixels.begin(), pixels.end()}};
}

class ImageTest : public RunTest {
 protected:
  // What `--image` writes of a buffer of that type with these contents.
  Decoded image_of(const std::string& type, const std::string& data, const std::string& shape) {
    const std::string png = path("a:b.png");
    const CommandResult result = run(
        {"run", "-", "--grid", "1", "--in", "out=" + data, "--image", "out=" + png + ":" + shape},
        keeps(type));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out.find("digest"), 0u) << result.out;
    return decode_png(png);
  }
};

TEST_F(ImageTest, Rgba8) {
  const Decoded image = image_of("u32[]",
                                 "0xff0000ff,0xff00ff00,0x80ff0000,0x00000000,0x01020304,"
                                 "0xffffffff",
                                 "3x2");
  EXPECT_EQ(image.width, 3u);
  EXPECT_EQ(image.height, 2u);
  EXPECT_TRUE(image.colour);
  EXPECT_EQ(image.rgba, (std::vector<int>{255, 0, 0, 255, 0, 255, 0, 255, 0,   0,   255, 128,  //
                                          0,   0, 0, 0,   4, 3,   2, 1,   255, 255, 255, 255}));
  EXPECT_EQ(image_of("bytes", "1,2,3,255", "1x1").rgba, (std::vector<int>{1, 2, 3, 255}));
  EXPECT_EQ(image_of("vec2u32[]", "0xff000001,0xff000002", "2x1:rgba8").rgba,
            (std::vector<int>{1, 0, 0, 255, 2, 0, 0, 255}));
}

TEST_F(ImageTest, Gray8) {
  const auto grays = [](std::initializer_list<int> values) {
    std::vector<int> rgba;
    for (int value : values) rgba.insert(rgba.end(), {value, value, value, 255});
    return rgba;
  };
  const Decoded image = image_of("u32[]", "0,7,255,256,4294967295,128", "2x3:gray8");
  EXPECT_FALSE(image.colour);
  EXPECT_EQ(image.rgba, grays({0, 7, 255, 255, 255, 128}));
  EXPECT_EQ(image_of("i32[]", "-1,300", "2x1:gray8").rgba, grays({0, 255}));
  EXPECT_EQ(image_of("u64[]", "4294967296,9", "2x1").rgba, grays({255, 9}));
  EXPECT_EQ(image_of("bool[]", "true,false", "1x2").rgba, grays({255, 0}));
  EXPECT_EQ(image_of("bytes", "1,2,3", "3x1").rgba, grays({1, 2, 3}));
}

TEST_F(ImageTest, DrawnBesideItsValuesOnlyWhenAsked) {
  const std::vector<std::string> arguments = {
      "run", "-", "--grid", "1", "--in", "out=true,false,false,true", "--image", "out:2x2"};
  const CommandResult drawn = run(arguments, keeps("bool[]"));
  EXPECT_EQ(drawn.out.find("==\ndigest"), 0u) << drawn.out;  // half of the pixels are white
  const CommandResult coloured = run(arguments, keeps("bool[]"), true);
  EXPECT_EQ(coloured.out.find("\x1b[38;2;255;255;255m\x1b[48;2;0;0;0m▀"
                              "\x1b[38;2;0;0;0m\x1b[48;2;255;255;255m▀\x1b[0m\n"),
            0u)
      << coloured.out;
}

TEST(Drawing, FitsItsColumns) {
  Picture picture{300, 100, true, std::vector<std::uint8_t>(120'000, 255)};
  const std::string drawn = draw(picture, 60, false);
  const std::vector<std::string_view> lines = split(drawn, '\n');
  ASSERT_EQ(lines.size(), 11u);  // 60 wide, so 20 high, two rows on a line; and the end
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(lines[i], std::string(60, '@'));
  picture = {1, 1, true, {255, 255, 255, 255}};
  EXPECT_EQ(draw(picture, 80, false), "@\n");
  EXPECT_EQ(draw(picture, 80, true), "\x1b[38;2;255;255;255m\x1b[49m▀\x1b[0m\n");
  picture = {1, 1, false, {255, 255, 255, 0}};
  EXPECT_EQ(draw(picture, 80, false), "\n");  // transparent
  picture = {1, 1000, true, std::vector<std::uint8_t>(4000, 255)};
  EXPECT_EQ(split(draw(picture, 80, false), '\n').size(), 501u);
}

// --- Traces and races ---------------------------------------------------------------------------

constexpr std::string_view kLoop =
    "program loop workgroup(2) {\n  read_write out: u32[]\n\n  for i in 0..6000 {\n"
    "    out[local_id.x] = i\n  }\n}\n";

TEST(Trace, IsCutUnlessAllOfItIsWanted) {
  std::vector<std::string> arguments = {"run",  "-",           "--grid",  "1",
                                        "--in", "out=zeros:2", "--trace", "1"};
  const CommandResult cut = run(arguments, kLoop);
  EXPECT_EQ(split(cut.out, '\n').size(), 10'000 + 7u);
  EXPECT_NE(cut.out.find("… 2002 more statements; --trace-all shows all\n"), std::string::npos);
  arguments.emplace_back("--trace-all");
  EXPECT_EQ(split(run(arguments, kLoop).out, '\n').size(), 12'002 + 6u);
  arguments.back() = "--json";
  const json printed = json::parse(run(arguments, kLoop).out);
  EXPECT_EQ(printed["trace"].size(), 10'000u);
  EXPECT_EQ(printed["trace_left_out"], 2002);
}

// A wire file has no lines: places are paths, with the text of the statement or expression.
TEST_F(RunTest, PlacesInWireFilesArePaths) {
  const std::string wire = path("loop.vyrew");
  ASSERT_EQ(run({"encode", file("loop.vyre", kLoop), "-o", wire}).status, 0);
  std::vector<std::string> arguments = {"run",  wire,          "--grid",  "1",
                                        "--in", "out=zeros:2", "--trace", "1"};
  const CommandResult traced = run(arguments);
  EXPECT_EQ(split(traced.out, '\n').size(), 10'000 + 7u);
  for (const char* part : {" in ", "loop.vyrew\nbody[0] | for i in 0..6000 { ",
                           "\nbody[0].body[0] | out[local_id.x] = i | out[1] <- 0\n"}) {
    EXPECT_NE(traced.out.find(part), std::string::npos) << part;
  }
  arguments.emplace_back("--json");
  const json step = json::parse(run(arguments).out)["trace"][1];
  EXPECT_EQ(step["path"], "body[0].body[0]");
  EXPECT_EQ(step["statement"], "out[local_id.x] = i");
  EXPECT_FALSE(step.contains("line"));
  arguments.pop_back();
  arguments.back() = "0..1";
  EXPECT_NE(run(arguments).out.find("values first differ at\nbody[0].body[0] | out[local_id.x]"),
            std::string::npos);

  const std::string racy =
      "program racy workgroup(2) {\n  read_write out: u32[]\n\n"
      "  if local_id.y == 0 {\n    out[local_id.x] = out[local_id.x ^ 1]\n  }\n}\n";
  ASSERT_EQ(run({"encode", file("racy.vyre", racy), "-o", path("racy.vyrew")}).status, 0);
  const CommandResult race =
      run({"race", path("racy.vyrew"), "--grid", "1", "--in", "out=zeros:2"});
  EXPECT_EQ(race.status, 1);
  for (const char* part : {"racy.vyrew: error[R001]", "in program racy: body[0].then[0]\n",
                           " at program racy: body[0].then[0]\n",
                           " at program racy: body[0].then[0]: out[local_id.x ^ 1]\n"}) {
    EXPECT_NE(race.err.find(part), std::string::npos) << part << "\n" << race.err;
  }
}

// So are the places of the ops in them; those of the library have lines.
TEST_F(RunTest, TracesOfWireFilesEnterOps) {
  const std::string wire = path("ops.vyrew");
  const std::string text =
      "op my.up(x: u32) -> u32 {\n  return primitive.math.clamp(x, 1, 9)\n}\n\n"
      "program ops workgroup(1) {\n  read_write out: u32[]\n\n  out[0] = my.up(out[0])\n}\n";
  ASSERT_EQ(run({"encode", file("ops.vyre", text), "-o", wire}).status, 0);
  const std::string traced =
      run({"run", wire, "--grid", "1", "--in", "out=12", "--trace", "0", "--trace-into", "all"})
          .out;
  EXPECT_NE(
      traced.find("body[0] | out[0] = my.up(out[0])                 | out[0] = 12, out[0] <- 9\n"
                  "    |   op my.up                             | x = 12\n"
                  "body[0] |   return primitive.math.clamp(x, 1, 9) | returns 9\n"
                  "1:1 |     op primitive.math.clamp            | x = 12, lo = 1, hi = 9 "
                  "(library)\n"
                  "3:3 |     return min(max(x, lo), hi)         | returns 9\n"
                  "body[1] | end\n"),
      std::string::npos)
      << traced;
}

TEST(Race, CleanResultsCount) {
  const json printed = json::parse(
      run({"race", "-", "--grid", "3", "--in", "out=zeros:1", "--json"}, keeps("u32[]")).out);
  EXPECT_EQ(printed["races"], json::array());
  EXPECT_EQ(printed["dependences"], json::array());
  EXPECT_GE(printed["schedules"], 8);
  EXPECT_EQ(printed["invocations"], 3);
  EXPECT_EQ(printed["buffers"], 1);
}

// --- Processes and terminals --------------------------------------------------------------------

constexpr std::string_view kEndless =
    "program endless workgroup(1) {\n  read_write out: u32[]\n\n  for i in 0..4000000000 {\n"
    "    for j in 0..4000000000 {\n      out[0] = j\n    }\n  }\n}\n";

// The command beside a module that is no library, and then with such libraries everywhere.
TEST_F(RunTest, AnLlvmThatDoesNotLoadIsPassedOver) {
  const std::string command = file("vyre", read_file(command_path()));
  ASSERT_EQ(chmod(command.c_str(), 0700), 0);
  const std::string program = file(
      "p.vyre",
      "program p workgroup(4) {\n  read_write out: u32[]\n  out[local_id.x] = local_id.x * 3\n}\n");
  for (const char* name :
       {"libvyre-llvm.so", "libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"}) {
    file(name, "no library");
  }
  const auto run = [&](const std::string& settings, const std::string& more = "2>&1") {
    return output_of("VYRE_CACHE= XDG_CACHE_HOME= HOME= " + settings + " " + command + " run " +
                     program + " --grid 1 --in out=zeros:4 " + more);
  };
  const std::string said = run("LD_LIBRARY_PATH=" + path(""));
  EXPECT_TRUE(said.starts_with("note: running on `interp`: ")) << said;
  EXPECT_NE(said.find(path("libvyre-llvm.so")), std::string::npos) << said;
  // With --json it is in the object, and standard error has nothing.
  const std::string no_llvm = "LD_LIBRARY_PATH=" + path("");
  const json result = json::parse(run(no_llvm, "--json 2>&1"));
  ASSERT_EQ(result["notes"].size(), 1u);
  EXPECT_EQ("note: " + result["notes"][0].get<std::string>(), said.substr(0, said.find('\n')));
  const std::string other = run("");  // on the system's LLVM, where it has one
  EXPECT_NE(other.find(said.substr(said.find("out:"))), std::string::npos) << other;
}

// Starts a command, with these files as its standard ones; -1 is what the tests have.
pid_t start(std::vector<std::string> words, std::array<int, 3> standard) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  // Whoever runs the tests may ignore signals, and nothing may run for ever.
  for (int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
  alarm(1800);
  for (int i = 0; i < 3; ++i) {
    const int file = standard[static_cast<std::size_t>(i)];
    if (file >= 0 && dup2(file, i) < 0) _exit(98);
  }
  execv(arguments[0], arguments.data());
  _exit(99);
}

// What a shell shows for it.
int ended_with(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Waits until a process has a handler for a signal.
void wait_until_caught(pid_t child, int number) {
  for (;;) {
    std::ifstream file("/proc/" + std::to_string(child) + "/status");
    std::string line;
    std::uint64_t caught = 0;
    while (std::getline(file, line)) {
      if (line.starts_with("SigCgt:")) caught = std::stoull(line.substr(7), nullptr, 16);
      ASSERT_FALSE(line.starts_with("State:\tZ")) << "it has ended";
    }
    if ((caught >> (number - 1) & 1) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(RunTest, ASignalEndsARunAndLeavesNoFile) {
  const std::string program = file("endless.vyre", kEndless);
  for (const auto& [verb, number] :
       {std::pair<std::string, int>("run", SIGINT), {"race", SIGTERM}, {"bench", SIGHUP}}) {
    const std::string output = verb == "bench" ? path("times.svg") : "out=" + path("out.bin");
    const int errors = open(path("errors").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const pid_t child = start({command_path(), verb, program, "--grid", "1", "--in", "out=zeros:1",
                               verb == "bench" ? "--svg" : "--out", output},
                              {-1, -1, errors});
    close(errors);
    ASSERT_GT(child, 0);
    wait_until_caught(child, number);
    ASSERT_EQ(kill(child, number), 0);
    EXPECT_EQ(ended_with(child), 128 + number) << verb;
    EXPECT_NE(read_file(path("errors")).find("error[R005]"), std::string::npos);
    EXPECT_EQ(files(), 2u) << "the program, and what was said";
  }
}

// Code that does not look whether somebody asked it to stop: here the loading of LLVM, which waits
// for a module that is a pipe.
TEST_F(RunTest, ASignalEndsARunInForeignCode) {
  const std::string command = file("vyre", read_file(command_path()));
  ASSERT_EQ(chmod(command.c_str(), 0700), 0);
  const std::string module = path("libvyre-llvm.so");
  ASSERT_EQ(mkfifo(module.c_str(), 0600), 0);
  const std::string program = file("endless.vyre", kEndless);
  const std::string no_cache = "VYRE_CACHE=" + path("cache");
  for (const bool is_json : {false, true}) {
    const int errors = open(path("errors").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const int said = open(path("said").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    std::vector<std::string> words = {"/usr/bin/env", no_cache,    command, "run",
                                      program,        "--grid",    "1",     "--in",
                                      "out=zeros:1",  "--backend", "cpu"};
    if (is_json) words.emplace_back("--json");
    const pid_t child = start(words, {-1, said, errors});
    close(errors);
    close(said);
    ASSERT_GT(child, 0);
    const int other_end = open(module.c_str(), O_WRONLY);  // waits until it reads
    wait_until_caught(child, SIGTERM);
    ASSERT_EQ(kill(child, SIGTERM), 0);
    EXPECT_EQ(ended_with(child), 143);
    close(other_end);
    EXPECT_EQ(read_file(path("errors")).find("error[R005]"), is_json ? std::string::npos : 0u);
    EXPECT_EQ(read_file(path("said")).find("\"R005\"") != std::string::npos, is_json);
  }
}

// Neither does it wait for somebody to read what it prints.
TEST_F(RunTest, ASignalEndsACommandWhoseOutputNobodyReads) {
  const std::string program = file("keeps.vyre", keeps("u32[]"));
  int output[2];
  ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
  const pid_t child = start({command_path(), "run", program, "--grid", "1", "--in",
                             "out=zeros:1000000", "--out", "out=-"},
                            {-1, output[1], output[1]});
  ASSERT_GT(child, 0);
  close(output[1]);
  pollfd ready{output[0], POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, -1), 1);
  ASSERT_EQ(kill(child, SIGHUP), 0);
  EXPECT_EQ(ended_with(child), 129);
  close(output[0]);
}

TEST_F(RunTest, ASignalEndsACommandThatWaitsForItsInput) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "-"},
           {"fmt", "-"},
           {"encode", "-", "-o", path("out")},
           {"opt", "-"},
           {"lower", "-", "--to", "ptx"},
           {"run", "-", "--grid", "1"},
           {"race", "-", "--grid", "1", "--out", "out=" + path("out")},
           {"bench", "-", "--grid", "1"}}) {
    int input[2];
    ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
    std::vector<std::string> all{command_path()};
    all.insert(all.end(), words.begin(), words.end());
    const pid_t child = start(all, {input[0], -1, -1});
    ASSERT_GT(child, 0);
    ASSERT_EQ(write(input[1], "//", 2), 2);
    for (int left = 2; left > 0 && waitpid(child, nullptr, WNOHANG) == 0;) {
      ASSERT_EQ(ioctl(input[0], FIONREAD, &left), 0);
    }
    ASSERT_EQ(kill(child, SIGTERM), 0);
    EXPECT_EQ(ended_with(child), 143) << words[0];
    close(input[0]);
    close(input[1]);
    EXPECT_EQ(files(), 0u);
  }
}

// A pipe of the test's that only the command and its solver have open tells when both have ended.
TEST_F(RunTest, ASignalEndsTheSolverToo) {
  const std::string solver =
      file("solver", "#!/bin/sh\necho $$ > '" + path("id") + ".new'\nmv '" + path("id") +
                         ".new' '" + path("id") + "'\nexec sleep 1000\n");
  ASSERT_EQ(chmod(solver.c_str(), 0700), 0);
  int alive[2];
  ASSERT_EQ(pipe(alive), 0);
  const pid_t child = start({"/usr/bin/env", "VYRE_SOLVER=" + solver, "VYRE_CACHE=" + path("cache"),
                             command_path(), "ops", "--prove", "primitive.math.min"},
                            {-1, -1, -1});
  ASSERT_GT(child, 0);
  close(alive[1]);
  while (!fs::exists(path("id"))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_EQ(kill(child, SIGTERM), 0);
  EXPECT_EQ(ended_with(child), 143);
  pollfd ended{alive[0], POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 60'000), 1) << "the solver is left behind";
  if (ended.revents == 0) kill(static_cast<pid_t>(std::stol(read_file(path("id")))), SIGKILL);
  close(alive[0]);
}

// In processes of their own, because an interrupt is remembered.
using InterruptDeathTest = RunTest;

TEST_F(InterruptDeathTest, AnInterruptedFileIsNotWritten) {
  const auto write_after_interrupt = [&] {
    std::signal(SIGINT, SIG_DFL);
    const Interruptible interruptible;
    std::raise(SIGINT);
    _exit(exit_status(write_file(path("new"), "text").diagnostics()));
  };
  EXPECT_EXIT(write_after_interrupt(), testing::ExitedWithCode(130), "");
  EXPECT_EQ(files(), 0u);
}

TEST_F(InterruptDeathTest, TheTimeThatASignalLeavesIsShort) {
  const std::string half = file("half", "te");
  const auto wait_after_signal = [&] {
    std::signal(SIGTERM, SIG_DFL);
    alarm(300);
    {
      const Interruptible interruptible;
      name_temporary(half.c_str());
      std::raise(SIGTERM);
    }
    for (;;) pause();
  };
  EXPECT_EXIT(wait_after_signal(), testing::ExitedWithCode(143), "");
  EXPECT_EQ(files(), 0u);
}

TEST_F(InterruptDeathTest, ASecondInterruptEndsTheProcessAndRemovesWhatIsHalfWritten) {
  const std::string half = file("half", "te");
  const auto interrupt_twice = [&] {
    std::signal(SIGINT, SIG_DFL);
    const Interruptible interruptible;
    name_temporary(half.c_str());
    std::raise(SIGINT);
    std::raise(SIGINT);
    _exit(0);
  };
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "");
  EXPECT_EQ(files(), 0u);
}

TEST(Progress, TellsPercentAndTime) {
  EXPECT_EQ(progress_text(0, 3.7), "3 s");
  EXPECT_EQ(progress_text(0.25, 10), "25 %, 10 s, about 30 s left");
  EXPECT_EQ(progress_text(0.001, 3600), "0 %, 60 min, about 999 h left");
}

TEST(Progress, ShowsAfterASecondOnATerminalAndIsErased) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::FILE* err = fdopen(ends[1], "w");
  const Console console{nullptr, nullptr, err, false, false, true};
  const auto begin = std::chrono::steady_clock::now();
  {
    Progress progress(console);
    progress.sink()(0.5);
  }
  std::fflush(err);
  int waiting = 0;
  ASSERT_EQ(ioctl(ends[0], FIONREAD, &waiting), 0);
  // A machine that is too busy for this has taken a second.
  const bool is_busy = std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1);
  EXPECT_TRUE(waiting == 0 || is_busy) << waiting;
  std::string shown(static_cast<std::size_t>(waiting), ' ');
  ASSERT_EQ(read(ends[0], shown.data(), shown.size()), waiting);
  const auto take = [&] {
    char c = 0;
    const bool is_one = read(ends[0], &c, 1) == 1;
    if (is_one) shown += c;
    return is_one;
  };
  shown.clear();
  {
    Progress progress(console);
    progress.sink()(0.5);
    while (!shown.ends_with(" left") && take()) continue;
  }
  std::fclose(err);
  // How long it has taken by then depends on the machine.
  EXPECT_EQ(shown.find("\r50 %, "), 0u) << shown;
  while (take()) continue;
  close(ends[0]);
  const std::size_t blank = shown.find_last_not_of(" \r");
  EXPECT_EQ(shown.substr(blank - 4, 6), " left\r") << shown;
  EXPECT_EQ(shown.size() - blank - 1, blank - shown.find_last_of('\r', blank) + 2) << shown;
  EXPECT_EQ(Progress({nullptr, nullptr, nullptr}).sink(), nullptr);
}

TEST(Demo, ShowsAPictureADigestAndARace) {
  const CommandResult result = run({"demo"});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_EQ(result.err, "");
  for (const char* part :
       {"@", "interp  ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  right\n",
        "error[R001]: data race on cells[", "no races: ", " 2016  6112 10208 14304\n"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(json::parse(run({"demo", "--json"}).out)["text"], result.out);
}

}  // namespace
}  // namespace vyre
