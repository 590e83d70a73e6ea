#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick quantize --calibration: which files there are, which input and which sample each belongs to.
# What was read shows in the ranges: inputs hold one number each, which the report repeats.
source "$(dirname "$0")/lib.bash" "$@"

# full FILE NUMBER DIMS [DESCR]: a .npy full of a float32 given as four escaped bytes.
declare -A bytes=([1]='\x00\x00\x80\x3f' [2]='\x00\x00\x00\x40' [3]='\x00\x00\x40\x40'
  [5]='\x00\x00\xa0\x40' [-4]='\x00\x00\x80\xc0')
full() {
  local count=1 d i
  mkdir -p "$(dirname "$1")"
  npy "$1" '<f4' "$3"
  for d in ${3//,/ }; do count=$((count * d)); done
  head -c 128 "$1" >head
  for ((i = 0; i < count; i++)); do printf '%b' "${bytes[$2]}"; done | cat head - >"$1"
  rm head
}
# sum.onnx: p = x w, q = b w, y = p + q of f32[2,2]; one.onnx: y = x x; open.onnx: of a batch.
inputs=''
for name in x b w; do inputs+=$(field 11 "$(value $name 1 2 2)"); done
model "$(field 1 "$(node MatMul 'x w' p)")$(field 1 "$(node MatMul 'b w' q)")$(
  field 1 "$(node Add 'p q' y)")" "$inputs" "$(field 12 "$(value y 1 2 2)")" >sum.onnx
model "$(field 1 "$(node MatMul 'x x' y)")" "$(field 11 "$(value x 1 2 2)")" \
  "$(field 12 "$(value y 1 2 2)")" >one.onnx
model "$(field 1 "$(node MatMul 'x x' y)")" "$(field 11 "$(value x 1 n 2 2)")" \
  "$(field 12 "$(value y 1 n 2 2)")" >open.onnx

quantise() { "$wick" quantize "$1" -o q.onnx --report r.json --method minmax "${@:2}"; }
# seen NAME SAMPLES RANGES MODEL ARGUMENTS...: the model is quantised on so many samples; RANGES are
# "TENSOR:MIN:MAX" of the layers' results.
seen() {
  local name=$1 samples=$2 want=$3 got
  shift 3
  if ! quantise "$@" >log 2>&1; then
    bad "$name: $(head -3 log)"
    return
  fi
  got=$(tr -d ' ",\n' <r.json | sed 's/name:/\n/g' |
    sed -nE 's/.*tensor:([a-z]+)snr.*min:([0-9.-]+)max:([0-9.-]+)scale.*/\1:\2:\3/p' | paste -sd' ')
  [[ $(awk '$1 == "calibration" { print $2 }' log) == "$samples" && $got == "$want" ]] && good ||
    bad "$name: $(grep ^calibration log), ranges $got"
}

# One input: y = 2 x x for a tensor of one number.
full x1.npy 1 2,2
full x2.npy 2 2,2
full x3.npy 3 2,2
seen 'a file' 1 'y:2.0:2.0' one.onnx --calibration x1.npy
seen 'a named file' 1 'y:8.0:8.0' one.onnx --calibration x=x2.npy
seen 'files' 3 'y:2.0:18.0' one.onnx --calibration x1.npy --calibration x=x3.npy x2.npy
full folder/x.npy 1 2,2
full folder/other.npy 3 2,2
echo text >folder/readme.txt
: >folder/.hidden.npy
seen 'a folder: every file is a sample' 2 'y:2.0:18.0' one.onnx --calibration folder
full sets/0/x.npy 2 2,2
full sets/1/x.npy 3 2,2
seen 'folders of samples' 2 'y:8.0:18.0' one.onnx --calibration sets
full sets/other.npy 1 2,2
seen 'folders beside files' 3 'y:2.0:18.0' one.onnx --calibration sets
full sets/1/again.npy 3 2,2
refuses 'two files of a sample' 3 \
  "sets/1/x.npy: a second file for input 'x', which already has sets/1/again.npy" \
  quantise one.onnx --calibration sets
full rows.npy 5 3,2,2
seen 'rows are samples' 3 'y:50.0:50.0' open.onnx --calibration rows.npy
full zero/0.npy 1 1,2,2
full zero/1.npy 5 2,2,2
seen 'each as many as it has' 3 'y:2.0:50.0' open.onnx --calibration zero
mkdir 'a=b' && cp x2.npy 'a=b/x=1.npy'
seen 'names of files with =' 1 'y:8.0:8.0' one.onnx --calibration 'a=b/x=1.npy'
seen 'and of inputs' 1 'y:8.0:8.0' one.onnx --calibration 'x=a=b/x=1.npy'

# Several inputs.
full all/x.npy 1 2,2
full all/b.npy 2 2,2
full all/w.npy 3 2,2
seen 'a folder is a sample' 1 'p:6.0:6.0 q:12.0:12.0 y:18.0:18.0' sum.onnx --calibration all
seen 'named files' 1 'p:6.0:6.0 q:12.0:12.0 y:18.0:18.0' \
  sum.onnx --calibration x=x1.npy b=x2.npy w=x3.npy
full y5.npy 5 2,2
full y4.npy -4 2,2
seen 'the n-th of each make a sample' 2 'p:6.0:20.0 q:-16.0:12.0 y:4.0:18.0' sum.onnx \
  --calibration x=x1.npy x=y5.npy b=x2.npy b=y4.npy w=x3.npy w=x2.npy
full many/x.1.npy 1 2,2
full many/b.1.npy 2 2,2
full many/w.1.npy 3 2,2
full many/x.b.2.npy 5 2,2
full many/b.b.2.npy -4 2,2
full many/w.b.2.npy 2 2,2
seen 'suffixes tell samples apart' 2 'p:6.0:20.0 q:-16.0:12.0 y:4.0:18.0' sum.onnx \
  --calibration many
full nested/1/x.npy 1 2,2
full nested/1/b.npy 2 2,2
full nested/1/w.npy 3 2,2
full nested/2/x.npy 5 2,2
full nested/2/b.npy -4 2,2
full nested/2/w.npy 2 2,2
seen 'folders are samples' 2 'p:6.0:20.0 q:-16.0:12.0 y:4.0:18.0' sum.onnx --calibration nested
gives 'folders, files and random numbers' '^calibration +5 samples' \
  "$wick" quantize sum.onnx -o q.onnx --calibration nested --calibration all --random 2
refuses 'no input of that name' 3 \
  "x1.npy: which of the model's 3 inputs it is for is not clear: give NAME=FILE" \
  quantise sum.onnx --calibration x1.npy
rm nested/2/b.npy
refuses 'an input without a file' 3 "nested/2: no file for input 'b'" \
  quantise sum.onnx --calibration nested
refuses 'a sample without a file' 3 "calibration sample 2: no file for input 'w'" \
  quantise sum.onnx --calibration x=x1.npy b=x2.npy w=x3.npy x=x1.npy b=x1.npy
for name in other bias; do # a suffix begins with a dot
  full nested/2/$name.npy 1 2,2
  refuses "$name, a file of no input" 3 "nested/2/$name.npy: which of the" \
    quantise sum.onnx --calibration nested
  rm nested/2/$name.npy
done
finish
