"""All uses of Keras' private API, with the reasons.

None of these has an equivalent in Keras' public API. Tests cover all of them,
to detect versions of Keras that change one.
"""

import contextlib
import functools
import importlib
import operator

import keras

__all__ = [
    "get_mask",
    "in_stateless_scope",
    "inputs_of",
    "layer_of",
    "more_is_better",
    "set_mask",
    "sublayers",
]


def get_mask(x):
    """Returns the mask attached to a tensor, or `None`.

    Keras passes it to `call` only for the first argument, and only if no other
    argument is a tensor. It is not always an attribute: JAX's traced tensors
    cannot have any.
    """
    return _private("backend.common.masking", "get_keras_mask")(x)


def set_mask(x, mask):
    """Attaches a mask to a tensor that was converted before Keras' own call."""
    _private("backend.common.masking", "set_keras_mask")(x, mask)


def in_stateless_scope():
    """Whether the variables' values are replaced.

    A graph compiled now would keep the replacements.
    """
    return _private("backend.common.stateless_scope", "in_stateless_scope")()


def sublayers(layer, recursive=True):
    """Returns the layers inside a layer, without the layer itself.

    In the public API, only models have this, as `Model.layers`.

    Args:
        layer: A Keras layer or model.
        recursive: Boolean, whether to include the layers inside those.
    """
    flatten = _private("layers.layer", "Layer._flatten_layers")
    return flatten(layer, include_self=False, recursive=recursive)


def layer_of(x):
    """Returns the layer that created a symbolic tensor.

    `Model.output_names` gives the names of these layers, not the layers.
    """
    with _errors_name_the_version():
        return x._keras_history.operation


def inputs_of(x):
    """Returns the symbolic tensors from which a layer made a symbolic tensor.

    `Layer.input` gives those of the layer's first call only.
    """
    with _errors_name_the_version():
        layer, node_index, _ = x._keras_history
        return layer._inbound_nodes[node_index].input_tensors


def more_is_better(metric):
    """Tells `EarlyStopping` and `ModelCheckpoint` that a metric should rise.

    With `mode="auto"`, they guess it only from the names of Keras' metrics.
    """
    metric._direction = "up"


@functools.cache
def _private(module, name):
    """Imports a name when it is first used.

    The rest of the package works if another version of Keras lacks it.
    """
    with _errors_name_the_version():
        module = importlib.import_module(f"keras.src.{module}")
        return operator.attrgetter(name)(module)


@contextlib.contextmanager
def _errors_name_the_version():
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"This version of keras_elmo does not work with Keras "
            f"{keras.__version__}, whose internals differ ({error}). "
            "Install a version of Keras that docs/versions.md names."
        ) from error
