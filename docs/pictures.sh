#!/usr/bin/env bash
# docs/pictures.sh [NAME...]   makes pictures of docs/images again, from build/release: copy, or examples; all without NAME
#
# Runs the command and the examples with their default settings, in out/pictures, and copies what they draw, every fifth point where a
# picture of all would be large. All of them take about five minutes on two cores. The pictures do not depend on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/release pictures=$PWD/docs/images
mkdir -p out/pictures "$pictures"
cd out/pictures

# svg FILE NAME [N]   a picture that a program wrote, without titles, which pages do not show; of its circles every Nth, and those of
#                     the legend, which stand after its texts
svg() {
  sed '/^<g class="tips"/,/^<\/g>/d; s|><title>[^<]*</title></[a-z]*>|/>|' "$1" |
    awk -v each="${3:-1}" '!/^<circle/ || seen++ % each == 0 || last ~ /^<text/; { last = $0 }' >"$pictures/$2.svg"
}

# curve NAME CHART RUN...   a chart of these runs
curve() {
  "$build/tapegrad" plot "${@:3}" --only "$2" --out "plots/$1" --quiet
  svg "plots/$1/plot.svg" "$1"
}

# The picture of README.md, and what tasks/run.sh prints at its end, without the lines that show the speed.
copy() {
  {
    PATH=$build:$PATH tapegrad train copy --seed 0 --out out/copy  # names the next commands by the word that called it
    printf '\n== %s\n' "tapegrad test copy"
    "$build/tapegrad" test copy
  } | grep -v '^step ' >"$pictures/copy.txt"
  "$build/tapegrad" train copy --seed 0 --num-epochs 0 --out out/begin --no-progress
  "$build/tapegrad" train copy --seed 0 --max-steps 800 --out out/middle --no-progress
  for run in begin middle copy; do "$build/tapegrad" attention copy --model out/$run --quiet; done
  python3 "$pictures/../hero.py" 0=out/begin 800=out/middle 5000=out/copy "$pictures/hero.svg"
}

# The loss in 1, 2 and 4 processes, one line over the other: fails unless they and the models are equal.
several_processes() {
  local n run=several_processes
  for n in 1 2 4; do
    mpirun --allow-run-as-root --oversubscribe -n $n "$build/$run" $run/$n
    cmp $run/1/loss.svg $run/$n/loss.svg
    cmp $run/1/model.safetensors $run/$n/model.safetensors
  done
  awk '/^<path class="line c0"/ { print; sub(/c0/, "c1 dashed"); print; sub(/c1 dashed/, "c3"); print; next } { print }
    />Loss</ { split("1 2 4", n); split("c0,c1 dashed,c3", kind, ",")
      print "<rect class=\"paper\" x=\"322\" y=\"60\" width=\"160\" height=\"86\"/>"
      for (i = 1; i <= 3; ++i) printf "<path class=\"line %s\" d=\"M330 %dh40\"/>\n<text x=\"378\" y=\"%d\">%s\n", kind[i], \
        60 + 18 * i, 64 + 18 * i, (n[i] == 1 ? "1 process" : n[i] " processes") "</text>"
      print "<text x=\"330\" y=\"136\">largest difference: 0</text>" }' $run/1/loss.svg >$run/all.svg
  svg $run/all.svg $run
}

example() {
  local name=$1
  "$build/$name" "$name"
  case $name in
    own_model) curve "$name" Loss "$name" ;;
    ported_nsf) svg "$name/density.svg" "$name" ;;
    digits) svg "$name/vit/digits.svg" "$name" ;;
    cartpole) curve "$name" return "$name" ;;
    neural_ode) svg "$name/spiral.svg" "$name" ;;
    diffusion) svg "$name/$name.svg" "$name" 5 ;;
    *) svg "$name/$name.svg" "$name" ;;
  esac
}

[ $# -gt 0 ] || set -- copy own_model digits characters vae newton neural_ode cartpole burgers diffusion gan tones several_processes \
  ported_nsf
for name; do
  rm -rf "${name:?}"
  case $name in
    copy) rm -rf out && copy ;;
    several_processes) several_processes ;;
    *) example "$name" ;;
  esac
done
