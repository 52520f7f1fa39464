#include "tools/vyre/follower.h"

#include <utility>

#include "vyre/base/text.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

constexpr std::size_t kMostElements = 8;  // of an array that is shown

// The value of a local or an expression; an array has elements.
std::string value_text(DataType type, const Bits& value, std::span<const Bits> elements) {
  if (elements.empty()) return value_text(type, value);
  const bool is_long = elements.size() > kMostElements;
  const auto shown = elements.first(is_long ? kMostElements - 2 : elements.size());
  const auto text = [&](const Bits& each) { return value_text(element_type(type), each); };
  return "[" + join(shown, ", ", text) +
         (is_long ? ", … " + std::to_string(elements.size() - shown.size()) + " more]" : "]");
}

Json value_json(DataType type, const Bits& value, std::span<const Bits> elements) {
  if (elements.empty()) return value_json(type, value);
  const auto json = [&](const Bits& each) { return value_json(element_type(type), each); };
  return json_list_of(elements, json);
}

std::string outside_text(std::string_view name, std::size_t length) {
  return "out of bounds: " + std::string(name) + " has " + plural(length, "element");
}

std::string element_text(std::string_view name, std::uint32_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

Json element_json(std::string_view what, std::string_view name, std::uint32_t index,
                  const Json& value, bool inside) {
  JsonObject out;
  out.add(what, name).add("index", index).add("value", value).add("in_bounds", inside);
  return out;
}

// Empty for a step that is not a statement.
std::string_view kind_of(const Body& body, const Step& step, Part part) {
  if (part == Part::Hidden) return "";
  if (part == Part::Test) return "while";
  if (part == Part::From) return "for";
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

}  // namespace

Json json_of(const Event& event) {
  JsonObject out;
  if (event.listing->has_lines) {
    out.add("line", event.place().line).add("column", event.place().column);
  } else {
    out.add("path", event.listing->number_of(event.stmt));
  }
  out.add("statement", event.place().text).add("kind", event.kind);
  if (!event.loads.empty()) out.add("loads", event.loads);
  if (!event.elements.empty()) out.add("elements", event.elements);
  if (!event.calls.empty()) out.add("calls", event.calls);
  return out.add(event.json);
}

Follower::Follower(const Request& request, const Script& script, TraceRequest::Into into)
    : request_(request), script_(script) {
  for (const auto& op : script.linked.ops()) {
    wanted_.push_back(into == TraceRequest::Into::All ||
                      (into == TraceRequest::Into::Own && own_item(request, op->id)));
  }
  listings_.resize(wanted_.size());
  listings_.push_back(std::make_unique<Listing>(list_program(request)));
}

Result<std::vector<Bytes>> Follower::follow(const Ids& invocation, const Visit& visit) {
  visit_ = visit;
  levels_.clear();
  levels_.push_back({listings_.back().get()});
  std::vector<Bytes> contents = request_.contents;
  const Result<RunStats> stats =
      trace(script_, request_.grid, memory_of(contents), invocation, request_.options, *this);
  if (stats.ok()) return contents;
  // It may wait for a collective that does not come.
  if (levels_.size() == 1 && levels_[0].event.listing != nullptr) end_event();
  return stats.diagnostics();
}

std::string Follower::running() const {
  std::string out;
  for (std::size_t i = levels_.size() - 1; i > 0; --i) {
    out += (out.empty() ? "" : " in ") + levels_[i].listing->name + levels_[i].listing->suffix +
           ", called at " + levels_[i - 1].listing->number_of(levels_[i].caller);
  }
  return out;
}

JsonList Follower::running_json() const {
  JsonList out;
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    JsonObject call;
    call.add("op", levels_[i].listing->name).add("file", levels_[i].listing->file);
    out.add(call.add("called_at", levels_[i - 1].listing->number_of(levels_[i].caller)));
  }
  return out;
}

// --- Events -------------------------------------------------------------------------------------

// Goes on with the event of an earlier step of the same statement.
Event& Follower::begin_event(const StatementPlace& place, std::string_view kind) {
  Event& event = levels_.back().event;
  if (event.listing == nullptr) {
    event.listing = &here();
    event.stmt = place.first;
    event.depth = levels_.size() - 1;
    event.kind = kind;
  }
  return event;
}

void Follower::end_event() {
  Level& level = levels_.back();
  const Event event = std::exchange(level.event, {});
  if (visit_(event)) level.statements.add(json_of(event));
}

void Follower::step(const TracedStep& traced) {
  const Step& step = *traced.step;
  const StatementPlace& place = here().places[step.stmt];
  const std::string_view kind = kind_of(here().body, step, place.part);
  if (kind.empty()) return;
  Event& event = begin_event(place, kind);
  say_uses(traced, event);
  if (place.part == Part::Whole ? say(traced, event) : say_part(traced, place, event)) end_event();
}

void Follower::receive(const Step& step, const BodyFrame& frame) {
  if (here().places[step.stmt].part == Part::Result) return;
  say_local(step.local, frame, levels_[0].event);
  end_event();
}

const Listing& Follower::listing_of(std::uint32_t op) {
  std::unique_ptr<Listing>& listing = listings_[op];
  if (!listing) listing = std::make_unique<Listing>(list_op(request_, *script_.linked.ops()[op]));
  return *listing;
}

bool Follower::enter(const Step& caller, std::uint32_t op, const BodyFrame& frame) {
  const Op& callee = *script_.linked.ops()[op];
  std::vector<std::string> values;
  std::vector<std::string> named;
  JsonObject arguments;
  for (std::size_t i = 0; i < callee.signature.inputs.size(); ++i) {
    const DataType type = callee.signature.inputs[i];
    const std::string& name = callee.body.locals[i].name;
    const std::span<const Bits> elements = frame.array_of(LocalId{i});
    values.push_back(value_text(type, frame.locals[i], elements));
    named.push_back(name + " = " + values.back());
    arguments.add(name, value_json(type, frame.locals[i], elements));
  }
  Call call{callee.id + "(" + join(values, ", ") + ")", {}};
  call.json.add("op", callee.id);
  if (!wanted_[op]) {
    call.json.add("arguments", arguments);
    unseen_ = std::move(call);
    return false;
  }
  const Listing& listing = listing_of(op);
  if (!listing.file.empty()) call.json.add("file", listing.file);
  if (listing.has_lines) call.json.add("line", listing.head.line);
  call.json.add("arguments", arguments);
  Event event{&here(), here().places[caller.stmt].first, &listing, levels_.size() - 1, "call"};
  event.values = join(named, ", ");
  event.json.add("op", callee.id).add("arguments", arguments);
  visit_(event);
  levels_.push_back({&listing, std::move(call), event.stmt});
  return true;
}

void Follower::leave(std::uint32_t op, const BodyFrame& frame, ExprId result) {
  const DataType type = script_.linked.ops()[op]->signature.output;
  const Bits& value = frame.values[result.index];
  const std::span<const Bits> elements = frame.array_of(result);
  Call call = unseen_ ? *unseen_ : levels_.back().call;
  call.json.add("value", value_json(type, value, elements));
  if (std::exchange(unseen_, {})) {
    call.text += " = " + value_text(type, value, elements);
  } else {
    call.text.clear();
    const JsonList& statements = levels_.back().statements;
    if (!statements.empty()) call.json.add("trace", statements);
    levels_.pop_back();
  }
  levels_.back().calls.push_back(std::move(call));
}

// --- Statements ---------------------------------------------------------------------------------

// False: more of the statement will come.
bool Follower::say(const TracedStep& traced, Event& event) {
  const Step& step = *traced.step;
  switch (step.kind) {
    case Step::Kind::Set: say_local(step.local, traced.frame, event); break;
    case Step::Kind::SetElement: say_set(traced, event); break;
    case Step::Kind::Store:
    case Step::Kind::Atomic: say_effect(traced, event); break;
    case Step::Kind::Collective: say_given(traced, event); return false;
    case Step::Kind::Branch: say_condition(traced, event); break;
    case Step::Kind::Enter:
    case Step::Kind::Again: say_round(traced, event); break;
    case Step::Kind::Return: say_return(traced, event); break;
    case Step::Kind::Jump:
    case Step::Kind::Barrier: break;
  }
  return true;
}

// The same of a statement that is one of several which the text stands for.
bool Follower::say_part(const TracedStep& traced, const StatementPlace& place, Event& event) {
  const Body& body = here().body;
  const Step& step = *traced.step;
  const BodyFrame& frame = traced.frame;
  const auto local_at = [&](std::size_t i) { return *local_of(body.stmts[place.first + i]); };
  switch (place.part) {
    case Part::Whole:
    case Part::Hidden: break;
    case Part::Test: say_test(traced, event); return true;
    case Part::From:
      levels_.back().ranges[place.first][0] = frame.locals[step.local.index].lanes[0];
      return false;
    case Part::To: {
      // In a loop with `step` it is the length of the range.
      const Expr& value = body[step.value];
      const bool is_length = value.op == Operation::SubSat &&
                             body[value.args[1]].op == Operation::Local &&
                             body[value.args[1]].imm == local_at(1).index;
      const ExprId bound = is_length ? value.args[0] : step.value;
      levels_.back().ranges[place.first][1] = frame.values[bound.index].lanes[0];
      return false;
    }
    case Part::Rounds: {
      if (frame.locals[step.local.index].lanes[0] < frame.locals[step.limit].lanes[0]) return false;
      say_range(local_at(4), frame,
                step.kind == Step::Kind::Enter ? "no round: " : "ends: ", event);
      return true;
    }
    case Part::Variable: say_range(step.local, frame, "", event); return true;
    case Part::Result:
      step.kind == Step::Kind::Atomic ? say_effect(traced, event) : say_given(traced, event);
      return false;
    case Part::Assigned: say_local(step.local, frame, event); return true;
  }
  return true;
}

// What the expressions of a step have used, in the order of evaluation.
void Follower::say_uses(const TracedStep& traced, Event& event) {
  const BodyFrame& frame = traced.frame;
  std::vector<Call> calls = std::exchange(levels_.back().calls, {});
  std::size_t load = 0;
  std::size_t call = 0;
  for (std::uint32_t i = traced.step->first; i < traced.step->last; ++i) {
    const Node& node = frame.script->nodes[i];
    if (node.op == Operation::Load) say_load(traced.loads[load++], event);
    if (node.op == Operation::Element) say_element(frame, node, event);
    if (node.op != Operation::Call) continue;
    if (!calls[call].text.empty()) event.say(calls[call].text);
    event.calls.add(calls[call++].json);
  }
}

void Follower::say_load(const TracedAccess& load, Event& event) const {
  const BufferDecl& buffer = buffer_of(load);
  event.say(element_text(buffer.name, load.index) + " = " +
            value_text(loaded_type(buffer.element), load.value) +
            (load.inside ? "" : " (" + outside_text(load) + ")"));
  event.loads.add(access_json(load));
}

// An element of an array that has a name.
void Follower::say_element(const BodyFrame& frame, const Node& node, Event& event) const {
  const Body& body = here().body;
  const Expr& array = body[node.args[0]];
  if (array.op != Operation::Local && array.op != Operation::Table) return;
  const std::string& name =
      array.op == Operation::Table ? body.tables[array.imm].name : body.locals[array.imm].name;
  const std::size_t count = frame.array_of(node.args[0]).size();
  const std::uint32_t index = frame.values[node.args[1].index].lanes[0];
  const DataType type = here().types[ExprId{node.id}];
  const Bits& value = frame.values[node.id];
  event.say(element_text(name, index) + " = " + value_text(type, value) +
            (index < count ? "" : " (" + vyre::outside_text(name, count) + ")"));
  event.elements.add(element_json("array", name, index, value_json(type, value), index < count));
}

void Follower::say_local(LocalId id, const BodyFrame& frame, Event& event) const {
  const std::string& name = here().body[id].name;
  const Bits& value = frame.locals[id.index];
  const std::span<const Bits> elements = frame.array_of(id);
  event.say(name + " = " + value_text(here().types[id], value, elements));
  event.json.add("local", name).add("value", value_json(here().types[id], value, elements));
}

// Of a store or an atomic.
void Follower::say_effect(const TracedStep& traced, Event& event) const {
  const Step& step = *traced.step;
  const TracedAccess& access = *traced.effect;
  const DataType type = loaded_type(buffer_of(access).element);
  const std::string element = element_text(buffer_of(access).name, access.index);
  const std::string ignored = access.inside ? "" : " (ignored, " + outside_text(access) + ")";
  event.json.add(event.kind, access_json(access));
  if (step.kind == Step::Kind::Store) {
    event.say(element + " <- " + value_text(type, access.value) + ignored);
    return;
  }
  const Bits old{{traced.old}};
  const std::string change = ": " + value_text(type, old) + " -> " + value_text(type, access.value);
  event.say(element + (access.inside ? change : ignored));
  event.json.add("old", value_json(type, old));
  const Part part = here().places[step.stmt].part;
  if (step.local.exists() && part == Part::Whole) say_local(step.local, traced.frame, event);
}

void Follower::say_set(const TracedStep& traced, Event& event) const {
  const Step& step = *traced.step;
  const std::string& name = here().body[step.local].name;
  const std::size_t count = traced.frame.array_of(step.local).size();
  const std::uint32_t index = traced.frame.values[step.index.index].lanes[0];
  const DataType type = here().types[step.value];
  const Bits& value = traced.frame.values[step.value.index];
  event.say(element_text(name, index) + " <- " + value_text(type, value) +
            (index < count ? "" : " (ignored, " + vyre::outside_text(name, count) + ")"));
  event.json.add("store",
                 element_json("array", name, index, value_json(type, value), index < count));
}

// To a collective; its result comes later.
void Follower::say_given(const TracedStep& traced, Event& event) const {
  const ExprId id = traced.step->value;
  const Bits& value = traced.frame.values[id.index];
  event.say("gives " + value_text(here().types[id], value));
  event.json.add("given", value_json(here().types[id], value));
}

void Follower::say_condition(const TracedStep& traced, Event& event) const {
  const ExprId id = traced.step->value;
  const Bits& condition = traced.frame.values[id.index];
  const bool taken = condition.lanes[0] != 0;
  event.say((taken ? "taken, the condition is " : "not taken, the condition is ") +
            value_text(here().types[id], condition));
  event.json.add("condition", value_json(here().types[id], condition)).add("taken", taken);
}

// Of a `while`, whose condition is negated.
void Follower::say_test(const TracedStep& traced, Event& event) const {
  const ExprId id = here().body[traced.step->value].args[0];
  const Bits& condition = traced.frame.values[id.index];
  const bool runs = condition.lanes[0] != 0;
  event.say((runs ? "goes on, the condition is " : "ends, the condition is ") +
            value_text(here().types[id], condition));
  event.json.add("condition", value_json(here().types[id], condition)).add("runs", runs);
}

void Follower::say_round(const TracedStep& traced, Event& event) {
  const Step& step = *traced.step;
  const std::uint32_t now = traced.frame.locals[step.local.index].lanes[0];
  const std::uint32_t to = traced.frame.locals[step.limit].lanes[0];
  const bool enters = step.kind == Step::Kind::Enter;
  if (enters) levels_.back().ranges[event.stmt] = {now, to};
  const std::string_view end = enters ? "no round: " : "ends: ";
  say_range(step.local, traced.frame, now < to ? "" : end, event);
}

// The round of a loop that begins, or its end.
void Follower::say_range(LocalId variable, const BodyFrame& frame, std::string_view end,
                         Event& event) const {
  const std::string& name = here().body[variable].name;
  const auto [from, to] = levels_.back().ranges.at(event.stmt);
  const std::string range = std::to_string(from) + ".." + std::to_string(to);
  const std::uint32_t now = frame.locals[variable.index].lanes[0];
  event.say(end.empty() ? name + " = " + std::to_string(now) + " of " + range
                        : std::string(end) + range);
  event.json.add("variable", name);
  if (end.empty()) event.json.add("value", now);
  event.json.add("range", JsonList().add(from).add(to)).add("runs", end.empty());
}

// Only an op gives a value.
void Follower::say_return(const TracedStep& traced, Event& event) const {
  const ExprId id = traced.step->value;
  if (!id.exists()) return;
  const Bits& value = traced.frame.values[id.index];
  const std::span<const Bits> elements = traced.frame.array_of(id);
  event.say("returns " + value_text(here().types[id], value, elements));
  event.json.add("value", value_json(here().types[id], value, elements));
}

std::string Follower::outside_text(const TracedAccess& access) const {
  const BufferDecl& buffer = buffer_of(access);
  const std::size_t length =
      is_bound(buffer.access)
          ? request_.contents[access.buffer.index].size() / stride(buffer.element)
          : buffer.count;
  return vyre::outside_text(buffer.name, length);
}

Json Follower::access_json(const TracedAccess& access) const {
  const BufferDecl& buffer = buffer_of(access);
  return element_json("buffer", buffer.name, access.index,
                      value_json(loaded_type(buffer.element), access.value), access.inside);
}

}  // namespace vyre
