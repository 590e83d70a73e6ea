# SPDX-License-Identifier: Apache-2.0
"""Packages of Wick in Python: the structures of runtime/wick.h, models, sessions and states."""
import ctypes

import cli
import peers

np = peers.Module("numpy")
DTYPES = {1: "float32", 4: "float64", 7: "int32", 8: "int64", 13: "bool"}
c_string, u32, u64 = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64


class TensorInfo(ctypes.Structure):
    _fields_ = [("size", u32), ("name", c_string), ("dtype", ctypes.c_int), ("rank", u32),
                ("dims", ctypes.c_int64 * 8), ("bytes", ctypes.c_size_t),
                ("align", ctypes.c_size_t), ("bits", u32), ("is_bound", ctypes.c_int),
                ("strides", ctypes.c_int64 * 8), ("place", ctypes.c_int), ("index", u32),
                ("offset", ctypes.c_int64)]

    def describe(self):
        if self.size != ctypes.sizeof(TensorInfo):
            cli.die(f"libwick.so has a wick_tensor_info of {self.size} bytes")
        return self.name.decode(), [self.dims[k] for k in range(self.rank)], DTYPES[self.dtype]


class EntryInfo(ctypes.Structure):
    """As far as it is used here: there are only pointers to such ones."""
    _fields_ = [("size", u32), ("name", c_string), ("inputs_n", u32), ("outputs_n", u32),
                ("steps_n", u32), ("has_steps", ctypes.c_int),
                ("inputs", ctypes.POINTER(TensorInfo)), ("outputs", ctypes.POINTER(TensorInfo))]


class StateInfo(ctypes.Structure):
    _fields_ = [("size", u32), ("tensor", ctypes.POINTER(TensorInfo)), ("is_public", ctypes.c_int)]


class ModelInfo(ctypes.Structure):
    """As far as it is used here."""
    _fields_ = [("size", u32), ("name", c_string), ("compiler", c_string), ("flags", c_string),
                ("input_hash", u64), ("file_bytes", u64), ("format_version", u32),
                ("entries_n", u32), ("units_n", u32), ("states_n", u32), ("sections_n", u32),
                ("units", ctypes.c_void_p), ("states", ctypes.POINTER(StateInfo))]


def aligned(shape, dtype):
    count = int(np.prod(shape)) if shape else 1
    raw = np.zeros(count * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + count * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


class Session:
    """inputs and outputs: arrays by name; outputs change with each run()."""

    def __init__(self, model, entry, threads):
        info = model.lib.wick_model_entry(model.handle, entry).contents
        self.model, self.handle = model, ctypes.c_void_p()
        model.call("wick_session_create", model.handle, entry, threads, ctypes.byref(self.handle))
        if model.state:
            model.call("wick_session_bind_state", self.handle, model.state)
        self.inputs, self.outputs = (
            {name: aligned(shape, dtype) for name, shape, dtype in
             (infos[i].describe() for i in range(n))}
            for infos, n in ((info.inputs, info.inputs_n), (info.outputs, info.outputs_n)))
        pointers = [(ctypes.c_void_p * len(ports))(*[a.ctypes.data for a in ports.values()])
                    for ports in (self.inputs, self.outputs)]
        self.args = (self.handle, *pointers)

    def feed(self, values):
        for name, array in self.inputs.items():
            array[...] = values[name]

    def run(self):
        self.model.call("wick_session_run", *self.args)

    def close(self):
        self.model.lib.wick_session_free(self.handle)


class Model:
    """A package. states: arrays by name, which all its sessions share and which may be written
    between runs; entries: names in order."""

    def __init__(self, package, build=None):
        self.lib = ctypes.CDLL(str((build or cli.BUILD) / "libwick.so"))
        self.lib.wick_model_entry.restype = ctypes.POINTER(EntryInfo)
        self.lib.wick_model_describe.restype = ctypes.POINTER(ModelInfo)
        self.lib.wick_state_data.restype = ctypes.c_void_p
        self.lib.wick_status_text.restype = c_string
        self.lib.wick_session_free.restype = None
        self.handle, self.state, self.states = ctypes.c_void_p(), None, {}
        self.call("wick_model_load", str(package).encode(), None, ctypes.byref(self.handle))
        info = self.lib.wick_model_describe(self.handle).contents
        self.entries = [self.lib.wick_model_entry(self.handle, i).contents.name.decode()
                        for i in range(info.entries_n)]
        if info.states_n:
            self.state = ctypes.c_void_p()
            self.call("wick_state_new", self.handle, ctypes.byref(self.state))
        for i in range(info.states_n):
            name, shape, dtype = info.states[i].tensor.contents.describe()
            size = info.states[i].tensor.contents.bytes
            data = self.lib.wick_state_data(self.state, i)
            self.states[name] = np.frombuffer((ctypes.c_char * size).from_address(data),
                                              dtype).reshape(shape)

    def call(self, function, *args):
        status = getattr(self.lib, function)(*args)
        if status:
            cli.die(f"{function}: {self.lib.wick_status_text(status).decode()}")

    def session(self, entry=0, threads=1):
        """entry: its number or name."""
        return Session(self, entry if isinstance(entry, int) else self.entries.index(entry),
                       threads)
