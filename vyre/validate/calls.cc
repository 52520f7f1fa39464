// Which ops a module calls, how deeply, and whether any calls itself.
#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/text/lexer.h"
#include "vyre/validate/context.h"

namespace vyre {
namespace {

bool valid_signature(const OpSignature& signature) {
  return std::ranges::all_of(signature.inputs, &is_variable_type) &&
         is_variable_type(signature.output);
}

// Depth first over the calls, with a stack of its own.
class Resolver {
 public:
  Resolver(const Module& module, Callees& callees) : callees_(callees) {
    for (const Item& item : module.items) {
      if (const Op* op = std::get_if<Op>(&item)) own_.try_emplace(op->id, op);
    }
  }

  void resolve(std::string_view root) {
    if (!enter(root)) return;
    while (!stack_.empty()) {
      const std::string_view id = stack_.back().id;
      Callee& callee = callees_.by_id[id];
      const Op* op = callee.op;
      if (op != nullptr && stack_.back().next < op->body.callees.size()) {
        const std::string_view called = op->body.callees[stack_.back().next++];
        if (enter(called)) continue;
        Callee& known = callees_.by_id[called];
        if (known.open && circles_ < kMaxDiagnostics) {
          ++circles_;
          known.circles.emplace_back(id, cycle_to(known));
        }
      } else {
        for (std::size_t i = 0; op != nullptr && i < op->body.callees.size(); ++i) {
          const std::string_view called = op->body.callees[i];
          const std::uint32_t level = callees_.by_id[called].level + 1;
          if (!callee.in_module && callee.circle_outside.empty()) {
            callee.circle_outside = callees_.by_id[called].circle_outside;
          }
          if (level > callee.level) {
            callee.level = level;
            callee.deepest = called;
          }
        }
        callee.level = std::max(callee.level, 1u);
        callee.open = false;
        if (!callee.in_module && !callee.circles.empty()) {
          callee.circle_outside = callee.circles.front().second;
        }
        stack_.pop_back();
      }
    }
  }

 private:
  struct Frame {
    std::string_view id;
    std::size_t next;
  };

  // Starts with an op that was not met before.
  bool enter(std::string_view id) {
    const auto [place, fresh] = callees_.by_id.try_emplace(id);
    if (!fresh) return false;
    Callee& callee = place->second;
    const auto own = own_.find(id);
    callee.in_module = own != own_.end();
    callee.op = callee.in_module ? own->second : callees_.registry.find(id);
    callee.valid_signature = callee.op != nullptr && valid_signature(callee.op->signature);
    callee.open = true;
    callee.frame = stack_.size();
    stack_.push_back({id, 0});
    return true;
  }

  std::string cycle_to(const Callee& open) const {
    std::string chain;
    for (std::size_t i = open.frame; i < stack_.size() && chain.size() < 400; ++i) {
      chain += shorten(stack_[i].id) + " → ";
    }
    return shorten(chain + std::string(stack_[open.frame].id), 400);
  }

  Callees& callees_;
  std::unordered_map<std::string_view, const Op*> own_;
  std::vector<Frame> stack_;
  std::size_t circles_ = 0;
};

// The id whose last part is `name`, or is `name` with a type after it: `abs` is meant to be
// primitive.math.abs_i32.
std::string_view op_called(std::string_view name, std::span<const std::string_view> ids) {
  std::string_view longer;
  for (std::string_view id : ids) {
    const std::string_view last = id.substr(id.rfind('.') + 1);
    if (last == name) return id;
    const bool typed = last.starts_with(name) && last.substr(name.size()).starts_with('_');
    if (typed && longer.empty() && find_type(last.substr(name.size() + 1))) longer = id;
  }
  return longer;
}

}  // namespace

Callees resolve_callees(const Module& module, const Registry& registry) {
  Callees callees{registry, {}, {}};
  Resolver resolver(module, callees);
  for (const Item& item : module.items) {
    if (const Op* op = std::get_if<Op>(&item)) resolver.resolve(op->id);
    for (const std::string& id : body_of(item).callees) resolver.resolve(id);
  }
  const auto has_unknown_operand = [&](const Law& law) {
    return std::ranges::any_of(law.arguments, [&](const LawArgument& argument) {
      const std::string* id = std::get_if<std::string>(&argument);
      return id != nullptr && !callees.by_id.contains(*id) && registry.find(*id) == nullptr;
    });
  };
  const bool unknown =
      std::ranges::any_of(callees.by_id,
                          [](const auto& entry) { return entry.second.op == nullptr; }) ||
      std::ranges::any_of(module.items, [&](const Item& item) {
        const Op* op = std::get_if<Op>(&item);
        return op != nullptr && std::ranges::any_of(op->laws, has_unknown_operand);
      });
  if (unknown) {
    for (const auto& [id, callee] : callees.by_id) {
      if (callee.in_module) callees.known.push_back(id);
    }
    for (std::string_view id : registry.ids()) callees.known.push_back(id);
    std::ranges::sort(callees.known);
  }
  return callees;
}

Diagnostic unknown_callee(const Context& context, std::string_view id) {
  const bool dotted = id.find('.') != std::string_view::npos;
  const std::string_view advice = advice_for(id);
  if (!advice.empty()) return diagnose<message::foreign_function>(id, advice);
  const std::span<const std::string_view> all = context.callees.known;
  const std::span<const std::string_view> ids = all.first(std::min(all.size(), kMaxCandidates));
  std::string_view near = op_called(id.substr(id.rfind('.') + 1), ids);
  if (near.empty()) {
    std::vector<std::string_view> known(ids.begin(), ids.end());
    for (const OperationInfo& row : all_operations()) {
      if (!dotted && row.precedence == 0 && !is_form(row.op)) known.push_back(row.text);
    }
    near = nearest(id, known);
  }
  if (!near.empty() && !dotted) return diagnose<message::misspelt_function>(id, near);
  if (!near.empty()) return diagnose<message::misspelt_op>(id, near);
  if (!dotted) return diagnose<message::unknown_function>(shorten(id));
  return diagnose<message::unknown_op>(shorten(id));
}

std::optional<Diagnostic> level_error(const Context& context, std::string_view id) {
  const Callee& callee = context.callees[id];
  for (const auto& [closed_by, circle] : callee.circles) {
    if (closed_by == context.name) return diagnose<message::recursion>(shorten(id), circle);
  }
  if (!callee.circle_outside.empty()) {
    return diagnose<message::recursion>(shorten(id), callee.circle_outside);
  }
  const bool crosses = callee.level == kMaxCallDepth + 1;
  if (!crosses && (callee.in_module || callee.level <= kMaxCallDepth)) return std::nullopt;
  std::string chain(shorten(id));
  std::string_view next = callee.deepest;
  for (std::uint32_t i = 0; i < kMaxCallDepth && !next.empty(); ++i) {
    chain += " → " + shorten(next);
    next = context.callees[next].deepest;
  }
  return diagnose<message::call_depth>(callee.level, shorten(chain, 400));
}

}  // namespace vyre
