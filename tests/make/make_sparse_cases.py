#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of sparse features, with results by their definition in NumPy: Caffe2's operators on
lengths into tests/caffe2, torch's EmbeddingBag in both forms that are exported into tests/onnx.

  bench/setup                        once: a virtual environment with the peers
  tests/make/make_sparse_cases.py [--out FOLDER]
"""
import json
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import caffe2_net
import cli
import peers

np = peers.Module("numpy")
onnx, helper = peers.Module("onnx"), peers.Module("onnx.helper")
numpy_helper = peers.Module("onnx.numpy_helper")


# ---- definitions ---------------------------------------------------------------------------------

def fold(rows, lengths, kind="sum", weights=None, empty=0):
    """One row for each segment of so many rows; of a maximum of nothing: `empty`."""
    rows = np.asarray(rows, np.float64)
    if weights is not None:
        rows = rows * np.asarray(weights, np.float64).reshape(-1, *[1] * (rows.ndim - 1))
    parts = np.split(rows, np.cumsum(lengths))
    assert not len(parts.pop())
    function = dict(sum=lambda p: p.sum(0), max=lambda p: p.max(0) if len(p) else p.sum(0) + empty,
                    mean=lambda p: p.sum(0) / max(len(p), 1))[kind]
    return np.stack([function(p) for p in parts]).astype(np.float32)


def unpack(table, bits, tail):
    """Numbers of rows of small integers, low bits first, with scale and bias behind them."""
    size = tail.itemsize
    packed, ends = table[:, :-2 * size], np.ascontiguousarray(table[:, -2 * size:]).view(tail)
    each = 8 // bits
    q = np.stack([packed >> bits * k & (1 << bits) - 1 for k in range(each)], 2)
    return q.reshape(len(table), -1) * ends[:, :1].astype(np.float64) + ends[:, 1:]


def pack(rng, rows, width, bits, tail):
    q = rng.integers(0, 256, (rows, width * bits // 8)).astype(np.uint8)
    ends = np.stack([rng.uniform(.01, .1, rows), rng.uniform(-2, 0, rows)], 1).astype(tail)
    return np.concatenate([q, ends.view(np.uint8)], 1)


# ---- Caffe2 --------------------------------------------------------------------------------------

def save(path, array, name):
    path.write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def set_argument(op, name, v):
    a = op.arg.add(name=name)
    if isinstance(v, (list, tuple)):
        (a.floats if isinstance(v[0], float) else a.ints).extend(v)
    elif isinstance(v, str):
        a.s = v.encode()
    elif isinstance(v, float):
        a.f = v
    else:
        a.i = v


class Net:
    def __init__(self, name):
        self.net = caffe2_net.message("NetDef")(name=name)
        self.inputs, self.weights, self.results = {}, {}, {}

    def op(self, kind, inputs, output, result, **arguments):
        """result: one for each output, or of a single one itself. None: it is no output of the
        net."""
        outputs = output.split()
        op = self.net.op.add(type=kind, input=inputs.split(), output=outputs)
        for name, v in arguments.items():
            set_argument(op, name, v)
        self.results.update(zip(outputs, result if isinstance(result, tuple) else [result]))

    def write(self, out):
        data = out / "caffe2" / self.net.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        results = {k: v for k, v in self.results.items() if v is not None}
        self.net.external_input.extend(self.inputs)
        self.net.external_output.extend(results)
        caffe2_net.write(self.net, data.parent / "predict_net.pbtxt")
        caffe2_net.write(caffe2_net.fills(self.weights), data.parent / "init_net.pb")
        infos = {k: [helper.np_dtype_to_tensor_dtype(v.dtype), list(v.shape)]
                 for k, v in self.inputs.items()}
        (data.parent / "value_info.json").write_text(json.dumps(infos) + "\n")
        for i, (k, v) in enumerate(self.inputs.items()):
            save(data / f"input_{i}.pb", v, k)
        for i, (k, v) in enumerate(results.items()):
            save(data / f"output_{i}.pb", v, k)


LENGTHS = [2, 0, 4, 1]


def tables(out):
    rng = np.random.default_rng(1)
    c = Net("SparseLengths")
    table, cube = rng.standard_normal((9, 21)), rng.standard_normal((6, 2, 3))
    c.weights = dict(table=table.astype(np.float32))
    indices = rng.integers(0, 6, 7)
    weights = rng.standard_normal(7).astype(np.float32)
    c.inputs = dict(cube=cube.astype(np.float32), half=cube.astype(np.float16), indices=indices,
                    narrow=indices.astype(np.int32), lengths=np.int32(LENGTHS), weights=weights)
    table, cube, half = (v.astype(np.float64)[indices]
                         for v in (c.weights["table"], c.inputs["cube"], c.inputs["half"]))
    for kind in ("sum", "mean", "max"):
        name = f"SparseLengths{kind.title()}"
        c.op(name, "table indices lengths", f"table_{kind}", fold(table, LENGTHS, kind))
        c.op(name, "cube narrow lengths", f"cube_{kind}", fold(cube, LENGTHS, kind))
    c.op("SparseLengthsSum", "half narrow lengths", "half_sum", fold(half, LENGTHS))
    c.op("SparseLengthsWeightedSum", "table weights narrow lengths", "table_weighted",
         fold(table, LENGTHS, "sum", weights))
    c.op("EmbeddingBag", "table weights indices ends", "bag", fold(table, LENGTHS, "sum", weights),
         hasEndOffset=1)
    c.op("EmbeddingBag", "table weights indices starts", "bag_of_starts",
         fold(table, LENGTHS, "sum", weights))
    ends = np.cumsum([0, *LENGTHS])
    c.inputs.update(ends=ends, starts=ends[:-1])
    c.write(out)


def rows(out):
    rng = np.random.default_rng(2)
    c = Net("SparseLengthsRows")
    indices = rng.integers(0, 6, 7)
    weights = rng.standard_normal(7).astype(np.float32)
    c.inputs = dict(indices=indices.astype(np.int32), lengths=np.int32(LENGTHS), weights=weights)
    for bits, tail in ((8, np.dtype("<f4")), (4, np.dtype("<f2")), (2, np.dtype("<f2"))):
        table = c.inputs[f"rows{bits}"] = pack(rng, 6, 24, bits, tail)
        real = unpack(table, bits, tail)[indices]
        for kind in ("Sum", "Mean"):
            c.op(f"SparseLengths{kind}Fused{bits}BitRowwise", f"rows{bits} indices lengths",
                 f"{kind}{bits}", fold(real, LENGTHS, kind.lower()))
            c.op(f"SparseLengthsWeighted{kind}Fused{bits}BitRowwise",
                 f"rows{bits} weights indices lengths", f"weighted_{kind}{bits}",
                 fold(real, LENGTHS, kind.lower(), weights))
    plain = c.inputs["plain"] = rng.integers(0, 256, (6, 5)).astype(np.uint8)
    both = c.inputs["scales"] = np.stack(
        [rng.uniform(.01, .1, 6), rng.uniform(-2, 0, 6)], 1).astype(np.float32)
    real = (plain * both[:, :1].astype(np.float64) + both[:, 1:])[indices]
    for kind in ("Sum", "Mean"):
        c.op(f"SparseLengths{kind}8BitsRowwise", "plain indices lengths scales", f"{kind}_split",
             fold(real, LENGTHS, kind.lower()))
        c.op(f"SparseLengthsWeighted{kind}8BitsRowwise", "plain weights indices lengths scales",
             f"weighted_{kind}_split", fold(real, LENGTHS, kind.lower(), weights))
    c.write(out)


def lengths(out):
    rng = np.random.default_rng(3)
    c = Net("Lengths")
    line, cube = rng.standard_normal(7), rng.standard_normal((7, 3, 2))
    weights = rng.standard_normal(7).astype(np.float32)
    c.inputs = dict(line=line.astype(np.float32), cube=cube.astype(np.float32),
                    lengths=np.int32(LENGTHS),
                    weights=weights, to=np.array([3, 0, 3, 5, 1, 3, 8]),
                    like=np.zeros((11, 1), np.float32))
    c.weights = dict(known=np.array([3, 0, 3, 5, 1, 3, 8], np.int32))
    for name in ("line", "cube"):
        for kind in ("sum", "mean", "max"):
            c.op(f"Lengths{kind.title()}", f"{name} lengths", f"{name}_{kind}",
                 fold(c.inputs[name], LENGTHS, kind))
        c.op("LengthsWeightedSum", f"{name} weights lengths", f"{name}_weighted",
             fold(c.inputs[name], LENGTHS, "sum", weights))
    starts = np.cumsum([0, *LENGTHS[:-1]])
    c.op("LengthsToRanges", "lengths", "ranges", np.stack([starts, LENGTHS], 1).astype(np.int32))
    dense = np.zeros((11, 3, 2))
    np.add.at(dense, c.inputs["to"], c.inputs["cube"].astype(np.float64))
    c.op("SparseToDense", "to cube like", "dense", dense.astype(np.float32))
    c.op("SparseToDense", "known cube", "short", dense[:9].astype(np.float32))
    c.write(out)


def packed(rows, lengths, most=None, fill=0):
    """A row of places for each segment, and which of them hold one of its rows."""
    parts = np.split(rows, np.cumsum(lengths))[:-1]
    most = max(lengths) if most is None else most
    y = np.full((len(lengths), most, *rows.shape[1:]), fill, rows.dtype)
    for row, part in zip(y, parts):
        row[:len(part)] = part
    return y, np.arange(most) < np.array(lengths)[:, None]


def top_k(line, lengths, k):
    """The k largest of each segment with their places in it, the first of equals first."""
    values, places = np.zeros((len(lengths), k), np.float32), np.full((len(lengths), k), -1)
    for v, p, part in zip(values, places, np.split(line, np.cumsum(lengths))):
        order = sorted(range(len(part)), key=lambda i: (-part[i], i))[:k]
        v[:len(order)], p[:len(order)] = part[order], order
    return values, places.astype(np.int32)


def segments(out):
    """As many rows as lengths say."""
    rng = np.random.default_rng(8)
    c = Net("Segments")
    line, cube = (rng.integers(-9, 9, s).astype(np.float32) / 4 for s in (7, (7, 3, 2)))
    c.inputs = dict(line=line, cube=cube, whole=rng.integers(-9, 9, (7, 2)),
                    lengths=np.int32(LENGTHS), wide=np.int64(LENGTHS),
                    chosen=np.int32([2, 0, 2, 1, 3]), rows=rng.standard_normal((4, 5, 3)))
    rows = c.inputs["rows"] = c.inputs["rows"].astype(np.float32)
    c.op("PackSegments", "lengths cube", "cube_packed mask", packed(cube, LENGTHS),
         return_presence_mask=1)
    c.op("PackSegments", "wide line", "line_packed", packed(line, LENGTHS, fill=-np.inf)[0],
         pad_minf=1)
    c.op("PackSegments", "lengths whole", "whole_packed mask_of_6", packed(
        c.inputs["whole"], LENGTHS, 6), return_presence_mask=1, max_length=6)
    c.op("UnpackSegments", "wide cube_packed", "cube_again", cube)
    some = np.concatenate([r[:n] for r, n in zip(rows, LENGTHS)])
    c.op("UnpackSegments", "lengths rows", "unpacked", some)
    c.op("UnpackSegments", "long rows", "cut",
         np.concatenate([r[:n] for r, n in zip(rows, [7, 1, 0, 9])]), max_length=5)
    c.inputs["long"] = np.int32([7, 1, 0, 9])
    parts = np.split(cube, np.cumsum(LENGTHS))
    c.op("LengthsGather", "cube lengths chosen", "gathered",
         np.concatenate([parts[i] for i in c.inputs["chosen"]]))
    ranges = c.inputs["ranges"] = np.int32([[[1, 2], [0, 0], [0, 5]], [[6, 1], [9, 0], [2, 2]]])
    at = [np.arange(first, first + n) for first, n in ranges.reshape(-1, 2)]
    c.op("GatherRanges", "line ranges", "ranged counts",
         (line[np.concatenate(at)], ranges[:, :, 1].sum(1).astype(np.int32)))
    distinct, place = np.unique(c.inputs["chosen"], return_inverse=True)
    c.op("Unique", "chosen", "distinct place", (distinct, place.astype(np.int32)))
    for k in (1, 3, 9):
        c.op("LengthsTopK", "line lengths", f"top_{k} place_{k}", top_k(line, LENGTHS, k), k=k)
    c.write(out)


# ---- EmbeddingBag --------------------------------------------------------------------------------

def write_model(out, name, nodes, feeds, constants, results, domains):
    def info(k, v):
        return helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    graph = helper.make_graph(nodes, name, [info(*f) for f in feeds.items()],
                              [info(*r) for r in results.items()],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    data = out / "onnx" / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid(d, v) for d, v in domains.items()])
    onnx.save(model, data.parent / "model.onnx")
    for i, (k, v) in enumerate(feeds.items()):
        save(data / f"input_{i}.pb", v, k)
    for i, (k, v) in enumerate(results.items()):
        save(data / f"output_{i}.pb", v, k)


class Bags:
    """Bags of rows of one table: what the cases have in common."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.table = rng.standard_normal((9, 5)).astype(np.float32)
        self.feeds = dict(indices=rng.integers(0, 9, 7), starts=np.cumsum([0, *LENGTHS])[:-1],
                          ends=np.cumsum([0, *LENGTHS]).astype(np.int32),
                          weights=rng.standard_normal(7).astype(np.float32))
        self.rows = self.table.astype(np.float64)[self.feeds["indices"]]


def aten(out):
    """As torch.onnx exports it with OperatorExportTypes.ONNX_ATEN_FALLBACK."""
    b = Bags(4)
    nodes, results = [], {}

    def bag(name, result, inputs, mode, last=0, padding=-1):
        nodes.append(helper.make_node(
            "ATen", inputs, [name, f"{name}_of", f"{name}_sizes", f"{name}_most"],
            domain="org.pytorch.aten", operator="embedding_bag", overload_name="", mode=mode,
            include_last_offset=last, padding_idx=padding, scale_grad_by_freq=0, sparse=0))
        results[name] = result
    for mode, kind in enumerate(("sum", "mean", "max")):
        bag(kind, fold(b.rows, LENGTHS, kind), ["table", "indices", "starts"], mode)
        bag(f"{kind}_last", fold(b.rows, LENGTHS, kind), ["table", "indices", "ends"], mode, 1)
    bag("weighted", fold(b.rows, LENGTHS, "sum", b.feeds["weights"]),
        ["table", "indices", "starts", "weights"], 0)
    skipped = b.feeds["indices"][2]
    keep = b.feeds["indices"] != skipped
    left = [k.sum() for k in np.split(keep, np.cumsum(LENGTHS))[:-1]]
    bag("padded", fold(b.rows[keep], left, "mean"), ["table", "indices", "starts"], 1, 0,
        int(skipped))
    write_model(out, "EmbeddingBagATen", nodes, b.feeds, dict(table=b.table), results,
                {"": 17, "org.pytorch.aten": 1})


def gathered(out):
    """Bags of as many rows everywhere: a Gather and a reduction of an axis of its indices."""
    b = Bags(6)
    rng = np.random.default_rng(7)
    feeds = dict(line=rng.integers(-9, 9, 4), pairs=rng.integers(0, 9, (3, 4)).astype(np.int32),
                 cube=rng.integers(0, 9, (2, 3, 5)))
    nodes, results = [], {}
    for k, (name, indices) in enumerate(feeds.items()):
        rows, axis = b.table.astype(np.float64)[indices], indices.ndim - 1
        nodes.append(helper.make_node("Gather", ["table", name], [f"{name}_rows"]))
        for kind, function in (("Sum", np.sum), ("Mean", np.mean), ("Max", np.max)):
            keep = (k + len(kind)) % 2
            nodes += [helper.make_node("Gather", ["table", name], [f"{name}_{kind}_rows"]),
                      helper.make_node(f"Reduce{kind}", [f"{name}_{kind}_rows", f"axis{axis}"],
                                       [f"{name}_{kind}"], keepdims=keep)]
            results[f"{name}_{kind}"] = function(rows, axis, keepdims=bool(keep))
    # another axis, and rows that something else reads
    nodes += [helper.make_node("ReduceSum", ["cube_rows", "axis1"], ["across"]),
              helper.make_node("ReduceSum", ["line_rows", "axis0"], ["total"]),
              helper.make_node("Neg", ["line_rows"], ["others"])]
    rows = b.table.astype(np.float64)
    results.update(across=rows[feeds["cube"]].sum(1, keepdims=True),
                   total=rows[feeds["line"]].sum(0, keepdims=True), others=-rows[feeds["line"]])
    results = {k: v.astype(np.float32) for k, v in results.items()}
    axes = {f"axis{k}": np.array([k]) for k in range(3)}
    write_model(out, "EmbeddingBagGathered", nodes, feeds, dict(table=b.table, **axes), results,
                {"": 18})


def body_of(kind, is_weighted, last, inner=None):
    """A bag as a step of a Loop. As of opset 13 axes are inputs of Unsqueeze and ReduceSum. inner:
    constants that are made inside."""
    def slice_of(what):
        return helper.make_node("Slice", [what, "first", "end", "zero"], [f"{what}_here"])
    nodes = [helper.make_node("Constant", [], [k], value=numpy_helper.from_array(v))
             for k, v in (inner or {}).items()]
    nodes += [helper.make_node("Gather", [bounds, "i"], [f"{to}_0"], axis=0)
             for bounds, to in ((f"{last}_first", "first"), (f"{last}_end", "end"))]
    nodes += [helper.make_node("Unsqueeze", [f"{to}_0", "zero"], [to]) for to in ("first", "end")]
    nodes += [slice_of("indices"),
              helper.make_node("Gather", ["table", "indices_here"], ["found"], axis=0)]
    found = "found"
    if is_weighted:
        nodes += [slice_of("weights"),
                  helper.make_node("Unsqueeze", ["weights_here", "one"], ["w"]),
                  helper.make_node("Mul", ["found", "w"], ["scaled"])]
        found = "scaled"
    axes = dict(inputs=[found, "zero"]) if kind == "Sum" else dict(inputs=[found], axes=[0])
    nodes += [helper.make_node(f"Reduce{kind}", outputs=["row"], keepdims=0, **axes),
              helper.make_node("Cast", ["true"], ["sure" if inner else "on"],
                               to=onnx.TensorProto.BOOL)]
    if inner:
        nodes.append(helper.make_node("Identity", ["sure"], ["on"]))
    return helper.make_graph(
        nodes, "bag", [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
                       helper.make_tensor_value_info("cond", onnx.TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("on", onnx.TensorProto.BOOL, []),
         helper.make_tensor_value_info("row", onnx.TensorProto.FLOAT, None)])


def loops(out, name="EmbeddingBagLoop", inner=()):
    """As torch.onnx exports it from opset 11 on: one iteration for each bag. inner: constants that
    are in the bodies, which read the others from outside."""
    b = Bags(5)
    b.feeds["ends"] = b.feeds["ends"].astype(np.int64)
    most = np.int64(2**63 - 1)
    constants = dict(table=b.table, zero=np.array([0]), one=np.array([1]), most=np.array([most]),
                     true=np.array(True), nothing=np.int64(0),
                     fixed=b.feeds["ends"])
    nodes = [helper.make_node("Shape", ["indices"], ["shape"]),
             helper.make_node("Gather", ["shape", "nothing"], ["n"], axis=0),
             helper.make_node("Unsqueeze", ["n", "zero"], ["count"]),
             helper.make_node("Concat", ["starts", "count"], ["joined"], axis=0)]
    for bounds in ("joined", "ends", "fixed"):
        nodes += [helper.make_node("Slice", [bounds, begin, "most", "zero", "one"],
                                   [f"{bounds}_{y}"])
                  for begin, y in (("zero", "first"), ("one", "end"))]
        nodes += [helper.make_node("Shape", [f"{bounds}_end"], [f"{bounds}_shape"]),
                  helper.make_node("Gather", [f"{bounds}_shape", "nothing"], [f"{bounds}_n"],
                                   axis=0)]
    results = {}
    cases = [("sum", "Sum", False, "joined"), ("mean", "Mean", False, "ends"),
             ("max", "Max", False, "fixed"), ("weighted", "Sum", True, "ends"),
             ("weighted_mean", "Mean", True, "fixed")]
    for y, kind, is_weighted, bounds in cases:
        nodes.append(helper.make_node("Loop", [f"{bounds}_n", "true"], [y],
                                      body=body_of(kind, is_weighted, bounds,
                                                   {k: constants[k] for k in inner})))
        results[y] = fold(b.rows, LENGTHS, kind.lower(),
                          b.feeds["weights"] if is_weighted else None, -np.inf)
    write_model(out, name, nodes, b.feeds, constants, results, {"": 17})


def loops_with_constants(out):
    loops(out, "EmbeddingBagLoopConstants", ["zero", "one", "true"])


if __name__ == "__main__":
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests", metavar="FOLDER")
    options = parser.parse_args()
    peers.need("numpy", "onnx", "google.protobuf")
    for make in (tables, rows, lengths, segments, aten, loops, gathered, loops_with_constants):
        make(options.out)
