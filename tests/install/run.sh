#!/usr/bin/env bash
# run.sh BUILD_DIR: installs what was built there under a prefix of its own, builds the project in
# consumer/ against it with the same compiler, and compares what its programs, one in C++ and one in
# C, print with expected.txt and with what the program in that file computes.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake --install "$build" --prefix "$scratch/prefix"
cmake -G Ninja -S consumer -B "$scratch/build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$scratch/prefix"
cmake --build "$scratch/build"
"$scratch/build/consumer" >"$scratch/printed.txt"
diff expected.txt "$scratch/printed.txt"
"$scratch/build/consumer_c" <expected.txt | diff <(printf '%s\n' 42 43 40 41) -

# The installed command runs too, and finds what was installed of LLVM.
"$scratch/prefix/bin/vyre" fmt "$scratch/printed.txt" | diff expected.txt -
if [[ -e $build/libvyre-llvm.so ]]; then
  VYRE_CACHE=$scratch/cache LD_DEBUG=files "$scratch/prefix/bin/vyre" run ../../examples/popcount_xor.vyre \
    --grid 1 --in lhs=iota:64 --in rhs=iota:64 --in out=zeros:64 --backend cpu 2>&1 |
    grep "init: $scratch/prefix.*/libvyre-llvm.so"
fi
