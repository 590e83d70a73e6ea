#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick ops --model: what of a model would run where, and what is refused.
source "$(dirname "$0")/lib.bash" "$@"
small_models

# A model of nodes given as OP INPUTS OUTPUT; domain my.domain is there, but not known.
foreign() {
  model "$1" "$(field 11 "$(value x 1 2 3)")" \
    "$(field 12 "$(value y 1 2 3)")$(field 12 "$(value d 1 2 3)")"
  field 8 "$(field 1 my.domain)$(number 2 1)"
}
in_domain() { printf '%s' "$1" && field 7 my.domain; }
foreign "$(field 1 "$(node Relu x a)")$(field 1 "$(in_domain "$(node Foo a b)")")$(
  field 1 "$(node Sigmoid b c)")$(field 1 "$(node Bar c d)")$(
  field 1 "$(in_domain "$(node Foo a e)")")$(field 1 "$(node Neg e y)")" >refused.onnx

# status CODE COMMAND...: the exit status, with standard output in `shown`, messages in `said`.
status() {
  local code=$1
  shift
  "$@" >shown 2>said
  local got=$?
  if [[ $got == "$code" ]]; then good; else bad "$*: exit status $got: $(head -2 said)"; fi
}
shows() {
  if grep -qE -- "$1" shown; then good; else bad "no line '$1' in"; cat shown; fi
}

# Lists: a head, a row of each kind, and nothing behind the last but what is counted.
while IFS='|' read -r option head lines; do
  status 0 "$wick" ops $option
  [[ $(head -1 shown | tr -s ' ') == "$head" ]] && good || bad "head of $option: $(head -1 shown)"
  (($(wc -l <shown) > lines)) && good || bad "$option: $(wc -l <shown) lines"
done <<'END'
|OPERATOR OPSETS INPUT TYPES|200
--onnx|OPERATOR OPSETS INPUT TYPES|200
--caffe2|OPERATOR IN ONNX|200
--ir|OPERATOR CLASS KIND INPUTS MEANING|100
--gradients|OPERATOR BY NOTE|100
--passes|PASS ON WHAT IT DOES|20
END
# Primitives: more of them are work for every target.
for option in '' --onnx --ir; do
  status 0 "$wick" ops $option
  shows '^146 operators of graphs, of which 25 are primitives: '
done
status 0 "$wick" ops --gradients
shows '^gelu +definition *$'
read -r some all exact _ flat < <(tail -1 shown | grep -oE '[0-9]+' | tr '\n' ' ')
rows=$(grep -cE '^[a-z_0-9]+ {2,}' shown) none=$(grep -cE ' (no path|none)( |$)' shown)
((all == rows && some == rows - none && exact + flat == some &&
  flat == $(grep -cE ' constant *$' shown))) && good || bad "counts: $(tail -1 shown)"

status 0 "$wick" ops --model relu.onnx --target cpu
shows '^Relu +13 +1 +- +1$'
shows '^multiply-accumulates: cpu:[^ ]+ 0$'
status 0 "$wick" ops --model relu.onnx --target opencl:any -v
shows '^Relu +13 +1 +- +1 +-$'
shows '^the_y +Relu +accepted +opencl:any$'
status 0 "$wick" ops --model relu.onnx
shows '^OPERATOR +OPSET +NODES +FOLDED +accel .*cpu$'
shows '^  Relu: map: the result is f32 \(1 node: the_y\)$'

# All of it is shown, also behind what is refused.
status 4 "$wick" ops --model refused.onnx --target cpu -v
shows '^OPERATOR +OPSET +NODES +REFUSED +UNKNOWN +FOLDED +cpu:'
shows '^Relu +13 +1 +- +- +- +1$'
shows '^Bar +13 +1 +1 +- +- +-$'
shows '^Sigmoid +13 +1 +- +1 +- +-$'
shows '^my.domain.Foo +1 +2 +2 +- +- +-$'
shows '^  my.domain.Foo: this operator is not known \(2 nodes: the_b, the_e\)$'
shows '^  Bar: this operator is not known \(1 node: the_d\)$'
shows '^the_y +Neg +unknown +-$'
[[ $(cat said) == 'wick: refused.onnx: 3 of 6 nodes are not supported' ]] && good ||
  bad "says $(cat said)"

# A branch that is refused makes its owner unknown, and nothing more.
then=$(field 1 "$(in_domain "$(node Foo x t)")")$(field 2 then)$(field 12 "$(value t 1 2 3)")
else=$(field 1 "$(node Neg x e)")$(field 2 else)$(field 12 "$(value e 1 2 3)")
branch() { field 5 "$(field 1 "$1")$(field 6 "$2")$(byte 160)$(byte 1)$(byte 5)"; }
{
  model "$(field 1 "$(node If c y)$(branch then_branch "$then")$(branch else_branch "$else")")" \
    "$(field 11 "$(value x 1 2 3)")$(field 11 "$(value c 9 1)")" "$(field 12 "$(value y 1 2 3)")"
  field 8 "$(field 1 my.domain)$(number 2 1)"
} >branch.onnx
status 4 "$wick" ops --model branch.onnx --target cpu -v
shows '^If +13 +1 +- +1 +- +-$'
shows '^my.domain.Foo +1 +1 +1 +- +- +-$'
refuses 'the branch alone is refused' 4 'the_t: my.domain.Foo-1 ' "$wick" compile branch.onnx

# Sizes that are not bound.
status 2 "$wick" ops --model symbolic.onnx
shows '^Relu +13 +1 +- +1 +-$'
grep -q -- 'sizes are not known .*: give --bind n=N' said && good || bad "says $(cat said)"
status 0 "$wick" ops --model symbolic.onnx --bind n=4
status 2 "$wick" ops --model symbolic.onnx --bind n=4 --bind n=5

# Nets of Caffe2 and texts.
cat >net.pbtxt <<'EOF'
op { input: "x" input: "w" input: "b" output: "y" type: "FC" }
op { input: "y" output: "y" type: "Frobnicate" }
op { input: "y" output: "y" type: "Relu" }
op { input: "y" output: "z" type: "Mystery" name: "m" }
external_output: "y"
external_output: "z"
EOF
cat >init.pbtxt <<'EOF'
op { output: "w" type: "GivenTensorFill" arg { name: "shape" ints: 2 ints: 3 }
     arg { name: "values" floats: [1, 2, 3, 4, 5, 6] } }
op { output: "b" type: "GivenTensorFill" arg { name: "shape" ints: 2 }
     arg { name: "values" floats: [1, 2] } }
EOF
status 4 "$wick" ops --model net.pbtxt --init-net init.pbtxt --shape x=1x3 --target cpu
shows '^Gemm +12 +1 +- +- +- +1$'
shows '^Relu +12 +1 +- +1 +- +-$'
shows '^Caffe2.Frobnicate +- +1 +1 +- +- +-$'
shows '^  Caffe2.Mystery: is not known \(1 node: m\)$'
status 3 "$wick" ops --model net.pbtxt --shape x=1x3
cat >relu.textproto <<'EOF'
ir_version: 8
graph {
  node { input: "x" output: "y" op_type: "Relu" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
}
opset_import { version: 13 }
EOF
status 0 "$wick" ops --model relu.textproto --target cpu
shows '^Relu +13 +1 +- +1$'

# A quantised model: the accelerator has all products.
check 'zoo' "$wick" zoo ds_cnn -o ds.onnx
check 'quantize' "$wick" quantize ds.onnx --random 1 -o q.onnx
status 0 "$wick" ops --model q.onnx --target accel:base
shows '^Conv +17 +9 +- +9 +-$'
shows '^Softmax +17 +1 +- +- +1$'
shows '^multiply-accumulates: accel:base 2.55 M \(100.0 %\), cpu:[^ ]+ 0 \(0.0 %\)$'
shows '^  QuantizeLinear: map: an operand is f32 \(1 node: input_QuantizeLinear\)$'
status 0 "$wick" ops --model q.onnx --target accel:base --parts
shows '^Conv +17 +9 +- +9 +-$'
status 0 "$wick" ops --model ds.onnx --target accel
shows '^multiply-accumulates: accel:base 0 \(0.0 %\)'
grep -q 'is a float model, and accel computes in integers' said && good || bad "says $(cat said)"

# An input that cannot be is refused beside the operators.
complex=$(field 11 "$(value x 1 2 3)")$(field 11 "$(value w 14 2 3)")
model "$(field 1 "$(node Relu x y)")" "$complex" "$(field 12 "$(value y 1 2 3)")" >none.onnx
status 0 "$wick" ops --model none.onnx --target cpu
[[ $(cat said) == *'none.onnx: input w is left out, since nothing uses it: complex '* ]] && good ||
  bad "says $(cat said)"
model "$(field 1 "$(node Relu x y)")" "$complex" \
  "$(field 12 "$(value y 1 2 3)")$(field 12 "$(value w 14 2 3)")" >one.onnx
model "$(field 1 "$(node Relu x y)")$(field 1 "$(node Bar w z)")" "$complex" \
  "$(field 12 "$(value y 1 2 3)")$(field 12 "$(value z 1 2 3)")" >two.onnx
status 4 "$wick" ops --model one.onnx --target cpu
shows '^  input w: complex numbers \(COMPLEX64\) are not supported$'
[[ $(cat said) == 'wick: one.onnx: 1 part of the model is not supported' ]] && good ||
  bad "says $(cat said)"
status 4 "$wick" ops --model one.onnx --target cpu --json
[[ $(grep -A9 '"refused_besides"' shown | tr -d ' \n') == '"refused_besides":[{"kind":"input",'\
'"name":"w","reason":"complexnumbers(COMPLEX64)arenotsupported"}],'* ]] && good ||
  bad "gives $(cat shown)"
status 4 "$wick" ops --model two.onnx --target cpu
shows '^  Bar: this operator is not known \(1 node: the_z\)$'
[[ $(cat said) == 'wick: two.onnx: 2 parts of the model are not supported' ]] && good ||
  bad "says $(cat said)"

# Of all targets one that is not there says why, and the others are asked.
for form in '' --json; do
  # shellcheck disable=SC2086
  status 0 env OCL_ICD_VENDORS="$tmp/empty/" WICK_OPENCL=libOpenCL.so.1 "$wick" ops \
    --model relu.onnx $form
  shows '(^|")opencl: .*libOpenCL.so.1'
  grep -q 'opencl: opencl' shown && bad "says the target twice: $(cat shown)" || good
  [[ $form ]] || shows '^multiply-accumulates: cpu:'
done
status 4 env OCL_ICD_VENDORS="$tmp/empty/" WICK_OPENCL=libOpenCL.so.1 "$wick" ops \
  --model relu.onnx --target opencl

# JSON, to be read by others; a refused model gives all of it.
for model in relu refused q; do
  "$wick" ops --model $model.onnx --target accel --json -v >$model.json 2>/dev/null
  gives "$model, JSON" '^  "version": 1,$' cat $model.json
  gives "$model, JSON, runs" '"name": "accel:base,cpu:' cat $model.json
done
gives 'JSON, accepted' '^  "accepted": true,$' cat q.json
gives 'JSON, refused' '^  "accepted": false,$' cat refused.json
gives 'JSON, verdict' '"verdict": "unknown"' cat refused.json
gives 'JSON, products' '"macs": 2550528' cat q.json
if command -v python3 >/dev/null; then
  check 'JSON that is whole' python3 -c 'import json, sys
for name in sys.argv[1:]: json.load(open(name))' relu.json refused.json q.json
fi

# What is no model, and options that do not fit.
echo garbage >garbage.onnx
refuses 'garbage' 3 'is text, not an ONNX model' "$wick" ops --model garbage.onnx
head -c 400 q.onnx >cut.onnx
refuses 'cut off' 3 'cut.onnx' "$wick" ops --model cut.onnx
refuses 'no file' 5 'absent.onnx' "$wick" ops --model absent.onnx
refuses 'no target' 2 "no target 'cpi'; did you mean 'cpu'" \
  "$wick" ops --model relu.onnx --target cpi
refuses 'a binding of nothing' 2 '--length goes with --model' "$wick" ops --length x=2
refuses 'two lists' 2 'of a model, and nothing else' "$wick" ops --model relu.onnx --markdown
refuses 'JSON of nothing' 2 'go with --model FILE' "$wick" ops --json
finish
