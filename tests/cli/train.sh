#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train: what it writes, that runs repeat and resume bit for bit, and one line for every bad
# input.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"
source "$wanted/../external.bash"
examples=$wanted/../../../examples

ramp four.npy '<i4' 40,4 160 251
npy three.npy '<f4' 40,3

check 'a network' "$wick" zoo digits_cnn -o net.onnx
ramp x.npy '|u1' 96,1,8,8 6144 251
ramp y.npy '<i8' 96 96 10
common=(--data x.npy --labels y.npy --loss cross-entropy)
train() { "$wick" train net.onnx "${common[@]}" "$@"; }

# ---- what a run gives ----------------------------------------------------------------------------
gives 'a line per epoch' '^epoch 2/2: loss [0-9.]+, accuracy [0-9.]+; .* samples/s$' \
  train --epochs 2 -o out.onnx --history h.csv --plot h.html
gives 'a header' '^epoch,step,rate,loss,accuracy,held_out_loss,held_out_accuracy,' head -1 h.csv
[[ $(wc -l <h.csv) == 3 ]] && good || bad "the history has $(wc -l <h.csv) lines"
gives 'a page' '<title>epoch 2: ' cat h.html
train --epochs 2 -o steps.onnx --history-steps s.csv --plot s.html >/dev/null
check 'figures of steps change nothing' cmp out.onnx steps.onnx
gives 'steps' '^6,2,0\.001,[0-9.]+,[0-9.]+,[0-9.]+$' tail -1 s.csv
gives 'their names' '^step,epoch,rate,loss,accuracy,gradient_norm$' head -1 s.csv
gives 'a page of steps' '<title>step 6: ' cat s.html
awk -F, 'NR == FNR { if (FNR > 1) sum[$2] += $4 / 3; next }
         FNR > 1 { d = sum[$1] / $4 - 1; if (d * d > 1e-24) exit 1 }' s.csv h.csv && good ||
  bad 'the losses of the steps have another mean than their epoch'
[[ $(stat -c %s net.onnx) == $(stat -c %s out.onnx) ]] && good || bad 'the file has another size'
gives 'it runs' '^output f32\[32,10\]' "$wick" run out.onnx --random 1
gives 'parameters' '^parameters +9.98 k in 8 weights of 8$' train --epochs 1 -o out.onnx
gives 'held out' '^epoch 1/1: .*; held out: loss [0-9.]+, accuracy' \
  train --epochs 1 --validate 0.3 -o out.onnx
gives 'verbose' '^block/batch_norm.mean +f32\[32\] +follows$' train --epochs 1 -v -o out.onnx

# Bytes outside the weights stay; of frozen weights, too.
train --epochs 1 --train 'classifier/*' --batch-norm frozen -o last.onnx >/dev/null
changed=$(cmp -l net.onnx last.onnx | wc -l)
((changed > 4000 && changed <= 4 * 5130)) && good || bad "$changed bytes of 5130 numbers differ"

# ---- the same bits -------------------------------------------------------------------------------
train --epochs 3 -o a.onnx --history a.csv --validate 0.3 >/dev/null
train --epochs 3 -o b.onnx --threads 1 --validate 0.3 >/dev/null
check 'one thread' cmp a.onnx b.onnx
train --epochs 1 -o c.onnx --checkpoint ck --validate 0.3 >/dev/null
check 'resumed' train --epochs 3 -o d.onnx --checkpoint ck --resume --validate 0.3 --history d.csv
check 'the same weights' cmp a.onnx d.onnx
check 'the same history' cmp <(cut -d, -f1-7 a.csv) <(cut -d, -f1-7 d.csv)
train --epochs 3 -o e.onnx --seed 2 --validate 0.3 >/dev/null
cmp -s a.onnx e.onnx && bad 'another seed, the same weights' || good
for options in '--optimizer sgd' '--optimizer momentum' '--optimizer nesterov' \
  '--optimizer adamw --weight-decay 0.1' '--optimizer adagrad' '--clip-norm 0.1' \
  '--accumulate 2' '--schedule cosine' '--schedule step --steps 5' '--batch 32'; do
  check "$options" train --epochs 1 ${options/--schedule step --steps 5/--schedule step} -o o.onnx
done
check 'steps' train --steps 4 -o o.onnx

# A budget too small for any choice is refused with one that is not, which changes no bit.
refuses 'a small budget' 6 'budget of 1.0 KiB is too small: [0-9]+ bytes .* least that was found' \
  train --epochs 1 --memory-budget 1KiB -o s.onnx
least=$(train --memory-budget 1KiB -o s.onnx 2>&1 | sed -n 's/.*too small: \([0-9]*\) .*/\1/p')
gives 'the least budget' '^smallest peak ' \
  train --epochs 3 --validate 0.3 --memory-budget "$least" -o s.onnx
check 'the same weights in the least memory' cmp a.onnx s.onnx

# A kill leaves the last checkpoint, or the one before, and no part of an output.
rm -rf ck
"$wick" train net.onnx "${common[@]}" --epochs 3 -o k.onnx --checkpoint ck --validate 0.3 >k.log &
pid=$!
until [[ -e ck/checkpoint ]] || ! kill -0 $pid; do sleep 0.005; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
rm -f k.onnx
check 'after a kill' train --epochs 3 -o k.onnx --checkpoint ck --resume --validate 0.3
check 'the same weights after a kill' cmp a.onnx k.onnx

# ---- a package that goes on ----------------------------------------------------------------------
check 'package' train --epochs 1 --emit package -o net.wick
gives 'train' '^entry 0 +train$' "$wick" inspect net.wick
gives 'evaluate' '^entry 1 +evaluate$' "$wick" inspect net.wick
gives 'infer' '^entry 2 +infer$' "$wick" inspect net.wick
hash=$("$wick" inspect net.onnx | awk '$1 == "hash" { print $2 }')
gives 'the hash of the model' "^model hash +${hash:-none} " "$wick" inspect net.wick

# A model's names are its own, those of the step give way.
fitted names.onnx "$(field 1 "$(node Add 'h rate' y)")" "$(field 11 "$(value rate 1 n 3)")"
names() {
  "$wick" train names.onnx --data x=four.npy --data rate=three.npy --labels three.npy --loss mse \
    --batch 8 --epochs 1 --emit package -o names.wick
}
gives 'the inputs of the step' '^inputs of the step +labels, train.rate, step$' names
for input in 'rate +f32\[8,3\]' 'train.rate +f64'; do
  gives "$input" "^  input $input" "$wick" inspect names.wick
done

# The example of a device that learns the last layer; its object needs nothing but these three.
npy zeros.npy '<f4' 96,1,8,8
check 'bundle' train --epochs 1 --train 'classifier*' --batch-norm frozen --emit bundle -o digits
undefined=$(nm -u digits.o | awk '{print $2}' | grep -vxE 'memcpy|memmove|memset')
[[ -z $undefined ]] && good || bad "digits.o needs $undefined"
check 'example' cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror -I. "$examples/train/main.c" \
  digits.o -o learner
./learner digits.weights zeros.npy y.npy >learnt
awk '/loss/ { for (i = 1; i < NF; i++) if ($i == "loss") now = $(i + 1) + 0
       if (seen++ && now >= before) exit 1
       before = now }
     END { exit seen != 4 }' learnt && good || bad "the example: $(cat learnt)"

# ---- data ----------------------------------------------------------------------------------------
npy float.npy '<f4' 96,8,8
check 'axes of size 1' "$wick" train net.onnx --data float.npy --labels y.npy \
  --loss cross-entropy --epochs 1 -o o.onnx
check 'by name' "$wick" train net.onnx --data input=x.npy --labels y.npy --loss cross-entropy \
  --epochs 1 -o o.onnx
npy target.npy '<f4' 96,10
for loss in bce mse l1 huber; do
  check "$loss" "$wick" train net.onnx --data x.npy --labels target.npy --loss $loss --epochs 1 \
    -o o.onnx
done
check 'an output as the loss' "$wick" train net.onnx --data x.npy --loss output --lr 1e-6 \
  --epochs 1 -o o.onnx
npy short.npy '<i8' 95
npy small.npy '|u1' 20,1,8,8
npy few.npy '<i8' 20
npy wide.npy '<f4' 96,1,8,9
ramp classes.npy '<i8' 96 96 11
refuses 'a label out of range' 3 'classes.npy: sample 3: 10 is outside the classes 0..9' \
  "$wick" train net.onnx --data x.npy --labels classes.npy --loss nll -o o2.onnx
refuses 'labels as floats' 3 'target.npy: has 10 numbers where one class' \
  "$wick" train net.onnx --data x.npy --labels target.npy --loss nll -o o2.onnx
refuses 'unequal counts' 3 'short.npy: has 95 samples, x.npy has 96|x.npy: has 96' \
  "$wick" train net.onnx --data x.npy --labels short.npy --loss nll -o o2.onnx
refuses 'another shape' 3 'samples have the shape \[1,8,9\], the input input has \[1,8,8\]' \
  "$wick" train net.onnx --data wide.npy --labels y.npy --loss nll -o o2.onnx
refuses 'too few' 2 '20 training samples do not fill a step of 32' \
  "$wick" train net.onnx --data small.npy --labels few.npy --loss nll -o o2.onnx
printf '\x00\x00\xc0\x7f' | dd of=float.npy bs=1 seek=$(($(stat -c %s float.npy) - 4)) \
  conv=notrunc status=none
refuses 'no number' 3 'float.npy: sample 95, element \[7,7\]: -?nan is no finite number' \
  "$wick" train net.onnx --data float.npy --labels y.npy --loss nll -o o2.onnx

# ---- models --------------------------------------------------------------------------------------
fitted plain.onnx "$(field 1 "$(node Identity h y)")"
fitted turned.onnx "$(field 1 "$(node Transpose h y)")"
fitted added.onnx "$(field 1 "$(node Add 'h z' y)")" "$(field 11 "$(value z 1 m 3)")"
fitted mean.onnx "$(field 1 "$(node ReduceMean h y)")"
fitted root.onnx "$(field 1 "$(node Sub 'h h' z)")$(field 1 "$(node Sqrt z q)")$(
  field 1 "$(node Add 'h q' y)")"
npy eight.npy '<f4' 40,8
small() { "$wick" train "$1" --data x=four.npy "${@:2}" -o small.onnx; }

# Axis 0 of all inputs and of what the loss compares is the batch.
refuses 'a turned output' 2 "output 'y' has the type f32\[3,8\], whose axis 0 is no batch of 8" \
  small turned.onnx --labels eight.npy --loss mse --batch 8
for n in 1 16; do
  refuses "batch and shape $n" 2 "--batch 8: --shape says batches of $n for the input x" \
    small plain.onnx --labels three.npy --loss mse --batch 8 --shape x=${n}x4
done
# Samples and labels of a folder, none of whose files is written over.
tensor() { # tensor FILE COLUMNS: 8 rows of 1.1
  local raw='' i
  mkdir -p "${1%/*}"
  for ((i = 0; i < 8 * $2; i++)); do raw+=$'\xcd\xcc\x8c\x3f'; done
  { number 1 8 && number 1 "$2" && number 2 1 && field 9 "$raw"; } >"$1"
}
for set in 0 1; do
  tensor sets/test_data_set_$set/input_0.pb 4
  tensor sets/test_data_set_$set/output_0.pb 3
done
folder() { "$wick" train plain.onnx --data sets --loss mse --epochs 1 --batch 8 "$@"; }
check 'a folder' folder -o small.onnx
for file in sets/test_data_set_0/input_0.pb sets/test_data_set_1/output_0.pb; do
  refuses "over $file" 2 "$file: --output would overwrite the file of --data" \
    folder --emit package -o $file
done
refuses 'two shapes' 2 'the input x has batches of 8: --shape says batches of 1 for the input z' \
  small added.onnx --data z=three.npy --labels three.npy --loss mse --shape x=8x4 --shape z=1x3
check 'one shape' small added.onnx --data z=three.npy --labels three.npy --loss mse --shape x=8x4

# A gradient without finite numbers beside a loss that is one. What is trained has been listed then.
quietly() { "$@" >/dev/null; }
for how in '--optimizer sgd' '--optimizer adam' '--accumulate 2' '--clip-norm 1'; do
  refuses "gradient, $how" 1 'step 1: the loss is [0-9.]+, but a gradient is not finite; the' \
    quietly small root.onnx --labels three.npy --loss l1 --batch 8 --steps 1 $how
done

# A loss that is one number for a batch: the means of whole batches, here of eight of ten samples.
check 'held out, means' small mean.onnx --loss y --batch 8 --validate 0.25 --lr 0 --epochs 1 \
  --history mean.csv
awk -F, 'NR == 2 { for (s = 3; s < 32; s += 4) for (k = 0; k < 4; k++)
           sum += 1.1 * ((4 * s + k) * 7 % 251) / 8
           d = $5 / sum - 1; exit !(d * d < 1e-10) }' mean.csv && good ||
  bad "held out: $(tail -1 mean.csv)"
refuses 'no whole batch' 2 "4 samples fill no batch of 8, for which the loss 'y' is one number" \
  small mean.onnx --loss y --batch 8 --validate 0.1

# ---- options -------------------------------------------------------------------------------------
refuses 'no output' 2 'give -o' train
refuses 'no data' 2 'no samples' "$wick" train net.onnx --loss mse -o o2.onnx
refuses 'no labels' 2 'give --labels' "$wick" train net.onnx --data x.npy --loss mse -o o2.onnx
refuses 'no such loss' 2 "did you mean 'huber'" "$wick" train net.onnx --data x.npy --labels y.npy \
  --loss hubr -o o2.onnx
refuses 'all frozen' 4 'nothing to train: all weights are frozen' train --freeze '*' -o o2.onnx
refuses 'no such weight' 2 '--train nobody: no weight' train --train nobody -o o2.onnx
refuses 'another batch' 2 'the model declares batches of 32' train --batch 8 -o o2.onnx
refuses 'over the model' 2 'net.onnx' train -o net.onnx
refuses 'over the data' 2 'x.npy' train -o x.npy
refuses 'no checkpoint' 5 'none/checkpoint' train --checkpoint none --resume -o o2.onnx
refuses 'of another run' 2 "there it was 'seed 1', here it is 'seed 2'" \
  train --epochs 3 --checkpoint ck --resume --validate 0.3 --seed 2 -o o2.onnx
ramp others.npy '<i8' 96 96 9
refuses 'of other labels' 2 "there it was 'labels: i64\[96\] [0-9a-f]+', here it is 'labels: i64" \
  "$wick" train net.onnx --data x.npy --labels others.npy --loss cross-entropy --epochs 3 \
  --checkpoint ck --resume --validate 0.3 -o o2.onnx
refuses 'of other samples' 2 "there it was 'samples of input: u8\[96,1,8,8\] [0-9a-f]+', here" \
  "$wick" train net.onnx --data zeros.npy --labels y.npy --loss cross-entropy --epochs 3 \
  --checkpoint ck --resume --validate 0.3 -o o2.onnx
refuses 'of another shape' 2 "here it is 'shape input=32x1x8x8'" train --epochs 3 \
  --checkpoint ck --resume --validate 0.3 --shape input=32x1x8x8 -o o2.onnx
cp net.onnx other.onnx && flip other.onnx $(($(stat -c %s net.onnx) / 2))
refuses 'of another model' 2 'is a checkpoint of another model' "$wick" train other.onnx \
  "${common[@]}" --epochs 3 --checkpoint ck --resume --validate 0.3 -o o2.onnx
flip ck/checkpoint 300
refuses 'a damaged checkpoint' 3 'ck/checkpoint: is damaged: its checksum differs' \
  train --epochs 3 --checkpoint ck --resume --validate 0.3 -o o2.onnx

# ---- files that cannot be written ----------------------------------------------------------------
# Each is said before the first epoch, whose line would be on stdout.
refuses 'no folder' 5 'nodir/o.onnx: cannot write: No such' train -o nodir/o.onnx
refuses 'no folder for a package' 5 'nodir/o.wick: cannot' train --emit package -o nodir/o.wick
refuses 'no folder for a bundle' 5 'nodir/o.*: cannot' train --emit bundle -o nodir/o
refuses 'no folder for the history' 5 'nodir/h' train --history nodir/h -o o2.onnx
refuses 'no folder for the diagram' 5 'nodir/p' train --plot nodir/p -o o2.onnx
mkdir full full/checkpoint
refuses 'a folder as checkpoint' 5 'full/checkpoint: cannot' train --checkpoint full -o o2.onnx
mkdir own
refuses 'over the checkpoint' 2 'own/checkpoint: --checkpoint would' \
  train --checkpoint own -o own/checkpoint
refuses 'over a part of the bundle' 2 'o2.h: --history would' \
  train --emit bundle -o o2 --history o2.h
refuses 'a bundle to stdout' 2 'bundle is' train --emit bundle -o -

# What goes to standard output is alone there.
train --epochs 1 --seed 5 -o file.onnx >/dev/null
train --epochs 1 --seed 5 -v -o - 2>lines >stdout.onnx
check 'to stdout' cmp file.onnx stdout.onnx
check 'lines to stderr' grep -q '^epoch 1/1' lines
train --epochs 1 --history - -o o.onnx 2>/dev/null >lines
gives 'a history to stdout' '^1,3,' cat lines
[[ $(wc -l <lines) == 2 ]] && good || bad "beside the history: $(cat lines)"
refuses 'two to stdout' 2 'only one file can go to standard' train --history - -o -

external ex w.bin
ramp xs.npy '|u1' 64,4 256 251
ramp ys.npy '<i8' 64 64 3
linear() { # linear MODEL DATA ARGUMENT...
  "$wick" train "$1" --data "$2" --labels ys.npy --loss cross-entropy --epochs 1 "${@:3}"
}
mkdir new taken
check 'external data' linear ex/m.onnx xs.npy -o new/m.onnx
cmp -s ex/w.bin new/w.bin && bad 'external data is the same after training' || good
check 'the model beside it' cmp ex/m.onnx new/m.onnx
refuses 'the folder of the model' 2 'ex/w.bin: holds the weights of the model that is read' \
  linear ex/m.onnx xs.npy -o ex/new.onnx
refuses 'external data to stdout' 2 'cannot go to standard output' linear ex/m.onnx xs.npy -o -
for option in history history-steps plot; do
  refuses "the $option over weights" 2 \
    "ex/w.bin: --$option would overwrite weights of the model, ex/w.bin" \
    linear ex/m.onnx xs.npy -o new/m.onnx --$option ex/w.bin
done
refuses 'a package over weights' 2 \
  'ex/w.bin: --output would overwrite weights of the model, ex/w.bin' \
  linear ex/m.onnx xs.npy --emit package -o ex/w.bin
external packed w.weights
refuses 'a bundle over weights' 2 \
  'w.weights: --output would overwrite weights of the model, packed/w.weights' \
  linear packed/m.onnx xs.npy --emit bundle -o packed/w
external kept checkpoint
refuses 'a checkpoint over weights' 2 'overwrite weights of the model, kept/checkpoint' \
  linear kept/m.onnx xs.npy -o new/m.onnx --checkpoint kept
for option in output history history-steps plot; do
  out=(-o new/m.onnx "--$option" xs.npy)
  refuses "the $option over samples" 2 "xs.npy: --$option would overwrite the file of --data" \
    linear ex/m.onnx xs.npy --emit package "${out[@]}"
  out=(-o new/m.onnx "--$option" ys.npy)
  refuses "the $option over labels" 2 "ys.npy: --$option would overwrite the file of --labels" \
    linear ex/m.onnx xs.npy --emit package "${out[@]}"
done
external same out.onnx
refuses 'data called as the model' 2 "the new weights of 'out.onnx' would overwrite.*--output" \
  linear same/m.onnx xs.npy -o taken/out.onnx
cp xs.npy taken/w.bin
refuses 'data over the samples' 2 "the new weights of 'w.bin' would overwrite.*--data" \
  linear ex/m.onnx taken/w.bin -o taken/m.onnx
check 'the samples are there' cmp xs.npy taken/w.bin
for option in history plot; do
  refuses "data over the $option" 2 "taken/w.bin: the new weights of 'w.bin' would.*--$option" \
    linear ex/m.onnx xs.npy -o taken/m.onnx --$option taken/w.bin
done
external named checkpoint
refuses 'data over the checkpoint' 2 "the new weights of 'checkpoint' would.*--checkpoint" \
  linear named/m.onnx xs.npy -o taken/m.onnx --checkpoint taken

# What is not finite any more is named, with the step.
message=$(train --lr 1e30 --optimizer sgd -o o2.onnx 2>&1 >/dev/null)
[[ $? == 1 && $message == *'step 2: the loss is '*'the first tensor that is not finite is '* ]] &&
  [[ ! -e o2.onnx ]] && good || bad "no finite loss: $message"

# Real data, where it is: at least 97 % of the held-out digits.
digits=$(dirname "$wanted")/../../../shared/data/digits
if [[ -d $digits ]]; then
  "$wick" train net.onnx --data "$digits/x.npy" --labels "$digits/y.npy" --loss cross-entropy \
    --validate 0.2 --epochs 8 -o digits.onnx --history digits.csv >/dev/null
  tail -1 digits.csv | awk -F, '{ exit !($7 >= 0.97) }' && good ||
    bad "digits: $(tail -1 digits.csv)"
else echo 'note: there is no ../shared/data/digits to learn from'; fi
finish
