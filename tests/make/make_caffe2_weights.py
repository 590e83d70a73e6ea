#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the weights that a Caffe2 net lacks: init_net.pb with seeded random values,
predict_net.pb, and model.onnx, which is the same net with the same weights by another translation.

  tests/make/make_caffe2_weights.py ../shared/data/caffe2/resnet50 -o resnet50 [--seed N]
"""
import pathlib
import shutil
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import caffe2_net
import cli
import peers

parser = cli.options(__doc__)
parser.add_argument("net", type=pathlib.Path, help="folder of predict_net.pbtxt, value_info.json")
parser.add_argument("-o", "--out", type=pathlib.Path,
                    help="folder to write; default: of the net's name, in the current folder")
parser.add_argument("--seed", type=cli.at_least(0), default=0)
o = parser.parse_args()
files = [o.net / name for name in ("predict_net.pbtxt", "value_info.json")]
peers.need("numpy", "onnx", "google.protobuf", "onnxruntime")
out = o.out or pathlib.Path(o.net.resolve().name)
if out.resolve() == o.net.resolve():
    cli.die("the folder to write is the net's own: name another with --out")
for file in files:
    if not file.is_file():
        cli.die(f"there is no {file}")
net, made = caffe2_net.translate(o.net, o.seed)
out.mkdir(parents=True, exist_ok=True)
caffe2_net.write(net, out / "predict_net.pb")
caffe2_net.write_fills(made.weights, out / "init_net.pb")
for file in files:
    shutil.copyfile(file, out / file.name)
(out / "model.onnx").write_bytes(made.model().SerializeToString())
