#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the weights that a Caffe2 net lacks: init_net.pb with seeded random values,
predict_net.pb, and model.onnx, which is the same net with the same weights by another translation.

  bench/make_caffe2_weights.py ../shared/data/caffe2/resnet50 -o resnet50 [--seed N]
"""
import pathlib
import shutil

import caffe2_net
import cli
import peers

parser = cli.options(__doc__)
parser.add_argument("net", type=pathlib.Path, help="folder of predict_net.pbtxt, value_info.json")
parser.add_argument("-o", "--out", type=pathlib.Path, required=True, help="folder to write")
parser.add_argument("--seed", type=cli.at_least(0), default=0)
o = parser.parse_args()
peers.need("numpy", "onnx", "google.protobuf")
net, made = caffe2_net.translate(o.net, o.seed)
o.out.mkdir(parents=True, exist_ok=True)
caffe2_net.write(net, o.out / "predict_net.pb")
caffe2_net.write(caffe2_net.fills(made.weights), o.out / "init_net.pb")
for name in ("predict_net.pbtxt", "value_info.json"):
    shutil.copyfile(o.net / name, o.out / name)
(o.out / "model.onnx").write_bytes(made.model.SerializeToString())
