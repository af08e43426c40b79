"""A few shapes for all batches, for backends that compile each shape."""

import keras

# Each batch, and each part of its words, is padded to the next of these. Full
# batches of the embedder's default size fill 192 rows of 96 slots, 64 of 256 or
# 16 of 1024, depending on their longest sentence; single sentences fill one
# row.
_WORDS = (32, 512)
_ROWS = (1, 16, 64, 192)
_SLOTS = (32, 96, 256, 1024)


def compiles_each_shape():
    """Whether the current backend compiles each shape."""
    return keras.backend.backend() == "jax"


def words_to_fill(number):
    """Returns how many words to encode instead of `number`."""
    return _next(_WORDS, number)


def rows_and_slots_to_fill(num_rows, num_slots):
    """Returns how many rows and slots to run instead of the batch's."""
    return _next(_ROWS, num_rows), _next(_SLOTS, num_slots)


def _next(sizes, number):
    if not compiles_each_shape():
        return number
    for size in sizes:
        if number <= size:
            return size
    # Larger sizes grow by factors, so that they are few as well.
    size = sizes[-1]
    while size < number:
        size *= 4
    return size
