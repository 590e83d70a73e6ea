#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: small models of scikit-learn as skl2onnx exports them, and of operators that
encode features, with the results of ONNX Runtime.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_scikit_cases.py [--out FOLDER]
"""
import importlib
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


def sk(name):
    module, kind = name.rsplit(".", 1)
    return getattr(importlib.import_module(f"sklearn.{module}"), kind)


def data():
    rng = np.random.default_rng(9)
    x = rng.standard_normal((120, 5)).astype(np.float32)
    score = x[:, 0] * 2 - x[:, 1] + np.sin(x[:, 2] * 2)
    return x, score


def estimators():
    """Name, estimator, what it is taught: two classes, three classes, numbers."""
    few = dict(random_state=0)
    return [
        ("SkForestBinary", sk("ensemble.RandomForestClassifier")(6, max_depth=4, **few), 2),
        ("SkForest", sk("ensemble.RandomForestClassifier")(5, max_depth=4, **few), 3),
        ("SkForestRegressor", sk("ensemble.RandomForestRegressor")(5, max_depth=4, **few), 0),
        ("SkExtraTrees", sk("ensemble.ExtraTreesClassifier")(5, max_depth=4, **few), 3),
        ("SkBoostingBinary", sk("ensemble.GradientBoostingClassifier")(n_estimators=6, **few), 2),
        ("SkBoosting", sk("ensemble.GradientBoostingClassifier")(n_estimators=4, **few), 3),
        *((f"SkNorm{n.capitalize()}", sk("preprocessing.Normalizer")(n), None)
          for n in ("l1", "l2", "max")),
        ("SkTree", sk("tree.DecisionTreeClassifier")(max_depth=4, **few), 3),
        ("SkLogisticBinary", sk("linear_model.LogisticRegression")(), 2),
        ("SkLogistic", sk("linear_model.LogisticRegression")(), 3),
        ("SkLinear", sk("linear_model.LinearRegression")(), 0),
        ("SkPipeline", sk("pipeline.make_pipeline")(
            sk("preprocessing.StandardScaler")(), sk("decomposition.PCA")(3, **few),
            sk("linear_model.LogisticRegression")()), 3),
        ("SkPerceptron", sk("neural_network.MLPClassifier")((8,), max_iter=50, **few), 3),
        ("SkBayes", sk("naive_bayes.GaussianNB")(), 3),
        ("SkImputer", sk("pipeline.make_pipeline")(
            sk("impute.SimpleImputer")(), sk("linear_model.LinearRegression")()), 0),
        *((f"SkSvr{k.capitalize()}", sk("svm.SVR")(kernel=k, C=.05, coef0=.2, epsilon=2.), 0)
          for k in ("linear", "poly", "rbf", "sigmoid")),
        ("SkOneClass", sk("svm.OneClassSVM")(nu=.2), None),
        ("SkSvcBinary", sk("svm.SVC")(kernel="linear"), 2),
        ("SkSvc", sk("svm.SVC")(kernel="rbf"), 3),
        ("SkZipMap", sk("tree.DecisionTreeClassifier")(max_depth=3, **few), 3),
        ("SkZipMapText", sk("tree.DecisionTreeClassifier")(max_depth=3, **few), 3),
        ("SkTextBinary", sk("linear_model.LogisticRegression")(), 2),
        ("SkTextForest", sk("ensemble.RandomForestClassifier")(4, max_depth=3, **few), 3),
        ("SkTextSvc", sk("svm.SVC")(kernel="rbf"), 3),
        ("SkSvcProbability", sk("svm.SVC")(probability=True, **few), 3),
        ("SkSvcProbabilityBinary", sk("svm.SVC")(probability=True, **few), 2),
        ("SkTextSvcProbability", sk("svm.SVC")(kernel="poly", probability=True, **few), 3),
        ("SkTextBayes", sk("naive_bayes.GaussianNB")(), 3),
        ("SkTextPerceptron", sk("neural_network.MLPClassifier")((4,), max_iter=30, **few), 3),
        ("SkMeans", sk("cluster.KMeans")(3, n_init=1, **few), None),
    ]


# What cases with Text in their names have as classes.
WORDS = ("ash", "birch", "cedar")


def convert(name, estimator, x):
    skl2onnx = importlib.import_module("skl2onnx")
    types = importlib.import_module("skl2onnx.common.data_types")
    has_maps = hasattr(estimator, "predict_proba") and not name.startswith("SkZipMap")
    options = {id(estimator): {"zipmap": False}} if has_maps else None
    return skl2onnx.convert_sklearn(
        estimator, name, [("x", types.FloatTensorType([None, x.shape[1]]))],
        options=options, target_opset={"": 17, "ai.onnx.ml": 3})


def message(value, name):
    """A result as it is stored; of maps, a sequence of them."""
    if not isinstance(value, list):
        return numpy_helper.from_array(np.asarray(value), name)
    out = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
    for row in value:
        is_text = isinstance(next(iter(row)), str)
        entry = out.map_values.add(key_type=onnx.TensorProto.STRING if is_text
                                   else onnx.TensorProto.INT64)
        entry.values.elem_type = onnx.SequenceProto.TENSOR
        for key, number in reversed(list(row.items())):  # no order is meant
            (entry.string_keys if is_text else entry.keys).append(key.encode() if is_text else key)
            entry.values.tensor_values.append(numpy_helper.from_array(np.float32(number)))
    return out


def store(out, name, model, feeds):
    folder = out / name / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    results = session.run(None, feeds)
    for end, values in (("input", feeds.items()),
                        ("output", zip((o.name for o in session.get_outputs()), results))):
        for i, (key, value) in enumerate(values):
            (folder / f"{end}_{i}.pb").write_bytes(message(value, key).SerializeToString())


def write(out, name, estimator, classes):
    x, score = data()
    edges = np.quantile(score, [0.5] if classes == 2 else [0.3, 0.7])
    y = score if classes == 0 else None if classes is None else np.digitize(score, edges)
    if "Text" in name:
        y = np.array(WORDS)[y]
    if name == "SkImputer":
        x[::3, 1] = np.nan
    estimator.fit(x, y) if y is not None else estimator.fit(x)
    store(out, name, convert(name, estimator, x), {"x": x[:7]})


def types(*names):
    return [getattr(onnx.TensorProto, t) for t in names]


def encoders():
    """Operator, attributes, names of its inputs, type of its result."""
    i64, f32, f64, text = types("INT64", "FLOAT", "DOUBLE", "STRING")
    tensor, nan, far = helper.make_tensor, float("nan"), 2**60
    return [
        ("LabelEncoder", dict(keys_int64s=[3, 7, far], values_floats=[.5, 1.5, 2.5],
                              default_float=-2.), ["i"], f32),
        ("LabelEncoder", dict(keys_int64s=[3, 7, 3], values_int64s=[4, 5, 6]), ["i"], i64),
        ("LabelEncoder", dict(keys_int64s=[3, far, 0], values_int64s=[far + 1, 2, 3]), ["i"], i64),
        ("LabelEncoder", dict(keys_floats=[.5, nan, 2.], values_int64s=[10, 20, 30],
                              default_int64=99), ["x"], i64),
        ("LabelEncoder", dict(keys_tensor=tensor("k", f64, [2], [.1, nan]),
                              values_tensor=tensor("v", f64, [2], [.3, .7]),
                              default_tensor=tensor("d", f64, [1], [-.1])), ["d"], f64),
        ("LabelEncoder", dict(keys_int64s=[3, 7, far], values_strings=["ash", "oak", "ash"],
                              default_string="none"), ["i"], text),
        ("LabelEncoder", dict(keys_floats=[.5, nan], values_strings=["half", "none"]), ["x"], text),
        ("LabelEncoder", dict(keys_strings=["oak", "elm", "ash"], values_int64s=[5, far, 9],
                              default_int64=-7), ["words"], i64),
        ("LabelEncoder", dict(keys_strings=["oak", "ash"], values_floats=[.5, 1.5]), ["words"],
         f32),
        ("LabelEncoder", dict(keys_strings=["oak", "ash"], values_strings=["Eiche", "Esche"]),
         ["words"], text),
        ("Imputer", dict(imputed_value_floats=[7., 8., 9.], replaced_value_float=nan), ["x"], f32),
        ("Imputer", dict(imputed_value_floats=[7.], replaced_value_float=.5), ["x"], f32),
        ("Imputer", dict(imputed_value_int64s=[far + 1], replaced_value_int64=far), ["i"], i64),
        ("FeatureVectorizer", dict(inputdimensions=[3, 3]), ["x", "x"], f32),
        ("FeatureVectorizer", dict(inputdimensions=[3]), ["i"], f32),
        ("OneHotEncoder", dict(cats_int64s=[0, 3, 7], zeros=1), ["i"], f32),
        ("OneHotEncoder", dict(cats_int64s=[2, 0], zeros=1), ["f"], f32),
    ]


def defaults():
    """The same, of elements that are no key."""
    i16, f64, text = types("INT16", "DOUBLE", "STRING")
    tensor = helper.make_tensor
    return [
        ("LabelEncoder", dict(keys_tensor=tensor("k", f64, [1], [.1]),
                              values_tensor=tensor("v", f64, [1], [3])), ["d"], f64),
        ("LabelEncoder", dict(keys_strings=["oak"], values_tensor=tensor("v", i16, [1], [3])),
         ["words"], i16),
        ("LabelEncoder", dict(keys_tensor=tensor("k", text, [2], ["oak", "ash"]),
                              values_tensor=tensor("v", text, [2], ["Eiche", "Esche"]),
                              default_tensor=tensor("d", text, [1], ["Baum"])), ["words"], text),
    ]


def write_encoders(out, name, rows):
    feeds = {"i": np.array([[3, 7, 2**60], [0, 3, 2**60 + 1]], np.int64),
             "x": np.array([[.5, np.nan, 3], [np.nan, .5, 2]], np.float32),
             "d": np.array([.1, np.nan, .2]), "f": np.array([[2.7, 0, 1]], np.float32)}
    info = helper.make_tensor_value_info
    nodes = [helper.make_node(op, ins, [f"y{i}"], domain="ai.onnx.ml", **attributes)
             for i, (op, attributes, ins, _) in enumerate(rows)]
    graph = helper.make_graph(
        nodes, "encoders",
        [info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()],
        [info(f"y{i}", row[3], None) for i, row in enumerate(rows)],
        [numpy_helper.from_array(np.array([["ash", "oak"], ["", "elm"], ["oak", "yew"]], object),
                                 "words")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 4)]
    store(out, name, helper.make_model(graph, ir_version=8, opset_imports=opsets), feeds)


def ensemble(targets, transform):
    """A node of one branch and two leaves."""
    tensor = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype))
    return helper.make_node(
        "TreeEnsemble", ["x"], [f"y{transform}"], domain="ai.onnx.ml", n_targets=targets,
        post_transform=transform, tree_roots=[0], nodes_featureids=[1],
        nodes_modes=tensor([0], np.uint8), nodes_splits=tensor([.5], np.float32),
        nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1], nodes_falseleafs=[1],
        leaf_targetids=[0, 1], leaf_weights=tensor([.25, .75], np.float32))


def write_transforms(out):
    """TreeEnsemble with NONE, SOFTMAX and LOGISTIC by their numbers in the specification, which
    ONNX Runtime confuses: results by definition."""
    x = np.array([[9, 0], [9, 1], [9, .5]], np.float32)
    none = np.array([[.25, 0], [0, .75], [.25, 0]], np.float32)
    power = np.exp(none)
    results = [none, power / power.sum(1, keepdims=True), 1 / (1 + np.exp(-none))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph([ensemble(2, t) for t in range(3)], "transforms",
                              [info("x", onnx.TensorProto.FLOAT, [None, 2])],
                              [info(f"y{t}", onnx.TensorProto.FLOAT, None) for t in range(3)])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    folder = out / "MlEnsembleTransforms" / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=opsets),
              folder.parent / "model.onnx")
    (folder / "input_0.pb").write_bytes(message(x, "x").SerializeToString())
    for i, y in enumerate(results):
        (folder / f"output_{i}.pb").write_bytes(message(y, f"y{i}").SerializeToString())


def write_deep(out):
    """A tree that is a list of 70 levels, which is taken in a loop."""
    depth = 70
    n = 2 * depth + 1
    leaf = lambda i: i % 2 or i == n - 1
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0] * n, nodes_nodeids=list(range(n)),
        nodes_featureids=[0 if leaf(i) else i // 2 % 3 for i in range(n)],
        nodes_modes=["LEAF" if leaf(i) else "BRANCH_LT" for i in range(n)],
        nodes_values=[0. if leaf(i) else i / 2 for i in range(n)],
        nodes_truenodeids=[0 if leaf(i) else i + 1 for i in range(n)],
        nodes_falsenodeids=[0 if leaf(i) else i + 2 for i in range(n)],
        target_treeids=[0] * (depth + 1), target_ids=[0] * (depth + 1),
        target_nodeids=[i for i in range(n) if leaf(i)],
        target_weights=[float(i * i) for i in range(depth + 1)])
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "deep", [info("x", onnx.TensorProto.FLOAT, [None, 3])],
                              [info("y", onnx.TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    x = np.array([[-1, 0, 0], [5, 99, 99], [99, 99, 43.5], [99, 99, 99], [60, 61, 70]], np.float32)
    store(out, "MlTreeDeep", helper.make_model(graph, ir_version=8, opset_imports=opsets),
          {"x": x})


def classifier(name, ids, transform, base):
    """Two trees of three leaves in all, which score one of two classes each; a missing feature goes
    the way of what is true."""
    return helper.make_node(
        "TreeEnsembleClassifier", ["x"], [f"label_{name}", f"score_{name}"],
        domain="ai.onnx.ml", classlabels_int64s=[3, 8], post_transform=transform,
        nodes_treeids=[0, 0, 0, 1, 1, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2, 3, 4],
        nodes_featureids=[0, 0, 0, 1, 0, 1, 0, 0],
        nodes_modes=["BRANCH_GT", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "BRANCH_NEQ", "LEAF",
                     "LEAF"],
        nodes_values=[0, 0, 0, .5, 0, 2, 0, 0], nodes_truenodeids=[1, 0, 0, 1, 0, 3, 0, 0],
        nodes_falsenodeids=[2, 0, 0, 2, 0, 4, 0, 0],
        nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 1, 0, 0],
        class_treeids=[0, 0, 1, 1, 1], class_nodeids=[1, 2, 1, 3, 4], class_ids=ids,
        class_weights=[.2, .7, .4, -.3, .1], **({"base_values": base} if base else {}))


def write_two_classes(out):
    """Rows in which leaves score both classes, or one of them, which then is a score of both."""
    ids = {"first": [0] * 5, "second": [1] * 5, "some": [0, 1, 0, 1, 0], "mixed": [1, 0, 0, 0, 1]}
    kinds = [(f"{key}_{transform.lower()}_{len(base)}", which, transform, base)
             for key, which in ids.items()
             for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
             for base in ([], [.3], [-.2, .25])
             if len(base) != 1 or key in ("first", "second")]  # else one score is not written
    nodes = [classifier(*kind) for kind in kinds]
    info = helper.make_tensor_value_info
    nodes += [helper.make_node("Concat", [f"{end}_{k[0]}" for k in kinds], [end], axis=0)
              for end in ("label", "score")]
    graph = helper.make_graph(nodes, "two_classes", [info("x", onnx.TensorProto.FLOAT, [None, 2])],
                              [info("label", onnx.TensorProto.INT64, None),
                               info("score", onnx.TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    nan = np.nan
    x = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [1, 2], [0, 2], [nan, nan], [0, nan]],
                 np.float32)
    store(out, "MlTreeTwoClasses", helper.make_model(graph, ir_version=8, opset_imports=opsets),
          {"x": x})


def write_machines(out):
    """Support vector machines for two classes, with what may follow the score."""
    kinds = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal(6).astype(np.float32)
    nodes = [helper.make_node(
        "SVMClassifier", ["x"], [f"label_{t}", f"score_{t}"], domain="ai.onnx.ml",
        kernel_type="RBF", kernel_params=[.5, 0., 3.], vectors_per_class=[1, 2],
        support_vectors=vectors.tolist(), coefficients=[.5, -.7, .3], rho=[.1],
        classlabels_ints=[5, 9], post_transform=t) for t in kinds]
    nodes += [helper.make_node("Concat", [f"{end}_{t}" for t in kinds], [end], axis=0)
              for end in ("label", "score")]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "machines", [info("x", onnx.TensorProto.FLOAT, [None, 2])],
                              [info("label", onnx.TensorProto.INT64, None),
                               info("score", onnx.TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    store(out, "MlMachinesTwoClasses", helper.make_model(graph, ir_version=8, opset_imports=opsets),
          {"x": rng.standard_normal((5, 2)).astype(np.float32)})


def trees(targets, ids, weights):
    """Two trees, of two and of three leaves, whose leaves name those targets: ids, weights."""
    lists = dict(nodes_treeids=[0, 0, 0, 1, 1, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2, 3, 4],
                 nodes_featureids=[0, 0, 0, 1, 0, 0, 0, 0],
                 nodes_modes=["BRANCH_GT", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "BRANCH_LT",
                              "LEAF", "LEAF"],
                 nodes_values=[0, 0, 0, .5, 0, 2, 0, 0],
                 nodes_truenodeids=[1, 0, 0, 1, 0, 3, 0, 0],
                 nodes_falsenodeids=[2, 0, 0, 2, 0, 4, 0, 0])
    kind = "target" if isinstance(targets, int) else "class"
    lists |= {f"{kind}_treeids": [0, 0, 1, 1, 1], f"{kind}_nodeids": [1, 2, 1, 3, 4],
              f"{kind}_ids": ids, f"{kind}_weights": weights}
    if kind == "target":
        return dict(lists, n_targets=targets)
    return dict(lists, classlabels_int64s=targets)


def write_old(out):
    """Forms of version 1: lists of classes, a threshold, sums of trees as minimum, maximum and mean
    and as quantiles, classes that no leaf names, one class, machines of one class."""
    halves, some = [.1, .35, .05, .25, .4], [0, 1, 2, 1, 0]
    tree = lambda y, *args, **more: ("TreeEnsembleRegressor", "x", y, trees(*args) | more)
    svm = dict(kernel_type="LINEAR", kernel_params=[0., 0., 0.],
               coefficients=[1., -1.], rho=[.25])
    rows = [
        ("LabelEncoder", "i", "words", dict(classes_strings=["ash", "oak", "elm"],
                                            default_string="none")),
        ("LabelEncoder", "text", "numbers", dict(classes_strings=["oak", "ash"],
                                                 default_int64=-5)),
        ("Binarizer", "x", "high", dict(threshold=.5)),
        tree("probit", 1, [0] * 5, halves, post_transform="PROBIT"),
        ("SVMRegressor", "x", "machine", svm),
        ("SVMRegressor", "x", "inside", dict(svm, one_class=1)),
        ("TreeEnsembleClassifier", "x", "alone_label alone_score",
         dict(trees([4], [0] * 5, [.2, .7, .4, -.3, .1]), base_values=[.3])),
        ("TreeEnsembleClassifier", "x", "many_label many_score",
         trees([4, 5, 6], some, [-.2, -.7, -.4, -.3, -.1])),
    ]
    for how in ("AVERAGE", "MIN", "MAX"):
        rows += [tree(f"{how.lower()}_1", 1, [0] * 5, halves, aggregate_function=how),
                 tree(f"{how.lower()}_3", 3, some, [.1, -2, .5, 3, -1], aggregate_function=how)]
    nodes = [helper.make_node(op, [x], y.split(), domain="ai.onnx.ml", **attributes)
             for op, x, y, attributes in rows]
    feeds = {"i": np.array([[2, 0], [3, -1]], np.int64),
             "x": np.array([[1, 0], [0, 0], [1, 1], [0, 1], [3, .7], [-2, 1]], np.float32)}
    kinds = dict(words="STRING", numbers="INT64", alone_label="INT64", many_label="INT64")
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "old", [info("i", onnx.TensorProto.INT64, [2, 2]),
                       info("x", onnx.TensorProto.FLOAT, [None, 2])],
        [info(y, getattr(onnx.TensorProto, kinds.get(y, "FLOAT")), None)
         for row in rows for y in row[2].split()],
        [numpy_helper.from_array(np.array(["ash", "oak", "yew"], object), "text")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    store(out, "MlOldForms", helper.make_model(graph, ir_version=8, opset_imports=opsets), feeds)


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    out = parser.parse_args().out
    peers.need("numpy", "onnx", "onnxruntime", "sklearn", "skl2onnx")
    for case in estimators():
        write(out, *case)
    write_encoders(out, "MlEncoders", encoders())
    write_encoders(out, "MlDefaults", defaults())
    write_transforms(out)
    write_deep(out)
    write_two_classes(out)
    write_machines(out)
    write_old(out)


if __name__ == "__main__":
    main()
