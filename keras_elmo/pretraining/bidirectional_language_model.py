import os
from typing import Any

import keras
from keras import ops

from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.bilm_encoder import run_directions
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.pretraining.vocabulary_softmax import VocabularySoftmax


@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalLanguageModel(keras.Model):
    """The bidirectional language model behind ELMo.

    ```
    p(w_1, ..., w_n) = prod_k softmax(forward h_L at w_{k-1})[w_k]
    p(w_1, ..., w_n) = prod_k softmax(backward h_L at w_{k+1})[w_k]
    ```

    The forward stack predicts each word from the words before it, the backward
    stack from the words after it. They share only the token encoder and the
    softmax. In training, dropout is applied to the input of every LSTM layer
    and to the output of the last one, but not to the recurrence.

    Args:
        vocabulary_size: Integer, the number of words that can be predicted.
        token_encoder: Layer that maps the ids of a token to its vector, a
            `CharCNNEmbedding`. Defaults to the paper's.
        encoder: The `BiLMEncoder`. Defaults to the paper's.
        num_negatives: Integer, the number of negative samples of the sampled
            softmax.
        dropout: Float between 0 and 1.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Pair of integer tensors, the ids that the forward and the
            backward stack read, each in reading order: `(batch, time,
            *token_shape)`. The two need not be from the same text.
        initial_state: List of tensors, as returned with `return_state`.
            Defaults to zeros.
        return_state: Boolean, whether to return the last states as well.
        training: Boolean, whether to apply dropout.

    Returns:
        The forward and the backward logits, a list of two float32 tensors
        `(batch, time, vocabulary_size)`: entry `t` is for the token that
        follows the `t`-th one in reading order. With `return_state`, a pair of
        this list and the states.

    Masking:
        None: each row is read to its end. The windows of a continuous text are
        full. In a shorter row, the padding at the end has no effect on the
        tokens before it, and its losses are left out.

    Example:

    >>> model = BidirectionalLanguageModel(
    ...     100,
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ...     BiLMEncoder(units=16, projection_dim=8),
    ... )
    >>> forward = batch_to_ids([["<S>", "First", "sentence"]])
    >>> backward = batch_to_ids([["</S>", "sentence", "First"]])
    >>> [tuple(logits.shape) for logits in model([forward, backward])]
    [(1, 3, 100), (1, 3, 100)]

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        vocabulary_size: int,
        token_encoder: keras.layers.Layer | None = None,
        encoder: BiLMEncoder | None = None,
        num_negatives: int = 8192,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        # No autocast: the cell states are float32 even in half precision.
        super().__init__(autocast=False, **kwargs)
        dtype = self.dtype_policy
        self.token_encoder = token_encoder or CharCNNEmbedding(
            dtype=dtype, name="token_encoder"
        )
        self.encoder = encoder or BiLMEncoder(dtype=dtype, name="encoder")
        self.vocabulary_size = vocabulary_size
        self.num_negatives = num_negatives
        self.dropout = dropout
        self.softmax = VocabularySoftmax(
            vocabulary_size, num_negatives, dtype=dtype, name="softmax"
        )
        self._seed = keras.random.SeedGenerator()

    @property
    def input_dtype(self):
        """The input dtype of an exported model, which takes ids."""
        return "int32"

    def build(self, input_shape=None):
        token_shape = self.token_encoder.token_shape
        if not self.token_encoder.built:
            self.token_encoder.build((None, *token_shape))
        dim = self.token_encoder.compute_output_shape((None, *token_shape))[-1]
        if dim != self.encoder.output_dim:
            raise ValueError(
                "`token_encoder` and one direction of `encoder` must return "
                "vectors of the same size, to share a softmax. Received: sizes "
                f"{dim} and {self.encoder.output_dim}"
            )
        if not self.encoder.built:
            self.encoder.build((None, None, dim))
        if not self.softmax.built:
            self.softmax.build((None, dim))
        self.built = True

    def call(
        self, inputs, initial_state=None, return_state=False, training=None
    ):
        seed = self._seed if training else None
        hidden, state = self.predict_hidden(inputs, initial_state, seed)
        # The sizes that are known, for Keras' symbolic tensors.
        shape = (*ops.shape(inputs[0])[:2], self.vocabulary_size)
        logits = [ops.transpose(self.softmax(h), (1, 0, 2)) for h in hidden]
        logits = [ops.reshape(x, shape) for x in logits]
        return (logits, state) if return_state else logits

    def predict_hidden(
        self, inputs, initial_state=None, seed=None, is_real=None
    ):
        """Runs the model up to its softmax.

        Args:
            inputs: As for a call.
            initial_state: As for a call.
            seed: `keras.random.SeedGenerator` for the dropout, or `None` for no
                dropout.
            is_real: Boolean tensor `(batch, time)`; where it is `False`, the
                states stay as they are. Defaults to `True` everywhere.

        Returns:
            The last layer's vectors of the forward and the backward stack, two
            tensors `(time, batch, projection)`, and the list of the last
            states.
        """
        batch, time = ops.shape(inputs[0])[:2]
        # One call, so that each word is encoded once for both directions.
        ids = ops.concatenate(
            [
                ops.reshape(x, (-1, *self.token_encoder.token_shape))
                for x in inputs
            ]
        )
        training = seed is not None
        # (2 * batch * time, projection)
        vectors = self.token_encoder(ids, training=training)
        shape = (2, batch, time, self.encoder.output_dim)
        vectors = ops.transpose(ops.reshape(vectors, shape), (0, 2, 1, 3))
        if initial_state is None:
            initial_state = self.get_initial_state(batch)
        if is_real is not None:
            is_real = ops.transpose(is_real)[..., None]  # (time, batch, 1)

        def drop(x):
            return keras.random.dropout(x, self.dropout, seed=seed)

        drops = training and self.dropout > 0
        layers, state = run_directions(
            self.encoder,
            ops.unstack(vectors),
            initial_state,
            is_real=is_real,
            drop=drop if drops else None,
            training=training,
        )
        hidden = [drop(h) for h in layers[-1]] if drops else layers[-1]
        return hidden, state

    def losses_of(self, hidden, targets, is_unknown=None):
        """Computes the exact losses, with the full softmax.

        Args:
            hidden: As returned by `predict_hidden`.
            targets: Pair of integer tensors `(batch, time)`, the word that
                follows each input.
            is_unknown: As for `VocabularySoftmax.losses`.

        Returns:
            The losses in nats, two float32 tensors `(batch, time)`.
        """
        return [
            ops.transpose(
                self.softmax.losses(h, ops.transpose(words), is_unknown)
            )
            for h, words in zip(hidden, targets)
        ]

    def sampled_losses_of(self, hidden, targets, seed, adds_up_rows=False):
        """Estimates the losses, with the sampled softmax.

        Each direction draws its own candidates, unless `seed` is an integer.

        Args:
            hidden: As for `losses_of`.
            targets: As for `losses_of`.
            seed: Integer or `keras.random.SeedGenerator`.
            adds_up_rows: Boolean, whether the optimizer adds up what a gradient
                of TensorFlow has for the same word. Keras' optimizers do not.

        Returns:
            As for `losses_of`.
        """
        weights = self.softmax.weights_to_sample(adds_up_rows)
        losses = []
        for h, words in zip(hidden, targets):
            time, batch, dim = ops.shape(h)
            # Separately, so that the two directions can run in parallel.
            loss = self.softmax.sampled_losses(
                ops.reshape(h, (-1, dim)),
                ops.reshape(ops.transpose(words), (-1,)),
                seed,
                weights,
            )
            losses.append(ops.transpose(ops.reshape(loss, (time, batch))))
        return losses

    def get_initial_state(self, batch_size):
        """Returns the list of zero states at the start of a text."""
        return self.encoder.get_initial_state(batch_size)

    def compute_output_spec(self, *args, **kwargs):
        # Found by tracing: not all outputs have the compute dtype.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def compute_output_shape(self, input_shape):
        return [(*shape[:2], self.vocabulary_size) for shape in input_shape]

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "token_encoder": serialize(self.token_encoder),
            "encoder": serialize(self.encoder),
            "num_negatives": self.num_negatives,
            "dropout": self.dropout,
        }

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike, dtype: Any = None
    ) -> "BidirectionalLanguageModel":
        """Loads a trained language model, with its softmax.

        Args:
            preset: `"english_mini"`, or the path of a folder or `.zip` that
                `keras-elmo pretrain` or bilm-tf's training wrote.
            dtype: Keras dtype or policy.

        Returns:
            A `BidirectionalLanguageModel` with an attribute `words`: the tuple
            of strings to which the last axis of the logits belongs.

        Raises:
            ValueError: If the model has no softmax or no vocabulary, or a file
                is corrupt.
        """
        from keras_elmo.pretraining.model_files import load_language_model

        model, vocabulary = load_language_model(preset, dtype=dtype)
        words = vocabulary.words
        model.words = tuple(w.decode(errors="replace") for w in words)
        return model

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for key in {"token_encoder", "encoder"} & config.keys():
            config[key] = keras.saving.deserialize_keras_object(config[key])
        return super().from_config(config)
