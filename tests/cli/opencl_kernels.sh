#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What kernels for a GPU that is not here are made of: the tiles that the model of the device
# chooses for layers with names (--explain-kernel), and the instructions that clang makes of all
# kernels for that GPU.
here=$(realpath "$(dirname "$0")")
source "$here/lib.bash" "$@"
gpu=$PWD/gpu.json
cp "$here/../checksums/devices/h200.json" gpu.json
models=(resnet50 mobilenet_v2 bert_base)
for model in "${models[@]}"; do "$wick" zoo "$model" -o "$model.onnx"; done

# ---- tiles -------------------------------------------------------------------------------------

explain() { "$wick" compile "$1.onnx" -q --target "opencl:$gpu" "${@:2}" -o net.wick 2>&1; }

# The chosen row: tile, parts, groups, items, at once, waves, steps, …, microseconds.
chosen() { explain "$1" --explain-kernel="$2" | awk '/^  \*/ { print; exit }'; }

tile() { # MODEL NODE GROUPS WAVES MICROSECONDS: at least so many groups, at most of the others
  local row
  read -r -a row <<<"$(chosen "$1" "$2")"
  echo "$1, $2: ${row[*]}"
  awk -v groups="${row[3]}" -v waves="${row[6]}" -v took="${row[11]}" \
    -v least="$3" -v most="$4" -v time="$5" \
    'BEGIN { exit !(groups >= least && waves > 0 && waves <= most && took > 0 && took <= time) }'
}
# There are 132 units. A 3x3 layer of 256 channels on 14 x 14 took 320 us in 12 groups.
check 'a layer of 14 x 14' tile resnet50 layer3.1/batch_norm_2 100 1 20
check 'a layer of 7 x 7' tile resnet50 layer4.1/batch_norm_2 100 1 25
check 'a layer of few channels' tile resnet50 stem/batch_norm 90 1 15
check 'one row' tile mobilenet_v2 classifier/linear 8 1 12
check 'a wide product' tile bert_base layer9/linear_5_2 96 1 25
check 'a product of some rows' tile bert_base layer9/linear_2_3 96 1 15
explain resnet50 --explain-kernel >all.txt
gives 'the sum of all' '^NVIDIA H200, by the model: [0-9]+ launches of products' cat all.txt
refuses 'a layer that is not there' 2 "no product of a node 'nothing' is on the device" \
  "$wick" compile resnet50.onnx -q --target "opencl:$gpu" --explain-kernel=nothing -o net.wick
refuses 'no GPU' 2 'the model is one of GPUs' "$wick" compile resnet50.onnx -q \
  --target "opencl:$here/../checksums/devices/cpu.json" --explain-kernel -o net.wick

# ---- instructions ------------------------------------------------------------------------------

library=/usr/lib/clc/nvptx64--nvidiacl.bc
if [[ ! -e $library ]]; then
  echo 'note: there is no libclc-19: what clang makes of kernels is not tested'
  finish
fi
ptx() { # of a model's kernels
  "$wick" compile "$1.onnx" -q --target "opencl:$gpu" --emit opencl-c -o "$1.cl" &&
    clang-19 -x cl -cl-std=CL1.2 --target=nvptx64-nvidia-cuda -march=sm_90 -O3 -w \
      -Xclang -finclude-default-header -Xclang -mlink-builtin-bitcode -Xclang "$library" \
      -S "$1.cl" -o "$1.ptx" && awk -f "$here/opencl_kernels.awk" "$1.ptx" >"$1.txt"
}
# Kernels of products with tiles: at most 1.25 instructions for a product, no private memory.
is_lean() {
  sed -nE '/^\/\* (conv|matmul): /,/^void/s/^void (k[0-9]+)\(.*/\1/p' "$1.cl" | sort |
    join - <(sort "$1.txt") >"$1.products" || return
  [[ -s $1.products ]] && ! awk '($2 >= 64 && $3 > 1.25) || $4' "$1.products" | grep .
}
for model in "${models[@]}"; do
  check "instructions for $model" ptx "$model"
  check "few instructions for $model" is_lean "$model"
  gives "a tile of $model" '^k[0-9]+ 512 ' cat "$model.txt"
done
cp "$here/../nets/int8/residual_qlinear/model.onnx" bytes.onnx
"$wick" compile resnet50.onnx -q --convert f16 --emit onnx -o halves.onnx
"$wick" compile bert_base.onnx -q --convert bf16 --emit onnx -o upper.onnx
for model in bytes halves upper; do check "instructions for $model" ptx $model; done
gives 'matrix units for bytes' 'mma\.sync\.aligned\.m16n8k32\.row\.col\.s32' cat bytes.ptx
gives 'matrix units for halves' 'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16' cat halves.ptx
gives 'matrix units for bf16' 'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16' cat upper.ptx
sed -i '/"matrix"/d; s/"unified_memory": false,/"unified_memory": false/' gpu.json
ptx bytes
gives 'dot products of four bytes' 'dp4a\.[su]32\.s32' cat bytes.ptx
finish
