#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: small models of ONNX Runtime's own operators, and of operators between
quantisations, with the results it computes.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_microsoft_cases.py [--out FOLDER]
"""
import math
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

np, ml_dtypes, onnx, onnxruntime = (peers.Module(name) for name in
                                    ("numpy", "ml_dtypes", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


class Random:
    """Tensors with seeded values."""

    def __init__(self):
        self.rng = np.random.default_rng(3)

    def u8(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)

    def i8(self, *shape):
        return self.rng.integers(-128, 128, shape).astype(np.int8)

    def i32(self, limit, *shape):
        return self.rng.integers(-limit, limit, shape).astype(np.int32)

    def f32(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def __getitem__(self, name):
        """Draws of their own, so that cases can be added without changing others."""
        other = Random()
        other.rng = np.random.default_rng([3, *name.encode()])
        return other

    def scales(self, n):
        return (self.rng.random(n) * 0.01 + 0.001).astype(np.float32)


def at(scale, zero):
    """Scale and zero point."""
    return np.float32(scale), np.uint8(zero)


def cases(r):
    """Operator, attributes, inputs in order (run-time inputs as pairs), type of the result."""
    u8, f32 = onnx.TensorProto.UINT8, onnx.TensorProto.FLOAT
    x, y = at(.02, 120), at(1 / 256, 0)
    i8_zeros = np.zeros(12, np.int8)
    return [
        ("QLinearAveragePool", dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
         [("x", r.u8(1, 3, 9, 9)), *x, *at(.017, 100)], u8),
        ("QLinearSoftmax", dict(axis=-1, opset=13), [("x", r.u8(4, 50)), *at(.05, 120), *y], u8),
        ("QLinearSigmoid", {}, [("x", r.u8(5, 16)), *x, *y], u8),
        ("QLinearLeakyRelu", dict(alpha=.2), [("x", r.u8(5, 16)), *x, *at(.03, 60)], u8),
        ("QLinearGlobalAveragePool", {}, [("x", r.u8(1, 6, 5, 7)), *x, *at(.007, 100)], u8),
        ("QLinearAdd", {},
         [("x", r.u8(5, 16)), *x, ("b", r.u8(5, 16)), *at(.01, 131), *at(.025, 128)], u8),
        ("QLinearMul", {},
         [("x", r.u8(5, 16)), *x, ("b", r.u8(5, 16)), *at(.01, 131), *at(.02, 128)], u8),
        ("QLinearConcat", dict(axis=1),
         [*at(.02, 110), ("x", r.u8(2, 5)), *at(.03, 120), ("b", r.u8(2, 3)), *at(.02, 110)], u8),
        ("QGemm", dict(transB=1),
         [("x", r.u8(3, 16)), *x, r.i8(8, 16), r.scales(8), np.zeros(8, np.int8), r.i32(9999, 8),
          *at(.09, 128)], u8),
        ("MatMulIntegerToFloat", {},
         [("x", r.u8(2, 5, 16)), r.i8(16, 12), np.float32(.02), r.scales(12), np.uint8(99),
          i8_zeros, r.f32(12)], f32),
        ("DynamicQuantizeMatMul", {},
         [("x", r.f32(2, 5, 16)), r.i8(16, 12), r.scales(12), i8_zeros, r.f32(12)], f32),
    ]


def save(path, array, name):
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def store(out, name, model, feeds, results=None):
    """The model with its inputs and the results; None: those that ONNX Runtime computes."""
    data = out / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    for i, (key, value) in enumerate(feeds.items()):
        save(data / f"input_{i}.pb", value, key)
    if results is None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        results = session.run(None, feeds)
    for i, (info, value) in enumerate(zip(model.graph.output, results)):
        save(data / f"output_{i}.pb", value, info.name)


def packed_product(r, rows, k, n, bits, block, zeros):
    """A MatMulNBits with weights, scales and zero points of seeded values."""
    blocks = -(-k // block)
    inputs = [("x", r.f32(rows, k)), r.u8(n, blocks, block * bits // 8), r.scales(n * blocks)]
    if zeros == "packed":
        inputs.append(r.u8(n * -(-blocks * bits // 8)))
    elif zeros == "real":
        inputs.append((r.rng.random(n * blocks) * 8).astype(np.float32))
    return "MatMulNBits", dict(K=k, N=n, bits=bits, block_size=block), inputs, ["y"]


def group_attention(r, batch, length, past, lens, total, packed=False, **attributes):
    """A GroupQueryAttention of 4 heads on 2 with a cache of `past` positions; `lens` are lengths of
    the samples with the new positions. A cache that is not full is no output: ONNX Runtime
    clears the rest unless it shares buffers."""
    heads, kv, d = 4, 2, 16
    qkv = ([("q", r.f32(batch, length, (heads + 2 * kv) * d)), None, None] if packed else
           [("q", r.f32(batch, length, heads * d)), ("k", r.f32(batch, length, kv * d)),
            ("v", r.f32(batch, length, kv * d))])
    caches = [(n, r.f32(batch, kv, past, d)) for n in ("past_k", "past_v")]
    angles = np.outer(np.arange(32), 0.3 ** np.arange(d // 2)).astype(np.float32)
    inputs = [*qkv, *caches, ("lengths", np.array(lens, np.int32) - 1), np.int32(total),
              np.cos(angles), np.sin(angles)]
    return ("GroupQueryAttention", dict(num_heads=heads, kv_num_heads=kv, **attributes), inputs,
            ["y", *(("k_now", "v_now") if lens == [past] else ("_k", "_v"))])


def with_inputs(case, more, outputs=None):
    """The case with more inputs, by their positions."""
    op, attributes, inputs, named = case
    inputs = list(inputs)
    for i, value in more.items():
        inputs += [None] * (i + 1 - len(inputs))
        inputs[i] = value
    return op, attributes, inputs, outputs or named


def group_quantised(r, bits, kind, *sizes):
    """A GroupQueryAttention whose caches are 8-bit integers, or pairs of 4-bit ones."""
    case = group_attention(r, *sizes, do_rotary=1, k_quant_type=kind, v_quant_type=kind,
                           kv_cache_bit_width=bits)
    shape = case[2][3][1].shape
    more = {i: (name, r.i8(*shape) if bits == 8 else r.u8(*shape[:-1], shape[-1] // 2))
            for i, name in ((3, "past_k"), (4, "past_v"))}
    size = (1,) if kind == "PER_TENSOR" else (1, 2, 1, shape[-1])
    for i in (12, 13):
        more[i] = ((r.rng.random(size) + .5) * 2 ** -bits * 6).astype(np.float32)
    return with_inputs(case, more)


def group_cases(r):
    def group(name, *sizes, more=None, outputs=None, **attributes):
        own = r[name]
        more = {i: v(own) if callable(v) else v for i, v in (more or {}).items()}
        return (f"GroupQuery{name}",
                *with_inputs(group_attention(own, *sizes, **attributes), more, outputs))

    scores = ["y", "k_now", "v_now", "scores"]
    return [
        group("Smooth", 2, 1, 12, [5, 9], 9, do_rotary=1, smooth_softmax=1),
        group("Sink", 1, 6, 12, [6], 6, more={11: lambda own: own.f32(4)}),
        group("Bias", 2, 1, 8, [5, 8], 8, more={10: lambda own: own.f32(2, 1, 1, 8)}),
        group("Places", 1, 2, 8, [8], 8, do_rotary=1, more={9: np.array([[3, 4]])}),
        group("All", 1, 6, 12, [6], 6, causal=0),
        group("Scores", 1, 2, 8, [8], 8, outputs=scores, softcap=2.0, qk_output=1),
        group("Probabilities", 2, 1, 8, [5, 7], 7, outputs=["y", "_k", "_v", "scores"],
              qk_output=2),
        *((f"GroupQuery{bits}{kind[4:].capitalize()}",
           *group_quantised(r[f"{bits}{kind}"], bits, kind, 1, 1, 8, [8], 8))
          for bits in (8, 4) for kind in ("PER_TENSOR", "PER_CHANNEL")),
        ("GroupQuery4Lengths", *group_quantised(r["lengths"], 4, "PER_CHANNEL", 2, 1, 8, [5, 7],
                                                7)),
    ]


def packed_cases(r):
    def case(name, *sizes, more=None):
        own = r[name]
        more = {i: v(own) if callable(v) else v for i, v in (more or {}).items()}
        return f"MatMulNBits{name}", *with_inputs(packed_product(own, *sizes), more)

    return [
        case("2Packed", 3, 64, 12, 2, 16, "packed"),
        case("2Middle", 1, 80, 12, 2, 32, ""),
        case("4Bias", 3, 64, 12, 4, 16, "packed", more={5: lambda own: own.f32(12)}),
    ]


def padded_chunk(out, r):
    """A chunk of three words of which two count; what comes of the third is not defined."""
    case = group_attention(r["chunk"], 2, 3, 12, [5, 9], 9, do_rotary=1)
    name = "GroupQueryChunk"
    write_real(out, name, *with_inputs(case, {16: ("counts", np.array([2, 2], np.int32))}))
    model = onnx.load(out / name / "model.onnx")
    model.graph.node[0].output[0] = "all"
    for key, value in (("from", 0), ("to", 2), ("axis", 1)):
        model.graph.initializer.append(numpy_helper.from_array(np.array([value]), key))
    model.graph.node.append(helper.make_node("Slice", ["all", "from", "to", "axis"], ["y"]))
    data = out / name / "test_data_set_0"
    feeds = {x.name: numpy_helper.to_array(onnx.load_tensor(data / f"input_{i}.pb"))
             for i, x in enumerate(model.graph.input)}
    store(out, name, model, feeds)


def multi_attention(r, batch, m, n, **attributes):
    return ("MultiHeadAttention", dict(num_heads=2, **attributes),
            [("q", r.f32(batch, m, 16)), ("k", r.f32(batch, n, 16)), ("v", r.f32(batch, n, 24))])


def attention_cases(r):
    mask = ("mask", np.array([[1, 1, 0, 1, 1], [1, 1, 1, 0, 0]], np.int32))
    op, attributes, operands = multi_attention(r, 2, 3, 5)
    pairs = (np.arange(30).reshape(2, 3, 5) % 4 != 1).astype(np.int32)
    positions = np.arange(3)[None] + np.array([[2], [5]])
    angles = np.outer(np.arange(16), 0.4 ** np.arange(4)).astype(np.float32)
    return [
        ("GroupQueryStep", *group_attention(r, 2, 1, 12, [5, 9], 9, do_rotary=1)),
        ("GroupQueryFull", *group_attention(r, 1, 2, 8, [8], 8)),
        ("GroupQueryPrompt", *group_attention(r, 1, 6, 12, [6], 6, do_rotary=1)),
        ("GroupQueryPacked", *group_attention(r, 2, 6, 8, [6, 6], 6, packed=True, do_rotary=1,
                                              rotary_interleaved=1)),
        ("GroupQueryWindow", *group_attention(r, 1, 1, 12, [10], 10, local_window_size=4,
                                              softcap=5.0, scale=.3)),
        ("MultiHeadPlain", op, attributes, operands, ["y"]),
        ("MultiHeadMask", op, attributes, [*operands, r.f32(56), mask], ["y"]),
        ("MultiHeadLengths", op, attributes,
         [*operands, None, ("mask", np.array([4, 2], np.int32))], ["y"]),
        ("MultiHeadPairs", op, attributes, [*operands, None, ("mask", pairs)], ["y"]),
        ("MultiHeadBias", op, dict(attributes, scale=.2),
         [*operands, None, None, ("bias", r.f32(2, 2, 3, 5))], ["y"]),
        ("MultiHeadPast", op, dict(num_heads=2, unidirectional=1),
         [("q", r.f32(1, 3, 16)), ("k", r.f32(1, 3, 16)), ("v", r.f32(1, 3, 16)), None, None, None,
          ("past_k", r.f32(1, 2, 4, 8)), ("past_v", r.f32(1, 2, 4, 8))], ["y", "k_now", "v_now"]),
        ("RotaryMicrosoft", "RotaryEmbedding", {},
         [("x", r.f32(2, 3, 16)), ("at", positions), np.cos(angles), np.sin(angles)], ["y"]),
        ("RotaryMicrosoftHeads", "RotaryEmbedding", dict(interleaved=1),
         [("x", r.f32(2, 2, 3, 8)), ("at", np.array([4])), np.cos(angles), np.sin(angles)], ["y"]),
        ("EmbedLayerNormAlone", "EmbedLayerNormalization", {},
         [("ids", np.array([[3, 1, 2]], np.int32)), None, r.f32(5, 8), r.f32(4, 8), None, r.f32(8),
          r.f32(8)], ["y", "count"]),
    ]


def real_cases(r):
    """Name, operator, attributes, inputs in order (run-time inputs as pairs, None: absent), names
    of the outputs."""
    x, skip, gamma, beta = ("x", r.f32(2, 5, 16)), ("skip", r.f32(2, 5, 16)), r.f32(16), r.f32(16)
    ids = ("ids", r.rng.integers(0, 9, (2, 6)).astype(np.int32))
    segments = ("segments", r.rng.integers(0, 2, (2, 6)).astype(np.int32))
    mask = ("mask", (np.arange(6) < np.array([[4], [6]])).astype(np.int32))
    tables = [r.f32(9, 16), r.f32(8, 16), r.f32(2, 16)]
    return [
        ("FastGelu", "FastGelu", {}, [x, r.f32(16)], ["y"]),
        ("QuickGelu", "QuickGelu", {}, [x], ["y"]),
        ("QuickGeluAlpha", "QuickGelu", dict(alpha=1.2), [x], ["y"]),
        ("FusedMatMulBatch", "FusedMatMul", dict(alpha=.5, transBatchA=1, transB=1),
         [("a", r.f32(4, 3, 5)), ("b", r.f32(3, 6, 5))], ["y"]),
        ("SkipSimplifiedLayerNorm", "SkipSimplifiedLayerNormalization", {},
         [x, skip, gamma, beta], ["y", "", "", "sum"]),
        ("SkipLayerNorm", "SkipLayerNormalization", dict(epsilon=1e-5),
         [x, skip, gamma, beta, r.f32(16)], ["y", "", "", "sum"]),
        ("EmbedLayerNorm", "EmbedLayerNormalization", dict(epsilon=1e-5),
         [ids, segments, *tables, gamma, beta, mask], ["y", "count"]),
        *((f"MatMulNBits{bits}{zeros.capitalize()}",
           *packed_product(r, rows, k, 12, bits, block, zeros))
          for rows, k, bits, block, zeros in ((1, 64, 4, 16, "packed"), (6, 80, 4, 32, ""),
                                              (3, 64, 8, 32, "packed"), (5, 48, 4, 16, "real"))),
    ]


def merged_attention(r, mask=None, past=0, op="Attention", sizes=(16, 16, 16), **attributes):
    """An Attention of 2 heads on 2 samples of 3 words, with one matrix of weights; `mask` is a
    mask_index."""
    mask = mask if mask is None else ("mask", np.array(mask, np.int32))
    past = ("past", r.f32(2, 2, 2, past, 8)) if past else None
    if sizes != (16, 16, 16):
        attributes["qkv_hidden_sizes"] = sizes
    width = sum(sizes)
    outputs = ["y", "present"] if past else ["y"]
    if op == "Attention":
        inputs = [("x", r.f32(2, 3, 12)), r.f32(12, width), r.f32(width), mask, past]
    else:
        inputs = [("x", r.u8(2, 3, 12)), r.i8(12, width), r.f32(width), np.float32(.03),
                  r.scales(width), mask, np.uint8(130), np.zeros(width, np.int8), past]
    while inputs[-1] is None:
        inputs.pop()
    return op, dict(num_heads=2, **attributes), inputs, outputs


def merged_cases(r):
    seen = (r.rng.random((2, 3, 5)) < .7).astype(np.int32)
    biased = merged_attention(r)
    biased[2].extend([None, None, ("bias", r.f32(1, 2, 3, 3))])
    return [
        ("MergedPlain", *merged_attention(r)),
        ("MergedLengths", *merged_attention(r, [2, 3])),
        ("MergedRanges", *merged_attention(r, [3, 2, 1, 0], mask_filter_value=-50.0)),
        ("MergedKeys", *merged_attention(r, [[1, 1, 0], [0, 1, 1]], sizes=(16, 16, 24))),
        ("MergedPairs", *merged_attention(r, seen, 2, unidirectional=1)),
        ("MergedPast", *merged_attention(r, None, 4, unidirectional=1, scale=.5)),
        ("MergedBias", *biased),
        ("MergedPacked", *merged_attention(r, [2, 3, 0, 2, 5, 0, 2, 5])),
        ("MergedOnes", *merged_attention(r, [[1], [1]])),
        ("MergedNobody", *merged_attention(r, [[0, 0, 0], [0, 1, 1]], unidirectional=1)),
        ("QAttentionMask", *merged_attention(r, [2, 3], op="QAttention")),
        ("QAttentionPast", *merged_attention(r, None, 2, op="QAttention", unidirectional=1)),
    ]


def fused_cases(r):
    x, w = ("x", r.f32(1, 4, 6, 6)), r.f32(6, 2, 3, 3)
    rows, weights = ("x", r.f32(3, 8)), r.f32(5, 8)
    window = dict(pads=[1, 1, 1, 1], strides=[2, 2], group=2)
    return [
        ("FusedConvSum", "FusedConv", dict(activation="Relu", **window),
         [x, w, r.f32(6), ("z", r.f32(1, 6, 3, 3))], ["y"]),
        ("FusedConvClip", "FusedConv", dict(activation="Clip", activation_params=[-.5, 2.],
                                            **window), [x, w], ["y"]),
        ("FusedConvHard", "FusedConv", dict(activation="HardSigmoid", activation_params=[.3, .6],
                                            **window), [x, w, r.f32(6)], ["y"]),
        ("FusedGemmLeaky", "FusedGemm", dict(transB=1, activation="LeakyRelu", alpha=.5,
                                             activation_alpha=.1), [rows, weights, r.f32(5)],
         ["y"]),
        ("TransposeMatMul", "TransposeMatMul", dict(transB=1, alpha=.25), [rows, weights], ["y"]),
        ("TriluMicrosoft", "Trilu", dict(upper=0), [("x", r.f32(2, 4, 4))], ["y"]),
    ]


def quantised_cases(r):
    x, zero = ("x", r.u8(1, 6, 6, 4)), np.uint8(120)
    pool = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    ids = ("ids", np.array([[3, 1, 2], [0, 4, 4]], np.int32))
    segments = ("segments", np.array([[0, 0, 1], [1, 0, 1]], np.int32))
    mask = ("mask", np.array([[1, 1, 0], [1, 1, 1]], np.int32))
    tables = [r.u8(5, 8), r.u8(4, 8), r.u8(2, 8), r.u8(8), r.u8(8)]
    scales = [np.float32(.01 * (i + 1)) for i in range(5)]
    return [
        ("QLinearAveragePoolLast", "QLinearAveragePool", dict(channels_last=1, **pool),
         [x, np.float32(.02), zero, np.float32(.017), np.uint8(100)], ["y"]),
        ("NhwcMaxPool", "NhwcMaxPool", pool, [x], ["y"]),
        ("QLinearConvLast", "QLinearConv", dict(channels_last=1, pads=[1, 1, 1, 1]),
         [x, np.float32(.02), zero, r.i8(6, 4, 3, 3), r.scales(6), np.zeros(6, np.int8),
          np.float32(.09), np.uint8(128), r.i32(999, 6)], ["y"]),
        ("QLinearWhere", "QLinearWhere", {},
         [("c", r.rng.random((3, 1)) < .5), ("x", r.u8(3, 4)), *at(.02, 120), ("z", r.u8(3, 4)),
          *at(.01, 131), *at(.025, 128)], ["y"]),
        ("QuantizeMicrosoft", "QuantizeLinear", dict(axis=1),
         [("x", r.f32(3, 4)), r.scales(4), (r.rng.random(4) * 999).astype(np.uint16)], ["y"]),
        ("DequantizeMicrosoft", "DequantizeLinear", {},
         [("x", r.i32(9999, 3, 4).astype(np.int16)), np.float32(.01), np.int16(-77)], ["y"]),
        ("QEmbedLayerNorm", "QEmbedLayerNormalization", dict(epsilon=1e-5),
         [ids, segments, *tables, mask, *scales, *(np.uint8(99 + i) for i in range(5))],
         ["y", "count"]),
    ]


def table_cases(r):
    """Rows of quantised tables, and products with weights of 4 bits that stand for reals."""
    index = ("index", np.array([[3, 0], [-1, 4]]))
    blocks = dict(gather_axis=0, quantize_axis=1, block_size=16)
    scales = r.f32(5, 3)
    product = dict(K=24, N=10, block_size=16)
    return [
        ("GatherBlocks4", "GatherBlockQuantized", dict(bits=4, **blocks),
         [r.u8(5, 24), index, scales, r.u8(5, 2)], ["y"]),
        ("GatherBlocks4Middle", "GatherBlockQuantized", dict(bits=4, **blocks),
         [r.u8(5, 24), index, scales], ["y"]),
        ("GatherBlocks8", "GatherBlockQuantized", dict(bits=8, **blocks),
         [r.u8(5, 40), index, scales, r.u8(5, 3)], ["y"]),
        *((f"GatherBlocks{name}", "GatherBlockQuantized", blocks,
           [(r.f32(5, 24) * 3).astype(getattr(ml_dtypes, kind)), index, r.f32(5, 2)], ["y"])
          for name, kind in (("Signed", "int4"), ("Unsigned", "uint4"), ("Byte", "float8_e4m3fn"),
                             ("Float", "float4_e2m1fn"))),
        *((f"MatMulBnb4{name}", "MatMulBnb4", dict(quant_type=i, **product),
           [("x", r.f32(2, 3, 24)), r.u8(120), r.scales(15)], ["y"])
          for i, name in enumerate(("Float", "Normal"))),
    ]


def recurrence(r, direction="forward", optional=True, signed=True, per_column=True, **attributes):
    n, h = (2 if direction == "bidirectional" else 1), 8
    kind = r.i8 if signed else r.u8
    middle = np.zeros if signed else np.ones
    shape = (n, 4 * h) if per_column else (n,)
    parameters = []
    for _ in range(2):
        parameters += [r.scales(int(np.prod(shape))).reshape(shape),
                       middle(shape, np.int8 if signed else np.uint8)]
    states = ([("lens", np.array([5, 3], np.int32)), ("h0", r.f32(n, 2, h)),
               ("c0", r.f32(n, 2, h)), r.f32(n, 3 * h)] if optional else [None] * 4)
    return ("DynamicQuantizeLSTM", dict(direction=direction, hidden_size=h, **attributes),
            [("x", r.f32(5, 2, 6)), kind(n, 6, 4 * h), kind(n, h, 4 * h), r.f32(n, 8 * h), *states,
             *parameters], ["y", "y_h", "y_c"])


def recurrent_cases(r):
    return [
        ("DynamicLSTM", *recurrence(r, optional=False)),
        ("DynamicLSTMBoth", *recurrence(r, "bidirectional")),
        ("DynamicLSTMReverse", *recurrence(r, "reverse", False, False, False, clip=2.0)),
    ]


def stated_cases(r):
    """Operators that ONNX Runtime computes on other devices only, with results by their
    definition."""
    f = np.float32

    def group_norm(x, gamma, beta):
        y = x.astype(np.float64).reshape(2, 9, 2, 3)
        y = (y - y.mean((1, 3), keepdims=True)) / np.sqrt(y.var((1, 3), keepdims=True) + 1e-5)
        y = y.reshape(2, 3, 3, 6) * gamma + beta
        return (y / (1 + np.exp(-y))).astype(f)

    def gelu_tanh(x):
        x = x.astype(np.float64)
        return (x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + .044715 * x ** 3)))).astype(f)

    def conv_1x1(x, w, b):
        return np.einsum("nhwc,oc->nhwo", x, w[:, :, 0, 0]) + b

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)).astype(f)

    x, gamma, beta, bias = r.f32(2, 3, 3, 6), r.f32(6), r.f32(6), r.f32(6)
    skip, skips = r.f32(2, 6), r.f32(2, 3, 3, 6)
    norm = dict(groups=2, activation=1)
    summed = x + skip[:, None, None] + bias
    rows, w, wide = r.f32(3, 6), r.f32(6, 8), r.f32(8)
    kernel, z = r.f32(4, 6, 1, 1), r.f32(2, 3, 3, 4)
    halves = rows @ w + wide
    right = [v * .5 * (1 + math.erf(v / math.sqrt(2))) for v in halves[:, 4:].flat]
    return [
        ("GroupNormLast", "GroupNorm", norm, [("x", x), gamma, beta], ["y"],
         [group_norm(x, gamma, beta)]),
        ("GroupNormFirst", "GroupNorm", dict(channels_last=0, **norm),
         [("x", x.transpose(0, 3, 1, 2)), gamma, beta], ["y"],
         [group_norm(x, gamma, beta).transpose(0, 3, 1, 2)]),
        ("SkipGroupNorm", "SkipGroupNorm", norm, [("x", x), gamma, beta, ("skip", skip), bias],
         ["y", "sum"], [group_norm(summed, gamma, beta), summed]),
        ("BiasAdd", "BiasAdd", {}, [("x", x), bias, ("skip", skips)], ["y"], [x + bias + skips]),
        ("BiasSplitGelu", "BiasSplitGelu", {}, [("x", rows @ w), wide], ["y"],
         [(halves[:, :4] * np.array(right).reshape(3, 4)).astype(f)]),
        ("BiasSoftmax", "BiasSoftmax", dict(axis=3, is_inner_broadcast=1),
         [("x", x), ("bias", skips[:, :1, :1])], ["y"], [softmax(x + skips[:, :1, :1])]),
        ("GemmFastGelu", "GemmFastGelu", {}, [("x", rows), w, wide], ["y"], [gelu_tanh(halves)]),
        ("NhwcConv", "NhwcConv", {}, [("x", x), kernel, bias[:4]], ["y"],
         [conv_1x1(x, kernel, bias[:4])]),
        ("NhwcFusedConv", "NhwcFusedConv", dict(activation="Relu"),
         [("x", x), kernel, bias[:4], ("z", z)], ["y"],
         [np.maximum(conv_1x1(x, kernel, bias[:4]) + z, 0)]),
    ]


def attended(q, k, v):
    """Attention of 2 heads by definition; [batch, length, 2 * depth] each."""
    q, k, v = (x.astype(np.float64).reshape(*x.shape[:2], 2, -1) for x in (q, k, v))
    e = np.exp(np.einsum("bmhd,bnhd->bhmn", q, k) / np.sqrt(q.shape[-1]))
    y = np.einsum("bhmn,bnhd->bmhd", e / e.sum(-1, keepdims=True), v)
    return y.reshape(*y.shape[:2], -1).astype(np.float32)


def packed_attention_cases(r):
    """Operands that are packed between the heads and their elements: ONNX Runtime takes them on
    GPUs only, so the results are those by definition."""
    q, k, v = (r.f32(2, 3, 16) for _ in range(3))
    pack = lambda *x: np.stack([part.reshape(2, 3, 2, 8) for part in x], 3)
    op, heads = "MultiHeadAttention", dict(num_heads=2)
    return [
        ("MultiHeadPacked", op, heads, [("qkv", pack(q, k, v))], ["y"], [attended(q, k, v)]),
        ("MultiHeadPackedKeys", op, heads, [("q", q[:, :2]), ("kv", pack(k, v))], ["y"],
         [attended(q[:, :2], k, v)]),
    ]


def rarer_cases(r):
    """A cache that is shorter than the sequence, places of words that are given, a norm with its
    factor, by definition."""
    x, gamma = r.f32(2, 3, 8), r.f32(8)
    factor = 1 / np.sqrt(np.square(x.astype(np.float64)).mean(-1, keepdims=True) + 1e-3)
    tables = [r.f32(5, 8), r.f32(6, 8), None, r.f32(8), r.f32(8)]
    words, places = np.array([[3, 1, 2], [4, 0, 0]], np.int32), np.array([[5, 0, 2], [1, 1, 4]])
    return [
        ("GroupQueryLonger", *group_attention(r, 1, 2, 6, [8], 8, do_rotary=1)[:3],
         ["y", "k_now", "v_now"]),
        ("EmbedLayerNormPlaces", "EmbedLayerNormalization", {},
         [("ids", words), None, *tables, None, ("places", places.astype(np.int32))],
         ["y", "count"]),
        ("SimplifiedLayerNorm", "SimplifiedLayerNormalization", dict(axis=-1, epsilon=1e-3),
         [("x", x), gamma], ["y", "factor"],
         [(x * factor * gamma).astype(np.float32), factor.astype(np.float32)]),
    ]


def write_real(out, name, op, attributes, inputs, outputs, results=None):
    feeds = dict(x for x in inputs if isinstance(x, tuple))
    constants = {f"c{i}": x for i, x in enumerate(inputs)
                 if x is not None and not isinstance(x, tuple)}
    names = ["" if x is None else x[0] if isinstance(x, tuple) else f"c{i}"
             for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, outputs, domain="com.microsoft", **attributes)
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in feeds.items()]
    ends = [helper.make_empty_tensor_value_info(y) for y in outputs if y and y[0] != "_"]
    graph = helper.make_graph([node], name, infos, ends,
                              [numpy_helper.from_array(np.asarray(v), k)
                               for k, v in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets)
    store(out, name, model, feeds, results)


def write(out, op, attributes, inputs, result):
    names, feeds, constants = [], {}, []
    for i, value in enumerate(inputs):
        if isinstance(value, tuple):
            names.append(value[0])
            feeds[value[0]] = value[1]
        else:
            names.append(f"c{i}")
            constants.append(numpy_helper.from_array(np.asarray(value), f"c{i}"))
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in feeds.items()]
    y = helper.make_tensor_value_info("y", result, None)
    graph = helper.make_graph([node], op, infos, [y], constants)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    store(out, op, helper.make_model(graph, ir_version=8, opset_imports=opsets), feeds)


def dequantised(name, array, scale, zero):
    """A constant behind a dequantisation."""
    constants = [numpy_helper.from_array(np.asarray(v), f"{name}_{k}") for k, v in
                 (("q", array), ("s", np.float32(scale)), ("z", zero))]
    return constants, helper.make_node("DequantizeLinear", [c.name for c in constants], [name])


def write_qdq(out, name, x, nodes, parameters, constants):
    """Real nodes from "rx" to "ry" between a dequantisation of x and a quantisation."""
    before, after = at(.03, 120), at(.025, 128)
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in
                 dict(constants, sx=before[0], zx=before[1], sy=after[0], zy=after[1]).items()]
    all_nodes = [helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["rx"])]
    for parts, node in parameters:
        constants += parts
        all_nodes.append(node)
    all_nodes += nodes + [helper.make_node("QuantizeLinear", ["ry", "sy", "zy"], ["y"])]
    u8 = onnx.TensorProto.UINT8
    ends = [[helper.make_tensor_value_info(end, u8, x.shape)] for end in ("x", "y")]
    graph = helper.make_graph(all_nodes, name, *ends, constants)
    opsets = [helper.make_opsetid("", 17)]
    store(out, name, helper.make_model(graph, ir_version=8, opset_imports=opsets), {"x": x})


def layer_norms(out, r):
    make = helper.make_node
    parameters = [dequantised("g", r.u8(64), .01, np.uint8(28)),
                  dequantised("b", r.i32(99, 64), .01, np.int32(0))]
    whole = make("LayerNormalization", ["rx", "g", "b"], ["ry"], name="norm", axis=-1, epsilon=1e-5)
    write_qdq(out, "QDQLayerNormalization", r.u8(2, 12, 64), [whole], parameters, {})
    pieces = [make("ReduceMean", ["rx"], ["m"], axes=[-1]), make("Sub", ["rx", "m"], ["d"]),
              make("Pow", ["d", "two"], ["p"]), make("ReduceMean", ["p"], ["v"], axes=[-1]),
              make("Add", ["v", "e"], ["w"]), make("Sqrt", ["w"], ["s"]),
              make("Div", ["d", "s"], ["n"]), make("Mul", ["n", "g"], ["k"]),
              make("Add", ["k", "b"], ["ry"], name="norm")]
    f = np.float32
    write_qdq(out, "QDQLayerNormPieces", r.u8(2, 12, 64), pieces, [],
              dict(two=f(2), e=f(1e-5), g=r.f32(64) + f(1), b=r.f32(64)))


def triangle(out, r):
    """A mask for the longest sequence, of which the words at hand use a part; the results are those
    with that part."""
    seen = (r.rng.random((2, 1, 6, 6)) < .7).astype(np.int32)
    op, attributes, inputs, outputs = merged_attention(r, seen[:, 0, 2:5, :5], 2)
    write_real(out, "MergedTriangle", op, attributes, inputs, outputs)
    folder = out / "MergedTriangle"
    model = onnx.load(folder / "model.onnx")
    for dim, n in zip(model.graph.input[1].type.tensor_type.shape.dim, (2, 1, 6)):
        dim.dim_value = n
    model.graph.input[1].type.tensor_type.shape.dim.add().dim_value = 6
    onnx.save(model, folder / "model.onnx")
    save(folder / "test_data_set_0/input_1.pb", seen, "mask")


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    args = parser.parse_args()
    peers.need("numpy", "ml_dtypes", "onnx", "onnxruntime")
    r = Random()
    for case in cases(r):
        write(args.out, *case)
    layer_norms(args.out, r)
    groups = (real_cases, attention_cases, merged_cases, fused_cases, quantised_cases,
              table_cases, recurrent_cases, stated_cases,
              group_cases, packed_cases)
    for case in (case for group in groups for case in group(r)):
        write_real(args.out, *case)
    triangle(args.out, r["triangle"])
    padded_chunk(args.out, r)
    for case in packed_attention_cases(r["packed attention"]) + rarer_cases(r["rarer"]):
        write_real(args.out, *case)


if __name__ == "__main__":
    main()
