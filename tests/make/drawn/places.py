# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of operators with indices, and of products of matrices."""
import numpy as np

from drawn import forms as drawn


def gathers(m):
    x = m.f32(3, 4, 2)
    deep = m.opset > 10
    for axis in (0, 1, 2, *((-1, -3) if deep else ())):
        size = x.shape[axis]
        low = -size if deep else 0
        m.add("Gather", x, m.numbers(low, size, 2, 3), axis=axis)
        m.add("Gather", x, drawn.Constant(m.numbers(low, size, 2, dtype=np.int32)), axis=axis)
        if deep:
            m.add("Gather", x, drawn.Constant(-1, np.int64), axis=axis)
            shape = [2 if k == axis % 3 else n for k, n in enumerate(x.shape)]
            at = m.numbers(low, size, *shape)
            m.add("GatherElements", x, m.draw(at, drawn.Constant(at)), axis=axis)
    m.add("Gather", x, m.numbers(0, 3, 1, 2))
    if deep:
        for batch, n in ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)):
            more = dict(batch_dims=batch) if m.opset > 11 else {}
            if batch and not more:
                continue
            lead = list(x.shape[:batch])
            at = np.stack([m.numbers(-s, s, *lead, 3) for s in x.shape[batch:batch + n]], -1)
            m.add("GatherND", x, m.draw(at, drawn.Constant(at)), **more)
    for axis in (0, 1, 2, None, *((-1, -2) if deep else ())):
        size = 4 if axis is None else x.shape[axis]
        where = m.numbers(0, 2, size).astype(bool)
        where[-1] = True
        more = {} if axis is None else dict(axis=axis)
        m.add("Compress", x, drawn.Constant(where), **more)
    m.add("Compress", x, drawn.Constant([True]), axis=1)


def scatters(m):
    x = m.f32(3, 4, 2)
    kinds = [{}] + [dict(reduction=k) for k in ("add", "mul", "max", "min")
                    if m.opset > (17 if k[0] == "m" and k != "mul" else 15)]
    for axis in (0, 1, 2, *((-1, -2) if m.opset > 10 else ())):
        op = "ScatterElements" if m.opset > 10 else "Scatter"
        for kind in kinds:
            shape = [2 if k == axis % 3 else n for k, n in enumerate(x.shape)]
            order = np.argsort(m.f32(*x.shape), axis)
            at = np.take(order, [0, 1], axis) if not kind else m.numbers(0, 2, *shape)
            if m.opset > 10 and m.draw(0, 1):
                at = at - x.shape[axis]
            m.add(op, x, m.draw(at, drawn.Constant(at)), m.f32(*shape), axis=axis, **kind)
    if m.opset > 10:
        for n in (1, 2, 3):
            for kind in kinds:
                rows = m.rng.permutation(int(np.prod(x.shape[:n])))[:3]
                at = np.stack(np.unravel_index(rows, x.shape[:n]), -1)
                if kind:
                    at[-1] = at[0]
                m.add("ScatterND", x, m.draw(at, drawn.Constant(at)), m.f32(3, *x.shape[n:]),
                      **kind)


def regions(m):
    x = m.f32(4, 3, 2)
    lengths = m.numbers(1, 5, 3)
    m.add("ReverseSequence", x, lengths), m.add("ReverseSequence", x, drawn.Constant(lengths))
    m.add("ReverseSequence", x, m.numbers(1, 4, 4), batch_axis=0, time_axis=1)
    image = m.f32(2, 2, 6, 5)
    rois = (np.array([[0, .5, 3, 4.5], [1.5, 1, 4, 5], [-1, -2, 2, 7]], np.float32),
            m.numbers(0, 2, 3))
    for more in ({}, dict(output_height=2, output_width=3), dict(mode="max", sampling_ratio=1),
                 dict(sampling_ratio=2, output_height=3), dict(spatial_scale=.5, sampling_ratio=1)):
        if m.opset > 15:
            more |= m.draw({}, dict(coordinate_transformation_mode="output_half_pixel"))
        m.add("RoiAlign", image, *rois, by="runtime", **more)
    boxes = np.sort(m.rng.random((2, 5, 2, 2)), 2).reshape(2, 5, 4)
    boxes, scores = (drawn.Constant(v, np.float32) for v in (boxes, m.rng.random((2, 2, 5))))
    for few, overlap, least, more in ((2, .5, None, {}), (5, .1, .3, {}), (3, 0, .2, {}),
                                      (4, .3, .5, dict(center_point_box=1))):
        last = [] if least is None else [drawn.reals(least)]
        m.add("NonMaxSuppression", boxes, scores, drawn.ints(few), drawn.reals(overlap), *last,
              **more)
    square = m.f32(2, 3, 3)
    m.add("Det", square), m.add("Det", square[0])
    if m.opset > 15:
        for mode in ("bilinear", "nearest", "bicubic"):
            m.add("GridSample", image, m.f32(2, 2, 3, 2), by="runtime", align_corners=m.draw(0, 1),
                  mode=mode, padding_mode=m.draw("zeros", "border", "reflection"))


def products(m):
    for shapes in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
                   ((2, 1, 2, 3), (3, 3, 2)), ((2, 2, 3), (3, 2)), ((2, 3), (2, 3, 1)),
                   ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((1, 4, 3), (2, 3, 4))):
        a, b = (m.f32(*s) for s in shapes)
        m.add("MatMul", a, b)
        m.add("MatMul", a, drawn.Constant(b))
        m.add("MatMul", drawn.Constant(a), b)
    if m.opset > 8:
        i = m.numbers(-9, 9, 2, 3, 3, dtype=np.int32)
        m.add("MatMul", i, drawn.Constant(i[0]))
    for left in (0, 1):
        for right in (0, 1):
            a = m.f32(*((3, 2) if left else (2, 3)))
            b = m.f32(*((4, 3) if right else (3, 4)))
            for c in ((4,), (2, 1), (1, 4), (1,), (2, 4), (), None):
                if c is None and m.opset < 11:
                    continue
                more = m.draw({}, dict(alpha=.5), dict(beta=-2.), dict(alpha=1.5, beta=.25))
                if left or m.draw(0, 1):
                    more["transA"] = left
                if right or m.draw(0, 1):
                    more["transB"] = right
                m.add("Gemm", a, m.draw(b, drawn.Constant(b)),
                      *([] if c is None else [drawn.Constant(m.f32(*c))]), **more)
    if m.opset > 11:
        for rule, *dims in (
                ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)),
                ("bij,bkj->bik", (2, 2, 3), (2, 4, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
                ("ij->", (2, 3)), ("i,j->ij", (2,), (3,)), ("...i->...", (2, 3, 4)),
                ("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2)), ("i,i->", (3,), (3,)),
                ("ij,ij->j", (2, 3), (2, 3)), ("bhwc,hkc->bhwk", (2, 2, 3, 2), (2, 4, 2)),
                ("a...b->b...a", (2, 3, 4)), ("ba", (2, 3)), ("iij->ij", (2, 2, 3)),
                ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)), (" i j , j -> i ", (2, 3), (3,)),
                ("ij,...k->...ijk", (2, 1), (2, 3)), ("ij,jk->i", (2, 3), (3, 2)),
                ("ij,k->i", (2, 3), (4,)), ("i,j,k->", (2,), (3,), (2,)),
                ("ij,jk,kl->i", (2, 3), (3, 2), (2, 4)), ("ij,j,jk->k", (2, 3), (3,), (3, 2)),
                ("ijk,jl->il", (2, 3, 2), (3, 4)), ("a,ab,abc->c", (2,), (2, 3), (2, 3, 2)),
                ("jk,ij->i", (3, 2), (2, 3)), ("ikl,jk->ij", (2, 3, 2), (2, 3))):
            m.add("Einsum", *(m.f32(*d) for d in dims), equation=rule)


def places(out):
    for name, forms, opsets in (("Gather", gathers, (13,)), ("Scatter", scatters, (9, 18)),
                                ("Region", regions, (16,)), ("Product", products, (13,))):
        for opset in opsets:
            m = drawn.Model(f"Drawn{name}{opset}", opset)
            forms(m)
            m.write(out)


CASES = (places,)
