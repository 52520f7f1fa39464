#include "tools/vyre/trace.h"

#include <algorithm>
#include <array>
#include <functional>

#include "tools/vyre/follower.h"
#include "vyre/base/text.h"
#include "vyre/runtime/race_report.h"

namespace vyre {
namespace {

constexpr std::size_t kMostStatements = 10'000;  // of one trace, unless all are wanted
constexpr std::size_t kMostCompared = 4 << 20;   // of two traces

// --- One invocation -----------------------------------------------------------------------------

std::string full_ids(const Program& program, const Ids& global) {
  Ids group{};
  Ids local{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    group[axis] = global[axis] / program.workgroup_size[axis];
    local[axis] = global[axis] % program.workgroup_size[axis];
  }
  return "global " + ids_text(global) + " workgroup " + ids_text(group) + " local " +
         ids_text(local);
}

// A line of a trace: a place, a text that is indented, and values.
struct Row {
  const Listing* listing;
  std::optional<std::uint32_t> stmt;  // none: the head of an op
  std::size_t depth;
  std::string values = {};

  std::string number() const {
    if (stmt) return listing->number_of(*stmt);
    if (!listing->has_lines) return "";
    return std::to_string(listing->head.line) + ":" + std::to_string(listing->head.column);
  }
  std::string text() const {
    return std::string(2 * depth, ' ') + (stmt ? listing->places[*stmt].text : listing->head.text);
  }
};

std::string text_of(const std::vector<Row>& rows) {
  std::size_t number_width = 0;
  std::size_t text_width = 0;
  for (const Row& row : rows) {
    if (row.listing->has_lines) number_width = std::max(number_width, row.number().size());
    text_width = std::max(text_width, columns(row.text()));
  }
  std::string out;
  for (const Row& row : rows) {
    const std::string number = row.number();
    const std::string text = row.text();
    out += std::string(number_width - std::min(number_width, number.size()), ' ') + number + " | " +
           text;
    if (!row.values.empty()) {
      out += std::string(text_width - columns(text), ' ') + " | " + row.values;
    }
    out += "\n";
  }
  return out;
}

// The rows of a trace. That of a statement comes before those of the calls that it makes.
class Rows {
 public:
  explicit Rows(bool all) : all_(all) {}

  // False: it is left out.
  bool add(const Event& event) {
    open_.resize(event.depth + 1);
    std::optional<Place>& open = open_[event.depth];
    if (!open) {
      open = Place{++statements_ <= kMostStatements || all_, rows.size()};
      if (open->fits) rows.push_back({event.listing, event.stmt, event.depth});
    }
    const Place place = *open;
    if (event.callee == nullptr) open.reset();
    if (!place.fits) return false;
    if (event.callee == nullptr) {
      rows[place.row].values = event.values;
    } else {
      rows.push_back({event.callee, {}, event.depth + 1, event.values + event.callee->suffix});
    }
    return true;
  }
  std::size_t left_out() const {
    return all_ || statements_ <= kMostStatements ? 0 : statements_ - kMostStatements;
  }

  std::vector<Row> rows;

 private:
  struct Place {
    bool fits;
    std::size_t row;
  };
  const bool all_;
  std::size_t statements_ = 0;
  std::vector<std::optional<Place>> open_;  // by depth: the statement that makes calls
};

Result<Traced> trace_one(const Request& request, const Script& script, const TraceRequest& what) {
  Rows rows(what.all);
  Follower follower(request, script, what.into);
  Result<std::vector<Bytes>> contents =
      follower.follow(what.first, [&](const Event& event) { return rows.add(event) && what.json; });
  Traced traced;
  traced.failure = contents.diagnostics();
  const std::string file(request.loaded.file_of(request.item));
  traced.text = full_ids(request.program(), what.first) + " in " + file + "\n" + text_of(rows.rows);
  if (rows.left_out() > 0) {
    traced.text += "… " + plural(rows.left_out(), "more statement") + "; --trace-all shows all\n";
  }
  traced.json.add("trace", follower.statements()).add("trace_left_out", rows.left_out());
  if (contents.ok()) traced.outputs = take_outputs(request.program(), std::move(*contents));
  return traced;
}

// --- Two invocations ----------------------------------------------------------------------------

// An event of a path, and its values as far as equality goes.
struct Mark {
  const Listing* listing;
  std::uint32_t stmt;
  bool is_call;
  std::size_t values;

  bool goes_as(const Mark& other) const {
    return listing == other.listing && stmt == other.stmt && is_call == other.is_call;
  }
};

Result<std::vector<Mark>> marks_of(Follower& follower, const Ids& invocation) {
  std::vector<Mark> marks;
  const Result<std::vector<Bytes>> ran = follower.follow(invocation, [&](const Event& event) {
    if (marks.size() < kMostCompared) {
      marks.push_back({event.listing, event.stmt, event.callee != nullptr,
                       std::hash<std::string>()(event.values)});
    }
    return false;
  });
  if (!ran.ok()) return ran.diagnostics();
  return marks;
}

std::string head_of(const Event& event, std::size_t width) {
  const std::string number = event.listing->number_of(event.stmt);
  return std::string(width - std::min(width, number.size()), ' ') + number + " | " +
         event.place().text;
}

Result<Traced> trace_two(const Request& request, const Script& script, const TraceRequest& what) {
  Follower follower(request, script, what.into);
  const std::array<Ids, 2> invocations = {what.first, *what.second};
  std::array<std::vector<Mark>, 2> paths;
  for (std::size_t i = 0; i < 2; ++i) {
    Result<std::vector<Mark>> path = marks_of(follower, invocations[i]);
    if (!path.ok()) return path.diagnostics();
    paths[i] = std::move(*path);
  }
  // A path ends with the end of the program, so one is never the beginning of the other.
  const auto part = std::ranges::mismatch(paths[0], paths[1], &Mark::goes_as);
  const bool diverge = part.in1 != paths[0].end() && part.in2 != paths[1].end();
  const auto unequal = std::ranges::mismatch(paths[0], paths[1], {}, &Mark::values, &Mark::values);
  const auto differ = unequal.in1 - paths[0].begin();
  const auto common = part.in1 - paths[0].begin();
  const auto statements = static_cast<std::size_t>(
      std::count_if(paths[0].begin(), part.in1, [](const Mark& mark) { return !mark.is_call; }));

  // Once more, to see the statements around that point.
  const auto wanted = static_cast<std::size_t>(diverge ? common - 1 : differ);
  std::array<std::vector<Event>, 2> seen;
  std::string running;
  std::vector<Bytes> contents;
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t at = 0;
    Result<std::vector<Bytes>> ran = follower.follow(invocations[i], [&](const Event& event) {
      if (at >= wanted && at < wanted + 2) {
        seen[i].push_back(event);
        const JsonList calls = follower.running_json();
        if (!calls.empty()) seen[i].back().json.add("running", calls);
      }
      if (at == wanted) running = follower.running();
      ++at;
      return false;
    });
    if (!ran.ok()) return ran.diagnostics();
    contents = std::move(*ran);
  }

  Traced traced;
  const std::string names = ids_text(invocations[0]) + " and " + ids_text(invocations[1]);
  const auto both = [&](auto text) {
    std::string out;
    for (std::size_t i = 0; i < 2; ++i)
      out += "  " + ids_text(invocations[i]) + ": " + text(i) + "\n";
    return out;
  };
  const auto values = [&](std::size_t i) {
    const Event& event = seen[i][0];
    return event.callee == nullptr ? event.values : event.callee->name + "(" + event.values + ")";
  };
  const auto place = [&] {
    return head_of(seen[0][0], 0) + "\n" + (running.empty() ? "" : "  in " + running + "\n");
  };
  const auto events = [&](std::size_t k) {
    return JsonList().add(json_of(seen[0][k])).add(json_of(seen[1][k]));
  };
  JsonObject trace;
  trace.add("common", statements).add("diverge", diverge);
  if (diverge) {
    std::size_t width = 0;
    for (const std::vector<Event>& each : seen) {
      width = std::max(width, each[1].listing->number_of(each[1].stmt).size());
    }
    traced.text = names + " go the same way for " + plural(statements, "statement") + ", up to\n" +
                  place() + both(values) + "then they go to\n" +
                  both([&](std::size_t i) { return head_of(seen[i][1], width); });
    trace.add("last", events(0)).add("next", events(1));
  } else {
    traced.text = names + " go the same way, for " + plural(statements, "statement") + "\n";
    if (paths[0].size() == kMostCompared) traced.text += "what follows was not compared\n";
    if (differ < common) {
      traced.text += "values first differ at\n" + place() + both(values);
      trace.add("differ", events(0));
    } else {
      traced.text += "all values are equal\n";
    }
  }
  traced.json.add("trace", trace);
  traced.outputs = take_outputs(request.program(), std::move(contents));
  return traced;
}
}  // namespace

Result<TraceRequest> read_trace_request(const Invocation& invocation, const Request& request) {
  const std::string_view text = invocation.value("--trace");
  TraceRequest what;
  what.all = invocation.has("--trace-all");
  what.json = invocation.json();
  if (invocation.has("--trace-into")) {
    const std::string_view into = invocation.value("--trace-into");
    const std::vector<std::string_view> known = parts_of(kTraceInto, '|');
    const auto found = std::ranges::find(known, into);
    if (found == known.end()) {
      return diagnose<message::unknown_choice>("--trace-into", shown(into), join(known, ", "));
    }
    what.into = static_cast<TraceRequest::Into>(found - known.begin());
  }
  const std::size_t dots = text.find("..");
  const std::optional<Ids> first = read_ids(text.substr(0, dots), 0);
  if (dots != text.npos) what.second = read_ids(text.substr(dots + 2), 0);
  if (!first || (dots != text.npos && !what.second)) {
    return diagnose<message::bad_invocation>(shown(text));
  }
  what.first = *first;
  for (const Ids& ids : {what.first, what.second.value_or(what.first)}) {
    Ids last{};
    bool outside = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::uint64_t size =
          std::uint64_t{request.grid[axis]} * request.program().workgroup_size[axis];
      if (size == 0) return diagnose<message::empty_grid>(ids_text(ids));
      last[axis] = static_cast<std::uint32_t>(size - 1);
      outside = outside || ids[axis] >= size;
    }
    if (outside) return diagnose<message::not_in_grid>(ids_text(ids), ids_text(last));
  }
  return what;
}

Result<Traced> run_traced(const TraceRequest& what, const Request& request) {
  Result<Script> script = script_of(request.linked);
  if (!script.ok()) return script.diagnostics();
  return what.second ? trace_two(request, *script, what) : trace_one(request, *script, what);
}

}  // namespace vyre
