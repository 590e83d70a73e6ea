#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --bind, --shape and --length: what is asked for, and what several of them mean.
lists=$(cd "$(dirname "$0")/../onnx/Lists" && pwd)
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
check 'sizes of several digits' "$wick" compile two.onnx -q -o got.wick --bind A=19,B=100 \
  --bind B=80,A=11
has 'sizes of several digits' 'f32[19,100] f32[1,19,100] f32[11,80] f32[1,11,80] '
check 'shapes of several digits' "$wick" compile apart.onnx -q -o got.wick --shape x=90x3 \
  --shape s=10
has 'shapes of several digits' 'f32[90,3] f32[10] '
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

# A file gives its input's shape, where none is asked for.
npy s.npy '<f4' 7 && npy x.npy '<f4' 2,3
gives 'files have shapes' '^z f32\[7\]' "$wick" run apart.onnx --input x=x.npy --input s=s.npy
for asked in '--shape s=8 --shape x=2x3' '--shape x=2x3 --shape s=8' '--shape s=8'; do
  refuses "a file of another shape, $asked" 3 's.npy: input s is f32\[8\] but f32\[7\] was given$' \
    "$wick" run apart.onnx $asked --input s=s.npy --input x=x.npy
done

# Sequences and optionals: their tensors are inputs and outputs of the package.
cp "$lists/model.onnx" lists.onnx
sizes='--shape x[0]=5x3 --shape x=1x3'
rest="--length none=none --value c=$lists/test_data_set_0/input_4.pb"
refuses 'lengths are asked for' 2 'give --length x=N --length none=N$' "$wick" compile lists.onnx
refuses 'shapes of elements are asked for' 2 'give --shape x\[0\]=Nx3 --shape x\[1\]=Nx3$' \
  "$wick" compile lists.onnx --length x=2 --length none=none
refuses 'what chooses a sequence' 4 'If-18 .*: the condition .* give --value c=FILE$' \
  "$wick" compile lists.onnx --length x=2 --length none=none $sizes
check 'elements' "$wick" compile lists.onnx -q -o got.wick --length x=2 $rest $sizes
has 'elements' 'f32[5,3] f32[1,3] f32[2,2] f32[4] '
gives 'names of elements' 'input x\[1\] .*output y\[3\] .*output z\[2\] ' \
  bash -c "'$wick' inspect got.wick | tr '\n' ' '"
check 'no element' "$wick" compile lists.onnx -q -o got.wick --length x=0 $rest
has 'no element' 'f32[2,2] f32[4] '
npy element.npy '<f4' 5,3
gives 'files for elements' '^y\[0\] f32\[5,3\] ' \
  "$wick" run lists.onnx --length x=1 $rest --input 'x[0]=element.npy'
refuses 'no such element' 2 "there is no input 'x\[1\]'; did you mean 'x\[0\]'" \
  "$wick" run lists.onnx --length x=1 $rest --input 'x[1]=element.npy'
refuses 'another shape of an element' 2 'axis 1 of input x\[0\] has size 3 in the model, 4 is' \
  "$wick" compile lists.onnx --length x=1 $rest --shape x=1x4
refuses 'an element past the end' 2 '--shape x\[2\]: the sequence has 2 elements' \
  "$wick" compile lists.onnx --length x=2 $rest --shape 'x[2]=1x3'
refuses 'a value for a sequence' 2 'give its elements, x\[0\]' \
  "$wick" compile lists.onnx --length x=1 $rest --value x=element.npy
check 'a value for an element' "$wick" compile lists.onnx -q -o got.wick --length x=2 $rest \
  --value 'x[0]=element.npy' --shape 'x[1]=1x3'
has 'a value for an element' 'f32[1,3] f32[2,2] f32[4] '
npy wide.npy '<f4' 5,4
refuses 'a value of another shape' 2 'wide.npy: axis 1 of input x\[0\] has size 3 in the model, 4' \
  "$wick" compile lists.onnx --length x=1 $rest --value 'x[0]=wide.npy'
refuses 'a length without a number' 2 "'q' is not a size" "$wick" compile lists.onnx --length x=q
refuses 'a length without an input' 2 'must be INPUT=N or INPUT=none' \
  "$wick" compile lists.onnx --length x
refuses 'a length of nothing' 2 '--length y: the model has no such input' \
  "$wick" compile lists.onnx --length y=1
refuses 'a length of a tensor' 2 'input t is neither a sequence nor optional' \
  "$wick" compile lists.onnx --length t=1
refuses 'a sequence without a length' 2 'input x is a sequence: it has a length' \
  "$wick" compile lists.onnx --length x=none
refuses 'an optional tensor of two' 2 'input o is an optional tensor: 1 or none' \
  "$wick" compile lists.onnx --length o=2
refuses 'two lengths' 2 'input x has a length already' \
  "$wick" compile lists.onnx --length x=1 --length x=2
sequence='type { sequence_type { elem_type { tensor_type { elem_type: 1 shape { } } } } }'
cat >same.onnxtxt <<END
ir_version: 8 opset_import { version: 17 }
graph { name: "same" input { name: "x" type { tensor_type { elem_type: 1 shape { } } } }
  node { op_type: "SequenceConstruct" input: "x" output: "y" }
  node { op_type: "Neg" input: "x" output: "y[0]" }
  output { name: "y" $sequence }
  output { name: "y[0]" type { tensor_type { elem_type: 1 shape { } } } } }
END
cat >inputs.onnxtxt <<END
ir_version: 8 opset_import { version: 17 }
graph { name: "inputs" input { name: "y" $sequence }
  input { name: "y[0]" type { tensor_type { elem_type: 1 shape { } } } }
  node { op_type: "Neg" input: "y[0]" output: "z" }
  output { name: "z" type { tensor_type { elem_type: 1 shape { } } } } }
END
refuses 'an input with the name of an element' 4 'y\[0\]: another input has the name of this' \
  "$wick" compile inputs.onnxtxt --length y=1
refuses 'an output with the name of an element' 3 'y\[0\]: two outputs, or elements of' \
  "$wick" compile same.onnxtxt
refuses 'a very long sequence' 2 'more than 256 elements' \
  "$wick" compile lists.onnx --length x=9999999
refuses 'the length of an element' 2 'x\[0\] is an element of a sequence, not one' \
  "$wick" compile lists.onnx --length x=1 --length 'x[0]=2'
refuses 'another name of an element' 2 '--shape x\[00\]: the model has no such input' \
  "$wick" compile lists.onnx --length x=1 --shape 'x[00]=1x3'
refuses 'quantisation' 4 'input x is a sequence or optional' \
  "$wick" quantize lists.onnx --random 1 -o q.onnx --length x=1 $rest --shape x=1x3
mkdir -p cases && cp -r "$lists" cases/cut
head -c 40 "$lists/test_data_set_0/input_0.pb" >cases/cut/test_data_set_0/input_0.pb
err=$("$wick" test cases/cut --target eval 2>&1)
[[ $? == 1 && $err == *'input_0.pb: is not valid protobuf data (broken at byte 40)'* ]] && good ||
  bad "a damaged sequence: $err"

gives 'help for --bind' 'another --bind is' "$wick" compile --help
gives 'help for --shape' 'the same input' "$wick" compile --help
finish
