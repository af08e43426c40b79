import os
import pickle
import struct

import numpy as np
import pytest
from formats.state_dicts import SYSTEM
from formats.state_dicts import Call
from formats.state_dicts import Named
from formats.state_dicts import Storage
from formats.state_dicts import file_of
from formats.state_dicts import legacy_file
from formats.state_dicts import pickled
from formats.state_dicts import tensor
from formats.state_dicts import whole
from formats.state_dicts import zip_file
from hdf5_arrays import check_equal

from keras_elmo.formats.torch_state_dicts import read_state_dict

MATRIX = np.arange(6, dtype="float32").reshape(2, 3)
FILES = pytest.mark.parametrize("make", [legacy_file, zip_file])


def read(data):
    return read_state_dict(data, "weights.pkl")


def refused(data, reason):
    told = f"^The state dict 'weights.pkl' cannot be read; .*{reason}"
    with pytest.raises(ValueError, match=told):
        read(data)


def one_file(make=legacy_file, **kwargs):
    stored, storage = whole(MATRIX, "7")
    return make({"a": stored}, [storage], **kwargs)


@FILES
def test_arrays_of_each_type_and_shape(make):
    arrays = {
        "matrix": MATRIX,
        "doubles": np.array([1e300, -0.5]),
        "halves": np.array([[[1.5]]], "float16"),
        "scalar": np.array(3, "float32"),
        "none": np.zeros((0, 4), "float32"),
    }
    check_equal(read(file_of(arrays, make)), arrays)


@FILES
def test_tensors_that_are_parts_of_one_storage(make):
    storage = Storage(MATRIX, "0")
    parameter = Named("torch._utils", "_rebuild_parameter")
    tensors = {
        "transposed": (tensor(storage, 0, (3, 2), (1, 3)), MATRIX.T),
        "column": (tensor(storage, 1, (2,), (3,)), MATRIX[:, 1]),
        "last": (tensor(storage, 5, (), ()), MATRIX[1, 2]),
        "repeated": (tensor(storage, 4, (2, 2), (0, 1)), MATRIX[[1, 1], 1:]),
        "parameter": (
            Call(parameter, (whole(MATRIX, "0")[0], True, {})),
            MATRIX,
        ),
    }
    expected = {name: array for name, (_, array) in tensors.items()}
    tensors = {name: stored for name, (stored, _) in tensors.items()}
    check_equal(read(make(tensors, [storage])), expected)


class Harm:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_run(protocol, tmp_path):
    content = pickle.dumps({"a": Harm(tmp_path / "harm")}, protocol)
    refused(content, "opcode|names")
    refused(zip_file({}, [], data=content), "opcode|names")
    assert not (tmp_path / "harm").exists()
    pickle.loads(content)
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (b"cos\nsystem\n", "names 'os.system'"),
        (b"ctorch\nload\n", "names 'torch.load', which a state dict does not"),
        (b"(S'ls'\nios\nsystem\n.", "pickle opcode"),
        (b"]\x81.", "pickle opcode"),  # NEWOBJ
        (b"\x96" + b"\xff" * 7 + b"\0.", "pickle opcode"),  # BYTEARRAY8
        (b"X\xff\xff\xff\x7fa.", "truncated or corrupt"),
        (b"\x8a\xff1.", "truncated or corrupt"),
        (b")r\xff\xff\xff\xff.", "not written by `torch.save`"),
        (b"K\x01)R.", "truncated or corrupt"),
        (b"K\x01K\x02b.", "not written by `torch.save`"),
        (b")" + b"\x85" * 300_000 + b".", "not written by `torch.save`"),
        (b")" + b"\x85" * (1 << 20) + b".", "truncated or corrupt"),
        (b"})K\x01s.", "dictionary key that is not a name"),
        (b"K\x01Q.", "truncated or corrupt at byte 5"),
        (b".", "truncated or corrupt"),
    ],
)
def test_programs_that_are_no_state_dict(code, reason):
    refused(b"\x80\x02" + code, reason)


@FILES
@pytest.mark.parametrize(
    ("start", "shape", "strides", "reason"),
    [
        (1, (2, 3), (3, 1), "'a' extends outside its tensor data"),
        (0, (10**9, 10**9), (0, 0), "extends outside"),
        (0, (2, 3), (1,), "extends outside"),
        (2**62, (1,), (1,), "extends outside"),
        (-1, (1,), (1,), "without numbers or a shape"),
        (0, (-1,), (1,), "without numbers or a shape"),
        (0, 2, (1,), "truncated or corrupt"),
        (0.0, (), (1,), "without numbers or a shape"),
        (0, (2**2000,) * 100_000, (1,), "numbers or a shape|truncated"),
    ],
)
def test_tensors_that_cannot_be(make, start, shape, strides, reason):
    storage = Storage(MATRIX, "0")
    tensors = {"a": tensor(storage, start, shape, strides)}
    refused(make(tensors, [storage]), reason)


def test_any_cut_is_noticed():
    for data in (one_file(legacy_file), one_file(zip_file)):
        for size in range(len(data)):
            refused(data[:size], "")


def test_what_is_written_otherwise():
    stored, storage = whole(MATRIX, "0")
    other = Storage(MATRIX.astype("float64"), "0")
    part = Storage(MATRIX, "0", view=("1", 2, 3))
    deep_key = b"\x80\x02})" + b"\x85" * 300_000 + b"K\x01s."
    data = one_file()
    version = data.replace(pickled(1001), pickled(1002), 1)
    count, huge = (struct.pack("<q", number) for number in (6, 2**40))
    first, second = (tensor(x, 0, (1,), (1,)) for x in (storage, other))
    for content, reason in (
        (one_file(system={**SYSTEM, "little_endian": False}), "big-endian"),
        (one_file(system=[]), "big-endian byte order"),
        (one_file(zip_file, byteorder=b"big"), "big-endian byte order"),
        (version, "unknown version of `torch.save`"),
        (data.replace(count, huge), "buffer is smaller than requested size"),
        (pickled({}), "not written by `torch.save`"),
        (one_file(zip_file, packed=True), "compressed, unlike PyTorch"),
        (zip_file({}, [], data=pickled([])), "does not contain a dictionary"),
        (zip_file({}, [], data=deep_key), "dictionary key that is not a name"),
        (zip_file({"a": stored}, []), "lacks the part 'data/0'"),
        (zip_file({"a": first, "b": second}, [storage]), "'0' have two types"),
        (zip_file({"epoch": 3}, []), "entry 'epoch' is not a tensor"),
        (legacy_file({"a": first}, []), "does not list the numbers"),
        (legacy_file({"a": first}, [storage] * 2), "does not list the numbers"),
        (legacy_file({"a": stored}, [Storage(MATRIX, "1")]), "does not list"),
        (legacy_file({"a": tensor(part, 1, (2,), (1,))}, [part]), "not refer"),
    ):
        refused(content, reason)


@pytest.mark.parametrize("zipped", [False, True])
def test_what_pytorch_writes(tmp_path, zipped):
    """Runs where PyTorch is installed, as for the tests of its backend."""
    torch = pytest.importorskip("torch")
    lstm = torch.nn.LSTM(3, 5, bidirectional=True, proj_size=2)
    saved = lstm.state_dict()
    saved["transposed"] = torch.arange(6.0).reshape(2, 3).T
    saved["part"] = torch.arange(20, dtype=torch.float64)[4:15:2]
    saved["half"] = torch.ones(3, dtype=torch.float16)
    saved["integers"] = torch.tensor([[1, -2]])
    saved["expanded"] = torch.arange(4.0)[:1].expand(3)
    saved["parameter"] = torch.nn.Parameter(torch.ones(2))
    path = tmp_path / "model.pkl"
    torch.save(saved, path, _use_new_zipfile_serialization=zipped)
    found = read(path.read_bytes())
    check_equal(found, {k: v.detach().numpy() for k, v in saved.items()})
