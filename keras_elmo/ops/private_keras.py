"""All uses of Keras' private API, with the reasons.

None of these has an equivalent in Keras' public API. Tests cover all of them,
to detect versions of Keras that change one.
"""

import sys

import keras
from keras.src.backend.common.masking import get_keras_mask as get_mask
from keras.src.backend.common.masking import set_keras_mask
from keras.src.backend.common.stateless_scope import in_stateless_scope

__all__ = [
    "class_weight_of_training",
    "get_mask",
    "in_stateless_scope",
    "is_exporting",
    "layer_of",
    "more_is_better",
    "set_mask",
    "sublayers",
]

# `in_stateless_scope` tells whether the variables' values are replaced, as a
# graph compiled now would keep the replacements.

# `get_mask` returns the mask attached to a tensor, or `None`. Keras passes it
# to `call` only for the first argument, and only if no other argument is a
# tensor. It is not always an attribute: JAX's traced tensors cannot have any.

# The module in which Keras traces what it exports.
EXPORT_MODULE = "keras.src.export."


def sublayers(layer, recursive=True):
    """Yields the layers inside a layer, without the layer itself.

    In the public API, only models have this, as `Model.layers`.

    Args:
        layer: A Keras layer or model.
        recursive: Boolean, whether to include the layers inside those.
    """
    return layer._flatten_layers(include_self=False, recursive=recursive)


def layer_of(x):
    """Returns the layer that created a symbolic tensor.

    `Model.output_names` gives the names of these layers, not the layers.
    """
    return x._keras_history.operation


def set_mask(x, mask):
    """Attaches a mask to a tensor that was converted before Keras' own call."""
    if mask is not None:
        set_keras_mask(x, mask)


def is_exporting():
    """Whether Keras is tracing a layer for export. Keras has no flag for it."""
    return any(
        frame.f_globals.get("__name__", "").startswith(EXPORT_MODULE)
        for frame in _calling_frames()
    )


def class_weight_of_training():
    """Returns the `class_weight` of the running `fit`, or `None`.

    Keras turns it into a `sample_weight` of the same shape before it calls any
    public function of a loss, metric or layer.
    """
    for frame in _calling_frames():
        if frame.f_code.co_name in ("fit", "train_on_batch"):
            weights = frame.f_locals.get("class_weight")
            if weights and isinstance(frame.f_locals.get("self"), keras.Model):
                return weights
    return None


def more_is_better(metric):
    """Tells `EarlyStopping` and `ModelCheckpoint` that a metric should rise.

    With `mode="auto"`, they guess it only from the names of Keras' metrics.
    """
    metric._direction = "up"


def _calling_frames():
    """Yields the frames of the callers, starting with the nearest."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
