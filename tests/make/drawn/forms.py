# SPDX-License-Identifier: Apache-2.0
"""Models of many forms of operators, each form with an answer that two oracles agree on."""
import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


class Constant:
    """An input that is an initializer, or what a Constant makes, in turns."""

    def __init__(self, values, dtype=None):
        self.value = numpy.asarray(values, dtype)


def ints(*values):
    return Constant(values, numpy.int64)


def reals(*values):
    return Constant(values, numpy.float32)


def run(model, outputs, feeds, by):
    if by == "reference":
        with numpy.errstate(all="ignore"):
            return ReferenceEvaluator(model).run(outputs, feeds)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(outputs, feeds)


def agree(a, b):
    return all(numpy.shape(x) == numpy.shape(y) and
               numpy.allclose(numpy.asarray(x, float), numpy.asarray(y, float), 1e-4, 1e-5, True)
               for x, y in zip(a, b))


class Model:
    """A model whose nodes do not depend on each other."""

    def __init__(self, name, opset, seed=0):
        self.name, self.opset = name, opset
        self.rng = numpy.random.default_rng([ord(c) for c in name] + [seed])
        self.nodes, self.feeds, self.constants = [], {}, {}
        self.answers, self.next = {}, 0

    def f32(self, *shape):
        return self.rng.standard_normal(shape).astype(numpy.float32)

    def numbers(self, low, high, *shape, dtype=numpy.int64):
        return self.rng.integers(low, high, shape).astype(dtype)

    def draw(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def inputs(self, values, label):
        """Names, and the feeds and constants among the values; a text: what a node of the same
        form makes."""
        names, feeds, given = [], {}, {}
        for v in values:
            if v is None:
                names.append("")
                continue
            if isinstance(v, str):
                names.append(f"{label}_{v}")
                continue
            stored, of = (("c", given) if isinstance(v, Constant) else ("x", feeds))
            known = self.constants if stored == "c" else self.feeds
            name = next((k for k, x in known.items() if x is v), None)
            if not name:
                name = f"{stored}{self.next}"
                self.next += 1
            names.append(name)
            of[name] = v
        return names, feeds, given

    def add(self, op, *values, outputs="1", by=None, beside=(), turn=None, answer=None,
            after=(), **attributes):
        """A node that makes the outputs marked with 1; by: the oracle that is right where they
        differ or one does not know the form; beside: feeds that a graph within the node reads;
        turn: the model to ask and what to make of its answers; answer: what NumPy says of a form
        that no oracle knows; after: what stands before the node, each (operator, inputs, output,
        attributes), which it reads by the output's name. Whether an oracle knows it."""
        label = f"{op}_{len(self.nodes)}"
        names, feeds, given, nodes = [], {}, {}, []
        for kind, before, output, more in after:
            names, fed, constants = self.inputs(before, label)
            nodes.append(helper.make_node(kind, names, [f"{label}_{output}"],
                                          name=f"{label}_{output}", **more))
            feeds.update(fed), given.update(constants)
        names, fed, constants = self.inputs([*values, *beside], label)
        feeds.update(fed), given.update(constants)
        names = names[:len(values)]
        results = [f"{label}_{i}" if c == "1" else "" for i, c in enumerate(outputs)]
        node = helper.make_node(op, names, results, name=label, **attributes)
        nodes.append(node)
        model = self.model(nodes, feeds, given, [r for r in results if r])
        wanted, answers = [r for r in results if r], {}
        if turn:
            answers["runtime"] = turn(lambda m, f: run(m, wanted, f, "runtime"), model, feeds)
        if answer is not None:
            answers["runtime"] = answer if isinstance(answer, list) else [answer]
        for oracle in () if answers else ("runtime", "reference"):
            try:
                answers[oracle] = run(model, wanted, feeds, oracle)
            except Exception as error:  # whatever an oracle raises where it does not know a form
                answers[f"no {oracle}"] = str(error).splitlines()[-1][:150]
        known = [k for k in ("runtime", "reference") if k in answers]
        if not known or by and by not in answers:
            print(f"{self.name}: {label} {attributes} is left out: {answers}"[:400])
            return False
        if len(known) == 2 and not by and not agree(*(answers[k] for k in known)):
            print(f"{self.name}: {label} {attributes}: the oracles differ",
                  {k: [(v.shape, v.ravel()[:3]) for v in map(numpy.asarray, a)]
                   for k, a in answers.items()})
            return False
        self.answers.update(zip(wanted, answers[by or known[0]]))
        self.nodes += nodes
        self.feeds.update(feeds)
        self.constants.update(given)
        return True

    def model(self, nodes, feeds, given, wanted, typed=None):
        kind = helper.np_dtype_to_tensor_dtype
        infos = [helper.make_tensor_value_info(k, kind(v.dtype), v.shape)
                 for k, v in feeds.items()]
        results = [helper.make_tensor_value_info(k, kind(v.dtype), v.shape) if typed
                   else helper.make_empty_tensor_value_info(k)
                   for k, v in zip(wanted, typed or wanted)]
        tensors = {k: numpy_helper.from_array(v.value, k) for k, v in given.items()}
        made = [helper.make_node("Constant", [], [k], name=k, value=t)
                for k, t in tensors.items() if int(k[1:]) % 2]
        stored = [t for k, t in tensors.items() if int(k[1:]) % 2 == 0]
        graph = helper.make_graph(made + nodes, self.name, infos, results, stored)
        return helper.make_model(graph, ir_version=8 if self.opset < 22 else 10,
                                 opset_imports=[helper.make_opsetid("", self.opset)])

    def write(self, out):
        answers = {k: numpy.asarray(v) for k, v in self.answers.items()}
        model = self.model(self.nodes, self.feeds, self.constants, list(answers),
                           list(answers.values()))
        data = out / self.name / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(model, out / self.name / "model.onnx")
        for kind, values in (("input", self.feeds), ("output", answers)):
            for i, (key, value) in enumerate(values.items()):
                whole = numpy.ascontiguousarray(value).reshape(value.shape)
                tensor = numpy_helper.from_array(whole, key)
                (data / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())
        print(f"{self.name}: {len(self.nodes)} nodes")
