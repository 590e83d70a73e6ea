#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing that is written takes the place of what was read, or of something else that is written.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../external.bash"
small_models
mkdir folder io
ln -s folder linked
ln -s later.wick link.wick

# keeps NAME PATTERN COMMAND...: refused as a misuse, and every file stays as it was.
keeps() {
  local before
  before=$(find . -type f -exec cksum {} + | sort)
  refuses "$1" 2 "$2" "${@:3}"
  [[ $before == "$(find . -type f -exec cksum {} + | sort)" ]] && good || bad "$1: a file changed"
}

npy x.npy '<f4' 2,3
cp x.npy io/y.npy
cp x.npy io/x.npy
cp relu.onnx net.weights
cp relu.onnx folder/net.onnx

# Output and report, the same file in several spellings; it exists or not.
for exists in no yes; do
  [[ $exists == yes ]] && echo old | tee a.wick folder/b.wick later.wick nb.o nb.h >nb.weights
  while read -r output report; do
    keeps "compile -o $output --report $report ($exists)" \
      "$report: --report would overwrite the file of --output" \
      "$wick" compile relu.onnx -o "$output" --report "$report"
  done <<END
a.wick ./a.wick
a.wick folder/../a.wick
folder/b.wick linked/b.wick
link.wick later.wick
$PWD/a.wick a.wick
END
  for ending in o h weights; do
    keeps "bundle and report, $ending ($exists)" \
      "nb.$ending: --report would overwrite the file of --output" \
      "$wick" compile relu.onnx --emit bundle -o nb --report nb.$ending
  done
done
keeps 'quantize' 'q.onnx: --report would overwrite the file of --output' \
  "$wick" quantize relu.onnx --random 2 -o q.onnx --report q.onnx
for ending in wcs 0.bin 20.map index; do
  keeps "a stream and report, $ending" "nb.$ending: --report would overwrite the file of --output" \
    "$wick" compile relu.onnx --target accel --emit stream -o nb --report nb.$ending
done

# What is read.
keeps 'a bundle over its model' 'net.weights: --output would overwrite the model' \
  "$wick" compile net.weights --emit bundle -o net
cp relu.onnx net.3.bin
keeps 'a stream over its model' 'net.3.bin: --output would overwrite the model' \
  "$wick" compile net.3.bin --target accel --emit stream -o net
keeps 'a bundle named after its model' 'net.weights: the output would overwrite the model' \
  "$wick" compile net.weights --emit bundle
keeps 'the model by a link' 'linked/net.onnx: --output would overwrite the model' \
  "$wick" compile folder/net.onnx -o linked/net.onnx
for command in 'compile relu.onnx' 'quantize relu.onnx --random 1'; do
  keeps "a value, $command" 'x.npy: --output would overwrite the file of --value' \
    "$wick" $command --value x=x.npy -o x.npy
done
check 'a network' "$wick" zoo ds_cnn -o cnn.onnx
mkdir samples
npy samples/1.npy '<f4' 1,1,49,10
cp samples/1.npy one.npy
keeps 'calibration' 'one.npy: --output would overwrite the file of --calibration' \
  "$wick" quantize cnn.onnx --calibration one.npy -o one.npy
keeps 'a folder of calibration' \
  'samples/1.npy: --report would overwrite the file of --calibration' \
  "$wick" quantize cnn.onnx samples -o q.onnx --report samples/1.npy
keeps 'outputs' 'io/y.npy: --output-dir would overwrite the file of --input' \
  "$wick" run relu.onnx --input x=io/y.npy --output-dir io
for target in cpu eval; do
  keeps "tensors, $target" 'io/y.npy: --dump-tensors would overwrite the file of --input' \
    "$wick" run relu.onnx --target $target -i io/y.npy --dump-tensors io
done
check 'a package' "$wick" compile relu.onnx -q
keeps 'outputs of a package' 'io/y.npy: --output-dir would overwrite the file of --input' \
  "$wick" run relu.wick --input io/y.npy --output-dir io

# Streams and tables.
printf 'end\n' >s.s
printf 'id,lower,upper,size\na,0,1,64\n' >table.csv
keeps 'asm' 's.s: --output would overwrite the stream' "$wick" asm s.s -o ./s.s
keeps 'disasm' 's.s: --output would overwrite the stream' "$wick" disasm s.s -o ./s.s
keeps 'plan' 'table.csv: --output would overwrite the table' "$wick" plan table.csv -o ./table.csv
keeps 'sim, stream' 's.s: --json would overwrite the stream' \
  "$wick" sim s.s --model functional --json ./s.s
keeps 'sim, outputs' 't.json: --trace would overwrite the file of --json' \
  "$wick" sim s.s --model timing --json t.json --trace ./t.json

# Every file that a command writes, over every one that it reads and over every other that it
# writes. pairs COMMAND READ...: in `writes` are its options of files, in `reads` those that it has.
pairs() {
  local a b i k two='same: --[^ ]+( [^ ]+)? would overwrite the file of --'
  for ((i = 0; i < ${#writes[@]}; i++)); do
    a=${writes[i]}
    for b in "${reads[@]}"; do
      keeps "$1 $a over $b" "$b: ${a%% *}.* would overwrite " "$wick" "$@" $a"$b"
    done
    for ((k = i + 1; k < ${#writes[@]}; k++)); do
      b=${writes[k]}
      keeps "$1 $a and $b" "$two" "$wick" "$@" ${a}same ${b}./same
      keeps "$1 $b and $a" "$two" "$wick" "$@" ${b}same ${a}./same
    done
  done
}
npy labels.npy '<i8' 2
writes=('--output ' '--history ' '--history-steps ' '--plot ') reads=(relu.onnx x.npy labels.npy)
for ((i = 0; i < 4; i++)); do # --output must be there
  [[ $i == 0 ]] && more=() || more=('--output' 'other.onnx')
  a=${writes[i]}
  for b in "${reads[@]}"; do
    keeps "train $a over $b" "$b: ${a% } would overwrite " "$wick" train relu.onnx \
      --data x.npy --labels labels.npy --loss nll "${more[@]}" $a$b
  done
  for ((k = i + 1; k < 4; k++)); do
    b=${writes[k]}
    keeps "train $a and $b" 'same: --[a-z-]+ would overwrite the file of --[a-z-]+' "$wick" \
      train relu.onnx --data x.npy --labels labels.npy --loss nll "${more[@]}" ${a}same ${b}./same
  done
done
cat >regions.s <<'END'
.machine tiny
.memory x 0x1000 64
.memory y 0x2000 64
.random x 1
.output y
l: ld.ld0 dram=x n0=64 spm=0 c0=64
st dram=y n0=64 spm=0 c0=64 wait l
end
END
cp "$wanted/../../../targets/accel/machines/tiny.cfg" own.cfg
writes=('--json ' '--trace ' '--html ' '--dump x=' '--dump y=') reads=(regions.s own.cfg)
check 'regions' "$wick" sim regions.s --model timing -m own.cfg --json r.json
pairs sim regions.s -m own.cfg --model timing
writes=('--report ') reads=(cnn.onnx one.npy)
pairs quantize cnn.onnx --calibration one.npy -o q9.onnx
writes=('--output ' '--report ') reads=(relu.onnx x.npy)
pairs compile relu.onnx --value x=x.npy
writes=('--output ') reads=(relu.onnx x.npy)
pairs grad relu.onnx --emit graph --input x=x.npy
cp r.json s.json
writes=('--json ') reads=(r.json s.json)
pairs diff r.json s.json

# Signatures.
check 'a signed package' "$wick" compile relu.onnx -q -o net.wick
if "$wick" sign --make-key maker 2>sign.err; then
  ln -s net.wick signed.wick
  ln maker.key hard.key
  writes=('--output ') reads=(net.wick maker.key signed.wick hard.key)
  pairs sign net.wick --key maker.key
  keeps 'the package as its signature' 'net.wick: --output would overwrite the package' \
    "$wick" sign net.wick --key maker.key -o ./net.wick
  cp maker.key net.wick.sig
  keeps 'the key beside the package' 'net.wick.sig: the output would overwrite the file of --key' \
    "$wick" sign net.wick --key net.wick.sig
  for name in '' folder/; do
    keeps "keys without a name: '$name'" "--make-key '$name': a name of files is expected" \
      "$wick" sign --make-key "$name"
  done
else
  check 'built without libsodium' grep -q 'built without libsodium' sign.err
fi

# What does not collide.
check 'beside the input' "$wick" run relu.onnx --input x=io/x.npy --output-dir io
check 'both folders are one' "$wick" run relu.onnx --output-dir all --dump-tensors all
check 'one device' "$wick" compile relu.onnx -q -o /dev/null --report /dev/null
check 'one stream' "$wick" compile relu.onnx -q -o - --report -
check 'again' "$wick" compile relu.onnx -q -o a.wick --report a.json
check 'and again' "$wick" compile relu.onnx -q -o a.wick --report a.json

# Weights that are in a file of their own.
external ex w.bin
external outputs y.npy
npy n4.npy '<f4' 2,4
weights='would overwrite weights of the model'
keeps 'compile over weights' "ex/w.bin: --output $weights, ex/w.bin" \
  "$wick" compile ex/m.onnx --bind N=2 -o ex/w.bin
keeps 'report over weights' "ex/w.bin: --report $weights, ex/w.bin" \
  "$wick" compile ex/m.onnx --bind N=2 -o c.wick --report ex/w.bin
keeps 'quantise over weights' "ex/w.bin: --output $weights, ex/w.bin" \
  "$wick" quantize ex/m.onnx --bind N=2 --random 1 -o ex/w.bin
keeps 'grad over weights' "ex/w.bin: --output $weights, ex/w.bin" \
  "$wick" grad ex/m.onnx --bind N=2 --emit graph -o ex/w.bin
keeps 'outputs over weights' "outputs/y.npy: --output-dir $weights, outputs/y.npy" \
  "$wick" run outputs/m.onnx -i n4.npy --output-dir outputs
finish
