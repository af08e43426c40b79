"""Frozen weights stay frozen however a layer is copied."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import ROOT
from small_models import make_elmo
from tiers import quick_first

import keras_elmo

pytestmark = pytest.mark.in_graphs(False)

IDS = np.ones((2, 3, 12), "int32")
PARTS = {
    "all": lambda elmo: elmo,
    "characters": lambda elmo: elmo.token_encoder,
    "encoder": lambda elmo: elmo.encoder,
    "mix": lambda elmo: elmo.scalar_mixes[0],
    "highway": lambda elmo: elmo.token_encoder.highways[1],
    "backward": lambda elmo: elmo.encoder.backward_cells[0],
    "forward": lambda elmo: elmo.encoder.forward_cells[1],
}
# The parts to freeze (-) and to thaw (+), in order, and the number of trainable
# weights after that: at most 17 of the characters, 16 of the encoder and 2 of
# the mix.
CHANGES = {
    "": 35,
    "-characters": 16 + 2,
    "-encoder": 17 + 2,
    "-mix": 17 + 16,
    "-highway -backward": 35 - 4 - 4,
    "-encoder +forward": 17 + 2 + 4,
    "-all": 0,
    "-characters -encoder -all +all": 35,
}


def make_changed(changes):
    elmo = make_elmo()
    for change in changes.split():
        PARTS[change[1:]](elmo).trainable = change[0] == "+"
    return elmo


def flags(layer):
    return [(part.name, part.trainable) for part in layer._flatten_layers()]


def test_every_flag_survives_in_a_model(tmp_path):
    elmo = make_changed("-highway -backward")
    inputs = keras.Input((None, 12), dtype="int32")
    model = keras.Model(inputs, keras.layers.Dense(2)(elmo(inputs)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for copied in (loaded, keras.models.clone_model(model)):
        assert flags(copied.layers[1]) == flags(elmo)
        assert len(copied.weights) == len(model.weights)


@pytest.mark.parametrize("changes", CHANGES)
def test_every_flag_survives_in_the_layer_alone(changes):
    elmo = make_changed(changes)
    from_config = keras_elmo.ElmoLayer.from_config(elmo.get_config())
    if not from_config.built:
        from_config.build((None, None, 12))
    for copied in (from_config, copy.deepcopy(elmo)):
        assert len(copied.trainable_weights) == CHANGES[changes]
        assert flags(copied) == flags(elmo)


def test_mixes_of_like_names_keep_their_flags_apart():
    keras.backend.clear_session()
    keras_elmo.ScalarMix()
    elmo = make_elmo(scalar_mix=keras_elmo.ScalarMix(), num_representations=2)
    elmo.encoder.trainable = elmo.scalar_mixes[0].trainable = False
    copied = keras_elmo.ElmoLayer.from_config(elmo.get_config())
    assert flags(copied) == flags(elmo)
    assert len({v.path for v in elmo.weights}) == len(elmo.weights)


def test_trainable_false_in_a_constructor_reaches_the_parts():
    def make(**kwargs):
        cnn = keras_elmo.CharCNNEmbedding(6, [(2, 8)], **kwargs)
        return cnn, keras_elmo.BiLMEncoder(7, 6, **kwargs)

    frozen = keras_elmo.ElmoLayer(*make(), trainable=False)
    for layer in (frozen, *make(trainable=False)):
        assert not any(trainable for _, trainable in flags(layer))


def test_from_bilm_freezes_the_bilm_unless_asked():
    folder = ROOT / "tests/reference/allennlp"
    files = folder / "options.json", folder / "lm_weights.hdf5"
    frozen = keras_elmo.ElmoLayer.from_bilm(*files)
    assert [v.name for v in frozen.trainable_weights] == ["scalars", "gamma"]
    assert frozen.trainable
    thawed = keras_elmo.ElmoLayer.from_bilm(*files, trainable=True)
    assert len(thawed.trainable_weights) == len(thawed.weights)


# In the first, gradients must pass frozen cells on their way to others.
@pytest.mark.parametrize(
    "changes",
    quick_first(["-encoder +forward", "-characters", "-encoder", "-mix", ""]),
)
@pytest.mark.parametrize("in_graph", quick_first([True, False]))
@pytest.mark.in_graphs(True)
def test_no_gradient_is_computed_for_frozen_weights(changes, in_graph):
    elmo = make_changed(changes)
    weights = [weight.value for weight in elmo.weights]

    def step(ids):
        with tf.GradientTape() as tape:
            tape.watch(weights)
            loss = tf.reduce_sum(elmo(ids, training=True))
        return tape.gradient(loss, weights)

    gradients = (tf.function(step) if in_graph else step)(tf.constant(IDS))
    found = [gradient is not None for gradient in gradients]
    assert found == [weight.trainable for weight in elmo.weights]
