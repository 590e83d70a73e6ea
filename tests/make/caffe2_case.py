# SPDX-License-Identifier: Apache-2.0
"""A case of tests/caffe2 in the making: a net, data sets for it, and what it gives for each."""
import json
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import caffe2_net
import peers

np = peers.Module("numpy")
helper, numpy_helper = peers.Module("onnx.helper"), peers.Module("onnx.numpy_helper")


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
