"""State dicts as PyTorch writes them, made without PyTorch."""

import collections
import io
import pickle
import zipfile

import numpy as np

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
Named = collections.namedtuple("Named", "module name")
Call = collections.namedtuple("Call", "function arguments")
_TYPES = {"f4": "FloatStorage", "f8": "DoubleStorage", "f2": "HalfStorage"}


class Storage:
    def __init__(self, array, key, view=None):
        self.array, self.key, self.view = array.ravel(), key, view


class _Pickler(pickle._Pickler):
    """Writes globals and storages of `torch` without importing it."""

    def __init__(self, file, legacy):
        super().__init__(file, 2)
        self._legacy = legacy

    def persistent_id(self, item):
        if not isinstance(item, Storage):
            return None
        name = Named("torch", _TYPES[item.array.dtype.str[1:]])
        view = [item.view] if self._legacy else []
        return ("storage", name, item.key, "cpu", item.array.size, *view)

    def save(self, item, *args, **kwargs):
        if isinstance(item, Named):
            self.write(f"c{item.module}\n{item.name}\n".encode())
        elif isinstance(item, Call):
            self.save(item.function)
            self.save(item.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(item, *args, **kwargs)


def tensor(*arguments):
    function = Named("torch._utils", "_rebuild_tensor_v2")
    others = False, collections.OrderedDict()
    return Call(function, (*arguments, *others))


def whole(array, key):
    """Returns the tensor of an array, and its storage."""
    storage = Storage(array, key)
    strides = tuple(s // array.itemsize for s in array.strides)
    return tensor(storage, 0, array.shape, strides), storage


def pickled(item, legacy=False):
    file = io.BytesIO()
    _Pickler(file, legacy).dump(item)
    return file.getvalue()


def legacy_file(tensors, storages, system=SYSTEM):
    """Returns the bytes of a file in the format before PyTorch 1.6."""
    parts = [pickled(item) for item in (MAGIC_NUMBER, 1001, system)]
    parts.append(pickled(collections.OrderedDict(tensors), legacy=True))
    parts.append(pickled([s.key for s in storages]))
    for storage in storages:
        parts.append(np.int64(storage.array.size).tobytes())
        parts.append(storage.array.tobytes())
    return b"".join(parts)


def file_of(arrays, make=legacy_file):
    """Returns the bytes of a file with these arrays."""
    tensors, storages = {}, []
    for i, (name, array) in enumerate(arrays.items()):
        tensors[name], storage = whole(array, str(i))
        storages.append(storage)
    return make(tensors, storages)


def zip_file(tensors, storages, byteorder=b"little", packed=False, data=None):
    """Returns the bytes of a file in PyTorch's current format."""
    file = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as archive:
        data = data or pickled(collections.OrderedDict(tensors))
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/byteorder", byteorder)
        for storage in storages:
            name = f"archive/data/{storage.key}"
            archive.writestr(name, storage.array.tobytes())
        archive.writestr("archive/version", b"3\n")
    return file.getvalue()
