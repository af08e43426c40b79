"""What runs differently on TensorFlow, for speed only.

Everything else in the layers is written in `keras.ops`. The functions here
give the same numbers as the portable code, which `set_fast_paths(False)`, or
the environment variable `KERAS_ELMO_FAST_PATHS=0`, selects everywhere.
"""

import os

import keras

_enabled = os.environ.get("KERAS_ELMO_FAST_PATHS", "1") != "0"


def set_fast_paths(enabled):
    """Turns the TensorFlow-only fast paths on or off, for all layers.

    They are on by default and change speed, not results. Turn them off to
    compile a model with XLA (`jit_compile=True`), which needs fixed shapes.
    Models that were traced before keep the path they were traced with.

    Args:
        enabled: Boolean.

    Example:

    >>> set_fast_paths(False)
    >>> set_fast_paths(True)
    """
    global _enabled
    _enabled = bool(enabled)


def fast_paths_enabled():
    """Whether the TensorFlow fast paths are in use."""
    return _enabled and keras.backend.backend() == "tensorflow"


def map_distinct_rows(function, rows):
    """Applies `function` to each distinct row once.

    Args:
        function: From `(n, ...)` to `(n, dim)`, each row on its own.
        rows: Integer tensor `(n, width)`.

    Returns:
        `function(rows)`, a tensor `(n, dim)`.
    """
    if not fast_paths_enabled():
        return function(rows)
    import tensorflow as tf

    distinct, index = tf.raw_ops.UniqueV2(x=rows, axis=[0])
    return tf.gather(function(distinct), index)  # (n, dim)
