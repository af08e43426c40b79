"""Writes small models of every kind, as saved by this version.

    make test-oldest
    PYTHON=.venv-oldest/bin/python
    $PYTHON tests/saved_models/write.py tests/saved_models/VERSION

Run this once per release, with the oldest supported Keras: an older one cannot
load what a newer one saved. In later versions, test_saved_models.py loads these
models.
"""

import pathlib
import sys

import keras
import numpy as np

from keras_elmo import CRF
from keras_elmo import BidirectionalLanguageModel
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import CRFAccuracy
from keras_elmo import CRFDecoder
from keras_elmo import CRFLoss
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo import ProjectedLSTMCell
from keras_elmo import SentencePooling
from keras_elmo import WordVectors
from keras_elmo import batch_to_ids
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.pretraining import LanguageModelTrainer

SENTENCES = [["Save", "the", "cat", "."], ["the", "猫"]]
SPECIAL = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
DIM = 4
IDS = batch_to_ids(SENTENCES, 12)
OLDEST = pathlib.Path(__file__).parents[1] / "oldest.txt"


def main():
    folder = pathlib.Path(sys.argv[1])
    if f"keras=={keras.__version__}" not in OLDEST.read_text().split():
        sys.exit(f"Run this with the oldest Keras, that of {OLDEST}.")
    folder.mkdir(parents=True)
    keras.utils.set_random_seed(1)
    arrays = {}
    for name, make in MODELS.items():
        model, inputs = make()
        randomize(model)
        model.save(folder / f"{name}.keras")
        arrays[f"{name}/inputs"] = np.array(inputs)
        if name == "trainer":
            inputs = as_distinct(inputs)
        arrays[f"{name}/outputs"] = np.array(model.predict_on_batch(inputs))
    elmo = make_elmo(char_cnn())
    elmo.build((None, None, 12))
    randomize(elmo)
    elmo.save_to_preset(folder / "preset")
    arrays["preset/inputs"] = IDS
    arrays["preset/outputs"] = np.array(elmo(IDS))
    np.savez_compressed(folder / "arrays.npz", **arrays)


def text():
    """Returns the sentences as a padded array of strings."""
    return np.array([SENTENCES[0], [*SENTENCES[1], "", ""]])


def char_cnn():
    return CharCNNEmbedding(
        DIM,
        [(1, 2), (3, 3)],
        num_highways=1,
        embedding_dim=3,
        max_characters_per_token=12,
    )


def lexicon():
    return LexiconEmbedding(
        [*SPECIAL, *"Savethc猫"],
        ["<oov>", "the"],
        DIM,
        [(1, 2), (3, 3)],
        num_highways=1,
        embedding_dim=3,
        word_embedding_dim=2,
        max_characters_per_token=12,
    )


def make_elmo(token_encoder, **kwargs):
    return ElmoLayer(token_encoder, BiLMEncoder(5, DIM), **kwargs)


def reader(make_token_encoder):
    """Returns a function that makes a model of strings with a token encoder."""

    def make():
        token_encoder = make_token_encoder()
        inputs = keras.Input((None,), dtype="string")
        ids = token_encoder.make_vectorization()(inputs)
        return keras.Model(inputs, make_elmo(token_encoder)(ids)), text()

    return make


def tagger():
    """Returns a compiled tagger from ids to tags, and its inputs."""
    inputs = keras.Input((None, 12), dtype="int32")
    x = make_elmo(char_cnn(), num_representations=2)(inputs)[1]
    scores = CRF(3, ["O", "B-X", "I-X"], "BIO")(keras.layers.Dense(3)(x))
    model = keras.Model(inputs, CRFDecoder()(scores))
    model.compile("sgd", CRFLoss(), metrics=[CRFAccuracy()])
    return model, IDS


def classifier():
    """Returns a model from ids to the scores of sentences, and its inputs."""
    inputs = keras.Input((None, 12), dtype="int32")
    x = SentencePooling("max")(make_elmo(char_cnn())(inputs))
    return keras.Model(inputs, keras.layers.Dense(2)(x)), IDS


def word_vectors():
    """Returns a model of word vectors, and its inputs."""
    inputs = keras.Input((None, 12), dtype="int32")
    vectors = [[1.0, 2.0], [3.0, 4.0]]
    layer = WordVectors(["the", "cat"], vectors, max_characters_per_token=12)
    return keras.Model(inputs, layer(inputs)), IDS


def parts():
    """Returns a model of the layers that other layers create as parts."""
    inputs = keras.Input((None, DIM))
    cell = ProjectedLSTMCell(5, DIM, 3.0, 3.0)
    x = keras.layers.RNN(cell, return_sequences=True)(Highway()(inputs))
    vectors = np.random.default_rng(0).normal(size=(2, 3, DIM))
    return keras.Model(inputs, x), vectors.astype("float32")


def language_model():
    model = BidirectionalLanguageModel(6, char_cnn(), BiLMEncoder(5, DIM))
    model.build()
    backward = [sentence[::-1] for sentence in SENTENCES]
    return model, [batch_to_ids(s, 12) for s in (SENTENCES, backward)]


def trainer():
    model, inputs = language_model()
    return LanguageModelTrainer(model, batch_size=2), inputs


def as_distinct(inputs):
    """Returns what a trainer takes for the inputs of a language model."""
    inputs = np.array(inputs)
    ids = inputs.reshape(-1, inputs.shape[-1])
    return [ids, *np.arange(len(ids)).reshape(inputs.shape[:-1])]


MODELS = {
    "characters": reader(char_cnn),
    "lexicon": reader(lexicon),
    "tagger": tagger,
    "classifier": classifier,
    "word_vectors": word_vectors,
    "parts": parts,
    "language_model": language_model,
    "trainer": trainer,
}


def randomize(model):
    """Redraws all weights, large enough to distinguish them."""
    generator = np.random.default_rng(1)
    for variable in model.weights:
        if variable.dtype == "float32":
            variable.assign(generator.normal(0, 0.5, variable.shape))


if __name__ == "__main__":
    main()
