#include "tools/vyre/plan.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "vyre/base/text.h"

namespace vyre {
namespace {

Result<std::vector<Choice>> choose_backends(const Invocation& invocation, std::string& fallback) {
  const std::string_view wanted = invocation.value("--backend");
  const bool ordered = invocation.verb.name == "race" || invocation.has("--schedule") ||
                       invocation.has("--max-steps") || invocation.has("--trace") ||
                       invocation.has("--strict");
  std::vector<Choice> chosen;
  if (wanted == "all") {
    for (const Backend& backend : all_backends()) {
      if (backend.open(0).device == nullptr || (ordered && !backend.takes_orders)) continue;
      chosen.push_back({&backend});
    }
  } else if (invocation.has("--backend")) {
    const Result<const Backend*> backend = named_backend(wanted);
    if (!backend.ok()) return backend.diagnostics();
    chosen.push_back({*backend});
  } else {
    const Backend* interp = find_backend("interp");
    chosen.push_back({ordered ? interp : &default_backend()});
    if (!ordered && chosen[0].backend == interp) {
      fallback = find_backend("cpu")->open(0).reason;
    }
  }
  std::vector<Diagnostic> wrong = choose_device(invocation, chosen);
  if (!wrong.empty()) return wrong;
  return chosen;
}

Result<NumberFormat> read_format(const Invocation& invocation) {
  if (!invocation.has("--format")) return NumberFormat::Automatic;
  const std::vector<std::string_view> names = parts_of(kNumberFormats, '|');
  const std::string_view wanted = invocation.value("--format");
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) return static_cast<NumberFormat>(found - names.begin());
  return diagnose<message::unknown_choice>("--format", shown(wanted), join(names, ", "));
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// NAME=DATA, a digest, or a file with the bytes of the only output.
Result<Expectation> read_expectation(std::string_view text, const Program& program,
                                     const Console& console, std::uint64_t& budget) {
  if (is_digest(text)) return Expectation{{}, text, {}};
  const auto [name, data] = split_at(text, '=');
  const auto outputs = outputs_of(program);
  const bool is_file = !data && std::filesystem::exists(std::string(text));
  if (!data && !is_file) return diagnose<message::bad_expectation>(shown(text));
  if (is_file && outputs.size() != 1) {
    return diagnose<message::vague_expectation>(shorten(text), buffer_names(program, true));
  }
  const Result<BufferId> output = is_file ? outputs[0] : find_output(program, name);
  if (!output) return output.diagnostics();
  const BufferDecl& buffer = program.buffers[output->index];
  Result<Bytes> bytes =
      read_data(buffer, is_file ? "@" + std::string(text) : std::string(*data), budget, console);
  if (!bytes) return bytes.diagnostics();
  return Expectation{buffer.name, {}, std::move(*bytes)};
}

}  // namespace

std::vector<Diagnostic> choose_device(const Invocation& invocation, std::span<Choice> choices) {
  if (!invocation.has("--device")) return {};
  const Result<std::uint64_t> device =
      read_count("--device", invocation.value("--device"), 0, 0xffffffff);
  if (!device.ok()) return device.diagnostics();
  // Among several, a backend that has fewer devices uses its first one.
  std::uint32_t most = 0;
  const Backend* has_most = nullptr;
  for (Choice& choice : choices) {
    const Opened opened = choice.backend->open(0);
    if (opened.device == nullptr) continue;  // which it says when it is to run
    if (*device < opened.devices) choice.device = static_cast<std::uint32_t>(*device);
    if (opened.devices > most) has_most = choice.backend;
    most = std::max(most, opened.devices);
  }
  if (has_most == nullptr || *device < most) return {};
  return {diagnose<message::unknown_device>(has_most->name, *device, most)};
}

Result<const Backend*> named_backend(std::string_view name) {
  if (const Backend* backend = find_backend(name)) return backend;
  const auto both = [](const Backend& known) {
    return std::string(known.name) +
           (known.alias.empty() ? "" : " (" + std::string(known.alias) + ")");
  };
  return diagnose<message::unknown_backend>(shown(name), join(all_backends(), ", ", both));
}

Result<Plan> read_plan(const Invocation& invocation, const Console& console,
                       const Request& request) {
  Plan plan;
  std::vector<Diagnostic> wrong;
  const auto keep = [&](auto result, auto use) {
    append(wrong, result.diagnostics());
    if (result.ok()) use(std::move(*result));
  };
  for (std::string_view text : invocation.values("--out")) {
    const auto [name, path] = split_at(text, '=');
    const Result<BufferId> output = find_output(request.program(), name);
    append(wrong, output.diagnostics());
    if (!output) continue;
    if (std::ranges::find(plan.outlets, name, &Outlet::name) != plan.outlets.end()) {
      wrong.push_back(diagnose<message::repeated_buffer>("--out", name));
    }
    if (path == "") wrong.push_back(diagnose<message::empty_path>("--out", name));
    plan.outlets.push_back({name, path.value_or("")});
    if (path == "-") plan.raw_stdout = true;
  }
  for (std::string_view text : invocation.values("--image")) {
    keep(read_image_request(text), [&](ImageRequest image) {
      keep(find_output(request.program(), image.name), [&](BufferId id) {
        const Result<void> fits = choose_format(image, request.program().buffers[id.index],
                                                request.contents[id.index].size());
        append(wrong, fits.diagnostics());
        if (fits) plan.images.push_back(image);
      });
    });
  }
  std::uint64_t budget = memory_budget();
  for (std::string_view text : invocation.values("--expect")) {
    keep(read_expectation(text, request.program(), console, budget),
         [&](Expectation each) { plan.expected.push_back(std::move(each)); });
  }
  keep(read_format(invocation), [&](NumberFormat format) { plan.format = format; });
  std::set<std::filesystem::path> paths;
  const auto claim = [&](std::string_view path) {
    if (path.empty() || path == "-") return;
    append(wrong, check_writable(path, inputs_of(invocation), console).diagnostics());
    if (paths.insert(std::filesystem::path(path).lexically_normal()).second) return;
    wrong.push_back(diagnose<message::written_twice>(shorten(path)));
  };
  for (const Outlet& outlet : plan.outlets) claim(outlet.path);
  for (const ImageRequest& image : plan.images) claim(image.path);
  plan.all = invocation.value("--backend") == "all";
  keep(choose_backends(invocation, plan.fallback),
       [&](auto choices) { plan.choices = std::move(choices); });
  plan.strict = invocation.has("--strict");
  append(wrong, read_option(invocation, "--repeat", 1'000'000, plan.repeat));
  if (invocation.has("--trace")) {
    keep(read_trace_request(invocation, request), [&](TraceRequest trace) { plan.trace = trace; });
    for (std::string_view other : {"--repeat", "--threads"}) {
      if (invocation.has(other)) wrong.push_back(diagnose<message::conflict>("--trace", other));
    }
  }
  for (std::string_view option : {"--trace-all", "--trace-into"}) {
    if (!invocation.has(option) || invocation.has("--trace")) continue;
    wrong.push_back(diagnose<message::missing_option>(option, "--trace X,Y,Z"));
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

std::vector<Diagnostic> surprises(const Outputs& outputs, const Plan& plan) {
  std::vector<Diagnostic> all;
  for (const Expectation& each : plan.expected) {
    std::string differs;
    if (each.digest.empty()) {
      const auto buffer = std::ranges::find(outputs.buffers, each.name, &OutputBuffer::name);
      differs = difference(*buffer, each.bytes, ", not ");
    } else if (const std::string found = digest(outputs); found != each.digest) {
      differs = "the digest is " + found;
    }
    if (!differs.empty()) all.push_back(diagnose<message::unexpected>(differs));
  }
  return all;
}

}  // namespace vyre
