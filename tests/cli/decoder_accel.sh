#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A decoder in 8 bits on the accelerator: its caches are states that the host writes rows into and
# the accelerator reads where they lie, as far as they are filled.
nets=$(cd "$(dirname "$0")/../open" && pwd)
source "$(dirname "$0")/lib.bash" "$@"
"$wick" quantize "$nets/decoder_fixed.onnx" --bind seq=1 --random 4 -o int8.onnx >/dev/null
room=24

# inputs POSITION: of one token.
inputs() {
  local i ones=''
  npy ids.npy '<i8' 1,1
  npy at.npy '<i8' 1
  npy mask.npy '<i8' 1,$room
  byte $(($1 * 7 % 61)) | dd of=ids.npy bs=1 seek=128 conv=notrunc 2>/dev/null
  byte "$1" | dd of=at.npy bs=1 seek=128 conv=notrunc 2>/dev/null
  for ((i = 0; i <= $1; i++)); do ones+='\x01\0\0\0\0\0\0\0'; done
  printf '%b' "$ones" | dd of=mask.npy bs=1 seek=128 conv=notrunc 2>/dev/null
}
# text PACKAGE TOKENS OPTION…: what the logits of so many tokens are, a line each.
text() {
  local package=$1 tokens=$2 at
  shift 2
  rm -f kept
  for ((at = 0; at < tokens; at++)); do
    inputs "$at"
    "$wick" run "$package" --input input_ids=ids.npy --input cache_position=at.npy \
      --input attention_mask=mask.npy --state kept --output-dir out "$@" >/dev/null 2>err || return
    sha256sum <out/logits.npy
  done
}
compile() { "$wick" compile -q int8.onnx --state auto -o "$@" 2>err; }

# Tokens behind the 8th and 16th take other branches.
equal() {
  check 'for the processor' compile cpu.wick
  text cpu.wick $room >want
  [[ $(wc -l <want) == "$room" && $(sort -u want | wc -l) == "$room" ]] && good || bad 'each token'
  local machine
  for machine in tiny base; do
    check "$machine" compile "$machine.wick" --target "accel:$machine" --keys 8
    text "$machine.wick" $room >got
    cmp -s want got && good || bad "$machine: others logits: $(diff want got | head -3)"
  done
  check 'all keys at once' compile all.wick --target accel:tiny --keys all
  text all.wick $room >got
  cmp -s want got && good || bad 'all keys at once: other logits'
  text tiny.wick 2 --model rtl >got
  cmp -s <(head -2 want) got && good || bad "the RTL: other logits: $(<err)"
}

# What is not filled takes no time, and nothing is copied for the accelerator.
lies() {
  local few most
  compile tiny.wick --target accel:tiny --keys 8 --print-parts >/dev/null
  "$wick" compile int8.onnx --state auto --target accel:tiny --keys 8 --print-parts -o p.wick \
    >parts 2>/dev/null
  grep -qE 'state changes past_key_0 \(scale [^)]*\) u8\[1,2,3,8,8\], changes ' parts && good ||
    bad "the state lies as the accelerator reads it: $(grep state parts)"
  grep -qE 'on accel.*' parts && grep -q '(state), ' parts && good || bad 'it is read there'
  few=$(cycles 3) most=$(cycles 23)
  ((few > 0 && few < most)) && good || bad "cycles of few keys $few, of all $most"
  [[ $(grep -c '^row .* on cpu' parts) == 6 ]] && good || bad 'parts of the host'
}
cycles() {
  inputs "$1"
  "$wick" sim tiny.wick --model timing --input input_ids=ids.npy --input cache_position=at.npy \
    --input attention_mask=mask.npy 2>/dev/null |
    awk '/^ all /{gsub(",", "", $2); n = $2} END{print n}'
}

generates() {
  printf '3 1 4 1 5' >prompt
  "$wick" generate cpu.wick --tokens prompt --steps 12 -q >want
  "$wick" generate tiny.wick --tokens prompt --steps 12 -q >got
  [[ -s want ]] && cmp -s want got && good || bad "generate: $(<got)"
  "$wick" generate int8.onnx --target accel:tiny --keys 4 --tokens prompt --steps 12 -q >got 2>err
  cmp -s want got && good || bad "generate compiles: $(<got)$(<err)"
}

refused() {
  refuses 'no number' 2 "^wick: --keys: must be a number of keys, or all, not 'many'\$" \
    "$wick" compile int8.onnx --state auto --target accel --keys many
  refuses 'no key at all' 2 "^wick: --keys: must be a number of keys, or all, not '0'\$" \
    "$wick" compile int8.onnx --state auto --target accel --keys 0
  "$wick" run tiny.wick --input nothing=ids.npy >/dev/null 2>&1 && bad 'no such input' || good
}

equal
lies
generates
refused
finish
