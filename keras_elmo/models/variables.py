"""The variables of a model, by names: paths of attributes."""

import functools

from keras import ops


def assign_arrays(model, arrays):
    """Sets variables of a built model.

    The arrays are taken out of the dictionary one by one, so as not to hold
    all numbers twice.

    Args:
        model: A layer or model.
        arrays: Dictionary from names, such as `encoder.forward_cells.0.kernel`,
            to arrays.
    """
    for name in list(arrays):
        find_variable(model, name).assign(arrays.pop(name))


def variable_arrays(model, names):
    """Returns a dictionary from names of variables to their values.

    What NumPy does not know, as bfloat16, becomes float32.
    """
    return {name: _array(find_variable(model, name)) for name in names}


def find_variable(model, name):
    """Returns the variable of a name."""

    def attribute(part, key):
        return part[int(key)] if key.isdecimal() else getattr(part, key)

    return functools.reduce(attribute, name.split("."), model)


def _array(variable):
    array = ops.convert_to_numpy(variable)
    return array if array.dtype.kind == "f" else array.astype("float32")
