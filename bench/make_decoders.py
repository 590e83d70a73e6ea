#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small decoders with seeded weights for tests of `wick generate`, in forms that exporters
give caches, and prints what ONNX Runtime goes on with, always taking the largest logit.

  bench/setup                          once: a virtual environment with the peers
  bench/make_decoders.py [--out tests/open] [--steps 12]

decoder.onnx        as optimum writes it: keys and values of the past go in, those of the past and
                    of the new tokens come out
decoder_fixed.onnx  keys and values have room for 24 positions, and a run writes some of them
decoder_window.onnx a cache of the last 5 positions, which are its first axis

Beside them stands decoder_counts.onnx, which is no network: the next id follows from each number
that a decoder may ask for.
"""
import pathlib

import cli
import extents_builder
import extents_models
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))

WIDTH, HEADS, GROUPS, DEPTH, INNER, WORDS, LAYERS, ROOM = 32, 4, 2, 8, 48, 61, 2, 24
F32, I32, I64 = extents_builder.F32, extents_builder.I32, extents_builder.I64
BOOL, F16 = 9, 10          # TensorProto.DataType
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


def rotations(b, positions):
    """cos and sin, [batch, 1, seq, depth], of positions that are an input."""
    rates = 100.0 ** -np.linspace(0, 1, DEPTH // 2, endpoint=False)
    angles = b.Mul(b.Unsqueeze(b.Cast(positions, to=F32), [2]),
                   np.tile(rates, 2).astype(np.float32)[None, None])
    return [b.Unsqueeze(f(angles), [1]) for f in (b.Cos, b.Sin)]


def later(b, keys, seq, mask):
    """Which keys are behind a token, [batch, 1, seq, keys]; the mask has a one for each token, the
    new ones included."""
    first = b.Sub(b.ReduceSum(mask, [1], keepdims=1), seq)
    at = b.Add(b.Unsqueeze(first, [1]), b.Unsqueeze(b.Range(0, seq, 1), [1]))
    return b.Unsqueeze(b.Greater(b.Unsqueeze(b.Range(0, keys, 1), [0]), at), [1])


def decoder(b, ids, positions, mask, cached):
    """cached(i, name, x): keys or values with those of the past."""
    x = b.Gather(b.random(WORDS, WIDTH), ids)
    cos, sin = rotations(b, positions)
    unseen = None
    for i in range(LAYERS):
        y = b.rms_norm(x, WIDTH)
        q, k, v = (b.split_heads(b.linear(y, WIDTH, n * DEPTH, False), n, DEPTH)
                   for n in (HEADS, GROUPS, GROUPS))
        q, k = (extents_models.rotated(b, z, cos, sin) for z in (q, k))
        k, v = cached(i, "key", k), cached(i, "value", v)
        unseen = unseen or later(b, b.size(k, 2), b.size(ids, 1), mask)
        k, v = (extents_models.repeated(b, z, HEADS // GROUPS, DEPTH) for z in (k, v))
        scores = b.Where(unseen, float(np.finfo(np.float32).min),
                         b.Mul(b.scores(q, k), DEPTH ** -.5))
        y = b.join_heads(b.MatMul(b.Softmax(scores, axis=-1), v), WIDTH)
        x = b.Add(x, b.linear(y, WIDTH, WIDTH, False))
        y = b.rms_norm(x, WIDTH)
        gate = b.linear(y, WIDTH, INNER, False)
        gate = b.Mul(b.Mul(gate, b.Sigmoid(gate)), b.linear(y, WIDTH, INNER, False))
        x = b.Add(x, b.linear(gate, INNER, WIDTH, False))
    return b.linear(b.rms_norm(x, WIDTH), WIDTH, WORDS, False)


def growing():
    b = extents_builder.Builder()
    past, seq = "past_sequence_length", "sequence_length"
    both, text = f"{past} + {seq}", ["batch_size", seq]
    ids = b.input("input_ids", text, kind=I64)
    mask = b.input("attention_mask", ["batch_size", both], kind=I64)
    positions = b.input("position_ids", text, kind=I64)

    def cached(i, name, x):
        old = b.input(f"past_key_values.{i}.{name}", ["batch_size", GROUPS, past, DEPTH])
        joined = b.Concat(old, x, axis=2)
        b.output(f"present.{i}.{name}", joined, ["batch_size", GROUPS, both, DEPTH])
        return joined
    b.output("logits", decoder(b, ids, positions, mask, cached), [*text, WORDS])
    return b.model()


def fixed():
    b = extents_builder.Builder()
    ids = b.input("input_ids", [1, "seq"], kind=I64)
    mask = b.input("attention_mask", [1, ROOM], kind=I64)
    positions = b.input("cache_position", ["seq"], kind=I64)

    def cached(i, name, x):
        old = b.input(f"past_{name}_{i}", [1, GROUPS, ROOM, DEPTH])
        rows = b.Transpose(b.ScatterND(b.Transpose(old, perm=[2, 0, 1, 3]),
                                       b.Unsqueeze(positions, [1]),
                                       b.Transpose(x, perm=[2, 0, 1, 3])), perm=[1, 2, 0, 3])
        b.output(f"present_{name}_{i}", rows, [1, GROUPS, ROOM, DEPTH])
        return rows
    y = decoder(b, ids, b.Unsqueeze(positions, [0]), mask, cached)
    b.output("logits", y, [1, "seq", WORDS])
    return b.model()


def window():
    """Of one layer's keys, which are values, too: positions first, the last 5 of them."""
    b = extents_builder.Builder()
    ids = b.input("input_ids", ["batch", "seq"], kind=I64)
    past = b.input("past_key_values", ["past", "batch", WIDTH])
    x = b.Gather(b.random(WORDS, WIDTH), ids)
    joined = b.Concat(past, b.Transpose(x, perm=[1, 0, 2]), axis=0)
    b.output("present", b.Slice(joined, [-5], [2 ** 62], [0]), ["rest", "batch", WIDTH])
    keys = b.Transpose(joined, perm=[1, 0, 2])
    scores = b.Softmax(b.MatMul(x, b.Transpose(keys, perm=[0, 2, 1])), axis=-1)
    y = b.Sin(b.Mul(b.MatMul(scores, keys), 7.0))
    b.output("logits", b.linear(y, WIDTH, WORDS, False), ["batch", "seq", WORDS])
    return b.model()


def counting():
    """The next id is (word + last + 2 total + 4 past + 8 branch + runs before + given) mod 61."""
    b = extents_builder.Builder()
    word = b.input("word", [1, 1], kind=I64)
    last = b.Reshape(b.Cast(b.input("seqlens_k", [1], kind=I32), to=I64), [1, 1])
    total = b.Mul(b.Cast(b.input("total_sequence_length", [], kind=I32), to=I64), 2)
    past = b.Mul(b.input("start_pos", [1], kind=I64), 4)
    branch = b.Mul(b.Cast(b.input("use_cache_branch", [1], kind=BOOL), to=I64), 8)
    runs = b.input("past_runs", [1, 1])
    given = b.Cast(b.input("given", [1, "n"]), to=I64)
    b.output("present_runs", b.Add(runs, 1.0), [1, 1])
    y = b.Add(word, b.ReduceSum(given, [1], keepdims=1))
    for x in (last, total, past, branch, b.Cast(runs, to=I64)):
        y = b.Add(y, x)
    near = b.Equal(b.Mod(y, WORDS), np.arange(WORDS)[None])
    b.output("next", b.Cast(near, to=F16), [1, WORDS], kind=F16)
    return b.model()


FORMS = {"decoder": growing, "decoder_fixed": fixed, "decoder_window": window}


def feeds_of(session, ids, done):
    """Inputs but caches, for tokens behind `done` others."""
    at, total = np.arange(done, done + len(ids)), done + len(ids)
    room = next((x.shape[1] for x in session.get_inputs() if x.name == "attention_mask"), total)
    keys = np.arange(room if isinstance(room, int) else total)
    known = {"input_ids": np.array([ids]), "position_ids": at[None], "cache_position": at,
             "attention_mask": (keys < total).astype(np.int64)[None]}
    return {x.name: known[x.name] for x in session.get_inputs() if x.name in known}


def empty(x):
    return np.zeros([n if isinstance(n, int) else 1 if "batch" in n else 0 for n in x.shape],
                    np.float32)


def present_of(past):
    return past.replace("past_key_values", "present").replace("past", "present")


def greedy(model, prompt, steps):
    """Ids that ONNX Runtime goes on with, and the least distance of a choice to the next one."""
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    caches = {x.name: empty(x) for x in session.get_inputs() if x.name.startswith("past")}
    outputs = [x.name for x in session.get_outputs()]
    ids, done, got, closest = list(prompt), 0, [], np.inf
    for _ in range(steps):
        values = dict(zip(outputs, session.run(None, {**feeds_of(session, ids, done), **caches})))
        done += len(ids)
        last = values["logits"][0, -1]
        ids = [int(last.argmax())]
        got += ids
        closest = min(closest, float(-np.diff(np.sort(last)[-2:][::-1])[0]))
        caches = {name: values[present_of(name)] for name in caches}
    return got, closest


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/open")
    parser.add_argument("--steps", type=int, default=12)
    o = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    onnx.save(counting(), o.out / "decoder_counts.onnx")
    for name, form in FORMS.items():
        model = form()
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, o.out / f"{name}.onnx")
        ids, closest = greedy(model, PROMPT, o.steps)
        print(f"{name}: {' '.join(map(str, PROMPT))} goes on {' '.join(map(str, ids))}; "
              f"the closest choice by {closest:.3f}")


if __name__ == "__main__":
    main()
