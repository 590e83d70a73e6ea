#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models whose sizes are only known when they run: each is compiled once, for all sizes within
bounds, and runs at sizes that are drawn: the least, the greatest, then others. Wick's outputs must
be those of ONNX Runtime, in shape, type and value.

  bench/setup                          once: a virtual environment with the peers
  bench/extents.py [--models bert,nms,…] [--draws 20] [--keep FOLDER]
  bench/extents.py --list              names, bounds, and what the models are
  bench/extents.py --peer              ONNX Runtime alone: the sizes drawn, and its time

A line for each model: its name, the draws, the largest difference, and ok or what is wrong. Floats
may differ by 1e-5 + 1e-4 of the value, integers not at all. Exit status 1: a model failed. --keep:
the models, as FOLDER/NAME.onnx, and NAME.wick, and of each draw the inputs, what ONNX Runtime gave
(want) and what Wick gave (got).
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import cli
import extents_attention
import extents_builder
import extents_control
import extents_decoders
import extents_detectors
import extents_models
import extents_rcnn
import extents_speech
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
checker = peers.Module("onnx.checker")

RELATIVE, ABSOLUTE = 1e-4, 1e-5
LIMIT_S = 120
MODELS = extents_builder.MODELS  # of extents_models, extents_attention and extents_control


class Failure(Exception):
    """What is wrong with a model, in one line."""


def sizes_of(model, i, rng):
    """The sizes of draw i; small ones are more frequent."""
    if i < 2:
        return {name: ends[i] for name, ends in model.bounds.items()}
    sizes = {}
    for name, (low, high) in model.bounds.items():
        if name not in model.sums:
            step = model.steps.get(name, 1)
            sizes[name] = low + step * int(((high - low) // step + 1) * rng.random() ** 1.5)
    return sizes | {name: sum(sizes[x] for x in parts) for name, parts in model.sums.items()}


def as_text(sizes):
    return ", ".join(f"{name.lstrip('_')} {n}" for name, n in sizes.items())


def bounds_as_text(bounds):
    return ",".join(f"{name}={low}..{high}" for name, (low, high) in bounds.items())


def save(folder, values):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)


class Case:
    """A model, its file, and its draws: sizes, inputs, and what ONNX Runtime makes of them."""

    def __init__(self, name, draws, folder):
        self.name, self.bounds, self.folder = name, MODELS[name].bounds, folder
        builder = MODELS[name].built()
        model = builder.model()
        self.most = builder.most
        if len(model.opset_import) == 1:  # others have operators that onnx does not know
            checker.check_model(model, full_check=True)
        self.file = folder / f"{name}.onnx"
        onnx.save(model, self.file)
        rng = np.random.default_rng([7, *name.encode()])
        self.sizes = [sizes_of(MODELS[name], i, rng) for i in range(draws)]
        self.feeds = [builder.drawn(rng, sizes) for sizes in self.sizes]
        begin = time.perf_counter()
        session = onnxruntime.InferenceSession(str(self.file), providers=["CPUExecutionProvider"])
        self.names = [x.name for x in session.get_outputs()]
        self.made_s, begin = time.perf_counter() - begin, time.perf_counter()
        self.wants = [dict(zip(self.names, session.run(None, feeds))) for feeds in self.feeds]
        self.ran_s = time.perf_counter() - begin

    def check_peer(self):
        """The model is of use only if ONNX Runtime gives numbers, in shapes that differ."""
        for sizes, want in zip(self.sizes, self.wants):
            for name, value in want.items():
                if not np.isfinite(value).all():
                    raise Failure(f"ONNX Runtime's {name} is not finite at {as_text(sizes)}")
        if len(self.sizes) > 1 and len(self.shapes()) < 2:
            raise Failure("ONNX Runtime's outputs all have one shape")

    def shapes(self):
        return {tuple(x.shape for x in want.values()) for want in self.wants}

    def draw(self, i):
        """The folder of a draw, with its inputs and what ONNX Runtime gave."""
        folder = self.folder / self.name / f"{i:02}"
        save(folder, self.feeds[i])
        save(folder / "want", self.wants[i])
        return folder


def ran(what, *command):
    """Runs wick; what it says when it fails becomes the failure."""
    try:
        done = subprocess.run([str(cli.wick()), *map(str, command)], capture_output=True, text=True,
                              timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: not done after {LIMIT_S} s") from None
    if done.returncode:
        lines = [x.strip() for x in done.stderr.splitlines() if x.strip()][:3]
        raise Failure(f"{what}, exit status {done.returncode}: {'; '.join(lines)}")


def compiled(case):
    package = case.folder / f"{case.name}.wick"
    symbols = {name: b for name, b in case.bounds.items() if not name.startswith("_")}
    bind = ["--bind", bounds_as_text(symbols)] if symbols else []
    bound = [x for name, most in case.most.items() for x in ("--bound", f"{name}={most}")]
    ran("refused", "compile", case.file, *bind, *bound, "-o", package, "--quiet")
    return package


def difference(name, got, want):
    """The largest of an output; fails where one is too large."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Failure(f"{name} is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}")
    if not want.size:
        return 0.0
    apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    inexact = want.dtype.kind == "f"
    allowed = ABSOLUTE + RELATIVE * np.abs(want.astype(np.float64)) if inexact else 0
    wrong = ~(apart <= allowed)
    if wrong.any():
        at = np.unravel_index(int(np.argmax(wrong)), want.shape)
        raise Failure(f"{name}{[int(n) for n in at]} is {got[at]}, not {want[at]}; "
                      f"{int(wrong.sum())} of {want.size} elements are wrong")
    return float(apart.max())


def compare(case, package, i):
    """The largest difference of a draw."""
    folder = case.draw(i)
    files = [x for name in case.feeds[i] for x in ("-i", f"{name}={folder / name}.npy")]
    ran("wick run", "run", package, *files, "--output-dir", folder / "got")
    worst = 0.0
    for name, want in case.wants[i].items():
        try:
            got = np.load(folder / "got" / f"{name}.npy")
        except (OSError, ValueError) as error:
            raise Failure(f"{name} cannot be read: {error}") from None
        worst = max(worst, difference(name, got, want))
    return worst


def measure(name, draws, folder):
    """Prints the line of a model; whether it is right."""
    apart, wrong, text = [], [], "ok"
    try:
        case = Case(name, draws, folder)
        case.check_peer()
        package = compiled(case)
        for i in range(draws):
            try:
                apart.append(compare(case, package, i))
            except Failure as failure:
                wrong.append(f"draw {i} ({as_text(case.sizes[i])}): {failure}")
    except Failure as failure:
        text = str(failure)
    if wrong:
        text = f"{len(wrong)} of {draws} wrong; {wrong[0]}"
    worst = f"{max(apart):.2e}" if apart else "-"
    print(f"{name:15} {draws:3} draws  {worst:8}  {text}", flush=True)
    return text == "ok"


def measure_peer(name, draws, folder):
    """Prints what ONNX Runtime makes of a model; whether that is of use."""
    case, text = Case(name, draws, folder), "ok"
    for i in range(draws):
        case.draw(i)
    try:
        case.check_peer()
    except Failure as failure:
        text = str(failure)
    sizes = "; ".join(" ".join(str(s[n]) for s in case.sizes) + f" {n.lstrip('_')}"
                      for n in case.bounds)
    print(f"{name:15} {draws:3} draws, {len(case.shapes()):3} shapes, {1e3 * case.made_s:6.1f} ms "
          f"to load, {1e3 * case.ran_s / draws:6.2f} ms a run  {text}\n    {sizes}", flush=True)
    return text == "ok"


def names(text):
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in MODELS]
    if unknown:
        cli.die(f"there is no model {', '.join(unknown)}: see --list", 2)
    return chosen


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--models", type=names, default=list(MODELS))
    parser.add_argument("--draws", type=cli.at_least(1), default=20)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--peer", action="store_true")
    o = parser.parse_args()
    if o.list:
        for name in o.models:
            print(f"{name:15} {bounds_as_text(MODELS[name].bounds):28} {MODELS[name].about}")
        return
    peers.need("numpy", "onnx", "onnxruntime")
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as temporary:
        folder = o.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        right = [(measure_peer if o.peer else measure)(name, o.draws, folder) for name in o.models]
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
