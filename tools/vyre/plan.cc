#include "tools/vyre/plan.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "vyre/base/text.h"

namespace vyre {
namespace {

Result<std::vector<const Backend*>> choose_backends(const Invocation& invocation,
                                                    const Console& console) {
  const std::string_view wanted = invocation.value("--backend");
  const bool ordered = invocation.verb.name == "race" || invocation.has("--schedule") ||
                       invocation.has("--max-steps") || invocation.has("--trace");
  std::vector<const Backend*> chosen;
  if (wanted == "all") {
    for (const Backend& backend : all_backends()) {
      if (backend.open().device == nullptr || (ordered && !backend.takes_orders)) continue;
      chosen.push_back(&backend);
    }
  } else if (invocation.has("--backend")) {
    const Result<const Backend*> backend = named_backend(wanted);
    if (!backend.ok()) return backend.diagnostics();
    chosen.push_back(*backend);
  } else {
    const Backend* interp = find_backend("interp");
    chosen.push_back(ordered ? interp : &default_backend());
    if (!ordered && chosen[0] == interp) {
      const std::string why = find_backend("cpu")->open().reason;
      std::fprintf(console.err, "note: running on `interp`: %s\n", why.c_str());
    }
  }
  if (invocation.has("--device")) {
    const Result<std::uint64_t> device =
        read_count("--device", invocation.value("--device"), 0, 0xffffffff);
    if (!device.ok()) return device.diagnostics();
    constexpr std::uint64_t kDevices = 1;  // that a backend opens today
    if (*device >= kDevices) {
      return diagnose<message::unknown_device>(chosen[0]->name, *device, kDevices);
    }
  }
  return chosen;
}

}  // namespace

Result<const Backend*> named_backend(std::string_view name) {
  if (const Backend* backend = find_backend(name)) return backend;
  std::string names;
  for (const Backend& known : all_backends()) {
    names += (names.empty() ? "" : ", ") + std::string(known.name);
    if (!known.alias.empty()) names += " (" + std::string(known.alias) + ")";
  }
  return diagnose<message::unknown_backend>(shown(name), names);
}

Result<Plan> read_plan(const Invocation& invocation, const Console& console,
                       const Request& request) {
  Plan plan;
  std::vector<Diagnostic> wrong;
  const auto keep = [&](auto result, auto use) {
    wrong.insert(wrong.end(), result.diagnostics().begin(), result.diagnostics().end());
    if (result.ok()) use(std::move(*result));
  };
  for (std::string_view text : invocation.values("--out")) {
    const auto [name, path] = split_assignment(text);
    keep(find_output(request.program(), name), [&](BufferId id) {
      if (std::ranges::find(plan.outlets, id, &Outlet::buffer) != plan.outlets.end()) {
        wrong.push_back(diagnose<message::repeated_buffer>("--out", name));
      }
      if (path == "") wrong.push_back(diagnose<message::empty_path>("--out", name));
      plan.outlets.push_back({id, path.value_or("")});
      if (path == "-") plan.raw_stdout = true;
    });
  }
  for (std::string_view text : invocation.values("--image")) {
    keep(read_image_request(text), [&](const ImageRequest& image) {
      keep(find_output(request.program(), image.name), [&](BufferId id) {
        // What it is drawn from has its size and type before the run.
        const BufferDecl& buffer = request.program().buffers[id.index];
        keep(make_picture(image, {buffer.name, buffer.element, request.contents[id.index]}),
             [&](const Picture&) { plan.images.push_back(image); });
      });
    });
  }
  std::set<std::filesystem::path> paths;
  const auto claim = [&](std::string_view path) {
    if (path.empty() || path == "-") return;
    const Result<bool> writable = check_writable(path);
    wrong.insert(wrong.end(), writable.diagnostics().begin(), writable.diagnostics().end());
    if (paths.insert(std::filesystem::path(path).lexically_normal()).second) return;
    wrong.push_back(diagnose<message::written_twice>(shorten(path)));
  };
  for (const Outlet& outlet : plan.outlets) claim(outlet.path);
  for (const ImageRequest& image : plan.images) claim(image.path);
  plan.all = invocation.value("--backend") == "all";
  keep(choose_backends(invocation, console),
       [&](auto backends) { plan.backends = std::move(backends); });
  if (invocation.has("--repeat")) {
    keep(read_count("--repeat", invocation.value("--repeat"), 1, 1'000'000),
         [&](std::uint64_t repeat) { plan.repeat = repeat; });
  }
  if (invocation.has("--trace")) {
    keep(read_trace_request(invocation, request), [&](TraceRequest trace) { plan.trace = trace; });
    for (std::string_view other : {"--repeat", "--threads"}) {
      if (invocation.has(other)) wrong.push_back(diagnose<message::conflict>("--trace", other));
    }
  }
  if (invocation.has("--trace-all") && !plan.trace && !invocation.has("--trace")) {
    wrong.push_back(diagnose<message::missing_option>("--trace-all", "--trace X,Y,Z"));
  }
  const bool draws = std::ranges::any_of(
      plan.images, [](const ImageRequest& image) { return image.path.empty(); });
  if (draws && invocation.json()) {
    wrong.push_back(diagnose<message::stdout_twice>("a drawing", "JSON"));
  }
  if (plan.raw_stdout) {
    const auto is_stdout = [](const Outlet& outlet) { return outlet.path == "-"; };
    if (invocation.json()) {
      wrong.push_back(diagnose<message::stdout_twice>("the bytes of a buffer", "JSON"));
    } else if (std::ranges::count_if(plan.outlets, is_stdout) > 1) {
      wrong.push_back(diagnose<message::stdout_twice>("the bytes of a buffer", "those of another"));
    } else if (console.out_is_terminal) {
      wrong.push_back(diagnose<message::bytes_to_terminal>());
    }
  }
  if (!wrong.empty()) return wrong;
  return plan;
}

}  // namespace vyre
