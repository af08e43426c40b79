"""What is taken of Keras that is not public: all of it, with the reasons.

Each has been looked for in Keras' public API, of which it has no place. Tests
go through all of them, so that a version of Keras that changes one is noticed.
"""

import sys

import keras
from keras.src.backend.common.stateless_scope import in_stateless_scope

__all__ = [
    "class_weight_of_training",
    "get_mask",
    "in_stateless_scope",
    "is_exporting",
    "layer_of",
    "set_mask",
    "sublayers",
]

# `in_stateless_scope` tells whether other values stand in the variables' place,
# which a graph that is compiled now would keep for ever.

# Where Keras traces what it exports.
EXPORT_MODULE = "keras.src.export."


def sublayers(layer, recursive=True):
    """Yields the layers within a layer, itself not included.

    Only models tell theirs, by `Model.layers`.

    Args:
        layer: A Keras layer or model.
        recursive: Boolean, whether to go on with the layers within those.
    """
    return layer._flatten_layers(include_self=False, recursive=recursive)


def layer_of(x):
    """Returns the layer that made a symbolic tensor.

    `Model.output_names` are those of layers too, but not the layers.
    """
    return x._keras_history.operation


def get_mask(x):
    """Returns the mask that came with a tensor, or `None`.

    Keras passes it to `call` for the first argument alone, and only when no
    other argument is a tensor.
    """
    return getattr(x, "_keras_mask", None)


def set_mask(x, mask):
    """Sends a mask on with a tensor that was made before Keras' own call."""
    if mask is not None:
        x._keras_mask = mask


def is_exporting():
    """Whether Keras is tracing a layer for export, of which it has no sign."""
    return any(
        frame.f_globals.get("__name__", "").startswith(EXPORT_MODULE)
        for frame in _calling_frames()
    )


def class_weight_of_training():
    """Returns the `class_weight` of the `fit` that is running, or `None`.

    Keras makes `sample_weight` of it before any public function of a loss,
    metric or layer is called, and of the same shape.
    """
    for frame in _calling_frames():
        if frame.f_code.co_name in ("fit", "train_on_batch"):
            weights = frame.f_locals.get("class_weight")
            if weights and isinstance(frame.f_locals.get("self"), keras.Model):
                return weights
    return None


def _calling_frames():
    """Yields the frames of the callers, the nearest first."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
