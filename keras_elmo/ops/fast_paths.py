"""What runs differently on TensorFlow, for speed only.

All else in the layers is written in `keras.ops`. Each function here has a
portable form too, which gives the same numbers: other backends use it, and so
does TensorFlow after `set_fast_paths(False)` or with the environment variable
`KERAS_ELMO_FAST_PATHS=0`.
"""

import itertools
import os

import keras
from keras import ops
from keras.src.backend.common.stateless_scope import in_stateless_scope

_enabled = os.environ.get("KERAS_ELMO_FAST_PATHS", "1") != "0"


def set_fast_paths(enabled: bool) -> None:
    """Turns the TensorFlow-only fast paths on or off, for all layers.

    They are on by default and change speed, not results. Models that were
    traced before keep the path they were traced with.

    Args:
        enabled: Boolean.

    Example:

    >>> set_fast_paths(False)
    >>> set_fast_paths(True)
    """
    global _enabled
    _enabled = bool(enabled)


def fast_paths_enabled() -> bool:
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


class CompiledWhenEager:
    """Calls a function of tensors; a graph of it if TensorFlow runs eagerly.

    Step by step, TensorFlow spends longer on starting the operations of a
    recurrent loop than on many of them. The graph is traced once, for any
    size of all axes but the last one of numbers.

    Args:
        function: Takes and returns tensors only, or lists of them.
    """

    def __init__(self, function):
        self._function = function
        self._compiled = None

    def __call__(self, *args):
        # A stateless scope puts other values in the variables' place, which a
        # graph would keep for ever.
        if not fast_paths_enabled() or in_stateless_scope():
            return self._function(*args)
        import tensorflow as tf

        if not tf.executing_eagerly():
            return self._function(*args)
        if self._compiled is None:
            specs = keras.tree.map_structure(
                lambda x: tf.TensorSpec(
                    [None, None, x.shape[-1]][-len(x.shape) :]
                    if x.dtype.is_floating
                    else [None] * len(x.shape),
                    x.dtype,
                ),
                args,
            )
            function = tf.function(self._function, autograph=False)
            self._compiled = function.get_concrete_function(*specs)
        return self._compiled(*args)


def scan_time(step, state, inputs, emitted):
    """Runs `step` along the first axis of `inputs`.

    Args:
        step: From a list of states and a list of one step's inputs to the list
            of the next states.
        state: List of tensors, the states to start from.
        inputs: List of tensors `(time, batch, dim_i)` of one dtype.
        emitted: Indices of the states to return for every step.

    Returns:
        The list of the emitted states, each `(time, ...)`, and the list of the
        last states.
    """
    if fast_paths_enabled():
        return _scan_time_in_tensorflow(step, state, inputs, emitted)
    # Of several inputs, `ops.scan` wants to know the time axis beforehand.
    packed = ops.concatenate(inputs, axis=-1)
    ends = list(itertools.accumulate(x.shape[-1] for x in inputs))

    def packed_step(state, packed):
        state = step(state, ops.split(packed, ends[:-1], axis=-1))
        return state, state

    last, states = ops.scan(packed_step, state, packed)
    return [states[i] for i in emitted], last


def _scan_time_in_tensorflow(step, state, inputs, emitted):
    import tensorflow as tf

    time = tf.shape(inputs[0])[0]
    reads = [
        tf.TensorArray(x.dtype, time, element_shape=x.shape[1:]).unstack(x)
        for x in inputs
    ]
    writes = [
        tf.TensorArray(state[i].dtype, time, element_shape=state[i].shape)
        for i in emitted
    ]

    def body(t, state, writes):
        new = step(state, [read.read(t) for read in reads])
        for tensor, old in zip(new, state):
            tensor.set_shape(old.shape)
        writes = [w.write(t, new[i]) for w, i in zip(writes, emitted)]
        return t + 1, new, writes

    _, state, writes = tf.while_loop(
        lambda t, *_: t < time, body, (0, state, writes)
    )
    return [w.stack() for w in writes], state
