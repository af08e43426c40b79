from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import checked_limit
from keras_elmo.layers.base_layers import BaseLayer
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.ops.backends import wide_dtype


class LSTMWeights(NamedTuple):
    """The weight tensors used by each step."""

    kernel: Any
    """(features, 4 * units)"""
    bias: Any
    """(4 * units,), including the +1 of the forget gate"""
    recurrent_kernel: Any
    """(projection_dim, 4 * units)"""
    projection_kernel: Any = None
    """(units, projection_dim), or `None` without projection"""


@keras.saving.register_keras_serializable(package="keras_elmo")
class ProjectedLSTMCell(BaseLayer):
    """One step of an LSTM whose output is projected to a smaller size.

    ```
    i, j, f, o = split(x @ kernel + h @ recurrent_kernel + bias)
    c' = clip(sigmoid(f + 1) * c + sigmoid(i) * tanh(j), cell_clip)
    h' = clip((sigmoid(o) * tanh(c')) @ projection_kernel, proj_clip)
    ```

    The projected `h'` is both the output and the recurrent state. If
    `projection_dim` is `None` or equals `units`, there is no projection and
    `proj_clip` is not used.

    Use it as a cell of `keras.layers.RNN`; `BiLMEncoder` uses such cells too.

    Args:
        units: Integer, size of the cell state.
        projection_dim: Integer, size of the output, or `None`.
        cell_clip: Float, the cell state is clipped to this absolute value;
            `None` for no clipping.
        proj_clip: Float, the projected output is clipped to this absolute
            value; `None` for no clipping.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, features)`.
        states: List of `h`, of shape `(batch, projection_dim)`, and `c`, of
            shape `(batch, units)`.

    Returns:
        The output, of shape `(batch, projection_dim)`, and the list of the new
        `h` and `c`.

    Masking:
        A cell processes one step; the layer that runs it applies masks.

    Example:

    >>> cell = ProjectedLSTMCell(32, projection_dim=8)
    >>> rnn = keras.layers.RNN(cell, return_sequences=True)
    >>> tuple(rnn(np.zeros((2, 5, 4), "float32")).shape)
    (2, 5, 8)

    Reference:

    - [Sak et al., 2014](https://arxiv.org/abs/1402.1128)
    """

    def __init__(
        self,
        units: int,
        projection_dim: int | None = None,
        cell_clip: float | None = None,
        proj_clip: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_integer("units", units, 1)
        check_integer("projection_dim", projection_dim, 1, optional=True)
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = checked_limit("cell_clip", cell_clip)
        self.proj_clip = checked_limit("proj_clip", proj_clip)
        self.has_projection = projection_dim not in (None, units)
        self.output_size = projection_dim if self.has_projection else units
        self.state_size = [self.output_size, units]  # The sizes of h and c.

    @property
    def state_dtypes(self):
        """List of the dtypes of `h` and `c`.

        `c` accumulates over many steps, so `BiLMEncoder` keeps it in float32
        even in half precision. `keras.layers.RNN` casts it.
        """
        return [self.compute_dtype, wide_dtype(self.compute_dtype)]

    def build(self, input_shape):
        # The order of the gates is input, new input, forget, output, as in
        # TensorFlow's own cells and in biLM weight files (Keras' LSTM has
        # input, forget, new input, output).
        gates = 4 * self.units
        features = input_shape[-1]
        # Glorot uniform for both kernels as one, as in TensorFlow's own cells.
        # With much larger values, a stack that starts from zero can settle into
        # a second, worse state.
        limit = (6 / (features + self.output_size + gates)) ** 0.5

        def uniform():
            return keras.initializers.RandomUniform(-limit, limit)

        self.kernel = new_weight(self, "kernel", (features, gates), uniform())
        self.recurrent_kernel = new_weight(
            self, "recurrent_kernel", (self.output_size, gates), uniform()
        )
        self.bias = new_weight(self, "bias", (gates,))
        # Added to the bias, of which it is not part: 1 in the forget gate.
        self.forget_bias = np.repeat(np.float32([0, 0, 1, 0]), self.units)
        if self.has_projection:
            shape = (self.units, self.projection_dim)
            self.projection_kernel = new_weight(
                self, "projection_kernel", shape, "glorot_uniform"
            )

    def call(self, inputs, states):
        weights = read_cell_weights(self)
        projected = project_inputs(inputs, weights)
        states = step_cell(self, projected, states, weights)
        return states[0], states

    def get_initial_state(self, batch_size=None):
        return [
            ops.zeros((batch_size, size), dtype=dtype)
            for size, dtype in zip(self.state_size, self.state_dtypes)
        ]

    def compute_output_shape(self, input_shape, states_shape=None):
        batch = input_shape[0]
        states = [(batch, size) for size in self.state_size]
        return states[0], states

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
        }


def read_cell_weights(cell):
    """Reads a cell's variables, once for many steps."""
    dtype = cell.compute_dtype
    # In training, the steps' gradients are summed in a kernel's own dtype,
    # so it is cast in each step; otherwise once.
    in_steps = cell.variable_dtype if cell.recurrent_kernel.trainable else dtype
    forget_bias = ops.convert_to_tensor(cell.forget_bias, dtype)
    kernels = [cell.recurrent_kernel]
    if cell.has_projection:
        kernels.append(cell.projection_kernel)
    return LSTMWeights(
        read_weight(cell.kernel, dtype),
        read_weight(cell.bias, dtype) + forget_bias,
        *[read_weight(kernel, in_steps) for kernel in kernels],
    )


def step_cell(cell, projected_inputs, states, weights):
    """Computes the next states from `states`.

    Args:
        cell: A `ProjectedLSTMCell`.
        projected_inputs: Tensor `(batch, 4 * units)`, `project_inputs` of
            the step's input.
        states: List of `h` and `c`.
        weights: The result of `read_cell_weights`.

    Returns:
        The list of the new `h` and `c`.
    """
    h, c = states
    recurrent_kernel = ops.cast(weights.recurrent_kernel, cell.compute_dtype)
    gates = projected_inputs + ops.matmul(h, recurrent_kernel)
    h, c = lstm_gates(ops.cast(gates, c.dtype), c, cell.cell_clip)
    h = ops.cast(h, cell.compute_dtype)
    if cell.has_projection:
        projection_kernel = ops.cast(
            weights.projection_kernel, cell.compute_dtype
        )
        h = clip(ops.matmul(h, projection_kernel), cell.proj_clip)
    return [h, c]


def project_inputs(inputs, weights):
    """The inputs' contribution to the gates, for any number of steps at once.

    Args:
        inputs: Tensor `(..., features)`.
        weights: `LSTMWeights`.

    Returns:
        Tensor `(..., 4 * units)`.
    """
    *leading, features = ops.shape(inputs)
    # In two dimensions it is faster, but several devices could not divide the
    # batch among them.
    is_flat = keras.distribution.distribution() is None
    rows = ops.reshape(inputs, (-1, features)) if is_flat else inputs
    projected = ops.matmul(rows, weights.kernel) + weights.bias
    return ops.reshape(projected, (*leading, weights.bias.shape[0]))


def lstm_gates(gates, c, cell_clip):
    """The pointwise part of an LSTM step.

    Args:
        gates: Tensor `(batch, 4 * units)`, the gates before their activations,
            including the forget gate's +1.
        c: Tensor `(batch, units)`, the cell state.
        cell_clip: Float or `None`.

    Returns:
        The unprojected output and the new cell state, each `(batch, units)`.
    """
    i, j, f, o = ops.split(gates, 4, axis=-1)  # each (batch, units)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(j)
    c = clip(c, cell_clip)
    return ops.sigmoid(o) * ops.tanh(c), c


def clip(x, limit):
    """Clips to +-`limit`, or not at all if that is `None`."""
    return x if limit is None else ops.clip(x, -limit, limit)
