#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wick diff: runs that are the same, that differ, and files that are none.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

net=$root/tests/nets/int8/cnn_qdq/model.onnx
for mode in auto off; do
  check "a package, $mode" "$wick" compile "$net" --target accel --prefetch $mode -o $mode.wick
  check "its run" "$wick" sim $mode.wick --model timing --causes --json $mode.json
  check "without causes" "$wick" sim $mode.wick --model timing --json $mode-plain.json
done
check 'slower memory' "$wick" sim auto.wick --model timing --causes --dram latency=500 \
  --json slow.json

gives 'the same run' '^0 of [0-9]+ layers changed$' "$wick" diff auto.json auto.json
gives 'another schedule' '^[1-9][0-9]* of [0-9]+ layers changed$' "$wick" diff off.json auto.json
gives 'causes' 'cycles that went to$' "$wick" diff off.json auto.json
gives 'keys of the machine' '^dram_latency +100 +500$' "$wick" diff auto.json slow.json
gives 'the layers that changed most' 'layers changed \(not all are shown\)$' \
  "$wick" diff off.json auto.json --most 3
check 'no causes of a run without them' bash -c \
  "! '$wick' diff off-plain.json auto.json | grep 'went to'"

check 'JSON' "$wick" diff off.json auto.json --json d.json
"$wick" diff off.json auto.json >text
cat >look.py <<'EOF'
import json, re
a, b = (json.load(open(f))["parts"] for f in ("off.json", "auto.json"))
diff, text = json.load(open("d.json")), open("text").read()
sums = [sum(l["cycles"] for p in x for l in p["layers"]) for x in (a, b)]
assert [sum(r[s]["cycles"] for r in diff["layers"]) for s in "ab"] == sums
assert [sum(r[s]["cycles"] for r in diff["parts"]) for s in "ab"] == [
    sum(p["cycles"] for p in x) for x in (a, b)]
for side, x in (("a", a), ("b", b)):
    for layer in x[0]["layers"]:
        row = next(r for r in diff["layers"] if r["layer"] == layer["name"])[side]
        assert all(row[k] == layer[k] for k in ("cycles", "exposed", "read", "written"))
        causes = [c for c in x[0]["causes_of_layers"] if c["operator"] == layer["operator"]]
        assert sum(row["causes"].values()) == sum(c["cycles"] for c in causes)
changes = [abs(r["b"]["cycles"] - r["a"]["cycles"]) for r in diff["layers"]]
assert changes == sorted(changes, reverse=True)
first = diff["layers"][0]
change = first["b"]["cycles"] - first["a"]["cycles"]
assert re.search(rf'^{re.escape(first["layer"])} .* {change:+,} ', text, re.M), text
# Layers that are only in one of them.
one = json.load(open("auto.json"))
one["parts"][0]["layers"][1]["name"] = "renamed"
json.dump(one, open("renamed.json", "w"))
for key, value in (("version", 1), ("wick", "test"), ("version", None), ("wick", None)):
    other = json.load(open("auto.json"))
    other[key] = value
    json.dump(other, open(f"{key}{value}.json", "w"))
json.dump({"wick": "sim", "version": 3, "parts": [3, {"layers": [{"name": 7}, {"name": "x",
           "cycles": -1, "read": 10 ** 18}], "counters": [], "causes_of_layers": {}}]},
          open("odd.json", "w"))
EOF
check 'figures, order' python3 look.py
gives 'a layer of one alone' '; 1 are only in A, 1 only in B$' "$wick" diff auto.json renamed.json
gives 'it' '^renamed +- ' "$wick" diff auto.json renamed.json
check 'values of other types' "$wick" diff auto.json odd.json
"$wick" sim auto.wick --model timing --max-cycles 100 --json cut.json \
  >/dev/null 2>&1
refuses 'a run that was cut off' 3 'cut.json: is of a run that was cut off' \
  "$wick" diff cut.json cut.json
refuses 'another version' 3 'version1.json: has version 1; this Wick compares version 3$' \
  "$wick" diff auto.json version1.json
refuses 'another kind' 3 "wicktest.json: is of kind 'test', not 'sim'" \
  "$wick" diff wicktest.json auto.json
refuses 'no version' 3 'versionNone.json: is not what .wick sim --json. writes' \
  "$wick" diff auto.json versionNone.json
refuses 'no kind' 3 'wickNone.json: is not what' "$wick" diff auto.json wickNone.json
refuses 'no JSON' 3 'look.py: is no JSON: line 1' "$wick" diff auto.json look.py
refuses 'no file' 5 'none.json' "$wick" diff auto.json none.json
refuses 'one file' 2 '' "$wick" diff auto.json
refuses 'a file over itself' 2 'off.json' "$wick" diff off.json auto.json --json off.json
finish
