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
if is_sanitized; then
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
refuses 'a package of another target' 3 'is for the accelerator; a float model needs ' \
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
sed '/^.memory/{s/1024/65536/; s/0x2000/0x20000/}' race.s >large.s
check 'a package that needs memory' "$build/accel_package" large.wick large.s
check 'a package with a race' "$build/accel_package" race.wick race.s
refuses 'check finds it' 3 '^wick: race.wick:part0: command 1 \(ST\)' "$wick" check race.wick

# ---- sim
prints sim-package "$wick" sim two.wick --model timing
gives 'sim: the first part' '^part +part0, 11 commands' "$wick" sim two.wick
gives 'sim: the sum of the parts' '^ *all +[0-9,]+ +100.0$' "$wick" sim two.wick --model timing
gives 'sim: the memory that it was scheduled for' '^scheduled for +dram_latency 100, not 500$' \
  "$wick" sim two.wick --model timing --dram latency=500
for model in timing rtl; do
  "$wick" sim two.wick --model $model --json $model.json --csv $model.csv --trace $model.trace \
    >$model.txt 2>/dev/null
done
check 'the timing model has the cycles of the RTL' cmp timing.csv rtl.csv
check 'cycles of the layers sum to those of the parts' python3 - <<'EOS'
import csv, json
whole = json.load(open("rtl.json"))
rows = list(csv.DictReader(open("rtl.csv")))
assert whole["cycles"] == sum(p["cycles"] for p in whole["parts"]) > 0
for k, part in enumerate(whole["parts"]):
    layers = part["layers"]
    assert part["cycles"] == sum(l["cycles"] for l in layers) == part["all_layers"]["cycles"]
    assert part["cycles"] == sum(int(r["cycles"]) for r in rows if int(r["part"]) == k)
    assert part["counters"]["bytes_st"] == sum(l["written"] for l in layers)
    loaded = sum(part["counters"]["bytes_ld%d" % q] for q in range(3))
    assert loaded == sum(l["read"] for l in layers)
    for l in layers:
        assert l["exposed"] <= l["cycles"] and l["bound"] <= part["cycles"]
conv = whole["parts"][0]["layers"][1]
assert conv["name"] == "layer1" and conv["mapping"] == 1 and conv["ex"] == 64
assert conv["bound"] == (672 + 512) // 4 and abs(conv["efficiency"] - 296 / conv["cycles"]) < 1e-6
assert conv["limit"] == "memory" and rows[1]["limit"] == "memory"
EOS
check 'the trace has a process for each part' python3 - <<'EOS'
import json
events = json.load(open("rtl.trace"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert names == {1: "part0", 2: "part1"}, names
assert {e["args"]["layer"] for e in events if e["ph"] == "X"} >= {"layer1", "layer2", "layer3"}
first = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["pid"] == 1)
assert min(e["ts"] for e in events if e["ph"] == "X" and e["pid"] == 2) >= first
EOS
"$wick" run two.wick --random 5 --output-dir five >/dev/null 2>&1
check 'inputs from a seed' "$wick" sim two.wick --random 5 --part 1 --dump y=y.bin --model timing
tail -c 1024 five/y.npy >want.bin
check 'its result' cmp y.bin want.bin
"$wick" run two.wick --random 5 --input functional/y.npy --output-dir six >/dev/null 2>&1
check 'inputs from a file' "$wick" sim two.wick --input x=functional/y.npy --part 1 --dump y=y.bin \
  --model functional
tail -c 1024 six/y.npy >want.bin
check 'their result' cmp y.bin want.bin
refuses 'a region of several' 2 'two.wick: has 2 parts for the accelerator: choose one for --dump' \
  "$wick" sim two.wick --dump y=y.bin
refuses 'sim: no such part' 2 '--part 2: the package has 2 for' "$wick" sim two.wick --part 2
refuses 'sim: another machine' 3 "^wick: two.wick: is for machine 'tiny', not 'wide': array is 8" \
  "$wick" sim two.wick --machine wide
refuses 'sim: an unknown key' 2 "unknown key 'latncy'" "$wick" sim two.wick --dram latncy=5
refuses 'sim: nothing to simulate' 3 'net.wick: no part .* a float model needs ' \
  "$wick" sim net.wick
refuses 'inputs of streams' 2 'one.s: --input is for packages; this is a stream$' \
  "$wick" sim one.s --input x.npy
refuses 'no time' 2 '--csv: the functional model has no time' \
  "$wick" sim two.wick --csv l.csv --model functional
"$wick" sim two.wick --model timing --max-cycles 10 --csv short.csv >/dev/null 2>&1
check 'it gives up' test $? = 1
check 'columns of no rows' diff short.csv <(head -1 timing.csv)
refuses 'the package itself' 2 '^wick: two.wick: --json would overwrite the package$' \
  "$wick" sim two.wick --model timing --json two.wick
refuses 'the model itself' 2 '^wick: net.onnx: --html would overwrite the model$' \
  "$wick" sim net.onnx --model timing --html net.onnx
refuses 'a race' 3 '^wick: race.wick:part0: command 1 \(ST\)' "$wick" sim race.wick
refuses 'too little memory' 6 'the part needs [0-9]+ bytes of memory; machine tiny has 65536' \
  "$wick" sim large.wick --dram size=65536 --model timing

finish
