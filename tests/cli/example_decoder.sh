#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/decoder, built as its page says: texts that begin alike go on as `wick generate` has each
# of them alone.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick")
sanitize=()
is_sanitized && sanitize=(-fsanitize=address,undefined)
has_thread_sanitizer && sanitize=(-fsanitize=thread)

check 'build' "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror "${sanitize[@]}" \
  -I "$root/runtime" "$root/examples/decoder/main.c" "$build/libwick_rt.a" -o decoder -lpthread -lm
check 'compile' "$wick" compile -q "$root/tests/open/decoder_fixed.onnx" --bind seq=1..4 \
  --state auto -o decoder.wick
sizes=batch_size=1,sequence_length=1..4,past_sequence_length=0..24
check 'compile caches that grow' "$wick" compile -q "$root/tests/open/decoder.onnx" \
  --bind $sizes --state auto -o growing.wick

texts=('5 9 2 6 5 3' 5 '2 2')
for package in decoder growing; do
  ./decoder $package.wick 8 '3 1 4 1' "${texts[@]}" >got.txt 2>&1
  for text in "${texts[@]}"; do
    "$wick" generate $package.wick -q -n 8 -t - <<<"3 1 4 1 $text" | paste -sd' '
  done >want.txt
  [[ $(wc -l <want.txt) == 3 ]] && cmp -s want.txt got.txt && good ||
    bad "$package: $(cat got.txt) instead of $(cat want.txt)"
done

# fails NAME PATTERN ARGUMENT...
fails() {
  local name=$1 pattern=$2 status
  shift 2
  ./decoder "$@" >got.txt 2>&1
  status=$?
  [[ $status == 1 || $status == 2 ]] && grep -q "$pattern" got.txt && good ||
    bad "$name: exit status $status: $(cat got.txt)"
}
check 'compile without a state' "$wick" compile -q "$root/tests/open/decoder_fixed.onnx" \
  --bind seq=1..4 -o plain.wick
fails 'no state' 'are expected' plain.wick 8 3 1
fails 'full' 'run: ' decoder.wick 30 3 1
fails 'grown full' 'attention_mask: ' growing.wick 30 3 1
fails 'letters' 'ids with blanks' decoder.wick 8 'x' 1
fails 'usage' '^usage: ' decoder.wick 8
fails 'no package' 'none.wick' none.wick 8 3 1
finish
