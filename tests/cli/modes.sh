#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Files and folders that commands make belong to whom the umask says.
here=$(realpath "$(dirname "$0")")
source "$here/lib.bash" "$@"
source "$here/train.bash"
source "$here/external.bash"
small_models
fitted fit.onnx "$(field 1 "$(node Relu h y)")"
mkdir -p ex/w && external ex w/w.bin
npy three.npy '<f4' 2,3
ramp x.npy '|u1' 8,4 32 251
ramp t.npy '<i8' 8 8 3
gemm=$(realpath "$here/../onnx/QGemm/model.onnx")

# made NAME COMMAND...: what it leaves in the folder `new` is as the umask lets it be.
made() {
  local name=$1 mask bad_ones
  shift
  for mask in 002 027; do
    rm -rf new && mkdir new
    (umask $mask && "$@") >out 2>&1 || bad "$name: $(head -2 out)"
    bad_ones=$(cd new && find . -mindepth 1 -type d ! -perm $(printf %o $((0777 & ~$mask))) \
      -o -mindepth 1 -type f ! -perm $(printf %o $((0666 & ~$mask))))
    [[ -n $(ls -A new) && -z $bad_ones ]] && good ||
      bad "$name, umask $mask: $(cd new && stat -c '%a %n' $bad_ones)"
  done
}
made 'a model' "$wick" zoo lstm -o new/x.onnx
made 'a package and a report' "$wick" compile relu.onnx -q -o new/x.wick --report new/x.json
made 'a bundle' "$wick" compile relu.onnx -q --emit bundle -o new/x
made 'results' "$wick" run relu.onnx -i three.npy --output-dir new/results
made 'tensors' "$wick" run relu.onnx -i three.npy --dump-tensors new/tensors
made 'a quantised model' "$wick" quantize fit.onnx --bind n=1 --random 1 -o new/q.onnx
made 'a sweep' "$wick" sweep "$gemm" -m tiny --effort 0 -o new/sweep
made 'training' "$wick" train fit.onnx --data x.npy --labels t.npy --loss cross-entropy --epochs 1 \
  --batch 4 -o new/y.onnx --checkpoint new/ck --history new/h.csv --plot new/p.html
made 'weights in a folder' "$wick" train ex/m.onnx --data x.npy --labels t.npy --batch 4 \
  --loss cross-entropy --epochs 1 -o new/m.onnx
finish
