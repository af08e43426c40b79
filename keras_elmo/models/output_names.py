"""Names of a model's outputs and of their tags, in all its exports."""

from collections.abc import Iterable
from collections.abc import Mapping

import keras

from keras_elmo.ops.private_keras import call_of
from keras_elmo.ops.private_keras import layer_of

# The argument of that name, which `tag_names_of` reads.
TagNames = Mapping[str, Iterable[str | bytes]] | Iterable[str | bytes]


def named_outputs(model, outputs=None):
    """The outputs of a model, named after their layers.

    They are numbered if a layer has several, or if the layers are unknown, as
    in a subclassed model.

    Args:
        model: A Keras model.
        outputs: What the model returned. Defaults to its symbolic outputs.
    """
    symbolic = getattr(model, "outputs", ())  # Subclassed models have none.
    if outputs is None:
        # A Sequential model's `output` is that in the first model around it.
        has_own = not isinstance(model, keras.Sequential)
        outputs = getattr(model, "output", symbolic) if has_own else symbolic
    if isinstance(outputs, dict):
        return dict(sorted(outputs.items()))
    outputs = keras.tree.flatten(outputs)
    names = [layer_of(x).name for x in symbolic]
    counts = [names[:i].count(name) for i, name in enumerate(names)]
    names = [f"{name}_{i}" if i else name for name, i in zip(names, counts)]
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


def tag_names_of(outputs, tag_names):
    """The labels that a model returns, by the output's name.

    Args:
        outputs: Dictionary from names to symbolic outputs.
        tag_names: Dictionary from names of outputs to lists of strings or
            bytes; such a list, if there is one output; or `None`. A
            `CRFDecoder` has its own.

    Returns:
        Dictionary from names of outputs to lists.

    Raises:
        ValueError: If `tag_names` is not as described.
    """
    names = {
        name: getattr(layer_of(x), "tag_names", None)
        for name, x in outputs.items()
        # A decoder's further outputs are no tags.
        if len(x.shape) == 2
        and x.dtype.startswith("int")
        and call_of(x)[-1][0] is x
    }
    names = {name: found for name, found in names.items() if found}
    if tag_names is None:
        return names
    if not isinstance(tag_names, Mapping):
        if len(outputs) != 1:
            raise ValueError(
                "`tag_names` must be a dictionary from an output's name to a "
                "list of names, because the model does not have one output: "
                f"its outputs are {sorted(outputs)}. "
                f"Received: tag_names={tag_names!r}"
            )
        tag_names = dict.fromkeys(outputs, tag_names)
    for name, given in tag_names.items():
        is_list = isinstance(given, Iterable) and type(given) is not str
        found = list(given) if is_list else []
        if not found or not all(isinstance(x, (str, bytes)) for x in found):
            raise ValueError(
                "`tag_names` must be lists of names, each a string. "
                f"Received for output '{name}': {given!r}"
            )
        names[name] = found
    return names


def check_tagged_outputs(tag_names, outputs):
    """Raises `ValueError` if an output cannot have these tags.

    Args:
        tag_names: As `tag_names_of` returns them.
        outputs: Dictionary from names to tensors, symbolic or not.
    """
    unknown = set(tag_names) - set(outputs)
    if unknown:
        raise ValueError(
            "The keys of `tag_names` must be outputs of the "
            f"model, which are {sorted(outputs)}. Received: {sorted(unknown)}"
        )
    for name, names in tag_names.items():
        x = outputs[name]
        dtype = keras.backend.standardize_dtype(x.dtype)
        is_scores = "float" in dtype
        rank = len(x.shape) - is_scores
        fits = rank in (1, 2) and (is_scores or "int" in dtype)
        if not fits or (is_scores and x.shape[-1] != len(names)):
            raise ValueError(
                f"To have `tag_names`, output '{name}' must be integers of "
                "shape (batch, time) or (batch,), or floats with one more "
                f"axis, of size {len(names)}, the number of names. Received: "
                f"an output of shape={tuple(x.shape)}, dtype={dtype}"
            )


def refuse_tag_names(tag_names):
    """Raises `ValueError` if an `ElmoLayer` is exported with `tag_names`."""
    if tag_names:
        raise ValueError(
            "`tag_names` can only be used with a model that "
            f"returns tags, not with an `ElmoLayer`. Received: {tag_names!r}"
        )
