#!/usr/bin/env bash
# examples/run.sh NAME [OPTION...]   build one of the examples and run it; it writes into out/NAME
#
# Installs missing packages. Without NAME, lists the examples. Options are passed to the program after the
# folder.
set -euo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
name=${1-}
if [ -z "$name" ] || [ ! -f "examples/$name.cpp" ]; then
  echo "usage: examples/run.sh NAME [OPTION...], where NAME is one of:" >&2
  for file in examples/*.cpp examples/ported/*.cpp; do file=${file#examples/}; echo "  ${file%.cpp}" >&2; done
  exit 2
fi
install $packages
configure_first
program=${name/\//_}
build release "$program"
say "$program out/$name ${*:2}"
exec "build/release/$program" "out/$name" "${@:2}"
