# SPDX-License-Identifier: Apache-2.0
"""A decoder with seeded weights as optimum and torch write it: rotary positions, grouped heads,
caches that grow (past_key_values.* to present.*), an attention mask over all positions, causal
masks made of shapes."""
import dataclasses

import peers

np, onnx = (peers.Module(name) for name in ("numpy", "onnx"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


@dataclasses.dataclass(frozen=True)
class Size:
    words: int
    width: int
    heads: int
    kv_heads: int
    depth: int
    inner: int
    layers: int
    positions: int  # of the tables of rotary positions


TOY = Size(97, 64, 4, 2, 16, 128, 2, 8192)
SMALL = Size(8192, 512, 8, 4, 64, 1536, 8, 8192)  # 32 million parameters


class Graph:
    """A graph under construction; constants are named by their order."""

    def __init__(self, size, seed=5):
        self.size, self.nodes, self.constants = size, [], []
        self.rng = np.random.default_rng(seed)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def op(self, kind, *inputs, outputs=None, **attributes):
        names = outputs or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def weights(self, *shape):
        return (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    def product(self, x, k, n):
        return self.op("MatMul", x, self.constant(self.weights(k, n)))

    def norm(self, x):
        gamma = self.constant(1 + self.weights(self.size.width))
        square = self.op("Pow", x, self.constant(np.float32(2)))
        mean = self.op("ReduceMean", square, self.ints(-1), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.constant(np.float32(1e-6))))
        return self.op("Mul", gamma, self.op("Div", x, root))

    def dim(self, x, axis):
        return self.op("Gather", self.op("Shape", x), self.ints(axis), axis=0)


def rotated(g, x, cos, sin):
    """x [b, heads, s, depth] times cos, plus its halves, swapped, times sin."""
    half = g.size.depth // 2
    low = g.op("Slice", x, g.ints(0), g.ints(half), g.ints(3))
    high = g.op("Slice", x, g.ints(half), g.ints(2 * half), g.ints(3))
    swapped = g.op("Concat", g.op("Neg", high), low, axis=-1)
    return g.op("Add", g.op("Mul", x, cos), g.op("Mul", swapped, sin))


def rotary(g):
    rates = 10000.0 ** -(np.arange(0, g.size.depth, 2) / g.size.depth)
    angles = np.outer(np.arange(g.size.positions), np.concatenate([rates, rates]))
    return [g.op("Unsqueeze", g.op("Gather", g.constant(table.astype(np.float32)), "position_ids"),
                 g.ints(1)) for table in (np.cos(angles), np.sin(angles))]


def bias_of_masks(g):
    """0 where a query sees a key, else the least number: [b, 1, s, t]."""
    s, t = g.dim("input_ids", 1), g.dim("attention_mask", 1)
    past = g.op("Sub", t, s)
    scalar = g.ints()
    begin, end = (g.op("Reshape", x, scalar) for x in (past, t))
    zero, one = (g.constant(np.int64(v)) for v in (0, 1))
    queries = g.op("Unsqueeze", g.op("Range", begin, end, one), g.ints(1))
    keys = g.op("Unsqueeze", g.op("Range", zero, end, one), g.ints(0))
    causal = g.op("Unsqueeze", g.op("LessOrEqual", keys, queries), g.ints(0, 1))
    there = g.op("Cast", g.op("Unsqueeze", "attention_mask", g.ints(1, 2)), to=9)
    seen = g.op("And", causal, there)
    least = g.constant(np.float32(np.finfo(np.float32).min))
    return g.op("Where", seen, g.constant(np.float32(0)), least)


def split_heads(g, x, heads):
    shape = g.op("Concat", g.dim(x, 0), g.dim(x, 1), g.ints(heads, g.size.depth), axis=0)
    return g.op("Transpose", g.op("Reshape", x, shape), perm=[0, 2, 1, 3])


def repeated(g, x):
    """[b, kv_heads, t, depth] to [b, heads, t, depth]."""
    z, times = g.size, g.size.heads // g.size.kv_heads
    b, t = g.dim(x, 0), g.dim(x, 2)
    wide = g.op("Concat", b, g.ints(z.kv_heads, times), t, g.ints(z.depth), axis=0)
    shape = g.op("Concat", b, g.ints(z.heads), t, g.ints(z.depth), axis=0)
    return g.op("Reshape", g.op("Expand", g.op("Unsqueeze", x, g.ints(2)), wide), shape)


def attention(g, x, i, tables, bias):
    z = g.size
    q, k, v = (split_heads(g, g.product(x, z.width, n * z.depth), n)
               for n in (z.heads, z.kv_heads, z.kv_heads))
    q, k = (rotated(g, t, *tables) for t in (q, k))
    k, v = (g.op("Concat", f"past_key_values.{i}.{name}", t, axis=2,
                 outputs=[f"present.{i}.{name}"]) for name, t in (("key", k), ("value", v)))
    k, v = repeated(g, k), repeated(g, v)
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.op("Mul", scores, g.constant(np.float32(z.depth ** -0.5)))
    y = g.op("MatMul", g.op("Softmax", g.op("Add", scores, bias), axis=-1), v)
    y = g.op("Transpose", y, perm=[0, 2, 1, 3])
    shape = g.op("Concat", g.dim(y, 0), g.dim(y, 1), g.ints(z.heads * z.depth), axis=0)
    return g.product(g.op("Reshape", y, shape), z.heads * z.depth, z.width)


def feed_forward(g, x):
    gate = g.product(x, g.size.width, g.size.inner)
    gate = g.op("Mul", gate, g.op("Sigmoid", gate))
    gate = g.op("Mul", gate, g.product(x, g.size.width, g.size.inner))
    return g.product(gate, g.size.inner, g.size.width)


def growing(size=TOY, seed=5):
    g, info, f32 = Graph(size, seed), helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    tables, bias = rotary(g), bias_of_masks(g)
    x = g.op("Gather", g.constant(g.weights(size.words, size.width) * size.words ** 0.5),
             "input_ids")
    for i in range(size.layers):
        x = g.op("Add", x, attention(g, g.norm(x), i, tables, bias))
        x = g.op("Add", x, feed_forward(g, g.norm(x)))
    g.op("Identity", g.product(g.norm(x), size.width, size.words), outputs=["logits"])
    total, i64 = "past_sequence_length + sequence_length", onnx.TensorProto.INT64
    now, caches = ["batch_size", "sequence_length"], [
        f"{i}.{name}" for i in range(size.layers) for name in ("key", "value")]
    shape = ["batch_size", size.kv_heads, "past_sequence_length", size.depth]
    inputs = [info("input_ids", i64, now), info("attention_mask", i64, ["batch_size", total]),
              info("position_ids", i64, now),
              *(info(f"past_key_values.{name}", f32, shape) for name in caches)]
    shape = ["batch_size", size.kv_heads, total, size.depth]
    outputs = [info("logits", f32, [*now, size.words]),
               *(info(f"present.{name}", f32, shape) for name in caches)]
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])
