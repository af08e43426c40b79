"""Layers in folders: `save_to_preset`, and `from_preset` with a directory."""

import json
import os
import shutil

import keras
import numpy as np
import pytest
from full_disk import no_file_over
from keras import ops
from models.same_bilm import check_same_bilm
from small_models import ForeignEncoder
from small_models import make_elmo
from text.listed_characters import CHARACTERS
from text.listed_characters import WORDS

import keras_elmo
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import ScalarMix
from keras_elmo import batch_to_ids
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.find_model import find_model

pytestmark = pytest.mark.usefixtures("portable_path")
IDS = batch_to_ids([["A", "preset", "."], ["é"]], 12)
FILES = ["config.json", "metadata.json", "model.weights.h5"]


def flat(outputs):
    return [ops.convert_to_numpy(x) for x in keras.tree.flatten(outputs)]


def check_same(found, expected, ids=None):
    assert type(found) is type(expected)
    # As JSON, which has lists alone.
    configs = [json.dumps(x.get_config()) for x in (found, expected)]
    assert configs[0] == configs[1]
    for a, b in zip(found.weights, expected.weights, strict=True):
        assert (a.path, a.dtype, a.trainable) == (b.path, b.dtype, b.trainable)
        np.testing.assert_array_equal(
            *(ops.convert_to_numpy(v).astype("float64") for v in (a, b))
        )
    if ids is not None:
        np.testing.assert_equal(flat(found(ids)), flat(expected(ids)))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "mine"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole") / "preset"
    make_elmo().save_to_preset(whole)
    return whole


@pytest.fixture
def saved(whole, folder):
    """A preset's folder, to be damaged."""
    return shutil.copytree(whole, folder)


MIX = {"layer_norm": True, "regularizer": "l1", "name": "mix"}
MIXES = [ScalarMix(fixed_weights=[0, 1, 2], name="a"), ScalarMix(name="b")]
PARTS = {
    "cnn": {"activation": "tanh", "num_highways": 0, "projection_dim": None},
    "lstm": {"units": 12, "projection_dim": None, "proj_clip": None},
}


@pytest.mark.parametrize(
    "options",
    [
        {"num_representations": 3, "dropout": 0.5, "seed": 3},
        {"return_all_layers": True, "name": "all_layers"},
        {"keep_sentence_boundaries": True, "trainable": False, **PARTS},
        {"scalar_mix": ScalarMix(**MIX), "dtype": "mixed_bfloat16"},
        {"scalar_mix": MIXES, "num_representations": 2, "dtype": "bfloat16"},
    ],
    ids=str,
)
def test_what_is_saved_is_loaded_and_saved_again(folder, options):
    elmo = make_elmo(**options)
    elmo.save_to_preset(folder)
    assert sorted(os.listdir(folder)) == FILES
    loaded = ElmoLayer.from_preset(str(folder))
    check_same(loaded, elmo, IDS)
    loaded.save_to_preset(folder.parent / "again")
    check_same(ElmoLayer.from_preset(folder.parent / "again"), elmo)


@pytest.mark.parametrize("lists", [[CHARACTERS], [CHARACTERS, WORDS]])
def test_a_model_of_unicode_characters(folder, lists):
    lexicon = LexiconEmbedding(*lists, projection_dim=6, filters=[(1, 3)])
    elmo = ElmoLayer(lexicon, BiLMEncoder(7, 6))
    elmo.build((None, None, *lexicon.token_shape))
    elmo.save_to_preset(folder)
    check_same(ElmoLayer.from_preset(folder), elmo)


@pytest.mark.parametrize("trainable", [True, False])
def test_frozen_parts_stay_frozen(folder, trainable):
    elmo = make_elmo()
    elmo.token_encoder.trainable = False
    elmo.encoder.backward_cells[1].trainable = False
    elmo.save_to_preset(folder)
    check_same(ElmoLayer.from_preset(folder), elmo)
    found = ElmoLayer.from_preset(folder, trainable=trainable)
    number = 2 + trainable * (len(found.weights) - 2)
    assert len(found.trainable_weights) == number
    assert found.token_encoder.trainable == trainable
    elmo.trainable = False  # As a whole.
    elmo.save_to_preset(folder, overwrite=True)
    assert not ElmoLayer.from_preset(folder).trainable_weights
    found = ElmoLayer.from_preset(folder, trainable=trainable)
    assert len(found.trainable_weights) == number


def test_arguments_come_before_what_was_saved(folder):
    elmo = make_elmo(name="saved", dropout=0.1)
    elmo.save_to_preset(folder)
    given = {"name": "mine", "dropout": 0.5, "seed": 7}
    given |= {"keep_sentence_boundaries": True, "num_representations": 1}
    loaded = ElmoLayer.from_preset(folder, **given)
    found = loaded.get_config()
    assert {key: found[key] for key in given} == given
    elmo.keep_sentence_boundaries = True
    vectors = flat(loaded(IDS)), flat(elmo(IDS))
    np.testing.assert_allclose(*vectors, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="dropuot"):
        ElmoLayer.from_preset(folder, dropuot=0.5)
    with pytest.raises(ValueError, match="`encoder` must be left out"):
        ElmoLayer.from_preset(folder, encoder=elmo.encoder)


def test_dtype_reaches_the_parts(folder):
    elmo = make_elmo(num_representations=2)
    elmo.save_to_preset(folder)
    loaded = ElmoLayer.from_preset(folder, dtype="mixed_bfloat16")
    np.testing.assert_equal(loaded.get_weights(), elmo.get_weights())
    loaded.save_to_preset(folder, overwrite=True)
    for elmo in (  # No dtype means the saved one.
        loaded,
        ElmoLayer.from_preset(folder, dtype=None),
        ElmoEmbedder.from_preset(folder).elmo,
        find_model(folder).load_for_export(ElmoLayer),
    ):
        for part in elmo._flatten_layers():
            assert part.dtype_policy.name == "mixed_bfloat16"


@pytest.mark.parametrize(
    "saved, given",
    [
        ({"num_representations": 2}, {"return_all_layers": True}),
        ({"num_representations": 2}, {"num_representations": 1}),
        ({"return_all_layers": True}, {"num_representations": 2}),
        ({}, {"scalar_mix": ScalarMix(regularizer="l2")}),
    ],
)
def test_new_mixes_over_the_saved_bilm(folder, saved, given):
    elmo = make_elmo(**saved)
    elmo.save_to_preset(folder)
    given = {**given, "name": "mine", "trainable": False}
    loaded = ElmoLayer.from_preset(folder, **given)
    assert loaded.name == "mine"
    assert loaded.return_all_layers == given.get("return_all_layers", False)
    for mix in loaded.scalar_mixes:
        np.testing.assert_allclose(mix.mix_weights[0], 1 / 3, rtol=1e-6)
    assert not loaded.encoder.trainable and not loaded.token_encoder.trainable
    check_same_bilm(loaded, elmo)
    outputs = loaded(keras.Input((None, 12), dtype="int32"))
    assert len(keras.tree.flatten(outputs)) == loaded.num_representations


def test_new_mixes_are_like_the_saved_ones(folder):
    make_elmo(scalar_mix=ScalarMix(**MIX)).save_to_preset(folder)
    for mix in ElmoLayer.from_preset(
        folder, num_representations=2
    ).scalar_mixes:
        assert mix.layer_norm and type(mix.regularizer) is keras.regularizers.L1


def test_metadata(whole):
    metadata = json.loads((whole / "metadata.json").read_text())
    assert metadata.pop("date_saved")[:2] == "20"
    assert metadata == {
        "keras_version": keras.__version__,
        "keras_elmo_version": keras_elmo.__version__,
        "parameter_count": make_elmo().count_params(),
    }


def test_a_subclass_is_loaded_by_its_own_class(folder):
    @keras.saving.register_keras_serializable(package="test")
    class MyElmo(ElmoLayer):
        pass

    pattern = make_elmo()
    elmo = MyElmo(pattern.token_encoder, pattern.encoder)
    elmo.build((None, None, 12))
    elmo.save_to_preset(folder)
    loaded = MyElmo.from_preset(folder)
    assert type(loaded) is MyElmo
    check_same_bilm(loaded, elmo)
    told = "must be 'keras_elmo>ElmoLayer'. Received: 'test>MyElmo'"
    with pytest.raises(ValueError, match=told):
        ElmoLayer.from_preset(folder)
    pattern.save_to_preset(folder.parent / "base")
    loaded = MyElmo.from_preset(folder.parent / "base", dropout=0.5)
    assert type(loaded) is MyElmo and loaded.dropout == 0.5
    np.testing.assert_equal(loaded.get_weights(), pattern.get_weights())


LAMBDA = keras.saving.serialize_keras_object(keras.layers.Lambda(keras.ops.abs))
FUNCTION = {
    "module": "keras.utils",
    "class_name": "function",
    "config": "get_file",
    "registered_name": "keras_elmo>function",
}
L2 = keras.regularizers.serialize(keras.regularizers.L2(0.1))
POLICY = keras.saving.serialize_keras_object(keras.DTypePolicy("float32"))
OTHER = {"registered_name": "Users>Tool"}
REGULARIZER = "config.scalar_mix.0.config.regularizer"


def change_config(folder, path, value):
    """Changes one value of a preset's `config.json`."""
    text = (folder / "config.json").read_text()
    config = part = json.loads(text)
    *keys, last = path.split(".")
    for key in keys:
        part = part[int(key) if key.isdigit() else key]
    part[last] = value
    (folder / "config.json").write_text(json.dumps(config))


OPTION = "'{}/config.json' is not a layer's config: The option '.*' must be"
FILE = "file '{}/model.weights.h5' (does not match|must have the shape)"
LAYER = "config of the preset '{}' is not that of a layer: `.*` must be"


@pytest.mark.parametrize(
    "path, value, told",
    [
        ("config.token_encoder", "Users>Tool", OPTION),
        ("config.token_encoder.config.activation", FUNCTION, OPTION),
        (
            "config.encoder",
            keras.saving.serialize_keras_object(ScalarMix()),
            OPTION,
        ),
        ("config.encoder.registered_name", "Users>Tool", OPTION),
        ("config.scalar_mix", [LAMBDA], OPTION),
        (REGULARIZER, LAMBDA, OPTION),
        (REGULARIZER, L2 | {"module": "os"}, OPTION),
        (REGULARIZER, L2 | OTHER, OPTION),
        (REGULARIZER, L2 | {"config": {"l2": L2}}, OPTION),
        ("config.encoder.config.dtype", POLICY | OTHER, OPTION),
        ("config.name", {"a": [{"class_name": ["x"], "config": {}}]}, OPTION),
        ("registered_name", "Users>Tool", OPTION),
        # What a layer would take, to fail when it is called.
        ("config.keep_sentence_boundaries", [], OPTION),
        ("config.dtype", "int32", OPTION),
        ("config.encoder.config.cell_clip", 1e-60, OPTION),
        ("config.encoder.config.proj_clip", 10**39, OPTION),
        # Sizes that the file of the weights does not have.
        ("config.encoder.config.num_layers", 100_000, OPTION),
        ("config.encoder.config.units", 10**9, FILE),
        ("config.encoder.config.projection_dim", "6", LAYER),
        ("config.token_encoder.config.num_highways", 100_000, OPTION),
        ("config.token_encoder.config.num_highways", 900, FILE),
        ("config.token_encoder.config.filters", [[1, 10**9]], FILE),
        ("config.token_encoder.config.max_characters_per_token", 10**9, OPTION),
        ("config.num_representations", 10**9, LAYER),
    ],
)
def test_only_what_is_known_and_fits_is_loaded(saved, path, value, told):
    change_config(saved, path, value)
    for read in (
        ElmoLayer.from_preset,
        lambda folder: [*find_model(folder).facts(ElmoLayer)],
    ):
        with pytest.raises(ValueError, match=told.format(saved)):
            read(saved)


def test_a_limit_beyond_64_bits(saved):
    for key in ("cell_clip", "proj_clip"):
        change_config(saved, f"config.encoder.config.{key}", None)
        expected = ElmoLayer.from_preset(saved)(IDS)
        change_config(saved, f"config.encoder.config.{key}", 1 << 63)
        found = ElmoLayer.from_preset(saved)
        # JAX and PyTorch convert an integer to their own.
        assert type(getattr(found.encoder, key)) is float
        np.testing.assert_array_equal(found(IDS), expected)


def test_a_preset_does_not_say_how_to_build(folder):
    elmo = make_elmo()
    elmo.save_to_preset(folder)
    build = {"input_shape": [None, None, 10**9]}
    change_config(folder, "config.encoder.build_config", build)
    check_same(ElmoLayer.from_preset(folder), elmo)


def test_a_preset_is_replaced_only_on_request(folder):
    elmo = make_elmo()
    make_elmo(lstm={"num_layers": 1}).save_to_preset(folder)
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        elmo.save_to_preset(folder)
    elmo.save_to_preset(folder, overwrite=True)
    check_same(ElmoLayer.from_preset(folder), elmo)
    # With a biLM's files, the folder would be taken for the biLM.
    (folder / "options.json").write_text("{}")
    with pytest.raises(FileExistsError, match=r"Received: \['options.json'\]"):
        elmo.save_to_preset(folder, overwrite=True)
    assert os.listdir(folder.parent) == ["mine"]


@pytest.mark.parametrize("size", [100, 50_000])
def test_a_full_disk_leaves_nothing(folder, size):
    elmo = make_elmo({"embedding_dim": 3000})
    told = r"no space left on the device to write .* File too large"
    with pytest.raises(OSError, match=told), no_file_over(size):
        elmo.save_to_preset(folder)
    assert os.listdir(folder.parent) == []


class WithMore(ElmoLayer):
    def build(self, input_shape):
        super().build(input_shape)
        self.more = self.add_weight(name="more")


def test_what_a_preset_cannot_hold_is_not_saved(folder):
    with pytest.raises(ValueError, match="'mine' has no weights yet"):
        ElmoLayer(name="mine").save_to_preset(folder)
    no_boundaries = {"add_sentence_boundaries": False}
    foreign = ElmoLayer(ForeignEncoder(), BiLMEncoder(7, 6), **no_boundaries)
    more = WithMore(CharCNNEmbedding(6, [(1, 4)]), BiLMEncoder(7, 6))
    for elmo, told in (
        (foreign, "only the layers of keras_.*Received: 'ForeignEncoder'"),
        (more, "must only have the weights.*/more'"),
    ):
        elmo.build((None, None, *elmo.token_encoder.token_shape))
        with pytest.raises(ValueError, match=told):
            elmo.save_to_preset(folder)
    assert os.listdir(folder.parent) == []
    # It has no mask, so that no token is padding.
    assert flat(foreign(np.ones((1, 3, 6), "float32")))[0].any(axis=-1).all()
