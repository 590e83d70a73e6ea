#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes layers of transformers with seeded weights, of the sizes that real ones have, to measure
with bench/compare_onnxruntime.py: an encoder's layer, steps of a decoder with 1,024 positions in
its caches in several forms, and products with weights of 4 bits beside those with f32.

  bench/setup                          once: a virtual environment with the peers
  bench/make_attention_nets.py [--out build/attention_nets]
  bench/compare_onnxruntime.py --models build/attention_nets/step_group.onnx
"""
import pathlib

import cli
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")

LENGTH, HEADS, KV_HEADS, DEPTH = 1024, 16, 4, 64


class Net:
    """A graph under construction."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.rng = np.random.default_rng(7)

    def constant(self, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / shape[0] ** .5).astype(np.float32))

    def input(self, name, *shape, kind=1):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, kind=1):
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def op(self, kind, *inputs, outputs=None, domain="", **attributes):
        names = outputs or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0]

    def save(self, path):
        graph = helper.make_graph(self.nodes, path.stem, self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=opsets), path)


def bert_layer(width=768, heads=12, length=128):
    net = Net()
    x = net.input("x", 1, length, width)
    y = net.op("Attention", x, net.weights(width, 3 * width), net.weights(3 * width),
               domain="com.microsoft", num_heads=heads)
    y = net.op("Add", net.op("MatMul", y, net.weights(width, width)), net.weights(width))
    x = net.op("SkipLayerNormalization", x, y, net.weights(width), net.weights(width),
               domain="com.microsoft")
    y = net.op("BiasGelu", net.op("MatMul", x, net.weights(width, 4 * width)),
               net.weights(4 * width), domain="com.microsoft")
    y = net.op("Add", net.op("MatMul", y, net.weights(4 * width, width)), net.weights(width))
    net.op("SkipLayerNormalization", x, y, net.weights(width), net.weights(width),
           outputs=["y"], domain="com.microsoft")
    net.output("y")
    return net


def step_inputs(net):
    """One token's queries, keys and values, its position (known when it runs), and the caches."""
    q = net.input("q", 1, 1, HEADS * DEPTH)
    k, v = (net.input(n, 1, 1, KV_HEADS * DEPTH) for n in "kv")
    step = net.input("step", 1, kind=onnx.TensorProto.INT64)
    at = net.op("Add", step, net.constant(np.array([LENGTH - 2])))
    return q, k, v, at, [net.input(f"past_{n}", 1, KV_HEADS, LENGTH, DEPTH) for n in "kv"]


def rotation(net):
    angles = np.outer(np.arange(LENGTH), 0.9 ** np.arange(DEPTH // 2)).astype(np.float32)
    return net.constant(np.cos(angles)), net.constant(np.sin(angles))


def step_group():
    net = Net()
    q, k, v, at, pasts = step_inputs(net)
    last = net.op("Cast", at, to=onnx.TensorProto.INT32)
    net.op("GroupQueryAttention", q, k, v, *pasts, last, net.constant(np.int32(LENGTH)),
           *rotation(net), outputs=["y", "now_k", "now_v"], domain="com.microsoft",
           num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1)
    for name in ("y", "now_k", "now_v"):
        net.output(name)
    return net


def step_scatter():
    net = Net()
    q, k, v, at, pasts = step_inputs(net)
    q, k, v = (net.op("Reshape", x, net.constant(np.array([1, n, 1, DEPTH])))
               for x, n in ((q, HEADS), (k, KV_HEADS), (v, KV_HEADS)))
    nows = [net.op("TensorScatter", past, x, at, outputs=[name])
            for past, x, name in zip(pasts, (k, v), ("now_k", "now_v"))]
    net.op("Attention", q, *nows, "", "", "", net.op("Add", at, net.constant(np.array([1]))),
           outputs=["y"])
    for name in ("y", "now_k", "now_v"):
        net.output(name)
    return net


def step_append():
    net = Net()
    q = net.input("q", 1, 1, HEADS * DEPTH)
    k, v = (net.input(n, 1, 1, HEADS * DEPTH) for n in "kv")
    pasts = [net.input(f"past_{n}", 1, HEADS, LENGTH - 1, DEPTH) for n in "kv"]
    net.op("MultiHeadAttention", q, k, v, "", "", "", *pasts, outputs=["y", "now_k", "now_v"],
           domain="com.microsoft", num_heads=HEADS)
    for name in ("y", "now_k", "now_v"):
        net.output(name)
    return net


def product(rows, size=2048, bits=4, block=32):
    net = Net()
    x = net.input("x", rows, size)
    if bits == 32:
        net.op("MatMul", x, net.weights(size, size), outputs=["y"])
    else:
        packed = net.rng.integers(0, 256, (size, size // block, block * bits // 8))
        scales = (net.rng.random(size * size // block) * .01).astype(np.float32)
        net.op("MatMulNBits", x, net.constant(packed.astype(np.uint8)), net.constant(scales),
               outputs=["y"], domain="com.microsoft", K=size, N=size, bits=bits, block_size=block)
    net.output("y")
    return net


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.BUILD / "attention_nets")
    args = parser.parse_args()
    peers.need("numpy", "onnx")
    args.out.mkdir(parents=True, exist_ok=True)
    nets = {f.__name__: f() for f in (bert_layer, step_group, step_scatter, step_append)}
    nets |= {f"product_{rows}_{bits}": product(rows, bits=bits)
             for rows in (1, 16) for bits in (4, 8, 32)}
    for name, net in nets.items():
        net.save(args.out / f"{name}.onnx")


if __name__ == "__main__":
    main()
