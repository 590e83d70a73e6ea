#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The modes that prefetch is compared with are the best that their rules allow: no more cycles of
# ResNet-50 and MobileNetV2, by the timing model, than were reached once.
source "$(dirname "$0")/lib.bash" "$@"

# at_most NETWORK MODE CYCLES
at_most() {
  check "$1, $2: compiles" "$wick" compile "$1.onnx" --target accel --quantize-random 1 \
    --prefetch "$2" --quiet -o net.wick
  "$wick" sim net.wick --model timing --random 1 --json sim.json >/dev/null 2>&1
  awk '/"cycles":/ { gsub(/[^0-9]/, ""); print; exit }' sim.json >cycles
  gives "$1, $2: cycles" '^yes$' awk -v most="$3" '{ print ($1 <= most ? "yes" : $1) }' cycles
}

for network in resnet50 mobilenet_v2; do "$wick" zoo "$network" -o "$network.onnx" >/dev/null; done
at_most resnet50 off 22700000
at_most resnet50 double 17500000
at_most mobilenet_v2 off 2500000
at_most mobilenet_v2 double 2100000
finish
