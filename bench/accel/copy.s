; SPDX-License-Identifier: Apache-2.0
; Peak: memory to memory, 512 KiB in pieces of 16 KiB through eight buffers. The bus of the memory, 8
; bytes a cycle for reads and writes together, should never pause: 131072 cycles.
.machine base
.define PIECE 16384
.define HALF  PIECE/2
.memory x 0x100000 32*PIECE
.memory y 0x200000 32*PIECE
.output y
.random x 19
.for i 0 32
  a{i}: ld.ld0 dram=x+i*PIECE n0=HALF spm=i%8*PIECE c0=HALF  wait y{i-8}?
  b{i}: ld.ld1 dram=x+i*PIECE+HALF n0=HALF spm=i%8*PIECE+HALF c0=HALF  wait y{i-8}?
  y{i}: st dram=y+i*PIECE n0=PIECE spm=i%8*PIECE c0=PIECE  wait a{i} b{i}
.end
end
