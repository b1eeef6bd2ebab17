#!/usr/bin/env bash
# tasks/run.sh [OPTION...]   build the command, train a Transformer on the copy task, and test it
#
# Installs missing packages. Trains with the settings of tutorial 003, section 8.5.1.
# Options replace the default ones (--seed 0 --out out/copy) and are passed to `tapegrad train copy`.
set -euo pipefail
. "$(dirname "$0")/setup.sh"
install $packages
configure release
build release tapegrad_command
[ $# -gt 0 ] || set -- --seed 0 --out out/copy
say "tapegrad train copy $*"
build/release/tapegrad train copy "$@"
say "tapegrad test copy"
build/release/tapegrad test copy
