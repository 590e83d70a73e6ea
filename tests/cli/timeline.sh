#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drawing of scripts/timeline, from a trace of wick sim.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

cat >s.s <<'EOF'
.machine tiny
.memory x 0x1000 4096
.memory y 0x4000 4096
.random x 1
.for i 0 4
x{i}: ld.ld0 dram=x+i*1024 n0=1024 spm=i*1024 c0=1024 op=i
m{i}: map fn=move a=i*1024 out=0x2000+i*1024 n0=128 op=i  wait x{i}
y{i}: st dram=y+i*1024 n0=1024 spm=0x2000+i*1024 c0=1024 op=i  wait m{i}
.end
end
EOF
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
fails() { ! "$@"; }
check 'a file that is not there' fails "$root/scripts/timeline" -o w.svg a=none.json
finish
