#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is left behind when something goes wrong: nothing.
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx
mkdir temporary
export TMPDIR=$PWD/temporary

# A process that is killed while it compiles.
for seconds in 0.02 0.05 0.1 0.3; do
  for command in run compare; do
    timeout -s TERM $seconds "$wick" $command net.onnx >/dev/null 2>&1
    [[ -z $(ls -A temporary) ]] && good || bad "$command leaves $(ls -A temporary)"
  done
done
for folder in /nonexistent /proc; do
  gives "no temporary files in $folder" '^time ' env TMPDIR=$folder "$wick" run relu.onnx
done

# Full disks: a small tmpfs where the system lets us mount one.
on_full_disk() { # COMMAND...
  mount -t tmpfs -o size=16k none out && { dd if=/dev/zero of=out/full bs=4k || :; } 2>/dev/null
  "$@"
  local status=$?
  rm -f out/full
  [[ -z $(ls -A out) ]] || echo "left behind: $(ls -A out)"
  return $status
}
export -f on_full_disk
export wick
mkdir out
if unshare -rm mount -t tmpfs none out 2>/dev/null; then
  full() {
    local name=$1 out
    shift
    out=$(unshare -rm bash -c 'on_full_disk "$@"' - "$@" 2>full.err)
    [[ $? == 5 ]] && grep -q 'No space left' full.err && [[ $(wc -l <full.err) == 1 ]] && good ||
      bad "$name: says $(cat full.err)"
    [[ $out != *'left behind'* ]] && good || bad "$name: $out"
  }
  full 'outputs' "$wick" run relu.onnx --output-dir out/new
  full 'tensors' "$wick" run net.onnx --dump-tensors out/new
  full 'tensors of the evaluator' "$wick" run net.onnx --target eval --dump-tensors out/new
  full 'package' "$wick" compile relu.onnx -q -o out/relu.wick
  for kind in package bundle; do
    full "report, $kind" "$wick" compile relu.onnx -q --emit $kind -o new --report out/x.json
    [[ -z $(ls | grep '^new') ]] && good || bad "$kind without its report: $(ls)"
    echo old >new && echo old >new.o
    full "report beside an older $kind" "$wick" compile relu.onnx -q --emit $kind -o new \
      --report out/x.json
    [[ $(cat new new.o) == $'old\nold' ]] && good || bad "the older $kind is lost"
    rm new new.o
  done
fi
finish
