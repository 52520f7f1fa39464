// Makes events of the steps of one invocation: statements as they are written, with the values that
// they use and change, and the ops that they call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "tools/vyre/listing.h"
#include "tools/vyre/trace.h"
#include "vyre/interp/trace.h"

namespace vyre {

// A statement that was executed, or a call in one that will be, of an op that is entered.
struct Event {
  const Listing* listing = nullptr;
  std::uint32_t stmt = 0;
  const Listing* callee = nullptr;
  std::size_t depth = 0;       // the number of ops that are running
  std::string_view kind = {};  // "let"
  std::string values = {};     // "a[3] = 7, x = 9"; of a call the arguments
  JsonList loads = {};         // of buffers
  JsonList elements = {};      // of arrays
  JsonList calls = {};
  JsonObject json = {};  // the rest of what `values` says

  const StatementPlace& place() const { return listing->places[stmt]; }
  void say(const std::string& text) { values += (values.empty() ? "" : ", ") + text; }
};
Json json_of(const Event& event);

// Statements come when they end, calls when they begin.
class Follower : TraceVisitor {
 public:
  Follower(const Request& request, const Script& script, TraceRequest::Into into);

  // Says whether a statement is wanted in the JSON of the program or call that it is in.
  using Visit = std::function<bool(const Event&)>;
  // Runs the program; gives the contents after the run.
  Result<std::vector<Bytes>> follow(const Ids& invocation, const Visit& visit);

  // The statements of the program that were wanted.
  const JsonList& statements() const { return levels_[0].statements; }
  // Of the ops that are running: "my.gcd, called at 3:3 in my.lcm, called at 15:3".
  std::string running() const;
  JsonList running_json() const;

 private:
  struct Call {
    std::string text;  // of one that is not entered
    JsonObject json;
  };
  // The program, or an op that is running.
  struct Level {
    const Listing* listing = nullptr;
    Call call = {};                // of this op
    std::uint32_t caller = 0;      // the statement that made it
    Event event = {};              // of the statement at hand
    std::vector<Call> calls = {};  // that its step has made
    std::map<std::uint32_t, std::array<std::uint32_t, 2>> ranges = {};  // of loops that are running
    JsonList statements = {};
  };

  void step(const TracedStep& traced) override;
  void receive(const Step& step, const BodyFrame& frame) override;
  bool enter(const Step& caller, std::uint32_t op, const BodyFrame& frame) override;
  void leave(std::uint32_t op, const BodyFrame& frame, ExprId result) override;

  Event& begin_event(const StatementPlace& place, std::string_view kind);
  void end_event();
  const Listing& listing_of(std::uint32_t op);

  bool say(const TracedStep& traced, Event& event);
  bool say_part(const TracedStep& traced, const StatementPlace& place, Event& event);
  void say_uses(const TracedStep& traced, Event& event);
  void say_load(const TracedAccess& load, Event& event) const;
  void say_element(const BodyFrame& frame, const Node& node, Event& event) const;
  void say_local(LocalId id, const BodyFrame& frame, Event& event) const;
  void say_effect(const TracedStep& traced, Event& event) const;
  void say_set(const TracedStep& traced, Event& event) const;
  void say_given(const TracedStep& traced, Event& event) const;
  void say_condition(const TracedStep& traced, Event& event) const;
  void say_test(const TracedStep& traced, Event& event) const;
  void say_round(const TracedStep& traced, Event& event);
  void say_range(LocalId variable, const BodyFrame& frame, std::string_view end,
                 Event& event) const;
  void say_return(const TracedStep& traced, Event& event) const;

  const Listing& here() const { return *levels_.back().listing; }
  const BufferDecl& buffer_of(const TracedAccess& access) const {
    return request_.program().buffers[access.buffer.index];
  }
  std::string outside_text(const TracedAccess& access) const;
  Json access_json(const TracedAccess& access) const;

  const Request& request_;
  const Script& script_;
  Visit visit_;
  std::vector<bool> wanted_;                        // by op: whether it is entered
  std::vector<std::unique_ptr<Listing>> listings_;  // of ops that were, and at last of the program
  std::vector<Level> levels_;
  std::optional<Call> unseen_;  // a call that is not entered
};

}  // namespace vyre
