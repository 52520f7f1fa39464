#include "tools/vyre/trace.h"

#include <algorithm>
#include <functional>
#include <map>

#include "vyre/base/text.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/trace.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/runtime/race_report.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

constexpr std::size_t kLong = 44;               // of a statement that is shown
constexpr std::size_t kMostLines = 10'000;      // of one trace, unless all are wanted
constexpr std::size_t kMostCompared = 4 << 20;  // statements of two traces

// --- Places of statements -----------------------------------------------------------------------

struct StatementPlace {
  LineCounter::Place at;
  std::string text;  // its first line
};

// The first line of the statement at `begin`, up to the next one, a comment, or a brace that it
// does not open itself.
std::string statement_text(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view line = text.substr(begin, end - begin);
  line = line.substr(0, line.find_first_of("\r\n"));
  line = line.substr(0, line.find("//"));
  std::size_t open = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '{') ++open;
    if (line[i] == '}' && open-- == 0) line = line.substr(0, i);
  }
  return shorten(line.substr(0, line.find_last_not_of(" \t") + 1), kLong);
}

// --- What happened ------------------------------------------------------------------------------

// A program that is followed.
struct Tracing {
  const Request& request;
  Script script;
  Types types = {};
  std::vector<StatementPlace> places = {};  // of each statement, and of the end of the program
  std::size_t place_width = 0;
  std::size_t text_width = 0;
  std::map<std::uint32_t, std::uint32_t> from = {};  // where the loops that are running began

  const Program& program() const { return request.program(); }
  const Body& body() const { return program().body; }
  // A wire file has none.
  bool has_lines() const { return !request.loaded.positions.empty(); }
};

// "5:3", or "body[2]" in a wire file.
std::string number_of(const Tracing& tracing, std::size_t stmt) {
  const LineCounter::Place& at = tracing.places[stmt].at;
  return tracing.has_lines() ? std::to_string(at.line) + ":" + std::to_string(at.column)
                             : path_of(tracing.body(), StmtId{stmt});
}

void add_places(Tracing& tracing) {
  const Program& program = tracing.program();
  if (!tracing.has_lines()) {
    for (const Stmt& stmt : program.body.stmts) {
      const std::string head = print_head(program.body, program.buffers, stmt, kLong);
      tracing.places.push_back({{}, shorten(head, kLong)});
    }
    tracing.places.push_back({{}, "end"});
    return;
  }
  const std::string_view text = tracing.request.loaded.source.text;
  const ItemPositions& item = tracing.request.loaded.positions[tracing.request.item];
  LineCounter lines(tracing.request.loaded.source);
  for (std::size_t i = 0; i < item.statements.size(); ++i) {
    const std::uint32_t begin = item.statements[i].head.begin;
    const bool is_last = i + 1 == item.statements.size();
    const std::uint32_t end = is_last ? item.end : item.statements[i + 1].head.begin;
    tracing.places.push_back({lines.at(begin), statement_text(text, begin, end)});
  }
  tracing.places.push_back({lines.at(item.end), "end"});
}

Tracing make_tracing(const Request& request, Script script) {
  Tracing tracing{request, std::move(script)};
  std::vector<DataType> results;
  for (const std::string& id : tracing.body().callees) {
    results.push_back(request.loaded.registry.find(id)->signature.output);
  }
  tracing.types = types_of(tracing.body(), tracing.program().buffers, {}, results);
  add_places(tracing);
  for (std::size_t i = 0; i < tracing.places.size(); ++i) {
    if (tracing.has_lines()) {
      tracing.place_width = std::max(tracing.place_width, number_of(tracing, i).size());
    }
    tracing.text_width = std::max(tracing.text_width, columns(tracing.places[i].text));
  }
  return tracing;
}

struct Event {
  const Step* step = nullptr;
  std::string values = {};  // "a[3] = 7, x = 9"
  JsonObject json = {};     // the same

  void say(const std::string& text) { values += (values.empty() ? "" : ", ") + text; }
};

const BufferDecl& buffer_of(const Tracing& tracing, const TracedAccess& access) {
  return tracing.program().buffers[access.buffer.index];
}

std::string element_text(const Tracing& tracing, const TracedAccess& access) {
  return buffer_of(tracing, access).name + "[" + std::to_string(access.index) + "]";
}

std::string value_text(const Tracing& tracing, const TracedAccess& access) {
  return value_text(loaded_type(buffer_of(tracing, access).element), access.value);
}

std::string outside_text(const Tracing& tracing, const TracedAccess& access) {
  const BufferDecl& buffer = buffer_of(tracing, access);
  const std::size_t length =
      is_bound(buffer.access)
          ? tracing.request.contents[access.buffer.index].size() / stride(buffer.element)
          : buffer.count;
  return "out of bounds: " + buffer.name + " has " + plural(length, "element");
}

Json access_json(const Tracing& tracing, const TracedAccess& access) {
  const BufferDecl& buffer = buffer_of(tracing, access);
  return JsonObject()
      .add("buffer", buffer.name)
      .add("index", access.index)
      .add("value", value_json(loaded_type(buffer.element), access.value))
      .add("in_bounds", access.inside);
}

// Empty for a step that is not a statement.
std::string_view kind_of(const Body& body, const Step& step) {
  switch (step.kind) {
    case Step::Kind::Set:
      return std::holds_alternative<Let>(body.stmts[step.stmt]) ? "let" : "assign";
    case Step::Kind::SetElement:
    case Step::Kind::Store: return "store";
    case Step::Kind::Collective: return "collective";
    case Step::Kind::Atomic: return "atomic";
    case Step::Kind::Branch: return "if";
    case Step::Kind::Enter:
    case Step::Kind::Again: return "for";
    // The end of a `then` block jumps too.
    case Step::Kind::Jump:
      if (std::holds_alternative<Continue>(body.stmts[step.stmt])) return "continue";
      return std::holds_alternative<Break>(body.stmts[step.stmt]) ? "break" : "";
    case Step::Kind::Barrier: return "barrier";
    case Step::Kind::Return: return step.stmt == body.stmts.size() ? "end" : "return";
  }
  return "";
}

void describe_local(const Tracing& tracing, LocalId id, const TracedStep& traced, Event& event) {
  const std::string& name = tracing.body()[id].name;
  const Bits& value = traced.locals[id.index];
  event.say(name + " = " + value_text(tracing.types[id], value));
  event.json.add("local", name).add("value", value_json(tracing.types[id], value));
}

void describe_round(Tracing& tracing, const TracedStep& traced, Event& event) {
  const Step& step = *traced.step;
  const bool enters = step.kind == Step::Kind::Enter;
  const std::string& name = tracing.body()[step.local].name;
  const std::uint32_t now = traced.locals[step.local.index].lanes[0];
  const std::uint32_t to = traced.locals[step.limit].lanes[0];
  if (enters) tracing.from[step.stmt] = now;
  const std::uint32_t from = tracing.from[step.stmt];
  const std::string range = std::to_string(from) + ".." + std::to_string(to);
  event.say(now < to ? name + " = " + std::to_string(now) + " of " + range
                     : (enters ? "no round: " : "ends: ") + range);
  event.json.add("variable", name).add("value", now);
  event.json.add("range", JsonList().add(from).add(to)).add("runs", now < to);
}

// Nothing for a step that is not a statement.
std::optional<Event> describe(Tracing& tracing, const TracedStep& traced) {
  const Step& step = *traced.step;
  const std::string_view kind = kind_of(tracing.body(), step);
  if (kind.empty()) return {};
  Event event{&step};
  event.json.add("kind", kind);
  JsonList loads;
  for (const TracedAccess& load : traced.loads) {
    const std::string note = load.inside ? "" : " (" + outside_text(tracing, load) + ")";
    event.say(element_text(tracing, load) + " = " + value_text(tracing, load) + note);
    loads.add(access_json(tracing, load));
  }
  if (!traced.loads.empty()) event.json.add("loads", loads);
  std::string element, ignored;  // of a store or an atomic
  if (traced.effect != nullptr) {
    element = element_text(tracing, *traced.effect);
    if (!traced.effect->inside)
      ignored = " (ignored, " + outside_text(tracing, *traced.effect) + ")";
    event.json.add(kind, access_json(tracing, *traced.effect));
  }

  switch (step.kind) {
    case Step::Kind::Set: describe_local(tracing, step.local, traced, event); break;
    case Step::Kind::Store:
      event.say(element + " <- " + value_text(tracing, *traced.effect) + ignored);
      break;
    case Step::Kind::Atomic: {
      const DataType type = loaded_type(buffer_of(tracing, *traced.effect).element);
      const Bits old{{traced.old}};
      const std::string change =
          ": " + value_text(type, old) + " -> " + value_text(tracing, *traced.effect);
      event.say(element + (ignored.empty() ? change : ignored));
      event.json.add("old", value_json(type, old));
      if (step.local.exists()) describe_local(tracing, step.local, traced, event);
      break;
    }
    case Step::Kind::Branch: {
      const DataType type = tracing.types[step.value];
      const Bits& condition = traced.values[step.value.index];
      const bool taken = condition.lanes[0] != 0;
      event.say((taken ? "taken, the condition is " : "not taken, the condition is ") +
                value_text(type, condition));
      event.json.add("condition", value_json(type, condition)).add("taken", taken);
      break;
    }
    case Step::Kind::Enter:
    case Step::Kind::Again: describe_round(tracing, traced, event); break;
    case Step::Kind::SetElement:
    case Step::Kind::Collective:
    case Step::Kind::Jump:
    case Step::Kind::Barrier:
    case Step::Kind::Return: break;
  }
  return event;
}

// Runs the program and reports what one invocation does; gives the contents after the run.
Result<std::vector<Bytes>> follow(Tracing& tracing, const Ids& invocation,
                                  const std::function<void(const Event&)>& visit) {
  const Request& request = tracing.request;
  std::vector<Bytes> contents = request.contents;
  const auto report = [&](const TracedStep& traced) {
    if (const std::optional<Event> event = describe(tracing, traced)) visit(*event);
  };
  const Result<RunStats> stats =
      trace(tracing.script, request.grid, memory_of(contents), invocation, request.options, report);
  if (!stats) return stats.diagnostics();
  return contents;
}

// Its place and its statement.
std::string head_of(const Tracing& tracing, const Event& event) {
  const std::string number = number_of(tracing, event.step->stmt);
  const std::size_t width = std::max(tracing.place_width, number.size());
  return std::string(width - number.size(), ' ') + number + " | " +
         tracing.places[event.step->stmt].text;
}

std::string line_of(const Tracing& tracing, const Event& event) {
  std::string out = head_of(tracing, event);
  if (!event.values.empty()) {
    const std::size_t used = columns(tracing.places[event.step->stmt].text);
    out += std::string(tracing.text_width - used, ' ') + " | " + event.values;
  }
  return out + "\n";
}

Json json_of(const Tracing& tracing, const Event& event) {
  const StatementPlace& place = tracing.places[event.step->stmt];
  JsonObject out;
  if (tracing.has_lines()) {
    out.add("line", place.at.line).add("column", place.at.column);
  } else {
    out.add("path", number_of(tracing, event.step->stmt));
  }
  return out.add("statement", place.text).add(event.json);
}

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

Result<Traced> trace_one(Tracing& tracing, const TraceRequest& what) {
  Traced traced;
  std::size_t lines = 0;
  JsonList list;
  Result<std::vector<Bytes>> contents = follow(tracing, what.first, [&](const Event& event) {
    if (++lines > kMostLines && !what.all) return;
    if (what.json) {
      list.add(json_of(tracing, event));
    } else {
      traced.text += line_of(tracing, event);
    }
  });
  traced.failure = contents.diagnostics();
  const Program& program = tracing.program();
  const std::string file(tracing.request.loaded.file_of(tracing.request.item));
  traced.text.insert(0, full_ids(program, what.first) + " in " + file + "\n");
  const std::size_t left_out = what.all || lines <= kMostLines ? 0 : lines - kMostLines;
  if (left_out > 0) {
    traced.text += "… " + plural(left_out, "more statement") + "; --trace-all shows all\n";
  }
  traced.json.add("trace", list).add("trace_left_out", left_out);
  if (contents.ok()) traced.outputs = take_outputs(program, std::move(*contents));
  return traced;
}

// --- Two invocations ----------------------------------------------------------------------------

// A statement of a path, and its values as far as equality goes.
struct Mark {
  const Step* step;
  std::size_t values;
};

Result<std::vector<Mark>> marks_of(Tracing& tracing, const Ids& invocation) {
  std::vector<Mark> marks;
  const Result<std::vector<Bytes>> ran = follow(tracing, invocation, [&](const Event& event) {
    if (marks.size() < kMostCompared) {
      marks.push_back({event.step, std::hash<std::string>()(event.values)});
    }
  });
  if (!ran.ok()) return ran.diagnostics();
  return marks;
}

Result<Traced> trace_two(Tracing& tracing, const TraceRequest& what) {
  const std::array<Ids, 2> invocations = {what.first, *what.second};
  std::array<std::vector<Mark>, 2> paths;
  for (std::size_t i = 0; i < 2; ++i) {
    Result<std::vector<Mark>> path = marks_of(tracing, invocations[i]);
    if (!path.ok()) return path.diagnostics();
    paths[i] = std::move(*path);
  }
  // A path ends with the end of the program, so one is never the beginning of the other.
  const auto part = std::ranges::mismatch(paths[0], paths[1], {}, &Mark::step, &Mark::step);
  const auto common = static_cast<std::size_t>(part.in1 - paths[0].begin());
  const bool diverge = part.in1 != paths[0].end() && part.in2 != paths[1].end();
  const auto unequal = std::ranges::mismatch(paths[0], paths[1], {}, &Mark::values, &Mark::values);
  const auto differ = static_cast<std::size_t>(unequal.in1 - paths[0].begin());

  // Once more, to see the statements around that point.
  const std::size_t wanted = diverge ? common - 1 : differ;
  std::array<std::vector<Event>, 2> seen;
  std::vector<Bytes> contents;
  for (std::size_t i = 0; i < 2; ++i) {
    std::size_t at = 0;
    Result<std::vector<Bytes>> ran = follow(tracing, invocations[i], [&](const Event& event) {
      if (at >= wanted && at < wanted + 2) seen[i].push_back(event);
      ++at;
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
  const auto values = [&](std::size_t i) { return seen[i][0].values; };
  const auto events = [&](std::size_t k) {
    return JsonList().add(json_of(tracing, seen[0][k])).add(json_of(tracing, seen[1][k]));
  };
  JsonObject trace;
  trace.add("common", common).add("diverge", diverge);
  if (diverge) {
    traced.text = names + " go the same way for " + plural(common, "statement") + ", up to\n" +
                  head_of(tracing, seen[0][0]) + "\n" + both(values) + "then they go to\n" +
                  both([&](std::size_t i) { return head_of(tracing, seen[i][1]); });
    trace.add("last", events(0)).add("next", events(1));
  } else {
    traced.text = names + " go the same way, for " + plural(common, "statement") + "\n";
    if (common == kMostCompared) traced.text += "what follows was not compared\n";
    if (differ < common) {
      traced.text +=
          "values first differ at\n" + head_of(tracing, seen[0][0]) + "\n" + both(values);
      trace.add("differ", events(0));
    } else {
      traced.text += "all values are equal\n";
    }
  }
  traced.json.add("trace", trace);
  traced.outputs = take_outputs(tracing.program(), std::move(contents));
  return traced;
}

}  // namespace

Result<TraceRequest> read_trace_request(const Invocation& invocation, const Request& request) {
  const std::string_view text = invocation.value("--trace");
  TraceRequest what;
  what.all = invocation.has("--trace-all");
  what.json = invocation.json();
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
  Tracing tracing = make_tracing(request, std::move(*script));
  return what.second ? trace_two(tracing, what) : trace_one(tracing, what);
}

}  // namespace vyre
