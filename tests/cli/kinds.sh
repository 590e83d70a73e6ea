#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files of the wrong kind are called what they are, without being read to their end; options that do
# not fit the model are named.
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a package' "$wick" compile relu.onnx -q -o relu.wick
npy x.npy '<f4' 2,3
{ number 1 2; number 1 3; number 2 1; field 9 "$(printf 'abcd%.0s' {1..6})"; } >tensor.pb

printf '\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR' >png
printf 'PK\x03\x04\x14\x00\x00\x00' >zip
printf '\x1f\x8b\x08\x00\x00\x00\x00\x00' >gzip
printf '\x89HDF\r\n\x1a\n\x00\x00' >hdf5
printf '\x1c\x00\x00\x00TFL3\x00\x00' >tflite
printf 'module "m" {\n}\n' >text
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n' >lfs
cp x.npy npy && cp relu.wick package && cp tensor.pb tensor
declare -A kind=([png]='a PNG image' [zip]='a ZIP archive \(such as .npz, .pt or .keras\)'
  [gzip]='gzip-compressed' [hdf5]='an HDF5 file \(such as .h5\)' [text]='text'
  [tflite]='a TensorFlow Lite model' [lfs]='a Git LFS pointer, not the file itself'
  [npy]='a NumPy array \(.npy\)' [package]='a Wick package' [tensor]='a tensor \(TensorProto\)')
for file in "${!kind[@]}"; do
  cp $file model.onnx
  for command in 'compile model.onnx' 'quantize model.onnx --random 1 -o q.onnx'; do
    refuses "$file as a model, $command" 3 "model.onnx: is ${kind[$file]}, not an ONNX model" \
      "$wick" $command
  done
  [[ $file == package ]] || for command in run inspect compare; do
    refuses "$file as a model, $command" 3 "model.onnx: is ${kind[$file]}, not an ONNX model" \
      "$wick" $command model.onnx
  done
  [[ $file == npy || $file == tensor ]] ||
    refuses "$file as a tensor" 3 "model.onnx: is ${kind[$file]}, not a tensor file" \
      "$wick" run relu.onnx -i x=model.onnx
done
rm model.onnx

# Garbage is refused by its beginning, also when reading all of it would take minutes.
head -c 100 relu.wick | tail -c 90 >garbage.onnx && truncate -s 500G garbage.onnx
number 1 8 >zeros.onnx && truncate -s 500G zeros.onnx
for file in garbage zeros; do
  for command in compile run inspect compare; do
    refuses "500 GB of $file, $command" 3 "$file.onnx: is not a valid ONNX model" \
      timeout 60 "$wick" $command $file.onnx
  done
done

# Byte order of .npy files.
for high in '\x3f\x80' '\x40\x00' '\x40\x40' '\x40\x80' '\xbf\x80' '\x40\xa0'; do
  printf '%b\x00\x00' "$high"
done >data
npy big.npy '>f4' 2,3 && dd if=data of=big.npy bs=1 seek=128 conv=notrunc status=none
gives 'a big-endian .npy' '^y f32\[2,3\] min 0 max 5 mean 2.5$' "$wick" run relu.onnx -i big.npy
npy text.npy '|S4' 6
refuses 'strings in a .npy' 4 "text.npy: has elements of type '\|S4', which is not supported" \
  "$wick" run relu.onnx -i text.npy

# Types that are not supported, in words.
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 8 2 3)")" \
  "$(field 12 "$(value y 8 2 3)")" >string.onnx
refuses 'an input of strings' 4 \
  '^wick: the_y: Relu-13 \(strings\): works on strings, which Wick does not have$' \
  "$wick" compile string.onnx

# Options that do not fit say which they are, and are wrong usage.
npy v3.npy '<f4' 3,3 && npy vi.npy '<i8' 2,3
for command in compile run compare; do
  refuses "--shape of another rank, $command" 2 \
    '^wick: --shape x=2: input x has rank 2 in the model, rank 1 is given$' \
    "$wick" $command relu.onnx --shape x=2
  refuses "--shape of another size, $command" 2 \
    '^wick: --shape x=2x4: axis 1 of input x has size 3 in the model, 4 is given$' \
    "$wick" $command relu.onnx --shape x=2x4
  refuses "--value of another shape, $command" 2 \
    '^wick: --value x=v3.npy: axis 0 of input x has size 2 in the model, 3 is given$' \
    "$wick" $command relu.onnx --value x=v3.npy
  refuses "--value of another type, $command" 2 \
    '^wick: --value x=vi.npy: input x is f32 in the model, i64 is given$' \
    "$wick" $command relu.onnx --value x=vi.npy
  refuses "--bind against --shape, $command" 2 \
    "^wick: --shape x=3x3: axis 0 of input x is 'n', which is 2 already; 3 is given$" \
    "$wick" $command symbolic.onnx --bind n=2 --shape x=3x3
done
refuses 'a shape that is none' 2 "^wick: --shape x=2x-1: '-1' is not a size" \
  "$wick" compile relu.onnx --shape x=2x-1
refuses 'a shape that ends early' 2 "^wick: --shape x=2x: '' is not a size" \
  "$wick" compile relu.onnx --shape x=2x
refuses 'a binding that is none' 2 "--bind n=q: 'q' is not bound to a number or range" \
  "$wick" compile symbolic.onnx --bind n=q
refuses 'after one that is good' 2 "^wick: --shape x=2xq: 'q' is not a size" \
  "$wick" compile symbolic.onnx --bind n=2 --shape x=2xq
refuses 'a size beyond 64 bits' 2 "^wick: --bind n=9+: '9+' is not a size" \
  "$wick" compile symbolic.onnx --bind n=99999999999999999999

# --value that leaves nothing to compute.
for command in 'compile relu.onnx -q' 'run relu.onnx'; do
  err=$("$wick" $command --value x=x.npy 2>&1 >/dev/null)
  warning='--value leaves no input that is used: all outputs are constants'
  [[ $err == "wick: relu.onnx: $warning" ]] && good ||
    bad "--value of everything, $command: $err"
done

# Nothing that is written takes the place of what was read.
check 'a network' "$wick" zoo ds_cnn -o net.onnx
refuses 'quantise in place' 2 'net.onnx: --output would overwrite the model' \
  "$wick" quantize net.onnx --random 1 -o ./net.onnx
refuses 'a report in place of the model, quantize' 2 'net.onnx: --report would overwrite' \
  "$wick" quantize net.onnx --random 1 -o q.onnx --report net.onnx
refuses 'a report in place of the model' 2 'relu.onnx: --report would overwrite the model' \
  "$wick" compile relu.onnx --report relu.onnx
refuses 'a report in place of the output' 2 'relu.wick: --report would overwrite the output' \
  "$wick" compile relu.onnx --report relu.wick
refuses 'compile a package' 3 'relu.wick: is a Wick package, not an ONNX model' \
  "$wick" compile relu.wick
refuses 'an input without a file' 2 "^wick: --input x=: the file name is empty" \
  "$wick" run relu.onnx -i x=
refuses 'a value without a file' 2 "^wick: --value x=: the file name is empty" \
  "$wick" compile relu.onnx --value x=
status=$("$wick" run relu.onnx --output-dir x.npy 2>&1 >/dev/null)
[[ $status == 'wick: x.npy: is not a folder' ]] && good || bad "a file as output folder: $status"

# What the summary says about files.
check 'a bundle' "$wick" compile relu.onnx --emit bundle -o box.o -q
for name in box box.o box.h box.weights box.bundle; do
  gives "files of bundle $name" '^output +box.o, box.h, box.weights, [0-9.]+ (B|KiB)$' \
    "$wick" compile relu.onnx --emit bundle -o $name
done
for name in box box.o box.h box.weights box.bundle; do
  check "report of bundle $name" \
    "$wick" compile relu.onnx --emit bundle -o $name -q --report box.json
  files=$(tr -d ' \n' <box.json | grep -o '"files":\[[^]]*\]')
  [[ $files == '"files":["box.o","box.h","box.weights"]' ]] && good || bad "$name: $files"
  gives "size of bundle $name" "\"output_bytes\": $(cat box.o box.h box.weights | wc -c)" \
    cat box.json
done
mkfifo box.pipe
for name in /dev/null /dev/null.weights box.pipe; do
  refuses "a bundle in place of $name" 2 'is no regular file, and a bundle is several files' \
    "$wick" compile relu.onnx --emit bundle -o $name
done
rm box.pipe
gives 'no size of what is not there' '^size +[0-9.]+ KiB before$' \
  "$wick" quantize net.onnx --random 1 -o /dev/null
check 'quantised to a file' "$wick" quantize net.onnx --random 1 -o q.onnx
"$wick" quantize net.onnx --random 1 -o - 2>err >piped.onnx
check 'standard output has the model alone' cmp piped.onnx q.onnx
grep -q '^outputs ' err && good || bad "no summary: $(cat err)"
finish
