"""Loads and saves language models."""

import contextlib
import os

from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.formats.bilm_files import write_bilm
from keras_elmo.formats.bilm_files import write_softmax
from keras_elmo.formats.bilm_names import MODEL_FILES
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.layers.base_layers import leave_out_random_values
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.bilm_weights import bilm_arrays
from keras_elmo.models.bilm_weights import bilm_configs
from keras_elmo.models.find_model import find_model
from keras_elmo.models.variables import assign_arrays
from keras_elmo.models.variables import variable_arrays
from keras_elmo.text.vocabulary import Vocabulary


def make_language_model(cls, options, vocabulary_size, dtype=None):
    """Makes an untrained, built model.

    Args:
        cls: The class of the model: `BidirectionalLanguageModel` or a subclass.
        options: Dictionary, the content of an options file.
        vocabulary_size: Integer; overrides the options.
        dtype: Keras dtype or policy.

    Returns:
        An instance of `cls`.
    """
    options = dict(options, n_tokens_vocab=vocabulary_size)
    parsed = parse_language_model_options(options)
    model = cls(
        vocabulary_size,
        CharCNNEmbedding(
            dtype=dtype, name="token_encoder", **parsed.token_encoder
        ),
        BiLMEncoder(dtype=dtype, name="encoder", **parsed.encoder),
        num_negatives=parsed.num_negatives,
        dropout=parsed.dropout,
        dtype=dtype,
    )
    model.build()
    return model


def load_language_model(
    cls, path, vocabulary=None, dtype=None, new_softmax=False, options=None
):
    """Loads a trained model with its softmax and its vocabulary.

    Args:
        cls: As for `make_language_model`.
        path: A preset's name or a path, as for `find_model`.
        vocabulary: A `Vocabulary`. Defaults to the model's own.
        dtype: Keras dtype or policy.
        new_softmax: Boolean, whether to make an untrained softmax over
            `vocabulary`, ignoring any softmax in the files.
        options: Dictionary of options with the same sizes, to use instead of
            those in the files.

    Returns:
        The model and its `Vocabulary`.

    Raises:
        ValueError: If the files have no softmax, if there is no vocabulary in
            the files or the arguments, or if the softmax and the vocabulary do
            not match; or as for `find_model`.
    """
    files = find_model(path).open_language_model()
    vocabulary = vocabulary or own_vocabulary(files, is_needed=True)
    options = {**(options or files.content), "n_tokens_vocab": len(vocabulary)}
    parsed = parse_language_model_options(options)
    arrays = {} if new_softmax else _read_softmax(files, vocabulary, parsed)
    arrays |= files.read_arrays(parsed)
    draws = contextlib.nullcontext if new_softmax else leave_out_random_values
    with draws():
        model = make_language_model(cls, options, len(vocabulary), dtype)
    assign_arrays(model, arrays)
    return model, vocabulary


def save_language_model(model, vocabulary, options, folder) -> None:
    """Writes a model's four files.

    The old `options.json` is removed first and the new one comes last, because
    without it the folder is not taken for a model: a process that is killed
    leaves no mixture of two models.

    Args:
        model: A built `BidirectionalLanguageModel`.
        vocabulary: Its `Vocabulary`.
        options: Dictionary of further entries about the training for the
            options file, with bilm-tf's keys.
        folder: Path of the folder. It receives `options.json`, `weights.hdf5`
            and `softmax.hdf5` in the formats of bilm-tf and AllenNLP, and
            `vocab.txt`, in place of those that it has.
    """
    token_encoder, encoder = bilm_configs(model)
    training = {
        **options,
        "n_tokens_vocab": model.vocabulary_size,
        "n_negative_samples_batch": model.num_negatives,
        "dropout": model.dropout,
    }
    content = make_options(token_encoder, encoder, training)

    def write(temporary):
        paths = (os.path.join(temporary, name) for name in MODEL_FILES)
        options_path, weights_path, softmax_path, vocabulary_path = paths
        write_bilm(options_path, weights_path, content, bilm_arrays(model))
        softmax = variable_arrays(model, ["softmax.kernel", "softmax.bias"])
        write_softmax(softmax_path, dict(softmax))
        vocabulary.write(vocabulary_path)

    write_folder_atomically(folder, write, MODEL_FILES, overwrite=True)


def own_vocabulary(files, is_needed=False):
    """Returns the `Vocabulary` in `BilmFiles`, or `None` if there is none.

    Raises:
        ValueError: If `is_needed` and there is none, or if it is corrupt.
    """
    found = files.read_vocabulary()
    if found is not None:
        return Vocabulary.from_file(*found)
    if is_needed:
        raise ValueError(
            f"The model '{files.label}' has no vocab.txt. Put the vocabulary "
            "that it was trained with beside it, under that name."
        )
    return None


def _read_softmax(files, vocabulary, options):
    """Returns the values of a softmax over the vocabulary, by name."""
    softmax = files.read_softmax(options=options)
    if softmax is None:
        raise ValueError(
            f"The model '{files.label}' has no softmax: there is neither a "
            "softmax.hdf5 nor a checkpoint beside its weights. Without one it "
            "cannot predict words; to train a new one, run keras-elmo pretrain "
            "--from with --new-softmax."
        )
    size, own = len(softmax["softmax.bias"]), own_vocabulary(files)
    has_own = own is not None and len(own) == size
    if size != len(vocabulary) or (has_own and own != vocabulary):
        raise ValueError(
            f"The vocabulary must be that of the softmax of '{files.label}', "
            f"which has {size} words. Received: one with other words, "
            f"{len(vocabulary)} in all. Use the vocabulary that the model was "
            "trained with; or, to train a new softmax over another vocabulary, "
            "run keras-elmo pretrain --from with --new-softmax."
        )
    return softmax
