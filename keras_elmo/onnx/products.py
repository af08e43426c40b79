"""Multiplication by a weight matrix, in float32 or with 8-bit weights.

Each function adds a kernel `(features, units)`, a Keras variable or an array,
to the model. It returns a function that takes a builder and the name of a value
`x` `(..., features)`, and returns the name of `x @ kernel`, `(..., units)`.

With `is_precise`, 8 bits are used more precisely, for an `x` with a few large
and many small numbers, such as the output of an LSTM before its projection.
"""

import numpy as np

from keras_elmo.onnx.graph_builder import MICROSOFT
from keras_elmo.onnx.graph_builder import as_array

BLOCK_SIZE = 128
_SMALLEST = np.float32(1e-12)  # Avoids division by zero.
_ZERO = np.uint8(128)  # Represents zero.


def float_product(graph, kernel, is_precise=False):
    """Multiplies in float32."""
    kernel = graph.constant(kernel)
    return lambda builder, x: builder.add("MatMul", x, kernel)


def block_product(graph, kernel, is_precise=False):
    """Uses 8-bit weights, with one scale per block of 128 in a column.

    `MatMulNBits` is a custom operator of onnxruntime, the fastest for few rows.
    """
    features, units = kernel.shape
    kernel, rows = _with_equal_rows(kernel, is_precise)
    quantized, scales = quantize_blocks(kernel, BLOCK_SIZE)
    quantized, scales = graph.constant(quantized), graph.constant(scales)

    def product(builder, x):
        return builder.add(
            "MatMulNBits",
            builder.add("Mul", x, rows) if is_precise else x,
            quantized,
            scales,
            domain=MICROSOFT,
            K=features,
            N=units,
            bits=8,
            block_size=BLOCK_SIZE,
            accuracy_level=4,  # `x` is quantized to 8 bits, too.
        )

    return product


def column_product(graph, kernel, parts=1, is_precise=False, is_signed=True):
    """Uses 8-bit weights, with one scale per column and per row of `x`.

    `MatMulIntegerToFloat` is a custom operator of onnxruntime, the fastest for
    many rows `(rows, features)`. With signed weights, its sums of two products
    saturate on x86 processors without VNNI: then use unsigned ones.

    With several `parts`, the function returns a list: the columns are divided,
    and each part is multiplied separately. With `is_precise`, what rounding `x`
    to 8 bits leaves out is rounded to 8 bits and multiplied, too.
    """
    kernel, rows = _with_equal_rows(kernel, is_precise)
    scales = _scales(kernel, axis=0)  # (units,)
    zero = np.int8(0) if is_signed else _ZERO
    quantized = (np.rint(kernel / scales) + zero).astype(zero.dtype)
    pairs = [
        (graph.constant(np.ascontiguousarray(part)), graph.constant(scale))
        for part, scale in zip(
            np.split(quantized, parts, axis=1), np.split(scales, parts)
        )
    ]

    def multiply(builder, x, size):
        # Rounds `x` to multiples of `size`, at most 127 of them.
        size = np.float32(size)
        x = builder.add("QuantizeLinear", x, size, _ZERO)
        return [
            builder.add(
                "MatMulIntegerToFloat",
                *(x, part, size, scale, _ZERO, zero),
                domain=MICROSOFT,
            )
            for part, scale in pairs
        ]

    def product(builder, x):
        x = builder.add("Mul", x, rows) if is_precise else x
        largest = builder.add("Abs", x)
        largest = builder.add("ReduceMax", largest, np.array([-1]))  # (rows, 1)
        largest = builder.add("Max", largest, _SMALLEST)
        row_scales = builder.add("Mul", largest, np.float32(1 / 127))
        x = builder.add("Div", x, row_scales)
        y = multiply(builder, x, 1)
        if is_precise:
            rest = builder.add("Sub", x, builder.add("Round", x))
            rest = multiply(builder, rest, 1 / 254)
            y = [builder.add("Add", *both) for both in zip(y, rest)]
        y = [builder.add("Mul", part, row_scales) for part in y]
        return y if parts > 1 else y[0]

    return product


def _with_equal_rows(kernel, is_precise):
    """Returns a kernel, and what its rows were divided by if `is_precise`.

    All rows then use the whole range of 8 bits. `x` must be multiplied by the
    same numbers, so that its large ones count as much as they should.
    """
    kernel = as_array(kernel)
    rows = np.maximum(np.abs(kernel).max(axis=1), _SMALLEST)
    rows = rows if is_precise else np.ones_like(rows)
    return kernel / rows[:, None], rows


def quantize_blocks(kernel, block_size):
    """Rounds a kernel to 8 bits, block by block of each column.

    Args:
        kernel: float32 array `(features, units)`.
        block_size: Integer, how many features share a scale.

    Returns:
        uint8 array `(units, blocks, block_size)`, in which 128 is zero; and
        float32 array `(units, blocks)`, the scales.
    """
    features, units = kernel.shape
    rest = -features % block_size
    blocks = np.pad(kernel, ((0, rest), (0, 0))).T  # (units, padded features)
    blocks = blocks.reshape(units, -1, block_size)
    scales = _scales(blocks, axis=-1)
    quantized = np.rint(blocks / scales[..., None]) + 128
    return quantized.astype("uint8"), scales


def _scales(x, axis):
    """The value of one unit, so that the largest absolute value is 127."""
    return np.maximum(np.abs(x).max(axis=axis), _SMALLEST) / np.float32(127)
