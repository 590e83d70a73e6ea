#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick compile --state, wick run --state: tensors that stay from run to run, as the caches of a
# decoder do, instead of going out of one run and into the next.
nets=$(cd "$(dirname "$0")/../open" && pwd)
source "$(dirname "$0")/lib.bash" "$@"

# f32 = 1, i64 = 7. present.0 is past.0 with row `at` replaced by x, and y its sum; present.1 has
# another type.
cache=$(field 1 "$(node ScatterND 'past.0 at x' present.0)")$(
  field 1 "$(node ReduceSum present.0 y)")$(field 1 "$(node Transpose past.1 present.1)")
inputs=$(field 11 "$(value past.0 1 4 2)")$(field 11 "$(value at 7 1 1)")$(
  field 11 "$(value x 1 1 2)")$(field 11 "$(value past.1 1 4 2)")
outputs=$(field 12 "$(value y 1 1 1)")$(field 12 "$(value present.0 1 4 2)")$(
  field 12 "$(value present.1 1 2 4)")
model "$cache" "$inputs" "$outputs" >cache.onnx
keep=("$wick" compile -q cache.onnx -o cache.wick)

# at FILE N: a file with the number.
at() { npy "$1" '<i8' 1,1 && byte "$2" | dd of="$1" bs=1 seek=128 conv=notrunc 2>/dev/null; }
# floats FILE BYTES: two floats, each with these as its high bytes.
floats() {
  npy "$1" '<f4' 1,2
  printf '%b' "\\x00\\x00$2\\x00\\x00$2" | dd of="$1" bs=1 seek=128 conv=notrunc 2>/dev/null
}
# steps RUN...: positions 2, 0, 2 with 1, 2 and 3.5; prints the sums.
steps() {
  local k positions=(2 0 2) values=('\x80\x3f' '\x00\x40' '\x60\x40')
  for k in 0 1 2; do
    at at.npy "${positions[k]}"
    floats x.npy "${values[k]}"
    "$@" --input at=at.npy --input x=x.npy --input past.1=zeros.npy --output-dir out 2>err |
      sed -n 's/^y .* mean //p'
  done
}
npy zeros.npy '<f4' 4,2

stays() {
  check 'a pair' "${keep[@]}" --state past.0=present.0
  local sums
  sums=$(steps "$wick" run cache.wick --state kept | tr '\n' ' ')
  [[ $sums == '2 6 11 ' ]] && good || bad "rows stay: $sums"
  [[ ! -e out/present.0.npy ]] && good || bad 'the output is none any more'
  [[ $(steps "$wick" run cache.wick --state kept | tail -1) == 11 ]] && good ||
    bad 'a file is gone on with'
  sums=$(steps "$wick" run cache.wick | tr '\n' ' ')
  [[ $sums == '2 4 7 ' ]] && good || bad "without a file each run begins anew: $sums"
  "$wick" inspect cache.wick >seen
  grep -q '^section STATE  *0 B' seen && good || bad 'zeros are in the package'
  grep -q '^  state past.0 *f32\[4,2\] (32 B)$' seen && good || bad "inspect: $(cat seen)"
}

# The same rows as by hand, from output to input; the update is made where the tensor is.
agrees() {
  local by_hand kept
  check 'as it was' "$wick" compile -q cache.onnx -o plain.wick
  cp zeros.npy past.npy
  step() { "$wick" run plain.wick --input past.0=past.npy "$@" && cp out/present.0.npy past.npy; }
  by_hand=$(steps step)
  rm -f new
  kept=$(steps "$wick" run cache.wick --state new)
  [[ $kept == "$by_hand" ]] && good || bad "by hand $by_hand, kept $kept"
  "$wick" compile -q cache.onnx --state past.0=present.0 --emit program -o program.txt
  grep -q 'copy.*past\.0' program.txt && bad 'the tensor is copied' || good
  grep -q 'scatter_nd(@out %past.0.*@in %past.0' program.txt && good || bad "$(cat program.txt)"
}

# say NAME TEXT COMMAND...: fails, says so, and leaves no package.
say() {
  local name=$1 text=$2
  shift 2
  rm -f cache.wick
  "$@" >out.txt 2>&1 && bad "$name is taken"
  grep -qF -- "$text" out.txt && [[ ! -e cache.wick ]] && good || bad "$name: $(cat out.txt)"
}

names() {
  "${keep[@]}" --state auto >out.txt 2>&1 &&
    grep -qF 'state: past.0=present.0' out.txt &&
    grep -qF 'no state, as types differ: past.1=present.1' out.txt && good ||
    bad "auto: $(cat out.txt)"
  check 'a pattern' "${keep[@]}" --state 'past*0=present*0'
}

# Of several runs in one command, each begins with what the file has.
again() {
  local more
  "${keep[@]}" --state past.0=present.0
  steps "$wick" run cache.wick --state once >/dev/null
  cp once many
  steps "$wick" run cache.wick --state once >want
  for more in '--repeat 3' --profile '--dump-tensors dumped'; do
    cp many kept # shellcheck disable=SC2086
    steps "$wick" run cache.wick $more --state kept >got
    cmp -s got want && cmp -s kept once && good || bad "$more goes on from its own runs"
  done
}

# A cache that is longer after each run; a file for each step.
texts() {
  local n k=0
  for n in 3 1 1 4; do
    npy "step$k.npy" '<f4' "1,$n,16"
    yes "$((k + 2))" | head -c $((n * 64)) |
      dd of="step$k.npy" bs=1 seek=128 conv=notrunc 2>/dev/null
    k=$((k + 1))
  done
}
walk() { # RUN...: what there is of y after each step
  local k
  for k in 0 1 2 3; do
    "$@" --input "x=step$k.npy" --output-dir out 2>err | grep '^y '
  done
}
grows() {
  local by_hand kept run=("$wick" run grown.wick --state grown) past=0..12
  local open=("$wick" compile -q "$nets/cache.onnx" --bind "seq=1..4,past=$past")
  texts
  check 'inputs and outputs' "${open[@]}" -o plain.wick
  npy past_k.npy '<f4' 1,2,0,8 && cp past_k.npy past_v.npy
  step() {
    "$wick" run plain.wick --input past_k=past_k.npy --input past_v=past_v.npy "$@" &&
      cp out/present_k.npy past_k.npy && cp out/present_v.npy past_v.npy
  }
  by_hand=$(walk step)
  check 'what grows' "${open[@]}" --state 'past_*=present_*' -o grown.wick
  gives 'its state' '^  state past_k  *f32\[1,2,12,8\]' "$wick" inspect grown.wick
  gives 'its length' '^  state size\(past\) ' "$wick" inspect grown.wick
  kept=$(walk "${run[@]}")
  [[ $(wc -l <<<"$kept") == 4 && $kept == "$by_hand" ]] && good ||
    bad "by hand $by_hand, kept $kept"
  cp grown before
  refuses 'more than there is room for' 3 \
    'seq \+ past along axis 2 of past_[kv] is more than 12' "${run[@]}" --input x=step3.npy
  cmp -s grown before && good || bad 'a run that failed wrote its state'
  gives 'what fits' '^y f32\[1,3,16\]' "${run[@]}" --input x=step0.npy
  "${open[@]}" --state 'past_*=present_*' --emit program -o program.txt
  grep -q 'copy.*past_' program.txt && bad 'a cache is copied' || good
  check 'several entries' "${open[@]}" --bind "seq=5..8,past=$past" --state 'past_*=present_*' \
    -o grown.wick
  rm grown
  [[ $(walk "${run[@]}") == "$by_hand" ]] && good || bad 'several entries differ'
  # what com.microsoft's attention has of it, all of whose products end where tokens do
  "$wick" compile -q "$nets/gqa.onnx" --bind "seq=1..4,past=0..32,total=past+seq" --state auto \
    --emit program -o program.txt 2>err
  grep -q 'copy.*past_key' program.txt && bad 'a cache is copied' || good
  [[ $(grep -c '^ *matmul.* below ' program.txt) == 10 ]] && good ||
    bad "$(grep matmul program.txt)"
  refuses 'a part of them' 4 'past_v has the size of input past_k \(past\)' "${open[@]}" \
    --state past_k=present_k
  refuses 'a first length' 2 'begins with none, past=0..12' "$wick" compile -q \
    "$nets/cache.onnx" --bind seq=1,past=1..12 --state 'past_*=present_*'
  refuses 'no range' 2 'one that grows, whose length is a range' "$wick" compile -q \
    "$nets/cache.onnx" --bind seq=1,past=12 --state 'past_*=present_*'
}

refusals() {
  say 'a pattern of another text' "no output 'pst.0'" "${keep[@]}" --state 'pa*.0=p*.0'
  say 'no input' "--state a=present.0: the model has no input 'a'" \
    "${keep[@]}" --state a=present.0
  say 'what there is' 'output present.1: f32[2,4]' "${keep[@]}" --state a=present.0
  say 'no output' "the model has no output 'b'" "${keep[@]}" --state past.0=b
  say 'twice' 'input past.0 is kept already' "${keep[@]}" --state past.0=present.0,past.0=y
  say 'nothing' "'' must be INPUT=OUTPUT" "${keep[@]}" --state ''
  say 'a comma' "'' must be INPUT=OUTPUT" "${keep[@]}" --state past.0=present.0,
  say 'another type' 'input past.1 is f32[4,2] and output present.1 f32[2,4]' \
    "${keep[@]}" --state past.1=present.1
  say 'no pair' "'past.0' must be INPUT=OUTPUT" "${keep[@]}" --state past.0
  say 'two stars' "must have one * on each side" "${keep[@]}" --state 'p**=p*'
  say 'a pattern of nothing' "no input 'q*'" "${keep[@]}" --state 'q*=r*'
  say 'a model' 'is a model: --state FILE is for packages' "$wick" run cache.onnx --state kept
  "$wick" compile -q cache.onnx -o plain.wick
  say 'no state' 'has no state' "$wick" run plain.wick --state kept
  "${keep[@]}" --state past.0=present.0 && cp cache.wick kept.wick
  echo nothing >broken
  say 'no file of states' 'broken: ' "$wick" run kept.wick --state broken
  [[ $(cat broken) == nothing ]] && good || bad 'what could not be read was written'
  say 'a tensor' 'not a file of states' \
    "$wick" run kept.wick --input past.1=zeros.npy --state zeros.npy
}

stays
agrees
names
again
grows
refusals
finish
