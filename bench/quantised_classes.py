#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do quantised classifiers decide like the float ones? Inputs like the models' stored test inputs
(one of them, shifted, scaled, with noise) calibrate and test; the classes of both files are
compared in ONNX Runtime. Exit status 1 when fewer than 99 % agree, 77 when there are no models.

  bench/quantised_classes.py [--models ../shared/models] [--names mnist,ocr_cls] [--count 1000]
"""
import pathlib
import subprocess
import sys
import tempfile

import cli
import peers



def session(path):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def stored_inputs(folder):
    import onnx
    for path in sorted(folder.glob("test_data_set_*/input_0.pb")):
        yield onnx.numpy_helper.to_array(onnx.load_tensor(str(path)))


def like(np, rng, stored):
    x = stored[rng.integers(len(stored))][:1]
    x = np.roll(x, tuple(rng.integers(-2, 3, 2)), axis=(-2, -1)) * rng.uniform(0.7, 1.3)
    return (x + 0.1 * x.std() * rng.standard_normal(x.shape)).astype("f4")


def classes(np, path, inputs):
    s = session(path)
    name = s.get_inputs()[0].name
    return np.array([s.run(None, {name: x})[0].ravel().argmax() for x in inputs])


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--models", default=cli.ROOT.parent / "shared/models", type=pathlib.Path)
    parser.add_argument("--names", default="mnist,ocr_cls")
    parser.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    peers.need("numpy", "onnxruntime", "onnx")
    import numpy as np
    wick = cli.wick()
    if not args.models.is_dir():
        print(f"{args.models}: no such folder", file=sys.stderr)
        sys.exit(77)
    bad = False
    for name in args.names.split(","):
        with tempfile.TemporaryDirectory() as tmp:
            folder, rng = pathlib.Path(tmp), np.random.default_rng(1)
            model, out = args.models / name / "model.onnx", folder / "q.onnx"
            stored = list(stored_inputs(model.parent))
            np.save(folder / "calibration.npy",
                    np.concatenate([like(np, rng, stored) for _ in range(32)]))
            inputs = [like(np, rng, stored) for _ in range(args.count)]
            for options in ["", "--per-channel --bias-correction", "--scheme int8 --symmetric"]:
                subprocess.run([wick, "quantize", model, "-o", out, "--calibration",
                                folder / "calibration.npy", *options.split()], check=True,
                               stdout=subprocess.DEVNULL)
                want, got = classes(np, model, inputs), classes(np, out, inputs)
                same = (want == got).mean()
                kinds = len(set(want.tolist()))
                print(f"{name:10} {100 * same:6.2f} % of {args.count} agree ({kinds} classes)  "
                      f"{options}", flush=True)
                bad |= same < 0.99
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
