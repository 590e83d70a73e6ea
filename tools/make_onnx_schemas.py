#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes compiler/onnx/schemas*.def: arities and attributes of ONNX operators by opset, as the
packages onnx and ONNX Runtime (for com.microsoft) define them.

  bench/setup                          once: a virtual environment with the peers
  tools/make_onnx_schemas.py [--out FOLDER]
"""
import pathlib
import sys
import textwrap

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import cli
import peers

defs = peers.Module("onnx.defs")
state = peers.Module("onnxruntime.capi.onnxruntime_pybind11_state")

HEAD = """\
/* SPDX-License-Identifier: Apache-2.0
 * Arities and attributes of operators, supported or not, sorted by domain, name and opset. Written
 * by tools/make_onnx_schemas.py from the package %s.
 * ONNX_SCHEMA(domain, name, since, min_in, max_in, min_out, max_out, attributes)
 *
 *   since       first opset for which this holds; it ends with the next row of the operator
 *   min_… max_… number of inputs and of outputs; -1: any number
 *   attributes  "name:kind", in order, '!' behind those that must be given */
"""


def own():
    return [s for s in defs.get_all_schemas_with_history() if not s.deprecated]


def contributed():
    return [s for s in state.get_all_operator_schema() if s.domain == "com.microsoft"]


def described(schema):
    def count(n):
        return -1 if n > 1 << 30 else n

    def kind(attribute):
        return str(attribute.type).split(".")[-1].split(":")[0].lower()

    attributes = " ".join(f"{k}:{kind(a)}{'!' * a.required}"
                          for k, a in sorted(schema.attributes.items()))
    return (*map(count, (schema.min_input, schema.max_input, schema.min_output,
                         schema.max_output)), attributes)


def row(schema):
    *counts, attributes = described(schema)
    start = f'ONNX_SCHEMA("{schema.domain}", "{schema.name}", {schema.since_version}, '
    start += ", ".join(map(str, counts)) + ","
    if len(start) + len(attributes) + 4 <= 100:
        return f'{start} "{attributes}")\n'
    lines = textwrap.wrap(attributes, 85, break_long_words=False)
    text = "".join(f'\n            "{line} "' for line in lines)
    return f'{start}{text[:-2]}")\n'


def write(path, package, schemas):
    rows, last = [], None
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        this = (schema.domain, schema.name, described(schema))
        if this != last:
            rows.append(row(schema))
        last = this
    path.write_text(HEAD % package + "".join(rows))


def main():
    parser = cli.options(__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=cli.ROOT / "compiler/onnx")
    out = parser.parse_args().out
    peers.need("onnx", "onnxruntime")
    write(out / "schemas.def", "onnx", own())
    write(out / "schemas_microsoft.def", "onnxruntime", contributed())


if __name__ == "__main__":
    main()
