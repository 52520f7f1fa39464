// Generated programs are valid, canonical and the same on every machine; together they have
// everything that programs can have.
#include "vyre/conform/generator.h"
#include "tests/support/build.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <algorithm>
#include <set>

#include "tests/support/coverage.h"
#include "vyre/conform/large.h"
#include "vyre/ir/intern.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

std::string messages(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) all += render(diagnostic);
  return all;
}

void expect_valid(const Module& module, std::uint64_t seed) {
  const std::vector<Diagnostic> diagnostics = validate(module);
  ASSERT_TRUE(diagnostics.empty()) << "seed " << seed << "\n"
                                   << messages(diagnostics) << print(module);
  for (const Item& item : module.items) {
    const Op* op = std::get_if<Op>(&item);
    const std::size_t parameters = op != nullptr ? op->signature.inputs.size() : 0;
    const Body& body = body_of(item);
    ASSERT_EQ(canonical(body, static_cast<std::uint32_t>(parameters)), body) << "seed " << seed;
  }
}

TEST(Generator, IsTheSameEverywhere) {
  // These change with the generator, the operation tables and the library, and with nothing else.
  EXPECT_EQ(digest(generate(1)), "1a65b8f0ca744cb47bd3538865e2605c");
  std::uint64_t sum = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (char c : to_text(generate_case(seed))) sum = sum * 31 + static_cast<unsigned char>(c);
  }
  EXPECT_EQ(sum, 17191603657588054649u);

  EXPECT_EQ(generate(2), generate(2));
  EXPECT_NE(generate(2), generate(3));
  EXPECT_EQ(generate_case(2), generate_case(2));
  EXPECT_NE(generate_case(2), generate_case(3));
}

TEST(Generator, MakesModulesOfAnySize) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    GeneratorOptions options;
    options.race_free = seed % 2 == 0;
    if (seed % 8 == 1) options.statements = 120;
    if (seed % 8 == 2) options.depth = 8;
    if (seed % 8 == 3) options.programs = 3;
    if (seed % 8 == 4) options.buffers = 20;
    if (seed % 8 == 5) options.ops = 0;
    if (seed % 8 == 6) options.invocations = 1;
    const Module module = generate(seed, options);
    EXPECT_EQ(module.items.size(), options.ops + options.programs);
    expect_valid(module, seed);
    if (HasFatalFailure()) return;
  }
}

// What a case is: a program behind its ops, with contents that the buffers accept.
TEST(Generator, CasesCanBeRun) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Case c = generate_case(seed);
    const Program& program = c.program();
    ASSERT_EQ(c.contents.size(), program.buffers.size());
    for (std::size_t i = 0; i < c.contents.size(); ++i) {
      const BufferDecl& buffer = program.buffers[i];
      if (buffer.access == BufferAccess::Workgroup) {
        EXPECT_TRUE(c.contents[i].empty());
        EXPECT_EQ(length_of(c, i), buffer.count);
        continue;
      }
      EXPECT_GE(length_of(c, i), buffer.count) << "seed " << seed;
      if (buffer.element == DataType::Bytes) continue;
      EXPECT_EQ(c.contents[i].size() % stride(buffer.element), 0u) << "seed " << seed;
    }
    std::uint64_t invocations = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      invocations *= std::uint64_t{c.grid[axis]} * program.workgroup_size[axis];
    }
    EXPECT_LE(invocations, GeneratorOptions{}.invocations) << "seed " << seed;
    for (std::size_t i = 0; i + 1 < c.module.items.size(); ++i) {
      EXPECT_TRUE(std::holds_alternative<Op>(c.module.items[i]));
    }
  }
}

TEST(Generator, MakesLargePrograms) {
  for (const LargeShapeInfo& row : all_large_shapes()) {
    const Case small = generate_large(row.shape, 7);
    const Case large = generate_large(row.shape, row.most);
    expect_valid(small.module, row.most);
    if (HasFatalFailure()) return;
    EXPECT_TRUE(validate(large.module).empty()) << messages(validate(large.module));
    EXPECT_GT(print(large.module).size(), print(small.module).size()) << row.name;
    EXPECT_EQ(large.contents.size(), large.program().buffers.size());
  }
}

// What the generator is there for.
TEST(Generator, TenThousandProgramsHaveEverything) {
  Coverage coverage;
  for (std::uint64_t seed = 0; seed < cases(10'000, 10'000); ++seed) {
    const Case c = generate_case(seed);
    coverage.add(c);
    expect_valid(c.module, seed);
    if (HasFatalFailure()) return;
    const std::string text = print(c.module);
    const Result<Module> parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << "\n" << messages(parsed.diagnostics()) << text;
    ASSERT_EQ(*parsed, c.module) << "seed " << seed << "\n" << text;
  }
  if (!kSanitized) {
    EXPECT_EQ(coverage.missing(), std::vector<std::string>());
  }
}

// --- Coverage ------------------------------------------------------------------------------------

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// What a program has, in words.
std::set<std::string> features(std::string_view text, std::array<std::uint32_t, 3> grid = {1, 1, 1},
                               std::vector<std::vector<std::byte>> contents = {}) {
  const Result<Module> module = parse(text);
  EXPECT_TRUE(module.ok()) << messages(module.diagnostics());
  if (!module.ok()) return {};
  EXPECT_TRUE(validate(*module).empty()) << text;
  Case c{*module, grid, std::move(contents)};
  c.contents.resize(c.program().buffers.size());
  Coverage coverage;
  const std::vector<std::string> all = coverage.missing();
  coverage.add(c);
  const std::set<std::string> missing = as_set(coverage.missing());
  std::set<std::string> found;
  for (const std::string& name : all) {
    if (!missing.contains(name)) found.insert(name);
  }
  return found;
}

using Names = std::set<std::string>;

TEST(Coverage, KnowsEveryRow) {
  const std::vector<std::string> all = Coverage().missing();
  const Names names = as_set(all);
  EXPECT_EQ(names.size(), all.size()) << "each is listed once";
  std::size_t rows = 0, casts = 0;
  for (const TypeInfo& type : all_types()) {
    for (const OperationInfo& row : all_operations()) {
      if (is_form(row.op) || !contains(row.types, type.type)) continue;
      EXPECT_TRUE(names.contains(std::string(row.name) + " of " + std::string(type.text)));
      ++rows;
    }
    for (const TypeInfo& target : all_types()) {
      if (type.type == DataType::Bytes || !cast_exists(type.type, target.type)) continue;
      EXPECT_TRUE(names.contains(std::string(type.text) + " to " + std::string(target.text)));
      ++casts;
    }
  }
  EXPECT_GT(rows, 150u);
  EXPECT_EQ(casts, 47u);
  for (const AtomicInfo& row : all_atomics()) {
    const bool wanted = names.contains(std::string(row.text) + " on i32, result wanted");
    EXPECT_EQ(wanted, row.op != AtomicOp::Store) << row.text;
  }
  for (const CollectiveInfo& row : all_collectives()) {
    for (const char* type : {"u32", "i32", "u64"}) {
      EXPECT_TRUE(names.contains(std::string(row.text) + " on " + type)) << row.text;
    }
  }
  // Elements of buffers and tables only: no expression gives them.
  for (const char* type : {"u8", "u16", "i8", "i16"}) {
    EXPECT_TRUE(names.contains(std::string("load of read ") + type));
    EXPECT_TRUE(names.contains(std::string("store of workgroup ") + type));
    EXPECT_TRUE(names.contains(std::string("element of a table of ") + type + ", index known"));
    EXPECT_FALSE(names.contains(std::string("Load giving ") + type));
    EXPECT_FALSE(names.contains(std::string("element of an array of ") + type + ", index known"));
  }
}

TEST(Coverage, FindsExpressions) {
  EXPECT_EQ(
      features("program p workgroup(1) {\n"
               "  let a = u64(vec2u32(1, 2).y) + 3u64\n"
               "}\n"),
      (Names{"statement 0", "Literal giving u32", "Literal giving u64", "Vec2", "lane 1 of vec2u32",
             "Cast giving u64", "u32 to u64", "Add of u64", "workgroup: single", "grid: single"}));
  const Names calls = features(
      "op x.f(a: bool) -> i32 {\n"
      "  if a { return 1i32 }\n"
      "  return -1i32\n"
      "}\n"
      "program p workgroup(6, 3) {\n"
      "  let a = select(bool(workgroup_id.z), x.f(true), 2i32)\n"
      "  let b = primitive.bitwise.xor(1, 2)\n"
      "}\n",
      {2, 0, 1});
  for (const char* name :
       {"Call giving i32", "call of an op with an early return", "call of primitive.bitwise.xor",
        "Local giving bool", "select by bool", "WorkgroupId.z", "return of a value in then",
        "return of a value in the body", "workgroup: area", "workgroup: odd", "workgroup: other",
        "grid: empty"}) {
    EXPECT_TRUE(calls.contains(name)) << name;
  }
  for (const char* name : {"call of primitive.bitwise.or", "Call giving bool", "workgroup: box",
                           "grid: line", "WorkgroupId.x", "return in then"}) {
    EXPECT_FALSE(calls.contains(name)) << name;
  }
}

TEST(Coverage, FindsArraysAndTables) {
  const Names found = features(
      "const t: u8[3] = [1, 2, 3]\n"
      "const k = [1, 2]\n"
      "op x.f(a: u64[2], i: u32) -> u64[2] {\n"
      "  a[i] = a[1]\n"
      "  return a\n"
      "}\n"
      "program p workgroup(1) {\n"
      "  read_write out: u32[]\n"
      "  let w: i32[4]\n"
      "  let n = out[0]\n"
      "  w[4] = i32(t[n]) + i32(k[2])\n"
      "  let b = [true, bool(n == 1)]\n"
      "  let c = k\n"
      "  let e = x.f([1u64, 2u64], n)[n % 2]\n"
      "  c = [n, n]\n"
      "  out[len(c)] = len(t) + u32(e) + u32(b[0])\n"
      "}\n");
  for (const char* name : {"Zeros giving array of i32",
                           "change of an array of i32, index out of bounds",
                           "element of a table of u8, index unknown",
                           "element of a table of u32, index out of bounds",
                           "Array giving array of bool",
                           "Array giving array of u64",
                           "element of a call",
                           "Call giving array of u64",
                           "element of an array of u64, index unknown",
                           "element of an array of u64, index known",
                           "change of an array of u64, index unknown",
                           "parameter: array of u64",
                           "parameter: u32",
                           "result: array of u64",
                           "table as a value",
                           "element of an array of bool, index known",
                           "let of an array",
                           "assignment of an array",
                           "length of an array",
                           "length of a table",
                           "Local giving array of u64",
                           "Local giving array of bool"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  for (const char* name :
       {"Zeros giving array of u32", "element of a table of u8, index known",
        "element of a table of u32, index known", "change of an array of i32, index known",
        "parameter: u64", "result: u64", "Local giving array of u128",
        "element of an array of u32, index known", "element of an array of i32, index known"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
  const Names none = features("program p workgroup(1) { let a = 1 let b = a }");
  for (const std::string& name : none) EXPECT_EQ(name.find("array"), name.npos) << name;
  EXPECT_FALSE(none.contains("table as a value"));
}

TEST(Coverage, FindsCollectivesAndContinue) {
  const Names found = features(
      "program p workgroup(4) {\n"
      "  read_write out: u32[]\n"
      "  workgroup tile: i16[4]\n"
      "  tile[local_id.x] = 1i32\n"
      "  let s = workgroup_scan_add(u64(out[0]))\n"
      "  let a = tile[0] + i32(num_workgroups.y)\n"
      "  for i in 0..3 {\n"
      "    let m = workgroup_max(a)\n"
      "    for j in 0..3 { if local_id.x == j { continue } { continue } }\n"
      "  }\n"
      "  let old = atomic_load(out[1])\n"
      "  atomic_store(out[2], old)\n"
      "}\n",
      {2, 3, 1}, {std::vector<std::byte>(8), {}});
  for (const char* name :
       {"workgroup_scan_add on u64", "workgroup_max on i32", "collective straight",
        "collective in a loop", "collective between store and load of workgroup memory",
        "continue in then in a loop", "continue in a block in a loop", "divergent continue",
        "NumWorkgroups.y", "atomic_load on u32, result wanted", "atomic_store on u32",
        "store of workgroup i16", "load of workgroup i16",
        "atomic just past the end: read_write"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  for (const char* name :
       {"workgroup_scan_add on u32", "collective in an if", "barrier straight", "NumWorkgroups.x",
        "barrier between store and load of workgroup memory", "continue in a loop in a loop",
        "collective between store and load of storage", "divergent break"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

TEST(Coverage, TellsIndicesApart) {
  const auto index_features = [](const std::string& index, std::size_t words) {
    Names found;
    for (const std::string& name : features("program p workgroup(4) {\n"
                                            "  read_write out: u32[]\n"
                                            "  out[" +
                                                index +
                                                "] = 0\n"
                                                "}\n",
                                            {2, 1, 1}, {std::vector<std::byte>(words * 4)})) {
      if (name.starts_with("store ") && !name.starts_with("store of")) found.insert(name);
    }
    return found;
  };
  const Names inside{"store inside: read_write"};
  const Names past{"store just past the end: read_write"};
  const Names wrapping{"store wrapping: read_write"};
  const Names empty{"store in an empty buffer: read_write"};
  EXPECT_EQ(index_features("7", 8), inside);
  EXPECT_EQ(index_features("invocation_id.x", 8), inside);
  EXPECT_EQ(index_features("invocation_id.x", 7), Names{});
  EXPECT_EQ(index_features("workgroup_id.x * 4 + local_id.x", 8), inside);
  EXPECT_EQ(index_features("workgroup_id.x * 4 + local_id.x", 7), Names{});
  EXPECT_EQ(index_features("out[0] % 5", 5), inside);
  EXPECT_EQ(index_features("out[0] & 7", 7), Names{});
  EXPECT_EQ(index_features("min(out[0], 3)", 4), inside);
  EXPECT_EQ(index_features("3 - local_id.x", 4), inside);
  EXPECT_EQ(index_features("len(out)", 3), past);
  EXPECT_EQ(index_features("3", 3), past);
  EXPECT_EQ(index_features("4", 3), Names{});
  EXPECT_EQ(index_features("0x40000000", 3), wrapping);
  EXPECT_EQ(index_features("0x3fffffff", 3), Names{});
  EXPECT_EQ(index_features("out[0] | 0x40000000", 3), wrapping);
  EXPECT_EQ(index_features("out[0]", 3), Names{});
  EXPECT_EQ(index_features("0", 0), empty);
  const Names far{"store in a row far away: read_write"};
  EXPECT_EQ(index_features("invocation_id.x + 0x10000", 3), far);
  EXPECT_EQ(index_features("invocation_id.x * 3 + 0x20000000", 3), far);
  EXPECT_EQ(index_features("workgroup_id.x + 0x20000000", 3), Names{});
  EXPECT_EQ(index_features("local_id.x - 3", 3), Names{});
  const Names below{"store in a row far away: read_write", "store wrapping: read_write"};
  EXPECT_EQ(index_features("local_id.x - 4", 3), below);
  EXPECT_EQ(index_features("0x80000000 - local_id.x", 3), below);
}

TEST(Coverage, FindsPlacesOfStatements) {
  const Names found = features(
      "program p workgroup(8) {\n"
      "  read_write out: u32[]\n"
      "  workgroup tile: u32[8]\n"
      "  tile[local_id.x] = 1\n"
      "  barrier\n"
      "  barrier\n"
      "  let a = tile[0]\n"
      "  for i in 0..2 {\n"
      "    for j in 0..3 { if local_id.x < j { break } else if i == 1 { { break } } }\n"
      "    if len(out) == 3 { barrier }\n"
      "  }\n"
      "  let old = atomic_min(out[0], 2)\n"
      "  if a == 0 {} else { return }\n"
      "}\n");
  for (const char* name :
       {"barrier straight", "barrier in a row", "barrier in an if", "barrier in a loop",
        "barrier between store and load of workgroup memory", "loops nested 1 deep",
        "loops nested 2 deep", "break in then in a loop", "divergent break", "else if",
        "break in a block in a loop", "return in else", "atomic_min on u32, result wanted",
        "load inside: workgroup", "atomic in an empty buffer: read_write", "workgroup: line"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  for (const char* name : {"barrier between store and load of storage", "loops nested 3 deep",
                           "break in a loop in a loop", "divergent return", "return in then",
                           "atomic_min on u32", "load inside: read_write"}) {
    EXPECT_FALSE(found.contains(name)) << name;
  }
}

TEST(Coverage, FindsWhatIsHard) {
  std::string lets, sum = "0", chain;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "x" + std::to_string(i);
    lets += "  let " + name + " = a[" + std::to_string(i) + "]\n";
    sum += " + u32(" + name + ")";
    chain += "if n == " + std::to_string(i) + " { n = 7 } else ";
  }
  const auto crowd = [&](const std::string& between) {
    return features(
        "program p workgroup(3) {\n  read a: u64[]\n  read_write out: u32[]\n"
        "  workgroup s: u32[3]\n" +
        lets + between + "  out[invocation_id.x] = " + sum + "\n}\n");
  };
  const std::string at_barrier = "twenty wide locals that live across a barrier";
  const std::string at_loop = "twenty wide locals that live across a loop";
  EXPECT_FALSE(crowd("").contains(at_barrier));
  EXPECT_FALSE(crowd("").contains(at_loop));
  EXPECT_TRUE(crowd("").contains("workgroup memory of a small odd workgroup"));
  EXPECT_TRUE(crowd("  barrier\n").contains(at_barrier));
  EXPECT_TRUE(
      crowd("  barrier\n").contains("workgroup memory of a small odd workgroup, with a barrier"));
  EXPECT_FALSE(crowd("  barrier\n  x7 = 3u64\n").contains(at_loop));
  EXPECT_TRUE(crowd("  for i in 0..3 { x1 = x1 + 1u64 }\n").contains(at_loop));
  const Names divisions = features(
      "program p workgroup(1024) {\n"
      "  read a: u64[]\n"
      "  read_write out: u32[]\n"
      "  let x = a[0] / 8u64\n"
      "  if out[0] == 3 { x = x % 1u64 }\n"
      "  for i in 0..3 { x = x / 0u64 }\n"
      "  out[1] = out[2] / 4\n"
      "}\n",
      {1, 1, 1}, {std::vector<std::byte>(17 * 8), std::vector<std::byte>(4)});
  for (const char* name :
       {"wide division in a loop", "wide division in an if", "wide division by 0",
        "wide division by 1", "wide division by a power of two", "workgroup of more than 512",
        "buffer of one element", "buffer of nearly as many elements as fill vectors"}) {
    EXPECT_TRUE(divisions.contains(name)) << name;
  }
  const auto tests = [&](const std::string& text) {
    return features("program p workgroup(1) {\n  let n = 3\n  " + text + "\n}\n")
        .contains("chain of ten tests");
  };
  EXPECT_TRUE(tests(chain + "{ n = 8 }"));
  EXPECT_FALSE(tests("if n == 3 { n = 7 } else if n == 4 { n = 9 }"));
}

}  // namespace
}  // namespace vyre
