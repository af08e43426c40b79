"""Names of model outputs."""

import collections

import keras

from keras_elmo.checks import argument_name
from keras_elmo.ops.private_keras import layer_of


def named_outputs(model, outputs=None):
    """The outputs of a model, named after their layers.

    They are numbered if a layer has several, or if the layers are unknown, as
    in a subclassed model.

    Args:
        model: A Keras model.
        outputs: What the model returned. Defaults to its symbolic outputs.
    """
    # Sequential models only have the list, subclassed ones have neither.
    symbolic = getattr(model, "outputs", ())
    if outputs is None:
        outputs = getattr(model, "output", symbolic)
    if isinstance(outputs, dict):
        return dict(sorted(outputs.items()))
    outputs = keras.tree.flatten(outputs)
    counts: collections.Counter[str] = collections.Counter()
    names = []
    for name in (layer_of(x).name for x in symbolic):
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
        counts[name] += 1
    if len(set(names)) < len(outputs):
        names = [f"output_{i}" for i in range(len(outputs))]
    return dict(zip(names, outputs))


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


def label_names(outputs, labels):
    """The names of the labels that a model returns, by the output's name.

    Args:
        outputs: Dictionary from names to symbolic outputs.
        labels: Mapping from the name of an output to the names of its labels,
            strings or bytes; or `None`. A `CRFDecoder` has its `tag_names`.

    Raises:
        ValueError: If `labels` is not as described.
    """
    names = {
        name: getattr(layer_of(x), "tag_names", None)
        for name, x in outputs.items()
        if len(x.shape) == 2 and x.dtype.startswith("int")
    }
    names = {name: found for name, found in names.items() if found}
    for name, given in (labels or {}).items():
        found = [] if isinstance(given, (str, bytes)) else list(given)
        if not found or not all(isinstance(x, (str, bytes)) for x in found):
            raise ValueError(
                f"{argument_name('labels')} must be lists of names, each a "
                "string. "
                f"Received for output '{name}': {given!r}"
            )
        names[name] = found
    return names


def check_labels(labels, outputs):
    """Raises `ValueError` if an output cannot have these labels.

    Args:
        labels: As `label_names` returns them.
        outputs: Dictionary from names to tensors, symbolic or not.
    """
    unknown = set(labels) - set(outputs)
    if unknown:
        raise ValueError(
            f"The keys of {argument_name('labels')} must be outputs of the "
            f"model, which are {sorted(outputs)}. Received: {sorted(unknown)}"
        )
    for name, names in labels.items():
        x = outputs[name]
        dtype = keras.backend.standardize_dtype(x.dtype)
        is_scores = "float" in dtype
        rank = len(x.shape) - is_scores
        fits = rank in (1, 2) and (is_scores or "int" in dtype)
        if not fits or (is_scores and x.shape[-1] != len(names)):
            raise ValueError(
                f"To have labels, output '{name}' must be integers of shape "
                "(batch, time) or (batch,), or floats with one more axis, of "
                f"size {len(names)}, the number of labels. Received: an output "
                f"of shape={tuple(x.shape)}, dtype={dtype}"
            )
