#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/grad/kinks.def: derivatives of elementwise operators by PyTorch, in f32, at kinks,
where operands tie, and at numbers whose exponentials overflow. What PyTorch has no finite number
for is left out.

  apt-get install python3-torch      1.13, Debian's, which wrote the file in the tree
  tests/make/make_gradient_kinks.py [--out FILE]
"""
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

torch, F = peers.Module("torch"), peers.Module("torch.nn.functional")

POINTS = [-1e4, -88, -3, -1, -0.5, -0.0, 0.0, 0.5, 1, 2, 3, 88, 1e4]
PAIRS = [(1, 1), (0, 0), (-2, -2), (1, 2), (2, 1), (-3, 2), (3, -2), (0, 2), (2, 0), (0.5, 3),
         (1e4, 88), (88, 1e4), (-88, 88), (1e4, -1e4), (7.5, 2), (-7.5, 2), (2, 0.5), (0, 0.5)]

# Operator, its attributes as text, the same in PyTorch.
UNARY = [
    ("abs", "", lambda x: x.abs()), ("neg", "", lambda x: -x),
    ("sqrt", "", lambda x: x.sqrt()), ("reciprocal", "", lambda x: x.reciprocal()),
    ("exp", "", lambda x: x.exp()), ("log", "", lambda x: x.log()),
    ("sin", "", lambda x: x.sin()), ("cos", "", lambda x: x.cos()),
    ("tan", "", lambda x: x.tan()), ("asin", "", lambda x: x.asin()),
    ("acos", "", lambda x: x.acos()), ("atan", "", lambda x: x.atan()),
    ("sinh", "", lambda x: x.sinh()), ("cosh", "", lambda x: x.cosh()),
    ("asinh", "", lambda x: x.asinh()), ("acosh", "", lambda x: x.acosh()),
    ("atanh", "", lambda x: x.atanh()), ("tanh", "", lambda x: x.tanh()),
    ("erf", "", lambda x: x.erf()), ("sigmoid", "", lambda x: x.sigmoid()),
    ("relu", "", lambda x: x.relu()), ("leaky_relu", "alpha=0.25", lambda x: F.leaky_relu(x, .25)),
    ("thresholded_relu", "alpha=1.0", lambda x: F.threshold(x, 1, 0)),
    ("elu", "alpha=1.5", lambda x: F.elu(x, 1.5)), ("selu", "", lambda x: F.selu(x)),
    ("celu", "alpha=2.0", lambda x: F.celu(x, 2.)), ("softplus", "", lambda x: F.softplus(x)),
    ("softsign", "", lambda x: F.softsign(x)),
    ("hard_sigmoid", "alpha=0.16666666666666666, beta=0.5", lambda x: F.hardsigmoid(x)),
    ("hard_swish", "", lambda x: F.hardswish(x)), ("silu", "", lambda x: F.silu(x)),
    ("gelu", "", lambda x: F.gelu(x)),
    ("gelu_tanh", "", lambda x: F.gelu(x, approximate="tanh")),
    ("mish", "", lambda x: F.mish(x)),
    ("shrink", "lambd=0.5, bias=0.5", lambda x: F.softshrink(x, .5)),
    ("shrink", "lambd=0.5, bias=0.0", lambda x: F.hardshrink(x, .5)),
    ("clip", "lo=-1.0, hi=2.0", lambda x: x.clamp(-1, 2)),
    ("floor", "", lambda x: x.floor()), ("round", "", lambda x: x.round()),
    ("sign", "", lambda x: x.sign()),
]
BINARY = [
    ("add", "", lambda a, b: a + b), ("sub", "", lambda a, b: a - b),
    ("mul", "", lambda a, b: a * b), ("div", "", lambda a, b: a / b),
    ("pow", "", lambda a, b: a ** b), ("min", "", lambda a, b: torch.minimum(a, b)),
    ("max", "", lambda a, b: torch.maximum(a, b)),
    ("mod", "", lambda a, b: torch.remainder(a, b)), ("fmod", "", lambda a, b: torch.fmod(a, b)),
    ("prelu", "", lambda a, b: torch.where(a > 0, a, a * b)),
]
# x and scale; the zero point is 4: both definitions round ties alike then.
STRAIGHT = [("fake_quantize", "lo=-8.0, hi=7.0", lambda x, s:
             torch._fake_quantize_learnable_per_tensor_affine(
                 x, s.reshape(1), torch.tensor([4.]), -8, 7, 1.))]
CODES = [(x, s) for s in (0.5, 0.25) for x in (-1e4, -5.8, -5.75, -5.5, -1, -0.25, -0.0, 0.0, 0.1,
                                              0.25, 0.75, 1.3, 2, 2.1, 2.25, 2.3, 88, 1e4)]


def leaf(value):
    return torch.tensor(float(value), dtype=torch.float32, requires_grad=True)


def derivatives(function, *values):
    """What each operand gets of an adjoint of 1; None: a value or derivative is not finite."""
    operands = [leaf(v) for v in values]
    y = function(*operands)
    if not y.isfinite():
        return None
    y.backward()
    got = [x.grad for x in operands]
    return [float(g) for g in got] if all(g.isfinite() for g in got) else None


def rows():
    for name, attrs, function in UNARY:
        for x in POINTS:
            got = derivatives(function, x)
            if got:
                yield f'KINK({name}, "{attrs}", {float(x)!r}, 0, {got[0]!r}, 0)'
    for table, pairs in ((BINARY, PAIRS), (STRAIGHT, CODES)):
        for name, attrs, function in table:
            for a, b in pairs:
                got = derivatives(function, a, b)
                if got:
                    yield (f'KINK({name}, "{attrs}", {float(a)!r}, {float(b)!r}, {got[0]!r}, '
                           f'{got[1]!r})')


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/grad/kinks.def")
    args = parser.parse_args()
    peers.need("torch")
    text = "\n".join(rows())
    args.out.write_text(
        "/* SPDX-License-Identifier: Apache-2.0\n"
        f" * By tests/make/make_gradient_kinks.py with PyTorch {torch.__version__}.\n"
        " * KINK(operator, attributes, a, b, what a gets, what b gets) for an adjoint of 1 */\n"
        + text + "\n")
    print(f"{args.out}: {text.count(chr(10)) + 1} rows")


if __name__ == "__main__":
    main()
