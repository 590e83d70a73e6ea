#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Values of options that have a form of their own - sizes, bindings, axes, limits, bounds, lists -
# well formed, at their ends and not: what is said of each, and the exit status.
onnx=$(realpath "$(dirname "$0")/../onnx")
source "$(dirname "$0")/lib.bash" "$@"
small_models
cp "$onnx/QGemm/model.onnx" gemm.onnx # small, and in integers
model "$(field 1 "$(node Add 'x w' y)")" "$(field 11 "$(value x 1 n m)")$(
  field 11 "$(value w 1 n m)")" "$(field 12 "$(value y 1 n m)")" >two.onnx
npy x.npy '<f4' 2,3
npy big.npy '<f4' 3,3

# each OPTION VALUE... -- COMMAND...: a line for each value, with what stands on stderr or, if that
# is nothing, "taken".
each() {
  local option=$1 value values=() said status
  shift
  while [[ $1 != -- ]]; do values+=("$1") && shift; done
  shift
  for value in "${values[@]}"; do
    said=$("$@" "$option" "$value" 2>&1 >/dev/null)
    status=$?
    printf '%s %s: %s %s\n' "$option" "$value" "$status" "${said:-taken}"
  done
}

shapes() {
  local compile=("$wick" compile -q --cpu x86-64 -o out.wick)
  each --bind n=1,m=2 n=1 m=2,n=1 n=1,m=2,k=3 n=0,m=1 n=-1,m=1 n=,m=1 n n= =1 '' n=1,,m=2 \
    n=1,m=2, n=1,n=2 n=1.5,m=1 n=0x2,m=1 n=+2,m=1 'n= 2,m=1' n=9223372036854775807,m=1 \
    n=9223372036854775808,m=1 n=4294967296,m=4294967296 -- "${compile[@]}" two.onnx
  each --shape x=2x3 x=2 x=2x3x4 x= x=2x x=x3 x=-2x3 x=0x3 x=2X3 y=2x3 z=2x3 2x3 '' x=2x3.0 \
    x=99999999999999999999x3 -- "${compile[@]}" two.onnx
  each --shape x=2x3 w=2x3 x=5x3 -- "${compile[@]}" two.onnx --shape w=2x3
  each --length x=1 x=-1 x=none x= x y=1 -- "${compile[@]}" relu.onnx
  each --value x=x.npy x=none.npy x= x.npy y=x.npy x=relu.onnx x=big.npy -- \
    "${compile[@]}" relu.onnx
  each --input x.npy x=x.npy y=x.npy =x.npy x= '' big.npy -- "$wick" run relu.onnx
  each --memory-budget 1 0.9 1KiB 1.5MiB 1kib 1e3 -5 5PiB 8192TiB 4096TiB '' KiB -- \
    "${compile[@]}" relu.onnx
}
prints values-shapes shapes

settings() {
  local accel=("$wick" compile gemm.onnx -q --target accel:tiny --cpu x86-64 -o out.wick)
  each --prefetch off serial double auto Auto '' off,serial -- "${accel[@]}"
  each --effort 0 1 2 3 -1 '' 1.0 x -- "${accel[@]}"
  each --marks yes no YES '' 1 -- "${accel[@]}"
  each --without none fusion fusion,early-issue fusion,fusion '' fusio fusion, -- "${accel[@]}"
  each --dram latency=1 latency=0 latency=-1 latency=99999999 latency= latency bytes=0 bytes=0.01 \
    bytes=3.5 bytes=1e9 latency=5,bytes=2 latency=5,latency=6 latency=5, ,latency=5 '' nothing=1 \
    traffic=0 traffic=1 traffic=0.9 refresh_interval=10 refresh_interval=10,refresh_cycles=10 \
    refresh_interval=10,refresh_cycles=9 -- "${accel[@]}"
  each --target cpu accel accel:tiny accel:none accel: cpu:haswell cpu:none cpu:avx2,cpu:avx2 \
    accel,accel:tiny '' , cpu, eval -- "$wick" compile gemm.onnx -q -o out.wick
  each --cpu x86-64 haswell avx2 avx512 aarch64 none '' X86-64 -- \
    "$wick" compile relu.onnx -q -o out.wick
  each --part 0 1 2 -1 x '' -- "$wick" check out-of-parts.wick
}
"$wick" compile gemm.onnx -q --target accel:tiny --cpu x86-64 -o out-of-parts.wick
prints values-settings settings

# 0 machines or points are enough: folders are written by few of these.
spaces() {
  local sweep=("$wick" sweep gemm.onnx -m tiny --model schedule --effort 0 -o s)
  each --set dram_latency=50 dram_latency=50,60 dram_latency=-50 dram_latency=50.5 dram_bytes=6.5 \
    dram_bytes=.5 dram_bytes=5. dram_bytes=1e1 dram_latency=+50 dram_latency=0x32 dram_latency=-- \
    dram_latency=--5 dram_latency=- dram_latency=50,50 dram_latency=50, \
    dram_latency=,50 dram_latency= =5 dram_latency '' 'dram_latency= 50' dram_bytes=1.2.3 \
    dram_latency=99999999999999999999 -- "${sweep[@]}"
  each --prefetch auto auto,off auto,auto auto, '' on -- "${sweep[@]}"
  each --without none none,residency none,none none+residency residency+ '' -- "${sweep[@]}"
  each --task 0/1 0/0 1/1 -1/2 0/2/3 0 a/b 0/-1 '' / 0/100001 -- "${sweep[@]}" --set bus=16
  printf 'bus = [16, 32];\n' >space.cfg
  local explore=("$wick" explore gemm.onnx -m tiny --space space.cfg --confirm 0 --effort 0 -o e)
  each --limit area=0.001 area=0 area=-1 area= area '' area=1x area=x area=1xx area=inf area=nan \
    onchip_bytes=1 onchip_bytes=0.5x energy=0.0001x area=1,energy=1 =1 -- "${explore[@]}"
  local text
  for text in 'bus = 16;' 'bus = [16];' 'bus = (16, 32);' 'bus = [];' 'bus = 16.0;' 'bus = "16";' \
    'bus = [16, 16];' 'bus = -16;' 'bus = true;' 'bus = { a = 1; };' 'bus = 16; bus = 32;' \
    'bus = 16' 'bus' '' 'dram_bytes = 0.0;' 'dram_bytes = 1e400;' 'array = [8, 9];' \
    'bus = 99999999999;'; do
    printf '%s\n' "$text" >space.cfg
    each --budget 1 -- "${explore[@]}" | sed "s/^--budget 1/$text/"
  done
}
prints values-spaces spaces

# An initializer f32[2,2]; no byte of it is 0.
tensor_of_ones() {
  field 5 "$(number 1 2)$(number 1 2)$(number 2 1)$(field 8 "$1")$(
    field 9 $'\xcd\xcc\x8c\x3f\xcd\xcc\x8c\xbf\xcd\xcc\x8c\x3e\xcd\xcc\x8c\x3f')"
}
rest() {
  model "$(field 1 "$(node MatMul 'x k' p)")$(field 1 "$(node Relu p y)")$(tensor_of_ones k)" \
    "$(field 11 "$(value x 1 4 2)")" "$(field 12 "$(value y 1 4 2)")" >net.onnx
  local quantize=("$wick" quantize net.onnx --random 1 -o q.onnx)
  each --target-drop 1dB -300dB 0dB 1db 1 0 0.0 -0.1 1.5 dB '' 1e-9 nan inf infdB 40dBx -- \
    "${quantize[@]}"
  each --keep-float MatMul Relu MatMul, ,Nothing '' Nothing Matmul -- "${quantize[@]}"
  each --percentile 50 49.9 100 100.1 -- "${quantize[@]}" --method percentile
  printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\n' >plan.csv
  each --capacity 95 96 1 0 -- "$wick" plan plan.csv
  local row
  for row in 'a,0,2,64,1' 'a,0,2,64' 'a,0,2,64,8,9' 'a,2,2,64,1' 'a,3,2,64,1' 'a,-1,2,64,1' \
    'a,0,2,0,1' 'a,0,2,-1,1' 'a,0,2,64,0' 'a,0,2,64,3' 'a,0,2,64,4' 'a,x,2,64,1' 'a,0,2,6x,1' \
    ',0,2,64,1' '' 'a,0,9223372036854775807,64,1' 'a,0,9223372036854775808,64,1' \
    'a,0,2,9223372036854775807,1' 'a,0,2,4611686018427387904,1' 'a,0,2,64,4611686018427387904' \
    'b,0,2,64,1' 'a, 0,2,64,1' 'a,0,2,64,' 'a,0.5,2,64,1' '"a",0,2,64,1' '"a,c",0,2,64,1' \
    'a,+0,2,64,1' 'a,0,2,064,1'; do
    printf 'id,lower,upper,size,alignment\n%s\nb,1,3,32,1\n' "$row" >plan.csv
    printf '%s: ' "$row"
    "$wick" plan plan.csv 2>&1 | tr '\n' ' '
    echo
  done
  for row in 'id,lower,upper,size' 'id,lower,upper' 'id;lower;upper;size' 'size,lower,upper,id' \
    'id,lower,upper,size,align' 'ID,LOWER,UPPER,SIZE' ''; do
    printf '%s\na,0,2,64\n' "$row" >plan.csv
    printf '%s: %s\n' "$row" "$("$wick" plan plan.csv 2>&1 | tr '\n' ' ')"
  done
}
prints values-rest rest
finish
