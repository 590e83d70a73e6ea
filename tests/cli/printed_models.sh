#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What commands print of models, whole: reports as JSON, lists of layers, results of tests.
onnx=$(realpath "$(dirname "$0")/../onnx")
nets=$(realpath "$(dirname "$0")/../nets")
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx
cpu=(--cpu x86-64)

prints quantize "$wick" quantize net.onnx --random 2 --per-channel -v -o q.onnx --report q.json
prints quantize-json cat q.json
prints quantize-options "$wick" quantize net.onnx --random 3 --seed 5 --scheme int8 --symmetric \
  --bias-correction --equalise --method percentile --keep-float Conv -v -o q8.onnx --report q8.json
prints quantize-options-json cat q8.json
prints quantize-bound "$wick" quantize net.onnx --random 2 --target-drop 45dB -v -o q45.onnx \
  --method minmax --report q45.json
prints quantize-bound-json cat q45.json
prints inspect-quantised "$wick" inspect q.onnx

check 'reports' "$wick" compile net.onnx -q "${cpu[@]}" --report c.json
prints compile-json cat c.json
check 'of a quantised model' "$wick" compile q.onnx -q "${cpu[@]}" --emit object --report q.json
prints compile-quantised-json cat q.json
prints compile-quantised "$wick" compile q.onnx "${cpu[@]}"
prints compile-bindings "$wick" compile symbolic.onnx --bind n=1 --bind n=4 "${cpu[@]}" \
  --report two.json
prints compile-bindings-json cat two.json
prints compile-program "$wick" compile net.onnx --emit program "${cpu[@]}" -o /dev/null
prints compile-graph "$wick" compile net.onnx --emit graph -o /dev/null "${cpu[@]}"
prints compile-bundle "$wick" compile net.onnx --emit bundle -o box "${cpu[@]}"
after() {
  "$wick" compile net.onnx -q "${cpu[@]}" "$@" -o out.wick 2>&1 >/dev/null | grep -A1 '^// after'
}
prints print-after-changed after --print-after=changed
prints print-after-all after --print-after=all
prints print-after-one after --print-after=fold-scale
integers() {
  for model in QLinearSoftmax QDQLayerNormPieces DynamicQuantizeMatMul; do
    "$wick" compile "$onnx/$model/model.onnx" -q --print-integer "${cpu[@]}" -o out.wick
  done
  "$wick" compile q8.onnx -q --print-integer "${cpu[@]}" -o out.wick
}
prints compile-integer integers
times() {
  "$wick" compile net.onnx --time-passes -q "${cpu[@]}" | sed -E 's/ +([0-9.]+|MS) +([0-9.]+|%)$//'
}
prints compile-times times
"$wick" compile net.onnx --time-passes -q | awk 'NR > 1 && $1 != "total" { ms += $4; part += $5 }
  $1 == "total" { t = $4; exit !($5 == "100.0" && ms <= t + 0.1 && part <= 102 && part > 20) }' &&
  good || bad 'times of steps are no part of the total'

prints run-eval "$wick" run net.onnx --target eval
prints run-compiled "$wick" run net.onnx "${cpu[@]}" --random 3
npy four.npy '<f4' 4,3
prints run-zeros "$wick" run symbolic.onnx -i four.npy "${cpu[@]}" --repeat 2
dumped() {
  rm -rf dump
  "$wick" run net.onnx --dump-tensors dump "$@"
  (cd dump && wc -c -- *)
}
prints run-dump-eval dumped --target eval
prints run-dump dumped "${cpu[@]}"

# The lines of a profile: shares of the total, sums by operator in falling order.
profile() { "$wick" run net.onnx --profile --threads 1 --repeat 3 "$@" 2>/dev/null; }
for target in cpu eval; do
  profile --target $target | awk '
    function near(a, b) { return a - b < 0.02 * b + 0.05 && b - a < 0.02 * b + 0.05 }
    /^ *[0-9.]+ +[0-9.]+ +[-0-9.]+ +[a-z_0-9]+ +[^ ]/ {
      kind = $5 == "all" ? "sum" : "row"
      ms[kind] += $1; part[kind] += $2; of[kind, $4] += $1
      if (kind == "sum" && last != "" && $1 > last) wrong = 1
      if (kind == "sum") last = $1
      if ($3 != "-") rates++
    }
    / 100.0 +total *$/ { total = $1 }
    END {
      for (k in of) {
        split(k, at, SUBSEP)
        if (!near(of["sum", at[2]], of["row", at[2]])) wrong = 1
      }
      exit !(!wrong && total > 0 && rates > 5 && near(ms["row"], total) && near(ms["sum"], total) &&
             near(part["row"], 100) && near(part["sum"], 100)) }' && good ||
    bad "profile of $target: $(profile --target $target | cut -c 1-60)"
done
rows() {
  profile "$@" | sed -E '1d; / (all|total) *$/d
    s/^ *[0-9.]+ +[0-9.]+ +[0-9.]+ /RATE /; s/^ *[0-9.]+ +[0-9.]+ +- /- /'
}
prints profile-eval rows --target eval
prints profile rows "${cpu[@]}"

# What the C library computes, the softmax, may end in another digit.
layers() {
  "$wick" compare net.onnx "${cpu[@]}" "$@" | grep -v -e softmax -e ' instructions differ'
}
prints compare-layers layers -v
prints compare-exact layers --rtol 0 --atol 0
passes() { "$wick" compare net.onnx --passes -v "${cpu[@]}" | sed 's/: largest .*//'; }
prints compare-passes passes

mkdir -p suite/refused suite/relu
cp -r "$onnx"/{QLinearAdd,QGemm} suite
cp -r "$onnx/QLinearMul" suite/wrong
flip suite/wrong/test_data_set_0/output_0.pb \
  $(($(stat -c %s suite/wrong/test_data_set_0/output_0.pb) - 1))
model "$(field 1 "$(node 'Frob<&">' x y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >suite/refused/model.onnx
cp relu.onnx suite/relu/model.onnx
cases() { "$wick" test suite -v --junit suite.xml | sed -E 's/ \([0-9.]+ [a-z]+\)$//'; }
prints test cases
xml() { sed -E 's/time="[0-9.]+"/time=""/' suite.xml; }
prints test-junit xml

printf 'id,lower,upper,size,alignment\na,0,2,64,64\nb,1,3,32,1\nc,2,4,64,64\nd,0,4,8,8\n' >plan.csv
prints plan-table "$wick" plan plan.csv -o -
prints plan-capacity "$wick" plan plan.csv --capacity 200
prints plan-misfit "$wick" plan plan.csv --capacity 100
prints passes "$wick" ops --passes
prints zoo "$wick" zoo

# How products of many shapes are cut shows in the scratch memory that they need.
model "$(field 1 "$(node MatMul 'x w' y)")" "$(field 11 "$(value x 1 b n k)")$(
  field 11 "$(value w 1 k m)")" "$(field 12 "$(value y 1 b n m)")" >product.onnx
model "$(field 1 "$(node Det x y)")" "$(field 11 "$(value x 1 2 n n)")" \
  "$(field 12 "$(value y 1 2)")" >det.onnx
scratch() {
  local shape target
  for target in x86-64 haswell skylake-avx512 aarch64; do
    for shape in 1,1,64,64 1,8,4096,64 2,64,64,4096 1,300,1000,10 1,512,2048,512 4,7,30000,17; do
      IFS=, read -r b n k m <<<"$shape"
      echo "$target $shape $("$wick" compile product.onnx --cpu $target -o out.wick \
        --bind b=$b,n=$n,k=$k,m=$m | grep '^scratch')"
    done
  done
  for n in 1 5 40; do
    echo "determinant $n $("$wick" compile det.onnx -o out.wick "${cpu[@]}" --bind n=$n |
      grep '^scratch')"
  done
}
prints scratch scratch

# The networks of tests/nets: what the passes make of them, and what the generated code is made of:
# how often which operation stands in it. It shows when a quick form is no longer chosen, which
# changes no result.
nets() {
  local net target
  for net in "$nets"/{float,int8}/*; do
    echo "==== ${net##*/}"
    "$wick" compile "$net/model.onnx" "${cpu[@]}" -o out.wick
  done
}
prints nets nets
operations() {
  local net target
  for net in "$onnx"/QGemm "$nets"/float/{cnn,lstm,transformer} \
    "$nets"/int8/{residual_qdq_s8,transformer_qdq,unet_qlinear}; do
    for target in x86-64 haswell skylake-avx512 aarch64; do
      "$wick" compile "$net/model.onnx" -q --cpu $target --emit llvm-ir -o code.ll
      echo "${net##*/} $target$(sed -nE 's/^  (%[0-9]+ = )?([a-z]+) .*/\2/p' code.ll | sort |
        uniq -c | awk '{ printf " %s:%s", $2, $1 }')"
    done
  done
}
prints operations operations
finish
