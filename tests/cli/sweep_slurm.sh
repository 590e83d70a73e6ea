#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick sweep --slurm on a cluster of two nodes, both on this machine: nothing is lost when a node
# is. Skipped where there is no Slurm to start, or nobody who may start it.
here=$(realpath "$(dirname "$0")") nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$here/lib.bash" "$@"
source "$here/sweep.bash"
source "$here/slurm.bash"
start_cluster >why || { echo "skipped: $(cat why)" && exit 77; }

# ---- sweeps --------------------------------------------------------------------------------------

space=("$nets/unet_qdq/model.onnx" "$nets/cnn_qdq/model.onnx"
  --set dram_latency=50,100,200,400,800 --set scratchpad=65536,131072 --set dram_bytes=4,8)
all='^40 points, 0 failed; 40 computed now$'
gives 'here' "$all" "$wick" sweep "${space[@]}" -o here
gives 'two tasks' "$all" timeout 120 "$wick" sweep "${space[@]}" --slurm -j 2 -o two
same 'the same rows' here two
check 'each point once' test "$(sort two/log | uniq -d | wc -l)" = 0
gives 'nothing left to submit' '^40 points, 0 failed; 0 computed now$' env PATH="$tmp" \
  "$wick" sweep "${space[@]}" --slurm -o two

lose lost-node &
gives 'the only task is lost with its node' "$all" timeout 240 "$wick" sweep "${space[@]}" \
  --slurm -j 1 -o lost-node
wait $!
check 'a node was lost' grep -q node lost
check 'there was a second array' test "$(find lost-node/slurm -name '*.log' | wc -l)" = 2
same 'the same rows in spite of it' here lost-node
check 'one point was begun twice' test "$(sort lost-node/log | uniq -d | wc -l)" -le 1
check 'none was done twice' test "$(grep done lost-node/log | sort | uniq -d | wc -l)" = 0

# ---- without Slurm -------------------------------------------------------------------------------

stop slurmctld.pid
"$wick" sweep "${space[@]}" --slurm -o none >none.out 2>none.err
check 'no controller' test $? = 6 -a ! -s none.out
check 'which says so' grep -q '^wick: --slurm: cannot submit: sbatch: error: ' none.err
finish
