#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whole networks for the accelerator: what runs on the host and why, how many of the multiplications
# do not, and cycles. No wall-clock time.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"

# net NAME FOLDER [OPTION...]: compiles; NAME.host: operators on the host, each with the reason, and
# NAME.macs: multiplications on the accelerator and in all.
net() {
  "$wick" compile "$2/model.onnx" --target accel -o "$1.wick" --print-parts "${@:3}" \
    >"$1.parts" 2>"$1.log" || { bad "$1: does not compile" && head -3 "$1.log" && return; }
  sed -nE 's/^ *([a-z_]+) on cpu, not accel: /\1: /p' "$1.parts" | LC_ALL=C sort >"$1.host"
  awk '/^ *row .* part .* on / {
         for (i = 1; i <= NF; i++) {
           if ($i == "on") accel = $(i + 1) == "accel:"
           if ($i == "MACs,") { all += $(i - 1); if (accel) on += $(i - 1) }
         }
       } END { printf "%d %d\n", on, all }' "$1.parts" >"$1.macs"
}

# at_edges NAME: nothing is on the host but conversions from and to real numbers; all
# multiplications are on the accelerator.
at_edges() {
  printf 'map: an operand is f32\nmap: the result is f32\n' >edges
  gives "$1: on the host" '^0$' bash -c "comm -23 $1.host edges | wc -l"
  gives "$1: multiplications" '^yes$' awk '{ print ($1 == $2 ? "yes" : $0) }' "$1.macs"
}

# on_host NAME OPERATOR...: of these, and of no others, some run on the host.
on_host() {
  local name=$1
  shift
  printf '%s\n' "$@" | LC_ALL=C sort -u >wanted
  check "$name: operators on the host" \
    bash -c "cut -d: -f1 $name.host | LC_ALL=C sort -u | diff - wanted"
}

# cycles NAME MOST: of the timing model.
cycles() {
  "$wick" sim "$1.wick" --model timing --random 1 --json "$1.json" >/dev/null 2>&1
  awk '/"cycles":/ { gsub(/[^0-9]/, ""); print; exit }' "$1.json" >"$1.cycles"
  gives "$1: cycles" '^yes$' awk -v most="$2" '{ print ($1 <= most ? "yes" : $1) }' "$1.cycles"
}

# Shuffled channels, and weights of u8 that have 9 bits less their zero point, too.
for name in cnn_qdq cnn_qlinear residual_qdq_s8 residual_qlinear shuffled_qdq_u8; do
  net "$name" "$tests/nets/int8/$name"
  at_edges "$name"
done
net unet_qdq "$tests/nets/int8/unet_qdq"
on_host unet_qdq map conv_transpose
gives 'unet_qdq: multiplications' '^yes$' \
  awk '{ print ($1 >= 0.94 * $2 ? "yes" : $0) }' unet_qdq.macs
net gru_qdq "$tests/nets/int8/gru_qdq"
on_host gru_qdq concat loop map matmul reduce reshape
for name in cnn_qdq residual_qdq_s8 shuffled_qdq_u8 unet_qdq transformer_qdq gru_qdq; do
  for mode in off auto; do
    gives "$name, $mode" '^1 passed, 0 failed, 0 skipped' \
      "$wick" test "$tests/nets/int8/$name" --target accel --prefetch $mode
  done
done

shared=$tests/../../shared/models
for row in mnist_qdq:0 squeezenet1_1_qdq:0 mobilenet_v2_qdq:1900000 resnet50_qdq:16800000; do
  name=${row%:*}
  [[ -d $shared/$name ]] || { echo "note: ../shared/models/$name is not here" && continue; }
  net "$name" "$shared/$name"
  at_edges "$name"
  ((${row#*:})) && cycles "$name" "${row#*:}"
done
for name in shufflenet_v2 light_shufflenet; do
  [[ -d $shared/$name ]] || { echo "note: ../shared/models/$name is not here" && continue; }
  net "$name" "$shared/$name" --quantize-random 1 --effort 0
  gives "$name: multiplications" '^yes$' awk '{ print ($1 == $2 ? "yes" : $0) }' "$name.macs"
done
finish
