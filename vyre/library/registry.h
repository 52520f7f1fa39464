// The ops that can be called: the standard library, which is parsed when it is first asked for, and
// whatever the user adds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/text/parse.h"

namespace vyre {

class Registry {
 public:
  // Holds the standard library.
  Registry() = default;

  // A valid op, as builder, parser and validator make it. Adding the same signature and body again
  // is fine; another one under a known id is V039.
  Result<const Op*> add(Op op);

  // All ops of a valid module.
  Result<void> add(const Module& module);
  // All that were added to another one.
  Result<void> add(const Registry& other);

  const Op* find(std::string_view id) const { return share(id).get(); }
  // The same; it may outlive the registry.
  std::shared_ptr<const Op> share(std::string_view id) const;

  // All ops, or just their ids, in the order of those.
  std::vector<const Op*> all() const;
  std::vector<std::string_view> ids() const;

 private:
  std::map<std::string, std::shared_ptr<const Op>, std::less<>> added_;
};

// What the parser asks for; the registry must outlive it.
inline FindSignature signatures_of(const Registry& registry) {
  return [&registry](std::string_view id) -> const OpSignature* {
    const Op* op = registry.find(id);
    return op != nullptr ? &op->signature : nullptr;
  };
}

// Whether two ops are the same function under the same id.
bool same_function(const Op& a, const Op& b);

}  // namespace vyre
