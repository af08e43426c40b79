import codecs
import json
import os
import shutil
import zipfile

import h5py
import numpy as np
import pytest
from comparisons import assert_close
from formats.zips import write_zip
from hdf5_arrays import check_equal
from keras import ops

from keras_elmo import ElmoLayer
from keras_elmo.formats.many_langs import ManyLangsFiles


@pytest.fixture
def stored(shared):
    return shared / "reference/elmo_for_many_langs/char_and_word"


@pytest.fixture
def folder(stored, tmp_path):
    """A copy of the model, to be damaged."""
    return shutil.copytree(
        stored, tmp_path / "model", copy_function=shutil.copyfile
    )


def change_sizes(folder, section, **values):
    """Changes some values in a section of the file with the sizes."""
    path = folder / "cnn_config.json"
    config = json.loads(path.read_text())
    config[section].update(values)
    path.write_text(json.dumps(config))


def refused(path, message, error=ValueError):
    with pytest.raises(error, match=message):
        ElmoLayer.from_preset(path)


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


@pytest.mark.parametrize("root", ["", "vi.model/"])
def test_a_zip(stored, tmp_path, root):
    path = write_zip(tmp_path / "178.zip", stored, root)
    files, expected = ManyLangsFiles(path), ManyLangsFiles(stored)
    assert files.sizes == expected.sizes
    check_equal(files.read_arrays(), expected.read_arrays())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b/encoder.pkl", "")
    refused(path, "must contain an 'encoder.pkl', and only one")


def test_arguments_of_the_layer(stored):
    options = {"name": "vi", "num_representations": 2, "trainable": True}
    elmo = ElmoLayer.from_preset(stored, dtype="mixed_bfloat16", **options)
    assert elmo.name == "vi" and len(elmo.scalar_mixes) == 2
    assert elmo.token_encoder.compute_dtype == "bfloat16"
    assert len(elmo.trainable_weights) == len(elmo.weights) == 20 + 16 + 4
    frozen = ElmoLayer.from_preset(stored)
    assert len(frozen.trainable_weights) == 2


def test_the_sizes_are_looked_for_in_the_folder_alone(folder):
    change_sizes(folder, "encoder", cell_clip=0, proj_clip=None)
    (folder.parent / "sizes.json").write_text("{}")
    for path, units, clip in (
        ("/train/cnn_config.json", 48, None),
        ("../sizes.json", 4096, 3),
        (f"{folder.parent}/sizes.json", 4096, 3),
    ):
        (folder / "config.json").write_text(json.dumps({"config_path": path}))
        encoder = ManyLangsFiles(folder).sizes[1]
        assert encoder["units"] == units
        assert encoder["cell_clip"] == encoder["proj_clip"] == clip


def test_without_sizes_they_are_the_standard_ones(folder):
    os.remove(folder / "cnn_config.json")
    files = ManyLangsFiles(folder)
    token_encoder, encoder = files.sizes
    assert encoder["units"] == 4096 and encoder["projection_dim"] == 512
    sizes = enumerate((32, 32, 64, 128, 256, 512, 1024), start=1)
    assert token_encoder["filters"] == [[*pair] for pair in sizes]
    assert token_encoder["embedding_dim"] == 50
    assert token_encoder["word_embedding_dim"] == 100
    refused(folder, "that are missing: .*'convolutions.6.weight'")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("token_embedder.name", "lstm", "'{}' must be 'cnn'"),
        ("encoder.name", "lstm", "'{}' must be 'elmo'"),
        ("token_embedder.activation", "elu", "'{}' must"),
        ("token_embedder.char_dim", 0, "'{}' must be"),
        ("encoder.dim", 16, "different from 'dim' .* Received: 16"),
        ("encoder.n_layers", 3, "missing: .*'backward_layer_2.input"),
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
        ("config.json", b"{", ".*config.json' is not JSON"),
        ("config.json", b"[]", "config.json' must contain a JSON object"),
        ("config.json", b"{}", "a file as 'config_path'. Received: N"),
        ("cnn_config.json", b"{}", "lack the key 'encoder'"),
        ("char.dic", b"a\t0\nb\t0\n", "Line 2 of .*char.dic' must have an"),
        ("word.dic", b"a\t0\nb\t-1\n", "Line 2 of .*word.dic' must have an"),
        ("char.dic", b"a\t1\n", "must be all from 0 to 0. .* up to 1"),
        ("char.dic", b"a\t0\n", "`characters` must contain <bos>"),
        ("char.dic", b"\xff\t0\n", "char.dic' is not UTF-8"),
        ("word.dic", b"a\t0\nb\t1\nb\t2\n", "`words` must not contain dup"),
        ("encoder.pkl", b"", "state dict '.*encoder.pkl' cannot be read"),
        *(
            (name, None, f"There is no file '.*{name}'")
            for name in ("config.json", "char.dic", "word.dic", "encoder.pkl")
        ),
    ],
)
def test_files_that_are_damaged_or_missing(folder, name, content, message):
    if content is None:
        os.remove(folder / name)
        refused(folder, message, FileNotFoundError)
    else:
        (folder / name).write_bytes(content)
        refused(folder, message)


def test_lists_as_they_occur(folder):
    """With byte order marks, and a white space in place of U+3000."""
    path = folder / "char.dic"
    text = path.read_text("utf-8").replace("!\t6", "\u00a0\t6")
    path.write_text(text, "utf-8")
    for name in ("config.json", "cnn_config.json", "char.dic", "word.dic"):
        path = folder / name
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    token_encoder, encoder = ManyLangsFiles(folder).sizes
    assert token_encoder["characters"][6] == "\u3000"
    assert token_encoder["words"][6] == "Deep" and encoder["units"] == 48
