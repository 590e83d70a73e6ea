#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a decoder with seeded weights whose caches grow, as optimum writes it (past t, present
t + s): one package with the caches in its state against ONNX Runtime, one thread, taking turns.

First a text of chunks and single tokens goes through both: how far the logits are apart. Then, at
each position, what a token takes; ONNX Runtime has past and present bound, its present is a new
tensor. "GB/s": bytes of weights and of caches that are filled, by the time; beside it a dot product
of two large vectors in the same window, which reads as fast as one thread can. At last, what a
chunk takes at position 0.

  bench/setup                                   once: a virtual environment with the peers
  bench/decoder_growing.py [--positions LIST] [--capacity N] [--chunks LIST] [--convert TYPE]
                           [--width N] [--layers N] [--repeat N]
"""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import cli
import decoder_models
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
MIB = 2 ** 20


def size_of(o):
    heads = o.width // 64
    return decoder_models.Size(words=8192, width=o.width, heads=heads, groups=max(heads // 2, 1),
                               depth=64, inner=3 * o.width, layers=o.layers)


class Wick:
    """The package, and a state that goes on."""

    def __init__(self, o, folder, path):
        self.folder, self.state, self.repeat = folder, folder / "caches.state", o.repeat
        self.package = folder / "decoder.wick"
        past, most = f"past_sequence_length=0..{o.capacity}", max(o.chunks)
        convert = ["--convert", o.convert] if o.convert else []
        subprocess.run([cli.wick(), "compile", "-q", path, "-o", self.package, "--state", "auto",
                        "--bind", f"batch_size=1,sequence_length=1,{past}",
                        "--bind", f"batch_size=1,sequence_length=2..{most},{past}", *convert],
                       check=True, capture_output=True)

    def run(self, feeds, *options):
        command = [str(cli.wick()), "run", str(self.package), "--threads", "1", *options]
        for name, value in feeds.items():
            np.save(self.folder / f"{name}.npy", value)
            command += ["--input", f"{name}={self.folder / name}.npy"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def step(self, feeds):
        out = self.folder / "out"
        self.run(feeds, "--state", str(self.state), "--output-dir", str(out))
        return np.load(out / "logits.npy")

    def milliseconds(self, feeds):
        scratch = self.folder / "scratch.state"
        shutil.copy(self.state, scratch) if self.state.exists() else scratch.unlink(True)
        text = self.run(feeds, "--state", str(scratch), "--repeat", str(self.repeat))
        number, unit = re.search(r"median ([\d.]+) (\w+)", text).groups()
        return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


class Peer:
    """ONNX Runtime, which carries caches from run to run."""

    def __init__(self, path, repeat):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session, self.repeat = onnxruntime.InferenceSession(str(path), options), repeat
        self.pasts = [x for x in self.session.get_inputs() if x.name.startswith("past")]
        self.outputs = [x.name for x in self.session.get_outputs()]
        self.caches = self.filled(0)

    def filled(self, n):
        rng = np.random.default_rng(2)
        return {x.name: rng.standard_normal((1, x.shape[1], n, x.shape[3])).astype(np.float32)
                for x in self.pasts}

    def step(self, feeds):
        result = dict(zip(self.outputs, self.session.run(None, {**feeds, **self.caches})))
        self.caches = {name: result[name.replace("past_key_values", "present")]
                       for name in self.caches}
        return result["logits"]

    def milliseconds(self, feeds, caches):
        binding = self.session.io_binding()
        for name, value in {**feeds, **caches}.items():
            binding.bind_cpu_input(name, value)
        for name in self.outputs:
            binding.bind_output(name)
        times = []
        for _ in range(self.repeat + 1):
            begin = time.perf_counter()
            self.session.run_with_iobinding(binding)
            times.append(time.perf_counter() - begin)
        return 1e3 * statistics.median(times[1:])


def feeds_of(ids, position):
    n = len(ids)
    return {"input_ids": np.asarray(ids)[None],
            "position_ids": np.arange(position, position + n)[None],
            "attention_mask": np.ones((1, position + n), np.int64)}


def compare(wick, peer, rng, chunks):
    position, worst, largest = 0, 0.0, 0.0
    for n in (5, 1, 1, max(chunks), 1, 2, 1, 1):
        feeds = feeds_of(rng.integers(0, 8192, n), position)
        got, want = wick.step(feeds), peer.step(feeds)
        worst = max(worst, float(np.abs(got - want).max()))
        largest = max(largest, float(np.abs(want).max()))
        position += n
    print(f"{position} tokens: logits up to {largest:.3f}, at most {worst:.2e} apart")
    return position


def gigabytes_per_second(repeat):
    """Of a dot product of two vectors of 128 MiB."""
    a, b = (np.full(32 * MIB, 1e-3, np.float32) for _ in range(2))
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        np.dot(a, b)
        times.append(time.perf_counter() - begin)
    return 8 * 32 * MIB / statistics.median(times) / 1e9


def bytes_of_weights(model):
    """What one token reads: all but the table of words, of which it takes a row."""
    words = {node.input[0] for node in model.graph.node if node.op_type == "Gather"}
    return 4 * sum(int(np.prod(x.dims)) for x in model.graph.initializer if x.name not in words)


def row(name, taken, extra=""):
    w, r = (statistics.median(taken[k]) for k in ("wick", "peer"))
    print(f"{name:>16} {w:9.3f} {r:9.3f} {r / w:7.2f}x {extra}".rstrip())


def measure(o, model, wick, peer, rng, position):
    size = size_of(o)
    of_weights = bytes_of_weights(model)
    print(f"{'position':>16} {'Wick, ms':>9} {'ORT, ms':>9} {'ratio':>8}")
    for want in o.positions:
        if want == 0:
            wick.state.unlink(True)
            position = 0
        while position < want:
            n = min(max(o.chunks), want - position)
            wick.step(feeds_of(rng.integers(0, 8192, n), position))
            position += n
        feeds, caches = feeds_of([7], position), peer.filled(position)
        taken = {"wick": [], "peer": []}
        reads = []
        for _ in range(5):
            taken["wick"].append(wick.milliseconds(feeds))
            taken["peer"].append(peer.milliseconds(feeds, caches))
            reads.append(gigabytes_per_second(3))
        cached = 2 * 4 * size.layers * size.groups * size.depth * (position + 1)
        speed = (of_weights + cached) / statistics.median(taken["wick"]) / 1e6
        extra = "" if o.convert else f"{speed:6.1f} GB/s, dot {statistics.median(reads):.1f}"
        row(str(position), taken, extra)
    wick.state.unlink(True)
    for n in o.chunks:
        feeds, caches = feeds_of(rng.integers(0, 8192, n), 0), peer.filled(0)
        taken = {"wick": [], "peer": []}
        for _ in range(3):
            taken["wick"].append(wick.milliseconds(feeds))
            taken["peer"].append(peer.milliseconds(feeds, caches))
        row(f"chunk of {n}", taken)


def numbers(text):
    if not re.fullmatch(r"[0-9]{1,6}(,[0-9]{1,6})*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers")
    return [int(x) for x in text.split(",")]


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--positions", type=numbers, default=[0, 1000, 2000, 4000])
    parser.add_argument("--capacity", type=cli.at_least(1), default=4096)
    parser.add_argument("--chunks", type=numbers, default=[64])
    parser.add_argument("--convert", metavar="TYPE", help="as that of wick compile: i4, i8:128")
    parser.add_argument("--width", type=cli.at_least(64), default=512)
    parser.add_argument("--layers", type=cli.at_least(1), default=8)
    parser.add_argument("--repeat", type=cli.at_least(1), default=15)
    o = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = decoder_models.growing(size_of(o))
        onnx.save(model, folder / "decoder.onnx")
        wick = Wick(o, folder, folder / "decoder.onnx")
        peer = Peer(folder / "decoder.onnx", o.repeat)
        rng = np.random.default_rng(6)
        position = compare(wick, peer, rng, o.chunks)
        measure(o, model, wick, peer, rng, position)


if __name__ == "__main__":
    main()
