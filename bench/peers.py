# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks need of the peers of Wick, found when it is needed and not before.

A benchmark first parses its options, then calls need(), so --help works without the peers. What is
missing ends the program with one line.
"""
import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import cli

VENV = cli.BUILD / "bench-venv"


class Module:
    """A module that is imported when something of it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self._name), attribute)


def has(module):
    """Whether this Python has a module, a.b too, without importing more than a."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def need(*modules, setup="run bench/setup"):
    """Goes on in the environment of bench/setup when this Python lacks one of the modules. setup:
    what to do where that lacks one, too."""
    missing = [m for m in modules if not has(m)]
    if not missing:
        return
    python = VENV / "bin/python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    cli.die(f"needs the Python packages {', '.join(missing)}: {setup}")


def quantised_by_onnxruntime(model, feeds, folder):
    """The model as ONNX Runtime's quantize_static leaves it, calibrated by these inputs, as dicts
    by name: QDQ, weights per channel, behind its quant_pre_process. A file in the folder."""
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = iter(feeds)

        def get_next(self):
            return next(self.left, None)

    prepared, out = folder / "prepared.onnx", folder / "onnxruntime.onnx"
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(out), Reader(), quant_format=QuantFormat.QDQ,
                    per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)
    return out


class Worker:
    """The running program once more, as `--worker ARGUMENT...`: a process of its own on the first
    `threads` processors, in this Python unless another one is named. It calls serve(); times are
    what that says, in ms; says: the words that it began with."""

    def __init__(self, threads, *arguments, python=sys.executable):
        cpus = ",".join(str(i) for i in sorted(os.sched_getaffinity(0))[:threads])
        self.times = []
        self.process = subprocess.Popen(
            ["taskset", "-c", cpus, python, sys.argv[0], "--worker",
             *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready, *self.says = self.process.stdout.readline().split() or [""]
        if ready != "ready":
            cli.die(f"{arguments[0]} did not start")

    def round(self, n):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        times = json.loads(self.process.stdout.readline())
        self.times += times
        return times

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve(run, *says):
    """Says that the worker is ready, and these words; runs as often as each line of the input
    says."""
    print("ready", *says, flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append(1e3 * (time.perf_counter() - start))
        print(json.dumps(times), flush=True)
