"""Small layers with random weights, their arrays by biLM file key, and a small
trained biLM.
"""

import pathlib

import keras
import numpy as np

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import ElmoLayer
from keras_elmo.formats.array_tables import stored_arrays
from keras_elmo.formats.bilm_variables import BILM_TABLE
from keras_elmo.models.bilm_weights import bilm_arrays

ENGLISH_TINY = pathlib.Path(__file__).parent / "english_tiny"
"""A trained biLM of 256 units, with its softmax: see its card there."""

CNN = {
    "projection_dim": 6,
    "filters": [(1, 3), (2, 4), (3, 5)],
    "num_highways": 2,
    "embedding_dim": 4,
    "activation": "relu",
    "max_characters_per_token": 12,
}
LSTM = {
    "units": 7,
    "projection_dim": 6,
    "num_layers": 2,
    "cell_clip": 3.0,
    "proj_clip": 3.0,
    "use_skip_connections": True,
}


def make_elmo(cnn=(), lstm=(), **kwargs):
    """Returns a built `ElmoLayer` whose weights are large enough to matter."""
    cnn, lstm = {**CNN, **dict(cnn)}, {**LSTM, **dict(lstm)}
    size = cnn["projection_dim"] or sum(n for _, n in cnn["filters"])
    if lstm["projection_dim"] in (None, lstm["units"]):
        cnn["projection_dim"] = lstm["units"]
    else:
        lstm["projection_dim"] = size
    dtype = kwargs.get("dtype")
    elmo = ElmoLayer(
        CharCNNEmbedding(**cnn, dtype=dtype),
        BiLMEncoder(**lstm, dtype=dtype),
        **kwargs,
    )
    elmo.build((None, None, cnn["max_characters_per_token"]))
    randomize(elmo)
    return elmo


def make_shallow_elmo(cnn=(), **kwargs):
    """Returns a layer whose graphs are built in half the time, for tests that
    do not depend on its depth.
    """
    cnn = {"filters": [(1, 4), (3, 8)], "num_highways": 1, **dict(cnn)}
    return make_elmo(cnn, {"num_layers": 1}, **kwargs)


def randomize(layer, deviation=0.5):
    """Redraws all weights, including biases, so that none stays zero."""
    generator = np.random.default_rng(1)
    for variable in layer.weights:
        variable.assign(generator.normal(0, deviation, variable.shape))


def file_arrays(elmo):
    """Returns the layer's weights as in a biLM file, in float64."""
    arrays = stored_arrays(BILM_TABLE, bilm_arrays(elmo))
    return {key: array.astype("float64") for key, array in arrays.items()}


def oracle_arguments(elmo):
    """Returns the arguments for `numpy_reference.elmo_layers`."""
    activations = {
        keras.activations.relu: lambda x: np.maximum(x, 0),
        keras.activations.tanh: np.tanh,
    }
    encoder = elmo.encoder
    return {
        "arrays": file_arrays(elmo),
        "cnn": {
            "num_filters": len(elmo.token_encoder.filters),
            "num_highways": elmo.token_encoder.num_highways,
            "activation": activations[elmo.token_encoder.activation],
        },
        "lstm": {
            "num_layers": encoder.num_layers,
            "cell_clip": encoder.cell_clip,
            "proj_clip": encoder.proj_clip,
            "use_skip_connections": encoder.use_skip_connections,
        },
    }


@keras.saving.register_keras_serializable(package="test")
class ForeignEncoder(keras.layers.Layer):
    """A token encoder of another package: takes vectors as they are."""

    token_shape = (6,)

    def call(self, inputs):
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape
