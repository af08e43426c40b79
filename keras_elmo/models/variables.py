"""The variables of a model, by names: paths of attributes."""

import functools
from collections.abc import Mapping

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


class VariableArrays(Mapping):
    """The values of variables by their names, each read when it is asked for.

    What NumPy does not know, as bfloat16, becomes float32.

    Args:
        model: A layer or model.
        names: The names.
    """

    def __init__(self, model, names):
        self._model = model
        self._names = list(names)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __getitem__(self, name):
        array = ops.convert_to_numpy(find_variable(self._model, name))
        return array if array.dtype.kind == "f" else array.astype("float32")


def find_variable(model, name):
    """Returns the variable of a name."""

    def attribute(part, key):
        return part[int(key)] if key.isdecimal() else getattr(part, key)

    return functools.reduce(attribute, name.split("."), model)
