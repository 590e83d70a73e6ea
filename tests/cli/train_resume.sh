#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train: a run that is killed, wherever it is, and resumed gives what one gives that is not.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

# 20 steps of two batches of two for each epoch; Dropout, the rate and sums of gradients depend on
# where a run is.
fitted drop.onnx "$(field 1 "$(node Dropout h y)")"
ramp x.npy '<i4' 90,4 360 251
ramp t.npy '<i4' 90,3 270 11
common=("$wick" train drop.onnx --data x.npy --labels t.npy --loss mse --batch 2 --accumulate 2
  --validate 0.1)
train() { "${common[@]}" "$@"; }
# files NAME: what a run writes.
files() { echo "-o $1.onnx --history $1.csv --history-steps $1.steps"; }
# same NAME A B: two runs have written the same, but for how long they took.
same() {
  check "$1: weights" cmp "$2.onnx" "$3.onnx"
  check "$1: epochs" cmp <(cut -d, -f1-7 "$2.csv") <(cut -d, -f1-7 "$3.csv")
  check "$1: steps" cmp "$2.steps" "$3.steps"
}
# done_in FOLDER: steps of its checkpoint; nothing when there is none.
done_in() { od -An -tu8 -j8 -N8 "$1/checkpoint" 2>/dev/null | tr -d ' '; }

# ---- kills ---------------------------------------------------------------------------------------
long=("${common[@]}" --epochs 30 --schedule cosine --clip-norm 3)
check 'uninterrupted' "${long[@]}" $(files a)
kills=0 within=0 resume=()
for ((k = 0; k < 10; k++)); do
  was=$(done_in ck)
  "${long[@]}" $(files b) --checkpoint ck --checkpoint-every 1 "${resume[@]}" >log 2>&1 &
  pid=$!
  while [[ $(done_in ck) == "$was" && -d /proc/$pid ]]; do sleep 0.001; done
  sleep 0.00$((k % 10))
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  status=$?
  ((status == 0)) && break
  ((status == 137)) || { bad "run $k: exit status $status: $(cat log)" && break; }
  [[ ! -e b.onnx && ! -e b.csv && ! -e b.steps ]] && good || bad 'a killed run has written'
  kills=$((kills + 1)) resume=(--resume)
  (($(done_in ck) % 20)) && within=$((within + 1))
done
((kills && within)) && good || bad "$kills kills, $within of them within an epoch"
check 'to the end' "${long[@]}" $(files b) --checkpoint ck --checkpoint-every 50 "${resume[@]}"
same "$kills kills" a b

# ---- runs that end within an epoch ---------------------------------------------------------------
check 'steps' train --steps 70 $(files c)
check 'cut' train --steps 27 $(files d) --checkpoint cut
[[ $(tail -1 d.csv) == 2,27,* ]] && good || bad "the cut run: $(tail -1 d.csv)"
check 'longer' train --steps 53 $(files d) --checkpoint cut --resume
check 'whole' train --steps 70 $(files d) --checkpoint cut --resume
same 'cut twice' c d
check 'nothing is left to do' train --steps 70 $(files e) --checkpoint cut --resume
refuses 'fewer steps than there are' 2 'the run has done 70 steps, more than the 60' \
  train --steps 60 $(files f) --checkpoint cut --resume
same 'done' c e

# ---- refusals ------------------------------------------------------------------------------------
refuses 'no folder' 2 'checkpoint-every: give the folder with --checkpoint DIR' \
  train --checkpoint-every 3 -o o.onnx
check 'without steps' train --epochs 1 --checkpoint plain -o o.onnx
rm o.onnx
refuses 'steps that are not known' 2 'plain/checkpoint: has no figures of the first 20 steps' \
  train --epochs 2 --checkpoint plain --resume --history-steps s -o o.onnx
printf 1 | dd of=plain/checkpoint bs=1 seek=7 conv=notrunc status=none
refuses 'another version' 3 'plain/checkpoint: is a checkpoint of another version of Wick' \
  train --epochs 2 --checkpoint plain --resume -o o.onnx
printf text >plain/checkpoint
refuses 'no checkpoint' 3 'plain/checkpoint: is no checkpoint' \
  train --epochs 2 --checkpoint plain --resume -o o.onnx
finish
