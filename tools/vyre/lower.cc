// `vyre lower`: prints what a backend makes of a program. `vyre cache`: what is kept of that, also
// for other machines.
#include <algorithm>

#include "tools/vyre/command.h"
#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/code.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/ptx/emit.h"
#include "vyre/backends/spirv/emit.h"
#include "vyre/backends/spirv/target.h"
#include "vyre/backends/wgsl/emit.h"
#include "vyre/base/process.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

constexpr std::string_view kFolders = "VYRE_CACHE, XDG_CACHE_HOME and HOME";
constexpr std::string_view kFilling = "cache FILE… --cpu TARGET";

// Why there is no code for the machine that --cpu names, or for this one.
std::vector<Diagnostic> check_machine(const Invocation& invocation, std::string_view usage) {
  const std::string_view kind = invocation.value("--cpu");
  if (invocation.has("--cpu") ? find_cpu_target(kind).has_value() : host_target().has_value()) {
    return {};
  }
  if (!invocation.has("--cpu")) {
    return {diagnose<message::missing_operand>(invocation.verb.name, "the kind of machine", usage)};
  }
  return {diagnose<message::unknown_choice>("--cpu", shown(kind), join(cpu_targets(), ", "))};
}

// What `--to` takes: a backend, and the text of a lowered program, with what comes before the first
// one. `source` is where it is written, if lines are wanted.
struct LowerForm {
  std::string_view name;
  std::string_view backend;
  Result<std::string> (*show)(const Lowered& lowered, const SourceLines& source, bool is_first);
  bool is_binary = false;
};

Result<std::string> show_llvm(const Lowered& lowered, const SourceLines&, bool) {
  return show_cpu(lowered, CpuText::Llvm);
}

Result<std::string> show_assembly(const Lowered& lowered, const SourceLines&, bool) {
  return show_cpu(lowered, CpuText::Assembly);
}

Result<std::string> show_ptx(const Lowered& lowered, const SourceLines& source, bool is_first) {
  const Result<PtxKernel> kernel = emit_ptx(lowered);
  if (!kernel.ok()) return kernel.diagnostics();
  return (is_first ? ptx_header(source.file) : "") + "\n" + kernel->text;
}

// A module has one program.
Result<std::string> show_wgsl(const Lowered& lowered, const SourceLines&, bool is_first) {
  const Result<WgslKernel> kernel = emit_wgsl(lowered);
  if (!kernel.ok()) return kernel.diagnostics();
  return (is_first ? "" : "\n") + kernel->text;
}

// What web/vyre-webgpu.mjs runs: the text, and what a host has to know to call it.
Result<std::string> show_artifact(const Lowered& lowered, const SourceLines&, bool) {
  const Result<WgslKernel> kernel = emit_wgsl(lowered);
  if (!kernel.ok()) return kernel.diagnostics();
  const auto list = [](const auto& numbers) {
    JsonList all;
    for (const std::uint32_t number : numbers) all.add(number);
    return all;
  };
  const ShaderCall& call = kernel->call;
  JsonList limits;
  for (const LaunchShape::Limit& limit : call.launch.limits) {
    limits.add(JsonObject().add("axis", limit.axis).add("distance", limit.distance));
  }
  JsonList buffers;
  for (const ShaderBinding& binding : call.buffers) {
    const BufferDecl& buffer = lowered.program.buffers[binding.buffer.index];
    buffers.add(JsonObject()
                    .add("name", buffer.name)
                    .add("stride", stride(buffer.element))
                    .add("is_written", binding.is_written));
  }
  return JsonObject()
      .add("name", lowered.program.name)
      .add("text", kernel->text)
      .add("size", list(call.launch.size))
      .add("groups", list(call.launch.groups))
      .add("limits", limits)
      .add("buffers", buffers)
      .add("tables", list(call.tables))
      .line();
}

Result<std::string> show_spirv(const Lowered& lowered, const SourceLines& source, bool) {
  const Result<SpirvKernel> kernel = emit_spirv(lowered, source.file);
  if (!kernel.ok()) return kernel.diagnostics();
  const std::vector<std::uint32_t>& words = kernel->words;
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
}

// As SPIRV-Tools write it, which everybody reads.
Result<std::string> show_disassembly(const Lowered& lowered, const SourceLines& source,
                                     bool is_first) {
  const Result<std::string> module = show_spirv(lowered, source, is_first);
  if (!module.ok()) return module;
  const ProcessResult shown = run_process({"spirv-dis", "--no-color", "-"}, *module);
  if (!shown.failure.empty()) return diagnose<message::no_disassembler>(shown.failure);
  return (is_first ? "" : "\n") + shown.out;
}

constexpr LowerForm kLowerForms[] = {{"llvm", "cpu", show_llvm},
                                     {"asm", "cpu", show_assembly},
                                     {"ptx", "ptx", show_ptx},
                                     {"wgsl", "wgsl", show_wgsl},
                                     {"wgsl-json", "wgsl", show_artifact},
                                     {"spirv", "spirv", show_spirv, true},
                                     {"spirv-asm", "spirv", show_disassembly}};

// What options ask of a form that it does not have.
std::vector<Diagnostic> check_options(const Invocation& invocation, const LowerForm& form,
                                      const Console& console) {
  std::vector<Diagnostic> wrong;
  const std::string to = "--to " + std::string(form.name);
  const bool is_cpu = form.backend == "cpu";
  if (is_cpu) append(wrong, check_machine(invocation, invocation.verb.usage));
  const auto excludes = [&](bool has, const char* option) {
    if (!has && invocation.has(option)) wrong.push_back(diagnose<message::conflict>(to, option));
  };
  excludes(is_cpu, "--cpu");
  excludes(form.backend == "spirv", "--gpu");
  excludes(!is_cpu, "--lines");
  const std::string_view gpu = invocation.value("--gpu");
  if (invocation.has("--gpu") && gpu != kSpirvInt64) {
    wrong.push_back(diagnose<message::unknown_choice>("--gpu", shown(gpu), kSpirvInt64));
  }
  const std::string_view output = invocation.value("--output");
  if (invocation.has("--output") && output != "-") {
    append(wrong, check_writable(output, inputs_of(invocation), console).diagnostics());
  } else if (form.is_binary && (console.out_is_terminal || invocation.json())) {
    wrong.push_back(diagnose<message::module_to_terminal>());
  }
  return wrong;
}

Result<std::string> show_programs(const Invocation& invocation, const LowerForm& form,
                                  const Loaded& loaded, std::span<const std::size_t> items) {
  const bool is_spirv = form.backend == "spirv";
  const bool has_lines = !is_spirv || invocation.has("--lines");
  const std::string_view kind = invocation.value(is_spirv ? "--gpu" : "--cpu");
  const std::vector<SourceLines> lines = source_lines(loaded);
  std::string out;
  for (std::size_t i : items) {
    const SourceLines source = has_lines ? lines[i] : SourceLines();
    Linked linked = program_at(loaded, i);
    linked.set_source(source);
    const Result<Lowered> lowered = lower(linked, *find_backend(form.backend), kind);
    if (!lowered.ok()) return lowered.diagnostics();
    const Result<std::string> text = form.show(*lowered, source, out.empty());
    if (!text.ok()) return text.diagnostics();
    out += *text;
  }
  return out;
}

// The files' programs, compiled into the cache; how many they are.
Result<std::uint64_t> fill_cache(const Invocation& invocation, std::string_view kind,
                                 const Console& console) {
  std::uint64_t count = 0;
  for (std::string_view path : invocation.operands) {
    const Result<Loaded> loaded = load_file(path, invocation, console);
    if (!loaded.ok()) return loaded.diagnostics();
    for (std::size_t i = 0; i < loaded->own_items; ++i) {
      if (!std::holds_alternative<Program>(loaded->module.items[i])) continue;
      const Result<Artifact> made = compile(program_at(*loaded, i), *find_backend("cpu"), kind);
      if (!made.ok()) return made.diagnostics();
      if (!read_cache(made->key)) {
        const CacheStats stats = cache_stats();
        const std::string why = stats.refusal.empty() ? "" : ": " + stats.refusal;
        Diagnostic wrong = diagnose<message::unwritable>("the cache does not keep it" + why);
        wrong.file = stats.folder;
        return wrong;
      }
      ++count;
    }
  }
  return count;
}

}  // namespace

Result<int> run_lower(const Invocation& invocation, const Console& console) {
  std::vector<Diagnostic> wrong;
  const std::string_view to = invocation.value("--to");
  const auto form = std::ranges::find(kLowerForms, to, &LowerForm::name);
  if (!invocation.has("--to")) {
    wrong.push_back(diagnose<message::missing_operand>("lower", "to know what to print",
                                                       invocation.verb.usage));
  } else if (form == std::end(kLowerForms)) {
    const std::vector<std::string_view> forms = parts_of(kForms, '|');
    wrong.push_back(diagnose<message::unknown_choice>("--to", shown(to), join(forms, ", ")));
  } else {
    wrong = check_options(invocation, *form, console);
  }
  if (!wrong.empty()) return wrong;

  const Result<Loaded> loaded = load_file(invocation.operands[0], invocation, console);
  if (!loaded.ok()) return loaded.diagnostics();
  const Result<std::vector<std::size_t>> chosen = chosen_programs(*loaded, invocation);
  if (!chosen.ok()) return chosen.diagnostics();
  if (form->is_binary && chosen->size() > 1) {  // a module has one
    return find_program(*loaded, {}).diagnostics();
  }
  const Result<std::string> shown = show_programs(invocation, *form, *loaded, *chosen);
  if (!shown.ok()) return shown.diagnostics();
  const std::string_view output = invocation.value("--output");
  if (invocation.has("--output") && output != "-") {
    return report(write_file(output, *shown).diagnostics(), invocation.json(), console);
  }
  if (!form->is_binary) return print_text(*shown, invocation.json(), console);
  console.print(*shown);
  return kFine;
}

Result<int> run_cache(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const bool fills = !invocation.operands.empty();
  const std::string kind(invocation.value("--cpu"));
  std::vector<Diagnostic> wrong;
  if (fills || invocation.has("--cpu")) wrong = check_machine(invocation, kFilling);
  if (!fills && invocation.has("--cpu") && wrong.empty()) {
    wrong.push_back(diagnose<message::missing_option>("--cpu", "FILE"));
  }
  if (fills && cache_stats().folder.empty()) {
    wrong.push_back(diagnose<message::unwritable>("none of " + std::string(kFolders) + " is set"));
  }
  if (fills && invocation.has("--clear")) {
    wrong.push_back(diagnose<message::conflict>("--clear", "FILE"));
  }
  if (!wrong.empty()) return wrong;

  std::uint64_t compiled = 0;
  if (fills) {
    const Result<std::uint64_t> count = fill_cache(invocation, kind, console);
    if (!count.ok()) return count.diagnostics();
    compiled = *count;
  }
  const std::uint64_t cleared = invocation.has("--clear") ? clear_cache() : 0;
  const CacheStats stats = cache_stats();
  const bool used = stats.refusal.empty();
  if (json) {
    JsonObject out;
    out.add("folder", stats.folder).add("files", stats.files).add("bytes", stats.bytes);
    out.add("compiled", compiled).add("cleared", cleared);
    if (!used) out.add("unused", stats.refusal);
    console.print(out.line());
  } else if (stats.folder.empty()) {
    console.print("There is no cache: none of " + std::string(kFolders) + " is set.\n");
  } else if (!used) {
    console.print("The cache in " + path_text(stats.folder) + " is not used: " + stats.refusal +
                  "\n");
  } else if (fills) {
    console.print("Compiled " + plural(compiled, "program") + " for " +
                  (kind.empty() ? "this machine" : kind) + " into " + path_text(stats.folder) +
                  "\n");
  } else if (invocation.has("--clear")) {
    console.print("Deleted " + plural(cleared, "program") + " from " + path_text(stats.folder) +
                  (stats.files == 0 ? "" : "; " + plural(stats.files, "program") + " left") + "\n");
  } else {
    console.print(plural(stats.files, "program") + ", " + plural(stats.bytes, "byte") + " in " +
                  path_text(stats.folder) + "\n");
  }
  // If programs are left, clearing has failed.
  const bool is_cleared = used && stats.files == 0;
  return is_cleared || !invocation.has("--clear") ? kFine : kEnvironment;
}

}  // namespace vyre
