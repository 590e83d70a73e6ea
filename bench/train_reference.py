#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of `wick train` beside NumPy's in f64, which follows the definitions of torch.optim.

  bench/setup                                   once: a virtual environment with the peers
  bench/train_reference.py [--steps N] [--samples N]

A network of two layers with seeded weights and samples is trained with each optimiser: plainly,
with clipped gradients and a falling rate, and with the mean gradient of four batches, in f32 and in
f64. Prints how far weights and losses are apart at most; ends with status 1 where they are further
apart than rounding explains: 1e-5 in f32, 1e-9 in f64.
"""
import pathlib
import subprocess
import sys
import tempfile

import cli
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

OPTIMIZERS = ("sgd", "momentum", "nesterov", "adam", "adamw", "adagrad")
RATE, DECAY, CLIP = 0.05, 0.01, 0.05
# clip, batches of a step, falling rate
WAYS = {"plain": (0, 1, False), "clipped": (CLIP, 1, True), "4 batches": (0, 4, False)}
LIMITS = {"f32": 1e-5, "f64": 1e-9}


def start(samples, dtype):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((samples, 12)).astype(dtype)
    y = rng.integers(0, 5, samples)
    weights = {"w1": rng.standard_normal((12, 16)) * 0.3, "b1": np.full(16, 0.1),
               "w2": rng.standard_normal((16, 5)) * 0.3, "b2": np.zeros(5)}
    return x, y, {name: w.astype(dtype) for name, w in weights.items()}


def write_model(path, weights):
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"]),
             helper.make_node("Add", ["a", "b1"], ["b"]), helper.make_node("Tanh", ["b"], ["c"]),
             helper.make_node("MatMul", ["c", "w2"], ["d"]),
             helper.make_node("Add", ["d", "b2"], ["y"])]
    kind = helper.np_dtype_to_tensor_dtype(weights["w1"].dtype)
    graph = helper.make_graph(
        nodes, "two_layers", [helper.make_tensor_value_info("x", kind, ["n", 12])],
        [helper.make_tensor_value_info("y", kind, ["n", 5])],
        [numpy_helper.from_array(w, name) for name, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def gradients(x, y, w):
    """Cross-entropy of tanh(x w1 + b1) w2 + b2, and its derivatives."""
    rows = np.arange(len(y))
    hidden = np.tanh(x @ w["w1"] + w["b1"])
    scores = hidden @ w["w2"] + w["b2"]
    p = np.exp(scores - scores.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    d = p.copy()
    d[rows, y] -= 1
    d /= len(y)
    below = (d @ w["w2"].T) * (1 - hidden * hidden)
    return -np.log(p[rows, y]).mean(), {"w2": hidden.T @ d, "b2": d.sum(0), "w1": x.T @ below,
                                        "b1": below.sum(0)}


def move(kind, w, g, m, v, rate, t):
    """One tensor's step: w, m and v are changed."""
    if kind == "adamw":
        w *= 1 - rate * DECAY
    else:
        g = g + DECAY * w
    if kind == "sgd":
        w -= rate * g
    elif kind in ("momentum", "nesterov"):
        m[:] = 0.9 * m + g
        w -= rate * (m if kind == "momentum" else g + 0.9 * m)
    elif kind == "adagrad":
        v += g * g
        w -= rate * g / (np.sqrt(v) + 1e-10)
    else:
        m[:] = 0.9 * m + (1 - 0.9) * g
        v[:] = 0.999 * v + (1 - 0.999) * g * g
        w -= rate * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)


def reference(kind, x, y, weights, steps, clip, falls):
    w = {name: v.astype(np.float64) for name, v in weights.items()}
    m, v = ({name: np.zeros_like(a) for name, a in w.items()} for _ in range(2))
    losses = []
    for t in range(1, steps + 1):
        loss, g = gradients(x.astype(np.float64), y, w)
        losses.append(loss)
        rate = RATE * (1 + np.cos(np.pi * (t - 1) / steps)) / 2 if falls else RATE
        norm = np.sqrt(sum((a * a).sum() for a in g.values()))
        scale = min(1, clip / (norm + 1e-6)) if clip else 1
        for name, a in w.items():
            move(kind, a, g[name] * scale, m[name], v[name], rate, t)
    return w, losses


def trained(wick, folder, kind, samples, steps, clip, parts, falls):
    command = [wick, "train", "net.onnx", "--data", "x.npy", "--labels", "y.npy", "--loss",
               "cross-entropy", "--optimizer", kind, "--lr", str(RATE), "--weight-decay",
               str(DECAY), "--batch", str(samples // parts), "--accumulate", str(parts),
               "--epochs", str(steps), "--history", "h.csv", "-o", "out.onnx"]
    command += ["--clip-norm", str(clip)] if clip else []
    command += ["--schedule", "cosine"] if falls else []
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        cli.die(run.stderr.strip())
    model = onnx.load(folder / "out.onnx")
    losses = np.loadtxt(folder / "h.csv", delimiter=",", skiprows=1, usecols=3, ndmin=1)
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}, losses


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--steps", type=cli.at_least(1), default=20, help="default 20")
    parser.add_argument("--samples", type=cli.at_least(4), default=64,
                        help="a multiple of 4 (default 64)")
    o = parser.parse_args()
    if o.samples % 4:
        cli.die("--samples is no multiple of 4", 2)
    peers.need("numpy", "onnx")
    wick, bad = cli.wick(), False
    print(f"{'type':5}{'optimiser':11}{'how':11}{'weights':>10}{'losses':>10}")
    for dtype, limit in LIMITS.items():
        x, y, weights = start(o.samples, {"f32": np.float32, "f64": np.float64}[dtype])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "x.npy", x)
            np.save(folder / "y.npy", y)
            write_model(folder / "net.onnx", weights)
            for kind in OPTIMIZERS:
                for how, (clip, parts, falls) in WAYS.items():
                    got, losses = trained(wick, folder, kind, o.samples, o.steps, clip, parts,
                                          falls)
                    want, want_losses = reference(kind, x, y, weights, o.steps, clip, falls)
                    apart = max(np.abs(got[n] - want[n]).max() for n in want)
                    apart_losses = np.abs(losses - want_losses).max()
                    print(f"{dtype:5}{kind:11}{how:11}{apart:10.1e}{apart_losses:10.1e}")
                    bad = bad or not max(apart, apart_losses) <= limit
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
