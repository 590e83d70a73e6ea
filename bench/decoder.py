#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a small decoder with seeded weights token by token, teacher-forced, in Wick and in ONNX
Runtime, and prints how far the logits are apart. Keys and values live in tensors of fixed length:
Wick keeps them in the state of the package, ONNX Runtime takes them and gives them back.

With --time N: what a token takes with caches of N positions, one thread, the runs taking turns:
Wick with the caches in its state, and as inputs and outputs; ONNX Runtime with each cache bound
as input and output at once.

  bench/setup                          once: a virtual environment with the peers
  bench/decoder.py [--tokens N] [--bits 4] [--form microsoft|standard] [--time N]
"""
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

WORDS, WIDTH, HEADS, KV_HEADS, DEPTH, INNER, LAYERS, BLOCK = 97, 64, 4, 2, 16, 128, 2, 32


class Builder:
    """A graph under construction; constants are named by their order."""

    def __init__(self, bits):
        self.nodes, self.constants, self.bits = [], [], bits
        self.rng = np.random.default_rng(5)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return self.constants[-1].name

    def op(self, kind, *inputs, outputs=None, **attributes):
        names = outputs or [f"v{len(self.nodes)}"]
        domain = "com.microsoft" if kind in ("GroupQueryAttention", "MatMulNBits") else ""
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0]

    def weights(self, *shape):
        return (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    def product(self, x, k, n):
        w = self.weights(k, n)
        if not self.bits:
            return self.op("MatMul", x, self.constant(w))
        blocks = w.T.reshape(n, k // BLOCK, BLOCK)
        scale = np.abs(blocks).max(axis=2, keepdims=True) / 7
        levels = (np.clip(np.round(blocks / scale), -8, 7) + 8).astype(np.uint8)
        packed = levels[..., 0::2] | levels[..., 1::2] << 4
        return self.op("MatMulNBits", x, self.constant(packed),
                       self.constant(scale.astype(np.float32).reshape(-1)), K=k, N=n, bits=4,
                       block_size=BLOCK)

    def norm(self, x):
        gamma = self.constant(1 + self.weights(WIDTH))
        square = self.op("ReduceMean", self.op("Mul", x, x), self.constant(np.array([-1])))
        root = self.op("Sqrt", self.op("Add", square, self.constant(np.float32(1e-6))))
        return self.op("Mul", self.op("Div", x, root), gamma)


def microsoft_attention(b, i, qkv, tables, length):
    past, now = ([f"{p}_{x}{i}" for x in "kv"] for p in ("past", "now"))
    return b.op("GroupQueryAttention", *qkv, *past, "last", b.constant(np.int32(length)), *tables,
                outputs=[f"attention{i}", *now], num_heads=HEADS, kv_num_heads=KV_HEADS,
                do_rotary=1)


def standard_attention(b, i, qkv, tables, _):
    q, k, v = (b.op("Transpose", b.op("Reshape", x, b.constant(np.array([1, 1, -1, DEPTH]))),
                    perm=[0, 2, 1, 3]) for x in qkv)
    q, k = (b.op("RotaryEmbedding", x, *tables, "position") for x in (q, k))
    k, v = (b.op("TensorScatter", f"past_{n}{i}", x, "at", outputs=[f"now_{n}{i}"])
            for n, x in (("k", k), ("v", v)))
    y = b.op("Attention", q, k, v, "", "", "", b.op("Add", "at", b.constant(np.array([1]))))
    return b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]),
                b.constant(np.array([1, 1, HEADS * DEPTH])))


def decoder(length, bits, form):
    b = Builder(bits)
    rates = 0.01 ** np.linspace(0, 1, DEPTH // 2)
    angles = np.outer(np.arange(length), rates).astype(np.float32)
    tables = [b.constant(np.cos(angles)), b.constant(np.sin(angles))]
    attention = {"microsoft": microsoft_attention, "standard": standard_attention}[form]
    x = b.op("Gather", b.constant(b.weights(WORDS, WIDTH) * 8), "word")
    if form == "standard":
        b.op("Cast", "last", outputs=["at"], to=7)
        b.op("Reshape", "at", b.constant(np.array([1, 1])), outputs=["position"])
    for i in range(LAYERS):
        h = b.norm(x)
        qkv = [b.product(h, WIDTH, n * DEPTH) for n in (HEADS, KV_HEADS, KV_HEADS)]
        y = attention(b, i, qkv, tables, length)
        x = b.op("Add", x, b.product(y, HEADS * DEPTH, WIDTH))
        h = b.norm(x)
        gate = b.product(h, WIDTH, INNER)
        gate = b.op("Mul", gate, b.op("Sigmoid", gate))
        gate = b.op("Mul", gate, b.product(h, WIDTH, INNER))
        x = b.op("Add", x, b.product(gate, INNER, WIDTH))
    b.op("Identity", b.product(b.norm(x), WIDTH, WORDS), outputs=["logits"])
    info, f32 = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    cache = [1, KV_HEADS, length, DEPTH]
    pasts = [info(f"past_{n}{i}", f32, cache) for i in range(LAYERS) for n in "kv"]
    nows = [info(f"now_{n}{i}", f32, cache) for i in range(LAYERS) for n in "kv"]
    ends = [[info("word", onnx.TensorProto.INT64, [1, 1]),
             info("last", onnx.TensorProto.INT32, [1]), *pasts],
            [info("logits", f32, [1, 1, WORDS]), *nows]]
    graph = helper.make_graph(b.nodes, "decoder", *ends, b.constants)
    opsets = [helper.make_opsetid("", 24 if form == "standard" else 18),
              helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=10, opset_imports=opsets)


def compiled(folder, model, *options):
    onnx.save(model, folder / "decoder.onnx")
    package = folder / f"decoder{len(options)}.wick"
    subprocess.run([str(cli.wick()), "compile", str(folder / "decoder.onnx"), "-o", str(package),
                    *options], check=True, stdout=subprocess.DEVNULL)
    return package


def step_with_wick(package, folder, feeds):
    command = [str(cli.wick()), "run", str(package), "--output-dir", str(folder / "out"),
               "--state", str(folder / "caches.state")]
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    return np.load(folder / "out" / "logits.npy")


def names_of_caches():
    return [f"past_{n}{i}" for i in range(LAYERS) for n in "kv"]


def compare(o, folder):
    model = decoder(o.tokens, o.bits, o.form)
    words = np.random.default_rng(6).integers(0, WORDS, o.tokens)
    empty = np.zeros((1, KV_HEADS, o.tokens, DEPTH), np.float32)
    worst, largest = 0.0, 0.0
    package = compiled(folder, model, "--state", "past_*=now_*")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    caches = {name: empty for name in names_of_caches()}
    outputs = [x.name for x in session.get_outputs()]
    for i, word in enumerate(words):
        now = {"word": np.array([[word]]), "last": np.array([i], np.int32)}
        got = step_with_wick(package, folder, now)
        want = dict(zip(outputs, session.run(None, {**now, **caches})))
        worst = max(worst, float(np.abs(got - want["logits"]).max()))
        largest = max(largest, float(np.abs(want["logits"]).max()))
        caches = {k: want[k.replace("past", "now")] for k in caches}
    print(f"{o.form}, {'f32' if not o.bits else 'i4'} weights, {o.tokens} tokens: logits up to "
          f"{largest:.3f}, at most {worst:.2e} apart")


def bound_session(model, length):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    binding.bind_cpu_input("word", np.zeros((1, 1), np.int64))
    binding.bind_cpu_input("last", np.array([length - 1], np.int32))
    for name in names_of_caches():
        empty = np.zeros((1, KV_HEADS, length, DEPTH), np.float32)
        value = onnxruntime.OrtValue.ortvalue_from_numpy(empty)
        binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output(name.replace("past", "now"), value)
    binding.bind_output("logits")
    return lambda: session.run_with_iobinding(binding)


def milliseconds_of_wick(package, folder, length, repeat):
    np.save(folder / "last.npy", np.array([length - 1], np.int32))
    text = subprocess.run([str(cli.wick()), "run", str(package), "--threads", "1", "--repeat",
                           str(repeat), "--input", f"last={folder / 'last.npy'}"], check=True,
                          capture_output=True, text=True).stdout
    number, unit = re.search(r"median ([\d.]+) (\w+)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def milliseconds_of(run, repeat):
    times = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times[1:])


def measure(o, folder):
    model = decoder(o.time, o.bits, o.form)
    plain = compiled(folder, model)
    kept = compiled(folder, model, "--state", "past_*=now_*")
    peer = bound_session(model, o.time)
    rows = {"state": lambda: milliseconds_of_wick(kept, folder, o.time, 20),
            "inputs and outputs": lambda: milliseconds_of_wick(plain, folder, o.time, 20),
            "ONNX Runtime": lambda: milliseconds_of(peer, 20)}
    taken = {name: [] for name in rows}
    for _ in range(5):
        for name, run in rows.items():
            taken[name].append(run())
    first = statistics.median(taken["state"])
    print(f"{o.form}, caches of {o.time} positions, ms a token (times the first):")
    for name, times in taken.items():
        print(f"  {name:20} {statistics.median(times):9.3f} "
              f"({statistics.median(times) / first:.2f})")


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--bits", type=int, default=0, choices=(0, 4))
    parser.add_argument("--form", default="microsoft", choices=("microsoft", "standard"))
    parser.add_argument("--time", type=int, default=0)
    o = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as name:
        (measure if o.time else compare)(o, pathlib.Path(name))


if __name__ == "__main__":
    main()
