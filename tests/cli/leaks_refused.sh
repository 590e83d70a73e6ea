#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Commands that fail half-way, after others of a kind have gone well: a second file, a later step, a
# file that cannot be written in the end. They give back what they have, too.
here=$(realpath "$(dirname "$0")") nets=$(realpath "$(dirname "$0")/../nets")
onnx=$(realpath "$(dirname "$0")/../onnx") open=$(realpath "$(dirname "$0")/../open")
source "$here/lib.bash" "$@"
source "$here/train.bash"
source "$here/external.bash"
source "$here/leaks.bash"

small_models
fitted fitted.onnx "$(field 1 "$(node Relu h y)")"
cp "$nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$onnx/QGemm/model.onnx" gemm.onnx
cp gemm.onnx gemm2.onnx
cp -r "$onnx/QGemm" wrong
flip wrong/test_data_set_0/output_0.pb "$(($(stat -c %s wrong/test_data_set_0/output_0.pb) - 1))"
npy three.npy '<f4' 2,3
npy four.npy '<f4' 4,4
npy wide.npy '<f4' 4,5
npy nan.npy '<f4' 4,4
printf '\x00\x00\xc0\x7f' | dd of=nan.npy bs=1 seek=128 conv=notrunc status=none
mkdir -p cal mixed sets/test_data_set_0 empty
cp four.npy cal/a.npy && cp four.npy mixed/a.npy && cp wide.npy mixed/b.npy
head -c 100 four.npy >cut.npy
stream_of_copies >copies.s
ramp x.npy '<i4' 40,4 160 251
ramp t.npy '<i4' 40,3 120 11
external ex w.bin
cpu=(--cpu x86-64)
check 'a package' "$wick" compile unet.onnx -q --target accel:tiny "${cpu[@]}" -o parts.wick
check 'two entries' "$wick" compile symbolic.onnx -q --bind n=1 --bind n=3 "${cpu[@]}" -o two.wick

# ---- generating ----------------------------------------------------------------------------------

echo 3 1 4 >ids.txt
echo 3 61 >outside.txt
printf '%s\n' {1..25} >long.txt
sizes=sequence_length=1..4,past_sequence_length=0..9
all_tidy <<'END'
3 generate "$open/decoder_fixed.onnx" "${cpu[@]}" -t outside.txt
3 generate "$open/decoder_fixed.onnx" "${cpu[@]}" -t long.txt -o next.txt
5 generate "$open/decoder_fixed.onnx" "${cpu[@]}" -t ids.txt -o nowhere/next.txt
0 generate "$open/decoder.onnx" "${cpu[@]}" --bind "batch_size=1..2,$sizes" -t ids.txt -n 20
2 generate "$open/decoder.onnx" "${cpu[@]}" --bind "batch_size=2,$sizes" -t ids.txt
2 generate "$open/decoder_counts.onnx" "${cpu[@]}" --bind n=1 -t ids.txt
5 generate "$open/decoder_counts.onnx" "${cpu[@]}" --bind n=1 -t ids.txt -i given=none.npy
2 generate relu.onnx "${cpu[@]}" -t ids.txt
END

# ---- quantising ----------------------------------------------------------------------------------

q=(quantize fitted.onnx -o q.onnx)
all_tidy <<'END'
0 "${q[@]}" --calibration cal --random 1 --method minmax
0 "${q[@]}" cal/a.npy --bias-correction --scheme int8 --symmetric
3 "${q[@]}" cal/a.npy wide.npy
3 "${q[@]}" cal/a.npy nan.npy
3 "${q[@]}" cal/a.npy cut.npy
5 "${q[@]}" cal/a.npy none.npy
3 "${q[@]}" --calibration mixed
3 "${q[@]}" --calibration empty
5 "${q[@]}" --calibration y=four.npy
2 "${q[@]}" --bind n=4
2 "${q[@]}" --bind n=4 --bind n=5 --random 1
2 "${q[@]}" --bind n=4 --random 1 --keep-float Conw
1 "${q[@]}" --bind n=4 --random 2 --target-drop 300dB
0 "${q[@]}" --bind n=4 --random 2 --target-drop 10dB
2 "${q[@]}" --bind n=4 --random 1 --target-drop 300
2 "${q[@]}" --bind n=4 --random 1 --method minmac
3 quantize unet.onnx --random 1 -o q.onnx
5 quantize fitted.onnx --bind n=4 --random 1 -o nowhere/q.onnx
5 quantize fitted.onnx --bind n=4 --random 1 -o q.onnx --report nowhere/q.json
2 quantize fitted.onnx --bind n=4 --random 1 -o fitted.onnx
3 quantize cut.npy --random 1 -o q.onnx
END

# ---- training ------------------------------------------------------------------------------------

t=(train fitted.onnx --loss mse --batch 4 "${cpu[@]}" --epochs 1 -o o.onnx) d='--data x.npy'
l='--labels t.npy'
all_tidy <<'END'
1 "${t[@]}" $d $l --lr 1e38 --optimizer sgd
2 "${t[@]}" $d $l --data x.npy
2 "${t[@]}" --data z=x.npy $l
3 "${t[@]}" --data three.npy $l
3 "${t[@]}" $d --labels three.npy
5 "${t[@]}" $d --labels none.npy
3 "${t[@]}" $d --labels cut.npy
3 "${t[@]}" --data empty $l
2 "${t[@]}" $d $l --train nothing
4 "${t[@]}" $d $l --freeze '*'
2 "${t[@]}" $d $l --of z
5 "${t[@]}" $d $l --checkpoint ck --resume
5 "${t[@]}" $d $l --checkpoint x.npy/ck
5 "${t[@]}" $d $l --history nowhere/h.csv
5 "${t[@]}" $d $l --plot nowhere/p.html
2 "${t[@]}" $d $l --history o.onnx
0 "${t[@]}" $d $l --emit bundle
0 train fitted.onnx $d $l --loss mse --batch 4 --steps 3 --accumulate 2 --clip-norm 1 -o o.onnx
2 "${t[@]}" $d $l --qat
4 train unet.onnx --data x.npy --labels t.npy --loss mse --epochs 1 -o o.onnx
0 train ex/m.onnx $d $l --loss mse --batch 4 --epochs 1 "${cpu[@]}" -o n.onnx
2 train ex/m.onnx $d $l --loss mse --batch 4 --epochs 1 -o ex/m.onnx
2 train ex/m.onnx $d $l --loss mse --batch 4 --epochs 1 -o -
END

# ---- running and testing -------------------------------------------------------------------------

all_tidy <<'END'
2 run two.wick --entry none
3 run two.wick -i three.npy
2 run parts.wick --target cpu
2 run symbolic.onnx
5 run relu.onnx --output-dir x.npy/new
5 run relu.onnx --dump-tensors x.npy/new
5 run relu.onnx --dump-tensors x.npy/new --target eval
2 run relu.onnx --target eval --effort 1
3 run relu.onnx -i four.npy
5 run relu.onnx -i x=none.npy
2 run relu.onnx -i x=
2 run gemm.onnx --bind q=3
3 compare relu.onnx --package two.wick
5 test "$onnx/QGemm" --junit nowhere/j.xml
2 test "$onnx/QGemm" --target none
1 test "$onnx/QGemm" wrong "$onnx/QLinearAdd" --target eval -v -j1
1 test wrong "$onnx/QGemm" -j0
3 ops --model cut.npy
2 ops --model relu.onnx --target none
5 zoo lstm -o nowhere/x.onnx
2 zoo lstn -o x.onnx
END

# ---- the accelerator -----------------------------------------------------------------------------

s=(-m tiny --set dram_latency=50,60 --effort 0 -o s -j 1)
all_tidy <<'END'
2 sim parts.wick --model timing --part 9
2 sim parts.wick --model functional --html h.html
2 sim parts.wick --model timing --with-modes
3 sim parts.wick --model timing -i three.npy
5 sim parts.wick --model timing --json nowhere/s.json
5 sim parts.wick --model timing --trace nowhere/s.json
1 sim parts.wick --model timing --max-cycles 20
2 sim parts.wick --model timing -m none
2 sim copies.s --model timing --dump z=file
5 sim copies.s --model timing --dump y=nowhere/file
0 sim copies.s --model timing --dump y=file
2 sim copies.s --model timing --dram nothing=3
2 sim gemm.onnx --model timing --prefetch none
5 disasm parts.wick --part 1 -o nowhere/x.s
2 disasm parts.wick --part 7
3 diff three.npy three.npy
5 sweep gemm.onnx none.onnx "${s[@]}"
2 sweep gemm.onnx gemm.onnx "${s[@]}"
3 sweep gemm.onnx cut.npy "${s[@]}"
2 sweep gemm.onnx "${s[@]}" --set dram_latency=3
2 sweep gemm.onnx "${s[@]}" --set array=8,x
2 sweep gemm.onnx "${s[@]}" --prefetch auto,none
2 sweep gemm.onnx "${s[@]}" --task 3/2
6 sweep gemm.onnx -o s --set dram_latency=$(seq -s, 1001) --set dram_outstanding=$(seq -s, 1000)
5 sweep gemm.onnx -m tiny --set array=8 -o x.npy/s
1 sweep gemm.onnx -m tiny --set scratchpad=1,2 -o s
0 sweep gemm.onnx gemm2.onnx "${s[@]}" --what-if
END
finish
