"""Hash tables of plain arrays, which need no initialisation.

The table is sorted by hash value. Entries with the same hash value are adjacent
and are compared one after the other.
"""

import numpy as np
from keras import ops


def find_entries(hash_values, wanted, is_same):
    """Finds the first matching entry for each of `n` queries.

    Args:
        hash_values: Integer tensor `(m,)`, the sorted hash values of the
            entries; `m` is at least 1.
        wanted: Integer tensor `(n,)`, the hash values of the queries.
        is_same: From positions in the table, int32 `(n,)`, to booleans `(n,)`:
            whether each query matches the entry at its position.

    Returns:
        Positions in the table, int32 `(n,)`, undefined where there is no match;
        and booleans `(n,)`, whether there is a match.
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
    """The order of the entries in the table: a permutation `(m,)`.

    Of equal entries, the last comes first, so it is the one that is found.

    Args:
        hash_values: Array `(m,)`.
    """
    reversed_order = np.argsort(hash_values[::-1], kind="stable")
    return len(hash_values) - 1 - reversed_order
