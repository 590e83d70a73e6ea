; 1. Load, compute, store: one thing at a time.
;
; The layer: a 1x1 convolution of 56 x 56 pixels from 64 to 96 channels, with bias and ReLU, in 112
; tiles of half a row. A tile takes 28 * 64 / 8 = 224 cycles of the memory's 8 bytes a cycle for its
; input, 28 * 4 * 6 = 672 cycles of the MAC array, and 28 * 96 / 8 = 336 cycles for its output.
;
; One buffer for each direction. Every step waits for the one before, so what a tile costs is the
; sum, load + compute + store, and the latency of memory on top, 112 times.
;
;   ld0  [x0]                [x1]
;   ex       [c0 ......]         [c1 ......]
;   st                  [y0]                [y1]
.machine base
.define TILES  112
.define PIXELS 28                    ; of a tile
.define XTILE  PIXELS*64             ; bytes
.define YTILE  PIXELS*96
.define BLOCK  4*N*N                 ; weights of 16 outputs
.define RECORD 32+8*N
; scratchpad
.define P 0                          ; parameters
.define W 0x400                      ; weights
.define X 0x2000                     ; one tile of the input
.define Y 0x4000                     ; one tile of the output

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

p:  ld.ld0 dram=p n0=6*RECORD spm=P c0=6*RECORD
w:  ld.ld0 dram=w n0=6*BLOCK spm=W c0=6*BLOCK
.for i 0 TILES
  ; The buffer is free when the tile before has been stored: everything else has ended by then.
  x{i}: ld.ld0 dram=x+i*XTILE n0=XTILE spm=X c0=XTILE op=i  wait y{i-1}?
  ; Six commands of 16 outputs each. A command sums over four blocks of 16 channels (kc, k_c).
  .for b 0 6
    c{i}_{b}: conv in=X in_x=64 nx=PIXELS kc=4 k_c=N wt=W+b*BLOCK acc=512*(b%2)+PIXELS*(b/2) drain out=Y+b*N out_x=96 par=P+b*RECORD op=i  wait p w x{i}
  .end
  y{i}: st dram=y+i*YTILE n0=YTILE spm=Y c0=YTILE op=i  wait c{i}_5
.end
end
