#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a small decoder with seeded weights token by token, teacher-forced, in Wick and in ONNX
Runtime, and prints how far the logits are apart. Keys and values live in tensors of fixed length:
Wick keeps them in the state of the package, ONNX Runtime takes them and gives them back.

With --time N: what a token takes with caches of N positions, one thread, the runs taking turns:
Wick with the caches in its state, and as inputs and outputs; ONNX Runtime with each cache bound
as input and output at once.

--bits 4 writes the weights as MatMulNBits; --convert lets `wick compile` make blocks of those in
f32. Its logits are apart from ONNX Runtime's in f32 by what that loses. With --time, beside it:
Wick in f32 and with MatMulNBits of blocks of 32; ONNX Runtime in f32, with MatMulNBits, and with
that in 8 bits (accuracy_level 4, which rounds the other operand too).

  bench/setup                          once: a virtual environment with the peers
  bench/decoder.py [--tokens N] [--bits 4 | --convert TYPE] [--form microsoft|standard] [--time N]
                   [--width N] [--layers N]
"""
import dataclasses
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

WORDS, BLOCK = 97, 32
STATE = ("--state", "past_*=now_*")


@dataclasses.dataclass
class Sizes:
    """Of a decoder: the width is a multiple of 64, of 128 from 512 on."""
    width: int
    layers: int

    @property
    def depth(self):
        return 16 if self.width < 512 else 64

    @property
    def heads(self):
        return self.width // self.depth

    @property
    def kv_heads(self):
        return self.heads // 2

    @property
    def inner(self):
        return 2 * self.width

    def cache(self, length):
        return [1, self.kv_heads, length, self.depth]

    def caches(self):
        return [f"past_{n}{i}" for i in range(self.layers) for n in "kv"]


class Builder:
    """A graph under construction; constants are named by their order."""

    def __init__(self, sizes, bits, level):
        self.nodes, self.constants, self.sizes, self.bits, self.level = [], [], sizes, bits, level
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
                       block_size=BLOCK, accuracy_level=self.level)

    def norm(self, x):
        gamma = self.constant(1 + self.weights(self.sizes.width))
        square = self.op("ReduceMean", self.op("Mul", x, x), self.constant(np.array([-1])))
        root = self.op("Sqrt", self.op("Add", square, self.constant(np.float32(1e-6))))
        return self.op("Mul", self.op("Div", x, root), gamma)


def microsoft_attention(b, i, qkv, tables, length):
    past, now = ([f"{p}_{x}{i}" for x in "kv"] for p in ("past", "now"))
    return b.op("GroupQueryAttention", *qkv, *past, "last", b.constant(np.int32(length)), *tables,
                outputs=[f"attention{i}", *now], num_heads=b.sizes.heads,
                kv_num_heads=b.sizes.kv_heads, do_rotary=1)


def standard_attention(b, i, qkv, tables, _):
    heads = b.constant(np.array([1, 1, -1, b.sizes.depth]))
    q, k, v = (b.op("Transpose", b.op("Reshape", x, heads), perm=[0, 2, 1, 3]) for x in qkv)
    q, k = (b.op("RotaryEmbedding", x, *tables, "position") for x in (q, k))
    k, v = (b.op("TensorScatter", f"past_{n}{i}", x, "at", outputs=[f"now_{n}{i}"])
            for n, x in (("k", k), ("v", v)))
    y = b.op("Attention", q, k, v, "", "", "", b.op("Add", "at", b.constant(np.array([1]))))
    return b.op("Reshape", b.op("Transpose", y, perm=[0, 2, 1, 3]),
                b.constant(np.array([1, 1, b.sizes.width])))


def decoder(sizes, length, form, bits, level=0):
    b = Builder(sizes, bits, level)
    width, inner = sizes.width, sizes.inner
    rates = 0.01 ** np.linspace(0, 1, sizes.depth // 2)
    angles = np.outer(np.arange(length), rates).astype(np.float32)
    tables = [b.constant(np.cos(angles)), b.constant(np.sin(angles))]
    attention = {"microsoft": microsoft_attention, "standard": standard_attention}[form]
    x = b.op("Gather", b.constant(b.weights(WORDS, width) * 8), "word")
    if form == "standard":
        b.op("Cast", "last", outputs=["at"], to=7)
        b.op("Reshape", "at", b.constant(np.array([1, 1])), outputs=["position"])
    for i in range(sizes.layers):
        h = b.norm(x)
        qkv = [b.product(h, width, n * sizes.depth)
               for n in (sizes.heads, sizes.kv_heads, sizes.kv_heads)]
        y = attention(b, i, qkv, tables, length)
        x = b.op("Add", x, b.product(y, width, width))
        h = b.norm(x)
        gate = b.product(h, width, inner)
        gate = b.op("Mul", gate, b.op("Sigmoid", gate))
        gate = b.op("Mul", gate, b.product(h, width, inner))
        x = b.op("Add", x, b.product(gate, inner, width))
    b.op("Identity", b.product(b.norm(x), width, WORDS), outputs=["logits"])
    info, f32 = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    pasts = [info(x, f32, sizes.cache(length)) for x in sizes.caches()]
    nows = [info(x.replace("past", "now"), f32, sizes.cache(length)) for x in sizes.caches()]
    ends = [[info("word", onnx.TensorProto.INT64, [1, 1]),
             info("last", onnx.TensorProto.INT32, [1]), *pasts],
            [info("logits", f32, [1, 1, WORDS]), *nows]]
    graph = helper.make_graph(b.nodes, "decoder", *ends, b.constants)
    opsets = [helper.make_opsetid("", 24 if form == "standard" else 18),
              helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=10, opset_imports=opsets)


def compiled(folder, name, model, *options):
    onnx.save(model, folder / "decoder.onnx")
    package = folder / f"{name}.wick"
    subprocess.run([str(cli.wick()), "compile", str(folder / "decoder.onnx"), "-o", str(package),
                    "-q", *options], check=True, stdout=subprocess.DEVNULL)
    return package


def step_with_wick(package, folder, feeds):
    command = [str(cli.wick()), "run", str(package), "--output-dir", str(folder / "out"),
               "--state", str(folder / "caches.state")]
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder / name}.npy"]
    subprocess.run(command, check=True, capture_output=True)
    return np.load(folder / "out" / "logits.npy")


def convert_options(o):
    return ["--convert", o.convert] if o.convert else []


def compare(o, folder):
    sizes = Sizes(o.width, o.layers)
    model = decoder(sizes, o.tokens, o.form, o.bits)
    words = np.random.default_rng(6).integers(0, WORDS, o.tokens)
    empty = np.zeros(sizes.cache(o.tokens), np.float32)
    worst, largest = 0.0, 0.0
    package = compiled(folder, "decoder", model, *STATE, *convert_options(o))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    caches = {name: empty for name in sizes.caches()}
    outputs = [x.name for x in session.get_outputs()]
    for i, word in enumerate(words):
        now = {"word": np.array([[word]]), "last": np.array([i], np.int32)}
        got = step_with_wick(package, folder, now)
        want = dict(zip(outputs, session.run(None, {**now, **caches})))
        worst = max(worst, float(np.abs(got - want["logits"]).max()))
        largest = max(largest, float(np.abs(want["logits"]).max()))
        caches = {k: want[k.replace("past", "now")] for k in caches}
    weights = o.convert or ("i4" if o.bits else "f32")
    print(f"{o.form}, {weights} weights, {o.tokens} tokens: logits up to {largest:.3f}, at most "
          f"{worst:.2e} apart")


def bound_session(model, sizes, length):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    binding = session.io_binding()
    binding.bind_cpu_input("word", np.zeros((1, 1), np.int64))
    binding.bind_cpu_input("last", np.array([length - 1], np.int32))
    for name in sizes.caches():
        empty = np.zeros(sizes.cache(length), np.float32)
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


def caches_apart(o, folder, sizes):
    """Wick with caches in its state and outside of it; what is run of ONNX Runtime."""
    model = decoder(sizes, o.time, o.form, o.bits)
    packages = {"state": compiled(folder, "state", model, *STATE),
                "inputs and outputs": compiled(folder, "plain", model)}
    return packages, {"ONNX Runtime": bound_session(model, sizes, o.time)}


def weights_apart(o, folder, sizes):
    """Wick and ONNX Runtime with weights in f32 and in blocks."""
    float_model, packed, in_8_bits = (decoder(sizes, o.time, o.form, bits, level)
                                      for bits, level in ((0, 0), (4, 0), (4, 4)))
    packages = {o.convert: compiled(folder, "convert", float_model, *STATE, *convert_options(o)),
                "f32": compiled(folder, "f32", float_model, *STATE),
                "MatMulNBits": compiled(folder, "packed", packed, *STATE)}
    peer_models = {"": float_model, ", MatMulNBits": packed, ", in 8 bits": in_8_bits}
    return packages, {f"ONNX Runtime{name}": bound_session(model, sizes, o.time)
                      for name, model in peer_models.items()}


def measure(o, folder):
    sizes = Sizes(o.width, o.layers)
    packages, sessions = (weights_apart if o.convert else caches_apart)(o, folder, sizes)
    taken = {name: [] for name in (*packages, *sessions)}
    for _ in range(5):
        for name, package in packages.items():
            taken[name].append(milliseconds_of_wick(package, folder, o.time, 20))
        for name, session in sessions.items():
            taken[name].append(milliseconds_of(session, 20))
    first = statistics.median(next(iter(taken.values())))
    print(f"{o.form}, caches of {o.time} positions, ms a token (times the first), MiB of package:")
    for name, times in taken.items():
        size = f"{packages[name].stat().st_size / 2 ** 20:9.1f}" if name in packages else ""
        print(f"  {name:26} {statistics.median(times):9.3f} "
              f"({statistics.median(times) / first:.2f}) {size}".rstrip())


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--tokens", type=int, default=64)
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--bits", type=int, default=0, choices=(0, 4))
    weights.add_argument("--convert", metavar="TYPE", help="as that of wick compile: i4, i8:128")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=cli.at_least(1), default=2)
    parser.add_argument("--form", default="microsoft", choices=("microsoft", "standard"))
    parser.add_argument("--time", type=int, default=0)
    o = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as name:
        (measure if o.time else compare)(o, pathlib.Path(name))


if __name__ == "__main__":
    main()
