#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: corners of standard operators, with the results of ONNX's reference evaluator,
and of ONNX Runtime where that evaluator is wrong (norms of order 1 without absolute values).

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_standard_cases.py [--out FOLDER]
"""
import functools
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


@functools.cache
def rng():
    return np.random.default_rng(4)


def f32(*shape):
    return rng().standard_normal(shape).astype(np.float32)


def save(path, array, name):
    path.write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def reference(model, outputs, feeds):
    with np.errstate(all="ignore"):
        return peers.Module("onnx.reference").ReferenceEvaluator(model).run(outputs, feeds)


def runtime(model, outputs, feeds):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(outputs, feeds)


def write(out, name, opset, nodes, feeds, constants=None, oracle=reference):
    """A model of nodes, each (operator, inputs, output, attributes); what no node reads is an
    output of the model."""
    read = {k for _, inputs, _, _ in nodes for k in inputs}
    outputs = [y for _, _, y, _ in nodes if y not in read]
    made = [helper.make_node(op, inputs, [y], name=y, **more) for op, inputs, y, more in nodes]
    infos = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
             for k, v in feeds.items()]
    results = [helper.make_empty_tensor_value_info(y) for y in outputs]
    constants = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(made, name, infos, results, constants)
    model = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]))
    del model.graph.value_info[:]
    data = out / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    for i, (key, value) in enumerate(feeds.items()):
        save(data / f"input_{i}.pb", value, key)
    for i, (key, value) in enumerate(zip(outputs, oracle(model, outputs, feeds))):
        save(data / f"output_{i}.pb", np.asarray(value), key)


def empty_reductions(out):
    kinds = ["Sum", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare", "Mean"]
    nodes = [(f"Reduce{k}", ["x", "middle"], f"real_{k}", dict(keepdims=i % 2))
             for i, k in enumerate(kinds)]
    for t in ("i8", "i64"):
        nodes += [(f"Reduce{k}", [t, "first"], f"{t}_{k}", dict(keepdims=1 - i % 2))
                  for i, k in enumerate(["Sum", "Prod", "Max", "Min"])
                  if t == "i64" or k in ("Max", "Min")]
    nodes += [("ReduceMax", ["b", "first"], "b_Max", {}),
              ("ReduceMin", ["b", "first"], "b_Min", {})]
    # with something before, after and beside that a compiler takes into the same loops
    nodes += [("Mul", ["x", "x"], "squares", {}), ("ReduceMax", ["squares", "middle"], "top", {}),
              ("Neg", ["top"], "after", {}), ("Add", ["y", "top"], "beside", {}),
              ("ReduceSum", ["x", "all"], "everything", dict(keepdims=0)),
              ("Exp", ["everything"], "one", {})]
    write(out, "ReduceNothing", 20, nodes,
          dict(x=np.zeros((2, 0, 4), np.float32), y=f32(2, 3, 4), i8=np.zeros((0, 3), np.int8),
               i64=np.zeros((0, 3), np.int64), b=np.zeros((0, 3), bool)),
          dict(middle=np.array([1]), first=np.array([0]), all=np.array([0, 1, 2])))


def inverse_dft(out):
    attributes = dict(inverse=1, onesided=1)
    feeds = dict(x=f32(2, 6, 3, 2))
    constants = dict(nine=np.int64(9), fourteen=np.int64(14), one=np.int64(1), minus3=np.int64(-3))
    lengths = [("", "even"), ("nine", "odd"), ("fourteen", "padded")]
    write(out, "DFTInverseOneSided17", 17,
          [("DFT", ["x", n] if n else ["x"], y, dict(attributes, axis=1)) for n, y in lengths],
          feeds, {k: constants[k] for k in ("nine", "fourteen")})
    write(out, "DFTInverseOneSided20", 20,
          [("DFT", ["x", n, axis], y, attributes)
           for (n, y), axis in zip(lengths, ("one", "minus3", "one"))],
          feeds, constants)


def lp_norms(out):
    x = f32(3, 4, 2)
    x[:, 1] = 0
    x[2] = 0
    write(out, "LpNormalizationZeros", 18,
          [("LpNormalization", ["x"], f"p{p}_{axis + 1}", dict(p=p, axis=axis))
           for p in (1, 2) for axis in (-1, 1)],
          dict(x=x), oracle=runtime)


def half_scales(out):
    """Scales of half precision, constants or not; powers of two, so that the steps are the same in
    every precision."""
    h = np.float16
    a = dict(a=rng().integers(0, 256, (2, 3, 8)).astype(np.uint8),
             b=rng().integers(-128, 128, (2, 8, 4)).astype(np.int8))
    parameters = dict(sa=h(1 / 64), za=np.uint8(113), sb=h(1 / 128), zb=np.int8(-3), sy=h(1 / 16),
                      zy=np.uint8(118))
    node = [("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], "y", {})]
    write(out, "QLinearMatMulHalf", 21, node, a, parameters)
    write(out, "QLinearMatMulHalfInputs", 21, node, {**a, **parameters})


def opset_28(out):
    """What opsets 25 to 28 changed beside the types."""
    a = np.array([-128, -7, -1, 0, 5, 127, -100, 64], np.int8)
    amounts = np.array([1, 3, 7, 2, 8, -1, 100, 1], np.int8)
    left = np.array([5.5, -5.5, 5.5, -5.5, 0.0, -0.0, np.inf, 3, -3, 3, np.nan], np.float32)
    right = np.array([3, 3, -3, -3, -2, 2, 2, np.inf, np.inf, 0, 2], np.float32)
    nodes = [("BitShift", ["a", "amounts"], "shifted_right", dict(direction="RIGHT")),
             ("BitShift", ["a", "amounts"], "shifted_left", dict(direction="LEFT")),
             ("Mod", ["left", "right"], "floored", {}),
             ("Mod", ["left", "right"], "truncated", dict(fmod=1)),
             ("Mod", ["a", "seven"], "a_floored", {}),
             ("Mod", ["a", "seven"], "a_truncated", dict(fmod=1)),
             ("SpaceToDepth", ["x"], "dcr", dict(blocksize=2)),
             ("SpaceToDepth", ["x"], "crd", dict(blocksize=2, mode="CRD")),
             ("SwiGLU", ["gate", "x"], "swi_glu", {}),
             ("SwiGLU", ["gate", "x"], "swi_glu_alpha", dict(alpha=1.702)),
             ("Range", ["first", "limit", "step"], "halves", {}),
             ("Range", ["first", "limit", "step"], "halves_in_f64", dict(stash_type=11))]
    write(out, "Opset28", 28, nodes,
          dict(a=a, amounts=amounts, left=left, right=right, x=f32(2, 3, 4, 6),
               gate=f32(2, 3, 4, 6)),
          dict(seven=np.int8(7), first=np.float16(0.1), limit=np.float16(9), step=np.float16(0.3)))


def narrow_types(out):
    """Elements of fewer than 8 bits and floats of 8: conversion, bits, quantisation by blocks."""
    T = onnx.TensorProto
    floats = ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1",
              "FLOAT6E2M3", "FLOAT6E3M2"]
    ints = ["INT4", "UINT4", "INT2", "UINT2"]
    x = np.concatenate([np.array([0, 0.26, -0.3, 1.5, -2.49, 2.5, 5.1, -7, 447, -500, 1e6, np.inf,
                                  -np.inf, np.nan, 1e-5, 61440, 464, 248], np.float32),
                        f32(30) * 40])
    nodes = []
    for t in floats:
        nodes += [("Cast", ["x"], t, dict(to=getattr(T, t))),
                  ("Cast", [t], f"from_{t}", dict(to=1))]
    for t in floats[:4]:
        nodes += [("Cast", ["x"], f"{t}_past", dict(to=getattr(T, t), saturate=0)),
                  ("Cast", [f"{t}_past"], f"from_{t}_past", dict(to=T.FLOAT16))]
    for t in ints:
        nodes += [("Cast", ["i"], t, dict(to=getattr(T, t))),
                  ("Cast", [t], f"from_{t}", dict(to=6))]
    for t, by in (("UINT8", "UINT4"), ("INT8", "FLOAT8E4M3FN"), ("INT8", "INT4")):
        nodes += [("Cast", ["i"], f"{t}_{by}", dict(to=getattr(T, t))),
                  ("Cast", [f"{t}_{by}"], f"{t}_by_{by}", dict(to=getattr(T, by))),
                  ("Cast", [f"{t}_by_{by}"], f"{t}_past_{by}", dict(to=getattr(T, t)))]
    nodes += [("Cast", ["up"], "scale", dict(to=T.FLOAT8E8M0)),
              ("Cast", ["scale"], "power", dict(to=1)),
              ("BitCast", ["x"], "bits", dict(to=T.UINT32)),
              ("BitCast", ["i"], "unsigned", dict(to=T.UINT32))]
    finite = x[np.isfinite(x)]
    write(out, "NarrowCasts", 28, nodes,
          dict(x=x, i=np.arange(-20, 40, dtype=np.int32), up=np.abs(finite[finite != 0])))
    rows, wide = f32(6, 10) * 3, {"axis": 1, "block_size": 4}
    scales = np.abs(f32(6, 3)) + np.float32(0.2)
    nodes = []
    for t in ints[:2] + floats[:1] + floats[4:5]:
        number = dict(output_dtype=getattr(T, t))
        nodes += [("QuantizeLinear", ["rows", "scales"], t, {**wide, **number}),
                  ("DequantizeLinear", [t, "scales"], f"back_{t}", wide),
                  ("Transpose", [t], f"turned_{t}", dict(perm=[1, 0])),
                  ("Cast", [f"turned_{t}"], f"columns_{t}", dict(to=1))]
    line = dict(axis=-1, block_size=4)
    nodes += [("QuantizeLinear", ["line", "few"], "line_UINT4", {**line, "output_dtype": T.UINT4}),
              ("DequantizeLinear", ["line_UINT4", "few"], "back_line", line)]
    write(out, "NarrowBlocks", 28, nodes, dict(rows=rows, line=rows[0]),
          dict(scales=scales, few=scales[0]))


def powers_of_two(x, saturate, mode):
    """The patterns of FLOAT8E8M0 by definition: x = m * 2^e is rounded up where m, of 0.5 to 1, is
    past an edge; infinity and what lies below 2^-127 have rows of their own in Cast's table."""
    m, e = np.frexp(x.astype(np.float64))
    e = e + (m > 0.5 if mode == "up" else m >= 0.75 if mode == "nearest" else m >= 1)
    most, least = (254, 0) if saturate else (255, 255)
    pattern = np.where(x < 2.0 ** -127, least, np.minimum(e - 1 + 127, most))
    pattern = np.where(np.isinf(x), most, pattern)
    return np.where(np.isnan(x), 255, pattern).astype(np.uint8)


def narrow_powers(out):
    """Casts to powers of two with every rounding, past their range as infinity, NaN or the end."""
    kinds = [(mode, past) for mode in ("up", "nearest", "down") for past in (0, 1)]
    nodes = []
    for mode, past in kinds:
        nodes += [("Cast", ["x"], f"cast_{mode}_{past}",
                   dict(to=onnx.TensorProto.FLOAT8E8M0, round_mode=mode, saturate=past)),
                  ("BitCast", [f"cast_{mode}_{past}"], f"{mode}_{past}",
                   dict(to=onnx.TensorProto.UINT8))]
    x = np.array([1, 2, 1.25, 1.4999, 1.5, 1.75, 3, 0.3, 5e-20, 7e20, 0, np.inf, np.nan],
                 np.float64)
    ends = [2.0 ** -127 * k for k in (0.4, 0.6, 0.99, 1, 1.75, 2, 2.5, 3)]
    ends += [2.0 ** 127 * k for k in (0.7, 1, 1.25, 1.5, 1.99)]
    x = np.concatenate([x, ends]).astype(np.float32)
    write(out, "NarrowPowers", 28, nodes, dict(x=x),
          oracle=lambda *_: [powers_of_two(x, past, mode) for mode, past in kinds])


def narrow_weights(out):
    """Constants of 4 and 2 bits, some in bytes, of one scale, one per column and one per block."""
    T = onnx.TensorProto
    rng = np.random.default_rng(3)
    kinds = {"INT4": (-8, 8), "UINT4": (0, 16), "INT2": (-2, 2), "UINT2": (0, 4),
             "FLOAT4E2M1": (-6, 7)}
    nodes, constants = [], dict(column=np.abs(f32(34)) + 1, block=np.abs(f32(4, 34)) + 1)
    for t, (low, high) in kinds.items():
        values = rng.integers(low, high, (44, 34))
        kind = helper.tensor_dtype_to_np_dtype(getattr(T, t))
        constants |= {f"w{t}": values.astype(kind), f"z{t}": values[:4].astype(kind),
                      f"v{t}": values[:, ::-1].astype(kind)}
        zero = [f"z{t}"] if "INT" in t else []
        nodes += [("DequantizeLinear", [f"w{t}", "block", *zero], f"d{t}",
                   dict(axis=0, block_size=11)),
                  ("MatMul", ["x", f"d{t}"], f"blocks_{t}", {}),
                  ("DequantizeLinear", [f"v{t}", "column"], f"e{t}", dict(axis=1)),
                  ("MatMul", ["x", f"e{t}"], f"columns_{t}", {})]
    constants["bytes"] = rng.integers(-100, -90, (31, 44)).astype(np.int8)
    nodes += [("DequantizeLinear", ["bytes", "one"], "f", {}),
              ("MatMul", ["f", "u"], "odd_bytes", {})]
    write(out, "NarrowWeights", 28, nodes, dict(x=f32(3, 44), u=f32(44, 2)),
          dict(constants, one=np.float32(.5)))


def n_grams(out):
    """Pools of one to three numbers, some outputs without an n-gram."""
    pool = dict(min_gram_length=1, max_gram_length=3, ngram_counts=[0, 3, 7],
                ngram_indexes=[0, 3, 1, 5, 2, 7], pool_int64s=[2, 5, 8, 5, 8, 2, 2, 2, 5, 8],
                weights=[1.5, .5, 2., .25, 3., 4.])
    rows = np.array([[2, 5, 8, 2, 5, 2, 8, 2], [8, 8, 2, 2, 5, 5, 8, 8]], np.int64)
    write(out, "TfIdfNumbers", 17,
          [("TfIdfVectorizer", [x], f"{mode}_{skip}_{x}",
            dict(pool, mode=mode, max_skip_count=skip))
           for x in ("rows", "row") for mode in ("TF", "IDF", "TFIDF") for skip in (0, 2)],
          dict(rows=rows, row=rows[0].astype(np.int32)), oracle=runtime)


def products_and_grids(out):
    """CumProd of what overflows in any other order; AffineGrid and Col2Im."""
    x = np.array([[1e-30, 1e20, 1e20, -2, 0.5], [1e20, 1e-30, 1e30, 0, 3]], np.float32)
    i = rng().integers(-9, 9, (3, 4, 2)).astype(np.int32)
    flags = [dict(exclusive=e, reverse=r) for e in (0, 1) for r in (0, 1)]
    nodes = [("CumProd", [k, axis], f"{k}_{axis}_{n}", f) for n, f in enumerate(flags)
             for k, axis in (("x", "last"), ("i", "first"), ("i", "one"), ("x", "first"))]
    write(out, "CumProdOrder", 26, nodes, dict(x=x, i=i),
          dict(last=np.int64(-1), first=np.int32(0), one=np.int64(1)))
    write(out, "AffineGridSizes", 20,
          [("AffineGrid", [k, f"size{k}"], f"{k}_{align}", dict(align_corners=align))
           for k in ("flat", "deep") for align in (0, 1)],
          dict(flat=f32(2, 2, 3), deep=f32(1, 3, 4)),
          dict(sizeflat=np.array([2, 1, 4, 7]), sizedeep=np.array([1, 2, 3, 2, 5])))
    steps = dict(strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 2])
    write(out, "Col2ImSteps", 18,
          [("Col2Im", ["x", "image", "block"], "y", steps),
           ("Col2Im", ["i", "image", "block"], "integers", steps),
           ("Col2Im", ["apart", "line", "pair"], "gaps", dict(strides=[3, 3]))],
          dict(x=f32(2, 3 * 6, 12), i=rng().integers(-9, 9, (1, 6, 12)), apart=f32(1, 4, 6)),
          dict(image=np.array([5, 6]), block=np.array([3, 2]), line=np.array([5, 8]),
               pair=np.array([2, 2])))


def smooth_resizes(out):
    """Shrinking with antialiasing, some axes larger."""
    nodes = [("Resize", ["x", "", "scales"], f"{mode}_{rule}",
              dict(mode=mode, coordinate_transformation_mode=rule, antialias=1, exclude_outside=i))
             for mode in ("linear", "cubic")
             for i, rule in enumerate(("half_pixel", "align_corners"))]
    write(out, "ResizeSmooth", 19, nodes, dict(x=f32(1, 2, 10, 6)),
          dict(scales=np.array([1, 1, .4, 1.5], np.float32)))


def symmetric_resizes(out):
    """Sizes that scales do not reach: the middle stays where it is."""
    nodes = [("Resize", ["x", "", "scales"], f"{mode}_{antialias}",
              dict(mode=mode, coordinate_transformation_mode="half_pixel_symmetric",
                   antialias=antialias))
             for mode in ("linear", "cubic") for antialias in (0, 1)]
    write(out, "ResizeSymmetric", 19, nodes, dict(x=f32(1, 1, 10, 7)),
          dict(scales=np.array([1, 1, .37, 1.3], np.float32)))


def recurrent_activations(out):
    """Every function that RNN may apply, with its parameters and without, in both directions."""
    parameters = dict(Affine=(.5, .25), LeakyRelu=(.3,), ThresholdedRelu=(.2,),
                      ScaledTanh=(1.5, .5), HardSigmoid=(.4, .3), Elu=(.7,))
    nodes = []
    for name in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", *parameters):
        lists = {f"activation_{k}": [v]
                 for k, v in zip(("alpha", "beta"), parameters.get(name, ()))}
        nodes.append(("RNN", ["x", "w1", "r1", "b1"], name,
                      dict(hidden_size=3, activations=[name], **lists)))
    nodes += [("RNN", ["x", "w2", "r2", "b2"], "both",
               dict(hidden_size=3, direction="bidirectional", clip=.8,
                    activations=["ThresholdedRelu", "ScaledTanh"], activation_alpha=[.2, 1.5],
                    activation_beta=[.5]))]
    constants = {f"{k}{n}": f32(n, *dims) / 2 for n in (1, 2)
                 for k, dims in dict(w=(3, 2), r=(3, 3), b=(6,)).items()}
    write(out, "RnnActivations", 17, nodes, dict(x=f32(4, 2, 2)), constants, oracle=runtime)


def samples(out):
    """GridSample along one to three axes, positions past the border too; DeformConv."""
    grids = dict(line=f32(2, 5, 1), flat=f32(2, 4, 3, 2), deep=f32(2, 3, 2, 4, 3))
    images = dict(line=f32(2, 3, 6), flat=f32(2, 3, 5, 4), deep=f32(2, 2, 3, 4, 5))
    kinds = [(mode, padding, align) for mode in ("linear", "nearest", "cubic")
             for padding in ("zeros", "border", "reflection") for align in (0, 1)]
    for k, grid in grids.items():  # only the runtime pads each neighbour of cubic interpolation
        flat = k == "flat"
        write(out, f"GridSample{k.title()}", 22,
              [("GridSample", ["x", "grid"], f"{mode}_{padding}_{align}",
                dict(mode=mode, padding_mode=padding, align_corners=align))
               for mode, padding, align in kinds if flat or mode != "cubic"],
              dict(x=images[k], grid=grid), oracle=runtime if flat else reference)
    steps = dict(kernel_shape=[2, 3], strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 2])
    feeds = dict(x=f32(2, 4, 5, 6), w=f32(4, 4, 2, 3), w2=f32(6, 2, 2, 3), bias=f32(6))
    for k in (1, 2):
        feeds |= {f"offset{k}": 2 * f32(2, 2 * k * 6, 3, 4), f"mask{k}": f32(2, k * 6, 3, 4)}
    write(out, "DeformConvForms", 22,
          [("DeformConv", ["x", "w", "offset1"], "plain", steps),
           ("DeformConv", ["x", "w", "offset2", "", "mask2"], "offset_groups",
            dict(steps, offset_group=2)),
           ("DeformConv", ["x", "w2", "offset1", "bias", "mask1"], "groups", dict(steps, group=2)),
           ("DeformConv", ["x", "w2", "offset2", "bias"], "both_groups",
            dict(steps, group=2, offset_group=2))], feeds)


def roi_pools(out):
    """MaxRoiPool: regions past the border, of no pixels, with corners between two; norms of
    other powers; old constants of Selu."""
    rois = np.array([[0, 0, 0, 9, 7], [1, 2.5, 1.5, 6.5, 4], [0, -4, -3, 3, 2], [1, 7, 5, 14, 12],
                     [0, 3, 3, 3, 3], [1, 6, 4, 2, 1], [0, 20, 1, 25, 4]], np.float32)
    write(out, "MaxRoiPoolForms", 11,
          [("MaxRoiPool", ["x", "rois"], "whole", dict(pooled_shape=[2, 3])),
           ("MaxRoiPool", ["x", "rois"], "half", dict(pooled_shape=[3, 2], spatial_scale=.5)),
           ("GlobalLpPool", ["x"], "norm", dict(p=3))], dict(x=f32(2, 3, 8, 10), rois=rois),
          oracle=runtime)
    node = [("Selu", ["x"], "y", {})]
    x = 3 * f32(4, 5)
    write(out, "SeluOld", 5, node, dict(x=x), oracle=lambda *_: [np.where(
        x > 0, np.float32(1.0507) * x,
        np.float32(1.0507) * (np.float32(1.6732) * np.exp(x) - np.float32(1.6732)))])


def lists(out):
    """Sequences and optionals among inputs and outputs: elements of several shapes, no element,
    what a condition chooses."""
    T = onnx.TensorProto.FLOAT
    tensor = functools.partial(helper.make_tensor_type_proto, T)
    sequence, optional = helper.make_sequence_type_proto, helper.make_optional_type_proto
    branches = [helper.make_graph([helper.make_node(*node)], name, [], [
        helper.make_value_info(node[2][0], optional(sequence(tensor(None))))])
        for name, node in (("some", ("Optional", ["more"], ["kept"])),
                           ("other", ("Optional", ["x"], ["given"])))]
    nodes = [helper.make_node("OptionalGetElement", ["o"], ["element"]),
             helper.make_node("SequenceInsert", ["x", "element"], ["more"]),
             helper.make_node("SequenceInsert", ["more", "t", "at"], ["y"]),
             helper.make_node("OptionalHasElement", ["none"], ["has"]),
             helper.make_node("If", ["c"], ["z"], then_branch=branches[0],
                              else_branch=branches[1])]
    info = helper.make_value_info
    graph = helper.make_graph(
        nodes, "lists",
        [info("x", sequence(tensor(("n", 3)))), info("t", tensor((2, 2))),
         info("o", optional(tensor((4,)))), info("none", optional(sequence(tensor(None)))),
         info("c", helper.make_tensor_type_proto(onnx.TensorProto.BOOL, ()))],
        [info("y", sequence(tensor(None))),
         info("has", helper.make_tensor_type_proto(onnx.TensorProto.BOOL, ())),
         info("z", optional(sequence(tensor(None))))],
        [numpy_helper.from_array(np.int64(1), "at")])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, (out / "Lists").mkdir(parents=True, exist_ok=True) or out / "Lists/model.onnx")
    for number, choice in enumerate((True, False)):
        x, t, o = [f32(n, 3) for n in (2, 1, 4)[: 3 - number]], f32(2, 2), f32(4)
        more = [*x, o]
        data = out / f"Lists/test_data_set_{number}"
        data.mkdir(parents=True, exist_ok=True)
        lists = {"input_0": numpy_helper.from_list(x, "x", onnx.SequenceProto.TENSOR),
                 "input_1": numpy_helper.from_array(t, "t"),
                 "input_2": numpy_helper.from_optional(o, "o"),
                 "input_3": numpy_helper.from_optional(None, "none"),
                 "input_4": numpy_helper.from_array(np.bool_(choice), "c"),
                 "output_0": numpy_helper.from_list([more[0], t, *more[1:]], "y",
                                                    onnx.SequenceProto.TENSOR),
                 "output_1": numpy_helper.from_array(np.bool_(False), "has"),
                 "output_2": numpy_helper.from_optional(
                     more if choice else x, "z", onnx.OptionalProto.SEQUENCE)}
        for name, value in lists.items():
            (data / f"{name}.pb").write_bytes(value.SerializeToString())


def fed_transposes(out):
    """Transposed convolutions in groups, whose weights come at run time."""
    feeds = dict(x=f32(2, 6, 3, 4), w=f32(6, 4, 2, 3), line=f32(1, 4, 5), v=f32(4, 3, 4))
    nodes = [("ConvTranspose", ["x", "w"], "plain", dict(group=2)),
             ("ConvTranspose", ["x", "w"], "apart", dict(group=3, strides=[2, 1],
                                                         pads=[1, 0, 0, 2])),
             ("ConvTranspose", ["line", "v"], "row", dict(group=2, strides=[3], dilations=[2]))]
    write(out, "ConvTransposeFed", 11, nodes, feeds, oracle=runtime)


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    out = parser.parse_args().out
    peers.need("numpy", "onnx", "onnxruntime")
    for cases in (empty_reductions, inverse_dft, lp_norms, half_scales, opset_28,
                  narrow_types, narrow_weights, n_grams, products_and_grids, smooth_resizes,
                  samples, roi_pools, lists, narrow_powers, symmetric_resizes,
                  recurrent_activations, fed_transposes):
        cases(out)


if __name__ == "__main__":
    main()
