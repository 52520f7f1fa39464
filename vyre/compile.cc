#include "vyre/compile.h"

#include <algorithm>

#include "vyre/backends/cache.h"
#include "vyre/backends/variants.h"
#include "vyre/base/counters.h"
#include "vyre/base/text.h"
#include "vyre/base/thread.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/wire/wire.h"

namespace vyre {

std::string_view version() { return VYRE_VERSION; }

Result<Loaded> load_module(Source source, const Registry& registry) {
  Loaded loaded;
  if (is_wire(source.text)) {
    Result<Module> module = decode(source.text, source.file);
    if (!module) return module.diagnostics();
    std::vector<Diagnostic> diagnostics = validate(*module, registry);
    for (Diagnostic& diagnostic : diagnostics) diagnostic.file = source.file;
    if (!diagnostics.empty()) return diagnostics;
    loaded.module = std::move(*module);
  } else {
    Parsed parsed = parse_source(source, signatures_of(registry));
    validate(parsed, registry);
    if (!parsed.findings.empty()) return std::move(parsed.findings).located(source);
    loaded.module = std::move(parsed.module);
    loaded.positions = std::move(parsed.positions);
  }
  loaded.source = std::move(source);
  loaded.registry = registry;
  const Result<void> added = loaded.registry.add(loaded.module);
  if (!added) return added.diagnostics();
  return loaded;
}

Result<std::size_t> find_program(const Loaded& loaded, std::string_view name) {
  std::vector<std::string_view> names;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < loaded.module.items.size(); ++i) {
    const Program* program = std::get_if<Program>(&loaded.module.items[i]);
    if (program == nullptr) continue;
    if (name.empty() || program->name == name) found.push_back(i);
    names.push_back(program->name);
  }
  const std::string& file = loaded.source.file;
  if (names.empty()) return diagnose<message::no_programs>(file);
  if (found.size() == 1) return found[0];
  const std::string all = shorten("`" + join(names, "`, `") + "`", 200);
  if (found.empty()) return diagnose<message::unknown_program>(file, shorten(name), all);
  return diagnose<message::missing_program>(file, names.size(), all);
}

Result<Linked> link(const Loaded& loaded, std::string_view name) {
  const Result<std::size_t> item = find_program(loaded, name);
  if (!item) return item.diagnostics();
  return program_at(loaded, *item);
}

Linked program_at(const Loaded& loaded, std::size_t item) {
  return link_valid(std::get<Program>(loaded.module.items[item]), loaded.registry);
}

namespace {

// All that code depends on.
std::string key_of(const Linked& linked, const Backend& backend, const Target& target) {
  std::string key = digest_with_ops(linked) + " " + std::string(backend.name) + " " + target.name;
  if (!target.has_lines || linked.source().lines.empty()) return key;
  key += " " + linked.source().file;
  for (const std::uint32_t line : linked.source().lines) key += " " + std::to_string(line);
  return key;
}

}  // namespace

Result<Artifact> compile(const Linked& linked, const Backend& backend, std::string_view kind) {
  Artifact artifact{linked, std::string(backend.name)};
  const Emitter* const emitter = backend.emitter;
  if (emitter == nullptr) return artifact;  // it runs the program as it is
  Result<Target> target = emitter->target(kind);
  if (!target) return target.diagnostics();
  artifact.key = key_of(linked, backend, *target);
  artifact.code = find_code(artifact.key, *emitter);
  if (artifact.code != nullptr) return artifact;

  Thread loader;
  if (emitter->prepare != nullptr) loader.start(emitter->prepare);
  Result<Program> optimised = optimise(linked);
  if (!optimised) return optimised.diagnostics();
  Lowered lowered = lower(*optimised, *target, &linked);
  ++counters.emissions;
  auto code = emitter->emit(std::make_unique<Variants>(linked, std::move(*optimised),
                                                       std::move(*target), std::move(lowered)));
  if (!code) return code.diagnostics();
  keep_code(artifact.key, *code);
  artifact.code = std::move(*code);
  return artifact;
}

Result<Lowered> lower(const Linked& linked, const Backend& backend, std::string_view kind) {
  if (backend.emitter == nullptr) {
    return diagnose<message::unavailable_backend>(backend.name, "it makes no code", "cpu");
  }
  const Result<Target> target = backend.emitter->target(kind);
  if (!target) return target.diagnostics();
  const Result<Program> optimised = optimise(linked);
  if (!optimised) return optimised.diagnostics();
  return lower(*optimised, *target, &linked);
}

std::vector<SourceLines> source_lines(const Loaded& loaded) {
  LineCounter lines(loaded.source.text);
  std::vector<SourceLines> all(loaded.module.items.size());
  for (std::size_t i = 0; i < loaded.positions.size(); ++i) {
    all[i].file = loaded.source.file;
    for (const ItemPositions::Statement& statement : loaded.positions[i].statements) {
      all[i].lines.push_back(lines.at(statement.head.begin).line);
    }
  }
  return all;
}

}  // namespace vyre
