#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `wick test` says, whole, of cases with several inputs, outputs and sets of which one is not
# as it should be; and where its tolerances end.
onnx=$(realpath "$(dirname "$0")/../onnx")
source "$(dirname "$0")/lib.bash" "$@"

# tensor FILE NAME TYPE "DIM..." BYTES: a TensorProto with raw data (printf escapes).
tensor() {
  local d
  {
    for d in $4; do number 1 "$d"; done
    number 2 "$3"
    field 8 "$2"
    byte $((9 * 8 + 2))
    byte "$(printf '%b' "$5" | wc -c)"
    printf '%b' "$5"
  } >"$1"
}
one='\x00\x00\x80\x3f' two='\x00\x00\x00\x40' three='\x00\x00\x40\x40'
f32=1
# s = a + b, p = a b; of a = (1, 2) and b = (2, 1) or, in set 10, b = (1, 1).
model "$(field 1 "$(node Add 'a b' s)")$(field 1 "$(node Mul 'a b' p)")" \
  "$(field 11 "$(value a $f32 2)")$(field 11 "$(value b $f32 2)")" \
  "$(field 12 "$(value s $f32 2)")$(field 12 "$(value p $f32 2)")" >both.onnx
good_case() {
  local dir=suite/$1 set
  mkdir -p "$dir"/test_data_set_{0,2,10}
  cp both.onnx "$dir/model.onnx"
  for set in 0 2 10; do
    tensor "$dir/test_data_set_$set/input_0.pb" a $f32 2 "$one$two"
    tensor "$dir/test_data_set_$set/input_1.pb" b $f32 2 "$two$one"
    tensor "$dir/test_data_set_$set/output_0.pb" s $f32 2 "$three$three"
    tensor "$dir/test_data_set_$set/output_1.pb" p $f32 2 "$two$two"
  done
  tensor "$dir/test_data_set_10/input_1.pb" b $f32 2 "$one$one"
  tensor "$dir/test_data_set_10/output_0.pb" s $f32 2 "$two$three"
  tensor "$dir/test_data_set_10/output_1.pb" p $f32 2 "$one$two"
}
# broken NAME COMMAND...: a case that a command, in its folder, has changed.
broken() {
  good_case "$1"
  (cd "suite/$1" && "${@:2}")
}
last=test_data_set_10
good_case good
broken a_last_set tensor $last/output_0.pb s $f32 2 "$three$three"
broken a_second_output tensor test_data_set_2/output_1.pb p $f32 2 "$two$three"
broken both_outputs eval "tensor $last/output_0.pb s $f32 2 '$one$one'
  tensor $last/output_1.pb p $f32 2 '$three$three'"
broken gone_input rm $last/input_1.pb
broken gone_output rm $last/output_1.pb
broken gone_outputs rm $last/output_0.pb $last/output_1.pb
broken gone_all rm -r $last
broken no_sets rm -r $last test_data_set_0 test_data_set_2
broken no_model rm model.onnx
broken more_inputs cp $last/input_1.pb $last/input_2.pb
broken more_outputs cp $last/output_1.pb $last/output_2.pb
broken a_gap mv $last/input_1.pb $last/input_3.pb
broken other_names eval "mkdir test_data_set_x test_data_set_ other
  touch $last/input_x.pb $last/input_.pb $last/output_01.pb"
broken leading_zero mv test_data_set_2 test_data_set_02
broken garbage eval "printf garbage >$last/input_1.pb"
broken empty_file eval ": >$last/input_1.pb"
broken short tensor $last/input_1.pb b $f32 2 "$one"
broken long tensor $last/output_1.pb p $f32 2 "$one$one$one"
broken other_type tensor $last/input_1.pb b 7 2 "$one$one$one$one"
broken other_output_type tensor $last/output_1.pb p 7 2 "$one$one$one$one"
broken other_shape tensor $last/input_1.pb b $f32 1 "$one"
broken other_output_shape tensor $last/output_1.pb p $f32 '1 2' "$one$two"
broken swapped_names eval "tensor $last/input_0.pb b $f32 2 '$one$one'
  tensor $last/input_1.pb a $f32 2 '$one$two'"
broken unknown_name tensor $last/input_1.pb z $f32 2 "$one$one"
broken a_folder eval "rm $last/input_1.pb && mkdir $last/input_1.pb"

verdicts() { # without times
  "$wick" test suite -v --junit suite.xml "$@" | sed -E 's/ \([0-9.]+ [a-z]+\)$//'
}
prints tests-cases verdicts --cpu x86-64
for how in '--target eval' '--target eval -j0' '--cpu x86-64 -j3'; do
  diff "$wanted/tests-cases.txt" <(verdicts $how) && good || bad "other verdicts with $how"
done
counted() {
  echo "$(grep -c '<testcase' suite.xml) cases, $(grep -c '<failure' suite.xml) failures," \
    "$(grep -c '<skipped' suite.xml) skipped"
  head -3 suite.xml | sed -E 's/time="[0-9.]+"/time=""/'
}
prints tests-junit counted

# Whether 1 and 2 are near enough to 1 and 3, for both parts of the tolerance.
mkdir -p near && good_case ../near/case && rm -r near/case/test_data_set_{2,10}
tensor near/case/test_data_set_0/output_0.pb s $f32 2 "$three$two" # 3 where 2 is wanted
tolerances() {
  local r a
  for r in 0 0.25 0.4999 0.5 0.6; do
    for a in 0 0.5 0.9999 1 1.5; do
      printf '%s * 2 + %s: %s\n' "$r" "$a" \
        "$("$wick" test near --target eval -j0 --rtol $r --atol $a | tail -1)"
    done
  done
  "$wick" test near --target eval -j0 --rtol 0.5 | tail -1 # atol is 1e-5 of the largest
  "$wick" test near --target eval -j0 --rtol 0.49998 | tail -1
  "$wick" test near --target eval -j0 --atol 1 | tail -1
  "$wick" test near --target eval -j0 --atol 0.998 | tail -1 # and 0.001 * 2
  "$wick" test near --target eval -j0 --atol 0.997 | tail -1
}
prints tests-tolerances tolerances

# And where nothing is said: 1e-3 of what is wanted, which 3 is just within, or just without.
for bytes in '\x20\xd2\x3f\x40' '\x4b\xc8\x3f\x40'; do
  rm -rf near && mkdir -p near && good_case ../near/case && rm -r near/case/test_data_set_{2,10}
  tensor near/case/test_data_set_0/output_0.pb s $f32 2 "$bytes$three"
  "$wick" test near --target eval -j0 | tail -1
done >near.txt
prints tests-near cat near.txt

# In steps of 0.747: 1 and 1 become one each; what is wanted is 1, 2, 3, 4, 5, 9 and 10 of them.
for name in q d; do [[ $name == q ]] && op=Quantize || op=Dequantize
  printf '%s' "$(field 1 "$(node ${op}Linear "$([[ $name == q ]] && echo x || echo q) s" \
    "$([[ $name == q ]] && echo q || echo y)")")"
done >nodes
model "$(cat nodes)$(field 5 "$(number 2 1; field 8 s; field 9 '????')")" \
  "$(field 11 "$(value x $f32 2)")" "$(field 12 "$(value y $f32 2)")" >rounds.onnx
mkdir -p rounds/test_data_set_0 && cp rounds.onnx rounds/model.onnx
tensor rounds/test_data_set_0/input_0.pb x $f32 2 "$one$one"
steps() {
  local how first second
  while read -r first second how; do
    tensor rounds/test_data_set_0/output_0.pb y $f32 2 "$first$second"
    printf '%s %s %s: %s\n' "$first" "$second" "$how" \
      "$("$wick" test rounds --target eval -j0 $how | sed 's/ (each fed.*//' | tr '\n' ' ')"
  done <<'END'
\x3f\x3f\x3f\x3f \x3f\x3f\x3f\x3f --max-steps 0 --mean-steps 0
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --max-steps 1 --mean-steps 0.5
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --max-steps 0.9 --mean-steps 0.5
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --max-steps 1 --mean-steps 0.4
\x3f\x3f\xbf\x3f \x3f\x3f\xbf\x3f --max-steps 1 --mean-steps 0.9
\x3f\x3f\xbf\x3f \x3f\x3f\xbf\x3f --max-steps 1 --mean-steps 1
\x3f\x3f\x3f\x3f \x3f\x3f\x3f\x40
\x3f\x3f\xbf\x3f \x3f\x3f\x3f\x40
\x3f\x3f\x3f\x3f \x2f\x2f\x6f\x40
\x3f\x3f\x3f\x3f \x27\x27\xd7\x40 --mean-steps 4
\x3f\x3f\x3f\x3f \x87\x87\xef\x40 --mean-steps 5
\x3f\x3f\x3f\x3f \x87\x87\xef\x40 --mean-steps 4
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --rtol 0
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --rtol 0.6
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --atol 0.6
\x3f\x3f\x3f\x3f \x3f\x3f\xbf\x3f --atol 0.75
END
}
prints tests-steps steps

counts() {
  local how
  while read -r how; do
    printf '%s: ' "$how"
    "$wick" test $how --target eval 2>&1 | tail -2 | tr '\n' ' '
    echo "${PIPESTATUS[0]}"
  done <<'END'
suite/good suite/no_sets
suite/good suite/no_sets --max-skipped 1
suite/good suite/no_sets --max-skipped 0
suite/no_sets
suite/good suite/no_sets suite/no_sets --max-skipped 1
suite/good suite/good
suite --filter g*
suite --filter go[no]*
suite suite/good --filter good
suite/good/ --filter good
suite/good/test_data_set_0
suite/none
END
}
prints tests-counts counts
finish
