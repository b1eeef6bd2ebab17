#!/usr/bin/env bash
# tasks/run.sh [OPTION...]   build the command, train a Transformer on the copy task, and test it
#
# Installs missing packages. A first build has the kernels of this processor and the verbs of training runs; tests/run.sh builds all.
# Trains with the settings of tutorial 003, section 8.5.1.
# Options replace the default ones (--seed 0 --out out/copy) and are passed to `tapegrad train copy`.
set -euo pipefail
. "$(dirname "$0")/setup.sh"
install $packages
configure_first
build release tapegrad_command
[ $# -gt 0 ] || set -- --seed 0 --out out/copy
say "tapegrad train copy $*"
build/release/tapegrad train copy "$@"
say "tapegrad test copy"
build/release/tapegrad test copy
say "attention of the trained model"
build/release/tapegrad attention copy >/dev/null
run=out/copy
[ ! -f out/copy.last ] || run=$(cat out/copy.last)  # where --out named another folder
cat <<END
report, with the loss curve  $run/report.html
curve, as numbers            $run/metrics.jsonl
attention map                $run/attention.svg

Try next:
  build/release/tapegrad train copy --threads 1 --out out/again   # the same fingerprint
  build/release/tapegrad plot $run out/again --log-loss           # both curves in one chart
  build/release/tapegrad train gpt --text README.md --out out/gpt # a small language model
END
