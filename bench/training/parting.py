# SPDX-License-Identifier: Apache-2.0
"""Why runs of training in f32 part from the one in f64, and how exact their gradients are.

Which side of its kink a ReLU is on, and which element a maximum is, are the sides of a step.
Distances are of first moments, which what a step does wrong goes into at once, or without them of
the weights in units of the rate: of all together, the root of the sum of squares.
"""
import peers
from training.runs import OPTIMIZERS, Torch, Wick
from training.torch_model import halves

np, torch = peers.Module("numpy"), peers.Module("torch")
F = peers.Module("torch.nn.functional")

JUMP = 3.0  # how many times as far a run must be after a step for that step to be told
SOME = 24  # sides that are tried: those nearest to their kinks


# ---- sides ---------------------------------------------------------------------------------------

def relu(given, moved):
    def run(a, x):
        x = moved(a["output"], x)
        side = given(a["output"], x, x > 0)
        return torch.where(side, x, torch.zeros_like(x))
    return run


def max_pool(given, moved):
    def run(a, x):
        x = moved(a["output"], x)
        _, side = F.max_pool2d(x, a["kernel_shape"], a.get("strides", 1),
                               halves(a.get("pads", [0] * 4)), return_indices=True)
        side = given(a["output"], x, side)
        return x.flatten(2).gather(2, side.flatten(2)).view(side.shape)
    return run


class Sides:
    """Of the last step of a Torch: taken, what each is by the name of its result; values, what it
    is of. For the next steps, by the same names: forced, what they are to be; moves, what is to be
    added to values, {place: number}."""

    def __init__(self, peer):
        self.taken, self.values, self.forced, self.moves = {}, {}, {}, {}
        peer.net.operators.update(Relu=relu(self.given, self.moved),
                                  MaxPool=max_pool(self.given, self.moved))

    def moved(self, name, x):
        more = torch.zeros_like(x)
        for at, number in self.moves.get(name, {}).items():
            more[at] = number
        return x + more

    def given(self, name, x, side):
        self.values[name] = x.detach()
        self.taken[name] = self.forced.get(name, side)
        return self.taken[name]

    def margin(self, name, at, other):
        """How far the value is from its kink, or from the one that `other` says."""
        x, side = self.values[name], self.taken[name]
        if side.dtype == torch.bool:
            return abs(float(x[at]))
        plane = x[at[:2]].flatten()
        return abs(float(plane[side[at]] - plane[other]))


# ---- one step of two runs ------------------------------------------------------------------------

def distance(a, b, names):
    return float(np.sqrt(sum(((a[n].astype(np.float64) - b[n]) ** 2).sum() for n in names)))


def differing(ours, theirs):
    """(name, place) of the sides that are not the same, of Sides."""
    return [(name, tuple(int(i) for i in at)) for name, side in ours.items()
            for at in (side != theirs[name]).nonzero()]


class Follower:
    """A run in f32, and what f64 makes of each of its states."""

    def __init__(self, run, judge, sides):
        self.run, self.judge, self.sides = run, judge, sides
        self.name = "Wick" if isinstance(run, Wick) else "PyTorch"
        self.far = 0.0

    def ahead(self, before, t, sample, forced=None, moves=None):
        """The state after a step in f64 from the state before, with such Sides."""
        self.sides.forced, self.sides.moves = forced or {}, moves or {}
        self.judge.take(before, t)
        self.judge.step(*sample)
        return self.judge.state()


def place_of(name, at):
    return f"{name}[{','.join(map(str, at))}]"


def tell_sides(f, which, other):
    """The sides nearest to their kinks, of those that differ."""
    near = sorted(which, key=lambda w: f.sides.margin(*w, other[w[0]][w[1]]))[:2]
    texts = [f"{place_of(*w)} is {f.sides.margin(*w, other[w[0]][w[1]]):.1e} from its kink"
             for w in near]
    count = "1 side differs" if len(which) == 1 else f"{len(which)} sides differ"
    return f"{count} ({'; '.join(texts)})"


def tell_noise(f, before, got, want, names):
    """The weight whose step differs most: the gradient that its optimiser made a step of."""
    name = max(names, key=lambda n: np.abs(got[n] - want[n]).max())
    at = np.unravel_index(np.abs(got[name] - want[name]).argmax(), got[name].shape)
    gradient = f.judge.net.weights[name].grad.numpy()
    return (f"{place_of(name, at)} moves by {got[name][at] - before[name][at]:.2e} instead of "
            f"{want[name][at] - before[name][at]:.2e}; its gradient is {gradient[at]:.1e}, the "
            f"largest of the tensor {np.abs(gradient).max():.1e}")


class Parting:
    """Follows the runs of a seed and tells each step after which one is JUMP times as far from
    the run in f64 as before, and why: step(0, sample), step(1, sample), …"""

    def __init__(self, model, wide, package, loss, optimizer):
        self.rate = OPTIMIZERS[optimizer][1]["lr"]
        self.exact = Torch(wide, loss, optimizer)
        self.exact_sides, self.narrow = Sides(self.exact), Torch(model, loss, optimizer)
        self.narrow_sides = Sides(self.narrow)
        self.names, self.followers = list(self.exact.net.weights), []
        has_moments = "m" in self.exact.moments
        self.measured = [f"{n}.m" for n in self.names] if has_moments else self.names
        self.unit = 1.0 if has_moments else self.rate
        for run in Wick(package, model), Torch(model, loss, optimizer):
            judge = Torch(wide, loss, optimizer)
            self.followers.append(Follower(run, judge, Sides(judge)))

    def apart(self, a, b):
        return distance(a, b, self.measured) / self.unit

    def step(self, t, sample):
        """What there is to tell of this step, a line for each run."""
        self.exact.step(*sample)
        return [line for f in self.followers for line in self.follow(f, t, sample)]

    def follow(self, f, t, sample):
        before, far = f.run.state(), f.far
        f.run.step(*sample, *([self.rate, t + 1] if f.name == "Wick" else []))
        after, f.far = f.run.state(), self.apart(f.run.state(), self.exact.state())
        if t == 0 or f.far < JUMP * far:
            return []
        want = f.ahead(before, t, sample)
        local = self.apart(after, want)
        head = f"step {t + 1}: {f.name} comes from {far:.1e} to {f.far:.1e} from f64"
        if 2 * local < f.far:
            return [f"{head}: {self.by_state(f, before, t, sample, local)}"]
        text = self.by_rounding(f, before, after, want, t, sample)
        return [f"{head}, by rounding in this step: {text}"]

    def by_state(self, f, before, t, sample, local):
        """Where f64 itself, from this run's weights, takes other sides than from its own."""
        which = differing(f.sides.taken, self.exact_sides.taken)
        if not which:
            return "the same step in f64 goes there, with the same sides"
        text = tell_sides(f, which, self.exact_sides.taken)
        forced = f.ahead(before, t, sample, dict(self.exact_sides.taken))
        return (f"so does f64 from its weights ({local:.1e} away), where {text}; with the sides of "
                f"the run in f64 it comes to {self.apart(forced, self.exact.state()):.1e}")

    def by_rounding(self, f, before, after, want, t, sample):
        """The sides, near to their kinks, with which f64 makes this step: those where it does when
        their values are moved across."""
        self.narrow.take(before, t)
        self.narrow.step(*sample)
        local, moves, chosen = self.apart(after, want), {}, []
        for name, at, move, rounding in self.candidates(f):
            trial = {**moves, name: {**moves.get(name, {}), at: move}}
            reached = self.apart(after, f.ahead(before, t, sample, None, trial))
            if reached < 0.9 * local:
                local, moves = reached, trial
                chosen.append(f"{place_of(name, at)} is {abs(move) / 2:.1e} from its kink in f64, "
                              f"where rounding moves values by up to {rounding:.1e}")
        f.ahead(before, t, sample)
        if not chosen:
            return tell_noise(f, before, after, want, self.names)
        return (f"{'; '.join(chosen)}; beyond {'it' if len(chosen) == 1 else 'them'} f64 makes the "
                f"same step, but for {local:.1e}")

    def candidates(self, f):
        """(name, place of a value, what takes it as far beyond its kink, rounding of the values),
        those first that are the nearest for their rounding."""
        out = []
        for name, x in f.sides.values.items():
            rounding = float((self.narrow_sides.values[name].double() - x).abs().max())
            side = f.sides.taken[name]
            margins, places = (x.abs(), None) if side.dtype == torch.bool else rivals(x, side)
            for i in margins.flatten().argsort()[:SOME]:
                at = place = tuple(int(k) for k in np.unravel_index(int(i), margins.shape))
                move = 2 * float(margins[at])
                if places is not None:
                    place = at[:2] + tuple(int(k) for k in
                                           np.unravel_index(int(places[at]), x.shape[2:]))
                elif x[at] > 0:
                    move = -move
                out.append((name, place, move, rounding))
        return sorted(out, key=lambda c: abs(c[2]) / max(c[3], 1e-300))[:SOME]


def rivals(x, side):
    """Of windows of equal size side by side: how far the second largest is below the largest, and
    where it is. Where they are equal, in f32 as well the first is taken: infinitely far."""
    top = x.flatten(2).gather(2, side.flatten(2)).view(side.shape)
    hidden = x.flatten(2).scatter(2, side.flatten(2), -float("inf")).view(x.shape)
    value, at = F.max_pool2d(hidden, [a // b for a, b in zip(x.shape[2:], side.shape[2:])],
                             return_indices=True)
    far = top - value
    return torch.where(far > 0, far, torch.full_like(far, float("inf"))), at


# ---- gradients -----------------------------------------------------------------------------------

class Gradients:
    """How exact each weight's gradient is at each step of PyTorch's run in f32: Wick's and
    PyTorch's, beside that in f64 from the same weights; root of the mean square and largest, over
    that of the gradient. Wick's are the first moments of steps of `momentum`."""

    def __init__(self, model, wide, package, loss, optimizer):
        self.run, self.probe = Torch(model, loss, optimizer), Wick(package, model)
        self.exact, self.errors = Torch(wide, loss, "momentum"), {}

    def step(self, t, sample):
        state = {n: w.copy() for n, w in self.run.weights().items()}
        self.exact.take(state, 0)
        self.probe.take({**state, **{f"{n}.m": 0 for n in state}})
        self.probe.step(*sample, 0.0, t + 1)
        self.exact.step(*sample)
        self.run.step(*sample)
        for name in state:
            want = self.exact.net.weights[name].grad.numpy()
            for who, got in enumerate((self.probe.model.states[f"{name}.m"],
                                       self.run.net.weights[name].grad.numpy())):
                self.note(name, who, got - want, want)

    def note(self, name, who, error, want):
        rms = lambda v: float(np.sqrt((v ** 2).mean()))
        largest = lambda v: float(np.abs(v).max())
        for kind, size in ("rms", rms), ("max", largest):
            if size(want) > 0:
                self.errors.setdefault((name, kind), ([], []))[who].append(
                    size(error) / size(want) + 1e-12)

    def rows(self):
        """(weight, kind, Wick's, PyTorch's, ratio), means of logarithms over the steps."""
        for (name, kind), pair in self.errors.items():
            wick, other = (float(np.exp(np.mean(np.log(e)))) for e in pair)
            yield name, kind, wick, other, wick / other
