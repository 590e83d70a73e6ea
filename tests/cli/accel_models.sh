#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How far the accelerator's models agree: the schedule model, which the compiler decides by, with
# the timing model, and that with the RTL. On whole networks, in cycles.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"

# errors CSV: what was predicted, against cycles: of the total in percent, and the percentile of the
# layers' errors that 95 % do not exceed. Of the accelerator's parts together.
errors() {
  sed 's/"[^"]*"/-/g' "$1" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { c = $column["cycles"]; p = $column["predicted"]; all += c; foreseen += p
      if (c) print "layer", (p > c ? p - c : c - p) / c * 100 }
    END { print "total", (foreseen > all ? foreseen - all : all - foreseen) / all * 100 }' |
    sort -k1,1 -k2,2g | awk '
    $1 == "layer" { e[++n] = $2 }
    $1 == "total" { total = $2 }
    END { k = int(0.95 * n); if (k < 0.95 * n) k++; printf "%.3f %.3f\n", total, e[k] }'
}

# predicts NAME MODEL TOTAL LAYERS [OPTION...]: the schedule model's errors, in percent.
predicts() {
  local name=$1 model=$2 total=$3 layers=$4
  shift 4
  check "$name: compiled" "$wick" compile "$model" --target accel -q -o "$name.wick" \
    --report "$name.report" "$@"
  check "$name: simulated" "$wick" sim "$name.wick" --model timing --csv "$name.csv"
  errors "$name.csv" >errors
  gives "$name: predicted" '^yes$' awk -v total="$total" -v layers="$layers" \
    '{ print ($1 <= total && $2 <= layers ? "yes" : $0) }' errors
  gives "$name: the report has the sum" "$(
    sed 's/"[^"]*"/-/g' "$name.csv" | awk -F, '{ n += $6 } END { printf "^%d$\n", n }')" \
    sed -n 's/^ *"predicted_cycles": \([0-9]*\),$/\1/p' "$name.report"
}

# is_exact NAME: the timing model charges every layer what the RTL does, for three memories.
is_exact() {
  local latency model
  for latency in 100 500 1000; do
    for model in timing rtl; do
      check "$1, latency $latency: $model" "$wick" sim "$1.wick" --model $model \
        --dram latency=$latency --csv "$1.$model"
    done
    check "$1, latency $latency: the same cycles" cmp "$1.timing" "$1.rtl"
  done
}

# Layers of a few hundred cycles are at the mercy of banks, which the schedule model knows on
# average: of networks with such layers only the sum is held to.
for row in mobilenet_v2:1:5 resnet18:1:5 ds_cnn:1.5:100 efficientnet_b0:1:100 squeezenet:1:100; do
  IFS=: read -r name total layers <<<"$row"
  "$wick" zoo "$name" -o "$name.onnx"
  predicts "$name" "$name.onnx" "$total" "$layers" --quantize-random 1
done
# Loads wait for a memory that is far away, and lines of weights for banks that rows stay at.
predicts far resnet18.onnx 1 5 --quantize-random 1 --dram latency=3000
predicts farther resnet18.onnx 1 100 --quantize-random 1 --dram latency=20000
# What a higher effort finds is not worse, and the same every time.
for effort in 1 2 3; do
  "$wick" compile ds_cnn.onnx --target accel --quantize-random 1 --effort $effort -q \
    -o "ds_cnn$effort.wick"
  "$wick" sim "ds_cnn$effort.wick" --model timing --json "$effort.json"
  sed -n 's/^ *"cycles": \([0-9]*\),$/\1/p' "$effort.json" | head -1 >"$effort.cycles"
done
for effort in 2 3; do
  gives "effort $effort" '^yes$' awk 'NR == 1 { most = $1 }
    END { print (NR == 2 && $1 <= most ? "yes" : $1) }' 1.cycles "$effort.cycles"
done
"$wick" compile ds_cnn.onnx --target accel --quantize-random 1 --effort 3 -q -o again.wick
check 'the same bytes' cmp ds_cnn3.wick again.wick
# Of a small part the timing model has the last word; with an idea left out the schedule model has.
predicts small "$tests/nets/int8/residual_qdq_s8/model.onnx" 3 10 --without local-search
is_exact ds_cnn
is_exact mobilenet_v2

shared=$tests/../../shared/models
for name in mobilenet_v2_qdq resnet50_qdq; do
  [[ -d $shared/$name ]] || { echo "note: ../shared/models/$name is not here" && continue; }
  predicts "$name" "$shared/$name/model.onnx" 1 5
done
finish
