#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train --qat: a quantised model is trained as floats that round, and its integers are written
# anew; the result is one program of integers on every target.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"
tests=$wanted/../..
shared=$tests/../../shared/data/digits

ramp x.npy '|u1' 96,1,8,8 6144 251
ramp y.npy '<i8' 96 96 10
common=(--data x.npy --labels y.npy --loss cross-entropy)
train() { "$wick" train "$@" "${common[@]}"; }

check 'a network' "$wick" zoo digits_cnn -o net.onnx
for form in '' --per-channel '--scheme int8 --symmetric'; do
  check "quantised $form" "$wick" quantize net.onnx --random 4 $form -o q.onnx
  gives "trained $form" '^rounded +6 weights, 6 activations$' \
    train q.onnx --qat --epochs 2 --validate 0.3 -o a.onnx
  [[ $(stat -c %s q.onnx) == $(stat -c %s a.onnx) ]] && good || bad 'the file has another size'
  cmp -s q.onnx a.onnx && bad "$form: no integer changes" || good
done

# A rate of 0 gives every integer back.
check 'no rate' train q.onnx --qat --epochs 1 --lr 0 -o same.onnx
check 'the same integers' cmp q.onnx same.onnx

# Scales and zero points stay: only bytes of the trained weight differ, its 5,120 integers.
train q.onnx --qat --epochs 2 --lr 0.01 --train 'classifier/*' -o last.onnx >/dev/null
changed=$(cmp -l q.onnx last.onnx | wc -l)
((changed > 1000 && changed <= 5120)) && good || bad "$changed bytes of 5120 integers differ"

# The same bits: threads, a resumed run.
train q.onnx --qat --epochs 3 -o t1.onnx --threads 1 >/dev/null
train q.onnx --qat --epochs 1 -o c.onnx --checkpoint ck >/dev/null
check 'resumed' train q.onnx --qat --epochs 3 -o t2.onnx --checkpoint ck --resume
check 'the same integers' cmp t1.onnx t2.onnx

# A package of it runs, and its entries round as the model does.
check 'a package' train q.onnx --qat --epochs 1 --emit package -o q.wick
gives 'entries' 'infer' "$wick" inspect q.wick

# One program of integers everywhere.
same_everywhere() { # same_everywhere MODEL: its outputs on all targets, in out/
  mkdir out
  local target first=
  for target in cpu accel ${opencl:-}; do
    check "$target" "$wick" compile "$1" --target "$target" -o "$target.wick"
    check "$target runs" "$wick" run "$target.wick" --random 7 --output-dir "out/$target"
    [[ -z $first ]] || check "$target as $first" diff -r "out/$first" "out/$target"
    first=$target
  done
}
has_device opencl && opencl=opencl
same_everywhere a.onnx

refuses 'no quantised model' 2 '--qat: the model quantises nothing' \
  train net.onnx --qat -o o.onnx
refuses 'no --qat' 4 'nothing to train: .*--qat' train q.onnx -o o.onnx
refuses 'a weight of floats' 2 '--train stem: no weight has such a name' \
  train q.onnx --qat --train stem -o o.onnx

# The digits: no more than 0.3 points below the floats, and better than 4 bits were before.
if [[ -d $shared ]]; then
  common=(--data "$shared/x.npy" --labels "$shared/y.npy" --loss cross-entropy --validate 0.2)
  accuracy() { sed -n 's/.*held out:.*accuracy \([0-9.]*\).*/\1/p' | tail -1; }
  floats=$(train net.onnx --epochs 15 -o float.onnx | accuracy)
  "$wick" quantize float.onnx --random 4 -o q.onnx >/dev/null
  integers=$(train q.onnx --qat --epochs 5 --lr 1e-4 -o t.onnx | accuracy)
  awk "BEGIN { exit !($integers >= $floats - 0.003 && $floats >= 0.97) }" && good ||
    bad "digits: $integers with integers, $floats with floats"
else
  echo 'note: ../shared/data/digits is not here: no accuracy of integers'
fi
finish
