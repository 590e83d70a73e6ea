# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of what reduces, sorts, counts and normalises."""
import numpy as np

from drawn import forms as drawn
from drawn.layouts import attributes_or_inputs, some_axes

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")


def reductions(out):
    for opset in (13, 20):
        m = drawn.Model(f"DrawnReduce{opset}", opset)
        x, i = np.abs(m.f32(2, 3, 4)) + .5, m.numbers(-3, 4, 3, 2, 2, dtype=np.int32)
        for kind in REDUCTIONS:
            since = 13 if kind == "Sum" else 18
            for keep in ({}, dict(keepdims=0), None):
                axes = None if keep is None else some_axes(m, 3)
                more = m.draw({}, dict(keepdims=0)) if keep is None else keep
                value = i if kind in ("Sum", "Max", "SumSquare") and m.draw(0, 1) else x
                if opset >= since:
                    m.add(f"Reduce{kind}", value, *([] if axes is None else [drawn.ints(*axes)]),
                          **more)
                    if axes is None:
                        m.add(f"Reduce{kind}", value, noop_with_empty_axes=1)
                else:
                    m.add(f"Reduce{kind}", value, **more,
                          **({} if axes is None else dict(axes=axes)))
        ties = m.numbers(0, 3, 3, 4).astype(np.float32)
        for op in ("ArgMax", "ArgMin"):
            m.add(op, ties), m.add(op, ties, axis=1, keepdims=0), m.add(op, x, axis=2)
            if opset > 11:
                m.add(op, ties, axis=-1, select_last_index=1)
                m.add(op, ties, axis=-2, keepdims=0, select_last_index=1)
        m.write(out)


def softmaxes(m):
    x = m.f32(2, 3, 4)
    by = "runtime" if m.opset < 13 else None  # the reference evaluator knows opset 13 only
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        m.add(op, x, by=by)
        for axis in (0, 1, 2, *((-1, -2, -3) if m.opset > 10 else ())):
            m.add(op, x, by=by, axis=axis)


def orders(m):
    x, i = m.f32(3, 4, 2), m.numbers(0, 4, 3, 4)
    for k, axis in ((2, 0), (3, 1), (1, 2), *(((2, -1), (4, -2)) if m.opset > 10 else ())):
        if m.opset < 10:
            m.add("TopK", x, outputs="11", k=k, axis=axis)
        else:
            m.add("TopK", x, drawn.ints(k), outputs="11", axis=axis)
    if m.opset > 10:
        m.add("TopK", i, drawn.ints(3), outputs="11", largest=0)
        m.add("TopK", i, drawn.ints(2), outputs="11", axis=0, largest=0, sorted=1)
        m.add("TopK", i, drawn.ints(2), outputs="01", axis=0)
        for axis in (0, 1, -1, -3):
            more = dict(exclusive=m.draw(0, 1), reverse=m.draw(0, 1))
            m.add("CumSum", x, drawn.Constant(axis, np.int64), **more)
            m.add("CumSum", x, drawn.Constant(axis, np.int32))
        m.add("CumSum", i, drawn.Constant(0, np.int64), exclusive=1, reverse=1)
        for more in ({}, dict(sorted=0), dict(axis=0), dict(axis=1), dict(axis=-1, sorted=0)):
            m.add("Unique", drawn.Constant(m.numbers(0, 2, 4, 3)), outputs=m.draw("1111", "1001",
                                                                                  "1", "0110"[:3]),
                  **more)
    if m.opset > 8:
        m.add("NonZero", drawn.Constant(m.numbers(0, 2, 2, 3)))
        m.add("NonZero", drawn.Constant(m.numbers(0, 2, 5).astype(bool)))
        for more in ({}, dict(axis=0), dict(axis=1)):
            m.add("OneHot", m.numbers(-4, 4, 2, 3), drawn.Constant(4, np.int64),
                  drawn.reals(-.5, 2), **more)
        m.add("OneHot", m.numbers(0, 3, 2), drawn.ints(3), drawn.ints(1, 7), axis=-2)
        for more in ({}, dict(k=1), dict(k=-2), dict(dtype=6), dict(dtype=1, k=2)):
            m.add("EyeLike", x[0], **more)
        for shape, value in (((2, 3), None), ((3,), np.array([7], np.int64)),
                             ((2, 1), np.array([.5], np.float32))):
            tensor = {} if value is None else dict(value=drawn.numpy_helper.from_array(value))
            m.add("ConstantOfShape", drawn.ints(*shape), **tensor)
        m.add("Where", m.numbers(0, 2, 3, 1).astype(bool), m.f32(1, 4), m.f32(2, 1, 1))
    if m.opset > 10:
        for a, b, step in ((1, 10, 3), (5, -4, -2), (2, 2, 1)):
            m.add("Range", *(drawn.Constant(v, np.int64) for v in (a, b, step)))
            m.add("Range", *(drawn.Constant(v + .5, np.float32) for v in (a, b, step)))
    if m.opset > 13:
        for upper in ({}, dict(upper=0), dict(upper=1)):
            for k in (None, 1, -1, -2):
                m.add("Trilu", x, *([] if k is None else [drawn.Constant(k, np.int64)]), **upper)


def groups(m):
    y = m.f32(2, 4, 3)
    for n in (1, 2, 4):
        size = n if m.opset < 21 else 4
        m.add("GroupNormalization", y, m.f32(size), m.f32(size), num_groups=n,
              **m.draw({}, dict(epsilon=.1)))


def normalisations(m):
    x = m.f32(2, 3, 2, 2)
    scale, bias, mean = m.f32(3), m.f32(3), m.f32(3)
    var = np.abs(m.f32(3)) + .5
    for v in (x, x[:, :, 0], x[:, :, 0, 0]):
        m.add("BatchNormalization", v, scale, drawn.Constant(bias), mean, drawn.Constant(var),
              by="runtime",
              **m.draw({}, dict(epsilon=.1)), **m.draw({}, dict(momentum=.5)))
    if m.opset > 13:
        m.add("BatchNormalization", x, scale, bias, mean, var, outputs="111", training_mode=1,
              momentum=.7, by="runtime" if m.opset > 14 else None)
        m.add("BatchNormalization", x, scale, bias, mean, var, outputs="111", training_mode=1,
              epsilon=.1)
    if m.opset == 18:
        return groups(m)
    for v in (x, x[:, :, 0]):
        m.add("InstanceNormalization", v, scale, bias, **m.draw({}, dict(epsilon=.1)))
    for more in ({}, dict(p=1), dict(axis=0), dict(axis=1, p=1), dict(axis=-2)):
        m.add("LpNormalization", x, by="runtime", **more)
    if m.opset > 8:
        for more in ({}, dict(axes=[1]), dict(axes=[0, 3]), dict(axes=[-1, 2])):
            m.add("MeanVarianceNormalization", x, **more)
    if m.opset > 16:
        for axis in (0, 1, 2, 3, -1, -2, -4):
            rest = x.shape[axis % 4:]
            m.add("LayerNormalization", x, m.f32(*rest), *m.draw([], [m.f32(*rest)]),
                  outputs=m.draw("1", "111", "101"), axis=axis, **m.draw({}, dict(epsilon=.1)))
        m.add("LayerNormalization", x, m.f32(2))
    if m.opset > 17:
        groups(m)
    if m.opset > 22:
        for axis in (1, 2, -1, -3):
            m.add("RMSNormalization", x, m.f32(*x.shape[axis % 4:]), axis=axis,
                  **m.draw({}, dict(epsilon=.1)))
        m.add("RMSNormalization", x, m.f32(2))


def losses(m):
    for shape in ((3, 4), (2, 3, 2), (2, 3, 2, 2)):
        x, n = m.f32(*shape), shape[1]
        plain = m.numbers(0, n, shape[0], *shape[2:])
        weights = drawn.Constant(np.abs(m.f32(n)) + .2)
        for kind in ("mean", "sum", "none"):
            weighs = m.draw(0, 1)
            more = m.draw({}, dict(ignore_index=1), dict(ignore_index=-1))
            target = plain
            if more.get("ignore_index") == -1:
                target = plain.copy()
                target.flat[-1] = -1
            m.add("NegativeLogLikelihoodLoss", x, target, *([weights] if weighs else []),
                  reduction=kind, by="reference", **more)
            m.add("SoftmaxCrossEntropyLoss", x, target, *([weights] if not weighs else []),
                  outputs=m.draw("1", "11"), reduction=kind, by="reference", **more)
        m.add("NegativeLogLikelihoodLoss", x, plain)
        m.add("SoftmaxCrossEntropyLoss", x, plain, outputs="11")


def numbers(out):
    for name, forms, opsets in (("Softmax", softmaxes, (11, 13)), ("Order", orders, (7, 14)),
                                ("Norm", normalisations, (9, 14, 18, 23)), ("Loss", losses, (13,))):
        for opset in opsets:
            m = drawn.Model(f"Drawn{name}{opset}", opset)
            forms(m)
            m.write(out)


CASES = (reductions, numbers)
