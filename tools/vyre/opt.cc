// `vyre opt`: prints programs as the passes leave them, and which accesses need no check.
#include <algorithm>

#include "tools/vyre/command.h"
#include "tools/vyre/request.h"
#include "vyre/backends/variants.h"
#include "vyre/base/text.h"
#include "vyre/passes/lower.h"
#include "vyre/passes/lowered.h"
#include "vyre/passes/pass.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

std::string pass_names() {
  return listed(all_passes(), [](const Pass& pass) { return pass.name; });
}

// What a target has that lacks what is listed.
Result<Capabilities> target_without(std::string_view list) {
  Capabilities target;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    const CapabilityInfo* found = find_capability(name);
    if (found == nullptr) {
      return diagnose<message::unknown_choice>(
          "--without", shown(name),
          listed(all_capabilities(), [](const CapabilityInfo& each) { return each.name; }));
    }
    target.*found->member = false;
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return target;
}

std::string assumption_list(const Lowered& variant, const Program& program) {
  return listed(variant.assumptions, [&](const Assumption& each) { return text(each, program); });
}

constexpr std::size_t kLong = 60;  // of an expression that is shown

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
std::string reason(const Program& program, const std::vector<bool>& data,
                   const CheckedAccess& access) {
  if (access.verdict == CheckedAccess::Verdict::Checked) {
    return data[access.index.index] ? "the index comes from data" : "";
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

// The index as the source writes it where it can be told: a local that the optimiser made is
// replaced by its value.
std::string written_index(const Program& program, const Program& source, ExprId index) {
  const auto in_source = [&](const std::string& name) {
    return std::ranges::find(source.body.locals, name, &Local::name) != source.body.locals.end();
  };
  while (program.body[index].op == Operation::Local) {
    const LocalId local{program.body[index].imm};
    if (in_source(program.body[local].name)) break;
    const auto made = std::ranges::find_if(program.body.stmts, [&](const Stmt& stmt) {
      const Let* let = std::get_if<Let>(&stmt);
      return let != nullptr && let->local == local;
    });
    if (made == program.body.stmts.end()) break;
    index = std::get<Let>(*made).value;
  }
  return print_expr(program.body, program.buffers, index, kLong);
}

struct ExplainedAccess {
  std::uint32_t line;  // of the source, or 0
  std::string path;    // of the statement in the optimised program
  std::string_view kind;
  std::string buffer;
  std::string index;
  std::string shape;
  std::string_view verdict;
  std::string why;
};

struct ExplainedProgram {
  std::string name;
  std::vector<ExplainedAccess> accesses;
  std::string assumptions;
};

ExplainedProgram explain_bounds(const Lowered& variant, const Program& source) {
  const Program& program = variant.program;
  const std::vector<bool> data = depends_on_data(program);
  ExplainedProgram explained{program.name, {}, assumption_list(variant, program)};
  for (const CheckedAccess& access : variant.bounds.accesses) {
    constexpr std::string_view kVerdicts[] = {"checked", "proved", "specialised"};
    const std::string_view kind = access.load.exists() ? "load"
                                  : std::holds_alternative<Store>(program.body[access.stmt])
                                      ? "store"
                                      : "atomic";
    explained.accesses.push_back(
        {variant.lines.empty() ? 0 : variant.lines[access.stmt.index],
         path_of(program.body, access.stmt), kind, program.buffers[access.buffer.index].name,
         written_index(program, source, access.index), text(variant.shapes[access.index]),
         kVerdicts[static_cast<std::size_t>(access.verdict)], reason(program, data, access)});
  }
  return explained;
}

// One line for each access.
std::string text_of(const ExplainedProgram& program) {
  const auto place = [](const ExplainedAccess& access) {
    return (access.line > 0 ? "line " + std::to_string(access.line) : access.path) + ": " +
           std::string(access.kind) + " " + access.buffer + "[" + access.index + "]";
  };
  std::array<std::size_t, 3> widths{};
  for (const ExplainedAccess& access : program.accesses) {
    widths[0] = std::max(widths[0], columns(place(access)));
    widths[1] = std::max(widths[1], columns(access.shape));
    widths[2] = std::max(widths[2], access.verdict.size());
  }
  const auto count = [&](std::string_view verdict) {
    return std::to_string(std::ranges::count(program.accesses, verdict, &ExplainedAccess::verdict));
  };
  std::string out = program.name + ": " + std::to_string(program.accesses.size()) +
                    (program.accesses.size() == 1 ? " access, " : " accesses, ") + count("proved") +
                    " proved, " + count("specialised") + " specialised, " + count("checked") +
                    " checked\n";
  for (const ExplainedAccess& access : program.accesses) {
    const auto padded = [](const std::string& word, std::size_t width) {
      return word + std::string(width - columns(word) + 2, ' ');
    };
    std::string row = "  " + padded(place(access), widths[0]) + padded(access.shape, widths[1]) +
                      padded(std::string(access.verdict), widths[2]) + access.why;
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  if (!program.assumptions.empty()) out += "  assuming " + program.assumptions + "\n";
  return out;
}

Json json_of(const ExplainedProgram& program) {
  JsonList accesses;
  for (const ExplainedAccess& access : program.accesses) {
    JsonObject each;
    each.add("line", access.line).add("path", access.path).add("kind", access.kind);
    each.add("buffer", access.buffer).add("index", access.index).add("shape", access.shape);
    accesses.add(each.add("verdict", access.verdict).add("reason", access.why));
  }
  JsonObject out;
  out.add("program", program.name).add("accesses", accesses);
  return out.add("assuming", program.assumptions);
}

// The place of what inlining reports, in the file.
std::vector<Diagnostic> located(const std::vector<Diagnostic>& found, const Loaded& loaded,
                                std::size_t item) {
  std::vector<Diagnostic> all = found;
  for (Diagnostic& diagnostic : all) {
    diagnostic.file = loaded.source.file;
    if (loaded.positions.empty() || !diagnostic.statement) continue;
    const std::uint32_t at = loaded.positions[item].statements[*diagnostic.statement].head.begin;
    diagnostic.path.clear();
    diagnostic = vyre::located(std::move(diagnostic), loaded.source, {at, at + 1});
  }
  return all;
}

}  // namespace

Result<int> run_opt(const Invocation& invocation, const Console& console) {
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
  if (shown_pass != nullptr && shown_pass->by_name() && passes.empty())
    passes.push_back(shown_pass);
  const Result<Capabilities> target = target_without(invocation.value("--without"));
  if (!target.ok()) wrong.push_back(target.diagnostics()[0]);
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
  if (!wrong.empty()) return wrong;

  // With a dispatch one program, otherwise all of the file.
  Request request;
  if (dispatched) {
    Result<Request> read = read_request(invocation, console);
    if (!read.ok()) return read.diagnostics();
    request = std::move(*read);
  } else {
    Result<Loaded> loaded = load_file(invocation.operands[0], console);
    if (!loaded.ok()) return loaded.diagnostics();
    request.loaded = std::move(*loaded);
  }
  const Result<std::vector<std::size_t>> chosen = chosen_programs(request.loaded, invocation);
  if (!chosen.ok()) return chosen.diagnostics();
  std::string out;
  JsonList bounds;
  for (std::size_t i : *chosen) {
    if (dispatched && i != request.item) continue;
    const Program* program = &std::get<Program>(request.loaded.module.items[i]);
    Linked linked = program_at(request.loaded, i);
    linked.set_source(source_lines(request.loaded, i));
    const auto add = [&](const std::string& more) { out += (out.empty() ? "" : "\n") + more; };
    Result<Program> result = optimise(linked, passes, [&](const Pass& pass, const Program& state) {
      if (shown_after != "all" && shown_after != pass.name) return true;
      add("// After " + std::string(pass.name) + ":\n" + print(Module{{state}}));
      return true;
    });
    if (!result.ok()) return located(result.diagnostics(), request.loaded, i);
    const Target plain{.name = {}, .capabilities = *target};
    Lowered lowered;
    if (dispatched) {
      const std::vector<std::span<const std::byte>> contents(request.contents.begin(),
                                                             request.contents.end());
      lowered = lower(*result, plain, facts_of(*program, request.grid, contents), &linked);
    } else {
      lowered = lower(*result, plain, &linked);
    }
    if (explains) {
      const ExplainedProgram explained = explain_bounds(lowered, *program);
      add(text_of(explained));
      bounds.add(json_of(explained));
    } else if (!invocation.has("--print-after")) {
      std::string head;
      if (!lowered.assumptions.empty()) {
        head = "// Only where " + assumption_list(lowered, *program) + ".\n";
      }
      add(head + print(Module{{lowered.program}}));
    }
  }
  if (json && explains) {
    console.print(JsonObject().add("programs", bounds).line());
    return kFine;
  }
  return print_text(out, json, console);
}

}  // namespace vyre
