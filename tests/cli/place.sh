#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --place: operators that are put on a target; several machines of one kind.
tests=$(realpath "$(dirname "$0")/..")
source "$(dirname "$0")/lib.bash" "$@"
model=$tests/nets/int8/cnn_qdq/model.onnx

# same TARGET ARGUMENT...: the results are those of the accelerator alone.
"$wick" run "$model" --target accel --output-dir alone >/dev/null 2>&1
same() {
  check "$*" "$wick" run "$model" --target "$@" --output-dir got
  check "$*: the same results" cmp got/*.npy alone/*.npy
  rm -rf got
}
same accel:base,accel:tiny
same accel:base,accel:tiny --place 'Conv_1*=accel:tiny'
same accel:base,accel:tiny --place '*=accel:tiny' --place 'Conv_1*=accel:base' \
  --place 'image*=cpu' --place 'v47*=cpu'
same accel --place 'Conv_2*=cpu' --place 'Conv_26*=accel'

parts=(compile "$model" --print-parts -o none.wick --target)
gives 'parts name the machine' '^row [0-9]+: part [0-9]+ on accel:tiny: ' \
  "$wick" "${parts[@]}" accel:base,accel:tiny --place 'Conv_1*=accel:tiny'
gives 'so do the totals' '^on accel:tiny +2 parts, ' \
  "$wick" "${parts[@]}" accel:base,accel:tiny --place 'Conv_1*=accel:tiny'
gives 'one machine has no name' '^on accel +1 part, ' "$wick" "${parts[@]}" accel
gives 'the reason' 'conv on cpu, not accel: --place has it on cpu' \
  "$wick" "${parts[@]}" accel --place 'Conv_2*=cpu'
check 'compile' "$wick" compile "$model" --target accel --place 'Conv_2*=cpu' -q -o x.wick
gives 'the package records it' 'target=accel --place=Conv_2\*=cpu' "$wick" inspect x.wick

refuses 'what the target cannot' 4 'image_QuantizeLinear: target accel: map: an operand is f32' \
  "$wick" "${parts[@]}" accel --place 'image*=accel'
edges=(--place 'image*=cpu' --place 'v47*=cpu')
gives 'no host but for the edges' '^on cpu +2 parts, ' \
  "$wick" "${parts[@]}" accel --no-host "${edges[@]}"
same accel --no-host "${edges[@]}"
gives 'or one layer' '^on cpu +[3-9] parts, ' "$wick" "${parts[@]}" accel --no-host "${edges[@]}" \
  --place 'Conv_2*=cpu'
refuses 'nothing else' 4 'v47_DequantizeLinear: target accel: map: the result is f32$' \
  "$wick" "${parts[@]}" accel --no-host --place 'image*=cpu'
"$wick" compile "$tests/nets/float/transformer/model.onnx" -o none.wick --target accel --no-host \
  2>refused
check 'the first ten and a count' test "$(grep -cE '^(wick: .*: target accel|  .*): ' refused)" = 10
gives 'the count' '^  and [1-9][0-9]* others$' cat refused
# ---- the ends of a model, which need no names
gives 'what stands at the ends' '^  all of them stand at the ends of the model: --place @ends=cpu' \
  cat <("$wick" "${parts[@]}" accel --no-host 2>&1)
check 'not what multiplies' test "$(grep -c @ends refused)" = 0
gives 'the processor has the ends' '^on cpu +2 parts, ' \
  "$wick" "${parts[@]}" accel --no-host --place @ends=cpu
same accel --no-host --place @ends=cpu
gives 'and what has a name' '^on cpu +[3-9] parts, ' \
  "$wick" "${parts[@]}" accel --no-host --place @ends=cpu --place 'Conv_2*=cpu'
same accel --place @ends=cpu
"$wick" compile "$tests/nets/float/transformer/model.onnx" -o none.wick --target accel --no-host \
  --place @ends=cpu 2>refused
gives 'but nothing that multiplies' '^  Add_7: matmul: it computes on f32' cat refused
refuses 'another target' 2 '^wick: --place @ends=accel: the ends are what others leave to cpu$' \
  "$wick" "${parts[@]}" accel --place @ends=accel

refuses 'no such operator' 2 "^wick: .*--place: no operator is called 'Cnv\*'; --emit graph shows" \
  "$wick" "${parts[@]}" accel --place 'Cnv*=accel'
refuses 'no such target' 2 '^wick: --place Conv\*=opencl: --target does not list opencl$' \
  "$wick" "${parts[@]}" accel --place 'Conv*=opencl'
refuses 'no target' 2 "^wick: --place Conv\*: PATTERN=TARGET is expected: 'layer1.\*=accel'\$" \
  "$wick" "${parts[@]}" accel --place 'Conv*'
refuses 'which of them' 2 '^wick: --place C\*=accel: there are several targets accel; say which' \
  "$wick" "${parts[@]}" accel:base,accel:tiny --place 'C*=accel'
refuses 'twice' 2 '^wick: --target: cpu:avx2 stands there twice$' \
  "$wick" "${parts[@]}" cpu:avx2,cpu:avx2

# ---- several machines of one kind: by what they cost
gives 'the faster one has it' '^on accel:base +1 part, 36 operators, ' \
  "$wick" "${parts[@]}" accel:tiny,accel:base
gives 'one chain, one machine' '^on accel:base#2 +0 parts' \
  "$wick" "${parts[@]}" accel:base,accel:base
gives 'where they are put' '^on accel:base#2 +[1-9]' \
  "$wick" "${parts[@]}" accel:base,accel:base --place 'Conv_2*=accel:base#2'
parts[1]=$tests/nets/int8/transformer_qdq/model.onnx
gives 'branches on both' '^on accel:base#2 +[1-9][0-9]* parts?, ' \
  "$wick" "${parts[@]}" accel:base,accel:base
gives 'the same results' ' 0 failed, 0 skipped' \
  "$wick" test "$tests/nets/int8" --target accel:base,accel:base
finish
