# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks need of Wick and of its peers, found when it is needed and not before.

A benchmark first parses its options, then calls need() and wick(), so --help works without the
peers and without a build. What is missing ends the program with one line.
"""
import argparse
import importlib
import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("WICK_BUILD", ROOT / "build"))
VENV = BUILD / "bench-venv"


class Module:
    """A module that is imported when something of it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self._name), attribute)


def die(text, status=1):
    print(f"bench/{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(status)


def need(*modules):
    """Goes on in the environment of bench/setup when this Python lacks one of the modules."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if not missing:
        return
    python = VENV / "bin/python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(python, [str(python), *sys.argv])
    die(f"needs the Python packages {', '.join(missing)}: run bench/setup")


def wick(build=BUILD):
    """The command that is measured."""
    path = pathlib.Path(build) / "wick"
    if not path.exists():
        die(f"there is no {path}: run scripts/build")
    return path


class Options(argparse.ArgumentParser):
    def error(self, message):
        die(message, 2)


def options(doc):
    """A parser whose --help shows the whole text at the top of a benchmark."""
    return Options(description=doc, allow_abbrev=False,
                   formatter_class=argparse.RawDescriptionHelpFormatter)
