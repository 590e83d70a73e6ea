#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drawing of scripts/timeline, from a trace of wick sim.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

stream_of_copies >s.s
check 'a trace' "$wick" sim s.s --model timing --trace t.json
check 'a drawing' "$root/scripts/timeline" -o t.svg --cycles 4000 'one & all=t.json'
cat >look.py <<'EOF'
import json, sys, xml.etree.ElementTree as tree
SVG = "{http://www.w3.org/2000/svg}"
root = tree.parse("t.svg").getroot()
texts = [t.text for t in root.iter(SVG + "text")]
assert texts[:4] == ["one & all", "ld0", "ve", "st"], texts
bars = [r for r in root.iter(SVG + "rect") if r.get("fill") not in ("#fff", "#f0f0f0")]
spans = [e for e in json.load(open("t.json"))["traceEvents"] if e["ph"] == "X"]
assert len(bars) == len(spans) == 12, (len(bars), len(spans))
scale = (960 - 44 - 24) / 4000
want = sorted(44 + e["ts"] * scale for e in spans)
have = sorted(float(b.get("x")) for b in bars)
assert all(abs(a - b) < 0.1 for a, b in zip(want, have)), (want, have)
wide = sorted(max(e["dur"] * scale - 0.4, 0.3) for e in spans)
assert all(abs(a - float(b)) < 0.1 for a, b in
           zip(wide, sorted(float(b.get("width")) for b in bars)))
colours = {}
for e in spans:
    colours.setdefault(e["args"]["operator"], 0)
assert len(colours) == len({b.get("fill") for b in bars}) == 4
EOF
check 'a bar a command, where and as long as it ran, a colour an operator' python3 look.py
check 'a window of it' "$root/scripts/timeline" -o w.svg --from 100000 --cycles 10 a=t.json b=t.json
check 'without bars' test "$(grep -c '<rect' w.svg)" = 7
gives 'all of the help' '^A bar is a command' "$root/scripts/timeline" --help

# tells NAME STATUS PATTERN ARGUMENT...: one line of scripts/timeline that matches, and no drawing.
tells() {
  local name=$1 want=$2 pattern=$3 out status
  shift 3
  rm -f w.svg
  out=$("$root/scripts/timeline" "$@" 2>&1)
  status=$?
  if [[ $status != "$want" || -e w.svg || $(wc -l <<<"$out") != 1 ]] ||
    ! grep -qE -- "^scripts/timeline: $pattern" <<<"$out"; then
    bad "$name: status $status, says $out"
  else good; fi
}
tells 'a file that is not there' 1 'none.json: No such file or directory$' -o w.svg a=none.json
tells 'no traces' 2 'the following arguments are required: TITLE=TRACE.json$' -o w.svg
tells 'no output' 2 'needs -o OUT.svg$' a=t.json
tells 'a folder that is not there' 1 'none/w.svg: No such file or directory$' -o none/w.svg a=t.json
for n in 0 -5 x 1e3 99999999999999999999; do
  tells "--cycles $n" 2 "argument --cycles: '$n' is no whole number of 1 or more$" \
    -o w.svg --cycles=$n a=t.json
done
tells '--from -1' 2 "argument --from: '-1' is no whole number of 0 or more$" \
  -o w.svg --from=-1 a=t.json
for text in '{' '' '{}' '[]' 1 null '"traceEvents"' '{"traceEvents": 3}' '{"traceEvents": {}}' \
  $'\xff' "$(printf '[%.0s' {1..20000})"; do
  printf '%s' "$text" >bad.json
  tells "file ${text:0:20}" 1 'bad.json: ' -o w.svg a=bad.json
done
# Events of which one thing is wrong.
head='{"ph": "M", "name": "thread_name", "tid": 1, "args": {"name": "ex"}}'
bar='{"ph": "X", "tid": 1, "ts": 0, "dur": 5, "args": {"operator": 2}}'
printf '{"traceEvents": [%s, %s]}' "$head" "$bar" >bad.json
check 'a small trace' "$root/scripts/timeline" -o w.svg a=bad.json
while IFS='|' read -r number part other; do
  printf '{"traceEvents": [%s, %s]}' "${head/"$part"/"$other"}" "${bar/"$part"/"$other"}" >bad.json
  tells "$other for $part" 1 "bad.json: event $number is none of wick sim$" -o w.svg a=bad.json
done <<'EOF'
0|"ph": "M", |
0|"name": "ex"|"name": 3
0|"name": "ex"|"name": ""
0|"args": {"name": "ex"}|"args": null
0|"tid": 1, "args": {"name|"tid": [], "args": {"name
1|"tid": 1, "ts|"tid": 2, "ts
1|"ph": "X", |
1|"ts": 0, |
1|"ts": 0|"ts": "0"
1|"ts": 0|"ts": -1
1|"ts": 0|"ts": NaN
1|"ts": 0|"ts": 1e999
1|"dur": 5|"dur": null
1|"operator": 2|"operator": 2.5
1|"args": {"operator": 2}|"args": []
EOF
for event in 3 null '[]' '"x"'; do
  printf '{"traceEvents": [%s]}' "$event" >bad.json
  tells "an event $event" 1 'bad.json: event 0 is none of wick sim$' -o w.svg a=bad.json
done
finish
