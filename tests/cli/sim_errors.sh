#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What wick sim refuses before it builds a model, and which command an error of memory is blamed on.
source "$(dirname "$0")/lib.bash" "$@"

cat >marks.s <<'EOF'
.machine tiny
fill.ld0 value=3 spm=0 c0=64
mark row=0
fill.ld0 value=4 spm=64 c0=64
mark row=1  wait ld0:2
end
EOF
quiet() { "$@" >/dev/null; }

for window in 4 a:b 3:2 0:5 -1:2 0:1x; do
  refuses "a window of $window" 2 \
    "^wick: --fst $window is not A:B or A:B=FILE, two command indices below 5$" \
    env WICK_CACHE="$PWD/cache" "$wick" sim marks.s --fst="$window"
done
no_time=': the functional model has no time; --model timing or rtl has'
for option in '--trace t.json' --commands '--max-cycles 9' '--dram latency=3' \
  '--dram size=65536,dram_bytes=4' '--dram clock_mhz=9'; do
  name=${option%% [!-]*}
  [[ $name != --dram ]] || name="--dram [a-z_]*"
  # shellcheck disable=SC2086
  refuses "$option of a model without time" 2 "^wick: $name$no_time$" \
    "$wick" sim marks.s --model functional $option
done
for option in '--timeout 9' '--timeout 0' --stalls --random-reset '--seed 3' '--rtl .' --rebuild \
  --unverified --build '--fst 0:1' '--coverage c.dat' '--dram error=3'; do
  name=${option%% [!-]*}
  [[ $name != --dram ]] || name="--dram error"
  for model in functional timing; do
    # shellcheck disable=SC2086
    refuses "$option of no RTL" 2 "^wick: $name needs --model rtl$" \
      "$wick" sim marks.s --model $model $option
  done
done
for option in '--dram latency=3' '--max-cycles 9' '--timeout 9' '--seed 3' --stalls --random-reset \
  --unchecked --unverified --commands '--dump y=y.bin' '--json j' '--trace t.json' '--csv c' \
  '--html h' --causes --with-modes '--input x.npy' '--random 2' '--entry e' '--part 0' \
  '--prefetch off' '--effort 1' '--quantize-random 1' '--bind N=1'; do
  # shellcheck disable=SC2086
  refuses "$option where nothing runs" 2 "^wick: ${option%% *} has no effect with --build$" \
    env WICK_CACHE="$PWD/cache" "$wick" sim --build --machine tiny $option
done
refuses 'a stream that is not run' 2 \
  '^wick: --build takes no stream; --machine names the machine$' "$wick" sim marks.s --build
refuses 'a file that cannot be written' 5 '^wick: none/c.dat: cannot write: ' \
  env WICK_CACHE="$PWD/cache" "$wick" sim --build --machine tiny --coverage none/c.dat
echo 'scratchpad = 131072;' >own.cfg
refuses 'the machine itself' 2 '^wick: own.cfg: --coverage would overwrite the file of --machine$' \
  env WICK_CACHE="$PWD/cache" "$wick" sim --build --machine own.cfg --coverage own.cfg
refuses 'a seed of nothing' 2 \
  '^wick: --seed has no effect without --stalls or --random-reset$' "$wick" sim marks.s --seed 0
refuses 'a key that is none' 2 "unknown key 'latenzy'; did you mean 'latency'?" \
  "$wick" sim marks.s --model functional --dram latenzy=3
check 'a size of the functional model' quiet "$wick" sim marks.s --model functional \
  --dram size=131072
check 'a memory of the timing model' quiet "$wick" sim marks.s --model timing \
  --dram latency=3,dram_bytes=4,jitter=3,seed=2,clock_mhz=9,size=131072
refuses 'a region that is not there' 2 '^wick: --dump z=z.bin: the stream has no such region$' \
  env WICK_CACHE="$PWD/cache" "$wick" sim marks.s --dump z=z.bin

refuses 'a memory that cannot keep up' 3 \
  'the memory cannot keep up: dram_traffic with its dram_overhead takes 150 % of it' \
  timeout 20 "$wick" sim marks.s --model timing --dram bytes=8,traffic=4,overhead=64
refuses 'or with refresh' 3 'takes 80 % of it, refresh 42.86 %' timeout 20 "$wick" sim marks.s \
  --model timing --dram bytes=8,traffic=6.4,refresh_interval=700,refresh_cycles=300

# A build says how far it is, a line at a time where there is no terminal.
mkdir fake
cat >fake/verilator <<'EOF'
#!/bin/sh
[ "$1" = --version ] && echo 'Verilator 5.006' && exit 0
while [ "$1" != -Mdir ]; do shift; done
for i in 1 2 3 4 5 6 7 8; do : >"$2/m$i.cpp"; done
lines() { grep -c ' %$' "$PROGRESS"; }
for i in 1 2 3 4 5 6 7 8; do
  : >"$2/m$i.o"
  [ "$PROGRESS" ] && until [ "$(lines)" -ge $((i / 2)) ]; do sleep 0.01; done
done
exit 1
EOF
chmod +x fake/verilator
PROGRESS=$PWD/progress PATH=$PWD/fake:$PATH WICK_CACHE=$PWD/none \
  "$wick" sim --build --machine tiny 2>progress
check 'a line at the start' test "$(head -1 progress)" = "building the cycle model 'tiny'"
check 'one for a tenth, no more' awk -F': ' '
  / %$/ { n++; if (int($2 / 10) <= last) exit 1; last = int($2 / 10) }
  END { exit !(n >= 3 && n <= 9) }' progress
check 'nothing for terminals' bash -c "! grep -q $'[\r\033]' progress"

# Where built models are kept; this Verilator makes none.
built_in() { # FOLDER VARIABLE=VALUE…
  local folder=$1
  shift
  env -u WICK_CACHE -u XDG_CACHE_HOME -u HOME PATH="$PWD/fake:$PATH" "$@" \
    "$wick" sim --build --machine tiny >where 2>&1
  [[ -d $folder ]]
}
check 'a folder of its own' built_in own WICK_CACHE="$PWD/own" XDG_CACHE_HOME="$PWD/xdg"
check 'the cache of the user' built_in xdg/wick WICK_CACHE= XDG_CACHE_HOME="$PWD/xdg" \
  HOME="$PWD/home"
check 'the home of the user' built_in home/.cache/wick HOME="$PWD/home" XDG_CACHE_HOME=
check 'and no other' test ! -e xdg/.cache
check 'folders from here' built_in r/s/t WICK_CACHE=r/s/t
check 'one folder' built_in u WICK_CACHE=u
check 'what is said' grep -q ': verilator failed:' where
: >file
PATH=$PWD/fake:$PATH refuses 'a file in the way' 5 'file/of: cannot make the folder: Not a dir' \
  env WICK_CACHE=file/of "$wick" sim --build --machine tiny
PATH=$PWD/fake:$PATH refuses 'nowhere' 5 '^wick: no folder for built models: set WICK_CACHE$' \
  env -u WICK_CACHE -u XDG_CACHE_HOME HOME= "$wick" sim --build --machine tiny

# A record that none may have.
cat >record.s <<'EOF'
.machine tiny
.memory x 0x1000 64
.memory p 0x2000 32
.memory y 0x3000 8
.random x 1 20 100
.record p 0 ma=64 mb=64 shift=6 lo2=50 hi2=40
x: ld.ld0 dram=x n0=64 spm=0 c0=64
p: ld.ld1 dram=p n0=32 spm=0x400 c0=32
m: map fn=add a=0 b=8 out=0x800 par=0x400  wait x p
   st dram=y n0=8 spm=0x800 c0=8  wait m
end
EOF
record='the record at 0x400: lo2 is 50, above hi2, which is 40'
refuses 'a range without numbers' 3 \
  "^wick: record.s:9: command 2 \(MAP\): field 'par': $record$" "$wick" check record.s
refuses 'and its results' 3 \
  "^wick: record.s:9: command 2 \(MAP\): $record: its results are undefined$" \
  quiet "$wick" sim record.s --unchecked --model functional

# Tools that fail: the end of what they said.
mkdir failing
cat >failing/verilator <<'EOF'
#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo "line $i"; done
exit 1
EOF
chmod +x failing/verilator
env PATH="$PWD/failing:$PATH" WICK_CACHE="$PWD/none" "$wick" sim --build --machine tiny \
  >/dev/null 2>err
[[ $? == 3 ]] && good || bad 'a tool fails, the command does not'
check 'twelve lines of its log' diff <(printf '  line %d\n' 3 4 5 6 7 8 9 10 11 12 13 14) \
  <(sed '1,/verilator failed:$/d' err)

# The hardware. The five commands are 20 beats; the bursts of the two rows are answered behind them.
if ! command -v verilator >/dev/null; then finish; fi
"$wick" sim --build --machine tiny >build.log 2>&1 || cat build.log
refuses 'an error of the first MARK' 1 \
  '^wick: marks.s:3: command 1 \(MARK\): memory answered a write with an error$' \
  quiet "$wick" sim marks.s --dram error=20
refuses 'an error of the second' 1 \
  '^wick: marks.s:5: command 3 \(MARK\): memory answered a write with an error$' \
  quiet "$wick" sim marks.s --dram error=25
refuses 'a record, not where memory differs' 3 \
  "^wick: record.s:9: command 2 \(MAP\): $record: its results are undefined$" \
  quiet "$wick" sim record.s --unchecked
finish
