"""Layers from a biLM's files, as bilm-tf's, and back."""

import os
from types import SimpleNamespace

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.array_tables import read_variables
from keras_elmo.formats.array_tables import stored_shapes
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.bilm_files import write_bilm
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_table import bilm_table
from keras_elmo.formats.variable_shapes import variable_shapes
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.known_word_embedding import KnownWordEmbedding
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.models.built_layers import build_layer
from keras_elmo.models.built_layers import check_built
from keras_elmo.models.variables import assign_arrays
from keras_elmo.models.variables import variable_arrays
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.word_table import WordTable

_BOUNDARIES = b"<S>", b"</S>"
_UNKNOWN = b"<UNK>"
_UNKNOWN_WORDS = ("characters", "unk", "error")


def load_bilm(
    cls,
    options,
    weights_file=None,
    *,
    token_embeddings=None,
    vocabulary=None,
    unknown_words=None,
    trainable=False,
    **kwargs,
):
    """Makes an `ElmoLayer` of class `cls`; see `ElmoLayer.from_bilm`."""
    with open_bilm(options, weights_file) as files:
        options = files.options
        words = _read_words(vocabulary, files, token_embeddings)
        unknown_words = _checked_unknown_words(unknown_words, options, words)
        rows = None
        if token_embeddings is not None:
            rows = _read_rows(token_embeddings, options, len(words))
        runs_cnn = rows is None or unknown_words == "characters"
        arrays = files.read_arrays(has_token_encoder=runs_cnn)
    dtype = kwargs.get("dtype")

    def char_cnn(name):
        return CharCNNEmbedding(dtype=dtype, name=name, **options.token_encoder)

    def token_embedding(name, unknown_words):
        return _token_embedding(options, words, unknown_words, dtype, name)

    if rows is None and not options.is_word_input:
        token_encoder = char_cnn("token_encoder")
    elif unknown_words != "characters":
        token_encoder = token_embedding("token_encoder", unknown_words)
        if rows is not None:
            arrays["token_encoder.embeddings"] = rows
    else:
        token_encoder = KnownWordEmbedding(
            token_embedding("known_words", "error"),
            char_cnn("character_encoder"),
            dtype=dtype,
            name="token_encoder",
        )
    encoder = BiLMEncoder(dtype=dtype, name="encoder", **options.encoder)
    layer = build_layer(cls(token_encoder, encoder, **kwargs))
    assign_arrays(_bilm(layer), arrays)
    if runs_cnn and rows is not None:
        token_encoder.known_words.embeddings.assign(rows)
    token_encoder.trainable = trainable
    encoder.trainable = trainable
    return layer


def save_bilm(model, options_path, weights_path, dtype="float32"):
    """Writes a biLM's files; see `ElmoLayer.save_to_bilm`.

    Args:
        model: A built `ElmoLayer` or language model.
        options_path: As for `ElmoLayer.save_to_bilm`.
        weights_path: Likewise.
        dtype: Likewise.
    """
    write_bilm(
        options_path,
        weights_path,
        make_options(*bilm_configs(model)),
        bilm_arrays(model),
        dtype,
    )


def load_bilm_weights(model, weights_path):
    """Sets a built model's weights; see `ElmoLayer.load_bilm_weights`."""
    shapes, table = _shapes_and_table(model)
    arrays = read_arrays(weights_path, stored_shapes(table, shapes))
    assign_arrays(_bilm(model), read_variables(table, shapes, arrays))


def bilm_arrays(model):
    """Returns the values of a biLM's variables, by name, in float32.

    Args:
        model: A built `ElmoLayer` or language model.

    Raises:
        ValueError: If it is not built, or its token encoder is not one that a
            biLM's files can hold.
    """
    shapes, _ = _shapes_and_table(model)
    # As in every such file.
    return {
        name: array.astype("float32", copy=False)
        for name, array in variable_arrays(_bilm(model), shapes).items()
    }


def bilm_configs(model):
    """Returns the configs of the token encoder and the encoder in the files.

    Args:
        model: An `ElmoLayer` or language model.

    Raises:
        ValueError: As `bilm_arrays`.
    """
    bilm = _bilm(model)
    if not isinstance(bilm.token_encoder, (CharCNNEmbedding, TokenEmbedding)):
        raise ValueError(
            "Only a model with a `CharCNNEmbedding` or a `TokenEmbedding` has "
            "the arrays of a biLM weight file; `ElmoLayer.save_to_preset` "
            f"writes any. Received: {model} with the token encoder "
            f"{bilm.token_encoder}"
        )
    return bilm.token_encoder.get_config(), bilm.encoder.get_config()


def _bilm(model):
    """The two layers whose variables a biLM's files hold."""
    token_encoder = model.token_encoder
    # The known words of a `KnownWordEmbedding` are in a file of their own.
    token_encoder = getattr(token_encoder, "character_encoder", token_encoder)
    return SimpleNamespace(token_encoder=token_encoder, encoder=model.encoder)


def _shapes_and_table(model):
    token_encoder, encoder = bilm_configs(model)
    check_built(model)
    return variable_shapes(token_encoder, encoder), bilm_table(token_encoder)


def _token_embedding(options, words, unknown_words, dtype, name):
    number = len(words or ()) or options.token_encoder["num_tokens"]
    boundaries = min(1, number), min(2, number)
    if words is not None:
        boundaries = [words.get(word) for word in _BOUNDARIES]
        if name == "token_encoder" and None in boundaries:
            raise ValueError(
                "`vocabulary` must hold <S> and </S>, which are put around "
                f"each sentence. Received: {number:,} words without"
            )
        boundaries = [i or 1 for i in boundaries]
    return TokenEmbedding(
        number,
        options.encoder["projection_dim"],
        boundaries,
        words,
        words.get(_UNKNOWN) if unknown_words == "unk" else None,
        dtype=dtype,
        name=name,
    )


def _read_words(vocabulary, files, token_embeddings):
    """The `WordTable` of the words whose vectors are looked up, or `None`."""
    if token_embeddings is not None:
        if vocabulary is None:
            raise ValueError(
                "`token_embeddings` has no words in it: pass `vocabulary`, the "
                "file that it was made of. Received: vocabulary=None"
            )
        return WordTable(vocabulary_words(vocabulary))
    if not files.options.is_word_input:
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
    number = files.options.token_encoder["num_tokens"]
    if len(words) != number:
        raise ValueError(
            "The vocabulary must have as many words as the model, "
            f"n_tokens_vocab={number:,}. Received: {len(words):,}"
        )
    return words


def _checked_unknown_words(value, options, words):
    """What becomes of words that have no vector: one of `_UNKNOWN_WORDS`."""
    has_unknown = words is not None and words.get(_UNKNOWN) is not None
    if value is None:
        if not options.is_word_input:
            return "characters"
        # It was trained on the text's rare words.
        return "unk" if has_unknown else "error"
    if value not in _UNKNOWN_WORDS:
        raise ValueError(
            f"`unknown_words` must be one of {list(_UNKNOWN_WORDS)} or None. "
            f"Received: unknown_words={value!r}"
        )
    if words is None:
        raise ValueError(
            "`unknown_words` goes with `vocabulary`: without, there are no "
            f"unknown words. Received: unknown_words={value!r}"
        )
    if value == "characters" and options.is_word_input:
        raise ValueError(
            'With `unknown_words="characters"` the model must have a '
            "character encoder, as no other can read a word's characters. "
            "Received: options without 'char_cnn'"
        )
    if value == "unk" and not has_unknown:
        raise ValueError(
            'With `unknown_words="unk"` the vocabulary must hold <UNK>. '
            f"Received: {len(words):,} words without"
        )
    return value


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
