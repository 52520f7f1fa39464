// `vyre opt`: prints programs as the passes leave them, and which accesses need no check.
#include <algorithm>
#include <set>

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

std::string pass_names() { return join(all_passes(), ", ", &Pass::name); }

// What a target has that lacks what is listed.
Result<Capabilities> target_without(std::string_view list) {
  Capabilities target;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    const CapabilityInfo* found = find_capability(name);
    if (found == nullptr) {
      return diagnose<message::unknown_choice>(
          "--without", shown(name), join(all_capabilities(), ", ", &CapabilityInfo::name));
    }
    target.*found->member = false;
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return target;
}

std::string assumption_list(const Lowered& variant, const Program& program) {
  return join(variant.assumptions, ", ",
              [&](const Assumption& each) { return text(each, program); });
}

constexpr std::size_t kLong = 60;  // of an expression that is shown

// A program to print: locals that the optimiser made are replaced by their values.
struct Readable {
  const Program& program;
  Body body;
  std::vector<ExprId> written;  // by expression of the program

  std::string text(ExprId expr) const {
    return print_expr(body, program.buffers, written[expr.index], kLong);
  }
};

// What each local is bound to that no name of the source says and nothing changes.
std::vector<std::optional<ExprId>> made_locals(const Program& program, const Program& source) {
  const Body& body = program.body;
  std::vector<std::optional<ExprId>> values(body.locals.size());
  for (const Stmt& stmt : body.stmts) {
    if (const Let* let = std::get_if<Let>(&stmt)) values[let->local.index] = let->value;
  }
  for (const Stmt& stmt : body.stmts) {
    if (const Assign* assign = std::get_if<Assign>(&stmt)) values[assign->local.index].reset();
  }
  std::set<std::string_view> names;
  for (const Local& local : source.body.locals) names.insert(local.name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (names.contains(body.locals[i].name)) values[i].reset();
  }
  return values;
}

Readable readable(const Program& program, const Program& source) {
  Readable out{program, program.body, {}};
  const auto made = made_locals(program, source);
  // Operands precede users, and what a local is bound to precedes the local.
  for (std::uint32_t i = 0; i < out.body.exprs.size(); ++i) {
    Expr& expr = out.body.exprs[i];
    const auto rewrite = [&](ExprId& operand) { operand = out.written[operand.index]; };
    const int arity = info(expr.op).arity;
    for (int operand = 0; operand < arity; ++operand) {
      rewrite(expr.args[static_cast<std::size_t>(operand)]);
    }
    for (std::uint32_t k = 0; arity < 0 && k < expr.args[1].index; ++k) {
      rewrite(out.body.operands[expr.args[0].index + k]);
    }
    const auto value = expr.op == Operation::Local ? made[expr.imm] : std::nullopt;
    out.written.push_back(value && value->index < i ? out.written[value->index] : ExprId{i});
  }
  return out;
}

// The branch or loop that proves an access, as it is written.
std::string head_of(const Readable& shown, StmtId id) {
  const Body& body = shown.program.body;
  if (const If* branch = std::get_if<If>(&body[id])) {
    return "`if " + shown.text(branch->condition) + "`";
  }
  const For& loop = std::get<For>(body[id]);
  return "`for " + body[loop.variable].name + " in " + shown.text(loop.from) + ".." +
         shown.text(loop.to) + "`";
}

struct Lines {
  std::uint32_t first = 0;  // 0: nobody knows
  std::uint32_t last = 0;
};

BufferId written_by(const Stmt& stmt) {
  if (const Store* store = std::get_if<Store>(&stmt)) return store->buffer;
  if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) return atomic->buffer;
  return {};
}

// The lines of all statements that write a buffer.
Lines lines_of_writes(const Linked& source, std::string_view buffer) {
  const Program& program = source.program();
  Lines lines;
  for (std::size_t i = 0; i < source.source().lines.size(); ++i) {
    const BufferId id = written_by(program.body.stmts[i]);
    if (!id.exists() || program.buffers[id.index].name != buffer) continue;
    const std::uint32_t line = source.source().lines[i];
    lines.first = lines.first == 0 ? line : std::min(lines.first, line);
    lines.last = std::max(lines.last, line);
  }
  return lines;
}

// Where a statement comes from. What only computes and has no line was made for what follows it;
// one of several that write a buffer is one of them.
Lines lines_of(const Lowered& variant, const Linked& source, StmtId stmt) {
  for (std::size_t i = stmt.index; i < variant.lines.size(); ++i) {
    if (variant.lines[i] > 0) return {variant.lines[i], variant.lines[i]};
    const BufferId buffer = written_by(variant.program.body.stmts[i]);
    if (buffer.exists()) {
      return lines_of_writes(source, variant.program.buffers[buffer.index].name);
    }
  }
  return {};
}

std::string place_text(const Lines& lines, const std::string& path) {
  if (lines.first == 0) return path;
  if (lines.first == lines.last) return "line " + std::to_string(lines.first);
  return "lines " + std::to_string(lines.first) + ".." + std::to_string(lines.last);
}

// Why an access is as it is.
std::string reason(const Readable& shown, const std::vector<bool>& data,
                   const CheckedAccess& access) {
  if (access.verdict == CheckedAccess::Verdict::Checked) {
    return data[access.index.index] ? "the index comes from data" : "";
  }
  std::string why;
  if (access.guard.exists()) why = head_of(shown, access.guard);
  for (const auto& [shorter, longer] : access.orders) {
    const Assumption order{Assumption::Kind::Order, 0, shorter, longer, 0, 0};
    why += (why.empty() ? "" : ", ") + text(order, shown.program);
  }
  if (access.verdict == CheckedAccess::Verdict::Proved && why.empty()) {
    why = "at most " + std::to_string(access.most);
  }
  if (access.verdict == CheckedAccess::Verdict::Specialised && access.orders.empty()) {
    why += why.empty() ? "this dispatch" : ", this dispatch";
  }
  return why;
}

// Rows of cells in columns; the last cell of a row is as long as it is.
std::string aligned(const std::vector<std::array<std::string, 4>>& rows) {
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < 3; ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t i = 0; i < 3; ++i) {
      line += row[i] + std::string(widths[i] - columns(row[i]) + 2, ' ');
    }
    line += row[3];
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

// Of an access that one instruction makes together with its neighbours: how many there are; else 1.
std::uint32_t width_of(const Lowered& variant, std::size_t access) {
  const std::uint32_t pack = variant.places.all[access].pack;
  return pack == AccessPlace::kNoPack ? 1 : variant.places.packs[pack].width;
}

// Pairs of a product and a mul_high of which one multiplication makes both.
std::vector<std::string> whole_products(const Lowered& variant, const Readable& shown) {
  std::vector<std::string> list;
  const Program& program = variant.program;
  for (std::uint32_t i = 0; i < program.body.exprs.size(); ++i) {
    if (!variant.products[i] || program.body.exprs[i].op != Operation::MulHigh) continue;
    list.push_back(shown.text(ExprId{i}));
  }
  return list;
}

// Each access of a program: where it is, whether it needs a check, and why.
struct Explained {
  std::string text;
  JsonObject json;
};

// `file` is where it is written, where that is not the first file.
Explained explain_bounds(const Lowered& variant, const Linked& source, std::string_view file) {
  constexpr std::string_view kVerdicts[] = {"checked", "proved", "specialised"};
  const Program& program = variant.program;
  const Readable shown = readable(program, source.program());
  const std::vector<bool> data = depends_on_data(program);
  std::array<std::size_t, 3> counts{};  // of each verdict
  std::vector<std::array<std::string, 4>> rows;
  JsonList accesses;
  for (const CheckedAccess& access : variant.bounds.accesses) {
    const Lines lines = lines_of(variant, source, access.stmt);
    const std::string path = path_of(program.body, access.stmt);
    const std::string kind = access.load.exists()                                       ? "load"
                             : std::holds_alternative<Store>(program.body[access.stmt]) ? "store"
                                                                                        : "atomic";
    const std::string& buffer = program.buffers[access.buffer.index].name;
    const std::string index = shown.text(access.index);
    const std::string shape = text(variant.shapes[access.index]);
    const auto number = static_cast<std::size_t>(access.verdict);
    const std::string verdict(kVerdicts[number]);
    const std::uint32_t width = width_of(variant, rows.size());
    std::string why = reason(shown, data, access);
    if (width > 1) why += (why.empty() ? "" : "; ") + std::to_string(width) + " elements at once";
    ++counts[number];
    rows.push_back({place_text(lines, path) + ": " + kind + " " + buffer + "[" + index + "]", shape,
                    verdict, why});
    JsonObject each;
    each.add("line", lines.first)
        .add("end_line", lines.last)
        .add("path", path)
        .add("kind", kind)
        .add("buffer", buffer);
    each.add("index", index).add("shape", shape).add("verdict", verdict).add("reason", why);
    each.add("elements", width);
    accesses.add(each);
  }
  Explained explained;
  explained.text = program.name + (file.empty() ? "" : " in " + path_text(file)) + ": " +
                   std::to_string(rows.size()) + (rows.size() == 1 ? " access, " : " accesses, ") +
                   std::to_string(counts[1]) + " proved, " + std::to_string(counts[2]) +
                   " specialised, " + std::to_string(counts[0]) + " checked\n" + aligned(rows);
  JsonList products;
  for (const std::string& product : whole_products(variant, shown)) {
    explained.text += "  both halves of the product of `" + product + "` at once\n";
    products.add(product);
  }
  const std::string assumptions = assumption_list(variant, program);
  if (!assumptions.empty()) explained.text += "  assuming " + assumptions + "\n";
  explained.json.add("program", program.name);
  if (!file.empty()) explained.json.add("file", file);
  explained.json.add("accesses", accesses);
  explained.json.add("products", products).add("assuming", assumptions);
  return explained;
}

// The place of what inlining reports, in the file.
std::vector<Diagnostic> located(const std::vector<Diagnostic>& found, const Loaded& loaded,
                                std::size_t item) {
  std::vector<Diagnostic> all = found;
  for (Diagnostic& diagnostic : all) {
    diagnostic.file = loaded.file_of(item);
    if (loaded.positions.empty() || !diagnostic.statement) continue;
    const std::uint32_t at = loaded.positions[item].statements[*diagnostic.statement].head.begin;
    diagnostic.path.clear();
    diagnostic = vyre::located(std::move(diagnostic), loaded.source, {at, at + 1});
  }
  return all;
}

// What is to be done with each program.
struct OptPlan {
  std::vector<const Pass*> passes;  // empty: all
  std::string_view shown_after;     // a pass, "all", or empty
  Capabilities target;
  bool explains = false;
  bool dispatched = false;
};

Result<OptPlan> read_opt_plan(const Invocation& invocation) {
  OptPlan plan;
  std::vector<Diagnostic> wrong;
  for (std::string_view name : invocation.values("--pass")) {
    plan.passes.push_back(find_pass(name));
    if (plan.passes.back() == nullptr) {
      wrong.push_back(diagnose<message::unknown_pass>(shown(name), pass_names()));
    }
  }
  const bool prints = invocation.has("--print-after");
  plan.shown_after = invocation.value("--print-after");
  const Pass* shown_pass = find_pass(plan.shown_after);
  if (prints && plan.shown_after != "all" && shown_pass == nullptr) {
    wrong.push_back(
        diagnose<message::unknown_pass>(shown(plan.shown_after), pass_names() + ", all"));
  }
  // A pass that only runs by name is asked for by this too.
  if (shown_pass != nullptr && shown_pass->by_name() && plan.passes.empty()) {
    plan.passes.push_back(shown_pass);
  }
  const Result<Capabilities> target = target_without(invocation.value("--without"));
  append(wrong, target.diagnostics());
  if (target) plan.target = *target;
  plan.explains = invocation.has("--explain-bounds");
  plan.dispatched = invocation.has("--grid") || invocation.has("--over") || invocation.has("--in");
  for (std::string_view other : {"--pass", "--print-after"}) {
    if (plan.dispatched && invocation.has(other)) {
      const std::string_view one = invocation.has("--grid")   ? "--grid"
                                   : invocation.has("--over") ? "--over"
                                                              : "--in";
      wrong.push_back(diagnose<message::conflict>(one, other));
    }
  }
  if (plan.explains && prints) {
    wrong.push_back(diagnose<message::conflict>("--explain-bounds", "--print-after"));
  }
  if (!wrong.empty()) return wrong;
  return plan;
}

// With a dispatch one program, otherwise all of the file that are chosen.
Result<Request> read_programs(const Invocation& invocation, const OptPlan& plan,
                              const Console& console, std::vector<std::size_t>& items) {
  if (plan.dispatched) {
    Result<Request> request = read_request(invocation, console);
    if (request) items = {request->item};
    return request;
  }
  Result<Loaded> loaded = load_file(invocation.operands[0], invocation, console);
  if (!loaded) return loaded.diagnostics();
  Result<std::vector<std::size_t>> chosen = chosen_programs(*loaded, invocation);
  if (!chosen) return chosen.diagnostics();
  items = std::move(*chosen);
  Request request;
  request.loaded = std::move(*loaded);
  return request;
}

}  // namespace

Result<int> run_opt(const Invocation& invocation, const Console& console) {
  const Result<OptPlan> plan = read_opt_plan(invocation);
  if (!plan) return plan.diagnostics();
  std::vector<std::size_t> items;
  const Result<Request> request = read_programs(invocation, *plan, console, items);
  if (!request) return request.diagnostics();
  const Loaded& loaded = request->loaded;
  const std::vector<SourceLines> lines = source_lines(loaded);
  std::string out;
  JsonList bounds;
  for (std::size_t i : items) {
    const Program& program = std::get<Program>(loaded.module.items[i]);
    Linked linked = program_at(loaded, i);
    linked.set_source(lines[i]);
    const auto add = [&](const std::string& more) { out += (out.empty() ? "" : "\n") + more; };
    const Result<Program> result =
        optimise(linked, plan->passes, [&](const Pass& pass, const Program& state) {
          if (plan->shown_after == "all" || plan->shown_after == pass.name) {
            add("// After " + std::string(pass.name) + ":\n" + print(state));
          }
          return true;
        });
    if (!result) return located(result.diagnostics(), loaded, i);
    if (!plan->shown_after.empty()) continue;
    const Target target{.name = {}, .capabilities = plan->target};
    const std::vector<std::span<const std::byte>> contents(request->contents.begin(),
                                                           request->contents.end());
    const Lowered lowered =
        plan->dispatched
            ? lower(*result, target, facts_of(program, request->grid, contents), &linked)
            : lower(*result, target, &linked);
    if (plan->explains) {
      const std::string_view file = i < loaded.own_items ? "" : loaded.file_of(i);
      const Explained explained = explain_bounds(lowered, linked, file);
      add(explained.text);
      bounds.add(explained.json);
      continue;
    }
    const std::string assumptions = assumption_list(lowered, program);
    add((assumptions.empty() ? "" : "// Only where " + assumptions + ".\n") +
        print(lowered.program));
  }
  if (!plan->explains || !invocation.json()) return print_text(out, invocation.json(), console);
  console.print(JsonObject().add("programs", bounds).line());
  return kFine;
}

}  // namespace vyre
