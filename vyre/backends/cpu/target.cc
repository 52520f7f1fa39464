#include "vyre/backends/cpu/target.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace vyre {
namespace {

constexpr std::string_view kTargets[] = {"avx512", "avx2", "sse4.2", "x86-64", "aarch64"};

#if defined(__x86_64__)
// Of an AVX-512 CPU: what code gets faster by. Those that have these also run at full speed with
// vectors of 512 bits.
std::string more_features() {
  std::string features;
  const auto add = [&](bool has, std::string_view name) {
    if (has) features += (features.empty() ? "+" : ",+") + std::string(name);
  };
  add(__builtin_cpu_supports("avx512vpopcntdq") != 0, "avx512vpopcntdq");
  add(__builtin_cpu_supports("avx512bitalg") != 0, "avx512bitalg");
  add(__builtin_cpu_supports("avx512vbmi") != 0, "avx512vbmi");
  add(__builtin_cpu_supports("avx512vbmi2") != 0, "avx512vbmi2");
  add(__builtin_cpu_supports("gfni") != 0, "gfni");
  return features;
}
#endif

std::optional<CpuTarget> named(std::string_view name) {
  const std::string triple = "x86_64-unknown-linux-gnu";
  if (name == "avx512") return CpuTarget{triple, "x86-64-v4", "", 16, 512, 32};
  if (name == "avx2") return CpuTarget{triple, "x86-64-v3", "+fast-gather", 8, 256};
  if (name == "sse4.2") return CpuTarget{triple, "x86-64-v2", "", 4, 128, 16, false};
  if (name == "x86-64") return CpuTarget{triple, "x86-64", "", 4, 128, 16, false};
  if (name == "aarch64")
    return CpuTarget{"aarch64-unknown-linux-gnu", "generic", "", 4, 128, 32, false};
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> cpu_targets() { return kTargets; }

std::optional<CpuTarget> find_cpu_target(std::string_view name) {
  std::optional<CpuTarget> target = named(name);
  const std::optional<std::uint64_t> size = wanted_pieces();
  if (!size) return std::nullopt;
  if (target && *size != 0) {
    target->large = 0;
    target->piece = std::max<std::uint64_t>(20, *size);
  }
  return target;
}

std::optional<std::uint64_t> wanted_pieces() {
  const char* text = std::getenv("VYRE_CPU_PIECES");
  if (text == nullptr) return 0;
  const std::string_view digits = text;
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), size);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return size;
}

bool runs_here([[maybe_unused]] std::string_view name) {
#if defined(__x86_64__)
  if (name == "avx512") return __builtin_cpu_supports("x86-64-v4") != 0;
  if (name == "avx2") return __builtin_cpu_supports("x86-64-v3") != 0;
  if (name == "sse4.2") return __builtin_cpu_supports("x86-64-v2") != 0;
  return name == "x86-64";
#elif defined(__aarch64__)
  return name == "aarch64";
#else
  return false;
#endif
}

std::optional<CpuTarget> host_target() {
  if (const char* wanted = std::getenv("VYRE_CPU"); wanted != nullptr) {
    return runs_here(wanted) ? find_cpu_target(wanted) : std::nullopt;
  }
  for (std::string_view name : kTargets) {
    if (!runs_here(name)) continue;
    std::optional<CpuTarget> target = find_cpu_target(name);
#if defined(__x86_64__)
    if (name == "avx512") {
      target->features = more_features();
      target->slow_gathers = __builtin_cpu_is("amd") != 0;
      // The first ones that had it slow down.
      if (__builtin_cpu_supports("avx512vbmi2") == 0) target->width = 8, target->bits = 256;
    }
#endif
    return target;
  }
  return std::nullopt;
}

Target lowering_for(const CpuTarget& target) {
  std::string name = target.triple + " " + target.name + " " + target.features;
  for (const std::uint64_t number :
       {std::uint64_t{target.width}, std::uint64_t{target.bits}, std::uint64_t{target.registers},
        std::uint64_t{target.gathers}, std::uint64_t{target.slow_gathers}, target.large,
        target.piece}) {
    name += " " + std::to_string(number);
  }
  const LaneLimits lanes{target.width, target.registers, target.gathers && !target.slow_gathers,
                         permutes_bytes(target)};
  return {.name = name + " " VYRE_COMPILER,
          .capabilities = {.u128_add = false, .u128_rest = false, .cast = false, .abs_diff = false},
          .shape = [lanes](const Program& program) { return shape_for_cpu(program, lanes); },
          .longest = 200,
          .machine = target};
}

CpuTarget target_of(const Lowered& lowered) {
  const CpuTarget& given = *std::any_cast<CpuTarget>(&lowered.machine);
  CpuTarget target = given;
  target.width = lowered.launch.lanes;
  target.is_scalar = !lowered.launch.in_vectors;
  // Without masks for bytes LLVM keeps one for each vector, and does not take wide ones apart.
  // Bytes have one.
  const bool has_bytes = std::ranges::all_of(
      lowered.program.buffers, [](const BufferDecl& buffer) { return is_narrow(buffer.element); });
  if (has_masks(target) && target.width > given.width && !has_bytes) {
    target.features += target.features.empty() ? "-avx512bw" : ",-avx512bw";
  }
  return target;
}

}  // namespace vyre
