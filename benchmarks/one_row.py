"""Times the matrix multiply of a single sentence in several number formats.

A recurrent step for one sentence multiplies one row by a large matrix, so it is
bound by memory bandwidth. This shows which formats narrower than float32
TensorFlow multiplies faster, if any.

python benchmarks/one_row.py
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import statistics
import time

import numpy as np
import tensorflow as tf

ROWS, COLUMNS = 512, 16384  # a recurrent kernel of the original size
STEPS, TURNS = 22, 9


def forms(kernel):
    """Yields name, dtype of the row, matrix, and function to multiply them."""
    yield "float32", "float32", tf.constant(kernel), tf.matmul
    for dtype in ("bfloat16", "float16"):
        narrow = tf.cast(kernel, dtype)
        yield dtype, dtype, narrow, tf.matmul
        yield (
            f"{dtype}, transposed",
            dtype,
            tf.transpose(narrow),
            lambda row, matrix: tf.matmul(row, matrix, transpose_b=True),
        )
    whole = tf.cast(tf.round(kernel * 127 / np.abs(kernel).max()), "int8")

    def multiply_int8(row, matrix):
        row = tf.cast(tf.round(row * 127), "int8")
        product = tf.raw_ops.BatchMatMulV3(x=row, y=matrix, Tout=tf.int32)
        return tf.cast(product, "float32") * 1e-4

    yield "int8", "float32", whole, multiply_int8


def make_loop(dtype, matrices, multiply):
    """Runs the steps of two directions side by side, as in the encoder."""

    @tf.function
    def run(row):
        def step(t, rows):
            products = [multiply(r, m) for r, m in zip(rows, matrices)]
            return t + 1, [tf.tanh(p[:, :ROWS]) for p in products]

        return tf.while_loop(
            lambda t, _: t < STEPS, step, (0, [row] * len(matrices))
        )

    row = tf.cast(tf.random.normal((1, ROWS)), dtype)
    return lambda: run(row)[1][0].numpy()


def main():
    generator = np.random.default_rng(0)
    kernels = [
        generator.normal(0, 0.05, (ROWS, COLUMNS)).astype("float32")
        for _ in range(2)
    ]
    loops = {}
    for both in zip(*map(forms, kernels)):
        name, dtype, _, multiply = both[0]
        loops[name] = make_loop(dtype, [form[2] for form in both], multiply)
    seconds = {name: [] for name in loops}
    for turn in range(TURNS + 1):
        for name, loop in loops.items():
            start = time.perf_counter()
            loop()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    print(f"| {ROWS} x {COLUMNS}, two at a time | ms per step | speedup |")
    print("| --- | ---: | ---: |")
    for name, values in seconds.items():
        ratios = [a / b for a, b in zip(seconds["float32"], values)]
        milliseconds = 1000 * statistics.median(values) / STEPS
        ratio = statistics.median(ratios)
        print(f"| {name} | {milliseconds:.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
