#!/usr/bin/env bash
# same_runs.sh [COMMAND...]   50 steps of every kind of run must end in the same bits for every family of kernels, number of
# threads and number of processes, with each COMMAND (default: build/release/tapegrad; other builds to compare it with).
# FAMILIES="avx2 portable" and PROCESSES="1 2" choose; runs of several processes need mpirun
set -euo pipefail
[ $# -gt 0 ] || set -- build/release/tapegrad
commands=(); for command; do commands+=("$(realpath "$command")"); done
data=$(realpath "$(dirname "$0")/data")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# family NAME   whether this machine has it
family() { [[ $(TAPEGRAD_KERNELS=$1 "${commands[0]}" info 2>/dev/null) =~ kernels\ +$1 ]]; }
if [ -z "${FAMILIES-}" ]; then
  FAMILIES=""
  for name in avx512 avx2 portable; do ! family $name || FAMILIES+=" $name"; done
fi
PROCESSES=${PROCESSES-1 2 4}

small="--emb-dim 32 --n-heads 2 --n-layers 2 --context-length 32 --batch-size 2 --drop-rate 0.1"
declare -A runs=(
  [copy]="copy --hidden-size 64 --num-hidden-layers 2 --num-attention-heads 4 --intermediate-size 128 --batch-size 2"
  [addition]="addition --hidden-size 64 --num-hidden-layers 2 --num-attention-heads 4 --intermediate-size 128 --batch-size 2"
  [parser]="parser --hidden-size 64 --num-hidden-layers 2 --num-attention-heads 4 --intermediate-size 128 --batch-size 2"
  [classify]="classify --hidden-size 32 --num-attention-heads 2 --intermediate-size 64 --batch-size 2"
  [summarize]="summarize --hidden-size 32 --num-attention-heads 2 --intermediate-size 64 --batch-size 2"
  [answer]="answer --hidden-size 32 --num-attention-heads 2 --intermediate-size 64 --batch-size 2"
  [gpt]="gpt --tokenizer char $small"
  [gpt-bfloat16]="gpt --tokenizer char $small --dtype bfloat16"
  [gpt-lora]="gpt --tokenizer char $small --lora-rank 4"
  [llama]="gpt --from $data/llama3_tiny --batch-size 2"
  [gpt-recompute]="gpt --tokenizer char $small --recompute"
)

failed=0
for name in $(printf '%s\n' "${!runs[@]}" | sort); do
  declare -A seen=()
  count=0
  for command in "${commands[@]}"; do
    for kernels in $FAMILIES; do
      for processes in $PROCESSES; do
        for threads in 1 2 3 7; do
          [ "$processes" = 1 ] || [ $threads = 2 ] || continue  # several processes with two threads each
          launch=(); [ "$processes" = 1 ] || launch=(mpirun --oversubscribe -n "$processes")
          # shellcheck disable=SC2086
          TAPEGRAD_KERNELS=$kernels ${launch[@]+"${launch[@]}"} "$command" train ${runs[$name]} --accumulate 4 --max-steps 50 --threads $threads \
            --no-progress --out "out-$name" >log 2>&1 || [ $? = 1 ] || { cat log; exit 1; }
          bits=$(grep -oE 'bits [0-9a-f]{4}( [0-9a-f]{4})*' log | tail -n 1) || true
          [ -n "$bits" ] || { echo "$name: no hash"; cat log; exit 1; }
          seen[$bits]+=" $kernels/${threads}t/${processes}p"
          count=$((count + 1))
          rm -rf "out-$name"
        done
      done
    done
  done
  if [ ${#seen[@]} = 1 ]; then
    printf '%-16s %3d runs: %s\n' "$name" $count "${!seen[@]}"
  else
    printf '%-16s %3d runs differ:\n' "$name" $count; failed=1
    for bits in "${!seen[@]}"; do echo "  $bits:${seen[$bits]}"; done
  fi
  unset seen
done
exit $failed
