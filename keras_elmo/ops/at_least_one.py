from keras import ops


def at_least_one(x, axis=0):
    """Returns `x`, or one slice of zeros if it has no slices along `axis`.

    Not every operation accepts empty tensors.
    """
    size = ops.shape(x)[axis]
    if isinstance(size, int):
        missing = int(size == 0)
        if not missing:
            return x
    else:
        missing = ops.cast(ops.equal(size, 0), "int32")
    widths = [(0, missing if i == axis else 0) for i in range(len(x.shape))]
    return ops.pad(x, widths)
