#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands say of models and files that are seldom so: in parts where one piece is wanted, with
# names in no encoding, with operators that ONNX lacks, in numbers beyond what is tried.
nets=$(realpath "$(dirname "$0")/../nets")
source "$(dirname "$0")/lib.bash" "$@"
small_models
cp "$nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$nets/../onnx/QGemm/model.onnx" dense.onnx
pair=(--target accel:tiny --cpu x86-64)

# ---- one piece where there are parts -------------------------------------------------------------

pieces() {
  local kind
  for kind in bundle object asm llvm-ir stream; do
    "$wick" compile unet.onnx "${pair[@]}" --emit $kind -o piece 2>&1
    echo "exit status $?, $(ls piece* 2>/dev/null | wc -l) files"
  done
}
prints seldom-pieces pieces

# ---- one of several parts
parts() {
  local part
  "$wick" compile unet.onnx "${pair[@]}" -q -o parts.wick
  for part in 0 1 2; do
    "$wick" compile unet.onnx "${pair[@]}" --emit stream -q -o part --part $part
    "$wick" check part.wcs
    sed -n 's/^output /result /; /^register  COUNT\|^input\|^result/p' part.map
    "$wick" disasm part.wcs | grep -c '^[a-z]'
    "$wick" disasm parts.wick --part $part | grep -c '^[a-z]'
  done
  "$wick" compile unet.onnx "${pair[@]}" --emit stream -o part --part 3 2>&1
  mkdir all && "$wick" compile unet.onnx "${pair[@]}" --emit stream -o all/part | grep '^output '
  ls all
  cat all/part.index
  cmp part.wcs all/part.2.wcs && "$wick" check all/part.1.wcs
}
prints seldom-parts parts

# ---- what the output depends on ------------------------------------------------------------------

# It stands in packages and reports: every option that matters, without folders; and no other.
mkdir -p some/where && npy x.npy '<f4' 2,3 && cp x.npy some/where/ && cp x.npy 'a=b.npy'
options() {
  local line
  while IFS= read -r line; do
    eval "words=($line)"
    rm -f what.wick what.json
    "$wick" compile "${words[@]}" -q -o what.wick --report what.json 2>&1
    echo "$line: $(sed -n 's/^  "options": //p' what.json)"
    "$wick" inspect what.wick | grep -E '^(options|flags|command) '
  done <<'END'
relu.onnx --cpu x86-64
relu.onnx --target cpu:haswell
relu.onnx --target cpu --cpu avx2
unet.onnx --target accel:tiny --cpu x86-64 --effort 0 --prefetch off --without fusion,residency
unet.onnx --target accel:tiny --cpu x86-64 --effort 0 --marks yes --dram latency=5
dense.onnx --target accel:tiny --no-host
relu.onnx --cpu x86-64 --convert bf16
relu.onnx --cpu x86-64 --memory-budget 1MiB --strict-opset
relu.onnx --cpu x86-64 --value x=x.npy
relu.onnx --cpu x86-64 --value x=some/where/x.npy
relu.onnx --cpu x86-64 --value x=a=b.npy
symbolic.onnx --cpu x86-64 --bind n=1 --bind n=3
symbolic.onnx --cpu x86-64 --shape x=1x3 --shape x=12x3 --verbose
symbolic.onnx --cpu x86-64 --shape x=2x3 --convert f16 --memory-budget 2MiB
END
}
prints seldom-options options

# ---- names that are no UTF-8 ---------------------------------------------------------------------

# Tensors, nodes and the model have one; a report has to be JSON all the same.
odd=$'\xff\xc3'
model "$(field 1 "$(node Relu x "y$odd")")$(field 1 "$(node Neg "y$odd" "z$odd")")" \
  "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value "y$odd" 1 2 3)")$(field 12 "$(value "z$odd" 1 2 3)")" >"odd$odd.onnx"
odd_report() {
  "$wick" compile "odd$odd.onnx" -q --cpu x86-64 -o out.wick --report report.json || echo failed
  grep 'xff' report.json
}
prints seldom-names odd_report
gives 'no byte of it is no ASCII' '^0$' \
  bash -c 'LC_ALL=C grep -c "[^ -~]" report.json || test $? = 1'

# ---- operators of ours ---------------------------------------------------------------------------

# quantised MODE: of a product behind a padding; what is said of it.
quantised() {
  cat >pad.onnxtxt <<END
ir_version: 8 opset_import { version: 19 } graph { name: "g"
input { name: "x" type { tensor_type { elem_type: 1
  shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } }
initializer { name: "p" dims: 4 data_type: 7 int64_data: [0, 1, 0, 1] }
initializer { name: "w" dims: 6 dims: 2 data_type: 1
  float_data: [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3] }
node { op_type: "Pad" name: "round" input: "x" input: "p" output: "r"
       attribute { name: "mode" type: STRING s: "$1" } }
node { op_type: "MatMul" name: "product" input: "r" input: "w" output: "y" }
output { name: "y" type { tensor_type { elem_type: 1 } } } }
END
  "$wick" quantize pad.onnxtxt --random 1 -o "$1.onnx" 2>&1 >/dev/null
}
[[ $(quantised reflect) == '' ]] && good || bad "of ONNX alone: $(quantised reflect)"
own="wick: wrap.onnx: some operators have no ONNX form and are written in the domain 'wick'; other"
[[ $(quantised wrap) == "$own tools will not run this file" ]] && good ||
  bad "of ours: $(quantised wrap)"
gives 'but ours' '^y f32\[2,2\]' "$wick" run wrap.onnx

# ---- as many inputs and outputs as there may be --------------------------------------------------

f32() { printf '%s { name: "%s" type { tensor_type { elem_type: 1 shape {%s} } } }\n' "$@"; }
# joined NAME OP N: of N inputs one output. taken_apart NAME N: of one input N outputs.
joined() {
  local i
  {
    echo 'ir_version: 8 opset_import { version: 17 } graph { name: "g"'
    for ((i = 0; i < $3; i++)); do f32 input "x$i" ' dim { dim_value: 1 } '; done
    printf 'node { op_type: "%s" name: "all"' "$2"
    for ((i = 0; i < $3; i++)); do printf ' input: "x%d"' "$i"; done
    echo ' output: "y" }' && f32 output y '' | sed 's/ shape {}//' && echo '}'
  } >"$1.onnxtxt"
}
taken_apart() {
  local i
  {
    echo 'ir_version: 8 opset_import { version: 17 } graph { name: "g"'
    f32 input x " dim { dim_value: $2 } "
    printf 'node { op_type: "Split" name: "all" input: "x"'
    for ((i = 0; i < $2; i++)); do printf ' output: "y%d"' "$i"; done
    echo ' }'
    for ((i = 0; i < $2; i++)); do f32 output "y$i" '' | sed 's/ shape {}//'; done
    echo '}'
  } >"$1.onnxtxt"
}
limits() {
  local n kind command
  for n in 256 257; do
    joined sum Sum $n && taken_apart split $n
    for kind in sum split; do
      "$wick" compile $kind.onnxtxt -q --cpu x86-64 -o $kind.wick
      for command in "run $kind.onnxtxt --cpu x86-64" "run $kind.onnxtxt --target eval" \
        "run $kind.wick" "compare $kind.onnxtxt --cpu x86-64" \
        "compare $kind.onnxtxt --cpu x86-64 --passes" \
        "compare $kind.onnxtxt --package $kind.wick -v"; do
        echo "$n, $command: $("$wick" $command 2>&1 | grep -v -e random -e '^time' | sed -n '$p' |
          sed 's/ min .*//; s/^y[0-9]* f32.*/runs/; s/^  top.*/runs/')"
      done
    done
  done
}
prints seldom-limits limits

# ---- no more open files --------------------------------------------------------------------------

# Three cases at a time want three pipes. Where there is room for fewer, those that run are waited
# for, and no report is left that would be of some.
mkdir -p suite/{a,b,c} && for name in a b c; do cp relu.onnx suite/$name/model.onnx; done
refused=0 whole=0
for ((n = 5; n < 14; n++)); do
  bash -c "ulimit -n $n; exec '$wick' test suite --jobs 3 --cpu x86-64 --junit junit.xml" >out 2>err
  case $?,$(tail -1 err),$(ls junit* 2>/dev/null) in
    '6,wick: cannot create a pipe: Too many open files,') ((++refused)) ;;
    1,,junit.xml) ((++whole)) ;;
    *) bad "$n open files: $(cat err) $(ls junit*)" ;;
  esac
  rm -f junit*
done
((refused >= 2 && whole >= 2)) && good || bad "few open files: $refused refused, $whole whole"

# ---- more than is tried --------------------------------------------------------------------------

numbers() { seq -s ', ' 1 "$1"; }
printf 'dram_latency = [%s];\ndram_write_latency = [%s];\n' "$(numbers 500)" "$(numbers 401)" \
  >large.cfg
refuses 'a space of too many machines' 6 \
  '^wick: large.cfg: the space has more than 200000 machines$' \
  "$wick" explore unet.onnx --space large.cfg --confirm 0 -o e
finish
