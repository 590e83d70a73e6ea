#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The zoo's networks on the accelerator as two quantisers leave them: `wick quantize` and ONNX
Runtime's quantize_static (QDQ, weights per channel, behind its quant_pre_process).

  bench/setup                      once: a virtual environment with the peers
  bench/accel_quantisers.py [--models efficientnet_b0,swin_tiny] [--machine base]

For each: cycles of the timing model of all parts on the accelerator, how many parts there are, and
the ratio of ONNX Runtime's cycles to Wick's. Calibrated by two drawn inputs, so results mean
nothing, and cycles do not depend on them.
"""
import json
import pathlib
import subprocess
import tempfile

import cli
import peers


def drawn(np, rng, x):
    shape = [d if isinstance(d, int) else 1 for d in x.shape]
    if "int" in x.type:
        most = 2 if "mask" in x.name else 1000
        return rng.integers(0, most, shape).astype("i8" if "64" in x.type else "i4")
    return rng.standard_normal(shape).astype("f4")


def by_onnxruntime(np, model, folder):
    import onnxruntime as ort
    inputs = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs()
    rng = np.random.default_rng(1)
    feeds = [{x.name: drawn(np, rng, x) for x in inputs} for _ in range(2)]
    return peers.quantised_by_onnxruntime(model, feeds, folder)


def by_wick(wick, model, folder):
    out = folder / "wick.onnx"
    subprocess.run([wick, "quantize", model, "--random", "1", "-o", out], check=True,
                   stdout=subprocess.DEVNULL)
    return out


def cycles(wick, model, machine, folder):
    """Of all parts on the accelerator, and how many these are."""
    report = folder / "report.json"
    subprocess.run([wick, "sim", model, "--machine", machine, "--model", "timing", "--json",
                    report], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run = json.loads(report.read_text())
    return run["cycles"], len(run["parts"])


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--models",
                        default="efficientnet_b0,vit_b16,convnext_tiny,swin_tiny,llama_tiny")
    parser.add_argument("--machine", default="base")
    args = parser.parse_args()
    peers.need("numpy", "onnxruntime", "onnx")
    import numpy as np
    wick = cli.wick()
    print(f"{'model':16} {'wick':>12} {'parts':>5} {'onnxruntime':>12} {'parts':>5} {'ratio':>6}")
    for name in args.models.split(","):
        with tempfile.TemporaryDirectory() as tmp:
            folder = pathlib.Path(tmp)
            model = folder / f"{name}.onnx"
            subprocess.run([wick, "zoo", name, "-o", model], check=True,
                           stdout=subprocess.DEVNULL)
            ours = cycles(wick, by_wick(wick, model, folder), args.machine, folder)
            theirs = cycles(wick, by_onnxruntime(np, model, folder), args.machine, folder)
            print(f"{name:16} {ours[0]:12,} {ours[1]:5} {theirs[0]:12,} {theirs[1]:5} "
                  f"{theirs[0] / ours[0]:6.3f}", flush=True)


if __name__ == "__main__":
    main()
