"""Names of model outputs."""

import collections

from keras_elmo.ops.private_keras import layer_of


def output_names(outputs):
    """Keras' names of symbolic outputs, numbered if a layer has several."""
    counts: collections.Counter[str] = collections.Counter()
    names = []
    for name in (layer_of(x).name for x in outputs):
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return names


def named_elmo_outputs(tokens, layers, mixes):
    """The outputs of an `ElmoLayer`, named as in TF-Hub's `google/elmo/3`.

    Args:
        tokens: The token encoder's vectors.
        layers: List of the biLM's layers, starting with the first LSTM.
        mixes: List of their mixes.
    """
    outputs = {"word_emb": tokens}
    for k, layer in enumerate(layers, start=1):
        outputs[f"lstm_outputs{k}"] = layer
    for k, mix in enumerate(mixes):
        outputs[f"elmo_{k}" if k else "elmo"] = mix
    return outputs
