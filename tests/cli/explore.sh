#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick explore: which machines it tries and finds, that it goes on where it was stopped, what it
# refuses, and what the RTL says of what was found.
nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$(dirname "$0")/lib.bash" "$@"

cnn=$nets/cnn_qdq/model.onnx gru=$nets/gru_qdq/model.onnx
cat >small.cfg <<'END'
// Twelve, of which two cannot be: the bus is narrower than a word.
array = [32, 8, 16];
bus = [16, 32];
banks = [4, 8];
END
cat >large.cfg <<'END'
array = [8, 16, 32];
scratchpad = [65536, 131072, 262144];
banks = [4, 8, 16];
accumulators = [16384, 65536];
load_channels = [1, 2, 3];
bus = [32, 64];
burst = [128, 256];
dram_bytes = (4, 6.5, 8);
END
# figures FILE EXPRESSION: of what explore.json says, as d.
figures() { python3 -c "import json; d = json.load(open('$1/explore.json')); print($2)"; }

# ---- a space that is tried whole -----------------------------------------------------------------

gives 'a search' \
  '^12 machines: 2 cannot be, 0 are beyond the limits, 10 of the other 10 were tried;' "$wick" \
  explore "$cnn" --space small.cfg -o a --confirm 0
gives 'the same again' '; 0 points computed now$' \
  "$wick" explore "$cnn" --space small.cfg -o a --confirm 0
gives 'with a setting all is new' '; [1-9][0-9]* points computed now$' \
  "$wick" explore "$cnn" --space small.cfg -o a --confirm 0 --without residency
gives 'without it nothing' '; 0 points computed now$' \
  "$wick" explore "$cnn" --space small.cfg -o a --confirm 0
gives 'rungs' '^\[10, 8, 8\]$' figures a '[r["machines"] for r in d["rungs"]]'
gives 'nobody on the front is beaten' '^True$' figures a 'all(not any(
  x["times"] <= y["times"] and x["area"] <= y["area"] and x is not y for x in d["tried"]
  if x["rung"] == 3) for y in d["tried"] if y["front"]) and any(x["front"] for x in d["tried"])'
gives 'and everybody else is' '^True$' figures a 'all(any(
  x["times"] <= y["times"] and x["area"] <= y["area"] and x is not y for x in d["tried"]
  if x["rung"] == 3) for y in d["tried"] if y["rung"] == 3 and not y["front"])'
gives 'times are of cycles' '^True$' figures a 'all(
  abs(x["times"] - x["cycles"]["cnn_qdq"] / d["reference"]["cycles"]["cnn_qdq"]) < 1e-6
  for x in d["tried"] if x["rung"] == 3) and d["reference"]["times"] == 1'
check 'a limit of energy that none keeps' bash -c "'$wick' explore '$cnn' --space small.cfg \
  -o a --confirm 0 --limit energy=0.5x 2>none.err >/dev/null; test \$? = 1"
gives 'leaves all to the last rung' '^\[10, 10, 10\]$' figures a \
  '[r["machines"] for r in d["rungs"]]'
"$wick" explore "$cnn" --space small.cfg -o a --confirm 0 >/dev/null
printf 'array = 32;\nbus = 32;\ndram_size = 65536;\n' >little.cfg
"$wick" explore "$nets/unet_qdq/model.onnx" --space small.cfg -m little.cfg -o a \
  >none.out 2>none.err
check 'a machine to compare with that runs nothing' test $? = 1 -a ! -s none.out
gives 'which says why' \
  '^wick: the machine that others are compared with, little: unet_qdq: .* 65536 \(dram_size\)' \
  tail -1 none.err
machine=a/$(figures a 'next(x["machine"] for x in d["tried"] if x["front"])')
"$wick" compile "$cnn" --target "accel:$machine" -o net.wick -q
"$wick" sim net.wick --model timing --json net.json >/dev/null 2>&1
check 'the same cycles as sim' test \
  "$(figures a 'next(x["cycles"]["cnn_qdq"] for x in d["tried"] if x["front"])')" = \
  "$(python3 -c 'import json; print(json.load(open("net.json"))["cycles"])')"
check 'a page and a picture' python3 -c 'import re, xml.dom.minidom
page = open("a/index.html").read()
[xml.dom.minidom.parseString(svg) for svg in re.findall("<svg .*?</svg>", page, re.S)]
xml.dom.minidom.parse("a/front.svg")
assert page.endswith("</html>\n") and "http" not in page and "<script" not in page
assert page.count("<circle") == 11, page.count("<circle")'

# ---- a sample ------------------------------------------------------------------------------------

search=(explore "$cnn" "$gru" --space large.cfg --budget 40 --confirm 0)
gives 'a sample' '^1944 machines: .* [0-9]+ are beyond the limits, (3[0-9]|40) of the other ' \
  "$wick" "${search[@]}" --limit area=1x -o b
gives 'within the limits' '^True$' figures b \
  'all(x["area"] <= d["reference"]["area"] for x in d["tried"]) and len(d["tried"]) > 19'
for dir in c d; do
  setsid "$wick" "${search[@]}" --limit area=1x -o $dir -j 1 >/dev/null 2>&1 &
  sleep 1
  kill -9 -- "-$!"
  wait $! 2>/dev/null
done
"$wick" "${search[@]}" --limit area=1x -o c -j 2 --task 1/2 >task.txt 2>&1 &
"$wick" "${search[@]}" --limit area=1x -o c -j 1 --task 0/2 >>task.txt 2>&1
check 'tasks succeed' wait $!
check 'and say nothing' test ! -s task.txt
gives 'the work of tasks' '; 0 points computed now$' "$wick" "${search[@]}" --limit area=1x -o c
check 'the same with others, after a kill' cmp b/explore.json c/explore.json
"$wick" "${search[@]}" --limit area=1x -o d -j 1 >/dev/null
check 'the same alone, after a kill' cmp b/explore.json d/explore.json
check 'nothing twice' awk '$1 == "done" { if (done[$2]++) bad = 1 }
  $1 == "start" && done[$2] { bad = 1 } END { exit bad }' c/log
"$wick" "${search[@]}" --limit area=1x -o b --seed 7 >/dev/null
check 'another seed' bash -c '! cmp -s b/explore.json c/explore.json'
gives 'limits' '^True$' figures d 'd["limits"]["area"] == d["reference"]["area"]'
"$wick" "${search[@]}" --limit energy=1x --limit onchip_bytes=200000 -o e >/dev/null
gives 'a limit of energy, in pJ' '^True$' figures e \
  'd["limits"]["energy"] == d["reference"]["energy"]'
gives 'of energy and memory' '^True$' figures e 'all(
  x["energy"] <= d["reference"]["energy"] for x in d["tried"] if x["front"]) and any(
  x["front"] for x in d["tried"]) and all(
  x["onchip_bytes"] <= 200000 for x in d["tried"])'

# ---- what is refused -----------------------------------------------------------------------------

space() { printf '%s\n' "$@" >space.cfg; }
refuses_space() {
  local name=$1 pattern=$2
  shift 2
  space "$@"
  refuses "$name" 3 "^wick: space.cfg$pattern" "$wick" explore "$cnn" --space space.cfg -o f
}
refuses_space 'an unknown key' ":2: unknown key 'bank'; did you mean 'banks'\?$" 'array = 8;' \
  'bank = [4, 8];'
refuses_space 'a value that cannot be' ':1: array = 12 must be a power of two$' 'array = [8, 12];'
refuses_space 'a value twice' ':1: 8 stands there twice$' 'array = [8, 16, 8];'
refuses_space 'no value' ':1: array has no value$' 'array = [];'
refuses_space 'a text' ':1: a value is a number, no text$' 'array = "8";'
refuses_space 'an empty space' ': names no key: the space is empty$' '// nothing'
refuses_space 'no machine at all' ': no combination of these values is a machine: ' \
  'array = 32;' 'bus = 16;'
refuses 'no machine within the limits' 3 \
  '^wick: small.cfg: no machine is within the limits: the smallest has [0-9.]+ mm² \(area is ' \
  "$wick" explore "$cnn" --space small.cfg --limit area=0.1 -o f
refuses 'no machine with so little memory' 3 \
  '^wick: small.cfg: no machine is within the limits: onchip_bytes is limited to 1000$' \
  "$wick" explore "$cnn" --space small.cfg --limit onchip_bytes=1000 -o f
refuses 'an unknown limit' 2 "^wick: --limit arae=1: unknown limit 'arae'; did you mean 'area'\?$" \
  "$wick" explore "$cnn" --space small.cfg --limit arae=1 -o f
refuses 'a limit that is no number' 2 "^wick: --limit area=1y: '1y' is no number above 0" \
  "$wick" explore "$cnn" --space small.cfg --limit area=1y -o f
refuses 'a limit twice' 2 'area is limited twice$' \
  "$wick" explore "$cnn" --space small.cfg --limit area=1 --limit area=2 -o f
refuses 'an effort that is none' 2 "^wick: --effort: " "$wick" explore "$cnn" --space small.cfg \
  --effort 9 -o f
refuses 'a setting that is none' 2 "^wick: --marks: must be yes or no, not 'perhaps'\$" \
  "$wick" explore "$cnn" --space small.cfg --marks perhaps -o f
refuses 'no space' 2 '^wick: which machines\? \(--space FILE\)$' "$wick" explore "$cnn" -o f
refuses 'a space that is not there' 5 '^wick: none.cfg: cannot open' \
  "$wick" explore "$cnn" --space none.cfg -o f
refuses 'no folder' 2 '^wick: where to\? ' "$wick" explore "$cnn" --space small.cfg

# ---- the RTL -------------------------------------------------------------------------------------

mkdir fake
printf '#!/bin/sh\necho "%%Error: no such machine"; exit 1\n' >fake/verilator
chmod +x fake/verilator
space 'dram_latency = [50, 5000];'
gives 'a machine that cannot be built' \
  '^on the RTL failed dram_latency = 50: cnn_qdq: .*verilator failed' \
  env PATH="$PWD/fake:$PATH" WICK_CACHE="$PWD/cache" "$wick" explore "$cnn" --space space.cfg \
  -m tiny -o g
gives 'has a reason' '^True$' figures g 'all(x["rtl_error"] for x in d["tried"] if x["front"])'
mkdir empty
WICK_CACHE=$PWD/cache PATH=$PWD/empty "$wick" explore "$cnn" --space space.cfg -m tiny -o i \
  >lost.txt 2>lost.err
check 'without Verilator' test $? = 5
check 'says so' grep -q "^wick: .*'verilator' is not installed" lost.err
check 'and has the rest' test -s i/explore.json -a -s i/index.html -a -s lost.txt
if ! real=$(command -v verilator); then finish; fi
same=$(grep -l 'dram_latency = 5000;' g/machines/*.cfg) # tiny behind a slow memory
gives 'the RTL' '^ *[0-9,]+ +0\.[0-9]{3} .* [0-9,]+ \([0-9.]+ %\)  dram_latency = 50$' \
  "$wick" explore "$cnn" --space space.cfg -m "$same" -o h
gives 'has the cycles of the timing model' '^True$' figures h \
  'all(x["cycles"] == x["rtl"] for x in [d["reference"], *d["tried"]] if x["rtl"]["cnn_qdq"])'

# Of those on the front only the one with 16 bursts can be built. As many are run as are asked for,
# the next one for each that cannot be, and what they are compared with. Behind its memory every
# burst counts.
cat >fake/verilator <<END
#!/bin/sh
[ "\$1" = --version ] && exec '$real' --version
echo '%Error: no such machine'; exit 1
END
while read -r bursts asked want; do
  space "bursts = [$bursts];"
  PATH=$PWD/fake:$PATH "$wick" explore "$cnn" --space space.cfg -m "$same" -o "j$bursts$asked" \
    --confirm "$asked" >/dev/null 2>&1
  gives "$asked of $bursts bursts" "^$want\$" figures "j$bursts$asked" '",".join(
    "failed" if x.get("rtl_error") else "run" if x["rtl"]["cnn_qdq"] else "none" for x in
    [d["reference"], *sorted((x for x in d["tried"] if x["front"]), key=lambda x: x["times"])])'
done <<'END'
32,16,8 0 none,none,none,none
32,16,8 1 run,failed,run,none
32,16,8 2 run,failed,run,failed
16,8,4,2 1 run,run,none,none,none
16,8,4,2 2 run,run,failed,failed,failed
END
finish
