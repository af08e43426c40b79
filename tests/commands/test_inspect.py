"""What `inspect` says of models, and of files that cannot be loaded."""

import gzip
import json
import re
import shutil
import zipfile

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


def test_the_reference_files(shared, inspect):
    for path, what, words in [
        ("allennlp", BILM, None),
        ("bilm_tf_checkpoint", BILM, "  vocabulary: 1,503 words"),
        (
            "elmo_for_many_langs/char_and_word",
            "a model of ELMoForManyLangs",
            "  words with vectors: ",
        ),
    ]:
        shown = inspect(shared / "reference" / path)
        assert shown[0].endswith(f": {what}")
        assert any(line.startswith(words or "") for line in shown)


def test_files_that_are_no_models(folder, tmp_path, fails):
    (tmp_path / "a.txt").write_text("The cat sat .\n")
    (tmp_path / "empty").mkdir()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../options.json", "{}")
    for name, told in [
        ("a.txt", "A model must be a directory, a .zip or a .keras file"),
        ("a.zip", "contains a path outside itself"),
        ("empty", "holds no model"),
        ("nowhere", "nor a file or directory"),
        ("model/weights.hdf5", "A model must be a directory"),
    ]:
        assert told in fails("inspect", tmp_path / name)


@pytest.fixture
def checkpoint(shared, tmp_path):
    """A copy of bilm-tf's checkpoint, to be damaged."""
    source = shared / "reference/bilm_tf_checkpoint"
    shutil.copytree(source, tmp_path / "a", copy_function=shutil.copyfile)
    (tmp_path / "a").chmod(0o755)
    return tmp_path / "a"


def test_a_model_without_a_part(folder, checkpoint, tmp_path):
    (folder / "options.json").unlink()
    bad(folder, "must contain an options file ('options.json'")
    (checkpoint / "weights.hdf5").unlink()
    next(checkpoint.glob("*.data-*")).unlink()
    bad(checkpoint, "cannot be read; it may be truncated")
    (tmp_path / "training").mkdir()
    (tmp_path / "training/training.json").write_text("{}")
    bad(tmp_path / "training", "has no model yet")


def test_a_vocabulary_of_another_model(checkpoint):
    (checkpoint / "vocab.txt").write_text("<S>\n")
    bad(checkpoint, "n_tokens_vocab=1,503. Received: 1")


def test_weights_that_do_not_fit_the_options(folder):
    change_options(folder, n_highway=1)
    bad(folder, "that are not in the model: ['CNN_high_1/")
    change_options(folder, n_highway=2, embedding={"dim": 5})
    bad(folder, "must have the shape (261, 5)")


def test_conventions_of_the_number_of_characters(folder):
    for number in (261, 262):
        change_options(folder, n_characters=number)
        assert dict(find_model(folder).facts(ElmoLayer))
    with h5py.File(folder / "weights.hdf5", "a") as store:
        rows = store["char_embed"][()]
        del store["char_embed"]
        store["char_embed"] = np.vstack([np.zeros((1, 4)), rows])
    # AllenNLP has 262 rows of characters in memory, but 261 in files.
    bad(folder, "must have the shape (261, 4)")
    change_options(folder, n_characters=300)
    bad(folder, "'char_cnn.n_characters' must be 261 or 262")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (LFS, "is a Git LFS pointer, not the file itself"),
        (HTML, "is a web page saved instead of the file"),
        ("", "is empty (0 bytes)"),
        ("junk", "file signature not found"),
    ],
)
def test_what_is_not_the_file(folder, content, told):
    names = ["weights.hdf5"] + (["options.json"] if content != "junk" else [])
    for name in names:
        (folder / name).write_text(content)
        with pytest.raises(ValueError, match=re.escape(told)) as info:
            ElmoLayer.from_bilm(folder)
        assert f"'{folder / name}'" in str(info.value)


def test_weights_that_are_cut_off(folder):
    path = folder / "weights.hdf5"
    whole = path.read_bytes()
    for rest in range(200, len(whole), len(whole) // 20):
        path.write_bytes(whole[:rest])
        bad(folder, f"truncated file: eof = {rest}")


def test_a_name_with_more_after_weights(folder):
    """As those of AllenNLP's `pubmed`."""
    weights = folder / "elmo_weights_PubMed_only.hdf5"
    (folder / "weights.hdf5").rename(weights)
    (folder / "options.json").rename(folder / "elmo_options.json")
    assert dict(find_model(folder).facts(ElmoLayer))
