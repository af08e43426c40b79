"""Language models from files, and back."""

import json
import os
from typing import Any
from typing import NamedTuple

from keras import ops

from keras_elmo.files.atomic import write_atomically
from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.initializers import leave_out_random_values
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.models.bilm_variables import assign_bilm_weights
from keras_elmo.models.bilm_variables import bilm_arrays
from keras_elmo.models.find_model import find_model
from keras_elmo.models.language_models import write_softmax
from keras_elmo.pretraining.bidirectional_language_model import (
    BidirectionalLanguageModel,
)
from keras_elmo.text.vocabulary import Vocabulary

_REMEDY = (
    "Pass the vocabulary that the model was trained with (--vocabulary); or, "
    "to train a new softmax over another one, --new-softmax."
)


class LoadedModel(NamedTuple):
    """A language model from files."""

    model: BidirectionalLanguageModel
    vocabulary: Vocabulary
    options: dict[str, Any]


def make_language_model(options, vocabulary_size, dtype=None):
    """Makes an untrained, built model.

    Args:
        options: Dictionary, the content of an options file.
        vocabulary_size: Integer; overrules that of the options.
        dtype: Keras dtype or policy.

    Returns:
        A `BidirectionalLanguageModel`.
    """
    options = dict(options, n_tokens_vocab=vocabulary_size)
    parsed = parse_language_model_options(options)
    encoder_class = TokenEmbedding if parsed.is_word_input else CharCNNEmbedding
    model = BidirectionalLanguageModel(
        vocabulary_size,
        encoder_class(
            dtype=dtype, name="token_encoder", **parsed.token_encoder
        ),
        BiLMEncoder(dtype=dtype, name="encoder", **parsed.encoder),
        num_negatives=parsed.num_negatives,
        dropout=parsed.dropout,
        share_embedding_softmax=parsed.share_embedding_softmax,
        dtype=dtype,
    )
    model.build()
    return model


def read_model_options(path):
    """Returns the options of a model's files, and its vocabulary or `None`."""
    with find_model(path).open_language_model() as files:
        if files.vocabulary is None:
            return files.options, None
        return files.options, Vocabulary.from_file(files.vocabulary)


def load_language_model(
    path, vocabulary=None, dtype=None, new_softmax=False, options=None
) -> LoadedModel:
    """Loads a trained model with its softmax and its vocabulary.

    Args:
        path: A preset's name or a path, as for `find_model`.
        vocabulary: A `Vocabulary`. Defaults to the model's own.
        dtype: Keras dtype or policy.
        new_softmax: Boolean, whether the softmax is an untrained one, over
            `vocabulary`, whatever the files hold.
        options: Dictionary to take in place of the files' options, of the same
            sizes.

    Returns:
        A `LoadedModel`.

    Raises:
        ValueError: If the files hold no softmax, or no vocabulary and none is
            passed, or the two do not fit; or as `find_model`.
    """
    with find_model(path).open_language_model() as files:
        vocabulary = vocabulary or _read_vocabulary(files)
        options = dict(options or files.options)
        options["n_tokens_vocab"] = len(vocabulary)
        dim = parse_language_model_options(options).encoder["projection_dim"]
        softmax = None
        if not new_softmax:
            softmax = _read_softmax(files, vocabulary, dim)
            with leave_out_random_values():
                model = make_language_model(options, len(vocabulary), dtype)
        else:
            model = make_language_model(options, len(vocabulary), dtype)
        assign_bilm_weights(model, files.read_weights)
        if softmax is not None:
            kernel, bias = softmax
            model.softmax.bias.assign(bias)
            if kernel is not None:
                model.softmax.kernel.assign(kernel)
    return LoadedModel(model, vocabulary, options)


def check_softmax(path, vocabulary=None) -> None:
    """Raises an error unless `load_language_model` finds a softmax that fits.

    Args:
        path: As for `load_language_model`.
        vocabulary: Likewise.

    Raises:
        ValueError: As `load_language_model`.
    """
    with find_model(path).open_language_model() as files:
        options = parse_language_model_options(files.options)
        dim = options.encoder["projection_dim"]
        _read_softmax(files, vocabulary or _read_vocabulary(files), dim)


def save_language_model(
    model, vocabulary, options, folder, dtype="float32"
) -> None:
    """Writes a model's four files; each is written whole or not at all.

    Args:
        model: A built `BidirectionalLanguageModel`.
        vocabulary: Its `Vocabulary`.
        options: Dictionary, what else the options file is to say of the
            training: bilm-tf's keys.
        folder: Path of an existing folder. It gets `options.json`,
            `weights.hdf5` and `softmax.hdf5`, as bilm-tf and AllenNLP have
            them, and `vocab.txt`.
        dtype: `"float32"`, or `"float16"` for half the size.
    """
    content = make_options(
        model.token_encoder.get_config(),
        model.encoder.get_config(),
        {
            **options,
            "n_tokens_vocab": model.vocabulary_size,
            "n_negative_samples_batch": model.num_negatives,
            "dropout": model.dropout,
            "share_embedding_softmax": model.share_embedding_softmax or None,
        },
    )
    weights = bilm_arrays(model)
    softmax = model.softmax
    kernel = (
        ops.convert_to_numpy(softmax.kernel) if softmax.has_kernel else None
    )
    bias = ops.convert_to_numpy(softmax.bias)

    def at(name):
        return os.path.join(folder, name)

    def write_options(temporary):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)

    vocabulary.write(at("vocab.txt"))
    write_atomically(at("options.json"), write_options)
    write_arrays(at("weights.hdf5"), weights, dtype)
    write_softmax(at("softmax.hdf5"), kernel, bias, dtype)


def _read_vocabulary(files):
    if files.vocabulary is None:
        raise ValueError(
            f"The model '{files.label}' has no vocab.txt beside it: pass the "
            "vocabulary that it was trained with (--vocabulary)."
        )
    return Vocabulary.from_file(files.vocabulary)


def _read_softmax(files, vocabulary, dim):
    """Returns `W` and `b` of a softmax over the vocabulary."""
    softmax = files.read_softmax(None, dim)
    if softmax is None:
        raise ValueError(
            f"The model '{files.label}' has no softmax: neither a softmax.hdf5 "
            "nor a checkpoint lies beside its weights. Without, no word can be "
            "predicted; to train a new one, pass --new-softmax."
        )
    size = len(softmax[1])
    if size != len(vocabulary):
        raise ValueError(
            f"The softmax of '{files.label}' must have as many words as the "
            f"vocabulary, {len(vocabulary)}. Received: {size}. {_REMEDY}"
        )
    if files.vocabulary is not None:
        own = Vocabulary.from_file(files.vocabulary)
        if len(own) == size and own != vocabulary:
            raise ValueError(
                f"The vocabulary must be that of the softmax of "
                f"'{files.label}', '{files.vocabulary}'. Received: one of "
                f"other words. {_REMEDY}"
            )
    return softmax
