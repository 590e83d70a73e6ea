#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick test: verdicts, summary, exit status.
onnx=$(realpath "$(dirname "$0")/../onnx")
source "$(dirname "$0")/lib.bash" "$@"
small_models

# tensor NAME TYPE "DIM..." BYTES: a TensorProto with raw data (printf escapes).
tensor() {
  local d
  for d in $3; do number 1 "$d"; done
  number 2 "$2"
  field 8 "$1"
  local n
  n=$(printf '%b' "$4" | wc -c)
  byte $((9 * 8 + 2))
  byte "$n"
  printf '%b' "$4"
}
# case_of NAME MODEL INPUT OUTPUT
case_of() {
  mkdir -p "suite/$1/test_data_set_0"
  cp "$2" "suite/$1/model.onnx"
  tensor x 1 '2 3' "$3" >"suite/$1/test_data_set_0/input_0.pb"
  tensor y 1 '2 3' "$4" >"suite/$1/test_data_set_0/output_0.pb"
}
zero='\x00\x00\x00\x00' one='\x00\x00\x80\x3f' two='\x00\x00\x00\x40' minus='\x00\x00\x80\xbf'
nan='\x00\x00\xc0\x7f'
in=$one$minus$two$zero$one$minus
out=$one$zero$two$zero$one$zero
case_of right relu.onnx "$in" "$out"
case_of symbolic symbolic.onnx "$in" "$out"
gives 'both pass' '^2 passed, 0 failed, 0 skipped$' "$wick" test suite
gives 'one folder' '^1 passed, 0 failed, 0 skipped$' "$wick" test suite/right
gives 'the evaluator, in this process' '^2 passed' "$wick" test suite --target eval -j0
gives 'verbose' '^ok +right \(' "$wick" test suite -v

case_of wrong relu.onnx "$in" "$one$zero$one$zero$one$zero"
model "$(field 1 "$(node Frobnicate x y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >unknown.onnx
case_of refused unknown.onnx "$in" "$out"
case_of small relu.onnx "$in" "$out"
tensor y 1 '3 2' "$out" >suite/small/test_data_set_0/output_0.pb
case_of nodata relu.onnx "$in" "$out"
rm -r suite/nodata/test_data_set_0
case_of damaged relu.onnx "$in" "$out"
head -c 20 relu.onnx >suite/damaged/model.onnx
case_of not_a_number relu.onnx "$in" "$nan$zero$two$zero$one$zero"
case_of wrong_dtype relu.onnx "$in" "$out"
tensor x 7 '2 3' "$in$in" >suite/wrong_dtype/test_data_set_0/input_0.pb
case_of wrong_shape relu.onnx "$in" "$out"
tensor x 1 '3 2' "$in" >suite/wrong_shape/test_data_set_0/input_0.pb
case_of no_output relu.onnx "$in" "$out"
mkdir suite/no_output/test_data_set_1
cp suite/no_output/test_data_set_0/input_0.pb suite/no_output/test_data_set_1/
# bf16 as u16: right, of another shape, and beside another type
bits='\x80\x3f\x80\xbf\x80\x3f\x80\x3f\x80\x3f\x80\x3f'
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 16 2 3)")" \
  "$(field 12 "$(value y 16 2 3)")" >bf16.onnx
for name in right other wrong; do
  case_of bf16_$name bf16.onnx "$in" "$out"
  tensor y 4 '2 3' "${bits//xbf/x3f}" >suite/bf16_$name/test_data_set_0/output_0.pb
done
tensor x 4 '2 3' "${bits//xbf/x3f}" >suite/bf16_right/test_data_set_0/input_0.pb
tensor x 4 '3 2' "$bits" >suite/bf16_other/test_data_set_0/input_0.pb
result=$("$wick" test suite --junit results.xml)
[[ $? == 1 ]] && good || bad 'failures exit with 1'
has() { grep -qE -- "$1" <<<"$result" && good || bad "no line $1 in: $result"; }
has '^FAIL wrong: test_data_set_0: output y: 1 of 6 elements differ, worst at \[0,2\]: got 2, want'
has '^FAIL small: .*f32\[2,3\], want f32\[3,2\]'
has '^FAIL damaged: '
has '^FAIL not_a_number: '
has '^FAIL wrong_dtype: test_data_set_0: input_0.pb is i64\[2,3\], the model declares x f32\[2,3\]'
has '^FAIL wrong_shape: test_data_set_0: input_0.pb is f32\[3,2\], the model declares x f32\[2,3\]'
has '^FAIL no_output: test_data_set_1: no data for output y'
has '^FAIL bf16_wrong: test_data_set_0: input_0.pb is f32\[2,3\], the model declares x bf16'
has '^ +1  bf16 stored as u16, with other shapes than the model'
has '^ +1  no test data$'
has '^ +1  Frobnicate: '
has '^3 passed, 8 failed, 3 skipped$'
gives 'no more are skipped than may be' '^1 passed, 0 failed, 1 skipped$' \
  "$wick" test suite/right suite/refused --max-skipped 1
more=$("$wick" test suite/right suite/refused --max-skipped 0)
[[ $? == 1 && $more == *'1 cases were skipped; --max-skipped allows 0'* ]] && good ||
  bad "more are skipped: $more"
gives 'JUnit' 'tests="14" failures="8" skipped="3"' cat results.xml
gives 'JUnit failure' '<failure message=' cat results.xml
gives 'tolerance' '^1 passed, 0 failed' "$wick" test suite/wrong --rtol 1.5
gives 'filter' '^1 passed, 0 failed' "$wick" test suite --filter 'righ?'
node=/usr/share/libonnx-testdata/data/node
gives 'reasons of skipped tests, as tests/count.awk reads them' '^skipped, by reason:$' \
  "$wick" test $node --filter 'test_s[tu]*'
refuses 'empty filter' 2 'matches no case' "$wick" test suite --filter none
"$wick" test suite/refused >/dev/null
[[ $? == 1 ]] && good || bad 'nothing passed, yet success'

# What importing a model tells comes once, with the number of models that it is said of.
for name in newer_a newer_b; do
  (number 1 8; field 7 "$(field 1 "$(node Relu x y)")$(field 2 graph)$(
    field 11 "$(value x 1 2 3)")$(field 12 "$(value y 1 2 3)")"
  field 8 "$(number 2 99)") >newer.onnx
  case_of ../newer/$name newer.onnx "$in" "$out"
done
for jobs in 0 2; do
  gives "notes, -j$jobs" '^     2  opset 99 is newer than [0-9]+, the newest that is known' \
    "$wick" test newer -j$jobs
done

# A quantised model that fails: how far its layers agree when each is fed alike.
cp -r "$onnx/QLinearAdd" . && flip QLinearAdd/test_data_set_0/output_0.pb \
  $(($(stat -c %s QLinearAdd/test_data_set_0/output_0.pb) - 1))
alike='each fed alike, 1 of 1 quantised layers match float arithmetic'
exact='1 of 1 cpu instructions match the evaluator bit for bit'
gives 'layers fed alike' "^FAIL QLinearAdd: .* \($alike; $exact\)$" \
  bash -c "'$wick' test QLinearAdd || true"
gives 'on the evaluator' "^FAIL QLinearAdd: .* \($alike\)$" \
  bash -c "'$wick' test QLinearAdd --target eval || true"
cp -r "$onnx/QLinearMul" . && flip QLinearMul/test_data_set_0/output_0.pb \
  $(($(stat -c %s QLinearMul/test_data_set_0/output_0.pb) - 1))
gives 'the worst layer' '\(each fed alike, 0 of 1 .* by at most 1 step \(worst at QLinearMul_y\)' \
  bash -c "'$wick' test QLinearMul || true"

# 8-bit integers alone make no quantised model.
model "$(field 1 "$(node Add 'x x' y)")" "$(field 11 "$(value x 2 2 3)")" \
  "$(field 12 "$(value y 2 2 3)")" >bytes.onnx
case_of bytes bytes.onnx "$in" "$out"
for name in input output; do
  tensor "$([[ $name == input ]] && echo x || echo y)" 2 '2 3' '\x01\x02\x03\x04\x05\x06' \
    >suite/bytes/test_data_set_0/${name}_0.pb
done
gives 'a model of bytes' '^FAIL bytes: .*: 6 of 6 elements differ.*: got 12, want 6$' \
  bash -c "'$wick' test suite/bytes || true"

refuses 'evaluator against itself' 2 'random-weights' \
  "$wick" test suite --target eval --random-weights 1

# Random weights of (x - x) w, and of (x - x) / (x - x) w.
raw=
for _ in 1 2 3 4 5 6; do raw+=$'\xcd\xcc\x8c\x3f'; done
weights=$(field 5 "$(number 1 2)$(number 1 3)$(number 2 1)$(field 8 w)$(field 9 "$raw")")
none=$(field 1 "$(node Sub 'x x' d)") nan=$(field 1 "$(node Div 'd d' e)")
telling() { # NAME NODES MESSAGE
  case_of "$1" symbolic.onnx "$in" "$out"
  model "$2$weights" "$(field 11 "$(value x 1 2 3)")" "$(field 12 "$(value y 1 2 3)")" \
    >"suite/$1/model.onnx"
  gives "$1" "^FAIL $1: .*$3 with seed 1" \
    bash -c "'$wick' test suite/$1 --random-weights 1 || true"
}
telling nothing "$none$(field 1 "$(node Mul 'd w' y)")" 'all elements of output y are equal'
telling nowhere "$none$nan$(field 1 "$(node Mul 'e w' y)")" 'output y is not finite'
# Sizes that depend on values: the line names the inputs.
gives 'values that decide sizes' '^ok +GroupQueryTotal: sizes depend on the values of tot \(' \
  "$wick" test "$onnx/GroupQueryTotal" -v
gives 'values that decide sizes, counted' \
  '^ +1  sizes depend on the values of start, limit, delta$' \
  "$wick" test $node/test_range_float_type_positive_delta
[[ $("$wick" test "$onnx/SelectedBoxes") != *'sizes depend'* ]] && good || bad 'a run finds them'
[[ $("$wick" test suite/right -v) != *'sizes depend'* ]] && good || bad 'no value decides a size'
refuses 'unwritable JUnit' 5 'nowhere/x' "$wick" test suite --junit nowhere/x
finish
