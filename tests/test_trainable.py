"""Frozen weights stay frozen however a layer is copied."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import ROOT
from small_models import make_elmo
from tiers import quick_first

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo import ScalarMix

pytestmark = pytest.mark.in_graphs(False)

NUM_CNN, NUM_ENCODER, NUM_MIX = 17, 16, 2
IDS = np.ones((2, 3, 12), "int32")


def freeze_nothing(elmo):
    return NUM_CNN + NUM_ENCODER + NUM_MIX


def freeze_token_encoder(elmo):
    elmo.token_encoder.trainable = False
    return NUM_ENCODER + NUM_MIX


def freeze_encoder(elmo):
    elmo.encoder.trainable = False
    return NUM_CNN + NUM_MIX


def freeze_bilm(elmo):
    elmo.token_encoder.trainable = elmo.encoder.trainable = False
    return NUM_MIX


def freeze_mix(elmo):
    elmo.scalar_mixes[0].trainable = False
    return NUM_CNN + NUM_ENCODER


def freeze_a_highway_and_a_cell(elmo):
    elmo.token_encoder.highways[1].trainable = False
    elmo.encoder.backward_cells[0].trainable = False
    return freeze_nothing(elmo) - 4 - 4


def thaw_one_cell_of_a_frozen_encoder(elmo):
    elmo.encoder.trainable = False
    elmo.encoder.forward_cells[1].trainable = True
    return NUM_CNN + NUM_MIX + 4


def freeze_all(elmo):
    elmo.trainable = False
    return 0


def freeze_all_then_thaw_all(elmo):
    freeze_bilm(elmo)
    elmo.trainable = False
    elmo.trainable = True
    return freeze_nothing(elmo)


FREEZES = [
    freeze_nothing,
    freeze_token_encoder,
    freeze_encoder,
    freeze_bilm,
    freeze_mix,
    freeze_a_highway_and_a_cell,
    thaw_one_cell_of_a_frozen_encoder,
    freeze_all,
    freeze_all_then_thaw_all,
]


def by_keras_file(model, folder):
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


def by_weights_file(model, folder):
    """The file has no flags: the model that reads it keeps its own."""
    model.save_weights(folder / "model.weights.h5")
    other = keras.models.clone_model(model)
    other.load_weights(folder / "model.weights.h5")
    return other


def by_clone_model(model, folder):
    return keras.models.clone_model(model)


def by_deepcopy(model, folder):
    return copy.deepcopy(model)


def by_config(model, folder):
    return keras.Model.from_config(model.get_config())


def by_json(model, folder):
    return keras.models.model_from_json(model.to_json())


COPIES = [
    by_keras_file,
    by_weights_file,
    by_clone_model,
    by_deepcopy,
    by_config,
    by_json,
]


def flags(layer):
    return [(part.name, part.trainable) for part in layer._flatten_layers()]


@pytest.mark.parametrize(
    ("freeze", "copy_model"),
    [
        *((freeze, by_keras_file) for freeze in FREEZES),
        *((freeze_a_highway_and_a_cell, by) for by in COPIES[1:]),
    ],
)
def test_every_flag_survives_in_a_model(freeze, copy_model, tmp_path):
    elmo = make_elmo()
    number = freeze(elmo)
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, keras.layers.Dense(2)(elmo(inputs)))
    copied = copy_model(model, tmp_path)
    assert len(copied.trainable_weights) == number + 2
    assert flags(copied.layers[1]) == flags(elmo)
    assert len(copied.weights) == len(model.weights)


@pytest.mark.parametrize("freeze", FREEZES)
def test_every_flag_survives_in_the_layer_alone(freeze):
    elmo = make_elmo()
    number = freeze(elmo)
    from_config = ElmoLayer.from_config(elmo.get_config())
    if not from_config.built:
        from_config.build((None, None, 12))
    for copied in (from_config, copy.deepcopy(elmo)):
        assert len(copied.trainable_weights) == number
        assert flags(copied) == flags(elmo)


def test_mixes_of_like_names_keep_their_flags_apart():
    keras.backend.clear_session()
    ScalarMix()
    elmo = make_elmo(scalar_mix=ScalarMix(), num_representations=2)
    elmo.encoder.trainable = elmo.scalar_mixes[0].trainable = False
    copied = ElmoLayer.from_config(elmo.get_config())
    assert flags(copied) == flags(elmo)
    assert len({v.path for v in elmo.weights}) == len(elmo.weights)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ElmoLayer(
            CharCNNEmbedding(6, [(2, 8)], max_characters_per_token=12),
            BiLMEncoder(7, 6),
            trainable=False,
        ),
        lambda: CharCNNEmbedding(
            6, [(2, 8)], max_characters_per_token=12, trainable=False
        ),
    ],
)
def test_trainable_false_in_a_constructor_reaches_the_parts(make):
    layer = make()
    inputs = keras.Input((None, 12), dtype="int32")
    assert keras.Model(inputs, layer(inputs)).trainable_weights == []


def test_from_bilm_freezes_the_bilm_unless_asked():
    folder = ROOT / "tests/reference/allennlp"
    files = folder / "options.json", folder / "lm_weights.hdf5"
    frozen = ElmoLayer.from_bilm(*files)
    assert [v.name for v in frozen.trainable_weights] == ["scalars", "gamma"]
    assert frozen.trainable
    thawed = ElmoLayer.from_bilm(*files, trainable=True)
    assert len(thawed.trainable_weights) == len(thawed.weights)


@pytest.mark.parametrize("in_graph", quick_first([True, False]))
@pytest.mark.parametrize(
    "freeze",
    # In the first, gradients must pass frozen cells on their way to others.
    quick_first(
        [thaw_one_cell_of_a_frozen_encoder, *FREEZES[:6], *FREEZES[7:]]
    ),
)
@pytest.mark.in_graphs(True)
def test_no_gradient_is_computed_for_frozen_weights(freeze, in_graph):
    elmo = make_elmo()
    freeze(elmo)
    weights = [weight.value for weight in elmo.weights]

    def step(ids):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            loss = tf.reduce_sum(elmo(ids, training=True))
        return tape.gradient(loss, weights)

    gradients = (tf.function(step) if in_graph else step)(tf.constant(IDS))
    found = [gradient is not None for gradient in gradients]
    assert found == [weight.trainable for weight in elmo.weights]
