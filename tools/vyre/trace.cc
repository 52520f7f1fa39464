#include "tools/vyre/trace.h"

#include <algorithm>
#include <functional>
#include <map>

#include "vyre/base/text.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/trace.h"
#include "vyre/ir/typing.h"

namespace vyre {
namespace {

constexpr std::size_t kMostLines = 10'000;      // of one trace, unless all are wanted
constexpr std::size_t kMostCompared = 4 << 20;  // statements of two traces

// --- Places of statements -----------------------------------------------------------------------

struct StatementPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
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
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  return shorten(line, 44);
}

// One place for each statement, and one for the end of the program.
std::vector<StatementPlace> places_of(std::string_view text, const ItemPositions& positions) {
  std::vector<StatementPlace> places;
  LineCounter lines(text);
  const auto add = [&](std::uint32_t begin, std::uint32_t end) {
    const LineCounter::Place place = lines.at(begin);
    places.push_back({place.line, place.column, statement_text(text, begin, end)});
  };
  for (std::size_t i = 0; i < positions.statements.size(); ++i) {
    const bool last = i + 1 == positions.statements.size();
    add(positions.statements[i].head.begin,
        last ? positions.end : positions.statements[i + 1].head.begin);
  }
  add(positions.end, positions.end);
  places.back().text = "end";
  return places;
}

// --- What happened ------------------------------------------------------------------------------

struct Event {
  const Step* step = nullptr;
  std::string values;  // "a[3] = 7, x = 9"
  JsonObject json;     // the same
};

class Tracer {
 public:
  Tracer(const Request& request, Script script);

  // Runs the program and reports what one invocation does; gives the contents after the run.
  Result<std::vector<Bytes>> follow(const Ids& invocation,
                                    const std::function<void(const Event&)>& visit);

  std::string line(const Event& event) const;   // with its place and values
  std::string place(const Event& event) const;  // without the values
  Json json(const Event& event) const;
  const Request& request() const { return request_; }

 private:
  // Nothing for a step that is not a statement.
  std::optional<Event> describe(const TracedStep& traced);
  std::string element(const TracedAccess& access) const;
  std::string outside(const TracedAccess& access) const;
  Json access_json(const TracedAccess& access) const;

  const Request& request_;
  Script script_;
  Types types_;
  std::vector<StatementPlace> places_;
  std::size_t place_width_ = 0;
  std::size_t text_width_ = 0;
  std::map<std::uint32_t, std::uint32_t> from_;  // where the loops that are running began
};

std::string number_of(const StatementPlace& place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

Tracer::Tracer(const Request& request, Script script)
    : request_(request), script_(std::move(script)) {
  const Body& body = script_.program().body;
  std::vector<DataType> results;
  for (const std::string& id : body.callees) {
    results.push_back(request.loaded.registry.find(id)->signature.output);
  }
  types_ = types_of(body, script_.program().buffers, {}, results);
  const Loaded& loaded = request.loaded;
  places_ = places_of(loaded.source.text, loaded.positions[request.item]);
  for (const StatementPlace& place : places_) {
    place_width_ = std::max(place_width_, number_of(place).size());
    text_width_ = std::max(text_width_, columns(place.text));
  }
}

Result<std::vector<Bytes>> Tracer::follow(const Ids& invocation,
                                          const std::function<void(const Event&)>& visit) {
  std::vector<Bytes> contents = request_.contents;
  const Result<RunStats> stats = trace(script_, request_.grid, memory_of(contents), invocation,
                                       request_.options, [&](const TracedStep& traced) {
                                         if (const std::optional<Event> event = describe(traced))
                                           visit(*event);
                                       });
  if (!stats.ok()) return stats.diagnostics();
  return contents;
}

std::string Tracer::element(const TracedAccess& access) const {
  return script_.program().buffers[access.buffer.index].name + "[" + std::to_string(access.index) +
         "]";
}

std::string Tracer::outside(const TracedAccess& access) const {
  if (access.inside) return {};
  const BufferDecl& buffer = script_.program().buffers[access.buffer.index];
  const std::size_t length =
      buffer.access == BufferAccess::Workgroup
          ? buffer.count
          : request_.contents[access.buffer.index].size() / stride(buffer.element);
  return "out of bounds: " + buffer.name + " has " + plural(length, "element");
}

Json Tracer::access_json(const TracedAccess& access) const {
  const BufferDecl& buffer = script_.program().buffers[access.buffer.index];
  return JsonObject()
      .add("buffer", buffer.name)
      .add("index", access.index)
      .add("value", value_json(loaded_type(buffer.element), access.value))
      .add("in_bounds", access.inside);
}

std::optional<Event> Tracer::describe(const TracedStep& traced) {
  const Step& step = *traced.step;
  const bool at_end = step.stmt == script_.program().body.stmts.size();
  const Stmt* stmt = at_end ? nullptr : &script_.program().body.stmts[step.stmt];
  Event event{&step, {}, {}};
  const auto say = [&](const std::string& text) {
    event.values += (event.values.empty() ? "" : ", ") + text;
  };
  const auto member = [&](std::string_view name, const Json& value) {
    event.json.add(name, value);
  };
  const auto access_type = [&](const TracedAccess& access) {
    return loaded_type(script_.program().buffers[access.buffer.index].element);
  };
  const auto local_text = [&](LocalId id) {
    return script_.program().body[id].name + " = " +
           value_text(types_[id], traced.locals[id.index]);
  };
  const auto set_local = [&](LocalId id) {
    say(local_text(id));
    member("local", script_.program().body[id].name);
    member("value", value_json(types_[id], traced.locals[id.index]));
  };
  const auto kind = [&](std::string_view name) { member("kind", name); };
  const auto loads = [&] {
    JsonList list;
    for (const TracedAccess& load : traced.loads) {
      const std::string note = load.inside ? "" : " (" + outside(load) + ")";
      say(element(load) + " = " + value_text(access_type(load), load.value) + note);
      list.add(access_json(load));
    }
    if (!traced.loads.empty()) member("loads", list);
  };

  switch (step.kind) {
    case Step::Kind::Set:
      kind(std::holds_alternative<Let>(*stmt) ? "let" : "assign");
      loads();
      set_local(step.local);
      break;
    case Step::Kind::Store: {
      kind("store");
      loads();
      const TracedAccess& store = *traced.effect;
      const std::string note = store.inside ? "" : " (ignored, " + outside(store) + ")";
      say(element(store) + " <- " + value_text(access_type(store), store.value) + note);
      member("store", access_json(store));
      break;
    }
    case Step::Kind::Atomic: {
      kind("atomic");
      loads();
      const TracedAccess& effect = *traced.effect;
      const DataType type = access_type(effect);
      const Bits old{{traced.old}};
      say(element(effect) +
          (effect.inside ? ": " + value_text(type, old) + " -> " + value_text(type, effect.value)
                         : " (ignored, " + outside(effect) + ")"));
      member("atomic", access_json(effect));
      member("old", value_json(type, old));
      if (step.local.exists()) set_local(step.local);
      break;
    }
    case Step::Kind::Branch: {
      kind("if");
      loads();
      const Bits& condition = traced.values[step.value.index];
      const bool taken = condition.lanes[0] != 0;
      say((taken ? "taken, the condition is " : "not taken, the condition is ") +
          value_text(types_[step.value], condition));
      member("condition", value_json(types_[step.value], condition));
      member("taken", taken);
      break;
    }
    case Step::Kind::Enter:
    case Step::Kind::Again: {
      kind("for");
      loads();
      const std::uint32_t now = traced.locals[step.local.index].lanes[0];
      const std::uint32_t to = traced.locals[step.limit].lanes[0];
      if (step.kind == Step::Kind::Enter) from_[step.stmt] = now;
      const std::string range = std::to_string(from_[step.stmt]) + ".." + std::to_string(to);
      const bool runs = now < to;
      const std::string& name = script_.program().body[step.local].name;
      if (runs) {
        say(name + " = " + std::to_string(now) + " of " + range);
      } else {
        say((step.kind == Step::Kind::Enter ? "no round: " : "ends: ") + range);
      }
      member("variable", name);
      member("value", now);
      member("range", JsonList().add(from_[step.stmt]).add(to));
      member("runs", runs);
      break;
    }
    case Step::Kind::Jump:
      // The end of a `then` block jumps too.
      if (!std::holds_alternative<Break>(*stmt)) return {};
      kind("break");
      break;
    case Step::Kind::Barrier: kind("barrier"); break;
    case Step::Kind::Return: kind(at_end ? "end" : "return"); break;
  }
  return event;
}

std::string Tracer::place(const Event& event) const {
  const StatementPlace& place = places_[event.step->stmt];
  const std::string number = number_of(place);
  return std::string(place_width_ - number.size(), ' ') + number + " | " + place.text;
}

std::string Tracer::line(const Event& event) const {
  std::string out = place(event);
  if (!event.values.empty()) {
    const std::size_t used = columns(places_[event.step->stmt].text);
    out += std::string(text_width_ - used, ' ') + " | " + event.values;
  }
  return out + "\n";
}

Json Tracer::json(const Event& event) const {
  const StatementPlace& place = places_[event.step->stmt];
  return JsonObject()
      .add("line", place.line)
      .add("column", place.column)
      .add("statement", place.text)
      .add(event.json);
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

Result<Traced> trace_one(Tracer& tracer, const TraceRequest& what) {
  Traced traced;
  std::size_t lines = 0;
  JsonList list;
  Result<std::vector<Bytes>> contents = tracer.follow(what.first, [&](const Event& event) {
    if (++lines > kMostLines && !what.all) return;
    if (what.json) {
      list.add(tracer.json(event));
    } else {
      traced.text += tracer.line(event);
    }
  });
  traced.failure = contents.diagnostics();
  const Program& program = tracer.request().program();
  const std::string& file = tracer.request().loaded.source.file;
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

Result<std::vector<Mark>> path_of(Tracer& tracer, const Ids& invocation) {
  std::vector<Mark> marks;
  const Result<std::vector<Bytes>> ran = tracer.follow(invocation, [&](const Event& event) {
    if (marks.size() < kMostCompared) {
      marks.push_back({event.step, std::hash<std::string>()(event.values)});
    }
  });
  if (!ran.ok()) return ran.diagnostics();
  return marks;
}

Result<Traced> trace_two(Tracer& tracer, const TraceRequest& what) {
  const std::array<Ids, 2> invocations = {what.first, *what.second};
  std::array<std::vector<Mark>, 2> paths;
  for (std::size_t i = 0; i < 2; ++i) {
    Result<std::vector<Mark>> path = path_of(tracer, invocations[i]);
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
    Result<std::vector<Bytes>> ran = tracer.follow(invocations[i], [&](const Event& event) {
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
    return JsonList().add(tracer.json(seen[0][k])).add(tracer.json(seen[1][k]));
  };
  JsonObject trace;
  trace.add("common", common).add("diverge", diverge);
  if (diverge) {
    traced.text = names + " go the same way for " + plural(common, "statement") + ", up to\n" +
                  tracer.place(seen[0][0]) + "\n" + both(values) + "then they go to\n" +
                  both([&](std::size_t i) { return tracer.place(seen[i][1]); });
    trace.add("last", events(0)).add("next", events(1));
  } else {
    traced.text = names + " go the same way, for " + plural(common, "statement") + "\n";
    if (common == kMostCompared) traced.text += "what follows was not compared\n";
    if (differ < common) {
      traced.text += "values first differ at\n" + tracer.place(seen[0][0]) + "\n" + both(values);
      trace.add("differ", events(0));
    } else {
      traced.text += "all values are equal\n";
    }
  }
  traced.json.add("trace", trace);
  traced.outputs = take_outputs(tracer.request().program(), std::move(contents));
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
  Result<Script> script = script_of(request);
  if (!script.ok()) return script.diagnostics();
  Tracer tracer(request, std::move(*script));
  return what.second ? trace_two(tracer, what) : trace_one(tracer, what);
}

}  // namespace vyre
