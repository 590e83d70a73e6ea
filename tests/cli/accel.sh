#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packages with parts for the accelerator: run, test, inspect, check, disasm, sim.
headers=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/lib.bash" "$@"
build=$(dirname "$wick")

check 'a package of two parts' "$build/accel_package" two.wick
"$wick" disasm two.wick --part 0 -o one.s
check 'a package of one part' "$build/accel_package" one.wick one.s

# ---- run
for model in functional timing rtl; do
  gives "run on $model" '^y i8\[1024\] ' "$wick" run two.wick --model $model --output-dir $model
  check "$model gives the same" cmp functional/y.npy $model/y.npy
done
"$wick" zoo ds_cnn -o net.onnx
refuses 'a model without effect' 2 '--model rtl has no effect: nothing runs on the accelerator$' \
  "$wick" run net.onnx --model rtl

# ---- from C, without a compiler
cat >main.c <<'EOS'
#include "runtime/device.h"
#include <stdio.h>
static _Alignas(64) signed char x[1024], y[1024];
int main(int argc, char **argv) {
  const void *in[] = {x};
  void *out[] = {y};
  wick_model *model;
  wick_session *session;
  if (argc < 2 || wick_device_register(wick_device_plugin()) != WICK_OK) return 1;
  if (wick_model_load(argv[1], 0, &model) != WICK_OK) return 2;
  if (wick_session_create(model, 0, 1, &session) != WICK_OK) return 3;
  if (wick_session_run(session, in, out) != WICK_OK) return 4;
  printf("y %d\n", y[7]);
  wick_session_free(session);
  wick_model_free(model);
  return 0;
}
EOS
if nm "$wick" | grep -q __asan_init; then
  echo 'note: a C program with the device is tried without sanitizers'
else
  check 'a C program' "${CC:-cc}" -I "$headers" main.c -o main -L "$build" -lwick_accel -lwick \
    -Wl,-rpath,"$build"
  gives 'runs it' '^y 1$' ./main two.wick
fi

# ---- looking at it
gives 'inspect: the machine' '^machine of unit 0 +tiny: 8 x 8 MACs, 64.0 KiB . 16.0 KiB, ' \
  "$wick" inspect two.wick
gives 'inspect: parts' '^accelerator part 1 +part1, unit 0: 5 commands, 1 layers, 1.0 KiB of ' \
  "$wick" inspect two.wick
gives 'inspect: layers' '^ +0.2 +layer2 +test +1 ' "$wick" inspect two.wick --steps

# ---- check and disasm
gives 'check: the first part' '^two.wick:part0: 11 commands, 8 waits ' "$wick" check two.wick
gives 'check: the second part' '^two.wick:part1: 5 commands, 3 waits ' "$wick" check two.wick
gives 'check: one part' '^two.wick:part1: ' "$wick" check two.wick --part 1
refuses 'no such part' 2 '--part 2: the package has 2 for the accelerator, counted from 0$' \
  "$wick" check two.wick --part 2
refuses 'parts of streams' 2 '^wick: one.s: --part chooses from a package; this is a stream$' \
  "$wick" check one.s --part 0
refuses 'another machine' 3 "two.wick: is for machine 'tiny', not 'base': array is 8, not 16, " \
  "$wick" check two.wick --machine base
"$wick" compile net.onnx -o net.wick >/dev/null
refuses 'a package of another target' 3 'no part of the package is for the accelerator$' \
  "$wick" check net.wick
gives 'disasm' '^ld1_2: ld.ld1 dram=constants\+0x40 n0=96 ' "$wick" disasm one.wick
"$wick" disasm one.wick -o again.s
check 'it assembles to the same' bash -c "'$wick' asm again.s -q && '$wick' disasm again.wcs |
  diff - again.s"
refuses 'several parts' 2 'two.wick: has 2 parts for the accelerator: choose one with --part$' \
  "$wick" disasm two.wick

# ---- what is damaged
cp two.wick cut.wick
truncate -s 6000 cut.wick
refuses 'a file that was cut' 3 'cut.wick: ' "$wick" run cut.wick
cat >race.s <<'EOS'
.machine tiny
.memory x 0x1000 1024
.memory y 0x2000 1024
.output y
a: ld.ld0 dram=x n0=1024 spm=0 c0=1024 op=1
   st dram=y n0=1024 spm=0 c0=1024 op=1
end
EOS
check 'a package with a race' "$build/accel_package" race.wick race.s
refuses 'check finds it' 3 '^wick: race.wick:part0: command 1 \(ST\)' "$wick" check race.wick

finish
