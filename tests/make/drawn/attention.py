# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of attention: windows that leave some queries with nothing, heads that share keys."""
import numpy as np

from drawn import forms as drawn


def windows(m):
    """More queries than keys and more keys than queries, each with windows on either side."""
    for queries, keys, past in ((3, 3, 0), (5, 2, 0), (2, 5, 0), (1, 4, 0), (3, 1, 2), (2, 3, 3)):
        q, k, v = m.f32(2, 2, queries, 4), m.f32(2, 2, keys, 4), m.f32(2, 2, keys, 3)
        before = [None, m.f32(2, 2, past, 4), m.f32(2, 2, past, 3)] if past else []
        outputs = "111" if past else "1"
        for left, right, causal in ((-1, 0, 0), (0, -1, 0), (0, 0, 0), (1, 0, 1), (2, 1, 0),
                                    (-1, -1, 1), (0, 2, 0), (1, -1, 0), (-1, 1, 0)):
            if m.draw(0, 0, 1):
                continue
            m.add("Attention", q, k, v, *before, outputs=outputs, by="reference",
                  left_window_size=left, right_window_size=right,
                  **(dict(is_causal=1) if causal else {}))


def masks(m):
    for heads, shared in ((2, 2), (4, 2), (4, 1)):
        q, k, v = m.f32(2, heads, 3, 4), m.f32(2, shared, 5, 4), m.f32(2, shared, 5, 2)
        flat = [np.swapaxes(x, 1, 2).reshape(2, x.shape[2], -1).copy() for x in (q, k, v)]
        more = dict(q_num_heads=heads, kv_num_heads=shared)
        for shape in ((3, 5), (1, 3, 5), (2, 1, 3, 5), (2, heads, 3, 5)):
            mask = m.draw(m.f32(*shape), m.numbers(0, 3, *shape).astype(bool))
            if mask.dtype == bool:
                mask[..., 0] = True
            m.add("Attention", q, k, v, m.draw(mask, drawn.Constant(mask)), by="reference",
                  **m.draw({}, dict(scale=.3), dict(softcap=1.5)))
            m.add("Attention", *flat, mask, by="reference", **more)
        m.add("Attention", *flat, by="reference", is_causal=1, **more)
        for mode in (0, 1, 2, 3):
            # of scores as they were, mode 0, the evaluator shows capped ones
            m.add("Attention", q, k, v, mask, outputs="1001", by="reference",
                  qk_matmul_output_mode=mode, **(dict(softcap=.8) if mode else {}))


def attention(out):
    for name, forms, opset in (("Windows", windows, 28), ("Masks", masks, 23)):
        m = drawn.Model(f"Drawn{name}{opset}", opset)
        forms(m)
        m.write(out)


CASES = (attention,)
