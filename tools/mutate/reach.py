# SPDX-License-Identifier: Apache-2.0
"""Which test reaches which line that may have a fault, and how long each test takes, from a run in
the build with all faults (schemata.py).

FOLDER/reach/TEST.json: {"tree": hash, "seconds": s, "result": r, "lines": {path: [line…]}}.
"""
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re

from . import faults, work

SOURCES = ("compiler/", "targets/", "runtime/", "sim/")
# Tests that run the RTL, beside the bench of the part: in this order.
RTL_TESTS = ("unit/test_timing", "unit/test_timing_spans", "unit/test_sim",
             "unit/test_accel_examples", "cli/sim", "lint/rtl")

# They run when a test finds no model of the RTL: a fault in them has tests begin without.
BUILDERS = ("sim/build.c", "sim/tool.c")


# What a test is made of beside the sources: folders and files, {} is its name.
MADE_OF = {"unit/": ("tests/random_", "tests/hostile/", "tests/kernel_harness.h", "tests/unit/{}.c",
                     "tests/unit/*.h", "tests/unit/*.def"),
           "golden": ("tests/golden/", "tests/random_"),
           "cli/": ("tests/cli/{}.sh", "tests/cli/lib.bash"),
           "hostile/": ("tests/hostile/",), "models/": ("tests/models", "tests/onnx/")}


def test_hash(root, files, test):
    """Of all that a record depends on."""
    patterns = next((p for k, p in MADE_OF.items() if test.startswith(k)), ())
    patterns = [p.format(test.rpartition("/")[2]) for p in patterns]
    starts = (*SOURCES, "tools/mutate/", *patterns)
    h = hashlib.sha256()
    for name in files:
        if name.startswith(starts) or any(fnmatch.fnmatch(name, p) for p in patterns):
            h.update(name.encode() + b"\0" + (root / name).read_bytes())
    return h.hexdigest()[:16]


def record(copy, test, tree, out):
    reached = copy.folder / f"reached-{test.name.replace('/', '-')}"
    result, seconds, text = copy.run(test, 3600, copy.reaching(reached))
    lines, places = collections.defaultdict(set), reached.read_bytes()
    for site, number in copy.numbers.items():
        if places[number]:
            path, line = faults.place_of(site)
            lines[path].add(line)
    reached.unlink()
    out.write_text(json.dumps({"tree": tree, "seconds": seconds, "result": result,
                               "lines": {f: sorted(s) for f, s in lines.items()}}))
    if result not in ("passed", "skipped"):
        print(f"{test.name} {result} without a fault:\n{text}", flush=True)


class Map:
    """numbers: sites of the faults whose places are recorded, as schemata.Copy has them."""

    def __init__(self, folder, numbers):
        self.seconds, self.lines, self.recorded = {}, {}, collections.defaultdict(set)
        self.failing = set()
        for site in numbers:
            path, line = faults.place_of(site)
            self.recorded[path].add(line)
        for file in sorted((folder / "reach").rglob("*.json")):
            document = json.loads(file.read_text())
            name = str(file.relative_to(folder / "reach")).removesuffix(".json")
            if document["result"] not in ("passed", "skipped"):
                self.failing.add(name)  # and was stopped before its end
                continue
            self.seconds[name] = document["seconds"]
            self.lines[name] = {f: set(l) for f, l in document["lines"].items()}

    def tests_of(self, fault, root, tests):
        """Tests that reach the line, the quickest first. Where nothing is recorded (a fault without
        a switch, a table), those that reach any line of the function, else the file, else the
        folder above it; of code that becomes bitcode, those that reach what describes its calls, in
        the folder above its own."""
        if fault.area == "rtl":
            return rtl_tests(root, fault.path, tests)
        lines, folder = {fault.line}, os.path.dirname(fault.path)
        if "/bitcode/" in fault.path:
            hit, folder = [], os.path.dirname(folder)
        else:
            recorded = self.recorded.get(fault.path, set())
            if fault.line not in recorded:
                lines = function_lines(root / fault.path, fault.line)
            if lines & recorded:
                return self.quickest(t for t in tests if t not in self.seconds
                                     or lines & self.lines[t].get(fault.path, set()))
            hit = [t for t in tests if fault.path in self.lines.get(t, {fault.path: 0})]
        while not hit and folder:
            hit = [t for t in tests if any(f.startswith(folder + "/")
                                           for f in self.lines.get(t, ()))]
            folder = os.path.dirname(folder)
        return self.quickest(hit)

    def quickest(self, tests):
        return sorted(tests, key=lambda t: self.seconds.get(t, 1e9))


def function_lines(file, line):
    """Numbers of the lines of the function around this one; none where there is no function."""
    text = file.read_text(encoding="utf-8").split("\n")
    first = last = line
    while first > 1 and not text[first - 2].startswith("}"):
        first -= 1
    if not any(t.endswith("{") for t in text[first - 1:line]):
        return set()
    while last < len(text) and not text[last - 1].startswith("}"):
        last += 1
    return set(range(first, last + 1))


def rtl_tests(root, path, tests):
    """The benches of the part that has the module in it, and what runs the whole."""
    uses = {}
    for file in (root / "sim/rtl").glob("*.sv"):
        words = re.findall(r"\bwick_\w+", file.read_text(encoding="utf-8"))
        uses[file.stem] = set(words) - {file.stem}
    order = []
    for bench, top, stubs in (("rtl/exec", "wick_exec", ()), ("rtl/vec", "wick_vec", ()),
                              ("rtl/front", "wick_accel", ("wick_exec", "wick_vec"))):
        seen, todo = set(), [top]
        while todo:
            module = todo.pop()
            if module in uses and module not in seen and module not in stubs:
                seen.add(module)
                todo += uses[module]
        if pathlib.Path(path).stem in seen:
            order += [t for t in sorted(tests) if re.fullmatch(bench + r"(-\w+)?", t)]
    return [t for t in [*order, *RTL_TESTS] if t in tests]


def make(copy, folder, select, jobs, say):
    """Records what is not recorded for this tree."""
    files, todo = work.tracked(copy.root), []
    for test in copy.tests.values():
        out, tree = folder / "reach" / f"{test.name}.json", test_hash(copy.root, files, test.name)
        if select.search(test.name) and not (
                out.is_file() and json.loads(out.read_text())["tree"] == tree):
            todo.append((test, tree, out))

    def one(number, test, tree, out):
        say(f"{number} of {len(todo)}: what {test.name} reaches")
        out.parent.mkdir(parents=True, exist_ok=True)
        record(copy, test, tree, out)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(one, i, *t) for i, t in enumerate(todo, 1)]:
            future.result()
