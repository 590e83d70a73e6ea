#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `wick train` and `wick grad` print, whole: summaries, epochs, steps of each optimiser and
# schedule; six digits of numbers, and no speeds.
nets=$(realpath "$(dirname "$0")/../nets")
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

check 'a network' "$wick" zoo digits_cnn -o net.onnx
ramp x.npy '|u1' 96,1,8,8 6144 251
ramp y.npy '<i8' 96 96 10
train() {
  "$wick" train net.onnx --data x.npy --labels y.npy --loss cross-entropy --cpu x86-64 "$@"
}
digits() { # of each number with a point; speeds and times go
  sed -E 's/[0-9.]+ k? ?samples\/s.*//; /^(compile time|time|output)  /d' | awk '{
    out = ""
    while (match($0, /[0-9]*\.[0-9]+(e[-+]?[0-9]+)?/)) {
      out = out substr($0, 1, RSTART - 1) sprintf("%.6g", substr($0, RSTART, RLENGTH))
      $0 = substr($0, RSTART + RLENGTH)
    }
    print out $0
  }'
}
epochs() { train "$@" -o out.onnx 2>&1 | digits; }
prints train epochs --epochs 2 --validate 0.25 -v
prints train-frozen epochs --epochs 1 --train 'classifier/*' --batch-norm frozen -v
prints train-budget epochs --epochs 1 --memory-budget 800KiB
steps() {
  local options
  while read -r options; do
    echo "$options"
    train --steps 5 $options -o out.onnx --history-steps steps.csv >/dev/null
    digits <steps.csv
  done <<'EOF'
--optimizer sgd --schedule cosine
--optimizer momentum --weight-decay 0.1
--optimizer nesterov --schedule step
--optimizer adam --clip-norm 0.5
--optimizer adamw --accumulate 2
--optimizer adagrad --seed 4 --lr 0.05
EOF
}
prints train-steps steps
history() {
  train --epochs 2 --validate 0.25 -o out.onnx --history h.csv --plot h.html >/dev/null
  cut -d, -f 1-7 h.csv | digits
}
prints train-history history
packages() {
  train --epochs 1 --emit package -o out.wick 2>&1 | digits
  "$wick" inspect out.wick
}
prints train-package packages
summaries() {
  local name
  for name in cnn gru lstm transformer unet; do "$wick" grad "$nets/float/$name/model.onnx"; done
}
prints grad summaries
prints grad-table "$wick" ops --gradients
finish
