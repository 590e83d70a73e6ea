#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Outputs that are strings or lists of maps in ONNX: what is said of them, and where labels go.
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash" "$@"
cases=${wanted%/cli/*}/onnx

cp "$cases/SkZipMapText/model.onnx" net.onnx
mkdir -p SkZipMapText && cp -r "$cases/SkZipMapText/." SkZipMapText
shape=(--shape x=7x5)

for target in cpu eval; do
  gives "labels of elements, $target" '^  labels [0-2] (ash|birch|cedar), [0-2] ' \
    "$wick" run net.onnx "${shape[@]}" --target $target
  gives "labels of columns, $target" '^  top of the first row (ash|birch|cedar) \([0-9.e-]+\), ' \
    "$wick" run net.onnx "${shape[@]}" --target $target
done
"$wick" compile net.onnx "${shape[@]}" -o net.wick >/dev/null 2>notes
good_note="^wick: net.onnx: output 'output_label' is numbers, not strings; 0, 1, … stand for 'ash'"
grep -q "$good_note" notes && good || bad 'no note on strings'
grep -q "'output_probability' is a tensor, not a list of maps; its columns are 'ash', 'b" notes &&
  good || bad 'no note on maps'
gives 'labels of a package' '^  labels [0-2] (ash|birch|cedar), ' "$wick" run net.wick
gives 'inspected: elements' '^    0, 1, … stand for +ash, birch, cedar$' "$wick" inspect net.wick
gives 'inspected: columns' '^    columns +ash, birch, cedar$' "$wick" inspect net.wick
gives 'as text' '^    output %.* elements \{"ash", "birch", "cedar"\}$' \
  "$wick" compile net.onnx "${shape[@]}" --emit graph -o -
check 'a bundle' "$wick" compile net.onnx "${shape[@]}" --emit bundle -o net
grep -q '^#define NET_OUTPUT_0_LABELS {"ash", "birch", "cedar"}$' net.h && good ||
  bad 'the header has no labels of elements'
grep -q '^#define NET_OUTPUT_1_LABELS_COUNT 3 ' net.h && good || bad 'nor of columns'

# Strings and maps again, which mean the same.
check 'as ONNX' "$wick" compile net.onnx "${shape[@]}" --emit onnx -o SkZipMapText/model.onnx
gives 'the same results' '^1 passed, 0 failed' "$wick" test SkZipMapText
cp -r "$cases/SkZipMap" SkZipMap
check 'maps of numbers as ONNX' "$wick" compile "$cases/SkZipMap/model.onnx" "${shape[@]}" \
  --emit onnx -o SkZipMap/model.onnx
gives 'their results' '^1 passed, 0 failed' "$wick" test SkZipMap

# Expected strings and maps count.
differs() { gives "$1" "$2" bash -c "'$wick' test SkZipMapText || exit 0"; }
set=SkZipMapText/test_data_set_0
cp $set/output_0.pb strings.pb && cp $set/output_1.pb maps.pb
sed -i 's/2\x05birch/2\x05cedar/' $set/output_0.pb
differs 'another string' "^FAIL .*output output_label: element [0-6] is 'birch', want 'cedar'$"
sed 's/birch/beech/' strings.pb >$set/output_0.pb
differs 'a string that is no label' "^FAIL .* want a string that is none of the model's labels$"
cp strings.pb $set/output_0.pb
sed 's/cedar/clear/' maps.pb >$set/output_1.pb
differs 'a key that is no label' "is for none of the model's labels$"
head -c 60 maps.pb >$set/output_1.pb
differs 'half a sequence' '^FAIL .*output_1.pb'
finish
