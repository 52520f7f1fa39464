// `vyre run`: runs a program and shows its outputs.
#include <algorithm>

#include "tools/vyre/interrupt.h"
#include "tools/vyre/plan.h"
#include "tools/vyre/progress.h"
#include "tools/vyre/times.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// --- Running ------------------------------------------------------------------------------------

struct Ran {
  const Backend* backend = nullptr;
  Outputs outputs;
  std::string digest;
  std::vector<double> seconds;  // of each run
  std::string trace_text;
  JsonObject trace_json;
  std::vector<Diagnostic> failure;  // of a run that was followed up to it
};

Result<Ran> run_on(const Choice& choice, const Plan& plan, const Request& request) {
  const Backend& backend = *choice.backend;
  Ran ran{&backend, {}, {}, {}, {}, {}, {}};
  const Result<std::unique_ptr<Device>> device = open_device(backend, choice.device);
  if (!device.ok()) return device.diagnostics();
  if (plan.trace && !backend.takes_orders) {
    return diagnose<message::unsupported_option>(backend.name, "follow an invocation");
  }
  if (plan.trace) {
    Result<Traced> traced = run_traced(*plan.trace, request);
    if (!traced.ok()) return traced.diagnostics();
    ran.outputs = std::move(traced->outputs);
    ran.trace_text = std::move(traced->text);
    ran.trace_json = std::move(traced->json);
    ran.failure = std::move(traced->failure);
    if (!ran.failure.empty()) return ran;
  }
  const std::vector<HostBuffer> buffers = request.host_buffers();
  const DispatchOptions options{device->get(), request.options};
  for (std::uint64_t i = 0; i < plan.repeat && !plan.trace; ++i) {
    Result<Outputs> outputs = dispatch(request.linked, request.grid, buffers, options);
    if (!outputs.ok()) return outputs.diagnostics();
    ran.seconds.push_back(outputs->seconds);
    if (i == 0) {
      ran.outputs = std::move(*outputs);
    } else if (std::string differs = difference(ran.outputs, *outputs); !differs.empty()) {
      return diagnose<message::disagreement>("run 1", "run " + std::to_string(i + 1), differs);
    }
  }
  ran.digest = vyre::digest(ran.outputs);
  return ran;
}

// --- Showing ------------------------------------------------------------------------------------

bool is_drawn(const Plan& plan, std::string_view name) {
  return std::ranges::find(plan.images, name, &ImageRequest::name) != plan.images.end();
}

const OutputBuffer& output_of(const Ran& ran, std::string_view name) {
  return *std::ranges::find(ran.outputs.buffers, name, &OutputBuffer::name);
}

const std::string& name_of(const Request& request, BufferId id) {
  return request.program().buffers[id.index].name;
}

JsonObject result_json(const Ran& ran, const Plan& plan, const Request& request) {
  JsonList grid;
  for (std::size_t axis = 0; axis < 3; ++axis) grid.add(request.grid[axis]);
  JsonObject buffers;
  for (const OutputBuffer& buffer : ran.outputs.buffers) {
    const bool named = std::ranges::any_of(plan.outlets, [&](const Outlet& outlet) {
      return name_of(request, outlet.buffer) == buffer.name;
    });
    if (!plan.outlets.empty() && !named) continue;
    buffers.add(buffer.name, buffer_json(buffer));
  }
  JsonObject out;
  out.add("program", request.program().name).add("backend", ran.backend->name);
  out.add("grid", grid).add("buffers", buffers).add("digest", ran.digest).add(ran.trace_json);
  JsonList seconds;
  for (double each : ran.seconds) seconds.add(each);
  if (plan.repeat > 1) out.add("seconds", seconds);
  return out;
}

// Files come first: what cannot be written should not look as if it had been.
std::vector<Diagnostic> write_files(const Ran& ran, const Plan& plan, const Request& request) {
  std::vector<Diagnostic> wrong;
  const auto write = [&](std::string_view path, std::string_view bytes) {
    const Result<void> written = write_file(path, bytes);
    append(wrong, written.diagnostics());
  };
  std::vector<std::pair<std::string_view, std::string>> pictures;
  for (const ImageRequest& image : plan.images) {
    const Result<Picture> picture = make_picture(image, output_of(ran, image.name));
    append(wrong, picture.diagnostics());
    if (picture.ok() && !image.path.empty()) pictures.emplace_back(image.path, png_of(*picture));
  }
  if (!wrong.empty()) return wrong;
  for (const auto& [path, png] : pictures) write(path, png);
  for (const Outlet& outlet : plan.outlets) {
    if (outlet.path.empty() || outlet.path == "-") continue;
    const Bytes& bytes = output_of(ran, name_of(request, outlet.buffer)).bytes;
    write(outlet.path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return wrong;
}

void print_outputs(const Ran& ran, const Plan& plan, const Request& request,
                   const Console& console) {
  for (const ImageRequest& image : plan.images) {
    if (!image.path.empty()) continue;
    const Result<Picture> picture = make_picture(image, output_of(ran, image.name));
    console.print(draw(*picture, columns_of(console), colour_of(console)));
  }
  for (const OutputBuffer& buffer : ran.outputs.buffers) {
    if (plan.outlets.empty() && !is_drawn(plan, buffer.name)) console.print(buffer_text(buffer));
  }
  for (const Outlet& outlet : plan.outlets) {
    if (outlet.path.empty()) {
      console.print(buffer_text(output_of(ran, name_of(request, outlet.buffer))));
    }
  }
}

std::string times_text(const Ran& ran) {
  return std::string(ran.backend->name) + ": " + std::to_string(ran.seconds.size()) +
         " runs gave the same bytes; fastest " + time_text(quantile(ran.seconds, 0)) + ", median " +
         time_text(quantile(ran.seconds, 0.5)) + "\n";
}

}  // namespace

Result<int> run_run(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  Result<Request> request = read_request(invocation, console);
  if (!request.ok()) return request.diagnostics();
  const Result<Plan> plan = read_plan(invocation, console, *request);
  if (!plan.ok()) return plan.diagnostics();

  // People see a note at once; who reads JSON finds it in there.
  std::vector<std::string> notes;
  const auto note = [&](std::string text) {
    if (json) {
      notes.push_back(std::move(text));
    } else {
      console.print_error("note: " + path_text(text) + "\n");
    }
  };
  const auto fail = [&](std::vector<Diagnostic> wrong) {
    wrong[0].notes.insert(wrong[0].notes.begin(), notes.begin(), notes.end());
    return report(wrong, json, console);
  };
  if (!plan->fallback.empty()) note("running on `interp`: " + plan->fallback);

  const Interruptible interruptible(json, console);
  std::vector<Ran> results;
  for (const Choice& choice : plan->choices) {
    Result<Ran> ran = [&] {
      Progress progress(console);
      request->options.progress = progress.sink();
      return run_on(choice, *plan, *request);
    }();
    if (!ran.ok() && !invocation.has("--backend") && reference_can(ran.diagnostics()[0])) {
      note("running on `interp`: " + ran.diagnostics()[0].problem);
      ran = run_on({find_backend("interp")}, *plan, *request);
    }
    if (!ran.ok() && plan->choices.size() > 1 && ran.diagnostics()[0].code == Code::B003) {
      note(ran.diagnostics()[0].problem);
      continue;
    }
    if (!ran.ok()) return fail(ran.diagnostics());
    if (!ran->failure.empty()) {
      if (!json) console.print(ran->trace_text + "\n");
      return fail(ran->failure);
    }
    results.push_back(std::move(*ran));
  }
  std::string differs;
  const Backend* odd = nullptr;
  for (const Ran& ran : results) {
    if (odd == nullptr) differs = difference(results[0].outputs, ran.outputs);
    if (odd == nullptr && !differs.empty()) odd = ran.backend;
  }
  const auto disagreement = [&] {
    return diagnose<message::disagreement>(results[0].backend->name, odd->name, differs);
  };
  if (odd == nullptr) {
    const std::vector<Diagnostic> wrong = write_files(results[0], *plan, *request);
    if (!wrong.empty()) return fail(wrong);
  }

  for (const Ran& ran : results) {
    if (invocation.has("--repeat") && !json) console.print_error(times_text(ran));
  }
  if (json) {
    JsonObject out;
    if (plan->all) {
      JsonList all;
      for (const Ran& ran : results) all.add(result_json(ran, *plan, *request));
      out.add("agree", odd == nullptr).add("results", all);
    } else {
      out.add(result_json(results[0], *plan, *request));
    }
    JsonList said;
    for (const std::string& each : notes) said.add(each);
    if (!notes.empty()) out.add("notes", said);
    console.print(out.line());
    return odd == nullptr ? kFine : exit_status({{disagreement()}});
  }
  // What people read goes out of the way of bytes.
  Console readable = console;
  if (plan->raw_stdout) {
    readable.out = console.err;
    readable.out_is_terminal = console.err_is_terminal;
  }
  if (plan->trace) readable.print(results[0].trace_text + "\n");
  print_outputs(results[0], *plan, *request, readable);
  if (odd != nullptr) {
    for (const Ran& ran : results) {
      readable.print("digest " + ran.digest + " on " + std::string(ran.backend->name) + "\n");
    }
    return report({{disagreement()}}, json, console);
  }
  std::string agree;
  for (const Ran& ran : results) {
    if (plan->all) agree += (agree.empty() ? " on " : ", ") + std::string(ran.backend->name);
  }
  readable.print("digest " + results[0].digest + agree + "\n");
  for (const Outlet& outlet : plan->outlets) {
    if (outlet.path != "-") continue;
    const Bytes& bytes = output_of(results[0], name_of(*request, outlet.buffer)).bytes;
    console.print({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return kFine;
}

}  // namespace vyre
