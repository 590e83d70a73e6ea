#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of wick sim --html: what the file holds, and, where there is Chromium, what it shows.
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/lib.bash" "$@"

net=$root/tests/nets/int8/cnn_qdq/model.onnx
check 'a package' "$wick" compile "$net" --target accel -o net.wick
check 'its page' "$wick" sim net.wick --model timing --html net.html --json net.json --causes
stream_of_copies >'<s>.s'
check 'the page of a stream' "$wick" sim '<s>.s' --model timing --html s.html
check 'twice the same' "$wick" sim net.wick --model timing --html again.html
check 'bytes' cmp net.html again.html
refuses 'a model without time' 2 'functional model has no time' \
  "$wick" sim net.wick --model functional --html f.html
refuses 'a page over its package' 2 'net.wick' \
  "$wick" sim net.wick --model timing --html net.wick

# Energy: counters times keys of the machine.
cat >joules.cfg <<'EOF'
array = 8; bus = 16; dram_bytes = 4;
energy_mac = 1; energy_scratchpad = 2; energy_accumulators = 3; energy_dram = 5; energy_idle = 0.25;
EOF
for m in base joules.cfg; do
  check "energy, $m" "$wick" sim "$net" --machine $m --model timing --json energy-$m.json
done
cat >energy.py <<'EOF'
import json, re
for name, keys in (("base", (0.3, 2.5, 10, 162.5, 0)), ("joules.cfg", (1, 2, 3, 5, 0.25))):
    part = json.load(open(f"energy-{name}.json"))["parts"][0]
    c, n = part["counters"], part["machine"]["array"]
    counts = (c["macs"], n * (c["spm_reads"] + c["spm_writes"]),
              n * (c["acc_reads"] + c["acc_writes"]),
              c["bytes_ld0"] + c["bytes_ld1"] + c["bytes_ld2"] + c["bytes_st"] + c["bytes_fetch"],
              c["cycles"])
    shares = part["energy_shares"]
    assert [s["count"] for s in shares] == list(counts)
    assert [s["each"] for s in shares] == list(keys)
    want = sum(a * b for a, b in zip(counts, keys))
    assert abs(part["energy_pj"] - want) < 1e-6 * want
    for l in part["layers"]:
        want = (l["macs"] * keys[0] + n * l["words"] * keys[1] + n * l["sums"] * keys[2] +
                (l["read"] + l["written"]) * keys[3] + l["cycles"] * keys[4])
        assert abs(l["energy_pj"] - want) < 1e-3
    assert sum(l["words"] for l in part["layers"]) == c["spm_reads"] + c["spm_writes"]
    assert sum(l["sums"] for l in part["layers"]) == c["acc_reads"] + c["acc_writes"]
EOF
check 'counters times keys' python3 energy.py
gives 'shares' '^energy +about [0-9.]+ uJ: multiplications [0-9.]+ %, scratchpad' \
  "$wick" sim "$net" --model timing
check 'keys that are no hardware' bash -c \
  "'$wick' isa --machine-markdown | grep -c 'energy_' | grep -qx 6"

# What holds without a browser: size, nothing from elsewhere, the figures of --json, commands that
# can be told from what is written.
cat >look.py <<'EOF'
import json, re
page = open("net.html").read()
assert len(page) < 600_000, len(page)
assert not re.search(r'(src|href)\s*=\s*"?(https?:)?//', page)
assert "@import" not in page and "Michael Bostock" in page and "{{" not in page.split("<script")[0]
text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
shown, figures = json.loads(text)["parts"][0], json.load(open("net.json"))["parts"][0]
for key in ("cycles", "layers", "causes", "counters", "machine", "what_if"):
    assert shown[key] == figures[key], key
t, n = shown["timeline"], shown["commands"]
for key in ("queues", "opcodes", "operators", "starts", "cycles", "released"):
    assert len(t[key].split()) == n, key
last, texts = {}, []
for opcode, line in zip(t["opcodes"].split(), t["texts"].split("\n")):
    before = last.get(opcode, [])
    last[opcode] = [w or before[i] for i, w in enumerate(line.split(" "))]
    texts.append(" ".join(last[opcode]))
assert len(texts) == n
at, ends = 0, []
for start, cycles in zip(t["starts"].split(), t["cycles"].split()):
    if start != "-":
        at += int(start)
        ends.append(at + int(cycles))
assert max(ends) <= shown["cycles"] and len(ends) >= n - 1
assert any(w.startswith("conv ") for w in texts) and texts[-1].startswith("end"), texts[-1]
space = [int(v) for v in shown["space"]["rectangles"].split()]
assert space and len(space) % 5 == 0
blocks, at = shown["space"]["blocks"], 0
for b, k, start, cycles, operator in zip(*[iter(space)] * 5):
    at += start
    assert 0 <= b and b + k <= blocks and at + cycles <= shown["cycles"]
    assert operator < len(shown["layers"])
EOF
check 'what the file holds' python3 look.py

# A model, which is compiled in between: the same as its package; and every --prefetch.
check 'a model' "$wick" sim "$net" --model timing --with-modes --html modes.html --json modes.json
for mode in off serial double auto; do
  check "$mode" "$wick" compile "$net" --target accel --prefetch $mode -o m.wick
  check "its package" "$wick" sim m.wick --model timing --causes --json $mode.json
done
cat >modes.py <<'EOF'
import json
run = json.load(open("modes.json"))
assert [m["prefetch"] for m in run["modes"]] == ["off", "serial", "double", "auto"]
for m in run["modes"]:
    want = json.load(open(m["prefetch"] + ".json"))["parts"]
    for have, one in zip(m["parts"], want):
        assert all(have[k] == one[k] for k in ("cycles", "layers", "causes", "counters"))
assert [p["layers"] for p in run["parts"]] == [p["layers"] for p in run["modes"][3]["parts"]]
EOF
check 'as their packages' python3 modes.py
gives 'a table of them' '^double +[0-9,]+ ' "$wick" sim "$net" --model timing --with-modes
gives 'another machine' '^machine +tiny' "$wick" sim "$net" --machine tiny --model timing
gives 'a float model' '^machine +base' "$wick" sim "$root/tests/nets/float/cnn/model.onnx" \
  --quantize-random 1 --model timing
check 'whatever the target has' "$wick" sim "$net" --model timing --marks yes --without fusion \
  --json sim.json
check 'compiled so' "$wick" compile "$net" --target accel --marks yes --without fusion -q -o m.wick
check 'its package' "$wick" sim m.wick --model timing --json package.json
gives 'is the same' '^True True$' python3 -c 'import json
a, b = (json.load(open(f))["parts"][0] for f in ("sim.json", "package.json"))
print(len(a["marks"]) > 1, (a["cycles"], a["marks"]) == (b["cycles"], b["marks"]))'
for option in --with-modes --effort=2 --prefetch=off --without=fusion --quantize-random=1 \
              --bind=n=1; do
  refuses "a package with $option" 2 "net.wick: ${option%%=*} is for models; this is a package$" \
    "$wick" sim net.wick --model timing $option
done
refuses 'a stream with modes' 2 's>.s: --with-modes is for models; this is a stream$' \
  "$wick" sim '<s>.s' --model timing --with-modes
refuses 'modes without time' 2 'functional model has no time' \
  "$wick" sim "$net" --model functional --with-modes
refuses 'another mode' 2 "prefetch: there are off, serial, double and auto, not 'x'$" \
  "$wick" sim "$net" --model timing --prefetch x
refuses 'a part too many' 2 'model.onnx: --part 9: the package has 1' \
  "$wick" sim "$net" --model timing --part 9

browser=
for name in chromium chromium-browser google-chrome; do
  [[ $browser ]] || browser=$(command -v "$name" || true)
done
if [[ ! $browser ]]; then
  echo 'note: there is no Chromium: what the page shows is not tested'
  finish
fi
mkdir home
# open_page FILE HASH: into page.dom what the browser makes of it, into page.log its console.
open_page() {
  HOME=$PWD/home timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu \
    --user-data-dir="$PWD/home" --enable-logging=stderr --window-size=1300,2000 --dump-dom \
    "file://$PWD/$1#$2" >page.dom 2>page.log
  ! grep ':CONSOLE' page.log && grep -q '<p id="failure" hidden' page.dom
}
open_page net.html '' || grep -q . page.dom || {
  echo 'note: Chromium does not run here: what the page shows is not tested'
  finish
}
check 'no error of the page' open_page net.html ''
unet=$root/tests/nets/int8/unet_qdq/model.onnx
check 'several parts' "$wick" sim "$unet" --model timing --html parts.html --json parts.json
cat >dom.py <<'EOF'
import html, json, re, sys
dom, (what, *arguments) = open("page.dom").read(), sys.argv[1:]
part = json.load(open("net.json"))["parts"][0]
def section(name):
    return re.search(rf'<section id="{name}".*?</section>', dom, re.S).group(0)
def rows(text):
    body = re.search(r"<tbody>(.*?)</tbody>", text, re.S).group(1)
    cells = lambda tr: [html.unescape(re.sub("<[^>]*>", "", c))
                        for c in re.findall(r"<td[^>]*>(.*?)</td>", tr, re.S)]
    return [cells(tr) for tr in re.findall(r"<tr>(.*?)</tr>", body, re.S)]
number = lambda text: int(text.replace(",", ""))
if what == "tables":
    named = [l for l in part["layers"] if l["operator"]]
    table = rows(section("layers"))[:len(named)]
    assert [r[0] for r in table] == [l["name"] for l in named]
    assert [number(r[2]) for r in table] == [l["cycles"] for l in named]
    causes = {r[0]: number(r[1]) for r in rows(section("causes"))}
    assert causes == {k: v for k, v in part["causes"].items() if v}
    assert section("roofline").count("<circle") == sum(l["macs"] > 0 for l in named)
    assert f'{part["cycles"]:,}' in section("summary")
if what == "sorted":
    column = [number(r[2]) for r in rows(section("layers"))]
    is_down = arguments[0] == "descending"
    assert column == sorted(column, reverse=is_down) and len(set(column)) > 1, column
    heads = set(re.findall(r'aria-sort="(\w+)"', section("layers")))
    assert heads == {"none", arguments[0]}, heads
if what == "command":
    text = section("timeline")
    assert re.search(r"<code>%s: \w+" % arguments[0], text), text
    shown = number(re.search(r'id="window">cycles [\d,]+ to [\d,]+, ([\d,]+) of', text).group(1))
    cycles = number(re.search(r"\((\d[\d,]*) cycles\)", text).group(1))
    assert cycles <= shown <= max(3 * cycles + 3, 24) < part["cycles"], (shown, cycles)
if what == "modes":
    cycles = [p["parts"][0]["cycles"] for p in json.load(open("modes.json"))["modes"]]
    assert [number(r[1]) for r in rows(section("modes"))] == sorted(cycles)
if what == "part":
    parts = json.load(open("parts.json"))["parts"]
    assert len(parts) > 1 and dom.count("<option") == len(parts)
    layers = [l["name"] for l in parts[1]["layers"] if l["operator"]]
    assert [r[0] for r in rows(section("layers"))][:len(layers)] == layers
if what == "stream":
    assert re.search(r'id="layers" hidden', dom) and "operator 1" in section("timeline")
    assert "<title>&lt;s&gt;.s" in dom and "<h1>&lt;s&gt;.s</h1>" in dom
EOF
check 'tables and dots' python3 dom.py tables

# All headings of all tables are clicked twice; the wheel turns as far down the timeline as it goes.
cat >hands.js <<'EOF'
const said = [], heads = [...document.querySelectorAll("table")].flatMap(table =>
  [...table.querySelectorAll("thead th")].map((th, i) => [table, i, th.textContent]));
for (const [table, i, name] of heads) {
  const sorts = [0, 1].map(() => {
    table.querySelectorAll("thead th")[i].click();
    return table.querySelectorAll("thead th")[i].getAttribute("aria-sort");
  });
  if (sorts.join() !== "ascending,descending" && sorts.join() !== "descending,ascending")
    said.push(name + ": " + sorts);
}
said.push(heads.length > 30 ? "all headings" : "few headings");
const canvas = document.querySelector("#timeline canvas"), box = canvas.getBoundingClientRect();
const window_ = () => document.querySelector("#window").textContent.match(/, ([\d,]+) of/)[1];
let before = "", steps = 0;
for (; steps < 200 && before !== window_(); steps++) {
  before = window_();
  canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: -300, clientX: box.x + box.width / 2,
                                                clientY: box.y + 30, cancelable: true}));
}
said.push("down to " + before + " cycles");
document.title = said.join("; ");
EOF
python3 - <<'EOF'
page, script = open("net.html").read(), open("hands.js").read()
end = page.rindex("</body>")
open("hands.html", "w").write(f"{page[:end]}<script>{script}</script>{page[end:]}")
EOF
check 'clicks and wheels' open_page hands.html ''
gives 'all tables are sorted, the timeline shows single cycles' \
  '<title>all headings; down to 8 cycles</title>' cat page.dom
check 'a hash that sorts' open_page net.html sort=layers.cycles
check 'down' python3 dom.py sorted descending
check 'a hash that sorts the other way' open_page net.html sort=layers.-cycles
check 'up' python3 dom.py sorted ascending
check 'a hash that names a command' open_page net.html command=40
check 'it alone' python3 dom.py command 40
check 'the second of several parts' open_page parts.html part=1
check 'its layers' python3 dom.py part
check 'modes' open_page modes.html sort=modes.-cycles
check 'the fastest first' python3 dom.py modes
check 'a stream' open_page s.html ''
check 'of operators' python3 dom.py stream
finish
