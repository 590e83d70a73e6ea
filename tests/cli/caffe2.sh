#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Caffe2 nets in both forms, models as protobuf text, and what is wrong with either.
source "$(dirname "$0")/lib.bash" "$@"
small_models
cat >net.pbtxt <<'EOF'
name: "small" # a comment
op { input: "x" input: "w" input: "b" output: "y" type: "FC" }
op { input: "y" output: "y" type: "Relu" }
external_input: "x"
external_output: "y"
EOF
cat >init.pbtxt <<'EOF'
op { output: "w" type: "GivenTensorFill" arg { name: "shape" ints: 2 ints: 3 }
     arg { name: "values" floats: [1, 2, 3, -1.5e0] floats: 0.5f floats: -2 } }
op { output: "b" type: "GivenTensorFill"
     arg < name: "shape" ints: 0x2 > arg: { name: 'val' "ues" floats: 0 floats: 1 } }
EOF
# The same net in the wire format.
operator() {
  local x
  for x in $1; do field 1 "$x"; done
  field 2 "$2" && field 4 "$3"
}
field 1 small >net.pb
field 2 "$(operator 'x w b' y FC)" >>net.pb
{ field 2 "$(operator y y Relu)"; field 7 x; field 8 y; } >>net.pb
echo '{"x": [1, [1, 3]]}' >info.json
npy x.npy '<f4' 1,3

for net in net.pb net.pbtxt; do
  gives "$net, --value-info" '^y f32\[1,2\] min 0 max 1 ' \
    "$wick" run $net --init-net init.pbtxt --value-info info.json -i x=x.npy
  gives "$net, --shape" '^y f32\[4,2\]' \
    "$wick" run $net --init-net=init.pbtxt --shape x=4x3 --target eval
  gives "$net, inspect" '^format +Caffe2 net' "$wick" inspect $net --init-net init.pbtxt
  check "$net, compile" "$wick" compile $net --init-net init.pbtxt --shape x=1x3 -q -o $net.wick
  check "$net, compare" "$wick" compare $net --init-net init.pbtxt --shape x=1x3
done
check 'both forms give the same package' cmp net.pb.wick net.pbtxt.wick
sed 's/floats: 0 /floats: 2 /' init.pbtxt >other.pbtxt
check 'other weights' "$wick" compile net.pb --init-net other.pbtxt --shape x=1x3 -q -o other.wick
[[ $("$wick" inspect other.wick | grep 'model hash') != \
   $("$wick" inspect net.pb.wick | grep 'model hash') ]] && good ||
  bad 'the hash covers the weights'
bound=(net.pb --init-net init.pbtxt --shape x=1x3)
check 'quantize' "$wick" quantize "${bound[@]}" --random 2 -o q.onnx
check 'as ONNX' "$wick" compile "${bound[@]}" --emit onnx -q -o net.onnx
gives 'as ONNX, run' '^y f32\[1,2\] min 0 max 1 ' "$wick" run net.onnx -i x=x.npy

# The commands of the accelerator. Those of sweep run in folders of their own.
gives 'sim' '^y_quantized +16 ' \
  "$wick" sim "${bound[@]}" --quantize-random 1 --model timing --random 1
gives 'sim, text' '^y_quantized +16 ' "$wick" sim net.pbtxt --init-net init.pbtxt \
  --value-info info.json --quantize-random 1 --model timing --random 1
refuses 'sim, the figures over the weights' 2 'would overwrite' \
  "$wick" sim "${bound[@]}" --model timing --json init.pbtxt
refuses 'sim, weights of a package' 2 'net.pb.wick: --init-net is for models' \
  "$wick" sim net.pb.wick --init-net init.pbtxt
refuses 'weights of a package' 2 'is a compiled package: --init-net is for models' \
  "$wick" run net.pb.wick --init-net init.pbtxt
refuses 'shapes of a package' 2 'is a compiled package: --value-info is for models' \
  "$wick" run net.pb.wick --value-info info.json
space=(--set dram_latency=50,100 --model schedule -j 1)
gives 'sweep' '2 computed now' "$wick" sweep "${bound[@]}" "${space[@]}" -o sweep
gives 'sweep, the other form' ' 0 computed now' "$wick" sweep net.pbtxt --init-net init.pbtxt \
  --shape x=1x3 "${space[@]}" -o sweep
gives 'sweep, other weights' ' 2 computed now' \
  "$wick" sweep net.pb --init-net other.pbtxt --shape x=1x3 "${space[@]}" -o sweep
gives 'sweep, shapes of a file' '2 points, 0 failed' "$wick" sweep net.pb --init-net init.pbtxt \
  --value-info info.json "${space[@]}" -o sweep2

# Protobuf text of an ONNX model.
cat >relu.textproto <<'EOF'
ir_version: 8
graph {
  node { input: "x" output: "y" op_type: "Relu" }
  name: "g"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
}
opset_import { version: 13 }
EOF
gives 'ONNX as text' '^y f32\[2\]' "$wick" run relu.textproto
gives 'ONNX as text, inspect' '^format +ONNX in text' "$wick" inspect relu.textproto
cat >same.onnxtxt <<'EOF'
ir_version: 0x8; graph: <
  node [{ input: ["x"], output: 'y' name: "the" "_y"; op_type: "\x52el\165" }]
  name: "graph",
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 }
                                                              dim { dim_value: 003 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim: [{ dim_value: 2 },
                                                                   < dim_value: 3 >] } } } }
> # of graph
opset_import { version: 13 }
EOF
check 'ONNX as text, compile' "$wick" compile same.onnxtxt -q -o text.wick
cp relu.onnx same.onnx
check 'ONNX, compile' "$wick" compile same.onnx -q -o binary.wick
check 'text gives the package of the binary' cmp text.wick binary.wick
check 'text to ONNX' "$wick" compile same.onnxtxt --emit onnx -q -o again.onnx
gives 'text to ONNX, run' '^y f32\[2,3\]' "$wick" run again.onnx
refuses '--init-net with ONNX' 2 'relu.onnx: --init-net goes with a Caffe2 net' \
  "$wick" run relu.onnx --init-net init.pbtxt

# Roles, and blobs that nobody makes.
refuses 'swapped nets' 3 'init.pbtxt: this net only fills .*: the nets are swapped' \
  "$wick" compile init.pbtxt --init-net net.pb
refuses 'no net that computes' 3 'init.pbtxt: .*it is an init net' "$wick" compile init.pbtxt
refuses 'an init net that computes' 3 "net.pbtxt: .*reads 'x', which no operator before it makes" \
  "$wick" compile net.pb --init-net net.pbtxt
refuses 'a model as the init net' 3 'relu.onnx: is an ONNX model, not a Caffe2 net' \
  "$wick" compile net.pb --init-net relu.onnx
refuses 'no such init net' 5 'none.pb: .*No such file' "$wick" compile net.pb --init-net none.pb
err=$("$wick" compile net.pb --shape x=1x3 2>&1)
[[ $err == *'net.pb: 2 blobs are neither made'*$'\n  w\n  b' ]] && good || bad "no weights: $err"
err=$("$wick" compile net.pb --init-net init.pbtxt 2>&1)
(($? == 3)) && [[ $err == *'net.pb: 1 blob is neither'*'give its shape'*$'\n  x' ]] && good ||
  bad "no shape: $err"
refuses 'the output over the weights' 2 'would overwrite' \
  "$wick" compile net.pb --init-net init.pbtxt --shape x=1x3 -o init.pbtxt

# All operators that are not known, at once.
sed 's/"Relu"/"Frobnicate"/; s/"FC"/"Quux"/' net.pbtxt >unknown.pbtxt
err=$("$wick" compile unknown.pbtxt --init-net init.pbtxt --shape x=1x3 2>&1)
(($? == 4)) && [[ $err == *'2 parts'*Quux*Frobnicate* ]] && good ||
  bad "unknown operators: $err"
# pool NAME WANT ARGUMENTS: a net of one pooling operator.
pool() {
  printf 'op { input: "x" output: "y" type: "MaxPool" %s }\n' "$3" >pool.pbtxt
  echo 'external_output: "y"' >>pool.pbtxt
  refuses "$1" 3 "$2" "$wick" compile pool.pbtxt --shape x=1x1x4x4
}
pool 'no kernel' 'y: no kernel size is given' ''
pool 'an order that is none' "order 'HW' is neither" 'arg { name: "order" s: "HW" }'
pool 'no number' "argument 'kernel' is no integer" 'arg { name: "kernel" s: "3" }'
pool 'stride 0' "argument 'stride' is 0" 'arg { name: "kernel" i: 2 } arg { name: "stride" i: 0 }'

# Segments: lengths that do not add up to the number of indices.
cat >bags.pbtxt <<'EOF'
op { input: "w" input: "i" input: "l" output: "y" type: "SparseLengthsSum" }
external_output: "y"
EOF
echo '{"w": [1, [3, 2]], "i": [7, [4]], "l": [6, [2]]}' >bags.json
npy w.npy '<f4' 3,2 && npy i.npy '<i8' 4 && npy l.npy '<i4' 2
bags=(bags.pbtxt --value-info bags.json -i w=w.npy -i i=i.npy -i l=l.npy)
refuses 'lengths that do not add up' 3 'segment 1 goes from 0 to -1, outside of 0 to 4' \
  "$wick" run "${bags[@]}" --target eval
refuses 'lengths that do not add up, compiled' 3 'met values that it cannot handle' \
  "$wick" run "${bags[@]}"
echo '{"w": [1, [3, 2]], "i": [7, [0]], "l": [6, [2]]}' >bags.json
npy i.npy '<i8' 0
gives 'lengths of nothing' '^y f32\[2,2\] min 0 max 0' "$wick" run "${bags[@]}"
sed 's/floats: 0 //' init.pbtxt >short.pbtxt
refuses 'too few values' 3 "'values' holds 1 elements, the shape needs 2" \
  "$wick" compile net.pb --init-net short.pbtxt --shape x=1x3

# Text, with its line and column.
text() {
  printf '%b' "$3" >bad.pbtxt
  refuses "$1" 3 "^wick: bad.pbtxt:$2" "$wick" compile bad.pbtxt
}
text 'cut off in a message' "2:1: the text ends within 'op', which began in line 1" 'op {\n'
text 'cut off in a string' '1:12: this string has no closing quote' 'op { type: "Re'
text 'cut off behind a name' "1:10: the text ends where ':' is expected" 'op { type'
text 'no such field' "2:3: OperatorDef has no field 'typo'; did you mean 'type'" \
  'op {\n  typo: "x" }'
text 'no number' '1:33: an integer is expected, not .x.' 'op { arg { name: "a" ints: 1 i: x } }'
text 'an integer too large' '1:14: the integer' 'num_workers: 4294967296'
text 'given twice' "1:11: 'name' is given twice" 'name: "a" name: "b"'
text 'an unknown escape' '1:8: this escape' 'name: "\\q"'
text 'a byte that is no text' '1:7: ' 'name: \\377'
echo '{"x": [1, [1, -3]]}' >bad.json
refuses 'a shape that is none' 3 "bad.json: 'x': sizes are integers" \
  "$wick" compile net.pb --init-net init.pbtxt --value-info bad.json
echo '{"x": [1, [1' >bad.json
refuses 'JSON that is none' 3 'bad.json:[0-9]+:[0-9]+: ' \
  "$wick" compile net.pb --init-net init.pbtxt --value-info bad.json
echo '{"x": [1, [1, 3]], "z": [1, [2]]}' >bad.json
refuses 'a shape of no input' 3 "bad.json: 'z' is no input of the net" \
  "$wick" compile net.pb --init-net init.pbtxt --value-info bad.json
finish
