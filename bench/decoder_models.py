# SPDX-License-Identifier: Apache-2.0
"""Decoders with seeded weights as exporters write them, of any size, for bench/make_decoders.py and
bench/decoder_growing.py: rotary positions, grouped heads, an attention mask over all positions."""
import dataclasses

import extents_builder
import extents_models
import peers

np = peers.Module("numpy")
F32, I64 = extents_builder.F32, extents_builder.I64


@dataclasses.dataclass(frozen=True)
class Size:
    words: int
    width: int
    heads: int
    groups: int  # heads of keys and values
    depth: int
    inner: int
    layers: int


def rotations(b, positions, depth):
    """cos and sin, [batch, 1, seq, depth], of positions that are an input."""
    rates = 100.0 ** -np.linspace(0, 1, depth // 2, endpoint=False)
    angles = b.Mul(b.Unsqueeze(b.Cast(positions, to=F32), [2]),
                   np.tile(rates, 2).astype(np.float32)[None, None])
    return [b.Unsqueeze(f(angles), [1]) for f in (b.Cos, b.Sin)]


def later(b, keys, seq, mask):
    """Which keys are behind a token, [batch, 1, seq, keys]; the mask has a one for each token, the
    new ones included."""
    first = b.Sub(b.ReduceSum(mask, [1], keepdims=1), seq)
    at = b.Add(b.Unsqueeze(first, [1]), b.Unsqueeze(b.Range(0, seq, 1), [1]))
    return b.Unsqueeze(b.Greater(b.Unsqueeze(b.Range(0, keys, 1), [0]), at), [1])


def decoder(b, size, ids, positions, mask, cached):
    """Logits; cached(i, name, x): keys or values with those of the past."""
    width, depth = size.width, size.depth
    x = b.Gather(b.random(size.words, width), ids)
    cos, sin = rotations(b, positions, depth)
    unseen = None
    for i in range(size.layers):
        y = b.rms_norm(x, width)
        q, k, v = (b.split_heads(b.linear(y, width, n * depth, False), n, depth)
                   for n in (size.heads, size.groups, size.groups))
        q, k = (extents_models.rotated(b, z, cos, sin) for z in (q, k))
        k, v = cached(i, "key", k), cached(i, "value", v)
        unseen = unseen or later(b, b.size(k, 2), b.size(ids, 1), mask)
        k, v = (extents_models.repeated(b, z, size.heads // size.groups, depth) for z in (k, v))
        scores = b.Where(unseen, float(np.finfo(np.float32).min),
                         b.Mul(b.scores(q, k), depth ** -.5))
        y = b.join_heads(b.MatMul(b.Softmax(scores, axis=-1), v), size.heads * depth)
        x = b.Add(x, b.linear(y, size.heads * depth, width, False))
        x = b.Add(x, b.gated(b.rms_norm(x, width), width, size.inner))
    return b.linear(b.rms_norm(x, width), width, size.words, False)


def growing(size):
    """As optimum writes it: past_key_values.* of t positions go in, present.* of t + s come out."""
    b = extents_builder.Builder()
    past, seq = "past_sequence_length", "sequence_length"
    both, text = f"{past} + {seq}", ["batch_size", seq]
    ids = b.input("input_ids", text, kind=I64)
    mask = b.input("attention_mask", ["batch_size", both], kind=I64)
    positions = b.input("position_ids", text, kind=I64)

    def cached(i, name, x):
        old = b.input(f"past_key_values.{i}.{name}", ["batch_size", size.groups, past, size.depth])
        joined = b.Concat(old, x, axis=2)
        b.output(f"present.{i}.{name}", joined, ["batch_size", size.groups, both, size.depth])
        return joined
    b.output("logits", decoder(b, size, ids, positions, mask, cached), [*text, size.words])
    return b.model()


def fixed(size, room):
    """As a static cache is exported: keys and values have room for so many positions, and a run
    writes those of its tokens."""
    b = extents_builder.Builder()
    ids = b.input("input_ids", [1, "seq"], kind=I64)
    mask = b.input("attention_mask", [1, room], kind=I64)
    positions = b.input("cache_position", ["seq"], kind=I64)

    def cached(i, name, x):
        old = b.input(f"past_{name}_{i}", [1, size.groups, room, size.depth])
        rows = b.Transpose(b.ScatterND(b.Transpose(old, perm=[2, 0, 1, 3]),
                                       b.Unsqueeze(positions, [1]),
                                       b.Transpose(x, perm=[2, 0, 1, 3])), perm=[1, 2, 0, 3])
        b.output(f"present_{name}_{i}", rows, [1, size.groups, room, size.depth])
        return rows
    y = decoder(b, size, ids, b.Unsqueeze(positions, [0]), mask, cached)
    b.output("logits", y, [1, "seq", size.words])
    return b.model()
