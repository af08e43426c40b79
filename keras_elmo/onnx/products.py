"""Multiplication by a weight matrix, in float32 or with 8-bit weights.

Each function adds a kernel `(features, units)`, a Keras variable, to the model.
It returns a function that takes a builder and the name of a value `x`
`(..., features)`, and returns the name of `x @ kernel`, `(..., units)`.
"""

import numpy as np

from keras_elmo.onnx.graph_builder import MICROSOFT
from keras_elmo.onnx.graph_builder import as_array

BLOCK_SIZE = 128
_SMALLEST = np.float32(1e-12)  # Avoids division by zero.
_ZERO = np.uint8(128)  # Represents zero.


def float_product(graph, kernel):
    """Multiplies in float32."""
    kernel = graph.constant(kernel)
    return lambda builder, x: builder.add("MatMul", x, kernel)


def block_product(graph, kernel):
    """Uses 8-bit weights, with one scale per block of 128 in a column.

    `MatMulNBits` is a custom operator of onnxruntime, the fastest for few rows.
    """
    features, units = kernel.shape
    quantized, scales = quantize_blocks(as_array(kernel), BLOCK_SIZE)
    quantized, scales = graph.constant(quantized), graph.constant(scales)

    def product(builder, x):
        return builder.add(
            "MatMulNBits",
            x,
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


def column_product(graph, kernel, is_signed=True):
    """Uses 8-bit weights, with one scale per column and per row of `x`.

    `MatMulIntegerToFloat` is a custom operator of onnxruntime, the fastest for
    many rows `(rows, features)`. With signed weights, its sums of two products
    saturate on x86 processors without VNNI: then use unsigned ones.
    """
    kernel = as_array(kernel)
    scales = _scales(kernel, axis=0)  # (units,)
    zero = np.int8(0) if is_signed else _ZERO
    quantized = (np.rint(kernel / scales) + zero).astype(zero.dtype)
    quantized, scales = graph.constant(quantized), graph.constant(scales)

    def product(builder, x):
        largest = builder.add("Abs", x)
        largest = builder.add("ReduceMax", largest, np.array([-1]))  # (rows, 1)
        largest = builder.add("Max", largest, _SMALLEST)
        row_scales = builder.add("Mul", largest, np.float32(1 / 127))
        x = builder.add("Div", x, row_scales)
        # Quantization with a scale of 1, which rounds to 8-bit numbers.
        x = builder.add("QuantizeLinear", x, np.float32(1), _ZERO)
        y = builder.add(
            "MatMulIntegerToFloat",
            *(x, quantized, np.float32(1), scales, _ZERO, zero),
            domain=MICROSOFT,
        )
        return builder.add("Mul", y, row_scales)

    return product


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
