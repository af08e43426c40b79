from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import TracksLists
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.pretraining.bidirectional_language_model import (
    BidirectionalLanguageModel,
)


@keras.saving.register_keras_serializable(package="keras_elmo")
class LanguageModelTrainer(TracksLists, keras.Model):
    """Trains a `BidirectionalLanguageModel` with `compile` and `fit`.

    Use it to train a language model with your own optimizer, callbacks or data.
    `keras-elmo pretrain` does the usual training in one command, and resumes it
    after an interruption.

    ```
    state_0 = 0
    h_t, state_t = model(window_t, state_{t-1})
    loss_t = mean of the sampled softmax' losses of both directions
    ```

    Each row of a window continues the row of the window before, so the last
    states are kept as weights, and saved with the others. Gradients are not
    propagated from one window to another. As in bilm-tf, they are those of the
    loss summed over the tokens of a row: learning rates and clipping norms are
    meant for `unroll_steps` times the loss that is shown. `fit` reports `loss`,
    the mean over the epoch, and `window_loss`, that of the last window.
    `evaluate` computes the losses over all words.

    Args:
        model: The `BidirectionalLanguageModel`.
        batch_size: Integer, the number of rows in a window.
        reset_rate: Float between 0 and 1, the probability that a row starts a
            window from a zero state, as every sentence does in `ElmoLayer`.
            Defaults to 0, as in bilm-tf.
        seed: Integer, random seed of the dropout, the samples and the resets.
            By default, one is chosen at random.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Three integer tensors, as `LanguageModelWindows` yields them:
            the ids of distinct words, `(words, *token_shape)`, which are
            encoded once each; and for the forward and for the backward stack,
            which of these words it reads, `(batch, time)` in reading order.
            `words` may vary; for a text of your own, `numpy.unique` with
            `return_inverse=True` finds all three.
        training: Boolean, whether to continue from the states that are kept,
            and to keep the new ones. Otherwise the states start from zero, and
            nothing changes.

    Returns:
        The last layer's vectors of the forward and the backward stack, two
        tensors of shape `(time, batch, projection)`, from which the losses
        follow.

    Masking:
        None: the windows of a continuous text are full.

    Raises:
        ValueError: If the inputs are not three tensors, or `fit` or `evaluate`
            gets a `sample_weight`.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b a b\\n" * 50)
    >>> windows = LanguageModelWindows(
    ...     "shard.txt", ["<S>", "</S>", "<UNK>", "a", "b"], 4, 5
    ... )
    >>> model = BidirectionalLanguageModel(
    ...     5,
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ...     BiLMEncoder(units=16, projection_dim=8),
    ... )
    >>> trainer = LanguageModelTrainer(model, batch_size=4)
    >>> trainer.compile(keras.optimizers.Adam(0.01, global_clipnorm=10.0))
    >>> history = trainer.fit(
    ...     iter(windows), steps_per_epoch=20, shuffle=False, verbose=0
    ... )

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        model: BidirectionalLanguageModel,
        batch_size: int,
        *,
        reset_rate: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # No autocast: the cell states are float32 even in half precision.
        super().__init__(autocast=False, **kwargs)
        check_integer("batch_size", batch_size, 1)
        self.language_model = model
        self.batch_size = batch_size
        self.reset_rate = reset_rate
        self.seed = seed
        self._draws = keras.random.SeedGenerator(seed)
        self._window_loss = keras.metrics.Mean("window_loss")
        # At once, as all sizes are known: some callbacks need a built model.
        self.build()

    def build(self, input_shape=None):
        if self.built:
            return
        if not self.language_model.built:
            self.language_model.build()
        states = self.language_model.get_initial_state(self.batch_size)
        self.states = [
            self.add_weight(
                shape=tuple(state.shape),
                initializer="zeros",
                dtype=state.dtype,
                trainable=False,
                autocast=False,
                name=f"state_{i}",
            )
            for i, state in enumerate(states)
        ]
        self.built = True

    def call(self, inputs, *, training=None):
        model = self.language_model
        vectors = self._token_vectors(inputs, training)
        if not training:
            return model._hidden_of(vectors)[0]
        # Copies, as PyTorch changes the variables in place, below.
        state = [ops.copy(variable) for variable in self.states]
        if self.reset_rate:
            draws = keras.random.uniform((self.batch_size, 1), seed=self._draws)
            keeps = draws >= self.reset_rate
            state = [x * ops.cast(keeps, x.dtype) for x in state]
        hidden, state = model._hidden_of(vectors, state, self._draws)
        for variable, value in zip(self.states, state):
            variable.assign(ops.stop_gradient(value))
        return hidden

    def _token_vectors(self, inputs, training):
        """Encodes the words; returns vectors `(2, time, batch, projection)`."""
        if len(inputs) != 3:
            raise ValueError(
                "`inputs` must be three tensors: the ids of distinct words, "
                "and for each direction the indices of the words that it "
                f"reads. Received: {len(inputs)} tensors"
            )
        ids, *indices = inputs
        vectors = self.language_model.token_encoder(ids, training=training)
        # In half precision, the gradients of a frequent word would be rounded.
        dtype = vectors.dtype
        vectors = ops.cast(vectors, wide_dtype(dtype))
        if training:  # `tf.data` does not know how many rows there are.
            indices = [
                ops.reshape(x, (self.batch_size, *x.shape[1:])) for x in indices
            ]
        indices = ops.stack([ops.transpose(x) for x in indices])
        return ops.cast(ops.take(vectors, indices, axis=0), dtype)

    def train_step(self, *args):
        *state, data = args
        inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(data)
        # Only JAX passes the values of the variables.
        if not state or len(targets[0].shape) == 2:
            return super().train_step(*args)
        # Several windows, along the second axis: a call takes the host as long
        # for one. Along the first axis, each is contiguous.
        inputs, targets = keras.tree.map_structure(
            lambda x: ops.moveaxis(x, 1, 0), (inputs, targets)
        )
        train = super().train_step

        def train_on_next(i, carry):
            state, losses = carry
            window = keras.tree.map_structure(lambda x: x[i], (inputs, targets))
            logs, state = train(state, (*window, weights))
            loss = ops.reshape(logs["window_loss"], (1,))
            return state, ops.slice_update(losses, (i,), loss)

        # The other windows are missing.
        number = ops.sum(ops.cast(targets[0][:, 0, 0] >= 0, "int32"))
        losses = ops.zeros(targets[0].shape[:1])
        state, losses = ops.fori_loop(
            0, number, train_on_next, (*state, losses)
        )
        return {"window_loss": losses}, state

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if sample_weight is not None:
            raise ValueError(
                "All tokens of a window have the same weight, so "
                "`LanguageModelTrainer` takes no `sample_weight`. Received: one"
            )
        model = self.language_model
        if training:
            losses = model._sampled_losses_of(y_pred, y, self._draws)
        else:
            losses = model._losses_of(y_pred, y)
        loss = sum(map(ops.mean, losses)) / 2
        self._window_loss.reset_state()  # The last value, not a mean.
        self._window_loss.update_state(loss)
        # The loss itself, with the gradient of the sum over a row.
        more = (y[0].shape[1] - 1) * (loss - ops.stop_gradient(loss))
        return loss + more

    def get_config(self):
        return {
            "name": self.name,
            "model": keras.saving.serialize_keras_object(self.language_model),
            "batch_size": self.batch_size,
            "reset_rate": self.reset_rate,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config):
        model = keras.saving.deserialize_keras_object(config["model"])
        return cls(**{**config, "model": model})
