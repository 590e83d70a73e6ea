#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help, manual pages, completion, lists: everything that comes from the tables.
source "$(dirname "$0")/lib.bash" "$@"
commands='compile run generate test compare inspect ops plan quantize train zoo devices asm disasm
  isa check sim diff sweep help
  completion man'

gives 'version' '^wick [0-9]+\.' "$wick" --version
gives 'help' '^Usage: wick COMMAND' "$wick" --help
gives 'help command' '^Usage: wick COMMAND' "$wick" help
gives 'exit status' '^  3  malformed' "$wick" --help
for command in $commands; do
  gives "$command is listed" "^  $command " "$wick" --help
  gives "$command --help" "^Usage: wick $command" "$wick" "$command" --help
  gives "help $command" "^Usage: wick $command" "$wick" help "$command"
  gives "man $command" "^\.TH WICK.*-${command^^} 1" "$wick" man "$command"
  wide=$("$wick" "$command" --help | awk 'length($0) > 100')
  [[ -z $wide ]] && good || bad "$command --help is wide: $wide"
done
helps() {
  "$wick" help
  for command in ${commands% help*}; do
    echo "==== $command" && "$wick" $command --help
  done
  "$wick" man compile
  "$wick" completion bash
}
prints help helps

# Options that take a number, given one that is too small, one that is too large, none, 0 and 1.
number='--[a-z-]+=([NSPRACW]|SEED|SECONDS|FRACTION|SIZE)\b'
bounds() {
  local command option value
  local -A more=([train]='-o o.onnx --data x.npy --loss mse' [quantize]='-o o.onnx'
    [explore]='--space none.cfg -o o')
  for command in compile run generate test compare plan quantize zoo sim sweep train grad \
    explore; do
    for option in $("$wick" $command --help | grep -oE -- "$number"); do
      for value in -999999999999999 99999999999999999999 none 0 1; do
        "$wick" $command model ${more[$command]-} "${option%=*}=$value" 2>&1 |
          sed "s/^/$command $value: /"
      done
    done
  done
}
prints bounds bounds
gives 'option after the arguments' '^Usage' "$wick" inspect none.onnx --help
gives 'man' '^\.TH WICK 1' "$wick" man
gives 'completion' '^complete -F _wick wick' "$wick" completion bash
check 'completion is bash' bash -c "'$wick' completion bash | bash -n"
refuses 'other shells' 2 "no completion for shell 'csh'" "$wick" completion csh
refuses 'help for nothing' 2 "did you mean 'zoo'" "$wick" help zooo

gives 'operators' '^Conv +1-' "$wick" ops
gives 'intermediate representation' '^conv ' "$wick" ops --ir
gives 'passes' '^dead-code ' "$wick" ops --passes
gives 'markdown' '^# Operators' "$wick" ops --markdown
gives 'networks' '^resnet50 ' "$wick" zoo
gives 'a network, and which file it is' '^lstm\.onnx$' "$wick" zoo lstm
gives 'nothing of a file that was named' '^$' bash -c "echo; '$wick' zoo lstm -o named.onnx"
check 'the same network' cmp lstm.onnx named.onnx
refuses 'unknown network' 2 "did you mean 'resnet50'" "$wick" zoo resnet5
check 'output to a pipe that closes' bash -c "'$wick' ops --ir | head -1 >/dev/null"

weights=$(number 1 3)$(number 2 1)$(field 9 abcdefghijkl) # f32[3]
model "$(field 1 "$(node Constant '' w)$(field 5 "$(field 1 value)$(field 5 "$weights")")")$(
  field 1 "$(node Add 'x w' y)")" "$(field 11 "$(value x 1 2 3)")" \
  "$(field 12 "$(value y 1 2 3)")" >constant.onnx
gives 'parameters in Constant nodes' '^parameters +3 \(12 B\)' "$wick" inspect constant.onnx

printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n' >plan.csv
gives 'plan' '96' "$wick" plan plan.csv -o placed.csv
gives 'offsets' '^id,lower,upper,size,offset' cat placed.csv
"$wick" plan plan.csv --capacity 80 >/dev/null 2>&1
[[ $? == 1 ]] && good || bad 'a plan that does not fit exits with 1'
finish
