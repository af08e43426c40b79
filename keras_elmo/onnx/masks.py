"""Compares the masks of a Keras model with that of an exported file."""

import inspect

import keras
import numpy as np
from keras import ops

# Sizes (batch, time) of the ids: a mask may also end long sentences.
_SIZES = (1, 1), (4, 9), (8, 70)


def check_masks(symbolic, steps):
    """Checks that the mask of each layer is that of the ids.

    An exported file has no other, because rows of zero ids are its padding. The
    masks are compared on random words, by value, as the same mask can be
    computed in many ways.

    Args:
        symbolic: The model's symbolic ids.
        steps: The list that `read_graph` returns.

    Raises:
        ValueError: If a layer that takes a mask has none or another one.
    """
    elmo = steps[0][0]
    takers = [
        (layer, given)
        for layer, *_, given in steps
        if "mask" in inspect.signature(layer.call).parameters
        and (layer is not elmo or given is not None)
    ]
    masks = {id(x): x for _, x in takers if keras.utils.is_keras_tensor(x)}
    # A new symbolic mask could have the name of one in a loaded model.
    masks_of = keras.Model(symbolic, list(masks.values())) if masks else None
    rng = np.random.default_rng(0)
    for sizes in _SIZES:
        sizes = [n or m for n, m in zip(symbolic.shape, sizes)]
        ids = _random_ids(elmo.token_encoder.indexer, *sizes, rng)
        ids = ops.convert_to_tensor(ids, symbolic.dtype)
        found = keras.tree.flatten(masks_of(ids)) if masks else []
        found = dict(zip(masks, map(ops.convert_to_numpy, found)))
        own = elmo.token_encoder.compute_mask(ids)
        mask = keras.tree.flatten(elmo.compute_mask(ids))[0]
        own, mask = map(ops.convert_to_numpy, (own, mask))
        for layer, given in takers:
            value = found.get(id(given), given)  # It may be an array or `None`.
            expected = own if layer is elmo else mask
            if not np.array_equal(np.not_equal(value, 0), expected):
                raise ValueError(
                    "For ONNX, the mask of each layer must be that of the ids, "
                    "because the file takes rows of zero ids for padding: pass "
                    "`mask=elmo.compute_mask(ids)`. Use `export_saved_model` "
                    "for other masks. "
                    f"Received: layer '{layer.name}' with "
                    f"{'no' if given is None else 'another'} mask"
                )


def _random_ids(indexer, batch, time, rng):
    """Ids `(batch, time, chars)` of sentences from zero to `time` words, with
    padding inside."""
    words = [
        bytes([k % 256]) + rng.bytes(rng.choice([0, 5, 60]))
        for k in range(batch * time)
    ]
    ids = indexer.ids_of_words(words).reshape(batch, time, -1)
    ends = np.linspace(0, time, batch)[:, None]
    is_word = (np.arange(time) < ends) & (rng.random((batch, time)) < 0.9)
    return np.where(is_word[..., None], ids, 0)
