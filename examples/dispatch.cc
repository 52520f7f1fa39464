// Makes a program, runs it on numbers of the host and prints what comes back; then shows what a
// dispatch says about a mistake.
#include <iostream>

#include "vyre/vyre.h"

namespace {

int report(const std::vector<vyre::Diagnostic>& diagnostics) {
  for (const vyre::Diagnostic& diagnostic : diagnostics) std::cout << render(diagnostic);
  return 1;
}

}  // namespace

int main() {
  vyre::Builder b("squares", {64});
  vyre::Buffer data = b.read_write<vyre::types::u32>("data");
  vyre::Value i = b.let("i", b.invocation_id(0));
  data[i] = data[i] * data[i];
  const vyre::Result<vyre::Linked> program = b.finish();
  if (!program) return report(program.diagnostics());

  const std::vector<std::uint32_t> numbers = {1, 2, 3, 4, 5};
  const vyre::Result<vyre::Outputs> outputs = dispatch(*program, 1, {{"data", numbers}});
  if (!outputs) return report(outputs.diagnostics());
  const vyre::Result<std::vector<std::uint32_t>> squares = outputs->get<std::uint32_t>("data");
  if (!squares) return report(squares.diagnostics());
  for (const std::uint32_t square : *squares) std::cout << square << " ";
  std::cout << "\ndigest " << digest(*outputs) << "\n";

  report(dispatch(*program, 1, {{"dat", numbers}}).diagnostics());
}
