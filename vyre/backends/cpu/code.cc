#include "vyre/backends/cpu/code.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
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

// Calls make(api) on a thread whose stack LLVM and deep expressions fit, whatever the caller's is;
// a diagnostic where LLVM is not there or gives up.
template <class Make>
auto with_llvm(const Lowered& lowered, Make make) -> decltype(make(std::declval<llvm::Api>())) {
  constexpr std::size_t kStack = std::size_t{64} << 20;
  std::string reason;
  const llvm::Api* api = llvm::load_llvm(reason);
  if (api == nullptr) {
    return diagnose<message::unavailable_backend>("cpu", reason, "interp");
  }
  install_handler(*api);
  Attempt mine;
  std::optional<decltype(make(*api))> made;
  const auto run = [&] {
    attempt = &mine;
    if (setjmp(mine.back) == 0) made = make(*api);
    attempt = nullptr;
  };
  Thread thread;
  thread.start(run, kStack) ? thread.join() : run();
  if (mine.problem.empty()) return std::move(*made);
  return diagnose<message::no_machine_code>(lowered.program.name, mine.problem);
}

Result<std::shared_ptr<const EmittedCode>> emit_program(std::unique_ptr<Variants> variants) {
  const Lowered& lowered = variants->general();
  Result<CpuCode> code =
      with_llvm(lowered, [&](const llvm::Api& api) { return emit_cpu(api, lowered); });
  if (!code) return code.diagnostics();
  return std::shared_ptr<const EmittedCode>(std::make_shared<CpuProgram>(std::move(*code)));
}

// Calls visit(number) for each of the numbers that are kept with an object, in order.
template <class Code, class Visit>
void for_each_number(Code& code, Visit visit) {
  for (auto& size : code.workgroup_size) visit(size);
  visit(code.is_limited);
  visit(code.scratch_bytes);
  visit(code.stack_bytes);
}

}  // namespace

std::string CpuProgram::pack() const {
  std::string bytes(kMagic);
  for_each_number(*this, [&](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  });
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
  CpuCode code;
  bool whole = true;
  for_each_number(code, [&](auto& number) {
    std::uint64_t found = 0;
    whole = whole && bytes.size() >= sizeof found;
    if (!whole) return;
    std::memcpy(&found, bytes.data(), sizeof found);
    bytes.remove_prefix(sizeof found);
    number = static_cast<std::remove_reference_t<decltype(number)>>(found);
  });
  if (!whole) return nullptr;
  code.object = bytes;
  return std::make_shared<CpuProgram>(std::move(code));
}

Result<std::string> show_cpu(const Lowered& lowered, CpuText what) {
  return with_llvm(lowered, [&](const llvm::Api& api) { return print_cpu(api, lowered, what); });
}

const Emitter kCpuEmitter = {find_target, emit_program, unpack_cpu, prepare_llvm};

}  // namespace vyre
