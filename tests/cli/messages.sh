#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What messages say: the user's place and words, one line, nothing that is not fit for a terminal.
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a package' "$wick" compile relu.onnx -q -o relu.wick
npy u8.npy '|u1' 2,3
npy f64.npy '<f8' 2,3
npy shape.npy '<f4' 3,2
npy flat.npy '<f4' 6

# Inputs are checked before anything runs on them.
for command in run 'run --target eval' compare 'compare --passes'; do
  for file in u8 f64 shape; do
    refuses "$command, $file.npy" 3 \
      "^wick: --input $file.npy: (input x is f32\[2,3\] but|axis 0 of .* has size 2) .* given$" \
      "$wick" $command relu.onnx -i $file.npy
  done
  refuses "$command, another rank" 3 \
    '^wick: --input x=flat.npy: input x has rank 2 in the model, rank 1 is given$' \
    "$wick" $command relu.onnx -i x=flat.npy
done
refuses 'a package, another rank' 3 \
  '^wick: --input x=flat.npy: input x is f32\[2,3\] but f32\[6\] was given$' \
  "$wick" run relu.wick -i x=flat.npy
model "$(field 1 "$(node Add 'a b' y)")" \
  "$(field 11 "$(value a 1 2 3)")$(field 11 "$(value b 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >add.onnx
refuses 'nothing about random inputs before an error' 3 'input a is f32' \
  "$wick" run add.onnx -i a=f64.npy
for command in 'run add.onnx' 'run add.onnx --target eval' 'compare add.onnx'; do
  gives "but with a result, $command" '2 of 2 inputs are random, seed 1' \
    bash -c "'$wick' $command 2>&1"
done
model "$(field 1 "$(node Add 'a b' y)")" \
  "$(field 11 "$(value a 1 2 3)")$(field 11 "$(value b 7 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >types.onnx
refuses 'the node and why in one line' 3 "the_y: .*while importing Add 'the_y'" \
  "$wick" compile types.onnx

# Files that are taken for other kinds of files.
refuses 'a model as a tensor' 3 'relu.onnx: is an ONNX model, not a tensor file' \
  "$wick" run relu.onnx -i x=relu.onnx
refuses 'a package as a tensor' 3 'relu.wick: is a Wick package, not a tensor file' \
  "$wick" run relu.onnx -i x=relu.wick
refuses 'a package to compare' 2 'relu.wick: is a package: compare needs the ONNX model' \
  "$wick" compare relu.wick
refuses 'a processor for a package' 2 'relu.wick: is a compiled package: --target, --cpu' \
  "$wick" run relu.wick --cpu x86-64

# Processors.
other=aarch64
[[ $(uname -m) == aarch64 ]] && other=x86-64
for command in 'run relu.onnx' 'compare relu.onnx' 'compare relu.onnx --passes' 'test .'; do
  cp relu.onnx model.onnx
  refuses "$command for another machine" 4 \
    "^wick: (relu.onnx: )?--cpu $other: code for $other cannot run" \
    "$wick" $command --cpu $other
done
refuses 'unknown processor: the known ones' 2 "'generic' \(choose from native, .*neoverse-n1" \
  "$wick" compile relu.onnx --cpu generic
refuses 'unknown processor: the nearest' 2 "did you mean 'haswell'" \
  "$wick" compile relu.onnx --cpu haswel

# Numbers and names.
refuses 'a name without letters' 2 "'--output': the name is empty" "$wick" compile relu.onnx -o ''
refuses 'a model without a name' 2 'an argument is empty: MODEL.onnx' "$wick" compile ''
refuses 'a number beyond 64 bits' 2 'outside 0 to 9223372036854775807' \
  "$wick" run relu.onnx --random 99999999999999999999
for command in test compare; do
  for option in rtol atol; do
    refuses "negative $option, $command" 2 "'--$option': '-1' is not allowed \(at least 0\)" \
      "$wick" $command relu.onnx --$option -1
  done
done
gives 'zoo --list' '^resnet50 ' "$wick" zoo --list

# Progress is for terminals: no control sequence and no carriage return in a file, and none on a
# terminal either that cannot obey it or whose user does without.
check 'a network' "$wick" zoo ds_cnn -o net.onnx
mkdir -p cases/one && cp net.onnx cases/one/model.onnx
for command in 'compile net.onnx -o net.wick' 'compare net.onnx' 'compare net.onnx --passes' \
  'run net.onnx' 'test cases' 'quantize net.onnx --random 1 -o q.onnx' \
  'quantize net.onnx --random 1 --target-drop 20dB -o q.onnx'; do
  TERM=xterm "$wick" $command >all 2>&1
  LC_ALL=C grep -qP '[\x1b\r]' all && bad "$command writes control sequences into a file" || good
  for setting in TERM=dumb 'TERM=xterm NO_COLOR=1'; do
    on_terminal all "env $setting '$wick' $command" || continue
    LC_ALL=C grep -q $'\e' all && bad "$command with $setting writes control sequences" || good
  done
done
if on_terminal all "env TERM=xterm '$wick' compare net.onnx"; then
  grep -q $'\r\e\[K[0-9]* of ' all && good || bad 'no progress on a terminal'
fi

# Notes are not written into the line of the progress, and once for all bindings.
model "$(field 1 "$(node Relu x y)")" "$(field 11 "$(value x 1 2 3)")$(field 11 "$(value s 1 M)")" \
  "$(field 12 "$(value y 1 2 3)")" >unused.onnx
npy x.npy '<f4' 2,3
note='wick: unused.onnx: --value leaves no input that is used: all outputs are constants'
two='compile unused.onnx -q -o unused.wick --value x=x.npy --bind M=1 --bind M=2'
[[ $("$wick" $two 2>&1) == "$note" ]] && good || bad "notes of two bindings: $("$wick" $two 2>&1)"
if on_terminal all "env TERM=xterm '$wick' $two"; then
  grep -q $'\r\e\[K'"$note" all && good || bad "a note on a terminal: $(cat -v all)"
fi

# What the import has to say.
then=$(field 1 "$(node Neg x p)")$(field 2 then)$(field 12 "$(value p 1 2 3)")
other=$(field 1 "$(node MatMul 'x x' q)")$(field 2 else)$(field 12 "$(value q 1 2 3)")
model "$(field 1 "$(node If c y; field 5 "$(field 1 then_branch; field 6 "$then")"
  field 5 "$(field 1 else_branch; field 6 "$other")")")" \
  "$(field 11 "$(value x 1 2 3)")$(field 11 "$(value c 9 1)")" \
  "$(field 12 "$(value y 1 2 3)")" >if.onnx
for command in 'compile if.onnx -q' 'compile if.onnx -q -v' 'run if.onnx' 'compare if.onnx'; do
  [[ $("$wick" $command 2>&1 >/dev/null | grep -c \
    '^wick: if.onnx: the_y: the else branch cannot run with these shapes (.*its results are NaN$'
    ) == 1 ]] && good || bad "a note of the import, $command: $("$wick" $command 2>&1)"
done

# Names out of a model on a terminal.
bad=$'x\e[31m\xff\xc2\x9b'
model "$(field 1 "$(node Relu "$bad" $'y\e\xff')")" "$(field 11 "$(value "$bad" 1 2 3)")" \
  "$(field 12 "$(value $'y\e\xff' 1 2 3)")" >wild.onnx
check 'wild names' "$wick" compile wild.onnx -q -o wild.wick
for command in 'inspect wild.onnx' 'inspect wild.onnx --steps' 'inspect wild.wick --steps' \
  'run wild.onnx' 'run wild.onnx --profile' 'run wild.onnx --profile --target eval' \
  'run wild.wick' 'compare wild.onnx -v' 'compile wild.onnx --time-passes -o wild.wick'; do
  gives "$command" . "$wick" $command
  (($("$wick" $command 2>&1 | grep -cP '[\x00-\x08\x0b-\x1f\x7f-\xff]'))) &&
    bad "$command prints what a terminal may obey" || good
done
gives 'but the names are there' '^input x\?\[31m\?\?\? ' "$wick" inspect wild.onnx
finish
