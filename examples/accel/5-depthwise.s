; 5. A depthwise convolution, transfers beside it.
;
; 3x3, stride 1, padding 1, on 28 x 28 pixels of 192 channels: 9 multiplications for each byte in and
; byte out. No channel looks at another, so a row of 16 multipliers serves 16 channels, and the array
; keeps neighbours in registers and computes three taps a cycle: 48 multiplications, 29 cycles for a row
; of 28 pixels and 3 taps. 12 blocks of 16 channels * 28 rows * 3 kernel rows * 29 = 29232 cycles.
; In and out are 294 KiB, 37632 cycles of memory. Here, too, memory is the limit in the end, but
; as long as there is something left to load or to compute, both go on: between the two marks, more
; than 40 multiplications a cycle.
;
; In memory a pixel is 192 channels in a row. A dwc wants planes of 16 channels, so the transfers turn
; one into the other on their way: a run of 48 bytes in memory is three chunks in three planes. Short
; runs are short bursts, and a channel has 64 of them in flight: at latency L that is 3072 / L bytes
; a cycle. So both channels load, each half of the pixels.
.machine base
.define GROUPS 4                     ; of channels, three planes each
.define PLANE  28*28*N
.define GROUP  3*PLANE
.define RUN    3*N                   ; bytes of a pixel that belong to a group
.define HALF   14*28               ; pixels
.define RECORD 32+8*N
; scratchpad
.define P 0
.define W 0x1000
.define X 0x2000                     ; three groups
.define Y X+3*GROUP                  ; three groups

.memory x 0x100000 28*28*192
.memory w 0x140000 12*9*N            ; for every plane 3 x 3 words of 16 weights
.memory p 0x150000 12*RECORD
.memory y 0x180000 28*28*192
.output y
.random x 5
.random w 6
.for k 0 12
  .record p k*RECORD zero=-128
  .for i 0 N
    .entry p k*RECORD i bias=(k*821+i*1777)%12001-6000 scale=0.0045
  .end
.end

w: ld.ld1 dram=w n0=12*9*N spm=W c0=12*9*N prio=7
p: ld.ld1 dram=p n0=12*RECORD spm=P c0=12*RECORD prio=7
.for g 0 2
  u{g}: ld.ld0 dram=x+g*RUN n0=RUN n1=HALF s1=192 spm=X+g*GROUP c0=N c1=3 p1=PLANE p2=N
  v{g}: ld.ld1 dram=x+g*RUN+HALF*192 n0=RUN n1=HALF s1=192 spm=X+g*GROUP+HALF*N c0=N c1=3 p1=PLANE p2=N
.end
mark row=0  wait u0 v0
.for g 0 GROUPS
  .for t g+2 g+2 + (GROUPS+1-g)/GROUPS   ; the load two groups ahead, while there is one
    u{t}: ld.ld0 dram=x+t*RUN n0=RUN n1=HALF s1=192 spm=X+t%3*GROUP c0=N c1=3 p1=PLANE p2=N prio=4  wait c{6*t-13}?
    v{t}: ld.ld1 dram=x+t*RUN+HALF*192 n0=RUN n1=HALF s1=192 spm=X+t%3*GROUP+HALF*N c0=N c1=3 p1=PLANE p2=N prio=4  wait c{6*t-13}?
  .end
  ; A plane has more pixels than a bank of the accumulators has entries: the upper half, then the lower.
  ; The upper one has a row of padding above, the lower one below: row 15 counted from its first, 13.
  .for k 3*g 3*g+3
    .for half 0 2
      c{2*k+half}: dwc in=X+g%3*GROUP+k%3*PLANE+(half*14-1)*28*N-N in_y=28*N in_x=N k_y=28*N k_x=N ny=14 nx=28 ky=3 kx=3 pad_t=1-half pad_l=1 h=28-half*13 w=28 wt=W+k*9*N zero=5 acc=half*512 drain out=Y+g%3*GROUP+k%3*PLANE+half*14*28*N out_y=28*N par=P+k*RECORD op=k  wait u{g} v{g} w p y{g-3}? c{2*k+half-2}?
    .end
  .end
  y{g}: st dram=y+g*RUN n0=RUN n1=28*28 s1=192 spm=Y+g%3*GROUP c0=N c1=3 p1=PLANE p2=N op=g  wait c{6*g+5}
.end
mark row=1
end
