#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/accelerator is built against an installed Wick: a machine of another kind than the
# accelerator, with prefetch, modes, causes and the proof of waits from the scheduler's library.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"
example=$tests/../examples/accelerator
sanitize=
is_sanitized && sanitize=-fsanitize=address,undefined

# ---- how long it is: lines of C without comments and blank ones
lines=$(for file in "$example"/*.[ch]; do
  ${CC:-cc} -fpreprocessed -dD -E -P "$file" 2>/dev/null
done | grep -c '[^[:space:]]')
((lines > 0 && lines <= 400)) && good || bad "the example has $lines lines"

# ---- installation, and the example against it
check 'install' cmake --install "$(dirname "$wick")" --prefix "$tmp/prefix"
wick=$tmp/prefix/bin/wick
check 'configure' cmake -S "$example" -B out -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS="-Wall -Werror $sanitize"
check 'build' cmake --build out
plugins=(--plugin out/pixel.so --plugin out/pixel_device.so)
target=("${plugins[@]}" --target pixel)
gives 'the target is listed' '^pixel +- +bf16 images, row by row' "$wick" targets "${plugins[@]}"
gives 'so are its settings' '^--report-schedule +pixel' "$wick" targets "${plugins[@]}"

# ---- networks of bf16: what it computes, in every mode
# near GOT.npy WANT.npy: floats that differ by a hundredth of the largest at most.
near() {
  paste <(od -An -v -tf4 -w4 -j128 "$1") <(od -An -v -tf4 -w4 -j128 "$2") | awk '
    { d = $1 - $2; d = d < 0 ? -d : d; w = $2 < 0 ? -$2 : $2 }
    NF != 2 { bad = 1 } d > most { most = d } w > largest { largest = w }
    END { exit bad || !NR || most > largest / 100 }'
}
for name in ds_cnn cnn residual unet; do
  model=$tests/nets/float/$name/model.onnx
  [[ -f $model ]] || { model=$name.f32.onnx && "$wick" zoo $name -o $model; }
  check "$name in bf16" "$wick" compile "$model" --convert bf16 --emit onnx -o $name.onnx
  check "$name, evaluated" "$wick" run $name.onnx --target eval --output-dir eval
  want=(eval/*.npy)
  for how in '--prefetch off' '--prefetch serial' '--prefetch double' '--prefetch auto' \
    '--effort 2' '--without fusion' '--without residency' '--without early-issue'; do
    # shellcheck disable=SC2086
    check "$name $how" "$wick" run $name.onnx "${target[@]}" $how --output-dir got
    got=(got/*.npy)
    check "$name $how as the evaluator says" near "${got[0]}" "${want[0]}"
    [[ -f $name.npy ]] || cp "${got[0]}" $name.npy
    check "$name $how bit for bit as in the first mode" cmp "${got[0]}" $name.npy
  done
  rm -r eval got
done
gives 'most of it' 'on pixel +1 part, 18 operators' "$wick" compile ds_cnn.onnx "${target[@]}"
check 'the same bytes' bash -c "'$wick' compile ds_cnn.onnx ${target[*]} -q -o one.wick &&
  '$wick' compile ds_cnn.onnx ${target[*]} -q -o two.wick && cmp one.wick two.wick"

# ---- what prefetch is worth, by the machine's schedule model
# cycles MODEL MODE…
cycles() { "$wick" compile "$1" "${target[@]}" "${@:2}" -o none.wick |
  sed -n 's/^predicted *\([0-9]*\) cycles/\1/p'; }
models=(ds_cnn.onnx)
if [[ ! $sanitize ]]; then
  "$wick" zoo resnet18 -o r18.onnx
  check 'resnet18' "$wick" compile r18.onnx --convert bf16 --emit onnx -o resnet18.onnx
  models+=(resnet18.onnx)
fi
for model in "${models[@]}"; do
  off=$(cycles "$model" --prefetch off) double=$(cycles "$model" --prefetch double)
  auto=$(cycles "$model" --prefetch auto) serial=$(cycles "$model" --prefetch serial)
  ((auto < double && double < off && auto < serial && auto * 100 <= off * 84)) && good ||
    bad "$model: off $off, serial $serial, double $double, auto $auto"
done
"$wick" compile ds_cnn.onnx "${target[@]}" --report-schedule yes -o none.wick >/dev/null 2>report
for line in '^schedule of .* on pixel' '^\* auto +[0-9]+' '^  off +[0-9]+' '^compute +[0-9]+ +9' \
  '^bandwidth +[0-9]+' 'weights of stem/batch_norm wait for memory bandwidth$' \
  '^latency .*memory answers at once$'; do
  gives "the report: $line" "$line" cat report
done

check 'without a report' "$wick" compile ds_cnn.onnx "${target[@]}" -q -o one.wick
check 'with one' "$wick" compile ds_cnn.onnx "${target[@]}" --report-schedule yes -q -o two.wick
check 'the same bytes' cmp one.wick two.wick

# ---- what has no room goes to the host
mkdir small
cp "$example"/* small
sed -i 's/SCRATCHPAD = 1 << 18/SCRATCHPAD = 1 << 11/' small/machine.h
check 'configure' cmake -S small -B small/out -DCMAKE_PREFIX_PATH="$tmp/prefix" \
  -DCMAKE_C_FLAGS="-Wall -Werror $sanitize"
check 'build' cmake --build small/out
small=(--plugin small/out/pixel.so --plugin small/out/pixel_device.so --target pixel)
gives 'a small scratchpad' 'on cpu, not pixel: it needs [0-9]+ bytes of scratchpad for one row' \
  "$wick" compile unet.onnx "${small[@]}" --print-parts -o none.wick
check 'its results' "$wick" run unet.onnx "${small[@]}" --output-dir got
check 'those of the larger one' near got/*.npy unet.npy

# ---- waits: the device keeps to them alone, the proof sees what is missing
compile_plugin() { # FILE.c
  check "compile $1" ${CC:-cc} -w -D_GNU_SOURCE $sanitize -I "$example" -I prefix/include/wick \
    -fPIC -shared "$1" -o "${1%.c}.so"
}
sed '/memcpy(k.wait/d' "$example/target.c" >hasty.c
compile_plugin hasty.c
check 'without waits' "$wick" run ds_cnn.onnx --plugin ./hasty.so --plugin out/pixel_device.so \
  --target pixel --output-dir hasty
cmp -s hasty/*.npy ds_cnn.npy && bad 'nothing depends on the waits' || good
none='for (size_t i = 0; i < m.steps.list.n; i++) m.schedule.waits[i][LOAD] = 0;'
sed "s/  if (!status) status = wk_sched_prove_made/$none\n&/" "$example/target.c" >careless.c
compile_plugin careless.c
refuses 'a wait that is missing' 7 'the proof refuses what was scheduled: command [0-9]+ ' \
  "$wick" compile ds_cnn.onnx --plugin ./careless.so --target pixel

# ---- what it cannot have
refuses 'another value' 2 "^wick: --effort: must be 0, 1, 2 or 3, not '9'\$" \
  "$wick" compile ds_cnn.onnx "${target[@]}" --effort 9
gives 'numbers of other types' 'images of bf16 alone' \
  "$wick" compile "$tests/nets/float/cnn/model.onnx" "${target[@]}" --print-parts
finish
