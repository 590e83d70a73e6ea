# SPDX-License-Identifier: Apache-2.0
"""The models of bench/extents.py that have graphs inside nodes, as torch.onnx and Optimum write
them."""
from extents_builder import BOOL, F32, I64, POSITIONS, below, few_above, model, np, real, whole


def either(rng, shape, _):
    return rng.random(shape) < .5


@model(batch=(1, 3), seq=(1, 12), past=(0, 16))
def merged(b):
    """A decoder of Optimum with and without its cache, in one graph: If(use_cache_branch)"""
    width, heads, words = 32, 2, 40
    depth = width // heads
    ids = b.input("input_ids", ["batch", "seq"], below(words), I64)
    past = [b.input(f"past_{n}", ["batch", heads, "past", depth]) for n in "kv"]
    cached = b.input("use_cache_branch", [1], either, BOOL)
    table, places = b.value(b.random(words, width) / 4), b.value(b.random(2 * POSITIONS, width) / 4)
    q, k, v, o = (b.value(b.matrix(width, width)) for _ in range(4))
    head = b.value(b.matrix(width, words))

    def branch(has_past):
        start = b.size(past[0], 2) if has_past else b.value(0)
        at = b.Range(start, b.Add(start, b.size(ids, 1)), 1)
        x = b.Add(b.Gather(table, ids), b.Gather(places, at))
        y = [b.split_heads(b.MatMul(x, w), heads, depth) for w in (q, k, v)]
        if has_past:
            y[1:] = [b.Concat(p, new, axis=2) for p, new in zip(past, y[1:])]
        scores = b.Mul(b.scores(*y[:2]), depth ** -.5)
        hidden = b.ConstantOfShape(b.Shape(scores), value=real(-1e9))
        hidden = b.Trilu(hidden, b.Add(start, 1), upper=1)
        z = b.MatMul(b.Softmax(b.Add(scores, hidden), axis=-1), y[2])
        x = b.Add(x, b.MatMul(b.join_heads(z, width), o))
        return [(b.MatMul(x, head), F32), (y[1], F32), (y[2], F32)]

    logits, *presents = b.op("If", cached, count=3, then_branch=b.graph(lambda: branch(True)),
                             else_branch=b.graph(lambda: branch(False)))
    b.output("logits", logits, ["batch", "seq", words])
    for n, x in zip("kv", presents):
        b.output(f"present_{n}", x, ["batch", heads, "present", depth])


@model(boxes=(1, 20), _above=(0, 20))
def boxes_or_none(b):
    """A detector's boxes above a threshold, with a branch of its own where there are none"""
    boxes = b.input("boxes", ["boxes", 4])
    scores = b.input("scores", ["boxes"], few_above(.5, "_above"))
    found = b.Reshape(b.NonZero(b.Greater(scores, .5)), [-1])
    is_none = b.Equal(b.Gather(b.Shape(found), 0, axis=0), 0)

    def some():
        y = b.Gather(boxes, found, axis=0)
        y = b.Div(y, b.Add(b.ReduceMax(b.Abs(y), keepdims=1), 1.0))
        return [(y, F32), (b.Identity(found), I64)]

    def none():
        return [(b.ConstantOfShape([0, 4], value=real(0)), F32),
                (b.ConstantOfShape([0], value=whole(0)), I64)]

    y, kept = b.op("If", is_none, count=2, then_branch=b.graph(none), else_branch=b.graph(some))
    b.output("found", b.Mul(y, 100.0), ["found", 4])
    b.output("kept", kept, ["found"], I64)


@model(batch=(1, 3), steps=(1, 10), width=(1, 6))
def loops(b):
    """A recurrence in a Loop over the rows of a text, and a decay in a Scan, backwards"""
    x = b.input("x", ["steps", "batch", 8])
    z = b.input("z", ["batch", "steps", "width"])
    w = b.value(b.matrix(8, 8))
    zeros = b.ConstantOfShape(b.dims(b.size(x, 1), 8), value=real(0))

    def step():
        row = b.Gather(x, "i", axis=0)
        y = b.Tanh(b.Add(b.MatMul("h", w), row))
        return [(b.Identity("go"), BOOL), (y, F32), (b.Mul(y, 2.0), F32)]

    body = b.graph(step, [("i", I64, []), ("go", BOOL, []), ("h", F32, ["batch", 8])])
    last, rows = b.op("Loop", b.size(x, 0), np.bool_(True), zeros, count=2, body=body)
    b.output("last", last, ["batch", 8])
    b.output("rows", b.Softmax(rows, axis=0), ["steps", "batch", 8])

    def decay():
        y = b.Add(b.Mul("s", .5), "v")
        return [(y, F32), (b.Identity(y), F32)]

    zeros = b.ConstantOfShape(b.dims(b.size(z, 0), b.size(z, 2)), value=real(0))
    body = b.graph(decay, [("s", F32, ["batch", "width"]), ("v", F32, ["batch", "width"])])
    last, rows = b.op("Scan", zeros, z, count=2, num_scan_inputs=1, scan_input_axes=[1],
                      scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1],
                      body=body)
    b.output("decayed", last, ["batch", "width"])
    b.output("decays", rows, ["batch", "steps", "width"])
