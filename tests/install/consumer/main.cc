// A project of somebody else that uses an installed vyre: prints a program in canonical form, runs
// it, and prints what it leaves in `out` and the digest of that.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "vyre/vyre.h"

// Names that others have, too.
using u32 = std::uint32_t;
[[maybe_unused]] constexpr u32 map = 0, zip = 0, bytes = 0, run = 0, record = 0, load = 0, info = 0,
                               next = 0;
using namespace vyre;

namespace {

int report(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) std::cerr << render(diagnostic);
  return 1;
}

}  // namespace

int main() {
  const Result<Loaded> loaded =
      load_module({"fill.vyre",
                   "program fill workgroup(64) { read_write out: u32[]"
                   " let i = invocation_id.x if (i < len(out)) { out[i] = i ^ 0x2a } }"});
  if (!loaded) return report(loaded.diagnostics());
  std::cout << print(loaded->module);
  const Result<Linked> program = link(*loaded, "fill");
  if (!program) return report(program.diagnostics());

  const std::vector<u32> zeros(4);
  const Result<Outputs> outputs = dispatch(*program, 1, {{"out", zeros}});
  if (!outputs) return report(outputs.diagnostics());
  const u32 nothing = map + zip + bytes + run + record + load + info + next;
  for (const u32 number : *outputs->get<u32>("out")) std::cerr << number + nothing << " ";
  std::cerr << digest(*outputs) << "\n";
}
