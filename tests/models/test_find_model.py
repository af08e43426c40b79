"""Every kind of model: it answers, or fails with a clear error."""

import json
import os
import re
import shutil

import keras
import pytest
from conftest import ON_TENSORFLOW
from formats.loopback import serve
from formats.loopback import use_cache
from formats.zips import write_zip
from pretraining.small_language_models import WORDS
from pretraining.small_language_models import make_model
from small_models import make_elmo

from keras_elmo import PRESETS
from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo.models.bilm import FoundBilm
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.models.many_langs import FoundManyLangs
from keras_elmo.models.preset_folder import PresetFolder
from keras_elmo.models.presets import Preset
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.text.vocabulary import Vocabulary

pytestmark = [
    pytest.mark.filterwarnings("ignore:The vocabulary has 50.0% of the text"),
    pytest.mark.in_graphs(False),
    ON_TENSORFLOW,
]
NAME = "of_the_tests"
BILM = ("folder", "zip", "url", NAME)
KINDS = {
    **dict.fromkeys([*BILM, "checkpoint"], FoundBilm),
    "many_langs": FoundManyLangs,
    "preset_folder": PresetFolder,
    "model.keras": KerasFile,
}
# What a kind of model is not, and what the error says.
REFUSED = [
    ("many_langs", ["open_language_model"], "a model of ELMoForManyLangs"),
    (
        "preset_folder",
        ["open_language_model", "conversion"],
        "files of a language model.*save_to_bilm",
    ),
    (
        "model.keras",
        ["load", "fingerprint", "open_language_model", "conversion"],
        r"keras\.saving\.load_model\(",
    ),
]


@pytest.fixture(scope="module")
def models(shared, tmp_path_factory):
    """The argument to pass to a verb, by the name of the kind."""
    root = tmp_path_factory.mktemp("models")
    _write_models(root, shared / "reference")
    preset = Preset(None, None, 1, "", "", str(root / "folder"))
    with pytest.MonkeyPatch.context() as patch, serve(root) as server:
        use_cache(patch, root / "cache")
        patch.setitem(PRESETS, NAME, preset)
        yield {
            **{kind: str(root / kind) for kind in KINDS},
            NAME: NAME,
            "url": server.url("zip"),
        }


def _write_models(root, reference):
    words = [b"<S>", b"</S>", b"<UNK>"]
    words += [f"word{i}".encode() for i in range(WORDS - len(words))]
    vocabulary = Vocabulary(words)
    os.mkdir(root / "folder")
    save_language_model(make_model(), vocabulary, {}, root / "folder")
    write_zip(root / "zip", root / "folder", "inner/")
    for source, name in [
        ("bilm_tf_checkpoint", "checkpoint"),
        ("elmo_for_many_langs/char_and_word", "many_langs"),
    ]:
        ignored = shutil.ignore_patterns("*.hdf5")
        shutil.copytree(reference / source, root / name, ignore=ignored)
    elmo = make_elmo()
    elmo.save_to_preset(root / "preset_folder")
    inputs = keras.Input((None, 12), dtype="int32")
    keras.Model(inputs, elmo(inputs)).save(root / "model.keras")


def test_kinds(models):
    assert {kind: type(find_model(models[kind])) for kind in KINDS} == KINDS
    for found in map(find_model, models.values()):
        assert "parameters" in dict(found.facts(ElmoLayer))
        model = found.load_for_export(ElmoLayer)
        assert isinstance(model, (ElmoLayer, keras.Model))


@pytest.mark.parametrize(("kind", "names", "told"), REFUSED)
def test_what_a_kind_is_not_is_refused(models, kind, names, told):
    for name in names:
        arguments = [ElmoLayer] if name in ("load", "conversion") else []
        with pytest.raises(ValueError, match=told) as info:
            getattr(find_model(models[kind]), name)(*arguments)
        assert f"'{models[kind]}'" in str(info.value)


@pytest.mark.parametrize(
    ("section", "key", "value", "told"),
    [
        ("lstm", "dim", 10**9, "shape (12, 4000000000)"),
        ("lstm", "n_layers", 1000, "Cell10/LSTMCell/B"),
        ("char_cnn", "n_highway", 1000, "CNN_high_10/b_carry"),
    ],
)
def test_sizes_that_the_file_does_not_have_are_refused(
    models, tmp_path, section, key, value, told
):
    folder = shutil.copytree(models["folder"], tmp_path / "model")
    content = json.loads((folder / "options.json").read_text())
    content[section][key] = value
    (folder / "options.json").write_text(json.dumps(content))
    for read in (
        ElmoLayer.from_preset,
        lambda folder: [*find_model(folder).facts(ElmoLayer)],
        lambda folder: load_language_model(BidirectionalLanguageModel, folder),
    ):
        with pytest.raises(ValueError, match=re.escape(told)) as info:
            read(folder)
        assert f"'{folder}/weights.hdf5'" in str(info.value)


def test_one_model_has_one_fingerprint_wherever_it_lies(models):
    found = {kind: find_model(models[kind]).fingerprint() for kind in BILM}
    assert len(set(found.values())) == 1
    folder = models["folder"]
    pair = find_model(f"{folder}/options.json", f"{folder}/weights.hdf5")
    assert pair.fingerprint() == found["folder"]
    files = pair.open_language_model()
    assert files.content["n_tokens_vocab"] == WORDS
    assert files.read_vocabulary()[0].endswith("vocab.txt")
    assert find_model(pair) is pair


def test_a_name_comes_before_a_path(models, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(models["preset_folder"], NAME)
    assert type(find_model(NAME)) is FoundBilm
    assert type(find_model(f"./{NAME}")) is PresetFolder


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["encoder.pkl", "token_embedder.pkl", "options.json"], FoundManyLangs),
        (["encoder.pkl", "config.json"], FoundManyLangs),
        (["encoder.pkl", "x_options.json", "x_weights.hdf5"], FoundBilm),
        (["config.json"], PresetFolder),
        (["config.json", "ner.keras"], KerasFile),
        (["model.weights.h5"], PresetFolder),
        (["model.weights.h5", "config.json", "options.json"], FoundBilm),
        (["a.index"], FoundBilm),
        (["training.json", "vocab.txt"], FoundBilm),
        (["weights.hdf5"], FoundBilm),
    ],
)
def test_what_makes_a_kind_what_it_is(names, kind, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    assert type(find_model(tmp_path)) is kind


def test_weights_go_with_an_options_file(models):
    paths = [models[kind] for kind in ("folder", "zip", NAME, "model.keras")]
    for path in (*paths, "english_pos"):
        with pytest.raises(ValueError, match="`weights` must be left out"):
            find_model(path, "weights.hdf5")


def test_a_zip_of_a_preset_folder_is_named(models, tmp_path):
    path = tmp_path / "elmo.zip"
    write_zip(path, models["preset_folder"], "my_elmo/")
    told = "save_to_preset must be unpacked, .*'.keras'. Received: '.*elmo.zip'"
    with pytest.raises(ValueError, match=told):
        ElmoLayer.from_preset(path)


def test_what_is_no_model(tmp_path):
    path = tmp_path / "options.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match="must be a directory") as info:
        find_model(path)
    assert f"'{path}'" in str(info.value)
    (tmp_path / "empty.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(ValueError, match=r"empty\.zip' holds no model"):
        find_model(tmp_path / "empty.zip")
    (tmp_path / "a.onnx").write_bytes(b"\x08\n")
    (tmp_path / "served").mkdir()
    (tmp_path / "served/saved_model.pb").touch()
    for name, runs in (("a.onnx", "onnxruntime"), ("served", "saved_model")):
        with pytest.raises(ValueError, match=f"{name}', an? .* which .*{runs}"):
            find_model(tmp_path / name)
