#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `wick run` says, whole, of inputs that come from files, of entries, and of results of all
# kinds; and what `wick test` finds out about layers of quantised models that fail.
onnx=$(realpath "$(dirname "$0")/../onnx")
nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$(dirname "$0")/lib.bash" "$@"
small_models

# each LABEL COMMAND...: all that it says, and its exit status.
each() {
  local label=$1
  shift
  echo "---- $label"
  "$@" 2>&1 | grep -v '^time '
  echo "exit status ${PIPESTATUS[0]}"
}
# runs MODEL: a line of standard input is what follows it.
runs() {
  local options
  while IFS= read -r options; do
    eval "words=($options)"
    each "$options" "$wick" run "$1" "${words[@]}"
  done
}

# ---- which file is for which input ---------------------------------------------------------------

# f32 NAME SHAPE ORDER...: a .npy of these whole numbers, 0 to 9, n: NaN, i: infinite, m: -infinite.
f32() {
  local name=$1 shape=$2 v
  local -A bits=([0]='\x00\x00' [1]='\x80\x3f' [2]='\x00\x40' [3]='\x40\x40' [4]='\x80\x40'
    [5]='\xa0\x40' [6]='\xc0\x40' [7]='\xe0\x40' [8]='\x00\x41' [9]='\x10\x41' [n]='\xc0\x7f'
    [i]='\x80\x7f' [m]='\x80\xff')
  shift 2
  npy "$name.npy" '<f4' "$shape"
  for v; do printf '\x00\x00%b' "${bits[$v]}"; done |
    dd of="$name.npy" bs=1 seek=$(($(stat -c %s "$name.npy") - 4 * $#)) conv=notrunc status=none
}
f32 a 1,2 1 2
f32 b 1,2 3 5
f32 c 1,2 7 9
f32 long 2,2 1 2 3 4
f32 short 1,1 6
# y = (p - query) * k, of which k has a value of its own; z = "u=v" - query.
ones=$(field 5 "$(number 1 1)$(number 1 2)$(number 2 1)$(field 8 k)$(
  field 9 $'\x01\x01\x01\x40\x01\x01\x81\x40')")
model "$(field 1 "$(node Sub 'p query' d)")$(field 1 "$(node Mul 'd k' y)")$(
  field 1 "$(node Sub 'u=v query' z)")$ones" \
  "$(field 11 "$(value k 1 1 2)")$(field 11 "$(value p 1 n 2)")$(field 11 "$(value query 1 n 2)")$(
    field 11 "$(value u=v 1 n 2)")" \
  "$(field 12 "$(value y 1 n 2)")$(field 12 "$(value z 1 n 2)")" >four.onnx
inputs() {
  runs four.onnx <<'END'
-i a.npy -i b.npy -i c.npy
-i a.npy -i b.npy -i c.npy -i b.npy
-i a.npy -i b.npy -i c.npy -i b.npy -i a.npy
-i query=a.npy -i b.npy -i c.npy
-i u=v=a.npy -i b.npy -i c.npy
-i b.npy -i u=v=a.npy -i c.npy
-i u=a.npy -i b.npy -i c.npy
-i k=b.npy -i b.npy -i b.npy -i b.npy
-i p=a.npy -i p=b.npy
-i a.npy -i p=b.npy
-i p=
-i =a.npy
-i r=a.npy
-i qeury=a.npy
-i =query=a.npy
-i a.npy -i long.npy
-i long.npy -i long.npy -i long.npy
-i short.npy -i short.npy -i short.npy
-i k=long.npy --bind n=1
-i k=short.npy -i a.npy
-i a.npy --bind n=1
-i a.npy --bind n=2
-i p=a.npy --shape p=1x2 --random 4
-i p=a.npy --shape query=1x2 --random 4
-i p=a.npy --shape p=2x2
-i p=a.npy --value p=b.npy
-i p=a.npy --value query=b.npy -i c.npy
-i p=a.npy --bind n=1 --bind n=2
-i none.npy
-i four.onnx
--bind n=1 --random 7 --target eval
--bind n=1 --entry 0
--bind m=1
--shape query=3x2
-i p=a.npy -i query=b.npy -i u=v=c.npy --target eval
END
}
prints run-inputs inputs

# ---- packages ------------------------------------------------------------------------------------

"$wick" compile four.onnx -q --cpu x86-64 --bind n=1 --bind n=2 --bind n=3 -o four.wick
"$wick" compile four.onnx -q --cpu x86-64 --bind n=2 -o two.wick
packages() {
  runs four.wick <<'END'
-i a.npy -i b.npy -i c.npy
-i p=long.npy
-i query=long.npy -i a.npy
-i short.npy
--entry 0
--entry 1
--entry 2
--entry 3
--entry -1
--entry 02
--entry 2x
--entry ''
--entry n=2
--entry n
--entry 1 -i a.npy
--entry n=1 -i a.npy
-i p=a.npy -i a=b.npy
-i a.npy -i b.npy -i c.npy -i a.npy -i a.npy
--target cpu
--cpu x86-64
--no-host
--effort 1
--quantize-random 1
--bind n=1
--shape p=1x2
--value p=a.npy
END
  runs two.wick <<'END'
-i a.npy
-i long.npy -i long.npy -i long.npy
END
}
prints run-packages packages

# ---- results -------------------------------------------------------------------------------------

f32 many 1,12 1 7 n 3 7 i 9 m 0 9 2 5
f32 nines 1,9 1 2 3 4 5 6 7 8 9
f32 tens 1,1,10 9 8 7 6 5 4 3 2 1 0
f32 column 10,1 1 1 1 1 1 1 1 1 1 2
f32 square 2,6 1 2 3 4 5 6 7 8 9 1 2 3
f32 nothing 1,11 n n n n n n n n n n n
f32 few 1,10 n 1 n n n n 2 n n n
f32 empty 0,10
f32 one 1 4
model "$(field 1 "$(node Identity x y)")" "$(field 11 "$(value x 1 a b)")" \
  "$(field 12 "$(value y 1 a b)")" >plane.onnx
model "$(field 1 "$(node Identity x y)")" "$(field 11 "$(value x 1 a b c)")" \
  "$(field 12 "$(value y 1 a b c)")" >cube.onnx
model "$(field 1 "$(node Identity x y)")" "$(field 11 "$(value x 1 a)")" \
  "$(field 12 "$(value y 1 a)")" >line.onnx
model "$(field 1 "$(node Identity x y)")" "$(field 11 "$(value x 6 a b)")" \
  "$(field 12 "$(value y 6 a b)")" >whole.onnx
npy whole.npy '<i4' 1,12
results() {
  local name
  for name in many nines column square nothing few empty; do
    each "$name" "$wick" run plane.onnx --target eval -i $name.npy
  done
  each tens "$wick" run cube.onnx --target eval -i tens.npy
  each one "$wick" run line.onnx --cpu x86-64 -i one.npy
  each whole "$wick" run whole.onnx --target eval -i whole.npy
}
prints run-results results

# ---- layers of a quantised model that fails ------------------------------------------------------

# Of each output one number is another one.
mkdir suite
for net in residual_qlinear unet_qlinear; do cp -r "$nets/$net" suite; done
for case in QGemm QLinearMul QLinearConvLast; do cp -r "$onnx/$case" suite; done
for file in suite/*/test_data_set_*/output_0.pb; do
  flip "$file" $(($(stat -c %s "$file") - 1))
done
layers() { "$wick" test suite "$@" | sed -E 's/: test_data_set.*\(each/: … (each/'; }
prints tests-layers layers --cpu x86-64
prints tests-layers-eval layers --target eval
prints tests-layers-parts layers --target accel:tiny --cpu x86-64
finish
