#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn, exported by skl2onnx, beside ONNX Runtime: do the results agree, and how
long does a row take, and a batch. What Wick refuses is listed with its reason.

  bench/setup                          once: a virtual environment with the peers
  bench/scikit.py [--name TEXT] [--batch 1000] [--rounds 5]

One thread each, both called from Python. Ratios: time of ONNX Runtime over that of Wick, above 1
where Wick is faster.
"""
import importlib
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
import warnings

import cli
import compare_onnxruntime
import peers

np, onnx, onnxruntime = (peers.Module(name) for name in ("numpy", "onnx", "onnxruntime"))
FEATURES = 20


def sk(name):
    module, kind = name.rsplit(".", 1)
    return getattr(importlib.import_module(f"sklearn.{module}"), kind)


def data():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1500, FEATURES)).astype(np.float32)
    score = x[:, 0] * 2 - x[:, 1] * x[:, 3] + np.sin(x[:, 2] * 2) + rng.standard_normal(1500) / 4
    return x, score


def columns():
    return sk("compose.ColumnTransformer")(
        [("scaled", sk("preprocessing.StandardScaler")(), slice(0, 8)),
         ("bounded", sk("preprocessing.MinMaxScaler")(), slice(8, 14)),
         ("raw", "passthrough", slice(14, FEATURES))])


def text_classes(y):
    return np.array(["ash", "birch", "cedar"])[y]


def models():
    """Name, estimator, what it is taught: classes (names of them as text), numbers, nothing."""
    few = dict(random_state=0)
    pipe, scale = sk("pipeline.make_pipeline"), sk("preprocessing.StandardScaler")
    logistic = sk("linear_model.LogisticRegression")
    forest = sk("ensemble.RandomForestClassifier")
    boosting = sk("ensemble.GradientBoostingClassifier")
    return [
        ("forest of 100 trees, depth 12", forest(100, max_depth=12, **few), "classes"),
        ("forest, classes by name", forest(30, max_depth=8, **few), "text"),
        ("forest, regression", sk("ensemble.RandomForestRegressor")(50, max_depth=10, **few),
         "numbers"),
        ("extra trees", sk("ensemble.ExtraTreesClassifier")(50, max_depth=10, **few), "classes"),
        ("gradient boosting", boosting(n_estimators=50, **few), "classes"),
        ("histogram boosting", sk("ensemble.HistGradientBoostingClassifier")(max_iter=40, **few),
         "classes"),
        ("histogram boosting, regression",
         sk("ensemble.HistGradientBoostingRegressor")(max_iter=40, **few), "numbers"),
        ("AdaBoost", sk("ensemble.AdaBoostClassifier")(n_estimators=20, **few), "classes"),
        ("bagging", sk("ensemble.BaggingClassifier")(n_estimators=8, **few), "classes"),
        ("voting", sk("ensemble.VotingClassifier")(
            [("a", logistic()), ("b", sk("naive_bayes.GaussianNB")())], voting="soft",
            flatten_transform=False), "classes"),
        ("isolation forest", sk("ensemble.IsolationForest")(n_estimators=20, **few), "nothing"),
        ("logistic regression", logistic(), "classes"),
        ("logistic regression, by name", logistic(), "text"),
        ("ridge", sk("linear_model.Ridge")(), "numbers"),
        ("stochastic gradient descent", sk("linear_model.SGDClassifier")(loss="log_loss", **few),
         "classes"),
        ("linear discriminants", sk("discriminant_analysis.LinearDiscriminantAnalysis")(),
         "classes"),
        ("quadratic discriminants", sk("discriminant_analysis.QuadraticDiscriminantAnalysis")(),
         "classes"),
        ("SVM", sk("svm.SVC")(), "classes"),
        ("SVM, probabilities", sk("svm.SVC")(probability=True, **few), "classes"),
        ("SVM, probabilities, by name", sk("svm.SVC")(probability=True, **few), "text"),
        ("SVM with nu", sk("svm.NuSVC")(nu=.3), "classes"),
        ("SVM, linear", sk("svm.LinearSVC")(), "classes"),
        ("SVM, regression", sk("svm.SVR")(), "numbers"),
        ("SVM, one class", sk("svm.OneClassSVM")(nu=.1), "nothing"),
        ("scaler, PCA, logistic", pipe(scale(), sk("decomposition.PCA")(8, **few), logistic()),
         "classes"),
        ("columns, logistic", pipe(columns(), logistic()), "classes"),
        ("imputer, ridge", pipe(sk("impute.SimpleImputer")(), sk("linear_model.Ridge")()),
         "numbers"),
        ("polynomials, ridge", pipe(sk("preprocessing.PolynomialFeatures")(2),
                                    sk("linear_model.Ridge")()), "numbers"),
        ("robust scaler, bins, logistic", pipe(
            sk("preprocessing.RobustScaler")(),
            sk("preprocessing.KBinsDiscretizer")(4, encode="onehot-dense"), logistic()), "classes"),
        ("power transform, logistic", pipe(sk("preprocessing.PowerTransformer")(), logistic()),
         "classes"),
        ("k-means", sk("cluster.KMeans")(5, n_init=1, **few), "nothing"),
        ("nearest neighbours", sk("neighbors.KNeighborsClassifier")(5), "classes"),
        ("nearest neighbours, regression", sk("neighbors.KNeighborsRegressor")(5), "numbers"),
        ("perceptron", sk("neural_network.MLPClassifier")((32,), max_iter=60, **few), "classes"),
        ("perceptron, regression", sk("neural_network.MLPRegressor")(
            hidden_layer_sizes=(32,), max_iter=60, **few), "numbers"),
        ("naive Bayes", sk("naive_bayes.GaussianNB")(), "classes"),
        ("naive Bayes, by name", sk("naive_bayes.GaussianNB")(), "text"),
        ("Gaussian mixture", sk("mixture.GaussianMixture")(3, **few), "nothing"),
        ("Gaussian process", sk("gaussian_process.GaussianProcessRegressor")(alpha=20.),
         "numbers"),
        ("one against the rest", sk("multiclass.OneVsRestClassifier")(logistic()), "classes"),
        ("calibrated", sk("calibration.CalibratedClassifierCV")(
            sk("naive_bayes.GaussianNB")(), cv=3), "classes"),
    ]


def fit(estimator, kind):
    x, score = data()
    classes = np.digitize(score, np.quantile(score, [.35, .7]))
    y = {"classes": classes, "text": text_classes(classes), "numbers": score, "nothing": None}[kind]
    estimator.fit(x, y) if y is not None else estimator.fit(x)


def convert(estimator):
    skl2onnx = importlib.import_module("skl2onnx")
    types = importlib.import_module("skl2onnx.common.data_types")
    return skl2onnx.convert_sklearn(estimator, "model",
                                    [("x", types.FloatTensorType([None, FEATURES]))],
                                    target_opset={"": 17, "ai.onnx.ml": 3})


def stored(value, name):
    """A result of ONNX Runtime as test data: a tensor, or a sequence of maps."""
    if not isinstance(value, list):
        return onnx.numpy_helper.from_array(np.asarray(value), name)
    out = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
    for row in value:
        entry = out.map_values.add()
        entry.values.elem_type = onnx.SequenceProto.TENSOR
        for key, number in row.items():
            if isinstance(key, str):
                entry.string_keys.append(key.encode())
            else:
                entry.keys.append(key)
            entry.values.tensor_values.append(onnx.numpy_helper.from_array(np.float32(number)))
    return out


def write_case(folder, model, session, x):
    where = folder / "test_data_set_0"
    where.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    (where / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(x, "x").SerializeToString())
    for i, (out, value) in enumerate(zip(session.get_outputs(), session.run(None, {"x": x}))):
        (where / f"output_{i}.pb").write_bytes(stored(value, out.name).SerializeToString())


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def seconds(run):
    """The least time of a run, of many for a fifth of a second."""
    best, end = float("inf"), time.perf_counter() + .2
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def ratio(args, folder, session, rows):
    """Ratio and Wick's time, the median of rounds in which the one runs after the other."""
    package = folder / f"{rows}.wick"
    x = np.resize(data()[0], (rows, FEATURES))
    subprocess.run([args.wick, "compile", folder / "model.onnx", "--shape", f"x={rows}x{FEATURES}",
                    "-o", package], capture_output=True, check=True)
    own = compare_onnxruntime.Wick(np, package, 1)
    own.feed({"x": x})
    pairs = []
    for _ in range(args.rounds):
        theirs, ours = seconds(lambda: session.run(None, {"x": x})), seconds(own.run)
        pairs.append((theirs / ours, ours))
    return statistics.median_low(pairs)


def measure(args, folder, name, estimator, kind):
    fit(estimator, kind)
    try:
        model = convert(estimator)
        session = session_of(model)
    except Exception as error:  # of the peers, which are not what is measured
        text = str(error).strip() or type(error).__name__
        return "not exported: " + text.splitlines()[0][:80], None
    write_case(folder, model, session, data()[0][:50])
    run = subprocess.run([args.wick, "test", folder, "--jobs", "1"], capture_output=True, text=True)
    line = next((t for t in run.stdout.splitlines() if not re.match(r"\d+ passed", t)), "")
    if run.returncode or "1 passed" not in run.stdout:
        return re.sub(r"^\w+ \S+ *", "", line) or run.stderr.strip(), None
    return None, [ratio(args, folder, session, rows) for rows in (1, args.batch)]


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--name", default="", help="only models whose name contains this")
    parser.add_argument("--batch", type=cli.at_least(1), default=1000,
                        help="rows of the second measurement")
    parser.add_argument("--rounds", type=cli.at_least(1), default=5)
    args = parser.parse_args()
    args.wick = cli.wick()
    peers.need("numpy", "onnx", "onnxruntime", "sklearn", "skl2onnx")
    importlib.import_module("onnx.numpy_helper")
    warnings.simplefilter("ignore")
    refused, all_ratios = [], []
    print(f"{'model':<34} {'1 row':>9} {'ratio':>6} {args.batch:>8} rows {'ratio':>6}")
    with tempfile.TemporaryDirectory() as scratch:
        for i, (name, estimator, kind) in enumerate(m for m in models() if args.name in m[0]):
            reason, times = measure(args, pathlib.Path(scratch) / str(i), name, estimator, kind)
            if reason is not None:
                refused.append((name, reason))
                continue
            all_ratios.append([r for r, _ in times])
            (r1, t1), (rn, tn) = times
            print(f"{name:<34} {t1 * 1e6:>6.1f} us {r1:>6.2f} {tn * 1e6:>10.1f} us {rn:>6.2f}",
                  flush=True)
    if all_ratios:
        one, many = (statistics.median(r) for r in zip(*all_ratios))
        print(f"{len(all_ratios)} agree with ONNX Runtime; median ratio {one:.2f} for a row, "
              f"{many:.2f} for {args.batch}")
    for name, reason in refused:
        print(f"not: {name}: {reason}")


if __name__ == "__main__":
    main()
