#include "vyre/library/registry.h"

#include <algorithm>
#include <cassert>

#include "library_ops.h"
#include "vyre/base/text.h"
#include "vyre/text/parse.h"

namespace vyre {
namespace {

using OpMap = std::map<std::string, Op, std::less<>>;

// The tests check that every file of the library parses and validates.
const OpMap& standard_library() {
  static const OpMap ops = [] {
    OpMap map;
    for (const auto& [file, text] : embedded::library_ops) {
      Result<Module> module = parse(text, file);
      assert(module.ok());
      if (!module.ok()) continue;
      for (Item& item : module->items) {
        Op& op = std::get<Op>(item);
        std::string id = op.id;
        map.emplace(std::move(id), std::move(op));
      }
    }
    return map;
  }();
  return ops;
}

const Op* find_in(const OpMap& ops, std::string_view id) {
  const auto found = ops.find(id);
  return found == ops.end() ? nullptr : &found->second;
}

}  // namespace

bool same_function(const Op& a, const Op& b) {
  return a.id == b.id && a.signature == b.signature && a.body == b.body;
}

const Op* Registry::find(std::string_view id) const {
  const Op* op = find_in(added_, id);
  return op != nullptr ? op : find_in(standard_library(), id);
}

Result<const Op*> Registry::add(Op op) {
  if (!is_op_id(op.id)) return diagnose<message::bad_op_id>(op.id);
  if (const Op* known = find(op.id)) {
    if (same_function(*known, op)) return known;
    return diagnose<message::registered_op>(op.id);
  }
  std::string id = op.id;
  return &added_.emplace(std::move(id), std::move(op)).first->second;
}

Result<bool> Registry::add(const Module& module) {
  for (const Item& item : module.items) {
    const Op* op = std::get_if<Op>(&item);
    if (op == nullptr) continue;
    if (const Result<const Op*> added = add(*op); !added) return added.diagnostics();
  }
  return true;
}

std::vector<const Op*> Registry::all() const {
  std::vector<const Op*> ops;
  for (const auto& [id, op] : standard_library()) ops.push_back(&op);
  for (const auto& [id, op] : added_) ops.push_back(&op);
  std::ranges::sort(ops, {}, [](const Op* op) -> const std::string& { return op->id; });
  return ops;
}

}  // namespace vyre
