import json
import shutil

import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from keras import ops
from pretraining.small_language_models import make_model
from pretraining.small_trainings import OPTIONS
from small_models import randomize

from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.text.vocabulary import Vocabulary

WORDS = 20
TRAINING = {"batch_size": 3, "unroll_steps": 5, "all_clip_norm_val": None}
FILES = {"options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"}
PARTS = ("token_encoder", "encoder")


def make_vocabulary(size=WORDS):
    words = [b"<S>", b"</S>", b"<UNK>", *(b"w%d" % i for i in range(size))]
    return Vocabulary(words[:size])


def load(folder, *args, **kwargs):
    cls = BidirectionalLanguageModel
    return load_language_model(cls, folder, *args, **kwargs)


def check_equal(layer, other):
    for one, two in zip(layer.weights, other.weights, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (one, two)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a saved model, and the model."""
    options = {**OPTIONS, "n_tokens_vocab": 7}
    model = make_language_model(BidirectionalLanguageModel, options, WORDS)
    randomize(model)
    folder = tmp_path_factory.mktemp("model")
    save_language_model(model, make_vocabulary(), TRAINING, folder)
    return folder, model


def test_a_model_is_loaded_as_it_was_saved(saved):
    folder, model = saved
    assert {path.name for path in folder.iterdir()} == FILES
    loaded, vocabulary = load(folder)
    assert vocabulary == make_vocabulary()
    check_equal(loaded, model)
    assert (loaded.num_negatives, loaded.dropout) == (8, 0.1)
    content = json.loads((folder / "options.json").read_text())
    assert content["n_tokens_vocab"] == WORDS
    assert (content["batch_size"], content["unroll_steps"]) == (3, 5)
    assert "all_clip_norm_val" not in content
    assert {*all_arrays(folder / "softmax.hdf5")} == {"softmax/W", "softmax/b"}
    # It is a biLM, too.
    elmo = ElmoLayer.from_bilm(folder)
    for part in PARTS:
        check_equal(getattr(elmo, part), getattr(model, part))


def test_a_subclass_is_loaded_as_itself(saved):
    class MyModel(BidirectionalLanguageModel):
        pass

    loaded = MyModel.from_preset(saved[0])
    assert type(loaded) is MyModel
    assert loaded.words[-1] == "w16"


def test_words_that_are_not_utf8_stay_distinct(tmp_path):
    words = [*make_vocabulary().words[:-2], b"caf\xe9", b"caf\xe8"]
    save_language_model(make_model(), Vocabulary(words), TRAINING, tmp_path)
    model = BidirectionalLanguageModel.from_preset(tmp_path)
    assert [w.encode(errors="surrogateescape") for w in model.words] == words
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.words == model.words
    expected = Evaluator(*load(tmp_path)).evaluate([words[-1:]]).perplexity
    assert loaded.perplexity([words[-1:]]) == pytest.approx(expected, rel=1e-6)


def test_other_options_and_another_dtype(saved):
    folder, model = saved
    options = json.loads((folder / "options.json").read_text())
    options["dropout"] = 0.3
    loaded, _ = load(folder, dtype="mixed_bfloat16", options=options)
    assert loaded.dropout == 0.3
    parts = loaded.token_encoder, loaded.encoder, loaded.softmax
    assert {x.compute_dtype for x in (loaded, *parts)} == {"bfloat16"}
    check_equal(loaded, model)


def test_a_new_softmax(saved):
    folder, model = saved
    vocabulary = make_vocabulary(12)
    keras.utils.set_random_seed(1)
    loaded, found = load(folder, vocabulary, new_softmax=True)
    assert found is vocabulary
    for part in PARTS:
        check_equal(getattr(loaded, part), getattr(model, part))
    assert not np.any(loaded.softmax.bias)
    kernel = ops.convert_to_numpy(loaded.softmax.kernel)
    assert kernel.shape == (12, 4) and 0.3 < kernel.std() < 0.7


def test_what_is_missing_is_told(saved, tmp_path):
    folder = shutil.copytree(saved[0], tmp_path / "model")
    for name, match in (
        ("softmax.hdf5", "has no softmax.*with --new-softmax"),
        ("vocab.txt", r"has no vocab\.txt\. Put"),
    ):
        (folder / name).unlink()
        with pytest.raises(ValueError, match=match) as info:
            load(folder)
        assert f"'{folder}'" in str(info.value)
    load(folder, make_vocabulary(), new_softmax=True)


@pytest.mark.parametrize(
    "vocabulary",
    [make_vocabulary(19), Vocabulary(make_vocabulary().words[::-1])],
)
def test_another_vocabulary_is_refused(saved, vocabulary):
    match = f"which has 20 words. Received: one with other .* {len(vocabulary)}"
    with pytest.raises(ValueError, match=match):
        load(saved[0], vocabulary)


def test_a_checkpoint_of_bilm_tfs_training(shared):
    folder = shared / "reference/bilm_tf_checkpoint"
    model, vocabulary = load(folder)
    assert len(vocabulary) == 1503
    assert model.num_negatives == 256
    # The files that bilm-tf dumped from it.
    dump = ElmoLayer.from_bilm(folder / "options.json", folder / "weights.hdf5")
    for part in PARTS:
        check_equal(getattr(model, part), getattr(dump, part))
    assert np.abs(model.softmax.kernel).max() > 0.1
    assert np.abs(model.softmax.bias).max() > 0.1
