#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/one-model.md, word for word but for a smaller encoder: every target has the
# same bytes.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
if ! command -v verilator >/dev/null; then finish; fi
mkdir bin && ln -s "$wick" bin/wick
export PATH=$PWD/bin:$PATH
small="cp '$root/tests/nets/float/transformer/model.onnx'"
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$root/docs/one-model.md" |
  sed "s|^wick zoo bert_base -o|$small|" >commands.sh
(($(grep -c . commands.sh) > 20)) && good || bad 'the page has few commands'
check 'the page' bash -e commands.sh
for output in cnn.cpu/*.npy bert.cpu/*.npy; do
  for target in opencl accel rtl; do
    check "$output, $target" cmp "$output" "${output%%.*}.$target/${output##*/}"
  done
done
check 'several devices' cmp cnn.cpu/output.npy cnn.all/output.npy
finish
