#!/usr/bin/env bash
# two_machines.sh [COMMAND]   trains the copy task on two machines, as root: two network namespaces of this computer, joined
# by a virtual cable, each with a host name and a copy of the file system of its own. The model must be that of one
# machine, byte for byte; when the cable is pulled, each machine must name the ranks of the other and end, and the run
# must continue from its checkpoint. MPIRUN=mpirun.mpich is for another MPI than the default one
set -euo pipefail
command=$(realpath "${1:-build/release/tapegrad}") mpirun=${MPIRUN:-mpirun}
work=$(mktemp -d)
declare -A machine  # by name, a process that lives in it
end() {
  for one in "${machine[@]}"; do kill -KILL -- -"$one" 2>/dev/null || true; done
  rm -rf "$work"
}
trap end EXIT
of() { echo "/proc/${machine[$1]}/root/tmp/run/$2"; }  # a file of a machine
fail() { echo "two_machines: $*" >&2; tail -n 50 "$work/log" "$(of a .)"/errors.* "$(of b .)"/errors.* >&2 || true; exit 1; }

# boot NAME   a machine: an overlay of this file system, with its own /tmp and network
boot() {
  mkdir -p "$work/$1/root" "$work/$1/memory"
  setsid unshare --net --mount --uts --ipc bash -euc '
    hostname "$1"; cd "$2"
    mount -t tmpfs none memory; mkdir memory/upper memory/work
    mount -t overlay none -o lowerdir=/,upperdir=memory/upper,workdir=memory/work root
    for kernel in proc sys dev; do mount --rbind /$kernel root/$kernel; done
    mount -t tmpfs none root/dev/shm
    mount -t tmpfs none root/tmp
    mount --bind -o ro "$3" "root/$3" 2>/dev/null || { mkdir -p "root/$3"; mount --bind "$3" "root/$3"; }
    mkdir root/tmp/run; ip link set lo up; : >root/tmp/booted
    exec chroot root sleep infinity' sh "$1" "$work/$1" "$(dirname "$command")" &
  machine[$1]=$!
  disown
}
# in_machine NAME COMMAND...
in_machine() { nsenter -t "${machine[$1]}" --net --mount --uts --ipc --root --wd env -C /tmp/run "${@:2}"; }
cable() { for name in a b; do in_machine $name ip link set eth0 "$1"; done; }

boot a; boot b
for name in a b; do
  for _ in $(seq 300); do [ ! -e "$(of $name ../booted)" ] || break; sleep 0.1; done
  [ -e "$(of $name ../booted)" ] || fail "machine $name does not start (is this root?)"
done
ip link add eth0 netns "${machine[a]}" type veth peer name eth0 netns "${machine[b]}"
in_machine a ip address add 10.77.0.1/24 dev eth0
in_machine b ip address add 10.77.0.2/24 dev eth0
cable up
in_machine a tc qdisc add dev eth0 root netem delay 2ms 1ms loss 0.1% 2>/dev/null && network="2 ms, 0.1 % of packets lost" ||
  network="neither delay nor loss: this kernel has no sch_netem"

# In place of ssh, and a rank of a run, whose errors and exit status stay on its machine.
agent="#!/bin/sh
while [ \"\${1#-}\" != \"\$1\" ]; do shift; done
case \$1 in *.1) machine=${machine[a]} ;; *) machine=${machine[b]} ;; esac
shift
exec nsenter -t \$machine --net --mount --uts --ipc --root --wd env -C /tmp/run sh -c \"\$*\""
rank='#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
trap : TERM
rm -f status.$rank
"$@" 2>errors.$rank
echo $? | tee status.$rank
exit $(cat status.$rank)'
for name in a b; do
  in_machine $name sh -c 'echo "$1" >agent; echo "$2" >rank; chmod +x agent rank' sh "$agent" "$rank"
done

# together ARGUMENTS...   four ranks, two on each machine, over TCP, by Open MPI or MPICH
hosts=10.77.0.1:2,10.77.0.2:2
if "$mpirun" --version | grep -q HYDRA; then
  launcher=(-launcher ssh -launcher-exec /tmp/run/agent -iface eth0 -hosts $hosts)
  export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 FI_PROVIDER=tcp  # UCX would find that the machines share a memory
else
  launcher=(--oversubscribe --host $hosts --mca pml ob1 --mca btl_tcp_if_include 10.77.0.0/24)
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none
  export OMPI_MCA_plm_rsh_agent=/tmp/run/agent PRTE_MCA_plm_ssh_agent=/tmp/run/agent  # until Open MPI 4, and from 5 on
fi
together() { in_machine a "$mpirun" "${launcher[@]}" -n 4 ./rank "$@"; }

# computes NAME   whether a rank lives on the machine
computes() {
  for pid in $(pgrep -x "$(basename "$command")"); do
    [ "$(readlink /proc/"$pid"/ns/net)" != "$(readlink /proc/"${machine[$1]}"/ns/net)" ] || return 0
  done
  return 1
}

copy=("$command" train copy --no-progress --num-epochs 1 --steps-per-epoch 200 --accumulate 4 --threads 1
      --checkpoint-every 5 --rank-timeout 4)

in_machine a "${copy[@]}" --out one >"$work/log" 2>&1 || fail "one process"
together "${copy[@]}" --out two >"$work/log" 2>&1 || fail "two machines"
cmp "$(of a one/model.safetensors)" "$(of a two/model.safetensors)" || fail "another model than that of one process"

# The cable is pulled: each machine names the ranks of the other one. mpirun itself may wait for the other machine.
together "${copy[@]}" --out cut >"$work/log" 2>&1 & run=$!
until [ "$(wc -l 2>/dev/null <"$(of a cut/metrics.jsonl)" || echo 0)" -ge 20 ]; do
  kill -0 $run 2>/dev/null || fail "the run ended before the cable was pulled"
  sleep 0.05
done
cable down
start=$(date +%s%N)
for name in a b; do
  while computes $name; do
    [ $(($(date +%s%N) - start)) -lt 60000000000 ] || fail "machine $name computes 60 s after the cable was pulled"
    sleep 0.1
  done
done
took=$((($(date +%s%N) - start) / 1000000))
grep -q "ranks 2 and 3 of 4 are missing: the others have waited 4 s" "$(of a .)"/errors.* || fail "machine a names nobody"
grep -q "ranks 0 and 1 of 4 are missing: the others have waited 4 s" "$(of b .)"/errors.* || fail "machine b names nobody"
! grep -qx 0 "$(of a .)"/status.* "$(of b .)"/status.* || fail "a process ended with status 0"
cable up
for _ in $(seq 300); do kill -0 $run 2>/dev/null || break; sleep 0.1; done
! wait $run || fail "mpirun ended with status 0"
ended=$((($(date +%s%N) - start) / 1000000))

# The second machine needs the checkpoint: here it gets a copy, where others share a folder.
! together "${copy[@]}" --out cut --resume >"$work/log" 2>&1 || fail "the run continued without the second machine's checkpoint"
grep -q "got step .* on rank 0, step 0 on rank 2 (all machines must access the same folder)" "$(of a .)"/errors.0 ||
  fail "nothing says that the second machine has no checkpoint"
mkdir "$(of b cut)"; cp "$(of a cut/checkpoint)" "$(of b cut)"
together "${copy[@]}" --out cut --resume >"$work/log" 2>&1 || fail "the run did not continue"
grep "Resuming" "$work/log"
cmp "$(of a two/model.safetensors)" "$(of a cut/model.safetensors)" || fail "another model after the cable was pulled"
echo "two machines ($network): the bits of one; both ended $took ms after the cable was pulled (--rank-timeout 4), mpirun" \
  "after $ended ms, and the run continued to the same bits"
