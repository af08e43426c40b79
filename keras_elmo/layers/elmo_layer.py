import inspect
import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.checks import shapes_agree
from keras_elmo.layers.base_layers import IdLayer
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.bilm_encoder import check_state
from keras_elmo.layers.bilm_encoder import encode_rows
from keras_elmo.layers.bilm_encoder import state_spec
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.elmo_files import ElmoFiles
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.scalar_mix import make_mixes
from keras_elmo.ops.backends import at_least_one
from keras_elmo.ops.backends import backend
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.inputs import as_ids
from keras_elmo.ops.inputs import as_mask
from keras_elmo.ops.layout import lay_out
from keras_elmo.ops.layout import output_mask
from keras_elmo.ops.layout import rows_at
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import sublayers


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoLayer(ElmoFiles, IdLayer):
    """ELMo: contextual token vectors that depend on the whole sentence.

    ```
    x = token_encoder(<S> tokens </S>)
    h_0 = concatenate(x, x)
    h_1, ..., h_L = encoder(x)
    y = gamma * sum_j softmax(scalars)_j * h_j                 (the ScalarMix)
    ```

    Without arguments, it is the untrained model of the paper. To load a trained
    model, use `from_bilm` or `from_preset`.

    Calls are stateless: the same sentence always gets the same vectors,
    whatever else is in the batch and whatever came before. For a text that is
    cut into batches, the state can be passed from call to call.

    On TensorFlow, eager calls run as a graph that the first call traces. The
    Python code of a custom token encoder still runs in every call.

    Args:
        token_encoder: Layer that encodes a token's ids as a vector, `(...,
            *token_shape)` to `(..., projection)`. Defaults to the paper's
            `CharCNNEmbedding`. Its `compute_mask` determines which tokens are
            padding. With `add_sentence_boundaries` it must have an attribute
            `boundary_ids`, the ids of `<S>` and `</S>`. Two attributes are
            optional: `token_shape`, the shape of a token's ids, and `num_ids`,
            their number, with which ids are checked. For use with
            `ElmoEmbedder` and `export_saved_model` it needs a method
            `make_vectorization`, which returns the layer that turns words into
            ids; without it, the ids of `batch_to_ids` are assumed.
        encoder: The `BiLMEncoder`. Defaults to the paper's.
        scalar_mix: The `ScalarMix`, or a list with one for each representation.
            A single one is used for the first representation; the others get
            new, untrained ones with the same settings.
        num_representations: Integer, number of mixes of the same biLM layers.
            They start equal and differ once trained.
        keep_sentence_boundaries: Boolean, whether to keep the vectors of `<S>`
            and `</S>` in the output.
        add_sentence_boundaries: Boolean, whether to add `<S>` and `</S>` to
            each sentence. If `False`, the ids must already contain them.
        return_all_layers: Boolean, whether to return `h_0`, ..., `h_L` instead
            of their mixes; the layer then has no `ScalarMix`.
        dropout: Float between 0 and 1, fraction of each output's entries to
            drop in training.
        seed: Integer, random seed of the dropout.
        **kwargs: Base layer keyword arguments, such as `name`, `dtype` and
            `trainable`.

    Call arguments:
        inputs: Integer tensor of ids, of shape `(batch, time, chars)` or, for
            documents of sentences, `(batch, sentences, time, chars)`. Whole
            numbers of another dtype are cast to int32 if that dtype represents
            all ids exactly; half precision does not.
        mask: Boolean tensor of shape `(batch, time)` or `(batch, sentences,
            time)`, `False` at padding. Overrides the default mask, in which an
            all-zero row of ids is padding.
        training: Boolean, whether to apply dropout.
        initial_state: List of tensors, as `return_state` or
            `get_initial_state` returns it, with one row for each sentence.
            Defaults to zeros.
        return_state: Boolean, whether to return a pair: what is described
            below, and the list of the LSTMs' states after each sentence; see
            `BiLMEncoder`.

    Returns:
        - a tensor `(batch, time, 2 * projection)`, or for documents `(batch,
          sentences, time, 2 * projection)`;
        - with `num_representations > 1`, a list of that many such tensors;
        - with `return_all_layers`, one tensor `(batch, num_layers + 1, time, 2
          * projection)`, or for documents `(batch, sentences, num_layers + 1,
          time, 2 * projection)`.

        `time` is longer by two with `keep_sentence_boundaries`, and shorter by
        two if boundaries in the ids are removed.

    Masking:
        Vectors are zero at padding, and every output passes the mask on to the
        following layers. Padding may be anywhere: the vectors are the same as
        for the tokens alone. Each vector is at its token's position in the
        input, with two exceptions, where all padding is moved to the end: with
        `keep_sentence_boundaries=True`, and where boundaries are removed from
        the ids. For example, ids of `[padding, "Hello"]` give `[0, Hello]` by
        default, and `[<S>, Hello, </S>, 0]` with boundaries kept.

    Attributes:
        token_encoder: The layer that encodes a token's ids. Its method
            `make_vectorization()` returns the layer that turns words into its
            ids.
        encoder: The `BiLMEncoder`. Set `elmo.encoder.trainable` or
            `elmo.token_encoder.trainable` to train or freeze a part.
        presets: The dictionary `keras_elmo.PRESETS`, of the class: the names
            that `from_preset` takes, with descriptions.

    Raises:
        ValueError: If the rank, width or dtype of the ids is not what the token
            encoder expects, or ids are out of range.

    Example:

    >>> elmo = ElmoLayer(
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ...     BiLMEncoder(units=16, projection_dim=8),
    ... )
    >>> ids = batch_to_ids([["First", "sentence", "."], ["Another", "."]])
    >>> tuple(elmo(ids).shape)
    (2, 3, 16)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        token_encoder: keras.layers.Layer | None = None,
        encoder: BiLMEncoder | None = None,
        scalar_mix: ScalarMix | Sequence[ScalarMix] | None = None,
        num_representations: int = 1,
        keep_sentence_boundaries: bool = False,
        add_sentence_boundaries: bool = True,
        return_all_layers: bool = False,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # No autocast: the cell states are float32 even in half precision.
        super().__init__(autocast=False, **kwargs)
        dtype = self.dtype_policy
        self.token_encoder = token_encoder or CharCNNEmbedding(
            dtype=dtype, name="token_encoder"
        )
        self.encoder = encoder or BiLMEncoder(dtype=dtype, name="encoder")
        for argument in ("token_encoder", "encoder"):
            layer = getattr(self, argument)
            if not isinstance(layer, keras.layers.Layer):
                raise ValueError(
                    f"`{argument}` must be a Keras layer. To load files, use "
                    f"`ElmoLayer.from_bilm`. Received: {layer!r}"
                )
        self.num_representations = num_representations
        self.return_all_layers = return_all_layers
        check_integer("num_representations", num_representations, 1)
        if not return_all_layers:
            self.scalar_mixes = make_mixes(
                scalar_mix, num_representations, dtype
            )
        elif num_representations == 1 and not scalar_mix:
            self.scalar_mixes = []
        else:
            raise ValueError(
                "With `return_all_layers=True` the layers are not mixed: leave "
                "out `num_representations` and `scalar_mix`. Received: "
                f"num_representations={num_representations}, "
                f"scalar_mix={scalar_mix}"
            )
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self.add_sentence_boundaries = add_sentence_boundaries
        self.seed = seed
        self._dropout = keras.layers.Dropout(
            dropout, seed=seed, dtype=dtype, name="dropout"
        )
        self._encode = Compiled(
            self._encode_ids, self, least_sizes=((1, 1), (1, 1), (1,))
        )
        self._pass_on_trainable()
        if add_sentence_boundaries and not hasattr(
            self.token_encoder, "boundary_ids"
        ):
            raise ValueError(
                "To add sentence boundaries, `token_encoder` must have an "
                "attribute `boundary_ids`, the ids of <S> and </S>; otherwise "
                "pass `add_sentence_boundaries=False`. "
                f"Received: token_encoder={self.token_encoder}"
            )

    def __call__(self, inputs, *args, **kwargs):
        if wrong := sorted(kwargs.keys() & _CONSTRUCTOR_ARGUMENTS):
            given = f"{wrong[0]}={kwargs[wrong[0]]!r}"
            raise TypeError(
                f"`{wrong[0]}` is an argument of the constructor, not of a "
                f"call: pass it when the layer is made, such as "
                f"`ElmoLayer.from_preset(..., {given})`. "
                f"Received: {given} in a call of layer '{self.name}'"
            )
        return super().__call__(inputs, *args, **kwargs)

    def read_ids(self, ids):
        """Checks ids, before Keras casts them to the layer's dtype.

        Args:
            ids: Array or tensor of ids, of an integer or a float dtype.

        Returns:
            The ids as int32 or int64, as the token encoder takes them.

        Raises:
            ValueError: If an id is not an integer or is out of range, or if
                the dtype cannot represent all ids.
        """
        if hasattr(self.token_encoder, "read_ids"):
            return self.token_encoder.read_ids(ids)
        num_ids = getattr(self.token_encoder, "num_ids", None)
        return ids if num_ids is None else as_ids(ids, num_ids, self.name)

    @property
    def dropout(self):
        """Float, the constructor's. It cannot be set, because compiled models
        would keep the old one."""
        return self._dropout.rate

    @property
    def mix_weights(self) -> Any:
        """The learned layer weights and gamma, as NumPy arrays.

        A named tuple `(weights, gamma)`, or a list of them with
        `num_representations > 1`.
        """
        if self.return_all_layers:
            raise ValueError(
                f"Layer '{self.name}' has no mix weights, as it was created "
                "with `return_all_layers=True`."
            )
        return self._one_or_list([m.mix_weights for m in self.scalar_mixes])

    def build(self, input_shape):
        token_shape = self._token_shape(input_shape)
        _build_once(self.token_encoder, (None, *token_shape))
        ids = keras.KerasTensor((None, *token_shape), "int32")
        dim = self.token_encoder.compute_output_spec(ids).shape[-1]
        if dim != self.encoder.output_dim:
            raise ValueError(
                "`token_encoder` and one direction of `encoder` must return "
                "vectors of the same size, to be mixed. Received: sizes "
                f"{dim} and {self.encoder.output_dim}"
            )
        _build_once(self.encoder, (None, None, dim))
        width = 2 * dim
        for mix in self.scalar_mixes:
            layers = [(None, None, width)] * (self.encoder.num_layers + 1)
            _build_once(mix, layers)

    def call(
        self,
        inputs,
        mask=None,
        training=None,
        initial_state=None,
        return_state=False,
    ):
        layers, mask, state = self._run_bilm(
            inputs, mask, training, initial_state, return_state
        )
        if self.return_all_layers:
            outputs = [ops.stack(layers, axis=-3)]
        else:
            outputs = self._mix(layers, mask)
        if training:
            outputs = [self._dropout(x, training=True) for x in outputs]
        outputs = self._one_or_list(outputs)
        return (outputs, state) if return_state else outputs

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Returns the state before a sentence: zeros, as a list of tensors.

        Args:
            batch_size: Integer, the number of sentences.
        """
        return self.encoder.get_initial_state(batch_size)

    def all_layers(self, inputs: Any, mask: Any = None) -> Any:
        """Returns every layer of the biLM, unmixed.

        Args:
            inputs: Array or tensor of ids, as for a call.
            mask: As for a call.

        Returns:
            Tensor `(batch, num_layers + 1, time, 2 * projection)`, or for
            documents `(batch, sentences, num_layers + 1, time, 2 *
            projection)`. Layer 0 is the token encoder's vector, concatenated
            with itself. Zero at padding. Gradients flow through it.

        Raises:
            ValueError: If `inputs` is a symbolic `keras.Input`.
        """
        if isinstance(inputs, keras.KerasTensor):
            raise ValueError(
                "`all_layers` takes values, not a symbolic `keras.Input`. In a "
                "Functional model, use `ElmoLayer(..., "
                "return_all_layers=True)(inputs)`. "
                f"Received: inputs={inputs}"
            )
        inputs = ops.convert_to_tensor(self.read_ids(inputs))
        if mask is not None:
            mask = ops.convert_to_tensor(mask)
        if not self.built:
            self.build(tuple(inputs.shape))
        layers, *_ = self._run_bilm(inputs, mask)
        return ops.stack(layers, axis=-3)

    def _run_bilm(
        self, ids, mask, training=None, state=None, returns_state=False
    ):
        """Returns `h_0`..`h_L` (each (batch, ..., output time, width)), the
        mask of each, and the last states."""
        shape = self._sentence_shape(ids.shape)
        if mask is None:
            mask = get_mask(ids)
        if mask is not None:
            mask = as_mask(mask, shape, self.name)
        *leading, time = ops.shape(ids)[: len(shape)]
        number = math.prod(leading)
        if len(leading) > 1:  # Documents become batches of sentences.
            ids = ops.reshape(ids, (number, time, *ids.shape[len(shape) :]))
            mask = None if mask is None else ops.reshape(mask, (number, time))
        encode = self._encode if self._is_one_unit() else self._encode_ids
        layers, mask, state = encode(
            ids,
            mask,
            state,
            add_boundaries=self.add_sentence_boundaries,
            keep_boundaries=self.keep_sentence_boundaries,
            returns_state=returns_state,
            training=bool(training),
        )
        if backend().compiles_each_shape:  # The axes are filled up.
            time = self._output_time(time)
            layers = [x[:number, :time] for x in layers]
            mask, state = mask[:number, :time], [s[:number] for s in state]
        if len(leading) > 1:
            shape = (*leading, ops.shape(mask)[1])
            mask = ops.reshape(mask, shape)
            layers = [ops.reshape(x, (*shape, x.shape[-1])) for x in layers]
        return layers, mask, state

    def _is_one_unit(self):
        """Whether the whole biLM is compiled in eager code, or only the LSTMs.

        Not if a part is a custom layer, so that its Python code runs in every
        call. Nor if only some weights are trained: a tape computes all
        gradients of a graph.
        """
        trainable = total = 0
        for part in (self.token_encoder, self.encoder):
            for layer in (part, *sublayers(part)):
                if not type(layer).__module__.startswith("keras_elmo."):
                    return False
            trainable += len(part.trainable_weights)
            total += len(part.weights)
        return trainable in (0, total) or not backend().makes_graphs

    def _encode_ids(
        self,
        ids,
        mask,
        state,
        add_boundaries,
        keep_boundaries,
        returns_state,
        training,
    ):
        if mask is None:
            mask = self.token_encoder.compute_mask(ids, None)
        if mask is None:
            mask = ops.ones(ops.shape(ids)[:2], dtype="bool")
        # (tokens, *token shape)
        tokens = ops.reshape(ids, (-1, *self._token_shape(ids.shape)))
        if add_boundaries:
            boundaries = ops.cast(self.token_encoder.boundary_ids, tokens.dtype)
            tokens = ops.concatenate([tokens, boundaries])
        layout = lay_out(mask, add_boundaries, keep_boundaries)
        # Its ids were read before.
        embed = getattr(self.token_encoder, "embed", self.token_encoder)
        rows = embed(at_least_one(tokens))  # (tokens + 2, projection)
        layers, state = encode_rows(
            self.encoder,
            rows,
            layout,
            state,
            returns_state=returns_state,
            omits_ends=add_boundaries and not keep_boundaries,
            training=training,
        )
        mask = layout.output_mask
        output_rows = rows_at(layout.rows, layout.output_slots)
        x = ops.take(rows, output_rows, axis=0)
        x = ops.where(mask[..., None], x, 0)  # (batch, output time, projection)
        layers = [ops.concatenate([x, x], axis=-1), *layers]
        return [ops.cast(x, self.compute_dtype) for x in layers], mask, state

    def _mix(self, layers, mask):
        # In eager code, a slice `mask[..., None]` takes five times as long.
        is_real = ops.expand_dims(mask, -1)
        mixes = []
        for mix in self.scalar_mixes:
            # Layer normalization moves the zeros at padding.
            x = ops.where(is_real, mix(layers, mask=mask), 0)
            mixes.append(ops.cast(x, self.compute_dtype))
        return mixes

    def _one_or_list(self, outputs):
        return outputs[0] if self.num_representations == 1 else outputs

    def _token_shape(self, input_shape):
        shape = getattr(self.token_encoder, "token_shape", None)
        return tuple(input_shape[2:] if shape is None else shape)

    def _sentence_shape(self, input_shape):
        """The input's shape without that of a token: (batch, ..., time)."""
        token_shape = self._token_shape(input_shape)
        rank = len(input_shape) - len(token_shape)
        if rank not in (2, 3) or not shapes_agree(
            input_shape[rank:], token_shape
        ):
            dims = "".join(f", {size}" for size in token_shape)
            raise ValueError(
                f"Layer '{self.name}' takes ids of shape (batch, time{dims}) "
                f"or (batch, sentences, time{dims}). "
                f"Received: shape={tuple(input_shape)}"
            )
        return tuple(input_shape[:rank])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of the output, for layers that take it by hand.

        Args:
            inputs: Tensor of ids or symbolic `keras.Input`, as for a call.
            mask: As for a call.

        Returns:
            Boolean tensor `(batch, time)`, `False` at padding; of the output's
            `time` where that differs from the input's. A list of them with
            `num_representations > 1`, and `(batch, num_layers + 1, time)` with
            `return_all_layers`. For documents there is an axis `sentences`
            after `batch`. `None` if the token encoder has no mask.
        """
        if mask is None:
            mask = self.token_encoder.compute_mask(inputs, None)
        if mask is None:
            return None
        mask = as_mask(mask, self._sentence_shape(inputs.shape), self.name)
        mask = output_mask(
            mask, self.add_sentence_boundaries, self.keep_sentence_boundaries
        )
        if self.return_all_layers:
            layers = [mask] * (self.encoder.num_layers + 1)
            return ops.stack(layers, axis=-2)
        return self._one_or_list([mask] * self.num_representations)

    def compute_output_shape(self, input_shape):
        *leading, time = self._sentence_shape(input_shape)
        if time is not None:
            time = self._output_time(time)
        width = 2 * self.encoder.output_dim
        if self.return_all_layers:
            return (*leading, self.encoder.num_layers + 1, time, width)
        return self._one_or_list(
            [(*leading, time, width)] * self.num_representations
        )

    def _output_time(self, time):
        time += 2 * self.add_sentence_boundaries
        return max(0, time - 2 * (not self.keep_sentence_boundaries))

    def compute_output_spec(
        self,
        inputs,
        mask=None,
        training=None,
        initial_state=None,
        return_state=False,
    ):
        if initial_state is not None:
            check_state(self.encoder, initial_state)
        outputs = keras.tree.map_shape_structure(
            lambda shape: keras.KerasTensor(shape, dtype=self.compute_dtype),
            self.compute_output_shape(inputs.shape),
        )
        if not return_state:
            return outputs
        *leading, _ = self._sentence_shape(inputs.shape)
        batch = None if None in leading else math.prod(leading)
        return outputs, state_spec(self.encoder, batch)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "token_encoder": serialize(self.token_encoder),
            "encoder": serialize(self.encoder),
            "scalar_mix": [serialize(mix) for mix in self.scalar_mixes],
            "num_representations": self.num_representations,
            "keep_sentence_boundaries": self.keep_sentence_boundaries,
            "add_sentence_boundaries": self.add_sentence_boundaries,
            "return_all_layers": self.return_all_layers,
            "dropout": self.dropout,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for key in ("token_encoder", "encoder", "scalar_mix"):
            if config.get(key):
                config[key] = keras.saving.deserialize_keras_object(config[key])
        return super().from_config(config)


_CONSTRUCTOR_ARGUMENTS = frozenset(
    inspect.signature(ElmoLayer.__init__).parameters
) - {"self", "kwargs"}


def layers_and_mixes(elmo, inputs):
    """Returns all layers, the mixes and the mask of one run of the biLM.

    Args:
        elmo: An `ElmoLayer`.
        inputs: Tensor of ids, as for a call.

    Returns:
        The list of `h_0`, ..., `h_L`, and the list of their mixes (none
        with `return_all_layers`); each `(batch, time, 2 * projection)`, or
        for documents `(batch, sentences, time, 2 * projection)`. Zero at
        padding. And their mask, `(batch, time)`, `False` at padding.
    """
    layers, mask, _ = elmo._run_bilm(elmo.read_ids(inputs), mask=None)
    return layers, elmo._mix(layers, mask), mask


def _build_once(layer, input_shape):
    # A layer from a saved file or from another model is already built.
    if not layer.built:
        layer.build(input_shape)
