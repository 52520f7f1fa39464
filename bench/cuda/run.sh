#!/usr/bin/env bash
# The CUDA backend on a machine with an NVIDIA GPU: its tests, the same under compute-sanitizer, what
# the host spends, and its speed beside CUDA C++, all of it in a few minutes.
#
#   bench/cuda/run.sh                      builds and does all of it
#   bench/cuda/run.sh OPTION…              only the speed; options of bench_cuda: --runs N, --only NAME,
#                                          --all, --json
#   bench/cuda/run.sh --build FOLDER       only builds, into FOLDER
#   bench/cuda/run.sh --from FOLDER …      runs what was built into FOLDER, perhaps elsewhere
#
# FOLDER is one of the source tree. To build takes what `./dev test` takes, and nvcc; to run takes the
# driver, and compute-sanitizer for its part. Exits with 1 where a test fails or is not clean.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
PATH=$PATH:/usr/local/cuda/bin
export VYRE_ROOT=$PWD

skip() {
  printf 'SKIPPED: %s\n' "$1"
  exit 0
}

build() { # FOLDER
  command -v nvcc >/dev/null || skip 'there is no nvcc'
  ./dev build portable
  cmake -S bench/cuda -B build/cuda -DCMAKE_BUILD_TYPE=Release
  cmake --build build/cuda -j "${JOBS:-$(nproc)}"
  mkdir -p "$1"
  cp build/portable/tests/vyre_tests build/portable/vyre build/cuda/bench_cuda "$1"
  strip "$1"/{vyre_tests,vyre,bench_cuda}
}

failed=0
tests() { # FILTER [COMMAND…]: what went wrong, and the counts
  local filter=$1
  shift
  "$@" "$folder/vyre_tests" --gtest_filter="$filter" 2>&1 | {
    grep -vE '^\[( RUN|       OK|-+|=+|  SKIPPED)|^(Note|Running|$)|Skipped$|: set VYRE_LONG' || true
  } || failed=1
}

folder=build/gpu
case ${1-} in
  --build)
    build "${2:?a folder}"
    exit
    ;;
  --from)
    folder=${2:?a folder}
    shift 2
    ;;
  *) build "$folder" >&2 ;;
esac
export VYRE_COMMAND=$PWD/$folder/vyre
own=$("$folder/vyre" backends | grep '^[* ] ptx ')
[[ $own =~ cuda\ +yes ]] || skip "$own"

check() {
  local tool filter
  printf -- '--- Tests\n'
  tests 'Cuda*'
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
      printf -- '--- Examples and 30 generated programs under %s\n' "$tool"
      # One test after the other, on one core: with more at once the tool crashes.
      for filter in 'Cuda.Examples*' 'Cuda.Generated*'; do
        VYRE_COUNT=30 tests "$filter" \
          taskset -c 0 compute-sanitizer --error-exitcode 1 --tool "$tool"
      done
    done
  else
    printf -- '--- There is no compute-sanitizer\n'
  fi
  printf -- '--- Speed beside CUDA C++\n'
}

(($#)) || check
"$folder/bench_cuda" "$@" || failed=1
exit "$failed"
