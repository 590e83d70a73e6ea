#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train and wick grad, given what is not theirs: one line that says where and what to do.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

fitted plain.onnx "$(field 1 "$(node Identity h y)")"
ramp x.npy '<i4' 40,4 160 251
ramp classes.npy '<i8' 40 40 3
npy three.npy '<f4' 40,3
train() { "$wick" train "$1" --epochs 1 --batch 8 -o o.onnx "${@:2}"; }
plain() { train plain.onnx --data x.npy "$@"; }
mse=(--labels three.npy --loss mse)

# ---- labels --------------------------------------------------------------------------------------
npy float.npy '<f4' 40
npy text.npy '|S4' 40
refuses 'labels as floats' 3 'float.npy: holds f32, where classes are wanted: integers, 0\.\.2' \
  plain --labels float.npy --loss cross-entropy
for type in '<f4' '<i8'; do
  npy hot.npy "$type" 40,3
  refuses "a 1 for the class, $type" 3 \
    'hot.npy: has 3 numbers where one class is wanted, 0..2: .* give the positions \(argmax\)' \
    plain --labels hot.npy --loss cross-entropy
done
refuses 'labels as text' 4 'text.npy: has elements of type .* not supported: numbers and' \
  plain --labels text.npy --loss cross-entropy
npy column.npy '<i8' 40,1
check 'classes in a column' plain --labels column.npy --loss cross-entropy

# ---- samples -------------------------------------------------------------------------------------
# What f64 holds and f32 does not: 1.4e306.
npy big.npy '<f8' 40,4
printf '\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f' |
  dd of=big.npy bs=1 seek=$(($(stat -c %s big.npy) - 8)) conv=notrunc status=none
refuses 'too large' 3 'big.npy: sample 39, element \[3\]: [0-9.e+]+ does not fit into f32' \
  train plain.onnx --data big.npy "${mse[@]}"
printf 'PK\x03\x04 and so on' >x.npz
refuses 'an archive' 3 'x.npz: is not a .npy file, but a ZIP archive' \
  train plain.onnx --data x.npz "${mse[@]}"
refuses 'no name' 2 '^wick: --data: the file name is empty' train plain.onnx --data '' "${mse[@]}"
mkdir -p sets/test_data_set_0
refuses 'a folder without samples' 2 'no samples for the input x, nor in sets: give --data x=FILE' \
  train plain.onnx --data sets "${mse[@]}"
refuses 'none held out' 2 'validate 0.001: that is none of 40 samples' plain "${mse[@]}" \
  --validate 0.001
for part in 1 1.5 -0.1; do
  refuses "$part held out" 2 "^wick: --validate $part: must be a part of the samples, 0 to bel" \
    plain "${mse[@]}" --validate="$part"
done
refuses 'no step' 2 '32 .* do not fill a step of 48: give more, or a smaller --batch or --acc' \
  plain "${mse[@]}" --validate 0.2 --accumulate 6

# ---- the batch -----------------------------------------------------------------------------------
unbatched() { "$wick" train plain.onnx --data x.npy "${mse[@]}" --epochs 1 -o o.onnx "$@"; }
gives 'a batch by its symbol' '^multiply-accumulates +168 for each batch of 7$' \
  unbatched --bind n=7
refuses 'two batches' 2 '^wick: --batch 8: --bind says batches of 7 for the input x' \
  plain "${mse[@]}" --bind n=7
for how in '--shape x=0x4' '--bind n=0'; do
  refuses "batches of 0 by $how" 2 "^wick: ${how%% *} says batches of 0 for the input x" \
    unbatched $how
done

# What is held out is whole batches, or less than one where the loss has a number for each sample.
fitted mean.onnx "$(field 1 "$(node ReduceMean h y)")"
mean() { train mean.onnx --data x.npy --loss y --history mean.csv --validate "$@"; }
gives 'one batch held out' '^samples +40, 8 of them held out$' mean 0.2
gives 'two, of which the second is not whole' '^samples +40, 15 of them held out$' mean 0.375
check 'the loss of the whole ones is known' \
  awk -F, 'NR == 2 { exit !($5 + 0 > 0) }' mean.csv
for n in 1 7; do
  refuses "$n held out" 2 "$n samples fill no batch of 8, for which the loss 'y' is one number$" \
    mean "$(awk "BEGIN { print $n / 40 }")"
  for loss in '--labels three.npy --loss mse' '--labels classes.npy --loss cross-entropy'; do
    gives "$n held out, $loss" "^samples +40, $n of them held out\$" \
      plain $loss --validate "$(awk "BEGIN { print $n / 40 }")"
  done
done
rm -f o.onnx mean.csv

# ---- inputs and outputs --------------------------------------------------------------------------
fitted shifted.onnx "$(field 1 "$(node Add 'h s' y)")" "$(field 11 "$(value s 1 1)")"
npy one.npy '<f4' 1
npy most.npy '<f4' 40
check 'an input without samples' "$wick" train shifted.onnx --data x.npy --value s=one.npy \
  "${mse[@]}" --epochs 1 -o o.onnx
shifted=(train shifted.onnx --data x.npy "${mse[@]}" --steps 3 -o o.onnx --checkpoint shifted)
check 'with a checkpoint' "$wick" "${shifted[@]}" --value s=one.npy
cp one.npy another.npy && flip another.npy $(($(stat -c %s one.npy) - 1))
rm -f o.onnx
refuses 'resumed with another value' 2 \
  "of another run: there it was 'value s: f32\[1\] [0-9a-f]{16}', here it is 'value s: f32\[1\] " \
  "$wick" "${shifted[@]}" --value s=another.npy --resume
check 'with the same in another file' cp one.npy same.npy
check 'resumed' "$wick" "${shifted[@]}" --value s=same.npy --resume
rm -rf o.onnx shifted
refuses 'a value and samples' 2 "--data s=most.npy: the input 's' takes no samples, it has a" \
  train shifted.onnx --data x.npy --value s=one.npy --data s=most.npy "${mse[@]}"
refuses 'one input too many' 2 "--data q=most.npy: there is no input 'q'" \
  plain --data q=most.npy "${mse[@]}"
refuses 'over its value' 2 'one.npy: --history would overwrite the file of --value' \
  train shifted.onnx --data x.npy --value s=one.npy "${mse[@]}" --history one.npy
of_w() { # of_w FILE NODES OUTPUTS
  model "$(field 1 "$(node MatMul 'x w' h)")$2$(weight w 4 3)" "$(field 11 "$(value x 1 n 4)")" \
    "$3" >"$1"
}
of_w two.onnx "$(field 1 "$(node Relu h y)")" \
  "$(field 12 "$(value h 1 n 3)")$(field 12 "$(value y 1 n 3)")"
refuses 'two outputs' 2 'say with --of which one the loss is of: h, y$' \
  train two.onnx --data x.npy "${mse[@]}"
refuses 'no such output' 2 '--of z: the model has no such output; it has h, y$' \
  train two.onnx --data x.npy "${mse[@]}" --of z
of_w integers.onnx "$(field 1 "$(node ArgMax h y)")" "$(field 12 "$(value y 7 1 3)")"
for loss in mse y; do
  refuses "a loss of integers, $loss" 2 "integers.onnx: the output 'y' is of i64: a loss, and" \
    train integers.onnx --data x.npy --loss $loss $([[ $loss == mse ]] && echo --labels three.npy)
done
model "$(field 1 "$(node SequenceConstruct x y)")" "$(field 11 "$(value x 1 n 4)")" "$(
  field 12 "$(field 1 y)$(field 2 "$(field 4 "$(field 1 "$(field 1 "$(number 1 1)")")")")")" \
  >list.onnx
refuses 'a list of tensors' 4 "list.onnx: the output 'y' is a list of tensors" \
  train list.onnx --data x.npy "${mse[@]}"
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 n 4)")" '' >none.onnx
refuses 'no output' 3 'none.onnx: the model has no outputs' \
  train none.onnx --data x.npy "${mse[@]}"
fitted soft.onnx "$(field 1 "$(node Softmax h y)")"
train soft.onnx --data x.npy --labels classes.npy --loss cross-entropy >/dev/null 2>note
grep -q "the output 'y' is that of a softmax, and cross-entropy wants scores before" note && good ||
  bad "a softmax before cross-entropy: $(cat note)"
rm -f o.onnx

# ---- weights -------------------------------------------------------------------------------------
fitted round.onnx "$(field 1 "$(node Round h y)")"
refuses 'no gradient' 4 "between the weights and the loss is the round 'the_y', whose derivative" \
  train round.onnx --data x.npy "${mse[@]}"
quantised() {
  local ones scale nodes
  ones=$(field 5 "$(number 1 4)$(number 1 3)$(number 2 3)$(field 8 q)$(
    field 9 $'\1\1\1\1\1\1\1\1\1\1\1\1')")
  scale=$(field 5 "$(number 2 1)$(field 8 s)$(field 9 $'\xcd\xcc\x8c\x3f')")
  nodes=$(field 1 "$(node DequantizeLinear 'q s' w)")$(field 1 "$(node MatMul 'x w' y)")
  model "$nodes$ones$scale" "$(field 11 "$(value x 1 n 4)")" "$(field 12 "$(value y 1 n 3)")"
}
quantised >quantised.onnx
refuses 'quantised weights' 4 'nothing to train: .*--qat trains' \
  train quantised.onnx --data x.npy "${mse[@]}"

# ---- wick grad -----------------------------------------------------------------------------------
grad() { "$wick" grad plain.onnx --bind n=2 "$@"; }
cp plain.onnx before.onnx
refuses 'over the model' 2 'plain.onnx: --output would overwrite the model' \
  grad --emit onnx -o plain.onnx
refuses 'over an input' 2 'x.npy: --output would overwrite the file of --input' \
  grad --emit onnx -i x=x.npy -o x.npy
check 'the model is there' cmp plain.onnx before.onnx
refuses 'a summary to a file' 2 'output f: only graphs are written there: give --emit' grad -o f
refuses 'a proof to a file' 2 'output f: only graphs are written there' grad --check -o f
refuses 'no output' 3 'none.onnx: the model has no outputs' "$wick" grad none.onnx
sed 's/\xcd\xcc\x8c\x3f/\xff\xff\xff\x7f/g' plain.onnx >nan.onnx
refuses 'a proof of nothing' 1 'nan.onnx: none of 16 elements can be compared: the outputs are no' \
  "$wick" grad nan.onnx --bind n=2 --check
model "$(field 1 "$(node Not x y)")" "$(field 11 "$(value x 9 2 4)")" "$(field 12 "$(
  value y 9 2 4)")" >bool.onnx
refuses 'no floats' 3 'bool.onnx: no output is of floats' "$wick" grad bool.onnx

# ---- options -------------------------------------------------------------------------------------
refuses 'a budget that is no size' 2 '^wick: --memory-budget many: a size is expected: 64MiB, ' \
  plain "${mse[@]}" --memory-budget many
refuses 'to go on from nowhere' 2 '^wick: --resume: give the folder with --checkpoint DIR$' \
  plain "${mse[@]}" --resume
refuses 'all held out' 2 '^wick: --validate 1: must be a part of the samples, 0 to below 1$' \
  plain "${mse[@]}" --validate 1
refuses 'a negative decay' 2 '^wick: --weight-decay -0.5: must not be negative$' \
  plain "${mse[@]}" --weight-decay=-0.5
refuses 'a negative norm' 2 '^wick: --clip-norm -2: must not be negative$' \
  plain "${mse[@]}" --clip-norm=-2
refuses 'a checkpoint that cannot be' 5 '^wick: /proc/none: cannot make the folder: ' \
  plain "${mse[@]}" --checkpoint /proc/none
refuses 'an output twice' 2 "^wick: --of: the output 'y' is the loss already$" \
  plain --loss y --of y
refuses 'labels of nothing' 2 '^wick: --labels: nothing reads them when an output is the loss$' \
  plain --loss y --labels three.npy

# ---- sets of samples -----------------------------------------------------------------------------
# set_of K ROWS COLUMNS: input_0.pb of set K.
set_of() {
  local raw='' i
  mkdir -p "pairs/test_data_set_$1"
  for ((i = 0; i < $2 * $3; i++)); do raw+=$'\xcd\xcc\x8c\x3f'; done
  printf '%s' "$(number 1 "$2")$(number 1 "$3")$(number 2 1)$(field 9 "$raw")" \
    >"pairs/test_data_set_$1/input_0.pb"
}
set_of 0 8 4
set_of 1 32 4
check 'sets one behind the other' train plain.onnx --data pairs "${mse[@]}"
refuses 'a file and a folder' 2 '^wick: pairs: the input x already has a file$' \
  train plain.onnx --data x.npy --data pairs "${mse[@]}"
finish
