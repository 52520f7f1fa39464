#include "vyre/backends/cpu/emit.h"

#include "vyre/backends/cpu/kernel_writer.h"

namespace vyre {
namespace {

// What the vector code needs of LLVM's optimiser: values instead of memory, nothing twice, nothing
// in loops that does not change there.
std::string passes_for(const CpuFacts& facts) {
  // In the functions of a large program, what takes about the same time for each instruction.
  if (facts.is_large) return "sroa,early-cse,simplifycfg,adce";
  // "instcombine" mends the addresses of short code, and takes a sixth of the time of long code.
  constexpr std::size_t kLong = 1000;
  const bool is_long = facts.body.exprs.size() > kLong;
  return std::string(facts.target.is_scalar ? "sroa,scalarizer," : "") +
         "sroa,early-cse<memssa>,simplifycfg," +
         (is_long ? "instsimplify" : "instcombine<no-verify-fixpoint>") +
         ",loop-simplify,lcssa,loop-mssa(licm),sroa,gvn,dse,adce,simplifycfg";
}

// Owns what LLVM compiles with.
class Machine {
 public:
  Machine(const llvm::Api& api, const CpuFacts& facts)
      : api_(api), passes_("function(" + passes_for(facts) + ")") {
    const CpuTarget& target = facts.target;
    llvm::Target found = nullptr;
    char* message = nullptr;
    if (api.GetTargetFromTriple(target.triple.c_str(), &found, &message) != 0) {
      problem = message;
      api.DisposeMessage(message);
      return;
    }
    machine_ = api.CreateTargetMachine(found, target.triple.c_str(), target.name.c_str(),
                                       target.features.c_str(), 1, llvm::kPic, 0);
  }
  ~Machine() {
    if (machine_ != nullptr) api_.DisposeTargetMachine(machine_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void prepare(Ir& ir, const CpuTarget& target) {
    api_.SetTarget(ir.module(), target.triple.c_str());
    const llvm::TargetData layout = api_.CreateTargetDataLayout(machine_);
    api_.SetModuleDataLayout(ir.module(), layout);
    api_.DisposeTargetData(layout);
  }
  bool optimise(Ir& ir) {
    const llvm::PassOptions options = api_.CreatePassBuilderOptions();
    const llvm::Error error = api_.RunPasses(ir.module(), passes_.c_str(), machine_, options);
    api_.DisposePassBuilderOptions(options);
    if (error == nullptr) return true;
    char* message = api_.GetErrorMessage(error);
    problem = message;
    api_.DisposeErrorMessage(message);
    return false;
  }
  std::string compile(Ir& ir, int file) {
    char* message = nullptr;
    llvm::MemoryBuffer buffer = nullptr;
    if (api_.TargetMachineEmitToMemoryBuffer(machine_, ir.module(), file, &message, &buffer) != 0) {
      problem = message;
      api_.DisposeMessage(message);
      return {};
    }
    std::string bytes(api_.GetBufferStart(buffer), api_.GetBufferSize(buffer));
    api_.DisposeMemoryBuffer(buffer);
    return bytes;
  }

  std::string problem;

 private:
  const llvm::Api& api_;
  const std::string passes_;
  llvm::TargetMachine machine_ = nullptr;
};

Result<std::string> produce(const llvm::Api& api, const Lowered& lowered,
                            std::optional<CpuText> what, CpuCode& code) {
  const CpuFacts facts(lowered);
  Machine machine(api, facts);
  const auto failed = [&] {
    return diagnose<message::no_machine_code>(lowered.program.name, machine.problem);
  };
  if (!machine.problem.empty()) return failed();
  KernelWriter kernel(api, facts);
  Ir& ir = kernel.ir();
  machine.prepare(ir, facts.target);
  kernel.write();
  code.scratch_bytes = kernel.scratch_bytes();
  char* message = nullptr;
  if (api.VerifyModule(ir.module(), 2, &message) != 0) machine.problem = message;
  api.DisposeMessage(message);
  if (!machine.problem.empty()) return failed();
  const auto text = [&] {
    char* printed = api.PrintModuleToString(ir.module());
    std::string copy = printed;
    api.DisposeMessage(printed);
    return copy;
  };
  if (!machine.optimise(ir)) return failed();
  if (what == CpuText::Llvm) return text();
  std::string made = machine.compile(ir, what ? llvm::kAssembly : llvm::kObject);
  if (machine.problem.empty()) machine.problem = ir.problem();
  if (made.empty() || !machine.problem.empty()) return failed();
  code.stack_bytes = kernel.stack_bytes();
  return made;
}

}  // namespace

Result<CpuCode> emit_cpu(const llvm::Api& api, const Lowered& lowered) {
  CpuCode code;
  Result<std::string> object = produce(api, lowered, {}, code);
  if (!object) return object.diagnostics();
  code.object = std::move(*object);
  return code;
}

Result<std::string> print_cpu(const llvm::Api& api, const Lowered& lowered, CpuText what) {
  CpuCode code;
  return produce(api, lowered, what, code);
}

}  // namespace vyre
