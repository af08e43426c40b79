"""Products with a weight matrix: in float32, or with weights of 8 bits.

Each function puts a kernel `(features, units)` into the model, and returns a
function from a builder and the name of an `x` `(..., features)` to that of
`x @ kernel`, `(..., units)`.
"""

import numpy as np

from keras_elmo.onnx.graph_builder import MICROSOFT

BLOCK_SIZE = 128
_SMALLEST = np.float32(1e-12)  # No division by zero.
_ZERO = np.uint8(128)  # What stands for zero.


def float_product(graph, kernel):
    """The product in float32."""
    kernel = graph.constant(kernel)
    return lambda builder, x: builder.add("MatMul", x, kernel)


def block_product(graph, kernel):
    """With 8-bit weights, a scale for each block of 128 in a column.

    `MatMulNBits` is onnxruntime's own. Of few rows it is the fastest.
    """
    features, units = kernel.shape
    quantized, scales = quantize_blocks(kernel, BLOCK_SIZE)
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
            accuracy_level=4,  # The numbers of `x` have 8 bits, too.
        )

    return product


def column_product(graph, kernel):
    """With 8-bit weights, a scale for each column and for each row of `x`.

    `MatMulIntegerToFloat` is onnxruntime's own. Of many rows `(rows, features)`
    it is the fastest.
    """
    scales = _scales(kernel, axis=0)  # (units,)
    quantized = graph.constant(np.rint(kernel / scales).astype("int8"))
    scales = graph.constant(scales)

    def product(builder, x):
        largest = builder.add("Abs", x)
        largest = builder.add("ReduceMax", largest, np.array([-1]))  # (rows, 1)
        largest = builder.add("Max", largest, _SMALLEST)
        row_scales = builder.add("Mul", largest, np.float32(1 / 127))
        x = builder.add("Div", x, row_scales)
        # A quantization of scale 1: it rounds, and makes 8-bit numbers.
        x = builder.add("QuantizeLinear", x, np.float32(1), _ZERO)
        y = builder.add(
            "MatMulIntegerToFloat",
            *(x, quantized, np.float32(1), scales, _ZERO),
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
        uint8 array `(units, blocks, block_size)`, of which 128 is zero; and
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
    """What 1 stands for, so that the largest number is 127."""
    return np.maximum(np.abs(x).max(axis=axis), _SMALLEST) / np.float32(127)
