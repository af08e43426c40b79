"""Measures how well a language model predicts a text."""

from collections.abc import Iterable
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_elmo.ops.compiled import Compiled
from keras_elmo.pretraining.numbered_text import WordNumbers
from keras_elmo.pretraining.numbered_text import character_ids
from keras_elmo.pretraining.text_windows import sentence_windows
from keras_elmo.pretraining.text_windows import stream_windows

# The maximum number of logits of one direction at a time: 128 MB.
_MAX_LOGITS = 2**25
_MAX_TOKENS = 4096
_MAX_STEPS = 256


class Perplexity(NamedTuple):
    """The result of `Evaluator.evaluate`."""

    perplexity: float
    """`exp` of the mean of both directions' mean losses"""
    forward: float
    """The perplexity of the forward direction only"""
    backward: float
    tokens: int
    """How many tokens each direction predicts: all words, and one BOS or EOS
    token per sentence"""


class Evaluator:
    """Measures a language model's perplexity, with its full softmax.

    ```
    perplexity = exp((mean forward loss + mean backward loss) / 2)
    ```

    Every loss is exact, in nats, without dropout. A word outside the vocabulary
    is predicted as `<UNK>`, and read by its characters.

    The perplexities of two models are comparable if the same words count, which
    are those of `counted`. Every other word is then `<UNK>`, whose probability
    is the sum of the probabilities of all words of the model that do not count.

    There are two procedures:

    - `"stream"`: as in bilm-tf, the text is one stream of its sentences in the
      order of the file, and the state is carried from each to the next. The
      backward direction reads the sentences in the same order, each reversed.
    - `"sentences"`: each sentence separately, as `ElmoLayer` reads it.

    Args:
        model: A built `BidirectionalLanguageModel`.
        vocabulary: Its `Vocabulary`.
        procedure: `"stream"` or `"sentences"`.
        rows: Integer, the number of streams among which the sentences are
            divided. 1 is bilm-tf's procedure. More are faster, but then a
            sentence does not start from the state of the sentence before it in
            the text.
        counted: Set of words, as bytes, that the model predicts. Defaults to
            all of them.
    """

    def __init__(
        self, model, vocabulary, procedure="stream", rows=1, counted=None
    ):
        self._model = model
        self.vocabulary = vocabulary
        self._is_stream = procedure == "stream"
        self._rows = rows
        self._is_unknown = None
        if counted is not None:
            self._is_unknown = _is_unknown(vocabulary, counted)
        windows = (1, 8)  # rows, steps
        self._measure = Compiled(
            self._measure_window, model, (windows, windows, windows, (1,))
        )

    def evaluate(
        self, sentences: Iterable[list[bytes]], on_progress=None
    ) -> Perplexity:
        """Measures the perplexity of a text.

        Args:
            sentences: The text, each sentence a list of words as bytes.
            on_progress: Function, called with the number of tokens done.

        Returns:
            A `Perplexity`.
        """
        sums, count = np.zeros(2), 0
        for window, losses in self._losses(sentences):
            sums += losses.sum(axis=1, dtype="float64")
            count += int(window.is_real.sum())
            if on_progress is not None:
                on_progress(count)
        losses = [sums.mean() / count, *sums / count]
        with np.errstate(over="ignore"):  # A useless model's is infinite.
            perplexity, forward, backward = np.exp(losses).tolist()
        return Perplexity(perplexity, forward, backward, count)

    def sentence_losses(self, sentences: list[list[bytes]]) -> np.ndarray:
        """Measures the loss of each sentence, with the procedure "sentences".

        Args:
            sentences: As for `evaluate`.

        Returns:
            float32 array `(sentences, 2)`: the losses of the forward and of the
            backward direction, summed over the tokens.
        """
        found = np.zeros((len(sentences), 2), "float32")
        for window, losses in self._losses(sentences):
            found[window.sentences] = losses.T
        return found

    def _losses(self, sentences):
        """Yields windows, and the sums of their rows' losses `(2, rows)`."""
        state, words = None, WordNumbers()
        numbered = [words.numbers_of(sentence) for sentence in sentences]
        indexer = self._model.token_encoder.indexer
        characters = character_ids(words.words, indexer)
        ids = self.vocabulary.ids(words.words)
        for window in self._windows(numbered):
            rows = len(window.is_real)
            if state is None or not self._is_stream:
                state = self._model.get_initial_state(rows)
            inputs = list(characters[window.inputs].astype("int32"))
            targets = list(ids[window.targets])
            tensors = keras.tree.map_structure(
                ops.convert_to_tensor, (inputs, targets, window.is_real)
            )
            losses, state = self._measure(*tensors, state)
            # Without the rows that pad the window.
            yield window, ops.convert_to_numpy(losses)[:, :rows]

    def _windows(self, sentences):
        tokens = min(_MAX_TOKENS, _MAX_LOGITS // len(self.vocabulary))
        if not self._is_stream:
            return sentence_windows(sentences, tokens)
        steps = max(1, min(_MAX_STEPS, tokens // self._rows))
        return stream_windows(sentences, self._rows, steps)

    def _measure_window(self, inputs, targets, is_real, state):
        # JAX pads the windows, and the next one continues from the state.
        hidden, state = self._model._predict_hidden(
            inputs, state, is_real=is_real
        )
        losses = self._model._losses_of(hidden, targets, self._is_unknown)
        losses = ops.where(is_real, ops.stack(losses), 0)  # (2, rows, steps)
        return ops.sum(losses, axis=-1), state


def _is_unknown(vocabulary, counted):
    """Returns an array `(words,)`, true for words that do not count."""
    words = vocabulary.words
    odd = sorted(counted.difference(words))
    if odd:
        names = b", ".join(odd[:3]).decode(errors="replace")
        raise ValueError(
            "Only words that the model predicts can be counted. Received: "
            f"{len(odd):,} others, such as {names}. Add the model's own "
            "vocabulary, so that only the words in both count"
        )
    is_unknown = np.array([word not in counted for word in words])
    is_unknown[vocabulary.unknown_id] = True
    return is_unknown
