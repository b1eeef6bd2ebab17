#!/usr/bin/env bash
# run.sh SECONDS [BUILD_DIR]   every fuzzer for so many seconds, two at a time, from the corpus that is kept here
#
# BUILD_DIR (default: build/fuzz) was configured by clang with TAPEGRAD_FUZZ=ON. What a fuzzer adds to its corpus goes
# into BUILD_DIR/corpus; what it finds, into BUILD_DIR/findings. Fails when one finds something.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1 build=$(realpath "${2:-build/fuzz}")

fuzz() {
  local name=$1 seconds=$2 build=$3 log
  log=$build/findings/$name.log
  mkdir -p "$build/corpus/$name" "$build/findings"
  local dictionary=tests/fuzz/$name.dict options=()
  [ ! -f "$dictionary" ] || options+=("-dict=$dictionary")
  [ "$name" != command_line ] || options+=(-close_fd_mask=3)  # the command prints what is wrong
  if "$build/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=8192 -print_final_stats=1 \
       -artifact_prefix="$build/findings/$name-" "${options[@]}" "$build/corpus/$name" "tests/fuzz/corpus/$name" \
       >"$log" 2>&1; then
    printf '%-18s %s runs, no finding\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    tail -n 40 "$log"
    echo "$name: a finding, see $build/findings"
    return 1
  fi
}
# The instrumented readers are in the library, too.
export ASAN_OPTIONS=detect_odr_violation=0
export -f fuzz

ls tests/fuzz/*.cpp | xargs -n 1 basename -s .cpp | xargs -P 2 -I {} bash -c "fuzz {} $seconds $build"
