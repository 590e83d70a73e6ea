#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sizes that a run decides: ranges of --bind and --shape, from the model to the outputs of a run.
open=$(cd "$(dirname "$0")/../open" && pwd)
source "$(dirname "$0")/lib.bash" "$@"

inputs() { "$wick" inspect "$1" | awk '$1 == "input" || $1 == "output" { printf "%s ", $3 }'; }
has() { # NAME WANT: inputs and outputs of got.wick
  local got
  got=$(inputs got.wick)
  [[ $got == "$2" ]] && good || bad "$1: $got instead of $2"
}
# f32 = 1
model "$(field 1 "$(node Add 'x w' y)")$(field 1 "$(node Relu s z)")" \
  "$(field 11 "$(value x 1 N 3)")$(field 11 "$(value w 1 N 3)")$(field 11 "$(value s 1 '?')")" \
  "$(field 12 "$(value y 1 N 3)")$(field 12 "$(value z 1 '?')")" >two.onnx
for n in 1 2 4 5; do npy "x$n.npy" '<f4' "$n,3"; done
npy s3.npy '<f4' 3

packages() {
  check 'ranges' "$wick" compile -q two.onnx -o got.wick --bind N=1..4 --shape s=0..7
  has 'ranges' 'f32[1..4,3] f32[1..4,3] f32[..7] f32[..4,3] f32[..7] '
  gives 'a run in its sizes' '^y f32\[2,3\]' \
    "$wick" run got.wick --input x=x2.npy --input w=x2.npy --input s=s3.npy
  gives 'an axis without a name' '^z f32\[3\]' \
    "$wick" run got.wick --input x=x1.npy --input w=x1.npy --input s=s3.npy
  gives 'one file says the size of both' '^y f32\[2,3\]' "$wick" run got.wick --input x=x2.npy
  gives 'without files the most' '^y f32\[4,3\]' "$wick" run got.wick
  refuses 'too many' 3 'input x is f32\[1..4,3\] but f32\[5,3\] was given' \
    "$wick" run got.wick --input x=x5.npy --input w=x5.npy
  refuses 'one symbol, two sizes' 3 \
    'input w has 1 elements along axis 0, where input x has 2 \(N\)' \
    "$wick" run got.wick --input x=x2.npy --input w=x1.npy
}

models() {
  local target
  for target in eval cpu; do
    gives "a model, $target" '^y f32\[2,3\]' "$wick" run two.onnx --target "$target" \
      --bind N=1..4 --input x=x2.npy --input w=x2.npy --input s=s3.npy
    refuses "two sizes, $target" 3 'input w has 1 elements along axis 0' "$wick" run two.onnx \
      --target "$target" --bind N=1..4 --input x=x2.npy --input w=x1.npy --input s=s3.npy
  done
  refuses 'a file outside the range' 3 "axis 0 of input x is 'N', from 1 to 4; 5 is given" \
    "$wick" run two.onnx --bind N=1..4 --shape s=1 --input x=x5.npy
}

# Ranges one after the other: the first that takes the inputs.
several() {
  check 'two ranges' "$wick" compile -q two.onnx -o got.wick --shape s=3 --bind N=1..2 \
    --bind N=3..5
  for n in 2 4 5; do
    gives "$n of two ranges" "^y f32\\[$n,3\\]" "$wick" run got.wick --input "x=x$n.npy" \
      --input "w=x$n.npy"
  done
}

# A size that is a formula of others, in the model or by --bind.
model "$(field 1 "$(node Add 'x p' y)")" "$(field 11 "$(value x 1 1 'N + M')")$(
  field 11 "$(value p 1 1 T)")$(field 11 "$(value q 1 N M)")" "$(
  field 12 "$(value y 1 1 T)")" >formula.onnx
for n in 3 5; do npy "f$n.npy" '<f4' "1,$n"; done
npy q23.npy '<f4' 2,3
formulas() {
  local all=(--input x=f5.npy --input p=f5.npy --input q=q23.npy)
  check 'a formula' "$wick" compile -q formula.onnx -o got.wick --bind N=1..4,M=0..4,T=M+N
  has 'a formula' 'f32[1,1..8] f32[1,1..8] f32[1..4,..4] f32[1,..8] '
  gives 'a run of a formula' '^y f32\[1,5\]' "$wick" run got.wick "${all[@]}"
  refuses 'not what the formula says' 3 'axis 1 of input [xp] is not' "$wick" run got.wick \
    --input x=f3.npy --input p=f3.npy --input q=q23.npy
  refuses 'another than it' 3 'input p has 3 elements along axis 1|axis 1 of input p is not' \
    "$wick" run got.wick --input x=f5.npy --input p=f3.npy --input q=q23.npy
  refuses 'what is missing' 2 'K' "$wick" compile formula.onnx --bind N=1..4,M=0..4,T=M+K
  refuses 'no formula' 2 'M/2' "$wick" compile formula.onnx --bind N=1..4,M=0..4,T=M/2
  refuses 'below nothing' 2 'N-9' "$wick" compile formula.onnx --bind N=1..4,M=0..4,T=N-9
}

refused() {
  refuses 'nothing in it' 2 "'4..3' has no size in it" "$wick" compile two.onnx --bind N=4..3
  refuses 'no end' 2 "'' is not a size" "$wick" compile two.onnx --bind N=4..
  refuses 'sizes are not known' 2 'ranges such as 1..512 will do' "$wick" compile two.onnx
  refuses 'a bundle' 4 'which --emit bundle does not take' "$wick" compile two.onnx -q \
    --bind N=1..4 --shape s=3 --emit bundle -o bundle
  refuses 'ONNX' 4 'which --emit onnx does not take' "$wick" compile two.onnx -q --bind N=1..4 \
    --shape s=3 --emit onnx -o out.onnx
  refuses 'quantisation' 4 'which quantisation does not take' "$wick" quantize two.onnx \
    --random 1 --bind N=1..4 --shape s=3 -o out.onnx
  refuses 'a state' 2 'begins with none, N=0..4' "$wick" compile two.onnx -q --bind N=1..4 \
    --shape s=3 --state w=y
  refuses 'compare' 4 'which wick compare does not take' "$wick" compare two.onnx --bind N=1..4 \
    --shape s=3
  refuses 'an operator' 4 'are not followed through Det: axis 0 of x \(N, at most 4\)' \
    "$wick" compile det.onnx -q --bind N=1..4
}
model "$(field 1 "$(node Det x y)")" "$(field 11 "$(value x 1 N 2 2)")" \
  "$(field 12 "$(value y 1 N)")" >det.onnx

# No option, where sizes depend on values alone.
values() {
  check 'values decide' "$wick" compile -q "$open/nms.onnx" -o got.wick
  gives 'what is kept' '^boxes_kept f32\[[0-9]*,4\]' "$wick" run got.wick
  check 'text and back' "$wick" compile -q "$open/nonzero.onnx" --emit graph -o graph.txt
  gives 'sizes in the text' '^ *open output "values" 0 "count' cat graph.txt
}

# A cache of fixed room, of which a run takes as many keys as the mask counts.
keys() {
  check 'a cache of fixed room' "$wick" compile -q "$open/gqa_buffer.onnx" \
    --bind seq=1..4,total=20 --emit program -o program.txt
  gives 'as many keys as there are' 'matmul.* below 4 %_[0-9]* below 3 %"size\(seq\)"' \
    cat program.txt
  gives 'as many values as there are' 'matmul.* below 5 %_[0-9]* below 3 %"size\(seq\)"' \
    cat program.txt
}

packages
models
several
formulas
refused
values
keys
finish
