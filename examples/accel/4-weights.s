; 4. Streaming weights: when memory is the limit, keep memory busy and nothing else matters.
;
; A matrix product of 16 rows: y[16][512] = x[16][1024] * w[512][1024] transposed, with bias. Each of
; the 512 KiB of weights is used for 16 products only, then never again. At 8 bytes a cycle they take
; 65536 cycles, the MAC array needs half of that. So the array waits, by nature; what counts is that the
; memory never does. Its pauses are what a stream can avoid:
;   - three weight buffers, half of each loaded by either channel. Requests of a load go out while
;     the load before still brings data; the third buffer is room for that while one is computed.
;   - results leave in quarters beside the weights; only the last quarter comes after them.
;
; `wick sim` shows 8 bytes a cycle nearly everywhere; look at 'transfers', and try --dram bytes=16.
.machine base
.define DEPTH  1024                  ; inputs of a row
.define OUT    512                   ; outputs of a row
.define BLOCKS OUT/N
.define STRIPE N*DEPTH               ; bytes of weights for 16 outputs: 16 rows of the matrix
.define HALF   STRIPE/2
.define PART   OUT/4                 ; outputs that are stored together
.define RECORD 32+8*N
; scratchpad
.define P 0                          ; parameters
.define X 0x2000
.define Y 0x6000
.define W 0x10000                    ; three stripes of weights

.memory x 0x100000 N*DEPTH
.memory w 0x200000 OUT*DEPTH
.memory p 0x300000 BLOCKS*RECORD
.memory y 0x310000 N*OUT
.output y
.random x 3
.random w 4
.for b 0 BLOCKS
  .record p b*RECORD zero=7
  .for i 0 N
    .entry p b*RECORD i bias=(b*3571+i*7919)%60001-30000 scale=0.00025
  .end
.end

x: ld.ld1 dram=x n0=N*DEPTH spm=X c0=N*DEPTH
p: ld.ld1 dram=p n0=BLOCKS*RECORD spm=P c0=BLOCKS*RECORD
; The product takes its right side as it lies in memory: a tile is 16 bytes (kc blocks of the sum) of each of 16
; rows (outputs). Unlike in conv, no layout of tiles is needed.
.for b 0 BLOCKS
  v{b}: ld.ld0 dram=w+b*STRIPE n0=HALF spm=W+b%3*STRIPE c0=HALF prio=4  wait m{b-3}?
  w{b}: ld.ld1 dram=w+b*STRIPE+HALF n0=HALF spm=W+b%3*STRIPE+HALF c0=HALF prio=4  wait m{b-3}?
  m{b}: mm in=X in_y=DEPTH ny=N kc=DEPTH/N zero=-3+256 wt=W+b%3*STRIPE w_c=N w_r=DEPTH acc=b%4*N drain out=Y+b*N out_y=OUT par=P+b*RECORD op=b  wait x p v{b} w{b} m{b-4}?
  .for q (b+1)/8 (b+1)/8 + (b%8+1)/8 ; behind every eighth block
    st dram=y+(q-1)*PART n0=PART n1=N s1=OUT spm=Y+(q-1)*PART c0=PART p2=OUT op=b  wait m{b}
  .end
.end
end
