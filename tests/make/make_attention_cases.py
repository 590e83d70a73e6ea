#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: forms of attention and of what stands beside it, standard ones with the
results of ONNX's reference evaluator.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_attention_cases.py [--out FOLDER]
"""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import make_standard_cases as standard
import peers
from make_standard_cases import f32, rng

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


def write(out, name, opset, nodes, feeds, oracle=standard.reference, constants=None, domains=()):
    """A model of nodes, each (operator, inputs, outputs, attributes); everything that the nodes
    make is an output of the model. An operator may be "domain:name"."""
    made, outputs = [], []
    for op, inputs, results, attributes in nodes:
        domain, _, kind = op.rpartition(":")
        made.append(helper.make_node(kind, inputs, results, name=results[0], domain=domain,
                                     **attributes))
        outputs += [y for y in results if y]
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in feeds.items()]
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    untyped = [helper.make_empty_tensor_value_info(y) for y in outputs]
    model = helper.make_model(helper.make_graph(made, name, infos, untyped, constants),
                              ir_version=10, opset_imports=opsets)
    results = [np.asarray(v) for v in oracle(model, outputs, feeds)]
    del model.graph.output[:]
    model.graph.output.extend(
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in zip(outputs, results))
    data = out / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    for i, (key, value) in enumerate(feeds.items()):
        standard.save(data / f"input_{i}.pb", value, key)
    for i, (key, value) in enumerate(zip(outputs, results)):
        standard.save(data / f"output_{i}.pb", value, key)


def attention(out):
    """Two heads of keys for four of queries; rows that see nothing."""
    q, k, v = f32(2, 4, 3, 4), f32(2, 2, 5, 4), f32(2, 2, 5, 6)
    mask = rng().random((2, 1, 3, 5)) < .6
    mask[0, 0, 1] = False
    feeds = dict(q=q, k=k, v=v, mask=mask, short=f32(4, 3, 4), pk=f32(2, 2, 2, 4),
                 pv=f32(2, 2, 2, 6), wide=np.where(rng().random((3, 7)) < .2, -np.inf, f32(3, 7))
                 .astype(np.float32), lengths=np.array([2, 5]), one=f32(2, 1, 16),
                 flat_k=f32(2, 5, 8), flat_v=f32(2, 5, 12))
    past = ["pk", "pv"]
    flat = dict(q_num_heads=4, kv_num_heads=2)
    nodes = [
        ("Attention", ["q", "k", "v", "mask"], ["masked"], dict(scale=.4)),
        ("Attention", ["q", "k", "v", "short"], ["padded"], {}),
        ("Attention", ["q", "k", "v", "wide", *past], ["y", "key", "value", "scores"],
         dict(is_causal=1, softcap=1.5, qk_matmul_output_mode=2)),
        ("Attention", ["one", "flat_k", "flat_v", "", "", "", "lengths"], ["decoded"],
         dict(flat, is_causal=1)),
        ("Attention", ["one", "flat_k", "flat_v", "", *past], ["appended"],
         dict(flat, softmax_precision=onnx.TensorProto.DOUBLE)),
        ("Attention", ["q", "k", "v", "mask", "", "", "lengths"], ["cached", "", "", "weights"],
         dict(is_causal=1, qk_matmul_output_mode=3)),
    ]
    write(out, "AttentionForms", 24, nodes, feeds)
    write(out, "AttentionWindows", 25, [
        ("Attention", ["q", "k", "v"], ["band"], dict(left_window_size=1, right_window_size=1)),
        ("Attention", ["q", "k", "v", "", *past], ["left"], dict(left_window_size=2, is_causal=1)),
        ("Attention", ["q", "k", "v", "mask", "", "", "lengths"], ["right"],
         dict(right_window_size=0, left_window_size=0)),
    ], {x: feeds[x] for x in ("q", "k", "v", "mask", *past, "lengths")})


def flex_attention(out):
    """Modifiers that use a tensor from outside, and one that masks."""
    def graph(name, nodes, constants=()):
        x, y = (helper.make_tensor_value_info(k, 1, (1, 4, 3, 3)) for k in "xy")
        return helper.make_graph([helper.make_node(op, i, o) for op, i, o in nodes], name, [x],
                                 [y], [numpy_helper.from_array(v, k) for k, v in constants])
    bias = graph("bias", [("Add", ["x", "slopes"], ["y"])])
    mask = graph("mask", [("Where", ["seen", "x", "never"], ["y"])],
                 [("seen", np.tri(3, dtype=bool)), ("never", np.float32(-np.inf))])
    half = graph("half", [("Mul", ["x", "two"], ["y"])], [("two", np.float32(.5))])
    q, k, v, slopes = f32(1, 4, 3, 4), f32(1, 2, 3, 4), f32(1, 2, 3, 5), f32(4, 1, 3)

    def attend(scale, score=lambda x: x, prob=lambda x: x):
        x = score(np.einsum("bhid,bhjd->bhij", q, np.repeat(k, 2, 1)) * scale)
        e = np.exp(x - x.max(-1, keepdims=True))
        return np.einsum("bhij,bhje->bhie", prob(e / e.sum(-1, keepdims=True)), np.repeat(v, 2, 1))
    results = [attend(.5, lambda x: x + slopes), attend(.3, prob=lambda x: x * .5),
               attend(.5, lambda x: np.where(np.tri(3, dtype=bool), x, -np.inf))]
    op, qkv = "ai.onnx.preview:FlexAttention", ["q", "k", "v"]
    write(out, "FlexAttentionForms", 24,
          [(op, qkv, ["biased"], dict(score_mod=bias)),
           (op, qkv, ["halved"], dict(prob_mod=half, scale=.3)),
           (op, qkv, ["causal"], dict(score_mod=mask))],
          dict(q=q, k=k, v=v, slopes=slopes),
          oracle=lambda *_: [r.astype(np.float32) for r in results], domains=["ai.onnx.preview"])


def caches(out):
    """Rotations and updates of caches that ONNX's own tests do not have."""
    feeds = dict(x=f32(2, 3, 12), cos=f32(9, 2), sin=f32(9, 2),
                 positions=np.array([[4, 0, 8], [1, 1, 7]]))
    rows = ["x", "cos", "sin", "positions"]
    write(out, "RotaryEmbeddingPartial", 23,
          [("RotaryEmbedding", rows, ["halves"], dict(num_heads=2, rotary_embedding_dim=4)),
           ("RotaryEmbedding", rows, ["neighbours"],
            dict(num_heads=2, rotary_embedding_dim=4, interleaved=1))], feeds)
    write(out, "TensorScatterForms", 24,
          [("TensorScatter", ["cache", "update"], ["first"], dict(axis=2)),
           ("TensorScatter", ["cache", "update", "at"], ["later"], dict(axis=-2)),
           ("TensorScatter", ["cache", "update", "at"], ["around"], dict(mode="circular")),
           ("TensorScatter", ["bytes", "byte", "at"], ["last"], dict(axis=-1))],
          dict(cache=f32(2, 2, 5, 3), update=f32(2, 2, 2, 3), at=np.array([3, 1]),
               bytes=rng().integers(0, 9, (2, 6)).astype(np.uint8),
               byte=rng().integers(0, 9, (2, 1)).astype(np.uint8)))


def linear_rules(out, name, n):
    """n tokens, with a state that forgets, is corrected, and both; from nothing and from a past."""
    feeds = dict(q=f32(2, n, 12), k=f32(2, n, 6) / 2, v=f32(2, n, 4), state=f32(2, 2, 3, 2),
                 decay=-np.abs(f32(2, n, 6)), head_decay=-np.abs(f32(2, n, 2)),
                 beta=rng().random((2, n, 2), np.float32), one=rng().random((2, n, 1), np.float32))
    heads, qkv = dict(q_num_heads=4, kv_num_heads=2), ["q", "k", "v"]
    rules = [("linear", [*qkv]), ("gated", [*qkv, "", "head_decay"]),
             ("delta", [*qkv, "state", "", "one"]),
             ("gated_delta", [*qkv, "state", "decay", "beta"])]
    write(out, name, 27,
          [("LinearAttention", inputs, [rule, f"{rule}_state"], dict(heads, update_rule=rule))
           for rule, inputs in rules], feeds)


def linear_attention(out):
    linear_rules(out, "LinearAttentionForms", 5)
    write(out, "CausalConvForms", 27,
          [("CausalConvWithState", ["x", "w", "b"], ["first", "after"], dict(activation="silu")),
           ("CausalConvWithState", ["x", "w", "", "past"], ["y", "state"], {}),
           ("Swish", ["x"], ["swish"], dict(alpha=1.7)),
           ("RMSNormalization", ["x", "gain"], ["normal"], dict(axis=1, epsilon=1e-3))],
          dict(x=f32(2, 3, 2), w=f32(3, 1, 4), b=f32(3), past=f32(2, 3, 3), gain=f32(3, 2)))


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    out = parser.parse_args().out
    peers.need("numpy", "onnx", "onnxruntime")
    for cases in (attention, flex_attention, caches, linear_attention):
        cases(out)
    linear_rules(out, "LinearAttentionToken", 1)


if __name__ == "__main__":
    main()
