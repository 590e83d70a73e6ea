# SPDX-License-Identifier: Apache-2.0
"""Networks to train, as ONNX models in f32 or f64 with seeded weights, and their samples."""
import pathlib
import subprocess

import cli
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

LICENCES = pathlib.Path("/usr/share/common-licenses")
CHARACTERS = 128


class Builder:
    """Nodes and weights; values are names, and a node's result has a new one."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(1)

    def weight(self, *shape, scale=None):
        """Normal, of the variance 1 / shape[0], or `scale` times that deviation from 0."""
        scale = shape[0] ** -0.5 if scale is None else scale
        return self.array(self.rng.standard_normal(shape) * scale)

    def array(self, values):
        values = np.asarray(values)
        name = f"w{len(self.weights)}"
        kind = values.dtype if values.dtype.kind == "i" else np.float32
        self.weights.append(numpy_helper.from_array(values.astype(kind), name))
        return name

    def constant(self, values):
        """One that is not trained."""
        return self.node("Constant", value=numpy_helper.from_array(values.astype(np.float32)))

    def node(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}" + ("" if i == 0 else f".{i}") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x, *shape):
        return self.node("Reshape", x, self.array(np.array(shape, np.int64)))

    def linear(self, x, n, m):
        return self.node("Add", self.node("MatMul", x, self.weight(n, m)), self.weight(m, scale=0))

    def model(self, name, x, y):
        """x: (name, type, shape); y: (value, shape)."""
        self.nodes.append(helper.make_node("Identity", [y[0]], ["y"]))
        graph = helper.make_graph(
            self.nodes, name, [helper.make_tensor_value_info(*x)],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, y[1])], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def in_f64(model):
    """The same model with what is f32 in f64."""
    out = onnx.ModelProto()
    out.CopyFrom(model)
    constants = [a.t for n in out.graph.node for a in n.attribute if n.op_type == "Constant"]
    for t in (*out.graph.initializer, *constants):
        if t.data_type == onnx.TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    for v in (*out.graph.input, *out.graph.output):
        if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            v.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    del out.graph.value_info[:]
    return out


def zoo(name, *options):
    """A network of the zoo."""
    def make(folder):
        path = folder / f"{name}.onnx"
        subprocess.run([cli.wick(), "zoo", name, *options, "-o", path], check=True,
                       stdout=subprocess.DEVNULL)
        return onnx.load(path)
    return make


def mlp(_folder, batch=32, hidden=64):
    b = Builder()
    h = b.node("Tanh", b.linear(b.node("Flatten", "x", axis=1), 64, hidden))
    h = b.node("Relu", b.linear(h, hidden, hidden))
    return b.model("mlp", ("x", onnx.TensorProto.FLOAT, [batch, 1, 8, 8]),
                   (b.linear(h, hidden, 10), [batch, 10]))


def lstm(_folder, batch=32, length=24, width=32, hidden=48):
    """The character behind `length` others."""
    b = Builder()
    x = b.node("Gather", b.weight(CHARACTERS, width, scale=0.5), "x")
    x = b.node("Transpose", x, perm=[1, 0, 2])
    scale = hidden ** -0.5 / 2
    outputs = b.node("LSTM", x, b.weight(1, 4 * hidden, width, scale=scale),
                     b.weight(1, 4 * hidden, hidden, scale=scale),
                     b.weight(1, 8 * hidden, scale=scale), outputs=3, hidden_size=hidden)
    y = b.linear(b.reshape(outputs[1], batch, hidden), hidden, CHARACTERS)
    return b.model("lstm", ("x", onnx.TensorProto.INT64, [batch, length]),
                   (y, [batch, CHARACTERS]))


def transformer(_folder, batch=8, length=32, width=32, heads=4, layers=4):
    """The character behind each: scores [batch, characters, length]."""
    b, part = Builder(), width // heads
    x = b.node("Gather", b.weight(CHARACTERS, width, scale=0.5), "x")
    x = b.node("Add", x, b.weight(length, width, scale=0.1))
    mask = b.constant(np.triu(np.full((length, length), -1e4), 1))
    scale = b.constant(np.array(part ** -0.5))
    norm = lambda t: b.node("LayerNormalization", t, b.array(np.ones(width)),
                            b.array(np.zeros(width)))
    one, half, root = (b.constant(np.array(v)) for v in (1, 0.5, 0.5 ** 0.5))
    gelu = lambda t: b.node("Mul", b.node("Mul", t, half), b.node(
        "Add", b.node("Erf", b.node("Mul", t, root)), one))
    for _ in range(layers):
        h = norm(x)
        q, k, v = (b.node("Transpose", b.reshape(b.node("MatMul", h, b.weight(width, width)),
                                                 batch, length, heads, part), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        s = b.node("Add", b.node("Mul", b.node("MatMul", q, k), scale), mask)
        h = b.node("Transpose", b.node("MatMul", b.node("Softmax", s, axis=-1), v),
                   perm=[0, 2, 1, 3])
        h = b.node("MatMul", b.reshape(h, batch, length, width), b.weight(width, width))
        x = b.node("Add", x, h)
        h = gelu(b.linear(norm(x), width, 4 * width))
        x = b.node("Add", x, b.linear(h, 4 * width, width))
    y = b.node("Transpose", b.linear(norm(x), width, CHARACTERS), perm=[0, 2, 1])
    return b.model("transformer", ("x", onnx.TensorProto.INT64, [batch, length]),
                   (y, [batch, CHARACTERS, length]))


def unet(_folder, batch=4, side=32, width=8):
    """Two levels: what is to be added to a noisy patch."""
    b = Builder()

    def conv(x, n, m, last=False):
        scale = (9 * n) ** -0.5
        h = b.node("Conv", x, b.weight(m, n, 3, 3, scale=scale), b.weight(m, scale=0),
                   pads=[1] * 4)
        return h if last else b.node("Relu", h)

    def half(x):
        return b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])

    def double(x, n, m, skip):
        up = b.node("ConvTranspose", x, b.weight(n, m, 2, 2, scale=n ** -0.5),
                    b.weight(m, scale=0), strides=[2, 2])
        return b.node("Concat", up, skip, axis=1)
    top = conv("x", 3, width)
    middle = conv(half(top), width, 2 * width)
    h = conv(half(middle), 2 * width, 4 * width)
    h = conv(double(h, 4 * width, 2 * width, middle), 4 * width, 2 * width)
    h = conv(double(h, 2 * width, width, top), 2 * width, width)
    y = b.node("Add", "x", conv(h, width, 3, last=True))
    shape = [batch, 3, side, side]
    return b.model("unet", ("x", onnx.TensorProto.FLOAT, shape), (y, shape))


# ---- samples: (x, y) of each step, other ones for each seed --------------------------------------

def load(path):
    try:
        return np.load(path)
    except (OSError, ValueError) as error:
        cli.die(f"{path}: {error}")


class Digits:
    """Every fifth is held out; the others come in an order of their own in each epoch."""
    seed = 0

    def __init__(self, folder, batch=32):
        x, y = load(folder / "x.npy"), load(folder / "y.npy")
        held = np.arange(len(x)) % 5 == 4
        self.held_out = x[held], y[held]
        self.x, self.y, self.batch = x[~held], y[~held], batch

    def __call__(self, step):
        per_epoch = len(self.x) // self.batch
        order = np.random.default_rng([2, self.seed, step // per_epoch]).permutation(len(self.x))
        at = order[step % per_epoch * self.batch:][:self.batch]
        return self.x[at], self.y[at]


class Text:
    """Pieces of the licence texts that every Debian has. next_only: y is the character behind the
    piece, else the one behind each of its characters."""
    seed, held_out = 0, None

    def __init__(self, batch, length, next_only):
        files = sorted(p for p in LICENCES.glob("*") if p.is_file() and not p.is_symlink())
        self.text = np.frombuffer(b"".join(p.read_bytes() for p in files), np.uint8) & 127
        if len(self.text) <= length:
            cli.die(f"{LICENCES}: there are no texts")
        self.batch, self.length, self.next_only = batch, length, next_only

    def __call__(self, step):
        rng = np.random.default_rng([3, self.seed, step])
        starts = rng.integers(0, len(self.text) - self.length, self.batch)
        pieces = self.text[starts[:, None] + np.arange(self.length + 1)].astype(np.int64)
        return pieces[:, :-1], pieces[:, -1] if self.next_only else pieces[:, 1:]


class Photos:
    """Patches with noise, and without. Where there are no photos: patches of waves."""
    seed, held_out = 0, None

    def __init__(self, folder, batch=4, side=32):
        files = sorted(folder.glob("*.npy")) if folder else []
        self.photos = [load(f).astype(np.float32) / 255 for f in files] or [self.waves()]
        self.batch, self.side = batch, side

    @staticmethod
    def waves():
        u, v = np.meshgrid(np.arange(256), np.arange(256))
        return np.stack([np.sin(u * a + v * b) / 2 + 0.5 for a, b in
                         ((0.1, 0.2), (0.3, -0.1), (0.05, 0.4))], -1).astype(np.float32)

    def __call__(self, step):
        rng, patches = np.random.default_rng([4, self.seed, step]), []
        for _ in range(self.batch):
            photo = self.photos[rng.integers(len(self.photos))]
            top, left = (rng.integers(n - self.side) for n in photo.shape[:2])
            patches.append(photo[top:top + self.side, left:left + self.side].transpose(2, 0, 1))
        y = np.stack(patches)
        return y + rng.normal(0, 0.1, y.shape).astype(np.float32), y
