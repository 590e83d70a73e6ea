#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a decoder with seeded weights, quantised to 8 bits, token by token on the accelerator, its
caches in the state of the package.

First the tokens of a text go through it and through the same model compiled for the CPU, which must
give the same logits, bit for bit, on the functional model, and the first ones on the RTL. Then, at
each position, what a token takes on the timing model, whose cycles are the RTL's, against the least
that any schedule of its parts could take. Cycles do not depend on what the caches hold.

  bench/setup                        once: a virtual environment with the peers
  bench/accel_decoder.py [--tokens N] [--rtl N] [--positions LIST] [--room N] [--width N]
                         [--layers N] [--machine NAME] [--keys N]
"""
import json
import pathlib
import subprocess
import tempfile

import cli
import decoder_models
import peers

np, onnx = (peers.Module(name) for name in ("numpy", "onnx"))


def size_of(o):
    heads = o.width // 64
    return decoder_models.Size(words=8192, width=o.width, heads=heads, groups=max(heads // 2, 1),
                               depth=64, inner=3 * o.width, layers=o.layers)


def wick(*arguments):
    command = [str(x) for x in (cli.wick(), *arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def inputs(folder, o, position):
    """Of one token; its id follows from its position."""
    mask = (np.arange(o.room) <= position).astype(np.int64)[None]
    values = {"input_ids": np.array([[37 * position % 8192]]), "cache_position":
              np.array([position]), "attention_mask": mask}
    options = []
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)
        options += ["--input", f"{name}={folder / name}.npy"]
    return options


def compiled(folder, model, name, *options):
    package = folder / f"{name}.wick"
    wick("compile", "-q", model, "-o", package, "--state", "auto", *options)
    return package


class Text:
    """Tokens one after the other through one package."""

    def __init__(self, o, folder, package, *options):
        self.o, self.folder, self.package, self.options = o, folder, package, options
        self.state = folder / f"{package.stem}{len(options)}.state"

    def logits(self, position):
        out = self.folder / "out"
        wick("run", self.package, *inputs(self.folder, self.o, position), "--state", self.state,
             "--output-dir", out, *self.options)
        return np.load(out / "logits.npy")


def compare(o, folder, cpu, accel):
    texts = {"functional": (Text(o, folder, accel), o.tokens),
             "rtl": (Text(o, folder, accel, "--model", "rtl"), o.rtl)}
    other = Text(o, folder, cpu)
    for position in range(o.tokens):
        want = other.logits(position)
        for name, (text, tokens) in texts.items():
            if position < tokens and text.logits(position).tobytes() != want.tobytes():
                raise SystemExit(f"token {position}: the {name} model's logits are others")
    for name, (_, tokens) in texts.items():
        if tokens:
            print(f"{tokens} tokens on the {name} model: logits equal to the CPU's")


def cycles_at(o, folder, accel, position):
    """Of all parts that run: cycles, and the least that they could take."""
    report = folder / "sim.json"
    wick("sim", accel, *inputs(folder, o, position), "--model", "timing", "--json", report)
    runs = json.loads(report.read_text())["parts"]
    return sum(r["cycles"] for r in runs), sum(r["all_layers"]["least"] for r in runs), len(runs)


def main():
    parser = cli.options(__doc__)
    number = cli.at_least(1)
    parser.add_argument("--tokens", type=cli.at_least(0), default=32)
    parser.add_argument("--rtl", type=cli.at_least(0), default=0,
                        help="how many of them on the RTL, too")
    parser.add_argument("--positions", default="0,511,1023")
    parser.add_argument("--room", type=number, default=1024)
    parser.add_argument("--width", type=number, default=512)
    parser.add_argument("--layers", type=number, default=8)
    parser.add_argument("--machine", default="base")
    parser.add_argument("--keys", default="64")
    o = parser.parse_args()
    peers.need("numpy", "onnx")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = folder / "decoder.onnx"
        onnx.save(decoder_models.fixed(size_of(o), o.room), model)
        quantised = folder / "int8.onnx"
        wick("quantize", model, "--bind", "seq=1", "--random", "4", "-o", quantised)
        cpu = compiled(folder, quantised, "cpu")
        accel = compiled(folder, quantised, "accel", "--target", f"accel:{o.machine}", "--keys",
                         o.keys)
        compare(o, folder, cpu, accel)
        print("position      cycles       least  of least  parts")
        for position in map(int, o.positions.split(",")):
            cycles, least, parts = cycles_at(o, folder, accel, position)
            print(f"{position:8d}  {cycles:10,d}  {least:10,d}  {100 * least / cycles:7.1f}%"
                  f"  {parts:5d}")


if __name__ == "__main__":
    main()
