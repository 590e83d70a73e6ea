# SPDX-License-Identifier: Apache-2.0
# A Slurm cluster of two nodes of one processor, both on this machine, in $tmp; behind lib.bash. It
# ends with the script.
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

# ---- its start -----------------------------------------------------------------------------------

configure() {
  local host port
  host=$(hostname)
  port=$((20000 + $$ % 30000))
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
}
start() {
  munged --force --socket="$tmp/munge.socket" --key-file="$tmp/munge.key" \
    --pid-file="$tmp/munge.pid" --log-file="$tmp/munge.log" --seed-file="$tmp/munge.seed" &&
    slurmctld -i && slurmd -N node1 && slurmd -N node2
}
is_up() { [[ $(timeout 5 sinfo -h -t idle -o %D 2>/dev/null) == 2 ]]; }
# False, with the reason on stdout, where there is no Slurm to start, or nobody who may start it.
start_cluster() {
  local program i
  for program in slurmctld slurmd munged sbatch squeue; do
    command -v $program >/dev/null || { echo "there is no $program" && return 1; }
  done
  ((EUID == 0)) || { echo 'only root can start slurmd' && return 1; }
  trap 'stop_all; clean_up' EXIT
  configure
  start >start.log 2>&1 || { echo "Slurm does not start: $(head -1 start.log)" && return 1; }
  for ((i = 0; i < 60; i++)); do
    is_up && return
    sleep 0.5
  done
  echo "Slurm's nodes do not come up: $(tail -1 slurmctld.log)"
  return 1
}

# lose DIR [N]: once N points (5) are done, a node that works on them is lost.
lose() {
  local node i
  for ((i = 0; i < 3000; i++)); do
    [[ -f $1/log ]] && (($(grep -c done "$1/log") >= ${2:-5})) && break
    sleep 0.1
  done
  node=$(timeout 5 squeue -h -t running -o %N | head -1)
  [[ $node ]] && lose_node "$node" && echo "$node" >lost
}
