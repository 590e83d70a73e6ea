# SPDX-License-Identifier: Apache-2.0
"""Drawn forms of recurrent networks, of transforms of signals, and of graphs within graphs."""
import numpy as np
from onnx import parser

from drawn import forms as drawn

GATES = dict(LSTM=4, GRU=3, RNN=1)


def swap(value):
    return np.ascontiguousarray(np.swapaxes(value, 0, 1))


def batch_second(run, model, feeds):
    """The answers of a recurrence with layout 1, which the runtime lacks, from layout 0."""
    node = model.graph.node[-1]
    layout = next(a for a in node.attribute if a.name == "layout")
    node.attribute.remove(layout)
    states = {node.input[k] for k in (0, 5, 6) if k < len(node.input)}
    feeds = {k: swap(v) if k in states else v for k, v in feeds.items()}
    for info in model.graph.input:
        dims = info.type.tensor_type.shape.dim
        if info.name in states:
            dims[0].dim_value, dims[1].dim_value = dims[1].dim_value, dims[0].dim_value
    answers = [np.transpose(v, (2, 0, 1, 3)) if v.ndim == 4 else swap(v)
               for v in run(model, feeds)]
    node.attribute.append(layout)
    return answers


def recurrences(m):
    for i in range(18):
        op = ("LSTM", "GRU", "RNN")[i % 3]
        direction = ("forward", "reverse", "bidirectional")[i // 3 % 3]
        d, gates = 1 + (direction == "bidirectional"), GATES[op]
        steps, batch, inputs, hidden = (int(v) for v in (*m.rng.integers(2, 5, 2), 3, 2))
        layout = m.opset > 13 and i > 8
        more = {} if direction == "forward" and i > 5 else dict(direction=direction)
        if i in (3, 4, 5):
            more |= dict(clip=1.2 if op == "LSTM" else .4)  # the runtime clips no cells
        if i in (5, 6, 7):
            names = dict(LSTM=["HardSigmoid", "Softsign", "Tanh"], GRU=["Sigmoid", "Relu"],
                         RNN=["LeakyRelu"])[op]
            more |= dict(activations=names * d)
            if op == "LSTM":
                more |= dict(activation_alpha=[.3] * d, activation_beta=[.4] * d)
            if op == "RNN":
                more |= dict(activation_alpha=[.3, .2][:d])
        if op == "GRU" and m.draw(0, 1, 1):
            more |= dict(linear_before_reset=1)
        if op == "LSTM" and i > 8:
            more |= dict(input_forget=m.draw(0, 1))
        place = swap if layout else np.asarray
        state = [m.draw(None, place(m.f32(d, batch, hidden)))]
        if op == "LSTM":
            state += [place(m.f32(d, batch, hidden)), m.draw(None, m.f32(d, 3 * hidden))]
        lengths = m.numbers(1, steps + 1, batch, dtype=np.int32)
        operands = [place(m.f32(steps, batch, inputs)),
                    drawn.Constant(m.f32(d, gates * hidden, inputs)),
                    drawn.Constant(m.f32(d, gates * hidden, hidden)),
                    m.draw(None, drawn.Constant(m.f32(d, 2 * gates * hidden))),
                    m.draw(None, lengths, drawn.Constant(lengths)), *state]
        while operands[-1] is None:
            operands.pop()
        n = 3 if op == "LSTM" else 2
        m.add(op, *operands, outputs=m.draw("1" * n, "011"[:n], "101"[:n]), hidden_size=hidden,
              by="runtime", **more, **(dict(layout=1, turn=batch_second) if layout else {}))


def signals(m):
    x, z = m.f32(2, 5, 3, 1), m.f32(2, 4, 3, 2)
    for signal in (x, z):
        for axis in (1, 2, *((0,) if m.opset > 19 else ())):
            for more in ({}, dict(inverse=1), dict(onesided=1)):
                if more.get("onesided") and signal is z:
                    continue
                length = m.draw(None, drawn.Constant(int(m.rng.integers(2, 7)), np.int64))
                if m.opset < 20:
                    m.add("DFT", signal, *([length] if length else []), axis=axis, **more)
                else:
                    m.add("DFT", signal, length, drawn.Constant(axis - m.draw(0, 4), np.int64),
                          **more)
        m.add("DFT", signal)
    for shape, step, window, length, more in (
            ((2, 9, 1), 2, None, 4, {}), ((1, 8, 1), 3, 5, None, {}), ((2, 8, 1), 3, 4, 4, {}),
            ((2, 7, 2), 2, 3, 3, dict(onesided=0)), ((1, 8, 1), 1, None, 5, dict(onesided=0)),
            ((1, 8, 1), 4, 4, None, dict(onesided=1))):
        m.add("STFT", m.f32(*shape), drawn.Constant(step, np.int64),
              None if window is None else m.draw(drawn.Constant, np.asarray)(m.f32(window)),
              *([] if length is None else [drawn.Constant(length, np.int64)]), by="reference",
              **more)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for n in (1, 2, 5, 8):
            for more in ({}, dict(periodic=0), dict(output_datatype=11, periodic=1)):
                if n > 2 or more.get("periodic") != 0:
                    m.add(op, drawn.Constant(n, m.draw(np.int32, np.int64)), by="runtime", **more)
    for mel in ((3, 16, 8000, 0, 4000), (5, 17, 100, 10, 45), (2, 9, 44100, 300, 9000),
                (4, 16, 8000, 0, 8000), (6, 8, 8000, 3000, 9000), (8, 16, 8000, 10, 60),
                (9, 32, 8000, 20, 4000), (1, 1, 8000, 0, 8000)):
        values = [drawn.Constant(v, np.int64 if k < 3 else np.float32) for k, v in enumerate(mel)]
        m.add("MelWeightMatrix", *values)
        m.add("MelWeightMatrix", *values, output_datatype=11)


STOPS = ("b (int64 i, bool c, float[2, 3] v) => (bool more, float[2, 3] next) "
         "{ three = Constant <value = int64 {3}> () more = Less (i, three) "
         "k = Constant <value = float[1] {1.5}> () next = Mul (v, k) }")


def graph(text):
    return parser.parse_graph(text)


def fed_bodies(m):
    """How often a body runs is only known with the inputs."""
    x = m.f32(2, 3)
    for trips, condition in ((np.array(7), np.array(True)), (np.array(3), None),
                             (np.array(9), np.array(False)), (None, np.array(True)),
                             (drawn.Constant(4, np.int64), np.array(True))):
        m.add("Loop", trips, condition, x, by="runtime", body=graph(STOPS))


def bodies(m):
    """What a branch or a body computes is read off the text of a graph."""
    x = m.f32(2, 3)
    m.add("Neg", x)  # x is x0
    two = "g () => (float[2, 3] y) { k = Constant <value = float[1] {%s}> () y = %s (%s, k) }"
    branches = [graph(two % (k, op, "x0")) for k, op in ((2.0, "Mul"), (.5, "Sub"))]
    for c in (True, False):
        for condition in (np.array(c), drawn.Constant(c), np.array([c])):
            m.add("If", condition, beside=[x], then_branch=branches[0], else_branch=branches[1])
    bounded = graph("b (int64 i, bool c, float[2, 3] v) => (bool more, float[2, 3] next, "
                    "float[2, 3] seen) { k = Cast <to = 1> (i) next = Add (v, k) "
                    "seen = Mul (v, v) more = Identity (c) }")
    for trips, condition in ((drawn.Constant(3, np.int64), drawn.Constant(True)),
                             (drawn.Constant(2, np.int64), None),
                             (drawn.Constant(1, np.int64), drawn.Constant(True))):
        m.add("Loop", trips, condition, x, outputs="11", by="runtime", body=bounded)
    for trips, condition in ((drawn.Constant(9, np.int64), drawn.Constant(True)),
                             (None, drawn.Constant(True)), (drawn.Constant(3, np.int64), None),
                             (drawn.Constant(9, np.int64), drawn.Constant(False))):
        m.add("Loop", trips, condition, x, by="runtime", body=graph(STOPS))
    for axis, more in ((0, {}), (1, dict(scan_input_axes=[1])),
                       (0, dict(scan_input_directions=[1])),
                       (-1, dict(scan_input_axes=[-1], scan_output_axes=[-1])),
                       (1, dict(scan_input_axes=[1], scan_output_axes=[1],
                                scan_input_directions=[1], scan_output_directions=[1])),
                       (0, dict(scan_output_directions=[1]))):
        n = x.shape[1 - axis % 2]
        body = graph(f"s (float[{n}] a, float[{n}] v) => (float[{n}] b, float[{n}] y) "
                     "{ b = Add (a, v) y = Mul (a, v) }")
        m.add("Scan", m.f32(n), x, outputs="11", body=body, num_scan_inputs=1, **more)


def position(k):
    return [] if k is None else [drawn.Constant(k, np.int64)]


def sequences(m):
    a, b, c, d = (m.f32(n, 2) for n in (2, 1, 3, 2))
    three = ("SequenceConstruct", [a, b, c], "three", {})
    alike = ("SequenceConstruct", [a, d, a], "alike", {})
    for k in (0, 1, 2, -1, -3):
        m.add("SequenceAt", "three", *position(k), after=[three])
    m.add("SequenceLength", "three", after=[three])
    m.add("SequenceLength", "none", after=[("SequenceEmpty", [], "none", {})])
    for k in (None, 0, 1, 3, -1, -3):
        longer = ("SequenceInsert", ["three", d, *position(k)], "longer", {})
        m.add("ConcatFromSequence", "longer", after=[three, longer], axis=0)
    for k in (None, 0, 1, -1, -2, -3):
        shorter = ("SequenceErase", ["three", *position(k)], "shorter", {})
        m.add("ConcatFromSequence", "shorter", after=[three, shorter], axis=-2)
    first = ("SequenceInsert", ["none", b], "first", {})
    m.add("SequenceAt", "first", *position(-1), after=[("SequenceEmpty", [], "none", {}), first])
    for axis in (0, 1, -1, 2, -3):
        for stacks in ({}, dict(new_axis=1)):
            if axis in (2, -3) and not stacks:
                continue
            m.add("ConcatFromSequence", "alike", after=[alike], axis=axis, **stacks)
    x = m.f32(4, 5, 2)
    for axis, split, k in ((0, None, 3), (1, None, -1), (1, [2, 3], 0), (-2, [4, 1], 1),
                           (1, 2, 2), (0, 3, -1), (2, 1, 0), (-1, [2], 0)):
        given = [] if split is None else [drawn.Constant(split, np.int64)]
        for more in ({}, dict(keepdims=0)) if split is None else ({},):
            pieces = ("SplitToSequence", [x, *given], "pieces", dict(axis=axis, **more))
            m.add("SequenceAt", "pieces", *position(k), after=[pieces])
            m.add("SequenceLength", "pieces", after=[pieces])
    m.add("SequenceAt", "pieces", *position(1), after=[("SplitToSequence", [x], "pieces", {})])
    if m.opset > 16:
        body = graph("b (float[n, 2] u) => (float[n, 2] v) { v = Neg (u) }")
        both = graph("b (float[n, 2] u, float[n, 2] w) => (float[n, 2] v) { v = Sub (u, w) }")
        with_one = graph("b (float[n, 2] u, float[1, 2] w) => (float[n, 2] v) { v = Sub (u, w) }")
        reversed_ = ("SequenceConstruct", [d, a, d], "other", {})
        for inputs, before, g in ((["three"], [three], body), (["three", b], [three], with_one),
                                  (["alike", "other"], [alike, reversed_], both)):
            mapped = ("SequenceMap", inputs, "mapped", dict(body=g))
            m.add("ConcatFromSequence", "mapped", after=[*before, mapped], axis=0)
            m.add("SequenceAt", "mapped", *position(-1), after=[*before, mapped])


def recurrent(out):
    for name, forms, opsets in (("Recurrent", recurrences, (14,)), ("Signal", signals, (17, 20)),
                                ("Body", bodies, (16,)), ("FedBody", fed_bodies, (13,)),
                                ("Sequence", sequences, (17,))):
        for opset in opsets:
            m = drawn.Model(f"Drawn{name}{opset}", opset)
            forms(m)
            m.write(out)


CASES = (recurrent,)
