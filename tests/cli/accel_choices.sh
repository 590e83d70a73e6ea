#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The schedule that is chosen takes no more cycles than any mode, or any idea left out: small
# networks, as the timing model has them (bench/accel_choices compares more of them).
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

nets=("$root"/tests/nets/int8/{residual_qdq_s8,unet_qlinear,cnn_qdq,transformer_qdq})
gives 'auto loses nowhere' '^8 of 8 compared, 0 lost by more than 0 %$' \
  "$root/bench/accel_choices" --wick "$wick" --machine base,tiny "${nets[@]}"

# Where there is little room, groups that fit one by one leave gaps that others do not fit into.
predicted() { # OPTION...: by the schedule model
  "$wick" compile net.onnx --target accel:small.cfg --quantize-random 1 -o net.wick "$@" \
    2>/dev/null | awk '/^predicted/ { print $2 }'
}
printf 'scratchpad = 16384;\n' >small.cfg
check 'a network' "$wick" zoo mobilenet_v2 -o net.onnx
auto=$(predicted)
for idea in fusion stagger stacks; do
  cycles=$(predicted --without "$idea")
  check "auto, $auto cycles, against $cycles without $idea" test "$auto" -le "$cycles"
done
finish
