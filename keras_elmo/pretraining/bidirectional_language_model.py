import functools
import itertools
import os
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.layers.bilm_base import BiLMBase
from keras_elmo.layers.bilm_base import build_once
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.bilm_encoder import run_directions
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.vocabulary_softmax import VocabularySoftmax
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.text.vocabulary import covered_share
from keras_elmo.text.word_lists import sentence_words


@keras.saving.register_keras_serializable(package="keras_elmo")
class BidirectionalLanguageModel(BiLMBase, keras.Model):
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
        words: List of `vocabulary_size` strings, the words that can be
            predicted. Bytes that are not UTF-8 are surrogates, as in
            `os.fsdecode`. Defaults to `None`: the model works without them.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Pair of integer tensors, the ids that the forward and the
            backward stack read, each in reading order: `(batch, time,
            *token_shape)`. The two need not be from the same text.
        training: Boolean, whether to apply dropout.
        initial_state: List of tensors, as returned with `return_state`.
            Defaults to zeros.
        return_state: Boolean, whether to return the last states as well.

    Returns:
        The forward and the backward logits, a list of two float32 tensors
        `(batch, time, vocabulary_size)`: entry `t` is for the token that
        follows the `t`-th one in reading order. With `return_state`, a tuple
        of this list and the states, as in `logits, *states = model(ids,
        return_state=True)`.

    Masking:
        None: each row is read to its end. The windows of a continuous text are
        full. In a shorter row, the padding at the end has no effect on the
        tokens before it. `perplexity` and `log_probabilities` leave its losses
        out, the training does not.

    Saving:
        Import the class before `keras.saving.load_model` loads a `.keras` file
        with it in another process. `import keras_elmo` is enough for all
        layers, but does not import what only training needs.

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
        *,
        num_negatives: int = 8192,
        dropout: float = 0.1,
        words: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(token_encoder, encoder, **kwargs)
        self.vocabulary_size = vocabulary_size
        self.words = words
        self.num_negatives = num_negatives
        self.dropout = dropout
        self.softmax = VocabularySoftmax(
            vocabulary_size,
            num_negatives,
            dtype=self.dtype_policy,
            name="softmax",
        )
        self._seed = keras.random.SeedGenerator()

    @property
    def words(self) -> tuple[str, ...] | None:
        """Tuple of strings, the word of each entry of the logits' last axis."""
        return self._words

    @words.setter
    def words(self, words: Iterable[str] | None) -> None:
        words = None if words is None else tuple(words)
        if words is not None and len(words) != self.vocabulary_size:
            raise ValueError(
                "`words` must have `vocabulary_size` words. Received: "
                f"{len(words)} words, vocabulary_size={self.vocabulary_size}"
            )
        self._words = words
        self.__dict__.pop("_evaluator", None)

    @property
    def input_dtype(self):
        """The input dtype of an exported model, which takes ids."""
        return "int32"

    def build(self, input_shape=None):
        dim = self._build_bilm(self.token_encoder.token_shape)
        build_once(self.softmax, (None, dim))
        self.built = True

    def call(
        self, inputs, *, training=None, initial_state=None, return_state=False
    ):
        seed = self._seed if training else None
        hidden, state = self._predict_hidden(inputs, initial_state, seed)
        # The sizes that are known, for Keras' symbolic tensors.
        shape = (*ops.shape(inputs[0])[:2], self.vocabulary_size)
        logits = [ops.transpose(self.softmax(h), (1, 0, 2)) for h in hidden]
        logits = [ops.reshape(x, shape) for x in logits]
        return (logits, *state) if return_state else logits

    def perplexity(self, sentences: Iterable[Iterable[str]]) -> float:
        """Measures how well the model predicts sentences.

        ```
        perplexity = exp(-sum(log_probabilities) / (2 * tokens))
        ```

        This is what `keras-elmo perplexity --procedure sentences` prints. A
        lower perplexity is better. Compare it only with perplexities of the
        same text and the same vocabulary.

        Args:
            sentences: As for `log_probabilities`.

        Returns:
            Float. The tokens are all words, and one `</S>` per sentence.

        Raises:
            ValueError: As for `log_probabilities`, or without sentences, or if
                all their words are outside the vocabulary. If more than a tenth
                are, there is a warning.

        Example:

        >>> model = BidirectionalLanguageModel.from_preset("english_mini")
        >>> model.perplexity([["She", "sat", "on", "the", "bank", "."]]) < 200
        True
        """
        sentences = _word_lists(sentences)
        if not sentences:
            raise ValueError(
                "`sentences` must have at least one sentence. Received: none"
            )
        known = self._evaluator.vocabulary.words
        covered_share(itertools.chain(*sentences), known)
        return self._evaluator.evaluate(sentences).perplexity

    def log_probabilities(
        self, sentences: Iterable[Iterable[str]]
    ) -> np.ndarray:
        """Computes how probable each sentence is, by both directions.

        Each sentence is read from a zero state, as in `ElmoLayer`. A word
        outside the vocabulary is read by its characters, and predicted as
        `<UNK>`, so a sentence with a rare word can look too probable.

        Args:
            sentences: Iterable of sentences, each a list of words.

        Returns:
            float32 array of shape `(sentences, 2)`, natural logarithms. The
            first column has the forward direction's `log p(words, </S>)`, the
            second the backward direction's, from the last word to `<S>`. Each
            is a probability of the whole sentence, so their sum is only a
            score, but often a better one than either.

        Raises:
            ValueError: If the model has no `words`, or if a sentence is a
                string instead of a list of words.

        Example:

        >>> model = BidirectionalLanguageModel.from_preset("english_mini")
        >>> right, wrong = model.log_probabilities(
        ...     [["The", "cats", "are", "here"], ["The", "cats", "is", "here"]]
        ... )
        >>> bool(right[0] > wrong[0])
        True
        """
        return -self._evaluator.sentence_losses(_word_lists(sentences))

    @functools.cached_property
    def _evaluator(self):
        if self.words is None:
            raise ValueError(
                "The model must know its `words` to find the probability of a "
                "sentence. Received: words=None. Load it with `from_preset`, "
                "or set `model.words` to all words that it predicts"
            )
        words = (word.encode(errors="surrogateescape") for word in self.words)
        return Evaluator(self, Vocabulary(words), "sentences")

    def _predict_hidden(
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
        vectors = self._token_vectors(inputs, training=seed is not None)
        return self._hidden_of(vectors, initial_state, seed, is_real)

    def _token_vectors(self, inputs, training=False):
        """Encodes the tokens of both directions, `(2, time, batch, dim)`."""
        batch, time = ops.shape(inputs[0])[:2]
        # One call, so that each word is encoded once for both directions.
        shape = (-1, *self.token_encoder.token_shape)
        ids = ops.concatenate([ops.reshape(x, shape) for x in inputs])
        # (2 * batch * time, projection)
        vectors = self.token_encoder(ids, training=training)
        shape = (2, batch, time, self.encoder.direction_dim)
        return ops.transpose(ops.reshape(vectors, shape), (0, 2, 1, 3))

    def _hidden_of(self, vectors, initial_state=None, seed=None, is_real=None):
        """Runs the LSTMs on what `_token_vectors` returns.

        The other arguments and the results are those of `_predict_hidden`.
        """
        training = seed is not None
        if initial_state is None:
            initial_state = self.get_initial_state(ops.shape(vectors)[2])
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

    def _losses_of(self, hidden, targets, is_unknown=None):
        """Computes the loss of each word exactly, with the full softmax.

        Args:
            hidden: The two tensors that `_predict_hidden` returns.
            targets: Pair of integer tensors `(batch, time)`, the vocabulary
                index of the word that follows each input.
            is_unknown: Boolean array `(vocabulary_size,)`, `True` for the words
                that count as one word, with the sum of their probabilities.
                Defaults to none.

        Returns:
            The losses in nats, two float32 tensors `(batch, time)`, for the
            forward and the backward direction.
        """
        return [
            ops.transpose(
                self.softmax.losses(h, ops.transpose(words), is_unknown)
            )
            for h, words in zip(hidden, targets)
        ]

    def _sampled_losses_of(self, hidden, targets, seed):
        """Estimates the loss of each word, with the sampled softmax.

        Each direction draws its own negative samples, unless `seed` is an
        integer.

        Args:
            hidden: As for `_losses_of`.
            targets: As for `_losses_of`.
            seed: Integer or `keras.random.SeedGenerator`.

        Returns:
            As for `_losses_of`.
        """
        time, batch, dim = ops.shape(hidden[0])
        # Row by row, so that devices that have some rows each need no others.
        hidden = [ops.transpose(h, (1, 0, 2)) for h in hidden]
        losses = self.softmax.sampled_losses(
            [ops.reshape(h, (-1, dim)) for h in hidden],
            [ops.reshape(x, (-1,)) for x in targets],
            seed,
        )
        return [ops.reshape(x, (batch, time)) for x in losses]

    def compute_output_spec(self, *args, **kwargs):
        # Found by tracing: not all outputs have the compute dtype.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)

    def compute_output_shape(self, input_shape):
        return [(*shape[:2], self.vocabulary_size) for shape in input_shape]

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "num_negatives": self.num_negatives,
            "dropout": self.dropout,
            "words": self.words and list(self.words),
        }

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike, *, dtype: Any = None
    ) -> "BidirectionalLanguageModel":
        """Loads a trained language model, with its softmax.

        Args:
            preset: `"english_mini"`, or the path of a folder or `.zip` that
                `keras-elmo pretrain` or bilm-tf's training wrote.
            dtype: Keras dtype or policy.

        Returns:
            A `BidirectionalLanguageModel` with its `words`, or an instance of
            the subclass that this is called on.

        Raises:
            ValueError: If the model has no softmax or no vocabulary, or a file
                is corrupt.
        """
        model, vocabulary = load_language_model(cls, preset, dtype=dtype)
        words = vocabulary.words
        model.words = tuple(w.decode(errors="surrogateescape") for w in words)
        return model


def _word_lists(sentences):
    """Returns the sentences as lists of words, as bytes."""
    return [sentence_words(words, i) for i, words in enumerate(sentences)]
