// The program of popcount_xor.vyre, made in C++: prints its text and its digest; then the result of
// one with bytes, a table and a variable, and what the builder has to say about one that is wrong.
#include <iostream>
#include <string_view>

#include "vyre/vyre.h"

namespace {

using namespace vyre::types;

vyre::Result<vyre::Linked> popcount_xor() {
  vyre::Builder b("popcount_xor", {64});
  vyre::Buffer lhs = b.read<u32>("lhs");
  vyre::Buffer rhs = b.read<u32>("rhs");
  vyre::Buffer out = b.read_write<u32>("out");

  vyre::Value i = b.let("i", b.invocation_id(0));
  b.if_(i < out.length(),
        [&] { out[i] = popcount(b.call("primitive.bitwise.xor", {lhs[i], rhs[i]})); });
  return b.finish();
}

// How many bits of a text are set, by one workgroup: each invocation takes every 64th byte, half by
// half, and then they add up what they have.
vyre::Result<vyre::Linked> count_bits() {
  vyre::Builder b("count_bits", {64});
  vyre::Buffer text = b.read<u8>("text");
  vyre::Buffer total = b.read_write<u32>("total", 1);
  vyre::Value ones = b.table<u8>("ones", {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4});

  vyre::Variable sum = b.let("sum", 0);
  b.for_("k", b.local_id(0), text.length(), 64,
         [&](vyre::Value k) { sum += ones[text[k] & 15] + ones[text[k] >> 4]; });
  sum = b.workgroup_add(sum);
  b.if_(b.local_id(0) == 0, [&] { total[0] = sum; });
  return b.finish();
}

// Nothing fails before finish(), which reports everything at once.
vyre::Result<vyre::Linked> three_mistakes() {
  vyre::Builder b("three_mistakes", {64});
  vyre::Buffer data = b.read<u32>("data");
  vyre::Buffer out = b.read_write<u64>("out");

  vyre::Value i = b.let("i", b.invocation_id(0));
  data[i] = 0;
  b.if_(i < out.length(), [&] {
    b.barrier();
    out[i] = data[i] + 1;
  });
  return b.finish();
}

}  // namespace

int main() {
  const vyre::Result<vyre::Linked> program = popcount_xor();
  if (!program) return 1;
  std::cout << print(*program) << "digest " << digest(*program) << "\n\n";

  const std::string_view text = "the quick brown fox jumps over the lazy dog";
  const std::uint32_t zero[] = {0};
  const vyre::Result<vyre::Linked> counter = count_bits();
  if (!counter) return 1;
  const vyre::Result<vyre::Outputs> counted =
      dispatch(*counter, 1, {{"text", text}, {"total", zero}});
  if (!counted) return 1;
  std::cout << counted->get<std::uint32_t>("total")->front() << " bits are set\n\n";

  const vyre::Result<vyre::Linked> wrong = three_mistakes();
  for (const vyre::Diagnostic& diagnostic : wrong.diagnostics()) {
    std::cout << render(diagnostic);
  }
}
