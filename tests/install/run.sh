#!/usr/bin/env bash
# run.sh BUILD_DIR: installs what was built there under a prefix of its own and uses it as others do:
# from C++ (consumer/) and C (c_only/) with CMake, from C with pkg-config, and from Python with ctypes
# (consumer.py). All run the program in expected.txt and have to print what the installed command
# computes. Then it looks at what is installed: headers, symbols, documents.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
export VYRE_CACHE=$scratch/cache

fail() {
  printf 'install: %s\n' "$1" >&2
  exit 1
}

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
c_compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cmake --install "$build" --prefix "$prefix"
libraries=$(dirname "$(find "$prefix" -name libvyre.so)")

# --- The command ----------------------------------------------------------------------------------

"$prefix/bin/vyre" fmt expected.txt | diff expected.txt -
digest=$("$prefix/bin/vyre" run expected.txt --grid 1 --in out=zeros:4 --json |
  sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
printf '42 43 40 41 %s\n' "$digest" >"$scratch/numbers.txt"

# --- Other projects -------------------------------------------------------------------------------

make_project() { # FOLDER OPTION…
  cmake -G Ninja -S "$1" -B "$scratch/$1" -DCMAKE_PREFIX_PATH="$prefix" "${@:2}"
  cmake --build "$scratch/$1"
}

# A consumer gets the program on standard input. What it loads of LLVM is that of the installation.
check_consumer() { # COMMAND…
  rm -rf "$VYRE_CACHE"
  LD_DEBUG=files "$@" <expected.txt >"$scratch/printed.txt" 2>"$scratch/loaded.txt"
  diff "$scratch/numbers.txt" "$scratch/printed.txt"
  [[ ! -e $libraries/libvyre-llvm.so ]] || grep -q "init: .*$libraries/.*libvyre-llvm.so" "$scratch/loaded.txt" ||
    fail "$* does not find libvyre-llvm.so"
}

make_project consumer -DCMAKE_CXX_COMPILER="$compiler"
"$scratch/consumer/consumer" 2>"$scratch/numbers-of-consumer.txt" | diff expected.txt -
diff "$scratch/numbers.txt" "$scratch/numbers-of-consumer.txt"

make_project c_only -DCMAKE_C_COMPILER="$c_compiler"
check_consumer "$scratch/c_only/main_vyre"
check_consumer "$scratch/c_only/main_c"

export PKG_CONFIG_PATH=$libraries/pkgconfig
for package in vyre vyre-static; do
  read -ra flags <<<"$(pkg-config --cflags --libs $package)"
  "$c_compiler" -std=c99 c_only/main.c -o "$scratch/$package" "${flags[@]}" -Wl,-rpath,"$libraries"
  check_consumer "$scratch/$package"
done

check_consumer python3 consumer.py "$libraries/libvyre.so.1"

# --- When `cpu` cannot run ------------------------------------------------------------------------

# The interpreter runs, and says why.
VYRE_CPU=abacus "$scratch/c_only/main_c" <expected.txt 2>"$scratch/said.txt" |
  diff "$scratch/numbers.txt" -
grep -q '^interp `cpu` cannot run here: .*VYRE_CPU' "$scratch/said.txt" ||
  fail "without a CPU backend it says: $(cat "$scratch/said.txt")"

# A damaged module of LLVM is passed over: LLVM comes from elsewhere, or the interpreter runs and says why.
if [[ -e $libraries/libvyre-llvm.so ]]; then
  cp "$libraries/libvyre-llvm.so" "$scratch/whole.so"
  head -c 100000 "$scratch/whole.so" >"$libraries/libvyre-llvm.so"
  rm -rf "$VYRE_CACHE"
  "$scratch/c_only/main_c" <expected.txt 2>"$scratch/said.txt" | diff "$scratch/numbers.txt" -
  grep -qE '^cpu $|^interp `cpu` cannot run here: .*libvyre-llvm.so is damaged' "$scratch/said.txt" ||
    fail "with a damaged module of LLVM it says: $(cat "$scratch/said.txt")"
  cp "$scratch/whole.so" "$libraries/libvyre-llvm.so"
fi

# --- What is installed ----------------------------------------------------------------------------

# Headers: what vyre.h and vyre_c.h include, and nothing else.
printf '#include "vyre/vyre.h"\n#include "vyre/vyre_c.h"\n' |
  "$compiler" -std=c++20 -x c++ -MM -I "$prefix/include" - | tr ' ' '\n' |
  grep "^$prefix" | sort -u >"$scratch/included.txt"
find "$prefix/include" -type f | sort | diff "$scratch/included.txt" - ||
  fail 'the headers are not those that vyre.h and vyre_c.h include'

# Symbols: the functions of vyre_c.h, and nothing else.
grep -oE '\bvyre_[a-z_]+\(' ../../vyre/vyre_c.h | tr -d '(' | sort -u >"$scratch/declared.txt"
nm -D --defined-only "$libraries/libvyre.so" | awk '{print $3}' | sort -u |
  diff "$scratch/declared.txt" - || fail 'libvyre.so exports something else than vyre_c.h declares'

for file in man/man1/vyre.1 bash-completion/completions/vyre zsh/site-functions/_vyre \
  fish/vendor_completions.d/vyre.fish doc/vyre/guide.md doc/vyre/LICENSE; do
  [[ -s $prefix/share/$file ]] || fail "share/$file is missing"
done
