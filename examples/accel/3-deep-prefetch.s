; 3. Deep prefetch: the same layer, tiles and bytes once more. The latency disappears.
;
; Bandwidth was never short in 2: load and store together take 560 of a tile's 672 cycles. What was
; missing is distance: a transfer has to be asked for long before it is needed. So:
;   - sixteen input buffers instead of two. A load is asked for as soon as there is room, up to
;     15 tiles = 10000 cycles ahead. A latency of L cycles needs L / 672 tiles of that.
;   - two load channels, half a tile each: one asks while data of the other is still on its way.
;   - weights first and urgent (prio): every tile needs them.
;   - stores late (prio=0, four buffers): nothing waits for them soon.
;   - loads early in the stream. Commands go to their queues in stream order, and a full queue holds
;     up all that is behind it, so the load of tile i+15 stands before the computation of tile i.
;
;   ld   [x0][x1][x2][x3][x4]  [x5]     [x6]
;   ex       [c0 ......][c1 ......][c2 ......]
;   st                  [y0]       [y1]
.machine base
.define TILES  112
.define PIXELS 28                    ; of a tile
.define XTILE  PIXELS*64             ; bytes
.define YTILE  PIXELS*96
.define BLOCK  4*N*N                 ; weights of 16 outputs
.define RECORD 32+8*N
.define DEEP   16                    ; input buffers
.define HALF   XTILE/2
; scratchpad
.define P 0                          ; parameters
.define W 0x400                      ; weights
.define X 0x2000                     ; DEEP tiles of the input
.define Y 0xa000                     ; four tiles of the output

.memory x 0x100000 TILES*XTILE      ; 56 x 56 pixels of 64 channels, channels last
.memory w 0x200000 6*BLOCK          ; for every 16 outputs: four tiles of 16 x 16 weights
.memory p 0x210000 6*RECORD         ; for every 16 outputs: how sums become bytes
.memory y 0x300000 TILES*YTILE      ; 56 x 56 pixels of 96 channels
.output y
.random x 1
.random w 2
.for b 0 6
  .record p b*RECORD zero=-128      ; ReLU: what is negative ends at -128, which stands for 0
  .for i 0 N
    .entry p b*RECORD i bias=(b*611+i*1337)%16001-8000 scale=0.0018
  .end
.end

w:  ld.ld0 dram=w n0=6*BLOCK spm=W c0=6*BLOCK prio=7
p:  ld.ld1 dram=p n0=6*RECORD spm=P c0=6*RECORD prio=7
.for i 0 DEEP-1                      ; the first loads need not wait for anything
  a{i}: ld.ld0 dram=x+i*XTILE n0=HALF spm=X+i*XTILE c0=HALF prio=4 op=i
  b{i}: ld.ld1 dram=x+i*XTILE+HALF n0=HALF spm=X+i*XTILE+HALF c0=HALF prio=4 op=i
.end
.for i 0 TILES
  .for t i+DEEP-1 i+DEEP-1 + (2*TILES-i-DEEP)/TILES   ; once, or never behind the last tile
    a{t}: ld.ld0 dram=x+t*XTILE n0=HALF spm=X+t%DEEP*XTILE c0=HALF prio=4 op=t  wait c{i-1}_5?
    b{t}: ld.ld1 dram=x+t*XTILE+HALF n0=HALF spm=X+t%DEEP*XTILE+HALF c0=HALF prio=4 op=t  wait c{i-1}_5?
  .end
  .for b 0 6
    c{i}_{b}: conv in=X+i%DEEP*XTILE in_x=64 nx=PIXELS kc=4 k_c=N wt=W+b*BLOCK acc=512*(b%2)+PIXELS*(b/2+i%2*3) drain out=Y+i%4*YTILE+b*N out_x=96 par=P+b*RECORD op=i  wait p w a{i} b{i} y{i-4}? c{i-2}_5?
  .end
  y{i}: st dram=y+i*YTILE n0=YTILE spm=Y+i%4*YTILE c0=YTILE op=i prio=0  wait c{i}_5
.end
end
