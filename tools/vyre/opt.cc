// `vyre opt`: prints programs as the passes leave them.
#include <algorithm>

#include "tools/vyre/command.h"
#include "vyre/base/text.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

std::string pass_names() {
  std::string names;
  for (const Pass& pass : all_passes()) {
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  return names;
}

}  // namespace

int run_opt(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  std::vector<Diagnostic> wrong;
  std::vector<const Pass*> passes;
  for (std::string_view name : invocation.values("--pass")) {
    passes.push_back(find_pass(name));
    if (passes.back() == nullptr) {
      wrong.push_back(diagnose<message::unknown_pass>(shown(name), pass_names()));
    }
  }
  const std::string_view shown_after = invocation.value("--print-after");
  if (invocation.has("--print-after") && shown_after != "all" &&
      find_pass(shown_after) == nullptr) {
    wrong.push_back(diagnose<message::unknown_pass>(shown(shown_after), pass_names() + ", all"));
  }
  if (!wrong.empty()) return report(wrong, json, console);

  Result<Source> source = read_input(invocation.operands[0], console);
  if (!source.ok()) return report(source.diagnostics(), json, console);
  const std::string file = source->file;
  const Result<Loaded> loaded = load(std::move(*source));
  if (!loaded.ok()) return report(loaded.diagnostics(), json, console);
  Registry registry;
  if (const Result<bool> added = registry.add(loaded->module); !added.ok()) {
    return report(added.diagnostics(), json, console);
  }
  std::string text;
  const auto print_program = [&](const Program& program) {
    text += (text.empty() ? "" : "\n") + print(Module{{program}});
  };
  bool any = false;
  for (const Item& item : loaded->module.items) {
    const Program* program = std::get_if<Program>(&item);
    if (program == nullptr) continue;
    any = true;
    const Result<Linked> linked = link(*program, registry);
    if (!linked.ok()) return report(linked.diagnostics(), json, console);
    const Result<Program> result =
        optimise(*linked, passes, [&](const Pass& pass, const Program& state) {
          if (shown_after != "all" && shown_after != pass.name) return;
          text += (text.empty() ? "" : "\n") + ("// After " + std::string(pass.name)) + ":\n" +
                  print(Module{{state}});
        });
    if (!result.ok()) {
      std::vector<Diagnostic> failed(result.diagnostics().begin(), result.diagnostics().end());
      for (Diagnostic& diagnostic : failed) {
        diagnostic.file = file;
        if (loaded->positions.empty() || !diagnostic.statement) continue;
        const auto index = static_cast<std::size_t>(&item - loaded->module.items.data());
        const std::uint32_t at = loaded->positions[index].statements[*diagnostic.statement].begin;
        diagnostic.path.clear();
        Findings findings;
        findings.add(std::move(diagnostic), {at, at + 1});
        diagnostic = std::move(findings).located(loaded->source)[0];
      }
      return report(failed, json, console);
    }
    if (!invocation.has("--print-after")) print_program(*result);
  }
  if (!any) return report({{diagnose<message::no_programs>(file)}}, json, console);
  return print_text(text, json, console);
}

}  // namespace vyre
