#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A copy of an ONNX model whose first axis is a symbol: for models exported for one image.

  bench/symbolic_batch.py MODEL.onnx [--out batch.onnx] [--symbol batch]

The first axis of every input and output that has size 1 becomes the symbol; what the file says of
shapes in between is left out; a Reshape to a constant shape that begins with 1 takes that axis from
its operand. Whatever else is made for one image, the compiler refuses when the symbol is bound:

  wick compile batch.onnx --target accel --bind batch=4
"""
import pathlib
import struct

import cli

# Field numbers of onnx.proto.
GRAPH = 7
NODE, INITIALIZER, INPUT, OUTPUT, VALUE_INFO = 1, 5, 11, 12, 13
NODE_INPUT, NODE_OP = 1, 4
TENSOR_DIMS, TENSOR_TYPE, TENSOR_INT64, TENSOR_NAME, TENSOR_RAW = 1, 2, 7, 8, 9
INFO_NAME, INFO_TYPE = 1, 2
DIM_VALUE, DIM_PARAM = 1, 2
INT64 = 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_fields(data):
    """(number, wire type, value) of a message, in order; value: an integer, or bytes."""
    at, fields = 0, []
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == VARINT:
            value, at = read_varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(key & 7)
            if size is None:
                size, at = read_varint(data, at)
            if at + size > len(data):
                raise IndexError
            value = data[at:at + size]
            at += size
        fields.append((key >> 3, key & 7, value))
    return fields


def write_fields(fields):
    out = []
    for number, kind, value in fields:
        out.append(varint(number << 3 | kind))
        if kind == VARINT:
            out.append(varint(value))
            continue
        if kind == BYTES:
            out.append(varint(len(value)))
        out.append(value)
    return b"".join(out)


def first(message, number):
    return next((value for n, _, value in read_fields(message) if n == number), None)


def change(message, path, edit):
    """The message with edit(value) for the first field along the path of numbers."""
    fields, done = [], False
    for number, kind, value in read_fields(message):
        if number == path[0] and not done:
            value = change(value, path[1:], edit) if len(path) > 1 else edit(value)
            done = True
        fields.append((number, kind, value))
    return write_fields(fields)


def with_symbol(info, symbol):
    """A ValueInfoProto: type, tensor_type, shape, first dim."""
    def edit(dim):
        return write_fields([(DIM_PARAM, BYTES, symbol)]) if first(dim, DIM_VALUE) == 1 else dim
    return change(info, (INFO_TYPE, 1, 2, 1), edit)


def with_first_axis_taken(tensor):
    """A shape as a TensorProto: 0 in the place of a first 1 means the operand's own size."""
    fields = read_fields(tensor)
    numbers = {number: value for number, _, value in fields}
    raw = bytes(numbers.get(TENSOR_RAW, b""))
    if numbers.get(TENSOR_TYPE) != INT64 or raw[:8] != struct.pack("<q", 1):
        return tensor
    return write_fields([(n, kind, struct.pack("<q", 0) + raw[8:] if n == TENSOR_RAW else value)
                         for n, kind, value in fields])


def graph_with_symbol(graph, symbol):
    fields = read_fields(graph)
    constants = {bytes(first(value, TENSOR_NAME) or b"")
                 for number, _, value in fields if number == INITIALIZER}
    shapes = set()
    for number, _, value in fields:
        if number == NODE and first(value, NODE_OP) == b"Reshape":
            shapes.add([bytes(v) for n, _, v in read_fields(value) if n == NODE_INPUT][1])
    out = []
    for number, kind, value in fields:
        if number == VALUE_INFO:
            continue
        is_free = number == INPUT and bytes(first(value, INFO_NAME)) not in constants
        if number == OUTPUT or is_free:
            value = with_symbol(value, symbol)
        elif number == INITIALIZER and bytes(first(value, TENSOR_NAME) or b"") in shapes:
            value = with_first_axis_taken(value)
        out.append((number, kind, value))
    return write_fields(out)


def main():
    p = cli.options(__doc__)
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--out", default="batch.onnx", type=pathlib.Path)
    p.add_argument("--symbol", default="batch")
    o = p.parse_args()
    symbol = o.symbol.encode()
    try:
        model = memoryview(o.model.read_bytes())
        made = change(model, (GRAPH,), lambda graph: graph_with_symbol(graph, symbol))
        o.out.write_bytes(made)
    except OSError as error:
        cli.die(f"{error.filename}: {error.strerror}")
    except IndexError:
        cli.die(f"{o.model}: is no ONNX model")


if __name__ == "__main__":
    main()
