"""Functions of rows, part of whose values are known beforehand."""

import contextlib
import contextvars

_known = contextvars.ContextVar("known", default=())


@contextlib.contextmanager
def use_known_rows(pairs):
    """Within, `looked_up` takes the layers' known values in place of new ones.

    Args:
        pairs: List of pairs: a layer; and from the layer's function the one to
            call in its place, which takes and gives the same.
    """
    token = _known.set(tuple(pairs))
    try:
        yield
    finally:
        _known.reset(token)


def looked_up(layer, function):
    """`function` of a layer, or what `use_known_rows` puts in its place."""
    for owner, replace in _known.get():
        if owner is layer:
            return replace(function)
    return function
