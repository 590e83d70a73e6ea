#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every file that a command writes, on a device that is full: it says so in one line, and of what
# it writes besides nothing is left, and nothing older is lost.
here=$(realpath "$(dirname "$0")")
source "$here/lib.bash" "$@"
source "$here/train.bash"
small_models
cp "$here/../nets/int8/unet_qdq/model.onnx" unet.onnx
fitted fitted.onnx "$(field 1 "$(node Relu h y)")"
ramp x.npy '<f4' 6,4 24 1
ramp labels.npy '<i8' 6 6 3
printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\n' >plan.csv
stream_of_copies >copies.s
mkdir -p suite/a && cp relu.onnx suite/a/model.onnx
check 'a package' "$wick" compile unet.onnx -q --target accel:tiny --cpu x86-64 -o unet.wick
check 'a report' "$wick" sim unet.wick --model timing --json a.json
for kind in full full.o full.h full.weights full.json; do ln -s /dev/full $kind; done

# full NAME ARGUMENT...: a file of these commands is named full.
full() {
  local name=$1 before status
  shift
  echo older >old && echo older >old.json && echo older >old.o
  before=$(sha256sum old*)
  "$wick" "$@" >/dev/null 2>err
  status=$?
  sed -i '/random, seed 1$/d' err
  if [[ $status != 5 ]]; then bad "$name: exit status $status: $(cat err)"
  elif [[ $(wc -l <err) != 1 ]] || ! grep -q 'full.*No space left on device$' err; then
    bad "$name: says $(cat err)"
  elif [[ $(sha256sum old*) != "$before" ]]; then bad "$name: what was there is another one"
  elif [[ -n $(ls new* .new* old?* 2>/dev/null | grep -vxE 'old|old.json|old.o') ]]; then
    bad "$name: leaves $(ls new* .new* old* 2>/dev/null | tr '\n' ' ')"
  else good; fi
  rm -f new* old* err
}
data=(--data x.npy --labels labels.npy --loss cross-entropy --batch 2 --epochs 1)
while read -r line; do
  eval "words=($line)"
  full "$line" "${words[@]}"
done <<'END'
zoo ds_cnn -o full
compile relu.onnx -q --cpu x86-64 -o full
compile relu.onnx -q --cpu x86-64 -o full --report new.json
compile relu.onnx -q --cpu x86-64 -o full --report old.json
compile relu.onnx -q --cpu x86-64 --emit object -o full
compile relu.onnx -q --cpu x86-64 --emit asm -o full
compile relu.onnx -q --cpu x86-64 --emit llvm-ir -o full
compile relu.onnx -q --emit graph -o full
compile relu.onnx -q --emit program -o full
compile relu.onnx -q --emit dot -o full
compile relu.onnx -q --emit onnx -o full
grad relu.onnx --emit graph -o full
grad relu.onnx --emit onnx -o full
plan plan.csv -o full
asm copies.s -q -o full
disasm unet.wick --part 0 -o full
quantize fitted.onnx --bind n=6 --random 1 -o full
quantize fitted.onnx --bind n=6 --random 1 -o full --report new.json
sim unet.wick --random 1 --model timing --json full
sim unet.wick --random 1 --model timing --csv full
sim unet.wick --random 1 --model timing --html full
sim unet.wick --random 1 --model timing --trace full
diff a.json a.json --json full
test suite --cpu x86-64 --junit full
train fitted.onnx "${data[@]}" -o full
train fitted.onnx "${data[@]}" -o full --history new.csv --plot new.svg
train fitted.onnx "${data[@]}" -o full --emit package
END
finish
