#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --bind and --shape: what is asked for, and what several of them mean.
source "$(dirname "$0")/lib.bash" "$@"
model "$(field 1 "$(node Add 'x s' y)")" \
  "$(field 11 "$(value x 1 A B)")$(field 11 "$(value s 1 1 A B)")" \
  "$(field 12 "$(value y 1 1 A B)")" >two.onnx
model "$(field 1 "$(node Relu x y)")$(field 1 "$(node Relu s z)")" \
  "$(field 11 "$(value x 1 N 3)")$(field 11 "$(value s 1 M)")" \
  "$(field 12 "$(value y 1 N 3)")$(field 12 "$(value z 1 M)")" >apart.onnx
shapes() { "$wick" inspect "$1" | awk '$1 == "input" { printf "%s ", $3 }'; }
has() { # NAME WANT: the inputs of got.wick
  local got
  got=$(shapes got.wick)
  [[ $got == "$2" ]] && good || bad "$1: $got instead of $2"
}

refuses 'one --bind for all symbols' 2 'give --bind A=N,B=N$' "$wick" compile two.onnx
refuses 'with those that are given' 2 'give --bind A=2,B=N$' "$wick" compile two.onnx --bind A=2
refuses 'each --bind is a binding' 2 'give --bind A=2,B=N$' \
  "$wick" compile two.onnx --bind A=2 --bind B=3
check 'what is asked for is right' "$wick" compile two.onnx -q -o got.wick --bind A=2,B=3
has 'both symbols' 'f32[2,3] f32[1,2,3] '
refuses 'bound twice' 2 "--bind A=1,A=2: 'A' is bound twice" "$wick" compile two.onnx --bind A=1,A=2

check 'two bindings' "$wick" compile two.onnx -q -o got.wick --bind A=2,B=3 --bind A=4,B=5
has 'two bindings' 'f32[2,3] f32[1,2,3] f32[4,5] f32[1,4,5] '
check 'a shape holds for all bindings' "$wick" compile apart.onnx -q -o got.wick \
  --shape s=7 --shape x=1x3 --shape x=2x3
has 'a shape holds for all bindings' 'f32[1,3] f32[7] f32[2,3] f32[7] '
check 'a symbol holds for all bindings' "$wick" compile apart.onnx -q -o got.wick \
  --bind M=7 --shape x=1x3 --shape x=2x3
has 'a symbol holds for all bindings' 'f32[1,3] f32[7] f32[2,3] f32[7] '
check 'shapes go along with symbols' "$wick" compile apart.onnx -q -o got.wick \
  --bind M=7 --shape x=1x3 --shape x=2x3 --bind M=8
has 'shapes go along with symbols' 'f32[1,3] f32[7] f32[2,3] f32[8] '
refuses 'two of three shapes' 2 '--shape s is given 2 times, for 3 bindings' \
  "$wick" compile apart.onnx --shape s=7 --shape s=8 --shape x=1x3 --shape x=2x3 --shape x=3x3
refuses 'two of three symbols' 2 '--bind is given 2 times, for 3 bindings' \
  "$wick" compile apart.onnx --bind M=7 --bind M=8 --shape x=1x3 --shape x=2x3 --shape x=3x3
gives 'help for --bind' 'another --bind is' "$wick" compile --help
gives 'help for --shape' 'the same input' "$wick" compile --help
finish
