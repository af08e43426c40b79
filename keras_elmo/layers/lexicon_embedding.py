from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.layers.base_layers import affine
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.text.character_indexer import CharacterIndexer


@keras.saving.register_keras_serializable(package="keras_elmo")
class LexiconEmbedding(CharCNNEmbedding):
    """Embeds words from characters and, if listed, from a vector per word.

    ```
    e = embeddings[ids - 1]                            (chars, embedding_dim)
    f_w = activation(max over positions(conv_w(e)) + bias_w)     for each width
    x = highways(concatenate(f_1, f_2, ...))                       (filters,)
    v = word_embeddings[word_id - 1]                     (word_embedding_dim,)
    y = concatenate(v, x) @ projection_kernel + projection_bias
    ```

    This is the token encoder of ELMoForManyLangs' models. Characters are
    Unicode code points, and each model has its own list of them. Without
    `words` there is no `v`.

    Args:
        characters: List of distinct strings, each a single code point, plus the
            special entries `<bos>`, `<eos>`, `<oov>`, `<pad>`, `<bow>` and
            `<eow>`.
        words: List of distinct strings including `<oov>`, or `None`.
        projection_dim: Integer, size of a word's vector.
        filters: Pairs `(width, number of filters)`, one for each convolution.
        num_highways: Integer, number of `Highway` layers; may be 0.
        embedding_dim: Integer, size of a character's vector.
        word_embedding_dim: Integer, size of the vector `v` of a listed word.
        activation: Activation of the convolutions; must be non-decreasing, as
            it is applied after the maximum.
        max_characters_per_token: Integer, number of character ids for each
            word, including `<bow>` and `<eow>`.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of ids, as the layer `make_vectorization()`
            returns them.

    Input shape:
        `(..., max_characters_per_token)`, or with `words`
        `(..., max_characters_per_token + 1)`.

    Output shape:
        `(..., projection_dim)`.

    Masking:
        A word whose ids are all zero is padding. It is masked in the output,
        where its vector is an arbitrary constant.

    Raises:
        ValueError: If a list lacks a special entry or has duplicates; or the
            ids are not integers, have the wrong width, or are out of range. In
            compiled functions, TensorFlow raises `InvalidArgumentError` for ids
            out of range; JAX and XLA cannot check values, and return wrong
            vectors.

    Example:

    >>> special = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    >>> layer = LexiconEmbedding(
    ...     [*special, "a", "b"], projection_dim=8, filters=[(1, 4), (2, 12)]
    ... )
    >>> ids = layer.make_vectorization().batch_to_ids([["a", "b", "ab"]])
    >>> tuple(layer(ids).shape)
    (1, 3, 8)

    Reference:

    - [Che et al., 2018](https://aclanthology.org/K18-2005)
    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365)
    """

    def __init__(
        self,
        characters: Sequence[str],
        words: Sequence[str] | None = None,
        projection_dim: int = 512,
        filters: Iterable[Sequence[int]] = PAPER_FILTERS,
        *,
        num_highways: int = 2,
        embedding_dim: int = 50,
        word_embedding_dim: int = 100,
        activation: str | Callable[..., Any] = "relu",
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            projection_dim,
            filters,
            num_highways=num_highways,
            embedding_dim=embedding_dim,
            activation=activation,
            max_characters_per_token=max_characters_per_token,
            **kwargs,
        )
        check_integer("projection_dim", projection_dim, 1)
        self.has_projection = True
        check_integer("word_embedding_dim", word_embedding_dim, 1)
        self.word_embedding_dim = word_embedding_dim
        self.indexer = CharacterIndexer(
            characters, words, max_characters_per_token
        )
        # Whether listed words have their own vectors.
        self.has_words = self.indexer.num_words > 0

    def build(self, input_shape):
        self._build_characters(self.indexer.num_characters)
        features = self.num_filters
        if self.has_words:
            features += self.word_embedding_dim
            shape = (self.indexer.num_words, self.word_embedding_dim)
            uniform = keras.initializers.RandomUniform(-0.25, 0.25)
            self.word_embeddings = new_weight(
                self, "word_embeddings", shape, uniform
            )
        self._build_projection(features)

    @property
    def num_ids(self):
        # The two lists differ in size.
        characters = [self.indexer.num_characters + 1]
        words = [self.indexer.num_words + 1] * self.has_words
        return np.array(self.max_characters_per_token * characters + words)

    def _encode(self, words, training):
        width = self.max_characters_per_token
        x = self._encode_characters(words[:, :width], training)
        if self.has_words:
            # Id i is row i - 1; padding may have any vector.
            rows = ops.maximum(words[:, -1] - 1, 0)
            table = read_weight(self.word_embeddings, self.variable_dtype)
            v = ops.take(table, rows, axis=0)
            x = ops.concatenate([ops.cast(v, x.dtype), x], axis=-1)
        return affine(x, self.projection_kernel, self.projection_bias)

    def get_config(self):
        return {
            **super().get_config(),
            **self.indexer.get_config(),
            "word_embedding_dim": self.word_embedding_dim,
        }
