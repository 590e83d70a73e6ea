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
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import cli
import peers

DEFAULT = "resnet50,vgg19,mobilenet_v2,bert_base"


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("dims", ctypes.c_int64 * 8), ("bytes", ctypes.c_size_t),
                ("align", ctypes.c_size_t), ("bits", ctypes.c_uint32),
                ("is_bound", ctypes.c_int), ("strides", ctypes.c_int64 * 8),
                ("place", ctypes.c_int), ("index", ctypes.c_uint32), ("offset", ctypes.c_int64)]


class EntryInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p),
                ("inputs_n", ctypes.c_uint32), ("outputs_n", ctypes.c_uint32),
                ("steps_n", ctypes.c_uint32), ("has_steps", ctypes.c_int),
                ("inputs", ctypes.POINTER(TensorInfo)), ("outputs", ctypes.POINTER(TensorInfo)),
                ("steps", ctypes.c_void_p), ("arena_bytes", ctypes.c_size_t),
                ("arena_bound", ctypes.c_size_t), ("scratch_bytes", ctypes.c_size_t)]


DTYPES = {1: "float32", 7: "int32", 8: "int64", 13: "bool"}


def aligned(np, shape, dtype):
    count = int(np.prod(shape)) if shape else 1
    raw = np.zeros(count * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


class Wick:
    def __init__(self, np, package, threads):
        lib = ctypes.CDLL(str(BUILD / "libwick.so"))
        lib.wick_model_entry.restype = ctypes.POINTER(EntryInfo)
        lib.wick_model_entry.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        status = lib.wick_model_load(str(package).encode(), None, ctypes.byref(self.model))
        if status:
            raise SystemExit(f"wick_model_load: status {status}")
        status = lib.wick_session_create(self.model, 0, threads, ctypes.byref(self.session))
        if status:
            raise SystemExit(f"wick_session_create: status {status}")
        entry = lib.wick_model_entry(self.model, 0).contents
        take = lambda infos, n: [(infos[i].name.decode(),
                                  aligned(np, [infos[i].dims[k] for k in range(infos[i].rank)],
                                          DTYPES[infos[i].dtype])) for i in range(n)]
        self.inputs = take(entry.inputs, entry.inputs_n)
        self.outputs = take(entry.outputs, entry.outputs_n)
        pointers = lambda ports: (ctypes.c_void_p * len(ports))(*[a.ctypes.data for _, a in ports])
        self.args = (self.session, pointers(self.inputs), pointers(self.outputs))
        self.lib = lib

    def feed(self, values):
        for name, array in self.inputs:
            array[...] = values[name]

    def run(self):
        status = self.lib.wick_session_run(*self.args)
        if status:
            raise SystemExit(f"wick_session_run: status {status}")

    def results(self):
        return dict(self.outputs)


class OnnxRuntime:
    def __init__(self, np, model, threads):
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
    peer = (Wick if kind == "wick" else OnnxRuntime)(np, model, threads)
    peer.feed(values)
    peer.run()
    np.savez(folder / f"{kind}.npz", **peer.results())
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            peer.run()
            times.append(1e3 * (time.perf_counter() - start))
        print(json.dumps(times), flush=True)


class Peer:
    def __init__(self, kind, model, threads, folder):
        cpus = ",".join(str(i) for i in sorted(os.sched_getaffinity(0))[:threads])
        self.times = []
        self.process = subprocess.Popen(
            ["taskset", "-c", cpus, sys.executable, __file__, "--worker", kind, str(model),
             str(threads), str(folder), str(BUILD)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{kind} did not start")

    def round(self, n):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        times = json.loads(self.process.stdout.readline())
        self.times += times
        return times

    def close(self):
        self.process.stdin.close()
        self.process.wait()


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
    wick = Peer("wick", package, threads, folder)
    ort = Peer("ort", model, threads, folder)
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
