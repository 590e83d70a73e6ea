#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick quantize: what it writes runs and is close, options, and one line for every bad input.
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx
input=$("$wick" inspect net.onnx | awk '$1 == "input" { print $2 }')
shape=$("$wick" inspect net.onnx | awk '$1 == "input" { print $3 }' | tr -dc '0-9,')
shape=${shape#32} # f32[1,…

# decibel OPTIONS...: signal to noise of the outputs, rounded down; the file is q.onnx.
decibel() {
  "$wick" quantize net.onnx --random 4 -o q.onnx "$@" 2>/dev/null |
    awk '$1 == "outputs" { print int($2) }'
}
for options in '' '--per-channel' '--scheme int8' '--scheme int8 --symmetric' '--symmetric' \
  '--method minmax' '--method percentile' '--method entropy' '--bias-correction' '--equalise' \
  '--per-channel --bias-correction --method mse'; do
  got=$(decibel $options)
  ((got >= 15)) && good || bad "quantize $options: $got dB"
  check "run after $options" "$wick" run q.onnx --target eval
done

# The written file computes what the report says, wherever it runs.
check 'quantise' "$wick" quantize net.onnx --random 4 --per-channel -o q.onnx --report q.json
check 'again' "$wick" quantize net.onnx --random 4 --per-channel -o again.onnx --threads 1
check 'the same bytes' cmp q.onnx again.onnx
check 'cpu like eval' "$wick" compare q.onnx
gives 'operators' 'QuantizeLinear' "$wick" inspect q.onnx
gives 'report' '"snr_outputs_db"' cat q.json
gives 'report of layers' '"snr_alone_db"' cat q.json
gives 'table' '^size .* before, .* after' "$wick" quantize net.onnx --random 2 -o q2.onnx
gives 'all layers' '^[^ ]+ +Conv ' "$wick" quantize net.onnx --random 2 -v -o q2.onnx
(($(stat -c %s q.onnx) * 2 < $(stat -c %s net.onnx))) && good || bad 'it is no smaller'
gives 'keep an operator' 'Add|Conv .*float: --keep-float' \
  "$wick" quantize net.onnx --random 2 -v --keep-float conv -o q2.onnx
check 'a recurrent network' "$wick" zoo lstm -o lstm.onnx
gives 'the product of all steps with its weights' '^encoder/lstm +MatMul' \
  "$wick" quantize lstm.onnx --random 2 -v -o q4.onnx
check 'cpu like eval, with a loop' "$wick" compare q4.onnx
check 'a recurrent layer stays whole' \
  "$wick" quantize lstm.onnx --random 2 --keep-float lstm -o q5.onnx
gives 'as an operator' 'LSTM' "$wick" inspect q5.onnx
gives 'a bound' '^outputs +([3-9][0-9]|1[0-9][0-9])' \
  "$wick" quantize net.onnx --random 2 --per-channel --target-drop 30dB -o q2.onnx

# A bound above what all layers quantised give: the fewest layers that meet it stay in float.
snr() { sed -nE 's/^outputs +([0-9]+)\..*/\1/p'; }
plain=$("$wick" quantize net.onnx --random 2 -o q2.onnx | snr)
want=$((plain + 2))
bounded=$("$wick" quantize net.onnx --random 2 --target-drop ${want}dB -o q2.onnx)
kept=$(sed -nE 's/^kept in float +([0-9]+) .*/\1/p' <<<"$bounded")
((kept >= 1 && kept <= 6 && $(snr <<<"$bounded") >= want)) && good ||
  bad "a bound of $want dB, without it $plain dB: $bounded"
refuses 'a bound that nothing meets' 1 'no layer can be quantised within the 150.0 dB' \
  "$wick" quantize net.onnx --random 2 --target-drop 150dB -o q3.onnx

# More layers than are looked at in one run: all swap two numbers, so that all lose the same.
many() {
  local i from=x
  echo 'ir_version: 8 graph { name: "many"'
  for ((i = 0; i < 250; i++)); do
    echo "node { op_type: \"MatMul\" name: \"n$i\" input: \"$from\" input: \"w\" output: \"h$i\" }"
    from=h$i
  done
  echo 'initializer { name: "w" data_type: 1 dims: 2 dims: 2 float_data: [0, 1, 1, 0] }'
  local type='elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } }'
  echo "input { name: \"x\" type { tensor_type { $type } } }"
  echo "output { name: \"h249\" type { tensor_type { $type } } } } opset_import { version: 13 }"
}
many >many.textproto
"$wick" quantize many.textproto --random 2 --method percentile --percentile 100 -v -o q2.onnx >lines
awk '/^n[0-9]+ +MatMul/ { print $3, $4 }' lines | sort | uniq -c >alike
[[ $(wc -l <alike) == 1 && $(awk '{ print $1 }' alike) == 255 ]] && good ||
  bad "many layers: $(head -5 alike)"

# Calibration data: files, folders, folders of samples, several rows.
mkdir -p cal sets/test_data_set_0 empty
npy cal/a.npy '<f4' "$shape"
npy cal/b.npy '<f4' "$shape"
cp cal/a.npy "sets/test_data_set_0/$input.npy"
gives 'a file' '^calibration +1 sample' "$wick" quantize net.onnx --calibration cal/a.npy -o q2.onnx
gives 'files' '^calibration +2 samples' "$wick" quantize net.onnx cal/a.npy cal/b.npy -o q2.onnx
gives 'a folder' '^calibration +2 samples' "$wick" quantize net.onnx --calibration cal -o q2.onnx
gives 'sets' '^calibration +1 sample' "$wick" quantize net.onnx --calibration sets -o q2.onnx
npy many.npy '<f4' "3,${shape#1,}"
gives 'rows' '^calibration +3 samples' "$wick" quantize net.onnx --calibration many.npy -o q2.onnx
gives 'both' '^calibration +5 samples' \
  "$wick" quantize net.onnx --calibration many.npy --random 2 -o q2.onnx

quantize() { "$wick" quantize net.onnx -o out.onnx "$@"; }
npy wrong.npy '<f4' 1,2,3
npy double.npy '<f8' "$shape"
npy nan.npy '<f4' "$shape"
printf '\x00\x00\xc0\x7f' | dd of=nan.npy bs=1 seek=128 conv=notrunc status=none
refuses 'wrong shape' 3 'wrong.npy: input .* is f32.* but the calibration file has f32\[1,2,3\]' \
  quantize --calibration wrong.npy
refuses 'wrong type' 3 'double.npy: input .* is f32.* but the calibration file has f64' \
  quantize --calibration double.npy
refuses 'NaN' 3 'nan.npy: element 0 .* is NaN' quantize --calibration nan.npy
refuses 'an empty folder' 3 'empty: this calibration folder has no .npy and no input_K.pb' \
  quantize --calibration empty
refuses 'no folder' 5 'nowhere: cannot read' quantize --calibration nowhere
refuses 'no data' 2 'no calibration data' quantize
refuses 'no output' 2 'no output file' "$wick" quantize net.onnx --random 1
refuses 'no samples' 2 'random' quantize --random 0
refuses 'unknown node' 2 "no node or operator 'Conw'; did you mean 'Conv'" \
  quantize --random 1 --keep-float Conw
refuses 'unknown method' 2 "did you mean 'minmax'" quantize --random 1 --method minmac
refuses 'a bound that is none' 2 'target-drop' quantize --random 1 --target-drop 3
refuses 'percentile' 2 'from 50 to 100' quantize --random 1 --percentile 3
refuses 'already quantised' 3 'already quantised' "$wick" quantize q.onnx --random 1 -o out.onnx
refuses 'nothing to quantise' 4 'nothing to quantise' "$wick" quantize relu.onnx --random 1 \
  -o out.onnx
refuses 'kept in float, but nowhere' 2 "has no node or operator 'Xyzzyplugh' to quantise" \
  quantize --random 1 --keep-float Xyzzyplugh
refuses 'nothing left' 4 'nothing to quantise' quantize --random 1 --keep-float Conv,MatMul
refuses 'open shapes' 2 'bind' "$wick" quantize symbolic.onnx --random 1 -o out.onnx
refuses 'a folder that is none' 5 'none/out.onnx' "$wick" quantize net.onnx --random 1 \
  -o none/out.onnx
finish
