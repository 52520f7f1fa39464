// Buffers that stay on the device: each dispatch adds to every number the one some places before
// it, and after steps of 1, 2 and 4 places eight numbers have become their running sums. Two
// buffers take turns as input and output; the host sees neither until the end.
#include <cstring>
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

vyre::Result<vyre::DeviceBuffer> upload(vyre::Device& device,
                                        const std::vector<std::uint32_t>& numbers) {
  return make_buffer(device, std::as_bytes(std::span(numbers)));
}

}  // namespace

int main() {
  const vyre::Result<vyre::Loaded> loaded = vyre::load({"step.vyre", std::string(kStep)});
  if (!loaded) return report(loaded.diagnostics());
  vyre::Result<std::unique_ptr<vyre::Device>> device = vyre::open_device();
  if (!device) return report(device.diagnostics());
  const vyre::Result<vyre::Pipeline> step =
      make_pipeline(**device, std::get<vyre::Program>(loaded->module.items[0]));
  if (!step) return report(step.diagnostics());

  vyre::Result<vyre::DeviceBuffer> a = upload(**device, {1, 2, 3, 4, 5, 6, 7, 8});
  vyre::Result<vyre::DeviceBuffer> b = upload(**device, std::vector<std::uint32_t>(8));
  vyre::Result<vyre::DeviceBuffer> one = upload(**device, {1});
  vyre::Result<vyre::DeviceBuffer> two = upload(**device, {2});
  vyre::Result<vyre::DeviceBuffer> four = upload(**device, {4});
  for (const auto* made : {&a, &b, &one, &two, &four}) {
    if (!*made) return report(made->diagnostics());
  }

  const vyre::PipelineLaunch launches[] = {
      {&*step, 1, {{"from", &*a}, {"places", &*one}, {"to", &*b}}},
      {&*step, 1, {{"from", &*b}, {"places", &*two}, {"to", &*a}}},
      {&*step, 1, {{"from", &*a}, {"places", &*four}, {"to", &*b}}},
  };
  const vyre::Result<std::vector<double>> seconds = run(**device, launches);
  if (!seconds) return report(seconds.diagnostics());

  const vyre::Result<std::vector<std::byte>> bytes = read_buffer(*b);
  if (!bytes) return report(bytes.diagnostics());
  std::vector<std::uint32_t> sums(8);
  std::memcpy(sums.data(), bytes->data(), bytes->size());
  for (const std::uint32_t sum : sums) std::cout << sum << " ";
  std::cout << "\n";

  vyre::Result<vyre::Sequence> steps = record(**device, launches);
  if (!steps) return report(steps.diagnostics());
  for (int i = 0; i < 100; ++i) {
    const vyre::Result<vyre::RunTimes> times = steps->run();
    if (!times) return report(times.diagnostics());
  }
}
