#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training beside PyTorch: the same weights at first, the same batches, the same steps.

  apt-get install python3-torch python3-onnx libopenblas0-pthread    once
  /usr/bin/python3 bench/compare_torch.py [--nets mlp,…] [--optimizers sgd,…] [--steps 200]
                                          [--seeds 3]
  /usr/bin/python3 bench/compare_torch.py --speed [--threads 1,2] [--rounds 10]

A table of how far Wick and PyTorch are apart, at most over all steps of all seeds; differences of
losses are relative. Ends with status 1 where one is over the limit in the head of its column:

  f64 loss      both train on their own in f64
  f64 weights   how far their weights are apart then; no limit
  one step      in f32, each step from PyTorch's weights and moments: loss; weights, relative to the
                largest of their tensor; no limit for these
  own run       both train on their own in f32: how far Wick's loss is from PyTorch's in f64, over
                how far PyTorch's is from that
  held out      part of the held-out digits that the runs in f32, of the last seed, classify right

Two runs in f32 part where rounding decides on which side of a kink a ReLU or a maximum is, and Adam
makes steps of full size of gradients that are hardly more than 0. That happens to Wick and to
PyTorch at steps of their own; the ratio needs seeds enough for both to have met such steps.

The last line is of `wick train` on all digits: held-out accuracy after --epochs with Adam, beside
PyTorch's with other orders of the samples. --speed measures instead how long steps take, in
processes that take turns on the same processors, as many as threads: ratios above 1 where Wick is
faster. JAX is measured too where a Python with it is found: `bench/setup --jax` makes one. The
first losses of all are compared before. Debian's PyTorch is for /usr/bin/python3; its products are
as fast as the BLAS that is installed, whose file is told.
"""
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cli
import peers
import runtime
from training import jax_model, nets, torch_model

np, onnx, torch = peers.Module("numpy"), peers.Module("onnx"), peers.Module("torch")
numpy_helper = peers.Module("onnx.numpy_helper")
F = peers.Module("torch.nn.functional")

DATA = cli.ROOT.parent / "shared/data"
SETUP = "install Debian's python3-torch and python3-onnx and use /usr/bin/python3"
ADAM = {"m": "exp_avg", "v": "exp_avg_sq"}
# Class and hyperparameters of torch.optim, and its names of Wick's moments.
OPTIMIZERS = {"sgd": ("SGD", {"lr": 0.05}, {}),
              "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}, {"m": "momentum_buffer"}),
              "adam": ("Adam", {"lr": 0.001}, ADAM),
              "adamw": ("AdamW", {"lr": 0.001, "weight_decay": 0.01}, ADAM)}
# How the model is made, its samples of the options, its loss.
NETS = {"digits_cnn": (nets.zoo("digits_cnn"), lambda o: nets.Digits(o.digits), "cross-entropy"),
        "mlp": (nets.mlp, lambda o: nets.Digits(o.digits), "cross-entropy"),
        "lstm": (nets.lstm, lambda o: nets.Text(32, 24, True), "cross-entropy"),
        "transformer": (nets.transformer, lambda o: nets.Text(8, 32, False), "cross-entropy"),
        "unet": (nets.unet, lambda o: nets.Photos(o.photos), "mse")}
LOSSES = {"cross-entropy": lambda y, t: F.cross_entropy(y, t),
          "mse": lambda y, t: F.mse_loss(y, t)}
LIMITS = {"f64": 1e-7, "step": 1e-5, "own": 3.0}


class Wick:
    """Steps of a package that `wick train` has written, from the weights of the model on."""

    def __init__(self, package, model, threads=1):
        self.model = runtime.Model(package)
        self.train = self.model.session("train", threads)
        self.infer = self.model.session("infer", threads)
        initial = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for name, state in self.model.states.items():
            state[...] = initial.get(name, 0)

    def take(self, other):
        """The weights and moments of a Torch."""
        for name, w in other.net.weights.items():
            self.model.states[name][...] = w.detach().numpy()
            for ours, theirs in other.moments.items():
                moment = other.optimizer.state[w].get(theirs)
                self.model.states[f"{name}.{ours}"][...] = 0 if moment is None else moment.numpy()

    def step(self, x, y, rate, number):
        name = next(iter(self.train.inputs))
        self.train.feed({name: x, "labels": y, "rate": rate, "step": number})
        self.train.run()
        return float(self.train.outputs["loss"])

    def weights(self):
        return self.model.states

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


# ---- agreement -----------------------------------------------------------------------------------

def relative(got, want):
    return abs(got - want) / abs(want)


def apart(got, want, is_relative):
    """The largest difference of weights; relative: to the largest weight of the tensor."""
    return max(float(np.abs(got[n] - w).max() / (np.abs(w).max() if is_relative else 1))
               for n, w in want.items())


def accuracy(peer, held_out):
    x, y = held_out
    return float((peer.scores(x).argmax(1) == y).mean())


class Columns(dict):
    """The largest value of each; not a number once one was none."""

    def note(self, key, value):
        self[key] = max(self.get(key, 0.0), value) if value == value else value


def compare(folder, name, optimizer, options):
    """The columns of a row."""
    make, samples, loss = NETS[name]
    samples, model = samples(options), make(folder)
    wide, columns = nets.in_f64(model), Columns()
    models = [(m, package(folder, m, samples(0), loss, optimizer, kind))
              for m, kind in ((model, "f32"), (wide, "f64"))]
    for seed in range(options.seeds):
        samples.seed = seed
        one_seed(columns, samples, options.steps, models, loss, optimizer)
    return columns


def one_seed(columns, samples, steps, models, loss, optimizer):
    (model, file), (wide, file64) = models
    rate, note = OPTIMIZERS[optimizer][1]["lr"], columns.note
    own, single, wick64 = Wick(file, model), Wick(file, model), Wick(file64, wide)
    torch32, torch64 = Torch(model, loss, optimizer), Torch(wide, loss, optimizer)
    for t in range(steps):
        x, y = samples(t)
        single.take(torch32)
        want, want64 = torch32.step(x, y), torch64.step(x, y)
        note("f64", relative(wick64.step(x, y, rate, t + 1), want64))
        note("step", relative(single.step(x, y, rate, t + 1), want))
        note("step_weights", apart(single.weights(), torch32.weights(), True))
        note("wick", relative(own.step(x, y, rate, t + 1), want64))
        note("torch", relative(want, want64))
    note("weights", apart(wick64.weights(), torch64.weights(), False))
    if samples.held_out:
        columns["held_out"] = [100 * accuracy(p, samples.held_out) for p in (own, torch32)]


def print_row(name, optimizer, w):
    """Whether it is within the limits."""
    ratio = w["wick"] / max(w["torch"], 2 ** -24)  # which is a rounding of the loss
    held = "{:7.1f} {:7.1f}".format(*w["held_out"]) if "held_out" in w else ""
    print(f"{name:12}{optimizer:10}{w['f64']:9.1e}{w['weights']:9.1e}{w['step']:11.1e}"
          f"{w['step_weights']:9.1e}{w['wick']:10.1e}{w['torch']:9.1e}{ratio:8.2f}  {held}",
          flush=True)
    return (w["f64"] <= LIMITS["f64"] and w["step"] <= LIMITS["step"] and
            ratio <= LIMITS["own"])


def agreement(options):
    print(f"{options.steps} steps{'':13}{'f64 loss':>9}{'weights':>9}{'one step':>11}{'weights':>9}"
          f"{'own: Wick':>10}{'PyTorch':>9}{'ratio':>8}  {'held out: both, %':>15}")
    print(f"{'at most':22}{LIMITS['f64']:9.0e}{'':9}{LIMITS['step']:11.0e}{'':28}"
          f"{LIMITS['own']:8.1f}")
    good = True
    for name in options.nets:
        for optimizer in options.optimizers:
            with tempfile.TemporaryDirectory() as folder:
                good &= print_row(name, optimizer,
                                  compare(pathlib.Path(folder), name, optimizer, options))
    if options.epochs:
        with tempfile.TemporaryDirectory() as folder:
            good &= whole_run(pathlib.Path(folder), options)
    return good


def whole_run(folder, options):
    """`wick train` on the digits, beside PyTorch: within half a point."""
    model, samples = NETS["digits_cnn"][0](folder), nets.Digits(options.digits)
    call(cli.wick(), "train", folder / "digits_cnn.onnx", "--data", options.digits / "x.npy",
         "--labels", options.digits / "y.npy", "--loss", "cross-entropy", "--validate", "0.2",
         "--epochs", str(options.epochs), "--history", folder / "h.csv", "-o", folder / "o.onnx")
    got = 100 * np.loadtxt(folder / "h.csv", delimiter=",", skiprows=1, ndmin=2)[-1, 6]
    peer = Torch(model, "cross-entropy", "adam")
    for t in range(options.epochs * (len(samples.x) // samples.batch)):
        peer.step(*samples(t))
    want = 100 * accuracy(peer, samples.held_out)
    print(f"digits_cnn, adam, {options.epochs} epochs: held out {got:.1f} %, PyTorch {want:.1f} %")
    return got >= want - 0.5


# ---- speed ---------------------------------------------------------------------------------------

def images(_step):
    rng = np.random.default_rng(5)
    return rng.standard_normal((8, 3, 224, 224)).astype(np.float32), rng.integers(0, 1000, 8)


# How the model is made, its samples, optimiser, flags of XLA: of its two runtimes the faster one.
FAST = {"resnet18": (nets.zoo("resnet18", "--batch", "8"), lambda: images, "momentum",
                     "--xla_cpu_use_thunk_runtime=false"),
        "transformer": (lambda folder: nets.transformer(folder, 8, 128, 256),
                        lambda: nets.Text(8, 128, False), "adam",
                        "--xla_cpu_use_thunk_runtime=true")}
FIRST = 3  # steps whose losses are compared before the clock runs
NEAR = 1e-3  # how far they may be apart, relative


def stepper(kind, name, threads, file):
    """What makes a step on a fixed sample and returns the loss."""
    _, samples, optimizer, flags = FAST[name]
    (x, y), model = samples()(0), onnx.load(file)
    if kind == "jax":
        net = jax_model.Step(model, optimizer, OPTIMIZERS[optimizer][1], flags)
        sample = net.place(x, y)
        return lambda: net(*sample)
    if kind == "torch":
        torch.set_num_threads(threads)
        net = Torch(model, "cross-entropy", optimizer)
        return lambda: net.step(x, y)
    net, numbers = Wick(file.with_suffix(".wick"), model, threads), itertools.count(1)
    return lambda: net.step(x, y, OPTIMIZERS[optimizer][1]["lr"], next(numbers))


def worker(kind, name, threads, file):
    run = stepper(kind, name, threads, file)
    peers.serve(run, *[run() for _ in range(FIRST)])


def blas():
    """The file that PyTorch's products come from; Debian's reference BLAS is slow."""
    torch.ones(2, 2) @ torch.ones(2, 2)
    files = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
             if "blas" in line}
    return ", ".join(sorted(files)) or "its own"


def with_jax(python):
    """The Python that has JAX: the one that was named, this one, that of bench/setup; or None."""
    for candidate in [python] if python else [sys.executable, peers.VENV / "bin/python"]:
        if pathlib.Path(candidate).exists():
            run = subprocess.run([candidate, "-c", "import jax, onnx; print(jax.__version__)"],
                                 capture_output=True, text=True, check=False)
            if not run.returncode:
                return str(candidate), run.stdout.strip()
    if python:
        cli.die(f"{python} does not import jax and onnx")
    return None, "none: see --jax-python"


def race(folder, name, threads, kinds):
    """The workers of a row, with their times."""
    racers = [peers.Worker(threads, kind, name, threads, folder / "net.onnx", python=python)
              for kind, python in kinds.items()]
    losses = np.array([[float(word) for word in r.says] for r in racers])
    if not np.abs(losses / losses[1] - 1).max() <= NEAR:
        cli.die(f"{name}: the first losses of {', '.join(kinds)} are not the same: "
                f"{losses.tolist()}")
    return racers


def speed(options):
    python, version = with_jax(options.jax_python)
    kinds = {"wick": sys.executable, "torch": sys.executable, **({"jax": python} if python else {})}
    print(f"PyTorch {torch.__version__}, BLAS: {blas()}; JAX {version}")
    print(f"ms of a step: best, median{'':6}Wick{'':11}PyTorch" + f"{'':14}JAX" * bool(python) +
          f"{'':5}PyTorch / Wick" + "      JAX / Wick" * bool(python))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for name, (make, samples, optimizer, _) in FAST.items():
            package(folder, make(folder), samples()(0), "cross-entropy", optimizer)
            for threads in options.threads:
                racers = race(folder, name, threads, kinds)
                for _ in range(options.rounds):
                    for racer in racers:
                        racer.round(1)
                for racer in racers:
                    racer.close()
                print_times(f"{name}, {threads} thread{'s' * (threads > 1)}",
                            [(min(r.times), statistics.median(r.times)) for r in racers])


def print_times(label, times):
    """times: (best, median) of Wick and then of the others."""
    print(f"{label:23}" + "".join(f"{best:9.1f}{middle:8.1f}" for best, middle in times) + "  " +
          "".join(f"{best / times[0][0]:9.2f}{middle / times[0][1]:7.2f}"
                  for best, middle in times[1:]), flush=True)


# ---- the command line ----------------------------------------------------------------------------

def some_of(table):
    """The type of an option that is a list of the table's names."""
    def names(text):
        for name in text.split(","):
            if name not in table:
                raise cli.argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(table)}")
        return text.split(",")
    return names


def main():
    p = cli.options(__doc__)
    p.add_argument("--nets", type=some_of(NETS), default=list(NETS), help=",".join(NETS))
    p.add_argument("--optimizers", type=some_of(OPTIMIZERS), default=list(OPTIMIZERS),
                   help=",".join(OPTIMIZERS))
    p.add_argument("--steps", type=cli.at_least(1), default=200, help="default 200")
    p.add_argument("--seeds", type=cli.at_least(1), default=3,
                   help="runs with other batches (default 3)")
    p.add_argument("--epochs", type=cli.at_least(0), default=15,
                   help="of the whole run on the digits (default 15; 0: none)")
    p.add_argument("--digits", type=pathlib.Path, default=DATA / "digits",
                   help="folder of x.npy [n,1,8,8] and y.npy (default ../shared/data/digits)")
    p.add_argument("--photos", type=pathlib.Path, default=DATA / "photos",
                   help="folder of u8 [h,w,3] (default ../shared/data/photos; patterns where there "
                   "is none)")
    p.add_argument("--speed", action="store_true")
    p.add_argument("--threads", type=lambda t: [cli.at_least(1)(n) for n in t.split(",")],
                   default=[1, 2], help="of --speed (default 1,2)")
    p.add_argument("--jax-python", metavar="PYTHON",
                   help="of --speed: a Python with jax, onnx and numpy (default: this one or that "
                   "of bench/setup, where it has them)")
    p.add_argument("--rounds", type=cli.at_least(1), default=10, help="of --speed (default 10)")
    o = p.parse_args()
    peers.need("numpy", "onnx", "torch", setup=SETUP)
    cli.wick()
    if o.speed:
        speed(o)
        sys.exit(0)
    torch.set_num_threads(1)
    sys.exit(0 if agreement(o) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:4], int(sys.argv[4]), pathlib.Path(sys.argv[5]))
    else:
        main()
