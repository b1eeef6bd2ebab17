#!/usr/bin/env bash
# tests/run.sh [OPTION...]   build and run the tests: all, or those that ctest's options choose (-R golden)
#
# Installs what is missing (Debian 12). PRESET=asan or tsan runs them under sanitizers.
set -euo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
preset=${PRESET:-release}
install $packages
configure "$preset"
chosen=$(ctest --preset "$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p')
targets=$(cmake --build --preset "$preset" --target help | sed -n 's/^\(test_[a-z0-9_]*\): .*/\1/p')
build "$preset" tapegrad_command $(comm -12 <(printf 'test_%s\n' $chosen | sort) <(sort <<<"$targets"))
say "testing ($preset)"
ctest --preset "$preset" -j "$(nproc)" "$@" </dev/null
