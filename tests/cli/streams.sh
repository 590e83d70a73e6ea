#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Streams of the accelerator: asm, disasm, isa.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"
export WICK=$wick

cat >conv.s <<'EOF'
; two tiles, double buffered
.machine base
.memory x 0x1000 8192
.memory w 0x4000 256
.memory y 0x8000 8192
.random x 1
.random w 2
.output y
w:    ld.ld1 dram=w n0=256 spm=0 c0=256
.for i 0 2
a{i}: ld.ld0 dram=x+i*1024 n0=1024 spm=0x1000*(i+1) c0=1024 wait c{i-2}?
c{i}: conv in=0x1000*(i+1) in_x=N nx=64 wt=0 acc=64*i drain out=0x8000+i*1024 par=0x400 wait a{i} w
      st dram=y+i*1024 n0=1024 spm=0x8000+i*1024 c0=1024 op=i prio=1 wait c{i}
.end
end
EOF
gives 'a summary' '^commands +8 at 0xa000, ex 2, st 2, ld0 2, ld1 1$' "$wick" asm conv.s
check 'the default name' test -s conv.wcs
gives 'the hash' '^machine +base, hash [0-9a-f]{16}$' "$wick" asm conv.s -o other.wcs
check 'quiet' test -z "$("$wick" asm conv.s -q -o other.wcs)"
check 'the same bytes again' cmp conv.wcs other.wcs
gives 'a label where one is needed' '^ld0_1: ld.ld0 dram=x n0=1024 spm=0x1000 c0=1024$' \
  "$wick" disasm conv.wcs
gives 'waits' '^ex_2: conv .* acc=64 drain .* wait ld0_2 ld1_1$' "$wick" disasm conv.wcs --no-data
gives 'text is shown unrolled' '^st dram=y\+0x400 .* op=1 prio=1 wait ex_2$' "$wick" disasm conv.s
check 'as text' "$wick" disasm conv.wcs -o again.s
check 'assembles' "$wick" asm again.s
check 'and is the same text' cmp again.s <("$wick" disasm again.wcs)
check 'no data' bash -c "'$wick' disasm conv.wcs --no-data | grep -q '^; x has 8192 bytes of data'"
check 'to a pipe' bash -c "'$wick' asm conv.s -o - | cmp - conv.wcs"

# What is refused.
refuses 'another machine' 3 \
  "^wick: conv.wcs: is for machine 'base', not 'tiny': array is 16, not 8" \
  "$wick" asm conv.wcs -o none.wcs --machine tiny
refuses 'an unknown machine' 2 "unknown machine 'tinny'; did you mean 'tiny'" \
  "$wick" asm conv.s --machine tinny -o none.wcs
refuses 'its own place' 2 'conv.wcs: the output would overwrite the stream' "$wick" asm conv.wcs
refuses 'no such file' 5 '^wick: none.s: cannot open' "$wick" asm none.s
sed 's/ wt=0 / wt=8 /' conv.s >bad.s
refuses 'command, line, field' 3 \
  "^wick: bad.s:12: command 2 \(CONV\): field 'wt': 8 is no multiple of the array's 16 lanes$" \
  "$wick" asm bad.s -o none.wcs
check 'unless it shall be written' "$wick" asm bad.s --unchecked -o bad.wcs
gives 'and shown' '^ex_1: conv .* wt=0x8 ' "$wick" disasm bad.wcs
refuses 'but not taken for good' 3 '^wick: bad.wcs: command|^wick: bad.s:12: command 2' \
  "$wick" asm bad.wcs -o none.wcs
sed 's/nx=64/nxx=64/' conv.s >bad.s
refuses 'line and column' 3 "^wick: bad.s:12:35: unknown field of conv 'nxx'; did you mean 'nx'" \
  "$wick" asm bad.s -o none.wcs
cp conv.wcs bad.wcs
flip bad.wcs 1000
refuses 'damage' 3 'bad.wcs: is damaged' "$wick" disasm bad.wcs
printf '.memory m 0 9\n.file m "../x"\n' >bad.s
refuses 'files elsewhere' 3 '\.\./x: is refused' "$wick" asm bad.s -o none.wcs
printf '\0' >bad.s
refuses 'no text' 3 'bad.s: is not a text file: it contains a zero byte' \
  "$wick" asm bad.s -o none.wcs

# The streams that benchmarks make.
for machine in tiny base wide; do
  "$root/bench/accel_speed" --machine "$machine" --repeat 2 --stream >full.s
  gives "of bench/accel_speed on $machine" '^full.s: 21 commands, .* no hazard' "$wick" check full.s
done

# Machines.
gives 'keys' '^array +16 +lanes' "$wick" isa
gives 'of a machine' '^array +8 +lanes' "$wick" isa --machine tiny
gives 'fields' ' row +16 ' "$wick" isa
gives 'the package' 'localparam int unsigned Array = 32;' "$wick" isa --sv --machine wide
gives 'registers' '^#define WICK_ACCEL_REG_STATUS +0x10' "$wick" isa --c-registers
check 'the header compiles' \
  bash -c "'$wick' isa --c-registers | cc -Wall -Werror -fsyntax-only -x c -"
gives 'commands as Markdown' '^# The accelerator.s commands' "$wick" isa --markdown
gives 'the machine as Markdown' '^# The machine' "$wick" isa --machine-markdown
printf 'scrachpad = 65536;\n' >m.cfg
refuses 'an unknown key' 3 "^wick: m.cfg:1: unknown key 'scrachpad'; did you mean 'scratchpad'\?$" \
  "$wick" isa --machine m.cfg
if command -v verilator >/dev/null; then
  "$wick" isa --sv --machine tiny >wick_pkg.sv
  echo 'module top(output logic [63:0] o); assign o = wick_pkg::ConfigHash; endmodule' >top.sv
  check 'Verilator reads the package' verilator --lint-only -Wall wick_pkg.sv top.sv
fi
# Values without a name, or with one that begins with a digit.
model "$(field 1 "$(node Relu 1a 2y)")" "$(field 11 "$(value 1a 3 1 8 8 8)")" \
  "$(field 12 "$(value 2y 3 1 8 8 8)")" >digits.onnx
check 'names of digits' "$wick" compile digits.onnx -q --target accel:tiny --emit stream -o digits
gives 'have a letter before' \
  '^input _2 0x00001400 512 i8 \[1,8,8,8\] 0,1/8,2,3,1%8 - - .* output _2y 0x00001800 512 .* 2y$' \
  bash -c "grep -E '^(input|output) ' digits.map | xargs"
finish
