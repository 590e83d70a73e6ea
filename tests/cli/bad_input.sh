#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: one line, the documented exit status, nothing left behind.
source "$(dirname "$0")/lib.bash" "$@"
small_models
mkdir out
check 'the small model is fine' "$wick" run relu.onnx --target eval
check 'a package to damage' "$wick" compile relu.onnx -o good.wick -q

refuses 'no command' 2 'wick --help' "$wick"
refuses 'unknown command' 2 "did you mean 'compile'" "$wick" compil relu.onnx
refuses 'unknown option' 2 "unknown option '--outptu'; did you mean '--output'" \
  "$wick" compile relu.onnx --outptu x
refuses 'unknown option of wick' 2 "unknown option '--verbose'" "$wick" --verbose
refuses 'missing argument' 2 'missing argument: MODEL.onnx' "$wick" compile
refuses 'unknown choice' 2 "--emit: no kind 'pakage'; did you mean 'package'" \
  "$wick" compile relu.onnx --emit pakage
refuses 'unknown pass' 2 "did you mean 'dead-code'" "$wick" compile relu.onnx --stop-after dead-cod
refuses 'unknown processor' 2 'i386' "$wick" compile relu.onnx --cpu i386 -o out/x.wick
refuses 'no such float' 2 "--convert f8: floats are stored as f16 or bf16" \
  "$wick" compile relu.onnx --convert f8
for type in i4:24 i8:8 i4:2048 i4:032 i4: i8:64x f16:32; do
  refuses "no such blocks, $type" 2 "--convert $type: .* i4 or i8, in blocks of 32 or of another" \
    "$wick" compile relu.onnx --convert $type
done
refuses 'code of half a compilation' 2 'stop-after' \
  "$wick" compile relu.onnx --emit object --stop-after lower
refuses 'output replaces the model' 2 'would overwrite' "$wick" compile relu.onnx -o ./relu.onnx

for command in compile run inspect compare; do
  refuses "missing file, $command" 5 'none.onnx: .*No such file' "$wick" $command none.onnx
  : >empty.onnx
  refuses "empty file, $command" 3 'empty.onnx: ' "$wick" $command empty.onnx
  head -c $(($(stat -c %s relu.onnx) - 9)) relu.onnx >cut.onnx
  refuses "truncated model, $command" 3 'cut.onnx: ' "$wick" $command cut.onnx
  printf '\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01' >png.onnx
  head -c 200 /dev/zero >>png.onnx
  refuses "a PNG, $command" 3 'png.onnx: ' "$wick" $command png.onnx
  refuses "a folder, $command" 5 'out: ' "$wick" $command out
done
refuses 'truncated model, test' 5 'none: ' "$wick" test none
refuses 'folder without models, test' 3 'no model.onnx' "$wick" test out

model "$(field 1 "$(node Relu b a)")$(field 1 "$(node Relu a b)")" \
  "$(field 11 "$(value x 1 2 3)")" "$(field 12 "$(value a 1 2 3)")" >cycle.onnx
refuses 'cyclic graph' 3 'cycle' "$wick" compile cycle.onnx
model "$(field 1 "$(node Frobnicate x y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >unknown.onnx
refuses 'unknown operator' 4 'Frobnicate' "$wick" compile unknown.onnx
model "$(field 1 "$(node Relu x a)")$(field 1 "$(node Frobnicate 'a x' y)$(field 7 other)")" \
  "$(field 11 "$(value x 1 2 3)")" "$(field 12 "$(value y 1 2 3)")" >domain.onnx
refuses 'unsupported: node, operator, opset, shapes, reason' 4 \
  '^wick: the_y: Frobnicate-13 \(f32\[2,3\]\): this operator is not known$' \
  "$wick" compile unknown.onnx
refuses 'unsupported: the domain as well' 4 \
  '^wick: the_y: other.Frobnicate-0 \(f32\[2,3\] f32\[2,3\]\): this' "$wick" compile domain.onnx
model "$(field 1 "$(node Foo x a)")$(field 1 "$(node Foo '' y)")" \
  "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")$(field 12 "$(value a 1 2 3)")" >several.onnx
err=$("$wick" compile several.onnx 2>&1)
want=$'\n  Foo-13: this operator is not known (2 nodes: the_a, the_y)'
[[ $err == *'2 nodes are not'*"$want" ]] &&
  good || bad "several unsupported nodes: $err"
err=$("$wick" compile several.onnx -v 2>&1)
[[ $err == *'2 nodes are'*'the_a: Foo-13 (f32[2,3]): this'*'the_y: Foo-13 (): this'* ]] && good ||
  bad "several unsupported nodes, -v: $err"
model "$(field 1 "$(node Sigmoid i a)")$(field 1 "$(node Sigmoid b c)")$(
  field 1 "$(node Foo x y)")" \
  "$(field 11 "$(value x 1 2)")$(field 11 "$(value i 7 2)")$(field 11 "$(value b 9 2)")" \
  "$(field 12 "$(value y 1 2)")$(field 12 "$(value a 7 2)")$(field 12 "$(value c 9 2)")" \
  >reasons.onnx
err=$("$wick" compile reasons.onnx 2>&1)
[[ $err == *'3 nodes of 2 operators are not supported'* && $(wc -l <<<"$err") == 4 ]] && good ||
  bad "one operator for two reasons: $err"

# Strings, images and maps: operators say so, by name, and their inputs need not.
model "$(field 1 "$(node StringConcat 's s' a)")$(field 1 "$(node StringNormalizer a b)")$(
  field 1 "$(node Equal 's s' y)")$(field 1 "$(node ImageDecoder x z)")$(
  field 1 "$(node Identity s c)")$(field 1 "$(node Identity s d)")$(
  field 1 "$(node Relu f g)")" \
  "$(field 11 "$(value s 8 2)")$(field 11 "$(value x 2 2)")$(field 11 "$(value f 1 2)")" \
  "$(field 12 "$(value y 9 2)")$(field 12 "$(value z 2 2)")$(field 12 "$(value g 1 2)")$(
    field 12 "$(value b 8 2)")$(field 12 "$(value c 8 2)")$(field 12 "$(value d 8 2)")" >text.onnx
err=$("$wick" compile text.onnx 2>&1)
strings='works on strings, which Wick does not have'
[[ $err == *': 6 nodes of 5 operators are not supported'* && $(wc -l <<<"$err") == 7 &&
  $err == *'--cut g ends the model before them' &&
  $err == *"the_y: Equal-13 (strings strings): $strings"* &&
  $err == *"StringConcat-13 (strings strings): $strings"* &&
  $err == *"Identity-13: $strings (2 nodes: the_c, the_d)"* &&
  $err == *'ImageDecoder-13 (u8[2]): works on encoded images, which Wick does not read'* ]] &&
  good || bad "strings and images: $err"
[[ $("$wick" compile text.onnx -v 2>&1 | grep -c "$strings") == 5 ]] && good || bad 'strings, -v'
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2)")$(field 11 "$(value s 8 2)")" \
  "$(field 12 "$(value y 1 2)")" >unread.onnx
gives 'strings that nobody reads' 'input s is left out, since nothing uses it: strings \(STRING\)' \
  bash -c "'$wick' compile unread.onnx 2>&1"
model "$(field 1 "$(node Relu x y)")$(field 1 "$(node Foo 'x s' t)")$(field 1 "$(node Bar t u)")" \
  "$(field 11 "$(value x 1 2)")$(field 11 "$(value s 8 2)")" "$(field 12 "$(value y 1 2)")" \
  >unused.onnx
gives 'nodes that nobody reads' \
  '2 nodes are left out, since nothing uses their results: the_t \(Foo\), the_u \(Bar\)$' \
  bash -c "'$wick' compile unused.onnx 2>&1"

# Operators that the standard has dropped say nothing of the model's opset.
model "$(field 1 "$(node Upsample x a)")$(field 1 "$(node Upsample a b)")$(
  field 1 "$(node Scatter 'x x x' y)")" \
  "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")$(field 12 "$(value b 1 2 3)")" >dropped.onnx
err=$("$wick" compile dropped.onnx 2>&1)
[[ $err == *': 3 nodes of 2 operators are not supported'* && $err != *newer* &&
  $err == *'Upsample-13: its definition is known up to opset 9; later opsets no longer have it'* &&
  $err == *'Scatter-13 '*'known up to opset 10; later opsets no longer have it'* ]] && good ||
  bad "operators that the standard has dropped: $err"

# A model of an opset that is not known yet: a line per operator, whatever the number of nodes.
nodes=$(field 1 "$(node Sigmoid x n0)")
for i in {1..40}; do nodes+=$(field 1 "$(node Relu n$((i - 1)) n$i)"); done
(number 1 8; field 7 "$nodes$(field 2 graph)$(field 11 "$(value x 1 2 3)")$(
  field 12 "$(value n40 1 2 3)")"; field 8 "$(number 2 99)") >newer.onnx
newest=$("$wick" ops | awk '/^Relu / { sub(/.*-/, "", $2); print $2 }')
for command in 'compile newer.onnx' 'run newer.onnx' 'compare newer.onnx' \
  'quantize newer.onnx --random 1 -o q.onnx'; do
  err=$("$wick" $command 2>&1 >/dev/null)
  [[ $err == "wick: newer.onnx: opset 99 is newer than $newest, the newest that is known: "* &&
    $(grep -c 'is newer than' <<<"$err") == 1 ]] && good ||
    bad "a newer opset is taken, $command: $err"
  command+=' --strict-opset'
  err=$("$wick" $command 2>&1)
  [[ $(wc -l <<<"$err") == 4 && $err == *'41 nodes of 2 operators'*'Relu-99: '* &&
    $err == *"opset 99 is newer than $newest, the newest that is known:"*'41 nodes'* &&
    $err == *'Relu-99: '*'(40 nodes: the_n1, the_n2, the_n3, …)'*'-v lists every'* ]] &&
    good || bad "a newer opset, $command: $err"
  [[ $("$wick" $command -v 2>&1 | wc -l) == 42 ]] && good || bad "a newer opset, $command -v"
done
err=$("$wick" sim newer.onnx --strict-opset 2>&1)
[[ $? == 4 && $err == *"opset 99 is newer than $newest"* ]] && good ||
  bad "a newer opset, sim: $err"
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 3)")" '' >mute.onnx
refuses 'no outputs' 3 'mute.onnx: the model has no outputs' "$wick" compile mute.onnx
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 4 5)")" >declared.onnx
err=$("$wick" compile declared.onnx 2>&1 >declared.log)
[[ $? == 0 && $err == *"output 'y' is declared [4,5], but its node produces f32[2,3]" ]] && good ||
  bad "another shape than declared: $err"
rm declared.log declared.wick
(number 1 8; field 7 "$(field 1 "$(node Relu x y)")$(field 2 graph)$(field 11 "$(value x 1 2 3)")$(
  field 12 "$(value y 1 2 3)")") >unversioned.onnx
refuses 'no opset' 3 'unversioned.onnx: the model does not say which opset' \
  "$wick" compile unversioned.onnx
printf 'id,lower,upper,size\na,0,2,64\nb,0,2,64\n\na,2,4,64\n' >twice.csv
refuses 'an id twice' 3 "twice.csv:5: the id 'a' is that of line 2" "$wick" plan twice.csv
refuses 'no memory' 2 "'--capacity': '0' is not allowed \(at least 1\)" \
  "$wick" plan twice.csv --capacity 0
refuses 'unbound dimension' 2 '--bind n=N' "$wick" compile symbolic.onnx
refuses 'unknown symbol' 2 '--bind m' "$wick" compile symbolic.onnx --bind m=1
for bind in n=1, n=1,,m=2 ,n=1 , '' n =1 n,m=1; do
  refuses "--bind '$bind'" 2 "^wick: --bind $bind: must be SYMBOL=N, several joined by commas$" \
    "$wick" compile symbolic.onnx --bind "$bind"
done

npy shape.npy '<f4' 3,3
npy dtype.npy '<i8' 2,3
npy right.npy '<f4' 2,3
head -c 60 right.npy >cut.npy
for file in relu.onnx good.wick; do
  refuses "wrong input shape, $file" 3 'x' "$wick" run $file --input x=shape.npy
  refuses "wrong dtype, $file" 3 'x.*(f32|i64)' "$wick" run $file --input x=dtype.npy
  refuses "truncated input, $file" 3 'cut.npy: ' "$wick" run $file --input cut.npy
  refuses "missing input, $file" 5 'none.npy: ' "$wick" run $file --input none.npy
  refuses "unknown input, $file" 2 "no input 'z'" "$wick" run $file --input z=right.npy
  refuses "too many inputs, $file" 2 'already has a file' \
    "$wick" run $file -i right.npy -i right.npy
done

for command in 'compile relu.onnx -q -o' 'zoo ds_cnn -o' \
  'compile relu.onnx -q -o out/x --report'; do
  refuses "no such folder: $command" 5 'nowhere/x: ' "$wick" $command nowhere/x
  refuses "output is a folder: $command" 5 'out: ' "$wick" $command out
  rm -f out/x
done
for kind in bundle object asm llvm-ir onnx graph; do
  refuses "unwritable $kind" 5 'nowhere/' "$wick" compile relu.onnx -q --emit $kind -o nowhere/x
done

# A full disk: a small tmpfs where the system lets us mount one, else /dev/full.
refuses 'full device' 5 '/dev/full: .*No space left' "$wick" zoo ds_cnn -o /dev/full
refuses 'full standard output' 5 'No space left' bash -c "'$wick' ops >/dev/full"
full_disk() {
  mount -t tmpfs -o size=64k none out && "$wick" zoo ds_cnn -o out/big.onnx
  local status=$?
  [[ -z $(ls -A out) ]] || echo "left behind: $(ls -A out)"
  return $status
}
export -f full_disk
export wick
if unshare -rm mount -t tmpfs none out 2>/dev/null; then
  refuses 'full disk' 5 'big.onnx: .*No space left' unshare -rm bash -c full_disk
fi

# Every section, and the header, of a damaged package.
offsets=$("$wick" inspect good.wick | awk '$1 == "section" && $3 > 0 {
  for (i = 1; i <= NF; i++) if ($i == "at") print $(i + 1) + 0 }')
for at in 9 20 40 $offsets $(($(stat -c %s good.wick) - 1)); do
  cp good.wick flipped.wick
  flip flipped.wick "$at"
  refuses "flipped byte $at, run" 3 'flipped.wick: ' "$wick" run flipped.wick
  refuses "flipped byte $at, inspect" 3 'flipped.wick: ' "$wick" inspect flipped.wick
done
head -c $(($(stat -c %s good.wick) - 1)) good.wick >cut.wick
refuses 'truncated package' 3 'cut.wick: ' "$wick" run cut.wick
check 'a package for another processor' "$wick" compile relu.onnx -q --cpu aarch64 -o arm.wick
refuses 'and it is not run' 4 'arm.wick: .*aarch64' "$wick" run arm.wick
gives 'but described' 'aarch64' "$wick" inspect arm.wick

# ---- targets and sizes ---------------------------------------------------------------------------
refuses 'a processor twice' 2 '^wick: --cpu avx2 and --target cpu:base: give one of them$' \
  "$wick" compile relu.onnx --cpu avx2 --target cpu:base
refuses 'the evaluator among targets' 2 '^wick: --target: the evaluator, eval, runs models on ' \
  "$wick" compile relu.onnx --target accel,eval
refuses 'a target behind the host' 2 '^wick: --target: cpu runs everything and comes last; ' \
  "$wick" compile relu.onnx --target cpu,accel
refuses 'no host and a host' 2 '^wick: --no-host and --target cpu: give one of them$' \
  "$wick" compile relu.onnx --target accel,cpu --no-host
refuses 'nobody' 2 '^wick: --no-host: name another target with --target$' \
  "$wick" compile relu.onnx --no-host
refuses 'no target' 2 '^wick: --target: the name of a target is missing$' \
  "$wick" compile relu.onnx --target accel,
refuses 'a budget that is no size' 2 '^wick: --memory-budget many: a size is expected: 64MiB, ' \
  "$wick" compile relu.onnx --memory-budget many
refuses 'a program before there is one' 2 '^wick: --stop-after ends before there is a ' \
  "$wick" compile relu.onnx --emit program --stop-after dead-code -o none.txt
refuses 'a shape without a name' 2 \
  '^wick: --shape 2x3: must be INPUT=SIZES, such as image=1x3x224x224$' \
  "$wick" compile relu.onnx --shape 2x3
refuses 'a shape without an input' 2 '^wick: --shape =2x3: must be INPUT=SIZES' \
  "$wick" compile relu.onnx --shape =2x3
refuses 'a shape of too many axes' 2 '^wick: --shape x=1x1x1x1x1x1x1x1x1: more than 8 dimensions$' \
  "$wick" compile relu.onnx --shape x=1x1x1x1x1x1x1x1x1
# External data through links: within the model's folder, or in the one that a link to the model
# leads to, as caches lay models out.
source "$wanted/../external.bash"
external blobs w
mv blobs/m.onnx blobs/b1 && mkdir shown far
ln -s ../blobs/b1 shown/m.onnx && ln -s ../blobs/w shown/w
gives 'links to a folder beside it' '^y f32\[2,3\]' "$wick" run shown/m.onnx --bind N=2
gives 'weights beside what the link leads to' '^y f32\[2,3\]' \
  bash -c "rm shown/w && '$wick' run shown/m.onnx --bind N=2"
cp blobs/b1 far/m.onnx && ln -s ../blobs/w far/w
refuses 'a link out of the folder' 3 'w: is refused: a link leads out of the folder' \
  "$wick" run far/m.onnx --bind N=2
rm far/w && cp blobs/w far/v && ln -s v far/w
gives 'a link within the folder' '^y f32\[2,3\]' "$wick" run far/m.onnx --bind N=2
# Sizes whose name names nothing are each their own.
for name in '?' None -1 NONE '*' -2 Null NaN; do
  model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 "$name" "$name")")" \
    "$(field 12 "$(value y 1 2 "$name" "$name")")" >nameless.onnx
  refuses "a size called $name" 2 'sizes are not known .*: give --shape x=2xNxN$' \
    "$wick" run nameless.onnx
  gives "two sizes called $name" '^y f32\[2,3,4\]' "$wick" run nameless.onnx --shape x=2x3x4
  refuses "the size $name is not bound" 2 'this names no size; .* --shape INPUT=' \
    "$wick" run nameless.onnx --bind "$name=4"
done
for name in _ nano nones; do
  model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 "$name" "$name")")" \
    "$(field 12 "$(value y 1 2 "$name" "$name")")" >named.onnx
  refuses "two sizes called $name" 2 'which is 3 already; 4 is given' \
    "$wick" run named.onnx --shape x=2x3x4
done
finish
