#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it is worth to leave out rows that no predicate of a run wants: recurrences with lengths,
mixtures of experts, encoders of padded texts. Packages compiled with --predicates on and off take
turns, with one thread.

  bench/setup                               once: a virtual environment with onnx, onnxruntime
  bench/predicates.py [--rounds 7] [--only lstm] [--random 200]

A line for each model and input: the least milliseconds of both, the median of the ratios of
rounds, and how far the results are from ONNX Runtime's. --random compares so many small models with
drawn lengths and gates with ONNX Runtime, what is left out poisoned, and times none.
"""
import pathlib
import re
import statistics
import subprocess
import tempfile

import cli
import extents_builder
import peers

np, onnx, ort = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Net:
    """Nodes and weights under construction."""

    def __init__(self, seed=0):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(seed)

    def weight(self, name, *dims, scale=1 / 16):
        value = (self.rng.standard_normal(dims) * scale).astype(np.float32)
        return self.constant(name, value)

    def constant(self, name, value):
        if all(w.name != name for w in self.weights):
            self.weights.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, inputs, *outputs, **attributes):
        self.nodes.append(onnx.helper.make_node(op, inputs, outputs, **attributes))
        return outputs[0]

    def model(self, inputs, output, dims):
        types = onnx.TensorProto
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            self.nodes, "net", [info(name, getattr(types, t), d) for name, t, d in inputs],
            [info(output, types.FLOAT, dims)], self.weights)
        opsets = [onnx.helper.make_opsetid("", 18)]
        return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def recurrent(op="LSTM", steps=64, batch=16, width=256, hidden=256, layers=2, both=False, seed=0):
    """As PyTorch exports packed sequences: layers with one sequence_lens."""
    net, x, dirs = Net(seed), "x", 2 if both else 1
    rows = GATES[op] * hidden
    for k in range(layers):
        size = width if k == 0 else hidden * dirs
        names = [x, net.weight(f"W{k}", dirs, rows, size), net.weight(f"R{k}", dirs, rows, hidden),
                 net.weight(f"B{k}", dirs, 2 * rows), "lengths"]
        more = {"direction": "bidirectional"} if both else {}
        y = net.add(op, names, f"Y{k}", hidden_size=hidden, **more)
        y = net.add("Transpose", [y], f"T{k}", perm=[0, 2, 1, 3])
        x = net.add("Reshape", [y, net.constant("rest", [0, 0, -1])], f"O{k}")
    inputs = [("x", "FLOAT", [steps, batch, width]), ("lengths", "INT32", [batch])]
    return net.model(inputs, x, [steps, batch, hidden * dirs])


def route(net, width, experts, taken):
    logits = net.add("MatMul", ["x", net.weight("Wr", width, experts, scale=1 / 8)], "logits")
    shares = net.add("Softmax", [logits], "shares", axis=-1)
    net.add("TopK", [shares, net.constant("k", [taken])], "best", "chosen", axis=-1)
    total = net.add("ReduceSum", ["best", net.constant("last", [-1])], "total", keepdims=1)
    net.add("Div", ["best", total], "kept")


def expert(net, e, x, width, inner):
    h = net.add("MatMul", [x, net.weight(f"W1_{e}", width, inner)], f"h{e}")
    h = net.add("Add", [h, net.weight(f"b1_{e}", inner)], f"i{e}")
    h = net.add("Relu", [h], f"j{e}")
    return net.add("MatMul", [h, net.weight(f"W2_{e}", inner, width)], f"y{e}")


def experts_dense(tokens=256, width=256, inner=1024, experts=8, taken=2, seed=0):
    """Every expert for every token, times a gate that is 0 for most."""
    net, total = Net(seed), None
    route(net, width, experts, taken)
    zeros = net.constant("zeros", np.zeros((tokens, experts), np.float32))
    net.add("ScatterElements", [zeros, "chosen", "kept"], "gates", axis=1)
    for e in range(experts):
        ends = [net.constant(f"n{e}", [e]), net.constant(f"n{e + 1}", [e + 1])]
        gate = net.add("Slice", ["gates", *ends, net.constant("n1", [1])], f"g{e}")
        y = net.add("Mul", [expert(net, e, "x", width, inner), gate], f"m{e}")
        total = y if total is None else net.add("Add", [total, y], f"t{e}")
    return net.model([("x", "FLOAT", [tokens, width])], total, [tokens, width])


def experts_gathered(tokens=256, width=256, inner=1024, experts=8, taken=2, seed=0):
    """As transformers' models are exported: each expert for the tokens that NonZero finds."""
    net = Net(seed)
    route(net, width, experts, taken)
    hot = net.add("OneHot", ["chosen", net.constant("depth", experts), net.constant("hot", [0, 1])],
                  "hots", axis=-1)
    net.add("Transpose", [hot], "mask", perm=[2, 1, 0])
    total = net.constant("nothing", np.zeros((tokens, width), np.float32))
    zero, last = net.constant("n0", [0]), net.constant("last", [-1])
    for e in range(experts):
        own = net.add("Gather", ["mask", net.constant(f"e{e}", e)], f"own{e}", axis=0)
        found = net.add("NonZero", [own], f"found{e}")
        net.add("Split", [found, net.constant("ones", [1, 1])], f"ra{e}", f"rb{e}", axis=0)
        rank = net.add("Squeeze", [f"ra{e}", zero], f"rank{e}")
        token = net.add("Squeeze", [f"rb{e}", zero], f"token{e}")
        x = net.add("Gather", ["x", token], f"x{e}", axis=0)
        y = expert(net, e, x, width, inner)
        to = net.add("Unsqueeze", [token, last], f"to{e}")
        at = net.add("Concat", [to, net.add("Unsqueeze", [rank, last], f"as{e}")], f"at{e}",
                     axis=-1)
        share = net.add("GatherND", ["kept", at], f"s{e}")
        y = net.add("Mul", [y, net.add("Unsqueeze", [share, last], f"u{e}")], f"m{e}")
        total = net.add("ScatterND", [total, to, y], f"t{e}", reduction="add")
    return net.model([("x", "FLOAT", [tokens, width])], total, [tokens, width])


# ---- running -------------------------------------------------------------------------------------

# Tokens of sentences in the order in which a set of questions has them, and most pad eight of 128.
SENTENCES = [14, 37, 22, 61, 9, 128, 31, 45]


def encoder(layers=12, width=768, heads=12, words=8192, tokens=128, batch=8, seed=0):
    """BERT, with the mask that its exporters write: -10000 where a token only pads."""
    b = extents_builder.Builder()
    b.rng = np.random.default_rng(seed)
    ids = b.input("input_ids", [batch, tokens], kind=extents_builder.I64)
    mask = b.input("attention_mask", [batch, tokens], kind=extents_builder.I64)
    x = b.norm(b.Gather(b.random(words, width), ids), width)
    seen = b.Cast(b.Unsqueeze(mask, [1, 2]), to=extents_builder.F32)
    bias = b.Mul(b.Sub(1.0, seen), -10000.0)
    for _ in range(layers):
        q, k, v = (b.split_heads(b.linear(x, width, width), heads, width // heads)
                   for _ in range(3))
        scores = b.Add(b.Mul(b.scores(q, k), (width // heads) ** -.5), bias)
        y = b.join_heads(b.MatMul(b.Softmax(scores, axis=-1), v), width)
        x = b.norm(b.Add(x, b.linear(y, width, width)), width)
        x = b.norm(b.Add(x, b.linear(b.gelu(b.linear(x, width, 4 * width)), 4 * width, width)),
                   width)
    b.output("y", x, [batch, tokens, width])
    return b.model()


def texts(rng, lengths, words=8192, tokens=128):
    mask = (np.arange(tokens) < np.asarray(lengths)[:, None]).astype(np.int64)
    return {"input_ids": rng.integers(0, words, mask.shape), "attention_mask": mask}


def compiled(path, mode, masked):
    package = path.with_suffix(f".{mode}.wick")
    needed = ["--needed", "y=attention_mask"] if masked else []
    subprocess.run([cli.wick(), "compile", path, "--predicates", mode, "-o", package, "--quiet",
                    *needed], check=True)
    return package


def run(package, folder, feeds, repeat):
    """Milliseconds, the least of `repeat` runs."""
    command = [cli.wick(), "run", package, "--threads", "1", "--repeat", str(repeat),
               "--output-dir", folder]
    for name, value in feeds.items():
        np.save(folder / f"in.{name}.npy", value)
        command += ["-i", f"{name}={folder / f'in.{name}.npy'}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    value, unit = re.search(r"time min ([\d.]+) (us|ms|s)", text).groups()
    return float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def difference(path, folder, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options)
    want = session.run(None, feeds)[0]
    got = np.load(folder / f"{session.get_outputs()[0].name}.npy")
    if "attention_mask" in feeds:
        asked = feeds["attention_mask"].astype(bool)
        got, want = got[asked], want[asked]
    error = np.max(np.abs(got - want)) / max(1, np.max(np.abs(want)))
    return float(error) if np.isfinite(got).all() else float("inf")


def compare(name, model, inputs, o, folder):
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    masked = any("attention_mask" in feeds for _, feeds in inputs)
    packages = {mode: compiled(path, mode, masked) for mode in ("on", "off")}
    for what, feeds in inputs:
        times = {"on": [], "off": []}
        for _ in range(o.rounds):
            for mode, package in packages.items():
                times[mode].append(run(package, folder, feeds, 3 if masked else 10))
        run(packages["on"], folder, feeds, 2)
        ratio = statistics.median(b / a for a, b in zip(times["on"], times["off"]))
        print(f"{name:18} {what:22} {min(times['on']):8.2f} {min(times['off']):8.2f} {ratio:7.2f} "
              f"{difference(path, folder, feeds):9.1e}", flush=True)


def sequences(rng, lengths, steps=64, width=256):
    lengths = np.asarray(lengths, np.int32)
    x = rng.standard_normal((steps, len(lengths), width)).astype(np.float32)
    return {"x": x, "lengths": lengths}


def measure(o, folder):
    rng = np.random.default_rng(1)
    spread = [4 * (k + 1) for k in range(16)]
    inputs = [("lengths 4, 8 … 64", sequences(rng, spread)),
              ("all of 64 steps", sequences(rng, [64] * 16))]
    x = rng.standard_normal((256, 256)).astype(np.float32)
    rows = [("lstm", recurrent(), inputs), ("gru", recurrent("GRU"), inputs),
            ("lstm both ways", recurrent(both=True, layers=1), inputs),
            ("experts dense", experts_dense(), [("2 of 8", {"x": x})]),
            ("experts dense, all", experts_dense(taken=8), [("8 of 8", {"x": x})]),
            ("experts gathered", experts_gathered(), [("2 of 8", {"x": x})]),
            ("BERT-base", encoder(), [("347 of 1,024 tokens", texts(rng, SENTENCES)),
                                      ("all tokens", texts(rng, [128] * 8))])]
    print(f"{'model':18} {'input':22} {'on, ms':>8} {'off, ms':>8} {'off/on':>7} {'error':>9}")
    for name, model, of in rows:
        if name.startswith(o.only):
            compare(name.replace(" ", "_"), model, of, o, folder)


def draw(rng, seed):
    kind = seed % 5
    if kind == 4:
        batch, tokens, heads = (int(n) for n in rng.integers([1, 8, 1], [6, 70, 4]))
        model = encoder(2, 64 * heads, heads, 64, tokens, batch, seed)
        return model, texts(rng, rng.integers(0, tokens + 1, batch), 64, tokens)
    if kind < 2:
        steps, batch = (int(n) for n in rng.integers(2, 9, 2))
        width, hidden = (8 * int(n) for n in rng.integers(4, 17, 2))
        model = recurrent(list(GATES)[int(rng.integers(3))], steps, batch, width, hidden, 1 + kind,
                          bool(rng.integers(2)), seed)
        lengths = rng.integers(0, steps + 1, batch)
        return model, sequences(rng, lengths, steps, width)
    tokens, experts = int(rng.integers(8, 80)), int(rng.integers(2, 7))
    width, inner = (16 * int(n) for n in rng.integers(2, 12, 2))
    make = experts_dense if kind == 2 else experts_gathered
    model = make(tokens, width, inner, experts, int(rng.integers(1, experts + 1)), seed)
    return model, {"x": rng.standard_normal((tokens, width)).astype(np.float32)}


def compare_drawn(count, folder):
    worst = 0.0
    for seed in range(count):
        model, feeds = draw(np.random.default_rng(seed), seed)
        path = folder / "drawn.onnx"
        onnx.save(model, path)
        run(compiled(path, "poison", "attention_mask" in feeds), folder, feeds, 2)
        error = difference(path, folder, feeds)
        worst = max(worst, error)
        if not error < 1e-4:
            raise SystemExit(f"seed {seed}: differs by {error}")
    print(f"{count} drawn models, poisoned: at most {worst:.1e} from ONNX Runtime")


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--random", type=int)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if o.random:
            compare_drawn(o.random, folder)
        else:
            measure(o, folder)


if __name__ == "__main__":
    main()
