#!/usr/bin/env bash
# tasks/run.sh [OPTION...]   train the Transformer on the copy task, from nothing, and show that it copies
#
# Installs what is missing (Debian 12), builds the command, trains with the tutorial's settings and tests the result.
# Options replace ours (--seed 0 --out out/copy) and go to `tapegrad train copy`.
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
