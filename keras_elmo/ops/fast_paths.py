"""Faster code paths for TensorFlow.

Everything else in the layers is written in `keras.ops`. Each function here also
has a portable version with the same results, which other backends use;
TensorFlow uses it after `set_fast_paths(False)` or with the environment
variable `KERAS_ELMO_FAST_PATHS=0`. PyTorch has its own loop in `scan_time`.
"""

import itertools
import os

from keras import ops

from keras_elmo.ops.backends import backend

# How many tokens `scan_time` prepares at a time: enough for a matrix multiply
# at full speed. For the original model, 2048 tokens take 256 MB.
PREPARED_ROWS = 2048

_enabled = os.environ.get("KERAS_ELMO_FAST_PATHS", "1") != "0"


def set_fast_paths(enabled: bool) -> None:
    """Enables or disables the TensorFlow-only fast paths of all layers.

    They are enabled by default and change speed, not results. Models that are
    already traced keep the path they were traced with.

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
    return _enabled and backend().has_fast_paths


def at_least_one(x, axis=0):
    """Returns `x`, or one slice of zeros if it has no slices along `axis`.

    Not every operation accepts empty tensors.
    """
    size = ops.shape(x)[axis]
    if isinstance(size, int):
        missing = int(size == 0)
        if not missing:
            return x
    else:
        missing = ops.cast(ops.equal(size, 0), "int32")
    widths = [(0, missing if i == axis else 0) for i in range(len(x.shape))]
    return ops.pad(x, widths)


def take_rows(x, rows):
    """Gathers `rows`, non-negative indices, of `x` (n, dim): (*rows, dim)."""
    if not fast_paths_enabled():
        return ops.take(x, rows, axis=0)
    import tensorflow as tf

    # `ops.take` would first check for negative indices.
    return tf.gather(x, rows)


def map_distinct_rows(function, rows):
    """Applies `function` to each distinct row once.

    Args:
        function: From `(n, ...)` to `(n, dim)`, each row independently. It is
            never called with empty tensors.
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
    """Applies `function` to groups of rows of similar length.

    A row's length does not include its constant end.

    Args:
        function: From `(n, width)` to `(n, dim)`, each row independently. It is
            never called with empty tensors.
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
        # One graph for all groups, and one for its gradient. If inlined, each
        # group would have a copy, which TensorFlow takes seconds to optimize.
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
    """The number of columns before the constant end of all rows.

    Args:
        rows: Integer tensor `(n, width)`.

    Returns:
        Integer or scalar tensor, at most `width`. On other backends, where
        shapes must be known, always `width`.
    """
    if not fast_paths_enabled():
        return rows.shape[1]
    import tensorflow as tf

    # The maximum over no rows is negative.
    return tf.maximum(tf.reduce_max(_varying_lengths(rows)), 0)


def _varying_lengths(rows):
    """Length of each row without its constant end."""
    import tensorflow as tf

    changes = rows != rows[:, -1:]  # (n, width)
    place = tf.range(1, rows.shape[1] + 1)
    return tf.reduce_max(tf.where(changes, place, 0), axis=1)  # (n,)


def scan_time(step, state, inputs, emitted, prepare):
    """Runs `step` along the first axis of `inputs`.

    Args:
        step: From a list of states and a list of one step's prepared inputs to
            the list of the next states.
        state: List of tensors, the initial states.
        inputs: List of tensors `(time, batch, dim_i)`.
        emitted: Indices of the states to return for every step.
        prepare: From a list like `inputs`, with any number of steps, to the
            list of prepared inputs, all of the same dtype. It does the
            computation that can be done for many steps at once.

    Returns:
        The list of the emitted states, each `(time, ...)`, and the list of the
        last states.
    """
    if fast_paths_enabled():
        return _scan_time_in_tensorflow(step, state, inputs, emitted, prepare)
    if backend().unrolls_loops:
        return _scan_time_in_python(step, state, prepare(inputs), emitted)
    # With several inputs, `ops.scan` needs a static time axis.
    inputs = prepare(inputs)
    packed = ops.concatenate(inputs, axis=-1)
    ends = list(itertools.accumulate(x.shape[-1] for x in inputs))

    def packed_step(state, packed):
        state = step(state, ops.split(packed, ends[:-1], axis=-1))
        return state, state

    last, states = ops.scan(packed_step, state, packed)
    return [states[i] for i in emitted], last


def _scan_time_in_python(step, state, inputs, emitted):
    # Like `ops.scan` on PyTorch, without its packing of inputs and states.
    steps = []
    for prepared in zip(*(ops.unstack(x) for x in inputs)):
        state = step(state, list(prepared))
        steps.append([state[i] for i in emitted])
    return [ops.stack(states) for states in zip(*steps)], state


def _scan_time_in_tensorflow(step, state, inputs, emitted, prepare):
    import tensorflow as tf

    time, batch = tf.unstack(tf.shape(inputs[0])[:2])
    # Prepared inputs are large, so they are computed for some steps at a time.
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
