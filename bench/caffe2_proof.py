#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nets of Caffe2 in Wick beside an independent conversion to ONNX in ONNX Runtime, with the same
random weights, and proof that the comparison would notice mistakes: the conversion is made wrong in
one way after another (orders, pads, groups, axes, constants), and each must change the result by
more than 10 tolerances. The tolerance is 0.001 of the largest probability.

  bench/setup                         once: a virtual environment with the peers
  bench/caffe2_proof.py [FOLDER…]     default: the nets of ../shared/data/caffe2
  bench/caffe2_proof.py --each …      mistakes also in one operator at a time; the least is shown

Exit status 1 when a net does not agree, or a mistake is not noticed.
"""
import copy
import pathlib
import subprocess
import sys
import tempfile

import caffe2_net
import cli
import peers

np, helper = peers.Module("numpy"), peers.Module("onnx.helper")
TOLERANCE, FACTOR = 1e-3, 10


class Mistake:
    """The nodes of a conversion, some of which are made wrong."""

    def __init__(self, made):
        self.made, self.constants = made, []

    def constant(self, value):
        self.constants.append((f"constant~{len(self.constants)}", np.asarray(value, np.int64)))
        return self.constants[-1][0]

    def through(self, node, i, *steps):
        """Input i of the node goes through operators (kind, constants, attributes)."""
        nodes = []
        for kind, values, attributes in steps:
            out = f"{node.output[0]}~{i}~{len(nodes)}~{kind}"
            inputs = [node.input[i]] + [self.constant(v) for v in values]
            nodes.append(helper.make_node(kind, inputs, [out], **attributes))
            node.input[i] = out
        return nodes + [node]

    def shape(self, name):
        return self.made.array[name].shape

    def run(self, change, chosen):
        """The result with the chosen nodes, by their numbers, changed."""
        nodes = []
        for i, node in enumerate(self.made.nodes):
            wrong = change(self, copy.deepcopy(node)) if i in chosen else [node]
            nodes += wrong
        model = self.made.model(False, nodes, self.constants)
        return caffe2_net.run(model, {**self.made.inputs, **self.made.weights})[0]


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def replace(node, **values):
    kept = {**attributes(node), **values}
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(k, v) for k, v in kept.items() if v is not None)
    return [node]


# ---- mistakes: each takes a Mistake and a node, and returns nodes, or None where there is no such
# mistake to be made ------------------------------------------------------------------------------

def data_as_nhwc(m, node):
    if node.input[0] not in m.made.inputs:
        return None
    n, c, h, w = m.shape(node.input[0])
    return m.through(node, 0, ("Reshape", [(n, h, w, c)], {}),
                     ("Transpose", [], {"perm": (0, 3, 1, 2)}))


def data_turned(m, node):
    if node.input[0] not in m.made.inputs:
        return None
    return m.through(node, 0, ("Transpose", [], {"perm": (0, 1, 3, 2)}))


def filters_as_nhwc(m, node):
    n, c, h, w = m.shape(node.input[1])
    if h * w == 1:
        return None
    return m.through(node, 1, ("Reshape", [(n, h, w, c)], {}),
                     ("Transpose", [], {"perm": (0, 3, 1, 2)}))


def filters_turned(m, node):
    if max(m.shape(node.input[1])[2:]) == 1:
        return None
    return m.through(node, 1, ("Transpose", [], {"perm": (0, 1, 3, 2)}))


def pad(side):
    def moved(_, node):
        pads = list(attributes(node)["pads"])
        if not pads[side]:
            return None
        pads[side] -= 1
        pads[(side + 2) % 4] += 1
        return replace(node, pads=pads)
    return moved


def ignored_groups(m, node):
    """The first filters' channels for all of them, or half of the channels without need."""
    group, (filters, channels) = attributes(node)["group"], m.shape(node.input[1])[:2]
    if group == 1 and filters % 2 == 0 and channels % 2 == 0:
        nodes = m.through(node, 1, ("Gather", [np.arange(channels // 2)], {"axis": 1}))
        replace(node, group=2)
        return nodes
    if group == 1:
        return None
    part = m.shape(node.input[0])[1] // group
    return m.through(node, 0, ("Gather", [np.tile(np.arange(part), group)], {"axis": 1}))


def dealt_groups(m, node):
    group, channels = attributes(node)["group"], m.shape(node.input[0])[1]
    if group == 1:
        return None
    dealt = np.arange(channels).reshape(-1, group).T.ravel()
    return m.through(node, 0, ("Gather", [dealt], {"axis": 1}))


def flattened_as_nhwc(m, node):
    shape = m.shape(node.input[0])
    if len(shape) < 4 or shape[2] * shape[3] == 1:
        return None
    return m.through(node, 0, ("Transpose", [], {"perm": (0, 2, 3, 1)}))


def matrix_turned(m, node):
    nodes = m.through(node, 1, ("Reshape", [m.shape(node.input[1])[::-1]], {}))
    replace(node, transB=0)
    return nodes


def softmax_of_others(m, node):
    out = node.output[0]
    nodes = m.through(node, 0, ("Transpose", [], {"perm": (1, 0)}))
    node.output[0] = f"{out}~turned"
    return nodes + [helper.make_node("Transpose", [node.output[0]], [out], perm=(1, 0))]


def without(i):
    def shorter(_, node):
        if len(node.input) <= i:
            return None
        del node.input[i]
        return [node]
    return shorter


def exchanged(i, k):
    def swap(_, node):
        node.input[i], node.input[k] = node.input[k], node.input[i]
        return [node]
    return swap


def other(**values):
    return lambda _, node: replace(node, **values)


def times(name, factor):
    return lambda _, node: replace(node, **{name: attributes(node)[name] * factor})


def rounded_up(m, node):
    """Where that is another size."""
    a, size = attributes(node), m.shape(node.input[0])[2:]
    rest = [(size[i] + a["pads"][i] + a["pads"][i + 2] - a["kernel_shape"][i]) % a["strides"][i]
            for i in (0, 1)]
    return replace(node, ceil_mode=1) if any(rest) else None


def kind(name, inputs=None, **values):
    def become(_, node):
        node.op_type = name
        del node.input[inputs or len(node.input):]
        return replace(node, **values)
    return become


# What is wrong, in which operators, how; and whether --each makes it in one at a time.
MISTAKES = (
    ("order: NHWC data", "Conv", data_as_nhwc, True),
    ("order: height and width of data", "Conv", data_turned, True),
    ("order: NHWC filters", "Conv", filters_as_nhwc, True),
    ("order: height and width of filters", "Conv", filters_turned, True),
    ("order: flattened as NHWC", "Flatten", flattened_as_nhwc, True),
    ("pad: top at the bottom", "Conv", pad(0), True),
    ("pad: left at the right", "Conv", pad(1), True),
    ("pad: bottom at the top", "Conv", pad(2), True),
    ("pad: right at the left", "Conv", pad(3), True),
    ("pad of a pool: top", "MaxPool", pad(0), True),
    ("pad of a pool: left", "MaxPool", pad(1), True),
    ("pad of a pool: bottom", "MaxPool", pad(2), True),
    ("pad of a pool: right", "MaxPool", pad(3), True),
    ("group: ignored, or where there is none", "Conv", ignored_groups, True),
    ("group: channels dealt in turn", "Conv", dealt_groups, True),
    ("axis: softmax over the batch", "Softmax", softmax_of_others, True),
    ("axis: FC weights not transposed", "Gemm", matrix_turned, True),
    ("convolution without bias", "Conv", without(2), False),
    ("FC without bias", "Gemm", without(2), False),
    ("BN: epsilon 0.001", "BatchNormalization", other(epsilon=1e-3), False),
    ("BN: scale and bias exchanged", "BatchNormalization", exchanged(1, 2), False),
    ("LRN: size 3", "LRN", other(size=3), False),
    ("LRN: alpha of each, not of the sum", "LRN", times("alpha", 5), False),
    ("LRN: beta 0.5", "LRN", other(beta=.5), False),
    ("LRN: bias 2", "LRN", other(bias=2.), False),
    ("maxima rounded up", "MaxPool", rounded_up, False),
    ("averages for maxima", "MaxPool", kind("AveragePool", count_include_pad=1), False),
    ("maxima for averages", "AveragePool", kind("MaxPool"), False),
    ("sum of the first alone", "Sum", kind("Identity", 1), False),
    ("ReLU left out", "Relu", kind("Identity"), False))


# ---- comparison ----------------------------------------------------------------------------------

def difference(got, want):
    """In tolerances."""
    if got.shape != want.shape or not np.isfinite(got).all():
        return np.inf
    return float(np.abs(got - want).max() / np.abs(want).max() / TOLERANCE)


def by_wick(net, made, folder):
    caffe2_net.write(net, folder / "predict_net.pb")
    caffe2_net.write_fills(made.weights, folder / "init_net.pb")
    command = [cli.wick(), "run", folder / "predict_net.pb", "--init-net", folder / "init_net.pb",
               "--output-dir", folder / "out"]
    for i, (name, value) in enumerate(made.inputs.items()):
        np.save(folder / f"{i}.npy", value)
        command += ["--shape", f"{name}={'x'.join(map(str, value.shape))}",
                    "--input", f"{name}={folder / f'{i}.npy'}"]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ended.returncode:
        cli.die(ended.stderr.strip())
    return np.load(next((folder / "out").iterdir()))


def notice(made, want, what, op, change, each):
    """A line for a mistake; True: every form of it is noticed."""
    places = [i for i, node in enumerate(made.nodes) if node.op_type == op]
    places = [i for i in places if change(Mistake(made), copy.deepcopy(made.nodes[i]))]
    if not places:
        return True
    sets = [set(places)] + ([{i} for i in places] if each and len(places) > 1 else [])
    try:
        found = [difference(Mistake(made).run(change, s), want) for s in sets]
    except Exception as error:  # ONNX Runtime's own: shapes that do not fit
        if "onnxruntime" not in type(error).__module__:
            raise
        print(f"  {what:40} {len(places):4}  no valid model")
        return True
    least = f"{min(found[1:]):12.1f}" if len(found) > 1 else ""
    missed = "" if min(found) > FACTOR else "   NOT NOTICED"
    print(f"  {what:40} {len(places):4} {found[0]:12.1f} {least}{missed}", flush=True)
    return not missed


def prove(source, each, seed):
    net, made = caffe2_net.translate(source, seed)
    with tempfile.TemporaryDirectory() as folder:
        got = by_wick(net, made, pathlib.Path(folder))
    want = Mistake(made).run(None, ())
    error = difference(got, want)
    print(f"{source.name}: the largest of {want.size} probabilities is {want.max():.3f}; Wick and "
          f"ONNX Runtime differ by {error:.4f} tolerances")
    print(f"  {'mistake in the conversion':40} {'of':>4} {'tolerances':>12}"
          + (f" {'least of one':>12}" if each else ""))
    missed = [m[0] for m in MISTAKES if not notice(made, want, *m[:3], each and m[3])]
    return error <= 1 and not missed


parser = cli.options(__doc__)
parser.add_argument("nets", nargs="*", type=pathlib.Path, metavar="FOLDER",
                    help="folder of predict_net.pbtxt, value_info.json")
parser.add_argument("--each", action="store_true", help="mistakes in one operator at a time, too")
parser.add_argument("--seed", type=cli.at_least(0), default=0)
o = parser.parse_args()
nets = o.nets or sorted((cli.ROOT.parent / "shared/data/caffe2").glob("*"))
peers.need("numpy", "onnx", "google.protobuf", "onnxruntime")
for folder in nets:
    for name in ("predict_net.pbtxt", "value_info.json"):
        if not (folder / name).is_file():
            cli.die(f"there is no {folder / name}")
if not nets:
    cli.die("there is no ../shared/data/caffe2: name folders of nets")
sys.exit(not all([prove(folder, o.each, o.seed) for folder in nets]))
