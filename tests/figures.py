# SPDX-License-Identifier: Apache-2.0
"""Are the cycles and outputs that pages show those of the RTL? tests/figures.py WICK

Tables whose head has latencies and whose rows name a stream; blocks that begin with "$ wick sim";
the first column of what scripts/compare_rtl prints; the timelines of docs/overlap.svg. Cycles of
the RTL are exact, so every difference is an error. Exit status 1: one was printed.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WICK = os.path.abspath(sys.argv[1])
checked, errors = 0, []


def expect(place, what, shown, found):
    global checked
    checked += 1
    if shown != found:
        errors.append(f"{place}: {what}: shown {shown}, found {found}")


@functools.cache
def simulate(stream, latency, *options):
    command = [WICK, "sim", str(stream), "--unverified", "--dram", f"latency={latency}", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def counters(stream, latency):
    return json.loads(simulate(stream, latency, "--json", "-"))["counters"]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(text):
    return int(text.replace(",", ""))


def check_tables(page):
    latencies = []
    for i, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("|"):
            latencies = []
            continue
        row = cells(line)
        columns = [k for k, cell in enumerate(row) if re.fullmatch(r"[0-9]+", cell)]
        if len(columns) >= 3:
            latencies = [(k, int(row[k])) for k in columns]
            continue
        name = re.search(r"[0-9]-[a-z-]+\.s", row[0])
        if not latencies or not name:
            continue
        stream = ROOT / "examples/accel" / name.group()
        for k, latency in latencies:
            found = counters(stream, latency)["cycles"]
            what = f"{name.group()} at latency {latency}"
            expect(f"{page.name}:{i}", what, number(row[k]), found)


def check_blocks(page):
    """Every line of what a command printed, but for those left out (...)."""
    lines = iter(enumerate(page.read_text().splitlines(), 1))
    for _, line in lines:
        match = re.fullmatch(r"\$ wick sim (\S+) (.*)", line)
        if not match:
            continue
        command = [WICK, "sim", match.group(1), *match.group(2).split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        printed = [out.rstrip() for out in done.stdout.splitlines()]
        for i, line in lines:
            if line == "```":
                break
            if line != "…":
                found = line if line.rstrip() in printed else "no such line"
                expect(f"{page.name}:{i}", match.group(1), line, found)


def check_compared(page):
    """Cycles and counters of sim/rtl; the other tree would have to be built."""
    text = page.read_text()
    stream = re.search(r"^\$ scripts/compare_rtl \S+ (\S+)$", text, re.M).group(1)
    found = counters(stream, 100)
    for name, shown in re.findall(r"^([a-z0-9_.]+) +([0-9]+) +[0-9]+ ", text, re.M):
        expect(page.name, name, int(shown), found[name])


def check_drawing(page, folder):
    """The command lines stand in the page, for a shell in its folder."""
    block = re.search(r"^(for s in .*?)^```", page.read_text(), re.M | re.S).group(1)
    text = block.replace("../../docs/overlap.svg", "drawn.svg").replace("../../scripts", "$scripts")
    text = text.replace("$s.s", "$streams/$s.s").replace("wick sim", '"$wick" sim --unverified')
    subprocess.run(["bash", "-ec", text], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   env={**os.environ, "wick": WICK, "scripts": str(ROOT / "scripts"),
                        "streams": str(page.parent)})
    same = (folder / "drawn.svg").read_text() == (ROOT / "docs/overlap.svg").read_text()
    expect("docs/overlap.svg", "what its command lines draw", True, same)


def check_text(page, stream):
    """Cycles in sentences: "82,180 cycles at latency 100"."""
    for shown, latency in re.findall(r"([0-9]+,[0-9]{3}) cycles at latency ([0-9]+)",
                                     " ".join(page.read_text().split())):
        expect(page.name, f"{stream} at latency {latency}", number(shown),
               counters(stream, int(latency))["cycles"])


def check_counters(page, stream):
    """Counters in sentences: "`ex.wait.st` is 1,485 at latency 100"."""
    for name, shown, latency in re.findall(r"`([a-z0-9_.]+)` is ([0-9,]*[0-9]) at latency ([0-9]+)",
                                           " ".join(page.read_text().split())):
        expect(page.name, f"{name} of {stream} at latency {latency}", number(shown),
               counters(stream, int(latency))[name])


def main():
    examples = ROOT / "examples/accel/README.md"
    double = ROOT / "examples/accel/2-double-buffer.s"
    check_tables(examples)
    check_blocks(examples)
    check_blocks(ROOT / "docs/reports.md")
    check_text(examples, double)
    check_counters(examples, double)
    check_compared(ROOT / "docs/own-rtl.md")
    with tempfile.TemporaryDirectory() as folder:
        check_drawing(examples, pathlib.Path(folder))
    print(*errors, f"{checked} figures, {len(errors)} wrong", sep="\n")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
