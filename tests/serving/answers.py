"""The expected answers of a served `ElmoLayer`, from the layer itself."""

import keras
import numpy as np
from fast_paths import use_fast_paths
from keras import ops

from keras_elmo.layers.word_vectorization import vectorization_of


def hub_answer(elmo, sentences):
    """Returns the outputs for tokenised sentences.

    The layers are those of each sentence alone.

    Args:
        elmo: An `ElmoLayer`.
        sentences: List of lists of words.

    Returns:
        Dictionary of arrays, zero at padding.
    """
    to_ids = vectorization_of(elmo.token_encoder).batch_to_ids
    use_fast_paths(False)  # Building the graph takes longer than computing.
    alone = [as_float32(elmo.all_layers(to_ids([s])))[0] for s in sentences]
    mixes = [as_float32(x) for x in keras.tree.flatten(elmo(to_ids(sentences)))]
    use_fast_paths(True)
    lengths = [x.shape[1] for x in alone]
    added = [[(0, 0), (0, max(lengths) - n), (0, 0)] for n in lengths]
    layers = np.stack(list(map(np.pad, alone, added)), axis=1)
    tokens, copies = np.split(layers[0], 2, axis=-1)
    np.testing.assert_array_equal(tokens, copies)
    if elmo.return_all_layers:
        mixes = [layers.mean(axis=0)]
    answer = {"word_emb": tokens, "elmo": mixes[0]}
    answer |= {f"elmo_{k}": mix for k, mix in enumerate(mixes[1:], start=1)}
    answer |= {f"lstm_outputs{k}": x for k, x in enumerate(layers[1:], start=1)}
    numbers = np.maximum(1, lengths).astype("float32")[:, None]
    return {**answer, "default": mixes[0].sum(axis=1) / numbers}


def as_float32(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def padded(sentences, padding=""):
    """Returns the inputs of the signature `tokens`."""
    time = max(map(len, sentences))
    return {
        "tokens": [s + [padding] * (time - len(s)) for s in sentences],
        "sequence_len": np.array(list(map(len, sentences)), "int32"),
    }


def requests(sentences, ids):
    """Returns the same sentences as a request for each signature."""
    strings = {"strings": [" ".join(sentence) for sentence in sentences]}
    return [
        ("default", strings),
        ("tokens", padded(sentences)),
        ("character_ids", {"ids": ids}),
    ]
