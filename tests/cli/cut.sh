#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --cut: models that end at tensors of theirs, and what refusals say about it.
source "$(dirname "$0")/lib.bash" "$@"

# Two branches of one trunk, each with a tail of operators that nobody has; `size` feeds one alone.
cat >tails.onnxtxt <<'EOF'
ir_version: 8
graph {
  name: "tails"
  node { input: "x" output: "trunk" op_type: "Relu" }
  node { input: "trunk" input: "scale" output: "left" op_type: "MatMul" }
  node { input: "trunk" output: "right" op_type: "Neg" }
  node { input: "right" output: "calm" op_type: "Tanh" }
  node { input: "left" input: "lost" input: "size" output: "boxes" op_type: "Pick"
         domain: "nobody" }
  node { input: "boxes" output: "kept" op_type: "Abs" }
  node { input: "right" input: "kept" output: "scores" op_type: "Add" }
  initializer { name: "scale" data_type: 1 dims: 3 dims: 3
                float_data: [1, 2, 3, 4, 5, 6, 7, 8, 9] }
  initializer { name: "lost" data_type: 1 dims: 4 data_location: EXTERNAL
                external_data { key: "location" value: "lost.bin" } }
  input { name: "x" type { tensor_type { elem_type: 1 shape {
    dim { dim_value: 2 } dim { dim_value: 3 } } } } }
  input { name: "size" type { tensor_type { elem_type: 7 shape { dim { dim_param: "n" } } } } }
  output { name: "scores" type { tensor_type { elem_type: 1 } } }
  output { name: "calm" type { tensor_type { elem_type: 1 } } }
}
opset_import { version: 17 }
opset_import { domain: "nobody" version: 1 }
EOF
head -c 16 /dev/zero >lost.bin
npy x.npy '<f4' 2,3
here=(tails.onnxtxt --cut)

refuses 'a refusal says where to cut' 4 \
  "nobody.Pick-1 .*; --cut calm,left,right ends the model before it$" \
  "$wick" compile tails.onnxtxt --bind n=2 -q -o t.wick
gives 'and so does ops' '^  --cut calm,left,right ends the model before it$' bash -c \
  "'$wick' ops --model tails.onnxtxt --bind n=2; true"
rm lost.bin
gives 'as it says, run' '^left f32\[2,3\]' "$wick" run "${here[@]}" calm,left,right -i x=x.npy
gives 'outputs in the order given' '^time.*right .*calm ' bash -c \
  "'$wick' run tails.onnxtxt --cut right,calm -i x=x.npy | tr '\n' ' '"
gives 'the option again' '^calm ' "$wick" run "${here[@]}" right --cut calm --random 1
check 'compile' "$wick" compile "${here[@]}" left -q -o left.wick
gives 'one input is left' '^  input x ' "$wick" inspect left.wick
gives 'and one output' '^  output left ' "$wick" inspect left.wick
check 'compare' "$wick" compare "${here[@]}" left,calm
check 'quantize' "$wick" quantize "${here[@]}" left --random 2 -o q.onnx
gives 'ops' '^MatMul ' "$wick" ops --model "${here[@]}" left
gives 'inspect' '^output left ' "$wick" inspect "${here[@]}" left
gives 'inspect leaves what is behind' '^nodes +2$' "$wick" inspect "${here[@]}" left
gives 'an output of the model' '^calm ' "$wick" run "${here[@]}" calm --random 1
gives 'an input beside' '^x f32' "$wick" run "${here[@]}" calm,x --random 1

refuses 'no such tensor' 2 "--cut lefd: the model has no such tensor; did you mean 'left'\?" \
  "$wick" run "${here[@]}" lefd --random 1
refuses 'nothing like it' 2 '--cut nowhere_at_all: the model has no such tensor$' \
  "$wick" run "${here[@]}" nowhere_at_all --random 1
refuses 'an input alone' 2 '--cut x: leaves nothing to compute: no node makes it' \
  "$wick" run "${here[@]}" x --random 1
refuses 'twice' 2 '--cut left: is named twice' "$wick" run "${here[@]}" left,calm,left --random 1
refuses 'no name' 2 '--cut left,: must be names' "$wick" run "${here[@]}" left, --random 1
refuses 'an input that is gone' 2 '--shape size: the model has no such input' \
  "$wick" run "${here[@]}" left --shape size=2 --random 1
refuses 'a package' 2 'is a compiled package: --cut is for models' \
  "$wick" run left.wick --cut left

# Nothing computed is left before the first operator.
sed 's/"Relu"/"Strange" domain: "nobody"/' tails.onnxtxt >first.onnxtxt
head -c 16 /dev/zero >lost.bin
"$wick" compile first.onnxtxt --bind n=2 -q -o f.wick 2>err
[[ $(<err) == *nobody.Strange* ]] && good || bad "says $(<err)"
grep -q -- --cut err && bad 'a cut that leaves nothing is proposed' || good

# A net of Caffe2, one of whose blobs is made anew in its place.
cat >net.pbtxt <<'EOF'
name: "net"
op { input: "x" output: "y" type: "Relu" }
op { input: "y" output: "y" type: "Sigmoid" }
op { input: "y" output: "z" type: "Tanh" }
op { input: "z" output: "boxes" type: "NoOperatorOfCaffe2" }
external_input: "x"
external_output: "boxes"
EOF
refuses 'a net says where to cut' 4 '; --cut z ends the model before it$' \
  "$wick" run net.pbtxt --shape x=1x3 --random 1
gives 'ops of a net, too' '^  --cut z ends the model before it$' bash -c \
  "'$wick' ops --model net.pbtxt --shape x=1x3; true"
gives 'a net, cut' '^z f32\[1,3\]' "$wick" run net.pbtxt --shape x=1x3 --cut z --random 1
gives 'a blob is what the last operator makes of it' '^y f32\[1,3\] min 0\.[56789]' \
  "$wick" run net.pbtxt --shape x=1x3 --cut y --random 1
gives 'inspect a net' '^output z ' "$wick" inspect net.pbtxt --cut z
refuses 'no such blob' 2 "--cut zz: no operator of the net makes such a blob; did you mean" \
  "$wick" run net.pbtxt --shape x=1x3 --cut zz --random 1
refuses 'a blob twice' 2 '--cut z: is named twice' \
  "$wick" run net.pbtxt --shape x=1x3 --cut z,z --random 1
sed -i 's/output: "boxes" type/output: "z" type/; s/"boxes"$/"z"/' net.pbtxt
refuses 'no name stands for what is made anew' 4 'is not known$' \
  "$wick" run net.pbtxt --shape x=1x3 --random 1
finish
