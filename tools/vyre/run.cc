// `vyre run`: runs a program and shows its outputs.
#include <algorithm>

#include "tools/vyre/interrupt.h"
#include "tools/vyre/npy.h"
#include "tools/vyre/plan.h"
#include "tools/vyre/progress.h"
#include "tools/vyre/times.h"
#include "tools/vyre/warn.h"
#include "vyre/base/text.h"
#include "vyre/runtime/out_of_bounds.h"

namespace vyre {
namespace {

// --- Running ------------------------------------------------------------------------------------

// What is said besides the results. People see it at once; JSON has it with the results.
struct Notes {
  bool json;
  const Console& console;
  std::vector<std::string> kept = {};

  void add(const std::string& text) {
    if (json) {
      kept.push_back(text);
    } else {
      console.print_error("note: " + path_text(text) + "\n");
    }
  }
};

struct Ran {
  const Backend* backend = nullptr;
  Outputs outputs = {};
  std::string digest = {};
  std::vector<double> seconds = {};  // of each run
  Traced trace = {};
  OutOfBounds hidden = {};
  std::string_view name() const { return backend->name; }
};

Result<Ran> run_on(const Choice& choice, const Plan& plan, const Request& request) {
  Ran ran{choice.backend};
  const Result<std::unique_ptr<Device>> device = open_device(*choice.backend, choice.device);
  if (!device) return device.diagnostics();
  if (plan.strict && !choice.backend->takes_orders) {
    return diagnose<message::unsupported_option>(ran.name(), "count what is out of bounds");
  }
  if (plan.trace) {
    if (!choice.backend->takes_orders) {
      return diagnose<message::unsupported_option>(ran.name(), "follow an invocation");
    }
    Result<Traced> traced = run_traced(*plan.trace, request);
    if (!traced) return traced.diagnostics();
    ran.trace = std::move(*traced);
    ran.outputs = std::move(ran.trace.outputs);
  }
  const std::vector<HostBuffer> buffers = request.host_buffers();
  const DispatchOptions options{device->get(), request.options};
  for (std::uint64_t i = 0; i < plan.repeat && !plan.trace; ++i) {
    Result<Outputs> outputs = dispatch(request.linked, request.grid, buffers, options);
    if (!outputs) return outputs.diagnostics();
    ran.seconds.push_back(outputs->seconds);
    if (i == 0) {
      ran.outputs = std::move(*outputs);
    } else if (std::string differs = difference(ran.outputs, *outputs); !differs.empty()) {
      return diagnose<message::disagreement>("run 1", "run " + std::to_string(i + 1), differs);
    }
  }
  ran.digest = digest(ran.outputs);
  return ran;
}

// Whether other backends may run what one refused so.
bool is_limit_of_one(Code code) {
  return code == Code::B001 || code == Code::B002 || code == Code::B003 || code == Code::B004 ||
         code == Code::B005;
}

// On each backend that is chosen and can run it.
Result<std::vector<Ran>> run_all(const Plan& plan, bool may_fall_back, Request& request,
                                 Notes& notes) {
  std::vector<Ran> results;
  for (const Choice& choice : plan.choices) {
    const auto run = [&](const Choice& on) {
      Progress progress(notes.console);
      OutOfBounds hidden;
      request.options.progress = progress.sink();
      request.options.out_of_bounds = &hidden;
      Result<Ran> ran = run_on(on, plan, request);
      request.options.progress = {};
      request.options.out_of_bounds = nullptr;
      if (ran) ran->hidden = hidden;
      return ran;
    };
    Result<Ran> ran = run(choice);
    if (!ran && may_fall_back && reference_can(ran.diagnostics()[0])) {
      notes.add("running on `interp`: " + ran.diagnostics()[0].problem);
      ran = run({find_backend("interp")});
    }
    if (!ran && !results.empty() && is_limit_of_one(ran.diagnostics()[0].code)) {
      notes.add("`" + std::string(choice.backend->name) +
                "` is left out: " + ran.diagnostics()[0].problem);
      continue;
    }
    if (!ran) return ran.diagnostics();
    if (!ran->trace.failure.empty()) {
      if (!notes.json) notes.console.print(ran->trace.text + "\n");
      return ran->trace.failure;
    }
    results.push_back(std::move(*ran));
  }
  return results;
}

// Where the results of a backend are not those of the first one.
std::optional<Diagnostic> disagreement(const std::vector<Ran>& results) {
  for (const Ran& ran : results) {
    const std::string differs = difference(results[0].outputs, ran.outputs);
    if (differs.empty()) continue;
    return diagnose<message::disagreement>(results[0].name(), ran.name(), differs);
  }
  return {};
}

const OutputBuffer& output_of(const Ran& ran, std::string_view name) {
  return *std::ranges::find(ran.outputs.buffers, name, &OutputBuffer::name);
}

// --- Showing ------------------------------------------------------------------------------------

std::string_view contents_of(const Ran& ran, std::string_view name) {
  const Bytes& bytes = output_of(ran, name).bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

JsonObject result_json(const Ran& ran, const Plan& plan, const Request& request) {
  JsonObject buffers;
  for (const OutputBuffer& buffer : ran.outputs.buffers) {
    const bool is_named =
        std::ranges::find(plan.outlets, buffer.name, &Outlet::name) != plan.outlets.end();
    if (plan.outlets.empty() || is_named) buffers.add(buffer.name, buffer_json(buffer));
  }
  JsonObject out;
  out.add("program", request.program().name).add("backend", ran.name());
  out.add("grid", json_list_of(request.grid.axes)).add("buffers", buffers);
  out.add("digest", ran.digest).add(ran.trace.json);
  if (plan.repeat > 1) out.add("seconds", json_list_of(ran.seconds));
  return out;
}

JsonObject results_json(const std::vector<Ran>& results, const Plan& plan, const Request& request,
                        bool agree) {
  if (!plan.all) return result_json(results[0], plan, request);
  const auto result = [&](const Ran& ran) { return result_json(ran, plan, request); };
  return JsonObject().add("agree", agree).add("results", json_list_of(results, result));
}

// Files come first: what cannot be written should not look as if it had been.
std::vector<Diagnostic> write_files(const Ran& ran, const Plan& plan) {
  std::vector<Diagnostic> wrong;
  const auto write = [&](std::string_view path, std::string_view bytes) {
    append(wrong, write_file(path, bytes).diagnostics());
  };
  for (const ImageRequest& image : plan.images) {
    if (image.path.empty()) continue;
    write(image.path, png_of(make_picture(image, output_of(ran, image.name))));
  }
  for (const Outlet& outlet : plan.outlets) {
    if (outlet.path.empty() || outlet.path == "-") continue;
    const bool is_npy = outlet.path.ends_with(".npy");
    if (is_npy) write(outlet.path, npy_of(output_of(ran, outlet.name)));
    if (!is_npy) write(outlet.path, contents_of(ran, outlet.name));
  }
  return wrong;
}

void print_outputs(const Ran& ran, const Plan& plan, const Console& console) {
  for (const ImageRequest& image : plan.images) {
    if (!image.path.empty()) continue;
    const Picture picture = make_picture(image, output_of(ran, image.name));
    console.print(draw(picture, columns_of(console), colour_of(console)));
  }
  for (const OutputBuffer& buffer : ran.outputs.buffers) {
    const bool is_image =
        std::ranges::find(plan.images, buffer.name, &ImageRequest::name) != plan.images.end();
    if (plan.outlets.empty() && !is_image) console.print(buffer_text(buffer, plan.format));
  }
  for (const Outlet& outlet : plan.outlets) {
    if (outlet.path.empty()) console.print(buffer_text(output_of(ran, outlet.name), plan.format));
  }
}

std::string times_text(const Ran& ran) {
  return std::string(ran.name()) + ": " + std::to_string(ran.seconds.size()) +
         " runs gave the same bytes; fastest " + time_text(quantile(ran.seconds, 0)) + ", median " +
         time_text(quantile(ran.seconds, 0.5)) + "\n";
}

}  // namespace

Result<int> run_run(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  Result<Request> request = read_request(invocation, console);
  if (!request) return request.diagnostics();
  const Result<Plan> plan = read_plan(invocation, console, *request);
  if (!plan) return plan.diagnostics();

  const Warned warned = print_warnings(invocation, *request, console);
  if (!warned.wrong.empty()) return warned.wrong;

  Notes notes{json, console};
  const auto fail = [&](std::vector<Diagnostic> wrong) {
    wrong[0].notes.insert(wrong[0].notes.begin(), notes.kept.begin(), notes.kept.end());
    return report(wrong, json, console, warned.unprinted);
  };
  if (!plan->fallback.empty()) notes.add("running on `interp`: " + plan->fallback);
  const Interruptible interruptible(json, console);
  const Result<std::vector<Ran>> results =
      run_all(*plan, !invocation.has("--backend"), *request, notes);
  if (!results) return fail(results.diagnostics());
  const Ran& first = results->front();
  const auto counted = std::ranges::find_if(*results, [](const Ran& r) { return r.hidden.any(); });
  const OutOfBounds hidden = counted == results->end() ? OutOfBounds() : counted->hidden;
  if (plan->strict && hidden.any()) {
    return fail({out_of_bounds_error(hidden, request->loaded, request->item)});
  }
  const std::optional<Diagnostic> odd = disagreement(*results);
  if (!odd) {
    const std::vector<Diagnostic> unwritten = write_files(first, *plan);
    if (!unwritten.empty()) return fail(unwritten);
  }
  std::vector<Diagnostic> wrong = surprises(first.outputs, *plan);
  if (odd) wrong = {*odd};

  if (json) {
    JsonObject out = results_json(*results, *plan, *request, !odd);
    if (hidden.any()) out.add("out_of_bounds", out_of_bounds_json(hidden, *request));
    if (!warned.unprinted.empty()) out.add("warnings", json_list(warned.unprinted));
    if (hidden.any()) notes.add(out_of_bounds_note(hidden, request->loaded, request->item));
    if (!notes.kept.empty()) out.add("notes", json_list_of(notes.kept));
    if (!wrong.empty()) out.add("diagnostics", json_list(wrong));
    console.print(out.line());
    return exit_status(wrong);
  }
  for (const Ran& ran : *results) {
    if (invocation.has("--repeat")) console.print_error(times_text(ran));
  }
  // What people read goes out of the way of bytes.
  const Console readable = plan->raw_stdout ? console.beside() : console;
  if (plan->trace) readable.print(first.trace.text + "\n");
  print_outputs(first, *plan, readable);
  if (odd) {
    for (const Ran& ran : *results) {
      readable.print("digest " + ran.digest + " on " + std::string(ran.name()) + "\n");
    }
    return report(wrong, json, console);
  }
  readable.print("digest " + first.digest +
                 (plan->all ? " on " + join(*results, ", ", &Ran::name) : "") + "\n");
  for (const Outlet& outlet : plan->outlets) {
    if (outlet.path == "-") console.print(contents_of(first, outlet.name));
  }
  if (hidden.any()) notes.add(out_of_bounds_note(hidden, request->loaded, request->item));
  return report(wrong, json, console);
}

}  // namespace vyre
