// `vyre bench`: times a program on several backends, side by side. Each of them first runs it once,
// and times are shown only if all gave the same bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/vyre/interrupt.h"
#include "tools/vyre/plan.h"
#include "tools/vyre/progress.h"
#include "tools/vyre/times.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// --- Running ------------------------------------------------------------------------------------

// Names with commas between them; `all` adds those that are not named.
Result<std::vector<Choice>> read_choices(std::string_view list) {
  std::vector<Choice> choices;
  const auto add = [&](const Backend& backend, bool named) {
    const auto known = std::ranges::find(choices, &backend, &Choice::backend);
    if (known == choices.end())
      choices.push_back({&backend, 0, named});
    else
      known->named = known->named || named;
  };
  for (std::string_view name : parts_of(list, ',')) {
    if (name == "all") {
      add(default_backend(), false);
      for (const Backend& backend : all_backends()) add(backend, false);
      continue;
    }
    const Result<const Backend*> backend = named_backend(name);
    if (!backend.ok()) return backend.diagnostics();
    add(**backend, true);
  }
  return choices;
}

struct BenchPlan {
  std::vector<Choice> choices;
  std::uint64_t runs = 11;
  double limit = 5;      // seconds of a backend's runs
  std::string_view svg;  // empty: none
};

Result<BenchPlan> read_bench_plan(const Invocation& invocation, const Console& console) {
  BenchPlan plan;
  std::vector<Diagnostic> wrong;
  const bool chosen = invocation.has("--backend");
  const Result<std::vector<Choice>> choices =
      read_choices(chosen ? invocation.value("--backend") : "all");
  append(wrong, choices.diagnostics());
  if (choices.ok()) plan.choices = *choices;
  append(wrong, choose_device(invocation, plan.choices));
  append(wrong, read_option(invocation, "--runs", 1'000'000, plan.runs));
  append(wrong, read_option(invocation, "--seconds", 1'000'000, plan.limit));
  if (invocation.has("--svg")) {
    plan.svg = invocation.value("--svg");
    if (plan.svg != "-") {
      append(wrong, check_writable(plan.svg, inputs_of(invocation), console).diagnostics());
    } else if (invocation.json()) {
      wrong.push_back(diagnose<message::stdout_twice>("a picture", "JSON"));
    }
  }
  if (!wrong.empty()) return wrong;
  return plan;
}

// The program on a backend, with its own buffers.
struct Contestant {
  const Backend* backend;
  std::unique_ptr<Device> device;
  Pipeline pipeline;
  std::vector<DeviceBuffer> buffers;  // empty ones for workgroup memory
  std::vector<double> seconds;        // of the runs that count
  double first = 0;                   // of the one that was compared
  double used = 0;                    // by those that count
};

Result<double> run_once(Contestant& contestant, const Request& request, const RunOptions& options) {
  if (interrupted()) return diagnose<message::interrupted>();
  PipelineLaunch launch{&contestant.pipeline, request.grid, {}};
  for (std::size_t i = 0; i < contestant.buffers.size(); ++i) {
    const BufferDecl& buffer = request.program().buffers[i];
    if (buffer.access == BufferAccess::Workgroup) continue;
    launch.buffers.push_back({buffer.name, &contestant.buffers[i]});
  }
  const Result<std::vector<double>> seconds =
      run_launches(*contestant.device, {&launch, 1}, options);
  if (!seconds.ok()) return seconds.diagnostics();
  return (*seconds)[0];
}

Result<Contestant> prepare(const Choice& choice, const Request& request) {
  Result<std::unique_ptr<Device>> device = open_device(*choice.backend, choice.device);
  if (!device.ok()) return device.diagnostics();
  Result<Pipeline> pipeline = make_pipeline(**device, request.linked);
  if (!pipeline.ok()) return pipeline.diagnostics();
  Contestant contestant{choice.backend, std::move(*device), std::move(*pipeline), {}, {}, 0, 0};
  for (const Bytes& bytes : request.contents) {
    Result<DeviceBuffer> buffer = make_buffer(*contestant.device, bytes);
    if (!buffer.ok()) return buffer.diagnostics();
    contestant.buffers.push_back(std::move(*buffer));
  }
  const Result<double> first = run_once(contestant, request, request.options);
  if (!first.ok()) return first.diagnostics();
  contestant.first = *first;
  return contestant;
}

Result<Outputs> read_outputs(const Contestant& contestant, const Program& program) {
  std::vector<Bytes> contents(program.buffers.size());
  for (BufferId id : outputs_of(program)) {
    Result<Bytes> bytes = read_buffer(contestant.buffers[id.index]);
    if (!bytes.ok()) return bytes.diagnostics();
    contents[id.index] = std::move(*bytes);
  }
  return take_outputs(program, std::move(contents));
}

struct LeftOut {
  const Backend* backend;
  std::string reason;
};

// All that can run, and have given the same bytes.
Result<std::vector<Contestant>> prepare_all(const BenchPlan& plan, Request& request,
                                            const Console& console,
                                            std::vector<LeftOut>& left_out) {
  std::vector<Contestant> contestants;
  Outputs expected;
  std::vector<Diagnostic> failed;
  for (const Choice& choice : plan.choices) {
    Result<Contestant> contestant = [&] {
      Progress progress(console);
      request.options.progress = progress.sink();
      return prepare(choice, request);
    }();
    if (!contestant.ok()) {
      failed = contestant.diagnostics();
      if (choice.named || name(failed[0].code)[0] != 'B') return failed;
      // A backend without a device here is not expected, so it is not listed as left out.
      if (failed[0].code != Code::B003) left_out.push_back({choice.backend, failed[0].problem});
      continue;
    }
    Result<Outputs> outputs = read_outputs(*contestant, request.program());
    if (!outputs.ok()) return outputs.diagnostics();
    if (contestants.empty()) {
      expected = std::move(*outputs);
    } else if (const std::string differs = difference(expected, *outputs); !differs.empty()) {
      return diagnose<message::disagreement>(contestants[0].backend->name, choice.backend->name,
                                             differs);
    }
    contestants.push_back(std::move(*contestant));
  }
  if (contestants.empty()) return failed;
  return contestants;
}

// One run of each, then the next of each, so that what disturbs the machine disturbs all of them.
std::vector<Diagnostic> time_all(std::vector<Contestant>& contestants, const BenchPlan& plan,
                                 const Request& request, const Console& console) {
  Progress progress(console);
  const std::function<void(double)> tell = progress.sink();
  RunOptions options = request.options;
  options.progress = nullptr;
  double expected = 1e-9;
  double used = 0;
  for (Contestant& contestant : contestants) {
    // A run that takes this long needs no warming up, and nobody wants to wait for it twice.
    if (contestant.first >= plan.limit) {
      contestant.seconds = {contestant.first};
      contestant.used = contestant.first;
    } else {
      expected += std::min(contestant.first * static_cast<double>(plan.runs), plan.limit);
    }
  }
  for (std::uint64_t i = 0; i < plan.runs; ++i) {
    for (Contestant& contestant : contestants) {
      if (contestant.used >= plan.limit) continue;
      const Result<double> seconds = run_once(contestant, request, options);
      if (!seconds.ok()) return seconds.diagnostics();
      contestant.seconds.push_back(*seconds);
      contestant.used += *seconds;
      used += *seconds;
      if (tell) tell(std::min(used / expected, 0.99));
    }
  }
  return {};
}

// --- Showing ------------------------------------------------------------------------------------

struct Row {
  const Contestant* ran;
  double median;
  double bytes;        // 10^9 of them in a second
  double invocations;  // the same
  double ratio;        // of the median to that of the first row

  std::string_view backend() const { return ran->backend->name; }
  const std::string& device() const { return ran->device->info().name; }
  double spread() const { return spread_of(ran->seconds); }
};

struct Table {
  const Program& program;
  Grid grid;
  Wide invocations;
  std::uint64_t bytes;
  std::vector<Row> rows;

  std::string title() const {
    const auto count = [](std::uint32_t groups) { return std::to_string(groups); };
    return shorten(program.name) + ", grid " + join(grid.axes, ",", count);
  }
};

Table make_table(const std::vector<Contestant>& contestants, const Request& request) {
  Table table{request.program(), request.grid, invocations_of(request), 0, {}};
  for (const Bytes& bytes : request.contents) table.bytes += bytes.size();
  for (const Contestant& contestant : contestants) {
    // No clock is finer than a nanosecond.
    const double median = std::max(quantile(contestant.seconds, 0.5), 1e-9);
    const double first = table.rows.empty() ? median : table.rows[0].median;
    table.rows.push_back({&contestant, median, static_cast<double>(table.bytes) / median / 1e9,
                          static_cast<double>(table.invocations) / median / 1e9, median / first});
  }
  return table;
}

std::vector<Bar> bars_of(const Table& table) {
  std::vector<Bar> bars;
  for (const Row& row : table.rows) {
    bars.push_back(
        {std::string(row.backend()), row.device(), row.median,
         short_number(row.bytes) + " GB/s, " + short_number(row.invocations) + " G invocations/s"});
  }
  return bars;
}

std::string table_text(const Table& table, const std::vector<LeftOut>& left_out) {
  std::string out = table.title() + ": " + decimal(table.invocations) +
                    (table.invocations == 1 ? " invocation, " : " invocations, ") +
                    plural(table.bytes, "byte") + " in buffers\n\n";
  const auto add = [&](const std::array<std::string, 7>& cells, const std::string& device) {
    constexpr std::size_t kWidths[] = {8, 7, 10, 8, 11, 11, 10};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(kWidths[i] - std::min(kWidths[i], cells[i].size()), ' ');
      out += i == 0 ? cells[i] + space : space + cells[i];
    }
    out += "  " + device + "\n";
  };
  add({"backend", "runs", "median", "spread", "GB/s", "G inv/s", "ratio"}, "device");
  for (const Row& row : table.rows) {
    char spread[32];
    std::snprintf(spread, sizeof spread, "%.1f %%", row.spread() * 100);
    add({std::string(row.backend()), std::to_string(row.ran->seconds.size()), time_text(row.median),
         spread, short_number(row.bytes), short_number(row.invocations), short_number(row.ratio)},
        shorten(row.device()));
  }
  for (const LeftOut& other : left_out) out += "left out: " + other.reason + "\n";
  return out;
}

JsonObject row_json(const Row& row) {
  JsonObject out;
  out.add("backend", row.backend()).add("device", row.device());
  out.add("seconds", json_list_of(row.ran->seconds));
  out.add("median", row.median).add("spread", row.spread());
  out.add("gigabytes_per_second", row.bytes);
  return out.add("giga_invocations_per_second", row.invocations).add("ratio", row.ratio);
}

std::string table_json(const Table& table, const std::vector<LeftOut>& left_out) {
  const auto reason = [](const LeftOut& other) {
    return JsonObject().add("backend", other.backend->name).add("reason", other.reason);
  };
  return JsonObject()
      .add("program", table.program.name)
      .add("grid", json_list_of(table.grid.axes))
      .add("invocations", Json::raw(decimal(table.invocations)))
      .add("bytes", table.bytes)
      .add("results", json_list_of(table.rows, row_json))
      .add("left_out", json_list_of(left_out, reason))
      .line();
}

// Whether standard output shows more than ASCII, as far as the environment says.
bool shows_unicode(const Console& console) {
  if (!console.out_is_terminal) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    return strcasestr(locale, "utf-8") != nullptr || strcasestr(locale, "utf8") != nullptr;
  }
  return false;
}

}  // namespace

Result<int> run_bench(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  Result<Request> request = read_request(invocation, console);
  if (!request.ok()) return request.diagnostics();
  const Result<BenchPlan> plan = read_bench_plan(invocation, console);
  if (!plan.ok()) return plan.diagnostics();

  const Interruptible interruptible(json, console);
  std::vector<LeftOut> left_out;
  Result<std::vector<Contestant>> contestants = prepare_all(*plan, *request, console, left_out);
  if (!contestants.ok()) return report(contestants.diagnostics(), json, console);
  const std::vector<Diagnostic> wrong = time_all(*contestants, *plan, *request, console);
  if (!wrong.empty()) return report(wrong, json, console);

  const Table table = make_table(*contestants, *request);
  const std::vector<Bar> bars = bars_of(table);
  const Console readable = plan->svg == "-" ? console.beside() : console;
  if (!plan->svg.empty()) {
    const std::string picture =
        svg_bars(table.title(), "medians; the longer the bar, the faster", bars);
    if (plan->svg == "-") {
      console.print(picture);
    } else if (const Result<void> written = write_file(plan->svg, picture); !written.ok()) {
      return report(written.diagnostics(), json, console);
    }
  }
  readable.print(json ? table_json(table, left_out)
                      : table_text(table, left_out) + "\n" +
                            draw_bars(bars, columns_of(readable), shows_unicode(readable)));
  return kFine;
}

}  // namespace vyre
