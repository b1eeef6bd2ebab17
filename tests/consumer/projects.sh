#!/usr/bin/env bash
# projects.sh BUILD_DIR CXX [KIND...]   write each kind of project with an installed `tapegrad new`; compile, train and test it
#
# Then the commands of its README, a run that is resumed, and for csv another table. PREFIX=DIR: use what is installed there.
set -euo pipefail
sources=$(cd "$(dirname "$0")/../.." && pwd) build=$1 cxx=$2; shift 2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
prefix=${PREFIX:-$work/prefix}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "failed: $*"; exit 1; }; }
[ -n "${PREFIX:-}" ] || quietly cmake --install "$build" --prefix "$prefix"
[ $# -gt 0 ] || set -- csv images layer text
cd "$work"

# in_build NAME   configures, builds without a warning, and tests the project NAME
in_build() {
  quietly cmake -G Ninja -S "$1" -B "$1/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx"
  quietly cmake --build "$1/build"
  if grep -n warning: "$work/log"; then echo "$1: its code has warnings"; exit 1; fi
  quietly ctest --test-dir "$1/build" --output-on-failure
  grep -q '100% tests passed, 0 tests failed out of 1' "$work/log"
}
# expect NAME PATTERN COMMAND...   runs the program of NAME in its folder
expect() {
  local name=$1 pattern=$2; shift 2
  (cd "$name" && "./build/$name" "$@") >"$work/printed" 2>&1 || { cat "$work/printed"; echo "failed: $name $*"; exit 1; }
  grep -Eq "$pattern" "$work/printed" || { cat "$work/printed"; echo "$name $*: expected $pattern"; exit 1; }
}

for kind; do
  start=$SECONDS
  quietly "$prefix/bin/tapegrad" new "my-$kind" --from "$kind"
  in_build "my-$kind"
  expect "my-$kind" "^bits " train
  cp "my-$kind/out/model.safetensors" whole
  expect "my-$kind" "^bits " train --resume
  cmp whole "my-$kind/out/model.safetensors"
  if "my-$kind/build/my-$kind" >"$work/printed" 2>&1; then echo "my-$kind without arguments: expected an error"; exit 1; fi
  grep -q "^usage: my-$kind/build/my-$kind train " "$work/printed"
  case $kind in
    csv)
      expect my-csv '^(fern|gentian|thyme)$' predict table.csv
      [ "$(wc -l <"$work/printed")" = "$(($(wc -l <my-csv/table.csv) - 1))" ]
      tail -n +2 my-csv/table.csv | cut -d, -f4 | paste -d' ' - "$work/printed" |
        awk '$1 == $2 { ++right } END { print right " of " NR " rows are right"; exit !(right > 0.9 * NR) }'
      # Another table: other columns, of which some are words.
      awk 'BEGIN { print "size,colour,weight,ripe"
                   for (i = 0; i < 200; ++i) {
                     size = (i * 37) % 100; colour = i % 3 == 0 ? "green" : i % 3 == 1 ? "red" : "yellow"
                     print size "," colour "," (i * 53) % 70 / 7 "," (colour == "green" || size < 20 ? "no" : "yes") } }' >my-csv/fruit.csv
      sed -i -e 's/"table.csv"/"fruit.csv"/' -e 's/data::numbers("height"), data::numbers("rain", {.missing = 50})/data::numbers("size"), data::numbers("weight")/' \
        -e 's/data::classes("soil"), data::classes("plant")/data::classes("colour"), data::classes("ripe")/' \
        -e 's/{"height", "rain", "soil"}/{"size", "weight", "colour"}/' -e 's/kTarget = "plant"/kTarget = "ripe"/' my-csv/model.h
      if grep -nE '"(height|rain|soil|plant)"' my-csv/model.h; then echo "model.h names columns elsewhere, too"; exit 1; fi
      in_build my-csv
      expect my-csv "^bits " train
      expect my-csv '^(no|yes)$' predict fruit.csv
      ;;
    images) expect my-images '^images/ring/1.png: ring$' predict images/ring/1.png images/bars/2.png ;;
    layer) expect my-layer '^model 0\.[0-9]+, curve 0\.[0-9]+$' predict 0.25 ;;
    text) expect my-text '^The ' generate 'The ' ;;
  esac
  echo "$kind: $((SECONDS - start)) s"
done
# With tapegrad's sources instead of an installation: the project is configured, and so has its targets.
quietly cmake -G Ninja -S "my-$1" -B from-sources -DTAPEGRAD_SOURCES="$sources" -DCMAKE_CXX_COMPILER="$cxx"
