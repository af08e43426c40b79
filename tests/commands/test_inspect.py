"""What `inspect` says of models, and of files that cannot be loaded."""

import gzip
import os
import re
import shutil

import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
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
def model(elmo, folder):
    """The folder of a biLM."""
    (folder / "model").mkdir()
    elmo.save_to_bilm("model/options.json", "model/weights.hdf5")
    return folder / "model"


def bad(path, told):
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(told)):
        dict(find_model(path).facts(ElmoLayer))


def test_without_a_model_the_names_are_listed(shows, fails):
    rows = [re.split("  +", line) for line in shows("inspect")]
    assert rows[0] == ["NAME", "KIND", "SIZE", "WHERE", "LICENCE"]
    here = "in the package"
    listed = {name: cells for name, *cells in rows}
    assert listed.keys() > {*PRESETS, *TAGGERS}
    assert listed["english_mini"][:3] == ["ELMo", "11 MB", here]
    assert listed["small"][:3] == ["ELMo", "54 MB", "to download"]
    assert listed["small"][3].startswith("none stated for the weights")
    assert listed["english_pos"] == ["tagger", "1 MB", here, "Apache 2.0"]
    assert "--weights needs an options file" in fails("inspect", "--weights=w")


def test_a_bilm(model, shows):
    (model / "vocab.txt.gz").write_bytes(gzip.compress(b"<S>\n</S>\nthe\n"))
    number = sum(a.size for a in all_arrays(model / "weights.hdf5").values())
    facts = [
        "  input: characters of words, 12 ids per word",
        "  LSTMs: 2 layers in each direction, 7 units, projection 6",
        "  vectors: 3 layers, 12 wide",
        f"  parameters: {number:,} (float32)",
        "  vocabulary: 3 words",
    ]
    load = f'To load it: keras_elmo.ElmoLayer.from_preset("{model}")'
    assert shows("inspect", model) == [f"'{model}': {BILM}", *facts, load]
    files = model / "options.json", model / "weights.hdf5"
    shown = shows("inspect", "--weights", files[1], files[0])
    assert shown[1:5] == facts[:4]
    assert shown[-1].endswith('from_bilm("{}", "{}")'.format(*files))


def test_a_preset_folder(shows):
    make_elmo(lstm={"projection_dim": None}).save_to_preset("a")
    shown = shows("inspect", "a")
    assert shown[0].endswith(": a folder of ElmoLayer.save_to_preset")
    assert "  LSTMs: 2 layers in each direction, 7 units" in shown


def test_a_keras_file(shows):
    elmo = make_elmo()
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, elmo(inputs))
    model.save("a.keras")
    shown = shows("inspect", "a.keras")
    assert shown[0].endswith(": a .keras file, a whole Keras model")
    assert shown[1] == "  layers: InputLayer, ElmoLayer"
    code = 'import keras, keras_elmo; keras.saving.load_model("a.keras")'
    assert shown[-1] == f"To load it: {code}"
    exec(code, {})
    mix = elmo.scalar_mixes[0]
    mix.gamma.assign(np.nan * np.ones(mix.gamma.shape))
    model.save("a.keras")
    bad("a.keras", "NaN or infinity in ['")
    os.rename("a.keras", "a.zip")
    bad("a.zip", "a Keras model must end in '.keras'. Rec")


def test_the_reference_files(shared, shows):
    many_langs = "elmo_for_many_langs/char_and_word"
    for path, what, words in [
        ("bilm_tf_checkpoint", BILM, "  vocabulary: 1,503 words"),
        (many_langs, "a model of ELMoForManyLangs", "  words with vectors: "),
    ]:
        shown = shows("inspect", shared / "reference" / path)
        assert shown[0].endswith(f": {what}")
        assert any(line.startswith(words) for line in shown)


def test_a_training_without_a_model(folder):
    (folder / "training.json").write_text("{}")
    bad(folder, "has no model yet")


def test_a_vocabulary_of_another_checkpoint(shared, folder):
    source, path = shared / "reference/bilm_tf_checkpoint", folder / "model"
    shutil.copytree(source, path, copy_function=shutil.copyfile)
    path.chmod(0o755)
    (path / "vocab.txt").write_text("<S>\n")
    bad(path, "n_tokens_vocab=1,503. Received: 1")


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
def test_what_is_not_the_file(model, name, content, told):
    (model / name).write_text(content)
    with pytest.raises(ValueError, match=re.escape(told)) as info:
        ElmoLayer.from_bilm(model)
    assert f"'{model / name}'" in str(info.value)
