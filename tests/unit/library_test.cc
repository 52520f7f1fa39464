// The standard library: every op is documented, its example is true, and it gives the answers that
// tests/library has from outside this project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "tests/support/command.h"
#include "vyre/library/library.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using namespace types;

// Compares lines such as `primitive.math.gcd(12, 18) = 6` with what the interpreter gives: one
// program stores all left sides, another one all right sides.
void expect_some_answers(std::span<const std::string> lines) {
  struct Kind {
    std::string_view type;
    std::vector<std::size_t> lines;  // that of each element
  };
  std::map<std::string, Kind> kinds;  // by the buffer's name
  std::string left = "program left workgroup(1) {\n";
  std::string right = "program right workgroup(1) {\n";
  std::string left_body;
  std::string right_body;
  const Registry library;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t equals = lines[i].rfind(" = ");
    const std::string id = lines[i].substr(0, lines[i].find('('));
    const Op* op = library.find(id);
    ASSERT_NE(op, nullptr) << lines[i];
    const DataType output = op->signature.output;
    const std::string_view type = text(element_type(output));
    const std::string name = "out_" + std::string(type);
    Kind& kind = kinds[name];
    kind.type = type;
    const std::string first = std::to_string(kind.lines.size());
    const auto store = [&](const std::string& value) {
      if (!is_array(output)) return name + "[" + first + "] = " + value + "\n";
      const std::string local = "v" + std::to_string(i);
      return "let " + local + " = " + value + "\nfor i in 0..len(" + local + ") {\n" + name +
             "[i + " + first + "] = " + local + "[i]\n}\n";
    };
    left_body += store(lines[i].substr(0, equals));
    right_body += store(lines[i].substr(equals + 3));
    kind.lines.insert(kind.lines.end(), is_array(output) ? element_count(output) : 1, i);
  }
  std::string buffers;
  std::vector<std::vector<std::byte>> contents;
  for (const auto& [name, kind] : kinds) {
    buffers += "read_write " + name + ": " + std::string(kind.type) + "[]\n";
    contents.emplace_back(kind.lines.size() * stride(*find_type(kind.type)));
  }
  const Result<Loaded> loaded = load_module(
      {"answers", left + buffers + left_body + "}\n" + right + buffers + right_body + "}\n"});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false);
  std::vector<Outputs> outputs;
  for (std::size_t i = 0; i < loaded->module.items.size(); ++i) {
    std::vector<HostBuffer> bound;
    for (const auto& [name, kind] : kinds) bound.emplace_back(name, contents[bound.size()]);
    DispatchOptions options;
    options.device = &reference();
    Result<Outputs> ran = dispatch(program_at(*loaded, i), 1, bound, options);
    ASSERT_TRUE(ran.ok()) << ran.diagnostics()[0].problem;
    outputs.push_back(std::move(*ran));
  }
  int wrong = 0;
  for (std::size_t b = 0; b < outputs[0].buffers.size(); ++b) {
    const OutputBuffer& got = outputs[0].buffers[b];
    const OutputBuffer& wanted = outputs[1].buffers[b];
    const std::size_t each = stride(got.element);
    const std::vector<std::size_t>& order = kinds.at(got.name).lines;
    for (std::size_t i = 0; i < order.size() && wrong < 20; ++i) {
      if (std::equal(got.bytes.begin() + static_cast<std::ptrdiff_t>(i * each),
                     got.bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * each),
                     wanted.bytes.begin() + static_cast<std::ptrdiff_t>(i * each))) {
        continue;
      }
      ++wrong;
      ADD_FAILURE() << lines[order[i]] << " is not what vyre gives";
    }
  }
}

// Those with arrays a few at a time, as arrays of one program have limited memory.
void expect_answers(const std::vector<std::string>& lines) {
  std::vector<std::string> plain, arrays;
  for (const std::string& line : lines) {
    (line.find('[') == line.npos ? plain : arrays).push_back(line);
  }
  expect_some_answers(plain);
  constexpr std::size_t kAtOnce = 25;
  for (std::size_t i = 0; i < arrays.size(); i += kAtOnce) {
    expect_some_answers(std::span(arrays).subspan(i, std::min(kAtOnce, arrays.size() - i)));
  }
}

TEST(Library, IsLargeAndDocumented) {
  const std::span<const LibraryEntry> entries = library_entries();
  EXPECT_GE(entries.size(), 200u);
  const Registry library;
  std::set<std::string_view> ids;
  for (const LibraryEntry& entry : entries) {
    const std::string id(entry.id);
    EXPECT_TRUE(ids.insert(entry.id).second) << id;
    const Op* op = library.find(entry.id);
    ASSERT_NE(op, nullptr) << id;
    EXPECT_EQ(op->id, entry.id);
    EXPECT_FALSE(op->description.empty()) << id;
    EXPECT_LE(op->description.size(), 130u) << id;
    EXPECT_FALSE(op->description.ends_with('.')) << id;
    EXPECT_FALSE(entry.examples().empty()) << id;
    EXPECT_TRUE(validate(Module{{*op}}).empty()) << id;
  }
}

TEST(Library, HasTheFamilies) {
  const Registry library;
  for (std::string_view id : {"primitive.bitwise.morton3_encode",
                              "primitive.bitwise.pdep",
                              "primitive.bitwise.popcount_sw",
                              "primitive.math.isqrt",
                              "primitive.math.invmod",
                              "primitive.compare.lt_i32",
                              "primitive.logical.implies",
                              "fixed.q16.sin",
                              "fixed.q32.log",
                              "u128.mul_wide",
                              "modular.goldilocks.inv",
                              "modular.m31.mul",
                              "modular.babybear.pow",
                              "hash.fnv1a",
                              "hash.sha256_new_a",
                              "rng.philox4x32",
                              "text.utf8_decode",
                              "color.blend_over",
                              "packed.u8x4.add",
                              "bitset.rank",
                              "time.weekday",
                              "u256.mul_monty",
                              "aes.encrypt_128",
                              "sort.sort16_u64"}) {
    EXPECT_NE(library.find(id), nullptr) << id;
  }
}

// The files themselves: the loader cuts out all that there is, in the one layout.
TEST(Library, FilesAreValidAndFormatted) {
  std::set<std::string> files;
  for (const LibraryEntry& entry : library_entries()) files.emplace(entry.file);
  EXPECT_GE(files.size(), 17u);
  for (const std::string& file : files) {
    const std::string path = source_root() + "/vyre/library/" + file + ".vyre";
    const Result<Loaded> loaded = load_module({path, read_file(path)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false);
    for (const Item& item : loaded->module.items) {
      const Op& op = std::get<Op>(item);
      const LibraryEntry* entry = find_library_entry(op.id);
      ASSERT_NE(entry, nullptr) << op.id;
      EXPECT_EQ(entry->file, file) << op.id;
    }
    EXPECT_EQ(run_vyre({{"fmt", "--check", path}}).status, 0) << file;
  }
}

TEST(Library, ExamplesAreTrue) {
  std::vector<std::string> lines;
  for (const LibraryEntry& entry : library_entries()) {
    for (std::string_view example : entry.examples()) lines.emplace_back(example);
  }
  expect_answers(lines);
}

// All answers when VYRE_LONG is set, otherwise the first of each op: the published ones, and a few
// at edges and at random.
TEST(Library, GivesTheAnswersOfOthers) {
  const std::string text = output_of("python3 " + source_root() + "/tests/library/answers.py");
  ASSERT_FALSE(HasFailure()) << "the references contradict the standards that they name";
  const std::size_t most = cases(40, text.size());
  std::map<std::string, std::size_t> counts;
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    if (++counts[std::string(line.substr(0, line.find('(')))] <= most) lines.emplace_back(line);
    if (lines.size() < 20'000) continue;
    expect_answers(lines);
    lines.clear();
  }
  expect_answers(lines);
  for (const LibraryEntry& entry : library_entries()) {
    EXPECT_GE(counts[std::string(entry.id)], 1u) << entry.id;
  }
}

// --- Asking for ops -----------------------------------------------------------------------------

TEST(Registry, TakesOpsFromTextWireAndBuilder) {
  const Result<Loaded> text = load_module({"t", "op my.twice(x: u32) -> u32 { return x + x }\n"});
  ASSERT_TRUE(text.ok());
  Registry registry;
  ASSERT_TRUE(registry.add(text->module).ok());
  const Result<std::string> wire = encode(text->module);
  ASSERT_TRUE(wire.ok());
  const Result<Module> decoded = decode(*wire, "w");
  ASSERT_TRUE(decoded.ok());
  ASSERT_TRUE(registry.add(*decoded).ok());  // the same again
  OpBuilder builder("my.thrice", DataType::U32);
  const Value x = builder.parameter<u32>("x");
  builder.return_(x + x + x);
  Result<Op> built = builder.finish();
  ASSERT_TRUE(built.ok());
  ASSERT_TRUE(registry.add(std::move(*built)).ok());
  EXPECT_NE(registry.find("my.twice"), nullptr);
  EXPECT_NE(registry.find("my.thrice"), nullptr);
  EXPECT_NE(registry.find("primitive.math.gcd"), nullptr);
  EXPECT_EQ(registry.find("my.unknown"), nullptr);

  const Result<Loaded> other = load_module({"t", "op my.twice(x: u32) -> u32 { return x * 2 }\n"});
  ASSERT_TRUE(other.ok());
  const Result<void> added = registry.add(other->module);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.diagnostics()[0].code, Code::V039);
}

TEST(Registry, RefusesAnotherBodyForAnIdOfTheLibrary) {
  const Result<Loaded> mine =
      load_module({"t", "op primitive.math.gcd(a: u32, b: u32) -> u32 { return a }\n"});
  ASSERT_FALSE(mine.ok());
  EXPECT_EQ(mine.diagnostics()[0].code, Code::V039);
}

}  // namespace
}  // namespace vyre
