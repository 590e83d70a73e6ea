#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick train --resume: which options must be those of the checkpoint and which need not, what is
# said of each that differs, and files that were cut or changed, with the checksum that fits them.
source "$(dirname "$0")/lib.bash" "$@"
source "$wanted/../train.bash"

fitted net.onnx "$(field 1 "$(node Dropout h y)")"
ramp x.npy '<i4' 40,4 160 251
ramp t.npy '<i4' 40,3 120 11
cp net.onnx same.onnx
base=(net.onnx --data x.npy --labels t.npy --loss mse --batch 4)
check 'a run' "$wick" train "${base[@]}" --steps 13 -o out.onnx --checkpoint ck \
  --history-steps steps.csv --cpu x86-64 # 10 steps are an epoch

# What is said when an option is another one than that of the checkpoint.
others() {
  local options
  set -f # a glob is an option's
  while read -r options; do
    rm -rf out.onnx again
    cp -r ck again
    printf '%s: %s\n' "$options" "$("$wick" train "${base[@]}" --steps 15 -o out.onnx \
      --checkpoint again --resume --cpu x86-64 $options 2>&1 | grep -E 'wick:|^epoch' |
      sed -E 's/;? *[0-9.]+ [kMG]? ?samples.*//; s/loss [0-9.e+]+/loss/')"
    [[ -e out.onnx ]] && echo '  goes on'
  done <<'END'
--seed 1
--seed 2
--memory-budget 1GiB
--batch 8
--accumulate 2
--optimizer sgd
--lr 0.002
--schedule cosine
--weight-decay 0.5
--clip-norm 2
--validate 0.25
--loss l1
--train w
--batch-norm frozen
--shape x=4x4
--history h.csv
--history-steps s.csv
--plot p.html
--emit package
--checkpoint-every 2
END
  set +f
}
prints train-others others

# resumed NAME: what is said of the checkpoint in folder NAME.
resumed() {
  "$wick" train "${base[@]}" --steps 15 -o out.onnx --checkpoint "$1" --resume --cpu x86-64 2>&1 |
    sed -n 's/^wick: //p'
}
mkdir cut
size=$(stat -c %s ck/checkpoint)
lengths() {
  local n
  for n in 0 4 8 11 12 $((size - 1)); do
    head -c "$n" ck/checkpoint >cut/checkpoint
    if ((n < size - 9)); then printf '%s: ' "$n"; else printf 'all but %s: ' $((size - n)); fi
    resumed cut
  done
}
prints train-cut lengths

# The same with checksums that fit: every cut and every changed byte of the head is found out, or it
# is another run's; nothing is written.
cat >damage.py <<'END'
import os, struct
table = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82f63b78 if i & 1 else 0)
    table.append(i)
def sealed(body):
    crc = 0xffffffff
    for b in body:
        crc = crc >> 8 ^ table[(crc ^ b) & 255]
    return body + struct.pack("<I", crc ^ 0xffffffff)
whole = open("ck/checkpoint", "rb").read()
assert sealed(whole[:-4]) == whole
body = whole[:-4]
settings = 24 + struct.unpack("<Q", body[16:24])[0]
number = lambda at: struct.unpack("<Q", body[at:at + 8])[0]
rows = settings + 8 + 80 * number(settings)     # of epochs; then the one that runs
steps = rows + 80
variables = steps + 8 + 32 * number(steps)
def put(at, value):
    return body[:at] + struct.pack("<Q", value) + body[at + 8:]
cases = {f"cut at {n}": body[:n] for n in (12, 20, 24)}
for name, at in (("settings", settings), ("rows", rows), ("steps", steps),
                 ("variables", variables), ("the end", len(body))):
    for d in (-1, 0, 8):
        if at + d < len(body):
            cases[f"cut at {name} {d:+}"] = body[:at + d]
cases["one byte more"] = body + b"x"
for name, at in (("done", 8), ("settings", 16), ("rows", settings), ("steps", steps),
                 ("variables", variables)):
    for value in (number(at) + 1, 2**63, 2**64 - 1):
        if value != number(at):
            change = value - number(at)
            what = f"{change:+}" if abs(change) == 1 else f"= {value}"
            cases[f"{name} {what}"] = put(at, value)
row = lambda at, *v: body[:at] + struct.pack("<" + "d" * len(v), *v) + body[at + 8 * len(v):]
for v in (-1.0, float("nan"), 2.0**53):
    cases[f"epoch = {v}"] = row(rows, v)
    cases[f"step = {v}"] = row(rows + 8, v)
for i, (name, text) in enumerate(cases.items()):
    os.mkdir(f"cut{i}")
    open(f"cut{i}/checkpoint", "wb").write(sealed(text))
    print(name)
END
damaged() {
  local name i=0
  python3 damage.py | while read -r name; do
    rm -f out.onnx
    printf '%s: %s' "$name" "$(resumed cut$i)"
    [[ -e out.onnx ]] && printf 'goes on'
    echo
    i=$((i + 1))
  done
}
prints train-damaged damaged
finish
