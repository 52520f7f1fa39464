// A project of somebody else that uses an installed vyre: prints a program in canonical form.
#include <iostream>

#include "vyre/vyre.h"

int main() {
  const vyre::Result<vyre::Module> module = vyre::parse(
      "program fill workgroup(64) { read_write out: u32[]"
      " let i = invocation_id.x if (i < len(out)) { out[i] = i ^ 0x2a } }",
      "fill.vyre");
  if (!module) {
    for (const vyre::Diagnostic& diagnostic : module.diagnostics()) {
      std::cerr << vyre::render(diagnostic);
    }
    return 1;
  }
  std::cout << vyre::print(*module);
}
