; SPDX-License-Identifier: Apache-2.0
; Peak: 3x3, 256 to 256 channels, 14 x 14. The 576 KiB of weights do not fit; they stream through three
; buffers of 16 outputs each. All cycles count, from the first fetch to the last byte stored.
.machine base
.define PLANE  14*14*N
.define BLOCK  16*9*N*N              ; weights of 16 outputs
.define HALF   BLOCK/2
.define RECORD 32+8*N
.define P 0
.define X 0x1000
.define Y X+16*PLANE
.define W Y+16*PLANE
.memory x 0x100000 16*PLANE
.memory w 0x200000 16*BLOCK
.memory p 0x300000 16*RECORD
.memory y 0x310000 16*PLANE
.output y
.random x 15
.random w 16
.for b 0 16
  .record p b*RECORD
  .for i 0 N
    .entry p b*RECORD i bias=b*1000-i*100 scale=0.00025
  .end
.end
; The first outputs are summed as their inputs come: a command for every two of the 16 planes.
.for k 0 8
  x{k}: ld.ld0 dram=x+2*k*PLANE n0=2*PLANE spm=X+2*k*PLANE c0=2*PLANE prio=7
  w{k}: ld.ld1 dram=w+2*k*9*N*N n0=2*9*N*N spm=W+2*k*9*N*N c0=2*9*N*N prio=7
  .for last k/7 1                    ; all but the last: no drain
    conv in=X-15*N+2*k*PLANE in_y=14*N in_x=N k_y=14*N k_x=N ny=14 nx=14 ky=3 kx=3 pad_t=1 pad_l=1 h=14 w=14 kc=2 k_c=PLANE wt=W+2*k*9*N*N accumulate=(k+7)/8  wait x{k} w{k}
  .end
.end
p: ld.ld1 dram=p n0=16*RECORD spm=P c0=16*RECORD
c0: conv in=X-15*N+14*PLANE in_y=14*N in_x=N k_y=14*N k_x=N ny=14 nx=14 ky=3 kx=3 pad_t=1 pad_l=1 h=14 w=14 kc=2 k_c=PLANE wt=W+14*9*N*N accumulate drain out=Y out_y=14*N par=P  wait x7 w7 p
.for b 1 16
  u{b}: ld.ld0 dram=w+b*BLOCK n0=HALF spm=W+b%3*BLOCK c0=HALF  wait c{b-3}?
  v{b}: ld.ld1 dram=w+b*BLOCK+HALF n0=HALF spm=W+b%3*BLOCK+HALF c0=HALF  wait c{b-3}?
  c{b}: conv in=X-15*N in_y=14*N in_x=N k_y=14*N k_x=N ny=14 nx=14 ky=3 kx=3 pad_t=1 pad_l=1 h=14 w=14 kc=16 k_c=PLANE wt=W+b%3*BLOCK acc=b%2*512 drain out=Y+b*PLANE out_y=14*N par=P+b*RECORD op=b  wait p x7 u{b} v{b} c{b-2}?
  st dram=y+(b-1)*PLANE n0=PLANE spm=Y+(b-1)*PLANE c0=PLANE  wait c{b-1}
.end
st dram=y+15*PLANE n0=PLANE spm=Y+15*PLANE c0=PLANE  wait c15
end
