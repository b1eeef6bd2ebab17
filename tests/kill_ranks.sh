#!/usr/bin/env bash
# kill_ranks.sh [KILLS [COMMAND]]   kills one process of gpt runs under mpirun at random moments; each run must end within
# 10 s, with a line that says which process it was. Another number of processes resumes it, until it is complete: the
# model must be that of one unbroken process, byte for byte. Where a process dies while it connects to mpirun, Open MPI
# 4.1's mpirun may print that line, end all processes, and then wait for its own lock for ever: such runs are counted
set -euo pipefail
kills=${1:-50} command=$(realpath "${2:-build/release/tapegrad}")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

gpt=(train gpt --no-progress --tokenizer char --emb-dim 16 --n-heads 2 --n-layers 1 --context-length 16 --batch-size 4
     --accumulate 6 --num-epochs 1 --max-steps 150 --checkpoint-every 7 --threads 1)
"$command" "${gpt[@]}" --out whole >log 2>&1 || { cat log; exit 1; }

# ended PID   waits for mpirun, at most 10 s; then kills it, if all its processes have ended and only mpirun has not
ended() {
  for _ in $(seq 100); do
    kill -0 "$1" 2>/dev/null && [ "$(ps -o stat= -p "$1" | cut -c1)" != Z ] || return 0
    sleep 0.1
  done
  if ps -o stat= --ppid "$1" | grep -qv '^Z'; then return 1; fi
  kill -KILL "$1"; stuck=$((stuck + 1))
}

killed=0 completed=0 longest=0 stuck=0
while [ $killed -lt "$kills" ]; do
  rm -rf broken
  for ((more = 1, processes = 3; more; processes = processes == 1 ? 3 : processes - 1)); do
    mpirun --oversubscribe -n $processes "$command" "${gpt[@]}" --out broken --resume >log 2>&1 & run=$!
    sleep "$(awk -v r=$RANDOM 'BEGIN { print 0.2 + 3 * r / 32768 }')"
    read -r -a ranks < <(cat /proc/$run/task/*/children 2>/dev/null | tr '\n' ' ') || true
    pid=${ranks[RANDOM % processes]-}
    victim=$(tr '\0' '\n' 2>/dev/null <"/proc/${pid:-none}/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') || true
    if [ $killed -lt "$kills" ] && [ -n "$victim" ] && kill -KILL "$pid" 2>/dev/null; then
      start=$(date +%s%N) code=0 before=$stuck
      ended $run || { echo "processes live 10 s after the kill"; cat log; exit 1; }
      wait $run || code=$?
      took=$((($(date +%s%N) - start) / 1000000))
      [ $code != 0 ] || { more=0; continue; }  # it had just ended
      killed=$((killed + 1))
      [ $took -gt $longest ] && [ $stuck = $before ] && longest=$took
      grep -q "process rank $victim with PID" log || { echo "no line about rank $victim"; cat log; exit 1; }
    else
      wait $run || { cat log; exit 1; }
      more=0
    fi
  done
  completed=$((completed + 1))
  cmp whole/model.safetensors broken/model.safetensors
  [ "$(ls broken/checkpoint-shards 2>/dev/null | sed 's/-rank-.*//' | sort -u | wc -l)" -le 1 ] || { echo "earlier shards stayed"; exit 1; }
  if ls -A broken broken/checkpoint-shards 2>/dev/null | grep -q '^\.tapegrad-'; then echo "a temporary file stayed"; exit 1; fi
done
echo "$killed kills, $completed runs completed with the same bytes; a run ended at most $longest ms after a kill;" \
  "mpirun itself did not end $stuck times"
