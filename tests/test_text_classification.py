"""`text_classification.py` and `compare_classifiers.py` of `examples/`."""

import importlib.util
import json

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_elmo

from keras_elmo import batch_to_ids

SPEC = importlib.util.spec_from_file_location(
    "text_classification", ROOT / "examples" / "text_classification.py"
)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)

pytestmark = pytest.mark.usefixtures("portable_path", "built_optimizers")


@pytest.fixture
def arguments(tmp_path):
    elmo = make_elmo(lstm={"num_layers": 1})
    folder = tmp_path / "model"
    folder.mkdir()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    lines = [
        f"{name}\t{name} {verb}"
        for name in ("kitten", "Dog")
        for verb in ("ran", "sat")
    ]
    for name in ("train.txt", "dev.txt"):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = ["--train", tmp_path / "train.txt", "--dev", tmp_path / "dev.txt"]
    arguments = ["--elmo", folder, *files]
    return [str(argument) for argument in arguments]


@pytest.mark.parametrize("fine_tune", [True, False])
@pytest.mark.exhaustive
def test_it_learns(arguments, tmp_path, capsys, fine_tune):
    path = tmp_path / "model.keras"
    flags = ["--fine-tune"] if fine_tune else []
    accuracy = example.main(
        [*arguments, *flags, "--epochs", "20", "--learning-rate", "0.1",
         "--save", str(path), "--text", "Dog ran"]
    )  # fmt: skip
    assert accuracy == 1
    assert "): Dog ran" in capsys.readouterr().out
    model = keras.saving.load_model(path)
    num_trained = sum(int(np.prod(v.shape)) for v in model.trainable_variables)
    # Two mix weights and a factor, and a dense layer from 12 to 2.
    assert num_trained > 1000 if fine_tune else num_trained == 3 + 26


@pytest.mark.exhaustive
def test_elmo_and_a_bag_of_words_are_compared(arguments, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")
    program = importlib.import_module("compare_classifiers")
    monkeypatch.setattr(program, "MODEL", arguments[1])
    monkeypatch.setattr(program, "SEEDS", (1,))
    monkeypatch.setattr(program, "TEST_SENTENCES", 10)
    monkeypatch.setattr(program, "EPOCHS", 20)
    text, results = tmp_path / "train.txt", tmp_path / "results.json"
    text.write_text(text.read_text() * 20)
    program.main([str(text), "--output", str(results)])
    accuracy = json.loads(results.read_text())["accuracy"]
    assert len(accuracy.pop(arguments[1])) == 1
    # The name of the class is a word of each sentence.
    assert accuracy == {"bag of words": [1]}


@pytest.mark.exhaustive
def test_padding_does_not_count(arguments):
    model = example.build(arguments[1], 3)
    # The mix weights, the factor, and the dense layer: the biLM is frozen.
    assert len(model.trainable_variables) == 4
    alone = model.predict(batch_to_ids([["a", "cat"]], 12), verbose=0)
    ids = batch_to_ids([["a", "cat"], ["a", "b", "c", "d"]], 12)
    padded = model.predict(ids, verbose=0)[:1]
    np.testing.assert_allclose(padded, alone, atol=1e-6)


def test_built_in_sentences():
    train, dev = example.built_in()
    assert len(train) == 16 and len(dev) == 8
    for pairs in (train, dev):
        labels = [label for label, _ in pairs]
        assert labels.count("question") == labels.count("statement")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb c\nno tab\n", "line 2: a line must be a label, a tab"),
        ("a\t \n", "line 1: a line must be"),
        ("", "contains no sentences"),
        ("Dog\ta b\nDog\t\xe9t\xe9\n", "line 2: the text must be UTF-8"),
        # A byte order mark is no part of the label.
        (
            "\xef\xbb\xbfDog\tran\nbird\tthe bird sang\n",
            r"\['Dog', 'kitten'\]. Received: \['bird'\]",
        ),
    ],
)
def test_bad_files_are_told(arguments, tmp_path, text, message):
    (tmp_path / "dev.txt").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        example.main([*arguments, "--epochs", "1"])
