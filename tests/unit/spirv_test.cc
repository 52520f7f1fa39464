// The SPIR-V that the speller writes is valid, whatever is asked of it in whichever order, and has
// what programs want of it.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/command.h"
#include "tests/support/must.h"
#include "tests/support/spirv_fixture.h"
#include "vyre/backends/shader.h"
#include "vyre/backends/spirv/speller.h"

namespace vyre {
namespace {

using Part = ShaderPart;
using enum DataType;

// What the memories of every shader here are.
enum Memories : std::uint32_t { kGiven, kOut, kBins, kSignedBins, kCells, kSignedCells, kOwn };

class SpirvSpelling : public ::testing::Test {
 protected:
  SpirvSpelling() { begin(speller_); }
  void TearDown() override {
    if (!is_installed("spirv-val")) GTEST_SKIP() << "spirv-val (spirv-tools) is not installed";
    EXPECT_EQ(validator_says(words()), "");
  }

  static void begin(SpirvSpeller& speller) {
    using Space = ShaderMemory::Space;
    const Program program{"p", {64, 2, 1}, {}, {}};
    const std::vector<ShaderMemory> memories = {
        {.name = "given", .binding = kShaderBuffers},
        {.name = "out", .binding = kShaderBuffers + 1, .is_written = true, .is_shared_live = true},
        {.name = "bins", .binding = kShaderBuffers + 2, .is_written = true, .is_atomic = true},
        {.name = "signed_bins",
         .binding = kShaderBuffers + 3,
         .is_written = true,
         .is_atomic = true,
         .is_signed = true},
        {.space = Space::Workgroup,
         .name = "cells",
         .words = 64,
         .is_written = true,
         .is_atomic = true},
        {.space = Space::Workgroup,
         .name = "signed_cells",
         .words = 64,
         .is_written = true,
         .is_atomic = true,
         .is_signed = true},
        {.space = Space::Private, .name = "own", .words = 7, .is_written = true},
    };
    speller.begin(program, memories, 9);
  }

  static Part number(std::uint64_t value) { return Part::literal(value); }
  Part loaded(DataType type) {
    const Part word = speller_.load(kGiven, speller_.local_id(0));
    if (type == Bool) return speller_.binary(Operation::Ne, U32, word, number(0));
    return speller_.convert(type, U32, word);
  }
  void use(DataType type, Part value) {
    speller_.store(kOut, speller_.local_id(1), speller_.convert(U32, type, value));
  }
  const std::vector<std::uint32_t>& words() {
    if (words_.empty()) words_ = speller_.words();
    return words_;
  }

  SpirvSpeller speller_;
  std::vector<std::uint32_t> words_;
};

TEST_F(SpirvSpelling, Operations) {
  using enum Operation;
  for (const DataType type : {U32, I32, U64}) {
    for (const Operation op : {Negate, BitNot}) {
      use(type, speller_.unary(op, type, loaded(type)));
      use(type, speller_.unary(op, type, number(5)));
    }
    use(type, speller_.unary(ReverseBits, type, loaded(type)));
    for (const Operation op : {Popcount, Clz, Ctz}) {
      use(U32, speller_.unary(op, type, loaded(type)));
      use(U32, speller_.unary(op, type, number(0x100000001)));
    }
    std::vector<Operation> all = {Eq,  Ne,  Lt,  Gt,  Le,  Ge,  BitOr, BitXor, BitAnd,
                                  Shl, Shr, Add, Sub, Mul, Div, Min,   Max};
    if (type != I32) all.push_back(Mod);
    if (type == U32) all.push_back(MulHigh);
    for (const Operation op : all) {
      const DataType result = gives_truth(op) ? Bool : type;
      const DataType second = op == Shl || op == Shr ? U32 : type;
      use(result, speller_.binary(op, type, loaded(type), loaded(second)));
      use(result, speller_.binary(op, type, number(0xfffffff0), loaded(second)));
      use(result, speller_.binary(op, type, loaded(type), number(7)));
    }
    use(type, speller_.select(type, loaded(Bool), loaded(type), number(3)));
    for (const DataType to : {U32, I32, U64}) use(to, speller_.convert(to, type, loaded(type)));
    use(type, speller_.convert(type, Bool, loaded(Bool)));
  }
  use(Bool, speller_.unary(LogicalNot, Bool, loaded(Bool)));
  for (const Operation op : {BitAnd, BitOr, BitXor, Eq}) {
    use(Bool, speller_.binary(op, Bool, loaded(Bool), loaded(Bool)));
    use(Bool, speller_.binary(op, Bool, loaded(Bool), number(1)));
  }
  use(Bool, speller_.select(Bool, number(0), loaded(Bool), number(1)));
}

TEST_F(SpirvSpelling, Literals) {
  EXPECT_EQ(speller_.convert(U64, I32, number(0xffffffff)), number(0xffffffff));
  EXPECT_EQ(speller_.convert(I32, U64, number(0x1'0000'0005)), number(5));
  EXPECT_EQ(speller_.keep(U32, "x", number(5)), number(5));
  const Part word = loaded(U32);
  EXPECT_EQ(speller_.convert(I32, U32, word), word);
}

TEST_F(SpirvSpelling, Variables) {
  for (const DataType type : {U32, I32, U64, Bool}) {
    const Part variable = speller_.declare(type, "x", number(1));
    speller_.begin_if(loaded(Bool));
    speller_.assign(type, variable, loaded(type));
    // Declared in a block, and all the same at the beginning of the function.
    const Part inner = speller_.declare(type, "y", speller_.read(type, variable));
    speller_.assign(type, variable, speller_.keep(type, "kept", speller_.read(type, inner)));
    speller_.end_if();
    use(type, speller_.same_for_all(type, speller_.read(type, variable)));
  }
}

TEST_F(SpirvSpelling, Memory) {
  constexpr AtomicOp kAll[] = {
      AtomicOp::Add,  AtomicOp::And,  AtomicOp::Or,       AtomicOp::Xor,
      AtomicOp::Min,  AtomicOp::Max,  AtomicOp::Exchange, AtomicOp::CompareExchange,
      AtomicOp::Load, AtomicOp::Store};
  const Part at = speller_.local_id(0);
  for (const std::uint32_t memory : {kBins, kSignedBins, kCells, kSignedCells}) {
    for (const AtomicOp op : kAll) {
      const Part found = speller_.update(memory, op, at, loaded(U32), number(9));
      EXPECT_EQ(found.exists(), op != AtomicOp::Store);
      if (found.exists()) use(U32, found);
    }
    speller_.replace(memory, at, number(0xff00), loaded(U32));
    speller_.barrier();
  }
  EXPECT_EQ(count_of(SpirvOp::AtomicUMin, words()), 2u);
  EXPECT_EQ(count_of(SpirvOp::AtomicSMin, words()), 2u);
}

TEST_F(SpirvSpelling, MemoryOfInvocations) {
  speller_.store(kOwn, number(3), loaded(U32));
  use(U32, speller_.load(kOwn, loaded(U32)));
  speller_.store(kCells, speller_.local_id(0), speller_.workgroup_id(2));
  speller_.barrier();
  use(U32, speller_.load(kCells, speller_.local_id(1)));
}

// Each is computed once, before all else, wherever it is first asked for.
TEST_F(SpirvSpelling, WhatTheHostGives) {
  speller_.begin_if(loaded(Bool));
  const Part first = speller_.parameter(8);
  const Part id = speller_.workgroup_id(1);
  speller_.end_if();
  EXPECT_EQ(speller_.parameter(8), first);
  EXPECT_NE(speller_.parameter(7), first);
  EXPECT_EQ(speller_.workgroup_id(1), id);
  EXPECT_NE(speller_.local_id(1), id);
  use(U32, first);
  use(U32, id);
}

TEST_F(SpirvSpelling, Branches) {
  speller_.begin_if(loaded(Bool));
  use(U32, number(1));
  speller_.begin_else();
  speller_.begin_if(loaded(Bool));
  speller_.finish();
  speller_.end_if();
  use(U32, number(2));
  speller_.end_if();
  // Nothing gets to what is behind these.
  speller_.begin_if(number(1));
  speller_.begin_if(loaded(Bool));
  speller_.finish();
  speller_.begin_else();
  speller_.finish();
  speller_.end_if();
  speller_.begin_else();
  speller_.finish();
  speller_.end_if();
  EXPECT_EQ(count_of(SpirvOp::Unreachable, words()), 2u);
}

TEST_F(SpirvSpelling, Loops) {
  const Part sum = speller_.declare(U32, "sum", number(0));
  const Part i = speller_.begin_for("i", number(0), loaded(U32));
  speller_.assign(U32, sum, speller_.binary(Operation::Add, U32, speller_.read(U32, sum), i));
  speller_.replace(kBins, i, number(0xff), number(7));
  const Part k = speller_.begin_for("k", i, speller_.read(U32, sum));
  speller_.begin_if(speller_.binary(Operation::Eq, U32, i, k));
  speller_.begin_if(loaded(Bool));
  speller_.leave_loop();
  speller_.begin_else();
  speller_.finish();
  speller_.end_if();
  speller_.end_if();
  use(U32, k);
  speller_.end_for();
  speller_.begin_if(loaded(Bool));
  speller_.leave_loop();
  speller_.end_if();
  speller_.end_for();
  // Of which no second round comes.
  for (const bool finishes : {false, true}) {
    speller_.begin_for("j", number(3), loaded(U32));
    use(U32, speller_.read(U32, sum));
    finishes ? speller_.finish() : speller_.leave_loop();
    speller_.end_for();
  }
  use(U32, speller_.read(U32, sum));
}

TEST_F(SpirvSpelling, OnlyWhatIsUsed) {
  use(U32, loaded(U32));
  EXPECT_EQ(count_of(SpirvOp::Capability, words()), 1u);
  EXPECT_EQ(count_of(SpirvOp::ExtInstImport, words()), 0u);
  EXPECT_EQ(count_of(SpirvOp::Name, words()), 0u);
  EXPECT_EQ(count_of(SpirvOp::Line, words()), 0u);
  std::set<std::vector<std::uint32_t>> types;
  for (const SpirvInstruction& each : instructions_of(words())) {
    if (each.op < SpirvOp::TypeVoid || each.op > SpirvOp::TypeFunction) continue;
    std::vector<std::uint32_t> type = each.operands;
    type[0] = static_cast<std::uint32_t>(each.op);  // instead of its id
    EXPECT_TRUE(types.insert(type).second) << type[0];
  }
  SpirvSpeller wide;
  begin(wide);
  wide.store(kOut, number(0), wide.convert(U32, U64, wide.convert(U64, U32, wide.local_id(0))));
  EXPECT_EQ(count_of(SpirvOp::Capability, wide.words()), 2u);
}

TEST(Spirv, NamesAndLinesAreInModulesOfFiles) {
  SpirvSpeller speller("folder/shader.vyre");
  const std::vector<ShaderMemory> memories = {
      {.name = "sums", .binding = kShaderBuffers, .is_written = true}};
  speller.begin(Program{"add_all", {1, 1, 1}, {}, {}}, memories, 0);
  speller.at("let total = 0", 7);
  const Part total = speller.declare(U32, "total", Part::literal(0));
  speller.at("for round in 0..9", 8);
  const Part round = speller.begin_for("round", Part::literal(0), Part::literal(9));
  speller.assign(U32, total, round);
  speller.leave_loop();
  speller.end_for();
  speller.store(0, Part::literal(0), speller.keep(U32, "whole", speller.read(U32, total)));
  const std::vector<std::uint32_t> words = speller.words();
  EXPECT_EQ(validator_says(words), "");
  std::set<std::string> names;
  std::vector<std::uint32_t> lines;
  for (const SpirvInstruction& each : instructions_of(words)) {
    if (each.op == SpirvOp::Name) names.insert(each.text(1));
    if (each.op == SpirvOp::Line) lines.push_back(each.operands[1]);
    if (each.op == SpirvOp::String) EXPECT_EQ(each.text(1), "folder/shader.vyre");
  }
  EXPECT_EQ(names, (std::set<std::string>{"add_all", "sums", "total", "round", "whole"}));
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{7, 8}));
}

TEST(Spirv, ModulesHaveAsManyIdsAsReadersTake) {
  constexpr std::uint32_t kMost = 4'194'303;  // one above the largest id
  SpirvSpeller speller;
  speller.begin(Program{"p", {1, 1, 1}, {}, {}}, {}, 0);
  Part value = speller.local_id(0);
  while (value.value < kMost - 1) value = speller.unary(Operation::BitNot, U32, value);
  EXPECT_TRUE(speller.fits());
  speller.unary(Operation::BitNot, U32, value);
  EXPECT_FALSE(speller.fits());
}

// --- Of programs --------------------------------------------------------------------------------

std::string with_value(const std::string& value, const std::string& element = "u32") {
  return "program p workgroup(64) {\n  read a: " + element + "[] @0\n  read b: " + element +
         "[] @1\n  read_write out: " + element +
         "[] @2\n  let i = invocation_id.x\n  out[i] = " + value + "\n}\n";
}

std::vector<std::uint32_t> words_of(const std::string& program, std::string_view kind = {}) {
  const Loaded loaded = must(load_module({"p.vyre", program}));
  std::vector<std::uint32_t> words = must(compile_spirv(must(link(loaded)), kind)).words;
  EXPECT_EQ(validator_says(words), "");
  return words;
}

TEST(Spirv, ComposedProgramsAreLikeHandwrittenOnes) {
  EXPECT_EQ(words_of(with_value("primitive.bitwise.popcount(primitive.bitwise.xor(a[i], b[i]))")),
            words_of(with_value("popcount(a[i] ^ b[i])")));
}

TEST(Spirv, DevicesMayHaveWideNumbers) {
  const std::string program = with_value("a[i] * b[i] + mul_high(a[i], b[i])", "u64");
  EXPECT_EQ(count_of(SpirvOp::Capability, words_of(program)), 1u);
  EXPECT_EQ(count_of(SpirvOp::Capability, words_of(program, kSpirvInt64)), 2u);
  EXPECT_EQ(words_of(with_value("a[i]"), kSpirvInt64), words_of(with_value("a[i]")));
  EXPECT_FALSE(compile_spirv(must(link(must(load_module({"p.vyre", program})))), "int32").ok());
}

TEST(Spirv, TheDisassemblyIsThatOfTheModule) {
  const std::string path = source_root() + "/examples/popcount_xor.vyre";
  const std::string_view arguments[] = {"lower", path, "--to", "spirv-asm", "--lines"};
  if (is_installed("spirv-dis")) {
    const CommandResult shown = run_vyre(arguments);
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_NE(shown.out.find("OpEntryPoint GLCompute %popcount_xor \"main\""), shown.out.npos);
    EXPECT_NE(shown.out.find("OpLine "), shown.out.npos);
  }
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const CommandResult refused = run_vyre(arguments);
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(refused.status, 3);
  EXPECT_NE(refused.err.find("error[B006]: cannot run `spirv-dis`: No such file"), refused.err.npos)
      << refused.err;
}

}  // namespace
}  // namespace vyre
