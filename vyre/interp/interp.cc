#include "vyre/interp/interp.h"

#include <deque>
#include <set>
#include <thread>

#include "vyre/base/thread.h"
#include "vyre/interp/groups.h"
#include "vyre/ir/walk.h"

namespace vyre {
namespace {

// What a machine keeps of a workgroup: its memory and the locals of its invocations.
std::uint64_t workgroup_bytes(const Script& script) {
  const Program& program = script.program();
  std::uint64_t bytes = script.state_bytes() * invocations_of(program);
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Workgroup) continue;
    bytes += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  return bytes;
}

// One where the order of workgroups may show; otherwise as many as there are cores, and as can keep
// a workgroup each in a reasonable space.
std::uint64_t thread_count(const Script& script, std::uint64_t groups, const RunOptions& options) {
  if (options.schedule.kind != Schedule::Kind::Sequential || options.max_steps != 0 ||
      !ordered_atomics(script.program()).empty()) {
    return 1;
  }
  constexpr std::uint64_t kSpace = std::uint64_t{1} << 30;
  const std::uint64_t most = std::max<std::uint64_t>(
      1, std::min<std::uint64_t>({std::max(1u, std::thread::hardware_concurrency()), groups,
                                  kSpace / (workgroup_bytes(script) + 1)}));
  return options.threads == 0 ? most : std::min<std::uint64_t>(options.threads, most);
}

}  // namespace

std::vector<StmtId> ordered_atomics(const Program& program) {
  const Body& body = program.body;
  std::vector<bool> read(body.locals.size());
  for (const Expr& expr : body.exprs) {
    if (expr.op == Operation::Local) read[expr.imm] = true;
  }
  std::vector<std::set<AtomicOp>> kinds(program.buffers.size());  // by buffer
  for (const Stmt& stmt : body.stmts) {
    const Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic != nullptr) kinds[atomic->buffer.index].insert(atomic->op);
  }
  std::vector<StmtId> found;
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    const Atomic* atomic = std::get_if<Atomic>(&body.stmts[i]);
    if (atomic == nullptr) continue;
    const bool used = atomic->result.exists() && read[atomic->result.index];
    const bool mixed = kinds[atomic->buffer.index].size() > 1;
    if (used || mixed || info(atomic->op).order == AtomicOrder::Own) found.emplace_back(i);
  }
  return found;
}

Result<RunStats> interpret(const Script& script, const Grid& grid, std::span<const Memory> buffers,
                           const RunOptions& options) {
  const Groups groups(grid, options.schedule);
  Control control{options, groups.count(), grid};
  const std::uint64_t threads = thread_count(script, groups.count(), options);
  control.threaded = threads > 1;
  const auto work = [&](bool reports) {
    NoWatch watch;
    run_groups(script, buffers, groups, control, watch, reports);
  };
  std::deque<Thread> others;
  // Where the system has no more threads, those that there are do the work.
  while (others.size() + 1 < threads && others.emplace_back().start([&] { work(false); })) {
  }
  work(true);
  for (Thread& thread : others) thread.join();
  return control.result();
}

}  // namespace vyre
