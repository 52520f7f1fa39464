#include "vyre/backends/cpu/code.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "vyre/backends/cache.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/backends/variants.h"
#include "vyre/base/thread.h"

namespace vyre {
namespace {

constexpr std::string_view kMagic = "vyre-cpu";

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

Result<Target> find_target(std::string_view kind) {
  const std::optional<CpuTarget> target = kind.empty() ? host_target() : find_cpu_target(kind);
  if (target) return lowering_for(*target);
  return diagnose<message::unavailable_backend>("cpu", "it has no code for this machine", "interp");
}

// The first time LLVM takes as long to load as a program takes to optimise.
void prepare_llvm() {
  std::string reason;
  llvm::load_llvm(reason);
}

// Calls make(api) as LLVM needs it; a diagnostic where that is not there or gives up.
template <class Make>
auto with_llvm(const Lowered& lowered, Make make) -> decltype(make(std::declval<llvm::Api>())) {
  std::string reason;
  const llvm::Api* api = llvm::load_llvm(reason);
  if (api == nullptr) {
    return diagnose<message::unavailable_backend>("cpu", reason, "interp");
  }
  std::optional<decltype(make(*api))> made;
  const std::string problem = on_large_stack(*api, [&] { made = make(*api); });
  if (problem.empty()) return std::move(*made);
  return diagnose<message::no_machine_code>(lowered.program.name, problem);
}

Result<std::shared_ptr<const EmittedCode>> emit_program(std::unique_ptr<Variants> variants) {
  const Lowered& lowered = variants->general();
  Result<CpuCode> code =
      with_llvm(lowered, [&](const llvm::Api& api) { return emit_cpu(api, lowered); });
  if (!code) return code.diagnostics();
  auto made = std::make_shared<CpuProgram>();
  made->workgroup_size = lowered.program.workgroup_size;
  made->is_limited = lowered.launch.is_free;
  made->scratch_bytes = code->scratch_bytes;
  made->stack_bytes = code->stack_bytes;
  made->object = std::move(code->object);
  return std::shared_ptr<const EmittedCode>(std::move(made));
}

}  // namespace

std::string CpuProgram::pack() const {
  std::string bytes(kMagic);
  const auto put = [&](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (std::uint32_t size : workgroup_size) put(size);
  put(is_limited ? 1 : 0);
  put(scratch_bytes);
  put(stack_bytes);
  return bytes + object;
}

std::shared_ptr<const LoadedCode> CpuProgram::load(std::string& reason) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const LoadedCode> code = loaded_.lock();
  if (code == nullptr) loaded_ = code = load_object(object, reason);
  return code;
}

std::shared_ptr<const EmittedCode> unpack_cpu(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return nullptr;
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
  auto program = std::make_shared<CpuProgram>();
  for (std::uint32_t& axis : program->workgroup_size) axis = static_cast<std::uint32_t>(take());
  program->is_limited = take() != 0;
  program->scratch_bytes = take();
  program->stack_bytes = take();
  if (!whole) return nullptr;
  program->object = bytes;
  return program;
}

Result<std::string> show_cpu(const Lowered& lowered, CpuText what) {
  return with_llvm(lowered, [&](const llvm::Api& api) { return print_cpu(api, lowered, what); });
}

const Emitter kCpuEmitter = {find_target, emit_program, unpack_cpu, prepare_llvm};

}  // namespace vyre
