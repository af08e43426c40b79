"""Inspection: what files and folders are, and what is wrong with them."""

import gzip
import json
import os
import pickle
import re
import shutil
import tarfile
import zipfile

import h5py
import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo import export_saved_model
from keras_elmo.embedding.embedding_files import write_embeddings
from keras_elmo.inspection import inspect_path
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import write_training_state

pytestmark = pytest.mark.usefixtures("portable_path")
LFS = (
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"
    "size 374434792\n"
)
HTML = "<!DOCTYPE html>\n<html><body>Sign in to continue</body></html>"


@pytest.fixture(scope="module")
def elmo():
    return make_elmo()


@pytest.fixture
def folder(elmo, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder


def good(*paths):
    inspection = inspect_path(*paths)
    assert inspection.problems == []
    assert inspection.what and inspection.path == str(paths[0])
    return inspection


def bad(*paths):
    inspection = inspect_path(*paths)
    assert inspection.problems
    return inspection.what, " ".join(inspection.problems)


def change_options(folder, **changes):
    path = folder / "options.json"
    options = json.loads(path.read_text())
    options["char_cnn"].update(changes)
    path.write_text(json.dumps(options))


def test_a_folder_of_a_bilm_and_its_files(folder, monkeypatch):
    inspection = good(folder)
    assert (
        inspection.what == "a biLM in the format of bilm-tf, AllenNLP and NLPL"
    )
    assert inspection.facts["LSTMs"] == (
        "2 layers in each direction, 7 units, projection 6, skip connections"
    )
    assert inspection.facts["vectors"] == "3 layers, 12 wide"
    number = sum(a.size for a in all_arrays(folder / "weights.hdf5").values())
    assert inspection.facts["parameters"] == f"{number:,} (float32)"
    assert inspection.uses == [
        f'keras_elmo.ElmoLayer.from_preset("{folder}")',
        f"keras-elmo embed corpus.txt vectors.hdf5 --model {folder}",
    ]
    assert inspection.model == (str(folder),)

    options, weights = folder / "options.json", folder / "weights.hdf5"
    both = good(options, weights)
    assert both.model == (str(options), str(weights))
    assert f'from_bilm("{options}", "{weights}")' in both.uses[0]
    assert good(weights).model == both.model
    assert both.facts["n_characters"] == good(options).facts["n_characters"]
    assert both.facts["n_characters"] == "262"
    # The paths are as given.
    monkeypatch.chdir(folder)
    assert good("weights.hdf5").uses == [
        'keras_elmo.ElmoLayer.from_bilm("options.json", "weights.hdf5")',
        "keras-elmo embed corpus.txt vectors.hdf5 "
        "--options options.json --weights weights.hdf5",
    ]
    assert good(options).what == "the options file of a biLM"


@pytest.mark.parametrize("root", ["", "a/b/"])
def test_a_model_of_nlpl_in_a_zip(folder, tmp_path, root):
    (folder / "weights.hdf5").rename(folder / "model.hdf5")
    (folder / "meta.json").write_text("{}")
    (folder / "vocab.txt.gz").write_bytes(
        gzip.compress(b"<S>\n</S>\n<UNK>\nthe\nthe\n")
    )
    inspection = good(folder)
    assert inspection.facts["vocabulary"] == "5 words, 1 of them repeated"
    path = tmp_path / "210.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, root + file.name)
    inspection = good(path)
    assert (
        inspection.what == "a biLM in the format of bilm-tf, AllenNLP and NLPL"
    )
    assert inspection.model == (str(path),)
    assert inspection.uses[0] == f'keras_elmo.ElmoLayer.from_preset("{path}")'


def test_weights_without_their_options(folder):
    (folder / "options.json").unlink()
    what, problems = bad(folder / "weights.hdf5")
    assert what == "the weight file of a biLM (bilm-tf format)"
    assert "The options file is missing" in problems
    assert "must contain an options file ('options.json'" in bad(folder)[1]


def test_the_folder_around_a_model(folder, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    told = f"The model may be in the folder '{folder}': pass that."
    assert told in bad(tmp_path)[1]
    with pytest.raises(ValueError, match=re.escape(told)):
        ElmoLayer.from_bilm(tmp_path)
    # What cannot be read is not meant.
    monkeypatch.setattr(os, "listdir", listdir_without(tmp_path / "empty"))
    assert told in bad(tmp_path)[1]
    shutil.copytree(folder, tmp_path / "other")
    assert "may be in" not in bad(tmp_path)[1]


def listdir_without(folder):
    """`os.listdir` of a user who must not read `folder`."""
    listdir = os.listdir

    def read(path):
        if os.fspath(path) == str(folder):
            raise PermissionError(13, "Permission denied", str(folder))
        return listdir(path)

    return read


def test_weights_that_do_not_fit_the_options(folder):
    change_options(folder, n_highway=1)
    assert "that are not in the model: ['CNN_high_1/" in bad(folder)[1]
    change_options(folder, n_highway=2, embedding={"dim": 5})
    assert "'char_embed' of the weight file" in bad(folder)[1]
    assert "must have the shape (261, 5)" in bad(folder / "weights.hdf5")[1]


def test_conventions_of_the_number_of_characters(folder):
    for number in (261, 262):
        change_options(folder, n_characters=number)
        good(folder)
    with h5py.File(folder / "weights.hdf5", "a") as store:
        rows = store["char_embed"][()]
        del store["char_embed"]
        store["char_embed"] = np.vstack([np.zeros((1, 4)), rows])
    assert "must have the shape (261, 4)" in bad(folder)[1]
    change_options(folder, n_characters=300)
    assert "'char_cnn.n_characters' must be 261 or 262" in bad(folder)[1]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (LFS, "is a Git LFS pointer, not the file of 374,434,792 bytes"),
        (HTML, "is a web page saved instead of the file"),
        ("", "is empty (0 bytes)"),
        ("junk", "file signature not found"),
    ],
)
def test_what_is_not_the_file(folder, content, told):
    path = folder / "weights.hdf5"
    path.write_text(content)
    assert told in bad(path)[1]
    options = folder / "options.json"
    for paths in ((folder,), (options, path)):
        assert told in bad(*paths)[1]
        assert f"'{path}'" in bad(*paths)[1]
    with pytest.raises(ValueError, match=re.escape(told)):
        ElmoLayer.from_bilm(folder)
    if content != "junk":
        options.write_text(content)
        assert told in bad(options)[1]
        with pytest.raises(ValueError, match=re.escape(told)):
            ElmoLayer.from_bilm(folder)


def test_weights_that_are_cut_off(folder):
    path = folder / "weights.hdf5"
    whole = path.read_bytes()
    for rest in range(200, len(whole), len(whole) // 20):
        path.write_bytes(whole[:rest])
        assert f"is truncated: {rest:,} bytes of {len(whole):,}" in bad(path)[1]


def test_a_preset_folder(elmo, tmp_path):
    path = tmp_path / "preset"
    elmo.save_to_preset(path)
    inspection = good(path)
    assert inspection.what == "a folder of ElmoLayer.save_to_preset"
    assert inspection.model == (str(path),)
    weights = good(path / "model.weights.h5")
    assert weights.what == "the weights in a folder of ElmoLayer.save_to_preset"
    (path / "model.weights.h5").unlink()
    assert "There is no weight file" in bad(path)[1]
    (path / "config.json").write_text(
        '{"registered_name": "Other", "config": {}}'
    )
    assert "Received: 'Other'" in bad(path)[1]
    (path / "config.json").write_text("{")
    assert "is not a layer's config" in bad(path)[1]


def test_models_by_their_names():
    inspection = inspect_path("english_tiny")
    assert inspection.problems == []
    assert (
        inspection.uses[0] == 'keras_elmo.ElmoLayer.from_preset("english_tiny")'
    )
    assert good("small").what == "the name of a model that is downloaded once"


def test_a_keras_file(elmo, tmp_path):
    inputs = keras.Input((None, 12), dtype="int32")
    path = tmp_path / "model.keras"
    keras.Model(inputs, elmo(inputs)).save(path)
    inspection = good(path)
    assert inspection.what == "a .keras file, a whole Keras model"
    assert "ElmoLayer" in inspection.facts["layers of keras_elmo"]
    path.rename(tmp_path / "model.zip")
    assert "if its name ends in .keras" in bad(tmp_path / "model.zip")[1]


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Export is TensorFlow's."
)
def test_a_saved_model(elmo, tmp_path):
    version = export_saved_model(elmo, tmp_path / "served")
    inspection = good(version)
    assert inspection.what == "a SavedModel of keras-elmo export"
    assert "character_ids, default, tokens" in inspection.facts["signatures"]
    assert (
        "last is a SavedModel of keras-elmo" in good(tmp_path / "served").what
    )
    shutil.rmtree(f"{version}/variables")
    assert "'variables' is missing" in bad(version)[1]
    with open(f"{version}/saved_model.pb", "wb") as file:
        file.write(b"\xff\xff")
    assert "saved_model.pb cannot be read" in bad(version)[1]


@pytest.mark.parametrize("layout", ["allennlp", "bilm-tf", "npz"])
def test_embeddings_of_a_corpus(tmp_path, layout):
    path = str(tmp_path / f"vectors.{'npz' if layout == 'npz' else 'hdf5'}")
    pairs = [("a b", np.ones((3, 2, 4))), ("c", np.ones((3, 1, 4)))]
    write_embeddings(path, pairs, layout)
    inspection = good(path)
    assert inspection.what.startswith("the embeddings of a corpus")
    assert inspection.facts["sentences"] == "2"
    if layout != "npz":
        with h5py.File(path, "a") as store:
            del store["0"]
        assert "Missing: [0]" in bad(path)[1]


def test_other_files(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    for name, content, what in [
        ("vocab.txt", b"<S>\n</S>\n<UNK>\nthe\n", "a vocabulary, one word"),
        ("vocab.gz", gzip.compress(b"<S>\nthe\n"), "a vocabulary, one word"),
        ("glove.txt", b"the 0.5 -1e-05 2\nof 1 2 3\n", "word vectors"),
        ("vec.txt", b"2 3\nthe 0.5 -1 2\nof 1 2 3\n", "word vectors"),
        ("text.txt", b"The cat sat .\n", "text"),
        ("quoted.txt", b"> The cat sat .\nDogs bark .\n", "text"),
        ("p.fasta", b">sp|P1|ONE of two\nSEQW\n", "protein sequences"),
        ("q.fa", b"\xef\xbb\xbf>none\n>two\r\nSEQ*\r\n", "protein seq"),
        ("meta.json", b'{"id": 7}', "a JSON file"),
        ("model.index", b"x", "a part of a TensorFlow checkpoint"),
        ("char.dic", b"a\t0\n", "a part of a model of ELMoForManyLangs"),
    ]:
        assert good(write(name, content)).what.startswith(what)
    for name, content, told in [
        ("picture.png", b"\x89PNG\r\n\x1a\n\0", "this package does not know"),
        ("cut.gz", gzip.compress(b"a\n" * 9)[:-9], "file ended before"),
        ("bad.json", b"{", "It is not valid JSON"),
        (
            "cut.zip",
            b"PK\x03\x04" + b"\0" * 50,
            "not an archive, or a corrupt archive",
        ),
        ("p.pkl", pickle.dumps([1]), "this package does not know such files"),
    ]:
        assert told in bad(write(name, content))[1]
    with tarfile.open(tmp_path / "m.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "text.txt")
    assert "Unpack it first: tar xzf" in bad(tmp_path / "m.tar.gz")[1]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../options.json", "{}")
    assert "contains a path outside itself" in bad(tmp_path / "a.zip")[1]
    with h5py.File(tmp_path / "a.hdf5", "w") as store:
        store["x"] = 1
    assert (
        "this package does not know such files" in bad(tmp_path / "a.hdf5")[1]
    )
    os.mkdir(tmp_path / "empty")
    assert "holds no model" in bad(tmp_path / "empty")[1]
    assert "nor a file or directory" in bad(tmp_path / "nowhere")[1]


def test_a_training_that_has_no_model_yet(tmp_path):
    (tmp_path / "training.json").write_text("{}")
    (tmp_path / "vocab.txt").write_text("<S>\n")
    inspection = good(tmp_path)
    assert inspection.what.endswith(
        "keras-elmo pretrain, without a model so far"
    )
    (use,) = inspection.uses
    assert "Run the training command again" in use
    # Everything that would read the model reports this.
    with pytest.raises(ValueError, match="has no model yet") as info:
        ElmoLayer.from_bilm(tmp_path)
    with (
        pytest.raises(ValueError) as other,
        find_model(tmp_path).open_language_model(),
    ):
        pass
    assert str(other.value) == str(info.value)


def test_the_checkpoint_of_a_training(tmp_path):
    model = keras.layers.Dense(1)
    model.build((None, 2))
    optimizer = keras.optimizers.SGD()
    optimizer.build(model.trainable_variables)
    path = tmp_path / "training_state.hdf5"
    state = [np.zeros(3)]
    write_training_state(path, model, optimizer, state, Progress())
    inspection = good(path)
    assert inspection.what.startswith(
        "the state of a training run of keras-elmo"
    )
    assert inspection.uses == ["Run the training command again to resume it."]


def test_the_reference_files(shared):
    reference = shared / "reference"
    for path, what in [
        ("allennlp", "a biLM in the format of bilm-tf, AllenNLP and NLPL"),
        ("allennlp/elmo_token_embeddings.hdf5", "the vectors of a vocabulary"),
        ("allennlp/lm_embeddings_0.hdf5", "the embeddings of a corpus"),
        (
            "bilm_tf_checkpoint",
            "a biLM in the format of bilm-tf, AllenNLP and NLPL",
        ),
        ("elmo_for_many_langs/char_only", "a model of ELMoForManyLangs"),
        ("elmo_for_many_langs/char_only/encoder.pkl", "a part of a model of"),
    ]:
        assert good(reference / path).what.startswith(what)


def test_a_checkpoint_without_its_data(shared, tmp_path):
    path = tmp_path / "checkpoint"
    shutil.copytree(shared / "reference/bilm_tf_checkpoint", path)
    path.chmod(0o755)
    (path / "weights.hdf5").unlink()
    inspection = good(path)
    assert "model.ckpt-372.index" in inspection.facts["weights"]
    words = (path / "vocab.txt").read_bytes()
    (path / "vocab.txt").unlink()
    (path / "vocab.txt").write_text("<S>\n")
    assert "n_tokens_vocab=1,503. Received: 1" in bad(path)[1]
    (path / "vocab.txt").write_bytes(words)
    next(path.glob("*.data-*")).unlink()
    assert "cannot be read; it may be truncated" in bad(path)[1]


def test_a_model_of_many_langs_without_a_part(shared, tmp_path):
    path = tmp_path / "many"
    shutil.copytree(shared / "reference/elmo_for_many_langs/char_only", path)
    path.chmod(0o755)
    shutil.make_archive(tmp_path / "zipped", "zip", path)
    zipped = str(tmp_path / "zipped.zip")
    assert good(zipped).model == (zipped,)
    (path / "char.dic").unlink()
    assert "There is no file" in bad(path)[1]
    (path / "encoder.pkl").unlink()
    assert "There is no file" in bad(path)[1]


def test_nothing_is_too_strange(folder, elmo, tmp_path):
    """Truncated files and arbitrary bytes can be inspected."""
    random = np.random.default_rng(0)
    elmo.save_to_preset(tmp_path / "preset")
    write_embeddings(tmp_path / "v.npz", [("a", np.ones(2))], "npz")
    shutil.make_archive(tmp_path / "model", "zip", folder)
    files = [*folder.iterdir(), *(tmp_path / "preset").iterdir()]
    for file in [*files, tmp_path / "v.npz", tmp_path / "model.zip"]:
        whole = file.read_bytes()
        path = tmp_path / f"strange{file.suffix}"
        for rest in random.integers(0, len(whole), 8):
            content = bytearray(whole[:rest])
            path.write_bytes(content)
            assert inspect_path(path).what
            content = bytearray(whole)
            content[rest : rest + 8] = random.bytes(8)
            path.write_bytes(content)
            assert inspect_path(path).what
    for path in ("", "\0", "hf://x", "x" * 5000):
        assert inspect_path(path).problems


def test_what_a_folder_may_have_besides(folder):
    (folder / ".#options.json").symlink_to("nowhere")
    (folder / "1").write_text("")
    assert good(folder).facts["vectors"] == "3 layers, 12 wide"


def test_a_name_with_more_after_weights(folder):
    """As those of AllenNLP's `pubmed`."""
    weights = folder / "elmo_weights_PubMed_only.hdf5"
    (folder / "weights.hdf5").rename(weights)
    (folder / "options.json").rename(folder / "elmo_options.json")
    assert good(weights).facts["options"] == "elmo_options.json"


def test_commands_for_a_name_with_a_space(folder):
    path = folder.rename(folder.parent / "my model")
    assert good(path).uses == [
        f'keras_elmo.ElmoLayer.from_preset("{path}")',
        f"keras-elmo embed corpus.txt vectors.hdf5 --model '{path}'",
    ]


def test_the_log_of_a_training(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "tokens": 6}\n{"step": 2, "tokens": 12}\n')
    assert good(path).what == "the log of a training run of keras-elmo pretrain"
