#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long things took, as commands say it: never more than the whole command took, nor less than
# nothing; parts add up to no more than their whole, and to the sum where one is printed.
onnx=$(realpath "$(dirname "$0")/../onnx")
nets=$(realpath "$(dirname "$0")/../nets")
source "$(dirname "$0")/lib.bash" "$@"
small_models
check 'a network' "$wick" zoo ds_cnn -o net.onnx
cp "$nets/int8/cnn_qdq/model.onnx" cnn.onnx
cp "$onnx/QGemm/model.onnx" gemm.onnx
cat >seconds.py <<'EOF'
"""What the checks share: run(COMMAND...) gives its text and how long it took."""
import json, re, subprocess, sys, time
wick = sys.argv[1]


def run(*words):
    began = time.monotonic()
    done = subprocess.run([wick, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, time.monotonic() - began


def read(text):
    """Seconds of "1.23 ms", and how far that may be off."""
    number, unit = text.split()
    scale = {"us": 1e-6, "ms": 1e-3, "s": 1}[unit]
    digits = len(number.partition(".")[2])
    return float(number) * scale, 0.51 * scale * 10 ** -digits


def within(least, value, most, what):
    assert least <= value <= most, (what, least, value, most)
EOF

cat >compile.py <<'EOF'
from seconds import *
text, took = run("compile", "net.onnx", "--cpu", "x86-64", "--report", "r.json")
r = json.load(open("r.json"))
b = r["bindings"][0]
within(1e-4, r["seconds"], took, "all")
for name, value in (("import", b["import_seconds"]), ("passes", b["pipeline_seconds"]),
                    ("output", r["emit_seconds"])):
    within(1e-6, value, r["seconds"], name)
parts = b["import_seconds"] + b["pipeline_seconds"] + r["emit_seconds"]
within(0.01 * r["seconds"], parts, r["seconds"], "parts of all")
steps = [s["seconds"] for s in b["steps"]]
within(0, min(steps), max(steps), "steps")
within(0.01 * b["pipeline_seconds"], sum(steps), b["pipeline_seconds"], "steps of passes")
line = re.search(r"^compile time +(.*) \(import (.*), passes (.*), output (.*)\)$", text, re.M)
for printed, value in zip(line.groups(), (r["seconds"], b["import_seconds"], b["pipeline_seconds"],
                                          r["emit_seconds"])):
    have, off = read(printed)
    within(value - off, have, value + off, printed)

# Of two bindings the sum is printed.
text, took = run("compile", "symbolic.onnx", "--bind", "n=1", "--bind", "n=4", "--cpu", "x86-64",
                 "--report", "r.json")
r = json.load(open("r.json"))
line = re.search(r"^compile time +(.*) \(import (.*), passes (.*), output (.*)\)$", text, re.M)
for at, name in ((2, "import_seconds"), (3, "pipeline_seconds")):
    have, off = read(line.group(at))
    each = [b[name] for b in r["bindings"]]
    assert len(each) == 2 and min(each) > 0
    within(sum(each) - off, have, sum(each) + off, name)
EOF
check 'compile' python3 compile.py "$wick"

cat >runs.py <<'EOF'
from seconds import *
for model in (["net.onnx", "--cpu", "x86-64"], ["net.onnx", "--target", "eval"]):
    text, took = run("run", *model)
    once, off = read(re.search(r"^time (.*)$", text, re.M).group(1))
    within(1e-6, once, took + off, "once")
    for n in (2, 3):
        text, took = run("run", *model, "--repeat", str(n), "-v")
        line = re.search(r"^time min (.*), median (.*), max (.*) of (\d+) runs$", text, re.M)
        (least, off), (middle, _), (most, more) = (read(line.group(k)) for k in (1, 2, 3))
        assert int(line.group(4)) == n
        within(1e-6, least, middle + off, "least")
        within(middle - more, most, took, "most")
        if n == 2:
            within(middle - 2.1 * more, (least + most) / 2, middle + 2.1 * more, "median of two")
        start = re.search(r"^start (.*): load (.*), session (.*)$", text, re.M)
        assert bool(start) == ("--cpu" in model)
        if start:
            (all_, a), (load, b), (session, c) = (read(start.group(k)) for k in (1, 2, 3))
            within(load + session - a - b - c, all_, load + session + a + b + c, "start")
            within(0, all_, took, "start")
EOF
check 'run' python3 runs.py "$wick"

mkdir suite
for case in QGemm QLinearAdd QLinearMul; do cp -r "$onnx/$case" suite; done
cat >tests.py <<'EOF'
from seconds import *
for jobs in "0", "2":
    text, took = run("test", "suite", "-v", "-j", jobs, "--junit", "suite.xml")
    xml = open("suite.xml").read()
    all_ = float(re.search(r"<testsuite .* time=\"(.*?)\"", xml).group(1))
    each = dict(re.findall(r"<testcase .* name=\"(.*?)\" time=\"(.*?)\"", xml))
    assert len(each) == 3
    within(all_ - 0.002, sum(float(t) for t in each.values()), all_ + 0.002, "all")
    within(0.001, all_, took * max(1, int(jobs)), "of the command")
    for name, printed in re.findall(r"^ok +(\S+) \((.*)\)$", text, re.M):
        have, off = read(printed)
        within(float(each[name]) - off - 0.0006, have, float(each[name]) + off + 0.0006, name)
EOF
check 'test' python3 tests.py "$wick"

cat >sweeps.py <<'EOF'
from seconds import *
text, took = run("sweep", "gemm.onnx", "-m", "tiny", "--set", "dram_latency=50,60", "-j", "2",
                 "--effort", "0", "-o", "s")
points = json.load(open("s/points.json"))["points"]
assert len(points) == 2
for p in points:
    within(1e-5, p["compile_seconds"], took, "compile")
    within(1e-5, p["simulate_seconds"], took, "simulate")
    within(1e-5, p["compile_seconds"] + p["simulate_seconds"], took, "both")
EOF
check 'sweep' python3 sweeps.py "$wick"

# 12 samples of 4 numbers: y = x w.
raw=$'\xcd\xcc\x8c\x3f'
model "$(field 1 "$(node MatMul 'x w' y)")$(field 5 "$(number 1 4)$(number 1 1)$(number 2 1)$(
  field 8 w)$(field 9 "$raw$raw$raw$raw")")" "$(field 11 "$(value x 1 n 4)")" \
  "$(field 12 "$(value y 1 n 1)")" >fit.onnx
npy x.npy '<f4' 12,4 && npy t.npy '<f4' 12,1
cat >train.py <<'EOF'
from seconds import *
text, took = run("train", "fit.onnx", "--data", "x.npy", "--labels", "t.npy", "--loss", "mse",
                 "--batch", "4", "--epochs", "3", "--cpu", "x86-64", "-o", "f.onnx", "--history",
                 "h.csv")
head, *rows = [line.split(",") for line in open("h.csv").read().split()]
rows = [dict(zip(head, row)) for row in rows]
assert len(rows) == 3
seconds = [float(row["seconds"]) for row in rows]
within(1e-7, min(seconds), took, "an epoch")
within(0, sum(seconds), took, "epochs")
for row, s in zip(rows, seconds):
    within(0.999 * 12 / s, float(row["samples_per_second"]), 1.001 * 12 / s, "rate")
EOF
check 'train' python3 train.py "$wick"
finish
