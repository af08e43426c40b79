"""What differs between Keras' backends, with one class for each of them.

Everything else is written in `keras.ops`. What `FastTensorFlow` does faster
also has a portable version with the same results, in `Backend`; TensorFlow uses
it with the environment variable `KERAS_ELMO_FAST_PATHS=0`, and where XLA
compiles the code around it.
"""

import contextlib
import itertools
import os

import keras
from keras import ops

from keras_elmo.ops.private_keras import has_started_threads
from keras_elmo.ops.private_keras import is_tracing_for_xla

# Keras has imported the one that it uses.
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
elif keras.backend.backend() == "jax":
    import jax
elif keras.backend.backend() == "torch":
    import torch

# How many tokens `scan` prepares at a time: enough for a matrix multiply
# at full speed. For the original model, 2048 tokens take 256 MB.
PREPARED_ROWS = 2048
# Of how many groups of words the gradient is computed separately.
GROUPS = 8


class Backend:
    """What holds unless a backend says otherwise."""

    name = "numpy"
    supports_jit = True
    """Whether XLA compiles the layers."""
    makes_graphs = False
    """Whether functions are compiled for all shapes of their arguments."""
    compiles_each_shape = False
    """Whether functions are compiled for each shape of their arguments."""
    has_strings = False
    """Whether tensors may hold strings, as SavedModels need them."""
    has_sparse_gradients = False
    """Whether the gradient of looked-up rows has these rows only."""
    supports_remat = False
    """Whether Keras' `RematScope` works for layers with flags."""

    def concrete_value(self, x):
        """Returns a tensor as a NumPy array, or `None` while it is traced."""
        return ops.convert_to_numpy(x)

    def require_in_graph(self, condition, message, x, rows):
        """`require` where values are unknown. Most graphs check nothing."""
        return x

    def set_threads(self, operations, within):
        """Sets on how many threads TensorFlow runs, unless it is in use.

        Args:
            operations: How many operations run at a time.
            within: On how many threads one of them runs.
        """

    def inference(self):
        """Context in which nothing is stored for gradients."""
        return contextlib.nullcontext()

    def exact_products(self):
        """Context in which products of float32 matrices are not rounded."""
        return contextlib.nullcontext()

    def any_values(self, shape, dtype):
        """Returns a tensor whose values do not matter."""
        return ops.zeros(shape, dtype)

    def rows_of(self, variable, rows):
        """Returns some rows of a `keras.Variable` that is not trained."""
        return ops.take(variable, rows, axis=0)

    def varying_batches(self, batches):
        """Returns what `fit` takes for batches of varying sizes.

        Args:
            batches: Iterator of nests of arrays, of which the first axis may
                vary.
        """
        return batches

    def distinct_rows(self, function, rows):
        """Applies `function` to each distinct row once.

        Args:
            function: From `(n, ...)` to `(n, dim)`, each row independently. It
                is never called with empty tensors.
            rows: Integer tensor `(n, width)`.

        Returns:
            `function(rows)`, a tensor `(n, dim)`.
        """
        number = ops.shape(rows)[0]
        return function(at_least_one(rows))[:number]

    def groups_by_length(self, function, rows):
        """Applies `function` to groups of rows of similar length.

        A row's length does not include its constant end.

        Args:
            function: As for `distinct_rows`.
            rows: Integer tensor `(n, width)`, with at least one row.

        Returns:
            `function(rows)`, a tensor `(n, dim)`.
        """
        return function(rows)

    def varying_length(self, rows):
        """The number of columns before the constant end of all rows.

        Args:
            rows: Integer tensor `(n, width)`.

        Returns:
            Integer or scalar tensor, at most `width`; always `width` where
            shapes must be known.
        """
        return rows.shape[1]

    def scan(self, step, state, inputs, emitted, prepare):
        """Runs `step` along the first axis of `inputs`.

        Args:
            step: From a list of states and a list of one step's prepared inputs
                to the list of the next states.
            state: List of tensors, the initial states.
            inputs: List of tensors `(time, batch, dim_i)`.
            emitted: Indices of the states to return for every step.
            prepare: From a list like `inputs`, with any number of steps, to the
                list of prepared inputs, all of the same dtype. It does the
                computation that can be done for many steps at once.

        Returns:
            The list of the emitted states, each `(time, ...)`, and the list of
            the last states.
        """
        # With several inputs, `ops.scan` needs a static time axis.
        inputs = prepare(inputs)
        packed = ops.concatenate(inputs, axis=-1)
        ends = list(itertools.accumulate(x.shape[-1] for x in inputs))

        def packed_step(state, packed):
            state = step(state, ops.split(packed, ends[:-1], axis=-1))
            return state, state

        last, states = ops.scan(packed_step, state, packed)
        return [states[i] for i in emitted], last


class TensorFlow(Backend):
    name = "tensorflow"
    # XLA cannot differentiate a loop of unknown length, and needs static sizes:
    # the number of distinct words and their longest length are not.
    supports_jit = False
    has_strings = True
    has_sparse_gradients = True

    def concrete_value(self, x):
        return None if tf.is_symbolic_tensor(x) else x.numpy()

    def require_in_graph(self, condition, message, x, rows):
        data = [message]
        if rows is not None:
            # With one more row, as there may be none, and `argmin` needs one.
            values = tf.cast(condition, "int32")
            values = tf.pad(values, [[0, 1]], "CONSTANT", 1)
            data.append(tf.pad(rows, [[0, 1], [0, 0]])[tf.argmin(values)])
        check = tf.debugging.Assert(ops.all(condition), data, summarize=100)
        with tf.control_dependencies([check]):
            return tf.identity(x)

    def set_threads(self, operations, within):
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):  # It keeps its caller's.
            tf.config.threading.set_inter_op_parallelism_threads(operations)
            tf.config.threading.set_intra_op_parallelism_threads(within)

    def exact_products(self):
        # For good, as graphs read it when they run.
        tf.config.experimental.enable_tensor_float_32_execution(False)
        return super().exact_products()

    def any_values(self, shape, dtype):
        # Memory is only used once it is written to, so this saves memory while
        # the file's values are loaded.
        try:
            return tf.raw_ops.Empty(shape=shape, dtype=dtype, init=False)
        except tf.errors.InvalidArgumentError:
            # `tf.debugging.enable_check_numerics` has found NaN in it.
            return super().any_values(shape, dtype)

    def rows_of(self, variable, rows):
        # GPUs can look up int16 in a variable, but not in a tensor.
        return tf.gather(variable.value, rows)

    def varying_batches(self, batches):
        # Keras would take the sizes for fixed that the first two batches have
        # in common.
        first = next(batches)
        specs = keras.tree.map_structure(
            lambda x: tf.TensorSpec((None, *x.shape[1:]), x.dtype), first
        )
        batches = itertools.chain([first], batches)
        dataset = tf.data.Dataset.from_generator(
            lambda: batches, output_signature=specs
        )
        return dataset.prefetch(tf.data.AUTOTUNE)


class FastTensorFlow(TensorFlow):
    makes_graphs = True

    def distinct_rows(self, function, rows):
        distinct, index = tf.raw_ops.UniqueV2(x=rows, axis=[0])
        distinct.set_shape((None, rows.shape[1]))
        distinct = at_least_one(distinct)
        return tf.gather(function(distinct), index)  # (n, dim)

    def groups_by_length(self, function, rows):
        order = tf.argsort(_varying_lengths(rows), stable=True)
        rows = tf.gather(rows, order)
        number = tf.shape(rows)[0]
        ends = [number * i // GROUPS for i in range(GROUPS + 1)]
        if not tf.executing_eagerly():
            # One graph for all groups, and one for its gradient. If inlined,
            # each group would have a copy, which TensorFlow takes seconds to
            # optimize.
            spec = tf.TensorSpec((None, rows.shape[1]), rows.dtype)
            function = tf.function(
                function,
                input_signature=[spec],
                autograph=False,
                experimental_attributes={"_noinline": True},
            )
        results = [
            function(rows[i : tf.maximum(i + 1, j)])[: j - i]
            for i, j in itertools.pairwise(ends)
        ]
        back = tf.math.invert_permutation(order)
        return tf.gather(tf.concat(results, axis=0), back)

    def varying_length(self, rows):
        # The maximum over no rows is negative.
        return tf.maximum(tf.reduce_max(_varying_lengths(rows)), 0)

    def scan(self, step, state, inputs, emitted, prepare):
        time, batch = tf.unstack(tf.shape(inputs[0])[:2])
        # Prepared inputs are large, so they are computed for some steps at a
        # time.
        chunk = tf.maximum(1, PREPARED_ROWS // tf.maximum(1, batch))
        writes = [
            tf.TensorArray(state[i].dtype, time, element_shape=state[i].shape)
            for i in emitted
        ]

        def run_chunk(start, state, writes):
            prepared = prepare([x[start : start + chunk] for x in inputs])
            reads = [
                tf.TensorArray(
                    x.dtype, 0, True, element_shape=x.shape[1:]
                ).unstack(x)
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


class Jax(Backend):
    name = "jax"
    compiles_each_shape = True

    def concrete_value(self, x):
        if isinstance(x, jax.core.Tracer):
            return None
        return super().concrete_value(x)

    def exact_products(self):
        return jax.default_matmul_precision("highest")


class Torch(Backend):
    name = "torch"
    supports_remat = True

    def concrete_value(self, x):
        return None if x.device.type == "meta" else super().concrete_value(x)

    def inference(self):
        return torch.inference_mode()

    def scan(self, step, state, inputs, emitted, prepare):
        # Like `ops.scan` on PyTorch, without its packing of inputs and states.
        steps = []
        for prepared in zip(*(ops.unstack(x) for x in prepare(inputs))):
            state = step(state, list(prepared))
            steps.append([state[i] for i in emitted])
        return [ops.stack(states) for states in zip(*steps)], state


def _varying_lengths(rows):
    """Length of each row without its constant end."""
    changes = rows != rows[:, -1:]  # (n, width)
    position = tf.range(1, rows.shape[1] + 1)
    return tf.reduce_max(tf.where(changes, position, 0), axis=1)  # (n,)


_ALL = (TensorFlow(), Jax(), Torch(), Backend())
_BACKENDS = {one.name: one for one in _ALL}
_FAST = {**_BACKENDS, "tensorflow": FastTensorFlow()}


# Whether this process is a fork of one that had used the backend.
_lost_threads = False


def backend():
    """Returns the `Backend` that Keras uses.

    Raises:
        RuntimeError: If this process is a fork of one that had used it.
    """
    name = keras.backend.backend()
    if _lost_threads:
        raise RuntimeError(
            f"This process is a fork of one that had used {name}, for whose "
            "threads it would wait forever. Start processes with "
            '`multiprocessing.get_context("spawn")`, or load and use models '
            f"and {name} only after the fork: gunicorn without --preload."
        )
    is_fast = os.environ.get("KERAS_ELMO_FAST_PATHS") != "0"
    if name == "tensorflow" and is_fast:
        is_fast = tf.executing_eagerly() or not is_tracing_for_xla()
    known = _FAST if is_fast else _BACKENDS
    return known.get(name, known["numpy"])


def _note_fork():
    global _lost_threads
    _lost_threads |= has_started_threads(keras.backend.backend())


if hasattr(os, "register_at_fork"):  # Not on Windows.
    os.register_at_fork(after_in_child=_note_fork)


def at_least_one(x, axis=0):
    """Returns `x`, or one slice of zeros if it has no slices along `axis`.

    Not every operation accepts empty tensors.
    """
    size = ops.shape(x)[axis]
    if isinstance(size, int):
        missing = int(size == 0)
        if not missing:
            return x
    elif backend().compiles_each_shape:
        return x  # `jax.export` assumes that there is at least one.
    else:
        missing = ops.cast(ops.equal(size, 0), "int32")
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = (0, missing)
    return ops.pad(x, widths)


def wide_dtype(dtype):
    """The dtype for sums: float32 for half precision, otherwise `dtype`.

    `keras.backend.result_type` with float32 narrows float64 on JAX and PyTorch.
    """
    return "float32" if dtype in ("bfloat16", "float16") else dtype
