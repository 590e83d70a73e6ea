#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What storing a model in 16 bits costs and saves on this processor: each model in f32, and with
`wick compile --convert` in f16 and bf16, measured by turns.

  bench/setup                                   once: a virtual environment with the peers
  bench/half.py [--rounds N] [--threads N] [--cpu NAME] [MODEL...]

Prints the size of the packages, the least time of a run, and both beside those of f32 (more is
faster). `f32` is how far the results are from those in f32, as a part of the largest; `ort` how far
those of f16 are from ONNX Runtime's on the same model in f16, in units of the last place of the
largest; `-` where ONNX Runtime does not take it. A MODEL is a network of the zoo, a file, or
mnasnet, which is written here with seeded weights; without any: mnasnet, resnet50 and bert_base.
"""
import pathlib
import re
import subprocess
import tempfile

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

TYPES = ("f32", "f16", "bf16")
# window, stride, expansion, channels, blocks
STAGES = ((3, 2, 3, 24, 3), (5, 2, 3, 40, 3), (5, 2, 6, 80, 3), (3, 1, 6, 96, 2),
          (5, 2, 6, 192, 4), (3, 1, 6, 320, 1))


class Mnasnet:
    """MnasNet-B1 with seeded weights, scaled so that values stay of ordinary size."""

    def __init__(self):
        self.nodes, self.constants = [], []
        self.rng = np.random.default_rng(8)
        x = self.conv(self.conv("x", 3, 32, 3, 2), 32, 32, 3, 1, 32)
        x, channels = self.conv(x, 32, 16, 1, relu=False), 16
        for window, stride, expansion, out, blocks in STAGES:
            for i in range(blocks):
                wide = channels * expansion
                y = self.conv(x, channels, wide, 1)
                y = self.conv(y, wide, wide, window, 1 if i else stride, wide)
                y = self.conv(y, wide, out, 1, relu=False)
                x, channels = self.op("Add", x, y) if i else y, out
        x = self.op("GlobalAveragePool", self.conv(x, channels, 1280, 1))
        w, b = self.constant(self.random(1000, 1280)), self.constant(np.zeros(1000, np.float32))
        self.op("Gemm", self.op("Flatten", x), w, b, out="y", transB=1)

    def random(self, *shape):
        fan_in = int(np.prod(shape[1:]))
        return (self.rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(value, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, *inputs, out=None, **attributes):
        out = out or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [out], **attributes))
        return out

    def conv(self, x, channels, out, window, stride=1, groups=1, relu=True):
        w = self.constant(self.random(out, channels // groups, window, window))
        y = self.op("Conv", x, w, strides=[stride] * 2, pads=[window // 2] * 4, group=groups)
        scale = 1 + self.rng.standard_normal((4, out)).astype(np.float32) / 16
        scale[1:3] -= 1
        y = self.op("BatchNormalization", y, *(self.constant(row) for row in scale))
        return self.op("Relu", y) if relu else y

    def model(self):
        info, f32 = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, "mnasnet", [info("x", f32, [1, 3, 224, 224])],
                                  [info("y", f32, [1, 1000])], self.constants)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def wick(*words):
    ended = subprocess.run([str(cli.wick()), *map(str, words)], capture_output=True, text=True)
    if ended.returncode:
        cli.die(ended.stderr.strip().splitlines()[-1])
    return ended.stdout + ended.stderr


def find(word, folder):
    """The file of a model, and its name."""
    path = pathlib.Path(word)
    if path.exists():
        return path, path.stem if path.stem != "model" else path.resolve().parent.name
    out = folder / f"{word}.onnx"
    if word == "mnasnet":
        onnx.save(Mnasnet().model(), out)
    else:
        wick("zoo", word, "-o", out)
    return out, word


def least(package, options):
    """Milliseconds of the fastest run; leaves its results beside the package."""
    text = wick("run", package, "--repeat", options.repeat, "--threads", options.threads,
                "--output-dir", package.with_suffix(""))
    number, unit = re.search(r"time min ([0-9.]+) (\w+)", text).groups()
    return float(number) * {"s": 1e3, "ms": 1, "us": 1e-3, "ns": 1e-6}[unit]


def results(package):
    return [np.load(p) for p in sorted(package.with_suffix("").glob("*.npy"))]


def apart(got, want):
    """The largest difference of any output, by the largest of that output."""
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(got, want) if b.size]
    return max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)) for a, b in pairs)


def beside_onnxruntime(model, folder, options):
    """Wick and ONNX Runtime on the model in f16, in units of the last place; None: it cannot."""
    half, package = folder / "half.onnx", folder / "half.wick"
    wick("compile", model, "--convert", "f16", "--emit", "onnx", "-o", half, "-q")
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(half), quiet,
                                               providers=["CPUExecutionProvider"])
    except Exception:  # its own types of errors are not public
        return None
    rng, feeds, words = np.random.default_rng(9), {}, []
    for i, x in enumerate(session.get_inputs()):
        if x.type != "tensor(float)" or not all(isinstance(d, int) for d in x.shape):
            return None
        feeds[x.name] = rng.standard_normal(x.shape).astype(np.float32)
        np.save(folder / f"in{i}.npy", feeds[x.name])
        words += ["--input", f"{x.name}={folder / f'in{i}.npy'}"]
    wick("compile", half, "--cpu", options.cpu, "-o", package, "-q")
    wick("run", package, "--output-dir", folder / "half", *words)
    names = sorted(x.name for x in session.get_outputs())
    return apart(results(package), session.run(names, feeds)) * 2 ** 10


def compare(word, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, label = find(word, folder)
        packages = {t: folder / f"{t}.wick" for t in TYPES}
        for t, package in packages.items():
            convert = [] if t == "f32" else ["--convert", t]
            wick("compile", model, *convert, "--cpu", options.cpu, "-o", package, "-q")
        times = {t: [] for t in TYPES}
        for _ in range(options.rounds):
            for t, package in packages.items():
                times[t].append(least(package, options))
        ulp = beside_onnxruntime(model, folder, options)
        for t, package in packages.items():
            size, ms = package.stat().st_size, min(times[t])
            was = packages["f32"].stat().st_size
            off = "" if t == "f32" else f"{apart(results(package), results(packages['f32'])):.1e}"
            last = "" if t != "f16" else "-" if ulp is None else f"{ulp:.2f}"
            print(f"{label if t == 'f32' else '':16} {t:5} {size / 2 ** 20:9.1f} {size / was:6.2f}"
                  f" {ms:9.2f} {min(times['f32']) / ms:6.2f} {off:>9} {last:>6}", flush=True)


def main():
    parser = cli.options(__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--rounds", type=cli.at_least(1), default=5)
    parser.add_argument("--repeat", type=cli.at_least(1), default=5, help="runs in a round")
    parser.add_argument("--threads", type=cli.at_least(1), default=1)
    parser.add_argument("--cpu", default="native")
    options = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    print(f"{'model':16} {'type':5} {'MiB':>9} {'size':>6} {'ms':>9} {'speed':>6} {'f32':>9} "
          f"{'ort':>6}")
    for word in options.models or ["mnasnet", "resnet50", "bert_base"]:
        compare(word, options)


if __name__ == "__main__":
    main()
