# SPDX-License-Identifier: Apache-2.0
"""The models of bench/extents.py with attention as one operator, as ONNX Runtime's model builder
and its transformer optimizer, Optimum and torch.onnx write it."""
from extents_builder import BOOL, F32, I32, I64, POSITIONS, below, model, normal, np, padding

MS = "com.microsoft"


def ones(_rng, shape, _):
    return np.ones(shape)


def tables(b, depth):
    rates = 100.0 ** -np.linspace(0, 1, depth // 2, endpoint=False)
    angles = np.outer(np.arange(2 * POSITIONS), rates).astype(np.float32)
    return b.value(np.cos(angles)), b.value(np.sin(angles))


def lengths_of(b, mask):
    """What the model builder makes of attention_mask: seqlens_k and total_sequence_length."""
    last = b.Sub(b.ReduceSum(mask, [1], keepdims=0), [1])
    return b.Cast(last, to=I32), b.Cast(b.Gather(b.Shape(mask), 1, axis=0), to=I32)


def decoder(b, batch, seq, pasts, packed=False, **attributes):
    """A decoder of one layer with GroupQueryAttention; pasts: the length of its cache and its
    values. ONNX Runtime takes several words behind a past for one text only."""
    words, heads, shared, depth = 40, 2, 1, 16
    width = heads * depth
    ids = b.input("input_ids", [batch, seq], below(words), I64)
    mask = b.input("attention_mask", [batch, "total"], ones, I64)
    past = [b.input(f"past_key_values.0.{x}", [batch, shared, pasts[0], depth], pasts[1])
            for x in ("key", "value")]
    last, total = lengths_of(b, mask)
    x = b.Gather(b.random(words, width) / 4, ids)
    y = b.op("SimplifiedLayerNormalization", x, 1 + b.random(width) / 8, axis=-1, epsilon=1e-5)
    sizes = [width, shared * depth, shared * depth]
    qkv = [b.linear(y, width, n, bias=False) for n in sizes]
    if packed:
        qkv = [b.linear(y, width, sum(sizes)), "", ""]
    y, *presents = b.op("GroupQueryAttention", *qkv, *past, last, total, *tables(b, depth),
                        domain=MS, count=3, num_heads=heads, kv_num_heads=shared, do_rotary=1,
                        **attributes)
    y = b.linear(y, width, width)
    y, _, _, x = b.op("SkipSimplifiedLayerNormalization", x, y, 1 + b.random(width) / 8, domain=MS,
                      count=4, epsilon=1e-5)
    y = b.Mul(b.Sigmoid(b.linear(y, width, 48)), b.linear(y, width, 48))
    b.output("logits", b.linear(b.Add(x, b.linear(y, 48, width)), width, words),
             [batch, seq, words])
    long = "total" if isinstance(pasts[0], str) else pasts[0]
    for name, x in zip(("key", "value"), presents):
        b.output(f"present.0.{name}", x, [batch, shared, long, depth])


@model(seq=(1, 12), past=(0, 20), total="past+seq")
def gqa(b):
    """A decoder of the model builder whose cache grows: GroupQueryAttention, rotary embedding"""
    decoder(b, 1, "seq", ("past", normal))


@model(batch=(1, 3), seq=(1, 1), past=(0, 20), total="past+seq")
def gqa_packed(b):
    """The same for a word of each text, with packed operands, a softcap and a local window"""
    decoder(b, "batch", "seq", ("past", normal), packed=True, softcap=20.0, local_window_size=5)


def as_far_as_past(rng, shape, sizes):
    """A buffer with zeros behind what earlier runs have written."""
    x = normal(rng, shape, sizes)
    x[:, :, sizes["total"] - sizes["seq"]:] = 0
    return x


@model(seq=(1, 12), _past=(0, 20), total="_past+seq")
def gqa_buffer(b):
    """The same with a cache of fixed length, as where past and present share a buffer"""
    decoder(b, 1, "seq", (32, as_far_as_past))


def heads_of(b, x, width, n=1, bias=True):
    return [b.linear(x, width, width, bias) for _ in range(n)]


@model(batch=(1, 3), seq=(1, 16), memory=(1, 12))
def mha(b):
    """MultiHeadAttention as the transformer optimizer writes it: padded text, then across to what
    an encoder has made"""
    width, heads = 32, 4
    x = b.input("x", ["batch", "seq", width])
    encoded = b.input("encoded", ["batch", "memory", width])
    mask = b.Cast(b.input("mask", ["batch", "memory"], padding, I64), to=I32)
    places = b.input("relative", [1, heads, "seq", "seq"])
    y = b.op("MultiHeadAttention", *heads_of(b, x, width, 3, False), b.random(3 * width) / 8, "",
             places, domain=MS, num_heads=heads, unidirectional=1)
    y = b.norm(b.Add(x, b.linear(y, width, width)), width)
    q, (k, v) = b.linear(y, width, width), heads_of(b, encoded, width, 2)
    y = b.op("MultiHeadAttention", q, k, v, "", mask, domain=MS, num_heads=heads)
    b.output("y", b.norm(b.Add(x, b.linear(y, width, width)), width), ["batch", "seq", width])


@model(batch=(1, 3), seq=(1, 8), past=(0, 12))
def mha_cache(b):
    """MultiHeadAttention with a cache that grows, as of Whisper's decoder"""
    width, heads = 32, 4
    x = b.input("x", ["batch", "seq", width])
    past = [b.input(f"past_{n}", ["batch", heads, "past", width // heads]) for n in "kv"]
    y, k, v = b.op("MultiHeadAttention", *heads_of(b, x, width, 3), "", "", "", *past, domain=MS,
                   count=3, num_heads=heads, unidirectional=1)
    b.output("y", b.linear(y, width, width), ["batch", "seq", width])
    b.output("present_k", k, ["batch", heads, "total", width // heads])
    b.output("present_v", v, ["batch", heads, "total", width // heads])


def merged(b, x, mask, width, heads, *more, count=1, **attributes):
    return b.op("Attention", x, b.matrix(width, 3 * width), b.random(3 * width) / 8, mask, *more,
                domain=MS, count=count, num_heads=heads, mask_filter_value=-100.0, **attributes)


def skipped(b, x, y, width):
    return b.op("SkipLayerNormalization", x, y, 1 + b.random(width) / 8, b.random(width) / 8,
                b.random(width) / 8, domain=MS, epsilon=1e-5)


@model(batch=(1, 4), seq=(1, 24))
def bert_merged(b):
    """BERT as the transformer optimizer writes it: EmbedLayerNormalization, Attention with the
    lengths of texts, SkipLayerNormalization, BiasGelu"""
    width, heads, words = 32, 4, 50
    ids, kinds, mask = (b.Cast(b.input(name, ["batch", "seq"], values, I64), to=I32)
                        for name, values in (("input_ids", below(words)),
                                             ("token_type_ids", below(2)),
                                             ("attention_mask", padding)))
    x, lengths = b.op("EmbedLayerNormalization", ids, kinds, b.random(words, width),
                      b.random(POSITIONS, width), b.random(2, width), 1 + b.random(width) / 8,
                      b.random(width) / 8, mask, domain=MS, count=2, epsilon=1e-5)
    x = skipped(b, x, b.linear(merged(b, x, lengths, width, heads), width, width, False), width)
    y = b.op("BiasGelu", b.MatMul(x, b.matrix(width, 64)), b.random(64) / 8, domain=MS)
    x = skipped(b, x, b.MatMul(y, b.matrix(64, width)), width)
    x = skipped(b, x, merged(b, x, mask, width, heads), width)
    b.output("last_hidden_state", x, ["batch", "seq", width])
    b.output("words", lengths, ["batch"], I32)


@model(batch=(1, 3), seq=(1, 8), past=(0, 12), total="past+seq")
def gpt2_merged(b):
    """GPT-2 as the transformer optimizer writes it: Attention with a past of keys and values"""
    width, heads = 32, 4
    x = b.input("x", ["batch", "seq", width])
    mask = b.Cast(b.input("mask", ["batch", "total"], ones, I64), to=I32)
    past = b.input("past_0", [2, "batch", heads, "past", width // heads])
    y, present = merged(b, x, mask, width, heads, past, count=2, unidirectional=1)
    b.output("y", skipped(b, x, y, width), ["batch", "seq", width])
    b.output("present_0", present, [2, "batch", heads, "total", width // heads])


@model(batch=(1, 3), seq=(1, 12), past=(0, 16))
def onnx_attention(b):
    """Attention and RotaryEmbedding of opset 23, with a past, as torch.onnx writes them"""
    b.opset, heads, shared, depth = 23, 4, 2, 16
    width = heads * depth
    x = b.input("x", ["batch", "seq", width])
    past = [b.input(f"past_{n}", ["batch", shared, "past", depth]) for n in "kv"]
    at = b.input("position_ids", ["batch", "seq"], below(POSITIONS), I64)
    cos, sin = tables(b, depth)
    q, k, v = b.linear(x, width, width), b.linear(x, width, 32), b.linear(x, width, 32)
    q = b.RotaryEmbedding(q, cos, sin, at, num_heads=heads)
    k = b.RotaryEmbedding(k, cos, sin, at, num_heads=shared)
    y, k, v = b.op("Attention", q, k, v, "", *past, count=3, is_causal=1, q_num_heads=heads,
                   kv_num_heads=shared)
    b.output("y", b.linear(y, width, width), ["batch", "seq", width])
    b.output("present_k", k, ["batch", shared, "total", depth])
    b.output("present_v", v, ["batch", shared, "total", depth])


def seen_by_half(rng, shape, _):
    """What is true seldom hides a whole row; the first key is always seen."""
    seen = rng.random(shape) < .7
    seen[..., 0] = True
    return seen


@model(batch=(1, 3), seq=(1, 12), memory=(1, 10))
def onnx_masked(b):
    """Attention of opset 23 with heads apart, masks of either kind, a softcap and its scores"""
    b.opset, heads, depth = 23, 4, 8
    q = b.input("q", ["batch", heads, "seq", depth])
    k, v = (b.input(name, ["batch", heads, "memory", depth]) for name in "kv")
    seen = b.input("seen", ["batch", 1, "seq", "memory"], seen_by_half, BOOL)
    added = b.input("added", ["seq", "memory"])
    y = b.Attention(q, k, v, seen)
    b.output("y", y, ["batch", heads, "seq", depth])
    y, _, _, scores = b.Attention(q, k, v, added, count=4, softcap=3.0, qk_matmul_output_mode=2)
    b.output("capped", y, ["batch", heads, "seq", depth])
    b.output("scores", scores, ["batch", heads, "seq", "memory"])


@model(batch=(1, 3), seq=(1, 12))
def rotary_ms(b):
    """RotaryEmbedding of com.microsoft, by the position of the first word and by all positions"""
    cos, sin = tables(b, 16)
    x = b.input("x", ["batch", "seq", 32])
    y = b.input("y", ["batch", 2, "seq", 16])
    first = b.input("first", [1], below(20), I64)
    at = b.input("at", ["batch", "seq"], below(POSITIONS), I64)
    rotated = b.op("RotaryEmbedding", x, first, cos, sin, domain=MS)
    b.output("from_first", rotated, ["batch", "seq", 32])
    rotated = b.op("RotaryEmbedding", y, at, cos, sin, domain=MS, interleaved=1)
    b.output("by_position", rotated, ["batch", 2, "seq", 16], F32)
