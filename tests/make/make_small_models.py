#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/nets: small networks of the usual kinds with seeded weights, an input and what ONNX
Runtime computes.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_small_models.py [--out FOLDER]

float  a CNN with depthwise convolutions and gates, a residual net, an LSTM and a GRU, a
       transformer, a U-Net
int8   the same quantised: between QuantizeLinear and DequantizeLinear, as QLinear operators,
       dynamically
light  nets of ordinary size whose weights are all equal, for seeded random ones
"""
import functools
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")
Q = peers.Module("onnxruntime.quantization")


@functools.cache
def rng():
    return np.random.default_rng(10)


class Net:
    """A graph under construction; every method adds nodes and returns the name of the result."""

    def __init__(self, light=False):
        self.nodes, self.constants, self.inputs, self.light, self.channels = [], [], [], light, {}

    def input(self, name, kind, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        if len(shape) > 1:
            self.channels[name] = shape[1]
        return name

    def const(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weight(self, *shape, fan=None, offset=0.0):
        """Normal numbers that keep the size of what they are multiplied with; in a light net, a
        fill."""
        if self.light:
            value = helper.make_tensor("value", onnx.TensorProto.FLOAT, [1], [0.01])
            return self.op("ConstantOfShape", self.const(np.array(shape, np.int64)), value=value)
        scale = (2 / fan) ** .5 if fan else .1
        return self.const((rng().standard_normal(shape) * scale + offset).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels, kernel=3, stride=1, group=1, act="Relu", norm=True, pads=None,
             dilation=1):
        c = self.channels[x]
        pads = pads or [dilation * (kernel // 2)] * 4
        w = self.weight(channels, c // group, kernel, kernel, fan=c // group * kernel * kernel)
        bias = [] if norm else [self.weight(channels)]
        y = self.op("Conv", x, w, *bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads,
                    group=group, dilations=[dilation] * 2)
        if norm:
            variance = self.const(rng().uniform(.5, 1.5, channels).astype(np.float32))
            y = self.op("BatchNormalization", y, self.weight(channels, offset=1),
                        self.weight(channels), self.weight(channels), variance)
        y = self.act(y, act)
        self.channels[y] = channels
        return y

    def act(self, x, act):
        return self.op(act, x) if act else x

    def same(self, y, x):
        """y has the channels of x."""
        self.channels[y] = self.channels[x]
        return y

    def gate(self, x, inner):
        c = self.channels[x]
        s = self.same(self.op("GlobalAveragePool", x), x)
        s = self.conv(s, inner, 1, norm=False)
        s = self.conv(s, c, 1, norm=False, act="HardSigmoid")
        return self.same(self.op("Mul", x, s), x)

    def linear(self, x, n, m, act=None):
        y = self.op("MatMul", x, self.weight(n, m, fan=2 * n))
        return self.act(self.op("Add", y, self.weight(m)), act)

    def classify(self, x, classes):
        c = self.channels[x]
        x = self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)
        return self.op("Gemm", x, self.weight(classes, c, fan=c), self.weight(classes), transB=1)

    def norm(self, x, n):
        return self.op("LayerNormalization", x, self.weight(n, offset=1), self.weight(n), axis=-1)

    def model(self, *outputs):
        infos = [helper.make_empty_tensor_value_info(y) for y in outputs]
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.constants)
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        return model


def cnn(net=None, size=24, width=8, classes=10):
    net = net or Net()
    image = net.input("image", onnx.TensorProto.FLOAT, 1, 3, size, size)
    x = net.conv(image, width, stride=2, act="HardSwish")
    for channels, kernel, stride, gated in ((width, 3, 1, True), (2 * width, 5, 2, False),
                                            (2 * width, 3, 1, True)):
        inner = 2 * net.channels[x]
        y = net.conv(x, inner, 1, act="HardSwish")
        y = net.conv(y, inner, kernel, stride, group=inner, act="HardSwish")
        y = net.conv(net.gate(y, inner // 4) if gated else y, channels, 1, act=None)
        x = net.same(net.op("Add", x, y), x) if stride == 1 and channels == net.channels[x] else y
    return net.model(net.op("Softmax", net.classify(net.conv(x, 3 * width, 1), classes), axis=1))


def residual(net=None, size=32, width=8, classes=10):
    net = net or Net()
    image = net.input("image", onnx.TensorProto.FLOAT, 1, 3, size, size)
    x = net.conv(image, width, 7, 2, pads=[3, 3, 3, 3])
    x = net.same(net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]), x)
    for channels, stride in ((width, 1), (2 * width, 2)):
        y = net.conv(x, channels, 3, stride, pads=[0, 0, 2, 2] if stride == 2 else None)
        y = net.conv(y, channels, 3, act=None)
        if stride != 1:
            x = net.same(net.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), x)
            x = net.conv(x, channels, 1, act=None)
        x = net.same(net.op("Relu", net.op("Add", y, x)), y)
    x = net.conv(x, 2 * width, 3, pads=[2, 2, 2, 2], dilation=2)
    return net.model(net.classify(x, classes))


def recurrent(kind, gates, hidden=16, features=12):
    net = Net()
    x = net.input("sequence", onnx.TensorProto.FLOAT, 9, 2, features)
    x = net.linear(x, features, features, "Tanh")
    w = net.weight(2, gates * hidden, features, fan=features)
    r = net.weight(2, gates * hidden, hidden, fan=2 * hidden)
    more = dict(linear_before_reset=1) if kind == "GRU" else {}
    y, h = net.op(kind, x, w, r, net.weight(2, 2 * gates * hidden), outputs=2, hidden_size=hidden,
                  direction="bidirectional", **more)
    y = net.op("Transpose", y, perm=[0, 2, 1, 3])
    y = net.op("Reshape", y, net.const(np.array([0, 0, -1])))
    return net.model(net.op("LogSoftmax", net.linear(y, 2 * hidden, 7), axis=-1), h)


def transformer(blocks=2, words=60, length=11, width=24, heads=3, inner=40):
    net = Net()
    ids = net.input("ids", onnx.TensorProto.INT64, 2, length)
    mask = net.input("mask", onnx.TensorProto.FLOAT, 2, length)
    bias = net.op("Mul", net.op("Sub", net.const(np.float32(1)), mask), net.const(np.float32(-1e4)))
    bias = net.op("Unsqueeze", bias, net.const(np.array([1, 2])))
    x = net.op("Gather", net.weight(words, width, fan=2), ids)
    x = net.op("Add", x, net.weight(length, width))
    x = net.norm(x, width)
    split = net.const(np.array([0, 0, heads, width // heads]))
    for _ in range(blocks):
        q, k, v = (
            net.op("Transpose", net.op("Reshape", net.linear(x, width, width), split), perm=p)
            for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        s = net.op("Div", net.op("MatMul", q, k), net.const(np.float32((width / heads) ** .5)))
        s = net.op("Softmax", net.op("Add", s, bias), axis=-1)
        y = net.op("Transpose", net.op("MatMul", s, v), perm=[0, 2, 1, 3])
        y = net.op("Reshape", y, net.const(np.array([0, 0, width])))
        x = net.norm(net.op("Add", x, net.linear(y, width, width)), width)
        y = net.linear(x, width, inner)
        half = net.op("Mul", y, net.const(np.float32(.5)))
        erf = net.op("Erf", net.op("Div", y, net.const(np.float32(2 ** .5))))
        y = net.op("Mul", half, net.op("Add", erf, net.const(np.float32(1))))
        x = net.norm(net.op("Add", x, net.linear(y, inner, width)), width)
    return net.model(net.linear(x, width, 5))


def unet(size=20, width=6):
    net = Net()
    x = net.conv(net.input("image", onnx.TensorProto.FLOAT, 1, 2, size, size), width)
    y = net.conv(net.same(net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), x), 2 * width)
    z = net.conv(y, 3 * width, stride=2)
    z = net.conv(z, 2 * width, dilation=2)
    w, b = net.weight(2 * width, 2 * width, 3, 3, fan=5 * width), net.weight(2 * width)
    up = net.op("ConvTranspose", z, w, b,
                strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    y = net.op("Concat", net.op("LeakyRelu", up, alpha=.1), y, axis=1)
    net.channels[y] = 4 * width
    y = net.conv(y, width)
    factors = net.const(np.array([1, 1, 2, 2], np.float32))
    up = net.same(net.op("Resize", y, "", factors, mode="linear",
                         coordinate_transformation_mode="half_pixel"), y)
    x = net.op("Concat", up, x, axis=1)
    net.channels[x] = 2 * width
    return net.model(net.op("Sigmoid", net.conv(net.conv(x, width), 1, 1, norm=False, act=None)))


def shuffled(size=24, width=10, classes=10):
    net = Net()
    x = net.conv(net.input("image", onnx.TensorProto.FLOAT, 1, 3, size, size), 2 * width, stride=2)
    for groups in (2, 5):
        kept, y = net.op("Split", x, outputs=2, axis=1)
        net.channels[y] = width
        y = net.conv(net.conv(net.conv(y, width, 1), width, 3), width, 1)
        y = net.op("Concat", kept, y, axis=1)
        side, apart = size // 2, 2 * width // groups
        for shape in ([1, groups, apart, side, side], None, [1, 2 * width, side, side]):
            y = net.op("Reshape", y, net.const(np.array(shape, np.int64))) if shape else \
                net.op("Transpose", y, perm=[0, 2, 1, 3, 4])
        net.channels[y] = 2 * width
        x = y
    return net.model(net.classify(net.conv(x, 3 * width, 1), classes))


# ---- data ----------------------------------------------------------------------------------------

def feeds_of(model):
    made = {}
    for info in model.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        if info.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            made[info.name] = rng().integers(0, 60, shape)
        elif info.name == "mask":
            lengths = np.array([[shape[1]], [shape[1] - 4]])
            made[info.name] = (np.arange(shape[1]) < lengths).astype(np.float32)
        else:
            made[info.name] = rng().standard_normal(shape).astype(np.float32)
    return made


def session(model):
    """The graph as it stands, without rewriting."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def nudged(model):
    """The same with every real constant of some size off by about a rounding."""
    other = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in other.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32 and array.size > 4:
            array = array * (1 + 3e-7 * rng().standard_normal(array.shape))
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float32), tensor.name))
    return other


def steady_feeds(model, source, atol):
    """An input near which no result depends on which side of a tie a value is rounded to, by more
    than atol of the largest."""
    run, others = session(model).run, [session(nudged(model)).run for _ in range(10)]
    for _ in range(200):
        feeds = feeds_of(source)
        want = run(None, feeds)
        pairs = [pair for other in others for pair in zip(want, other(None, feeds))]
        if all(np.abs(a - b).max() <= atol * np.abs(a).max() for a, b in pairs):
            return feeds
    raise SystemExit("every input is near a tie")


def store(path, model, feeds):
    data = path / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, path / "model.onnx")
    results = zip((y.name for y in model.graph.output), session(model).run(None, feeds))
    for stem, tensors in (("input", feeds.items()), ("output", results)):
        for i, (name, array) in enumerate(tensors):
            tensor = numpy_helper.from_array(array, name)
            (data / f"{stem}_{i}.pb").write_bytes(tensor.SerializeToString())


def samples(model):
    class Samples(Q.CalibrationDataReader):
        def __init__(self):
            self.left = [feeds_of(model) for _ in range(8)]

        def get_next(self):
            return self.left.pop() if self.left else None

    return Samples()


def quantised(model, how, **more):
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/float.onnx", f"{folder}/int8.onnx"
        onnx.save(model, source)
        Q.quant_pre_process(source, source, skip_symbolic_shape=True)
        if how == "dynamic":
            Q.quantize_dynamic(source, target, **more)
        else:
            form = Q.QuantFormat.QDQ if how == "qdq" else Q.QuantFormat.QOperator
            Q.quantize_static(source, target, samples(model), quant_format=form, **more)
        made = onnx.load(target)
        del made.graph.value_info[:]
        return made


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/nets")
    out = parser.parse_args().out
    peers.need("numpy", "onnx", "onnxruntime")
    for kind in ("float", "int8", "light"):
        shutil.rmtree(out / kind, ignore_errors=True)
    made = dict(cnn=cnn(), residual=residual(), lstm=recurrent("LSTM", 4), gru=recurrent("GRU", 3),
                transformer=transformer(), unet=unet())
    for name, model in made.items():
        store(out / "float" / name, model, feeds_of(model))
    made.update(block=transformer(1), shuffled=shuffled())
    signed = dict(activation_type=Q.QuantType.QInt8, weight_type=Q.QuantType.QInt8)
    each = dict(activation_type=Q.QuantType.QUInt8, weight_type=Q.QuantType.QInt8, per_channel=True)
    unsigned = dict(activation_type=Q.QuantType.QUInt8, weight_type=Q.QuantType.QUInt8)
    products = dict(weight_type=Q.QuantType.QInt8, op_types_to_quantize=["MatMul"])
    for name, source, how, more in (
            ("cnn_qdq", "cnn", "qdq", each), ("cnn_qlinear", "cnn", "qlinear", each),
            ("residual_qdq_s8", "residual", "qdq", signed),
            ("residual_qlinear", "residual", "qlinear", signed),
            ("lstm_dynamic", "lstm", "dynamic", products),
            ("gru_qdq", "gru", "qdq", each), ("transformer_qdq", "transformer", "qdq", each),
            ("transformer_dynamic", "block", "dynamic", dict(weight_type=Q.QuantType.QUInt8)),
            ("shuffled_qdq_u8", "shuffled", "qdq", unsigned),
            ("unet_qdq", "unet", "qdq", signed), ("unet_qlinear", "unet", "qlinear", each)):
        model = quantised(made[source], how, **more)
        tolerance = 3e-3 if how == "dynamic" else 1e-4
        store(out / "int8" / name, model, steady_feeds(model, made[source], tolerance))
    for name, model in (("light_cnn", cnn(Net(light=True), 48, 32, 100)),
                        ("light_residual", residual(Net(light=True), 48, 64, 100))):
        store(out / "light" / name, model, feeds_of(model))


if __name__ == "__main__":
    main()
