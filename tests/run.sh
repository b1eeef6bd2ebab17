#!/usr/bin/env bash
# tests/run.sh [OPTION...]   build and run the tests: all, or those that ctest's options select (-R golden)
#
# Installs missing packages. PRESET=asan or tsan runs the tests under sanitizers, with the kernels of this processor alone.
set -euo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
preset=${PRESET:-release}
install $packages $mpi $images $tools
[ "$preset" = release ] || everything+=" -D TAPEGRAD_TARGETS=native"
configure "$preset" $everything
chosen=$(ctest --preset "$preset" -N "$@" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: /test_/p')
[ -n "$chosen" ] || { echo "no test is chosen by: $*" >&2; exit 2; }
command=
grep -qE '^test_(distributed|tasks|tutorials|consumer)' <<<"$chosen" && command=tapegrad_command  # these tests run the command
build "$preset" $command $chosen  # test <name> is built by the target test_<name>
say "testing ($preset)"
ctest --preset "$preset" -j "$(nproc)" "$@" </dev/null
