import json
import os

import numpy as np
import pytest
from hdf5_arrays import all_arrays
from hdf5_arrays import check_equal
from keras import ops
from small_models import ForeignEncoder
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.weight_files import write_arrays
from keras_elmo.ops.backends import backend

pytestmark = pytest.mark.usefixtures("portable_path")
MODELS = {
    "bilm_tf": "lm_weights.hdf5",
    "allennlp": "lm_weights.hdf5",
    "bilm_tf_english": "weights.hdf5",
    "bilm_tf_checkpoint": "weights.hdf5",
}


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "options.json", tmp_path / "weights.hdf5"


class WithHighway(ElmoLayer):
    """A subclass with a layer whose weights are in no biLM's file."""

    def build(self, input_shape):
        super().build(input_shape)
        self.highway = Highway()
        self.highway.build((None, None, 2 * self.encoder.direction_dim))


def test_the_layers_of_a_subclass_have_initial_values(paths, monkeypatch):
    elmo = make_elmo()
    elmo.save_to_bilm(*paths)

    def any_values(shape, dtype):  # As memory may be.
        return ops.full(shape, float("nan"), dtype)

    monkeypatch.setattr(type(backend()), "any_values", staticmethod(any_values))
    loaded = WithHighway.from_bilm(*paths)
    assert all(np.isfinite(w).all() for w in loaded.get_weights())
    assert np.std(loaded.highway.carry_kernel) > 0.1


@pytest.mark.parametrize("name", sorted(MODELS))
def test_reference_models_are_saved_as_they_came(shared, paths, name):
    folder = shared / "reference" / name
    source = folder / MODELS[name]
    elmo = ElmoLayer.from_bilm(folder / "options.json", source)
    elmo.save_to_bilm(*paths)
    check_equal(all_arrays(paths[1]), all_arrays(source))
    saved, original = (
        json.loads(path.read_text())
        for path in (paths[0], folder / "options.json")
    )
    found = parse_language_model_options(saved)
    assert found[:2] == parse_language_model_options(original)[:2]
    assert saved["char_cnn"]["n_characters"] == 262


@pytest.mark.parametrize(
    "cnn, lstm",
    [
        ({}, {"num_layers": 1, "cell_clip": None, "proj_clip": None}),
        ({"activation": "tanh"}, {"use_skip_connections": False}),
        # Without the projection of the LSTMs, specified in either way.
        ({"num_highways": 0}, {"units": 6, "num_layers": 3}),
        ({}, {"units": 6, "projection_dim": None}),
        # Without the projection of the token encoder, specified either way.
        ({"projection_dim": 12}, {"projection_dim": 12}),
        ({"projection_dim": None}, {"units": 12, "projection_dim": None}),
    ],
)
def test_small_models_come_back(paths, cnn, lstm):
    elmo = make_elmo(cnn, lstm)
    elmo.save_to_bilm(*paths)
    loaded = ElmoLayer.from_bilm(*paths)
    check_equal(file_arrays(loaded), file_arrays(elmo))
    ids = np.random.default_rng(0).integers(1, 262, (2, 3, 12))
    np.testing.assert_array_equal(loaded.all_layers(ids), elmo.all_layers(ids))


@pytest.mark.parametrize(
    ("policy", "dtype"), [("bfloat16", "float16"), ("float64", "float32")]
)
def test_the_precision_of_files_is_that_asked_for(paths, policy, dtype):
    elmo = make_elmo(dtype=policy)
    elmo.save_to_bilm(*paths, output_dtype=dtype)
    expected = {k: a.astype(dtype) for k, a in file_arrays(elmo).items()}
    check_equal(all_arrays(paths[1]), expected)
    loaded = ElmoLayer.from_bilm(*paths)
    assert {v.dtype for v in loaded.weights} == {"float32"}
    loaded.save_to_bilm(*paths, overwrite=True)
    expected = {k: a.astype("float32") for k, a in expected.items()}
    check_equal(all_arrays(paths[1]), expected)


def test_loading_replaces_every_weight_but_the_mixes(paths):
    elmo = make_elmo(num_representations=2)
    elmo.save_to_bilm(*paths)
    expected = file_arrays(elmo)
    mixes = [mix.get_weights() for mix in elmo.scalar_mixes]
    for variable in elmo.token_encoder.weights + elmo.encoder.weights:
        variable.assign(np.zeros(variable.shape))
    elmo.load_bilm_weights(str(paths[1]))
    check_equal(file_arrays(elmo), expected)
    found = [mix.get_weights() for mix in elmo.scalar_mixes]
    np.testing.assert_equal(found, mixes)


LAST = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"


def test_bad_file_leaves_the_layer_as_it_was(paths):
    elmo = make_elmo()
    elmo.save_to_bilm(*paths)
    arrays = all_arrays(paths[1])
    before = [array + 1 for array in elmo.get_weights()]
    elmo.set_weights(before)
    of_words = {"embedding": np.ones((9, 6), "float32")}
    for key, more, told in (
        (LAST, {}, rf"missing: \['{LAST}'\]"),
        (LAST, {LAST: arrays[LAST].T}, "must have the shape"),
        ("char_embed", of_words, r"word input.*weights 'char_embed'"),
    ):
        wrong = {k: a for k, a in arrays.items() if k != key} | more
        write_arrays(paths[1], wrong.items())
        with pytest.raises(ValueError, match=told) as info:
            elmo.load_bilm_weights(paths[1])
        assert f"weight file '{paths[1]}'" in str(info.value)
    np.testing.assert_equal(elmo.get_weights(), before)


def test_layer_must_be_built(paths):
    elmo = ElmoLayer(CharCNNEmbedding(4, [(1, 4)]), BiLMEncoder(4), name="mine")
    with pytest.raises(ValueError, match="'mine' has no weights yet"):
        elmo.save_to_bilm(*paths)
    with pytest.raises(ValueError, match="'mine' has no weights yet"):
        elmo.load_bilm_weights(paths[1])
    assert os.listdir(paths[0].parent) == []


def test_files_are_replaced_only_on_request(paths):
    elmo = make_elmo()
    for path in paths:
        path.write_text("mine")
        with pytest.raises(FileExistsError, match=f"'{path}' exists"):
            elmo.save_to_bilm(*paths)
        assert os.listdir(path.parent) == [path.name]
        assert path.read_text() == "mine"
        path.unlink()
    paths[0].write_text("mine")
    elmo.save_to_bilm(*paths, overwrite=True)
    check_equal(file_arrays(ElmoLayer.from_bilm(*paths)), file_arrays(elmo))


def test_one_path_for_both_files_is_refused(paths):
    paths[1].symlink_to(paths[0])
    for weights in paths:
        with pytest.raises(ValueError, match="must be two files"):
            make_elmo().save_to_bilm(paths[0], weights)
    assert not paths[0].exists()


def test_what_the_files_cannot_say_is_not_saved(paths):
    elmo = make_elmo({"activation": "gelu"})
    with pytest.raises(ValueError, match=r"'char_cnn\.activation'"):
        elmo.save_to_bilm(*paths)
    elmo = ElmoLayer(
        ForeignEncoder(), BiLMEncoder(7, 6), add_sentence_boundaries=False
    )
    elmo.build((None, None, 6))
    with pytest.raises(ValueError, match="with a `CharCNNEmbedding`"):
        elmo.save_to_bilm(*paths)
    elmo = make_elmo()
    elmo.encoder.forward_cells[0].bias.assign(np.full(28, 1e5))
    with pytest.raises(ValueError, match="float16 cannot represent"):
        elmo.save_to_bilm(*paths, output_dtype="float16")
    assert os.listdir(paths[0].parent) == []
