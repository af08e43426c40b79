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

from keras_elmo.formats.torch_state_dicts import read_state_dict

MATRIX = np.arange(6, dtype="float32").reshape(2, 3)
FILES = pytest.mark.parametrize("make", [legacy_file, zip_file])


def read(data):
    return read_state_dict(data, "weights.pkl")


def refused(data, reason):
    with pytest.raises(ValueError, match=reason) as info:
        read(data)
    assert str(info.value).startswith(
        "The state dict 'weights.pkl' cannot be read; "
    )


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
    found = read(file_of(arrays, make))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


@FILES
def test_tensors_that_are_parts_of_one_storage(make):
    storage = Storage(MATRIX, "0")
    found = read(
        make(
            {
                "transposed": tensor(storage, 0, (3, 2), (1, 3)),
                "column": tensor(storage, 1, (2,), (3,)),
                "last": tensor(storage, 5, (), ()),
                "repeated": tensor(storage, 4, (2, 2), (0, 1)),
            },
            [storage],
        )
    )
    np.testing.assert_array_equal(found["transposed"], MATRIX.T)
    np.testing.assert_array_equal(found["column"], [1, 4])
    np.testing.assert_array_equal(found["last"], 5)
    np.testing.assert_array_equal(found["repeated"], [[4, 5], [4, 5]])


def test_a_storage_that_is_part_of_another():
    part = Storage(MATRIX, "0", view=("1", 2, 3))
    data = legacy_file({"a": tensor(part, 1, (2,), (1,))}, [part])
    refused(data, "does not refer to tensor data as PyTorch does")


@FILES
def test_parameters(make):
    stored, storage = whole(MATRIX, "0")
    name = Named("torch._utils", "_rebuild_parameter")
    found = read(make({"a": Call(name, stored, True, {})}, [storage]))
    np.testing.assert_array_equal(found["a"], MATRIX)


@FILES
@pytest.mark.parametrize(
    "name",
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("torch", "load"),
        ("collections", "defaultdict"),
        ("collections", "OrderedDict.update"),
    ],
)
def test_nothing_else_is_named(make, name):
    stored, storage = whole(MATRIX, "0")
    data = make({"a": stored, "b": Call(Named(*name), "touch x")}, [storage])
    refused(data, f"it names '{'.'.join(name)}', which a state dict does not")


def test_opcodes_that_a_state_dict_does_not_need():
    class Evil:
        def __reduce__(self):
            return eval, ("1 + 1",)

    for protocol in range(6):
        refused(pickle.dumps(Evil(), protocol), "opcode|names")
    for data, reason in (
        (b"\x80\x02cos\nsystem\n", "names 'os.system'"),
        (b"\x80\x02(S'ls'\nios\nsystem\n.", "pickle opcode"),
        (b"\x80\x02\x82\x01.", "pickle opcode"),  # EXT1
        (b"\x80\x02]\x81.", "pickle opcode"),  # NEWOBJ
        (b"\x80\x05\x96" + b"\xff" * 7 + b"\0.", "pickle opcode"),  # BYTEARRAY8
        (b"\x80\x02X\xff\xff\xff\x7fa.", "truncated or corrupt"),
        (b"\x80\x02\x8a\xff1.", "truncated or corrupt"),
        (b"\x80\x02)r\xff\xff\xff\xff.", "not written by `torch.save`"),
        (b"\x80\x02h\x05.", "truncated or corrupt"),
        (b"\x80\x02)R.", "truncated or corrupt"),
        (b"\x80\x02K\x01)R.", "truncated or corrupt"),
        (b"\x80\x02K\x01K\x02b.", "not written by `torch.save`"),
        (b"\x80\x02)2.", "pickle opcode"),  # DUP
        (b"\x80\x02)" + b"\x85" * (1 << 20) + b".", "truncated or corrupt"),
        (b"\x80\x02})K\x01s.", "dictionary key that is not a name"),
        (b"\x80\x02K\x01Q.", "truncated or corrupt"),
        (b"\x80\x02\x86.", "truncated or corrupt"),
        (b"\x80\x02.", "truncated or corrupt"),
        (b"", "truncated or corrupt"),
        (b"no pickle", "opcode"),
    ):
        refused(data, reason)


@FILES
def test_tuples_in_tuples_without_end(make):
    deep = b"\x80\x02)" + b"\x85" * 300_000 + b"."
    if make is zip_file:
        refused(zip_file({}, [], data=deep), "does not contain a dictionary")
        key = b"\x80\x02})" + b"\x85" * 300_000 + b"K\x01s."
        refused(zip_file({}, [], data=key), "dictionary key that is not a name")
    else:
        refused(deep, "not written by `torch.save`")


@FILES
@pytest.mark.parametrize(
    ("start", "shape", "strides"),
    [
        (0, (7,), (1,)),
        (1, (2, 3), (3, 1)),
        (0, (2, 3), (4, 1)),
        (0, (10**9, 10**9), (0, 0)),
        (0, (2, 3), (1,)),
        (2**62, (1,), (1,)),
    ],
)
def test_tensors_outside_of_their_storage(make, start, shape, strides):
    storage = Storage(MATRIX, "0")
    data = make({"a": tensor(storage, start, shape, strides)}, [storage])
    refused(data, "'a' extends outside its tensor data")


@FILES
@pytest.mark.parametrize(
    ("start", "shape"),
    [
        (-1, (1,)),
        (0, (-1,)),
        (0, 2),
        (0, ("2",)),
        (0.0, ()),
        (0, (2**2000,) * 100_000),
    ],
)
def test_tensors_that_cannot_be(make, start, shape):
    storage = Storage(MATRIX, "0")
    data = make({"a": tensor(storage, start, shape, (1,))}, [storage])
    refused(data, "without numbers or a shape|truncated or corrupt")


@FILES
def test_what_is_no_tensor(make):
    stored, storage = whole(MATRIX, "0")
    refused(
        make({"a": stored, "epoch": 3}, [storage]),
        "entry 'epoch' is not a tensor",
    )


def test_numbers_of_two_types():
    one, other = Storage(MATRIX, "0"), Storage(MATRIX.astype("float64"), "0")
    tensors = {
        "a": tensor(one, 0, (1,), (1,)),
        "b": tensor(other, 0, (1,), (1,)),
    }
    refused(zip_file(tensors, [one]), "the numbers of '0' have two types")


@FILES
def test_any_cut_is_noticed(make):
    data = one_file(make)
    for size in range(len(data)):
        with pytest.raises(
            ValueError, match=r"state dict 'weights.pkl' cannot"
        ):
            read(data[:size])


def test_a_legacy_file_that_claims_more_than_it_has():
    data = one_file()
    size = data.index(struct.pack("<q", 6))
    huge = data[:size] + struct.pack("<q", 2**40) + data[size + 8 :]
    refused(huge, "buffer is smaller than requested size")


def test_other_machines_and_versions():
    big = {**SYSTEM, "little_endian": False}
    refused(one_file(system=big), "big-endian byte order")
    refused(one_file(system=[]), "big-endian byte order")
    refused(one_file(zip_file, byteorder=b"big"), "big-endian byte order")
    version = pickled(1001)
    data = one_file().replace(version, pickled(1002), 1)
    refused(data, "unknown version of `torch.save`")
    refused(pickled({}), "not written by `torch.save`")


def test_zip_files_of_another_kind():
    refused(one_file(zip_file, packed=True), "compressed, unlike PyTorch")
    refused(zip_file({}, [], data=pickled([])), "does not contain a dictionary")
    stored, _ = whole(MATRIX, "0")
    refused(zip_file({"a": stored}, []), "lacks the part 'data/0'")


def test_lists_of_numbers_must_fit():
    stored, storage = whole(MATRIX, "0")
    for storages in ([], [Storage(MATRIX, "1")], [storage, storage]):
        data = legacy_file({"a": stored}, storages)
        refused(data, "does not list the numbers")


@pytest.mark.parametrize("zipped", [False, True])
def test_what_pytorch_writes(tmp_path, zipped):
    """Runs where PyTorch is installed, as for the tests of its backend."""
    torch = pytest.importorskip("torch")
    lstm = torch.nn.LSTM(3, 5, bidirectional=True, proj_size=2)
    saved = lstm.state_dict()
    saved["transposed"] = torch.arange(6.0).reshape(2, 3).T
    saved["part"] = torch.arange(20, dtype=torch.float64).reshape(4, 5)[
        1:3, ::2
    ]
    saved["shared"] = saved["part"].T
    saved["half"] = torch.ones(3, dtype=torch.float16)
    saved["number"] = torch.tensor(2.5)
    saved["integers"] = torch.tensor([[1, -2]])
    saved["none"] = torch.zeros(0, 3)
    saved["expanded"] = torch.arange(4.0)[:1].expand(3)
    saved["parameter"] = torch.nn.Parameter(torch.ones(2))
    path = tmp_path / "model.pkl"
    torch.save(saved, path, _use_new_zipfile_serialization=zipped)
    found = read(path.read_bytes())
    assert list(found) == list(saved)
    for name, value in saved.items():
        expected = value.detach().numpy()
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected, name)
