#include "vyre/interp/interp.h"

#include <charconv>
#include <deque>
#include <mutex>
#include <thread>

#include "vyre/base/thread.h"
#include "vyre/interp/groups.h"
#include "vyre/interp/machine.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

struct ScheduleName {
  Schedule::Kind kind;
  std::string_view name;
};
constexpr ScheduleName kSchedules[] = {{Schedule::Kind::Sequential, "sequential"},
                                       {Schedule::Kind::Reverse, "reverse"},
                                       {Schedule::Kind::Random, "random"},
                                       {Schedule::Kind::RoundRobin, "round-robin"},
                                       {Schedule::Kind::Mixed, "mixed"}};

// What a machine keeps of a workgroup: its memory and the locals of its invocations.
std::uint64_t workgroup_bytes(const Script& script) {
  const Program& program = script.program();
  std::uint64_t bytes = script.state_bytes() * program.workgroup_size[0] *
                        program.workgroup_size[1] * program.workgroup_size[2];
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Workgroup) continue;
    bytes += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  return bytes;
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  for (const ScheduleName& row : kSchedules) {
    if (row.kind != schedule.kind) continue;
    std::string text(row.name);
    if (schedule.has_seed()) text += ":" + std::to_string(schedule.seed);
    return text;
  }
  return {};
}

std::optional<Schedule> find_schedule(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (const ScheduleName& row : kSchedules) {
    if (row.name != name) continue;
    Schedule schedule{row.kind, 0};
    if (name == text) return schedule;
    const std::string_view seed = text.substr(name.size() + 1);
    const auto [end, error] =
        std::from_chars(seed.data(), seed.data() + seed.size(), schedule.seed);
    const bool whole = error == std::errc() && end == seed.data() + seed.size();
    if (whole && schedule.has_seed()) return schedule;
  }
  return {};
}

std::string ids_text(const Ids& ids) {
  return "(" + std::to_string(ids[0]) + ", " + std::to_string(ids[1]) + ", " +
         std::to_string(ids[2]) + ")";
}

std::vector<StmtId> ordered_atomics(const Program& program) {
  const Body& body = program.body;
  std::vector<bool> read(body.locals.size());
  for (const Expr& expr : body.exprs) {
    if (expr.op == Operation::Local) read[expr.imm] = true;
  }
  std::vector<std::optional<AtomicOp>> latest(program.buffers.size());
  std::vector<bool> mixed(program.buffers.size());
  for (const Stmt& stmt : body.stmts) {
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr) continue;
    std::optional<AtomicOp>& op = latest[atomic->buffer.index];
    if (op && *op != atomic->op) mixed[atomic->buffer.index] = true;
    op = atomic->op;
  }
  std::vector<StmtId> found;
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    const Atomic* atomic = std::get_if<Atomic>(&body.stmts[i]);
    if (atomic == nullptr) continue;
    const bool used = atomic->result.exists() && read[atomic->result.index];
    if (used || info(atomic->op).order == AtomicOrder::Own || mixed[atomic->buffer.index])
      found.emplace_back(i);
  }
  return found;
}

Result<RunStats> interpret(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                           const RunOptions& options) {
  const Groups groups(grid, options.schedule);
  Control control{options, groups.count()};
  if (options.schedule.kind == Schedule::Kind::Mixed) {
    NoWatch watch;
    return run_mixed(script, buffers, groups, control, watch);
  }
  std::uint64_t threads = 1;
  if (options.schedule.kind == Schedule::Kind::Sequential && options.max_steps == 0 &&
      ordered_atomics(script.program()).empty()) {
    // As many as there are cores, and as can keep a workgroup each in a reasonable space.
    constexpr std::uint64_t kSpace = std::uint64_t{1} << 30;
    const std::uint64_t most =
        std::min<std::uint64_t>({std::max(1u, std::thread::hardware_concurrency()), groups.count(),
                                 kSpace / (workgroup_bytes(script) + 1)});
    threads = std::clamp<std::uint64_t>(options.threads != 0 ? options.threads : most, 1,
                                        std::max<std::uint64_t>(most, 1));
  }

  // Threads take portions of the workgroups until there are none left.
  constexpr std::uint64_t kPortions = 64;
  const std::uint64_t portion =
      std::clamp<std::uint64_t>(groups.count() / (threads * kPortions), 1, 1 << 20);
  std::atomic<std::uint64_t> next = 0;
  std::mutex mutex;
  RunStats total;
  std::vector<Diagnostic> failure;

  const auto work = [&](bool reports) {
    NoWatch watch;
    Machine<NoWatch> machine(script, buffers, control, watch, threads > 1, reports);
    bool goes_on = true;
    while (goes_on) {
      const std::uint64_t first = next.fetch_add(portion);
      if (first >= groups.count()) break;
      const std::uint64_t last = first + std::min(portion, groups.count() - first);
      for (std::uint64_t i = first; i < last && goes_on; ++i) goes_on = machine.run(groups[i]);
    }
    const std::lock_guard lock(mutex);
    if (!goes_on) control.failed = true;
    if (!machine.failure.empty()) failure = machine.failure;
    total += machine.stats();
  };
  std::deque<Thread> others;
  // Where the system has no more threads, those that there are do the work.
  while (others.size() + 1 < threads && others.emplace_back().start([&] { work(false); })) {
  }
  work(true);
  for (Thread& thread : others) thread.join();
  if (!failure.empty()) return failure;
  control.report();
  if (control.stopped()) return diagnose<message::interrupted>();
  return total;
}

}  // namespace vyre
