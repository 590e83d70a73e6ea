#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training beside PyTorch: the same weights at first, the same batches, the same steps.

  apt-get install python3-torch python3-onnx libopenblas0-pthread    once
  /usr/bin/python3 bench/compare_torch.py [--nets mlp,…] [--optimizers sgd,…] [--steps 200]
                                          [--seeds 3]
  /usr/bin/python3 bench/compare_torch.py --gradients [--nets …] [--optimizers …] [--steps 200]
  /usr/bin/python3 bench/compare_torch.py --speed [--threads 1,2] [--rounds 10]

A table of how far Wick and PyTorch are apart, at most over all steps of all seeds; differences of
losses are relative. Ends with status 1 where one is over the limit in the head of its column:

  f64 loss      both train on their own in f64
  f64 weights   how far their weights are apart then; no limit
  one step      in f32, each step from PyTorch's weights and moments: loss; weights, relative to the
                largest of their tensor; no limit for these
  own run       both train on their own in f32: how far Wick's loss is from PyTorch's in f64, over
                how far PyTorch's is from that
  typical       the same ratio of a seed, to the middle one of three runs of PyTorch, two of them
                with the samples of each batch in another order; the median of the seeds; no limit
  held out      part of the held-out digits that the runs in f32, of the last seed, classify right

Two runs in f32 part where rounding decides on which side of a kink a ReLU or a maximum is, and Adam
makes steps of full size of gradients that are hardly more than 0. That happens to Wick and to
PyTorch at steps of their own; the ratio needs seeds enough for both to have met such steps. Where
one run of a seed comes more than three times as far from f64 as the other, lines below the row tell
the steps at which each of them came away, and why: which sides of kinks, and whether f64 makes the
same step with them; or the gradient that is hardly more than 0.

--gradients prints, instead, how exact the gradient of each weight is, at the steps of PyTorch's
run: means over the steps of Wick's error and of PyTorch's.

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
from training import jax_model, nets, parting
from training.runs import OPTIMIZERS, Torch, Wick, call, package

np, onnx, torch = peers.Module("numpy"), peers.Module("onnx"), peers.Module("torch")

DATA = cli.ROOT.parent / "shared/data"
SETUP = "install Debian's python3-torch and python3-onnx and use /usr/bin/python3"
# How the model is made, its samples of the options, its loss.
NETS = {"digits_cnn": (nets.zoo("digits_cnn"), lambda o: nets.Digits(o.digits), "cross-entropy"),
        "mlp": (nets.mlp, lambda o: nets.Digits(o.digits), "cross-entropy"),
        "lstm": (nets.lstm, lambda o: nets.Text(32, 24, True), "cross-entropy"),
        "transformer": (nets.transformer, lambda o: nets.Text(8, 32, False), "cross-entropy"),
        "unet": (nets.unet, lambda o: nets.Photos(o.photos), "mse")}
LIMITS = {"f64": 1e-7, "step": 1e-5, "own": 3.0}
ORDERS = 2  # of the samples of each batch, for further runs of PyTorch
ROUNDING = 2 ** -24  # of a loss


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


class Pair:
    """A net with an optimiser: its models and packages in f32 and f64, and the samples."""

    def __init__(self, folder, name, optimizer, options):
        make, samples, self.loss = NETS[name]
        self.samples, self.model, self.optimizer = samples(options), make(folder), optimizer
        self.wide = nets.in_f64(self.model)
        self.file, self.file64 = (
            package(folder, m, self.samples(0), self.loss, optimizer, kind)
            for m, kind in ((self.model, "f32"), (self.wide, "f64")))

    def torch(self, model):
        return Torch(model, self.loss, self.optimizer)

    def why(self, steps):
        """What there is to tell of the runs of this seed that part from the one in f64."""
        p = parting.Parting(self.model, self.wide, self.file, self.loss, self.optimizer)
        return [line for t in range(steps) for line in p.step(t, self.samples(t))]


def compare(pair, options):
    """The columns of a row, and what is told below it."""
    columns, typical, lines = Columns(), [], []
    for seed in range(options.seeds):
        pair.samples.seed = seed
        wick, theirs = one_seed(columns, pair, options.steps)
        typical.append(wick / statistics.median(theirs))
        if not 1 / LIMITS["own"] <= wick / theirs[0] <= LIMITS["own"]:
            lines.append(f"seed {seed}: Wick {wick:.1e}, PyTorch {theirs[0]:.1e}, with the samples "
                         f"of each batch in other orders " +
                         ", ".join(f"{d:.1e}" for d in theirs[1:]))
            lines += pair.why(options.steps)
    columns["typical"] = statistics.median(typical)
    return columns, lines


def reordered(sample, order, t):
    """The batch with its samples in another order: the same step, but for rounding."""
    at = np.random.default_rng([5, order, t]).permutation(len(sample[0]))
    return [part[at] for part in sample]


def one_seed(columns, pair, steps):
    """How far the losses of the runs in f32 come from those in f64: Wick's; PyTorch's, and those of
    PyTorch's runs with reordered batches."""
    rate, note = OPTIMIZERS[pair.optimizer][1]["lr"], columns.note
    own, single = Wick(pair.file, pair.model), Wick(pair.file, pair.model)
    wick64 = Wick(pair.file64, pair.wide)
    torch32, torch64 = pair.torch(pair.model), pair.torch(pair.wide)
    others, far = [pair.torch(pair.model) for _ in range(ORDERS)], Columns()
    for t in range(steps):
        x, y = pair.samples(t)
        single.take(torch32.state())
        want, want64 = torch32.step(x, y), torch64.step(x, y)
        note("f64", relative(wick64.step(x, y, rate, t + 1), want64))
        note("step", relative(single.step(x, y, rate, t + 1), want))
        note("step_weights", apart(single.state(), torch32.weights(), True))
        far.note("wick", relative(own.step(x, y, rate, t + 1), want64))
        far.note(0, relative(want, want64))
        for i, other in enumerate(others):
            far.note(i + 1, relative(other.step(*reordered((x, y), i, t)), want64))
    note("wick", far["wick"])
    note("torch", far[0])
    note("weights", apart(wick64.state(), torch64.weights(), False))
    if pair.samples.held_out:
        columns["held_out"] = [100 * accuracy(p, pair.samples.held_out) for p in (own, torch32)]
    return far["wick"], [max(far[i], ROUNDING) for i in range(ORDERS + 1)]


def print_row(name, optimizer, w):
    """Whether it is within the limits."""
    ratio = w["wick"] / max(w["torch"], ROUNDING)
    held = "{:7.1f} {:7.1f}".format(*w["held_out"]) if "held_out" in w else ""
    print(f"{name:12}{optimizer:10}{w['f64']:9.1e}{w['weights']:9.1e}{w['step']:11.1e}"
          f"{w['step_weights']:9.1e}{w['wick']:10.1e}{w['torch']:9.1e}{ratio:8.2f}"
          f"{w['typical']:9.2f}  {held}", flush=True)
    return (w["f64"] <= LIMITS["f64"] and w["step"] <= LIMITS["step"] and
            ratio <= LIMITS["own"])


def agreement(options):
    print("f64 and own: each on its own; one step: in f32, each step from PyTorch's state")
    print(f"{options.steps} steps{'':13}{'f64 loss':>9}{'weights':>9}{'one step':>11}{'weights':>9}"
          f"{'own: Wick':>10}{'PyTorch':>9}{'ratio':>8}{'typical':>9}  {'held out: both, %':>15}")
    print(f"{'at most':22}{LIMITS['f64']:9.0e}{'':9}{LIMITS['step']:11.0e}{'':28}"
          f"{LIMITS['own']:8.1f}")
    good = True
    for name, optimizer in itertools.product(options.nets, options.optimizers):
        with tempfile.TemporaryDirectory() as folder:
            columns, lines = compare(Pair(pathlib.Path(folder), name, optimizer, options), options)
            good &= print_row(name, optimizer, columns)
            for line in lines:
                print(f"  {line}", flush=True)
    if options.epochs:
        with tempfile.TemporaryDirectory() as folder:
            good &= whole_run(pathlib.Path(folder), options)
    return good


def gradients(options):
    """The table of --gradients."""
    print(f"{'error of gradients, f32 to f64':50}{'Wick':>9}{'PyTorch':>9}{'ratio':>8}")
    for name, optimizer in itertools.product(options.nets, options.optimizers):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            make, samples, loss = NETS[name]
            samples, model = samples(options), make(folder)
            probe = package(folder, model, samples(0), loss, "momentum")
            g = parting.Gradients(model, nets.in_f64(model), probe, loss, optimizer)
            for t in range(options.steps):
                g.step(t, samples(t))
        for weight, kind, wick, other, ratio in g.rows():
            print(f"{name:12}{optimizer:10}{weight:24}{kind:4}{wick:9.1e}{other:9.1e}{ratio:8.2f}",
                  flush=True)


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
    p.add_argument("--gradients", action="store_true")
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
    if o.gradients:
        gradients(o)
        sys.exit(0)
    sys.exit(0 if agreement(o) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:4], int(sys.argv[4]), pathlib.Path(sys.argv[5]))
    else:
        main()
