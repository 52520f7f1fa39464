// OpenCL on the cores of this machine (pocl): the kernels of kernels.cl as peers of bench_cpu.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/cpu/workloads.h"

namespace bench {

struct PoclKernel {
  const char* workload;
  const char* name;
  unsigned dimensions;
  std::size_t global[2];
  std::size_t local[2];  // 0: as OpenCL likes
};

// A kernel with buffers of its own; the last of them is what it writes.
class PoclRun {
 public:
  ~PoclRun();
  PoclRun(const PoclRun&) = delete;
  PoclRun& operator=(const PoclRun&) = delete;

  double run();  // the seconds it took; below zero: it failed. The first run compiles.
  bool reset(const std::vector<u32>& words);
  std::vector<u32> output();  // empty: it failed

 private:
  friend class Pocl;
  struct State;
  explicit PoclRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Pocl {
 public:
  // Null where there is no OpenCL for a CPU or kernels.cl does not compile; `error` says why.
  static std::unique_ptr<Pocl> open(std::string& error);
  ~Pocl();
  Pocl(const Pocl&) = delete;
  Pocl& operator=(const Pocl&) = delete;

  const std::string& device() const;

  static std::span<const PoclKernel> kernels();

  // `buffers` are those of the program in the order of declaration, without workgroup memory. The
  // result must not outlive this. Null: `error` says why.
  std::unique_ptr<PoclRun> prepare(const PoclKernel& kernel,
                                   const std::vector<std::vector<u32>>& buffers,
                                   std::string& error);

 private:
  struct State;
  explicit Pocl(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bench
