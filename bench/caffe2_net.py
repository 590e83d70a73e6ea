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


class Translation:
    """One net, operator by operator: draws the weights that an operator needs as it meets it, and
    adds its ONNX nodes. Activations are kept near 1, so that an error anywhere is seen at the
    end."""

    def __init__(self, net, inputs, seed=0):
        self.rng = np.random.default_rng(seed)
        self.shape = dict(inputs)
        self.value = {name: name for name in inputs}
        self.weights, self.nodes, self.fresh, self.gain = {}, [], 0, 1
        for op in net.op:
            if not hasattr(self, op.type):
                cli.die(f"{op.type} is not translated here")
            getattr(self, op.type)(op, args(op))
        outputs = [helper.make_tensor_value_info(self.value[o], 1, self.shape[o])
                   for o in net.external_output]
        graph = helper.make_graph(
            self.nodes, net.name,
            [helper.make_tensor_value_info(n, 1, s) for n, s in inputs.items()], outputs,
            [numpy_helper.from_array(v, n) for n, v in self.weights.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)])
        self.model.ir_version = 7

    def add(self, op, kind, inputs, shape, **attributes):
        self.fresh += 1
        name = f"{op.output[0]}~{self.fresh}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        self.value[op.output[0]] = name
        self.shape[op.output[0]] = tuple(shape)

    def weight(self, name, *shape, low=None):
        if name not in self.weights:
            fan = int(np.prod(shape[1:])) if len(shape) > 1 else 25
            value = self.rng.standard_normal(shape) * self.gain * (2 / fan) ** .5
            value = self.rng.uniform(low, low + 1, shape) if low is not None else value
            self.weights[name] = value.astype(np.float32)
        return name

    @staticmethod
    def window(a, size):
        """Kernel, strides and pads, and the size of the result."""
        def pair(name, default):
            both = a.get(name, default)
            return [a.get(f"{name}_h", both), a.get(f"{name}_w", both)]
        kernel, stride = pair("kernel", 0), pair("stride", 1)
        pad = [a.get(f"pad_{s}", a.get("pad", 0)) for s in "tlbr"]
        out = [(size[i] + pad[i] + pad[i + 2] - kernel[i]) // stride[i] + 1 for i in (0, 1)]
        return dict(kernel_shape=kernel, strides=stride, pads=pad), out

    def Conv(self, op, a):
        n, c, *size = self.shape[op.input[0]]
        kernel = self.window(a, size)[0]["kernel_shape"]
        self.conv(op, a, a.get("filters", self.filters(op)), n, c, size, kernel)

    def filters(self, op):
        return self.counts[op.output[0]] if hasattr(self, "counts") else 0

    def conv(self, op, a, filters, n, c, size, kernel):
        attributes, out = self.window(a, size)
        group = a.get("group", 1)
        inputs = [self.value[op.input[0]], self.weight(op.input[1], filters, c // group, *kernel)]
        inputs += [self.weight(op.input[2], filters)] if len(op.input) > 2 else []
        self.add(op, "Conv", inputs, (n, filters, *out), group=group, **attributes)

    def pool(self, op, a, kind):
        n, c, *size = self.shape[op.input[0]]
        attributes, out = self.window(a, size)
        self.add(op, kind, [self.value[op.input[0]]], (n, c, *out), **attributes)

    def MaxPool(self, op, a):
        self.pool(op, a, "MaxPool")

    def AveragePool(self, op, a):
        self.pool(op, a, "AveragePool")

    def same(self, op, kind, **attributes):
        self.add(op, kind, [self.value[i] for i in op.input], self.shape[op.input[0]], **attributes)

    def Relu(self, op, _):
        self.same(op, "Relu")

    def Sum(self, op, _):  # each adds what is about as large; the last product makes up for it
        self.sums = getattr(self, "sums", 0) + 1
        self.same(op, "Sum")

    def Dropout(self, op, _):
        self.same(op, "Identity")

    def Softmax(self, op, a):
        self.same(op, "Softmax", axis=a.get("axis", 1))

    def LRN(self, op, a):
        self.same(op, "LRN", size=a["size"], alpha=a["alpha"], beta=a["beta"], bias=a["bias"])

    def SpatialBN(self, op, a):
        c = self.shape[op.input[0]][1]
        inputs = [self.value[op.input[0]], self.weight(op.input[1], c, low=.3),
                  self.weight(op.input[2], c), self.weight(op.input[3], c),
                  self.weight(op.input[4], c, low=.5)]
        self.add(op, "BatchNormalization", inputs, self.shape[op.input[0]], epsilon=a["epsilon"])

    def FC(self, op, _):
        n, *rest = self.shape[op.input[0]]
        k, m = int(np.prod(rest)), self.filters(op)
        flat = f"{op.output[0]}~flat"
        self.gain = .8 ** getattr(self, "sums", 0) / (1 if m > 1000 else 2)
        self.nodes.append(helper.make_node("Flatten", [self.value[op.input[0]]], [flat], axis=1))
        self.add(op, "Gemm", [flat, self.weight(op.input[1], m, k), self.weight(op.input[2], m)],
                 (n, m), transB=1)


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
    Translation.counts = channels(folder.name, net)
    return net, Translation(net, shapes_of(folder), seed)
