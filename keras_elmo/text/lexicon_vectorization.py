from collections.abc import Sequence
from typing import Any

import keras

from keras_elmo.text import lexicon as names
from keras_elmo.text.lexicon import Lexicon
from keras_elmo.text.word_vectorization import WordVectorization


@keras.saving.register_keras_serializable(package="keras_elmo")
class LexiconVectorization(WordVectorization):
    """Turns words, or sentences, into ids of listed characters and words.

    ```
    ids = [<bow>, characters of the word, <eow>, <pad>, <pad>, ..., word]
    ```

    Each is a place in a list, plus one. Characters are Unicode code points;
    those, and words, that are not listed are `<oov>`. Without a list of words
    the last id is not there. `LexiconEmbedding.make_vectorization` makes the
    one that goes with a model.

    The ids are made in Python by `batch_to_ids`, on any backend, or inside a
    TensorFlow graph by a call. In the ids the two marks of a word are swapped,
    as in ELMoForManyLangs' models.

    Args:
        characters: As for `LexiconEmbedding`.
        words: As for `LexiconEmbedding`.
        max_characters_per_token: As for `LexiconEmbedding`.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: As for `CharacterVectorization`.
        sequence_len: As for `CharacterVectorization`.

    Input shape:
        `(batch,)` or `(batch, time)`.

    Output shape:
        `(batch, time, max_characters_per_token)`, of int32, and one wider with
        `words`.

    Masking:
        As for `CharacterVectorization`: padding has rows of zeros.

    Raises:
        ValueError: As `CharacterVectorization`; and if a list lacks a special
            entry, or holds one twice.
        RuntimeError: When called on Keras' JAX or PyTorch backend; there, use
            `batch_to_ids`.

    Example:

    >>> special = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
    >>> layer = LexiconVectorization([*special, "a", "é"], None, 5)
    >>> layer.batch_to_ids([["éa", "x"]]).tolist()
    [[[6, 8, 7, 5, 4], [6, 3, 5, 4, 4]]]
    >>> layer(["éa x"]).numpy().tolist()
    [[[6, 8, 7, 5, 4], [6, 3, 5, 4, 4]]]

    Reference:

    - [Che et al., 2018](https://aclanthology.org/K18-2005)
    """

    def __init__(
        self,
        characters: Sequence[str],
        words: Sequence[str] | None = None,
        max_characters_per_token: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._lexicon = Lexicon(characters, words, max_characters_per_token)

    @property
    def token_shape(self):
        return self._lexicon.token_shape

    @property
    def num_ids(self):
        return self._lexicon.num_ids

    @property
    def boundary_words(self):
        return names.BEGIN_SENTENCE.encode(), names.END_SENTENCE.encode()

    @property
    def begin_id(self):
        return self._lexicon.special_id(names.BEGIN_WORD)

    def ids_of_words(self, words):
        return self._lexicon.ids_of_words(words)

    def ids_in_graph(self, words):
        from keras_elmo.text.graph_lexicon_ids import lexicon_ids_in_graph

        return lexicon_ids_in_graph(words, self._lexicon)

    def is_cropped(self, word):
        is_mark = word in self.boundary_words
        return not is_mark and self._lexicon.is_cropped(word)

    def shortened(self, word):
        # No code point has more bytes than four.
        return word[: 4 * self._lexicon.width]

    def get_config(self):
        return {**super().get_config(), **self._lexicon.config()}
