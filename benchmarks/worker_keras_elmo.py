"""Runs this package: the embedder, the layer, training; see worker.py."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from worker import serve

import keras_elmo
from keras_elmo.embedding import ElmoEmbedder


def load(folder, kind, quantize=None, **options):
    elmo = keras_elmo.ElmoLayer.from_bilm(
        f"{folder}/options.json", f"{folder}/weights.hdf5", **options
    )
    if quantize:
        return Embedder(elmo, quantize=quantize)
    return KINDS[kind](elmo)


class Embedder:
    def __init__(self, elmo, **options):
        self._elmo = elmo
        self._options = options
        self._embedders = {}

    def vectors(self, sentences):
        return self._embedder.embed_sentences(sentences)

    def reset(self, **settings):
        key = tuple(sorted(settings.items()))
        if key not in self._embedders:
            embedder = ElmoEmbedder(self._elmo, **self._options, **settings)
            embedder.embed_sentence(["word"])  # Traces its graphs.
            self._embedders[key] = embedder
        self._embedder = self._embedders[key]


class Layer:
    """Computes all layers of a padded batch."""

    def __init__(self, elmo):
        self._elmo = elmo

    def vectors(self, sentences):
        layers = self._elmo.all_layers(to_ids(self._elmo, sentences))
        vectors = keras.ops.convert_to_numpy(keras.ops.cast(layers, "float32"))
        return [x[:, : len(s)] for x, s in zip(vectors, sentences)]

    def reset(self):
        pass


class Training:
    """Makes training steps: mean square of the mix, plain SGD."""

    def __init__(self, elmo):
        self._elmo = elmo
        ids = keras.Input(
            (None, *elmo.token_encoder.token_shape), dtype="int32"
        )
        self._model = keras.Model(ids, elmo(ids))
        self._model.compile(keras.optimizers.SGD(0.1), "mean_squared_error")

    def vectors(self, sentences):
        ids = to_ids(self._elmo, sentences)
        vectors = self._model.predict_on_batch(ids)
        return [x[None, : len(s)] for x, s in zip(vectors, sentences)]

    def reset(self):
        pass

    def train(self, sentences):
        ids = to_ids(self._elmo, sentences)
        width = self._model.output_shape[-1]
        target = np.zeros((*ids.shape[:2], width), "float32")
        return float(self._model.train_on_batch(ids, target))


def to_ids(elmo, sentences):
    width = elmo.token_encoder.max_characters_per_token
    return keras_elmo.batch_to_ids(sentences, width)


KINDS = {"embedder": Embedder, "layer": Layer, "training": Training}


if __name__ == "__main__":
    serve(load)
