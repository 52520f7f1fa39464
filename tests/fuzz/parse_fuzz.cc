// Feeds the parser and the validator any text. What is valid must survive printing, and what has no
// syntax error must survive formatting.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "vyre/compile.h"
#include "vyre/text/parse.h"
#include "vyre/text/print.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Formatting keeps what the parser makes of a text, right or wrong, and settles at once.
void check_format(const vyre::Source& source) {
  const vyre::Result<std::string> formatted = vyre::format(source);
  if (!formatted) return;
  const vyre::Parsed before = vyre::parse_source(source);
  const vyre::Parsed after = vyre::parse_source({source.file, *formatted});
  require(after.syntax_ok && after.module == before.module);
  const vyre::Result<std::string> again = vyre::format({source.file, *formatted});
  require(again.ok() && *again == *formatted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vyre::Source source{"fuzz", std::string(reinterpret_cast<const char*>(data), size)};
  check_format(source);
  const vyre::Result<vyre::Loaded> loaded = vyre::load_module(source);
  if (!loaded) {
    for (const vyre::Diagnostic& diagnostic : loaded.diagnostics()) {
      require(!diagnostic.problem.empty() && !diagnostic.fix.empty());
      require(!vyre::render(diagnostic).empty());
    }
    return 0;
  }
  const std::string text = vyre::print(loaded->module);
  const vyre::Result<vyre::Module> printed = vyre::parse(text);
  require(printed.ok() && *printed == loaded->module);
  require(vyre::print(*printed) == text);
  return 0;
}
