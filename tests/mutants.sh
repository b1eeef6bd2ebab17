#!/usr/bin/env bash
# tests/mutants.sh [--seconds N] [--number N] [--seed S] [--to FOLDER] [FILE...]   mutation testing of gradients
#
# Changes single expressions of the code that computes gradients, thousands of times, and lists the changes that no
# check finds: docs/contributing/tests.md. Goes on from the results in FOLDER (build/mutants). Without --number, 60 mutants of
# each FILE; by default, of all files that compute gradients. Fails if a mutant survives that
# tests/mutants/equivalent.txt does not list. BUILD: the folder of the build (build/release).
#
#   tests/mutants.sh --report       the table and the survivors of the results so far
#   tests/mutants.sh --check        whether the lines of equivalent.txt match the sources
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
case " $* " in
  *" --report "* | *" --check "*) ;;
  *) ninja -C "$build" test_mutants >/dev/null ;;
esac
exec python3 -B tests/mutants/mutants.py --build "$build" --most-survivors 0 "$@"
