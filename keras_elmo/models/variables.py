"""The variables of models, by name, which is an attribute path."""

from contextlib import nullcontext

from keras import ops

from keras_elmo.layers.base_layers import leave_out_random_values
from keras_elmo.layers.bilm_encoder import BiLMEncoder


def make_elmo(cls, encoder_class, sizes, arrays, trainable=False, **kwargs):
    """Creates an `ElmoLayer` with the values of a trained biLM.

    Args:
        cls: The class: `ElmoLayer` or a subclass.
        encoder_class: The class of the token encoder.
        sizes: Arguments of the token encoder, and of the `BiLMEncoder`.
        arrays: As for `assign_arrays`.
        trainable: Boolean, whether the token encoder and the encoder are.
        **kwargs: Further arguments of the class.
    """
    dtype = kwargs.get("dtype")
    of_tokens, of_encoder = sizes
    token_encoder = encoder_class(
        dtype=dtype, name="token_encoder", **of_tokens
    )
    encoder = BiLMEncoder(dtype=dtype, name="encoder", **of_encoder)
    layer = cls(token_encoder, encoder, **kwargs)
    build_with_arrays(layer, arrays)
    token_encoder.trainable = trainable
    encoder.trainable = trainable
    return layer


def build_with_arrays(layer, arrays):
    """Builds an `ElmoLayer`, and sets its variables as `assign_arrays` does."""
    # A user's subclass may build layers that are not in the file.
    builds_more = not type(layer).build.__module__.startswith("keras_elmo.")
    with nullcontext() if builds_more else leave_out_random_values():
        layer.build((None, None, *layer.token_encoder.token_shape))
    assign_arrays(layer, arrays)


def assign_arrays(model, arrays):
    """Sets variables of a built model.

    The arrays are removed from the dictionary one by one, so that not all
    values are in memory twice.

    Args:
        model: A layer or model.
        arrays: Dictionary from names, such as `encoder.forward_cells.0.kernel`,
            to arrays.
    """
    for name in list(arrays):
        find_variable(model, name).assign(arrays.pop(name))


def variable_arrays(model, names):
    """Yields the names of variables, each with its value, read one at a time.

    Dtypes unknown to NumPy, such as bfloat16, become float32.

    Args:
        model: A layer or model.
        names: The names.
    """
    for name in names:
        array = ops.convert_to_numpy(find_variable(model, name))
        is_known = array.dtype.kind == "f"
        yield name, array if is_known else array.astype("float32")


def find_variable(model, name):
    """Returns the variable with a given name."""
    part = model
    for key in name.split("."):
        part = part[int(key)] if key.isdecimal() else getattr(part, key)
    return part
