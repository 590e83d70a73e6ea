# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as a jitted step of training in JAX: value_and_grad of the loss, then the
optimiser, in one program that overwrites its state. Everything is f32.

Images and the weights of their convolutions are NHWC and HWIO throughout, which is faster on
processors than NCHW and OIHW; labels and what is behind Flatten are in the order of the model. XLA
uses as many threads as the process may use processors.
"""
import os

import cli
import peers

np = peers.Module("numpy")
onnx, numpy_helper = peers.Module("onnx"), peers.Module("onnx.numpy_helper")
jax, lax, jnp = peers.Module("jax"), peers.Module("jax.lax"), peers.Module("jax.numpy")

ORDER = ("NHWC", "HWIO", "NHWC")
STATISTICS = 3  # inputs of BatchNormalization from here on


def pairs(pads):
    n = len(pads) // 2
    return list(zip(pads[:n], pads[n:]))


def conv(a, x, w, b=None):
    y = lax.conv_general_dilated(x, w, a.get("strides", [1, 1]), pairs(a.get("pads", [0] * 4)),
                                 rhs_dilation=a.get("dilations", [1, 1]), dimension_numbers=ORDER,
                                 feature_group_count=a.get("group", 1))
    return y if b is None else y + b


def max_pool(a, x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *a["kernel_shape"], 1),
                             (1, *a.get("strides", [1, 1]), 1),
                             [(0, 0), *pairs(a.get("pads", [0] * 4)), (0, 0)])


def batch_norm(a, x, scale, bias, mean, var):
    """The batch's statistics; the running ones become its results 1 and 2, as PyTorch's."""
    count, keep = x.size // x.shape[-1], a.get("momentum", 0.9)
    m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
    y = (x - m) * (lax.rsqrt(v + a.get("epsilon", 1e-5)) * scale) + bias
    return (y, keep * mean + (1 - keep) * m,
            keep * var + (1 - keep) * v * (count / (count - 1)))


def gemm(a, x, w, b=None):
    y = (x.T if a.get("transA") else x) @ (w.T if a.get("transB") else w)
    return y if b is None else y + b


def layer_norm(a, x, scale, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) * lax.rsqrt(v + a.get("epsilon", 1e-5)) * scale + bias


def flatten(a, x):
    return (x.transpose(0, 3, 1, 2) if x.ndim == 4 else x).reshape(x.shape[0], -1)


OPERATORS = {
    "Add": lambda a, x, y: x + y, "Mul": lambda a, x, y: x * y, "Identity": lambda a, x: x,
    "BatchNormalization": batch_norm, "Constant": lambda a: a["value"], "Conv": conv,
    "Erf": lambda a, x: lax.erf(x), "Flatten": flatten,
    "Gather": lambda a, x, at: x[at] if a.get("axis", 0) == 0 else cli.die("Gather: axis is not 0"),
    "Gemm": gemm, "GlobalAveragePool": lambda a, x: x.mean((1, 2), keepdims=True),
    "LayerNormalization": layer_norm, "MatMul": lambda a, x, y: x @ y, "MaxPool": max_pool,
    "Relu": lambda a, x: jax.nn.relu(x), "Reshape": lambda a, x, shape: x.reshape(shape),
    "Softmax": lambda a, x: jax.nn.softmax(x, a.get("axis", -1)),
    "Transpose": lambda a, x: x.transpose(a["perm"]),
}


# ---- optimisers: a new weight and its new moments, of PyTorch's hyperparameters ------------------

def momentum(o, t, w, g, m):
    m = o["momentum"] * m + g
    return w - o["lr"] * m, m


def adam(o, t, w, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - o["lr"] / (1 - 0.9 ** t) * m / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), m, v


# Function, number of moments.
OPTIMIZERS = {"momentum": (momentum, 1), "adam": (adam, 2)}


def cross_entropy(y, labels):
    """The classes are along axis 1."""
    logs = jax.nn.log_softmax(y, 1)
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()


class Step:
    """Called with a sample it makes a step and returns the loss. options: as of torch.optim;
    flags: XLA's, which it reads once in a process."""

    def __init__(self, model, optimizer, options, flags=""):
        os.environ["XLA_FLAGS"] = flags
        self.graph, self.number = model.graph, 0
        self.nodes = [(n, self.attributes(n)) for n in model.graph.node]
        for n, _ in self.nodes:
            if n.op_type not in OPERATORS:
                cli.die(f"{n.op_type}: is not among the operators of bench/training/jax_model.py")
        self.update, moments_n = OPTIMIZERS[optimizer]
        self.options = options
        filters = {n.input[1] for n, _ in self.nodes if n.op_type == "Conv"}
        self.moved = {i: n.output[0] for n, _ in self.nodes if n.op_type == "BatchNormalization"
                      for i in n.input[STATISTICS:]}
        arrays = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        # Shapes are known when the program is made, so they stay NumPy's.
        self.fixed = {n: v for n, v in arrays.items() if v.dtype.kind == "i" or not v.ndim}
        floats = {n: jnp.array(v.transpose(2, 3, 1, 0) if n in filters else v)
                  for n, v in arrays.items() if n not in self.fixed}
        statistics = {n: floats.pop(n) for n in self.moved}
        moments = {n: [jnp.zeros_like(w) for _ in range(moments_n)] for n, w in floats.items()}
        self.state = floats, moments, statistics
        self.program = jax.jit(self.step, donate_argnums=0)

    @staticmethod
    def attributes(node):
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return {k: numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v
                for k, v in values.items()}

    def loss(self, weights, statistics, x, labels):
        values, moved = {**self.fixed, **weights, **statistics}, {}
        values[self.graph.input[0].name] = x
        for n, a in self.nodes:
            out = OPERATORS[n.op_type](a, *[values[i] for i in n.input])
            if n.op_type == "BatchNormalization":
                out, *news = out
                moved.update(zip(n.input[STATISTICS:], news))
            values[n.output[0]] = out
        return cross_entropy(values[self.graph.output[0].name], labels), moved

    def step(self, state, number, x, labels):
        weights, moments, statistics = state
        (loss, moved), gradients = jax.value_and_grad(self.loss, has_aux=True)(
            weights, statistics, x, labels)
        news = {n: self.update(self.options, number, w, gradients[n], *moments[n])
                for n, w in weights.items()}
        return ({n: new[0] for n, new in news.items()},
                {n: list(new[1:]) for n, new in news.items()}, moved), loss

    def place(self, x, labels):
        """A sample in the order of the program."""
        return jnp.array(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x), jnp.array(labels)

    def __call__(self, x, labels):
        self.number += 1
        self.state, loss = self.program(self.state, np.float32(self.number), x, labels)
        return float(loss)
