"""The expected answers of a served `ElmoLayer`, from the layer itself."""

import numpy as np
from fast_paths import use_fast_paths
from keras import ops


def hub_answer(elmo, sentences):
    """Returns the outputs for tokenised sentences, each run separately.

    Args:
        elmo: An `ElmoLayer`.
        sentences: List of lists of words.

    Returns:
        Dictionary of arrays, zero at padding.
    """
    vectorization = elmo.token_encoder.make_vectorization()
    time = max(map(len, sentences), default=0)
    # For a few words, building the graph takes longer than computing.
    use_fast_paths(time > 100)
    rows = []
    for sentence in sentences:
        ids = vectorization.batch_to_ids([sentence])
        layers = as_float32(elmo.all_layers(ids))[0]
        size = layers.shape[-1] // 2
        row = {
            "word_emb": layers[0, :, :size],
            "elmo": as_float32(elmo(ids))[0],
        }
        np.testing.assert_array_equal(layers[0, :, size:], row["word_emb"])
        for k, layer in enumerate(layers[1:], start=1):
            row[f"lstm_outputs{k}"] = layer
        mean = row["elmo"].sum(axis=0) / max(1, len(sentence))
        padding = [(0, time - len(sentence)), (0, 0)]
        row = {name: np.pad(x, padding) for name, x in row.items()}
        rows.append({**row, "default": mean})
    use_fast_paths(True)
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def as_float32(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


def check(found, expected, tolerance=1e-5):
    assert not isinstance(found, str), found
    assert set(found) == set(expected)
    for name, values in expected.items():
        value = np.asarray(found[name])
        assert value.shape == values.shape, name
        if values.dtype == object:
            np.testing.assert_array_equal(value, values, name)
            continue
        assert value.dtype == "float32", name
        difference = np.abs(value - values).max(initial=0)
        assert difference <= tolerance, (name, difference)


def padded(sentences, padding=""):
    """Returns the inputs of the signature `tokens`."""
    time = max(map(len, sentences))
    return {
        "tokens": [s + [padding] * (time - len(s)) for s in sentences],
        "sequence_len": np.array(list(map(len, sentences)), "int32"),
    }
