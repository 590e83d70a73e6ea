#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wick beside ONNX Runtime on the zoo's networks: same model file, same inputs, outputs compared.

Each peer runs in a process of its own, pinned to the same processors; rounds alternate between
them, so that a slow moment of the machine hits both. Reported: minimum and median per run in ms,
and the ratio ONNX Runtime / Wick of the minima (above 1: Wick is faster).

  bench/setup                          once: a virtual environment with the peers
  bench/compare_onnxruntime.py [--models resnet50,…] [--threads 1,2] [--rounds 12]

A model is a network of the zoo or a path: --models resnet50,q/resnet50.onnx measures a quantised
file beside the network of the zoo.
"""
import pathlib
import statistics
import subprocess
import sys

import cli
import peers
import runtime

DEFAULT = "resnet50,vgg19,mobilenet_v2,bert_base"


class Wick:
    def __init__(self, package, threads):
        self.session = runtime.Model(package, BUILD).session(0, threads)
        self.feed, self.run = self.session.feed, self.session.run

    def results(self):
        return self.session.outputs


class OnnxRuntime:
    def __init__(self, model, threads):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self.names = [o.name for o in self.session.get_outputs()]

    def feed(self, values):
        self.values = values

    def run(self):
        self.out = self.session.run(self.names, self.values)

    def results(self):
        return dict(zip(self.names, self.out))


def worker(kind, model, threads, folder):
    import numpy as np
    values = dict(np.load(folder / "inputs.npz"))
    peer = (Wick if kind == "wick" else OnnxRuntime)(model, threads)
    peer.feed(values)
    peer.run()
    np.savez(folder / f"{kind}.npz", **peer.results())
    peers.serve(peer.run)


def make_inputs(np, model, folder):
    import onnxruntime as ort
    rng = np.random.default_rng(1)
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    values = {}
    for i in session.get_inputs():
        if i.type == "tensor(int64)":
            values[i.name] = rng.integers(0, 2, i.shape)
        elif "mask" in i.name:
            values[i.name] = np.ones(i.shape, np.float32)
        else:
            values[i.name] = rng.standard_normal(i.shape).astype(np.float32)
    np.savez(folder / "inputs.npz", **values)


def compare_outputs(np, folder):
    got, want = np.load(folder / "wick.npz"), np.load(folder / "ort.npz")
    worst = 0.0
    for name in want.files:
        scale = max(1e-7, float(np.abs(want[name]).max()))
        worst = max(worst, float(np.abs(got[name] - want[name]).max()) / scale)
    return worst


def bench(np, name, threads, rounds, folder):
    model = pathlib.Path(name)
    if model.suffix == ".onnx":
        name = model.parent.name if model.stem == "model" else model.stem
    else:
        model = folder / f"{name}.onnx"
    package, wick = folder / f"{name}.wick", cli.wick(BUILD / "wick")
    if not package.exists() or package.stat().st_mtime < wick.stat().st_mtime:
        if model.parent == folder:
            subprocess.run([wick, "zoo", name, "-o", model], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([wick, "compile", model, "-o", package], check=True,
                       stdout=subprocess.DEVNULL)
    make_inputs(np, model, folder)
    wick = peers.Worker(threads, "wick", package, threads, folder, BUILD)
    ort = peers.Worker(threads, "ort", model, threads, folder, BUILD)
    worst = compare_outputs(np, folder)
    once = max(wick.round(1)[0], ort.round(1)[0])
    n = max(1, int(200 / once))
    wick.times, ort.times = [], []
    for _ in range(rounds):
        wick.round(n)
        ort.round(n)
    wick.close()
    ort.close()
    w, o = min(wick.times), min(ort.times)
    wm, om = statistics.median(wick.times), statistics.median(ort.times)
    print(f"{name:16} {threads:7} {w:9.2f} {wm:9.2f} {o:9.2f} {om:9.2f} {o / w:7.2f} {om / wm:7.2f}"
          f"   {worst:.1e}", flush=True)


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--models", default=DEFAULT)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--build", default=str(cli.BUILD))
    parser.add_argument("--work", default="/tmp/wick-bench")
    args = parser.parse_args()
    peers.need("numpy", "onnxruntime")
    import numpy as np
    global BUILD
    BUILD = pathlib.Path(args.build)
    folder = pathlib.Path(args.work)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{'':16} {'':7} {'Wick ms':>19} {'ONNX Runtime ms':>19} {'ORT / Wick':>15}   "
          "largest error")
    print(f"{'model':16} {'threads':>7} {'min':>9} {'median':>9} {'min':>9} {'median':>9} "
          f"{'min':>7} {'median':>7}   / max|want|")
    for threads in map(int, args.threads.split(",")):
        for name in args.models.split(","):
            bench(np, name, threads, args.rounds, folder)


BUILD = cli.BUILD
if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        BUILD = pathlib.Path(sys.argv[6])
        worker(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]), pathlib.Path(sys.argv[5]))
    else:
        main()
