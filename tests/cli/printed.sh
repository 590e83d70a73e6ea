# SPDX-License-Identifier: Apache-2.0
# What commands print, whole.
examples=$(cd "$(dirname "$0")/../../examples/accel" && pwd)
source "$(dirname "$0")/lib.bash" "$@"

cat >small.s <<'END'
.machine tiny
.memory x 0x1000 256
.memory w 0x2000 128
.random x 1
.random w 2
.memory y 0x3000 64
ld.ld0 dram=x n0=256 spm=0 c0=256
a: ld.ld1 dram=w n0=128 spm=256 c0=128
c: conv in=0 in_y=64 in_x=8 k_y=64 k_x=8 ny=2 nx=3 kx=2 w=4 wt=256 acc=4 wait a ld0:1
mark row=0 wait c
map fn=move a=0 out=768 n0=4 wait ld0:1
fill.ld1 value=7 spm=512 c0=40
st dram=y n0=40 spm=512 c0=40 wait ld1:2
end
END
"$wick" zoo ds_cnn -o net.onnx
"$wick" compile net.onnx --cpu x86-64 -o net.wick >/dev/null
printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n' >plan.csv

prints isa "$wick" isa --machine tiny
prints inspect-model "$wick" inspect net.onnx
prints inspect-package "$wick" inspect net.wick
prints compile "$wick" compile net.onnx --cpu x86-64
prints compare "$wick" compare net.onnx
prints plan "$wick" plan plan.csv
prints asm "$wick" asm small.s -o small.wcs
prints disasm "$wick" disasm small.wcs
check 'the stream' "$wick" check small.s
prints sim-functional "$wick" sim small.s --model functional
prints sim-timing "$wick" sim small.s --model timing --commands
prints sim-json "$wick" sim small.s --model timing --json -
check 'timeline' "$wick" sim small.s --model timing --trace trace.json
prints sim-trace cat trace.json
# How long memory takes, by its parameters.
memories() {
  local dram
  for dram in latency=10 latency=400 bytes=8 bytes=3.3 overhead=12 \
    refresh_interval=200,refresh_cycles=50 bytes=6.4,refresh_interval=150,refresh_cycles=30 \
    traffic=2.5 traffic=2,overhead=7; do
    for file in small.s "$examples/2-double-buffer.s"; do
      echo "$dram ${file##*/} $("$wick" sim "$file" --model timing --dram $dram | grep -m1 cycles)"
    done
  done
}
prints sim-memories memories
# Results of all sizes, the first region none of them; another clock; a run that ends before.
cat >results.s <<'END'
.machine tiny
.memory first 0x1000 64
.random first 3
.memory one 0x2000 1
.output one
.memory seven 0x2100 7
.output seven
.memory eight 0x2200 8
.output eight
.memory between 0x2300 64
.memory nine 0x2400 9
.output nine
.memory large 0x3000 2000
.output large
ld.ld0 dram=first n0=64 spm=0 c0=64
mark row=0 wait ld0:1
st dram=one n0=1 spm=0 c0=1 wait ld0:1
st dram=seven n0=7 spm=1 c0=7
st dram=eight n0=8 spm=0 c0=8
st dram=between n0=64 spm=0 c0=64
st dram=nine n0=9 spm=3 c0=9
st dram=large n0=60 spm=0 c0=60
mark row=1 wait st:6
mark row=2
end
END
printf 'array = 8; bus = 16; dram_bytes = 4; clock_mhz = 250; dram_latency = 70;\n' >slow.cfg
sed '/^.machine/d' results.s >slow.s
results() {
  "$wick" sim results.s --model functional
  "$wick" sim results.s --model timing --causes
  "$wick" sim slow.s --machine slow.cfg --model timing
  "$wick" sim results.s --model timing --max-cycles 300 --commands
}
prints sim-results results
prints sim-example "$wick" sim "$examples/5-depthwise.s" --model timing --commands

finish
