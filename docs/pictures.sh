#!/usr/bin/env bash
# docs/pictures.sh [NAME...]   makes pictures of docs/pictures again, from build/release: copy, or examples; all without NAME
#
# Runs the command and the examples with their default settings, in out/pictures, and copies what they draw, every fifth point where a
# picture of all would be large. All of them take about five minutes on two cores. The pictures do not depend on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/release pictures=$PWD/docs/pictures
mkdir -p out/pictures "$pictures"
cd out/pictures

# svg FILE NAME [N]   a picture that a program wrote; of its circles every Nth, and those of the legend, which stand after its texts
svg() { awk -v each="${3:-1}" '!/^<circle/ || seen++ % each == 0 || last ~ /^<text/; { last = $0 }' "$1" >"$pictures/$2.svg"; }

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

example() {
  local name=$1
  "$build/$name" "$name"
  case $name in
    own_model | ported_*) curve "$name" Loss "$name" ;;
    digits) svg "$name/vit/digits.svg" "$name" ;;
    cartpole) curve "$name" return "$name" ;;
    neural_ode) svg "$name/spiral.svg" "$name" ;;
    several_processes) svg "$name/loss.svg" "$name" ;;
    diffusion) svg "$name/$name.svg" "$name" 5 ;;
    *) svg "$name/$name.svg" "$name" ;;
  esac
}

[ $# -gt 0 ] || set -- copy own_model digits characters vae newton neural_ode cartpole burgers diffusion gan tones several_processes \
  ported_{unet,mamba,gat,bert,t5,nsf}
for name; do
  rm -rf "${name:?}"
  if [ "$name" = copy ]; then rm -rf out; copy; else example "$name"; fi
done
