#include "vyre/library/registry.h"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "vyre/base/text.h"
#include "vyre/library/library.h"
#include "vyre/text/parse.h"

namespace vyre {
namespace {

using OpMap = std::map<std::string, std::shared_ptr<const Op>, std::less<>>;

// An op of the standard library, which is parsed when it is first asked for.
std::shared_ptr<const Op> find_standard(std::string_view id) {
  static std::mutex mutex;
  static OpMap parsed;
  {
    const std::lock_guard lock(mutex);
    if (const auto known = parsed.find(id); known != parsed.end()) return known->second;
  }
  const LibraryEntry* entry = find_library_entry(id);
  if (entry == nullptr) return nullptr;
  // What it calls is parsed in between; calls nest at most kMaxCallDepth deep.
  Result<Module> module = parse(entry->text(), entry->file, [](std::string_view callee) {
    const std::shared_ptr<const Op> op = find_standard(callee);
    return op != nullptr ? &op->signature : nullptr;
  });
  assert(module.ok());  // the tests parse and validate all of them
  if (!module.ok()) return nullptr;
  Op& op = std::get<Op>(module->items[0]);
  auto shared = std::make_shared<const Op>(std::move(op));
  const std::lock_guard lock(mutex);
  return parsed.emplace(std::string(id), std::move(shared)).first->second;
}

}  // namespace

bool same_function(const Op& a, const Op& b) {
  return a.id == b.id && a.signature == b.signature && a.body == b.body;
}

std::shared_ptr<const Op> Registry::share(std::string_view id) const {
  const auto added = added_.find(id);
  return added != added_.end() ? added->second : find_standard(id);
}

Result<const Op*> Registry::add(Op op) {
  if (!is_op_id(op.id)) return diagnose<message::bad_op_id>(op.id);
  if (const Op* known = find(op.id)) {
    if (same_function(*known, op)) return known;
    return diagnose<message::registered_op>(op.id);
  }
  std::string id = op.id;
  auto shared = std::make_shared<const Op>(std::move(op));
  return added_.emplace(std::move(id), std::move(shared)).first->second.get();
}

Result<void> Registry::add(const Module& module) {
  for (const Item& item : module.items) {
    const Op* op = std::get_if<Op>(&item);
    if (op == nullptr) continue;
    if (const Result<const Op*> added = add(*op); !added) return added.diagnostics();
  }
  return {};
}

Result<void> Registry::add(const Registry& other) {
  for (const auto& [id, op] : other.added_) {
    if (const Result<const Op*> added = add(*op); !added) return added.diagnostics();
  }
  return {};
}

std::vector<const Op*> Registry::all() const {
  std::vector<const Op*> ops;
  for (std::string_view id : ids()) ops.push_back(find(id));
  return ops;
}

std::vector<std::string_view> Registry::ids() const {
  std::vector<std::string_view> all;
  for (const LibraryEntry& entry : library_entries()) all.push_back(entry.id);
  for (const auto& [id, op] : added_) all.push_back(id);
  std::ranges::sort(all);
  return all;
}

}  // namespace vyre
