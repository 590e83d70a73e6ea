#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train: what is trained is listed, constants stay what they are unless they are named, and a
# weight that is used twice is one.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

ramp x.npy '<i4' 96,4 384 3
ramp t.npy '<i8' 96 96 3
loss="$(field 1 "$(node Squeeze c k)")$(field 1 "$(node SoftmaxCrossEntropyLoss 'h t k' y)")"
model "$(field 1 "$(node MatMul 'x w' h)")$loss$(weight w 4 3)$(weight c 1 3)" \
  "$(field 11 "$(value x 1 n 4)")$(field 11 "$(value t 7 n)")" "$(field 12 "$(value y 1 a)")" \
  >classes.onnx
train() {
  "$wick" train classes.onnx --data x=x.npy --data t=t.npy --loss y --lr 0.01 --epochs 2 "$@"
}

gives 'what is trained' '^w +f32\[4,3\] +trained$' train -o a.onnx
gives 'what is not' '^c +f32\[1,3\] +stays: class weights$' train -o a.onnx
gives 'how much that is' '^parameters +12 in 1 weights of 1$' train -o a.onnx
check 'the same once more without the constant' train --train w -o b.onnx
check 'the same bytes' cmp a.onnx b.onnx
gives 'what is named is trained' '^c +f32\[1,3\] +trained$' train --train '*' -o c.onnx
cmp -s a.onnx c.onnx && bad 'the class weights have not moved' || good
gives 'alone' '^parameters +3 in 1 weights of 1$' train --train c -o c.onnx
gives 'what is frozen is said with -v' '^w +f32\[4,3\] +stays$' train --train c -v -o c.onnx
refuses 'nothing but constants' 4 'nothing to train: all weights are frozen' \
  train --freeze w -o d.onnx

# y = (x w) w^T: both uses move the one weight.
ramp q.npy '<i4' 96,4 384 5
model "$(field 1 "$(node MatMul 'x w' h)")$(field 1 "$(node Transpose w v)")$(
  field 1 "$(node MatMul 'h v' y)")$(weight w 4 3)" \
  "$(field 11 "$(value x 1 n 4)")" "$(field 12 "$(value y 1 n 4)")" >tied.onnx
check 'a derivative of both' "$wick" grad tied.onnx --bind n=96 --check
gives 'is trained once' '^parameters +12 in 1 weights of 1$' "$wick" train tied.onnx \
  --data x.npy --labels q.npy --loss mse --optimizer sgd --lr 1e-3 --epochs 3 -o tied.new.onnx
check 'and written back' "$wick" run tied.new.onnx --bind n=2
finish
