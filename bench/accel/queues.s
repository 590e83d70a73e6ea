; SPDX-License-Identifier: Apache-2.0
; All five queues at work at once: a convolution (2x1, 48 to 64 channels) and a 3x3 maximum of 32 other
; channels, operands of the next rounds loaded, results of earlier ones stored. A round takes about
; 4700 cycles of ex, 4000 of ve, 4300 of the memory. Between the marks all is in full swing.
.machine base
.define PLANE  14*14*N
.define BLOCK  3*2*N*N
.define RECORD 32+8*N
.define P 0
.define W 0x400                      ; 4 blocks
.define X 0x4000                     ; four times three planes for the convolution
.define Y X+12*PLANE                 ; two times four planes of its results
.define A Y+8*PLANE                  ; four times two planes for the maximum
.define Z A+8*PLANE                  ; two times two planes of its results
.memory w 0x100000 4*BLOCK
.memory p 0x110000 4*RECORD
.memory x 0x120000 16*3*PLANE
.memory a 0x180000 16*2*PLANE
.memory y 0x200000 16*4*PLANE
.memory z 0x280000 16*2*PLANE
.output y
.output z
.random w 20
.random x 21
.random a 22
.for b 0 4
  .record p b*RECORD
  .for i 0 N
    .entry p b*RECORD i bias=i*100-b*200 scale=0.001
  .end
.end
w: ld.ld0 dram=w n0=4*BLOCK spm=W c0=4*BLOCK
p: ld.ld1 dram=p n0=4*RECORD spm=P c0=4*RECORD
.for i 0 3
  x{i}: ld.ld0 dram=x+i*3*PLANE n0=3*PLANE spm=X+i*3*PLANE c0=3*PLANE
  a{i}: ld.ld1 dram=a+i*2*PLANE n0=2*PLANE spm=A+i*2*PLANE c0=2*PLANE
.end
.for part 0 3                        ; rounds 0 and 1, mark 0, rounds 2 to 13, mark 1, rounds 14 and 15
  .for i 2*part+part/2*10 2*part+2+(part+1)/2*10
    .for t i+3 i+3+(28-i)/16         ; loads three rounds ahead
      x{t}: ld.ld0 dram=x+t*3*PLANE n0=3*PLANE spm=X+t%4*3*PLANE c0=3*PLANE  wait c{t-4}_3?
      a{t}: ld.ld1 dram=a+t*2*PLANE n0=2*PLANE spm=A+t%4*2*PLANE c0=2*PLANE  wait m{t-4}_1?
    .end
    .for k 0 2
      m{i}_{k}: pool fn=max in=A+(i%4*2+k)*PLANE-15*N in_y=14*N in_x=N k_y=14*N k_x=N ny=14 nx=14 ky=3 kx=3 pad_t=1 pad_l=1 h=14 w=14 out=Z+(i%2*2+k)*PLANE out_y=14*N op=i  wait a{i} z{i-2}?
    .end
    .for b 0 4
      c{i}_{b}: conv in=X+i%4*3*PLANE in_y=14*N in_x=N k_y=14*N ny=13 nx=14 ky=2 kc=3 k_c=PLANE wt=W+b*BLOCK acc=b%2*512 drain out=Y+(i%2*4+b)*PLANE out_y=14*N par=P+b*RECORD op=i  wait w p x{i} y{i-2}? c{i-(3-b)/2}_{(b+2)%4}?
    .end
    z{i}: st dram=z+i*2*PLANE n0=2*PLANE spm=Z+i%2*2*PLANE c0=2*PLANE op=i  wait m{i}_1
    y{i}: st dram=y+i*4*PLANE n0=13*14*N n1=4 s1=PLANE spm=Y+i%2*4*PLANE c0=13*14*N p2=PLANE op=i  wait c{i}_3
  .end
  mark row=part
.end
end
