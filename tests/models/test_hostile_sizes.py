"""Files that declare sizes that their weights do not have."""

import functools
import json
import shutil

import keras
import pytest
from pretraining.small_language_models import WORDS
from pretraining.small_language_models import make_model

from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo.commands.main import main
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("language_model")
    words = [b"<S>", b"</S>", b"<UNK>"]
    words += [b"w%d" % i for i in range(WORDS - len(words))]
    save_language_model(make_model(), Vocabulary(words), {}, folder)
    return folder


@pytest.fixture
def folder(language_model, tmp_path):
    """A copy of the model, to be changed."""
    return shutil.copytree(language_model, tmp_path / "model")


def of_command(*arguments):
    def run(folder, capsys):
        text = folder.parent / "text.txt"
        text.write_text("w1 w2\n")
        places = {"TEXT": str(text), "OUT": str(folder.parent / "out")}
        names = [places.get(a, a) for a in arguments]
        assert main([names[0], str(folder), *names[1:]]) == 1
        return capsys.readouterr().err

    return run


def of_function(load):
    def run(folder, capsys):
        with pytest.raises(ValueError, match=r"weights\.hdf5") as info:
            load(folder)
        return str(info.value)

    return run


READERS = {
    "from_bilm": of_function(ElmoLayer.from_bilm),
    "from_preset": of_function(ElmoLayer.from_preset),
    "pretrain --from": of_function(
        functools.partial(load_language_model, BidirectionalLanguageModel)
    ),
    "convert": of_command("convert", "OUT"),
    "perplexity": of_command("perplexity", "TEXT"),
    "export": of_command("export", "OUT"),
}


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Some verbs need it."
)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("section", "key", "value", "told"),
    [
        ("lstm", "dim", 10**9, "shape (12, 4000000000)"),
        ("lstm", "n_layers", 1000, "Cell10/LSTMCell/B"),
        ("char_cnn", "embedding", {"dim": 10**9}, "shape (261, 1000000000)"),
        ("char_cnn", "n_highway", 1000, "CNN_high_10/b_carry"),
    ],
)
def test_sizes_that_the_file_does_not_have_are_refused(
    folder, capsys, reader, section, key, value, told
):
    options = json.loads((folder / "options.json").read_text())
    options[section][key] = value
    (folder / "options.json").write_text(json.dumps(options))
    said = READERS[reader](folder, capsys)
    assert told in said
    assert f"'{folder}/weights.hdf5'" in said


def test_sizes_of_many_langs_are_refused(shared, tmp_path):
    source = shared / "reference/elmo_for_many_langs/char_only"
    folder = shutil.copytree(
        source, tmp_path / "model", copy_function=shutil.copyfile
    )
    path = folder / "cnn_config.json"
    sizes = json.loads(path.read_text())
    sizes["encoder"]["dim"] = 10**9
    path.write_text(json.dumps(sizes))
    with pytest.raises(ValueError, match=r"shape \(4000000000, ") as info:
        ElmoLayer.from_preset(folder)
    assert f"'{folder}/encoder.pkl'" in str(info.value)
