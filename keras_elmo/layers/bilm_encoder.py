from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import checked_limit
from keras_elmo.layers.base_layers import FreezableLayer
from keras_elmo.layers.projected_lstm_cell import ProjectedLSTMCell
from keras_elmo.layers.projected_lstm_cell import lstm_window
from keras_elmo.layers.projected_lstm_cell import project_inputs
from keras_elmo.layers.projected_lstm_cell import read_cell_weights
from keras_elmo.layers.projected_lstm_cell import step_cell
from keras_elmo.ops.backends import at_least_one
from keras_elmo.ops.backends import backend
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.inputs import as_mask
from keras_elmo.ops.layout import lay_out
from keras_elmo.ops.layout import outputs_at
from keras_elmo.ops.layout import reverse_slots
from keras_elmo.ops.layout import rows_at
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import refuse_onnx_export

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_elmo")
class BiLMEncoder(FreezableLayer):
    """The stacked LSTMs of a bidirectional language model (biLM).

    Two independent stacks of projected LSTMs read each sentence, one forwards
    and one backwards:

    ```
    h_1 = LSTM_1(x)
    h_k = LSTM_k(h_{k-1}) + h_{k-1}     k = 2..num_layers, with skip connections
    layer k = concatenate(forward h_k, backward h_k)
    ```

    The recurrent state is the LSTM's output before the addition.

    Args:
        units: Integer, size of the LSTMs' cell state.
        projection_dim: Integer, size of one direction's output, or `None` for
            LSTMs without projection.
        num_layers: Integer, number of layers in each direction.
        cell_clip: Float, the cell state is clipped to this absolute value;
            `None` for no clipping.
        proj_clip: Float, the projected output is clipped to this absolute
            value; `None` for no clipping.
        use_skip_connections: Boolean, whether to add each layer's input to its
            output, from the second layer on.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, time, features)`. `features` may differ
            from `projection_dim`, even with skip connections.
        initial_state: List of tensors, in the format that `return_state`
            returns. Defaults to zeros.
        mask: Boolean tensor of shape `(batch, time)`, `False` at padding.
        training: Boolean, whether gradients will be computed. It does not
            change the outputs.
        return_state: Boolean, whether to return the last states in addition to
            the outputs.

    Returns:
        A list of `num_layers` tensors of shape
        `(batch, time, 2 * projection_dim)`, forward half first. With
        `return_state`, a pair of this list and the list of the states after
        each sentence's last token: `[forward h, forward c, backward h, backward
        c]` for each layer in turn, with `h` of shape `(batch, projection_dim)`
        and `c` of shape `(batch, units)`. `c` is float32 even in half
        precision.

    Masking:
        The backward stack starts at each sentence's own last token. Padding is
        skipped wherever it is (right, left or between tokens): the outputs are
        the same as for the tokens alone. Outputs are zero at padding, and each
        of them carries the mask.

    Raises:
        ValueError: If the input is not of rank 3, or `initial_state` has the
            wrong number of tensors.

    Example:

    >>> encoder = BiLMEncoder(units=32, projection_dim=8, num_layers=2)
    >>> first, second = encoder(np.zeros((2, 5, 8), "float32"))
    >>> tuple(second.shape)
    (2, 5, 16)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        units: int = 4096,
        projection_dim: int | None = 512,
        num_layers: int = 2,
        cell_clip: float | None = 3.0,
        proj_clip: float | None = 3.0,
        use_skip_connections: bool = True,
        **kwargs: Any,
    ) -> None:
        # No autocast: the cell states are float32 even in half precision.
        super().__init__(autocast=False, **kwargs)
        check_integer("num_layers", num_layers, 1)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = checked_limit("cell_clip", cell_clip)
        self.proj_clip = checked_limit("proj_clip", proj_clip)
        self.use_skip_connections = use_skip_connections
        self.supports_masking = True
        self.supports_jit = backend().supports_jit
        self.forward_cells, self.backward_cells = (
            [
                ProjectedLSTMCell(
                    units,
                    projection_dim,
                    cell_clip,
                    proj_clip,
                    dtype=self.dtype_policy,
                    name=f"{direction}_{layer}",
                )
                for layer in range(num_layers)
            ]
            for direction in DIRECTIONS
        )
        self._run = Compiled(self._run_steps, self)
        self._pass_on_trainable()

    @property
    def output_dim(self):
        """Size of one direction's output."""
        return self.forward_cells[0].output_size

    def build(self, input_shape):
        if len(input_shape) != 3:
            raise ValueError(
                f"Layer '{self.name}' takes inputs of shape (batch, time, "
                f"features). Received: shape={tuple(input_shape)}"
            )
        for cells in (self.forward_cells, self.backward_cells):
            features = input_shape[-1]
            for cell in cells:
                cell.build((None, features))
                features = cell.output_size
        self.input_spec = keras.InputSpec(ndim=3, axes={-1: input_shape[-1]})

    def call(
        self,
        inputs,
        initial_state=None,
        mask=None,
        training=None,
        return_state=False,
    ):
        if mask is None:
            mask = get_mask(inputs)
        batch, time = ops.shape(inputs)[:2]
        if mask is None:
            mask = ops.ones((batch, time), dtype="bool")
        mask = as_mask(mask, inputs.shape[:2], self.name)  # (batch, time)
        inputs = at_least_one(inputs, axis=1)
        rows = ops.reshape(inputs, (-1, inputs.shape[-1]))
        outputs, state = encode_rows(
            self,
            at_least_one(rows),
            lay_out(at_least_one(mask, axis=1)),
            initial_state,
            returns_state=return_state,
            training=training,
        )
        outputs = [x[:, :time] for x in outputs]
        return (outputs, state) if return_state else outputs

    def _run_steps(
        self, rows, layout, state, returns_state, omits_ends, training
    ):
        # Here, as eager calls of TensorFlow and JAX only come here to compile.
        refuse_onnx_export(self)
        batch, num_steps = ops.shape(layout.rows)
        if state is None:
            state = self.get_initial_state(batch)
        if omits_ends:
            num_steps = num_steps - 1
        step = ops.arange(num_steps, dtype="int32")  # (steps,)
        # Each direction reads its rows in order; its output for a token is then
        # at the token's slot.
        length, slots = layout.length, layout.output_slots
        read = (
            layout.rows[:, :num_steps],
            rows_at(layout.rows, reverse_slots(step[None], length)),
        )  # each (batch, steps)
        slots = (slots, reverse_slots(slots, length))
        if omits_ends:
            slots = [ops.minimum(slot, num_steps - 1) for slot in slots]
        is_real = None
        if returns_state:
            is_real = step[:, None, None] < length[None]  # (steps, batch, 1)

        layers, state = run_directions(
            self,
            [ops.take(rows, ops.transpose(r), axis=0) for r in read],
            state,
            is_real=is_real,
            training=training,
        )
        outputs = []
        for both in layers:
            halves = [
                outputs_at(h, slot, layout.output_mask)
                for h, slot in zip(both, slots)
            ]
            outputs.append(ops.concatenate(halves, axis=-1))
        return outputs, state

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Returns the list of zero states at the start of a sentence."""
        cell = self.forward_cells[0]  # All have states of the same sizes.
        number = 2 * self.num_layers
        return number * cell.get_initial_state(batch_size)

    def compute_mask(self, inputs, mask=None):
        if mask is not None:
            mask = as_mask(mask, inputs.shape[:2], self.name)
        return [mask] * self.num_layers

    def compute_output_shape(self, input_shape):
        return [(*input_shape[:-1], 2 * self.output_dim)] * self.num_layers

    def compute_output_spec(
        self,
        inputs,
        initial_state=None,
        mask=None,
        training=None,
        return_state=False,
    ):
        if initial_state is not None:
            check_state(self, initial_state)
        outputs = [
            keras.KerasTensor(shape, dtype=self.compute_dtype)
            for shape in self.compute_output_shape(inputs.shape)
        ]
        if not return_state:
            return outputs
        return outputs, state_spec(self, inputs.shape[0])

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "num_layers": self.num_layers,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "use_skip_connections": self.use_skip_connections,
        }


def encode_rows(
    encoder,
    rows,
    layout,
    state=None,
    returns_state=False,
    omits_ends=False,
    training=None,
):
    """Encodes the sentences of a batch, given all tokens as one matrix.

    Args:
        encoder: A `BiLMEncoder`.
        rows: Tensor `(rows, features)`, at least one row.
        layout: The `Layout` of the batch.
        state: List of tensors, as for a call, or `None` for zeros.
        returns_state: Boolean, whether the last states are used.
        omits_ends: Boolean. If `True`, each stack skips its last step where
            possible: the forward output at a sentence's last token, and the
            backward output at its first, are then undefined. Use it where
            these tokens are sentence boundaries whose outputs are
            discarded; a sentence then has at least two.
        training: Boolean, whether gradients will be computed.

    Returns:
        The list of the layers' outputs `(batch, output time, 2 *
        projection_dim)`, zero at padding, and the list of the last states.
    """
    if state is not None:
        check_state(encoder, state)
        spec = state_spec(encoder, None)
        state = [ops.cast(s, x.dtype) for s, x in zip(state, spec)]
    return encoder._run(
        ops.cast(rows, encoder.compute_dtype),
        layout,
        state,
        returns_state=returns_state,
        omits_ends=omits_ends and not returns_state,
        training=bool(training and encoder.trainable_variables),
    )


def check_state(encoder, state):
    """Raises `ValueError` unless a state has the encoder's shapes."""
    spec = state_spec(encoder, None)
    if len(state) != len(spec):
        raise ValueError(
            f"`initial_state` must have {len(spec)} tensors, h and c of "
            f"both directions for each layer. Received: {len(state)}"
        )
    for i, (tensor, x) in enumerate(zip(state, spec)):
        if tuple(tensor.shape[1:]) != x.shape[1:]:
            raise ValueError(
                f"Tensor {i} of `initial_state` must have the shape "
                f"(batch, {x.shape[1]}). "
                f"Received: shape={tuple(tensor.shape)}"
            )


def state_spec(encoder, batch):
    """Returns the list of an encoder's symbolic states."""
    cell = encoder.forward_cells[0]
    pairs = [*zip(cell.state_size, cell.state_dtypes)]
    return [
        keras.KerasTensor((batch, size), dtype)
        for size, dtype in 2 * encoder.num_layers * pairs
    ]


def run_directions(
    encoder,
    inputs,
    state,
    carries_on=None,
    is_real=None,
    drop=None,
    training=False,
):
    """Runs the two stacks, each on its own tokens.

    Args:
        encoder: A `BiLMEncoder`.
        inputs: Two tensors `(steps, batch, features)`, the tokens of the
            forward and of the backward stack, each in reading order.
        state: List of tensors, as `get_initial_state` returns it.
        carries_on: Boolean tensor `(steps, batch, 1)`; where it is `False`,
            the step starts from a zero state, as at the start of a
            sentence. `None` means `True` everywhere.
        is_real: Boolean tensor `(steps, batch, 1)`; where it is `False`,
            the step leaves the state unchanged. `None` if the state there
            does not matter.
        drop: Function that applies dropout to a layer's input tensor in
            training. The skip connection adds the input after dropout.
        training: Boolean, whether gradients will be computed. It does not
            change the outputs, only what TensorFlow stores for the
            gradients.

    Returns:
        The list of the two stacks' outputs `(steps, batch, projection_dim)`
        for each layer, and the list of the last states.
    """
    layers, last_state = [], []
    both = inputs
    for layer in range(encoder.num_layers):
        cells = (encoder.forward_cells[layer], encoder.backward_cells[layer])
        if drop is not None:
            both = [drop(x) for x in both]
        hidden, last = scan_both_directions(
            cells,
            both,
            state[4 * layer : 4 * layer + 4],
            carries_on,
            is_real,
            training,
        )
        if encoder.use_skip_connections and layer > 0:
            hidden = [h + x for h, x in zip(hidden, both)]
        both = hidden  # each (steps, batch, projection)
        layers.append(both)
        last_state.extend(last)
    return layers, last_state


def scan_both_directions(
    cells, inputs, state, carries_on=None, is_real=None, training=False
):
    """Runs a layer's two cells over time, side by side.

    Args:
        cells: The forward and the backward `ProjectedLSTMCell`.
        inputs: As for `run_directions`.
        state: List `[forward h, forward c, backward h, backward c]`.
        carries_on: As for `run_directions`.
        is_real: As for `run_directions`.
        training: As for `run_directions`.

    Returns:
        The outputs, two tensors `(steps, batch, projection)`, and the last
        state.
    """
    flags = [flag for flag in (carries_on, is_real) if flag is not None]
    weights = [read_cell_weights(cell) for cell in cells]
    if training and not flags and backend().makes_graphs:
        return _scan_in_training(cells, inputs, state, weights)

    def prepare(inputs):
        # The inputs' contribution to the gates needs no loop: one matrix
        # multiply for many steps.
        projected = [project_inputs(x, w) for x, w in zip(inputs, weights)]
        dtype = projected[0].dtype
        return projected + [ops.cast(flag, dtype) for flag in inputs[2:]]

    def step(state, prepared):
        projected, flags = prepared[:2], prepared[2:]
        if carries_on is not None:
            state = [s * ops.cast(flags[0], s.dtype) for s in state]
        new = [
            tensor
            for d, cell in enumerate(cells)
            for tensor in step_cell(
                cell, projected[d], state[2 * d : 2 * d + 2], weights[d]
            )
        ]
        if is_real is not None:
            real = ops.cast(flags[-1], "bool")
            new = [ops.where(real, n, s) for n, s in zip(new, state)]
        return new

    return backend().scan_time(step, state, [*inputs, *flags], (0, 2), prepare)


def _scan_in_training(cells, inputs, state, weights):
    """Runs all steps of a window in training. TensorFlow only."""
    outputs, last_state = [], []
    for d, (cell, x, w) in enumerate(zip(cells, inputs, weights)):
        hidden, c = lstm_window(cell.cell_clip, cell.proj_clip)(
            project_inputs(x, w),
            *state[2 * d : 2 * d + 2],
            w.recurrent_kernel,
            w.projection_kernel,
        )
        outputs.append(hidden)
        last_state += [hidden[-1], c]
    return outputs, last_state
