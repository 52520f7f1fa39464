// `vyre race`: finds data races and outputs that depend on the order of atomics.
#include <array>

#include "tools/vyre/interrupt.h"
#include "tools/vyre/plan.h"
#include "tools/vyre/progress.h"
#include "vyre/base/text.h"
#include "vyre/interp/race.h"
#include "vyre/runtime/race_report.h"

namespace vyre {

Result<int> run_race(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  Result<Request> request = read_request(invocation, console);
  if (!request.ok()) return request.diagnostics();
  const Program& program = request->program();
  if (const Result<Plan> plan = read_plan(invocation, console, *request); !plan.ok()) {
    return plan.diagnostics();
  } else if (plan->trace) {
    return diagnose<message::conflict>("vyre race", "--trace");
  } else if (!plan->all && !plan->choices[0].backend->takes_orders) {
    const Diagnostic error =
        diagnose<message::unsupported_option>(plan->choices[0].backend->name, "find races");
    return error;
  }

  const Interruptible interruptible(json, console);
  const Result<RaceReport> found = [&] {
    Progress progress(console);
    request->options.progress = progress.sink();
    std::vector<Schedule> schedules;
    if (invocation.has("--schedule")) schedules.push_back(request->options.schedule);
    return find_races(request->linked, request->grid, request->host_buffers(), request->options,
                      schedules);
  }();
  if (!found.ok()) return report(found.diagnostics(), json, console);
  if (!found->clean()) {
    return report(describe_races(*found, request->loaded, program.name), json, console);
  }

  const Wide invocations = invocations_of(*request);
  if (json) {
    console.print(JsonObject()
                      .add("races", JsonList())
                      .add("dependences", JsonList())
                      .add("schedules", found->schedules)
                      .add("invocations", Json::raw(decimal(invocations)))
                      .add("buffers", program.buffers.size())
                      .line());
  } else {
    console.print((invocations == 0 ? "nothing runs on an empty grid; " : "") +
                  std::string("no races: ") + plural(found->schedules, "schedule") + ", " +
                  decimal(invocations) + (invocations == 1 ? " invocation, " : " invocations, ") +
                  plural(program.buffers.size(), "buffer") +
                  (found->schedules == 1 ? "; no other order to compare with" : "") + "\n");
  }
  return kFine;
}

}  // namespace vyre
