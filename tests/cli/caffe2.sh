#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Caffe2 nets in both forms, models as protobuf text, and what is wrong with either.
root=$(cd "$(dirname "$0")/../.." && pwd)
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
{
  echo 'op { type: "GivenTensorByteStringToUInt8Fill" output: "q"'
  printf 'arg { name: "shape" ints: 600 } arg { name: "values" s: "'
  printf '\\377%.0s' {1..600}
  printf '" } }\n' && cat init.pbtxt
} >escapes.pbtxt
check 'text of few letters' \
  "$wick" compile net.pb --init-net escapes.pbtxt --shape x=1x3 -q -o e.wick
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
sweeps() { "$wick" sweep "$@" "${space[@]}" || true; } # its points fail: the model is in floats
gives 'sweep' '2 computed now' sweeps "${bound[@]}" -o sweep
gives 'sweep, the other form' 'first: net, ' \
  sweeps net.pbtxt --init-net init.pbtxt --shape x=1x3 -o sweep
gives 'sweep, other weights' ' 2 computed now' \
  sweeps net.pb --init-net other.pbtxt --shape x=1x3 -o sweep
gives 'sweep, shapes of a file' '2 points, 2 failed' \
  sweeps net.pb --init-net init.pbtxt --value-info info.json -o sweep2

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
# ONNX's own syntax is told apart by its first two words; other text is no model.
own="is in ONNX's own text syntax, which is not read: write the model as protobuf or as"
text='is text, not an ONNX model'
damaged='is not a valid ONNX model: damaged, cut off, or another format'
while IFS='|' read -r says begins; do
  printf "$begins" >own.onnxtxt
  refuses "text that begins '$begins'" 3 "^wick: own.onnxtxt: ${!says}" "$wick" run own.onnxtxt
done <<'END'
own|<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Relu(x) }
own|<opset_import: ["": 13], ir_version: 8> g (float[2] x) => (float[2] y) { y = Relu(x) }
own|\xef\xbb\xbf# a model\n  <\n  ir_version: 8>
own|<ir_version
text|<ir: 8>
text|<ir_versions: 8>
text|<"ir_version": 8>
text|'<ir_version: 8>
text|{ir_version: 8}
text|ir_version
text|ir_version, 8
text|g (float[2] x) => (float[2] y) { y = Relu(x) }
damaged|<
damaged|<'
damaged|< >
damaged|<8
END
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

# A detector: as many images and regions as a run has.
detector=("$root/tests/caffe2/Detector/predict_net.pbtxt"
          --init-net "$root/tests/caffe2/Detector/init_net.pb")
check 'a detector, compile' "$wick" compile "${detector[@]}" --shape data=1..2x3x20x24 \
  --shape infos=1..2x3 -q -o detector.wick
npy data.npy '<f4' 1,3,20,24 && npy two.npy '<f4' 2,3,20,24
npy infos.npy '<f4' 1,3
gives 'a detector, nothing found' '^kept_boxes f32\[0,4\]' \
  "$wick" run detector.wick -i data=data.npy -i infos=infos.npy
gives 'a detector, open batch' '^counts f32\[1\]' \
  "$wick" run detector.wick -i data=data.npy -i infos=infos.npy
refuses 'a detector, images without infos' 3 'GenerateProposals rois' \
  "$wick" run detector.wick -i data=two.npy -i infos=infos.npy

# net NAME STATUS WANT EDIT: the net with an edit by sed.
net() {
  sed "$4" net.pbtxt >edited.pbtxt
  refuses "$1" "$2" "$3" "$wick" compile edited.pbtxt --init-net init.pbtxt --shape x=1x3
}
net 'an operator with a typo' 4 "y: Caffe2.Rleu: is not known; did you mean 'Relu'" 's/Relu/Rleu/'
net 'an operator of another domain' 4 'y: my.ops.Relu: the domain is not known' \
  's/"Relu"/"Relu" domain: "my.ops"/'
net 'an operator without type' 3 '^wick: edited.pbtxt: y: the operator has no type' \
  's/type: "Relu"//'
net 'a blob without name' 3 '^wick: edited.pbtxt: y: input 2 has no name' 's/"b"/""/'
net 'an output without name' 3 '^wick: edited.pbtxt: FC: output 0 has no name' \
  '2s/output: "y"/output: ""/'
net 'an output twice' 3 "^wick: edited.pbtxt: y: has the output 'y' twice" \
  '2s/output: "y"/output: "y" output: "y"/'
net 'too few inputs' 3 '^wick: edited.pbtxt: y: has 2 inputs' 's/input: "b"//'
net 'no outputs' 3 '^wick: edited.pbtxt: the net has no external_output' '/external_output/d'
net 'an output that nobody makes' 3 '^wick: edited.pbtxt: z: no operator makes this output' \
  '/external_output/s/y/z/'
net 'no operators' 3 '^wick: edited.pbtxt: the net has no operators' '/^op/d'
refuses 'weights of another shape' 3 'FC y: matmul: a has 4 columns but b has 3 rows' \
  "$wick" compile net.pb --init-net init.pbtxt --shape x=1x4
sed 's/ints: 2 ints: 3/ints: 2 ints: -3/' init.pbtxt >bad.pbtxt
refuses 'a negative size' 3 '^wick: bad.pbtxt: w: the shape has a negative size' \
  "$wick" compile net.pb --init-net bad.pbtxt --shape x=1x3
cat >wide.pbtxt <<'EOF'
op { output: "y" type: "GivenTensorIntFill" arg { name: "values" ints: [1, 2147483648] }
     arg { name: "shape" ints: 2 } }
op { input: "y" output: "y" type: "Copy" }
external_output: "y"
EOF
refuses 'a value too large' 3 "wide.pbtxt: y: 'values' holds 2147483648, which is no i32" \
  "$wick" compile wide.pbtxt
sed 's/GivenTensorFill/GivenTensorFil/' init.pbtxt >bad.pbtxt
err=$("$wick" compile net.pb --init-net bad.pbtxt --shape x=1x3 2>&1)
(($? == 4)) && [[ $err == *"is not known; did you mean 'GivenTensorFill'? (2 times: w, b)" ]] &&
  good || bad "unknown fills: $err"
cat init.pbtxt init.pbtxt >twice.pbtxt
err=$("$wick" compile net.pb --init-net twice.pbtxt --shape x=1x3 -q -o twice.wick 2>&1)
[[ $err == *"blob 'w' is filled more than once; the last time counts"* ]] && good ||
  bad "blobs twice: $err"
: >empty.pb
refuses 'an empty net' 3 'empty.pb: is empty' "$wick" compile empty.pb
refuses 'an empty init net' 3 'empty.pb: is empty' "$wick" compile net.pb --init-net empty.pb
head -c 30 net.pb >cut.pb
refuses 'a net cut off' 3 'cut.pb: ' "$wick" compile cut.pb --init-net init.pbtxt --shape x=1x3
printf '\x89PNG\r\n\x1a\n' >picture.pb
refuses 'a picture' 3 'picture.pb: is .*, not a Caffe2 net' \
  "$wick" compile net.pb --init-net picture.pb --shape x=1x3
printf '\xff\xff\xff\xff' >noise.pb
refuses 'noise' 3 'noise.pb: is not a valid Caffe2 net: damaged' \
  "$wick" compile net.pb --init-net noise.pb --shape x=1x3
refuses 'an init net that is text of a model' 3 'same.onnxtxt: is an ONNX model, not a Caffe2 net' \
  "$wick" compile net.pb --init-net same.onnxtxt --shape x=1x3

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
# infos NAME WANT JSON
infos() {
  echo "$3" >bad.json
  refuses "$1" 3 "^wick: bad.json$2" "$wick" compile net.pb --init-net init.pbtxt \
    --value-info bad.json
}
infos 'a type that is none' ": 'x' has the element type 99, " '{"x": [99, [1, 3]]}'
infos 'a type beyond 32 bits' ": 'x' has the element type 4294967297, " \
  '{"x": [4294967297, [1, 3]]}'
infos 'strings' ": 'x' has the element type 8, " '{"x": [8, [1, 3]]}'
infos 'a type by name' ": 'x' must be .TYPE, " '{"x": ["float", [1, 3]]}'
infos 'sizes alone' ": 'x' must be .TYPE, " '{"x": [1, 3]}'
infos 'a size by name' ": 'x': sizes are integers" '{"x": [1, ["n", 3]]}'
infos 'too many sizes' ": 'x' has more than 8 dimensions" '{"x": [1, [1,1,1,1,1,1,1,1,1]]}'
infos 'a list' ': is not an object of inputs' '[1]'
infos 'a name twice' ':1:[0-9]+: duplicate object key' '{"x": [1, [1, 3]], "x": [1, [1, 3]]}'
infos 'weights' ": 'w' is no input of the net" '{"x": [1, [1, 3]], "w": [1, [2, 3]]}'
infos 'another name' ": 'y' is no input of the net; 'x' is one" '{"y": [1, [1, 3]]}'
infos 'nothing' ':2:0: ' ''
echo '{"x": [7, [1, 3]]}' >bad.json
refuses 'integers for floats' 3 'FC y: matmul: a is i64 but b is f32' \
  "$wick" compile net.pb --init-net init.pbtxt --value-info bad.json
finish
