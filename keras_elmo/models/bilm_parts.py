"""The token encoder and the encoder of a biLM's files."""

import os

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.bilm_arrays import read_arrays
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.bilm_shapes import bilm_shapes
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.known_word_embedding import KnownWordEmbedding
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.models.bilm_variables import assign_bilm_weights
from keras_elmo.text.special_words import UNKNOWN
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.word_table import WordTable

_WAYS = ("characters", "unk", "error")


class BilmParts:
    """Makes the parts of an `ElmoLayer`, and reads their weights.

    Args:
        files: As `open_bilm` yields it.
        token_embeddings: As for `ElmoLayer.from_bilm`, like the following.
        vocabulary: Likewise.
        unknown_words: Likewise.
        dtype: Keras dtype or policy of the layers.
    """

    def __init__(
        self, files, token_embeddings, vocabulary, unknown_words, dtype
    ):
        options = parse_language_model_options(
            files.read_options(), files.options_label
        )
        self._dtype = dtype
        self._rows = None
        words = _words(vocabulary, files, options, token_embeddings)
        way = _checked_way(unknown_words, options, words)
        if token_embeddings is not None:
            self._rows = _read_rows(token_embeddings, options, len(words))
        # Before the layers are made, whose sizes the options say, be they as
        # damaged as they may.
        self._arrays = _read_arrays(files, options, way, self._rows)
        self.encoder = BiLMEncoder(
            dtype=dtype, name="encoder", **options.encoder
        )
        if self._rows is None and not options.is_word_input:
            self.token_encoder = self._char_cnn(options, "token_encoder")
        elif way != "characters":
            self.token_encoder = self._known_words(
                options, words, way, "token_encoder"
            )
        else:
            self.token_encoder = KnownWordEmbedding(
                self._known_words(options, words, "error", "known_words"),
                self._char_cnn(options, "character_encoder"),
                dtype=dtype,
                name="token_encoder",
            )

    def assign(self, layer):
        """Sets the weights of a built layer that has the parts."""
        assign_bilm_weights(layer, lambda shapes: self._arrays)
        if isinstance(self.token_encoder, KnownWordEmbedding):
            known_words = self.token_encoder.known_words
            known_words.embeddings.assign(self._rows)

    def _char_cnn(self, options, name):
        return CharCNNEmbedding(
            dtype=self._dtype, name=name, **options.token_encoder
        )

    def _known_words(self, options, words, way, name):
        number = len(words or ()) or options.token_encoder["num_tokens"]
        return TokenEmbedding(
            number,
            options.encoder["projection_dim"],
            words,
            UNKNOWN if way == "unk" else None,
            dtype=self._dtype,
            name=name,
        )


def _words(vocabulary, files, options, token_embeddings):
    """The `WordTable` of the words whose vectors are looked up, or `None`."""
    if token_embeddings is not None:
        if vocabulary is None:
            raise ValueError(
                "`token_embeddings` has no words in it: pass `vocabulary`, the "
                "file that it was made of. Received: vocabulary=None"
            )
        return WordTable(vocabulary_words(vocabulary))
    if not options.is_word_input:
        if vocabulary is not None:
            raise ValueError(
                "`vocabulary` goes with `token_embeddings` or with a model of "
                "word input: this one reads characters, and any word. "
                f"Received: vocabulary={_shown(vocabulary)}"
            )
        return None
    if vocabulary is None:
        vocabulary = files.read_vocabulary()
        if vocabulary is None:
            return None
    words = WordTable(vocabulary_words(vocabulary))
    number = options.token_encoder["num_tokens"]
    if len(words) != number:
        raise ValueError(
            "The vocabulary must have as many words as the model, "
            f"n_tokens_vocab={number:,}. Received: {len(words):,}"
        )
    return words


def _checked_way(way, options, words):
    """What becomes of words that have no vector: one of `_WAYS`."""
    has_unknown = words is not None and words.get(UNKNOWN) is not None
    if way is None:
        if not options.is_word_input:
            return "characters"
        # It was trained on the text's rare words.
        return "unk" if has_unknown else "error"
    if way not in _WAYS:
        raise ValueError(
            f"`unknown_words` must be one of {list(_WAYS)} or None. "
            f"Received: unknown_words={way!r}"
        )
    if words is None:
        raise ValueError(
            "`unknown_words` goes with `vocabulary`: without, there are no "
            f"unknown words. Received: unknown_words={way!r}"
        )
    if way == "characters" and options.is_word_input:
        raise ValueError(
            'With `unknown_words="characters"` the model must have a '
            "character encoder, as no other can read a word's characters. "
            "Received: options without 'char_cnn'"
        )
    if way == "unk" and not has_unknown:
        raise ValueError(
            'With `unknown_words="unk"` the vocabulary must hold <UNK>. '
            f"Received: {len(words):,} words without"
        )
    return way


def _read_arrays(files, options, way, rows):
    """The weight file's arrays that the layers take, and `rows`, if any."""
    shapes = bilm_shapes(options.token_encoder, options.encoder)
    if rows is None or way == "characters":
        return files.weights.read(shapes)
    of_lstms = {k: s for k, s in shapes.items() if k.startswith("RNN_")}
    of_tokens = {k: s for k, s in shapes.items() if k not in of_lstms}
    arrays = files.weights.read(of_lstms, unread=of_tokens)
    return {**arrays, "embedding": rows}


def _read_rows(path, options, number):
    """The array `(words, projection_dim)` of a dumped vocabulary."""
    path = fetch(path, "token_embeddings")
    dim = options.encoder["projection_dim"]
    rows = read_arrays(path, {"embedding": (None, dim)})["embedding"]
    if len(rows) != number:
        raise ValueError(
            f"'{path}' must have a row for each word of `vocabulary`, "
            f"{number:,}. Received: {len(rows):,} rows"
        )
    return rows


def _shown(vocabulary):
    is_path = isinstance(vocabulary, (str, os.PathLike))
    return repr(vocabulary) if is_path else "words"
