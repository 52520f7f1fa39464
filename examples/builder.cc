// The program of popcount_xor.vyre, made in C++: prints its text and its digest, and then what the
// builder has to say about a program that is wrong.
#include <iostream>

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

  const vyre::Result<vyre::Linked> wrong = three_mistakes();
  for (const vyre::Diagnostic& diagnostic : wrong.diagnostics()) {
    std::cout << render(diagnostic);
  }
}
