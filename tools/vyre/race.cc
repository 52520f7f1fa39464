// `vyre race`: finds data races and outputs that depend on the order of atomics.
#include <array>

#include "tools/vyre/interrupt.h"
#include "tools/vyre/plan.h"
#include "tools/vyre/progress.h"
#include "tools/vyre/warn.h"
#include "vyre/base/text.h"
#include "vyre/interp/race.h"
#include "vyre/runtime/out_of_bounds.h"
#include "vyre/runtime/race_report.h"

namespace vyre {
namespace {

// Where the outputs, which are the same in every order, are not what --expect says.
std::vector<Diagnostic> check_outputs(const Plan& plan, const Request& request) {
  if (plan.expected.empty()) return {};
  RunOptions options = request.options;
  options.out_of_bounds = nullptr;  // counted before
  const Result<std::unique_ptr<Device>> device = open_device(*plan.choices[0].backend);
  if (!device) return device.diagnostics();
  const Result<Outputs> outputs =
      dispatch(request.linked, request.grid, request.host_buffers(), {device->get(), options});
  return outputs ? surprises(*outputs, plan) : outputs.diagnostics();
}

}  // namespace

Result<int> run_race(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  Result<Request> request = read_request(invocation, console);
  if (!request.ok()) return request.diagnostics();
  const Program& program = request->program();
  const Result<Plan> plan = read_plan(invocation, console, *request);
  if (!plan) return plan.diagnostics();
  if (plan->trace) return diagnose<message::conflict>("vyre race", "--trace");
  if (const Backend& backend = *plan->choices[0].backend; !plan->all && !backend.takes_orders) {
    return diagnose<message::unsupported_option>(backend.name, "find races");
  }

  const Warned warned = print_warnings(invocation, *request, console);
  if (!warned.wrong.empty()) return warned.wrong;

  OutOfBounds hidden;
  request->options.out_of_bounds = &hidden;
  const Interruptible interruptible(json, console);
  const Result<RaceReport> found = [&] {
    Progress progress(console);
    request->options.progress = progress.sink();
    std::vector<Schedule> schedules;
    if (invocation.has("--schedule")) schedules.push_back(request->options.schedule);
    return find_races(request->linked, request->grid, request->host_buffers(), request->options,
                      schedules);
  }();
  if (!found.ok()) return report(found.diagnostics(), json, console, warned.unprinted);
  std::vector<Diagnostic> wrong = found->clean()
                                      ? check_outputs(*plan, *request)
                                      : describe_races(*found, request->loaded, program.name);
  const std::string note = out_of_bounds_note(hidden, request->loaded, request->item);
  if (!note.empty() && invocation.has("--strict")) {
    wrong.push_back(out_of_bounds_error(hidden, request->loaded, request->item));
  } else if (!note.empty() && !json) {
    console.print_error("note: " + path_text(note) + "\n" + (wrong.empty() ? "" : "\n"));
  }
  if (!wrong.empty()) return report(wrong, json, console, warned.unprinted);

  const Wide invocations = invocations_of(*request);
  if (json) {
    JsonObject out;
    out.add("races", JsonList()).add("dependences", JsonList());
    out.add("schedules", found->schedules).add("invocations", Json::raw(decimal(invocations)));
    out.add("buffers", program.buffers.size());
    if (!note.empty()) out.add("out_of_bounds", out_of_bounds_json(hidden, *request));
    if (!warned.unprinted.empty()) out.add("warnings", json_list(warned.unprinted));
    console.print(out.line());
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
