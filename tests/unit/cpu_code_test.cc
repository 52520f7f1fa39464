// The code that the CPU backend makes has the shapes that speed depends on. For AVX-512, which no
// machine needs to have for that.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/command.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

class CpuCode : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (llvm::load_llvm(reason) == nullptr) GTEST_SKIP() << reason;
  }

  // What LLVM compiles, after its passes.
  static std::string code_of(const std::string& text, const char* target = "avx512") {
    const Result<Loaded> loaded = load_module({"shape.vyre", text});
    if (!loaded.ok()) return render(loaded.diagnostics()[0]);
    Registry registry;
    EXPECT_TRUE(registry.add(loaded->module).ok());
    const Program* program = nullptr;
    for (const auto& item : loaded->module.items) {
      if (const Program* found = std::get_if<Program>(&item)) program = found;
    }
    const Result<Linked> linked = link(*program, registry);
    if (!linked.ok()) return render(linked.diagnostics()[0]);
    const Result<Lowered> lowered = lower(*linked, *find_backend("cpu"), target);
    if (!lowered.ok()) return render(lowered.diagnostics()[0]);
    const Result<std::string> code = show_cpu(*lowered, CpuText::Llvm);
    return code.ok() ? *code : render(code.diagnostics()[0]);
  }
  static std::string code_of_file(const std::string& name, const char* target = "avx512") {
    return code_of(read_file(source_root() + "/bench/programs/" + name + ".vyre"), target);
  }

  // The blocks that are reached from one without going on with the next gang or workgroup.
  static std::string blocks_from(const std::string& code, const std::string& first,
                                 const std::string& other) {
    std::map<std::string, std::string> blocks;
    std::istringstream lines(code);
    std::string label;
    static const std::regex kLabel("^([A-Za-z0-9_.]+):.*");
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_match(line, match, kLabel)) label = match[1];
      if (line == "}") label.clear();
      blocks[label] += line + "\n";
    }
    std::string all;
    std::set<std::string> seen;
    std::vector<std::string> work{first};
    static const std::regex kNext("label %([A-Za-z0-9_.]+)");
    while (!work.empty()) {
      const std::string at = work.back();
      work.pop_back();
      const bool leaves =
          at.starts_with(other) || at.starts_with("gangs") || at.starts_with("group");
      if (leaves || !seen.insert(at).second) continue;
      const std::string& text = blocks[at];
      all += text;
      for (std::sregex_iterator it(text.begin(), text.end(), kNext), end; it != end; ++it) {
        work.push_back((*it)[1]);
      }
    }
    return all;
  }
  static std::string fast(const std::string& code) { return blocks_from(code, "fast", "slow"); }
  static std::size_t count(const std::string& in, const std::string& pattern) {
    const std::regex regex(pattern);
    return static_cast<std::size_t>(
        std::distance(std::sregex_iterator(in.begin(), in.end(), regex), std::sregex_iterator()));
  }
};

TEST_F(CpuCode, RowsAreVectorLoadsAndStoresWithoutChecks) {
  const std::string code = fast(code_of_file("xor"));
  EXPECT_EQ(count(code, "load <16 x i32>"), 2u) << code;
  EXPECT_EQ(count(code, "store <16 x i32>"), 2u) << code;  // one of them past the caches
  EXPECT_EQ(count(code, "nontemporal"), 1u) << code;
  EXPECT_EQ(count(code, "masked|icmp ult <|gather"), 0u) << code;
}

TEST_F(CpuCode, WhatIsNotWholeIsMasked) {
  const std::string code = blocks_from(code_of_file("xor"), "slow", "fast");
  EXPECT_EQ(count(code, "call <16 x i32> @llvm.masked.load"), 2u) << code;
  EXPECT_EQ(count(code, "call void @llvm.masked.store"), 1u) << code;
}

TEST_F(CpuCode, UniformBranchesAndLoopsStayScalar) {
  const std::string code = fast(code_of(R"(
program same workgroup(64) {
  uniform    n: u32[2]
  read       a: u32[]
  read_write out: u32[]

  let i = invocation_id.x
  let sum = 0
  for k in 0..n[0] {
    if k * 3 > n[1] {
      sum = sum + a[i]
    }
  }
  out[i] = sum
}
)"));
  EXPECT_GE(count(code, "icmp ugt i32|icmp ult i32"), 2u) << code;
  EXPECT_EQ(count(code, "<[0-9]+ x i1>"), 0u) << code;
}

TEST_F(CpuCode, BranchesOnWhichLanesPartAreJumpedOverWhereNoneTakesThem) {
  const std::string code = fast(code_of(R"(
program part workgroup(64) {
  read       a: u32[]
  read_write out: u32[]

  let i = invocation_id.x
  let v = a[i]
  if v > 7 {
    for k in 0..v & 15 {
      v = v * 31 + k
    }
  }
  out[i] = v
}
)"));
  EXPECT_GE(count(code, "icmp ugt <[0-9]+ x i32>"), 1u) << code;
  EXPECT_GE(count(code, "bitcast <[0-9]+ x i1> %[0-9]+ to i[0-9]+"), 1u) << code;
}

TEST_F(CpuCode, WhatIsProvedIsNotChecked) {
  const char* kText = R"(
program table workgroup(64) {
  read       table: u32[256]
  read       a: u32[]
  read_write out: u32[]

  out[invocation_id.x] = table[a[invocation_id.x] MASK]
}
)";
  const auto with = [&](const char* mask) {
    return fast(code_of(std::regex_replace(std::string(kText), std::regex("MASK"), mask)));
  };
  EXPECT_EQ(count(with("& 0xff"), "icmp ult <16 x i32>"), 0u) << with("& 0xff");
  EXPECT_EQ(count(with("& 0x1ff"), "icmp ult <16 x i32>"), 1u) << with("& 0x1ff");
}

TEST_F(CpuCode, TablesThatAreLongEnoughAreNotChecked) {
  const std::string code = fast(code_of_file("crc32"));
  EXPECT_EQ(count(code, "masked.gather"), 10u);
  EXPECT_EQ(count(code, "icmp ult <"), 0u) << code;
  // Where the CPU has no gathers, each invocation has numbers of its own.
  const std::string single = fast(code_of_file("crc32", "sse4.2"));
  EXPECT_EQ(count(single, "xor <|lshr <|and <|extractelement"), 0u) << single;
  EXPECT_EQ(count(single, "load i32"), 40u);
}

TEST_F(CpuCode, RecordsAreMovedWhole) {
  const std::string code = fast(code_of_file("sha256"));
  EXPECT_EQ(count(code, "load <16 x i32>"), 16u);
  EXPECT_EQ(count(code, "gather|scatter"), 0u);
}

TEST_F(CpuCode, RowsThatOverlapAreLoadedOnce) {
  // Four rows at a time need the rows above and below.
  EXPECT_EQ(count(fast(code_of_file("life")), "load <16 x i32>"), 6u);
}

TEST_F(CpuCode, UpdatesThatCommuteNeedNoAtomics) {
  const std::string code = code_of_file("histogram");
  EXPECT_EQ(count(blocks_from(code, "own", "updated"), "atomicrmw"), 0u);
  EXPECT_GE(count(code, "atomicrmw add"), 1u);
}

TEST_F(CpuCode, SmallWorkgroupMemoryIsInRegisters) {
  const std::string code = fast(code_of_file("scan"));
  // What is loaded are the 16 rows of the buffer.
  EXPECT_EQ(count(code, "load <16 x i32>"), 16u) << code;
  EXPECT_GE(count(code, "shufflevector <16 x i32>"), 60u) << code;
  // What it was copied from is read in its place.
  const std::string product = fast(code_of_file("matmul"));
  EXPECT_EQ(count(product, "_tile"), 0u) << product;
}

TEST_F(CpuCode, ArraysWithKnownIndicesAreRegisters) {
  const auto of_example = [](const std::string& name) {
    return code_of(read_file(source_root() + "/examples/" + name + ".vyre"));
  };
  for (const char* name : {"sha256", "chacha20", "aes128_ctr"}) {
    EXPECT_EQ(count(of_example(name), "alloca"), 0u) << name;
  }
  EXPECT_EQ(count(code_of_file("sha256"), "alloca"), 0u);
  EXPECT_EQ(count(of_example("levenshtein"), "alloca"), 1u);
}

TEST_F(CpuCode, SumsOfWorkgroupsAreVectorAdds) {
  const std::string code = fast(code_of_file("sum"));
  EXPECT_EQ(count(code, "load <16 x i32>"), 16u) << code;
  EXPECT_EQ(count(code, " add <16 x i32>"), 15u) << code;
  EXPECT_EQ(count(code, "vector.reduce.add"), 1u) << code;
  EXPECT_EQ(count(code, "masked|icmp ult <|gather"), 0u) << code;
}

TEST_F(CpuCode, UpperHalvesOfProductsAreMovedUnderAMask) {
  const std::string code = fast(code_of_file("philox"));
  EXPECT_GE(count(code, "mul nuw <(8|16) x i64>"), 30u) << code;
  EXPECT_GE(count(code, "select <32 x i1>"), 15u) << code;
  // CPUs are slow at products of 64 bits.
  EXPECT_EQ(count(code, "mul <(8|16) x i64>"), 0u) << code;
}

TEST_F(CpuCode, BitwiseOperationsOnThreeValuesAreOne) {
  const std::string code = fast(code_of_file("sha256"));
  // What LLVM does not see by itself is the majority in each round.
  EXPECT_GE(count(code, "pternlog"), 60u) << code;
  EXPECT_LE(count(code, " or <16 x i32>"), 10u) << code;
}

TEST_F(CpuCode, ChainsRunInWiderGangs) {
  const std::string code = code_of_file("mandelbrot");
  EXPECT_GE(count(code, "mul <32 x i32>"), 3u);
  // Each vector has a mask of its own, and what counts is added under it.
  EXPECT_GE(count(code, "-avx512bw"), 1u);
  EXPECT_EQ(count(code, "zext <32 x i1>"), 0u) << code;
  EXPECT_GE(count(code_of_file("sha256"), "add <16 x i32>"), 100u);
}

}  // namespace
}  // namespace vyre
