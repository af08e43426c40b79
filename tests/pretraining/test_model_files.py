import json
import shutil

import h5py
import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from keras import ops
from pretraining.small_language_models import make_model
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import options_of
from small_models import randomize

from keras_elmo import BidirectionalLanguageModel
from keras_elmo import ElmoLayer
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.model_files import own_vocabulary
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.text.vocabulary import Vocabulary

WORDS = 20
TRAINING = {"batch_size": 3, "unroll_steps": 5, "all_clip_norm_val": None}
FILES = {"options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"}


def make_vocabulary(size=WORDS):
    words = [b"<S>", b"</S>", b"<UNK>", *(b"w%d" % i for i in range(size))]
    return Vocabulary(words[:size])


def weights_of(model):
    return [ops.convert_to_numpy(v) for v in model.weights]


def check_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a saved model, and the model."""
    model = make_language_model(BidirectionalLanguageModel, OPTIONS, WORDS)
    randomize(model)
    folder = tmp_path_factory.mktemp("model")
    save_language_model(model, make_vocabulary(), TRAINING, folder)
    return folder, model


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of the folder, to be changed."""
    return shutil.copytree(saved[0], tmp_path / "model")


def test_what_the_options_say_is_made():
    model = make_language_model(
        BidirectionalLanguageModel, {**OPTIONS, "n_tokens_vocab": 7}, WORDS
    )
    assert model.built
    assert model.vocabulary_size == WORDS
    assert (model.num_negatives, model.dropout) == (8, 0.1)
    assert model.encoder.units == 8
    assert model.token_encoder.token_shape == (8,)
    model = make_language_model(
        BidirectionalLanguageModel, OPTIONS, WORDS, "mixed_bfloat16"
    )
    for layer in (model, model.token_encoder, model.encoder, model.softmax):
        assert layer.compute_dtype == "bfloat16"


def test_a_model_is_loaded_as_it_was_saved(saved):
    folder, model = saved
    assert {path.name for path in folder.iterdir()} == FILES
    loaded, vocabulary = load_language_model(BidirectionalLanguageModel, folder)
    options = options_of(folder)
    assert vocabulary == make_vocabulary()
    check_equal(weights_of(loaded), weights_of(model))
    assert loaded.num_negatives == 8
    assert loaded.dropout == 0.1
    content = json.loads((folder / "options.json").read_text())
    assert options == content
    assert content["n_tokens_vocab"] == WORDS
    assert (content["batch_size"], content["unroll_steps"]) == (3, 5)
    assert "all_clip_norm_val" not in content
    keys = set(all_arrays(folder / "softmax.hdf5"))
    assert keys == {"softmax/W", "softmax/b"}


def test_a_subclass_is_loaded_as_itself(saved):
    class MyModel(BidirectionalLanguageModel):
        pass

    folder, model = saved
    loaded = MyModel.from_preset(folder)
    assert type(loaded) is MyModel
    assert loaded.words[-1] == "w16"
    check_equal(weights_of(loaded), weights_of(model))


def test_words_that_are_not_utf8_stay_distinct(tmp_path):
    words = [*make_vocabulary().words[:-2], b"caf\xe9", b"caf\xe8"]
    save_language_model(make_model(), Vocabulary(words), TRAINING, tmp_path)
    model = BidirectionalLanguageModel.from_preset(tmp_path)
    assert [w.encode(errors="surrogateescape") for w in model.words] == words
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.words == model.words
    sentences = [[b"w3", b"caf\xe9"], [b"caf\xe8", b"w4"]]
    evaluator = Evaluator(
        *load_language_model(BidirectionalLanguageModel, tmp_path), "sentences"
    )
    expected = evaluator.evaluate(sentences)
    for copy in (model, loaded):
        np.testing.assert_allclose(
            copy.perplexity(sentences), expected.perplexity, rtol=1e-6
        )


def test_options_and_vocabulary_alone(saved, folder):
    options = json.loads((folder / "options.json").read_text())
    # Not one to train with, but the options need none.
    (folder / "vocab.txt").write_text("a\na\n")
    assert options_of(folder) == options
    (folder / "vocab.txt").unlink()
    files = find_model(folder).open_language_model()
    assert own_vocabulary(files) is None


def test_a_model_that_was_saved_is_a_bilm(tmp_path):
    model = make_model()
    save_language_model(model, make_vocabulary(), {}, tmp_path)
    elmo = ElmoLayer.from_bilm(tmp_path)
    for layer, other in (
        (elmo.token_encoder, model.token_encoder),
        (elmo.encoder, model.encoder),
    ):
        check_equal(weights_of(layer), weights_of(other))


def test_other_options_and_another_dtype(saved):
    folder, model = saved
    options = {**options_of(folder), "dropout": 0.3}
    loaded, _ = load_language_model(
        BidirectionalLanguageModel,
        folder,
        dtype="mixed_bfloat16",
        options=options,
    )
    assert loaded.dropout == 0.3
    assert loaded.compute_dtype == "bfloat16"
    check_equal(weights_of(loaded), weights_of(model))


def test_a_new_softmax(saved):
    folder, model = saved
    vocabulary = make_vocabulary(12)
    keras.utils.set_random_seed(1)
    loaded, found = load_language_model(
        BidirectionalLanguageModel, folder, vocabulary, new_softmax=True
    )
    assert found is vocabulary
    for name in ("token_encoder", "encoder"):
        one, other = getattr(loaded, name), getattr(model, name)
        check_equal(weights_of(one), weights_of(other))
    assert not np.any(loaded.softmax.bias)
    assert loaded.softmax.bias.shape == (len(vocabulary),)
    kernel = ops.convert_to_numpy(loaded.softmax.kernel)
    assert kernel.shape == (len(vocabulary), 4)
    assert 0.3 < kernel.std() < 0.7


def test_what_is_missing_is_told(saved, folder):
    for name, match in (
        ("softmax.hdf5", "has no softmax.*with --new-softmax"),
        ("vocab.txt", r"has no vocab\.txt\. Put"),
    ):
        (folder / name).unlink()
        with pytest.raises(ValueError, match=match) as info:
            load_language_model(BidirectionalLanguageModel, folder)
        assert f"'{folder}'" in str(info.value)
    load_language_model(
        BidirectionalLanguageModel, folder, make_vocabulary(), new_softmax=True
    )


def test_another_vocabulary_is_refused(saved):
    folder, _ = saved
    match = f"which has {WORDS} words. Received: one with other words, 19"
    with pytest.raises(ValueError, match=match):
        load_language_model(
            BidirectionalLanguageModel, folder, make_vocabulary(19)
        )


def test_an_error_leaves_each_file_whole(saved, folder, monkeypatch):
    _, model = saved
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    real = h5py.Group.create_dataset

    def create_dataset(self, key, **kwargs):
        if key == "softmax/b":
            raise OSError("no room")
        return real(self, key, **kwargs)

    monkeypatch.setattr(h5py.Group, "create_dataset", create_dataset)
    with pytest.raises(OSError, match="no room"):
        save_language_model(model, make_vocabulary(), TRAINING, folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_a_checkpoint_of_bilm_tfs_training(shared):
    folder = shared / "reference/bilm_tf_checkpoint"
    model, vocabulary = load_language_model(BidirectionalLanguageModel, folder)
    assert len(vocabulary) == 1503
    assert model.num_negatives == 256
    # The files that bilm-tf dumped from it.
    dump = ElmoLayer.from_bilm(folder / "options.json", folder / "weights.hdf5")
    check_equal(weights_of(model.encoder), weights_of(dump.encoder))
    check_equal(weights_of(model.token_encoder), weights_of(dump.token_encoder))
    assert np.abs(model.softmax.kernel).max() > 0.1
    assert np.abs(model.softmax.bias).max() > 0.1
