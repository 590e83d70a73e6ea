#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A file or folder that cannot be written is refused before the work: here the work would fail, too,
# since the model is none, and nothing says so.
source "$(dirname "$0")/lib.bash" "$@"

echo 'no model' >bad.onnx
echo 'no stream' >bad.s
echo 'id,lower' >bad.csv
printf 'array = [8, 16];\n' >space.cfg
npy x.npy '<f4' 1,2
echo '{}' >a.json && cp a.json b.json
mkdir taken

# late COMMAND...: OUT stands for what cannot be written.
late() {
  local file
  for file in none/out taken/none/out taken bad.onnx/out; do
    refuses "$* with $file" 5 "^wick: $file(\\.[a-z]+)?: cannot write: " "$wick" "${@//OUT/$file}"
  done
}
late compile bad.onnx -o OUT
late compile bad.onnx --report OUT
late compile bad.onnx --emit asm -o OUT
late compile bad.onnx --emit onnx -o OUT
late quantize bad.onnx --random 1 -o OUT
late quantize bad.onnx --random 1 -o q.onnx --report OUT
late grad bad.onnx --emit graph -o OUT
for option in -o --history --history-steps --plot; do
  late train bad.onnx -o t.onnx --data x=x.npy --loss mse $option OUT
done
for option in --json --html --trace --csv; do
  late sim bad.onnx --model timing $option OUT
  [[ $option == --csv ]] || late sim bad.s --model timing $option OUT
done
late sim bad.s --model timing --dump y=OUT
late sim bad.s --coverage OUT
late sim bad.s --fst 0:1=OUT
late asm bad.s -o OUT
late disasm bad.s -o OUT
late plan bad.csv -o OUT
late diff a.json b.json --json OUT
late test taken --junit OUT
late zoo lstm -o OUT
for file in none taken/none bad.onnx; do
  refuses "a bundle in $file" 5 "^wick: $file/out\\.[a-z]+: cannot write: " \
    "$wick" compile bad.onnx --emit bundle -o $file/out
done

# late_folder COMMAND...
late_folder() {
  refuses "$* in no folder" 5 '^wick: none/out: cannot make the folder: No such file' \
    "$wick" "${@//OUT/none/out}"
  refuses "$*, a file" 5 '^wick: bad.onnx: is not a folder$' "$wick" "${@//OUT/bad.onnx}"
  refuses "$* in a file" 5 '^wick: bad.onnx/out: cannot make the folder: Not a directory$' \
    "$wick" "${@//OUT/bad.onnx/out}"
}
late_folder run bad.onnx --output-dir OUT
late_folder run bad.onnx --dump-tensors OUT
late_folder sweep bad.onnx --set dram_latency=50 -o OUT
late_folder explore bad.onnx --space space.cfg -o OUT
late_folder train bad.onnx -o t.onnx --data x=x.npy --loss mse --checkpoint OUT

# What can be written is made and used, also with a slash behind it.
small_models
check 'a folder that is new' "$wick" run relu.onnx --output-dir new/
check 'once more' "$wick" run relu.onnx --output-dir new
check 'its file' test -s new/y.npy
check 'a new name' "$wick" compile relu.onnx -q -o taken/relu.wick
check 'what is no file' "$wick" compile relu.onnx -q -o taken/relu.wick --report /dev/null
check 'nothing else is left' test "$(ls taken)" = relu.wick
finish
