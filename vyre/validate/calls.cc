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

bool takes(const Op* op, std::span<const DataType> arguments) {
  return op != nullptr &&
         std::ranges::equal(op->signature.inputs, arguments, [](DataType input, DataType type) {
           return type == input || type == DataType::Unknown;
         });
}

// The id whose last part is `name`, or is `name` with a type after it: `abs` is meant to be
// primitive.math.abs_i32. Of several the one that takes the arguments, then the most general.
std::string_view op_called(std::string_view name, std::span<const DataType> arguments,
                           const Callees& callees, std::span<const std::string_view> ids) {
  std::string_view best;
  int best_fit = 0;
  for (std::string_view id : ids) {
    const std::string_view last = id.substr(id.rfind('.') + 1);
    const bool typed = last.starts_with(name) && last.substr(name.size()).starts_with('_') &&
                       find_type(last.substr(name.size() + 1));
    if (last != name && !typed) continue;
    const auto own = callees.by_id.find(id);
    const Op* op = own != callees.by_id.end() ? own->second.op : callees.registry.find(id);
    const int fit = 1 + 4 * takes(op, arguments) + 2 * id.starts_with("primitive.") + !typed;
    if (fit <= best_fit) continue;
    best = id;
    best_fit = fit;
  }
  return best;
}

// Whether an id like `data.len` begins with a buffer or local, and not with a family of ops.
bool is_method(const Context& context, std::string_view id) {
  const std::size_t dot = id.find('.');
  const auto is_object = [&](const auto& each) { return each.name == id.substr(0, dot); };
  const auto is_relative = [&](std::string_view known) {
    return known.starts_with(id.substr(0, dot + 1));
  };
  return dot == id.rfind('.') && std::ranges::none_of(context.callees.known, is_relative) &&
         (std::ranges::any_of(context.buffers, is_object) ||
          std::ranges::any_of(context.body.locals, is_object));
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

Diagnostic unknown_callee(const Context& context, std::string_view id,
                          std::span<const DataType> arguments) {
  const std::string_view last = id.substr(id.rfind('.') + 1);
  const bool dotted = last != id;
  const std::string_view advice = advice_for(id);
  if (!advice.empty()) return diagnose<message::foreign_function>(id, advice);
  if (dotted && is_method(context, id)) {
    const std::string object = shorten(id.substr(0, id.find('.')));
    const std::string_view other = advice_for(last);
    const std::string call = shorten(last) + "(" + object + (arguments.empty() ? ")" : ", …)");
    return diagnose<message::method>(shorten(id),
                                     other.empty() ? "write `" + call + "`" : std::string(other));
  }
  const std::span<const std::string_view> all = context.callees.known;
  const std::span<const std::string_view> ids = all.first(std::min(all.size(), kMaxCandidates));
  std::string_view near = op_called(last, arguments, context.callees, ids);
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
