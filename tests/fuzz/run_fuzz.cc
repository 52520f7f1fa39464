// Runs any valid program for a bounded number of steps, in several orders, with the race detector,
// from several threads, and without its calls. Nothing may crash, a program that the detector finds
// clean has to give the same bytes in every order, and expanding calls changes none.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "vyre/interp/interp.h"
#include "vyre/passes/pass.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::uint64_t kMaxSteps = 3000;

void run(const vyre::Program& program, const vyre::Registry& registry, std::size_t variant) {
  // Lengths around the declared ones, empty buffers too.
  std::vector<std::vector<std::uint32_t>> words;
  std::vector<vyre::HostBuffer> buffers;
  words.reserve(program.buffers.size());
  for (const vyre::BufferDecl& buffer : program.buffers) {
    const std::size_t count = buffer.count + (variant + words.size()) % 5;
    if (buffer.access == vyre::BufferAccess::Workgroup || count > 4096) continue;
    words.emplace_back(count * vyre::stride(buffer.element) / 4, 0x01020304u * (variant % 7));
    buffers.emplace_back(buffer.name, words.back());
  }
  const vyre::Grid grid(2, 1 + variant % 2, 1);
  vyre::DispatchOptions options;
  options.run.max_steps = kMaxSteps;
  const vyre::Linked linked = *vyre::link(program, registry);
  const vyre::Result<vyre::Outputs> outputs = dispatch(linked, grid, buffers, options);
  if (!outputs) return;
  const auto gives_the_same = [&](const vyre::Program& other) {
    vyre::DispatchOptions longer = options;
    longer.run.max_steps = 100 * kMaxSteps;
    const vyre::Result<vyre::Outputs> same =
        dispatch(*vyre::link(other, registry), grid, buffers, longer);
    require(same.ok());
    for (std::size_t i = 0; i < same->buffers.size(); ++i) {
      require(same->buffers[i].bytes == outputs->buffers[i].bytes);
    }
  };
  const vyre::Pass* const only_inline[] = {vyre::find_pass("inline")};
  if (const auto flat = optimise(linked, only_inline)) {
    require(validate(*flat).empty());
    gives_the_same(*flat);
  }
  const vyre::Result<vyre::Program> optimised = optimise(linked);
  if (optimised) require(validate(*optimised).empty());
  const vyre::Script script = vyre::make_script(linked);
  std::vector<vyre::Memory> memory;
  std::size_t next = 0;
  for (const vyre::BufferDecl& buffer : program.buffers) {
    memory.emplace_back();
    if (!vyre::is_bound(buffer.access)) continue;
    memory.back() = std::as_writable_bytes(std::span(words[next++]));
  }
  // Where there is a race, another order may take much longer.
  const vyre::Result<vyre::RaceReport> report = find_races(script, grid, memory, options.run);
  if (!report || !report->clean()) return;
  // A clean report speaks for the orders that it tried; without ordered atomics all are the same.
  if (!ordered_atomics(program).empty()) return;
  if (optimised) gives_the_same(*optimised);
  options.run.max_steps = 0;
  for (const vyre::Schedule& schedule :
       {vyre::Schedule{vyre::Schedule::Kind::Random, variant}, vyre::Schedule{}}) {
    options.run.schedule = schedule;
    const vyre::Result<vyre::Outputs> again = dispatch(linked, grid, buffers, options);
    require(again.ok());
    for (std::size_t i = 0; i < again->buffers.size(); ++i) {
      require(again->buffers[i].bytes == outputs->buffers[i].bytes);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const vyre::Result<vyre::Loaded> loaded =
      vyre::load_module({"fuzz", std::string(reinterpret_cast<const char*>(data), size)});
  if (!loaded) return 0;
  vyre::Registry registry;
  require(registry.add(loaded->module).ok());
  for (const vyre::Item& item : loaded->module.items) {
    const auto* program = std::get_if<vyre::Program>(&item);
    if (program == nullptr) continue;
    std::uint64_t invocations = 1;
    for (std::uint32_t axis : program->workgroup_size) {
      invocations = std::min<std::uint64_t>(invocations * axis, 1 << 20);
    }
    if (invocations <= 64) run(*program, registry, size);
  }
  return 0;
}
