#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the time to compile grows with the number of operators.

Chains of softmax (nests, operations in place), of concatenations, and of loops whose state is
copied. Prints seconds from the ONNX file to the placed program for each size, and the ratio of each
to the one before: 2 is linear, 4 would be quadratic.

  bench/compile_scaling.py [--wick build/wick] [--nodes 4000]
"""
import pathlib
import struct
import subprocess
import tempfile
import time

import cli


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number * 8 + 2) + varint(len(data)) + data


def integer(number, value):
    return varint(number * 8) + varint(value)


def tensor(name, dims, element=1):
    shape = b"".join(field(1, integer(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, integer(1, element) + field(2, shape)))


def node(op, inputs, outputs, *attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) +
            field(3, "the_" + outputs[0]) + field(4, op) +
            b"".join(field(5, a) for a in attributes))


def axis(n):
    return field(1, "axis") + integer(3, n) + integer(20, 2)


def axes(n):
    return field(1, "axes") + integer(8, n) + integer(20, 7)


def graph(name, nodes, inputs, outputs, constants=b""):
    return (b"".join(field(1, n) for n in nodes) + field(2, name) + constants +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def softmax(i, x, y):
    return [node("Softmax", [x], [y], axis(1))]


def concat(i, x, y):
    return [node("ReduceMax", [x], [f"a{i}"], axes(1)), node("ReduceMin", [x], [f"b{i}"], axes(1)),
            node("Concat", [f"a{i}", f"b{i}"] * 8, [y], axis(1))]


def loop(i, x, y):
    body = graph(f"body{i}", [node("Identity", [f"c{i}"], [f"again{i}"]),
                              node("ReduceMax", [f"s{i}"], [f"m{i}"], axes(1)),
                              node("Sub", [f"s{i}", f"m{i}"], [f"t{i}"])],
                 [tensor(f"k{i}", [], 7), tensor(f"c{i}", [], 9), tensor(f"s{i}", [8, 16])],
                 [tensor(f"again{i}", [], 9), tensor(f"t{i}", [8, 16])])
    return [node("Loop", ["trip", "", x], [y], field(1, "body") + integer(20, 5) + field(6, body))]


def model(step, count):
    nodes = [n for i in range(count) for n in step(i, f"x{i}", f"x{i + 1}")]
    trip = field(5, integer(2, 7) + field(9, struct.pack("<q", 3)) + field(8, "trip"))
    return integer(1, 8) + field(7, graph("chain", nodes, [tensor("x0", [8, 16])],
                                          [tensor(f"x{count}", [8, 16])], trip)) + field(
                                              8, integer(2, 13))


def seconds(wick, data, folder):
    (folder / "chain.onnx").write_bytes(data)
    started = time.monotonic()
    subprocess.run([wick, "compile", "chain.onnx", "--emit", "program", "-q", "-o", "/dev/null"],
                   cwd=folder, check=True)
    return time.monotonic() - started


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--wick", default=cli.WICK, type=pathlib.Path)
    parser.add_argument("--nodes", default=4000, type=int)
    args = parser.parse_args()
    wick = cli.wick(args.wick)
    sizes = [args.nodes * k for k in (1, 2, 4)]
    print("chain     " + "".join(f"{n:>10}" for n in sizes) + "    ratios")
    with tempfile.TemporaryDirectory() as folder:
        for step in (softmax, concat, loop):
            t = [seconds(wick, model(step, n), pathlib.Path(folder)) for n in sizes]
            print(f"{step.__name__:10}" + "".join(f"{s:9.2f}s" for s in t) +
                  f"    {t[1] / t[0]:.1f} {t[2] / t[1]:.1f}")


if __name__ == "__main__":
    main()
