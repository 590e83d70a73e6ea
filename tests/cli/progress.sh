#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands show on a terminal while they work: every line of it, in order, and that the last
# one is gone at the end.
here=$(realpath "$(dirname "$0")")
source "$(dirname "$0")/lib.bash" "$@"
source "$here/train.bash"
small_models
cp "$here/../nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$here/../nets/float/gru/model.onnx" gru.onnx
model "$(field 1 "$(node MatMul 'x w' h)")$(field 1 "$(node MatMul 'h v' g)")$(
  field 1 "$(node Softmax g y)")$(weight w 4 3)$(weight v 3 4)" \
  "$(field 11 "$(value x 1 2 4)")" "$(field 12 "$(value y 1 2 4)")" >net.onnx
fitted fitted.onnx "$(field 1 "$(node Relu h y)")"
ramp x.npy '<f4' 6,4 24 1
ramp labels.npy '<i8' 6 6 3
cpu=(--cpu x86-64)
mkdir -p suite/{a,b,c} && cp relu.onnx suite/a/model.onnx && cp net.onnx suite/b/model.onnx &&
  cp unet.onnx suite/c/model.onnx && stream_of_copies >copies.s
on_terminal start 'true' || finish

# shows COLUMNS ARGUMENT...: a line for each state of the line of progress, - where it is empty.
# What a second takes, and how long is left, depends on the machine.
shows() {
  printf -- '---- %s\n' "${*:2}"
  on_terminal all "stty cols $1; env TERM=xterm '$wick' ${*:2} >/dev/null"
  sed 's/\r\x1b\[K/\n/g' all | tr -d '\r' | sed '1d; s/^$/-/; s/, [0-9.]* s left$/, … s left/'
  [[ $(tail -c 4 all) == $'\r\e[K' ]] || echo 'the line stays'
}
compile_and_run() {
  shows 80 compile net.onnx -q -o net.wick "${cpu[@]}"
  shows 80 compile symbolic.onnx --bind n=1 --bind n=2 -q -o two.wick "${cpu[@]}"
  shows 80 compile unet.onnx --emit graph --target accel:tiny -o - "${cpu[@]}"
  shows 80 test suite --jobs 1 "${cpu[@]}"
  shows 80 test suite/a suite/none --jobs 1 "${cpu[@]}"
}
prints progress-compile compile_and_run
compared() {
  shows 80 compare net.onnx "${cpu[@]}"
  shows 80 compare net.onnx -v --rtol 0 "${cpu[@]}"
  shows 80 compare net.onnx --passes "${cpu[@]}"
  shows 80 compare unet.onnx --target accel:tiny "${cpu[@]}"
}
prints progress-compare compared
measured() {
  shows 80 quantize net.onnx --random 3 -o q.onnx
  for drop in 10 50 80; do
    shows 80 quantize gru.onnx --random 2 --target-drop ${drop}dB -o q.onnx
  done
  shows 80 quantize net.onnx --random 2 --method minmax -o q.onnx
  shows 80 train fitted.onnx --data x.npy --labels labels.npy --loss cross-entropy \
    --batch 2 --epochs 2 -o t.onnx
  shows 80 sim copies.s --model timing --causes
}
prints progress-measure measured
# Names are cut to whole characters where the line ends, control characters are shown as such.
cut() {
  local name
  for name in 'a long name' 'ä löng näme' 'ab€€€€€€'; do
    cp relu.onnx "$name.onnx"
    for columns in 6 7 8 9 2; do
      shows $columns compile "'$name.onnx'" -q -o cut.wick | head -3
    done
  done
}
prints progress-cut cut
finish
