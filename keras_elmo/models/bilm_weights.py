"""Copies a biLM's weights from its files to its layers, and back."""

from keras_elmo.checks import check_built
from keras_elmo.formats.array_tables import read_variables
from keras_elmo.formats.array_tables import stored_shapes
from keras_elmo.formats.bilm_files import write_bilm
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_variables import BILM_TABLE
from keras_elmo.formats.bilm_variables import variable_shapes
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.models.variables import assign_arrays
from keras_elmo.models.variables import variable_arrays
from keras_elmo.text.byte_indexer import ByteIndexer


def save_bilm(layer, options_path, weights_path, dtype, overwrite):
    """Writes a built layer; see `ElmoLayer.save_to_bilm`."""
    options = make_options(*bilm_configs(layer))
    arrays = bilm_arrays(layer)
    write_bilm(options_path, weights_path, options, arrays, dtype, overwrite)


def load_bilm_weights(model, weights_path):
    """Sets a built model's weights; see `ElmoLayer.load_bilm_weights`."""
    shapes = _shapes(model)
    arrays = read_arrays(weights_path, stored_shapes(BILM_TABLE, shapes))
    assign_arrays(model, read_variables(BILM_TABLE, shapes, arrays))


def bilm_arrays(model):
    """Returns the values of a biLM's variables, by name, in float32.

    Args:
        model: A built `ElmoLayer` or language model.

    Raises:
        ValueError: If it is not built, or a biLM's files cannot represent its
            token encoder.
    """
    # In float32, as in all such files.
    return {
        name: array.astype("float32", copy=False)
        for name, array in variable_arrays(model, _shapes(model))
    }


def bilm_configs(model):
    """Returns the configs of the token encoder and the encoder in the files.

    Args:
        model: An `ElmoLayer` or language model.

    Raises:
        ValueError: As for `bilm_arrays`.
    """
    token_encoder = model.token_encoder
    indexer = getattr(token_encoder, "indexer", None)
    if not isinstance(indexer, ByteIndexer):
        raise ValueError(
            "Only a model with a `CharCNNEmbedding` has the arrays of a biLM "
            "weight file; use `ElmoLayer.save_to_preset` for other models. "
            f"Received: {model} with the token encoder {token_encoder}"
        )
    return token_encoder.get_config(), model.encoder.get_config()


def _shapes(model):
    configs = bilm_configs(model)
    check_built(model)
    return variable_shapes(*configs)
