import codecs
import json
import os
import shutil
import zipfile

import h5py
import numpy as np
import pytest
from comparisons import assert_close
from formats.state_dicts import file_of
from keras import ops

from keras_elmo import ElmoLayer
from keras_elmo.formats.many_langs import ManyLangsFiles
from keras_elmo.formats.torch_state_dicts import read_state_dict

FILES = ["token_embedder.pkl", "encoder.pkl"]


@pytest.fixture
def stored(shared):
    return shared / "reference/elmo_for_many_langs/char_and_word"


@pytest.fixture
def folder(stored, tmp_path):
    """A copy of the model, to be damaged."""
    return shutil.copytree(
        stored, tmp_path / "model", copy_function=shutil.copyfile
    )


def edit(path, change):
    """Changes the JSON of a file."""
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def change_sizes(folder, section, **values):
    edit(
        folder / "cnn_config.json",
        lambda config: config[section].update(values),
    )


def refused(path, message, error=ValueError):
    with pytest.raises(error, match=message):
        ElmoLayer.from_preset(path)


def is_same(elmo, other):
    pairs = zip(elmo.get_weights(), other.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.in_graphs(False)
@pytest.mark.parametrize("variant", ["char_only", "char_and_word"])
def test_the_vectors_are_those_of_elmo_for_many_langs(
    shared, variant, path_taken
):
    folder = shared / "reference" / "elmo_for_many_langs" / variant
    elmo = ElmoLayer.from_preset(folder)
    sentences = json.loads((folder / "sentences.json").read_text("utf-8"))
    ids = elmo.token_encoder.make_vectorization().batch_to_ids(sentences)
    layers = ops.convert_to_numpy(elmo.all_layers(ids))
    with h5py.File(folder / "expected.hdf5") as stored:
        assert len(stored) == len(sentences)
        for i, sentence in enumerate(sentences):
            expected = stored[str(i)][...]
            assert expected.shape == (3, len(sentence), 32)
            assert_close(
                layers[i, :, : len(sentence)], expected, rtol=0, atol=1e-5
            )
            assert not np.any(layers[i, :, len(sentence) :])


def test_what_the_files_say(stored):
    files = ManyLangsFiles(stored)
    token_encoder, encoder = files.sizes
    assert encoder == {
        "units": 48,
        "projection_dim": 16,
        "num_layers": 2,
        "cell_clip": 3.0,
        "proj_clip": 3.0,
        "use_skip_connections": True,
    }
    characters, words = map(token_encoder.pop, ("characters", "words"))
    marks = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    assert characters[:6] == marks
    assert len(characters) == 50 and characters[-1] == "阿"
    assert len(words) == 21 and words[6] == "Deep"
    assert token_encoder == {
        "projection_dim": 16,
        "filters": [[1, 8], [2, 8], [3, 16], [4, 24]],
        "num_highways": 2,
        "embedding_dim": 10,
        "word_embedding_dim": 12,
        "activation": "relu",
        "max_characters_per_token": 50,
    }


@pytest.mark.parametrize("root", ["", "vi.model/"])
def test_a_zip(stored, tmp_path, root):
    path = tmp_path / "178.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in os.listdir(stored):
            archive.write(stored / name, root + name)
    elmo = ElmoLayer.from_preset(path, name="vi", num_representations=2)
    expected = ElmoLayer.from_preset(stored, num_representations=2)
    assert is_same(elmo, expected) and elmo.name == "vi"


def test_what_is_no_such_model(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    refused(tmp_path / "a.zip", "which is no archive, or a truncated one")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("char.dic", "")
    refused(tmp_path / "b.zip", "must contain an 'encoder.pkl', and only one")


def test_files_of_before_pytorch_1_6(folder):
    expected = ElmoLayer.from_preset(folder)
    for name in FILES:
        arrays = read_state_dict((folder / name).read_bytes(), name)
        (folder / name).write_bytes(file_of(arrays))
    assert is_same(ElmoLayer.from_preset(folder), expected)


def test_from_preset_and_trainable(stored):
    elmo = ElmoLayer.from_preset(stored, trainable=True, dtype="mixed_bfloat16")
    assert elmo.token_encoder.compute_dtype == "bfloat16"
    assert len(elmo.trainable_weights) == len(elmo.weights) == 20 + 16 + 2
    frozen = ElmoLayer.from_preset(stored)
    assert len(frozen.trainable_weights) == 2


@pytest.mark.parametrize(
    "path", ["/train/cnn_config.json", "../configs/cnn_config.json"]
)
def test_the_sizes_are_looked_for_in_the_folder(folder, path):
    edit(folder / "config.json", lambda config: config.update(config_path=path))
    assert ManyLangsFiles(folder).sizes[1]["units"] == 48


def test_nothing_outside_of_the_folder_is_read(folder):
    (folder.parent / "sizes.json").write_text("{}")
    for path in ("../sizes.json", str(folder.parent / "sizes.json")):
        (folder / "config.json").write_text(json.dumps({"config_path": path}))
        assert ManyLangsFiles(folder).sizes[1]["units"] == 4096


def test_without_sizes_they_are_the_standard_ones(folder):
    os.remove(folder / "cnn_config.json")
    files = ManyLangsFiles(folder)
    token_encoder, encoder = files.sizes
    assert encoder["units"] == 4096 and encoder["projection_dim"] == 512
    assert token_encoder["filters"] == [
        *([1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024])
    ]
    assert token_encoder["embedding_dim"] == 50
    assert token_encoder["word_embedding_dim"] == 100
    refused(folder, "that are missing: .*'convolutions.6.weight'")


def test_no_clips(folder):
    change_sizes(folder, "encoder", cell_clip=0, proj_clip=None)
    encoder = ManyLangsFiles(folder).sizes[1]
    assert encoder["cell_clip"] is None and encoder["proj_clip"] is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("token_embedder.name", "lstm", "'{}' must be 'cnn'"),
        ("encoder.name", "lstm", "'{}' must be 'elmo'"),
        ("token_embedder.activation", "elu", "'{}' must"),
        ("token_embedder.char_dim", 0, "'{}' must be"),
        ("token_embedder.filters", [[0, 1]], "'{}' must be"),
        ("encoder.dim", "48", "'{}' must be an integer"),
        ("encoder.dim", 16, "different from 'dim' .* Received: 16"),
        ("encoder.n_layers", 3, "missing: .*'backward_layer_2.input"),
        ("encoder.n_layers", 1, "not in the model: .*_layer_1"),
        ("token_embedder.word_dim", 0, "not in the model: .*'word_emb_layer"),
        ("token_embedder.word_dim", 5, r"\(21, 5\) .*Received: \(21, 12\)"),
    ],
)
def test_sizes_that_do_not_fit(folder, key, value, message):
    section, name = key.split(".")
    change_sizes(folder, section, **{name: value})
    refused(folder, message.format(key))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"{", "'.*config.json' is not JSON"),
        ("config.json", b"[]", "config.json' must contain a JSON object"),
        ("config.json", b"{}", "a file as 'config_path'. Received: N"),
        ("cnn_config.json", b"{}", "lack the key 'encoder'"),
        ("char.dic", b"a\t0\nb\t0\n", "Line 2 of .*char.dic' must have an"),
        ("char.dic", b"a\t0\nb\t-1\n", "Line 2 of .*char.dic' must have an"),
        ("char.dic", b"a\t1\n", "must be all from 0 to 0. .* up to 1"),
        ("char.dic", b"a\t0\n", "`characters` must contain <bos>"),
        ("char.dic", b"\xff\t0\n", "char.dic' is not UTF-8"),
        ("char.dic", b"", "`characters` must contain <bos>"),
        ("word.dic", b"a\t0\nb\t1\nb\t2\n", "`words` must not contain dup"),
        ("encoder.pkl", b"", "state dict '.*encoder.pkl' cannot be read"),
        ("token_embedder.pkl", b"x", "token_embedder.pkl' cannot be read"),
    ],
)
def test_files_that_are_damaged(folder, name, content, message):
    (folder / name).write_bytes(content)
    refused(folder, message)


def test_byte_order_marks(folder):
    expected = ManyLangsFiles(folder).sizes
    for name in ("config.json", "cnn_config.json", "char.dic", "word.dic"):
        path = folder / name
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert ManyLangsFiles(folder).sizes == expected


@pytest.mark.parametrize(
    "name", ["config.json", "char.dic", "word.dic", "encoder.pkl"]
)
def test_files_that_are_missing(folder, name):
    os.remove(folder / name)
    refused(folder, f"There is no file '.*{name}'", FileNotFoundError)


def test_numbers_that_are_none(folder):
    arrays = dict(read_state_dict((folder / "encoder.pkl").read_bytes(), ""))
    for value, message in (
        (np.float32("nan"), "must hold finite numbers"),
        (np.float32(0), r"must have the shape \(192,\)"),
    ):
        key = "forward_layer_0.state_linearity.bias"
        shape = (192,) if np.isnan(value) else (5,)
        arrays[key] = np.full(shape, value)
        (folder / "encoder.pkl").write_bytes(file_of(arrays))
        refused(folder, f"{key}' of the state dict .* {message}")


def test_an_entry_that_is_white_space_is_that_of_u_3000(folder):
    path = folder / "char.dic"
    text = path.read_text("utf-8").replace("!\t6", "\u00a0\t6")
    path.write_text(text, "utf-8")
    assert ManyLangsFiles(folder).sizes[0]["characters"][6] == "\u3000"
