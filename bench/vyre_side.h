// vyre's side of a comparison: a program of bench/programs with buffers that stay on its device.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench_programs.h"
#include "vyre/vyre.h"

namespace bench {

[[noreturn]] inline void fail(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "bench: %s\n", text.c_str());
  std::exit(1);
}
template <class T>
T get(vyre::Result<T> result) {
  if (!result) fail(render(result.diagnostics()[0]));
  return std::move(*result);
}

inline void get(const vyre::Result<void>& result) {
  if (!result) fail(render(result.diagnostics()[0]));
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The program of a file, with its ops.
struct Loaded {
  explicit Loaded(const std::string& name) {
    for (const auto& [stem, text] : vyre::embedded::bench_programs) {
      if (stem == name)
        program = get(link(get(vyre::load_module({name + ".vyre", std::string(text)}))));
    }
  }
  vyre::Linked program;
};

class Resident {
 public:
  // One buffer for each that the program declares, but for those of workgroups.
  Resident(vyre::Device& device, const Loaded& loaded, const vyre::Grid& grid,
           std::vector<vyre::DeviceBuffer> buffers)
      : device_(device),
        pipeline_(get(make_pipeline(device, loaded.program))),
        buffers_(std::move(buffers)),
        launch_{&pipeline_, grid, {}} {
    std::size_t next = 0;
    for (const vyre::BufferDecl& buffer : loaded.program.program().buffers) {
      if (!is_bound(buffer.access)) continue;
      launch_.buffers.push_back({buffer.name, &buffers_[next++]});
    }
  }
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  // So often in a row; the seconds that the last one took.
  double run(std::size_t times = 1) {
    return get(vyre::run_launches(device_, std::vector<vyre::PipelineLaunch>(times, launch_)))
        .back();
  }
  vyre::DeviceBuffer& last() { return buffers_.back(); }  // which the program writes

 private:
  vyre::Device& device_;
  vyre::Pipeline pipeline_;
  std::vector<vyre::DeviceBuffer> buffers_;
  vyre::PipelineLaunch launch_;
};

}  // namespace bench
