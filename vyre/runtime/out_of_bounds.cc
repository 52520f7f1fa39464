#include "vyre/runtime/out_of_bounds.h"

#include <vector>

#include "vyre/base/text.h"
#include "vyre/runtime/race_report.h"

namespace vyre {
namespace {

// "17 stores, 2 atomics and 3 loads were"
std::string counts_text(const OutOfBounds& hidden) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t count, std::string_view noun) {
    if (count > 0) parts.push_back(plural(count, noun));
  };
  add(hidden.stores, "store");
  add(hidden.atomics, "atomic");
  add(hidden.loads, "load");
  const std::string last = parts.back();
  parts.pop_back();
  const bool is_one = hidden.stores + hidden.atomics + hidden.loads == 1;
  return join(parts, ", ") + (parts.empty() ? "" : " and ") + last + (is_one ? " was" : " were");
}

// Where the first one is, as a diagnostic that says nothing else.
Diagnostic place_of(const OutOfBounds& hidden, const Loaded& loaded, std::size_t item) {
  Diagnostic place = diagnose<message::out_of_bounds>(counts_text(hidden));
  locate_access(place, loaded, item, hidden.first.stmt, hidden.first.load);
  return place;
}

}  // namespace

std::string out_of_bounds_note(const OutOfBounds& hidden, const Loaded& loaded, std::size_t item) {
  if (!hidden.any()) return {};
  const Diagnostic place = place_of(hidden, loaded, item);
  const std::string line = std::to_string(place.line);
  const std::string where = place.line == 0           ? place.path
                            : item < loaded.own_items ? "line " + line
                                                      : place.file + ":" + line;
  return place.problem + ", first at " + where + " by invocation " + ids_text(hidden.first.global);
}

Diagnostic out_of_bounds_error(const OutOfBounds& hidden, const Loaded& loaded, std::size_t item) {
  Diagnostic error = place_of(hidden, loaded, item);
  error.notes.push_back("  first by invocation " + ids_text(hidden.first.global));
  return error;
}

}  // namespace vyre
