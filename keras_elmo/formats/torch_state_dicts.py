"""Reads the arrays of state dicts saved by PyTorch, without PyTorch.

Both of its formats can be read: a zip file and, from before version 1.6, a
series of pickles followed by the numbers.
"""

import math
import os
import zipfile
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from keras_elmo.formats.restricted_pickles import Named
from keras_elmo.formats.restricted_pickles import load_pickle

_ZIP = b"PK\x03\x04"
_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001

_DTYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
}


class _Storage(NamedTuple):
    """A one-dimensional array of numbers, of which tensors are views."""

    key: str
    dtype: str
    start: int
    """The start of the part that is used."""


class _Tensor(NamedTuple):
    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_state_dict(file, label=None):
    """Reads a state dict, without running any code that the file names.

    Args:
        file: Path, or file object open for reading.
        label: The file's name in messages. Defaults to its path.

    Returns:
        Dictionary from name to array.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is not a state dict, is corrupt, was written on a
            machine with another byte order, or contains anything but tensors.
    """
    subject = f"state dict '{label or os.fspath(file)}'"
    is_path = isinstance(file, (str, os.PathLike))
    if is_path and not os.path.isfile(file):
        raise FileNotFoundError(f"There is no {subject}.")
    try:
        if not is_path:
            return _read(file)
        with open(file, "rb") as opened:
            return _read(opened)
    except Exception as error:
        # Corrupt zip files raise many kinds of errors.
        raise ValueError(f"The {subject} cannot be read: {error}.") from error


def _read(file):
    file.seek(0)
    is_zip = file.read(len(_ZIP)) == _ZIP
    file.seek(0)
    if not is_zip:
        return _read_legacy(file.read())
    with zipfile.ZipFile(file) as archive:
        return _read_zip(archive, file.seek(0, os.SEEK_END))


def _read_zip(archive, file_size):
    infos = archive.infolist()
    # Uncompressed parts cannot be larger than the file.
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("it is compressed, unlike PyTorch's zip files")
    if sum(info.file_size for info in infos) > file_size:
        raise ValueError("its parts are larger than the whole")
    # All are in one folder, which can have any name.
    parts = {info.filename.partition("/")[2]: info for info in infos}

    def read(name):
        if name not in parts:
            raise ValueError(f"it lacks the part '{name}'")
        return archive.read(parts[name])

    if "byteorder" in parts:
        _check_order(read("byteorder") == b"little")
    found, _ = load_pickle(read("data.pkl"), 0, _NAMES, _storage)
    arrays = {
        key: np.frombuffer(read(f"data/{key}"), dtype)
        for key, dtype in _storages(found).items()
    }
    return _as_arrays(found, arrays)


def _read_legacy(data):
    magic_number, position = load_pickle(data, 0, {})
    if magic_number != _MAGIC_NUMBER:
        raise ValueError("it was not written by `torch.save`")
    version, position = load_pickle(data, position, {})
    if version != _PROTOCOL_VERSION:
        raise ValueError("it is from an unknown version of `torch.save`")
    system, position = load_pickle(data, position, {})
    _check_order(isinstance(system, dict) and system.get("little_endian"))
    found, position = load_pickle(data, position, _NAMES, _storage)
    storages = _storages(found)
    keys, position = load_pickle(data, position, {})
    is_list = isinstance(keys, list) and all(isinstance(k, str) for k in keys)
    if not is_list or sorted(keys) != sorted(storages):
        raise ValueError("it does not list the numbers of its tensors")
    arrays = {}
    for key in keys:
        # The number of elements comes first.
        count = int.from_bytes(data[position : position + 8], "little")
        dtype = np.dtype(storages[key])
        end = position + 8 + count * dtype.itemsize
        if end > len(data):
            raise ValueError(f"it is truncated in the numbers of '{key}'")
        arrays[key] = np.frombuffer(data, dtype, count, position + 8)
        position = end
    return _as_arrays(found, arrays)


def _check_order(is_little):
    if not is_little:
        raise ValueError("its numbers are in big-endian byte order")


def _storage(persistent_id):
    """Makes a `_Storage` from a persistent id."""
    try:
        kind, named, key, _, _, *view = persistent_id
        # In old files, a storage may be part of another one.
        start = view[0][1] if view and view[0] is not None else 0
        good = kind == "storage" and isinstance(key, str) and named.value
    except (TypeError, ValueError, AttributeError, IndexError):
        good = False
    if not good or not isinstance(start, int):
        raise ValueError("it does not refer to its numbers as PyTorch does")
    return _Storage(key, named.value, start)


def _rebuild_tensor(storage, start, shape, strides, *_):
    sizes = (*shape, *strides, start)
    if not isinstance(storage, _Storage) or not all(
        isinstance(size, int) and size >= 0 for size in sizes
    ):
        raise ValueError("it holds a tensor without numbers or a shape")
    return _Tensor(storage, storage.start + start, tuple(shape), tuple(strides))


def _storages(found):
    """Returns the type of each storage, by its key."""
    if not isinstance(found, dict):
        raise ValueError("it does not contain a dictionary")
    dtypes: dict[str, str] = {}
    for name, tensor in found.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise ValueError(f"its entry {name!r} is not a tensor")
        key, dtype, _ = tensor.storage
        if dtypes.setdefault(key, dtype) != dtype:
            raise ValueError(f"the numbers of '{key}' have two types")
    return dtypes


def _as_arrays(found, arrays):
    return {
        name: _array(name, tensor, arrays[tensor.storage.key])
        for name, tensor in found.items()
    }


def _array(name, tensor, numbers):
    """Returns the tensor as a view of its storage."""
    _, start, shape, strides = tensor
    last = start + sum((n - 1) * step for n, step in zip(shape, strides))
    # A stride of zero could make a huge array of a single number.
    is_inside = start >= 0 and last < len(numbers) >= math.prod(shape)
    if len(shape) != len(strides) or (0 not in shape and not is_inside):
        raise ValueError(f"'{name}' extends outside its numbers")
    if 0 in shape:
        return np.zeros(shape, numbers.dtype)
    size = numbers.itemsize
    return as_strided(
        numbers[start:],
        shape,
        [step * size for step in strides],
        writeable=False,
    )


_NAMES = {
    ("collections", "OrderedDict"): Named(call=lambda: {}),
    ("torch._utils", "_rebuild_tensor"): Named(call=_rebuild_tensor),
    ("torch._utils", "_rebuild_tensor_v2"): Named(call=_rebuild_tensor),
    ("torch._utils", "_rebuild_parameter"): Named(
        call=lambda tensor, *_: tensor
    ),
    **{("torch", name): Named(dtype) for name, dtype in _DTYPES.items()},
}
