# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of operators that move elements or change shapes."""
import numpy as np

from drawn import forms as drawn


def attributes_or_inputs(m, since, op, x, outputs="1", by=None, **lists):
    """Lists are attributes before opset `since`, then inputs in the order that they are named."""
    if m.opset < since:
        return m.add(op, *x, outputs=outputs, by=by,
                     **{k: v for k, v in lists.items() if v is not None})
    values = [v if v is None else drawn.ints(*v) for v in lists.values()]
    while values and values[-1] is None:
        values.pop()
    return m.add(op, *x, *values, outputs=outputs, by=by)


def some_axes(m, rank, least=1):
    axes = [int(v) for v in m.rng.permutation(rank)[:m.rng.integers(least, rank + 1)]]
    return [a - rank if m.draw(0, 1) else a for a in axes]


def slices(m):
    for i in range(12):
        x = m.f32(*(int(v) for v in m.rng.integers(2, 5, m.draw(1, 2, 3, 4))))
        axes = some_axes(m, x.ndim)
        if m.draw(0, 0, 1):
            axes = None
        n = m.rng.integers(1, x.ndim + 1) if axes is None else len(axes)
        starts = [int(m.draw(0, 1, -2, -3, -9)) for _ in range(n)]
        ends = [int(m.draw(2, 4, -1, 9, 2 ** 31 - 1)) for _ in range(n)]
        if m.opset < 10:
            m.add("Slice", x, starts=starts, ends=ends, **({} if axes is None else dict(axes=axes)))
            continue
        steps = m.draw(None, [int(m.draw(1, 2, 3, -1, -2)) for _ in range(n)])
        if steps:
            starts, ends = zip(*((b, a) if s < 0 else (a, b)
                                 for a, b, s in zip(starts, ends, steps)))
        lists = [starts, ends, axes, steps]
        while lists[-1] is None:
            lists.pop()
        m.add("Slice", x, *(v if v is None else drawn.ints(*v) for v in lists))


def pads(m):
    for i, mode in enumerate(["constant", "edge", "reflect"] * 4):
        x = m.f32(*(int(v) for v in m.rng.integers(3, 5, m.draw(1, 2, 2, 3, 4 if i < 6 else 1))))
        wide = [int(v) for v in m.rng.permutation([0, 1, 2, 1, 2, 0, 1, 2])[:2 * x.ndim]]
        if i > 8:
            wide = [-1 if v == 2 and mode == "constant" else v for v in wide]
        more = {} if mode == "constant" and m.draw(0, 1) else dict(mode=mode)
        if m.opset < 11:
            m.add("Pad", x, pads=wide, **more, **m.draw({}, dict(value=1.5)))
        elif m.opset < 18 or m.draw(0, 1):
            m.add("Pad", x, drawn.ints(*wide), *m.draw([], [drawn.Constant(np.float32(2.5))]),
                  **more)
        else:
            axes = some_axes(m, x.ndim)
            wide = wide[:2 * len(axes)]
            m.add("Pad", x, drawn.ints(*wide), m.draw(None, np.array(-1.5, np.float32)),
                  drawn.ints(*axes), **more)
    if m.opset > 18:
        x = m.f32(3, 4)
        m.add("Pad", x, drawn.ints(1, 3, 2, 1), mode="wrap")


def shapes(m):
    for dims, axes in (((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((1, 1, 2), [1, 0]), ((2, 1), [1]),
                       ((1, 2, 1, 3, 1), [2, -5]), ((1, 2, 1), None)):
        attributes_or_inputs(m, 13, "Squeeze", [m.f32(*dims)], axes=axes)
    for dims, axes in (((3, 2), [0]), ((3, 2), [2]), ((3, 2), [1, 3]), ((2,), [2, 0, 1]),
                       *([((3, 2), [-1, 0]), ((3, 2), [-2])] if m.opset > 10 else [])):
        attributes_or_inputs(m, 13, "Unsqueeze", [m.f32(*dims)], axes=axes)
    x = m.f32(5, 6, 2)
    negative = m.opset > 10
    for axis, sizes, n in ((0, [1, 4], 2), (1, [2, 1, 3], 3), (2, None, 2), (0, None, 5),
                           (-2 if negative else 1, [5, 1], 2), (1, None, 3)):
        more = {} if axis == 0 and n == 2 else dict(axis=axis)
        if m.opset >= 13:
            if m.opset >= 18 and sizes is None:
                more |= dict(num_outputs=n)
            m.add("Split", x, *([] if sizes is None else [drawn.ints(*sizes)]), outputs="1" * n,
                  **more)
        else:
            m.add("Split", x, outputs="1" * n, **more,
                  **({} if sizes is None else dict(split=sizes)))
    if m.opset >= 18:
        m.add("Split", x, outputs="111", num_outputs=3, axis=0)
        m.add("Split", x, outputs="111", num_outputs=3, axis=-1)
    for axis in (0, 1, 2, 3, *((-1, -3) if negative else ())):
        m.add("Flatten", x, axis=axis)
    m.add("Flatten", x)
    for perm in ([0, 2, 1], [2, 0, 1], [1, 2, 0], None):
        m.add("Transpose", x, **({} if perm is None else dict(perm=perm)))
    for shape in ((6, -1), (0, 12), (-1, 0, 1), (5, 0, -1, 1), (60,)):
        m.add("Reshape", x, drawn.ints(*shape))
    a, b = m.f32(2, 1, 3), m.f32(2, 4, 3)
    for axis, parts in ((1, [a, b, a]), (0, [b, b]), (2, [b, b, b]),
                        *([(-2, [b, a])] if negative else [])):
        m.add("Concat", *parts, axis=axis)
    if m.opset > 7:
        for shape in ((4, 1), (2, 4, 3), (3, 1, 1, 1), (1,)):
            m.add("Expand", a, drawn.ints(*shape))
    for repeats in ((1, 2, 3), (2, 1, 1), (3, 2, 1)):
        m.add("Tile", a, drawn.ints(*repeats))
    m.add("Shape", b), m.add("Size", b)
    if m.opset > 14:
        for start, end in ((1, None), (-1, None), (0, -1), (-2, 3), (-9, 9), (2, 1)):
            m.add("Shape", b, start=start, **({} if end is None else dict(end=end)))
    q = m.f32(2, 12, 2, 3)
    m.add("DepthToSpace", q, blocksize=2)
    if negative:
        m.add("DepthToSpace", q, blocksize=2, mode="CRD")
        m.add("DepthToSpace", q, blocksize=2, mode="DCR")
    m.add("SpaceToDepth", m.f32(2, 3, 4, 6), blocksize=2)
    if m.opset > 17:
        for shape, axes in (((3, 2, 7), None), ((3,), [1]), ((7, 8), [0, -1]), ((2, 4), [-2, 0])):
            m.add("CenterCropPad", x, drawn.ints(*shape), **(dict(axes=axes) if axes else {}))


def layouts(out):
    for name, forms, opsets in (("Slice", slices, (7, 13)), ("Pad", pads, (7, 19)),
                                ("Shapes", shapes, (11, 19))):
        for opset in opsets:
            m = drawn.Model(f"Drawn{name}{opset}", opset)
            forms(m)
            m.write(out)


CASES = (layouts,)
