#!/usr/bin/env bash
# fifteen_minutes.sh [PREFIX]   do what docs/start.md says, on a brand-new Debian 12, within fifteen minutes
#
# Types the page's commands: installs its packages, builds and installs the library with two processes, builds each program
# by the page's lines of CMake, runs it, and compares what it prints with the page's. It ends with a trained, loaded,
# checked and resumed model, and the minutes that passed. With PREFIX it installs there and no packages, to try it.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd) page=$top/docs/start.md prefix=${1:-}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
start=$EPOCHSECONDS
export CMAKE_BUILD_PARALLEL_LEVEL=2 DEBIAN_FRONTEND=noninteractive

step() { printf '%2d:%02d  %s\n' $(((EPOCHSECONDS - start) / 60)) $(((EPOCHSECONDS - start) % 60)) "$*"; }
quietly() { "$@" >"$work/log" 2>&1 </dev/null || { tail -n 40 "$work/log"; step "this failed: $*"; exit 1; }; }
# block LANGUAGE   the page's first block in a language
block() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } on && /^```$/ { exit } on' "$page"; }

# The commands as the page's reader has them: the package manager asks nothing, and root needs no sudo.
sudo() {
  if [ "$1" = apt-get ]; then set -- apt-get -y "${@:2}"; fi
  if [ "$(id -u)" = 0 ]; then command "$@"; else command sudo "$@"; fi
}
if [ -n "$prefix" ]; then
  mkdir -p "$prefix"; prefix=$(cd "$prefix" && pwd)
  sudo() { [ "$1" = apt-get ] || "$@"; }
  cmake() {
    if [ "$1" = -S ]; then set -- "$@" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_PREFIX_PATH="$prefix"; fi
    command cmake "$@"
  }
fi

cd "$work"
ln -s "$top" tapegrad
while IFS= read -r command; do
  [ -n "$command" ] || continue
  step "$command"
  quietly eval "$command"
done < <(block sh)

# program NAME [ARGUMENT...]   builds examples/documents/NAME.cpp as the page's "first", runs it in $work/NAME.run, and compares
program() {
  local name=$1 source=$top/examples/documents/$1; shift
  mkdir -p "$name"
  block cmake >"$name/CMakeLists.txt"
  cp "$source.cpp" "$name/first.cpp"
  step "$name"
  quietly cmake -S "$name" -B "$name/build" -G Ninja -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$name/build"
  quietly cmake -D PROGRAM="$work/$name/build/first" -D ARGUMENTS="$(IFS=';'; echo "$*")" -D EXPECTED="$source.txt" \
    -D FOLDER="$work/$name.run" -P "$top/tests/support/prints.cmake"
}

table=$top/examples/documents/leaves.csv
program start_1_gradients
program start_2_model "$table"
program start_3_load "$work/start_2_model.run/leaves.safetensors"
program start_4_loop "$table"

step "start_4_loop, killed and resumed"
loop=$work/start_4_loop/build/first killed=
mkdir again; cd again
for delay in 0.05 0.1 0.2 0.4; do
  rm -rf run
  "$loop" "$table" >/dev/null 2>&1 & run=$!
  sleep $delay
  kill -KILL $run 2>/dev/null || true
  wait $run 2>/dev/null || killed=yes
  quietly "$loop" "$table" --resume
  cmp run/model.safetensors "$work/start_4_loop.run/run/model.safetensors"
done
[ -n "$killed" ] || { step "no run was killed before its end"; exit 1; }

passed=$((EPOCHSECONDS - start))
step "a model was trained, loaded, checked, killed and resumed"
[ $passed -le 900 ] || { echo "this took more than fifteen minutes"; exit 1; }
