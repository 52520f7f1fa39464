#include "tools/vyre/warn.h"

#include "vyre/runtime/race_report.h"
#include "vyre/warnings/warnings.h"

namespace vyre {

Result<bool> denies_warnings(const Invocation& invocation) {
  if (!invocation.has("--deny")) return false;
  const std::string_view what = invocation.value("--deny");
  if (what != "warnings") {
    return diagnose<message::unknown_choice>("--deny", shown(what), "warnings");
  }
  return true;
}

std::vector<Diagnostic> as_denied(std::vector<Diagnostic> warnings, bool denied) {
  for (Diagnostic& warning : warnings) warning.is_warning = !denied;
  return warnings;
}

Warned print_warnings(const Invocation& invocation, const Request& request,
                      const Console& console) {
  const Result<bool> denies = denies_warnings(invocation);
  if (!denies) return {denies.diagnostics(), {}};
  const std::vector<std::size_t> items = items_of(request.loaded, request.linked, request.item);
  std::vector<Diagnostic> warnings = as_denied(warnings_of(request.loaded, items), *denies);
  if (*denies) return {std::move(warnings), {}};
  if (invocation.json()) return {{}, std::move(warnings)};
  report({}, false, console, warnings);
  return {};
}

JsonObject out_of_bounds_json(const OutOfBounds& hidden, const Request& request) {
  Diagnostic place = diagnose<message::out_of_bounds>("");
  locate_access(place, request.loaded, request.item, hidden.first.stmt, hidden.first.load);
  JsonObject first;
  if (place.line > 0) {
    if (request.item >= request.loaded.own_items) first.add("file", place.file);
    first.add("line", place.line).add("column", place.column);
  } else {
    first.add("path", place.path);
  }
  first.add("invocation", json_list_of(hidden.first.global));
  JsonObject out;
  out.add("stores", hidden.stores).add("atomics", hidden.atomics).add("loads", hidden.loads);
  return out.add("first", first);
}

}  // namespace vyre
