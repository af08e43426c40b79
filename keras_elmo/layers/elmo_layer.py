import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import IdLayer
from keras_elmo.layers.base_layers import TokenEncoder
from keras_elmo.layers.bilm_base import BiLMBase
from keras_elmo.layers.bilm_base import build_once
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.bilm_encoder import check_state
from keras_elmo.layers.bilm_encoder import state_spec
from keras_elmo.layers.elmo_files import ElmoFiles
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.scalar_mix import make_mixes
from keras_elmo.ops.backends import backend
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.inputs import as_array
from keras_elmo.ops.inputs import as_ids
from keras_elmo.ops.inputs import as_mask
from keras_elmo.ops.inputs import leading_shape
from keras_elmo.ops.padding import output_mask
from keras_elmo.ops.padding import reading_order
from keras_elmo.ops.padding import vectors_at
from keras_elmo.ops.private_keras import get_mask


@keras.saving.register_keras_serializable(package="keras_elmo")
class ElmoLayer(ElmoFiles, BiLMBase, IdLayer):
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

    On TensorFlow, eager calls run as a graph that the first call traces. If
    the token encoder is not a `TokenEncoder` of this package, its Python code
    runs in every call.

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
        return_state: Boolean, whether to return the LSTMs' states after each
            sentence, too, as in `outputs, *states = elmo(ids,
            return_state=True)`; see `BiLMEncoder`.

    Returns:
        - a tensor `(batch, time, 2 * projection)`, or for documents `(batch,
          sentences, time, 2 * projection)`;
        - with `num_representations > 1`, a list of that many such tensors;
        - with `return_all_layers`, one tensor `(batch, num_layers + 1, time, 2
          * projection)`, or for documents `(batch, sentences, num_layers + 1,
          time, 2 * projection)`.

        `time` is longer by two if boundaries are added and kept, and shorter by
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
        *,
        scalar_mix: ScalarMix | Sequence[ScalarMix] | None = None,
        num_representations: int = 1,
        keep_sentence_boundaries: bool = False,
        add_sentence_boundaries: bool = True,
        return_all_layers: bool = False,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(token_encoder, encoder, **kwargs)
        check_integer("num_representations", num_representations, 1)
        if return_all_layers and (scalar_mix or num_representations > 1):
            raise ValueError(
                "`return_all_layers=True` leaves no use for `scalar_mix` and "
                "`num_representations`, as the layers are not mixed. Received: "
                f"scalar_mix={scalar_mix}, {num_representations=}"
            )
        self.num_representations = num_representations
        self.return_all_layers = return_all_layers
        self.scalar_mixes = []
        if not return_all_layers:
            self.scalar_mixes = make_mixes(
                scalar_mix, num_representations, self.dtype_policy
            )
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self.add_sentence_boundaries = add_sentence_boundaries
        has_boundaries = hasattr(self.token_encoder, "boundary_ids")
        if add_sentence_boundaries and not has_boundaries:
            raise ValueError(
                "`token_encoder` must have an attribute `boundary_ids`, the "
                "ids of <S> and </S>, unless `add_sentence_boundaries=False`. "
                f"Received: token_encoder={self.token_encoder}"
            )
        self.seed = seed
        self._dropout = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy, name="dropout"
        )
        self._encode_function = self._encode
        if isinstance(self.token_encoder, TokenEncoder):
            least_sizes = [(1, 1), (1, 1), (1,)]
            self._encode_function = Compiled(self._encode, self, least_sizes)
        self._pass_on_trainable()

    @property
    def dropout(self):
        """Float, the constructor's. It cannot be set, because compiled models
        would keep the old one."""
        return self._dropout.rate

    @property
    def scalar_mix(self):
        """The `ScalarMix`, whose `mix_weights` are what it has learned.

        With `num_representations > 1`, it is a list of them, and with
        `return_all_layers`, it is `None`.
        """
        mixes = self.scalar_mixes
        return mixes[0] if len(mixes) == 1 else mixes or None

    def __dir__(self):
        # Keras saves what is listed here, by the first name: in files, the
        # mixes remain `scalar_mixes`.
        return [name for name in super().__dir__() if name != "scalar_mix"]

    def build(self, input_shape):
        dim = self._build_bilm(self._token_shape(input_shape))
        num_layers = self.encoder.num_layers + 1
        for mix in self.scalar_mixes:
            build_once(mix, num_layers * [(None, None, 2 * dim)])

    def call(
        self,
        inputs,
        *,
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
            outputs = mixes_of(self, layers, mask)
        if training:
            outputs = [self._dropout(x, training=True) for x in outputs]
        outputs = self._one_or_list(outputs)
        return (outputs, *state) if return_state else outputs

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
                "`all_layers` takes values. In a Functional model, call an "
                "`ElmoLayer` with `return_all_layers=True`. "
                f"Received: inputs={inputs}"
            )
        inputs = as_array(inputs, self.name)
        build_once(self, tuple(inputs.shape))
        layers, *_ = self._run_bilm(inputs, mask)
        return ops.stack(layers, axis=-3)

    def _run_bilm(
        self, ids, mask=None, training=None, state=None, return_state=False
    ):
        """Returns `h_0`..`h_L` (each (batch, ..., output time, width)), zero
        at padding; their mask, which is never `None`; and the last states."""
        *leading, time = self._sentence_shape(ids.shape)
        mask = get_mask(ids) if mask is None else mask
        if mask is not None:
            mask = as_mask(mask, (*leading, time), self.name)
        num_ids = getattr(self.token_encoder, "num_ids", None)
        if num_ids is not None:
            ids = as_ids(ids, num_ids, self.name)
        *leading, time = ops.shape(ids)[: len(leading) + 1]
        number = math.prod(leading)
        if state is not None:  # Before any of it is padded.
            check_state(self.encoder, state, number)
        if len(leading) > 1:  # Documents become batches of sentences.
            ids = ops.reshape(ids, (number, time, *ids.shape[3:]))
            mask = None if mask is None else ops.reshape(mask, (number, time))
        layers, mask, state = self._encode_function(
            ids,
            mask,
            state,
            adds=self.add_sentence_boundaries,
            keeps=self.keep_sentence_boundaries,
            training=bool(training),
            return_state=return_state,
        )
        if backend().compiles_each_shape:  # The axes are padded.
            time = self._output_time(time)
            layers = [x[:number, :time] for x in layers]
            mask, state = mask[:number, :time], [s[:number] for s in state]
        if len(leading) > 1:
            shape = (*leading, ops.shape(mask)[1])
            mask = ops.reshape(mask, shape)
            layers = [ops.reshape(x, (*shape, x.shape[-1])) for x in layers]
        return layers, mask, state

    def _encode(self, ids, mask, state, adds, keeps, training, return_state):
        """Encodes a batch of sentences, ids `(batch, time, *token_shape)`.

        It adds boundaries if `adds` is true, and keeps them if `keeps` is.
        """
        mask = self._token_mask(ids, mask)
        if mask is None:
            mask = ops.ones(ops.shape(ids)[:2], dtype="bool")
        outputs_mask = output_mask(mask, adds, keeps)
        if adds:
            x = encode_with_boundaries(self.token_encoder, ids)
            mask = ops.pad(mask, ((0, 0), (1, 1)), constant_values=True)
        else:
            x = self.token_encoder(ids)  # (batch, time, projection)
        if keeps or not adds:  # All padding moves to the end.
            order = reading_order(mask)
            sentences = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None]
            x = vectors_at(x, sentences, order)
            mask = ops.take_along_axis(mask, order, axis=1)
        layers = self.encoder(
            x,
            mask=mask,
            initial_state=state,
            training=training,
            return_state=return_state,
            return_ends=keeps,
        )
        layers, *state = layers if return_state else (layers,)
        layers = [ops.concatenate([x, x], axis=-1), *layers]
        if not keeps:
            layers = [x[:, 1:-1] for x in layers]
        layers = [ops.where(outputs_mask[..., None], x, 0) for x in layers]
        layers = [ops.cast(x, self.compute_dtype) for x in layers]
        return layers, outputs_mask, state

    def _token_mask(self, ids, mask):
        """Returns `mask`, or by default that of the token encoder."""
        if mask is None:
            mask = self.token_encoder.compute_mask(ids, None)
        if mask is None:
            return None
        return as_mask(mask, self._sentence_shape(ids.shape), self.name)

    def _one_or_list(self, outputs):
        return outputs[0] if self.num_representations == 1 else outputs

    def _token_shape(self, input_shape):
        shape = getattr(self.token_encoder, "token_shape", None)
        return tuple(input_shape[2:] if shape is None else shape)

    def _sentence_shape(self, input_shape):
        """The input's shape without that of a token: (batch, ..., time)."""
        token_shape = self._token_shape(input_shape)
        axes = {2: "batch, time", 3: "batch, sentences, time"}
        return leading_shape(input_shape, token_shape, self.name, axes)

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
        mask = self._token_mask(inputs, mask)
        if mask is None:
            return None
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
        width = 2 * self.encoder.direction_dim
        if self.return_all_layers:
            return (*leading, self.encoder.num_layers + 1, time, width)
        return self._one_or_list(
            [(*leading, time, width)] * self.num_representations
        )

    def _output_time(self, time):
        time += 2 * self.add_sentence_boundaries
        return max(0, time - 2 * (not self.keep_sentence_boundaries))

    def compute_output_spec(
        self, inputs, initial_state=None, return_state=False, **others
    ):
        if initial_state is not None:
            check_state(self.encoder, initial_state)
        outputs = super().compute_output_spec(inputs)
        if not return_state:
            return outputs
        *leading, _ = self._sentence_shape(inputs.shape)
        batch = None if None in leading else math.prod(leading)
        return outputs, *state_spec(self.encoder, batch)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "scalar_mix": [serialize(mix) for mix in self.scalar_mixes],
            "num_representations": self.num_representations,
            "keep_sentence_boundaries": self.keep_sentence_boundaries,
            "add_sentence_boundaries": self.add_sentence_boundaries,
            "return_all_layers": self.return_all_layers,
            "dropout": self.dropout,
            "seed": self.seed,
        }


def mixes_of(elmo, layers, mask):
    """Returns the mixes of all layers, zero at padding.

    Args:
        elmo: An `ElmoLayer`.
        layers: The list of `h_0`, ..., `h_L`, each `(..., dim)`, zero at
            padding.
        mask: Boolean tensor `(...)`, `False` at padding.
    """
    mixes = (mix(layers, mask=mask) for mix in elmo.scalar_mixes)
    return [ops.cast(x, elmo.compute_dtype) for x in mixes]


def encode_with_boundaries(encoder, ids):
    """Encodes `<S>`, the tokens, and `</S>`: `(batch, time + 2, projection)`.

    Args:
        encoder: The token encoder.
        ids: Integer tensor `(batch, time, *token_shape)`.
    """
    batch, time, *token_shape = ops.shape(ids)
    tokens = ops.reshape(ids, (-1, *token_shape))
    boundaries = ops.cast(encoder.boundary_ids, ids.dtype)
    x = encoder(ops.concatenate([tokens, boundaries]))
    shape = (batch, 1, x.shape[-1])
    begin, end = (ops.broadcast_to(x[i], shape) for i in (-2, -1))
    x = ops.reshape(x[:-2], (batch, time, x.shape[-1]))
    return ops.concatenate([begin, x, end], axis=1)
