// `vyre lower`: prints what a backend makes of a program. `vyre cache`: what is kept of that.
#include "tools/vyre/command.h"
#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

constexpr std::string_view kSynopsis =
    "lower FILE --to llvm|asm|ptx [--program NAME] [--cpu TARGET]";

std::string target_names() {
  std::string names;
  for (std::string_view name : cpu_targets()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace

int run_lower(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  std::vector<Diagnostic> wrong;
  const std::string_view to = invocation.value("--to");
  if (!invocation.has("--to")) {
    wrong.push_back(
        diagnose<message::missing_operand>("lower", "to know what to print", kSynopsis));
  } else if (to != "llvm" && to != "asm" && to != "ptx") {
    wrong.push_back(diagnose<message::unknown_choice>("--to", shown(to), "llvm, asm, ptx"));
  }
  const bool is_ptx = to == "ptx";
  std::optional<CpuTarget> target = host_target();
  if (is_ptx && invocation.has("--cpu")) {
    wrong.push_back(diagnose<message::conflict>("--to ptx", "--cpu"));
  } else if (invocation.has("--cpu")) {
    target = find_cpu_target(invocation.value("--cpu"));
    if (!target) {
      wrong.push_back(diagnose<message::unknown_choice>("--cpu", shown(invocation.value("--cpu")),
                                                        target_names()));
    }
  } else if (!target && !is_ptx) {
    wrong.push_back(diagnose<message::missing_operand>("lower", "the kind of machine", kSynopsis));
  }
  if (!wrong.empty()) return report(wrong, json, console);

  Result<Source> source = read_input(invocation.operands[0], console);
  if (!source.ok()) return report(source.diagnostics(), json, console);
  const Result<Loaded> loaded = load(std::move(*source));
  if (!loaded.ok()) return report(loaded.diagnostics(), json, console);
  Registry registry;
  if (const auto added = registry.add(loaded->module); !added.ok()) {
    return report(added.diagnostics(), json, console);
  }
  const std::string_view only = invocation.value("--program");
  std::string out;
  std::string names;
  const std::vector<Item>& items = loaded->module.items;
  const std::vector<SourceLines> lines = source_lines(*loaded);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Program* program = std::get_if<Program>(&items[i]);
    if (program == nullptr) continue;
    names += (names.empty() ? "" : ", ") + shorten(program->name);
    if (invocation.has("--program") && program->name != only) continue;
    Result<Linked> linked = link(*program, registry);
    if (!linked.ok()) return report(linked.diagnostics(), json, console);
    if (is_ptx) {
      linked->source = lines[i];
      const Result<PtxKernel> kernel = compile_ptx(*linked);
      if (!kernel.ok()) return report(kernel.diagnostics(), json, console);
      if (out.empty()) out = ptx_header(linked->source.file);
      out += "\n" + kernel->text;
      continue;
    }
    const Result<std::string> text =
        show_cpu(*linked, *target, to == "asm" ? CpuText::Assembly : CpuText::Llvm);
    if (!text.ok()) return report(text.diagnostics(), json, console);
    out += *text;
  }
  if (out.empty()) {
    const std::string& file = loaded->source.file;
    return report({{names.empty() ? diagnose<message::no_programs>(file)
                                  : diagnose<message::unknown_program>(file, shown(only), names)}},
                  json, console);
  }
  return print_text(out, json, console);
}

int run_cache(const Invocation& invocation, const Console& console) {
  const std::uint64_t cleared = invocation.has("--clear") ? clear_cache() : 0;
  const CacheStats stats = cache_stats();
  if (invocation.json()) {
    console.print("{\"folder\":" + json_quote(stats.folder) + ",\"files\":" +
                  std::to_string(stats.files) + ",\"bytes\":" + std::to_string(stats.bytes) +
                  ",\"cleared\":" + std::to_string(cleared) + "}\n");
  } else if (stats.folder.empty()) {
    console.print("There is no cache: none of VYRE_CACHE, XDG_CACHE_HOME and HOME is set.\n");
  } else if (invocation.has("--clear")) {
    console.print("Deleted " + plural(cleared, "program") + " from " + stats.folder + "\n");
  } else {
    console.print(plural(stats.files, "program") + ", " + plural(stats.bytes, "byte") + " in " +
                  stats.folder + "\n");
  }
  return kFine;
}

}  // namespace vyre
