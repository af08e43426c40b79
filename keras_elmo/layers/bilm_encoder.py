import keras
from keras import ops

from keras_elmo.layers.arguments import check_integer
from keras_elmo.layers.carried_state import CarriedState
from keras_elmo.layers.freezable_layer import FreezableLayer
from keras_elmo.layers.projected_lstm_cell import ProjectedLSTMCell
from keras_elmo.ops import sequences
from keras_elmo.ops.fast_paths import CompiledWhenEager
from keras_elmo.ops.fast_paths import scan_time
from keras_elmo.ops.masks import as_mask

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="keras_elmo")
class BiLMEncoder(FreezableLayer):
    """The two-direction LSTM stack of a bidirectional language model.

    Two stacks of projected LSTMs read each sentence, one from its start, one
    from its end, and never see each other:

    ```
    h_1 = LSTM_1(x)
    h_k = LSTM_k(h_{k-1}) + h_{k-1}     k = 2..num_layers, with skip connections
    layer k = concatenate(forward h_k, backward h_k)
    ```

    The recurrent state is the LSTM's own output, before the addition.

    Args:
        units: Integer, size of the LSTMs' cell state.
        projection_dim: Integer, size of one direction's output, or `None` for
            LSTMs without projection.
        num_layers: Integer, number of layers of each direction.
        cell_clip: Float, limit of the cell state's absolute value, or `None`.
        proj_clip: Float, limit of the projected output's, or `None`.
        use_skip_connections: Boolean, whether a layer's input is added to its
            output from the second layer on.
        return_state: Boolean, whether calls return the last states too.
        stateful: Boolean. If `True`, each call starts from the states in which
            the one before ended, until `reset_state()`. The batch size must
            then be static, as in `keras.layers.LSTM`. The states are in no
            saved file, and an exported model starts every call from zero.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, time, features)`; with skip
            connections or not, `features` may differ from `projection_dim`.
        mask: Boolean tensor of shape `(batch, time)`, `False` at padding.
        initial_state: List of tensors as `return_state` gives them. Defaults
            to zeros.
        return_state: Boolean, overrides the constructor's for this call.

    Returns:
        A list of `num_layers` tensors of shape
        `(batch, time, 2 * projection_dim)`, forward half first. With
        `return_state`, a pair of this list and the list of the states after
        each sentence's last token:
        `[forward h, forward c, backward h, backward c]` for each layer in
        turn, `h` of shape `(batch, projection_dim)`, `c` of `(batch, units)`.

    Masking:
        The backward stack starts at each sentence's own last token. Padding is
        skipped wherever it is, on the right, on the left or between tokens:
        the result is that of the tokens alone. Outputs are zero at padding and
        every one of them carries the mask.

    Raises:
        ValueError: If the input is not of rank 3, `initial_state` has another
            number of tensors, or a stateful layer meets an unknown or another
            batch size.

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
        units=4096,
        projection_dim=512,
        num_layers=2,
        cell_clip=3.0,
        proj_clip=3.0,
        use_skip_connections=True,
        return_state=False,
        stateful=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("num_layers", num_layers, 1)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.proj_clip = proj_clip
        self.use_skip_connections = use_skip_connections
        self.return_state = return_state
        self.stateful = stateful
        self.supports_masking = True
        # XLA cannot differentiate a TensorFlow loop of unknown length.
        self.supports_jit = keras.backend.backend() != "tensorflow"
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
        self._carried_state = CarriedState()
        self._encode = CompiledWhenEager(self._run_layers)
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

    def call(self, inputs, mask=None, initial_state=None, return_state=None):
        if mask is None:
            # Keras looks for it only when `inputs` is the one tensor passed.
            mask = getattr(inputs, "_keras_mask", None)
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], dtype="bool")
        mask = as_mask(mask, inputs.shape[:2], self.name)  # (batch, time)
        carried = self._carried_state.of(self, inputs.shape[0])
        if initial_state is None:
            initial_state = carried or self.get_initial_state(
                ops.shape(inputs)[0]
            )
        outputs, state = self._encode(
            inputs, mask, self._checked_state(initial_state)
        )
        if carried is not None:
            self._carried_state.assign(state)
        return (
            (outputs, state) if self._returns_state(return_state) else outputs
        )

    def _run_layers(self, x, mask, state):
        length = sequences.lengths(mask)  # (batch, 1)
        order = sequences.pack_order(mask)  # (batch, time)
        slots = sequences.pack_slots(mask)  # (batch, time)
        step = ops.arange(ops.shape(mask)[1], dtype="int32")  # (time,)
        is_real = step[:, None, None] < length[None]  # (time, batch, 1)

        # A direction reads `places` in turn; its output for a token is then at
        # the token's slot.
        backward_slots = sequences.reverse_slots(step[None], length)
        backward_order = sequences.gather_slots(
            order[..., None], backward_slots
        )[..., 0]
        places = (order, backward_order)
        slots = (slots, sequences.reverse_slots(slots, length))

        both = [sequences.gather_time_major(x, place) for place in places]
        outputs, last_state = [], []
        for layer in range(self.num_layers):
            cells = (self.forward_cells[layer], self.backward_cells[layer])
            hidden, last = scan_both_directions(
                cells, both, state[4 * layer : 4 * layer + 4], is_real
            )
            if self.use_skip_connections and layer > 0:
                hidden = [h + x for h, x in zip(hidden, both)]
            both = hidden  # each (time, batch, projection)
            output = ops.concatenate(
                [
                    sequences.gather_batch_major(h, slot)
                    for h, slot in zip(hidden, slots)
                ],
                axis=-1,
            )  # (batch, time, 2 * projection)
            outputs.append(ops.where(mask[..., None], output, 0))
            last_state.extend(last)
        return outputs, last_state

    def get_initial_state(self, batch_size):
        """Returns the list of zero states that a sentence starts from."""
        return [
            state
            for pair in zip(self.forward_cells, self.backward_cells)
            for cell in pair
            for state in cell.get_initial_state(batch_size)
        ]

    def reset_state(self):
        """Makes a stateful layer start from zero again."""
        self._carried_state.reset()

    def _checked_state(self, state):
        if len(state) != 4 * self.num_layers:
            raise ValueError(
                f"`initial_state` must hold {4 * self.num_layers} tensors, h "
                "and c of both directions for each layer. "
                f"Received: {len(state)}"
            )
        sizes = self.forward_cells[0].state_size * 2 * self.num_layers
        for i, (tensor, size) in enumerate(zip(state, sizes)):
            if tuple(tensor.shape[1:]) != (size,):
                raise ValueError(
                    f"Tensor {i} of `initial_state` must have the shape "
                    f"(batch, {size}). Received: shape={tuple(tensor.shape)}"
                )
        return [ops.cast(tensor, self.compute_dtype) for tensor in state]

    def _returns_state(self, return_state):
        return self.return_state if return_state is None else return_state

    def compute_mask(self, inputs, mask=None):
        if mask is not None:
            mask = as_mask(mask, inputs.shape[:2], self.name)
        masks = [mask] * self.num_layers
        if self.return_state:
            return masks, [None] * (4 * self.num_layers)
        return masks

    def compute_output_shape(self, input_shape):
        return self._output_shapes(input_shape, self.return_state)

    def _output_shapes(self, input_shape, return_state):
        batch = input_shape[0]
        shapes = [(*input_shape[:-1], 2 * self.output_dim)] * self.num_layers
        if return_state:
            sizes = self.forward_cells[0].state_size * 2 * self.num_layers
            return shapes, [(batch, size) for size in sizes]
        return shapes

    def compute_output_spec(
        self, inputs, mask=None, initial_state=None, return_state=None
    ):
        self._carried_state.of(self, inputs.shape[0])
        shapes = self._output_shapes(
            inputs.shape, self._returns_state(return_state)
        )
        return keras.tree.map_shape_structure(
            lambda shape: keras.KerasTensor(shape, dtype=self.compute_dtype),
            shapes,
        )

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "num_layers": self.num_layers,
            "cell_clip": self.cell_clip,
            "proj_clip": self.proj_clip,
            "use_skip_connections": self.use_skip_connections,
            "return_state": self.return_state,
            "stateful": self.stateful,
        }


def scan_both_directions(cells, inputs, state, is_real):
    """Runs a layer's two cells over time, side by side.

    Args:
        cells: The forward and the backward `ProjectedLSTMCell`.
        inputs: A pair of tensors `(time, batch, features)`, each in the order
            in which its direction reads.
        state: List `[forward h, forward c, backward h, backward c]`.
        is_real: Boolean tensor `(time, batch, 1)`; where it is `False` a step
            leaves the state as it was.

    Returns:
        The outputs, two tensors `(time, batch, projection)`, and the last
        state.
    """

    def step(state, inputs):
        *projected, is_real = inputs
        new = [
            s
            for d, cell in enumerate(cells)
            for s in cell.step(projected[d], state[2 * d : 2 * d + 2])
        ]
        is_real = ops.cast(is_real, "bool")
        return [ops.where(is_real, n, s) for n, s in zip(new, state)]

    # The inputs' share of the gates needs no loop: one product for all steps.
    projected = [cell.project_inputs(x) for cell, x in zip(cells, inputs)]
    is_real = ops.cast(is_real, projected[0].dtype)
    return scan_time(step, state, [*projected, is_real], emitted=(0, 2))
