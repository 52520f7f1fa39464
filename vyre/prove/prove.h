// Proves the laws that ops declare, for all values, with an SMT solver; finds values that refute a
// law that does not hold, and makes them small.
//
// The solver is a program that reads SMT-LIB: z3, or what VYRE_SOLVER names. What has been proved
// is remembered in the user's cache folder, under a digest of the very text that was proved.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/ir/program.h"
#include "vyre/library/registry.h"

namespace vyre {

struct Proof {
  enum class Verdict : std::uint8_t { Proved, Refuted, Unknown };
  Verdict verdict = Verdict::Unknown;
  double seconds = 0;
  bool remembered = false;
  std::string reason;  // of Unknown

  // Refuted: for which a, b, c, and what is then not equal or not in order. Proved, of a law that
  // says that there is a counterexample: that one.
  std::vector<TypedBits> values;
  std::vector<TypedBits> sides;  // two, or none
};

// How much work the solver may do for one question, in its own steps: what it finds depends on no
// clock and on nothing else that the machine does. About half a minute.
inline constexpr std::uint64_t kSolverSteps = 100'000'000;

struct ProveOptions {
  std::uint64_t steps = kSolverSteps;
  bool use_cache = true;
  unsigned word_bits = 32;  // of the question's Formula; of laws always 32
};

// One law of an op; `registry` has what it calls and what the law names. Fails without a solver.
Result<Proof> prove(const Law& law, const Op& op, const Registry& registry,
                    const ProveOptions& options = {});

// Whether a law's statement holds for these values, by the interpreter; with the two sides that
// were compared.
struct Trial {
  bool holds = true;
  std::vector<TypedBits> sides;
};
using LawTrial = std::function<Trial(const std::vector<TypedBits>&)>;
LawTrial law_trial(const Law& law, const Op& op, const Registry& registry);

// Whether there are values for which a question of Formula::question() holds.
enum class Solved : std::uint8_t { Yes, No, Unknown };
Result<Solved> solve(const std::string& question, std::uint64_t steps = kSolverSteps);

// Proves that there are none. Refuted: `values` has them, one for each of these variables.
struct FormulaVariable {
  std::string name;
  DataType type = DataType::U32;
};
Result<Proof> prove_none(const std::string& question, const std::vector<FormulaVariable>& variables,
                         const ProveOptions& options = {});

// "a = 3, b = 0x80000000"
std::string values_text(const std::vector<TypedBits>& values);

// Each built-in operation on each of its types as an op with the laws that the table declares for
// it: `builtin.add.u32`. They call nothing and stand in no library.
const Registry& builtin_ops();

}  // namespace vyre
