#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The schedule that is chosen takes no more cycles than any mode, or any idea left out: small
# networks, as the timing model has them (bench/accel_choices compares more of them).
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

nets=("$root"/tests/nets/int8/{residual_qdq_s8,unet_qlinear,cnn_qdq,transformer_qdq})
gives 'auto loses nowhere' '^8 of 8 compared, 0 lost by more than 0 %$' \
  "$root/bench/accel_choices" --wick "$wick" --machine base,tiny "${nets[@]}"
finish
