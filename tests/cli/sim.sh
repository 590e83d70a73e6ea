#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Streams on the accelerator: sim.
source "$(dirname "$0")/lib.bash" "$@"

cat >small.s <<'EOS'
; a product with 8 x 8 weights, in two tiles
.machine tiny
.memory x 0x1000 128*N
.memory w 0x4000 N*N
.memory p 0x5000 32+8*N
.memory y 0x8000 128*N
.random x 1
.random w 2
.record p 0
.for i 0 N
  .entry p 0 i bias=i*10 scale=0.01
.end
.output y
.define P 0x400
.define Y 0x8000
w:    ld.ld1 dram=w n0=N*N spm=0 c0=N*N
p:    ld.ld1 dram=p n0=32+8*N spm=0x400 c0=32+8*N
.for i 0 2
x{i}: ld.ld0 dram=x+i*64*N n0=64*N spm=0x1000*(i+1) c0=64*N
c{i}: conv in=0x1000*(i+1) in_x=N nx=64 wt=0 acc=64*i drain out=Y+i*64*N par=P op=i  wait x{i} w p
      st dram=y+i*64*N n0=64*N spm=0x8000+i*64*N c0=64*N op=i  wait c{i}
      mark row=i
.end
end
EOS

# Results alone.
gives 'the result' '^y +1,024  02a486b9f6ab4a44  79 127 -123 ' \
  "$wick" sim small.s --model functional --dump y=want.bin
check 'dumped' test "$(stat -c %s want.bin)" = 1024
"$wick" asm small.s -q
gives 'of an assembled stream' '02a486b9f6ab4a44' "$wick" sim small.wcs --model functional

# What is refused.
refuses 'no file' 5 '^wick: none.s: cannot open' "$wick" sim none.s
sed 's/: conv/: konv/' small.s >bad.s
refuses 'an unknown command' 3 "^wick: bad.s:20:7: unknown command 'konv'; did you mean 'conv'\?$" \
  "$wick" sim bad.s
sed 's/wait c{i}$/wait ex:3/' small.s >bad.s
refuses 'a wait on a later command' 3 \
  "^wick: bad.s:21: command 4 \(ST\): field 'wait': it waits for command 3 of ex, of which 1 " \
  "$wick" sim bad.s
sed 's/wait c{i}$//' small.s >bad.s
refuses 'a missing wait' 3 '^wick: bad.s:21: command 4 \(ST\)' "$wick" sim bad.s
printf '.raw 31 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nend\n' >bad.s
refuses 'an unknown opcode' 3 "^wick: bad.s:1: command 0 \(\?\): field 'opcode': 31 is" \
  "$wick" sim bad.s
refuses 'no stream' 2 'which stream' "$wick" sim
refuses 'an unknown key of the memory' 2 "unknown key 'latncy'; did you mean 'latency'" \
  "$wick" sim small.s --dram latncy=5
refuses 'another machine' 3 "is for machine 'tiny', not 'base'" "$wick" sim small.wcs --machine base
refuses 'an unknown model' 2 "timming" "$wick" sim small.s --model timming
printf '\0\1' >bad.wcs
refuses 'no stream at all' 3 'bad.wcs' "$wick" sim bad.wcs

cat >norm.s <<'EOS'
; layer normalisation of three rows of 19 numbers, RMS normalisation of the same
.machine tiny
.memory x 0x1000 3*19
.memory p 0x2000 2*(32+8*19)
.memory y 0x8000 2*3*19
.random x 1
.define RMS 32+8*19
.record p 0 e=1 shift=23
.record p RMS zero=3 e=0x123456789 shift=23 za=-5
.for i 0 19
  .entry p 0 i gain=0x400000+i*0x20000 bias=0x10000*(i-9)
  .entry p RMS i gain=-0x300000 bias=-i
.end
.output y
ld.ld0 dram=x n0=3*19 spm=0 c0=3*19
p: ld.ld0 dram=p n0=2*RMS spm=0x400 c0=2*RMS
l: row fn=layernorm in=0 in_y=19 ny=3 kc=3 k_tail=3 out=0x800 out_y=19 par=0x400  wait ld0:2
r: row fn=rmsnorm in=0 in_y=19 ny=3 kc=3 k_tail=3 out=0x800+57 out_y=19 par=0x400+RMS  wait ld0:2
st dram=y n0=2*57 spm=0x800 c0=2*57  wait ve:2
end
EOS

cat >sums.s <<'EOS'
; one sum by three taps, and the next command adds to it: both are finished in neighbouring cycles
.machine tiny
.memory x 0x1000 8*N
.memory w 0x2000 8*N
.memory p 0x3000 32+8*N
.memory y 0x4000 N
.random x 1
.random w 2
.record p 0
.for i 0 N
  .entry p 0 i scale=0.01
.end
.output y
x: ld.ld0 dram=x n0=8*N spm=0 c0=8*N
w: ld.ld1 dram=w n0=8*N spm=0x400 c0=8*N
p: ld.ld1 dram=p n0=32+8*N spm=0x800 c0=32+8*N
   dwc in=0 in_x=N in_y=8*N k_x=N k_y=N kx=3 wt=0x400 acc=4 wait x w p
c: dwc in=3*N in_x=N k_x=N taps=one wt=0x400 acc=4 accumulate drain out=0x1000 par=0x800 wait x w p
   st dram=y n0=N spm=0x1000 c0=N wait c
end
EOS

cat >silent.s <<'EOS'
; POOL over padding only: no port access for 3969 cycles
.machine tiny
.memory x 0x1000 64
.random x 1 20 100
.memory y 0x3000 64
.output y
x: ld.ld0 dram=x n0=64 spm=0 c0=64
m: pool fn=max in=0 in_x=8 in_y=8 k_x=8 k_y=8 ky=63 kx=63 h=1 w=1 pad_t=63 pad_l=63 out=0x100 wait x
y: st dram=y n0=8 spm=0x100 c0=8 wait m
end
EOS

# The hardware.
if ! command -v verilator >/dev/null; then finish; fi
"$wick" sim --build --machine tiny >build.log 2>&1 || cat build.log
check 'sums in neighbouring cycles' "$wick" sim sums.s
check 'work without a word is progress' "$wick" sim silent.s --timeout 1000
check 'rows that are normalised' "$wick" sim norm.s
gives 'cycles' '^cycles +[0-9],[0-9]{3}, ' "$wick" sim small.s
gives 'queues' '^ex +4 +[0-9.]+ ' "$wick" sim small.s
gives 'marks' '^ +1 +[0-9]+ +[0-9.]+ ' "$wick" sim small.s
gives 'the same result' '^y +1,024  02a486b9f6ab4a44 ' "$wick" sim small.s --dump y=got.bin
check 'the same bytes' cmp want.bin got.bin
gives 'commands' '^ +3  ex +[0-9]+ +[0-9]+ +[0-9]+  conv in=0x1000 .* wait ld0:1 ld1:2$' \
  "$wick" sim small.s --commands
gives 'as JSON' '^ "cycles": [0-9]+,$' "$wick" sim small.s --json -
check 'a file of it' "$wick" sim small.s --json o.json --trace t.json
# A counter a line; those of the whole run are two spaces in.
check 'states fill the time' awk -F'[": ,]+' '
  /^  "/ && split($2, name, ".") > 1 { state[name[1]] += $3 }
  /^  "subset_/ { subsets += $3 }
  /^  "/ { value[$2] = $3 }
  /^ "cycles"/ { cycles = $3 }
  /"row":/ { marks++ }
  END {
    for (q in state) { full += state[q] == cycles; other += state[q] != 0 && state[q] != cycles }
    exit !(full == 5 && !other && subsets == cycles && value["cycles"] == cycles &&
           value["bytes_st"] == 1024 && value["macs"] == 128 * 64 && marks == 2)
  }' o.json
count() { grep -o "$1" t.json | wc -l; } # events of a kind
check 'a trace with tracks for five queues' \
  test "$(count '"args":{"name":"\(ex\|ve\|st\|ld0\|ld1\)"}')" = 5
check 'a bar a command' test "$(count '"ph":"X"')" = 10
check 'arrows' test "$(count '"ph":"s"')" -gt 0
check 'that start and end' test "$(count '"ph":"s"')" = "$(count '"ph":"f"')"
cycles() {
  "$wick" sim small.s --json - "$@" 2>/dev/null | sed -n 's/^ "cycles": \([0-9]*\),$/\1/p'
}
check 'latency costs' test "$(cycles --dram latency=1000)" -gt $((1500 + $(cycles)))
check 'and is repeatable' test "$(cycles --dram jitter=50)" = "$(cycles --dram jitter=50)"
check 'another seed' test "$(cycles --dram jitter=50)" != "$(cycles --dram jitter=50,seed=2)"
check 'stalls' "$wick" sim small.s --stalls --seed 3 --random-reset
fails() { # NAME CODE PATTERN COMMAND...: like refuses, but tables on stdout are fine
  local name=$1 code=$2 pattern=$3 err
  shift 3
  err=$("$@" 2>&1 >/dev/null)
  if [[ $? == "$code" ]] && grep -qE -- "$pattern" <<<"$err"; then good; else bad "$name: $err"; fi
}
fails 'an error of the memory' 1 \
  '^wick: small.s:16: command 0 \(LD\): memory answered the fetch of the command with an error' \
  "$wick" sim small.s --dram error=3
printf '.machine tiny\n.raw 31 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nend\n' >bad.s
fails 'what the hardware refuses' 1 '^wick: bad.s:2: command 0.*: unknown opcode' \
  "$wick" sim bad.s --unchecked
fails 'a limit' 1 '^wick: no end after the limit of cycles' "$wick" sim small.s --max-cycles 100
check 'no counters then' \
  bash -c "! '$wick' sim small.s --max-cycles 100 2>/dev/null | grep -E '^(cycles|ex|mark) '"
finish
