#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/caffe2: small Caffe2 nets with the results of their definitions in NumPy.

  bench/setup                        once: a virtual environment with the peers
  tests/make/make_caffe2_cases.py [--out FOLDER]
"""
import json
import math
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import caffe2_net
import cli
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
numpy_helper = peers.Module("onnx.numpy_helper")


def add_argument(op, name, v):
    a = op.arg.add(name=name)
    if isinstance(v, (list, tuple)):
        (a.floats if isinstance(v[0], float) else a.ints).extend(v)
    else:
        setattr(a, {int: "i", float: "f", str: "s", bytes: "s"}[type(v)],
                v.encode() if isinstance(v, str) else v)


def narrow(value):
    value = np.asarray(value)
    return value.astype(np.float32) if value.dtype == np.float64 else value


class Case:
    """A net in the making: each step adds an operator and computes what it means."""

    def __init__(self, name, seed):
        self.rng = np.random.default_rng(seed)
        self.net = caffe2_net.message("NetDef")(name=name)
        self.inputs, self.weights, self.value = {}, {}, {}
        self.fills = []

    def fill(self, kind, name, value, **arguments):
        """A weight that an operator other than those of caffe2_net.fills makes."""
        self.value[name] = value
        op = caffe2_net.message("OperatorDef")(type=kind, output=[name])
        for argument in {"shape": list(value.shape), **arguments}.items():
            add_argument(op, *argument)
        self.fills.append(op)

    def draw(self, shape, low=None):
        value = self.rng.standard_normal(shape) if low is None else self.rng.uniform(low, 2, shape)
        return value.astype(np.float32)

    def input(self, name, *shape, value=None):
        self.value[name] = self.draw(shape) if value is None else np.asarray(value)
        self.inputs[name] = self.value[name]
        self.net.external_input.append(name)

    def weight(self, name, *shape, low=None, value=None):
        self.value[name] = self.draw(shape, low) if value is None else np.asarray(value)
        self.weights[name] = self.value[name]

    def op(self, kind, inputs, output, result, **arguments):
        """result: a function of the inputs, which gives a tuple where there are more outputs."""
        inputs = inputs.split()
        op = self.net.op.add(type=kind, input=inputs, output=output.split())
        for name, v in arguments.items():
            add_argument(op, name, v)
        made = result(*[self.value[i] for i in inputs])
        made = made if isinstance(made, tuple) else (made,)
        self.value.update(zip(op.output, map(narrow, made)))

    def write(self, out, *outputs):
        self.net.external_output.extend(outputs)
        data = out / self.net.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        caffe2_net.write(self.net, data.parent / "predict_net.pbtxt")
        init = caffe2_net.fills(self.weights)
        init.op.extend(self.fills)
        caffe2_net.write(init, data.parent / "init_net.pb")
        infos = {k: [onnx.helper.np_dtype_to_tensor_dtype(v.dtype), list(v.shape)]
                 for k, v in self.inputs.items()}
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


# ---- cases: one output for each operator ---------------------------------------------------------

def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


class Many(Case):
    """A case of operators side by side."""

    def one(self, kind, inputs, result, n_out=1, **arguments):
        """Adds an operator whose outputs are outputs of the net."""
        self.made = getattr(self, "made", [])
        names = [f"{kind}_{len(self.made) + i}" for i in range(n_out)]
        self.op(kind, inputs, " ".join(names), result, **arguments)
        self.made += names

    def finish(self, out):
        self.write(out, *self.made)


def elementwise(out):
    c = Many("Elementwise", 4)
    c.input("x", 2, 3, 4, 5)
    c.input("p", value=np.linspace(.05, 2, 24, dtype=np.float32).reshape(2, 3, 4))
    c.input("n", value=np.array([1, np.nan, -2, np.inf], np.float32))
    c.input("i", value=np.array([[-7, 7, 3], [4, -1, -4]], np.int64))
    c.weight("s", 3)
    c.weight("t", 4, 5)
    c.weight("c", 2, 3, 1, 1)
    c.one("Sqr", "x", np.square)
    c.one("Cube", "x", lambda x: x ** 3)
    c.one("Rsqrt", "p", lambda x: 1 / np.sqrt(x))
    c.one("Log1p", "p", np.log1p)
    c.one("Swish", "x", lambda x: x * sigmoid(x))
    c.one("Gelu", "x", lambda x: x * (1 + erf(x / 2 ** .5)) / 2)
    c.one("Gelu", "x", lambda x: x * (1 + np.tanh((2 / np.pi) ** .5 * (x + .044715 * x ** 3))) / 2,
          fast_gelu=1)
    c.one("Clip", "x", lambda x: np.clip(x, -.5, 1), min=-.5, max=1.)
    c.one("Clip", "x", lambda x: np.minimum(x, .25), max=.25)
    c.one("ReluN", "x", lambda x: np.clip(x, 0, .75), n=.75)
    c.one("Scale", "x", lambda x: x * 3, scale=3.)
    c.one("Logit", "p", lambda x: np.log((y := np.clip(x, .1, .9)) / (1 - y)), eps=.1)
    c.one("ReplaceNaN", "n", lambda x: np.where(np.isnan(x), np.float32(9), x), value=9.)
    c.one("Pow", "p", lambda x: x ** 1.5, exponent=1.5)
    c.one("Pow", "p p", lambda x, y: x ** y)
    c.one("Mul", "x s", lambda x, s: x * s[:, None, None], broadcast=1, axis=1)
    c.one("Add", "x s", lambda x, s: x + s[:, None, None], broadcast=1, axis_str="C")
    c.one("Sub", "x t", lambda x, t: x - t, broadcast=1)
    c.one("Div", "p p", lambda x, y: x / y)
    c.one("Sub", "c x", lambda c, x: c - x)
    c.one("PRelu", "x s", lambda x, s: np.where(x < 0, x * s[:, None, None], x))
    c.one("Mod", "i", lambda x: np.fmod(x, 3), divisor=3)
    c.one("Mod", "i", lambda x: np.mod(x, 3), divisor=3, sign_follow_divisor=1)
    c.one("Selu", "x", lambda x: 1.0507010 * np.where(x > 0, x, 1.6732632 * np.expm1(x)))
    c.one("HardSigmoid", "x", lambda x: np.clip(.2 * x + .5, 0, 1))
    c.op("GT", "x c", "above", np.greater)
    c.op("LE", "x t", "below", np.less_equal, broadcast=1)
    c.op("NE", "i i", "differ", np.not_equal)
    c.op("And", "above below", "both", np.logical_and)
    c.op("Not", "differ", "equal", np.logical_not)
    c.one("Cast", "both", lambda x: x.astype(np.int32), to=2)
    c.one("Cast", "x", lambda x: x.astype(np.int64), to="INT64")
    c.one("Where", "both x x", np.where)
    c.weight("rows", value=np.array([1, 0], np.int32))
    c.op("Cast", "rows", "chosen", lambda x: x.astype(bool), to=5)
    c.op("Negative", "x", "minus", np.negative)
    c.one("Conditional", "chosen x minus", lambda c, x, y: np.where(c[:, None, None, None], x, y))
    c.op("FloatToHalf", "x", "half", lambda x: x.astype(np.float16))
    c.one("HalfToFloat", "half", lambda x: x.astype(np.float32))
    c.finish(out)


def reductions(out):
    c = Many("Reductions", 5)
    c.input("x", 2, 3, 4)
    c.input("y", 2, 3, 4)
    c.weight("w", 4)
    c.weight("v", 4)
    c.weight("u", 4, 6)
    c.one("ReduceMean", "x", lambda x: x.mean((0, 2), keepdims=True), axes=[0, 2])
    c.one("ReduceSum", "x", lambda x: x.sum(1), axes=[1], keepdims=0)
    c.one("ReduceBackSum", "x", lambda x: x.sum((1, 2)), num_reduce_dim=2)
    c.one("ReduceFrontMax", "x", lambda x: x.max(0))
    c.one("ReduceBackMean", "x", lambda x: x.mean(2))
    c.one("AveragedLoss", "x", np.mean)
    c.one("SumElements", "x", np.sum)
    c.one("SumSqrElements", "x", lambda x: np.mean(x * x), average=1)
    c.one("LpNorm", "x", lambda x: np.abs(x).sum()[None], p=1)
    c.one("LpNorm", "x", lambda x: (x * x).mean()[None], average=1)
    c.one("ArgMax", "x", lambda x: x.argmax(2)[..., None])
    c.one("ArgMin", "x", lambda x: x.argmin(0), axis=0, keepdims=0)
    c.one("TopK", "x", lambda x: (-np.sort(-x)[..., :2], np.argsort(-x)[..., :2]), 2, k=2)
    c.one("DotProduct", "x y", lambda x, y: (x * y).sum((1, 2)))
    c.one("SquaredL2Distance", "x y", lambda x, y: ((x - y) ** 2).sum((1, 2)) / 2)
    c.one("L1Distance", "x y", lambda x, y: np.abs(x - y).sum((1, 2)))
    c.one("Normalize", "x", lambda x: x / np.sqrt((x * x).sum(2, keepdims=True)))
    c.one("SigmoidCrossEntropyWithLogits", "x y", lambda x, y: (
        np.log(1 + np.exp(x)) - x * y).mean(2))
    c.one("ElementwiseLinear", "x w v", lambda x, w, v: x * w + v, axis=2)
    c.one("RowMul", "u w", lambda u, w: u * w[:, None])
    c.one("BatchMatMul", "x y", lambda x, y: x @ y.swapaxes(1, 2), trans_b=1)
    c.one("BatchMatMul", "x y", lambda x, y: x.swapaxes(1, 2) @ y, trans_a=1)
    c.one("MatMul", "x u", lambda x, u: x.reshape(6, 4) @ u, axis_a=2)
    c.one("LayerNorm", "x", lambda x: layer_norm(x, 1, 1e-3), 3, axis=1, epsilon=1e-3)
    c.one("LayerNorm", "x w v", lambda x, w, v: (layer_norm(x, 2, 1e-5)[0] * w + v), axis=2,
          elementwise_affine=1)
    c.weight("six", 6)
    c.weight("shift", 6)
    c.one("RMSNorm", "u six shift", rms_norm, 2, eps=.01)
    c.weight("l1", value=np.array([0, .5, 2, 1], np.float32))
    c.weight("l2", value=np.array([3, 4, 5, 1e-7], np.float32))
    c.op("Reshape", "x", "rows _", lambda x: x.reshape(6, 4), shape=[-1, 4])
    c.one("BatchBoxCox", "rows l1 l2", box_cox)
    c.one("Bucketize", "x", lambda x: np.searchsorted([-1, 0, .5], x).astype(np.int32),
          boundaries=[-1., 0., .5])
    c.input("image", 2, 3, 4, 4)
    c.weight("is", 3)
    c.weight("ib", 3)
    c.input("wide", 2, 6, 4, 4)
    c.weight("gs", 6)
    c.weight("gb", 6)
    c.one("GroupNorm", "wide gs gb", lambda *v: group_norm(*v, 3), group=3)
    c.weight("hs", 4)
    c.weight("hb", 4)
    c.one("GroupNorm", "wide hs hb", lambda x, *v: last(lambda x: group_norm(x, *v, 2))(x), group=2,
          order="NHWC")
    c.one("InstanceNorm", "image is ib", lambda x, s, b: s[:, None, None] * (
        x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
        + b[:, None, None])
    c.finish(out)


def layer_norm(x, axis, epsilon):
    axes = tuple(range(axis, x.ndim))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    sigma = np.sqrt(var + epsilon)
    head = x.shape[:axis] + (1,)
    return (x - mean) / sigma, mean.reshape(head), sigma.reshape(head)


def rms_norm(x, gamma, beta):
    r = 1 / np.sqrt((x * x).mean(1) + .01)
    return x * r[:, None] * gamma + beta, r


def box_cox(x, l1, l2):
    m = np.maximum(x.astype(np.float64) + l2, 1e-6)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(l1 == 0, np.log(m), (m ** l1 - 1) / l1)


def shuffle(x, group):
    n, c, h, w = x.shape
    return x.reshape(n, group, c // group, h, w).swapaxes(1, 2).reshape(x.shape)


def align_corners(x, h, w):
    def one(v, size, axis):
        at = np.arange(size) * (v.shape[axis] - 1) / max(size - 1, 1)
        low = np.minimum(np.floor(at).astype(int), v.shape[axis] - 1)
        high = np.minimum(low + 1, v.shape[axis] - 1)
        part = (at - low).reshape([-1 if a == axis else 1 for a in range(v.ndim)])
        return v.take(low, axis) * (1 - part) + v.take(high, axis) * part
    return one(one(x, h, 2), w, 3)


def roi_align(x, rois, size, scale, ratio):
    """The mean of ratio x ratio samples in each cell, each interpolated; no half pixel."""
    y = np.zeros((len(rois), x.shape[1], size, size))
    for r, (image, *box) in enumerate(rois):
        left, top, right, bottom = (v * scale for v in box)
        h, w = max(bottom - top, 1) / size, max(right - left, 1) / size
        for i, j in np.ndindex(size, size):
            for a, b in np.ndindex(ratio, ratio):
                at = (top + h * (i + (a + .5) / ratio), left + w * (j + (b + .5) / ratio))
                y[r, :, i, j] += sample(x[int(image)], *at) / ratio ** 2
    return y


def sample(x, v, u):
    if not (-1 <= v <= x.shape[1] and -1 <= u <= x.shape[2]):
        return 0
    v, u = max(v, 0), max(u, 0)
    i, j = min(int(v), x.shape[1] - 1), min(int(u), x.shape[2] - 1)
    v, u = min(v, x.shape[1] - 1) - i, min(u, x.shape[2] - 1) - j
    k, m = min(i + 1, x.shape[1] - 1), min(j + 1, x.shape[2] - 1)
    return (x[:, i, j] * (1 - v) * (1 - u) + x[:, i, m] * (1 - v) * u + x[:, k, j] * v * (1 - u)
            + x[:, k, m] * v * u)


def shapes(out):
    c = Many("Shapes", 6)
    c.input("x", 2, 6, 4, 3)
    c.input("at", value=np.array([[2, 0], [1, 1]], np.int64))
    c.weight("sizes", value=np.array([1, 3, 2], np.int32))
    c.weight("target", value=np.array([0, -1, 2], np.int64))
    c.weight("rows", value=np.arange(48, dtype=np.float32).reshape(2, 2, 4, 3))
    c.one("Split", "x", lambda x: tuple(np.split(x, 3, 1)), 3)
    c.one("Split", "x", lambda x: tuple(np.split(x, [1, 4], 1)), 3, axis=1, split=[1, 3, 2])
    c.one("Split", "x sizes", lambda x, s: tuple(np.split(x, [1, 4], 1)), 3, axis=1)
    c.one("Split", "x", lambda x: (x[0], x[1]), 2, axis=0, add_axis=1)
    c.one("Slice", "x", lambda x: x[:, 2:5], starts=[0, 2, 0, 0], ends=[-1, 5, -1, -1])
    c.one("Slice", "x", lambda x: x[:, :, :, :2], starts=[0, 0, 0, 0], ends=[-1, -1, -1, -2])
    c.one("Gather", "x at", lambda x, i: x.take(i, 2), axis=2)
    c.one("BatchGather", "x at", lambda x, i: x[:, i])
    c.one("Tile", "x", lambda x: np.tile(x, (1, 2, 1, 1)), tiles=2, axis=1)
    c.one("Tile", "at", lambda x: np.tile(x, (1, 3)), tiles=3, axis=-1)
    c.one("MergeDim", "x", lambda x: x.reshape(12, 4, 3))
    c.one("PrependDim", "x", lambda x: x.reshape(2, 1, 6, 4, 3), dim_size=2)
    c.one("FlattenToVec", "x", lambda x: x.ravel())
    c.op("FlattenToVec", "x", "flat", lambda x: x.ravel())
    c.one("ResizeLike", "flat x", lambda f, x: f.reshape(x.shape))
    c.one("Shape", "x", lambda x: np.array([6, 3]), axes=[1, 3])
    c.one("Reshape", "x target", lambda x, t: (x.reshape(2, -1, 2), np.array(x.shape)), 2)
    c.one("ChannelShuffle", "x", lambda x: shuffle(x, 3), group=3, kernel=1)
    c.one("ChannelShuffle", "x", last(lambda x: shuffle(x, 3)), group=3, order="NHWC")
    c.one("ResizeNearest", "x", lambda x: x.repeat(2, 2).repeat(3, 3), height_scale=2.,
          width_scale=3.)
    c.one("ResizeNearest", "x", lambda x: x.repeat(2, 1)[:, :, ::2], order="NHWC",
          height_scale=2., width_scale=.5)
    c.one("UpsampleBilinear", "x", lambda x: align_corners(x, 8, 4), height_scale=2.,
          width_scale=1.5)
    c.one("Concat", "x x", lambda *v: (np.concatenate(v, 2), np.array([4, 4], np.int32)), 2,
          axis=2)
    c.weight("rois", value=np.array([[1, 0, 0, 3, 3], [0, 1, 1.5, 2.5, 7]], np.float32))
    c.one("RoIAlign", "x rois", lambda x, r: roi_align(x, r, 2, .5, 2), spatial_scale=.5,
          pooled_h=2, pooled_w=2, sampling_ratio=2)
    c.weight("four", value=np.array([[0, 0, 3, 3]], np.float32))
    c.one("RoIAlign", "x four", lambda x, r: np.moveaxis(roi_align(
        np.moveaxis(x, 3, 1), np.pad(r, ((0, 0), (1, 0))), 1, 1, 3), 1, 3), order="NHWC",
        sampling_ratio=3)
    c.one("PadImage", "x", lambda x: np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 3)),
                                            constant_values=7), pads=[1, 2, 0, 3], value=7.)
    c.one("PadImage", "x", lambda x: np.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), "reflect"),
          pad=2, mode="reflect", order="NHWC")
    c.one("DepthConcat", "x x", lambda *v: np.concatenate(v, 3), order="NHWC")
    boxes = np.array([[0, 1, 2, 11, 8], [0, 3, 3, 4, 9], [1, 0, 5, 6, 6]], np.float32)
    c.weight("boxes", value=boxes)
    c.input("deltas", 3, 8)
    c.weight("images", value=np.array([[20, 18, 2], [12, 30, 1.5]], np.float32))
    c.one("BBoxTransform", "boxes deltas images", lambda b, d, i: transformed(
        b, d, i, (10, 10, 5, 5), True, 1), 2, weights=[10., 10., 5., 5.])
    c.one("BBoxTransform", "boxes deltas images", lambda b, d, i: transformed(
        b, d, i, (1, 1, 1, 1), False, 0)[0], apply_scale=0, legacy_plus_one=0)
    c.op("Alias", "x", "free", lambda x: x)
    c.op("Free", "free", "free", lambda x: x)
    c.op("Concat", "x rows", "joined extents",
         lambda *v: (np.concatenate(v, 1), np.array([6, 2], np.int32)), axis=1)
    c.one("Split", "joined extents", lambda v, e: tuple(np.split(v, [6], 1)), 2, axis=1)
    c.finish(out)


def transformed(boxes, deltas, images, weights, scales, plus):
    """Boxes moved and stretched by each of their rows of deltas, then cut at the image."""
    y = np.zeros_like(deltas)
    count = np.zeros(len(images))
    for r, (image, *box) in enumerate(boxes):
        height, width, scale = images[int(image)]
        limit = np.array([int(width / scale + .5), int(height / scale + .5)]) - plus
        count[int(image)] += 1
        low, high = np.array(box[:2]) / scale, np.array(box[2:]) / scale
        extent = high - low + plus
        for k in range(0, deltas.shape[1], 4):
            d = deltas[r, k:k + 4] / weights
            middle = d[:2] * extent + low + extent / 2
            half = np.exp(np.minimum(d[2:], math.log(1000 / 16))) * extent / 2
            corners = np.clip(np.stack([middle - half, middle + half - plus]), 0, limit)
            y[r, k:k + 4] = corners.ravel() * (scale if scales else 1)
    return y, count.astype(np.float32)


def group_norm(x, s, b, group):
    y = x.reshape(len(x), group, -1)
    y = (y - y.mean(2, keepdims=True)) / np.sqrt(y.var(2, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * s[:, None, None] + b[:, None, None]


def features(out):
    c = Many("Features", 7)
    c.input("data", value=np.array([[2, 3], [4, 1], [2, 5]], np.int64))
    c.weight("lengths", value=np.array([2, 3], np.int32))
    c.weight("values", value=np.array([2, 4, 1, 3, 5], np.int64))
    c.one("BatchOneHot", "data lengths values", lambda *_: np.array(
        [[1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]))
    c.one("LengthsRangeFill", "lengths", lambda _: np.array([0, 1, 0, 1, 2], np.int32))
    c.input("several", value=np.array([1, 0, 3], np.int32))
    c.one("LengthsRangeFill", "several", lambda _: np.array([0, 0, 1, 2, 0, 0], np.int32),
          maxOutputSize=6)
    c.input("x", 2, 3)
    c.input("flags", value=np.array([0, 1, 0, 1], np.int32))
    c.one("FillExamplesWithIndicator", "x flags", lambda x, _: np.stack(
        [0 * x[0], x[0], 0 * x[0], x[1]]))
    c.input("rows", value=np.array([0, 2, 1], np.int64))
    c.input("columns", value=np.array([3, 0, 1], np.int64))
    c.input("entries", 3)
    c.one("BatchSparseToDense", "rows columns entries", scattered, dense_last_dim=4,
          default_value=.5)
    c.input("keys", value=np.array([7, 3, 5, 3, 9], np.int64))
    c.input("pairs", 5, 2)
    c.weight("none", 2)
    c.weight("counts", value=np.array([3, 0, 2], np.int32))
    c.one("SparseToDenseMask", "keys pairs none counts", lambda k, v, d, _: np.stack(
        [np.stack(r) for r in ((v[1], v[0], d), (d, d, d), (v[3], d, v[4]))]), mask=[3, 7, 9])
    c.one("SparseToDenseMask", "keys pairs none", lambda k, v, d: np.stack(
        (d, v[3])), mask=[4, 3])
    c.input("table", 4, 2)
    c.one("Embedding", "table columns", lambda t, i: t[i])
    c.one("Embedding", "table columns", lambda t, i: t[i] * (i != 1)[:, None], padIdx=1)
    c.input("patch", 3, 2)
    c.one("ScatterAssign", "table columns patch", assigned)
    c.op("Scale", "x", "again", lambda x: 2 * x, scale=2.)
    c.one("ConstantFill", "x", lambda x: np.full(x.shape, 2, np.int32), dtype=2, value=2)
    c.fill("GivenTensorBoolFill", "chosen", np.array([True, False]), values=[1, 0])
    c.one("Conditional", "chosen x again", lambda _, x, y: np.stack([x[0], y[1]]))
    half = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
    c.fill("GivenTensorFp16Fill", "packed", half, values=half.ravel().tolist())
    c.weight("bias", value=np.array([1, -2, .5, 4], np.float32))
    c.one("FbFCPacked", "x packed bias", lambda x, w, b: (
        x.astype(np.float16).astype(np.float32) @ w.T + b).astype(np.float16).astype(np.float32))
    raw = np.arange(6, dtype=np.uint8).reshape(2, 3) * 50
    c.fill("GivenTensorByteStringToUInt8Fill", "bytes", raw, values=raw.tobytes())
    c.one("Cast", "bytes", lambda x: x.astype(np.float32), to=1)
    c.one("ConstantFill", "", lambda: np.full((3,), 4), shape=[3], value=4)
    c.one("ConstantFill", "", lambda: np.full((2, 2), .5, np.float32), shape=[2, 2], value=.5)
    c.finish(out)


class Int8(Many):
    """Tensors are u8 with a scale and a zero point, which this class keeps."""

    def __init__(self, name, seed):
        super().__init__(name, seed)
        self.step = {}

    def real(self, name):
        scale, zero = self.step[name]
        return (self.value[name].astype(np.float64) - zero) * np.float64(np.float32(scale))

    def bytes(self, name, shape, scale, zero):
        value = self.rng.integers(0, 256, shape).astype(np.uint8)
        self.step[name] = scale, zero
        self.fill("Int8GivenTensorFill", name, value, values=value.tobytes(), Y_scale=scale,
                  Y_zero_point=zero)

    def bias(self, name, n, scale):
        """scale: that of the sums. Caffe2 does not look at the one that the operator states."""
        value = self.rng.integers(-3000, 3000, n).astype(np.int32)
        self.step[name] = scale, 0
        self.fill("Int8GivenIntTensorFill", name, value, values=value.tolist(), Y_scale=1.,
                  Y_zero_point=0)

    def q(self, kind, inputs, output, result, scale, zero, **arguments):
        """result: on real numbers."""
        def quantised(*_):
            y = np.rint(result(*map(self.real, inputs.split())) / np.float64(np.float32(scale)))
            return np.clip(y + zero, 0, 255).astype(np.uint8)
        self.op(kind, inputs, output, quantised, Y_scale=scale, Y_zero_point=zero, **arguments)
        self.step[output] = scale, zero


def int8(out):
    c = Int8("Int8", 8)
    c.input("data", 1, 6, 7, 4)
    nhwc = dict(order="NHWC")
    c.step["data"] = 1., 0
    c.q("Int8Quantize", "data", "x", lambda x: x, .02, 120)
    c.bytes("w", (8, 3, 3, 4), .01, 131)
    c.bias("b", 8, .02 * .01)
    c.q("Int8ConvRelu", "x w b", "y", last(lambda *v: relu(conv(*v, pads=(1, 1, 1, 1)))), .0313, 0,
        kernel=3, pad=1, **nhwc)
    c.bytes("w2", (8, 1, 1, 4), .015, 126)
    c.bias("b2", 8, .0313 * .015)
    c.q("Int8Conv", "y w2 b2", "z", last(lambda *v: conv(*v, group=2)), .07, 140, kernel=1,
        group=2, **nhwc)
    c.q("Int8SumRelu", "y z", "s", lambda y, z: relu(y + z), .0831, 3)
    c.q("Int8Add", "y z", "t", lambda y, z: y + z, .09, 100)
    c.q("Int8MaxPool", "s", "p", last(lambda x: max_pool(x, 2, 2, (0, 0, 0, 0))), .0831, 3,
        kernel=2, stride=2, **nhwc)
    c.q("Int8AveragePool", "t", "a", last(lambda x: average_pool(x, 3, 1, (1, 1, 1, 1))), .09, 100,
        kernel=3, stride=1, pad=1, **nhwc)
    c.q("Int8Relu", "t", "r", relu, .09, 100)
    c.q("Int8LeakyRelu", "t", "leaky", lambda x: np.where(x < 0, x * .13, x), .09, 100,
        alpha=.13)
    c.q("Int8ChannelShuffle", "t", "mixed", last(lambda x: shuffle(x, 2)), .09, 100, group=2,
        **nhwc)
    c.q("Int8Concat", "r leaky", "both", lambda *v: np.concatenate(v, 3), .09, 100, **nhwc)
    c.q("Int8ResizeNearest", "p", "wide", last(lambda x: x.repeat(2, 2).repeat(2, 3)), .0831, 3,
        height_scale=2., width_scale=2., **nhwc)
    c.q("Int8Slice", "wide", "part", lambda x: x[:, :, 1:4], .0831, 3, starts=[0, 0, 1, 0],
        ends=[-1, -1, 4, -1])
    c.bytes("v", (5, 72), .005, 128)
    c.bias("d", 5, .0831 * .005)
    c.q("Int8FC", "p v d", "f", lambda x, w, b: x.reshape(1, 72) @ w.T + b, .1, 128)
    c.q("Int8Softmax", "f", "soft", softmax, 1 / 256, 0)
    c.q("Int8Sigmoid", "f", "sig", sigmoid, 1 / 256, 0)
    c.q("Int8Reshape", "f", "column", lambda x: x.reshape(5, 1), .1, 128, shape=[5, 1])
    c.one("Int8FC", "p v d", lambda *_: c.real("p").reshape(1, 72) @ c.real("v").T + c.real("d"),
          dequantize_output=1)
    c.weight("real", 5)
    c.step["real"] = 1., 0
    c.q("Int8FC", "p v real", "g", lambda x, w, b: x.reshape(1, 72) @ w.T + b, .1, 128)
    c.one("Int8Dequantize", "f", lambda _: c.real("f"))
    c.write(out, *"y z s p a r leaky mixed both part f soft sig column g".split(), *c.made)


def corners(out):
    """Constants of doubles, orders there and back, whole shapes, whole numbers where floats are
    meant, padding that counts, slopes of the last axis."""
    c = Many("Corners", 9)
    c.input("x", 2, 3, 4, 4)
    c.fill("GivenTensorDoubleFill", "wide", np.array([[.1, -2.5, 1e9]]), values=[.1, -2.5, 1e9])
    c.one("Cast", "wide", lambda x: np.float32([[.1, -2.5, 1e9]]), to=1)
    c.one("NCHW2NHWC", "x", lambda x: np.moveaxis(x, 1, 3))
    c.one("NHWC2NCHW", "x", lambda x: np.moveaxis(x, 3, 1))
    c.one("Shape", "x", lambda x: np.array(x.shape))
    c.one("Bucketize", "x", lambda x: np.searchsorted([-1, 0, 1], x).astype(np.int32),
          boundaries=[-1, 0, 1])
    c.one("AveragePool", "x", lambda x: windows(x, (3, 3), 1, (1, 1, 1, 1), 0).mean((4, 5)),
          kernel=3, stride=1, pad=1, count_include_pad=1)
    c.weight("s", 4)
    c.one("PRelu", "x s", lambda x, s: np.where(x < 0, x * s, x), order="NHWC")
    c.finish(out)


def scattered(_, columns, entries):
    y = np.full((3, 4), .5, np.float32)
    y[[1, 1, 2], columns] = entries
    return y


def assigned(table, rows, patch):
    y = table.copy()
    y[rows] = patch
    return y


if __name__ == "__main__":
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/caffe2",
                        metavar="FOLDER")
    options = parser.parse_args()
    peers.need("numpy", "onnx", "google.protobuf")
    for make in (channels_last, legacy_pads, dense, elementwise, reductions, shapes,
                 features, int8, corners):
        make(options.out)
