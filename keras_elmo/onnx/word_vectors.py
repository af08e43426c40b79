"""`WordVectors` as ONNX operators."""

import numpy as np
from keras import ops

from keras_elmo.layers.word_vectors import TO_LOWER
from keras_elmo.layers.word_vectors import UPPER

_FIRST, _LAST = np.array([0]), np.array([-1])


def word_vectors(graph, ids, layer):
    """Looks up the vectors of words.

    Args:
        graph: `GraphBuilder`.
        ids: Value, int32 `(batch, time, chars)`.
        layer: `WordVectors`.

    Returns:
        Value `(batch, time, dim)`, float32.
    """
    a, z = map(np.int32, UPPER)
    from_a = graph.add("GreaterOrEqual", ids, a)
    is_upper = graph.add("And", from_a, graph.add("LessOrEqual", ids, z))
    lower = graph.add("Add", ids, np.int32(TO_LOWER))
    lower = graph.add("Where", is_upper, lower, ids)
    both = [graph.add("Unsqueeze", x, _FIRST) for x in (ids, lower)]
    both = graph.add("Concat", *both, axis=0)  # (2, batch, time, chars)
    numbers, is_listed = find_words(graph, both, layer)
    numbers, is_listed = (
        [graph.add("Gather", x, np.int64(i), axis=0) for i in (0, 1)]
        for x in (numbers, is_listed)
    )  # each (batch, time)
    number = graph.add("Where", is_listed[0], *numbers)
    vectors = ops.convert_to_numpy(layer.vectors)
    x = graph.cast(graph.add("Gather", vectors, number, axis=0), "float32")
    is_listed = graph.add("Unsqueeze", graph.add("Or", *is_listed), _LAST)
    return graph.add("Where", is_listed, x, np.float32(0))


def find_words(graph, ids, layer):
    """Finds words in the layer's hash table.

    Args:
        graph: `GraphBuilder`.
        ids: Value, int32 `(..., chars)`.
        layer: `WordVectors`.

    Returns:
        int32 `(...,)`, the number of each word in the list, and boolean
        `(...,)`, whether it is listed.
    """
    hashes = layer.hashes._make(map(ops.convert_to_numpy, layer.hashes))

    def rows_of(array, rows):
        return graph.add("Gather", array, rows, axis=0)

    buckets, sums = (
        graph.add("ReduceSum", graph.add("Mul", ids, x), _LAST, keepdims=0)
        for x in hashes.factors
    )  # (...,)
    buckets = graph.add("Mod", buckets, np.int32(len(hashes.starts)))
    first = graph.add("Unsqueeze", rows_of(hashes.starts, buckets), _LAST)
    offsets = np.arange(layer.sizes["bucket_size"], dtype="int32")
    rows = graph.add("Add", first, offsets)  # (..., bucket_size)
    sums = graph.add("Unsqueeze", sums, _LAST)
    has_sum = graph.add("Equal", rows_of(hashes.sums, rows), sums)
    has_sum = graph.cast(has_sum, "int32")  # At most one.
    row = graph.add("Mul", has_sum, rows)
    row = graph.add("ReduceSum", row, _LAST, keepdims=0)  # (...,)
    is_listed = graph.add("ReduceSum", has_sum, _LAST, keepdims=0)
    is_listed = graph.cast(is_listed, "bool")
    found = graph.cast(rows_of(hashes.characters, row), "int32")
    characters = graph.add("Sub", graph.cut(ids, 1, 1, axis=-1), np.int32(1))
    characters = graph.add("Mod", characters, np.int32(256))
    is_equal = graph.cast(graph.add("Equal", found, characters), "int32")
    is_equal = graph.add("ReduceMin", is_equal, _LAST, keepdims=0)
    is_equal = graph.cast(is_equal, "bool")
    number = rows_of(hashes.numbers, row)
    return number, graph.add("And", is_listed, is_equal)
