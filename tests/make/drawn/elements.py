# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of operators on single elements, and of quantised ones."""
import numpy as np
import onnx

from drawn import forms as drawn

T = onnx.TensorProto


def functions(m):
    x = m.f32(2, 3, 4) * 2
    for op, *forms in (("Elu", {}, dict(alpha=.5)), ("Selu", {}, dict(alpha=2., gamma=.5)),
                       ("LeakyRelu", {}, dict(alpha=.3)),
                       ("HardSigmoid", {}, dict(alpha=.3), dict(beta=.2)),
                       ("ThresholdedRelu", {}, dict(alpha=.3)), ("Celu", {}, dict(alpha=2.)),
                       ("Shrink", {}, dict(lambd=1., bias=.25), dict(lambd=.2)),
                       ("Gelu", {}, dict(approximate="tanh")), ("HardSwish", {}), ("Mish", {}),
                       ("Softplus", {}), ("Softsign", {}), ("Sign", {}), ("Round", {}),
                       ("Erf", {}), ("IsNaN", {}), ("Floor", {}), ("Ceil", {})):
        if m.opset < 11 and op == "Round":
            continue
        for more in forms:
            m.add(op, x, by="runtime" if op in ("Selu", "Celu") else None, **more)
    if m.opset > 9:
        y = x.copy()
        y.flat[[0, 5, -1]] = np.inf, -np.inf, np.nan
        for more in ({}, dict(detect_negative=0), dict(detect_positive=0)):
            m.add("IsInf", y, **more)
        m.add("IsNaN", y)
    for slope in ((4,), (3, 1), (1,), (2, 3, 4)):
        m.add("PRelu", x, m.draw(drawn.Constant, np.asarray)(m.f32(*slope)))
    per_channel = m.f32(3)  # some files have it so, which broadcasting does not give
    m.add("PRelu", x, per_channel, answer=np.where(x < 0, x * per_channel[:, None], x))
    for dims in ((2, 3, 3), (3, 3), (4, 3), (5,)):
        m.add("PRelu", m.f32(*dims), m.f32(1 if len(dims) == 1 else 3))
    if m.opset < 11:
        for more in ({}, dict(min=-.5), dict(max=.75), dict(min=-.25, max=1.)):
            m.add("Clip", x, **more)
    else:
        low, high = drawn.Constant(np.float32(-.5)), np.array(.75, np.float32)
        for ends in ((), (low,), (None, high), (low, high), (None, drawn.Constant(np.float32(1)))):
            m.add("Clip", x, *ends)
        i = m.numbers(-9, 9, 5, dtype=np.int8)
        if m.opset > 11:
            m.add("Clip", i, drawn.Constant(np.int8(-3)), drawn.Constant(np.int8(4)))
            m.add("Clip", i, None, drawn.Constant(np.int8(2)))
    m.add("Dropout", x), m.add("Dropout", x, outputs="11", by="runtime" if m.opset < 10 else None)
    if m.opset > 11:
        m.add("Dropout", x, drawn.Constant(np.float32(.7)), drawn.Constant(False), outputs="11")
        m.add("Dropout", x, drawn.Constant(np.float32(0)), drawn.Constant(True), outputs="11")
    else:
        m.add("Dropout", x, ratio=.8)


def pairs(m):
    a, b = m.f32(2, 3, 4), m.f32(3, 1)
    i, j = m.numbers(-9, 9, 2, 3), m.numbers(1, 5, 3)
    for op in ("Add", "Sub", "Mul", "Div", "Greater", "Less", "Equal", "LessOrEqual",
               "GreaterOrEqual"):
        if "OrEqual" in op and m.opset < 12:
            continue
        if op != "Equal":
            m.add(op, a, b), m.add(op, drawn.Constant(b), a)
        m.add(op, i, j), m.add(op, drawn.Constant(j), i)
    p, q = (m.numbers(0, 2, *s).astype(bool) for s in ((2, 3), (2, 1)))
    for op in ("And", "Or", "Xor"):
        m.add(op, p, q), m.add(op, drawn.Constant(q), p)
    for op in ("Max", "Min", "Sum", "Mean"):
        m.add(op, a)
        m.add(op, a, b)
        m.add(op, a, drawn.Constant(m.f32(4)), b, m.f32(1, 3, 4))
    if m.opset > 11:
        m.add("Max", i, j), m.add("Min", j, drawn.Constant(i), i[:1])
    for base, power in ((np.abs(a), b), (a, drawn.Constant(np.float32(2))),
                        (np.abs(a), drawn.Constant(np.float32(.5))),
                        (a, drawn.Constant(np.float32(3))), (drawn.Constant(np.abs(b)), a)):
        m.add("Pow", base, power)
    if m.opset > 11:
        m.add("Pow", a, np.array([0, 1, 2, 3], np.int64)), m.add("Pow", i, j)
        m.add("Pow", j, drawn.Constant(np.float32(.5)))
    if m.opset > 9:
        m.add("Mod", i, j), m.add("Mod", i, drawn.Constant(j), fmod=1)
        m.add("Mod", drawn.Constant(j), -j), m.add("Mod", a, b, fmod=1)
    if m.opset > 10:
        u = m.numbers(0, 200, 2, 3, dtype=np.uint8)
        for way in ("LEFT", "RIGHT"):
            m.add("BitShift", u, m.numbers(0, 8, 3, dtype=np.uint8), direction=way)
            m.add("BitShift", drawn.Constant(u), np.array([2], np.uint8), direction=way)
    if m.opset > 17:
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            m.add(op, i, j), m.add(op, drawn.Constant(j), i)
        m.add("BitwiseNot", i)


def casts(m):
    kinds = dict(FLOAT=np.float32, DOUBLE=np.float64, FLOAT16=np.float16, INT8=np.int8,
                 UINT8=np.uint8, INT16=np.int16, UINT16=np.uint16, INT32=np.int32,
                 UINT32=np.uint32, INT64=np.int64, UINT64=np.uint64, BOOL=bool)
    values = np.array([0, 1, 2.5, 3.75, 100, 127])
    signed = np.array([-1, -2.5, 0, 100])
    for source, kind in kinds.items():
        for target in kinds:
            if source == target or m.draw(0, 1) and "FLOAT" not in (source, target):
                continue
            x = values.astype(kind)
            if kind in (np.float32, np.int32) and target in ("INT8", "INT16", "INT64", "DOUBLE",
                                                             "FLOAT16", "BOOL", "INT32"):
                x = np.concatenate([x, signed.astype(kind)])
            m.add("Cast", m.draw(x, drawn.Constant(x)), to=getattr(T, target))
        if m.opset > 14:
            m.add("CastLike", values.astype(np.float32), values[:1].astype(kind))


def quantised(m):
    """Scales and zero points that differ along an axis, the first one, the last one, the middle."""
    x = m.f32(3, 4, 2) * 20
    for axis in (None, 0, 1, 2, *((-1, -2) if m.opset > 12 else ())):
        n = () if axis is None else (x.shape[axis],)
        if m.opset < 13 and n:
            continue
        scale = (np.abs(m.f32(*n)) + .3).astype(np.float32)
        along = {} if axis is None else dict(axis=axis)
        for kind, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
            zero = m.numbers(low // 4, high // 4, *n).astype(kind)
            m.add("QuantizeLinear", x, m.draw(scale, drawn.Constant(scale)), drawn.Constant(zero),
                  **along)
            q = m.numbers(low, high, 3, 4, 2).astype(kind)
            m.add("DequantizeLinear", m.draw(q, drawn.Constant(q)), drawn.Constant(scale),
                  m.draw(zero, drawn.Constant(zero)), **along)
        m.add("QuantizeLinear", x, drawn.Constant(scale), **along)
        m.add("DequantizeLinear", q, scale, **along)
    wide = m.numbers(-999, 999, 4, 3, dtype=np.int32)
    m.add("DequantizeLinear", wide, drawn.Constant(np.float32(.25)))
    for v in (x, np.abs(x), -np.abs(x[0])):
        m.add("DynamicQuantizeLinear", v, outputs="111")
    for ta, tb in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        a, b = m.numbers(0, 100, 3, 4).astype(ta), m.numbers(0, 100, 4, 2).astype(tb)
        za, zb = ta(7), tb(-5 if tb == np.int8 else 9)
        m.add("MatMulInteger", a, drawn.Constant(b), by="runtime")
        m.add("MatMulInteger", a, m.draw(b, drawn.Constant(b)), drawn.Constant(za),
              drawn.Constant(zb), by="runtime")
        m.add("MatMulInteger", a, b, None, drawn.Constant(m.numbers(0, 9, 2).astype(tb)),
              by="runtime")
        scales = [drawn.Constant(np.float32(v)) for v in (.05, .1, .7)]
        m.add("QLinearMatMul", a, scales[0], drawn.Constant(za), b, scales[1], drawn.Constant(zb),
              scales[2], drawn.Constant(ta(20)), by="runtime")
        m.add("QLinearMatMul", a, scales[0], drawn.Constant(za), drawn.Constant(b),
              drawn.reals(.1, .3), drawn.Constant(np.array([zb, zb - 1], tb)), scales[2],
              drawn.Constant(ta(20)), by="runtime")
        image = m.numbers(0, 100, 2, 2, 4, 5).astype(ta)
        kernel = drawn.Constant(m.numbers(0, 60, 4, 2, 2, 3).astype(tb))
        depth = drawn.Constant(m.numbers(0, 60, 2, 1, 3, 2).astype(tb))
        plain = dict(pads=[0, 1, 1, 0], strides=[2, 1])
        m.add("ConvInteger", image, kernel, by="runtime", **plain)
        m.add("ConvInteger", image, kernel, drawn.Constant(za), by="runtime", dilations=[2, 1])
        m.add("ConvInteger", image, depth, drawn.Constant(za), drawn.Constant(zb), by="runtime",
              group=2, auto_pad="SAME_LOWER")
        each = drawn.Constant((np.abs(m.f32(4)) + .02).astype(np.float32))
        zeros = drawn.Constant(np.full(4, zb, tb))
        m.add("QLinearConv", image, scales[0], drawn.Constant(za), kernel, each, zeros,
              drawn.Constant(np.float32(30)), drawn.Constant(ta(30)), by="runtime", **plain)
        m.add("QLinearConv", image, scales[0], drawn.Constant(za), depth, scales[1],
              drawn.Constant(zb), drawn.Constant(np.float32(1.5)), drawn.Constant(ta(3)),
              drawn.Constant(m.numbers(-900, 900, 2, dtype=np.int32)), by="runtime", group=2)


def elements(out):
    for name, forms, opsets in (("Function", functions, (10, 20)), ("Pair", pairs, (18,)),
                                ("Cast", casts, (19,)), ("Quant", quantised, (19,))):
        for opset in opsets:
            m = drawn.Model(f"Drawn{name}{opset}", opset)
            forms(m)
            m.write(out)


CASES = (elements,)
