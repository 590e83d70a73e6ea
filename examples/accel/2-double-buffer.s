; 2. Double buffering: the same layer, tiles and bytes as in 1, but two buffers for each direction.
;
; While tile i is computed from one buffer, tile i+1 is loaded into the other and tile i-1 stored.
; What a tile costs is the longest of the three, compute (672 cycles), as long as load and store
; (224 + 336, they share the memory) and the latency fit beneath it.
;
;   ld0  [x0][x1]    [x2]        [x3]
;   ex       [c0 ......][c1 ......][c2 ......]
;   st                  [y0]       [y1]
;
; The catch: x2 can only start when c0 has ended, for it needs c0's buffer, and it has to be there
; when c1 ends. That is one compute, 672 cycles, for the latency, the load, and the store that comes
; in between. With a latency of 250 cycles that is enough, with 500 just not, with 1000 far from it;
; with 100 the data of x2 comes in the middle of y0, which then is late (see README.md).
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
.define X 0x2000                     ; two tiles of the input
.define Y 0x8000                     ; two tiles of the output

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
  x{i}: ld.ld0 dram=x+i*XTILE n0=XTILE spm=X+i%2*XTILE c0=XTILE op=i  wait c{i-2}_5?
  ; Sums have two buffers, too: the drain of the last commands reads theirs while the next are added.
  .for b 0 6
    c{i}_{b}: conv in=X+i%2*XTILE in_x=64 nx=PIXELS kc=4 k_c=N wt=W+b*BLOCK acc=512*(b%2)+PIXELS*(b/2+i%2*3) drain out=Y+i%2*YTILE+b*N out_x=96 par=P+b*RECORD op=i  wait p w x{i} y{i-2}?
  .end
  y{i}: st dram=y+i*YTILE n0=YTILE spm=Y+i%2*YTILE c0=YTILE op=i  wait c{i}_5
.end
end
