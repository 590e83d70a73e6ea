#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick compile --needed: rows of an output that nobody asks for are not computed.
source "$(dirname "$0")/lib.bash" "$@"

# f32 = 1, i64 = 7, bool = 9. y is exp(x) of 2 x 2 rows of 3; one is a number per row.
model "$(field 1 "$(node Exp x y)")$(field 1 "$(node Cos z one)")" \
  "$(field 11 "$(value x 1 2 2 3)")$(field 11 "$(value m 7 2 2)")$(
    field 11 "$(value z 1 2)")$(field 11 "$(value b 9 2)")" \
  "$(field 12 "$(value y 1 2 2 3)")$(field 12 "$(value one 1 2)")" >net.onnx
keep=("$wick" compile -q net.onnx -o net.wick)
npy x.npy '<f4' 2,2,3
npy z.npy '<f4' 2
npy b.npy '|b1' 2
npy m.npy '<i8' 2,2
printf '\x01' | dd of=m.npy bs=1 seek=$((128 + 8)) conv=notrunc 2>/dev/null  # row 0, 1
printf '\x05' | dd of=m.npy bs=1 seek=$((128 + 24)) conv=notrunc 2>/dev/null # row 1, 1
sum() { # of y, whose asked rows are 1
  "$wick" run net.wick -i x=x.npy -i m=m.npy -i z=z.npy -i b=b.npy --output-dir out |
    sed -n 's/^y .* mean //p'
}

check 'all rows' "${keep[@]}"
[[ $(sum) == 1 ]] && good || bad "all rows: $(sum)"
check 'rows that are not 0' "${keep[@]}" --needed y=m
[[ $(sum) == 0.5 ]] && good || bad "rows that are asked for: $(sum)"
check 'samples, by a bool' "${keep[@]}" --needed y=b
[[ $(sum) == 0 ]] && good || bad "samples that are asked for: $(sum)"
"$wick" inspect net.wick | grep -q -- '--needed=y=b' && good || bad 'the package says so'

refuses 'no such output' 2 "^wick: --needed w=m: the model has no output 'w'\$" \
  "${keep[@]}" --needed w=m
refuses 'no such input' 2 "^wick: --needed y=w: the model has no input 'w'\$" \
  "${keep[@]}" --needed y=w
refuses 'no pair' 2 "^wick: --needed y: 'y' must be OUTPUT=INPUT\$" "${keep[@]}" --needed y
refuses 'an empty one' 2 "^wick: --needed y=m,: '' must be OUTPUT=INPUT\$" \
  "${keep[@]}" --needed y=m,
refuses 'other dimensions' 2 \
  '^wick: --needed y=x: input x is f32\[2,2,3\] and output y f32\[2,2,3\]: the input must' \
  "${keep[@]}" --needed y=x
refuses 'each element' 2 'input z is f32\[2\] and output one f32\[2\]' "${keep[@]}" --needed one=z
finish
