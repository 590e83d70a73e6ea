; SPDX-License-Identifier: Apache-2.0
; Peak: 1x1, 512 to 128 channels, 14 x 14, everything in the scratchpad before mark 0. What counts lies
; between the marks.
.machine base
.define PLANE  14*14*N
.define BLOCK  32*N*N                ; weights of 16 outputs
.define RECORD 32+8*N
.define P 0
.define X 0x1000
.define Y X+32*PLANE
.define W Y+8*PLANE
.memory x 0x100000 32*PLANE
.memory w 0x200000 8*BLOCK
.memory p 0x300000 8*RECORD
.memory y 0x310000 8*PLANE
.output y
.random x 13
.random w 14
.for b 0 8
  .record p b*RECORD
  .for i 0 N
    .entry p b*RECORD i bias=b*1000-i*100 scale=0.0005
  .end
.end
p: ld.ld1 dram=p n0=8*RECORD spm=P c0=8*RECORD
x: ld.ld1 dram=x n0=32*PLANE spm=X c0=32*PLANE
w: ld.ld0 dram=w n0=8*BLOCK spm=W c0=8*BLOCK
mark row=0  wait p x w
.for b 0 8
  c{b}: conv in=X in_x=N nx=14*14 kc=32 k_c=PLANE wt=W+b*BLOCK acc=b%2*512 drain out=Y+b*PLANE par=P+b*RECORD op=b  wait p x w c{b-2}?
.end
mark row=1
st dram=y n0=8*PLANE spm=Y c0=8*PLANE  wait c7
end
