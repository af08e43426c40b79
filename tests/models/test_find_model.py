"""Every kind of model with every verb: it works or fails with a clear error."""

import json
import os
import pathlib
import shutil
import zipfile
from unittest import mock

import keras
import pytest
from formats.loopback import serve
from formats.loopback import use_cache
from pretraining.small_language_models import WORDS
from pretraining.small_language_models import make_model
from small_models import make_elmo
from tiers import quick_first

from keras_elmo import PRESETS
from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo.commands import export
from keras_elmo.commands.main import main
from keras_elmo.models.bilm import FoundBilm
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.models.many_langs import FoundManyLangs
from keras_elmo.models.preset_folder import PresetFolder
from keras_elmo.models.presets import Preset
from keras_elmo.pretraining import perplexity
from keras_elmo.pretraining import pretrain
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.serving import export_saved_model as serving
from keras_elmo.text.vocabulary import Vocabulary

pytestmark = [
    pytest.mark.filterwarnings("ignore:The vocabulary has 50.0% of the text"),
    pytest.mark.in_graphs(False),
    pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="Some verbs need it."
    ),
]
NAME = "of_the_tests"
BILM = ("folder", "folder_with_config", "zip", "url", NAME)
MANY_LANGS = ("many_langs", "many_langs_zip", "many_langs_url")
KINDS = {
    # One for each class first.
    "folder": FoundBilm,
    "many_langs": FoundManyLangs,
    "preset_folder": PresetFolder,
    "model.keras": KerasFile,
    **dict.fromkeys(BILM, FoundBilm),
    "checkpoint": FoundBilm,
    "checkpoint_zip": FoundBilm,
    **dict.fromkeys(MANY_LANGS, FoundManyLangs),
}
TO_LOAD = ("from_preset", "embed", "export")
OF_LANGUAGE_MODELS = ("convert", "perplexity", "pretrain")
# The remedy in the error message.
REFUSED = {
    **{
        (kind, verb): "a model of ELMoForManyLangs"
        for kind in MANY_LANGS
        for verb in ("perplexity", "pretrain")
    },
    **{("preset_folder", verb): "save_to_bilm" for verb in OF_LANGUAGE_MODELS},
    **{
        ("model.keras", verb): "keras.saving.load_model"
        for verb in ("from_preset", "embed", *OF_LANGUAGE_MODELS)
    },
}


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
            "many_langs_url": server.url("many_langs_zip"),
        }


def _write_models(root, reference):
    words = [b"<S>", b"</S>", b"<UNK>"]
    words += [f"word{i}".encode() for i in range(WORDS - len(words))]
    vocabulary = Vocabulary(words)
    os.mkdir(root / "folder")
    save_language_model(make_model(), vocabulary, {}, root / "folder")
    shutil.copytree(root / "folder", root / "folder_with_config")
    (root / "folder_with_config/config.json").write_text('{"a": "stray"}')
    for source, name in [
        ("bilm_tf_checkpoint", "checkpoint"),
        ("elmo_for_many_langs/char_and_word", "many_langs"),
    ]:
        shutil.copytree(
            reference / source,
            root / name,
            ignore=shutil.ignore_patterns("*.hdf5"),
            copy_function=shutil.copyfile,
        )
        os.chmod(root / name, 0o755)
    for source, name in [
        ("folder", "zip"),
        ("checkpoint", "checkpoint_zip"),
        ("many_langs", "many_langs_zip"),
    ]:
        with zipfile.ZipFile(root / name, "w") as archive:
            for file in (root / source).iterdir():
                archive.write(file, f"inner/{file.name}")
    elmo = make_elmo()
    elmo.save_to_preset(root / "preset_folder")
    inputs = keras.Input((None, 12), dtype="int32")
    keras.Model(inputs, elmo(inputs)).save(root / "model.keras")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs a verb and returns its error message, or `None`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("word1 the\n")
    loaded = []

    def export_saved_model(model, *_, **__):
        loaded.append(model)

    def train(_train, _output, settings, *, initial, **_):
        options = settings.options
        loaded.append(
            load_language_model(
                BidirectionalLanguageModel, initial, options=options
            )[0]
        )
        progress = mock.Mock(step=1)
        return mock.Mock(is_finished=True, progress=progress)

    class Evaluator:
        def __init__(self, model, *_):
            loaded.append(model)

        def evaluate(self, *_):
            return perplexity.Perplexity(1.0, 1.0, 1.0, 1)

    # The steps after the model is loaded have their own tests.
    monkeypatch.setattr(serving, "export_saved_model", export_saved_model)
    monkeypatch.setattr(export, "print_summary", lambda _: None)
    monkeypatch.setattr(perplexity, "Evaluator", Evaluator)
    monkeypatch.setattr(pretrain, "pretrain", train)

    def run(verb, model):
        if verb == "from_preset":
            try:
                loaded.append(ElmoLayer.from_preset(model))
            except ValueError as error:
                return str(error)
        else:
            arguments = {
                "embed": [model, "text.txt", "out.npz"],
                "export": [model, "served"],
                "convert": [model, "written"],
                "perplexity": [model, "text.txt"],
                "pretrain": [
                    *("text.txt", "trained"),
                    *("--from", model, "--steps", "1"),
                ],
                "inspect": [model],
            }[verb]
            if main([verb, *arguments]):
                return capsys.readouterr().err
        written = ("out.npz", "written")
        shown = capsys.readouterr().out
        assert loaded or any(map(os.path.exists, written)) or shown
        return None

    return run


@pytest.mark.parametrize("verb", [*TO_LOAD, *OF_LANGUAGE_MODELS, "inspect"])
@pytest.mark.parametrize("kind", quick_first([*KINDS], 4))
def test_a_kind_with_a_verb(kind, verb, models, run):
    error = run(verb, models[kind])
    remedy = REFUSED.get((kind, verb))
    if remedy is None:
        assert error is None
        return
    assert remedy in error
    assert verb in error
    assert kind.removesuffix("_url") in error  # By its path.


@pytest.mark.parametrize("verb", [*TO_LOAD, *OF_LANGUAGE_MODELS, "inspect"])
def test_word_input_with_a_verb(verb, models, run, tmp_path):
    folder = shutil.copytree(models["folder"], tmp_path / "words")
    options = json.loads((folder / "options.json").read_text())
    del options["char_cnn"]
    (folder / "options.json").write_text(json.dumps(options))
    error = run(verb, str(folder))
    assert f"'{folder / 'options.json'}'" in error
    assert "(word input) is not supported" in error
    assert "a word's vector from its characters" in error


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind, models):
    assert type(find_model(models[kind])) is KINDS[kind]


def test_one_model_has_one_fingerprint_wherever_it_lies(models):
    found = {kind: find_model(models[kind]).fingerprint() for kind in BILM}
    assert len(set(found.values())) == 1
    folder = models["folder"]
    pair = find_model(f"{folder}/options.json", f"{folder}/weights.hdf5")
    assert pair.fingerprint() == found["folder"]
    elmo, other = (x.load(ElmoLayer) for x in (pair, find_model(folder)))
    assert elmo.count_params() == other.count_params()
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
        (["model.weights.h5", "options.json"], FoundBilm),
        (["options.json", "a.index"], FoundBilm),
        (["options.json", "a.index", "weights.hdf5"], FoundBilm),
        (["training.json", "vocab.txt"], FoundBilm),
        (["weights.hdf5"], FoundBilm),
    ],
)
def test_what_makes_a_kind_what_it_is(names, kind, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    assert type(find_model(tmp_path)) is kind


def test_weights_go_with_an_options_file(models):
    for kind in ("folder", "zip", NAME, "model.keras"):
        with pytest.raises(ValueError, match="`weights` must be left out"):
            find_model(models[kind], "weights.hdf5")
    with pytest.raises(ValueError, match="`weights` must be left out"):
        find_model("english_pos", "weights.hdf5")


def test_a_checkpoint_beside_vectors_of_words(models, tmp_path):
    shutil.copytree(models["checkpoint"], tmp_path / "model")
    (tmp_path / "model" / "token_embeddings.hdf5").touch()
    found, expected = map(
        find_model, (tmp_path / "model", models["checkpoint"])
    )
    assert list(found.facts(ElmoLayer)) == list(expected.facts(ElmoLayer))


@pytest.mark.parametrize("inner", ["", "my_elmo/"])
def test_a_zip_of_a_preset_folder_is_named(models, tmp_path, inner):
    path = tmp_path / "elmo.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in pathlib.Path(models["preset_folder"]).iterdir():
            archive.write(file, f"{inner}{file.name}")
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
