"""Which variables of a model are which arrays of a biLM weight file."""

import json
import os

import keras
import numpy as np
from keras import ops

from keras_elmo.files.atomic import write_atomically
from keras_elmo.formats.bilm_arrays import read_arrays
from keras_elmo.formats.bilm_arrays import write_arrays
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_language_model_options


def save_bilm_weights(
    elmo: keras.layers.Layer,
    options_path: str | os.PathLike,
    weights_path: str | os.PathLike,
    dtype: str = "float32",
) -> None:
    """Writes the biLM of a layer as files for bilm-tf and AllenNLP.

    The mix is not in the files, as it belongs to the task. Each file is
    written whole or not at all.

    Args:
        elmo: A built `ElmoLayer`, or another model with a `token_encoder`, a
            `CharCNNEmbedding` or `TokenEmbedding`, and an `encoder`. Of a
            `KnownWordEmbedding` the character encoder is written;
            `dump_token_embeddings` writes the words.
        options_path: Path of the options file (JSON) to write.
        weights_path: Path of the weight file (HDF5) to write.
        dtype: `"float32"`, as in every published file, or `"float16"` for one
            of half the size.

    Raises:
        ValueError: If the layer is not built, or has what the files cannot
            say, such as another activation than `"relu"` and `"tanh"`.

    Example:

    >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
    >>> save_bilm_weights(elmo, "new_options.json", "new_weights.hdf5")
    """
    arrays = bilm_arrays(elmo)
    options = make_options(
        _encoder_in_file(elmo).get_config(), elmo.encoder.get_config()
    )
    parse_language_model_options(options)

    def write(temporary):
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(options, file, indent=2)
        # Inside, so that the options are not replaced when this fails.
        write_arrays(weights_path, arrays, dtype)

    write_atomically(options_path, write)


def load_bilm_weights(
    elmo: keras.layers.Layer, weights_path: str | os.PathLike
) -> None:
    """Reads a weight file into the biLM of a built layer of the same shapes.

    Args:
        elmo: A built `ElmoLayer`, or another model as for
            `save_bilm_weights`.
        weights_path: Path of the weight file (HDF5).

    Raises:
        ValueError: If the layer is not built, or the file does not fit; the
            layer is then as it was.

    Example:

    >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
    >>> load_bilm_weights(elmo, "weights.hdf5")
    """
    assign_bilm_weights(elmo, lambda shapes: read_arrays(weights_path, shapes))


def assign_bilm_weights(model, read):
    """Sets the variables of a model to the arrays of its files.

    Args:
        model: As for `bilm_table`.
        read: Function from a dictionary of shapes to one of arrays, by the same
            keys. Only when it has returned are variables set.
    """
    table = bilm_table(model)
    arrays = read({key: shape for key, shape, _ in table})
    for key, _, parts in table:
        rows = [part.shape[0] for part in parts]
        array = arrays[key].reshape(sum(rows), *parts[0].shape[1:])
        for part, value in zip(parts, np.split(array, np.cumsum(rows)[:-1])):
            part.assign(value)


def bilm_arrays(model):
    """Returns a model's weights as a weight file holds them: key -> array.

    They are float32, as in every such file, and as bfloat16 is unknown to
    HDF5.
    """
    return {
        key: np.concatenate([ops.convert_to_numpy(v) for v in parts])
        .reshape(shape)
        .astype("float32")
        for key, shape, parts in bilm_table(model)
    }


def bilm_table(model):
    """Lists (key, shape in the file, variables laid end to end).

    `model` is an `ElmoLayer` or another with a `token_encoder`, an `encoder`
    and a flag `built`.
    """
    token_encoder = _encoder_in_file(model)
    # By attributes: the layers know of this module, not the reverse.
    if hasattr(token_encoder, "has_projection"):
        token_encoder_table = _char_cnn_table
    elif hasattr(token_encoder, "num_tokens"):
        token_encoder_table = _token_embedding_table
    else:
        raise ValueError(
            "Only a model with a `CharCNNEmbedding` or a `TokenEmbedding` has "
            "the arrays of a biLM weight file; `ElmoLayer.save_to_preset` "
            f"writes any. Received: {model} with the token encoder "
            f"{token_encoder}"
        )
    if not model.built:
        raise ValueError(
            f"Layer '{model.name}' has no weights yet: call or build it first."
        )
    return [*token_encoder_table(token_encoder), *_lstm_table(model.encoder)]


def _encoder_in_file(model):
    """The token encoder whose weights a file holds."""
    token_encoder = getattr(model, "token_encoder", None)
    # The known words of a `KnownWordEmbedding` are in a file of their own.
    return getattr(token_encoder, "character_encoder", token_encoder)


def _token_embedding_table(encoder):
    yield "embedding", encoder.embeddings.shape, [encoder.embeddings]


def _char_cnn_table(encoder):
    yield "char_embed", encoder.embeddings.shape, [encoder.embeddings]
    for i, (kernel, bias) in enumerate(
        zip(encoder.conv_kernels, encoder.conv_biases)
    ):
        # The file's convolutions are two-dimensional, of height one.
        yield f"CNN/W_cnn_{i}", (1, *kernel.shape), [kernel]
        yield f"CNN/b_cnn_{i}", bias.shape, [bias]
    for i, highway in enumerate(encoder.highways):
        for key, variable in (
            ("W_carry", highway.carry_kernel),
            ("b_carry", highway.carry_bias),
            ("W_transform", highway.transform_kernel),
            ("b_transform", highway.transform_bias),
        ):
            yield f"CNN_high_{i}/{key}", variable.shape, [variable]
    if encoder.has_projection:
        kernel, bias = encoder.projection_kernel, encoder.projection_bias
        yield "CNN_proj/W_proj", kernel.shape, [kernel]
        yield "CNN_proj/b_proj", bias.shape, [bias]


def _lstm_table(encoder):
    for direction, cells in enumerate(
        (encoder.forward_cells, encoder.backward_cells)
    ):
        for layer, cell in enumerate(cells):
            root = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            # One matrix in the file: the input's rows, then the state's.
            kernels = [cell.kernel, cell.recurrent_kernel]
            rows = sum(kernel.shape[0] for kernel in kernels)
            yield f"{root}/W_0", (rows, cell.kernel.shape[1]), kernels
            yield f"{root}/B", cell.bias.shape, [cell.bias]
            if cell.has_projection:
                kernel = cell.projection_kernel
                yield f"{root}/W_P_0", kernel.shape, [kernel]
