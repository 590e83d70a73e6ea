#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick sweep --slurm on a cluster of two nodes, both on this machine: nothing is lost when a node
# is. Skipped where there is no Slurm to start, or nobody who may start it.
nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$(dirname "$0")/lib.bash" "$@"
for program in slurmctld slurmd munged sbatch squeue; do
  command -v $program >/dev/null || { echo "skipped: there is no $program" && exit 77; }
done
((EUID == 0)) || { echo 'skipped: only root can start slurmd' && exit 77; }

# ---- the cluster ---------------------------------------------------------------------------------

# stop FILE: the process of a pid file.
stop() {
  [[ -f $1 ]] && kill -9 "$(cat "$1")" 2>/dev/null
  rm -f "$1"
}
# lose_node NAME: its daemon, those that watch its jobs, and the jobs.
lose_node() {
  local process parent
  stop "slurmd-$1.pid"
  for process in $(grep -lsz "^SLURM_CONF=$tmp/" /proc/[0-9]*/environ); do
    process=${process%/environ}
    grep -qsxz "SLURMD_NODENAME=$1" "$process/environ" || continue
    parent=$(sed -n 's/^PPid:[[:space:]]*//p' "$process/status")
    grep -qs slurmstepd "/proc/$parent/comm" && kill -9 "$parent"
    kill -9 "${process#/proc/}"
  done 2>/dev/null
}
stop_all() {
  local file
  lose_node node1
  lose_node node2
  for file in "$tmp"/*.pid; do stop "$file"; done
}
trap 'stop_all; rm -rf "$tmp"' EXIT

host=$(hostname) port=$((20000 + $$ % 30000))
mkdir state
head -c 64 /dev/urandom >munge.key && chmod 600 munge.key
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$tmp/munge.socket
StateSaveLocation=$tmp/state
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd-%n.pid
SlurmdSpoolDir=$tmp/spool-%n
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdTimeout=6
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=node[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=1
PartitionName=all Nodes=node[1-2] Default=YES
END
export SLURM_CONF=$tmp/slurm.conf
start() {
  munged --force --socket="$tmp/munge.socket" --key-file="$tmp/munge.key" \
    --pid-file="$tmp/munge.pid" --log-file="$tmp/munge.log" --seed-file="$tmp/munge.seed" &&
    slurmctld -i && slurmd -N node1 && slurmd -N node2
}
is_up() { [[ $(timeout 5 sinfo -h -t idle -o %D 2>/dev/null) == 2 ]]; }
start >start.log 2>&1 || { echo "skipped: Slurm does not start: $(head -1 start.log)" && exit 77; }
for ((i = 0; i < 60; i++)); do
  is_up && break
  sleep 0.5
done
is_up || { echo "skipped: Slurm's nodes do not come up: $(tail -1 slurmctld.log)" && exit 77; }

# ---- sweeps --------------------------------------------------------------------------------------

space=("$nets/unet_qdq/model.onnx" "$nets/cnn_qdq/model.onnx"
  --set dram_latency=50,100,200,400,800 --set scratchpad=65536,131072 --set dram_bytes=4,8)
# The table without times: for whom it is computed makes no other difference.
table() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) keep[i] = $i !~ /_seconds$/ }
    { for (i = 1; i <= NF; i++) if (keep[i]) printf "%s,", $i; print "" }' "$1/points.csv"
}
# lose DIR: once some points are done, a node that works on them is lost.
lose() {
  local node i
  for ((i = 0; i < 300; i++)); do
    [[ -f $1/log ]] && (($(grep -c done "$1/log") >= 5)) && break
    sleep 0.1
  done
  node=$(timeout 5 squeue -h -t running -o %N | head -1)
  [[ $node ]] && lose_node "$node" && echo "$node" >lost
}
all='^40 points, 0 failed; 40 computed now$'
gives 'here' "$all" "$wick" sweep "${space[@]}" -o here
gives 'two tasks' "$all" timeout 120 "$wick" sweep "${space[@]}" --slurm -j 2 -o two
check 'the same rows' diff <(table here) <(table two)
check 'each point once' test "$(sort two/log | uniq -d | wc -l)" = 0
gives 'nothing left to submit' '^40 points, 0 failed; 0 computed now$' env PATH="$tmp" \
  "$wick" sweep "${space[@]}" --slurm -o two

lose lost-node &
gives 'the only task is lost with its node' "$all" timeout 240 "$wick" sweep "${space[@]}" \
  --slurm -j 1 -o lost-node
wait $!
check 'a node was lost' grep -q node lost
check 'there was a second array' test "$(find lost-node/slurm -name '*.log' | wc -l)" = 2
check 'the same rows in spite of it' diff <(table here) <(table lost-node)
check 'one point was begun twice' test "$(sort lost-node/log | uniq -d | wc -l)" -le 1
check 'none was done twice' test "$(grep done lost-node/log | sort | uniq -d | wc -l)" = 0

# ---- without Slurm -------------------------------------------------------------------------------

stop slurmctld.pid
"$wick" sweep "${space[@]}" --slurm -o none >none.out 2>none.err
check 'no controller' test $? = 6 -a ! -s none.out
check 'which says so' grep -q '^wick: --slurm: cannot submit: sbatch: error: ' none.err
finish
