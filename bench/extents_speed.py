#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs that a run decides the length of a text: one package for all lengths against one
for each, of an encoder as BERT's. The programs take turns, with one thread.

  bench/setup                                      once: a virtual environment with onnx
  bench/extents_speed.py [--layers 4] [--width 768] [--most 512] [--lengths 16,32,…] [--rounds 7]

A line for each length: milliseconds of both, the median of the ratios of rounds, and the sizes of
the packages. Weights are seeded; results of both are compared.
"""
import re
import statistics
import subprocess
import sys
import tempfile
import pathlib

import cli
import extents_builder
import extents_models
import peers

np, onnx = (peers.Module(name) for name in ("numpy", "onnx"))


def build(o, path):
    builder = extents_builder.Builder()
    extents_models.encoder(builder, o.width, o.width // 64, 4 * o.width, o.layers, o.most)
    onnx.save(builder.model(), path)


def compiled(model, binding, path):
    command = [cli.wick(), "compile", model, "--bind", binding, "-o", path, "--quiet"]
    subprocess.run(command, check=True)
    return path


def run(package, inputs, folder):
    """Milliseconds, the least of three runs."""
    command = [cli.wick(), "run", package, "--threads", "1", "--repeat", "3",
               "--output-dir", folder]
    for name, file in inputs.items():
        command += ["-i", f"{name}={file}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    value, unit = re.search(r"time min ([\d.]+) (us|ms|s)", text).groups()
    return float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def write_inputs(folder, length):
    rng, files = np.random.default_rng(length), {}
    values = {"input_ids": rng.integers(0, 97, (1, length)),
              "attention_mask": np.ones((1, length), np.int64),
              "token_type_ids": np.zeros((1, length), np.int64)}
    for name, value in values.items():
        files[name] = folder / f"{name}.{length}.npy"
        np.save(files[name], value)
    return files


def compare(folder, model, all_lengths, length, rounds):
    exact = compiled(model, f"batch=1,seq={length}", folder / "exact.wick")
    inputs, times = write_inputs(folder, length), []
    for _ in range(rounds):
        times.append((run(all_lengths, inputs, folder / "all"),
                      run(exact, inputs, folder / "one")))
    got, want = (np.load(folder / side / "last_hidden_state.npy") for side in ("all", "one"))
    if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=1e-4):
        cli.die(f"length {length}: other results")
    ratio = statistics.median(a / b for a, b in times)
    print(f"{length:6} {min(t[0] for t in times):9.2f} {min(t[1] for t in times):9.2f} "
          f"{ratio:7.3f}x   {all_lengths.stat().st_size / exact.stat().st_size:.3f}x", flush=True)


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--layers", type=cli.at_least(1), default=4)
    parser.add_argument("--width", type=cli.at_least(64), default=768)
    parser.add_argument("--most", type=cli.at_least(1), default=512)
    parser.add_argument("--lengths", default="1,8,16,32,64,128,256,512")
    parser.add_argument("--rounds", type=cli.at_least(1), default=7)
    o = parser.parse_args()
    peers.need("numpy", "onnx")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        build(o, folder / "encoder.onnx")
        package = compiled(folder / "encoder.onnx", f"batch=1,seq=1..{o.most}",
                           folder / "all.wick")
        print("length    all ms    one ms    ratio  bytes")
        for length in (int(n) for n in o.lengths.split(",") if int(n) <= o.most):
            compare(folder, folder / "encoder.onnx", package, length, o.rounds)


if __name__ == "__main__":
    sys.exit(main())
