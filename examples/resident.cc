// Buffers that stay on the device: each dispatch adds to every number the one some places before
// it, and after steps of 1, 2 and 4 places eight numbers have become their running sums. Two
// buffers take turns as input and output; the host sees neither until the end.
#include <iostream>

#include "vyre/vyre.h"

namespace {

constexpr std::string_view kStep = R"(
program step workgroup(8) {
  read       from: u32[]
  uniform    places: u32[1]
  read_write to: u32[]

  let i = invocation_id.x
  to[i] = from[i] + select(i < places[0], 0, from[i - places[0]])
})";

int report(const std::vector<vyre::Diagnostic>& diagnostics) {
  for (const vyre::Diagnostic& diagnostic : diagnostics) std::cout << render(diagnostic);
  return 1;
}

using Numbers = std::vector<std::uint32_t>;

}  // namespace

int main() {
  const vyre::Result<vyre::Loaded> loaded = vyre::load_module({"step.vyre", std::string(kStep)});
  if (!loaded) return report(loaded.diagnostics());
  vyre::Result<std::unique_ptr<vyre::Device>> device = vyre::open_device();
  if (!device) return report(device.diagnostics());
  const vyre::Result<vyre::Linked> program = link(*loaded, "step");
  if (!program) return report(program.diagnostics());
  const vyre::Result<vyre::Pipeline> step = make_pipeline(**device, *program);
  if (!step) return report(step.diagnostics());

  vyre::Result<vyre::DeviceBuffer> a = make_buffer(**device, Numbers{1, 2, 3, 4, 5, 6, 7, 8});
  vyre::Result<vyre::DeviceBuffer> b = make_buffer(**device, Numbers(8));
  vyre::Result<vyre::DeviceBuffer> one = make_buffer(**device, Numbers{1});
  vyre::Result<vyre::DeviceBuffer> two = make_buffer(**device, Numbers{2});
  vyre::Result<vyre::DeviceBuffer> four = make_buffer(**device, Numbers{4});
  for (const auto* made : {&a, &b, &one, &two, &four}) {
    if (!*made) return report(made->diagnostics());
  }

  const vyre::PipelineLaunch launches[] = {
      {&*step, 1, {{"from", &*a}, {"places", &*one}, {"to", &*b}}},
      {&*step, 1, {{"from", &*b}, {"places", &*two}, {"to", &*a}}},
      {&*step, 1, {{"from", &*a}, {"places", &*four}, {"to", &*b}}},
  };
  const vyre::Result<std::vector<double>> seconds = run_launches(**device, launches);
  if (!seconds) return report(seconds.diagnostics());

  const vyre::Result<Numbers> sums = vyre::read_buffer<std::uint32_t>(*b);
  if (!sums) return report(sums.diagnostics());
  for (const std::uint32_t sum : *sums) std::cout << sum << " ";
  std::cout << "\n";

  Numbers last(2);
  const vyre::Result<void> read = read_buffer(*b, last, 6);
  if (!read) return report(read.diagnostics());
  std::cout << last[0] << " " << last[1] << "\n";

  vyre::Result<vyre::Sequence> steps = record_launches(**device, launches);
  if (!steps) return report(steps.diagnostics());
  for (int i = 0; i < 100; ++i) {
    const vyre::Result<vyre::RunTimes> times = steps->run();
    if (!times) return report(times.diagnostics());
  }
}
