#include "vyre/compile.h"

#include <algorithm>
#include <map>

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

std::string_view Loaded::file_of(std::size_t item) const {
  if (positions.empty()) return source.file;
  return source.file_of(positions[item].name.begin).name;
}

Result<Loaded> load_module(Source source, const Registry& registry, const FindFile& find) {
  Loaded loaded;
  if (is_wire(source.text)) {
    Result<Module> module = decode(source.text, source.file);
    if (!module) return module.diagnostics();
    std::vector<Diagnostic> diagnostics = validate(*module, registry);
    for (Diagnostic& diagnostic : diagnostics) diagnostic.file = source.file;
    if (!diagnostics.empty()) return diagnostics;
    loaded.module = std::move(*module);
    loaded.own_items = loaded.module.items.size();
  } else {
    Result<Gathered> gathered = gather(std::move(source), find);
    if (!gathered) return gathered.diagnostics();
    source = std::move(gathered->source);
    Parsed parsed = parse_source(source, signatures_of(registry), gathered->uses);
    validate(parsed, registry);
    if (!parsed.findings.empty()) return std::move(parsed.findings).located(source);
    const std::uint32_t end = source.file_at(0).text.end;
    loaded.own_items = static_cast<std::size_t>(std::ranges::count_if(
        parsed.positions, [&](const ItemPositions& each) { return each.name.begin < end; }));
    loaded.module = std::move(parsed.module);
    loaded.positions = std::move(parsed.positions);
  }
  loaded.source = std::move(source);
  loaded.registry = registry;
  const Result<void> added = loaded.registry.add(loaded.module);
  if (!added) return added.diagnostics();
  return loaded;
}

namespace {

// The ops that a body calls, and those that the laws of an op name.
std::vector<std::string_view> named_by(const Item& item) {
  const Body& body = body_of(item);
  std::vector<std::string_view> ids(body.callees.begin(), body.callees.end());
  const Op* op = std::get_if<Op>(&item);
  if (op == nullptr) return ids;
  for (const Law& law : op->laws) {
    for (const auto& argument : law.arguments) {
      if (const std::string* id = std::get_if<std::string>(&argument)) ids.push_back(*id);
    }
  }
  return ids;
}

}  // namespace

Module own_module(const Loaded& loaded) {
  const std::vector<Item>& items = loaded.module.items;
  std::map<std::string_view, std::size_t> others;
  for (std::size_t i = loaded.own_items; i < items.size(); ++i) {
    if (const Op* op = std::get_if<Op>(&items[i])) others.emplace(op->id, i);
  }
  std::vector<bool> needed(items.size());
  std::vector<std::size_t> open;
  const auto need = [&](std::size_t item) {
    if (!needed[item]) open.push_back(item);
    needed[item] = true;
  };
  for (std::size_t i = 0; i < loaded.own_items; ++i) need(i);
  while (!open.empty()) {
    const std::size_t item = open.back();
    open.pop_back();
    for (std::string_view id : named_by(items[item])) {
      if (const auto other = others.find(id); other != others.end()) need(other->second);
    }
  }
  Module module;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (needed[i]) module.items.push_back(items[i]);
  }
  return module;
}

Result<std::size_t> find_program(const Loaded& loaded, std::string_view name) {
  std::vector<std::string_view> names;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < loaded.module.items.size(); ++i) {
    const Program* program = std::get_if<Program>(&loaded.module.items[i]);
    if (program == nullptr) continue;
    if (name.empty() ? i < loaded.own_items : program->name == name) found.push_back(i);
    if (!name.empty() || i < loaded.own_items) names.push_back(program->name);
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
  LineCounter lines(loaded.source);
  std::vector<SourceLines> all(loaded.module.items.size());
  for (std::size_t i = 0; i < loaded.positions.size(); ++i) {
    all[i].file = loaded.file_of(i);
    for (const ItemPositions::Statement& statement : loaded.positions[i].statements) {
      all[i].lines.push_back(lines.at(statement.head.begin).line);
    }
  }
  return all;
}

}  // namespace vyre
