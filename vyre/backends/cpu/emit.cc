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

// A text of LLVM's, which goes.
std::string taken(const llvm::Api& api, char* text) {
  std::string copy = text;
  api.DisposeMessage(text);
  return copy;
}

// Owns what LLVM compiles with. Its functions give what is wrong; empty: nothing.
class Machine {
 public:
  explicit Machine(const llvm::Api& api) : api_(api) {}
  ~Machine() {
    if (machine_ != nullptr) api_.DisposeTargetMachine(machine_);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  std::string make(const CpuTarget& target) {
    llvm::Target found = nullptr;
    char* message = nullptr;
    if (api_.GetTargetFromTriple(target.triple.c_str(), &found, &message) != 0) {
      return taken(api_, message);
    }
    machine_ = api_.CreateTargetMachine(found, target.triple.c_str(), target.name.c_str(),
                                        target.features.c_str(), 1, llvm::kPic, 0);
    return {};
  }
  void prepare(llvm::Module module, const CpuTarget& target) {
    api_.SetTarget(module, target.triple.c_str());
    const llvm::TargetData layout = api_.CreateTargetDataLayout(machine_);
    api_.SetModuleDataLayout(module, layout);
    api_.DisposeTargetData(layout);
  }
  std::string optimise(llvm::Module module, const std::string& passes) {
    char* message = nullptr;
    const bool is_wrong = api_.VerifyModule(module, 2, &message) != 0;
    std::string problem = taken(api_, message);
    if (is_wrong) return problem;
    const llvm::PassOptions options = api_.CreatePassBuilderOptions();
    const llvm::Error error = api_.RunPasses(module, passes.c_str(), machine_, options);
    api_.DisposePassBuilderOptions(options);
    if (error == nullptr) return {};
    char* wrong = api_.GetErrorMessage(error);
    problem = wrong;
    api_.DisposeErrorMessage(wrong);
    return problem;
  }
  std::string compile(llvm::Module module, int file, std::string& made) {
    char* message = nullptr;
    llvm::MemoryBuffer buffer = nullptr;
    if (api_.TargetMachineEmitToMemoryBuffer(machine_, module, file, &message, &buffer) != 0) {
      return taken(api_, message);
    }
    made.assign(api_.GetBufferStart(buffer), api_.GetBufferSize(buffer));
    api_.DisposeMemoryBuffer(buffer);
    return {};
  }

 private:
  const llvm::Api& api_;
  llvm::TargetMachine machine_ = nullptr;
};

// An object, or text for people.
Result<CpuCode> produce(const llvm::Api& api, const Lowered& lowered, std::optional<CpuText> what) {
  const CpuFacts facts(lowered);
  const auto failed = [&](const std::string& problem) {
    return diagnose<message::no_machine_code>(lowered.program.name, problem);
  };
  Machine machine(api);
  if (const std::string wrong = machine.make(facts.target); !wrong.empty()) return failed(wrong);
  KernelWriter kernel(api, facts);
  const llvm::Module module = kernel.ir().module();
  machine.prepare(module, facts.target);
  kernel.write();
  CpuCode code{{}, lowered.program.workgroup_size, facts.is_limited, kernel.scratch_bytes(), 0};
  const std::string passes = "function(" + passes_for(facts) + ")";
  if (const std::string wrong = machine.optimise(module, passes); !wrong.empty()) {
    return failed(wrong);
  }
  if (what == CpuText::Llvm) {
    code.object = taken(api, api.PrintModuleToString(module));
    return code;
  }
  const int file = what ? llvm::kAssembly : llvm::kObject;
  std::string wrong = machine.compile(module, file, code.object);
  if (wrong.empty()) wrong = kernel.ir().problem();
  if (code.object.empty() || !wrong.empty()) return failed(wrong);
  code.stack_bytes = kernel.stack_bytes();
  return code;
}

}  // namespace

Result<CpuCode> emit_cpu(const llvm::Api& api, const Lowered& lowered) {
  return produce(api, lowered, {});
}

Result<std::string> print_cpu(const llvm::Api& api, const Lowered& lowered, CpuText what) {
  Result<CpuCode> code = produce(api, lowered, what);
  if (!code) return code.diagnostics();
  return std::move(code->object);
}

}  // namespace vyre
