# SPDX-License-Identifier: Apache-2.0
"""Decoders with caches that grow, of bench/extents.py: of T5 and Whisper with the encoder's states,
of Llama as Optimum exports it by TorchScript, of Qwen as the newer exporter of torch does."""
import math

from extents_boxes import arange
from extents_builder import (BOOL, END, F32, I64, POSITIONS, below, lengths_up_to, model, np, real,
                             whole)
from extents_models import repeated, rotated

WIDTH, HEADS, DEPTH, WORDS = 16, 2, 8, 40
LEAST = -3.4028234663852886e38  # of f32


def mask_over(size):
    """1 for each position that a text has of so many in all, 0 behind its end."""
    def draw(rng, shape, sizes):
        lengths = np.maximum(lengths_up_to(rng, *shape), sizes[size] + 1)
        return (np.arange(shape[1]) < lengths[:, None]).astype(np.int64)
    return draw


def caches(b, name, length):
    return [b.input(f"past_{name}_{part}", ["batch", HEADS, length, DEPTH])
            for part in ("key", "value")]


def projected(b, x, heads=HEADS, bias=False):
    return b.split_heads(b.linear(x, WIDTH, heads * DEPTH, bias), heads, DEPTH)


def attended(b, scores, v):
    y = b.Softmax(scores, axis=-1)
    return b.join_heads(b.MatMul(y, v), WIDTH)


# ---- T5 and Whisper ------------------------------------------------------------------------------

def causal_buckets(b, queries, keys, count=8, farthest=100):
    """_relative_position_bucket of a decoder, of [queries, keys] positions."""
    off = b.Sub(b.Unsqueeze(arange(b, keys), [0]), b.Unsqueeze(arange(b, queries), [1]))
    off = b.Neg(b.Min(off, b.ConstantOfShape(b.Shape(off), value=whole(0))))
    exact = count // 2
    far = b.Log(b.Div(b.Cast(off, to=F32), float(exact)))
    far = b.Mul(b.Div(far, math.log(farthest / exact)), float(count - exact))
    far = b.Add(b.Cast(far, to=I64), exact)
    far = b.Min(far, b.ConstantOfShape(b.Shape(far), value=whole(count - 1)))
    return b.Where(b.Less(off, exact), off, far)


@model(batch=(1, 3), seq=(1, 8), past=(0, 12), memory=(1, 9))
def t5_decoder(b):
    """A decoder of T5 with its own cache and the encoder's keys and values: a bias by buckets of
    distances, of which the last rows are taken"""
    ids = b.input("input_ids", ["batch", "seq"], below(WORDS), I64)
    seen = b.input("encoder_attention_mask", ["batch", "memory"],
                   lambda rng, shape, _: (np.arange(shape[1]) <
                                          lengths_up_to(rng, *shape)[:, None]), I64)
    own, cross = caches(b, "decoder", "past"), caches(b, "encoder", "memory")
    x = b.Gather(b.random(WORDS, WIDTH), ids)
    seq = b.size(ids, 1)
    total = b.Add(seq, b.size(own[0], 2))
    bias = b.Gather(b.random(8, HEADS), causal_buckets(b, total, total))
    bias = b.Unsqueeze(b.Transpose(bias, perm=[2, 0, 1]), [0])
    bias = b.slice(bias, 2, b.Neg(seq), END)
    at = arange(b, total)
    causal = b.LessOrEqual(b.Unsqueeze(b.Unsqueeze(at, [0]), [0]),
                           b.Unsqueeze(b.Unsqueeze(at, [0]), [2]))
    causal = b.expand(causal, b.size(ids, 0), total, total)
    causal = b.Cast(b.slice(causal, 1, b.Neg(seq), END), to=F32)
    bias = b.Add(bias, b.Mul(b.Sub(1.0, b.Unsqueeze(causal, [1])), LEAST))
    y = b.rms_norm(x, WIDTH)
    q, k, v = (projected(b, y) for _ in range(3))
    k, v = (b.Concat(p, n, axis=2) for p, n in zip(own, (k, v)))
    b.output("present_decoder_key", k, ["batch", HEADS, "total", DEPTH])
    b.output("present_decoder_value", v, ["batch", HEADS, "total", DEPTH])
    x = b.Add(x, b.linear(attended(b, b.Add(b.scores(q, k), bias), v), WIDTH, WIDTH, False))
    hidden = b.Cast(b.Unsqueeze(b.Unsqueeze(seen, [1]), [2]), to=F32)
    hidden = b.Mul(b.Sub(1.0, hidden), LEAST)
    q = projected(b, b.rms_norm(x, WIDTH))
    zeros = b.ConstantOfShape(b.dims(1, HEADS, seq, b.size(cross[0], 2)), value=real(0))
    scores = b.Add(b.scores(q, cross[0]), b.Add(zeros, hidden))
    x = b.Add(x, b.linear(attended(b, scores, cross[1]), WIDTH, WIDTH, False))
    y = b.Relu(b.linear(b.rms_norm(x, WIDTH), WIDTH, 24, False))
    x = b.Add(x, b.linear(y, 24, WIDTH, False))
    y = b.Mul(b.rms_norm(x, WIDTH), WIDTH ** -.5)
    b.output("logits", b.linear(y, WIDTH, WORDS, False), ["batch", "seq", WORDS])


@model(batch=(1, 3), seq=(1, 8), past=(0, 12))
def whisper_decoder(b):
    """A decoder of Whisper: positions sliced by what is in the cache, and an encoder's states of a
    fixed length"""
    ids = b.input("input_ids", ["batch", "seq"], below(WORDS), I64)
    own, cross = caches(b, "decoder", "past"), caches(b, "encoder", 15)
    table = b.value(b.random(WORDS, WIDTH) / 4)
    seq, past = b.size(b.view(ids, -1, b.size(ids, 1)), 1), b.size(own[0], 2)
    total = b.Add(past, seq)
    x = b.Add(b.Gather(table, ids), b.slice(b.random(POSITIONS, WIDTH) / 4, 0, past, total))
    causal = b.ConstantOfShape(b.dims(seq, total), value=real(LEAST))
    later = b.Greater(arange(b, total), b.Reshape(b.Range(past, total, 1), [-1, 1]))
    causal = b.Mul(b.Trilu(causal, 1, upper=1), b.Cast(later, to=F32))
    causal = b.expand(b.Unsqueeze(b.Unsqueeze(causal, [0]), [1]), b.size(ids, 0), 1, -1, -1)
    for layer in range(2):
        y = b.norm(x, WIDTH)
        q, k, v = (projected(b, y, bias=True) for _ in range(3))
        q = b.Mul(q, DEPTH ** -.5)
        if layer == 0:
            k, v = (b.Concat(p, n, axis=2) for p, n in zip(own, (k, v)))
            b.output("present_decoder_key", k, ["batch", HEADS, "total", DEPTH])
            b.output("present_decoder_value", v, ["batch", HEADS, "total", DEPTH])
            scores = b.Add(b.scores(q, k), b.slice(causal, 3, 0, b.size(k, 2)))
        else:
            k, v = cross
            scores = b.scores(q, k)
        x = b.Add(x, b.linear(attended(b, scores, v), WIDTH, WIDTH))
    y = b.linear(b.gelu(b.linear(b.norm(x, WIDTH), WIDTH, 24)), 24, WIDTH)
    x = b.norm(b.Add(x, y), WIDTH)
    b.output("logits", b.MatMul(x, b.Transpose(table, perm=[1, 0])), ["batch", "seq", WORDS])


# ---- Llama by TorchScript ------------------------------------------------------------------------

def write_slice(b, x, part, end):
    """x[:, :, :, :end] = part, with the positions of all elements of the part."""
    ends = [b.size(x, 0), b.size(x, 1), b.size(x, 2), end]
    shape = b.Shape(part)
    at = []
    for axis, stop in enumerate(ends):
        rows = b.slice(arange(b, b.size(x, axis)), 0, 0, stop)
        rows = b.Reshape(rows, [-1 if k == axis else 1 for k in range(4)])
        at.append(b.Unsqueeze(b.Expand(rows, shape), [-1]))
    at = b.Concat(*at, axis=-1)
    return b.ScatterND(x, at, b.Reshape(part, b.Slice(b.Shape(at), [0], [-1], [0])))


def decoder_layer(b, x, past, turned, mask, groups, norm, bias):
    """RMSNorm, grouped attention over what has been and is, RMSNorm, a gated layer."""
    y = norm(x, WIDTH)
    q = b.split_heads(b.linear(y, WIDTH, WIDTH, bias), HEADS, DEPTH)
    k, v = (b.split_heads(b.linear(y, WIDTH, groups * DEPTH, bias), groups, DEPTH)
            for _ in range(2))
    q, k = turned(q), turned(k)
    k, v = (b.Concat(p, n, axis=2) for p, n in zip(past, (k, v)))
    keys, values = (repeated(b, z, HEADS // groups, DEPTH) for z in (k, v))
    scores = b.Mul(b.scores(q, keys), DEPTH ** -.5)
    scores = b.Add(scores, b.slice(mask, 3, 0, b.size(keys, 2)))
    x = b.Add(x, b.linear(attended(b, scores, values), WIDTH, WIDTH, False))
    return b.Add(x, b.gated(norm(x, WIDTH), WIDTH, 24)), k, v


def position_of(rng, shape, sizes):
    return np.tile(sizes["past"] + np.arange(shape[1]), (shape[0], 1))


@model(batch=(1, 3), seq=(1, 8), past=(0, 12), total="past+seq")
def llama_past(b):
    """Llama of Optimum with a cache: a mask that is made at run time and written over in a slice,
    angles by position_ids"""
    groups = 1
    ids = b.input("input_ids", ["batch", "seq"], below(WORDS), I64)
    padding = b.input("attention_mask", ["batch", "total"], mask_over("past"), I64)
    places = b.input("position_ids", ["batch", "seq"], position_of, I64)
    past = [b.input(f"past_key_values.0.{part}", ["batch", groups, "past", DEPTH])
            for part in ("key", "value")]
    x = b.Gather(b.random(WORDS, WIDTH), ids)
    before, seq = b.size(past[0], 2), b.size(x, 1)
    at = b.Range(before, b.Add(before, seq), 1)
    total = b.size(padding, 1)
    mask = b.ConstantOfShape(b.dims(seq, total), value=real(LEAST))
    mask = b.Trilu(mask, 1, upper=1)
    later = b.Greater(arange(b, total), b.Reshape(at, [-1, 1]))
    mask = b.Mul(mask, b.Cast(later, to=F32))
    mask = b.expand(b.Unsqueeze(b.Unsqueeze(mask, [0]), [1]), b.size(x, 0), 1, -1, -1)
    part = b.slice(mask, 3, 0, total)
    hidden = b.Equal(b.Add(part, b.Cast(b.Unsqueeze(b.Unsqueeze(padding, [1]), [2]), to=F32)), 0.0)
    mask = write_slice(b, mask, b.Where(hidden, LEAST, part), total)
    rates = (100.0 ** -np.linspace(0, 1, DEPTH // 2, endpoint=False)).astype(np.float32)
    rates = b.expand(rates[None, :, None], b.size(places, 0), -1, 1)
    angles = b.MatMul(rates, b.Cast(b.Unsqueeze(places, [1]), to=F32))
    angles = b.Transpose(angles, perm=[0, 2, 1])
    angles = b.Concat(angles, angles, axis=-1)
    cos, sin = (b.Unsqueeze(turn(angles), [1]) for turn in (b.Cos, b.Sin))
    x, k, v = decoder_layer(b, x, past, lambda z: rotated(b, z, cos, sin), mask, groups, b.rms_norm,
                            False)
    b.output("present.0.key", k, ["batch", groups, "total", DEPTH])
    b.output("present.0.value", v, ["batch", groups, "total", DEPTH])
    b.output("logits", b.linear(b.rms_norm(x, WIDTH), WIDTH, WORDS, False),
             ["batch", "seq", WORDS])


# ---- Qwen by the newer exporter ------------------------------------------------------------------

def sym(b, x, axis):
    """A size as a scalar, by Shape with its own ends."""
    return b.Squeeze(b.Shape(x, start=axis, end=axis + 1))


def shape_of(b, *parts):
    """A shape of scalars and numbers."""
    return b.Concat(*([p] if isinstance(p, int) else b.Reshape(p, [-1]) for p in parts), axis=0)


@model(batch=(1, 3), seq=(1, 8), past=(0, 12), total="past+seq")
def qwen_dynamo(b):
    """Qwen of the exporter that torch.export feeds, opset 20: sizes as scalars, a mask by
    comparing positions and looking padding up, scaled halves of attention, norms of heads"""
    b.opset = 20
    groups = 1
    ids = b.input("input_ids", ["batch", "seq"], below(WORDS), I64)
    padding = b.input("attention_mask", ["batch", "total"], mask_over("past"), I64)
    past = [b.input(f"past_key_values.0.{part}", ["batch", groups, "past", DEPTH])
            for part in ("key", "value")]
    batch, seq, before = sym(b, ids, 0), sym(b, ids, 1), sym(b, past[0], 2)
    after = b.Add(before, seq)
    x = b.Gather(b.random(WORDS, WIDTH), ids)
    at = b.Range(before, after, 1)
    keys = b.Add(b.Range(0, after, 1), 0)
    rows = b.Range(0, batch, 1)
    causal = b.LessOrEqual(b.Unsqueeze(keys, [0, 1, 2]), b.Reshape(at, [1, 1, -1, 1]))
    index = b.Concat(*(b.Unsqueeze(b.Expand(v, shape_of(b, batch, 1, 1, after)), [-1])
                       for v in (b.Unsqueeze(rows, [1, 2, 3]), b.Unsqueeze(keys, [0, 1, 2]))),
                     axis=-1)
    known = b.GatherND(b.Cast(padding, to=BOOL), index)
    allowed = b.And(b.Expand(causal, shape_of(b, batch, 1, seq, after)), known)
    mask = b.Where(allowed, 0.0, LEAST)
    rates = (100.0 ** -np.linspace(0, 1, DEPTH // 2, endpoint=False)).astype(np.float32)
    rates = b.Expand(rates[None, :, None], [1, DEPTH // 2, 1])
    angles = b.MatMul(rates, b.Cast(b.Unsqueeze(b.Unsqueeze(at, [0]), [1]), to=F32))
    angles = b.Transpose(angles, perm=[0, 2, 1])
    angles = b.Concat(angles, angles, axis=-1)
    cos, sin = (b.Unsqueeze(b.Mul(turn(angles), 1.0), [1]) for turn in (b.Cos, b.Sin))

    def norm(z, n):
        mean = b.ReduceMean(b.Pow(z, 2.0), [-1], keepdims=1, noop_with_empty_axes=0)
        return b.Mul(1 + b.random(n) / 8, b.Mul(z, b.Reciprocal(b.Sqrt(b.Add(mean, 1e-6)))))

    def turned(z):
        half = DEPTH // 2
        low, high = b.Slice(z, [0], [half], [3], [1]), b.Slice(z, [half], [END], [3], [1])
        return b.Add(b.Mul(z, cos), b.Mul(b.Concat(b.Neg(high), low, axis=-1), sin))

    def heads(y, n):
        z = b.Add(b.MatMul(y, b.matrix(WIDTH, n * DEPTH)), b.random(n * DEPTH) / 8)
        return b.Reshape(z, shape_of(b, batch, seq, -1, DEPTH), allowzero=1)

    y = norm(x, WIDTH)
    q, k, v = heads(y, HEADS), heads(y, groups), heads(y, groups)
    q, k, v = (b.Transpose(z, perm=[0, 2, 1, 3]) for z in (norm(q, DEPTH), norm(k, DEPTH), v))
    q, k = turned(q), turned(k)
    k, v = (b.Concat(p, n, axis=2) for p, n in zip(past, (k, v)))
    b.output("present.0.key", k, ["batch", groups, "total", DEPTH])
    b.output("present.0.value", v, ["batch", groups, "total", DEPTH])
    keys, values = (b.Reshape(b.Expand(b.Unsqueeze(z, [2]),
                                       shape_of(b, batch, groups, HEADS // groups, after, DEPTH)),
                              shape_of(b, batch, HEADS, after, DEPTH), allowzero=1)
                    for z in (k, v))
    root = DEPTH ** -.25
    flat = b.Reshape(keys, shape_of(b, -1, after, DEPTH))
    flat = b.Reshape(b.Transpose(flat, perm=[0, 2, 1]), shape_of(b, batch, HEADS, DEPTH, after))
    scores = b.Add(b.MatMul(b.Mul(q, root), b.Mul(flat, root)), mask)
    weights = b.Softmax(scores, axis=-1)
    weights = b.Where(b.IsNaN(weights), 0.0, weights)
    y = b.Transpose(b.MatMul(weights, values), perm=[0, 2, 1, 3])
    y = b.Reshape(y, shape_of(b, batch, seq, -1), allowzero=1)
    x = b.Add(x, b.MatMul(y, b.matrix(WIDTH, WIDTH)))
    y = norm(x, WIDTH)
    gate = b.MatMul(y, b.matrix(WIDTH, 24))
    gate = b.Mul(b.Mul(gate, b.Sigmoid(gate)), b.MatMul(y, b.matrix(WIDTH, 24)))
    x = b.Add(x, b.MatMul(gate, b.matrix(24, WIDTH)))
    b.output("logits", b.MatMul(norm(x, WIDTH), b.matrix(WIDTH, WORDS)), ["batch", "seq", WORDS])
