#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick compile: what it writes, and that it writes the same every time.
onnx=$(realpath "$(dirname "$0")/../onnx")
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx

gives 'summary: operators' '^operators +[0-9]+ in the model, [0-9]+ after graph passes, [0-9]+' \
  "$wick" compile net.onnx
for row in multiply-accumulates weights 'activation peak' 'scratch per thread' copies \
  'passes that fired' 'compile time' output; do
  gives "summary: $row" "^$row " "$wick" compile net.onnx
done
[[ -z $("$wick" compile net.onnx -q) ]] && good || bad '-q prints something'
[[ -f net.wick ]] && good || bad 'the package is named after the model'
mkdir -p models/named && cp net.onnx models/named/model.onnx
check 'named after the folder' "$wick" compile models/named/model.onnx -q
[[ -f named.wick ]] && good || bad 'model.onnx is not named after its folder'

# In 16 bits: half the weights, f32 at the edges, and again a model that is the same.
weights() { sed -nE 's/^weights +([0-9.]+) ([KM]iB)$/\1 \2/p'; }
"$wick" compile net.onnx -o whole.wick | weights >whole.size
for type in f16 bf16; do
  "$wick" compile net.onnx --convert $type -o $type.wick | weights >$type.size
  awk '{ getline half <"'$type'.size"; split(half, h); exit !(h[2] == $2 && h[1] < 0.55 * $1) }' \
    whole.size && good || bad "--convert $type: $(cat $type.size) of $(cat whole.size)"
  (($(stat -c %s $type.wick) < $(stat -c %s whole.wick))) && good ||
    bad "--convert $type: the package is no smaller"
  gives "$type: the input stays f32" 'input.* f32' "$wick" inspect $type.wick
  check "$type as a model" "$wick" compile net.onnx --convert $type --emit onnx -o $type.onnx -q
  check "$type runs" "$wick" run $type.wick --output-dir out-$type
  check "$type as a model runs" "$wick" run $type.onnx --output-dir out-$type-onnx
  check "$type twice" diff -r out-$type out-$type-onnx
done
gives 'converted where it is said' '\(%.*\) \{to=bf16\}' \
  "$wick" compile relu.onnx --convert bf16 --stop-after convert -q

# In 4 and 8 bits: the weights of products alone, with what was lost; targets have the evaluator's
# results.
check 'a network of products' "$wick" zoo dlrm -o dlrm.onnx
for row in 'i4 i4 32' 'i4:128 i4 128' 'i8 i8 32'; do
  read -r type name block <<<"$row"
  "$wick" compile dlrm.onnx --convert $type -o blocks.wick -q --report blocks.json 2>blocks.err
  said="dlrm.onnx: 4 products' weights are $name in blocks of $block: relative error 0"
  grep -qF "$said" blocks.err && good || bad "--convert $type says: $(cat blocks.err)"
  (($(grep -c '"relative_error": 0.0' blocks.json) == 4)) && good || bad "$type: errors of tensors"
  check "$type as a model" "$wick" compile dlrm.onnx --convert $type --emit onnx -o blocks.onnx -q
  for target in cpu cpu:x86-64 opencl; do
    check "$type on $target" "$wick" compare blocks.onnx --target $target
  done
done
"$wick" compile relu.onnx --convert i8 -q 2>&1 >none.err | grep -q 'no weights became i8' && good ||
  bad 'nothing to convert'
# What may be computed of constants grows with the files that these are in: 400 MiB, of holes here.
far_dims='dim { dim_value: 1 } dim { dim_value: 10240 }'
cat >far.onnxtxt <<END
ir_version: 8
graph {
  name: "far"
  node { input: "x" input: "w" output: "y" op_type: "MatMul" }
  initializer {
    name: "w" dims: 10240 dims: 10240 data_type: 1 data_location: EXTERNAL
    external_data { key: "location" value: "far.bin" }
  }
  input { name: "x" type { tensor_type { elem_type: 1 shape { $far_dims } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { $far_dims } } } }
}
opset_import { version: 17 }
END
truncate -s 400M far.bin
check 'large weights in a file of their own' \
  "$wick" compile far.onnxtxt --convert f16 --stop-after convert -q -o far.txt
rm far.bin
mkdir there && cp net.onnx there/ && (cd there && "$wick" compile net.onnx -q)
check 'same input, same bytes' cmp net.wick there/net.wick
for kind in graph program dot onnx asm llvm-ir object; do
  check "emit $kind" "$wick" compile net.onnx -q --emit $kind -o one.$kind
  (cd there && "$wick" compile net.onnx -q --emit $kind -o one.$kind)
  check "$kind is the same" cmp one.$kind there/one.$kind
done
gives 'one version' "^compiler +$("$wick" --version)\$" "$wick" inspect net.wick
gives 'graph text' '^module ' cat one.graph
gives 'program text' '^program ' cat one.program
gives 'dot' '^digraph ' cat one.dot
gives 'text goes to standard output' '^module ' "$wick" compile relu.onnx --emit graph -q
gives 'stop in the graph' '^module ' "$wick" compile relu.onnx --stop-after dead-code -q
gives 'stop in the program' '^program ' "$wick" compile relu.onnx --stop-after in-place -q
# Text has the contents of constants only when they are asked for.
for options in '--emit graph' '--emit program' '--stop-after fold-constants' \
  '--stop-after place'; do
  "$wick" compile net.onnx -q $options -o - >short
  "$wick" compile net.onnx -q $options --weights -o - >whole
  (($(stat -c %s short) < 60000)) && grep -q ' elided([0-9a-f]*)$' short && good ||
    bad "$options: weights in $(stat -c %s short) bytes"
  (($(stat -c %s whole) > 80000)) && ! grep -q 'elided(' whole && good || bad "$options --weights"
  check "$options: the same but for weights" cmp <(sed 's/ elided.*//; s/ hex(.*//' short) \
    <(sed 's/ hex(.*//' whole)
  "$wick" compile net.onnx -q $options --print-after=all -o /dev/null 2>short
  (($(stat -c %s short) < 1000000)) && ! grep -qE 'hex\("[^"]{130,}' short && good ||
    bad "$options --print-after prints weights"
done
gives 'small constants stay' ' = constant .* \{' \
  "$wick" compile net.onnx -q --emit graph
gives 'the exported graph is a model' '^format +ONNX' "$wick" inspect one.onnx
check 'and compiles again' "$wick" compile one.onnx -q -o again.wick
check 'bundle' "$wick" compile net.onnx -q --emit bundle -o box
[[ -f box.o && -f box.h && -f box.weights ]] && good || bad "bundle: $(ls)"
gives 'functions are named after it' 'int box_run' cat box.h
ln -s /dev/full full.h
refuses 'a bundle that does not fit' 5 'No space left' \
  "$wick" compile net.onnx -q --emit bundle -o full

check 'two bindings' "$wick" compile symbolic.onnx --bind n=1 --bind n=4 -q
gives 'are two entries' '^entry 1 +n=4' "$wick" inspect symbolic.wick
check 'two shapes' "$wick" compile symbolic.onnx --shape x=1x3 --shape x=5x3 -q -o shapes.wick
gives 'are two entries, too' 'input x +f32\[5,3\]' "$wick" inspect shapes.wick
gives 'an entry by number' 'f32\[5,3\]' "$wick" run shapes.wick --entry 1
gives 'an entry by name' 'f32\[4,3\]' "$wick" run symbolic.wick --entry n=4
npy four.npy '<f4' 4,3
gives 'an entry by input' 'f32\[4,3\]' "$wick" run symbolic.wick -i four.npy
refuses 'text of two bindings' 2 'one binding' \
  "$wick" compile symbolic.onnx --bind n=1 --bind n=4 --emit graph

# One figure, whatever is written.
scratch=$("$wick" compile net.onnx | grep '^scratch per thread')
[[ $scratch == *KiB ]] && good || bad "scratch: $scratch"
for kind in bundle object asm llvm-ir; do
  gives "scratch of $kind" "^$scratch\$" "$wick" compile net.onnx --emit $kind -o figure
done
gives 'scratch of a package that is piped' "^$scratch\$" \
  bash -c "'$wick' compile net.onnx -o - 2>&1 >/dev/null"
gives 'a stripped ending' '^output .* KiB' "$wick" compile net.onnx --emit bundle -o strip.o
count=$("$wick" compile net.onnx | sed -n 's/.* \([0-9]*\) instructions/\1/p')
"$wick" compile net.onnx >printed
for row in '^operators +32 in the model, 22 after graph passes, 15 instructions$' \
  '^multiply-accumulates +2\.55 M$' '^weights +95\.0 KiB$' '^passes that fired .*fold-scale 10,' \
  '^copies +1 \(256 B\) before, 0 \(0 B\) after$'; do
  gives 'what is printed' "$row" cat printed
done
half() { # half NAME SIZE SIZE: a value of f16
  printf '{ name: "%s" type { tensor_type { elem_type: 10 shape {' "$1"
  printf ' dim { dim_value: %s }' "${@:2}"
  echo ' } } } }'
}
cat >long.onnxtxt <<END
ir_version: 8 opset_import { version: 17 }
graph { name: "long" node { op_type: "MatMul" input: ["a", "b"] output: "y" }
  input $(half a 8 100000) input $(half b 100000 4) output $(half y 8 4) }
END
gives 'long rows of f16 do not go to scratch' '^scratch per thread +[0-9.]+ KiB$' \
  "$wick" compile long.onnxtxt
narrow=$onnx/NarrowWeights/model.onnx # some 9,000 elements of 4 bits, 6,000 of 2
gives 'a byte holds several small weights' '^  region const [1-8][0-9]{3}$' \
  "$wick" compile "$narrow" --emit program -o -
gives 'the number of instructions' "^  instructions +$count\$" "$wick" inspect net.wick
gives 'and how many are compared' "^all $count instructions agree" "$wick" compare net.onnx

err=$("$wick" compile net.onnx -q --print-after=changed 2>&1 >/dev/null)
grep -q '^// after lower$' <<<"$err" && ! grep -q '^// after.* 0 changes' <<<"$err" && good ||
  bad "--print-after=changed: $(grep '^// after' <<<"$err")"
[[ $(grep -c '^// after fold-constants' <<<"$err") == 0 ]] && good || bad 'what changed nothing'
for step in $("$wick" ops --passes | awk 'NR > 1 { print $1 }'); do
  check "stop after $step" "$wick" compile relu.onnx -q --stop-after=$step
done
refuses 'what comes after the last step' 2 'there is only the output' \
  "$wick" compile relu.onnx --print-after=emit
refuses 'a target without a name' 2 'the name of a target is missing' \
  "$wick" compile relu.onnx --target cpu,
refuses 'a machine without a name' 2 'the machine behind the colon is missing' \
  "$wick" compile relu.onnx --target cpu:
refuses 'a step that is none' 2 "'wick ops --passes' lists them" \
  "$wick" compile relu.onnx --stop-after=typo
[[ $("$wick" ops --passes | tail -3 | awk '{ printf "%s ", $1 }') == 'prepare place emit ' ]] &&
  good || bad 'ops --passes does not end as compilation does'
err=$("$wick" compile relu.onnx -q --print-after=all 2>&1 >/dev/null)
grep -q '^// after dead-code' <<<"$err" && good || bad '--print-after=all'
err=$("$wick" compile relu.onnx -q --print-after=lower 2>&1 >/dev/null)
[[ $(grep -c '^// after' <<<"$err") == 1 ]] && good || bad '--print-after=lower'
gives 'time-passes' '^fuse-map +[0-9]+ ' "$wick" compile relu.onnx --time-passes
check 'report' "$wick" compile net.onnx -q --report report.json
for key in activation_peak activation_lower_bound instruction_list model_hash macs steps; do
  gives "report has $key" "\"$key\"" cat report.json
done
gives 'the processor has a name' '"target": "cpu:[a-z]' cat report.json
gives 'the scratch is that of the code' "\"scratch_per_thread\": [1-9]" cat report.json

# Closed streams: what is printed goes nowhere, least of all into the files written.
"$wick" compile net.onnx -o closed.wick >&- 2>err
[[ $? == 5 ]] && grep -q '^wick: standard output: ' err && good || bad "closed stdout: $(cat err)"
check 'its package' cmp closed.wick net.wick
"$wick" compile net.onnx -q -o closed.wick <&- >&- 2>&- && good || bad 'nothing to print'
check 'its package is whole' cmp closed.wick net.wick
"$wick" compile missing.onnx -o closed.wick <&- >&- 2>&-
[[ $? == 5 ]] && good || bad 'closed stderr'
"$wick" compile net.onnx -q --emit object -o - >&- 2>err
[[ $? == 5 ]] && good || bad "code on closed stdout: $(cat err)"

# Symbolic links are followed, also to what does not exist yet.
mkdir far && ln -s far/link.wick link.wick && ln -s real.wick far/link.wick
check 'through a link' "$wick" compile net.onnx -q -o link.wick
[[ -L link.wick && -L far/link.wick && -f far/real.wick ]] && good || bad 'the link is replaced'
ln -s loop.wick loop.wick
refuses 'links in a circle' 5 'symbolic links' "$wick" compile net.onnx -q -o loop.wick

# What computes in integers.
for model in QLinearSoftmax QDQLayerNormalization QDQLayerNormPieces; do
  compile=("$wick" compile "$onnx/$model/model.onnx" -q --print-integer)
  gives "$model: integer" '^integer_(softmax|norm) +integer' "${compile[@]}"
  [[ -z $("${compile[@]}" | grep ' float ') ]] && good || bad "$model has float operators"
done
# qdq SIZE SCALES: a softmax between quantisations; scales are initialisers or inputs
qdq() {
  printf 'ir_version: 8 opset_import { version: 17 } graph { name: "g"\n'
  printf 'input { name: "x" type { tensor_type { elem_type: 2 shape { dim { dim_value: 1 }'
  printf ' dim { dim_value: %s } } } } }\n' "$1"
  if [[ $2 == initializer ]]; then
    echo 'initializer { name: "s" data_type: 1 float_data: 0.5 }'
  else
    echo 'input { name: "s" type { tensor_type { elem_type: 1 shape { } } } }'
  fi
  cat <<'EOF'
initializer { name: "z" data_type: 2 int32_data: 3 }
initializer { name: "t" data_type: 1 float_data: 0.00390625 }
node { op_type: "DequantizeLinear" input: "x" input: "s" input: "z" output: "r" }
node { op_type: "Softmax" name: "soft" input: "r" output: "p" }
node { op_type: "QuantizeLinear" input: "p" input: "t" input: "z" output: "y" }
output { name: "y" type { tensor_type { elem_type: 2 } } }
}
EOF
}
reason() { # NAME WANT SIZE SCALES
  qdq "$3" "$4" >qdq.onnxtxt
  gives "$1" "$2" "$wick" compile qdq.onnxtxt -q --print-integer
}
reason 'a short row' '^integer_softmax +integer' 32768 initializer
reason 'a long row' 'float +soft +its rows have more than 32768 elements' 32769 initializer
reason 'a scale that is given' 'float +soft +operand r has no constant scale of its own' 4 input
finish
