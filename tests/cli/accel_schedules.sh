#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the accelerator's compiler makes of networks, as a table: commands, cycles as it foresees
# them, and cycles of the timing model. Another row is another decision, or another estimate.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"

machines=(base tiny wide)
memories=('latency=100' 'latency=1000' 'bytes=4,latency=400')
modes=('--prefetch auto' '--prefetch double --effort 2' '--prefetch off --effort 0')

# row NAME MODEL OPTION...: the first row of what it counts.
row() {
  local name=$1 predicted
  predicted=$("$wick" compile "$2" --target "$3" --dram "$4" "${@:5}" -o net.wick 2>&1 |
    sed -n 's/^predicted  *\([0-9]*\) cycles$/\1/p')
  "$wick" sim net.wick --model timing --random 1 --json sim.json >/dev/null
  awk -v "row=$name $3 $4 ${*:5}" -v "predicted=$predicted" '
    /"(cycles|commands)":/ { gsub(/[":,]/, ""); if (!($1 in n)) n[$1] = $2 }
    END { print row ":", n["commands"] + 0, "commands,", predicted, "foreseen,", n["cycles"] }
  ' sim.json
}

# The combinations of machine, memory and mode take turns.
table() {
  local k=0 name machine
  for name in cnn_qdq cnn_qlinear residual_qdq_s8 residual_qlinear shuffled_qdq_u8 unet_qlinear \
    transformer_qdq gru_qdq; do
    for machine in "${machines[@]}"; do
      for _ in 1 2; do
        row "$name" "$tests/nets/int8/$name/model.onnx" "accel:$machine" \
          "${memories[k % 3]}" ${modes[k / 3 % 3]}
        k=$((k + 1))
      done
    done
  done
  "$wick" zoo ds_cnn -o ds_cnn.onnx >/dev/null
  for machine in "${machines[@]}"; do
    row ds_cnn ds_cnn.onnx "accel:$machine" latency=100 --quantize-random 1
  done
}

prints schedules table
finish
