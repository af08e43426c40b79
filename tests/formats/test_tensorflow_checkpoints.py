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
    found = checkpoint.read_softmax(SOFTMAX)
    assert shapes_of(found) == SOFTMAX
    assert {array.dtype.name for array in found.values()} == {"float32"}
    assert all(np.std(array) > 0 for array in found.values())


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


def test_a_folder_that_was_moved(folder, expected, tmp_path):
    """An older copy was left behind."""
    old = {"lm/char_embed": np.zeros(3, "float32")}
    state = write_checkpoint(tmp_path / "elsewhere", old, NAME)
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{state}"\n')
    check_equal(opened(folder).read(shapes_of(expected)), expected)


def test_the_latest_of_several_is_the_one_named(folder):
    for kind in ("index", "data-00000-of-00001"):
        shutil.copy(folder / f"{NAME}.{kind}", folder / f"model.ckpt-9.{kind}")
    named = (folder / "checkpoint").read_bytes()
    for mark in (b"", codecs.BOM_UTF8):
        (folder / "checkpoint").write_bytes(mark + named)
        assert opened(folder).files[-1] == str(folder / f"{NAME}.index")
    (folder / "checkpoint").unlink()
    told = rf"{folder}' must .*\['{NAME}\.index', 'model\.ckpt-9\.index'\]"
    with pytest.raises(FileNotFoundError, match=told):
        opened(folder)


def test_one_checkpoint_needs_no_state_file(folder, tmp_path):
    for content in (b"", b"\xff\xfe\0", b"nonsense {"):
        (folder / "checkpoint").write_bytes(content)
        assert opened(folder).files[-1] == str(folder / f"{NAME}.index")
    # A checkpoint of another folder is not read.
    state = tmp_path / "checkpoint"
    state.write_text(f'model_checkpoint_path: "{folder / NAME}"\n')
    told = f"'{tmp_path}' must contain '{NAME}.index', which its file 'check"
    with pytest.raises(FileNotFoundError, match=told):
        opened(tmp_path)
    state.unlink()
    with pytest.raises(FileNotFoundError, match=r"one\. Received: \[\]"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("index", "The checkpoint '{}' cannot be read"),
        # TensorFlow would allocate it.
        ("data-00000-of-00001", "'{}' .* declare 554,012 bytes, but its files"),
    ],
)
def test_a_damaged_checkpoint_is_named(folder, expected, ending, told):
    path = folder / f"{NAME}.{ending}"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=told.format(folder / NAME)):
        opened(folder).read(shapes_of(expected))


def test_one_layer_of_words_and_a_part_of_a_softmax(tmp_path):
    cell, root = "lm/RNN_1/rnn/lstm_cell", "RNN_1/RNN/MultiRNNCell/Cell0"
    keys = {
        "lm/embedding": "embedding",
        f"{cell}/kernel": f"{root}/LSTMCell/W_0",
        f"{cell}/bias": f"{root}/LSTMCell/B",
        f"{cell}/projection/kernel": f"{root}/LSTMCell/W_P_0",
        "lm/softmax/b": "softmax/b",
    }
    arrays = {
        name: np.full((i + 1, 2), i, "float32") for i, name in enumerate(keys)
    }
    extra = {f"{name}/Adagrad": array for name, array in arrays.items()}
    extra |= {"global_step": np.int64(7), "train_perplexity": np.float32(9)}
    write_checkpoint(tmp_path, {**arrays, **extra})
    model = {keys[name]: array for name, array in arrays.items()}
    softmax = {"softmax/b": model.pop("softmax/b")}
    check_equal(opened(tmp_path).read(shapes_of(model)), model)
    check_equal(opened(tmp_path).read_softmax(shapes_of(softmax)), softmax)
    with pytest.raises(ValueError, match=r"that are missing: \['softmax/W'\]"):
        opened(tmp_path).read_softmax({"softmax/W": (5, 2), "softmax/b": (5,)})
    write_checkpoint(tmp_path, {"lm/embedding": arrays["lm/embedding"]})
    assert opened(tmp_path).read_softmax(SOFTMAX) is None
