# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of opsets 1 and 6, which neither ONNX Runtime nor the reference evaluator knows, with
answers by NumPy."""
import operator

import numpy as np

from drawn import forms as drawn

ARITHMETIC = dict(Add=operator.add, Sub=operator.sub, Mul=operator.mul, Div=operator.truediv)
COMPARISONS = dict(Greater=operator.gt, Less=operator.lt)
LOGIC = dict(And=operator.and_, Or=operator.or_, Xor=operator.xor)


def beside(b, rank, axis):
    """The second operand with its first axis at `axis` of the first one."""
    axis = rank - b.ndim if axis is None else axis % rank
    return b.reshape((1,) * axis + b.shape + (1,) * (rank - axis - b.ndim))


def aligned(m):
    a, p = m.f32(2, 3, 4), m.numbers(0, 2, 2, 3, 4).astype(bool)
    kinds = {**ARITHMETIC, **COMPARISONS, **LOGIC, "Equal": operator.eq, "Pow": np.power}
    for op, function in kinds.items():
        x = p if op in LOGIC else m.numbers(0, 3, 2, 3, 4) if op == "Equal" else a
        x = np.abs(x) if op == "Pow" else x
        for shape, axis in (((2,), 0), ((3,), 1), ((4,), None), ((2, 3), 0), ((3, 4), None),
                            ((3,), -2), ((2, 3, 4), 0)):
            if m.draw(0, 1):
                continue
            b = (m.numbers(0, 2, *shape).astype(bool) if op in LOGIC else
                 m.numbers(0, 3, *shape) if op == "Equal" else m.f32(*shape))
            where = {} if axis is None else dict(axis=axis)
            m.add(op, x, m.draw(b, drawn.Constant(b)), broadcast=1, **where,
                  answer=function(x, beside(b, 3, axis)))
        m.add(op, x, x[::-1], answer=function(x, x[::-1]))


def values(m):
    x = m.f32(2, 3, 4)
    slope = m.f32(3)
    m.add("PRelu", x, drawn.Constant(slope), answer=np.where(x < 0, x * slope[:, None], x))
    square = m.f32(2, 3, 3)
    m.add("PRelu", square, slope,
          answer=np.where(square < 0, square * slope[:, None], square))
    a, b = m.f32(2, 3), m.f32(3, 4)
    for c, more in ((m.f32(4), dict(alpha=.5)), (m.f32(2, 4), dict(beta=2.)), (m.f32(1), {})):
        broadcast = {} if c.shape == (2, 4) else dict(broadcast=1)
        alpha, beta = more.get("alpha", 1), more.get("beta", 1)
        m.add("Gemm", a, b, c, answer=(alpha * (a @ b) + beta * c).astype(np.float32),
              **more, **broadcast)
        m.add("Gemm", a.T.copy(), b, c, transA=1, **more, **broadcast,
              answer=(alpha * (a @ b) + beta * c).astype(np.float32))
        m.add("Gemm", a, b.T.copy(), drawn.Constant(c), transB=1, **more, **broadcast,
              answer=(alpha * (a @ b) + beta * c).astype(np.float32))
    scale, bias, mean, var = m.f32(3), m.f32(3), m.f32(3), np.abs(m.f32(3)) + 1
    for epsilon in (None, .1):
        y = (x - mean[:, None]) / np.sqrt(var[:, None] + (epsilon or 1e-5))
        m.add("BatchNormalization", x, scale, bias, mean, drawn.Constant(var), is_test=1,
              answer=(y * scale[:, None] + bias[:, None]).astype(np.float32),
              **({} if epsilon is None else dict(epsilon=epsilon)),
              **(dict(consumed_inputs=[0, 0, 0, 1, 1]) if m.opset == 1 else {}))
    m.add("Dropout", x, is_test=1, ratio=.7, answer=x), m.add("Dropout", x, is_test=1, answer=x)
    for ends in (dict(min=-.5), dict(max=.5), dict(min=-.25, max=1.)):
        m.add("Clip", x, answer=np.clip(x, ends.get("min"), ends.get("max")), **ends)
    z = m.f32(2, 3, 4)
    for op, function in (("Max", np.maximum), ("Min", np.minimum), ("Sum", np.add)):
        m.add(op, x, z, answer=function(x, z))
        m.add(op, x, z, drawn.Constant(z[::-1]), answer=function(function(x, z), z[::-1]))
    m.add("Mean", x, z, answer=(x + z) / 2)
    image = m.f32(1, 2, 3, 2)
    for h, w in ((2, 3), (1, 2), (3, 1)):
        wide = image.repeat(h, 2).repeat(w, 3)
        if m.opset == 1:
            m.add("Upsample", image, height_scale=float(h), width_scale=float(w), answer=wide)
    for op, function in (("Relu", lambda v: np.maximum(v, 0)), ("Exp", np.exp), ("Abs", np.abs),
                         ("Sigmoid", lambda v: 1 / (1 + np.exp(-v))), ("Neg", np.negative)):
        m.add(op, x, answer=function(x))
    for alpha in (None, .3):
        more = {} if alpha is None else dict(alpha=alpha)
        m.add("LeakyRelu", x, answer=np.where(x < 0, (alpha or .01) * x, x), **more)
        m.add("Elu", x, answer=np.where(x < 0, (alpha or 1) * np.expm1(x), x), **more)
    for axis in (0, 1, 2, None):
        rows = x.reshape(int(np.prod(x.shape[:1 if axis is None else axis])), -1)
        soft = np.exp(rows) / np.exp(rows).sum(1, keepdims=True)
        more = {} if axis is None else dict(axis=axis)
        m.add("Softmax", x, answer=soft.reshape(x.shape), **more)
        m.add("LogSoftmax", x, answer=np.log(soft).reshape(x.shape), **more)
        hard = (np.arange(rows.shape[1]) == rows.argmax(1)[:, None]).astype(np.float32)
        m.add("Hardmax", x, answer=hard.reshape(x.shape), **more)


def forms(m):
    x, n = m.f32(3, 4, 2), drawn.numpy
    if m.opset == 1:
        m.add("Pad", x, paddings=[0, 1, 2, 1, 0, 3], answer=n.pad(x, ((0, 1), (1, 0), (2, 3))))
        m.add("Pad", x, paddings=[1, 0, 0, 0, 2, 1], value=1.5,
              answer=n.pad(x, ((1, 0), (0, 2), (0, 1)), constant_values=1.5))
        for mode in ("reflect", "edge"):
            m.add("Pad", x, paddings=[2, 0, 1, 0, 3, 1], mode=mode,
                  answer=n.pad(x, ((2, 0), (0, 3), (1, 1)), mode=mode))
        for axis, tiles in ((0, 2), (1, 3), (2, 2)):
            m.add("Tile", x, drawn.Constant(tiles, n.int64), drawn.Constant(axis, n.int64),
                  answer=n.concatenate([x] * tiles, axis))
        for shape in ([4, 6], [0, -1], [2, 0, 3]):
            want = [x.shape[i] if s == 0 else s for i, s in enumerate(shape)]
            m.add("Reshape", x, shape=shape, answer=x.reshape(want))
        m.add("Concat", x, x[:, :1], answer=n.concatenate([x, x[:, :1]], 1))
        for name, kind in (("INT32", n.int32), ("DOUBLE", n.float64), ("BOOL", bool)):
            m.add("Cast", x, to=name, answer=x.astype(kind))
        m.add("Split", x, drawn.ints(1, 3), outputs="11", axis=1,
              answer=[x[:, :1].copy(), x[:, 1:].copy()])
    else:
        m.add("Tile", x, drawn.ints(2, 1, 3), answer=n.tile(x, (2, 1, 3)))
        for kind, number in ((n.int32, 6), (n.float64, 11), (bool, 9)):
            m.add("Cast", x, to=number, answer=x.astype(kind))
        for shape in ([4, 6], [0, -1], [2, 0, 3]):
            want = [x.shape[i] if s == 0 else s for i, s in enumerate(shape)]
            m.add("Reshape", x, drawn.ints(*shape), answer=x.reshape(want))
    m.add("Concat", x, x[:1], axis=0, answer=n.concatenate([x, x[:1]], 0))
    m.add("Split", x, outputs="11", axis=1, split=[3, 1],
          answer=[x[:, :3].copy(), x[:, 3:].copy()])
    m.add("Split", x, outputs="111", answer=[x[i:i + 1] for i in range(3)])
    m.add("Slice", x, starts=[1, -3], ends=[9, -1], axes=[0, 1], answer=x[1:9, -3:-1].copy())
    m.add("Slice", x, starts=[0, 2], ends=[2, 4], answer=x[:2, 2:].copy())
    for axis, k in ((0, 2), (1, 3), (-1, 1), (None, 2)):
        order = n.argsort(-x, -1 if axis is None else axis, "stable")
        at = n.take(order, range(k), -1 if axis is None else axis)
        m.add("TopK", x, outputs="11", k=k, **({} if axis is None else dict(axis=axis)),
              answer=[n.take_along_axis(x, at, -1 if axis is None else axis), at])
    for p in (1, 2, 3):
        y = (n.abs(x.astype(float)) ** p).sum(2, keepdims=True) ** (1 / p)
        m.add("GlobalLpPool", x, p=float(p) if m.opset == 1 else p, answer=y.astype(n.float32))
    for axes in ([0], [1, 2], None):
        more = {} if axes is None else dict(axes=axes)
        at = None if axes is None else tuple(axes)
        m.add("ReduceSum", x, keepdims=0, answer=n.asarray(x.sum(at)), **more)
        m.add("ReduceMax", x, answer=x.max(at, keepdims=True), **more)


def old(out):
    for opset in (1, 6):
        for name, cases in (("Aligned", aligned), ("Values", values), ("Forms", forms)):
            if (name, opset) != ("Aligned", 1):
                m = drawn.Model(f"Drawn{name}{opset}", opset)
                cases(m)
                m.write(out)


CASES = (old,)
