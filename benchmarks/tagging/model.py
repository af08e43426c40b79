"""The tagger: words, characters and ELMo, a BiLSTM, a CRF.

    x = [word; characters; ELMo]        ELMo at the input
    h = BiLSTM(x)
    y = CRF(Dense([h; ELMo]))           ELMo at the output

The layers of the biLM are its inputs, as they are computed once.
"""

import keras
from data import CHARACTERS
from data import PADDING_CHARACTER
from keras import ops

import keras_elmo

ELMO_AT = ("none", "input", "output", "both")
WORD_DIM, CHARACTER_UNITS = 100, 25


def build_tagger(options, tag_names, num_words, layers=None):
    """Builds a tagger.

    Args:
        options: The options of `train.py`.
        tag_names: Strings, the tags.
        num_words: Integer, the number of word embeddings.
        layers: Pair of the biLM's number of layers and their width, or `None`.

    Returns:
        A model from the inputs of `Batches` to the scores of a `CRF`.
    """
    words = keras.Input((None,), dtype="int32", name="words")
    rows = keras.Input((CHARACTERS,), dtype="int32", name="characters")
    places = keras.Input((None,), dtype="int32", name="places")
    # All that `Batches` makes, used or not: Keras takes no other inputs.
    inputs = {"words": words, "characters": rows, "places": places}
    mask = ops.not_equal(words, 0)  # (batch, time)
    x = []
    if not options.no_words:
        x.append(keras.layers.Embedding(num_words, WORD_DIM)(words))
    if not options.no_characters:
        x.append(ops.take(_spelling(rows), places, axis=0))
    if x:
        x = [keras.layers.Dropout(options.dropout)(_joined(x))]
    elmo = {}
    if layers is not None:
        number, width = layers
        for k in range(number):
            name = f"layer_{k}"
            inputs[name] = keras.Input((None, width), name=name)
        for place in ("input", "output"):
            if options.elmo_at in (place, "both"):
                mix = _make_mix(options, number, f"mix_{place}")
                mixed = mix([inputs[f"layer_{k}"] for k in range(number)])
                dropout = keras.layers.Dropout(options.elmo_dropout)
                elmo[place] = [dropout(mixed)]  # (batch, time, width)
    x = _joined(x + elmo.get("input", []))
    if options.units:
        lstm = keras.layers.LSTM(options.units, return_sequences=True)
        x = keras.layers.Bidirectional(lstm)(x, mask=mask)
        x = keras.layers.Dropout(options.dropout)(x)
    x = _joined([x, *elmo.get("output", [])])
    potentials = keras.layers.Dense(len(tag_names))(x)
    scheme = "BIO" if options.measure == "f1" else None
    crf = keras_elmo.CRF(len(tag_names), tag_names=tag_names, scheme=scheme)
    return keras.Model(inputs, crf(potentials, mask=mask))


def mix_weights(model):
    """Returns what each mix has learned: the layer weights, and gamma."""
    learned = {}
    for layer in model.layers:
        if isinstance(layer, keras_elmo.ScalarMix):
            weights, gamma = layer.mix_weights
            learned[layer.name.removeprefix("mix_")] = {
                "weights": [float(w) for w in weights],
                "gamma": float(gamma),
            }
    return learned


def _spelling(rows):
    """Vectors of words: the last states of a BiLSTM over their characters.

    As in [Lample et al., 2016](https://arxiv.org/abs/1603.01360).
    """
    embedding = keras.layers.Embedding(PADDING_CHARACTER, CHARACTER_UNITS)
    lstm = keras.layers.Bidirectional(keras.layers.LSTM(CHARACTER_UNITS))
    return lstm(embedding(rows), mask=ops.not_equal(rows, 0))


def _make_mix(options, num_layers, name):
    """Returns a learned mix, or one that learns only the factor `gamma`."""
    if options.mix == "learned":
        return keras_elmo.ScalarMix(
            regularizer=keras.regularizers.L2(options.mix_l2), name=name
        )
    if options.mix == "average":
        weights = [1 / num_layers] * num_layers
    else:
        weights = [float(str(k) == options.mix) for k in range(num_layers)]
        if not any(weights):
            raise ValueError(
                f"--mix must be one of {num_layers} layers, numbered from 0. "
                f"Received: {options.mix!r}"
            )
    return keras_elmo.ScalarMix(fixed_weights=weights, name=name)


def _joined(parts):
    return parts[0] if len(parts) == 1 else keras.layers.Concatenate()(parts)
