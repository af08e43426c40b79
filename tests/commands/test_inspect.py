"""What `inspect` says of models, and of files that cannot be loaded."""

import gzip
import json
import re
import shutil

import h5py
import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.commands.main import main
from keras_elmo.models.find_model import find_model
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import TAGGERS

pytestmark = pytest.mark.usefixtures("portable_module")
BILM = "a biLM in the format of bilm-tf, AllenNLP and NLPL"
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


@pytest.fixture
def inspect(capsys):
    """A function that runs the command and returns the lines that it shows."""

    def inspect(*arguments):
        assert main(["inspect", *map(str, arguments)]) == 0
        out, err = capsys.readouterr()
        assert not err
        return out.splitlines()

    return inspect


def change_options(folder, **changes):
    path = folder / "options.json"
    options = json.loads(path.read_text())
    options["char_cnn"].update(changes)
    path.write_text(json.dumps(options))


def bad(path, told):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(told)):
        dict(find_model(path).facts(ElmoLayer))


def test_without_a_model_the_names_are_listed(inspect, fails):
    rows = [re.split("  +", line) for line in inspect()]
    assert rows[0] == ["NAME", "KIND", "SIZE", "WHERE", "LICENCE"]
    here = "in the package"
    listed = {name: cells for name, *cells in rows}
    assert listed.keys() > {*PRESETS, *TAGGERS}
    assert listed["english_mini"][:3] == ["ELMo", "11 MB", here]
    assert listed["small"][:3] == ["ELMo", "54 MB", "to download"]
    assert listed["small"][3].startswith("none stated for the weights")
    assert listed["english_pos"] == ["tagger", "1 MB", here, "Apache 2.0"]
    assert "--weights needs an options file" in fails("inspect", "--weights=w")


def test_a_bilm(folder, inspect):
    (folder / "vocab.txt.gz").write_bytes(gzip.compress(b"<S>\n</S>\nthe\n"))
    number = sum(a.size for a in all_arrays(folder / "weights.hdf5").values())
    facts = [
        "  input: characters of words, 12 ids per word",
        "  LSTMs: 2 layers in each direction, 7 units, projection 6",
        "  vectors: 3 layers, 12 wide",
        f"  parameters: {number:,} (float32)",
        "  vocabulary: 3 words",
    ]
    load = f'To load it: keras_elmo.ElmoLayer.from_preset("{folder}")'
    assert inspect(folder) == [f"'{folder}': {BILM}", *facts, load]
    files = folder / "options.json", folder / "weights.hdf5"
    shown = inspect("--weights", files[1], files[0])
    assert shown[1:5] == facts[:4]
    assert shown[-1].endswith('from_bilm("{}", "{}")'.format(*files))


def test_a_preset_folder(tmp_path, inspect):
    make_elmo(lstm={"projection_dim": None}).save_to_preset(tmp_path / "a")
    shown = inspect(tmp_path / "a")
    assert shown[0].endswith(": a folder of ElmoLayer.save_to_preset")
    assert "  LSTMs: 2 layers in each direction, 7 units" in shown


def test_a_keras_file(tmp_path, inspect):
    elmo = make_elmo()
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, elmo(inputs))
    path = tmp_path / "model.keras"
    model.save(path)
    shown = inspect(path)
    assert shown[0].endswith(": a .keras file, a whole Keras model")
    assert shown[1] == "  layers: InputLayer, ElmoLayer"
    assert shown[-1] == f'To load it: keras.saving.load_model("{path}")'
    mix = elmo.scalar_mixes[0]
    mix.gamma.assign(np.nan * np.ones(mix.gamma.shape))
    model.save(path)
    bad(path, "NaN or infinity in ['")
    path.rename(tmp_path / "model.zip")
    bad(tmp_path / "model.zip", "a Keras model must end in '.keras'. Rec")


@pytest.mark.parametrize(
    ("path", "what", "words"),
    [
        ("bilm_tf_checkpoint", BILM, "  vocabulary: 1,503 words"),
        (
            "elmo_for_many_langs/char_and_word",
            "a model of ELMoForManyLangs",
            "  words with vectors: ",
        ),
    ],
)
@pytest.mark.parametrize(
    ("path", "what", "words"),
    [
        ("bilm_tf_checkpoint", BILM, "  vocabulary: 1,503 words"),
        (
            "elmo_for_many_langs/char_and_word",
            "a model of ELMoForManyLangs",
            "  words with vectors: ",
        ),
    ],
)
def test_the_reference_files(shared, inspect, path, what, words):
    shown = inspect(shared / "reference" / path)
    assert shown[0].endswith(f": {what}")
    assert any(line.startswith(words) for line in shown)


def test_files_that_are_no_models(tmp_path, fails):
    (tmp_path / "a.txt").write_text("The cat sat .\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "training").mkdir()
    (tmp_path / "training/training.json").write_text("{}")
    for name, told in [
        ("a.txt", "A model must be a directory, a .zip or a .keras file"),
        ("empty", "holds no model"),
        ("nowhere", "nor a file or directory"),
        ("training", "has no model yet"),
    ]:
        assert told in fails("inspect", tmp_path / name)


def test_a_checkpoint_that_is_not_whole(shared, tmp_path):
    source = shared / "reference/bilm_tf_checkpoint"
    folder = tmp_path / "a"
    shutil.copytree(source, folder, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    (folder / "vocab.txt").write_text("<S>\n")
    bad(folder, "n_tokens_vocab=1,503. Received: 1")
    (folder / "weights.hdf5").unlink()
    next(folder.glob("*.data-*")).unlink()
    bad(folder, "cannot be read; it may be truncated")


def test_weights_that_do_not_fit_the_options(folder):
    for number in (261, 262):
        change_options(folder, n_characters=number)
        assert dict(find_model(folder).facts())
    for changes, told in [
        ({"n_characters": 300}, "'char_cnn.n_characters' must be 261 or 262"),
        ({"n_characters": 262, "n_highway": 1}, "not in the model: ['CNN_hi"),
        ({"n_highway": 2, "embedding": {"dim": 5}}, "have the shape (261, 5)"),
    ]:
        change_options(folder, **changes)
        bad(folder, told)
    change_options(folder, embedding={"dim": 4})
    with h5py.File(folder / "weights.hdf5", "a") as store:
        rows = store["char_embed"][()]
        del store["char_embed"]
        store["char_embed"] = np.vstack([np.zeros((1, 4)), rows])
    # AllenNLP has 262 rows of characters in memory, but 261 in files.
    bad(folder, "must have the shape (261, 4)")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("weights.hdf5", LFS, "is a Git LFS pointer, not the file itself"),
        ("options.json", LFS, "is a Git LFS pointer, not the file itself"),
        ("weights.hdf5", HTML, "is a web page saved instead of the file"),
        ("options.json", "", "is empty (0 bytes)"),
        ("weights.hdf5", "junk", "file signature not found"),
    ],
)
def test_what_is_not_the_file(folder, name, content, told):
    (folder / name).write_text(content)
    with pytest.raises(ValueError, match=re.escape(told)) as info:
        ElmoLayer.from_bilm(folder)
    assert f"'{folder / name}'" in str(info.value)


def test_weights_that_are_cut_off(folder):
    path = folder / "weights.hdf5"
    whole = path.read_bytes()
    for rest in range(200, len(whole), len(whole) // 5):
        path.write_bytes(whole[:rest])
        bad(folder, f"truncated file: eof = {rest}")


def test_a_name_with_more_after_weights(folder):
    """As those of AllenNLP's `pubmed`."""
    weights = folder / "elmo_weights_PubMed_only.hdf5"
    (folder / "weights.hdf5").rename(weights)
    (folder / "options.json").rename(folder / "elmo_options.json")
    assert dict(find_model(folder).facts())
