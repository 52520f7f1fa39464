// What people write who know CUDA, WGSL, GLSL, OpenCL, HLSL, Metal, Rust, C or Python, and what
// they are told: one row for each idiom. `§` marks the place of the only diagnostic.
#include <gtest/gtest.h>

#include <algorithm>

#include "vyre/compile.h"
#include "vyre/text/lexer.h"

namespace vyre {
namespace {

struct Idiom {
  std::string text;
  std::string fix;  // a part of it
};

// The text with the mark taken out, and the place where the mark was.
struct Marked {
  std::string text;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

Marked without_mark(std::string text) {
  const std::string mark = "§";
  const std::size_t at = text.find(mark);
  EXPECT_NE(at, text.npos) << text;
  if (at == text.npos) return {text};
  text.erase(at, mark.size());
  const std::string before = text.substr(0, at);
  Marked marked{text};
  marked.line += static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
  marked.column += static_cast<std::uint32_t>(at - (before.rfind('\n') + 1));
  return marked;
}

void expect_told(const Idiom& idiom, const std::string& program) {
  const Marked marked = without_mark(program);
  const Result<Loaded> loaded = load_module({"test", marked.text});
  std::string all;
  for (const Diagnostic& each : loaded.diagnostics()) all += render(each);
  EXPECT_EQ(loaded.diagnostics().size(), 1u) << idiom.text << "\n" << all;
  if (loaded.ok()) return;
  const Diagnostic& told = loaded.diagnostics()[0];
  EXPECT_EQ(told.line, marked.line) << all;
  EXPECT_EQ(told.column, marked.column) << all;
  EXPECT_NE(told.fix.find(idiom.fix), std::string::npos) << idiom.fix << "\n" << all;
}

std::string in_body(const std::string& statement) {
  return "program p workgroup(64) {\n"
         "  read_write b: u32[]\n"
         "  let i = invocation_id.x\n"
         "  let x = b[i]\n"
         "  " +
         statement +
         "\n"
         "  b[i] = x\n"
         "}\n";
}

TEST(Foreign, StatementsSayWhatThereIs) {
  const Idiom idioms[] = {
      // Control flow.
      {"§switch x { case 0: break }", "write `if … { … } else if … { … } else { … }`"},
      {"§switch (x) { case 0: break; default: break; }", "write `if … {"},
      {"§match x { 0 => 1 }", "write `if … {"},
      {"if x { b[0] = 1 } §elif i { b[1] = 1 }", "write `else if`"},
      {"if x §then b[0] = 1", "blocks are in braces"},
      {"§loop { break }", "write `while true { … }`"},
      {"§do { x = 1 } while (x)", "end it with `if … { break }`"},
      {"§until x { x = 1 }", "write `while !… { … }`"},
      {"§goto end", "there are no jumps"},
      {"§try { x = 1 }", "nothing fails"},
      {"§discard", "write `return`"},
      {"§pass", "`{ }`"},
      {"for §(int k = 0; k < 10; k++) { b[k] = 1 }", "write `for k in 0..n { … }`"},
      {"for §(let k = 0; k < 10; k = k + 1) { b[k] = k }", "write `for k in 0..n { … }`"},
      {"for k in 0..§=10 { b[k] = k }", "write `0..n + 1`"},
      {"for k in 0§...10 { b[k] = k }", "write `0..n`"},
      {"if (x == 1) §b[0] = 1", "open the branch"},
      {"if x == 1§: b[0] = 1", "open the branch"},
      {"let y = §if x { 1 } else { 2 }", "write `select(condition, a, b)`"},
      {"let y = x > 1 §? 2 : 3", "write `select(condition, a, b)`"},
      {"let y = §ternary(x, 1, 2)", "write `select(condition, a, b)`"},
      {"§printf(\"%d\", x)", "--trace"},
      {"§println!(\"{}\", x)", "--trace"},
      {"§assert(x)", "check it on the host"},
      {"§asm(\"x\")", "`vyre ops`"},
      {"barrier§()", "write `barrier` without parentheses"},
      {"barrier§(CLK_LOCAL_MEM_FENCE)", "write `barrier` without parentheses"},
      {"§#pragma unroll", "loops with constant bounds are unrolled"},
      {"§#ifdef DEBUG", "conditions on constants decided"},
      {"§# a comment", "comments start with `//`"},
      {"§/* a comment */", "comments start with `//`"},
      // Operators.
      {"x§++", "write `x += 1`"},
      {"§++x", "write `x += 1`"},
      {"x§--", "write `x -= 1`"},
      {"let y = x §and 1", "the operators are `&&`"},
      {"let y = §not x", "the operators are `&&`"},
      {"let y = x §mod 2", "`%`"},
      {"let y = x §=== 1", "`==` compares"},
      {"let y = x §!== 1", "write `!=`"},
      {"let y = x §<> 1", "write `!=`"},
      {"let y = x §=< 1", "write `<=`"},
      {"let y = x §>>> 1", "write `>>`"},
      {"let y = x §** 2", "`vyre ops pow`"},
      {"y §:= 1", "write `=`"},
      {"b[i] §<- 1", "write `=`"},
      {"let y §== 1", "`=` assigns and `==` compares"},
      {"let y = 1§;", "statements need no separator"},
      // Declarations.
      {"§int y = 5", "`let x: i32 = 5`"},
      {"§unsigned y = 5", "the type is u32: `let x = 5` declares a local"},
      {"§unsigned int y = 5", "the type is u32"},
      {"§uint32_t y = 5", "the type is u32"},
      {"§size_t y = 5", "the type is u32"},
      {"§uint64_t y = 5", "the type is u64"},
      {"§unsigned long long y = 5", "the type is u64"},
      {"§u32 y = 5", "declare a local with `let`"},
      {"§bool y = true", "declare a local with `let`"},
      {"§float y = 1", "floats are planned"},
      {"§double y = 1", "floats are planned"},
      {"§char y = 1", "i8 is an element of buffers and tables; values are i32"},
      {"§auto y = 5", "declare a local with `let`"},
      {"§var y = 5", "declare a local with `let`"},
      {"§var y: u32 = 5", "declare a local with `let`"},
      {"let §mut y = 1", "every local can be assigned"},
      {"§const y = 5", "in a body write `let`"},
      {"§static const int y = 5", "constants are outside of programs and ops"},
      {"§constexpr int y = 5", "constants are outside of programs and ops"},
      {"§__shared__ unsigned tile[64]", "`workgroup tile: u32[64]`"},
      {"§groupshared uint tile[64]", "`workgroup tile: u32[64]`"},
      {"§threadgroup uint tile[64]", "`workgroup tile: u32[64]`"},
      {"§var<workgroup> tile: array<u32, 64>", "`workgroup tile: u32[64]`"},
      {"§var<private> y: u32", "declare a local with `let`"},
      {"let y: §float = 1", "floats are planned"},
      {"let y: §int = 1", "the type is i32"},
      {"let y: §usize = 1", "the type is u32"},
      {"let y: §array<u32, 4>", "an array is written `u32[4]`"},
      {"let y: §[u32; 4] = x", "an array is written `u32[4]`"},
      {"let y: §&u32 = x", "there are no pointers"},
      {"let §y: u8", "u8 is an element of buffers and tables; values are u32"},
      {"let §y: i16", "i16 is an element of buffers and tables; values are i32"},
      {"let y = [0§; 4]", "an array of zeros is `let w: u32[8]`"},
      {"let y §= {1, 2}", "`[1, 2, 3, 4]`"},
      // Ids.
      {"let y = §threadIdx.x", "the position in the workgroup is `local_id.x`"},
      {"let y = §gl_LocalInvocationID.x", "`local_id.x`"},
      {"let y = §blockIdx.x", "`workgroup_id.x`"},
      {"let y = §gl_GlobalInvocationID.x", "the global id is `invocation_id.x`"},
      {"let y = §SV_DispatchThreadID.x", "the global id is `invocation_id.x`"},
      {"let y = §get_global_id(0)", "the global id is `invocation_id.x`"},
      {"let y = §get_local_id(0)", "`local_id.x`"},
      {"let y = §blockDim.x", "it is the number in `workgroup(…)`"},
      {"let y = §gridDim.x", "`num_workgroups.x`"},
      {"let y = §get_num_groups(0)", "`num_workgroups.x`"},
      {"let y = §local_invocation_index", "it is `local_id.x`"},
      {"let y = §warpSize", "there are no warps"},
      // Barriers and atomics.
      {"§__syncthreads()", "write `barrier`"},
      {"§workgroupBarrier();", "write `barrier`"},
      {"§GroupMemoryBarrierWithGroupSync()", "write `barrier`"},
      {"§threadgroup_barrier(mem_flags::mem_threadgroup)", "write `barrier`"},
      {"§__syncwarp()", "`barrier` waits for the whole workgroup"},
      {"§__threadfence()", "there are no fences"},
      {"§atomicAdd(&b[0], 1)", "write `atomic_add(b[i], x)`"},
      {"let old = §atomicAdd(&b[0], 1)", "`let old = atomic_add(b[i], x)`"},
      {"§InterlockedAdd(b[0], 1)", "write `atomic_add(b[i], x)`"},
      {"§atomic_fetch_add_explicit(&b[0], 1, memory_order_relaxed)", "write `atomic_add(b[i], x)`"},
      {"§atomicSub(&b[0], 1)", "write `atomic_add(b[i], -x)`"},
      {"§atomic_inc(&b[0])", "write `atomic_add(b[i], 1)`"},
      {"let old = §atomicCAS(&b[0], 0, 1)",
       "`let old = atomic_compare_exchange(b[i], expected, x)`"},
      {"let old = §atomicCompareExchangeWeak(&b[0], 0, 1)", "atomic_compare_exchange"},
      {"let old = §atomicExch(&b[0], 1)", "atomic_exchange"},
      {"let y = §atomicLoad(&b[0])", "write `let v = atomic_load(b[i])`"},
      {"§atomicStore(&b[0], 1)", "write `atomic_store(b[i], x)`"},
      // Warps.
      {"let y = §__shfl_sync(0xffffffff, x, 0)", "`let v = workgroup_shuffle(x, k)`"},
      {"let y = §__shfl_xor_sync(0xffffffff, x, 1)",
       "`let v = workgroup_shuffle(x, local_id.x ^ mask)`"},
      {"let y = §__ballot_sync(0xffffffff, x)", "`let all = workgroup_add(x)`"},
      {"let y = §__any_sync(0xffffffff, x)", "`let any = workgroup_or(x)`"},
      {"let y = §__reduce_add_sync(0xffffffff, x)", "`let sum = workgroup_add(x)`"},
      {"let y = §subgroupAdd(x)", "`let sum = workgroup_add(x)`"},
      {"let y = §subgroupExclusiveAdd(x)", "`let before = workgroup_scan_add(x)`"},
      {"let y = §subgroupInclusiveAdd(x)", "then `before + x`"},
      {"let y = §subgroupBroadcastFirst(x)", "`let v = workgroup_broadcast(x, k)`"},
      {"let y = §WaveActiveSum(x)", "`let sum = workgroup_add(x)`"},
      {"let y = §simd_sum(x)", "`let sum = workgroup_add(x)`"},
      {"let y = §work_group_reduce_max(x)", "`let greatest = workgroup_max(x)`"},
      {"if §subgroupElect() { b[0] = 1 }", "write `if local_id.x == 0 { … }`"},
      // Pointers, members, methods.
      {"let y = §*b", "there are no pointers"},
      {"let y = §&x", "there are no pointers"},
      {"let y = x§->next", "there are no pointers"},
      {"let y = §null", "there are no pointers"},
      {"let y = §nullptr", "there are no pointers"},
      {"let y = §b.len()", "write `len(b)`"},
      {"let y = §b.length()", "`len(data)`"},
      {"let y = §x.min(3)", "there are no methods: write `min(x, …)`"},
      {"let y = §x.count_ones()", "write `popcount(a)`"},
      {"let y = b[i].§popcount()", "there are no methods: write `popcount(…)`"},
      {"let y = §arrayLength(&b)", "`len(data)`"},
      {"let y = §sizeof(x)", "`len(data)`"},
      {"let y = §std::min(x, x)", "functions have no namespace"},
      // Casts and numbers.
      {"let y = x §as u32", "`u32(x)`"},
      {"let y = (u32§)x", "write a cast as `u32(x)`"},
      {"let y = (§int)x", "`i32(x)` casts"},
      {"let y = §int(x)", "`i32(x)` casts"},
      {"let y = §float(x)", "floats are planned"},
      {"let y = §u8(x)", "u8 is an element of buffers and tables; values are u32"},
      {"let y = §i64(x)", "the integer types are u32, i32, u64 and u128"},
      {"let y = §bitcast<u32>(x)", "`u32(x)`"},
      {"let y = §asuint(x)", "`u32(x)`"},
      {"let y = §1u", "leave the suffix out"},
      {"let y = §1U", "leave the suffix out"},
      {"let y = §1ull", "the suffix is u64"},
      {"let y = §1UL", "the suffix is u64"},
      {"let y = §1u8", "leave the suffix out"},
      {"let y = §1.5f", "floats are planned"},
      {"let y = §0o17", "0o17 is `0xf`"},
      {"let y = §0XFF", "`0xff`"},
      {"let y = §'c'", "write the number, 99"},
      {"let y = §\"text\"", "`--in text=text:…`"},
      {"let y = u32§::MAX", "the greatest u32 is 0xffffffff"},
      {"let y = §UINT_MAX", "the greatest u32 is 0xffffffff"},
      {"let y = §vec4<u32>(1, 2, 3, 4)", "write `vec4u32(a, b, c, d)`"},
      {"let y = §make_uint4(1, 2, 3, 4)", "write `vec4u32(a, b, c, d)`"},
      {"let y = §u32x4(1, 2, 3, 4)", "write `vec4u32(a, b, c, d)`"},
      {"let y = §vec3(1, 2, 3)", "vectors have two or four lanes"},
      // Functions.
      {"let y = §clamp(x, 1, 2)", "`primitive.math.clamp`"},
      {"let y = §clamp(i32(x), 1i32, 2i32)", "`primitive.math.clamp_i32`"},
      {"let y = §clamp(u64(x), 1u64, 2u64)", "`primitive.math.clamp_u64`"},
      {"let y = §abs(i32(x))", "`primitive.math.abs_i32`"},
      {"let y = §min3(x, x, x)", "`primitive.math.min3`"},
      {"let y = §gcd(u64(x), 3u64)", "`primitive.math.gcd_u64`"},
      {"let y = §lerp(i32(x), 1i32, 2i32)", "`fixed.q16.lerp`"},
      {"let y = §bswap(x)", "`primitive.bitwise.bswap`"},
      {"let y = §sign(i32(x))", "`primitive.math.sign_i32`"},
      {"let y = §math.clamp(x, 1, 2)", "`primitive.math.clamp`"},
      {"let y = §sqrt(x)", "`primitive.math.isqrt(x)`"},
      {"let y = §popcnt(x)", "did you mean `popcount`?"},
      {"let y = §__popc(x)", "write `popcount(a)`"},
      {"let y = §mulhi(x, x)", "write `mul_high(a, b)`"},
      {"let y = §__umulhi(x, x)", "write `mul_high(a, b)`"},
      {"let y = §countLeadingZeros(x)", "write `clz(a)`"},
      {"let y = §__ffs(x)", "`select(a, ctz(a) + 1, 0)`"},
      {"let y = §firstbithigh(x)", "write `31 - clz(a)`"},
      {"let y = §rotate_left(x, 1)", "write `rotl(a, count)`"},
      {"let y = §extractBits(x, 1, 2)", "`primitive.bitwise.extract_bits(x, offset, count)`"},
      {"let y = §__dp4a(x, x, x)", "`packed.u8x4.dot_add(a, b, sum)`"},
      {"let y = §fma(x, x, x)", "write `a * b + c`"},
      {"let y = §invocaton_id.x", "did you mean `invocation_id`?"},
  };
  EXPECT_GE(std::size(idioms), 150u);
  for (const Idiom& idiom : idioms) expect_told(idiom, in_body(idiom.text));
}

TEST(Foreign, DeclarationsSayWhatThereIs) {
  const Idiom idioms[] = {
      {"§struct S { x: u32 }", "there are no structures"},
      {"§enum E { A }", "`const RED = 0`"},
      {"§typedef unsigned word;", "there are no names for types"},
      {"§fn main() { }", "`program name workgroup(64) { … }`"},
      {"§def f(x):", "`op my.name(a: u32) -> u32 { … }`"},
      {"§void main() { }", "`program name workgroup(64) { … }`"},
      {"§__global__ void k(unsigned* a) { }",
       "write a kernel as `program name workgroup(64) { … }`"},
      {"§extern \"C\" __global__ void k() { }", "write a kernel as"},
      {"§__kernel void k(__global uint* a) { }", "write a kernel as"},
      {"§kernel void k(device uint* a) { }", "write a kernel as"},
      {"§[numthreads(64, 1, 1)]\nvoid main() { }", "write a kernel as"},
      {"§@compute @workgroup_size(64)\nfn main() { }", "write a kernel as"},
      {"§layout(local_size_x = 64) in;", "write a kernel as"},
      {"§layout(binding = 0) buffer B { uint b[]; };", "declare buffers at the top of the program"},
      {"§@group(0) @binding(0) var<storage, read> b: array<u32>;", "declare buffers at the top"},
      {"§var<storage, read_write> b: array<u32>;", "declare buffers at the top of the program"},
      {"§RWStructuredBuffer<uint> b;", "declare buffers at the top of the program"},
      {"§var<workgroup> tile: array<u32, 64>;", "`workgroup tile: u32[64]`"},
      {"§__constant__ unsigned k[3] = {1, 2, 3};", "`const N = 3`"},
      {"§static const int N = 3;", "`const N = 3`"},
      {"§#define N 3", "`const N = 3`"},
      {"§#include <stdint.h>", "write `use \"file.vyre\"`"},
      {"§import numpy", "write `use \"file.vyre\"`"},
      {"§#version 450", "there is one version of the language"},
      {"§enable f16;", "there is one version of the language"},
      {"§template <int N>\nvoid f() { }", "write an op for each type"},
      {"§namespace a { }", "`op family.name(…) -> u32 { … }`"},
      {"op my.f(x: §float) -> u32 { return 1 }", "floats are planned"},
      {"op my.f(x: §*u32) -> u32 { return 1 }", "there are no pointers"},
      {"op my.f(§x: u8) -> u32 { return x }",
       "u8 is an element of buffers and tables; values are u32"},
      {"op my.f(uint §x) -> u32 { return x }", "as in `a: u32`"},
      {"op my.f(x: u32) §{ return x }", "as in `-> u32`"},
      {"op my.f(x: u32) §: u32 { return x }", "as in `-> u32`"},
      {"op my.f(x: u32) -> §uint { return x }", "the type is u32"},
      {"program p workgroup(64) {\n  read b: §array<u32>\n}", "a buffer `read data: u32[]`"},
      {"program p workgroup(64) {\n  read b: §uint[]\n}", "the type is u32"},
      {"program p workgroup(64) {\n  read b: §float[]\n}", "floats are planned"},
      {"program p workgroup(64) {\n  §@group(0) @binding(0) read b: u32[]\n}",
       "declare buffers at the top"},
      {"program p workgroup(64) {\n  §out b: u32[]\n}", "say how the buffer is accessed"},
  };
  for (const Idiom& idiom : idioms) expect_told(idiom, idiom.text + "\n");
}

// Words that mean something, and names that are taken, get no advice against them.
TEST(Foreign, WordsOfVyreAreNotForeign) {
  for (const char* word : {"let",         "if",           "else",
                           "for",         "while",        "break",
                           "continue",    "return",       "barrier",
                           "step",        "reversed",     "num_workgroups",
                           "atomic_load", "atomic_store", "workgroup_add",
                           "select",      "len",          "popcount",
                           "min",         "u32",          "i32",
                           "u64",         "u128",         "bool",
                           "bytes",       "program",      "op",
                           "law"}) {
    EXPECT_EQ(advice_for(word), "") << word;
  }
  const std::string own = in_body("let length = x\n  let rotate = length\n  b[rotate] = length");
  EXPECT_TRUE(load_module({"test", own}).ok());
}

}  // namespace
}  // namespace vyre
