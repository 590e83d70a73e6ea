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
import decoder_models
import extents_builder
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))

SIZE = decoder_models.Size(words=61, width=32, heads=4, groups=2, depth=8, inner=48, layers=2)
WIDTH, WORDS, ROOM = SIZE.width, SIZE.words, 24
F32, I32, I64 = extents_builder.F32, extents_builder.I32, extents_builder.I64
BOOL, F16 = 9, 10          # TensorProto.DataType
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]


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


FORMS = {"decoder": lambda: decoder_models.growing(SIZE),
         "decoder_fixed": lambda: decoder_models.fixed(SIZE, ROOM), "decoder_window": window}


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
