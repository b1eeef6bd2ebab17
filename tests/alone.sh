#!/usr/bin/env bash
# tests/alone.sh [FILE...]   whether each source file, or each of these, includes what it uses: clang checks it alone,
#                            without code. Other builds compile files in groups, which hides a missing include.
set -euo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
install $packages $mpi $images clang ninja-build libbenchmark-dev
build=build/alone
cmake -G Ninja -S . -B $build -D CMAKE_CXX_COMPILER=clang++ -D CMAKE_TRY_COMPILE_CONFIGURATION=Debug \
  -D CMAKE_CXX_FLAGS_RELEASE=-fsyntax-only -D TAPEGRAD_UNITY=OFF -D CMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -D TAPEGRAD_WERROR=ON -D TAPEGRAD_BENCH=ON -D CMAKE_DISABLE_FIND_PACKAGE_MPI=ON >/dev/null
[ $# -gt 0 ] || set -- $(git ls-files '*.cpp')
targets=()
for file; do
  case $file in
    bench/peers/* | examples/documents/peers/* | distributed/mpi.cpp | tests/consumer/* | tests/fuzz/* | tests/opinfo/*) ;;  # compiled in builds of their own
    *) targets+=("$PWD/$file^") ;;                                # Ninja's name for what is made of a source
  esac
done
[ ${#targets[@]} = 0 ] || ninja -C $build -k 0 "${targets[@]}"
