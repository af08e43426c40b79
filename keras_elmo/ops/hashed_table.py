"""Finding entries of a table by their hash values, and then by themselves.

The table is sorted by the hash values, so that it is made of plain arrays:
nothing has to be initialised. Entries that share a hash value lie side by side
and are compared one after the other.
"""

import functools

import numpy as np
from keras import ops


def find_entries(hash_values, wanted, is_same):
    """Finds, for each of `n` queries, the first entry that is the same.

    Args:
        hash_values: Integer tensor `(m,)`, those of the entries, in order; `m`
            is at least 1.
        wanted: Integer tensor `(n,)`, those of the queries.
        is_same: From places in the table, int32 `(n,)`, to booleans `(n,)`:
            whether each query is the entry at its place.

    Returns:
        Places in the table, int32 `(n,)`, which mean nothing where there is no
        such entry; and booleans `(n,)`, whether there is one.
    """
    last = hash_values.shape[0] - 1

    def look(place):
        place = ops.minimum(place, last)
        is_alike = ops.equal(ops.take(hash_values, place), wanted)
        is_found = is_alike & is_same(place)
        goes_on = is_alike & ops.logical_not(is_found) & (place < last)
        return place, is_found, goes_on

    place, is_found, _ = ops.while_loop(
        lambda place, is_found, goes_on: ops.any(goes_on),
        lambda place, is_found, goes_on: look(
            place + ops.cast(goes_on, place.dtype)
        ),
        look(ops.searchsorted(hash_values, wanted)),
    )
    return place, is_found


def sort_by_hash(hash_values):
    """The order in which entries become a table: a permutation `(m,)`.

    Of entries that are the same, the last comes first, and is found.

    Args:
        hash_values: Array `(m,)`.
    """
    reversed_order = np.argsort(hash_values[::-1], kind="stable")
    return len(hash_values) - 1 - reversed_order


def hash_rows(rows):
    """Hash values of a tensor of rows: int32 `(n, width)` to `(n,)`.

    A sum of products that wraps around, which all backends agree on. Saved
    models hold such values: the same rows must always have the same.
    """
    multipliers = ops.convert_to_tensor(_multipliers(rows.shape[-1]))
    products = ops.cast(rows, "int32") * multipliers
    return ops.cast(ops.sum(products, axis=-1), "int32")


def hash_rows_of_array(rows):
    """As `hash_rows`, in NumPy."""
    products = rows.astype("int32") * _multipliers(rows.shape[-1])
    return products.sum(axis=-1, dtype="int32")


@functools.cache
def _multipliers(width):
    """As many odd numbers with nothing in common: int32 `(width,)`."""
    powers = [pow(0x9E3779B1, i, 2**32) for i in range(1, width + 1)]
    return np.array(powers, "uint32").view("int32")
