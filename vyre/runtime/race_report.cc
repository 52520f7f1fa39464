#include "vyre/runtime/race_report.h"

#include <algorithm>
#include <map>
#include <string>

#include "vyre/backends/interp/device.h"
#include "vyre/base/text.h"
#include "vyre/interp/interp.h"
#include "vyre/ir/walk.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

// --- Places -------------------------------------------------------------------------------------

// Which use of its statement an expression is, in the order of for_each_use().
std::uint32_t use_of(const Body& body, StmtId stmt, ExprId expr) {
  std::uint32_t count = 0;
  std::optional<std::uint32_t> found;
  for (ExprId root : roots(body[stmt])) {
    for_each_use(body, root, [&](ExprId id) {
      if (id == expr && !found) found = count;
      ++count;
    });
  }
  return found.value_or(0);
}

class Describer {
 public:
  // Both are null for a program that does not come from a file; a wire file has no positions.
  Describer(const Program& program, const Source* source, const ItemPositions* positions)
      : program_(program), source_(source), positions_(positions) {
    if (source != nullptr) lines_.emplace(*source);
  }

  std::vector<Diagnostic> describe(const RaceReport& report);
  // Says in a diagnostic where a statement accesses a buffer: itself, or with one of its loads.
  void locate(Diagnostic& diagnostic, StmtId stmt, ExprId load);

 private:
  Diagnostic describe(const Race& race, const RaceReport& report);
  Diagnostic describe(const OrderDependence& dependence);
  std::string fix_of(const Race& race, const RaceReport& report) const;

  const Program& program_;
  const Source* source_;
  const ItemPositions* positions_;
  std::optional<LineCounter> lines_;
};

void Describer::locate(Diagnostic& diagnostic, StmtId stmt, ExprId load) {
  if (positions_ != nullptr) {
    const ItemPositions::Statement& statement = positions_->statements[stmt.index];
    const Span span =
        load.exists() ? positions_->uses[statement.first_use + use_of(program_.body, stmt, load)]
                      : Span{statement.buffer.begin, statement.element_end};
    vyre::locate(diagnostic, *source_, *lines_, span);
    return;
  }
  if (source_ != nullptr) diagnostic.file = source_->file;
  diagnostic.path = "program " + shorten(program_.name) + ": " + path_of(program_.body, stmt);
  if (!load.exists()) return;
  diagnostic.path += ": " + shorten(print_expr(program_.body, program_.buffers, load, 60));
}

// The place of a diagnostic, as it is written in a note.
std::string place_text(const Diagnostic& at) {
  if (at.line == 0) return at.path;
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

// --- Races --------------------------------------------------------------------------------------

std::string_view verb_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::Read: return "read";
    case AccessKind::Write: return "write";
    case AccessKind::Atomic: return "atomic";
    case AccessKind::AtomicLoad: return "atomic load";
  }
  return "";
}

std::string invocation_text(const Access& access, const Diagnostic& at) {
  return "  " + std::string(verb_of(access.kind)) + " by global " + ids_text(access.global) +
         " workgroup " + ids_text(access.workgroup) + " local " + ids_text(access.local) + " at " +
         place_text(at);
}

// Whether a loop has both statements in its body.
bool in_one_loop(const Body& body, StmtId a, StmtId b) {
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    const For* loop = std::get_if<For>(&body.stmts[i]);
    const auto inside = [&](StmtId stmt) { return stmt.index > i && stmt < loop->end; };
    if (loop != nullptr && inside(a) && inside(b)) return true;
  }
  return false;
}

// Whether an `if` has one of them in its `then` block and the other in its `else` block.
bool in_two_branches(const Body& body, StmtId a, StmtId b) {
  const StmtId first = std::min(a, b);
  const StmtId second = std::max(a, b);
  for (std::uint32_t i = 0; i < first.index; ++i) {
    const If* branch = std::get_if<If>(&body.stmts[i]);
    if (branch != nullptr && first < branch->else_begin && second >= branch->else_begin &&
        second < branch->end) {
      return true;
    }
  }
  return false;
}

std::string Describer::fix_of(const Race& race, const RaceReport& report) const {
  const BufferDecl& buffer = program_.buffers[race.buffer.index];
  const bool same_group = race.first.workgroup == race.second.workgroup;
  const bool same_stmt = race.first.stmt == race.second.stmt;
  const bool has_atomics =
      buffer.access == BufferAccess::ReadWrite && contains(type_sets::Word, buffer.element);
  const std::string atomic = has_atomics ? ", use an atomic" : "";
  const std::string rounds = in_one_loop(program_.body, race.first.stmt, race.second.stmt)
                                 ? "; in a loop also between one iteration and the next"
                                 : "";
  const auto is = [&](AccessKind kind) {
    return race.first.kind == kind || race.second.kind == kind;
  };
  if (is(AccessKind::Atomic) || is(AccessKind::AtomicLoad)) {
    const std::string plain(is(AccessKind::Read) ? "read" : "write");
    return "make the " + plain + " an atomic too, " +
           (same_group ? "put a `barrier` between the two, " : "") + "or move the " + plain +
           " to another dispatch";
  }
  if (is(AccessKind::Read)) {
    // Neither a barrier nor another dispatch helps where several invocations also write.
    const Access& write = race.first.kind == AccessKind::Write ? race.first : race.second;
    const bool contended = std::ranges::any_of(report.races, [&](const Race& other) {
      return other.first.kind == AccessKind::Write && other.second.kind == AccessKind::Write &&
             (other.first.stmt == write.stmt || other.second.stmt == write.stmt);
    });
    if (contended) {
      return "let each invocation update its own element" + atomic +
             ", or let only one of them update it";
    }
    if (!same_group) {
      return "read in a later dispatch than the one that writes, or let each workgroup read only "
             "what it writes; nothing orders workgroups";
    }
    if (in_two_branches(program_.body, race.first.stmt, race.second.stmt)) {
      return "end the `if` after the write, put a `barrier` there, and read in another `if`";
    }
    if (same_stmt) return "load into a local, put a `barrier` after that, then store" + rounds;
    return "put a `barrier` between the write and the read" + rounds;
  }
  const std::string barrier =
      same_group && (!same_stmt || !rounds.empty()) ? ", put a `barrier` between the writes" : "";
  return "let each invocation write its own element" + atomic + barrier +
         ", or let only one of them write";
}

Diagnostic Describer::describe(const Race& race, const RaceReport& report) {
  const std::string more =
      race.elements > 1 ? ", one of " + plural(race.elements, "element") + " of it that race" : "";
  Diagnostic diagnostic = diagnose<message::data_race>(program_.buffers[race.buffer.index].name,
                                                       race.element, more, fix_of(race, report));
  Diagnostic second = diagnostic;
  locate(diagnostic, race.first.stmt, race.first.expr);
  locate(second, race.second.stmt, race.second.expr);
  diagnostic.notes = {invocation_text(race.first, diagnostic),
                      invocation_text(race.second, second)};
  if (second.line != diagnostic.line) {
    const std::string number = std::to_string(second.line);
    diagnostic.notes.push_back(number + " | " + second.excerpt);
    diagnostic.notes.push_back(std::string(number.size(), ' ') + " | " +
                               std::string(second.caret_begin, ' ') + "^" +
                               std::string(second.caret_width - 1, '~'));
  }
  return diagnostic;
}

// --- Orders -------------------------------------------------------------------------------------

Diagnostic Describer::describe(const OrderDependence& dependence) {
  const BufferDecl& buffer = program_.buffers[dependence.buffer.index];
  const auto value = [&](const Bits& bits, const Schedule& schedule) {
    TypedBits typed{loaded_type(buffer.element), bits};
    if (!is_value(typed)) typed.type = DataType::U32;  // the word of a bool that nobody stored to
    return print_literal(typed) + " (" + to_text(schedule) + ")";
  };
  Diagnostic diagnostic = diagnose<message::order_dependence>(
      buffer.name, dependence.element, value(dependence.first_value, dependence.first),
      value(dependence.second_value, dependence.second));
  if (positions_ != nullptr) {
    vyre::locate(diagnostic, *source_, *lines_, positions_->buffers[dependence.buffer.index]);
  } else {
    if (source_ != nullptr) diagnostic.file = source_->file;
    diagnostic.path = "program " + shorten(program_.name);
  }
  constexpr std::size_t kMostNotes = 4;
  for (StmtId stmt : ordered_atomics(program_)) {
    if (diagnostic.notes.size() == kMostNotes) break;
    Diagnostic at = diagnostic;
    locate(at, stmt, {});
    diagnostic.notes.push_back("  the order shows in " +
                               std::string(info(std::get<Atomic>(program_.body[stmt]).op).text) +
                               " at " + place_text(at));
  }
  return diagnostic;
}

std::vector<Diagnostic> Describer::describe(const RaceReport& report) {
  std::vector<Diagnostic> diagnostics;
  for (const Race& race : report.races) diagnostics.push_back(describe(race, report));
  if (report.more_races > 0) {
    diagnostics.back().notes.push_back("  and " + plural(report.more_races, "more pair") +
                                       " of places that race");
  }
  for (const OrderDependence& dependence : report.dependences) {
    diagnostics.push_back(describe(dependence));
  }
  return diagnostics;
}

Describer describer_of(const Loaded& loaded, std::size_t item) {
  return Describer(std::get<Program>(loaded.module.items[item]), &loaded.source,
                   loaded.positions.empty() ? nullptr : &loaded.positions[item]);
}

}  // namespace

void locate_access(Diagnostic& diagnostic, const Loaded& loaded, std::size_t item, StmtId stmt,
                   ExprId load) {
  describer_of(loaded, item).locate(diagnostic, stmt, load);
}

Result<Script> script_of(const Linked& linked) {
  const DeviceInfo interpreter = open_interp(0).device->info();
  const std::vector<Diagnostic> wrong = check_limits(linked.program(), interpreter);
  if (!wrong.empty()) return wrong;
  return load_script(linked);
}

Result<RaceReport> find_races(const Linked& linked, const Grid& grid,
                              std::span<const HostBuffer> buffers, const RunOptions& options,
                              std::span<const Schedule> schedules) {
  const Program& program = linked.program();
  const Result<Script> script = script_of(linked);
  if (!script) return script.diagnostics();
  std::vector<BufferSize> sizes;
  for (const HostBuffer& buffer : buffers) sizes.push_back({buffer.name, buffer.bytes.size()});
  std::vector<Diagnostic> wrong = check_launch(program, grid, sizes);
  if (!wrong.empty()) return wrong;

  std::map<std::string_view, std::vector<std::byte>> contents;
  for (const HostBuffer& buffer : buffers) {
    contents[buffer.name].assign(buffer.bytes.begin(), buffer.bytes.end());
  }
  std::vector<Memory> memory;
  for (const BufferDecl& buffer : program.buffers) {
    std::vector<std::byte>& bytes = contents[buffer.name];
    if (buffer.element == DataType::Bytes) bytes.resize((bytes.size() + 3) / 4 * 4);
    memory.push_back(bytes);
  }
  return find_races(*script, grid, memory, options, schedules);
}

Result<RaceReport> find_races(const Linked& linked, const Grid& grid,
                              std::initializer_list<HostBuffer> buffers,
                              const RunOptions& options) {
  return find_races(linked, grid, std::span(buffers.begin(), buffers.size()), options);
}

std::vector<Diagnostic> describe_races(const RaceReport& report, const Program& program) {
  return Describer(program, nullptr, nullptr).describe(report);
}

std::vector<Diagnostic> describe_races(const RaceReport& report, const Loaded& loaded,
                                       std::string_view program) {
  const Result<std::size_t> item = find_program(loaded, program);
  if (!item) return item.diagnostics();
  return describer_of(loaded, *item).describe(report);
}

}  // namespace vyre
