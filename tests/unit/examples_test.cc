// The programs in examples/ compute what they say: published test vectors, or plain C++, GMP and
// the standard library as peers. The lengths are empty, one, around the size of a workgroup and
// beyond.
#include <gmpxx.h>
#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "tests/support/command.h"
#include "tests/support/cpu_fixture.h"
#include "tools/vyre/command.h"

namespace vyre {
namespace {

using nlohmann::json;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Words = std::vector<u32>;

const std::string kFolder = source_root() + "/examples/";
constexpr u32 kOnes = 0xFFFFFFFF;

// --- Running ------------------------------------------------------------------------------------

template <typename Numbers>
std::string list(const Numbers& numbers) {
  std::string text;
  for (const auto& number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// The bytes of a text as a list, which can hold any byte.
std::string bytes(std::string_view text) {
  return list(std::vector<unsigned char>(text.begin(), text.end()));
}

std::string zeros(std::size_t count) { return "zeros:" + std::to_string(count); }

std::string number(std::size_t value) { return std::to_string(value); }

// The grid of one axis that has an invocation for each element.
std::string grid(std::size_t elements, std::size_t workgroup) {
  return number((elements + workgroup - 1) / workgroup);
}

struct Input {
  std::string buffer;
  std::string data;
};

// The buffers after a dispatch, as `vyre run --json` shows their elements.
class Buffers {
 public:
  explicit Buffers(json result) : result_(std::move(result)) {}

  json data(const std::string& buffer) const { return result_.at("buffers").at(buffer).at("data"); }
  Words words(const std::string& buffer) const { return data(buffer).get<Words>(); }
  // The bytes of a buffer of `bytes` or u8.
  std::string text(const std::string& buffer, std::size_t length) const {
    const Words all = words(buffer);
    const std::size_t each = result_.at("buffers").at(buffer).at("type") == "u8" ? 1 : 4;
    std::string result;
    for (std::size_t i = 0; i < length; ++i) {
      result += static_cast<char>(all.at(i / each) >> i % each * 8 & 0xFF);
    }
    return result;
  }

 private:
  json result_;
};

CommandResult run_words(const std::vector<std::string>& words) {
  return run_vyre(std::vector<std::string_view>(words.begin(), words.end()));
}

Buffers run(const std::string& example, const std::string& program, const std::string& grid,
            const std::vector<Input>& inputs) {
  std::vector<std::string> arguments = {
      "run", kFolder + example + ".vyre", "--json", "--program", program, "--grid", grid};
  for (const Input& input : inputs) {
    arguments.push_back("--in");
    arguments.push_back(input.buffer + "=" + input.data);
  }
  const CommandResult result = run_words(arguments);
  EXPECT_EQ(result.status, kFine) << example << ": " << result.err << result.out;
  if (!ahead().empty()) {
    EXPECT_EQ(result.err, "") << "not on the interpreter";
  }
  return Buffers(json::parse(result.out));
}

Words random_words(std::size_t count, u32 seed) {
  std::mt19937 random(seed);
  Words words(count);
  for (u32& word : words) word = static_cast<u32>(random());
  return words;
}

std::string hex(const std::string& text) {
  std::string result;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    result += "0123456789abcdef"[byte / 16];
    result += "0123456789abcdef"[byte % 16];
  }
  return result;
}

// --- All examples -------------------------------------------------------------------------------

// The examples that are valid programs.
std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    if (file.path().extension() == ".vyre" && file.path().stem() != "broken") {
      names.push_back(file.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  EXPECT_GE(names.size(), 19u);
  return names;
}

// The command that ends the head comment of an example, as arguments behind `vyre`.
std::vector<std::string> command_of(const std::string& name) {
  const std::string text = read_file(kFolder + name + ".vyre");
  std::string last;
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("//")) break;
    last = line;
  }
  const std::string start = "// vyre run examples/" + name + ".vyre --";
  EXPECT_TRUE(last.starts_with(start)) << name << ": " << last;
  std::vector<std::string> arguments;
  for (std::string_view word : split(std::string_view(last).substr(8), ' ')) {
    arguments.emplace_back(word);
  }
  arguments.at(1) = kFolder + name + ".vyre";
  return arguments;
}

TEST(Examples, AreValidAndFormatted) {
  for (const std::string& name : examples()) {
    const std::string file = kFolder + name + ".vyre";
    EXPECT_EQ(run_words({"check", file}).err, "");
    EXPECT_EQ(run_words({"fmt", "--check", file}).status, kFine) << name;
  }
}

TEST(Examples, RunAsTheirCommentSays) {
  for (const std::string& name : examples()) {
    const CommandResult result = run_words(command_of(name));
    EXPECT_EQ(result.status, kFine) << name << ": " << result.err;
    EXPECT_NE(result.out, "") << name;
  }
}

TEST(Examples, HaveNoRaces) {
  for (const std::string& name : examples()) {
    std::vector<std::string> command = command_of(name);
    command[0] = "race";
    const CommandResult result = run_words(command);
    EXPECT_EQ(result.status, kFine) << name << ": " << result.err << result.out;
  }
}

// Several workgroups, and the programs that a comment's one line leaves out.
constexpr const char* kManyWorkgroups[] = {
    "bfs.vyre --grid 2 --in offsets=iota:131 --in targets=0,1,2 --in level=0 "
    "--in distances=zeros:130 --in next=0xffffffff,0xffffffff,0xffffffff --in reached=0",
    "bitonic_sort.vyre --program bitonic_sort --grid 1 --in keys=random:300",
    "bitonic_sort.vyre --program bitonic_step --grid 2 --in step=8,1 --in keys=random:300",
    "bitonic_sort.vyre --program bitonic_step --grid 2 --in step=128,0 --in keys=random:300",
    "chacha20.vyre --grid 2 --in key=iota:8 --in nonce=1,2,3 --in counter=0 --in text=iota:1100",
    "crc32.vyre --grid 2 --in text=random:1100 --in length=4399 --in crc=0",
    "histogram.vyre --grid 2 --in data=random:70 --in length=280 --in bins=zeros:256",
    "matmul.vyre --grid 2,2 --in left=iota:340 --in right=iota:400 --in size=17,20,20 "
    "--in product=zeros:340",
    "prefix_sum.vyre --program block_totals --grid 3 --in data=iota:600 --in totals=zeros:3",
    "prefix_sum.vyre --program block_sums --grid 3 --in data=iota:600 --in ends=1,2,3 "
    "--in sums=zeros:600",
    "sha256.vyre --grid 2 --in text=random:64 --in bounds=iota:70 --in digests=zeros:138",
    "transpose.vyre --grid 2,2 --in matrix=iota:357 --in size=21,17 --in transposed=zeros:357",
    "wide.vyre --program fibonacci --grid 2 --in indices=iota:70 --in numbers=zeros:70",
};

std::vector<std::string> command_of_many(const char* command) {
  std::vector<std::string> arguments = {"run"};
  for (std::string_view word : split(command, ' ')) arguments.emplace_back(word);
  arguments[1] = kFolder + arguments[1];
  return arguments;
}

TEST(Examples, HaveNoRacesWithManyWorkgroups) {
  for (const char* command : kManyWorkgroups) {
    std::vector<std::string> arguments = command_of_many(command);
    arguments[0] = "race";
    const CommandResult result = run_words(arguments);
    EXPECT_EQ(result.status, kFine) << command << ": " << result.err << result.out;
  }
}

TEST(Examples, GiveTheSameBytesOnTheCpu) {
  if (only_compiles()) {
    std::vector<std::string> arguments = {"cache", "--cpu", ahead()};
    for (const std::string& name : examples()) arguments.push_back(kFolder + name + ".vyre");
    const CommandResult result = run_words(arguments);
    EXPECT_EQ(result.status, kFine) << result.err;
    return;
  }
  const Opened cpu = find_backend("cpu")->open(0);
  if (cpu.device == nullptr) GTEST_SKIP() << "SKIPPED: " << cpu.reason;
  std::vector<std::vector<std::string>> commands;
  for (const std::string& name : examples()) {
    std::vector<std::string> command = command_of(name);
    command.erase(std::ranges::find(command, "--image"), command.end());  // which has no JSON
    commands.push_back(std::move(command));
  }
  for (const char* command : kManyWorkgroups) commands.push_back(command_of_many(command));
  for (const std::vector<std::string>& command : commands) {
    const auto buffers_on = [&](const char* backend) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--json", "--backend", backend});
      const CommandResult result = run_words(arguments);
      EXPECT_EQ(result.status, kFine) << command[1] << ": " << result.out;
      return json::parse(result.out).value("buffers", json());
    };
    EXPECT_EQ(buffers_on("cpu"), buffers_on("interp")) << command[1];
  }
}

// --- Hashes, ciphers, codes ---------------------------------------------------------------------

// FIPS 180-4 and its example values for the first four, Python's hashlib for the others, whose
// lengths are those at which the padding changes.
TEST(Examples, Sha256) {
  const std::pair<std::string, std::string> vectors[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
       "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(55, 'a'), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
      {std::string(56, 'a'), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
      {std::string(63, 'a'), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
      {std::string(64, 'a'), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
      {std::string(65, 'a'), "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
      {std::string(1000, 'a'), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"},
  };
  // More messages than a workgroup has invocations; most start in the middle of a word.
  std::string text;
  Words bounds = {0};
  for (std::size_t m = 0; m < 66; ++m) {
    text += vectors[m % std::size(vectors)].first;
    bounds.push_back(static_cast<u32>(text.size()));
  }
  const json digests =
      run("sha256", "sha256", "2",
          {{"text", bytes(text)}, {"bounds", list(bounds)}, {"digests", zeros(132)}})
          .data("digests");
  for (std::size_t m = 0; m < 66; ++m) {
    std::string digest;
    for (std::size_t word = 0; word < 8; ++word) {
      const u32 value = digests[m * 2 + word / 4][word % 4].get<u32>();
      for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(value >> shift);
    }
    EXPECT_EQ(hex(digest), vectors[m % std::size(vectors)].second) << "message " << m;
  }
  EXPECT_EQ(run("sha256", "sha256", "1", {{"text", ""}, {"bounds", ""}, {"digests", zeros(2)}})
                .data("digests"),
            json::parse("[[0,0,0,0],[0,0,0,0]]"));
}

// The check value of the CRC catalogue, and zlib's crc32().
TEST(Examples, Crc32) {
  std::string all_bytes, many;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  for (int i = 0; i < 5000; ++i) many += static_cast<char>(i * 7);
  const std::pair<std::string, u32> vectors[] = {
      {"", 0},
      {"a", 0xe8b7be43},
      {"123456789", 0xcbf43926},
      {std::string(4, '\0'), 0x2144df1c},
      {"The quick brown fox jumps over the lazy dog", 0x414fa339},
      {all_bytes.substr(0, 64), 0x100ece8c},
      {std::string(65, '\xff'), 0xd4bb3b15},
      {all_bytes, 0x29058c73},
      {many, 0xb641f5c8},
  };
  for (const auto& [text, crc] : vectors) {
    EXPECT_EQ(run("crc32", "crc32", grid(text.size() + 1, 4096),
                  {{"text", bytes(text)}, {"length", number(text.size())}, {"crc", "0"}})
                  .words("crc"),
              Words{crc})
        << text.size() << " bytes";
  }
}

// The known answers that Random123 publishes. The answer is not the first number of the dispatch
// but the one `before` behind it: the counter has to carry through all of its lanes.
TEST(Examples, Philox) {
  struct Row {
    std::array<u32, 4> counter;
    std::array<u32, 2> key;
    std::array<u32, 4> answer;
  };
  const Row rows[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{kOnes, kOnes, kOnes, kOnes},
       {kOnes, kOnes},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Row& row : rows) {
    for (u32 before : {0u, 65u}) {
      mpz_class first;
      mpz_import(first.get_mpz_t(), 4, -1, 4, 0, 0, row.counter.data());
      first -= before;
      if (first < 0) first += mpz_class(1) << 128;
      const json numbers =
          run("philox", "philox", "2",
              {{"key", list(row.key)}, {"first", first.get_str()}, {"numbers", zeros(before + 1)}})
              .data("numbers");
      EXPECT_EQ(numbers[before], json(row.answer)) << before;
    }
  }
}

// RFC 8439, sections 2.3.2, 2.4.2 and A.1; the last two blocks by OpenSSL.
TEST(Examples, Chacha20) {
  const std::string key =
      "0x03020100,0x07060504,0x0b0a0908,0x0f0e0d0c,0x13121110,0x17161514,0x1b1a1918,0x1f1e1d1c";
  const auto chacha = [](const std::string& with, const std::string& nonce,
                         const std::string& counter, const std::string& text) {
    return run("chacha20", "chacha20", grid(text.size() + 1, 4096),
               {{"key", with}, {"nonce", nonce}, {"counter", counter}, {"text", bytes(text)}})
        .text("text", text.size());
  };
  EXPECT_EQ(hex(chacha(key, "0x09000000,0x4a000000,0", "1", std::string(64, '\0'))),
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e");

  const std::string sunscreen =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  const std::string cipher = chacha(key, "0,0x4a000000,0", "1", sunscreen);
  EXPECT_EQ(hex(cipher),
            "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
            "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
            "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
            "5af90bbf74a35be6b40b8eedf2785e42874d");
  EXPECT_EQ(chacha(key, "0,0x4a000000,0", "1", cipher), sunscreen);

  const std::string stream = chacha("0,0,0,0,0,0,0,0", "0,0,0", "0", std::string(4224, '\0'));
  EXPECT_EQ(hex(stream.substr(0, 128)),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f");
  EXPECT_EQ(hex(stream.substr(4096)),
            "1c6f5b28a37a1dad399f8c4f2d2cedd0f71a6937c10aa78e29f82b4f5d12e74e"
            "fa4fff5a8b700664959913542472af8df1acc815617dffd8e01873b1290e5b94"
            "fc2e9349517916ee0f7315369649f30a5a9feee736882f82b5e4d0ffca74cb98"
            "dab997217f7a461a34b4e7a87a933c6a2a21a63ba0437a12c1368cd74e621f47");
  EXPECT_EQ(chacha(key, "0,0,0", "0", ""), "");
}

// RFC 4648, section 10, and the alphabet of its table 1, which is what the numbers from 0 to 63
// give when they are packed with six bits each.
TEST(Examples, Base64) {
  std::string alphabet_bytes;
  for (u32 i = 0; i < 64; i += 4) {
    const u32 bits = i << 18 | (i + 1) << 12 | (i + 2) << 6 | (i + 3);
    for (int shift = 16; shift >= 0; shift -= 8) alphabet_bytes += static_cast<char>(bits >> shift);
  }
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string long_data, long_text;
  for (int i = 0; i < 5; ++i) {
    long_data += alphabet_bytes;
    long_text += alphabet;
  }
  const std::pair<std::string, std::string> vectors[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {alphabet_bytes, alphabet},
      {long_data + "fo", long_text + "Zm8="},
  };
  for (const auto& [data, text] : vectors) {
    EXPECT_EQ(
        run("base64", "base64", grid(data.size(), 192),
            {{"data", bytes(data)}, {"length", number(data.size())}, {"text", zeros(text.size())}})
            .text("text", text.size()),
        text);
  }
  // Bytes behind the given length are not looked at.
  EXPECT_EQ(
      run("base64", "base64", "1", {{"data", bytes("foob")}, {"length", "1"}, {"text", "0,0,0,0"}})
          .text("text", 4),
      "Zg==");
}

// The reference values of the authors.
TEST(Examples, Fnv1a) {
  const auto fnv1a = [](const std::string& table, std::size_t width, std::size_t rows) {
    return run("fnv1a", "fnv1a", grid(rows, 64),
               {{"table", bytes(table)}, {"width", number(width)}, {"hashes", zeros(rows)}})
        .words("hashes");
  };
  EXPECT_EQ(fnv1a("", 0, 1), Words{0x811c9dc5});
  EXPECT_EQ(fnv1a("abc", 1, 3), (Words{0xe40c292c, 0xe70c2de5, 0xe60c2c52}));
  std::string table;
  for (int row = 0; row < 65; ++row) table += "foobar";
  EXPECT_EQ(fnv1a(table, 6, 65), Words(65, 0xbf9cf968));
}

// --- Arrays -------------------------------------------------------------------------------------

TEST(Examples, PopcountXor) {
  for (std::size_t count : {0u, 1u, 63u, 64u, 200u}) {
    const Words lhs = random_words(count, 1), rhs = random_words(count, 2);
    Words weights;
    for (std::size_t i = 0; i < count; ++i) {
      weights.push_back(static_cast<u32>(std::popcount(lhs[i] ^ rhs[i])));
    }
    EXPECT_EQ(run("popcount_xor", "popcount_xor", grid(count, 64),
                  {{"lhs", list(lhs)}, {"rhs", list(rhs)}, {"out", zeros(count)}})
                  .words("out"),
              weights);
  }
}

TEST(Examples, PrefixSum) {
  for (std::size_t count : {0u, 1u, 2u, 255u, 256u, 257u, 1000u}) {
    const Words data = random_words(count, static_cast<u32>(count));
    Words sums(count);
    std::inclusive_scan(data.begin(), data.end(), sums.begin());
    EXPECT_EQ(run("prefix_sum", "prefix_sum", "1", {{"data", list(data)}, {"sums", zeros(count)}})
                  .words("sums"),
              sums);

    const std::string blocks = grid(count, 256);
    const Words totals = run("prefix_sum", "block_totals", blocks,
                             {{"data", list(data)}, {"totals", zeros((count + 255) / 256)}})
                             .words("totals");
    const Words ends = run("prefix_sum", "prefix_sum", "1",
                           {{"data", list(totals)}, {"sums", zeros(totals.size())}})
                           .words("sums");
    EXPECT_EQ(run("prefix_sum", "block_sums", blocks,
                  {{"data", list(data)}, {"ends", list(ends)}, {"sums", zeros(count)}})
                  .words("sums"),
              sums);
  }
}

TEST(Examples, BitonicSort) {
  for (std::size_t count : {0u, 1u, 2u, 3u, 64u, 100u, 256u, 257u, 300u}) {
    Words keys = random_words(count, static_cast<u32>(count));
    for (std::size_t i = 0; i < count; i += 3) keys[i] %= 8;  // some that are equal
    Words sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(run("bitonic_sort", "bitonic_sort", "1", {{"keys", list(keys)}}).words("keys"),
              sorted);

    for (std::size_t run_length = 1; run_length < count; run_length *= 2) {
      for (std::size_t distance = run_length; distance > 0; distance /= 2) {
        const std::string step = number(distance) + (distance == run_length ? ",1" : ",0");
        keys = run("bitonic_sort", "bitonic_step", grid(std::bit_ceil(count) / 2, 128),
                   {{"step", step}, {"keys", list(keys)}})
                   .words("keys");
      }
    }
    EXPECT_EQ(keys, sorted);
  }
}

TEST(Examples, Histogram) {
  for (std::size_t count : {0u, 1u, 255u, 257u, 1001u}) {
    std::string data;
    std::map<unsigned char, u32> counts;
    for (u32 word : random_words(count, 7)) {
      data += static_cast<char>(word % 64 * 4 + 3);
      ++counts[static_cast<unsigned char>(data.back())];
    }
    Words bins(256);
    for (const auto& [byte, occurrences] : counts) bins[byte] = occurrences;
    EXPECT_EQ(run("histogram", "histogram", grid(count, 256),
                  {{"data", bytes(data)}, {"length", number(count)}, {"bins", zeros(256)}})
                  .words("bins"),
              bins);
  }
}

TEST(Examples, Matmul) {
  struct Size {
    std::size_t rows, inner, columns;
  };
  for (const auto [rows, inner, columns] :
       {Size{1, 1, 1}, Size{16, 16, 16}, Size{5, 33, 17}, Size{17, 3, 40}, Size{3, 0, 2}}) {
    // Longer buffers than the matrices need: what lies behind must not matter.
    const Words left = random_words(rows * inner + 40, 1);
    const Words right = random_words(inner * columns + 800, 2);
    Words product(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t k = 0; k < inner; ++k) {
          product[i * columns + j] += left[i * inner + k] * right[k * columns + j];
        }
      }
    }
    EXPECT_EQ(run("matmul", "matmul", grid(columns, 16) + "," + grid(rows, 16),
                  {{"left", list(left)},
                   {"right", list(right)},
                   {"size", number(rows) + "," + number(inner) + "," + number(columns)},
                   {"product", "random:" + number(rows * columns)}})
                  .words("product"),
              product);
  }
}

TEST(Examples, Transpose) {
  struct Size {
    std::size_t columns, rows;
  };
  for (const auto [columns, rows] :
       {Size{1, 1}, Size{16, 16}, Size{37, 17}, Size{3, 40}, Size{0, 4}}) {
    const Words matrix = random_words(columns * rows, 1);
    Words transposed(columns * rows);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      transposed[i % columns * rows + i / columns] = matrix[i];
    }
    EXPECT_EQ(run("transpose", "transpose", grid(columns, 16) + "," + grid(rows, 16),
                  {{"matrix", list(matrix)},
                   {"size", number(columns) + "," + number(rows)},
                   {"transposed", zeros(columns * rows)}})
                  .words("transposed"),
              transposed);
  }
}

// --- Text ---------------------------------------------------------------------------------------

TEST(Examples, Find) {
  std::string text;
  for (u32 word : random_words(300, 5)) text += static_cast<char>('a' + word % 2);
  for (const std::string& pattern : {std::string(""), std::string("b"), text.substr(200, 13),
                                     text.substr(286), text, text + "a", std::string("x")}) {
    const std::size_t at = text.find(pattern);
    EXPECT_EQ(run("find", "find", grid(text.size() + 1, 64),
                  {{"text", bytes(text)},
                   {"pattern", bytes(pattern)},
                   {"lengths", number(text.size()) + "," + number(pattern.size())},
                   {"first", number(kOnes)}})
                  .words("first"),
              Words{at == text.npos ? kOnes : static_cast<u32>(at)})
        << pattern;
  }
}

// The C library's regular expressions find the longest match too.
TEST(Examples, Dfa) {
  std::string noise;
  for (u32 word : random_words(520, 6)) noise += "0079--..x\xf9"[word % 10];
  regex_t pattern;
  ASSERT_EQ(regcomp(&pattern, "^-?[0-9]+(\\.[0-9]+)?", REG_EXTENDED), 0);
  for (const std::string& text : {std::string(""), std::string("7"), std::string("-"),
                                  std::string("x=-3.25;y=7."), std::string("--1..5.5-/:"), noise}) {
    Words lengths;
    for (std::size_t i = 0; i < text.size(); ++i) {
      regmatch_t match = {};
      const bool found = regexec(&pattern, text.c_str() + i, 1, &match, 0) == 0;
      lengths.push_back(found ? static_cast<u32>(match.rm_eo) : 0);
    }
    EXPECT_EQ(run("dfa", "dfa", grid(text.size(), 256),
                  {{"text", bytes(text)},
                   {"length", number(text.size())},
                   {"lengths", "random:" + number(text.size())}})
                  .words("lengths"),
              lengths)
        << text;
  }
  regfree(&pattern);
}

// --- Pictures and searches ----------------------------------------------------------------------

constexpr u32 kWhite = 0xFFFFFFFF, kBlack = 0xFF000000;

// A board from lines in which # is a living cell, after some steps.
std::vector<std::string> life(std::vector<std::string> board, int steps) {
  const std::size_t columns = board[0].size(), rows = board.size();
  for (int step = 0; step < steps; ++step) {
    Words cells;
    for (const std::string& line : board) {
      for (char c : line) cells.push_back(c == '#' ? kWhite : kBlack);
    }
    const Words next = run("life", "life", grid(columns, 8) + "," + grid(rows, 8),
                           {{"board", list(cells)},
                            {"size", number(columns) + "," + number(rows)},
                            {"next", zeros(cells.size())}})
                           .words("next");
    for (std::size_t i = 0; i < next.size(); ++i) {
      board[i / columns][i % columns] = next[i] == kWhite ? '#' : next[i] == kBlack ? '.' : '?';
    }
  }
  return board;
}

TEST(Examples, Life) {
  using Board = std::vector<std::string>;
  const Board blinker = {".....", "..#..", "..#..", "..#..", "....."};
  const Board turned = {".....", ".....", ".###.", ".....", "....."};
  EXPECT_EQ(life(blinker, 1), turned);
  EXPECT_EQ(life(blinker, 2), blinker);

  const Board still = {"......", ".##...", ".##...", "......"};
  EXPECT_EQ(life(still, 1), still);

  // A glider moves one cell to the right and down in four steps, over the edges too.
  const Board glider = {".#.......", "..#......", "###......", ".........", ".........",
                        ".........", ".........", ".........", "........."};
  const Board moved = {".........", "..#......", "...#.....", ".###.....", ".........",
                       ".........", ".........", ".........", "........."};
  EXPECT_EQ(life(glider, 4), moved);
  EXPECT_EQ(life(glider, 4 * 9), glider);
}

constexpr std::int64_t kPoint = 1 << 24;  // 1 in fixed point

// Steps until the point leaves, in 64-bit arithmetic, and the colour that stands for them.
u32 mandelbrot_colour(std::int64_t cr, std::int64_t ci) {
  std::int64_t zr = 0, zi = 0;
  u32 steps = 0;
  while (steps < 64) {
    const std::int64_t rr = zr * zr >> 24, ii = zi * zi >> 24;
    if (rr + ii > 4 * kPoint) break;
    zi = (zr * zi >> 24) * 2 + ci;
    zr = rr - ii + cr;
    ++steps;
  }
  if (steps == 64) return kBlack;
  const u32 red = std::min(steps * 10, 255u), green = std::min(steps * 4, 255u);
  return kBlack | std::min(steps * 5 + 60, 255u) << 16 | green << 8 | red;
}

Words mandelbrot(std::size_t columns, std::size_t rows, std::int64_t left, std::int64_t top,
                 std::int64_t distance) {
  return run("mandelbrot", "mandelbrot", grid(columns, 8) + "," + grid(rows, 8),
             {{"size", number(columns) + "," + number(rows)},
              {"view", list(std::array{left, top, distance})},
              {"pixels", zeros(columns * rows)}})
      .words("pixels");
}

TEST(Examples, Mandelbrot) {
  for (const auto [left, top, distance] :
       {std::array<std::int64_t, 3>{-9 * kPoint / 4, -kPoint, kPoint / 6},
        std::array<std::int64_t, 3>{-3 * kPoint / 4 + 12345, kPoint / 10 + 1, kPoint / 500 + 1}}) {
    Words pixels;
    for (int y = 0; y < 13; ++y) {
      for (int x = 0; x < 19; ++x) {
        pixels.push_back(mandelbrot_colour(left + x * distance, top + y * distance));
      }
    }
    EXPECT_EQ(mandelbrot(19, 13, left, top, distance), pixels);
  }
  EXPECT_EQ(mandelbrot(0, 0, 0, 0, 0), Words{});

  // Known by hand: the first five points stay; the last goes 0, 1, 2, 5, so leaves after 3 steps.
  const Words stays = {kBlack};
  EXPECT_EQ(mandelbrot(1, 1, 0, 0, 0), stays);
  EXPECT_EQ(mandelbrot(1, 1, -kPoint, 0, 0), stays);
  EXPECT_EQ(mandelbrot(1, 1, -2 * kPoint, 0, 0), stays);
  EXPECT_EQ(mandelbrot(1, 1, kPoint / 4, 0, 0), stays);
  EXPECT_EQ(mandelbrot(1, 1, 0, kPoint, 0), stays);
  EXPECT_EQ(mandelbrot(1, 1, kPoint, 0, 0), Words{kBlack | 75 << 16 | 12 << 8 | 30});
}

// OEIS A000170.
TEST(Examples, Queens) {
  const u32 ways[] = {1, 0, 0, 2, 10, 4, 40, 92, 352};
  for (std::size_t n = 1; n <= std::size(ways); ++n) {
    // More invocations than there are ways to begin.
    EXPECT_EQ(run("queens", "queens", "6", {{"size", number(n)}, {"count", "0"}}).words("count"),
              Words{ways[n - 1]})
        << n;
  }
}

TEST(Examples, WidePrimes) {
  // The least composites that pass for the first 1, 2, … prime bases; Carmichael numbers; powers of
  // two and their neighbours.
  std::vector<u64> numbers = {2047,          1373653,       25326001,        3215031751,
                              2152302898747, 3474749660383, 341550071728321, 3825123056546413051,
                              561,           1729,          62745,           18446744073709551557u};
  for (u64 n = 0; n < 120; ++n) numbers.push_back(n);
  for (int bit : {16, 31, 32, 61, 63}) {
    numbers.insert(numbers.end(), {(u64{1} << bit) - 1, u64{1} << bit, (u64{1} << bit) + 1});
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 8; ++i) {
    const mpz_class start(std::to_string(random() >> i * 4));
    mpz_class prime;
    mpz_nextprime(prime.get_mpz_t(), start.get_mpz_t());
    numbers.insert(numbers.end(), {start.get_ui(), prime.get_ui()});
  }
  Words expected;
  for (u64 n : numbers) {
    expected.push_back(mpz_probab_prime_p(mpz_class(std::to_string(n)).get_mpz_t(), 40) != 0);
  }
  const Words prime = run("wide", "primes", grid(numbers.size(), 64),
                          {{"numbers", list(numbers)}, {"prime", zeros(numbers.size())}})
                          .words("prime");
  ASSERT_EQ(prime.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(prime[i], expected[i]) << numbers[i];
}

TEST(Examples, WideFibonacci) {
  Words indices = {93, 94, 186, 187, 1000, 65536, 1000000};
  for (u32 i = 0; i < 60; ++i) indices.push_back(i);
  std::vector<std::string> expected;
  for (u32 index : indices) {
    mpz_class number;
    mpz_fib_ui(number.get_mpz_t(), index);
    number %= mpz_class(1) << 128;
    expected.push_back(number.get_str());
  }
  EXPECT_EQ(expected[2], "332825110087067562321196029789634457848");  // the last below 2^128
  EXPECT_EQ(run("wide", "fibonacci", grid(indices.size(), 64),
                {{"indices", list(indices)}, {"numbers", zeros(indices.size())}})
                .data("numbers"),
            json(expected));
}

struct Graph {
  Words offsets = {0};
  Words targets;
};

Graph graph_of(const std::vector<Words>& neighbours) {
  Graph graph;
  for (const Words& targets : neighbours) {
    graph.targets.insert(graph.targets.end(), targets.begin(), targets.end());
    graph.offsets.push_back(static_cast<u32>(graph.targets.size()));
  }
  return graph;
}

// The distances from a vertex, level by level.
Words bfs(const std::vector<Words>& neighbours, u32 from) {
  const Graph graph = graph_of(neighbours);
  Words distances(neighbours.size(), kOnes);
  distances[from] = 0;
  for (u32 level = 0; level <= neighbours.size(); ++level) {
    const Buffers result = run("bfs", "bfs", grid(distances.size(), 64),
                               {{"offsets", list(graph.offsets)},
                                {"targets", list(graph.targets)},
                                {"level", number(level)},
                                {"distances", list(distances)},
                                {"next", list(distances)},
                                {"reached", "0"}});
    distances = result.words("next");
    const u32 reached = result.words("reached").at(0);
    EXPECT_EQ(reached, std::count(distances.begin(), distances.end(), level + 1));
    if (reached == 0) return distances;
  }
  ADD_FAILURE() << "every step reaches a vertex";
  return {};
}

TEST(Examples, Bfs) {
  EXPECT_EQ(bfs({{}}, 0), Words{0});
  // Two ways to vertex 3, one of them shorter; an edge back; an edge twice; a vertex nobody
  // reaches.
  EXPECT_EQ(bfs({{1, 2}, {0, 4}, {3, 3}, {0}, {3}, {0}}, 0), (Words{0, 1, 1, 2, 2, kOnes}));

  // In a grid the distance is the number of rows and columns between; 117 vertices, two workgroups.
  const u32 columns = 13, rows = 9;
  std::vector<Words> neighbours;
  Words distances;
  for (u32 y = 0; y < rows; ++y) {
    for (u32 x = 0; x < columns; ++x) {
      const u32 at = y * columns + x;
      Words& targets = neighbours.emplace_back();
      if (x > 0) targets.push_back(at - 1);
      if (x + 1 < columns) targets.push_back(at + 1);
      if (y > 0) targets.push_back(at - columns);
      if (y + 1 < rows) targets.push_back(at + columns);
      distances.push_back((x > 4 ? x - 4 : 4 - x) + (y > 7 ? y - 7 : 7 - y));
    }
  }
  EXPECT_EQ(bfs(neighbours, 7 * columns + 4), distances);
}

}  // namespace
}  // namespace vyre
