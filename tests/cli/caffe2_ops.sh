#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators of Caffe2: refusals, 8-bit tensors, random weights, and what is wrong with arguments.
source "$(dirname "$0")/lib.bash" "$@"
net() { # operators, then the output
  { printf 'op { %s }\n' "${@:1:$#-1}"; echo "external_output: \"${!#}\""; } >net.pbtxt
}
arg() { printf 'arg { name: "%s" %s } ' "$@"; }

# All refusals at once, each with its reason; what reads their outputs is looked at.
net 'input: "x" output: "r" output: "n" type: "SparseLabelSplit"' \
  'input: "r" output: "y" type: "Python"' 'input: "y" output: "a" type: "Relu"' \
  'input: "a" output: "b" type: "Fancy"' \
  "input: \"b\" output: \"c\" type: \"Cast\" $(arg to 'i: 4')" c
err=$("$wick" run net.pbtxt --shape x=2x3 -v 2>&1)
(($? == 4)) && [[ $err == *'depends on what its inputs hold'*'calls Python'*'is not known'* ]] &&
  [[ $err == *'element type 4 of argument '* ]] && good || bad "refusals: $err"

# 8-bit tensors go from one Int8 operator to another.
step="$(arg Y_scale 'f: 0.1')$(arg Y_zero_point 'i: 7')"
quantised="input: \"x\" output: \"q\" type: \"Int8Quantize\" $step"
net "$quantised" 'input: "q" output: "y" type: "Relu"' y
refuses 'floats wanted' 4 "reads 'q', which an Int8 operator made" "$wick" run net.pbtxt --shape x=2
net 'input: "x" output: "y" type: "Int8Relu"' y
refuses 'no scale' 4 "reads 'x', whose scale is not known" "$wick" run net.pbtxt --shape x=2
net "$quantised" 'input: "q" output: "y" type: "Int8Sigmoid"' y
refuses 'no Y_scale' 3 "y: argument 'Y_scale' is missing \(Caffe2 Int8Sigmoid\)" \
  "$wick" run net.pbtxt --shape x=2
step="$(arg Y_scale 'f: 0.1' Y_zero_point 'i: 300')"
net "input: \"x\" output: \"y\" type: \"Int8Quantize\" $step" y
refuses 'a zero point out of range' 3 'Y_zero_point is 300' "$wick" run net.pbtxt --shape x=2
net "$quantised" 'input: "q" output: "y" type: "Int8Relu"' y
gives 'the zero point is the least result' '^y u8\[2,3\] min 7' \
  "$wick" run net.pbtxt --shape x=2x3

# Random weights are the same ones each time, which is said.
net "output: \"w\" type: \"XavierFill\" $(arg shape 'ints: 4 ints: 3')" \
  'input: "x" input: "w" output: "y" type: "MatMul" arg { name: "trans_b" i: 1 }' y
gives 'random weights' 'XavierFill makes random numbers, each time the same ones' \
  bash -c "'$wick' run net.pbtxt --shape x=2x3 2>&1"
for i in 1 2; do "$wick" run net.pbtxt --shape x=2x3 --output-dir out$i >log 2>&1; done
check 'the same ones' cmp out1/y.npy out2/y.npy

# Arguments.
net 'input: "x" output: "y" type: "Mul"' y
refuses 'too few inputs' 3 'y: has 1 input, and takes 2 \(Caffe2 Mul\)' \
  "$wick" run net.pbtxt --shape x=2
net 'input: "x" output: "y" type: "Tile"' y
refuses 'an argument that must be' 3 "argument 'tiles' is missing" "$wick" run net.pbtxt --shape x=2
window="$(arg kernel 'i: 3' pad 'i: 1' legacy_pad 'i: 2')"
net "input: \"x\" output: \"y\" type: \"MaxPool\" $window" y
refuses 'two kinds of pads' 3 'pads and the legacy pads VALID and SAME exclude each other' \
  "$wick" run net.pbtxt --shape x=1x1x5x5
net "input: \"x\" output: \"a\" output: \"b\" type: \"Split\" $(arg split 'ints: 2')" a
refuses 'parts' 3 '1 sizes for 2 parts' "$wick" run net.pbtxt --shape x=2x3
net 'input: "x" output: "y" type: "Relu" op_version: 3 device_option { device_type: 1 }' y
{ echo 'partition_info { name: "p" backend_options { backend_name: "b" option { key: "k" } } }'
  echo 'device_option { device_type: CUDA cuda_gpu_id: 0 }'; } >>net.pbtxt
gives 'inspect' '^output y +its type is not declared' "$wick" inspect net.pbtxt
check 'fields that say nothing here' "$wick" run net.pbtxt --shape x=2
{ field 2 "$(field 1 x; field 2 y; field 4 Relu; printf '\x60\x03')"; field 8 y; } >net.pb
check 'a version of an operator' "$wick" run net.pb --shape x=2

# Init nets fill the inputs, too.
net 'input: "x" output: "y" type: "Relu"' y
{ echo 'external_input: "x"'; cat net.pbtxt; } >fed.pbtxt
echo "op { output: \"x\" type: \"ConstantFill\" $(arg shape 'ints: 1') }" >init.pbtxt
gives 'an input that the init net fills' '^y f32\[2,3\]' \
  "$wick" run fed.pbtxt --init-net init.pbtxt --shape x=2x3
gives 'unless its shape is not given' "'x' is a constant, .*give its shape \(--shape x=" \
  bash -c "'$wick' run fed.pbtxt --init-net init.pbtxt 2>&1"

net "input: \"x\" output: \"y\" type: \"ConstantFill\" $(arg value 'f: 2' extra_shape 'ints: 3')" y
gives 'more axes than the input has' '^y f32\[2,2,3\] min 2' "$wick" run net.pbtxt --shape x=2x2
gives 'wick ops --caffe2' '^Swish +Mul\(a, Sigmoid\(a\)\)' "$wick" ops --caffe2
finish
