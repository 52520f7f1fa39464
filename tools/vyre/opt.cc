// `vyre opt`: prints programs as the passes leave them, and which accesses need no check.
#include <algorithm>

#include "tools/vyre/command.h"
#include "tools/vyre/request.h"
#include "vyre/backends/variants.h"
#include "vyre/base/text.h"
#include "vyre/passes/affine.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

std::string pass_names() {
  std::string names;
  for (const Pass& pass : all_passes()) {
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  return names;
}

std::string assumption_list(const Variant& variant, const Program& program) {
  std::string list;
  for (const Assumption& each : variant.assumptions) {
    list += (list.empty() ? "" : ", ") + text(each, program);
  }
  return list;
}

constexpr std::size_t kLong = 60;  // of an expression that is shown

// How many characters a text has.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The branch or loop that proves an access, as it is written.
std::string head_of(const Program& program, StmtId id) {
  const auto written = [&](ExprId expr) {
    return print_expr(program.body, program.buffers, expr, kLong);
  };
  if (const If* branch = std::get_if<If>(&program.body[id])) {
    return "`if " + written(branch->condition) + "`";
  }
  const For& loop = std::get<For>(program.body[id]);
  return "`for " + program.body[loop.variable].name + " in " + written(loop.from) + ".." +
         written(loop.to) + "`";
}

// Why an access is as it is.
std::string reason(const Program& program, const CheckedAccess& access) {
  if (access.verdict == CheckedAccess::Verdict::Checked) {
    return access.from_data ? "the index comes from data" : "";
  }
  std::string why;
  if (access.guard.exists()) why = head_of(program, access.guard);
  for (const auto& [shorter, longer] : access.orders) {
    const Assumption order{Assumption::Kind::Order, 0, shorter, longer, 0, 0};
    why += (why.empty() ? "" : ", ") + text(order, program);
  }
  if (access.verdict == CheckedAccess::Verdict::Proved && why.empty()) {
    why = "at most " + std::to_string(access.most);
  }
  if (access.verdict == CheckedAccess::Verdict::Specialised && access.orders.empty()) {
    why += why.empty() ? "this dispatch" : ", this dispatch";
  }
  return why;
}

// One line for each access.
std::string explain_bounds(const Variant& variant) {
  const Program& program = variant.program;
  const Shapes shapes = shapes_of(program);
  struct Line {
    std::string access;
    std::string verdict;
    std::string why;
    std::string shape;
  };
  std::vector<Line> lines;
  std::array<std::size_t, 3> counts{};
  std::array<std::size_t, 3> widths{};
  for (const CheckedAccess& access : variant.bounds.accesses) {
    constexpr std::string_view kVerdicts[] = {"checked", "proved", "specialised"};
    const auto verdict = static_cast<std::size_t>(access.verdict);
    ++counts[verdict];
    std::string what = "load ";
    if (!access.load.exists()) {
      what = std::holds_alternative<Store>(program.body[access.stmt]) ? "store " : "atomic ";
    }
    const std::string element = program.buffers[access.buffer.index].name + "[" +
                                print_expr(program.body, program.buffers, access.index, kLong) +
                                "]";
    lines.push_back({path_of(program.body, access.stmt) + ": " + what + element,
                     std::string(kVerdicts[verdict]), reason(program, access),
                     text(shapes[access.index])});
    widths[0] = std::max(widths[0], width_of(lines.back().access));
    widths[1] = std::max(widths[1], width_of(lines.back().verdict));
    widths[2] = std::max(widths[2], width_of(lines.back().shape));
  }
  std::string out = program.name + ": " + std::to_string(lines.size()) +
                    (lines.size() == 1 ? " access, " : " accesses, ") + std::to_string(counts[1]) +
                    " proved, " + std::to_string(counts[2]) + " specialised, " +
                    std::to_string(counts[0]) + " checked\n";
  for (const Line& line : lines) {
    const auto padded = [](const std::string& word, std::size_t width) {
      return word + std::string(width - width_of(word) + 2, ' ');
    };
    std::string row = "  " + padded(line.access, widths[0]) + padded(line.shape, widths[2]) +
                      padded(line.verdict, widths[1]) + line.why;
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  if (!variant.assumptions.empty()) {
    out += "  assuming " + assumption_list(variant, program) + "\n";
  }
  return out;
}

// The place of what inlining reports, in the file.
std::vector<Diagnostic> located(const std::vector<Diagnostic>& found, const Loaded& loaded,
                                std::size_t item) {
  std::vector<Diagnostic> all = found;
  for (Diagnostic& diagnostic : all) {
    diagnostic.file = loaded.source.file;
    if (loaded.positions.empty() || !diagnostic.statement) continue;
    const std::uint32_t at = loaded.positions[item].statements[*diagnostic.statement].begin;
    diagnostic.path.clear();
    Findings findings;
    findings.add(std::move(diagnostic), {at, at + 1});
    diagnostic = std::move(findings).located(loaded.source)[0];
  }
  return all;
}

}  // namespace

int run_opt(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const bool explains = invocation.has("--explain-bounds");
  std::vector<Diagnostic> wrong;
  std::vector<const Pass*> passes;
  for (std::string_view name : invocation.values("--pass")) {
    passes.push_back(find_pass(name));
    if (passes.back() == nullptr) {
      wrong.push_back(diagnose<message::unknown_pass>(shown(name), pass_names()));
    }
  }
  const std::string_view shown_after = invocation.value("--print-after");
  if (invocation.has("--print-after") && shown_after != "all" &&
      find_pass(shown_after) == nullptr) {
    wrong.push_back(diagnose<message::unknown_pass>(shown(shown_after), pass_names() + ", all"));
  }
  // A pass that only runs by name is asked for by this too.
  const Pass* shown_pass = find_pass(shown_after);
  if (shown_pass != nullptr && shown_pass->by_name && passes.empty()) passes.push_back(shown_pass);
  const bool dispatched = invocation.has("--grid") || invocation.has("--in");
  for (std::string_view other : {"--pass", "--print-after"}) {
    if (dispatched && invocation.has(other)) {
      const std::string_view one = invocation.has("--grid") ? "--grid" : "--in";
      wrong.push_back(diagnose<message::conflict>(one, other));
    }
  }
  if (explains && invocation.has("--print-after")) {
    wrong.push_back(diagnose<message::conflict>("--explain-bounds", "--print-after"));
  }
  if (!wrong.empty()) return report(wrong, json, console);

  // With a dispatch one program, otherwise all of the file.
  Request request;
  if (dispatched) {
    Result<Request> read = read_request(invocation, console);
    if (!read.ok()) return report(read.diagnostics(), json, console);
    request = std::move(*read);
  } else {
    Result<Source> source = read_input(invocation.operands[0], console);
    if (!source.ok()) return report(source.diagnostics(), json, console);
    Result<Loaded> loaded = load(std::move(*source));
    if (!loaded.ok()) return report(loaded.diagnostics(), json, console);
    request.loaded = std::move(*loaded);
    if (const auto added = request.registry.add(request.loaded.module); !added.ok()) {
      return report(added.diagnostics(), json, console);
    }
  }
  const std::vector<Item>& items = request.loaded.module.items;
  const std::string_view only = invocation.value("--program");
  std::string out;
  std::string names;
  bool any = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Program* program = std::get_if<Program>(&items[i]);
    if (program == nullptr || (dispatched && i != request.item)) continue;
    names += (names.empty() ? "" : ", ") + shorten(program->name);
    if (invocation.has("--program") && program->name != only) continue;
    any = true;
    const Result<Linked> linked = link(*program, request.registry);
    if (!linked.ok()) return report(linked.diagnostics(), json, console);
    const auto add = [&](const std::string& more) { out += (out.empty() ? "" : "\n") + more; };
    const Result<Program> result =
        optimise(*linked, passes, [&](const Pass& pass, const Program& state) {
          if (shown_after != "all" && shown_after != pass.name) return true;
          add("// After " + std::string(pass.name) + ":\n" + print(Module{{state}}));
          return true;
        });
    if (!result.ok())
      return report(located(result.diagnostics(), request.loaded, i), json, console);
    Variant variant{*result, {}, {}};
    if (dispatched) {
      const std::vector<std::span<const std::byte>> contents(request.contents.begin(),
                                                             request.contents.end());
      variant = special_variant(*result, facts_of(*program, request.grid, contents));
    } else if (explains) {
      variant.bounds = bounds_of(*result);
    }
    if (explains) {
      add(explain_bounds(variant));
    } else if (!invocation.has("--print-after")) {
      std::string head;
      if (!variant.assumptions.empty()) {
        head = "// Only where " + assumption_list(variant, *program) + ".\n";
      }
      add(head + print(Module{{variant.program}}));
    }
  }
  if (!any) {
    const std::string& file = request.loaded.source.file;
    return report({{names.empty() ? diagnose<message::no_programs>(file)
                                  : diagnose<message::unknown_program>(file, shown(only), names)}},
                  json, console);
  }
  return print_text(out, json, console);
}

}  // namespace vyre
