#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/onnx/Drawn*: many forms of each standard operator, of several opsets, drawn so that
the first and the last axis, pad and group count as much as the others. ONNX Runtime and ONNX's
reference evaluator answer; where they differ, the form names the one that follows the text of the
standard, or is left out. Of opsets before 7 NumPy answers.

  bench/setup                          once: a virtual environment with the peers
  tests/make/make_drawn_cases.py [--out FOLDER] [FAMILY...]
"""
import importlib
import pathlib
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import cli
import peers

FAMILIES = ("windows", "layouts", "numbers", "places", "steps", "elements", "old", "attention")


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "tests/onnx")
    parser.add_argument("only", nargs="*", metavar="FAMILY")
    options = parser.parse_args()
    peers.need("numpy", "onnx", "onnxruntime")
    for family in options.only or FAMILIES:
        for cases in importlib.import_module(f"drawn.{family}").CASES:
            cases(options.out)


if __name__ == "__main__":
    main()
