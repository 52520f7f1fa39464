#!/usr/bin/env bash
# The CUDA backend beside CUDA C++ on a machine with an NVIDIA GPU: builds what is needed, compares
# all outputs, times everything in turns and prints one table. A few minutes.
#
#   bench/cuda/run.sh [--build] [OPTION…]     options go to bench_cuda: --runs N, --only NAME, --all, --json
#
# It takes g++, cmake, nvcc and xxhash.h (CPATH says where, if it is not installed). With --build it
# only builds: build/cuda/bench_cuda then runs on any machine with a GPU and its driver, and
# BENCH_CUDA=PATH runs one that was built elsewhere.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

skip() {
  printf 'SKIPPED: %s\n' "$1"
  exit 0
}

program=${BENCH_CUDA-}
only_build=''
if [[ ${1-} == --build ]]; then
  only_build=1
  shift
fi
if [[ -z $program || -n $only_build ]]; then
  PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || skip 'there is no nvcc'
  "${CXX:-g++}" -E -x c++ - <<<'#include <xxhash.h>' >/dev/null 2>&1 ||
    skip 'there is no xxhash.h (libxxhash-dev); CPATH can name its folder'
  program=build/cuda/bench_cuda
  {
    cmake -S bench/cuda -B build/cuda -DCMAKE_BUILD_TYPE=Release
    cmake --build build/cuda -j "${JOBS:-$(nproc)}"
  } >&2
fi
if [[ -n $only_build ]]; then
  printf 'The benchmark is %s\n' "$program"
else
  exec "$program" "$@"
fi
