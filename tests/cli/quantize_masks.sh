#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick quantize and masks: what is masked stays masked, whatever number the model writes for it.
source "$(dirname "$0")/lib.bash" "$@"

# numbers COUNT SEED: between -1 and 1.
numbers() {
  awk -v n="$1" -v s="$2" 'BEGIN {
    for (i = 0; i < n; i++)
      printf "%s%.3f", i ? ", " : "", (i * 7919 + s * 104729) % 2003 / 1001 - 1
  }'
}
# triangle NUMBER: 8 x 8, the number above the diagonal.
triangle() {
  awk -v m="$1" 'BEGIN {
    for (i = 0; i < 64; i++) printf "%s%s", i ? ", " : "", (i % 8 > int(i / 8)) ? m : 0
  }'
}
op() { # OP "INPUTS" OUTPUT ATTRIBUTES
  local in
  echo "node { op_type: \"$1\" name: \"n_$3\" output: \"$3\""
  for in in $2; do echo "input: \"$in\""; done
  echo "${4:-} }"
}
constant() { # NAME TYPE DIMS "FIELD: NUMBERS"
  echo "initializer { name: \"$1\" data_type: $2 $(printf 'dims: %d ' $3) $4 }"
}
end() { # input|output NAME DIM...
  echo "$1 { name: \"$2\" type { tensor_type { elem_type: 1 shape {"
  printf 'dim { dim_value: %d } ' "${@:3}"
  echo '} } } }'
}
axis='attribute { name: "axis" type: INT i: -1 }'
# attention MASKING: what makes a of the scores s; softmax and products around it.
attention() {
  echo 'ir_version: 8 opset_import { version: 17 } graph { name: "g"'
  constant k 1 '16 8' "float_data: [$(numbers 128 1)]"
  constant w 1 '16 4' "float_data: [$(numbers 64 2)]"
  op MatMul 'x k' s
  echo "$1"
  op Softmax a p "$axis"
  op MatMul 'p x' o
  op MatMul 'o w' y
  end input x 1 8 16
  end output y 1 8 4
  echo '}'
}
mask() { constant m 1 '8 8' "float_data: [$(triangle "$1")]"; }
above() { constant b 9 '8 8' "int32_data: [$(triangle 1)]"; }
added() { mask "$1" && op Add 's m' a; }
rectified() { mask "$1" && op Add 's m' t && op Relu t a; }
chosen() { above && echo "initializer { name: \"never\" data_type: 1 float_data: [$1] }" &&
  op Where 'b never s' a; }
filled() { # of which Trilu keeps the upper triangle
  constant d 7 2 'int64_data: [8, 8]'
  echo 'initializer { name: "one" data_type: 7 int64_data: [1] }'
  op ConstantOfShape d f "attribute { name: \"value\" type: TENSOR
    t { data_type: 1 dims: 1 float_data: [$1] } }"
  op Trilu 'f one' m
  op Add 's m' a
}
joined() { # beside numbers of the usual size, which one scale would take along
  above
  echo "initializer { name: \"never\" data_type: 1 float_data: [$1] }"
  op Where 'b never s' c
  op Concat 'c s' both "attribute { name: \"axis\" type: INT i: 1 }"
  constant from 7 1 'int64_data: [0]' && constant to 7 1 'int64_data: [8]'
  constant along 7 1 'int64_data: [1]'
  op Slice 'both from to along' a
}
biased() { # a bias of the usual size with a mask in it
  constant m 1 '8 8' "float_data: [$(awk -v x="$(numbers 64 3)" -v m="$(triangle "$1")" 'BEGIN {
    n = split(x, number, ", ")
    split(m, mask, ", ")
    for (i = 1; i <= n; i++) {
      value = mask[i] == "0" ? number[i] : mask[i]
      printf "%s%s", (i > 1) ? ", " : "", value
    }
  }')]"
  op Add 's m' a
}
shared() { # added up once, for all layers
  constant b 1 '8 8' "float_data: [$(numbers 64 3)]"
  mask "$1" && op Add 'm b' t && op Add 's t' a && op Add 't t' unused
}
kept() { # what takes part as a number, of which zeros are filled
  constant m 1 '8 8' "float_data: [$(triangle 1)]"
  echo "initializer { name: \"never\" data_type: 1 float_data: [$1] }"
  constant one 1 1 'float_data: [1]'
  op Mul 'm one' i
  op Cast i b 'attribute { name: "to" type: INT i: 9 }'
  op Where 'b never i' t
  op Add 's t' a
}
halves() { # stored as f16: -65504
  constant h 10 '8 8' "int32_data: [$(triangle 64511)]"
  op Cast h m 'attribute { name: "to" type: INT i: 1 }'
  op Add 's m' a
}

# masks NAME MASKING [METHOD...]: the quantised model is near the float one, its products are in
# integers.
masks() {
  local method out
  attention "$2" >"$1.textproto"
  for method in "${@:3}"; do
    out=$("$wick" quantize "$1.textproto" --random 2 --method $method -v -o q.onnx 2>err)
    awk '$1 == "outputs" { near = $2 >= 25 } END { exit !near }' <<<"$out" && good ||
      bad "$1, $method: $out $(cat err)"
    (($(grep -cE '^n_. +MatMul +[0-9]' <<<"$out") >= 3)) && good ||
      bad "$1, $method: products stay float: $out"
    [[ $1 == @(joined|rectified)* ]] || # where a number that is masked meets other operators
      check "$1, $method: on the accelerator from the first product to the last" \
        "$wick" compile q.onnx --target accel:tiny --no-host --place @ends=cpu -o q.wick
  done
}
for never in -inf -3.4028235e38 -1e9 -10000; do
  for how in rectified chosen filled joined biased shared kept; do
    masks "$how$never" "$($how $never)" mse
  done
  masks added$never "$(added $never)" minmax entropy
done
masks halves "$(halves)" mse percentile
check 'cpu like eval' "$wick" compare q.onnx
check 'a mask that is added' "$wick" quantize added-inf.textproto --random 1 -o q.onnx
gives 'its softmax in integers' '^integer_softmax +integer ' \
  "$wick" compile q.onnx --print-integer -o q.wick
check 'a binary file' "$wick" compile added-inf.textproto --emit onnx -o small.onnx
gives 'a file that grows' ' before, .* after \([1-9]\.[0-9]+ x larger\)$' \
  "$wick" quantize small.onnx --random 1 -o q.onnx

# A mask that calibration gives: of -inf and 0. NaN there is refused.
attention "$(end input m 8 8; op Add 's m' a)" >given.textproto
npy x.npy '<f4' 1,8,16
npy m.npy '<f4' 8,8
printf '\x00\x00\x80\xff' | dd of=m.npy bs=1 seek=132 conv=notrunc status=none
gives 'an infinite mask' '^layers +[1-9]' \
  "$wick" quantize given.textproto --calibration x=x.npy --calibration m=m.npy -o q.onnx
printf '\x00\x00\xc0\xff' | dd of=m.npy bs=1 seek=132 conv=notrunc status=none
check 'its model' cp q.onnx given.q.onnx
gives 'its softmax in integers' '^integer_softmax +integer ' \
  "$wick" compile given.q.onnx --print-integer -o q.wick
refuses 'NaN in a mask' 3 'm.npy: element 1 of the .* is NaN' \
  "$wick" quantize given.textproto --calibration x=x.npy --calibration m=m.npy -o q.onnx

# NaN that reaches an output: which node begins it, on which sample. One that is guarded, as the
# softmax of a row that is masked as a whole, is none.
whole() { triangle -inf | sed 's/0/-inf/g'; }
attention "$(constant m 1 '8 8' "float_data: [$(whole)]"; op Add 's m' a)" >empty.textproto
check 'rows that are masked as a whole' "$wick" quantize empty.textproto --random 2 -o q.onnx
sed 's/-inf/nan/g' empty.textproto >nan.textproto
refuses 'NaN' 3 'output y .* NaN on calibration sample 1; the first NaN comes from node n_a ' \
  "$wick" quantize nan.textproto --random 2 -o q.onnx
sed -e '/name: "n_o"/i\
node { op_type: "IsNaN" input: "p" output: "none" }\
initializer { name: "zero" data_type: 1 float_data: [0] }\
node { op_type: "Where" input: "none" input: "zero" input: "p" output: "guarded" }' \
  -e '/name: "n_o"/,/^ }/s/input: "p"/input: "guarded"/' empty.textproto >guarded.textproto
gives 'NaN that is guarded' '^layers +3 of' "$wick" quantize guarded.textproto --random 2 -o q.onnx
attention "$(op Relu s a)" | sed 's/float_data: \[[^,]*/float_data: [nan/' >broken.textproto
refuses 'NaN in weights' 3 'the first NaN comes from node n_s \(MatMul\)' \
  "$wick" quantize broken.textproto --random 2 -o q.onnx
finish
