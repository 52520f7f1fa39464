#include "vyre/backends/cpu/code.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/gangs.h"
#include "vyre/backends/cpu/pieces.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/base/thread.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/specialise.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

constexpr std::string_view kMagic = "vyre-cpu";

Diagnostic no_llvm(const std::string& reason) {
  return diagnose<message::unavailable_backend>("cpu", reason, "interp");
}

struct Memory {
  std::mutex mutex;
  std::map<std::string, CpuProgram> programs;
};
Memory& memory() {
  static Memory& all = *new Memory;
  return all;
}
constexpr std::size_t kMaxKept = 256;

// LLVM ends the process on what it cannot compile. We jump back instead, and lose the memory that
// LLVM had.
struct Attempt {
  std::jmp_buf back{};
  std::string problem;
};
thread_local Attempt* attempt = nullptr;

void give_up(const char* reason) {
  if (attempt == nullptr) {  // LLVM works for somebody else in this process
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  attempt->problem = *reason == '\0' ? "LLVM gave no reason" : reason;
  std::longjmp(attempt->back, 1);
}

void install_handler(const llvm::Api& api) {
  static std::once_flag once;
  std::call_once(once, [&] { api.InstallFatalErrorHandler(give_up); });
}

// Calls make() on a thread whose stack LLVM and deep expressions fit, whatever the caller's is.
// Gives what LLVM said if it gave up; empty: it did not.
template <class Make>
std::string on_large_stack(const llvm::Api& api, Make make) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  install_handler(api);
  Attempt mine;
  const auto run = [&] {
    attempt = &mine;
    if (setjmp(mine.back) == 0) make();
    attempt = nullptr;
  };
  Thread thread;
  thread.start(run, kBytes) ? thread.join() : run();
  return mine.problem;
}

}  // namespace

Result<CpuReady> prepare_cpu(const Linked& linked, const CpuTarget& target) {
  Result<Program> program = optimise(linked);
  if (!program) return program.diagnostics();
  CpuReady ready;
  ready.target = fitted(target, *program);
  if (std::optional<Program> other = regrouped(*program, ready.target.width)) {
    // The ids of workgroups have become divisions.
    program = optimise(Linked{std::move(*other), {}});
    if (!program) return program.diagnostics();
    ready.is_limited = true;
  }
  ready.is_large = is_large(*program, ready.target);
  ready.program = ready.is_large ? with_short_statements(*program) : std::move(*program);
  ready.bounds = general_variant(ready.program).bounds;
  return ready;
}

std::string pack(const CpuProgram& program) {
  std::string bytes(kMagic);
  const auto put = [&](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  put(program.key.size());
  bytes += program.key;
  for (std::uint32_t size : program.workgroup_size) put(size);
  put(program.is_limited ? 1 : 0);
  put(program.scratch_bytes);
  put(program.stack_bytes);
  return bytes + program.object;
}

std::optional<CpuProgram> unpack(std::string_view bytes) {
  CpuProgram program;
  if (!bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  bool whole = true;
  const auto take = [&] {
    std::uint64_t number = 0;
    whole = whole && bytes.size() >= sizeof number;
    if (!whole) return number;
    std::memcpy(&number, bytes.data(), sizeof number);
    bytes.remove_prefix(sizeof number);
    return number;
  };
  const std::uint64_t size = take();
  if (!whole || size > bytes.size()) return std::nullopt;
  program.key = bytes.substr(0, size);
  bytes.remove_prefix(size);
  for (std::uint32_t& axis : program.workgroup_size) axis = static_cast<std::uint32_t>(take());
  program.is_limited = take() != 0;
  program.scratch_bytes = take();
  program.stack_bytes = take();
  if (!whole) return std::nullopt;
  program.object = bytes;
  return program;
}

Result<CpuProgram> compile_cpu(const Linked& linked, const CpuTarget& target) {
  Result<Program> inlined = inline_calls(linked);
  if (!inlined) return inlined.diagnostics();
  const std::string key = digest(*inlined) + " " + text(target) + " " VYRE_COMPILER;
  {
    const std::lock_guard lock(memory().mutex);
    const auto known = memory().programs.find(key);
    if (known != memory().programs.end()) return known->second;
  }
  std::optional<CpuProgram> program;
  if (const std::optional<std::string> bytes = read_cache(key)) program = unpack(*bytes);
  if (!program || program->key != key) {
    // The first time LLVM takes as long to load as the program takes to optimise.
    std::string reason;
    const llvm::Api* api = nullptr;
    Thread loader;
    const auto load = [&] { api = llvm::load_llvm(reason); };
    const bool loads = loader.start(load);
    const Result<CpuReady> made = prepare_cpu(linked, target);
    loads ? loader.join() : load();
    if (api == nullptr) return no_llvm(reason);
    if (!made) return made.diagnostics();
    Result<CpuCode> code = CpuCode{};
    const std::string problem = on_large_stack(*api, [&] { code = emit_cpu(*api, *made); });
    if (!problem.empty()) return diagnose<message::no_machine_code>(made->program.name, problem);
    if (!code) return code.diagnostics();
    program = CpuProgram{key,
                         made->program.workgroup_size,
                         made->is_limited,
                         code->scratch_bytes,
                         code->stack_bytes,
                         std::move(code->object)};
    write_cache(key, pack(*program));
  }
  const std::lock_guard lock(memory().mutex);
  if (memory().programs.size() >= kMaxKept) memory().programs.clear();
  return memory().programs.insert_or_assign(key, std::move(*program)).first->second;
}

Result<std::string> show_cpu(const Linked& linked, const CpuTarget& target, CpuText what) {
  std::string reason;
  const llvm::Api* api = llvm::load_llvm(reason);
  if (api == nullptr) return no_llvm(reason);
  const Result<CpuReady> made = prepare_cpu(linked, target);
  if (!made) return made.diagnostics();
  Result<std::string> text = std::string();
  const std::string problem = on_large_stack(*api, [&] { text = print_cpu(*api, *made, what); });
  if (!problem.empty()) return diagnose<message::no_machine_code>(made->program.name, problem);
  return text;
}

}  // namespace vyre
