"""Trains a language model on words that are given by their numbers."""

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.backends import backend
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.pretraining.language_model_trainer import LanguageModelTrainer
from keras_elmo.pretraining.numbered_text import character_ids

# The least number of words to encode at a time.
_LEAST_WORDS = 64


class WordTrainer(LanguageModelTrainer):
    """Trains on windows of words, whose characters are on the device.

    The distinct words of a window are encoded once each. A call of the
    training function takes several windows on JAX, which costs the host as much
    time as one.

    Args:
        words: List of the words, as bytes, by their numbers.
        *args: As for `LanguageModelTrainer`.

    Call arguments:
        inputs: Three int32 tensors: the numbers of distinct words, `(words,
            1)`; and for each direction the index of each word in them,
            `(batch, time)`.
    """

    def __init__(self, model, words, *args):
        self._table = character_ids(words, model.token_encoder.indexer)
        super().__init__(model, *args)
        del self._table

    def build(self, input_shape=None):
        if self.built:
            return
        super().build()
        self.characters = self.add_weight(
            shape=self._table.shape,
            initializer=lambda *_, **__: ops.convert_to_tensor(self._table),
            dtype="int16",
            trainable=False,
            autocast=False,
            name="characters",
        )

    def token_vectors(self, inputs):
        words, *indices = inputs
        words = backend().rows_of(self.characters, words[:, 0])
        vectors = self.language_model.token_encoder(
            ops.cast(words, "int32"), training=True
        )
        # In half precision, the gradients of a frequent word would be rounded.
        dtype = vectors.dtype
        vectors = ops.cast(vectors, wide_dtype(dtype))
        # `tf.data` does not know how many rows there are.
        indices = [ops.reshape(x, (self.batch_size, -1)) for x in indices]
        indices = ops.stack([ops.transpose(x) for x in indices])
        # (2, time, batch, projection)
        return ops.cast(ops.take(vectors, indices, axis=0), dtype)

    def train_step(self, *args):
        *state, data = args
        inputs, targets, _ = keras.utils.unpack_x_y_sample_weight(data)
        train = super().train_step
        if not state:  # Only JAX passes the values of the variables.
            return train((inputs, targets))
        windows = inputs[0].shape[1]
        steps = targets[0].shape[1] // windows

        def train_on_next(i, carry):
            state, losses = carry
            words = _columns(inputs[0], i, 1)
            indices, pair = keras.tree.map_structure(
                lambda x: _columns(x, i, steps), (inputs[1:], targets)
            )
            logs, state = train(state, ((words, *indices), pair))
            loss = ops.reshape(logs["window_loss"], (1,))
            return state, ops.slice_update(losses, (i,), loss)

        # The other windows are padding.
        number = ops.sum(ops.cast(targets[0][0, ::steps] >= 0, "int32"))
        state, losses = ops.fori_loop(
            0, number, train_on_next, (*state, ops.zeros((windows,)))
        )
        return {"window_loss": losses}, state


def _columns(x, i, width):
    """Returns `x[:, i * width : (i + 1) * width]`."""
    return ops.slice(x, (0, i * width), (x.shape[0], width))


class WindowBatches:
    """Joins windows for the calls of a `WordTrainer`.

    Args:
        targets: int32 `(words,)`, what the model predicts for each word, by its
            number.
        most: Integer, the number of windows of a call.
    """

    def __init__(self, targets, most):
        self._targets = targets
        self._most = most
        # For each word, where it is in the list of distinct words.
        self._index_of = np.empty(len(targets), "int32")

    def join(self, windows):
        """Makes a batch of some `TextWindow`s of the same shape.

        Args:
            windows: List of one to `most` windows.

        Returns:
            `(inputs, targets)`. The inputs are as for `WordTrainer`, and the
            targets a pair of arrays `(rows, time)`. The columns are those of
            `most` windows, one after the other; the targets after the last
            window are -1.
        """
        _, rows, steps = windows[0].inputs.shape
        found = [self._distinct(window.inputs) for window in windows]
        size = _padded_size(max(len(words) for words, _ in found))
        words = np.zeros((size, self._most), "int32")
        indices = np.zeros((2, rows, self._most * steps), "int32")
        targets = np.full(indices.shape, -1, "int32")
        for i, (window, (distinct, index)) in enumerate(zip(windows, found)):
            words[: len(distinct), i] = distinct
            columns = slice(i * steps, (i + 1) * steps)
            indices[..., columns] = index
            targets[..., columns] = self._targets[window.targets]
        return (words, *indices), tuple(targets)

    def _distinct(self, words):
        """Returns the distinct words, and the index of each word in them."""
        flat = words.ravel()
        everywhere = np.arange(len(flat), dtype="int32")
        # Of several positions of a word, one is kept, whichever it is.
        self._index_of[flat] = everywhere
        distinct = flat[self._index_of[flat] == everywhere]
        self._index_of[distinct] = everywhere[: len(distinct)]
        return distinct, self._index_of[words]


def _padded_size(number):
    """Rounds up to one of a few sizes, as JAX compiles each of them."""
    unit = max(_LEAST_WORDS, 2 ** (number.bit_length() - 1) // 4)
    return -(-number // unit) * unit
