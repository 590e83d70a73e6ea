#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How close Wick's integer operators come to ONNX Runtime's, layer by layer.

Every quantised layer of a model (the nodes between quantised tensors) becomes a model of its own.
ONNX Runtime, its optimisations off, runs the whole model on the stored inputs; each layer is fed
the tensors that it computed, and Wick's result is compared with its own, in steps of the quantised
output.

  bench/setup                                   once: a virtual environment with the peers
  bench/integer_fidelity.py MODEL… [--target eval|cpu] [--verbose] [--levels]

MODEL is a folder with model.onnx and test_data_set_0/input_K.pb, or a file, whose inputs are then
random. --levels compares ONNX Runtime at each of its optimisation levels and Wick, every one with
every other: mean and greatest difference of the network's outputs in steps; then, layer by layer
and fed alike, the shares that are equal. Exit status 1 when a bound is missed: convolutions and
products at least 99.99 % equal, others 99.5 %, nothing off by more than one step.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")
# Which input is the zero point of the result: its type is the result's.
SCALED = {"QLinearConv": 7, "QLinearMatMul": 7, "QGemm": 8, "QLinearAdd": 7, "QLinearMul": 7,
          "QLinearConcat": 1, "QLinearGlobalAveragePool": 4, "QLinearAveragePool": 4,
          "QLinearSigmoid": 4, "QLinearLeakyRelu": 4, "QLinearSoftmax": 4}
MOVES = {"MaxPool", "Reshape", "Flatten", "Transpose", "Concat", "Resize", "Gather", "Slice"}
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "QLinearConv", "QLinearMatMul", "QGemm"}
BOUNDS = {"product": 0.9999, "other": 0.995}


def quantised(node):
    return node.op_type == "QuantizeLinear" or node.op_type in SCALED


def constants(graph):
    names = {t.name for t in graph.initializer}
    names |= {n.output[0] for n in graph.node if n.op_type == "Constant"}
    return names


def layer_of(node, producers, fixed):
    """Nodes that make the node's result from quantised tensors; None when they reach a real one."""
    nodes, leaves, todo = [], [], [node]
    seen = set()
    while todo:
        at = todo.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        nodes.append(at)
        for name in at.input:
            if not name or name in fixed:
                continue
            made = producers.get(name)
            if at.op_type == "DequantizeLinear" or at.op_type in SCALED:
                if name not in leaves:
                    leaves.append(name)
            elif made is None or quantised(made):
                return None
            else:
                todo.append(made)
    return nodes, leaves


def kind_of(nodes):
    ops = {n.op_type for n in nodes}
    return "product" if ops & PRODUCTS else "other"


def extract(model, nodes, leaves, values, output):
    graph = model.graph
    used = {name for n in nodes for name in n.input}
    ordered = [n for n in graph.node if any(n is m for m in nodes)]
    ordered = [n for n in graph.node if n.op_type == "Constant" and n.output[0] in used] + ordered

    def info(name):
        dtype = helper.np_dtype_to_tensor_dtype(values[name].dtype)
        return helper.make_tensor_value_info(name, dtype, values[name].shape)

    weights = [t for t in graph.initializer if t.name in used]
    body = helper.make_graph(ordered, "layer", [info(n) for n in leaves], [info(output)], weights)
    return helper.make_model(body, opset_imports=model.opset_import, ir_version=model.ir_version)


def element_types(graph):
    """Element type of every quantised tensor, and of what movement makes of one."""
    types = {t.name: t.data_type for t in graph.initializer}
    for n in graph.node:
        if n.op_type == "QuantizeLinear":
            zero = n.input[2] if len(n.input) > 2 else ""
            types[n.output[0]] = types.get(zero, onnx.TensorProto.UINT8)
        elif n.op_type in SCALED:
            types[n.output[0]] = types[n.input[SCALED[n.op_type]]]
        elif n.op_type in MOVES and n.input[0] in types:
            types[n.output[0]] = types[n.input[0]]
    return types


def mend_axes(graph):
    """ONNX Runtime's quantiser writes axis 0 for biases [1,n] with n scales, which it then refuses
    unfused."""
    shapes = {t.name: list(t.dims) for t in graph.initializer}
    for n in graph.node:
        if n.op_type != "DequantizeLinear" or n.input[0] not in shapes or n.input[1] not in shapes:
            continue
        x, scale = shapes[n.input[0]], shapes[n.input[1]]
        for a in n.attribute:
            if a.name == "axis" and len(scale) == 1 and x[a.i] != scale[0] and scale[0] in x:
                a.i = x.index(scale[0])


def reference(model, feeds):
    """All quantised tensors, as ONNX Runtime computes them without fusing anything."""
    mend_axes(model.graph)
    types = element_types(model.graph)
    present = {o.name for o in model.graph.output}
    for n in model.graph.node:
        name = n.output[0]
        if name in types and name not in present:
            model.graph.output.append(helper.make_tensor_value_info(name, types[name], None))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def run_wick(folder, model, leaves, values, target):
    onnx.save(model, folder / "layer.onnx")
    command = [str(cli.wick()), "run", str(folder / "layer.onnx"), "--target", target,
               "--output-dir", str(folder / "out")]
    for i, name in enumerate(leaves):
        np.save(folder / f"in{i}.npy", values[name])
        command += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    files = list((folder / "out").glob("*.npy"))
    result = np.load(files[0])
    for f in files:
        f.unlink()
    return result


def load(path):
    """The model and its inputs: stored ones, or random ones for a file by itself."""
    is_file = path.suffix == ".onnx"
    model = onnx.load(path if is_file else path / "model.onnx")
    fixed, feeds, rng = constants(model.graph), {}, np.random.default_rng(1)
    for i, v in enumerate([v for v in model.graph.input if v.name not in fixed]):
        if is_file:
            shape = [d.dim_value for d in v.type.tensor_type.shape.dim]
            feeds[v.name] = rng.standard_normal(shape).astype("f4")
            continue
        tensor = onnx.TensorProto()
        tensor.ParseFromString((path / f"test_data_set_0/input_{i}.pb").read_bytes())
        feeds[v.name] = numpy_helper.to_array(tensor)
    return model, feeds


LEVELS = ["DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"]


def output_steps(model):
    """The scale of the first output, when it is a quantised tensor made real again; else 1."""
    producers = {o: n for n in model.graph.node for o in n.output}
    made = producers.get(model.graph.output[0].name)
    while made is not None and made.op_type in MOVES | {"Identity"}:
        made = producers.get(made.input[0])
    values = {t.name: t for t in model.graph.initializer}
    if made is None or made.op_type != "DequantizeLinear":
        return 1.0
    return float(np.max(numpy_helper.to_array(values[made.input[1]])))


def run_level(model, feeds, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feeds)[0]


def layers_of(model, values):
    """Every quantised layer as a model of its own: name, model, leaves."""
    fixed, producers = constants(model.graph), {o: n for n in model.graph.node for o in n.output}
    for node in model.graph.node:
        found = layer_of(node, producers, fixed) if quantised(node) else None
        if found and found[1] and all(n in values for n in found[1]):
            yield node.output[0], extract(model, *found, values, node.output[0]), found[1]


def compare_layers(model, feeds, target):
    values = reference(model, feeds)
    values.update(feeds)
    pairs = {("unfused", "fused"): [], ("unfused", "Wick"): [], ("fused", "Wick"): []}
    for name, layer, leaves in layers_of(model, values):
        fused = run_level(layer, {n: values[n] for n in leaves}, "ENABLE_ALL")
        got = {"unfused": values[name], "fused": fused}
        with tempfile.TemporaryDirectory() as folder:
            got["Wick"] = run_wick(pathlib.Path(folder), layer, leaves, values, target)
        for a, b in pairs:
            off = np.abs(got[a].astype(int) - got[b].astype(int))
            pairs[a, b].append((name, off.size, int((off > 0).sum()), int(off.max(initial=0))))
    for (a, b), rows in pairs.items():
        total, differ = sum(r[1] for r in rows), sum(r[2] for r in rows)
        first = next((f"{r[0]} ({r[2]} of {r[1]})" for r in rows if r[2]), "none")
        print(f"  layers, {a:7} - {b:5}: {1 - differ / total:9.4%} equal, "
              f"worst {max(r[3] for r in rows)}, first: {first}", flush=True)


def compare_levels(path, target):
    model, feeds = load(path)
    mend_axes(model.graph)
    step = output_steps(model)
    results = {level: run_level(model, feeds, level).astype("f8") / step for level in LEVELS}
    with tempfile.TemporaryDirectory() as folder:
        ours = run_wick(pathlib.Path(folder), model, list(feeds), feeds, target)
    results["Wick"] = ours.astype("f8") / step
    print(f"{path.name}: mean / greatest difference, steps")
    print(f"  {'':16}" + "".join(f"{n:>18}" for n in results))
    for a in results:
        row = [np.abs(results[a] - results[b]) for b in results]
        print(f"  {a:16}" + "".join(f"{d.mean():11.2f} / {d.max():4.0f}" for d in row), flush=True)
    compare_layers(model, feeds, target)
    return True


def check(path, target, verbose):
    model, feeds = load(path)
    fixed = constants(model.graph)
    values = reference(model, feeds)
    values.update(feeds)
    producers = {o: n for n in model.graph.node for o in n.output}
    total, equal, worst, layers, skipped = (collections.Counter() for _ in range(5))
    for node in model.graph.node:
        if not quantised(node):
            continue
        found = layer_of(node, producers, fixed)
        output = node.output[0]
        if not found or any(n not in values for n in found[1]) or not found[1]:
            skipped["real operand"] += 1
            continue
        nodes, leaves = found
        with tempfile.TemporaryDirectory() as folder:
            layer = extract(model, nodes, leaves, values, output)
            got = run_wick(pathlib.Path(folder), layer, leaves, values, target)
        off = np.abs(got.astype(int) - values[output].astype(int))
        kind = kind_of(nodes)
        total[kind] += off.size
        equal[kind] += int((off == 0).sum())
        worst[kind] = max(worst[kind], int(off.max(initial=0)))
        layers[kind] += 1
        if verbose:
            ops = "+".join(n.op_type for n in reversed(nodes)
                           if "quantizelinear" not in n.op_type.lower())
            print(f"  {(off == 0).mean():9.4%} equal, worst {off.max(initial=0)}  {ops}  {output}")
    good = True
    for kind, bound in BOUNDS.items():
        if total[kind]:
            share = equal[kind] / total[kind]
            fits = share >= bound and worst[kind] <= 1
            good &= fits
            print(f"{path.name:24} {kind:8} {layers[kind]:4} layers  {share:9.4%} equal  "
                  f"worst {worst[kind]} step(s){'' if fits else '   MISSED'}")
    if skipped:
        print(f"{path.name:24} {sum(skipped.values())} layers with real operands left out")
    return good


def main():
    parser = cli.options(__doc__)
    parser.add_argument("folders", metavar="MODEL", nargs="+", type=pathlib.Path)
    parser.add_argument("--target", default="eval", choices=["eval", "cpu"])
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--levels", action="store_true")
    args = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    cli.wick()
    if args.levels:
        return 0 if all([compare_levels(f, args.target) for f in args.folders]) else 1
    return 0 if all([check(f, args.target, args.verbose) for f in args.folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
