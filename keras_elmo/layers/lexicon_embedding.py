from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.layers.character_cnn import CharacterCNN
from keras_elmo.ops.inputs import check_range
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import set_mask
from keras_elmo.ops.weights import affine
from keras_elmo.ops.weights import look_up
from keras_elmo.ops.weights import new_weight
from keras_elmo.text.character_indexer import CharacterIndexer


@keras.saving.register_keras_serializable(package="keras_elmo")
class LexiconEmbedding(CharacterCNN):
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
        num_highways: int = 2,
        embedding_dim: int = 50,
        word_embedding_dim: int = 100,
        activation: str | Callable[..., Any] = "relu",
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            num_highways,
            embedding_dim,
            activation,
            max_characters_per_token,
            **kwargs,
        )
        check_integer("projection_dim", projection_dim, 1)
        check_integer("word_embedding_dim", word_embedding_dim, 1)
        self.projection_dim = projection_dim
        self.word_embedding_dim = word_embedding_dim
        self.indexer = CharacterIndexer(
            characters, words, max_characters_per_token
        )
        # Whether listed words have their own vectors.
        self.has_words = self.indexer.num_words > 0

    def build(self, input_shape):
        self.build_characters(self.indexer.num_characters)
        features = self.num_filters
        if self.has_words:
            features += self.word_embedding_dim
            self.word_embeddings = new_weight(
                self,
                "word_embeddings",
                (self.indexer.num_words, self.word_embedding_dim),
                keras.initializers.RandomUniform(-0.25, 0.25),
            )
        self.build_projection(features)

    def read_ids(self, ids):
        ids = super().read_ids(ids)
        # A symbolic input has no values to check, and Keras would store the
        # operations as layers of the model.
        if not self.has_words or isinstance(ids, keras.KerasTensor):
            return ids
        # The two lists differ in size.
        num_characters = self.indexer.num_characters
        num_words = self.indexer.num_words
        characters, word = ids[..., :-1], ids[..., -1:]
        checked = ops.concatenate(
            [
                check_range(characters, num_characters + 1, self.name),
                check_range(word, num_words + 1, self.name),
            ],
            axis=-1,
        )
        mask = get_mask(ids)
        if mask is not None:
            set_mask(checked, mask)
        return checked

    def _encode(self, rows, training):
        width = self.max_characters_per_token
        x = self.encode_characters(rows[:, :width], training)
        if self.has_words:
            # Padding may have any vector.
            words = look_up(
                rows[:, -1], self.word_embeddings, self.compute_dtype
            )
            x = ops.concatenate([words, x], axis=-1)
        # (words, projection)
        return affine(x, self.projection_kernel, self.projection_bias)

    def get_config(self):
        return {
            **super().get_config(),
            **self.indexer.get_config(),
            "projection_dim": self.projection_dim,
            "word_embedding_dim": self.word_embedding_dim,
        }
