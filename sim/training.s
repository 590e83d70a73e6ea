; What a tuned cycle model is trained on (sim/tune.c): every command in shapes that networks have,
; computing and transferring side by side, then transfers alone. Any machine can run it; before it
; come lines that define, to the machine's measure:
;   ROWS      rows of a plane of 14 columns and N channels
;   KC        planes of an input
;   KY        kernel rows of the large convolutions, which have 3 columns
;   HALF      first entry of the accumulators' second bank
;   CHANNELS  load channels, of which two are used if there are two
.define PLANE  14*ROWS*N
.define INPUT  KC*PLANE
.define RECORD 32+8*N
.define TILES  3*KY*KC*N*N           ; weights
.define TAPS   9*N
; scratchpad: records, weights, tables, two inputs, nine planes
.define P 0
.define NORM 2*RECORD
.define SOFT 3*RECORD
.define W 4*RECORD
.define D W+TILES
.define T (D+TAPS+255)/256*256
.define X T+3*256
.define Y X+2*INPUT

.memory x 0x1000 4*INPUT
.memory p x+4*INPUT 4*RECORD
.memory w p+4*RECORD TILES+TAPS
.memory t w+TILES+TAPS 3*256
.memory y t+3*256 36*PLANE
.random x 1
.random w 2
.random t 3
.record p 0 zero=-128 scale=0.01
.record p RECORD zero=3 scale_a=0.5 scale_b=0.25
.record p NORM e=1 shift=23
.record p SOFT zero=-128
.for i 0 N
  .entry p 0 i bias=i*37-300 scale=0.002
  .entry p RECORD i bias=i*101 scale=0.001
  .entry p NORM i gain=0x400000+i*0x10000 bias=0x1000*i
.end
.entry p SOFT 0 bias=0x50000000 shift=23

p: ld.ld0 dram=p n0=4*RECORD spm=P c0=4*RECORD prio=7
w: ld.ld0 dram=w n0=TILES+TAPS spm=W c0=TILES+TAPS
t: ld.ld0 dram=t n0=3*256 spm=T c0=3*256
b: tab in=T count=3 wait t

; Layers: the array's commands on an input, the vector unit's on what came of it.
.for i 0 6
  .define IN X+i%2*INPUT
  .define OUT Y+i%2*PLANE
  .define A i%2*HALF
  .define B HALF-A
  .for two 0 CHANNELS/2              ; once when there are two channels
    h{i}: ld.ld1 dram=x+i%4*INPUT+INPUT/2 n0=INPUT-INPUT/2 spm=IN+INPUT/2 c0=INPUT-INPUT/2 wait m{i-2}?
  .end
  .for one 0 2/(CHANNELS+1)          ; once when there is one
    h{i}: ld.ld0 dram=x+i%4*INPUT+INPUT/2 n0=INPUT-INPUT/2 spm=IN+INPUT/2 c0=INPUT-INPUT/2 wait m{i-2}?
  .end
  x{i}: ld.ld0 dram=x+i%4*INPUT n0=N n1=INPUT/2/N s1=N spm=IN c0=INPUT/2 prio=4 wait m{i-2}?
  c{i}: conv in=IN-(KY/2*14+1)*N in_x=N in_y=14*N k_x=N k_y=14*N k_c=PLANE kc=KC ky=KY kx=3 nx=14 ny=ROWS pad_t=KY/2 pad_l=1 h=ROWS w=14 wt=W acc=A drain out=OUT out_y=14*N par=P op=1 wait x{i} h{i} w p s{i-1}? y{i-2}? g{i-2}?
  d{i}: dwc in=IN-15*N in_x=N in_y=14*N k_x=N k_y=14*N ky=3 kx=3 nx=14 ny=ROWS pad_t=1 pad_l=1 h=ROWS w=14 wt=D acc=B drain out=Y+2*PLANE out_y=14*N par=P op=2 wait x{i} h{i} w p m{i-1}? g{i-1}?
  r{i}: conv in=IN in_x=N in_y=14*N k_c=PLANE kc=KC nx=14 ny=ROWS wt=W acc=A drain residual res=OUT out=Y+3*PLANE out_y=14*N par=RECORD op=3 wait x{i} h{i} w p c{i} m{i-1}?
  s{i}: conv in=IN-(KY/2*14+1)*N in_x=2*N in_y=28*N k_x=N k_y=14*N k_c=PLANE kc=KC ky=KY kx=3 nx=7 ny=(ROWS+1)/2 sx=2 sy=2 pad_t=KY/2 pad_l=1 h=ROWS w=14 wt=W acc=B drain out=Y+4*PLANE out_y=7*N par=P op=4 wait x{i} h{i} w p d{i} m{i-1}?
  m{i}: mm in=IN in_y=N k_c=PLANE ny=14*ROWS kc=KC wt=W w_c=N*N w_r=N transposed=i%2 acc=A drain out=Y+5*PLANE out_y=N par=P op=5 wait x{i} h{i} w p r{i} l{i-1}?
  y{i}: st dram=y+2*i*PLANE n0=PLANE spm=OUT c0=PLANE op=1 wait c{i}
  f{i}: map fn=add a=OUT b=Y+2*PLANE out=Y+6*PLANE n0=14 a1=14*N b1=14*N y1=14*N n1=ROWS par=RECORD op=6 wait c{i} d{i} p
  k{i}: map fn=table a=Y+6*PLANE out=Y+7*PLANE n0=14*ROWS table=i%3 op=7 wait b z{i-1}?
  o{i}: map fn=mul a=Y+7*PLANE b=Y+2*PLANE out=Y+6*PLANE n0=14*ROWS par=P op=8
  v{i}: map fn=scale a=Y+6*PLANE out=Y+7*PLANE n0=14*ROWS par=RECORD op=9
  a{i}: pool fn=max in=Y+7*PLANE-15*N in_x=N in_y=14*N k_x=N k_y=14*N ky=3 kx=3 nx=14 ny=ROWS pad_t=1 pad_l=1 h=ROWS w=14 out=Y+6*PLANE out_y=14*N op=10
  l{i}: row fn=softmax in=Y+5*PLANE in_y=ROWS*N kc=ROWS ny=14 out=Y+8*PLANE out_y=ROWS*N par=SOFT op=11 wait m{i}
  n{i}: row fn=layernorm in=Y+8*PLANE in_y=N ny=14*ROWS out=Y+8*PLANE out_y=N par=NORM op=12
  q{i}: trn in=Y+8*PLANE in_r=N in_x=8*N out=Y+7*PLANE out_r=8 out_x=8*N nx=14*ROWS/8 rows=8 op=13
  g{i}: pool fn=mean in=OUT k_x=N k_y=14*N ky=ROWS kx=14 out=Y+6*PLANE par=P op=14
  z{i}: st dram=y+2*i*PLANE+PLANE n0=N n1=14*ROWS s1=N spm=Y+7*PLANE c0=PLANE op=13 wait q{i}
.end

; Transfers: a layer with little to compute.
.for i 6 18
  .define IN X+i%2*INPUT
  .define OUT Y+i%2*PLANE
  x{i}: ld.ld0 dram=x+i%4*INPUT n0=INPUT spm=IN c0=INPUT wait m{i-2}? c{i-2}
  c{i}: conv in=IN in_x=N in_y=14*N k_c=PLANE kc=KC nx=14 ny=ROWS wt=W acc=i%2*HALF drain out=OUT out_y=14*N par=P op=15 wait x{i} w p y{i-2} c{i-2} m{i-1}? g{i-2}?
  y{i}: st dram=y+2*i*PLANE n0=N n1=14*ROWS s1=N spm=OUT c0=PLANE op=15 wait c{i}
.end
e: fill.ld0 value=7 spm=X c0=INPUT wait c16 c17
mark row=0 wait e
end
