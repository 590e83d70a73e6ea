# SPDX-License-Identifier: Apache-2.0
"""The models of bench/extents.py that are made of plain operators, as torch.onnx and tf2onnx write
them."""
import math

from extents_builder import (END, F32, I32, I64, POSITIONS, below, few_above, lengths_up_to, model,
                             np, padding, real, whole)



@model(batch=(1, 4), seq=(1, 32))
def bert(b):
    """An encoder of two layers with a padding mask, positions sliced from a buffer, and a pooler"""
    encoder(b, 32, 2, 64, 2, POSITIONS)


def encoder(b, width, heads, inner, layers, places):
    text = ["batch", "seq"]
    ids = b.input("input_ids", text, below(97), I64)
    mask = b.input("attention_mask", text, padding, I64)
    kinds = b.input("token_type_ids", text, below(2), I64)
    mask = b.Cast(b.Unsqueeze(b.Unsqueeze(mask, [1]), [2]), to=F32)
    mask = b.Mul(b.Sub(1.0, mask), -10000.0)
    positions = b.slice(np.arange(places)[None], 1, 0, b.size(ids, 1))
    x = b.Add(b.Gather(b.random(97, width), ids), b.Gather(b.random(2, width), kinds))
    x = b.old_norm(b.Add(x, b.Gather(b.random(places, width), positions)), width)
    for _ in range(layers):
        q, k, v = (b.split_heads(b.linear(x, width, width), heads, width // heads)
                   for _ in range(3))
        scores = b.Div(b.scores(q, k), math.sqrt(width / heads))
        y = b.MatMul(b.Softmax(b.Add(scores, mask), axis=-1), v)
        x = b.old_norm(b.Add(b.linear(b.join_heads(y, width), width, width), x), width)
        y = b.linear(b.gelu(b.linear(x, width, inner)), inner, width)
        x = b.old_norm(b.Add(y, x), width)
    b.output("last_hidden_state", x, [*text, width])
    pooled = b.Gemm(b.Gather(x, 0, axis=1), b.matrix(width, width), b.random(width), transB=1)
    b.output("pooler_output", b.Tanh(pooled), ["batch", width])


def conv1d(b, x, k, n):
    """Conv1D of transformers: a product of two axes, and back."""
    y = b.Gemm(b.view(x, -1, b.size(x, 2)), b.matrix(k, n), b.random(n) * np.float32(.1))
    return b.view(y, b.size(x, 0), b.size(x, 1), n)


def sliced_mask(b, scores, q, k, least):
    """Causal, from a buffer of all positions: bias[:, :, nk - nq:nk, :nk]."""
    buffer = np.tril(np.ones((1, 1, POSITIONS, POSITIONS), bool))
    nq, nk = b.size(q, 2), b.size(k, 2)
    rows = b.slice(buffer, 2, b.Sub(nk, nq), nk)
    return b.Where(b.slice(rows, 3, 0, nk), scores, least)


@model(batch=(1, 4), seq=(1, 32))
def gpt2(b):
    """A decoder of two layers without a cache: a causal mask sliced from a buffer, a tied head"""
    width, heads, words = 32, 2, 97
    ids = b.input("input_ids", ["batch", "seq"], below(words), I64)
    batch, seq = b.size(ids, 0), b.size(ids, 1)
    ids = b.view(ids, -1, seq)
    positions = b.view(b.Unsqueeze(b.Range(0, seq, 1), [0]), -1, seq)
    table = b.value(b.random(words, width) / 4)
    x = b.Add(b.Gather(table, ids), b.Gather(b.random(POSITIONS, width) / 4, positions))
    for least in (-1e4, -math.inf):
        qkv = conv1d(b, b.norm(x, width), width, 3 * width)
        q, k, v = (b.split_heads(y, heads, width // heads)
                   for y in b.Split(qkv, [width] * 3, axis=2, count=3))
        scores = b.Div(b.scores(q, k), math.sqrt(width / heads))
        scores = b.Softmax(sliced_mask(b, scores, q, k, least), axis=-1)
        y = b.join_heads(b.MatMul(scores, v), width)
        x = b.Add(conv1d(b, y, width, width), x)
        y = conv1d(b, b.norm(x, width), width, 64)
        x = b.Add(x, conv1d(b, b.gelu_by_tanh(y), 64, width))
    x = b.view(b.norm(x, width), batch, seq, width)
    b.output("logits", b.MatMul(x, b.Transpose(table, perm=[1, 0])), ["batch", "seq", words])


def built_mask(b, mask, batch, seq):
    """Causal and for padding, as transformers computes it for each call."""
    least = float(np.finfo(np.float32).min)
    full = b.ConstantOfShape(b.dims(seq, seq), value=real(least))
    at = b.Range(0, seq, 1)
    later = b.Cast(b.Greater(at, b.Reshape(at, [-1, 1])), to=F32)
    causal = b.Mul(b.Trilu(full, 1, upper=1), later)
    causal = b.expand(b.Unsqueeze(b.Unsqueeze(causal, [0]), [1]), batch, 1, -1, -1)
    mask = b.Cast(b.Unsqueeze(b.Unsqueeze(mask, [1]), [2]), to=F32)
    hidden = b.Equal(b.Add(causal, mask), 0.0)
    return b.Where(hidden, least, causal)


def rotated(b, x, cos, sin):
    """Rotary embedding; a half of the last axis is found from the shape."""
    half = b.Div(b.size(x, 3), 2)
    turned = b.Concat(b.Neg(b.slice(x, 3, half, END)), b.slice(x, 3, 0, half), axis=-1)
    return b.Add(b.Mul(x, cos), b.Mul(turned, sin))


def rotations(b, seq, depth):
    """cos and sin of the positions, [1, 1, seq, depth]: buffers sliced, then gathered."""
    rates = 100.0 ** -np.linspace(0, 1, depth // 2, endpoint=False)
    angles = np.tile(np.outer(np.arange(POSITIONS), rates), 2).astype(np.float32)
    positions = b.Unsqueeze(b.Range(0, seq, 1), [0])
    return [b.Unsqueeze(b.Gather(b.slice(buffer, 0, 0, seq), positions), [1])
            for buffer in (np.cos(angles), np.sin(angles))]


def repeated(b, x, times, depth):
    """repeat_kv: each head of keys or values for several of the queries."""
    batch, heads, seq = (b.size(x, i) for i in range(3))
    y = b.expand(b.Unsqueeze(x, [2]), batch, heads, times, seq, depth)
    return b.view(y, batch, b.Mul(heads, times), seq, depth)


@model(batch=(1, 4), seq=(1, 32))
def llama(b):
    """A decoder of two layers: RMSNorm, rotary positions, grouped heads, a mask made at run time"""
    width, heads, groups, depth, inner, words = 32, 4, 2, 8, 48, 97
    ids = b.input("input_ids", ["batch", "seq"], below(words), I64)
    mask = b.input("attention_mask", ["batch", "seq"], padding, I64)
    x = b.Gather(b.random(words, width), ids)
    batch, seq = b.size(x, 0), b.size(x, 1)
    mask = built_mask(b, mask, batch, seq)
    cos, sin = rotations(b, seq, depth)
    for _ in range(2):
        y = b.rms_norm(x, width)
        q, k, v = (b.split_heads(b.linear(y, width, n * depth, False), n, depth)
                   for n in (heads, groups, groups))
        q, k = rotated(b, q, cos, sin), rotated(b, k, cos, sin)
        k, v = (repeated(b, z, heads // groups, depth) for z in (k, v))
        scores = b.Mul(b.scores(q, k), depth ** -.5)
        scores = b.Add(scores, b.slice(mask, 3, 0, b.size(k, 2)))
        y = b.join_heads(b.MatMul(b.Softmax(scores, axis=-1), v), width)
        x = b.Add(x, b.linear(y, width, width, False))
        x = b.Add(x, b.gated(b.rms_norm(x, width), width, inner))
    y = b.linear(b.rms_norm(x, width), width, words, False)
    b.output("logits", y, ["batch", "seq", words])


def buckets(b, seq, count=32, farthest=100):
    """The bucket of each distance, in both directions. Farthest 100, not 128: no distance comes
    near a border then, where another Log would round to another bucket."""
    half, exact = count // 2, count // 4
    at = b.Range(0, seq, 1)
    off = b.Sub(b.Unsqueeze(at, [0]), b.Unsqueeze(at, [1]))
    side = b.Mul(b.Cast(b.Greater(off, 0), to=I64), half)
    off = b.Abs(off)
    far = b.Div(b.Log(b.Div(b.Cast(off, to=F32), float(exact))), math.log(farthest / exact))
    far = b.Cast(b.Floor(b.Mul(far, float(half - exact))), to=I64)
    far = b.Add(far, exact)
    far = b.Min(far, b.ConstantOfShape(b.Shape(far), value=whole(half - 1)))
    return b.Add(side, b.Where(b.Less(off, exact), off, far))


@model(batch=(1, 4), seq=(1, 32))
def t5_bias(b):
    """An encoder of two layers with a bias for each pair of positions, by buckets of distance"""
    width, heads = 32, 2
    ids = b.input("input_ids", ["batch", "seq"], below(97), I64)
    x = b.Gather(b.random(97, width), ids)
    bias = b.Gather(b.random(32, heads), buckets(b, b.size(ids, 1)))
    bias = b.Unsqueeze(b.Transpose(bias, perm=[2, 0, 1]), [0])
    for _ in range(2):
        y = b.rms_norm(x, width)
        q, k, v = (b.split_heads(b.linear(y, width, width, False), heads, width // heads)
                   for _ in range(3))
        scores = b.Softmax(b.Add(b.Mul(b.scores(q, k), .25), bias), axis=-1)
        y = b.join_heads(b.MatMul(scores, v), width)
        x = b.Add(x, b.linear(y, width, width, False))
        y = b.Relu(b.linear(b.rms_norm(x, width), width, 64, False))
        x = b.Add(x, b.linear(y, 64, width, False))
    b.output("last_hidden_state", b.rms_norm(x, width), ["batch", "seq", width])


@model(batch=(1, 3), samples=(400, 4000))
def wav(b):
    """Convolutions with strides over samples of sound, LayerNorm over channels, a mean over time"""
    x = b.input("samples", ["batch", 1, "samples"])
    for k, n, size, stride, pads in ((1, 8, 10, 5, [0, 0]), (8, 16, 3, 2, [1, 1]),
                                     (16, 16, 3, 2, [1, 0])):
        x = b.conv(x, k, n, [size], strides=[stride], pads=pads)
        x = b.norm(b.Transpose(x, perm=[0, 2, 1]), n)
        x = b.gelu(b.Transpose(x, perm=[0, 2, 1]))
    x = b.Transpose(x, perm=[0, 2, 1])
    b.output("features", x, ["batch", "frames", 16])
    b.output("mean", b.linear(b.ReduceMean(x, axes=[1], keepdims=0), 16, 6), ["batch", 6])


@model(batch=(1, 4), seq=(1, 32))
def lstm(b):
    """A bidirectional LSTM with zeros of the batch's size as its first state, and its last step"""
    width, hidden = 12, 10
    ids = b.input("ids", ["seq", "batch"], below(50), I64)
    x = b.Gather(b.random(50, width), ids)
    start = b.ConstantOfShape(b.dims(2, b.size(x, 1), hidden), value=real(0.0))
    weights = [b.matrix(2, 4 * hidden, n) for n in (width, hidden)]
    y, last, _ = b.LSTM(x, *weights, b.random(2, 8 * hidden) / 4, "", start, start, count=3,
                        direction="bidirectional", hidden_size=hidden)
    y = b.Reshape(b.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
    b.output("features", y, ["seq", "batch", 2 * hidden])
    b.output("state", last, [2, "batch", hidden])
    y = b.Squeeze(b.slice(y, 0, -1, END), [0])
    b.output("classes", b.linear(y, 2 * hidden, 5), ["batch", 5])


def lengths_of_seq(rng, shape, sizes):
    return lengths_up_to(rng, shape[0], sizes["seq"])


@model(seq=(1, 24))
def gru_lengths(b):
    """A GRU over three texts, each with a length of its own"""
    width, hidden, batch = 8, 10, 3
    x = b.input("x", ["seq", batch, width])
    lengths = b.input("lengths", [batch], lengths_of_seq, I32)
    weights = [b.matrix(1, 3 * hidden, n) for n in (width, hidden)]
    y, last = b.GRU(x, *weights, b.random(1, 6 * hidden) / 4, lengths, count=2, hidden_size=hidden,
                    linear_before_reset=1)
    b.output("y", b.Squeeze(y, [1]), ["seq", batch, hidden])
    b.output("last", last, [1, batch, hidden])


@model(batch=(1, 6))
def image(b):
    """A classifier of images, of which only their number is unknown"""
    x = b.input("image", ["batch", 3, 32, 32])
    x = b.Relu(b.conv(x, 3, 8, [3, 3], pads=[1, 1, 1, 1]))
    x = b.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = b.Relu(b.conv(x, 8, 16, [3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
    x = b.Add(x, b.Relu(b.conv(x, 16, 16, [3, 3], pads=[1, 1, 1, 1])))
    x = b.Flatten(b.GlobalAveragePool(x), axis=1)
    b.output("classes", b.Gemm(x, b.matrix(10, 16), b.random(10), transB=1), ["batch", 10])


def upsampled(b, x, like):
    """Twice as large by the nearest pixel, cropped to the size of another map."""
    x = b.Resize(x, "", np.float32([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric")
    for axis in (2, 3):
        x = b.slice(x, axis, 0, b.size(like, axis))
    return x


@model(height=(16, 40), width=(16, 40))
def fcn(b):
    """A fully convolutional net: down by two strides, up by Resize, cropped, with skips"""
    same = {"pads": [1, 1, 1, 1]}
    image = b.input("image", [1, 3, "height", "width"])
    full = b.Relu(b.conv(image, 3, 8, [3, 3], **same))
    half = b.Relu(b.conv(full, 8, 12, [3, 3], strides=[2, 2], **same))
    x = b.Relu(b.conv(half, 12, 16, [3, 3], strides=[2, 2], **same))
    x = b.Concat(upsampled(b, x, half), half, axis=1)
    x = b.Relu(b.conv(x, 28, 12, [3, 3], **same))
    x = b.Concat(upsampled(b, x, image), full, axis=1)
    b.output("map", b.conv(x, 20, 5, [1, 1]), [1, 5, "height", "width"])


@model(height=(9, 40), width=(9, 40))
def pyramid(b):
    """Maps resized to one another's sizes and by factors that are not whole, up and down"""
    x = b.input("image", [1, 3, "height", "width"])
    x = b.Relu(b.conv(x, 3, 4, [3, 3], pads=[1, 1, 1, 1]))
    y = b.Relu(b.conv(x, 4, 4, [3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))

    def to(x, like, **attributes):
        sizes = b.Concat(b.slice(b.Shape(x), 0, 0, 2), b.slice(b.Shape(like), 0, 2, 4), axis=0)
        return b.Resize(x, "", "", sizes, **attributes)

    def by(x, factor, **attributes):
        return b.Resize(x, "", np.float32([1, 1, factor, factor]), **attributes)

    b.output("sum", b.Add(x, to(y, x, mode="linear")), [1, 4, "height", "width"])
    b.output("corners", to(y, x, mode="linear", coordinate_transformation_mode="align_corners"),
             [1, 4, "height", "width"])
    z = by(x, 1.5, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    b.output("larger", z, [1, 4, "larger", "wider"])
    z = by(x, .5, mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric")
    b.output("half", z, [1, 4, "lower", "thinner"])
    b.output("less", by(x, .7, mode="linear"), [1, 4, "less", "slighter"])
    b.output("fixed", b.Resize(x, "", "", np.int64([1, 4, 7, 7]), mode="linear"), [1, 4, 7, 7])


@model(height=(7, 40), width=(7, 40))
def strided(b):
    """Strides with padding as TensorFlow has it, which depends on the size, and with ceil_mode"""
    x = b.input("image", [1, 3, "height", "width"])
    x = b.Relu(b.conv(x, 3, 8, [3, 3], strides=[2, 2], auto_pad="SAME_UPPER"))
    y = b.Relu(b.conv(x, 8, 8, [3, 3], strides=[2, 2], auto_pad="SAME_LOWER", group=1))
    z = b.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    b.output("same", y, [1, 8, "lower", "thinner"])
    b.output("largest", b.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
             [1, 8, "lower", "thinner"])
    b.output("mean", b.AveragePool(x, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
             [1, 8, "lower", "thinner"])
    b.output("ceil", b.conv(z, 8, 4, [1, 1]), [1, 4, "less", "slighter"])


def heaps_of_boxes(rng, shape, _):
    """Four boxes on each of ten heaps: of a heap they overlap by 2/3 or more, of two by 1/3 or
    less."""
    left = np.arange(10).repeat(4) * 6.0
    boxes = np.stack([left, 0 * left, left + 10, 0 * left + 10], axis=1)
    return (boxes + rng.uniform(-.5, .5, (40, 1))).reshape(shape).astype(np.float32)


def scores_on_heaps(rng, shape, sizes):
    """Scores for which so many boxes are kept in all, at most five of a class; distinct, and none
    near the threshold of .1. Where five are kept, more could be."""
    kept = [1, 1, 1]
    while sum(kept) < sizes["_kept"]:
        kept[rng.choice([i for i in range(3) if kept[i] < 5])] += 1
    rows = []
    for n in kept:
        heaps = rng.permutation(10) < (n if n < 5 else rng.integers(5, 11))
        levels = rng.permutation(40) / 40
        rows.append(np.where(heaps.repeat(4), .12 + .8 * levels, .09 * levels))
    return np.stack(rows).reshape(shape).astype(np.float32)


@model(_kept=(5, 15))
def nms(b):
    """The end of a detector: the boxes that are kept, with their classes and scores"""
    boxes = b.input("boxes", [1, 40, 4], heaps_of_boxes)
    scores = b.input("scores", [1, 3, 40], scores_on_heaps)
    picked = b.NonMaxSuppression(boxes, scores, [5], np.float32([.5]), np.float32([.1]))
    image, row = b.Gather(picked, [0], axis=1), b.slice(picked, 1, 2, 3)
    b.output("boxes_kept", b.GatherND(boxes, b.Concat(image, row, axis=1)), ["kept", 4])
    b.output("classes", b.Squeeze(b.slice(picked, 1, 1, 2), [1]), ["kept"], I64)
    b.output("scores_kept", b.GatherND(scores, picked), ["kept"])
    middle = b.Squeeze(b.Gather(boxes, b.Squeeze(row, [1]), axis=1), [0])
    middle = b.Mul(b.Add(b.slice(middle, 1, 0, 2), b.slice(middle, 1, 2, END)), .5)
    b.output("middles", middle, ["kept", 2])


@model(_positive=(0, 42))
def nonzero(b):
    """x[x > 0], from no element to all, and the rows whose first element is positive"""
    x = b.input("x", [6, 7], few_above(0, "_positive"))
    positive = b.Greater(x, 0.0)
    at = b.Transpose(b.NonZero(positive), perm=[1, 0])
    b.output("at", at, ["found", 2], I64)
    b.output("values", b.GatherND(x, at), ["found"])
    rows = b.Squeeze(b.slice(positive, 1, 0, 1), [1])
    b.output("rows", b.Compress(x, rows, axis=0), ["rows_found", 7])


def distinct(rng, shape, _):
    """Numbers of which no two in a row are near each other."""
    order = rng.permuted(np.tile(np.arange(shape[-1]), (*shape[:-1], 1)), axis=-1)
    return (order / np.float32(7)).astype(np.float32)


@model(batch=(1, 4), n=(10, 60))
def topk(b):
    """The best 20, or all where there are fewer, with their boxes"""
    scores = b.input("scores", ["batch", "n"], distinct)
    boxes = b.input("boxes", ["batch", "n", 4])
    k = b.Min(b.Unsqueeze(b.size(scores, 1), [0]), [20])
    values, at = b.TopK(scores, k, axis=1, largest=1, sorted=1, count=2)
    b.output("values", values, ["batch", "k"])
    b.output("at", at, ["batch", "k"], I64)
    at = b.expand(b.Unsqueeze(at, [-1]), b.size(at, 0), b.size(at, 1), 4)
    b.output("best", b.GatherElements(boxes, at, axis=1), ["batch", "k", 4])


def some_above_half(rng, shape, _):
    """Any number of values above a half, none and all too."""
    above = int(rng.integers(0, math.prod(shape) + 1))
    return few_above(.5, "above")(rng, shape, {"above": above})


@model(rows=(1, 12))
def masked_scatter(b):
    """x[x > 0.5] = 0 by the indices of those elements, their places in x, and the same by Where"""
    x = b.input("x", ["rows", 5], some_above_half)
    mask = b.Greater(x, .5)
    at = b.Transpose(b.NonZero(mask), perm=[1, 0])
    zeros = b.Expand(0.0, b.Slice(b.Shape(at), [0], [1], [0]))
    b.output("scattered", b.ScatterND(x, at, zeros), ["rows", 5])
    b.output("chosen", b.Where(mask, 0.0, x), ["rows", 5])
    values = b.Mul(b.GatherND(x, at), -2.0)
    b.output("changed", b.ScatterND(x, at, values), ["rows", 5])


@model(seq=(1, 24), other=(1, 16))
def concat_dyn(b):
    """Two inputs joined along an axis unknown in both, and what reduces that axis"""
    x, y = (b.input(name, [n, 8]) for name, n in (("x", "seq"), ("y", "other")))
    z = b.Concat(x, y, axis=0)
    soft = b.Softmax(z, axis=0)
    b.output("soft", soft, ["joined", 8])
    b.output("mean", b.ReduceMean(z, axes=[0], keepdims=0), [8])
    b.output("largest", b.ReduceMax(z, axes=[0], keepdims=1), [1, 8])
    b.output("at", b.ArgMax(z, axis=0, keepdims=0), [8], I64)
    b.output("flat", b.Reshape(b.CumSum(soft, 0), [-1]), ["elements"])


@model(batch=(1, 5), seq=(3, 20))
def flip(b):
    """Slices from the end and backwards, Tile, Pad, OneHot, Einsum, Gather of the last element"""
    x = b.input("x", ["batch", "seq", 6])
    ids = b.input("ids", ["batch", "seq"], below(7), I64)
    b.output("flipped", b.Slice(x, [-1], [-END], [1], [-1]), ["batch", "seq", 6])
    b.output("last_three", b.slice(x, 0, -3, END), ["three", "seq", 6])
    b.output("inner", b.slice(x, 1, 1, -1), ["batch", "inner", 6])
    b.output("twice", b.Tile(x, [1, 2, 1]), ["batch", "twice", 6])
    table = b.random(1, 6)
    b.output("repeated", b.Tile(table, b.dims(b.size(x, 0), 1)), ["batch", 6])
    b.output("longer", b.Pad(x, [0, 1, 0, 0, 2, 0], .5), ["batch", "longer", 6])
    b.output("reflected", b.Pad(x, [0, 0, 2, 0, 0, 3], mode="reflect"), ["batch", "seq", 11])
    b.output("one_hot", b.OneHot(ids, 7, np.float32([0, 1]), axis=-1), ["batch", "seq", 7])
    b.output("pairs", b.Einsum(x, x, equation="bsd,btd->bst"), ["batch", "seq", "seq"])
    b.output("last", b.Gather(x, -1, axis=1), ["batch", 6])


def boxes_on_map(rng, shape, _):
    corners = rng.uniform(0, 40, (shape[0], 2))
    return np.concatenate([corners, corners + rng.uniform(4, 24, (shape[0], 2))], axis=1)


@model(num=(1, 20))
def roi(b):
    """The second stage of a detector: RoiAlign for any number of boxes, and a classifier"""
    image = b.input("map", [2, 4, 16, 16])
    rois = b.input("rois", ["num", 4], boxes_on_map)
    of = b.input("batch_indices", ["num"], below(2), I64)
    x = b.RoiAlign(image, rois, of, output_height=3, output_width=3, sampling_ratio=2,
                   spatial_scale=.25, mode="avg", coordinate_transformation_mode="half_pixel")
    b.output("aligned", x, ["num", 4, 3, 3])
    x = b.Relu(b.Gemm(b.Flatten(x, axis=1), b.matrix(36, 16), b.random(16)))
    x = b.Softmax(b.Gemm(x, b.matrix(16, 5), b.random(5)), axis=1)
    b.output("scores", x, ["num", 5])
    b.output("classes", b.ArgMax(x, axis=1, keepdims=0), ["num"], I64)


def of_few(rng, shape, sizes):
    """Numbers of which so many are distinct."""
    n = math.prod(shape)
    values = rng.choice(np.arange(-50, 50), sizes["_distinct"], replace=False)
    rest = rng.choice(values, n - values.size)
    return rng.permutation(np.concatenate([values, rest])).reshape(shape)


@model(_distinct=(1, 12))
def unique(b):
    """Unique with all of its outputs"""
    x = b.input("x", [12], of_few, I64)
    values, at, back, counts = b.Unique(x, sorted=1, count=4)
    b.output("values", values, ["distinct"], I64)
    b.output("at", at, ["distinct"], I64)
    b.output("back", back, [12], I64)
    b.output("counts", counts, ["distinct"], I64)


def padded_ids(rng, shape, sizes):
    return rng.integers(1, 20, shape) * padding(rng, shape, sizes)


@model(batch=(1, 4), seq=(1, 32))
def seq2seq_mask(b):
    """Attention as from Keras: lengths by counting words, a mask by comparing Range with them"""
    ids = b.input("ids", ["batch", "seq"], padded_ids, I64)
    words = b.Cast(b.Not(b.Equal(ids, 0)), to=I32)
    lengths = b.ReduceSum(words, [1], keepdims=0)
    b.output("lengths", lengths, ["batch"], I32)
    at = b.Range(np.int32(0), b.tf_size(ids, 1), np.int32(1))
    mask = b.Less(b.Unsqueeze(at, [0]), b.Unsqueeze(lengths, [1]))
    mask = b.tf_view(mask, b.tf_size(mask, 0), 1, 1, b.tf_size(mask, 1))
    x = b.Gather(b.random(20, 16), ids)
    batch, seq = b.tf_size(x, 0), b.tf_size(x, 1)
    q, k, v = (b.Transpose(b.tf_view(b.linear(x, 16, 16), batch, seq, 2, 8), perm=[0, 2, 1, 3])
               for _ in range(3))
    scores = b.Where(mask, b.Mul(b.scores(q, k), 8 ** -.5), -math.inf)
    scores = b.Softmax(scores, axis=-1)
    b.output("weights", scores, ["batch", 2, "seq", "seq"])
    y = b.Transpose(b.MatMul(scores, v), perm=[0, 2, 1, 3])
    b.output("context", b.tf_view(y, batch, seq, 16), ["batch", "seq", 16])


@model(batch=(1, 4), seq=(1, 32))
def reshape_mix(b):
    """Axes merged, split and merged in other ways, with sizes that are products"""
    x = b.input("x", ["batch", "seq", 6])
    batch, seq = b.size(x, 0), b.size(x, 1)
    y = b.Gemm(b.Reshape(x, [-1, 6]), b.matrix(6, 5), b.random(5))
    b.output("back", b.view(y, batch, seq, 5), ["batch", "seq", 5])
    b.output("halves", b.Relu(b.view(x, b.Mul(batch, 2), -1)), ["halves", "half"])
    b.output("rows", b.Add(b.Flatten(x, axis=2), b.random(6)), ["rows", 6])
    turned = b.Sigmoid(b.Transpose(x, perm=[0, 2, 1]))
    b.output("merged", b.view(turned, batch, b.Mul(seq, 6)), ["batch", "features"])
    turned = b.Transpose(b.Reshape(x, [0, 0, 2, 3]), perm=[2, 0, 1, 3])
    b.output("inferred", b.tf_view(turned, 2, b.tf_size(x, 0), -1), [2, "batch", "half"])


def rounded(b, x, scale, zero):
    """x in 8 bits and back."""
    scale, zero = np.float32(scale), np.uint8(zero)
    return b.DequantizeLinear(b.QuantizeLinear(x, scale, zero), scale, zero)


def levels(b, *shape):
    """Weights in 7 bits: a processor without VNNI adds pairs of products in 16 bits."""
    return b.rng.integers(-63, 64, shape).astype(np.int8)


def qdq_linear(b, x, k, n, scale):
    scales = np.float32(2.0) ** -b.rng.integers(8, 10, n).astype(np.float32)
    w = b.DequantizeLinear(levels(b, k, n), scales, np.zeros(n, np.int8), axis=1)
    bias = b.rng.integers(-200, 200, n).astype(np.int32)
    bias = b.DequantizeLinear(bias, scales * np.float32(scale), np.zeros(n, np.int32), axis=0)
    return b.Add(b.MatMul(x, w), bias)


@model(batch=(1, 4), seq=(1, 32))
def quant(b):
    """Layers in 8 bits, by QDQ and with DynamicQuantizeLinear

    Scales of QDQ are powers of two, so that every sum is exact and no level depends on its order.
    """
    x = b.input("x", ["batch", "seq", 16])
    y = qdq_linear(b, rounded(b, x, 1 / 32, 128), 16, 12, 1 / 32)
    y = qdq_linear(b, rounded(b, b.Relu(y), 1 / 64, 0), 12, 10, 1 / 64)
    b.output("static", rounded(b, y, 1 / 32, 120), ["batch", "seq", 10])
    bytes_, scale, zero = b.DynamicQuantizeLinear(x, count=3)
    y = b.MatMulInteger(bytes_, levels(b, 16, 12), zero, np.int8(0))
    y = b.Mul(b.Cast(y, to=F32), b.Mul(scale, np.float32(.011)))
    b.output("dynamic", b.Add(y, b.random(12)), ["batch", "seq", 12])
