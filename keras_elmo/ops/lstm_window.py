"""An LSTM over a window, with a custom gradient. TensorFlow only.

By default, TensorFlow stores every value of every step for the gradient, and
accumulates the weights' gradients step by step. Here the pointwise part of a
step is compiled and is recomputed in the gradient, and the gradient of a weight
is a single matrix multiply over all steps.

Without it, a training step took 1.04 to 1.9 times as long (TensorFlow 2.21, two
cores of an Intel Xeon, models of several sizes, November 2026).
"""

import functools

import tensorflow as tf


def run_windows(gates, clips, projected, state, weights):
    """Runs the LSTMs of both directions over a window.

    Args:
        gates: Function of the gates, the cell state and `cell_clip`: see
            `LSTMWindow`.
        clips: Pair of `cell_clip` and `proj_clip`.
        projected: Two tensors `(time, batch, 4 * units)`, the inputs'
            contributions to the gates.
        state: List of tensors, h and c of each direction.
        weights: Two objects with a `recurrent_kernel` and a
            `projection_kernel`.

    Returns:
        The two tensors of outputs, and the list of the last states.
    """
    outputs, last_state = [], []
    lstm = LSTMWindow(gates, *clips)
    for x, h, c, w in zip(projected, state[::2], state[1::2], weights):
        hidden, c = lstm(x, h, c, w.recurrent_kernel, w.projection_kernel)
        outputs.append(hidden)
        last_state += [hidden[-1], c]
    return outputs, last_state


@functools.cache  # Compiled once for all cells with the same clips.
class LSTMWindow:
    """Runs a projected LSTM over time, in training.

    The results equal those of single steps up to rounding.

    Args:
        gates: Function from the gates before their activations
            `(batch, 4 * units)`, the cell state `(batch, units)` and
            `cell_clip` to the unprojected output and the next cell state.
        cell_clip: Float or `None`.
        proj_clip: Float, maximum absolute value of the projected output, or
            `None`.
    """

    def __init__(self, gates, cell_clip, proj_clip):
        self._limit = float("inf") if proj_clip is None else proj_clip
        self._gates, self._gates_gradient = _compiled(gates, cell_clip)

    def __call__(self, projected, h, c, recurrent_kernel, projection_kernel):
        """Runs all steps.

        Args:
            projected: Tensor `(time, batch, 4 * units)`, the inputs'
                contribution to the gates.
            h: Tensor `(batch, projection)`, the output before the first step.
            c: Tensor `(batch, units)`, the cell state before it.
            recurrent_kernel: Tensor `(projection, 4 * units)`.
            projection_kernel: Tensor `(units, projection)`, or `None`.

        Returns:
            The outputs `(time, batch, projection)` and the last cell state.
        """
        kernels = [recurrent_kernel, projection_kernel]
        # As tensors: for variables, the tape would expect their gradients.
        kernels = [tf.convert_to_tensor(k) for k in kernels if k is not None]

        @tf.custom_gradient
        def lstm(projected, h, c, *kernels):
            outputs, last, kept = self._forward(projected, h, c, kernels)

            def gradient(d_outputs, d_last):
                return self._backward(
                    d_outputs, d_last, outputs, h, kept, kernels
                )

            return (outputs, last), gradient

        return lstm(projected, h, c, *kernels)

    def _forward(self, projected, h, c, kernels):
        time = tf.shape(projected)[0]
        kernels = [tf.cast(kernel, projected.dtype) for kernel in kernels]
        writes = [_array_for(time, x) for x in (h, projected[0], c)]

        def step(t, h, c, writes):
            x = tf.matmul(h, kernels[0])
            sums, h, new_c = self._gates(projected[t], x, c)
            if len(kernels) > 1:
                h = tf.matmul(h, kernels[1])
                h = tf.clip_by_value(h, -self._limit, self._limit)
            new = (h, sums, c)
            writes = [w.write(t, x) for w, x in zip(writes, new)]
            return t + 1, h, new_c, writes

        _, _, c, (outputs, *kept) = tf.while_loop(
            lambda t, *_: t < time, step, (0, h, c, writes)
        )
        return outputs.stack(), c, kept

    def _backward(self, d_outputs, d_c, outputs, first, kept, kernels):
        time = tf.shape(outputs)[0]
        dtype = outputs.dtype
        recurrent, *projection = [tf.cast(kernel, dtype) for kernel in kernels]
        # Multiplying by it is faster in this layout.
        recurrent = tf.transpose(recurrent)
        writes = [
            tf.TensorArray(dtype, time, element_shape=(None, width))
            for width in (4 * d_c.shape[-1], outputs.shape[-1], d_c.shape[-1])
        ]

        def step(t, d_h, d_c, writes):
            sums, c = [x.read(t) for x in kept]
            d_raw = d_h + d_outputs[t]
            d_m = d_raw
            if projection:
                is_within = tf.abs(outputs[t]) < self._limit
                d_raw = tf.where(is_within, d_raw, tf.zeros_like(d_raw))
                d_m = tf.matmul(d_raw, projection[0], transpose_b=True)
            m, d_sums, d_c = self._gates_gradient(sums, c, d_m, d_c)
            new = (d_sums, d_raw, m)
            writes = [w.write(t, x) for w, x in zip(writes, new)]
            return t - 1, tf.matmul(d_sums, recurrent), d_c, writes

        start = (time - 1, tf.zeros_like(first), d_c, writes)
        _, d_h, d_c, writes = tf.while_loop(lambda t, *_: t >= 0, step, start)
        d_sums = writes[0].stack()
        before = tf.concat([first[None], outputs[:-1]], axis=0)
        d_kernels = [_product_over_steps(before, d_sums, kernels[0])]
        if projection:
            d_raws, ms = [w.stack() for w in writes[1:]]
            d_kernels.append(_product_over_steps(ms, d_raws, kernels[1]))
        return d_sums, d_h, d_c, *d_kernels


def _compiled(gates, cell_clip):
    """Returns `gates` of the sum of two tensors, and their gradient."""

    def apply_gates(sums, c):
        # In the dtype of the cell state; the casts are compiled with the rest.
        m, new_c = gates(tf.cast(sums, c.dtype), c, cell_clip)
        return tf.cast(m, sums.dtype), new_c

    def forward(x, y, c):
        sums = x + y
        return sums, *apply_gates(sums, c)

    def gradient(sums, c, d_m, d_c):
        with tf.GradientTape() as tape:
            tape.watch([sums, c])
            m, new_c = apply_gates(sums, c)
        d_sums, d_c = tape.gradient([m, new_c], [sums, c], [d_m, d_c])
        return m, d_sums, d_c

    return [
        tf.function(function, jit_compile=True, autograph=False)
        for function in (forward, gradient)
    ]


def _product_over_steps(x, y, kernel):
    """Weight gradient `(m, n)` from `(time, batch, m)`, `(time, batch, n)`."""
    x, y = (tf.reshape(z, (-1, z.shape[-1])) for z in (x, y))
    return tf.cast(tf.matmul(x, y, transpose_a=True), kernel.dtype)


def _array_for(time, like):
    return tf.TensorArray(
        like.dtype, time, clear_after_read=False, element_shape=like.shape
    )
