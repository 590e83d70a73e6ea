#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory budgets for the derivatives of networks, as a table: what is computed again, how much
# memory that takes, and the least where a budget is too small.
nets=$(realpath "$(dirname "$0")/../nets/float")
source "$(dirname "$0")/lib.bash" "$@"

compile() { "$wick" compile "$1.onnx" --cpu x86-64 --emit program -o /dev/null "${@:2}" 2>&1; }
peak_of() {
  compile "$1" --report report.json >/dev/null
  sed -n 's/^ *"activation_peak": \([0-9]*\),*$/\1/p' report.json | head -1
}

table() {
  local name percent peak
  for name in unet residual transformer cnn lstm; do
    "$wick" grad "$nets/$name/model.onnx" --emit onnx -o "$name.onnx" >/dev/null
    peak=$(peak_of "$name")
    echo "$name: $peak bytes"
    for percent in 100 95 90 85 80 70 60 56 52 48 44 40 30 10; do
      echo "$percent %: $((peak * percent / 100)) bytes"
      compile "$name" --memory-budget $((peak * percent / 100)) --report budget.json |
        grep -E '^(activation peak|computed again|smallest|instructions)|budget'
      [[ $percent != [86]0 || ! -e budget.json ]] ||
        grep -E '"(estimate_|computed_again)' budget.json
      rm -f budget.json
    done
  done
}
prints budgets table

# How budgets are searched for: every try, by what it computes again and where that ends. The
# planner needs some bytes more than the estimates say: between both lie budgets for which the
# first estimate is too high.
tries() {
  local name budget
  while read -r name budget; do
    echo "$name, $budget bytes"
    compile "$name" --memory-budget "$budget" --print-after rematerialise |
      sed -nE 's,^// after rematerialise: ,  ,p; /peak|budget|^compute/s/^/  /p' | uniq -c
  done
}
for name in transformer gru lstm cnn; do
  cp "$nets/$name/model.onnx" "small-$name.onnx"
done
fitted() {
  tries <<'END'
small-transformer 9350
small-transformer 9408
small-gru 6000
small-gru 6623
small-gru 6624
small-gru 6630
small-gru 6655
small-gru 6656
small-gru 7100
small-lstm 7776
small-lstm 7790
small-cnn 18431
small-cnn 18432
small-cnn 23039
small-cnn 23040
lstm 20000
transformer 24000
END
}
prints budgets-tries fitted
finish
