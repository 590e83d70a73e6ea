# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of convolutions, pools and resizing."""
import numpy as np
from onnx import helper

from drawn import forms as drawn


def draw_window(m, n, kernel):
    """Strides, dilations and pads along n axes, all of them different where that can be."""
    window = dict(strides=[int(v) for v in m.rng.permutation([1, 2, 3])[:n]],
                  dilations=[int(v) for v in m.rng.permutation([1, 2, 1])[:n]],
                  pads=[int(min(v, k - 1)) if m.draw(0, 1, 1) else 0 for v, k in
                        zip(m.rng.permutation([0, 1, 2, 1, 0, 2])[:2 * n], kernel * 2)])
    return {k: v for k, v in window.items() if m.draw(0, 1, 1)}


def convolutions(out):
    m = drawn.Model("DrawnConv", 22)
    for rank in (1, 2, 3, 2, 2, 1):
        kernel = [int(v) for v in m.rng.integers(1, 4, rank)]
        group, batch = m.draw(1, 2, 3), m.draw(1, 2, 2)
        sizes = [int(v) for v in m.rng.integers(3, 6 if rank < 3 else 4, rank)]
        x = m.f32(batch, 2 * group, *sizes)
        w = drawn.Constant(m.f32(3 * group, 2, *kernel))
        bias = m.draw(None, m.f32(3 * group), drawn.Constant(m.f32(3 * group)))
        more = draw_window(m, rank, kernel)
        if m.draw(0, 1):
            more |= dict(kernel_shape=kernel)
        if m.draw(0, 0, 1):
            more.pop("pads", 0), more.pop("dilations", 0)
            more |= dict(auto_pad=m.draw("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
        m.add("Conv", *([x, w] if bias is None else [x, w, bias]),
              **(dict(group=group) if group > 1 else {}), **more)
        t = drawn.Constant(m.f32(2 * group, 2, *kernel))
        more = draw_window(m, rank, kernel)
        strides = more.get("strides", [1] * rank)
        if m.draw(0, 1):
            more |= dict(output_padding=[int(m.rng.integers(0, s)) for s in strides])
        m.add("ConvTranspose", x, t, *m.draw([], [drawn.Constant(m.f32(2 * group))]),
              group=group, **more)
        more = dict(strides=[min(s, k) for s, k in zip(strides, kernel)])
        strides = more["strides"]
        auto = m.draw("SAME_UPPER", "SAME_LOWER", "VALID")
        m.add("ConvTranspose", x, t, group=group, auto_pad=auto, **more)
        wanted = [(n - 1) * s + k + int(m.rng.integers(-k + 1, s))
                  for n, s, k in zip(sizes, strides, kernel)]
        m.add("ConvTranspose", x, t, group=group, output_shape=wanted,
              **m.draw({}, dict(auto_pad="SAME_UPPER")), **more)
    x, w = m.f32(1, 2, 6, 8), drawn.Constant(m.f32(2, 2, 1, 2))
    for auto in ("SAME_UPPER", "SAME_LOWER"):  # windows that do not reach each other
        m.add("Conv", x, w, strides=[3, 4], auto_pad=auto)
    m.write(out)


def pools(out):
    m = drawn.Model("DrawnPool", 19)
    for i, rank in enumerate((1, 2, 3, 2, 1)):
        kernel = [int(v) for v in m.rng.integers(2, 4, rank)]
        x = m.f32(m.draw(1, 2), m.draw(1, 2), *(int(v) for v in m.rng.integers(4, 6, rank)))
        more = dict(kernel_shape=kernel, **draw_window(m, rank, kernel))
        plain = {k: v for k, v in more.items() if k != "dilations"}
        more |= m.draw({}, dict(ceil_mode=1))
        plain |= m.draw({}, dict(ceil_mode=1))
        auto = dict(kernel_shape=kernel, auto_pad=m.draw("SAME_UPPER", "SAME_LOWER", "VALID"),
                    **{k: v for k, v in plain.items() if k == "strides"})
        counts = m.draw({}, dict(count_include_pad=1))
        m.add("MaxPool", x, by="runtime", **more)
        m.add("MaxPool", x, by="runtime", outputs="11", **m.draw({}, dict(storage_order=1)), **more)
        m.add("MaxPool", x, by="runtime", **auto)
        m.add("AveragePool", x, by="runtime", **more, **counts)
        m.add("AveragePool", x, by="runtime", **auto, **counts)
        m.add("LpPool", x, by="runtime", **more, **m.draw({}, dict(p=1), dict(p=3)))
        if i < 2:
            for op in ("GlobalAveragePool", "GlobalMaxPool"):
                m.add(op, x, by="runtime")
            for p in (1, 2, 3):
                m.add("GlobalLpPool", x, p=p)
            m.add("LRN", m.f32(2, 5, 1, 3), by="runtime", size=3)
            m.add("LRN", m.f32(2, 5, 2, 2), by="runtime", size=3 + 2 * i, alpha=.5, beta=.6,
                  bias=2.)
    m.write(out)


def unpools(out):
    m = drawn.Model("DrawnUnpool", 11)
    for kernel, strides, pads, sizes in (([2, 3], [2, 3], [0, 0, 0, 0], [4, 6]),
                                         ([2, 2], [2, 1], [0, 0, 0, 0], [4, 3]),
                                         ([2], [2], [0, 0], [6])):
        x = m.f32(2, 2, *sizes)
        model = m.model([helper.make_node("MaxPool", ["x0"], ["y", "i"], kernel_shape=kernel,
                                                strides=strides)], {"x0": x}, {}, ["y", "i"])
        y, i = drawn.run(model, ["y", "i"], {"x0": x}, "runtime")
        m.add("MaxUnpool", y, i, kernel_shape=kernel, strides=strides, pads=pads)
        m.add("MaxUnpool", y, i, kernel_shape=kernel, strides=strides, by="runtime")
    m.write(out)


def resizes(out):
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                   "tf_crop_and_resize", "half_pixel_symmetric"]
    for name, opset in (("DrawnResize11", 11), ("DrawnResize19", 19)):
        m = drawn.Model(name, opset, seed=2)
        for i in range(36):
            rank = m.draw(1, 2, 2, 3, 4)
            mode = ("nearest", "linear", "cubic")[i % 3]
            x = m.f32(*(int(v) for v in m.rng.integers(1 + (rank < 3), 6 - (rank > 2), rank)))
            rule = coordinates[i // 3 % (6 if opset > 18 else 5)]
            more = dict(mode=mode, coordinate_transformation_mode=rule)
            if mode == "nearest":
                more |= m.draw({}, *(dict(nearest_mode=k) for k in
                                     ("round_prefer_ceil", "floor", "ceil")))
            # of one element by this rule the reference evaluator says something of its own
            by = "runtime" if rule == "pytorch_half_pixel" else None
            if mode == "cubic":
                more |= m.draw({}, dict(cubic_coeff_a=-.5), dict(exclude_outside=1))
            axes = list(range(rank))
            if opset > 17 and m.draw(0, 1):
                axes = [int(v) for v in m.rng.permutation(rank)[:m.rng.integers(1, rank + 1)]]
                more |= dict(axes=[a - rank if m.draw(0, i % 3 == 0) else a for a in axes])
            roi = None
            if rule == "tf_crop_and_resize":
                more |= dict(extrapolation_value=1.5)
                roi = drawn.Constant([float(v) for v in m.rng.uniform(-.2, .4, len(axes))] +
                                     [float(v) for v in m.rng.uniform(.6, 1.3, len(axes))],
                                     np.float32)
            if i % 2:
                largest = 6 if rank < 3 else 4
                sizes = drawn.ints(*(int(v) for v in m.rng.integers(1, largest + 1, len(axes))))
                scales = drawn.reals() if opset < 13 else None
                if opset > 17 and rule != "tf_crop_and_resize":
                    more |= dict(keep_aspect_ratio_policy=m.draw("stretch", "not_larger",
                                                                 "not_smaller"))
                    if more["keep_aspect_ratio_policy"] != "stretch" and "axes" in more:
                        more["axes"] = axes  # the runtime scales nothing along those below 0
                m.add("Resize", x, roi or m.draw(None, drawn.reals()), scales, sizes, by=by, **more)
            else:
                scales = drawn.reals(*(float(m.draw(.5, .75, 1, 1.5, 2, 2.25)) for _ in axes))
                m.add("Resize", x, roi or m.draw(None, drawn.reals()), scales, by=by, **more)
        m.write(out)
    for name, opset in (("DrawnUpsample7", 7), ("DrawnUpsample9", 9), ("DrawnResize10", 10)):
        m = drawn.Model(name, opset)
        for scales in ([2, 1, 3, 1.5], [1, 1, 2, 3], [1, 1, 1.6, 2], [3, 2], [1, 2, 1]):
            x = m.f32(*(int(v) for v in m.rng.integers(1, 4, len(scales))))
            for mode in ({}, dict(mode="linear")):
                scale = [drawn.reals(*scales)] if opset > 7 else []
                more = dict(scales=[float(s) for s in scales]) if opset == 7 else {}
                m.add("Resize" if opset > 9 else "Upsample", x, *scale, **mode, **more)
        m.write(out)


CASES = (convolutions, pools, unpools, resizes)
