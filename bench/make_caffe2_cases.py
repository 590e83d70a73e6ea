#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/caffe2: small Caffe2 nets with the results of their definitions in NumPy.

  bench/setup                        once: a virtual environment with the peers
  bench/make_caffe2_cases.py [--out FOLDER]
"""
import json
import pathlib

import caffe2_net
import cli
import peers

np = peers.Module("numpy")
numpy_helper = peers.Module("onnx.numpy_helper")


class Case:
    """A net in the making: each step adds an operator and computes what it means."""

    def __init__(self, name, seed):
        self.rng = np.random.default_rng(seed)
        self.net = caffe2_net.message("NetDef")(name=name)
        self.inputs, self.weights, self.value = {}, {}, {}

    def draw(self, name, *shape, low=None):
        value = self.rng.standard_normal(shape) if low is None else self.rng.uniform(low, 2, shape)
        self.value[name] = value.astype(np.float32)

    def input(self, name, *shape):
        self.draw(name, *shape)
        self.inputs[name] = self.value[name]
        self.net.external_input.append(name)

    def weight(self, name, *shape, low=None):
        self.draw(name, *shape, low=low)
        self.weights[name] = self.value[name]

    def op(self, kind, inputs, output, result, **arguments):
        inputs = inputs.split()
        op = self.net.op.add(type=kind, input=inputs, output=output.split())
        for name, v in arguments.items():
            a = op.arg.add(name=name)
            if isinstance(v, (list, tuple)):
                a.ints.extend(v)
            else:
                setattr(a, {int: "i", float: "f", str: "s"}[type(v)],
                        v.encode() if isinstance(v, str) else v)
        self.value[op.output[0]] = np.asarray(result(*[self.value[i] for i in inputs]), np.float32)

    def write(self, out, *outputs):
        self.net.external_output.extend(outputs)
        data = out / self.net.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        caffe2_net.write(self.net, data.parent / "predict_net.pbtxt")
        caffe2_net.write(caffe2_net.fills(self.weights), data.parent / "init_net.pb")
        infos = {k: [1, list(v.shape)] for k, v in self.inputs.items()}
        (data.parent / "value_info.json").write_text(json.dumps(infos) + "\n")
        for i, (k, v) in enumerate(self.inputs.items()):
            (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(v, k).SerializeToString())
        for i, k in enumerate(outputs):
            tensor = numpy_helper.from_array(self.value[k], k)
            (data / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


# ---- definitions, with the channels first --------------------------------------------------------

def windows(x, kernel, stride, pads, fill, size=None):
    """[n, c, oh, ow, kh, kw]; pads: top, left, bottom, right."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))[:, :, ::stride, ::stride]
    return view if size is None else view[:, :, :size[0], :size[1]]


def conv(x, f, bias, stride=1, pads=(0, 0, 0, 0), group=1):
    n, m = x.shape[1] // group, f.shape[0] // group
    parts = [np.einsum("nchwij,mcij->nmhw",
                       windows(x[:, g * n:(g + 1) * n], f.shape[2:], stride, pads, 0),
                       f[g * m:(g + 1) * m]) for g in range(group)]
    return np.concatenate(parts, 1) + bias[:, None, None]


def max_pool(x, kernel, stride, pads):
    return windows(x, (kernel, kernel), stride, pads, -np.inf).max((4, 5))


def average_pool(x, kernel, stride, pads):
    """The padding does not count."""
    ones = windows(np.ones_like(x), (kernel, kernel), stride, pads, 0).sum((4, 5))
    return windows(x, (kernel, kernel), stride, pads, 0).sum((4, 5)) / ones


def lrn(x, size, alpha, beta, bias):
    squares = np.pad(x * x, ((0, 0), (size // 2, size // 2), (0, 0), (0, 0)))
    total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta


def norm(x, s, b, mean, var, epsilon):
    s, b, mean, var = (v[:, None, None] for v in (s, b, mean, var))
    return (x - mean) / np.sqrt(var + epsilon) * s + b


def conv_transpose(x, f, bias, stride, pad, adj):
    (n, _, h, w), (_, m, kh, kw) = x.shape, f.shape
    y = np.zeros((n, m, (h - 1) * stride + kh + adj, (w - 1) * stride + kw + adj))
    for i in range(h):
        for j in range(w):
            y[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw] += np.einsum(
                "nc,cmij->nmij", x[:, :, i, j], f)
    return y[:, :, pad:y.shape[2] - pad, pad:y.shape[3] - pad] + bias[:, None, None]


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def first(x):
    return np.moveaxis(x, 3, 1)


def last(function):
    """The same for channels at the end of activations, and of filters."""
    return lambda x, *more: np.moveaxis(
        function(first(x), *(first(v) if v.ndim == 4 else v for v in more)), 1, 3)


def relu(x):
    return np.maximum(x, 0)


# ---- cases ---------------------------------------------------------------------------------------

def channels_last(out):
    c = Case("ChannelsLast", 1)
    c.input("x", 1, 9, 8, 4)
    c.weight("w", 6, 3, 2, 2)
    c.weight("b", 6)
    for name in ("s", "t", "mean", "var"):
        c.weight(name, 6, low=.5)
    c.op("Conv", "x w b", "y", last(lambda x, w, b: conv(x, w, b, 2, (1, 0, 2, 1), 2)),
         order="NHWC", kernel_h=3, kernel_w=2, stride=2, pad_t=1, pad_l=0, pad_b=2, pad_r=1,
         group=2)
    c.op("SpatialBN", "y s t mean var", "y", last(lambda *v: norm(*v, 1e-3)), order="NHWC",
         epsilon=1e-3, is_test=1)
    c.op("Relu", "y", "y", relu)
    c.op("MaxPool", "y", "p", last(lambda x: max_pool(x, 2, 1, (1, 1, 0, 0))), order="NHWC",
         kernels=[2, 2], pads=[1, 1, 0, 0])
    c.op("AveragePool", "y", "a", last(lambda x: average_pool(x, 3, 1, (1, 1, 1, 1))),
         order="NHWC", kernel=3, stride=1, legacy_pad=2)
    c.op("LRN", "a", "n", last(lambda x: lrn(x, 3, .5, .75, 2)), order="NHWC", size=3, alpha=.5,
         beta=.75, bias=2.)
    c.op("Concat", "p n", "both split", lambda *v: np.concatenate(v, 3), order="NHWC")
    c.op("NHWC2NCHW", "both", "z", first)
    c.write(out, "z")


def legacy_pads(out):
    c = Case("LegacyPads", 2)
    c.input("x", 1, 3, 8, 7)
    c.weight("w", 4, 3, 4, 4)
    c.weight("b", 4)
    c.op("Conv", "x w b", "same", lambda x, w, b: conv(x, w, b, 2, (1, 1, 1, 2)), kernel=4,
         stride=2, legacy_pad=2)
    c.op("Conv", "x w b", "valid", conv, kernel=4, legacy_pad=1)
    # 8 + 2 rows hold 4 windows and a half: one more; 7 + 2 columns hold 4
    c.op("MaxPool", "x", "caffe", lambda x: max_pool(x, 3, 2, (1, 1, 2, 1)), kernel=3, stride=2,
         pad=1, legacy_pad=3)
    c.op("AveragePool", "x", "mean", lambda x: average_pool(x, 3, 2, (0, 0, 1, 0)), kernel=3,
         stride=2, legacy_pad=3)
    c.op("AveragePool", "same", "all", lambda x: x.mean((2, 3), keepdims=True), global_pooling=1)
    c.weight("f", 3, 2, 3, 3)
    c.weight("g", 2)
    c.op("ConvTranspose", "x f g", "wide", lambda *v: conv_transpose(*v, 2, 1, 1), kernel=3,
         stride=2, pad=1, adj=1)
    c.write(out, "valid", "caffe", "mean", "all", "wide")


def dense(out):
    c = Case("Dense", 3)
    c.input("x", 2, 3, 4)
    c.weight("w", 5, 2, 2)
    c.weight("b", 5)
    c.weight("v", 15, 6)
    c.weight("d", 6)
    c.op("FC", "x w b", "y", lambda x, w, b: x @ w.reshape(5, 4).T + b, axis=2, axis_w=1)
    c.op("Tanh", "y", "y", np.tanh)
    c.op("FCTransposed", "y v d", "z", lambda y, v, d: y.reshape(2, 15) @ v + d)
    c.op("Dropout", "z", "z mask", lambda z: z, ratio=.5, is_test=1)
    c.op("Softmax", "z", "p", softmax)
    c.op("Concat", "p z", "pairs sizes", lambda *v: np.stack(v, 1), axis=1, add_axis=1)
    c.op("Transpose", "pairs", "turned", lambda x: x.transpose(2, 0, 1), axes=[2, 0, 1])
    c.op("Reshape", "turned", "flat old", lambda x: x.reshape(6, 4), shape=[0, -1])
    c.op("LeakyRelu", "flat", "flat", lambda x: np.where(x < 0, x * np.float32(.25), x), alpha=.25)
    c.op("ExpandDims", "flat", "wide", lambda x: x[:, None], dims=[1])
    c.op("Sum", "wide wide wide", "sum", lambda *v: sum(v))
    c.op("Squeeze", "sum", "x", lambda x: x[:, 0], dims=[1])  # an input of the net is overwritten
    c.op("Negative", "x", "out", np.negative)
    c.write(out, "out", "p")


parser = cli.options(__doc__)
parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/caffe2", metavar="FOLDER")
options = parser.parse_args()
peers.need("numpy", "onnx", "google.protobuf")
for make in (channels_last, legacy_pads, dense):
    make(options.out)
