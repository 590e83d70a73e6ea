#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick sweep: its rows, what it refuses, and that nothing is lost or computed twice when it is
# killed, when points are added, when two run at once, and when the disk is full.
here=$(realpath "$(dirname "$0")") nets=$(realpath "$(dirname "$0")/../nets/int8")
source "$here/lib.bash" "$@"
source "$here/sweep.bash"

cnn=$nets/cnn_qdq/model.onnx gru=$nets/gru_qdq/model.onnx

rows() { find "$1/store" -name '*.json' ! -name '.*' | wc -l; }

# ---- rows ----------------------------------------------------------------------------------------

gives 'a sweep' '^12 points, 4 failed; 8 computed now$' "$wick" sweep "$cnn" "$gru" -o a \
  --set dram_latency=50,100000 --set scratchpad=65536,131072,100
check 'a line for each point' test "$(wc -l <a/points.csv)" = 13
check 'a row for each machine that is one' test "$(rows a)" = 8
check 'cycles' grep -qE '^"cnn_qdq",100000,65536,"[0-9a-f]{16}",([0-9.]+,){10}' a/points.csv
check 'a reason' grep -qE \
  '^"gru_qdq",50,100,,.*,"scratchpad = 100 is outside 16384 to 1048576 bytes"$' a/points.csv
gives 'a page: a diagram of each figure for each model and key' '^4$' \
  grep -c '>Bytes to and from memory<' a/index.html
gives 'and two fronts of each model' '^4$' grep -c '>Cycles against ' a/index.html
check 'which is whole' python3 -c 'import re, xml.dom.minidom
page = open("a/index.html").read()
[xml.dom.minidom.parseString(svg) for svg in re.findall("<svg .*?</svg>", page, re.S)]
assert page.endswith("</html>\n") and "http" not in page and "<script" not in page'
# Every line of a diagram differs in colour, dashes or mark, and the legend has all of them.
"$wick" sweep "$cnn" -o looks --set dram_latency=50,100 --set scratchpad=65536,131072 \
  --set dram_bytes=4,8 --prefetch=off,auto >/dev/null
check 'lines are told apart' python3 -c 'import re
page = open("looks/index.html").read()
diagram = re.search("<svg .*?</svg>", page, re.S).group()
line = "<path class=.line. stroke=\"(#\\w+)\" d=\"M([\\d.]+) ([\\d.]+)L[^\"]*\"([^/]*)/>"
paths = re.findall(line, diagram)
squares = set(re.findall("<path d=\"M([\\d.]+ [\\d.]+)m", diagram))
looks = {(c, dash, f"{x} {y}" in squares) for c, x, y, dash in paths}
assert len(paths) == 8 and len({c for c, *_ in paths}) == 2, paths
assert len({dash for *_, dash in paths}) == 2 and len(looks) == 8, looks
for text in "scratchpad = 65536", "131072", "dram_bytes = 4", "8", "prefetch = off", "auto":
    assert f">{text}</text>" in diagram, text'
gives 'as JSON' '^12 8 4 dram_latency,scratchpad$' python3 -c 'import json
d = json.load(open("a/points.json"))
points = d["points"]
print(len(points), sum("cycles" in p for p in points), sum("error" in p for p in points),
      ",".join(a["name"] for a in d["axes"]))'
gives 'causes that are all cycles' '^8$' python3 -c 'import json
points = [p for p in json.load(open("a/points.json"))["points"] if "cycles" in p]
print(sum(sum(v for k, v in p.items() if k.startswith("cause_")) == p["cycles"] for p in points))'
machine=$(grep -l 'dram_latency = 50;' a/machines/*.cfg | xargs grep -l 'scratchpad = 65536;')
"$wick" compile "$cnn" --target "accel:$machine" -o net.wick -q
"$wick" sim net.wick --model timing --json net.json >/dev/null 2>&1
gives 'the same cycles as sim' '^True$' python3 -c 'import csv, json
rows = {(r["model"], r["dram_latency"], r["scratchpad"]): r
        for r in csv.DictReader(open("a/points.csv"))}
want = json.load(open("net.json"))["cycles"]
print(want == int(rows["cnn_qdq", "50", "65536"]["cycles"]))'
gives 'one use of the array' '^8 True$' python3 -c 'import json
points = [p for p in json.load(open("a/points.json"))["points"] if "cycles" in p]
parts = json.load(open("net.json"))["parts"]
same = lambda x, y: abs(x - y) < 1e-9
print(sum(same(p["utilisation"] * p["array_macs"] * p["cycles"] / p["macs"], 1) for p in points),
      all(same(p["utilisation"] * p["machine"]["array"] ** 2 * p["cycles"] / max(macs, 1), macs > 0)
          and p["utilisation"] <= p["active_lanes"]
          for p in parts for macs in [p["all_layers"]["macs"]]))'
gives 'the same again' '^12 points, 4 failed; 0 computed now$' "$wick" sweep "$cnn" "$gru" -o a \
  --set dram_latency=50,100000 --set scratchpad=65536,131072,100
gives 'energy, as of sim' '^True$' python3 -c 'import csv, json
rows = {(r["model"], r["dram_latency"], r["scratchpad"]): r
        for r in csv.DictReader(open("a/points.csv"))}
want = sum(p["energy_pj"] for p in json.load(open("net.json"))["parts"])
print(abs(want / float(rows["cnn_qdq", "50", "65536"]["energy"]) - 1) < 1e-6)'
gives 'more points, other order' '^8 points, 0 failed; 4 computed now$' "$wick" sweep "$gru" \
  "$cnn" -o a --set scratchpad=65536 --set dram_latency=100000,50,60,70
gives 'settings' '^4 points, 0 failed; 4 computed now$' "$wick" sweep "$cnn" -o a \
  --prefetch auto,off --effort 0,1
gives 'by the schedule model' '^2 points, 0 failed; 2 computed now$' "$wick" sweep "$cnn" -o a \
  --model schedule --set dram_latency=50,60 --effort 0
gives 'which runs nothing' '^"model","dram_latency","effort","key","predicted","host_macs",' \
  sed 's/[a-z_]*/"&"/g; s/""//g; q' a/points.csv
once 'nothing twice' a
gives 'ideas that are left out' '^3 points, 0 failed; 3 computed now$' "$wick" sweep "$cnn" -o i \
  --without none,residency,fusion+early-issue
"$wick" sim "$cnn" --model timing --json whole.json >/dev/null 2>&1
"$wick" compile "$cnn" --target accel --without fusion,early-issue -o less.wick -q
"$wick" sim less.wick --model timing --json less.json >/dev/null 2>&1
gives 'with their cycles' '^True True$' python3 -c 'import csv, json
rows = {r["without"]: int(r["cycles"]) for r in csv.DictReader(open("i/points.csv"))}
print(*(json.load(open(f))["cycles"] == rows[k] for f, k in
        (("whole.json", "none"), ("less.json", "fusion+early-issue"))))'
gives 'whatever the target has' '^4 points, 0 failed; 4 computed now$' "$wick" sweep "$cnn" -o m \
  --marks no,yes --dram none,latency=90+bytes=4
gives 'axes in its order' '^model,marks,dram,key,' cat m/points.csv
gives 'marks take cycles' '^True$' python3 -c 'import csv
n = {(r["marks"], r["dram"]): int(r["cycles"]) for r in csv.DictReader(open("m/points.csv"))}
print(n["yes", "none"] > n["no", "none"])'
gives 'what if' '^1 point, 0 failed; 1 computed now$' "$wick" sweep "$cnn" -o w --what-if \
  --set dram_latency=500
check 'columns of it' grep -q ,what_if_latency, w/points.csv

float=$here/../nets/float/cnn/model.onnx
gives 'a float model' '^1 point, 0 failed; 1 computed now$' "$wick" sweep "$float" -o f \
  --quantize-random 3 --set dram_latency=500
"$wick" sim "$float" --quantize-random 3 --dram latency=500 --model timing --json float.json \
  >/dev/null 2>&1
gives 'as sim quantises it' '^True$' python3 -c 'import json
points = json.load(open("f/points.json"))["points"]
print(points[0]["cycles"] == json.load(open("float.json"))["cycles"])'
gives 'another seed is another point' '^1 point, 0 failed; 1 computed now$' "$wick" sweep "$float" \
  -o f --quantize-random 4 --set dram_latency=500
"$wick" sweep "$float" -o f --set dram_latency=500 >float.txt
check 'without it there is no point' test $? = 1
check 'and the way is one that sweep has' grep -q -- '--quantize-random 1$' float.txt

# ---- what is refused -----------------------------------------------------------------------------

refuses 'no key' 2 "unknown key 'dram_latenzy'; did you mean 'dram_latency'\?$" \
  "$wick" sweep "$cnn" -o b --set dram_latenzy=3
refuses 'a key that is like none' 2 \
  "^wick: --set q=3: unknown key 'q'; 'wick isa --machine base' lists them$" \
  "$wick" sweep "$cnn" -o b --set q=3
refuses 'a value without a key' 2 '^wick: --set 8,16: must be KEY=NUMBER,NUMBER,…$' \
  "$wick" sweep "$cnn" -o b --set 8,16
refuses 'too many points' 6 '^wick: the space has more than [0-9]+ points$' "$wick" sweep "$cnn" \
  -o b --set dram_latency="$(seq -s, 1000)" --set dram_size="$(seq -s, 65536 4096 4161536)"
refuses 'no value' 2 '^wick: --set array=: no value for array$' "$wick" sweep "$cnn" -o b \
  --set array=
refuses 'a gap' 2 '^wick: --set array=8,,16: a value of array is empty$' "$wick" sweep "$cnn" \
  -o b --set array=8,,16
refuses 'no number' 2 "^wick: --set array=8,x: 'x' is no number$" "$wick" sweep "$cnn" -o b \
  --set array=8,x
refuses 'a value twice' 2 '8 stands there twice$' "$wick" sweep "$cnn" -o b --set array=8,8
for same in 50,050 50.0,50 -0,0; do
  refuses "a number twice, $same" 2 "${same/,/ and } are the same number$" "$wick" sweep "$cnn" \
    -o b --set "dram_latency=8,$same"
done
refuses 'a key twice' 2 'array is set twice$' "$wick" sweep "$cnn" -o b --set array=8 --set array=16
refuses 'a model twice' 2 'stands there twice$' "$wick" sweep "$cnn" "$cnn" -o b --set array=8
refuses 'a setting that is none' 2 "^wick: --prefetch: there are .*, not 'on'$" "$wick" sweep \
  "$cnn" -o b --prefetch auto,on
refuses 'an idea that is none' 2 "^wick: --without: there are .*, not 'none'$" "$wick" sweep \
  "$cnn" -o b --without fusion+none
refuses 'a setting of another target' 2 \
  '^wick: --tune: target accel has no such setting \(--target opencl has it\)$' \
  "$wick" sweep "$cnn" -o b --tune=3
refuses 'what explains one model' 2 "^wick: unknown option '--explain'" "$wick" sweep "$cnn" -o b \
  --explain Conv_0
refuses 'no space' 2 '^wick: the space is empty: ' "$wick" sweep "$cnn" -o b
refuses 'nothing to run faster' 2 '^wick: --what-if is by the timing model alone$' \
  "$wick" sweep "$cnn" -o b --set array=8 --model rtl --what-if
refuses 'no folder' 2 '^wick: where to\? ' "$wick" sweep "$cnn" --set array=8
refuses 'a folder that cannot be' 5 '^wick: /proc/b: cannot make the folder: ' \
  "$wick" sweep "$cnn" -o /proc/b --set array=8
refuses 'no machine' 2 "^wick: unknown machine 'bose'; did you mean 'base'\?$" \
  "$wick" sweep "$cnn" -o b --machine bose --set array=8
refuses 'no model' 5 '^wick: none.onnx: cannot open: ' "$wick" sweep none.onnx -o b --set array=8
refuses 'a text' 3 'not an ONNX model$' "$wick" sweep a/points.csv -o b --set array=8
refuses 'a task that is none' 2 '^wick: --task 2/2: must be I/N' "$wick" sweep "$cnn" -o b \
  --set array=8 --task 2/2
"$wick" sweep "$cnn" -o c --set scratchpad=1,2 >c.txt 2>c.err
check 'no machine at all' test $? = 1 -a ! -s c.err
check 'and why' grep -q '^     1  scratchpad = 2 is outside 16384 to 1048576 bytes$' c.txt

# ---- what goes wrong -----------------------------------------------------------------------------

space=("$nets/unet_qdq/model.onnx" "$cnn"
  --set dram_latency=50,100,200,400,800 --set scratchpad=65536,131072 --set dram_bytes=4,8)
gives 'in one go' '^40 points, 0 failed; 40 computed now$' "$wick" sweep "${space[@]}" -o whole

RANDOM=7
for ((i = 0; i < 4; i++)); do
  setsid "$wick" sweep "${space[@]}" -o killed -j 2 >/dev/null 2>&1 &
  pid=$!
  sleep "0.$((RANDOM % 6 + 1))"
  kill -9 -- "-$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
done
gives 'after four kills' '^40 points, 0 failed; ' "$wick" sweep "${space[@]}" -o killed
same 'rows after kills' whole killed
once 'kills: nothing twice' killed
check 'kills: all is there' test "$(rows killed)" = 40
check 'kills: at most two points a kill were begun in vain' \
  test "$(grep -c start killed/log)" -le 48 -a "$(grep -c done killed/log)" -ge 36

# A process of the sweep gets a signal: SEGV as when it crashes, KILL as when memory runs out.
signalled() {
  local signal=$1 dir=$2 child
  shift 2
  ASAN_OPTIONS=$ASAN_OPTIONS:handle_segv=0 "$wick" sweep "$nets/unet_qdq/model.onnx" \
    --set dram_latency=70,80 -j 1 -o "$dir" >"$dir.txt" &
  until child=$(pgrep -P $! | head -1) && [[ $child ]]; do kill -0 $! 2>/dev/null || break; done
  kill "-$signal" "$child" && wait $!
}
for signal in SEGV KILL; do
  check "a process that gets $signal" signalled $signal "$signal"
  check "$signal: the row says so" grep -qE '^     1  crashed: (Segm|Killed)' "$signal.txt"
  gives "$signal: another try" '^2 points, 0 failed; 1 computed now$' "$wick" sweep \
    "$nets/unet_qdq/model.onnx" --set dram_latency=70,80 -o "$signal"
done
if on_terminal shown "TERM=xterm '$wick' sweep $cnn --set array=8,16 -o t"; then
  check 'time left' grep -qE '1 of 2, [0-9]+ s left' shown
fi

pids=()
for task in 0 1 2; do
  "$wick" sweep "${space[@]}" -o shared -j 1 --task $task/3 >/dev/null 2>&1 &
  pids+=($!)
done
wait "${pids[@]}"
gives 'three that share' '^40 points, 0 failed; 0 computed now$' "$wick" sweep "${space[@]}" \
  -o shared
same 'rows that were shared' whole shared
check 'sharing: each computed once' test "$(sort shared/log | uniq -d | wc -l)" = 0

# A file system of its own, which only this command sees, too small at first.
cat >full.sh <<'END'
mount -t tmpfs -o size=128k none full || exit 77
"$@" -o full >full.txt 2>full.err
[[ $? == 5 && ! -s full.txt ]] || { cat full.txt full.err; exit 1; }
grep -q ': No space left on device$' full.err && [[ $(wc -l <full.err) == 1 ]] || exit 2
for row in full/store/*.json; do python3 -m json.tool "$row" >/dev/null || exit 3; done
grep -qvE '^(start|done) [0-9a-f]{16}$' full/log && exit 4
mount -o remount,size=16m full
"$@" -o full >full.txt || exit 5
tail -1 full.txt
cp -r full/points.csv full/log after
END
mkdir full after
if unshare --user --map-root-user --mount true 2>/dev/null; then
  gives 'a disk that was full' '^40 points, 0 failed; ([1-9]|[123][0-9]) computed now$' \
    unshare --user --map-root-user --mount bash full.sh "$wick" sweep "${space[@]}"
  same 'rows after a full disk' whole after
  once 'a full disk: nothing twice' after
else
  echo 'note: there are no name spaces: a full disk is not tested'
fi

finish
