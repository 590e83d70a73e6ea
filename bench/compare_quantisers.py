#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wick's quantiser beside ONNX Runtime's: same float model, same calibration data; both results run
in ONNX Runtime on inputs that neither has seen. Reported: the signal-to-noise ratio of the outputs
against the float model, and how far apart Wick and ONNX Runtime are on Wick's file, in steps of the
output's scale.

  bench/setup                         once: a virtual environment with the peers
  bench/compare_quantisers.py [--models resnet50,mobilenet_v2] [--samples 16] [--wick-options …]

Exit status 1 when Wick's ratio is below ONNX Runtime's on any model.
"""
import pathlib
import subprocess
import sys
import tempfile

import cli
import peers

OPTIONS = "--per-channel --bias-correction"


def session(path):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def by_onnxruntime(model, samples, folder):
    name = session(model).get_inputs()[0].name
    return peers.quantised_by_onnxruntime(model, [{name: x} for x in samples], folder)


def by_wick(wick, model, data, options, folder, np):
    out = folder / "wick.onnx"
    subprocess.run([wick, "quantize", model, "--calibration", data, "-o", out, *options.split()],
                   check=True, stdout=subprocess.DEVNULL)
    return out


def ratio(np, model, inputs, want):
    s = session(model)
    name = s.get_inputs()[0].name
    signal = noise = 0.0
    for x, y in zip(inputs, want):
        got = s.run(None, {name: x})[0]
        signal += float((y.astype("f8") ** 2).sum())
        noise += float(((y.astype("f8") - got) ** 2).sum())
    return 10 * np.log10(signal / noise)


def steps_apart(np, wick, target, model, x, folder):
    """Wick against ONNX Runtime on the same file: mean and greatest difference in steps."""
    import onnx
    s = session(model)
    want = s.run(None, {s.get_inputs()[0].name: x})[0]
    np.save(folder / "x.npy", x)
    subprocess.run([wick, "run", model, "--target", target, "-i", folder / "x.npy", "--output-dir",
                    folder / "out"], check=True, stdout=subprocess.DEVNULL)
    got = np.load(next((folder / "out").glob("*.npy")))
    g = onnx.load(str(model)).graph
    last = [n for n in g.node if n.op_type == "DequantizeLinear"][-1]
    scale = next(onnx.numpy_helper.to_array(t) for t in g.initializer if t.name == last.input[1])
    d = np.abs(got - want) / scale
    return d.mean(), d.max()


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--models", default="resnet50,mobilenet_v2")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--test-samples", type=int, default=8)
    parser.add_argument("--wick-options", default=OPTIONS)
    parser.add_argument("--target", default="cpu", choices=["cpu", "eval"])
    args = parser.parse_args()
    peers.need("numpy", "onnxruntime", "onnx")
    import numpy as np
    wick, worse = cli.wick(), False
    print(f"{'model':16} {'onnxruntime':>12} {'wick':>12}   wick's file, Wick against ONNX Runtime")
    for name in args.models.split(","):
        with tempfile.TemporaryDirectory() as tmp:
            folder = pathlib.Path(tmp)
            model, data = folder / f"{name}.onnx", folder / "calibration"
            subprocess.run([wick, "zoo", name, "-o", model], check=True)
            rng = np.random.default_rng(1)
            shape = session(model).get_inputs()[0].shape
            draw = lambda n: [rng.standard_normal(shape).astype("f4") for _ in range(n)]
            samples, inputs = draw(args.samples), draw(args.test_samples)
            data.mkdir()
            for i, x in enumerate(samples):
                np.save(data / f"{i:03}.npy", x)
            s = session(model)
            want = [s.run(None, {s.get_inputs()[0].name: x})[0] for x in inputs]
            theirs = ratio(np, by_onnxruntime(model, samples, folder), inputs, want)
            file = by_wick(wick, model, data, args.wick_options, folder, np)
            ours = ratio(np, file, inputs, want)
            mean, most = steps_apart(np, wick, args.target, file, inputs[0], folder)
            print(f"{name:16} {theirs:9.2f} dB {ours:9.2f} dB   mean {mean:.2f} steps, "
                  f"max {most:.0f} ({args.target})", flush=True)
            worse |= ours < theirs
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
