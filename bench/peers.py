# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks need of the peers of Wick, found when it is needed and not before.

A benchmark first parses its options, then calls need(), so --help works without the peers. What is
missing ends the program with one line.
"""
import importlib
import importlib.util
import os
import pathlib
import sys

import cli

VENV = cli.BUILD / "bench-venv"


class Module:
    """A module that is imported when something of it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self._name), attribute)


def has(module):
    """Whether this Python has a module, a.b too, without importing more than a."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def need(*modules):
    """Goes on in the environment of bench/setup when this Python lacks one of the modules."""
    missing = [m for m in modules if not has(m)]
    if not missing:
        return
    python = VENV / "bin/python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    cli.die(f"needs the Python packages {', '.join(missing)}: run bench/setup")
