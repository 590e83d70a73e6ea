# SPDX-License-Identifier: Apache-2.0
"""What builds the models of bench/extents.py: an ONNX graph node by node, with seeded weights, and
with the arithmetic on shapes that torch.onnx and tf2onnx write. A model is a function that builds
one, behind @model with the bounds of its sizes; its first line says what it is.

A size whose name begins with _ is none of an input's shape: it rules the values that are drawn, and
by them the shapes of the outputs. A size may be the sum of others: total="past+seq", or rise by
steps: height=(32, 96, 16).
"""
import math

import peers

np = peers.Module("numpy")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

F32, BOOL, I32, I64 = 1, 9, 6, 7    # TensorProto.DataType
END = 2 ** 63 - 1          # how torch.onnx writes the end of x[1:]
POSITIONS = 64
MODELS = {}


class Model:
    def __init__(self, build, bounds):
        self.sums = {name: b.split("+") for name, b in bounds.items() if isinstance(b, str)}
        bounds = {name: b for name, b in bounds.items() if name not in self.sums}
        self.steps = {name: b[2] for name, b in bounds.items() if len(b) > 2}
        bounds = {name: b[:2] for name, b in bounds.items()}
        bounds |= {name: tuple(sum(bounds[part][end] for part in parts) for end in (0, 1))
                   for name, parts in self.sums.items()}
        self.bounds, self.about = bounds, build.__doc__.split("\n\n")[0].rstrip(".")
        self.build = build

    def built(self):
        builder = Builder()
        self.build(builder)
        return builder


def model(**bounds):
    def keep(build):
        MODELS[build.__name__] = Model(build, bounds)
        return build
    return keep


# How the values of an input are drawn: by its shape, and by the sizes of the draw.

def normal(rng, shape, _):
    return rng.standard_normal(shape).astype(np.float32)


def below(n):
    return lambda rng, shape, _: rng.integers(0, n, shape)


def lengths_up_to(rng, n, longest):
    lengths = rng.integers(1, longest + 1, n)
    lengths[rng.integers(n)] = longest
    return lengths


def padding(rng, shape, _):
    """1 for each word of a batch of texts, 0 behind its end; a text has one word or more."""
    return (np.arange(shape[1]) < lengths_up_to(rng, *shape)[:, None]).astype(np.int64)


def few_above(threshold, size):
    """As many values above the threshold as a size of the draw says; no other is near it."""
    def draw(rng, shape, sizes):
        far = rng.uniform(.05, 2, math.prod(shape))
        above = rng.permutation(far.size) < sizes[size]
        return (threshold + np.where(above, far, -far)).reshape(shape).astype(np.float32)
    return draw


class Builder:
    """A graph under construction. b.Add(x, y) adds an operator and gives the name of its result.
    Numbers and lists become nodes Constant, arrays initializers."""

    def __init__(self):
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.draws, self.renamed = {}, {}
        self.most = {}                      # of values that decide sizes: --bound
        self.opset, self.domains, self.count = 17, set(), 0
        self.rng = np.random.default_rng(5)

    def __getattr__(self, kind):
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    def op(self, kind, *inputs, count=1, domain="", **attributes):
        inputs = [self.value(x) for x in inputs]
        self.count += 1
        name = f"/{kind}_{self.count - 1}"
        names = [f"{name}_output_{i}" for i in range(count)]
        node = helper.make_node(kind, inputs, names, name=name, domain=domain, **attributes)
        self.nodes.append(node)
        self.domains.add(domain)
        return names if count > 1 else names[0]

    def value(self, x):
        if isinstance(x, str):
            return x
        if isinstance(x, (int, float, list)):
            kind = np.float32 if isinstance(x, float) else np.int64
            return self.op("Constant", value=numpy_helper.from_array(np.asarray(x, kind)))
        self.weights.append(numpy_helper.from_array(np.asarray(x), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def graph(self, results, inputs=()):
        """A graph for an attribute, built by results(); inputs: names, element types, shapes."""
        around, self.nodes = self.nodes, []
        try:
            outputs = results()
            inputs = [helper.make_tensor_value_info(*x) for x in inputs]
            outputs = [helper.make_tensor_value_info(x, kind, None) for x, kind in outputs]
            return helper.make_graph(self.nodes, f"graph_{self.count}", inputs, outputs)
        finally:
            self.nodes = around

    def input(self, name, shape, values=normal, kind=F32):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.draws[name] = (shape, values)
        return name

    def output(self, name, value, shape, kind=F32):
        if value in self.renamed:
            value = self.Identity(value)
        self.renamed[value] = name
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def drawn(self, rng, sizes):
        """Values for the inputs, by name."""
        kinds = {x.name: helper.tensor_dtype_to_np_dtype(x.type.tensor_type.elem_type)
                 for x in self.inputs}
        return {name: values(rng, [sizes.get(n, n) for n in shape], sizes).astype(kinds[name])
                for name, (shape, values) in self.draws.items()}

    def model(self):
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [self.renamed.get(x, x) for x in names]
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid(x, 1) for x in sorted(self.domains - {""})]
        opsets.insert(0, helper.make_opsetid("", self.opset))
        ir_version = 8 if self.opset < 18 else 10
        return helper.make_model(graph, ir_version=ir_version, opset_imports=opsets)

    # Weights.

    def random(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def matrix(self, *shape):
        """Weights whose products keep the size of values; the last axes are what is summed over
        where there are more than two."""
        summed = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        return self.random(*shape) / np.float32(math.sqrt(summed))

    # Shapes as torch.onnx writes them: sizes are scalars.

    def size(self, x, axis):
        return self.Gather(self.Shape(x), axis, axis=0)

    def dims(self, *parts):
        """A shape from sizes and numbers."""
        return self.Concat(*([p] if isinstance(p, int) else self.Unsqueeze(p, [0]) for p in parts),
                           axis=0)

    def view(self, x, *parts):
        return self.Reshape(x, self.dims(*parts))

    def expand(self, x, *parts):
        """x.expand(parts), in which -1 leaves an axis as it is."""
        shape = self.Reshape(self.dims(*parts), [-1])
        ones = self.ConstantOfShape(self.Shape(shape), value=whole(1))
        return self.Expand(x, self.Where(self.Equal(shape, self.Mul(ones, -1)), ones, shape))

    def slice(self, x, axis, start, end):
        start, end = ([p] if isinstance(p, int) else self.Unsqueeze(p, [0]) for p in (start, end))
        return self.Slice(x, start, end, [axis], [1])

    # Shapes as tf2onnx writes them: in 32 bits, until they are used.

    def tf_size(self, x, axis):
        shape = self.Cast(self.Shape(x), to=I32)
        return self.Squeeze(self.Slice(shape, [axis], [axis + 1], [0]), [0])

    def tf_view(self, x, *parts):
        parts = [np.int32([p]) if isinstance(p, int) else self.Unsqueeze(p, [0]) for p in parts]
        return self.Reshape(x, self.Cast(self.Concat(*parts, axis=0), to=I64))

    # Layers.

    def linear(self, x, k, n, bias=True):
        y = self.MatMul(x, self.matrix(k, n))
        return self.Add(self.random(n) * np.float32(.1), y) if bias else y

    def norm(self, x, n):
        return self.LayerNormalization(x, 1 + self.random(n) / 8, self.random(n) / 8, axis=-1)

    def old_norm(self, x, n):
        """LayerNorm from single operators, as before opset 17."""
        off = self.Sub(x, self.ReduceMean(x, axes=[-1]))
        square = self.ReduceMean(self.Pow(off, 2.0), axes=[-1])
        y = self.Div(off, self.Sqrt(self.Add(square, 1e-5)))
        return self.Add(self.Mul(y, 1 + self.random(n) / 8), self.random(n) / 8)

    def rms_norm(self, x, n):
        square = self.ReduceMean(self.Pow(x, 2.0), axes=[-1])
        root = self.Sqrt(self.Add(square, 1e-6))
        return self.Mul(1 + self.random(n) / 8, self.Mul(x, self.Div(1.0, root)))

    def gelu(self, x):
        y = self.Add(self.Erf(self.Div(x, math.sqrt(2))), 1.0)
        return self.Mul(self.Mul(x, y), .5)

    def gelu_by_tanh(self, x):
        y = self.Add(x, self.Mul(self.Pow(x, 3.0), .044715))
        y = self.Add(self.Tanh(self.Mul(y, math.sqrt(2 / math.pi))), 1.0)
        return self.Mul(self.Mul(x, .5), y)

    def gated(self, x, width, inner):
        """A layer whose gate is SiLU."""
        gate = self.linear(x, width, inner, False)
        gate = self.Mul(self.Mul(gate, self.Sigmoid(gate)), self.linear(x, width, inner, False))
        return self.linear(gate, inner, width, False)

    def conv(self, x, k, n, sizes, **attributes):
        bias = self.random(n) * np.float32(.1)
        return self.Conv(x, self.matrix(n, k, *sizes), bias, kernel_shape=sizes, **attributes)

    def split_heads(self, x, heads, depth):
        y = self.view(x, self.size(x, 0), self.size(x, 1), heads, depth)
        return self.Transpose(y, perm=[0, 2, 1, 3])

    def join_heads(self, x, width):
        y = self.Transpose(x, perm=[0, 2, 1, 3])
        return self.view(y, self.size(y, 0), self.size(y, 1), width)

    def scores(self, q, k):
        return self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2]))


def whole(n):
    """The attribute of ConstantOfShape for an i64."""
    return helper.make_tensor("value", I64, [1], [n])


def real(x):
    return helper.make_tensor("value", F32, [1], [x])
