#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick generate: goes on with a text as `wick run` does token by token, whatever form the caches
# have and however many tokens a run takes; and says what does not fit.
open=$(cd "$(dirname "$0")/../open" && pwd)
source "$(dirname "$0")/lib.bash" "$@"
room=24
prompt='3 1 4 1 5 9 2 6 5 3'
echo "$prompt" >prompt.txt

sizes='batch_size=1,sequence_length=1..4,past_sequence_length=0..23'
kept=${sizes/..23/..$room}
check 'growing caches' "$wick" compile -q "$open/decoder.onnx" --bind "$sizes" -o grow.wick
check 'fixed caches' "$wick" compile -q "$open/decoder_fixed.onnx" --bind seq=1..4 -o fixed.wick
check 'growing caches in a state' "$wick" compile -q "$open/decoder.onnx" --bind "$kept" \
  --state auto -o kept.wick
check 'a state' "$wick" compile -q "$open/decoder_fixed.onnx" --bind seq=1..4 --state auto \
  -o state.wick
check 'token by token' "$wick" compile -q "$open/decoder_fixed.onnx" --bind seq=1 --state auto \
  -o one.wick
check 'several entries' "$wick" compile -q "$open/decoder_fixed.onnx" --bind seq=1 --bind seq=5 \
  --bind seq=2..4 --state auto -o several.wick
check 'no caches' "$wick" compile -q "$open/llama.onnx" --bind batch=1,seq=1..24 -o whole.wick

# integers FILE SHAPE N...: a .npy of i64, each from 0 to 255.
integers() {
  local file=$1 shape=$2 n bytes=''
  shift 2
  for n; do bytes+=$(printf '\\x%02x\\0\\0\\0\\0\\0\\0\\0' "$n"); done
  npy "$file" '<i8' "$shape"
  head -c -$((8 * $#)) "$file" >"$file.head"
  { cat "$file.head" && printf '%b' "$bytes"; } >"$file"
  rm "$file.head"
}
# ones N LENGTH: N ones, then zeros.
ones() { for ((k = 0; k < $2; k++)); do echo $((k < $1)); done; }

# ---- the same by hand: each function prints what comes after a token ----------------------------

# step POSITION TOKEN: what `wick run` calls the largest logit.
largest() { sed -n 's/^  top\( of the first row\)\? \([0-9]*\) .*/\2/p'; }
fixed_step() {
  integers ids.npy 1,1 "$2"
  integers at.npy 1 "$1"
  # shellcheck disable=SC2046
  integers mask.npy 1,$room $(ones $(($1 + 1)) $room)
  "$wick" run one.wick --input input_ids=ids.npy --input cache_position=at.npy \
    --input attention_mask=mask.npy --state by_hand.state 2>/dev/null | largest
}
grow_step() {
  local i part args=()
  integers ids.npy 1,1 "$2"
  integers at.npy 1,1 "$1"
  # shellcheck disable=SC2046
  integers mask.npy 1,$(($1 + 1)) $(ones $(($1 + 1)) $(($1 + 1)))
  for i in 0 1; do
    for part in key value; do
      (($1)) && mv "out/present.$i.$part.npy" "past.$i.$part.npy"
      (($1)) || npy "past.$i.$part.npy" '<f4' 1,2,0,8
      args+=(--input "past_key_values.$i.$part=past.$i.$part.npy")
    done
  done
  "$wick" run grow.wick --input input_ids=ids.npy --input position_ids=at.npy \
    --input attention_mask=mask.npy "${args[@]}" --output-dir out | grep -A1 '^logits' | largest
}
# by_hand STEP N: prints N ids behind the prompt.
by_hand() {
  local at=0 id next
  for id in $prompt; do next=$("$1" $at "$id") && ((at++)); done
  while ((at < 10 + $2)); do
    echo "$next"
    next=$("$1" $at "$next") && ((at++))
  done
}
by_hand fixed_step 8 >want.txt
by_hand grow_step 8 >grown.txt
[[ $(wc -l <want.txt) == 8 ]] && cmp -s want.txt grown.txt && good ||
  bad "by hand: $(paste -sd' ' want.txt), $(paste -sd' ' grown.txt)"

# ---- greedy --------------------------------------------------------------------------------------

# writes NAME FILE COMMAND...: the command succeeds and prints what is in the file.
writes() {
  local name=$1 want=$2
  shift 2
  "$@" >got.txt 2>got.err || bad "$name: exit status $?: $(cat got.err)"
  cmp -s "$want" got.txt && good ||
    bad "$name: $(paste -sd' ' got.txt) instead of $(paste -sd' ' "$want")"
}
for package in grow kept fixed state one several; do
  writes "$package.wick" want.txt "$wick" generate $package.wick --tokens prompt.txt --steps 8
  writes "$package.wick by ones" want.txt "$wick" generate $package.wick -t prompt.txt -n 8 \
    --chunk 1
  writes "$package.wick by threes, one thread" want.txt "$wick" generate $package.wick \
    -t prompt.txt -n 8 --chunk 3 --threads 1
done
writes 'a model whose caches grow' want.txt "$wick" generate "$open/decoder.onnx" -t prompt.txt \
  -n 8
told="--bind 'batch_size=1,sequence_length=1,past_sequence_length=0..1024' \
--bind 'batch_size=1,sequence_length=2..64,past_sequence_length=0..1024' --state auto"
grep -qxF "wick: $open/decoder.onnx: compiled as with $told" got.err && good ||
  bad "sizes are told: $(cat got.err)"
rate='[0-9.]+ tokens/s'
grep -qE "^wick: prompt 10 tokens, $rate; generated 8 tokens, $rate; caches " got.err && good ||
  bad "summary: $(cat got.err)"
writes 'a model whose caches stay' want.txt "$wick" generate "$open/decoder_fixed.onnx" \
  -t prompt.txt -n 8 -q
told="compiled as with --bind 'seq=1' --bind 'seq=2..64' --state auto"
[[ $(cat got.err) == *"$told"* ]] && good || bad "a state is told: $(cat got.err)"
writes 'options for a model' want.txt "$wick" generate "$open/decoder_fixed.onnx" -t prompt.txt \
  -n 8 -q --bind seq=1..3 --state 'past_*=present_*'
[[ ! -s got.err ]] && good || bad "nothing is told: $(cat got.err)"
writes 'caches that are no state' want.txt "$wick" generate "$open/decoder.onnx" -t prompt.txt \
  -n 8 -q --bind "${sizes/=1,/=1..2,}"
[[ ! -s got.err ]] && good || bad "they stay as they are: $(cat got.err)"
# What bench/make_decoders.py printed of ONNX Runtime.
printf '%s\n' 57 14 43 43 43 43 43 43 >window.txt
writes 'a window, whose positions are the first axis' window.txt \
  "$wick" generate "$open/decoder_window.onnx" -t prompt.txt -n 8 -q
writes 'a window, token by token' window.txt \
  "$wick" generate "$open/decoder_window.onnx" -t prompt.txt -n 8 -q --chunk 1
whole() { head -n "$1" whole.txt; }
"$wick" generate whole.wick -t prompt.txt -n 6 >whole.txt 2>got.err
grep -q '; caches 0 B$' got.err && good || bad "no caches: $(cat got.err)"
# The whole text again is the same text.
{ cat prompt.txt && whole 4; } >longer.txt
tail -n 2 whole.txt >rest.txt
writes 'no caches' rest.txt "$wick" generate whole.wick -t longer.txt -n 2

# ---- tokens in, tokens out -----------------------------------------------------------------------

tr ' ' ',' <prompt.txt >commas.txt
writes 'commas' want.txt "$wick" generate state.wick -t commas.txt -n 8
# shellcheck disable=SC2086
integers prompt.npy 10 $prompt
writes '.npy' want.txt "$wick" generate state.wick -t prompt.npy -n 8
writes 'standard input' want.txt bash -c "tr ' ' '\n' <prompt.txt |
  '$wick' generate state.wick -t - -n 8"
check 'a file' "$wick" generate state.wick -t prompt.txt -n 8 -o ids.txt
cmp -s want.txt ids.txt && good || bad "a file: $(paste -sd' ' ids.txt)"
first=$("$wick" generate state.wick -t prompt.txt 2>/dev/null | head -n 1)
[[ $first == "$(head -n 1 want.txt)" ]] && good || bad 'whoever stops reading'
third=$(sed -n 3p want.txt)
head -n "$(($(grep -nxm1 "$third" want.txt | cut -d: -f1) - 1))" want.txt >until.txt
writes 'ends before a token' until.txt "$wick" generate state.wick -t prompt.txt -n 8 \
  --stop "60,$third"

# ---- the end of the caches -----------------------------------------------------------------------

for package in state fixed grow kept several; do
  "$wick" generate $package.wick -t prompt.txt -n 100 >got.txt 2>got.err
  [[ $? == 0 && $(wc -l <got.txt) == $((room - 10 + 1)) ]] && good ||
    bad "$package.wick is full: $(wc -l <got.txt) ids, $(cat got.err)"
  grep -qF "$package.wick: ends here: $room tokens fit" got.err && good ||
    bad "$package.wick is full: $(cat got.err)"
done
# No size shows how many rows there are: the fifth token's index is outside. f32 = 1, i64 = 7.
model "$(field 1 "$(node Gather 'table tokens' x)")$(
  field 1 "$(node ScatterND 'old positions x' new)")$(field 1 "$(node Transpose new logits)")" \
  "$(field 11 "$(value tokens 7 1)")$(field 11 "$(value positions 7 1 1)")$(
  field 11 "$(value old 1 4 1)")$(field 11 "$(value table 1 4 1)")" \
  "$(field 12 "$(value logits 1 1 4)")$(field 12 "$(value new 1 4 1)")" >rows.onnx
echo 0 0 0 >zeros.txt
echo 2 3 >two.txt
echo 0 0 0 0 0 >five.txt
writes 'a full cache ends the text' zeros.txt bash -c "'$wick' generate rows.onnx -t two.txt \
  --state old=new --input table=0 | paste -sd' '"
grep -qE 'rows.onnx: ends here: 4 tokens fit: .*index 4 is outside' got.err && good ||
  bad "a full cache: $(cat got.err)"
refuses 'full before the end of the prompt' 3 'there are 5 tokens, and 4 fit: .*index 4 is' \
  "$wick" generate rows.onnx -t five.txt --state old=new --input table=0
"$wick" generate state.wick -t prompt.txt --context 13 >got.txt 2>got.err
[[ $(wc -l <got.txt) == 4 ]] && grep -qF 'ends here: 13 tokens fit' got.err && good ||
  bad "--context: $(cat got.err)"
for ((k = 0; k < room + 1; k++)); do echo 7; done >long.txt
for package in state grow kept whole; do
  refuses "$package.wick: too long" 3 "^wick: long.txt: there are 25 tokens, and 2[0-4] fit" \
    "$wick" generate $package.wick -t long.txt
done

# ---- drawn ---------------------------------------------------------------------------------------

drawn() { "$wick" generate state.wick -t prompt.txt -q -n 12 "$@"; }
drawn --temperature 1.5 --seed 4 >a.txt
writes 'one seed, one text' a.txt drawn --temperature 1.5 --seed 4
[[ $(cat a.txt) != "$(drawn --temperature 1.5 --seed 5)" ]] && good || bad 'another seed'
[[ $(cat a.txt) != "$(drawn --temperature 1.5 --seed 4 --top-k 2)" ]] && good || bad '--top-k'
writes 'the most likely one' want.txt drawn -n 8 --temperature 2 --top-k 1
writes 'a small share' want.txt drawn -n 8 --temperature 2 --top-p 0.001
writes 'greedy' want.txt drawn -n 8 --greedy
writes 'without heat' want.txt drawn -n 8 --temperature 0

# ---- roles ---------------------------------------------------------------------------------------

check 'numbers' "$wick" compile -q "$open/decoder_counts.onnx" --bind n=1..3 --state auto \
  -o counts.wick
# counts GIVEN: as the model defines it, behind tokens 5 6 7.
counts() {
  local past word=7
  for past in 2 3 4 5; do
    word=$(((word + past + 2 * (past + 1) + 4 * past + 8 + past + $1) % 61))
    echo $word
  done
}
echo 5 6 7 >three.txt
counts 3 >numbers.txt
writes 'each number' numbers.txt "$wick" generate counts.wick -t three.txt -n 4 --input given=3
npy given.npy '<f4' 1,2
counts 0 >numbers.txt
writes 'a file' numbers.txt "$wick" generate counts.wick -t three.txt -n 4 --input given=given.npy
writes 'roles' numbers.txt "$wick" generate counts.wick -t three.txt -n 4 --input given=0 \
  --role word=ids --role next=logits --role start_pos=past

# ---- what does not fit ---------------------------------------------------------------------------

small_models
check 'no decoder' "$wick" compile -q relu.onnx -o relu.wick
check 'a batch' "$wick" compile -q "$open/llama.onnx" --bind batch=2,seq=1..8 -o batch.wick
: >empty.txt
echo '3 1 4 1 5 9' >six.txt
echo '3 x 4' >letters.txt
printf '3\n-4\n' >negative.txt
echo '3 61' >outside.txt
echo 99999999999999999999 >large.txt
npy matrix.npy '<i8' 2,3
npy floats.npy '<f4' 3
gen=("$wick" generate state.wick)
refuses 'no tokens' 2 '^wick: --tokens FILE is needed' "${gen[@]}"
refuses 'an empty text' 3 '^wick: empty.txt: there is no token id' "${gen[@]}" -t empty.txt
refuses 'letters' 3 "^wick: letters.txt: line 1: 'x' is no token id" "${gen[@]}" -t letters.txt
refuses 'below 0' 3 "^wick: negative.txt: line 2: '-4' is no token id" "${gen[@]}" -t negative.txt
refuses 'too large' 3 "line 1: '99999999999999999999' is no token id" "${gen[@]}" -t large.txt
refuses 'no such token' 3 '^wick: outside.txt: token 2 is 61, and the vocabulary has ids 0 to 60' \
  "${gen[@]}" -t outside.txt
refuses 'two axes' 3 'matrix.npy: integers of one axis are expected' "${gen[@]}" -t matrix.npy
refuses 'floats' 3 'floats.npy: integers of one axis are expected' "${gen[@]}" -t floats.npy
refuses 'no file' 5 'none.txt: cannot open' "${gen[@]}" -t none.txt
refuses '--stop' 2 "^wick: --stop: line 1: 'end' is no token id" "${gen[@]}" -t prompt.txt \
  --stop end
refuses '--top-k' 2 'it needs --temperature' "${gen[@]}" -t prompt.txt --top-k 3
refuses '--top-p' 2 'more than 0' "${gen[@]}" -t prompt.txt --temperature 1 --top-p 0
refuses '--top-p above 1' 2 'top-p' "${gen[@]}" -t prompt.txt --temperature 1 --top-p 1.5
refuses 'two ways' 2 'give one of them' "${gen[@]}" -t prompt.txt --temperature 1 --greedy
refuses 'over the prompt' 2 'prompt.txt' "${gen[@]}" -t prompt.txt -o prompt.txt
refuses 'options of models' 2 'is a compiled package: --state is for models' \
  "${gen[@]}" -t prompt.txt --state auto
refuses 'options of packages' 2 'is a model: --memory-limit is for packages' \
  "$wick" generate "$open/decoder_fixed.onnx" -t prompt.txt --memory-limit 1GiB
refuses 'no decoder' 2 '^wick: relu.wick: is no decoder: no input takes token ids' \
  "$wick" generate relu.wick -t prompt.txt
refuses 'a model that is none' 2 '^wick: relu.onnx: is no decoder: no input takes token ids' \
  "$wick" generate relu.onnx -t prompt.txt
refuses 'a batch' 2 'axis 0 of input input_ids is 2: one text is decoded at a time' \
  "$wick" generate batch.wick -t prompt.txt
refuses 'no caches, no chunks' 2 '^wick: whole.wick: --chunk: the decoder has no caches' \
  "$wick" generate whole.wick -t prompt.txt --chunk 2
refuses 'no role' 2 '^wick: counts.wick: input given is f32.1,1..3.: what it takes is not known' \
  "$wick" generate counts.wick -t three.txt
refuses 'a role that is none' 2 'where ROLE is ids, mask, positions, .* or logits' \
  "${gen[@]}" -t prompt.txt --role input_ids=word
refuses 'a role of nobody' 2 "there is no input 'words'" "${gen[@]}" -t prompt.txt --role words=ids
refuses 'a role of another type' 2 'given is f32.1,1..3.: i32 or i64 of one or two axes' \
  "$wick" generate counts.wick -t three.txt --role given=ids
refuses 'tokens twice' 2 'both take token ids' \
  "${gen[@]}" -t prompt.txt --role attention_mask=ids
refuses 'an input of nobody' 2 "there is no input 'given'" "${gen[@]}" -t prompt.txt --input given=1
refuses 'neither number nor file' 5 'given=x: neither a number nor a file' \
  "$wick" generate counts.wick -t three.txt --input given=x
npy four.npy '<f4' 1,4
refuses 'a size' 3 'axis 1 has 4 elements, which the package does not take' \
  "$wick" generate counts.wick -t three.txt --input given=four.npy
check 'fives' "$wick" compile -q "$open/decoder_fixed.onnx" --bind seq=4..5 --state auto \
  -o fives.wick
refuses 'too few' 2 '^wick: fives.wick: 1 token is left behind 5 others, and .* takes 4 at least' \
  "$wick" generate fives.wick -t six.txt
check 'never empty' "$wick" compile -q "$open/decoder.onnx" --bind "${sizes/=0../=1..}" -o late.wick
refuses 'no beginning' 2 '^wick: late.wick: no entry of the package begins a text' \
  "$wick" generate late.wick -t prompt.txt
finish
