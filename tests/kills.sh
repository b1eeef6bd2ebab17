#!/usr/bin/env bash
# kills.sh [KILLS [COMMAND]]   kills runs of copy and gpt at random moments and resumes them until they are complete; the
# final models must be those of unbroken runs, byte for byte
set -euo pipefail
kills=${1:-200} command=$(realpath "${2:-build/release/tapegrad}")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"

copy=(train copy --no-progress --hidden-size 16 --intermediate-size 16 --num-hidden-layers 1 --seq-length 6
      --num-epochs 20 --steps-per-epoch 20 --batch-size 4 --checkpoint-every 7)
gpt=(train gpt --no-progress --tokenizer char --emb-dim 16 --n-heads 2 --n-layers 1 --context-length 16 --batch-size 4
     --num-epochs 1 --max-steps 300 --checkpoint-every 7)
# What a step decides; how fast it was may differ.
decided() { sed -E 's/,"tokens_per_s":[0-9.e+]*//' "$1/metrics.jsonl"; }

killed=0 completed=0
for task in copy gpt; do
  declare -n run=$task
  start=$(date +%s%N)
  "$command" "${run[@]}" --out "$task" >log 2>&1 || { cat log; exit 1; }
  took=$((($(date +%s%N) - start) / 1000))  # microseconds
  goal=$((killed + kills / 2))
  while [ $killed -lt $goal ]; do
    rm -rf broken
    for ((more = 1; more; )); do
      "$command" "${run[@]}" --out broken --resume >log 2>&1 &
      sleep "$(awk -v t=$took -v r=$RANDOM 'BEGIN { print t * (0.05 + r / 32768) / 1e6 }')"
      kill -KILL $! 2>/dev/null || true
      code=0; wait $! 2>/dev/null || code=$?
      case $code in
        137) killed=$((killed + 1)) ;;
        0) more=0 ;;
        *) cat log; exit 1 ;;
      esac
    done
    completed=$((completed + 1))
    cmp "$task/model.safetensors" broken/model.safetensors
    diff -q <(decided "$task") <(decided broken)
    if ls -A broken | grep -q '^\.tapegrad-'; then echo "a temporary file stayed"; exit 1; fi
  done
done
echo "$killed kills, $completed runs completed, all with the same bytes"
