"""Computation of shapes and positions in a graph."""

import numpy as np


def sizes(graph, x, begin, end):
    """The sizes of axes `begin` to `end - 1` of a value: int64 `(axes,)`."""
    shape = graph.add("Shape", x)
    return graph.add("Slice", shape, np.array([begin]), np.array([end]))


def place_numbers(graph, x):
    """0, 1, ... for `x` `(batch, time, ...)`: int64 `(time,)`."""
    time = graph.add("Squeeze", sizes(graph, x, 1, 2))
    return graph.add("Range", np.int64(0), time, np.int64(1))


def zero_state(graph, x, size):
    """Zeros `(batch, size)`, for `x` `(time, batch, ...)`."""
    shape = graph.add("Concat", sizes(graph, x, 1, 2), np.array([size]), axis=0)
    return graph.add("Expand", np.float32([[0]]), shape)


def cut(graph, x, begin, end, axis=1):
    """Drops `begin` positions at the start and `end` at the end of an axis."""
    if not begin and not end:
        return x
    stop = -end if end else np.iinfo("int64").max
    return graph.add(
        "Slice", x, np.array([begin]), np.array([stop]), np.array([axis])
    )
