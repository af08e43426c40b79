"""Reads the arrays of state dicts saved by PyTorch, without PyTorch.

Both of its formats can be read: a zip file and, from before version 1.6, a
series of pickles followed by the numbers. No code that a file names is run.
"""

import io
import math
import os
import pickle
import zipfile
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from keras_elmo.formats.array_tables import naming_file

_ZIP = b"PK\x03\x04"
_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
# Bytes of one pickle, which has some 200 for each tensor.
_MOST = 1 << 20
# Sizes and strides of a tensor; the product of thousands would take hours.
_MOST_SIZES = 65


class _Storage(NamedTuple):
    """A one-dimensional array of numbers, of which tensors are views."""

    key: str
    dtype: str


class _Tensor(NamedTuple):
    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_state_dict(content, label):
    """Reads a state dict, without running any code that the file names.

    Args:
        content: The bytes of the file.
        label: The file's name in messages.

    Returns:
        Dictionary from name to array.

    Raises:
        ValueError: If it is not a state dict, is corrupt, was written on a
            machine with another byte order, or contains anything but tensors.
    """
    with naming_file(f"state dict '{label}'"):
        if content.startswith(_ZIP):
            return _read_zip(content)
        return _read_legacy(content)


def _read_zip(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()
        # Uncompressed parts cannot be larger than the file.
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            raise ValueError("it is compressed, unlike PyTorch's zip files")
        if sum(info.file_size for info in infos) > len(content):
            raise ValueError("its parts are larger than the whole")
        # All are in one folder, which can have any name.
        parts = {i.filename.partition("/")[2]: archive.read(i) for i in infos}
    _check_order(parts.get("byteorder", b"little") == b"little")
    tensors = _unpickle(io.BytesIO(parts.get("data.pkl", b"")))
    numbers = {}
    for key, dtype in _dtypes(tensors).items():
        if f"data/{key}" not in parts:
            raise ValueError(f"it lacks the part 'data/{key}'")
        numbers[key] = np.frombuffer(parts[f"data/{key}"], dtype)
    return _arrays(tensors, numbers)


def _read_legacy(content):
    file = io.BytesIO(content)
    if _unpickle(file) != _MAGIC_NUMBER:
        raise ValueError("it was not written by `torch.save`")
    if _unpickle(file) != _PROTOCOL_VERSION:
        raise ValueError("it is from an unknown version of `torch.save`")
    system = _unpickle(file)
    _check_order(isinstance(system, dict) and system.get("little_endian"))
    tensors = _unpickle(file)
    dtypes = _dtypes(tensors)
    keys = _unpickle(file)
    is_list = isinstance(keys, list) and all(isinstance(k, str) for k in keys)
    if not is_list or sorted(keys) != sorted(dtypes):
        raise ValueError("it does not list the numbers of its tensors")
    numbers = {}
    for key in keys:
        # The number of elements comes first.
        count = int.from_bytes(file.read(8), "little")
        numbers[key] = np.frombuffer(content, dtypes[key], count, file.tell())
        file.seek(numbers[key].nbytes, os.SEEK_CUR)
    return _arrays(tensors, numbers)


def _check_order(is_little):
    if not is_little:
        raise ValueError("its tensor data is in big-endian byte order")


def _dtypes(tensors):
    """Returns the type of each storage, by its key."""
    if not isinstance(tensors, dict):
        raise ValueError("it does not contain a dictionary")
    dtypes: dict[str, str] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise ValueError(f"its entry {name!r} is not a tensor")
        key, dtype = tensor.storage
        if dtypes.setdefault(key, dtype) != dtype:
            raise ValueError(f"the numbers of '{key}' have two types")
    return dtypes


def _arrays(tensors, numbers):
    return {
        name: _array(name, tensor, numbers[tensor.storage.key])
        for name, tensor in tensors.items()
    }


def _array(name, tensor, numbers):
    """Returns the tensor as a view of its storage."""
    _, start, shape, strides = tensor
    last = start + sum((n - 1) * step for n, step in zip(shape, strides))
    # A stride of zero could make a huge array of a single number.
    is_inside = start >= 0 and last < len(numbers) >= math.prod(shape)
    if len(shape) != len(strides) or (0 not in shape and not is_inside):
        raise ValueError(f"'{name}' extends outside its tensor data")
    steps = [step * numbers.itemsize for step in strides]
    return as_strided(numbers[start:], shape, steps, writeable=False)


def _unpickle(file):
    """Reads the next pickle of a file."""
    start = file.tell()
    pickled = io.BytesIO(file.read(_MOST))
    try:
        found = _Unpickler(pickled).load()
    except ValueError:
        raise
    except Exception as error:
        # A pickle is a program, so anything may go wrong.
        raise ValueError(
            f"it is truncated or corrupt at byte {start + pickled.tell()}"
        ) from error
    file.seek(start + pickled.tell())
    return found


class _Dictionary(dict):
    def __setitem__(self, key, value):
        # Python's hash of deeply nested tuples recurses without limit.
        if not isinstance(key, (str, int)):
            raise ValueError("it has a dictionary key that is not a name")
        super().__setitem__(key, value)


def _rebuild_tensor(storage, start, shape, strides, *_):
    sizes = (*shape, *strides, start)
    if (
        not isinstance(storage, _Storage)
        or len(sizes) > _MOST_SIZES
        or not all(isinstance(n, int) and 0 <= n < 1 << 63 for n in sizes)
    ):
        raise ValueError("it holds a tensor without numbers or a shape")
    return _Tensor(storage, start, tuple(shape), tuple(strides))


_DTYPES = {
    "Double": "<f8",
    "Float": "<f4",
    "Half": "<f2",
    "Long": "<i8",
    "Int": "<i4",
    "Short": "<i2",
    "Char": "i1",
    "Byte": "u1",
}
_NAMES = {
    "collections.OrderedDict": lambda: _Dictionary(),
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    **{f"torch.{name}Storage": dtype for name, dtype in _DTYPES.items()},
}
_OPCODES = """
PROTO STOP MARK GLOBAL REDUCE BINPERSID NONE NEWTRUE NEWFALSE BININT BININT1
BININT2 LONG1 BINFLOAT BINUNICODE EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 TUPLE
EMPTY_LIST APPEND APPENDS SETITEM SETITEMS BINPUT LONG_BINPUT BINGET LONG_BINGET
"""


class _Opcodes(dict):
    def __missing__(self, code):
        raise ValueError(
            f"it has the pickle opcode {bytes([code])!r}, which a state dict "
            "does not need"
        )


# `pickle.Unpickler`, written in C, fills as much memory as a file of ten bytes
# asks for, and crashes on deeply nested keys. This is the same in Python.
class _Unpickler(pickle._Unpickler):
    dispatch = _Opcodes(
        (code, pickle._Unpickler.dispatch[code])
        for code in (getattr(pickle, name)[0] for name in _OPCODES.split())
    )
    dispatch[pickle.EMPTY_DICT[0]] = lambda self: self.append(_Dictionary())
    # Attributes are left out: the tensors are in the items.
    dispatch[pickle.BUILD[0]] = lambda self: self.stack.pop()

    def find_class(self, module, name):
        if f"{module}.{name}" not in _NAMES:
            raise ValueError(
                f"it names '{module}.{name}', which a state dict does not need"
            )
        return _NAMES[f"{module}.{name}"]

    def persistent_load(self, persistent_id):
        tag, dtype, key, _, _, *view = persistent_id
        is_known = tag == "storage" and dtype in tuple(_DTYPES.values())
        # Old versions of PyTorch could store a view of another storage.
        if not is_known or not isinstance(key, str) or any(view):
            raise ValueError("it does not refer to tensor data as PyTorch does")
        return _Storage(key, dtype)
