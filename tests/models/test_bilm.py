import json
import os

import h5py
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from keras import ops
from small_models import ForeignEncoder
from small_models import file_arrays
from small_models import make_elmo
from small_models import randomize

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.models.bilm_weights import bilm_arrays
from keras_elmo.models.variables import find_variable
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


def write(path, arrays):
    with h5py.File(path, "w") as store:
        for key, array in arrays.items():
            store.create_dataset(key, data=array)


def check_identical(found, expected):
    assert set(found) == set(expected)
    for key, array in expected.items():
        assert found[key].shape == array.shape
        assert found[key].dtype == array.dtype
        assert found[key].tobytes() == array.tobytes(), key


class WithHighway(ElmoLayer):
    """A subclass with a layer whose weights are in no biLM's file."""

    def build(self, input_shape):
        super().build(input_shape)
        self.highway = Highway()
        self.highway.build((None, None, 2 * self.encoder.output_dim))


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
    check_identical(all_arrays(paths[1]), all_arrays(source))
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
    check_identical(file_arrays(loaded), file_arrays(elmo))
    ids = np.random.default_rng(0).integers(1, 262, (2, 3, 12))
    np.testing.assert_array_equal(loaded.all_layers(ids), elmo.all_layers(ids))


def test_no_array_is_written_for_what_is_not_there(paths):
    elmo = make_elmo(
        {"projection_dim": None, "num_highways": 0},
        {"units": 12, "projection_dim": None, "num_layers": 1},
    )
    elmo.save_to_bilm(*paths)
    assert set(all_arrays(paths[1])) == {
        "char_embed",
        *(f"CNN/{kind}_cnn_{i}" for kind in "Wb" for i in range(3)),
        *(
            f"RNN_{direction}/RNN/MultiRNNCell/Cell0/LSTMCell/{name}"
            for direction in range(2)
            for name in ("W_0", "B")
        ),
    }


@pytest.mark.parametrize(
    ("policy", "dtype"),
    [
        ("mixed_bfloat16", "float16"),
        ("mixed_bfloat16", "float32"),
        ("bfloat16", "float32"),
        ("float64", "float32"),
    ],
)
def test_the_precision_of_files_is_that_asked_for(paths, policy, dtype):
    elmo = make_elmo(dtype=policy)
    elmo.save_to_bilm(*paths, output_dtype=dtype)
    expected = {k: a.astype(dtype) for k, a in file_arrays(elmo).items()}
    check_identical(all_arrays(paths[1]), expected)
    loaded = ElmoLayer.from_bilm(*paths)
    assert {v.dtype for v in loaded.weights} == {"float32"}
    loaded.save_to_bilm(*paths, overwrite=True)
    expected = {k: a.astype("float32") for k, a in expected.items()}
    check_identical(all_arrays(paths[1]), expected)


def test_loading_replaces_every_weight_but_the_mixes(paths):
    elmo = make_elmo(num_representations=2)
    elmo.save_to_bilm(*paths)
    expected = file_arrays(elmo)
    mixes = [mix.get_weights() for mix in elmo.scalar_mixes]
    for variable in elmo.token_encoder.weights + elmo.encoder.weights:
        variable.assign(np.zeros(variable.shape))
    elmo.load_bilm_weights(str(paths[1]))
    check_identical(file_arrays(elmo), expected)
    for mix, values in zip(elmo.scalar_mixes, mixes, strict=True):
        for found, value in zip(mix.get_weights(), values, strict=True):
            np.testing.assert_array_equal(found, value)


LAST = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"


@pytest.mark.parametrize("is_there", [False, True])
def test_bad_file_leaves_the_layer_as_it_was(paths, is_there):
    elmo = make_elmo()
    elmo.save_to_bilm(*paths)
    arrays = all_arrays(paths[1])
    last = arrays.pop(LAST)
    write(paths[1], {**arrays, LAST: last.T} if is_there else arrays)
    before = [array + 1 for array in elmo.get_weights()]
    elmo.set_weights(before)
    with pytest.raises(ValueError, match="weight file") as info:
        elmo.load_bilm_weights(paths[1])
    assert f"'{paths[1]}'" in str(info.value)
    for found, expected in zip(elmo.get_weights(), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_layer_must_be_built(paths):
    elmo = ElmoLayer(CharCNNEmbedding(4, [(1, 4)]), BiLMEncoder(4), name="mine")
    for method, arguments in (
        (elmo.save_to_bilm, paths),
        (elmo.load_bilm_weights, paths[1:]),
    ):
        with pytest.raises(ValueError, match="'mine' has no weights yet"):
            method(*arguments)
    assert not paths[0].exists()
    assert not paths[1].exists()


def test_files_are_replaced_only_on_request(paths):
    elmo = make_elmo()
    for path in paths:
        path.write_text("mine")
        with pytest.raises(FileExistsError, match=f"'{path}' exists"):
            elmo.save_to_bilm(*paths)
        assert path.read_text() == "mine"
        path.unlink()
    elmo.save_to_bilm(*paths)
    randomize(elmo, 0.1)
    elmo.save_to_bilm(*paths, overwrite=True)
    check_identical(file_arrays(ElmoLayer.from_bilm(*paths)), file_arrays(elmo))


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
    assert os.listdir(paths[0].parent) == []


def test_what_is_saved_is_what_the_variables_hold(paths):
    elmo, other = make_elmo(), make_elmo()
    elmo.save_to_bilm(*paths)
    cell = elmo.encoder.backward_cells[1]
    arrays = all_arrays(paths[1])
    root = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"
    kernels = map(ops.convert_to_numpy, (cell.kernel, cell.recurrent_kernel))
    for key, expected in (
        (f"{root}/W_0", np.concatenate([*kernels])),
        (f"{root}/W_P_0", cell.projection_kernel),
        ("CNN/W_cnn_1", elmo.token_encoder.conv_kernels[1][None]),
        ("CNN_high_1/b_carry", elmo.token_encoder.highways[1].carry_bias),
    ):
        np.testing.assert_array_equal(
            arrays[key], ops.convert_to_numpy(expected)
        )
    expected = bilm_arrays(elmo)
    weights = elmo.token_encoder.weights + elmo.encoder.weights
    named = {id(find_variable(elmo, name)) for name in expected}
    assert named == set(map(id, weights))
    randomize(other, 0.0)
    other.load_bilm_weights(paths[1])
    check_identical(bilm_arrays(other), expected)


def test_word_input_is_not_supported(paths):
    elmo = make_elmo()
    elmo.save_to_bilm(*paths)
    arrays = all_arrays(paths[1])
    del arrays["char_embed"]
    write(paths[1], {**arrays, "embedding": np.ones((9, 6), "float32")})
    with pytest.raises(ValueError, match=r"\(word input\) is not") as info:
        elmo.load_bilm_weights(paths[1])
    assert f"'{paths[1]}'" in str(info.value)
    assert "their weights 'char_embed'" in str(info.value)


def test_what_float16_cannot_hold_is_not_saved(paths):
    elmo = make_elmo()
    elmo.encoder.forward_cells[0].bias.assign(np.full(28, 1e5))
    for dtype in ("float16", "bfloat16"):
        with pytest.raises(ValueError, match="Received"):
            elmo.save_to_bilm(*paths, output_dtype=dtype)
    assert os.listdir(paths[0].parent) == []
