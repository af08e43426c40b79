"""Trainings that begin with a trained model, and their texts."""

import shutil

import numpy as np
import pytest
from hdf5_arrays import all_arrays
from pretraining.small_trainings import Losses
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import options_of
from pretraining.small_trainings import read_log
from pretraining.small_trainings import snapshot
from pretraining.small_trainings import train

# Steps that change nothing: the learning rate is almost zero.
STILL = {"steps": 1, "learning_rate": 1e-30}
pytestmark = [
    pytest.mark.usefixtures("little_to_compile"),
    # Trained models do not know all words of other texts.
    pytest.mark.filterwarnings("ignore:The vocabulary has [5-8]"),
]


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory, little_to_compile):
    """The folder of a finished training."""
    folder = tmp_path_factory.mktemp("trained") / "out"
    assert train(corpus, folder, make_settings(steps=3), heldout=False)
    return folder


@pytest.fixture
def text(tmp_path):
    """A corpus that shares some words with the first one."""
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "shard-0").write_text("w1 w2 w3 another w4\n" * 30)
    (folder / "heldout").write_text("w3 w2 another\n")
    return folder


def check_same_arrays(found, expected, *names):
    for name in names:
        arrays, others = (all_arrays(x / name) for x in (found, expected))
        assert set(arrays) == set(others)
        for key, array in arrays.items():
            np.testing.assert_allclose(array, others[key], rtol=0, atol=1e-20)


@pytest.mark.exhaustive
def test_a_training_that_begins_with_anothers_state(trained, text, tmp_path):
    before, output = snapshot(trained), tmp_path / "out"
    options = options_of(trained)
    settings = make_settings(options=options, **STILL)
    assert train(text, output, settings, initial=trained)
    check_same_arrays(output, trained, "weights.hdf5", "softmax.hdf5")
    # It has all words of the trained model, and no others of the new text.
    assert (output / "vocab.txt").read_bytes() == before["vocab.txt"]
    # It resumes from its own state.
    settings = make_settings(options=options, steps=4)
    losses = Losses()
    assert train(text, output, settings, initial=trained, report=losses)
    assert list(losses.of) == [2, 3, 4]
    assert snapshot(trained) == before


def test_a_model_that_further_training_makes_worse_is_kept(
    trained, corpus, tmp_path
):
    output, options = tmp_path / "out", options_of(trained)
    settings = make_settings(options=options, steps=2, learning_rate=50)
    assert train(corpus, output, settings, initial=trained)
    steps = [entry["step"] for entry in read_log(output)]
    assert steps == [0, 1, 2, 2]
    check_same_arrays(output, trained, "weights.hdf5", "softmax.hdf5")


@pytest.mark.exhaustive
def test_a_training_that_begins_with_a_bilm_alone(trained, text, tmp_path):
    bilm, output = tmp_path / "bilm", tmp_path / "out"
    bilm.mkdir()
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(trained / name, bilm)
    settings = make_settings(options=options_of(bilm), **STILL)
    start = {"initial": bilm, "new_softmax": True}
    assert train(text, output, settings, False, **start)
    check_same_arrays(output, bilm, "weights.hdf5")
    words = (output / "vocab.txt").read_text().split()
    assert set(words[3:]) == {"w1", "w2", "w3", "w4", "another"}
    kernel = all_arrays(output / "softmax.hdf5")["softmax/W"]
    assert kernel.shape == (8, 4) and 0.2 < kernel.std() < 0.9


def test_a_heldout_text_that_is_trained_on(tmp_path):
    lines = [f"the words of sentence {i} ." for i in range(20)]
    (tmp_path / "shard-0").write_text("\n".join(lines[:2]))
    (tmp_path / "shard-1").write_text("\n".join(lines[2:6]))
    (tmp_path / "heldout").write_text("\n".join(["a b", *lines[3:]]))
    told = "3 of 17 sentences of the held-out text are in the corpus, too"
    with pytest.raises(UserWarning, match=told):
        train(tmp_path, tmp_path / "out")
    (tmp_path / "heldout").write_text("\n".join(lines[2:6]))
    with pytest.raises(ValueError, match=r"same text as '.*shard-1' of the co"):
        train(tmp_path, tmp_path / "out")
