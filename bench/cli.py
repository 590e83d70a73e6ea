# SPDX-License-Identifier: Apache-2.0
"""The command line of the Python programs of bench, tools, tests/make and scripts.

A program first parses its options(), then asks for wick(), so --help works without a build. What is
wrong ends the program with one line, die(): exit status 2 for a mistake in the options, else 1.
WICK_BUILD and WICK name another build folder and another wick than those of the tree.
"""
import argparse
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("WICK_BUILD", ROOT / "build"))
WICK = pathlib.Path(os.environ.get("WICK", BUILD / "wick"))


def die(text, status=1):
    program = pathlib.Path(sys.argv[0]).resolve().relative_to(ROOT)
    print(f"{program}: {text}", file=sys.stderr)
    sys.exit(status)


def wick(path=WICK):
    """The command that is measured, as an absolute path."""
    found = shutil.which(path)
    if not found:
        die(f"there is no {path}: run scripts/build")
    return pathlib.Path(found).resolve()


class Options(argparse.ArgumentParser):
    def error(self, message):
        die(message, 2)


def options(doc):
    """A parser whose --help shows the whole text at the top of a program."""
    return Options(description=doc, allow_abbrev=False,
                   formatter_class=argparse.RawDescriptionHelpFormatter)


def at_least(low):
    """The type of an option that is a whole number of `low` or more, exact as a float."""
    def number(text):
        value = int(text) if re.fullmatch(r"-?[0-9]{1,16}", text) else low - 1
        if not low <= value < 2 ** 53:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {low} or more")
        return value
    return number


def expression(text):
    """The type of an option that is a regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def quantised_models(words):
    """Files of the models, or folders of one, that were named; else the two large networks of
    ../shared/models that are there, else those of tests/nets/int8."""
    shared = ROOT.parent / "shared/models"
    if not words:
        words = [shared / n for n in ("resnet50_qdq", "mobilenet_v2_qdq") if (shared / n).is_dir()]
        words = words or sorted((ROOT / "tests/nets/int8").iterdir())
    files = [p / "model.onnx" if p.is_dir() else p for p in map(pathlib.Path, words)]
    for file in files:
        if not file.is_file():
            die(f"there is no {file}")
    return files
