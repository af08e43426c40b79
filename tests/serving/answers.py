"""The expected answers of a served `ElmoLayer`, from the layer itself."""

import keras
import numpy as np
from fast_paths import use_fast_paths
from keras import ops

from keras_elmo.text.word_vectorization import vectorization_of


def hub_answer(elmo, sentences):
    """Returns the outputs for tokenised sentences.

    The layers are those of each sentence alone.

    Args:
        elmo: An `ElmoLayer`.
        sentences: List of lists of words.

    Returns:
        Dictionary of arrays, zero at padding.
    """
    vectorization = vectorization_of(elmo.token_encoder)
    use_fast_paths(False)  # Building the graph takes longer than computing.
    rows = []
    batch = elmo(vectorization.batch_to_ids(sentences))
    batch = [as_float32(x) for x in keras.tree.flatten(batch)]
    for i, sentence in enumerate(sentences):
        ids = vectorization.batch_to_ids([sentence])
        layers = as_float32(elmo.all_layers(ids))[0]
        size = layers.shape[-1] // 2
        np.testing.assert_array_equal(layers[0, :, :size], layers[0, :, size:])
        mixes = [x[i, : layers.shape[1]] for x in batch]
        if elmo.return_all_layers:
            mixes = [layers.mean(axis=0)]
        row = {"word_emb": layers[0, :, :size], "elmo": mixes[0]}
        row |= {f"elmo_{k}": mix for k, mix in enumerate(mixes[1:], start=1)}
        row |= {f"lstm_outputs{k}": x for k, x in enumerate(layers[1:], 1)}
        rows.append(row)
    use_fast_paths(True)
    time = max(len(row["elmo"]) for row in rows)
    answer = {
        name: np.stack(
            [np.pad(r[name], [(0, time - len(r[name])), (0, 0)]) for r in rows]
        )
        for name in rows[0]
    }
    means = [x["elmo"].sum(axis=0) / max(1, len(x["elmo"])) for x in rows]
    return {**answer, "default": np.stack(means)}


def as_float32(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def check(found, expected, tolerance=1e-5):
    assert not isinstance(found, str), found
    assert set(found) == set(expected)
    for name, values in expected.items():
        value = np.asarray(found[name])
        assert (value.shape, value.dtype) == (values.shape, values.dtype), name
        if values.dtype == object:
            np.testing.assert_array_equal(value, values, name)
        else:
            difference = np.abs(value - values).max(initial=0)
            assert difference <= tolerance, (name, difference)


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
