#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx: small models of scikit-learn as skl2onnx exports them, with the results of
ONNX Runtime.

  bench/setup                          once: a virtual environment with the peers
  bench/make_scikit_cases.py [--out FOLDER]
"""
import importlib
import pathlib

import cli
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
numpy_helper = peers.Module("onnx.numpy_helper")


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
        ("SkMeans", sk("cluster.KMeans")(3, n_init=1, **few), None),
    ]


def convert(estimator, x):
    skl2onnx = importlib.import_module("skl2onnx")
    types = importlib.import_module("skl2onnx.common.data_types")
    options = {id(estimator): {"zipmap": False}} if hasattr(estimator, "predict_proba") else None
    return skl2onnx.convert_sklearn(
        estimator, initial_types=[("x", types.FloatTensorType([None, x.shape[1]]))],
        options=options, target_opset={"": 17, "ai.onnx.ml": 3})


def write(out, name, estimator, classes):
    x, score = data()
    edges = np.quantile(score, [0.5] if classes == 2 else [0.3, 0.7])
    y = score if classes == 0 else None if classes is None else np.digitize(score, edges)
    estimator.fit(x, y) if y is not None else estimator.fit(x)
    model, feed = convert(estimator, x), x[:7]
    folder = out / name / "test_data_set_0"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out / name / "model.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    results = session.run(None, {"x": feed})
    for end, values in (("input", [("x", feed)]),
                        ("output", zip((o.name for o in session.get_outputs()), results))):
        for i, (key, value) in enumerate(values):
            tensor = numpy_helper.from_array(np.asarray(value), key)
            (folder / f"{end}_{i}.pb").write_bytes(tensor.SerializeToString())


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    out = parser.parse_args().out
    peers.need("numpy", "onnx", "onnxruntime", "sklearn", "skl2onnx")
    for case in estimators():
        write(out, *case)


if __name__ == "__main__":
    main()
