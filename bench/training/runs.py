# SPDX-License-Identifier: Apache-2.0
"""Runs of training step by step: packages of `wick train` and PyTorch, with states that the one can
take from the other: weights by their names, moments as NAME.m and NAME.v."""
import subprocess

import cli
import peers
import runtime
from training import torch_model

np, onnx, torch = peers.Module("numpy"), peers.Module("onnx"), peers.Module("torch")
numpy_helper = peers.Module("onnx.numpy_helper")
F = peers.Module("torch.nn.functional")

ADAM = {"m": "exp_avg", "v": "exp_avg_sq"}
# Class and hyperparameters of torch.optim, and its names of Wick's moments.
OPTIMIZERS = {"sgd": ("SGD", {"lr": 0.05}, {}),
              "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}, {"m": "momentum_buffer"}),
              "adam": ("Adam", {"lr": 0.001}, ADAM),
              "adamw": ("AdamW", {"lr": 0.001, "weight_decay": 0.01}, ADAM)}
LOSSES = {"cross-entropy": lambda y, t: F.cross_entropy(y, t),
          "mse": lambda y, t: F.mse_loss(y, t)}


class Wick:
    """Steps of a package that `wick train` has written, from the weights of the model on."""

    def __init__(self, package, model, threads=1):
        self.model = runtime.Model(package)
        self.train = self.model.session("train", threads)
        self.infer = self.model.session("infer", threads)
        initial = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for name, state in self.model.states.items():
            state[...] = initial.get(name, 0)

    def take(self, state):
        """Weights and moments of Torch.state()."""
        for name, value in state.items():
            self.model.states[name][...] = value

    def step(self, x, y, rate, number):
        name = next(iter(self.train.inputs))
        self.train.feed({name: x, "labels": y, "rate": rate, "step": number})
        self.train.run()
        return float(self.train.outputs["loss"])

    def state(self):
        return {name: value.copy() for name, value in self.model.states.items()}

    def scores(self, x):
        name, batch = next(iter(self.infer.inputs.items()))
        out, held = [], len(batch)
        for at in range(0, len(x), held):
            part = x[at:at + held]
            batch[:len(part)] = part
            self.infer.run()
            out.append(next(iter(self.infer.outputs.values()))[:len(part)].copy())
        return np.concatenate(out)


class Torch:
    def __init__(self, model, loss, optimizer):
        kind, self.options, self.moments = OPTIMIZERS[optimizer]
        self.net, self.loss = torch_model.Network(model), LOSSES[loss]
        self.dtype = next(iter(self.net.weights.values())).dtype
        self.optimizer = getattr(torch.optim, kind)(self.net.weights.values(), **self.options)

    def tensor(self, values):
        t = torch.from_numpy(np.ascontiguousarray(values))
        return t.to(self.dtype) if t.is_floating_point() else t

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.net(self.tensor(x), True), self.tensor(y))
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def weights(self):
        return {n: w.detach().numpy() for n, w in self.net.weights.items()}

    def state(self):
        """Copies of weights and moments; zeros for moments before the first step."""
        out = {n: w.copy() for n, w in self.weights().items()}
        for name, w in self.net.weights.items():
            for ours, theirs in self.moments.items():
                moment = self.optimizer.state[w].get(theirs)
                out[f"{name}.{ours}"] = (np.zeros(w.shape) if moment is None
                                         else moment.numpy().copy())
        return out

    def take(self, state, steps):
        """Weights and moments of a state() after so many steps."""
        for name, w in self.net.weights.items():
            w.data = torch.from_numpy(state[name].astype(w.detach().numpy().dtype))
            self.optimizer.state.pop(w, None)
            if steps and self.moments:
                self.optimizer.state[w] = {"step": torch.tensor(float(steps)), **{
                    theirs: torch.tensor(state[f"{name}.{ours}"], dtype=w.dtype)
                    for ours, theirs in self.moments.items()}}

    def scores(self, x):
        """In batches of the model, which may have its size in a shape."""
        batch, out = self.net.graph.input[0].type.tensor_type.shape.dim[0].dim_value, []
        with torch.no_grad():
            for at in range(0, len(x), batch):
                part = np.resize(x[at:at + batch], (batch, *x.shape[1:]))
                out.append(self.net(self.tensor(part), False).numpy()[:len(x) - at])
        return np.concatenate(out)


def call(*command):
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        cli.die(run.stderr.strip())


def package(folder, model, batch, loss, optimizer, name="net"):
    """What `wick train` makes of the model; it takes one step, on this batch."""
    onnx.save(model, folder / f"{name}.onnx")
    for axis, values in zip("xy", batch):
        np.save(folder / f"{axis}.npy", values)
    call(cli.wick(), "train", folder / f"{name}.onnx", "--data", folder / "x.npy", "--labels",
         folder / "y.npy", "--loss", loss, "--optimizer", optimizer, "--steps", "1", "--emit",
         "package", "-o", folder / f"{name}.wick")
    return folder / f"{name}.wick"
