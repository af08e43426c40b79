"""What any model answers that starts from character ids."""

import collections

import keras
from keras import ops

from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.serving.label_names import LabelNames


class ModelOutputs:
    """From character ids to the named outputs of a Keras model.

    Args:
        model: A Keras model with one input, character ids `(batch, time,
            chars)`.
        labels: Mapping from the name of an output to the names of its labels.

    Raises:
        ValueError: If the model takes anything else, or is not built.
    """

    returns_tokens = True

    def __init__(self, model, labels=None):
        self._model = model
        if not model.built:
            raise ValueError(
                f"Model '{model.name}' has no weights yet: call it or build it "
                "first."
            )
        inputs = getattr(model, "inputs", None)
        if inputs is None:  # A subclassed model tells no shapes.
            shape, dtype = (None, None, None), "int32"
        elif len(inputs) == 1:
            shape, dtype = inputs[0].shape, inputs[0].dtype
        else:
            self._fail(f"{len(inputs)} inputs")
        if len(shape) != 3 or dtype not in ("int32", "int64"):
            self._fail(f"an input of shape={tuple(shape)}, dtype={dtype}")
        if shape[1] is not None:
            raise ValueError(
                "Any number of words must be allowed: make the model with an "
                "input of shape (None, chars). "
                f"Received: an input of shape={tuple(shape)}"
            )
        self.width = shape[2] or self._width_of_encoder()
        self._dtype = dtype
        self._labels = LabelNames({**self._tag_names(), **(labels or {})})

    def __call__(self, ids):
        """Returns a dictionary of the model's outputs, and of their labels.

        Args:
            ids: int32 tensor `(batch, time, chars)`.
        """
        # Keras' LSTM, for one, cannot run without a column: it gets padding.
        is_empty = ops.equal(ops.shape(ids)[1], 0)
        num_added = ops.cast(is_empty, "int32")
        inputs = ops.pad(ids, [(0, 0), (0, num_added), (0, 0)])
        inputs = ops.cast(inputs, self._dtype)
        structure = getattr(self._model, "input", None)
        if structure is not None:  # It may be a list or a dictionary.
            inputs = keras.tree.pack_sequence_as(structure, [inputs])
        outputs = {
            name: _without_columns(_in_full_precision(x), num_added)
            for name, x in self._named(self._model(inputs)).items()
        }
        labels = self._labels(outputs, ids)
        taken = outputs.keys() & {"tokens", *labels}
        if taken:
            raise ValueError(
                "No output of the model may be called as what comes out beside "
                f"it: rename it. Received: outputs {sorted(taken)}"
            )
        return outputs | labels

    def _tag_names(self):
        """The names that layers tell of the tags that they make."""
        # Sequential models have the list alone, subclassed ones neither.
        flat = getattr(self._model, "outputs", ())
        outputs = self._named(getattr(self._model, "output", flat))
        names = {
            name: getattr(_maker(x), "tag_names", None)
            for name, x in outputs.items()
            if len(x.shape) == 2 and x.dtype.startswith("int")
        }
        return {name: found for name, found in names.items() if found}

    def _named(self, outputs):
        if isinstance(outputs, dict):
            return dict(outputs)
        outputs = keras.tree.flatten(outputs)
        names = _names(getattr(self._model, "outputs", ()))
        if len(set(names)) < len(outputs):
            names = [f"output_{i}" for i in range(len(outputs))]
        return dict(zip(names, outputs))

    def _width_of_encoder(self):
        widths = {
            layer.max_characters_per_token
            for layer in self._model._flatten_layers()
            if isinstance(layer, CharCNNEmbedding)
        }
        if len(widths) != 1:
            self._fail(
                "an input that does not tell `chars`, and layers "
                f"`CharCNNEmbedding` of {sorted(widths) or 'no'} characters"
            )
        return widths.pop()

    def _fail(self, received):
        raise ValueError(
            "The model must have one input, character ids of shape (batch, "
            "time, chars), such as "
            '`keras.Input((None, 50), dtype="int32")`. '
            f"Received: model '{self._model.name}' with {received}"
        )


def _names(outputs):
    """Keras' names of symbolic outputs, numbered where a layer made several."""
    counts: collections.Counter[str] = collections.Counter()
    names = []
    for name in (_maker(x).name for x in outputs):
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return names


def _maker(x):
    """The layer that made a symbolic tensor."""
    return x._keras_history.operation


def _without_columns(x, number):
    """Takes the last columns away, of an output `(batch, time, ...)`."""
    if len(x.shape) < 2 or x.shape[1] is not None:
        return x
    return x[:, : ops.shape(x)[1] - number]


def _in_full_precision(x):
    # Clients and JSON know no bfloat16.
    is_half = keras.backend.standardize_dtype(x.dtype) in (
        "bfloat16",
        "float16",
    )
    return ops.cast(x, "float32") if is_half else x
