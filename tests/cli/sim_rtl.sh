#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only the RTL can do: waveforms (which cycles they show; the run stays what it was), and being
# compared with the functional model.
source "$(dirname "$0")/lib.bash" "$@"

cat >wave.s <<'EOS'
.machine tiny
.memory x 0x1000 64
.random x 1
a: ld.ld0 dram=x n0=64 spm=0x1000 c0=64
b: ld.ld0 dram=x n0=64 spm=0x2000 c0=64 wait a
mark row=0
end
EOS

command -v verilator >/dev/null || finish

# window A:B FROM:TO: what is said, and the times in the head of the file: ten units are a cycle,
# whose clock rises in its middle.
window() {
  rm -f wave.s.fst
  check "commands $1" "$wick" sim wave.s --tune never --json wave.json --fst "$1"
  sed -i -E "/\"(build|seconds)\":/d" wave.json # which differ at each run
  check "commands $1: what is printed" cmp plain.json wave.json
  "$wick" sim wave.s --fst "$1" 2>said >/dev/null
  check "commands $1: said" grep -q "^wrote wave.s.fst: cycles ${2%:*} to ${2#*:}$" said
  check "commands $1: head" test "$(od -An -tx1 -N9 wave.s.fst | tr -d ' ')" = 000000000000000149
  first=$((0x$(od -An -tx1 -j9 -N8 wave.s.fst | tr -d ' ')))
  last=$((0x$(od -An -tx1 -j17 -N8 wave.s.fst | tr -d ' ')))
  check "commands $1: first time" test $first -eq $((10 * ${2%:*} + 5))
  check "commands $1: last time" test $last -eq $((10 * ${2#*:} + 10))
}

"$wick" sim wave.s --tune never --json plain.json >/dev/null 2>&1
sed -i -E "/\"(build|seconds)\":/d" plain.json
cycles=$(grep -m1 -o '"cycles": [0-9]*' plain.json | tr -dc 0-9)

window 0:0 119:286
window 1:1 287:412
window 0:1 119:412
window 2:2 151:153
window 2:3 "151:$cycles" # the end does not retire: all that follows is shown

# More small transfers under way than a channel has places for: they wait, as in the timing model.
{
  printf '.machine base\n.memory x 0x0 65536\n.random x 1\n.memory y 0x20000 65536\n.output y\n'
  for ((i = 0; i < 40; i++)); do
    printf 'ld.ld1 dram=x+%d n0=16 spm=%d c0=16\n' $((i * 1024)) $((i * 16))
    printf 'fill.ld1 value=%d spm=%d c0=16\n' $i $((4096 + i * 16))
  done
  for ((i = 0; i < 40; i++)); do
    printf 'st dram=y+%d n0=16 spm=%d c0=16' $((i * 1024)) $((i * 16))
    ((i)) && echo || echo ' wait ld1:80'
  done
  echo end
} >small.s
for latency in 10 100 1000; do
  simulate() { "$wick" sim small.s --dram latency=$latency --model "$@" 2>&1; }
  want=$(simulate timing | grep -E '^cycles|^y ')
  check "$latency cycles of latency: as in the timing model" test "$want" = \
    "$(simulate rtl --tune never --max-cycles 1000000 | grep -E '^cycles|^y ')"
done

# Where it goes: named after what is run and its part, in the current folder, or as --fst says.
check 'a package' "$(dirname "$wick")/accel_package" two.wick
mkdir folder && cp two.wick wave.s folder
wave() { # NAME FILE ARGUMENT...: it writes FILE and nothing else
  local name=$1 file=$2 before after
  shift 2
  rm -f ./*.fst folder/*.fst
  before=$(find . | sort)
  "$wick" sim "$@" 2>said >/dev/null && good || bad "$name: $(cat said)"
  after=$(find . ! -name said | sort)
  [[ $(comm -13 <(echo "$before") <(echo "$after")) == "./$file" ]] && good ||
    bad "$name writes $(comm -13 <(echo "$before") <(echo "$after"))"
  grep -q "^wrote $file: " said && good || bad "$name says $(cat said)"
}
wave 'a part' two.wick.1.fst two.wick --part 1 --fst 0:2
wave 'the other part' two.wick.0.fst two.wick --part 0 --fst 0:2
wave 'a part of a package elsewhere' two.wick.1.fst folder/two.wick --part 1 --fst 0:2
wave 'a stream elsewhere' wave.s.fst folder/wave.s --fst 0:1
wave 'a file' folder/b.fst folder/wave.s --fst 0:1=folder/b.fst
wave 'a file of a part' b.fst two.wick --part 1 --fst 0:1=b.fst
refuses 'several parts' 2 'has 2 parts for the accelerator: choose one for --fst with --part$' \
  "$wick" sim two.wick --fst 0:1
refuses 'no file' 2 '^wick: --fst 0:1= is not A:B or A:B=FILE' "$wick" sim wave.s --fst 0:1=
refuses 'the stream itself' 2 '^wick: wave.s: --fst would overwrite the stream$' \
  "$wick" sim wave.s --fst 0:1=wave.s

# What memory answers with an error: whose command it was, of which layer.
fails() { # NAME WHAT ARGUMENT...
  local name=$1 what=$2
  shift 2
  "$wick" sim "$@" >report 2>said
  [[ $? == 1 && $(grep '^wick: ' said | grep -v random) == "wick: $what" ]] && good ||
    bad "$name says $(cat said)"
}
fetch='memory answered the fetch of the command with an error'
fails 'the end of a part' "two.wick:part0: command 10 (END): $fetch" two.wick --dram error=40
fails 'of a layer' "two.wick:part0: command 0 (LD): $fetch; layer layer1" two.wick --dram error=3
fails 'a part elsewhere' "folder/two.wick:part1: command 0 (LD): $fetch; layer layer3" \
  folder/two.wick --part 1 --dram error=3
fails 'a stream' "folder/wave.s:4: command 0 (LD): $fetch" folder/wave.s --dram error=3
fails 'data' 'wave.s:4: command 0 (LD): memory answered a read with an error' \
  wave.s --dram error=20

# A transfer that nothing waits for: the functional model has it done in time.
cat >race.s <<'EOS'
.machine tiny
.memory x 0x1000 1024
.memory y 0x5400 1024
.random x 1
x: ld.ld0 dram=x n0=1024 spm=0 c0=1024
m: map fn=move a=0 out=0x2000 n0=128
   st dram=y n0=1024 spm=0x2000 c0=1024 wait m
end
EOS
run_race() { "$wick" sim race.s --dump y=y.bin "$@"; }
refuses 'a race' 3 '^wick: race.s:6: command 1 .*: reads scratchpad bytes 0x0 to 0x3ff, ' run_race
run_race --unchecked >report 2>said
check 'another memory' test $? = 1
check 'where' grep -q \
  '^wick: memory differs from the functional model, first at 0x5400: got 0, want 65$' said
check 'what was measured stays' grep -q '^cycles ' report
check 'unless nobody asks' run_race --unchecked --unverified
cp y.bin rtl.bin
check 'of the model' run_race --unchecked --model functional
check 'they differ' test "$(cmp y.bin rtl.bin | grep -c differ)" = 1

finish
