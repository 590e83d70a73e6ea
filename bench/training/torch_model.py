# SPDX-License-Identifier: Apache-2.0
"""An ONNX model as a function of PyTorch, node by node, with the initialisers as its weights.

Statistics of BatchNormalization move as PyTorch moves them: the running variance is that of n - 1.
"""
import cli
import peers

np, torch = peers.Module("numpy"), peers.Module("torch")
F = peers.Module("torch.nn.functional")
onnx, numpy_helper = peers.Module("onnx"), peers.Module("onnx.numpy_helper")

STATISTICS = 3  # inputs of BatchNormalization from here on


def halves(pads):
    """Padding that is the same on both sides, for PyTorch's one number per axis."""
    n = len(pads) // 2
    if pads[:n] != pads[n:]:
        cli.die(f"pads {pads}: PyTorch pads both sides alike")
    return pads[:n]


def conv(a, x, w, b=None):
    return F.conv2d(x, w, b, a.get("strides", 1), halves(a.get("pads", [0] * 4)),
                    a.get("dilations", 1), a.get("group", 1))


def conv_transpose(a, x, w, b=None):
    return F.conv_transpose2d(x, w, b, a.get("strides", 1), halves(a.get("pads", [0] * 4)))


def max_pool(a, x):
    return F.max_pool2d(x, a["kernel_shape"], a.get("strides", 1), halves(a.get("pads", [0] * 4)))


def batch_norm(a, x, scale, bias, mean, var):
    return F.batch_norm(x, mean, var, scale, bias, a["training"], 1 - a.get("momentum", 0.9),
                        a.get("epsilon", 1e-5))


def gemm(a, x, w, b=None):
    y = (x.t() if a.get("transA") else x) @ (w.t() if a.get("transB") else w)
    return y if b is None else y + b


def layer_norm(a, x, scale, bias=None):
    return F.layer_norm(x, scale.shape, scale, bias, a.get("epsilon", 1e-5))


def gather(a, x, at):
    return x[at] if a.get("axis", 0) == 0 else cli.die("Gather: along axis 0 alone")


def lstm(a, x, w, r, b):
    """One direction, from zeros; gates i o f c become PyTorch's i f c o."""
    def gates(t):
        i, o, f, c = t[0].chunk(4)
        return torch.cat([i, f, c, o])
    zeros = x.new_zeros(1, x.shape[1], a["hidden_size"])
    biases = b[0].chunk(2)
    y, h, c = torch.lstm(x, (zeros, zeros), [gates(w), gates(r), gates(biases[:1]),
                                             gates(biases[1:])], True, 1, 0.0, True, False, False)
    return y[:, None], h, c


OPERATORS = {
    "Add": lambda a, x, y: x + y, "Mul": lambda a, x, y: x * y, "Identity": lambda a, x: x,
    "BatchNormalization": batch_norm, "Concat": lambda a, *x: torch.cat(x, a["axis"]),
    "Constant": lambda a: a["value"], "Conv": conv, "ConvTranspose": conv_transpose,
    "Erf": lambda a, x: torch.erf(x), "Flatten": lambda a, x: x.flatten(1), "Gather": gather,
    "Gemm": gemm, "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True), "LSTM": lstm,
    "LayerNormalization": layer_norm, "MatMul": lambda a, x, y: x @ y, "MaxPool": max_pool,
    "Relu": lambda a, x: torch.relu(x), "Reshape": lambda a, x, shape: x.reshape(shape.tolist()),
    "Softmax": lambda a, x: torch.softmax(x, a.get("axis", -1)),
    "Tanh": lambda a, x: torch.tanh(x), "Transpose": lambda a, x: x.permute(a["perm"]),
}


def tensor(proto):
    return torch.from_numpy(numpy_helper.to_array(proto).copy())


def attributes(node):
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    return {"output": node.output[0], **{k: tensor(v) if isinstance(v, onnx.TensorProto) else v
                                         for k, v in values.items()}}


class Network:
    """weights: trained, by name, as `wick train` chooses them; statistics: moved, by name.
    operators may be replaced; their first argument has the node's attributes, and `output`."""

    def __init__(self, model):
        self.graph, self.operators = model.graph, dict(OPERATORS)
        self.nodes = [(n, attributes(n)) for n in model.graph.node]
        for n, _ in self.nodes:
            if n.op_type not in OPERATORS:
                cli.die(f"{n.op_type}: is not among the operators of bench/training/torch_model.py")
        moved = {i for n, _ in self.nodes if n.op_type == "BatchNormalization"
                 for i in n.input[STATISTICS:]}
        self.values = {t.name: tensor(t) for t in model.graph.initializer}
        self.statistics = {n: t for n, t in self.values.items() if n in moved}
        self.weights = {n: t.requires_grad_() for n, t in self.values.items()
                        if n not in moved and t.is_floating_point() and t.dim()}

    def __call__(self, x, training):
        values = dict(self.values)
        values[self.graph.input[0].name] = x
        for n, a in self.nodes:
            a["training"] = training
            out = self.operators[n.op_type](a, *[values[i] for i in n.input])
            for name, value in zip(n.output, out if isinstance(out, tuple) else (out,)):
                values[name] = value
        return values[self.graph.output[0].name]
