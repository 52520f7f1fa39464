// Feeds the parser and the validator any text, which may use itself and a few other files. What is
// valid must survive printing, and what has no syntax error must survive formatting.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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
  static const std::vector<vyre::Source> others = {
      {"a", "use \"b\"\nuse \"fuzz\"\nconst k = [1]\nop a.a(x: u32) -> u32 { return x + k[0] }"},
      {"b", "use \"a\"\nconst k = [2, 3]\nop b.b(x: u32) -> u32 { return a.a(x) + k[x] }"},
      {"c", "program c workgroup(1) {\n  read_write out: u32[]\n  out[0] = d\n}"},
  };
  std::vector<vyre::Source> files = others;
  files.push_back(source);
  const vyre::Result<vyre::Loaded> loaded =
      vyre::load_module(source, {}, vyre::find_among(std::move(files)));
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
