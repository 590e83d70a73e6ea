; SPDX-License-Identifier: Apache-2.0
; Peak: the first layer of many networks: 7x7, stride 2, padding 3, 224 x 224 pixels of 3 channels to 112 x
; 112 of 64. Three channels would fill 3 of 16 lanes. The loads make 2 x 2 pixels one of 12 channels on their
; way, and the kernel 4x4, stride 1 (its first row and column are zeros of the 8x8). A kernel row is then
; four pixels of 12 channels, contiguous: 48 bytes, three full tiles, at addresses that are multiples of
; 4. So: 4 * 3 tiles * 112 * 112 pixels * 4 blocks of outputs = 602112 cycles.
.machine base
.define PITCH  115*12                ; a row of such pixels: two of padding, 112, one of padding
.define TILE   4*112*64              ; bytes of four output rows
.define BLOCK  4*3*N*N               ; weights of 16 outputs: per kernel row three tiles
.define RECORD 32+8*N
.define P 0
.define W 0x400
.define X 0x4000                     ; 115 rows: two of padding, 112, one of padding
.define Y 0x2b400                    ; two tiles of the output
.memory x 0x100000 224*224*3
.memory w 0x200000 4*BLOCK
.memory p 0x210000 4*RECORD
.memory y 0x300000 112*112*64
.output y
.random x 17
.random w 18
.for b 0 4
  .record p b*RECORD zero=-128
  .for o 0 N
    .entry p b*RECORD o bias=b*1000-o*100 scale=0.0011
    .for i 0 24                      ; first row of the 8x8, then its first column
      .bytes w b*BLOCK+(i/6*12+i%6)/N*N*N+o*N+(i/6*12+i%6)%N 0
      .bytes w b*BLOCK+i/6*3*N*N+o*N+i%6+i%6/3*3 0
    .end
  .end
.end
p: ld.ld0 dram=p n0=4*RECORD spm=P c0=4*RECORD prio=7
w: ld.ld1 dram=w n0=4*BLOCK spm=W c0=4*BLOCK prio=7
; Padding: the rows above and the begin of the first row; the end of each row and the begin of the next;
; the row below.
f:  fill.ld0 spm=X c0=2*PITCH+24
g:  fill.ld1 spm=X+3*PITCH-12 c0=36 c2=112 p2=PITCH
h:  fill.ld0 spm=X+114*PITCH+24 c0=PITCH-24
.for r 0 14                          ; eight rows: upper halves of the pixels by ld0, lower ones by ld1
  a{r}: ld.ld0 dram=x+16*r*672 n0=672 n1=8 s1=2*672 spm=X+(8*r+2)*PITCH+24 c0=6 c1=112 p1=12 p2=PITCH
  b{r}: ld.ld1 dram=x+16*r*672+672 n0=672 n1=8 s1=2*672 spm=X+(8*r+2)*PITCH+30 c0=6 c1=112 p1=12 p2=PITCH
.end
.for t 0 28                          ; four output rows each; they end in input row 4t+4
  .define r (t+1)/2-t/27
  .for b 0 4
    c{t}_{b}: conv in=X+4*t*PITCH in_y=PITCH in_x=12 k_y=PITCH k_x=N ny=4 nx=112 ky=4 kx=3 wt=W+b*BLOCK acc=b%2*512 drain out=Y+t%2*TILE+b*N out_x=64 out_y=112*64 par=P+b*RECORD op=t  wait p w f g h a{r} b{r} c{t-(3-b)/2}_{(b+2)%4}? y{t-2}?
  .end
  y{t}: st dram=y+t*TILE n0=TILE spm=Y+t%2*TILE c0=TILE op=t  wait c{t}_3
.end
end
