import codecs
import shutil

import numpy as np
import pytest
from formats.checkpoints import write_checkpoint
from hdf5_arrays import all_arrays
from hdf5_arrays import check_equal
from hdf5_arrays import shapes_of

from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.tensorflow_checkpoints import open_checkpoint

pytest.importorskip("tensorflow")
NAME = "model.ckpt-372"
SOFTMAX = {"softmax/W": (1503, 32), "softmax/b": (1503,)}


@pytest.fixture(scope="session")
def reference(shared):
    return shared / "reference/bilm_tf_checkpoint"


@pytest.fixture(scope="session")
def expected(reference):
    return all_arrays(reference / "weights.hdf5")


@pytest.fixture
def folder(tmp_path, reference):
    """A copy of the reference, to be damaged."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in reference.iterdir():
        if path.name.startswith((NAME, "checkpoint")):
            shutil.copy(path, folder)
    return folder


def opened(folder):
    return open_checkpoint(ModelFolder(str(folder)))


def test_arrays_are_those_of_the_dump(reference, expected):
    checkpoint = opened(reference)
    assert checkpoint.files == [
        str(reference / f"{NAME}.{part}")
        for part in ("data-00000-of-00001", "index")
    ]
    check_equal(checkpoint.read(shapes_of(expected)), expected)


def test_softmax(reference):
    found = opened(reference).read_softmax(SOFTMAX)
    assert shapes_of(found) == SOFTMAX
    assert {array.dtype.name for array in found.values()} == {"float32"}
    assert all(np.std(array) > 0 for array in found.values())
    any_size = {"softmax/W": (None, 32), "softmax/b": (None,)}
    check_equal(opened(reference).read_softmax(any_size), found)


def test_what_holds_a_checkpoint(folder, reference):
    shutil.copy(reference / "options.json", folder)
    index = folder / f"{NAME}.index"
    assert open_bilm(folder).weight_files[-1] == str(index)
    (folder / "checkpoint").rename(folder / "state")
    assert open_bilm(folder).weight_files[-1] == str(index)
    index.unlink()
    with pytest.raises(ValueError, match=r"must contain a '\.hdf5' file"):
        open_bilm(folder)
    (folder / "state").rename(folder / "checkpoint")
    with pytest.raises(FileNotFoundError, match=f"'{NAME}.index', which its"):
        open_bilm(folder)
    weights = folder / "weights.hdf5"
    weights.touch()
    assert open_bilm(folder).weight_files == [str(weights)]


@pytest.mark.parametrize("state", ["/home/someone/gone", "{}/elsewhere", "C:"])
def test_a_folder_that_was_moved(folder, expected, state):
    path = f"{state.format(folder.parent)}/{NAME}"
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{path}"\n')
    if "{}" in state:  # An older copy was left behind.
        other = {"lm/char_embed": np.zeros(3, "float32")}
        write_checkpoint(folder.parent / "elsewhere", other, NAME)
    check_equal(opened(folder).read(shapes_of(expected)), expected)


def test_a_checkpoint_of_another_folder_is_not_read(folder):
    state = folder.parent / "state"
    state.mkdir()
    text = f'model_checkpoint_path: "{folder / NAME}"\n'
    (state / "checkpoint").write_text(text)
    with pytest.raises(FileNotFoundError, match="which its file 'checkpoint'"):
        opened(state)


def test_the_latest_of_several_is_the_one_named(folder):
    for kind in ("index", "data-00000-of-00001"):
        shutil.copy(folder / f"{NAME}.{kind}", folder / f"model.ckpt-9.{kind}")
    named = (folder / "checkpoint").read_bytes()
    for mark in (b"", codecs.BOM_UTF8):
        (folder / "checkpoint").write_bytes(mark + named)
        assert opened(folder).files[-1] == str(folder / f"{NAME}.index")
    (folder / "checkpoint").unlink()
    with pytest.raises(FileNotFoundError, match="must contain one") as info:
        opened(folder)
    assert f"'{folder}' must contain" in str(info.value)
    assert f"['{NAME}.index', 'model.ckpt-9.index']" in str(info.value)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\0", b"nonsense {"])
def test_one_checkpoint_needs_no_state_file(folder, content):
    (folder / "checkpoint").unlink()
    if content is not None:
        (folder / "checkpoint").write_bytes(content)
    assert opened(folder).files[-1] == str(folder / f"{NAME}.index")


def test_no_checkpoint(folder):
    (folder / f"{NAME}.index").unlink()
    with pytest.raises(FileNotFoundError, match="which its file") as info:
        opened(folder)
    told = f"'{folder}' must contain '{NAME}.index', which its file"
    assert str(info.value).startswith(told)
    (folder / "checkpoint").unlink()
    with pytest.raises(FileNotFoundError, match=r"Received: \[\]"):
        opened(folder)


@pytest.mark.parametrize("ending", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "changed"])
def test_damaged_checkpoint(folder, expected, ending, damage):
    path = folder / f"{NAME}.{ending}"
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + b"\xff" * 64 + whole[middle + 64 :])
    told = "cannot be read|must contain '.*index'"
    with pytest.raises((ValueError, FileNotFoundError), match=told) as info:
        opened(folder).read(shapes_of(expected))
        opened(folder).read_softmax(SOFTMAX)
    assert str(folder) in str(info.value)


def test_missing_and_left_over_arrays(reference, expected):
    shapes = {**shapes_of(expected), "CNN/W_cnn_9": (1,)}
    del shapes["char_embed"]
    with pytest.raises(ValueError, match="does not match its options") as info:
        opened(reference).read(shapes)
    assert f"checkpoint '{reference / NAME}'" in str(info.value)
    assert "that are missing: ['CNN/W_cnn_9']." in str(info.value)
    assert "that are not in the model: ['char_embed']." in str(info.value)


def test_wrong_shape(reference, expected):
    shapes = {**shapes_of(expected), "char_embed": (261, 9)}
    with pytest.raises(ValueError, match="'char_embed' of the check") as info:
        opened(reference).read(shapes)
    assert str(info.value).endswith("Received: (261, 8)")


def test_one_layer_of_words_and_a_shared_softmax(tmp_path):
    cell = "lm/RNN_1/rnn/lstm_cell"
    arrays = {
        "lm/embedding": (5, 2),
        f"{cell}/kernel": (4, 12),
        f"{cell}/bias": (12,),
        f"{cell}/projection/kernel": (3, 2),
        "lm/softmax/b": (5,),
    }
    arrays = {
        name: np.full(shape, i, "float32")
        for i, (name, shape) in enumerate(arrays.items())
    }
    extra = {f"{name}/Adagrad": array for name, array in arrays.items()}
    extra |= {"global_step": np.int64(7), "train_perplexity": np.float32(9)}
    write_checkpoint(tmp_path, {**arrays, **extra})
    root = "RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell"
    *model, softmax = zip(
        ("embedding", f"{root}/W_0", f"{root}/B", f"{root}/W_P_0", "softmax/b"),
        arrays.values(),
    )
    model, softmax = dict(model), dict([softmax])
    check_equal(opened(tmp_path).read(shapes_of(model)), model)
    check_equal(opened(tmp_path).read_softmax(shapes_of(softmax)), softmax)
    with pytest.raises(ValueError, match=r"that are missing: \['softmax/W'\]"):
        opened(tmp_path).read_softmax({"softmax/W": (5, 2), "softmax/b": (5,)})


def test_no_softmax(tmp_path):
    arrays = {"lm/char_embed": np.zeros((2, 3), "float32")}
    write_checkpoint(tmp_path, arrays)
    assert opened(tmp_path).read_softmax(SOFTMAX) is None


def crc_of_block(block):
    """TensorFlow's masked CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in block:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_an_array_of_far_more_than_the_files(tmp_path):
    array = np.zeros((1,) * 8 + (3,), "float32")
    write_checkpoint(tmp_path, {"lm/softmax/b": array}, NAME)
    path = tmp_path / f"{NAME}.index"
    content = path.read_bytes()
    huge = content.replace(b"\x12\x02\x08\x01", b"\x12\x02\x08\x7f")
    assert huge != content
    # The first block begins the file; its checksum follows a type of zero.
    old = crc_of_block(content[: (end := _end_of_block(content))])
    new = crc_of_block(huge[:end])
    swap = [crc.to_bytes(4, "little") for crc in (old, new)]
    assert content[end : end + 4] == swap[0]
    path.write_bytes(huge[:end] + swap[1] + huge[end + 4 :])
    with pytest.raises(ValueError, match=r"declare [0-9,]{20,} bytes"):
        opened(tmp_path).read_softmax({"softmax/b": (None,) * 9})


def _end_of_block(content):
    """The end of the first block of a table with its type."""
    for end in range(1, len(content) - 4):
        crc = crc_of_block(content[:end])
        if content[end : end + 4] == crc.to_bytes(4, "little"):
            return end
    raise AssertionError
