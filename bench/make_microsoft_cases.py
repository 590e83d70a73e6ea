#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: small models of ONNX Runtime's quantised operators with the results it computes.

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
    data = OUT / op / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, OUT / op / "model.onnx")
    for i, (name, value) in enumerate(feeds.items()):
        save(data / f"input_{i}.pb", value, name)
    save(data / "output_0.pb", onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0], "y")


for case in CASES:
    write(*case)
