# SPDX-License-Identifier: Apache-2.0
"""Caffe2 nets in Python: the messages, by protoc-c from the project's .proto, random weights for
the blobs that a net reads, and a translation to ONNX that shares nothing with that of Wick.

Only what classifiers consist of is translated; the rest ends with a message."""
import json
import pathlib
import subprocess
import tempfile

import cli
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")
PROTO = cli.ROOT / "compiler/caffe2/caffe2.proto"
_classes = {}


def message(name):
    """The class of caffe2.NAME."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    if not _classes:
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "set.pb"
            subprocess.run(["protoc-c", f"--descriptor_set_out={out}", "-I", PROTO.parent, PROTO],
                           check=True)
            files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        _classes["pool"] = pool
    return message_factory.GetMessageClass(_classes["pool"].FindMessageTypeByName(f"caffe2.{name}"))


def read(path):
    from google.protobuf import text_format
    net = message("NetDef")()
    data = pathlib.Path(path).read_bytes()
    if str(path).endswith(".pbtxt"):
        text_format.Parse(data.decode(), net)
    else:
        net.ParseFromString(data)
    return net


def write(net, path):
    from google.protobuf import text_format
    if str(path).endswith(".pbtxt"):
        pathlib.Path(path).write_text(text_format.MessageToString(net))
    else:
        pathlib.Path(path).write_bytes(net.SerializeToString())


def shapes_of(folder):
    """value_info.json as {name: shape}."""
    infos = json.loads((pathlib.Path(folder) / "value_info.json").read_text())
    return {name: tuple(shape) for name, (_, shape) in infos.items()}


def args(op):
    found = {}
    for a in op.arg:
        value = [a.f if a.HasField("f") else None, a.i if a.HasField("i") else None,
                 a.s if a.HasField("s") else None, list(a.floats), list(a.ints)]
        found[a.name] = next((v for v in value if v not in (None, [])), [])
    return found


def fills(weights):
    """The init net of a {blob: array}."""
    kinds = {"float32": ("GivenTensorFill", "floats"), "int32": ("GivenTensorIntFill", "ints"),
             "int64": ("GivenTensorInt64Fill", "ints")}
    net = message("NetDef")(name="init")
    for name, value in weights.items():
        kind, field = kinds[str(value.dtype)]
        op = net.op.add(type=kind, output=[name])
        shape = op.arg.add(name="shape")
        shape.ints.extend(value.shape)
        getattr(op.arg.add(name="values"), field).extend(value.ravel().tolist())
    return net


def varint(n):
    head = b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return head + bytes([n])


def field(number, *parts):
    """A message or byte string of the wire format, of pieces, as pieces."""
    return [varint(number << 3 | 2), varint(sum(map(len, parts))), *parts]


def write_fills(weights, path):
    """fills() of floats, written: a list of a hundred million numbers would not fit the memory."""
    with open(path, "wb") as file:
        file.writelines(field(1, b"init"))
        for name, value in weights.items():
            op = message("OperatorDef")(type="GivenTensorFill", output=[name])
            op.arg.add(name="shape").ints.extend(value.shape)
            numbers = np.empty(value.size, [("tag", "u1"), ("value", "<f4")])
            numbers["tag"], numbers["value"] = 5 << 3 | 5, value.ravel()
            values = field(5, *field(1, b"values"), numbers.tobytes())
            file.writelines(field(2, op.SerializeToString(), *values))


class Translation:
    """One net, operator by operator: draws the weights that an operator needs as it meets it, adds
    its ONNX nodes, and computes them, so that what follows knows how large its inputs are. An error
    anywhere is seen at the end: layers have results near 1, before an LRN such that it matters,
    before the softmax such that it is neither flat nor a single class; what a normalisation takes
    for mean and variance is near both, and all of it differs between channels."""

    SIZES = {"SpatialBN": .05, "Softmax": 6}  # mean squares of results, by who reads them
    SPREAD = .3  # of biases and means

    def __init__(self, net, inputs, counts, seed=0):
        self.rng, self.counts = np.random.default_rng(seed), counts
        self.net, self.readers = net, self.find_readers(net)
        self.inputs = {n: self.normal(s) for n, s in inputs.items()}
        self.array = dict(self.inputs)  # by ONNX name, weights too
        self.value = {name: name for name in inputs}
        self.weights, self.nodes = {}, []
        for op in net.op:
            if not hasattr(self, op.type):
                cli.die(f"{op.type} is not translated here")
            getattr(self, op.type)(op, args(op))
        self.outputs = [self.value[o] for o in net.external_output]

    @staticmethod
    def find_readers(net):
        """{result of a layer: the operator that reads it, after activations}."""
        found = {}
        for i, op in enumerate(net.op):
            later = (n for n in net.op[i + 1:] if op.output[0] in n.input and n.type != "Relu")
            found.setdefault(op.output[0], next(later, None))
        return found

    def normal(self, shape, size=1):
        return (self.rng.standard_normal(shape) * size).astype(np.float32)

    def uniform(self, low, high, n):
        return self.rng.uniform(low, high, n).astype(np.float32)

    def weight(self, name, value):
        self.weights[name] = self.array[name] = value
        return name

    def model(self, has_weights=True, nodes=None, more=()):
        """With weights as initialisers, or as inputs, behind those of the net. `more` constants."""
        def info(name):
            value = self.array[name]
            return helper.make_tensor_value_info(name, 1, value.shape)
        inputs = list(self.inputs) + ([] if has_weights else list(self.weights))
        constants = [numpy_helper.from_array(v, n) for n, v in more]
        if has_weights:
            constants += [numpy_helper.from_array(v, n) for n, v in self.weights.items()]
        graph = helper.make_graph(nodes or self.nodes, self.net.name, list(map(info, inputs)),
                                  list(map(info, self.outputs)), constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)

    def add(self, op, kind, inputs, **attributes):
        name = f"{op.output[0]}~{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        self.array[name] = compute(kind, [self.array[i] for i in inputs], **attributes)
        self.value[op.output[0]] = name
        return name

    def drawn(self, op, kind, inputs, shape, **attributes):
        """A layer with filters, or a matrix, of the shape, and a bias."""
        reader = self.readers[op.output[0]]
        size = self.SIZES.get(reader.type, 2) if reader else 1
        if reader and reader.type == "LRN":
            size = 2 / args(reader)["alpha"]
        w = self.normal(shape)
        y = compute(kind, [self.array[i] for i in inputs] + [w], **attributes)
        scale = float(f"{(size / np.mean(np.square(y, dtype=float))) ** .5:.2g}")
        inputs = inputs + [self.weight(op.input[1], w * np.float32(scale))]
        if len(op.input) > 2:
            bias = self.normal(shape[0], self.SPREAD * size ** .5)
            inputs.append(self.weight(op.input[2], bias))
        self.add(op, kind, inputs, **attributes)

    @staticmethod
    def window(a):
        """Kernel, strides and pads."""
        def pair(name, default):
            both = a.get(name, default)
            return [a.get(f"{name}_h", both), a.get(f"{name}_w", both)]
        return dict(kernel_shape=pair("kernel", 0), strides=pair("stride", 1),
                    pads=[a.get(f"pad_{s}", a.get("pad", 0)) for s in "tlbr"])

    def Conv(self, op, a):
        x, window, group = self.value[op.input[0]], self.window(a), a.get("group", 1)
        shape = self.counts[op.output[0]], self.array[x].shape[1] // group, *window["kernel_shape"]
        self.drawn(op, "Conv", [x], shape, group=group, **window)

    def FC(self, op, _):
        flat = f"{op.output[0]}~flat"
        x = self.array[self.value[op.input[0]]]
        self.nodes.append(helper.make_node("Flatten", [self.value[op.input[0]]], [flat], axis=1))
        self.array[flat] = x.reshape(len(x), -1)
        shape = self.counts[op.output[0]], self.array[flat].shape[1]
        self.drawn(op, "Gemm", [flat], shape, transB=1)

    def SpatialBN(self, op, a):
        x = self.array[self.value[op.input[0]]]
        c, mean, variance = x.shape[1], x.mean((0, 2, 3)), x.var((0, 2, 3))
        mean = (mean + self.normal(c, self.SPREAD * float(variance.mean()) ** .5)).round(3)
        variance = (variance * self.uniform(.5, 1.5, c)).round(3) + np.float32(.001)
        values = self.uniform(.5, 1.5, c), self.normal(c, self.SPREAD), mean, variance
        inputs = [self.value[op.input[0]]]
        inputs += [self.weight(name, v) for name, v in zip(op.input[1:], values)]
        self.add(op, "BatchNormalization", inputs, epsilon=a["epsilon"])

    def same(self, op, kind, **attributes):
        self.add(op, kind, [self.value[i] for i in op.input], **attributes)

    def MaxPool(self, op, a):
        self.same(op, "MaxPool", **self.window(a))

    def AveragePool(self, op, a):
        self.same(op, "AveragePool", **self.window(a))

    def Relu(self, op, _):
        self.same(op, "Relu")

    def Sum(self, op, _):
        self.same(op, "Sum")

    def Dropout(self, op, _):
        self.same(op, "Identity")

    def Softmax(self, op, a):
        self.same(op, "Softmax", axis=a.get("axis", 1))

    def LRN(self, op, a):
        self.same(op, "LRN", size=a["size"], alpha=a["alpha"], beta=a["beta"], bias=a["bias"])


def run(model, feeds):
    """The outputs of a model, by ONNX Runtime."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def compute(kind, values, **attributes):
    """The result of one ONNX operator on floats."""
    feeds = {f"x{i}": v for i, v in enumerate(values)}
    infos = [helper.make_tensor_value_info(n, 1, v.shape) for n, v in feeds.items()]
    graph = helper.make_graph([helper.make_node(kind, list(feeds), ["y"], **attributes)], "one",
                              infos, [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    return run(model, feeds)[0]


# Channels of each layer, which a net does not say: its weights do.
def channels(name, net):
    """{output: channels} of the convolutions and products of a net."""
    convs = [op.output[0] for op in net.op if op.type == "Conv"]
    dense = [op.output[0] for op in net.op if op.type == "FC"]
    if "resnet" in name:
        def count(blob):
            stage = next((int(s[3]) for s in blob.split("/") if s.startswith("res")), 1)
            wide = blob.endswith(("branch2c", "branch1"))
            return 64 if stage == 1 else 64 * 2 ** (stage - 2) * (4 if wide else 1)
        counts = {c: count(c) for c in convs}
    elif "vgg" in name:
        counts = {c: min(512, 32 * 2 ** int(c[4])) for c in convs}
    else:
        counts = dict(zip(convs, (96, 256, 384, 384, 256)))
    counts.update(zip(dense, [4096] * (len(dense) - 1) + [1000]))
    return counts


def translate(folder, seed=0, net=None):
    """Net, weights and ONNX model of a folder with predict_net.pbtxt and value_info.json."""
    folder = pathlib.Path(folder)
    net = net or read(folder / "predict_net.pbtxt")
    return net, Translation(net, shapes_of(folder), channels(folder.name, net), seed)
