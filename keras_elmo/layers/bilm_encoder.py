from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import checked_limit
from keras_elmo.layers.base_layers import FreezableLayer
from keras_elmo.layers.projected_lstm_cell import ProjectedLSTMCell
from keras_elmo.layers.projected_lstm_cell import lstm_gates
from keras_elmo.layers.projected_lstm_cell import project_inputs
from keras_elmo.layers.projected_lstm_cell import read_cell_weights
from keras_elmo.layers.projected_lstm_cell import step_cell
from keras_elmo.ops.backends import at_least_one
from keras_elmo.ops.backends import backend
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.inputs import as_mask
from keras_elmo.ops.inputs import shapes_agree
from keras_elmo.ops.padding import output_mask
from keras_elmo.ops.padding import reading_order
from keras_elmo.ops.padding import reading_steps
from keras_elmo.ops.padding import vectors_at
from keras_elmo.ops.padding import without_ends
from keras_elmo.ops.private_keras import get_mask


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
        projection_dim: Integer, size of one direction's output. `None` or
            `units` for LSTMs without projection, which do not use `proj_clip`.
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
        mask: Boolean tensor of shape `(batch, time)`, `False` at padding.
        training: Boolean, whether gradients will be computed. It does not
            change the outputs.
        initial_state: List of tensors, in the format that `return_state`
            returns. Defaults to zeros.
        return_state: Boolean, whether to return the last states in addition to
            the outputs.
        return_ends: Boolean. If `False`, the outputs at the first and at the
            last position are zero, which saves a step: no other output needs
            the forward LSTMs at the last token, or the backward LSTMs at the
            first. `ElmoLayer` uses it where it drops `<S>` and `</S>`.

    Returns:
        A list of `num_layers` tensors of shape
        `(batch, time, 2 * projection_dim)`, forward half first. With
        `return_state`, a tuple of this list and the states after each
        sentence's last token, as in `outputs, *states = encoder(x,
        return_state=True)`: forward `h`, forward `c`, backward `h` and backward
        `c` for each layer in turn, with `h` of shape `(batch, projection_dim)`
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
        *,
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
        self.input_spec = keras.InputSpec(ndim=3)
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
            for direction in ("forward", "backward")
        )
        self._compiled = Compiled(self._encode, self)
        self._pass_on_trainable()

    @property
    def direction_dim(self):
        """Size of one direction's output."""
        return self.forward_cells[0].output_size

    def build(self, input_shape):
        for cells in (self.forward_cells, self.backward_cells):
            features = input_shape[-1]
            for cell in cells:
                cell.build((None, features))
                features = cell.output_size
        self.input_spec = keras.InputSpec(ndim=3, axes={-1: input_shape[-1]})

    def call(
        self,
        inputs,
        *,
        mask=None,
        training=None,
        initial_state=None,
        return_state=False,
        return_ends=True,
    ):
        mask = get_mask(inputs) if mask is None else mask
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], dtype="bool")
        if initial_state is not None:
            initial_state = check_state(self, initial_state, inputs.shape[0])
        outputs, state = self._compiled(
            ops.cast(inputs, self.compute_dtype),
            as_mask(mask, inputs.shape[:2], self.name),
            initial_state,
            training=bool(training and self.trainable_variables),
            return_state=return_state,
            return_ends=return_ends,
        )
        return (outputs, *state) if return_state else outputs

    def _encode(self, x, mask, state, training, return_state, return_ends):
        batch, time = ops.shape(mask)
        x, mask = at_least_one(x, axis=1), at_least_one(mask, axis=1)
        if state is None:
            state = self.get_initial_state(batch)
        sentences = ops.arange(batch, dtype="int32")
        backwards = (False, True)
        # The position that each direction reads at each step: (steps, batch).
        orders = [ops.transpose(reading_order(mask, b)) for b in backwards]
        # The step at which it reads each position: (batch, time).
        steps = [reading_steps(mask, b) for b in backwards]
        is_real = None
        if return_state:  # (steps, batch, 1): the padding is read last.
            is_real = ops.transpose(output_mask(mask, False, True))[..., None]
        elif not return_ends:  # Nothing of the last step is returned.
            orders = [ops.concatenate([o[:1], o[1:-1]]) for o in orders]
        if not return_ends:
            mask = without_ends(mask)
        # (steps, batch, features)
        tokens = [vectors_at(x, sentences, order) for order in orders]
        layers, state = run_directions(
            self, tokens, state, is_real=is_real, training=training
        )
        steps = [ops.where(mask, step, 0) for step in steps]
        outputs = []
        for both in layers:
            halves = [
                vectors_at(h, step, sentences[:, None])
                for h, step in zip(both, steps)
            ]
            y = ops.concatenate(halves, axis=-1)
            outputs.append(ops.where(mask[..., None], y, 0)[:, :time])
        return outputs, state

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Returns the list of zero states at the start of a sentence."""
        cell = self.forward_cells[0]  # All have states of the same sizes.
        return 2 * self.num_layers * cell.get_initial_state(batch_size)

    def compute_mask(self, inputs, mask=None):
        if mask is not None:
            mask = as_mask(mask, inputs.shape[:2], self.name)
        return [mask] * self.num_layers

    def compute_output_shape(self, input_shape):
        return [(*input_shape[:-1], 2 * self.direction_dim)] * self.num_layers

    def compute_output_spec(
        self, inputs, initial_state=None, return_state=False, **others
    ):
        if initial_state is not None:
            check_state(self, initial_state, inputs.shape[0])
        outputs = super().compute_output_spec(inputs)
        if not return_state:
            return outputs
        return outputs, *state_spec(self, inputs.shape[0])

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


def check_state(encoder, state, batch=None):
    """Returns a state in the encoder's dtypes.

    Args:
        encoder: The `BiLMEncoder`.
        state: List of tensors.
        batch: The number of sentences, if it is known, or else anything.

    Raises:
        ValueError: If it has other shapes.
    """
    spec = state_spec(encoder, batch if isinstance(batch, int) else None)
    shapes = [tuple(tensor.shape) for tensor in state]
    expected = [x.shape for x in spec]
    if len(shapes) != len(spec) or not all(map(shapes_agree, shapes, expected)):
        raise ValueError(
            f"`initial_state` must have {len(spec)} tensors, h and c of both "
            f"directions for each layer, of shapes {expected}. "
            f"Received: {len(state)} tensors of shapes {shapes}"
        )
    return [ops.cast(tensor, x.dtype) for tensor, x in zip(state, spec)]


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
    pairs = zip(encoder.forward_cells, encoder.backward_cells)
    for k, cells in enumerate(pairs):
        if drop is not None:
            both = [drop(x) for x in both]
        hidden, last = run_cells(
            cells, both, state[4 * k : 4 * k + 4], carries_on, is_real, training
        )
        if encoder.use_skip_connections and k > 0:
            hidden = [h + x for h, x in zip(hidden, both)]
        both = hidden  # each (steps, batch, projection)
        layers.append(both)
        last_state.extend(last)
    return layers, last_state


def run_cells(cells, inputs, state, carries_on, is_real, training):
    """Runs the two cells of a layer over time; arguments as above.

    Args:
        cells: The forward and the backward `ProjectedLSTMCell`.
        inputs: Two tensors `(steps, batch, features)`.
        state: List `[forward h, forward c, backward h, backward c]`.

    Returns:
        The outputs, two tensors `(steps, batch, projection)`, and the last
        state.
    """
    weights = [read_cell_weights(cell) for cell in cells]
    flags = [flag for flag in (carries_on, is_real) if flag is not None]
    flags = [ops.cast(flag, cells[0].compute_dtype) for flag in flags]
    if training and not flags and backend().makes_graphs:
        from keras_elmo.ops.lstm_window import run_windows

        projected = [project_inputs(x, w) for x, w in zip(inputs, weights)]
        clips = cells[0].cell_clip, cells[0].proj_clip
        return run_windows(lstm_gates, clips, projected, state, weights)

    def prepare(inputs):
        # The inputs' contribution to the gates needs no loop: one matrix
        # multiply for many steps.
        projected = [project_inputs(x, w) for x, w in zip(inputs, weights)]
        return projected + inputs[2:]

    def step(state, prepared):
        projected, flags = prepared[:2], prepared[2:]
        if carries_on is not None:
            state = [s * ops.cast(flags[0], s.dtype) for s in state]
        pairs = zip(cells, projected, (state[:2], state[2:]), weights)
        forward, backward = [step_cell(*pair) for pair in pairs]
        new = forward + backward
        if is_real is not None:
            new = [ops.where(flags[-1] > 0, n, s) for n, s in zip(new, state)]
        return new

    return backend().scan(step, state, [*inputs, *flags], (0, 2), prepare)
