#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: forms of Gradient of ai.onnx.preview.training, with derivatives by NumPy: the
imaginary part of a function beside its argument, a step of 1e-30 away, which no rounding disturbs.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_gradient_cases.py [--out FOLDER]
"""
import functools
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import make_standard_cases as standard
import peers

np, onnx = peers.Module("numpy"), peers.Module("onnx")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")
TRAINING = "ai.onnx.preview.training"


@functools.cache
def rng():
    return np.random.default_rng(7)


def real(*shape, dtype="float32"):
    return rng().standard_normal(shape).astype(dtype)


def derivative(f, k, *at):
    """Of the sum of f's elements with respect to argument k."""
    at = [np.asarray(x, complex if i == k else None) for i, x in enumerate(at)]
    out = np.zeros(at[k].shape)
    for i in np.ndindex(out.shape):
        near = [x.copy() for x in at]
        near[k][i] += 1e-30j
        out[i] = np.sum(f(*near)).imag / 1e-30
    return out


def node(op, inputs, outputs, domain="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=outputs.split()[0],
                            domain=domain, **attributes)


def gradient(inputs, outputs, xs, y, zs=None):
    """An output "-" is left out."""
    more = dict(zs=zs.split()) if zs else {}
    outputs = ["" if o == "-" else o for o in outputs.split()]
    return helper.make_node("Gradient", inputs.split(), outputs, name=outputs[-1],
                            domain=TRAINING, xs=xs.split(), y=y, **more)


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


def write(out, name, nodes, feeds, results, constants=None, functions=()):
    results = {k: np.asarray(v, t) for k, (v, t) in results.items()}
    graph = helper.make_graph(
        nodes, name, [info(k, v) for k, v in feeds.items()],
        [info(k, v) for k, v in results.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    opsets += [helper.make_opsetid("local", 1)] * bool(functions)
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets, functions=functions)
    data = out / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    for i, (key, value) in enumerate(feeds.items()):
        standard.save(data / f"input_{i}.pb", np.asarray(value), key)
    for i, (key, value) in enumerate(results.items()):
        standard.save(data / f"output_{i}.pb", value, key)


def values(out):
    """Those of the tensors that are named and others, of another shape too; nodes in any order; of
    what is computed from weights alone; outputs that are left out."""
    def h(x, w):
        return np.tanh(x @ w)

    def y(x, w, z):
        return h(x, w) @ z

    x, w, z = real(3, 4), real(4, 2), real(2, 3)
    h1, z1 = real(5, 2), real(2, 3)
    nodes = [gradient("w z x", "dw dz", "w z", "y", "x"),
             gradient("h z", "- dz_again", "h z", "y"),
             gradient("h1 z1", "dh1 dz1", "h z", "y"),
             gradient("w", "dsquares", "w", "squares"),
             node("MatMul", "x w", "xw"), node("Tanh", "xw", "h"), node("MatMul", "h z", "y"),
             node("Mul", "w w", "squares")]
    t = np.float32
    write(out, "GradientValues", nodes, dict(x=x, z=z, h1=h1, z1=z1), {
        "dw": (derivative(y, 1, x, w, z), t), "dz": (derivative(y, 2, x, w, z), t),
        "dz_again": (derivative(y, 2, x, w, z), t),
        "dh1": (derivative(np.matmul, 0, h1, z1), t), "dz1": (derivative(np.matmul, 1, h1, z1), t),
        "dsquares": (2 * w, t)}, dict(w=w))


def orders(out):
    """Derivatives of derivatives, in f64."""
    def weighted(x, w, l):
        return np.exp(x @ w) * l

    def first(x, w, l):
        return x.T @ weighted(x, w, l)

    def second(x, w, l):
        return x.T @ (x.sum(1, keepdims=True) * weighted(x, w, l))

    at = x, w, l = [real(*s, dtype="float64") / 2 for s in ((3, 4), (4, 2), (3, 2))]
    nodes = [node("MatMul", "x w", "xw"), node("Exp", "xw", "e"), node("Mul", "e l", "el"),
             node("ReduceSum", "el", "o", keepdims=0),
             gradient("x w l", "dx dw", "x w", "o", "l"),
             gradient("x w l", "dw_dx dw_dw", "x w", "dw", "l"),
             gradient("w x l", "third", "w", "dw_dw", "x l")]
    t = np.float64
    write(out, "GradientOrders", nodes, dict(x=x, w=w, l=l), {
        "o": (weighted(*at).sum(), t),
        "dx": (derivative(weighted, 0, *at), t), "dw": (first(*at), t),
        "dw_dx": (derivative(first, 0, *at), t), "dw_dw": (second(*at), t),
        "third": (derivative(second, 1, *at), t)})


def bodies(out):
    """In a branch, of what is outside and inside; of a branch and of a loop; in a loop, which
    descends."""
    def f(x, w):
        return np.sin(x @ w) @ w.T

    x, w, c = real(2, 3), real(3, 4), np.array(True)
    t = np.float32

    def branch(name, last):
        return helper.make_graph(
            [node("Transpose", "w", f"{name}_t"), node("MatMul", f"s {name}_t", f"{name}_y"),
             gradient("x w", f"{name}_dx {name}_dw", "x w", f"{name}_y"),
             node(last, f"{name}_dw", f"{name}_out")], name, [],
            [helper.make_empty_tensor_value_info(k) for k in (f"{name}_out", f"{name}_y")])

    def untyped(*names):
        return [helper.make_empty_tensor_value_info(k) for k in names]

    flags = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
             helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, [])]
    state = [info("v", w)]
    power = helper.make_graph([node("Tanh", "v", "tanh_v"), node("Mul", "tanh_v w", "next"),
                               node("Identity", "go", "goes")], "power", flags + state,
                              untyped("goes", "next"))
    descent = helper.make_graph(
        [node("MatMul", "x v", "xv"), node("Sub", "xv goal", "error"),
         node("Mul", "error error", "loss"), gradient("v x goal", "dv", "v", "loss", "x goal"),
         node("Mul", "dv rate", "change"), node("Sub", "v change", "next"),
         node("Identity", "go", "goes")], "descent", flags + state, untyped("goes", "next"))
    nodes = [node("MatMul", "x w", "xw"), node("Sin", "xw", "s"),
             node("If", "c", "chosen chosen_y", then_branch=branch("yes", "Neg"),
                  else_branch=branch("no", "Abs")),
             gradient("x w c", "dchosen_x", "x w", "chosen_y", "c"),
             node("Loop", "three c w", "powered", body=power),
             gradient("w c", "dpowered", "w", "powered", "c"),
             node("Loop", "three c w", "descended", body=descent)]

    def powered(w):
        return np.tanh(np.tanh(np.tanh(w) * w) * w) * w

    goal, fitted = real(2, 4), w.astype(np.float64)
    for _ in range(3):
        fitted = fitted - .1 * (2 * x.T @ (x @ fitted - goal))
    write(out, "GradientBodies", nodes, dict(x=x, w=w, c=c, goal=goal), {
        "chosen": (-derivative(f, 1, x, w), t), "dchosen_x": (derivative(f, 0, x, w), t),
        "dpowered": (derivative(powered, 0, w), t), "descended": (fitted, t)},
        dict(three=np.int64(3), rate=np.float32(.1)))


def functions(out):
    """In a function of the model, which is called twice, and of what it computes."""
    def f(x, w):
        return np.cos(x * w) * w

    x, w, v = real(2, 3), real(3), real(3)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    function = helper.make_function(
        "local", "Wave", ["a", "b"], ["y", "db"],
        [node("Mul", "a b", "ab"), node("Cos", "ab", "cos"), node("Mul", "cos b", "y"),
         gradient("b a", "db", "b", "y", "a")], opsets)
    nodes = [node("Wave", "x w", "y dw", "local"), node("Wave", "x v", "z dv", "local"),
             gradient("x w", "dx", "x w", "y"), gradient("w x", "ddw", "w", "dw", "x")]
    t = np.float32

    def first(x, w):  # the sum over rows of f's derivative by w
        return (np.cos(x * w) - np.sin(x * w) * x * w).sum(0)

    write(out, "GradientFunction", nodes, dict(x=x, w=w), {
        "y": (f(x, w), t), "dw": (derivative(f, 1, x, w), t), "dv": (derivative(f, 1, x, v), t),
        "dx": (derivative(f, 0, x, w), t), "ddw": (derivative(first, 1, x, w), t)},
        dict(v=v), [function])


def integers(out):
    """Among zs, some of them known; a derivative that is 0 because nothing but integers leads to
    it."""
    x, i = real(3, 4), np.array([2, 0, 2])
    nodes = [node("Gather", "x i", "rows"), node("Reshape", "rows shape", "flat"),
             node("Mul", "flat flat", "y"),
             gradient("x i shape", "dx", "x", "y", "i shape"),
             node("Floor", "x", "floor"), node("Mul", "floor k", "steps"),
             gradient("x k", "dzero dk", "x k", "steps")]
    counts = np.array([[1], [0], [2]])
    write(out, "GradientIntegers", nodes, dict(x=x, i=i, k=real(4)), {
        "dx": (2 * x * counts, np.float32), "dzero": (0 * x, np.float32),
        "dk": (np.floor(x).sum(0), np.float32)}, dict(shape=np.array([2, 6])))


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    out = parser.parse_args().out
    peers.need("numpy", "onnx")
    for cases in (values, orders, bodies, functions, integers):
        cases(out)


if __name__ == "__main__":
    main()
