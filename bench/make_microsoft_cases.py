#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: small models of ONNX Runtime's quantised operators, and of operators between quantisations, with
the results it computes.

  bench/setup && build/bench-venv/bin/python bench/make_microsoft_cases.py
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper, numpy_helper

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/onnx"
RNG = np.random.default_rng(3)


def u8(*shape):
    return RNG.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


F, Z = np.float32, np.uint8
Y = (F(1 / 256), Z(0))


def scales(n):
    return (RNG.random(n) * 0.01 + 0.001).astype(F)


# operator, attributes, run-time inputs, constant inputs, type of the result; inputs in order, None: left out
CASES = [
    ("QLinearAveragePool", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
     [("x", u8(1, 3, 9, 9)), F(.02), Z(120), F(.017), Z(100)], T.UINT8),
    ("QLinearSoftmax", dict(axis=-1, opset=13), [("x", u8(4, 50)), F(.05), Z(120), *Y], T.UINT8),
    ("QLinearSigmoid", {}, [("x", u8(5, 16)), F(.02), Z(120), *Y], T.UINT8),
    ("QLinearLeakyRelu", dict(alpha=.2), [("x", u8(5, 16)), F(.02), Z(120), F(.03), Z(60)], T.UINT8),
    ("QLinearGlobalAveragePool", {}, [("x", u8(1, 6, 5, 7)), F(.02), Z(120), F(.007), Z(100)], T.UINT8),
    ("QLinearAdd", {}, [("x", u8(5, 16)), F(.02), Z(120), ("b", u8(5, 16)), F(.01), Z(131), F(.025), Z(128)], T.UINT8),
    ("QLinearMul", {}, [("x", u8(5, 16)), F(.02), Z(120), ("b", u8(5, 16)), F(.01), Z(131), F(.02), Z(128)], T.UINT8),
    ("QLinearConcat", dict(axis=1), [F(.02), Z(110), ("x", u8(2, 5)), F(.03), Z(120), ("b", u8(2, 3)), F(.02), Z(110)],
     T.UINT8),
    ("QGemm", dict(transB=1), [("x", u8(3, 16)), F(.02), Z(120), i8(8, 16), scales(8), np.zeros(8, np.int8),
                               RNG.integers(-9999, 9999, 8).astype(np.int32), F(.09), Z(128)], T.UINT8),
    ("MatMulIntegerToFloat", {}, [("x", u8(2, 5, 16)), i8(16, 12), F(.02), scales(12), Z(99),
                                  np.zeros(12, np.int8), f32(12)], T.FLOAT),
    ("DynamicQuantizeMatMul", {}, [("x", f32(2, 5, 16)), i8(16, 12), scales(12), np.zeros(12, np.int8), f32(12)],
     T.FLOAT),
]


def save(path, array, name):
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def store(name, model, feeds):
    data = OUT / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, OUT / name / "model.onnx")
    for i, (key, value) in enumerate(feeds.items()):
        save(data / f"input_{i}.pb", value, key)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    save(data / "output_0.pb", session.run(None, feeds)[0], "y")


def write(op, attributes, inputs, result):
    names, feeds, constants = [], {}, []
    for i, value in enumerate(inputs):
        if isinstance(value, tuple):
            names.append(value[0])
            feeds[value[0]] = value[1]
        else:
            names.append(f"c{i}")
            constants.append(numpy_helper.from_array(np.asarray(value), f"c{i}"))
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in feeds.items()]
    graph = helper.make_graph([node], op, infos, [helper.make_tensor_value_info("y", result, None)], constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13),
                                                                  helper.make_opsetid("com.microsoft", 1)])
    store(op, model, feeds)


def dequantised(name, array, scale, zero):
    """A constant behind a dequantisation."""
    constants = [numpy_helper.from_array(np.asarray(v), f"{name}_{k}") for k, v in
                 (("q", array), ("s", F(scale)), ("z", zero))]
    return constants, helper.make_node("DequantizeLinear", [c.name for c in constants], [name])


def write_qdq(name, x, nodes, parameters, constants):
    """Real nodes from "rx" to "ry" between a dequantisation of x and a quantisation."""
    before, after = [F(.03), Z(120)], [F(.025), Z(128)]
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in
                 dict(constants, sx=before[0], zx=before[1], sy=after[0], zy=after[1]).items()]
    all_nodes = [helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["rx"])]
    for parts, node in parameters:
        constants += parts
        all_nodes.append(node)
    all_nodes += nodes + [helper.make_node("QuantizeLinear", ["ry", "sy", "zy"], ["y"])]
    graph = helper.make_graph(all_nodes, name, [helper.make_tensor_value_info("x", T.UINT8, x.shape)],
                              [helper.make_tensor_value_info("y", T.UINT8, x.shape)], constants)
    store(name, helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), {"x": x})


for case in CASES:
    write(*case)

def layer_norms():
    make = helper.make_node
    parameters = [dequantised("g", u8(64), .01, Z(28)), dequantised("b", RNG.integers(-99, 99, 64).astype(np.int32), .01,
                                                                  np.int32(0))]
    whole = make("LayerNormalization", ["rx", "g", "b"], ["ry"], name="norm", axis=-1, epsilon=1e-5)
    write_qdq("QDQLayerNormalization", u8(2, 12, 64), [whole], parameters, {})
    pieces = [make("ReduceMean", ["rx"], ["m"], axes=[-1]), make("Sub", ["rx", "m"], ["d"]),
              make("Pow", ["d", "two"], ["p"]), make("ReduceMean", ["p"], ["v"], axes=[-1]),
              make("Add", ["v", "e"], ["w"]), make("Sqrt", ["w"], ["s"]), make("Div", ["d", "s"], ["n"]),
              make("Mul", ["n", "g"], ["k"]), make("Add", ["k", "b"], ["ry"], name="norm")]
    write_qdq("QDQLayerNormPieces", u8(2, 12, 64), pieces, [],
              dict(two=F(2), e=F(1e-5), g=f32(64) + F(1), b=f32(64)))


layer_norms()
