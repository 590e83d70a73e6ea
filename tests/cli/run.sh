#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick run and wick compare.
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx
check 'a package' "$wick" compile net.onnx -q
output=$("$wick" inspect net.onnx | awk '$1 == "output" { print $2 }')

for what in 'net.onnx' 'net.onnx --target eval' 'net.wick' 'net.wick --threads 2'; do
  gives "run $what" "^$output f32\[.* min .* max .* mean " "$wick" run $what
done
gives 'class scores' '^  top [0-9]+ \(' "$wick" run net.wick
gives 'time' '^time min .* of 3 runs' "$wick" run net.wick --repeat 3
for what in net.onnx net.wick; do
  gives "start of $what" '^start [0-9.]+ [mu]?s: load [0-9.]+ [mu]?s, session [0-9.]+ [mu]?s$' \
    "$wick" run $what -v
done
(($("$wick" run net.onnx --target eval -v 2>/dev/null | grep -c '^start'))) &&
  bad 'the evaluator loads no package' || good
gives 'profile' ' conv ' "$wick" run net.wick --profile
gives 'profile, by operator' '^ *[0-9.]+ +[0-9.]+ +[0-9.]+ +conv +all$' \
  "$wick" run net.wick --profile
check 'trace' "$wick" run net.wick --repeat 3 --trace trace.json
slices() { python3 -c "
import json, sys
for e in json.load(open(sys.argv[1]))['traceEvents']:
    if e['ph'] == 'M' and e['name'] == 'thread_name':
        print('track', e['args']['name'])
    if e['ph'] == 'X':
        print(e['name'], e.get('cat', '-'), e['ts'] >= 0 and e['dur'] >= 0)" "$1"; }
gives 'runs of a trace' '^run 3 - True$' slices trace.json
gives 'instructions of a trace' ' conv True$' slices trace.json
gives 'the device of a trace' '^track cpu$' slices trace.json
(($(slices trace.json | grep -c ' conv True$') % 3 == 0)) && good || bad 'a run has other slices'
check 'trace of the evaluator' "$wick" run net.onnx --target eval --trace eval.json
gives 'its nodes' '^[^ ].* conv True$' slices eval.json
refuses 'a trace over the model' 2 '--trace would overwrite the model' \
  "$wick" run net.wick --trace net.wick
gives 'profile of the evaluator' ' conv ' "$wick" run net.onnx --profile --target eval
[[ $("$wick" run net.wick --random 1 2>&1) != $("$wick" run net.wick --random 2 2>&1) ]] &&
  good || bad 'the seed changes nothing'

# Results do not depend on the number of threads, and outputs can be inputs.
for n in 1 2 3; do check "$n threads" "$wick" run net.wick --threads $n --output-dir t$n; done
check '2 threads give the same' cmp "t1/$output.npy" "t2/$output.npy"
check '3 threads give the same' cmp "t1/$output.npy" "t3/$output.npy"
npy x.npy '<f4' 2,3
check 'relu' "$wick" run relu.onnx -i x=x.npy --output-dir relu
check 'relu of zeros' cmp <(tail -c 24 relu/y.npy) <(head -c 24 /dev/zero)
gives 'its result is an input' '^y f32\[2,3\]' "$wick" run relu.onnx -i relu/y.npy
gives 'a file binds dimensions' '^y f32\[2,3\]' "$wick" run symbolic.onnx -i x.npy

# What is printed of an output: NaNs are counted apart.
model "$(field 1 "$(node Neg x y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >neg.onnx
nan='\0\0\xc0\x7f'
with_values() { head -c -24 x.npy && printf "$1"; }
with_values "\0\0\x80\x3f\0\0\0\x40$nan\0\0\xc0\x40$nan\0\0\xa0\xc0" >some.npy
with_values "$nan$nan$nan$nan$nan$nan" >none.npy
gives 'a summary' '^y f32\[2,3\] min -6 max 5 mean -1 NaN 2$' "$wick" run neg.onnx -i some.npy
gives 'a summary of NaNs' '^y f32\[2,3\] NaN 6$' "$wick" run neg.onnx -i none.npy
model "$(field 1 "$(node Neg s y)")" "$(field 11 "$(value s 1 1 12)")" \
  "$(field 12 "$(value y 1 1 12)")" >scores.onnx
npy scores.npy '<f4' 1,12
gives 'the best of scores' '^  top 0 \(-?0\), 1 ' "$wick" run scores.onnx -i scores.npy
(head -c -48 scores.npy && for ((i = 0; i < 12; i++)); do printf "$nan"; done) >no_scores.npy
gives 'no best of NaNs' '^time [^ ]+ [^ ]+ y f32\[1,12\] NaN 12$' \
  bash -c "'$wick' run scores.onnx -i no_scores.npy | xargs"
gives 'a summary without' '^y f32\[2,3\] min -?0 max -?0 mean -?0$' \
  "$wick" run neg.onnx -i x.npy

# A fault names the node, in models and packages, with and without a profile; the evaluator, too.
nodes=$(field 1 "$(node Relu x r)")$(field 1 "$(node Gather 'r i' g)")$(field 1 "$(node Neg g y)")
model "$nodes" \
  "$(field 11 "$(value x 1 5 3)")$(field 11 "$(value i 7 2)")" \
  "$(field 12 "$(value y 1 2 3)")" >gather.onnx
check 'a package of it' "$wick" compile gather.onnx -q
npy i.npy '<i8' 2
(head -c -16 i.npy && printf '\3\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0') >far.npy
for what in gather.onnx gather.wick 'gather.onnx --threads 2' 'gather.wick --profile'; do
  gives "indices within, $what" '^y f32\[2,3\]' "$wick" run $what -i i=i.npy
  refuses "an index beyond, $what" 3 \
    'cannot handle: the_g \(gather, step 1 of 3\): index 7 is outside axis 0 of size 5$' \
    "$wick" run $what -i i=far.npy
done
explained() { # what is said of the model comes first: it may say why
  out=$("$wick" run gather.onnx --target accel:tiny -i i=far.npy 2>&1 >/dev/null) && return 1
  [[ $out == *'is a float model'*$'\n'*'index 7 is outside axis 0 of size 5' ]]
}
check 'an index beyond, with a note' explained
refuses 'an index beyond, evaluated' 3 'the_g: index 7 is outside axis 0 of size 5$' \
  "$wick" run gather.onnx --target eval -i i=far.npy

# No positions: what an empty input holds need not be known.
model "$(field 1 "$(node NonZero x y)")" "$(field 11 "$(value x 1 n 4)")" \
  "$(field 12 "$(value y 7 2 n)")" >nonzero.onnx
gives 'positions in nothing' '^y i64\[2,0\]$' "$wick" run nonzero.onnx --shape x=0x4

# Tensors without elements, from files and to files, on every target.
model "$(field 1 "$(node Softmax x y)")" "$(field 11 "$(value x 1 4 n)")" \
  "$(field 12 "$(value y 1 4 n)")" >soft.onnx
npy empty.npy '<f4' 4,0
for target in eval cpu accel:tiny opencl; do
  [[ $target != opencl ]] || has_device opencl: || continue
  rm -rf empties
  gives "no elements, $target" '^y f32\[4,0\]$' \
    "$wick" run soft.onnx -i empty.npy --target $target --output-dir empties
  gives "no elements in the file, $target" '^y f32\[4,0\]$' "$wick" run soft.onnx -i empties/y.npy
done

# Every output has a file of its own, whatever its name: two.onnx has outputs that differ in
# characters that no file name can have, others in letters that are not ASCII.
names=('out:1' 'out/1' 'out_1' $'\xc3\xa4' $'\xc3\xb6' '.' '..' 'a b' 'a%20b' '~1')
nodes='' outputs='' i=0
for name in "${names[@]}"; do
  nodes+=$(field 1 "$(field 1 x; field 2 "$name"; field 3 the_$((i++)); field 4 Relu)")
  outputs+=$(field 12 "$(value "$name" 1 2 3)")
done
long=$(printf 'n%.0s' {1..300})
for name in "${long}1" "${long}2"; do
  nodes+=$(field 1 "$(node Relu x "$name")") outputs+=$(field 12 "$(value "$name" 1 2 3)")
done
model "$nodes" "$(field 11 "$(value x 1 2 3)")" "$outputs" >names.onnx
for how in '--output-dir' '--target eval --output-dir' '--dump-tensors' \
  '--target eval --dump-tensors'; do
  rm -rf named && check "names, $how" "$wick" run names.onnx -i x.npy $how named
  [[ $(ls named | wc -l) == 12 ]] && good || bad "$how: 12 outputs in files $(ls named)"
  [[ -f named/out%3A1.npy && -f named/out%2F1.npy && -f named/out_1.npy && -f named/%2E.npy ]] &&
    good || bad "$how: files are called $(ls named)"
done
model "$(field 1 "$(node MatMul 'a:1 b' y)")" \
  "$(field 11 "$(value a:1 1 2 3)")$(field 11 "$(value b 1 3 2)")" \
  "$(field 12 "$(value y 1 2 2)")" >product.onnx
mkdir cal && cp x.npy cal/a%3A1.npy && npy cal/b.npy '<f4' 3,2
gives 'calibration files are called so too' '^calibration +1 sample' \
  "$wick" quantize product.onnx --calibration cal -o q.onnx

check 'dump, evaluator' "$wick" run net.onnx --target eval --dump-tensors eval
check 'dump, compiled' "$wick" run net.onnx --dump-tensors cpu
(($(ls eval | wc -l) > $(ls cpu | wc -l) && $(ls cpu | wc -l) > 5)) && good || bad 'dumps are short'
[[ -f eval/$output.npy && -f cpu/$output.npy ]] && good || bad 'the output is not dumped'
check 'dump, package' "$wick" run net.wick --dump-tensors package
check 'has the same tensors' diff -r cpu package
refuses 'bind of a package' 2 'is a compiled package' "$wick" run net.wick --bind n=1

refuses 'a file is no folder' 5 '^wick: x.npy: is not a folder$' \
  bash -c "'$wick' run relu.onnx --output-dir x.npy >/dev/null || exit"
refuses 'nor is it one for a dump' 5 '^wick: x.npy: is not a folder$' \
  "$wick" run relu.onnx --dump-tensors x.npy

gives 'compare layers' '^all [0-9]+ instructions agree' "$wick" compare net.onnx
gives 'compare passes' '^the result is the same after all' "$wick" compare net.onnx --passes
gives 'every layer' '^ok .* conv\)' "$wick" compare net.onnx -v
cnn=$wanted/../../nets/int8/cnn_qdq/model.onnx
check 'a package of parts' "$wick" compile "$cnn" --target accel:tiny,cpu:x86-64 -q -o parts.wick
check 'trace of parts' "$wick" run parts.wick --trace parts.json
gives 'both devices' '^track accel' slices parts.json
gives 'parts' '^all 3 parts agree \(on the host 3 instructions, each alone\)$' \
  "$wick" compare "$cnn" --target accel:tiny,cpu:x86-64
gives 'their steps' '^all [0-9]+ steps agree \([0-9]+ others leave no tensor of the model' \
  "$wick" compare "$cnn" --package parts.wick
out=$("$wick" compare net.onnx --rtol 0 --atol 0 2>/dev/null)
[[ $? == 1 ]] && grep -q '^first ' <<<"$out" && good || bad 'no rounding differs at tolerance 0'
out=$("$wick" compare net.onnx --passes --rtol 0 --atol 0 2>/dev/null)
[[ $? == 1 ]] && grep -q 'changes the result: output' <<<"$out" && good ||
  bad 'no pass rounds at tolerance 0'
finish
