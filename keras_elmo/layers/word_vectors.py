import os
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any
from typing import Self

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.layers.base_layers import TokenEncoder
from keras_elmo.ops.backends import backend
from keras_elmo.ops.inputs import as_ids
from keras_elmo.progress_bars import shows_bars
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_hashes import WordHashes
from keras_elmo.text.word_hashes import characters_of
from keras_elmo.text.word_hashes import hash_words

# The ids of the letters A and Z, and the way from there to lower case.
UPPER, TO_LOWER = (ord("A") + 1, ord("Z") + 1), ord("a") - ord("A")


@keras.saving.register_keras_serializable(package="keras_elmo")
class WordVectors(TokenEncoder):
    """Looks up a pretrained vector for each word, such as one of GloVe.

    ```
    y = vectors[w],  or 0 if neither the word nor its lower case is listed
    ```

    It takes the same character ids as an `ElmoLayer`, so that a model with both
    has one input, as the taggers of the paper have: `keras.layers.
    Concatenate()([elmo(ids), word_vectors(ids)])`. Most vectors come from a
    file: see `from_file`.

    A word is found as it is written, else in lower case. The letters A to Z are
    made lower case when it is looked up. Words with other letters are listed
    capitalised and in upper case, too, so that *Ärger* and *ÄRGER* have the
    vector of *ärger*, and *Москва* that of *москва*, but *МОСква* has none. A
    form is listed only if its lower case is the word: *STRASSE* has the vector
    of *strasse*, not that of *straße*. Words with the capitals U+0130, U+03F4,
    U+1E9E, U+2126, U+212A or U+212B (*İ*, *ϴ*, *ẞ*, and the signs of ohm,
    kelvin and ångström) are not found by their lower case.

    Each word takes 64 bytes and two per number. With 100 numbers, 50,000 words
    take 13 MB, and 400,000 take 106 MB. A word in lower case with other letters
    than A to Z takes up to 128 bytes more.

    Args:
        words: Iterable of strings, or of bytes of UTF-8. Of words that are
            equal, also because both are cropped, the first one counts.
        vectors: Array `(words, dim)`, the vector of each word. Vectors of mixed
            sources should have the same standard deviation.
        max_characters_per_token: Integer, the number of ids for each word. Must
            match that of the ELMo model.
        trainable: Boolean, whether the vectors are trained. They are then
            stored in float32, instead of float16. It cannot be changed later,
            except to freeze them.
        sizes: The dictionary that `get_config` returns in the place of `words`
            and `vectors`, which are among the weights. So a layer made by
            `from_config` or `clone_model` has zeros until `set_weights`.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Integer tensor of shape `(..., max_characters_per_token)`, as
            `batch_to_ids` returns it, with ids from 0 to 261.

    Input shape:
        `(..., max_characters_per_token)`.

    Output shape:
        `(..., dim)`.

    Masking:
        A word whose ids are all zero is padding. Its vector is zero, and it is
        masked in the output, as in that of an `ElmoLayer`.

    Raises:
        ValueError: If there is not one vector for each word, or none at all; if
            a vector is not finite, in float16 if it is frozen; or as for
            `CharCNNEmbedding`.

    Example:

    >>> word_vectors = WordVectors(["cat", "dog"], [[1.0, 2.0], [3.0, 4.0]])
    >>> ids = batch_to_ids([["Cat", "catalogue", "dog"]])
    >>> word_vectors(ids).numpy().tolist()
    [[[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]]

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365), section 3.3
    """

    def __init__(
        self,
        words: Iterable[str | bytes] | None = None,
        vectors: Any = None,
        *,
        max_characters_per_token: int = 50,
        trainable: bool = False,
        sizes: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, **kwargs)
        check_integer("max_characters_per_token", max_characters_per_token, 3)
        self.max_characters_per_token = max_characters_per_token
        self.indexer = ByteIndexer(max_characters_per_token)
        arrays = {}
        if sizes is None:
            dtype = "float32" if trainable else "float16"
            words, vectors = _checked(words, vectors, dtype)
            hashes, bucket_size = hash_words(words, self.indexer)
            arrays = {"vectors": vectors, **hashes._asdict()}
            sizes = {k: [x.dtype.name, *x.shape] for k, x in arrays.items()}
            sizes["bucket_size"] = bucket_size
        self.sizes = dict(sizes)
        self.projection_dim = sizes["vectors"][-1]
        names = "vectors", *WordHashes._fields
        self.vectors, *hashes = (self._array(x, arrays.get(x)) for x in names)
        self.hashes = WordHashes(*hashes)
        self.built = True
        self._pass_on_trainable()

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike,
        max_words: int = 400_000,
        *,
        verbose: int = 1,
        **kwargs: Any,
    ) -> Self:
        """Creates the layer from a file of GloVe, word2vec or fastText.

        The file is text, a word and its numbers in each line, with or without a
        first line that says how many there are, as GloVe's, word2vec's and
        fastText's (`.vec`) are; or word2vec's binary format. It may be gzip.
        With that first line, words may be phrases that end in a number.
        The vectors are divided by the standard deviation of their numbers.

        Args:
            path: Path of the file.
            max_words: Integer, how many words to read. Such files begin with
                the most frequent words, so that 50,000 are enough for most of a
                text.
            verbose: 1 for a progress bar, if the output is a terminal or a
                notebook; or 0.
            **kwargs: As for the constructor, such as `trainable`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is something else, corrupt or truncated; the
                message states the line, what was expected and what was found.

        Example:

        >>> with open("vectors.txt", "w") as file:
        ...     _ = file.write("cat 0.5 -1.5\\ndog 1.0 2.0\\n")
        >>> word_vectors = WordVectors.from_file("vectors.txt", verbose=0)
        >>> tuple(word_vectors(batch_to_ids([["A", "cat"]])).shape)
        (1, 2, 2)
        """
        from keras_elmo.formats.word_vector_files import read_word_vectors

        check_integer("max_words", max_words, 1)
        verbose = int(verbose and shows_bars())
        bar = keras.utils.Progbar(None, verbose=verbose, unit_name="word")
        words, vectors = read_word_vectors(path, max_words, lambda: bar.add(1))
        bar.update(len(words), finalize=True)
        deviation = float(vectors.std(dtype="float64"))  # It may overflow.
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(words, vectors / deviation, **kwargs)

    def _array(self, name, array):
        """Adds a weight, with the values of an array or, if `None`, zeros."""
        dtype, *shape = self.sizes[name]
        return self.add_weight(
            shape,
            "zeros" if array is None else lambda *_, **__: array,
            dtype=dtype,
            trainable=dtype == "float32",
            autocast=False,
            name=name,
        )

    def call(self, inputs):
        shape = self.compute_output_shape(inputs.shape)  # Checks it, too.
        ids = as_ids(inputs, self.num_ids, self.name)
        words = ops.reshape(ids, (-1, *self.token_shape))
        is_upper = (words >= UPPER[0]) & (words <= UPPER[1])
        lower = ops.where(is_upper, words + TO_LOWER, words)
        number, is_listed = find_words(
            ops.stack([words, lower]), self.hashes, self.sizes["bucket_size"]
        )  # (2, n)
        number = ops.where(is_listed[0], number[0], number[1])
        x = backend().rows_of(self.vectors, number)  # (n, dim)
        x = x if self.vectors.trainable else ops.stop_gradient(x)
        x = ops.cast(x, self.compute_dtype)
        x = ops.where(ops.any(is_listed, axis=0)[:, None], x, 0)
        return ops.reshape(x, (*ops.shape(ids)[:-1], shape[-1]))

    def get_config(self):
        return {
            **super().get_config(),
            "max_characters_per_token": self.max_characters_per_token,
            "sizes": self.sizes,
        }


def find_words(ids, hashes, bucket_size):
    """Finds words in a hash table.

    Args:
        ids: int32 `(..., chars)`.
        hashes: `WordHashes`.
        bucket_size: Integer, the most words in a bucket.

    Returns:
        int32 `(...,)`, the number of each word in the list, and boolean
        `(...,)`, whether it is listed.
    """
    rows_of = backend().rows_of
    factors = ops.unstack(hashes.factors.value)
    buckets, sums = (ops.sum(ids * x, axis=-1) for x in factors)  # (...,)
    buckets = buckets % hashes.starts.shape[0]
    first = rows_of(hashes.starts, buckets)  # (...,)
    rows = first[..., None] + ops.arange(bucket_size, dtype="int32")
    has_sum = rows_of(hashes.sums, rows) == sums[..., None]  # At most one.
    row = ops.sum(ops.where(has_sum, rows, 0), axis=-1)  # (...,)
    found = ops.cast(rows_of(hashes.characters, row), "int32")
    is_equal = ops.all(found == characters_of(ids), axis=-1)
    return rows_of(hashes.numbers, row), ops.any(has_sum, axis=-1) & is_equal


def _checked(words, vectors, dtype):
    """Returns words as bytes, and their vectors."""
    is_string = isinstance(words, (str, bytes))
    given = [] if words is None else [*words]
    odd = [x for x in given if not isinstance(x, (str, bytes))]
    if is_string or odd:
        raise ValueError(
            "The words must be an iterable of strings or bytes. Received: "
            f"{words if is_string else odd[0]!r}"
        )
    words = [
        x.encode("utf-8", "ignore") if isinstance(x, str) else x for x in given
    ]
    with np.errstate(over="ignore"):
        vectors = np.asarray(vectors, dtype)
    if vectors.ndim != 2 or len(vectors) != len(words) or not vectors.size:
        raise ValueError(
            "`WordVectors` takes words, at least one, and their vectors, an "
            f"array (words, dim). Received: {len(words)} words, and an array "
            f"of shape {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise ValueError(
            f"The vectors must be finite in {dtype}, and not all be equal. "
            "Received: NaN, infinity, or larger numbers"
        )
    return words, vectors
