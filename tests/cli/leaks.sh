#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command gives back what it has allocated, mapped and opened: when it succeeds, when its
# input is refused, and in the processes of its own that it starts.
here=$(realpath "$(dirname "$0")") nets=$(realpath "$(dirname "$0")/../nets")
onnx=$(realpath "$(dirname "$0")/../onnx") open=$(realpath "$(dirname "$0")/../open")
source "$here/lib.bash" "$@"
source "$here/train.bash"
source "$here/leaks.bash"

small_models
fitted fitted.onnx "$(field 1 "$(node Relu h y)")"
fitted shifted.onnx "$(field 1 "$(node Relu h r)")$(field 1 "$(node Mul 'r k' y)")$(weight k 1 3)"
cp "$nets/int8/unet_qdq/model.onnx" unet.onnx
cp "$nets/float/cnn/model.onnx" cnn.onnx
cp "$onnx/QGemm/model.onnx" gemm.onnx
printf 'id,lower,upper,size\na,0,2,64\nb,1,3,32\n' >plan.csv
printf 'array = [8, 16];\n' >space.cfg
npy three.npy '<f4' 2,3
npy one.npy '<f4' 1,3
npy given.npy '<f4' 1,2
echo 3 1 4 >ids.txt
stream_of_copies >copies.s
mkdir cal && npy cal/x.npy '<f4' 4,4 && npy cal/more.npy '<f4' 8,4
cpu=(--cpu x86-64) pair=(--target accel:tiny --cpu x86-64)

# ---- what succeeds -------------------------------------------------------------------------------

all_tidy <<'END'
0 zoo ds_cnn -o zoo.onnx
0 compile unet.onnx -q "${cpu[@]}" -o unet.wick --report report.json
0 compile unet.onnx "${pair[@]}" -o parts.wick --print-parts --print-integer --time-passes
0 compile symbolic.onnx --bind n=1 --bind n=3 "${cpu[@]}" -o two.wick --print-after changed
0 compile cnn.onnx -q "${cpu[@]}" --emit bundle -o bundle
0 compile cnn.onnx -q "${cpu[@]}" --emit program -o /dev/null
0 compile cnn.onnx -q "${cpu[@]}" --emit onnx -o again.onnx
0 compile cnn.onnx -q "${cpu[@]}" --memory-budget 64KiB --convert f16 -o half.wick
0 compile cnn.onnx -q "${pair[@]}" --quantize-random 1 --effort 0 -o random.wick
0 inspect unet.onnx
0 inspect parts.wick
0 run parts.wick --random 2 --output-dir results
0 run two.wick -i one.npy
0 run relu.onnx -i x=three.npy --target eval --dump-tensors eval
0 generate "$open/decoder.onnx" "${cpu[@]}" -t ids.txt -n 3 -o next.txt
0 generate "$open/decoder_fixed.onnx" "${cpu[@]}" --bind seq=1..2 -t ids.txt -n 3 --temperature 1
0 generate "$open/decoder_counts.onnx" "${cpu[@]}" --bind n=2 -t ids.txt -n 3 -i given=given.npy
0 run unet.onnx "${cpu[@]}" --dump-tensors cpu --profile --repeat 2
0 compare unet.onnx "${pair[@]}" -v
0 compare unet.onnx --package parts.wick
0 compare cnn.onnx "${cpu[@]}" -v
0 compare relu.onnx --passes
0 test "$onnx/QGemm" "$onnx/QLinearAdd" "$onnx/QLinearMul" -j2 --junit junit.xml
0 test "$onnx/QGemm" "$onnx/QLinearAdd" -j0 --target eval -v
0 test "$onnx" "$onnx/../caffe2" -j0 --target eval
0 ops --model unet.onnx --target accel:tiny,cpu:x86-64 --parts -v
0 ops --model cnn.onnx --json -v
0 ops --markdown
0 ops --caffe2
0 ops --gradients
0 quantize fitted.onnx --bind n=4 --random 2 --per-channel -v -o q.onnx --report q.json
0 quantize fitted.onnx --bind n=4 --random 1 --method entropy --equalise -o q2.onnx
0 quantize shifted.onnx --bind n=4 --random 1 --method mse -o q3.onnx
0 grad cnn.onnx --emit graph -o grad.txt
0 grad relu.onnx --check -v
0 plan plan.csv -o placed.csv
0 asm copies.s -o copies.wcs
0 disasm copies.wcs -o text.s
0 disasm parts.wick --part 1 --no-data
0 check parts.wick
0 isa --sv --machine tiny
0 targets
0 devices -v
0 sim copies.s --model timing --json s.json --trace s.trace --commands
0 sim parts.wick --model timing --causes --csv p.csv --json p.json --html p.html
0 sim parts.wick --model functional --part 1
0 sim gemm.onnx --machine tiny --model timing --with-modes --json m.json
0 diff p.json p.json --json d.json --most 2
0 sweep gemm.onnx -m tiny --set dram_latency=50,60,0 --effort 0 -o sweep -j 2
0 sweep gemm.onnx -m tiny --set dram_latency=50,60,0 --effort 0 -o sweep
0 explore gemm.onnx -m tiny --space space.cfg --confirm 0 --effort 0 -o explore
0 help sweep
0 man explore
0 completion bash
END

# ---- training ------------------------------------------------------------------------------------

fitted fit.onnx "$(field 1 "$(node Dropout h y)")"
ramp x.npy '<i4' 40,4 160 251
ramp t.npy '<i4' 40,3 120 11
fit=(train fit.onnx --data x.npy --labels t.npy --loss mse --batch 4 --validate 0.2 "${cpu[@]}")
tidy 'a run' 0 "${fit[@]}" --epochs 1 -o fit1.onnx --checkpoint ck --history h.csv \
  --history-steps s.csv --plot p.html -v
tidy 'it goes on' 0 "${fit[@]}" --epochs 2 -o fit2.onnx --checkpoint ck --resume
tidy 'a package that trains' 0 "${fit[@]}" --epochs 1 --emit package -o fit.wick
tidy 'another run' 2 "${fit[@]}" --epochs 2 --seed 3 -o fit3.onnx --checkpoint ck --resume
flip ck/checkpoint 100
for set in 0 1; do # rows of 1.1
  mkdir -p sets/test_data_set_$set
  for what in input:4 output:3; do
    raw=''
    for ((i = 0; i < 8 * ${what#*:}; i++)); do raw+=$'\xcd\xcc\x8c\x3f'; done
    { number 1 8 && number 1 "${what#*:}" && number 2 1 && field 9 "$raw"; } \
      >"sets/test_data_set_$set/${what%:*}_0.pb"
  done
done
tidy 'a folder of samples' 0 train fitted.onnx --data sets --loss mse --epochs 1 --batch 8 \
  "${cpu[@]}" -o fit4.onnx
tidy 'a damaged checkpoint' 3 "${fit[@]}" --epochs 2 -o fit3.onnx --checkpoint ck --resume

# ---- what is refused -----------------------------------------------------------------------------

head -c 2000 unet.onnx >cut.onnx
head -c 4000 parts.wick >cut.wick
cp unet.onnx wrong.onnx && flip wrong.onnx 17000
tidy 'a package of another weight' 0 compile wrong.onnx -q "${pair[@]}" -o wrong.wick
sed 's/wait m{i}$//' copies.s >race.s
sed 's/map/mop/' copies.s >bad.s
model "$(field 1 "$(node Relu x h)")$(field 1 "$(node Frobnicate h y)")" \
  "$(field 11 "$(value x 1 2 3)")" "$(field 12 "$(value y 1 2 3)")" >unknown.onnx
mkdir full
all_tidy <<'END'
2 frob
2 compile
2 compile unet.onnx --nothing
2 compile symbolic.onnx -o never.wick
2 compile relu.onnx --target cpu:none -o never.wick
3 compile cut.onnx -o never.wick
4 compile unknown.onnx -o never.wick
5 compile relu.onnx -q -o nowhere/never.wick
2 compile relu.onnx -o relu.onnx
3 run cut.wick
3 run relu.onnx -i relu.onnx
2 run relu.onnx -i x=three.npy -i y=three.npy
5 run relu.onnx --output-dir three.npy
1 compare unet.onnx --package wrong.wick
3 compare cut.onnx
4 ops --model unknown.onnx -v
2 ops --model symbolic.onnx
3 test "$onnx/QGemm" full
2 test "$onnx" --filter none
4 quantize relu.onnx --random 1 -o never.onnx
4 quantize fitted.onnx --bind n=4 --random 1 --keep-float MatMul -o never.onnx
2 train fit.onnx --data x.npy --loss mse -o never.onnx
3 train fit.onnx --data x.npy --labels plan.csv --loss mse -o never.onnx
3 plan unet.onnx
1 plan plan.csv --capacity 80
3 asm bad.s
3 check race.s
3 disasm cut.wick
3 sim race.s --model functional
1 sim copies.s --model timing --max-cycles 50
3 diff report.json p.json
2 sweep unet.onnx --set nothing=3 -o never
3 explore unet.onnx --space plan.csv -o never
END
finish
