#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train: models of f16 and bf16 learn what those of f32 do, by weights of f32 that live in the
# run's state; their files hold halves.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

fitted net.onnx "$(field 1 "$(node Relu h y)")"
ramp x.npy '<i4' 90,4 360 3
ramp t.npy '<i4' 90,3 270 2
for t in f16 bf16; do
  check "a model of $t" "$wick" compile net.onnx --bind n=30 --convert $t --emit onnx -o $t.onnx -q
done
check 'one of f32' "$wick" compile net.onnx --bind n=30 --emit onnx -o f32.onnx -q
learn() { # MODEL TO OPTIONS...
  "$wick" train "$1.onnx" --data x.npy --labels t.npy --loss mse --optimizer sgd --lr 5e-5 \
    -o "$2.onnx" --history "$2.csv" "${@:3}"
}
won() { awk -F, 'NR == 2 { a = $4 } END { print a - $4 }' "$1.csv"; } # by the run, of the loss

# Steps of 1e-4, which halves cannot tell apart from none.
for t in f32 f16 bf16; do check "$t learns" learn $t $t.new --epochs 40; done
for t in f16 bf16; do
  awk -v a="$(won f32.new)" -v b="$(won $t.new)" \
    'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (0.2 * a) ^ 2) }' && good ||
    bad "$t: the loss falls by $(won $t.new), that of f32 by $(won f32.new)"
  [[ $(stat -c %s $t.onnx) == "$(stat -c %s $t.new.onnx)" ]] && good || bad "$t: another size"
  check "$t runs" "$wick" run $t.new.onnx
done

# What goes on from a checkpoint or a package has the weights of f32.
check 'half of it' learn f16 half --epochs 20 --checkpoint ck
check 'and on' learn f16 half --epochs 40 --checkpoint ck --resume
check 'the same bytes' cmp half.onnx f16.new.onnx
check 'a package' learn f16 p --epochs 40 --emit package
mv p.onnx p.wick
gives 'its state' '(^|[^a-z])f32\[4,3\]' "$wick" inspect p.wick
npy zeros.npy '<f4' 30,4
check 'it infers' "$wick" run p.wick --entry infer --random 3 --output-dir a
check 'as the file does' "$wick" run f16.new.onnx --random 3 --output-dir b
check 'the same numbers' cmp a/y.npy b/y.npy

# Real data, where it is: halves hold out what f32 does.
digits=$(dirname "$wanted")/../../../shared/data/digits
if [[ -d $digits ]] && ! is_sanitized; then
  check 'a network' "$wick" zoo digits_cnn -o digits.onnx
  for t in f16 bf16; do
    "$wick" compile digits.onnx --convert $t --emit onnx -o d.onnx -q
    "$wick" train d.onnx --data "$digits/x.npy" --labels "$digits/y.npy" --loss cross-entropy \
      --validate 0.2 --epochs 3 -o d.$t.onnx --history d.csv >/dev/null
    tail -1 d.csv | awk -F, '{ exit !($7 >= 0.95) }' && good || bad "digits: $(tail -1 d.csv)"
  done
fi
finish
