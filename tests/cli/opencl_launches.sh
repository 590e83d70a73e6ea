#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How many kernels a run launches on a GPU, and how many there are to compile: no more than here.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/cli/lib.bash" "$@"
gpu=opencl:$root/tests/checksums/devices/gpu.json

# counts NAME LAUNCHES KERNELS
counts() {
  local name=$1 launches kernels
  "$wick" zoo "$name" -o net.onnx >/dev/null 2>&1
  "$wick" compile net.onnx --target "$gpu" --no-host -q --emit opencl-c -o net.cl \
    --explain-kernel >said.txt 2>&1 || bad "$name: not compiled"
  launches=$(($(sed -nE 's/.*: ([0-9]+) launches of products .* us, ([0-9]+) others .*/\1 + \2/p' \
    said.txt)))
  kernels=$(grep -c '^__kernel' net.cl)
  if ((launches <= $2 && kernels <= $3)); then good
  else bad "$name: $launches launches and $kernels kernels, not at most $2 and $3"; fi
  echo "$name: $launches launches, $kernels kernels"
  rm -f net.onnx net.cl said.txt
}

counts mobilenet_v2 56 33
counts efficientnet_b0 123 71
counts ds_cnn 15 9
counts whisper_tiny 47 13
counts convnext_tiny 100 33
finish
