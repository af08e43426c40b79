"""What runs differently on TensorFlow, for speed only.

All else in the layers is written in `keras.ops`. Each function here has a
portable form too, which gives the same numbers: other backends use it, and so
does TensorFlow after `set_fast_paths(False)` or with the environment variable
`KERAS_ELMO_FAST_PATHS=0`. PyTorch has a loop of its own in `scan_time`.
"""

import itertools
import os

import keras
from keras import ops

from keras_elmo.ops.at_least_one import at_least_one

# How many tokens `scan_time` prepares at a time: enough for a product at full
# speed. At the original size, 2048 of them take 256 MB.
PREPARED_ROWS = 2048

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


def take_rows(x, rows):
    """Picks `rows`, integers from 0 on, of `x` (n, dim): (*rows, dim)."""
    if not fast_paths_enabled():
        return ops.take(x, rows, axis=0)
    import tensorflow as tf

    # `ops.take` looks for negative ones first.
    return tf.gather(x, rows)


def map_distinct_rows(function, rows):
    """Applies `function` to each distinct row once.

    Args:
        function: From `(n, ...)` to `(n, dim)`, each row on its own; it is
            given no empty tensors.
        rows: Integer tensor `(n, width)`.

    Returns:
        `function(rows)`, a tensor `(n, dim)`.
    """
    if not fast_paths_enabled():
        number = ops.shape(rows)[0]
        return function(at_least_one(rows))[:number]
    import tensorflow as tf

    distinct, index = tf.raw_ops.UniqueV2(x=rows, axis=[0])
    distinct.set_shape((None, rows.shape[1]))
    distinct = at_least_one(distinct)
    return tf.gather(function(distinct), index)  # (n, dim)


def map_groups_by_length(function, rows, groups):
    """Applies `function` to groups of rows that are alike in length.

    A row's length is that of what comes before its constant end.

    Args:
        function: From `(n, width)` to `(n, dim)`, each row on its own; it is
            given no empty tensors.
        rows: Integer tensor `(n, width)`, with at least one row.
        groups: Integer, the number of groups.

    Returns:
        `function(rows)`, a tensor `(n, dim)`.
    """
    if groups == 1 or not fast_paths_enabled():
        return function(rows)
    import tensorflow as tf

    order = tf.argsort(_varying_lengths(rows), stable=True)
    rows = tf.gather(rows, order)
    number = tf.shape(rows)[0]
    ends = [number * i // groups for i in range(groups + 1)]
    if not tf.executing_eagerly():
        # One graph for all groups, and one of its gradient. Inlined, it would
        # be there once for each, and TensorFlow takes seconds to optimize that.
        function = tf.function(
            function,
            input_signature=[tf.TensorSpec((None, rows.shape[1]), rows.dtype)],
            autograph=False,
            experimental_attributes={"_noinline": True},
        )
    results = [
        function(rows[i : tf.maximum(i + 1, j)])[: j - i]
        for i, j in itertools.pairwise(ends)
    ]
    back = tf.math.invert_permutation(order)
    return tf.gather(tf.concat(results, axis=0), back)


def varying_length(rows):
    """The number of columns before those in which no row changes any more.

    Args:
        rows: Integer tensor `(n, width)`.

    Returns:
        Integer or scalar tensor, at most `width`; other backends, where shapes
        must be known, call all columns varying.
    """
    if not fast_paths_enabled():
        return rows.shape[1]
    import tensorflow as tf

    # There is no largest of no rows.
    return tf.maximum(tf.reduce_max(_varying_lengths(rows)), 0)


def _varying_lengths(rows):
    """Length of each row without the end in which it no longer changes."""
    import tensorflow as tf

    changes = rows != rows[:, -1:]  # (n, width)
    place = tf.range(1, rows.shape[1] + 1)
    return tf.reduce_max(tf.where(changes, place, 0), axis=1)  # (n,)


def scan_time(step, state, inputs, emitted, prepare):
    """Runs `step` along the first axis of `inputs`.

    Args:
        step: From a list of states and a list of one step's prepared inputs to
            the list of the next states.
        state: List of tensors, the states to start from.
        inputs: List of tensors `(time, batch, dim_i)`.
        emitted: Indices of the states to return for every step.
        prepare: From such a list as `inputs`, of any number of steps, to the
            list of prepared inputs, of one dtype: what can be computed for many
            steps at once.

    Returns:
        The list of the emitted states, each `(time, ...)`, and the list of the
        last states.
    """
    if fast_paths_enabled():
        return _scan_time_in_tensorflow(step, state, inputs, emitted, prepare)
    if keras.backend.backend() == "torch":
        return _scan_time_in_python(step, state, prepare(inputs), emitted)
    # Of several inputs, `ops.scan` wants to know the time axis beforehand.
    inputs = prepare(inputs)
    packed = ops.concatenate(inputs, axis=-1)
    ends = list(itertools.accumulate(x.shape[-1] for x in inputs))

    def packed_step(state, packed):
        state = step(state, ops.split(packed, ends[:-1], axis=-1))
        return state, state

    last, states = ops.scan(packed_step, state, packed)
    return [states[i] for i in emitted], last


def _scan_time_in_python(step, state, inputs, emitted):
    # What `ops.scan` does on PyTorch, less its packing of inputs and states.
    steps = []
    for prepared in zip(*(ops.unstack(x) for x in inputs)):
        state = step(state, list(prepared))
        steps.append([state[i] for i in emitted])
    return [ops.stack(states) for states in zip(*steps)], state


def _scan_time_in_tensorflow(step, state, inputs, emitted, prepare):
    import tensorflow as tf

    time, batch = tf.unstack(tf.shape(inputs[0])[:2])
    # Prepared inputs are large: they are made for some steps at a time.
    chunk = tf.maximum(1, PREPARED_ROWS // tf.maximum(1, batch))
    writes = [
        tf.TensorArray(state[i].dtype, time, element_shape=state[i].shape)
        for i in emitted
    ]

    def run_chunk(start, state, writes):
        prepared = prepare([x[start : start + chunk] for x in inputs])
        reads = [
            tf.TensorArray(x.dtype, 0, True, element_shape=x.shape[1:]).unstack(
                x
            )
            for x in prepared
        ]
        end = tf.minimum(start + chunk, time)

        def run_step(t, state, writes):
            new = step(state, [read.read(t - start) for read in reads])
            for tensor, old in zip(new, state):
                tensor.set_shape(old.shape)
            writes = [w.write(t, new[i]) for w, i in zip(writes, emitted)]
            return t + 1, new, writes

        return tf.while_loop(
            lambda t, *_: t < end, run_step, (start, state, writes)
        )

    _, state, writes = tf.while_loop(
        lambda t, *_: t < time, run_chunk, (0, state, writes)
    )
    return [w.stack() for w in writes], state
