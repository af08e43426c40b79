"""What several verbs' arguments have in common."""

import argparse
import os


def positive_integer(text):
    """Returns what was typed as an integer of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1. Received: {text!r}"
        )
    return number


def add_threads(add):
    """Adds `--threads`, which is for `set_threads`."""
    add(
        "--threads",
        type=positive_integer,
        metavar="N",
        help="processors to use. Default: all, without a GPU",
    )


def set_threads(number=None):
    """Shares out threads; to be called before TensorFlow computes anything.

    Two operations run side by side, as a biLM's directions can, and each has
    half of the threads.

    Args:
        number: Integer, the number of threads. `None` is, without a GPU, as
            many as this process may use processors; with one, it leaves
            TensorFlow's own choice.

    Raises:
        ValueError: If it is not `None` and TensorFlow has begun to compute, or
            Keras' backend is another.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        if number is not None:
            raise ValueError(
                "--threads is for Keras' backend tensorflow. "
                f"Received: {keras.backend.backend()}"
            )
        return
    import tensorflow as tf

    is_asked_for = number is not None
    if not is_asked_for:
        if tf.config.list_physical_devices("GPU"):
            return
        number = _usable_processors()
    try:
        tf.config.threading.set_inter_op_parallelism_threads(min(2, number))
        tf.config.threading.set_intra_op_parallelism_threads(
            max(1, number // 2)
        )
    except RuntimeError as error:  # From Python: TensorFlow has begun before.
        if is_asked_for:
            raise ValueError(
                "--threads must come before TensorFlow computes anything. "
                f"Received: {number}, in a process in which it has"
            ) from error


def _usable_processors():
    if hasattr(os, "sched_getaffinity"):  # Not on macOS, nor on Windows.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
